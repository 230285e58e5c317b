//! Columns by how often they stand in a matrix: where a few stand in most entries, what a product reads of them fits a cache if it lies
//! together. The entries stay where they are, so every sum has the same order.

use super::compact::{composer, step};
use super::compose::{Composer, Node};
use super::{DeviceCsr, DeviceVector, run, sort};
use crate::error::{Error, Result};
use std::sync::Arc;
use vxm_kernels::{Buffer, sources};
use vxm_semiring::Element;

/// Columns that are moved together: a multiprocessor's cache holds the elements of so many, about.
pub(super) const NEAR: u64 = 1 << 16;
/// One entry in so many must stand in them.
const SHARE: u64 = 8;
/// Products over a matrix before its columns are renumbered: it takes as long as a few of them.
const USES: u32 = 8;

/// A matrix' columns renumbered: the most frequent ones, and after them all as they lie.
#[derive(Debug)]
pub struct Crowded {
    /// The most frequent columns, by their old numbers.
    pub(super) order: Buffer,
    /// Each entry's column, by its new number.
    pub(super) columns: Buffer,
}

/// The elements of a view at the columns that stand most often in `rows`, together, if it has those renumbered and the view is full.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn near<T: Element, A: Element>(
    mut kernel: Composer,
    node: &Node,
    rows: &Arc<DeviceCsr<A>>,
) -> Result<Option<DeviceVector<T>>> {
    let known = rows.crowded.get().and_then(Option::as_ref);
    let Some(crowded) = known.filter(|_| node.full) else { return Ok(None) };
    kernel.push(crowded.order.address());
    kernel.keep(rows.clone());
    let together = Node::new(format!("vxm::Extract<{}>", node.ty), true);
    Ok(Some(run::eval(kernel, &together, NEAR as usize)?))
}

impl<A: Element> DeviceCsr<A> {
    /// The columns renumbered, if many entries stand in few of them, the matrix was used often enough for that to pay, and there is
    /// memory for it.
    ///
    /// # Errors
    /// The device is lost.
    pub fn crowded(&self) -> Result<Option<&Crowded>> {
        // rows of one length, or vectors that fit the cache anyhow, gain nothing
        if !self.is_skewed() || (self.ncols() as u64) < 2 * NEAR || self.count_use() < USES {
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
        if u32::try_from(n as u64 + NEAR).is_err() {
            return Ok(None);
        }
        let mut counts = gpu.alloc(n * 4)?;
        counts.fill(u8::MAX)?;
        let tools = composer(gpu).with(sources::CROWDED);
        step(&tools, "vxm::CountColumns", &[self.columns.address(), entries as u64, counts.address()], entries)?;
        let ranks = sort::rank(&DeviceVector::<u32>::dense(gpu, counts, n), "vxm::Unsigned")?;
        let (order, columns, near) = (gpu.alloc(NEAR as usize * 4)?, gpu.alloc(entries * 4)?, gpu.zeroed(8)?);
        let words =
            [self.columns.address(), entries as u64, ranks.values_address(), columns.address(), NEAR, near.address()];
        step(&tools, "vxm::Renumber", &words, entries)?;
        if near.download::<u64>(1)?[0] < entries as u64 / SHARE {
            return Ok(None);
        }
        step(&tools, "vxm::Invert", &[ranks.values_address(), n as u64, order.address(), NEAR], n)?;
        Ok(Some(Crowded { order, columns }))
    }
}
