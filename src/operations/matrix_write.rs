//! Writing a matrix into another one, through a mask and an accumulator.

use crate::backend::current;
use crate::containers::Matrix;
use crate::error::Result;
use crate::operations::entry_filter::build;
use crate::operations::matrix_mask::{MatrixMask, RowsOfMask};
use crate::operations::matrix_verbs::merge;
use crate::operations::ranks::local;
use std::panic::Location;
use vxm_semiring::{BinaryOp, Element};

/// How a matrix is written into another one where the mask is true.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
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
    if let Some(grid) = c.grid().or(t.grid()).or(mask.and_then(|mask| mask.grid())) {
        let (old, new) = (local::rows(c, grid, "assign_to")?, local::rows(t, grid, "assign_to")?);
        let mask = mask.map(|mask| mask.on_ranks(grid)).transpose()?;
        let made = written(&old, &new, mask.as_ref().map(RowsOfMask::mask), writing);
        return local::joined(grid, c.nrows(), made);
    }
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

impl<T: Element> Matrix<T> {
    /// The matrix, to be written into another one where a mask is true; see [`MatrixWrite`]. [`masked`](Self::masked) gives a new matrix.
    #[must_use = "nothing is written until .assign_to(&mut c)"]
    pub fn mask<'a>(&'a self, mask: impl Into<MatrixMask<'a>>) -> MatrixWrite<'a, T> {
        MatrixWrite { matrix: self, mask: Some(mask.into()) }
    }

    /// The matrix, to be joined into another one by an accumulator; see [`MatrixWrite`].
    #[must_use = "nothing is written until .assign_to(&mut c)"]
    pub fn accum<F: BinaryOp<T, T, Out = T>>(&self, op: F) -> MatrixAccum<'_, T, F> {
        MatrixAccum { write: MatrixWrite { matrix: self, mask: None }, op }
    }
}

/// A matrix that is written into another one through a mask, as every GraphBLAS operation writes its result. Returned by [`Matrix::mask`].
///
/// ```
/// use vxm::prelude::*;
///
/// let t = Matrix::from_triples(2, 2, [(0, 0, 5u32), (1, 1, 7)])?;
/// let m = Matrix::from_triples(2, 2, [(0, 0, ()), (0, 1, ())])?;
/// let c = Matrix::from_triples(2, 2, [(0, 1, 1u32), (1, 1, 1)])?;
/// // C<M> = T: the place (0, 1) of the mask becomes empty as it is in T; outside of the mask C stays
/// let mut replaced = c.clone();
/// t.mask(&m).assign_to(&mut replaced)?;
/// assert_eq!(replaced.iter().collect::<Vec<_>>(), [(0, 0, 5), (1, 1, 1)]);
/// // C<!M> += T
/// let mut joined = c.clone();
/// t.mask(!&m).accum(PLUS).assign_to(&mut joined)?;
/// assert_eq!(joined.iter().collect::<Vec<_>>(), [(0, 1, 1), (1, 1, 8)]);
/// // C += T
/// let mut sum = c;
/// t.accum(PLUS).assign_to(&mut sum)?;
/// assert_eq!(sum.iter().collect::<Vec<_>>(), [(0, 0, 5), (0, 1, 1), (1, 1, 8)]);
/// # Ok::<(), vxm::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
#[must_use = "nothing is written until .assign_to(&mut c)"]
pub struct MatrixWrite<'a, T: Element> {
    matrix: &'a Matrix<T>,
    mask: Option<MatrixMask<'a>>,
}

impl<'a, T: Element> MatrixWrite<'a, T> {
    /// Makes the matrix join what is there.
    pub fn accum<F: BinaryOp<T, T, Out = T>>(self, op: F) -> MatrixAccum<'a, T, F> {
        MatrixAccum { write: self, op }
    }

    /// `C<mask> = T`: where the mask is true, `c` becomes the matrix, absence included. Elsewhere `c` stays. O(n + entries of all) time.
    ///
    /// # Errors
    /// The shapes differ. The device has too little memory, or is lost.
    #[track_caller]
    pub fn assign_to(self, c: &mut Matrix<T>) -> Result<()> {
        self.write(c, Writing::<vxm_semiring::Second>::Replace)
    }

    #[track_caller]
    fn write<F: BinaryOp<T, T, Out = T>>(self, c: &mut Matrix<T>, writing: Writing<F>) -> Result<()> {
        c.check_same_shape("assign_to", self.matrix)?;
        if let Some(mask) = self.mask {
            mask.check((c.nrows(), c.ncols()), Location::caller())?;
        }
        *c = written(c, self.matrix, self.mask, writing)?;
        Ok(())
    }
}

/// A matrix that is joined into another one. Returned by [`Matrix::accum`].
#[derive(Debug, Clone, Copy)]
#[must_use = "nothing is written until .assign_to(&mut c)"]
pub struct MatrixAccum<'a, T: Element, F> {
    write: MatrixWrite<'a, T>,
    op: F,
}

impl<T: Element, F: BinaryOp<T, T, Out = T>> MatrixAccum<'_, T, F> {
    /// `C<mask> ⊙= T`: joins each entry with what `c` holds there. Other entries of `c` stay. O(n + entries of all) time.
    ///
    /// # Errors
    /// As [`MatrixWrite::assign_to`].
    #[track_caller]
    pub fn assign_to(self, c: &mut Matrix<T>) -> Result<()> {
        self.write.write(c, Writing::Join(self.op))
    }
}
