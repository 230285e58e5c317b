//! The mode of rows: a row reduction that no monoid of one element gives.

use crate::backend::{cpu, cuda, current};
use crate::containers::{Matrix, Set, Vector, VectorFormat};
use crate::error::{Error, Result};
use crate::operations::ranks::mode::modes_on_ranks;
use std::panic::Location;
use vxm_semiring::Element;

impl<A: Element> Matrix<A> {
    /// The mode of each row: `w[i]` is the value that occurs most often among `u[j]` over the entries `(i, j)` of the row, the least among
    /// equals. A row without an entry at an element of `u` holds none. Values of entries don't count.
    ///
    /// It returns a description. [`eval`](Mode::eval) computes it, and [`mask`](Mode::mask) restricts it to some rows. The vector's length
    /// must be `ncols()`; the result's length is `nrows()`.
    ///
    /// Short rows are sorted, longer ones counted in a hash table that is bounded by the number of distinct values (on a GPU: by the length
    /// of the row). O(n + entries of the wanted rows) time, expected. Counts are integers, so the result is the same everywhere.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let star = Matrix::undirected(4, &[(0, 1), (0, 2), (0, 3)])?;
    /// let labels = Vector::from_dense(vec![7u32, 9, 5, 9]);
    /// assert_eq!(star.mode(&labels).eval()?, Vector::from_dense(vec![9, 7, 7, 7]));
    /// // 5 and 9 occur once each
    /// let labels = Vector::from_pairs(4, [(2, 5u32), (3, 9)])?;
    /// assert_eq!(star.mode(&labels).eval()?, Vector::from_pairs(4, [(0, 5)])?);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[track_caller]
    #[must_use = "a mode does nothing until .eval() runs it"]
    pub fn mode<'a>(&'a self, u: &'a Vector<u32>) -> Mode<'a, A> {
        Mode { a: self, u, rows: None, at: Location::caller() }
    }
}

/// The modes of rows that have yet to be computed. Returned by [`Matrix::mode`].
#[derive(Debug, Clone, Copy)]
#[must_use = "a mode does nothing until .eval() runs it"]
pub struct Mode<'a, A: Element> {
    a: &'a Matrix<A>,
    u: &'a Vector<u32>,
    rows: Option<&'a Set>,
    at: &'static Location<'static>,
}

impl<'a, A: Element> Mode<'a, A> {
    /// Computes the modes of these rows only. The others hold none.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let path = Matrix::undirected(3, &[(0, 1), (1, 2)])?;
    /// let labels = Vector::from_dense(vec![7u32, 9, 7]);
    /// let middle = Set::from_indices(3, [1])?;
    /// assert_eq!(path.mode(&labels).mask(&middle).eval()?, Vector::from_pairs(3, [(1, 7)])?);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    pub fn mask(self, rows: &'a Set) -> Self {
        Self { rows: Some(rows), ..self }
    }

    /// Computes the modes as a new vector. It lies on the GPU of the first operand that lies on one, or else on that of the scope.
    ///
    /// # Errors
    /// The shapes don't fit. The device has too little memory, or is lost.
    #[inline(never)]
    pub fn eval(self) -> Result<Vector<u32>> {
        let Self { a, u, rows, at } = self;
        let matrix = || format!("matrix of {} x {}", a.nrows(), a.ncols());
        let fault = |right: String| Error::Shape { operation: "mode", left: matrix(), right, at };
        if u.len() != a.ncols() {
            return Err(fault(format!("vector of {}", u.len())));
        }
        if let Some(rows) = rows.filter(|rows| Vector::len(rows) != a.nrows()) {
            return Err(fault(format!("mask of {}", Vector::len(rows))));
        }
        if let Some(grid) = a.grid() {
            return modes_on_ranks(a, grid, u, rows);
        }
        let held = || a.gpu().or_else(|| u.gpu()).or_else(|| rows.and_then(|rows| rows.gpu()));
        if let Some(gpu) = held().cloned().or_else(current) {
            let rows = rows.map(|rows| rows.on(&gpu)).transpose()?;
            return Ok(Vector::on_device(cuda::mode::modes(&*a.on(&gpu)?, &u.on(&gpu)?, rows.as_ref())?));
        }
        // of few labels or rows, a search in a list for each would take longer than a bitmap
        let labels = if u.nvals() == u.len() { u.clone() } else { u.clone().with_format(VectorFormat::Bitmap) };
        let rows = rows.map(|rows| rows.clone().with_format(VectorFormat::Bitmap));
        let rows = rows.as_ref().map(|rows| rows.view());
        let wanted = |i: usize| rows.is_none_or(|rows| rows.get(i).is_some());
        Ok(Vector::from_options(&cpu::mode::modes(a.csr(), labels.view(), wanted)))
    }
}
