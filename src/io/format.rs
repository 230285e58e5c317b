//! Which format a file is in.

use super::source::Source;
use super::text::{Cursor, Fault};
use crate::error::Result;

/// A format of graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    MatrixMarket,
    Dimacs,
    Snap,
}

impl Format {
    /// The format by the file's first line, then by its extension; SNAP edge lists have neither.
    pub fn detect(source: &Source<'_>) -> Result<Self> {
        let text = source.head();
        let mut cursor = Cursor::new(text, 0);
        if !cursor.next_line() {
            return Err(source.error(&Fault {
                at: text.len(),
                expected: "a graph: Matrix Market, DIMACS .col or an edge list".into(),
            }));
        }
        let name = source.name();
        let name = name.strip_suffix(".gz").unwrap_or(name);
        let first = cursor.word();
        if first.starts_with(b"%%") || (first != b"p" && name.ends_with(".mtx")) {
            Ok(Self::MatrixMarket)
        } else if matches!(first, b"c" | b"p" | b"e") || name.ends_with(".col") {
            Ok(Self::Dimacs)
        } else {
            Ok(Self::Snap)
        }
    }
}
