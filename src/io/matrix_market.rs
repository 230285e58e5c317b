//! Reads Matrix Market's coordinate format: a banner, comments, a line with the shape and the number of entries, then
//! one line per entry.
//!
//! Comments, LAGraph's `%%GraphBLAS type` among them, are skipped anywhere. A matrix read as a graph must be square;
//! its values are checked and dropped, and explicit zeros are edges. The array format is refused.

use crate::error::{Error, Result};
use crate::formats::{Csr, Directions, First, MAX_VERTICES, Refuse};
use crate::io::entries::Entries;
use crate::io::listed::Listed;
use crate::io::loaded::{Loaded, Numbering};
use crate::io::portions::{About, Portions, Repeated, WeightedWay};
use crate::io::source::Source;
use crate::io::target::{Mirror, Outline, Target};
use crate::io::text::{self, Cursor, Fault, Lines};
use crate::io::value::{Field, Value};
use crate::io::weighted::Weighted;
use crate::io::{FileFormat, short_name};
use crate::memory;
use core::marker::PhantomData;

/// The symmetry of the banner: which entries are implied by others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Symmetry {
    General,
    Symmetric,
    Skew,
    Hermitian,
}

/// The banner and the line of sizes.
struct Header {
    field: Field,
    symmetry: Symmetry,
    rows: u64,
    columns: u64,
    entries: u64,
    /// Positions in bytes: of the field, of the line of sizes, and of the number of entries in it.
    field_at: usize,
    shape_at: usize,
    entries_at: usize,
    /// The position in bytes after the line of sizes.
    body: usize,
}

impl Header {
    fn read(source: &Source<'_>) -> Result<Self> {
        let header = Self::parse(source.head()).map_err(|fault| source.error(&fault))?;
        let count = header.rows.max(header.columns);
        if count > MAX_VERTICES as u64 {
            return Err(Error::TooManyVertices {
                place: source.place(header.shape_at),
                count: count.into(),
                limit: MAX_VERTICES as u64,
            });
        }
        Ok(header)
    }

    fn parse(text: &[u8]) -> Result<Self, Fault> {
        let mut cursor = Cursor::new(text, 0);
        choose(&mut cursor, &[("%%MatrixMarket", ())])?;
        choose(&mut cursor, &[("matrix", ())])?;
        choose(&mut cursor, &[("coordinate", ())])?;
        cursor.blanks();
        let field_at = cursor.at();
        let fields = [
            ("pattern", Field::Pattern),
            ("integer", Field::Integer),
            ("real", Field::Real),
            ("double", Field::Real),
            ("complex", Field::Complex),
        ];
        let field = choose(&mut cursor, &fields)?;
        let symmetries = [
            ("general", Symmetry::General),
            ("symmetric", Symmetry::Symmetric),
            ("skew-symmetric", Symmetry::Skew),
            ("hermitian", Symmetry::Hermitian),
        ];
        // the last is for complex numbers
        let known = if field == Field::Complex { symmetries.len() } else { symmetries.len() - 1 };
        let symmetry = choose(&mut cursor, &symmetries[..known])?;
        cursor.end_of_line()?;
        while cursor.next_line() && cursor.peek() == Some(b'%') {
            cursor.skip_comment()?;
        }
        let shape_at = cursor.at();
        let mut count = |what: &str| {
            cursor.blanks_within()?;
            let number = cursor.number();
            let at = cursor.at();
            number.map(|n| (n, at)).ok_or_else(|| cursor.fault(what))
        };
        let (rows, _) = count("the number of rows")?;
        let (columns, columns_end) = count("the number of columns")?;
        let (entries, _) = count("the number of entries")?;
        cursor.end_of_line()?;
        if symmetry != Symmetry::General && rows != columns {
            return Err(Fault {
                at: shape_at,
                expected: format!("as many rows as columns ({columns}) of a symmetric matrix"),
            });
        }
        let mut entries_at = Cursor::new(text, columns_end);
        entries_at.blanks();
        Ok(Self {
            field,
            symmetry,
            rows,
            columns,
            entries,
            field_at,
            shape_at,
            entries_at: entries_at.at(),
            body: cursor.at(),
        })
    }

    /// The fault that the field isn't what is `expected`.
    fn expect_field(&self, expected: impl Into<String>) -> Fault {
        Fault { at: self.field_at, expected: expected.into() }
    }

    /// The error for a graph with complex weights.
    fn without_complex(&self, source: &Source<'_>) -> Error {
        source.error(&self.expect_field("`pattern`, `integer` or `real` of a graph with weights"))
    }

    /// Checks that entries can be values of `V`.
    fn check_type<V: Value>(&self) -> Result<(), Fault> {
        let is_complex = self.field == Field::Complex;
        match V::COMPLEX {
            _ if V::FIELDS.is_empty() => Ok(()),
            Some(_) if !is_complex => {
                Err(self.expect_field(format!("`complex` for values of type {}", V::described())))
            }
            None if is_complex => {
                Err(self.expect_field(format!("`pattern`, `integer` or `real` for values of type {}", V::described())))
            }
            _ => Ok(()),
        }
    }

    /// The entry that another one implies.
    fn mirror(&self) -> Mirror {
        match self.symmetry {
            Symmetry::General => Mirror::None,
            Symmetry::Symmetric => Mirror::Same,
            Symmetry::Skew => Mirror::Negated,
            Symmetry::Hermitian => Mirror::Conjugate,
        }
    }

    fn lines<V>(&self) -> EntryLines<V> {
        EntryLines {
            field: self.field,
            symmetry: self.symmetry,
            rows: self.rows,
            columns: self.columns,
            value: PhantomData,
        }
    }
}

/// Reads the next word and returns its meaning among `choices`. Upper and lower case are equal.
fn choose<T: Copy>(cursor: &mut Cursor<'_>, choices: &[(&str, T)]) -> Result<T, Fault> {
    cursor.blanks();
    let at = cursor.at();
    let word = cursor.word();
    let known = choices.iter().find(|(name, _)| word.eq_ignore_ascii_case(name.as_bytes()));
    known.map(|&(_, meaning)| meaning).ok_or_else(|| {
        let names: Vec<String> = choices.iter().map(|(name, _)| format!("`{name}`")).collect();
        Fault { at, expected: names.join(" or ") }
    })
}

/// Lines `ROW COLUMN VALUE`, or `ROW COLUMN REAL IMAGINARY`.
struct EntryLines<V> {
    field: Field,
    symmetry: Symmetry,
    rows: u64,
    columns: u64,
    value: PhantomData<fn() -> V>,
}

impl<V: Value> Lines for EntryLines<V> {
    type Entry = (u32, u32, V);

    #[inline]
    fn line(&self, line: &mut Cursor<'_>) -> Result<Option<Self::Entry>, Fault> {
        if line.peek() == Some(b'%') {
            return Ok(None);
        }
        let row = line.number_in("a row", 1..=self.rows)?;
        let column = line.number_in("a column", 1..=self.columns)?;
        line.blanks_within()?;
        let at = line.at();
        let value = match self.field {
            Field::Pattern => V::parse(self.field, &[]),
            Field::Complex => {
                let re = line.word();
                line.blanks_within()?;
                V::parse_complex([re, line.word()])
            }
            _ => V::parse(self.field, line.word()),
        };
        let value = value.ok_or_else(|| Fault {
            at,
            expected: match (self.field, V::NAME) {
                (Field::Complex, "()") => "two numbers, the parts of a complex one".to_owned(),
                (Field::Complex, _) => format!("two numbers of a value of type {}", V::described()),
                (Field::Integer, "()") => "an integer".to_owned(),
                (_, "()") => "a number".to_owned(),
                (_, name) => format!("a value of type {name}"),
            },
        })?;
        let is_zero = || value.negate().is_some_and(|other| other == value);
        if row == column && self.symmetry == Symmetry::Skew && !is_zero() {
            let nothing = if self.field == Field::Pattern { "no entry" } else { "0" };
            return Err(Fault { at, expected: format!("{nothing} on the diagonal of a skew-symmetric matrix") });
        }
        let is_real = || value.conjugate().is_none_or(|other| other == value);
        if row == column && self.symmetry == Symmetry::Hermitian && !is_real() {
            return Err(Fault { at, expected: "a real number on the diagonal of a hermitian matrix".to_owned() });
        }
        Ok(Some(((row - 1) as u32, (column - 1) as u32, value)))
    }
}

/// Reads the entries for `target`, and checks their number against the header.
fn read<'p, V: Value>(source: Source<'p>, header: &Header, target: Target) -> Result<Listed<'p, V>> {
    let (stated, file) = (Stated::of(&source, header), source.name().to_owned());
    let outline = Outline { rows: header.rows, columns: header.columns, entries: header.entries, target };
    let entries = Entries::parse(source, header.body, &header.lines(), outline)?;
    stated.check(header, entries.count())?;
    let weights = if header.field == Field::Pattern { 0 } else { header.entries };
    Ok(Listed {
        file,
        format: FileFormat::MatrixMarket,
        outline,
        entries,
        numbering: Numbering::From(1),
        weights,
        vertex_weights: 0,
    })
}

/// Where a file states its number of entries.
struct Stated {
    file: String,
    line: u64,
    column: u64,
}

impl Stated {
    fn of(source: &Source<'_>, header: &Header) -> Self {
        let (line, column) = text::locate(source.head(), header.entries_at);
        Self { file: source.name().to_owned(), line: line + 1, column }
    }

    /// Checks that so many entries were found.
    fn check(&self, header: &Header, found: u64) -> Result<()> {
        let Self { file, line, column } = self;
        let expected = match header.entries {
            entries if entries == found => return Ok(()),
            1 => "1 entry (as stated here)".to_owned(),
            entries => format!("{entries} entries (as stated here)"),
        };
        let (line, column) = (*line, *column);
        Err(Error::Parse { file: file.clone(), line, column, expected, found: found.to_string() })
    }
}

/// Reads the header of a graph, and checks that the matrix is square and that its rows fit into memory.
fn graph_header(source: &Source<'_>) -> Result<(Header, Directions)> {
    let (header, directions) = square_header(source)?;
    memory::require(memory::for_building(header.rows, 0, directions), || source.place(header.shape_at))?;
    Ok((header, directions))
}

/// Reads the header of a graph, and checks that the matrix is square.
fn square_header(source: &Source<'_>) -> Result<(Header, Directions)> {
    let header = Header::read(source)?;
    if header.rows != header.columns {
        return Err(source.error(&Fault {
            at: header.shape_at,
            expected: format!("as many rows as columns ({}) of a graph", header.columns),
        }));
    }
    let directions = match header.symmetry {
        Symmetry::General => Directions::Matter,
        _ => Directions::Ignored,
    };
    Ok((header, directions))
}

/// Reads a square matrix as a directed graph with the weights that it has. Self-loops are dropped.
pub(super) fn read_weighted(source: Source<'_>) -> Result<Weighted> {
    let (header, directions) = graph_header(&source)?;
    let target = Target::Digraph(header.mirror());
    match header.field {
        Field::Pattern => pattern(source, &header, directions).map(Weighted::None),
        Field::Integer => read(source, &header, target)?.digraph(Refuse).map(Weighted::Integer),
        Field::Real => read(source, &header, target)?.digraph(Refuse).map(Weighted::Real),
        Field::Complex => Err(header.without_complex(&source)),
    }
}

/// Reads the pattern of a square matrix as a directed graph. Self-loops and duplicates are dropped.
pub(super) fn read_digraph(source: Source<'_>) -> Result<Loaded> {
    let (header, directions) = graph_header(&source)?;
    pattern(source, &header, directions)
}

/// Reads the pattern of a square matrix as a directed graph. One with symmetry is undirected.
fn pattern(source: Source<'_>, header: &Header, directions: Directions) -> Result<Loaded> {
    match directions {
        Directions::Ignored => read(source, header, Target::Graph(directions))?.graph(),
        Directions::Matter => read::<()>(source, header, Target::Digraph(header.mirror()))?.digraph(First),
    }
}

/// Reads the pattern of a square matrix as a graph.
pub(super) fn read_graph(source: Source<'_>) -> Result<Loaded> {
    let (header, directions) = graph_header(&source)?;
    read(source, &header, Target::Graph(directions))?.graph()
}

/// The edges of a graph in a mapped file, of which part number `part.0` of `part.1` is read.
pub(super) fn portions(source: Source<'_>, part: (usize, usize)) -> Result<Portions<'_>> {
    let (header, _) = square_header(&source)?;
    Ok(portions_below(header, source, part))
}

/// The edges with the weights that they have.
pub(super) fn weighted_portions(source: Source<'_>, part: (usize, usize)) -> Result<WeightedWay<'_>> {
    let (header, _) = square_header(&source)?;
    Ok(match header.field {
        Field::Pattern => WeightedWay::Without(short_name(source.name())),
        Field::Integer => WeightedWay::Integer(portions_below(header, source, part)),
        Field::Real => WeightedWay::Real(portions_below(header, source, part)),
        Field::Complex => return Err(header.without_complex(&source)),
    })
}

/// The entries below the header.
fn portions_below<V: Value>(header: Header, source: Source<'_>, part: (usize, usize)) -> Portions<'_, V> {
    let groups = source.part(header.body, part);
    let weights = if header.field == Field::Pattern { 0 } else { header.entries };
    let about = About::of_file(source.name(), FileFormat::MatrixMarket, Numbering::From(1), weights);
    let (stated, lines) = (Stated::of(&source, &header), header.lines::<V>());
    Portions {
        vertices: header.rows as usize,
        mirror: header.mirror(),
        repeated: Repeated::refused::<V>(),
        both_ways: false,
        count: groups.len() as u64,
        edges: Box::new(move |portion| source.parse_pieces(&groups[portion as usize], &lines)),
        stated: Box::new(move |found, _| stated.check(&header, found)),
        about,
    }
}

/// Reads the matrix unchanged.
pub(super) fn read_matrix<T: Value>(source: Source<'_>) -> Result<Csr<T>> {
    let header = Header::read(&source)?;
    header.check_type::<T>().map_err(|fault| source.error(&fault))?;
    // two arrays of offsets are needed while the rows are assembled
    memory::require(16 * (u128::from(header.rows) + 1), || source.place(header.shape_at))?;
    read::<T>(source, &header, Target::Matrix(header.mirror()))?.matrix(Refuse)
}
