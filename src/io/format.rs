//! The formats of files, and how a file's is found.

use crate::error::{Error, Result};
use crate::io::source::Source;
use crate::io::text::{Cursor, Fault};
use crate::io::{dimacs, magic, native};
use core::fmt;
use core::str::FromStr;
use std::path::Path;

/// A file format for graphs. `docs/formats.md` says how each is recognised.
///
/// ```
/// use vxm::io::FileFormat;
/// assert_eq!("metis".parse::<FileFormat>()?, FileFormat::Metis);
/// assert_eq!(FileFormat::Metis.to_string(), "metis");
/// let unknown = "csv".parse::<FileFormat>().unwrap_err().to_string();
/// assert!(unknown.starts_with("unknown input format `csv`: expected edges, names, matrix-market, "));
/// # Ok::<(), vxm::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileFormat {
    /// A list of edges: a line has two vertex numbers, and perhaps values. SNAP's files, KONECT's, GAP's `.el`.
    Edges,
    /// A list of edges with names instead of numbers. It is read if it is asked for.
    Names,
    /// Matrix Market's coordinate format.
    MatrixMarket,
    /// A DIMACS colouring instance, `.col`.
    Dimacs,
    /// A DIMACS shortest path instance, `.gr`.
    ShortestPath,
    /// A METIS or Chaco graph: a header, then a line with the neighbours of each vertex.
    Metis,
    /// A graph in XML, `.graphml`, with the feature `graphml`. Vertices have names.
    GraphMl,
    /// A table of edges in columns, `.parquet`, with the feature `parquet`.
    Parquet,
    /// A table of edges in columns, `.arrow` or `.feather`, with the feature `parquet`.
    Arrow,
    /// A SciPy sparse matrix as `scipy.sparse.save_npz` writes it.
    Npz,
    /// An ECL graph, `.egr`: compressed rows in binary.
    Ecl,
    /// A GAP serialized graph, `.sg` or `.wsg`: compressed rows in binary.
    Gap,
    /// The native file, `.vxm`: compressed rows in binary, with checksums.
    Native,
}

impl FileFormat {
    /// All formats.
    pub const ALL: [Self; 13] = [
        Self::Edges,
        Self::Names,
        Self::MatrixMarket,
        Self::Dimacs,
        Self::ShortestPath,
        Self::Metis,
        Self::GraphMl,
        Self::Parquet,
        Self::Arrow,
        Self::Npz,
        Self::Ecl,
        Self::Gap,
        Self::Native,
    ];

    /// The format of the file at `path`, as its content and its name tell it.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Parse`] if the file is no graph.
    pub fn of_file(path: impl AsRef<Path>) -> Result<Self> {
        Self::detect(&Source::open(path.as_ref(), None, &())?)
    }

    /// The name of the format, as the command's `--input` takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Edges => "edges",
            Self::Names => "names",
            Self::MatrixMarket => "matrix-market",
            Self::Dimacs => "dimacs",
            Self::ShortestPath => "gr",
            Self::Metis => "metis",
            Self::GraphMl => "graphml",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
            Self::Npz => "npz",
            Self::Ecl => "egr",
            Self::Gap => "sg",
            Self::Native => "vxm",
        }
    }

    /// Whether files of the format are binary, and must be mapped as they are.
    pub(super) const fn is_binary(self) -> bool {
        matches!(self, Self::Parquet | Self::Arrow | Self::Npz | Self::Ecl | Self::Gap | Self::Native)
    }

    /// The binary format that a file's name alone tells. Such files have no mark in their content, or must have it.
    pub(super) fn by_name_alone(name: &str) -> Option<Self> {
        let ends = |end: &str| name.ends_with(end);
        match () {
            () if ends(".egr") => Some(Self::Ecl),
            () if ends(".sg") || ends(".wsg") => Some(Self::Gap),
            () if ends(".vxm") => Some(Self::Native),
            () => None,
        }
    }

    /// Detects the format: by the name of binary files that have no mark, by a mark at the start of the content, by the
    /// name. What has no mark is an edge list; its reader refuses what may be something else.
    pub(super) fn detect(source: &Source<'_>) -> Result<Self> {
        let name = source.name();
        // a stream of one of these is refused by its reader
        let bytes = source.raw().unwrap_or(source.head());
        if bytes.starts_with(&native::MAGIC) {
            return Ok(Self::Native);
        }
        if let Some(format) = Self::by_name_alone(name) {
            return Ok(format);
        }
        let name = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        if source.raw().is_some_and(magic::is_npz) {
            return Ok(Self::Npz);
        }
        if bytes.starts_with(magic::PARQUET) {
            return Ok(Self::Parquet);
        }
        if bytes.starts_with(magic::ARROW) {
            return Ok(Self::Arrow);
        }
        let text = source.head();
        let refuse = |at, found| Err(source.refused(at, expected(), found));
        if let Some(found) = magic::binary(text) {
            return refuse(0, found);
        }
        let mut cursor = Cursor::new(text, 0);
        if !cursor.next_line() {
            return Err(source.error(&Fault { at: text.len(), expected: expected() }));
        }
        let at = cursor.at();
        let first = cursor.word();
        if magic::is_graphml(text) {
            return Ok(Self::GraphMl);
        }
        if let Some(found) = magic::foreign_text(first) {
            return refuse(at, found);
        }
        let is_metis = name.ends_with(".graph") || name.ends_with(".metis");
        Ok(match first {
            _ if has_banner(first) => Self::MatrixMarket,
            b"p" | b"c" | b"e" | b"a" => dimacs::detect(text, name),
            _ if name.ends_with(".npz") => Self::Npz,
            _ if name.ends_with(".mtx") => Self::MatrixMarket,
            _ if name.ends_with(".col") || name.ends_with(".gr") => dimacs::detect(text, name),
            [b'#', ..] => Self::Edges,
            _ if is_metis => Self::Metis,
            [b'%', b'%', ..] => Self::MatrixMarket,
            _ => Self::Edges,
        })
    }
}

/// What a file may be, for messages.
fn expected() -> String {
    "a graph: Matrix Market, DIMACS, METIS, GraphML, an edge list, Parquet, Arrow, SciPy's .npz, .egr, .sg or .vxm"
        .to_owned()
}

/// Whether the first word is that of Matrix Market's banner.
fn has_banner(first: &[u8]) -> bool {
    first.eq_ignore_ascii_case(b"%%MatrixMarket")
}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for FileFormat {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| Error::unknown("input format", name, &Self::ALL.map(Self::name)))
    }
}
