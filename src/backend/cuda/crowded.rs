//! Columns by how often they stand in a matrix: where a few stand in most entries, what a product reads of them fits a cache if it lies
//! together. The entries stay where they are, so every sum has the same order.

use super::compact::{composer, step};
use super::{DeviceCsr, DeviceVector, sort};
use crate::error::{Error, Result};
use vxm_kernels::{Buffer, sources};
use vxm_semiring::Element;

/// Columns that a multiprocessor's cache holds the elements of, about.
const NEAR: u64 = 1 << 15;

/// A matrix' columns renumbered, the most frequent first.
#[derive(Debug)]
pub struct Crowded {
    /// The columns in the new order, by their old numbers.
    pub(super) order: Buffer,
    /// Each entry's column, by its new number.
    pub(super) columns: Buffer,
}

impl<A: Element> DeviceCsr<A> {
    /// The columns renumbered, if most entries stand in few of them, and there is memory for it.
    ///
    /// # Errors
    /// The device is lost.
    pub fn crowded(&self) -> Result<Option<&Crowded>> {
        // rows of one length, or vectors that fit the cache anyhow, gain nothing
        if !self.is_skewed() || (self.ncols() as u64) < 4 * NEAR {
            return Ok(None);
        }
        if let Some(known) = self.crowded.get() {
            return Ok(known.as_ref());
        }
        let found = match self.crowd() {
            // products are slower without, which is no reason to fail; asked once, because asking a full device takes long
            Err(Error::Device(vxm_kernels::Error::DeviceMemory { .. })) => None,
            found => found?,
        };
        Ok(self.crowded.get_or_init(|| found).as_ref())
    }

    fn crowd(&self) -> Result<Option<Crowded>> {
        let (gpu, entries, n) = (self.gpu(), self.nnz(), self.ncols());
        let mut counts = gpu.alloc(n * 4)?;
        counts.fill(u8::MAX)?;
        let mut tools = composer(gpu).with(sources::CROWDED);
        step(&mut tools, "vxm::CountColumns", &[self.columns.address(), entries as u64, counts.address()], entries)?;
        let ranks = sort::rank(&DeviceVector::<u32>::dense(gpu, counts, n), "vxm::Unsigned")?;
        let (order, columns, near) = (gpu.alloc(n * 4)?, gpu.alloc(entries * 4)?, gpu.zeroed(8)?);
        let words =
            [self.columns.address(), entries as u64, ranks.values_address(), columns.address(), NEAR, near.address()];
        step(&mut tools, "vxm::Renumber", &words, entries)?;
        if near.download::<u64>(1)?[0] < entries as u64 / 2 {
            return Ok(None);
        }
        step(&mut tools, "vxm::Invert", &[ranks.values_address(), n as u64, order.address()], n)?;
        Ok(Some(Crowded { order, columns }))
    }
}
