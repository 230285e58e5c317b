//! Verbs of matrices on a device, entry by entry.

use super::build::{RUN_PLACES, from_places};
use super::compact::{composer, numbered, step, step_by};
use super::compose::{Composer, Node, Piece};
use super::run::{THREADS, blocks, launch};
use super::{DeviceCsr, DeviceVector, Gpu, run};
use crate::error::Result;
use crate::formats::places_of;
use vxm_kernels::{Buffer, Launch, sources};
use vxm_semiring::{BinaryOp, Element, IndexOp, Monoid, Pair, TernaryOp, UnaryOp};

fn entries(gpu: &Gpu) -> Composer {
    composer(gpu).with(sources::RUNS).with(sources::ENTRIES)
}

/// Where a matrix' rows begin, and how many there are.
fn starts<A: Element>(csr: &DeviceCsr<A>) -> [u64; 2] {
    [csr.offsets.address(), csr.nrows() as u64]
}

/// A matrix to be searched: starts, columns, values.
fn sought<A: Element>(csr: &DeviceCsr<A>) -> [u64; 3] {
    [csr.offsets.address(), csr.columns.address(), csr.values.address()]
}

/// `op(a)` of every entry; the places are shared.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn map<A: Element, F: UnaryOp<A>>(csr: &DeviceCsr<A>, op: F) -> Result<DeviceCsr<F::Out>> {
    let mut kernel = entries(csr.gpu());
    let (a, t) = (kernel.element::<A>(), kernel.element::<F::Out>());
    let op = kernel.functor(op);
    let ty = kernel.ty("vxm::MapEntries", [op, a, t]);
    let values = csr.gpu().alloc(csr.nnz() * size_of::<F::Out>())?;
    step(&mut kernel, ty, &[csr.values.address(), csr.nnz() as u64, values.address()], csr.nnz())?;
    Ok(csr.beside(values))
}

/// `op(row, column, a)` of every entry; the places are shared.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn map_index<A: Element, F: IndexOp<A>>(csr: &DeviceCsr<A>, op: F) -> Result<DeviceCsr<F::Out>> {
    let mut kernel = entries(csr.gpu());
    let (a, t) = (kernel.element::<A>(), kernel.element::<F::Out>());
    let op = kernel.functor(op);
    let ty = kernel.ty("vxm::MapPlaces", [op, a, t]);
    let values = csr.gpu().alloc(csr.nnz() * size_of::<F::Out>())?;
    let words = [&starts(csr)[..], &[csr.columns.address(), csr.values.address(), values.address()]].concat();
    step_by(&mut kernel, ty, &words, csr.nnz(), RUN_PLACES)?;
    Ok(csr.beside(values))
}

/// Entries of which something holds.
struct Marked {
    bits: Buffer,
    sums: Buffer,
    words: usize,
    count: usize,
}

impl Marked {
    /// Those of `csr` of which `which` holds, a type whose members are `tail`.
    fn new<A: Element>(csr: &DeviceCsr<A>, mut kernel: Composer, which: Piece, tail: &[u64]) -> Result<Self> {
        let (gpu, words) = (csr.gpu(), csr.nnz().div_ceil(32));
        let (bits, sums) = (gpu.alloc(words * 4)?, gpu.alloc((words + 1) * 8)?);
        let head = [&starts(csr)[..], &[bits.address(), sums.address()], tail].concat();
        let ty = kernel.ty("vxm::Mark", [which]);
        step_by(&mut kernel, ty, &head, csr.nnz(), RUN_PLACES)?;
        run::scan(gpu, &sums, words)?;
        let count = sums.download_at::<u64>(words, 1)?[0] as usize;
        Ok(Self { bits, sums, words, count })
    }

    /// The members of a kernel's `Marks`.
    fn members(&self) -> [u64; 3] {
        [self.bits.address(), self.sums.address(), self.words as u64]
    }
}

/// The entries of which `op(row, column, a)` holds.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn select<A, F>(csr: &DeviceCsr<A>, op: F) -> Result<DeviceCsr<A>>
where
    A: Element,
    F: TernaryOp<u32, u32, A, Out = bool>,
{
    let mut kernel = entries(csr.gpu());
    let (op, a) = (kernel.functor(op), kernel.element::<A>());
    let tail = [csr.columns.address(), csr.values.address()];
    let which = kernel.ty("vxm::Chosen", [op, a]);
    kept(csr, &Marked::new(csr, kernel, which, &tail)?)
}

/// The entries `(i, j)` of which `op(u[i], u[j])` holds.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn select_ends<A, T, F>(csr: &DeviceCsr<A>, op: F, u: &DeviceVector<T>) -> Result<DeviceCsr<A>>
where
    A: Element,
    T: Element,
    F: BinaryOp<T, T, Out = bool>,
{
    let mut kernel = entries(csr.gpu());
    let ends = kernel.stored(u);
    let op = kernel.functor(op);
    let which = kernel.ty("vxm::BetweenEnds", [ends.ty, op]);
    kept(csr, &Marked::new(csr, kernel, which, &[csr.columns.address()])?)
}

/// Entries of a row that a warp goes through; the kernel says the same.
const PART: usize = 4096;

/// `b[k, l] = a[i, j]` where `i` and `j` are the k-th and the l-th index of `u`'s elements, and `op(u[i], u[j])` holds.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn induced<A, T, F>(csr: &DeviceCsr<A>, op: F, u: &DeviceVector<T>) -> Result<DeviceCsr<A>>
where
    A: Element,
    T: Element,
    F: BinaryOp<T, T, Out = bool>,
{
    let (gpu, bits) = (csr.gpu(), u.bits_address());
    if bits == 0 {
        return select_ends(csr, op, u);
    }
    let (list, count, numbers) = numbered(gpu, bits, u.len(), u.count.get().copied())?;
    let parts = listed_lengths(gpu, list.address(), count, csr.offsets.address(), PART)?;
    // as many as there may be
    let most = csr.nnz() / PART + count;
    let (sums, marked) = (gpu.zeroed((most + 1) * 8)?, gpu.alloc((csr.nnz() / 32 + count + 1) * 4)?);
    let mut kernel = entries(gpu);
    let (t, op, a) = (kernel.element::<T>(), kernel.functor(op), kernel.element::<A>());
    let ty = kernel.ty("vxm::Induced", [t, op, a]);
    let program = kernel.program(ty, &[("count", "vxm::Counting()"), ("fill", "vxm::Filling()")])?;
    let marks = [bits, numbers.address(), u.len().div_ceil(32) as u64];
    let rows = [list.address(), count as u64, csr.offsets.address(), parts.address()];
    let head = [&rows[..], &[sums.address(), marked.address()], &marks, &[csr.columns.address(), csr.values.address()]]
        .concat();
    // of no element there is one offset still
    let shape = Launch::linear(blocks(gpu, most.max(1), THREADS as usize / 32), THREADS).with_shared(kernel.shared());
    let go = |entry: &str, kept: [u64; 3]| {
        let words = [&head[..], &kept, &[u.values_address(), 0]].concat();
        launch(&program, entry, shape, &kernel.parameter(&words))
    };
    go("count", [0; 3])?;
    run::scan(gpu, &sums, most)?;
    let nnz = sums.download_at::<u64>(most, 1)?[0] as usize;
    let (offsets, columns) = (gpu.alloc((count + 1) * 8)?, gpu.alloc(nnz * 4)?);
    let values = gpu.alloc(nnz * size_of::<A>())?;
    go("fill", [offsets.address(), columns.address(), values.address()])?;
    DeviceCsr::of(gpu, (count, count, nnz), offsets, columns, values)
}

/// `op(u[i], u[j])` of every entry `(i, j)`; the places are shared if all ends are there, and otherwise those of the entries that
/// have both.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn map_ends<A, T, F>(csr: &DeviceCsr<A>, op: F, u: &DeviceVector<T>) -> Result<DeviceCsr<F::Out>>
where
    A: Element,
    T: Element,
    F: BinaryOp<T, T>,
{
    let whole = u.known_count() == Some(u.len());
    let dropped = (!whole).then(|| select_ends(csr, Pair::<bool>::new(), u)).transpose()?;
    let csr = dropped.as_ref().unwrap_or(csr);
    let mut kernel = entries(csr.gpu());
    let (ends, t) = (kernel.stored(u), kernel.element::<F::Out>());
    let op = kernel.functor(op);
    let ty = kernel.ty("vxm::MapEnds", [ends.ty, op, t]);
    let values = csr.gpu().alloc(csr.nnz() * size_of::<F::Out>())?;
    let words = [&starts(csr)[..], &[csr.columns.address(), values.address()]].concat();
    step_by(&mut kernel, ty, &words, csr.nnz(), RUN_PLACES)?;
    Ok(csr.beside(values))
}

/// The marked entries.
fn kept<A: Element>(csr: &DeviceCsr<A>, marked: &Marked) -> Result<DeviceCsr<A>> {
    let gpu = csr.gpu();
    let tail = [csr.columns.address(), csr.values.address()];
    let offsets = gpu.alloc((csr.nrows() + 1) * 8)?;
    let (columns, values) = (gpu.alloc(marked.count * 4)?, gpu.alloc(marked.count * size_of::<A>())?);
    let mut keeping = entries(gpu);
    let a = keeping.element::<A>();
    let ty = keeping.ty("vxm::KeepMarked", [a]);
    let out = [offsets.address(), columns.address(), values.address()];
    let words = [&starts(csr)[..], &marked.members(), &tail, &out].concat();
    step(&mut keeping, ty, &words, csr.nnz().max(csr.nrows() + 1))?;
    DeviceCsr::of(gpu, (csr.nrows(), csr.ncols(), marked.count), offsets, columns, values)
}

/// `op(a, b)` where both matrices hold an entry.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn ewise_mult<A, B, F>(x: &DeviceCsr<A>, y: &DeviceCsr<B>, op: F) -> Result<DeviceCsr<F::Out>>
where
    A: Element,
    B: Element,
    F: BinaryOp<A, B>,
{
    let gpu = x.gpu();
    let mut kernel = entries(gpu);
    let b = kernel.element::<B>();
    let which = kernel.ty("vxm::Meeting", [b, true.into()]);
    let marked = Marked::new(x, kernel, which, &[&[x.columns.address()][..], &sought(y)].concat())?;
    let offsets = gpu.alloc((x.nrows() + 1) * 8)?;
    let (columns, values) = (gpu.alloc(marked.count * 4)?, gpu.alloc(marked.count * size_of::<F::Out>())?);
    let mut kernel = entries(gpu);
    let (a, b, t) = (kernel.element::<A>(), kernel.element::<B>(), kernel.element::<F::Out>());
    let op = kernel.functor(op);
    let ty = kernel.ty("vxm::JoinMarked", [a, b, t, op]);
    let from = [x.columns.address(), x.values.address()];
    let out = [offsets.address(), columns.address(), values.address()];
    let words = [&starts(x)[..], &marked.members(), &from, &sought(y), &out].concat();
    step(&mut kernel, ty, &words, x.nnz().max(x.nrows() + 1))?;
    DeviceCsr::of(gpu, (x.nrows(), x.ncols(), marked.count), offsets, columns, values)
}

/// `op(a, b)` where both matrices hold an entry, the one that is there where only one is.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn ewise_add<A, F>(x: &DeviceCsr<A>, y: &DeviceCsr<A>, op: F) -> Result<DeviceCsr<A>>
where
    A: Element,
    F: BinaryOp<A, A, Out = A>,
{
    let gpu = x.gpu();
    let mut kernel = entries(gpu);
    let a = kernel.element::<A>();
    let which = kernel.ty("vxm::Meeting", [a, false.into()]);
    let marked = Marked::new(y, kernel, which, &[&[y.columns.address()][..], &sought(x)].concat())?;
    let nnz = x.nnz() + marked.count;
    let offsets = gpu.alloc((x.nrows() + 1) * 8)?;
    let (columns, values) = (gpu.alloc(nnz * 4)?, gpu.alloc(nnz * size_of::<A>())?);
    let mut kernel = entries(gpu);
    let a = kernel.element::<A>();
    let op = kernel.functor(op);
    let ty = kernel.ty("vxm::MergeEntries", [a, op]);
    let out = [offsets.address(), columns.address(), values.address()];
    let words = [&[x.nrows() as u64][..], &sought(x), &sought(y), &marked.members(), &out].concat();
    step(&mut kernel, ty, &words, x.nnz().max(y.nnz()).max(x.nrows() + 1))?;
    DeviceCsr::of(gpu, (x.nrows(), x.ncols(), nnz), offsets, columns, values)
}

/// Each row's entries folded to one element; rows without entries hold none.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn reduce_rows<A: Element, M: Monoid<A>>(csr: std::sync::Arc<DeviceCsr<A>>, monoid: M) -> Result<DeviceVector<A>> {
    let mut kernel = entries(csr.gpu());
    let nrows = csr.nrows();
    let (add, a) = (kernel.monoid::<A, M>(monoid), kernel.element::<A>());
    let offset = kernel.rows(csr, false);
    let ty = kernel.ty("vxm::FoldRow", [offset, a, add]);
    run::eval(kernel, &Node::new(ty, false), nrows)
}

/// The running sums of the lengths, in parts of `each`, of listed runs that begin at `starts`; of all below `count` where `list` is 0.
pub(super) fn listed_lengths(gpu: &Gpu, list: u64, count: usize, starts: u64, each: usize) -> Result<Buffer> {
    let sums = gpu.alloc((count + 1) * 8)?;
    let mut kernel = composer(gpu).with(sources::RUNS);
    step(&mut kernel, "vxm::ListedLengths", &[list, count as u64, starts, sums.address(), each as u64], count)?;
    run::scan(gpu, &sums, count)?;
    Ok(sums)
}

/// `b[k, l] = a[rows[k], columns[l]]`; the indices lie within the matrix.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn extract<A: Element>(csr: &DeviceCsr<A>, rows: &[u32], columns: &[u32]) -> Result<DeviceCsr<A>> {
    let gpu = csr.gpu();
    let list = gpu.upload_slice(rows)?;
    let lengths = listed_lengths(gpu, list.address(), rows.len(), csr.offsets.address(), 1)?;
    let count = lengths.download_at::<u64>(rows.len(), 1)?[0] as usize;
    let ascends = |list: &[u32]| list.is_sorted_by(|a, b| a < b);
    if count == csr.nnz()
        && ascends(rows)
        && ascends(columns)
        && let Some(numbers) = renumbered(csr, columns)?
    {
        return DeviceCsr::of(gpu, (rows.len(), columns.len(), count), lengths, numbers, csr.values.copy()?);
    }
    let (first, places) = places_of(columns, csr.ncols());
    let (places, first) = (gpu.upload_slice(&places)?, gpu.upload_slice(&first)?);
    let listed = [list.address(), rows.len() as u64, lengths.address(), csr.offsets.address()];
    let from = [csr.columns.address(), first.address()];
    let sums = gpu.alloc((count + 1) * 8)?;
    let words = [&listed[..], &from, &[sums.address()]].concat();
    step_by(&mut entries(gpu), "vxm::Wanted", &words, count, RUN_PLACES)?;
    run::scan(gpu, &sums, count)?;
    let taken = sums.download_at::<u64>(count, 1)?[0] as usize;
    let (keys, values) = (gpu.alloc(taken * 8)?, gpu.alloc(taken * size_of::<A>())?);
    let mut kernel = entries(gpu);
    let a = kernel.element::<A>();
    let ty = kernel.ty("vxm::TakeWanted", [a]);
    let tail = [sums.address(), count as u64, places.address(), csr.values.address(), keys.address(), values.address()];
    step_by(&mut kernel, ty, &[&listed[..], &from, &tail].concat(), taken, RUN_PLACES)?;
    from_places(gpu, (rows.len(), columns.len()), keys, taken, &values)
}

/// The entries' columns as places in `columns`, none of which stands there twice; `None` if an entry lies in another one.
fn renumbered<A: Element>(csr: &DeviceCsr<A>, columns: &[u32]) -> Result<Option<Buffer>> {
    let (gpu, entries, n) = (csr.gpu(), csr.nnz(), columns.len());
    let list = gpu.upload_slice(columns)?;
    // those that don't stand there rank above all that do
    let (mut ranks, numbers, there) = (gpu.alloc(csr.ncols() * 4)?, gpu.alloc(entries * 4)?, gpu.zeroed(8)?);
    ranks.fill(u8::MAX)?;
    let mut tools = composer(gpu).with(sources::CROWDED);
    step(&mut tools, "vxm::Invert", &[list.address(), n as u64, ranks.address()], n)?;
    let words = [csr.columns.address(), entries as u64, ranks.address(), numbers.address(), n as u64, there.address()];
    step(&mut tools, "vxm::Renumber", &words, entries)?;
    Ok((there.download::<u64>(1)?[0] == entries as u64).then_some(numbers))
}
