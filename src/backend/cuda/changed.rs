//! A loop over what has changed, that stays on the device: one cooperative launch, whatever the number of rounds.

use super::DeviceVector;
use super::compose::{Composer, Node, Piece};
use super::csr::{HUB, LONG};
use super::run::{THREADS, launch};
use crate::backend::plan::{self, Schedule};
use crate::error::Result;
use crate::formats::bitmap::words;
use vxm_kernels::{Launch, Reading, sources};
use vxm_semiring::Element;

/// How a loop went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Rounds.
    pub rounds: u32,
    /// How many elements the last one changed: none, unless there was no other to follow.
    pub changed: u32,
}

/// A loop that was launched.
pub struct Launched {
    told: Reading,
}

/// Words of how it went: see the kernel.
const TOLD: usize = 2;

impl Launched {
    /// Waits for the end, not for what was launched since.
    ///
    /// # Errors
    /// The device is lost.
    pub fn outcome(self) -> Result<Outcome> {
        let words = self.told.wait::<u32>()?;
        Ok(Outcome { rounds: words[0], changed: words[1] })
    }
}

/// Who is to be visited once an element has changed.
#[derive(Debug)]
pub struct Readers {
    /// Whether it is that element.
    pub own: bool,
    /// Whether it may be any.
    pub everything: bool,
    /// Rows whose columns they are: the addresses of offsets and columns, which the composer keeps.
    pub rows: Vec<(u64, u64)>,
}

/// Launches the body `node` over `state`, until a round changes nothing, or as many rounds as there may be; elements are joined into others
/// as the type `hook` says, if it is there.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn changing<T: Element>(
    mut composer: Composer,
    node: &Node,
    readers: &Readers,
    hook: Option<Piece>,
    monotone: bool,
    most: u32,
    state: &mut DeviceVector<T>,
) -> Result<Launched> {
    let (gpu, n) = (composer.gpu().clone(), state.len());
    let classes = composer.classes().filter(|classes| classes.alone.is_none());
    let (schedule, why) = plan::schedule(monotone, plan::forced());
    let in_place = schedule != Schedule::Rounds;
    // in place too: what changes meanwhile calls its readers to the next round, before which a barrier empties the cache
    composer.include(sources::CACHED);
    composer.include(sources::STATE);
    composer.include(sources::CHANGED);
    composer.element::<T>();
    let Readers { own, everything, rows } = readers;
    let skewed = classes.is_some();
    let hooks = hook.is_some();
    let hook = hook.unwrap_or("vxm::Unhooked".into());
    let says = [in_place, skewed, *own, *everything].map(Piece::from);
    let ty = composer.ty("vxm::Changing", [node.ty, says[0], says[1], says[2], says[3], rows.len().into(), hook]);
    let program = composer.program(ty, &[("changing", "")])?;
    let resident = program.kernel("changing")?.resident(THREADS, composer.shared())? as usize;
    let [longs, hubs] = classes.as_deref().map_or([(0, 0); 2], |classes| [classes.rows(LONG), classes.rows(HUB)]);
    let blocks = n.div_ceil(THREADS as usize).clamp(1, resident.max(1));
    tracing::debug!(
        operation = "fixpoint",
        ?schedule,
        why,
        fused = "body, marks and the test for the end: one kernel",
        rows = rows.len(),
        everything,
        hooks,
        longs = longs.1,
        hubs = hubs.1,
        blocks,
        "plan"
    );
    let fresh = gpu.alloc(if in_place { 0 } else { n * size_of::<T>() })?;
    let onto = gpu.alloc(if in_place || !hooks { 0 } else { n * 4 })?;
    let told = gpu.mailbox(TOLD * 4)?;
    // where all are visited there is nobody to list
    let (short, long, marks) = if *everything { (0, 0, 0) } else { (n, longs.1, 4) };
    // due twice, moved twice; long and hub, where rows differ
    let size = words(n) * 8;
    // a warp writes the words of short rows whole, but where others' rows are in them
    let bits = if skewed { gpu.zeroed((marks + 2) * size) } else { gpu.alloc(marks * size) }?;
    let bits = |k: usize| bits.address() + (k * size) as u64;
    let (shorts, listed) = (gpu.alloc(2 * short * 4)?, gpu.alloc(2 * long * 4)?);
    let mut head = vec![n as u64, u64::from(most), state.values_address(), fresh.address()];
    head.extend([onto.address(), bits(0), bits(1)]);
    head.extend([shorts.address(), shorts.address() + 4 * short as u64]);
    head.extend([listed.address(), listed.address() + 4 * long as u64]);
    head.extend([2, 3, marks, marks + 1].map(bits));
    head.extend([longs.0, longs.1 as u64, hubs.0, hubs.1 as u64, gpu.board()?, told.address()]);
    let none = [(0, 0)];
    let links = if rows.is_empty() { &none[..] } else { rows };
    head.extend(links.iter().flat_map(|&(offsets, columns)| [offsets, columns]));
    let shape = Launch::linear(blocks as u32, THREADS).with_shared(composer.shared()).cooperative();
    launch(&program, "changing", shape, &composer.parameter(&head))?;
    Ok(Launched { told: told.begin()? })
}
