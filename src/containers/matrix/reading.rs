//! Graphs that the ranks of a grid read together.

use super::Matrix;
use super::spread::{Holders, Load};
use crate::backend::tuning;
use crate::error::{Error, Result};
use crate::formats::{Csr, Directions};
use crate::io::{self, FileFormat, Kind, Loaded, Numbering, Portions, Progress, ReadAs, Report, Way};
use crate::memory;
use crate::ranks::{Grid, RowNumbers, Share};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

/// An undirected graph that the ranks of a grid have read.
#[derive(Debug)]
#[non_exhaustive]
pub struct SpreadGraph {
    /// The graph's matrix, spread over the ranks.
    pub matrix: Matrix,
    /// A short name, as [`Loaded::name`].
    pub name: String,
    /// The format of the file; `None` for a generated graph.
    pub format: Option<FileFormat>,
    /// The numbers of the vertices in the file.
    pub numbering: Numbering,
    /// Counts of what was changed, over all ranks.
    pub report: Report,
}

impl Grid {
    /// Reads, or generates, an undirected graph, as [`io::read`] does in one process, and keeps this rank's share. All ranks call this.
    ///
    /// Ranks read together, where the input has parts. Of a generated graph (`grid`, `er`, `rmat`, `kron`, `road`) each draws some edges. Of an
    /// edge list or a Matrix Market file each parses a part. Edges are sent to the ranks that hold them. Of a symmetric native file without
    /// self-loops each takes its rows. So a rank needs memory for its share, and for the numbers of an edge list's vertices. Of other
    /// formats, and of compressed files, each rank reads all and keeps its share.
    ///
    /// ```
    /// use vxm::prelude::*;
    /// use vxm::ranks::{Grid, Threads};
    ///
    /// let alone = vxm::io::read("rmat:10:8", &())?;
    /// let told = Threads::run(4, |world| Grid::of(world, 2, 2)?.read_graph("rmat:10:8", None, &()));
    /// for spread in told {
    ///     let spread = spread?;
    ///     assert_eq!((spread.matrix.nnz(), spread.report), (alone.graph.nnz() as u64, alone.report));
    /// }
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`io::read`], or [`io::read_as`] if a format is given, on any rank: all return the error of the lowest rank that has one. Ranks see
    /// different files.
    pub fn read_graph(
        &self,
        name: impl AsRef<Path>,
        format: Option<FileFormat>,
        progress: &dyn Progress,
    ) -> Result<SpreadGraph> {
        self.spread(self.try_read_graph(name.as_ref(), format.into(), progress)?, Matrix::from_simple)
    }

    /// Reads a graph with the directions of its file, as [`io::read_digraph`] does in one process; see [`read_graph`](Self::read_graph). Whether
    /// it is symmetric is found by sums of hashes of its entries and of their mirror images.
    ///
    /// ```
    /// use vxm::ranks::{Grid, Threads};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("arrows.txt");
    /// std::fs::write(&path, "1 2\n2 3\n3 1\n3 2\n")?;
    /// for spread in Threads::run(2, |world| Grid::of(world, 2, 1)?.read_digraph(&path, None, &())) {
    ///     let matrix = spread?.matrix;
    ///     assert_eq!((matrix.nnz(), matrix.is_symmetric()), (4, false));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read_graph`](Self::read_graph).
    pub fn read_digraph(
        &self,
        name: impl AsRef<Path>,
        format: Option<FileFormat>,
        progress: &dyn Progress,
    ) -> Result<SpreadGraph> {
        self.spread(self.try_read_digraph(name.as_ref(), format.into(), progress)?, Matrix::from_csr)
    }

    /// The matrix that [`read_graph`](Self::read_graph) reads from a file of any format, or generates.
    ///
    /// # Errors
    /// Those of [`read_graph`](Self::read_graph).
    pub fn read(&self, name: impl AsRef<Path>, progress: &dyn Progress) -> Result<Matrix> {
        Ok(self.read_graph(name, None, progress)?.matrix)
    }

    /// What [`read_graph`](Self::read_graph) returns, or a graph that each rank has read as a whole.
    ///
    /// # Errors
    /// Those of [`read_graph`](Self::read_graph).
    #[doc(hidden)]
    pub fn try_read_graph(&self, path: &Path, input: ReadAs<'_>, progress: &dyn Progress) -> Result<Read> {
        if self.size() == 1 {
            return io::read_as(path, input, progress).map(Err);
        }
        self.read_kind(path, Kind::Undirected, input, progress)
    }

    /// What [`read_digraph`](Self::read_digraph) returns, or a graph that each rank has read as a whole.
    ///
    /// # Errors
    /// Those of [`read_graph`](Self::read_graph).
    #[doc(hidden)]
    pub fn try_read_digraph(&self, path: &Path, input: ReadAs<'_>, progress: &dyn Progress) -> Result<Read> {
        if self.size() == 1 {
            return io::read_digraph_as(path, input, progress).map(Err);
        }
        self.read_kind(path, Kind::Directed, input, progress)
    }

    /// The graph that was read, spread over the ranks. `matrix` makes the matrix of one that each rank holds.
    fn spread(&self, read: Read, matrix: fn(Csr) -> Matrix) -> Result<SpreadGraph> {
        let Loaded { graph, name, format, numbering, report } = match read {
            Ok(spread) => return Ok(spread),
            Err(whole) => whole,
        };
        Ok(SpreadGraph { matrix: matrix(graph).to_grid(self)?, name, format, numbering, report })
    }

    /// Reads a graph on several ranks.
    fn read_kind(&self, path: &Path, kind: Kind, input: ReadAs<'_>, progress: &dyn Progress) -> Result<Read> {
        match io::open(path, kind, input, self, progress)? {
            Way::Whole(loaded) => Ok(Err(loaded)),
            Way::Portions(portions) => spread(self, kind, portions).map(Ok),
            Way::Native(file) => {
                let rows = self.agree(file.pattern_in_part())?;
                let matrix = Matrix::of_rows(self, &rows, file.is_symmetric(), file.is_symmetric())?;
                let (name, numbering, report) = file.about();
                Ok(Ok(SpreadGraph { matrix, name, format: Some(FileFormat::Native), numbering, report }))
            }
        }
    }
}

/// What ranks have read together: a graph that is spread over them, or one that each holds.
pub type Read = core::result::Result<SpreadGraph, Loaded>;

/// Sends all edges to the ranks that hold them, and builds this rank's share.
fn spread(grid: &Grid, kind: Kind, portions: Portions<'_>) -> Result<SpreadGraph> {
    let (n, matters) = (portions.vertices, portions.directions == Directions::Matter);
    let goes = match (kind, matters) {
        (_, false) => Goes::BothWays,
        (Kind::Undirected, true) => Goes::BothWaysApart,
        (Kind::Directed, true) => Goes::OneWay,
    };
    let (rows, columns) = grid.shape();
    // row offsets, and a slot for each column
    let needed = (8 * n / rows + 4 * n / columns) as u128;
    grid.agree(memory::require(needed, || portions.about.name.clone()))?;
    let mut sampled = BTreeMap::new();
    let grid = &match grid.deal() {
        Some(_) => grid.clone(),
        None => {
            let mut load = Load::of(grid, n);
            sampled = grid.agree(sample(&portions, goes, &mut load))?;
            grid.with_deal(load.deal()?)
        }
    };
    let (mut entries, holders, numbers) = (Entries::default(), Holders::of(grid, n), RowNumbers::new(grid, n));
    let rounds = grid.told(&[portions.count])?.iter().map(|told| told[0]).max().unwrap_or(0);
    for portion in 0..rounds {
        let lists = match sampled.remove(&portion) {
            Some(lists) => Ok(lists),
            None if portion < portions.count => (portions.edges)(portion),
            None => Ok(Vec::new()),
        };
        let lists = grid.agree(entries.room(&portions.about.name).and(lists))?;
        entries.exchange(grid, (&holders, &numbers), goes, lists)?;
    }
    // as many entries in one list, and then the columns of the share
    let held = entries.held();
    grid.agree(memory::require(12 * held as u128, || format!("{}: a rank's share", portions.about.name)))?;
    let [edges, loops] = [entries.edges, entries.loops];
    let (distinct, local) = entries.cleaned();
    let pairs = local.len() as u64;
    let share = Share::of_sorted(grid, n, local)?;
    let [edges, loops, distinct, pairs] = grid.sum(&[edges, loops, distinct, pairs])?[..] else {
        return Err(Error::invalid("four sums: found others"));
    };
    (portions.stated)(edges)?;
    let symmetric = goes != Goes::OneWay || is_symmetric(grid, &share)?;
    let mut report = Report::default();
    // without directions, an edge is an entry each way
    let kept = if matters { distinct } else { distinct / 2 };
    (report.entries, report.loops, report.duplicates) = (edges, loops, edges - loops - kept);
    report.one_way = (goes == Goes::BothWaysApart).then_some(pairs - distinct);
    (report.symmetric, report.weights) = (goes != Goes::OneWay, portions.about.weights);
    let matrix = Matrix::of_share(grid, n, share, symmetric)?.on_ranks(grid, symmetric)?;
    let io::About { name, format, numbering, .. } = portions.about;
    Ok(SpreadGraph { matrix, name, format, numbering, report })
}

/// Which entries an edge of the input makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goes {
    /// That from its first end to its second.
    OneWay,
    /// Both, and it doesn't matter which is listed.
    BothWays,
    /// Both, where the one that is listed is told from its mirror image.
    BothWaysApart,
}

/// Whether the matrix of all shares has the same entries as its transpose, by two sums of hashes of all entries. All ranks call this.
fn is_symmetric(grid: &Grid, share: &Share<()>) -> Result<bool> {
    let mix = |row: u32, column: u32, factor: u64| {
        let word = (u64::from(row) << 32 | u64::from(column)).wrapping_add(1).wrapping_mul(factor);
        (word ^ word >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(31).wrapping_mul(factor)
    };
    let row = |row: usize| {
        let own = share.index[row];
        share.csr.row(row).0.iter().fold([0u64; 2], |[one, two], &slot| {
            let other = share.index[slot as usize];
            let difference = |factor| mix(own, other, factor).wrapping_sub(mix(other, own, factor));
            [one.wrapping_add(difference(0x9e37_79b9_7f4a_7c15)), two.wrapping_add(difference(0xd6e8_feb8_6659_fd93))]
        })
    };
    let add = |x: [u64; 2], y: [u64; 2]| [x[0].wrapping_add(y[0]), x[1].wrapping_add(y[1])];
    let mine = (0..share.csr.nrows()).into_par_iter().map(row).reduce(|| [0; 2], add);
    let all = grid.told(&mine)?.into_iter().fold([0; 2], |sum, told| add(sum, [told[0], told[1]]));
    Ok(all == [0; 2])
}

/// Reads some of this rank's portions, evenly over all, and counts the entries of their edges.
fn sample(portions: &Portions<'_>, goes: Goes, load: &mut Load) -> Result<BTreeMap<u64, Chunks>> {
    let few = portions.count.min(tuning::RANKS_SAMPLE);
    let mut sampled = BTreeMap::new();
    for k in 0..few {
        let portion = k * portions.count / few;
        let lists = (portions.edges)(portion)?;
        for &(from, to) in lists.iter().flatten().filter(|(from, to)| from != to) {
            load.add(from, to);
            if goes != Goes::OneWay {
                load.add(to, from);
            }
        }
        sampled.insert(portion, lists);
    }
    Ok(sampled)
}

/// Entries as they came, portion by portion: a vector that grows would hold them twice.
type Chunks = Vec<Vec<(u32, u32)>>;

/// The entries that have come to this rank, by the numbers of their rows, see [`RowNumbers`], and their columns.
#[derive(Default)]
struct Entries {
    /// Those of edges as they are listed, and their mirror images if these are told apart; otherwise all are forward.
    forward: Chunks,
    backward: Chunks,
    /// The edges that this rank has read, and those of them that are self-loops.
    edges: u64,
    loops: u64,
}

impl Entries {
    /// The number of entries, equal ones included.
    fn held(&self) -> usize {
        self.forward.iter().chain(&self.backward).map(Vec::len).sum()
    }

    /// Checks that there is memory for as many entries more as came with a portion before.
    fn room(&self, name: &str) -> Result<()> {
        let last = [&self.forward, &self.backward].into_iter().filter_map(|chunks| chunks.last());
        let bytes = last.map(|chunk| 8 * chunk.len() as u128).sum();
        memory::require(bytes, || format!("{name}: a rank's share of the entries"))
    }

    /// Sends this rank's edges to the ranks that hold them, and takes what others send. All ranks call this.
    fn exchange(
        &mut self,
        grid: &Grid,
        (holders, numbers): (&Holders, &RowNumbers),
        goes: Goes,
        lists: Chunks,
    ) -> Result<()> {
        self.edges += lists.iter().map(|list| list.len() as u64).sum::<u64>();
        let dealt: Vec<Dealt> =
            lists.into_par_iter().map(|list| Dealt::of(holders, grid.size(), goes, &list)).collect();
        self.loops += dealt.iter().map(|dealt| dealt.loops).sum::<u64>();
        let parcels = (0..grid.size()).map(|rank| {
            let forward: usize = dealt.iter().map(|dealt| dealt.forward[rank].len()).sum();
            let parts =
                dealt.iter().map(|dealt| &dealt.forward[rank]).chain(dealt.iter().map(|dealt| &dealt.backward[rank]));
            let mut parcel = (forward as u64).to_le_bytes().to_vec();
            parts.for_each(|part| parcel.extend_from_slice(part));
            parcel
        });
        let parcels = parcels.collect();
        drop(dealt);
        let [mut all_forward, mut all_backward] = [Vec::new(), Vec::new()];
        for parcel in grid.exchange(parcels)? {
            let (head, entries) =
                parcel.split_first_chunk().ok_or_else(|| Error::invalid("a parcel without a head"))?;
            let (forward, backward) =
                entries.split_at_checked(u64::from_le_bytes(*head) as usize).unwrap_or((entries, &[]));
            let entry = |bytes: &[u8]| {
                let word = bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
                (numbers.of(word as u32), (word >> 32) as u32)
            };
            all_forward.extend(forward.chunks_exact(8).map(entry));
            all_backward.extend(backward.chunks_exact(8).map(entry));
        }
        self.forward.push(all_forward);
        self.backward.push(all_backward);
        Ok(())
    }

    /// The number of distinct forward entries, and all distinct entries, sorted.
    fn cleaned(self) -> (u64, Vec<(u32, u32, ())>) {
        let forward = sorted(self.forward);
        let distinct = forward.len() as u64;
        let all = match self.backward.iter().all(Vec::is_empty) {
            true => forward,
            false => sorted(vec![forward, sorted(self.backward)]),
        };
        (distinct, all.into_iter().map(|(row, column)| (row, column, ())).collect())
    }
}

/// The distinct entries, sorted. Chunks are freed as they are joined.
fn sorted(chunks: Chunks) -> Vec<(u32, u32)> {
    let mut all = Vec::with_capacity(chunks.iter().map(Vec::len).sum());
    chunks.into_iter().for_each(|chunk| all.extend(chunk));
    all.par_sort_unstable();
    all.dedup();
    all
}

/// The entries of a list of edges as bytes, for each rank.
struct Dealt {
    forward: Vec<Vec<u8>>,
    backward: Vec<Vec<u8>>,
    loops: u64,
}

impl Dealt {
    fn of(holders: &Holders, ranks: usize, goes: Goes, edges: &[(u32, u32)]) -> Self {
        let (mut forward, mut backward, mut loops) = (vec![Vec::new(); ranks], vec![Vec::new(); ranks], 0);
        let put = |out: &mut Vec<Vec<u8>>, row: u32, column: u32| {
            let word = u64::from(column) << 32 | u64::from(row);
            out[holders.entry(row, column)].extend_from_slice(&word.to_le_bytes());
        };
        for &(from, to) in edges {
            if from == to {
                loops += 1;
                continue;
            }
            put(&mut forward, from, to);
            match goes {
                Goes::OneWay => {}
                Goes::BothWays => put(&mut forward, to, from),
                Goes::BothWaysApart => put(&mut backward, to, from),
            }
        }
        Self { forward, backward, loops }
    }
}
