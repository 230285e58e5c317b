//! Memory of a device, and copies to and from it.

use std::ffi::c_void;

use cudarc::driver::sys::{self, CUresult};
use cudarc::driver::{DriverError, result as driver};

use crate::error::{Error, Result};
use crate::gpu::{Gpu, lock};
use crate::plain::{Plain, bytes_of};
use crate::reading::ROOM;

/// Memory of a [`Gpu`], freed on drop after all that was asked of the device before.
///
/// Of a length of 0 it has no memory and the address 0.
#[derive(Debug)]
pub struct Buffer {
    gpu: Gpu,
    address: sys::CUdeviceptr,
    len: usize,
}

impl Gpu {
    /// `bytes` bytes with whatever they hold. Aligned to 256 bytes.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceMemory`] if they are not to be had, after which smaller ones may be; [`Error::Lost`].
    pub fn alloc(&self, bytes: usize) -> Result<Buffer> {
        let address = if bytes == 0 { 0 } else { self.alloc_or_trim(bytes)? };
        Ok(Buffer { gpu: self.clone(), address, len: bytes })
    }

    /// `bytes` zeros.
    ///
    /// # Errors
    ///
    /// As for [`alloc`](Self::alloc).
    pub fn zeroed(&self, bytes: usize) -> Result<Buffer> {
        let mut buffer = self.alloc(bytes)?;
        buffer.fill(0)?;
        Ok(buffer)
    }

    /// A copy of `bytes`. Waits until they are read.
    ///
    /// # Errors
    ///
    /// As for [`alloc`](Self::alloc).
    pub fn upload(&self, bytes: &[u8]) -> Result<Buffer> {
        let mut buffer = self.alloc(bytes.len())?;
        buffer.upload_at(0, bytes)?;
        Ok(buffer)
    }

    /// A copy of `values`. Waits until they are read.
    ///
    /// # Errors
    ///
    /// As for [`alloc`](Self::alloc).
    pub fn upload_slice<T: Plain>(&self, values: &[T]) -> Result<Buffer> {
        self.upload(bytes_of(values))
    }

    /// Memory of the pool.
    fn alloc_or_trim(&self, bytes: usize) -> Result<sys::CUdeviceptr> {
        if let Some(rehearsal) = self.stand_in() {
            return rehearsal.alloc(bytes as u64, self.total()).ok_or_else(|| self.too_little(bytes));
        }
        // the driver is not asked for what no device has: sizes near 2^64 are refused as if they were mistakes
        if bytes as u64 > self.total() {
            return Err(self.too_little(bytes));
        }
        self.check_lost()?;
        let (size, spare) = {
            let mut spare = lock(self.spare());
            let size = spare.size(bytes);
            (size, spare.take(size))
        };
        if let Some(address) = spare {
            return Ok(address);
        }
        let handles = self.handles();
        // SAFETY: pool and stream are open
        let alloc = || unsafe { driver::mem_pool::alloc_async(handles.pool, size, handles.stream) };
        // what isn't had is not in use, as an error says
        self.call_or_trim("cuMemAllocFromPoolAsync", bytes, alloc).inspect(|_| lock(self.spare()).count(size))
    }

    /// Gives blocks back to the pool, after all that was asked of the device before.
    pub(crate) fn free(&self, blocks: impl IntoIterator<Item = sys::CUdeviceptr>) {
        if self.is_lost() {
            return;
        }
        let stream = self.handles().stream;
        for block in blocks {
            // SAFETY: allocated from the pool on this stream, and nobody's any more
            if let Err(error) = self.call("cuMemFreeAsync", || unsafe { driver::free_async(block, stream) }) {
                tracing::error!(%error, "device memory is not freed");
            }
        }
    }

    /// Calls the driver for what takes `bytes` of memory. What the pool holds for reuse may be in pieces too small, or be wanted
    /// outside of it, so where there is too little that is given back, and the call is made once more, before it fails.
    pub(crate) fn call_or_trim<T: Default>(
        &self,
        name: &'static str,
        bytes: usize,
        mut call: impl FnMut() -> Result<T, DriverError>,
    ) -> Result<T> {
        let mut attempt = || {
            self.call(name, || match call() {
                Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => Ok(None),
                answer => answer.map(Some),
            })
        };
        match attempt()? {
            Some(had) => return Ok(had),
            None if self.is_rehearsal() => return Ok(T::default()),
            None => self.trim()?,
        }
        attempt()?.ok_or_else(|| self.too_little(bytes))
    }

    /// That `bytes` are not to be had.
    pub(crate) fn too_little(&self, bytes: usize) -> Error {
        match self.memory() {
            Ok((free, total)) => Error::DeviceMemory { asked: bytes as u64, used: self.used(), free, total },
            Err(lost) => lost,
        }
    }
}

impl Buffer {
    /// Where it is, for a kernel's parameters. Valid as long as the buffer is.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device it is on.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Sets all bytes to 0.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] or [`Error::Driver`].
    pub fn fill_zero(&mut self) -> Result<()> {
        self.fill(0)
    }

    /// Sets all bytes to `byte`.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] or [`Error::Driver`].
    pub fn fill(&mut self, byte: u8) -> Result<()> {
        self.fill_at(0, self.len, byte)
    }

    /// Sets the `len` bytes from `first` on to `byte`.
    ///
    /// # Errors
    ///
    /// [`Error::Range`] if there are fewer, [`Error::Lost`] or [`Error::Driver`].
    pub fn fill_at(&mut self, first: usize, len: usize, byte: u8) -> Result<()> {
        let at = self.range(first, len)?;
        if len == 0 {
            return Ok(());
        }
        let stream = self.gpu.handles().stream;
        // SAFETY: the range was checked
        self.gpu.call("cuMemsetD8Async", || unsafe { driver::memset_d8_async(at, byte, len, stream) })
    }

    /// Copies `bytes` to the bytes from `first` on. Waits until they are read.
    ///
    /// # Errors
    ///
    /// [`Error::Range`] if they do not fit, [`Error::Lost`] or [`Error::Driver`].
    pub fn upload_at(&mut self, first: usize, bytes: &[u8]) -> Result<()> {
        let at = self.range(first, bytes.len())?;
        if bytes.is_empty() {
            return Ok(());
        }
        let stream = self.gpu.handles().stream;
        // SAFETY: the range was checked, and `bytes` stays until the wait below is over
        self.gpu.call("cuMemcpyHtoDAsync", || unsafe { driver::memcpy_htod_async(at, bytes, stream) })?;
        self.gpu.synchronize()
    }

    /// Copies the first `bytes` bytes of `from` to the first ones here.
    ///
    /// # Errors
    ///
    /// As for [`copy_range`](Self::copy_range).
    pub fn copy_from(&mut self, from: &Self, bytes: usize) -> Result<()> {
        self.copy_range(0, from, 0, bytes)
    }

    /// Copies `bytes` bytes of `from`, from `first` on, to those from `at` on here. From another device it goes by way of the host.
    ///
    /// # Errors
    ///
    /// [`Error::Range`] if they do not fit on either side, [`Error::Lost`] or [`Error::Driver`].
    pub fn copy_range(&mut self, at: usize, from: &Self, first: usize, bytes: usize) -> Result<()> {
        let (target, source) = (self.range(at, bytes)?, from.range(first, bytes)?);
        if bytes == 0 {
            return Ok(());
        }
        if self.gpu != from.gpu {
            return self.upload_at(at, &from.download_at::<u8>(first, bytes)?);
        }
        let stream = self.gpu.handles().stream;
        // SAFETY: both ranges were checked; two buffers do not overlap
        self.gpu.call("cuMemcpyDtoDAsync", || unsafe { driver::memcpy_dtod_async(target, source, bytes, stream) })
    }

    /// Another buffer with the same bytes.
    ///
    /// # Errors
    ///
    /// As for [`Gpu::alloc`].
    pub fn copy(&self) -> Result<Self> {
        let mut copy = self.gpu.alloc(self.len)?;
        copy.copy_from(self, self.len)?;
        Ok(copy)
    }

    /// Copies the first bytes to all of `bytes`, after all that was asked of the device before.
    ///
    /// # Errors
    ///
    /// [`Error::Range`] if the buffer is shorter; [`Error::Lost`], also for a kernel that failed before.
    pub fn download_into(&self, bytes: &mut [u8]) -> Result<()> {
        self.download_range(0, bytes)
    }

    /// Copies the bytes from `first` on to all of `bytes`, after all that was asked of the device before.
    ///
    /// # Errors
    ///
    /// As for [`download_into`](Self::download_into).
    pub fn download_range(&self, first: usize, bytes: &mut [u8]) -> Result<()> {
        // SAFETY: `bytes` is as long as is said
        unsafe { self.read(first, bytes.as_mut_ptr(), bytes.len()) }
    }

    /// The first `count` values, after all that was asked of the device before.
    ///
    /// # Errors
    ///
    /// As for [`download_into`](Self::download_into).
    pub fn download<T: Plain>(&self, count: usize) -> Result<Vec<T>> {
        self.download_at(0, count)
    }

    /// The `count` values from the one with number `first` on, after all that was asked of the device before.
    ///
    /// # Errors
    ///
    /// As for [`download_into`](Self::download_into).
    pub fn download_at<T: Plain>(&self, first: usize, count: usize) -> Result<Vec<T>> {
        let (first, bytes) = (first.saturating_mul(size_of::<T>()), count.saturating_mul(size_of::<T>()));
        // before memory for them is asked for
        self.range(first, bytes)?;
        let mut values = Vec::<T>::with_capacity(count);
        let at: *mut u8 = values.as_mut_ptr().cast();
        // SAFETY: the capacity is `count` values; once read, their bytes are initialised and, mended, values of `T`
        unsafe {
            self.read(first, at, bytes)?;
            T::mend(core::slice::from_raw_parts_mut(at, bytes));
            values.set_len(count);
        }
        Ok(values)
    }

    /// Copies `len` bytes from `first` on to `to`, and waits for them.
    ///
    /// # Safety
    ///
    /// `to` is valid for writing `len` bytes.
    unsafe fn read(&self, first: usize, to: *mut u8, len: usize) -> Result<()> {
        let from = self.range(first, len)?;
        if len == 0 {
            return Ok(());
        }
        if len <= ROOM {
            // SAFETY: the caller vouches for `to`
            return unsafe { self.begin(first, len)?.write(to, len) };
        }
        self.gpu.count_readback();
        if let Some(rehearsal) = self.gpu.stand_in() {
            // SAFETY: the caller vouches for `to`
            rehearsal.answer(unsafe { core::slice::from_raw_parts_mut(to.cast(), len) });
            return Ok(());
        }
        let (to, stream) = (to.cast::<c_void>(), self.gpu.handles().stream);
        // SAFETY: the range was checked, the caller vouches for `to`, and the wait below ends before it is let go
        self.gpu.call("cuMemcpyDtoHAsync", || unsafe { sys::cuMemcpyDtoHAsync_v2(to, from, len, stream) }.result())?;
        self.gpu.synchronize()
    }

    /// The address of `len` bytes from `first` on, if they are all here.
    pub(crate) fn range(&self, first: usize, len: usize) -> Result<sys::CUdeviceptr> {
        let end = first.saturating_add(len);
        if end > self.len {
            return Err(Error::Range { first, end, len: self.len });
        }
        Ok(self.address + first as u64)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.is_empty() || self.gpu.is_lost() {
            return;
        }
        if let Some(rehearsal) = self.gpu.stand_in() {
            return rehearsal.free(self.len as u64);
        }
        let over = {
            let mut spare = lock(self.gpu.spare());
            let size = spare.size(self.len);
            spare.discount(size);
            spare.keep(size, self.address)
        };
        self.gpu.free(over);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_may_share_all() {
        fn shared<T: Send + Sync>() {}
        shared::<(Gpu, Buffer, crate::Program, crate::Kernel)>();
    }
}
