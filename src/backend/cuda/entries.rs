//! Matrix verbs on a device, which work entry by entry.

use crate::backend::cuda::build::{RUN_PLACES, from_keys};
use crate::backend::cuda::codegen::builder::{CppType, KernelBuilder, Node};
use crate::backend::cuda::budget::alloc_entries;
use crate::backend::cuda::compact::{builder, launch_over, launch_over_by, list_with_sums};
use crate::backend::cuda::terminals::{blocks, launch};
use crate::backend::cuda::{DeviceCsr, DeviceVector, Gpu, terminals};
use crate::backend::tuning::THREADS;
use crate::error::Result;
use crate::formats::places_of;
use crate::kernels::{Buffer, Launch, sources};
use vxm_semiring::{BinaryOp, Element, IndexOp, Monoid, Pair, TernaryOp, UnaryOp};

pub(super) fn entries_builder(gpu: &Gpu) -> KernelBuilder {
    builder(gpu).with(sources::RUNS).with(sources::ENTRIES)
}

/// The address of a matrix' offsets, and the number of rows.
fn row_starts<A: Element>(csr: &DeviceCsr<A>) -> [u64; 2] {
    [csr.offsets.address(), csr.nrows() as u64]
}

/// The addresses of offsets, columns and values, for a kernel that searches the rows.
pub(super) fn search_members<A: Element>(csr: &DeviceCsr<A>) -> [u64; 3] {
    [csr.offsets.address(), csr.columns.address(), csr.values.address()]
}

/// `op(a)` of every entry. The result shares the pattern.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn map<A: Element, F: UnaryOp<A>>(csr: &DeviceCsr<A>, op: F) -> Result<DeviceCsr<F::Out>> {
    let mut kernel = entries_builder(csr.gpu());
    let (a, t) = (kernel.element::<A>(), kernel.element::<F::Out>());
    let op = kernel.functor(op);
    let ty = kernel.ty("vxm::MapEntries", [op, a, t]);
    let values = alloc_entries(csr.gpu(), csr.nnz() * size_of::<F::Out>(), csr.nrows())?;
    launch_over(&mut kernel, ty, &[csr.values.address(), csr.nnz() as u64, values.address()], csr.nnz())?;
    Ok(csr.with_values(values))
}

/// `op(row, column, a)` of every entry. The result shares the pattern.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn map_index<A: Element, F: IndexOp<A>>(csr: &DeviceCsr<A>, op: F) -> Result<DeviceCsr<F::Out>> {
    let mut kernel = entries_builder(csr.gpu());
    let (a, t) = (kernel.element::<A>(), kernel.element::<F::Out>());
    let op = kernel.functor(op);
    let ty = kernel.ty("vxm::MapEntriesIndexed", [op, a, t]);
    let values = alloc_entries(csr.gpu(), csr.nnz() * size_of::<F::Out>(), csr.nrows())?;
    let words = [&row_starts(csr)[..], &[csr.columns.address(), csr.values.address(), values.address()]].concat();
    launch_over_by(&mut kernel, ty, &words, csr.nnz(), RUN_PLACES)?;
    Ok(csr.with_values(values))
}

/// The entries of a matrix for which a predicate holds: a bit for each entry, and the running sums of the words' set bits.
pub(super) struct Marked {
    bits: Buffer,
    sums: Buffer,
    words: usize,
    count: usize,
}

impl Marked {
    /// Marks the entries of `csr` for which the C++ type `predicate` holds. `tail` are the members of that type.
    #[inline(never)]
    pub(super) fn new<A: Element>(
        csr: &DeviceCsr<A>,
        mut kernel: KernelBuilder,
        predicate: CppType,
        tail: &[u64],
    ) -> Result<Self> {
        let (gpu, words) = (csr.gpu(), csr.nnz().div_ceil(32));
        let bits = alloc_entries(gpu, words * 4, csr.nrows())?;
        let sums = alloc_entries(gpu, (words + 1) * 8, csr.nrows())?;
        let head = [&row_starts(csr)[..], &[bits.address(), sums.address()], tail].concat();
        let ty = kernel.ty("vxm::Mark", [predicate]);
        launch_over_by(&mut kernel, ty, &head, csr.nnz(), RUN_PLACES)?;
        terminals::scan(gpu, &sums, words)?;
        let count = sums.download_at::<u64>(words, 1)?[0] as usize;
        Ok(Self { bits, sums, words, count })
    }

    /// The members of the kernels' type `Marks`.
    fn members(&self) -> [u64; 3] {
        [self.bits.address(), self.sums.address(), self.words as u64]
    }
}

/// The entries for which `op(row, column, a)` holds.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn select<A, F>(csr: &DeviceCsr<A>, op: F) -> Result<DeviceCsr<A>>
where
    A: Element,
    F: TernaryOp<u32, u32, A, Out = bool>,
{
    let mut kernel = entries_builder(csr.gpu());
    let (op, a) = (kernel.functor(op), kernel.element::<A>());
    let tail = [csr.columns.address(), csr.values.address()];
    let predicate = kernel.ty("vxm::SelectEntries", [op, a]);
    keep_marked(csr, &Marked::new(csr, kernel, predicate, &tail)?)
}

/// The entries `(i, j)` for which `u` holds both elements and `op(u[i], u[j])` holds.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn select_ends<A, T, F>(csr: &DeviceCsr<A>, op: F, u: &DeviceVector<T>) -> Result<DeviceCsr<A>>
where
    A: Element,
    T: Element,
    F: BinaryOp<T, T, Out = bool>,
{
    let mut kernel = entries_builder(csr.gpu());
    let ends = kernel.stored(u);
    let op = kernel.functor(op);
    let predicate = kernel.ty("vxm::SelectByEnds", [ends.ty, op]);
    keep_marked(csr, &Marked::new(csr, kernel, predicate, &[csr.columns.address()])?)
}

/// Entries of a row that a warp visits. It must equal the kernel's `PART`.
const PART: usize = 4096;

/// The submatrix induced by `u`: `b[k, l] = a[i, j]` for the k-th index `i` and the l-th index `j` of `u`'s elements, where
/// `op(u[i], u[j])` holds.
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
    let (list, count, numbers) = list_with_sums(gpu, bits, u.len(), u.count.get().copied())?;
    let parts = listed_lengths(gpu, list.address(), count, csr.offsets.address(), PART)?;
    // an upper bound of the number of parts, so that it needn't be read back
    let max_parts = csr.nnz() / PART + count;
    let (sums, marked) = (gpu.zeroed((max_parts + 1) * 8)?, alloc_entries(gpu, (csr.nnz() / 32 + count + 1) * 4, count)?);
    let mut kernel = entries_builder(gpu);
    let (t, op, a) = (kernel.element::<T>(), kernel.functor(op), kernel.element::<A>());
    let ty = kernel.ty("vxm::InducedSubmatrix", [t, op, a]);
    let program = kernel.program(ty, &[("count", "vxm::Counting()"), ("fill", "vxm::Filling()")])?;
    let marks = [bits, numbers.address(), u.len().div_ceil(32) as u64];
    let rows = [list.address(), count as u64, csr.offsets.address(), parts.address()];
    let head = [&rows[..], &[sums.address(), marked.address()], &marks, &[csr.columns.address(), csr.values.address()]]
        .concat();
    // at least one block: without any element, there is still one offset to write
    let shape =
        Launch::linear(blocks(gpu, max_parts.max(1), THREADS as usize / 32), THREADS).with_shared(kernel.shared());
    let run = |entry: &str, kept: [u64; 3]| {
        let words = [&head[..], &kept, &[u.values_address(), 0]].concat();
        launch(&program, entry, shape, &kernel.parameter(&words))
    };
    run("count", [0; 3])?;
    terminals::scan(gpu, &sums, max_parts)?;
    let nnz = sums.download_at::<u64>(max_parts, 1)?[0] as usize;
    let offsets = gpu.alloc((count + 1) * 8)?;
    let (columns, values) = (alloc_entries(gpu, nnz * 4, count)?, alloc_entries(gpu, nnz * size_of::<A>(), count)?);
    run("fill", [offsets.address(), columns.address(), values.address()])?;
    DeviceCsr::from_parts(gpu, (count, count, nnz), offsets, columns, values)
}

/// `op(u[i], u[j])` of every entry `(i, j)` for which `u` holds both elements. If `u` is full, the result shares the pattern.
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
    let mut kernel = entries_builder(csr.gpu());
    let (ends, t) = (kernel.stored(u), kernel.element::<F::Out>());
    let op = kernel.functor(op);
    let ty = kernel.ty("vxm::MapEnds", [ends.ty, op, t]);
    let values = alloc_entries(csr.gpu(), csr.nnz() * size_of::<F::Out>(), csr.nrows())?;
    let words = [&row_starts(csr)[..], &[csr.columns.address(), values.address()]].concat();
    launch_over_by(&mut kernel, ty, &words, csr.nnz(), RUN_PLACES)?;
    Ok(csr.with_values(values))
}

/// The most vectors of [`map_ends_many`]. It must equal the kernels' `MANY_ENDS`.
pub const MANY_ENDS: usize = 32;

/// Whether `op(u[i], u[j])` holds for every entry `(i, j)` and every vector `u`: bit k of its value for vector k, unset if that vector lacks one of
/// the elements. There are at most [`MANY_ENDS`] vectors. The result shares the pattern.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn map_ends_many<A, T, F>(csr: &DeviceCsr<A>, op: F, us: &[DeviceVector<T>]) -> Result<DeviceCsr<u32>>
where
    A: Element,
    T: Element,
    F: BinaryOp<T, T, Out = bool>,
{
    // bytes that a thread reads at once; an element without bytes has one on a device
    const PACK: usize = 16;
    let (gpu, n) = (csr.gpu(), csr.nrows());
    let packs = us.len().div_ceil(PACK / size_of::<T>().max(1));
    let (packed, held) = (gpu.alloc(n * packs * PACK)?, gpu.alloc(n * 4)?);
    let mut kernel = entries_builder(gpu);
    let t = kernel.element::<T>();
    let ty = kernel.ty("vxm::PackEnds", [t]);
    let mut words = vec![n as u64, us.len() as u64, packs as u64];
    words.extend((0..MANY_ENDS).map(|k| us.get(k).map_or(0, |u| u.values_address())));
    words.extend((0..MANY_ENDS).map(|k| us.get(k).map_or(0, |u| u.bits_address())));
    words.extend([packed.address(), held.address()]);
    launch_over(&mut kernel, ty, &words, n * packs.max(1))?;
    let mut kernel = entries_builder(gpu);
    let (t, op) = (kernel.element::<T>(), kernel.functor(op));
    let ty = kernel.ty("vxm::MapEndsMany", [t, op]);
    let values = alloc_entries(gpu, csr.nnz() * 4, n)?;
    let tail = [csr.columns.address(), packs as u64, packed.address(), held.address(), values.address()];
    launch_over_by(&mut kernel, ty, &[&row_starts(csr)[..], &tail].concat(), csr.nnz(), RUN_PLACES)?;
    Ok(csr.with_values(values))
}

/// The matrix of the marked entries.
pub(super) fn keep_marked<A: Element>(csr: &DeviceCsr<A>, marked: &Marked) -> Result<DeviceCsr<A>> {
    let gpu = csr.gpu();
    let tail = [csr.columns.address(), csr.values.address()];
    let offsets = gpu.alloc((csr.nrows() + 1) * 8)?;
    let columns = alloc_entries(gpu, marked.count * 4, csr.nrows())?;
    let values = alloc_entries(gpu, marked.count * size_of::<A>(), csr.nrows())?;
    let mut keeping = entries_builder(gpu);
    let a = keeping.element::<A>();
    let ty = keeping.ty("vxm::KeepMarked", [a]);
    let out = [offsets.address(), columns.address(), values.address()];
    let words = [&row_starts(csr)[..], &marked.members(), &tail, &out].concat();
    launch_over(&mut keeping, ty, &words, csr.nnz().max(csr.nrows() + 1))?;
    DeviceCsr::from_parts(gpu, (csr.nrows(), csr.ncols(), marked.count), offsets, columns, values)
}

/// The entries at the places of `places`, or (not `inside`) at all others.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn select_places<A: Element>(csr: &DeviceCsr<A>, places: &DeviceCsr<()>, inside: bool) -> Result<DeviceCsr<A>> {
    let mut kernel = entries_builder(csr.gpu());
    let entry = kernel.element::<()>();
    let predicate = kernel.ty("vxm::SelectByPattern", [entry, inside.into()]);
    let tail = [&[csr.columns.address()][..], &search_members(places)].concat();
    keep_marked(csr, &Marked::new(csr, kernel, predicate, &tail)?)
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
    let mut kernel = entries_builder(gpu);
    let b = kernel.element::<B>();
    let predicate = kernel.ty("vxm::SelectByPattern", [b, true.into()]);
    let marked = Marked::new(x, kernel, predicate, &[&[x.columns.address()][..], &search_members(y)].concat())?;
    let offsets = gpu.alloc((x.nrows() + 1) * 8)?;
    let columns = alloc_entries(gpu, marked.count * 4, x.nrows())?;
    let values = alloc_entries(gpu, marked.count * size_of::<F::Out>(), x.nrows())?;
    let mut kernel = entries_builder(gpu);
    let (a, b, t) = (kernel.element::<A>(), kernel.element::<B>(), kernel.element::<F::Out>());
    let op = kernel.functor(op);
    let ty = kernel.ty("vxm::JoinMarked", [a, b, t, op]);
    let from = [x.columns.address(), x.values.address()];
    let out = [offsets.address(), columns.address(), values.address()];
    let words = [&row_starts(x)[..], &marked.members(), &from, &search_members(y), &out].concat();
    launch_over(&mut kernel, ty, &words, x.nnz().max(x.nrows() + 1))?;
    DeviceCsr::from_parts(gpu, (x.nrows(), x.ncols(), marked.count), offsets, columns, values)
}

/// `op(a, b)` where both matrices hold an entry, and the entry where only one matrix does.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn ewise_add<A, F>(x: &DeviceCsr<A>, y: &DeviceCsr<A>, op: F) -> Result<DeviceCsr<A>>
where
    A: Element,
    F: BinaryOp<A, A, Out = A>,
{
    let gpu = x.gpu();
    let mut kernel = entries_builder(gpu);
    let a = kernel.element::<A>();
    let predicate = kernel.ty("vxm::SelectByPattern", [a, false.into()]);
    let marked = Marked::new(y, kernel, predicate, &[&[y.columns.address()][..], &search_members(x)].concat())?;
    let nnz = x.nnz() + marked.count;
    let offsets = gpu.alloc((x.nrows() + 1) * 8)?;
    let columns = alloc_entries(gpu, nnz * 4, x.nrows())?;
    let values = alloc_entries(gpu, nnz * size_of::<A>(), x.nrows())?;
    let mut kernel = entries_builder(gpu);
    let a = kernel.element::<A>();
    let op = kernel.functor(op);
    let ty = kernel.ty("vxm::MergeEntries", [a, op]);
    let out = [offsets.address(), columns.address(), values.address()];
    let words = [&[x.nrows() as u64][..], &search_members(x), &search_members(y), &marked.members(), &out].concat();
    launch_over(&mut kernel, ty, &words, x.nnz().max(y.nnz()).max(x.nrows() + 1))?;
    DeviceCsr::from_parts(gpu, (x.nrows(), x.ncols(), nnz), offsets, columns, values)
}

/// Reduces each row's entries to one element. An empty row gives no element.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn reduce_rows<A: Element, M: Monoid<A>>(csr: std::sync::Arc<DeviceCsr<A>>, monoid: M) -> Result<DeviceVector<A>> {
    let mut kernel = entries_builder(csr.gpu());
    let nrows = csr.nrows();
    let (add, a) = (kernel.monoid::<A, M>(monoid), kernel.element::<A>());
    let offset = kernel.rows(csr, false);
    let ty = kernel.ty("vxm::FoldRow", [offset, a, add]);
    terminals::eval(kernel, &Node::new(ty, false), nrows)
}

/// The running sums of row lengths, counted in parts of `each` entries and rounded up. `starts` is the address of the 64-bit offsets.
/// `list` is the address of `count` rows, or 0 for the rows below `count`.
pub(super) fn listed_lengths(gpu: &Gpu, list: u64, count: usize, starts: u64, each: usize) -> Result<Buffer> {
    let sums = gpu.alloc((count + 1) * 8)?;
    let mut kernel = builder(gpu).with(sources::RUNS);
    launch_over(&mut kernel, "vxm::ListedLengths", &[list, count as u64, starts, sums.address(), each as u64], count)?;
    terminals::scan(gpu, &sums, count)?;
    Ok(sums)
}

/// `b[k, l] = a[rows[k], columns[l]]`. The indices must lie within the matrix.
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
        && let Some(numbers) = positions_in(csr, columns)?
    {
        return DeviceCsr::from_parts(gpu, (rows.len(), columns.len(), count), lengths, numbers, csr.values.copy()?);
    }
    let (first, places) = places_of(columns, csr.ncols());
    let (places, first) = (gpu.upload_slice(&places)?, gpu.upload_slice(&first)?);
    let listed = [list.address(), rows.len() as u64, lengths.address(), csr.offsets.address()];
    let from = [csr.columns.address(), first.address()];
    let sums = alloc_entries(gpu, (count + 1) * 8, rows.len())?;
    let words = [&listed[..], &from, &[sums.address()]].concat();
    launch_over_by(&mut entries_builder(gpu), "vxm::CountExtracted", &words, count, RUN_PLACES)?;
    terminals::scan(gpu, &sums, count)?;
    let taken = sums.download_at::<u64>(count, 1)?[0] as usize;
    let keys = alloc_entries(gpu, taken * 8, rows.len())?;
    let values = alloc_entries(gpu, taken * size_of::<A>(), rows.len())?;
    let mut kernel = entries_builder(gpu);
    let a = kernel.element::<A>();
    let ty = kernel.ty("vxm::TakeExtracted", [a]);
    let tail = [sums.address(), count as u64, places.address(), csr.values.address(), keys.address(), values.address()];
    launch_over_by(&mut kernel, ty, &[&listed[..], &from, &tail].concat(), taken, RUN_PLACES)?;
    from_keys(gpu, (rows.len(), columns.len()), keys, taken, &values)
}

/// For each entry, the position of its column in `columns`, which must not repeat one. `None` if an entry's column isn't in `columns`.
fn positions_in<A: Element>(csr: &DeviceCsr<A>, columns: &[u32]) -> Result<Option<Buffer>> {
    let (gpu, entries, n) = (csr.gpu(), csr.nnz(), columns.len());
    let list = gpu.upload_slice(columns)?;
    // a column outside `columns` keeps u32::MAX, which is no position below n
    let (mut ranks, numbers, there) = (gpu.alloc(csr.ncols() * 4)?, alloc_entries(gpu, entries * 4, csr.nrows())?, gpu.zeroed(8)?);
    ranks.fill(u8::MAX)?;
    let mut tools = builder(gpu).with(sources::HOT_COLUMNS);
    launch_over(&mut tools, "vxm::Invert", &[list.address(), n as u64, ranks.address()], n)?;
    let words = [csr.columns.address(), entries as u64, ranks.address(), numbers.address(), n as u64, there.address()];
    launch_over(&mut tools, "vxm::Renumber", &words, entries)?;
    Ok((there.download::<u64>(1)?[0] == entries as u64).then_some(numbers))
}
