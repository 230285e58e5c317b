//! Products of two sparse matrices, `C[i, j] = ⊕ over k of A[i, k] ⊗ B[k, j]`.
//!
//! Every path folds the products of an entry from left to right in ascending `k`, for exact and inexact monoids alike. So the bits don't
//! depend on the path, on a mask or on the number of threads. A row is computed by one thread; rows are shared out by their work.
//!
//! - [`rows`]: Gustavson's algorithm, row by row, for products without a mask or under a complement.
//! - [`masked`]: products under a structural mask, by dot products or by Gustavson's algorithm over the mask's places.

pub mod accumulator;
pub mod masked;
pub mod rows;

use crate::backend::cpu::parallel;
use crate::backend::cpu::prefetch::prefetch;
use crate::backend::tuning::tuning;
use crate::formats::{Csr, row_blocks};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use vxm_semiring::Element;

/// The pattern of a mask: the offsets and columns of a matrix.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// Where each row starts, and where the last one ends.
    pub offsets: &'a [u64],
    /// The columns, ascending in each row.
    pub columns: &'a [u32],
}

impl<'a> Places<'a> {
    /// The pattern of a matrix.
    pub fn of<T: Element>(csr: &'a Csr<T>) -> Self {
        Self { offsets: csr.offsets(), columns: csr.columns() }
    }

    /// The columns of row `i`.
    #[inline]
    pub fn row(self, i: usize) -> &'a [u32] {
        &self.columns[self.offsets[i] as usize..self.offsets[i + 1] as usize]
    }
}

/// What tasks reuse from one block of rows to the next: arrays as long as a row of the result.
struct Pool<S>(Mutex<Vec<S>>);

impl<S> Pool<S> {
    fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Runs `task` with one that is free, or a new one. After a panic it isn't reused, since it may hold half a row.
    fn with<R>(&self, make: impl FnOnce() -> S, task: impl FnOnce(&mut S) -> R) -> R {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut scratch = held.unwrap_or_else(make);
        let result = task(&mut scratch);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        result
    }
}

/// Consecutive blocks of rows of about equal work. `ends[i + 1]` is the work of the rows up to `i`.
fn blocks(ends: &[u64]) -> Vec<Range<usize>> {
    let total = ends.last().copied().unwrap_or(0) + ends.len() as u64;
    let small = parallel::is_little(0, total);
    row_blocks(ends, if small { 1 } else { parallel::threads() * tuning().chunks_a_thread })
}

/// The running sums of the work of rows, beginning with 0.
pub fn running_sums(nrows: usize, work: impl Fn(usize) -> u64 + Sync) -> Vec<u64> {
    let mut ends = vec![0u64; nrows + 1];
    parallel::fill(&mut ends[1..], tuning().sequential, &|first, ends| {
        ends.iter_mut().enumerate().for_each(|(at, end)| *end = work(first + at));
    });
    let mut sum = 0u64;
    for end in &mut ends {
        sum = sum.saturating_add(*end);
        *end = sum;
    }
    ends
}

/// Prefetches the rows of `csr` that a list names `ahead` places after `at`, and the bounds of those twice as far. So their cache misses
/// overlap.
#[inline(always)]
fn prefetch_rows<T: Element>(csr: &Csr<T>, list: &[u32], at: usize, ahead: usize) {
    if let Some(&row) = list.get(at + 2 * ahead) {
        prefetch(csr.offsets(), row as usize);
    }
    if let Some(&row) = list.get(at + ahead) {
        let start = csr.offsets()[row as usize] as usize;
        prefetch(csr.columns(), start);
        if size_of::<T>() > 0 {
            prefetch(csr.values(), start);
        }
    }
}

/// The bits that a binary search through `len` elements reads, and so its steps.
#[inline]
fn steps(len: usize) -> usize {
    (usize::BITS - len.leading_zeros()) as usize
}

/// Whether it is cheaper to search a list of `long` elements for each of `few` than to read it.
#[inline]
fn search_pays(few: usize, long: usize) -> bool {
    few * steps(long) * tuning().search_cost < long
}

/// The elements that an intersection of lists of `x` and `y` elements looks at, by the cheaper way.
#[inline]
fn cost_of_either(few: usize, long: usize) -> usize {
    long.min(few * steps(long) * tuning().search_cost)
}

/// The position of the first element of `list` from `start` on that isn't less than `wanted`, by galloping.
#[inline]
fn seek(list: &[u32], start: usize, wanted: u32) -> usize {
    let (mut low, mut step) = (start, 1);
    while low + step < list.len() && list[low + step] < wanted {
        low += step;
        step *= 2;
    }
    let high = (low + step).min(list.len());
    low + list[low..high].partition_point(|&x| x < wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeking_finds_the_first_that_is_not_less() {
        let list = [1, 3, 5, 7, 9, 11, 13];
        for start in 0..=list.len() {
            for wanted in 0..15 {
                let expected = start + list[start..].iter().filter(|&&x| x < wanted).count();
                assert_eq!(seek(&list, start, wanted), expected, "{wanted} from {start}");
            }
        }
        assert_eq!(seek(&[], 0, 3), 0);
    }

    #[test]
    fn sums_run() {
        assert_eq!(running_sums(3, |i| i as u64 + 1), [0, 1, 3, 6]);
        assert_eq!(running_sums(0, |_| 1), [0]);
    }
}
