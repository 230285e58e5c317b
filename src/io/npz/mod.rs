//! Reads SciPy's sparse matrices as `scipy.sparse.save_npz` writes them: a zip archive of NumPy arrays. `format` names
//! the storage, `shape` has the numbers of rows and columns, and `data` the values. CSR and CSC have `indices` and
//! `indptr`; COO has `row` and `col`.

mod npy;
mod zip;

use crate::error::{Error, Result, printable};
use crate::formats::{Csr, First, MAX_VERTICES, Refuse};
use crate::io::FileFormat;
use crate::io::binary::{Array, Kind, Rows, broken, value};
use crate::io::listed::{Listed, Lists};
use crate::io::loaded::Loaded;
use crate::io::source::Source;
use crate::io::value::Value;
use crate::io::weighted::Weighted;
use crate::memory;
use npy::Npy;
use rayon::prelude::*;
use zip::{Archive, Member};

/// The number of entries that a task converts at once.
const CHUNK: usize = 1 << 16;

/// The member called `name`, which must be there.
fn member<'b>(archive: &Archive<'b>, file: &str, name: &str) -> Result<Member<'b>> {
    let missing = || Error::invalid(format!("{file}: expected a SciPy matrix with {name}, found none"));
    archive.member(name)?.ok_or_else(missing)
}

/// The numbers of rows and columns.
fn shape(member: &Member<'_>) -> Result<(u64, u64)> {
    let numbers = Npy::parse(&member.place, &member.bytes)?.numbers()?;
    let size = |i| numbers.index(i).ok_or_else(|| numbers.wrong(i, "a number of rows or columns"));
    if numbers.len() != 2 {
        let found = format!("{} dimensions", numbers.len());
        return Err(broken(&member.place, numbers.at, "two dimensions", &found));
    }
    let (rows, columns) = (size(0)?, size(1)?);
    let count = rows.max(columns);
    if count > MAX_VERTICES as u64 {
        let limit = MAX_VERTICES as u64;
        return Err(Error::TooManyVertices { place: member.place.clone(), count: count.into(), limit });
    }
    Ok((rows, columns))
}

/// A one-dimensional array with `length` elements, or any number of them.
fn list<'b>(member: &'b Member<'_>, length: Option<u64>) -> Result<Array<'b>> {
    let npy = Npy::parse(&member.place, &member.bytes)?;
    let numbers = npy.numbers()?;
    let expected = length.map_or("one dimension".to_owned(), |length| format!("{length} elements"));
    match (npy.shape.as_slice(), length) {
        (&[_], None) => Ok(numbers),
        (&[found], Some(length)) if found == length => Ok(numbers),
        (found, _) => Err(broken(&member.place, numbers.at, &expected, &format!("the shape {found:?}"))),
    }
}

/// Converts the entries of a matrix in coordinate form.
fn pairs<V: Value>(rows: &Array<'_>, columns: &Array<'_>, values: &Array<'_>, shape: (u64, u64)) -> Result<Lists<V>> {
    rows.check_below(shape.0, "row")?;
    columns.check_below(shape.1, "column")?;
    let count = rows.len();
    memory::require(count as u128 * size_of::<(u32, u32, V)>() as u128, || rows.place.to_owned())?;
    let index = |array: &Array<'_>, i| array.index(i).unwrap_or(0) as u32;
    let convert = |chunk: usize| {
        let range = chunk * CHUNK..count.min((chunk + 1) * CHUNK);
        range.map(|i| Ok((index(rows, i), index(columns, i), value(Some(values), i)?))).collect()
    };
    let chunks: Vec<Result<Vec<_>>> = (0..count.div_ceil(CHUNK)).into_par_iter().map(convert).collect();
    chunks.into_iter().collect()
}

/// What tells how the entries are stored, and the values.
struct Head<'b> {
    format: String,
    rows: u64,
    columns: u64,
    data: Member<'b>,
}

impl<'b> Head<'b> {
    fn of(archive: &Archive<'b>, file: &str) -> Result<Self> {
        let format = member(archive, file, "format.npy")?;
        let format = Npy::parse(&format.place, &format.bytes)?.string()?;
        let (rows, columns) = shape(&member(archive, file, "shape.npy")?)?;
        Ok(Self { format, rows, columns, data: member(archive, file, "data.npy")? })
    }
}

/// Reads the entries.
fn read<V: Value>(source: &Source<'_>) -> Result<Listed<V>> {
    let archive = Archive::open(source.name(), source.bytes()?)?;
    let head = Head::of(&archive, source.name())?;
    entries(&archive, source.name(), head)
}

/// Converts the entries.
fn entries<V: Value>(archive: &Archive<'_>, file: &str, head: Head<'_>) -> Result<Listed<V>> {
    let get = |name| member(archive, file, name);
    let Head { format, rows, columns, data } = head;
    let entries: Lists<V> = match format.as_str() {
        "csr" | "csc" => {
            let (major, minor) = if format == "csr" { (rows, columns) } else { (columns, rows) };
            let (indptr, indices) = (get("indptr.npy")?, get("indices.npy")?);
            let columns = list(&indices, None)?;
            let values = Some(list(&data, Some(columns.len() as u64))?);
            Rows { offsets: list(&indptr, Some(major + 1))?, columns, values, width: minor }.entries()?
        }
        "coo" => {
            let (row, column) = (get("row.npy")?, get("col.npy")?);
            let row = list(&row, None)?;
            let length = Some(row.len() as u64);
            pairs(&row, &list(&column, length)?, &list(&data, length)?, (rows, columns))?
        }
        other => {
            let found = printable(other.as_bytes());
            return Err(Error::invalid(format!("{file}: expected a matrix in csr, csc or coo, found `{found}`")));
        }
    };
    let weights = entries.iter().map(|list| list.len() as u64).sum();
    let turned = |list: Vec<_>| list.into_iter().map(|(column, row, value)| (row, column, value)).collect();
    let entries = if format == "csc" { entries.into_iter().map(turned).collect() } else { entries };
    let (file, format) = (file.to_owned(), FileFormat::Npz);
    Ok(Listed { file, format, rows, columns, entries, first: 0, weights, vertex_weights: 0 })
}

/// Checks that the matrix is square, as that of a graph is.
fn square<V>(listed: Listed<V>) -> Result<Listed<V>> {
    if listed.rows == listed.columns {
        return Ok(listed);
    }
    let (file, rows, columns) = (&listed.file, listed.rows, listed.columns);
    Err(Error::invalid(format!("{file}: expected as many rows as columns ({columns}) of a graph, found {rows}")))
}

/// Reads the pattern of a square matrix as a graph.
pub(super) fn read_graph(source: &Source<'_>) -> Result<Loaded> {
    square(read::<()>(source)?)?.graph()
}

/// Reads the pattern of a square matrix as a directed graph.
pub(super) fn read_digraph(source: &Source<'_>) -> Result<Loaded> {
    square(read::<()>(source)?)?.digraph(First)
}

/// Reads a square matrix as a directed graph with its values, unless these are truth values.
pub(super) fn read_weighted(source: &Source<'_>) -> Result<Weighted> {
    let file = source.name();
    let archive = Archive::open(file, source.bytes()?)?;
    let head = Head::of(&archive, file)?;
    match Npy::parse(&head.data.place, &head.data.bytes)?.numbers()?.kind {
        Kind::Bool => square(entries::<()>(&archive, file, head)?)?.digraph(First).map(Weighted::None),
        Kind::Signed(_) | Kind::Unsigned(_) => {
            square(entries(&archive, file, head)?)?.digraph(Refuse).map(Weighted::Integer)
        }
        Kind::Float(_) => square(entries(&archive, file, head)?)?.digraph(Refuse).map(Weighted::Real),
    }
}

/// Reads the matrix unchanged.
pub(super) fn read_matrix<V: Value>(source: &Source<'_>) -> Result<Csr<V>> {
    read(source)?.matrix()
}
