//! Where arrays with an element for each entry of a matrix lie: on the device, or on the host if the device has no room for them.
//!
//! Vectors and row offsets are read at random, so they are on the device. Entries are read row by row, which the bus does well. So when memory
//! runs short, entries stay in page-locked memory of the host, and kernels read them from there; nothing else changes. (EMOGI, Min et al.,
//! VLDB 2020, measures that against paging.)

use crate::backend::cuda::Gpu;
use crate::backend::tuning::{ASK_FROM, tuning};
use crate::error::{Error, Result};
use crate::formats::Csr;
use crate::memory;
use std::sync::Arc;
use crate::kernels::{Buffer, Pod};
use vxm_semiring::Element;

/// Whether `bytes` bytes fit on the device beside vectors. These may be those of a matrix with `rows` rows, or of a greater one that this
/// one was taken from.
fn fits(gpu: &Gpu, bytes: usize, rows: usize) -> Result<bool> {
    // the driver needs some time to tell what is free
    if gpu.budget().is_none() && bytes < ASK_FROM {
        return Ok(true);
    }
    let rows = if gpu.budget().is_some() { gpu.most_rows(rows as u64) } else { rows as u64 };
    let vectors = tuning().vector_room.max(gpu.vector_room()).saturating_mul(rows);
    Ok((bytes as u64).saturating_add(vectors) <= gpu.memory()?.0)
}

/// Whether the entries of a matrix stay on the host: `rows` rows and `bytes` bytes of entries don't fit on the device.
fn spills(gpu: &Gpu, bytes: usize, rows: usize) -> Result<bool> {
    let spills = bytes > 0 && !fits(gpu, bytes, rows)?;
    if spills {
        memory::require(bytes as u128, || format!("page-locked memory for {rows} rows"))?;
        tracing::debug!(target: "vxm::plan", rows, bytes, why = "the device has no room", "entries on the host");
    }
    Ok(spills)
}

/// A buffer for `bytes` bytes of entries of a matrix with `rows` rows.
///
/// # Errors
/// Neither the device nor the host has the memory; the device is lost.
pub(super) fn alloc_entries(gpu: &Gpu, bytes: usize, rows: usize) -> Result<Buffer> {
    if spills(gpu, bytes, rows)? {
        return Ok(gpu.alloc_on_host(bytes)?);
    }
    match gpu.alloc(bytes) {
        Err(crate::kernels::Error::DeviceMemory { .. }) if bytes > 0 => {
            memory::require(bytes as u128, || format!("page-locked memory for {rows} rows"))?;
            Ok(gpu.alloc_on_host(bytes)?)
        }
        buffer => Ok(buffer?),
    }
}

/// A buffer of the columns of `csr`: a copy on the device, or if there is no room for it, the columns themselves where they are on the host. A
/// mapped file's are read from there, too.
///
/// # Errors
/// As for [`alloc_entries`].
pub(super) fn place_columns<A: Element>(gpu: &Gpu, csr: &Arc<Csr<A>>) -> Result<Buffer> {
    fn columns<A: Element>(csr: &Csr<A>) -> &[u8] {
        crate::kernels::bytes_of(csr.columns())
    }
    if !fits(gpu, columns(csr).len(), csr.nrows())?
        && let Some(locked) = gpu.lock_in_place(Arc::clone(csr), columns)?
    {
        tracing::debug!(target: "vxm::plan", rows = csr.nrows(), bytes = locked.len(), why = "the device has no room", "columns are read on the host");
        return Ok(locked);
    }
    upload_entries(gpu, csr.columns(), csr.nrows())
}

/// A buffer with a copy of `entries`, of a matrix with `rows` rows.
///
/// # Errors
/// As for [`alloc_entries`].
#[inline(never)]
pub(super) fn upload_entries<T: Pod>(gpu: &Gpu, entries: &[T], rows: usize) -> Result<Buffer> {
    let bytes = crate::kernels::bytes_of(entries);
    let mut buffer = alloc_entries(gpu, bytes.len(), rows)?;
    buffer.upload_at(0, bytes)?;
    Ok(buffer)
}

/// A buffer on the device for `bytes` bytes that only make something faster. It leaves room for the vectors of a matrix with `rows` rows.
///
/// # Errors
/// [`DeviceMemory`](crate::kernels::Error::DeviceMemory) if the device has no room; the device is lost.
pub(super) fn alloc_spare(gpu: &Gpu, bytes: usize, rows: usize) -> Result<Buffer> {
    if let Some(total) = gpu.budget().filter(|_| bytes > 0)
        && !fits(gpu, bytes, rows)?
    {
        let (used, free) = (gpu.used(), gpu.memory()?.0);
        let refused = crate::kernels::Error::DeviceMemory { asked: bytes as u64, used, free, total, budget: true };
        return Err(Error::Device(refused));
    }
    Ok(gpu.alloc(bytes)?)
}
