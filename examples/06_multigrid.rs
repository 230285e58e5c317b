//! Algebraic multigrid: unknowns are aggregated around a maximal independent set at distance 2, and a coarse equation takes the errors
//! that smoothing leaves.
//!
//! The members of the set are roots. No two are within two edges, so each vertex next to one has one root; each other vertex is two edges
//! from one. `T[i, k] = 1` if `i` lies in aggregate `k`, a step of Jacobi's method makes `P = T - 2/3 D⁻¹ A T` of it, and the coarse matrix
//! is `Pᵀ A P` (Bell, Dalton, Olson, "Exposing fine-grained parallelism in algebraic multigrid methods").

use vxm::algorithms::{Priority, aggregates, priorities};
use vxm::prelude::*;

const SIDE: usize = 24;
const CYCLES: u32 = 24;

/// The entries of Poisson's matrix on the grid, with 0 around: 4 on the diagonal, -1 for neighbours.
#[op]
fn laplace(i: u32, j: u32, _edge: ()) -> f64 {
    if i == j { 4.0f64 } else { -1.0f64 }
}

/// A damped step of Jacobi's method from `u`, with the residual `r`: `u + 2/3 r / 4`.
#[op]
fn smoothed(u: f64, r: f64) -> f64 {
    u + r / 6.0f64
}

fn residual(a: &Matrix<f64>, u: &Vector<f64>, f: &Vector<f64>) -> Result<Vector<f64>> {
    // r = f - A u
    f.ewise_mult(a.mxv(u, PLUS_TIMES), MINUS).eval()
}

fn smooth(a: &Matrix<f64>, u: &Vector<f64>, f: &Vector<f64>) -> Result<Vector<f64>> {
    let r = residual(a, u, f)?;
    smoothed.map2(u, &r).eval()
}

/// Solves a small dense system by Gaussian elimination; the matrix is positive definite, so no pivots are sought.
fn solved(mut m: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for k in 0..n {
        let (upper, lower) = m.split_at_mut(k + 1);
        for (i, row) in lower.iter_mut().enumerate().filter(|(_, row)| row[k] != 0.0) {
            let factor = row[k] / upper[k][k];
            row.iter_mut().zip(&upper[k]).skip(k).for_each(|(x, y)| *x -= factor * y);
            b[k + 1 + i] -= factor * b[k];
        }
    }
    for k in (0..n).rev() {
        b[k] = (b[k] - (k + 1..n).map(|j| m[k][j] * b[j]).sum::<f64>()) / m[k][k];
    }
    b
}

fn run() -> Result<()> {
    let graph = Matrix::from_simple(vxm::io::generate(&format!("grid:{SIDE}x{SIDE}"), &())?.graph);
    let n = graph.nrows();
    let a = graph.ewise_add(&Matrix::from_diagonal(&Vector::full(n, ()))?, ANY)?.map_index(laplace)?;
    let found = aggregates(&graph, &priorities(&graph, Priority::Random, 0)?)?;
    let (aggregate, count) = (found.aggregate, found.roots.nvals());

    // every vertex lies in an aggregate, and each aggregate has some
    assert_eq!(aggregate.nvals(), n);
    let members = aggregate.iter().map(|(i, k)| (i, k, 1.0));
    let t = Matrix::from_triples(n, count, members)?;
    assert!(t.transpose().degrees()?.to_dense(0).iter().all(|&size| size >= 1));
    // two vertices of one aggregate are at most four steps apart on the grid
    let place = aggregate.to_dense(u32::MAX);
    for (i, j) in (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).filter(|&(i, j)| place[i] == place[j]) {
        assert!((i / SIDE).abs_diff(j / SIDE) + (i % SIDE).abs_diff(j % SIDE) <= 4);
    }

    // P = T + 2/3 (-A T) / 4, the step from T towards A T = 0
    let p = t.ewise_union(0.0, &a.mxm(&t, PLUS_TIMES).eval()?.map(AINV)?, 0.0, smoothed)?;
    // C = Pᵀ A P
    let c = p.transpose().mxm(&a.mxm(&p, PLUS_TIMES).eval()?, PLUS_TIMES).eval()?;
    let mut coarse = vec![vec![0.0; count]; count];
    c.iter().for_each(|(i, j, value)| coarse[i as usize][j as usize] = value);
    println!("{n} unknowns in {count} aggregates, {} entries of the coarse matrix", c.nnz());

    let f = Vector::from_dense((0..n).map(|i| if i % 5 == 0 { 1.0 } else { 0.25 }).collect());
    let (mut u, mut alone) = (fill(0.0, n).eval()?, fill(0.0, n).eval()?);
    let norm = |u: &Vector<f64>| residual(&a, u, &f)?.map(ABS).reduce(MAX);
    for _ in 0..CYCLES {
        // smooth; u += P (C^-1 (Pᵀ (f - A u))); smooth
        u = smooth(&a, &u, &f)?;
        let r = residual(&a, &u, &f)?.vxm(&p, PLUS_TIMES).eval()?;
        let e = Vector::from_dense(solved(coarse.clone(), r.to_dense(0.0)));
        p.mxv(&e, PLUS_TIMES).accum(PLUS).assign_to(&mut u)?;
        u = smooth(&a, &u, &f)?;
        // four smoothing steps take as many products with A and more
        for _ in 0..4 {
            alone = smooth(&a, &alone, &f)?;
        }
    }
    let (two_grids, smoothing) = (norm(&u)?, norm(&alone)?);
    println!("residual after {CYCLES} cycles: {two_grids:.1e} by two grids, {smoothing:.1e} by smoothing alone");
    assert!(two_grids < smoothing / 1000.0);

    // the equation, by loops over the grid
    let u = u.to_dense(f64::NAN);
    let at = |row: usize, column: usize| if row < SIDE && column < SIDE { u[row * SIDE + column] } else { 0.0 };
    for (i, f) in f.iter() {
        let (row, column) = (i as usize / SIDE, i as usize % SIDE);
        let around = at(row.wrapping_sub(1), column)
            + at(row + 1, column)
            + at(row, column.wrapping_sub(1))
            + at(row, column + 1);
        assert!((4.0 * at(row, column) - around - f).abs() < 1.1 * two_grids + 1e-9);
    }
    Ok(())
}

fn main() -> Result<()> {
    // on a GPU if there is one; the answer has the same bits
    Device::auto().scope(run)
}
