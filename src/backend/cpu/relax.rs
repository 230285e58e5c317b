//! The CPU's `while_changed` loops over `x = x ⊕ (x ⊕.⊗ A)`, if few elements differ from ⊕'s identity at first: breadth-first search,
//! shortest paths, reachability. Of many, labels may [spread](super::spreading).
//!
//! A changed element is **pushed**: along each of its edges its product is joined into the element at the other end, so an edge costs one
//! access instead of a row's fold. Elements wait in [buckets](Buckets) of their values. If many elements with one value are due and entries
//! have no weights, all their products are equal. Then the others may **pull**: each looks for a neighbour that is due, and stops at the
//! first (Beamer, Asanović and Patterson, "Direction-optimizing breadth-first search").

use crate::backend::cpu::buckets::{Bins, Buckets, Order};
use crate::backend::cpu::due::Marks;
use crate::backend::cpu::parallel;
use crate::backend::cpu::prefetch::prefetch;
use crate::backend::not_idempotent;
use crate::backend::profile::{Counts, Probe};
use crate::backend::spans::told_round;
use crate::backend::tuning::tuning;
use crate::formats::Shared;
use crate::formats::bitmap::words;
use crate::memory;
use crate::stop;
use std::ops::Range;
use std::panic::Location;
use std::sync::atomic::{Ordering, fence};
use vxm_semiring::Element;

/// The edges of a loop `x = x ⊕ (x ⊕.⊗ A)`, where ⊕ is exact, commutative and idempotent.
///
/// It is `dyn`: a call is made for each element, not for each edge.
pub trait Relax<T: Element>: Sync {
    /// The identity of ⊕.
    fn identity(&self) -> T;
    /// `held ⊕ other`.
    fn join(&self, held: T, other: T) -> T;
    /// `x ⊗ a` for the entry with this number.
    fn product(&self, x: T, entry: usize) -> T;
    /// Whether the identity's product with every entry is the identity. O(entries) time; O(1) without weights.
    fn is_annihilating(&self) -> bool;
    /// Whether entries have no weights, so that an element's products are all equal.
    fn is_pattern(&self) -> bool;
    /// Where each element's edges begin, and where the last ones end.
    fn offsets(&self) -> &[u64];
    /// The other ends of the edges.
    fn columns(&self) -> &[u32];
    /// Whether the edges lie in a file larger than memory, so that they are best read in their order.
    fn spills(&self) -> bool;
    /// Whether edges can be followed from their ends, without work to make that possible.
    fn can_pull(&self) -> bool;
    /// Joins the products of element `i` into the elements at the other ends. Adds those that change to `changed`, with what they were.
    fn push(&self, state: &Shared<T>, i: usize, alone: bool, changed: &mut Vec<(u32, T)>);
    /// Joins `product` into each element of the words `range` that it would change and that has an edge from one in the bitmap `due`. Returns the
    /// elements that change. A visit is an element that looks for such an edge.
    fn pull(&self, state: &Shared<T>, due: &[u64], product: T, range: Range<usize>, probe: Option<&Probe>) -> Vec<u32>;
}

/// A loop that relaxes edges.
pub struct Relaxation<'a, T> {
    /// The state.
    pub state: &'a Shared<T>,
    /// The edges.
    pub edges: &'a dyn Relax<T>,
    /// The most rounds.
    pub max_rounds: u32,
    /// The loop's counters, if visits are to be counted.
    pub probe: Option<&'a Probe>,
    /// The line that made the loop.
    pub at: &'static Location<'static>,
}

/// What a loop did so far.
#[derive(Default)]
pub(super) struct Progress {
    pub rounds: u32,
    pub pulls: u32,
    /// The edges of elements that were due, over all rounds.
    pub edges: u64,
}

impl<T: Element> Relaxation<'_, T> {
    /// Runs the loop. Returns the number of rounds; `None` if relaxing doesn't pay, or took all the rounds that are allowed. The state is
    /// then on its way, and a loop that visits all elements once more reaches the same answer.
    pub fn run(&self) -> Option<u32> {
        let entries = self.edges.columns().len() as u64;
        parallel::alone_if(parallel::is_little(self.state.len(), entries), || self.run_by_buckets())
    }

    /// Runs the loop, a bucket at a time.
    #[inline(never)]
    fn run_by_buckets(&self) -> Option<u32> {
        let first = self.first(self.state.len() / tuning().sweep_fraction)?;
        let order = self.order(&first);
        let (marks, mut buckets) = (Marks::new(self.state.len()), Buckets::new());
        {
            let mut bins = buckets.own();
            for &i in &first {
                marks.set(i as usize, true);
                bins.add(i, order.bucket(self.state.get(i as usize)), 0);
            }
        }
        let mut done = Progress::default();
        let (mut list, spills) = (Vec::new(), self.edges.spills());
        let settled = loop {
            if !buckets.take(&mut list, &marks, |i| order.bucket(self.state.get(i as usize))) {
                break true;
            }
            if spills {
                list.sort_unstable();
            }
            // one that was stopped isn't settled; the loop that follows ends at once
            if done.rounds >= self.max_rounds || stop::check().is_err() {
                break false;
            }
            done.rounds += 1;
            told_round!(done.rounds, list.len());
            self.round(&list, &marks, &buckets, order, &mut done);
        };
        let (direction, width) = (if done.pulls > 0 { "push and pull" } else { "push" }, order.width());
        tracing::debug!(operation = "fixpoint", schedule = "relaxed", direction, pulls = done.pulls, rounds = done.rounds, ?width, settled, at = %self.at, "plan");
        settled.then_some(done.rounds)
    }

    /// The elements that are due at first, if they are at most so many and there are edges.
    pub(super) fn first(&self, most: usize) -> Option<Vec<u32>> {
        if self.edges.columns().is_empty() {
            return None;
        }
        let (n, identity) = (self.state.len(), self.edges.identity().bits());
        // joining twice must change nothing
        let idempotent = |x: T| self.edges.join(x, x).bits() == x.bits();
        let state = self.state.view();
        let mut first = Vec::new();
        for i in (0..n).filter(|&i| state.get(i).bits() != identity) {
            if first.len() == most || (first.len() < 64 && !idempotent(state.get(i))) {
                return None;
            }
            first.push(i as u32);
        }
        (not_idempotent(|x, y| self.edges.join(x, y)).is_none() && self.edges.is_annihilating()).then_some(first)
    }

    /// The order of work. The better of two values is the one further from the identity; a sample of edges tells how much worse a value
    /// gets along one.
    fn order(&self, first: &[u32]) -> Order {
        let numbers = first.iter().map(|&i| (self.state.get(i as usize), i));
        let identity = self.edges.identity().as_f64();
        let gap = |x: T| (identity - x.as_f64()).abs();
        let Some((best, _)) = numbers.max_by(|(x, _), (y, _)| gap(*x).total_cmp(&gap(*y))) else { return Order::NONE };
        let downwards = identity < best.as_f64();
        let entries = self.edges.offsets().last().map_or(0, |&entries| entries as usize);
        let steps = (0..entries).step_by((entries / tuning().changed_sample).max(1)).map(|entry| {
            let step = self.edges.product(best, entry).as_f64() - best.as_f64();
            if downwards { -step } else { step }
        });
        let steps: Vec<f64> = steps.filter(|step| step.is_finite() && *step > 0.0).collect();
        let mean = steps.iter().sum::<f64>() / steps.len() as f64;
        let width = if self.edges.is_pattern() {
            mean
        } else {
            let degree = entries as f64 / self.state.len() as f64;
            (mean * tuning().bucket_width / degree.max(1.0)).max(mean / 64.0)
        };
        Order::new(best.as_f64(), if downwards { -width } else { width })
    }

    /// Visits the elements of a bucket.
    pub(super) fn round(&self, list: &[u32], marks: &Marks, buckets: &Buckets<T>, order: Order, done: &mut Progress) {
        if let Some(probe) = self.probe {
            probe.set_entries(self.edges.offsets().last().copied().unwrap_or(0));
            probe.begin_round(list.len(), true);
        }
        let degree = |i: u32| self.edges.offsets()[i as usize + 1] - self.edges.offsets()[i as usize];
        let total = self.edges.offsets()[self.state.len()];
        // a list that is short for sure needn't be measured
        let edges = if list.len() < 64 { 0 } else { list.iter().map(|&i| degree(i)).sum::<u64>() };
        let pulled = self.pulled(list, edges, total - done.edges.min(total));
        // a pull reads rows in their order
        let _reading = match pulled {
            None => memory::read_at_places(self.edges.offsets(), list.len(), edges * size_of::<u32>() as u64),
            Some(_) => None,
        };
        match pulled {
            Some(product) => {
                done.pulls += 1;
                self.pull(list, product, marks, buckets, order);
            }
            None if parallel::is_little(0, edges) || parallel::threads() == 1 => {
                self.push(list, marks, buckets, &mut buckets.own(), order, true);
            }
            None => {
                let chunk = parallel::chunk_size(list.len()).min(list.len().div_ceil(2 * parallel::threads()));
                parallel::each(list.chunks(chunk).collect(), &|list| {
                    self.push(list, marks, buckets, &mut buckets.own(), order, false);
                });
            }
        }
        done.edges += edges;
        if let Some(probe) = self.probe {
            probe.end_round(0);
        }
    }

    /// The product that all elements of the list have, if the others should look for one of them: if reading the edges of elements that
    /// weren't due yet is cheaper than pushing. `edges` is the number of the list's edges, `left` that of edges not read yet.
    fn pulled(&self, list: &[u32], edges: u64, left: u64) -> Option<T> {
        let pays = edges > left / tuning().pull_edges && edges * 4 > self.state.len() as u64;
        if !(pays && self.edges.is_pattern() && self.edges.can_pull()) {
            return None;
        }
        let x = self.state.get(list[0] as usize);
        let same = list.iter().all(|&i| self.state.get(i as usize).bits() == x.bits());
        same.then(|| self.edges.product(x, 0))
    }

    /// Pushes the elements of a list that are still marked.
    fn push(&self, list: &[u32], marks: &Marks, buckets: &Buckets<T>, bins: &mut Bins<T>, order: Order, alone: bool) {
        let (ahead, uniform) = (tuning().prefetch_rows, self.edges.is_pattern());
        let (offsets, columns) = (self.edges.offsets(), self.edges.columns());
        let mut changed = std::mem::take(&mut bins.changed);
        for (k, &i) in list.iter().enumerate() {
            if let Some(&later) = list.get(k + ahead) {
                prefetch(offsets, later as usize);
            }
            if let Some(&later) = list.get(k + ahead / 2) {
                prefetch(columns, offsets[later as usize] as usize);
            }
            if !marks.take_one(i as usize, alone) {
                continue;
            }
            self.edges.push(self.state, i as usize, alone, &mut changed);
            if let Some(probe) = self.probe {
                let row = self.edges.offsets()[i as usize + 1] - self.edges.offsets()[i as usize];
                let counts = Counts { visits: 1, edges: row, ..Counts::default() };
                probe.add_visit(i as usize, row, &counts, Some((!changed.is_empty(), false)));
            }
            if !alone && !changed.is_empty() {
                // pairs with the fence in `Marks::take_one`: either the visit of a changed element sees the change, or its mark is found
                // cleared and is set again
                fence(Ordering::SeqCst);
            }
            let pattern = uniform.then(|| order.bucket(self.edges.product(self.state.get(i as usize), 0)));
            for &(j, old) in &changed {
                let bucket = pattern.unwrap_or_else(|| order.bucket(self.state.get(j as usize)));
                // one that is marked already waits in the bucket of its old value
                if marks.set(j as usize, alone) || bucket < order.bucket(old) {
                    bins.add(j, bucket, buckets.current);
                }
            }
            changed.clear();
        }
        bins.changed = changed;
    }

    /// Joins `product` into all elements with an edge from an element of the list.
    fn pull(&self, list: &[u32], product: T, marks: &Marks, buckets: &Buckets<T>, order: Order) {
        let n = self.state.len();
        let mut due = vec![0u64; words(n)];
        for &i in list {
            marks.take_one(i as usize, true);
            due[i as usize / 64] |= 1 << (i % 64);
        }
        let chunk = parallel::chunk_size(n).div_ceil(64);
        let changed = parallel::collect(words(n).div_ceil(chunk), &|p| {
            let range = p * chunk..((p + 1) * chunk).min(words(n));
            self.edges.pull(self.state, &due, product, range, self.probe)
        });
        let (mut bins, bucket) = (buckets.own(), order.bucket(product));
        for &j in changed.iter().flatten() {
            if marks.set(j as usize, true) {
                bins.add(j, bucket, buckets.current);
            }
        }
    }
}
