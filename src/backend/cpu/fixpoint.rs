//! Loops: in rounds over the state of the round before, or in place, where each thread sees at once what the others have settled.

use super::ahead::ask;
use super::gather::{SEQUENTIAL, is_small};
use super::share::{self, Busy};
use super::sort;
use crate::backend::erased::Erased;
use crate::backend::plan;
use crate::backend::view::{At, Depends};
use crate::error::Result;
use crate::formats::Shared;
use std::sync::atomic::{AtomicIsize, AtomicU32, AtomicUsize, Ordering, fence};
use std::time::{Duration, Instant};
use vxm_semiring::{Element, UnaryOp};

/// How a loop went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Rounds; of a loop in place, how often lists were gone through.
    pub rounds: u32,
    /// Elements that were active still when it gave up.
    pub left: usize,
    /// Whether they changed still; none did otherwise.
    pub endless: bool,
}

/// So many elements tell what visiting others will come to.
const SAMPLE: usize = 64;

/// So many elements lie in a cache together, with most of what they read where rows are short.
const PIECE: usize = 1 << 15;

/// So many places ahead rows are asked for.
const AHEAD: usize = 32;

/// Bytes of a state that is all near enough, in whatever order it is read.
const CACHE: usize = 8 << 20;

/// So many elements a thread takes at once, where nobody is waited for.
const TAKEN: usize = 512;

/// So many may wait for others while a thread goes on to the next.
const WAITING: usize = 1024;

/// So long others are waited for. An operator that lends its thread may have it wait for a thread that waits for the operator's element.
const PATIENCE: Duration = Duration::from_millis(50);

/// So many that were woken are shared out: what each costs is not known, since its row is read until one ends it.
const SHARED: usize = 512;

/// In which order elements are visited first: by their states, or by what their limits rank them by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// The least come first.
    Ascending,
    /// The greatest do.
    Descending,
}

/// A loop: a state, and which elements of it are to be visited.
#[derive(Debug)]
pub struct Loop<'a, T, F> {
    /// The state.
    pub state: &'a Shared<T>,
    /// Holds of the elements that may still change.
    pub active: F,
    /// The most rounds that may change something.
    pub most: u32,
}

/// How a body's view reads its products' rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// As they are.
    Whole,
    /// Of the entries that take part, chosen now.
    Chosen,
    /// From their ends, where that comes to the same.
    Reversed,
}

/// A body's view, and whether it reads the state as it is: one that doesn't is made anew in every round.
pub type Body<V> = (V, bool);

/// What becomes of element `i`.
#[inline(always)]
pub(super) fn next<V: At>(body: &V, i: usize, own: V::T) -> V::T {
    (if body.selects(i) { body.at(i) } else { None }).unwrap_or(own)
}

impl<T: Element, F: UnaryOp<T, Out = bool>> Loop<'_, T, F> {
    /// All active elements are visited over the state of the round before. `first` is the first round's body, if it has one of its own.
    ///
    /// # Errors
    /// As making the body's view.
    pub fn rounds<V: At<T = T>, W: At<T = T>>(
        &self,
        first: Option<W>,
        body: impl Fn() -> Result<Body<V>>,
    ) -> Result<Outcome> {
        let (n, mut rounds, mut next, mut held) = (self.state.len(), 0, Vec::new(), None);
        let is_active = |&i: &u32| self.active.call(self.state.get(i as usize));
        let piece = share::piece(n);
        let lists = share::collect(n.div_ceil(piece), &|p| {
            (p * piece..((p + 1) * piece).min(n)).map(|i| i as u32).filter(is_active).collect::<Vec<u32>>()
        });
        let mut list = lists.concat();
        while !list.is_empty() {
            rounds += 1;
            let changed = match first.as_ref().filter(|_| rounds == 1) {
                // where the first body changes nothing, the other may
                Some(first) => {
                    self.round(first, &mut list, &mut next);
                    true
                }
                None => {
                    let (view, live) = match held.take() {
                        Some(held) => held,
                        None => body()?,
                    };
                    let changed = self.round(&view, &mut list, &mut next);
                    held = live.then_some((view, live));
                    changed
                }
            };
            if !changed || rounds >= self.most {
                return Ok(Outcome { rounds, left: list.len(), endless: changed });
            }
        }
        Ok(Outcome { rounds, left: 0, endless: false })
    }

    /// One round; whether it changed anything. `list` becomes those that are active then.
    fn round<V: At<T = T>>(&self, body: &V, list: &mut Vec<u32>, new: &mut Vec<T>) -> bool {
        new.clear();
        new.resize(list.len(), T::ZERO);
        let visit = |(list, new): (&[u32], &mut [T])| {
            for (&i, new) in list.iter().zip(new) {
                *new = next(body, i as usize, self.state.get(i as usize));
            }
        };
        let settle = |list: &[u32], new: &[T]| {
            let (mut changed, mut left) = (false, Vec::new());
            for (&i, &new) in list.iter().zip(new) {
                changed |= self.state.get(i as usize).bits() != new.bits();
                self.state.put(i as usize, new);
                if self.active.call(new) {
                    left.push(i);
                }
            }
            (changed, left)
        };
        let changed;
        (changed, *list) = if is_small(body, list) {
            visit((list, new));
            settle(list, new)
        } else {
            let piece = share::piece(list.len());
            share::each(list.chunks(piece).zip(new.chunks_mut(piece)).collect(), &visit);
            let pieces: Vec<_> = list.chunks(piece).zip(new.chunks(piece)).collect();
            let settled = share::collect(pieces.len(), &|p| settle(pieces[p].0, pieces[p].1));
            let changed = settled.iter().any(|(changed, _)| *changed);
            (changed, settled.into_iter().map(|(_, left)| left).collect::<Vec<_>>().concat())
        };
        changed
    }

    /// Elements are visited in any order and written at once, over a state that others are writing: for loops of which every fair
    /// schedule comes to the same state. Those that are known to wait for another sleep until that changes.
    ///
    /// # Errors
    /// As making the body's view.
    pub fn in_place<V: At<T = T>, W: At<T = T>>(
        &self,
        first: Option<W>,
        body: impl Fn(Reading) -> Result<Body<V>>,
    ) -> Result<Outcome> {
        let (mut view, mut live) = body(Reading::Whole)?;
        let (mut rounds, mut sleepers, mut asleep, mut may_sleep) = (1, None, 0, true);
        // a body that holds what it read of the state sees nobody settle
        let order = self.order(&view, first.as_ref().filter(|_| live));
        let why = match order {
            Some(_) => "those who wait do so for elements that are visited before: one visit is enough, mostly",
            None => "nobody is known to wait, or for any, or it would tear neighbours apart",
        };
        tracing::debug!(operation = "fixpoint", ?order, why, "plan");
        (view, live) = body(if order.is_some() { Reading::Reversed } else { Reading::Chosen })?;
        let mut found = {
            let (fixed, all) = (view.fixed(), Erased::of(&view));
            match (order, &fixed, first.as_ref().map(At::fixed)) {
                (Some(order), Some(fixed), _) => self.all_in(&self.sorted(order, fixed), fixed),
                (Some(order), None, _) => self.all_in(&self.sorted(order, &all), &all),
                (None, Some(fixed), None) => self.all::<_, W::Fixed<'_>>(None, fixed),
                (None, Some(fixed), Some(Some(first))) => self.all(Some(&first), fixed),
                (None, ..) => self.all(first.as_ref().map(Erased::of).as_ref(), &all),
            }
        };
        // where the first body changes nothing, the other may
        found.changed |= first.is_some() && order.is_none();
        loop {
            let awake = found.left.len() + found.woken.len();
            if awake + asleep == 0 {
                return Ok(Outcome { rounds, left: 0, endless: false });
            }
            if awake == 0 || !(found.changed || found.slept > 0) {
                if asleep == 0 {
                    return Ok(Outcome { rounds, left: awake, endless: false });
                }
                // who is waited for may have changed unseen, and be active still: all get up, and none sleeps again
                let all: Sleepers = sleepers.take().unwrap_or_default();
                (0..all.last.len()).for_each(|k| all.wake(k, &mut found.left));
                (asleep, may_sleep) = (0, false);
            }
            if rounds >= self.most && found.changed {
                return Ok(Outcome { rounds, left: awake + asleep, endless: true });
            }
            if may_sleep && sleepers.is_none() && self.many_wait(&view, &found.left) {
                sleepers = Some(Sleepers::new(self.state.len()));
            }
            if !live {
                (view, _) = body(Reading::Chosen)?;
            }
            rounds += 1;
            let before = found.left.len() + found.woken.len() + asleep;
            found = match &view.fixed() {
                Some(fixed) => self.pass(fixed, found, sleepers.as_ref()),
                None => self.pass(&Erased::of(&view), found, sleepers.as_ref()),
            };
            asleep = before - found.settled - found.left.len() - found.woken.len();
        }
    }

    /// In which order the active elements are worth visiting: if those who wait, wait for greater ones, or for lesser ones, then those come
    /// first, and most need no second visit. `first` is the first round's body, if it has one of its own.
    fn order<V: At<T = T>, W: At<T = T>>(&self, body: &V, first: Option<&W>) -> Option<Order> {
        let n = self.state.len();
        let work = body.work()?[n];
        if work < SEQUENTIAL as u64 {
            return None;
        }
        let rank = |i: u32| body.rank(i as usize).unwrap_or_else(|| self.state.get(i as usize).bits());
        let is_active = |i: &u32| self.active.call(self.state.get(*i as usize));
        let sampled = |whom: &dyn Fn(u32) -> Option<u32>| -> Vec<(u32, u32)> {
            let sample = (0..n).step_by(n.div_ceil(16 * SAMPLE)).map(|i| i as u32).filter(is_active);
            sample.filter_map(|i| Some((i, whom(i)?))).collect()
        };
        let waits = sampled(&|i| self.awaited(body, i));
        let known = waits.len() >= SAMPLE;
        let waits = if known { waits } else { sampled(&|i| self.ended(first?, i)) };
        let most = |holds: &dyn Fn(u32, u32) -> bool| {
            waits.iter().filter(|&&(i, k)| holds(i, k)).count() >= waits.len() * 15 / 16
        };
        let greater = most(&|i, k| rank(k) > rank(i));
        if waits.len() < SAMPLE || !(greater || most(&|i, k| rank(k) < rank(i))) {
            return None;
        }
        // to tear neighbours apart that lie together costs more than a second visit where nobody waits for one alone, or where rows are
        // short and states far away: the shorter, the less it takes
        let far = if work <= 3 * n as u64 { CACHE / 4 } else { CACHE };
        let bytes = size_of::<T>() * n * if body.rank(0).is_some() { 2 } else { 1 };
        let cheap = work <= (plan::FROM_MEAN * n) as u64 && bytes > far;
        let torn = (cheap || !known) && most(&|i, k| (i.abs_diff(k) as usize) < PIECE);
        (!torn).then_some(if greater { Order::Descending } else { Order::Ascending })
    }

    /// The active elements in that order, by one digit, the highest, of what they rank above the least, or below the greatest; those that are
    /// alike as they lie.
    fn sorted<V: At<T = T>>(&self, order: Order, body: &V) -> Vec<u32> {
        let n = self.state.len();
        let piece = share::piece(n);
        let active = |i: usize| Some(self.state.get(i)).filter(|&x| self.active.call(x));
        let rank = |i: usize| active(i).map(|x| body.rank(i).unwrap_or_else(|| x.bits()));
        let ends = share::collect(n.div_ceil(piece), &|p| {
            let ranks = (p * piece..((p + 1) * piece).min(n)).filter_map(rank);
            ranks.fold((u64::MAX, 0), |(least, most), x| (x.min(least), x.max(most)))
        });
        let (least, most) = ends.into_iter().fold((u64::MAX, 0), |(a, b), (least, most)| (a.min(least), b.max(most)));
        let width = u64::BITS - most.saturating_sub(least).leading_zeros();
        let shift = width.saturating_sub(sort::DIGIT);
        let digit = |i: usize| {
            let above = rank(i).map(|x| if order == Order::Descending { most - x } else { x - least });
            above.map(|above| (above >> shift) as usize)
        };
        let mut sorted = Vec::new();
        sort::deal(n, &digit, &|i| i as u32, &mut sorted);
        sorted
    }

    /// The first pass, in such an order: threads take the next few in turn, and come back to those that wait for others' few.
    fn all_in<V: At<T = T>>(&self, order: &[u32], body: &V) -> Found {
        let (taken, busy) = (AtomicUsize::new(0), AtomicIsize::new(0));
        // of what other threads have taken, an element is to have a neighbour in one case of sixteen, or where rows are long, hardly more
        let others = rayon::current_num_threads().saturating_sub(1).max(1);
        let (n, work) = (self.state.len(), body.work().map_or(0, |work| work[self.state.len()] as usize));
        let most_taken = (n * (n / 16) / work.max(1) / others).clamp(SAMPLE, TAKEN);
        let run = |_| {
            // one that runs this already has been lent to it by an operator, and would wait for itself
            let Some(_busy) = Busy::enter(&busy) else { return Found::default() };
            let mut visitor = Visitor::new(self, None, 0);
            let (mut waits, mut few, mut since) = (Vec::new(), 1, 0);
            loop {
                let from = taken.fetch_add(few, Ordering::Relaxed).min(order.len());
                let (next, before) = (&order[from..(from + few).min(order.len())], waits.len());
                self.in_turn(body, next, |i| visitor.settle_or_wait(body, i, &mut waits));
                // where many wait, few are taken: those that come after them would wait too
                few = if waits.len() == before { (2 * few).min(most_taken) } else { few.div_ceil(2) };
                since += 4 * next.len();
                if since >= waits.len() {
                    visitor.ask(body, &mut waits);
                    since = 0;
                }
                let most = if next.is_empty() { 0 } else { WAITING };
                if waits.len() > most && visitor.wait(body, &mut waits, most / 2, &busy) {
                    visitor.found.left.extend(waits.drain(..).map(|(i, _)| i));
                }
                if next.is_empty() {
                    return visitor.found;
                }
            }
        };
        joined(share::collect(rayon::current_num_threads(), &run))
    }

    /// Visits those of a list, whose rows lie apart: some places ahead their bounds are asked for, and half as far their entries.
    #[inline(always)]
    fn in_turn<V: At<T = T>>(&self, body: &V, list: &[u32], mut visit: impl FnMut(u32)) {
        let work = body.work().unwrap_or(&[]);
        let bounds = |k| list.get(k).into_iter().for_each(|&i: &u32| ask(work, i as usize));
        let entries = |k| list.get(k).into_iter().for_each(|&i: &u32| body.ask(i as usize));
        (0..AHEAD).for_each(bounds);
        (0..AHEAD / 2).for_each(entries);
        for (k, &i) in list.iter().enumerate() {
            bounds(k + AHEAD);
            entries(k + AHEAD / 2);
            visit(i);
        }
    }

    /// For which active element `i` waits: it stays as it is until that changes.
    #[inline(always)]
    fn awaited<V: At<T = T>>(&self, body: &V, i: u32) -> Option<u32> {
        match body.depends(i as usize) {
            Depends::On(k) if self.active.call(self.state.get(k as usize)) => Some(k),
            _ => None,
        }
    }

    /// Which active element is enough to keep element `i` as it is, for now: it may change before that does.
    fn ended<V: At<T = T>>(&self, body: &V, i: u32) -> Option<u32> {
        match body.depends(i as usize) {
            Depends::After(k) if self.active.call(self.state.get(k as usize)) => Some(k),
            _ => None,
        }
    }

    /// Whether it's worth the while to know who waits for whom: of those left, many do.
    fn many_wait<V: At<T = T>>(&self, body: &V, left: &[u32]) -> bool {
        let waits = |&&i: &&u32| self.awaited(body, i).is_some();
        left.len() >= 1024 && left.iter().step_by(left.len() / 64).filter(waits).count() >= 8
    }

    /// The first pass: over all elements that are active.
    fn all<V: At<T = T>, W: At<T = T>>(&self, first: Option<&W>, body: &V) -> Found {
        let n = self.state.len();
        let run = |from: usize, to: usize| {
            let mut visitor = Visitor::new(self, None, 0);
            for i in from..to {
                let own = self.state.get(i);
                if self.active.call(own) {
                    match first {
                        Some(first) => visitor.settle(first, i as u32),
                        None => visitor.settle(body, i as u32),
                    }
                }
            }
            // those left are visited again while what they read is in a cache, backwards and forwards, as long as that settles most
            let mut again = true;
            while again && visitor.found.left.len() >= SAMPLE {
                let list = std::mem::take(&mut visitor.found.left);
                list.iter().rev().for_each(|&i| visitor.settle(body, i));
                again = visitor.found.left.len() <= list.len() / 2;
            }
            visitor.found
        };
        let work = body.work().map_or(0, |work| work[n]);
        if n < SEQUENTIAL && work < 4 * SEQUENTIAL as u64 {
            return run(0, n);
        }
        // as much as a cache holds, at most
        let piece = share::piece(n).min(PIECE);
        joined(share::collect(n.div_ceil(piece), &|p| run(p * piece, ((p + 1) * piece).min(n))))
    }

    /// A pass over those that a pass left.
    fn pass<V: At<T = T>>(&self, body: &V, Found { left, woken, .. }: Found, sleepers: Option<&Sleepers>) -> Found {
        if is_small(body, &left) && is_small(body, &woken) && woken.len() < SHARED {
            let mut visitor = Visitor::new(self, sleepers, 0);
            left.iter().for_each(|&i| visitor.settle(body, i));
            woken.iter().for_each(|&i| visitor.revisit(body, i));
            // those that were woken, and those that they wake, until they are enough to share
            for _ in 0..64 {
                if visitor.found.woken.is_empty() || visitor.found.woken.len() >= SHARED {
                    break;
                }
                let woken = std::mem::take(&mut visitor.found.woken);
                woken.iter().for_each(|&i| visitor.revisit(body, i));
            }
            return visitor.found;
        }
        // a thread follows those that it wakes a little, while they are in its cache
        let run = |left: &[u32], woken: &[u32]| {
            let mut visitor = Visitor::new(self, sleepers, 2 * (left.len() + woken.len()));
            self.in_turn(body, left, |i| {
                visitor.settle(body, i);
                visitor.cascade(body);
            });
            self.in_turn(body, woken, |i| {
                visitor.revisit(body, i);
                visitor.cascade(body);
            });
            visitor.found
        };
        let of = |list: &[u32]| share::piece(list.len());
        let tasks: Vec<(&[u32], &[u32])> = left
            .chunks(of(&left))
            .map(|left| (left, &[][..]))
            .chain(woken.chunks(of(&woken)).map(|woken| (&[][..], woken)))
            .collect();
        joined(share::collect(tasks.len(), &|t| run(tasks[t].0, tasks[t].1)))
    }
}

/// What visits came to.
#[derive(Debug, Default)]
struct Found {
    /// Those active still, and those that slept and shall be visited again.
    left: Vec<u32>,
    woken: Vec<u32>,
    /// Whether an element changed; how many came to rest, and how many fell asleep.
    changed: bool,
    settled: usize,
    slept: usize,
}

fn joined(parts: Vec<Found>) -> Found {
    let mut all = Found::default();
    for part in parts {
        all.left.extend(part.left);
        all.woken.extend(part.woken);
        all.changed |= part.changed;
        all.settled += part.settled;
        all.slept += part.slept;
    }
    all
}

/// One thread's visits.
struct Visitor<'a, T, F> {
    of: &'a Loop<'a, T, F>,
    sleepers: Option<&'a Sleepers>,
    found: Found,
    /// How often elements that are woken may be visited at once, rather than in the next pass, where threads share them.
    budget: usize,
    /// How long it waits for others: not at all any more, once that was in vain.
    patience: Duration,
    /// How many were asked for whom they wait, and how many knew.
    asked: usize,
    knew: usize,
}

impl<'a, T: Element, F: UnaryOp<T, Out = bool>> Visitor<'a, T, F> {
    fn new(of: &'a Loop<'a, T, F>, sleepers: Option<&'a Sleepers>, budget: usize) -> Self {
        Self { of, sleepers, found: Found::default(), budget, patience: PATIENCE, asked: 0, knew: 0 }
    }

    /// Visits an active element.
    #[inline(always)]
    fn settle<V: At<T = T>>(&mut self, body: &V, i: u32) {
        let Loop { state, active, .. } = self.of;
        let own = state.get(i as usize);
        let new = next(body, i as usize, own);
        if new.bits() == own.bits() {
            if !self.sleeps(body, i) {
                self.found.left.push(i);
            }
            return;
        }
        state.put(i as usize, new);
        self.found.changed = true;
        if active.call(new) {
            // who waits for it sleeps on: woken by each change, it would look for another to wait for again and again
            self.found.left.push(i);
            return;
        }
        self.found.settled += 1;
        if let Some(sleepers) = self.sleepers {
            // whoever has begun to wait by now is seen here, or sees what was written
            fence(Ordering::SeqCst);
            sleepers.wake(i as usize, &mut self.found.woken);
        }
    }

    /// Visits an active element, and says for whom it waits if it stays as it is.
    #[inline(always)]
    fn settle_or_wait<V: At<T = T>>(&mut self, body: &V, i: u32, waits: &mut Vec<(u32, u32)>) {
        let left = self.found.left.len();
        self.settle(body, i);
        if self.found.left.len() == left {
            return;
        }
        self.found.left.truncate(left);
        match self.of.awaited(body, i) {
            Some(k) => waits.push((i, k)),
            // who was waited for has settled meanwhile, if anybody was
            None => self.settle(body, i),
        }
    }

    /// Visits those of whom the one that each waits for has settled, and those that waited for these, and so on.
    fn ask<V: At<T = T>>(&mut self, body: &V, waits: &mut Vec<(u32, u32)>) {
        let mut settled = usize::MAX;
        while settled != self.found.settled && !waits.is_empty() {
            settled = self.found.settled;
            for (i, k) in std::mem::take(waits) {
                if self.of.active.call(self.of.state.get(k as usize)) {
                    waits.push((i, k));
                } else {
                    self.settle_or_wait(body, i, waits);
                }
            }
        }
    }

    /// Lets the other threads settle those who are waited for, until at most `few` wait; whether it gives up before, because all threads wait,
    /// or for too long.
    fn wait<V: At<T = T>>(&mut self, body: &V, waits: &mut Vec<(u32, u32)>, few: usize, busy: &AtomicIsize) -> bool {
        while waits.len() > few {
            let settled = self.found.settled;
            self.ask(body, waits);
            if self.found.settled > settled {
                continue;
            }
            busy.fetch_sub(1, Ordering::Relaxed);
            let (begin, mut last) = (Instant::now(), false);
            while !last && waits.iter().all(|&(_, k)| self.of.active.call(self.of.state.get(k as usize))) {
                last = busy.load(Ordering::Relaxed) <= 0;
                if begin.elapsed() >= self.patience {
                    (last, self.patience) = (true, Duration::ZERO);
                }
                std::thread::yield_now();
            }
            busy.fetch_add(1, Ordering::Relaxed);
            if last {
                return true;
            }
        }
        false
    }

    /// Visits one that has slept: what ended its fold has changed, and something like it may end it again.
    fn revisit<V: At<T = T>>(&mut self, body: &V, i: u32) {
        match (self.sleepers, self.of.awaited(body, i)) {
            (Some(sleepers), Some(k)) => self.sleep(sleepers, i, k),
            _ => self.settle(body, i),
        }
    }

    /// Visits those that were woken, and those that they wake.
    fn cascade<V: At<T = T>>(&mut self, body: &V) {
        while self.budget > 0
            && let Some(i) = self.found.woken.pop()
        {
            self.budget -= 1;
            self.revisit(body, i);
        }
    }

    /// Whether an element that stays as it is waits for another; few are asked where that finds nothing.
    fn sleeps<V: At<T = T>>(&mut self, body: &V, i: u32) -> bool {
        let Some(sleepers) = self.sleepers else { return false };
        if self.asked >= 64 && self.knew * 8 <= self.asked {
            return false;
        }
        self.asked += 1;
        let Some(k) = self.of.awaited(body, i) else { return false };
        self.knew += 1;
        self.sleep(sleepers, i, k);
        true
    }

    fn sleep(&mut self, sleepers: &Sleepers, i: u32, k: u32) {
        self.found.slept += 1;
        sleepers.wait(i, k as usize);
        fence(Ordering::SeqCst);
        let Loop { state, active, .. } = self.of;
        if !active.call(state.get(k as usize)) {
            // it has settled meanwhile, and may not have seen who waits
            sleepers.wake(k as usize, &mut self.found.woken);
        }
    }
}

/// Nobody is waited for.
const NOBODY: u32 = u32::MAX;

/// Elements that are not visited until another changes, in a list for each that is waited for: the last that began to wait, and for each
/// that waits the one that began before.
#[derive(Debug, Default)]
struct Sleepers {
    last: Vec<AtomicU32>,
    before: Vec<AtomicU32>,
}

impl Sleepers {
    fn new(n: usize) -> Self {
        let nobody = || (0..n).map(|_| AtomicU32::new(NOBODY)).collect();
        Self { last: nobody(), before: nobody() }
    }

    /// Element `i`, which is in no list, waits for `k`.
    fn wait(&self, i: u32, k: usize) {
        let mut last = self.last[k].load(Ordering::Relaxed);
        loop {
            self.before[i as usize].store(last, Ordering::Relaxed);
            match self.last[k].compare_exchange_weak(last, i, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(other) => last = other,
            }
        }
    }

    /// Those that wait for `k` wait no longer.
    fn wake(&self, k: usize, woken: &mut Vec<u32>) {
        if self.last[k].load(Ordering::Relaxed) == NOBODY {
            return;
        }
        // a whole list is taken at a time, so that none is in two
        let mut i = self.last[k].swap(NOBODY, Ordering::Acquire);
        while i != NOBODY {
            woken.push(i);
            i = self.before[i as usize].load(Ordering::Relaxed);
        }
    }
}
