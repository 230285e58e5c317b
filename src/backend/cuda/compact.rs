//! Marked places of a device's vectors and matrices: how many stand before each, and their list.

use super::compose::{Composer, Piece};
use super::run::{THREADS, blocks, launch, rows_composer, scan};
use super::{DeviceVector, Gpu};
use crate::error::Result;
use vxm_kernels::{Buffer, Launch, sources};
use vxm_semiring::Element;

/// Launches the one kernel of `composer` over `ty`, whose members are `words`, with a thread for each of `items` or some of them.
pub(super) fn step(composer: &mut Composer, ty: impl Into<Piece>, words: &[u64], items: usize) -> Result<()> {
    step_by(composer, ty, words, items, THREADS as usize)
}

/// The same, `each` items a block.
pub(super) fn step_by(
    composer: &mut Composer,
    ty: impl Into<Piece>,
    words: &[u64],
    items: usize,
    each: usize,
) -> Result<()> {
    let program = composer.program(ty, &[("step", "")])?;
    let shape = Launch::linear(blocks(composer.gpu(), items, each), THREADS).with_shared(composer.shared());
    launch(&program, "step", shape, &composer.parameter(words))
}

/// The files that marks are handled with.
pub(super) fn composer(gpu: &Gpu) -> Composer {
    rows_composer(gpu).with(sources::COMPACT)
}

/// The running sums of the bits at address `bits`, those of `places` places.
pub(super) fn sums(gpu: &Gpu, bits: u64, places: usize) -> Result<Buffer> {
    let words = places.div_ceil(32);
    let sums = gpu.alloc((words + 1) * 8)?;
    step(&mut composer(gpu), "vxm::CountMarks", &[bits, sums.address(), words as u64], words)?;
    scan(gpu, &sums, words)?;
    Ok(sums)
}

/// The first `places` places whose bits are set at address `bits`, ascending, and how many; `count` is their number if it is known.
pub(super) fn list(gpu: &Gpu, bits: u64, places: usize, count: Option<usize>) -> Result<(Buffer, usize)> {
    let (list, count, _) = numbered(gpu, bits, places, count)?;
    Ok((list, count))
}

/// The same, and the running sums of the bits.
pub(super) fn numbered(gpu: &Gpu, bits: u64, places: usize, count: Option<usize>) -> Result<(Buffer, usize, Buffer)> {
    let (sums, words) = (sums(gpu, bits, places)?, places.div_ceil(32));
    let count = match count {
        Some(count) => count,
        None => sums.download_at::<u64>(words, 1)?[0] as usize,
    };
    let list = gpu.alloc(count * 4)?;
    write_list(gpu, bits, &sums, words, list.address())?;
    Ok((list, count, sums))
}

/// The list of [`list`], written to address `list`, where there is room.
pub(super) fn list_to(gpu: &Gpu, bits: u64, places: usize, list: u64) -> Result<()> {
    write_list(gpu, bits, &sums(gpu, bits, places)?, places.div_ceil(32), list)
}

fn write_list(gpu: &Gpu, bits: u64, sums: &Buffer, words: usize, list: u64) -> Result<()> {
    step(&mut composer(gpu), "vxm::ListMarks", &[bits, sums.address(), words as u64, list], words * 32)
}

/// The indices of a vector's elements, ascending: `None` where all are there; and how many.
pub(super) fn indices<T: Element>(vector: &DeviceVector<T>) -> Result<(Option<Buffer>, usize)> {
    if vector.bits_address() == 0 {
        return Ok((None, vector.len()));
    }
    let known = vector.count.get().copied();
    let (list, count) = list(vector.gpu(), vector.bits_address(), vector.len(), known)?;
    vector.count.get_or_init(|| count);
    Ok((Some(list), count))
}
