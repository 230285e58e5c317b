//! Jones-Plassmann: a vertex takes the least colour that no higher neighbour has, once the higher neighbours' colours are known.
//!
//! "Graph Coloring on the GPU" leaves the algebra for the least free colour (Algorithm 4: a scatter; and, as its evaluation says, a copy
//! from the host). Here it stays inside, with the shortcuts of ECL-GC ("Increasing the Parallelism of Graph Coloring via Shortcutting",
//! Alabandi, Powers and Burtscher, section 3). The state of a vertex is the set of colours that it may still get, as bits:
//!
//! - the colour of a settled higher neighbour is removed from the set;
//! - the least colour that no higher neighbour may get is the highest that the vertex can get, so all above it are removed;
//! - a neighbour no longer matters if its set has no colour in common with the vertex' set.
//!
//! The shortcuts make chains of vertices that wait for each other short. Whatever the schedule, the result is the greedy colouring of the
//! order.
//!
//! A word holds a window of 31 colours. A vertex with a colour above the window ends as [`LATER`], and the next window starts from those.

use crate::prelude::*;

/// The bit of all colours above the window together: a vertex that settles on it gets its colour in a later window.
const LATER: u32 = 1 << 31;
/// The number of colours of a window.
const WINDOW: u32 = 31;

/// Whether several bits are left for a vertex. A vertex without any, which has its colour from an earlier window, is settled too.
#[op]
fn unsettled(vertex: u32) -> bool {
    vertex & (vertex - 1u32) != 0u32
}

/// The colours of the window that a vertex may get.
#[op]
fn colors_of(vertex: u32) -> u32 {
    vertex & (LATER - 1u32)
}

/// Edge filter: whether `other` may get a colour of the window that `own` may get.
#[op]
fn matters(own: u32, other: u32) -> bool {
    colors_of(own) & other != 0u32
}

/// What a row learns of a higher neighbour: in the high word its colour if it is settled, in the low word the colours that it may get.
#[op]
fn seen(_edge: (), vertex: u32) -> u64 {
    let taken: u32 = if unsettled(vertex) { 0u32 } else { colors_of(vertex) };
    ((taken as u64) << 32u32) | (colors_of(vertex) as u64)
}

/// A vertex' next state: its colours without those taken by higher neighbours, and without those above the least that no higher neighbour
/// may get.
#[op]
fn narrow(own: u32, seen: u64) -> u32 {
    let left: u32 = own & !((seen >> 32u32) as u32);
    let free: u32 = left & !(seen as u32);
    let least: u32 = free & (0u32 - free);
    if free == 0u32 { left } else { left & (least | (least - 1u32)) }
}

/// Blocking edge: whether `other` may still get the least colour that is left for `own`. As long as it may, visits of `own` can be put off.
#[op]
fn blocks(own: u32, other: u32) -> bool {
    unsettled(other) && other & own & (0u32 - own) != 0u32
}

/// Final edge: whether `other` is settled. Its colour is removed from `own` at the first visit, so later visits need not read it again.
#[op]
fn told(_own: u32, other: u32) -> bool {
    !unsettled(other)
}

/// Whether the higher neighbours seen may get every colour of the window that is left for `own`, so that `narrow` would remove nothing.
#[op]
fn none_free(own: u32, seen: u64) -> bool {
    own & !(seen as u32) == LATER
}

/// The number of a settled vertex' colour in the window, from 1; `WINDOW + 1` for [`LATER`], 0 for an empty set.
#[op]
fn number(vertex: u32) -> u32 {
    if vertex == 0u32 { 0u32 } else { vertex.trailing_zeros() + 1u32 }
}

/// A vertex' colour among all windows: `color`, unless this window, which follows `before` colours, gives it one (`later`).
#[op]
fn color_in(color: u32, later: u32, before: u32) -> u32 {
    if later == 0u32 { color } else { before + later }
}

/// A vertex at the start of a window, given its number in the last one: all colours if it has none yet, no colours if it has one.
#[op]
fn reopen(number: u32) -> u32 {
    if number > WINDOW { u32::MAX } else { 0u32 }
}

/// Colours, their number, and the number of rounds.
pub(super) fn color(a: &Matrix, key: &Vector<u32>) -> Result<(Vector<u32>, u32, u32)> {
    in_windows(a, key, false)
}

/// The same, window by window. With `upwards`, `a` holds the edges towards higher keys alone; otherwise it is the whole graph.
fn in_windows(a: &Matrix, key: &Vector<u32>, upwards: bool) -> Result<(Vector<u32>, u32, u32)> {
    let n = a.nrows();
    let (mut colors, mut rounds, mut before, mut open_ends) = (Vector::new(n), 0, 0, None);
    // V = {all colours}
    let mut vertices = fill(u32::MAX, n).eval()?;
    loop {
        let chosen = upwards || open_ends.is_some();
        let a = open_ends.as_ref().unwrap_or(a);
        let others = |v| {
            let others = a.mxv(v, semiring(BOR, seen)).among(matters).awaiting(blocks).once(told);
            if chosen { others.known_ends(LE, key) } else { others.ends(LE, key) }
        };
        // V<unsettled> = narrow(V, A' bor.seen V), until all are settled, where A'[i, j] = A[i, j] if key[i] <= key[j] and
        // matters(V[i], V[j])
        let ((all, next, most), of_window) = fixpoint(vertices)
            .while_active(unsettled)
            .monotone()
            .step(|v| narrow.map2(v, others(v).or_identity()))
            // round 1: all unsettled vertices may get any colour, so a row may stop at the first such neighbour
            .first(|v| narrow.map2(v, others(v).until(none_free).or_identity()))
            .eval_then(|v| {
                // C = color_in(C, number(V), before)
                let window = v.map(number);
                if !chosen {
                    return window.eval_and_reduce(MAX).map(|(all, most)| (all, None, most));
                }
                let all = match before {
                    0 => window.eval()?,
                    _ => color_in.map3(&colors, window, fill(before, n)).eval()?,
                };
                // usually another window follows: its start is enqueued before the host waits for this window's result
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
        // rest = {v : C[v] is of a later window}; B[i, j] = A[i, j] where i and j are in rest and key[i] <= key[j]. Hubs' rows are short in
        // B. Entries between equal keys stay, so that two such neighbours still block each other and are reported.
        let rest = colors.select(GT.bind(WINDOW)).pattern().eval()?;
        if rest.nvals() <= n / 8 {
            // few are left: B becomes a matrix over rest alone, and C[rest] = its colours + before
            let places: Vec<u32> = rest.indices().collect();
            let (few, key) = (a.induced(LE, &key.mask(&rest).eval()?)?, key.extract(&places).eval()?);
            let (later, count, of_later) = in_windows(&few, &key, true)?;
            later.map(PLUS.bind(before)).scatter(&places, n).assign_to(&mut colors)?;
            return Ok((colors, before + count, rounds + of_later));
        }
        open_ends = Some(a.select_ends(LE, &key.mask(&rest).eval()?)?);
        // V = {all colours} for vertices with colours of later windows, {} for all others
        vertices = colors.map(reopen).eval()?;
    }
}
