//! Graphs that the ranks of a grid read together: each reads portions of the edges, and no rank holds all.

use crate::error::{Error, Result};
use crate::io::entries::{CHUNK, Lists};
use crate::io::loaded::{Loaded, Numbering};
use crate::io::native::NativeFile;
use crate::io::source::Source;
use crate::io::target::Mirror;
use crate::io::value::Value;
use crate::io::weighted::Weighted;
use crate::io::{
    FileFormat, Progress, ReadAs, dimacs, ecl, gap, generate, load_from, matrix_market, metis, opened, short_name,
    snap, weighted,
};
use crate::ranks::Grid;
use core::ops::Range;
use rayon::prelude::*;
use std::path::Path;

/// The edges of a graph, in portions. They have weights of type `V`.
pub(crate) struct Portions<'p, V: Value = ()> {
    pub vertices: usize,
    /// The edge that one implies: none if edges have directions.
    pub mirror: Mirror,
    /// Which of several weights of an edge is kept.
    pub repeated: Repeated,
    /// Whether each edge is listed at both its ends, with the same weight; otherwise the file is wrong.
    pub both_ways: bool,
    /// The number of this rank's portions; other ranks have more or fewer.
    pub count: u64,
    /// Reads a portion, in several lists. May be called once for each, and once more if the file turns out to be wrong.
    pub edges: Edges<'p, V>,
    /// Checks the numbers of edges and of self-loops of all ranks.
    pub stated: Stated<'p>,
    pub about: About,
}

/// Reads the edges of a portion.
pub(crate) type Edges<'p, V> = Box<dyn Fn(u64) -> Result<Lists<V>> + 'p>;

/// Checks numbers of edges and of self-loops among them against what the file states.
pub(crate) type Stated<'p> = Box<dyn Fn(u64, u64) -> Result<()> + 'p>;

/// Which of several weights of an edge is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeated {
    /// Any: edges have no weights.
    Any,
    /// The least.
    Least,
    /// None: two weights are an error.
    Refused,
}

impl Repeated {
    /// Two weights are an error, if there are weights.
    pub fn refused<V: Value>() -> Self {
        if V::FIELDS.is_empty() { Self::Any } else { Self::Refused }
    }

    /// The least weight is kept, if there are weights.
    pub fn least<V: Value>() -> Self {
        if V::FIELDS.is_empty() { Self::Any } else { Self::Least }
    }
}

/// What a graph's file says of it.
pub(crate) struct About {
    /// The file, as error messages show it.
    pub file: String,
    pub name: String,
    pub format: Option<FileFormat>,
    pub numbering: Numbering,
    /// The number of values of edges, which are ignored if the edges are read without.
    pub weights: u64,
    /// The number of values of vertices, which are ignored.
    pub vertex_weights: u64,
}

impl About {
    /// Of a file with so many values of edges, and none of vertices.
    pub fn of_file(file: &str, format: FileFormat, numbering: Numbering, weights: u64) -> Self {
        let (file, name) = (file.to_owned(), short_name(file));
        Self { file, name, format: Some(format), numbering, weights, vertex_weights: 0 }
    }
}

/// What is read of a file: an undirected graph, as by [`read`](super::read()), or one with the directions of its edges, as by
/// [`read_digraph`](super::read_digraph).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Undirected,
    Directed,
}

/// How the ranks of a grid read a graph.
pub(crate) enum Way<'p> {
    /// Each reads some of the edges.
    Portions(Portions<'p>),
    /// A native file without self-loops, and symmetric where an undirected graph is asked for. Each reads its rows.
    Native(NativeFile),
    /// Each reads all: a format that has one order, or takes little memory.
    Whole(Loaded),
}

/// How the ranks of a grid read a graph with weights.
pub(crate) enum WeightedWay<'p> {
    /// The graph of this name has none.
    Without(String),
    /// Each rank reads some of the edges, with integers.
    Integer(Portions<'p, u32>),
    /// The same with real numbers.
    Real(Portions<'p, f64>),
    /// Each reads all.
    Whole(Weighted),
}

impl<'p> WeightedWay<'p> {
    /// The edges of a file with integers, which `portions` reads, or none if the file isn't `weighted`.
    pub(super) fn integers(
        weighted: bool,
        source: Source<'p>,
        portions: impl FnOnce(Source<'p>) -> Result<Portions<'p, u32>>,
    ) -> Result<Self> {
        match weighted {
            true => portions(source).map(Self::Integer),
            false => Ok(Self::Without(short_name(source.name()))),
        }
    }
}

/// Opens a graph for the ranks of a grid, as the functions that [`Kind`] names do for a process, or those with `_as` if something is said of the
/// file. All ranks call this, and return the same way.
///
/// # Errors
/// Those of [`read`](super::read()). Ranks see different files.
pub(crate) fn open<'p>(
    path: &Path,
    kind: Kind,
    input: ReadAs<'_>,
    grid: &Grid,
    progress: &'p dyn Progress,
) -> Result<Way<'p>> {
    let part = (grid.rank(), grid.size());
    if let Some(text) = specified(path, input, grid)? {
        let portions = grid.agree(generate::portions(text, "a file or ", part, progress))?;
        return match portions {
            Some(portions) => Ok(Way::Portions(portions)),
            None => grid.agree(generate::or_else(text, "a file or ", progress)).map(Way::Whole),
        };
    }
    let asked = input.format;
    let (source, format, has_parts) = opened_together(path, input, grid, progress)?;
    let whole = |source| {
        let loaded = match kind {
            Kind::Undirected => load_from(source, asked, format, progress),
            Kind::Directed => weighted::load_digraph_from(source, asked, format, progress),
        };
        grid.agree(loaded).map(Way::Whole)
    };
    let portions = match format {
        _ if !has_parts => return whole(source),
        FileFormat::Edges => snap::portions(source, asked.is_some(), grid)?,
        FileFormat::MatrixMarket => grid.agree(matrix_market::portions(source, part))?,
        FileFormat::ShortestPath => grid.agree(dimacs::portions(source, part))?,
        FileFormat::Metis => metis::portions(source, asked, grid)?,
        FileFormat::Ecl => grid.agree(ecl::portions(source, part))?,
        FileFormat::Gap => grid.agree(gap::portions(source, part))?,
        FileFormat::Native => {
            let file = opened_native(source, grid, progress)?;
            if file.is_loopless() && (kind == Kind::Directed || file.is_symmetric()) {
                return Ok(Way::Native(file));
            }
            file.portions(part)
        }
        _ => return whole(source),
    };
    Ok(Way::Portions(portions))
}

/// Opens a graph with weights for the ranks of a grid, as [`read_weighted_as`](super::read_weighted_as) does for a process. All ranks call this, and
/// return the same way.
///
/// # Errors
/// Those of [`read_weighted`](super::read_weighted()). Ranks see different files.
pub(crate) fn open_weighted<'p>(
    path: &Path,
    input: ReadAs<'_>,
    grid: &Grid,
    progress: &'p dyn Progress,
) -> Result<WeightedWay<'p>> {
    let part = (grid.rank(), grid.size());
    if let Some(text) = specified(path, input, grid)? {
        grid.agree(generate::portions(text, "a file or ", part, &()))?;
        return Ok(WeightedWay::Without(text.to_owned()));
    }
    let asked = input.format;
    let (source, format, has_parts) = opened_together(path, input, grid, progress)?;
    match format {
        _ if !has_parts => {}
        FileFormat::Edges => return snap::weighted_portions(source, asked.is_some(), grid),
        FileFormat::MatrixMarket => return grid.agree(matrix_market::weighted_portions(source, part)),
        FileFormat::ShortestPath => return grid.agree(dimacs::portions(source, part)).map(WeightedWay::Integer),
        FileFormat::Metis => return metis::weighted_portions(source, asked, grid),
        FileFormat::Ecl => return grid.agree(ecl::weighted_portions(source, part)),
        FileFormat::Gap => return grid.agree(gap::weighted_portions(source, part)),
        FileFormat::Native => return grid.agree(opened_native(source, grid, progress)?.weighted_portions(part)),
        _ => {}
    }
    grid.agree(weighted::load_weighted_from(source, asked, format, progress)).map(WeightedWay::Whole)
}

/// The name as the specification of a generated graph, if it is one, for all ranks.
fn specified<'n>(path: &'n Path, input: ReadAs<'_>, grid: &Grid) -> Result<Option<&'n str>> {
    let specification = weighted::specification(path, input);
    check_same(grid, &path.display().to_string(), &[u64::from(specification.is_some())])?;
    if let Some(text) = specification {
        check_same(grid, text, &[crc32fast::hash(text.as_bytes()).into()])?;
    }
    Ok(specification)
}

/// Opens a file, which all ranks see. Tells its format, and whether it has parts: a stream has one order.
fn opened_together<'p>(
    path: &Path,
    input: ReadAs<'_>,
    grid: &Grid,
    progress: &'p dyn Progress,
) -> Result<(Source<'p>, FileFormat, bool)> {
    let (source, format) = grid.agree(opened(path, input, progress))?;
    let code = FileFormat::ALL.iter().position(|other| *other == format).unwrap_or(0) as u64;
    let seen = source.raw().map_or([code, 0, 0], |bytes| [code, 1 + bytes.len() as u64, fingerprint(bytes)]);
    check_same(grid, source.name(), &seen)?;
    let has_parts = source.raw().is_some();
    Ok((source, format, has_parts))
}

/// The native file of a square matrix, which all ranks see. Each has checked a part.
fn opened_native(source: Source<'_>, grid: &Grid, progress: &dyn Progress) -> Result<NativeFile> {
    let (part, name) = ((grid.rank(), grid.size()), source.name().to_owned());
    let file = grid.agree(NativeFile::of(source))?;
    grid.agree(file.check_square())?;
    check_same(grid, &name, &[file.sums()])?;
    grid.agree(file.verify_part(part, progress))?;
    Ok(file)
}

/// Entries of a binary file that a rank reads before it sends them: enough to keep all threads busy.
const PORTION: usize = 16 * CHUNK;

impl<'p, V: Value> Portions<'p, V> {
    /// The edges of a directed graph that a binary file lists by rows, of which part number `part.0` of `part.1` is read. `convert` returns the
    /// entries of a range of their numbers, of `entries`.
    pub(super) fn of_rows(
        (vertices, entries): (u64, u64),
        part: (usize, usize),
        about: About,
        convert: impl Fn(Range<usize>) -> Result<Vec<(u32, u32, V)>> + Sync + 'p,
    ) -> Self {
        let cut = |k: usize| (u128::from(entries) * k as u128 / part.1 as u128) as usize;
        let (first, end) = (cut(part.0), cut(part.0 + 1));
        let edges = move |portion: u64| {
            let start = first + portion as usize * PORTION;
            let range = start..end.min(start + PORTION);
            let list = |k: usize| {
                let start = range.start + k * CHUNK;
                convert(start..range.end.min(start + CHUNK))
            };
            let lists: Vec<Result<_>> = (0..range.len().div_ceil(CHUNK)).into_par_iter().map(list).collect();
            // the first error is the one to report
            lists.into_iter().collect()
        };
        Self {
            vertices: vertices as usize,
            mirror: Mirror::None,
            repeated: Repeated::refused::<V>(),
            count: (end - first).div_ceil(PORTION) as u64,
            edges: Box::new(edges),
            stated: Box::new(|_, _| Ok(())),
            both_ways: false,
            about,
        }
    }
}

/// Checks that all ranks tell the same of the input `name`.
fn check_same(grid: &Grid, name: &str, mine: &[u64]) -> Result<()> {
    let told = grid.told(mine)?;
    match told.iter().position(|other| *other != told[0]) {
        // each rank has its own name of it
        Some(rank) => {
            let other = || Error::invalid(format!("{name}: another input than that of rank 0: expected the same"));
            grid.agree(if rank == grid.rank() { Err(other()) } else { Ok(()) })
        }
        None => Ok(()),
    }
}

/// A checksum of a file: of all of a short one, and of pages of a long one, from its first to its last.
fn fingerprint(bytes: &[u8]) -> u64 {
    const PAGE: usize = 4096;
    const PAGES: usize = 256;
    if bytes.len() <= PAGE * PAGES {
        return crc32fast::hash(bytes).into();
    }
    let mut sum = crc32fast::Hasher::new();
    for page in 0..PAGES {
        let at = ((bytes.len() - PAGE) as u128 * page as u128 / (PAGES - 1) as u128) as usize;
        sum.update(&bytes[at..at + PAGE]);
    }
    sum.finalize().into()
}
