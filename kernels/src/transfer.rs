//! Copies between the host and a device, and between buffers.

use std::ffi::c_void;

use cudarc::driver::result as driver;
use cudarc::driver::sys;

use crate::context::Gpu;
use crate::error::Result;
use crate::memory::Buffer;
use crate::pod::{Pod, bytes_of};
use crate::readback::CAPACITY;
use crate::trace::measured;

impl Gpu {
    /// A buffer with a copy of `bytes`. Waits until the device has read them.
    ///
    /// # Errors
    ///
    /// As for [`alloc`](Self::alloc).
    pub fn upload(&self, bytes: &[u8]) -> Result<Buffer> {
        let mut buffer = self.alloc(bytes.len())?;
        buffer.upload_at(0, bytes)?;
        Ok(buffer)
    }

    /// A buffer with a copy of `values`. Waits until the device has read them.
    ///
    /// # Errors
    ///
    /// As for [`alloc`](Self::alloc).
    pub fn upload_slice<T: Pod>(&self, values: &[T]) -> Result<Buffer> {
        self.upload(bytes_of(values))
    }
}

impl Buffer {
    /// Copies `bytes` from the host to offset `first` of this buffer. Waits until the device has read them.
    ///
    /// # Errors
    ///
    /// [`Error::Range`](crate::Error::Range) if they do not fit, [`Error::Lost`](crate::Error::Lost) or
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn upload_at(&mut self, first: usize, bytes: &[u8]) -> Result<()> {
        let at = self.range(first, bytes.len())?;
        if bytes.is_empty() {
            return Ok(());
        }
        if self.is_on_host() {
            // work that reads the memory comes first
            self.gpu().synchronize()?;
            return self.on_host.as_mut().map_or(Ok(()), |memory| memory.write(first, bytes));
        }
        let stream = self.gpu().handles().stream;
        // SAFETY: the range was checked, and `bytes` is borrowed until the wait below is over
        let copy = || self.gpu().call("cuMemcpyHtoDAsync", || unsafe { driver::memcpy_htod_async(at, bytes, stream) });
        measured(self.gpu(), || format!("to device: {} bytes", bytes.len()), copy)?;
        self.gpu().synchronize()
    }

    /// Copies the first `bytes` bytes of `from` to the start of this buffer.
    ///
    /// # Errors
    ///
    /// As for [`copy_range`](Self::copy_range).
    pub fn copy_from(&mut self, from: &Self, bytes: usize) -> Result<()> {
        self.copy_range(0, from, 0, bytes)
    }

    /// Copies `bytes` bytes at offset `first` of `from` to offset `at` of this buffer. If `from` is on another device, the copy goes
    /// through the host.
    ///
    /// # Errors
    ///
    /// [`Error::Range`](crate::Error::Range) if they do not fit on either side, [`Error::Lost`](crate::Error::Lost) or
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn copy_range(&mut self, at: usize, from: &Self, first: usize, bytes: usize) -> Result<()> {
        let (target, source) = (self.range(at, bytes)?, from.range(first, bytes)?);
        if bytes == 0 {
            return Ok(());
        }
        if self.gpu() != from.gpu() {
            return self.upload_at(at, &from.download_at::<u8>(first, bytes)?);
        }
        let stream = self.gpu().handles().stream;
        let copy = || {
            // SAFETY: both ranges were checked; two buffers do not overlap
            self.gpu().call("cuMemcpyDtoDAsync", || unsafe { driver::memcpy_dtod_async(target, source, bytes, stream) })
        };
        measured(self.gpu(), || format!("on device: {bytes} bytes"), copy)
    }

    /// A new buffer with the same bytes, on the same side of the bus.
    ///
    /// # Errors
    ///
    /// As for [`Gpu::alloc`].
    pub fn copy(&self) -> Result<Self> {
        let gpu = self.gpu();
        let mut copy = if self.is_on_host() { gpu.alloc_on_host(self.len()) } else { gpu.alloc(self.len()) }?;
        copy.copy_from(self, self.len())?;
        Ok(copy)
    }

    /// Copies the start of this buffer to all of `bytes`, after all work submitted to the device before.
    ///
    /// # Errors
    ///
    /// [`Error::Range`](crate::Error::Range) if the buffer is shorter; [`Error::Lost`](crate::Error::Lost), also for a kernel that
    /// failed before.
    pub fn download_into(&self, bytes: &mut [u8]) -> Result<()> {
        self.download_range(0, bytes)
    }

    /// Copies the bytes at offset `first` to all of `bytes`, after all work submitted to the device before.
    ///
    /// # Errors
    ///
    /// As for [`download_into`](Self::download_into).
    pub fn download_range(&self, first: usize, bytes: &mut [u8]) -> Result<()> {
        // SAFETY: `bytes` is valid for its length
        unsafe { self.read(first, bytes.as_mut_ptr(), bytes.len()) }
    }

    /// The first `count` values, after all work submitted to the device before.
    ///
    /// # Errors
    ///
    /// As for [`download_into`](Self::download_into).
    pub fn download<T: Pod>(&self, count: usize) -> Result<Vec<T>> {
        self.download_at(0, count)
    }

    /// Values `first..first + count`, counted in values of `T`, after all work submitted to the device before.
    ///
    /// # Errors
    ///
    /// As for [`download_into`](Self::download_into).
    pub fn download_at<T: Pod>(&self, first: usize, count: usize) -> Result<Vec<T>> {
        let (first, bytes) = (first.saturating_mul(size_of::<T>()), count.saturating_mul(size_of::<T>()));
        // checked before memory for the values is allocated
        self.range(first, bytes)?;
        let mut values = Vec::<T>::with_capacity(count);
        let at: *mut u8 = values.as_mut_ptr().cast();
        // SAFETY: the capacity is `count` values; `read` initialises their bytes, and `mend` makes them values of `T`
        unsafe {
            self.read(first, at, bytes)?;
            T::mend(core::slice::from_raw_parts_mut(at, bytes));
            values.set_len(count);
        }
        Ok(values)
    }

    /// Copies bytes `first..first + len` to `to`, and waits for them.
    ///
    /// # Safety
    ///
    /// `to` is valid for writing `len` bytes.
    unsafe fn read(&self, first: usize, to: *mut u8, len: usize) -> Result<()> {
        let from = self.range(first, len)?;
        if len == 0 {
            return Ok(());
        }
        if len <= CAPACITY {
            // SAFETY: the caller vouches for `to`
            return unsafe { self.begin(first, len)?.write(to, len) };
        }
        let gpu = self.gpu();
        gpu.count_readback();
        if let Some(stand_in) = gpu.stand_in() {
            // SAFETY: the caller vouches for `to`
            stand_in.answer(unsafe { core::slice::from_raw_parts_mut(to.cast(), len) });
            return Ok(());
        }
        let (to, stream) = (to.cast::<c_void>(), gpu.handles().stream);
        // SAFETY: the range was checked, the caller vouches for `to`, and the wait below ends before the caller may reuse it
        let copy =
            || gpu.call("cuMemcpyDtoHAsync", || unsafe { sys::cuMemcpyDtoHAsync_v2(to, from, len, stream) }.result());
        measured(gpu, || format!("to host: {len} bytes"), copy)?;
        gpu.synchronize()
    }
}
