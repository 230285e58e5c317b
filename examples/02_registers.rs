//! Register allocation: variables of a straight-line program that are live at once get different registers.
//!
//! A variable is live from its definition to its last use. `L[variable, point]` says where. Two variables interfere if they share a point:
//! the entries of `L lor.land Lᵀ`. Live ranges are intervals, so a greedy colouring in the order of definitions is optimal: a variable
//! that takes register `k` finds `k - 1` others live. With fewer registers than variables live at once, some variables stay in memory.

use vxm::algorithms::priority::mix;
use vxm::algorithms::{color_in_order, extend_coloring};
use vxm::prelude::*;

/// `target = left op right`, where operands are variables. Instruction `i` defines variable `i`.
#[derive(Clone, Copy)]
struct Instruction {
    left: usize,
    right: usize,
    multiply: bool,
}

/// A program of `n` instructions; operands are among the 9 variables before, and variable 0 is its input.
fn program(n: usize) -> Vec<Instruction> {
    let operand = |i: usize, seed| i.saturating_sub(1 + mix(i as u32, seed) as usize % 9);
    let instruction =
        |i| Instruction { left: operand(i, 1), right: operand(i, 2), multiply: mix(i as u32, 3).is_multiple_of(2) };
    (0..n).map(instruction).collect()
}

/// What the program computes if variable `v` lies in place `place[v]`.
fn execute(program: &[Instruction], place: &[usize], input: u64) -> u64 {
    let mut values = vec![0u64; place.iter().max().map_or(0, |&most| most + 1)];
    values[place[0]] = input;
    for (i, step) in program.iter().enumerate().skip(1) {
        let (left, right) = (values[place[step.left]], values[place[step.right]]);
        values[place[i]] = if step.multiply { left.wrapping_mul(right) } else { left.wrapping_add(right) ^ i as u64 };
    }
    values[place[program.len() - 1]]
}

fn run() -> Result<()> {
    let program = program(200);
    let n = program.len();
    // an instruction reads before it writes: its target may take a register that an operand leaves
    let mut last: Vec<usize> = (0..n).map(|v| v + 1).collect();
    for (i, step) in program.iter().enumerate().skip(1) {
        last[step.left] = last[step.left].max(i);
        last[step.right] = last[step.right].max(i);
    }
    // L[v, p]: variable v holds its value after instruction p
    let points = (0..n).flat_map(|v| (v..last[v]).map(move |p| (v as u32, p as u32, ())));
    let live = Matrix::from_triples(n, n, points)?;

    // A = L any.pair Lᵀ, without its diagonal
    let interference = live.mxm(&live.transpose(), ANY_PAIR).eval()?.select(OFFDIAG)?.pattern();
    // the highest key comes first: the variable that is defined first
    let key = Vector::from_dense((0..n as u32).rev().collect());
    let allocated = color_in_order(&interference, &key)?;

    // pressure[p] = the number of variables live at p, the column sums of L
    let pressure = Set::all(n).vxm(&live, PLUS_PAIR).reduce(MAX)?;
    println!(
        "{n} variables, {} pairs interfere: {} registers, at most {pressure} are live at once",
        interference.nnz() / 2,
        allocated.count
    );
    assert_eq!(allocated.count, pressure, "optimal, since live ranges are intervals");

    // no two live ranges overlap in a register, by the ranges alone
    let register: Vec<usize> = allocated.colors.to_dense(0).into_iter().map(|color| color as usize - 1).collect();
    for v in 0..n {
        for w in v + 1..last[v].min(n) {
            assert_ne!(register[v], register[w], "variables {v} and {w}");
        }
    }
    // the program computes the same in registers as with a place for each variable
    let apart: Vec<usize> = (0..n).collect();
    for input in [0, 1, 77, u64::MAX] {
        assert_eq!(execute(&program, &register, input), execute(&program, &apart, input));
    }

    // with a register less, the variables that are used least stay in memory
    let given = Vector::from_pairs(n, [(0, 1)])?;
    let uses = |v: usize| program.iter().skip(1).filter(|step| step.left == v || step.right == v).count() as u32;
    // distinct keys: by uses, then by definition
    let cost = Vector::from_dense((0..n).map(|v| (uses(v) << 16) + (n - v) as u32).collect());
    let fewer = extend_coloring(&interference, &cost, &given, pressure - 1)?;
    println!("{} registers: {} variables stay in memory", pressure - 1, fewer.left.nvals());
    assert_eq!(fewer.colors.get(0), Some(1), "the input comes in register 1");
    assert!((1..n / 2).contains(&fewer.left.nvals()));
    // a variable in memory has a place of its own
    let memory = |(v, color): (u32, u32)| if color == 0 { pressure as usize + v as usize } else { color as usize - 1 };
    let place: Vec<usize> = fewer.colors.iter().map(memory).collect();
    for input in [0, 1, 77, u64::MAX] {
        assert_eq!(execute(&program, &place, input), execute(&program, &apart, input));
    }
    Ok(())
}

fn main() -> Result<()> {
    // on a GPU if there is one; the answer has the same bits
    Device::auto().scope(run)
}
