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
pub(super) const WINDOW: u32 = 31;

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

/// What a higher neighbour is to `own`. It blocks as long as it may get the least colour that is left for `own`. It is final once it is
/// settled, because its colour is then removed from `own`. It is irrelevant if they have no colour of the window in common.
#[op]
fn status(own: u32, other: u32) -> Edge {
    if colors_of(own) & other == 0u32 {
        Edge::Irrelevant
    } else if !unsettled(other) {
        Edge::Final
    } else if other & own & (0u32 - own) != 0u32 {
        Edge::Blocking
    } else {
        Edge::Relevant
    }
}

/// Whether the higher neighbours seen may get every colour of the window that is left for `own`, so that `narrow` would remove nothing.
#[op]
fn none_free(own: u32, seen: u64) -> bool {
    own & !(seen as u32) == LATER
}

/// The number of a settled vertex' colour in the window, from 1; `WINDOW + 1` for [`LATER`], 0 for an empty set.
#[op]
pub(super) fn number(vertex: u32) -> u32 {
    if vertex == 0u32 { 0u32 } else { vertex.trailing_zeros() + 1u32 }
}

/// A vertex' colour among all windows: `color`, unless this window, which follows `before` colours, gives it one (`later`).
#[op]
pub(super) fn color_in(color: u32, later: u32, before: u32) -> u32 {
    if later == 0u32 { color } else { before + later }
}

/// A vertex at the start of a window, given its number in the last one: all colours if it has none yet, no colours if it has one.
#[op]
pub(super) fn reopen(number: u32) -> u32 {
    if number > WINDOW { u32::MAX } else { 0u32 }
}

/// The edges that lead to vertices with keys that aren't lower.
pub(super) type Upwards<'a> = Oriented<'a, (), AtMost, u32>;

/// Colours, their number, and the number of rounds.
pub(super) fn color(a: &Matrix, key: &Vector<u32>) -> Result<(Vector<u32>, u32, u32)> {
    let n = a.nrows();
    // A'[i, j] = A[i, j] where key[i] <= key[j]. Not LT: neighbours with equal keys stall the loop, which is an error, instead of
    // sharing a colour.
    let edges = a.oriented(LE, key);
    let ((mut colors, most), rounds) =
        window(&edges, fill(u32::MAX, n).eval()?, |v| v.map(number).eval_and_reduce(MAX))?;
    if most <= WINDOW {
        return Ok((colors, most, rounds));
    }
    // rest = {v : C[v] is of a later window}; C[rest] = the colours of the graph that rest induces, above those of the window
    let rest = edges.induced_by(&colors.select(GT.bind(WINDOW)).pattern().eval()?)?;
    let (later, count, of_later) = in_windows(&rest)?;
    later.map(PLUS.bind(WINDOW)).scatter(rest.members(), n).assign_to(&mut colors)?;
    Ok((colors, WINDOW + count, rounds + of_later))
}

/// The same, window by window. All windows share one graph: a smaller one for each would cost more than it saves.
fn in_windows(edges: &Upwards) -> Result<(Vector<u32>, u32, u32)> {
    let n = edges.nrows();
    // C = {no colour}; V = {all colours}
    let (mut before, mut rounds, mut colors, mut vertices) = (0, 0, fill(0, n).eval()?, fill(u32::MAX, n).eval()?);
    loop {
        let ((all, next, most), of_window) = window(edges, vertices, |v| {
            // C = color_in(C, number(V), before); V = {all colours} for vertices with colours of later windows, {} for all others
            let window = v.map(number);
            let all = color_in.map3(&colors, window, fill(before, n)).eval()?;
            Ok((all, window.map(reopen).eval()?, window.reduce(MAX)?))
        })?;
        (colors, vertices, rounds) = (all, next, rounds + of_window);
        if most <= WINDOW {
            return Ok((colors, before + most, rounds));
        }
        before += WINDOW;
    }
}

/// Settles all vertices of a window, from the colours that they may get. Returns what `then` makes of them, and the number of rounds.
pub(super) fn window<R>(
    edges: &Upwards,
    vertices: Vector<u32>,
    then: impl FnOnce(&Vector<u32>) -> Result<R>,
) -> Result<(R, u32)> {
    let higher = |v| edges.mxv(v, semiring(BOR, seen)).edge_status(status);
    // V<unsettled> = narrow(V, A' bor.seen V) over the edges that are not Irrelevant, until all are settled
    fixpoint(vertices)
        .while_active(unsettled)
        .monotone()
        .step(|v| narrow.map2(v, higher(v).or_identity()))
        // round 1: all unsettled vertices may get any colour, so a row may stop at the first such neighbour
        .first_round(|v| narrow.map2(v, higher(v).until(none_free).or_identity()))
        .eval_then(then)
}
