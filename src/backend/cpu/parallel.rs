//! Sharing out work among rayon's threads.
//!
//! Tasks are `dyn`. A task is called a few times per thread, so the indirect calls cost nothing that matters. In return rayon's iterators
//! are compiled once per element type instead of once per expression. They are most of what an expression costs to compile.

use crate::backend::tuning::tuning;
use rayon::prelude::*;
use std::cell::RefCell;
use std::sync::atomic::{AtomicIsize, Ordering};

/// Runs `task` on each chunk, in parallel.
pub fn each<P: Send>(chunks: Vec<P>, task: &(dyn Fn(P) + Sync)) {
    chunks.into_par_iter().for_each(task);
}

/// The results of `task(0)`, `task(1)`, ... in order, run in parallel.
pub fn collect<R: Send>(count: usize, task: &(dyn Fn(usize) -> R + Sync)) -> Vec<R> {
    (0..count).into_par_iter().map(task).collect()
}

/// The number of items in a chunk, if `count` items are shared out. Each thread gets several chunks, which evens out unequal work. A chunk
/// isn't so small that waking a thread for it costs more than its work.
pub fn chunk_size(count: usize) -> usize {
    (count / (rayon::current_num_threads() * tuning().chunks_a_thread)).max(tuning().least_chunk)
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
