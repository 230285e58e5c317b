//! Files of records, in the order in which they were dealt out.

use crate::error::Result;
use crate::io::temporary;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Records that a file's buffer holds before they are written, and how many at least if memory is short.
pub(super) const BUFFERED: usize = 1 << 13;
pub(super) const LEAST_BUFFERED: usize = 1 << 9;
/// Records that are read at a time.
pub(super) const READ: usize = 1 << 17;

/// An entry as it is sorted: a key, and the bits of a value if it has one. From high to low bits a key is the row within the part, the
/// column, and whether an undirected edge was listed from the column to the row.
pub trait Record: Copy + Ord + Send + Sync + FromBytes + IntoBytes + Immutable {
    fn new(key: u64, bits: u64) -> Self;
    fn key(self) -> u64;
    fn bits(self) -> u64;
}

impl Record for u64 {
    fn new(key: u64, _: u64) -> Self {
        key
    }
    fn key(self) -> u64 {
        self
    }
    fn bits(self) -> u64 {
        0
    }
}

impl Record for [u64; 2] {
    fn new(key: u64, bits: u64) -> Self {
        [key, bits]
    }
    fn key(self) -> u64 {
        self[0]
    }
    fn bits(self) -> u64 {
        self[1]
    }
}

/// The row of a key, within its part.
pub(super) fn row_of(key: u64) -> usize {
    (key >> 33) as usize
}

/// The records of some consecutive rows.
pub(super) struct Part<R> {
    file: File,
    buffer: Vec<R>,
    buffered: usize,
    pub written: u64,
}

impl<R: Record> Part<R> {
    /// A file with a buffer of so many records.
    pub fn new(buffered: usize) -> Result<Self> {
        Ok(Self { file: temporary::file()?, buffer: Vec::with_capacity(buffered), buffered, written: 0 })
    }

    pub fn push(&mut self, records: &[R]) -> io::Result<()> {
        if self.buffer.len() + records.len() > self.buffered {
            self.flush()?;
        }
        if records.len() > self.buffered {
            self.written += records.len() as u64;
            return self.file.write_all(records.as_bytes());
        }
        self.buffer.extend_from_slice(records);
        Ok(())
    }

    /// Writes what the buffer holds.
    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(self.buffer.as_bytes())?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Writes all that is left, and frees the buffer.
    pub fn end(&mut self) -> io::Result<()> {
        self.flush()?;
        self.buffer = Vec::new();
        Ok(())
    }

    /// Calls `each` with all records, some at a time.
    pub fn read(&mut self, mut each: impl FnMut(&[R])) -> io::Result<()> {
        self.file.rewind()?;
        let (mut left, mut records) = (self.written as usize, vec![R::new(0, 0); READ.min(self.written as usize)]);
        while left > 0 {
            let some = left.min(READ);
            self.file.read_exact(records[..some].as_mut_bytes())?;
            each(&records[..some]);
            left -= some;
        }
        Ok(())
    }
}
