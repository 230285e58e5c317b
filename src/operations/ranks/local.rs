//! Verbs of matrices that need no elements of other ranks: each rank applies them to its rows, as one process does to the whole matrix.
//!
//! Entries of one place lie on the same rank, whatever the matrix. So a verb that goes place by place is applied to a rank's rows as it is.

use crate::backend::Device;
use crate::containers::Matrix;
use crate::error::Result;
use crate::ranks::{Grid, Share};
use std::borrow::Cow;
use std::sync::Arc;
use vxm_semiring::Element;

/// A matrix over the ranks of a grid: itself, or its shares if all ranks hold the whole. All ranks call this.
pub(crate) fn spread<'a, T: Element>(a: &'a Matrix<T>, grid: &Grid) -> Result<Cow<'a, Matrix<T>>> {
    Ok(if a.grid().is_some() { Cow::Borrowed(a) } else { Cow::Owned(a.to_grid(grid)?) })
}

/// This rank's share of a matrix by rows. All ranks call this.
pub(crate) fn share<T: Element>(a: &Matrix<T>, grid: &Grid, verb: &'static str) -> Result<Arc<Share<T>>> {
    spread(a, grid)?.share(grid, false, verb)
}

/// A share as a matrix of this rank, with the numbers of rows and the columns of the whole one, which has `n` of them. It lies on the rank's GPU if
/// ranks run on GPUs.
pub(crate) fn matrix<T: Element>(share: &Share<T>, grid: &Grid, n: usize) -> Result<Matrix<T>> {
    Matrix::from_csr(share.to_rows(grid, n)).placed(grid.gpu().cloned())
}

/// The same of a whole matrix or one over ranks. All ranks call this.
pub(crate) fn rows<T: Element>(a: &Matrix<T>, grid: &Grid, verb: &'static str) -> Result<Matrix<T>> {
    matrix(&*share(a, grid, verb)?, grid, a.nrows())
}

/// A rank's matrix on its host. It fails if it failed on any rank. All ranks call this.
pub(crate) fn agreed<T: Element>(grid: &Grid, made: Result<Matrix<T>>) -> Result<Matrix<T>> {
    grid.agree(made.and_then(|made| made.to(Device::Cpu)))
}

/// The matrix of `n` rows of which `made` are this rank's, with entries only where `pattern` holds one: it has the rows and slots of
/// `pattern`. It fails if it failed on any rank. All ranks call this.
#[inline(never)]
pub(crate) fn joined_within<A: Element, T: Element>(
    grid: &Grid,
    n: usize,
    pattern: &Share<A>,
    made: Result<Matrix<T>>,
) -> Result<Matrix<T>> {
    let made = agreed(grid, made)?;
    grid.work(pattern.csr.nnz(), 0);
    Matrix::of_share(grid, n, pattern.within(grid, n, made.csr()), false)
}

/// The matrix of `n` rows of which `made` are this rank's. It fails if it failed on any rank. All ranks call this.
#[inline(never)]
pub(crate) fn joined<T: Element>(grid: &Grid, n: usize, made: Result<Matrix<T>>) -> Result<Matrix<T>> {
    let made = agreed(grid, made)?;
    grid.work(made.nnz() as usize, 0);
    Matrix::of_share(grid, n, Share::of_rows(grid, n, made.csr())?, false)
}
