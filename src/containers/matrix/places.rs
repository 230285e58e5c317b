//! Real values by their order.

use super::Matrix;
use crate::error::{Error, Result};
use crate::formats::Csr;
use crate::memory;
use crate::parallel;
use crate::ranks::Joined;
use rayon::prelude::*;

/// What errors name.
const WHAT: &str = "value_places";

impl Matrix<f64> {
    /// The matrix with, in place of each value, its place among the distinct values, in the order of [`f64::total_cmp`]. -0 counts as 0.
    ///
    /// What depends on the order of weights alone, such as a spanning forest or a locally dominant matching, is the same of both matrices; integers
    /// are compared faster, and have a maximum for what isn't there. O(nnz log nnz) time. All ranks call this.
    ///
    /// ```
    /// use vxm::prelude::*;
    /// let a = Matrix::from_triples(2, 2, [(0, 0, 2.5), (0, 1, -1.0), (1, 1, 2.5)])?;
    /// assert_eq!(a.value_places()?, Matrix::from_triples(2, 2, [(0, 0, 1u32), (0, 1, 0), (1, 1, 1)])?);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// More than 2^32 distinct values. [`Error::Memory`]. [`Error::Ranks`]: another rank has failed. [`Error::Device`]: the matrix lies on a GPU and can't be fetched.
    pub fn value_places(&self) -> Result<Matrix<u32>> {
        let Some(grid) = self.grid() else {
            let rows = self.host_rows()?;
            memory::require(20 * rows.nnz() as u128, || WHAT.to_owned())?;
            let distinct = distinct(rows.values());
            let placed = with_places(&rows, &distinct, &(0..distinct.len() as u64).collect::<Vec<_>>());
            return Ok(Matrix::from_csr(checked(placed, distinct.len() as u64)?).set_symmetric(self.is_symmetric()));
        };
        let share = self.share(grid, false, WHAT)?;
        // keys, places, and what is sent and kept of them
        grid.agree(memory::require(60 * share.csr.nnz() as u128, || WHAT.to_owned()))?;
        let distinct = distinct(share.csr.values());
        let (places, count) = Joined::of(grid, &distinct)?.places(grid)?;
        let placed = checked(with_places(&share.csr, &distinct, &places), count)?;
        let simple = self.simple.get().copied().unwrap_or(false);
        Matrix::of_share(grid, self.nrows(), share.with_entries(placed), self.is_symmetric())?.on_ranks(grid, simple)
    }
}

/// The value as an integer of the same order.
fn key(value: f64) -> u64 {
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// The distinct values as integers, ascending.
fn distinct(values: &[f64]) -> Vec<u64> {
    let mut keys = parallel::table(values.len(), 0, |k| key(values[k]));
    keys.par_sort_unstable();
    keys.dedup();
    keys
}

/// The rows with the places of their values: `places[k]` is that of `distinct[k]`.
fn with_places(rows: &Csr<f64>, distinct: &[u64], places: &[u64]) -> Csr<u32> {
    let values = rows.values();
    let place = |k: usize| places[distinct.partition_point(|&other| other < key(values[k]))] as u32;
    rows.with_values(parallel::table(values.len(), 0, place))
}

/// The rows, unless there are more distinct values than numbers for them.
fn checked(placed: Csr<u32>, count: u64) -> Result<Csr<u32>> {
    match count > 1 << 32 {
        false => Ok(placed),
        true => Err(Error::invalid(format!("{WHAT}: {count} distinct values: expected at most 2^32"))),
    }
}
