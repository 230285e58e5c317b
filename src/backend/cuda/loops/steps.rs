//! The loop with several steps a round, as one cooperative launch.

use crate::backend::cuda::DeviceVector;
use crate::backend::cuda::codegen::builder::{KernelBuilder, Node};
use crate::backend::cuda::layout::row_classes::{Classes, HUB, LONG, SHORT};
use crate::backend::cuda::loops::active::{OUTCOME_WORDS, PendingOutcome, WARPS_PER_BLOCK};
use crate::backend::cuda::loops::counters::Threads;
use crate::backend::cuda::terminals::launch;
use crate::backend::tuning::THREADS;
use crate::error::Result;
use std::sync::Arc;
use crate::kernels::{Buffer, Launch, Program, sources};
use vxm_semiring::{Element, UnaryOp};

/// The rows of each class as the kernel takes them: the address of their numbers (0: all rows), and their count. In order: short rows, a
/// thread each; long rows, a warp each; hubs, a block each.
fn rows_by_class(classes: Option<&Classes>, n: usize) -> [(u64, usize); 3] {
    match classes.filter(|classes| classes.uniform_class.is_none()) {
        Some(classes) => [SHORT, LONG, HUB].map(|class| classes.rows(class)),
        None => [(0, n), (0, 0), (0, 0)],
    }
}

/// The program for a round of these steps.
fn compile<T: Element, F: UnaryOp<T, Out = bool>>(
    builder: &mut KernelBuilder,
    steps: &[Node],
    active: F,
    monotone: bool,
) -> Result<Arc<Program>> {
    // reads may be cached: the barrier after each step empties the cache
    for source in [sources::CACHED, sources::STATE, sources::TERMINATION, sources::STEPS] {
        builder.include(source);
    }
    builder.element::<T>();
    let active = builder.functor(active);
    let end = builder.take_presence().unwrap_or("vxm::NoStep".into());
    let list = steps.iter().rev().fold(end, |rest, step| builder.ty("vxm::Steps", [step.ty, rest]));
    let ty = builder.ty("vxm::SteppedLoop", [active, monotone.into(), list]);
    builder.program(ty, &[("rounds", "")])
}

/// Launches a loop of these `steps` over `state`. It ends when `active` holds of no element, when a round changes none, or after `most`
/// rounds that change some. If `before` is there, it is the initial state.
///
/// # Errors
/// The device has too little memory, or is lost.
pub fn rounds<T: Element, F: UnaryOp<T, Out = bool>>(
    mut builder: KernelBuilder,
    steps: &[Node],
    active: F,
    (monotone, most): (bool, u32),
    state: &mut DeviceVector<T>,
    before: Option<Arc<Buffer>>,
) -> Result<PendingOutcome> {
    let (gpu, n) = (builder.gpu().clone(), state.len());
    let program = compile::<T, F>(&mut builder, steps, active, monotone)?;
    let classes = rows_by_class(builder.classes().as_deref(), n);
    let [shorts, longs, hubs] = classes.map(|(_, count)| count);
    let batches = shorts.div_ceil(32);
    let resident = program.kernel("rounds")?.resident(THREADS, builder.shared())? as usize;
    let blocks = batches.max(longs).div_ceil(WARPS_PER_BLOCK).max(hubs).clamp(1, resident.max(1));
    let warps = blocks * WARPS_PER_BLOCK;
    // the row numbers that each warp's or block's list has room for
    let capacities = [batches.div_ceil(warps) * 32, longs.div_ceil(warps), hubs.div_ceil(blocks)];
    let numbers = [capacities[0] * warps, capacities[1] * warps, capacities[2] * blocks];
    let lists = gpu.alloc(numbers.iter().sum::<usize>() * 4)?;
    let next_state = gpu.alloc(if monotone { 0 } else { n * size_of::<T>() })?;
    let outcome = gpu.mailbox(OUTCOME_WORDS * 4)?;
    tracing::debug!(
        operation = "fixpoint",
        steps = steps.len(),
        fused = "all steps, work lists and termination test in one kernel",
        monotone,
        shorts,
        longs,
        hubs,
        blocks,
        "plan"
    );
    let (mut head, mut from) = (Vec::with_capacity(24), lists.address());
    for (k, (rows, count)) in classes.into_iter().enumerate() {
        head.extend([rows, count as u64, from, capacities[k] as u64]);
        from += 4 * numbers[k] as u64;
    }
    head.extend([
        before.as_ref().map_or(0, |before| before.address()),
        n as u64,
        state.values_address(),
        next_state.address(),
        gpu.grid_barrier()?,
        outcome.address(),
        u64::from(most),
    ]);
    let shape = Launch::linear(blocks as u32, THREADS).with_shared(builder.shared()).cooperative();
    launch(&program, "rounds", shape, &builder.parameter(&head))?;
    Ok(PendingOutcome { readback: outcome.begin()?, threads: Threads::in_blocks(blocks), asynchronous: false })
}
