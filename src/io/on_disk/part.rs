//! Files of records, in the order in which they were dealt out.

use crate::error::Result;
use crate::io::temporary;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use zerocopy::IntoBytes;

/// Records that a file's buffer holds before they are written, and how many at least if memory is short.
pub(super) const BUFFERED: usize = 1 << 13;
pub(super) const LEAST_BUFFERED: usize = 1 << 9;
/// Records that are read at a time.
pub(super) const READ: usize = 1 << 17;

/// An entry as it is sorted, in `N` words: a key, and the bits of a value, the lower ones first. A value takes no word, one, or two. From high to
/// low bits a key is the row within the part, the column, and whether an undirected edge was listed from the column to the row.
pub(super) type Record<const N: usize> = [u64; N];

/// The record of a key and a value's bits.
#[inline]
pub(super) fn record<const N: usize>(key: u64, bits: u128) -> Record<N> {
    let mut words = [key; N];
    words[1..].iter_mut().zip([bits as u64, (bits >> 64) as u64]).for_each(|(word, bits)| *word = bits);
    words
}

/// The bits of a record's value.
#[inline]
pub(super) fn bits<const N: usize>(record: &Record<N>) -> u128 {
    record[1..].iter().rev().fold(0, |bits, &word| bits << 64 | u128::from(word))
}

/// The row of a key, within its part.
pub(super) fn row_of(key: u64) -> usize {
    (key >> 33) as usize
}

/// The records of some consecutive rows, of a width that is the same for all.
pub(super) struct Part {
    file: File,
    /// The words of a record.
    width: usize,
    buffer: Vec<u64>,
    /// The most words that the buffer holds.
    buffered: usize,
    /// The number of records.
    pub written: u64,
}

impl Part {
    /// A file of records of `width` words, with a buffer of so many records.
    pub fn new(width: usize, buffered: usize) -> Result<Self> {
        let buffered = width * buffered;
        Ok(Self { file: temporary::file()?, width, buffer: Vec::with_capacity(buffered), buffered, written: 0 })
    }

    /// Appends records, which are given by their words.
    pub fn push(&mut self, words: &[u64]) -> io::Result<()> {
        self.written += (words.len() / self.width) as u64;
        if self.buffer.len() + words.len() > self.buffered {
            self.flush()?;
        }
        if words.len() > self.buffered {
            return self.file.write_all(words.as_bytes());
        }
        self.buffer.extend_from_slice(words);
        Ok(())
    }

    /// Writes what the buffer holds.
    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(self.buffer.as_bytes())?;
        self.buffer.clear();
        Ok(())
    }

    /// Writes all that is left, and frees the buffer.
    pub fn end(&mut self) -> io::Result<()> {
        self.flush()?;
        self.buffer = Vec::new();
        Ok(())
    }

    /// Calls `each` with the words of all records, some records at a time.
    pub fn read(&mut self, mut each: impl FnMut(&[u64])) -> io::Result<()> {
        self.file.rewind()?;
        let mut left = self.written as usize;
        let mut words = vec![0; self.width * READ.min(left)];
        while left > 0 {
            let some = left.min(READ);
            let words = &mut words[..self.width * some];
            self.file.read_exact(words.as_mut_bytes())?;
            each(words);
            left -= some;
        }
        Ok(())
    }

    /// The words of a record.
    pub fn width(&self) -> usize {
        self.width
    }
}
