//! Speculative colouring, after Gebremedhin and Manne ("Scalable parallel graph coloring algorithms", 2000).
//!
//! In each round every uncoloured vertex tries the least colour that it hasn't been refused yet. Of neighbours that try the same colour the
//! highest gets it: the paper's conflict detection and resolution. A vertex with a neighbour that has the colour goes on to the next.
//!
//! Vertices try without waiting for higher neighbours that try lesser colours. So the colouring isn't the greedy one of the order.

use crate::algorithms::coloring::OPEN;
use crate::algorithms::coloring::maximal::{color_of, decide, most_rounds};
use crate::prelude::*;

/// Whether a neighbour has, or tries, the colour that `own` tries.
#[op]
fn same_color(own: u32, other: u32) -> bool {
    color_of(own) == color_of(other)
}

/// What a neighbour says of its colour: that it has it, that it is higher and tries it, or nothing.
#[op]
fn claim(is_higher: bool, vertex: u32) -> u32 {
    if vertex < OPEN || is_higher { vertex } else { u32::MAX }
}

/// Colours, and the number of rounds.
pub(super) fn color(a: &Matrix, key: &Vector<u32>) -> Result<(Vector<u32>, u32)> {
    // H[i, j] = (key[i] < key[j]) where A[i, j] exists
    let higher = a.map_ends(LT, key)?;
    // C = OPEN + 1; C<C >= OPEN> = decide(C, H' min.claim C), H'[i, j] = H[i, j] where C[i] and C[j] have one colour, until all C < OPEN
    let settled = fixpoint(fill(OPEN + 1, a.nrows()).eval()?)
        .while_active(GE.bind(OPEN))
        .at_most(most_rounds(a.nrows()))
        .step(|c| decide.map2(c, higher.mxv(c, semiring(MIN, claim)).edge_status(same_color).or_identity()))
        .eval()?;
    Ok((settled.state, settled.rounds))
}
