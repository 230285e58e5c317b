//! Graphs that the ranks of a grid read together.

mod entries;

use super::Matrix;
use super::spread::{Holders, Load};
use crate::backend::tuning;
use crate::error::{Error, Result};
use crate::formats::Csr;
use crate::io::{
    self, About, FileFormat, Kind, Loaded, Mirror, Numbering, Portions, Progress, ReadAs, Report, Value, Way, Weighted,
    WeightedWay,
};
use crate::memory;
use crate::ranks::{Grid, RowNumbers, Share};
use entries::{Chunks, Cleaned, Dealt, Entries, Goes};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use vxm_semiring::Element;

/// A graph that the ranks of a grid have read, with edges of type `T`: `()` if they have no weights.
#[derive(Debug)]
#[non_exhaustive]
pub struct SpreadGraph<T: Element = ()> {
    /// The graph's matrix, spread over the ranks.
    pub matrix: Matrix<T>,
    /// A short name, as [`Loaded::name`].
    pub name: String,
    /// The format of the file; `None` for a generated graph.
    pub format: Option<FileFormat>,
    /// The numbers of the vertices in the file.
    pub numbering: Numbering,
    /// Counts of what was changed, over all ranks.
    pub report: Report,
}

/// A directed graph that the ranks of a grid have read, with the weights that its file has.
#[derive(Debug)]
pub enum SpreadWeighted {
    /// Without weights: the name of the graph.
    None(String),
    /// With integers.
    Integer(SpreadGraph<u32>),
    /// With real numbers.
    Real(SpreadGraph<f64>),
}

impl Grid {
    /// Reads, or generates, an undirected graph, as [`io::read`] does in one process, and keeps this rank's share. All ranks call this.
    ///
    /// Ranks read together, where the input has parts. Of a generated graph (`grid`, `er`, `rmat`, `kron`, `road`) each draws some edges. Of an
    /// edge list, a Matrix Market file, a shortest path instance, a METIS, an ECL or a GAP graph each reads a part. Edges are sent to the ranks that hold
    /// them. Of a symmetric native file without self-loops each takes its rows, of others it sends a part. So a rank needs memory for its share, and
    /// for the numbers of an edge list's vertices. Of other formats, and of compressed files, each rank reads all and keeps its share.
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

    /// Reads a graph with the directions and the weights of its file, as [`io::read_weighted`] does in one process; see
    /// [`read_graph`](Self::read_graph).
    ///
    /// ```
    /// use vxm::containers::SpreadWeighted;
    /// use vxm::ranks::{Grid, Threads};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("roads.gr");
    /// std::fs::write(&path, "p sp 3 3\na 1 2 70\na 2 1 70\na 3 1 25\n")?;
    /// for told in Threads::run(2, |world| Grid::of(world, 2, 1)?.read_weighted(&path, None, &())) {
    ///     let SpreadWeighted::Integer(graph) = told? else { panic!("no integers") };
    ///     assert_eq!((graph.matrix.nrows(), graph.matrix.nnz()), (3, 3));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`io::read_weighted`], or [`io::read_weighted_as`] if a format is given, on any rank: all return the error of the lowest rank that has
    /// one. Ranks see different files.
    pub fn read_weighted(
        &self,
        name: impl AsRef<Path>,
        format: Option<FileFormat>,
        progress: &dyn Progress,
    ) -> Result<SpreadWeighted> {
        Ok(match self.try_read_weighted(name.as_ref(), format.into(), progress)? {
            Ok(spread) => spread,
            Err(Weighted::None(loaded)) => SpreadWeighted::None(loaded.name),
            Err(Weighted::Integer(loaded)) => SpreadWeighted::Integer(self.spread(Err(loaded), Matrix::from_csr)?),
            Err(Weighted::Real(loaded)) => SpreadWeighted::Real(self.spread(Err(loaded), Matrix::from_csr)?),
        })
    }

    /// What [`read_weighted`](Self::read_weighted) returns, or a graph that each rank has read as a whole.
    ///
    /// # Errors
    /// Those of [`read_weighted`](Self::read_weighted).
    #[doc(hidden)]
    pub fn try_read_weighted(
        &self,
        path: &Path,
        input: ReadAs<'_>,
        progress: &dyn Progress,
    ) -> Result<core::result::Result<SpreadWeighted, Weighted>> {
        if self.size() == 1 {
            return io::read_weighted_as(path, input, progress).map(Err);
        }
        Ok(match io::open_weighted(path, input, self, progress)? {
            WeightedWay::Whole(loaded) => Err(loaded),
            WeightedWay::Without(name) => Ok(SpreadWeighted::None(name)),
            WeightedWay::Integer(portions) => Ok(SpreadWeighted::Integer(spread(self, Kind::Directed, portions)?)),
            WeightedWay::Real(portions) => Ok(SpreadWeighted::Real(spread(self, Kind::Directed, portions)?)),
        })
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
    fn spread<T: Element>(&self, read: Read<T>, matrix: fn(Csr<T>) -> Matrix<T>) -> Result<SpreadGraph<T>> {
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
pub type Read<T = ()> = core::result::Result<SpreadGraph<T>, Loaded<T>>;

/// Sends all edges to the ranks that hold them, and builds this rank's share.
fn spread<V: Value>(grid: &Grid, kind: Kind, portions: Portions<'_, V>) -> Result<SpreadGraph<V>> {
    let (n, matters) = (portions.vertices, portions.mirror == Mirror::None);
    let has_weights = !V::FIELDS.is_empty();
    let goes = match kind {
        _ if !matters => Goes::BothWays(portions.mirror),
        Kind::Directed if !portions.both_ways => Goes::OneWay,
        _ => Goes::BothWaysApart,
    };
    let file = &portions.about.file;
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
    let (mut entries, holders, numbers) = (Entries::new(), Holders::of(grid, n), RowNumbers::new(grid, n));
    let rounds = grid.told(&[portions.count])?.iter().map(|told| told[0]).max().unwrap_or(0);
    for portion in 0..rounds {
        let lists = entries.room(&portions.about.name).and_then(|()| match sampled.remove(&portion) {
            Some(lists) => Ok(lists),
            None if portion < portions.count => (portions.edges)(portion),
            None => Ok(Vec::new()),
        });
        let dealt = lists.and_then(|lists| {
            let dealt = lists.into_par_iter().map(|list| Dealt::of(&holders, grid.size(), (goes, file), &list));
            dealt.collect::<Result<Vec<_>>>()
        });
        entries.exchange(grid, &numbers, grid.agree(dealt)?)?;
    }
    // as many entries in one list, and then the columns and values of the share
    let needed = (12 + 2 * size_of::<V>()) * entries.held();
    grid.agree(memory::require(needed as u128, || format!("{}: a rank's share", portions.about.name)))?;
    let [edges, loops] = [entries.edges, entries.loops];
    let sums = grid.sum(&[edges, loops])?;
    (portions.stated)(sums[0], sums[1])?;
    let Cleaned { distinct, sorted, one_sided } = entries.cleaned(portions.repeated, portions.both_ways);
    if let Some(edge) = first_of(grid, &numbers, &sorted.refused)? {
        return Err(repeated(grid, &portions, edges, edge)?);
    }
    if let Some(edge) = first_of(grid, &numbers, &one_sided)? {
        return Err(io::one_sided::<V>(file, edge));
    }
    let pairs = sorted.entries.len() as u64;
    let share = Share::of_sorted(grid, n, sorted.entries)?;
    let [edges, loops, distinct, pairs] = grid.sum(&[edges, loops, distinct, pairs])?[..] else {
        return Err(Error::invalid("four sums: found others"));
    };
    let made_so = goes != Goes::OneWay && (!has_weights || portions.both_ways);
    let symmetric = made_so || is_symmetric(grid, &share)?;
    let mut report = Report::default();
    // without directions, an edge is an entry each way
    let kept = if matters { distinct } else { distinct / 2 };
    let weights = match portions.about.weights {
        _ if has_weights => 0,
        // a self-loop has one
        1.. if portions.both_ways => edges,
        weights => weights,
    };
    (report.entries, report.loops, report.duplicates) = (edges, loops, edges - loops - kept);
    report.one_way = (goes == Goes::BothWaysApart && !has_weights).then_some(pairs - distinct);
    (report.symmetric, report.weights) = (!has_weights && goes != Goes::OneWay, weights);
    report.vertex_weights = portions.about.vertex_weights;
    let matrix = Matrix::of_share(grid, n, share, symmetric)?.on_ranks(grid, symmetric)?;
    let io::About { name, format, numbering, .. } = portions.about;
    Ok(SpreadGraph { matrix, name, format, numbering, report })
}

/// The first in the order of rows of all ranks' places, each a row's number and a column. All ranks call this.
fn first_of(grid: &Grid, numbers: &RowNumbers, places: &[(u32, u32)]) -> Result<Option<(u32, u32)>> {
    let edge = |&(row, column): &(u32, u32)| u64::from(numbers.row(row)) << 32 | u64::from(column);
    let first = places.iter().map(edge).min().unwrap_or(u64::MAX);
    let first = grid.told(&[first])?.iter().map(|told| told[0]).min().filter(|&edge| edge < u64::MAX);
    Ok(first.map(|edge| ((edge >> 32) as u32, edge as u32)))
}

/// The error for an edge with several weights, with the numbers of its first two entries in the file: ranks look for them again. This rank has
/// read so many `edges`. All ranks call this.
fn repeated<V: Value>(grid: &Grid, portions: &Portions<'_, V>, edges: u64, edge: (u32, u32)) -> Result<Error> {
    let read = grid.told(&[edges])?;
    let mut entry: u64 = read[..grid.rank()].iter().map(|told| told[0]).sum();
    // numbers from 1, with 0 for none, and whether the entry is the other way round
    let mut mine = Vec::new();
    let mut look = || {
        for portion in 0..portions.count {
            for &(from, to, _) in (portions.edges)(portion)?.iter().flatten() {
                entry += 1;
                let turned = portions.mirror != Mirror::None && (to, from) == edge;
                if (mine.len() < 4) && ((from, to) == edge || turned) {
                    mine.extend([entry, u64::from(turned)]);
                }
            }
        }
        mine.resize(4, 0);
        Ok(core::mem::take(&mut mine))
    };
    let told = grid.told(&grid.agree(look())?)?.concat();
    let found: Vec<(u64, u64)> = told.chunks(2).map(|pair| (pair[0], pair[1])).filter(|pair| pair.0 > 0).collect();
    let About { file, format, numbering, .. } = &portions.about;
    let [(earlier, one), (entry, other), ..] = found[..] else {
        return Ok(Error::invalid(format!("{file}: changed while it was read")));
    };
    let place = if other == 1 { (edge.1, edge.0) } else { edge };
    let place = (numbering.label(place.0), numbering.label(place.1));
    Ok(match format {
        Some(format) if one == other => io::repeats((file, *format), (entry, earlier), place),
        _ => io::implied(file, (entry, earlier), place),
    })
}

/// Whether the matrix of all shares has the same entries as its transpose, by two sums of hashes of all entries. All ranks call this.
pub(super) fn is_symmetric<V: Element>(grid: &Grid, share: &Share<V>) -> Result<bool> {
    let scrambled = |word: u64, factor: u64| {
        let word = word.wrapping_add(1).wrapping_mul(factor);
        (word ^ word >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(31).wrapping_mul(factor)
    };
    let mix = |row: u32, column: u32, value: u64, factor: u64| {
        scrambled((u64::from(row) << 32 | u64::from(column)) ^ value, factor)
    };
    let row = |row: usize| {
        let own = share.index[row];
        let (slots, values) = share.csr.row(row);
        slots.iter().zip(values).fold([0u64; 2], |[one, two], (&slot, &value)| {
            let other = share.index[slot as usize];
            // an entry without a value has the hash of its place alone
            let value = match size_of::<V>() {
                0 => 0,
                _ => value.words().fold(0, |hash, word| scrambled(hash ^ word, 0x94d0_49bb_1331_11eb)),
            };
            let difference = |factor| mix(own, other, value, factor).wrapping_sub(mix(other, own, value, factor));
            [one.wrapping_add(difference(0x9e37_79b9_7f4a_7c15)), two.wrapping_add(difference(0xd6e8_feb8_6659_fd93))]
        })
    };
    let add = |x: [u64; 2], y: [u64; 2]| [x[0].wrapping_add(y[0]), x[1].wrapping_add(y[1])];
    let mine = (0..share.csr.nrows()).into_par_iter().map(row).reduce(|| [0; 2], add);
    let all = grid.told(&mine)?.into_iter().fold([0; 2], |sum, told| add(sum, [told[0], told[1]]));
    Ok(all == [0; 2])
}

/// Reads some of this rank's portions, evenly over all, and counts the entries of their edges.
fn sample<V: Value>(portions: &Portions<'_, V>, goes: Goes, load: &mut Load) -> Result<BTreeMap<u64, Chunks<V>>> {
    let few = portions.count.min(tuning::RANKS_SAMPLE);
    let mut sampled = BTreeMap::new();
    for k in 0..few {
        let portion = k * portions.count / few;
        let lists = (portions.edges)(portion)?;
        for &(from, to, _) in lists.iter().flatten().filter(|(from, to, _)| from != to) {
            load.add(from, to);
            if goes != Goes::OneWay {
                load.add(to, from);
            }
        }
        sampled.insert(portion, lists);
    }
    Ok(sampled)
}
