//! Jacobian compression: a sparse Jacobian from a few directional differences, by a colouring of its columns.
//!
//! If two columns of `J` have no row in common, one difference along the sum of their unit vectors yields both. So the columns of one colour
//! are one seed vector, and a 5-point stencil on any grid needs a handful of seeds rather than one for each unknown (Gebremedhin, Manne,
//! Pothen, "What color is your Jacobian?").

use vxm::algorithms::priority::column_keys;
use vxm::algorithms::{Order, color_columns, decompress};
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

    // the pattern of J: each cell depends on itself and its neighbours
    let pattern = a.ewise_add(&Matrix::from_diagonal(&Vector::full(n, ()))?, ANY)?;
    let found = color_columns(&pattern, &column_keys(&pattern, Order::Random, 0)?)?;
    // column k: (F(u + s) - F(u - s)) / 2, where s is 1 on colour k + 1
    let mut compressed = Vec::new();
    for color in 1..=found.count {
        let seed = found.colors.map(EQ.bind(color)).map(is_one).eval()?;
        let above = right_side(&a, &u.ewise_mult(&seed, PLUS).eval()?)?;
        let below = right_side(&a, &u.ewise_mult(&seed, MINUS).eval()?)?;
        compressed.push(above.ewise_mult(&below, MINUS).map(DIV.bind(2)).eval()?);
    }
    // J[i, j] stands in row i of the column of j's colour
    let compressed = Matrix::from_columns(&compressed.iter().collect::<Vec<_>>())?;
    let jacobian = decompress(&pattern, &found.colors, &compressed)?;
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
    // an inner cell and its four neighbours need five colours; a cell has at most 12 others within two edges
    assert!((5..=13).contains(&found.count));
    Ok(())
}

fn main() -> Result<()> {
    // on a GPU if there is one; the answer has the same bits
    Device::auto().scope(run)
}
