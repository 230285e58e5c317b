//! The counters of a loop's kernel. They are compiled into the kernel only if the loop is counted: its body is then wrapped in a view
//! that counts.

use crate::backend::cuda::Gpu;
use crate::backend::cuda::codegen::builder::{CppType, KernelBuilder, Node};
use crate::backend::profile::{self, Counts, GroupLoad, LoopKind, LoopProfile, Round, Spread};
use crate::backend::tuning::THREADS;
use crate::error::Result;
use std::panic::Location;
use std::time::Instant;
use crate::kernels::{Buffer, sources};

/// The threads of a warp.
const WARP: usize = 32;
/// The most threads that a multiprocessor holds at once, on any architecture so far.
const THREADS_A_MULTIPROCESSOR: usize = 2048;
/// The kinds of groups, in the order of the kernel's counters.
const GROUPS: [(&str, usize); 3] = [("thread", 1), ("warp", WARP), ("block", THREADS as usize)];
/// The events of `vxm::Profiled`: visits, masked, changed, finalised, edges.
const EVENTS: usize = 5;

/// The counters of a loop's kernel, zero at first.
pub struct Counters {
    buffer: Buffer,
    /// The columns of counters: as many as there may be threads.
    threads: usize,
    /// The entries of the rows that the body reads.
    entries: u64,
    start: Instant,
}

/// The body of a loop: as it is, or wrapped in a view that counts if there are counters. `active` emits the test of active states, if the
/// loop has one.
pub fn counted(
    counters: &mut Option<Counters>,
    builder: &mut KernelBuilder,
    node: Node,
    active: impl FnOnce(&mut KernelBuilder) -> Option<CppType>,
) -> Node {
    let Some(counters) = counters else { return node };
    let active = active(builder);
    counters.wrap(builder, node, active)
}

impl Counters {
    /// Counters for a loop on `gpu`, if this thread is in a [scope](profile::collect).
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    pub fn start(gpu: &Gpu) -> Result<Option<Self>> {
        if !profile::is_collecting() {
            return Ok(None);
        }
        let threads = gpu.multiprocessors() as usize * THREADS_A_MULTIPROCESSOR;
        let buffer = gpu.zeroed(GROUPS.len() * EVENTS * threads * 8)?;
        Ok(Some(Self { buffer, threads, entries: 0, start: Instant::now() }))
    }

    /// The body that counts its visits. It must be wrapped before other words are added. `active` tells active states, if there is a test.
    fn wrap(&mut self, builder: &mut KernelBuilder, node: Node, active: Option<CppType>) -> Node {
        let (offsets, offset, entries) = builder.take_row_offsets().unwrap_or((0, "vxm::u64".into(), 0));
        self.entries = self.entries.max(entries);
        builder.include(sources::PROFILED);
        [offsets, self.buffer.address(), self.threads as u64].into_iter().for_each(|word| builder.push(word));
        let active = active.unwrap_or("vxm::AlwaysActive".into());
        Node { ty: builder.ty("vxm::Profiled", [node.ty, active, offset]), ..node }
    }

    /// The words of the counters for a kernel that isn't a view, and goes over rows of so many `entries`.
    pub(super) fn words(&mut self, entries: u64) -> [u64; 2] {
        self.entries = self.entries.max(entries);
        [self.buffer.address(), self.threads as u64]
    }

    /// Reads the counters of a kernel of so many threads and rounds, and adds them to the scope.
    ///
    /// # Errors
    /// The device is lost.
    pub fn finish(
        self,
        kind: LoopKind,
        at: &'static Location<'static>,
        elements: usize,
        (launched, rounds): (usize, u32),
    ) -> Result<()> {
        let nanoseconds = self.start.elapsed().as_nanos() as u64;
        let counters = self.buffer.download::<u64>(GROUPS.len() * EVENTS * self.threads)?;
        let row = |group: usize, event: usize| {
            let from = (group * EVENTS + event) * self.threads;
            &counters[from..from + launched]
        };
        let sum = |event: usize| (0..GROUPS.len()).map(|group| row(group, event).iter().sum::<u64>()).sum();
        let [visits, masked, changed, finalised, edges] = std::array::from_fn(sum);
        let counts = Counts { visits, masked, changed, finalised, edges, ..Counts::default() };
        let load = |(group, (name, members)): (usize, (&'static str, usize))| {
            // a group's first member counts for it, unless parts of a warp visit rows
            let of = |event: usize| row(group, event).chunks(members).map(|group| group.iter().sum()).collect();
            let [visits, finalised, edges] = [0, 3, 4].map(|event| Spread::of(of(event)));
            (visits.max > 0).then_some(GroupLoad { group: name, groups: launched / members, visits, finalised, edges })
        };
        let groups = GROUPS.into_iter().enumerate().filter_map(load).collect();
        let threads = (0..launched).filter(|&k| (0..GROUPS.len()).any(|group| row(group, 0)[k] > 0)).count() as u32;
        let all = Round { active: elements as u64, counts, threads, nanoseconds, ..Round::default() };
        profile::add(LoopProfile {
            device: format!("cuda:{}", self.buffer.gpu().ordinal()),
            in_place: false,
            entries: self.entries,
            rounds: vec![all],
            device_rounds: Some(rounds),
            groups,
            nanoseconds,
            ..LoopProfile::new(kind, at, elements)
        });
        Ok(())
    }
}
