//! The rows of a rank's share that a product folds anew, and the results that owners join.

use crate::backend::cuda::compact::{builder, launch_over};
use crate::backend::cuda::ranks::channel::{ChangedSlots, Channel, addresses, nothing};
use crate::backend::cuda::vector::Cells;
use crate::backend::cuda::{DeviceCsr, DeviceVector, Gpu};
use crate::error::Result;
use crate::formats::bitmap::words;
use crate::kernels::{Buffer, sources};
use vxm_semiring::{Element, Monoid};

impl Cells {
    /// Forgets which elements are present: all are.
    pub fn note_full(&mut self) {
        self.bits = None;
        self.count = std::sync::OnceLock::from(self.len);
    }
}

impl<T: Element> DeviceVector<T> {
    /// A vector of `len` places with zeros at the first `count`, and nothing elsewhere.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub(crate) fn zeros_first(gpu: &Gpu, len: usize, count: usize) -> Result<Self> {
        let (mut values, mut bits) = (gpu.alloc(len * size_of::<T>())?, gpu.zeroed(words(len) * 8)?);
        values.fill(0)?;
        bits.fill_at(0, count / 8, u8::MAX)?;
        if !count.is_multiple_of(8) {
            bits.upload_at(count / 8, &[(1 << (count % 8)) - 1])?;
        }
        Ok(Self::dense(gpu, values, len).with_presence(bits))
    }

    /// A set of `len` places with the bits in `bits`.
    fn of_bits(gpu: &Gpu, len: usize, bits: Buffer) -> Result<DeviceVector<()>> {
        Ok(DeviceVector::<()>::uninitialized(gpu, len, false)?.with_presence(bits))
    }
}

/// Rows that must be folded anew: a bit for each.
#[derive(Debug)]
pub struct StaleRows {
    bits: Buffer,
    rows: usize,
}

impl StaleRows {
    /// All of `rows` rows.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn all(gpu: &Gpu, rows: usize) -> Result<Self> {
        let mut all = Self { bits: gpu.alloc(words(rows) * 8)?, rows };
        all.mark_all()?;
        Ok(all)
    }

    /// Marks all rows.
    ///
    /// # Errors
    /// The device is lost.
    pub fn mark_all(&mut self) -> Result<()> {
        // bits past the last row are read by none
        Ok(self.bits.fill(u8::MAX)?)
    }

    /// Marks the rows that read slots that changed; and, if `own`, the rows of slots that are rows themselves. `readers` is the transpose of
    /// the rows.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    #[inline(never)]
    pub fn mark_readers<A: Element>(
        &mut self,
        readers: &DeviceCsr<A>,
        changed: &ChangedSlots,
        own: bool,
    ) -> Result<()> {
        let (gpu, count) = (readers.gpu(), changed.count);
        let rows = if own { self.rows as u64 } else { 0 };
        let (offsets, columns) = readers.addresses();
        let words = [changed.list.address(), count as u64, offsets, columns, rows, self.bits.address()];
        launch_over(&mut builder(gpu).with(sources::RANKS), "vxm::MarkReaders", &words, count * 32)
    }

    /// Takes the stale rows that are in `wanted`, or all.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn take(&mut self, wanted: Option<&DeviceVector<()>>) -> Result<DeviceVector<()>> {
        let gpu = self.bits.gpu().clone();
        let taken = gpu.alloc(words(self.rows) * 8)?;
        let wanted = wanted.map_or(0, |wanted| wanted.bits_address());
        let count = words(self.rows) * 2;
        let words = [wanted, self.bits.address(), taken.address(), count as u64];
        if count > 0 {
            launch_over(&mut builder(&gpu).with(sources::RANKS), "vxm::TakeStale", &words, count)?;
        }
        DeviceVector::<()>::of_bits(&gpu, self.rows, taken)
    }
}

/// Joins partial results to `count` results, in the order of ranks. `heard` holds them at the positions of `channel`, which read the places of
/// the results.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn join<T: Element, M: Monoid<T>>(
    channel: &Channel,
    heard: &DeviceVector<T>,
    count: usize,
    add: M,
) -> Result<DeviceVector<T>> {
    let gpu = heard.gpu();
    let out = nothing::<T>(gpu, count)?;
    for positions in channel.positions().iter().filter(|positions| !positions.is_empty()) {
        let mut kernel = builder(gpu).with(sources::RANKS);
        let t = kernel.element::<T>();
        let add = kernel.monoid::<T, M>(add);
        let ty = kernel.ty("vxm::JoinPartials", [add, t]);
        let ([values, bits], [out_values, out_bits]) = (addresses(heard), addresses(&out));
        let (first, len) = (positions.start as u64, positions.len() as u64);
        let words = [values, bits, channel.places_address(), first, len, out_values, out_bits];
        launch_over(&mut kernel, ty, &words, positions.len())?;
    }
    Ok(out)
}
