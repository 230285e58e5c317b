//! One maximal independent set a colour: Algorithm 3 of "Graph Coloring on the GPU".
//!
//! In the paper all vertices take part in the set of one colour until it is maximal, and then those that are left in the set of the next.
//! Here a vertex goes on to the next set by itself, as soon as it has a neighbour in this one. A set grows as Algorithm 3 says: a vertex
//! joins once it is above all neighbours that may still join. So no vertex waits for a set to be maximal, and the sets are the same.

use crate::algorithms::coloring::OPEN;
use crate::prelude::*;

/// The colour that a vertex has, or may get if it is [`OPEN`].
#[op]
pub(super) fn color_of(vertex: u32) -> u32 {
    vertex & (OPEN - 1u32)
}

/// Whether a higher neighbour is in the set of `own`, or may still join it.
#[op]
fn matters(own: u32, other: u32) -> bool {
    color_of(other) == color_of(own) || other >= OPEN && color_of(other) < color_of(own)
}

/// A vertex' next state, given the least state of the neighbours that matter. If one has the colour, the vertex goes on to the next. If one
/// may still get it, the vertex waits. If there is none, it gets the colour.
#[op]
pub(super) fn decide(own: u32, least: u32) -> u32 {
    if least < OPEN {
        own + 1u32
    } else if least == u32::MAX {
        color_of(own)
    } else {
        own
    }
}

/// The most rounds that `n` vertices take: fewer than there are vertices and colours together (`docs/algorithms/coloring.md`).
pub(super) fn most_rounds(n: usize) -> u32 {
    u32::try_from(2 * n).unwrap_or(u32::MAX)
}

/// Colours, and the number of rounds.
pub(super) fn color(a: &Matrix, weight: &Vector<u32>) -> Result<(Vector<u32>, u32)> {
    // A'[i, j] = A[i, j] where weight[i] < weight[j]
    let higher = a.oriented(LT, weight);
    // C = OPEN + 1; C<C >= OPEN> = decide(C, A' min.second C) over the edges that matter, until all C < OPEN
    let settled = fixpoint(fill(OPEN + 1, a.nrows()).eval()?)
        .while_active(GE.bind(OPEN))
        .at_most(most_rounds(a.nrows()))
        .step(|c| decide.map2(c, higher.mxv(c, MIN_SECOND).edge_status(matters).or_identity()))
        .eval()?;
    Ok((settled.state, settled.rounds))
}
