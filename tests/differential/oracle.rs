//! Plus-times products, compared with the crate `sprs`, which shares no code with this project or its reference.

use crate::algebra::mix;
use crate::harness::{ok, on_threads, same, suite};
use crate::shapes::{Graph, filled, graph, matrix};
use proptest::sample::select;
use sprs::{CsMat, CsVec};
use vxm::backend::plan::{Direction, Forced, force};
use vxm::backend::reference::grid;
use vxm::formats::Csr;
use vxm::prelude::*;

/// A row vector times a matrix, by sprs: the sums of all columns that have a product.
fn product<T>(u: &Vector<T>, a: &CsMat<T>) -> Vec<(u32, T)>
where
    T: Element + Default + sprs::MulAcc + num_traits::Num,
{
    let (indices, values): (Vec<usize>, Vec<T>) = u.iter().map(|(i, x)| (i as usize, x)).unzip();
    let product = &CsVec::new(u.len(), indices, values) * a;
    product.iter().map(|(j, &x)| (j as u32, x)).collect()
}

#[test]
fn sums_of_integers() {
    let directions = select(vec![None, Some(Direction::Push), Some(Direction::Pull)]);
    let strategy = (graph(), filled(), directions, select(vec![1, 2, 8]));
    suite("plus-times of i64 against sprs", 1500, strategy, |(graph, u, direction, threads)| {
        // positive numbers, so that no sum is 0: sprs might keep or drop it
        let small = |bits: u64| 1 + (mix(bits) % 1000) as i64;
        let entries = Graph { seed: graph.seed & !1, ..graph }.grid::<u64>();
        let (nrows, ncols) = (entries.rows.len(), entries.ncols);
        let entries = grid(nrows, ncols, |i, j| entries.rows[i][j].map(small));
        let a = matrix(&entries, false);
        let dense: Vec<Option<i64>> = u.dense::<u64>(nrows).into_iter().map(|x| x.map(small)).collect();
        let u = u.vector(&dense);
        let theirs = CsMat::from(a.csr());
        same("there and back", a.csr(), &ok(Csr::try_from(&theirs))?)?;
        same("by columns and back", a.csr(), &ok(Csr::try_from(&theirs.to_csc()))?)?;
        let found =
            on_threads(threads, || force(Forced { direction, ..Forced::default() }, || u.vxm(&a, PLUS_TIMES).eval()));
        same("vxm", product(&u, &theirs), ok(found)?.iter().collect())?;
        let transposed = CsMat::from(a.transpose().csr());
        same("transposed", &theirs.transpose_into().to_csr(), &transposed)?;
        let found = on_threads(threads, || a.transpose().mxv(&u, PLUS_TIMES).eval());
        same("mxv", u.vxm(&a, PLUS_TIMES).eval().ok(), found.ok())
    });
}

#[test]
fn sums_of_floats() {
    suite("plus-times of f64 against sprs", 1000, (graph(), filled()), |(graph, u)| {
        let entries = Graph { seed: graph.seed & !1, ..graph }.grid::<f64>();
        let a = matrix(&entries, false);
        let dense: Vec<Option<f64>> = u.dense::<u64>(a.nrows()).iter().map(|x| x.map(|x| x as f64 + 0.1)).collect();
        let u = u.vector(&dense);
        let found = ok(u.vxm(&a, PLUS_TIMES).eval())?;
        // sprs adds in another order, so sums agree up to rounding, relative to the sum of magnitudes
        let scale = ok(u.vxm(&ok(a.map(ABS))?, PLUS_TIMES).eval())?;
        let theirs = product(&u, &CsMat::from(a.csr()));
        for (j, sum) in theirs {
            let (found, scale) = (found.get(j).unwrap_or(f64::NAN), scale.get(j).unwrap_or(0.0));
            same(&format!("{found} is near {sum}"), true, (found - sum).abs() <= 1e-13 * scale)?;
        }
        Ok(())
    });
}
