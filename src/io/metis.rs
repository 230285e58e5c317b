//! Reads METIS graphs, which Chaco and the 10th DIMACS challenge share: a header `VERTICES EDGES [FMT [NCON]]`, then a
//! line for each vertex. Lines that begin with `%` are comments. A blank line is a vertex without neighbours.
//!
//! FMT has up to three digits of 0 and 1. From the right they say whether edges have weights, whether vertices have
//! NCON weights each, and whether vertices have a size. The line of a vertex is `[SIZE] [WEIGHT ...] (NEIGHBOUR
//! [WEIGHT]) ...`, with vertices numbered from 1 (METIS manual 5.1, section 4.1.1). Every edge stands in the lines of
//! both its ends.

use crate::error::{Error, Result};
use crate::formats::{Csr, First, MAX_VERTICES, Refuse};
use crate::io::entries::{Entries, Lists};
use crate::io::listed::Listed;
use crate::io::loaded::{Loaded, Numbering};
use crate::io::portions::{About, Portions, Repeated, WeightedWay};
use crate::io::source::Source;
use crate::io::target::{Mirror, Outline, Target};
use crate::io::text::{self, Cursor, Done, Fault, Stop};
use crate::io::value::{Field, Value, is_integer};
use crate::io::weighted::Weighted;
use crate::io::{FileFormat, Progress, by_name};
use crate::memory::Kept;
use crate::ranks::Grid;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use rayon::prelude::*;
use std::path::PathBuf;

/// The shape of the lines, by FMT and NCON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    /// The number of words before the neighbours: the size of a vertex and its weights.
    pub before: u64,
    /// Whether a weight follows each neighbour.
    pub weighted: bool,
}

impl Shape {
    /// The shape that `fmt` and `ncon` tell; `None` if they tell none.
    pub fn of(fmt: &[u8], ncon: Option<u64>) -> Option<Self> {
        if fmt.is_empty() || fmt.len() > 3 || !fmt.iter().all(|digit| matches!(digit, b'0' | b'1')) {
            return None;
        }
        let digit = |place: usize| fmt.len() > place && fmt[fmt.len() - 1 - place] == b'1';
        let weights = if digit(1) { ncon.unwrap_or(1) } else { 0 };
        Some(Self { before: weights.checked_add(u64::from(digit(2)))?, weighted: digit(0) })
    }
}

/// The first line that is no comment.
struct Header {
    vertices: u64,
    edges: u64,
    shape: Shape,
    /// Positions in bytes: of the number of vertices, of that of edges, and of the first line after the header.
    vertices_at: usize,
    edges_at: usize,
    body: usize,
}

impl Header {
    fn parse(text: &[u8]) -> Result<Self, Fault> {
        let mut cursor = Cursor::new(text, 0);
        while cursor.next_line() && cursor.peek() == Some(b'%') {
            cursor.skip_comment()?;
        }
        let count = |cursor: &mut Cursor<'_>, what: &str| {
            cursor.blanks_within()?;
            let at = cursor.at();
            cursor.number().map(|n| (n, at)).ok_or_else(|| cursor.fault(what))
        };
        let (vertices, vertices_at) = count(&mut cursor, "METIS' number of vertices")?;
        let (edges, edges_at) = count(&mut cursor, "METIS' number of edges")?;
        cursor.blanks();
        let at = cursor.at();
        let fmt = cursor.word();
        cursor.blanks();
        let ncon = if cursor.line_ends() { None } else { Some(count(&mut cursor, "METIS' number of weights")?.0) };
        cursor.end_of_line()?;
        let fmt = if fmt.is_empty() { b"0" } else { fmt };
        let expected = "METIS' FMT: up to three digits of 0 and 1";
        let shape = Shape::of(fmt, ncon).ok_or_else(|| Fault { at, expected: expected.into() })?;
        let body = (cursor.at() + 1).min(text.len());
        Ok(Self { vertices, edges, shape, vertices_at, edges_at, body })
    }
}

/// Parses the lines of vertices.
struct Lines {
    vertices: u64,
    shape: Shape,
    /// The number of self-loops.
    loops: AtomicU64,
}

impl Lines {
    /// Parses some pieces of a text. Their first line is that of vertex `next`, counted from 0. Advances `next`.
    fn parse<V: Value>(
        &self,
        next: &mut u64,
        text: &[u8],
        pieces: &[Range<usize>],
        kept: &Kept,
        done: Done<'_>,
    ) -> Result<Lists<V>, Stop> {
        let lines: Vec<u64> = pieces.par_iter().map(|piece| vertex_lines(&text[piece.clone()])).collect();
        let firsts: Vec<u64> = lines
            .iter()
            .map(|lines| {
                let first = *next;
                *next += lines;
                first
            })
            .collect();
        text::parse_pieces(text, pieces, done, &|number, piece| self.piece(firsts[number], piece, kept))
    }

    /// Parses a piece. Its first line is that of vertex `first`.
    fn piece<V: Value>(&self, first: u64, text: &[u8], kept: &Kept) -> Result<Vec<(u32, u32, V)>, Stop> {
        // counting the words first is cheap; a list allocated once is never copied
        let words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count();
        let most = if self.shape.weighted { words / 2 } else { words };
        let bytes = (most * size_of::<(u32, u32, V)>()) as u64;
        kept.keep(bytes).map_err(|shortage| Stop::Shortage(0, shortage))?;
        let mut entries = Vec::new();
        entries.try_reserve_exact(most).map_err(|_| Stop::Shortage(0, kept.refused(bytes)))?;
        let mut vertex = first;
        let mut line = Cursor::new(text, 0);
        while line.peek().is_some() {
            line.blanks();
            if line.peek() == Some(b'%') {
                line.skip_comment()?;
            } else {
                self.line(vertex, &mut line, &mut entries)?;
                vertex += 1;
            }
            line.skip_line();
            line.skip_line_end();
        }
        self.loops.fetch_add(entries.iter().filter(|entry| entry.0 == entry.1).count() as u64, Relaxed);
        Ok(entries)
    }

    /// Parses the line of `vertex`. Blank lines may follow the last vertex.
    fn line<V: Value>(
        &self,
        vertex: u64,
        line: &mut Cursor<'_>,
        entries: &mut Vec<(u32, u32, V)>,
    ) -> Result<(), Fault> {
        if vertex >= self.vertices {
            let expected = || format!("the end of the file after the lines of {} vertices", self.vertices);
            return line.end_of_line().map_err(|fault| Fault { expected: expected(), ..fault });
        }
        for _ in 0..self.shape.before {
            line.blanks_within()?;
            let at = line.at();
            if !is_integer(line.word()) {
                return Err(Fault { at, expected: "the size or weight of a vertex".into() });
            }
        }
        line.blanks();
        while !line.line_ends() {
            let neighbour = line.number_in("a neighbour", 1..=self.vertices)?;
            line.blanks_within()?;
            let at = line.at();
            let (field, word) =
                if self.shape.weighted { (Field::Integer, line.word()) } else { (Field::Pattern, &b""[..]) };
            let value = V::parse(field, word).ok_or_else(|| Fault { at, expected: weight::<V>() })?;
            entries.push((vertex as u32, (neighbour - 1) as u32, value));
            line.blanks();
        }
        Ok(())
    }
}

/// What the weight of an edge must be.
fn weight<V: Value>() -> String {
    match V::NAME {
        "()" => "the weight of an edge, an integer".to_owned(),
        name => format!("the weight of an edge, an integer of type {name}"),
    }
}

/// The number of lines that are no comments.
fn vertex_lines(text: &[u8]) -> u64 {
    let mut line = Cursor::new(text, 0);
    let mut count = 0;
    while line.peek().is_some() {
        line.blanks();
        count += u64::from(line.peek() != Some(b'%'));
        line.skip_line();
        line.skip_line_end();
    }
    count
}

/// Where a file states its numbers of vertices and of edges.
struct Stated {
    file: String,
    vertices: u64,
    edges: u64,
    /// Lines and columns, the lines counted from 0.
    vertices_at: (u64, u64),
    edges_at: (u64, u64),
}

impl Stated {
    fn of(source: &Source<'_>, header: &Header) -> Self {
        let [vertices_at, edges_at] = [header.vertices_at, header.edges_at].map(|at| text::locate(source.head(), at));
        Self { file: source.name().to_owned(), vertices: header.vertices, edges: header.edges, vertices_at, edges_at }
    }

    fn wrong(&self, at: (u64, u64), expected: String, found: u64) -> Error {
        Error::Parse { file: self.file.clone(), line: at.0 + 1, column: at.1, expected, found: found.to_string() }
    }

    /// Checks the number of lines of vertices.
    fn check_lines(&self, found: u64) -> Result<()> {
        if found >= self.vertices {
            return Ok(());
        }
        let expected = format!("the lines of {} vertices (as stated here)", self.vertices);
        Err(self.wrong(self.vertices_at, expected, found))
    }

    /// Checks the number of neighbours, some of which are self-loops.
    fn check_neighbours(&self, count: u64, loops: u64) -> Result<()> {
        // a self-loop, which METIS forbids and others write, may be listed once
        let twice = u128::from(self.edges) * 2;
        if twice == u128::from(count) || twice == u128::from(count) + u128::from(loops) {
            return Ok(());
        }
        let expected = format!("{twice} neighbours, two for each edge (as stated here)");
        Err(self.wrong(self.edges_at, expected, count))
    }
}

/// Reads the header, and checks the number of vertices.
fn header(source: &Source<'_>) -> Result<Header> {
    let header = Header::parse(source.head()).map_err(|fault| source.error(&fault))?;
    if header.vertices > MAX_VERTICES as u64 {
        return Err(Error::TooManyVertices {
            place: source.place(header.vertices_at),
            count: header.vertices.into(),
            limit: MAX_VERTICES as u64,
        });
    }
    Ok(header)
}

/// Reads the lines for `target`, and checks them against the header.
fn read<V: Value>(source: Source<'_>, target: Target) -> Result<Listed<'_, V>> {
    let header = header(&source)?;
    let stated = Stated::of(&source, &header);
    let lines = Lines { vertices: header.vertices, shape: header.shape, loops: AtomicU64::new(0) };
    let mut next = 0;
    let outline = Outline::graph(header.vertices, header.edges.saturating_mul(2), target);
    let parser = |text: &[u8], pieces: &[Range<usize>], kept: &Kept, done: Done<'_>| {
        lines.parse(&mut next, text, pieces, kept, done)
    };
    let entries = Entries::parse_with(source, header.body, outline, parser)?;
    stated.check_lines(next)?;
    let count = entries.count();
    stated.check_neighbours(count, lines.loops.into_inner())?;
    Ok(Listed {
        file: stated.file,
        format: FileFormat::Metis,
        outline,
        entries,
        numbering: Numbering::From(1),
        weights: if header.shape.weighted { count } else { 0 },
        vertex_weights: header.vertices * header.shape.before,
    })
}

/// Reads the graph.
pub(super) fn read_graph(source: Source<'_>, progress: &dyn Progress) -> Result<Loaded> {
    let (path, lasting): (PathBuf, bool) = (source.path().to_owned(), source.lasting);
    let listed = read::<()>(source, Target::GRAPH)?;
    let file = listed.file.clone();
    let loaded = listed.graph()?;
    match loaded.report.one_way {
        None | Some(0) => Ok(loaded),
        Some(count) => {
            if lasting {
                // the graph's memory is needed to find the edge
                drop(loaded);
                let source = Source::open(&path, Some(FileFormat::Metis), progress)?;
                check_symmetry(&file, &read::<()>(source, Target::DIGRAPH)?.digraph(First)?.graph)?;
            }
            Err(Error::invalid(format!(
                "{file}: expected every edge in the lines of both its ends, found {count} in one line only"
            )))
        }
    }
}

/// Reads the matrix of the edges' weights, which are 1 if the file has none.
pub(super) fn read_matrix<V: Value>(source: Source<'_>) -> Result<Csr<V>> {
    let listed = read::<V>(source, Target::MATRIX)?;
    let file = listed.file.clone();
    let matrix = listed.matrix(Refuse)?;
    check_symmetry(&file, &matrix)?;
    Ok(matrix)
}

/// Reads the graph, with the weights of its edges if the file has any.
pub(super) fn read_weighted(source: Source<'_>, progress: &dyn Progress) -> Result<Weighted> {
    if !header(&source)?.shape.weighted {
        return read_graph(source, progress).map(Weighted::None);
    }
    let listed = read::<u32>(source, Target::DIGRAPH)?;
    let file = listed.file.clone();
    let loaded = listed.digraph(Refuse)?;
    check_symmetry(&file, &loaded.graph)?;
    Ok(Weighted::Integer(loaded))
}

/// The edges of a graph in a mapped file, of which each rank of a grid reads a part. All ranks call this.
pub(super) fn portions<'p, V: Value>(
    source: Source<'p>,
    asked: Option<FileFormat>,
    grid: &Grid,
) -> Result<Portions<'p, V>> {
    let header = grid.agree(header(&source).map_err(|error| by_name(asked, error)))?;
    let groups = source.part(header.body, (grid.rank(), grid.size()));
    let text = source.head();
    let lines_in = |group: &Vec<Range<usize>>| group.iter().map(|piece| vertex_lines(&text[piece.clone()])).sum();
    let counts: Vec<u64> = groups.par_iter().map(lines_in).collect();
    let told = grid.told(&[counts.iter().sum()])?;
    let stated = Stated::of(&source, &header);
    stated.check_lines(told.iter().map(|told| told[0]).sum()).map_err(|error| by_name(asked, error))?;
    // the vertex of the first line of each group
    let firsts: Vec<u64> = counts
        .iter()
        .scan(told[..grid.rank()].iter().map(|told| told[0]).sum(), |next, count| {
            let first = *next;
            *next += count;
            Some(first)
        })
        .collect();
    let lines = Lines { vertices: header.vertices, shape: header.shape, loops: AtomicU64::new(0) };
    let weights = if header.shape.weighted { header.edges.saturating_mul(2) } else { 0 };
    let about = About {
        vertex_weights: header.vertices.saturating_mul(header.shape.before),
        ..About::of_file(source.name(), FileFormat::Metis, Numbering::From(1), weights)
    };
    let edges = move |portion: u64| {
        let (group, mut next) = (&groups[portion as usize], firsts[portion as usize]);
        let lists = source.parse_pieces_with(|text, kept, done| lines.parse(&mut next, text, group, kept, done));
        lists.map_err(|error| by_name(asked, error))
    };
    Ok(Portions {
        vertices: header.vertices as usize,
        mirror: Mirror::None,
        repeated: Repeated::refused::<V>(),
        both_ways: true,
        count: counts.len() as u64,
        edges: Box::new(edges),
        stated: Box::new(move |found, loops| {
            stated.check_neighbours(found, loops).map_err(|error| by_name(asked, error))
        }),
        about,
    })
}

/// The edges with the weights that they have. All ranks call this.
pub(super) fn weighted_portions<'p>(
    source: Source<'p>,
    asked: Option<FileFormat>,
    grid: &Grid,
) -> Result<WeightedWay<'p>> {
    let weighted = grid.agree(header(&source).map_err(|error| by_name(asked, error)))?.shape.weighted;
    WeightedWay::integers(weighted, source, |source| portions(source, asked, grid))
}

/// Checks that both ends of every edge list it, with the same weight.
fn check_symmetry<V: Value>(file: &str, matrix: &Csr<V>) -> Result<()> {
    matrix.asymmetry().map_or(Ok(()), |(row, column)| Err(one_sided::<V>(file, (row as u32, column as u32))))
}

/// The error for an edge that only the line of its first end lists, or with another weight than that of the second.
pub(crate) fn one_sided<V: Value>(file: &str, (row, column): (u32, u32)) -> Error {
    let (from, to) = (u64::from(row) + 1, u64::from(column) + 1);
    let weight = if size_of::<V>() > 0 { " and with the same weight" } else { "" };
    Error::invalid(format!(
        "{file}: the line of vertex {from} lists {to}: expected {from} in the line of vertex {to}, too{weight}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_told_by_digits() {
        let shape = |before, weighted| Some(Shape { before, weighted });
        for (fmt, ncon, expected) in [
            ("0", None, shape(0, false)),
            ("1", None, shape(0, true)),
            ("001", Some(3), shape(0, true)),
            ("10", None, shape(1, false)),
            ("011", Some(2), shape(2, true)),
            ("100", None, shape(1, false)),
            ("111", Some(3), shape(4, true)),
            ("2", None, None),
            ("1000", None, None),
            ("", None, None),
            ("110", Some(u64::MAX), None),
        ] {
            assert_eq!(Shape::of(fmt.as_bytes(), ncon), expected, "{fmt}");
        }
    }
}
