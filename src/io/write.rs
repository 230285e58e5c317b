//! Writes graphs as Matrix Market files.

use crate::error::{Error, Result};
use crate::formats::Csr;
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
    // a column of the lower triangle is a row of the upper triangle
    let below = |column: usize| {
        let all = graph.row(column).0;
        &all[all.partition_point(|&row| (row as usize) < column)..]
    };
    let entries: usize = (0..rows).into_par_iter().map(|column| below(column).len()).sum();
    writeln!(out, "%%MatrixMarket matrix coordinate pattern symmetric")?;
    writeln!(out, "{rows} {rows} {entries}")?;
    let blocks: Vec<usize> = (0..rows).step_by(ROWS).collect();
    // a few blocks at a time, because the text of the whole graph would take more memory than the graph
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

/// Appends `number` in decimal and the byte `end`. Much faster than `write!`.
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
