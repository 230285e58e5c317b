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

/// Whether a vertex may have several colours.
#[op]
fn unsettled(vertex: u32) -> bool {
    vertex & (vertex - 1u32) != 0u32
}

/// The colours of the window that a vertex may have.
#[op]
fn colors_of(vertex: u32) -> u32 {
    vertex & (LATER - 1u32)
}

/// Whether `other` may have a colour that `own` may have.
#[op]
fn matters(own: u32, other: u32) -> bool {
    colors_of(own) & other != 0u32
}

/// The colour that a vertex has, if it is settled; and those that it may have.
#[op]
fn seen(_edge: (), vertex: u32) -> u64 {
    let taken: u32 = if unsettled(vertex) { 0u32 } else { colors_of(vertex) };
    ((taken as u64) << 32u32) | (colors_of(vertex) as u64)
}

/// What is left for a vertex: no colour that is taken, and none above one that no other may have. If it is but one, the vertex is settled.
#[op]
fn narrow(own: u32, seen: u64) -> u32 {
    let left: u32 = own & !((seen >> 32u32) as u32);
    let free: u32 = left & !(seen as u32);
    let least: u32 = free & (0u32 - free);
    if free == 0u32 { left } else { left & (least | (least - 1u32)) }
}

/// Whether `other` may still take the least colour that is left for `own`.
#[op]
fn blocks(own: u32, other: u32) -> bool {
    unsettled(other) && other & own & (0u32 - own) != 0u32
}

/// Whether `other` has its colour, which is taken from `own` as soon as it is seen.
#[op]
fn told(_own: u32, other: u32) -> bool {
    !unsettled(other)
}

/// Whether no colour is free for a vertex.
#[op]
fn none_free(own: u32, seen: u64) -> bool {
    own & !(seen as u32) == LATER
}

/// The number of a settled vertex' colour; of none, 0.
#[op]
fn number(vertex: u32) -> u32 {
    if vertex == 0u32 { 0u32 } else { vertex.trailing_zeros() + 1u32 }
}

/// A colour of a later window, among all.
#[op]
fn color_in(color: u32, later: u32, before: u32) -> u32 {
    if later == 0u32 { color } else { before + later }
}

/// A vertex at the start of a window: open if its colour is still to come, or else nothing.
#[op]
fn reopen(number: u32) -> u32 {
    if number > WINDOW { u32::MAX } else { 0u32 }
}

/// Colours, how many there are, and the rounds it took.
pub(super) fn color(a: &Matrix, key: &Vector<u32>) -> Result<(Vector<u32>, u32, u32)> {
    in_windows(a, key, false)
}

/// The same of a graph, or of its edges towards the higher alone.
fn in_windows(a: &Matrix, key: &Vector<u32>, upwards: bool) -> Result<(Vector<u32>, u32, u32)> {
    let n = a.nrows();
    let (mut colors, mut rounds, mut before, mut open_ends) = (Vector::new(n), 0, 0, None);
    // V = all colours
    let mut vertices = fill(u32::MAX, n).eval()?;
    loop {
        let chosen = upwards || open_ends.is_some();
        let a = open_ends.as_ref().unwrap_or(a);
        let others = |v| {
            let others = a.mxv(v, semiring(BOR, seen)).among(matters).awaiting(blocks).once(told);
            if chosen { others.known_ends(LE, key) } else { others.ends(LE, key) }
        };
        // V<several> = narrow(V, A bor.seen V, of those that come before and matter), until all are settled
        let ((all, next, most), of_window) = fixpoint(vertices)
            .while_active(unsettled)
            .monotone()
            .step(|v| narrow.map2(v, others(v).or_identity()))
            // at first all may have any colour, so one higher neighbour is enough
            .first(|v| narrow.map2(v, others(v).until(none_free).or_identity()))
            .eval_then(|v| {
                // C = the colours of this window, among all
                let window = v.map(number);
                if !chosen {
                    return window.eval_and_reduce(MAX).map(|(all, most)| (all, None, most));
                }
                let all = match before {
                    0 => window.eval()?,
                    _ => color_in.map3(&colors, window, fill(before, n)).eval()?,
                };
                // mostly more windows follow: what they begin with is asked for before anybody waits
                Ok((all, Some(window.map(reopen).eval()?), window.reduce(MAX)?))
            })?;
        (colors, rounds) = (all, rounds + of_window);
        if most <= WINDOW {
            return Ok((colors, before + most, rounds));
        }
        before += WINDOW;
        if let Some(next) = next {
            vertices = next;
            continue;
        }
        // B = A where key[i] <= key[j], of those of later windows: what is left of hubs is short, and neighbours of one key are refused still
        let rest = colors.select(GT.bind(WINDOW)).pattern().eval()?;
        if rest.nvals() <= n / 8 {
            // few, mostly: B = A[rest, rest], and C<rest> = the colours there, among all
            let places: Vec<u32> = rest.indices().collect();
            let (few, key) = (a.induced(LE, &key.mask(&rest).eval()?)?, key.extract(&places).eval()?);
            let (later, count, of_later) = in_windows(&few, &key, true)?;
            later.map(PLUS.bind(before)).scatter(&places, n).assign_to(&mut colors)?;
            return Ok((colors, before + count, rounds + of_later));
        }
        open_ends = Some(a.select_ends(LE, &key.mask(&rest).eval()?)?);
        // V = all colours, of those of later windows; nothing of the others
        vertices = colors.map(reopen).eval()?;
    }
}
