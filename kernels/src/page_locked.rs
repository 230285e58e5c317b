//! Buffers in the host's memory that kernels address: page-locked, so that the device reads them over the bus without the host's help.
//!
//! They hold what a budget keeps off the device. A kernel reads them as it reads device memory, at the speed of the bus.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::Ordering;
use std::thread;

use cudarc::driver::sys::{self, CUresult};

use crate::context::Gpu;
use crate::error::{Error, Result};
use crate::memory::Buffer;

/// Page-locked memory of a buffer.
#[derive(Debug)]
pub(crate) struct PageLocked {
    /// The memory as the host addresses it; null in a dry run.
    at: *mut c_void,
    len: usize,
}

// SAFETY: the memory belongs to one buffer, and the driver's functions may be called from any thread
unsafe impl Send for PageLocked {}
// SAFETY: as above; through a shared reference the memory is only freed
unsafe impl Sync for PageLocked {}

/// Bytes that one thread copies at least: below, starting another costs more than it gains.
const SHARE: usize = 8 << 20;
/// The most threads that copy; a few reach the memory's speed.
const COPIERS: usize = 8;

impl Gpu {
    /// A buffer of `bytes` bytes in page-locked memory of the host, not initialised. It doesn't count against the budget. Locking takes some
    /// 0.2 s a GiB.
    ///
    /// # Errors
    ///
    /// [`Error::HostMemory`] if the host can lock no more; [`Error::Lost`] or [`Error::Driver`].
    pub fn alloc_on_host(&self, bytes: usize) -> Result<Buffer> {
        if bytes == 0 {
            return self.alloc(0);
        }
        let (mut at, mut address) = (ptr::null_mut(), 0);
        if let Some(stand_in) = self.stand_in() {
            address = stand_in.address(bytes as u64);
        } else {
            // SAFETY: the place for the address is valid
            let claim = || match unsafe { sys::cuMemHostAlloc(&mut at, bytes, sys::CU_MEMHOSTALLOC_DEVICEMAP) } {
                CUresult::CUDA_ERROR_OUT_OF_MEMORY => Ok(false),
                other => other.result().map(|()| true),
            };
            if !self.call("cuMemHostAlloc", claim)? {
                return Err(Error::HostMemory { asked: bytes as u64, used: self.used_on_host() });
            }
            // SAFETY: the memory was allocated above, and mapped for kernels
            let find = || unsafe { sys::cuMemHostGetDevicePointer_v2(&mut address, at, 0) }.result();
            self.call("cuMemHostGetDevicePointer", find)?;
        }
        self.context().on_host.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(self.buffer_on_host(address, bytes, PageLocked { at, len: bytes }))
    }

    /// The bytes that this process' page-locked buffers take on the host.
    pub fn used_on_host(&self) -> u64 {
        self.context().on_host.load(Ordering::Relaxed)
    }
}

impl PageLocked {
    /// Copies `bytes` to offset `first`, which must fit, by several threads. The device must have done all work that reads the memory.
    pub(crate) fn write(&mut self, first: usize, bytes: &[u8]) {
        debug_assert!(first + bytes.len() <= self.len, "the range was checked");
        if self.at.is_null() {
            return;
        }
        // SAFETY: the range lies within the memory, which only this buffer uses
        let target = unsafe { std::slice::from_raw_parts_mut(self.at.cast::<u8>().add(first), bytes.len()) };
        let copiers = thread::available_parallelism().map_or(1, usize::from).min(COPIERS);
        let share = bytes.len().div_ceil(copiers).max(SHARE);
        thread::scope(|scope| {
            let mut parts = target.chunks_mut(share).zip(bytes.chunks(share));
            let last = parts.next();
            for (target, bytes) in parts {
                scope.spawn(|| target.copy_from_slice(bytes));
            }
            if let Some((target, bytes)) = last {
                target.copy_from_slice(bytes);
            }
        });
    }

    /// Frees the memory after all work submitted to the device so far.
    pub(crate) fn free(self, gpu: &Gpu) {
        gpu.context().on_host.fetch_sub(self.len as u64, Ordering::Relaxed);
        if self.at.is_null() {
            return;
        }
        // SAFETY: allocated by `cuMemHostAlloc`, and no work that reads it is left
        let free = || gpu.call("cuMemFreeHost", || unsafe { sys::cuMemFreeHost(self.at) }.result());
        if let Err(error) = gpu.synchronize().and_then(|()| free()) {
            tracing::error!(%error, "page-locked memory is not freed");
        }
    }
}
