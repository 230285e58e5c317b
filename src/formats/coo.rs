//! Coordinate format (COO): triples in any order, from which matrices are built.

use crate::error::{Error, Result};
use crate::formats::blocks::prefix_sum;
use crate::formats::{Block, Csr, check_vertices, row_blocks, split_rows};
use crate::parallel;
use vxm_semiring::{BinaryOp, Element, FIRST, KernelText, SECOND, Source};

/// How entries with the same row and column are merged: [`Refuse`], [`First`], [`Last`] or [`Combine`].
pub trait Duplicates<T>: Sync {
    /// Merges two values, given in the order they were pushed. `None` refuses the merge, which is an error.
    fn merge(&self, earlier: T, later: T) -> Option<T>;
    /// The same merge as device code, added to `text`. With `None`, the default, the host merges the entries.
    fn joining(&self, _: &mut KernelText) -> Option<Joining> {
        None
    }
}

/// The device form of a [`Duplicates`] rule.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Joining {
    /// Two entries with the same row and column are an error.
    Refuse,
    /// The C++ function of this name merges an earlier and a later value.
    Call(String),
}

/// Two entries with the same row and column are an error.
#[derive(Debug, Clone, Copy)]
pub struct Refuse;

/// Keeps the entry that was pushed first.
#[derive(Debug, Clone, Copy)]
pub struct First;

/// Keeps the entry that was pushed last.
#[derive(Debug, Clone, Copy)]
pub struct Last;

/// Folds entries with the same row and column with an operator, in the order they were pushed.
#[derive(Debug, Clone, Copy)]
pub struct Combine<F>(pub F);

impl<T> Duplicates<T> for Refuse {
    fn merge(&self, _: T, _: T) -> Option<T> {
        None
    }
    fn joining(&self, _: &mut KernelText) -> Option<Joining> {
        Some(Joining::Refuse)
    }
}

impl<T> Duplicates<T> for First {
    fn merge(&self, earlier: T, _: T) -> Option<T> {
        Some(earlier)
    }
    fn joining(&self, text: &mut KernelText) -> Option<Joining> {
        Some(Joining::Call(FIRST.source(text)))
    }
}

impl<T> Duplicates<T> for Last {
    fn merge(&self, _: T, later: T) -> Option<T> {
        Some(later)
    }
    fn joining(&self, text: &mut KernelText) -> Option<Joining> {
        Some(Joining::Call(SECOND.source(text)))
    }
}

impl<T: Element, F: BinaryOp<T, T, Out = T>> Duplicates<T> for Combine<F> {
    fn merge(&self, earlier: T, later: T) -> Option<T> {
        Some(self.0.call(earlier, later))
    }
    fn joining(&self, text: &mut KernelText) -> Option<Joining> {
        Some(Joining::Call(self.0.source(text)))
    }
}

/// A matrix in coordinate format: triples in any order, duplicates allowed.
///
/// Invariants: `nrows` and `ncols` are at most [`MAX_VERTICES`](super::MAX_VERTICES). The row and column of every
/// triple are below them. The three arrays have equal lengths.
///
/// ```
/// use vxm::formats::{Coo, Last, Refuse};
/// let mut triples = Coo::new(2, 2)?;
/// triples.push(1, 0, 5)?;
/// triples.push(1, 0, 7)?;
/// assert_eq!(triples.to_csr(Last)?.get(1, 0), Some(7));
/// assert_eq!(triples.to_csr(Refuse).unwrap_err().to_string(), "Coo: two entries at row 1, column 0");
/// assert_eq!(
///     triples.push(2, 0, 1).unwrap_err().to_string(),
///     "Coo: the entry (2, 0, 1) lies outside a 2 x 2 matrix"
/// );
/// # Ok::<(), vxm::error::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Coo<T = ()> {
    nrows: usize,
    ncols: usize,
    rows: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<T>,
}

impl<T: Element> Coo<T> {
    /// Returns an `nrows` x `ncols` matrix without triples.
    ///
    /// # Errors
    /// [`Error::TooManyVertices`].
    pub fn new(nrows: usize, ncols: usize) -> Result<Self> {
        check_vertices("Coo", nrows)?;
        check_vertices("Coo", ncols)?;
        Ok(Self { nrows, ncols, rows: Vec::new(), columns: Vec::new(), values: Vec::new() })
    }

    /// Builds a matrix from `(row, column, value)` triples.
    ///
    /// # Errors
    /// [`Error::TooManyVertices`], or [`Error::Invalid`] naming the first triple that lies outside the matrix.
    pub fn from_triples(nrows: usize, ncols: usize, triples: impl IntoIterator<Item = (u32, u32, T)>) -> Result<Self> {
        let mut coo = Self::new(nrows, ncols)?;
        for (row, column, value) in triples {
            coo.push(row, column, value)?;
        }
        Ok(coo)
    }

    /// Appends a triple.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the triple, if it lies outside the matrix.
    pub fn push(&mut self, row: u32, column: u32, value: T) -> Result<()> {
        let (nrows, ncols) = (self.nrows, self.ncols);
        if row as usize >= nrows || column as usize >= ncols {
            return Err(Error::invalid(format!(
                "Coo: the entry ({row}, {column}, {value:?}) lies outside a {nrows} x {ncols} matrix"
            )));
        }
        self.rows.push(row);
        self.columns.push(column);
        self.values.push(value);
        Ok(())
    }

    /// The rows, columns and values of the triples, in the order they were pushed.
    pub(crate) fn arrays(&self) -> (&[u32], &[u32], &[T]) {
        (&self.rows, &self.columns, &self.values)
    }

    /// The number of rows.
    pub fn nrows(&self) -> usize {
        self.nrows
    }

    /// The number of columns.
    pub fn ncols(&self) -> usize {
        self.ncols
    }

    /// The number of triples, duplicates included.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no triples.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The triples as `(row, column, value)`, in the order they were pushed.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32, T)> + '_ {
        let places = self.rows.iter().zip(&self.columns);
        places.zip(&self.values).map(|((&row, &column), &value)| (row, column, value))
    }

    /// Converts to CSR, merging entries with the same row and column by `duplicates`. O(n log n) time at most, for `n`
    /// triples.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `duplicates` refuses to merge entries. It names their row and column, the first in row order.
    #[inline(never)]
    pub fn to_csr(&self, duplicates: impl Duplicates<T>) -> Result<Csr<T>> {
        let mut starts = vec![0u64; self.nrows + 1];
        for &row in &self.rows {
            starts[row as usize + 1] += 1;
        }
        prefix_sum(&mut starts);
        let mut next = starts.clone();
        let mut entries = vec![(0u32, T::ZERO); self.len()];
        for (row, column, value) in self.iter() {
            let next = &mut next[row as usize];
            entries[*next as usize] = (column, value);
            *next += 1;
        }
        drop(next);

        let blocks = row_blocks(&starts, 4 * parallel::threads());
        let parts = split_rows(&mut entries, &starts, &blocks);
        let parts = blocks.into_iter().zip(parts).collect();
        let merged = parallel::map(parts, &|(rows, part)| {
            merge_rows(rows.start, &starts[rows.start..=rows.end], part, &duplicates)
        });
        // collected in row order, so that the first refused merge is the one reported
        let merged: Result<Vec<Block<T>>> = merged.into_iter().collect();
        Ok(Csr::from_blocks(self.nrows, self.ncols, merged?))
    }
}

/// The error for two entries with the same row and column.
pub(crate) fn repeated(row: u32, column: u32) -> Error {
    Error::invalid(format!("Coo: two entries at row {row}, column {column}"))
}

/// Sorts and merges the entries of consecutive rows, the first of which is row `first`. Row `first + k` occupies
/// `starts[k]..starts[k + 1]`, relative to `starts[0]`.
fn merge_rows<T: Element>(
    first: usize,
    starts: &[u64],
    entries: &mut [(u32, T)],
    duplicates: &impl Duplicates<T>,
) -> Result<Block<T>> {
    let mut ends = Vec::with_capacity(starts.len() - 1);
    let mut columns: Vec<u32> = Vec::with_capacity(entries.len());
    let mut values: Vec<T> = Vec::with_capacity(entries.len());
    for (row, bounds) in starts.windows(2).enumerate() {
        let start = columns.len();
        let range = (bounds[0] - starts[0]) as usize..(bounds[1] - starts[0]) as usize;
        let row_entries = &mut entries[range];
        // the sort is stable, so duplicates are merged in the order they were pushed
        row_entries.sort_by_key(|entry| entry.0);
        for &(column, value) in &*row_entries {
            match values.last_mut() {
                Some(earlier) if columns.len() > start && columns.last() == Some(&column) => {
                    *earlier =
                        duplicates.merge(*earlier, value).ok_or_else(|| repeated((first + row) as u32, column))?;
                }
                _ => {
                    columns.push(column);
                    values.push(value);
                }
            }
        }
        ends.push(columns.len() as u64);
    }
    Ok((ends, columns, values))
}

impl<T: Element> From<&Csr<T>> for Coo<T> {
    fn from(matrix: &Csr<T>) -> Self {
        let rows = (0..matrix.nrows()).flat_map(|row| core::iter::repeat_n(row as u32, matrix.degree(row))).collect();
        Self {
            nrows: matrix.nrows(),
            ncols: matrix.ncols(),
            rows,
            columns: matrix.columns().to_vec(),
            values: matrix.values().to_vec(),
        }
    }
}
