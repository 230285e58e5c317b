//! The plan: a product's direction, format and strategy, a loop's schedule, and a vector's format, decided by sizes.
//!
//! Nothing here reads an element, so every decision is tested without data or device. Each decision about a product or a loop has its
//! reason beside it.

mod tiles;

pub use tiles::{TileSizes, least_entries, tile_format};

use crate::backend::tuning::tuning;
use crate::error::{Error, Result};
use core::str::FromStr;
use std::cell::Cell;

/// The direction of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Direction {
    /// Each element of the vector is multiplied along its row of the matrix, and products are folded into the elements of the result.
    Push,
    /// Each wanted element of the result is a fold along its column of the matrix.
    Pull,
}

/// The format in which a product reads its matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Compressed sparse rows.
    Csr,
    /// 16 x 16 tiles of bits.
    Tiles,
    /// Tiles with many entries, and compressed rows of the other entries. For products of patterns that count; others read rows.
    Hybrid,
}

impl Format {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csr => "csr",
            Self::Tiles => "tiles",
            Self::Hybrid => "hybrid",
        }
    }
}

impl FromStr for Format {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        let all = [Self::Csr, Self::Tiles, Self::Hybrid];
        let unknown = || Error::unknown("format", name, &["auto", "csr", "tiles", "hybrid"]);
        all.into_iter().find(|format| format.name() == name).ok_or_else(unknown)
    }
}

/// How a product runs in its direction and format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// Folds each wanted row, and stops at a terminal value.
    FoldRows,
    /// Counts the entries of a row in columns that the vector's presence bitmap has. On a CPU.
    CountRows,
    /// Counts the bits that a tile-row and the vector's presence bitmap have in common, 16 at a time.
    CountTiles,
    /// Counts them by tensor cores that multiply `f16`, a tile at a time (TC-MIS, section 3.2).
    CountTilesTensor,
    /// Counts them by tensor cores that multiply bits, 16 tiles at a time.
    CountTilesBits,
    /// Scatters products to their columns.
    Scatter,
}

impl Strategy {
    /// Whether it counts.
    pub fn counts(self) -> bool {
        self == Self::CountRows || self.counts_tiles()
    }

    /// Whether it counts over tiles.
    pub fn counts_tiles(self) -> bool {
        matches!(self, Self::CountTiles | Self::CountTilesTensor | Self::CountTilesBits)
    }
}

/// The sizes and properties of a product on which its plan depends.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// The number of entries of the matrix.
    pub entries: u64,
    /// The length of the result.
    pub length: usize,
    /// An upper bound of the number of elements of the result that the mask wants.
    pub wanted: usize,
    /// An upper bound of the number of elements of the vector.
    pub elements: usize,
    /// Whether the vector is stored as a list, so that a pull must first convert it to a bitmap.
    pub listed: bool,
    /// The number of entries in the rows of the vector's elements, if counting them is cheap.
    pub push_entries: Option<u64>,
    /// Whether the product can only be pulled: in a loop, with an edge filter, or if its monoid can't be pushed.
    pub pulls: bool,
    /// Whether the monoid is exact: associative bit for bit.
    pub exact: bool,
    /// Whether folds may end early, at a terminal value.
    pub terminal: bool,
    /// Whether all products of the semiring have the same value.
    pub counting: bool,
    /// Whether a row's length decides its element: the vector is full, and a single product decides.
    pub lengths: bool,
    /// The mean number of entries of a stored tile, if there are tiles and they can hold the matrix' values.
    pub fill: Option<f64>,
    /// Whether full tiles and rows of the rest can be read together: the matrix is a pattern, and the product isn't in a loop's kernel.
    pub splits: bool,
    /// Whether rows may be counted by bits: on a CPU, outside of loops, and no single product decides.
    pub by_bits: bool,
    /// The format that was chosen for products that count, after `tile_after` of them, and the reason.
    pub chosen: Option<(Format, &'static str)>,
    /// Whether the device has tensor cores.
    pub tensor: bool,
    /// Whether they multiply bits without emulation.
    pub bit_tensor: bool,
}

/// The plan of a product.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// The direction.
    pub direction: Direction,
    /// The matrix's format.
    pub format: Format,
    /// How it runs.
    pub strategy: Strategy,
    /// The reason, for the log.
    pub why: &'static str,
}

/// The order in which a loop visits elements that may still change. Answers don't depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Schedule {
    /// Each round visits all remaining elements once.
    Rounds,
    /// Each thread or warp visits its own elements again and again, without waiting for others. Only for `monotone` loops.
    Asynchronous,
    /// Each round visits a random half of the elements, and reads some states of earlier rounds: to test the claim of `monotone`.
    Stale(u64),
    /// As if rows lay in a file larger than memory, of which so many bytes may be kept. Passes then go over the rows in their order. Only for
    /// `monotone` loops on the CPU; elsewhere loops run in rounds.
    Sweeps(u64),
}

/// The schedule of a loop on a device, and the reason. Monotone loops run asynchronously, because that saves the barriers between rounds.
/// E012
pub fn schedule(monotone: bool, forced: Forced) -> (Schedule, &'static str) {
    match forced.schedule {
        _ if !monotone => (Schedule::Rounds, "not declared monotone: each visit reads the state of the round before"),
        Some(schedule) => (schedule, "forced"),
        None => (Schedule::Asynchronous, "monotone: visits need not wait for each other"),
    }
}

/// How a row of a product of two sparse matrices is computed. On a GPU `Dense` takes all but the shortest rows for long ones. Under a mask
/// `Hash` makes tables of short rows too, and `Dots` makes none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RowPath {
    /// All products are listed, sorted by column, and folded. Not under a mask.
    List,
    /// A hash table holds the columns that occur, or the mask's places.
    Hash,
    /// An array over all columns.
    Dense,
    /// A dot product for each place of a mask. Only under a mask.
    Dots,
}

/// Choices forced on the plan, by tests and benchmarks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Forced {
    /// The direction.
    pub direction: Option<Direction>,
    /// The format.
    pub format: Option<Format>,
    /// The strategy of a pull, if the product allows it. Counting needs tiles, and a semiring with a single product value.
    pub strategy: Option<Strategy>,
    /// The schedule of `monotone` loops.
    pub schedule: Option<Schedule>,
    /// How rows of products of two sparse matrices are computed, where the product allows it.
    pub row_path: Option<RowPath>,
    /// The most products of a group of rows in a product of two sparse matrices on a GPU.
    pub products_at_once: Option<u64>,
}

thread_local! {
    static FORCED: Cell<Forced> = const {
        Cell::new(Forced { direction: None, format: None, strategy: None, schedule: None, row_path: None, products_at_once: None })
    };
}

/// Runs `f` with choices forced on every plan that this thread makes.
///
/// ```
/// use vxm::backend::plan::{Direction, Forced, force};
/// use vxm::prelude::*;
///
/// let a = Matrix::undirected(3, &[(0, 1), (1, 2)])?;
/// let key = Vector::from_dense(vec![5u32, 9, 2]);
/// let push = Forced { direction: Some(Direction::Push), ..Forced::default() };
/// assert_eq!(force(push, || key.vxm(&a, MAX_FIRST).eval())?, key.vxm(&a, MAX_FIRST).eval()?);
/// # Ok::<(), vxm::Error>(())
/// ```
pub fn force<R>(choices: Forced, f: impl FnOnce() -> R) -> R {
    struct Restore(Forced);
    impl Drop for Restore {
        fn drop(&mut self) {
            FORCED.set(self.0);
        }
    }
    let _restore = Restore(FORCED.replace(choices));
    f()
}

/// The choices forced on this thread.
pub fn forced() -> Forced {
    FORCED.get()
}

/// The plan of a vector-matrix product.
pub fn product(sizes: &Sizes, forced: Forced) -> Plan {
    // only strategies of pulls can be forced
    let forced_direction = forced.direction.or(forced.strategy.map(|_| Direction::Pull));
    let (direction, why) = direction(sizes, forced_direction);
    if direction == Direction::Push {
        return Plan { direction, format: Format::Csr, strategy: Strategy::Scatter, why };
    }
    let counts = forced.strategy.is_some_and(Strategy::counts_tiles);
    let format = forced.format.or((counts && sizes.counting).then_some(Format::Tiles));
    let folds = forced.strategy == Some(Strategy::FoldRows);
    // only devices have tensor cores
    let crossover = if sizes.tensor { tuning().device_tile_fill } else { tuning().tile_fill };
    let may_count = sizes.counting && !sizes.lengths && !folds;
    let planned = match (format, sizes.fill) {
        (Some(Format::Hybrid), _) if sizes.splits && sizes.counting && !folds => Format::Hybrid,
        (Some(Format::Tiles), Some(_)) => Format::Tiles,
        (None, Some(fill)) if may_count && fill >= crossover => Format::Tiles,
        (None, _) if may_count => sizes.chosen.map_or(Format::Csr, |(format, _)| format),
        _ => Format::Csr,
    };
    if planned == Format::Csr {
        let why = match (format, sizes.chosen) {
            (Some(Format::Tiles), _) => "tiles hold patterns and f16 weights only",
            (Some(Format::Hybrid), _) => "full tiles are for patterns, and products that count outside of loops",
            _ if counts && !sizes.counting => "only products that are all alike are counted",
            (None, Some((Format::Csr, why))) if may_count => why,
            _ => why,
        };
        // the bitmap takes a pass over the vector
        let read = u128::from(sizes.entries) * sizes.wanted as u128 / sizes.length.max(1) as u128;
        let by_bits = sizes.by_bits && may_count && read >= sizes.length as u128;
        let strategy = if by_bits { Strategy::CountRows } else { Strategy::FoldRows };
        return Plan { direction, format: Format::Csr, strategy, why };
    }
    if planned == Format::Hybrid {
        let what = "set bits of full tiles are counted, and rows of the rest";
        let why = sizes.chosen.filter(|_| format.is_none()).map_or(what, |(_, why)| why);
        return Plan { direction, format: Format::Hybrid, strategy: Strategy::CountTiles, why };
    }
    let (strategy, why) = match forced.strategy {
        _ if !sizes.counting => (Strategy::FoldRows, "tiles were forced"),
        Some(Strategy::FoldRows) => (Strategy::FoldRows, "forced"),
        Some(Strategy::CountTiles) => (Strategy::CountTiles, "forced"),
        Some(Strategy::CountTilesTensor) if sizes.tensor => (Strategy::CountTilesTensor, "forced"),
        Some(Strategy::CountTilesTensor) => {
            (Strategy::CountTiles, "there are no tensor cores here: set bits are counted")
        }
        Some(Strategy::CountTilesBits) if sizes.bit_tensor => (Strategy::CountTilesBits, "forced"),
        Some(Strategy::CountTilesBits) => {
            (Strategy::CountTiles, "there are no 1-bit matrix units here: set bits are counted")
        }
        _ if forced.format.is_some() => (Strategy::CountTiles, "tiles were forced"),
        _ => (Strategy::CountTiles, sizes.chosen.map_or("full tiles: fewer bytes than CSR", |(_, why)| why)),
    };
    Plan { direction, format: Format::Tiles, strategy, why }
}

fn direction(sizes: &Sizes, forced: Option<Direction>) -> (Direction, &'static str) {
    if !sizes.exact {
        // a push would fold in an order that depends on the vector's format
        return (Direction::Pull, "an inexact monoid folds over its fixed tree");
    }
    if sizes.pulls {
        return (Direction::Pull, "a loop's product, a product over filtered entries, or one that can't be pushed");
    }
    if let Some(direction) = forced {
        return (direction, "forced");
    }
    let Some(push) = sizes.push_entries else {
        return (Direction::Pull, "the vector is dense");
    };
    let push = push * tuning().push_cost + sizes.elements as u64;
    let rows = sizes.wanted as u64;
    let mut pull = (sizes.entries as u128 * u128::from(rows) / (sizes.length.max(1) as u128)) as u64;
    if sizes.terminal {
        pull /= tuning().early_exit;
    }
    pull += rows;
    if sizes.listed {
        pull += sizes.length as u64 / 8;
    }
    if push < pull {
        (Direction::Push, "the vector's rows hold fewer entries than the wanted columns")
    } else {
        (Direction::Pull, "the wanted columns hold fewer entries than the vector's rows")
    }
}

/// Whether a vector of length `n` with `nvals` elements is kept as a sorted list.
pub fn is_sparse(nvals: usize, n: usize) -> bool {
    nvals < n / tuning().sparse_vector
}

/// Whether writing `count` elements of a vector of length `n` is done one by one. Otherwise a new vector is made.
pub fn is_patch(count: usize, n: usize) -> bool {
    count < n / tuning().patched_vector
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Sizes = Sizes {
        entries: 1 << 20,
        length: 1 << 16,
        wanted: 1 << 16,
        elements: 10,
        listed: true,
        push_entries: Some(160),
        pulls: false,
        exact: true,
        terminal: false,
        counting: false,
        lengths: false,
        fill: None,
        splits: false,
        by_bits: false,
        chosen: None,
        tensor: false,
        bit_tensor: false,
    };

    #[test]
    fn a_few_elements_are_pushed_and_many_pulled() {
        assert_eq!(product(&SIZES, Forced::default()).direction, Direction::Push);
        let dense = Sizes { push_entries: None, ..SIZES };
        assert_eq!(product(&dense, Forced::default()).direction, Direction::Pull);
        let few_wanted = Sizes { wanted: 1, push_entries: Some(1 << 19), ..SIZES };
        assert_eq!(product(&few_wanted, Forced::default()).direction, Direction::Pull);
    }

    #[test]
    fn a_device_pushes_what_saves_more_than_its_launches() {
        let few = Sizes { push_entries: Some(160 + tuning().device_push), listed: false, ..SIZES };
        assert_eq!(product(&few, Forced::default()).direction, Direction::Pull);
        let large = Sizes { entries: 1 << 28, length: 1 << 24, wanted: 1 << 24, ..few };
        assert_eq!(product(&large, Forced::default()).direction, Direction::Push);
        // few elements are wanted
        assert_eq!(product(&Sizes { wanted: 1 << 16, ..large }, Forced::default()).direction, Direction::Pull);
    }

    #[test]
    fn a_float_sum_is_never_pushed() {
        let push = Forced { direction: Some(Direction::Push), ..Forced::default() };
        let plan = product(&Sizes { exact: false, ..SIZES }, push);
        assert_eq!((plan.direction, plan.why), (Direction::Pull, "an inexact monoid folds over its fixed tree"));
    }

    #[test]
    fn where_pulling_is_all_there_is_nothing_is_pushed() {
        let push = Forced { direction: Some(Direction::Push), ..Forced::default() };
        for forced in [Forced::default(), push] {
            let plan = product(&Sizes { pulls: true, ..SIZES }, forced);
            assert_eq!((plan.direction, plan.why.starts_with("a loop's product")), (Direction::Pull, true));
        }
    }

    #[test]
    fn tiles_are_counted_where_they_are_full_and_the_product_counts() {
        let mut sizes = Sizes { push_entries: None, counting: true, fill: Some(24.0), ..SIZES };
        assert_eq!(product(&sizes, Forced::default()).strategy, Strategy::CountTiles);
        sizes.fill = Some(1.1);
        assert_eq!(product(&sizes, Forced::default()).format, Format::Csr);
        let tiles = Forced { format: Some(Format::Tiles), ..Forced::default() };
        assert_eq!(product(&sizes, tiles).strategy, Strategy::CountTiles);
        sizes.counting = false;
        assert_eq!(product(&sizes, tiles).strategy, Strategy::FoldRows);
        sizes.fill = None;
        assert_eq!(product(&sizes, tiles).format, Format::Csr);
    }

    #[test]
    fn full_tiles_and_rows_are_for_products_of_patterns_that_count() {
        let counting = Sizes { push_entries: None, counting: true, splits: true, ..SIZES };
        let hybrid = Forced { format: Some(Format::Hybrid), ..Forced::default() };
        let planned = |sizes: &Sizes, forced| {
            let plan = product(sizes, forced);
            (plan.format, plan.strategy)
        };
        assert_eq!(planned(&counting, hybrid), (Format::Hybrid, Strategy::CountTiles));
        // tensor cores don't count them faster
        let cores = Sizes { tensor: true, bit_tensor: true, ..counting };
        assert_eq!(planned(&cores, hybrid), (Format::Hybrid, Strategy::CountTiles));
        for other in [Sizes { splits: false, ..counting }, Sizes { counting: false, ..counting }] {
            assert_eq!(planned(&other, hybrid), (Format::Csr, Strategy::FoldRows));
        }
        // what was chosen after a few products
        let chosen = Sizes { chosen: Some((Format::Hybrid, "chosen")), ..counting };
        let plan = product(&chosen, Forced::default());
        assert_eq!((plan.format, plan.why), (Format::Hybrid, "chosen"));
        let csr = Forced { format: Some(Format::Csr), ..Forced::default() };
        assert_eq!(planned(&chosen, csr), (Format::Csr, Strategy::FoldRows));
        assert_eq!(planned(&Sizes { lengths: true, ..chosen }, Forced::default()), (Format::Csr, Strategy::FoldRows));
    }

    #[test]
    fn rows_are_counted_by_bits_where_no_product_decides() {
        let counting = Sizes { push_entries: None, counting: true, by_bits: true, ..SIZES };
        let strategy =
            |sizes: &Sizes, forced| product(sizes, Forced { strategy: forced, ..Forced::default() }).strategy;
        assert_eq!(strategy(&counting, None), Strategy::CountRows);
        assert_eq!(strategy(&counting, Some(Strategy::FoldRows)), Strategy::FoldRows);
        for other in [
            Sizes { by_bits: false, ..counting },
            Sizes { counting: false, ..counting },
            Sizes { lengths: true, ..counting },
            // few rows are wanted: fewer entries than the vector has elements
            Sizes { wanted: 10, ..counting },
        ] {
            assert_eq!(strategy(&other, None), Strategy::FoldRows);
        }
    }

    #[test]
    fn a_strategy_is_imposed_where_the_product_has_it() {
        let counting = Sizes { push_entries: None, counting: true, fill: Some(1.1), ..SIZES };
        let force = |strategy| Forced { strategy: Some(strategy), ..Forced::default() };
        let planned = |sizes: &Sizes, forced| {
            let plan = product(sizes, forced);
            (plan.format, plan.strategy)
        };
        assert_eq!(planned(&counting, force(Strategy::CountTiles)), (Format::Tiles, Strategy::CountTiles));
        let tensor = force(Strategy::CountTilesTensor);
        let plan = product(&counting, tensor);
        assert_eq!(
            (plan.strategy, plan.why),
            (Strategy::CountTiles, "there are no tensor cores here: set bits are counted")
        );
        let cores = Sizes { tensor: true, ..counting };
        assert_eq!(planned(&cores, tensor), (Format::Tiles, Strategy::CountTilesTensor));
        let bits = force(Strategy::CountTilesBits);
        assert_eq!(planned(&cores, bits), (Format::Tiles, Strategy::CountTiles));
        let bit_cores = Sizes { bit_tensor: true, ..cores };
        assert_eq!(planned(&bit_cores, bits), (Format::Tiles, Strategy::CountTilesBits));
        assert_eq!(planned(&bit_cores, tensor), (Format::Tiles, Strategy::CountTilesTensor));
        // one vector is counted by popcounts, which are faster
        let full_bits = Sizes { fill: Some(100.0), ..bit_cores };
        assert_eq!(planned(&full_bits, Forced::default()), (Format::Tiles, Strategy::CountTiles));
        let full = Sizes { fill: Some(100.0), ..cores };
        let middling = Some(8.5);
        assert_eq!(product(&Sizes { fill: middling, ..counting }, Forced::default()).format, Format::Csr);
        assert_eq!(product(&Sizes { fill: middling, ..cores }, Forced::default()).format, Format::Tiles);
        assert_eq!(planned(&full, Forced::default()), (Format::Tiles, Strategy::CountTiles));
        assert_eq!(product(&Sizes { lengths: true, ..full }, Forced::default()).format, Format::Csr);
        assert_eq!(planned(&full, force(Strategy::FoldRows)), (Format::Csr, Strategy::FoldRows));
        let tiles = Forced { format: Some(Format::Tiles), ..force(Strategy::FoldRows) };
        assert_eq!(planned(&full, tiles), (Format::Tiles, Strategy::FoldRows));
        // a forced format takes precedence over a forced strategy
        let csr = Forced { format: Some(Format::Csr), ..tensor };
        assert_eq!(planned(&cores, csr), (Format::Csr, Strategy::FoldRows));
        let plan = product(&Sizes { counting: false, ..cores }, tensor);
        assert_eq!((plan.strategy, plan.why), (Strategy::FoldRows, "only products that are all alike are counted"));
        let weighted = Sizes { fill: None, ..cores };
        assert_eq!(product(&weighted, tensor).why, "tiles hold patterns and f16 weights only");
    }
}
