//! A loop whose elements wait for others by their number: one cooperative launch, whatever the number of rounds.

use super::DeviceVector;
use super::compose::{Composer, Node};
use super::csr::SHORT_CLASSES;
use super::fixpoint::Outcome;
use super::run::{THREADS, launch};
use crate::error::Result;
use crate::formats::bitmap::words;
use vxm_kernels::{Buffer, Launch, sources};
use vxm_semiring::{Element, UnaryOp};

/// A loop that was launched.
pub struct Launched {
    desk: Buffer,
}

/// Words of the desk: see the kernel.
const DESK: usize = 18;
/// The words that say how it went.
const ROUNDS: usize = 14;
const STUCK: usize = 15;

impl Launched {
    /// Waits for the end, and for what was launched since.
    ///
    /// # Errors
    /// The device is lost.
    pub fn outcome(&self) -> Result<Outcome> {
        let words = self.desk.download::<u32>(DESK)?;
        Ok(Outcome { rounds: words[ROUNDS], stuck: words[STUCK] != 0 })
    }
}

/// Launches the body `node`, which [waits](Composer::waits), over `state`, until `active` holds of none of its elements. `readers` are the
/// addresses of offsets and columns of who reads an element, which the composer keeps.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn woken<T: Element, F: UnaryOp<T, Out = bool>>(
    mut composer: Composer,
    node: &Node,
    active: F,
    readers: (u64, u64),
    why: &'static str,
    state: &mut DeviceVector<T>,
) -> Result<Launched> {
    let (gpu, n) = (composer.gpu().clone(), state.len());
    let classes = composer.classes().filter(|classes| classes.alone.is_none());
    for source in [sources::DIRECT, sources::STATE, sources::CHANGED, sources::WOKEN] {
        composer.include(source);
    }
    let active = composer.functor(active);
    composer.element::<T>();
    let skewed = classes.is_some();
    let watched = composer.watched().map_or("", |lead| &lead.ty);
    let ty = format!("vxm::Woken<{}, {active}, {skewed}, {watched}>", node.ty);
    let program = composer.program(&ty, &[("woken", "")])?;
    let resident = program.kernel("woken")?.resident(THREADS, composer.shared())? as usize;
    let [longs, hubs] = classes.as_deref().map_or([(0, 0); 2], |classes| {
        [classes.rows(SHORT_CLASSES..SHORT_CLASSES + 1), classes.rows(SHORT_CLASSES + 1..SHORT_CLASSES + 2)]
    });
    let blocks = n.div_ceil(THREADS as usize).clamp(1, resident.max(1));
    tracing::debug!(
        operation = "fixpoint",
        schedule = "Woken",
        why,
        fused = "body, counts, lists and the test for the end: one kernel",
        longs = longs.1,
        hubs = hubs.1,
        blocks,
        "plan"
    );
    let (fresh, waits) = (gpu.alloc(n * size_of::<T>())?, gpu.alloc(n * 4)?);
    let desk = gpu.zeroed(DESK * 4)?;
    let size = words(n) * 8;
    let bits = gpu.zeroed(if skewed { 2 * size } else { 0 })?;
    let mut head = vec![n as u64, state.values_address(), fresh.address(), waits.address()];
    let mut lists = Vec::new();
    for room in [n, longs.1, hubs.1] {
        let list = gpu.alloc(2 * room * 4)?;
        head.extend([list.address(), list.address() + 4 * room as u64]);
        lists.push(list);
    }
    head.extend([bits.address(), bits.address() + size as u64]);
    head.extend([longs.0, longs.1 as u64, hubs.0, hubs.1 as u64, readers.0, readers.1, desk.address()]);
    let shape = Launch::linear(blocks as u32, THREADS).with_shared(composer.shared()).cooperative();
    launch(&program, "woken", shape, &composer.parameter(&head))?;
    Ok(Launched { desk })
}
