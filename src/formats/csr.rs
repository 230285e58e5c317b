//! Compressed sparse rows (CSR): the general matrix format.

use crate::error::{Error, Result};
use crate::formats::blocks::prefix_sum;
use crate::formats::buffer::Buffer;
use crate::formats::{check_vertices, row_blocks, split_rows};
use crate::parallel::{self, FEW, PIECES};
use core::ops::Range;
use std::sync::Arc;
use vxm_semiring::Element;

/// A sparse matrix in CSR format. With `T = ()` it is a pattern, and its values take no memory. Its arrays are vectors, which
/// clones share, or parts of a mapped file.
///
/// Invariants:
/// - `nrows` and `ncols` are at most [`MAX_VERTICES`](super::MAX_VERTICES).
/// - `offsets` has `nrows + 1` elements, starts at 0, never descends, and ends at `nnz`.
/// - `columns` and `values` have `nnz` elements. Row `i` holds those from `offsets[i]` to `offsets[i + 1]`.
/// - The columns of a row strictly ascend and are below `ncols`.
///
/// ```
/// use vxm::formats::Csr;
/// // 1 . 2
/// // . . 3
/// let a = Csr::try_new(2, 3, vec![0, 2, 3], vec![0, 2, 2], vec![1, 2, 3])?;
/// assert_eq!(a.row(0), (&[0, 2][..], &[1, 2][..]));
/// assert_eq!(a.transpose().row(2), (&[0, 1][..], &[2, 3][..]));
/// let broken = Csr::try_new(2, 3, vec![0, 2, 3], vec![2, 0, 2], vec![1, 2, 3]);
/// assert_eq!(
///     broken.unwrap_err().to_string(),
///     "Csr: row 0: column 0 follows column 2: columns of a row strictly ascend"
/// );
/// # Ok::<(), vxm::error::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Csr<T = ()> {
    nrows: usize,
    ncols: usize,
    offsets: Buffer<u64>,
    columns: Buffer<u32>,
    values: Buffer<T>,
}

/// The most tasks that a transpose is split into. Each task walks all rows, so with more tasks the walking costs more
/// than it saves.
pub(super) const MAX_COLUMN_TASKS: usize = 32;

/// A block of consecutive rows: the end offset of each row within the block, and the columns and values of its entries.
pub(crate) type Block<T> = (Vec<u64>, Vec<u32>, Vec<T>);

impl<T: Element> Csr<T> {
    /// Concatenates blocks of rows. Together they hold `nrows` rows.
    #[inline(never)]
    pub(crate) fn from_blocks(nrows: usize, ncols: usize, blocks: Vec<Block<T>>) -> Self {
        let entries = blocks.iter().map(|(_, columns, _)| columns.len()).sum();
        let mut offsets = vec![0; nrows + 1];
        let (mut columns, mut values) = (vec![0u32; entries], vec![T::ZERO; entries]);
        let mut rest = (&mut offsets[1..], &mut columns[..], &mut values[..]);
        let (mut places, mut base) = (Vec::with_capacity(blocks.len()), 0);
        for block in &blocks {
            let (offsets, columns, values) = rest;
            let (offsets, columns, values) = (
                offsets.split_at_mut(block.0.len()),
                columns.split_at_mut(block.1.len()),
                values.split_at_mut(block.2.len()),
            );
            places.push((base, offsets.0, columns.0, values.0));
            rest = (offsets.1, columns.1, values.1);
            base += block.1.len() as u64;
        }
        let parts = blocks.into_iter().zip(places).collect();
        parallel::each(parts, &|(block, (base, offsets, columns, values))| {
            offsets.iter_mut().zip(&block.0).for_each(|(offset, end)| *offset = base + end);
            columns.copy_from_slice(&block.1);
            values.copy_from_slice(&block.2);
        });
        Self::from_parts(nrows, ncols, offsets, columns, values)
    }

    /// Builds a matrix from its three arrays and checks every invariant. O(nrows + nnz) time.
    ///
    /// # Errors
    /// [`Error::TooManyVertices`], or [`Error::Invalid`] naming the first row that breaks an invariant, and how.
    pub fn try_new(nrows: usize, ncols: usize, offsets: Vec<u64>, columns: Vec<u32>, values: Vec<T>) -> Result<Self> {
        let matrix = Self::unchecked(nrows, ncols, offsets, columns, values);
        matrix.check()?;
        Ok(matrix)
    }

    /// Builds a matrix from arrays that others share, and checks every invariant. Nothing is copied. O(nrows + nnz) time.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use vxm::formats::Csr;
    /// let (offsets, columns) = (Arc::new(vec![0, 1, 2]), Arc::new(vec![1, 0]));
    /// let a = Csr::from_shared((2, 2), offsets, columns.clone(), Arc::new(vec![5.0, 7.0]))?;
    /// assert!(std::ptr::eq(a.columns(), columns.as_slice()));
    /// # Ok::<(), vxm::error::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`try_new`](Self::try_new).
    pub fn from_shared(
        (nrows, ncols): (usize, usize),
        offsets: Arc<Vec<u64>>,
        columns: Arc<Vec<u32>>,
        values: Arc<Vec<T>>,
    ) -> Result<Self> {
        let matrix = Self::unchecked(nrows, ncols, offsets, columns, values);
        matrix.check()?;
        Ok(matrix)
    }

    /// Builds a matrix from arrays that hold the invariants by construction, which only debug builds check. Machine code and kernels read
    /// a vector at each column without a check, so it isn't public.
    pub(crate) fn from_parts(nrows: usize, ncols: usize, offsets: Vec<u64>, columns: Vec<u32>, values: Vec<T>) -> Self {
        let matrix = Self::unchecked(nrows, ncols, offsets, columns, values);
        debug_assert_eq!(matrix.check().map_err(|e| e.to_string()), Ok(()));
        matrix
    }

    fn unchecked(
        nrows: usize,
        ncols: usize,
        offsets: impl Into<Buffer<u64>>,
        columns: impl Into<Buffer<u32>>,
        values: impl Into<Buffer<T>>,
    ) -> Self {
        Self { nrows, ncols, offsets: offsets.into(), columns: columns.into(), values: values.into() }
    }

    /// Builds a matrix from parts of a mapped file that hold the invariants, as [`from_parts`](Self::from_parts) does.
    pub(crate) fn from_buffers(
        (nrows, ncols): (usize, usize),
        offsets: Buffer<u64>,
        columns: Buffer<u32>,
        values: Buffer<T>,
    ) -> Self {
        let matrix = Self::unchecked(nrows, ncols, offsets, columns, values);
        debug_assert_eq!(matrix.check().map_err(|e| e.to_string()), Ok(()));
        matrix
    }

    /// Builds a matrix with columns that are slots of a rank: those of a row are distinct, but don't ascend. So [`get`](Self::get) finds
    /// nothing there.
    pub(crate) fn of_slots(nrows: usize, ncols: usize, offsets: Vec<u64>, columns: Vec<u32>, values: Vec<T>) -> Self {
        debug_assert!(offsets.len() == nrows + 1 && columns.len() == values.len());
        debug_assert!(columns.iter().all(|&slot| (slot as usize) < ncols));
        Self { nrows, ncols, offsets: offsets.into(), columns: columns.into(), values: values.into() }
    }

    /// A matrix without entries.
    ///
    /// # Errors
    /// [`Error::TooManyVertices`].
    pub fn empty(nrows: usize, ncols: usize) -> Result<Self> {
        check_vertices("Csr", nrows)?;
        check_vertices("Csr", ncols)?;
        Ok(Self::from_parts(nrows, ncols, vec![0; nrows + 1], Vec::new(), Vec::new()))
    }

    fn check(&self) -> Result<()> {
        check_vertices("Csr", self.nrows)?;
        check_vertices("Csr", self.ncols)?;
        let broken = |what: String| Err(Error::invalid(format!("Csr: {what}")));
        let (rows, offsets, nnz) = (self.nrows, &self.offsets, self.columns.len());
        if offsets.len() != rows + 1 {
            return broken(format!("found {} offsets for {rows} rows: expected {}", offsets.len(), rows + 1));
        }
        if self.values.len() != nnz {
            return broken(format!("{nnz} columns but {} values", self.values.len()));
        }
        if offsets[0] != 0 {
            return broken(format!("row 0 starts at {}: expected 0", offsets[0]));
        }
        if let Some(row) = parallel::first(rows, &|mut rows| rows.find(|&row| offsets[row] > offsets[row + 1])) {
            let (start, end) = (offsets[row], offsets[row + 1]);
            return broken(format!("row {row} starts at {start} but ends at {end}"));
        }
        if offsets[rows] != nnz as u64 {
            let end = offsets[rows];
            return broken(format!("the rows end at {end} but there are {nnz} entries"));
        }
        let faulty = self.first_row(&|row| self.row_fault(row).is_some());
        faulty.and_then(|row| self.row_fault(row)).map_or(Ok(()), broken)
    }

    /// The first row for which `holds` is true. Rows are shared out by their entries.
    pub(super) fn first_row(&self, holds: &(dyn Fn(usize) -> bool + Sync)) -> Option<usize> {
        let pieces = if self.nnz() < FEW { 1 } else { PIECES * parallel::threads() };
        let blocks = row_blocks(&self.offsets, pieces);
        parallel::collect(blocks.len(), &|k| blocks[k].clone().find(|&row| holds(row))).into_iter().flatten().next()
    }

    fn row_fault(&self, row: usize) -> Option<String> {
        let columns = self.row(row).0;
        if let Some(pair) = columns.windows(2).find(|pair| pair[0] >= pair[1]) {
            let (before, after) = (pair[0], pair[1]);
            return Some(format!(
                "row {row}: column {after} follows column {before}: columns of a row strictly ascend"
            ));
        }
        let last = *columns.last()?;
        let width = self.ncols;
        (last as usize >= width).then(|| format!("row {row}: column {last}, of {width} columns"))
    }

    /// The number of rows.
    pub fn nrows(&self) -> usize {
        self.nrows
    }

    /// The number of columns.
    pub fn ncols(&self) -> usize {
        self.ncols
    }

    /// The number of entries.
    pub fn nnz(&self) -> usize {
        self.columns.len()
    }

    /// The `nrows + 1` row offsets: where each row starts, and where the last one ends.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// The column of every entry, row by row.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// The value of every entry, row by row.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The same, as they are held.
    pub(crate) fn values_buffer(&self) -> &Buffer<T> {
        &self.values
    }

    /// The columns and values of row `row`.
    ///
    /// # Panics
    /// `row` is not below [`nrows`](Self::nrows).
    #[inline]
    pub fn row(&self, row: usize) -> (&[u32], &[T]) {
        let range = self.offsets[row] as usize..self.offsets[row + 1] as usize;
        (&self.columns[range.clone()], &self.values[range])
    }

    /// The number of entries of row `row`.
    ///
    /// # Panics
    /// `row` is not below [`nrows`](Self::nrows).
    #[inline]
    pub fn degree(&self, row: usize) -> usize {
        (self.offsets[row + 1] - self.offsets[row]) as usize
    }

    /// The index of the first row of maximal length; 0 if there are no rows. O(nrows) time.
    pub fn longest(&self) -> usize {
        let longer = |i: usize, j: usize| if (self.degree(j), i) > (self.degree(i), j) { j } else { i };
        let found = parallel::ranges(self.nrows, FEW, &|rows| rows.reduce(longer));
        found.into_iter().flatten().reduce(longer).unwrap_or(0)
    }

    /// The value at `row`, `column`; `None` if there is no entry. O(log degree) time.
    pub fn get(&self, row: usize, column: usize) -> Option<T> {
        if row >= self.nrows {
            return None;
        }
        let (columns, values) = self.row(row);
        let place = columns.binary_search(&u32::try_from(column).ok()?).ok()?;
        Some(values[place])
    }

    /// Takes the matrix apart: `(nrows, ncols, offsets, columns, values)`. Arrays in a mapped file are copied.
    pub fn into_parts(self) -> (usize, usize, Vec<u64>, Vec<u32>, Vec<T>) {
        let Self { nrows, ncols, offsets, columns, values } = self;
        (nrows, ncols, offsets.into_vec(), columns.into_vec(), values.into_vec())
    }

    /// The pattern, without values. Its arrays are shared.
    ///
    /// ```
    /// use vxm::formats::Csr;
    /// let a = Csr::try_new(2, 2, vec![0, 1, 2], vec![1, 0], vec![5.0, 7.0])?;
    /// assert!(std::ptr::eq(a.pattern().columns(), a.columns()));
    /// # Ok::<(), vxm::error::Error>(())
    /// ```
    pub fn pattern(&self) -> Csr<()> {
        self.with_values(vec![(); self.nnz()])
    }

    /// Other values in the same places. The arrays of the places are shared.
    pub(crate) fn with_values<U: Element>(&self, values: Vec<U>) -> Csr<U> {
        debug_assert_eq!(values.len(), self.nnz());
        Csr::unchecked(self.nrows, self.ncols, self.offsets.clone(), self.columns.clone(), values)
    }

    /// Whether the columns lie in a mapped file, so that they take no memory that the system can't take back.
    pub fn is_mapped(&self) -> bool {
        self.columns.is_mapped()
    }

    /// The size of the three arrays, in bytes, also where they lie in a mapped file.
    pub fn heap_bytes(&self) -> usize {
        size_of_val(&*self.offsets) + size_of_val(&*self.columns) + size_of_val(&*self.values)
    }

    /// Returns the transpose. Each task owns a range of columns and walks all rows in order, so entries come out
    /// ascending without locks or sorting.
    #[must_use]
    #[inline(never)]
    pub fn transpose(&self) -> Self {
        let pieces = parallel::threads().min(MAX_COLUMN_TASKS);
        let offsets = self.column_offsets(pieces);
        let blocks = row_blocks(&offsets, pieces);
        let (mut rows, mut values) = (vec![0u32; self.nnz()], vec![T::ZERO; self.nnz()]);
        let row_parts = split_rows(&mut rows, &offsets, &blocks);
        let value_parts = split_rows(&mut values, &offsets, &blocks);
        let parts = blocks.iter().zip(row_parts.into_iter().zip(value_parts)).collect();
        parallel::each(parts, &|(block, part)| {
            let start = offsets[block.start];
            let mut next: Vec<u64> = offsets[block.clone()].iter().map(|o| o - start).collect();
            self.walk(block, |row, column, place| {
                let next = &mut next[column - block.start];
                part.0[*next as usize] = row;
                part.1[*next as usize] = self.values[place];
                *next += 1;
            });
        });
        Self::from_parts(self.ncols, self.nrows, offsets, rows, values)
    }

    /// Returns the row offsets of the transpose, counted by `pieces` tasks.
    pub(super) fn column_offsets(&self, pieces: usize) -> Vec<u64> {
        let mut offsets = vec![0u64; self.ncols + 1];
        let share = self.ncols.div_ceil(pieces).max(1);
        parallel::each(offsets[1..].chunks_mut(share).enumerate().collect(), &|(piece, counts)| {
            let start = piece * share;
            let columns = start..start + counts.len();
            self.walk(&columns, |_, column, _| counts[column - start] += 1);
        });
        prefix_sum(&mut offsets);
        offsets
    }

    /// Calls `f(row, column, position)` for each entry with a column in `columns`, row by row. The position indexes the
    /// arrays.
    pub(super) fn walk(&self, columns: &Range<usize>, mut f: impl FnMut(u32, usize, usize)) {
        for row in 0..self.nrows {
            let base = self.offsets[row] as usize;
            let all = self.row(row).0;
            let first = if columns.start == 0 { 0 } else { all.partition_point(|&c| (c as usize) < columns.start) };
            for (place, &column) in all.iter().enumerate().skip(first) {
                if column as usize >= columns.end {
                    break;
                }
                f(row as u32, column as usize, base + place);
            }
        }
    }
}

/// Returns `(starts, places)` such that `places[starts[j]..starts[j + 1]]` are the positions of `j` in `list`,
/// ascending, for each `j` below `n`.
pub(crate) fn places_of(list: &[u32], n: usize) -> (Vec<u64>, Vec<u32>) {
    // computed as the transpose of a matrix with one entry per row
    let starts = (0..=list.len() as u64).collect();
    let (.., starts, places, _) =
        Csr::from_parts(list.len(), n, starts, list.to_vec(), vec![(); list.len()]).transpose().into_parts();
    (starts, places)
}
