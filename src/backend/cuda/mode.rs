//! The mode of rows on a device.

use crate::backend::cuda::codegen::builder::KernelBuilder;
use crate::backend::cuda::compact::launch_over_by;
use crate::backend::cuda::terminals::launch;
use crate::backend::cuda::{DeviceCsr, DeviceVector};
use crate::backend::tuning::{BLOCK_THREADS, THREADS, tuning};
use crate::error::Result;
use crate::kernels::{Launch, sources};
use vxm_semiring::Element;

/// The most entries of a row that a warp visits. It must equal the kernel's `WARP_ROW`.
const WARP_ROW: usize = 256;
/// The slots of a block's table in shared memory. It must equal the kernel's `NEAR`.
const NEAR: usize = 4096;

/// The mode of each row of `csr` that has an element in `wanted`, or of all: the label that occurs most often among `labels[j]` over the
/// row's columns `j`, the least among equals.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn modes<A: Element>(
    csr: &DeviceCsr<A>,
    labels: &DeviceVector<u32>,
    wanted: Option<&DeviceVector<()>>,
) -> Result<DeviceVector<u32>> {
    let (gpu, n, longest) = (csr.gpu(), csr.nrows(), csr.longest());
    let out = DeviceVector::<u32>::fresh(gpu, n, true)?;
    // every long row has more entries than WARP_ROW
    let most_long = if longest > WARP_ROW { n.min(csr.nnz() / WARP_ROW) } else { 0 };
    let (longer, found) = (gpu.alloc(most_long * 4)?, gpu.zeroed(8)?);
    let wanted = wanted.map_or(0, |u| u.bits_address());
    let (starts, columns) = (csr.offsets.address(), csr.columns.address());
    let (modes, present) = (out.values_address(), out.bits_address());

    let mut kernel = KernelBuilder::new(gpu).with(sources::MODE);
    let view = kernel.stored(labels);
    let ty = kernel.ty("vxm::ModeOfRows", [view.ty]);
    let words = [starts, n as u64, columns, wanted, modes, present, longer.address(), found.address()];
    launch_over_by(&mut kernel, ty, &words, n, THREADS as usize)?;
    if most_long == 0 {
        return Ok(out);
    }
    // as many slots as the longest row's table needs; none if it fits shared memory
    let slots = Some((2 * longest).next_power_of_two()).filter(|&slots| slots > NEAR).unwrap_or(0);
    // under a budget, at most half of what is left
    let room = if gpu.budget().is_some() { usize::try_from(gpu.memory()?.0 / 2).unwrap_or(usize::MAX) } else { usize::MAX };
    let fitting = tuning().label_table_bytes.min(room).checked_div(8 * slots).unwrap_or(usize::MAX);
    let blocks = most_long.min(fitting.max(1)).min(2 * gpu.multiprocessors() as usize);
    let tables = gpu.alloc(8 * slots * blocks)?;
    let mut kernel = KernelBuilder::new(gpu).with(sources::MODE);
    let view = kernel.stored(labels);
    let ty = kernel.ty("vxm::ModeOfLongRows", [view.ty]);
    let words = [
        starts,
        columns,
        modes,
        present,
        longer.address(),
        found.address(),
        tables.address(),
        slots as u64,
    ];
    let program = kernel.program(ty, &[("blocks", "vxm::Block()")])?;
    launch(&program, "blocks", Launch::linear(blocks as u32, BLOCK_THREADS), &kernel.parameter(&words))?;
    Ok(out)
}
