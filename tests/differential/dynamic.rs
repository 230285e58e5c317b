//! Operators made at run time, over words that hold their values' bits, and expressions of one type: compared with the same operators of
//! the library over the values themselves.

use crate::algebra::{Sample, mix};
use crate::fixpoint::{Case, case, every_schedule};
use crate::harness::{Outcome, agree, dry_run, ok, on_device, on_threads, same, suite};
use crate::shapes::{FORMATS, Filled, filled, graph, matrix};
use proptest::prelude::*;
use proptest::sample::select;
use vxm::backend::plan::{Direction, Forced, force};
use vxm::backend::reference::{self, Dense, Grid};
use vxm::operations::dyn_expr::DynExpr;
use vxm::prelude::*;
use vxm::semiring::dynamic::{Builder, DynBinary, DynMonoid, DynTernary, DynUnary, Kind, Program, jit};

/// The program of a text that is right.
fn made(text: &str) -> Program {
    Program::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// `a * constant` for floats. The constant is an argument of kernels.
fn scaled(constant: f32) -> Program {
    let mut code = Builder::new("scaled", &[Kind::F32]).unwrap();
    let factor = code.constant(Kind::F32, constant.bits(), true).unwrap();
    let product = code.call("mul", &[code.parameter(0).unwrap(), factor]).unwrap();
    code.finish(product).unwrap()
}

/// The elements as words.
fn words<T: Element, W: Element>(dense: &[Option<T>]) -> Dense<W> {
    dense.iter().map(|x| x.map(|x| W::from_wide_bits(x.wide_bits()))).collect()
}

fn word_grid<T: Element, W: Element>(grid: &Grid<T>) -> Grid<W> {
    Grid { rows: grid.rows.iter().map(|row| words(row)).collect(), ncols: grid.ncols }
}

const DIRECTIONS: [Option<Direction>; 3] = [None, Some(Direction::Push), Some(Direction::Pull)];

/// Checks `vxm` and `mxv` over a semiring of values of type `T`, with matrices of `A`, against the one made at run time.
///
/// The first half of the cases is interpreted; for the others machine code is made before.
fn products<T, A, W, V, const EXACT: bool>(
    name: &str,
    cases: u32,
    ring: impl Semiring<T, A, Out = T>,
    dynamic: Ring<DynMonoid<W, EXACT>, DynBinary<W, V, W>>,
) where
    T: Sample,
    A: Sample,
    W: Element,
    V: Element,
{
    for form in ["", ", compiled"] {
        if !form.is_empty() {
            prepare::<W, V, _>(dynamic);
        }
        let case = (graph(), filled(), filled(), select(vec![1, 2, 8]));
        suite(&format!("run-time products of {name}{form}"), cases.div_ceil(2), case, |(graph, u, mask, threads)| {
            let grid: Grid<A> = graph.grid();
            let (n, length) = (grid.rows.len(), grid.ncols);
            let held = u.dense::<T>(n);
            let t: Dense<W> = words(&reference::vxm(&held, &grid, ring));
            let mask_values = mask.dense::<u32>(length);
            let masked = reference::masked(&t, &reference::structural(&mask_values));
            let a = matrix(&word_grid::<A, V>(&grid), graph.symmetric);
            let (u, mask) = (u.vector(&words::<T, W>(&held)), mask.vector(&mask_values));
            on_threads(threads, || {
                for (format, direction) in FORMATS.into_iter().flat_map(|format| DIRECTIONS.map(|way| (format, way))) {
                    let way = Forced { format, direction, ..Forced::default() };
                    force(way, || {
                        let leaf = &u;
                        let product = DynExpr::of(&leaf).vxm(&a, dynamic);
                        agree(way, &t, &ok(DynExpr::of(&product).eval())?)?;
                        // an operand that isn't a vector
                        let same = u.map(IDENTITY);
                        let product = DynExpr::of(&same).vxm(&a, dynamic);
                        agree(way, &t, &ok(DynExpr::of(&product).eval())?)?;
                        let expression = DynExpr::of(&product).mask(&mask);
                        agree(way, &masked, &ok(DynExpr::of(&expression).eval())?)
                    })?;
                }
                Ok(())
            })
        });
    }
}

/// Makes machine code of a semiring's programs, and of its rows.
fn prepare<X: Element, A: Element, S: Semiring<X, A>>(ring: S) {
    ring.add().as_program().into_iter().chain(ring.mul().as_program()).for_each(Program::compile);
    jit::prepare(ring, false);
    jit::prepare(ring, true);
    jit::prepare_push(ring);
    assert!(jit::RowFold::of(ring, false).is_some(), "there is code for this processor");
}

#[test]
fn products_of_floats() {
    let (plus, times) =
        (made("fn add(a: f32, b: f32) -> f32 { a + b }"), made("fn mul(a: f32, b: f32) -> f32 { a * b }"));
    let add = DynMonoid::<u32, false>::new(DynBinary::new(plus).unwrap(), (-0.0f32).to_bits()).commutative();
    products::<f32, f32, u32, u32, false>(
        "PLUS_TIMES of f32",
        200,
        PLUS_TIMES,
        semiring(add, DynBinary::new(times).unwrap()),
    );
    let (plus, times) =
        (made("fn add(a: f64, b: f64) -> f64 { a + b }"), made("fn mul(a: f64, b: f64) -> f64 { a * b }"));
    let add = DynMonoid::<u64, false>::new(DynBinary::new(plus).unwrap(), (-0.0f64).to_bits()).commutative();
    products::<f64, f64, u64, u64, false>(
        "PLUS_TIMES of f64",
        100,
        PLUS_TIMES,
        semiring(add, DynBinary::new(times).unwrap()),
    );
    let (max, plus) =
        (made("fn max(a: f32, b: f32) -> f32 { a.max(b) }"), made("fn add(a: f32, b: f32) -> f32 { a + b }"));
    let add = DynMonoid::<u32, true>::new(DynBinary::new(max).unwrap(), f32::NEG_INFINITY.to_bits());
    let add = add.commutative().except(&[laws::Law::Identity]);
    products::<f32, f32, u32, u32, true>(
        "MAX_PLUS of f32",
        200,
        MAX_PLUS,
        semiring(add, DynBinary::new(plus).unwrap()),
    );
}

#[test]
fn products_of_integers() {
    let (min, plus) =
        (made("fn min(a: i64, b: i64) -> i64 { a.min(b) }"), made("fn add(a: i64, b: i64) -> i64 { a + b }"));
    let add = DynMonoid::<u64, true>::new(DynBinary::new(min).unwrap(), i64::MAX.bits());
    let add = add.commutative().terminal(i64::MIN.bits());
    products::<i64, i64, u64, u64, true>(
        "MIN_PLUS of i64",
        150,
        MIN_PLUS,
        semiring(add, DynBinary::new(plus).unwrap()),
    );
    let (max, first) =
        (made("fn max(a: u32, b: u32) -> u32 { a.max(b) }"), made("fn first(a: u32, e: ()) -> u32 { a }"));
    let add = DynMonoid::<u32, true>::new(DynBinary::new(max).unwrap(), 0).commutative().terminal(u32::MAX);
    products::<u32, (), u32, (), true>(
        "MAX_FIRST of u32",
        200,
        MAX_FIRST,
        semiring(add, DynBinary::new(first).unwrap()),
    );
    // neither commutative nor with a terminal value: the first product
    let any = DynMonoid::<u32, true>::new(DynBinary::new(made("fn first(a: u32, b: u32) -> u32 { a }")).unwrap(), 0);
    products::<u32, u32, u32, u32, true>("ANY_SECOND of u32", 100, ANY_SECOND, {
        semiring(any, DynBinary::new(made("fn second(a: u32, b: u32) -> u32 { b }")).unwrap())
    });
}

/// Two monoids with one operator and one type of Rust, but other terminal values, are two programs on a GPU.
#[test]
fn terminal_values_distinguish_programs() {
    let max = DynBinary::<u32, u32, u32>::new(made("fn max(a: u32, b: u32) -> u32 { a.max(b) }")).unwrap();
    let first = DynBinary::<u32, (), u32>::new(made("fn first(a: u32, e: ()) -> u32 { a }")).unwrap();
    let case = (graph(), filled());
    suite("run-time monoids of other terminal values", 60, case, |(graph, u)| {
        let grid: Grid<()> = graph.grid();
        let small: Dense<u32> = u.dense::<u32>(grid.rows.len()).iter().map(|x| x.map(|x| x % 3)).collect();
        let a = matrix(&grid, graph.symmetric);
        for (terminal, most) in [(u32::MAX, 3), (2, 3), (1, 2)] {
            let below: Dense<u32> = small.iter().map(|x| x.map(|x| x % most)).collect();
            let add = DynMonoid::<u32, true>::new(max, 0).commutative().terminal(terminal);
            let expected = reference::vxm(&below, &grid, MAX_FIRST);
            let u = u.vector(&below);
            agree(terminal, &expected, &ok(on_device(|| u.vxm(&a, semiring(add, first)).eval()))?)?;
        }
        Ok(())
    });
}

/// Operators over elements of their own types, of which some are one operation of the prelude and some only look like it.
#[test]
fn operators_of_one_operation() {
    let unary = |text: &str| DynUnary::<u32, u32>::new(made(text)).unwrap();
    let binary = |program: Program| DynBinary::<u32, u32, u32>::new(program).unwrap();
    let more = unary("fn more(a: u32) -> u32 { a + 3 }");
    let less = unary("fn less(a: u32) -> u32 { 3 - a }");
    let twice = unary("fn twice(a: u32) -> u32 { a + a }");
    let minus = made("fn minus(a: u32, b: u32) -> u32 { a - b }");
    let from = made("fn from(a: u32, b: u32) -> u32 { b - a }");
    suite("run-time operators of one operation", 60, (filled(), filled(), 1usize..300), |(x, y, len)| {
        let (xs, ys) = (x.dense::<u32>(len), y.dense::<u32>(len));
        let (u, v) = (x.vector(&xs), y.vector(&ys));
        let on = |op| ok(on_device(|| u.map(op).eval()));
        agree("more", &reference::map(&xs, PLUS.bind(3u32)), &on(more)?)?;
        agree("less", &reference::map(&xs, MINUS.bind_first(3u32)), &on(less)?)?;
        agree("twice", &reference::map(&xs, TIMES.bind(2u32)), &on(twice)?)?;
        for (name, op, flips) in [
            ("minus", minus, false),
            ("from", from, true),
            ("flipped", minus.flipped(), true),
            ("back", from.flipped(), false),
        ] {
            let expected = match flips {
                false => reference::ewise_mult(&xs, &ys, MINUS),
                true => reference::ewise_mult(&ys, &xs, MINUS),
            };
            agree(name, &expected, &ok(on_device(|| u.ewise_mult(&v, binary(op)).eval()))?)?;
        }
        Ok(())
    });
}

/// Trees of elementwise verbs, each node of one type.
fn trees(len: usize, x: &Filled, y: &Filled, threads: usize) -> Outcome {
    let (xs, ys) = (x.dense::<f32>(len), y.dense::<f32>(len));
    let (u, v) = (x.vector(&words::<f32, u32>(&xs)), y.vector(&words::<f32, u32>(&ys)));
    let halved = DynUnary::<u32, u32>::new(scaled(0.5)).unwrap();
    let positive = DynUnary::<u32, bool>::new(made("fn positive(a: f32) -> bool { a > 0.0 }")).unwrap();
    let minus = DynBinary::<u32, u32, u32>::new(made("fn sub(a: f32, b: f32) -> f32 { a - b }")).unwrap();
    let max = DynBinary::<u32, u32, u32>::new(made("fn max(a: f32, b: f32) -> f32 { a.max(b) }")).unwrap();
    let odd = DynBinary::<u32, u32, bool>::new(made("fn odd(i: u32, x: f32) -> bool { i & 1 == 1 }")).unwrap();
    let weighted =
        DynTernary::<u32, u32, u32, u32>::new(made("fn weighted(a: f32, b: f32, c: f32) -> f32 { a * b + c }"))
            .unwrap();

    on_threads(threads, || {
        let (lu, lv) = (&u, &v);
        let (u, v) = (DynExpr::of(&lu), DynExpr::of(&lv));
        let half = u.map(halved);
        let half = DynExpr::of(&half);
        let expected_half = reference::map(&xs, TIMES.bind(0.5f32));
        agree("map", &words::<_, u32>(&expected_half), &ok(half.eval())?)?;

        let union = half.ewise_add(v, minus);
        let union = DynExpr::of(&union);
        let expected_union = reference::ewise_add(&expected_half, &ys, MINUS);
        agree("union", &words::<_, u32>(&expected_union), &ok(union.eval())?)?;

        let kept = union.select(positive);
        let kept = DynExpr::of(&kept);
        let expected_kept = reference::select(&expected_union, GT.bind(0.0f32));
        agree("select", &words::<_, u32>(&expected_kept), &ok(kept.eval())?)?;

        let both = u.ewise_mult(kept, max);
        let both = DynExpr::of(&both);
        let expected_both = reference::ewise_mult(&xs, &expected_kept, MAX);
        agree("intersection", &words::<_, u32>(&expected_both), &ok(both.eval())?)?;

        let mask = v.pattern();
        let mask = DynExpr::of(&mask);
        let left = half.select_index(odd);
        let left = DynExpr::of(&left).mask(mask);
        let expected_left: Dense<f32> = (0..len).map(|i| expected_half[i].filter(|_| i % 2 == 1)).collect();
        let expected_left = reference::masked(&expected_left, &reference::structural(&ys));
        agree("mask", &words::<_, u32>(&expected_left), &ok(DynExpr::of(&left).eval())?)?;

        let full = u.or(7.5f32.to_bits());
        let full = DynExpr::of(&full);
        let three = weighted.map3(full, v, half);
        let expected_full = reference::or(&xs, 7.5f32);
        let product = reference::ewise_mult(&expected_full, &ys, TIMES);
        let expected_three = reference::ewise_mult(&product, &expected_half, PLUS);
        agree("map3", &words::<_, u32>(&expected_three), &ok(DynExpr::of(&three).eval())?)?;

        let add = DynMonoid::<u32, false>::new(
            DynBinary::new(made("fn add(a: f32, b: f32) -> f32 { a + b }")).unwrap(),
            (-0.0f32).to_bits(),
        );
        let sum = ok(union.reduce(add.commutative()))?;
        if dry_run().is_none() {
            same("sum", reference::reduce(&expected_union, PLUS).bits(), u64::from(sum))?;
        }
        Ok(())
    })
}

#[test]
fn trees_of_verbs() {
    let len = prop_oneof![1 => Just(0usize), 6 => 1..20usize, 4 => 20..140usize, 2 => 140..3000usize];
    let case = (len, filled(), filled(), select(vec![1, 2, 8]));
    suite("run-time trees of verbs", 150, case, |(len, x, y, threads)| trees(len, &x, &y, threads));
}

#[op]
fn longer(distance: f32, weight: f32) -> f32 {
    distance + weight
}

/// A weight that only depends on an edge's ends, the same both ways.
#[op]
fn weigh(i: u32, j: u32, _entry: ()) -> f32 {
    (((i ^ j) * 0x9e37_79b1u32 >> 12u32) % 97u32) as f32
}

/// Loops with bodies of one type: shortest paths.
#[test]
fn loops() {
    let along = DynBinary::<u32, u32, u32>::new(made("fn add(a: f32, b: f32) -> f32 { a + b }")).unwrap();
    let min = DynBinary::<u32, u32, u32>::new(made("fn min(a: f32, b: f32) -> f32 { a.min(b) }")).unwrap();
    let least = DynMonoid::<u32, true>::new(min, f32::INFINITY.to_bits()).commutative();
    let paths = |case: Case| -> Outcome {
        let typed = ok(case.matrix().map_index(weigh))?;
        let a = ok(typed.map(DynUnary::<f32, u32>::new(made("fn bits(a: f32) -> f32 { a }")).unwrap()))?;
        // from a single vertex edges are relaxed, on a CPU
        for every in [50, usize::MAX] {
            let near = |v: usize| if v % every == 3 { v as f32 } else { f32::INFINITY };
            let start: Vec<f32> = (0..case.n).map(near).collect();
            let body = |x: StateRef<f32>| x.ewise_add(x.vxm(&typed, semiring(MIN, longer)), MIN);
            let expected = ok(fixpoint(Vector::from_dense(start.clone())).while_changed().step(body).eval())?.state;
            let expected: Vec<u32> = expected.to_dense(0.0).iter().map(|x| x.to_bits()).collect();
            let words: Vec<u32> = start.iter().map(|x| x.to_bits()).collect();
            every_schedule(&expected, || {
                let body = |x| {
                    let own = keep(x);
                    let product = keep(own.vxm(&a, semiring(least, along)));
                    keep(own.ewise_add(product, min))
                };
                fixpoint(Vector::from_dense(words.clone())).while_changed().monotone().step(body).eval()
            })?;
        }
        Ok(())
    };
    suite("run-time loops: shortest paths", 20, case(), paths);
    prepare::<u32, u32, _>(semiring(least, along));
    suite("run-time loops: shortest paths, compiled", 20, case(), paths);
}

/// Greedy sets, with the operators of `mis` made at run time.
#[test]
fn loops_over_active_elements() {
    // a key above 1 is undecided; 1 is out, and the top bit alone is in
    let decide = made(
        "fn decide(own: u32, best: u32) -> u32 {
            if best == u32::MAX { 1 } else if best > own { own } else { u32::MAX }
        }",
    );
    let decide = DynBinary::<u32, u32, u32>::new(decide).unwrap();
    let active = DynUnary::<u32, bool>::new(made("fn active(key: u32) -> bool { key > 1 && key < u32::MAX }")).unwrap();
    let max = DynBinary::<u32, u32, u32>::new(made("fn max(a: u32, b: u32) -> u32 { a.max(b) }")).unwrap();
    let best = DynMonoid::<u32, true>::new(max, 0).commutative().terminal(u32::MAX);
    let first = DynBinary::<u32, (), u32>::new(made("fn first(a: u32, e: ()) -> u32 { a }")).unwrap();
    let sets = |case: Case| -> Outcome {
        let a = case.matrix();
        let mut keys: Vec<u32> = (0..case.n as u32).map(|v| v + 2).collect();
        keys.sort_by_key(|&k| mix(case.seed ^ u64::from(k)));
        let mut order: Vec<usize> = (0..case.n).collect();
        order.sort_by_key(|&v| std::cmp::Reverse(keys[v]));
        let mut expected = vec![0u32; case.n];
        for v in order {
            let beaten = a.csr().row(v).0.iter().any(|&u| expected[u as usize] == u32::MAX);
            expected[v] = if beaten { 1 } else { u32::MAX };
        }
        every_schedule(&expected, || {
            fixpoint(Vector::from_dense(keys.clone()))
                .while_active(active)
                .monotone()
                .step(|x| {
                    let own = keep(x);
                    let product = own.vxm(&a, semiring(best, first));
                    let product = keep(product.or(0));
                    keep(decide.map2(own, product))
                })
                .eval()
        })
    };
    suite("run-time loops: greedy sets", 20, case(), sets);
    prepare::<u32, (), _>(semiring(best, first));
    decide.program().compile();
    suite("run-time loops: greedy sets, compiled", 20, case(), sets);
}

/// Keeps a node of an expression. It is never freed, which a test can afford.
fn keep<'a, E: Expr + 'a>(node: E) -> DynExpr<'a, E::T> {
    DynExpr::of(Box::leak(Box::new(node)))
}
