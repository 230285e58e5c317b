//! The CPU's `while_active` loops. Rounds read the state of the round before. In-place passes write the state that other threads read.

mod due;
mod job;
mod meeting;
mod order;
mod sweep;
mod visitor;
mod waiters;

pub(crate) use job::next;
pub use job::{Body, Loop, Outcome, RowReading};
pub(crate) use sweep::{Sweep, Sweeping};

use crate::backend::cpu::active::due::Due;
use crate::backend::cpu::active::meeting::Meeting;
use crate::backend::cpu::active::order::Order;
use crate::backend::cpu::active::visitor::{PassResult, Visitor, merged};
use crate::backend::cpu::active::waiters::Waiters;
use crate::backend::cpu::changed::Dependents;
use crate::backend::cpu::counted::Counted;
use crate::backend::cpu::dyn_view::DynView;
use crate::backend::cpu::gather::is_small;
use crate::backend::cpu::parallel;
use crate::backend::cpu::prefetch::prefetch;
use crate::backend::profile::Probe;
use crate::backend::spans::told_round;
use crate::backend::tuning::tuning;
use crate::backend::view::{Dependency, VectorView};
use crate::error::Result;
use crate::memory;
use crate::stop;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use vxm_semiring::{Element, UnaryOp};

impl<T: Element, F: UnaryOp<T, Out = bool>> Loop<'_, T, F> {
    /// Runs the loop in rounds. Each round visits all active elements over the state of the round before, but for those that would stay as they
    /// are because nothing that they read has changed. `first` is the first round's body, if it has its own. `readers` tells which elements read
    /// which, if that is at hand.
    ///
    /// # Errors
    /// If `body` fails to make the view.
    pub fn rounds<'r, V: VectorView<T = T>, W: VectorView<T = T>>(
        &self,
        first: Option<W>,
        body: impl Fn() -> Result<Body<V>>,
        readers: impl Fn() -> Option<Dependents<'r>>,
    ) -> Result<Outcome> {
        let (mut rounds, mut new, mut kept) = (0, Vec::new(), None);
        let mut due = Due::new(self.active_elements(), self.state.len() as u64);
        let is_active = |i: u32| self.active.call(self.state.get(i as usize));
        while due.active > 0 {
            rounds += 1;
            told_round!(rounds, due.list.len());
            stop::check()?;
            let visited = due.list.len();
            let changed = match first.as_ref().filter(|_| rounds == 1) {
                // if the first body changes nothing, the main body still may
                Some(first) => self.counted_round(first, &mut due.list, &mut new, None).max(1),
                None => {
                    let (view, live) = match kept.take() {
                        Some(kept) => kept,
                        None => body()?,
                    };
                    let changed = self.counted_round(&view, &mut due.list, &mut new, due.changed.as_mut());
                    kept = live.then_some((view, live));
                    changed
                }
            };
            due.follow((visited, changed), is_active, &readers);
            if due.active > 0 && (changed == 0 || rounds >= self.max_rounds) {
                return Ok(Outcome { rounds, left: due.active, endless: changed > 0 });
            }
        }
        Ok(Outcome { rounds, left: 0, endless: false })
    }

    /// Runs one round, as [`round`](Self::round), and counts it if the loop has a probe.
    fn counted_round<V: VectorView<T = T>>(
        &self,
        body: &V,
        list: &mut Vec<u32>,
        new: &mut Vec<T>,
        noted: Option<&mut Vec<u32>>,
    ) -> usize {
        match self.probe {
            None => self.round(body, list, new, noted),
            Some(probe) => self.count_round(body, probe, list, new, noted),
        }
    }

    /// Runs and counts one round.
    pub fn count_round<V: VectorView<T = T>>(
        &self,
        body: &V,
        probe: &Probe,
        list: &mut Vec<u32>,
        new: &mut Vec<T>,
        noted: Option<&mut Vec<u32>>,
    ) -> usize {
        probe.begin_round(list.len(), false);
        let judge = |own: T, new: T| self.judge(own, new);
        let counted = Counted::of(body, probe, self.state.view(), Some(&judge));
        let changed = self.round(&DynView::of(&counted), list, new, noted);
        probe.end_round(0);
        changed
    }

    /// Whether a visit that made `new` of `own` changed it, and whether the element is settled since.
    pub(crate) fn judge(&self, own: T, new: T) -> (bool, bool) {
        (own.bits() != new.bits(), !self.active.call(new))
    }

    /// The active elements, ascending. O(n) time.
    pub fn active_elements(&self) -> Vec<u32> {
        let n = self.state.len();
        let is_active = |&i: &u32| self.active.call(self.state.get(i as usize));
        let chunk = parallel::chunk_size(n);
        let of = |range: Range<usize>| range.map(|i| i as u32).filter(is_active).collect::<Vec<u32>>();
        if parallel::is_little(n, 0) {
            return of(0..n);
        }
        parallel::collect(n.div_ceil(chunk), &|p| of(p * chunk..((p + 1) * chunk).min(n))).concat()
    }

    /// Runs one round over `list`, and returns how many elements it changed. Afterwards `list` holds the elements that are still active.
    /// `new` is scratch space. `noted` takes the changed elements.
    pub fn round<V: VectorView<T = T>>(
        &self,
        body: &V,
        list: &mut Vec<u32>,
        new: &mut Vec<T>,
        noted: Option<&mut Vec<u32>>,
    ) -> usize {
        let notes = noted.is_some();
        let _reading = body.work().and_then(|work| memory::read_some_rows(work, list.len()));
        new.clear();
        new.resize(list.len(), T::ZERO);
        let evaluate = |(list, new): (&[u32], &mut [T])| {
            for (&i, new) in list.iter().zip(new) {
                *new = next(body, i as usize, self.state.get(i as usize));
            }
        };
        let write = |list: &[u32], new: &[T]| {
            let (mut changed, mut left, mut noted) = (0, Vec::new(), Vec::new());
            for (&i, &new) in list.iter().zip(new) {
                let changes = self.state.get(i as usize).bits() != new.bits();
                changed += usize::from(changes);
                self.state.put(i as usize, new);
                if notes && changes {
                    noted.push(i);
                }
                if self.active.call(new) {
                    left.push(i);
                }
            }
            (changed, left, noted)
        };
        let (changed, left, found) = if is_small(body, list) {
            evaluate((list, new));
            write(list, new)
        } else {
            let chunk = parallel::chunk_size(list.len());
            parallel::each(list.chunks(chunk).zip(new.chunks_mut(chunk)).collect(), &evaluate);
            let chunks: Vec<_> = list.chunks(chunk).zip(new.chunks(chunk)).collect();
            let written = parallel::collect(chunks.len(), &|p| write(chunks[p].0, chunks[p].1));
            let changed = written.iter().map(|(changed, ..)| changed).sum();
            let (left, noted): (Vec<_>, Vec<_>) = written.into_iter().map(|(_, left, noted)| (left, noted)).unzip();
            (changed, left.concat(), noted.concat())
        };
        *list = left;
        if let Some(noted) = noted {
            *noted = found;
        }
        changed
    }

    /// Runs the loop in place: elements are visited in any order and written at once, while other threads read and write the state. It is
    /// meant for loops that reach the same state under every fair schedule. An element with a known blocker joins the blocker's waiters
    /// and isn't visited until the blocker is settled. `stored` is the body that reads rows as stored.
    ///
    /// # Errors
    /// If `body` fails to make the view.
    pub fn in_place<V: VectorView<T = T>, W: VectorView<T = T>>(
        &self,
        first: Option<W>,
        (view, live): Body<V>,
        body: impl Fn(RowReading) -> Result<Body<V>>,
    ) -> Result<Outcome> {
        let n = self.state.len();
        let little = parallel::is_little(n, view.work().map_or(0, |work| work[n]));
        parallel::alone_if(little, || self.passes(view, live, first, body))
    }

    /// Runs the loop in place, given its body as stored.
    fn passes<V: VectorView<T = T>, W: VectorView<T = T>>(
        &self,
        mut view: V,
        mut live: bool,
        first: Option<W>,
        body: impl Fn(RowReading) -> Result<Body<V>>,
    ) -> Result<Outcome> {
        let (mut rounds, mut waiters, mut waiting, mut may_enqueue) = (1, None::<Waiters>, 0, true);
        // if the body holds a snapshot, it can't see neighbours settle within the pass: what stops the first body then gives no order
        let order = if self.spills { None } else { self.order(&view, first.as_ref().filter(|_| live)) };
        let why = match order {
            None if self.spills => "the rows lie in a file larger than memory: they are read in their order",
            Some(_) => "blockers are visited first, so one visit per element is mostly enough",
            None => "blockers are unknown, in no common order, or neighbours would be visited far apart",
        };
        tracing::debug!(operation = "fixpoint", ?order, why, "plan");
        (view, live) = body(if order.is_some() { RowReading::Reversed } else { RowReading::Prefiltered })?;
        let mut found = self.counted_first_pass(order, first.as_ref(), &view);
        // if the first body changes nothing, the main body still may
        found.changed |= first.is_some() && order.is_none();
        loop {
            let due = found.left.len() + found.woken.len();
            if due + waiting == 0 {
                return Ok(Outcome { rounds, left: 0, endless: false });
            }
            if due == 0 || !(found.changed || found.enqueued > 0) {
                if waiting == 0 {
                    return Ok(Outcome { rounds, left: due, endless: false });
                }
                // A blocker that changes but stays active has woken no waiter, so a waiter's own row may now allow a change. All are
                // revisited, and from now on changes wake. If a whole pass still changes nothing, none is enqueued again: the loop then
                // ends.
                if let Some(mut all) = waiters.take() {
                    let is_first = !all.are_woken_by_changes();
                    all.wake_all(&mut found.left);
                    (may_enqueue, waiters) = (is_first, is_first.then_some(all));
                }
                waiting = 0;
            }
            if rounds >= self.max_rounds && found.changed {
                return Ok(Outcome { rounds, left: due + waiting, endless: true });
            }
            if may_enqueue && waiters.is_none() && self.many_blocked(&view, &found.left) {
                waiters = Some(Waiters::new(self.state.len()));
            }
            if !live {
                (view, _) = body(RowReading::Prefiltered)?;
            }
            rounds += 1;
            told_round!(rounds, due);
            stop::check()?;
            let before = found.left.len() + found.woken.len() + waiting;
            found = match (self.probe, &view.fixed()) {
                (Some(probe), _) => self.count_pass(&view, probe, due, |view| self.pass(view, found, waiters.as_ref())),
                (None, Some(fixed)) => self.pass(fixed, found, waiters.as_ref()),
                (None, None) => self.pass(&DynView::of(&view), found, waiters.as_ref()),
            };
            // every active element is in exactly one place: left, woken, or in a waiters list
            waiting = before - found.settled - found.left.len() - found.woken.len();
        }
    }

    /// Runs the first pass, as [`first_pass`](Self::first_pass), and counts it if the loop has a probe.
    fn counted_first_pass<V: VectorView<T = T>, W: VectorView<T = T>>(
        &self,
        order: Option<Order>,
        first: Option<&W>,
        view: &V,
    ) -> PassResult {
        let Some(probe) = self.probe else { return self.first_pass(order, first, view) };
        let judge = |own: T, new: T| self.judge(own, new);
        let first = first.map(|first| Counted::of(first, probe, self.state.view(), Some(&judge)));
        let due = self.active_elements().len();
        self.count_pass(view, probe, due, |view| match order {
            Some(order) => self.pass_in_order(&self.sorted(order, view), view),
            None => self.pass_in_chunks(first.as_ref().map(DynView::of).as_ref(), view),
        })
    }

    /// Runs a pass over a body that counts, with so many elements due.
    fn count_pass<V: VectorView<T = T>>(
        &self,
        view: &V,
        probe: &Probe,
        due: usize,
        pass: impl FnOnce(&DynView<'_, T>) -> PassResult,
    ) -> PassResult {
        probe.begin_round(due, true);
        let judge = |own: T, new: T| self.judge(own, new);
        let found = pass(&DynView::of(&Counted::of(view, probe, self.state.view(), Some(&judge))));
        probe.end_round(found.enqueued);
        found
    }

    /// Runs the first pass in place: in the given order, or else chunk by chunk. An ordered pass doesn't use the `first` body.
    fn first_pass<V: VectorView<T = T>, W: VectorView<T = T>>(
        &self,
        order: Option<Order>,
        first: Option<&W>,
        view: &V,
    ) -> PassResult {
        let (fixed, dynamic) = (view.fixed(), DynView::of(view));
        match (order, &fixed, first.map(VectorView::fixed)) {
            (Some(order), Some(fixed), _) => self.pass_in_order(&self.sorted(order, fixed), fixed),
            (Some(order), None, _) => self.pass_in_order(&self.sorted(order, &dynamic), &dynamic),
            (None, Some(fixed), None) => self.pass_in_chunks::<_, W::Fixed<'_>>(None, fixed),
            (None, Some(fixed), Some(Some(first))) => self.pass_in_chunks(Some(&first), fixed),
            (None, ..) => self.pass_in_chunks(first.map(DynView::of).as_ref(), &dynamic),
        }
    }

    /// Runs the first pass over `order`, a list of all active elements with blockers first. Threads take short runs from its front. An
    /// element with a blocker that is still active is deferred and retried by its thread.
    fn pass_in_order<V: VectorView<T = T>>(&self, order: &[u32], body: &V) -> PassResult {
        let (next, meeting) = (AtomicUsize::new(0), Meeting::default());
        // An element should have a neighbour in another thread's run in at most one case of 16. The expected number is
        // (work / n) neighbours * (other threads * run) / n. If rows are long, `loop_sample` bounds the run from below and it may be more.
        let others = parallel::threads().saturating_sub(1).max(1);
        let (n, work) = (self.state.len(), body.work().map_or(0, |work| work[self.state.len()] as usize));
        let longest_run = (n * (n / 16) / work.max(1) / others).min(tuning().longest_run).max(tuning().loop_sample);
        let shared = parallel::threads() > 1;
        let run = |_| {
            // If an operator runs parallel code, its thread may steal a second task of this pass. That task would wait for the visit
            // that it interrupts, so it ends at once; the other tasks take its share.
            let Some(part) = meeting.join() else { return PassResult::default() };
            let mut visitor = Visitor::new(self, None, shared, 0);
            let (mut deferred, mut run_length, mut since_retry) = (Vec::new(), 1, 0);
            loop {
                let from = next.fetch_add(run_length, Ordering::Relaxed).min(order.len());
                let (taken, before) = (&order[from..(from + run_length).min(order.len())], deferred.len());
                self.for_each_prefetched(body, taken, |i| visitor.visit_or_defer(body, i, &mut deferred));
                // if elements were deferred, the ones after them would be too, so shorter runs are taken
                run_length =
                    if deferred.len() == before { (2 * run_length).min(longest_run) } else { run_length.div_ceil(2) };
                // each visit pays for four retries, so that retrying stays linear
                since_retry += 4 * taken.len();
                if since_retry >= deferred.len() {
                    visitor.retry_deferred(body, &mut deferred);
                    since_retry = 0;
                }
                let most = if taken.is_empty() { 0 } else { tuning().most_deferred };
                if deferred.len() > most && visitor.wait_for_blockers(body, &mut deferred, most / 2, &part) {
                    visitor.found.left.extend(deferred.drain(..).map(|(i, _)| i));
                }
                if taken.is_empty() {
                    return visitor.found;
                }
            }
        };
        merged(parallel::collect(parallel::threads(), &run))
    }

    /// Calls `visit` for each element of a list. Their rows lie far apart in memory, so rows' bounds are prefetched some places ahead, and
    /// entries half as far ahead, when the bounds have arrived.
    #[inline(always)]
    fn for_each_prefetched<V: VectorView<T = T>>(&self, body: &V, list: &[u32], mut visit: impl FnMut(u32)) {
        let work = body.work().unwrap_or(&[]);
        let bounds = |k| list.get(k).into_iter().for_each(|&i: &u32| prefetch(work, i as usize));
        let entries = |k| list.get(k).into_iter().for_each(|&i: &u32| body.prefetch(i as usize));
        let ahead = tuning().prefetch_rows.min(list.len());
        (0..ahead).for_each(bounds);
        (0..ahead / 2).for_each(entries);
        for (k, &i) in list.iter().enumerate() {
            bounds(k + ahead);
            entries(k + ahead / 2);
            visit(i);
        }
    }

    /// The active element that blocks element `i`, if one is known: `i` stays as it is until that one changes.
    #[inline(always)]
    fn blocker_of<V: VectorView<T = T>>(&self, body: &V, i: u32) -> Option<u32> {
        match body.dependency(i as usize) {
            Dependency::BlockedBy(k) if self.active.call(self.state.get(k as usize)) => Some(k),
            _ => None,
        }
    }

    /// An active element that alone stops the fold of element `i` early. Unlike with a blocker, `i` may change before that one does.
    fn stopper_of<V: VectorView<T = T>>(&self, body: &V, i: u32) -> Option<u32> {
        match body.dependency(i as usize) {
            Dependency::StoppedBy(k) if self.active.call(self.state.get(k as usize)) => Some(k),
            _ => None,
        }
    }

    /// Whether waiters lists are worth their cost: the list is long, and at least an eighth of a sample has a known blocker.
    fn many_blocked<V: VectorView<T = T>>(&self, body: &V, left: &[u32]) -> bool {
        let is_blocked = |&&i: &&u32| self.blocker_of(body, i).is_some();
        left.len() >= 1024 && left.iter().step_by(left.len() / 64).filter(is_blocked).count() >= 8
    }

    /// Runs the first pass over all active elements, in ascending order within a chunk. The first visits use the body `first`, if there is
    /// one.
    fn pass_in_chunks<V: VectorView<T = T>, W: VectorView<T = T>>(&self, first: Option<&W>, body: &V) -> PassResult {
        let n = self.state.len();
        let shared = parallel::threads() > 1;
        let run = |from: usize, to: usize| {
            let mut visitor = Visitor::new(self, None, shared, 0);
            for i in from..to {
                let own = self.state.get(i);
                if self.active.call(own) {
                    match first {
                        Some(first) => visitor.visit(first, i as u32),
                        None => visitor.visit(body, i as u32),
                    }
                }
            }
            // The chunk's rows are in a cache, so what is left is revisited while that settles at least half of it. The direction
            // alternates, so that chains of dependencies settle in either direction.
            let mut again = true;
            while again && visitor.found.left.len() >= tuning().loop_sample {
                let list = std::mem::take(&mut visitor.found.left);
                list.iter().rev().for_each(|&i| visitor.visit(body, i));
                again = visitor.found.left.len() <= list.len() / 2;
            }
            visitor.found
        };
        let work = body.work().map_or(0, |work| work[n]);
        if parallel::is_little(n, work) {
            return run(0, n);
        }
        let chunk = parallel::chunk_size(n).min(tuning().cache_chunk);
        merged(parallel::collect(n.div_ceil(chunk), &|p| run(p * chunk, ((p + 1) * chunk).min(n))))
    }

    /// Runs a pass over the elements that the pass before left or woke.
    fn pass<V: VectorView<T = T>>(
        &self,
        body: &V,
        PassResult { left, woken, .. }: PassResult,
        waiters: Option<&Waiters>,
    ) -> PassResult {
        let _reading = body.work().and_then(|work| memory::read_some_rows(work, left.len() + woken.len()));
        let shared = parallel::threads() > 1;
        if is_small(body, &left) && is_small(body, &woken) && woken.len() < tuning().parallel_woken {
            let mut visitor = Visitor::new(self, waiters, shared, 0);
            left.iter().for_each(|&i| visitor.visit(body, i));
            woken.iter().for_each(|&i| visitor.revisit(body, i));
            // follow chains of woken elements, until they are many enough to share out
            for _ in 0..64 {
                if visitor.found.woken.is_empty() || visitor.found.woken.len() >= tuning().parallel_woken {
                    break;
                }
                let woken = std::mem::take(&mut visitor.found.woken);
                woken.iter().for_each(|&i| visitor.revisit(body, i));
            }
            return visitor.found;
        }
        // a thread revisits some of the elements that it wakes at once, while what they read is in its cache
        let run = |left: &[u32], woken: &[u32]| {
            let mut visitor = Visitor::new(self, waiters, shared, 2 * (left.len() + woken.len()));
            self.for_each_prefetched(body, left, |i| {
                visitor.visit(body, i);
                visitor.revisit_woken(body);
            });
            self.for_each_prefetched(body, woken, |i| {
                visitor.revisit(body, i);
                visitor.revisit_woken(body);
            });
            visitor.found
        };
        let of = |list: &[u32]| parallel::chunk_size(list.len());
        let tasks: Vec<(&[u32], &[u32])> = left
            .chunks(of(&left))
            .map(|left| (left, &[][..]))
            .chain(woken.chunks(of(&woken)).map(|woken| (&[][..], woken)))
            .collect();
        merged(parallel::collect(tasks.len(), &|t| run(tasks[t].0, tasks[t].1)))
    }
}
