//! A device vector read on the host: its elements, its indices, their number.

use crate::backend::cuda::vector::{Cells, from_bytes};
use crate::backend::cuda::{DeviceVector, compact, terminals};
use crate::error::{Error, Result};
use crate::formats::bitmap::{bit, words};
use crate::formats::{Bitmap, Store};
use vxm_semiring::Element;

impl<T: Element> DeviceVector<T> {
    /// Copies the vector to the host.
    ///
    /// # Errors
    /// The device is lost.
    #[inline(never)]
    pub fn download(&self) -> Result<Store<T>> {
        let (bytes, bits) = match &self.bits {
            None => return Ok(Store::Bitmap(Bitmap::dense(from_bytes(&self.value_bytes()?, self.len)))),
            // values of absent elements are uninitialized: replace them by zeros, on the host if the device has no memory for it
            Some(bits) => match terminals::filled(self) {
                Err(Error::Device(crate::kernels::Error::DeviceMemory { .. })) => {
                    let (mut bytes, bits) = (self.value_bytes()?, bits.download::<u64>(words(self.len))?);
                    self.zero_absent(&mut bytes, &bits);
                    (bytes, bits)
                }
                filled => (filled?.value_bytes()?, bits.download::<u64>(words(self.len))?),
            },
        };
        Ok(Store::Bitmap(Bitmap::new(from_bytes(&bytes, self.len), bits)))
    }
}

impl Cells {
    /// The bytes of the values, on the host.
    fn value_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.len * self.size];
        self.values.download_into(&mut bytes)?;
        Ok(bytes)
    }

    /// Replaces the bytes of absent elements by zeros.
    fn zero_absent(&self, bytes: &mut [u8], bits: &[u64]) {
        if self.size > 0 {
            let absent = bytes.chunks_exact_mut(self.size).enumerate().filter(|&(i, _)| !bit(bits, i));
            absent.for_each(|(_, value)| value.fill(0));
        }
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
