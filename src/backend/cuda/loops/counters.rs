//! The counters of a kernel. They are compiled into the kernel only if it is counted: a loop's body is then wrapped in a view that counts.

use crate::backend::cuda::Gpu;
use crate::backend::cuda::codegen::builder::{CppType, KernelBuilder, Node};
use crate::backend::profile::{
    self, BLOCKS, Counts, ElementVisits, GroupLoad, LoopKind, LoopProfile, PlaceCounts, Round, Spread,
};
use crate::backend::tuning::THREADS;
use crate::error::Result;
use crate::kernels::{Buffer, sources};
use std::panic::Location;
use std::time::Instant;

/// The threads of a warp.
const WARP: usize = 32;
/// The most threads that a multiprocessor holds at once, on any architecture so far.
const THREADS_A_MULTIPROCESSOR: usize = 2048;
/// The kinds of groups, in the order of the kernel's counters.
const GROUPS: [&str; 3] = ["thread", "warp", "block"];
/// The columns of `vxm::Profiled`: visits, elements finalised, entries of the rows visited.
const COLUMNS: usize = 3;
/// The words of `vxm::Place`.
const PLACE_WORDS: usize = 4;
/// The words of `vxm::RoundCounts`: the events of [`Counts`], threads, the time of its end, and changes by part.
const ROUND_WORDS: usize = Counts::LEN + 2 + BLOCKS;
/// The rounds that are told one by one, as in `vxm::RoundCounts`: few loops have more, and these take 2.6 MB. Later ones share the last place.
const ROUNDS: usize = 4096;

/// The threads that a loop's kernel was launched with, and how many make a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threads {
    /// All threads.
    pub all: usize,
    /// The threads of a block.
    pub block: u32,
}

impl Threads {
    /// The threads of so many blocks of the usual size.
    pub fn in_blocks(blocks: usize) -> Self {
        Self { all: blocks * THREADS as usize, block: THREADS }
    }
}

/// What a kernel counts of its rounds; zero at first.
pub struct Series(Buffer);

impl Series {
    /// Counters for a kernel on `gpu`, if this thread is in a [scope](profile::collect).
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn start(gpu: &Gpu) -> Result<Option<Self>> {
        if !profile::is_collecting() {
            return Ok(None);
        }
        Ok(Some(Self(gpu.zeroed((1 + ROUNDS * ROUND_WORDS) * 8)?)))
    }

    /// Makes `builder`'s kernel count.
    pub fn count(&self, builder: &mut KernelBuilder) {
        builder.count_in(self.0.address());
    }

    /// The sums of a kernel without rounds.
    ///
    /// # Errors
    /// The device is lost.
    pub fn total(&self) -> Result<Counts> {
        Ok(self.rounds(1)?.first().map_or_else(Counts::default, |round| round.counts))
    }

    /// The first `most` rounds, without those at the end in which nothing was counted.
    fn rounds(&self, most: usize) -> Result<Vec<Round>> {
        let words = self.0.download::<u64>(1 + most.min(ROUNDS) * ROUND_WORDS)?;
        let mut before = words[0];
        let round = |words: &[u64]| {
            let (events, rest) = words.split_at(Counts::LEN);
            let (threads, ended) = (rest[0], rest[1]);
            let nanoseconds = ended.saturating_sub(before);
            before = before.max(ended);
            Round {
                counts: Counts::of(events),
                threads: u32::try_from(threads).unwrap_or(u32::MAX),
                changes_by_block: rest[2..].iter().map(|&changes| u32::try_from(changes).unwrap_or(u32::MAX)).collect(),
                nanoseconds,
                ..Round::default()
            }
        };
        let mut rounds: Vec<Round> = words[1..].chunks_exact(ROUND_WORDS).map(round).collect();
        let last = rounds.iter().rposition(|round| round.counts != Counts::default());
        rounds.truncate(last.map_or(0, |last| last + 1));
        Ok(rounds)
    }
}

/// The counters of a loop's kernel, zero at first.
pub struct Counters {
    series: Series,
    columns: Buffer,
    /// The places in a column: as many as there may be threads.
    threads: usize,
    /// What was counted of each element, if the loop's body counts: see `vxm::Place`.
    places: Option<Buffer>,
    elements: usize,
    /// The size in bytes of an element.
    element_bytes: usize,
    /// The entries of the rows that the body reads.
    entries: u64,
    start: Instant,
}

/// The body of a loop: as it is, or wrapped in a view that counts if there are counters. `active` emits the test of active states, if the
/// loop has one.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn counted(
    counters: &mut Option<Counters>,
    builder: &mut KernelBuilder,
    node: Node,
    active: impl FnOnce(&mut KernelBuilder) -> Option<CppType>,
) -> Result<Node> {
    let Some(counters) = counters else { return Ok(node) };
    let active = active(builder);
    counters.wrap(builder, node, active)
}

impl Counters {
    /// Counters for a loop over `elements` elements of type `T` on `gpu`, if this thread is in a [scope](profile::collect).
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn start<T>(gpu: &Gpu, elements: usize) -> Result<Option<Self>> {
        let Some(series) = Series::start(gpu)? else { return Ok(None) };
        let threads = gpu.multiprocessors() as usize * THREADS_A_MULTIPROCESSOR;
        let columns = gpu.zeroed(GROUPS.len() * COLUMNS * threads * 8)?;
        let (element_bytes, start) = (size_of::<T>(), Instant::now());
        Ok(Some(Self { series, columns, threads, places: None, elements, element_bytes, entries: 0, start }))
    }

    /// The body that counts its visits. It must be wrapped before other words are added. `active` tells active states, if there is a test.
    fn wrap(&mut self, builder: &mut KernelBuilder, node: Node, active: Option<CppType>) -> Result<Node> {
        if self.places.is_none() {
            self.places = Some(builder.gpu().zeroed(self.elements * PLACE_WORDS * 4)?);
        }
        let places = self.places.as_ref().map_or(0, Buffer::address);
        let (offsets, offset, entries) = builder.take_row_offsets().unwrap_or((0, "vxm::u64".into(), 0));
        builder.push(offsets);
        self.words(builder, entries).into_iter().for_each(|word| builder.push(word));
        [places, self.elements as u64].into_iter().for_each(|word| builder.push(word));
        let active = active.unwrap_or("vxm::AlwaysActive".into());
        Ok(Node { ty: builder.ty("vxm::Profiled", [node.ty, active, offset]), ..node })
    }

    /// Makes `builder`'s kernel count. Returns the words of the columns. The kernel goes over rows of so many `entries`.
    pub(super) fn words(&mut self, builder: &mut KernelBuilder, entries: u64) -> [u64; 2] {
        self.entries = self.entries.max(entries);
        self.series.count(builder);
        builder.include(sources::PROFILED);
        [self.columns.address(), self.threads as u64]
    }

    /// Reads the counters of a kernel of these threads and so many rounds, and adds them to the scope. Rounds of an asynchronous loop are passes.
    ///
    /// # Errors
    /// The device is lost.
    pub fn finish(
        self,
        kind: LoopKind,
        at: &'static Location<'static>,
        (launched, rounds, asynchronous): (Threads, u32, bool),
    ) -> Result<()> {
        let nanoseconds = self.start.elapsed().as_nanos() as u64;
        // a step is a round of the series, and a pass that only filters entries isn't one of the loop
        let most = if kind == LoopKind::Steps { ROUNDS } else { rounds as usize + 1 };
        let mut series = self.series.rounds(most)?;
        due(kind, &mut series);
        let [visits, long_rows] = self.element_visits()?;
        profile::add(LoopProfile {
            device: format!("cuda:{}", self.columns.gpu().ordinal()),
            in_place: asynchronous,
            entries: self.entries,
            rounds: series,
            device_rounds: Some(rounds),
            groups: self.groups(launched)?,
            visits,
            long_rows,
            nanoseconds,
            ..LoopProfile::new(kind, at, (self.elements, self.element_bytes))
        });
        Ok(())
    }

    /// How often elements were visited, all and those with a long row.
    fn element_visits(&self) -> Result<[Option<ElementVisits>; 2]> {
        let Some(places) = &self.places else { return Ok([None, None]) };
        let words = places.download::<u32>(self.elements * PLACE_WORDS)?;
        Ok(ElementVisits::of(self.elements, |i| {
            let place = &words[i * PLACE_WORDS..][..PLACE_WORDS];
            PlaceCounts { visits: place[0], unchanged: place[1], narrowed: place[2], row: place[3] }
        }))
    }

    /// The load of each kind of group, of the threads launched.
    fn groups(&self, launched: Threads) -> Result<Vec<GroupLoad>> {
        let mut groups = Vec::new();
        for (group, (name, members)) in GROUPS.into_iter().zip([1, WARP, launched.block as usize]).enumerate() {
            // a group's first member counts for it, unless parts of a warp visit rows
            let spread = |column: usize| -> Result<Spread> {
                let counters = self.columns.download_at::<u64>((group * COLUMNS + column) * self.threads, launched.all)?;
                Ok(Spread::of(counters.chunks(members).map(|group| group.iter().sum()).collect()))
            };
            let visits = spread(0)?;
            if visits.max > 0 {
                let (finalised, edges) = (spread(1)?, spread(2)?);
                groups.push(GroupLoad { group: name, groups: launched.all / members, visits, finalised, edges });
            }
        }
        Ok(groups)
    }
}

/// Notes how many elements were due when each round began.
fn due(kind: LoopKind, rounds: &mut [Round]) {
    match kind {
        LoopKind::WhileChanged => rounds.iter_mut().for_each(|round| round.active = round.counts.visits),
        // those that this round finalised, or a later one
        LoopKind::WhileActive | LoopKind::Steps => {
            let mut active = 0;
            for round in rounds.iter_mut().rev() {
                active += round.counts.finalised;
                round.active = active;
            }
        }
    }
}
