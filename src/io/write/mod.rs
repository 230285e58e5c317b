//! Writes graphs and matrices as files of other programs' formats.

mod npz;
#[cfg(feature = "parquet")]
mod table;
mod text;

pub use text::{write_matrix_market, write_to};

use crate::error::{Error, Result, printable};
use crate::formats::Csr;
use crate::io::FileFormat;
use crate::io::loaded::Numbering;
use crate::io::native::write_native_checked;
use crate::io::value::Value;
use crate::io::vertex_names::shortened;
use crate::io::whole::WholeFile;
use core::fmt;
use rayon::prelude::*;
use std::path::Path;
use vxm_semiring::dynamic::Kind;

/// What a file that was written doesn't say of a matrix, and whether that is symmetric. Displays as a line about what was dropped, which is
/// empty if nothing was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Written {
    /// Whether the matrix equals its transpose.
    pub symmetric: bool,
    /// The number of vertices without entries that an edge list can't tell.
    pub isolated: u64,
    /// The number that the first vertex has in the file, if vertices had other numbers.
    pub renumbered: Option<u64>,
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut notes = Vec::new();
        match self.isolated {
            0 => {}
            1 => notes.push("dropped 1 vertex without edges".to_owned()),
            many => notes.push(format!("dropped {many} vertices without edges")),
        }
        if let Some(first) = self.renumbered {
            notes.push(format!("renumbered: vertices are numbered from {first}"));
        }
        f.write_str(&notes.join("; "))
    }
}

impl FileFormat {
    /// The formats that [`write_as`] writes.
    pub const WRITTEN: [Self; 7] =
        [Self::Native, Self::MatrixMarket, Self::Edges, Self::Metis, Self::Parquet, Self::Arrow, Self::Npz];

    /// The format of a file to write, by its name: `.vxm`, `.mtx`, `.txt`, `.el`, `.wel`, `.edges`, `.graph`, `.metis`, `.parquet`,
    /// `.arrow`, `.feather` or `.npz`; text formats perhaps with `.gz` behind.
    ///
    /// ```
    /// use vxm::io::FileFormat;
    /// assert_eq!(FileFormat::of_name("net.mtx.gz"), Some(FileFormat::MatrixMarket));
    /// assert_eq!(FileFormat::of_name("net.vxm"), Some(FileFormat::Native));
    /// assert_eq!(FileFormat::of_name("net.png"), None);
    /// ```
    pub fn of_name(path: impl AsRef<Path>) -> Option<Self> {
        let name = path.as_ref().as_os_str().to_string_lossy().into_owned();
        let (name, zipped) = name.strip_suffix(".gz").map_or((&*name, false), |name| (name, true));
        let found = match Path::new(name).extension()?.to_str()? {
            "vxm" => Self::Native,
            "mtx" => Self::MatrixMarket,
            "txt" | "el" | "wel" | "edges" => Self::Edges,
            "graph" | "metis" => Self::Metis,
            "parquet" => Self::Parquet,
            "arrow" | "feather" => Self::Arrow,
            "npz" => Self::Npz,
            _ => return None,
        };
        (!zipped || !found.is_binary()).then_some(found)
    }
}

/// Writes a matrix as a file of one of the formats [`FileFormat::WRITTEN`]. Returns what the file doesn't say of it, and whether it is symmetric.
///
/// - [`Native`](FileFormat::Native): everything; see [`write_native`](crate::io::write_native).
/// - [`MatrixMarket`](FileFormat::MatrixMarket): `symmetric` where the matrix is, so each edge once; otherwise `general`. Vertices are
///   numbered from 1. A struct of two floats of one type is a complex number; others are refused.
/// - [`Edges`](FileFormat::Edges): a line for each entry with its value, or for each edge of a symmetric pattern. Vertices
///   have their numbers; those without entries are lost. Fields of a struct are columns.
/// - [`Metis`](FileFormat::Metis): an undirected graph without self-loops, with no weights or with integers from 0 on. Vertices are numbered
///   from 1.
/// - [`Parquet`](FileFormat::Parquet) and [`Arrow`](FileFormat::Arrow), with the feature `parquet`: a row for each entry, with columns
///   `source` and `target`, and `weight` if there are values, or a column for each field of a struct. Vertices have their numbers or names; those
///   without entries are lost.
/// - [`Npz`](FileFormat::Npz): CSR as SciPy's `save_npz` writes it, not compressed. A pattern has `True` everywhere. A struct of
///   two `f32` or `f64` is a complex number; others are refused.
///
/// Text is gzipped if the name ends in `.gz`. The file appears only when it is complete; see [`WholeFile`].
///
/// ```
/// use vxm::io::{FileFormat, Numbering, WholeFile, generate, read, write_as};
/// let folder = tempfile::tempdir()?;
/// let grid = generate("grid:3x4", &())?.graph;
/// let path = folder.path().join("grid.graph");
/// let written = write_as(WholeFile::prepare(&path)?, FileFormat::Metis, &grid, &Numbering::From(0))?;
/// assert_eq!(written.to_string(), "renumbered: vertices are numbered from 1");
/// assert_eq!(read(&path, &())?.graph, grid);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Io`]. [`Error::Invalid`]: a format that isn't written; a matrix that the format can't hold, such as a directed graph in METIS'
/// format.
pub fn write_as<T: Value>(
    whole: WholeFile,
    format: FileFormat,
    matrix: &Csr<T>,
    numbering: &Numbering,
) -> Result<Written> {
    let name = printable(whole.path().as_os_str().as_encoded_bytes());
    let from = |first: u64, symmetric: bool| Written {
        symmetric,
        renumbered: (matrix.nrows() > 0 && *numbering != Numbering::From(first)).then_some(first),
        isolated: 0,
    };
    match format {
        FileFormat::Native => {
            let symmetric = write_native_checked(whole, matrix, numbering)?;
            Ok(Written { symmetric, ..Written::default() })
        }
        FileFormat::MatrixMarket => {
            if T::FIELDS.len() > 1 && T::COMPLEX.is_none() {
                return Err(unheld::<T>(
                    &name,
                    "numbers, or structs of two floats (complex numbers), for Matrix Market's",
                ));
            }
            let symmetric = matrix.is_symmetric();
            text::write_market(whole, matrix, symmetric).map(|()| from(1, symmetric))
        }
        FileFormat::Edges => {
            square(&name, matrix, "an edge list")?;
            check_names(&name, numbering)?;
            let symmetric = matrix.is_symmetric();
            text::write_edges(whole, matrix, numbering, symmetric)?;
            Ok(Written { symmetric, isolated: isolated(matrix), renumbered: None })
        }
        FileFormat::Metis => {
            square(&name, matrix, "METIS' format")?;
            check_metis(&name, matrix)?;
            text::write_metis(whole, matrix).map(|()| from(1, true))
        }
        #[cfg(feature = "parquet")]
        FileFormat::Parquet | FileFormat::Arrow => {
            square(&name, matrix, "a table of edges")?;
            if T::NUMBER.is_none() && T::FIELDS.iter().any(|field| ["source", "target"].contains(&field.name)) {
                return Err(unheld::<T>(&name, "fields with other names than `source` and `target` for a table's"));
            }
            let symmetric = matrix.is_symmetric();
            table::write(whole, format, matrix, numbering)?;
            Ok(Written { symmetric, isolated: isolated(matrix), renumbered: None })
        }
        #[cfg(not(feature = "parquet"))]
        FileFormat::Parquet | FileFormat::Arrow => Err(Error::invalid(format!(
            "{name}: expected another format, or the feature `parquet` of vxm, found {format}"
        ))),
        FileFormat::Npz if npz::descr::<T>().is_none() => Err(unheld::<T>(
            &name,
            "a type that NumPy has, or a struct of two `f32` or `f64` (complex numbers), for SciPy's",
        )),
        FileFormat::Npz => npz::write(whole, matrix).map(|()| from(0, matrix.is_symmetric())),
        other => {
            let written = FileFormat::WRITTEN.map(FileFormat::name).join(", ");
            Err(Error::invalid(format!("{name}: expected a format that is written: {written}, found {other}")))
        }
    }
}

/// The error for a type of values that a format can't hold.
fn unheld<T: Value>(name: &str, expected: &str) -> Error {
    Error::invalid(format!("{name}: expected {expected} format, found {}", T::described()))
}

/// The number of vertices without entries.
fn isolated<T: Value>(matrix: &Csr<T>) -> u64 {
    let mut met = vec![false; matrix.nrows()];
    for row in 0..matrix.nrows() {
        met[row] |= matrix.degree(row) > 0;
        matrix.row(row).0.iter().for_each(|&column| met[column as usize] = true);
    }
    met.into_iter().filter(|met| !met).count() as u64
}

fn square<T: Value>(name: &str, matrix: &Csr<T>, format: &str) -> Result<()> {
    let (rows, columns) = (matrix.nrows(), matrix.ncols());
    if rows == columns {
        return Ok(());
    }
    Err(Error::invalid(format!("{name}: expected a square matrix for {format}, found {rows} x {columns}")))
}

/// Checks that the names of vertices are read again from an edge list as they are.
fn check_names(file: &str, numbering: &Numbering) -> Result<()> {
    let Numbering::Named(names) = numbering else { return Ok(()) };
    let is_kept = |name: &str| !name.starts_with(['#', '%', '"']) && name.trim_ascii() == name;
    match (0..names.len() as u32).map(|vertex| names.name(vertex)).find(|name| !is_kept(name)) {
        None => Ok(()),
        Some(name) => {
            let (name, expected) =
                (shortened(name), "names without blanks around them and without #, % or \" in front");
            Err(Error::invalid(format!("{file}: expected {expected} for an edge list, found `{name}`")))
        }
    }
}

/// Checks that METIS' format can hold a graph.
fn check_metis<T: Value>(name: &str, matrix: &Csr<T>) -> Result<()> {
    let refuse = |found: &str| {
        let expected = "an undirected graph without self-loops for METIS' format";
        Err(Error::invalid(format!("{name}: expected {expected}, found {found}")))
    };
    match matrix.symmetry() {
        None => return refuse("a directed one"),
        Some(true) => return refuse("a self-loop"),
        Some(false) => {}
    }
    if T::FIELDS.len() > 1 || T::NUMBER.is_some_and(Kind::is_float) {
        return Err(unheld::<T>(name, "integer weights for METIS'"));
    }
    let negative = matrix.values().par_iter().find_first(|&&value| value.least(T::ZERO) != T::ZERO);
    negative.map_or(Ok(()), |value| {
        Err(Error::invalid(format!("{name}: expected weights from 0 on for METIS' format, found {value:?}")))
    })
}
