//! A block-sparse matrix of bit tiles on a device: the arrays. [`tiling`](super::tiling) builds them and counts with them.

use crate::backend::cuda::Gpu;
use crate::backend::cuda::layout::row_classes::Classes;
use crate::backend::cuda::vector::from_bytes;
use crate::error::Result;
use crate::formats::{SIDE, Tiles};
use std::marker::PhantomData;
use std::sync::Arc;
use crate::kernels::Buffer;
use vxm_semiring::Element;

/// A matrix as 16 x 16 tiles of bits on a device, in the layout of [`Tiles`].
#[derive(Debug)]
pub struct DeviceTiles<A> {
    pub(super) gpu: Gpu,
    pub(super) shape: (usize, usize, usize),
    pub(super) count: usize,
    pub(super) longest: usize,
    pub(super) offsets: Buffer,
    pub(super) columns: Buffer,
    pub(super) bits: Buffer,
    pub(super) values: Buffer,
    /// The rows, classified by the number of tiles in their tile-row.
    pub(super) classes: Arc<Classes>,
    /// The list of long tile-rows, and its length.
    pub(super) long: (Buffer, usize),
    pub(super) marker: PhantomData<fn() -> A>,
}

impl<A: Element> DeviceTiles<A> {
    /// Whether most tile-rows have about the same number of tiles.
    pub(crate) fn are_uniform(&self) -> bool {
        self.classes.uniform_class.is_some()
    }

    /// Copies the matrix to the host.
    ///
    /// # Errors
    /// The device is lost.
    pub fn download(&self) -> Result<Tiles<A>> {
        let mut values = vec![0; self.values.len()];
        self.values.download_into(&mut values)?;
        let bits: Vec<u16> = self.bits.download(self.count * SIDE)?;
        let (bits, _) = bits.as_chunks::<SIDE>();
        let weights = if size_of::<A>() > 0 { self.count * SIDE * SIDE } else { 0 };
        Ok(Tiles::from_parts(
            self.shape,
            self.offsets.download(self.tile_rows() + 1)?,
            self.columns.download(self.count)?,
            bits.to_vec(),
            from_bytes(&values, weights),
        ))
    }

    /// The device.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The number of stored tiles.
    pub fn tiles(&self) -> usize {
        self.count
    }

    /// The mean number of entries of a stored tile.
    pub fn fill(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.shape.2 as f64 / self.count as f64 }
    }

    pub(crate) fn values_address(&self) -> u64 {
        self.values.address()
    }

    pub(super) fn tile_rows(&self) -> usize {
        self.shape.0.div_ceil(SIDE)
    }
}
