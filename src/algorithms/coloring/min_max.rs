//! Two independent sets a round, local maxima and local minima: Algorithm 5 of "Graph Coloring on the GPU".
//!
//! The loop isn't monotone: a vertex that sees its higher neighbours' colours late may take its even colour instead of an odd one. So it
//! runs in synchronous rounds. The state of an open vertex counts the rounds until the vertex gets its colour. One product finds out about
//! open higher neighbours and open lower ones at once. What is open after the [`patience`] gets greedy colours.

use crate::algorithms::coloring::{OPEN, goes_on, patience};
use crate::prelude::*;

// An open vertex is `OPEN + r` after r rounds.
/// The mark of an open higher neighbour.
const HIGHER: u32 = 0xffff_0000;
/// The mark of an open lower neighbour.
const LOWER: u32 = 0x0000_ffff;

/// The mark of a neighbour: 0 if it has a colour.
#[op]
fn open_side(is_higher: bool, vertex: u32) -> u32 {
    if vertex < OPEN {
        0u32
    } else if is_higher {
        HIGHER
    } else {
        LOWER
    }
}

/// A vertex' next state, given its neighbours' marks: the round's odd colour if no higher neighbour is open, else its even colour if no
/// lower neighbour is open.
#[op]
fn extremal(own: u32, open: u32) -> u32 {
    // twice the state is twice the number of rounds: `OPEN` is shifted out
    if open & HIGHER == 0u32 {
        own * 2u32 + 1u32
    } else if open & LOWER == 0u32 {
        own * 2u32 + 2u32
    } else {
        own + 1u32
    }
}

/// Colours, and the number of rounds, each of which has two colours.
pub(super) fn color(a: &Matrix, key: &Vector<u32>) -> Result<(Vector<u32>, u32)> {
    // H[i, j] = (key[i] < key[j]) where A[i, j] exists
    let higher = a.map_ends(LT, key)?;
    // C = OPEN; C<C >= OPEN> = extremal(C, H bor.open_side C), until all C < OPEN
    let settled = fixpoint(key.map(SECOND.bind(OPEN)).eval()?)
        .while_active(goes_on.bind(patience(a)))
        .step(|c| extremal.map2(c, higher.mxv(c, semiring(BOR, open_side)).or_identity()))
        .eval()?;
    Ok((settled.state, settled.rounds))
}
