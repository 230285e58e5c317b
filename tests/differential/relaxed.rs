//! Loops that relax edges, on the CPU: from few elements at first, in buckets, by push and pull, on several threads.

use crate::fixpoint::{Case, case, every_schedule};
use crate::harness::{Outcome, agree, ok, on_threads, suite};
use vxm::backend::plan::{Forced, Schedule, force};
use vxm::prelude::*;

/// The entries `(i, j)` of a directed graph, with weights: each edge of the case one way, every third both ways.
fn directed(case: &Case, weight: impl Fn(u64) -> u32) -> Vec<(u32, u32, u32)> {
    let of = |i: u32, j: u32| crate::algebra::mix(case.seed ^ u64::from(i) << 32 ^ u64::from(j));
    let there = case.edges.iter().map(|&(i, j)| (i, j, weight(of(i, j))));
    let back = case.edges.iter().filter(|&&(i, j)| of(i, j) % 3 == 0).map(|&(i, j)| (j, i, weight(of(j, i))));
    there.chain(back).collect()
}

/// A state that is `far` but at a few vertices, which hold what `near` makes of their numbers.
fn few<T: Copy>(case: &Case, far: T, near: impl Fn(usize) -> T) -> Vec<T> {
    let mut state = vec![far; case.n];
    for k in 0..(case.n / 9).min(3) {
        let v = crate::algebra::mix(case.seed.wrapping_add(k as u64)) as usize % case.n;
        state[v] = near(v);
    }
    state
}

/// The expected state: edges are relaxed one after another, until a pass over all changes none.
fn settled<T: Element>(mut state: Vec<T>, edges: &[(u32, u32, u32)], join: impl Fn(T, T, u32) -> T) -> Vec<T> {
    loop {
        let mut changed = false;
        for &(i, j, w) in edges {
            let joined = join(state[j as usize], state[i as usize], w);
            changed |= joined.bits() != state[j as usize].bits();
            state[j as usize] = joined;
        }
        if !changed {
            return state;
        }
    }
}

#[op]
fn longer(distance: u64, weight: u32) -> u64 {
    distance.saturating_add(weight as u64)
}
#[op]
fn mirrored(weight: u32, distance: u64) -> u64 {
    distance.saturating_add(weight as u64)
}
#[op]
fn narrower(width: u32, edge: u32) -> u32 {
    width.min(edge)
}
#[op]
fn along(distance: f32, weight: u32) -> f32 {
    distance + (weight as f32)
}
/// Adds 1 to what isn't reached, too: the identity is no annihilator.
#[op]
fn wrapping(level: u32, weight: u32) -> u32 {
    level.max(weight)
}

#[test]
fn shortest_and_widest_paths() {
    suite("relaxed loops: shortest and widest paths", 16, case(), |case| {
        let n = case.n;
        // weights that differ little, and weights that need many buckets
        for spread in [1 << 4, 1 << 22] {
            let edges = directed(&case, |hash| (hash % spread) as u32);
            let a = ok(Matrix::from_triples(n, n, edges.iter().copied()))?;
            // of entries at one place the last counts, as in the matrix
            let edges: Vec<_> = a.iter().collect();
            let start = few(&case, u64::MAX, |v| v as u64);
            let shortest = settled(start.clone(), &edges, |held, x, w| held.min(longer.call(x, w)));
            let state = Vector::from_dense(start.clone());
            let body = |x: StateRef<u64>| x.ewise_add(x.vxm(&a, semiring(MIN, longer)), MIN);
            every_schedule(&shortest, || fixpoint(state.clone()).while_changed().monotone().step(body).eval())?;
            // the product first, and along columns
            let body = |x: StateRef<u64>| a.mxv(x, semiring(MIN, mirrored)).ewise_add(x, MIN);
            let back: Vec<_> = edges.iter().map(|&(i, j, w)| (j, i, w)).collect();
            let shortest = settled(start, &back, |held, x, w| held.min(longer.call(x, w)));
            every_schedule(&shortest, || fixpoint(state.clone()).while_changed().monotone().step(body).eval())?;
            // downwards
            let start = few(&case, 0, |v| u32::MAX - v as u32);
            let widest = settled(start.clone(), &edges, |held, x, w| held.max(x.min(w)));
            let body = |x: StateRef<u32>| x.ewise_add(x.vxm(&a, semiring(MAX, narrower)), MAX);
            every_schedule(&widest, || {
                fixpoint(Vector::from_dense(start.clone())).while_changed().monotone().step(body).eval()
            })?;
            let start = few(&case, f32::INFINITY, |v| v as f32 * 0.5);
            let shortest = settled(start.clone(), &edges, |held, x, w| held.min(x + w as f32));
            let body = |x: StateRef<f32>| x.ewise_add(x.vxm(&a, semiring(MIN, along)), MIN);
            every_schedule(&shortest, || {
                fixpoint(Vector::from_dense(start.clone())).while_changed().monotone().step(body).eval()
            })?;
        }
        Ok(())
    });
}

#[op]
fn hop(level: u32, _edge: ()) -> u32 {
    level.saturating_add(1u32)
}

#[test]
fn levels_and_sets_of_sources() {
    suite("relaxed loops: levels and sets of sources", 16, case(), |case| {
        let (n, edges) = (case.n, directed(&case, |_| 1));
        // a pattern without and with its transpose at hand, and one that is symmetric
        let one_way = ok(Matrix::from_triples(n, n, edges.iter().map(|&(i, j, _)| (i, j, ()))))?;
        let known = one_way.clone();
        known.csr_transposed();
        let undirected = case.matrix();
        for a in [&one_way, &known, &undirected] {
            let edges: Vec<_> = a.iter().map(|(i, j, ())| (i, j, 1)).collect();
            let start = few(&case, u32::MAX, |v| v as u32 % 3);
            let levels = settled(start.clone(), &edges, |held, x, _| held.min(x.saturating_add(1)));
            let body = |x: StateRef<u32>| x.ewise_add(x.vxm(a, semiring(MIN, hop)), MIN);
            every_schedule(&levels, || {
                fixpoint(Vector::from_dense(start.clone())).while_changed().monotone().step(body).eval()
            })?;
            // no order: bits
            let start = few(&case, 0, |v| 1u64 << (v % 64));
            let reached = settled(start.clone(), &edges, |held, x, _| held | x);
            let body = |x: StateRef<u64>| x.ewise_add(x.vxm(a, semiring(BOR, FIRST)), BOR);
            every_schedule(&reached, || {
                fixpoint(Vector::from_dense(start.clone())).while_changed().monotone().step(body).eval()
            })?;
        }
        Ok(())
    });
}

#[test]
fn an_identity_that_spreads_is_not_left_out() {
    suite("relaxed loops: an identity that spreads", 30, case(), |case| {
        let (n, edges) = (case.n, directed(&case, |hash| (hash % 9) as u32));
        let a = ok(Matrix::from_triples(n, n, edges.iter().copied()))?;
        let edges: Vec<_> = a.iter().collect();
        // 0 is the identity of MAX, but 0 max weight isn't 0
        let start = few(&case, 0, |v| v as u32);
        let expected = settled(start.clone(), &edges, |held, x, w| held.max(x.max(w)));
        let body = |x: StateRef<u32>| x.ewise_add(x.vxm(&a, semiring(MAX, wrapping)), MAX);
        every_schedule(&expected, || {
            fixpoint(Vector::from_dense(start.clone())).while_changed().monotone().step(body).eval()
        })
    });
}

/// A path that visits the vertices of `some` in an order without order.
fn wandering(some: std::ops::Range<u32>) -> Vec<(u32, u32, u32)> {
    let mut order: Vec<u32> = some.collect();
    order.sort_by_key(|&v| crate::algebra::mix(u64::from(v)));
    order.windows(2).map(|ends| (ends[0], ends[1], 1)).collect()
}

/// Labels of all elements travel along paths, so that sweeps end before they settle.
#[test]
fn labels_that_travel_far() {
    suite("relaxed loops: labels that travel far", 16, case(), |case| {
        let (n, mut edges) = (case.n, directed(&case, |_| 1));
        edges.extend(wandering(0..n.min(100) as u32));
        edges.sort_unstable();
        edges.dedup();
        let a = ok(Matrix::from_triples(n, n, edges.iter().map(|&(i, j, _)| (i, j, ()))))?;
        let mixed = |v: usize| crate::algebra::mix(case.seed ^ v as u64);
        // along rows and along columns, in order and not, with elements that are the identity, and with equal labels
        let start: Vec<u32> = (0..n as u32).collect();
        let least = settled(start.clone(), &edges, |held, x, _| held.min(x));
        let body = |x: StateRef<u32>| x.ewise_add(x.vxm(&a, MIN_FIRST), MIN);
        every_schedule(&least, || {
            fixpoint(Vector::from_dense(start.clone())).while_changed().monotone().step(body).eval()
        })?;
        let back: Vec<_> = edges.iter().map(|&(i, j, w)| (j, i, w)).collect();
        let start: Vec<u64> = (0..n).map(|v| mixed(v) % 50).collect();
        let greatest = settled(start.clone(), &back, |held, x, _| held.max(x));
        let body = |x: StateRef<u64>| a.mxv(x, semiring(MAX, SECOND)).ewise_add(x, MAX);
        every_schedule(&greatest, || {
            fixpoint(Vector::from_dense(start.clone())).while_changed().monotone().step(body).eval()
        })?;
        let start: Vec<f64> = (0..n).map(|v| mixed(v) as f64 / 1e12 - 9e6).collect();
        let least = settled(start.clone(), &edges, |held, x, _| held.min(x));
        let body = |x: StateRef<f64>| x.ewise_add(x.vxm(&a, MIN_FIRST), MIN);
        every_schedule(&least, || {
            fixpoint(Vector::from_dense(start.clone())).while_changed().monotone().step(body).eval()
        })?;
        // no order: bits that are joined. Sweeps go on
        let start: Vec<u64> = (0..n).map(|v| 1 << (mixed(v) % 64)).collect();
        let reached = settled(start.clone(), &edges, |held, x, _| held | x);
        let body = |x: StateRef<u64>| x.ewise_add(x.vxm(&a, semiring(BOR, FIRST)), BOR);
        every_schedule(&reached, || {
            fixpoint(Vector::from_dense(start.clone())).while_changed().monotone().step(body).eval()
        })
    });
}

/// The state of `run` on eight threads and on one, compared with that of a loop in rounds.
fn as_in_rounds<T: Element>(what: &str, run: impl Fn() -> Result<Fixed<T>> + Sync) -> Outcome {
    let rounds = Forced { schedule: Some(Schedule::Rounds), ..Forced::default() };
    let expected: Vec<Option<T>> = ok(force(rounds, &run))?.state.iter().map(|(_, x)| Some(x)).collect();
    for threads in [1, 2, 8] {
        for _ in 0..3 {
            agree((what, threads), &expected, &ok(on_threads(threads, &run))?.state)?;
        }
    }
    Ok(())
}

#[test]
fn wide_rounds_are_pulled_and_shared_out() -> Outcome {
    for spec in ["rmat:14:16", "kron:13:24", "er:14:8", "grid:150x150", "road:120"] {
        let a = Matrix::from_simple(ok(vxm::io::generate(spec, &()))?.graph);
        let source = a.csr().longest() as u32;
        as_in_rounds(spec, || {
            let mut level = vec![u32::MAX; a.nrows()];
            level[source as usize] = 0;
            let body = |x: StateRef<u32>| x.ewise_add(x.vxm(&a, semiring(MIN, hop)), MIN);
            fixpoint(Vector::from_dense(level)).while_changed().monotone().step(body).eval()
        })?;
        let w = ok(vxm::algorithms::weights(&a, 0, 1000, 1))?;
        as_in_rounds(spec, || {
            let mut distance = vec![u64::MAX; a.nrows()];
            distance[source as usize] = 0;
            let body = |x: StateRef<u64>| x.ewise_add(x.vxm(&w, semiring(MIN, longer)), MIN);
            fixpoint(Vector::from_dense(distance)).while_changed().monotone().step(body).eval()
        })?;
    }
    Ok(())
}

/// A label comes along a path to a star with many leaves, which lead to a second star.
#[test]
fn labels_that_reach_many_at_once() -> Outcome {
    let n = 60_000u32;
    let mut edges = wandering(0..900);
    let last = edges[edges.len() - 1].1;
    edges.extend((1000..40_000).flat_map(|leaf| [(last, leaf, 1), (leaf, 900, 1)]));
    edges.extend((40_000..n - 1).flat_map(|leaf| [(900, leaf, 1), (leaf, leaf + 1, 1)]));
    let pattern = || edges.iter().map(|&(i, j, _)| (i, j, ()));
    let (one_way, known) = (
        ok(Matrix::from_triples(n as usize, n as usize, pattern()))?,
        ok(Matrix::from_triples(n as usize, n as usize, pattern()))?,
    );
    known.csr_transposed();
    for a in [&one_way, &known] {
        as_in_rounds("labels that reach many", || {
            let body = |x: StateRef<u32>| x.ewise_add(x.vxm(a, MIN_FIRST), MIN);
            fixpoint(Vector::from_dense((0..n).map(|v| v ^ 0x55).collect()))
                .while_changed()
                .monotone()
                .step(body)
                .eval()
        })?;
    }
    Ok(())
}

#[op]
fn plus(distance: f32, weight: f32) -> f32 {
    distance + weight
}

#[test]
fn falling_distances_settle_or_are_refused() {
    suite("relaxed loops: negative weights", 40, case(), |case| {
        let n = case.n;
        // edges from lower to higher numbers only, so that no cycle is negative
        let edges = directed(&case, |hash| (hash % 41) as u32).into_iter();
        let edges = edges.filter(|&(i, j, _)| i < j).map(|(i, j, w)| (i, j, w as f32 - 20.0));
        let a = ok(Matrix::from_triples(n, n, edges))?;
        let mut expected = few(&case, f32::INFINITY, |_| 0.0);
        let start = expected.clone();
        for i in 0..n as u32 {
            for (&j, &w) in a.csr().row(i as usize).0.iter().zip(a.csr().row(i as usize).1) {
                expected[j as usize] = expected[j as usize].min(expected[i as usize] + w);
            }
        }
        let body = |x: StateRef<f32>| x.ewise_add(x.vxm(&a, semiring(MIN, plus)), MIN);
        every_schedule(&expected, || {
            fixpoint(Vector::from_dense(start.clone())).while_changed().monotone().step(body).eval()
        })
    });
    let ring: Vec<_> = (0..64u32).map(|i| (i, (i + 1) % 64, if i == 9 { -64.0f32 } else { 1.0 })).collect();
    let error = vxm::algorithms::sssp(&Matrix::from_triples(64, 64, ring).unwrap(), 3).unwrap_err().to_string();
    assert_eq!(error, "sssp: 3 reaches a cycle of negative weight");
}
