//! Reads DIMACS colouring instances: `c` comments, one line `p edge VERTICES EDGES`, then one line `e I J` per edge.
//!
//! Lines `n V WEIGHT`, which give vertex weights, are checked and dropped, like the values of other formats.
//!
//! Existing instances list every edge once or twice, and their `p` lines count edges or lines. All such counts are
//! accepted.

use crate::error::{Error, Result};
use crate::formats::{Directions, MAX_VERTICES};
use crate::io::loaded::{Loaded, Numbering, Report};
use crate::io::source::Source;
use crate::io::text::{self, Cursor, Fault, Lines};
use crate::io::value::is_real;
use crate::io::{build, short_name};
use crate::memory;

struct Header {
    vertices: u64,
    edges: u64,
    /// Positions in bytes: of the number of vertices, of the number of edges, and of the first line after the header.
    vertices_at: usize,
    edges_at: usize,
    body: usize,
}

impl Header {
    fn parse(text: &[u8]) -> Result<Self, Fault> {
        let mut cursor = Cursor::new(text, 0);
        while cursor.next_line() && cursor.peek() == Some(b'c') {
            cursor.skip_line();
        }
        let expected = "`p edge VERTICES EDGES`";
        let start = cursor.at();
        if cursor.word() != b"p" {
            return Err(Fault { at: start, expected: expected.into() });
        }
        cursor.blanks();
        let kind = cursor.at();
        if !matches!(cursor.word(), b"edge" | b"edges" | b"col") {
            return Err(Fault { at: kind, expected: "`edge` or `col`".into() });
        }
        cursor.blanks();
        let vertices_at = cursor.at();
        let vertices = cursor.number().ok_or_else(|| cursor.fault("the number of vertices"))?;
        cursor.blanks();
        let edges_at = cursor.at();
        let edges = cursor.number().ok_or_else(|| cursor.fault("the number of edges"))?;
        cursor.end_of_line()?;
        Ok(Self { vertices, edges, vertices_at, edges_at, body: cursor.at() })
    }
}

/// The syntax of the lines after the header.
struct Edges {
    vertices: u64,
}

impl Lines for Edges {
    type Entry = (u32, u32);

    #[inline]
    fn line(&self, line: &mut Cursor<'_>) -> Result<Option<(u32, u32)>, Fault> {
        let at = line.at();
        match line.word() {
            b"e" => {
                let from = line.number_in("a vertex", 1..=self.vertices)?;
                let to = line.number_in("a vertex", 1..=self.vertices)?;
                Ok(Some(((from - 1) as u32, (to - 1) as u32)))
            }
            b"c" => Ok(None),
            b"n" => {
                line.number_in("a vertex", 1..=self.vertices)?;
                line.blanks();
                let at = line.at();
                if !is_real(line.word()) {
                    return Err(Fault { at, expected: "a vertex' weight".into() });
                }
                line.end_of_line().map(|()| None)
            }
            _ => Err(Fault { at, expected: "an edge `e I J` or a comment `c ...`".into() }),
        }
    }
}

/// Reads the graph.
pub(super) fn read_graph(source: Source<'_>) -> Result<Loaded> {
    let header = Header::parse(source.head()).map_err(|fault| source.error(&fault))?;
    if header.vertices > MAX_VERTICES as u64 {
        return Err(Error::TooManyVertices {
            place: source.place(header.vertices_at),
            count: header.vertices.into(),
            limit: MAX_VERTICES as u64,
        });
    }
    let least = memory::for_building(header.vertices, 0, Directions::Ignored);
    memory::require(least, || source.place(header.vertices_at))?;
    let file = source.name().to_owned();
    let (line, column) = text::locate(source.head(), header.edges_at);
    let edges = Edges { vertices: header.vertices };
    let edges = source.parse(header.body, &edges)?;
    let cleaned = build(&file, header.vertices, edges, Directions::Ignored)?;
    let (lines, distinct) = (cleaned.entries, cleaned.graph.nnz() as u64 / 2);
    if ![lines, lines / 2, 2 * lines, distinct].contains(&header.edges) {
        return Err(Error::Parse {
            file,
            line: line + 1,
            column,
            expected: format!("{} edges (as stated here)", header.edges),
            found: lines.to_string(),
        });
    }
    Ok(Loaded {
        report: Report::from(&cleaned),
        graph: cleaned.graph,
        name: short_name(&file),
        numbering: Numbering::From(1),
    })
}
