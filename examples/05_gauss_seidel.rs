//! Parallel Gauss-Seidel: unknowns of one colour don't read each other, so they are updated at once, colour after colour.
//!
//! The equation is Poisson's on a grid, `4 u[i] - the sum of u over neighbours = f[i]`, with 0 around the grid. A sweep solves each row
//! for its own unknown. Within a colour the order doesn't matter, so the sweep is the sequential one in the order of colours.

use vxm::algorithms::{ColoringOptions, color};
use vxm::prelude::*;

const SIDE: usize = 20;
const TOLERANCE: f64 = 1e-9;

/// The value of `u[i]` that its row asks for.
#[op]
fn row_solved(f: f64, around: f64) -> f64 {
    (f + around) / 4.0f64
}

/// `|f - (4 u - around)|`, how much a row is missed by.
#[op]
fn missed(u: f64, f: f64, around: f64) -> f64 {
    (f - (4.0f64 * u - around)).abs()
}

/// The solution and the number of sweeps, one colour at a time.
fn by_colors(a: &Matrix, f: &Vector<f64>) -> Result<(Vector<f64>, u32)> {
    let found = color(a, &ColoringOptions::default())?;
    let classes: Vec<Set> =
        (1..=found.count).map(|color| found.colors.select(EQ.bind(color)).pattern().eval()).collect::<Result<_>>()?;
    let mut u = fill(0.0, a.nrows()).eval()?;
    for sweep in 1.. {
        for class in &classes {
            // u<class> = (f + (u plus.first A)) / 4
            u.update(|u| row_solved.map2(f, u.vxm(a, PLUS_FIRST).or_identity()).mask(class))?;
        }
        // the greatest of |f - (4 u - (u plus.first A))|
        if missed.map3(&u, f, u.vxm(a, PLUS_FIRST).or_identity()).reduce(MAX)? < TOLERANCE {
            return Ok((u, sweep));
        }
    }
    unreachable!("a sweep brings the solution nearer")
}

/// What the neighbours of cell `i` hold in sum.
fn around(u: &[f64], i: usize) -> f64 {
    let (row, column) = (i / SIDE, i % SIDE);
    let mut sum = 0.0;
    sum += if row > 0 { u[i - SIDE] } else { 0.0 };
    sum += if row + 1 < SIDE { u[i + SIDE] } else { 0.0 };
    sum += if column > 0 { u[i - 1] } else { 0.0 };
    sum + if column + 1 < SIDE { u[i + 1] } else { 0.0 }
}

/// The sequential method: one cell after the other, by loops over the grid.
fn sequential(f: &[f64]) -> (Vec<f64>, u32) {
    let mut u = vec![0.0; f.len()];
    for sweep in 1.. {
        for i in 0..f.len() {
            u[i] = (f[i] + around(&u, i)) / 4.0;
        }
        if (0..f.len()).all(|i| (f[i] - (4.0 * u[i] - around(&u, i))).abs() < TOLERANCE) {
            return (u, sweep);
        }
    }
    unreachable!("a sweep brings the solution nearer")
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let a = Matrix::from_simple(vxm::io::generate(&format!("grid:{SIDE}x{SIDE}"), &())?.graph);
    let f: Vec<f64> = (0..SIDE * SIDE).map(|i| if i % 7 == 0 { 1.0 } else { -0.125 }).collect();
    let (expected, sequentially) = sequential(&f);

    let f = Vector::from_dense(f);
    let mut digests = Vec::new();
    for threads in [1, 2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        // on a GPU if there is one; the answer has the same bits
        let (u, sweeps) = pool.install(|| Device::auto().scope(|| by_colors(&a, &f)))?;
        println!(
            "{threads} threads: {sweeps} sweeps by colours, {sequentially} sequential ones; digest {:016x}",
            u.digest()
        );
        digests.push(u.digest());

        let u = u.to_dense(f64::NAN);
        // the tolerance that the sequential method was run to, checked by loops over the grid
        for (i, f) in f.iter() {
            assert!((f - (4.0 * u[i as usize] - around(&u, i as usize))).abs() < 2.0 * TOLERANCE);
        }
        let apart = u.iter().zip(&expected).map(|(u, e)| (u - e).abs()).fold(0.0, f64::max);
        assert!(apart < 1e-6, "{apart} apart");
        // an order of colours costs few sweeps
        assert!(sweeps < 2 * sequentially);
    }
    assert!(digests.iter().all(|&digest| digest == digests[0]), "the same bits with any number of threads");
    Ok(())
}
