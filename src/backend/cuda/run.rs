//! Terminals as kernels: a fresh vector, a write through a mask, a reduction; and the few steps between them.

use super::compose::{Composer, Node, Piece};
use super::csr::SHORT_CLASSES;
use super::{DeviceCsr, DeviceVector, Gpu};
use crate::error::Result;
use crate::formats::bitmap::words;
use std::sync::Arc;
use vxm_kernels::{Buffer, Launch, Program, sources};
use vxm_semiring::{Element, Monoid};

/// Threads a block; `__launch_bounds__` says the same.
pub(super) const THREADS: u32 = 256;
/// Threads of a block that folds rows as one.
pub(super) const BLOCK_THREADS: u32 = 1024;
/// Threads of a block that stages rows: four warps.
pub(super) const STAGING_THREADS: u32 = 128;
/// Blocks a multiprocessor, at most: more would only queue.
const BLOCKS: u32 = 32;

/// Blocks for `count` items, `each` a block.
pub(super) fn blocks(gpu: &Gpu, count: usize, each: usize) -> u32 {
    let most = gpu.multiprocessors() * BLOCKS;
    u32::try_from(count.div_ceil(each)).map_or(most, |blocks| blocks.min(most))
}

/// Launches one kernel of `program`.
pub(super) fn launch(program: &Program, entry: &str, launch: Launch, parameter: &[u8]) -> Result<()> {
    let kernel = program.kernel(entry)?;
    // SAFETY: every kernel's parameter is a struct of 8-byte members, whose words the composer pushed in the order of the members;
    // the addresses are of buffers that the composer or the caller keeps until after this, sized for the indices the kernel visits
    unsafe { kernel.launch(launch, parameter) }?;
    Ok(())
}

/// Launches `ty` over `n` indices, those of each class of rows by its group.
fn launch_rows(composer: &mut Composer, ty: Piece, tail: &[u64], n: usize) -> Result<()> {
    if let Some((lead, binned)) = composer.take_binned()
        && binned.launch(composer, ty, &lead, tail, n)?
    {
        return Ok(());
    }
    let gpu = composer.gpu().clone();
    let classes = composer.classes();
    let mut shares = Vec::new();
    if let Some(classes) = classes.as_deref() {
        let staged = composer.staged().copied();
        if let Some(lead) = staged {
            // the view stands behind the range and the tail
            let (at, ty) = (8 * (2 + tail.len() + lead.at), lead.ty);
            let whole = classes.alone.is_some();
            let (group, blocks) = match lead.tallied {
                true => (composer.ty("vxm::Tallying", [ty]), blocks(&gpu, n, 1024)),
                // two words of bits a warp, or four where some rows are left out: more queue up behind a slow one, of one the next rows'
                // places aren't known early
                false => {
                    let group = composer.ty("vxm::Staging", [ty, whole.into()]);
                    (group, n.div_ceil(if whole { 256 } else { 512 }) as u32)
                }
            };
            let group =
                composer.joint([group, "{*(const ".into(), ty, "*)((const char*)&p + ".into(), at.into(), ")}".into()]);
            shares.push(Share { list: 0, count: n, name: "staged", group, blocks, threads: STAGING_THREADS });
        }
        let alone = classes.alone.filter(|_| staged.is_none());
        shares.extend(alone.map(|class| {
            let share = Share::of(&gpu, class, 0, n);
            match composer.few() {
                Some(few) => Share { group: composer.joint(["vxm::Few<".into(), few.into(), ">()".into()]), ..share },
                None => share,
            }
        }));
        for (class, (list, count)) in classes.lists().into_iter().enumerate() {
            let taken = classes.alone.is_some() || (staged.is_some() && class < SHORT_CLASSES);
            if count > 0 && !taken {
                shares.push(Share::of(&gpu, class, list, count));
            }
        }
    } else {
        shares.push(Share::of(&gpu, 0, 0, n));
    }
    let entries: Vec<_> = shares.iter().map(|share| (share.name, share.group)).collect();
    let program = composer.program(ty, &entries)?;
    for share in &shares {
        let parameter = composer.parameter(&[&[share.list, share.count as u64], tail].concat());
        let shape = Launch::linear(share.blocks, share.threads).with_shared(composer.shared());
        launch(&program, share.name, shape, &parameter)?;
    }
    Ok(())
}

/// Indices that a kernel goes through, and as what group.
struct Share {
    /// Their list; 0 for all below `count`.
    list: u64,
    count: usize,
    name: &'static str,
    group: Piece,
    blocks: u32,
    threads: u32,
}

impl Share {
    /// Those of a class of rows.
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

/// Runs an emitted view of length `n` into a fresh vector.
pub fn eval<T: Element>(mut composer: Composer, node: &Node, n: usize) -> Result<DeviceVector<T>> {
    // one kernel over all indices writes every word of bits; lists set single ones
    let new = if composer.covers() { DeviceVector::<T>::unwritten } else { DeviceVector::<T>::fresh };
    let out = new(composer.gpu(), n, !node.full)?;
    composer.element::<T>();
    let ty = composer.ty("vxm::Eval", [node.ty]);
    launch_rows(&mut composer, ty, &[out.values_address(), out.bits_address()], n)?;
    Ok(out)
}

/// A vector's elements, and zeros where there are none.
pub(super) fn filled<T: Element>(vector: &DeviceVector<T>) -> Result<DeviceVector<T>> {
    let mut composer = Composer::new(vector.gpu());
    let stored = composer.stored(vector);
    composer.push(T::ZERO.bits());
    let node = Node::new(composer.ty("vxm::Or", [stored.ty]), true);
    eval(composer, &node, vector.len())
}

/// How new elements meet old ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merging {
    /// They, or their absence, take the place.
    Replace,
    /// The named functor joins them.
    Accumulate(Piece),
}

/// Writes an emitted view through its mask to `w`, in place.
pub fn write<T: Element>(
    mut composer: Composer,
    node: &Node,
    merging: &Merging,
    w: &mut DeviceVector<T>,
) -> Result<()> {
    let dense = w.bits.is_none();
    // a full vector stays full where nothing can be removed
    let partial = !dense || (*merging == Merging::Replace && !node.full);
    w.own(partial)?;
    let merge = match *merging {
        Merging::Replace => "vxm::Replace".into(),
        Merging::Accumulate(op) => composer.ty("vxm::Accumulate", [op]),
    };
    let ty = composer.ty("vxm::Write", [node.ty, merge]);
    let tail = [w.values_address(), w.bits_address(), u64::from(dense)];
    launch_rows(&mut composer, ty, &tail, w.len())
}

/// Folds an emitted view of length `n`; the identity where nothing is present.
pub fn fold<T: Element, M: Monoid<T>>(mut composer: Composer, node: &Node, n: usize, add: M) -> Result<T> {
    const SEGMENT: usize = crate::backend::cpu::fold::SEGMENT;
    let parts = n.div_ceil(SEGMENT);
    if parts == 0 {
        return Ok(M::IDENTITY);
    }
    let gpu = composer.gpu().clone();
    let monoid = composer.monoid::<T, M>(add);
    let values = gpu.alloc(parts * size_of::<T>())?;
    let present = gpu.alloc(parts * 4)?;
    // an element and whether there is one; or in one word, if both fit, it and whether there is none. A rehearsal answers words
    let told = gpu.mailbox(if size_of::<T>() <= 4 && !gpu.is_rehearsal() { 8 } else { 16 })?;
    let ty = composer.ty("vxm::Reduce", [node.ty, monoid]);
    let program = composer.program(ty, &[("reduce", "")])?;
    let head = [n as u64, values.address(), present.address(), gpu.board()?, told.address()];
    // a warp a part, or, where any order will do, a block
    let each = if M::EXACT && M::COMMUTATIVE { 1 } else { 8 };
    let shape = Launch::linear(blocks(&gpu, parts, each), THREADS).with_shared(composer.shared());
    launch(&program, "reduce", shape, &composer.parameter(&head))?;
    let (bits, present) = match told.begin()?.wait::<u64>()?[..] {
        [word] => (word & u64::from(u32::MAX), 1 - (word >> 32)),
        [bits, present] => (bits, present),
        ref other => unreachable!("the mailbox has one word or two, not {}", other.len()),
    };
    Ok(if present == 0 { M::IDENTITY } else { T::from_bits(bits) })
}

/// Runs an emitted view of length `n`, which is full, into a fresh vector, and folds its elements, in one kernel. The fold must read all of
/// them: one that takes the first might end there.
pub fn eval_and_fold<T: Element, M: Monoid<T>>(
    mut composer: Composer,
    node: &Node,
    n: usize,
    add: M,
) -> Result<(DeviceVector<T>, T)> {
    let out = DeviceVector::<T>::fresh(composer.gpu(), n, false)?;
    composer.push(out.values_address());
    let node = Node::new(composer.ty("vxm::Written", [node.ty]), true);
    let folded = fold(composer, &node, n, add)?;
    Ok((out, folded))
}

/// `w[indices[k]] = u[k]` in a vector of `len` places: an emitted view of length `indices.len()`, scattered. Returns the vector and
/// the bits of the region.
pub fn scatter<T: Element>(
    mut composer: Composer,
    node: &Node,
    indices: &[u32],
    len: usize,
) -> Result<(DeviceVector<T>, Buffer)> {
    let gpu = composer.gpu().clone();
    let out = DeviceVector::<T>::fresh(&gpu, len, true)?;
    let region = gpu.zeroed(words(len) * 8)?;
    let places = gpu.upload_slice(indices)?;
    composer.element::<T>();
    let ty = composer.ty("vxm::Scatter", [node.ty]);
    let program = composer.program(ty, &[("scatter", "")])?;
    let head = [places.address(), indices.len() as u64, out.values_address(), out.bits_address(), region.address()];
    let parameter = composer.parameter(&head);
    let shape = Launch::linear(blocks(&gpu, indices.len(), 256), THREADS).with_shared(composer.shared());
    launch(&program, "scatter", shape, &parameter)?;
    Ok((out, region))
}

/// How many of the first `n` bits are set.
pub(super) fn count_bits(gpu: &Gpu, bits: &Buffer, n: usize) -> Result<usize> {
    let total = gpu.zeroed(8)?;
    let mut composer = Composer::new(gpu);
    let program = composer.program("vxm::CountBits", &[("count_bits", "")])?;
    let words = n.div_ceil(32);
    let parameter = composer.parameter(&[bits.address(), words as u64, total.address()]);
    launch(&program, "count_bits", Launch::linear(blocks(gpu, words, 256), THREADS), &parameter)?;
    Ok(total.download::<u64>(1)?[0] as usize)
}

/// Each row's number of entries.
pub fn degrees<A: Element>(csr: &DeviceCsr<A>) -> Result<DeviceVector<u32>> {
    let gpu = csr.gpu();
    let out = DeviceVector::<u32>::fresh(gpu, csr.nrows(), false)?;
    let mut composer = rows_composer(gpu);
    let program = composer.program("vxm::Degrees", &[("degrees", "")])?;
    let parameter = composer.parameter(&[csr.offsets.address(), csr.nrows() as u64, out.values_address()]);
    launch(&program, "degrees", Launch::linear(blocks(gpu, csr.nrows(), 256), THREADS), &parameter)?;
    Ok(out)
}

pub(super) fn rows_composer(gpu: &Gpu) -> Composer {
    Composer::new(gpu).with(sources::ROWS)
}

/// Turns `n` counts at places 1 to n into running sums, with 0 at place 0.
pub(super) fn scan(gpu: &Gpu, counts: &Buffer, n: usize) -> Result<()> {
    const TILE: usize = 2048;
    let mut composer = rows_composer(gpu);
    let entries = [("sums", "vxm::Sums()"), ("carry", "vxm::Carry()"), ("scan", "vxm::Scan()")];
    let program = composer.program("vxm::RunningSums", &entries)?;
    let tiles = n.div_ceil(TILE);
    let sums = gpu.alloc((tiles + 1) * 8)?;
    let parameter = composer.parameter(&[counts.address(), n as u64, sums.address(), tiles as u64]);
    let grid = u32::try_from(tiles).unwrap_or(u32::MAX);
    launch(&program, "sums", Launch::linear(grid, THREADS), &parameter)?;
    launch(&program, "carry", Launch::linear(1, THREADS), &parameter)?;
    launch(&program, "scan", Launch::linear(grid.max(1), THREADS), &parameter)
}

/// The leaf of what was scattered to a region.
pub fn region<T: Element>(composer: &mut Composer, (vector, bits): (DeviceVector<T>, Buffer)) -> Node {
    composer.stored(&vector);
    composer.push(bits.address());
    composer.keep(Arc::new(bits));
    let t = composer.element::<T>();
    Node::new(composer.ty("vxm::Region", [t]), false)
}
