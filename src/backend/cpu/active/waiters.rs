//! Waiters: for each element, a list of the elements that wait until it settles, or changes.

use std::sync::atomic::{AtomicU32, Ordering};

/// The end of a list: no element.
const NONE: u32 = u32::MAX;

/// The lists of waiting elements, one per blocker. Each is a linked stack without locks, and each element is in at most one.
///
/// A stack only grows by single elements and is only emptied whole. So a compare-and-swap that succeeds on an old head is still right
/// (no ABA problem). An element is enqueued again only after the thread that took its list has walked it, so `next` isn't overwritten
/// during the walk.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    /// For each blocker, the element that was enqueued last, or `NONE`.
    pub(super) head: Vec<AtomicU32>,
    /// For each waiting element, the element below it in the same stack, or `NONE`.
    next: Vec<AtomicU32>,
    /// Whether a change wakes the waiters of an element that stays active.
    by_changes: bool,
}

impl Waiters {
    /// Empty lists for `n` elements.
    pub(super) fn new(n: usize) -> Self {
        let none = || (0..n).map(|_| AtomicU32::new(NONE)).collect();
        Self { head: none(), next: none(), by_changes: false }
    }

    /// Empties all lists into `left`. From now on changes wake.
    pub(super) fn wake_all(&mut self, left: &mut Vec<u32>) {
        self.by_changes = true;
        (0..self.head.len()).for_each(|k| self.wake(k, left));
    }

    /// Whether a change wakes the waiters of an element that stays active.
    pub(super) fn are_woken_by_changes(&self) -> bool {
        self.by_changes
    }

    /// Adds element `i`, which is in no list, to the waiters of `k`. The caller must then check that `k` hasn't settled meanwhile, after a
    /// sequentially consistent fence.
    pub(super) fn enqueue(&self, i: u32, k: usize) {
        let mut head = self.head[k].load(Ordering::Relaxed);
        loop {
            self.next[i as usize].store(head, Ordering::Relaxed);
            // Release publishes the link to the thread that takes the list. Later enqueues extend the release sequence, so that thread
            // sees the links of all elements in the list.
            match self.head[k].compare_exchange_weak(head, i, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(other) => head = other,
            }
        }
    }

    /// Empties the waiters of `k` into `woken`. A caller that has just settled `k` needs a sequentially consistent fence before this call.
    pub(super) fn wake(&self, k: usize, woken: &mut Vec<u32>) {
        // the usual case without a write: a relaxed load suffices, because the caller's fence orders it after the write of the state
        if self.head[k].load(Ordering::Relaxed) == NONE {
            return;
        }
        // one swap takes the whole list, so that no element is woken twice; Acquire makes the links visible
        let mut i = self.head[k].swap(NONE, Ordering::Acquire);
        while i != NONE {
            woken.push(i);
            i = self.next[i as usize].load(Ordering::Relaxed);
        }
    }
}
