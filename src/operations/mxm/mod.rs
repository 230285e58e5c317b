//! The product of two sparse matrices (GraphBLAS: `GrB_mxm`).

mod predict;
mod ranks;

pub use predict::Prediction;

use crate::backend::cpu::mxm::masked::{self, Operands};
use crate::backend::cpu::mxm::{Places, rows};
use crate::backend::cuda::{self, Gpu};
use crate::backend::spans::span;
use crate::backend::tuning::tuning;
use crate::backend::{current, plan};
use crate::containers::Matrix;
use crate::error::{Error, Result};
use crate::formats::Csr;
use crate::memory;
use crate::operations::matrix_mask::MatrixMask;
use crate::operations::matrix_write::{Writing, written};
use crate::stop;
use std::panic::Location;
use vxm_semiring::{BinaryOp, Element, Semiring};

impl<A: Element> Matrix<A> {
    /// The product of two sparse matrices, `C[i, j] = ⊕ over k of self[i, k] ⊗ b[k, j]` (GraphBLAS: `GrB_mxm`). `C` holds an entry where
    /// there is a product.
    ///
    /// It returns a description. [`eval`](MatrixProduct::eval) computes it, [`mask`](MatrixProduct::mask) restricts it, and
    /// [`predict`](MatrixProduct::predict) says what it will take. In `ring`, `FIRST` is the entry of `self` and `SECOND` that of `b`.
    ///
    /// An entry has the bits of a fold from left to right in ascending `k`, whether the monoid is exact or not. So the bits are the same on
    /// every path, under any mask and on any number of threads. A float sum may differ in its last bits from that of
    /// [`mxv`](crate::operations::verbs), which folds over the fixed tree.
    ///
    /// Without a mask, and under a complement, rows are computed by Gustavson's algorithm in O(products + entries log(row)) time. Under a
    /// mask only its places are computed, row by row by the cheaper of dot products and Gustavson's algorithm.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::from_triples(2, 3, [(0, 0, 1u32), (0, 2, 2), (1, 1, 3)])?;
    /// let b = Matrix::from_triples(3, 2, [(0, 1, 10u32), (2, 0, 5), (2, 1, 7)])?;
    /// let c = a.mxm(&b, PLUS_TIMES).eval()?;
    /// assert_eq!(c.iter().collect::<Vec<_>>(), [(0, 0, 10), (0, 1, 24)]);
    /// // the triangles of a graph: sum(C), where C<L> = L * L' and L is the lower triangle of the matrix
    /// let l = Matrix::undirected(4, &[(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)])?.select(TRIL)?;
    /// let c = l.mxm(&l.transpose(), PLUS_PAIR).mask(&l).eval()?;
    /// assert_eq!(c.reduce(PLUS)?, 2);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[track_caller]
    #[must_use = "a product does nothing until .eval() or .assign_to(&mut c) runs it"]
    pub fn mxm<'a, B: Element, S: Semiring<A, B>>(&'a self, b: &'a Matrix<B>, ring: S) -> MatrixProduct<'a, A, B, S> {
        MatrixProduct { a: self, b, ring, mask: None, at: Location::caller() }
    }
}

/// A product of two sparse matrices that has yet to be computed. Returned by [`Matrix::mxm`].
#[derive(Debug, Clone, Copy)]
#[must_use = "a product does nothing until .eval() or .assign_to(&mut c) runs it"]
pub struct MatrixProduct<'a, A: Element, B: Element, S> {
    a: &'a Matrix<A>,
    b: &'a Matrix<B>,
    ring: S,
    mask: Option<MatrixMask<'a>>,
    at: &'static Location<'static>,
}

impl<'a, A: Element, B: Element, S: Semiring<A, B>> MatrixProduct<'a, A, B, S> {
    /// Restricts the product to the places where the mask is true: `&m`, `m.values()`, or `!` of either. A product takes one mask; a
    /// second one takes its place.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::undirected(3, &[(0, 1), (1, 2)])?;
    /// // paths of two edges between vertices that no edge joins
    /// let paths = a.mxm(&a, PLUS_PAIR).mask(!&a).eval()?;
    /// assert_eq!(paths.select(TRIL)?.iter().collect::<Vec<_>>(), [(0, 0, 1), (1, 1, 2), (2, 0, 1), (2, 2, 1)]);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    pub fn mask(self, mask: impl Into<MatrixMask<'a>>) -> Self {
        Self { mask: Some(mask.into()), ..self }
    }

    /// Makes the product join what is there: the result of [`assign_to`](Joined::assign_to) is `C ⊙= A ⊕.⊗ B`.
    pub fn accum<F: BinaryOp<S::Out, S::Out, Out = S::Out>>(self, op: F) -> Joined<'a, A, B, S, F> {
        Joined { product: self, op }
    }

    /// Computes the product as a new matrix, which holds nothing where a mask is false.
    ///
    /// The result lies on the GPU of the first operand that lies on one, or else on that of the scope. There, a product under a structural
    /// mask is computed by dot products, long rows by a hash table. Without a mask, or under a complement, blocks sort and fold products in
    /// shared memory. If all entries may not fit together, groups of rows follow one another. A product under a mask by values is computed by
    /// the host's threads.
    ///
    /// # Errors
    /// The shapes don't fit. [`Error::Memory`]: the product takes more memory than there is; it is found before it begins. The device has
    /// too little memory, or is lost.
    #[inline(never)]
    pub fn eval(&self) -> Result<Matrix<S::Out>> {
        stop::check()?;
        self.check_shapes()?;
        if let Some(grid) = self.a.grid().or(self.b.grid()).or(self.mask.and_then(|mask| mask.grid())) {
            return self.on_ranks(grid);
        }
        let gpu = self.place();
        if let Some(gpu) = &gpu
            && let Some(mask) = self.mask.and_then(|mask| mask.structure_on(gpu)).transpose()?
        {
            let (a, columns) = (self.a.on(gpu)?, self.b.transposed_on(gpu)?);
            return Ok(Matrix::on_device(cuda::mxm::dots_at_places(&a, &columns, &mask, self.ring)?, None));
        }
        if let Some(gpu) = gpu.as_ref().filter(|_| !self.mask.is_some_and(|mask| mask.is_by_value())) {
            let (a, b) = (self.a.on(gpu)?, self.b.on(gpu)?);
            let counted = cuda::mxm::count(&a, &b)?;
            // a product that the device has no room for lies on the host
            let least = predict::csr_bytes(self.a.nrows(), counted.least_entries, size_of::<S::Out>());
            if least > u128::from(gpu.memory()?.0) {
                memory::require(least, || self.name())?;
            }
            let product = Matrix::on_device(counted.multiply(self.ring)?, None);
            return match self.mask {
                Some(mask) => product.masked(mask),
                None => Ok(product),
            };
        }
        let places = self.mask.map(|mask| (mask.places(), mask.is_complement()));
        let places = places.as_ref().map(|(places, complement)| (places.get(), *complement));
        let csr = match places {
            Some((mask, false)) => self.under(mask)?,
            Some((except, true)) => self.by_rows(Some(except))?,
            None => self.by_rows(None)?,
        };
        Matrix::from_csr(csr).placed(gpu)
    }

    /// Writes the product into `c`: where the mask is true, or everywhere without one, `c` becomes the product, absence included.
    /// Elsewhere `c` keeps its entries.
    ///
    /// # Errors
    /// As [`eval`](Self::eval), and if `c` has another shape.
    pub fn assign_to(&self, c: &mut Matrix<S::Out>) -> Result<()> {
        self.write(c, Writing::<vxm_semiring::Second>::Replace)
    }

    fn write<F>(&self, c: &mut Matrix<S::Out>, writing: Writing<F>) -> Result<()>
    where
        F: BinaryOp<S::Out, S::Out, Out = S::Out>,
    {
        self.check_target(c)?;
        *c = written(c, &self.eval()?, self.mask, writing)?;
        Ok(())
    }

    /// The product by Gustavson's algorithm, without the places of `except`.
    fn by_rows(&self, except: Option<Places<'_>>) -> Result<Csr<S::Out>> {
        let _span = span!("mxm by rows");
        let (a, b) = (self.a.csr(), self.b.csr());
        let (ends, size) = (predict::products(a, b), size_of::<S::Out>());
        let prediction = Prediction::by_rows(a, b, &ends, size);
        let least = if except.is_some() { 0 } else { prediction.least_entries };
        memory::require(prediction.bytes_of(least, size), || self.name())?;
        let offsets = rows::offsets(a, b, except, &ends)?;
        let entries = offsets.last().copied().unwrap_or(0);
        tracing::debug!(entries, ?prediction, "mxm by rows");
        memory::require(prediction.bytes_of(entries, size), || self.name())?;
        rows::multiply((a, b, self.ring), except, (&ends, offsets), plan::forced().row_path)
    }

    /// The product at the places of `mask`.
    fn under(&self, mask: Places<'_>) -> Result<Csr<S::Out>> {
        let _span = span!("mxm under a mask");
        let a = self.a.csr();
        let (rows, columns) = self.sides(a, mask);
        let prediction = self.predict_under(mask);
        tracing::debug!(rows = rows.is_some(), columns = columns.is_some(), ?prediction, "mxm under a mask");
        memory::require(prediction.bytes, || self.name())?;
        Operands { a, rows, columns, mask, ring: self.ring, forced: plan::forced().row_path }.multiply(self.b.ncols())
    }

    /// The rows and columns of `b` that the product under `mask` reads. Those that are there are taken. The others are made if that, and
    /// the product with them, is much cheaper.
    fn sides(&self, a: &Csr<A>, mask: Places<'_>) -> (Option<&'a Csr<B>>, Option<&'a Csr<B>>) {
        let (rows, columns) = self.b.known_sides();
        let size = self.b.nnz() + self.b.nrows() as u64 + self.b.ncols() as u64;
        let transposing = tuning().transpose_cost * size;
        let sum = |cost: &(dyn Fn(usize) -> u64 + Sync)| masked::total(a.nrows(), cost);
        match (rows, columns) {
            (Some(rows), None) => {
                let by_rows = |i| masked::cost_by_rows(a.row(i).0, mask.row(i).len(), |k| rows.degree(k as usize));
                let known = sum(&by_rows);
                if known <= 2 * transposing {
                    return (Some(rows), None);
                }
                let lengths = masked::column_lengths(rows);
                let dots = |i| masked::cost_by_dots(a.degree(i), mask.row(i), |j| lengths[j as usize] as usize);
                let pays = sum(&dots) + transposing < known / 2;
                (Some(rows), pays.then(|| self.b.csr_transposed()))
            }
            (None, Some(columns)) => {
                let dots = |i| masked::cost_by_dots(a.degree(i), mask.row(i), |j| columns.degree(j as usize));
                let known = sum(&dots);
                if known <= 2 * transposing {
                    return (None, Some(columns));
                }
                let lengths = masked::column_lengths(columns);
                let by_rows = |i| masked::cost_by_rows(a.row(i).0, mask.row(i).len(), |k| lengths[k as usize] as usize);
                let pays = sum(&by_rows) + transposing < known / 2;
                (pays.then(|| self.b.csr()), Some(columns))
            }
            (rows, columns) => (rows, columns),
        }
    }

    /// Predicts the product's work and memory before it runs, in O(rows + entries) time.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::undirected(4, &[(0, 1), (0, 2), (0, 3)])?;
    /// let predicted = a.mxm(&a, PLUS_PAIR).predict()?;
    /// // row 0 meets three rows of one entry, and each other row meets row 0
    /// assert_eq!((predicted.products, predicted.most_entries), (12, 12));
    /// // a mask bounds the entries
    /// assert_eq!(a.mxm(&a, PLUS_PAIR).mask(&a).predict()?.most_entries, 6);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// The shapes don't fit.
    pub fn predict(&self) -> Result<Prediction> {
        self.check_shapes()?;
        self.a.check_whole("predict").and_then(|()| self.b.check_whole("predict"))?;
        match self.mask.filter(|mask| !mask.is_complement()) {
            Some(mask) => Ok(self.predict_under(mask.places().get())),
            None => {
                let (a, b) = (self.a.csr(), self.b.csr());
                Ok(Prediction::by_rows(a, b, &predict::products(a, b), size_of::<S::Out>()))
            }
        }
    }

    fn predict_under(&self, mask: Places<'_>) -> Prediction {
        let (inner, ncols) = ((self.a.ncols(), size_of::<A>()), self.b.ncols());
        let lengths = |i: usize| mask.row(i).len();
        let row_length = |k: u32| self.b.known_sides().0.map(|rows| rows.degree(k as usize));
        Prediction::under(self.a.csr(), (inner.0, inner.1, ncols), lengths, row_length, size_of::<S::Out>())
    }

    /// The GPU to put the result on.
    fn place(&self) -> Option<Gpu> {
        let mask = || self.mask.and_then(|mask| mask.gpu());
        self.a.gpu().or_else(|| self.b.gpu()).or_else(mask).cloned().or_else(current)
    }

    fn name(&self) -> String {
        let shape = |rows: usize, columns: usize| format!("{rows} x {columns}");
        let (a, b) = (shape(self.a.nrows(), self.a.ncols()), shape(self.b.nrows(), self.b.ncols()));
        format!("{}: mxm: the product of matrices of {a} and {b}", self.at)
    }

    fn check_shapes(&self) -> Result<()> {
        let shape = |rows: usize, columns: usize| format!("matrix of {rows} x {columns}");
        if self.a.ncols() != self.b.nrows() {
            let (left, right) = (shape(self.a.nrows(), self.a.ncols()), shape(self.b.nrows(), self.b.ncols()));
            return Err(Error::Shape { operation: "mxm", left, right, at: self.at });
        }
        self.mask.map_or(Ok(()), |mask| mask.check((self.a.nrows(), self.b.ncols()), self.at))
    }

    fn check_target(&self, c: &Matrix<S::Out>) -> Result<()> {
        self.check_shapes()?;
        if (c.nrows(), c.ncols()) == (self.a.nrows(), self.b.ncols()) {
            return Ok(());
        }
        let shape = |what: &str, rows: usize, columns: usize| format!("{what} of {rows} x {columns}");
        let left = shape("product", self.a.nrows(), self.b.ncols());
        Err(Error::Shape { operation: "mxm", left, right: shape("matrix", c.nrows(), c.ncols()), at: self.at })
    }
}

/// A product with an accumulator. Returned by [`MatrixProduct::accum`].
#[derive(Debug, Clone, Copy)]
#[must_use = "a product does nothing until .assign_to(&mut c) runs it"]
pub struct Joined<'a, A: Element, B: Element, S, F> {
    product: MatrixProduct<'a, A, B, S>,
    op: F,
}

impl<A, B, S, F> Joined<'_, A, B, S, F>
where
    A: Element,
    B: Element,
    S: Semiring<A, B>,
    F: BinaryOp<S::Out, S::Out, Out = S::Out>,
{
    /// `C<mask> ⊙= A ⊕.⊗ B`: joins each entry of the product with what `c` holds there. Other entries of `c` stay.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::from_triples(2, 2, [(0, 1, 2u32), (1, 0, 3)])?;
    /// let mut c = Matrix::from_triples(2, 2, [(0, 0, 10u32), (0, 1, 1)])?;
    /// a.mxm(&a, PLUS_TIMES).accum(PLUS).assign_to(&mut c)?;
    /// assert_eq!(c.iter().collect::<Vec<_>>(), [(0, 0, 16), (0, 1, 1), (1, 1, 6)]);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`MatrixProduct::eval`], and if `c` has another shape.
    pub fn assign_to(&self, c: &mut Matrix<S::Out>) -> Result<()> {
        self.product.write(c, Writing::Join(self.op))
    }
}
