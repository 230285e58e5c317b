//! Loops over elements of 16 bytes: whatever the schedule, the state of the definition.

use crate::elements::{Label, NOWHERE, Route, along, cheaper, kept, lesser, root_of};
use crate::fixpoint::{case, every_schedule};
use crate::harness::{agree, ok, same, suite};
use crate::shapes::{graph, matrix};
use vxm::backend::reference::{self, Dense, Grid};
use vxm::prelude::*;

/// The edge from row `i`, as a route.
#[op(EDGE)]
fn edge(i: u32, _j: u32, weight: u32) -> Route {
    Route { cost: weight as u64 + 1, parent: i, hops: 1 }
}

/// Cheapest routes with their parents and hops: as rounds of the definition find them.
#[test]
fn loops_over_routes() {
    suite("loops over routes", 40, graph(), |mut graph| {
        graph.nrows = graph.nrows.clamp(1, 120);
        graph.ncols = graph.nrows;
        let grid: Grid<u32> = graph.grid();
        let edges = grid.map(MIN.bind(9u32)).map_index(EDGE);
        let (a, n) = (matrix(&edges, false), edges.rows.len());
        let home = Route { cost: 0, parent: 0, hops: 0 };
        let start: Vec<Route> = (0..n).map(|v| if v == 0 { home } else { NOWHERE }).collect();
        let mut state: Dense<Route> = start.iter().copied().map(Some).collect();
        loop {
            let longer = reference::vxm(&state, &edges, semiring(cheaper, along));
            let next = reference::ewise_add(&state, &longer, cheaper);
            if next == state {
                break;
            }
            state = next;
        }
        let expected: Vec<Route> = state.iter().map(|route| route.unwrap_or(NOWHERE)).collect();
        let start = Vector::from_dense(start);
        every_schedule(&expected, || {
            fixpoint(start.clone())
                .while_changed()
                .monotone()
                .step(|route| route.ewise_add(route.vxm(&a, semiring(cheaper, along)), cheaper))
                .eval()
        })?;
        // in rounds, all of which see the states of the round before
        let settled = ok(fixpoint(start.clone())
            .while_changed()
            .step(|route| route.ewise_add(route.vxm(&a, semiring(cheaper, along)), cheaper))
            .eval())?;
        agree("in rounds", &expected.iter().copied().map(Some).collect::<Vec<_>>(), &settled.state)
    });
}

/// A vertex with a key until it has a colour, and its number.
#[scalar]
pub struct Painted {
    key: u64,
    number: u32,
    color: u32,
}

const BARE: u32 = 999;

#[op]
fn is_bare(v: Painted) -> bool {
    v.color == 999u32
}
/// The bit of a colour; all bits as long as there is none.
#[op]
fn taken_by(v: Painted) -> u64 {
    if v.color == 999u32 { u64::MAX } else { 1u64 << v.color }
}
#[op]
fn hue(v: Painted, _edge: ()) -> u64 {
    taken_by(v)
}
#[op]
fn hue_of(_edge: (), v: Painted) -> u64 {
    taken_by(v)
}
#[op]
fn first_free(own: Painted, taken: u64) -> Painted {
    if taken == u64::MAX { own } else { Painted { color: taken.trailing_ones(), ..own } }
}
#[op]
fn comes_first(own: Painted, other: Painted) -> Edge {
    if other.color != 999u32 {
        Edge::Relevant
    } else if other.key > own.key {
        Edge::Blocking
    } else {
        Edge::Irrelevant
    }
}
#[op]
fn is_above(own: Painted, other: Painted) -> bool {
    other.key > own.key
}

/// First-fit colourings by descending keys.
#[test]
fn loops_over_active_wide_elements() {
    suite("loops over active wide elements", 30, case(), |case| {
        let (keys, near, a) = (case.keys(), case.neighbors(), case.matrix());
        let mut order: Vec<usize> = (0..case.n).collect();
        order.sort_by_key(|&v| std::cmp::Reverse(keys[v]));
        let painted = |v: usize, color| Painted { key: keys[v] + (1 << 40), number: v as u32, color };
        let mut expected: Vec<Painted> = (0..case.n).map(|v| painted(v, BARE)).collect();
        let start = Vector::from_dense(expected.clone());
        for v in order {
            let taken: Vec<u32> = near[v].iter().map(|&u| expected[u as usize].color).collect();
            expected[v].color = (0..).find(|color| !taken.contains(color)).unwrap();
        }
        every_schedule(&expected, || {
            fixpoint(start.clone())
                .while_active(is_bare)
                .monotone()
                .step(|v| first_free.map2(v, v.vxm(&a, semiring(BOR, hue)).edge_status(comes_first).or_identity()))
                .eval()
        })?;
        same("all are bare", true, ok(start.map(is_bare).reduce(LAND))?)?;
        let oriented = a.oriented(is_above, &start);
        every_schedule(&expected, || {
            fixpoint(start.clone())
                .while_active(is_bare)
                .monotone()
                .step(|v| first_free.map2(v, oriented.mxv(v, semiring(BOR, hue_of)).or_identity()))
                .eval()
        })
    });
}

/// Labels of components, where each label is also joined into that of the vertex that it names.
#[test]
fn scatter_reduce_over_wide_elements() {
    suite("scatter_reduce over wide elements", 30, case(), |case| {
        let label = |v: usize| Label { root: v as u32, weight: (v * 7) as u32, told: !(v as u64) << 7 };
        let near = case.neighbors();
        let mut least: Vec<usize> = (0..case.n).collect();
        loop {
            let of = |v: usize| near[v].iter().map(|&u| least[u as usize]).fold(least[v], Ord::min);
            let next: Vec<usize> = (0..case.n).map(of).collect();
            if next == least {
                break;
            }
            least = next;
        }
        let expected: Vec<Label> = least.into_iter().map(label).collect();
        let (a, start) = (case.matrix(), Vector::from_dense((0..case.n).map(label).collect()));
        let joined = || {
            fixpoint(start.clone())
                .while_changed()
                .monotone()
                .step(|l| l.ewise_add(l.vxm(&a, semiring(lesser, kept)), lesser))
        };
        every_schedule(&expected, || joined().eval())?;
        every_schedule(&expected, || joined().scatter_reduce(root_of, lesser).eval())
    });
}

/// A vertex that may be in a set.
#[scalar]
pub struct Candidate {
    key: u64,
    number: u32,
    state: u32,
}
#[op]
fn is_open(v: Candidate) -> bool {
    v.state == 0u32
}
#[op]
fn is_chosen(v: Candidate) -> bool {
    v.state == 1u32
}
#[op]
fn stays(v: Candidate) -> bool {
    v.state != 2u32
}
#[op]
fn key_of(v: Candidate, _edge: ()) -> u64 {
    v.key
}
#[op]
fn elect(v: Candidate, greatest: u64) -> Candidate {
    if v.state == 0u32 && v.key > greatest { Candidate { state: 1, ..v } } else { v }
}
#[op]
fn leave(v: Candidate, chosen: u32) -> Candidate {
    if v.state == 0u32 && chosen > 0u32 { Candidate { state: 2, ..v } } else { v }
}

/// An independent set in rounds of two steps: the greatest among its neighbours is chosen, and these leave.
#[test]
fn steps_over_wide_elements() {
    suite("steps over wide elements", 30, case(), |case| {
        let (near, keys, a) = (case.neighbors(), case.keys(), case.matrix());
        let candidate = |v: usize, state| Candidate { key: keys[v] << 8 | 1, number: !(v as u32), state };
        let mut order: Vec<usize> = (0..case.n).collect();
        order.sort_by_key(|&v| std::cmp::Reverse(keys[v]));
        let mut state = vec![0; case.n];
        for v in order {
            state[v] = if near[v].iter().any(|&u| state[u as usize] == 1) { 2 } else { 1 };
        }
        let expected: Vec<Candidate> = (0..case.n).map(|v| candidate(v, state[v])).collect();
        let start = Vector::from_dense((0..case.n).map(|v| candidate(v, 0)).collect());
        every_schedule(&expected, || {
            fixpoint(start.clone())
                .while_active(is_open)
                .monotone()
                .step(|v| elect.map2(v, v.select(stays).vxm(&a, semiring(MAX, key_of)).or_identity()))
                .then(|v| leave.map2(v, v.select(is_chosen).vxm(&a, PLUS_PAIR)))
                .eval()
        })
    });
}
