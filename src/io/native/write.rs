//! Writes native files.

use super::layout::{Facts, Layout, Type};
use crate::error::{Error, Result};
use crate::formats::Csr;
use crate::io::loaded::Numbering;
use crate::io::value::{Value, bytes_of};
use crate::io::whole::WholeFile;
use core::ops::Range;
use rayon::prelude::*;
use std::fs::File;
use std::io::{self, Write};
use zerocopy::IntoBytes;

/// Writes a matrix as a native file, with what its rows are called. The file says whether the matrix equals its transpose and whether its
/// diagonal is empty, which is found out here, in O(nnz) time.
///
/// A file that [`WholeFile`] can replace is written by several threads, made durable, and appears when it is complete. The bytes don't depend
/// on the number of threads.
///
/// # Errors
/// [`Error::Io`]; [`Error::Invalid`] if `numbering` doesn't list as many ascending numbers, or names, as there are rows.
pub fn write_native<T: Value>(whole: WholeFile, matrix: &Csr<T>, numbering: &Numbering) -> Result<()> {
    write_native_checked(whole, matrix, numbering).map(drop)
}

/// Writes a matrix as [`write_native`] does. Returns whether it equals its transpose.
pub(in crate::io) fn write_native_checked<T: Value>(
    whole: WholeFile,
    matrix: &Csr<T>,
    numbering: &Numbering,
) -> Result<bool> {
    let (symmetric, loopless) = match matrix.symmetry() {
        Some(diagonal) => (true, !diagonal),
        None => (false, (0..matrix.nrows()).into_par_iter().all(|row| matrix.get(row, row).is_none())),
    };
    write(whole, matrix, numbering, (symmetric, loopless)).map(|()| symmetric)
}

/// Writes an undirected graph as a native file: the symmetric pattern without self-loops that [`read`](crate::io::read()) and
/// [`generate`](crate::io::generate()) return. Only debug builds check that it is one.
///
/// # Errors
/// Those of [`write_native`].
pub fn write_native_graph(whole: WholeFile, graph: &Csr, numbering: &Numbering) -> Result<()> {
    debug_assert_eq!(graph.symmetry(), Some(false), "a symmetric matrix without self-loops");
    write(whole, graph, numbering, (true, true))
}

fn write<T: Value>(
    whole: WholeFile,
    matrix: &Csr<T>,
    numbering: &Numbering,
    (symmetric, loopless): (bool, bool),
) -> Result<()> {
    let name = whole.path().display().to_string();
    let (mut first, mut labels, mut named, mut names): (u64, &[u64], _, _) = (0, &[], None, Vec::new());
    match numbering {
        Numbering::From(number) => first = *number,
        Numbering::Listed(numbers) => labels = numbers,
        Numbering::Named(found) => (named, names) = (Some(found.text_len()), found.bytes()),
    }
    let listed = matches!(numbering, Numbering::Listed(_));
    let rows = matrix.nrows();
    if listed && (labels.len() != rows || !labels.is_sorted_by(|one, next| one < next)) {
        let found = labels.len();
        return Err(Error::invalid(format!(
            "{name}: expected {rows} ascending vertex numbers, found a list of {found}"
        )));
    }
    if let Numbering::Named(found) = numbering
        && found.len() != rows
    {
        return Err(Error::invalid(format!("{name}: expected {rows} names, found {}", found.len())));
    }
    if first.checked_add(rows.max(matrix.ncols()) as u64).is_none() {
        return Err(Error::invalid(format!("{name}: expected a first number that leaves room, found {first}")));
    }
    if cfg!(target_endian = "big") {
        return Err(Error::invalid(format!("{name}: expected a machine that stores the low byte first")));
    }
    let (columns, entries, element) = (matrix.ncols(), matrix.nnz(), Type::of::<T>());
    if !element.fits() {
        return Err(Error::invalid(format!("{name}: expected shorter names of fields, found {element}")));
    }
    let facts = Facts { element, symmetric, loopless, listed, named, rows, columns, entries, first };
    let layout = Layout::of(facts).ok_or_else(|| Error::invalid(format!("{name}: the file would be too large")))?;
    let labels = if named.is_some() { &names } else { labels.as_bytes() };
    let values = bytes_of(matrix.values_buffer());
    let sections = [matrix.offsets().as_bytes(), matrix.columns().as_bytes(), &values, labels];
    let content = Content { layout, sections };
    let whole_anew = whole.is_new();
    whole.write(|file| if whole_anew { content.scatter(&file) } else { content.pour(file) })
}

/// A file's sections as they are in memory.
struct Content<'m> {
    layout: Layout,
    /// Offsets, columns, values and labels.
    sections: [&'m [u8]; 4],
}

impl Content<'_> {
    /// The bytes that follow byte `from` of a part, in pieces: parts of sections, and zeros between them.
    fn pieces(&self, part: usize) -> Vec<&[u8]> {
        const ZEROS: [u8; super::layout::PAGE] = [0; super::layout::PAGE];
        let (mut at, end) = (self.layout.part(part).start, self.layout.part(part).end);
        let mut pieces = Vec::new();
        for ((_, place), bytes) in self.layout.sections()[1..].iter().zip(self.sections) {
            let padded = place.end.next_multiple_of(super::layout::PAGE).min(end);
            let inside = |range: Range<usize>| &bytes[range.start - place.start..range.end - place.start];
            if at < place.end.min(end) {
                pieces.push(inside(at..place.end.min(end)));
                at = place.end.min(end);
            }
            if at < padded {
                pieces.push(&ZEROS[..padded - at]);
                at = padded;
            }
        }
        pieces
    }

    /// The checksum of a part.
    fn sum(&self, part: usize) -> u32 {
        let mut sum = crc32fast::Hasher::new();
        self.pieces(part).into_iter().for_each(|piece| sum.update(piece));
        sum.finalize()
    }

    /// The header and the section of checksums.
    fn head(&self, sums: impl Iterator<Item = u32>) -> Vec<u8> {
        let mut table: Vec<u8> = sums.flat_map(u32::to_le_bytes).collect();
        table.resize(self.layout.sums.len(), 0);
        let mut head = self.layout.header(&table);
        head.append(&mut table);
        head
    }

    /// Writes the file in order: to a pipe, or to what can't be replaced.
    fn pour(&self, mut file: File) -> io::Result<()> {
        let parts = self.layout.parts();
        let sums: Vec<u32> = (0..parts).into_par_iter().map(|part| self.sum(part)).collect();
        file.write_all(&self.head(sums.into_iter()))?;
        for part in 0..parts {
            self.pieces(part).into_iter().try_for_each(|piece| file.write_all(piece))?;
        }
        file.flush()
    }

    /// Writes a new file, several parts at once, the header last. Returns once the storage holds it.
    #[cfg(unix)]
    fn scatter(&self, file: &File) -> io::Result<()> {
        use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
        use std::os::unix::fs::FileExt;
        file.set_len(self.layout.end() as u64)?;
        let sums: Vec<AtomicU32> = (0..self.layout.parts()).map(|_| AtomicU32::new(0)).collect();
        sums.par_iter().enumerate().try_for_each(|(part, sum)| {
            sum.store(self.sum(part), Relaxed);
            let mut at = self.layout.part(part).start as u64;
            for piece in self.pieces(part) {
                file.write_all_at(piece, at)?;
                at += piece.len() as u64;
            }
            io::Result::Ok(())
        })?;
        file.write_all_at(&self.head(sums.into_iter().map(AtomicU32::into_inner)), 0)?;
        file.sync_all()
    }

    #[cfg(not(unix))]
    fn scatter(&self, file: &File) -> io::Result<()> {
        self.pour(file.try_clone()?)?;
        file.sync_all()
    }
}
