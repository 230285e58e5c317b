//! Sharing work out. The tasks are `dyn`: a task is called a few times a thread, so that costs nothing at run time, and rayon's
//! iterators are compiled once an element type, not once an expression, which is most of what an expression costs to compile.

use rayon::prelude::*;
use std::cell::RefCell;
use std::sync::atomic::{AtomicIsize, Ordering};

/// Runs `task` on each piece, in parallel.
pub fn each<P: Send>(pieces: Vec<P>, task: &(dyn Fn(P) + Sync)) {
    pieces.into_par_iter().for_each(task);
}

/// The results of `task(0)`, `task(1)`, ... in order, run in parallel.
pub fn collect<R: Send>(count: usize, task: &(dyn Fn(usize) -> R + Sync)) -> Vec<R> {
    (0..count).into_par_iter().map(task).collect()
}

/// How many of `count` items a piece should hold: enough pieces to even out unequal work, enough items to be worth waking for.
pub fn piece(count: usize) -> usize {
    (count / (rayon::current_num_threads() * 16)).max(64)
}

thread_local! {
    /// Where those are counted among whom this thread is.
    static WITHIN: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// A thread that doesn't wait for others, counted; one that a panic ends is none.
#[derive(Debug)]
pub struct Busy<'a>(&'a AtomicIsize);

impl<'a> Busy<'a> {
    /// Counts this thread, unless it is among them.
    pub fn enter(threads: &'a AtomicIsize) -> Option<Self> {
        let place = std::ptr::from_ref(threads).addr();
        WITHIN.with_borrow_mut(|within| {
            let enters = !within.contains(&place);
            enters.then(|| within.push(place))
        })?;
        threads.fetch_add(1, Ordering::Relaxed);
        Some(Self(threads))
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        WITHIN.with_borrow_mut(Vec::pop);
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
