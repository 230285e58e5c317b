//! Reads, generates and writes graphs.
//!
//! [`read()`] takes a file (Matrix Market, DIMACS `.col` or SNAP edge list, each optionally gzipped) or the
//! specification of a generator, such as `rmat:20:8`. Files are memory-mapped and parsed in parallel. The resulting
//! graph is symmetric and has no self-loops or duplicates; the [`Report`] counts what was changed. [`read_matrix`]
//! reads weighted and rectangular matrices unchanged.

mod dimacs;
mod format;
mod generate;
mod loaded;
mod matrix_market;
mod progress;
mod snap;
mod source;
mod text;
mod value;
mod whole;
mod write;

pub use generate::{SPECIFICATIONS, generate};
pub use loaded::{Loaded, Numbering, Report};
pub use progress::{Progress, Unit};
pub use value::Value;
pub use whole::{WholeFile, abandon_unfinished};
pub use write::{write_matrix_market, write_to};

use crate::error::{Error, Result};
use crate::formats::{Cleaned, Csr, Directions, undirected};
use crate::memory;
use format::Format;
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
/// [`Error::Parse`] at the first place that violates the file format; [`Error::Io`]; [`Error::Spec`].
/// [`Error::TooManyVertices`] and [`Error::Memory`] are found before memory is allocated that is not available.
pub fn read(name: impl AsRef<Path>, progress: &dyn Progress) -> Result<Loaded, Error> {
    let path = name.as_ref();
    if let Some(text) = path.to_str().filter(|text| generate::looks_like_one(text) && !path.exists()) {
        return generate::or_else(text, "a file or ", progress);
    }
    let source = Source::open(path, progress)?;
    match Format::detect(&source)? {
        Format::MatrixMarket => matrix_market::read_graph(source),
        Format::Dimacs => dimacs::read_graph(source),
        Format::Snap => snap::read_graph(source, progress),
    }
}

/// Reads a Matrix Market file unchanged: weighted, directed or rectangular, with its self-loops. Symmetric and
/// skew-symmetric files are expanded. Entries of a pattern have the value 1.
///
/// # Errors
/// Those of [`read()`]. A value that `T` cannot hold is [`Error::Parse`]; two entries with the same row and column are
/// [`Error::Invalid`].
pub fn read_matrix<T: Value>(file: impl AsRef<Path>, progress: &dyn Progress) -> Result<Csr<T>, Error> {
    matrix_market::read_matrix(Source::open(file.as_ref(), progress)?)
}

/// Builds the graph of the entries of `file`, after checking that the memory suffices.
fn build(file: &str, vertices: u64, entries: Vec<Vec<(u32, u32)>>, directions: Directions) -> Result<Cleaned> {
    let count = entries.iter().map(|list| list.len() as u64).sum();
    memory::require(memory::for_building(vertices, count, directions), || file.to_owned())?;
    undirected(vertices as usize, entries, directions)
}

/// The name of a file without its folder and without the extensions of the known formats.
fn short_name(file: &str) -> String {
    let name = Path::new(file).file_name().map_or_else(|| file.into(), |n| n.to_string_lossy());
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let known = [".mtx", ".col", ".txt", ".el", ".edges"];
    let stripped = known.iter().find_map(|end| name.strip_suffix(end));
    stripped.unwrap_or(name).to_owned()
}
