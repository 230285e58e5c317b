//! Sorting by keys.

use super::share;
use rayon::prelude::*;

/// Bits a pass sorts by.
pub const DIGIT: u32 = 11;

/// Sorts by key, stably, least digit first; digits that no keys differ in are passed over.
pub fn radix(items: &mut Vec<(u64, u32)>) {
    if items.len() < 1 << DIGIT {
        items.sort_unstable();
        return;
    }
    let (all, any) =
        items.par_iter().map(|&(key, _)| (key, key)).reduce(|| (u64::MAX, 0), |(all, any), (x, y)| (all & x, any | y));
    let differing = all ^ any;
    let mut spare = vec![(0, 0); items.len()];
    for shift in (0..u64::BITS).step_by(DIGIT as usize) {
        if differing >> shift & ((1 << DIGIT) - 1) != 0 {
            pass(items, &mut spare, shift);
            std::mem::swap(items, &mut spare);
        }
    }
}

/// One stable pass over all items.
fn pass(items: &[(u64, u32)], out: &mut Vec<(u64, u32)>, shift: u32) {
    deal(items.len(), &|k| Some((items[k].0 >> shift) as usize & ((1 << DIGIT) - 1)), &|k| items[k], out);
}

/// Makes `out` the items of `0..n` that have a digit, in its order, those of one as they lie: each thread counts its share's digits, and
/// then owns a slice of every digit's range to deal into.
pub fn deal<T: Copy + Default + Send>(
    n: usize,
    digit: &(impl Fn(usize) -> Option<usize> + Sync),
    item: &(impl Fn(usize) -> T + Sync),
    out: &mut Vec<T>,
) {
    let threads = rayon::current_num_threads();
    let part = |t: usize| t * n / threads..(t + 1) * n / threads;
    let counts: Vec<Vec<usize>> = share::collect(threads, &|t| {
        let mut counts = vec![0; 1 << DIGIT];
        part(t).filter_map(digit).for_each(|digit| counts[digit] += 1);
        counts
    });
    out.resize(counts.iter().flatten().sum(), T::default());
    let mut hands: Vec<Vec<_>> = counts.iter().map(|_| Vec::with_capacity(1 << DIGIT)).collect();
    let mut rest = &mut out[..];
    for d in 0..1 << DIGIT {
        for (hand, counts) in hands.iter_mut().zip(&counts) {
            let (slice, tail) = rest.split_at_mut(counts[d]);
            hand.push(slice.iter_mut());
            rest = tail;
        }
    }
    share::each(hands.into_iter().enumerate().collect(), &|(t, mut hand)| {
        for k in part(t) {
            if let Some(place) = digit(k).and_then(|digit| hand[digit].next()) {
                *place = item(k);
            }
        }
    });
}
