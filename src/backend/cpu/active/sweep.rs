//! Sweeps: passes over rows that lie in a file larger than memory. A sweep reads the rows in their order, so the system reads ahead of it.

use crate::backend::cpu::active::job::{Loop, next};
use crate::backend::cpu::dyn_view::DynView;
use crate::backend::plan::{self, Schedule};
use crate::backend::tuning::tuning;
use crate::memory;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use vxm_semiring::{Element, UnaryOp};

/// What a product asks of a sweep while it reads the rows. It visits each row's element, and may keep what the element still needs of the
/// row. Once all rows are kept so, the file isn't read again.
pub trait Sweeping: Sync {
    /// Visits element `i` if it is active. Returns whether it is active afterwards.
    fn visit(&self, i: usize) -> bool;
    /// Whether element `i` may still change.
    fn is_active(&self, i: usize) -> bool;
    /// Takes room for so many bytes of what is kept. `false` if there isn't enough: this sweep then keeps nothing.
    fn takes_room(&self, bytes: usize) -> bool;
    /// Whether there was room for all that was asked for.
    fn has_room(&self) -> bool;
}

/// One sweep of a loop.
pub(crate) struct Sweep<'a, T, F> {
    job: &'a Loop<'a, T, F>,
    body: DynView<'a, T>,
    began: AtomicBool,
    changed: AtomicBool,
    room: u64,
    taken: AtomicU64,
}

impl<'a, T: Element, F: UnaryOp<T, Out = bool>> Sweep<'a, T, F> {
    /// A sweep of visits of `body`, a view that reads the current state.
    pub fn new(job: &'a Loop<'a, T, F>, body: DynView<'a, T>) -> Self {
        let room = match plan::forced().schedule {
            Some(Schedule::Sweeps(room)) => room,
            // beside the entries, each row takes an offset in its part and one in the whole
            _ => memory::available().saturating_sub(16 * job.state.len() as u64) / tuning().kept_share,
        };
        Self { job, body, began: AtomicBool::new(false), changed: AtomicBool::new(false), room, taken: AtomicU64::new(0) }
    }

    /// Whether elements were visited at all: a body may have no product that sweeps.
    pub fn began(&self) -> bool {
        self.began.load(Relaxed)
    }

    /// Whether a visit has changed an element.
    pub fn changed(&self) -> bool {
        self.changed.load(Relaxed)
    }
}

impl<T: Element, F: UnaryOp<T, Out = bool>> Sweeping for Sweep<'_, T, F> {
    fn visit(&self, i: usize) -> bool {
        let Loop { state, active, .. } = self.job;
        // written once: all threads read it
        if !self.began() {
            self.began.store(true, Relaxed);
        }
        let own = state.get(i);
        if !active.call(own) {
            return false;
        }
        let new = next(&self.body, i, own);
        if new.bits() == own.bits() {
            return true;
        }
        state.put(i, new);
        self.changed.store(true, Relaxed);
        active.call(new)
    }

    fn is_active(&self, i: usize) -> bool {
        self.job.active.call(self.job.state.get(i))
    }

    fn takes_room(&self, bytes: usize) -> bool {
        self.taken.fetch_add(bytes as u64, Relaxed) + bytes as u64 <= self.room
    }

    fn has_room(&self) -> bool {
        self.taken.load(Relaxed) <= self.room
    }
}
