//! Graphs with the directions and the weights of their files.

use crate::error::Result;
use crate::io::loaded::Loaded;
use crate::io::source::Source;
use crate::io::{
    FileFormat, Progress, ReadAs, by_name, dimacs, ecl, gap, generate, graphml, matrix_market, metis, named, native,
    npz, opened, snap, table,
};
use std::path::Path;

/// A directed graph with the weights that its file has.
#[derive(Debug, Clone, PartialEq)]
pub enum Weighted {
    /// Without weights: a generated graph, an edge list of which no column is chosen, a DIMACS colouring instance, or a file of another
    /// format that holds none, such as a Matrix Market pattern or a SciPy matrix of truth values.
    None(Loaded),
    /// With integers.
    Integer(Loaded<u32>),
    /// With real numbers, of a format that has such.
    Real(Loaded<f64>),
}

impl Weighted {
    /// A graph with weights of text, which are integers unless there are `fractions` among them.
    pub(super) fn of_text(loaded: Loaded<f64>, fractions: bool) -> Self {
        if fractions {
            return Self::Real(loaded);
        }
        let integers: Vec<u32> = loaded.graph.values().iter().map(|&weight| weight as u32).collect();
        let Loaded { graph, report, name, format, numbering } = loaded;
        Self::Integer(Loaded { graph: graph.with_values(integers), report, name, format, numbering })
    }
}

/// Reads a graph as [`read()`](super::read()) does, but keeps the directions of its edges: entry `(i, j)` is the edge from `i` to `j`.
/// DIMACS colouring instances, METIS files and generated graphs are undirected, so their edges go both ways, as do those of symmetric Matrix
/// Market files.
///
/// ```
/// let grid = vxm::io::read_digraph("grid:3x4", &())?;
/// assert_eq!(grid.graph, vxm::io::read("grid:3x4", &())?.graph);
/// # Ok::<(), vxm::error::Error>(())
/// ```
///
/// # Errors
/// Those of [`read()`](super::read()).
pub fn read_digraph(name: impl AsRef<Path>, progress: &dyn Progress) -> Result<Loaded> {
    read_digraph_as(name, ReadAs::default(), progress)
}

/// Reads the file `file` as one of this format, or with these columns, as [`read_digraph`] does.
///
/// ```
/// use vxm::io::{FileFormat, read_digraph_as};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("triangle.txt");
/// std::fs::write(&path, "1 2\n2 3\n3 1\n")?;
/// let triangle = read_digraph_as(&path, FileFormat::Edges, &())?;
/// assert_eq!((triangle.graph.nnz(), triangle.graph.get(0, 1), triangle.graph.get(1, 0)), (3, Some(()), None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of [`read()`](super::read()).
pub fn read_digraph_as<'c>(
    file: impl AsRef<Path>,
    input: impl Into<ReadAs<'c>>,
    progress: &dyn Progress,
) -> Result<Loaded> {
    let (path, input) = (file.as_ref(), input.into());
    if let Some(text) = specification(path, input) {
        return generate::or_else(text, "a file or ", progress);
    }
    let (source, format) = opened(path, input, progress)?;
    load_digraph_from(source, input.format, format, progress)
}

/// Reads a graph as [`read_digraph`] does, with the weights of its edges. Integers are those from 0 to 2^32 - 1. Self-loops are dropped.
///
/// Matrix Market files, GraphML, tables, edge lists and SciPy matrices have integers or real numbers, all other formats integers. Of an edge list the
/// column of weights is chosen ([`ReadAs::columns`]); without a choice it is the third of a file called `.wel`. The least weight of
/// parallel arcs of a shortest path instance is kept; elsewhere two weights of one edge are refused.
///
/// ```
/// use vxm::io::{Weighted, read_weighted};
/// assert!(matches!(read_weighted("grid:3x4", &())?, Weighted::None(_)));
/// # Ok::<(), vxm::error::Error>(())
/// ```
///
/// # Errors
/// Those of [`read()`](super::read()). An integer that `u32` cannot hold is an [`Error::Parse`](crate::Error::Parse), or an
/// [`Error::Invalid`](crate::Error::Invalid) in a binary file. Two weights of one edge are an [`Error::Invalid`](crate::Error::Invalid).
pub fn read_weighted(name: impl AsRef<Path>, progress: &dyn Progress) -> Result<Weighted> {
    read_weighted_as(name, ReadAs::default(), progress)
}

/// Reads the file `file` as one of this format, or with these columns, as [`read_weighted`] does.
///
/// ```
/// use vxm::io::{FileFormat, Weighted, read_weighted_as};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("edge.txt");
/// std::fs::write(&path, "2 1 1\n2 7\n1 7\n")?;
/// let Weighted::Integer(edge) = read_weighted_as(&path, FileFormat::Metis, &())? else { panic!("no integers") };
/// assert_eq!((edge.graph.get(0, 1), edge.graph.get(1, 0)), (Some(7), Some(7)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of [`read_weighted`].
pub fn read_weighted_as<'c>(
    file: impl AsRef<Path>,
    input: impl Into<ReadAs<'c>>,
    progress: &dyn Progress,
) -> Result<Weighted> {
    let (path, input) = (file.as_ref(), input.into());
    if let Some(text) = specification(path, input) {
        return generate::or_else(text, "a file or ", progress).map(Weighted::None);
    }
    let (source, format) = opened(path, input, progress)?;
    load_weighted_from(source, input.format, format, progress)
}

/// Reads an open file of the format `format`, with weights.
pub(super) fn load_weighted_from(
    source: Source<'_>,
    asked: Option<FileFormat>,
    format: FileFormat,
    progress: &dyn Progress,
) -> Result<Weighted> {
    match format {
        FileFormat::Edges => snap::read_weighted(source, asked.is_some(), progress),
        FileFormat::Names => named::read_weighted(source),
        FileFormat::GraphMl => graphml::read_weighted(&source),
        FileFormat::Parquet | FileFormat::Arrow => table::read_weighted(source, format),
        FileFormat::MatrixMarket => matrix_market::read_weighted(source),
        FileFormat::Dimacs => dimacs::read_graph(source).map(Weighted::None),
        FileFormat::ShortestPath => dimacs::read_paths_weighted(source),
        FileFormat::Metis => metis::read_weighted(source, progress).map_err(|error| by_name(asked, error)),
        FileFormat::Npz => npz::read_weighted(&source),
        FileFormat::Ecl => ecl::read_weighted(&source),
        FileFormat::Gap => gap::read_weighted(&source),
        FileFormat::Native => native::read_weighted(source, progress),
    }
}

/// The name as the specification of a generated graph, if it looks like one and isn't a file, and nothing is said of a file.
pub(super) fn specification<'p>(path: &'p Path, input: ReadAs<'_>) -> Option<&'p str> {
    let text = path.to_str().filter(|_| input == ReadAs::default())?;
    (generate::looks_like_one(text) && !path.exists()).then_some(text)
}

/// Reads an open file of the format `format`.
pub(super) fn load_digraph_from(
    source: Source<'_>,
    asked: Option<FileFormat>,
    format: FileFormat,
    progress: &dyn Progress,
) -> Result<Loaded> {
    match format {
        FileFormat::Edges => snap::read_digraph(source, asked.is_some(), progress),
        FileFormat::Names => named::read_digraph(source),
        FileFormat::GraphMl => graphml::read_digraph(&source),
        FileFormat::Parquet | FileFormat::Arrow => table::read_digraph(source, format),
        FileFormat::MatrixMarket => matrix_market::read_digraph(source),
        FileFormat::Dimacs => dimacs::read_graph(source),
        FileFormat::ShortestPath => dimacs::read_paths_digraph(source),
        FileFormat::Metis => metis::read_graph(source, progress).map_err(|error| by_name(asked, error)),
        FileFormat::Npz => npz::read_digraph(&source),
        FileFormat::Ecl => ecl::read_digraph(&source),
        FileFormat::Gap => gap::read_digraph(&source),
        FileFormat::Native => native::read_digraph(source, progress),
    }
}
