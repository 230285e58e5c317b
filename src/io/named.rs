//! Reads edge lists with names instead of numbers: lines `FROM TO`, and perhaps values, which must be numbers.
//!
//! The first line that is no comment tells how columns are separated: by tabs if it has one, or else by commas if it has one, or else by
//! blanks. Names are any text in UTF-8 without the separator, and without blanks at their ends. Vertices are numbered by their names in
//! ascending order of bytes. A line that starts with `#` or `%` is a comment.

use crate::error::Result;
use crate::io::FileFormat;
use crate::io::entries::Entries;
use crate::io::listed::Listed;
use crate::io::loaded::{Loaded, Numbering};
use crate::io::met::Met;
use crate::io::source::Source;
use crate::io::target::{Outline, Target};
use crate::io::text::{Cursor, Fault, Lines};
use crate::io::value::is_real;
use crate::io::vertex_names::is_name;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The lines of a file.
struct Named {
    /// `None` for blanks.
    separator: Option<u8>,
    met: Met,
    values: AtomicU64,
}

impl Named {
    fn field<'t>(&self, line: &mut Cursor<'t>) -> &'t [u8] {
        match self.separator {
            Some(separator) => line.field(separator),
            None => line.word(),
        }
    }

    fn vertex(&self, line: &mut Cursor<'_>) -> Result<u32, Fault> {
        line.blanks_before(self.separator);
        let at = line.at();
        let name = self.field(line);
        let fault = |expected: String| Fault { at, expected };
        let text = core::str::from_utf8(name).map_err(|_| fault("a name in UTF-8".to_owned()))?;
        if !is_name(text) {
            let what = if name.is_empty() { "a name" } else { "a name without control characters" };
            return Err(fault(what.to_owned()));
        }
        if self.separator == Some(b',') && text.starts_with('"') {
            return Err(fault("a name without quotes".to_owned()));
        }
        self.met.number(text).map_err(fault)
    }
}

impl Lines for Named {
    type Entry = (u32, u32);

    fn line(&self, line: &mut Cursor<'_>) -> Result<Option<(u32, u32)>, Fault> {
        if matches!(line.peek(), Some(b'#' | b'%')) {
            return Ok(None);
        }
        let edge = (self.vertex(line)?, self.vertex(line)?);
        line.blanks();
        while !line.line_ends() {
            let at = line.at();
            if !is_real(self.field(line)) {
                return Err(Fault { at, expected: "a number or the end of the line".into() });
            }
            self.values.fetch_add(1, Relaxed);
            line.blanks();
        }
        Ok(Some(edge))
    }
}

/// What separates the columns, by the first line that is no comment.
fn separator(text: &[u8]) -> Option<u8> {
    let is_data = |line: &&[u8]| {
        let line = line.trim_ascii();
        !line.is_empty() && !matches!(line[0], b'#' | b'%')
    };
    let first = text.split(|&byte| byte == b'\n').find(is_data)?.trim_ascii();
    [b'\t', b','].into_iter().find(|separator| first.contains(separator))
}

/// Reads the graph, made symmetric.
pub(super) fn read_graph(source: Source<'_>) -> Result<Loaded> {
    read(source, Target::GRAPH)
}

/// Reads the graph with the directions of its lines.
pub(super) fn read_digraph(source: Source<'_>) -> Result<Loaded> {
    read(source, Target::DIGRAPH)
}

fn read(source: Source<'_>, target: Target) -> Result<Loaded> {
    let file = source.name().to_owned();
    let lines = Named { separator: separator(source.head()), met: Met::new(), values: AtomicU64::new(0) };
    let edges = source.parse(0, &lines).map_err(|error| lines.met.explained(&file, error))?;
    let (names, vertices) = lines.met.finish(&file)?;
    let named = |(from, to): (u32, u32)| (vertices[from as usize], vertices[to as usize], ());
    let entries: Vec<Vec<_>> = edges.into_iter().map(|list| list.into_iter().map(named).collect()).collect();
    let outline = Outline::graph(vertices.len() as u64, entries.iter().map(|list| list.len() as u64).sum(), target);
    let (entries, numbering) = (Entries::Listed(entries), Numbering::Named(names));
    let weights = lines.values.into_inner();
    Listed { file, format: FileFormat::Names, outline, entries, numbering, weights, vertex_weights: 0 }.simple()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_tells_the_separator() {
        for (text, expected) in [
            ("a b\n", None),
            ("# x,y\n\n a,b\tc\n", Some(b'\t')),
            ("a, b c\n", Some(b',')),
            ("", None),
            ("%\t\n", None),
        ] {
            assert_eq!(separator(text.as_bytes()), expected, "{text:?}");
        }
    }
}
