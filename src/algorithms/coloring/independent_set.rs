//! One independent set a colour: Algorithm 2 of "Graph Coloring on the GPU".
//!
//! There a round colours those whose weight is above all uncoloured neighbours'. So a vertex has the round after the last of its higher
//! neighbours': said that way it is a fixpoint, and needs no count of rounds. A vertex is its key until it is its colour.

use crate::prelude::*;

/// Keys stand above all colours.
const KEY: u64 = 1 << 32;

/// A vertex without a colour.
#[op]
fn open(key: u32) -> u64 {
    ((key as u64) + 1u64) << 32u32
}

/// The colour of a vertex that has one.
#[op]
fn as_color(vertex: u64) -> u32 {
    vertex as u32
}

/// Whether a vertex comes before, or has a colour. Of two with one key neither can go.
#[op]
fn precedes(own: u64, other: u64) -> bool {
    other >= own || other < KEY
}

/// Whether a vertex waits for another.
#[op]
fn blocks(_own: u64, other: u64) -> bool {
    other >= KEY
}

/// One above the greatest colour of those higher, once all of them have one.
#[op]
fn above(own: u64, greatest: u64) -> u64 {
    if greatest >= KEY { own } else { greatest + 1u64 }
}

/// Colours, and the rounds it took.
pub(super) fn color(a: &Matrix, key: &Vector<u32>) -> Result<(Vector<u32>, u32)> {
    // V = key, above all colours; V<keys> = above(V, V max.first A among those that precede)
    fixpoint(key.map(open).eval()?)
        .while_active(GE.bind(KEY))
        .monotone()
        .step(|v| above.map2(v, v.vxm(a, MAX_FIRST).among(precedes).awaiting(blocks).or_identity()))
        .eval_then(|v| v.map(as_color).eval())
}
