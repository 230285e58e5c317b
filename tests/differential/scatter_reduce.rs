//! Loops with `scatter_reduce`, where each element is also joined into another one that it points to. Every schedule reaches
//! the same state, bit for bit, as a plain loop.

use crate::fixpoint::{Case, case, every_schedule};
use crate::harness::{Outcome, dry_run, on_device, suite};
use vxm::backend::plan::{Forced, Schedule, force};
use vxm::prelude::*;
use vxm::semiring::lowered::Ordered;

/// For each vertex, the least vertex of its component. `near` lists the neighbours.
fn least(near: &[Vec<u32>]) -> Vec<u32> {
    let mut label: Vec<u32> = (0..near.len() as u32).collect();
    loop {
        let of = |v: usize| near[v].iter().map(|&u| label[u as usize]).fold(label[v], Ord::min);
        let next: Vec<u32> = (0..near.len()).map(of).collect();
        if next == label {
            return label;
        }
        label = next;
    }
}

macro_rules! sizes {
    ($(
        $labels:ident, $classes:ident: $t:ident, $place:ident, $raise:ident, $class:ident, $higher:ident, $five:literal, $high:literal;
    )*) => {$(
        /// The vertex that a label names.
        #[op]
        fn $place(label: $t) -> u32 {
            label as u32
        }
        #[test]
        fn $labels() {
            suite(concat!("scatter_reduce: labels of ", stringify!($t)), 10, case(), |mut case| {
                if case.n > $t::MAX as usize {
                    case.n = $t::MAX as usize;
                    case.edges.retain(|&(_, j)| (j as usize) < case.n);
                }
                labels(&case, |v| v as $t, $place)
            });
        }

        /// Adds 5 to numbers below 200, which keeps the class of a number modulo 5.
        #[op]
        fn $raise(x: $t) -> $t {
            if x < $high { x + $five } else { x }
        }
        /// The element that `x` is joined into: the one at the class of `x` modulo 5. Class 4 is joined into none.
        #[op]
        fn $class(x: $t) -> u32 {
            if (x % $five) as u32 == 4u32 { u32::MAX } else { (x % $five) as u32 }
        }
        /// A user-defined monoid: the greater of two.
        #[op]
        fn $higher(x: $t, y: $t) -> $t {
            if x < y { y } else { x }
        }
        impl Monoid<$t> for $higher {
            const IDENTITY: $t = 0;
            const COMMUTATIVE: bool = true;
        }
        #[test]
        fn $classes() {
            suite(concat!("scatter_reduce: classes of ", stringify!($t)), 10, case(), |case| {
                let draw = |v: usize| crate::algebra::mix(case.seed ^ v as u64) % 250;
                let start: Vec<$t> = (0..case.n).map(|v| if v < 4 { v as $t } else { draw(v) as $t }).collect();
                let raised = |x: $t| if x < 200 { 200 + x % 5 } else { x };
                let mut expected: Vec<$t> = start.iter().map(|&x| raised(x)).collect();
                for k in 0..case.n.min(4) {
                    let of_class = start.iter().filter(|&&x| x as usize % 5 == k);
                    expected[k] = of_class.map(|&x| raised(x)).max().unwrap();
                }
                let state = Vector::from_dense(start);
                every_schedule(&expected, || {
                    let raised = fixpoint(state.clone()).while_changed().monotone().step(|x| x.map($raise));
                    raised.scatter_reduce($class, $higher).eval()
                })?;
                // the body's mask leaves some elements out, but all are scattered
                let (n, even) = (case.n, Set::from_indices(case.n, (0..case.n as u32).step_by(2)).unwrap());
                let mut expected: Vec<$t> = state.to_dense(0);
                (0..n).step_by(2).for_each(|v| expected[v] = raised(expected[v]));
                for k in 0..n.min(4) {
                    let of_class = (0..n).filter(|&v| expected[v] as usize % 5 == k).map(|v| expected[v]);
                    expected[k] = of_class.max().unwrap();
                }
                every_schedule(&expected, || {
                    let raised = fixpoint(state.clone()).while_changed().monotone().step(|x| x.map($raise).mask(&even));
                    raised.scatter_reduce($class, $higher).eval()
                })
            });
        }
    )*};
}
sizes! {
    labels_of_bytes, classes_of_bytes: u8, place_u8, raise_u8, class_u8, higher_u8, 5u8, 200u8;
    labels_of_halves, classes_of_halves: u16, place_u16, raise_u16, class_u16, higher_u16, 5u16, 200u16;
    labels_of_words, classes_of_words: u32, place_u32, raise_u32, class_u32, higher_u32, 5u32, 200u32;
    labels_of_doubles, classes_of_doubles: u64, place_u64, raise_u64, class_u64, higher_u64, 5u64, 200u64;
}

/// Checks loops in which labels fall to the least label of a component. `label` gives a vertex's first label, and `place` the vertex that
/// a label names.
fn labels<T: Ordered>(case: &Case, label: impl Fn(u32) -> T, place: impl UnaryOp<T, Out = u32>) -> Outcome {
    let (a, n, near) = (case.matrix(), case.n, case.neighbors());
    let state = Vector::from_dense((0..n as u32).map(&label).collect::<Vec<T>>());
    let lowest = least(&near);
    let expected: Vec<T> = lowest.iter().copied().map(&label).collect();
    every_schedule(&expected, || {
        let fall = fixpoint(state.clone()).while_changed().monotone().step(|f| f.vxm(&a, MIN_FIRST));
        fall.scatter_reduce(place, MIN).eval()
    })?;
    // pointer jumping, and the neighbours' labels unless the jump ends at the least label of all
    every_schedule(&expected, || {
        fixpoint(state.clone())
            .while_changed()
            .monotone()
            .step(|f| {
                let root = f.pointer_jump(place);
                root.ewise_add(f.vxm(&a, MIN_FIRST).mask(root.select(NE.bind(T::LEAST))), MIN)
            })
            .scatter_reduce(place, MIN)
            .eval()
    })?;
    every_schedule(&expected, || {
        fixpoint(state.clone())
            .while_changed()
            .monotone()
            .step(|f| f.pointer_jump(place).ewise_add(f.vxm(&a, MIN_FIRST), MIN))
            .scatter_reduce(place, MIN)
            .eval()
    })?;
    every_schedule(&expected, || {
        fixpoint(state.clone())
            .while_changed()
            .monotone()
            .step(|f| {
                // the left operand has only some elements
                let some = f.select(NE.bind(T::LEAST));
                some.ewise_add(f.vxm(&a, MIN_FIRST), MIN)
            })
            .scatter_reduce(place, MIN)
            .eval()
    })?;
    // any lower neighbour is enough: rows may stop there
    every_schedule(&expected, || {
        fixpoint(state.clone())
            .while_changed()
            .monotone()
            .step(|f| f.pointer_jump(place).ewise_add(f.vxm(&a, MIN_FIRST).until(GT), MIN))
            .scatter_reduce(place, MIN)
            .eval()
    })?;
    // with pointer jumping of the neighbours' labels
    every_schedule(&expected, || {
        let fall =
            fixpoint(state.clone()).while_changed().monotone().step(|f| f.pointer_jump(place).vxm(&a, MIN_FIRST));
        fall.scatter_reduce(place, MIN).eval()
    })?;
    if n >= 1000 {
        return Ok(());
    }
    // a product of a product, which is run one operation at a time: it connects vertices two edges apart
    let twice = |v: usize| near[v].iter().flat_map(|&u| near[u as usize].clone()).filter(move |&u| u as usize != v);
    let expected: Vec<T> =
        least(&(0..n).map(|v| twice(v).collect()).collect::<Vec<_>>()).into_iter().map(&label).collect();
    every_schedule(&expected, || {
        let fall = fixpoint(state.clone()).while_changed().monotone().step(|f| f.vxm(&a, MIN_FIRST).vxm(&a, MIN_FIRST));
        fall.scatter_reduce(place, MIN).eval()
    })
}

/// The vertex that a label names.
#[op]
fn place_f32(label: f32) -> u32 {
    label as u32
}
#[op]
fn place_i64(label: i64) -> u32 {
    (label + 7i64) as u32
}

#[test]
fn labels_of_floats_and_below_zero() {
    suite("scatter_reduce: labels of f32", 10, case(), |case| labels(&case, |v| v as f32, place_f32));
    suite("scatter_reduce: labels of i64", 10, case(), |case| labels(&case, |v| i64::from(v) - 7, place_i64));
}

#[test]
fn labels_around_hubs() {
    on_device(|| {
        // rows for a block, a warp and a thread; the graph has two halves that are not connected
        let n = 20_000u32;
        let hub = (1..n / 2).map(|v| (v, n / 2));
        let long = (0..4).flat_map(|h| (n / 2 + 10..n).step_by(40).map(move |v| (n / 2 + 1 + h, v)));
        let edges = hub.chain(long).chain((n / 2 + 10..n - 1).step_by(2).map(|v| (v, v + 1))).collect();
        labels(&Case { n: n as usize, edges, seed: 0 }, |v| v, place_u32).unwrap();
    });
}

#[test]
fn what_is_joined_in_any_order_must_not_mind() {
    on_device(|| {
        let state = || fixpoint(Vector::full(3, 1u32)).while_changed();
        let line = line!() + 1;
        let found = state().step(|x| x.map(PLUS.bind(0))).scatter_reduce(IDENTITY, MIN).eval();
        let error = found.unwrap_err().to_string();
        assert!(error.starts_with(&format!("{}:{line}:", file!())), "{error}");
        assert!(error.contains(": scatter_reduce: a loop that isn't said to be monotone"), "{error}");
        let found = state().monotone().step(|x| x.map(PLUS.bind(0))).scatter_reduce(IDENTITY, ANY).eval();
        assert!(
            found.unwrap_err().to_string().contains(": scatter_reduce: a monoid that isn't said to be commutative")
        );
        let sums = fixpoint(Vector::full(3, 1f32)).while_changed().monotone().step(|x| x.map(PLUS.bind(0.0)));
        let found = sums.scatter_reduce(nowhere, PLUS).eval();
        assert!(found.unwrap_err().to_string().contains(": scatter_reduce: a monoid that isn't exact"));
        let sums = || state().monotone().step(|x| x.map(PLUS.bind(0)));
        let error = sums().scatter_reduce(IDENTITY, PLUS).eval().unwrap_err().to_string();
        assert!(error.contains(": scatter_reduce: a monoid that isn't idempotent, and makes 2 of 1 twice"), "{error}");
        // `1 * 1` is 1, so the check needs another number to find that `TIMES` is not idempotent
        let error = sums().scatter_reduce(IDENTITY, TIMES).eval().unwrap_err().to_string();
        assert!(error.contains(": scatter_reduce: a monoid that isn't idempotent, and makes 4 of 2 twice"), "{error}");
        // states that fall without end
        for schedule in [Schedule::Rounds, Schedule::Asynchronous] {
            let forced = Forced { schedule: Some(schedule), ..Forced::default() };
            let falling = fixpoint(Vector::full(3, 1000u32)).while_changed().monotone().at_most(9);
            let sums = falling.step(|x| x.map(MINUS.bind(1))).scatter_reduce(IDENTITY, MIN);
            let found = force(forced, || sums.eval());
            if dry_run().is_none() {
                let error = found.unwrap_err().to_string();
                assert!(
                    error.contains(": fixpoint: did not converge: round ") && error.contains(" still changed "),
                    "{error}"
                );
            }
        }
    });
}

/// An index out of range.
#[op]
fn nowhere(_x: f32) -> u32 {
    u32::MAX
}
