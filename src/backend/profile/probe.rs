//! The counters of a loop while it runs: a slot for each thread, and a place for each element.

use crate::backend::profile::{
    self, BLOCKS, Counts, ElementVisits, LoopKind, LoopProfile, Round, SharedCounts, Spread, bump,
};
use std::panic::Location;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The entries of a row that counts as long: more than a warp has threads.
const LONG_ROW: u32 = 31;

/// The counters of one thread, in cache lines of their own. Only that thread writes them.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Slot(SharedCounts);

/// The counters of one element.
#[derive(Debug, Default)]
struct Place {
    visits: AtomicU32,
    unchanged: AtomicU32,
    narrowed: AtomicU32,
    /// The entries of the longest row that a visit read.
    row: AtomicU32,
}

/// A round that isn't over yet.
#[derive(Debug)]
struct Open {
    active: u64,
    since: Instant,
}

/// What was counted of rounds.
#[derive(Debug, Default)]
struct Rounds {
    done: Vec<Round>,
    open: Option<Open>,
    /// The slots' values when the last round ended.
    before: Vec<Counts>,
    in_place: bool,
}

/// The counters of a loop that runs on the CPU.
#[derive(Debug)]
pub struct Probe {
    kind: LoopKind,
    at: &'static Location<'static>,
    slots: Vec<Slot>,
    places: Vec<Place>,
    blocks: Vec<AtomicU32>,
    entries: AtomicU64,
    rounds: Mutex<Rounds>,
    start: Instant,
}

impl Probe {
    /// Counters for a loop over `elements` elements, if this thread is in a [scope](profile::collect).
    pub(crate) fn start(kind: LoopKind, elements: usize, at: &'static Location<'static>) -> Option<Self> {
        profile::is_collecting().then(|| Self {
            kind,
            at,
            // the first is for a thread that belongs to no pool
            slots: (0..=rayon::current_num_threads()).map(|_| Slot::default()).collect(),
            places: (0..elements).map(|_| Place::default()).collect(),
            blocks: (0..BLOCKS).map(|_| AtomicU32::new(0)).collect(),
            entries: AtomicU64::new(0),
            rounds: Mutex::default(),
            start: Instant::now(),
        })
    }

    fn rounds(&self) -> MutexGuard<'_, Rounds> {
        self.rounds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a round with so many elements due.
    pub(crate) fn begin_round(&self, active: usize, in_place: bool) {
        let mut rounds = self.rounds();
        rounds.in_place |= in_place;
        rounds.open = Some(Open { active: active as u64, since: Instant::now() });
    }

    /// Ends the round, in which elements joined waiters' lists so many times.
    pub(crate) fn end_round(&self, waiters: usize) {
        let mut rounds = self.rounds();
        let Some(Open { active, since }) = rounds.open.take() else { return };
        let nanoseconds = since.elapsed().as_nanos() as u64;
        let now: Vec<Counts> = self.slots.iter().map(|slot| slot.0.load()).collect();
        let (mut counts, mut threads) = (Counts::default(), 0);
        for (slot, now) in now.iter().enumerate() {
            let before = rounds.before.get(slot).copied().unwrap_or_default();
            let since = now.since(&before);
            threads += u32::from(since != Counts::default());
            counts += since;
        }
        let changes_by_block = self.blocks.iter().map(|block| block.swap(0, Ordering::Relaxed)).collect();
        rounds.before = now;
        rounds.done.push(Round { active, counts, threads, waiters: waiters as u64, changes_by_block, nanoseconds });
    }

    /// Says that the rows of the body's first product have so many entries.
    pub(crate) fn set_entries(&self, entries: u64) {
        self.entries.fetch_max(entries, Ordering::Relaxed);
    }

    /// This thread's counters.
    fn slot(&self) -> Option<&SharedCounts> {
        let slot = rayon::current_thread_index().map_or(0, |thread| thread + 1);
        self.slots.get(slot).map(|slot| &slot.0)
    }

    /// Adds to this thread's counters.
    pub(crate) fn add(&self, counts: &Counts) {
        if let Some(slot) = self.slot() {
            slot.add(counts);
        }
    }

    /// Adds to this thread's count of values joined: whether the join changed the element, and the compare-and-swaps that failed.
    pub(crate) fn add_join(&self, changed: bool, failed_swaps: u64) {
        if let Some(slot) = self.slot() {
            bump(&slot.atomics, 1);
            bump(&slot.effective_atomics, changed.into());
            bump(&slot.failed_swaps, failed_swaps);
        }
    }

    /// Adds a visit of element `i`, with so many entries in its row. No two threads visit an element at once.
    pub(crate) fn add_visit(&self, i: usize, row: u64) {
        let Some(place) = self.places.get(i) else { return };
        increment(&place.visits);
        let row = u32::try_from(row).unwrap_or(u32::MAX);
        if row > place.row.load(Ordering::Relaxed) {
            place.row.store(row, Ordering::Relaxed);
        }
    }

    /// Adds what a visit of element `i` came to.
    pub(crate) fn add_outcome(&self, i: usize, changed: bool, finalised: bool) {
        let Some(place) = self.places.get(i) else { return };
        if let Some(slot) = self.slot() {
            bump(&slot.changed, changed.into());
            bump(&slot.finalised, (changed && finalised).into());
        }
        match (changed, finalised) {
            (false, _) => increment(&place.unchanged),
            (true, false) => increment(&place.narrowed),
            (true, true) => {}
        }
        if changed {
            self.blocks[i * BLOCKS / self.places.len()].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Ends the loop, and adds what was counted to the scope.
    pub(crate) fn finish(self) {
        let nanoseconds = self.start.elapsed().as_nanos() as u64;
        let visits = |least: u32| {
            let some =
                |place: &&Place| place.visits.load(Ordering::Relaxed) > 0 && place.row.load(Ordering::Relaxed) >= least;
            let spread = |counter: fn(&Place) -> &AtomicU32| {
                let of = |place| u64::from(counter(place).load(Ordering::Relaxed));
                Spread::of(self.places.iter().filter(some).map(of).collect())
            };
            let elements = self.places.iter().filter(some).count();
            (elements > 0).then(|| ElementVisits {
                elements,
                visits: spread(|place| &place.visits),
                unchanged: spread(|place| &place.unchanged),
                narrowed: spread(|place| &place.narrowed),
            })
        };
        let (visits, long_rows) = (visits(0), visits(LONG_ROW + 1));
        let rounds = self.rounds.into_inner().unwrap_or_else(PoisonError::into_inner);
        profile::add(LoopProfile {
            in_place: rounds.in_place,
            entries: self.entries.into_inner(),
            rounds: rounds.done,
            threads: self
                .slots
                .iter()
                .map(|slot| slot.0.load())
                .filter(|&counts| counts != Counts::default())
                .collect(),
            visits,
            long_rows,
            nanoseconds,
            ..LoopProfile::new(self.kind, self.at, self.places.len())
        });
    }
}

/// Adds 1 to a counter of an element that no other thread visits meanwhile.
fn increment(counter: &AtomicU32) {
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}
