//! A vector on a device.

use super::Gpu;
use crate::error::{Error, Result};
use crate::formats::bitmap::words;
use crate::formats::{Bitmap, Store};
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};
use vxm_kernels::Buffer;
use vxm_semiring::Element;

/// A vector on a device: values, and a bit for each place unless all are present, laid out as [`Bitmap`]'s. Cloning shares the
/// storage; a write makes it its own first.
#[derive(Debug, Clone)]
pub struct DeviceVector<T> {
    gpu: Gpu,
    len: usize,
    pub(super) values: Arc<Buffer>,
    pub(super) bits: Option<Arc<Buffer>>,
    pub(super) count: OnceLock<usize>,
    of: PhantomData<fn() -> T>,
}

impl<T: Element> DeviceVector<T> {
    /// A vector of `len` places with whatever values; with bits, all of them 0, if `partial`.
    pub(super) fn fresh(gpu: &Gpu, len: usize, partial: bool) -> Result<Self> {
        Self::over(gpu, len, partial.then(|| gpu.zeroed(words(len) * 8)).transpose()?)
    }

    /// The same with bits, if `partial`, that a kernel will write, all of them.
    pub(super) fn unwritten(gpu: &Gpu, len: usize, partial: bool) -> Result<Self> {
        Self::over(gpu, len, partial.then(|| gpu.alloc(words(len) * 8)).transpose()?)
    }

    /// A full vector of these values.
    pub(super) fn dense(gpu: &Gpu, values: Buffer, len: usize) -> Self {
        let values = Arc::new(values);
        Self { gpu: gpu.clone(), len, values, bits: None, count: OnceLock::from(len), of: PhantomData }
    }

    fn over(gpu: &Gpu, len: usize, bits: Option<Buffer>) -> Result<Self> {
        let values = Arc::new(gpu.alloc(len * size_of::<T>())?);
        // no bits mean "full": an empty vector is
        let bits = bits.map(Arc::new);
        Ok(Self { gpu: gpu.clone(), len, values, bits, count: OnceLock::new(), of: PhantomData })
    }

    /// A copy of a host's vector.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn upload(gpu: &Gpu, store: &Store<T>) -> Result<Self> {
        let bitmap = match store {
            Store::Bitmap(bitmap) => bitmap,
            Store::Sparse(_) => &store.clone().into_bitmap(),
        };
        let values = Arc::new(gpu.upload(&to_bytes(bitmap.values()))?);
        let bits = bitmap.bits().map(|bits| gpu.upload_slice(bits)).transpose()?.map(Arc::new);
        let count = OnceLock::from(bitmap.nvals());
        Ok(Self { gpu: gpu.clone(), len: bitmap.len(), values, bits, count, of: PhantomData })
    }

    /// A copy on the host.
    ///
    /// # Errors
    /// The device is lost.
    pub fn download(&self) -> Result<Store<T>> {
        let values = |from: &Self| -> Result<Vec<T>> {
            let mut bytes = vec![0; self.len * size_of::<T>()];
            from.values.download_into(&mut bytes)?;
            Ok(from_bytes(&bytes, self.len))
        };
        Ok(Store::Bitmap(match &self.bits {
            None => Bitmap::dense(values(self)?),
            Some(bits) => {
                let bits: Vec<u64> = bits.download(words(self.len))?;
                // absent places were never written: zeros are read in their stead
                let held = match super::run::filled(self) {
                    Err(Error::Device(vxm_kernels::Error::DeviceMemory { .. })) => {
                        let present = |i: usize| bits[i / 64] >> (i % 64) & 1 == 1;
                        let all = values(self)?.into_iter().enumerate();
                        all.map(|(i, value)| if present(i) { value } else { T::ZERO }).collect()
                    }
                    filled => values(&filled?)?,
                };
                Bitmap::new(held, bits)
            }
        }))
    }

    /// The indices of the elements, ascending.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn indices(&self) -> Result<Vec<u32>> {
        match super::compact::indices(self)? {
            (None, n) => Ok((0..n as u32).collect()),
            (Some(list), count) => Ok(list.download(count)?),
        }
    }

    /// The device.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The vector's length.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the vector has length 0.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// One that holds `value` at each place, where its bytes are alike, so that the driver writes them: that takes the host half of what a
    /// kernel does. `None` where they differ.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn filled(gpu: &Gpu, len: usize, value: T) -> Result<Option<Self>> {
        let bytes = &to_bytes(&[value])[..];
        if bytes.is_empty() || bytes.iter().any(|&byte| byte != bytes[0]) {
            return Ok(None);
        }
        let mut values = gpu.alloc(len * size_of::<T>())?;
        values.fill(bytes[0])?;
        Ok(Some(Self::dense(gpu, values, len)))
    }

    /// The number of elements, if it was counted before.
    pub(crate) fn known_count(&self) -> Option<usize> {
        if self.bits.is_none() { Some(self.len) } else { self.count.get().copied() }
    }

    /// The number of elements; counted on the device, and read back, once.
    ///
    /// # Errors
    /// The device is lost.
    pub fn nvals(&self) -> Result<usize> {
        if let Some(&count) = self.count.get() {
            return Ok(count);
        }
        let count = match &self.bits {
            None => self.len,
            Some(bits) => match super::run::count_bits(&self.gpu, bits, self.len) {
                // a full device still tells
                Err(Error::Device(vxm_kernels::Error::DeviceMemory { .. })) => {
                    bits.download::<u64>(words(self.len))?.iter().map(|word| word.count_ones() as usize).sum()
                }
                counted => counted?,
            },
        };
        Ok(*self.count.get_or_init(|| count))
    }

    /// The same places with other bits of presence.
    pub(super) fn emptied(self, bits: Buffer) -> Self {
        Self { bits: Some(Arc::new(bits)), count: OnceLock::new(), ..self }
    }

    /// Other elements at the same places, `count` of them.
    pub(super) fn beside<U: Element>(&self, values: Buffer, count: usize) -> DeviceVector<U> {
        let (gpu, bits) = (self.gpu.clone(), self.bits.clone());
        DeviceVector {
            gpu,
            len: self.len,
            values: Arc::new(values),
            bits,
            count: OnceLock::from(count),
            of: PhantomData,
        }
    }

    pub(super) fn values_address(&self) -> u64 {
        self.values.address()
    }

    pub(super) fn bits_address(&self) -> u64 {
        self.bits.as_ref().map_or(0, |bits| bits.address())
    }

    /// Gives it values of its own, not written yet, if others read those that it has: returns these, for a kernel to begin with.
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

    /// Takes back the values that it had before it was renewed.
    pub fn restore(&mut self, before: Arc<Buffer>) {
        self.values = before;
    }

    /// Makes the values its own: nobody else reads them, or will see them change.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn own_values(&mut self) -> Result<()> {
        self.own(false)
    }

    /// The same vector with storage of its own, and with bits if `partial`.
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
                // zeros above the last place
                let last = (1u64 << (self.len % 64)) - 1;
                bits.upload_at(self.len / 64 * 8, &last.to_le_bytes())?;
            }
            self.bits = Some(Arc::new(bits));
        }
        self.count = OnceLock::new();
        Ok(())
    }
}

/// Elements as their bytes.
pub(super) fn to_bytes<T: Element>(values: &[T]) -> Vec<u8> {
    let size = size_of::<T>();
    let mut bytes = vec![0; size_of_val(values)];
    if size > 0 {
        for (chunk, value) in bytes.chunks_exact_mut(size).zip(values) {
            chunk.copy_from_slice(&value.bits().to_le_bytes()[..size]);
        }
    }
    bytes
}

/// `count` elements of their bytes.
pub(super) fn from_bytes<T: Element>(bytes: &[u8], count: usize) -> Vec<T> {
    let size = size_of::<T>();
    if size == 0 {
        return vec![T::ZERO; count];
    }
    let element = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..size].copy_from_slice(chunk);
        T::from_bits(u64::from_le_bytes(word))
    };
    bytes.chunks_exact(size).map(element).collect()
}
