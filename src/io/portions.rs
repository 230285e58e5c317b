//! Graphs that the ranks of a grid read together: each reads portions of the edges, and no rank holds all.

use crate::error::{Error, Result};
use crate::formats::Directions;
use crate::io::loaded::{Loaded, Numbering};
use crate::io::native::NativeFile;
use crate::io::{FileFormat, Progress, ReadAs, generate, load_from, matrix_market, native, opened, snap, weighted};
use crate::ranks::Grid;
use std::path::Path;

/// The edges of an undirected graph, in portions.
pub(crate) struct Portions<'p> {
    pub vertices: usize,
    /// Whether an edge that is listed in one direction only is counted as such.
    pub directions: Directions,
    /// The number of this rank's portions; other ranks have more or fewer.
    pub count: u64,
    /// Reads a portion, in several lists. May be called once for each.
    pub edges: Edges<'p>,
    /// Checks the number of edges of all ranks.
    pub stated: Stated<'p>,
    pub about: About,
}

/// Reads the edges of a portion.
pub(crate) type Edges<'p> = Box<dyn Fn(u64) -> Result<Vec<Vec<(u32, u32)>>> + 'p>;

/// Checks a number of edges against what the file states.
pub(crate) type Stated<'p> = Box<dyn Fn(u64) -> Result<()> + 'p>;

/// What a graph's file says of it.
pub(crate) struct About {
    pub name: String,
    pub format: Option<FileFormat>,
    pub numbering: Numbering,
    /// The number of values of edges that are ignored.
    pub weights: u64,
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
    let specification = weighted::specification(path, input);
    check_same(grid, &path.display().to_string(), &[u64::from(specification.is_some())])?;
    if let Some(text) = specification {
        check_same(grid, text, &[crc32fast::hash(text.as_bytes()).into()])?;
        let portions = grid.agree(generate::portions(text, "a file or ", part, progress))?;
        return match portions {
            Some(portions) => Ok(Way::Portions(portions)),
            None => grid.agree(generate::or_else(text, "a file or ", progress)).map(Way::Whole),
        };
    }
    let (source, format) = grid.agree(opened(path, input, progress))?;
    let asked = input.format;
    let code = FileFormat::ALL.iter().position(|other| *other == format).unwrap_or(0) as u64;
    let all = |source| {
        let loaded = match kind {
            Kind::Undirected => load_from(source, asked, format, progress),
            Kind::Directed => weighted::load_digraph_from(source, asked, format, progress),
        };
        grid.agree(loaded).map(Way::Whole)
    };
    // a stream has one order
    let Some(bytes) = source.raw() else {
        check_same(grid, source.name(), &[code, 0, 0])?;
        return all(source);
    };
    check_same(grid, source.name(), &[code, 1 + bytes.len() as u64, fingerprint(bytes)])?;
    match format {
        FileFormat::Edges => snap::portions(source, asked.is_some(), grid).map(Way::Portions),
        FileFormat::MatrixMarket => grid.agree(matrix_market::portions(source, part)).map(Way::Portions),
        FileFormat::Native => {
            let file = grid.agree(NativeFile::of(source))?;
            let as_it_is = file.is_loopless() && (kind == Kind::Directed || file.is_symmetric());
            if !as_it_is || file.nrows() != file.ncols() {
                let loaded = match kind {
                    Kind::Undirected => native::read_graph_of(&file, progress),
                    Kind::Directed => native::read_digraph_of(&file, progress),
                };
                return grid.agree(loaded).map(Way::Whole);
            }
            check_same(grid, &path.display().to_string(), &[file.sums()])?;
            grid.agree(file.verify_part(part, progress))?;
            Ok(Way::Native(file))
        }
        _ => all(source),
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
