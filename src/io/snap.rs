//! Reads edge lists, such as SNAP's: comments that start with `#` or `%`, and lines with two vertex numbers separated by
//! blanks.
//!
//! Vertex numbers may be any `u64`. Those that occur are renumbered 0, 1, ... in ascending order. Further columns
//! (weights, time stamps) must be numbers; they are counted and dropped. Each line is a directed edge, as in SNAP's
//! directed graphs; SNAP's undirected graphs list both directions.
//!
//! An edge list has no mark, so a file of another kind may look like one. Unless the caller asked for an edge list, all
//! lines must have the same number of columns, and [`FirstLine::may_be_a_header`] must not hold.

mod together;

pub(super) use together::{portions, weighted_portions};

use crate::error::{Error, Result};
use crate::formats::Refuse;
use crate::io::entries::Entries;
use crate::io::listed::{Listed, renumbered};
use crate::io::loaded::{Loaded, Numbering};
use crate::io::metis::Shape;
use crate::io::names::{Reach, Survey};
use crate::io::on_disk::OnDisk;
use crate::io::places::{NO_INTEGER, Places, is_fraction, no_weight};
use crate::io::source::Source;
use crate::io::target::{Outline, Target};
use crate::io::text::{self, Cursor, Fault, Lines};
use crate::io::value::{Field, Value, is_real};
use crate::io::weighted::Weighted;
use crate::io::{FileFormat, Progress};
use crate::memory;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use rayon::prelude::*;
use vxm_semiring::dynamic::Kind;

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

/// Lines with vertex numbers of type `I`, and a value of type `V` or any.
struct Edges<I, V = ()> {
    places: Places,
    /// The number of values on the first line, and the number of that line.
    values: u64,
    first: u64,
    /// Whether all lines must have as many.
    strict: bool,
    /// The number of values beyond `values` for each line.
    more: AtomicI64,
    blank: AtomicU64,
    /// Whether a weight is no integer of 32 bits.
    fractions: AtomicBool,
    entry: PhantomData<fn() -> (I, V)>,
}

/// The error text for a vertex number that does not fit `I`. The reader recognizes it and reads the file again with a
/// wider type.
const NARROW: &str = "a vertex number below 2^32";

impl<I: TryFrom<u64> + Send, V: Value> Edges<I, V> {
    fn after(first: Option<&FirstLine>, strict: bool, places: Places) -> Self {
        // columns that weren't chosen aren't looked at
        let values = first.filter(|_| !places.chosen).map_or(0, |first| first.columns.saturating_sub(2));
        let first = first.map_or(0, |first| first.line);
        let (more, blank) = (AtomicI64::new(0), AtomicU64::new(0));
        Self { places, values, first, strict, more, blank, fractions: AtomicBool::new(false), entry: PhantomData }
    }

    fn vertex(line: &mut Cursor<'_>) -> Result<I, Fault> {
        line.blanks_within()?;
        let at = line.at();
        let number = line.number().ok_or_else(|| {
            let is_name = line.peek().is_some_and(|byte| byte.is_ascii_alphabetic());
            let hint = if is_name { " (--input names reads names)" } else { "" };
            Fault { at, expected: format!("a vertex number from 0 to 2^64 - 1{hint}") }
        })?;
        I::try_from(number).map_err(|_| Fault { at, expected: NARROW.into() })
    }

    /// Checks and counts the values of a line, and returns the one that is asked for.
    #[inline]
    fn values(&self, line: &mut Cursor<'_>) -> Result<V, Fault> {
        let uneven = |at| Fault {
            at,
            expected: format!("{} columns, as on line {} (--input metis reads METIS)", self.values + 2, self.first),
        };
        let (mut count, mut value) = (0, None);
        let asked = self.places.weight.map(|column| column as u64 - 2);
        line.blanks();
        while !line.line_ends() {
            let at = line.at();
            line.not_after_return()?;
            let word = line.word();
            if !is_real(word) {
                return Err(Fault { at, expected: "a number or the end of the line".into() });
            }
            if asked == Some(count) {
                value = Some(self.weight(at, word)?);
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
        self.places.found(value, line)
    }

    /// A weight, at byte `at`.
    fn weight(&self, at: usize, word: &[u8]) -> Result<V, Fault> {
        // an integer that is none is told below
        if V::NUMBER == Some(Kind::F64) && !self.fractions.load(Relaxed) && is_fraction(word) {
            self.fractions.store(true, Relaxed);
        }
        V::parse(Field::Real, word).ok_or_else(|| no_weight(at, word))
    }

    /// The edge of a line, by the columns that were chosen. Others aren't looked at.
    fn chosen(&self, line: &mut Cursor<'_>) -> Result<(I, I, V), Fault> {
        let (mut from, mut to, mut value, mut count) = (None, None, None, 0);
        line.blanks();
        while !line.line_ends() {
            line.not_after_return()?;
            if count == self.places.from {
                from = Some(Self::vertex(line)?);
            } else if count == self.places.to {
                to = Some(Self::vertex(line)?);
            } else if self.places.weight == Some(count) {
                let at = line.at();
                value = Some(self.weight(at, line.word())?);
            } else {
                line.word();
            }
            count += 1;
            line.blanks();
        }
        let missing =
            |column: usize| Fault { at: line.at(), expected: format!("column {}, a vertex number", column + 1) };
        let (from, to) = (from.ok_or_else(|| missing(self.places.from))?, to.ok_or_else(|| missing(self.places.to))?);
        Ok((from, to, self.places.found(value, line)?))
    }

    /// The number of values in `lines` lines.
    fn count(&self, lines: u64) -> u64 {
        (lines * self.values).saturating_add_signed(self.more.load(Relaxed))
    }
}

impl<I: TryFrom<u64> + Send, V: Value> Lines for Edges<I, V> {
    type Entry = (I, I, V);

    #[inline]
    fn line(&self, line: &mut Cursor<'_>) -> Result<Option<Self::Entry>, Fault> {
        if is_comment(line) {
            return Ok(None);
        }
        if self.places.chosen {
            return self.chosen(line).map(Some);
        }
        let (from, to) = (Self::vertex(line)?, Self::vertex(line)?);
        Ok(Some((from, to, self.values(line)?)))
    }

    fn piece(&self, blank: usize) {
        self.blank.fetch_add(blank as u64, Relaxed);
    }
}

/// Reads the graph, made symmetric. `asked` tells whether the caller asked for an edge list; otherwise what may be
/// something else is refused.
pub(super) fn read_graph(source: Source<'_>, asked: bool, progress: &dyn Progress) -> Result<Loaded> {
    let places = Places::of(&source)?;
    listed(source, (asked, places.bare()), Target::GRAPH, progress)?.simple()
}

/// Reads the graph with the directions of its lines; see [`read_graph`].
pub(super) fn read_digraph(source: Source<'_>, asked: bool, progress: &dyn Progress) -> Result<Loaded> {
    let places = Places::of(&source)?;
    listed(source, (asked, places.bare()), Target::DIGRAPH, progress)?.simple()
}

/// Reads the graph with the directions of its lines, and with the weights of a column if one is chosen, or if the file is called `.wel`.
pub(super) fn read_weighted(source: Source<'_>, asked: bool, progress: &dyn Progress) -> Result<Weighted> {
    let places = weight_places(&source)?;
    if places.weight.is_none() {
        return listed(source, (asked, places), Target::DIGRAPH, progress)?.simple().map(Weighted::None);
    }
    let (path, lasting, target) = (source.path().to_owned(), source.lasting, Target::DIGRAPH);
    if !lasting {
        let (loaded, fractions) = read::<u64, f64>(source, (asked || places.chosen, places), target)?;
        return Ok(Weighted::of_text(loaded.digraph(Refuse)?, fractions));
    }
    // most weights are integers; only files that contain others are read twice
    match listed::<u32>(source, (asked, places), target, progress).and_then(|listed| listed.digraph(Refuse)) {
        Err(Error::Parse { expected, .. }) if expected == NO_INTEGER => {
            let source = Source::open(&path, Some(FileFormat::Edges), progress)?;
            listed::<f64>(source, (asked, places), target, progress)?.digraph(Refuse).map(Weighted::Real)
        }
        loaded => loaded.map(Weighted::Integer),
    }
}

/// The columns of a list with weights, if it has any.
fn weight_places(source: &Source<'_>) -> Result<Places> {
    let places = Places::of(source)?;
    // what has other columns than one for weights tells nothing by its name
    let is_bare = !places.chosen && FirstLine::of(source)?.is_none_or(|first| first.columns != 3);
    Ok(if is_bare { places.bare() } else { places })
}

/// Reads the edges for `target`.
fn listed<'p, V: Value>(
    source: Source<'p>,
    (asked, places): (bool, Places),
    target: Target,
    progress: &'p dyn Progress,
) -> Result<Listed<'p, V>> {
    let how = (asked || places.chosen, places);
    match too_many::<V>(&source, target) {
        Some(lines) => read_on_disk(source, how, (lines, target), progress),
        None => read_either(source, how, target, progress),
    }
}

/// About how many lines the file has, if memory is limited and they are too many for it; otherwise `None`.
fn too_many<V: Value>(source: &Source<'_>, target: Target) -> Option<u64> {
    memory::limit().filter(|_| source.lasting)?;
    let lines = lines_in(source);
    Outline::graph(0, lines, target).exceeded::<V>(size_of::<(u32, u32, V)>()).map(|_| lines)
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
fn read_on_disk<'p, V: Value>(
    source: Source<'p>,
    (asked, places): (bool, Places),
    (about, target): (u64, Target),
    progress: &'p dyn Progress,
) -> Result<Listed<'p, V>> {
    let (file, path) = (source.name().to_owned(), source.path().to_owned());
    let first = FirstLine::of(&source)?;
    let lines = Edges::<u64>::after(first.as_ref(), !asked, places.bare());
    // a bit for every number: a list of numbers would take the memory that there isn't
    let seen = Survey::new(&file, first.as_ref().and_then(FirstLine::pair), u64::MAX);
    let found = source.parse_into(0, &lines, &|edges: Vec<(u64, u64, ())>| seen.take(&edges))?;
    let (names, reach) = seen.finish();
    check_first(first.as_ref(), asked, &file, (found, lines.blank.load(Relaxed)), reach)?;
    let vertices = names.few_enough(&file)?;
    let outline = Outline::graph(vertices, found.max(about), target);
    let graph = OnDisk::new(&file, outline, memory::limit().unwrap_or(u64::MAX), progress)?;
    let source = Source::open(&path, Some(FileFormat::Edges), progress)?;
    let again = Edges::<u64, V>::after(first.as_ref(), !asked, places);
    let numbered = |(from, to, value): (u64, u64, V)| (names.vertex(from), names.vertex(to), value);
    source.parse_into(0, &again, &|edges: Vec<_>| graph.take(&edges.into_iter().map(numbered).collect::<Vec<_>>()))?;
    let weights = lines.count(found);
    Ok(of_edges(file, outline, Entries::OnDisk(graph), names.into_numbering(), weights))
}

/// The entries of an edge list.
fn of_edges<V: Value>(
    file: String,
    outline: Outline,
    entries: Entries<'_, V>,
    numbering: Numbering,
    weights: u64,
) -> Listed<'_, V> {
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

/// Reads the edges. Uses 32-bit vertex numbers first, unless the file cannot be read twice.
fn read_either<'p, V: Value>(
    source: Source<'p>,
    how: (bool, Places),
    target: Target,
    progress: &'p dyn Progress,
) -> Result<Listed<'p, V>> {
    let (path, lasting) = (source.path().to_owned(), source.lasting);
    if !lasting {
        return read::<u64, V>(source, how, target).map(|(listed, _)| listed);
    }
    match read::<u32, V>(source, how, target).map(|(listed, _)| listed) {
        // numbers of 2^32 and more are rare; only files that contain them are read twice, with wide edges
        Err(Error::Parse { expected, .. }) if expected == NARROW => {
            let source = Source::open(&path, Some(FileFormat::Edges), progress)?;
            read::<u64, V>(source, how, target).map(|(listed, _)| listed)
        }
        listed => listed,
    }
}

/// Reads the edges with vertex numbers of type `I`. Tells whether a weight is no integer.
fn read<I: TryFrom<u64> + Copy + Into<u64> + Send + Sync, V: Value>(
    source: Source<'_>,
    (asked, places): (bool, Places),
    target: Target,
) -> Result<(Listed<'_, V>, bool)> {
    let file = source.name().to_owned();
    let first = FirstLine::of(&source)?;
    let lines = Edges::<I, V>::after(first.as_ref(), !asked, places);
    let edges: Vec<Vec<(I, I, V)>> = source.parse(0, &lines)?;
    let found = edges.iter().map(|list| list.len() as u64).sum();
    let may_be =
        |first: &FirstLine| !asked && first.may_be_a_header(found, lines.blank.load(Relaxed), || reach(&edges));
    if let Some(first) = first.filter(may_be) {
        return Err(first.unclear(&file));
    }
    let (entries, vertices, numbering) = renumbered(&file, edges)?;
    let outline = Outline::graph(vertices, found, target);
    let fractions = lines.fractions.load(Relaxed);
    Ok((of_edges(file, outline, Entries::Listed(entries), numbering, lines.count(found)), fractions))
}

/// How far the numbers of all edges but the first reach.
fn reach<I: Copy + Into<u64> + Sync, V: Value>(edges: &[Vec<(I, I, V)>]) -> Reach {
    // pieces of comments have no edges
    let first = edges.iter().position(|list| !list.is_empty());
    let list = |(list, edges): (usize, &Vec<(I, I, V)>)| {
        let others = edges.iter().skip(usize::from(Some(list) == first));
        others.fold(Reach::default(), |reach, &(from, to, _)| reach.and(from.into(), to.into()))
    };
    edges.par_iter().enumerate().map(list).reduce(Reach::default, |x, y| x.and(y.from, y.to))
}
