//! The loop over active elements as one cooperative launch, whatever the number of rounds.

use crate::backend::cuda::DeviceVector;
use crate::backend::cuda::codegen::builder::{BlockingProduct, KernelBuilder, Node};
use crate::backend::cuda::ranks::PeerSlots;
use crate::backend::cuda::layout::row_classes::{Classes, HUB, LARGE, LONG, RANKED, SHORT};
use crate::backend::cuda::loops::counters::Threads;
use crate::backend::cuda::terminals::launch;
use crate::backend::plan::{self, Schedule};
use crate::backend::tuning::{LoopConfig, THREADS, tuning};
use crate::error::Result;
use std::sync::Arc;
use crate::kernels::{Buffer, Launch, Program, Readback, sources};
use vxm_semiring::{Element, UnaryOp};

/// How a loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// The number of rounds; of an asynchronous loop, the most passes that a warp made.
    pub rounds: u32,
    /// Whether the loop gave up with active elements left.
    pub stuck: bool,
    /// Whether it gave up because it reached its last round. Otherwise, if it gave up, no element changed any more.
    pub endless: bool,
}

/// Why the emitted body can't stay on the device, if it can't.
pub fn why_unfusable<T: Element>(builder: &KernelBuilder) -> Option<&'static str> {
    builder.unfusable().or((size_of::<T>() == 0).then_some("a state without values never changes"))
}

/// The outcome of a loop that was launched.
pub struct PendingOutcome {
    pub(super) readback: Readback,
    /// The threads launched.
    pub threads: Threads,
    /// Whether no warp waited for another, so that there were no rounds.
    pub asynchronous: bool,
}

impl PendingOutcome {
    /// Waits for the loop's end, but not for work launched after it.
    ///
    /// # Errors
    /// The device is lost.
    pub fn outcome(self) -> Result<Outcome> {
        let words = self.readback.wait::<u32>()?;
        Ok(Outcome { rounds: words[0], stuck: words[1] != 0, endless: words[1] == ENDLESS })
    }
}

/// The number of 32-bit words that the kernel posts: rounds, and whether it gave up.
pub(super) const OUTCOME_WORDS: usize = 2;
/// The second word if the loop reached its last round.
const ENDLESS: u32 = 2;

pub(super) const WARPS_PER_BLOCK: usize = THREADS as usize / 32;

/// The rows of one class, and the storage for the work lists of the warps (for hubs, of the blocks) that visit them.
#[derive(Debug, Default, Clone, Copy)]
struct RowClassList {
    /// The address of the class's row numbers; 0 if the class takes all rows below `count`.
    rows: u64,
    count: usize,
    /// The capacity of each work list, in records.
    capacity: usize,
    /// Where the work lists begin in a block's shared memory; none if they lie in global memory.
    shared_offset: Option<u64>,
}

/// The positions of the classes in [`class_lists`]: of short rows, long ones, and hubs. Between them stand the long rows by length.
const SHORTS: usize = 0;
const LONGS: usize = 1;
const HUBS: usize = 6;

type ClassLists = [RowClassList; HUBS + 1];

/// The lists of rows by class, in the order of the kernel's members: short rows, long rows, long rows in four classes by length, and hubs.
/// A thread visits a short row, a warp a long one. If `rank_long_rows`, the four classes take the long rows, the longest class first.
///
/// If blockers are not tracked, a block visits a hub. If they are, rows are rarely re-read, so hubs go to single warps too: in a block, all
/// warps would wait for each other at each hub. The last list then holds the long rows that all warps compact together before the first
/// visit.
fn class_lists(classes: Option<&Classes>, n: usize, tracks_blockers: bool, rank_long_rows: bool) -> ClassLists {
    let all = RowClassList { count: n, ..RowClassList::default() };
    let Some(classes) = classes.filter(|classes| classes.uniform_class.is_none()) else {
        return std::array::from_fn(|k| if k == SHORTS { all } else { RowClassList::default() });
    };
    let [first, second, third, fourth] = RANKED;
    let ranges = match (tracks_blockers, rank_long_rows) {
        (true, true) => [SHORT, 0..0, first, second, third, fourth, LARGE],
        (true, false) => [SHORT, LONG.start..HUB.end, 0..0, 0..0, 0..0, 0..0, LARGE],
        (false, _) => [SHORT, LONG, 0..0, 0..0, 0..0, 0..0, HUB],
    };
    ranges.map(|range| {
        let (rows, count) = classes.rows(range);
        RowClassList { rows, count, ..RowClassList::default() }
    })
}

/// What the kernel is compiled for: the schedule, what it tracks about rows, and the rows of each class.
struct Configuration {
    schedule: Schedule,
    /// Why this schedule.
    why: &'static str,
    monotone: bool,
    /// Whether rows differ much in length. Otherwise all rows count as short.
    skewed: bool,
    /// The product with tracked blockers.
    tracked: Option<BlockingProduct>,
    tuned: LoopConfig,
    live_mask: bool,
    prefilters: bool,
    /// Whether rows may have more entries than a live-edge mask tells apart.
    has_tails: bool,
    /// Whether blocked rows are tested again at once.
    immediate_revisit: bool,
    /// Whether copies of states lie on other ranks' GPUs.
    has_copies: bool,
    lists: ClassLists,
}

impl Configuration {
    /// The configuration of a loop over the emitted body, for `n` rows.
    fn new(builder: &KernelBuilder, n: usize, &Limits { monotone, peers, .. }: &Limits<'_>) -> Self {
        let classes = builder.classes();
        let (schedule, why) = plan::schedule(monotone, plan::forced());
        // a loop that reads the states of the previous round computes every row anew, so blockers are of no use to it
        let tracked = builder.blocking_product().filter(|_| monotone).copied();
        let tuned = builder.loop_config();
        let (live_mask, prefilters) = (tracked.is_some() && tuned.live_mask, tracked.is_some() && builder.prefilters());
        let lists = class_lists(classes.as_deref(), n, tracked.is_some(), prefilters && builder.compacts_rows());
        let threads = builder.gpu().multiprocessors() as usize * tuning().blocks as usize * THREADS as usize;
        let longest = classes.as_deref().map_or(usize::MAX, |classes| classes.longest);
        Self {
            schedule,
            why,
            monotone,
            skewed: classes.as_deref().is_some_and(|classes| classes.uniform_class.is_none()),
            tracked,
            tuned,
            live_mask,
            prefilters,
            // a mask tells 31 entries of a filtered row apart; its last bit stands for all later entries
            has_tails: prefilters && longest > 31,
            immediate_revisit: schedule == Schedule::Asynchronous
                && lists[SHORTS].count >= tuning().revisit_rows * threads,
            has_copies: peers.is_some(),
            lists,
        }
    }

    /// The program for the body `node`, with its own body `start` for the first round if there is one.
    fn compile<T: Element, F: UnaryOp<T, Out = bool>>(
        &self,
        builder: &mut KernelBuilder,
        (node, start): (&Node, Option<&Node>),
        active: F,
    ) -> Result<Arc<Program>> {
        let (group, reads) = match self.schedule {
            Schedule::Asynchronous => ("vxm::Asynchronous()", sources::DIRECT),
            Schedule::Rounds | Schedule::Stale(_) | Schedule::Sweeps(_) => ("vxm::Rounds()", sources::CACHED),
        };
        builder.include(reads);
        builder.include(sources::STATE);
        builder.include(sources::TERMINATION);
        builder.include(sources::COPIES);
        builder.include(sources::ACTIVE);
        let active = builder.functor(active);
        builder.element::<T>();
        let tracked = match self.tracked {
            Some(product) => builder.ty("vxm::TrackedProduct", [product.ty, product.at.into()]),
            None => "vxm::Absent".into(),
        };
        let start = start.map_or("vxm::Absent".into(), |start| start.ty);
        let prefilter_unroll = if self.prefilters { self.tuned.filter_unroll } else { 0 };
        let visit = builder.ty("vxm::VisitConfig", [self.monotone.into(), self.immediate_revisit.into()]);
        let row = [self.skewed.into(), self.live_mask.into(), self.has_tails.into()];
        let row = builder.ty("vxm::RowConfig", row);
        let unroll = builder.ty("vxm::UnrollConfig", [self.tuned.unroll.into(), prefilter_unroll.into()]);
        let copies = if self.has_copies { "vxm::PeerCopies" } else { "vxm::NoCopies" };
        let config = builder.ty("vxm::ActiveConfig", [visit, row, unroll, copies.into()]);
        let ty = builder.ty("vxm::ActiveLoop", [node.ty, start, active, tracked, config]);
        if self.tracked.is_some() {
            builder.set_blocks(self.tuned.blocks);
        }
        builder.program(ty, &[("fixpoint", group)])
    }

    /// An upper bound of a work-list record's size in bytes: the row, and what is tracked about it (a blocker, and a live-edge mask with
    /// perhaps a second blocker or the row's start).
    fn record_bytes(&self) -> usize {
        match (self.tracked.is_some(), self.live_mask) {
            (true, true) if self.skewed || self.prefilters => 16,
            (true, true) => 12,
            (true, false) => 8,
            (false, _) => 4,
        }
    }

    /// The most rounds as the kernel counts them. If short rows are tested in few passes only, a round may take that many passes.
    fn most_passes(&self, most: u32) -> u64 {
        let passes = if self.tracked.is_some() && self.skewed { u64::from(tuning().short_rows_every) } else { 1 };
        (u64::from(most) * passes).min(u32::MAX.into())
    }
}

/// The grid of the launch, and where its work lists lie.
struct Grid {
    blocks: usize,
    /// The size in bytes of a block's shared memory.
    shared: u32,
    record_bytes: usize,
    lists: ClassLists,
}

impl Grid {
    /// The grid for a program of this configuration: as many blocks as its rows can use and the device can hold at once.
    fn new(configuration: &Configuration, builder: &KernelBuilder, program: &Program) -> Result<Self> {
        let mut lists = configuration.lists;
        let tracks_blockers = configuration.tracked.is_some();
        let multiprocessors = builder.gpu().multiprocessors() as usize;
        let resident = program.kernel("fixpoint")?.resident(THREADS, builder.shared())? as usize;
        let most_blocks = configuration.tuned.most_blocks.filter(|_| tracks_blockers);
        let resident = most_blocks.map_or(resident, |most| resident.min(most as usize * multiprocessors));
        let batches = lists[SHORTS].count.div_ceil(32);
        let most_warps = lists[LONGS..HUBS].iter().map(|list| list.count).max().unwrap_or(0).max(batches);
        let blocks = most_warps.div_ceil(WARPS_PER_BLOCK).max(lists[HUBS].count).clamp(1, resident.max(1));
        let warps = blocks * WARPS_PER_BLOCK;
        lists[SHORTS].capacity = batches.div_ceil(warps) * 32;
        lists[LONGS..HUBS].iter_mut().for_each(|list| list.capacity = list.count.div_ceil(warps));
        lists[HUBS].capacity = if tracks_blockers { 0 } else { lists[HUBS].count.div_ceil(blocks) };
        let record_bytes = configuration.record_bytes();
        let mut grid = Self { blocks, shared: builder.shared(), record_bytes, lists };
        grid.place_in_shared(program)?;
        Ok(grid)
    }

    /// Moves work lists to shared memory, while all blocks still fit the device at once. Long rows are visited more often, so their lists
    /// come first.
    fn place_in_shared(&mut self, program: &Program) -> Result<()> {
        for k in (LONGS..HUBS).chain([SHORTS]) {
            let at = self.shared.next_multiple_of(16);
            let bytes = self.lists[k].capacity * WARPS_PER_BLOCK * self.record_bytes;
            if bytes > 0
                && bytes <= tuning().shared_lists
                && program.kernel("fixpoint")?.resident(THREADS, at + bytes as u32)? >= self.blocks as u32
            {
                self.lists[k].shared_offset = Some(at.into());
                self.shared = at + bytes as u32;
            }
        }
        Ok(())
    }

    /// The size in bytes of list `k` in global memory. The hubs' list is a list of row numbers for each block.
    fn global_bytes(&self, k: usize) -> usize {
        let list = &self.lists[k];
        match list.shared_offset {
            _ if k == HUBS => list.capacity * self.blocks * 4,
            Some(_) => 0,
            None => list.capacity * self.blocks * WARPS_PER_BLOCK * self.record_bytes,
        }
    }

    /// The kernel's words for the lists, which lie one after another from `address` on in global memory.
    fn list_words(&self, address: u64) -> Vec<u64> {
        let mut words = Vec::with_capacity(48);
        let mut from = address;
        for (k, list) in self.lists.iter().enumerate() {
            let in_shared = list.shared_offset.is_some();
            let storage = list.shared_offset.unwrap_or(from);
            words.extend([list.rows, list.count as u64, storage, list.capacity as u64, u64::from(in_shared)]);
            from += self.global_bytes(k) as u64;
        }
        words
    }
}

/// What a loop may do, and how long.
#[derive(Debug, Clone, Copy)]
pub struct Limits<'p> {
    /// Whether visits need not wait for each other.
    pub monotone: bool,
    /// The most rounds that change an element.
    pub most: u32,
    /// Where the state lies and its copies do, if the loop visits this rank's elements only.
    pub(crate) peers: Option<&'p PeerSlots>,
}

/// Launches the body `node` over `state`, with the body `start` for the first round if there is one. The loop ends when `active` holds of
/// no element, when no element changes any more, or after the most rounds that change some. If `before` is there, it is the initial state.
///
/// Among peers the loop ends, too, when none of this rank's elements has changed for a while: others may still.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn fixpoint<T: Element, F: UnaryOp<T, Out = bool>>(
    mut builder: KernelBuilder,
    (node, start): (&Node, Option<&Node>),
    active: F,
    limits: Limits<'_>,
    state: &mut DeviceVector<T>,
    before: Option<Arc<Buffer>>,
) -> Result<PendingOutcome> {
    let Limits { monotone, most, peers } = limits;
    let (gpu, n) = (builder.gpu().clone(), peers.map_or(state.len(), PeerSlots::places));
    let configuration = Configuration::new(&builder, n, &limits);
    let program = configuration.compile::<T, F>(&mut builder, (node, start), active)?;
    let grid = Grid::new(&configuration, &builder, &program)?;
    let work_lists = gpu.alloc((0..=HUBS).map(|k| grid.global_bytes(k)).sum())?;
    let next_state = gpu.alloc(if monotone { 0 } else { n * size_of::<T>() })?;
    let outcome = gpu.mailbox(OUTCOME_WORDS * 4)?;
    tracing::debug!(
        operation = "fixpoint",
        schedule = ?configuration.schedule,
        why = configuration.why,
        fused = "body, work lists and termination test in one kernel",
        shorts = grid.lists[SHORTS].count,
        longs = grid.lists[LONGS..HUBS].iter().map(|list| list.count).sum::<usize>(),
        hubs = grid.lists[HUBS].count,
        blocks = grid.blocks,
        shared = grid.shared,
        "plan"
    );
    let mut head = peers.map_or(Vec::new(), |peers| peers.words().to_vec());
    head.extend(grid.list_words(work_lists.address()));
    head.extend([
        before.as_ref().map_or(0, |before| before.address()),
        n as u64,
        state.values_address(),
        next_state.address(),
        gpu.grid_barrier()?,
        outcome.address(),
        configuration.most_passes(most),
    ]);
    let shape = Launch::linear(grid.blocks as u32, THREADS).with_shared(grid.shared).cooperative();
    launch(&program, "fixpoint", shape, &builder.parameter(&head))?;
    let asynchronous = configuration.schedule == Schedule::Asynchronous;
    Ok(PendingOutcome { readback: outcome.begin()?, threads: Threads::in_blocks(grid.blocks), asynchronous })
}
