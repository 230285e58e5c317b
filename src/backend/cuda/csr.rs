//! A sparse matrix on a device, in compressed rows.

use crate::backend::cuda::{DeviceVector, Gpu};
use crate::backend::cuda::budget::{place_columns, upload_entries};
use crate::backend::cuda::layout::arrays::{Bins, HotColumns};
use crate::backend::cuda::layout::row_classes::Classes;
use crate::backend::cuda::vector::{from_bytes, to_bytes};
use crate::backend::tuning::tuning;
use crate::error::Result;
use crate::formats::Csr;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use crate::kernels::Buffer;
use vxm_semiring::Element;

/// A sparse matrix on a device, in the layout of [`Csr`].
///
/// It also caches what is computed at first use for faster products: renumbered columns, bins, and whether the entries are scattered.
/// An inner `None` means that the arrangement was tried and doesn't pay, or that there was no memory for it.
#[derive(Debug)]
pub struct DeviceCsr<A> {
    gpu: Gpu,
    nrows: usize,
    ncols: usize,
    nnz: usize,
    pub(super) offsets: Arc<Buffer>,
    /// The offsets in 32 bits, if they fit. They halve the bytes of offsets that a product over short rows reads.
    pub(super) short_offsets: Option<Arc<Buffer>>,
    pub(super) columns: Arc<Buffer>,
    pub(super) values: Buffer,
    pub(super) classes: Arc<Classes>,
    /// The columns renumbered by frequency.
    pub(super) hot_columns: OnceLock<Option<HotColumns>>,
    /// The entries in bins.
    pub(super) bins: OnceLock<Option<Arc<Bins>>>,
    /// The answer of [`scattered`](Self::scattered).
    pub(super) scattered: OnceLock<bool>,
    /// The number of products so far.
    uses: AtomicU32,
    marker: PhantomData<fn() -> A>,
}

impl<A: Element> DeviceCsr<A> {
    /// Copies a matrix from the host. Columns that the device has no room for stay there.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    #[inline(never)]
    pub fn upload(gpu: &Gpu, csr: &Arc<Csr<A>>) -> Result<Self> {
        let short_offsets = offsets_in_32_bits(gpu, csr.offsets())?;
        Ok(Self {
            gpu: gpu.clone(),
            short_offsets,
            nrows: csr.nrows(),
            ncols: csr.ncols(),
            nnz: csr.nnz(),
            offsets: Arc::new(gpu.upload_slice(csr.offsets())?),
            classes: Arc::new(Classes::new(gpu, csr.offsets())?),
            columns: Arc::new(place_columns(gpu, csr)?),
            values: upload_entries(gpu, &to_bytes(csr.values()), csr.nrows())?,
            hot_columns: OnceLock::new(),
            bins: OnceLock::new(),
            scattered: OnceLock::new(),
            uses: AtomicU32::new(0),
            marker: PhantomData,
        })
    }

    /// A matrix of arrays that are on the device already. The row classes and 32-bit offsets are computed there.
    pub(super) fn from_parts(
        gpu: &Gpu,
        (nrows, ncols, nnz): (usize, usize, usize),
        offsets: impl Into<Arc<Buffer>>,
        columns: impl Into<Arc<Buffer>>,
        values: Buffer,
    ) -> Result<Self> {
        let (offsets, columns) = (offsets.into(), columns.into());
        let (classes, short_offsets) = Classes::from_device(gpu, &offsets, nrows, nnz)?;
        let classes = Arc::new(classes);
        Ok(Self {
            gpu: gpu.clone(),
            nrows,
            ncols,
            nnz,
            offsets,
            short_offsets,
            columns,
            values,
            classes,
            hot_columns: OnceLock::new(),
            bins: OnceLock::new(),
            scattered: OnceLock::new(),
            uses: AtomicU32::new(0),
            marker: PhantomData,
        })
    }

    /// A matrix of `values` with the same pattern. The storage of the pattern is shared.
    pub(super) fn with_values<B: Element>(&self, values: Buffer) -> DeviceCsr<B> {
        DeviceCsr {
            gpu: self.gpu.clone(),
            nrows: self.nrows,
            ncols: self.ncols,
            nnz: self.nnz,
            offsets: self.offsets.clone(),
            short_offsets: self.short_offsets.clone(),
            columns: self.columns.clone(),
            values,
            classes: self.classes.clone(),
            hot_columns: OnceLock::new(),
            bins: OnceLock::new(),
            scattered: OnceLock::new(),
            uses: AtomicU32::new(0),
            marker: PhantomData,
        }
    }

    /// The pattern, without values. Its storage is shared.
    ///
    /// # Errors
    /// The device is lost.
    pub fn pattern(&self) -> Result<DeviceCsr<()>> {
        Ok(self.with_values(self.gpu.alloc(0)?))
    }

    /// Copies the matrix to the host.
    ///
    /// # Errors
    /// The device is lost.
    pub fn download(&self) -> Result<Csr<A>> {
        let mut values = vec![0; self.nnz * size_of::<A>()];
        self.values.download_into(&mut values)?;
        let (offsets, columns) = (self.offsets.download(self.nrows + 1)?, self.columns.download(self.nnz)?);
        if self.gpu.is_dry_run() {
            // a dry run reads zeros, which are no valid offsets
            return Csr::empty(self.nrows, self.ncols);
        }
        Ok(Csr::from_parts(self.nrows, self.ncols, offsets, columns, from_bytes(&values, self.nnz)))
    }

    /// Row offsets, columns and values as vectors. Storage on the device is shared.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn vectors(&self) -> Result<(DeviceVector<u64>, DeviceVector<u32>, DeviceVector<A>)> {
        let copied = |buffer: &Buffer| -> Result<Buffer> {
            let mut copy = self.gpu.alloc(buffer.len())?;
            copy.copy_from(buffer, buffer.len())?;
            Ok(copy)
        };
        let columns = if self.columns.is_on_host() { Arc::new(copied(&self.columns)?) } else { self.columns.clone() };
        Ok((
            DeviceVector::over(self.offsets.clone(), self.nrows + 1),
            DeviceVector::over(columns, self.nnz),
            DeviceVector::dense(&self.gpu, copied(&self.values)?, self.nnz),
        ))
    }

    /// The address of the offsets, in 32 bits if they fit, and their C++ type.
    pub(super) fn device_offsets(&self) -> (u64, &'static str) {
        match &self.short_offsets {
            Some(short) => (short.address(), "vxm::u32"),
            None => (self.offsets.address(), "vxm::u64"),
        }
    }

    /// Whether the rows are skewed: they differ much in length.
    pub(crate) fn is_skewed(&self) -> bool {
        self.classes.uniform_class.is_none()
    }

    /// Counts a product with this matrix. Returns whether there were enough before it for a rearrangement of the entries to pay: that costs
    /// as much as a few products.
    pub fn is_used_often(&self) -> bool {
        self.uses.fetch_add(1, Ordering::Relaxed) >= tuning().arrange_after
    }

    /// The addresses of the 64-bit offsets and of the columns.
    pub fn addresses(&self) -> (u64, u64) {
        (self.offsets.address(), self.columns.address())
    }

    /// The device.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The number of rows.
    pub fn nrows(&self) -> usize {
        self.nrows
    }

    /// The number of entries of the longest row.
    pub fn longest(&self) -> usize {
        self.classes.longest
    }

    /// The first of the longest rows, and the number of entries of row 0. Both are 0 if there are no rows.
    pub fn ends(&self) -> (u32, usize) {
        (self.classes.longest_row, self.classes.first_length)
    }

    /// The number of columns.
    pub fn ncols(&self) -> usize {
        self.ncols
    }

    /// The number of entries.
    pub fn nnz(&self) -> usize {
        self.nnz
    }
}

/// A copy of `offsets` in 32 bits, if they fit.
fn offsets_in_32_bits(gpu: &Gpu, offsets: &[u64]) -> Result<Option<Arc<Buffer>>> {
    let short: Option<Vec<u32>> = offsets.iter().map(|&offset| u32::try_from(offset).ok()).collect();
    short.map(|short| Ok(Arc::new(gpu.upload_slice(&short)?))).transpose()
}
