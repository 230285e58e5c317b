//! Buffers in the host's memory that kernels address: page-locked, so that the device reads them over the bus without the host's help.
//!
//! They hold what a budget keeps off the device. A kernel reads them as it reads device memory, at the speed of the bus. Memory that exists
//! already, a mapped file's too, can be locked in place, which takes a tenth of the time of a copy.

use std::any::Any;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
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
    /// What the memory belongs to, if it was locked in place. Then it is only read.
    owner: Option<Arc<dyn Any + Send + Sync>>,
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
        Ok(self.buffer_on_host(address, bytes, PageLocked { at, len: bytes, owner: None }))
    }

    /// A buffer of the bytes that `part` finds in `owner`, locked where they are. Kernels may only read it. `None` if the system can't lock
    /// them there; then [`alloc_on_host`](Self::alloc_on_host) and a copy do.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] or [`Error::Driver`].
    pub fn lock_in_place<O>(&self, owner: Arc<O>, part: impl FnOnce(&O) -> &[u8]) -> Result<Option<Buffer>>
    where
        O: Send + Sync + 'static,
    {
        let bytes = part(&owner);
        let (at, len) = (bytes.as_ptr().cast_mut().cast::<c_void>(), bytes.len());
        if len == 0 || self.stand_in().is_some() {
            return Ok(None);
        }
        let flags = sys::CU_MEMHOSTREGISTER_DEVICEMAP | sys::CU_MEMHOSTREGISTER_READ_ONLY;
        // SAFETY: the memory stays where it is, and unchanged, as long as `owner` lives: it was reached through a shared reference
        let lock = || match unsafe { sys::cuMemHostRegister_v2(at, len, flags) } {
            CUresult::CUDA_SUCCESS => Ok(true),
            // locked already, too much to lock, or a kind of memory or a system where it can't be locked
            CUresult::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
            | CUresult::CUDA_ERROR_OUT_OF_MEMORY
            | CUresult::CUDA_ERROR_INVALID_VALUE
            | CUresult::CUDA_ERROR_NOT_SUPPORTED
            | CUresult::CUDA_ERROR_NOT_PERMITTED => Ok(false),
            other => other.result().map(|()| true),
        };
        if !self.call("cuMemHostRegister", lock)? {
            return Ok(None);
        }
        self.context().on_host.fetch_add(len as u64, Ordering::Relaxed);
        let memory = PageLocked { at, len, owner: Some(owner) };
        let mut address = 0;
        // SAFETY: the memory was locked above, and mapped for kernels
        let find = || unsafe { sys::cuMemHostGetDevicePointer_v2(&mut address, at, 0) }.result();
        match self.call("cuMemHostGetDevicePointer", find) {
            Ok(()) => Ok(Some(self.buffer_on_host(address, len, memory))),
            Err(error) => {
                memory.free(self);
                Err(error)
            }
        }
    }

    /// The bytes that this process' page-locked buffers take on the host.
    pub fn used_on_host(&self) -> u64 {
        self.context().on_host.load(Ordering::Relaxed)
    }
}

impl PageLocked {
    /// Copies `bytes` to offset `first`, which must fit, by several threads. The device must have done all work that reads the memory. Fails
    /// if the memory is only to be read.
    pub(crate) fn write(&mut self, first: usize, bytes: &[u8]) -> Result<()> {
        debug_assert!(first + bytes.len() <= self.len, "the range was checked");
        if self.owner.is_some() {
            let what = "memory that was locked in place is only read".to_owned();
            return Err(Error::Driver { call: "cuMemHostRegister", what });
        }
        if self.at.is_null() {
            return Ok(());
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
        Ok(())
    }

    /// Frees the memory after all work submitted to the device so far.
    pub(crate) fn free(self, gpu: &Gpu) {
        gpu.context().on_host.fetch_sub(self.len as u64, Ordering::Relaxed);
        if self.at.is_null() {
            return;
        }
        let free = || match &self.owner {
            // SAFETY: allocated by `cuMemHostAlloc`, and no work that reads it is left
            None => gpu.call("cuMemFreeHost", || unsafe { sys::cuMemFreeHost(self.at) }.result()),
            // SAFETY: locked by `cuMemHostRegister`, and no work that reads it is left
            Some(_) => gpu.call("cuMemHostUnregister", || unsafe { sys::cuMemHostUnregister(self.at) }.result()),
        };
        if let Err(error) = gpu.synchronize().and_then(|()| free()) {
            tracing::error!(%error, "page-locked memory is not freed");
        }
    }
}
