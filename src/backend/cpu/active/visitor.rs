//! One thread's part of a pass: it visits elements, and collects those that are left, woken or waiting.

use crate::backend::cpu::active::job::{Loop, next};
use crate::backend::cpu::active::meeting::Part;
use crate::backend::cpu::active::waiters::Waiters;
use crate::backend::tuning::tuning;
use crate::backend::view::{Dependency, VectorView};
use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};
use vxm_semiring::{Element, UnaryOp};

/// The result of a pass, or of one thread's part of it.
#[derive(Debug, Default)]
pub(super) struct PassResult {
    /// Elements that are still active and in no waiters list.
    pub(super) left: Vec<u32>,
    /// Elements that were taken off a waiters list and are to be revisited.
    pub(super) woken: Vec<u32>,
    /// Whether an element changed.
    pub(super) changed: bool,
    /// How many elements became inactive.
    pub(super) settled: usize,
    /// How many times an element was added to a waiters list.
    pub(super) enqueued: usize,
}

/// Combines the results of all threads.
pub(super) fn merged(parts: Vec<PassResult>) -> PassResult {
    let mut all = PassResult::default();
    for part in parts {
        all.left.extend(part.left);
        all.woken.extend(part.woken);
        all.changed |= part.changed;
        all.settled += part.settled;
        all.enqueued += part.enqueued;
    }
    all
}

/// One thread's visits in a pass.
pub(super) struct Visitor<'a, T, F> {
    /// The loop.
    job: &'a Loop<'a, T, F>,
    /// The lists of waiting elements, if the loop tracks blockers.
    waiters: Option<&'a Waiters>,
    /// Whether a change wakes an element's waiters, even if it doesn't settle the element.
    wakes_at_change: bool,
    /// Whether other threads may visit elements too.
    shared: bool,
    /// The result so far.
    pub(super) found: PassResult,
    /// How many woken elements may still be revisited at once. Others are left to the next pass, which shares them out among the threads.
    revisit_budget: usize,
    /// How long this thread may wait for others. It is zero after a wait has timed out.
    max_wait: Duration,
    /// How many blockers were looked up before enqueueing, and how many of the lookups found one.
    lookups: usize,
    blockers_found: usize,
}

impl<'a, T: Element, F: UnaryOp<T, Out = bool>> Visitor<'a, T, F> {
    pub(super) fn new(
        job: &'a Loop<'a, T, F>,
        waiters: Option<&'a Waiters>,
        shared: bool,
        revisit_budget: usize,
    ) -> Self {
        let found = PassResult::default();
        Self {
            job,
            waiters,
            shared,
            wakes_at_change: waiters.is_some_and(Waiters::are_woken_by_changes),
            found,
            revisit_budget,
            max_wait: Duration::from_millis(tuning().max_wait_ms),
            lookups: 0,
            blockers_found: 0,
        }
    }

    /// Visits an active element and writes its new value. If it settles, its waiters are woken. If it doesn't change, it may join its
    /// blocker's waiters.
    #[inline(always)]
    pub(super) fn visit<V: VectorView<T = T>>(&mut self, body: &V, i: u32) {
        let Loop { state, active, .. } = self.job;
        let own = state.get(i as usize);
        let new = next(body, i as usize, own);
        if new.bits() == own.bits() {
            if !self.enqueued_at_blocker(body, i) {
                self.found.left.push(i);
            }
            return;
        }
        state.put(i as usize, new);
        self.found.changed = true;
        if active.call(new) {
            // Mostly its waiters aren't woken by a change that leaves it active: each would just look up a blocker again, every time.
            if let Some(waiters) = self.waiters.filter(|_| self.wakes_at_change) {
                self.fence();
                waiters.wake(i as usize, &mut self.found.woken);
                if self.enqueued_at_blocker(body, i) {
                    return;
                }
            }
            self.found.left.push(i);
            return;
        }
        self.found.settled += 1;
        if let Some(waiters) = self.waiters {
            // Pairs with the fence in `enqueue`. This thread writes the state, then reads the waiters list; a waiter's thread writes the
            // list, then reads the state. Sequentially consistent fences between each write and read rule out that both reads miss
            // the other's write. So either the waiter is found below, or its own thread sees the new state and wakes it.
            self.fence();
            waiters.wake(i as usize, &mut self.found.woken);
        }
    }

    /// Visits an active element. If it stays as it is and has a blocker, `(element, blocker)` is appended to `deferred`.
    #[inline(always)]
    pub(super) fn visit_or_defer<V: VectorView<T = T>>(&mut self, body: &V, i: u32, deferred: &mut Vec<(u32, u32)>) {
        let left = self.found.left.len();
        self.visit(body, i);
        if self.found.left.len() > left {
            self.found.left.truncate(left);
            self.defer(body, i, deferred);
        }
    }

    /// Appends an element that a visit has left active, and its blocker, to `deferred`. If it has none by now, other threads have settled it
    /// since the visit: the next visit settles the element, or changes it, or finds another blocker. It is left to the next pass only if
    /// nothing is known of it, and a visit didn't change it.
    #[inline(never)]
    fn defer<V: VectorView<T = T>>(&mut self, body: &V, i: u32, deferred: &mut Vec<(u32, u32)>) {
        let (left, Loop { state, active, .. }) = (self.found.left.len(), self.job);
        for _ in 0..tuning().visits_at_once {
            let dependency = body.dependency(i as usize);
            if let Dependency::BlockedBy(k) = dependency
                && active.call(state.get(k as usize))
            {
                return deferred.push((i, k));
            }
            let own = state.get(i as usize);
            self.visit(body, i);
            if self.found.left.len() == left {
                return;
            }
            self.found.left.truncate(left);
            if !matches!(dependency, Dependency::BlockedBy(_)) && state.get(i as usize).bits() == own.bits() {
                break;
            }
        }
        self.found.left.push(i);
    }

    /// Visits the deferred elements with settled blockers, and repeats that as long as an element settles.
    pub(super) fn retry_deferred<V: VectorView<T = T>>(&mut self, body: &V, deferred: &mut Vec<(u32, u32)>) {
        let mut settled = usize::MAX;
        while settled != self.found.settled && !deferred.is_empty() {
            settled = self.found.settled;
            for (i, k) in std::mem::take(deferred) {
                if self.job.active.call(self.job.state.get(k as usize)) {
                    deferred.push((i, k));
                } else {
                    self.visit_or_defer(body, i, deferred);
                }
            }
        }
    }

    /// Retries the deferred elements until at most `few` are left, and yields while other threads settle their blockers. Returns whether
    /// it gave up, because no thread of the pass can go on, or none has settled anything for too long. Given-up elements are visited in the
    /// next pass.
    pub(super) fn wait_for_blockers<V: VectorView<T = T>>(
        &mut self,
        body: &V,
        deferred: &mut Vec<(u32, u32)>,
        few: usize,
        part: &Part<'_>,
    ) -> bool {
        while deferred.len() > few {
            let settled = self.found.settled;
            self.retry_deferred(body, deferred);
            if self.found.settled > settled {
                continue;
            }
            part.tell(self.found.settled);
            let mut since = (part.version(), Instant::now());
            loop {
                let version = part.version();
                if deferred.iter().any(|&(_, k)| !self.job.active.call(self.job.state.get(k as usize))) {
                    break;
                }
                if part.is_over(version) {
                    return true;
                }
                if version != since.0 {
                    since = (version, Instant::now());
                } else if since.1.elapsed() >= self.max_wait {
                    self.max_wait = Duration::ZERO;
                    return true;
                }
                std::thread::yield_now();
            }
        }
        false
    }

    /// Visits a woken element, or enqueues it again if it has another blocker: several entries may block a row.
    pub(super) fn revisit<V: VectorView<T = T>>(&mut self, body: &V, i: u32) {
        match (self.waiters, self.job.blocker_of(body, i)) {
            (Some(waiters), Some(k)) => self.enqueue(body, waiters, i, k),
            _ => self.visit(body, i),
        }
    }

    /// Revisits elements that this thread has woken, including those woken meanwhile, as far as the budget allows.
    pub(super) fn revisit_woken<V: VectorView<T = T>>(&mut self, body: &V) {
        while self.revisit_budget > 0
            && let Some(i) = self.found.woken.pop()
        {
            self.revisit_budget -= 1;
            self.revisit(body, i);
        }
    }

    /// Orders this thread's write before its next read, for the threads that may visit elements too.
    #[inline(always)]
    fn fence(&self) {
        if self.shared {
            fence(Ordering::SeqCst);
        }
    }

    /// Adds an element that stayed as it is to its blocker's waiters. Returns whether it did: there may be no known blocker. If lookups
    /// rarely find one, no more are made.
    fn enqueued_at_blocker<V: VectorView<T = T>>(&mut self, body: &V, i: u32) -> bool {
        let Some(waiters) = self.waiters else { return false };
        if self.lookups >= 64 && self.blockers_found * 8 <= self.lookups {
            return false;
        }
        self.lookups += 1;
        let Some(k) = self.job.blocker_of(body, i) else { return false };
        self.blockers_found += 1;
        self.enqueue(body, waiters, i, k);
        true
    }

    /// Adds element `i` to the waiters of element `k`. If `k` settles concurrently, or changes where changes wake, `i` is woken by exactly one of
    /// the two threads.
    fn enqueue<V: VectorView<T = T>>(&mut self, body: &V, waiters: &Waiters, i: u32, k: u32) {
        self.found.enqueued += 1;
        waiters.enqueue(i, k as usize);
        if !self.shared {
            return;
        }
        // Pairs with the fence in `visit`: either the read below sees that `k` has settled, or the thread that settles `k` finds `i` in the
        // list. An element never becomes active again, so a later value of `k` is as good.
        self.fence();
        let Loop { state, active, .. } = self.job;
        let is_free = if self.wakes_at_change {
            // `k` may have changed since it was looked up, and blocks no more
            self.job.blocker_of(body, i) != Some(k)
        } else {
            !active.call(state.get(k as usize))
        };
        if is_free {
            // The thread that settled `k` may have emptied the list before `i` joined it. If both threads empty the list now, each element
            // goes to one of them, since `wake` takes the whole list by one swap.
            waiters.wake(k as usize, &mut self.found.woken);
        }
    }
}
