//! Two independent sets a round, local maxima and local minima: Algorithm 5 of "Graph Coloring on the GPU".
//!
//! Not monotone: who is late to hear that its higher neighbours are coloured may take a lower's round instead. So it goes in rounds.

use super::{NONE, OPEN};
use crate::prelude::*;

/// The round after that of a colour; the first if there is none.
#[op]
fn next_round(color: u32) -> u32 {
    if color == NONE { 0u32 } else { (color - 1u32) / 2u32 + 1u32 }
}

/// An odd colour once all higher neighbours have one, an even one once all lower have.
#[op]
fn extremal(own: u32, higher: u32, lower: u32) -> u32 {
    if higher != OPEN {
        next_round(higher) * 2u32 + 1u32
    } else if lower != OPEN {
        next_round(lower) * 2u32 + 2u32
    } else {
        own
    }
}

/// Colours, and the rounds it took: half a colour each.
pub(super) fn color(a: &Matrix, key: &Vector<u32>) -> Result<(Vector<u32>, u32)> {
    // up, down = A where key[i] < key[j], where key[i] > key[j]
    let (up, down) = (a.select_ends(LT, key)?, a.select_ends(GT, key)?);
    // C = open; C<open> = extremal(C, up max.second C, down max.second C)
    let settled = fixpoint(key.map(SECOND.bind(OPEN)).eval()?)
        .while_active(EQ.bind(OPEN))
        .step(|c| {
            let (higher, lower) = (up.mxv(c, MAX_SECOND).or_identity(), down.mxv(c, MAX_SECOND).or_identity());
            extremal.map3(c, higher, lower)
        })
        .eval()?;
    Ok((settled.state, settled.rounds))
}
