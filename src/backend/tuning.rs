//! The tuning table: the numbers by which the host makes the engine faster without changing an answer. The rules that use them stand in
//! `rules`; those that stay in kernels and in `jp` are listed in docs/lab/README.md.
//!
//! [`Tuning`] holds the numbers. `VXM_TUNE=name=value,name=value` overrides some of them for an experiment; answers stay the same bits.
//! [`loop_config`] and [`launch_bounds`] turn the shape of a matrix' rows ([`RowStats`]) into the configuration of a kernel. Nothing here
//! reads a graph or a device, so each rule is tested with made-up shapes.
//!
//! A number stands here once. Kernels read theirs as `vxm::Config`; `kernel_config` makes its text. The experiment behind a number is
//! described in docs/lab, on the page with the number that follows `E`.

mod rules;

pub use rules::*;

use crate::error::{Error, Result};
use std::sync::OnceLock;

/// Threads of a block, unless a kernel says otherwise.
pub(crate) const THREADS: u32 = 256;
/// Threads of a block that reduces one row together.
pub(crate) const BLOCK_THREADS: u32 = 1024;
/// Threads of a block of a loop over changed elements. Each of its rounds ends at a grid barrier, at which fewer blocks arrive sooner. E070
pub(crate) const CHANGED_THREADS: u32 = 512;
/// Threads of a block that stages short rows in shared memory: four warps, so that few warps wait for a slow one.
pub(crate) const STAGING_THREADS: u32 = 128;
/// Blocks per multiprocessor that compute long rows of a product of two matrices. Each has elements for some columns. E083
pub(crate) const PRODUCT_ROW_BLOCKS: usize = 2;
/// One in so many free bytes of a device holds these elements. With fewer columns there are more parts, each of which searches the rows of the
/// right matrix. E083
pub(crate) const PRODUCT_ROW_SHARE: usize = 8;
/// The most bytes of a product that is staged: of wider ones those of four warps exceed a block's shared memory, 48 KiB.
pub(crate) const STAGED_BYTES: usize = 8;
/// Threads of a block that multiplies the entries of bins: two such blocks take all registers of a multiprocessor.
pub(crate) const BIN_THREADS: u32 = 768;
/// Blocks per multiprocessor that multiply the entries of bins. Each holds a slice of the vector in shared memory.
pub(crate) const BIN_BLOCKS: u32 = 2;

/// Columns of a column chunk of propagation blocking, and entries of a row chunk. With 4 bytes each, the shared memory of a multiprocessor
/// holds two chunks. E005
pub(crate) const BIN_CHUNK: usize = 24576;
/// Entries of a unit; a bin's capacity is a multiple of it. With 4 bytes each, a unit is a sector of memory. E005
pub(crate) const BIN_UNIT: usize = 8;
/// Adjacent entries of a window, when a sample estimates whether a matrix' entries are scattered. E005
pub(crate) const BIN_SAMPLE: usize = 1024;
/// Entries of a row that machine code pushes together. Room for what they change is cleared at each visit, and most rows are short. E071
pub(crate) const PUSHED_ENTRIES: usize = 32;

/// Blocks of indices are hashed, instead of dealt out to ranks in turn, if the fullest rank would hold more than this times the mean number
/// of entries. The time of a round is that of the fullest rank; hashing makes boundaries of meshes longer. E047
pub(crate) const RANKS_UNEVEN: f64 = 1.3;
/// Portions of a rank's part of the input that are counted before blocks are dealt out. A few places of a file tell whether hubs stand together;
/// the portions are kept until they are sent, each 8 to 16 MiB. E061
pub(crate) const RANKS_SAMPLE: u64 = 4;
/// All rows of a share are folded anew if more than one slot in this many changed: nearly all rows of most graphs read one of them, and
/// finding out which costs as much as a fold. A neighbourhood of eight is usual. E054, no figure
pub(crate) const RANKS_MOST_READ: usize = 8;
/// A product of two sparse matrices brings the right one in ranges of columns, each with at most as many entries for a rank as it holds itself;
/// or this many, if that is more: 16 to 48 MiB, which is little beside a process. E065, no other value timed
/// A check of an answer brings rows in portions of as many entries of a rank. E066
pub(crate) const RANKS_READ_ENTRIES: u64 = 1 << 22;
/// Ranges of columns of which the entries are counted before. Hubs may stand together, so they are narrower than what is brought at once; the
/// counts travel in one message of 2 KiB. E065, no other value timed
pub(crate) const RANKS_RANGES: u32 = 256;
/// Up to this many ranks stand in one column, where rows are whole. More stand in a grid that is nearly square, where a rank exchanges with
/// its row and column only. cuMIS found both alike on up to 16 GPUs (section 7.2). E047
pub(crate) const RANKS_IN_A_COLUMN: usize = 16;

/// The least row lengths of the row classes after the first. A wider group of threads takes over at three of them. Four threads reduce a
/// row from 8 entries, a warp from 33 (cuMIS, section 3.2), and a block from 8192, where each warp has a segment of 1024 entries of the
/// fixed tree. The others classify long rows for loops that start the longest rows first. E001, E023
pub(crate) const ROW_CLASSES: [usize; 6] = [8, 33, 96, 256, 2048, 8192];

/// Bytes of an array from which the driver is asked whether they fit on a device, if no budget limits them. Asking takes longer than
/// allocating a small array, which is tried instead. E050
pub(crate) const ASK_FROM: usize = 64 << 20;

/// The greatest value that an integer of the table may be set to. Products with numbers of rows or entries still fit 64 bits.
const MOST: u64 = 1 << 28;

/// A number of the table, read from `VXM_TUNE`.
trait Setting: Sized {
    /// The number that `text` says; an error says what was expected.
    fn read(text: &str) -> std::result::Result<Self, String>;
}

macro_rules! integer_settings {
    ($($ty:ty),*) => {$(
        impl Setting for $ty {
            fn read(text: &str) -> std::result::Result<Self, String> {
                // 0 is refused everywhere: most numbers divide, or size what is cut into parts
                let value = text.parse().ok().filter(|&value| (1..=MOST as $ty).contains(&value));
                value.ok_or_else(|| format!("an integer from 1 to {MOST}"))
            }
        }
    )*};
}
integer_settings!(u32, u64, usize);

impl Setting for f64 {
    fn read(text: &str) -> std::result::Result<Self, String> {
        let value = text.parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0);
        value.ok_or_else(|| "a number, 0 or more".to_owned())
    }
}

macro_rules! table {
    ($( $(#[$doc:meta])+ $name:ident: $ty:ty = $value:expr; )+) => {
        /// The numbers that `VXM_TUNE` can override, each with its reason.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Tuning {
            $( $(#[$doc])+ pub $name: $ty, )+
        }

        impl Tuning {
            /// The defaults.
            pub const DEFAULT: Self = Self { $( $name: $value, )+ };

            /// The names, in the order of the table.
            pub const NAMES: &[&str] = &[$( stringify!($name), )+];

            /// Sets one number from its text.
            fn set(&mut self, name: &str, text: &str) -> std::result::Result<(), String> {
                match name {
                    $( stringify!($name) => {
                        self.$name = Setting::read(text).map_err(|expected| format!("{name}: expected {expected}, found {text:?}"))?;
                    } )+
                    _ => return Err(format!("expected one of {}, found {name:?}", Self::NAMES.join(", "))),
                }
                Ok(())
            }
        }
    };
}

table! {
    // ---- vectors
    /// A vector is kept as a sorted list if fewer than one index in so many has an element. A list takes 4 more bytes per element; a bitmap
    /// takes a value and a bit per index.
    sparse_vector: usize = 32;
    /// A masked write changes single elements of a vector if it writes fewer than one index in so many. Otherwise it makes a new vector.
    patched_vector: usize = 8;

    // ---- products: direction and format
    /// A pushed entry costs as much as so many pulled ones: it is a scattered write, and the written indices are sorted. E007
    push_cost: u64 = 4;
    /// The fixed cost of a push on a GPU, a dozen launches, in pushed entries. E007
    device_push: u64 = 1 << 23;
    /// A fold with a terminal value reads about one in so many entries of a row. E007
    early_exit: u64 = 4;
    /// What counting with a tile costs, in entries of CSR: full tiles have more. All 16 rows look at a tile, entries or not. E067
    tile_fill: f64 = 20.0;
    /// The same on a GPU of sm_80 or later, where a tile is 36 bytes of wide loads, and an entry 4 bytes. E006
    device_tile_fill: f64 = 8.0;
    /// What a row of the rest costs beside its entries where a GPU counts over full tiles and rows, in entries: its offsets are
    /// read before them. E067
    device_rest_row: f64 = 5.0;
    /// The part of the cost over CSR that tiles must save to be made. E067
    tile_gain: f64 = 0.25;
    /// Products that count over CSR before tiles are counted, and made if they pay: making them takes as long as so many products save. E067
    tile_after: u32 = 16;
    /// The same on a GPU. E067
    device_tile_after: u32 = 64;

    // ---- rows on a GPU
    /// Rows are uniform if all have fewer entries than this, and few are long. Then lists of rows by length would only separate neighbours
    /// that share cache lines. E001
    uniform_longest: usize = 128;
    /// Rows are uniform if at most one row in so many is longer than a warp. E001
    uniform_long_rows: usize = 64;
    /// Mean entries per uniform row from which four threads reduce a row faster than one thread does. E001
    four_threads_mean: usize = 16;
    /// Fewer hubs than this are reduced by warps, if none is much longer than the least hub: a separate launch costs more. E001
    few_hubs: usize = 64;
    /// The most blocks per multiprocessor of a grid-stride launch: more would only queue. E001
    grid_blocks: u32 = 32;

    // ---- products on a GPU
    /// Products with a matrix after which its entries are rearranged for later ones: rearranging takes as long as a few products. E005
    arrange_after: u32 = 8;
    /// Columns from which propagation blocking may pay: the second-level cache no longer serves scattered reads of so large a vector well.
    /// E005
    bin_columns: usize = 1 << 17;
    /// The cost of reading a slice of the vector, in units of 8 entries to multiply. It balances the blocks that multiply bins. E005
    bin_slice_cost: u64 = 4096;
    /// Columns with elements that fit the first-level cache together. Renumbering pays if most entries lie in so many columns. E004
    hot_columns: u64 = 1 << 15;
    /// Mean entries per row below which staged rows count as rows of few entries. E002
    staged_few_mean: usize = 15;
    /// Blocks per multiprocessor for staged short rows. E002
    staged_blocks: u32 = 6;
    /// Blocks per multiprocessor for staged rows of few entries: only more warps keep enough loads in flight. E002
    staged_few_blocks: u32 = 8;
    /// Blocks per multiprocessor if no row has more entries than a thread loads at once: such kernels need few registers. E002
    few_entries_blocks: u32 = 8;
    /// Blocks per multiprocessor for rows counted over tiles. E006
    counted_blocks: u32 = 8;
    /// Tiles of a tile-row from which several warps count it together. E006
    long_tile_row: u64 = 1024;
    /// Blocks per multiprocessor for every other kernel: this leaves 64 registers per thread, enough for four loads in flight. E002
    blocks: u32 = 4;

    // ---- memory of a GPU
    /// Bytes a row that stay free on a device for vectors while arrays of entries are placed: a loop's state, its next state, its work
    /// lists, and a few vectors more. E050
    vector_room: u64 = 64;

    // ---- loops on a GPU
    /// Mean entries per uniform row up to which rows count as short. All of such a row is read at once, so neither a cheaper first round
    /// nor a live-edge mask saves a read. E013
    short_mean: usize = 8;
    /// The least mean entries per uniform row at which rows are one read: a thread with eight loads in flight reads most of a row at once.
    /// Shorter rows need fewer loads. E019
    one_read_mean: usize = 5;
    /// The mean entries per uniform row from which rows are no longer one read. Eight loads are only a part of such a row, and more of them
    /// would queue in the second-level cache. E019
    one_read_mean_end: usize = 15;
    /// All rows must be shorter than this where every row has to be one read. E019
    one_read_longest: usize = 32;
    /// Rows per resident thread up to which loops with blockers spend registers on one-read rows. With few rows a thread, the latency of each
    /// row decides; with more, more warps do. E041
    one_read_rows: usize = 8;
    /// The unroll depth where rows are one read: the number of entries that a thread has in flight. E019
    unroll: usize = 8;
    /// The unroll depth elsewhere: more loads would only queue. E019
    unroll_less: usize = 4;
    /// Blocks per multiprocessor for loops that track blockers: this leaves registers for eight loads in flight without a spill. E015
    blocked_blocks: u32 = 3;
    /// Blocks per multiprocessor for loops over pre-filtered rows with scattered entries: more warps would evict each other's lines. E015
    scattered_blocks: u32 = 2;
    /// Blocks per multiprocessor for loops that compact rows: the state of a compacted row takes registers. E015
    compacting_blocks: u32 = 3;
    /// Blocks per multiprocessor for loops over rows of very few entries that keep nothing but the state: only more warps hide latency.
    /// E015
    tiny_rows_blocks: u32 = 6;
    /// Rows per resident thread from which that pays. With fewer rows a thread, registers for more loads in flight are worth more. E041
    tiny_rows: usize = 12;
    /// The most bytes of a block's shared memory for the work lists of a row class. Four such blocks leave half of the memory to the
    /// first-level cache. E016
    shared_lists: usize = 36 << 10;
    /// Short rows per thread from which blocked rows are tested again at once, while what they read is still in a cache. E012
    revisit_rows: usize = 32;
    /// While long rows are active, only one pass in so many visits all short rows: blockers are mostly long rows. E022
    short_rows_every: u32 = 64;
    /// Passes without a change after which a warp reports that it is idle. E029
    idle_passes: u32 = 256;
    /// Live entries of a compacted row that one lane visits, where several such rows are ready. E020
    lane_row: u32 = 8;
    /// The number of such ready rows from which that pays. E020
    lane_rows: u32 = 5;
    /// Live entries of a compacted row up to which eight lanes visit it. E020
    eight_lane_row: u32 = 64;
    /// Long rows started between two tests of the longest ones. E023
    begin_rows: u32 = 4;
    /// Batches of short rows started between two tests of the longest rows. E023
    begin_batches: u32 = 4;
    /// Rows of a class tested by a pass that does not test the whole class. E023
    look_rows: u32 = 16;
    /// Entries of the longest row above which a loop copies the columns, to compact rows: a long row is read many times. E020
    compact_row: usize = 1024;
    /// A row at least so many times as long as the mean is taken for a hub of the giant component. E031
    giant_hub: u64 = 16;

    /// Entries of the left matrix' row from which on dot products under a mask look entries up in a table of that row. A warp fills and clears
    /// it in a few steps. Shorter rows are walked along. E083
    table_row: u32 = 64;

    /// A loop relaxes edges if at most one in so many elements differs from the identity at first. Otherwise rounds that visit all elements in
    /// order are cheaper. E068
    relaxed_first: usize = 64;
    /// Edges of a row above which several warps push them, each so many. E068
    relaxed_row: u32 = 256;
    /// A loop that pushes looks for changed elements from the others' side once these have one in so many of the edges not read yet. E068
    relaxed_pull: u32 = 15;
    /// Blocks of 1024 threads per multiprocessor that relax edges: more of them take longer to wait for each other. E068
    relaxed_blocks: usize = 1;
    /// Elements that such a block lists in shared memory before it lists them in global memory. Two such lists stay below 48 KiB, which every
    /// device has. E068
    relaxed_staged: u32 = 4096;
    /// How much worse than the best a value may be to be relaxed at once, in mean losses along an edge, over the mean number of a row's
    /// entries. With less there are more rounds, with more there are elements that change again. E068
    relaxed_width: f64 = 128.0;

    // ---- the CPU
    /// Work below this many elements runs on the calling thread: waking another thread costs more. Work is also small if it is below four
    /// times as many matrix entries, since an entry costs less than an element. E034
    sequential: usize = 4096;
    /// Chunks per thread. With several, other threads take over chunks of a slow one. E034
    chunks_a_thread: usize = 16;
    /// The least elements of a chunk. E034
    least_chunk: usize = 64;
    /// The most elements in a chunk of the first pass. If rows are short, a chunk's state and most of its rows fit in a core's cache. So
    /// the chunk can be revisited cheaply. E035
    cache_chunk: usize = 1 << 15;
    /// Bytes of state that caches are assumed to hold, so that the order of reads hardly matters. E035
    cache_bytes: usize = 8 << 20;
    /// How many list places ahead a row's bounds are prefetched; entries are prefetched half as far ahead. It covers the latency of a
    /// cache miss by the visits in between. E035
    prefetch_rows: usize = 32;
    /// The least number of elements that is worth a decision. A smaller sample can't estimate a fraction. A chunk with fewer elements left
    /// isn't revisited. Shorter runs would make threads contend for the counter of the ordered first pass. E035
    loop_sample: usize = 64;
    /// The longest run of elements that a thread takes at a time in the ordered first pass. Longer runs would save no more on the
    /// shared counter, and leave threads unevenly loaded at the end. E035
    longest_run: usize = 512;
    /// The most deferred elements that a thread keeps before it waits for other threads to settle their blockers. The list stays in a cache
    /// while it is retried. E035
    most_deferred: usize = 1024;
    /// How often an element is visited at once, while each visit changes it or its blocker has settled meanwhile. What other threads settle
    /// then mostly settles it, too; one that is left blocks all that wait for it until the next pass. E078
    visits_at_once: usize = 16;
    /// The longest time in milliseconds that a thread waits for other threads. The bound breaks deadlocks. An operator may itself run
    /// parallel code, and its thread may then steal a task of another loop. There it could wait for a thread that in turn waits for the
    /// operator's element. E035
    max_wait_ms: u64 = 50;
    /// From this many woken elements up, a pass runs in parallel. Their number decides, since their cost is unknown: a woken element's row
    /// is read only until an entry ends the fold. E034
    parallel_woken: usize = 512;
    /// Entries of a row above which a loop filters a product's entries before it begins: long rows would be read again and again. E034
    prefilter_row: usize = 1024;
    /// The least size of a sample that estimates how many elements a round will change. E037
    changed_sample: usize = 1024;
    /// If more than one in so many elements is due, a round goes through all marks in order instead of a list. Scanning the marks then
    /// costs little beside the visits, and visits in order read memory in order. E037
    sweep_fraction: usize = 8;
    /// A loop that pushes looks for elements that are due from the others' side once these have one in so many of the edges not read yet.
    /// A pull stops at the first such element, a push reads all. 15 in Beamer's work. E051
    pull_edges: u64 = 15;
    /// The width of a bucket in mean weights, times the mean number of a row's entries. Wider buckets hold more work for threads, and more
    /// elements that change again before they are settled. E051
    bucket_width: f64 = 0.25;
    /// Where labels spread, so many passes in place are tried before the best labels go first, and one more for each thread. A search pushes each
    /// element once, mostly by one thread and in no order of memory, which takes as long as a few passes by one thread. E075
    sweeps: u64 = 2;
    /// From this many entries up, a product over programs asks for machine code of its rows, and a loop that relaxes edges too. Making it takes
    /// as long as interpreting about so many. E071
    compiled_entries: usize = 1 << 15;
    /// Rows of a matrix that a task builds. E034
    build_rows: usize = 1024;
    /// One in so many of the free bytes may go to what a loop keeps of rows in a file larger than memory. Joining the parts takes the same
    /// again, and the loop's lists and the file's pages need the rest. E074
    kept_share: u64 = 3;

    // ---- products of two sparse matrices
    /// Products of a row up to which they are listed and sorted: so few need no table. E045
    listed_products: usize = 12;
    /// Products of a row above which it is accumulated in an array over all columns. A table for more would not fit the second-level cache
    /// either. E045
    hashed_products: usize = 1 << 14;
    /// Bytes of an array over all columns up to which it is always taken: a core's share of the last cache holds it. E045
    dense_row_bytes: usize = 1 << 22;
    /// Places of a mask's row up to which they are kept in a hash table, if an array over all columns would not fit a cache. E045
    hashed_places: usize = 1 << 12;
    /// A step of a binary search costs as much as reading so many entries of a row in order: it is a misprediction. E045
    search_cost: usize = 4;
    /// Rows of the right matrix that are prefetched ahead: as many as overlap a miss of the last cache. Their bounds are prefetched twice as
    /// far ahead. E045
    rows_ahead: usize = 8;
    /// Transposing an entry costs as much as looking at so many entries in a product. E045
    transpose_cost: u64 = 4;

    // ---- the mode of rows
    /// Labels of a row up to which they are sorted: so few are sorted by insertion, without a table to clear. E049
    listed_labels: usize = 20;
    /// Slots that a table of labels begins with at most. It grows with the distinct labels, which are few in most long rows, so that it
    /// stays in the first-level cache. E049
    label_slots: usize = 1024;
    /// Bytes that the tables of labels of long rows may take on a GPU. Each block has one for the longest row; fewer blocks run if not all
    /// fit. E049
    label_table_bytes: usize = 1 << 27;
}

impl Tuning {
    /// The defaults with the changes of `settings`: `name=value`, separated by commas.
    fn parse(settings: &str) -> std::result::Result<Self, String> {
        let mut tuning = Self::DEFAULT;
        for setting in settings.split(',').map(str::trim).filter(|setting| !setting.is_empty()) {
            let Some((name, value)) = setting.split_once('=') else {
                return Err(format!("expected name=value, found {setting:?}"));
            };
            tuning.set(name.trim(), value.trim())?;
        }
        Ok(tuning)
    }
}

/// The table in use, and the fault in `VXM_TUNE`, if there is one.
fn read() -> &'static (Tuning, Option<String>) {
    static TUNING: OnceLock<(Tuning, Option<String>)> = OnceLock::new();
    TUNING.get_or_init(|| match std::env::var("VXM_TUNE").map(|settings| Tuning::parse(&settings)) {
        Ok(Ok(tuning)) => (tuning, None),
        Ok(Err(why)) => {
            tracing::warn!(why, "VXM_TUNE is ignored");
            (Tuning::DEFAULT, Some(why))
        }
        Err(_) => (Tuning::DEFAULT, None),
    })
}

/// The table in use: the defaults, with the changes of `VXM_TUNE`. The variable is read once, at the first use.
#[inline]
pub fn tuning() -> &'static Tuning {
    &read().0
}

/// Checks that `VXM_TUNE` is valid. The library ignores an invalid one with a warning; the command refuses it.
///
/// # Errors
/// [`Error::Invalid`]: a name is not in the table, or a value is not of its type.
pub fn check() -> Result<()> {
    match &read().1 {
        Some(why) => Err(Error::invalid(format!("VXM_TUNE: {why}"))),
        None => Ok(()),
    }
}

/// The constants that kernels take from the table, as the C++ struct `vxm::Config`.
pub(crate) fn kernel_config() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let t = tuning();
        let members = [
            ("short_rows_every", t.short_rows_every),
            ("idle_passes", t.idle_passes),
            ("lane_row", t.lane_row),
            ("lane_rows", t.lane_rows),
            ("eight_lane_row", t.eight_lane_row),
            ("begin_rows", t.begin_rows),
            ("begin_batches", t.begin_batches),
            ("look_rows", t.look_rows),
            ("relaxed_row", t.relaxed_row),
            ("relaxed_pull", t.relaxed_pull),
            ("relaxed_staged", t.relaxed_staged),
            ("staging_warps", STAGING_THREADS / 32),
            ("bin_chunk", BIN_CHUNK as u32),
            ("bin_unit", BIN_UNIT as u32),
            ("bin_sample", BIN_SAMPLE as u32),
        ];
        let members: String =
            members.iter().map(|(name, value)| format!("    static const unsigned int {name} = {value};\n")).collect();
        format!("namespace vxm {{\nstruct Config {{\n{members}}};\n}} // namespace vxm\n")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_change_what_they_name_and_nothing_else() {
        let tuning = Tuning::parse("unroll=2, tile_fill=7.5").unwrap();
        assert_eq!(tuning, Tuning { unroll: 2, tile_fill: 7.5, ..Tuning::DEFAULT });
        assert_eq!(Tuning::parse(""), Ok(Tuning::DEFAULT));
    }

    #[test]
    fn a_bad_setting_says_what_was_expected() {
        let why = Tuning::parse("unroll").unwrap_err();
        assert_eq!(why, "expected name=value, found \"unroll\"");
        let why = Tuning::parse("unroll=many").unwrap_err();
        assert_eq!(why, "unroll: expected an integer from 1 to 268435456, found \"many\"");
        assert!(Tuning::parse("least_chunk=0").unwrap_err().starts_with("least_chunk: expected an integer from 1 to "));
        assert!(Tuning::parse("push_cost=18446744073709551615").is_err());
        assert!(Tuning::parse("tile_fill=inf").unwrap_err().starts_with("tile_fill: expected a number, 0 or more"));
        let why = Tuning::parse("speed=9").unwrap_err();
        assert!(why.starts_with("expected one of sparse_vector, ") && why.ends_with("found \"speed\""), "{why}");
    }

    #[test]
    fn kernels_get_the_numbers_of_the_table() {
        assert!(kernel_config().contains("static const unsigned int short_rows_every = 64;"));
    }
}
