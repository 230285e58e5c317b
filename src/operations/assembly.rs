//! Verbs that put matrices together and take them apart: triangles, ranges, tiles, Kronecker products, and assignment to a region.
//!
//! All but `bipartite` run on the host, also for matrices that lie on a GPU: those are read back, and the result is put there.

use crate::backend::cuda::{self, Gpu};
use crate::backend::current;
use crate::containers::{Matrix, Vector};
use crate::error::{Error, Result};
use crate::formats::{Csr, check_vertices};
use crate::memory;
use crate::operations::entry_filter::build;
use crate::operations::matrix_verbs::merge;
use crate::operations::ranks::{self, local};
use std::ops::Range;
use std::panic::Location;
use vxm_semiring::{BinaryOp, Element, Monoid, SECOND, TRIL, TRIU};

/// The shape of a matrix for messages.
fn shape(nrows: usize, ncols: usize) -> String {
    format!("matrix of {nrows} x {ncols}")
}

impl<A: Element> Matrix<A> {
    /// The GPU to put a result on that is made of this matrix and another one.
    pub(crate) fn place_beside<B: Element>(&self, other: &Matrix<B>) -> Option<Gpu> {
        self.gpu().or(other.gpu()).cloned().or_else(current)
    }

    /// The lower triangle with its diagonal: `self.select(TRIL)`. `self.select(TRIL.offset(-1))` leaves the diagonal out.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn tril(&self) -> Result<Self> {
        self.select(TRIL)
    }

    /// The upper triangle with its diagonal: `self.select(TRIU)`. `self.select(TRIU.offset(1))` leaves the diagonal out.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn triu(&self) -> Result<Self> {
        self.select(TRIU)
    }

    /// Folds each column's entries to one element, in ascending order of row (GraphBLAS: `GrB_reduce` of the transpose). A column without
    /// entries holds none. The result's length is `ncols()`. O(n + nnz) time, beside the transpose, which is kept.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::from_triples(2, 3, [(0, 0, 5u32), (1, 0, 7), (1, 2, 1)])?;
    /// assert_eq!(a.reduce_columns(PLUS)?, Vector::from_pairs(3, [(0, 12), (2, 1)])?);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn reduce_columns<M: Monoid<A>>(&self, monoid: M) -> Result<Vector<A>> {
        if self.grid().is_none() && self.gpu().is_none() && current().is_none() {
            // builds the transpose once, where later calls find it
            self.csr_transposed();
        }
        self.transpose().reduce_rows(monoid)
    }

    /// The Kronecker product (GraphBLAS: `GrB_kronecker`): the entry at row `i1 * b.nrows() + i2` and column `j1 * b.ncols() + j2` is
    /// `op(self[i1, j1], b[i2, j2])`. O(rows + entries of the result) time.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::from_triples(1, 2, [(0, 0, 2u32), (0, 1, 3)])?;
    /// let b = Matrix::from_triples(2, 1, [(1, 0, 10u32)])?;
    /// let k = a.kronecker(&b, TIMES)?;
    /// assert_eq!((k.nrows(), k.ncols()), (2, 2));
    /// assert_eq!(k.iter().collect::<Vec<_>>(), [(1, 0, 20), (1, 1, 30)]);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooManyVertices`], or [`Error::Memory`]: the result is too large. The device has too little memory, or is lost.
    pub fn kronecker<B: Element, F: BinaryOp<A, B>>(&self, b: &Matrix<B>, op: F) -> Result<Matrix<F::Out>> {
        let sides = |one: usize, other: usize| {
            let side = one.saturating_mul(other);
            check_vertices("kronecker", side).map(|()| side)
        };
        let (nrows, ncols) = (sides(self.nrows(), b.nrows())?, sides(self.ncols(), b.ncols())?);
        if let Some(grid) = self.grid().or(b.grid()) {
            return ranks::assembly::kronecker(self, b, grid, (nrows, ncols), op);
        }
        let entries = u128::from(self.nnz()) * u128::from(b.nnz());
        let bytes = 2 * entries * (4 + size_of::<F::Out>() as u128) + 16 * nrows as u128;
        memory::require(bytes, || format!("kronecker: {entries} entries"))?;
        let (x, y, gpu) = (self.csr(), b.csr(), self.place_beside(b));
        let made = build(nrows, ncols, |i, columns, values| {
            let ((js, xs), (ls, ys)) = (x.row(i / b.nrows()), y.row(i % b.nrows()));
            for (&j, &left) in js.iter().zip(xs) {
                columns.extend(ls.iter().map(|&l| j * b.ncols() as u32 + l));
                values.extend(ys.iter().map(|&right| op.call(left, right)));
            }
        });
        Matrix::from_csr(made).placed(gpu)
    }

    /// The submatrix of ranges of rows and columns (GraphBLAS: `GrB_extract` with `GxB_RANGE`). O(rows + entries of the range) time.
    /// [`extract`](Self::extract) takes lists.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::from_triples(3, 3, [(0, 0, 1u32), (1, 2, 2), (2, 1, 3)])?;
    /// assert_eq!(a.extract_range(1..3, 1..3)?.iter().collect::<Vec<_>>(), [(0, 1, 2), (1, 0, 3)]);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// A range ends outside of the matrix, or before it begins. The device has too little memory, or is lost.
    #[track_caller]
    pub fn extract_range(&self, rows: Range<usize>, columns: Range<usize>) -> Result<Self> {
        for (what, range, n) in [("rows", &rows, self.nrows()), ("columns", &columns, self.ncols())] {
            if range.start > range.end || range.end > n {
                let right = format!("{what} {}..{}", range.start, range.end);
                return Err(Error::shape("extract_range", shape(self.nrows(), self.ncols()), right));
            }
        }
        if let Some(grid) = self.grid() {
            return ranks::assembly::extract_range(self, grid, rows, columns);
        }
        let (csr, gpu) = (self.csr(), self.gpu().cloned().or_else(current));
        let (first, end) = (columns.start as u32, columns.end as u32);
        let made = build(rows.len(), columns.len(), |i, out_columns, out_values| {
            let (js, entries) = csr.row(rows.start + i);
            let within = js.partition_point(|&j| j < first)..js.partition_point(|&j| j < end);
            out_columns.extend(js[within.clone()].iter().map(|&j| j - first));
            out_values.extend_from_slice(&entries[within]);
        });
        Matrix::from_csr(made).placed(gpu)
    }

    /// One matrix of tiles that lie in rows and columns (GraphBLAS: `GxB_Matrix_concat`). Tiles of a row have as many rows, tiles of a
    /// column as many columns. O(rows + entries) time for each column of tiles.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::from_triples(1, 2, [(0, 1, 5u32)])?;
    /// let b = Matrix::from_triples(1, 1, [(0, 0, 7u32)])?;
    /// let c = Matrix::concat(&[&[&a, &b]])?;
    /// assert_eq!(c.iter().collect::<Vec<_>>(), [(0, 1, 5), (0, 2, 7)]);
    /// // and apart again
    /// let tiles = c.split(&[1], &[2, 1])?;
    /// assert_eq!((&tiles[0][0], &tiles[0][1]), (&a, &b));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are no tiles, a row has more tiles than another one, or tiles don't fit each other. [`Error::TooManyVertices`]. The device
    /// has too little memory, or is lost.
    #[track_caller]
    pub fn concat(tiles: &[&[&Matrix<A>]]) -> Result<Self> {
        let first: &[&Matrix<A>] = tiles.first().copied().unwrap_or(&[]);
        if first.is_empty() || tiles.iter().any(|row| row.len() != first.len()) {
            let found: Vec<String> = tiles.iter().map(|row| row.len().to_string()).collect();
            let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
            return Err(Error::invalid(format!(
                "concat: rows of {found} tiles: expected as many in each, at least one"
            )));
        }
        for row in tiles {
            for (tile, above) in row.iter().zip(first) {
                if tile.nrows() != row[0].nrows() || tile.ncols() != above.ncols() {
                    let expected = format!("tile of {} x {}", row[0].nrows(), above.ncols());
                    return Err(Error::shape("concat", shape(tile.nrows(), tile.ncols()), expected));
                }
            }
        }
        let nrows = tiles.iter().map(|row| row[0].nrows()).sum();
        let ncols = first.iter().map(|tile| tile.ncols()).sum();
        check_vertices("concat", nrows)?;
        check_vertices("concat", ncols)?;
        let starts: Vec<usize> = sums(tiles.iter().map(|row| row[0].nrows()));
        let all = || tiles.iter().flat_map(|row| row.iter());
        if let Some(grid) = all().find_map(|tile| tile.grid()) {
            let columns = sums(first.iter().map(|tile| tile.ncols()));
            return ranks::assembly::concat(tiles, grid, (nrows, ncols), (&starts, &columns));
        }
        let gpu = all().find_map(|tile| tile.gpu()).cloned().or_else(current);
        let held: Vec<Vec<&Csr<A>>> = tiles.iter().map(|row| row.iter().map(|tile| tile.csr()).collect()).collect();
        let made = build(nrows, ncols, |i, columns, values| {
            let at = starts.partition_point(|&start| start <= i) - 1;
            let mut before = 0;
            for tile in &held[at] {
                let (js, entries) = tile.row(i - starts[at]);
                columns.extend(js.iter().map(|&j| before + j));
                values.extend_from_slice(entries);
                before += tile.ncols() as u32;
            }
        });
        Matrix::from_csr(made).placed(gpu)
    }

    /// The bipartite graph of the rows and columns: `[0, A; A', 0]`. Vertex `i` is row `i`, vertex `nrows() + j` is column `j`, and the edge
    /// between them is entry `(i, j)`. O(n + nnz) time.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::from_triples(1, 2, [(0, 0, 5u32), (0, 1, 7)])?;
    /// let b = a.bipartite()?;
    /// assert_eq!(b.iter().collect::<Vec<_>>(), [(0, 1, 5), (0, 2, 7), (1, 0, 5), (2, 0, 7)]);
    /// assert!(b.is_symmetric());
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooManyVertices`], or [`Error::Memory`]: the result is too large. The device has too little memory, or is lost.
    pub fn bipartite(&self) -> Result<Self> {
        let side = self.nrows().saturating_add(self.ncols());
        check_vertices("bipartite", side)?;
        if let Some(grid) = self.grid() {
            return ranks::matrices::bipartite(self, grid);
        }
        if let Some(gpu) = self.gpu().cloned().or_else(current) {
            let made = cuda::build::bipartite(&*self.on(&gpu)?, &*self.transposed_on(&gpu)?)?;
            return Ok(Matrix::on_device(made, None).set_symmetric(true));
        }
        let bytes = 2 * u128::from(self.nnz()) * (4 + size_of::<A>() as u128) + 16 * side as u128;
        memory::require(bytes, || format!("bipartite: {} entries", 2 * u128::from(self.nnz())))?;
        let (rows, columns, m) = (self.csr(), self.csr_transposed(), self.nrows());
        let made = build(side, side, |i, js, values| {
            let ((others, entries), before) = if i < m { (rows.row(i), m as u32) } else { (columns.row(i - m), 0) };
            js.extend(others.iter().map(|&j| before + j));
            values.extend_from_slice(entries);
        });
        Ok(Matrix::from_csr(made).set_symmetric(true))
    }

    /// The tiles of a matrix with these numbers of rows and of columns, row by row (GraphBLAS: `GxB_Matrix_split`). See
    /// [`concat`](Self::concat) for an example. O(rows log(row) + entries) time for each column of tiles.
    ///
    /// # Errors
    /// The numbers don't add up to the matrix' shape. The device has too little memory, or is lost.
    #[track_caller]
    pub fn split(&self, rows: &[usize], columns: &[usize]) -> Result<Vec<Vec<Self>>> {
        let total = |sizes: &[usize]| sizes.iter().fold(0usize, |sum, &size| sum.saturating_add(size));
        if (total(rows), total(columns)) != (self.nrows(), self.ncols()) {
            let tiles = format!("tiles of {} x {} in all", total(rows), total(columns));
            return Err(Error::shape("split", shape(self.nrows(), self.ncols()), tiles));
        }
        let (row_starts, column_starts) = (sums(rows.iter().copied()), sums(columns.iter().copied()));
        let tile = |i: usize, j: usize| {
            let (row, column) = (row_starts[i], column_starts[j]);
            self.extract_range(row..row + rows[i], column..column + columns[j])
        };
        (0..rows.len()).map(|i| (0..columns.len()).map(|j| tile(i, j)).collect()).collect()
    }

    /// `self[rows[k], columns[l]] = b[k, l]` (GraphBLAS: `GrB_assign`): the region becomes `b`, absence included; all other entries stay.
    /// The indices may come in any order, each once. O(n + entries of both) time.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let mut c = Matrix::from_triples(3, 3, [(0, 0, 1u32), (1, 1, 2), (2, 2, 3)])?;
    /// let b = Matrix::from_triples(2, 2, [(0, 1, 50u32)])?;
    /// c.assign(&[1, 2], &[1, 2], &b)?;
    /// assert_eq!(c.iter().collect::<Vec<_>>(), [(0, 0, 1), (1, 2, 50)]);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index lies outside of the matrix, or occurs twice. `b` doesn't have a row for each row of the region and a column for each column.
    /// The device has too little memory, or is lost.
    #[track_caller]
    pub fn assign(&mut self, rows: &[u32], columns: &[u32], b: &Matrix<A>) -> Result<()> {
        self.assign_by(rows, columns, b, None::<vxm_semiring::Second>, Location::caller())
    }

    /// `self[rows[k], columns[l]] ⊙= b[k, l]` (GraphBLAS: `GrB_assign` with an accumulator): joins each entry of `b` with what the region
    /// holds there. All other entries stay.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let mut c = Matrix::from_triples(2, 2, [(0, 0, 1u32), (1, 1, 2)])?;
    /// let b = Matrix::from_triples(1, 2, [(0, 0, 10u32), (0, 1, 20)])?;
    /// c.assign_accum(&[0], &[1, 0], &b, PLUS)?;
    /// assert_eq!(c.iter().collect::<Vec<_>>(), [(0, 0, 21), (0, 1, 10), (1, 1, 2)]);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`assign`](Self::assign).
    #[track_caller]
    pub fn assign_accum<F>(&mut self, rows: &[u32], columns: &[u32], b: &Matrix<A>, op: F) -> Result<()>
    where
        F: BinaryOp<A, A, Out = A>,
    {
        self.assign_by(rows, columns, b, Some(op), Location::caller())
    }

    fn assign_by<F>(
        &mut self,
        rows: &[u32],
        columns: &[u32],
        b: &Matrix<A>,
        accum: Option<F>,
        at: &'static Location<'static>,
    ) -> Result<()>
    where
        F: BinaryOp<A, A, Out = A>,
    {
        let whole = shape(self.nrows(), self.ncols());
        let fault = |left: String, right: String| Error::Shape { operation: "assign", left, right, at };
        if (b.nrows(), b.ncols()) != (rows.len(), columns.len()) {
            let region = format!("region of {} x {}", rows.len(), columns.len());
            return Err(fault(shape(b.nrows(), b.ncols()), region));
        }
        let places =
            |what: &str, indices: &[u32], n: usize| places(what, indices, n, &whole).map_err(|(l, r)| fault(l, r));
        let row_places = places("row", rows, self.nrows())?;
        let column_places = places("column", columns, self.ncols())?;
        if let Some(grid) = self.grid().or(b.grid()) {
            let places = (&row_places[..], &column_places[..]);
            *self = ranks::assembly::assigned(self, b, grid, (rows, columns), places, accum)?;
            return Ok(());
        }
        let (old, new, gpu) = (self.csr(), b.csr(), self.place_beside(b));
        let made = build(self.nrows(), self.ncols(), |i, out_columns, out_values| {
            let Some(k) = row_places[i] else {
                let (js, entries) = old.row(i);
                out_columns.extend_from_slice(js);
                out_values.extend_from_slice(entries);
                return;
            };
            let (ls, entries) = new.row(k as usize);
            let mut put: Vec<(u32, A)> = ls.iter().zip(entries).map(|(&l, &b)| (columns[l as usize], b)).collect();
            put.sort_unstable_by_key(|&(j, _)| j);
            let (js, bs): (Vec<u32>, Vec<A>) = put.into_iter().unzip();
            merge(old.row(i), (&js, &bs), |j, old, new| {
                let kept = match (accum, old, new) {
                    (Some(op), Some(old), Some(new)) => Some(op.call(old, new)),
                    (None, old, None) => old.filter(|_| column_places[j as usize].is_none()),
                    (_, old, new) => new.or(old),
                };
                out_columns.extend(kept.map(|_| j));
                out_values.extend(kept);
            });
        });
        *self = Matrix::from_csr(made).placed(gpu)?;
        Ok(())
    }

    /// The entries without those at places outside of a smaller shape, or as they are in a larger one (GraphBLAS: `GrB_Matrix_resize`).
    /// O(rows + entries) time.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::from_triples(2, 2, [(0, 0, 1u32), (1, 1, 2)])?;
    /// assert_eq!(a.resized(1, 5)?, Matrix::from_triples(1, 5, [(0, 0, 1)])?);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooManyVertices`]. The device has too little memory, or is lost.
    pub fn resized(&self, nrows: usize, ncols: usize) -> Result<Self> {
        check_vertices("resized", nrows)?;
        check_vertices("resized", ncols)?;
        if let Some(grid) = self.grid() {
            return ranks::assembly::resized(self, grid, (nrows, ncols));
        }
        let (csr, gpu) = (self.csr(), self.gpu().cloned().or_else(current));
        let made = build(nrows, ncols, |i, columns, values| {
            if i < csr.nrows() {
                let (js, entries) = csr.row(i);
                let kept = js.partition_point(|&j| (j as usize) < ncols);
                columns.extend_from_slice(&js[..kept]);
                values.extend_from_slice(&entries[..kept]);
            }
        });
        Matrix::from_csr(made).placed(gpu)
    }

    /// `op(a, b)` at each place where a matrix holds an entry, with `alpha` or `beta` for the entry that is missing (GraphBLAS:
    /// `GxB_eWiseUnion`). Unlike `ewise_add`, the types may differ, and the operator is always applied. O(n + entries of both) time.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::from_triples(1, 3, [(0, 0, 5u32), (0, 1, 6)])?;
    /// let b = Matrix::from_triples(1, 3, [(0, 1, 1u32), (0, 2, 2)])?;
    /// let c = a.ewise_union(10, &b, 0, MINUS)?;
    /// assert_eq!(c.iter().collect::<Vec<_>>(), [(0, 0, 5), (0, 1, 5), (0, 2, 8)]);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// The shapes differ. The device has too little memory, or is lost.
    #[track_caller]
    pub fn ewise_union<B, F>(&self, alpha: A, other: &Matrix<B>, beta: B, op: F) -> Result<Matrix<F::Out>>
    where
        B: Element,
        F: BinaryOp<A, B>,
    {
        self.check_same_shape("ewise_union", other)?;
        if let Some(grid) = self.grid().or(other.grid()) {
            let (x, y) = (local::rows(self, grid, "ewise_union")?, local::rows(other, grid, "ewise_union")?);
            return local::joined(grid, self.nrows(), x.ewise_union(alpha, &y, beta, op));
        }
        let (x, y, gpu) = (self.csr(), other.csr(), self.place_beside(other));
        let made = build(x.nrows(), x.ncols(), |i, columns, values| {
            merge(x.row(i), y.row(i), |j, a, b| {
                columns.push(j);
                values.push(op.call(a.unwrap_or(alpha), b.unwrap_or(beta)));
            });
        });
        Matrix::from_csr(made).placed(gpu)
    }

    /// The matrix with the entry at row `i`, column `j` set to `value` (GraphBLAS: `GrB_Matrix_setElement`). O(rows + entries) time: for
    /// many entries, build a matrix of them and use [`assign_to`](super::matrix_write::MatrixWrite::assign_to).
    ///
    /// # Errors
    /// The place lies outside of the matrix. The device has too little memory, or is lost.
    #[track_caller]
    pub fn set(&mut self, i: u32, j: u32, value: A) -> Result<()> {
        let one = Matrix::from_csr(Csr::from_parts(1, 1, vec![0, 1], vec![0], vec![value]));
        self.assign_by(&[i], &[j], &one, Some(SECOND), Location::caller())
    }

    /// The matrix without the entry at row `i`, column `j` (GraphBLAS: `GrB_Matrix_removeElement`). O(rows + entries) time.
    ///
    /// # Errors
    /// The place lies outside of the matrix. The device has too little memory, or is lost.
    #[track_caller]
    pub fn remove(&mut self, i: u32, j: u32) -> Result<()> {
        let none = Matrix::from_csr(Csr::from_parts(1, 1, vec![0, 0], Vec::new(), Vec::new()));
        self.assign_by(&[i], &[j], &none, None::<vxm_semiring::Second>, Location::caller())
    }

    /// The entries of a range of rows as `(row, column, value)`, row by row (GraphBLAS: `GxB_Iterator`). [`iter`](Self::iter) gives all.
    /// It steps back and forth, and rayon or threads may each take a range. Rows past the last one are left out.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::from_triples(3, 3, [(0, 2, 1u32), (1, 0, 2), (1, 1, 3)])?;
    /// assert_eq!(a.iter_rows(1..3).collect::<Vec<_>>(), [(1, 0, 2), (1, 1, 3)]);
    /// assert_eq!(a.iter_rows(0..3).next_back(), Some((1, 1, 3)));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    pub fn iter_rows(&self, rows: Range<usize>) -> impl DoubleEndedIterator<Item = (u32, u32, A)> + '_ {
        let csr = self.csr();
        (rows.start.min(csr.nrows())..rows.end.min(csr.nrows())).flat_map(move |i| {
            let (columns, values) = csr.row(i);
            columns.iter().zip(values).map(move |(&j, &value)| (i as u32, j, value))
        })
    }
}

/// The running sums of sizes, beginning with 0, without the total.
fn sums(sizes: impl Iterator<Item = usize>) -> Vec<usize> {
    let step = |sum: &mut usize, size| {
        let start = *sum;
        *sum += size;
        Some(start)
    };
    sizes.scan(0, step).collect()
}

/// Of each row or column of a matrix its position among `indices`, if it is there. If an index is outside or occurs twice, the two sides of a
/// shape error.
fn places(what: &str, indices: &[u32], n: usize, whole: &str) -> Result<Vec<Option<u32>>, (String, String)> {
    let mut places = vec![None; n];
    for (k, &i) in (0u32..).zip(indices) {
        let Some(place) = places.get_mut(i as usize) else { return Err((whole.to_owned(), format!("{what} {i}"))) };
        if let Some(before) = place.replace(k) {
            return Err((whole.to_owned(), format!("{what} {i}, at positions {before} and {k}: expected each once")));
        }
    }
    Ok(places)
}
