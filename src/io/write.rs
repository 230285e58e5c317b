//! Writing graphs as Matrix Market files.

use crate::error::{Error, Result};
use crate::formats::Csr;
use flate2::{Compression, write::GzEncoder};
use rayon::prelude::*;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Rows that a task formats at once.
const ROWS: usize = 1 << 13;

/// Writes an undirected graph as a symmetric pattern: its lower triangle column by column (as the
/// SuiteSparse collection has it, and as it is read fastest), numbered from 1; gzipped where `path` ends in `.gz`.
///
/// The file appears when it is whole, as by [`write_whole`].
///
/// # Errors
/// [`Error::Io`]; [`Error::Shape`] where the matrix is not square.
#[track_caller]
pub fn write_matrix_market(path: impl AsRef<Path>, graph: &Csr) -> Result<()> {
    let path = path.as_ref();
    if graph.nrows() != graph.ncols() {
        let rows = format!("{} rows", graph.nrows());
        let columns = format!("{} columns", graph.ncols());
        return Err(Error::shape("write_matrix_market", rows, columns));
    }
    write_whole(path, |file| write(file, path, graph))
}

/// Writes a file with `write`, so that it appears when it is whole: it is written under another name beside `path` and then
/// renamed, so that an interrupted run leaves an older file as it was. A link, a pipe or a device is written to, never replaced.
///
/// # Errors
/// [`Error::Io`] naming `path`.
pub fn write_whole(path: impl AsRef<Path>, write: impl FnOnce(File) -> io::Result<()>) -> Result<()> {
    let path = path.as_ref();
    let failed = |source| Error::io(path.display())(source);
    // a link (/dev/stdout is one), a pipe or a device is written to, never replaced
    if fs::symlink_metadata(path).is_ok_and(|about| !about.is_file()) {
        let file = File::create(path).map_err(failed)?;
        return write(file).map_err(failed);
    }
    let unfinished = Unfinished::beside(path);
    File::create(&unfinished.0).and_then(write).and_then(|()| fs::rename(&unfinished.0, path)).map_err(failed)
}

/// A file that is removed unless it was renamed.
struct Unfinished(PathBuf);

impl Unfinished {
    fn beside(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Self(path.with_file_name(format!(".{name}.{}.unfinished", std::process::id())))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // nothing to remove after the rename, and nobody to tell otherwise
        let _ = fs::remove_file(&self.0);
    }
}

fn write(file: File, path: &Path, graph: &Csr) -> io::Result<()> {
    if path.extension().is_some_and(|end| end == "gz") {
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
