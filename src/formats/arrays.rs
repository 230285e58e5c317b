//! Building CSR matrices from another library's arrays.

use crate::error::{Error, Result};
use crate::formats::{Csr, MAX_VERTICES};
use crate::parallel::{self, FEW};
use vxm_semiring::Element;

/// An integer type of offsets and columns in other libraries' arrays: `u32`, `u64`, `i32` or `i64`.
pub trait Index: Copy + Send + Sync + core::fmt::Display + sealed::Sealed {
    /// The integer; `None` if it is negative.
    fn get(self) -> Option<u64>;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! indices {
    ($($t:ty),*) => {$(
        impl sealed::Sealed for $t {}
        impl Index for $t {
            #[inline]
            fn get(self) -> Option<u64> {
                u64::try_from(self).ok()
            }
        }
    )*};
}
indices!(u32, u64, i32, i64);

impl<T: Element> Csr<T> {
    /// Builds a matrix from the three arrays of CSR, with 32- or 64-bit integers, and checks every invariant. Offsets and columns are copied
    /// once, by all threads. O(nrows + nnz) time.
    ///
    /// ```
    /// use vxm::formats::Csr;
    /// // the arrays of a SciPy matrix: indptr, indices, data
    /// let a = Csr::from_arrays(2, 3, &[0i32, 2, 3], &[0i32, 2, 2], vec![1.0, 2.0, 3.0])?;
    /// assert_eq!(a.get(1, 2), Some(3.0));
    /// let broken = Csr::from_arrays(2, 3, &[0i64, 2, 3], &[0i32, -2, 2], vec![(); 3]);
    /// assert_eq!(broken.unwrap_err().to_string(), "Csr: entry 1: column -2, of 3 columns");
    /// # Ok::<(), vxm::error::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooManyVertices`], or [`Error::Invalid`] naming the first entry or row that breaks an invariant, and how.
    pub fn from_arrays<O: Index, C: Index>(
        nrows: usize,
        ncols: usize,
        offsets: &[O],
        columns: &[C],
        values: Vec<T>,
    ) -> Result<Self> {
        let broken = |what: String| Error::invalid(format!("Csr: {what}"));
        let negative = |row: usize| broken(format!("offset {row} is {}: expected 0 or more", offsets[row]));
        let mut copied = vec![0u64; offsets.len()];
        parallel::fill(&mut copied, FEW, &|first, part| {
            part.iter_mut().zip(&offsets[first..]).for_each(|(to, from)| *to = from.get().unwrap_or(u64::MAX));
        });
        if let Some(row) = parallel::first(offsets.len(), &|mut rows| rows.find(|&row| offsets[row].get().is_none())) {
            return Err(negative(row));
        }
        // a column that no matrix has stands for those that don't fit
        const NONE: u32 = MAX_VERTICES as u32;
        let fitting = |column: C| column.get().and_then(|column| u32::try_from(column).ok()).unwrap_or(NONE);
        let mut columns_copied = vec![0u32; columns.len()];
        parallel::fill(&mut columns_copied, FEW, &|first, part| {
            part.iter_mut().zip(&columns[first..]).for_each(|(to, &from)| *to = fitting(from));
        });
        Self::try_new(nrows, ncols, copied, columns_copied, values).map_err(|error| {
            let wrong = parallel::first(columns.len(), &|mut entries| entries.find(|&k| fitting(columns[k]) == NONE));
            match wrong.filter(|_| !matches!(error, Error::TooManyVertices { .. })) {
                Some(entry) => broken(format!("entry {entry}: column {}, of {ncols} columns", columns[entry])),
                None => error,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_index_types_build_the_same() {
        let expected = Csr::try_new(3, 4, vec![0, 2, 2, 3], vec![1, 3, 0], vec![5, 6, 7]).unwrap();
        let values = || vec![5, 6, 7];
        assert_eq!(Csr::from_arrays(3, 4, &[0u32, 2, 2, 3], &[1u32, 3, 0], values()).unwrap(), expected);
        assert_eq!(Csr::from_arrays(3, 4, &[0u64, 2, 2, 3], &[1i64, 3, 0], values()).unwrap(), expected);
        assert_eq!(Csr::from_arrays(3, 4, &[0i64, 2, 2, 3], &[1i32, 3, 0], values()).unwrap(), expected);
        assert_eq!(Csr::from_arrays(3, 4, &[0i32, 2, 2, 3], &[1u64, 3, 0], values()).unwrap(), expected);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let build = |offsets: &[i64], columns: &[i64]| {
            Csr::from_arrays(2, 3, offsets, columns, vec![(); columns.len()]).unwrap_err().to_string()
        };
        assert_eq!(build(&[0, -1, 2], &[0, 1]), "Csr: offset 1 is -1: expected 0 or more");
        assert_eq!(build(&[0, 1, 2], &[0, 1 << 40]), "Csr: entry 1: column 1099511627776, of 3 columns");
        assert_eq!(build(&[0, 1, 2], &[0, -9]), "Csr: entry 1: column -9, of 3 columns");
        assert_eq!(build(&[0, 1, 2], &[0, 3]), "Csr: row 1: column 3, of 3 columns");
        assert_eq!(build(&[0, 2], &[0, 1]), "Csr: found 2 offsets for 2 rows: expected 3");
        assert_eq!(build(&[0, 2, 1], &[0]), "Csr: row 1 starts at 2 but ends at 1");
        assert_eq!(build(&[0, 0, 3], &[0]), "Csr: the rows end at 3 but there are 1 entries");
    }
}
