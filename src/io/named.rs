//! Reads edge lists with names instead of numbers: lines `FROM TO`, and perhaps values, which must be numbers.
//!
//! The first line that is no comment tells how columns are separated: by tabs if it has one, or else by commas if it has one, or else by
//! blanks. Names are any text in UTF-8 without the separator, and without blanks at their ends. Vertices are numbered by their names in
//! ascending order of bytes. A line that starts with `#` or `%` is a comment.

use crate::error::{Error, Result};
use crate::formats::{Csr, Directions, First, MAX_VERTICES};
use crate::io::listed::directed;
use crate::io::loaded::{Loaded, Numbering, Report};
use crate::io::source::Source;
use crate::io::target::{Mirror, Outline, Target};
use crate::io::text::{Cursor, Fault, Lines};
use crate::io::value::is_real;
use crate::io::vertex_names::{VertexNames, is_name};
use crate::io::{FileFormat, build, short_name};
use crate::memory;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

/// Tables of names: threads seldom wait for one.
const TABLES: usize = 64;
/// Names between two looks at the memory, and bytes that must be free then.
const LOOK: u64 = 1 << 16;
const FREE: u64 = 64 << 20;

/// The names that were met, numbered as they come.
struct Met {
    tables: Vec<Mutex<HashMap<Box<str>, u32>>>,
    hasher: RandomState,
    count: AtomicU64,
    /// Whether names stopped because memory ran short.
    short: AtomicBool,
}

impl Met {
    fn new() -> Self {
        let tables = (0..TABLES).map(|_| Mutex::default()).collect();
        Self { tables, hasher: RandomState::new(), count: AtomicU64::new(0), short: AtomicBool::new(false) }
    }

    /// The number of a name; the error is what was expected instead of one more.
    fn number(&self, name: &str) -> Result<u32, String> {
        let table = &self.tables[self.hasher.hash_one(name) as usize % TABLES];
        let mut table = table.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&number) = table.get(name) {
            return Ok(number);
        }
        let number = self.count.fetch_add(1, Relaxed);
        if number >= MAX_VERTICES as u64 {
            return Err(format!("at most {MAX_VERTICES} names"));
        }
        if number % LOOK == LOOK - 1 && memory::available() < FREE {
            self.short.store(true, Relaxed);
            return Err(String::new());
        }
        table.insert(name.into(), number as u32);
        Ok(number as u32)
    }

    /// The names in ascending order, and the vertex that each number stands for.
    fn finish(self) -> (Option<VertexNames>, Vec<u32>) {
        let tables = self.tables.into_iter().map(|table| table.into_inner().unwrap_or_else(PoisonError::into_inner));
        let mut names: Vec<(Box<str>, u32)> = tables.flatten().collect();
        names.sort_unstable();
        let mut vertices = vec![0; names.len()];
        names.iter().zip(0..).for_each(|((_, number), vertex)| vertices[*number as usize] = vertex);
        (VertexNames::of(names.iter().map(|(name, _)| &**name)), vertices)
    }
}

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
    read(source, |file, vertices, edges| {
        let cleaned = build(file, vertices, edges, Directions::Matter)?;
        Ok((Report::from(&cleaned), cleaned.graph))
    })
}

/// Reads the graph with the directions of its lines.
pub(super) fn read_digraph(source: Source<'_>) -> Result<Loaded> {
    read(source, |file, vertices, edges| {
        let triples = edges.into_iter().map(|list| list.into_iter().map(|(from, to)| (from, to, ())).collect());
        let outline = Outline::graph(vertices, 0, Target::Digraph(Mirror::None));
        let (graph, report) = directed(file, (outline, 0), &triples.collect(), First)?;
        Ok((report, graph))
    })
}

fn read(
    source: Source<'_>,
    build: impl Fn(&str, u64, Vec<Vec<(u32, u32)>>) -> Result<(Report, Csr)>,
) -> Result<Loaded> {
    let file = source.name().to_owned();
    let lines = Named { separator: separator(source.head()), met: Met::new(), values: AtomicU64::new(0) };
    let edges = source.parse(0, &lines).map_err(|error| match lines.met.short.load(Relaxed) {
        // what is free now must hold the names that are met until the next look, and the graph
        true => Error::Memory {
            place: format!("{file}: more than {} names", lines.met.count.load(Relaxed)),
            needed: 2 * u128::from(FREE),
            available: memory::available(),
        },
        false => error,
    })?;
    let (names, vertices) = lines.met.finish();
    let names = names.ok_or_else(|| Error::invalid(format!("{file}: expected names that differ")))?;
    let named = |(from, to): (u32, u32)| (vertices[from as usize], vertices[to as usize]);
    let edges = edges.into_iter().map(|list| list.into_iter().map(named).collect()).collect();
    let (report, graph) = build(&file, vertices.len() as u64, edges)?;
    Ok(Loaded {
        report: Report { weights: lines.values.into_inner(), ..report },
        graph,
        name: short_name(&file),
        format: Some(FileFormat::Names),
        numbering: Numbering::Named(names),
    })
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
