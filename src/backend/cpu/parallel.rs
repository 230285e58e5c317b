//! Sharing out work among rayon's threads.
//!
//! Tasks are `dyn`. A task is called a few times per thread, so the indirect calls cost nothing that matters. In return rayon's iterators
//! are compiled once per element type instead of once per expression. They are most of what an expression costs to compile.

use crate::backend::tuning::tuning;
use rayon::prelude::*;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicIsize, Ordering};

thread_local! {
    /// Whether this thread keeps its work to itself; see [`alone_if`].
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// How many threads share work: rayon's, or this one alone.
pub fn threads() -> usize {
    if ALONE.get() { 1 } else { rayon::current_num_threads() }
}

/// Whether visiting `n` elements, with so many entries in all, is too little work to share out.
pub fn is_little(n: usize, entries: u64) -> bool {
    n < tuning().sequential && entries < 4 * tuning().sequential as u64
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

/// Runs `task` on each chunk, in parallel.
pub fn each<P: Send>(chunks: Vec<P>, task: &(dyn Fn(P) + Sync)) {
    // not by rayon, which would hand the work over to a thread of its pool, and wait
    if chunks.len() <= 1 || threads() == 1 {
        chunks.into_iter().for_each(task);
    } else {
        chunks.into_par_iter().for_each(task);
    }
}

/// The results of `task(0)`, `task(1)`, ... in order, run in parallel.
pub fn collect<R: Send>(count: usize, task: &(dyn Fn(usize) -> R + Sync)) -> Vec<R> {
    if count <= 1 || threads() == 1 {
        (0..count).map(task).collect()
    } else {
        (0..count).into_par_iter().map(task).collect()
    }
}

/// Rows, in parallel; a few thousand at least are visited by one thread.
pub fn rows(count: usize) -> impl IndexedParallelIterator<Item = usize> {
    (0..count).into_par_iter().with_min_len(tuning().sequential)
}

/// The number of items in a chunk, if `count` items are shared out. Each thread gets several chunks, which evens out unequal work. A chunk
/// isn't so small that waking a thread for it costs more than its work.
pub fn chunk_size(count: usize) -> usize {
    (count / (threads() * tuning().chunks_a_thread)).max(tuning().least_chunk)
}

thread_local! {
    /// The addresses of the counters that count this thread, innermost last.
    static COUNTED_BY: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// A guard that counts its thread as busy. A panic drops it too, so that other threads don't wait for a thread that is gone.
///
/// The counter is relaxed. It only tells threads whether waiting makes sense, and guards no other memory.
#[derive(Debug)]
pub struct Busy<'a>(&'a AtomicIsize);

impl<'a> Busy<'a> {
    /// Counts this thread in `threads`; `None` if it is counted there already.
    pub fn enter(threads: &'a AtomicIsize) -> Option<Self> {
        let place = std::ptr::from_ref(threads).addr();
        COUNTED_BY.with_borrow_mut(|counted_by| {
            let enters = !counted_by.contains(&place);
            enters.then(|| counted_by.push(place))
        })?;
        threads.fetch_add(1, Ordering::Relaxed);
        Some(Self(threads))
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        COUNTED_BY.with_borrow_mut(Vec::pop);
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
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
        for count in [0, 1, 2, 100] {
            assert_eq!(collect(count, &|k| k), (0..count).collect::<Vec<_>>());
            assert_eq!(alone_if(true, || collect(count, &|k| k)), (0..count).collect::<Vec<_>>());
            assert_eq!(rows(count).collect::<Vec<_>>(), (0..count).collect::<Vec<_>>());
        }
    }
}
