//! Loops with `while_changed`: every schedule reaches the same state, bit for bit, as plain rounds over plain vectors.

use crate::fixpoint::{Case, Longer, case, every_schedule, extend};
use crate::harness::{Outcome, agree, dry_run, ok, suite};
use vxm::backend::plan::{Forced, Schedule, force};
use vxm::containers::VectorFormat;
use vxm::prelude::*;

/// The expected state: rounds over all elements, each reading the state of the round before, until none changes.
fn rounds<T: Element>(start: &[T], next: impl Fn(&[T], usize) -> T) -> Vec<T> {
    let mut state = start.to_vec();
    loop {
        let new: Vec<T> = (0..state.len()).map(|v| next(&state, v)).collect();
        let changed = new.iter().zip(&state).any(|(x, y)| x.bits() != y.bits());
        state = new;
        if !changed {
            return state;
        }
    }
}

fn expect<T: Element>(what: &str, expected: Vec<T>, found: Result<Fixed<T>>) -> Outcome {
    let expected: Vec<Option<T>> = expected.into_iter().map(Some).collect();
    agree(what, &expected, &ok(found)?.state)
}

/// The weight of an edge, from 1 to 16.
fn weight_of(case: &Case, i: u32, j: u32) -> u32 {
    1 + (crate::algebra::mix(case.seed ^ u64::from(i.min(j)) << 32 ^ u64::from(i.max(j))) % 16) as u32
}

/// The case's edges from lower to higher keys, with weights.
fn upwards(case: &Case) -> Vec<(u32, u32, u32)> {
    let keys = case.keys();
    let up = |&(i, j): &(u32, u32)| if keys[i as usize] < keys[j as usize] { (i, j) } else { (j, i) };
    case.edges.iter().map(up).map(|(i, j)| (i, j, weight_of(case, i, j))).collect()
}

/// For each vertex, the sources of its incoming edges with their weights.
fn into(n: usize, edges: &[(u32, u32, u32)]) -> Vec<Vec<(usize, u32)>> {
    let mut sources = vec![Vec::new(); n];
    edges.iter().for_each(|&(i, j, w)| sources[j as usize].push((i as usize, w)));
    sources
}

#[op]
fn hop(level: u32, _edge: ()) -> u32 {
    level.saturating_add(1u32)
}

#[test]
fn levels_and_labels() {
    suite("while_changed: levels and labels", 60, case(), |case| {
        let (a, n, near) = (case.matrix(), case.n, case.neighbors());
        let mut start = vec![u32::MAX; n];
        start[case.seed as usize % n] = 0;
        let of = |state: &[u32], v: usize| near[v].iter().map(|&u| state[u as usize]).min().unwrap_or(u32::MAX);
        let expected = rounds(&start, |state, v| state[v].min(of(state, v).saturating_add(1)));
        let state = Vector::from_dense(start);
        let ring = semiring(MIN, hop);
        every_schedule(&expected, || {
            fixpoint(state.clone()).while_changed().monotone().step(|x| x.ewise_add(x.vxm(&a, ring), MIN)).eval()
        })?;
        let numbers: Vec<u32> = (0..n as u32).collect();
        let expected = rounds(&numbers, |state, v| state[v].min(of(state, v)));
        let state = Vector::from_dense(numbers);
        every_schedule(&expected, || {
            fixpoint(state.clone())
                .while_changed()
                .monotone()
                .step(|f| f.ewise_add(f.vxm(&a, MIN_FIRST), MIN).ewise_mult(f.gather(f), MIN))
                .eval()
        })?;
        // a state that is stored as a list, and a reduction after the loop
        let listed = state.with_format(VectorFormat::Sparse);
        let body = |f: StateRef<u32>| f.ewise_add(f.vxm(&a, MIN_FIRST), MIN);
        let (most, _) = ok(fixpoint(listed).while_changed().monotone().step(body).eval_then(|f| f.reduce(MAX)))?;
        crate::harness::same("the last component", expected.iter().copied().max().unwrap_or(0), most)
    });
}

#[op]
fn longer(distance: u64, weight: u32) -> u64 {
    distance.saturating_add(weight as u64)
}
#[op]
fn further(distance: f32, weight: u32) -> f32 {
    distance + (weight as f32)
}

#[test]
fn distances_along_directed_edges() {
    suite("while_changed: distances", 24, case(), |case| {
        let (n, edges) = (case.n, upwards(&case));
        let a = ok(Matrix::from_triples(n, n, edges.iter().copied()))?;
        let sources = into(n, &edges);
        let back = into(n, &edges.iter().map(|&(i, j, w)| (j, i, w)).collect::<Vec<_>>());
        let start: Vec<u64> = (0..n).map(|v| if v % 7 == 0 { 0 } else { u64::MAX }).collect();
        let along = |sources: &[Vec<(usize, u32)>]| {
            rounds(&start, |state, v| {
                sources[v].iter().map(|&(u, w)| longer.call(state[u], w)).min().unwrap_or(u64::MAX).min(state[v])
            })
        };
        let state = Vector::from_dense(start.clone());
        let ring = semiring(MIN, longer);
        every_schedule(&along(&sources), || {
            fixpoint(state.clone()).while_changed().monotone().step(|x| x.ewise_add(x.vxm(&a, ring), MIN)).eval()
        })?;
        let mirror = semiring(MIN, mirrored);
        every_schedule(&along(&back), || {
            fixpoint(state.clone()).while_changed().monotone().step(|x| x.ewise_add(a.mxv(x, mirror), MIN)).eval()
        })?;
        // edges in both directions: products over a matrix and over its transpose
        let both: Vec<Vec<_>> = sources.iter().zip(&back).map(|(x, y)| [&x[..], y].concat()).collect();
        every_schedule(&along(&both), || {
            fixpoint(state.clone())
                .while_changed()
                .monotone()
                .step(|x| x.ewise_add(x.vxm(&a, ring), MIN).ewise_add(a.mxv(x, mirror), MIN))
                .eval()
        })?;
        let start: Vec<f32> = (0..n).map(|v| if v % 7 == 0 { 0.5 } else { f32::INFINITY }).collect();
        let expected =
            rounds(&start, |state, v| sources[v].iter().map(|&(u, w)| state[u] + w as f32).fold(state[v], f32::min));
        let state = Vector::from_dense(start);
        every_schedule(&expected, || {
            fixpoint(state.clone())
                .while_changed()
                .monotone()
                .step(|x| x.ewise_add(x.vxm(&a, semiring(MIN, further)), MIN))
                .eval()
        })
    });
}

/// [`longer`] with the operands swapped, for `mxv`.
#[op]
fn mirrored(weight: u32, distance: u64) -> u64 {
    distance.saturating_add(weight as u64)
}

/// The width of a path, continued through one more pipe.
#[op]
fn narrow(width: u32, pipe: u32) -> u32 {
    if width < pipe { width } else { pipe }
}
/// The greater of two, but `best` counts as 15 at most.
#[op]
fn widened(own: u32, best: u32) -> u32 {
    if own >= best { own } else { best.min(15u32) }
}

#[test]
fn an_operator_and_a_monoid_of_ones_own() {
    suite("while_changed: widest paths", 40, case(), |case| {
        let (n, edges) = (case.n, upwards(&case));
        let a = ok(Matrix::from_triples(n, n, edges.iter().copied()))?;
        let sources = into(n, &edges);
        let start: Vec<u32> = (0..n as u32).map(|v| if v % 5 == 0 { v % 20 } else { 0 }).collect();
        let expected = rounds(&start, |state, v| {
            let best = sources[v].iter().map(|&(u, w)| state[u].min(w)).max().unwrap_or(0);
            if state[v] >= best { state[v] } else { best.min(15) }
        });
        let state = Vector::from_dense(start);
        every_schedule(&expected, || {
            fixpoint(state.clone())
                .while_changed()
                .monotone()
                .step(|x| widened.map2(x, x.vxm(&a, semiring(Longer, narrow)).or_identity()))
                .eval()
        })
    });
}

/// One less than before, or 0 if no neighbour is above 0.
#[op]
fn fall(own: u32, best: u32) -> u32 {
    if own > 0u32 && best > 0u32 { own - 1u32 } else { 0u32 }
}
/// The lesser of two elements.
#[op]
fn least(own: u32, other: u32) -> u32 {
    own.min(other)
}

#[test]
fn what_only_rounds_reach() {
    suite("while_changed: not monotone", 40, case(), |case| {
        let (a, n, near) = (case.matrix(), case.n, case.neighbors());
        let start: Vec<u32> = case.keys().iter().map(|&key| key as u32 % 7).collect();
        let best = |state: &[u32], v: usize| near[v].iter().map(|&u| state[u as usize]).max();
        let state = || fixpoint(Vector::from_dense(start.clone())).while_changed();
        // not monotone: the result depends on which states are read, so only rounds are used, whatever schedule is forced
        let expected = rounds(&start, |state, v| fall.call(state[v], best(state, v).unwrap_or(0)));
        every_schedule(&expected, || state().step(|x| fall.map2(x, x.vxm(&a, MAX_FIRST).or_identity())).eval())?;
        // a product of a product: every round visits all elements
        let twice = |state: &[u32], v: usize| near[v].iter().filter_map(|&u| best(state, u as usize)).max();
        if n < 1000 {
            expect(
                "a product of a product",
                rounds(&start, |state, v| fall.call(state[v], twice(state, v).unwrap_or(0))),
                state().step(|x| fall.map2(x, x.vxm(&a, MAX_FIRST).vxm(&a, MAX_FIRST).or_identity())).eval(),
            )?;
        }
        // no product: each element depends on itself alone
        expect(
            "no product",
            rounds(&start, |state, v| state[v].saturating_sub(1)),
            state().step(|x| x.map(MINUS.bind(1)).mask(x.values())).eval(),
        )?;
        // a body that does not read the state
        let other = Vector::from_pairs(n, (0..n as u32).step_by(3).map(|v| (v, v)));
        let other = ok(other)?;
        let expected = (0..n).map(|v| if v % 3 == 0 { v as u32 } else { start[v] }).collect();
        expect("a constant", expected, state().step(|_| other.map(PLUS.bind(0))).eval())
    });
}

#[test]
fn what_is_read_through_masks_limits_and_places() {
    suite("while_changed: masks, limits, places", 10, case(), |case| {
        let (a, n, near) = (case.matrix(), case.n, case.neighbors());
        let start: Vec<u32> = case.keys().iter().map(|&key| key as u32).collect();
        let fresh = || Vector::from_dense(start.clone());
        let min = |state: &[u32], v: usize| near[v].iter().map(|&u| state[u as usize]).min().unwrap_or(u32::MAX);
        let max = |state: &[u32], v: usize| near[v].iter().map(|&u| state[u as usize]).max().unwrap_or(0);
        // elements that the mask leaves out keep their values
        let odd = ok(Set::from_indices(n, (0..n as u32).filter(|v| v % 2 == 1)))?;
        let expected = rounds(&start, |state, v| if v % 2 == 1 { state[v].min(min(state, v)) } else { state[v] });
        every_schedule(&expected, || {
            fixpoint(fresh())
                .while_changed()
                .monotone()
                .step(|x| x.ewise_add(x.vxm(&a, MIN_FIRST), MIN).mask(&odd))
                .eval()
        })?;
        // a mask that is a product of the state: vertices with a neighbour below 3 become 1
        let expected = rounds(&start, |state, v| if min(state, v) < 3 { 1.min(state[v]) } else { state[v] });
        every_schedule(&expected, || {
            fixpoint(fresh())
                .while_changed()
                .monotone()
                .step(|x| x.map(MIN.bind(1)).mask(x.select(LT.bind(3)).vxm(&a, MIN_FIRST)))
                .eval()
        })?;
        // `until` and `edge_status` read the row's own element
        let expected = rounds(&start, |state, v| {
            let above = near[v].iter().map(|&u| state[u as usize]).filter(|&x| state[v] < x).max();
            above.unwrap_or(state[v])
        });
        every_schedule(&expected, || {
            fixpoint(fresh()).while_changed().monotone().step(|x| x.vxm(&a, MAX_FIRST).edge_status(LT)).eval()
        })?;
        let expected = rounds(&start, |state, v| state[v].max(u32::from(max(state, v) > state[v]) * u32::MAX));
        every_schedule(&expected, || {
            fixpoint(fresh())
                .while_changed()
                .monotone()
                .step(|x| full_above.map2(x, x.vxm(&a, MAX_FIRST).until(LT).or_identity()))
                .eval()
        })?;
        // `extract` reads any element, so every round visits all elements
        let from: Vec<u32> = (0..n as u32).map(|v| v / 2).collect();
        let expected = rounds(&start, |state, v| state[v].min(state[v / 2]));
        every_schedule(&expected, || {
            fixpoint(fresh()).while_changed().monotone().step(|x| least.map2(x, x.extract(&from))).eval()
        })?;
        // where `gather` finds no element the state stays as it is; a product is evaluated before `gather` reads from it
        let parents = Vector::from_dense((0..n as u32).map(|v| v + 1).collect());
        let expected = rounds(&start, |state, v| if v + 1 < n { state[v].min(min(state, v + 1)) } else { state[v] });
        every_schedule(&expected, || {
            fixpoint(fresh())
                .while_changed()
                .monotone()
                .step(|x| x.ewise_add(x.vxm(&a, MIN_FIRST).gather(&parents), MIN))
                .eval()
        })
    });
}

/// All bits set, if a neighbour is above.
#[op]
fn full_above(own: u32, best: u32) -> u32 {
    if best > own { u32::MAX } else { own }
}

#[test]
fn paths_that_take_many_rounds() {
    crate::harness::on_device(|| {
        // a path against the order of visits. For some `n` it is longer than a list that one thread processes
        for n in [1usize, 2, 64, 65, 1000, 10_000] {
            let edges: Vec<(u32, u32, ())> = (1..n as u32).map(|v| (v, v - 1, ())).collect();
            let a = Matrix::from_triples(n, n, edges).unwrap();
            let mut start = vec![u32::MAX; n];
            start[n - 1] = 0;
            for schedule in [None, Some(Schedule::Rounds), Some(Schedule::Sweeps(0))] {
                if dry_run().is_some() && n > 64 {
                    continue;
                }
                let forced = Forced { schedule, ..Forced::default() };
                let found = force(forced, || {
                    fixpoint(Vector::from_dense(start.clone()))
                        .while_changed()
                        .monotone()
                        .step(|x| x.ewise_add(x.vxm(&a, semiring(MIN, hop)), MIN))
                        .eval()
                });
                let expected = (0..n as u32).rev().map(Some).collect::<Vec<_>>();
                agree((n, schedule), &expected, &found.unwrap().state).unwrap();
            }
        }
    });
}

#[test]
fn what_does_not_end_or_does_not_fit_is_refused() {
    crate::harness::on_device(|| {
        let a = Matrix::undirected(3, &[(0, 1), (1, 2)]).unwrap();
        for schedule in [Schedule::Rounds, Schedule::Asynchronous, Schedule::Stale(3)] {
            let forced = Forced { schedule: Some(schedule), ..Forced::default() };
            let climb = fixpoint(Vector::full(3, 0u32)).while_changed().monotone().at_most(100);
            let climb = climb.step(|x| x.vxm(&a, semiring(Longer, extend)));
            let line = line!() - 1;
            let found = force(forced, || climb.eval());
            if dry_run().is_none() {
                let error = found.unwrap_err().to_string();
                assert!(error.starts_with(&format!("{}:{line}:", file!())), "{error}");
                assert!(
                    error.contains(": fixpoint: did not converge: round ") && error.contains(" still changed "),
                    "{error}"
                );
            }
        }
        let flip = |n: usize| fixpoint(Vector::full(n, 0u32)).while_changed();
        let by = |x: StateRef<u32>| x.map(MINUS.bind_first(1));
        if dry_run().is_none() {
            let error = flip(1).at_most(7).step(by).eval().unwrap_err().to_string();
            assert!(error.ends_with("fixpoint: did not converge: round 7 still changed 1 element"), "{error}");
            let error = flip(5).at_most(0).step(by).eval().unwrap_err().to_string();
            assert!(error.ends_with("fixpoint: did not converge: round 1 still changed 5 elements"), "{error}");
        }
        // nothing to do
        assert_eq!(flip(0).step(by).eval().unwrap().state.len(), 0);
        let still = flip(4).at_most(0).step(|x| x.map(PLUS.bind(0))).eval().unwrap();
        assert!(still.rounds == 1 || dry_run().is_some());
        let partial = Vector::from_pairs(3, [(1, 5u32)]).unwrap();
        let found = fixpoint(partial).while_changed().step(by).eval();
        assert!(found.unwrap_err().to_string().ends_with("the state has 1 of 3 elements: expected all"));
        let found = flip(2).step(|x| x.vxm(&a, MAX_FIRST)).eval();
        assert!(found.unwrap_err().to_string().ends_with("fixpoint: state of 2 does not fit body of 3"));
    });
}
