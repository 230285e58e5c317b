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
use crate::formats::Directions;
use crate::io::entries::Entries;
use crate::io::listed::{Listed, renumbered};
use crate::io::loaded::{Loaded, Numbering};
use crate::io::metis::Shape;
use crate::io::names::{Reach, Survey};
use crate::io::on_disk::OnDisk;
use crate::io::portions::{About, Portions};
use crate::io::source::Source;
use crate::io::target::{Outline, Target};
use crate::io::text::{self, Cursor, Fault, Lines};
use crate::io::value::is_real;
use crate::io::{FileFormat, Progress, Unit, short_name};
use crate::memory;
use crate::ranks::Grid;
use core::marker::PhantomData;
use core::ops::Range;
use core::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use rayon::prelude::*;

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

    /// Whether the line may be a header rather than an edge, seen the whole file, with so many `blank` lines. All lines have the
    /// same number of columns. It may be
    ///
    /// - a METIS header: `n m [fmt [ncon]]`, which tells the number of lines and what they hold;
    /// - a header of sizes: `n m` or `rows columns entries`, where the last number is that of the lines below;
    /// - the sizes of a square matrix: `n n`, while no other line has a number above n.
    ///
    /// `lines` are the edges, this line included; `reach` tells how far those of the other lines reach.
    fn may_be_a_header(&self, lines: u64, blank: u64, reach: impl FnOnce() -> Reach) -> bool {
        let (Some((first, second)), Some(below)) = (self.pair(), lines.checked_sub(1)) else { return false };
        let metis = self.fits_metis(below, blank);
        if self.columns > 2 && metis {
            return true;
        }
        let counts = below > 0 && self.columns <= 4 && self.number(self.columns as usize - 1) == Some(below);
        if !(metis || counts || (below > 0 && first == second)) {
            return false;
        }
        // edges must lie within what the header states
        let (reach, bound) = (reach(), if self.columns > 2 { second } else { first });
        reach.from <= first && reach.to <= bound
    }

    /// The first two numbers.
    fn pair(&self) -> Option<(u64, u64)> {
        self.number(0).zip(self.number(1))
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
        let number = line.number().ok_or_else(|| {
            let is_name = line.peek().is_some_and(|byte| byte.is_ascii_alphabetic());
            let hint = if is_name { " (--input names reads names)" } else { "" };
            Fault { at, expected: format!("a vertex number from 0 to 2^64 - 1{hint}") }
        })?;
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
    listed(source, asked, Target::GRAPH, progress)?.simple()
}

/// Reads the graph with the directions of its lines; see [`read_graph`].
pub(super) fn read_digraph(source: Source<'_>, asked: bool, progress: &dyn Progress) -> Result<Loaded> {
    listed(source, asked, Target::DIGRAPH, progress)?.simple()
}

/// Reads the edges for `target`.
fn listed<'p>(source: Source<'p>, asked: bool, target: Target, progress: &'p dyn Progress) -> Result<Listed<'p, ()>> {
    match too_many(&source, target) {
        Some(lines) => read_on_disk(source, asked, (lines, target), progress),
        None => read_either(source, asked, target, progress),
    }
}

/// About how many lines the file has, if memory is limited and they are too many for it; otherwise `None`.
fn too_many(source: &Source<'_>, target: Target) -> Option<u64> {
    memory::limit().filter(|_| source.lasting)?;
    let lines = lines_in(source);
    Outline::graph(0, lines, target).exceeded::<()>(size_of::<(u32, u32)>()).map(|_| lines)
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

/// Reads the edges to build a graph on disk. The file is read twice: for the numbers of its vertices, and for its edges.
fn read_on_disk<'p>(
    source: Source<'p>,
    asked: bool,
    (about, target): (u64, Target),
    progress: &'p dyn Progress,
) -> Result<Listed<'p, ()>> {
    let (file, path) = (source.name().to_owned(), source.path().to_owned());
    let first = FirstLine::of(&source)?;
    let lines = Edges::<u64>::after(first.as_ref(), !asked);
    // a bit for every number: a list of numbers would take the memory that there isn't
    let seen = Survey::new(&file, first.as_ref().and_then(FirstLine::pair), u64::MAX);
    let found = source.parse_into(0, &lines, &|edges: Vec<(u64, u64)>| seen.take(&edges))?;
    let (names, reach) = seen.finish();
    check_first(first.as_ref(), asked, &file, (found, lines.blank.load(Relaxed)), reach)?;
    let vertices = names.few_enough(&file)?;
    let outline = Outline::graph(vertices, found.max(about), target);
    let graph = OnDisk::new(&file, outline, memory::limit().unwrap_or(u64::MAX), progress)?;
    let source = Source::open(&path, Some(FileFormat::Edges), progress)?;
    let again = Edges::<u64>::after(first.as_ref(), !asked);
    let numbered = |(from, to): (u64, u64)| (names.vertex(from), names.vertex(to));
    source
        .parse_into(0, &again, &|edges: Vec<(u64, u64)>| graph.take_edges(edges.into_iter().map(numbered).collect()))?;
    let weights = lines.count(found);
    Ok(of_edges(file, outline, Entries::OnDisk(graph), names.into_numbering(), weights))
}

/// The entries of an edge list.
fn of_edges(
    file: String,
    outline: Outline,
    entries: Entries<'_, ()>,
    numbering: Numbering,
    weights: u64,
) -> Listed<'_, ()> {
    Listed { file, format: FileFormat::Edges, outline, entries, numbering, weights, vertex_weights: 0 }
}

/// Refuses a file that wasn't asked for as an edge list, and has a first line that may be a header. `lines` and `blank` are numbers of
/// lines.
fn check_first(
    first: Option<&FirstLine>,
    asked: bool,
    file: &str,
    (lines, blank): (u64, u64),
    reach: Reach,
) -> Result<()> {
    match first.filter(|first| !asked && first.may_be_a_header(lines, blank, || reach)) {
        Some(first) => Err(first.unclear(file)),
        None => Ok(()),
    }
}

/// The edges of a mapped file, of which each rank of a grid reads a part. The file is read twice, as if it were built on disk. All ranks
/// call this.
pub(super) fn portions<'p>(source: Source<'p>, asked: bool, grid: &Grid) -> Result<Portions<'p>> {
    let groups = source.part(0, (grid.rank(), grid.size()));
    let file = source.name().to_owned();
    let first = grid.agree(FirstLine::of(&source))?;
    let lines = Edges::<u64>::after(first.as_ref(), !asked);
    // numbers that are further apart than text of this length can tell are listed
    let seen = Survey::new(&file, first.as_ref().and_then(FirstLine::pair), 2 * source.file_bytes + 4096);
    let count = |group: &Vec<Range<usize>>| -> Result<u64> {
        let lists = source.parse_pieces(group, &lines)?;
        lists.par_iter().try_for_each(|edges| seen.take(edges))?;
        Ok(lists.iter().map(|edges| edges.len() as u64).sum())
    };
    let found: u64 = grid.agree(groups.iter().map(count).sum())?;
    let sums = grid.sum(&[found, lines.blank.load(Relaxed), lines.count(found)])?;
    let (names, reach) = seen.finish_together(grid)?;
    check_first(first.as_ref(), asked, &file, (sums[0], sums[1]), reach)?;
    let vertices = names.few_enough(&file)? as usize;
    let (numbering, portions) = (names.numbering(), groups.len() as u64);
    source.progress.begin("share", Unit::Bytes, groups.iter().flatten().map(|piece| piece.len() as u64).sum());
    let edges = move |portion: u64| {
        let again = Edges::<u64>::after(first.as_ref(), !asked);
        let lists = source.parse_pieces(&groups[portion as usize], &again)?;
        let numbered = |(from, to): (u64, u64)| (names.vertex(from), names.vertex(to));
        Ok(lists.into_par_iter().map(|list| list.into_iter().map(numbered).collect()).collect())
    };
    Ok(Portions {
        vertices,
        directions: Directions::Matter,
        count: portions,
        edges: Box::new(edges),
        stated: Box::new(|_| Ok(())),
        about: About { name: short_name(&file), format: Some(FileFormat::Edges), numbering, weights: sums[2] },
    })
}

/// Reads the edges. Uses 32-bit vertex numbers first, unless the file cannot be read twice.
fn read_either<'p>(
    source: Source<'p>,
    asked: bool,
    target: Target,
    progress: &'p dyn Progress,
) -> Result<Listed<'p, ()>> {
    let (path, lasting) = (source.path().to_owned(), source.lasting);
    if !lasting {
        return read::<u64>(source, asked, target);
    }
    match read::<u32>(source, asked, target) {
        // numbers of 2^32 and more are rare; only files that contain them are read twice, with wide edges
        Err(Error::Parse { expected, .. }) if expected == NARROW => {
            read::<u64>(Source::open(&path, Some(FileFormat::Edges), progress)?, asked, target)
        }
        listed => listed,
    }
}

/// Reads the edges with vertex numbers of type `I`.
fn read<I: TryFrom<u64> + Copy + Into<u64> + Send + Sync>(
    source: Source<'_>,
    asked: bool,
    target: Target,
) -> Result<Listed<'_, ()>> {
    let file = source.name().to_owned();
    let first = FirstLine::of(&source)?;
    let lines = Edges::<I>::after(first.as_ref(), !asked);
    // reuses the allocations: an entry without a value has the size of its row and column
    let edges: Vec<Vec<(I, I, ())>> = source.parse(0, &lines)?.into_iter().map(with_nothing).collect();
    let found = edges.iter().map(|list| list.len() as u64).sum();
    let may_be =
        |first: &FirstLine| !asked && first.may_be_a_header(found, lines.blank.load(Relaxed), || reach(&edges));
    if let Some(first) = first.filter(may_be) {
        return Err(first.unclear(&file));
    }
    let (entries, vertices, numbering) = renumbered(&file, edges)?;
    let outline = Outline::graph(vertices, found, target);
    Ok(of_edges(file, outline, Entries::Listed(entries), numbering, lines.count(found)))
}

/// Edges as entries without values.
fn with_nothing<I>(edges: Vec<(I, I)>) -> Vec<(I, I, ())> {
    edges.into_iter().map(|(from, to)| (from, to, ())).collect()
}

/// How far the numbers of all edges but the first reach.
fn reach<I: Copy + Into<u64> + Sync>(edges: &[Vec<(I, I, ())>]) -> Reach {
    // pieces of comments have no edges
    let first = edges.iter().position(|list| !list.is_empty());
    let list = |(list, edges): (usize, &Vec<(I, I, ())>)| {
        let others = edges.iter().skip(usize::from(Some(list) == first));
        others.fold(Reach::default(), |reach, &(from, to, ())| reach.and(from.into(), to.into()))
    };
    edges.par_iter().enumerate().map(list).reduce(Reach::default, |x, y| x.and(y.from, y.to))
}
