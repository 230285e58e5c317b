//! Products with dense matrices.

use crate::formats::Csr;
use crate::parallel;
use core::ops::{Add, Mul};
use vxm_semiring::Element;

/// Rows of the right factor's blocks. A block of `DEPTH` x `WIDTH` values stays in a core's cache while all of a thread's rows use it.
const DEPTH: usize = 256;
/// Rows of a sparse factor that a thread multiplies at least.
const LEAST_ROWS: usize = 64;
/// Columns of the right factor's blocks.
const WIDTH: usize = 256;

/// Adds the product `a b` to `c`. All are row-major: `a` is `m` x `k`, `b` is `k` x `n`, `c` is `m` x `n`. Each element of `c` adds its
/// products in ascending order of the inner index, so the result doesn't depend on the number of threads.
pub fn multiply<T: Copy + Send + Sync + Add<Output = T> + Mul<Output = T>>(
    [m, k, n]: [usize; 3],
    a: &[T],
    b: &[T],
    c: &mut [T],
) {
    if m == 0 || k == 0 || n == 0 {
        return;
    }
    // a few chunks per thread, to even out their work; many rows per chunk, to reuse each block of `b`
    let rows = m.div_ceil(4 * parallel::threads()).clamp(1, 64);
    parallel::each(c.chunks_mut(rows * n).zip(a.chunks(rows * k)).collect(), &|(c, a)| {
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

/// Adds the product `a b` to `c`, for a sparse `a`. `b` and `c` are row-major with `n` columns. Each element of `c` adds its products in
/// the order of the entries in `a`'s row.
pub fn multiply_sparse<T: Element + Add<Output = T> + Mul<Output = T>>(a: &Csr<T>, b: &[T], n: usize, c: &mut [T]) {
    if n == 0 {
        return;
    }
    parallel::each(c.chunks_mut(LEAST_ROWS * n).enumerate().collect(), &|(chunk, c)| {
        for (k, c) in c.chunks_exact_mut(n).enumerate() {
            let (columns, values) = a.row(chunk * LEAST_ROWS + k);
            for (&j, &x) in columns.iter().zip(values) {
                let row = &b[j as usize * n..][..n];
                c.iter_mut().zip(row).for_each(|(c, &b)| *c = *c + x * b);
            }
        }
    });
}

/// Adds `factors[p] * row(p)` to `c` for each `p`, in ascending order.
#[inline(always)]
fn add<'b, T: Copy + Add<Output = T> + Mul<Output = T> + 'b>(
    c: &mut [T],
    factors: &[T],
    row: impl Fn(usize) -> &'b [T],
) {
    let (fours, rest) = factors.as_chunks::<4>();
    for (p, x) in fours.iter().enumerate() {
        // four rows per step: the sum is read and written a fourth as often
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
