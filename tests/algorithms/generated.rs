//! Generated graphs: every generator at small scale, random graphs, and the visiting order of loops on the CPU.

use super::check::{Effort, check, check_coloring, descending};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use vxm::algorithms::priority::largest_degree_first;
use vxm::algorithms::{Method, Order, Priority, mis_in_order, priorities};
use vxm::certify;
use vxm::io::generate;
use vxm::prelude::*;
use vxm::semiring::{KernelText, Source};

#[test]
fn every_generator() {
    let specs =
        ["grid:1x1", "grid:1x77", "grid:23x31", "er:9:4", "er:7:0", "rmat:9:8", "kron:9:16", "rgg:9", "road:16"];
    for spec in specs.into_iter().chain(["delaunay:9", "delaunay:1", "er:0:3", "kron:7:60", "rmat:10:2:77"]) {
        let a = Matrix::from_simple(generate(spec, &()).unwrap().graph);
        for seed in [0, 0x9e37_79b9_7f4a_7c15] {
            check(spec, &a, seed, Effort::All);
        }
    }
}

/// Graphs on which the CPU's loop sorts its first visits, so that blockers come first.
#[test]
fn graphs_that_are_visited_in_order() {
    for spec in ["er:11:8", "rmat:12:8", "kron:10:24", "rgg:12", "delaunay:12", "grid:70x70"] {
        let a = Matrix::from_simple(generate(spec, &()).unwrap().graph);
        let (graph, order) = (a.to_graph().unwrap(), descending(&largest_degree_first(&a, 3).unwrap()));
        let greedy = certify::greedy_coloring(graph.csr().offsets(), graph.csr().columns(), order);
        let found = check_coloring(spec, &a, Method::Jp, Order::LargestDegreeFirst, 3, Effort::All);
        assert_eq!(found.colors.to_dense(0), greedy, "{spec}");
        check_coloring(spec, &a, Method::Jp, Order::Random, 3, Effort::All);
    }
}

/// The states of a vertex in a set in order of ascending keys: in the set, and next to a vertex in the set.
const JOINED: u32 = 0;
const LEFT: u32 = u32::MAX;
#[op]
fn decide_low(own: u32, least: u32) -> u32 {
    if least == JOINED {
        LEFT
    } else if own < least {
        JOINED
    } else {
        own
    }
}
#[op]
fn is_open(key: u32) -> bool {
    key != JOINED && key != LEFT
}

/// Sets. Their first visits are sorted by the body of the first round, in both directions of the order.
#[test]
fn sets_that_are_visited_in_order() {
    // rgg:12 is small and local, and is visited in the order of the indices
    for spec in ["er:17:4", "rmat:16:8", "rgg:12"] {
        let a = Matrix::from_simple(generate(spec, &()).unwrap().graph);
        let (graph, n) = (a.to_graph().unwrap(), a.nrows() as u32);
        for priority in [Priority::Random, Priority::Sorted] {
            let key = priorities(&a, priority, 5).unwrap();
            let order = descending(&key);
            let mut last = vec![0u32; n as usize];
            order.iter().zip(1..).for_each(|(&v, place)| last[v as usize] = place);
            let set = certify::greedy_set(graph.csr().offsets(), graph.csr().columns(), order);
            for threads in [1, 4] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let (highest, lowest) = pool.install(|| {
                    let low = fixpoint(Vector::from_dense(last.clone()))
                        .while_active(is_open)
                        .monotone()
                        .step(|key| decide_low.map2(key, key.vxm(&a, MIN_FIRST).or_identity()))
                        .first_round(|key| decide_low.map2(key, key.vxm(&a, MIN_FIRST).until(GT).or_identity()));
                    (mis_in_order(&a, key.clone()).unwrap().set, low.eval().unwrap().state.to_dense(LEFT))
                });
                let is_in = (0..n).map(|v| highest.get(v).is_some());
                assert!(is_in.eq(set.iter().copied()), "{spec}, {priority:?}, {threads} threads");
                let is_in = lowest.iter().map(|&key| key == JOINED);
                assert!(is_in.eq(set.iter().copied()), "{spec}, {priority:?}, ascending, {threads} threads");
            }
        }
    }
}

/// If visits are sorted the first round's body isn't used, so a pass that changes nothing is no progress.
#[test]
fn a_visit_in_order_that_changes_nothing_is_no_progress() {
    let a = Matrix::from_simple(generate("er:17:2", &()).unwrap().graph);
    let stuck = fixpoint(priorities(&a, Priority::Random, 0).unwrap())
        .while_active(is_open)
        .at_most(1)
        .monotone()
        .step(|key| FIRST.map2(key, key.vxm(&a, MAX_FIRST).or_identity()))
        .first_round(|key| FIRST.map2(key, key.vxm(&a, MAX_FIRST).until(LT).or_identity()));
    let error = stuck.eval().unwrap_err();
    assert!(matches!(error, vxm::Error::Stalled { .. }), "{error}");
}

/// The level of a vertex, or `u32::MAX` if it has none yet. A state of `UNKNOWN` or more is the key of a vertex without a level.
#[op]
fn level_of(vertex: u32, _edge: ()) -> u32 {
    if vertex >= UNKNOWN { u32::MAX } else { vertex }
}
/// Vertices with a level matter, and those with a greater key, which block until they have a level.
#[op]
fn comes_before(own: u32, other: u32) -> Edge {
    if other < UNKNOWN {
        Edge::Relevant
    } else if other > own {
        Edge::Blocking
    } else {
        Edge::Irrelevant
    }
}
const UNKNOWN: u32 = 1 << 31;

/// A vertex' next state: one level above the highest of the vertices before it, once all of them have levels.
fn level_above(own: u32, highest: u32) -> u32 {
    if highest == u32::MAX { own } else { highest + 1 }
}

/// The level of each vertex, by a loop with `above` as its operator, on `threads` threads.
fn levels_by(above: impl BinaryOp<u32, u32, Out = u32>, a: &Matrix, state: &Vector<u32>, threads: usize) -> Vec<u32> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let found = pool.install(|| {
        fixpoint(state.clone())
            .while_active(GE.bind(UNKNOWN))
            .monotone()
            .step(|v| {
                let highest = v.vxm(a, semiring(MAX, level_of)).edge_status(comes_before);
                above.map2(v, highest.or_identity())
            })
            .eval()
    });
    found.unwrap().state.to_dense(0)
}

/// [`level_above`], by an operator that now and then lets its thread run other rayon tasks.
#[derive(Debug, Clone, Copy)]
struct Above;

impl Source for Above {
    fn source(self, _: &mut KernelText) -> String {
        unreachable!("not on a device")
    }
}
impl BinaryOp<u32, u32> for Above {
    type Out = u32;
    fn call(self, own: u32, highest: u32) -> u32 {
        if own.is_multiple_of(64) {
            rayon::yield_now();
        }
        level_above(own, highest)
    }
}

/// An operator may yield its thread to other tasks, tasks of the same loop included.
#[test]
fn operators_that_lend_their_thread() {
    let a = Matrix::from_simple(generate("er:13:6", &()).unwrap().graph);
    let n = a.nrows();
    let state = Vector::from_dense((0..n as u32).map(|v| UNKNOWN | v.wrapping_mul(0x9e37_79b1) >> 1).collect());
    let csr = a.csr();
    let mut levels = vec![UNKNOWN; n];
    for v in descending(&state).into_iter().map(|v| v as usize) {
        let others = csr.row(v).0.iter().map(|&u| levels[u as usize]).filter(|&level| level < UNKNOWN);
        levels[v] = others.max().unwrap_or(0) + 1;
    }
    for threads in [1, 2, 4, 16] {
        for _ in 0..8 {
            assert_eq!(levels_by(Above, &a, &state, threads), levels, "{threads} threads");
        }
    }
}

/// [`level_above`], by an operator that holds up the visit of the highest vertex until the least has been visited.
#[derive(Debug, Clone, Copy)]
struct AboveLast;

const HUB: u32 = u32::MAX - 1;
static LAST: AtomicBool = AtomicBool::new(false);

impl Source for AboveLast {
    fn source(self, _: &mut KernelText) -> String {
        unreachable!("not on a device")
    }
}
impl BinaryOp<u32, u32> for AboveLast {
    type Out = u32;
    fn call(self, own: u32, highest: u32) -> u32 {
        if own == UNKNOWN {
            LAST.store(true, Ordering::Relaxed);
        }
        let begin = Instant::now();
        while own == HUB && !LAST.load(Ordering::Relaxed) {
            assert!(begin.elapsed() < Duration::from_secs(60), "what waits for the hub comes to no end");
            std::thread::yield_now();
        }
        level_above(own, highest)
    }
}

/// All vertices are blocked by the hub. Its visit ends only after that of the last vertex. A thread that waited for the hub would
/// deadlock.
#[test]
fn threads_that_wait_give_up() {
    let n = 40_000u32;
    let edges: Vec<(u32, u32)> = (1..n).map(|v| (0, v)).collect();
    let a = Matrix::undirected(n as usize, &edges).unwrap();
    let state = Vector::from_dense((0..n).map(|v| if v == 0 { HUB } else { UNKNOWN + n - 1 - v }).collect());
    let levels = levels_by(AboveLast, &a, &state, 2);
    assert_eq!(levels[0], 1);
    assert!(levels[1..].iter().all(|&level| level == 2));
}

#[test]
fn random_graphs() {
    let edges = |n: u32| prop::collection::vec((0..n, 0..n), 0..(4 * n as usize));
    // few vertices give dense graphs; many give sparse graphs, and vectors stored as lists
    let graphs = prop_oneof![4 => 1u32..12, 3 => 12u32..60, 1 => 200u32..700]
        .prop_flat_map(move |n| (Just(n), edges(n), any::<u64>()));
    let mut runner = TestRunner::new(Config { cases: 96, failure_persistence: None, ..Config::default() });
    let run = runner.run(&graphs, |(n, edges, seed)| {
        let a = Matrix::undirected(n as usize, &edges).unwrap();
        check(&format!("{n} vertices, edges {edges:?}"), &a, seed, Effort::All);
        Ok(())
    });
    run.unwrap_or_else(|failure| panic!("{failure}"));
}
