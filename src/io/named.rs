//! Reads edge lists with names instead of numbers: lines `FROM TO`, and perhaps values, which must be numbers.
//!
//! The first line that is no comment tells how columns are separated: by tabs if it has one, or else by commas if it has one, or else by
//! blanks. Names are any text in UTF-8 without the separator, and without blanks at their ends. Vertices are numbered by their names in
//! ascending order of bytes. A line that starts with `#` or `%` is a comment.

use crate::error::Result;
use crate::formats::Refuse;
use crate::io::FileFormat;
use crate::io::entries::Entries;
use crate::io::listed::Listed;
use crate::io::loaded::{Loaded, Numbering};
use crate::io::met::Met;
use crate::io::places::{Places, is_fraction, no_weight};
use crate::io::source::Source;
use crate::io::target::{Outline, Target};
use crate::io::text::{Cursor, Fault, Lines};
use crate::io::value::{Field, Value, is_real};
use crate::io::vertex_names::is_name;
use crate::io::weighted::Weighted;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// The lines of a file.
struct Named<V> {
    /// `None` for blanks.
    separator: Option<u8>,
    places: Places,
    met: Met,
    values: AtomicU64,
    /// Whether a weight is no integer.
    fractions: AtomicBool,
    value: PhantomData<fn() -> V>,
}

impl<V: Value> Named<V> {
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

impl<V: Value> Lines for Named<V> {
    type Entry = (u32, u32, V);

    fn line(&self, line: &mut Cursor<'_>) -> Result<Option<Self::Entry>, Fault> {
        if matches!(line.peek(), Some(b'#' | b'%')) {
            return Ok(None);
        }
        let Places { from, to, weight, chosen } = self.places;
        if chosen {
            // a separator in front has an empty column before it
            line.begin_line();
            line.blanks_before(self.separator);
        }
        let (mut ends, mut value, mut count) = ((None, None), None, 0);
        // a line without columns lacks a name
        while count < 2 && !chosen || !line.line_ends() {
            let at = line.at();
            if count == from {
                ends.0 = Some(self.vertex(line)?);
            } else if count == to {
                ends.1 = Some(self.vertex(line)?);
            } else {
                let field = self.field(line);
                if field.contains(&b'\r') {
                    return Err(Fault { at, expected: "a line feed after the carriage return".into() });
                }
                if chosen && self.separator == Some(b',') && field.starts_with(b"\"") {
                    return Err(Fault { at, expected: "a column without quotes".into() });
                }
                self.values.fetch_add(u64::from(!chosen), Relaxed);
                if weight == Some(count) {
                    self.fractions.fetch_or(is_fraction(field), Relaxed);
                    value = Some(V::parse(Field::Real, field).ok_or_else(|| no_weight(at, field))?);
                } else if !chosen && !is_real(field) {
                    return Err(Fault { at, expected: "a number or the end of the line".into() });
                }
            }
            count += 1;
            match chosen {
                true => line.blanks_before(self.separator),
                false if count > 1 => line.blanks(),
                false => {}
            }
            line.not_after_return()?;
        }
        let missing = |column: usize| Fault { at: line.at(), expected: format!("column {}, a name", column + 1) };
        let (from, to) = (ends.0.ok_or_else(|| missing(from))?, ends.1.ok_or_else(|| missing(to))?);
        Ok(Some((from, to, self.places.found(value, line)?)))
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
    let places = Places::of(&source)?;
    read(source, places.bare(), Target::GRAPH)?.0.simple()
}

/// Reads the graph with the directions of its lines.
pub(super) fn read_digraph(source: Source<'_>) -> Result<Loaded> {
    let places = Places::of(&source)?;
    read(source, places.bare(), Target::DIGRAPH)?.0.simple()
}

/// Reads the graph with the directions of its lines, and with the weights of a column if one is chosen.
pub(super) fn read_weighted(source: Source<'_>) -> Result<Weighted> {
    let places = Places::of(&source)?;
    if places.weight.is_none() {
        return read(source, places, Target::DIGRAPH)?.0.simple().map(Weighted::None);
    }
    let (listed, fractions) = read(source, places, Target::DIGRAPH)?;
    Ok(Weighted::of_text(listed.digraph(Refuse)?, fractions))
}

/// Reads the edges, and tells whether a weight is no integer.
fn read<'p, V: Value>(source: Source<'p>, places: Places, target: Target) -> Result<(Listed<'p, V>, bool)> {
    let file = source.name().to_owned();
    let (separator, met) = (separator(source.head()), Met::new());
    let lines = Named {
        separator,
        places,
        met,
        values: AtomicU64::new(0),
        fractions: AtomicBool::new(false),
        value: PhantomData,
    };
    let edges = source.parse(0, &lines).map_err(|error| lines.met.explained(&file, error))?;
    let (names, vertices) = lines.met.finish(&file)?;
    let named = |(from, to, value): (u32, u32, V)| (vertices[from as usize], vertices[to as usize], value);
    let entries: Vec<Vec<_>> = edges.into_iter().map(|list| list.into_iter().map(named).collect()).collect();
    let outline = Outline::graph(vertices.len() as u64, entries.iter().map(|list| list.len() as u64).sum(), target);
    let (entries, numbering) = (Entries::Listed(entries), Numbering::Named(names));
    let weights = lines.values.into_inner();
    let fractions = lines.fractions.into_inner();
    Ok((Listed { file, format: FileFormat::Names, outline, entries, numbering, weights, vertex_weights: 0 }, fractions))
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
