//! Text formats: Matrix Market, edge lists and METIS. Blocks of rows are formatted in parallel.

use crate::error::{Error, Result};
use crate::formats::Csr;
use crate::io::Label;
use crate::io::loaded::Numbering;
use crate::io::value::Value;
use crate::io::whole::WholeFile;
use flate2::{Compression, write::GzEncoder};
use rayon::prelude::*;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// The number of rows that a task formats at once.
const ROWS: usize = 1 << 13;

/// Writes an undirected graph as a symmetric pattern, with vertices numbered from 1. The lower triangle is written
/// column by column, as in the SuiteSparse collection and fastest to read. The file is gzipped if `path` ends in `.gz`.
///
/// The file appears only when it is complete; see [`WholeFile`].
///
/// # Errors
/// [`Error::Io`]; [`Error::Shape`] if the matrix is not square.
#[track_caller]
pub fn write_matrix_market(path: impl AsRef<Path>, graph: &Csr) -> Result<()> {
    write_to(WholeFile::prepare(path)?, graph)
}

/// Like [`write_matrix_market`], to a file that was prepared before the graph existed.
///
/// # Errors
/// Those of [`write_matrix_market`].
#[track_caller]
pub fn write_to(whole: WholeFile, graph: &Csr) -> Result<()> {
    if graph.nrows() != graph.ncols() {
        let rows = format!("{} rows", graph.nrows());
        let columns = format!("{} columns", graph.ncols());
        return Err(Error::shape("write_matrix_market", rows, columns));
    }
    written(whole, |out| market(out, graph, true))
}

/// Writes a matrix in Matrix Market's coordinate format.
pub(super) fn write_market<T: Value>(whole: WholeFile, matrix: &Csr<T>, symmetric: bool) -> Result<()> {
    written(whole, |out| market(out, matrix, symmetric))
}

/// Writes an edge list.
pub(super) fn write_edges<T: Value>(
    whole: WholeFile,
    matrix: &Csr<T>,
    numbering: &Numbering,
    symmetric: bool,
) -> Result<()> {
    let rows = matrix.nrows();
    // readers take the direction of each line, so an edge with a weight has a line for either
    let symmetric = symmetric && T::FIELDS.is_empty();
    written(whole, |out| {
        writeln!(out, "# {} {}", if symmetric { "undirected edges" } else { "directed edges" }, value_name::<T>())?;
        by_rows(out, rows, |row, text| {
            for (column, value) in above(matrix, row, symmetric) {
                match numbering.label(row as u32) {
                    Label::Number(number) => {
                        push_number(text, number, b' ');
                        push_number(text, numbering.number(column), b' ');
                    }
                    Label::Name(name) => {
                        text.extend([name, "\t", &numbering.label(column).to_string(), "\t"].concat().into_bytes());
                    }
                }
                push_value(text, value);
            }
        })
    })
}

/// Writes an undirected graph without self-loops in METIS' format.
pub(super) fn write_metis<T: Value>(whole: WholeFile, graph: &Csr<T>) -> Result<()> {
    let is_weighted = !T::FIELDS.is_empty();
    let weighted = if is_weighted { " 001" } else { "" };
    written(whole, |out| {
        writeln!(out, "{} {}{weighted}", graph.nrows(), graph.nnz() / 2)?;
        by_rows(out, graph.nrows(), |row, text| {
            let (columns, values) = graph.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                push_number(text, u64::from(column) + 1, b' ');
                if is_weighted {
                    push_value(text, value);
                    end_with(text, b' ');
                }
            }
            if columns.is_empty() { text.push(b'\n') } else { end_with(text, b'\n') }
        })
    })
}

/// What follows the ends in an edge list.
fn value_name<T: Value>() -> String {
    match T::FIELDS {
        [] => "without weights".to_owned(),
        [_] => "with weights".to_owned(),
        fields => format!("with {}", fields.iter().map(|field| field.name).collect::<Vec<_>>().join(" ")),
    }
}

/// The entries of a row that are written: all, or of a symmetric matrix those from the diagonal on.
fn above<T: Value>(matrix: &Csr<T>, row: usize, symmetric: bool) -> impl Iterator<Item = (u32, T)> {
    let (columns, values) = matrix.row(row);
    let first = if symmetric { columns.partition_point(|&column| (column as usize) < row) } else { 0 };
    columns[first..].iter().copied().zip(values[first..].iter().copied())
}

fn market<T: Value>(out: &mut dyn Write, matrix: &Csr<T>, symmetric: bool) -> io::Result<()> {
    let (rows, columns) = (matrix.nrows(), matrix.ncols());
    let entries: usize = (0..rows).into_par_iter().map(|row| above(matrix, row, symmetric).count()).sum();
    let field = match T::FIELDS {
        [] => "pattern",
        [one] if !one.kind.is_float() => "integer",
        [_] => "real",
        _ => "complex",
    };
    let symmetry = if symmetric { "symmetric" } else { "general" };
    writeln!(out, "%%MatrixMarket matrix coordinate {field} {symmetry}\n{rows} {columns} {entries}")?;
    by_rows(out, rows, |row, text| {
        for (column, value) in above(matrix, row, symmetric) {
            // a column of the lower triangle is a row of the upper triangle
            let (one, other) = if symmetric { (column, row as u32) } else { (row as u32, column) };
            push_number(text, u64::from(one) + 1, b' ');
            push_number(text, u64::from(other) + 1, b' ');
            push_value(text, value);
        }
    })
}

/// Writes what `write` writes, gzipped if the name ends in `.gz`.
fn written(whole: WholeFile, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let zipped = whole.path().extension().is_some_and(|end| end == "gz");
    whole.write(|mut file: File| {
        if !zipped {
            write(&mut file)?;
            return file.flush();
        }
        let mut zipped = GzEncoder::new(file, Compression::fast());
        write(&mut zipped)?;
        zipped.finish()?.flush()
    })
}

/// Writes the text that `format` appends for each row, in order.
fn by_rows(out: &mut dyn Write, rows: usize, format: impl Fn(usize, &mut Vec<u8>) + Sync) -> io::Result<()> {
    let blocks: Vec<usize> = (0..rows).step_by(ROWS).collect();
    // a few blocks at a time, because the text of the whole graph would take more memory than the graph
    for group in blocks.chunks(4 * rayon::current_num_threads()) {
        let texts: Vec<Vec<u8>> = group
            .par_iter()
            .map(|&start| {
                let mut text = Vec::new();
                (start..(start + ROWS).min(rows)).for_each(|row| format(row, &mut text));
                text
            })
            .collect();
        for text in texts {
            out.write_all(&text)?;
        }
    }
    Ok(())
}

/// Appends a value that follows a blank, and a line end. A pattern's entry ends the line in place of the blank.
fn push_value<T: Value>(text: &mut Vec<u8>, value: T) {
    if T::FIELDS.is_empty() {
        return end_with(text, b'\n');
    }
    value.show(text);
    text.push(b'\n');
}

/// Replaces the last byte.
fn end_with(text: &mut [u8], end: u8) {
    if let Some(last) = text.last_mut() {
        *last = end;
    }
}

/// Appends `number` in decimal and the byte `end`. Much faster than `write!`.
fn push_number(text: &mut Vec<u8>, mut number: u64, end: u8) {
    let mut digits = [0; 21];
    let mut start = digits.len() - 1;
    digits[start] = end;
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    text.extend_from_slice(&digits[start..]);
}
