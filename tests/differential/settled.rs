//! What a loop's state begins as, and what is made of it once it is settled: in the loop or beside it, on every schedule, the same.

use crate::fixpoint::{Case, case};
use crate::harness::{Outcome, agree, ok, on_device, on_threads, rehearsal, same, suite};
use proptest::prelude::*;
use vxm::backend::plan::{Forced, Schedule, force};
use vxm::prelude::*;

/// A member of the set, and a vertex with one next to it.
const IN: u32 = u32::MAX;
const OUT: u32 = 0;

#[op]
fn decide(own: u32, best: u32) -> u32 {
    if best == IN {
        OUT
    } else if own > best {
        IN
    } else {
        own
    }
}
#[op]
fn undecided(key: u32) -> bool {
    key != IN && key != OUT
}
/// Whether `other` has to be decided before `own`.
#[op]
fn blocks(own: u32, other: u32) -> bool {
    other != IN && other > own
}
/// What says that one is a member, and by which vertex' number.
#[op]
fn told(i: u32, key: u32) -> u64 {
    if key == IN { (i as u64) + 1u64 } else { 0u64 }
}
/// Keys from 2 on: `undecided`.
#[op]
fn key_of(rank: u64) -> u32 {
    (rank as u32) + 1u32
}
/// Of two keys that which is its own, and distinct, where the other isn't greater.
#[op]
fn lesser_of(most: u32, key: u32) -> u32 {
    if most < key { OUT } else { key }
}
#[op]
fn as_float(key: u32) -> f32 {
    if key == IN { 0.1f32 } else { 2.5f32 }
}
#[op]
fn as_byte(key: u32) -> u8 {
    if key == IN { 200u8 } else { 3u8 }
}

/// Runs `f` on every schedule, and on two threads.
fn on_every_schedule(f: impl Fn() -> Outcome + Send + Sync) -> Outcome {
    for schedule in [None, Some(Schedule::Rounds), Some(Schedule::Asynchronous), Some(Schedule::Stale(5))] {
        force(Forced { schedule, ..Forced::default() }, &f)?;
    }
    on_threads(2, f)
}

/// The set of a state.
fn settled<S: Begin<T = u32>>(a: &Matrix, state: S) -> Result<Vector<u32>> {
    let decided = fixpoint(state)
        .while_active(undecided)
        .monotone()
        .step(|key| decide.map2(key, key.vxm(a, MAX_FIRST).or_identity()))
        .eval()?;
    Ok(decided.state)
}

/// A vector's elements, by place.
fn elements<T: Element>(of: &Vector<T>) -> Vec<Option<T>> {
    (0..of.len() as u32).map(|i| of.get(i)).collect()
}

/// A state that is an expression is what the expression is.
#[test]
fn states_that_are_expressions() {
    suite("settled: what a loop begins as", 20, case(), |case| {
        let (a, n) = (case.matrix(), case.n);
        let ranks = Vector::from_dense(case.keys());
        let keys = ok(ranks.map(key_of).eval())?;
        // a few are settled from the start
        let some = ok(Set::from_indices(n, (0..n as u32).filter(|i| i % 5 == 0)))?;
        let part = ok(keys.mask(&some).eval())?;
        let expected = elements(&ok(settled(&a, keys.clone()))?);
        let of_some = elements(&ok(settled(&a, ok(part.or(OUT).eval())?))?);
        // a product: what is heavy is evaluated before
        let most = ok(keys.vxm(&a, MAX_FIRST).or(7).eval())?;
        let of_most = elements(&ok(settled(&a, ok(most.ewise_mult(&keys, lesser_of).eval())?))?);
        on_every_schedule(|| agree("mapped", &expected, &ok(settled(&a, ranks.map(key_of)))?))?;
        agree("a vector by reference", &expected, &ok(settled(&a, &keys))?)?;
        agree("filled", &of_some, &ok(settled(&a, keys.mask(&some).or(OUT)))?)?;
        agree("of two", &of_most, &ok(settled(&a, most.ewise_mult(&keys, lesser_of)))?)?;
        let heavy = keys.vxm(&a, MAX_FIRST).or(7).ewise_mult(&keys, lesser_of);
        agree("of a product", &of_most, &ok(settled(&a, heavy))?)?;
        // full, which is counted: a rehearsal counts nothing
        let selected = settled(&a, keys.select(NE.bind(IN)));
        if rehearsal().is_none() {
            agree("selected", &expected, &ok(selected)?)?;
        }
        let lacking = settled(&a, keys.mask(&some));
        same("not full", n > 1, matches!(lacking, Err(vxm::Error::Invalid { .. })))
    });
}

/// The loops are those whose rows wait for nobody, for one that is remembered, or see the states of the round before.
fn settles_alike(case: &Case) -> Outcome {
    let a = case.matrix();
    let ranks = Vector::from_dense(case.keys());
    let state = ok(settled(&a, ok(ranks.map(key_of).eval())?))?;
    let expected = ok(state.map_index(told).eval())?;
    let sum = ok(expected.reduce(PLUS))?;
    let begun = || fixpoint(ranks.map(key_of)).while_active(undecided);
    on_every_schedule(|| {
        let found = [
            begun()
                .monotone()
                .step(|key| decide.map2(key, key.vxm(&a, MAX_FIRST).or_identity()))
                .then(|key| key.map_index(told))
                .eval_and_reduce(PLUS),
            begun()
                .monotone()
                .step(|key| decide.map2(key, key.vxm(&a, MAX_FIRST).among(LE).awaiting(blocks).or_identity()))
                .then(|key| key.map_index(told))
                .eval_and_reduce(PLUS),
            begun()
                .step(|key| decide.map2(key, key.vxm(&a, MAX_FIRST).or_identity()))
                .then(|key| key.map_index(told))
                .eval_and_reduce(PLUS),
        ];
        for (kind, found) in found.into_iter().enumerate() {
            let (made, folded, _) = ok(found)?;
            agree(kind, &elements(&expected), &made)?;
            same("their sum", sum, folded)?;
        }
        Ok(())
    })
}

/// Whoever settles an element makes of it what is asked, whatever the loop, the schedule and the rows.
#[test]
fn every_element_is_made_once() {
    suite("settled: every element is made once", 20, case(), |case| settles_alike(&case));
}

/// The same where rows are a thread's, a warp's and a block's.
#[test]
fn every_element_of_long_rows() {
    let n = 9000u32;
    let hub = (1..n).map(|j| (0, j));
    let long = (1..40).flat_map(|i| (i + 1..n).step_by(97).map(move |j| (i, j)));
    let case = Case::new(n as usize, hub.chain(long).collect(), 11);
    suite("settled: every element of long rows", 1, Just(case), |case| settles_alike(&case));
}

/// What is made of a settled state is what verbs make of it: in the loop's kernel, where an element is made of one, or behind it.
#[test]
fn what_is_made_of_the_settled() {
    suite("settled: what is made of it", 20, case(), |case| {
        let (a, n) = (case.matrix(), case.n);
        let ranks = Vector::from_dense(case.keys());
        let keys = ok(ranks.map(key_of).eval())?;
        let some = ok(Set::from_indices(n, (0..n as u32).filter(|i| i % 3 == 0)))?;
        let state = ok(settled(&a, keys.clone()))?;
        macro_rules! alike {
            ($what:expr, $made:expr, $add:expr) => {
                let expected = ok($made(&state).eval())?;
                let folded_after = ok(expected.reduce($add))?;
                let (made, folded, _) = ok(fixpoint(ranks.map(key_of))
                    .while_active(undecided)
                    .monotone()
                    .step(|key| decide.map2(key, key.vxm(&a, MAX_FIRST).or_identity()))
                    .then(|key| $made(key))
                    .eval_and_reduce($add))?;
                agree($what, &elements(&expected), &made)?;
                same(concat!($what, ", folded"), folded_after.bits(), folded.bits())?;
            };
        }
        alike!("by index", |key| Verbs::map_index(key, told), MAX);
        alike!("the first, with another vector", |key| Verbs::ewise_mult(key, &keys, PLUS), ANY);
        alike!("bytes", |key| Verbs::map(key, as_byte), TIMES);
        alike!("floats, the least", |key| Verbs::map(key, as_float), MIN);
        // depends on the order
        alike!("floats, their sum", |key| Verbs::map(key, as_float), PLUS);
        alike!("masked", |key| Verbs::mask(Verbs::map(key, as_byte), &some), MAX);
        alike!("neighbours", |key| Verbs::or(Verbs::vxm(key, &a, MAX_FIRST), 9), BXOR);
        Ok(())
    });
}

/// Without a fold, of a loop over what changed, of one that is settled already, and of one that never is.
#[test]
fn ends_of_other_loops() {
    on_device(|| {
        let a = Matrix::undirected(4, &[(0, 1), (2, 1)]).unwrap();
        let key = Vector::from_dense(vec![5u32, 9, 7, 3]);
        let keys = || key.clone();
        let decided = |key: Vector<u32>| {
            fixpoint(key)
                .while_active(undecided)
                .monotone()
                .step(|key| decide.map2(key, key.vxm(&a, MAX_FIRST).or_identity()))
        };
        let expected = Vector::from_dense(vec![3u8, 200, 3, 200]);
        let (made, _) = decided(keys()).then(|key| key.map(as_byte)).eval().unwrap();
        let real = rehearsal().is_none();
        assert!(!real || made == expected, "{made:?}");
        let (made, most, _) =
            decided(Vector::from_dense(vec![0, IN, 0, IN])).then(|key| key.map(as_byte)).eval_and_reduce(MAX).unwrap();
        assert!(!real || (made == expected && most == 200), "{made:?} {most}");
        let (made, sum, _) = fixpoint(Vector::<u32>::from_dense(Vec::new()))
            .while_active(undecided)
            .monotone()
            .step(|key| key.map(PLUS.bind(1)))
            .then(|key| key.map(as_byte))
            .eval_and_reduce(PLUS)
            .unwrap();
        assert!(made.is_empty() && sum == 0, "{made:?} {sum}");
        let labels = fixpoint(key.map(PLUS.bind(1)))
            .while_changed()
            .monotone()
            .step(|label| label.ewise_add(label.vxm(&a, MIN_FIRST), MIN));
        let (made, sum, _) = labels.then(|label| label.map(TIMES.bind(2))).eval_and_reduce(PLUS).unwrap();
        let expected = Vector::from_dense(vec![12u32, 12, 12, 8]);
        assert!(!real || (made == expected && sum == 44), "{made:?} {sum}");
        if !real {
            return;
        }
        let stuck = fixpoint(key.map(IDENTITY)).while_active(undecided).monotone().step(|key| key.map(IDENTITY));
        let error = stuck.then(|key| key.map(as_byte)).eval_and_reduce(MAX).unwrap_err();
        assert!(matches!(error, vxm::Error::NoProgress { .. }), "{error}");
        // shapes
        let other = Vector::full(3, 1u32);
        let error = decided(keys()).then(|key| key.ewise_mult(&other, PLUS)).eval().unwrap_err();
        assert!(matches!(error, vxm::Error::Shape { .. }), "{error}");
        // what doesn't read the state may be of any length
        let (made, _) = decided(keys()).then(|_| other.map(PLUS.bind(1))).eval().unwrap();
        assert_eq!(made, Vector::full(3, 2u32));
        let error = fixpoint(key.ewise_mult(&other, PLUS)).while_active(undecided).step(|key| key.map(IDENTITY));
        assert!(matches!(error.eval().unwrap_err(), vxm::Error::Shape { .. }));
    });
}
