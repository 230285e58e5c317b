//! Radix sort.

use crate::backend::cpu::parallel;
use rayon::prelude::*;

/// Bits of a digit. The counters and write positions of 2048 buckets fit in a core's cache, and 64-bit keys need at most six passes.
pub const DIGIT_BITS: u32 = 11;

/// Sorts items by their first field, the key: a radix sort, least significant digit first. Digits that are equal in all keys are
/// skipped. Items with equal keys keep their order, unless there are few: those are sorted by both fields.
pub fn radix(items: &mut Vec<(u64, u32)>) {
    if items.len() < 1 << DIGIT_BITS {
        items.sort_unstable();
        return;
    }
    let (all, any) =
        items.par_iter().map(|&(key, _)| (key, key)).reduce(|| (u64::MAX, 0), |(all, any), (x, y)| (all & x, any | y));
    let differing = all ^ any;
    let mut buffer = vec![(0, 0); items.len()];
    for shift in (0..u64::BITS).step_by(DIGIT_BITS as usize) {
        if differing >> shift & ((1 << DIGIT_BITS) - 1) != 0 {
            pass(items, &mut buffer, shift);
            std::mem::swap(items, &mut buffer);
        }
    }
}

/// Writes the items to `out`, sorted stably by the digit that starts at bit `shift`.
fn pass(items: &[(u64, u32)], out: &mut Vec<(u64, u32)>, shift: u32) {
    bucket(items.len(), &|k| Some((items[k].0 >> shift) as usize & ((1 << DIGIT_BITS) - 1)), &|k| items[k], out);
}

/// Fills `out` with `item(k)` for each `k` of `0..n` that has a digit, sorted stably by digit.
///
/// Each thread counts the digits of its part. It then owns a slice of every bucket, and writes its items there.
pub fn bucket<T: Copy + Default + Send>(
    n: usize,
    digit: &(impl Fn(usize) -> Option<usize> + Sync),
    item: &(impl Fn(usize) -> T + Sync),
    out: &mut Vec<T>,
) {
    let threads = parallel::threads();
    if threads == 1 {
        return bucket_alone(n, digit, item, out);
    }
    let part = |t: usize| t * n / threads..(t + 1) * n / threads;
    let counts: Vec<Vec<usize>> = parallel::collect(threads, &|t| {
        let mut counts = vec![0; 1 << DIGIT_BITS];
        part(t).filter_map(digit).for_each(|digit| counts[digit] += 1);
        counts
    });
    out.resize(counts.iter().flatten().sum(), T::default());
    // for each thread, where its next item of each digit goes
    let mut cursors: Vec<Vec<_>> = counts.iter().map(|_| Vec::with_capacity(1 << DIGIT_BITS)).collect();
    let mut rest = &mut out[..];
    for d in 0..1 << DIGIT_BITS {
        for (cursors, counts) in cursors.iter_mut().zip(&counts) {
            let (slice, tail) = rest.split_at_mut(counts[d]);
            cursors.push(slice.iter_mut());
            rest = tail;
        }
    }
    parallel::each(cursors.into_iter().enumerate().collect(), &|(t, mut cursors)| {
        for k in part(t) {
            if let Some(place) = digit(k).and_then(|digit| cursors[digit].next()) {
                *place = item(k);
            }
        }
    });
}

/// [`bucket`] by one thread: each item has a place, so no slices are handed out.
fn bucket_alone<T: Copy + Default>(
    n: usize,
    digit: &impl Fn(usize) -> Option<usize>,
    item: &impl Fn(usize) -> T,
    out: &mut Vec<T>,
) {
    // the place of the next item of each digit
    let mut places = [0; (1 << DIGIT_BITS) + 1];
    (0..n).filter_map(digit).for_each(|digit| places[digit + 1] += 1);
    for d in 1..places.len() {
        places[d] += places[d - 1];
    }
    out.resize(places[1 << DIGIT_BITS], T::default());
    for k in 0..n {
        if let Some(digit) = digit(k) {
            out[places[digit]] = item(k);
            places[digit] += 1;
        }
    }
}
