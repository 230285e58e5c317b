//! Matrices built on a device: transposes, and matrices from triples.

use crate::backend::cuda::budget::{alloc_entries, upload_entries};
use crate::backend::cuda::codegen::builder::{DuplicateMerge, KernelBuilder};
use crate::backend::cuda::compact::{self, builder, launch_over, launch_over_by};
use crate::backend::cuda::sort::{Keyed, Width};
use crate::backend::cuda::vector::{Cells, to_bytes};
use crate::backend::cuda::{DeviceCsr, DeviceVector, Gpu};
use crate::error::Result;
use crate::formats::{Coo, Duplicates, repeated};
use std::sync::Arc;
use crate::kernels::{Buffer, sources};
use vxm_semiring::{Element, FIRST};

/// Entries that a block visits in kernels that find each entry's row: 8 words of 32 entries for each of 8 warps.
pub(super) const RUN_PLACES: usize = 8 * 8 * 32;

pub(super) fn triples_builder(gpu: &Gpu) -> KernelBuilder {
    builder(gpu).with(sources::RUNS).with(sources::TRIPLES)
}

/// The bits in which two numbers below `n` may differ.
fn differing_bits(n: usize) -> u64 {
    if n <= 1 { 0 } else { u64::MAX >> (n as u64 - 1).leading_zeros() }
}

fn address(buffer: Option<&Arc<Buffer>>) -> u64 {
    buffer.map_or(0, |buffer| buffer.address())
}

/// The transpose: the entries sorted by column. The sort is stable, so rows stay in ascending order within each column. It takes O(nnz)
/// time, in one pass for each byte of the greatest column.
///
/// # Errors
/// The device has too little memory, or is lost.
#[inline(never)]
pub fn transpose<A: Element>(csr: &DeviceCsr<A>) -> Result<DeviceCsr<A>> {
    let (gpu, nrows, ncols, nnz) = (csr.gpu(), csr.nrows(), csr.ncols(), csr.nnz());
    let rows = Arc::new(alloc_entries(gpu, nnz * 4, nrows.max(ncols))?);
    launch_over_by(
        &mut triples_builder(gpu),
        "vxm::RunOf",
        &[csr.offsets.address(), nrows as u64, rows.address()],
        nnz,
        RUN_PLACES,
    )?;
    // a pattern sorts its rows directly; with values, positions are sorted, and then rows and values are gathered once
    let pattern = size_of::<A>() == 0;
    let (items, item) = if pattern { (Some(rows.clone()), Width::Four) } else { (None, Width::below(nnz)) };
    let keyed = Keyed { keys: csr.columns.clone(), items, count: nnz, key: Width::Four, item };
    let sorted = keyed.sort(gpu, differing_bits(ncols), nrows.max(ncols))?;
    let offsets = gpu.alloc((ncols + 1) * 8)?;
    let head = [sorted.keys.address(), nnz as u64, ncols as u64, offsets.address()];
    launch_over(&mut triples_builder(gpu), "vxm::StartsOf", &head, ncols + 1)?;
    let shape = (ncols, nrows, nnz);
    if pattern {
        return DeviceCsr::from_parts(gpu, shape, offsets, sorted.items.unwrap_or(rows), gpu.alloc(0)?);
    }
    let columns = alloc_entries(gpu, nnz * 4, ncols)?;
    let values = alloc_entries(gpu, nnz * size_of::<A>(), ncols)?;
    let mut kernel = triples_builder(gpu);
    let a = kernel.element::<A>();
    let ty = kernel.ty("vxm::Reorder", [item.ty(), a]);
    let from = [address(sorted.items.as_ref()), nnz as u64, rows.address(), csr.values.address()];
    launch_over(&mut kernel, ty, &[&from[..], &[columns.address(), values.address()]].concat(), nnz)?;
    DeviceCsr::from_parts(gpu, shape, offsets, columns, values)
}

/// The matrix of `ncols` columns with an entry at `(k, index[k])` for each index, which lies below `ncols`.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn membership(index: &DeviceVector<u32>, ncols: usize) -> Result<DeviceCsr<()>> {
    entry_of_row(index, ncols, (index.values_address(), 0))
}

/// The square matrix with a vector as its diagonal.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn from_diagonal<A: Element>(v: &DeviceVector<A>) -> Result<DeviceCsr<A>> {
    entry_of_row(v, v.len(), (0, v.values_address()))
}

/// The matrix with an entry in each row where `marks` has an element, from the addresses of columns and values: see `EntryOfRow`.
fn entry_of_row<A: Element>(marks: &Cells, ncols: usize, (column, value): (u64, u64)) -> Result<DeviceCsr<A>> {
    let (gpu, rows, bits) = (&marks.gpu, marks.len, marks.bits_address());
    let words = rows.div_ceil(32);
    let sums = if bits == 0 { None } else { Some(compact::sums(gpu, bits, rows)?) };
    let nnz = match (&sums, marks.known_count()) {
        (Some(sums), None) => sums.download_at::<u64>(words, 1)?[0] as usize,
        (_, known) => known.unwrap_or(rows),
    };
    let offsets = gpu.alloc((rows + 1) * 8)?;
    let columns = alloc_entries(gpu, nnz * 4, rows)?;
    let values = alloc_entries(gpu, nnz * size_of::<A>(), rows)?;
    let mut kernel = triples_builder(gpu);
    let a = kernel.element::<A>();
    let ty = kernel.ty("vxm::EntryOfRow", [a]);
    let from = [bits, sums.as_ref().map_or(0, Buffer::address), words as u64, rows as u64, column, value];
    let to = [offsets.address(), columns.address(), values.address()];
    launch_over(&mut kernel, ty, &[&from[..], &to].concat(), rows + 1)?;
    DeviceCsr::from_parts(gpu, (rows, ncols, nnz), offsets, columns, values)
}

/// The entries of the main diagonal, as a vector of as many places as the matrix has rows and columns at least.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn diagonal<A: Element>(csr: &DeviceCsr<A>) -> Result<DeviceVector<A>> {
    let (gpu, count) = (csr.gpu(), csr.nrows().min(csr.ncols()));
    let found = DeviceVector::<A>::uninitialized(gpu, count, true)?;
    let mut kernel = triples_builder(gpu);
    let a = kernel.element::<A>();
    let ty = kernel.ty("vxm::DiagonalOf", [a]);
    let from = [csr.offsets.address(), csr.columns.address(), csr.values.address(), count as u64];
    let to = [found.values_address(), found.bits_address()];
    launch_over(&mut kernel, ty, &[&from[..], &to].concat(), count.next_multiple_of(64))?;
    Ok(found)
}

/// `[0, A; A', 0]`, from the rows of `A` and those of its transpose. O(rows + entries) time.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn bipartite<A: Element>(above: &DeviceCsr<A>, below: &DeviceCsr<A>) -> Result<DeviceCsr<A>> {
    let (gpu, m, n, nnz) = (above.gpu(), above.nrows(), below.nrows(), above.nnz());
    let offsets = gpu.alloc((m + n + 1) * 8)?;
    let columns = alloc_entries(gpu, 2 * nnz * 4, m + n)?;
    let values = alloc_entries(gpu, 2 * nnz * size_of::<A>(), m + n)?;
    let mut kernel = triples_builder(gpu);
    let a = kernel.element::<A>();
    let ty = kernel.ty("vxm::Bipartite", [a]);
    let from = [above.offsets.address(), below.offsets.address(), m as u64, n as u64, nnz as u64];
    let entries =
        [above.columns.address(), below.columns.address(), above.values.address(), below.values.address()];
    let to = [offsets.address(), columns.address(), values.address()];
    let words = [&from[..], &entries, &to].concat();
    launch_over(&mut kernel, ty, &words, (2 * nnz).max(m + n + 1))?;
    DeviceCsr::from_parts(gpu, (m + n, m + n, 2 * nnz), offsets, columns, values)
}

/// The matrix of `coo`, with duplicate entries merged as `duplicates` says. `None` if only the host can merge them so.
///
/// # Errors
/// `duplicates` refuses to merge two; the device has too little memory, or is lost.
pub fn from_triples<A: Element, D: Duplicates<A>>(
    gpu: &Gpu,
    coo: &Coo<A>,
    duplicates: &D,
) -> Result<Option<DeviceCsr<A>>> {
    let mut kernel = triples_builder(gpu);
    let Some(merge) = kernel.duplicate_merge(duplicates) else { return Ok(None) };
    let (rows, columns, values) = coo.arrays();
    let (rows, columns) = (upload_entries(gpu, rows, coo.nrows())?, upload_entries(gpu, columns, coo.nrows())?);
    let keys = alloc_entries(gpu, coo.len() * 8, coo.nrows())?;
    let head = [rows.address(), columns.address(), coo.len() as u64, keys.address()];
    launch_over(&mut triples_builder(gpu), "vxm::PlaceKeys", &head, coo.len())?;
    drop((rows, columns));
    let values = upload_entries(gpu, &to_bytes(values), coo.nrows())?;
    merge_by_key(kernel, (coo.nrows(), coo.ncols()), keys, coo.len(), &values, &merge).map(Some)
}

/// The pattern with an entry in each direction for each pair of ends, which lie below `n`. Equal entries are joined.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn undirected(gpu: &Gpu, n: usize, ends: &[(DeviceVector<u32>, DeviceVector<u32>)]) -> Result<DeviceCsr<()>> {
    let count = 2 * ends.iter().map(|(from, _)| from.len()).sum::<usize>();
    let keys = alloc_entries(gpu, count * 8, n)?;
    let mut at = keys.address();
    for (from, to) in ends {
        for [row, column] in [[from, to], [to, from]] {
            let head = [row.values_address(), column.values_address(), row.len() as u64, at];
            launch_over(&mut triples_builder(gpu), "vxm::PlaceKeys", &head, row.len())?;
            at += 8 * row.len() as u64;
        }
    }
    from_keys(gpu, (n, n), keys, count, &gpu.alloc(0)?)
}

/// The matrix of `count` entries with distinct positions. A key is `row << 32 | column`.
pub(super) fn from_keys<A: Element>(
    gpu: &Gpu,
    shape: (usize, usize),
    keys: Buffer,
    count: usize,
    values: &Buffer,
) -> Result<DeviceCsr<A>> {
    let mut kernel = triples_builder(gpu);
    let first = DuplicateMerge::Call(kernel.functor(FIRST));
    merge_by_key(kernel, shape, keys, count, values, &first)
}

/// The matrix of `count` entries: sorts them stably by key, then merges those with equal keys.
#[inline(never)]
pub(super) fn merge_by_key<A: Element>(
    mut kernel: KernelBuilder,
    (nrows, ncols): (usize, usize),
    keys: Buffer,
    count: usize,
    values: &Buffer,
    merge: &DuplicateMerge,
) -> Result<DeviceCsr<A>> {
    let gpu = &kernel.gpu().clone();
    let item = Width::below(count);
    let keyed = Keyed { keys: Arc::new(keys), items: None, count, key: Width::Eight, item };
    let sorted = keyed.sort(gpu, differing_bits(nrows) << 32 | differing_bits(ncols), nrows)?;
    let (keys, order) = (sorted.keys.address(), address(sorted.items.as_ref()));
    let words = count.div_ceil(32);
    let bits = alloc_entries(gpu, words * 4, nrows)?;
    let (sums, first_repeat) = (alloc_entries(gpu, (words + 1) * 8, nrows)?, gpu.zeroed(8)?);
    let head = [keys, count as u64, bits.address(), sums.address(), first_repeat.address()];
    launch_over(&mut triples_builder(gpu), "vxm::MarkFirsts", &head, words * 32)?;
    let call = match merge {
        DuplicateMerge::Call(call) => *call,
        DuplicateMerge::Refuse => {
            let left = first_repeat.download::<u64>(1)?[0] as usize;
            if left > 0 {
                let place = sorted.keys.download_at::<u64>(count - left, 1)?[0];
                return Err(repeated((place >> 32) as u32, place as u32));
            }
            kernel.functor(FIRST)
        }
    };
    crate::backend::cuda::terminals::scan(gpu, &sums, words)?;
    let marks = [bits.address(), sums.address(), words as u64];
    let nnz = sums.download_at::<u64>(words, 1)?[0] as usize;
    let offsets = gpu.alloc((nrows + 1) * 8)?;
    let head = [&[keys, count as u64][..], &marks, &[nrows as u64, offsets.address()]].concat();
    launch_over(&mut triples_builder(gpu), "vxm::JoinedStarts", &head, nrows + 1)?;
    let columns = alloc_entries(gpu, nnz * 4, nrows)?;
    let merged = alloc_entries(gpu, nnz * size_of::<A>(), nrows)?;
    let a = kernel.element::<A>();
    let ty = kernel.ty("vxm::JoinEqual", [item.ty(), a, call]);
    let tail = [values.address(), columns.address(), merged.address()];
    launch_over(&mut kernel, ty, &[&[keys, order, count as u64][..], &marks, &tail].concat(), count)?;
    DeviceCsr::from_parts(gpu, (nrows, ncols, nnz), offsets, columns, merged)
}
