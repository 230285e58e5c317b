//! The loop of greedy colourings in which a vertex sees others through a vertex in the middle.
//!
//! It runs over a bipartite graph. On one side are the vertices to colour, on the other side the *middles*. A middle holds the highest key
//! among its open vertices (those without a colour), and the colours that it forbids to the next one. A vertex may choose its colour
//! once it is the highest open one of all its middles. At that time the middles know all colours before it and none after.
//!
//! A word holds a window of 29 colours. A vertex that finds all of them forbidden ends as [`LATER`]. The next window runs over those vertices
//! and their middles alone.

use crate::prelude::*;

/// The number of colours of a window.
const WINDOW: u32 = 29;
/// The bit of all colours above the window together.
pub(super) const LATER: u32 = 1 << WINDOW;
/// The bits of the colours of the window.
pub(super) const COLORS: u32 = LATER - 1;
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

/// A state at the start of a window, given the key of a vertex, or `u32::MAX` for a middle.
#[op]
fn at_start(key: u32) -> State {
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

/// The number of a vertex' colour in the window, from 1; `WINDOW + 1` for [`LATER`], 0 for a middle and for a vertex without a key.
#[op]
fn number(own: State) -> u32 {
    if own.colors & MIDDLE != 0 || own.colors == 0 { 0u32 } else { own.colors.trailing_zeros() + 1u32 }
}

/// The key of a vertex that has got its colour, or else 0.
#[op]
fn done(number: u32, key: u32) -> u32 {
    if number == 0 || number > WINDOW { 0u32 } else { key }
}

/// An end of an edge between windows: a vertex' key; or 0 and, in the low word, the key of the vertex that a middle is as well, if that
/// has its colour.
#[op]
fn end(key: u32, own: u32) -> u64 {
    if key == u32::MAX { own as u64 } else { (key as u64) << 32u32 }
}

/// Whether a vertex comes before the one that is its middle: to those after it, a middle with an earlier colour forbids nothing more.
#[op]
fn is_before(one: u64, other: u64) -> bool {
    (one | other) >> 32u32 > (one | other) & 0xffff_ffffu64
}

/// The greedy colours of the vertices that come after `middles` middles in the bipartite graph `b`, their number, and the number of rounds.
///
/// `rank` orders the vertices, the highest first; one without a rank gets no colour (0). `next(own, seen)` is the next state, where `seen`
/// joins what `see` makes of each neighbour's state. `own(b, x)` is `x` of the vertex that a middle is as well, or 0.
pub(super) fn color<A, See, Next>(
    mut b: Matrix<A>,
    middles: usize,
    rank: &Vector<u32>,
    (see, next): (See, Next),
    own: impl Fn(&Matrix<A>, &Vector<u32>) -> Result<Vector<u32>>,
) -> Result<(Vector<u32>, u32, u32)>
where
    A: Element,
    See: BinaryOp<A, State, Out = State>,
    Next: BinaryOp<State, State, Out = State>,
{
    let n = b.nrows();
    let (mut places, vertices): (Vec<u32>, Vec<u32>) = ((0..n as u32).collect(), (middles as u32..n as u32).collect());
    // key = {rank + 1 of vertices, 0 without a rank, MAX of middles}
    let mut key = rank.map(PLUS.bind(1)).or(0).scatter(&vertices, n).or(u32::MAX).eval()?;
    let (mut colors, mut before, mut rounds) = (fill(0, n).eval()?, 0, 0);
    loop {
        let a = &*b.to_digraph()?;
        // S = at_start(key); S<is_open> = next(S, B join.see S), until none is open
        let (numbers, of_window) = fixpoint(key.map(at_start).eval()?)
            .while_active(is_open)
            .monotone()
            .step(|s| next.map2(s, a.mxv(s, semiring(join, see)).edge_status(status).or_identity()))
            .eval_then(|s| s.map(number).eval())?;
        rounds += of_window;
        // C[places] = before + number, for those that have one
        let found = numbers.select(GT.bind(0)).map(PLUS.bind(before)).eval()?;
        found.scatter(&places, n).accum(SECOND).assign_to(&mut colors)?;
        let later = numbers.select(GT.bind(WINDOW)).pattern().eval()?;
        if later.nvals() == 0 {
            return Ok((colors.extract(&vertices).eval()?, before + numbers.reduce(MAX)?, rounds));
        }
        // ends = what an edge's ends tell of the windows before; the rest is what later vertices and their middles induce
        let ends = end.map2(&key, &own(a, &done.map2(&numbers, &key).eval()?)?).eval()?;
        let kept = later.ewise_add(later.vxm(a, ANY_PAIR), ANY).eval()?;
        let rest = a.oriented(is_before, &ends).induced_by(&kept)?;
        places = rest.members().iter().map(|&v| places[v as usize]).collect();
        key = key.extract(rest.members()).eval()?;
        b = rest.into_matrix()?;
        before += WINDOW;
    }
}
