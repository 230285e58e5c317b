//! Two independent sets a round, local maxima and local minima: Algorithm 5 of "Graph Coloring on the GPU".
//!
//! Not monotone: who is late to hear that its higher neighbours are coloured may take a lower's round instead. So it goes in rounds, which
//! a vertex counts until it has its colour. One product asks the higher neighbours and the lower ones at once.

use crate::prelude::*;

/// A vertex without a colour, before its first round: above all colours.
const OPEN: u32 = 1 << 31;
/// What a higher neighbour without a colour says.
const HIGHER: u32 = 0xffff_0000;
/// What a lower one says.
const LOWER: u32 = 0x0000_ffff;

/// What a neighbour says.
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

/// The round's odd colour once all higher neighbours have one, its even colour once all lower have.
#[op]
fn extremal(own: u32, open: u32) -> u32 {
    // twice an open vertex is twice its rounds: `OPEN` is shifted out
    if open & HIGHER == 0u32 {
        own * 2u32 + 1u32
    } else if open & LOWER == 0u32 {
        own * 2u32 + 2u32
    } else {
        own + 1u32
    }
}

/// Colours, and the rounds it took: half a colour each.
pub(super) fn color(a: &Matrix, key: &Vector<u32>) -> Result<(Vector<u32>, u32)> {
    // H[i, j] = key[i] < key[j], where A has an entry
    let higher = a.map_ends(LT, key)?;
    // C = open; C<open> = extremal(C, H bor.open_side C)
    let settled = fixpoint(key.map(SECOND.bind(OPEN)).eval()?)
        .while_active(GE.bind(OPEN))
        .step(|c| extremal.map2(c, higher.mxv(c, semiring(BOR, open_side)).or_identity()))
        .eval()?;
    Ok((settled.state, settled.rounds))
}
