//! Terminals as kernels: a new vector, a write through a mask, a reduction. Also the helpers that launch kernels.

use crate::backend::cuda::codegen::builder::{CppType, KernelBuilder, Node};
use crate::backend::cuda::layout::row_classes::SHORT_CLASSES;
use crate::backend::cuda::{DeviceCsr, DeviceVector, Gpu};
use crate::backend::tuning::{BLOCK_THREADS, STAGING_THREADS, THREADS, tuning};
use crate::error::Result;
use crate::formats::bitmap::words;
use std::sync::Arc;
use crate::kernels::{Buffer, Launch, Program, sources};
use vxm_semiring::{Element, Monoid};

/// The number of blocks for `count` items, `each` per block, up to a limit. A kernel's loop covers the items beyond it.
pub(crate) fn blocks(gpu: &Gpu, count: usize, each: usize) -> u32 {
    let most = gpu.multiprocessors() * tuning().grid_blocks;
    u32::try_from(count.div_ceil(each)).map_or(most, |blocks| blocks.min(most))
}

/// Launches one kernel of `program`.
pub(crate) fn launch(program: &Program, entry: &str, launch: Launch, parameter: &[u8]) -> Result<()> {
    let kernel = program.kernel(entry)?;
    // SAFETY: every kernel's parameter is a struct of 8-byte members, and the builder pushed their words in the order of the members.
    // Addresses are those of buffers that the builder or the caller keeps alive until after the launch, and that are sized for the
    // indices that the kernel visits.
    unsafe { kernel.launch(launch, parameter) }?;
    Ok(())
}

/// Launches the kernel of type `ty` over `n` indices, once for each class of rows, by the group of threads that suits the class. `tail` are
/// the members between the index range and the view.
fn launch_rows(builder: &mut KernelBuilder, ty: CppType, tail: &[u64], n: usize) -> Result<()> {
    if let Some((primary, binned)) = builder.take_binned()
        && binned.launch(builder, ty, &primary, tail, n)?
    {
        return Ok(());
    }
    let gpu = builder.gpu().clone();
    let classes = builder.classes();
    let mut launches = Vec::new();
    if let Some(classes) = classes.as_deref() {
        let staged = builder.staged().copied();
        if let Some(primary) = staged {
            // the view's words follow the range (two words) and the tail
            let (at, ty) = (8 * (2 + tail.len() + primary.at), primary.ty);
            let uniform = classes.uniform_class.is_some();
            let (group, blocks) = match primary.over_tiles {
                Some(group) => (builder.ty(group, [ty]), blocks(&gpu, n, 1024)),
                // Each warp gets two words of 32 rows, or four if the kernel skips longer rows. More words would queue behind a slow
                // warp. With a single word, no warp could prefetch the offsets of its next rows.
                None => {
                    let group = builder.ty("vxm::Staging", [ty, uniform.into()]);
                    (group, n.div_ceil(if uniform { 256 } else { 512 }) as u32)
                }
            };
            let group =
                builder.concat([group, "{*(const ".into(), ty, "*)((const char*)&p + ".into(), at.into(), ")}".into()]);
            launches.push(RowLaunch { list: 0, count: n, name: "staged", group, blocks, threads: STAGING_THREADS });
        }
        let uniform_class = classes.uniform_class.filter(|_| staged.is_none());
        launches.extend(uniform_class.map(|class| {
            let row_launch = RowLaunch::of(&gpu, class, 0, n);
            match builder.few_entries_bound() {
                Some(few) => RowLaunch {
                    group: builder.concat(["vxm::BoundedRowThread<".into(), few.into(), ">()".into()]),
                    ..row_launch
                },
                None => row_launch,
            }
        }));
        for (class, (list, count)) in classes.lists().into_iter().enumerate() {
            let taken = classes.uniform_class.is_some() || (staged.is_some() && class < SHORT_CLASSES);
            if count > 0 && !taken {
                launches.push(RowLaunch::of(&gpu, class, list, count));
            }
        }
    } else {
        launches.push(RowLaunch::of(&gpu, 0, 0, n));
    }
    let entries: Vec<_> = launches.iter().map(|row_launch| (row_launch.name, row_launch.group)).collect();
    let program = builder.program(ty, &entries)?;
    for row_launch in &launches {
        let parameter = builder.parameter(&[&[row_launch.list, row_launch.count as u64], tail].concat());
        let shape = Launch::linear(row_launch.blocks, row_launch.threads).with_shared(builder.shared());
        launch(&program, row_launch.name, shape, &parameter)?;
    }
    Ok(())
}

/// One launch of a kernel: the indices that it visits, and the group of threads that handles an index.
struct RowLaunch {
    /// The address of the list of indices, or 0 for the indices below `count`.
    list: u64,
    count: usize,
    name: &'static str,
    group: CppType,
    blocks: u32,
    threads: u32,
}

impl RowLaunch {
    /// The launch for `count` rows of number `class` in [`Classes::lists`](crate::backend::cuda::layout::row_classes::Classes::lists).
    fn of(gpu: &Gpu, class: usize, list: u64, count: usize) -> Self {
        let (name, group, each, threads) = match class {
            0 => ("threads", "vxm::Thread()", 256, THREADS),
            1 => ("fours", "vxm::Lanes<4>()", 64, THREADS),
            2 => ("warps", "vxm::Warp()", 8, THREADS),
            _ => ("blocks", "vxm::Block()", 1, BLOCK_THREADS),
        };
        Self { list, count, name, group: group.into(), blocks: blocks(gpu, count, each), threads }
    }
}

/// Evaluates an emitted view of length `n` into a new vector.
#[inline(never)]
pub fn eval<T: Element>(mut builder: KernelBuilder, node: &Node, n: usize) -> Result<DeviceVector<T>> {
    // a kernel over all indices writes every word of the bitmap; a kernel over a list sets single bits, so they must start as zeros
    let new = if builder.first_visits_all() { DeviceVector::<T>::uninitialized } else { DeviceVector::<T>::fresh };
    let out = new(builder.gpu(), n, !node.full)?;
    builder.element::<T>();
    let ty = builder.ty("vxm::Eval", [node.ty]);
    launch_rows(&mut builder, ty, &[out.values_address(), out.bits_address()], n)?;
    Ok(out)
}

/// A full vector: the elements of `vector`, and zeros elsewhere.
#[inline(never)]
pub(crate) fn filled<T: Element>(vector: &DeviceVector<T>) -> Result<DeviceVector<T>> {
    let mut builder = KernelBuilder::new(vector.gpu());
    let stored = builder.stored(vector);
    builder.push_element(T::ZERO);
    let node = Node::new(builder.ty("vxm::Or", [stored.ty]), true);
    eval(builder, &node, vector.len())
}

/// How a write combines new elements with old ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merging {
    /// The new element, or its absence, replaces the old one.
    Replace,
    /// The functor of this type combines the old and the new element.
    Accumulate(CppType),
}

/// Writes an emitted view through its mask into `w`, in place.
#[inline(never)]
pub fn write<T: Element>(
    mut builder: KernelBuilder,
    node: &Node,
    merging: &Merging,
    w: &mut DeviceVector<T>,
) -> Result<()> {
    let dense = w.bits.is_none();
    // a full vector stays full if the write can remove no element
    let partial = !dense || (*merging == Merging::Replace && !node.full);
    w.own(partial)?;
    let merge = match *merging {
        Merging::Replace => "vxm::Replace".into(),
        Merging::Accumulate(op) => builder.ty("vxm::Accumulate", [op]),
    };
    let ty = builder.ty("vxm::Write", [node.ty, merge]);
    let tail = [w.values_address(), w.bits_address(), u64::from(dense)];
    launch_rows(&mut builder, ty, &tail, w.len())
}

/// Reduces an emitted view of length `n` to one element: the identity if nothing is present.
#[inline(never)]
pub fn fold<T: Element, M: Monoid<T>>(mut builder: KernelBuilder, node: &Node, n: usize, add: M) -> Result<T> {
    const SEGMENT: usize = crate::backend::cpu::fold::SEGMENT;
    let parts = n.div_ceil(SEGMENT);
    if parts == 0 {
        return Ok(add.identity());
    }
    let gpu = builder.gpu().clone();
    let monoid = builder.monoid::<T, M>(add);
    let values = gpu.alloc(parts * size_of::<T>())?;
    let present = gpu.alloc(parts * 4)?;
    // The element's bits in one word or two, and in another whether there is one. If both fit, one word: the bits in the lower half, and in
    // the upper half whether there is none. A dry run makes up one answer for each word, so it always uses two.
    let answer = gpu.mailbox(match size_of::<T>() {
        ..=4 if !gpu.is_dry_run() => 8,
        ..=8 => 16,
        _ => 24,
    })?;
    let ty = builder.ty("vxm::Reduce", [node.ty, monoid]);
    let program = builder.program(ty, &[("reduce", "")])?;
    let head = [n as u64, values.address(), present.address(), gpu.grid_barrier()?, answer.address()];
    // each warp folds a segment; if any order is allowed, a block folds as many elements as a segment has
    let each = if M::EXACT && add.is_commutative() { 1 } else { 8 };
    let shape = Launch::linear(blocks(&gpu, parts, each), THREADS).with_shared(builder.shared());
    launch(&program, "reduce", shape, &builder.parameter(&head))?;
    let (bits, present) = match answer.begin()?.wait::<u64>()?[..] {
        [word] => (u128::from(word as u32), 1 - (word >> 32)),
        [bits, present] => (u128::from(bits), present),
        [low, high, present] => (u128::from(high) << 64 | u128::from(low), present),
        ref other => unreachable!("the mailbox has one to three words, not {}", other.len()),
    };
    Ok(if present == 0 { add.identity() } else { T::from_wide_bits(bits) })
}

/// Evaluates a full emitted view of length `n` into a new vector and reduces its elements, in one kernel. The reduction must read all
/// elements: a monoid that takes the first one may stop early and leave elements unwritten.
pub fn eval_and_fold<T: Element, M: Monoid<T>>(
    mut builder: KernelBuilder,
    node: &Node,
    n: usize,
    add: M,
) -> Result<(DeviceVector<T>, T)> {
    let out = DeviceVector::<T>::fresh(builder.gpu(), n, false)?;
    builder.push(out.values_address());
    let node = Node::new(builder.ty("vxm::WriteThrough", [node.ty]), true);
    let folded = fold(builder, &node, n, add)?;
    Ok((out, folded))
}

/// `w[indices[k]] = u[k]`: scatters the emitted view `u`, of `count` places, into a new vector of length `len`. Also returns a bitmap of the
/// indices, which lie below `len`. The address 0 stands for all numbers in order.
pub fn scatter<T: Element>(
    mut builder: KernelBuilder,
    node: &Node,
    (indices, count): (u64, usize),
    len: usize,
) -> Result<(DeviceVector<T>, Buffer)> {
    let gpu = builder.gpu().clone();
    let out = DeviceVector::<T>::fresh(&gpu, len, true)?;
    let region = gpu.zeroed(words(len) * 8)?;
    builder.element::<T>();
    let ty = builder.ty("vxm::Scatter", [node.ty]);
    let program = builder.program(ty, &[("scatter", "")])?;
    let head = [indices, count as u64, out.values_address(), out.bits_address(), region.address()];
    let parameter = builder.parameter(&head);
    let shape = Launch::linear(blocks(&gpu, count, 256), THREADS).with_shared(builder.shared());
    launch(&program, "scatter", shape, &parameter)?;
    Ok((out, region))
}

/// The number of set bits among the first `n`.
pub(crate) fn count_bits(gpu: &Gpu, bits: &Buffer, n: usize) -> Result<usize> {
    let total = gpu.zeroed(8)?;
    let mut builder = KernelBuilder::new(gpu);
    let program = builder.program("vxm::CountBits", &[("count_bits", "")])?;
    let words = n.div_ceil(32);
    let parameter = builder.parameter(&[bits.address(), words as u64, total.address()]);
    launch(&program, "count_bits", Launch::linear(blocks(gpu, words, 256), THREADS), &parameter)?;
    Ok(total.download::<u64>(1)?[0] as usize)
}

/// The number of entries of each row.
#[inline(never)]
pub fn degrees<A: Element>(csr: &DeviceCsr<A>) -> Result<DeviceVector<u32>> {
    let gpu = csr.gpu();
    let out = DeviceVector::<u32>::fresh(gpu, csr.nrows(), false)?;
    let mut builder = rows_builder(gpu);
    let program = builder.program("vxm::Degrees", &[("degrees", "")])?;
    let parameter = builder.parameter(&[csr.offsets.address(), csr.nrows() as u64, out.values_address()]);
    launch(&program, "degrees", Launch::linear(blocks(gpu, csr.nrows(), 256), THREADS), &parameter)?;
    Ok(out)
}

pub(crate) fn rows_builder(gpu: &Gpu) -> KernelBuilder {
    KernelBuilder::new(gpu).with(sources::ROWS)
}

/// Replaces the `n` counts at positions 1 to n by their running sums, and writes 0 to position 0.
pub(crate) fn scan(gpu: &Gpu, counts: &Buffer, n: usize) -> Result<()> {
    const TILE: usize = 2048;
    let mut builder = rows_builder(gpu);
    let entries = [("sums", "vxm::Sums()"), ("carry", "vxm::Carry()"), ("scan", "vxm::Scan()")];
    let program = builder.program("vxm::RunningSums", &entries)?;
    let tiles = n.div_ceil(TILE);
    let sums = gpu.alloc((tiles + 1) * 8)?;
    let parameter = builder.parameter(&[counts.address(), n as u64, sums.address(), tiles as u64]);
    let grid = u32::try_from(tiles).unwrap_or(u32::MAX);
    launch(&program, "sums", Launch::linear(grid, THREADS), &parameter)?;
    launch(&program, "carry", Launch::linear(1, THREADS), &parameter)?;
    launch(&program, "scan", Launch::linear(grid.max(1), THREADS), &parameter)
}

/// The result of [`scatter`] as a leaf of `builder`: the vector, and the bitmap of the region.
pub fn region<T: Element>(builder: &mut KernelBuilder, (vector, bits): (DeviceVector<T>, Buffer)) -> Node {
    builder.stored(&vector);
    builder.push(bits.address());
    builder.keep_alive(Arc::new(bits));
    let t = builder.element::<T>();
    Node::new(builder.ty("vxm::Region", [t]), false)
}
