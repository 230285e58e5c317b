//! Jones-Plassmann: each vertex, once it knows what its higher neighbours take, has the least colour that none of them has.
//!
//! "Graph Coloring on the GPU" leaves the algebra for the least free colour (Algorithm 4: a scatter; and, as its evaluation says, a copy
//! from the host). Here it stays inside, with the shortcuts of ECL-GC ("Increasing the Parallelism of Graph Coloring via Shortcutting",
//! Alabandi, Powers and Burtscher, section 3): a vertex is the set of the colours that it may still have, in bits. A higher neighbour's
//! colour is taken from it; a colour that no higher neighbour may have is the highest that it can come to; and a neighbour that may have
//! none of those that are left no longer matters. So chains of vertices that would wait for each other are short. The answer is that of
//! the greedy order, whatever is known when.

use crate::prelude::*;

/// No colour of the window: that of a vertex whose colour is a later window's.
const LATER: u32 = 1 << 31;
/// Colours of a window.
const WINDOW: u32 = 31;
/// The least vertex that has a key.
const KEYED: u64 = 1 << 32;
/// Above the numbers of colours.
const NUMBERS: u32 = 64;

/// A vertex: its key, and the colours that it may have, of which a settled one has a single one, and no key.
#[op]
fn vertex(key: u32, colors: u32) -> u64 {
    ((key as u64) << 32u32) | (colors as u64)
}

/// A vertex' key; 0 of a settled one.
#[op]
fn key_of(vertex: u64) -> u32 {
    (vertex >> 32u32) as u32
}

/// The colours of the window that a vertex may have.
#[op]
fn colors_of(vertex: u64) -> u32 {
    (vertex as u32) & (LATER - 1u32)
}

/// A vertex that may have any colour. The greatest key has no place.
#[op]
fn open(key: u32) -> u64 {
    vertex(key + 1u32, u32::MAX)
}

/// Whether `other` comes before `own`, or is settled, and may have a colour of its. Of two with one key neither can go.
#[op]
fn matters(own: u64, other: u64) -> bool {
    // no key, less one, is above all
    key_of(other) - 1u32 >= key_of(own) - 1u32 && colors_of(own) & colors_of(other) != 0u32
}

/// The colours that a vertex has, if it is settled; and those that it may have.
#[op]
fn seen(_edge: (), vertex: u64) -> u64 {
    let taken: u32 = if key_of(vertex) == 0u32 { colors_of(vertex) } else { 0u32 };
    ((taken as u64) << 32u32) | (colors_of(vertex) as u64)
}

/// What is left for a vertex: no colour that is taken, and none above one that no other may have. If it is but one, the vertex is settled.
#[op]
fn narrow(own: u64, seen: u64) -> u64 {
    let left: u32 = (own as u32) & !((seen >> 32u32) as u32);
    let free: u32 = left & !(seen as u32);
    let least: u32 = free & (0u32 - free);
    let colors: u32 = if free == 0u32 { left } else { left & (least | (least - 1u32)) };
    vertex(if colors & (colors - 1u32) == 0u32 { 0u32 } else { key_of(own) }, colors)
}

/// Whether `other` may still take the least colour that is left for `own`.
#[op]
fn blocks(own: u64, other: u64) -> bool {
    key_of(other) != 0u32 && colors_of(other) & (own as u32) & (0u32 - (own as u32)) != 0u32
}

/// Whether no colour is free for a vertex.
#[op]
fn none_free(own: u64, seen: u64) -> bool {
    (own as u32) & !(seen as u32) == LATER
}

/// The number of a settled vertex' colour; of none, 0, and of several, one that no colour has.
#[op]
fn number(vertex: u64) -> u32 {
    if vertex == 0u64 {
        0u32
    } else if vertex & (vertex - 1u64) != 0u64 {
        NUMBERS
    } else {
        vertex.trailing_zeros() + 1u32
    }
}

/// A colour of a later window, among all.
#[op]
fn color_in(color: u32, later: u32, before: u32) -> u32 {
    if later == 0u32 { color } else { before + later }
}

/// A vertex at the start of a window: open if its colour is still to come, or else nothing.
#[op]
fn reopen(number: u32, key: u32) -> u64 {
    if number > WINDOW { open(key) } else { 0u64 }
}

/// Colours, how many there are, and the rounds it took.
pub(super) fn color(a: &Matrix, key: &Vector<u32>) -> Result<(Vector<u32>, u32, u32)> {
    in_windows(a, key, false)
}

/// The same of a graph, or of its edges towards the higher alone.
fn in_windows(a: &Matrix, key: &Vector<u32>, upwards: bool) -> Result<(Vector<u32>, u32, u32)> {
    let n = a.nrows();
    let (mut colors, mut rounds, mut before, mut open_ends) = (Vector::new(n), 0, 0, None);
    // V = key, and all colours
    let mut vertices = key.map(open).eval()?;
    loop {
        let a = open_ends.as_ref().unwrap_or(a);
        // V<keys> = narrow(V, A bor.seen V, among those that matter), until all are settled
        let ((window, most), of_window) = fixpoint(vertices)
            .while_active(GE.bind(KEYED))
            .monotone()
            .step(|v| narrow.map2(v, a.mxv(v, semiring(BOR, seen)).among(matters).awaiting(blocks).or_identity()))
            // at first all may have any colour, so one higher neighbour is enough
            .first(|v| {
                let others = a.mxv(v, semiring(BOR, seen)).among(matters).awaiting(blocks);
                narrow.map2(v, others.until(none_free).or_identity())
            })
            .eval_then(|v| v.map(number).eval_and_reduce(MAX))?;
        rounds += of_window;
        if most == NUMBERS {
            let what = format!("color_in_order: a key of {}: expected a lower one", u32::MAX);
            return Err(Error::Invalid { what });
        }
        // C = the colours of this window, among all
        colors = match before {
            0 => window.clone(),
            _ => color_in.map3(&colors, &window, fill(before, n)).eval()?,
        };
        if most <= WINDOW {
            return Ok((colors, before + most, rounds));
        }
        before += WINDOW;
        if before == WINDOW && !upwards {
            // B = A where key[i] <= key[j], of those of later windows: what is left of hubs is short, and neighbours of one key are refused
            // still
            let rest = window.select(GT.bind(WINDOW)).pattern().eval()?;
            if rest.nvals() <= n / 8 {
                // few, mostly: B = A[rest, rest], and C<rest> = the colours there, among all
                let places: Vec<u32> = rest.indices().collect();
                let (few, key) = (a.induced(LE, &key.mask(&rest).eval()?)?, key.extract(&places).eval()?);
                let (later, count, of_later) = in_windows(&few, &key, true)?;
                later.map(PLUS.bind(before)).scatter(&places, n).assign_to(&mut colors)?;
                return Ok((colors, before + count, rounds + of_later));
            }
            open_ends = Some(a.select_ends(LE, &key.mask(&rest).eval()?)?);
        }
        // V = key, and all colours, of those of later windows; nothing of the others
        vertices = reopen.map2(&window, key).eval()?;
    }
}
