//! Reads SciPy's sparse matrices as `scipy.sparse.save_npz` writes them: a zip archive of NumPy arrays. `format` names
//! the storage, `shape` has the numbers of rows and columns, and `data` the values. CSR and CSC have `indices` and
//! `indptr`; COO has `row` and `col`.

mod npy;
mod zip;

use crate::error::{Error, Result, printable};
use crate::formats::{Csr, First, MAX_VERTICES, Refuse};
use crate::io::FileFormat;
use crate::io::binary::{Array, Rows, broken, value};
use crate::io::entries::Entries;
use crate::io::listed::Listed;
use crate::io::loaded::{Loaded, Numbering};
use crate::io::source::Source;
use crate::io::target::{Outline, Target};
use crate::io::value::Value;
use crate::io::weighted::Weighted;
use npy::Npy;
use vxm_semiring::dynamic::Kind;
use zip::{Archive, Member};

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
    check_length(member, &npy, length)?;
    npy.numbers()
}

/// The numbers of `length` values of type `V`.
fn values<'b, V: Value>(member: &'b Member<'_>, length: u64) -> Result<Vec<Array<'b>>> {
    let npy = Npy::parse(&member.place, &member.bytes)?;
    let values = npy.values()?;
    let is_complex = values.len() > 1;
    if !V::FIELDS.is_empty() && is_complex != V::COMPLEX.is_some() {
        let expected = if is_complex { "integers, floats or bool" } else { "complex64 or complex128" };
        return Err(npy.unknown(&format!("{expected} for values of type {}", V::described())));
    }
    check_length(member, &npy, Some(length))?;
    Ok(values)
}

/// Checks that an array has one dimension, with `length` elements or any number of them.
fn check_length(member: &Member<'_>, npy: &Npy<'_>, length: Option<u64>) -> Result<()> {
    let expected = length.map_or("one dimension".to_owned(), |length| format!("{length} elements"));
    match (npy.shape.as_slice(), length) {
        (&[_], None) => Ok(()),
        (&[found], Some(length)) if found == length => Ok(()),
        (found, _) => Err(broken(&member.place, npy.at, &expected, &format!("the shape {found:?}"))),
    }
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

/// Reads the entries for `target`.
fn read<'p, V: Value>(source: &Source<'p>, target: Target) -> Result<Listed<'p, V>> {
    let archive = Archive::open(source.name(), source.bytes()?)?;
    let head = Head::of(&archive, source.name())?;
    entries(&archive, source, head, target)
}

/// Converts the entries. The matrix of a graph must be square.
fn entries<'p, V: Value>(
    archive: &Archive<'_>,
    source: &Source<'p>,
    head: Head<'_>,
    target: Target,
) -> Result<Listed<'p, V>> {
    let (file, progress) = (source.name(), source.progress);
    let get = |name| member(archive, file, name);
    let Head { format, rows, columns, data } = head;
    if !matches!(target, Target::Matrix(_)) && rows != columns {
        let expected = format!("as many rows as columns ({columns}) of a graph");
        return Err(Error::invalid(format!("{file}: expected {expected}, found {rows}")));
    }
    let outline = |count: usize| Outline { rows, columns, entries: count as u64, target };
    let (entries, outline) = match format.as_str() {
        "csr" | "csc" => {
            let (major, minor) = if format == "csr" { (rows, columns) } else { (columns, rows) };
            let (indptr, indices) = (get("indptr.npy")?, get("indices.npy")?);
            let columns = list(&indices, None)?;
            let values = values::<V>(&data, columns.len() as u64)?;
            let outline = outline(columns.len());
            let rows = Rows { offsets: list(&indptr, Some(major + 1))?, columns, values, width: minor };
            rows.check()?;
            let turn = format == "csc";
            let listed = |range| -> Result<Vec<(u32, u32, V)>> {
                let entries = rows.range(range)?;
                Ok(if turn { entries.into_iter().map(|(i, j, value)| (j, i, value)).collect() } else { entries })
            };
            (Entries::convert(file, outline, progress, listed)?, outline)
        }
        "coo" => {
            let (row, column) = (get("row.npy")?, get("col.npy")?);
            let row = list(&row, None)?;
            let length = row.len() as u64;
            let (column, data) = (list(&column, Some(length))?, values::<V>(&data, length)?);
            row.check_below(rows, "row")?;
            column.check_below(columns, "column")?;
            let index = |array: &Array<'_>, i| array.index(i).unwrap_or(0) as u32;
            let entry = |i| Ok((index(&row, i), index(&column, i), value(&data, i)?));
            let outline = outline(row.len());
            (Entries::convert(file, outline, progress, |range| range.map(entry).collect())?, outline)
        }
        other => {
            let found = printable(other.as_bytes());
            return Err(Error::invalid(format!("{file}: expected a matrix in csr, csc or coo, found `{found}`")));
        }
    };
    let (file, format, weights) = (file.to_owned(), FileFormat::Npz, outline.entries);
    Ok(Listed { file, format, outline, entries, numbering: Numbering::From(0), weights, vertex_weights: 0 })
}

/// Reads the pattern of a square matrix as a graph.
pub(super) fn read_graph(source: &Source<'_>) -> Result<Loaded> {
    read::<()>(source, Target::GRAPH)?.graph()
}

/// Reads the pattern of a square matrix as a directed graph.
pub(super) fn read_digraph(source: &Source<'_>) -> Result<Loaded> {
    read::<()>(source, Target::DIGRAPH)?.digraph(First)
}

/// Reads a square matrix as a directed graph with its values, unless these are truth values.
pub(super) fn read_weighted(source: &Source<'_>) -> Result<Weighted> {
    let archive = Archive::open(source.name(), source.bytes()?)?;
    let head = Head::of(&archive, source.name())?;
    let data = Npy::parse(&head.data.place, &head.data.bytes)?;
    let [values] = &data.values()?[..] else {
        return Err(data.unknown("integers, floats or bool of a graph with weights"));
    };
    match values.kind {
        Kind::Bool => entries::<()>(&archive, source, head, Target::DIGRAPH)?.digraph(First).map(Weighted::None),
        kind if kind.is_float() => {
            entries(&archive, source, head, Target::DIGRAPH)?.digraph(Refuse).map(Weighted::Real)
        }
        _ => entries(&archive, source, head, Target::DIGRAPH)?.digraph(Refuse).map(Weighted::Integer),
    }
}

/// Reads the matrix unchanged.
pub(super) fn read_matrix<V: Value>(source: &Source<'_>) -> Result<Csr<V>> {
    read(source, Target::MATRIX)?.matrix(Refuse)
}
