//! The loop over changed elements as one cooperative launch, whatever the number of rounds.

use crate::backend::cuda::codegen::builder::{CppType, KernelBuilder, Node};
use crate::backend::cuda::layout::row_classes::{HUB, LONG};
use crate::backend::cuda::loops::counters::Threads;
use crate::backend::cuda::terminals::launch;
use crate::backend::cuda::{DeviceVector, Gpu};
use crate::backend::plan::{self, Schedule};
use crate::backend::tuning::CHANGED_THREADS;
use crate::error::Result;
use crate::formats::bitmap::words;
use std::sync::Arc;
use crate::kernels::{Buffer, Launch, Program, Readback, sources};
use vxm_semiring::Element;

/// How a loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// The number of rounds.
    pub rounds: u32,
    /// The number of elements that the last round changed: 0, unless no more rounds were allowed.
    pub changed: u32,
}

/// The outcome of a loop that was launched.
pub struct PendingOutcome {
    readback: Readback,
    /// The threads launched.
    pub threads: Threads,
}

/// The number of 32-bit words that the kernel posts: rounds, and changed elements.
const OUTCOME_WORDS: usize = 2;

impl PendingOutcome {
    /// Waits for the loop's end, but not for work launched after it.
    ///
    /// # Errors
    /// The device is lost.
    pub fn outcome(self) -> Result<Outcome> {
        let words = self.readback.wait::<u32>()?;
        Ok(Outcome { rounds: words[0], changed: words[1] })
    }
}

/// The elements that must be visited after an element changed, because they read it.
#[derive(Debug)]
pub struct Readers {
    /// Whether that element itself is one.
    pub own: bool,
    /// Whether any element may be one.
    pub everything: bool,
    /// Matrices: the columns of an element's row are its readers. These are the addresses of the offsets and of the columns. The kernel
    /// builder keeps both alive.
    pub rows: Vec<(u64, u64)>,
}

/// The program for the body `node`.
fn compile<T: Element>(
    builder: &mut KernelBuilder,
    node: &Node,
    readers: &Readers,
    scatter: Option<CppType>,
    (in_place, skewed): (bool, bool),
) -> Result<Arc<Program>> {
    // reads may be cached even if states are stored in place: a change lists its readers for the next round, and the barrier before that
    // empties the cache
    builder.include(sources::CACHED);
    builder.include(sources::STATE);
    builder.include(sources::CHANGED);
    builder.element::<T>();
    let scatter = scatter.unwrap_or("vxm::NoScatter".into());
    let flags = [in_place, skewed, readers.own, readers.everything].map(CppType::from);
    let links = readers.rows.len().into();
    let config = builder.ty("vxm::ChangedConfig", [flags[0], flags[1], flags[2], flags[3], links]);
    let ty = builder.ty("vxm::ChangedLoop", [node.ty, scatter, config]);
    builder.program(ty, &[("changing", "")])
}

/// The marks and lists of elements to visit, each one for even and one for odd rounds.
struct WorkLists {
    /// Bitmaps of all elements: two of due and two of changed elements, unless all elements are visited in each round. If rows are skewed,
    /// also one of long rows and one of hubs.
    bitmaps: Buffer,
    /// The number of bitmaps before that of long rows.
    marks: usize,
    bitmap_bytes: usize,
    /// The listed elements with short rows, and the capacity of a list.
    shorts: (Buffer, usize),
    /// The listed elements with long rows, and the capacity of a list.
    longs: (Buffer, usize),
}

impl WorkLists {
    /// The work lists for `n` elements, `longs` of them with long rows.
    fn new(gpu: &Gpu, n: usize, longs: usize, everything: bool, skewed: bool) -> Result<Self> {
        // if all elements are visited, none is listed
        let (short, long, marks) = if everything { (0, 0, 0) } else { (n, longs, 4) };
        let bitmap_bytes = words(n) * 8;
        // A warp writes whole words of marks for short rows. Words that long rows and hubs share with them must start as zeros.
        let bitmaps = if skewed { gpu.zeroed((marks + 2) * bitmap_bytes) } else { gpu.alloc(marks * bitmap_bytes) }?;
        let (shorts, longs) = (gpu.alloc(2 * short * 4)?, gpu.alloc(2 * long * 4)?);
        Ok(Self { bitmaps, marks, bitmap_bytes, shorts: (shorts, short), longs: (longs, long) })
    }

    fn bitmap(&self, k: usize) -> u64 {
        self.bitmaps.address() + (k * self.bitmap_bytes) as u64
    }

    /// The kernel's words for the marks and lists.
    fn words(&self) -> [u64; 10] {
        let pair = |(list, capacity): &(Buffer, usize)| [list.address(), list.address() + 4 * *capacity as u64];
        let ([even_shorts, odd_shorts], [even_longs, odd_longs]) = (pair(&self.shorts), pair(&self.longs));
        let due = [self.bitmap(0), self.bitmap(1)];
        let [even_changed, odd_changed, is_long, is_hub] = [2, 3, self.marks, self.marks + 1].map(|k| self.bitmap(k));
        [due[0], due[1], even_shorts, odd_shorts, even_longs, odd_longs, even_changed, odd_changed, is_long, is_hub]
    }
}

/// Launches the body `node` over `state`, until a round changes nothing, or for `most` rounds. If `scatter` is there, that type says how
/// results are combined into other elements.
///
/// # Errors
/// The device has too little memory, or is lost.
#[inline(never)]
pub fn changing<T: Element>(
    mut builder: KernelBuilder,
    node: &Node,
    readers: &Readers,
    scatter: Option<CppType>,
    monotone: bool,
    most: u32,
    state: &mut DeviceVector<T>,
) -> Result<PendingOutcome> {
    let (gpu, n) = (builder.gpu().clone(), state.len());
    let classes = builder.classes().filter(|classes| classes.uniform_class.is_none());
    let (schedule, why) = plan::schedule(monotone, plan::forced());
    let in_place = schedule != Schedule::Rounds;
    let (skewed, scatters) = (classes.is_some(), scatter.is_some());
    builder.set_block_threads(CHANGED_THREADS);
    let program = compile::<T>(&mut builder, node, readers, scatter, (in_place, skewed))?;
    let resident = program.kernel("changing")?.resident(CHANGED_THREADS, builder.shared())? as usize;
    let [longs, hubs] = classes.as_deref().map_or([(0, 0); 2], |classes| [classes.rows(LONG), classes.rows(HUB)]);
    let blocks = n.div_ceil(CHANGED_THREADS as usize).clamp(1, resident.max(1));
    tracing::debug!(
        operation = "fixpoint",
        ?schedule,
        why,
        fused = "body, marks and termination test in one kernel",
        rows = readers.rows.len(),
        everything = readers.everything,
        scatters,
        longs = longs.1,
        hubs = hubs.1,
        blocks,
        "plan"
    );
    let next_state = gpu.alloc(if in_place { 0 } else { n * size_of::<T>() })?;
    let targets = gpu.alloc(if in_place || !scatters { 0 } else { n * 4 })?;
    let outcome = gpu.mailbox(OUTCOME_WORDS * 4)?;
    let lists = WorkLists::new(&gpu, n, longs.1, readers.everything, skewed)?;
    let mut head = vec![n as u64, u64::from(most), state.values_address(), next_state.address(), targets.address()];
    head.extend(lists.words());
    head.extend([longs.0, longs.1 as u64, hubs.0, hubs.1 as u64, gpu.grid_barrier()?, outcome.address()]);
    // the kernel's array of matrices has at least one member
    let none = [(0, 0)];
    let rows = if readers.rows.is_empty() { &none[..] } else { &readers.rows };
    head.extend(rows.iter().flat_map(|&(offsets, columns)| [offsets, columns]));
    let shape = Launch::linear(blocks as u32, CHANGED_THREADS).with_shared(builder.shared()).cooperative();
    launch(&program, "changing", shape, &builder.parameter(&head))?;
    let threads = Threads { all: blocks * CHANGED_THREADS as usize, block: CHANGED_THREADS };
    Ok(PendingOutcome { readback: outcome.begin()?, threads })
}
