//! A vector on a device.

use crate::backend::cuda::Gpu;
use crate::error::Result;
use crate::formats::bitmap::words;
use crate::formats::{Store, bytes};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};
use crate::kernels::Buffer;
use vxm_semiring::Element;

/// A vector on a device: values, and a presence bitmap unless every index holds an element. The layout is that of [`Bitmap`](crate::formats::Bitmap).
///
/// Cloning shares the storage. A write copies shared storage first.
#[derive(Debug, Clone)]
pub struct DeviceVector<T> {
    cells: Cells,
    marker: PhantomData<fn() -> T>,
}

/// The storage of a [`DeviceVector`], whatever the type of its elements. What needs no more than their size is compiled once.
#[derive(Debug, Clone)]
pub struct Cells {
    pub(super) gpu: Gpu,
    pub(super) len: usize,
    /// The bytes of an element.
    pub(super) size: usize,
    pub(super) values: Arc<Buffer>,
    pub(super) bits: Option<Arc<Buffer>>,
    pub(super) count: OnceLock<usize>,
}

impl<T> Deref for DeviceVector<T> {
    type Target = Cells;
    #[inline]
    fn deref(&self) -> &Cells {
        &self.cells
    }
}

impl<T> DerefMut for DeviceVector<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Cells {
        &mut self.cells
    }
}

impl<T: Element> DeviceVector<T> {
    /// A vector of length `len` with uninitialized values. If `partial`, it has a presence bitmap of zeros; otherwise it is full.
    pub(super) fn fresh(gpu: &Gpu, len: usize, partial: bool) -> Result<Self> {
        Ok(Self::of(Cells::fresh(gpu, len, size_of::<T>(), partial)?))
    }

    /// A vector of length `len` with uninitialized values. If `partial`, it has an uninitialized presence bitmap, and the caller's kernel
    /// must write every word of it.
    pub(super) fn uninitialized(gpu: &Gpu, len: usize, partial: bool) -> Result<Self> {
        Ok(Self::of(Cells::uninitialized(gpu, len, size_of::<T>(), partial)?))
    }

    /// A full vector over `values`, which holds `len` elements.
    pub(super) fn dense(gpu: &Gpu, values: Buffer, len: usize) -> Self {
        Self::of(Cells::new(gpu, (len, size_of::<T>()), values, None, OnceLock::from(len)))
    }

    /// A full vector of the first `len` elements in `values`.
    pub(super) fn over(values: Arc<Buffer>, len: usize) -> Self {
        let gpu = values.gpu().clone();
        Self::of(Cells { gpu, len, size: size_of::<T>(), values, bits: None, count: OnceLock::from(len) })
    }

    /// A vector over storage for elements of this size.
    fn of(cells: Cells) -> Self {
        debug_assert_eq!(cells.size, size_of::<T>());
        Self { cells, marker: PhantomData }
    }

    /// Copies a vector from the host.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    #[inline(never)]
    pub fn upload(gpu: &Gpu, store: &Store<T>) -> Result<Self> {
        let bitmap = match store {
            Store::Bitmap(bitmap) => bitmap,
            Store::Sparse(_) => &store.clone().into_bitmap(),
        };
        let shape = (bitmap.len(), size_of::<T>());
        Ok(Self::of(Cells::upload(gpu, shape, &to_bytes(bitmap.values()), bitmap.bits(), bitmap.nvals())?))
    }

    /// A full vector of `value`, or `None` if the bytes of `value` differ. The driver's `memset` writes equal bytes, which costs the host
    /// less than a kernel launch.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn filled(gpu: &Gpu, len: usize, value: T) -> Result<Option<Self>> {
        Ok(Cells::filled(gpu, len, &to_bytes(&[value]))?.map(Self::of))
    }

    /// The vector with `bits` as its presence bitmap.
    pub(super) fn with_presence(mut self, bits: Buffer) -> Self {
        (self.bits, self.count) = (Some(Arc::new(bits)), OnceLock::new());
        self
    }

    /// A vector of `values` with the same presence bitmap, which has `count` set bits.
    pub(super) fn with_values<U: Element>(&self, values: Buffer, count: usize) -> DeviceVector<U> {
        let mut cells =
            Cells::new(&self.gpu, (self.len, size_of::<U>()), values, None, OnceLock::from(count));
        cells.bits = self.bits.clone();
        DeviceVector::of(cells)
    }

    /// The device.
    pub fn gpu(&self) -> &Gpu {
        &self.cells.gpu
    }

    /// The vector's length.
    pub fn len(&self) -> usize {
        self.cells.len
    }

    /// Whether the vector has length 0.
    pub fn is_empty(&self) -> bool {
        self.cells.len == 0
    }
}

impl Cells {
    fn new(
        gpu: &Gpu,
        (len, size): (usize, usize),
        values: Buffer,
        bits: Option<Buffer>,
        count: OnceLock<usize>,
    ) -> Self {
        Self { gpu: gpu.clone(), len, size, values: Arc::new(values), bits: bits.map(Arc::new), count }
    }

    fn fresh(gpu: &Gpu, len: usize, size: usize, partial: bool) -> Result<Self> {
        let bits = if partial { Some(gpu.zeroed(words(len) * 8)?) } else { None };
        Ok(Self::new(gpu, (len, size), gpu.alloc(len * size)?, bits, OnceLock::new()))
    }

    fn uninitialized(gpu: &Gpu, len: usize, size: usize, partial: bool) -> Result<Self> {
        let bits = if partial { Some(gpu.alloc(words(len) * 8)?) } else { None };
        Ok(Self::new(gpu, (len, size), gpu.alloc(len * size)?, bits, OnceLock::new()))
    }

    fn upload(gpu: &Gpu, shape: (usize, usize), values: &[u8], bits: Option<&[u64]>, count: usize) -> Result<Self> {
        let values = gpu.upload(values)?;
        let bits = bits.map(|bits| gpu.upload_slice(bits)).transpose()?;
        Ok(Self::new(gpu, shape, values, bits, OnceLock::from(count)))
    }

    fn filled(gpu: &Gpu, len: usize, bytes: &[u8]) -> Result<Option<Self>> {
        if bytes.is_empty() || bytes.iter().any(|&byte| byte != bytes[0]) {
            return Ok(None);
        }
        let mut values = gpu.alloc(len * bytes.len())?;
        values.fill(bytes[0])?;
        Ok(Some(Self::new(gpu, (len, bytes.len()), values, None, OnceLock::from(len))))
    }

    /// The number of elements, if it is known without a readback.
    pub(crate) fn known_count(&self) -> Option<usize> {
        if self.bits.is_none() { Some(self.len) } else { self.count.get().copied() }
    }

    pub(crate) fn values_address(&self) -> u64 {
        self.values.address()
    }

    /// The address of the values, for other libraries: see [`Buffer::lend`].
    ///
    /// # Errors
    /// The device is lost.
    pub(crate) fn lend(&self) -> Result<u64> {
        Ok(self.values.lend()?)
    }

    pub(super) fn bits_address(&self) -> u64 {
        self.bits.as_ref().map_or(0, |bits| bits.address())
    }

    /// Replaces shared values by a new, uninitialized buffer, and returns the old one for the kernel's initial state. Returns `None`, and
    /// changes nothing, if the values aren't shared.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn renew(&mut self) -> Result<Option<Arc<Buffer>>> {
        if Arc::strong_count(&self.values) == 1 {
            return Ok(None);
        }
        let fresh = Arc::new(self.gpu.alloc(self.values.len())?);
        Ok(Some(std::mem::replace(&mut self.values, fresh)))
    }

    /// Restores `before`, the values that [`renew`](Self::renew) returned.
    pub fn restore(&mut self, before: Arc<Buffer>) {
        self.values = before;
    }

    /// Copies shared storage, so that no other vector sees a later write.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn own_values(&mut self) -> Result<()> {
        self.own(false)
    }

    /// Copies shared storage. If `partial`, it also makes a presence bitmap of ones where there is none. The count is forgotten, since the
    /// caller is about to write.
    pub(super) fn own(&mut self, partial: bool) -> Result<()> {
        if Arc::strong_count(&self.values) > 1 {
            self.values = Arc::new(self.values.copy()?);
        }
        if let Some(bits) = &self.bits {
            if Arc::strong_count(bits) > 1 {
                self.bits = Some(Arc::new(bits.copy()?));
            }
        } else if partial {
            let mut bits = self.gpu.alloc(words(self.len) * 8)?;
            bits.fill(u8::MAX)?;
            if !self.len.is_multiple_of(64) {
                // bits above the last index are zero
                let last = (1u64 << (self.len % 64)) - 1;
                bits.upload_at(self.len / 64 * 8, &last.to_le_bytes())?;
            }
            self.bits = Some(Arc::new(bits));
        }
        self.count = OnceLock::new();
        Ok(())
    }
}

/// The bytes of `values`, little-endian, `size_of::<T>()` each.
#[inline(never)]
pub(super) fn to_bytes<T: Element>(values: &[T]) -> Vec<u8> {
    let size = size_of::<T>();
    let mut bytes = vec![0; size_of_val(values)];
    if size > 0 {
        for (chunk, value) in bytes.chunks_exact_mut(size).zip(values) {
            chunk.copy_from_slice(&value.wide_bits().to_le_bytes()[..size]);
        }
    }
    bytes
}

/// The `count` elements that [`to_bytes`] made `bytes` of.
pub(super) fn from_bytes<T: Element>(bytes: &[u8], count: usize) -> Vec<T> {
    let size = size_of::<T>();
    if size == 0 {
        return vec![T::ZERO; count];
    }
    bytes.chunks_exact(size).map(bytes::element).collect()
}
