//! The loop of greedy colourings in which a vertex sees others through a vertex in the middle.
//!
//! It runs over a bipartite graph. On one side are the vertices to colour, on the other side the *middles*. A middle holds the highest key
//! among its open vertices (those without a colour), and the colours that it forbids to the next one. A vertex may choose its colour
//! once it is the highest open one of all its middles. At that time the middles know all colours before it and none after.
//!
//! A word holds a window of 28 colours. A vertex that finds all of them forbidden ends as [`LATER`], and the next window starts from those.

use crate::prelude::*;

/// The number of colours of a window.
const WINDOW: u32 = 28;
/// The bit of all colours above the window together.
pub(super) const LATER: u32 = 1 << WINDOW;
/// The bits of the colours of the window.
pub(super) const COLORS: u32 = LATER - 1;
/// Marks a vertex that has a colour of an earlier window.
pub(super) const EARLIER: u32 = 1 << 29;
/// Marks a middle that is a vertex to colour as well, and has its colour.
pub(super) const COLORED: u32 = 1 << 30;
/// Marks a middle.
pub(super) const MIDDLE: u32 = 1 << 31;

/// What is known of a vertex or a middle.
#[scalar]
pub(super) struct State {
    /// Of a vertex, its key while it has no colour. Of a middle, the highest key among its vertices without one; `u32::MAX` at first. Else 0.
    pub key: u32,
    /// Of a vertex, its colour as a bit. Of a middle, the colours that it forbids to the next vertex, and its marks.
    pub colors: u32,
}

/// The highest key and all colours of two states.
#[op]
pub(super) fn join(a: State, b: State) -> State {
    State { key: a.key.max(b.key), colors: a.colors | b.colors }
}
impl Monoid<State> for join {
    const IDENTITY: State = State { key: 0, colors: 0 };
    const COMMUTATIVE: bool = true;
}

/// A state at the start, given the key of a vertex, or `u32::MAX` for a middle.
#[op]
pub(super) fn at_start(key: u32) -> State {
    State { key, colors: if key == u32::MAX { MIDDLE } else { 0u32 } }
}

/// Whether a vertex has no colour, or a middle has such a vertex.
#[op]
fn is_open(own: State) -> bool {
    own.key > 0
}

/// What an edge is to `own`. A vertex is blocked by a middle that has a higher open vertex, and a middle by its highest open vertex. A
/// vertex with a colour is final to its middles.
#[op]
fn status(own: State, other: State) -> Edge {
    if own.colors & MIDDLE == 0 {
        if other.key > own.key { Edge::Blocking } else { Edge::Relevant }
    } else if other.key == 0 {
        Edge::Final
    } else if other.key >= own.key {
        Edge::Blocking
    } else {
        Edge::Relevant
    }
}

/// A vertex' next state, given the states of its middles: the least colour that none forbids, once no middle has a higher open vertex.
#[op]
pub(super) fn choose(own: State, seen: State) -> State {
    let free: u32 = !(seen.colors & COLORS);
    if seen.key > own.key { own } else { State { key: 0u32, colors: free & (0u32 - free) } }
}

/// The number of a vertex' colour in the window, from 1; `WINDOW + 1` for [`LATER`], 0 for a middle and for a vertex with an earlier colour.
#[op]
fn number(own: State) -> u32 {
    let is_middle: bool = own.colors & MIDDLE != 0;
    if is_middle || own.colors & (COLORS | LATER) == 0 { 0u32 } else { own.colors.trailing_zeros() + 1u32 }
}

/// A vertex' colour among all windows: `color`, unless this window, which follows `before` colours, gives it one (`later`).
#[op]
fn color_in(color: u32, later: u32, before: u32) -> u32 {
    if later == 0 { color } else { before + later }
}

/// A state at the start of the next window, in which vertices with colours take no part. `key` is as at the start.
#[op]
pub(super) fn reopen(own: State, key: u32) -> State {
    if own.colors & (MIDDLE | LATER) != 0 { at_start(key) } else { State { key: 0u32, colors: 0u32 } }
}

/// The greedy colours of the vertices that come after `middles` middles in the bipartite graph `b`, their number, and the number of rounds.
///
/// `rank` orders the vertices, the highest first; one without a rank gets no colour (0). `next(own, seen)` is the next state, where `seen`
/// joins what `see` makes of each neighbour's state, and `again(own, key)` a state at the start of the next window.
pub(super) fn color<A, See, Next, Reopen>(
    b: &Matrix<A>,
    middles: usize,
    rank: &Vector<u32>,
    see: See,
    next: Next,
    again: Reopen,
) -> Result<(Vector<u32>, u32, u32)>
where
    A: Element,
    See: BinaryOp<A, State, Out = State>,
    Next: BinaryOp<State, State, Out = State>,
    Reopen: BinaryOp<State, u32, Out = State>,
{
    let places: Vec<u32> = (middles as u32..b.nrows() as u32).collect();
    // key = {rank + 1 of vertices, 0 without a rank, MAX of middles}; S = at_start(key)
    let key = rank.map(PLUS.bind(1)).or(0).scatter(&places, b.nrows()).or(u32::MAX).eval()?;
    let mut states = key.map(at_start).eval()?;
    let (mut colors, mut before, mut rounds) = (fill(0, b.nrows()).eval()?, 0, 0);
    loop {
        // S<is_open> = next(S, B join.see S), until none is open
        let ((all, reopened, most), of_window) = fixpoint(states)
            .while_active(is_open)
            .monotone()
            .step(|s| next.map2(s, b.mxv(s, semiring(join, see)).edge_status(status).or_identity()))
            .eval_then(|s| {
                // C = color_in(C, number(S)); S = again(S, key)
                let later = s.map(number);
                let all = color_in.map3(&colors, later, fill(before, b.nrows())).eval()?;
                Ok((all, again.map2(s, &key).eval()?, later.reduce(MAX)?))
            })?;
        (colors, states, rounds) = (all, reopened, rounds + of_window);
        if most <= WINDOW {
            return Ok((colors.extract(&places).eval()?, before + most, rounds));
        }
        before += WINDOW;
    }
}
