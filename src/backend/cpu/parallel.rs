//! Sharing out work among threads, by the tuning table: which work is too little, and how long a chunk is.

use crate::backend::tuning::tuning;
pub use crate::parallel::{alone_if, collect, each, fill, map, ranges, table, threads};
use std::cell::RefCell;
use std::sync::atomic::{AtomicIsize, Ordering};

/// Whether visiting `n` elements, with so many entries in all, is too little work to share out.
pub fn is_little(n: usize, entries: u64) -> bool {
    n < tuning().sequential && entries < 4 * tuning().sequential as u64
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
