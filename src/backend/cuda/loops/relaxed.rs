//! The loop that relaxes edges as one cooperative launch, whatever the number of rounds.

use crate::backend::cuda::codegen::builder::{CppType, KernelBuilder};
use crate::backend::cuda::codegen::monoid::can_swap;
use crate::backend::cuda::loops::counters::{Counters, Threads};
use crate::backend::cuda::terminals::launch;
use crate::backend::cuda::{DeviceCsr, DeviceVector};
use crate::backend::not_idempotent;
use crate::backend::tuning::{BLOCK_THREADS, tuning};
use crate::error::Result;
use crate::formats::bitmap::words;
use crate::kernels::{Launch, sources};
use std::sync::Arc;
use std::any::TypeId;
use vxm_semiring::{BinaryOp, Element, Max, Min, Monoid, Semiring};

/// The edges along which a loop relaxes, as a kernel reads them.
#[derive(Debug)]
pub struct EdgesOnGpu {
    ty: CppType,
    entries: usize,
    /// The words of the identity of the monoid that joins products.
    identity: Vec<u64>,
    can_pull: bool,
    /// Whether elements are numbers, of which the least or the greatest is the best, and get worse along edges by more or less.
    ordered: bool,
}

/// The bytes of the control block of waiting elements.
const WAITING: usize = 40;

/// Emits edges: rows by the element that is read, and, if edges may be followed from their ends, rows by the element that is written.
/// Returns nothing if joining a value twice changes it, or if the device can't swap elements of its size.
pub fn emit_edges<X: Element, A: Element, S: Semiring<X, A>>(
    kernel: &mut KernelBuilder,
    out: Arc<DeviceCsr<A>>,
    into: Option<Arc<DeviceCsr<A>>>,
    ring: S,
) -> Option<EdgesOnGpu> {
    let add = ring.add();
    // the kernel tries those of the state, too
    if !can_swap::<S::Out>(kernel.gpu()) || not_idempotent(|x, y| add.call(x, y)).is_some() || out.nnz() == 0 {
        return None;
    }
    for source in [sources::CACHED, sources::STATE, sources::RELAXED] {
        kernel.include(source);
    }
    let (t, a) = (kernel.element::<S::Out>(), kernel.element::<A>());
    let (mul, join) = (kernel.functor(ring.mul()), kernel.joins::<S::Out, S::Add>(add));
    let (entries, can_pull) = (out.nnz(), into.is_some());
    let offset = kernel.edges(out);
    let in_offset = match into {
        Some(into) => kernel.rest(into),
        None => {
            [0, 0].into_iter().for_each(|word| kernel.push(word));
            "vxm::u32".into()
        }
    };
    kernel.push(entries as u64);
    let numbers = matches!(S::Out::CUDA, "int" | "unsigned int" | "long long" | "unsigned long long" | "float" | "double");
    let least_or_greatest = [TypeId::of::<Min>(), TypeId::of::<Max>()].contains(&TypeId::of::<S::Add>());
    let ordered = size_of::<A>() > 0 && numbers && least_or_greatest;
    let flags = [can_pull, ordered].map(CppType::from);
    let ty = kernel.ty("vxm::RelaxedEdges", [t, a, mul, join, offset, in_offset, flags[0], flags[1]]);
    Some(EdgesOnGpu { ty, entries, identity: add.identity().words().collect(), can_pull, ordered })
}

/// How a loop that relaxed edges ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// The number of rounds.
    pub rounds: u32,
    /// Whether no element changes any more. Otherwise relaxing isn't right here or doesn't pay, or took all rounds that are allowed. A loop
    /// that visits all elements reaches the same answer from the state as it is now.
    pub settled: bool,
    /// The threads launched.
    pub threads: Threads,
}

/// Launches the loop over `state`, for `most` rounds at most, and waits for it. Its visits are counted if there are counters.
///
/// # Errors
/// The device has too little memory, or is lost.
#[inline(never)]
pub fn relax<T: Element>(
    mut builder: KernelBuilder,
    edges: &EdgesOnGpu,
    most: u32,
    state: &mut DeviceVector<T>,
    counters: Option<&mut Counters>,
) -> Result<Outcome> {
    let (gpu, n) = (builder.gpu().clone(), state.len());
    let (counts, mut head) = match counters {
        Some(counters) => ("vxm::CountedByWarps", counters.words(&mut builder, edges.entries as u64).to_vec()),
        None => ("vxm::Uncounted", Vec::new()),
    };
    let ty = builder.ty("vxm::RelaxedLoop", [edges.ty, counts.into()]);
    let program = builder.program(ty, &[("relaxing", "vxm::Block()")])?;
    let resident = program.kernel("relaxing")?.resident(BLOCK_THREADS, builder.shared())? as usize;
    let most_blocks = resident.min(gpu.multiprocessors() as usize * tuning().relaxed_blocks);
    let blocks = n.max(edges.entries).div_ceil(BLOCK_THREADS as usize).clamp(1, most_blocks.max(1));
    // an element has a part for each full run of edges, and one more
    let parts = 2 * edges.entries / tuning().relaxed_row as usize + 1;
    let (lists, parts_lists, marks) = (gpu.alloc(2 * n * 4)?, gpu.alloc(2 * parts * 8)?, gpu.zeroed(2 * words(n) * 8)?);
    let waiting = gpu.alloc(if edges.ordered { 2 * n * 4 } else { 0 })?;
    let waiting_marks = gpu.zeroed(if edges.ordered { words(n) * 8 + WAITING } else { 0 })?;
    // elements with many edges make more work for each width
    let width = tuning().relaxed_width / (edges.entries as f64 / n as f64).max(1.0);
    let outcome = gpu.mailbox(8)?;
    tracing::debug!(
        operation = "fixpoint",
        schedule = "relaxed",
        fused = "rounds, lists and termination test in one kernel",
        pulls = edges.can_pull,
        blocks,
        "plan"
    );
    let pair = |address: u64, bytes: usize| [address, address + bytes as u64];
    let first = (n / tuning().relaxed_first).max(32);
    head.extend([n as u64, u64::from(most), first as u64, parts as u64]);
    head.extend(&edges.identity);
    head.push(state.values_address());
    head.extend(pair(lists.address(), n * 4));
    head.extend(pair(parts_lists.address(), parts * 8));
    head.extend(pair(marks.address(), words(n) * 8));
    head.extend([gpu.grid_barrier()?, outcome.address()]);
    head.extend(pair(waiting.address(), n * 4));
    head.extend(pair(waiting_marks.address(), words(n) * 8));
    head.push(width.to_bits());
    let shape = Launch::linear(blocks as u32, BLOCK_THREADS).with_shared(builder.shared()).cooperative();
    launch(&program, "relaxing", shape, &builder.parameter(&head))?;
    let ends = outcome.begin()?.wait::<u32>()?;
    let threads = Threads { all: blocks * BLOCK_THREADS as usize, block: BLOCK_THREADS };
    Ok(Outcome { rounds: ends[0], settled: ends[1] == 0, threads })
}
