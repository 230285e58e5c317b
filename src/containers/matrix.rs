//! Sparse matrices, and graphs as their adjacency matrices.

use crate::backend::cuda::{DeviceCsr, Gpu, build};
use crate::backend::plan::Format;
use crate::backend::{Device, current};
use crate::containers::Vector;
use crate::error::{Error, Result};
use crate::formats::{Coo, Csr, Duplicates, Refuse};
use crate::memory;
use crate::parallel;
use std::sync::{Arc, OnceLock};
use vxm_semiring::Element;

mod around;
mod graph;
mod places;
mod reading;
mod spread;
mod tiled;

pub use graph::{Digraph, Graph, Symmetrize};
#[doc(hidden)]
pub use reading::Read;
pub use reading::{SpreadGraph, SpreadWeighted};
use spread::Shares;
use tiled::Tiled;

/// Checks that there is memory for building row offsets: 16 bytes per row. A failed allocation would abort the process.
fn room_for_rows(nrows: usize) -> Result<()> {
    // asking the system takes longer than allocating a few
    const FEW: usize = 1 << 20;
    if nrows <= FEW {
        return Ok(());
    }
    memory::require(16 * nrows as u128, || format!("Matrix: {nrows} rows"))
}

/// A sparse matrix. With `T = ()`, the default, it is a pattern: each entry is implicit and stands for 1.
///
/// The rows are stored as CSR. The transpose is built at the first product that needs it, where that product runs. A
/// matrix known to be symmetric needs none. Cloning shares the storage.
///
/// ```
/// use vxm::prelude::*;
///
/// let a = Matrix::from_triples(2, 3, [(0, 2, 1.5f32), (1, 0, 2.0)])?;
/// assert_eq!((a.nrows(), a.ncols(), a.nnz()), (2, 3, 2));
/// assert_eq!(a.get(0, 2), Some(1.5));
/// # Ok::<(), vxm::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Matrix<T: Element = ()> {
    shape: (usize, usize, usize),
    rows: OnceLock<Arc<Csr<T>>>,
    columns: OnceLock<Arc<Csr<T>>>,
    gpu: Option<Gpu>,
    device_rows: OnceLock<Arc<DeviceCsr<T>>>,
    device_columns: OnceLock<Arc<DeviceCsr<T>>>,
    symmetric: bool,
    /// Whether each entry is known to have one at the mirrored place, whatever their values.
    mirrored: bool,
    simple: OnceLock<bool>,
    format: Option<Format>,
    row_tiles: Arc<Tiled<T>>,
    column_tiles: Arc<Tiled<T>>,
    /// The numbers that vertices had before the matrix was renumbered, if it was.
    names: Option<Arc<Vector<u32>>>,
    /// Of a matrix that is spread over ranks, this rank's shares; nothing else is stored then.
    shares: Option<Shares<T>>,
}

impl<T: Element> Matrix<T> {
    /// Wraps a matrix in CSR format.
    #[inline(never)]
    pub fn from_csr(rows: Csr<T>) -> Self {
        Self {
            shape: (rows.nrows(), rows.ncols(), rows.nnz()),
            rows: OnceLock::from(Arc::new(rows)),
            ..Self::shaped((0, 0, 0))
        }
    }

    /// Returns a matrix of the given (rows, columns, entries) without storage, for struct update syntax.
    fn shaped(shape: (usize, usize, usize)) -> Self {
        Self {
            shape,
            rows: OnceLock::new(),
            columns: OnceLock::new(),
            gpu: None,
            device_rows: OnceLock::new(),
            device_columns: OnceLock::new(),
            symmetric: false,
            mirrored: false,
            simple: OnceLock::new(),
            format: None,
            row_tiles: Arc::default(),
            column_tiles: Arc::default(),
            names: None,
            shares: None,
        }
    }

    /// Wraps a matrix that equals its transpose, so push and pull share one storage.
    ///
    /// # Errors
    /// [`Error::Invalid`]: `rows` does not equal its transpose. The check takes O(nnz log(degree)) time.
    pub fn from_symmetric(rows: Csr<T>) -> Result<Self> {
        if rows.nrows() != rows.ncols() || !rows.is_symmetric() {
            let what = format!("a {} x {} matrix that does not equal its transpose", rows.nrows(), rows.ncols());
            return Err(Error::Invalid { what });
        }
        Ok(Self { symmetric: true, ..Self::from_csr(rows) })
    }

    /// Wraps a matrix that is known to equal its transpose, as [`Report::symmetric`](crate::io::Report::symmetric) says. Only debug builds
    /// check it. O(1) time.
    ///
    /// ```
    /// use vxm::formats::Csr;
    /// use vxm::prelude::*;
    ///
    /// let rows = Csr::try_new(2, 2, vec![0, 1, 2], vec![1, 0], vec![5, 5])?;
    /// assert!(Matrix::known_symmetric(rows).is_symmetric());
    /// # Ok::<(), vxm::Error>(())
    /// ```
    pub fn known_symmetric(rows: Csr<T>) -> Self {
        debug_assert!(rows.is_symmetric());
        Self { symmetric: true, ..Self::from_csr(rows) }
    }

    /// Builds a matrix from `(row, column, value)` triples in any order.
    ///
    /// # Errors
    /// [`Error::Invalid`]: an index lies outside the shape, or two triples have the same row and column.
    /// [`Error::TooManyVertices`]. Also the errors of [`from_coo`](Self::from_coo).
    pub fn from_triples(nrows: usize, ncols: usize, triples: impl IntoIterator<Item = (u32, u32, T)>) -> Result<Self> {
        let mut coo = Coo::new(nrows, ncols)?;
        for (i, j, value) in triples {
            coo.push(i, j, value)?;
        }
        Self::from_coo(&coo, Refuse)
    }

    /// Builds a matrix from triples; entries with the same row and column are merged by `duplicates`. If
    /// [`Device::scope`] names a device, the triples are sorted there and the matrix stays there. O(n log n) time on
    /// the host. On a device O(n): a radix pass for each byte of a row index and of a column index.
    ///
    /// ```
    /// use vxm::formats::{Combine, Coo};
    /// use vxm::prelude::*;
    ///
    /// let triples = Coo::from_triples(2, 3, [(1, 2, 5u32), (0, 0, 1), (1, 2, 7)])?;
    /// let a = Matrix::from_coo(&triples, Combine(PLUS))?;
    /// assert_eq!(a.iter().collect::<Vec<_>>(), [(0, 0, 1), (1, 2, 12)]);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`]: `duplicates` refuses to merge two entries; the first such place is named. [`Error::Memory`]:
    /// too little memory on the host for so many rows. [`Error::Device`]: too little memory on the device, or the
    /// device is lost.
    #[inline(never)]
    pub fn from_coo(coo: &Coo<T>, duplicates: impl Duplicates<T>) -> Result<Self> {
        if let Some(gpu) = current()
            && let Some(rows) = build::from_triples(&gpu, coo, &duplicates)?
        {
            return Ok(Self::on_device(rows, None));
        }
        room_for_rows(coo.nrows())?;
        Ok(Self::from_csr(coo.to_csr(duplicates)?))
    }

    /// The number of rows.
    pub fn nrows(&self) -> usize {
        self.shape.0
    }

    /// The number of columns.
    pub fn ncols(&self) -> usize {
        self.shape.1
    }

    /// The number of entries.
    pub fn nnz(&self) -> u64 {
        self.shape.2 as u64
    }

    /// The entry at row `i`, column `j`; `None` if there is none. The first read of a matrix on a device copies it to
    /// the host.
    pub fn get(&self, i: u32, j: u32) -> Option<T> {
        if i as usize >= self.nrows() { None } else { self.csr().get(i as usize, j as usize) }
    }

    /// The entries as `(row, column, value)`, row by row.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32, T)> + '_ {
        (0..self.nrows()).flat_map(move |i| {
            let (columns, values) = self.csr().row(i);
            columns.iter().zip(values).map(move |(&j, &value)| (i as u32, j, value))
        })
    }

    /// Whether the matrix is known to equal its transpose. O(1) time: nothing is checked.
    pub fn is_symmetric(&self) -> bool {
        self.symmetric
    }

    /// The matrix as CSR on the host. The first call for a matrix on a device copies it.
    ///
    /// # Panics
    /// The matrix is on a device that is lost.
    pub fn csr(&self) -> &Csr<T> {
        self.shared_rows()
    }

    fn shared_rows(&self) -> &Arc<Csr<T>> {
        self.rows.get_or_init(|| match self.host_rows() {
            Ok(rows) => rows,
            Err(error) => panic!("a matrix elsewhere: {error}"),
        })
    }

    /// The rows on the host: cached, transposed from the columns, or copied from a device.
    #[inline(never)]
    fn host_rows(&self) -> Result<Arc<Csr<T>>> {
        self.check_whole("reading rows")?;
        if let Some(rows) = self.rows.get() {
            return Ok(rows.clone());
        }
        if let Some(columns) = self.columns.get().filter(|_| self.device_rows.get().is_none()) {
            return Ok(Arc::new(columns.transpose()));
        }
        match (self.device_rows.get(), self.device_columns.get()) {
            (Some(rows), _) => Ok(Arc::new(rows.download()?)),
            (None, Some(columns)) => Ok(Arc::new(self.on(&columns.gpu().clone())?.download()?)),
            (None, None) => Err(Error::invalid("a matrix without rows".to_owned())),
        }
    }

    /// The transpose as CSR on the host. The first call builds it, or copies it from a device.
    ///
    /// # Panics
    /// The matrix is on a device that is lost.
    pub fn csr_transposed(&self) -> &Csr<T> {
        if self.symmetric {
            return self.csr();
        }
        self.columns.get_or_init(|| match self.device_columns.get().map(|columns| columns.download()) {
            Some(Ok(columns)) => Arc::new(columns),
            Some(Err(error)) => panic!("a matrix on a device: {error}"),
            None => Arc::new(self.csr().transpose()),
        })
    }

    /// The transpose, if it is at hand on the host: if the matrix is known to be symmetric, or it was made before.
    pub(crate) fn known_transposed(&self) -> Option<&Csr<T>> {
        if self.symmetric { Some(self.csr()) } else { self.columns.get().map(|columns| &**columns) }
    }

    /// The device that the matrix is stored on.
    pub fn device(&self) -> Device {
        self.gpu.as_ref().map_or(Device::Cpu, |gpu| Device::Cuda(gpu.ordinal()))
    }

    /// Returns the matrix on another device. Copies on the host are kept and shared.
    ///
    /// # Errors
    /// [`Error::Device`]: there is no such device, it has too little memory, or it is lost.
    pub fn to(&self, device: Device) -> Result<Self> {
        let gpu = device.gpu()?;
        if self.shares.is_some() {
            return if gpu.is_none() {
                Ok(self.clone())
            } else {
                self.check_whole("moving to a GPU").map(|()| self.clone())
            };
        }
        let moved = Self { gpu: gpu.clone(), ..self.clone() };
        match &gpu {
            Some(gpu) => moved.on(gpu).map(|_| ())?,
            None => {
                return Ok(Self {
                    rows: OnceLock::from(self.host_rows()?),
                    device_rows: OnceLock::new(),
                    device_columns: OnceLock::new(),
                    row_tiles: Arc::new(moved.row_tiles.on_host()),
                    column_tiles: Arc::new(moved.column_tiles.on_host()),
                    ..moved
                });
            }
        }
        Ok(moved)
    }

    /// The GPU that the matrix is stored on; `None` on the host.
    pub(crate) fn gpu(&self) -> Option<&Gpu> {
        self.gpu.as_ref()
    }

    /// Wraps rows that were built on a device, and the transpose if it was built too.
    #[inline(never)]
    pub(crate) fn on_device(rows: DeviceCsr<T>, columns: Option<DeviceCsr<T>>) -> Self {
        Self {
            gpu: Some(rows.gpu().clone()),
            device_columns: columns.map_or_else(OnceLock::new, |columns| OnceLock::from(Arc::new(columns))),
            ..Self::shaped((rows.nrows(), rows.ncols(), rows.nnz()))
        }
        .with_device_rows(rows)
    }

    /// The matrix on `gpu`, or as it is for `None`.
    pub(crate) fn placed(self, gpu: Option<Gpu>) -> Result<Self> {
        let Some(gpu) = gpu else { return Ok(self) };
        let moved = Self { gpu: Some(gpu.clone()), ..self };
        moved.on(&gpu)?;
        Ok(moved)
    }

    /// The rows and the columns on the host, as far as they are there. If neither is, the cheaper one is made.
    pub(crate) fn known_sides(&self) -> (Option<&Csr<T>>, Option<&Csr<T>>) {
        if self.rows.get().is_none() && self.columns.get().is_none() {
            match self.device_rows.get().is_none() && self.device_columns.get().is_some() {
                true => self.csr_transposed(),
                false => self.csr(),
            };
        }
        let rows = self.rows.get().map(|rows| &**rows);
        (rows, if self.symmetric { rows } else { self.columns.get().map(|columns| &**columns) })
    }

    fn with_device_rows(self, rows: DeviceCsr<T>) -> Self {
        Self { device_rows: OnceLock::from(Arc::new(rows)), ..self }
    }

    /// The rows on `gpu`. The first call copies them there, or transposes the columns there.
    pub(crate) fn on(&self, gpu: &Gpu) -> Result<Arc<DeviceCsr<T>>> {
        let there = |held: &OnceLock<Arc<DeviceCsr<T>>>| held.get().filter(|&rows| rows.gpu() == gpu).cloned();
        Self::kept(&self.device_rows, gpu, DeviceCsr::gpu, || match there(&self.device_columns) {
            Some(columns) => build::transpose(&columns),
            None if self.rows.get().is_none() && self.columns.get().is_some() => {
                build::transpose(&*self.transposed_on(gpu)?)
            }
            None => DeviceCsr::upload(gpu, &self.host_rows()?),
        })
    }

    /// The rows of the transpose on `gpu`. The first call transposes the matrix there, or copies the transpose there.
    pub(crate) fn transposed_on(&self, gpu: &Gpu) -> Result<Arc<DeviceCsr<T>>> {
        if self.symmetric {
            return self.on(gpu);
        }
        Self::kept(&self.device_columns, gpu, DeviceCsr::gpu, || match self.columns.get() {
            Some(columns) if self.device_rows.get().is_none_or(|rows| rows.gpu() != gpu) => {
                DeviceCsr::upload(gpu, columns)
            }
            _ => build::transpose(&*self.on(gpu)?),
        })
    }

    /// Returns the cached value in `place` if it is on `gpu`, or builds one. The result is cached unless `place` holds
    /// a value of another GPU.
    fn kept<D>(
        place: &OnceLock<Arc<D>>,
        gpu: &Gpu,
        of: fn(&D) -> &Gpu,
        make: impl FnOnce() -> Result<D>,
    ) -> Result<Arc<D>> {
        if let Some(kept) = place.get().filter(|&kept| of(kept) == gpu) {
            return Ok(kept.clone());
        }
        let made = Arc::new(make()?);
        let kept = place.get_or_init(|| made.clone());
        Ok(if of(kept) == gpu { kept.clone() } else { made })
    }

    /// The transpose, in O(1) time. It shares the storage; rows that are missing are built when they are first read.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::from_triples(2, 3, [(0, 2, 5u32), (1, 0, 7)])?;
    /// assert_eq!(a.transpose(), Matrix::from_triples(3, 2, [(2, 0, 5), (0, 1, 7)])?);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[inline(never)]
    pub fn transpose(&self) -> Self {
        if self.symmetric {
            return self.clone();
        }
        let (nrows, ncols, nnz) = self.shape;
        Self {
            rows: self.columns.clone(),
            columns: self.rows.clone(),
            gpu: self.gpu.clone(),
            device_rows: self.device_columns.clone(),
            device_columns: self.device_rows.clone(),
            format: self.format,
            row_tiles: self.column_tiles.clone(),
            column_tiles: self.row_tiles.clone(),
            shares: self.shares.as_ref().map(Shares::transposed),
            ..Self::shaped((ncols, nrows, nnz))
        }
    }

    /// The pattern of the matrix: the same entries without values. Its storage is shared.
    pub fn pattern(&self) -> Matrix<()> {
        let there = |held: &OnceLock<Arc<DeviceCsr<T>>>| {
            let here = held.get().filter(|held| self.gpu.as_ref() == Some(held.gpu()));
            here.and_then(|held| held.pattern().ok())
        };
        if let Some(rows) = there(&self.device_rows) {
            let made = Matrix::on_device(rows, there(&self.device_columns));
            return Matrix { symmetric: self.symmetric, format: self.format, ..made };
        }
        if let Some(shares) = &self.shares {
            let made = Matrix { shape: self.shape, symmetric: self.symmetric, ..Matrix::shaped(self.shape) };
            return Matrix { shares: Some(shares.pattern()), ..made };
        }
        let rows = self.csr().pattern();
        Matrix { symmetric: self.symmetric, format: self.format, gpu: self.gpu.clone(), ..Matrix::from_csr(rows) }
    }

    /// Whether the pattern is known to be that of the transpose.
    pub(crate) fn is_mirrored(&self) -> bool {
        self.symmetric || self.mirrored
    }

    pub(crate) fn set_mirrored(mut self, mirrored: bool) -> Self {
        self.mirrored = mirrored;
        self
    }

    pub(crate) fn set_symmetric(mut self, symmetric: bool) -> Self {
        self.symmetric = symmetric;
        self
    }
}

impl<T: Element> PartialEq for Matrix<T> {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (self.csr(), other.csr());
        (a.nrows(), a.ncols()) == (b.nrows(), b.ncols())
            && a.offsets() == b.offsets()
            && a.columns() == b.columns()
            && parallel::first(a.nnz(), &|mut entries| entries.find(|&k| a.values()[k].bits() != b.values()[k].bits()))
                .is_none()
    }
}
