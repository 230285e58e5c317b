//! Reads edge lists, such as SNAP's: comments that start with `#` or `%`, and lines with two vertex numbers separated by
//! blanks.
//!
//! Vertex numbers may be any `u64`. Those that occur are renumbered 0, 1, ... in ascending order. Further columns
//! (weights, time stamps) must be numbers; they are counted and dropped. Each line is a directed edge, as in SNAP's
//! directed graphs; SNAP's undirected graphs list both directions.
//!
//! An edge list has no mark, so a file of another kind may look like one. Unless the caller asked for an edge list, all
//! lines must have the same number of columns, and [`FirstLine::may_be_a_header`] must not hold.

use crate::error::{Error, Result};
use crate::formats::{Csr, Directions, First, MAX_VERTICES};
use crate::io::loaded::{Loaded, Numbering, Report};
use crate::io::metis::Shape;
use crate::io::on_disk::OnDisk;
use crate::io::source::Source;
use crate::io::text::{self, Cursor, Fault, Lines};
use crate::io::value::is_real;
use crate::io::weighted::directed;
use crate::io::{FileFormat, Progress, build, short_name};
use crate::memory;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

/// The first line that is no comment.
#[derive(Debug, Clone)]
struct FirstLine {
    /// Its place: the line, and the column in bytes, counted from 1.
    line: u64,
    column: u64,
    /// The number of its words, and the first four of them.
    columns: u64,
    words: Vec<Vec<u8>>,
}

impl FirstLine {
    /// Finds the line in the head of `source`; `None` if the file has none.
    fn of(source: &Source<'_>) -> Result<Option<Self>> {
        let text = source.head();
        let mut cursor = Cursor::new(text, 0);
        while cursor.next_line() && is_comment(&cursor) {
            cursor.skip_line();
        }
        if cursor.peek().is_none() {
            let missing = Fault { at: text.len(), expected: "an edge".into() };
            return if source.is_all_seen() { Ok(None) } else { Err(source.error(&missing)) };
        }
        let (line, column) = text::locate(text, cursor.at());
        let (mut words, mut columns) = (Vec::new(), 0);
        loop {
            match cursor.word() {
                [] => return Ok(Some(Self { line: line + 1, column, columns, words })),
                word if columns < 4 => words.push(word.to_vec()),
                _ => {}
            }
            columns += 1;
        }
    }

    fn number(&self, place: usize) -> Option<u64> {
        core::str::from_utf8(self.words.get(place)?).ok()?.parse().ok()
    }

    /// Whether the line may be a header rather than an edge, seen the whole file: `edges`, which begin with this line,
    /// and the number of `blank` lines. All lines have the same number of columns. It may be
    ///
    /// - a METIS header: `n m [fmt [ncon]]`, which tells the number of lines and what they hold;
    /// - a header of sizes: `n m` or `rows columns entries`, where the last number is that of the lines below;
    /// - the sizes of a square matrix: `n n`, while no other line has a number above n.
    fn may_be_a_header<I: Copy + Into<u64> + Send + Sync>(&self, edges: &[Vec<(I, I)>], blank: u64) -> bool {
        let lines: u64 = edges.iter().map(|list| list.len() as u64).sum();
        let (Some(first), Some(second), Some(below)) = (self.number(0), self.number(1), lines.checked_sub(1)) else {
            return false;
        };
        if self.columns > 2 && self.fits_metis(below, blank) {
            return true;
        }
        if !self.looks_like_a_header(lines, blank) {
            return false;
        }
        // edges must lie within what the header states; the first edge is this line
        let bound = if self.columns > 2 { second } else { first };
        let others = edges.par_iter().enumerate().flat_map_iter(|(list, edges)| {
            edges.iter().skip(usize::from(list == 0)).map(|&(from, to)| (from.into(), to.into()))
        });
        others.into_par_iter().all(|(from, to): (u64, u64)| from <= first && to <= bound)
    }

    /// Whether the line may be a header by the number of lines alone, the line itself included.
    fn looks_like_a_header(&self, lines: u64, blank: u64) -> bool {
        let (Some(first), Some(second), Some(below)) = (self.number(0), self.number(1), lines.checked_sub(1)) else {
            return false;
        };
        let counts = below > 0 && self.columns <= 4 && self.number(self.columns as usize - 1) == Some(below);
        self.fits_metis(below, blank) || counts || (below > 0 && first == second)
    }

    /// Whether the line fits as a METIS header over `below` lines of as many columns, and `blank` lines.
    fn fits_metis(&self, below: u64, blank: u64) -> bool {
        let fmt = self.words.get(2).map_or(&b"0"[..], Vec::as_slice);
        let (Some(vertices), Some(edges)) = (self.number(0), self.number(1)) else { return false };
        let Some(shape) = Shape::of(fmt, self.number(3)).filter(|_| self.columns <= 4) else { return false };
        let each = 1 + u64::from(shape.weighted);
        let Some(words) = self.columns.checked_sub(shape.before).filter(|words| words % each == 0) else {
            return false;
        };
        // a vertex without neighbours has a blank line
        let most = below + if shape.before == 0 { blank } else { 0 };
        (below..=most).contains(&vertices)
            && vertices > 0
            && u128::from(words / each) * u128::from(below) == 2 * u128::from(edges)
    }

    /// The error that asks what the line is.
    fn unclear(&self, file: &str) -> Error {
        let words: Vec<_> = self.words.iter().map(|word| String::from_utf8_lossy(word)).collect();
        Error::Parse {
            file: file.to_owned(),
            line: self.line,
            column: self.column,
            expected: "--input edges if this is an edge, --input metis if it is METIS' header".into(),
            found: format!("`{}`, which fits the other lines as a header", words.join(" ")),
        }
    }
}

/// Whether the line at `cursor` is a comment.
fn is_comment(cursor: &Cursor<'_>) -> bool {
    matches!(cursor.peek(), Some(b'#' | b'%'))
}

/// Lines `FROM TO`, with vertex numbers of type `I`, and values.
struct Edges<I> {
    /// The number of values on the first line, and the number of that line.
    values: u64,
    first: u64,
    /// Whether all lines must have as many.
    strict: bool,
    /// The number of values beyond `values` for each line.
    more: AtomicI64,
    blank: AtomicU64,
    number: PhantomData<fn() -> I>,
}

/// The error text for a vertex number that does not fit `I`. The reader recognizes it and reads the file again with a
/// wider type.
const NARROW: &str = "a vertex number below 2^32";

impl<I: TryFrom<u64> + Send> Edges<I> {
    fn after(first: Option<&FirstLine>, strict: bool) -> Self {
        let values = first.map_or(0, |first| first.columns.saturating_sub(2));
        let first = first.map_or(0, |first| first.line);
        Self { values, first, strict, more: AtomicI64::new(0), blank: AtomicU64::new(0), number: PhantomData }
    }

    fn vertex(line: &mut Cursor<'_>) -> Result<I, Fault> {
        line.blanks();
        let at = line.at();
        let number =
            line.number().ok_or_else(|| Fault { at, expected: "a vertex number from 0 to 2^64 - 1".into() })?;
        I::try_from(number).map_err(|_| Fault { at, expected: NARROW.into() })
    }

    /// Checks and counts the values of a line.
    #[inline]
    fn values(&self, line: &mut Cursor<'_>) -> Result<(), Fault> {
        let uneven = |at| Fault {
            at,
            expected: format!("{} columns, as on line {} (--input metis reads METIS)", self.values + 2, self.first),
        };
        let mut count = 0;
        line.blanks();
        while !line.line_ends() {
            let at = line.at();
            if line.after_return() {
                return Err(Fault { at, expected: "a line feed after the carriage return".into() });
            }
            if !is_real(line.word()) {
                return Err(Fault { at, expected: "a number or the end of the line".into() });
            }
            count += 1;
            if self.strict && count > self.values {
                return Err(uneven(at));
            }
            line.blanks();
        }
        if count != self.values {
            if self.strict {
                return Err(uneven(line.at()));
            }
            self.more.fetch_add(count as i64 - self.values as i64, Relaxed);
        }
        Ok(())
    }

    /// The number of values in `lines` lines.
    fn count(&self, lines: u64) -> u64 {
        (lines * self.values).saturating_add_signed(self.more.load(Relaxed))
    }
}

impl<I: TryFrom<u64> + Send> Lines for Edges<I> {
    type Entry = (I, I);

    #[inline]
    fn line(&self, line: &mut Cursor<'_>) -> Result<Option<(I, I)>, Fault> {
        if is_comment(line) {
            return Ok(None);
        }
        let edge = (Self::vertex(line)?, Self::vertex(line)?);
        self.values(line)?;
        Ok(Some(edge))
    }

    fn piece(&self, blank: usize) {
        self.blank.fetch_add(blank as u64, Relaxed);
    }
}

/// Reads the graph, made symmetric. `asked` tells whether the caller asked for an edge list; otherwise what may be
/// something else is refused.
pub(super) fn read_graph(source: Source<'_>, asked: bool, progress: &dyn Progress) -> Result<Loaded> {
    if memory::limit().is_some() && source.lasting {
        let lines = lines_in(&source);
        let needed = memory::for_reading(0, lines, Directions::Matter);
        if needed > memory::available().into() {
            return read_on_disk(source, asked, lines, progress);
        }
    }
    read_either(source, asked, progress, |file, vertices, edges| {
        let cleaned = build(file, vertices, edges, Directions::Matter)?;
        Ok((Report::from(&cleaned), cleaned.graph))
    })
}

/// Reads the graph with the directions of its lines; see [`read_graph`].
pub(super) fn read_digraph(source: Source<'_>, asked: bool, progress: &dyn Progress) -> Result<Loaded> {
    read_either(source, asked, progress, |file, vertices, edges| {
        // an entry without a value has the size of its row and column, so the allocations are reused
        let triples = edges.into_iter().map(|list| list.into_iter().map(|(from, to)| (from, to, ())).collect());
        let (graph, report) = directed(file, (vertices, 0), &triples.collect(), |_| Ok(None), First)?;
        Ok((report, graph))
    })
}

/// About how many lines the file has, by the length of its first ones.
fn lines_in(source: &Source<'_>) -> u64 {
    const SAMPLE: usize = 1 << 16;
    let head = &source.head()[..source.head().len().min(SAMPLE)];
    let lines = head.iter().filter(|&&byte| byte == b'\n').count().max(1);
    // text shrinks to a third or less when it is compressed
    let bytes = source.raw().map_or(source.file_bytes * 4, |text| text.len() as u64);
    bytes.saturating_mul(lines as u64) / head.len().max(1) as u64
}

/// Reads the graph, and builds it on disk. The file is read twice: for the numbers of its vertices, and for its edges. Without `asked`, a file
/// whose first line fits as a header by the number of lines alone is refused.
fn read_on_disk(source: Source<'_>, asked: bool, about: u64, progress: &dyn Progress) -> Result<Loaded> {
    let (file, path) = (source.name().to_owned(), source.path().to_owned());
    let first = FirstLine::of(&source)?;
    let lines = Edges::<u64>::after(first.as_ref(), !asked);
    let seen = Mutex::new(Vec::new());
    let found = source.parse_into(0, &lines, &|edges: Vec<(u64, u64)>| mark(&seen, &edges, &file))?;
    if let Some(first) =
        first.as_ref().filter(|first| !asked && first.looks_like_a_header(found, lines.blank.load(Relaxed)))
    {
        return Err(first.unclear(&file));
    }
    let names = Names::close(seen.into_inner().unwrap_or_else(PoisonError::into_inner));
    let vertices = names.few_enough(&file)?;
    let graph = OnDisk::new(&file, vertices, found.max(about), Directions::Matter, memory::available())?;
    let source = Source::open(&path, Some(FileFormat::Edges), progress)?;
    let again = Edges::<u64>::after(first.as_ref(), !asked);
    let numbered = |(from, to): (u64, u64)| (names.vertex(from), names.vertex(to));
    source.parse_into(0, &again, &|edges: Vec<(u64, u64)>| {
        graph.take(&edges.into_iter().map(numbered).collect::<Vec<_>>())
    })?;
    let cleaned = graph.finish(progress)?;
    Ok(Loaded {
        report: Report { weights: lines.count(found), ..Report::from(&cleaned) },
        graph: cleaned.graph,
        name: short_name(&file),
        format: Some(FileFormat::Edges),
        numbering: names.into_numbering(),
    })
}

/// Sets the bits of the vertex numbers of `edges`.
fn mark(seen: &Mutex<Vec<u64>>, edges: &[(u64, u64)], file: &str) -> Result<()> {
    let most = edges.iter().map(|&(from, to)| from.max(to)).max();
    let words = most.map_or(0, |most| (most / 64 + 1) as usize);
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    if seen.len() < words {
        // the bits, and as much again for the numbers of bits before each word
        memory::require(16 * words as u128, || format!("{file}: vertex numbers up to {}", most.unwrap_or(0)))?;
        seen.resize(words, 0);
    }
    for number in edges.iter().flat_map(|&(from, to)| [from, to]) {
        seen[number as usize / 64] |= 1 << (number % 64);
    }
    Ok(())
}

/// A function that builds a graph of a file's name, a number of vertices, and edges.
trait Build: Fn(&str, u64, Vec<Vec<(u32, u32)>>) -> Result<(Report, Csr)> {}
impl<F: Fn(&str, u64, Vec<Vec<(u32, u32)>>) -> Result<(Report, Csr)>> Build for F {}

/// Reads the edges and builds the graph of them. Uses 32-bit vertex numbers first, unless the file cannot be read twice.
fn read_either(source: Source<'_>, asked: bool, progress: &dyn Progress, build: impl Build) -> Result<Loaded> {
    let (path, lasting) = (source.path().to_owned(), source.lasting);
    if !lasting {
        return read::<u64>(source, asked, &build);
    }
    match read::<u32>(source, asked, &build) {
        // numbers of 2^32 and more are rare; only files that contain them are read twice, with wide edges
        Err(Error::Parse { expected, .. }) if expected == NARROW => {
            read::<u64>(Source::open(&path, Some(FileFormat::Edges), progress)?, asked, &build)
        }
        loaded => loaded,
    }
}

/// Reads the graph with vertex numbers of type `I`.
fn read<I: TryFrom<u64> + Copy + Ord + Into<u64> + Send + Sync>(
    source: Source<'_>,
    asked: bool,
    build: &impl Build,
) -> Result<Loaded> {
    let file = source.name().to_owned();
    let first = FirstLine::of(&source)?;
    let lines = Edges::<I>::after(first.as_ref(), !asked);
    let edges = source.parse(0, &lines)?;
    let blank = lines.blank.load(Relaxed);
    if let Some(first) = first.filter(|first| !asked && first.may_be_a_header(&edges, blank)) {
        return Err(first.unclear(&file));
    }
    let mut loaded = number(&file, edges, build)?;
    loaded.report.weights = lines.count(loaded.report.entries);
    Ok(loaded)
}

/// Renumbers the vertices in ascending order of their numbers in the file, and builds the graph.
fn number<I: Copy + Ord + Into<u64> + Send + Sync>(
    file: &str,
    edges: Vec<Vec<(I, I)>>,
    build: &impl Build,
) -> Result<Loaded> {
    let names = Names::of(&edges, file)?;
    let vertices = names.few_enough(file)?;
    let numbered = edges.into_par_iter().map(|list| {
        let edges = list.into_iter();
        edges.map(|(from, to)| (names.vertex(from.into()), names.vertex(to.into()))).collect()
    });
    let (report, graph) = build(file, vertices, numbered.collect())?;
    Ok(Loaded {
        report,
        graph,
        name: short_name(file),
        format: Some(FileFormat::Edges),
        numbering: names.into_numbering(),
    })
}

/// The vertex numbers that occur in a file, in ascending order.
enum Names {
    /// For dense numbers: a bit for every number up to the largest, and for each word the number of bits set before it.
    Close { used: Vec<u64>, before: Vec<u64> },
    /// For scattered numbers: the sorted list of them.
    Far(Vec<u64>),
}

impl Names {
    /// Collects the vertex numbers of `edges`.
    fn of<I: Copy + Into<u64> + Send + Sync>(edges: &[Vec<(I, I)>], file: &str) -> Result<Self> {
        let entries: usize = edges.iter().map(Vec::len).sum();
        let ends = || edges.par_iter().flat_map_iter(|list| list.iter().flat_map(|e| [e.0.into(), e.1.into()]));
        let most = ends().max();
        // the bitmap is chosen only if it takes no more memory than the edges, give or take a constant
        if most.is_none_or(|most| most / 64 < entries as u64 / 2 + 64) {
            let words = most.map_or(0, |most| most as usize / 64 + 1);
            memory::require(16 * words as u128, || file.to_owned())?;
            let used: Vec<AtomicU64> = (0..words).map(|_| AtomicU64::new(0)).collect();
            ends().for_each(|end| {
                let (word, bit) = (&used[end as usize / 64], 1 << (end % 64));
                // most numbers have been seen before, and a load is cheaper than an atomic write
                if word.load(Relaxed) & bit == 0 {
                    word.fetch_or(bit, Relaxed);
                }
            });
            Ok(Self::close(used.into_iter().map(AtomicU64::into_inner).collect()))
        } else {
            memory::require(16 * entries as u128, || file.to_owned())?;
            let mut numbers: Vec<u64> = ends().collect();
            numbers.par_sort_unstable();
            numbers.dedup();
            numbers.shrink_to_fit();
            Ok(Self::Far(numbers))
        }
    }

    /// The numbers whose bits are set.
    fn close(used: Vec<u64>) -> Self {
        let mut sum = 0;
        let before = used.iter().map(|word| {
            let before = sum;
            sum += u64::from(word.count_ones());
            before
        });
        Self::Close { before: before.collect(), used }
    }

    /// The number of vertices, if they can be numbered.
    fn few_enough(&self, file: &str) -> Result<u64> {
        let (vertices, limit) = (self.count(), MAX_VERTICES as u64);
        if vertices > limit {
            return Err(Error::TooManyVertices { place: file.to_owned(), count: vertices.into(), limit });
        }
        Ok(vertices)
    }

    fn count(&self) -> u64 {
        match self {
            Self::Close { used, before } => {
                let last = used.last().map_or(0, |word| u64::from(word.count_ones()));
                before.last().copied().unwrap_or(0) + last
            }
            Self::Far(numbers) => numbers.len() as u64,
        }
    }

    /// The index of the vertex that the file calls `name`, which must occur.
    #[inline]
    fn vertex(&self, name: u64) -> u32 {
        match self {
            Self::Close { used, before } => {
                let word = name as usize / 64;
                let below = used[word] & ((1 << (name % 64)) - 1);
                (before[word] + u64::from(below.count_ones())) as u32
            }
            Self::Far(numbers) => numbers.partition_point(|&n| n < name) as u32,
        }
    }

    fn into_numbering(self) -> Numbering {
        let numbers: Vec<u64> = match self {
            Self::Close { used, .. } => {
                (0..used.len() as u64 * 64).filter(|&name| used[name as usize / 64] >> (name % 64) & 1 == 1).collect()
            }
            Self::Far(numbers) => numbers,
        };
        match (numbers.first(), numbers.last()) {
            (None, _) => Numbering::From(0),
            (Some(&first), Some(&last)) if last - first == numbers.len() as u64 - 1 => Numbering::From(first),
            _ => Numbering::Listed(numbers),
        }
    }
}
