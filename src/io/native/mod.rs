//! The native file, `.vxm`: the three arrays of CSR as memory holds them, behind a header. A mapped file is a matrix without a copy.
//! docs/formats.md describes every byte.

mod check;
mod layout;
mod write;

pub(super) use write::write_native_checked;
pub use write::{write_native, write_native_graph};

use crate::error::{Error, Result};
use crate::formats::buffer::Buffer;
use crate::formats::{Csr, Refuse};
use crate::io::binary::{Array, Rows};
use crate::io::listed::Listed;
use crate::io::loaded::{Loaded, Numbering, Report};
use crate::io::portions::{About, Portions, WeightedWay};
use crate::io::source::Source;
use crate::io::target::{Outline, Target};
use crate::io::value::{Value, is_plain};
use crate::io::weighted::Weighted;
use crate::io::{FileFormat, Progress, short_name};
use crate::memory;
use check::Checker;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use half::{bf16, f16};
use layout::{Facts, Layout, Type};
use memmap2::Mmap;
use std::path::Path;
use std::sync::Arc;
use vxm_semiring::dynamic::Kind;

use layout::ELEMENTS;
pub(super) use layout::MAGIC;

/// 16 bytes, compared as they are.
#[vxm_semiring::scalar]
struct Words {
    low: u64,
    high: u64,
}

/// What is checked of a native file before its arrays are used.
///
/// The invariants of CSR are always checked, in one pass over the file by all threads: code that indexes by a column must not meet one that
/// the matrix doesn't have. Both checks of a part are made together, so a file larger than memory is read once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Verify {
    /// Checksums and invariants: every damaged byte is found. A part is compared with its checksum once for each [`NativeFile`].
    #[default]
    All,
    /// Invariants only. Damage that leaves a valid matrix isn't found.
    Invariants,
}

/// An open native file. Opening maps the file and checks its header, in time that doesn't depend on its size.
///
/// The file must not be changed while it or a matrix of it is in use; if it is truncated, the process ends with SIGBUS, as for every mapped
/// file. [`write_native`] replaces a file by a new one, which leaves the mapped one as it was.
///
/// ```
/// use vxm::io::{NativeFile, Numbering, Verify, WholeFile, generate, write_native};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("grid.vxm");
/// let grid = generate("grid:300x400", &())?.graph;
/// write_native(WholeFile::prepare(&path)?, &grid, &Numbering::From(0))?;
///
/// let file = NativeFile::open(&path)?;
/// assert_eq!((file.nrows(), file.nnz(), file.element()), (120_000, grid.nnz(), "pattern"));
/// assert!(file.is_symmetric() && file.is_loopless());
/// // the arrays are those of the file
/// assert_eq!(file.matrix::<()>(Verify::All, &())?, grid);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NativeFile {
    name: String,
    map: Arc<Mmap>,
    layout: Layout,
    /// The type of entries, as text.
    element: String,
    /// Whether each part was compared with its checksum, and whether all invariants were checked.
    compared: Vec<AtomicBool>,
    sound: AtomicBool,
}

impl NativeFile {
    /// The names of the types of entries that a file can hold, besides structs; see [`element`](Self::element).
    pub const ELEMENTS: [&str; 14] = ELEMENTS;

    /// Opens a file and checks its header. O(1) time, and a checksum of 4 bytes for each 16 MiB.
    ///
    /// # Errors
    /// [`Error::Io`]. [`Error::Invalid`] naming the byte and what was expected there: another kind of file, a newer version, another order of
    /// bytes, a damaged header, a file that was cut.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::of(Source::open(path.as_ref(), Some(FileFormat::Native), &())?)
    }

    /// Checks the header of an open file.
    pub(super) fn of(source: Source<'_>) -> Result<Self> {
        let (name, map) = source.into_map()?;
        let layout = Layout::read(&name, &map)?;
        let compared = (0..layout.parts()).map(|_| AtomicBool::new(false)).collect();
        let element = layout.facts.element.to_string();
        Ok(Self { name, map, layout, element, compared, sound: AtomicBool::new(false) })
    }

    fn facts(&self) -> &Facts {
        &self.layout.facts
    }

    /// The number of rows.
    pub fn nrows(&self) -> usize {
        self.facts().rows
    }

    /// The number of columns.
    pub fn ncols(&self) -> usize {
        self.facts().columns
    }

    /// The number of entries.
    pub fn nnz(&self) -> usize {
        self.facts().entries
    }

    /// The type of the entries: `pattern`, the name of a type such as `u32`, or the fields of a struct, such as `{cost: u32, parent: u32}`.
    pub fn element(&self) -> &str {
        &self.element
    }

    /// Whether the header says that the matrix equals its transpose. The program that wrote the file has checked it; readers don't.
    pub fn is_symmetric(&self) -> bool {
        self.facts().symmetric
    }

    /// Whether the diagonal is empty. This is one of the invariants that are checked.
    pub fn is_loopless(&self) -> bool {
        self.facts().loopless
    }

    /// The size of the file in bytes.
    pub fn len_bytes(&self) -> usize {
        self.map.len()
    }

    /// Checks the file, by all threads. O(1) time if that was done before.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the bytes and sections that are damaged, or the first byte that breaks an invariant.
    pub fn verify(&self, verify: Verify, progress: &dyn Progress) -> Result<()> {
        let all_compared = || self.compared.iter().all(|part| part.load(Relaxed));
        if self.sound.load(Relaxed) && (verify == Verify::Invariants || all_compared()) {
            return Ok(());
        }
        self.checker(verify, &|bytes| progress.advance(bytes)).check()?;
        self.sound.store(true, Relaxed);
        Ok(())
    }

    fn checker<'f>(&'f self, verify: Verify, done: &'f (dyn Fn(u64) + Sync)) -> Checker<'f> {
        let compared = (verify == Verify::All).then_some(&self.compared[..]);
        Checker { file: &self.name, bytes: &self.map, layout: &self.layout, compared, done }
    }

    /// Checks part number `part.0` of `part.1` of the columns, and all offsets and numbers of vertices, by all threads: ranks that check a part
    /// each check the whole file.
    ///
    /// # Errors
    /// Those of [`verify`](Self::verify).
    pub(crate) fn verify_part(&self, part: (usize, usize), progress: &dyn Progress) -> Result<()> {
        self.checker(Verify::All, &|bytes| progress.advance(bytes)).check_part(part)
    }

    /// A checksum of the checksums of all parts.
    pub(crate) fn sums(&self) -> u64 {
        crc32fast::hash(&self.map[self.layout.sums.clone()]).into()
    }

    /// The pattern in the mapped file, of which only a part was checked here.
    pub(crate) fn pattern_in_part(&self) -> Result<Csr> {
        self.arrays()
    }

    /// What is told of the graph beside its entries.
    pub(crate) fn about(&self) -> (String, Numbering, Report) {
        let report = Report { entries: self.nnz() as u64, symmetric: self.is_symmetric(), ..Report::default() };
        (short_name(&self.name), self.numbers(), Report { weights: self.weights(), ..report })
    }

    /// The edges of the graph of a file that was checked, of which part number `part.0` of `part.1` is read.
    pub(crate) fn portions<'p, V: Value>(self, part: (usize, usize)) -> Portions<'p, V> {
        let about = About::of_file(&self.name, FileFormat::Native, self.numbers(), self.weights());
        let size = (self.nrows() as u64, self.nnz() as u64);
        Portions::of_rows(size, part, about, move |range| self.rows().range(range))
    }

    /// The edges with the weights that they have.
    pub(crate) fn weighted_portions<'p>(self, part: (usize, usize)) -> Result<WeightedWay<'p>> {
        Ok(match self.weight()? {
            None => WeightedWay::Without(short_name(&self.name)),
            Some(WeightKind::Integer) => WeightedWay::Integer(self.portions(part)),
            Some(WeightKind::Real) => WeightedWay::Real(self.portions(part)),
        })
    }

    /// What the values are as weights of edges; `None` if they are none.
    fn weight(&self) -> Result<Option<WeightKind>> {
        match self.element() {
            "pattern" | "bool" => Ok(None),
            "f16" | "bf16" | "f32" | "f64" => Ok(Some(WeightKind::Real)),
            element if element.starts_with('{') => {
                Err(Error::invalid(format!("{}: expected numbers as weights, found {element}", self.name)))
            }
            _ => Ok(Some(WeightKind::Integer)),
        }
    }

    /// The matrix. Its arrays are those of the mapped file where the file holds entries of type `T`; of another type they are converted.
    /// Structs and 16-bit floats are copied. A struct is read as another one if their fields have the same names, in the same order. `()` takes any type, and drops the
    /// values.
    ///
    /// # Errors
    /// Those of [`verify`](Self::verify). [`Error::Invalid`]: a value that `T` can't hold, or another type of values. [`Error::Memory`].
    pub fn matrix<T: Value>(&self, verify: Verify, progress: &dyn Progress) -> Result<Csr<T>> {
        self.check_type::<T>()?;
        self.verify(verify, progress)?;
        match self.mapped() {
            Some(matrix) => matrix,
            None => self.listed::<T>(Target::MATRIX, progress)?.matrix(Refuse),
        }
    }

    /// Checks that the matrix equals its transpose if the header says so. Readers rely on the header instead. O(nnz) time.
    ///
    /// # Errors
    /// Those of [`verify`](Self::verify). [`Error::Invalid`] naming the first entry without an equal mirror image.
    pub fn check_symmetry(&self, progress: &dyn Progress) -> Result<()> {
        self.verify(Verify::Invariants, progress)?;
        match (self.element(), self.facts().element.bytes()) {
            _ if !self.is_symmetric() => Ok(()),
            ("bool", _) => self.mirrored::<bool>(),
            ("f16", _) => self.mirrored::<f16>(),
            ("bf16", _) => self.mirrored::<bf16>(),
            ("f32", _) => self.mirrored::<f32>(),
            ("f64", _) => self.mirrored::<f64>(),
            (_, 0) => self.mirrored::<()>(),
            (_, 1) => self.mirrored::<u8>(),
            (_, 2) => self.mirrored::<u16>(),
            (_, 4) => self.mirrored::<u32>(),
            (_, 8) => self.mirrored::<u64>(),
            _ => self.mirrored::<Words>(),
        }
    }

    fn mirrored<T: Value>(&self) -> Result<()> {
        let matrix = self.arrays::<T>()?;
        match matrix.asymmetry() {
            None => Ok(()),
            Some((row, column)) => {
                let found = format!("found row {row}, column {column} without an equal mirror image");
                Err(Error::invalid(format!("{}: expected a symmetric matrix (by its flags), {found}", self.name)))
            }
        }
    }

    /// What the file calls each vertex.
    ///
    /// # Errors
    /// Those of [`verify`](Self::verify) by [`Verify::Invariants`].
    pub fn numbering(&self) -> Result<Numbering> {
        self.verify(Verify::Invariants, &())?;
        Ok(self.numbers())
    }

    /// What the file calls each vertex, after its section of numbers was checked.
    fn numbers(&self) -> Numbering {
        if self.facts().named.is_some()
            && let Ok(names) = self.checker(Verify::Invariants, &|_| ()).names()
        {
            return Numbering::Named(names);
        }
        match Buffer::mapped(&self.map, self.layout.labels.clone()) {
            Some(labels) if self.facts().listed => Numbering::Listed(labels.into_vec()),
            _ => Numbering::From(self.facts().first),
        }
    }

    /// Checks that values of `T` can be made of the file's: both are numbers, or both are structs with fields of the same names.
    fn check_type<T: Value>(&self) -> Result<()> {
        let (found, asked) = (&self.facts().element.0, Type::of::<T>().0);
        let names = |fields: &[(String, _)]| fields.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        // a pattern holds the number 1
        let number = |fields: &[(String, _)]| fields.len() < 2;
        if asked.is_empty() || number(found) && number(&asked) || names(found) == names(&asked) {
            return Ok(());
        }
        let (asked, found) = (T::described(), self.element());
        Err(Error::invalid(format!("{}: expected values of type {asked}, found {found}", self.name)))
    }

    /// The matrix in the mapped file, which was checked; `None` if values must be converted.
    fn mapped<T: Value>(&self) -> Option<Result<Csr<T>>> {
        let asked = Type::of::<T>();
        (asked == self.facts().element || asked.0.is_empty()).then(|| self.arrays())
    }

    /// The matrix in the mapped file, which was checked. Values of `T` have the size of the file's.
    fn arrays<T: Value>(&self) -> Result<Csr<T>> {
        let Layout { offsets, columns, values, facts, .. } = &self.layout;
        let wrong = |section: &str| Error::invalid(format!("{}: section {section}: expected valid numbers", self.name));
        if !is_plain::<T>() {
            memory::require(values.len() as u128, || self.name.clone())?;
        }
        let offsets = Buffer::mapped(&self.map, offsets.clone()).ok_or_else(|| wrong("offsets"))?;
        let columns = Buffer::mapped(&self.map, columns.clone()).ok_or_else(|| wrong("columns"))?;
        let values = T::mapped(&self.map, values.clone(), facts.entries).ok_or_else(|| self.wrong_bool())?;
        Ok(Csr::from_buffers((facts.rows, facts.columns), offsets, columns, values))
    }

    /// The error for the first number that is no `bool`: only those can be invalid.
    fn wrong_bool(&self) -> Error {
        let (values, element) = (&self.layout.values, &self.facts().element);
        let truths: Vec<usize> = element.places().filter(|&(_, kind)| kind == Kind::Bool).map(|(at, _)| at).collect();
        let size = element.bytes();
        let is_wrong = |(at, &byte): (usize, &u8)| byte > 1 && truths.contains(&(at % size));
        let at = self.map[values.clone()].iter().enumerate().position(is_wrong).unwrap_or(0) + values.start;
        super::binary::broken(&self.name, at, "a truth value, 0 or 1", &self.map[at].to_string())
    }

    /// The arrays, of which values may be converted.
    fn rows(&self) -> Rows<'_> {
        let Layout { offsets, columns, values, facts, .. } = &self.layout;
        Rows {
            offsets: Array::within(&self.name, &self.map, offsets.clone(), Kind::U64),
            columns: Array::within(&self.name, &self.map, columns.clone(), Kind::U32),
            values: {
                let stride = facts.element.bytes();
                let field = |(at, kind): (usize, Kind)| {
                    let range = (values.start + at).min(values.end)..values.end;
                    Array { stride, ..Array::within(&self.name, &self.map, range, kind) }
                };
                facts.element.places().map(field).collect()
            },
            width: facts.columns as u64,
        }
    }

    /// The entries for `target`, with their values converted.
    fn listed<'p, T: Value>(&self, target: Target, progress: &'p dyn Progress) -> Result<Listed<'p, T>> {
        let [rows, columns, entries] = [self.nrows(), self.ncols(), self.nnz()].map(|count| count as u64);
        let outline = Outline { rows, columns, entries, target };
        Ok(Listed {
            entries: self.rows().entries(outline, progress)?,
            file: self.name.clone(),
            format: FileFormat::Native,
            outline,
            numbering: self.numbers(),
            weights: self.weights(),
            vertex_weights: 0,
        })
    }

    /// The number of values that a pattern ignores.
    fn weights(&self) -> u64 {
        if self.facts().element.0.is_empty() { 0 } else { self.nnz() as u64 }
    }

    /// The mapped graph, without changes.
    fn unchanged<T: Value>(&self, graph: Csr<T>) -> Loaded<T> {
        let (name, numbering, mut report) = self.about();
        if size_of::<T>() > 0 {
            report.weights = 0;
        }
        Loaded { report, graph, name, format: Some(FileFormat::Native), numbering }
    }

    /// A directed graph: mapped if it has no self-loops, or else without them.
    fn digraph<T: Value>(&self, progress: &dyn Progress) -> Result<Loaded<T>> {
        self.check_graph(progress)?;
        match self.mapped().filter(|_| self.is_loopless()) {
            Some(graph) => Ok(self.unchanged(graph?)),
            None => {
                let listed = self.listed::<T>(Target::DIGRAPH, progress)?;
                // entries of a file are distinct
                listed.digraph(Refuse)
            }
        }
    }

    /// Checks that the matrix is square, and all of the file.
    fn check_graph(&self, progress: &dyn Progress) -> Result<()> {
        self.check_square()?;
        self.verify(Verify::All, progress)
    }

    /// Checks that the matrix is square.
    pub(crate) fn check_square(&self) -> Result<()> {
        let (rows, columns) = (self.nrows(), self.ncols());
        if rows == columns {
            return Ok(());
        }
        let expected = format!("as many rows as columns ({columns}) of a graph, found {rows}");
        Err(Error::invalid(format!("{}: expected {expected}", self.name)))
    }
}

/// The kind of numbers that weights are.
enum WeightKind {
    Integer,
    Real,
}

/// Reads the file as an undirected graph. A symmetric one without self-loops stays in the file.
pub(super) fn read_graph(source: Source<'_>, progress: &dyn Progress) -> Result<Loaded> {
    let file = NativeFile::of(source)?;
    if file.is_symmetric() && file.is_loopless() {
        return file.digraph(progress);
    }
    file.check_graph(progress)?;
    file.listed::<()>(Target::GRAPH, progress)?.graph()
}

/// Reads the file with the directions of its edges.
pub(super) fn read_digraph(source: Source<'_>, progress: &dyn Progress) -> Result<Loaded> {
    NativeFile::of(source)?.digraph(progress)
}

/// Reads the file with the directions of its edges, and with their weights if it has any.
pub(super) fn read_weighted(source: Source<'_>, progress: &dyn Progress) -> Result<Weighted> {
    let file = NativeFile::of(source)?;
    match file.weight()? {
        None => file.digraph(progress).map(Weighted::None),
        Some(WeightKind::Integer) => file.digraph(progress).map(Weighted::Integer),
        Some(WeightKind::Real) => file.digraph(progress).map(Weighted::Real),
    }
}

/// Reads the matrix.
pub(super) fn read_matrix<T: Value>(source: Source<'_>, progress: &dyn Progress) -> Result<Csr<T>> {
    NativeFile::of(source)?.matrix(Verify::All, progress)
}
