//! Jacobian compression: a sparse Jacobian from a few directional differences, by a colouring at distance 2.
//!
//! If two columns of `J` have no row in common, one difference along the sum of their unit vectors yields both. On a structurally symmetric
//! `J` two columns share a row where their vertices have a common neighbour or are neighbours. So a colour class at distance 2 is one
//! seed vector, and a 5-point stencil on any grid needs a handful of seeds rather than one for each unknown (Gebremedhin, Manne, Pothen,
//! "What color is your Jacobian?").

use vxm::algorithms::{Priority, color_at_distance_2, priorities};
use vxm::prelude::*;

const ROWS: u32 = 20;
const COLUMNS: u32 = 24;
const DIFFUSION: i64 = 3;

/// Logistic growth and what diffusion takes from a cell, `u (50 - u) - 3 * 4 u`. A quadratic, so a central difference is exact.
#[op]
fn react(u: i64) -> i64 {
    u * (50i64 - u) - DIFFUSION * 4i64 * u
}

/// What flows in along an edge.
#[op]
fn flow(u: i64, _edge: ()) -> i64 {
    DIFFUSION * u
}

/// `F(u) = 3 (the sum of u over neighbours - 4 u) + u (50 - u)`, of a reaction-diffusion equation on the grid.
fn right_side(a: &Matrix, u: &Vector<i64>) -> Result<Vector<i64>> {
    // F = react(u) + (u plus.flow A)
    u.map(react).ewise_add(u.vxm(a, semiring(PLUS, flow)), PLUS).eval()
}

/// The element of the seed vector of a colour.
#[op]
fn is_one(equal: bool) -> i64 {
    if equal { 1i64 } else { 0i64 }
}

fn run() -> Result<()> {
    let a = Matrix::from_simple(vxm::io::generate(&format!("grid:{ROWS}x{COLUMNS}"), &())?.graph);
    let n = a.nrows();
    let u = Vector::from_dense((0..n as i64).map(|i| i * i * 7 % 50).collect());

    let found = color_at_distance_2(&a, &priorities(&a, Priority::Random, 0)?)?;
    // column k: (F(u + s) - F(u - s)) / 2, where s is 1 on colour k + 1
    let mut compressed = Vec::new();
    for color in 1..=found.count {
        let seed = found.colors.map(EQ.bind(color)).map(is_one).eval()?;
        let above = right_side(&a, &u.ewise_mult(&seed, PLUS).eval()?)?;
        let below = right_side(&a, &u.ewise_mult(&seed, MINUS).eval()?)?;
        compressed.push(above.ewise_mult(&below, MINUS).map(DIV.bind(2)).eval()?.to_dense(0));
    }
    // J[i, j] stands in row i of the column of j's colour
    let color = found.colors.to_dense(0);
    let diagonal = Matrix::from_diagonal(&Vector::full(n, ()))?;
    let pattern = a.ewise_add(&diagonal, ANY)?;
    let entry = |(i, j, ()): (u32, u32, ())| (i, j, compressed[color[j as usize] as usize - 1][i as usize]);
    let jacobian = Matrix::from_triples(n, n, pattern.iter().map(entry))?;
    println!(
        "{n} unknowns, {} entries of the Jacobian: {} seeds, {} evaluations instead of {}",
        jacobian.nnz(),
        found.count,
        2 * found.count,
        2 * n
    );

    // by calculus: dF_i/du_i = 50 - 2 u_i - 12, dF_i/du_j = 3 for neighbours; exactly
    assert_eq!(jacobian.nnz(), n as u64 + a.nnz());
    let u = u.to_dense(0);
    for (i, j, value) in jacobian.iter() {
        let apart = (i / COLUMNS).abs_diff(j / COLUMNS) + (i % COLUMNS).abs_diff(j % COLUMNS);
        let expected = if apart == 0 { 50 - 2 * u[i as usize] - 4 * DIFFUSION } else { DIFFUSION };
        assert!(apart <= 1);
        assert_eq!(value, expected, "J[{i}, {j}]");
    }
    // an inner cell and its four neighbours need five colours; a vertex has at most 12 within two edges
    assert!((5..=13).contains(&found.count));
    Ok(())
}

fn main() -> Result<()> {
    // on a GPU if there is one; the answer has the same bits
    Device::auto().scope(run)
}
