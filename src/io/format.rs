//! Detects the format of a file.

use crate::error::Result;
use crate::io::source::Source;
use crate::io::text::{Cursor, Fault};

/// A file format for graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    MatrixMarket,
    Dimacs,
    Snap,
}

impl Format {
    /// Detects the format from the first line of the file, then from its extension. SNAP edge lists have neither mark,
    /// so they are the fallback.
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
