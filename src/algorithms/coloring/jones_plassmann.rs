//! Jones-Plassmann: each vertex, once all its higher neighbours have a colour, takes the least that none of them has.
//!
//! "Graph Coloring on the GPU" leaves the algebra for the least free colour (its Algorithm 4: a scatter, and a copy from the host).
//! Here it stays inside: the colours taken are the bits of a word, gathered with `bor.second`, 63 colours at a time. A neighbour
//! without a colour sets all bits, which ends the fold.

use super::NONE;
use crate::prelude::*;

/// What every colour of a window being taken leaves a vertex with: it waits for the next window.
const FULL: u32 = u32::MAX;

/// The bit of `color` in the `window`-th word of colours, none if it lies in another, all if there is no colour yet.
#[op]
fn one_hot(color: u32, window: u32) -> u64 {
    if color == NONE {
        u64::MAX
    } else if color != FULL && (color - 1u32) / 63u32 == window {
        1u64 << ((color - 1u32) % 63u32)
    } else {
        0u64
    }
}

/// The least colour of the `window`-th word whose bit isn't set, once no bit stands for a vertex without one.
#[op]
fn least_free(own: u32, taken: u64, window: u32) -> u32 {
    if taken == u64::MAX {
        own
    } else if taken == u64::MAX >> 1u32 {
        FULL
    } else {
        window * 63u32 + taken.trailing_ones() + 1u32
    }
}

/// A vertex that found no colour has none.
#[op]
fn reopen(color: u32) -> u32 {
    if color == FULL { NONE } else { color }
}

/// Colours, and the rounds it took: in rounds, the longest path along which keys fall.
pub(super) fn color(a: &Matrix, key: &Vector<u64>) -> Result<(Vector<u32>, u32)> {
    let n = a.nrows();
    // up = A where key[i] < key[j]: from each vertex to its higher neighbours
    let up = a.select_ends(LT, key)?;
    let (mut colors, mut rounds) = (Vector::full(n, NONE), 0);
    for window in 0.. {
        // C<none> = least_free(C, up bor.second one_hot(C)), until all have one or found the window full
        let settled = fixpoint(colors)
            .while_active(EQ.bind(NONE))
            .monotone()
            .step(|c| {
                let taken = up.mxv(c.map(one_hot.bind(window)), BOR_SECOND).or_identity();
                least_free.map3(c, taken, fill(window, n))
            })
            .eval()?;
        rounds += settled.rounds;
        // those that found it full try the next
        colors = settled.state.map(reopen).eval()?;
        if settled.state.select(EQ.bind(FULL)).pattern().eval()?.nvals() == 0 {
            break;
        }
    }
    Ok((colors, rounds))
}
