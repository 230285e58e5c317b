//! Operators made at run time beside the same ones of `#[op]`, on the CPU: products and loops.
//!
//! `cargo bench --bench operators -- [GRAPH...]` prints milliseconds, the best of seven runs in turn, on one thread. Answers must be equal.

use std::time::Instant;
use vxm::io;
use vxm::operations::dyn_expr::DynExpr;
use vxm::prelude::*;
use vxm::semiring::dynamic::{Builder, DynBinary, DynMonoid, DynUnary, Kind, Operand, Program, ProgramError};

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

/// The program that `make` makes of its parameters.
fn program(
    kinds: &[Kind],
    make: impl FnOnce(&mut Builder, &[Operand]) -> std::result::Result<Operand, ProgramError>,
) -> Program {
    let mut code = Builder::new("made", kinds).expect("a fine name");
    let read = (0..kinds.len()).filter(|&at| kinds[at] != Kind::Unit);
    let parameters: Vec<_> = read.map(|at| code.parameter(at).expect("within")).collect();
    let result = make(&mut code, &parameters).expect("well typed");
    code.finish(result).expect("its own value")
}

fn two(kind: Kind, operation: &str) -> Program {
    program(&[kind; 2], |code, x| code.call(operation, x))
}

/// Prints the best times of both, and their ratio.
fn compare(graph: &str, task: &str, mut fixed: impl FnMut() -> u64, mut made: impl FnMut() -> u64) {
    let (mut best, mut digests) = ([f64::MAX; 2], [0; 2]);
    for _ in 0..RUNS {
        for (k, run) in [&mut fixed as &mut dyn FnMut() -> u64, &mut made].into_iter().enumerate() {
            let start = Instant::now();
            digests[k] = run();
            best[k] = best[k].min(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    assert_eq!(digests[0], digests[1], "{graph}, {task}");
    println!("{graph:16} {task:28} {:9.2} {:9.2} {:6.2}", best[0], best[1], best[1] / best[0]);
}

fn on(spec: &str) -> Result<()> {
    let pattern = Matrix::from_simple(io::read(spec, &())?.graph);
    let n = pattern.nrows();
    let a = pattern.map_index(weight)?;
    let floats = a.map(ratio)?;
    let bits = DynUnary::<f32, u32>::new(program(&[Kind::F32], |_, x| Ok(x[0]))).expect("its kinds");
    let words = floats.map(bits)?;

    let far = Vector::from_dense((0..n as u32).map(|v| v.wrapping_mul(40503) % 100_000).collect());
    let min = DynBinary::<u32, u32, u32>::new(two(Kind::U32, "min")).expect("its kinds");
    let least = DynMonoid::<u32, true>::new(min, u32::MAX).commutative().terminal(0);
    let sum = program(&[Kind::U32; 2], |code, x| {
        let sum = code.call("add", x)?;
        let (less, most) = (code.call("lt", &[sum, x[0]])?, code.constant(Kind::U32, u32::MAX.into(), false)?);
        code.select(less, most, sum)
    });
    let sum = DynBinary::<u32, u32, u32>::new(sum).expect("its kinds");
    let leaf = &far;
    let erased = DynExpr::of(&leaf);
    let product = |ring| erased.vxm(&a, ring).eval().map_or(0, |w| w.digest());
    compare(
        spec,
        "min.longer u32",
        || far.vxm(&a, semiring(MIN, longer)).eval().map_or(0, |w| w.digest()),
        || product(semiring(least, sum)),
    );
    let saturating = DynBinary::<u32, u32, u32>::new(two(Kind::U32, "saturating_add")).expect("its kinds");
    compare(
        spec,
        "min.saturating_add u32",
        || far.vxm(&a, semiring(MIN, longer)).eval().map_or(0, |w| w.digest()),
        || product(semiring(least, saturating)),
    );

    let numbers: Vec<f32> = (0..n).map(|v| (v % 97) as f32 / 7.0).collect();
    let u = Vector::from_dense(numbers.clone());
    let w = Vector::from_dense(numbers.iter().map(|x| x.to_bits()).collect());
    let plus = DynBinary::<u32, u32, u32>::new(two(Kind::F32, "add")).expect("its kinds");
    let plus = DynMonoid::<u32, false>::new(plus, (-0.0f32).to_bits()).commutative();
    let times = DynBinary::<u32, u32, u32>::new(two(Kind::F32, "mul")).expect("its kinds");
    let leaf = &w;
    let erased = DynExpr::of(&leaf);
    compare(
        spec,
        "plus.times f32",
        || u.vxm(&floats, PLUS_TIMES).eval().map_or(0, |w| w.digest()),
        || erased.vxm(&words, semiring(plus, times)).eval().map_or(0, |w| w.digest()),
    );

    let mut start = Vector::full(n, u32::MAX);
    start.set(n as u32 / 2, 0)?;
    let body = |x: StateRef<u32>| x.ewise_add(x.vxm(&a, semiring(MIN, longer)), MIN);
    let fixed = || fixpoint(start.clone()).while_changed().monotone().step(body).eval().map_or(0, |f| f.state.digest());
    let made = || {
        let body = |x| {
            let x = keep(x);
            let product = keep(x.vxm(&a, semiring(least, sum)));
            keep(x.ewise_add(product, min))
        };
        fixpoint(start.clone()).while_changed().monotone().step(body).eval().map_or(0, |f| f.state.digest())
    };
    compare(spec, "shortest paths", fixed, made);

    let keys: Vec<u32> = (0..n as u32).map(|v| (v ^ 0x2a5).wrapping_mul(2_654_435_761) >> 1 | 2).collect();
    let keys = Vector::from_dense(keys);
    let max = DynBinary::<u32, u32, u32>::new(two(Kind::U32, "max")).expect("its kinds");
    let greatest = DynMonoid::<u32, true>::new(max, 0).commutative().terminal(u32::MAX);
    let first = program(&[Kind::U32, Kind::Unit], |_, x| Ok(x[0]));
    let first = DynBinary::<u32, (), u32>::new(first).expect("its kinds");
    let choice = program(&[Kind::U32; 2], |code, x| {
        let (one, top) = (code.constant(Kind::U32, 1, false)?, code.constant(Kind::U32, u32::MAX.into(), false)?);
        let (beaten, waits) = (code.call("eq", &[x[1], top])?, code.call("gt", &[x[1], x[0]])?);
        let unbeaten = code.select(waits, x[0], top)?;
        code.select(beaten, one, unbeaten)
    });
    let choice = DynBinary::<u32, u32, u32>::new(choice).expect("its kinds");
    let open = program(&[Kind::U32], |code, x| {
        let (one, top) = (code.constant(Kind::U32, 1, false)?, code.constant(Kind::U32, u32::MAX.into(), false)?);
        let (above, below) = (code.call("gt", &[x[0], one])?, code.call("lt", &[x[0], top])?);
        code.call("bitand", &[above, below])
    });
    let open = DynUnary::<u32, bool>::new(open).expect("its kinds");
    let fixed = || {
        let body = |key: StateRef<u32>| decide.map2(key, key.vxm(&pattern, MAX_FIRST).or_identity());
        fixpoint(keys.clone()).while_active(undecided).monotone().step(body).eval().map_or(0, |f| f.state.digest())
    };
    let made = || {
        let body = |key| {
            let key = keep(key);
            let best = keep(key.vxm(&pattern, semiring(greatest, first)));
            let best = keep(best.or(0));
            keep(choice.map2(key, best))
        };
        fixpoint(keys.clone()).while_active(open).monotone().step(body).eval().map_or(0, |f| f.state.digest())
    };
    compare(spec, "sets", fixed, made);
    Ok(())
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
