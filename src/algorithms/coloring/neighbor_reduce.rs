//! One independent set a colour, by a reduction over each frontier vertex' neighbours: Algorithm 7 of "Graph Coloring on the GPU".
//!
//! The colours are those of Algorithm 2 with the same weights. The work differs: coloured vertices leave the frontier and the reduction,
//! and a vertex that isn't coloured comes back into the frontier only after a round that has coloured at least one of its neighbours. That
//! is enough: a vertex outside the frontier has an uncoloured neighbour of greater weight, and can't become the greatest before that one
//! goes. The fixpoint of `independent_set.rs` takes over from a loop that takes too many rounds.

use crate::algorithms::coloring::{OPEN, patience};
use crate::prelude::*;

// The low bits of an open vertex count the rounds.
/// The bit of an open vertex in the frontier.
const FRONTIER: u32 = 1 << 30;
/// The bit of a vertex that is removed in this round.
const REMOVED: u32 = 1 << 29;

/// Whether a vertex isn't coloured yet.
#[op]
fn is_open(vertex: u32) -> bool {
    vertex >= OPEN
}

/// Whether a vertex isn't coloured, and has had fewer than `most` rounds.
#[op]
fn goes_on(vertex: u32, most: u32) -> bool {
    vertex >= OPEN && vertex & (REMOVED - 1u32) < most
}

/// Whether an open vertex is in the frontier.
#[op]
fn in_frontier(vertex: u32) -> bool {
    vertex & FRONTIER != 0u32
}

/// Whether a vertex is removed in this round.
#[op]
fn is_removed(vertex: u32) -> bool {
    vertex & REMOVED != 0u32
}

/// Removes a vertex of greater weight than its open neighbours.
#[op]
fn remove(vertex: u32, weight: u32, reduced: u32) -> u32 {
    if weight > reduced { vertex | REMOVED } else { vertex }
}

/// Ends a round: a removed vertex gets the round's colour; the vertices near it are the next frontier.
#[op]
fn advance(vertex: u32, is_near: bool) -> u32 {
    let next: u32 = (vertex & (REMOVED - 1u32)) + 1u32;
    if is_removed(vertex) {
        next
    } else if is_near {
        OPEN | FRONTIER | next
    } else {
        OPEN | next
    }
}

/// Colours, and the number of rounds, one for each colour.
pub(super) fn color(a: &Matrix, weight: &Vector<u32>) -> Result<(Vector<u32>, u32)> {
    let settled = fixpoint(fill(OPEN | FRONTIER, a.nrows()).eval()?)
        .while_active(goes_on.bind(patience(a)))
        // reduced<frontier> = weight<open> max.first A; removed<frontier> = weight > reduced
        .step(|v| {
            let reduced = weight.mask(v.select(is_open).pattern()).vxm(a, MAX_FIRST).until(LT).or_identity();
            remove.map3(v, weight, reduced).mask(v.select(in_frontier))
        })
        // C<removed> = round; frontier<open> = removed lor.pair A
        .then(|v| advance.map2(v, v.select(is_removed).vxm(a, LOR_PAIR).or_identity()))
        .eval()?;
    Ok((settled.state, settled.rounds))
}
