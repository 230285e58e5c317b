//! Matrices made on a device: the transpose of one that is there, and rows of triples.

use super::compact::{composer, step, step_by};
use super::compose::{Composer, Joined};
use super::sort::{Keyed, Width};
use super::vector::to_bytes;
use super::{DeviceCsr, Gpu};
use crate::error::Result;
use crate::formats::{Coo, Duplicates, repeated};
use std::sync::Arc;
use vxm_kernels::{Buffer, sources};
use vxm_semiring::{Element, FIRST};

/// Places that a block goes through where each looks for its run: 8 words a warp.
pub(super) const RUN_PLACES: usize = 8 * 8 * 32;

fn triples(gpu: &Gpu) -> Composer {
    composer(gpu).with(sources::RUNS).with(sources::TRIPLES)
}

/// All bits in which two numbers below `n` may differ.
fn span(n: usize) -> u64 {
    if n <= 1 { 0 } else { u64::MAX >> (n as u64 - 1).leading_zeros() }
}

fn address(buffer: Option<&Arc<Buffer>>) -> u64 {
    buffer.map_or(0, |buffer| buffer.address())
}

/// The transpose: entries sorted by column, which keeps rows ascending within each. O(nnz) time, a pass for each byte of a column.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn transpose<A: Element>(csr: &DeviceCsr<A>) -> Result<DeviceCsr<A>> {
    let (gpu, nrows, ncols, nnz) = (csr.gpu(), csr.nrows(), csr.ncols(), csr.nnz());
    let rows = Arc::new(gpu.alloc(nnz * 4)?);
    step_by(&mut triples(gpu), "vxm::RunOf", &[csr.offsets.address(), nrows as u64, rows.address()], nnz, RUN_PLACES)?;
    // a pattern's rows are what moves; values are fetched from where they lie, once
    let pattern = size_of::<A>() == 0;
    let (items, item) = if pattern { (Some(rows.clone()), Width::Four) } else { (None, Width::below(nnz)) };
    let keyed = Keyed { keys: csr.columns.clone(), items, count: nnz, key: Width::Four, item };
    let sorted = keyed.sort(gpu, span(ncols))?;
    let offsets = gpu.alloc((ncols + 1) * 8)?;
    let head = [sorted.keys.address(), nnz as u64, ncols as u64, offsets.address()];
    step(&mut triples(gpu), "vxm::StartsOf", &head, ncols + 1)?;
    let shape = (ncols, nrows, nnz);
    if pattern {
        return DeviceCsr::of(gpu, shape, offsets, sorted.items.unwrap_or(rows), gpu.alloc(0)?);
    }
    let (columns, values) = (gpu.alloc(nnz * 4)?, gpu.alloc(nnz * size_of::<A>())?);
    let mut kernel = triples(gpu);
    let a = kernel.element::<A>();
    let ty = kernel.ty("vxm::Reorder", [item.ty(), a]);
    let from = [address(sorted.items.as_ref()), nnz as u64, rows.address(), csr.values.address()];
    step(&mut kernel, ty, &[&from[..], &[columns.address(), values.address()]].concat(), nnz)?;
    DeviceCsr::of(gpu, shape, offsets, columns, values)
}

/// The rows of triples, those at one place merged; none if only the host can merge them so.
///
/// # Errors
/// `duplicates` refuses to merge two; the device has too little memory, or is lost.
pub fn from_triples<A: Element, D: Duplicates<A>>(
    gpu: &Gpu,
    coo: &Coo<A>,
    duplicates: &D,
) -> Result<Option<DeviceCsr<A>>> {
    let mut kernel = triples(gpu);
    let Some(joined) = kernel.joined(duplicates) else { return Ok(None) };
    let (rows, columns, values) = coo.arrays();
    let (rows, columns) = (gpu.upload_slice(rows)?, gpu.upload_slice(columns)?);
    let keys = gpu.alloc(coo.len() * 8)?;
    let head = [rows.address(), columns.address(), coo.len() as u64, keys.address()];
    step(&mut triples(gpu), "vxm::PlaceKeys", &head, coo.len())?;
    drop((rows, columns));
    let values = gpu.upload(&to_bytes(values))?;
    join(kernel, (coo.nrows(), coo.ncols()), keys, coo.len(), &values, &joined).map(Some)
}

/// The rows of entries that stand at different places, `row << 32 | column` each.
pub(super) fn from_places<A: Element>(
    gpu: &Gpu,
    shape: (usize, usize),
    keys: Buffer,
    count: usize,
    values: &Buffer,
) -> Result<DeviceCsr<A>> {
    let mut kernel = triples(gpu);
    let first = Joined::Call(kernel.functor(FIRST));
    join(kernel, shape, keys, count, values, &first)
}

/// The rows of `count` entries: sorted by place, stably, and then one entry made of those at each.
fn join<A: Element>(
    mut kernel: Composer,
    (nrows, ncols): (usize, usize),
    keys: Buffer,
    count: usize,
    values: &Buffer,
    joined: &Joined,
) -> Result<DeviceCsr<A>> {
    let gpu = &kernel.gpu().clone();
    let item = Width::below(count);
    let keyed = Keyed { keys: Arc::new(keys), items: None, count, key: Width::Eight, item };
    let sorted = keyed.sort(gpu, span(nrows) << 32 | span(ncols))?;
    let (keys, order) = (sorted.keys.address(), address(sorted.items.as_ref()));
    let words = count.div_ceil(32);
    let (bits, sums, twice) = (gpu.alloc(words * 4)?, gpu.alloc((words + 1) * 8)?, gpu.zeroed(8)?);
    let head = [keys, count as u64, bits.address(), sums.address(), twice.address()];
    step(&mut triples(gpu), "vxm::MarkFirsts", &head, words * 32)?;
    let call = match joined {
        Joined::Call(call) => *call,
        Joined::Refuse => {
            let left = twice.download::<u64>(1)?[0] as usize;
            if left > 0 {
                let place = sorted.keys.download_at::<u64>(count - left, 1)?[0];
                return Err(repeated((place >> 32) as u32, place as u32));
            }
            kernel.functor(FIRST)
        }
    };
    super::run::scan(gpu, &sums, words)?;
    let marks = [bits.address(), sums.address(), words as u64];
    let nnz = sums.download_at::<u64>(words, 1)?[0] as usize;
    let offsets = gpu.alloc((nrows + 1) * 8)?;
    let head = [&[keys, count as u64][..], &marks, &[nrows as u64, offsets.address()]].concat();
    step(&mut triples(gpu), "vxm::JoinedStarts", &head, nrows + 1)?;
    let (columns, merged) = (gpu.alloc(nnz * 4)?, gpu.alloc(nnz * size_of::<A>())?);
    let a = kernel.element::<A>();
    let ty = kernel.ty("vxm::JoinEqual", [item.ty(), a, call]);
    let tail = [values.address(), columns.address(), merged.address()];
    step(&mut kernel, ty, &[&[keys, order, count as u64][..], &marks, &tail].concat(), count)?;
    DeviceCsr::of(gpu, (nrows, ncols, nnz), offsets, columns, merged)
}
