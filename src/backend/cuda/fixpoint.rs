//! A loop that stays on the device: one cooperative launch, whatever the number of rounds.

use super::DeviceVector;
use super::compose::{Composer, Node, Piece};
use super::csr::{Classes, HUB, LARGE, LONG, SHORT};
use super::run::{THREADS, launch};
use crate::backend::plan::{self, Schedule};
use crate::error::Result;
use vxm_kernels::{Launch, Reading, sources};
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
    /// The bits of what its end folds, if it does, and there are elements.
    pub folded: Option<u64>,
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
        let mut words = self.told.wait::<u64>()?;
        let last = words.pop().unwrap_or_default();
        let (rounds, why) = (last as u32, (last >> 32) as u32);
        let folded = words.first_chunk().and_then(|&[bits, present]| (present != 0).then_some(bits));
        Ok(Outcome { rounds, stuck: why != 0, endless: why == ENDLESS, folded })
    }
}

/// What a loop's kernel makes of each element once it is settled.
#[derive(Debug)]
pub struct End {
    view: Piece,
    values: u64,
    /// Its elements' monoid, if they are folded too, and their bytes.
    fold: Option<(Piece, usize)>,
}

impl End {
    /// The view that was emitted last, written to `out`; and folded by a monoid, if there is one.
    pub fn new<U: Element>(node: &Node, out: &DeviceVector<U>, add: Option<Piece>) -> Self {
        Self { view: node.ty, values: out.values_address(), fold: add.map(|add| (add, size_of::<U>())) }
    }

    /// What it is in C++.
    fn ty(this: Option<&Self>, composer: &mut Composer) -> Piece {
        match this {
            None => "vxm::Unended".into(),
            Some(Self { view, fold: None, .. }) => composer.ty("vxm::Ended", [*view]),
            Some(Self { view, fold: Some((add, _)), .. }) => composer.ty("vxm::Folded", [*view, *add]),
        }
    }

    /// Bytes of a block's part: an element, and whether there is one.
    fn part(this: Option<&Self>) -> usize {
        // in words, so that all lie as they must
        this.and_then(|end| end.fold).map_or(0, |(_, size)| size.next_multiple_of(4) + 4)
    }
}

/// A loop's pieces, whose words were pushed in this order.
#[derive(Debug)]
pub struct Loop<'a, F> {
    /// The body.
    pub body: &'a Node,
    /// That of the first round, if it has one of its own.
    pub start: Option<&'a Node>,
    /// What the state begins as, and whether the kernel makes that.
    pub begin: (Piece, bool),
    /// What is made of an element once it is settled.
    pub end: Option<End>,
    /// The loop goes on until that holds of no element.
    pub active: F,
    /// Or until so many rounds have changed some.
    pub most: u32,
    /// Whether states may be written at once.
    pub monotone: bool,
}

/// Bytes of warps' lists that a block may keep in shared memory: where they are few a pass waits for little else (four blocks of these leave
/// half of a multiprocessor's for the first-level cache).
const NEAR: usize = 24 << 10;

/// As long as long rows wait, short ones are all looked at in every so many passes only: see the kernel.
const SELDOM: u64 = 64;

/// Bytes of how it went: see the kernel.
const TOLD: usize = 8;
/// What it says where elements changed still.
const ENDLESS: u32 = 2;

/// The rows of one class, and the room that each share of them has.
#[derive(Debug, Default, Clone, Copy)]
struct Share {
    list: u64,
    count: usize,
    room: usize,
}

/// Short rows, long ones, and hubs: whose are a thread's, a warp's, a block's. Where who is waited for is remembered a row is seldom read,
/// and hubs are a warp's, too, since a block's warps wait for each other at each: those last of the long ones are large, and looked through
/// before, by all.
fn shares(classes: Option<&Classes>, n: usize, watches: bool) -> [Share; 3] {
    let all = Share { count: n, ..Share::default() };
    let Some(classes) = classes.filter(|classes| classes.alone.is_none()) else {
        return [all, Share::default(), Share::default()];
    };
    let ranges = if watches { [SHORT, LONG.start..HUB.end, LARGE] } else { [SHORT, LONG, HUB] };
    ranges.map(|range| {
        let (list, count) = classes.rows(range);
        Share { list, count, room: 0 }
    })
}

impl<F> Loop<'_, F> {
    /// Launches it over `state`.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn launch<T: Element>(self, mut composer: Composer, state: &mut DeviceVector<T>) -> Result<Launched>
    where
        F: UnaryOp<T, Out = bool>,
    {
        let Self { body, start, begin: (begin, begun), end, active, most, monotone } = self;
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
        let (monotone_too, skewed, flight) = (monotone.into(), (!even).into(), composer.flight().into());
        let sifts = watches && composer.sifts();
        let ends = End::ty(end.as_ref(), &mut composer);
        let arguments =
            [body.ty, start, begin, ends, active, monotone_too, skewed, flight, watched, place.into(), sifts.into()];
        let ty = composer.ty("vxm::Fixpoint", arguments);
        if watches && (!sifts || composer.is_scattered()) {
            composer.wait_briefly();
        }
        let program = composer.program(ty, &[("fixpoint", group)])?;
        let resident = program.kernel("fixpoint")?.resident(THREADS, composer.shared())? as usize;
        let [mut shorts, mut longs, mut hubs] = shares(classes.as_deref(), n, watches);
        let warps_a_block = THREADS as usize / 32;
        let chunks = shorts.count.div_ceil(32);
        let blocks = chunks.max(longs.count).div_ceil(warps_a_block).max(hubs.count).clamp(1, resident.max(1));
        let warps = blocks * warps_a_block;
        shorts.room = chunks.div_ceil(warps) * 32;
        longs.room = longs.count.div_ceil(warps);
        hubs.room = if watches { 0 } else { hubs.count.div_ceil(blocks) };
        // beside a row stand for whom it waits, if that is remembered, and its entries that take part still
        let size = match (watches, sifts) {
            (true, true) if !even => 16,
            (true, true) => 12,
            (true, false) => 8,
            (false, _) => 4,
        };
        // long rows are looked at more often: their lists come first
        let mut shared = composer.shared();
        let mut near = |share: &Share| -> Result<Option<u64>> {
            let (at, bytes) = (shared.next_multiple_of(16), share.room * warps_a_block * size);
            if bytes == 0
                || bytes > NEAR
                || program.kernel("fixpoint")?.resident(THREADS, at + bytes as u32)? < blocks as u32
            {
                return Ok(None);
            }
            shared = at + bytes as u32;
            Ok(Some(u64::from(at)))
        };
        let (longs_near, shorts_near) = (near(&longs)?, near(&shorts)?);
        let bytes = |share: &Share, near: Option<u64>| if near.is_some() { 0 } else { share.room * warps * size };
        let far = [bytes(&shorts, shorts_near), bytes(&longs, longs_near), hubs.room * blocks * 4];
        // lists are of whole rows, and parts behind them
        let lists = far.iter().sum::<usize>().next_multiple_of(8);
        let work = gpu.alloc(lists + blocks * End::part(end.as_ref()))?;
        let fresh = gpu.alloc(if monotone { 0 } else { n * size_of::<T>() })?;
        let folds = end.as_ref().and_then(|end| end.fold);
        let told = gpu.mailbox(if folds.is_some() { 3 * TOLD } else { TOLD })?;
        let fused = match (begun, &end) {
            (false, None) => "body, work lists and the test for the end: one kernel",
            (true, None) => "the state's beginning, body, work lists and the test for the end: one kernel",
            (false, Some(_)) => "body, work lists, the test for the end and what is made then: one kernel",
            (true, Some(_)) => {
                "the state's beginning, body, work lists, the test for the end and what is made then: one kernel"
            }
        };
        tracing::debug!(
            operation = "fixpoint",
            ?schedule,
            why,
            fused,
            shorts = shorts.count,
            longs = longs.count,
            hubs = hubs.count,
            blocks,
            shared,
            "plan"
        );
        let mut head = Vec::with_capacity(32);
        let mut from = work.address();
        for ((share, near), bytes) in [(shorts, shorts_near), (longs, longs_near), (hubs, None)].into_iter().zip(far) {
            head.extend([
                share.list,
                share.count as u64,
                near.unwrap_or(from),
                share.room as u64,
                u64::from(near.is_some()),
            ]);
            from += bytes as u64;
        }
        head.extend([
            n as u64,
            state.values_address(),
            fresh.address(),
            gpu.board()?,
            // where short rows are looked at less often, a round is up to so many passes
            (u64::from(most) * if watches && !even { SELDOM } else { 1 }).min(u32::MAX.into()),
        ]);
        // the ends' words stand last
        if let Some(end) = &end {
            composer.push(end.values);
        }
        composer.push(told.address());
        if let Some((_, size)) = folds {
            let parts = work.address() + lists as u64;
            composer.push(parts);
            composer.push(parts + (blocks * size.next_multiple_of(4)) as u64);
        }
        let shape = Launch::linear(blocks as u32, THREADS).with_shared(shared).cooperative();
        launch(&program, "fixpoint", shape, &composer.parameter(&head))?;
        Ok(Launched { told: told.begin()? })
    }
}
