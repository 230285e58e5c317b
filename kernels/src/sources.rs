//! The CUDA C++ that kernels are composed of: one idea a file, generic over operators. See README.md beside this crate.

/// Threads, warps and blocks as groups that work on a row together, and values that may be absent.
pub const GROUP: &str = include_str!("../cuda/group.cuh");
/// Folding a row's positions: a strategy a group, exact monoids and the fixed tree.
pub const FOLD: &str = include_str!("../cuda/fold.cuh");
/// Readable vectors: the nodes of an expression.
pub const VIEW: &str = include_str!("../cuda/view.cuh");
/// What runs a view: evaluation, a write through a mask, reduction, scattering.
pub const TERMINAL: &str = include_str!("../cuda/terminal.cuh");
/// Short rows, staged in shared memory.
pub const STAGED: &str = include_str!("../cuda/staged.cuh");
/// A loop's state; after [`DIRECT`] or [`CACHED`].
pub const STATE: &str = include_str!("../cuda/state.cuh");
/// A loop over what may still change, that stays on the device; after [`STATE`].
pub const FIXPOINT: &str = include_str!("../cuda/fixpoint.cuh");
/// Rows that a loop makes shorter as it visits them.
pub const NARROW: &str = include_str!("../cuda/narrow.cuh");
/// A loop over what has changed, that stays on the device; after [`STATE`].
pub const CHANGED: &str = include_str!("../cuda/changed.cuh");
/// Says that a loop's states are read past the first-level cache: nothing ever empties it where nobody waits.
pub const DIRECT: &str = "namespace vxm { const bool direct = true; }\n";
/// Says that they are read through it: the barrier between rounds empties it.
pub const CACHED: &str = "namespace vxm { const bool direct = false; }\n";
/// Verbs of matrices.
pub const ROWS: &str = include_str!("../cuda/rows.cuh");
/// Tiles, read: counting, and folding a row.
pub const TILES: &str = include_str!("../cuda/tiles.cuh");
/// Tiles made of rows; after [`ROWS`].
pub const TILING: &str = include_str!("../cuda/tiling.cuh");
/// Counting by tensor cores.
pub const TENSOR: &str = include_str!("../cuda/tensor.cuh");
/// Rows times a dense matrix.
pub const DENSE: &str = include_str!("../cuda/dense.cuh");
/// Columns by how often they stand in a matrix; after [`TERMINAL`].
pub const CROWDED: &str = include_str!("../cuda/crowded.cuh");
/// Entries in bins, and products over them; after [`TERMINAL`].
pub const BINS: &str = include_str!("../cuda/bins.cuh");
/// Bins made of rows; after [`ROWS`] and [`BINS`].
pub const BINNING: &str = include_str!("../cuda/binning.cuh");
/// Rows by their length; after [`TERMINAL`].
pub const CLASSES: &str = include_str!("../cuda/classes.cuh");
/// Marked places, moved up; after [`TERMINAL`].
pub const COMPACT: &str = include_str!("../cuda/compact.cuh");
/// A stable radix sort; after [`ROWS`].
pub const SORT: &str = include_str!("../cuda/sort.cuh");
/// Runs that places lie in: rows, sources; after [`TERMINAL`].
pub const RUNS: &str = include_str!("../cuda/runs.cuh");
/// Rows made of sorted entries; after [`COMPACT`] and [`RUNS`].
pub const TRIPLES: &str = include_str!("../cuda/triples.cuh");
/// Verbs of matrices, entry by entry; after [`COMPACT`] and [`RUNS`].
pub const ENTRIES: &str = include_str!("../cuda/entries.cuh");
/// Products pushed along rows; after [`RUNS`].
pub const PUSH: &str = include_str!("../cuda/push.cuh");
