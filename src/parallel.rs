//! Sharing out work among rayon's threads.
//!
//! Tasks are `dyn`. A task is called a few times per thread, so the indirect calls cost nothing that matters. In return rayon's iterators
//! are compiled once, in this crate: they would be most of what a generic function costs to compile.

use rayon::prelude::*;
use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Pieces of work for each thread. Several even out unequal work.
pub const PIECES: usize = 8;

/// Elements that a thread visits at least: to wake another for fewer takes longer than the visits.
pub const FEW: usize = 4096;

thread_local! {
    /// Whether this thread keeps its work to itself; see [`alone_if`].
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// How many threads share work: rayon's, or this one alone.
pub fn threads() -> usize {
    if ALONE.get() { 1 } else { rayon::current_num_threads() }
}

/// Runs `work`, and keeps all of it on this thread if it is small: to wake another thread takes as long as some thousand entries.
pub fn alone_if<R>(small: bool, work: impl FnOnce() -> R) -> R {
    /// Restores the flag, after a panic too.
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            ALONE.set(self.0);
        }
    }
    let _restore = Restore(ALONE.replace(small || ALONE.get()));
    work()
}

/// Runs `task(0)`, `task(1)`, ... in parallel.
pub fn run(count: usize, task: &(dyn Fn(usize) + Sync)) {
    // not by rayon, which would hand the work over to a thread of its pool, and wait
    if count <= 1 || threads() == 1 {
        (0..count).for_each(task);
    } else {
        (0..count).into_par_iter().for_each(task);
    }
}

/// What tasks take or leave, by number. A task takes far longer than the lock is held.
struct Slots<T>(Mutex<Vec<Option<T>>>);

impl<T> Slots<T> {
    /// So many, all empty.
    fn empty(count: usize) -> Self {
        let mut slots = Vec::with_capacity(count);
        slots.resize_with(count, || None);
        Self(Mutex::new(slots))
    }

    /// One for each item.
    fn of(items: Vec<T>) -> Self {
        let mut slots = Vec::with_capacity(items.len());
        for item in items {
            slots.push(Some(item));
        }
        Self(Mutex::new(slots))
    }

    fn take(&self, k: usize) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)[k].take()
    }

    fn put(&self, k: usize, item: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)[k] = Some(item);
    }

    /// The items, in order.
    fn into_items(self) -> Vec<T> {
        let slots = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut items = Vec::with_capacity(slots.len());
        for item in slots.into_iter().flatten() {
            items.push(item);
        }
        items
    }
}

/// Runs `task` on each part, in parallel.
pub fn each<P: Send>(parts: Vec<P>, task: &(dyn Fn(P) + Sync)) {
    if threads() == 1 {
        return parts.into_iter().for_each(task);
    }
    let (count, parts) = (parts.len(), Slots::of(parts));
    run(count, &|k| {
        if let Some(part) = parts.take(k) {
            task(part);
        }
    });
}

/// The results of `task(0)`, `task(1)`, ... in order, run in parallel.
pub fn collect<R: Send>(count: usize, task: &(dyn Fn(usize) -> R + Sync)) -> Vec<R> {
    let results = Slots::empty(count);
    run(count, &|k| results.put(k, task(k)));
    results.into_items()
}

/// The results of `task` on each part, in order, run in parallel.
pub fn map<P: Send, R: Send>(parts: Vec<P>, task: &(dyn Fn(P) -> R + Sync)) -> Vec<R> {
    let (count, parts) = (parts.len(), Slots::of(parts));
    let results = Slots::empty(count);
    run(count, &|k| {
        if let Some(part) = parts.take(k) {
            results.put(k, task(part));
        }
    });
    results.into_items()
}

/// The results of `task` on consecutive ranges that cover `0..count`, in order, run in parallel. A range has at least `least` indices, but for
/// the last.
pub fn ranges<R: Send>(count: usize, least: usize, task: &(dyn Fn(Range<usize>) -> R + Sync)) -> Vec<R> {
    let length = share(count, least);
    collect(count.div_ceil(length), &|k| task(k * length..count.min((k + 1) * length)))
}

/// Runs `task(first, part)` on consecutive parts of `out`, in parallel; `first` is the index of the part's first element. A part has at least
/// `least` elements, but for the last.
pub fn fill<T: Send>(out: &mut [T], least: usize, task: &(dyn Fn(usize, &mut [T]) + Sync)) {
    let length = share(out.len(), least);
    each(out.chunks_mut(length).enumerate().collect(), &|(k, part)| task(k * length, part));
}

/// `of(0)`, `of(1)`, ... of `count` indices, in parallel. `empty` is what the array is allocated with.
pub fn table<T: Copy + Send>(count: usize, empty: T, of: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut table = vec![empty; count];
    fill(&mut table, FEW, &|first, part| part.iter_mut().enumerate().for_each(|(k, x)| *x = of(first + k)));
    table
}

/// The first index of `0..count` that `find` returns, if there is any. `find` looks through a range, in parallel to others.
pub fn first(count: usize, find: &(dyn Fn(Range<usize>) -> Option<usize> + Sync)) -> Option<usize> {
    let best = AtomicUsize::new(usize::MAX);
    // pieces are small, so that what lies behind the first one found is skipped soon
    run(count.div_ceil(FEW), &|k| {
        let range = k * FEW..count.min((k + 1) * FEW);
        if range.start < best.load(Ordering::Relaxed)
            && let Some(found) = find(range)
        {
            best.fetch_min(found, Ordering::Relaxed);
        }
    });
    Some(best.into_inner()).filter(|&found| found < usize::MAX)
}

/// How many of `count` elements are shared out at a time: at least `least`, and at least one.
fn share(count: usize, least: usize) -> usize {
    count.div_ceil(PIECES * threads()).max(least).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread;

    #[test]
    fn little_work_stays_on_its_thread() {
        let here = thread::current().id();
        let on = |count| collect(count, &|_| thread::current().id());
        assert!(alone_if(true, || on(64)).into_iter().all(|id| id == here));
        assert!(on(1).into_iter().all(|id| id == here));
        alone_if(true, || each(vec![(); 64], &|()| assert_eq!(thread::current().id(), here)));
        // work inside of little work is little
        assert_eq!(alone_if(true, || alone_if(false, threads)), 1);
        // and a panic ends it
        assert!(catch_unwind(AssertUnwindSafe(|| alone_if(true, || panic!("in little work")))).is_err());
        assert_eq!(threads(), rayon::current_num_threads());
    }

    #[test]
    fn results_are_in_order_on_any_number_of_threads() {
        for alone in [false, true] {
            alone_if(alone, || {
                for count in [0, 1, 2, 100, 3 * FEW + 1] {
                    let all: Vec<usize> = (0..count).collect();
                    assert_eq!(collect(count, &|k| k), all);
                    assert_eq!(map(all.clone(), &|k| k), all);
                    assert_eq!(table(count, 0, |k| k), all);
                    assert_eq!(ranges(count, 7, &|range| range).into_iter().flatten().collect::<Vec<_>>(), all);
                    let mut filled = vec![0; count];
                    fill(&mut filled, 7, &|first, part| {
                        part.iter_mut().enumerate().for_each(|(k, x)| *x = first + k);
                    });
                    assert_eq!(filled, all);
                }
            });
        }
    }

    #[test]
    fn the_first_index_is_found_on_any_number_of_threads() {
        let count = 5 * FEW + 3;
        for alone in [false, true] {
            alone_if(alone, || {
                for wanted in [0, 1, FEW - 1, FEW, 4 * FEW + 5, count - 1] {
                    assert_eq!(first(count, &|range| range.clone().find(|&k| k >= wanted)), Some(wanted));
                }
                assert_eq!(first(count, &|_| None), None);
                assert_eq!(first(0, &|range| Some(range.start)), None);
            });
        }
    }

    #[test]
    fn a_panic_of_a_task_is_the_callers() {
        let fails = || collect(64, &|k| assert!(k != 5, "task 5"));
        assert!(catch_unwind(AssertUnwindSafe(fails)).is_err());
    }
}
