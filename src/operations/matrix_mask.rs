//! Masks of matrices: structural, by value, and the complement of either.

use crate::backend::cpu::mxm::Places;
use crate::backend::cuda::{self, DeviceCsr, Gpu};
use crate::containers::Matrix;
use crate::error::{Error, Result};
use crate::formats::Csr;
use crate::operations::entry_filter::{build, filtered};
use crate::operations::ranks::local;
use crate::ranks::{Grid, Share};
use std::fmt;
use std::ops::Not;
use std::panic::Location;
use std::sync::Arc;
use vxm_semiring::Element;

/// A mask of a matrix: the places where a result may be written.
///
/// `&m` is the structural mask: the places where `m` holds an entry. [`m.values()`](Matrix::values) are the places of entries that aren't
/// zero. `!mask` is the complement of either.
///
/// ```
/// use vxm::prelude::*;
///
/// let a = Matrix::from_triples(2, 2, [(0, 0, 3u32), (0, 1, 4), (1, 1, 5)])?;
/// let m = Matrix::from_triples(2, 2, [(0, 1, 0u32), (1, 1, 1)])?;
/// let entries = |a: Matrix<u32>| a.iter().map(|(i, j, _)| (i, j)).collect::<Vec<_>>();
/// assert_eq!(entries(a.masked(&m)?), [(0, 1), (1, 1)]);
/// assert_eq!(entries(a.masked(m.values())?), [(1, 1)]);
/// assert_eq!(entries(a.masked(!&m)?), [(0, 0)]);
/// assert_eq!(entries(a.masked(!m.values())?), [(0, 0), (0, 1)]);
/// # Ok::<(), vxm::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct MatrixMask<'a> {
    matrix: &'a dyn Structure,
    by_value: bool,
    complement: bool,
}

/// What a mask reads of a matrix of any type.
trait Structure: Sync {
    fn shape(&self) -> (usize, usize);
    fn gpu(&self) -> Option<&Gpu>;
    fn places(&self) -> Places<'_>;
    /// The pattern on a GPU.
    fn pattern_on(&self, gpu: &Gpu) -> Result<DeviceCsr<()>>;
    /// The entries that aren't zero.
    fn nonzero(&self) -> Csr<()>;
    /// The ranks that the matrix is spread over.
    fn grid(&self) -> Option<&Grid>;
    /// The pattern of this rank's share.
    fn pattern_on_ranks(&self, grid: &Grid) -> Result<Arc<Share<()>>>;
    /// The places of entries that aren't zero, in this rank's rows; see [`local::matrix`].
    fn nonzero_on_ranks(&self, grid: &Grid) -> Result<Csr<()>>;
}

impl<T: Element> Structure for Matrix<T> {
    fn shape(&self) -> (usize, usize) {
        (self.nrows(), self.ncols())
    }
    fn gpu(&self) -> Option<&Gpu> {
        Matrix::gpu(self)
    }
    fn places(&self) -> Places<'_> {
        Places::of(self.csr())
    }
    fn pattern_on(&self, gpu: &Gpu) -> Result<DeviceCsr<()>> {
        self.on(gpu)?.pattern()
    }
    fn nonzero(&self) -> Csr<()> {
        nonzero(self.csr())
    }
    fn grid(&self) -> Option<&Grid> {
        Matrix::grid(self)
    }
    fn pattern_on_ranks(&self, grid: &Grid) -> Result<Arc<Share<()>>> {
        local::spread(self, grid)?.pattern().share(grid, false, "mask")
    }
    fn nonzero_on_ranks(&self, grid: &Grid) -> Result<Csr<()>> {
        Ok(nonzero(&local::share(self, grid, "mask")?.to_rows(grid, self.nrows())))
    }
}

/// The entries that aren't zero.
fn nonzero<T: Element>(csr: &Csr<T>) -> Csr<()> {
    build(csr.nrows(), csr.ncols(), |i, columns, units| {
        let (js, values) = csr.row(i);
        let kept = js.iter().zip(values).filter(|&(_, &value)| size_of::<T>() == 0 || value != T::ZERO);
        columns.extend(kept.map(|(&j, _)| j));
        units.resize(columns.len(), ());
    })
}

/// The places of a mask before its complement is taken.
pub(crate) enum MaskPlaces<'a> {
    Structure(Places<'a>),
    Nonzero(Csr<()>),
}

impl MaskPlaces<'_> {
    /// The places.
    pub(crate) fn get(&self) -> Places<'_> {
        match self {
            Self::Structure(places) => *places,
            Self::Nonzero(csr) => Places::of(csr),
        }
    }
}

/// A mask in a rank's rows.
pub(crate) struct RowsOfMask {
    /// The pattern of the mask's matrix.
    pub pattern: Arc<Share<()>>,
    /// The places before a complement is taken.
    pub places: Matrix,
    pub complement: bool,
}

impl RowsOfMask {
    /// The mask.
    pub fn mask(&self) -> MatrixMask<'_> {
        MatrixMask { matrix: &self.places, by_value: false, complement: self.complement }
    }
}

impl<'a> MatrixMask<'a> {
    /// Whether the mask is a complement: true outside of its places.
    pub(crate) fn is_complement(&self) -> bool {
        self.complement
    }

    /// The GPU that the mask's matrix lies on.
    pub(crate) fn gpu(&self) -> Option<&'a Gpu> {
        self.matrix.gpu()
    }

    /// The places on a GPU; `None` if the mask is by value or a complement.
    pub(crate) fn structure_on(&self, gpu: &Gpu) -> Option<Result<DeviceCsr<()>>> {
        self.places_on(gpu).filter(|_| !self.complement)
    }

    /// The places on a GPU that the mask or its complement consists of; `None` if the mask is by value.
    pub(crate) fn places_on(&self, gpu: &Gpu) -> Option<Result<DeviceCsr<()>>> {
        (!self.by_value).then(|| self.matrix.pattern_on(gpu))
    }

    /// Whether the mask is by value.
    pub(crate) fn is_by_value(&self) -> bool {
        self.by_value
    }

    /// The places, on the host.
    pub(crate) fn places(&self) -> MaskPlaces<'a> {
        match self.by_value {
            true => MaskPlaces::Nonzero(self.matrix.nonzero()),
            false => MaskPlaces::Structure(self.matrix.places()),
        }
    }

    /// The ranks that the mask's matrix is spread over.
    pub(crate) fn grid(&self) -> Option<&'a Grid> {
        self.matrix.grid()
    }

    /// The mask in this rank's rows. All ranks call this.
    pub(crate) fn on_ranks(&self, grid: &Grid) -> Result<RowsOfMask> {
        let pattern = self.matrix.pattern_on_ranks(grid)?;
        let places = match self.by_value {
            true => self.matrix.nonzero_on_ranks(grid)?,
            false => pattern.to_rows(grid, self.matrix.shape().0),
        };
        Ok(RowsOfMask { pattern, places: Matrix::from_csr(places), complement: self.complement })
    }

    /// Checks that the mask has the shape of a result.
    pub(crate) fn check(&self, (nrows, ncols): (usize, usize), at: &'static Location<'static>) -> Result<()> {
        let (rows, columns) = self.matrix.shape();
        if (rows, columns) == (nrows, ncols) {
            return Ok(());
        }
        let (left, right) = (format!("matrix of {nrows} x {ncols}"), format!("mask of {rows} x {columns}"));
        Err(Error::Shape { operation: "mask", left, right, at })
    }
}

impl fmt::Debug for MatrixMask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, columns) = self.matrix.shape();
        let (not, by) = (if self.complement { "!" } else { "" }, if self.by_value { ".values()" } else { "" });
        write!(f, "{not}mask of {rows} x {columns}{by}")
    }
}

impl<'a, T: Element> From<&'a Matrix<T>> for MatrixMask<'a> {
    fn from(matrix: &'a Matrix<T>) -> Self {
        Self { matrix, by_value: false, complement: false }
    }
}

impl<'a, T: Element> Not for &'a Matrix<T> {
    type Output = MatrixMask<'a>;
    fn not(self) -> MatrixMask<'a> {
        !MatrixMask::from(self)
    }
}

impl Not for MatrixMask<'_> {
    type Output = Self;
    fn not(self) -> Self {
        Self { complement: !self.complement, ..self }
    }
}

impl<T: Element> Matrix<T> {
    /// The matrix as a mask by value: true where it holds an entry that isn't zero. See [`MatrixMask`].
    pub fn values(&self) -> MatrixMask<'_> {
        MatrixMask { matrix: self, by_value: true, complement: false }
    }

    /// The entries at the places where a mask is true. O(n + entries of both) time; on a GPU, O(entries * log of a row's length). A mask by
    /// value is read on the host. The result lies where the matrix does. See [`MatrixMask`] for an example.
    ///
    /// # Errors
    /// The shapes differ. The device has too little memory, or is lost.
    #[track_caller]
    pub fn masked<'a>(&self, mask: impl Into<MatrixMask<'a>>) -> Result<Matrix<T>> {
        let mask = mask.into();
        mask.check((self.nrows(), self.ncols()), Location::caller())?;
        if let Some(grid) = self.grid().or(mask.grid()) {
            let (share, mask) = (local::share(self, grid, "masked")?, mask.on_ranks(grid)?);
            let made = local::matrix(&share, grid, self.nrows()).and_then(|rows| rows.masked(mask.mask()));
            return local::joined_within(grid, self.nrows(), &share, made);
        }
        let gpu = self.gpu().or(mask.gpu()).cloned().or_else(crate::backend::current);
        if let Some(gpu) = &gpu
            && let Some(places) = mask.places_on(gpu).transpose()?
        {
            let entries = self.on(gpu)?;
            let kept = cuda::entries::select_places(&entries, &places, !mask.is_complement())?;
            return Ok(Matrix::on_device(kept, None));
        }
        let places = mask.places();
        let (places, complement) = (places.get(), mask.is_complement());
        let within = |row: &[u32], j: u32| row.binary_search(&j).is_ok() != complement;
        let kept = filtered(self.csr(), |i| Some(places.row(i)), |row, j, _| within(row, j));
        Matrix::from_csr(kept).placed(gpu)
    }
}
