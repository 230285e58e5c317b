//! One independent set a colour: Algorithm 2 of "Graph Coloring on the GPU".
//!
//! There a round colours those whose weight is above all uncoloured neighbours'. So a vertex has the round after the last of its higher
//! neighbours': said that way it is a fixpoint, and needs no count of rounds. A vertex is its key until it is its colour.

use super::COLORS;
use super::jones_plassmann::{as_color, precedes};
use crate::prelude::*;

/// The colour, all bits if there is none yet.
#[op]
fn round(vertex: u64, _edge: ()) -> u64 {
    if vertex >= COLORS { u64::MAX } else { vertex }
}

/// One above the greatest colour of those higher, once all of them have one.
#[op]
fn above(own: u64, greatest: u64) -> u64 {
    if greatest == u64::MAX { own } else { greatest + 1u64 }
}

/// Colours, and the rounds it took.
pub(super) fn color(a: &Matrix, key: &Vector<u64>) -> Result<(Vector<u32>, u32)> {
    // V = key, above all colours; V<keys> = above(V, V (max.round) A among those that precede)
    fixpoint(key.map(PLUS.bind(COLORS)).eval()?)
        .while_active(GE.bind(COLORS))
        .monotone()
        .step(|v| above.map2(v, v.vxm(a, semiring(MAX, round)).among(precedes).or_identity()))
        .eval_then(|v| v.map(as_color).eval())
}
