//! The order of first visits: blockers before the elements that they block.

use crate::backend::cpu::active::job::Loop;
use crate::backend::cpu::parallel;
use crate::backend::cpu::sort;
use crate::backend::tuning::tuning;
use crate::backend::view::VectorView;
use vxm_semiring::{Element, UnaryOp};

/// An order of first visits, by rank. An element's rank is [`VectorView::rank`], or else the bits of its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The lowest rank comes first.
    Ascending,
    /// The highest rank comes first.
    Descending,
}

impl<T: Element, F: UnaryOp<T, Out = bool>> Loop<'_, T, F> {
    /// The order in which the active elements are best visited first, or `None` if their natural order is better.
    ///
    /// A sample decides. If nearly all blockers have a higher rank than the elements that they block, high ranks come first; if nearly all
    /// have a lower rank, low ranks do. Most elements then need only one visit. `first` is the first round's body, if it has its own.
    pub(super) fn order<V: VectorView<T = T>, W: VectorView<T = T>>(
        &self,
        body: &V,
        first: Option<&W>,
    ) -> Option<Order> {
        let n = self.state.len();
        let work = body.work()?[n];
        let rank = |i: u32| body.rank(i as usize).unwrap_or_else(|| self.state.get(i as usize).wide_bits() as u64);
        let is_active = |i: &u32| self.active.call(self.state.get(*i as usize));
        // pairs of an element and the one that it depends on
        let sampled = |dependency: &dyn Fn(u32) -> Option<u32>| -> Vec<(u32, u32)> {
            let sample = (0..n).step_by(n.div_ceil(16 * tuning().loop_sample).max(4)).map(|i| i as u32).filter(is_active);
            sample.filter_map(|i| Some((i, dependency(i)?))).collect()
        };
        let blocked = sampled(&|i| self.blocker_of(body, i));
        let has_blockers = blocked.len() >= tuning().loop_sample;
        let pairs = if has_blockers { blocked } else { sampled(&|i| self.stopper_of(first?, i)) };
        let nearly_all = |holds: &dyn Fn(u32, u32) -> bool| {
            pairs.iter().filter(|&&(i, k)| holds(i, k)).count() >= pairs.len() * 15 / 16
        };
        let higher = nearly_all(&|i, k| rank(k) > rank(i));
        if pairs.len() < tuning().loop_sample || !(higher || nearly_all(&|i, k| rank(k) < rank(i))) {
            return None;
        }
        // If neighbours have close numbers, natural order reads each part of the state while it is in a cache. Another order loses that.
        // It costs more than a second visit if rows are short and the state exceeds the caches; the shorter the rows, the smaller a
        // state suffices. It also does if only stoppers are known: they block nothing, so the order saves fewer visits.
        let cached = if work <= 3 * n as u64 { tuning().cache_bytes / 4 } else { tuning().cache_bytes };
        let bytes = size_of::<T>() * n * if body.rank(0).is_some() { 2 } else { 1 };
        let visits_are_cheap = work <= (tuning().short_mean * n) as u64 && bytes > cached;
        let loses_locality =
            (visits_are_cheap || !has_blockers) && nearly_all(&|i, k| (i.abs_diff(k) as usize) < tuning().cache_chunk);
        (!loses_locality).then_some(if higher { Order::Descending } else { Order::Ascending })
    }

    /// The active elements, roughly in the given order: sorted stably by one digit of the rank's distance from the first rank. The digit
    /// holds the highest bits in which distances differ.
    pub(super) fn sorted<V: VectorView<T = T>>(&self, order: Order, body: &V) -> Vec<u32> {
        let n = self.state.len();
        let chunk = parallel::chunk_size(n);
        let active = |i: usize| Some(self.state.get(i)).filter(|&x| self.active.call(x));
        let rank = |i: usize| active(i).map(|x| body.rank(i).unwrap_or_else(|| x.wide_bits() as u64));
        let ranges = parallel::collect(n.div_ceil(chunk), &|p| {
            let ranks = (p * chunk..((p + 1) * chunk).min(n)).filter_map(rank);
            ranks.fold((u64::MAX, 0), |(lowest, highest), x| (x.min(lowest), x.max(highest)))
        });
        let (lowest, highest) = ranges.into_iter().fold((u64::MAX, 0), |(a, b), (low, high)| (a.min(low), b.max(high)));
        let width = u64::BITS - highest.saturating_sub(lowest).leading_zeros();
        let shift = width.saturating_sub(sort::DIGIT_BITS);
        let digit = |i: usize| {
            let distance = rank(i).map(|x| if order == Order::Descending { highest - x } else { x - lowest });
            distance.map(|distance| (distance >> shift) as usize)
        };
        let mut sorted = Vec::new();
        sort::bucket(n, &digit, &|i| i as u32, &mut sorted);
        sorted
    }
}
