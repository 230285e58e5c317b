//! Jones-Plassmann: each vertex, once all its higher neighbours have a colour, takes the least that none of them has.
//!
//! "Graph Coloring on the GPU" leaves the algebra for the least free colour (its Algorithm 4: a scatter, and a copy from the host).
//! Here it stays inside: the colours taken are the bits of a word, gathered with `bor.second`, 64 colours at a time.

use super::NONE;
use crate::prelude::*;

/// The bit of `color` in the `window`-th word of colours; nothing if it lies in another.
#[op]
fn one_hot(color: u32, window: u32) -> u64 {
    if color != NONE && (color - 1u32) / 64u32 == window { 1u64 << ((color - 1u32) % 64u32) } else { 0u64 }
}

/// The least colour of the `window`-th word whose bit isn't set.
#[op]
fn least_free(taken: u64, window: u32) -> u32 {
    window * 64u32 + taken.trailing_ones() + 1u32
}

/// Colours, and the rounds it took: the longest path along which keys fall.
///
/// Each edge is gathered over once and counted over once: O(edges) time beside the rounds' latency.
pub(super) fn color(a: &Matrix, key: &Vector<u64>) -> Result<(Vector<u32>, u32)> {
    let n = a.nrows();
    let mut colors = Vector::full(n, NONE);
    // up = A where key[i] < key[j]: from each vertex to its higher neighbours
    let up = a.select_ends(LT, key)?;
    // waits = A's higher neighbours, counted; ready = who waits for none
    let mut waits = up.degrees()?;
    let mut ready = waits.select(EQ.bind(0)).pattern().eval()?;
    let mut rounds = 0;
    while ready.nvals() > 0 {
        rounds += 1;
        let (mut window, mut open) = (0, ready.clone());
        while open.nvals() > 0 {
            // taken<open> = up bor.second one_hot(C)
            let taken = up.mxv(colors.map(one_hot.bind(window)), BOR_SECOND).or_identity().mask(&open).eval()?;
            // C<free> = least_free(taken)
            let free = taken.select(NE.bind(u64::MAX)).eval()?;
            free.map(least_free.bind(window)).accum(SECOND).assign_to(&mut colors)?;
            // open = those with all 64 taken
            open = taken.select(EQ.bind(u64::MAX)).pattern().eval()?;
            window += 1;
        }
        // seen = up plus.pair ready
        let seen = up.mxv(&ready, PLUS_PAIR).eval()?;
        // waits -= seen
        seen.accum(MINUS).assign_to(&mut waits)?;
        // ready<seen> = who waits for none
        ready = waits.mask(&seen).select(EQ.bind(0)).pattern().eval()?;
    }
    Ok((colors, rounds))
}
