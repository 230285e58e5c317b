//! How threads that wait for each other's elements find out that none of them can go on.

use crate::backend::cpu::parallel::Busy;
use std::cell::Cell;
use std::sync::atomic::{AtomicIsize, AtomicU64, Ordering};

/// The low bits of a version hold how many threads found nothing to do since it began.
const IDLE_BITS: u32 = 16;

/// The threads of a pass.
///
/// A thread that has settled elements begins a new version before it waits. A thread that waits reads the version, looks at all its
/// blockers, and, if none has settled, counts itself as idle in that version. Once all threads of the pass are idle in one version, none
/// can go on: a thread that had settled an element since the version began would have begun another one before it counted itself.
#[derive(Debug, Default)]
pub(super) struct Meeting {
    /// How many threads take part.
    threads: AtomicIsize,
    /// The number of the version, and how many threads are idle in it.
    version: AtomicU64,
}

/// A thread's part in a meeting, while it is in the pass.
pub(super) struct Part<'a> {
    meeting: &'a Meeting,
    /// How many elements it has settled, as far as it has told.
    told: Cell<usize>,
    /// The last version that it was idle in.
    idle_in: Cell<Option<u64>>,
    _busy: Busy<'a>,
}

impl Meeting {
    /// Joins; `None` if this thread takes part already.
    pub(super) fn join(&self) -> Option<Part<'_>> {
        let _busy = Busy::enter(&self.threads)?;
        Some(Part { meeting: self, told: Cell::new(0), idle_in: Cell::new(None), _busy })
    }
}

impl Part<'_> {
    /// Begins a version, if this thread has settled more elements than it has told: so many by now.
    pub(super) fn tell(&self, settled: usize) {
        if self.told.replace(settled) != settled {
            self.begin_version();
        }
    }

    fn begin_version(&self) {
        // Release: a thread that reads this version sees what was settled before
        let next = |version: u64| Some(((version >> IDLE_BITS) + 1) << IDLE_BITS);
        let _ = self.meeting.version.fetch_update(Ordering::Release, Ordering::Relaxed, next);
    }

    /// The version that a look at blockers is made in.
    pub(super) fn version(&self) -> u64 {
        self.meeting.version.load(Ordering::Acquire) >> IDLE_BITS
    }

    /// Whether no thread can go on, given that this one found nothing to do in `version`.
    pub(super) fn is_over(&self, version: u64) -> bool {
        let held = self.meeting.version.load(Ordering::Acquire);
        if held >> IDLE_BITS != version {
            return false;
        }
        let mut idle = held;
        if self.idle_in.get() != Some(version) {
            // another thread may have counted itself, or begun another version
            if self.meeting.version.compare_exchange(held, held + 1, Ordering::AcqRel, Ordering::Relaxed).is_err() {
                return false;
            }
            self.idle_in.set(Some(version));
            idle = held + 1;
        }
        (idle & ((1 << IDLE_BITS) - 1)) as isize >= self.meeting.threads.load(Ordering::Relaxed)
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        // what it settled, or that there is one thread less
        self.begin_version();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn it_is_over_once_all_are_idle_since_the_last_change() {
        let (meeting, barrier) = (Meeting::default(), Barrier::new(2));
        let one = meeting.join().unwrap();
        assert!(meeting.join().is_none(), "a thread takes part once");
        let first = one.version();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let other = meeting.join().unwrap();
                let version = other.version();
                assert!(!other.is_over(version));
                assert!(!other.is_over(version), "counted once");
                other.tell(0);
                assert_eq!(other.version(), version, "nothing was settled");
                other.tell(3);
                assert!(!other.is_over(version));
                assert_eq!(other.version(), version + 1);
                barrier.wait();
                // the other thread is idle now
                barrier.wait();
                assert!(other.is_over(version + 1));
            });
            barrier.wait();
            assert!(!one.is_over(first), "another version began");
            let version = one.version();
            assert!(!one.is_over(version));
            barrier.wait();
        });
        // a thread that leaves begins a version, and isn't waited for
        let last = one.version();
        assert_eq!(last, first + 2);
        assert!(one.is_over(last));
    }
}
