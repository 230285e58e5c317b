//! The CPU's `while_changed` loops over `x = x ⊕ (x ⊕.⊗ A)`, if products keep values and most elements have one of their own at first: labels
//! that spread.
//!
//! Sweeps change an element whenever a better value comes by. They take few visits where values don't travel far, and all threads share them.
//! Elsewhere they are stopped after a while. Then the best value goes first, and what it reaches has its last value. So each element is pushed
//! once, as in a search.

use crate::backend::cpu::buckets::{Buckets, Order};
use crate::backend::cpu::due::Marks;
use crate::backend::cpu::parallel;
use crate::backend::cpu::prefetch::prefetch;
use crate::backend::cpu::relax::{Progress, Relaxation};
use crate::backend::cpu::sort;
use crate::backend::profile::Counts;
use crate::backend::spans::told_round;
use crate::backend::tuning::tuning;
use crate::stop;
use std::slice::Iter;
use vxm_semiring::Element;

impl<T: Element> Relaxation<'_, T> {
    /// How many visits sweeps may take before labels [spread](Self::spread) instead; `None` if they can't. Sweeps are shared by threads and a search
    /// isn't, so more threads may sweep for longer. Then the loop takes about twice as long as the better way at most.
    pub fn patience(&self) -> Option<u64> {
        let passes = tuning().sweeps + parallel::threads() as u64;
        self.can_spread().then(|| passes * self.state.len() as u64)
    }

    /// Whether products keep values, and ⊕ takes one of two values, as far as a sample shows; and rows can be read in any order. If ⊕ made new
    /// values, searches from several elements would visit the same ones again.
    fn can_spread(&self) -> bool {
        let edges = self.edges;
        if !edges.is_pattern() || edges.columns().is_empty() || edges.spills() || !edges.is_annihilating() {
            return false;
        }
        let n = self.state.len();
        let sample: Vec<T> = (0..n).step_by((n / 64).max(1)).map(|i| self.state.get(i)).collect();
        let keeps = |&x: &T| self.edges.product(x, 0).bits() == x.bits();
        let takes_one = |two: &[T]| {
            let joined = self.edges.join(two[0], two[1]).bits();
            joined == two[0].bits() || joined == two[1].bits()
        };
        sample.iter().all(keeps) && sample.iter().all(|&x| takes_one(&[x, x])) && sample.windows(2).all(takes_one)
    }

    /// The elements in the order of their values, the furthest from ⊕'s identity first. Any order is right.
    fn best_first(&self, mut elements: Vec<u32>) -> Vec<u32> {
        let identity = self.edges.identity().as_f64();
        let downwards = elements.first().is_some_and(|&i| self.state.get(i as usize).as_f64() > identity);
        let key = |i: u32| {
            // bits that are ordered as the floats are
            let bits = self.state.get(i as usize).as_f64().to_bits();
            let ascending = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
            if downwards { !ascending } else { ascending }
        };
        if !elements.is_sorted_by_key(|&i| key(i)) {
            let mut keyed = elements.iter().map(|&i| (key(i), i)).collect();
            sort::radix(&mut keyed);
            elements.clear();
            elements.extend(keyed.iter().map(|&(_, i)| i));
        }
        elements
    }

    /// Goes on with a loop of so many rounds, from each element, the best first. Returns the number of rounds; `None` if labels can't spread, or
    /// took all rounds that are allowed. A round is a part of the loop in which few elements are due at a time, or one in which many are.
    #[inline(never)]
    pub fn spread(&self, rounds: u32) -> Option<u32> {
        let n = self.state.len();
        let elements = self.best_first(self.first(n)?);
        let (mut sources, seen, marks) = (elements.iter(), Marks::new(n), Marks::new(n));
        let (mut buckets, mut due, mut many) = (Buckets::new(), Vec::new(), 0);
        let mut done = Progress { rounds, ..Progress::default() };
        let settled = loop {
            if due.is_empty() && !sources.as_slice().iter().any(|&i| !seen.is_set(i as usize)) {
                break true;
            }
            // one that was stopped isn't settled; the loop that follows ends at once
            if done.rounds >= self.max_rounds || stop::check().is_err() {
                break false;
            }
            done.rounds += 1;
            if due.len() < tuning().sequential {
                told_round!(done.rounds, sources.len());
                self.search(&mut sources, &seen, &mut due, &mut done);
                continue;
            }
            many += 1;
            told_round!(done.rounds, due.len());
            for &i in &due {
                seen.set(i as usize, true);
                marks.set(i as usize, true);
            }
            self.round(&due, &marks, &buckets, Order::NONE, &mut done);
            buckets.take(&mut due, &marks, |_| 0);
            // a search needs no marks
            due.iter().for_each(|&i| _ = marks.take_one(i as usize, true));
        };
        tracing::debug!(operation = "fixpoint", schedule = "relaxed", direction = "from the best", swept = rounds, many, pulls = done.pulls, rounds = done.rounds, settled, at = %self.at, "plan");
        settled.then_some(done.rounds)
    }

    /// Pushes the due elements and what changes then, and goes on with the next source that isn't seen yet, until many elements are due at a time
    /// or all is done.
    fn search(&self, sources: &mut Iter<'_, u32>, seen: &Marks, due: &mut Vec<u32>, done: &mut Progress) {
        let offsets = self.edges.offsets();
        let (columns, ahead) = (self.edges.columns(), tuning().prefetch_rows);
        let (mut next, mut changed, stop) = (Vec::new(), Vec::new(), stop::current());
        if let Some(probe) = self.probe {
            probe.set_entries(offsets.last().copied().unwrap_or(0));
            probe.begin_round(sources.len(), true);
        }
        loop {
            if due.is_empty() {
                due.extend(sources.find(|&&i| !seen.is_set(i as usize)));
            }
            if due.is_empty() || due.len() >= tuning().sequential || stop::is_asked(&stop) {
                break;
            }
            for (k, &i) in due.iter().enumerate() {
                if let Some(&later) = due.get(k + ahead) {
                    prefetch(offsets, later as usize);
                }
                if let Some(&later) = due.get(k + ahead / 2) {
                    prefetch(columns, offsets[later as usize] as usize);
                }
                let i = i as usize;
                seen.set(i, true);
                self.edges.push(self.state, i, true, &mut changed);
                let row = offsets[i + 1] - offsets[i];
                done.edges += row;
                if let Some(probe) = self.probe {
                    let counts = Counts { visits: 1, edges: row, ..Counts::default() };
                    probe.add_visit(i, row, &counts, Some((!changed.is_empty(), false)));
                }
                next.extend(changed.drain(..).map(|(j, _)| j));
            }
            due.clear();
            std::mem::swap(due, &mut next);
        }
        if let Some(probe) = self.probe {
            probe.end_round(0);
        }
    }
}
