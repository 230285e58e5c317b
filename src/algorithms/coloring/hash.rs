//! Colouring with a hash table of taken colours: Algorithm 6 of "Graph Coloring on the GPU".
//!
//! In each round every uncoloured vertex proposes two vertices to be coloured: the highest and the lowest among itself and its uncoloured
//! neighbours. The hash table of a proposed vertex is one word of 64 entries of a bit, in which colour c is bit (c - 1) mod 64. A clear bit
//! proves that no neighbour coloured so far has the colour. Two neighbours coloured in the same round may still clash; the lower of them is
//! reset.
//!
//! A round has seven steps. Between them a vertex' state is its colour, or, while it is [`OPEN`], the number of rounds, a mark, and the key
//! or colour of the step. What is open after the [`patience`] gets greedy colours.

use crate::algorithms::coloring::{OPEN as UNCOLORED, patience};
use crate::prelude::*;

/// The bit of a vertex without a lasting colour.
const OPEN: u64 = 1 << 63;
/// The bits of an open vertex' mark: one of the following, or none.
const MARK: u64 = 3 << 61;
/// The mark of a vertex that is proposed as the highest.
const HIGHEST: u64 = 1 << 61;
/// The mark of a vertex that is proposed as the lowest.
const LOWEST: u64 = 2 << 61;
/// The mark of a vertex that has got a colour in this round.
const FRESH: u64 = MARK;
/// One round.
const ROUND: u64 = 1 << 32;
/// The bits of a key or a colour.
const LOW: u64 = ROUND - 1;

/// Whether a vertex has no lasting colour.
#[op]
fn is_open(vertex: u64) -> bool {
    vertex >= OPEN
}

/// Whether a vertex has one of the two marks of proposed vertices.
#[op]
fn is_marked(vertex: u64, mark: u64) -> bool {
    vertex >= OPEN && vertex & MARK == mark
}

/// The key or the colour in a state.
#[op]
fn low(vertex: u64) -> u32 {
    vertex as u32
}

/// The number of rounds before this one.
#[op]
fn rounds(vertex: u64) -> u32 {
    ((vertex & (HIGHEST - ROUND)) >> 32u32) as u32
}

/// Whether a vertex has no lasting colour, and has had fewer than `most` rounds.
#[op]
fn goes_on(vertex: u64, most: u32) -> bool {
    vertex >= OPEN && rounds(vertex) < most
}

/// An open vertex with the highest key that it sees.
#[op]
fn see_highest(vertex: u64, key: u32, highest: u32) -> u64 {
    (vertex & !LOW) | (key.max(highest) as u64)
}

/// An open vertex with the lowest key that it sees.
#[op]
fn see_lowest(vertex: u64, key: u32, lowest: u32) -> u64 {
    (vertex & !LOW) | (key.min(lowest) as u64)
}

/// Marks a vertex if it or an open neighbour sees it as the highest. They see its key or higher ones, so the lowest of what they see tells.
#[op]
fn mark_highest(vertex: u64, key: u32, seen: u32) -> u64 {
    if low(vertex).min(seen) == key { vertex | HIGHEST } else { vertex }
}

/// Marks a vertex if it or an open neighbour sees it as the lowest, and it isn't a highest one.
#[op]
fn mark_lowest(vertex: u64, key: u32, seen: u32) -> u64 {
    if low(vertex).max(seen) == key && vertex & MARK == 0u64 { vertex | LOWEST } else { vertex }
}

/// The table entry of a neighbour's colour; none if it has no colour.
#[op]
fn entry(vertex: u64) -> u64 {
    if vertex >= OPEN && vertex & MARK != FRESH { 0u64 } else { 1u64 << ((low(vertex) - 1u32) % 64u32) }
}

/// The table entry of a colour of this round.
#[op]
fn fresh_entry(vertex: u64) -> u64 {
    if vertex < OPEN { 0u64 } else { entry(vertex) }
}

/// Gives a proposed vertex a colour: the least of the rounds before with a clear entry in the table, or else one of the round's two new ones.
#[op]
fn reuse(vertex: u64, table: u64) -> u64 {
    let used: u32 = 2u32 * rounds(vertex);
    let free: u32 = table.trailing_ones();
    let new: u32 = if vertex & MARK == HIGHEST { used + 1u32 } else { used + 2u32 };
    let color: u32 = if free < used && free < 64u32 { free + 1u32 } else { new };
    (vertex & !LOW) | FRESH | (color as u64)
}

/// The colour of a vertex, or the bit of one without.
#[op]
fn color_of(vertex: u64) -> u32 {
    if vertex >= OPEN { UNCOLORED } else { low(vertex) }
}

/// Ends a round: a vertex keeps its colour unless the table of its higher neighbours' new colours has an entry for it.
#[op]
fn resolve(vertex: u64, table: u64) -> u64 {
    let clashes: bool = fresh_entry(vertex) & table != 0u64;
    if vertex & MARK == FRESH && !clashes { vertex & LOW } else { (vertex & !(MARK | LOW)) + ROUND }
}

/// Colours, not all of which need be used, and the number of rounds.
pub(super) fn color(a: &Matrix, key: &Vector<u32>) -> Result<(Vector<u32>, u32)> {
    // up[i, j] = A[i, j] where key[i] < key[j]
    let up = a.oriented(LT, key);
    fixpoint(fill(OPEN, a.nrows()).eval()?)
        .while_active(goes_on.bind(patience(a)))
        // highest<open> = key max (key<open> max.first A); proposed as highest: v where key[v] = min(highest of v, highest min.first A)
        .step(|v| see_highest.map3(v, key, key.mask(v.select(is_open).pattern()).vxm(a, MAX_FIRST).or_identity()))
        .then(|v| mark_highest.map3(v, key, v.select(is_open).map(low).vxm(a, MIN_FIRST).or_identity()))
        // lowest<open> = key min (key<open> min.first A); proposed as lowest: v where key[v] = max(lowest of v, lowest max.first A)
        .then(|v| see_lowest.map3(v, key, key.mask(v.select(is_open).pattern()).vxm(a, MIN_FIRST).or_identity()))
        .then(|v| mark_lowest.map3(v, key, v.select(is_open).map(low).vxm(a, MAX_FIRST).or_identity()))
        // C<proposed as highest> = reuse(entry(C) bor.first A), and then those proposed as lowest
        .then(|v| reuse.map2(v, v.map(entry).vxm(a, BOR_FIRST).or_identity()).mask(v.select(is_marked.bind(HIGHEST))))
        .then(|v| reuse.map2(v, v.map(entry).vxm(a, BOR_FIRST).or_identity()).mask(v.select(is_marked.bind(LOWEST))))
        // C<the entry of C is in up bor.second fresh_entry(C)> = none
        .then(|v| resolve.map2(v, up.mxv(v.map(fresh_entry), BOR_SECOND).or_identity()))
        .eval_then(|v| v.map(color_of).eval())
}
