//! Device memory: allocation, freeing, and how much there is.
//!
//! A buffer's memory comes from the block cache if a freed block of its size is there, and from the device's pool otherwise. When memory
//! runs out, both give what they keep back to the system, and the call is made once more. A budget limits what all buffers together take;
//! [page-locked](crate::page_locked) buffers don't count.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cudarc::driver::sys::{self, CUmemPool_attribute as PoolAttribute, CUresult};
use cudarc::driver::{DriverError, result as driver};

use crate::context::{Gpu, lock};
use crate::error::{Error, Result};
use crate::lent;
use crate::page_locked::PageLocked;
use crate::peers::free_alone;

/// How long memory that runs out waits for buffers that other libraries have read. Their work may be waiting for this thread.
const LENT_LIMIT: Duration = Duration::from_secs(1);

/// Bytes of the grid barrier's memory.
const GRID_BARRIER: usize = 64;

/// Memory of a [`Gpu`], or memory of the host that its kernels can address. It is freed on drop, after all work submitted to the device
/// before.
///
/// A buffer of length 0 has no memory, and the address 0.
#[derive(Debug)]
pub struct Buffer {
    gpu: Gpu,
    address: sys::CUdeviceptr,
    len: usize,
    /// The host's memory, if the buffer lies there.
    pub(crate) on_host: Option<PageLocked>,
    /// Whether its memory is an allocation of its own, and no part of the pool's.
    is_alone: bool,
    /// Whether other libraries may read the memory.
    is_lent: AtomicBool,
}

impl Gpu {
    /// A buffer of `bytes` bytes, not initialised. Its address is a multiple of 256.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceMemory`] if the device has too little memory left, after which smaller buffers may still fit; [`Error::Lost`].
    pub fn alloc(&self, bytes: usize) -> Result<Buffer> {
        let address = if bytes == 0 { 0 } else { self.alloc_or_trim(bytes)? };
        Ok(Buffer::at(self, address, bytes))
    }

    /// A buffer of `bytes` bytes, more than 0, that is an allocation of its own: the driver shares whole allocations with other processes.
    /// Freeing it waits for the device's work.
    ///
    /// # Errors
    ///
    /// As for [`alloc`](Self::alloc).
    pub(crate) fn alloc_alone(&self, bytes: usize) -> Result<Buffer> {
        if self.stand_in().is_some() {
            return self.alloc(bytes);
        }
        self.check_budget(bytes)?;
        if bytes as u64 > self.total() {
            return Err(self.too_little(bytes));
        }
        // SAFETY: nothing is read before it is written
        let address = self.call_or_trim("cuMemAlloc", bytes, || unsafe { driver::malloc_sync(bytes) })?;
        let mut cache = lock(&self.context().block_cache);
        let size = cache.size(bytes);
        cache.count(size);
        let mut buffer = Buffer::at(self, address, bytes);
        buffer.is_alone = true;
        Ok(buffer)
    }

    /// Limits the bytes that this process' buffers take on the device; `None` lifts the limit. Returns the limit before. Buffers that exist
    /// already stay, also if they take more.
    pub fn set_budget(&self, bytes: Option<u64>) -> Option<u64> {
        let before = self.context().budget.swap(bytes.unwrap_or(u64::MAX), Ordering::Relaxed);
        self.context().most_rows.store(0, Ordering::Relaxed);
        self.context().vector_room.store(0, Ordering::Relaxed);
        (before < u64::MAX).then_some(before)
    }

    /// The most bytes that this process' buffers may take on the device, if that is limited.
    pub fn budget(&self) -> Option<u64> {
        Some(self.context().budget.load(Ordering::Relaxed)).filter(|&bytes| bytes < u64::MAX)
    }

    /// A buffer of memory at `address` that lies on the host.
    pub(crate) fn buffer_on_host(&self, address: sys::CUdeviceptr, len: usize, memory: PageLocked) -> Buffer {
        let mut buffer = Buffer::at(self, address, len);
        buffer.on_host = Some(memory);
        buffer
    }

    /// A buffer of `bytes` zeros.
    ///
    /// # Errors
    ///
    /// As for [`alloc`](Self::alloc).
    pub fn zeroed(&self, bytes: usize) -> Result<Buffer> {
        let mut buffer = self.alloc(bytes)?;
        buffer.fill(0)?;
        Ok(buffer)
    }

    /// Tells how many bytes a row a caller needs for vectors, until a budget is set or lifted.
    pub fn set_vector_room(&self, bytes: u64) {
        self.context().vector_room.store(bytes, Ordering::Relaxed);
    }

    /// The bytes a row that a caller needs for vectors; 0 if that isn't known.
    pub fn vector_room(&self) -> u64 {
        self.context().vector_room.load(Ordering::Relaxed)
    }

    /// The most rows of a matrix, `rows` included, that this was called with since the budget was set. Vectors may have as many elements.
    pub fn most_rows(&self, rows: u64) -> u64 {
        self.context().most_rows.fetch_max(rows, Ordering::Relaxed).max(rows)
    }

    /// The bytes of device memory, as (free, total), within the budget if there is one. Memory that the block cache and the pool keep for
    /// reuse counts as free.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] or [`Error::Driver`].
    pub fn memory(&self) -> Result<(u64, u64)> {
        let (free, total) = self.whole_memory()?;
        Ok(match self.budget() {
            Some(budget) => (free.min(budget.saturating_sub(self.used())), total.min(budget)),
            None => (free, total),
        })
    }

    /// The bytes of device memory, as (free, total), whatever the budget is.
    fn whole_memory(&self) -> Result<(u64, u64)> {
        if let Some(stand_in) = self.stand_in() {
            return Ok((self.total() - stand_in.used(), self.total()));
        }
        let (free, total) = self.call("cuMemGetInfo", driver::mem_get_info)?;
        let held = self.pool_attribute(PoolAttribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)?;
        let used = self.used();
        // other threads may allocate between the three queries, so the sum is capped
        Ok((total.min(free + held.saturating_sub(used) as usize) as u64, total as u64))
    }

    /// The bytes that this process' buffers take.
    pub fn used(&self) -> u64 {
        match self.stand_in() {
            Some(stand_in) => stand_in.used(),
            None => lock(&self.context().block_cache).used(),
        }
    }

    /// The most bytes that this process' buffers took at once since the previous call. The next period starts at the current use.
    pub fn take_peak(&self) -> u64 {
        match self.stand_in() {
            Some(stand_in) => stand_in.take_peak(),
            None => lock(&self.context().block_cache).take_peak(),
        }
    }

    /// Gives the memory that the block cache and the pool keep for reuse back to the system. Waits for all work submitted so far.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] or [`Error::Driver`].
    pub fn trim(&self) -> Result<()> {
        let blocks = lock(&self.context().block_cache).drain();
        self.free(blocks);
        self.synchronize()?;
        let pool = self.handles().pool;
        // SAFETY: the pool is open
        self.call("cuMemPoolTrimTo", || unsafe { driver::mem_pool::trim_to(pool, 0) })
    }

    /// The address of 64 bytes by which the thread blocks of a kernel can wait for each other. They are zeros, and a kernel that writes
    /// to them leaves them as zeros. Kernels run one after another on the one stream, so no two use them at once.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`]; [`Error::DeviceMemory`] if the first call cannot allocate them.
    pub fn grid_barrier(&self) -> Result<u64> {
        if self.stand_in().is_some() {
            return Ok(0);
        }
        let known = &self.context().grid_barrier;
        if let Some(&address) = known.get() {
            return Ok(address);
        }
        let claim = || {
            // SAFETY: nothing is read before it is set
            let at = unsafe { driver::malloc_sync(GRID_BARRIER) }?;
            // SAFETY: allocated above with that length, and ordered before later launches by the stream
            unsafe { driver::memset_d8_async(at, 0, GRID_BARRIER, self.handles().stream) }?;
            Ok(at)
        };
        let address = self.call_or_trim("cuMemAlloc", GRID_BARRIER, claim)?;
        Ok(*known.get_or_init(|| address))
    }

    /// Fails if `bytes` more bytes are beyond the budget.
    fn check_budget(&self, bytes: usize) -> Result<()> {
        match self.budget() {
            Some(budget) if self.used().saturating_add(bytes as u64) > budget => Err(self.too_little(bytes)),
            _ => Ok(()),
        }
    }

    /// The address of `bytes` bytes, more than 0, from the block cache or else from the pool.
    fn alloc_or_trim(&self, bytes: usize) -> Result<sys::CUdeviceptr> {
        self.check_budget(bytes)?;
        if let Some(stand_in) = self.stand_in() {
            return stand_in.alloc(bytes as u64, self.total()).ok_or_else(|| self.too_little(bytes));
        }
        // more than the device has is refused here, because the driver reports sizes near 2^64 as invalid instead of too large
        if bytes as u64 > self.total() {
            return Err(self.too_little(bytes));
        }
        self.check_lost()?;
        let (size, cached) = {
            let mut cache = lock(&self.context().block_cache);
            let size = cache.size(bytes);
            (size, cache.take(size))
        };
        if let Some(address) = cached {
            return Ok(address);
        }
        let handles = self.handles();
        // SAFETY: pool and stream are open
        let alloc = || unsafe { driver::mem_pool::alloc_async(handles.pool, size, handles.stream) };
        // counted only once it succeeds, so that the bytes in use which an error reports leave it out
        let address = self.call_or_trim("cuMemAllocFromPoolAsync", bytes, alloc);
        address.inspect(|_| lock(&self.context().block_cache).count(size))
    }

    /// Gives blocks back to the pool, after all work submitted to the device before.
    fn free(&self, blocks: impl IntoIterator<Item = sys::CUdeviceptr>) {
        if self.is_lost() {
            return;
        }
        let stream = self.handles().stream;
        for block in blocks {
            // SAFETY: allocated from the pool on this stream, and owned by no buffer any more
            if let Err(error) = self.call("cuMemFreeAsync", || unsafe { driver::free_async(block, stream) }) {
                tracing::error!(%error, "device memory is not freed");
            }
        }
    }

    /// Calls the driver function `name`, which takes `bytes` bytes of device memory. If there is too little, it trims and calls once more.
    ///
    /// Trimming helps because what the pool keeps may be in pieces that are too small, and because some calls take memory from outside
    /// of the pool.
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
            Some(value) => return Ok(value),
            None if self.stand_in().is_some() => return Ok(T::default()),
            None => {
                lent::wait(LENT_LIMIT);
                self.trim()?;
            }
        }
        attempt()?.ok_or_else(|| self.too_little(bytes))
    }

    /// The error for `bytes` bytes that the device cannot give.
    fn too_little(&self, bytes: usize) -> Error {
        match self.memory() {
            Ok((free, total)) => {
                let (used, budget) = (self.used(), self.budget().is_some());
                Error::DeviceMemory { asked: bytes as u64, used, free, total, budget }
            }
            Err(lost) => lost,
        }
    }

    /// An attribute of the pool; one of those with 64 bits.
    fn pool_attribute(&self, attribute: PoolAttribute) -> Result<u64> {
        let mut value = 0u64;
        let (pool, at) = (self.handles().pool, (&raw mut value).cast());
        // SAFETY: the pool is open, and the attribute is 64 bits
        self.call("cuMemPoolGetAttribute", || unsafe { driver::mem_pool::get_attribute(pool, attribute, at) })?;
        Ok(value)
    }
}

impl Buffer {
    /// A part of the pool, of `len` bytes at `address`.
    fn at(gpu: &Gpu, address: sys::CUdeviceptr, len: usize) -> Self {
        Self { gpu: gpu.clone(), address, len, on_host: None, is_alone: false, is_lent: AtomicBool::new(false) }
    }

    /// The device address, for a kernel's parameters. Valid for as long as the buffer lives.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The device address, for other libraries of this process, once all work submitted to the device is done. After the buffer is dropped, the
    /// memory is freed once all work on this device is done, theirs too.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] if a kernel failed.
    pub fn lend(&self) -> Result<u64> {
        self.gpu.synchronize()?;
        self.is_lent.store(true, Ordering::Relaxed);
        Ok(self.address)
    }

    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the length is 0.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether the memory is the host's. Kernels read it over the bus.
    pub fn is_on_host(&self) -> bool {
        self.on_host.is_some()
    }

    /// The device that the buffer is on, or that addresses it.
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

    /// Sets bytes `first..first + len` to `byte`.
    ///
    /// # Errors
    ///
    /// [`Error::Range`] if they are not all within the buffer, [`Error::Lost`] or [`Error::Driver`].
    pub fn fill_at(&mut self, first: usize, len: usize, byte: u8) -> Result<()> {
        let at = self.range(first, len)?;
        if len == 0 {
            return Ok(());
        }
        let stream = self.gpu.handles().stream;
        // SAFETY: the range was checked
        self.gpu.call("cuMemsetD8Async", || unsafe { driver::memset_d8_async(at, byte, len, stream) })
    }

    /// The address of bytes `first..first + len`; an error if they are not all within the buffer.
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
        if let Some(memory) = self.on_host.take() {
            return memory.free(&self.gpu);
        }
        if let Some(stand_in) = self.gpu.stand_in() {
            return stand_in.free(self.len as u64);
        }
        if *self.is_lent.get_mut() {
            let mut owned = Self::at(&self.gpu, self.address, self.len);
            owned.is_alone = self.is_alone;
            return lent::free_later(owned);
        }
        let evicted = {
            let mut cache = lock(&self.gpu.context().block_cache);
            let size = cache.size(self.len);
            cache.discount(size);
            if self.is_alone { None } else { Some(cache.keep(size, self.address)) }
        };
        match evicted {
            Some(evicted) => self.gpu.free(evicted),
            None => free_alone(&self.gpu, self.address),
        }
    }
}
