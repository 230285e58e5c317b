//! Triples in any order: what matrices are built from.

use super::blocks::prefix_sum;
use super::{Block, Csr, check_vertices, row_blocks, split_rows};
use crate::error::{Error, Result};
use rayon::prelude::*;
use vxm_semiring::{BinaryOp, Element, FIRST, KernelText, SECOND, Source};

/// What becomes of entries at one place: [`Refuse`], [`First`], [`Last`] or [`Combine`].
pub trait Duplicates<T>: Sync {
    /// The value that stands for an `earlier` and a `later` one, in the order they were pushed; `None` refuses them.
    fn merge(&self, earlier: T, later: T) -> Option<T>;
    /// The same on a device, in terms of `text`; `None`, the default, has the host merge them.
    fn joining(&self, _: &mut KernelText) -> Option<Joining> {
        None
    }
}

/// What [`Duplicates`] come to on a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Joining {
    /// Two entries at one place are an error.
    Refuse,
    /// The C++ function of that name is called with an earlier and a later one.
    Call(String),
}

/// Two entries at one place are an error.
#[derive(Debug, Clone, Copy)]
pub struct Refuse;

/// The entry pushed first stays.
#[derive(Debug, Clone, Copy)]
pub struct First;

/// The entry pushed last stays.
#[derive(Debug, Clone, Copy)]
pub struct Last;

/// Entries at one place are folded with an operator, in the order they were pushed.
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

/// A matrix as triples, in any order, duplicates allowed.
///
/// Invariants: `nrows` and `ncols` are at most [`MAX_VERTICES`](super::MAX_VERTICES); every triple's row and column are below
/// them; the three arrays are equally long.
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
    /// No triples yet.
    ///
    /// # Errors
    /// [`Error::TooManyVertices`].
    pub fn new(nrows: usize, ncols: usize) -> Result<Self> {
        check_vertices("Coo", nrows)?;
        check_vertices("Coo", ncols)?;
        Ok(Self { nrows, ncols, rows: Vec::new(), columns: Vec::new(), values: Vec::new() })
    }

    /// A matrix of `(row, column, value)`s.
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

    /// Adds a triple.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the triple if it lies outside the matrix.
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

    /// The triples' rows, columns and values.
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

    /// The matrix by rows, entries at one place merged by `duplicates`.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the first place, in row order, whose entries `duplicates` refuses to merge.
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

        let blocks = row_blocks(&starts, 4 * rayon::current_num_threads());
        let parts = split_rows(&mut entries, &starts, &blocks);
        let merged: Result<Vec<Block<T>>> = blocks
            .par_iter()
            .zip(parts)
            .map(|(rows, part)| merge_rows(rows.start, &starts[rows.start..=rows.end], part, &duplicates))
            .collect::<Vec<_>>()
            .into_iter()
            // in row order, so that the first refusal is the one reported
            .collect();
        Ok(Csr::from_blocks(self.nrows, self.ncols, merged?))
    }
}

/// That two entries stand at one place.
pub(crate) fn repeated(row: u32, column: u32) -> Error {
    Error::invalid(format!("Coo: two entries at row {row}, column {column}"))
}

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
        // stable, so that duplicates meet in the order they were pushed
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
