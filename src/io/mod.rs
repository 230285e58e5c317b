//! Reads, generates and writes graphs.
//!
//! [`read()`] takes a file of any [`FileFormat`], or the specification of a generator, such as `rmat:20:8`. Text may be
//! compressed by gzip or zstd. Files are memory-mapped and parsed in parallel. The resulting graph is symmetric and has no self-loops or
//! duplicates; the [`Report`] counts what was changed and ignored. [`read_digraph`] keeps directions, [`read_weighted`] weights too.
//! [`read_matrix`] reads weighted and rectangular matrices unchanged. A file of unclear format is refused; [`read_as`],
//! [`read_digraph_as`], [`read_weighted_as`] and [`read_matrix_as`] take the format.

mod binary;
mod compressed;
mod dimacs;
mod ecl;
mod entries;
mod format;
mod gap;
#[cfg_attr(not(feature = "generators"), path = "no_generators.rs")]
mod generate;
#[cfg_attr(not(feature = "graphml"), path = "no_graphml.rs")]
mod graphml;
mod listed;
mod loaded;
mod magic;
mod matrix_market;
mod met;
mod metis;
mod named;
mod names;
mod native;
mod npz;
mod on_disk;
mod places;
mod portions;
mod progress;
mod read_as;
mod snap;
mod source;
#[cfg_attr(not(feature = "parquet"), path = "no_tables.rs")]
mod table;
mod target;
mod temporary;
mod text;
mod value;
mod vertex_names;
mod weighted;
mod whole;
mod write;

pub use format::FileFormat;
#[cfg(feature = "generators")]
pub use generate::{SPECIFICATIONS, generate};
pub(crate) use listed::{implied, repeats};
pub use loaded::{Loaded, Numbering, Report};
pub(crate) use metis::one_sided;
pub use native::{NativeFile, Verify, write_native, write_native_graph};
pub(crate) use portions::{About, Kind, Portions, Repeated, Way, WeightedWay, open, open_weighted};
pub use progress::{Progress, Unit};
pub use read_as::{Columns, ReadAs};
#[doc(hidden)]
pub use table::decodes;
pub(crate) use target::Mirror;
pub use value::Value;
pub use vertex_names::{Label, VertexNames};
pub use weighted::{Weighted, read_digraph, read_digraph_as, read_weighted, read_weighted_as};
pub use whole::WholeFile;
#[doc(hidden)]
pub use whole::abandon_unfinished;
pub use write::{Written, write_as, write_matrix_market, write_to};

use crate::error::{Error, Result};
use crate::formats::{Cleaned, Csr, Directions, undirected};
use crate::memory;
use source::Source;
use std::path::Path;

/// Reads the file `name`. If there is no such file and `name` looks like a specification, generates that graph.
///
/// ```
/// let grid = vxm::io::read("grid:3x4", &())?;
/// assert_eq!((grid.graph.nrows(), grid.graph.nnz() / 2), (12, 17));
/// let typo = vxm::io::read("gird:3x4", &()).unwrap_err();
/// assert!(typo.to_string().starts_with("gird:3x4: expected a file or one of grid:"));
/// let bare = vxm::io::read("grid", &()).unwrap_err();
/// assert_eq!(bare.to_string(), "grid: expected ROWSxCOLUMNS, found nothing");
/// # Ok::<(), vxm::error::Error>(())
/// ```
///
/// # Errors
/// [`Error::Parse`] at the first place that violates the file format, or where the format is unclear; [`Error::Invalid`]
/// with the byte in a binary file; [`Error::Io`]; [`Error::Spec`]. [`Error::TooManyVertices`] and [`Error::Memory`] are
/// found before memory is allocated that is not available.
pub fn read(name: impl AsRef<Path>, progress: &dyn Progress) -> Result<Loaded, Error> {
    read_as(name, ReadAs::default(), progress)
}

/// Reads the file `file` as one of this format, or with these columns.
///
/// ```
/// use vxm::io::{FileFormat, read, read_as};
/// let folder = tempfile::tempdir()?;
/// // a cycle of four vertices in METIS' format; its lines look like edges
/// let path = folder.path().join("cycle.txt");
/// std::fs::write(&path, "4 4\n2 4\n1 3\n2 4\n1 3\n")?;
/// assert!(read(&path, &()).unwrap_err().to_string().contains("expected --input edges"));
/// assert_eq!(read_as(&path, FileFormat::Metis, &())?.graph.nnz() / 2, 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of [`read()`].
pub fn read_as<'c>(file: impl AsRef<Path>, input: impl Into<ReadAs<'c>>, progress: &dyn Progress) -> Result<Loaded> {
    let (path, input) = (file.as_ref(), input.into());
    if let Some(text) = weighted::specification(path, input) {
        return generate::or_else(text, "a file or ", progress);
    }
    let (source, format) = opened(path, input, progress)?;
    load_from(source, input.format, format, progress)
}

/// Opens a file, and tells its format: the one that is asked for, or else the one that is detected.
fn opened<'p>(path: &Path, input: ReadAs<'_>, progress: &'p dyn Progress) -> Result<(Source<'p>, FileFormat)> {
    if input.columns.is_some() && weighted::specification(path, ReadAs::default()).is_some() {
        let name = path.display();
        return Err(Error::invalid(format!(
            "{name}: expected a file, an edge list or a table, of which columns are asked for"
        )));
    }
    let mut source = Source::open(path, input.format, progress)?;
    let format = input.format.map_or_else(|| FileFormat::detect(&source), Ok)?;
    let has_columns = matches!(format, FileFormat::Edges | FileFormat::Names | FileFormat::Parquet | FileFormat::Arrow);
    if input.columns.is_some() && !has_columns {
        let file = source.name();
        return Err(Error::invalid(format!(
            "{file}: expected an edge list or a table (edges, names, parquet, arrow), of which columns are asked for, found {format}"
        )));
    }
    source.columns = input.columns.cloned();
    Ok((source, format))
}

/// Reads an open file of the format `format`.
fn load_from(
    source: Source<'_>,
    asked: Option<FileFormat>,
    format: FileFormat,
    progress: &dyn Progress,
) -> Result<Loaded> {
    match format {
        FileFormat::Edges => snap::read_graph(source, asked.is_some(), progress),
        FileFormat::Names => named::read_graph(source),
        FileFormat::GraphMl => graphml::read_graph(&source),
        FileFormat::Parquet | FileFormat::Arrow => table::read_graph(source, format),
        FileFormat::MatrixMarket => matrix_market::read_graph(source),
        FileFormat::Dimacs => dimacs::read_graph(source),
        FileFormat::ShortestPath => dimacs::read_paths_graph(source),
        FileFormat::Metis => metis::read_graph(source, progress).map_err(|error| by_name(asked, error)),
        FileFormat::Npz => npz::read_graph(&source),
        FileFormat::Ecl => ecl::read_graph(&source),
        FileFormat::Gap => gap::read_graph(&source),
        FileFormat::Native => native::read_graph(source, progress),
    }
}

/// Adds to a syntax error of a METIS file that its name alone made it one.
fn by_name(asked: Option<FileFormat>, error: Error) -> Error {
    match error {
        Error::Parse { file, line, column, expected, found } if asked.is_none() => {
            let found = format!("{found} (read as METIS by its name; --input edges reads an edge list)");
            Error::Parse { file, line, column, expected, found }
        }
        error => error,
    }
}

/// Reads a matrix unchanged: weighted, directed or rectangular, with its self-loops. Symmetric and skew-symmetric files
/// are expanded. Entries without a value have the value 1. Native files hold structs, those of Matrix Market and SciPy complex numbers; see
/// [`Value`].
///
/// Edge lists and DIMACS colouring instances are refused: an edge list does not number rows and columns, and colouring
/// instances repeat edges. Of parallel arcs of a shortest path instance, the least is kept.
///
/// # Errors
/// Those of [`read()`]. A value that `T` cannot hold is [`Error::Parse`] or, in a binary file, [`Error::Invalid`]. So are
/// two entries with the same row and column.
pub fn read_matrix<T: Value>(file: impl AsRef<Path>, progress: &dyn Progress) -> Result<Csr<T>, Error> {
    read_matrix_as(file, ReadAs::default(), progress)
}

/// Reads a matrix as one of this format; see [`read_matrix`].
///
/// # Errors
/// Those of [`read_matrix`].
pub fn read_matrix_as<'c, T: Value>(
    file: impl AsRef<Path>,
    input: impl Into<ReadAs<'c>>,
    progress: &dyn Progress,
) -> Result<Csr<T>, Error> {
    let input = input.into();
    let (source, format) = opened(file.as_ref(), input, progress)?;
    match format {
        FileFormat::Edges
        | FileFormat::Names
        | FileFormat::Dimacs
        | FileFormat::GraphMl
        | FileFormat::Parquet
        | FileFormat::Arrow => {
            let file = source.name();
            let expected = "expected a matrix: matrix-market, gr, metis, npz, egr, sg or vxm";
            Err(Error::invalid(format!("{file}: {expected}, found {format}")))
        }
        _ if !holds::<T>(format) => {
            let file = source.name();
            let also = if T::COMPLEX.is_some() { "matrix-market, npz or " } else { "" };
            let of = T::described();
            Err(Error::invalid(format!("{file}: expected {also}vxm for values of type {of}, found {format}")))
        }
        FileFormat::MatrixMarket => matrix_market::read_matrix(source),
        FileFormat::ShortestPath => dimacs::read_paths_matrix(source),
        FileFormat::Metis => metis::read_matrix(source).map_err(|error| by_name(input.format, error)),
        FileFormat::Npz => npz::read_matrix(&source),
        FileFormat::Ecl => ecl::read_matrix(&source),
        FileFormat::Gap => gap::read_matrix(&source),
        FileFormat::Native => native::read_matrix(source, progress),
    }
}

/// Whether files of a format can hold values of type `T`.
fn holds<T: Value>(format: FileFormat) -> bool {
    match format {
        FileFormat::Native => true,
        FileFormat::MatrixMarket | FileFormat::Npz => T::FIELDS.len() < 2 || T::COMPLEX.is_some(),
        _ => T::FIELDS.len() < 2,
    }
}

/// Builds the graph of the entries of `file`, after checking that the memory suffices.
fn build(file: &str, vertices: u64, entries: Vec<Vec<(u32, u32)>>, directions: Directions) -> Result<Cleaned> {
    let count = entries.iter().map(|list| list.len() as u64).sum();
    memory::require(memory::for_building(vertices, count, directions), || file.to_owned())?;
    undirected(vertices as usize, entries, directions)
}

/// The name of a file without its folder and without the extensions of the known formats.
///
/// ```
/// assert_eq!(vxm::io::short_name("graphs/links.mtx.gz"), "links");
/// ```
pub fn short_name(file: &str) -> String {
    let name = Path::new(file).file_name().map_or_else(|| file.into(), |n| n.to_string_lossy());
    let name = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    let known = [
        ".mtx", ".col", ".gr", ".graph", ".metis", ".txt", ".el", ".edges", ".graphml", ".parquet", ".arrow",
        ".feather", ".npz", ".egr", ".sg", ".wsg", ".vxm",
    ];
    let stripped = known.iter().find_map(|end| name.strip_suffix(end));
    stripped.unwrap_or(name).to_owned()
}
