//! Loops with several steps a round: every format, strategy and schedule on every device reaches the same state, bit for bit, as a
//! plain loop over plain vectors. A test program of its own, so that it compiles quickly.

#[path = "../algebra.rs"]
#[allow(dead_code)]
mod algebra;
#[path = "../harness.rs"]
#[allow(dead_code)]
mod harness;

use harness::{Outcome, agree, dry_run, ok, on_device, on_threads, same, suite};
use proptest::prelude::*;
use vxm::backend::plan::{Forced, Format, Schedule, Strategy as Way, force};
use vxm::prelude::*;

/// An undirected graph.
#[derive(Debug, Clone)]
struct Case {
    n: usize,
    edges: Vec<(u32, u32)>,
    seed: u64,
}

impl Case {
    fn neighbors(&self) -> Vec<Vec<usize>> {
        let mut near = vec![Vec::new(); self.n];
        for &(i, j) in &self.edges {
            near[i as usize].push(j as usize);
            near[j as usize].push(i as usize);
        }
        near
    }

    fn matrix(&self) -> Matrix {
        Matrix::undirected(self.n, &self.edges).unwrap()
    }

    /// A key for each vertex: the numbers 1 to n, shuffled.
    fn keys(&self) -> Vec<u32> {
        let mut order: Vec<usize> = (0..self.n).collect();
        order.sort_by_key(|&v| algebra::mix(self.seed ^ v as u64));
        let mut keys = vec![0; self.n];
        order.iter().zip(1..).for_each(|(&v, key)| keys[v] = key);
        keys
    }
}

/// Random graphs, meshes and graphs with hubs, of few vertices or of so many that lists have several chunks.
fn case() -> impl Strategy<Value = Case> {
    let sizes = prop_oneof![6 => 1..60usize, 3 => 60..900usize, 1 => 9000..20_000usize];
    (sizes, 0..5usize, 0..3u32, 0..4usize, any::<u64>()).prop_map(|(n, mean, hubs, width, seed)| {
        let draw = |k: usize| (algebra::mix(seed.wrapping_add(k as u64)) % n as u64) as u32;
        let mut edges: Vec<(u32, u32)> = (0..n * mean / 2).map(|k| (draw(2 * k), draw(2 * k + 1))).collect();
        // a mesh: near the diagonal, tiles are full
        edges.extend((0..n).flat_map(|i| (1..=width).map(move |d| (i as u32, (i + d) as u32))));
        edges.extend((0..hubs).flat_map(|h| (0..n as u32).map(move |j| (h % n as u32, j))));
        edges.retain(|&(i, j)| i != j && (j as usize) < n);
        edges.iter_mut().for_each(|edge| *edge = (edge.0.min(edge.1), edge.0.max(edge.1)));
        edges.sort_unstable();
        edges.dedup();
        Case { n, edges, seed }
    })
}

const ALIVE: u32 = 1;
const CHOSEN: u32 = 2;
const IN: u32 = 3;
const OUT: u32 = 4;

#[op]
fn is_open(s: u32) -> bool {
    s == ALIVE || s == CHOSEN
}
#[op]
fn elect(s: u32, key: u32, best: u32) -> u32 {
    if s == CHOSEN {
        IN
    } else if key > best {
        CHOSEN
    } else {
        s
    }
}
#[op]
fn leave(s: u32, counted: u32) -> u32 {
    if s == ALIVE && counted > 0u32 { OUT } else { s }
}
#[op]
fn leave_if(s: u32, counted: bool) -> u32 {
    if s == ALIVE && counted { OUT } else { s }
}
#[op]
fn is_open_byte(s: u8) -> bool {
    s == 1u8 || s == 2u8
}
#[op]
fn elect_byte(s: u8, key: u32, best: u32) -> u8 {
    if s == 2u8 {
        3u8
    } else if key > best {
        2u8
    } else {
        s
    }
}
#[op]
fn leave_byte(s: u8, _counted: bool) -> u8 {
    if s == 1u8 { 4u8 } else { s }
}

/// Luby's algorithm over plain vectors: the members of the set, which is the greedy set in descending order of keys.
fn members(case: &Case, keys: &[u32]) -> Vec<bool> {
    let near = case.neighbors();
    let mut order: Vec<usize> = (0..case.n).collect();
    order.sort_by_key(|&v| std::cmp::Reverse(keys[v]));
    let mut member = vec![false; case.n];
    for v in order {
        member[v] = near[v].iter().all(|&u| !member[u]);
    }
    member
}

/// All ways to run a loop: by format, strategy and schedule.
fn ways() -> Vec<Forced> {
    let formats = [None, Some(Format::Csr), Some(Format::Tiles)];
    let strategies = [None, Some(Way::FoldRows), Some(Way::CountTiles), Some(Way::CountTilesBits)];
    let schedules = [None, Some(Schedule::Stale(1)), Some(Schedule::Stale(0xdead_beef))];
    let mut ways = Vec::new();
    for format in formats {
        for strategy in strategies {
            ways.extend(schedules.map(|schedule| Forced { format, strategy, schedule, ..Forced::default() }));
        }
    }
    ways
}

/// Checks that `run` reaches the `expected` state in every way, on one and on two threads.
fn every_way<T: Element>(expected: &[T], run: impl Fn() -> Result<Fixed<T>> + Sync) -> Outcome {
    let expected: Vec<Option<T>> = expected.iter().copied().map(Some).collect();
    for (way, threads) in ways().into_iter().flat_map(|way| [(way, 1), (way, 2)]) {
        let found = ok(on_threads(threads, || force(way, &run)))?;
        agree((way, threads), &expected, &found.state)?;
    }
    Ok(())
}

#[test]
fn two_steps() {
    suite("rounds: two steps", 8, case(), |case| {
        let (a, keys) = (case.matrix(), case.keys());
        let key = Vector::from_dense(keys.clone());
        let member = members(&case, &keys);
        let expected: Vec<u32> = member.iter().map(|&member| if member { IN } else { OUT }).collect();
        let key = &key;
        let start = || fixpoint(Vector::full(case.n, ALIVE)).while_active(is_open);
        every_way(&expected, || {
            start()
                .monotone()
                .step(|s| elect.map3(s, key, key.mask(s.select(is_open)).vxm(&a, MAX_FIRST).or_identity()))
                .then(|s| leave.map2(s, s.select(EQ.bind(CHOSEN)).vxm(&a, PLUS_PAIR)))
                .eval()
        })?;
        // what others write in a step isn't seen in it, and the count is a truth value
        every_way(&expected, || {
            start()
                .step(|s| {
                    elect.map3(s, key, key.mask(s.select(EQ.bind(ALIVE))).vxm(&a, MAX_FIRST).until(LT).or_identity())
                })
                .then(|s| {
                    leave_if
                        .map2(s, s.select(EQ.bind(CHOSEN)).vxm(&a, LOR_PAIR).or_identity())
                        .mask(s.select(EQ.bind(ALIVE)))
                })
                .eval()
        })?;
        let bytes: Vec<u8> = expected.iter().map(|&s| s as u8).collect();
        every_way(&bytes, || {
            fixpoint(Vector::full(case.n, 1u8))
                .while_active(is_open_byte)
                .monotone()
                .step(|s| elect_byte.map3(s, key, key.mask(s.select(is_open_byte)).vxm(&a, MAX_TIMES).or_identity()))
                .then(|s| leave_byte.map2(s, a.mxv(s.select(EQ.bind(2u8)), LOR_PAIR)))
                .eval()
        })
    });
}

const FRESH: u64 = 0;
const SEEN: u64 = 7;

#[op]
fn below(s: u64) -> bool {
    s < 1000u64
}
#[op]
fn add_count(s: u64, count: u32) -> u64 {
    s + count as u64 + 1u64
}
#[op]
fn double(s: u64) -> u64 {
    s * 2u64 + 1u64
}
#[op]
fn is_odd(s: u64) -> bool {
    s % 2u64 == 1u64
}
#[op]
fn add_best(s: u64, best: u64) -> u64 {
    s + best % 5u64
}

/// Four steps without the claim of `monotone`: counts of odd neighbours, a step without a product, the greatest state of a neighbour, and
/// counts of small neighbours.
#[test]
fn four_steps_in_lockstep() {
    suite("rounds: four steps", 5, case(), |case| {
        let (a, near) = (case.matrix(), case.neighbors());
        let start: Vec<u64> = (0..case.n as u64).map(|v| algebra::mix(case.seed ^ v) % 2 * SEEN + FRESH).collect();
        let mut state = start.clone();
        let step = |state: &mut Vec<u64>, next: &dyn Fn(&[u64], usize) -> Option<u64>| {
            let old = state.clone();
            for v in 0..old.len() {
                if old[v] < 1000
                    && let Some(x) = next(&old, v)
                {
                    state[v] = x;
                }
            }
        };
        while state.iter().any(|&s| s < 1000) {
            step(&mut state, &|s, v| Some(s[v] + near[v].iter().filter(|&&u| s[u] % 2 == 1).count() as u64 + 1));
            step(&mut state, &|s, v| Some(s[v] * 2 + 1));
            step(&mut state, &|s, v| near[v].iter().map(|&u| s[u]).max().map(|best| s[v] + best % 5));
            step(&mut state, &|s, v| {
                let count = near[v].iter().filter(|&&u| s[u] < 1000).count() as u64;
                (count > 0 && s[v] % 2 == 1).then_some(s[v] + count + 1)
            });
        }
        every_way(&state, || {
            fixpoint(Vector::from_dense(start.clone()))
                .while_active(below)
                .step(|s| add_count.map2(s, s.select(is_odd).vxm(&a, PLUS_PAIR).or_identity()))
                .then(|s| s.map(double))
                .then(|s| add_best.map2(s, s.vxm(&a, MAX_FIRST)))
                .then(|s| add_count.map2(s, s.select(below).vxm(&a, PLUS_PAIR)).mask(s.select(is_odd)))
                .eval()
        })
    });
}

#[test]
fn steps_that_are_not_fused() {
    // the operand of a product is a product, so the loop runs operation by operation
    suite("rounds: not fused", 5, case(), |mut case| {
        case.edges.retain(|&(i, j)| i < 600 && j < 600);
        case.n = case.n.min(600);
        let (a, near) = (case.matrix(), case.neighbors());
        let mut state = vec![FRESH; case.n];
        while state.iter().any(|&s| s < 1000) {
            let old = state.clone();
            // how many walks of two edges begin at each vertex, among vertices that are still below
            let once: Vec<u32> =
                near.iter().map(|near| near.iter().filter(|&&u| old[u] < 1000).count() as u32).collect();
            let twice = |v: usize| near[v].iter().map(|&u| once[u]).sum::<u32>();
            let old: Vec<u64> =
                (0..case.n).map(|v| if old[v] < 1000 { old[v] + u64::from(twice(v)) + 1 } else { old[v] }).collect();
            state = old.iter().map(|&s| if s < 1000 { s * 2 + 1 } else { s }).collect();
        }
        every_way(&state, || {
            fixpoint(Vector::full(case.n, FRESH))
                .while_active(below)
                .step(|s| add_count.map2(s, s.select(below).vxm(&a, PLUS_PAIR).vxm(&a, PLUS_FIRST).or_identity()))
                .then(|s| s.map(double))
                .eval()
        })
    });
}

#[op]
fn flip(s: u32) -> u32 {
    5u32 - s
}

#[test]
fn loops_that_do_not_end() {
    if dry_run().is_some() {
        return;
    }
    let a = Matrix::undirected(3, &[(0, 1), (1, 2)]).unwrap();
    let start = || fixpoint(Vector::from_dense(vec![0u32, 5, 0])).while_active(LT.bind(9));
    let error = |result: Result<Fixed<u32>>| result.unwrap_err().to_string();
    let found = error(on_device(|| start().at_most(10).step(|s| s.map(flip)).then(|s| s.map(IDENTITY)).eval()));
    assert!(found.ends_with("fixpoint: did not converge: round 10 still changed some of 3 elements"), "{found}");
    let found = error(on_device(|| start().step(|s| s.map(IDENTITY)).then(|s| s.map(IDENTITY)).eval()));
    assert!(found.contains("stalled") && found.contains("3 active elements"), "{found}");
    // a step changes something although the next one undoes it, so the loop doesn't stall
    let found = error(on_device(|| start().at_most(7).step(|s| s.map(flip)).then(|s| s.map(flip)).eval()));
    assert!(found.ends_with("fixpoint: did not converge: round 7 still changed some of 3 elements"), "{found}");
    let short = Vector::from_dense(vec![1u32; 2]);
    let found = error(on_device(|| start().step(|s| s.map(flip)).then(|_| short.map(flip)).eval()));
    assert!(found.ends_with("fixpoint: state of 3 does not fit body of 2"), "{found}");
    let found =
        error(on_device(|| start().step(|s| s.map(flip)).then(|s| s.ewise_add(short.vxm(&a, MAX_FIRST), MAX)).eval()));
    assert!(found.ends_with("vxm: vector of 2 does not fit matrix of 3 x 3"), "{found}");
    let part = Vector::from_options(&[Some(1u32), None, Some(2)]);
    let found =
        error(on_device(|| fixpoint(part).while_active(LT.bind(9)).step(|s| s.map(flip)).then(|s| s.map(flip)).eval()));
    assert!(found.ends_with("fixpoint: the state has 2 of 3 elements: expected all"), "{found}");
}

#[test]
fn nothing_to_do() {
    if dry_run().is_some() {
        return;
    }
    for n in [0, 5] {
        let run = || {
            fixpoint(Vector::full(n, 9u32)).while_active(LT.bind(9)).step(|s| s.map(flip)).then(|s| s.map(flip)).eval()
        };
        let found = on_device(run).unwrap();
        assert_eq!((found.state, found.rounds), (Vector::full(n, 9u32), 0));
    }
    // what follows the loop is queued behind it
    let twice = |s: StateRef<u32>| s.map(PLUS.bind(4));
    let run = || {
        fixpoint(Vector::full(5, 1u32)).while_active(LT.bind(9)).step(twice).then(twice).eval_then(|s| s.reduce(PLUS))
    };
    assert_eq!(on_device(run).unwrap(), (45, 1));
    same("states", 5, 5).unwrap();
}
