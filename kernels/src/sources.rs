//! The CUDA C++ that kernels are composed of: one file for each idea, generic over operators. This crate's README.md lists the files.
//!
//! "After" names the files that must come earlier in a program. [`GROUP`], [`REDUCE_ROW`], [`VIEW`] and [`TERMINAL`] come first.

/// Threads, warps and blocks as groups that work on a row together, and optional values.
pub const GROUP: &str = include_str!("../cuda/group.cuh");
/// Reductions of a row by each kind of group, for exact monoids and over the fixed tree.
pub const REDUCE_ROW: &str = include_str!("../cuda/product/reduce_row.cuh");
/// Readable vectors: the nodes of an expression.
pub const VIEW: &str = concat!(
    include_str!("../cuda/expr/row_visitor.cuh"),
    include_str!("../cuda/expr/nodes.cuh"),
    include_str!("../cuda/expr/edge_policy.cuh"),
    include_str!("../cuda/expr/pull.cuh"),
);
/// Kernels that evaluate a view: into a new vector, through a mask, to one value, or scattered.
pub const TERMINAL: &str = include_str!("../cuda/terminal.cuh");
/// Short rows, staged in shared memory by a warp.
pub const STAGED: &str = include_str!("../cuda/product/staged.cuh");
/// The state of a loop. After [`DIRECT`] or [`CACHED`].
pub const STATE: &str = include_str!("../cuda/loops/state.cuh");
/// How loops over active elements end. After [`STATE`].
pub const TERMINATION: &str = include_str!("../cuda/loops/termination.cuh");
/// A loop over active elements that stays on the device. After [`TERMINATION`] and [`COPIES`].
pub const ACTIVE: &str = concat!(
    include_str!("../cuda/loops/work_list.cuh"),
    include_str!("../cuda/loops/active.cuh"),
    include_str!("../cuda/loops/blockers.cuh"),
    include_str!("../cuda/loops/short_rows.cuh"),
    include_str!("../cuda/loops/long_rows.cuh"),
);
/// Copies of states in other GPUs' memory. Before [`ACTIVE`].
pub const COPIES: &str = include_str!("../cuda/loops/copies.cuh");
/// A loop over active elements with several steps a round. After [`TERMINATION`].
pub const STEPS: &str = include_str!("../cuda/loops/steps.cuh");
/// Row compaction: a loop shortens rows as it visits them.
pub const ROW_COMPACTION: &str = include_str!("../cuda/loops/row_compaction.cuh");
/// A loop over changed elements that stays on the device. After [`STATE`].
pub const CHANGED: &str = include_str!("../cuda/loops/changed.cuh");
/// A loop that relaxes edges and stays on the device. After [`STATE`].
pub const RELAXED: &str = concat!(
    include_str!("../cuda/loops/staged_list.cuh"),
    include_str!("../cuda/loops/waiting.cuh"),
    include_str!("../cuda/loops/relaxed.cuh"),
);
/// What a kernel counts of its rounds, for kernels that are counted. Before all others.
pub const TALLIES: &str = include_str!("../cuda/loops/tallies.cuh");
/// Counters of a loop's visits, for loops that are counted. After [`TALLIES`] and [`VIEW`].
pub const PROFILED: &str = include_str!("../cuda/loops/profiled.cuh");
/// Makes a loop read states past the first-level cache. An asynchronous loop has no barrier that would empty that cache.
pub const DIRECT: &str = "namespace vxm { const bool bypass_l1 = true; }\n";
/// Makes a loop read states through the first-level cache, which the barrier between rounds empties.
pub const CACHED: &str = "namespace vxm { const bool bypass_l1 = false; }\n";
/// Degrees, and the prefix sums that lay rows out.
pub const ROWS: &str = include_str!("../cuda/rows.cuh");
/// Products over tiles: counting by bits, and reducing a row.
pub const TILES: &str = include_str!("../cuda/product/tiles.cuh");
/// Counting over tiles by 1-bit matrix units. After [`TILES`].
pub const BIT_TENSOR: &str = include_str!("../cuda/product/bit_tensor.cuh");
/// Building tiles from rows. After [`ROWS`].
pub const TILING: &str = include_str!("../cuda/tiling.cuh");
/// Counting over tiles by tensor cores.
pub const TENSOR: &str = include_str!("../cuda/tensor.cuh");
/// A sparse matrix times a dense one.
pub const DENSE: &str = include_str!("../cuda/dense.cuh");
/// Hot columns: columns renumbered by their frequency. After [`TERMINAL`].
pub const HOT_COLUMNS: &str = include_str!("../cuda/layout/hot_columns.cuh");
/// Products by propagation blocking: multiply by column range, reduce by row range. After [`TERMINAL`].
pub const PROPAGATION_BLOCKING: &str = include_str!("../cuda/layout/propagation_blocking.cuh");
/// Building the bins of propagation blocking from rows. After [`ROWS`] and [`PROPAGATION_BLOCKING`].
pub const PROPAGATION_BLOCKING_BUILD: &str = include_str!("../cuda/layout/propagation_blocking_build.cuh");
/// Rows classified by their length. After [`TERMINAL`].
pub const ROW_CLASSES: &str = include_str!("../cuda/layout/row_classes.cuh");
/// Stream compaction of marked positions. After [`TERMINAL`].
pub const COMPACT: &str = include_str!("../cuda/compact.cuh");
/// A stable radix sort. After [`ROWS`].
pub const SORT: &str = include_str!("../cuda/sort.cuh");
/// Positions divided evenly among threads, each with the row or source that it belongs to. After [`TERMINAL`].
pub const RUNS: &str = include_str!("../cuda/runs.cuh");
/// Building rows from sorted entries: triples, transposes. After [`COMPACT`] and [`RUNS`].
pub const TRIPLES: &str = include_str!("../cuda/triples.cuh");
/// Operations on a matrix, entry by entry. After [`COMPACT`] and [`RUNS`].
pub const ENTRIES: &str = include_str!("../cuda/entries.cuh");
/// Products of two sparse matrices under a mask. After [`ENTRIES`].
pub const MXM: &str = include_str!("../cuda/mxm.cuh");
/// Products of two sparse matrices by rows. After [`RUNS`] and [`ENTRIES`].
pub const MXM_ROWS: &str = include_str!("../cuda/mxm_rows.cuh");
/// The mode of rows. After [`TERMINAL`].
pub const MODE: &str = include_str!("../cuda/mode.cuh");
/// Push products: values sent along rows and combined at their targets. After [`RUNS`].
pub const PUSH: &str = include_str!("../cuda/product/push.cuh");
/// Arrays of other libraries, as vectors and as rows. After [`TERMINAL`].
pub const FOREIGN: &str = include_str!("../cuda/foreign.cuh");
/// What ranks tell each other of vectors. After [`COMPACT`].
pub const RANKS: &str = include_str!("../cuda/ranks.cuh");
