//! Products of two sparse matrices without a mask, on a device: all products are written, sorted by place, and folded (ESC: expand, sort,
//! compress; Bell, Dalton and Olson, SIAM J. Sci. Comput. 2012, section 4).

use crate::backend::cuda::budget::alloc_entries;
use crate::backend::cuda::build::{RUN_PLACES, merge_by_key, triples_builder};
use crate::backend::cuda::codegen::builder::{DuplicateMerge, KernelBuilder};
use crate::backend::cuda::compact::{launch_over, launch_over_by};
use crate::backend::cuda::{DeviceCsr, Gpu, terminals};
use crate::backend::plan;
use crate::error::Result;
use crate::kernels::{Buffer, sources};
use std::ops::Range;
use vxm_semiring::{Element, Semiring};

/// Bytes of a product's key, before and after a pass of the sort, of its position likewise, and of its mark and the mark's running sum.
const SORTED_BYTES: usize = 2 * 8 + 2 * 8 + 1;

fn mxm_builder(gpu: &Gpu) -> KernelBuilder {
    triples_builder(gpu).with(sources::ENTRIES).with(sources::MXM)
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
    /// The product by rows: `C[i, j]` is the fold of `A[i, k] ⊗ B[k, j]` over ascending `k`, from left to right. O(products) time and memory; if
    /// all products don't fit on the device together, groups of rows are computed one after the other.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn multiply<S: Semiring<A, B>>(&self, ring: S) -> Result<DeviceCsr<S::Out>> {
        let (gpu, nrows, entries) = (self.a.gpu(), self.a.nrows(), self.a.nnz());
        let rows = alloc_entries(gpu, entries * 4, nrows)?;
        let words = [self.a.offsets.address(), nrows as u64, rows.address()];
        launch_over_by(&mut triples_builder(gpu), "vxm::RunOf", &words, entries, RUN_PLACES)?;
        let each = SORTED_BYTES + 4 + 2 * size_of::<S::Out>();
        let room = plan::forced().products_at_once.unwrap_or(gpu.memory()?.0 / 2 / each as u64);
        // rows are told apart on the host only if there are several groups
        let groups = match self.products <= room {
            true => vec![(0..nrows, 0..self.products)],
            false => {
                let before = self.before.download::<u64>(nrows + 1)?;
                groups(&before, room).into_iter().map(|rows| (rows.clone(), before[rows.start]..before[rows.end])).collect()
            }
        };
        tracing::debug!(products = self.products, groups = groups.len(), "mxm by sorting products");
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
        let (gpu, nrows) = (self.a.gpu(), group.len());
        let (first, count) = (products.start, (products.end - products.start) as usize);
        let keys = alloc_entries(gpu, count * 8, nrows)?;
        let products = alloc_entries(gpu, count * size_of::<S::Out>(), nrows)?;
        let mut kernel = mxm_builder(gpu);
        let (a, b, out) = (kernel.element::<A>(), kernel.element::<B>(), kernel.element::<S::Out>());
        let mul = kernel.functor(ring.mul());
        let ty = kernel.ty("vxm::Products", [a, b, out, mul]);
        let words = [
            self.sums.address(),
            self.a.nnz() as u64,
            first,
            count as u64,
            rows.address(),
            group.start as u64,
            self.a.columns.address(),
            self.a.values.address(),
            self.b.offsets.address(),
            self.b.columns.address(),
            self.b.values.address(),
            keys.address(),
            products.address(),
        ];
        launch_over_by(&mut kernel, ty, &words, count, RUN_PLACES)?;
        let mut kernel = triples_builder(gpu);
        let add = DuplicateMerge::Call(kernel.functor(ring.add()));
        merge_by_key(kernel, (nrows, self.b.ncols()), keys, count, &products, &add)
    }
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
