//! Marked positions in bitmaps on a device: their running counts and their lists. Also helpers that launch simple kernels.

use crate::backend::cuda::codegen::builder::{CppType, KernelBuilder};
use crate::backend::cuda::terminals::{blocks, launch, rows_builder, scan};
use crate::backend::cuda::Gpu;
use crate::backend::cuda::vector::Cells;
use crate::backend::tuning::THREADS;
use crate::error::Result;
use crate::kernels::{Buffer, Launch, sources};

/// Launches the kernel of type `ty` with the members `words`. There is a thread for each of `items`, up to the limit of [`blocks`]; beyond
/// it each thread visits several items.
pub(super) fn launch_over(
    builder: &mut KernelBuilder,
    ty: impl Into<CppType>,
    words: &[u64],
    items: usize,
) -> Result<()> {
    launch_over_by(builder, ty, words, items, THREADS as usize)
}

/// Launches like [`launch_over`], with `each` items for each block.
pub(super) fn launch_over_by(
    builder: &mut KernelBuilder,
    ty: impl Into<CppType>,
    words: &[u64],
    items: usize,
    each: usize,
) -> Result<()> {
    let program = builder.program(ty, &[("step", "")])?;
    let shape = Launch::linear(blocks(builder.gpu(), items, each), THREADS).with_shared(builder.shared());
    launch(&program, "step", shape, &builder.parameter(words))
}

/// An empty kernel with the sources for marks.
pub(super) fn builder(gpu: &Gpu) -> KernelBuilder {
    rows_builder(gpu).with(sources::COMPACT)
}

/// The running sums of the set bits of each 32-bit word of a bitmap. `bits` is its address and `places` its length in bits.
pub(super) fn sums(gpu: &Gpu, bits: u64, places: usize) -> Result<Buffer> {
    let words = places.div_ceil(32);
    let sums = gpu.alloc((words + 1) * 8)?;
    launch_over(&mut builder(gpu), "vxm::CountMarks", &[bits, sums.address(), words as u64], words)?;
    scan(gpu, &sums, words)?;
    Ok(sums)
}

/// The set positions of a bitmap, in ascending order, and their number. `bits` is the bitmap's address and `places` its length in bits.
/// `count` is the number of set bits, if it is known; otherwise it is read back.
pub(super) fn list(gpu: &Gpu, bits: u64, places: usize, count: Option<usize>) -> Result<(Buffer, usize)> {
    let (list, count, _) = list_with_sums(gpu, bits, places, count)?;
    Ok((list, count))
}

/// The results of [`list`], and of [`sums`].
pub(super) fn list_with_sums(
    gpu: &Gpu,
    bits: u64,
    places: usize,
    count: Option<usize>,
) -> Result<(Buffer, usize, Buffer)> {
    let (sums, words) = (sums(gpu, bits, places)?, places.div_ceil(32));
    let count = match count {
        Some(count) => count,
        None => sums.download_at::<u64>(words, 1)?[0] as usize,
    };
    let list = gpu.alloc(count * 4)?;
    write_list(gpu, bits, &sums, words, list.address())?;
    Ok((list, count, sums))
}

/// Writes the positions that [`list`] finds to address `list`, which must have room for them.
pub(super) fn list_into(gpu: &Gpu, bits: u64, places: usize, list: u64) -> Result<()> {
    write_list(gpu, bits, &sums(gpu, bits, places)?, places.div_ceil(32), list)
}

fn write_list(gpu: &Gpu, bits: u64, sums: &Buffer, words: usize, list: u64) -> Result<()> {
    launch_over(&mut builder(gpu), "vxm::ListMarks", &[bits, sums.address(), words as u64, list], words * 32)
}

/// The indices of a vector's elements, in ascending order, or `None` if the vector is full; and the number of elements.
pub(crate) fn indices(vector: &Cells) -> Result<(Option<Buffer>, usize)> {
    if vector.bits_address() == 0 {
        return Ok((None, vector.len));
    }
    let known = vector.count.get().copied();
    let (list, count) = list(&vector.gpu, vector.bits_address(), vector.len, known)?;
    vector.count.get_or_init(|| count);
    Ok((Some(list), count))
}
