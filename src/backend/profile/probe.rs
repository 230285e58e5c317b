//! The counters of a loop while it runs: a slot for each thread, and a place for each element.

use crate::backend::profile::{
    self, BLOCKS, Counts, ElementVisits, LoopKind, LoopProfile, PlaceCounts, Round, SharedCounts, bump,
};
use std::panic::Location;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The counters of one thread, in cache lines of their own. Only that thread writes them.
#[derive(Debug)]
#[repr(align(128))]
struct Slot {
    counts: SharedCounts,
    /// Changes in each of equal parts of the state, since the last round.
    changes: [AtomicU64; BLOCKS],
}

impl Slot {
    fn new() -> Self {
        Self { counts: SharedCounts::default(), changes: std::array::from_fn(|_| AtomicU64::new(0)) }
    }
}

/// The counters of one element.
#[derive(Debug, Default)]
struct Place {
    visits: AtomicU32,
    unchanged: AtomicU32,
    narrowed: AtomicU32,
    /// The entries of the longest row that a visit read.
    row: AtomicU32,
}

impl Place {
    fn counts(&self) -> PlaceCounts {
        let [visits, unchanged, narrowed, row] =
            [&self.visits, &self.unchanged, &self.narrowed, &self.row].map(|counter| counter.load(Ordering::Relaxed));
        PlaceCounts { visits, unchanged, narrowed, row }
    }
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
    /// `BLOCKS` over the number of elements, as a fraction of 2^32: a product takes less time than a division.
    parts: u64,
    entries: AtomicU64,
    /// The size in bytes of an element.
    element_bytes: usize,
    rounds: Mutex<Rounds>,
    start: Instant,
}

impl Probe {
    /// Counters for a loop over `elements` elements of type `T`, if this thread is in a [scope](profile::collect).
    pub(crate) fn start<T>(kind: LoopKind, elements: usize, at: &'static Location<'static>) -> Option<Self> {
        profile::is_collecting().then(|| Self {
            kind,
            at,
            // the first is for a thread that belongs to no pool
            slots: (0..=rayon::current_num_threads()).map(|_| Slot::new()).collect(),
            places: (0..elements).map(|_| Place::default()).collect(),
            parts: ((BLOCKS as u64) << 32) / elements.max(1) as u64,
            entries: AtomicU64::new(0),
            element_bytes: size_of::<T>(),
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
        let now: Vec<Counts> = self.slots.iter().map(|slot| slot.counts.load()).collect();
        let (mut counts, mut threads) = (Counts::default(), 0);
        for (slot, now) in now.iter().enumerate() {
            let before = rounds.before.get(slot).copied().unwrap_or_default();
            let since = now.since(&before);
            threads += u32::from(since != Counts::default());
            counts += since;
        }
        let changes = |part: usize| {
            let of = |slot: &Slot| slot.changes[part].swap(0, Ordering::Relaxed);
            u32::try_from(self.slots.iter().map(of).sum::<u64>()).unwrap_or(u32::MAX)
        };
        let changes_by_block = (0..BLOCKS).map(changes).collect();
        rounds.before = now;
        rounds.done.push(Round { active, counts, threads, waiters: waiters as u64, changes_by_block, nanoseconds });
    }

    /// Says that the rows of the body's first product have so many entries.
    pub(crate) fn set_entries(&self, entries: u64) {
        self.entries.fetch_max(entries, Ordering::Relaxed);
    }

    /// This thread's counters.
    fn slot(&self) -> Option<&Slot> {
        self.slots.get(rayon::current_thread_index().map_or(0, |thread| thread + 1))
    }

    /// Adds to this thread's count of values joined: whether the join changed the element, and the compare-and-swaps that failed.
    pub(crate) fn add_join(&self, changed: bool, failed_swaps: u64) {
        if let Some(slot) = self.slot() {
            bump(&slot.counts.atomics, 1);
            bump(&slot.counts.effective_atomics, changed.into());
            bump(&slot.counts.failed_swaps, failed_swaps);
        }
    }

    /// Adds a visit of element `i`, with so many entries in its row, and what it read. `outcome` says whether it changed the element, and
    /// whether the element is settled since, if that is known. No two threads visit an element at once.
    pub(crate) fn add_visit(&self, i: usize, row: u64, counts: &Counts, outcome: Option<(bool, bool)>) {
        let (Some(place), Some(slot)) = (self.places.get(i), self.slot()) else { return };
        slot.counts.add(counts);
        increment(&place.visits);
        let row = u32::try_from(row).unwrap_or(u32::MAX);
        if row > place.row.load(Ordering::Relaxed) {
            place.row.store(row, Ordering::Relaxed);
        }
        if let Some(outcome) = outcome {
            self.note(slot, place, i, outcome);
        }
    }

    /// Adds what a visit of element `i` came to.
    pub(crate) fn add_outcome(&self, i: usize, changed: bool, finalised: bool) {
        if let (Some(place), Some(slot)) = (self.places.get(i), self.slot()) {
            self.note(slot, place, i, (changed, finalised));
        }
    }

    /// The part of the state with element `i`.
    fn part(&self, i: usize) -> usize {
        ((i as u64 * self.parts) >> 32) as usize
    }

    fn note(&self, slot: &Slot, place: &Place, i: usize, (changed, finalised): (bool, bool)) {
        if !changed {
            return increment(&place.unchanged);
        }
        bump(&slot.counts.changed, 1);
        bump(&slot.changes[self.part(i)], 1);
        if finalised {
            bump(&slot.counts.finalised, 1);
        } else {
            increment(&place.narrowed);
        }
    }

    /// Ends the loop, and adds what was counted to the scope.
    pub(crate) fn finish(self) {
        let nanoseconds = self.start.elapsed().as_nanos() as u64;
        let [visits, long_rows] = ElementVisits::of(self.places.len(), |i| self.places[i].counts());
        let rounds = self.rounds.into_inner().unwrap_or_else(PoisonError::into_inner);
        profile::add(LoopProfile {
            in_place: rounds.in_place,
            entries: self.entries.into_inner(),
            rounds: rounds.done,
            threads: self
                .slots
                .iter()
                .map(|slot| slot.counts.load())
                .filter(|&counts| counts != Counts::default())
                .collect(),
            visits,
            long_rows,
            nanoseconds,
            ..LoopProfile::new(self.kind, self.at, (self.places.len(), self.element_bytes))
        });
    }
}

/// Adds 1 to a counter of an element that no other thread visits meanwhile.
fn increment(counter: &AtomicU32) {
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}
