//! Verbs of matrices that need no elements of other ranks: each rank applies them to its rows, as one process does to the whole matrix.
//!
//! Entries of one place lie on the same rank, whatever the matrix. So a verb that goes place by place is applied to a rank's rows as it is.

use crate::containers::Matrix;
use crate::error::Result;
use crate::formats::Csr;
use crate::ranks::{Grid, Share};
use std::borrow::Cow;
use vxm_semiring::Element;

/// A matrix over the ranks of a grid: itself, or its shares if all ranks hold the whole. All ranks call this.
pub(crate) fn spread<'a, T: Element>(a: &'a Matrix<T>, grid: &Grid) -> Result<Cow<'a, Matrix<T>>> {
    Ok(if a.grid().is_some() { Cow::Borrowed(a) } else { Cow::Owned(a.to_grid(grid)?) })
}

/// The entries that this rank holds, by the numbers of rows and the columns of the matrix. All ranks call this.
pub(crate) fn entries<T: Element>(a: &Matrix<T>, grid: &Grid, verb: &'static str) -> Result<Csr<T>> {
    Ok(spread(a, grid)?.share(grid, false, verb)?.to_rows(grid, a.nrows()))
}

/// The same as a matrix of this rank, on its GPU if ranks run on GPUs. All ranks call this.
pub(crate) fn rows<T: Element>(a: &Matrix<T>, grid: &Grid, verb: &'static str) -> Result<Matrix<T>> {
    Matrix::from_csr(entries(a, grid, verb)?).placed(grid.gpu().cloned())
}

/// The matrix of `n` rows of which `made` are this rank's. It fails if it failed on any rank. All ranks call this.
#[inline(never)]
pub(crate) fn joined<T: Element>(grid: &Grid, n: usize, made: Result<Matrix<T>>) -> Result<Matrix<T>> {
    let made = grid.agree(made)?;
    grid.work(made.nnz() as usize, 0);
    Matrix::of_share(grid, n, Share::of_rows(grid, n, made.csr())?, false)
}
