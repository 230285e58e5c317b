//! One independent set a colour: Algorithm 2 of "Graph Coloring on the GPU".
//!
//! In the paper round c gives colour c to the vertices of greater weight than all their uncoloured neighbours. So the colour of a vertex
//! is one more than the greatest colour among its neighbours of greater weight. Written that way it is a fixpoint that needs no count of
//! rounds. The state of a vertex is its key, shifted above all colours, and then its colour.

use crate::prelude::*;

/// States from here on are keys of uncoloured vertices; states below are colours.
const KEY: u64 = 1 << 32;

/// The state of an uncoloured vertex.
#[op]
fn open(key: u32) -> u64 {
    ((key as u64) + 1u64) << 32u32
}

/// The colour of a coloured vertex.
#[op]
fn as_color(vertex: u64) -> u32 {
    vertex as u32
}

/// Only neighbours with a colour matter, and those with a key that isn't lower, which block `own` until they have a colour. Two neighbours
/// with equal keys block each other for ever.
#[op]
fn status(own: u64, other: u64) -> Edge {
    if other < KEY {
        Edge::Relevant
    } else if other >= own {
        Edge::Blocking
    } else {
        Edge::Irrelevant
    }
}

/// A vertex' next state, given the greatest state among the neighbours that take part: one colour above it once all of them have colours.
#[op]
fn above(own: u64, greatest: u64) -> u64 {
    if greatest >= KEY { own } else { greatest + 1u64 }
}

/// Colours, and the number of rounds.
pub(super) fn color(a: &Matrix, key: &Vector<u32>) -> Result<(Vector<u32>, u32)> {
    // V = open(key); V<V >= KEY> = above(V, V max.first A'), A'[i, j] = A[i, j] where status(V[j], V[i])
    // is not Irrelevant, until all V < KEY
    fixpoint(key.map(open).eval()?)
        .while_active(GE.bind(KEY))
        .monotone()
        .step(|v| above.map2(v, v.vxm(a, MAX_FIRST).edge_status(status).or_identity()))
        .eval_then(|v| v.map(as_color).eval())
}
