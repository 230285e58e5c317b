//! Writing a matrix into another one, through a mask and an accumulator.

use crate::backend::current;
use crate::containers::Matrix;
use crate::error::Result;
use crate::operations::entry_filter::build;
use crate::operations::matrix_mask::MatrixMask;
use crate::operations::matrix_verbs::merge;
use vxm_semiring::{BinaryOp, Element};

/// How a matrix is written into another one where the mask is true.
#[derive(Debug, Clone, Copy)]
pub enum Writing<F> {
    /// The new entries replace the old ones, absence included.
    Replace,
    /// An operator joins an old and a new entry. If one is absent, the other is stored.
    Join(F),
}

/// The matrix `c` after `t` was written into it. Both have one shape, and so has the mask. It runs on the host; the result lies where `c`
/// does, or else `t`, or else where the scope says.
pub(crate) fn written<T: Element, F: BinaryOp<T, T, Out = T>>(
    c: &Matrix<T>,
    t: &Matrix<T>,
    mask: Option<MatrixMask<'_>>,
    writing: Writing<F>,
) -> Result<Matrix<T>> {
    let gpu = c.gpu().or(t.gpu()).cloned().or_else(current);
    let places = mask.map(|mask| (mask.places(), mask.is_complement()));
    let places = places.as_ref().map(|(places, complement)| (places.get(), *complement));
    let (old, new) = (c.csr(), t.csr());
    let rows = build(c.nrows(), c.ncols(), |i, columns, values| {
        let row = places.map(|(places, complement)| (places.row(i), complement));
        let allowed = |j: u32| row.is_none_or(|(row, complement)| row.binary_search(&j).is_ok() != complement);
        merge(old.row(i), new.row(i), |j, old, new| {
            let kept = match (allowed(j), writing, old, new) {
                (false, ..) => old,
                (true, Writing::Replace, ..) => new,
                (true, Writing::Join(op), Some(old), Some(new)) => Some(op.call(old, new)),
                (true, Writing::Join(_), old, new) => old.or(new),
            };
            columns.extend(kept.map(|_| j));
            values.extend(kept);
        });
    });
    Matrix::from_csr(rows).placed(gpu)
}
