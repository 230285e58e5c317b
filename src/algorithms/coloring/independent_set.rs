//! One independent set a colour: Algorithm 2 of "Graph Coloring on the GPU".
//!
//! There a round colours those whose weight is above all uncoloured neighbours'. So a vertex has the round after the last of its higher
//! neighbours': said that way it is a fixpoint, and needs no count of rounds.

use super::OPEN;
use crate::prelude::*;

/// One above the greatest colour of those higher, once all of them have one.
#[op]
fn above(own: u32, greatest: u32) -> u32 {
    if greatest == OPEN { own } else { greatest + 1u32 }
}

/// Colours, and the rounds it took.
pub(super) fn color(a: &Matrix, key: &Vector<u64>) -> Result<(Vector<u32>, u32)> {
    // up = A where key[i] < key[j]
    let up = a.select_ends(LT, key)?;
    // C<open> = above(C, up max.second C)
    let settled = fixpoint(Vector::full(a.nrows(), OPEN))
        .while_active(EQ.bind(OPEN))
        .monotone()
        .step(|c| above.map2(c, up.mxv(c, MAX_SECOND).or_identity()))
        .eval()?;
    Ok((settled.state, settled.rounds))
}
