//! The rules of the tuning table: from the shape of a matrix' rows to the configuration of a kernel.

use crate::backend::tuning::{BIN_BLOCKS, BIN_THREADS, BLOCK_THREADS, STAGING_THREADS, THREADS, tuning};

/// Whether the tensor cores of this architecture multiply bits themselves. From sm_100 on the instruction is emulated by many others. E048
pub(crate) fn multiplies_bits(arch: (u32, u32)) -> bool {
    ((8, 0)..(10, 0)).contains(&arch)
}

/// The shape of the rows that a kernel reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowStats {
    /// The number of rows.
    pub rows: usize,
    /// The number of entries of all rows.
    pub entries: usize,
    /// The number of entries of the longest row.
    pub longest: usize,
    /// Whether most rows have about the same length; false if unknown.
    pub uniform: bool,
    /// Whether neighbouring entries read elements that lie far apart; false if not sampled.
    pub scattered: bool,
}

impl RowStats {
    /// The stats of unknown rows.
    pub const UNKNOWN: Self = Self { rows: 0, entries: 0, longest: usize::MAX, uniform: false, scattered: false };

    /// The mean number of entries per row, rounded down.
    pub fn mean(&self) -> usize {
        self.entries / self.rows.max(1)
    }

    /// The mean number of entries per row, if rows are uniform.
    fn uniform_mean(&self) -> Option<usize> {
        self.uniform.then(|| self.mean())
    }

    /// Whether a thread with [`Tuning::unroll`](crate::backend::tuning::Tuning::unroll) loads in flight reads most of a row of mean length at once.
    fn mean_is_one_read(&self) -> bool {
        let t = tuning();
        self.uniform_mean().is_some_and(|mean| (t.one_read_mean..t.one_read_mean_end).contains(&mean))
    }

    /// Whether it does so for every row, the longest included.
    fn is_one_read(&self) -> bool {
        self.mean_is_one_read() && self.longest < tuning().one_read_longest
    }

    /// Whether rows are longer than what is read at once. Skewed rows count as long, because their long rows decide.
    pub(crate) fn is_long(&self) -> bool {
        self.uniform_mean().is_none_or(|mean| mean > tuning().short_mean)
    }
}

/// What a loop's kernel does besides reading rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopShape {
    /// It tracks a blocker for each active row.
    pub blocks: bool,
    /// It filters a row's entries by key before the first visit.
    pub prefilters: bool,
}

/// How a loop's kernel is compiled and launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopConfig {
    /// Whether the loop's first round runs its own, cheaper body.
    pub first_round: bool,
    /// The unroll depth: the number of entries that a thread has in flight.
    pub unroll: usize,
    /// The unroll depth while it filters entries.
    pub filter_unroll: usize,
    /// Whether each short row keeps a live-edge mask.
    pub live_mask: bool,
    /// The blocks per multiprocessor that the kernel is compiled for; none for the default.
    pub blocks: Option<u32>,
    /// The most blocks per multiprocessor that it is launched with; none for as many as fit.
    pub most_blocks: Option<u32>,
}

/// The configuration of a loop of this shape over rows of this shape, on a GPU with so many multiprocessors.
pub fn loop_config(rows: &RowStats, shape: LoopShape, multiprocessors: u32) -> LoopConfig {
    let t = tuning();
    let one_read = rows.is_one_read() && rows.rows <= t.one_read_rows * threads(multiprocessors, t.blocked_blocks);
    let live_mask = shape.prefilters || rows.is_long();
    let blocks = match (shape.prefilters, rows.scattered) {
        _ if !shape.blocks => None,
        (true, true) => Some(t.scattered_blocks),
        (true, false) => one_read.then_some(t.blocked_blocks),
        (false, scattered) => (scattered || !live_mask).then_some(t.blocked_blocks),
    };
    // Filtered rows have few entries left, so few loads suffice. If entries are scattered, fewer warps run, so each has more loads in
    // flight.
    let many = match shape.prefilters {
        true => rows.scattered,
        false => shape.blocks && (!rows.uniform || rows.mean_is_one_read()),
    };
    LoopConfig {
        first_round: rows.uniform && rows.is_long() && !shape.prefilters,
        unroll: if many { t.unroll } else { t.unroll_less },
        filter_unroll: if !rows.uniform || one_read { t.unroll } else { t.unroll_less },
        live_mask,
        blocks,
        most_blocks: blocks.filter(|_| shape.prefilters && rows.scattered),
    }
}

/// Kernels by what limits the number of their blocks that run on a multiprocessor at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelKind {
    /// A loop over rows of very few entries that keeps nothing but the state.
    TinyRowsLoop,
    /// A block reduces one row.
    Block,
    /// Entries of bins are multiplied.
    Bins,
    /// Rows of at most `few_entries` entries, each reduced by one thread.
    FewEntries,
    /// Short rows are staged in shared memory. The flag says whether all rows have few entries.
    Staged(bool),
    /// Rows are counted over tiles.
    Counted,
    /// A loop that compacts rows.
    CompactingLoop,
    /// Any other kernel. A loop's kernel may have the blocks per multiprocessor of its [`LoopConfig`].
    Other(Option<u32>),
}

/// The arguments of a kernel's `__launch_bounds__`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchBounds {
    /// The threads of a block.
    pub threads: u32,
    /// The least number of blocks that must fit a multiprocessor at once.
    pub blocks: u32,
}

impl LaunchBounds {
    /// The same number of threads a multiprocessor, in blocks of so many.
    pub(crate) fn in_blocks_of(self, threads: u32) -> Self {
        Self { threads, blocks: (self.blocks * self.threads / threads).max(1) }
    }
}

/// The launch bounds of a kernel. They leave each thread registers for a few loads in flight, and still fit many warps.
pub fn launch_bounds(kind: KernelKind) -> LaunchBounds {
    let t = tuning();
    let (threads, blocks) = match kind {
        KernelKind::TinyRowsLoop => (THREADS, t.tiny_rows_blocks),
        KernelKind::Block => (BLOCK_THREADS, 1),
        KernelKind::Bins => (BIN_THREADS, BIN_BLOCKS),
        KernelKind::FewEntries => (THREADS, t.few_entries_blocks),
        KernelKind::Staged(true) => (STAGING_THREADS, t.staged_few_blocks),
        KernelKind::Staged(false) => (STAGING_THREADS, t.staged_blocks),
        KernelKind::Counted => (STAGING_THREADS, t.counted_blocks),
        KernelKind::CompactingLoop => (THREADS, t.compacting_blocks),
        KernelKind::Other(blocks) => (THREADS, blocks.unwrap_or(t.blocks)),
    };
    LaunchBounds { threads, blocks }
}

/// The bound on the entries of a row that a kernel is compiled for; none if the longest row is too long. With a bound, a thread needs no
/// loop over a row, and fewer registers. E002
pub(crate) fn few_entries(longest: usize) -> Option<usize> {
    [4, 8].into_iter().find(|&few| longest <= few)
}

/// Whether a loop over these rows that keeps nothing but the state is a [`KernelKind::TinyRowsLoop`].
pub(crate) fn is_tiny(rows: &RowStats, multiprocessors: u32) -> bool {
    let t = tuning();
    let many = rows.rows >= t.tiny_rows * threads(multiprocessors, t.tiny_rows_blocks);
    rows.uniform && rows.mean() < t.one_read_mean && many
}

/// The threads of so many blocks per multiprocessor.
fn threads(multiprocessors: u32, blocks: u32) -> usize {
    multiprocessors as usize * blocks as usize * THREADS as usize
}

/// Whether all staged rows have few entries.
pub(crate) fn staged_are_few(rows: &RowStats) -> bool {
    rows.uniform && rows.mean() < tuning().staged_few_mean
}

/// The rows and columns of a grid of `size` ranks: a column of few, else as square as the number allows, with at least as many rows as
/// columns.
pub(crate) fn grid_of(size: usize) -> (usize, usize) {
    if size <= super::RANKS_IN_A_COLUMN {
        return (size, 1);
    }
    let columns = (1..=size.isqrt()).rev().find(|&columns| size.is_multiple_of(columns)).unwrap_or(1);
    (size / columns, columns)
}

/// Whether the first of the longest rows, rather than row 0, is taken to lie in the giant component, which contains most vertices; and the
/// reason. `first` is the number of entries of row 0. Row 0 is the cheaper choice, because it already has the least label. A wrong guess
/// costs only time. E031
pub fn giant_is_longest(rows: &RowStats, first: usize) -> (bool, &'static str) {
    if first == rows.longest {
        (false, "row 0 is as long as any")
    } else if rows.longest as u64 * rows.rows as u64 >= tuning().giant_hub * rows.entries as u64 {
        (true, "a hub's neighbours are connected with it at once")
    } else if first < 2 {
        (true, "row 0 has at most one entry, so it may lie outside the giant component")
    } else {
        (false, "no row is much longer than others")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uniform(mean: usize, longest: usize) -> RowStats {
        RowStats { rows: 1000, entries: 1000 * mean, longest, uniform: true, scattered: false }
    }

    const SKEWED: RowStats = RowStats { rows: 1000, entries: 9000, longest: 900, uniform: false, scattered: false };

    #[test]
    fn loops_over_short_uniform_rows_have_no_round_of_their_own_and_no_masks() {
        let plain = LoopShape { blocks: false, prefilters: false };
        let config = loop_config(&uniform(6, 12), plain, 100);
        assert_eq!((config.first_round, config.live_mask, config.unroll, config.blocks), (false, false, 4, None));
        let config = loop_config(&uniform(20, 60), plain, 100);
        assert_eq!((config.first_round, config.live_mask, config.blocks), (true, true, None));
        // the long rows of skewed ones decide
        assert_eq!(
            (loop_config(&SKEWED, plain, 100).first_round, loop_config(&SKEWED, plain, 100).live_mask),
            (false, true)
        );
    }

    #[test]
    fn loops_with_blockers_read_more_at_once_where_that_is_a_row() {
        let blocking = LoopShape { blocks: true, prefilters: false };
        assert_eq!(loop_config(&uniform(6, 12), blocking, 100).unroll, 8);
        assert_eq!(loop_config(&uniform(3, 4), blocking, 100).unroll, 4);
        assert_eq!(loop_config(&uniform(20, 60), blocking, 100).unroll, 4);
        assert_eq!(loop_config(&SKEWED, blocking, 100).unroll, 8);
        assert_eq!(loop_config(&uniform(6, 12), blocking, 100).blocks, Some(3));
        assert_eq!(loop_config(&uniform(20, 60), blocking, 100).blocks, None);
        let scattered = RowStats { scattered: true, ..uniform(20, 60) };
        assert_eq!(loop_config(&scattered, blocking, 100).blocks, Some(3));
    }

    #[test]
    fn fewer_blocks_run_over_filtered_rows_whose_entries_are_scattered() {
        let filtering = LoopShape { blocks: true, prefilters: true };
        let scattered = RowStats { scattered: true, ..uniform(20, 60) };
        let config = loop_config(&scattered, filtering, 100);
        assert_eq!((config.unroll, config.blocks, config.most_blocks), (8, Some(2), Some(2)));
        let config = loop_config(&uniform(20, 60), filtering, 100);
        assert_eq!((config.unroll, config.blocks, config.most_blocks), (4, None, None));
        let config = loop_config(&uniform(6, 12), filtering, 100);
        assert_eq!((config.filter_unroll, config.blocks, config.most_blocks), (8, Some(3), None));
        // many rows a thread: more warps are worth more than registers
        let many = RowStats { rows: 10_000_000, entries: 60_000_000, ..uniform(6, 12) };
        let config = loop_config(&many, filtering, 100);
        assert_eq!((config.filter_unroll, config.blocks, config.most_blocks), (4, None, None));
    }

    #[test]
    fn more_blocks_hide_latency_where_each_thread_has_many_tiny_rows() {
        let tiny = |rows| RowStats { rows, entries: 4 * rows, longest: 4, uniform: true, scattered: false };
        assert!(is_tiny(&tiny(10_000_000), 100));
        assert!(!is_tiny(&tiny(1_000_000), 100));
        assert!(!is_tiny(&RowStats { entries: 60_000_000, ..tiny(10_000_000) }, 100));
        assert!(!is_tiny(&RowStats { uniform: false, ..tiny(10_000_000) }, 100));
    }

    #[test]
    fn bounds_leave_registers_to_kernels_that_need_them() {
        assert_eq!(launch_bounds(KernelKind::Other(None)), LaunchBounds { threads: 256, blocks: 4 });
        assert_eq!(launch_bounds(KernelKind::Other(Some(2))), LaunchBounds { threads: 256, blocks: 2 });
        assert_eq!(launch_bounds(KernelKind::Block).threads, 1024);
        assert_eq!((few_entries(3), few_entries(8), few_entries(9)), (Some(4), Some(8), None));
    }

    #[test]
    fn the_giant_component_holds_a_hub_or_row_0() {
        let rows = |rows, entries, longest| RowStats { rows, entries, longest, uniform: false, scattered: false };
        // a hub of half of all rows
        assert!(giant_is_longest(&rows(1000, 20_000, 500), 12).0);
        // row 0 is that hub
        assert!(!giant_is_longest(&rows(1000, 20_000, 500), 500).0);
        // no hub: row 0, unless it has too few entries
        assert!(!giant_is_longest(&rows(1000, 6000, 9), 6).0);
        assert!(giant_is_longest(&rows(1000, 6000, 9), 1).0);
        // no entries, no rows
        assert!(!giant_is_longest(&rows(5, 0, 0), 0).0);
        assert!(!giant_is_longest(&rows(0, 0, 0), 0).0);
    }
}
