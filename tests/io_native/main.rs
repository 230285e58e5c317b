//! The native file, `.vxm`: what is written is read back, in place; damage is found; no file makes the process fall.

mod damage;
mod hand;
mod round_trips;
mod structs;

use std::path::Path;
use vxm::Result;
use vxm::formats::Csr;
use vxm::io::{NativeFile, Numbering, Value, Verify, WholeFile, write_native};

/// Writes a matrix as the file `name` of a folder. Returns the file's bytes.
fn write<T: Value>(folder: &Path, name: &str, matrix: &Csr<T>, numbering: &Numbering) -> Vec<u8> {
    let path = folder.join(name);
    write_native(WholeFile::prepare(&path).unwrap(), matrix, numbering).unwrap();
    std::fs::read(&path).unwrap()
}

/// Opens and reads a file.
fn read_back<T: Value>(path: &Path) -> Result<Csr<T>> {
    NativeFile::open(path)?.matrix(Verify::All, &())
}

/// A small matrix of every kind of row: empty, with a diagonal, full; 5 x 7.
fn sample() -> Csr<u32> {
    let offsets = vec![0, 2, 2, 9, 10, 11];
    let columns = vec![0, 6, 0, 1, 2, 3, 4, 5, 6, 3, 0];
    Csr::try_new(5, 7, offsets, columns, (100..111).collect()).unwrap()
}
