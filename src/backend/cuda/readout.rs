//! A device vector read on the host: its elements, its indices, their number.

use crate::backend::cuda::vector::from_bytes;
use crate::backend::cuda::{DeviceVector, compact, terminals};
use crate::error::{Error, Result};
use crate::formats::bitmap::words;
use crate::formats::{Bitmap, Store};
use vxm_semiring::Element;

impl<T: Element> DeviceVector<T> {
    /// Copies the vector to the host.
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
                // values of absent elements are uninitialized: replace them by zeros, on the host if the device has no memory for it
                let held = match terminals::filled(self) {
                    Err(Error::Device(crate::kernels::Error::DeviceMemory { .. })) => {
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

    /// The indices of the elements, in ascending order.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn indices(&self) -> Result<Vec<u32>> {
        match compact::indices(self)? {
            (None, n) => Ok((0..n as u32).collect()),
            (Some(list), count) => Ok(list.download(count)?),
        }
    }

    /// The number of elements. The first call counts them on the device and reads the count back.
    ///
    /// # Errors
    /// The device is lost.
    pub fn nvals(&self) -> Result<usize> {
        if let Some(&count) = self.count.get() {
            return Ok(count);
        }
        let count = match &self.bits {
            None => self.len,
            Some(bits) => match terminals::count_bits(&self.gpu, bits, self.len) {
                // without device memory for the counter, count on the host
                Err(Error::Device(crate::kernels::Error::DeviceMemory { .. })) => {
                    bits.download::<u64>(words(self.len))?.iter().map(|word| word.count_ones() as usize).sum()
                }
                counted => counted?,
            },
        };
        Ok(*self.count.get_or_init(|| count))
    }
}
