//! Writing graphs as Matrix Market files.

use super::whole::WholeFile;
use crate::error::{Error, Result};
use crate::formats::Csr;
use flate2::{Compression, write::GzEncoder};
use rayon::prelude::*;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Rows that a task formats at once.
const ROWS: usize = 1 << 13;

/// Writes an undirected graph as a symmetric pattern: its lower triangle column by column (as the
/// SuiteSparse collection has it, and as it is read fastest), numbered from 1; gzipped where `path` ends in `.gz`.
///
/// The file appears when it is whole, as a [`WholeFile`] does.
///
/// # Errors
/// [`Error::Io`]; [`Error::Shape`] where the matrix is not square.
#[track_caller]
pub fn write_matrix_market(path: impl AsRef<Path>, graph: &Csr) -> Result<()> {
    write_to(WholeFile::prepare(path)?, graph)
}

/// The same, to a file that was prepared before there was a graph.
///
/// # Errors
/// As [`write_matrix_market`].
#[track_caller]
pub fn write_to(whole: WholeFile, graph: &Csr) -> Result<()> {
    if graph.nrows() != graph.ncols() {
        let rows = format!("{} rows", graph.nrows());
        let columns = format!("{} columns", graph.ncols());
        return Err(Error::shape("write_matrix_market", rows, columns));
    }
    let zipped = whole.path().extension().is_some_and(|end| end == "gz");
    whole.write(|file| write(file, zipped, graph))
}

fn write(file: File, zipped: bool, graph: &Csr) -> io::Result<()> {
    if zipped {
        let mut zipped = GzEncoder::new(file, Compression::fast());
        write_text(&mut zipped, graph)?;
        zipped.finish()?.flush()
    } else {
        let mut file = file;
        write_text(&mut file, graph)?;
        file.flush()
    }
}

fn write_text(out: &mut impl Write, graph: &Csr) -> io::Result<()> {
    let rows = graph.nrows();
    // columns of the lower triangle are rows of the upper one
    let below = |column: usize| {
        let all = graph.row(column).0;
        &all[all.partition_point(|&row| (row as usize) < column)..]
    };
    let entries: usize = (0..rows).into_par_iter().map(|column| below(column).len()).sum();
    writeln!(out, "%%MatrixMarket matrix coordinate pattern symmetric")?;
    writeln!(out, "{rows} {rows} {entries}")?;
    let blocks: Vec<usize> = (0..rows).step_by(ROWS).collect();
    // some blocks at a time: the text of the whole graph would outweigh it
    for group in blocks.chunks(4 * rayon::current_num_threads()) {
        let texts: Vec<Vec<u8>> = group
            .par_iter()
            .map(|&start| {
                let mut text = Vec::new();
                for column in start..(start + ROWS).min(rows) {
                    for &row in below(column) {
                        push_number(&mut text, row + 1, b' ');
                        push_number(&mut text, column as u32 + 1, b'\n');
                    }
                }
                text
            })
            .collect();
        for text in texts {
            out.write_all(&text)?;
        }
    }
    Ok(())
}

/// Appends a number and what ends it; `write!` takes three times as long.
fn push_number(text: &mut Vec<u8>, mut number: u32, end: u8) {
    let mut digits = [0; 11];
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
