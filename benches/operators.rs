//! Operators made at run time beside the same ones of `#[op]`, on the CPU: products and loops.
//!
//! `cargo bench --bench operators -- [GRAPH...]` prints milliseconds, the best of seven runs in turn, on one thread. Answers must be equal.

use std::time::Instant;
use vxm::io;
use vxm::operations::dyn_expr::DynExpr;
use vxm::prelude::*;
use vxm::semiring::dynamic::{DynBinary, DynMonoid, DynUnary, Program};

const GRAPHS: [&str; 3] = ["rmat:18:8", "grid:1024x1024", "er:16:16"];
const RUNS: usize = 7;

#[op]
fn longer(distance: u32, weight: u32) -> u32 {
    let sum: u32 = distance + weight;
    if sum < distance { u32::MAX } else { sum }
}

#[op]
fn decide(own: u32, best: u32) -> u32 {
    if best == u32::MAX {
        1u32
    } else if best > own {
        own
    } else {
        u32::MAX
    }
}

#[op]
fn undecided(key: u32) -> bool {
    key > 1u32 && key < u32::MAX
}

/// The program of a text that is right.
fn made(text: &str) -> Program {
    Program::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Prints the best times of both, and their ratio.
fn compare<T: Element>(
    graph: &str,
    task: &str,
    fixed: impl Fn() -> Result<Vector<T>>,
    run_time: impl Fn() -> Result<Vector<u32>>,
) -> Result<()> {
    let mut best = [f64::MAX; 2];
    for _ in 0..RUNS {
        let (expected, found) = (timed(&mut best[0], &fixed), timed(&mut best[1], &run_time));
        assert_eq!(expected?.digest(), found?.digest(), "{graph}, {task}");
    }
    println!("{graph:16} {task:28} {:9.2} {:9.2} {:6.2}", best[0], best[1], best[1] / best[0]);
    Ok(())
}

/// What `run` returns. Its time is kept if it is the best, in milliseconds.
fn timed<R>(best: &mut f64, run: impl Fn() -> R) -> R {
    let start = Instant::now();
    let found = run();
    *best = best.min(start.elapsed().as_secs_f64() * 1e3);
    found
}

/// An operator of two words, by its text.
fn binary(text: &str) -> DynBinary<u32, u32, u32> {
    DynBinary::new(made(text)).expect("its kinds")
}

/// A loop's last state.
fn last(fixed: Result<Fixed<u32>>) -> Result<Vector<u32>> {
    fixed.map(|fixed| fixed.state)
}

/// Weights that only depend on an edge's ends.
fn weighted(pattern: &Matrix) -> Result<Matrix<u32>> {
    pattern.map_index(weight)
}

const MIN_TEXT: &str = "fn min(a: u32, b: u32) -> u32 { a.min(b) }";
const LONGER_TEXT: &str = "fn longer(a: u32, b: u32) -> u32 { let sum = a + b; if sum < a { u32::MAX } else { sum } }";

/// The monoid `min` of `u32`.
fn least() -> DynMonoid<u32, true> {
    DynMonoid::new(binary(MIN_TEXT), u32::MAX).commutative().terminal(0)
}

fn products_of_integers(spec: &str, pattern: &Matrix) -> Result<()> {
    let (n, a) = (pattern.nrows(), weighted(pattern)?);
    let far = Vector::from_dense((0..n as u32).map(|v| v.wrapping_mul(40503) % 100_000).collect());
    let leaf = &far;
    let erased = DynExpr::of(&leaf);
    let saturating = "fn saturating_add(a: u32, b: u32) -> u32 { a.saturating_add(b) }";
    for (task, text) in [("min.longer u32", LONGER_TEXT), ("min.saturating_add u32", saturating)] {
        let ring = semiring(least(), binary(text));
        compare(spec, task, || far.vxm(&a, semiring(MIN, longer)).eval(), || erased.vxm(&a, ring).eval())?;
    }
    Ok(())
}

fn products_of_floats(spec: &str, pattern: &Matrix) -> Result<()> {
    let floats = weighted(pattern)?.map(ratio)?;
    let bits = DynUnary::<f32, u32>::new(made("fn bits(a: f32) -> f32 { a }")).expect("its kinds");
    let words = floats.map(bits)?;
    let numbers: Vec<f32> = (0..pattern.nrows()).map(|v| (v % 97) as f32 / 7.0).collect();
    let w = Vector::from_dense(numbers.iter().map(|x| x.to_bits()).collect());
    let u = Vector::from_dense(numbers);
    let plus = binary("fn add(a: f32, b: f32) -> f32 { a + b }");
    let plus = DynMonoid::<u32, false>::new(plus, (-0.0f32).to_bits()).commutative();
    let ring = semiring(plus, binary("fn mul(a: f32, b: f32) -> f32 { a * b }"));
    let leaf = &w;
    let erased = DynExpr::of(&leaf);
    compare(spec, "plus.times f32", || u.vxm(&floats, PLUS_TIMES).eval(), || erased.vxm(&words, ring).eval())
}

fn shortest_paths(spec: &str, pattern: &Matrix) -> Result<()> {
    let (n, a) = (pattern.nrows(), weighted(pattern)?);
    let mut start = Vector::full(n, u32::MAX);
    start.set(n as u32 / 2, 0)?;
    let ring = semiring(least(), binary(LONGER_TEXT));
    let fixed = || {
        let body = |x: StateRef<u32>| x.ewise_add(x.vxm(&a, semiring(MIN, longer)), MIN);
        last(fixpoint(start.clone()).while_changed().monotone().step(body).eval())
    };
    let by_programs = || {
        let body = |x| {
            let x = keep(x);
            let product = keep(x.vxm(&a, ring));
            keep(x.ewise_add(product, binary(MIN_TEXT)))
        };
        last(fixpoint(start.clone()).while_changed().monotone().step(body).eval())
    };
    compare(spec, "shortest paths", fixed, by_programs)
}

fn sets(spec: &str, pattern: &Matrix) -> Result<()> {
    let number = |v: u32| (v ^ 0x2a5).wrapping_mul(2_654_435_761) >> 1 | 2;
    let keys = Vector::from_dense((0..pattern.nrows() as u32).map(number).collect());
    let max = binary("fn max(a: u32, b: u32) -> u32 { a.max(b) }");
    let greatest = DynMonoid::<u32, true>::new(max, 0).commutative().terminal(u32::MAX);
    let first = DynBinary::<u32, (), u32>::new(made("fn first(a: u32, e: ()) -> u32 { a }")).expect("its kinds");
    let choice = binary(
        "fn decide(own: u32, best: u32) -> u32 {
            if best == u32::MAX { 1 } else if best > own { own } else { u32::MAX }
        }",
    );
    let open = made("fn undecided(key: u32) -> bool { key > 1 && key < u32::MAX }");
    let open = DynUnary::<u32, bool>::new(open).expect("its kinds");
    let fixed = || {
        let body = |key: StateRef<u32>| decide.map2(key, key.vxm(pattern, MAX_FIRST).or_identity());
        last(fixpoint(keys.clone()).while_active(undecided).monotone().step(body).eval())
    };
    let by_programs = || {
        let body = |key| {
            let key = keep(key);
            let best = keep(key.vxm(pattern, semiring(greatest, first)).or_identity());
            keep(choice.map2(key, best))
        };
        last(fixpoint(keys.clone()).while_active(open).monotone().step(body).eval())
    };
    compare(spec, "sets", fixed, by_programs)
}

fn on(spec: &str) -> Result<()> {
    let pattern = Matrix::from_simple(io::read(spec, &())?.graph);
    products_of_integers(spec, &pattern)?;
    products_of_floats(spec, &pattern)?;
    shortest_paths(spec, &pattern)?;
    sets(spec, &pattern)
}

/// Keeps a node of an expression until the program ends: a few dozen bytes a run.
fn keep<'a, E: Expr + 'a>(node: E) -> DynExpr<'a, E::T> {
    DynExpr::of(Box::leak(Box::new(node)))
}

/// A weight that only depends on an edge's ends, the same both ways.
#[op]
fn weight(i: u32, j: u32, _entry: ()) -> u32 {
    ((i ^ j) * 0x9e37_79b1u32 >> 20u32) + 1u32
}

#[op]
fn ratio(weight: u32) -> f32 {
    weight as f32 / 64.0
}

fn main() -> Result<()> {
    let named: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let graphs = if named.is_empty() { GRAPHS.map(String::from).to_vec() } else { named };
    println!("{:16} {:28} {:>9} {:>9} {:>6}", "graph", "task", "#[op], ms", "made, ms", "ratio");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread starts");
    graphs.iter().try_for_each(|spec| pool.install(|| on(spec)))
}
