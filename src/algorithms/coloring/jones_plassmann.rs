//! Jones-Plassmann: each vertex, once all its higher neighbours have a colour, takes the least that none of them has.
//!
//! "Graph Coloring on the GPU" leaves the algebra for the least free colour (its Algorithm 4: a scatter, and a copy from the host).
//! Here it stays inside: a vertex is its key until it is its colour, and the colours taken are the bits of a word, gathered 63 colours at
//! a time. A neighbour without a colour sets all bits, which ends the fold.

use super::COLORS;
use crate::prelude::*;

/// What every colour of a window being taken leaves a vertex with: it waits for the next window.
const FULL: u64 = 64;

/// A key above all colours; one that can't be raised so far becomes what no colour of a window is.
#[op]
fn raise(key: u64) -> u64 {
    if key > u64::MAX - COLORS { FULL + 1u64 } else { key + COLORS }
}

/// Whether a vertex comes first, or has a colour; not if that is of an earlier window. Of two with one key neither can go.
#[op]
pub(super) fn precedes(own: u64, other: u64) -> bool {
    other >= own || (other < COLORS && other != 0u64)
}

/// The bit of a colour, none if it is of an earlier window or of a later one, all if there is no colour yet.
#[op]
fn taken(vertex: u64, _edge: ()) -> u64 {
    if vertex >= COLORS {
        u64::MAX
    } else if vertex == 0u64 || vertex == FULL {
        0u64
    } else {
        1u64 << ((vertex - 1u64) as u32)
    }
}

/// The least colour whose bit isn't set, once no bit stands for a vertex without one.
#[op]
fn least_free(own: u64, taken: u64) -> u64 {
    if taken == u64::MAX { own } else { (taken.trailing_ones() as u64) + 1u64 }
}

/// A vertex with a colour, as a colour; who found the first window full has one above it, for now.
#[op]
pub(super) fn as_color(vertex: u64) -> u32 {
    vertex as u32
}

/// A colour of a later window, among all.
#[op]
fn color_in(color: u32, vertex: u64, before: u32) -> u32 {
    if vertex == 0u64 || vertex == FULL { color } else { before + (vertex as u32) }
}

/// In the next window: who found this one full has its key again, who has a colour takes none of that window's.
#[op]
fn reopen(vertex: u64, key: u64) -> u64 {
    if vertex == FULL { key + COLORS } else { 0u64 }
}

/// Colours, how many there are, and the rounds it took: in rounds, the longest path along which keys fall.
pub(super) fn color(a: &Matrix, key: &Vector<u64>) -> Result<(Vector<u32>, u32, u32)> {
    let n = a.nrows();
    // V = key, above all colours
    let (mut vertices, mut colors, mut rounds) = (key.map(raise).eval()?, Vector::new(n), 0);
    let mut before = 0;
    loop {
        // V<keys> = least_free(V, V bor.taken A, among those that precede), until all have a colour or found the window full
        let ((window, most), of_window) = fixpoint(vertices)
            .while_active(GE.bind(COLORS))
            .monotone()
            .step(|v| least_free.map2(v, v.vxm(a, semiring(BOR, taken)).among(precedes).or_identity()))
            .eval_then(|v| Ok((v.clone(), v.reduce(MAX)?)))?;
        rounds += of_window;
        if most > FULL {
            let what = format!("color_in_order: a key above {}: expected none", u64::MAX - COLORS);
            return Err(Error::Invalid { what });
        }
        // C = the colours of this window, among all
        colors = match before {
            0 => window.map(as_color).eval()?,
            _ => color_in.map3(&colors, &window, fill(before, n)).eval()?,
        };
        if most < FULL {
            return Ok((colors, before + (most as u32), rounds));
        }
        vertices = reopen.map2(&window, key).eval()?;
        before += 63;
    }
}
