//! Grids of ranks.

use crate::error::{Error, Result};
use crate::kernels::Gpu;
use crate::ranks::devices::OnGpus;
use crate::ranks::ledger::{Ledger, Recorded};
use crate::ranks::owners::{Deal, Owners};
use core::str::FromStr;
use std::fmt;
use std::sync::Arc;
use vxm_communicator::{Communicator, Report, Traffic};

/// The shape of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Shape {
    /// A column of ranks if they are few, and otherwise a grid that is nearly square.
    #[default]
    Auto,
    /// One column of ranks: rows of a matrix are whole, so sums of floats have the bits of one process.
    Column,
    /// This many rows and columns of ranks.
    Grid(usize, usize),
}

impl FromStr for Shape {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let refused = || Error::unknown("grid", text, &["auto", "column", "ROWSxCOLUMNS"]);
        match text {
            "auto" => return Ok(Self::Auto),
            "column" => return Ok(Self::Column),
            _ => {}
        }
        let (rows, columns) = text.split_once('x').ok_or_else(refused)?;
        let number = |text: &str| text.parse().ok().filter(|&number: &usize| number > 0).ok_or_else(refused);
        Ok(Self::Grid(number(rows)?, number(columns)?))
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Column => f.write_str("column"),
            Self::Grid(rows, columns) => write!(f, "{rows}x{columns}"),
        }
    }
}

/// The ranks that take part in an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Axis {
    /// Those of a row of the grid.
    Row,
    /// Those of a column.
    Column,
    /// All.
    All,
}

/// Ranks in rows and columns, over which matrices and vectors are spread. Cloning shares it.
///
/// All ranks run the same program. They call the same functions in the same order, with the same arguments; what they share of the results
/// is the same: lengths, counts, reductions, rounds and errors.
///
/// Let there be R rows and C columns. Rank (i, j) has number `i * C + j`. It owns a share of the indices of every vector; see [`Owners`]. Of
/// a matrix it holds the entries with a row that a rank of row i owns, and a column that a rank of column j owns. Operands of products are
/// exchanged along columns of ranks, partial results along rows. With one column rows of a matrix are whole.
#[derive(Clone)]
pub struct Grid {
    lines: Arc<Lines>,
    /// How blocks of indices are dealt out; `None` lets each matrix choose by its entries.
    deal: Option<Deal>,
    /// This rank's GPU; `None` if ranks run on CPUs.
    gpus: Option<Arc<OnGpus>>,
}

/// The communicators of a rank.
#[derive(Debug)]
struct Lines {
    world: Arc<dyn Communicator>,
    row: Arc<dyn Communicator>,
    column: Arc<dyn Communicator>,
    rows: usize,
    columns: usize,
    /// What this rank does, if that is recorded.
    ledger: Option<Arc<Ledger>>,
}

impl Grid {
    /// Arranges the ranks of `world` in `rows` and `columns`. All ranks call this.
    ///
    /// # Errors
    /// [`Error::Invalid`]: there are fewer or more ranks than places. [`Error::Ranks`]: another rank has failed.
    pub fn of(world: Arc<dyn Communicator>, rows: usize, columns: usize) -> Result<Self> {
        let (rank, size) = (world.rank(), world.size());
        if rows.checked_mul(columns) != Some(size) {
            let ranks = if size == 1 { "1 rank".to_owned() } else { format!("{size} ranks") };
            return Err(Error::invalid(format!(
                "a grid of {rows}x{columns}: expected as many places as there are ranks, {ranks}"
            )));
        }
        let (i, j) = (rank / columns, rank % columns);
        let row = world.split(i as u32, j as u32)?;
        let column = world.split(j as u32, i as u32)?;
        let lines = Lines { world, row, column, rows, columns, ledger: None };
        Ok(Self { lines: Arc::new(lines), deal: None, gpus: None })
    }

    /// The same ranks as a grid of its own, of which `ledger` records what this rank does.
    pub(super) fn recorded(&self, ledger: &Arc<Ledger>) -> Self {
        let Lines { world, row, column, rows, columns, .. } = &*self.lines;
        let (rows, columns) = (*rows, *columns);
        let (i, j) = (self.rank() / columns, self.rank() % columns);
        let recorded = |inner: &Arc<dyn Communicator>, axis, members: Vec<usize>| {
            Arc::new(Recorded::new(inner.clone(), axis, &members, ledger)) as Arc<dyn Communicator>
        };
        let lines = Lines {
            world: recorded(world, Axis::All, (0..self.size()).collect()),
            row: recorded(row, Axis::Row, (0..columns).map(|k| i * columns + k).collect()),
            column: recorded(column, Axis::Column, (0..rows).map(|k| k * columns + j).collect()),
            rows,
            columns,
            ledger: Some(ledger.clone()),
        };
        Self { lines: Arc::new(lines), deal: self.deal, gpus: self.gpus.clone() }
    }

    /// What records this rank's work, if anything does.
    pub(crate) fn ledger(&self) -> Option<&Ledger> {
        self.lines.ledger.as_deref()
    }

    /// Adds to this rank's work: matrix entries that were folded, and elements that were read or written.
    pub(crate) fn work(&self, entries: usize, elements: usize) {
        if let Some(ledger) = self.ledger() {
            ledger.work(entries as u64, elements as u64);
        }
    }

    /// Begins a round of a loop.
    pub(crate) fn begin_round(&self) {
        if let Some(ledger) = self.ledger() {
            ledger.begin_round();
        }
    }

    /// In a [simulation](crate::ranks::simulate), forgets what was recorded so far, so that what follows alone is told. Otherwise nothing
    /// happens.
    pub fn begin_recording(&self) {
        if let Some(ledger) = self.ledger() {
            ledger.open();
        }
    }

    /// In a [simulation](crate::ranks::simulate), records no more. Otherwise nothing happens.
    pub fn end_recording(&self) {
        if let Some(ledger) = self.ledger() {
            ledger.close();
        }
    }

    /// This grid, where blocks of indices are dealt out in the given way. Otherwise each matrix chooses by its entries.
    pub fn with_deal(&self, deal: Deal) -> Self {
        Self { deal: Some(deal), ..self.clone() }
    }

    /// How blocks of indices are dealt out, if that is set.
    pub fn deal(&self) -> Option<Deal> {
        self.deal
    }

    /// The number of this rank.
    pub fn rank(&self) -> usize {
        self.lines.world.rank()
    }

    /// The number of ranks.
    pub fn size(&self) -> usize {
        self.lines.world.size()
    }

    /// The number of rows and of columns of ranks.
    pub fn shape(&self) -> (usize, usize) {
        (self.lines.rows, self.lines.columns)
    }

    /// The ranks of the whole grid.
    pub fn world(&self) -> &dyn Communicator {
        &*self.lines.world
    }

    /// This grid with ranks on GPUs.
    pub(crate) fn with_gpus(&self, gpus: OnGpus) -> Self {
        Self { gpus: Some(Arc::new(gpus)), ..self.clone() }
    }

    /// What ranks on GPUs know; `None` if they run on CPUs.
    pub(crate) fn gpus(&self) -> Option<&OnGpus> {
        self.gpus.as_deref()
    }

    /// This rank's GPU; `None` if ranks run on CPUs.
    pub(crate) fn gpu(&self) -> Option<&Gpu> {
        self.gpus().map(|gpus| &gpus.gpu)
    }

    pub(crate) fn row(&self) -> &Arc<dyn Communicator> {
        &self.lines.row
    }

    pub(crate) fn column(&self) -> &Arc<dyn Communicator> {
        &self.lines.column
    }

    /// What this rank has sent so far: along its row, along its column, and to any rank.
    pub fn sent(&self) -> [Traffic; 3] {
        [self.lines.row.sent(), self.lines.column.sent(), self.lines.world.sent()]
    }

    /// The owners of `len` indices.
    pub fn owners(&self, len: usize) -> Owners {
        Owners::new(len, self.size(), self.deal.unwrap_or_default())
    }

    /// The number of indices, of `len`, that this rank owns.
    pub(crate) fn count(&self, len: usize) -> usize {
        self.owners(len).count(self.rank())
    }

    /// The sums of counters over all ranks.
    ///
    /// # Errors
    /// [`Error::Ranks`]: another rank has failed.
    pub fn sum(&self, counters: &[u64]) -> Result<Vec<u64>> {
        Ok(self.lines.world.agree(Report { counters: counters.to_vec(), error: None })?.counters)
    }

    /// Returns `mine` if no rank has an error, and otherwise the same error on all ranks: that of the lowest rank that has one. Its number is
    /// told, unless all have that error. All ranks call this.
    ///
    /// ```
    /// use vxm::prelude::*;
    /// use vxm::ranks::{Grid, Threads};
    ///
    /// let told = Threads::run(2, |world| {
    ///     let grid = Grid::of(world, 2, 1)?;
    ///     // a check of something that only this rank sees
    ///     let mine = if grid.rank() == 1 { Err(Error::invalid("line 7 is bad")) } else { Ok(()) };
    ///     grid.agree(mine)
    /// });
    /// for result in told {
    ///     assert_eq!(result.unwrap_err().to_string(), "rank 1: line 7 is bad");
    /// }
    /// ```
    ///
    /// # Errors
    /// The error that all agree on. [`Error::Ranks`]: another rank has failed.
    pub fn agree<T>(&self, mine: Result<T>) -> Result<T> {
        if self.size() == 1 {
            return mine;
        }
        let (mine, error) = match mine {
            Ok(mine) => (Some(mine), None),
            Err(error) => (None, Some(error.to_string())),
        };
        // how many ranks have an error, and the sum of checksums, which tells whether it is the same one
        let counters = error.as_ref().map_or(vec![0, 0], |what| vec![1, sum_of(what)]);
        let agreed = self.lines.world.agree(Report { counters, error })?;
        match (agreed.error, mine) {
            (None, Some(mine)) => Ok(mine),
            (Some((_, what)), _) if agreed.counters == [self.size() as u64, self.size() as u64 * sum_of(&what)] => {
                Err(Error::invalid(what))
            }
            (Some((rank, what)), _) => Err(Error::invalid(format!("rank {rank}: {what}"))),
            (None, None) => Err(Error::invalid("an error that ranks don't agree on")),
        }
    }

    /// Whether the other grid has the same ranks. They may own other indices.
    pub(crate) fn has_same_ranks(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.lines, &other.lines)
    }

    /// Why a monoid can't fold rows on this grid: it has several columns, and the parts that ranks hold of a row can't be joined. `None` if it can.
    pub(crate) fn why_rows_are_whole(&self, exact: bool, any_order: bool) -> Option<String> {
        let (rows, columns) = self.shape();
        let lacks = if exact { "commutative" } else { "exact" };
        (columns > 1 && !(exact && any_order)).then(|| {
            let ranks = self.size();
            format!(
                "a monoid that isn't {lacks}, on a grid of {rows}x{columns}: expected one column of ranks, {ranks}x1"
            )
        })
    }

    /// What all ranks tell, in the order of ranks. Each tells as many words.
    pub(crate) fn told(&self, words: &[u64]) -> Result<Vec<Vec<u64>>> {
        let mine: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let found = self.exchange(vec![mine; self.size()])?;
        let word = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        Ok(found.iter().map(|parcel| parcel.chunks_exact(8).map(word).collect()).collect())
    }

    /// The least of what ranks tell, by its first word; of equal ones, that of the lowest rank. All ranks call this.
    ///
    /// ```
    /// use vxm::ranks::{Grid, Threads};
    /// let found = Threads::run(3, |world| {
    ///     let grid = Grid::of(world, 3, 1)?;
    ///     grid.least((grid.rank() > 0).then_some([7 - grid.rank() as u64, 0]))
    /// });
    /// for least in found {
    ///     assert_eq!(least?, Some([5, 0]));
    /// }
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Ranks`]: another rank has failed.
    pub fn least<const N: usize>(&self, mine: Option<[u64; N]>) -> Result<Option<[u64; N]>> {
        let found = self.told(mine.as_ref().map_or(&[], |words| words))?;
        Ok(found.iter().filter_map(|words| words.first_chunk().copied()).min_by_key(|words| words[0]))
    }

    /// Sends a parcel to each rank.
    pub(crate) fn exchange(&self, out: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        Ok(self.lines.world.exchange(out)?)
    }
}

/// A checksum of an error's text.
fn sum_of(what: &str) -> u64 {
    crc32fast::hash(what.as_bytes()).into()
}

impl PartialEq for Grid {
    /// Whether both are the same ranks, which own the same indices. They may run on other devices.
    fn eq(&self, other: &Self) -> bool {
        self.has_same_ranks(other) && self.deal.unwrap_or_default() == other.deal.unwrap_or_default()
    }
}

impl fmt::Debug for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, columns) = self.shape();
        write!(f, "rank {} of a grid of {rows}x{columns}", self.rank())
    }
}
