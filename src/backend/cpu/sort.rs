//! Sorting by keys.

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

/// One stable pass: each thread counts its chunk's digits, and then owns a slice of every digit's range to deal into.
fn pass(items: &[(u64, u32)], out: &mut [(u64, u32)], shift: u32) {
    let digit = |key: u64| (key >> shift) as usize & ((1 << DIGIT) - 1);
    let chunk = items.len().div_ceil(rayon::current_num_threads());
    let counts: Vec<Vec<usize>> = items
        .par_chunks(chunk)
        .map(|chunk| {
            let mut counts = vec![0; 1 << DIGIT];
            chunk.iter().for_each(|&(key, _)| counts[digit(key)] += 1);
            counts
        })
        .collect();
    let mut hands: Vec<Vec<_>> = counts.iter().map(|_| Vec::with_capacity(1 << DIGIT)).collect();
    let mut rest = out;
    for d in 0..1 << DIGIT {
        for (hand, counts) in hands.iter_mut().zip(&counts) {
            let (slice, tail) = rest.split_at_mut(counts[d]);
            hand.push(slice.iter_mut());
            rest = tail;
        }
    }
    items.par_chunks(chunk).zip(hands).for_each(|(chunk, mut hand)| {
        for &item in chunk {
            if let Some(place) = hand[digit(item.0)].next() {
                *place = item;
            }
        }
    });
}
