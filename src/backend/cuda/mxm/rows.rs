//! Products of two sparse matrices without a mask, on a device, row by row.
//!
//! A block takes the products of a few rows together, or those of a long row in a range of columns. It sorts them by place in shared memory,
//! and folds those of each place from left to right. The entries are put down as they are found, and gathered once their numbers are known.

use crate::backend::cuda::budget::alloc_entries;
use crate::backend::cuda::build::{RUN_PLACES, triples_builder};
use crate::backend::cuda::codegen::builder::KernelBuilder;
use crate::backend::cuda::compact::{launch_over, launch_over_by, list};
use crate::backend::cuda::entries::listed_lengths;
use crate::backend::cuda::{DeviceCsr, Gpu, terminals};
use crate::backend::plan::{self, RowPath};
use crate::backend::tuning::{self, THREADS};
use crate::error::Result;
use crate::kernels::{Buffer, sources};
use std::ops::Range;
use vxm_semiring::{Element, Semiring};

fn mxm_builder(gpu: &Gpu) -> KernelBuilder {
    triples_builder(gpu).with(sources::ENTRIES).with(sources::MXM)
}

fn rows_builder(gpu: &Gpu) -> KernelBuilder {
    mxm_builder(gpu).with(sources::MXM_ROWS)
}

/// The products that so many threads sort together. It must equal the kernels' `Chunk::ROOM`.
fn chunk(threads: u64, size: usize) -> u64 {
    threads * if size > 8 { 4 } else { 8 }
}

/// The work of a product, counted before it is done.
#[derive(Debug)]
pub struct Counted<'a, A: Element, B: Element> {
    a: &'a DeviceCsr<A>,
    b: &'a DeviceCsr<B>,
    /// The number of products before each entry of `a`.
    sums: Buffer,
    /// The number of products before each row.
    before: Buffer,
    products: u64,
    /// A lower bound on the entries of the result.
    pub least_entries: u64,
}

/// Counts the products of `a` and `b`.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn count<'a, A: Element, B: Element>(a: &'a DeviceCsr<A>, b: &'a DeviceCsr<B>) -> Result<Counted<'a, A, B>> {
    let (gpu, entries, nrows) = (a.gpu(), a.nnz(), a.nrows());
    let mut sums = alloc_entries(gpu, (entries + 1) * 8, nrows)?;
    sums.fill_at(0, 8, 0)?;
    let words = [a.columns.address(), entries as u64, b.offsets.address(), sums.address()];
    launch_over(&mut mxm_builder(gpu), "vxm::CountProducts", &words, entries)?;
    terminals::scan(gpu, &sums, entries)?;
    let (before, mut longest) = (gpu.alloc((nrows + 1) * 8)?, gpu.alloc((nrows + 1) * 8)?);
    longest.fill_at(0, 8, 0)?;
    let words = [a.offsets.address(), nrows as u64, sums.address(), before.address(), longest.address()];
    launch_over(&mut mxm_builder(gpu), "vxm::CountByRow", &words, nrows + 1)?;
    terminals::scan(gpu, &longest, nrows)?;
    let last = |sums: &Buffer, at| -> Result<u64> { Ok(sums.download_at::<u64>(at, 1)?[0]) };
    let (products, least_entries) = (last(&sums, entries)?, last(&longest, nrows)?);
    Ok(Counted { a, b, sums, before, products, least_entries })
}

impl<A: Element, B: Element> Counted<'_, A, B> {
    /// The product by rows: `C[i, j]` is the fold of `A[i, k] ⊗ B[k, j]` over ascending `k`, from left to right. O(products log(chunk)) time.
    /// There is memory for as many entries as there are products. If that is too much, groups of rows are computed one after the other. Long
    /// rows take up to an eighth of the free memory more.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn multiply<S: Semiring<A, B>>(&self, ring: S) -> Result<DeviceCsr<S::Out>> {
        let (gpu, nrows, entries) = (self.a.gpu(), self.a.nrows(), self.a.nnz());
        let rows = alloc_entries(gpu, entries * 4, nrows)?;
        let words = [self.a.offsets.address(), nrows as u64, rows.address()];
        launch_over_by(&mut triples_builder(gpu), "vxm::RunOf", &words, entries, RUN_PLACES)?;
        // an entry is put down, and gathered
        let each = 2 * (4 + size_of::<S::Out>());
        let room = plan::forced().products_at_once.unwrap_or(gpu.memory()?.0 / 2 / each as u64);
        // rows are told apart on the host only if there are several groups
        let groups = match self.products <= room {
            true => vec![(0..nrows, 0..self.products)],
            false => {
                let before = self.before.download::<u64>(nrows + 1)?;
                groups(&before, room).into_iter().map(|rows| (rows.clone(), before[rows.start]..before[rows.end])).collect()
            }
        };
        tracing::debug!(products = self.products, groups = groups.len(), "mxm by rows");
        let pieces = groups.into_iter().map(|group| self.group(group, &rows, ring)).collect::<Result<Vec<_>>>()?;
        stacked(gpu, (nrows, self.b.ncols()), pieces)
    }

    /// The rows of a group, which have these products, as a matrix of their own. `rows` has the row of each entry of `a`.
    fn group<S: Semiring<A, B>>(
        &self,
        (group, products): (Range<usize>, Range<u64>),
        rows: &Buffer,
        ring: S,
    ) -> Result<DeviceCsr<S::Out>> {
        let (gpu, nrows, size) = (self.a.gpu(), group.len(), size_of::<S::Out>());
        let products = products.end - products.start;
        let starts = self.a.offsets.address() + 8 * group.start as u64;
        let before = self.before.address() + 8 * group.start as u64;
        let parts = Parts::of_rows(gpu, [starts, before], (nrows, self.b.ncols(), products), size)?;
        let elements = parts.long.as_ref().map(|long| long.elements(gpu, size)).transpose()?;
        let (taken, from, sizes) = (gpu.zeroed(8)?, gpu.alloc(parts.count * 8)?, gpu.zeroed((parts.count + 1) * 8)?);
        // entries of parts, as they are found; they may lie on the host, so they come last
        let most = (products as usize).min(nrows.saturating_mul(self.b.ncols()));
        let columns = alloc_entries(gpu, most * 4, nrows)?;
        let values = alloc_entries(gpu, most * size, nrows)?;
        let put = [&taken, &from, &sizes, &columns, &values].map(|buffer| buffer.address());
        let factors = [
            self.a.columns.address(),
            self.a.values.address(),
            self.b.offsets.address(),
            self.b.columns.address(),
            self.b.values.address(),
        ];
        let kernel = || {
            let mut kernel = rows_builder(gpu);
            let types = [kernel.element::<A>(), kernel.element::<B>(), kernel.element::<S::Out>()];
            let operators = [kernel.functor(ring.mul()), kernel.functor(ring.add())];
            (kernel, types, operators)
        };
        let (mut short, [a, b, out], [mul, add]) = kernel();
        let ty = short.ty("vxm::ShortProductRows", [a, b, out, mul, add, (parts.threads as usize).into()]);
        let head = [starts, before, nrows as u64, parts.room, self.sums.address(), rows.address()];
        let words = [&head[..], &[group.start as u64, parts.firsts.address()], &factors, &put].concat();
        let of_block = parts.room as usize * (THREADS as usize / parts.threads as usize);
        launch_over_by(&mut short, ty, &words, products as usize, of_block)?;
        if let (Some(long), Some((bits, sums))) = (&parts.long, &elements) {
            let (mut kernel, [a, b, out], [mul, add]) = kernel();
            let ty = kernel.ty("vxm::LongProductRows", [a, b, out, mul, add]);
            let head = [starts, long.list.address(), long.count as u64, long.room, long.tasks.address()];
            let own = [long.widest as u64, bits.address(), sums.address()];
            let words =
                [&head[..], &[self.b.ncols() as u64, parts.firsts.address()], &factors, &put, &own].concat();
            launch_over_by(&mut kernel, ty, &words, long.blocks, 1)?;
        }
        terminals::scan(gpu, &sizes, parts.count)?;
        let nnz = sizes.download_at::<u64>(parts.count, 1)?[0] as usize;
        let offsets = gpu.alloc((nrows + 1) * 8)?;
        let words = [parts.firsts.address(), nrows as u64, sizes.address(), offsets.address()];
        launch_over(&mut rows_builder(gpu), "vxm::StartsOfParts", &words, nrows + 1)?;
        let (gathered, joined) = (alloc_entries(gpu, nnz * 4, nrows)?, alloc_entries(gpu, nnz * size, nrows)?);
        let mut kernel = rows_builder(gpu);
        let out = kernel.element::<S::Out>();
        let ty = kernel.ty("vxm::GatherParts", [out]);
        let head = [sizes.address(), parts.count as u64, from.address(), columns.address(), values.address()];
        let words = [&head[..], &[gathered.address(), joined.address()]].concat();
        launch_over_by(&mut kernel, ty, &words, nnz, RUN_PLACES)?;
        DeviceCsr::from_parts(gpu, (nrows, self.b.ncols(), nnz), offsets, gathered, joined)
    }
}

/// The parts of a product's rows: a row, or a range of columns of a long row.
struct Parts {
    /// The first part of each row.
    firsts: Buffer,
    count: usize,
    /// The threads that sort short rows together, and for how many products they have room.
    threads: u32,
    room: u64,
    long: Option<LongRows>,
}

/// The rows that have more products than a block sorts at once.
struct LongRows {
    list: Buffer,
    count: usize,
    /// The running sums of their parts.
    tasks: Buffer,
    /// The products that a block sorts together.
    room: u64,
    /// Blocks that have elements for `widest` columns each, a multiple of 32.
    blocks: usize,
    widest: usize,
}

impl LongRows {
    /// A bit and an element of `size` bytes for each column of each block.
    fn elements(&self, gpu: &Gpu, size: usize) -> Result<(Buffer, Buffer)> {
        let columns = self.blocks * self.widest;
        Ok((gpu.zeroed(columns / 8)?, gpu.alloc(columns * size)?))
    }
}

impl Parts {
    /// Of rows with these addresses of starts in the left matrix, and of the products before each. Elements take `size` bytes.
    fn of_rows(
        gpu: &Gpu,
        [starts, before]: [u64; 2],
        (nrows, ncols, products): (usize, usize, u64),
        size: usize,
    ) -> Result<Self> {
        let (blocks, mut widest) = room_of_blocks(gpu, ncols, size)?;
        // warps, if a row has room among a warp's products twice over
        let threads = if 2 * products <= chunk(32, size) * nrows as u64 { 32 } else { THREADS };
        let (mut room, mut of_block) = (chunk(threads.into(), size), chunk(THREADS.into(), size));
        if plan::forced().row_path == Some(RowPath::Dense) {
            (room, of_block, widest) = (32, 32, 32);
        }
        let bits = gpu.alloc(nrows.div_ceil(32) * 4)?;
        let mut firsts = gpu.alloc((nrows + 1) * 8)?;
        firsts.fill_at(0, 8, 0)?;
        let head = [starts, before, nrows as u64, ncols as u64, room, of_block / 2, widest as u64];
        let words = [&head[..], &[bits.address(), firsts.address()]].concat();
        launch_over(&mut rows_builder(gpu), "vxm::PartsOfRows", &words, nrows)?;
        terminals::scan(gpu, &firsts, nrows)?;
        let (list, count) = list(gpu, bits.address(), nrows, None)?;
        if count == 0 {
            return Ok(Self { firsts, count: nrows, threads, room, long: None });
        }
        let tasks = listed_lengths(gpu, list.address(), count, firsts.address(), 1)?;
        let parts = firsts.download_at::<u64>(nrows, 1)?[0] as usize;
        let long = Some(LongRows { list, count, tasks, room: of_block, blocks: blocks.min(parts), widest });
        Ok(Self { firsts, count: parts, threads, room, long })
    }
}

/// How many blocks compute long rows, and the columns for which each may have an element of `size` bytes and a bit.
fn room_of_blocks(gpu: &Gpu, ncols: usize, size: usize) -> Result<(usize, usize)> {
    let blocks = tuning::PRODUCT_ROW_BLOCKS * gpu.multiprocessors() as usize;
    let bytes = gpu.memory()?.0 as usize / tuning::PRODUCT_ROW_SHARE / blocks;
    let widest = (bytes / (size + 1)).min(ncols).max(1);
    Ok((blocks, widest.next_multiple_of(32)))
}

/// Groups of rows of at most `room` products, or of a single row. `before` holds the number of products before each row.
fn groups(before: &[u64], room: u64) -> Vec<Range<usize>> {
    let (mut groups, mut first, nrows) = (Vec::new(), 0, before.len() - 1);
    while first < nrows {
        let end = before.partition_point(|&products| products <= before[first].saturating_add(room)) - 1;
        let end = end.clamp(first + 1, nrows);
        groups.push(first..end);
        first = end;
    }
    groups
}

/// The matrix of pieces, one below the other.
fn stacked<T: Element>(gpu: &Gpu, (nrows, ncols): (usize, usize), pieces: Vec<DeviceCsr<T>>) -> Result<DeviceCsr<T>> {
    let pieces = match <[DeviceCsr<T>; 1]>::try_from(pieces) {
        Ok([piece]) => return Ok(piece),
        Err(pieces) => pieces,
    };
    let nnz = pieces.iter().map(DeviceCsr::nnz).sum::<usize>();
    let size = size_of::<T>();
    let mut offsets = gpu.alloc((nrows + 1) * 8)?;
    offsets.fill_at(0, 8, 0)?;
    let (mut columns, mut values) = (alloc_entries(gpu, nnz * 4, nrows)?, alloc_entries(gpu, nnz * size, nrows)?);
    let (mut row, mut entry) = (0, 0);
    for piece in pieces {
        let count = piece.nnz();
        let to = offsets.address() + row as u64 * 8;
        let words = [piece.offsets.address(), piece.nrows() as u64 + 1, entry as u64, to];
        launch_over(&mut mxm_builder(gpu), "vxm::ShiftStarts", &words, piece.nrows() + 1)?;
        columns.copy_range(entry * 4, &piece.columns, 0, count * 4)?;
        values.copy_range(entry * size, &piece.values, 0, count * size)?;
        (row, entry) = (row + piece.nrows(), entry + count);
    }
    DeviceCsr::from_parts(gpu, (nrows, ncols, nnz), offsets, columns, values)
}

#[cfg(test)]
mod tests {
    use super::groups;

    #[test]
    fn groups_are_whole_rows() {
        // rows of 3, 0, 2, 9, 1 and 0 products
        let before = [0, 3, 3, 5, 14, 15, 15];
        assert_eq!(groups(&before, 5), [0..3, 3..4, 4..6]);
        assert_eq!(groups(&before, 0), [0..1, 1..2, 2..3, 3..4, 4..5, 5..6]);
        assert_eq!(groups(&before, u64::MAX).as_slice(), std::slice::from_ref(&(0..6)));
        assert_eq!(groups(&[0], 7), []);
    }
}
