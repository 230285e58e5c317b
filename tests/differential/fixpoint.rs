//! Loops with `while_active`: every schedule on every device reaches the same state, bit for bit, as a plain loop over plain vectors.

use crate::harness::{agree, dry_run, ok, on_threads, same, suite};
use proptest::prelude::*;
use vxm::backend::plan::{Forced, Schedule, force};
use vxm::prelude::*;

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

const SCHEDULES: [Option<Schedule>; 5] = [
    None,
    Some(Schedule::Rounds),
    Some(Schedule::Asynchronous),
    Some(Schedule::Stale(1)),
    Some(Schedule::Stale(0xdead_beef)),
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
        let down = ok(a.select_ends(GT, &Vector::from_dense(keys.clone())))?;
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
    suite("fixpoint: bodies of many kinds", 30, case(), |case| {
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
                .first(|x| settle.map2(x, x.vxm(&a, MAX_FIRST).or_identity()));
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
/// The edge filter: entries take part in rows with element 4.
#[op]
fn for_four(own: u32, _other: u32) -> bool {
    own == 4u32
}
/// The blocking edges: a 9 blocks a 4, and any element blocks a 2.
#[op]
fn four_or_two(own: u32, other: u32) -> bool {
    (own == 4u32 && other == 9u32) || own == 2u32
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
                let seen = v.vxm(&a, MAX_FIRST).among(for_four).awaiting(four_or_two).mask(v.select(is_four));
                v.map(lower).ewise_add(seen, FIRST)
            });
            let found = force(forced, || falls.eval()).unwrap();
            if dry_run().is_none() {
                assert_eq!(found.state, Vector::from_dense(vec![0u32, 0, 0, 0, 9]), "{schedule:?}");
            }
        }
    });
}

#[test]
fn what_cannot_end_or_does_not_fit_is_refused() {
    crate::harness::on_device(|| {
        let a = Matrix::undirected(3, &[(0, 1), (1, 2)]).unwrap();
        for schedule in [Schedule::Rounds, Schedule::Asynchronous, Schedule::Stale(3)] {
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

/// A state from `COLORS` on is a key plus `COLORS`, of a vertex without a colour. A lower state is a colour.
const COLORS: u64 = 1 << 32;

#[op]
fn precedes(own: u64, other: u64) -> bool {
    other < COLORS || other > own
}
#[op]
fn hue(vertex: u64, _edge: ()) -> u64 {
    if vertex >= COLORS { u64::MAX } else { 1u64 << (vertex as u32) }
}
#[op]
fn first_free(own: u64, taken: u64) -> u64 {
    if taken == u64::MAX { own } else { taken.trailing_ones() as u64 }
}

/// Whether `other` blocks: it has no colour yet.
#[op]
fn uncolored(_own: u64, other: u64) -> bool {
    other >= COLORS
}

/// The sequential first-fit colouring in descending order of keys.
fn first_fit(case: &Case) -> Vec<u64> {
    let (keys, near) = (case.keys(), case.neighbors());
    let mut order: Vec<usize> = (0..case.n).collect();
    order.sort_by_key(|&v| std::cmp::Reverse(keys[v]));
    let mut colors = vec![u64::MAX; case.n];
    for v in order {
        let taken: Vec<u64> = near[v].iter().map(|&u| colors[u as usize]).collect();
        colors[v] = (0..).find(|color| !taken.contains(color)).unwrap();
    }
    colors
}

/// The initial state, in which no vertex has a colour.
fn colorless(case: &Case) -> Vector<u64> {
    Vector::from_dense(case.keys().iter().map(|&key| key + COLORS).collect())
}

#[op]
fn half_of(i: u32, j: u32, _edge: ()) -> bool {
    (i ^ j) & 1u32 == 0u32
}
#[op]
fn as_it_was(own: u64, _taken: u64) -> u64 {
    own
}

/// Rows of about equal length, few of them longer than 32 entries: a device keeps a mask of a row's live entries. The first body may
/// read other entries than the second.
#[test]
fn rows_of_about_one_length() {
    let cases = (200..900usize, 9..24usize, any::<u64>()).prop_map(|(n, mean, seed)| {
        let draw = |k: usize| (crate::algebra::mix(seed.wrapping_add(k as u64)) % n as u64) as u32;
        let edges: Vec<(u32, u32)> = (0..n * mean / 2).map(|k| (draw(2 * k), draw(2 * k + 1))).collect();
        Case::new(n, edges, seed)
    });
    suite("fixpoint: rows of about one length", 40, cases, |case| {
        let (a, expected, key) = (case.matrix(), first_fit(&case), colorless(&case));
        let half = ok(a.select(half_of))?;
        let active = || fixpoint(key.clone()).while_active(GE.bind(COLORS)).monotone();
        every_schedule(&expected, || {
            active()
                .step(|v| {
                    let taken = v.vxm(&a, semiring(BOR, hue)).among(precedes).awaiting(uncolored).or_identity();
                    first_free.map2(v, taken)
                })
                .eval()
        })?;
        every_schedule(&expected, || {
            active()
                .step(|v| {
                    let taken = v.vxm(&a, semiring(BOR, hue)).among(precedes).awaiting(uncolored).or_identity();
                    first_free.map2(v, taken)
                })
                .first(|v| {
                    let taken = v.vxm(&half, semiring(BOR, hue)).among(precedes).awaiting(uncolored).or_identity();
                    as_it_was.map2(v, taken)
                })
                .eval()
        })
    });
}

/// First-fit colouring with an edge filter. Entries of long rows are filtered before the loop, those of other rows at every visit.
#[test]
fn neighbours_that_come_first() {
    suite("fixpoint: first fit", 60, case(), |case| {
        let (a, expected, key) = (case.matrix(), first_fit(&case), colorless(&case));
        every_schedule(&expected, || {
            fixpoint(key.clone())
                .while_active(GE.bind(COLORS))
                .monotone()
                .step(|v| first_free.map2(v, v.vxm(&a, semiring(BOR, hue)).among(precedes).or_identity()))
                .eval()
        })?;
        // with blockers, which the loop remembers
        every_schedule(&expected, || {
            fixpoint(key.clone())
                .while_active(GE.bind(COLORS))
                .monotone()
                .step(|v| {
                    let taken = v.vxm(&a, semiring(BOR, hue)).among(precedes).awaiting(uncolored).or_identity();
                    first_free.map2(v, taken)
                })
                .eval()
        })?;
        // not declared monotone: all elements see the states of the round before
        let settled = ok(fixpoint(key.clone())
            .while_active(GE.bind(COLORS))
            .step(|v| {
                let taken = v.vxm(&a, semiring(BOR, hue)).among(precedes).awaiting(uncolored).or_identity();
                first_free.map2(v, taken)
            })
            .eval())?;
        agree("in rounds", &expected.iter().copied().map(Some).collect::<Vec<_>>(), &settled.state)?;
        // over a weighted matrix
        let weighted = ok(a.map_index(from_to))?;
        let (most, _) = ok(fixpoint(key.clone())
            .while_active(GE.bind(COLORS))
            .monotone()
            .step(|v| {
                let taken = v.vxm(&weighted, semiring(BOR, weighted_hue)).among(precedes).awaiting(uncolored);
                first_free.map2(v, taken.or_identity())
            })
            .eval_then(|v| v.reduce(MAX)))?;
        same("the number of colours, with weights", expected.iter().copied().max().unwrap_or(0), most)?;
        // with `until` as well
        let (most, _) = ok(fixpoint(key)
            .while_active(GE.bind(COLORS))
            .monotone()
            .step(|v| {
                first_free.map2(
                    v,
                    v.vxm(&a, semiring(BOR, hue)).until(is_open).among(precedes).awaiting(uncolored).or_identity(),
                )
            })
            .eval_then(|v| v.reduce(MAX)))?;
        same("the number of colours", expected.iter().copied().max().unwrap_or(0), most)
    });
}

/// An arbitrary weight, which is not 0 since `i` and `j` differ.
#[op]
fn from_to(i: u32, j: u32, _edge: ()) -> u32 {
    i ^ j
}
/// [`hue`] for a weighted edge. No edge has weight 0.
#[op]
fn weighted_hue(vertex: u64, weight: u32) -> u64 {
    if weight == 0u32 || vertex >= COLORS { u64::MAX } else { 1u64 << (vertex as u32) }
}

/// Whether a neighbour has no colour yet.
#[op]
fn is_open(_own: u64, taken: u64) -> bool {
    taken == u64::MAX
}

/// First-fit colouring with sets of bits as states: the colours that a vertex may still have, and the highest bit until it has its
/// colour. The order of vertices is in another vector, not in the state.
macro_rules! colors_in_bits {
    ($($name:ident: $t:ident, $open:ident, $one:expr, $zero:expr, $may:ident, $seen:ident, $narrow:ident, $settled:ident,
       $unsettled:ident, $shares:ident, $taken:ident;)*) => {$(
        const $open: $t = !($t::MAX >> 1);
        #[op]
        fn $may(v: $t) -> bool {
            v & $open != $zero
        }
        #[op]
        fn $seen(v: $t, _edge: ()) -> $t {
            if v & $open != $zero { $open } else { v }
        }
        #[op]
        fn $narrow(own: $t, seen: $t) -> $t {
            let left: $t = own & (!seen | $open);
            if seen & $open != $zero { left } else { left & ($zero - left) }
        }
        #[op]
        fn $settled(_own: $t, other: $t) -> bool {
            other & $open == $zero
        }
        #[op]
        fn $unsettled(_own: $t, other: $t) -> bool {
            other & $open != $zero
        }
        #[op]
        fn $shares(own: $t, other: $t) -> bool {
            own & other & !$open != $zero
        }
        #[op]
        fn $taken(_own: $t, seen: $t) -> bool {
            seen & $open != $zero
        }

        /// Checks a loop with blocking edges (`awaiting`) and final edges (`once`). A device does not use the first body here.
        fn $name(case: &Case) -> crate::harness::Outcome {
            let (a, keys) = (case.matrix(), Vector::from_dense(case.keys()));
            let expected: Vec<$t> = first_fit(case).iter().map(|&color| $one << color).collect();
            every_schedule(&expected, || {
                let others = |v: StateRef<$t>| {
                    v.vxm(&a, semiring(BOR, $seen)).ends(LT, &keys).among($shares).awaiting($unsettled).once($settled)
                };
                fixpoint(Vector::full(case.n, $t::MAX))
                    .while_active($may)
                    .monotone()
                    .step(|v| $narrow.map2(v, others(v).or_identity()))
                    .first(|v| $narrow.map2(v, others(v).until($taken).or_identity()))
                    .eval()
            })
        }
    )*};
}

colors_in_bits! {
    in_a_word: u32, OPEN_WORD, 1u32, 0u32, word_may_change, word_seen, word_narrow, word_settled, word_unsettled, word_shares,
        word_taken;
    in_two_words: u64, OPEN_WORDS, 1u64, 0u64, words_may_change, words_seen, words_narrow, words_settled, words_unsettled,
        words_shares, words_taken;
}

/// `word_seen` for a weighted edge. No edge has weight 0.
#[op]
fn weighted_seen(v: u32, weight: u32) -> u32 {
    if weight == 0u32 || v & OPEN_WORD != 0u32 { OPEN_WORD } else { v }
}

/// Other formulations of the same loop: with fewer modifiers, with `until`, over a matrix that has only the selected entries
/// (`known_ends`), and with weights.
fn in_other_words(case: &Case) -> crate::harness::Outcome {
    let (a, keys) = (case.matrix(), Vector::from_dense(case.keys()));
    let expected: Vec<u32> = first_fit(case).iter().map(|&color| 1u32 << color).collect();
    let open = || fixpoint(Vector::full(case.n, u32::MAX)).while_active(word_may_change).monotone();
    let seen = semiring(BOR, word_seen);
    every_schedule(&expected, || {
        open().step(|v| word_narrow.map2(v, v.vxm(&a, seen).ends(LT, &keys).or_identity())).eval()
    })?;
    every_schedule(&expected, || {
        let others = |v: StateRef<u32>| v.vxm(&a, seen).ends(LT, &keys).awaiting(word_unsettled).once(word_settled);
        open().step(|v| word_narrow.map2(v, others(v).until(word_taken).or_identity())).eval()
    })?;
    let half = ok(a.select_ends(GT, &keys))?;
    every_schedule(&expected, || {
        let others =
            |v: StateRef<u32>| v.vxm(&half, seen).known_ends(LT, &keys).awaiting(word_unsettled).once(word_settled);
        open().step(|v| word_narrow.map2(v, others(v).or_identity())).eval()
    })?;
    let weighted = ok(a.map_index(from_to))?;
    every_schedule(&expected, || {
        let others =
            |v: StateRef<u32>| v.vxm(&weighted, semiring(BOR, weighted_seen)).ends(LT, &keys).awaiting(word_unsettled);
        open().step(|v| word_narrow.map2(v, others(v).once(word_settled).or_identity())).eval()
    })
}

/// `ends` over graphs with and without hubs.
#[test]
fn ends_that_are_compared_elsewhere() {
    suite("fixpoint: ends in one word", 20, case(), |case| in_a_word(&case));
    suite("fixpoint: ends in two words", 20, case(), |case| in_two_words(&case));
    suite("fixpoint: ends in other words", 12, case(), |case| in_other_words(&case));
}

/// `ends` over rows of every length class, with a few hubs that many vertices wait for one after the other.
#[test]
fn ends_of_rows_of_every_length() {
    let cases = || {
        (2100..5000usize, 1..4usize, 4..14u32, any::<u64>()).prop_map(|(n, mean, hubs, seed)| {
            let draw = |k: usize| (crate::algebra::mix(seed.wrapping_add(k as u64)) % n as u64) as u32;
            let mut edges: Vec<(u32, u32)> = (0..n * mean / 2).map(|k| (draw(2 * k), draw(2 * k + 1))).collect();
            // the first hub is next to all vertices, the others to every second one, every fourth and so on
            let others = |hub: u32| (hub..n as u32).step_by(1 << (hub % 7)).map(move |other| (hub, other));
            edges.extend((0..hubs).flat_map(others));
            Case::new(n, edges, seed)
        })
    };
    suite("fixpoint: ends of rows of every length in one word", 12, cases(), |case| in_a_word(&case));
    suite("fixpoint: ends of rows of every length in two words", 6, cases(), |case| in_two_words(&case));
    suite("fixpoint: ends of rows of every length in other words", 6, cases(), |case| in_other_words(&case));
}

/// `ends` over rows of about equal length: of few entries, of more, and of so many that some rows have more than a live-edge mask has bits.
#[test]
fn ends_of_rows_of_about_one_length() {
    let cases = || {
        (200..900usize, prop_oneof![1..4usize, 5..9usize, 9..28usize], any::<u64>()).prop_map(|(n, mean, seed)| {
            let draw = |k: usize| (crate::algebra::mix(seed.wrapping_add(k as u64)) % n as u64) as u32;
            let edges: Vec<(u32, u32)> = (0..n * mean / 2).map(|k| (draw(2 * k), draw(2 * k + 1))).collect();
            Case::new(n, edges, seed)
        })
    };
    suite("fixpoint: ends of even rows in one word", 20, cases(), |case| in_a_word(&case));
    suite("fixpoint: ends of even rows in two words", 20, cases(), |case| in_two_words(&case));
    suite("fixpoint: ends of even rows in other words", 12, cases(), |case| in_other_words(&case));
}

/// The state of a vertex is its number of higher neighbours plus one. It becomes 0 once `heard`, the number of those that are 0, is
/// complete.
#[op]
fn heard(own: u32, heard: u32) -> u32 {
    if heard + 1u32 == own { 0u32 } else { own }
}
#[op]
fn is_silent(own: u32, other: u32) -> bool {
    own != 0u32 && other != 0u32
}
#[op]
fn has_spoken(_own: u32, other: u32) -> bool {
    other == 0u32
}

/// An entry that `ends` selects may be filtered out by `among`, its element may be absent at first, or a visit may not need its product. No
/// row may wait for such an entry forever, and no product may be lost.
#[test]
fn ends_and_what_else_is_said() {
    suite("fixpoint: ends and what else is said", 20, case(), |case| {
        let (a, expected, key) = (case.matrix(), first_fit(&case), colorless(&case));
        let same_for_all = Vector::full(case.n, 3i8);
        every_schedule(&expected, || {
            fixpoint(key.clone())
                .while_active(GE.bind(COLORS))
                .monotone()
                .step(|v| {
                    let taken =
                        v.vxm(&a, semiring(BOR, hue)).ends(LE, &same_for_all).among(precedes).awaiting(uncolored);
                    first_free.map2(v, taken.or_identity())
                })
                .eval()
        })?;
        // an operand that gains elements during the loop
        let keys = Vector::from_dense(case.keys());
        let above = ok(keys.vxm(&a, semiring(PLUS, PAIR)).ends(LT, &keys).or_identity().map(PLUS.bind(1u32)).eval())?;
        let above = ok(above.select(GT.bind(1u32)).or(0).eval())?;
        every_schedule(&vec![0u32; case.n], || {
            let those = |v: StateRef<u32>| v.select(EQ.bind(0u32)).vxm(&a, semiring(PLUS, PAIR)).ends(LT, &keys);
            fixpoint(above.clone())
                .while_active(NE.bind(0u32))
                .monotone()
                .step(|v| heard.map2(v, those(v).awaiting(is_silent).or_identity()))
                .eval()
        })
    });
    crate::harness::on_device(|| {
        let n = 5;
        let a = Matrix::undirected(n, &[(0, 4), (1, 4), (2, 4), (3, 4)]).unwrap();
        let (zeros, keys) = (Vector::full(n, 0u32), Vector::from_dense(vec![0u32, 1, 2, 3, 9]));
        for schedule in SCHEDULES {
            let forced = Forced { schedule, ..Forced::default() };
            // a product that only some visits need
            let start = Vector::from_dense(vec![4u32, 3, 2, 4, 9]);
            let falls = fixpoint(start).while_active(is_low).monotone().step(|v| {
                let seen = v.vxm(&a, MAX_FIRST).ends(LE, &zeros).awaiting(four_or_two).mask(v.select(is_four));
                v.map(lower).ewise_add(seen, FIRST)
            });
            // a product in a mask, which may be evaluated twice
            let start = Vector::from_dense(vec![1u32, 1, 1, 1, 0]);
            let hears = fixpoint(start).while_active(EQ.bind(1u32)).monotone().step(|v| {
                let spoken = v.vxm(&a, MIN_FIRST).ends(LT, &keys).awaiting(is_silent).once(has_spoken);
                v.map(lower).mask(spoken.select(EQ.bind(0u32)))
            });
            let expected = [vec![0u32, 0, 0, 0, 9], vec![0u32; 5]];
            for (found, expected) in
                [force(forced, || falls.eval()), force(forced, || hears.eval())].into_iter().zip(expected)
            {
                if dry_run().is_none() {
                    assert_eq!(found.unwrap().state, Vector::from_dense(expected), "{schedule:?}");
                }
            }
        }
    });
}
