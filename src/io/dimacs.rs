//! Reads DIMACS instances of two problems: `c` comments, one line `p PROBLEM VERTICES EDGES`, then one line per edge.
//!
//! - Colouring (`.col`): `p edge`, lines `e I J`. Lines `n V WEIGHT`, which give vertex weights, are checked, counted
//!   and dropped. Existing instances list every edge once or twice, and their `p` lines count edges or lines. All such
//!   counts are accepted.
//! - Shortest paths (`.gr`): `p sp`, lines `a FROM TO WEIGHT`, as many as stated (9th DIMACS challenge).

use crate::error::{Error, Result};
use crate::formats::{Csr, Directions, First, MAX_VERTICES};
use crate::io::entries::Entries;
use crate::io::listed::{Least, Listed};
use crate::io::loaded::{Loaded, Numbering, Report};
use crate::io::portions::{About, Portions, Repeated};
use crate::io::source::Source;
use crate::io::target::{Mirror, Outline, Target};
use crate::io::text::{self, Cursor, Fault, Lines};
use crate::io::value::{Field, Value, is_real};
use crate::io::weighted::Weighted;
use crate::io::{FileFormat, short_name};
use crate::memory;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What the `p` line calls colouring, and shortest paths.
const COLORING: &[&str] = &["edge", "edges", "col"];
const PATHS: &[&str] = &["sp"];

/// Moves to the first line that is no comment. Returns whether there is one.
fn to_problem(cursor: &mut Cursor<'_>) -> bool {
    while cursor.next_line() {
        if cursor.peek() != Some(b'c') {
            return true;
        }
        cursor.skip_line();
    }
    false
}

/// The problem of the `p` line. Without one, the extension of `name` decides.
pub(super) fn detect(text: &[u8], name: &str) -> FileFormat {
    let mut cursor = Cursor::new(text, 0);
    let stated = to_problem(&mut cursor) && cursor.word() == b"p";
    let paths = if stated { cursor.word() == b"sp" } else { name.ends_with(".gr") };
    if paths { FileFormat::ShortestPath } else { FileFormat::Dimacs }
}

struct Header {
    vertices: u64,
    edges: u64,
    /// Positions in bytes: of the number of vertices, of the number of edges, and of the first line after the header.
    vertices_at: usize,
    edges_at: usize,
    body: usize,
}

impl Header {
    /// Reads the header of one of the `problems`, and checks the number of vertices.
    fn read(source: &Source<'_>, problems: &[&str]) -> Result<Self> {
        let header = Self::parse(source.head(), problems).map_err(|fault| source.error(&fault))?;
        if header.vertices > MAX_VERTICES as u64 {
            return Err(Error::TooManyVertices {
                place: source.place(header.vertices_at),
                count: header.vertices.into(),
                limit: MAX_VERTICES as u64,
            });
        }
        Ok(header)
    }

    fn parse(text: &[u8], problems: &[&str]) -> Result<Self, Fault> {
        let mut cursor = Cursor::new(text, 0);
        to_problem(&mut cursor);
        let (expected, what) = match problems[0] {
            "sp" => ("`p sp VERTICES ARCS`", "`sp`"),
            _ => ("`p edge VERTICES EDGES`", "`edge` or `col`, or `sp` of a shortest path instance"),
        };
        let start = cursor.at();
        if cursor.word() != b"p" {
            return Err(Fault { at: start, expected: expected.into() });
        }
        cursor.blanks();
        let problem_at = cursor.at();
        let problem = cursor.word();
        if !problems.iter().any(|known| known.as_bytes() == problem) {
            return Err(Fault { at: problem_at, expected: what.into() });
        }
        cursor.blanks_within()?;
        let vertices_at = cursor.at();
        let vertices = cursor.number().ok_or_else(|| cursor.fault("the number of vertices"))?;
        cursor.blanks_within()?;
        let edges_at = cursor.at();
        let edges = cursor.number().ok_or_else(|| cursor.fault("the number of edges"))?;
        cursor.end_of_line()?;
        Ok(Self { vertices, edges, vertices_at, edges_at, body: cursor.at() })
    }
}

/// The syntax of the lines of a colouring instance.
struct Edges {
    vertices: u64,
    /// The number of `n` lines.
    weights: AtomicU64,
}

impl Lines for Edges {
    type Entry = (u32, u32, ());

    #[inline]
    fn line(&self, line: &mut Cursor<'_>) -> Result<Option<Self::Entry>, Fault> {
        let at = line.at();
        match line.word() {
            b"e" => {
                let from = line.number_in("a vertex", 1..=self.vertices)?;
                let to = line.number_in("a vertex", 1..=self.vertices)?;
                Ok(Some(((from - 1) as u32, (to - 1) as u32, ())))
            }
            b"c" => Ok(None),
            b"n" => {
                line.number_in("a vertex", 1..=self.vertices)?;
                line.blanks_within()?;
                let at = line.at();
                if !is_real(line.word()) {
                    return Err(Fault { at, expected: "a vertex' weight".into() });
                }
                self.weights.fetch_add(1, Relaxed);
                line.end_of_line().map(|()| None)
            }
            _ => Err(Fault { at, expected: "an edge `e I J` or a comment `c ...`".into() }),
        }
    }
}

/// Reads the graph of a colouring instance.
pub(super) fn read_graph(source: Source<'_>) -> Result<Loaded> {
    let header = Header::read(&source, COLORING)?;
    let least = memory::for_building(header.vertices, 0, Directions::Ignored);
    memory::require(least, || source.place(header.vertices_at))?;
    let file = source.name().to_owned();
    let (line, column) = text::locate(source.head(), header.edges_at);
    let lines = Edges { vertices: header.vertices, weights: AtomicU64::new(0) };
    let outline = Outline::graph(header.vertices, header.edges, Target::Graph(Directions::Ignored));
    let cleaned = Entries::parse(source, header.body, &lines, outline)?.graph(&file, outline)?;
    let (entries, distinct) = (cleaned.entries, cleaned.graph.nnz() as u64 / 2);
    if ![entries, entries / 2, 2 * entries, distinct].contains(&header.edges) {
        return Err(Error::Parse {
            file,
            line: line + 1,
            column,
            expected: format!("{} edges (as stated here)", header.edges),
            found: entries.to_string(),
        });
    }
    Ok(Loaded {
        report: Report { vertex_weights: lines.weights.into_inner(), ..Report::from(&cleaned) },
        graph: cleaned.graph,
        name: short_name(&file),
        format: Some(FileFormat::Dimacs),
        numbering: Numbering::From(1),
    })
}

/// The syntax of the lines of a shortest path instance.
struct Arcs<V> {
    vertices: u64,
    value: PhantomData<fn() -> V>,
}

impl<V: Value> Lines for Arcs<V> {
    type Entry = (u32, u32, V);

    #[inline]
    fn line(&self, line: &mut Cursor<'_>) -> Result<Option<Self::Entry>, Fault> {
        let at = line.at();
        match line.word() {
            b"a" => {
                let from = line.number_in("a vertex", 1..=self.vertices)?;
                let to = line.number_in("a vertex", 1..=self.vertices)?;
                line.blanks_within()?;
                let at = line.at();
                let value = V::parse(Field::Real, line.word()).ok_or_else(|| Fault {
                    at,
                    expected: match V::NAME {
                        "()" => "an arc's weight, a number".to_owned(),
                        name => format!("an arc's weight, a number of type {name}"),
                    },
                })?;
                Ok(Some(((from - 1) as u32, (to - 1) as u32, value)))
            }
            b"c" => Ok(None),
            _ => Err(Fault { at, expected: "an arc `a FROM TO WEIGHT` or a comment `c ...`".into() }),
        }
    }
}

/// What checks that a file has as many arcs as its header states.
fn stated_arcs(source: &Source<'_>, header: &Header) -> impl Fn(u64) -> Result<()> + use<> {
    let (file, stated) = (source.name().to_owned(), header.edges);
    let (line, column) = text::locate(source.head(), header.edges_at);
    move |found| match found == stated {
        true => Ok(()),
        false => Err(Error::Parse {
            file: file.clone(),
            line: line + 1,
            column,
            expected: format!("{stated} arcs (as stated here)"),
            found: found.to_string(),
        }),
    }
}

/// The arcs of a shortest path instance in a mapped file, of which part number `part.0` of `part.1` is read.
pub(super) fn portions<V: Value>(source: Source<'_>, part: (usize, usize)) -> Result<Portions<'_, V>> {
    let header = Header::read(&source, PATHS)?;
    let (groups, stated) = (source.part(header.body, part), stated_arcs(&source, &header));
    let about = About::of_file(source.name(), FileFormat::ShortestPath, Numbering::From(1), header.edges);
    let lines = Arcs { vertices: header.vertices, value: PhantomData };
    Ok(Portions {
        vertices: header.vertices as usize,
        mirror: Mirror::None,
        repeated: Repeated::least::<V>(),
        both_ways: false,
        count: groups.len() as u64,
        edges: Box::new(move |portion| source.parse_pieces(&groups[portion as usize], &lines)),
        stated: Box::new(move |found, _| stated(found)),
        about,
    })
}

/// Reads the arcs of a shortest path instance for `target`.
fn arcs<V: Value>(source: Source<'_>, target: Target) -> Result<Listed<'_, V>> {
    let header = Header::read(&source, PATHS)?;
    let least = memory::for_building(header.vertices, 0, Directions::Matter);
    memory::require(least, || source.place(header.vertices_at))?;
    let (file, stated) = (source.name().to_owned(), stated_arcs(&source, &header));
    let lines = Arcs { vertices: header.vertices, value: PhantomData };
    let outline = Outline::graph(header.vertices, header.edges, target);
    let entries = Entries::parse(source, header.body, &lines, outline)?;
    let count = entries.count();
    stated(count)?;
    Ok(Listed {
        file,
        format: FileFormat::ShortestPath,
        outline,
        entries,
        numbering: Numbering::From(1),
        weights: count,
        vertex_weights: 0,
    })
}

/// Reads the graph of a shortest path instance.
pub(super) fn read_paths_graph(source: Source<'_>) -> Result<Loaded> {
    arcs(source, Target::GRAPH)?.graph()
}

/// Reads the arcs of a shortest path instance as a directed graph.
pub(super) fn read_paths_digraph(source: Source<'_>) -> Result<Loaded> {
    arcs::<()>(source, Target::DIGRAPH)?.digraph(First)
}

/// Reads the arcs of a shortest path instance with their weights. Of parallel arcs the least is kept.
pub(super) fn read_paths_weighted(source: Source<'_>) -> Result<Weighted> {
    arcs(source, Target::DIGRAPH)?.digraph(Least).map(Weighted::Integer)
}

/// Reads the weights of a shortest path instance. Of parallel arcs, which road networks have, the least is kept.
pub(super) fn read_paths_matrix<V: Value>(source: Source<'_>) -> Result<Csr<V>> {
    arcs(source, Target::MATRIX)?.matrix(Least)
}
