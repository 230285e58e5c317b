//! Sizes in, decisions out: direction, format and strategy of a product, and when a vector is kept sparse.
//!
//! Nothing here reads an element, so every decision is testable without data or device. Each says why.

use std::cell::Cell;

/// Which way a product runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Each element of the vector is sent along its row, products are folded where they land.
    Push,
    /// Each wanted element of the result gathers along its column.
    Pull,
}

/// How a matrix is stored for a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Compressed sparse rows.
    Csr,
    /// 16 x 16 tiles of bits.
    Tiles,
}

/// How the chosen direction and format are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// Fold each wanted row, stopping at a terminal value.
    FoldRows,
    /// Count where bits of a tile-row and of the vector meet, a word of 16 at a time.
    CountTiles,
    /// The same by tensor cores, a tile at a time.
    CountTilesTensor,
    /// Scatter products to their columns.
    Scatter,
}

/// What a product's plan depends on.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Entries of the matrix.
    pub entries: u64,
    /// Length of the result.
    pub length: usize,
    /// Elements of the result that the mask wants, at most.
    pub wanted: usize,
    /// Elements of the vector, at most.
    pub elements: usize,
    /// Whether the vector is stored as a list, so that pull must first give it a place for every index.
    pub listed: bool,
    /// Entries in the rows of the vector's elements, where counting them is cheap.
    pub push_entries: Option<u64>,
    /// Whether pulling is all there is: of a loop's product, of one among some entries, and of one that can't be pushed.
    pub pulls: bool,
    /// Whether the monoid is associative bit for bit.
    pub exact: bool,
    /// Whether the monoid has a terminal value, so that rows may end early.
    pub terminal: bool,
    /// Whether all products of the semiring are the same value.
    pub counting: bool,
    /// Whether one product decides an element, and the vector has an element everywhere: the lengths of rows tell all.
    pub lengths: bool,
    /// Entries a stored tile, where tiles exist and can hold the matrix's values.
    pub fill: Option<f64>,
    /// Whether there are tensor cores to count with.
    pub tensor: bool,
}

/// What was decided, and why.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// Push or pull.
    pub direction: Direction,
    /// The matrix's format.
    pub format: Format,
    /// How it runs.
    pub strategy: Strategy,
    /// The reason, for the log.
    pub why: &'static str,
}

/// In what order a loop visits what may still change. Answers are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Schedule {
    /// All once, then all that are left, and so on.
    Rounds,
    /// Each worker its own, over and over, without waiting for others; only for loops that are `monotone`.
    Asynchronous,
    /// A random half a round, over states some of which are of earlier rounds: to test a claim of `monotone`.
    Stale(u64),
}

/// Plans how a loop is scheduled on a device, and says why. Asynchronous was faster than rounds on every graph measured, even and
/// skewed.
pub fn schedule(monotone: bool, forced: Forced) -> (Schedule, &'static str) {
    match forced.schedule {
        _ if !monotone => (Schedule::Rounds, "not said to be monotone: all see the states of the round before"),
        Some(schedule) => (schedule, "forced"),
        None => (Schedule::Asynchronous, "monotone: nobody need wait for others"),
    }
}

/// Choices that tests and benches impose on the plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Forced {
    /// Impose a direction.
    pub direction: Option<Direction>,
    /// Impose a format.
    pub format: Option<Format>,
    /// Impose a strategy of pull, where the product has it: counting takes tiles, and a semiring whose products are all alike.
    pub strategy: Option<Strategy>,
    /// Impose the schedule of loops that are `monotone`.
    pub schedule: Option<Schedule>,
}

thread_local! {
    static FORCED: Cell<Forced> =
        const { Cell::new(Forced { direction: None, format: None, strategy: None, schedule: None }) };
}

/// Runs `f` with choices imposed on every plan that this thread makes.
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

/// The choices imposed on this thread.
pub fn forced() -> Forced {
    FORCED.get()
}

/// Mean entries a tile from which counting over tiles moves fewer bytes than CSR: 36 bytes a tile, 4 an entry.
pub const TILE_FILL: f64 = 9.0;
/// The same on a device: tiles were faster at 12.8 (grid, delaunay) and 27.7 (rgg), and many times slower at 1.1.
pub const DEVICE_TILE_FILL: f64 = 8.0;

/// A loop chooses the entries that take part in a product before it begins where a row has more than so many: long rows are read
/// once then, and what is left of them is much shorter, while short ones cost less than making a matrix.
pub const CHOOSE: usize = 1024;
/// The same on a device, where what takes part no longer is left out as rows are visited: the copy of the columns that is made of them
/// costs more than it saves where no row is long (er 1.65 to 1.97 ms, rgg 0.65 to 0.81; rmat 8.4 to 5.9, kron 38.6 to 16.4).
pub const NARROW: usize = 1024;

/// Entries a row, on average, above which rows aren't short: a loop's first round of its own pays then.
pub const FROM_MEAN: usize = 8;

/// Entries a row, on average, of rows of about one length of which a loop reads eight at a time: delaunay and rgg; four of grid's
/// (jp: 1241 to 1098 us), and of er's, whose reads keep the second-level cache busy as they are.
pub const MANY: std::ops::Range<usize> = 5..15;

/// Entries of a row that are few, where none has more: a thread knows so, and needs fewer registers (plus.times: grid 278 to 186 us).
pub const FEW: [usize; 2] = [4, 8];

/// A row so many times as long as the mean is a hub: its neighbours are most of a graph's long rows.
const HUB: u64 = 16;

/// The lengths of a square matrix' rows, as far as they tell which one most others are connected with.
#[derive(Debug, Clone, Copy)]
pub struct Lengths {
    /// Rows.
    pub rows: usize,
    /// Entries of all of them.
    pub entries: u64,
    /// Entries of row 0.
    pub first: usize,
    /// Entries of the longest.
    pub longest: usize,
}

/// Whether the longest row is taken for one of the giant component, with which most others are connected, rather than row 0; and why. Row 0
/// costs less, since it has the least number as it is; to be wrong costs time alone.
pub fn giant(lengths: &Lengths) -> (bool, &'static str) {
    let &Lengths { rows, entries, first, longest } = lengths;
    if first == longest {
        (false, "row 0 is as long as any")
    } else if longest as u64 * rows as u64 >= HUB * entries {
        (true, "a hub's neighbours are connected with it at once")
    } else if first < 2 {
        // road:1500: five rounds over all rows, or one and a part
        (true, "row 0 may lie apart: it has an entry at most")
    } else {
        (false, "no row is much longer than others")
    }
}

/// An entry pushed costs about this many entries pulled: a scattered write, and sorting what was touched.
const PUSH_COST: u64 = 4;

/// What a push costs on a device before its first product, in entries pushed: its dozen launches took 85 us.
pub const DEVICE_PUSH: u64 = 1 << 23;

/// An early exit visits about this fraction of a row.
const EARLY_EXIT: u64 = 4;

/// Plans one vector-matrix product.
pub fn product(sizes: &Sizes, forced: Forced) -> Plan {
    // the strategies that can be forced are those of pull
    let imposed = forced.direction.or(forced.strategy.map(|_| Direction::Pull));
    let (direction, why) = direction(sizes, imposed);
    if direction == Direction::Push {
        return Plan { direction, format: Format::Csr, strategy: Strategy::Scatter, why };
    }
    let counts = matches!(forced.strategy, Some(Strategy::CountTiles | Strategy::CountTilesTensor));
    let format = forced.format.or((counts && sizes.counting).then_some(Format::Tiles));
    let folds = forced.strategy == Some(Strategy::FoldRows);
    // only devices have tensor cores
    let crossover = if sizes.tensor { DEVICE_TILE_FILL } else { TILE_FILL };
    let tiles = match (format, sizes.fill) {
        (Some(Format::Csr), _) | (_, None) => false,
        (Some(Format::Tiles), Some(_)) => true,
        (None, Some(fill)) => sizes.counting && !sizes.lengths && !folds && fill >= crossover,
    };
    if !tiles {
        let why = match format {
            Some(Format::Tiles) => "tiles hold patterns and f16 weights only",
            _ if counts && !sizes.counting => "only products that are all alike are counted",
            _ => why,
        };
        return Plan { direction, format: Format::Csr, strategy: Strategy::FoldRows, why };
    }
    let (strategy, why) = match forced.strategy {
        _ if !sizes.counting => (Strategy::FoldRows, "tiles were forced"),
        Some(Strategy::FoldRows) => (Strategy::FoldRows, "forced"),
        Some(Strategy::CountTiles) => (Strategy::CountTiles, "forced"),
        Some(Strategy::CountTilesTensor) if sizes.tensor => (Strategy::CountTilesTensor, "forced"),
        Some(Strategy::CountTilesTensor) => (Strategy::CountTiles, "there are no tensor cores here: bits count"),
        _ if forced.format.is_some() => (Strategy::CountTiles, "tiles were forced"),
        _ => (Strategy::CountTiles, "full tiles: fewer bytes than CSR"),
    };
    Plan { direction, format: Format::Tiles, strategy, why }
}

fn direction(sizes: &Sizes, forced: Option<Direction>) -> (Direction, &'static str) {
    if !sizes.exact {
        // push would fold in an order that depends on the vector's format
        return (Direction::Pull, "an inexact monoid folds over its fixed tree");
    }
    if sizes.pulls {
        return (Direction::Pull, "a loop's product, one among some entries, or one that can't be pushed");
    }
    if let Some(direction) = forced {
        return (direction, "forced");
    }
    let Some(push) = sizes.push_entries else {
        return (Direction::Pull, "the vector is dense");
    };
    let push = push * PUSH_COST + sizes.elements as u64;
    let rows = sizes.wanted as u64;
    let mut pull = (sizes.entries as u128 * u128::from(rows) / (sizes.length.max(1) as u128)) as u64;
    if sizes.terminal {
        pull /= EARLY_EXIT;
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

/// Whether a vector of length `n` with `nvals` elements is better kept as a sorted list.
pub fn is_sparse(nvals: usize, n: usize) -> bool {
    nvals < n / 32
}

/// Whether writing `count` of `n` places is better done one by one than by making the vector anew.
pub fn is_patch(count: usize, n: usize) -> bool {
    count < n / 8
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
        tensor: false,
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
        let few = Sizes { push_entries: Some(160 + DEVICE_PUSH), listed: false, ..SIZES };
        assert_eq!(product(&few, Forced::default()).direction, Direction::Pull);
        let large = Sizes { entries: 1 << 28, length: 1 << 24, wanted: 1 << 24, ..few };
        assert_eq!(product(&large, Forced::default()).direction, Direction::Push);
        // only a part is wanted
        assert_eq!(product(&Sizes { wanted: 1 << 16, ..large }, Forced::default()).direction, Direction::Pull);
    }

    #[test]
    fn most_are_connected_with_a_hub_or_with_row_0() {
        let of = |rows, entries, first, longest| giant(&Lengths { rows, entries, first, longest }).0;
        // kron:20:48, rmat:22:8, road:1500, delaunay:19, a grid, none
        assert!(of(1 << 20, 88_696_960, 0, 128_907));
        assert!(!of(1 << 22, 67_108_864, 9700, 9700));
        assert!(of(4_781_089, 11_800_000, 1, 4));
        assert!(!of(1 << 19, 3_145_000, 6, 19));
        assert!(!of(1 << 20, 4_190_208, 2, 4));
        assert!(!of(0, 0, 0, 0));
        // vertices without edges
        assert!(!of(5, 0, 0, 0));
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
        let mut sizes = Sizes { push_entries: None, counting: true, fill: Some(16.0), ..SIZES };
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
        assert_eq!((plan.strategy, plan.why), (Strategy::CountTiles, "there are no tensor cores here: bits count"));
        let cores = Sizes { tensor: true, ..counting };
        assert_eq!(planned(&cores, tensor), (Format::Tiles, Strategy::CountTilesTensor));
        // by itself the plan never takes them: bits were never measured to be slower
        let full = Sizes { fill: Some(100.0), ..cores };
        let middling = Some(8.5);
        assert_eq!(product(&Sizes { fill: middling, ..counting }, Forced::default()).format, Format::Csr);
        assert_eq!(product(&Sizes { fill: middling, ..cores }, Forced::default()).format, Format::Tiles);
        assert_eq!(planned(&full, Forced::default()), (Format::Tiles, Strategy::CountTiles));
        assert_eq!(product(&Sizes { lengths: true, ..full }, Forced::default()).format, Format::Csr);
        assert_eq!(planned(&full, force(Strategy::FoldRows)), (Format::Csr, Strategy::FoldRows));
        let tiles = Forced { format: Some(Format::Tiles), ..force(Strategy::FoldRows) };
        assert_eq!(planned(&full, tiles), (Format::Tiles, Strategy::FoldRows));
        // a format comes first
        let csr = Forced { format: Some(Format::Csr), ..tensor };
        assert_eq!(planned(&cores, csr), (Format::Csr, Strategy::FoldRows));
        let plan = product(&Sizes { counting: false, ..cores }, tensor);
        assert_eq!((plan.strategy, plan.why), (Strategy::FoldRows, "only products that are all alike are counted"));
        let weighted = Sizes { fill: None, ..cores };
        assert_eq!(product(&weighted, tensor).why, "tiles hold patterns and f16 weights only");
    }
}
