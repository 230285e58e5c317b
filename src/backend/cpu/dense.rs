//! Products with dense matrices, by rows.

use crate::formats::Csr;
use core::ops::{Add, Mul};
use rayon::prelude::*;
use vxm_semiring::Element;

/// Rows and columns of the right factor that are gone through together: they stay in a core's cache.
const DEPTH: usize = 256;
const WIDTH: usize = 256;

/// `c += a b`, `a` being of m x k values and `b` of k x n, row by row; each place adds up its products in their order.
pub fn multiply<T: Copy + Send + Sync + Add<Output = T> + Mul<Output = T>>(
    [m, k, n]: [usize; 3],
    a: &[T],
    b: &[T],
    c: &mut [T],
) {
    if m == 0 || k == 0 || n == 0 {
        return;
    }
    // a few shares a thread, of enough rows to use each piece of `b` again
    let rows = m.div_ceil(4 * rayon::current_num_threads()).clamp(1, 64);
    c.par_chunks_mut(rows * n).zip(a.par_chunks(rows * k)).for_each(|(c, a)| {
        for left in (0..n).step_by(WIDTH) {
            let columns = left..n.min(left + WIDTH);
            for top in (0..k).step_by(DEPTH) {
                let depth = top..k.min(top + DEPTH);
                for (c, a) in c.chunks_exact_mut(n).zip(a.chunks_exact(k)) {
                    let row = |p: usize| &b[p * n..][columns.clone()];
                    add(&mut c[columns.clone()], &a[depth.clone()], |p| row(top + p));
                }
            }
        }
    });
}

/// `c += a b`, `b` being of `n` columns, row by row; each place adds up its products in the order of `a`'s row.
pub fn multiply_sparse<T: Element + Add<Output = T> + Mul<Output = T>>(a: &Csr<T>, b: &[T], n: usize, c: &mut [T]) {
    if n == 0 {
        return;
    }
    c.par_chunks_mut(n).enumerate().with_min_len(64).for_each(|(i, c)| {
        let (columns, values) = a.row(i);
        for (&j, &x) in columns.iter().zip(values) {
            let row = &b[j as usize * n..][..n];
            c.iter_mut().zip(row).for_each(|(c, &b)| *c = *c + x * b);
        }
    });
}

/// Adds rows, each times its factor, in their order.
#[inline(always)]
fn add<'b, T: Copy + Add<Output = T> + Mul<Output = T> + 'b>(
    c: &mut [T],
    factors: &[T],
    row: impl Fn(usize) -> &'b [T],
) {
    let (fours, rest) = factors.as_chunks::<4>();
    for (p, x) in fours.iter().enumerate() {
        // four at once: the sum is read and written a fourth as often
        let [r0, r1, r2, r3] = [0, 1, 2, 3].map(|i| &row(4 * p + i)[..c.len()]);
        for (j, c) in c.iter_mut().enumerate() {
            *c = *c + x[0] * r0[j] + x[1] * r1[j] + x[2] * r2[j] + x[3] * r3[j];
        }
    }
    for (p, &x) in rest.iter().enumerate() {
        let row = row(4 * fours.len() + p);
        c.iter_mut().zip(row).for_each(|(c, &b)| *c = *c + x * b);
    }
}
