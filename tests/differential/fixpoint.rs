//! Loops with `while_active`: every schedule on every device reaches the same state, bit for bit, as a plain loop over plain vectors.

mod edges;

use crate::harness::{agree, dry_run, ok, on_threads, same, suite};
use proptest::prelude::*;
use vxm::backend::plan::{Forced, Schedule, force};
use vxm::prelude::*;
use vxm::semiring::{KernelText, Source};

/// An undirected graph. [`case`] generates random edges and a few hubs.
#[derive(Debug, Clone)]
pub struct Case {
    pub n: usize,
    pub edges: Vec<(u32, u32)>,
    pub seed: u64,
}

impl Case {
    /// Makes a graph of edges in any order. Self-loops and repeated edges are dropped.
    fn new(n: usize, mut edges: Vec<(u32, u32)>, seed: u64) -> Self {
        edges.iter_mut().for_each(|edge| *edge = (edge.0.min(edge.1), edge.0.max(edge.1)));
        edges.retain(|edge| edge.0 != edge.1);
        edges.sort_unstable();
        edges.dedup();
        Self { n, edges, seed }
    }

    pub fn neighbors(&self) -> Vec<Vec<u32>> {
        let mut near = vec![Vec::new(); self.n];
        for &(i, j) in &self.edges {
            near[i as usize].push(j);
            near[j as usize].push(i);
        }
        near.iter_mut().for_each(|near| near.sort_unstable());
        near
    }

    pub fn matrix(&self) -> Matrix {
        Matrix::undirected(self.n, &self.edges).unwrap()
    }

    /// A key for each vertex: the numbers 1 to n, shuffled.
    pub fn keys(&self) -> Vec<u64> {
        let mut order: Vec<u32> = (0..self.n as u32).collect();
        order.sort_by_key(|&v| crate::algebra::mix(self.seed ^ u64::from(v)));
        let mut keys = vec![0; self.n];
        order.iter().zip(1..).for_each(|(&v, key)| keys[v as usize] = key);
        keys
    }
}

/// Graphs of few vertices, or of so many that a hub's row takes a thread block and lists have several chunks.
pub fn case() -> impl Strategy<Value = Case> {
    let sizes = prop_oneof![6 => 1..60usize, 3 => 60..800usize, 1 => 9000..20_000usize];
    (sizes, 0..6usize, 0..3u32, 1..40u32, any::<u64>()).prop_map(|(n, mean, hubs, every, seed)| {
        let draw = |k: usize| (crate::algebra::mix(seed.wrapping_add(k as u64)) % n as u64) as u32;
        let mut edges: Vec<(u32, u32)> = (0..n * mean / 2).map(|k| (draw(2 * k), draw(2 * k + 1))).collect();
        let every = if n > 800 { 1 } else { every };
        edges.extend((0..hubs).flat_map(|h| (0..n as u32).step_by(every as usize).map(move |j| (h % n as u32, j))));
        Case::new(n, edges, seed)
    })
}

const SCHEDULES: [Option<Schedule>; 8] = [
    None,
    Some(Schedule::Rounds),
    Some(Schedule::Asynchronous),
    Some(Schedule::Stale(1)),
    Some(Schedule::Stale(0xdead_beef)),
    Some(Schedule::Sweeps(0)),
    Some(Schedule::Sweeps(200)),
    Some(Schedule::Sweeps(u64::MAX)),
];

/// Checks that `run` reaches the `expected` state under every schedule, on one and on two threads.
pub fn every_schedule<T: Element>(
    expected: &[T],
    run: impl Fn() -> Result<Fixed<T>> + Sync,
) -> crate::harness::Outcome {
    let expected: Vec<Option<T>> = expected.iter().copied().map(Some).collect();
    for schedule in SCHEDULES {
        for threads in [1, 2] {
            let forced = Forced { schedule, ..Forced::default() };
            let found = ok(on_threads(threads, || force(forced, &run)))?;
            agree((schedule, threads), &expected, &found.state)?;
        }
    }
    Ok(())
}

/// The sequential greedy independent set in descending order of keys: `yes` for members, `no` for others.
fn greedy<T: Copy>(case: &Case, keys: &[u64], yes: T, no: T) -> Vec<T> {
    let near = case.neighbors();
    let mut order: Vec<usize> = (0..case.n).collect();
    order.sort_by_key(|&v| std::cmp::Reverse(keys[v]));
    let mut member = vec![false; case.n];
    for v in order {
        member[v] = near[v].iter().all(|&u| !member[u as usize]);
    }
    member.iter().map(|&member| if member { yes } else { no }).collect()
}

macro_rules! sets {
    ($($name:ident: $t:ident, $decide:ident, $undecided:ident, $most:expr;)*) => {$(
        #[op]
        fn $decide(own: $t, best: $t) -> $t {
            if best == $t::MAX { $t::MIN } else if own > best { $t::MAX } else { own }
        }
        #[op]
        fn $undecided(key: $t) -> bool {
            key != $t::MAX && key != $t::MIN
        }
        #[test]
        fn $name() {
            suite(concat!("fixpoint: independent sets of ", stringify!($t)), 40, case(), |case| {
                if case.n > $most {
                    return Ok(());
                }
                let (a, keys) = (case.matrix(), case.keys());
                let key = Vector::from_dense(keys.iter().map(|&key| key as $t).collect());
                let expected = greedy(&case, &keys, $t::MAX, 0);
                every_schedule(&expected, || {
                    fixpoint(key.clone())
                        .while_active($undecided)
                        .monotone()
                        .step(|key| $decide.map2(key, key.vxm(&a, MAX_FIRST).or_identity()))
                        .eval()
                })?;
                // a row may stop at its first higher neighbour: the set is the same, but may take more visits
                every_schedule(&expected, || {
                    fixpoint(key.clone())
                        .while_active($undecided)
                        .monotone()
                        .step(|key| $decide.map2(key, key.vxm(&a, MAX_FIRST).until(LT).or_identity()))
                        .eval()
                })
            });
        }
    )*};
}
sets! {
    sets_of_bytes: u8, decide_u8, undecided_u8, 250;
    sets_of_halves: u16, decide_u16, undecided_u16, 60_000;
    sets_of_words: u32, decide_u32, undecided_u32, 1 << 30;
    sets_of_doubles: u64, decide_u64, undecided_u64, 1 << 30;
}

/// A user-defined monoid: the greater of two, with `u32::MAX` as terminal value.
#[derive(Debug, Clone, Copy)]
pub struct Longer;

/// The greater of two.
#[op]
fn longer(x: u32, y: u32) -> u32 {
    if x > y { x } else { y }
}

impl Source for Longer {
    fn source(self, text: &mut KernelText) -> String {
        longer.source(text)
    }
}
impl BinaryOp<u32, u32> for Longer {
    type Out = u32;
    fn call(self, x: u32, y: u32) -> u32 {
        longer.call(x, y)
    }
}
impl Monoid<u32> for Longer {
    const IDENTITY: u32 = 0;
    const TERMINAL: Option<u32> = Some(u32::MAX);
    const COMMUTATIVE: bool = true;
}

/// The length of a path with one more edge. `u32::MAX` stands for an unknown length.
#[op]
pub fn extend(length: u32, _entry: ()) -> u32 {
    if length == u32::MAX { length } else { length + 1u32 }
}
/// The longest length, once all vertices before this one have their lengths.
#[op]
fn settle(own: u32, longest: u32) -> u32 {
    if longest == u32::MAX { own } else { longest }
}
#[op]
fn unsettled(length: u32) -> bool {
    length == u32::MAX
}

#[test]
fn an_operator_and_a_monoid_of_ones_own() {
    suite("fixpoint: longest paths upwards", 40, case(), |case| {
        let (a, keys) = (case.matrix(), case.keys());
        let down = ok(a.oriented(GT, &Vector::from_dense(keys.clone())).into_matrix())?;
        let near = case.neighbors();
        let mut order: Vec<usize> = (0..case.n).collect();
        order.sort_by_key(|&v| std::cmp::Reverse(keys[v]));
        let mut expected = vec![0u32; case.n];
        for v in order {
            let higher = near[v].iter().filter(|&&u| keys[u as usize] > keys[v]);
            expected[v] = higher.map(|&u| expected[u as usize] + 1).max().unwrap_or(0);
        }
        let ring = semiring(Longer, extend);
        every_schedule(&expected, || {
            fixpoint(Vector::full(case.n, u32::MAX))
                .while_active(unsettled)
                .monotone()
                .step(|length| {
                    let longest = length.vxm(&down, ring).or_identity();
                    settle.map2(length, longest)
                })
                .eval()
        })
    });
}

/// Half of the element plus a small part of the neighbours' sum.
#[op]
fn cool(own: f32, sum: f32) -> f32 {
    (own + sum * 0.001f32) * 0.5f32
}
#[op]
fn warm(x: f32) -> bool {
    x > 0.25f32
}

#[test]
fn float_sums_in_rounds() {
    suite("fixpoint: float sums", 30, case(), |case| {
        let (a, n) = (case.matrix(), case.n);
        let start: Vec<f32> = case.keys().iter().map(|&key| key as f32 / n as f32).collect();
        // the expected state: the loop's rounds, run as single operations
        let (mut state, mut rounds) = (Vector::from_dense(start.clone()), 0);
        let weights = ok(a.map(weight))?;
        loop {
            let active = ok(state.select(warm).pattern().eval())?;
            if active.nvals() == 0 || rounds > 64 {
                break;
            }
            rounds += 1;
            let next = ok(cool.map2(&state, state.vxm(&weights, PLUS_TIMES).or(0.0)).mask(&active).eval())?;
            ok(next.accum(SECOND).assign_to(&mut state))?;
        }
        if rounds > 64 {
            return Ok(());
        }
        let found = ok(fixpoint(Vector::from_dense(start))
            .while_active(warm)
            .step(|x| cool.map2(x, x.vxm(&weights, PLUS_TIMES).or(0.0)))
            .eval())?;
        let expected: Vec<Option<f32>> = state.to_dense(0.0).into_iter().map(Some).collect();
        agree("state", &expected, &found.state)?;
        same("rounds", rounds, found.rounds)
    });
}

/// The weight 1 for an entry of a pattern.
#[op]
fn weight(_entry: ()) -> f32 {
    1.0f32
}

/// One less than before, or 0 if `best` is 0.
#[op]
fn fall(own: u32, best: u32) -> u32 {
    if own > 0u32 && best > 0u32 { own - 1u32 } else { 0u32 }
}

#[test]
fn a_product_of_a_product_a_mask_and_no_product() {
    suite("fixpoint: bodies of many kinds", 16, case(), |case| {
        let (a, n) = (case.matrix(), case.n);
        let near = case.neighbors();
        let start: Vec<u32> = case.keys().iter().map(|&key| key as u32 % 7).collect();
        let plain = |keep: &dyn Fn(usize) -> bool, next: &dyn Fn(&[u32], usize) -> u32| {
            let mut state = start.clone();
            for _ in 0..8 {
                let before = state.clone();
                for v in (0..n).filter(|&v| before[v] > 0 && keep(v)) {
                    state[v] = next(&before, v);
                }
            }
            state
        };
        let run = |state: Vec<u32>, found: Result<Fixed<u32>>| {
            let expected: Vec<Option<u32>> = state.into_iter().map(Some).collect();
            agree("state", &expected, &ok(found)?.state)
        };
        let best = |state: &[u32], v: usize| near[v].iter().map(|&u| state[u as usize]).max();
        let loops = |state: Vec<u32>| fixpoint(Vector::from_dense(state)).while_active(NE.bind(0));
        let twice = |state: &[u32], v: usize| near[v].iter().filter_map(|&u| best(state, u as usize)).max();
        run(
            plain(&|_| true, &|state, v| fall.call(state[v], twice(state, v).unwrap_or(0))),
            loops(start.clone()).step(|x| fall.map2(x, x.vxm(&a, MAX_FIRST).vxm(&a, MAX_FIRST).or_identity())).eval(),
        )?;
        run(plain(&|_| true, &|state, v| state[v] - 1), loops(start.clone()).step(|x| x.map(MINUS.bind(1))).eval())?;
        // elements that the mask leaves out stay active, so in the end none of the active ones changes
        let odd = ok(Set::from_indices(n, (0..n as u32).filter(|v| v % 2 == 1)))?;
        let body = |x: StateRef<u32>| fall.map2(x, x.vxm(&a, MAX_FIRST).or_identity()).mask(&odd);
        let stuck = start.iter().step_by(2).any(|&x| x > 0);
        match loops(start.clone()).step(body).eval() {
            _ if dry_run().is_some() => Ok(()),
            Err(Error::Stalled { .. }) => same("stuck", true, stuck),
            found => {
                same("stuck", false, stuck)?;
                run(plain(&|v| v % 2 == 1, &|state, v| fall.call(state[v], best(state, v).unwrap_or(0))), found)
            }
        }
    });
}

/// 7, for any operand.
#[op]
fn seven(_own: u32) -> u32 {
    7u32
}

#[test]
fn a_first_body_that_waits_and_a_state_kept_as_a_list() {
    crate::harness::on_device(|| {
        let a = Matrix::undirected(3, &[(0, 1), (1, 2)]).unwrap();
        for schedule in SCHEDULES {
            let forced = Forced { schedule, ..Forced::default() };
            // in the first body all elements wait for each other, in the second none waits
            let open = Vector::full(3, u32::MAX);
            let waits = fixpoint(open.clone())
                .while_active(unsettled)
                .monotone()
                .step(|x| x.map(seven))
                .first_round(|x| settle.map2(x, x.vxm(&a, MAX_FIRST).or_identity()));
            let listed = fixpoint(open.with_format(vxm::containers::VectorFormat::Sparse))
                .while_active(unsettled)
                .monotone()
                .step(|x| x.map(seven));
            for found in [force(forced, || waits.eval()).unwrap(), force(forced, || listed.eval()).unwrap()] {
                if dry_run().is_none() {
                    assert_eq!(found.state, Vector::full(3, 7), "{schedule:?}");
                }
            }
        }
    });
}

/// One less.
#[op]
fn lower(own: u32) -> u32 {
    own - 1u32
}
#[op]
fn is_low(own: u32) -> bool {
    own != 0u32 && own < 9u32
}
#[op]
fn is_four(own: u32) -> bool {
    own == 4u32
}
/// Entries take part in rows with element 4, which a 9 blocks.
#[op]
fn for_four(own: u32, other: u32) -> Edge {
    if own != 4u32 {
        Edge::Irrelevant
    } else if other == 9u32 {
        Edge::Blocking
    } else {
        Edge::Relevant
    }
}
/// All entries take part: a 9 blocks a 4, and any element blocks a 2.
#[op]
fn four_or_two(own: u32, other: u32) -> Edge {
    if (own == 4u32 && other == 9u32) || own == 2u32 { Edge::Blocking } else { Edge::Relevant }
}

#[test]
fn a_visit_without_the_product_waits_for_nobody() {
    crate::harness::on_device(|| {
        // vertex 4 is a 9, which is not active; every other vertex is next to it
        let n = 5;
        let a = Matrix::undirected(n, &[(0, 4), (1, 4), (2, 4), (3, 4)]).unwrap();
        let start = Vector::from_dense(vec![4u32, 3, 2, 4, 9]);
        for schedule in SCHEDULES {
            let forced = Forced { schedule, ..Forced::default() };
            let falls = fixpoint(start.clone()).while_active(is_low).monotone().step(|v| {
                let seen = v.vxm(&a, MAX_FIRST).edge_status(for_four).mask(v.select(is_four));
                v.map(lower).ewise_add(seen, FIRST)
            });
            let found = force(forced, || falls.eval()).unwrap();
            if dry_run().is_none() {
                assert_eq!(found.state, Vector::from_dense(vec![0u32, 0, 0, 0, 9]), "{schedule:?}");
            }
        }
    });
}

/// Elements that are still 0 are active.
#[op]
fn is_zero(x: u32) -> bool {
    x == 0
}

#[test]
fn elements_may_read_rows_of_others() {
    crate::harness::on_device(|| {
        // a path with short cuts, and a hub with a row that is long enough to be filtered before a loop
        let n = if dry_run().is_some() { 64 } else { 1500u32 };
        let path = (1..n - 1).flat_map(|v| [(v, v + 1), (v.saturating_sub(2), v)]);
        let edges: Vec<(u32, u32)> = path.chain((1..n).map(|v| (0, v))).collect();
        let a = Matrix::undirected(n as usize, &edges).unwrap();
        let wide = Matrix::from_triples(n as usize, 5000, (0..n).map(|v| (v, 3 * v + 1, ()))).unwrap();
        let (reversed, places): (Vec<u32>, Vec<u32>) =
            ((0..n).rev().collect(), (0..n).map(|v| 3 * v.max(1) - 2).collect());
        let mut start = vec![0; n as usize];
        start[0] = 1;
        let (start, ones) = (Vector::from_dense(start), vec![1u32; n as usize]);
        let loops = || fixpoint(start.clone()).while_active(is_zero).monotone();
        // x = x max (x max.first A)[n - 1 - i]
        every_schedule(&ones, || loops().step(|x| x.ewise_mult(x.vxm(&a, MAX_FIRST).extract(&reversed), MAX)).eval())?;
        every_schedule(&ones, || {
            loops().step(|x| x.ewise_mult(x.vxm(&a, MAX_FIRST).edge_status(LE).extract(&reversed), MAX)).eval()
        })?;
        // the rows of a product that is longer than the state
        every_schedule(&ones, || loops().step(|x| x.ewise_mult(x.vxm(&wide, MAX_FIRST).extract(&places), MAX)).eval())
    })
    .unwrap();
}

#[test]
fn what_cannot_end_or_does_not_fit_is_refused() {
    crate::harness::on_device(|| {
        let a = Matrix::undirected(3, &[(0, 1), (1, 2)]).unwrap();
        for schedule in
            [Schedule::Rounds, Schedule::Asynchronous, Schedule::Stale(3), Schedule::Sweeps(0), Schedule::Sweeps(99)]
        {
            // neighbours with equal keys wait for each other forever
            let equal = fixpoint(Vector::full(3, 5u32))
                .while_active(undecided_u32)
                .monotone()
                .step(|key| decide_u32.map2(key, key.vxm(&a, MAX_FIRST).or_identity()));
            let line = line!() - 1;
            let found = force(Forced { schedule: Some(schedule), ..Forced::default() }, || equal.eval());
            if dry_run().is_none() {
                let error = found.unwrap_err().to_string();
                assert!(error.starts_with(&format!("{}:{line}:", file!())), "{error}");
                assert!(
                    error.contains("fixpoint: stalled after ") && error.contains(": 3 active elements, no change: "),
                    "{error}"
                );
            }
        }
        // states that flip back and forth forever
        for (schedule, n) in
            [Schedule::Rounds, Schedule::Asynchronous, Schedule::Stale(3)].into_iter().flat_map(|s| [(s, 1), (s, 700)])
        {
            let flips = fixpoint(Vector::full(n, 5u32)).while_active(undecided_u32).monotone().at_most(20);
            let flips = flips.step(|key| key.map(MINUS.bind_first(11)));
            let found = force(Forced { schedule: Some(schedule), ..Forced::default() }, || flips.eval());
            if dry_run().is_none() {
                let error = found.unwrap_err().to_string();
                let elements = if n == 1 { "element" } else { "elements" };
                let expected = format!("still changed some of {n} {elements}");
                assert!(
                    error.contains("fixpoint: did not converge: round ") && error.ends_with(&expected),
                    "{schedule:?} {error}"
                );
            }
        }
        let partial = Vector::from_pairs(3, [(1, 5u32)]).unwrap();
        let found = fixpoint(partial).while_active(undecided_u32).step(|key| key.map(PLUS.bind(1))).eval();
        assert!(found.unwrap_err().to_string().ends_with("the state has 1 of 3 elements: expected all"));
        let short = fixpoint(Vector::full(2, 5u32)).while_active(undecided_u32);
        let found = short.step(|key| key.vxm(&a, MAX_FIRST)).eval();
        assert!(found.unwrap_err().to_string().ends_with("fixpoint: state of 2 does not fit body of 3"));
        let wide = Matrix::from_triples(3, 4, [(0, 1, ())]).unwrap();
        let found =
            fixpoint(Vector::full(3, 5u32)).while_active(undecided_u32).step(|key| key.vxm(&wide, MAX_FIRST)).eval();
        assert!(found.unwrap_err().to_string().ends_with("fixpoint: state of 3 does not fit body of 4"));
        // loops without active elements
        let none = fixpoint(Vector::full(3, 0u32)).while_active(undecided_u32).step(|key| key.map(PLUS.bind(1))).eval();
        assert_eq!(none.unwrap().rounds, 0);
        let empty =
            fixpoint(Vector::full(0, 5u32)).while_active(undecided_u32).step(|key| key.map(PLUS.bind(1))).eval();
        assert_eq!(empty.unwrap().state.len(), 0);
    });
}
