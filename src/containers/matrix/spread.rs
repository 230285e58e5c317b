//! Matrices that are spread over ranks, and grids that are joined and read onto.

use super::Matrix;
use crate::backend::cuda::ranks::{OnBoth, ShareOnGpu};
use crate::backend::tuning;
use crate::error::{Error, Result};
use crate::formats::Csr;
use crate::memory;
use crate::ranks::{Alone, BLOCK, Deal, Grid, Launcher, Mpi, Shape, Share, entries_to_first};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use vxm_semiring::Element;

/// A rank's shares of a matrix: by its rows, and by its columns.
#[derive(Debug, Clone)]
pub(super) struct Shares<T: Element> {
    grid: Grid,
    rows: OnceLock<Arc<Share<T>>>,
    columns: OnceLock<Arc<Share<T>>>,
    /// The same on this rank's GPU.
    rows_on_gpu: OnceLock<Arc<ShareOnGpu<T>>>,
    columns_on_gpu: OnceLock<Arc<ShareOnGpu<T>>>,
}

impl<T: Element> Shares<T> {
    fn of(grid: &Grid, rows: Share<T>) -> Self {
        Self::held(grid, OnceLock::from(Arc::new(rows)), OnceLock::new())
    }

    fn held(grid: &Grid, rows: OnceLock<Arc<Share<T>>>, columns: OnceLock<Arc<Share<T>>>) -> Self {
        let (rows_on_gpu, columns_on_gpu) = (OnceLock::new(), OnceLock::new());
        Self { grid: grid.clone(), rows, columns, rows_on_gpu, columns_on_gpu }
    }

    pub(super) fn transposed(&self) -> Self {
        let (rows_on_gpu, columns_on_gpu) = (self.columns_on_gpu.clone(), self.rows_on_gpu.clone());
        let turned = Self::held(&self.grid, self.columns.clone(), self.rows.clone());
        Self { rows_on_gpu, columns_on_gpu, ..turned }
    }

    pub(super) fn pattern(&self) -> Shares<()> {
        let without = |share: &Arc<Share<T>>| Arc::new(share.with_entries(share.csr.pattern()));
        let made =
            |held: &OnceLock<Arc<Share<T>>>| held.get().map_or_else(OnceLock::new, |s| OnceLock::from(without(s)));
        Shares::held(&self.grid, made(&self.rows), made(&self.columns))
    }
}

impl<T: Element> Matrix<T> {
    /// The ranks that the matrix is spread over; `None` if it isn't.
    pub fn grid(&self) -> Option<&Grid> {
        self.shares.as_ref().map(|shares| &shares.grid)
    }

    /// Spreads a square matrix over the ranks of a grid: each keeps its share of the entries. All ranks hold the same matrix, and call
    /// this. O(n + nnz) time.
    ///
    /// If the grid leaves open how blocks of indices are dealt out, they are hashed where that evens out the entries. A grid of one rank
    /// needs no shares: the matrix stays as it is.
    ///
    /// ```
    /// use vxm::algorithms::{MisOptions, mis};
    /// use vxm::prelude::*;
    /// use vxm::ranks::{Grid, Threads};
    ///
    /// let edges: Vec<(u32, u32)> = (0..299).map(|v| (v, v + 1)).collect();
    /// let path = Matrix::undirected(300, &edges)?;
    /// let alone = mis(&path, &MisOptions::default())?.set;
    /// // the same text on four ranks, and the same set
    /// let sets = Threads::run(4, |world| {
    ///     let a = path.to_grid(&Grid::of(world, 2, 2)?)?;
    ///     mis(&a, &MisOptions::default())?.set.to_root()
    /// });
    /// for (rank, set) in sets.into_iter().enumerate() {
    ///     assert_eq!(set?, (rank == 0).then(|| alone.clone()));
    /// }
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`]: the matrix isn't square, or is spread over other ranks, or another rank holds another one. [`Error::Ranks`]:
    /// another rank has failed.
    pub fn to_grid(&self, grid: &Grid) -> Result<Self> {
        if let Some(held) = self.grid() {
            let other = || Error::invalid("a matrix spread over another grid: expected the same grid");
            return if held == grid { Ok(self.clone()) } else { Err(other()) };
        }
        let (n, columns) = (self.nrows(), self.ncols());
        if n != columns {
            return Err(Error::invalid(format!("to_grid: a {n} x {columns} matrix: expected a square one")));
        }
        if grid.size() == 1 {
            return if grid.gpu().is_some() { self.to(grid.device()) } else { Ok(self.clone()) };
        }
        let csr = self.to(crate::backend::Device::Cpu)?.host_rows()?;
        let (symmetric, simple) = match (self.simple.get(), self.symmetric) {
            (Some(&simple), symmetric) if symmetric || !simple => (symmetric || csr.is_symmetric(), simple),
            _ => csr.symmetry().map_or((false, false), |loops| (true, !loops)),
        };
        check_same(grid, &csr)?;
        Self::of_rows(grid, &csr, symmetric, simple)
    }

    /// The whole matrix on rank 0; `None` on other ranks. A matrix that isn't spread is returned as it is. All ranks call this.
    ///
    /// ```
    /// use vxm::prelude::*;
    /// use vxm::ranks::{Grid, Threads};
    ///
    /// let path = Matrix::undirected(300, &(0..299).map(|v| (v, v + 1)).collect::<Vec<_>>())?;
    /// let found = Threads::run(4, |world| {
    ///     let a = path.to_grid(&Grid::of(world, 2, 2)?)?;
    ///     a.mxm(&a, PLUS_PAIR).eval()?.to_root()
    /// });
    /// let paths = path.mxm(&path, PLUS_PAIR).eval()?;
    /// for (rank, found) in found.into_iter().enumerate() {
    ///     assert_eq!(found?, (rank == 0).then(|| paths.clone()));
    /// }
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Ranks`]: another rank has failed.
    pub fn to_root(&self) -> Result<Option<Self>> {
        let Some(grid) = self.grid() else { return Ok(Some(self.clone())) };
        let entries = entries_to_first(grid, &*self.share(grid, false, "to_root")?)?;
        let whole = entries.map(|entries| Self::from_triples(self.nrows(), self.ncols(), entries)).transpose()?;
        Ok(whole.map(|whole| whole.set_symmetric(self.symmetric)))
    }

    /// Spreads a square matrix that all ranks hold. All ranks call this.
    pub(super) fn of_rows(grid: &Grid, csr: &Csr<T>, symmetric: bool, simple: bool) -> Result<Self> {
        let n = csr.nrows();
        let grid = &match grid.deal() {
            Some(_) => grid.clone(),
            None => {
                let (first, end) = (n * grid.rank() / grid.size(), n * (grid.rank() + 1) / grid.size());
                let mut load = Load::of(grid, n);
                (first..end).for_each(|row| load.add_row(row as u32, csr.row(row).0));
                grid.with_deal(load.deal()?)
            }
        };
        let share = grid.agree(entries_here(grid, csr)).and_then(|entries| Share::new(grid, n, entries))?;
        Self::of_share(grid, n, share, symmetric)?.on_ranks(grid, simple)
    }

    /// This matrix, which is spread over `grid`, on the rank's GPU if ranks run on GPUs. `simple` tells whether it is a simple graph's.
    pub(super) fn on_ranks(self, grid: &Grid, simple: bool) -> Result<Self> {
        let spread = Self { simple: OnceLock::from(simple), ..self };
        if grid.gpu().is_some() {
            grid.agree(spread.share_on_gpu(grid, false, "to_grid").map(drop))?;
        }
        Ok(spread)
    }

    /// A matrix of `n` rows that is spread over `grid`, from this rank's share by rows. All ranks call this.
    pub(crate) fn of_share(grid: &Grid, n: usize, share: Share<T>, symmetric: bool) -> Result<Self> {
        let entries = grid.sum(&[share.csr.nnz() as u64])?.first().map_or(0, |&sum| sum as usize);
        Ok(Self { shares: Some(Shares::of(grid, share)), symmetric, ..Self::shaped((n, n, entries)) })
    }

    /// This rank's share by rows of the matrix, or of its transpose. The first call for a share that isn't there yet sends entries; all
    /// ranks call this.
    ///
    /// # Errors
    /// [`Error::Invalid`]: the matrix isn't spread over `grid`; `verb` needs that. [`Error::Ranks`]: another rank has failed.
    #[inline(never)]
    pub(crate) fn share(&self, grid: &Grid, transposed: bool, verb: &'static str) -> Result<Arc<Share<T>>> {
        let Some(shares) = self.shares.as_ref().filter(|shares| shares.grid == *grid) else {
            return Err(Error::invalid(format!(
                "{verb}: the vector is spread over ranks, the matrix isn't, or in another way: expected to_grid() of the matrix"
            )));
        };
        let transposed = transposed && !self.symmetric;
        let (held, other) = if transposed { (&shares.columns, &shares.rows) } else { (&shares.rows, &shares.columns) };
        if let Some(share) = held.get() {
            return Ok(share.clone());
        }
        let Some(other) = other.get() else { return Err(Error::invalid("a matrix without a share")) };
        let turned = other.entries().map(|(row, column, value)| (column, row, value));
        let made = Arc::new(crate::ranks::assemble(grid, self.nrows(), turned)?);
        Ok(held.get_or_init(|| made).clone())
    }

    /// The share that [`share`](Self::share) returns, and the same on this rank's GPU, where the first call copies it. All ranks call this.
    ///
    /// # Errors
    /// As [`share`](Self::share). Ranks run on CPUs. The device has too little memory, or is lost.
    #[inline(never)]
    pub(crate) fn share_on_gpu(&self, grid: &Grid, transposed: bool, verb: &'static str) -> Result<OnBoth<T>> {
        let share = self.share(grid, transposed, verb)?;
        let (Some(shares), Some(gpus)) = (&self.shares, grid.gpus()) else {
            return Err(Error::invalid(format!("{verb}: ranks on CPUs: expected ranks on GPUs")));
        };
        let by_columns = transposed && !self.symmetric;
        let held = if by_columns { &shares.columns_on_gpu } else { &shares.rows_on_gpu };
        if held.get().is_none() {
            let made = Arc::new(ShareOnGpu::new(&share, gpus)?);
            held.get_or_init(|| made);
        }
        let found = held.get().cloned().ok_or_else(|| Error::invalid("a share that was just copied"))?;
        Ok((share, found))
    }

    /// Fails if the matrix is spread over ranks: `verb` isn't built there.
    pub(crate) fn check_whole(&self, verb: &str) -> Result<()> {
        match self.grid() {
            None => Ok(()),
            Some(_) => Err(Error::invalid(format!("{verb}: not built for a matrix that is spread over ranks"))),
        }
    }
}

/// Checks that all ranks hold the same pattern, by a hash of it.
fn check_same<T: Element>(grid: &Grid, csr: &Csr<T>) -> Result<()> {
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let rows = csr.offsets().iter().fold(csr.ncols() as u64, |hash, &offset| mix(hash, offset));
    let mine = csr.columns().iter().fold(rows, |hash, &column| mix(hash, u64::from(column)));
    let found = grid.told(&[mine])?;
    match found.iter().position(|other| *other != found[0]) {
        Some(rank) => Err(Error::invalid(format!(
            "rank {rank}: another matrix than that of rank 0: expected the same on all ranks"
        ))),
        None => Ok(()),
    }
}

/// The entries that this rank holds of a whole matrix.
///
/// # Errors
/// [`Error::Invalid`]: a column that the matrix doesn't have, in a file that isn't the one that other ranks have checked.
fn entries_here<T: Element>(grid: &Grid, csr: &Csr<T>) -> Result<Vec<(u32, u32, T)>> {
    let ((_, width), rank) = (grid.shape(), grid.rank());
    let holders = Holders::of(grid, csr.nrows());
    let rows = || (0..csr.nrows()).filter(|&row| holders.row(row as u32) == rank / width * width);
    let is_own = |column: u32| holders.column(column) == rank % width;
    let count: usize = match width {
        1 => rows().map(|row| csr.degree(row)).sum(),
        _ => rows().map(|row| csr.row(row).0.iter().filter(|&&column| is_own(column)).count()).sum(),
    };
    // these, and the columns and values of the share
    memory::require((12 + 2 * size_of::<T>()) as u128 * count as u128, || "a rank's share of a matrix".to_owned())?;
    let mut here = Vec::with_capacity(count);
    for row in rows() {
        let (columns, values) = csr.row(row);
        if let Some(&column) = columns.last().filter(|&&column| column as usize >= csr.ncols()) {
            return Err(Error::invalid(format!("row {row}, column {column}: expected columns below {}", csr.ncols())));
        }
        let own = |&(&column, _): &(&u32, &T)| is_own(column);
        here.extend(columns.iter().zip(values).filter(own).map(|(&column, &value)| (row as u32, column, value)));
    }
    Ok(here)
}

/// The ranks that hold the entries of a matrix.
pub(super) struct Holders {
    /// The first rank of the row of ranks, and the column of ranks, of each block of indices.
    blocks: Vec<(u32, u32)>,
}

impl Holders {
    /// Of a square matrix of `n` rows.
    pub(super) fn of(grid: &Grid, n: usize) -> Self {
        let (owners, (_, width)) = (grid.owners(n), grid.shape());
        let block = |block: usize| {
            let rank = owners.owner((block * BLOCK) as u32).0;
            ((rank / width * width) as u32, (rank % width) as u32)
        };
        Self { blocks: (0..n.div_ceil(BLOCK)).map(block).collect() }
    }

    /// The first of the ranks that hold entries of `row`.
    fn row(&self, row: u32) -> usize {
        self.blocks[row as usize / BLOCK].0 as usize
    }

    /// The column of the ranks that hold entries of `column`.
    fn column(&self, column: u32) -> usize {
        // a file that isn't what other ranks have checked may hold any column
        self.blocks.get(column as usize / BLOCK).map_or(0, |block| block.1 as usize)
    }

    /// The rank that holds an entry.
    pub(super) fn entry(&self, row: u32, column: u32) -> usize {
        self.row(row) + self.column(column)
    }
}

/// Counts of the entries that ranks would hold if blocks were dealt out in turn.
pub(super) struct Load {
    grid: Grid,
    holders: Holders,
    entries: Vec<u64>,
}

impl Load {
    /// No entries yet, of a square matrix of `n` rows.
    pub(super) fn of(grid: &Grid, n: usize) -> Self {
        let cyclic = grid.with_deal(Deal::Cyclic);
        Self { grid: grid.clone(), holders: Holders::of(&cyclic, n), entries: vec![0; grid.size()] }
    }

    /// Counts an entry.
    pub(super) fn add(&mut self, row: u32, column: u32) {
        self.entries[self.holders.entry(row, column)] += 1;
    }

    /// Counts the entries of a row.
    fn add_row(&mut self, row: u32, columns: &[u32]) {
        let first = self.holders.row(row);
        match self.grid.shape() {
            (_, 1) => self.entries[first] += columns.len() as u64,
            _ => columns.iter().for_each(|&column| self.entries[first + self.holders.column(column)] += 1),
        }
    }

    /// How blocks are dealt out: in turn, unless the fullest rank would hold much more than the mean of what all ranks have counted. All
    /// ranks call this.
    pub(super) fn deal(&self) -> Result<Deal> {
        let sums = self.grid.sum(&self.entries)?;
        let (most, all, ranks) = (sums.iter().copied().max().unwrap_or(0), sums.iter().sum::<u64>(), self.grid.size());
        let uneven = most as f64 * ranks as f64 > tuning::RANKS_UNEVEN * all as f64;
        let deal = if uneven { Deal::Hashed } else { Deal::Cyclic };
        tracing::debug!(operation = "to_grid", ?deal, most, counted = all, ranks, "plan");
        Ok(deal)
    }
}

impl Grid {
    /// Arranges all ranks of the job that a launcher, such as `mpirun`, has started. Without a launcher there is one rank, and no MPI is
    /// needed. The variable `VXM_MPI` names the MPI library, if it isn't found.
    ///
    /// ```
    /// use vxm::ranks::{Grid, Shape};
    ///
    /// let grid = Grid::join(Shape::Auto)?;
    /// println!("{grid:?}");
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Ranks`]: a launcher's variables are set, but there is no library that fits. [`Error::Invalid`]: the shape hasn't as many
    /// places as there are ranks.
    pub fn join(shape: Shape) -> Result<Self> {
        Self::join_within(shape, None)
    }

    /// The same, where a rank waits at most `limit` for others; then it fails and names one of them.
    ///
    /// # Errors
    /// As [`join`](Self::join).
    pub fn join_within(shape: Shape, limit: Option<Duration>) -> Result<Self> {
        match Launcher::seen() {
            Some(launcher) => Self::arranged(Arc::new(Mpi::join(&launcher, limit)?), shape),
            None => Self::arranged(Arc::new(Alone), shape),
        }
    }

    /// Arranges the ranks of `world` in a grid of the given shape.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn arranged(world: Arc<dyn crate::ranks::Communicator>, shape: Shape) -> Result<Self> {
        let (rows, columns) = match shape {
            Shape::Grid(rows, columns) => (rows, columns),
            Shape::Column => (world.size(), 1),
            Shape::Auto => tuning::grid_of(world.size()),
        };
        Self::of(world, rows, columns)
    }
}
