//! Conversions to and from matrices of the crate `sprs`.

use crate::error::{Error, Result};
use crate::formats::Csr;
use sprs::{CsMat, CsMatI, SpIndex};
use vxm_semiring::Element;

impl<T: Element> From<&Csr<T>> for CsMat<T> {
    fn from(matrix: &Csr<T>) -> Self {
        let wide = |&offset: &u64| offset as usize;
        CsMat::new(
            (matrix.nrows(), matrix.ncols()),
            matrix.offsets().iter().map(wide).collect(),
            matrix.columns().iter().map(|&c| c as usize).collect(),
            matrix.values().to_vec(),
        )
    }
}

impl<T: Element, I: SpIndex, P: SpIndex> TryFrom<&CsMatI<T, I, P>> for Csr<T> {
    type Error = Error;

    /// # Errors
    /// [`Error::TooManyVertices`].
    fn try_from(matrix: &CsMatI<T, I, P>) -> Result<Self> {
        // a matrix in CSC format is read as the rows of its transpose
        let by_rows = matrix.is_csr();
        let (nrows, ncols) = if by_rows { (matrix.rows(), matrix.cols()) } else { (matrix.cols(), matrix.rows()) };
        super::check_vertices("sprs::CsMat", nrows)?;
        super::check_vertices("sprs::CsMat", ncols)?;
        let offsets = matrix.proper_indptr();
        let read = Csr::try_new(
            nrows,
            ncols,
            offsets.iter().map(|o| o.index() as u64).collect(),
            matrix.indices().iter().map(|i| i.index() as u32).collect(),
            matrix.data().to_vec(),
        )?;
        Ok(if by_rows { read } else { read.transpose() })
    }
}
