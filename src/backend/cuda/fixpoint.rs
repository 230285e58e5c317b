//! A loop that stays on the device: one cooperative launch, whatever the number of rounds.

use super::DeviceVector;
use super::compose::{Composer, Node};
use super::csr::{Classes, HUB, LARGE, LONG, RANKED, SHORT};
use super::run::{THREADS, launch};
use crate::backend::plan::{self, Schedule};
use crate::error::Result;
use std::sync::Arc;
use vxm_kernels::{Buffer, Launch, Reading, sources};
use vxm_semiring::{Element, UnaryOp};

/// How a loop went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Rounds; of an asynchronous one, the passes of who made most.
    pub rounds: u32,
    /// Whether it gave up: elements were left.
    pub stuck: bool,
    /// Whether they changed still; none did otherwise.
    pub endless: bool,
}

/// Why an emitted body can't stay on the device, if it can't.
pub fn refusal<T: Element>(composer: &Composer) -> Option<&'static str> {
    composer.refused().or((size_of::<T>() == 0).then_some("a state without values never changes"))
}

/// A loop that was launched.
pub struct Launched {
    told: Reading,
}

impl Launched {
    /// Waits for the end, not for what was launched since.
    ///
    /// # Errors
    /// The device is lost.
    pub fn outcome(self) -> Result<Outcome> {
        let words = self.told.wait::<u32>()?;
        Ok(Outcome { rounds: words[0], stuck: words[1] != 0, endless: words[1] == ENDLESS })
    }
}

/// Bytes of warps' lists that a block may keep in shared memory: where they are few a pass waits for little else (four blocks of these leave
/// half of a multiprocessor's for the first-level cache).
const NEAR: usize = 36 << 10;

/// Where each thread has so many short rows, with so many blocks a multiprocessor, those that wait are visited again at once.
const EAGER: usize = 32;
const BLOCKS: usize = 4;

/// As long as long rows wait, short ones are all looked at in every so many passes only: see the kernel.
const SELDOM: u64 = 64;

/// Words of how it went: see the kernel.
const TOLD: usize = 2;
/// What it says where elements changed still.
const ENDLESS: u32 = 2;

/// The rows of one class, and the room that each share of them has: in memory, or, if it is `near`, in a block's shared memory.
#[derive(Debug, Default, Clone, Copy)]
struct Share {
    list: u64,
    count: usize,
    room: usize,
    near: Option<u64>,
}

/// Where the classes stand in [`shares`], as in the kernel.
const SHORTS: usize = 0;
const LONGS: usize = 1;
const HUBS: usize = 6;

/// Short rows, long ones, those told apart by how long they are if they `rank`, the longest first, and hubs: whose are a thread's, a warp's, a
/// block's. Where who is waited for is remembered a row is seldom read, and hubs are a warp's, too, since a block's warps wait for each other
/// at each: those last of the long ones are large, and looked through before, by all.
fn shares(classes: Option<&Classes>, n: usize, watches: bool, ranks: bool) -> [Share; HUBS + 1] {
    let all = Share { count: n, ..Share::default() };
    let Some(classes) = classes.filter(|classes| classes.alone.is_none()) else {
        return std::array::from_fn(|share| if share == SHORTS { all } else { Share::default() });
    };
    let [first, second, third, fourth] = RANKED;
    let ranges = match (watches, ranks) {
        (true, true) => [SHORT, 0..0, first, second, third, fourth, LARGE],
        (true, false) => [SHORT, LONG.start..HUB.end, 0..0, 0..0, 0..0, 0..0, LARGE],
        (false, _) => [SHORT, LONG, 0..0, 0..0, 0..0, 0..0, HUB],
    };
    ranges.map(|range| {
        let (list, count) = classes.rows(range);
        Share { list, count, ..Share::default() }
    })
}

/// Launches the body `node`, and for the first round `start` if there is one, over `state`, until `active` holds of none of its elements, or
/// so many rounds have changed some. If `before` is there, the state begins as that.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn fixpoint<T: Element, F: UnaryOp<T, Out = bool>>(
    mut composer: Composer,
    (node, start): (&Node, Option<&Node>),
    active: F,
    monotone: bool,
    most: u32,
    state: &mut DeviceVector<T>,
    before: Option<Arc<Buffer>>,
) -> Result<Launched> {
    let (gpu, n) = (composer.gpu().clone(), state.len());
    let classes = composer.classes();
    let even = classes.as_deref().is_none_or(|classes| classes.alone.is_some());
    let (schedule, why) = plan::schedule(monotone, plan::forced());
    let (group, reads) = match schedule {
        Schedule::Asynchronous => ("vxm::Asynchronous()", sources::DIRECT),
        Schedule::Rounds | Schedule::Stale(_) => ("vxm::Rounds()", sources::CACHED),
    };
    composer.include(reads);
    composer.include(sources::STATE);
    composer.include(sources::FIXPOINT);
    let active = composer.functor(active);
    composer.element::<T>();
    // one that reads the states of the round before computes each anew
    let watched = composer.watched().filter(|_| monotone);
    let watches = watched.is_some();
    let (watched, place) = watched.map_or(("vxm::Nothing".into(), 0), |lead| (lead.ty, lead.at));
    let start = start.map_or("vxm::Nothing".into(), |start| start.ty);
    let (sifts, chooses) = (watches && composer.sifts(), watches && composer.chooses());
    let mut shares = shares(classes.as_deref(), n, watches, chooses && composer.narrows());
    let (warps_a_block, multiprocessors) = (THREADS as usize / 32, gpu.multiprocessors() as usize);
    let asynchronous = schedule == Schedule::Asynchronous;
    let eager = asynchronous && shares[SHORTS].count >= EAGER * multiprocessors * BLOCKS * THREADS as usize;
    // of a row whose entries were chosen bits tell 31 apart
    let longest = classes.as_deref().map_or(usize::MAX, |classes| classes.longest);
    let (flight, choosing) = (composer.flight(), if chooses { composer.choosing() } else { 0 });
    let (place, sifting) = (place.into(), sifts.into());
    let (eager, tails) = (eager.into(), (chooses && longest > 31).into());
    let (skewed, flight, choosing) = ((!even).into(), flight.into(), choosing.into());
    let ty = composer.ty(
        "vxm::Fixpoint",
        [node.ty, start, active, monotone.into(), skewed, flight, choosing, watched, place, sifting, eager, tails],
    );
    if watches {
        composer.wait_briefly(sifts);
    }
    let program = composer.program(ty, &[("fixpoint", group)])?;
    let resident = program.kernel("fixpoint")?.resident(THREADS, composer.shared())? as usize;
    let resident = composer.blocks_at_most().map_or(resident, |most| resident.min(most as usize * multiprocessors));
    let chunks = shares[SHORTS].count.div_ceil(32);
    let most_warps = shares[LONGS..HUBS].iter().map(|share| share.count).max().unwrap_or(0).max(chunks);
    let blocks = most_warps.div_ceil(warps_a_block).max(shares[HUBS].count).clamp(1, resident.max(1));
    let warps = blocks * warps_a_block;
    shares[SHORTS].room = chunks.div_ceil(warps) * 32;
    shares[LONGS..HUBS].iter_mut().for_each(|share| share.room = share.count.div_ceil(warps));
    // beside a row stand for whom it waits, if that is remembered, and its entries that take part still
    let size = match (watches, sifts) {
        (true, true) if !even || chooses => 16,
        (true, true) => 12,
        (true, false) => 8,
        (false, _) => 4,
    };
    // long rows are looked at more often: their lists come first
    let mut shared = composer.shared();
    for share in (LONGS..HUBS).chain([SHORTS]) {
        let (at, bytes) = (shared.next_multiple_of(16), shares[share].room * warps_a_block * size);
        if bytes > 0
            && bytes <= NEAR
            && program.kernel("fixpoint")?.resident(THREADS, at + bytes as u32)? >= blocks as u32
        {
            shares[share].near = Some(at.into());
            shared = at + bytes as u32;
        }
    }
    let hubs_room = if watches { 0 } else { shares[HUBS].count.div_ceil(blocks) };
    shares[HUBS].room = hubs_room;
    let far = |share: usize| match shares[share].near {
        _ if share == HUBS => hubs_room * blocks * 4,
        Some(_) => 0,
        None => shares[share].room * warps * size,
    };
    let work = gpu.alloc((0..=HUBS).map(far).sum())?;
    let fresh = gpu.alloc(if monotone { 0 } else { n * size_of::<T>() })?;
    let told = gpu.mailbox(TOLD * 4)?;
    tracing::debug!(
        operation = "fixpoint",
        ?schedule,
        why,
        fused = "body, work lists and the test for the end: one kernel",
        shorts = shares[SHORTS].count,
        longs = shares[LONGS..HUBS].iter().map(|share| share.count).sum::<usize>(),
        hubs = shares[HUBS].count,
        blocks,
        shared,
        "plan"
    );
    let mut head = Vec::with_capacity(48);
    let mut from = work.address();
    for (at, share) in shares.iter().enumerate() {
        head.extend([
            share.list,
            share.count as u64,
            share.near.unwrap_or(from),
            share.room as u64,
            u64::from(share.near.is_some()),
        ]);
        from += far(at) as u64;
    }
    let begin = before.as_ref().map_or(0, |before| before.address());
    head.extend([
        begin,
        n as u64,
        state.values_address(),
        fresh.address(),
        gpu.board()?,
        told.address(),
        // where short rows are looked at less often, a round is up to so many passes
        (u64::from(most) * if watches && !even { SELDOM } else { 1 }).min(u32::MAX.into()),
    ]);
    let shape = Launch::linear(blocks as u32, THREADS).with_shared(shared).cooperative();
    launch(&program, "fixpoint", shape, &composer.parameter(&head))?;
    Ok(Launched { told: told.begin()? })
}
