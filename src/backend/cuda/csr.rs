//! A matrix on a device, and its rows by degree.

use super::Gpu;
use super::vector::{from_bytes, to_bytes};
use crate::error::Result;
use crate::formats::Csr;
use std::marker::PhantomData;
use std::sync::Arc;
use vxm_kernels::Buffer;
use vxm_semiring::Element;

/// Rows of this many entries and more are folded by a warp (cuMIS, section 3.2).
pub const WARP_ROW: usize = 32;
/// Rows of this many entries and more are folded by a block.
pub const BLOCK_ROW: usize = 1024;

/// The rows that a thread, a warp and a block folds each: lists, or all rows for the thread where `lists` is empty.
#[derive(Debug)]
pub(super) struct Classes {
    pub(super) lists: Vec<(Buffer, usize)>,
    /// The length of the longest row.
    pub(super) longest: usize,
}

impl Classes {
    /// Of the rows that begin at `offsets`.
    fn new(gpu: &Gpu, offsets: &[u64]) -> Result<Self> {
        Self::of(gpu, offsets.windows(2).map(|ends| (ends[1] - ends[0]) as usize))
    }

    /// Of rows of these lengths.
    pub(super) fn of(gpu: &Gpu, lengths: impl Iterator<Item = usize>) -> Result<Self> {
        let mut rows = [Vec::new(), Vec::new(), Vec::new()];
        let mut longest = 0;
        for (i, length) in lengths.enumerate() {
            longest = longest.max(length);
            rows[usize::from(length >= WARP_ROW) + usize::from(length >= BLOCK_ROW)].push(i as u32);
        }
        if longest < WARP_ROW {
            return Ok(Self { lists: Vec::new(), longest });
        }
        let lists = rows.iter().map(|rows| Ok((gpu.upload_slice(rows)?, rows.len()))).collect::<Result<_>>()?;
        Ok(Self { lists, longest })
    }
}

/// Compressed rows on a device, laid out as [`Csr`]'s.
#[derive(Debug)]
pub struct DeviceCsr<A> {
    gpu: Gpu,
    nrows: usize,
    ncols: usize,
    nnz: usize,
    pub(super) offsets: Buffer,
    pub(super) columns: Buffer,
    pub(super) values: Buffer,
    pub(super) classes: Arc<Classes>,
    of: PhantomData<fn() -> A>,
}

impl<A: Element> DeviceCsr<A> {
    /// A copy of a host's matrix.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn upload(gpu: &Gpu, csr: &Csr<A>) -> Result<Self> {
        Ok(Self {
            gpu: gpu.clone(),
            nrows: csr.nrows(),
            ncols: csr.ncols(),
            nnz: csr.nnz(),
            offsets: gpu.upload_slice(csr.offsets())?,
            columns: gpu.upload_slice(csr.columns())?,
            values: gpu.upload(&to_bytes(csr.values()))?,
            classes: Arc::new(Classes::new(gpu, csr.offsets())?),
            of: PhantomData,
        })
    }

    /// Of arrays that are on the device already.
    pub(super) fn of(
        gpu: &Gpu,
        (nrows, ncols, nnz): (usize, usize, usize),
        offsets: Buffer,
        columns: Buffer,
        values: Buffer,
    ) -> Result<Self> {
        let classes = Arc::new(Classes::new(gpu, &offsets.download::<u64>(nrows + 1)?)?);
        Ok(Self { gpu: gpu.clone(), nrows, ncols, nnz, offsets, columns, values, classes, of: PhantomData })
    }

    /// A copy on the host.
    ///
    /// # Errors
    /// The device is lost.
    pub fn download(&self) -> Result<Csr<A>> {
        let mut values = vec![0; self.nnz * size_of::<A>()];
        self.values.download_into(&mut values)?;
        let (offsets, columns) = (self.offsets.download(self.nrows + 1)?, self.columns.download(self.nnz)?);
        Ok(Csr::from_parts(self.nrows, self.ncols, offsets, columns, from_bytes(&values, self.nnz)))
    }

    /// The device.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
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
        self.nnz
    }
}
