//! Products of two sparse matrices under a structural mask, on a device: a dot product for each place of the mask.

use crate::backend::cuda::budget::alloc_entries;
use crate::backend::cuda::codegen::builder::KernelBuilder;
use crate::backend::cuda::compact::{launch_over, launch_over_by, list};
use crate::backend::cuda::entries::{Marked, entries_builder, keep_marked, listed_lengths, search_members};
use crate::backend::cuda::{DeviceCsr, Gpu};
use crate::backend::plan::{self, RowPath};
use crate::backend::tuning::{THREADS, tuning};
use crate::error::Result;
use crate::kernels::{Buffer, sources};
use vxm_semiring::{Element, Semiring};

/// The entries of a table of a warp. It must equal the kernels' `HELD`.
const WARP_TABLE: u64 = 256;
/// The entries of the longest row that is put into tables: eight tables of a block. Each task of a row fills all of them.
const LONGEST: u64 = 8 * 2048;
/// The places of a task of a warp, and of a block. They must equal the kernels' `PLACES`.
const PLACES: [usize; 2] = [64, 256];

/// The product of `a` with a matrix that has the rows of `columns` as its columns, at the places of `mask`: a dot product for each.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn dots_at_places<A, B, S>(
    a: &DeviceCsr<A>,
    columns: &DeviceCsr<B>,
    mask: &DeviceCsr<()>,
    ring: S,
) -> Result<DeviceCsr<S::Out>>
where
    A: Element,
    B: Element,
    S: Semiring<A, B>,
{
    let gpu = a.gpu();
    // a dot for each place of the mask; places without a product are dropped
    let dots = alloc_entries(gpu, mask.nnz() * size_of::<S::Out>(), mask.nrows())?;
    let rows = TableRows::of(a, mask)?;
    let listed = |bits: &Buffer| list(gpu, bits.address(), mask.nrows(), None);
    let lists = [(listed(&rows.of_warps)?, false, PLACES[0]), (listed(&rows.of_blocks)?, true, PLACES[1])];
    let some = lists.iter().any(|((_, count), ..)| *count > 0);
    let known_bytes = if some { mask.nnz().div_ceil(32) * 4 } else { 0 };
    let mut known = alloc_entries(gpu, known_bytes, mask.nrows())?;
    if some {
        known.fill_at(0, known_bytes, 0)?;
    }
    let members = [&search_members(a)[..], &search_members(columns)].concat();
    let kernel = |template: &'static str, by_block: Option<bool>| {
        let mut kernel = entries_builder(gpu).with(sources::MXM);
        let (left, right, out) = (kernel.element::<A>(), kernel.element::<B>(), kernel.element::<S::Out>());
        let (mul, add) = (kernel.functor(ring.mul()), kernel.monoid::<S::Out, S::Add>(ring.add()));
        let ty = match by_block {
            Some(by_block) => kernel.ty(template, [left, right, out, mul, add, by_block.into()]),
            None => kernel.ty(template, [left, right, out, mul, add]),
        };
        (kernel, ty)
    };
    for ((list, count), by_block, places) in lists {
        if count == 0 {
            continue;
        }
        let tasks = listed_lengths(gpu, list.address(), count, mask.offsets.address(), places)?;
        let taken = gpu.zeroed(8)?;
        let head = [list.address(), count as u64, tasks.address(), taken.address(), mask.offsets.address()];
        let words = [&head[..], &[mask.columns.address()], &members, &[known.address(), dots.address()]].concat();
        let (mut kernel, ty) = kernel("vxm::DotsOverTables", Some(by_block));
        let most = count + mask.nnz() / places;
        launch_over_by(&mut kernel, ty, &words, most, if by_block { 1 } else { THREADS as usize / 32 })?;
    }
    let (kernel, predicate) = kernel("vxm::DotAtPlaces", None);
    let tables = [rows.all.address(), known.address(), dots.address()];
    let marked = Marked::new(mask, kernel, predicate, &[&[mask.columns.address()][..], &members, &tables].concat())?;
    keep_marked(&mask.with_values::<S::Out>(dots), &marked)
}

/// The rows that are computed over tables, a bit for each.
struct TableRows {
    all: Buffer,
    of_warps: Buffer,
    of_blocks: Buffer,
}

impl TableRows {
    fn of<A: Element>(a: &DeviceCsr<A>, mask: &DeviceCsr<()>) -> Result<Self> {
        let (gpu, nrows) = (a.gpu(), mask.nrows());
        let bits = || gpu.alloc(nrows.div_ceil(32) * 4);
        let rows = Self { all: bits()?, of_warps: bits()?, of_blocks: bits()? };
        let least = match plan::forced().row_path {
            Some(RowPath::Hash) => 1,
            Some(RowPath::Dots) => u64::MAX,
            _ => u64::from(tuning().table_row),
        };
        let to = [rows.all.address(), rows.of_warps.address(), rows.of_blocks.address()];
        let head = [a.offsets.address(), mask.offsets.address(), nrows as u64, least, WARP_TABLE, LONGEST];
        let mut kernel: KernelBuilder = builder(gpu);
        launch_over(&mut kernel, "vxm::TableRows", &[&head[..], &to].concat(), nrows)?;
        Ok(rows)
    }
}

fn builder(gpu: &Gpu) -> KernelBuilder {
    entries_builder(gpu).with(sources::MXM)
}
