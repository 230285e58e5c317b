//! Writes SciPy's `.npz`: a zip archive of NumPy arrays, not compressed, as `scipy.sparse.save_npz(..., compressed=False)` writes it. Sizes are
//! 64-bit (PKWARE's APPNOTE 6.3, sections 4.3 and 4.5.3).

use crate::error::Result;
use crate::formats::Csr;
use crate::io::value::{Value, bytes_of};
use crate::io::whole::WholeFile;
use crc32fast::Hasher;
use std::borrow::Cow;
use std::io::{self, BufWriter, Write};
use vxm_semiring::dynamic::Kind;
use zerocopy::IntoBytes;

/// The version of zip that reads 64-bit sizes.
const VERSION: u16 = 45;

/// The value of a narrow field that a wide one replaces.
const WIDE: u32 = u32::MAX;

/// The date of a member, 1980-01-01, so that equal matrices make equal files.
const DATE: u16 = 1 << 5 | 1;

/// An array: its member's name, its type, its shape, and its numbers.
struct Array<'m> {
    name: &'static str,
    descr: String,
    shape: String,
    numbers: Cow<'m, [u8]>,
}

/// Writes a matrix.
pub(super) fn write<T: Value>(whole: WholeFile, matrix: &Csr<T>) -> Result<()> {
    let (rows, columns, entries) = (matrix.nrows(), matrix.ncols(), matrix.nnz());
    let list = |count: usize| format!("({count},)");
    // SciPy's indices are signed
    let narrow = i32::try_from(columns).is_ok();
    let indices: Cow<[u8]> = match narrow {
        true => matrix.columns().as_bytes().into(),
        false => matrix.columns().iter().flat_map(|&column| u64::from(column).to_le_bytes()).collect(),
    };
    let data: Cow<[u8]> = match T::FIELDS {
        [] => vec![1; entries].into(),
        _ => bytes_of(matrix.values_buffer()),
    };
    let shape = [rows as u64, columns as u64].map(u64::to_le_bytes).concat();
    let array = |name, descr: &str, shape, numbers| Array { name, descr: descr.to_owned(), shape, numbers };
    let arrays = [
        array("indices.npy", if narrow { "<i4" } else { "<i8" }, list(entries), indices),
        array("indptr.npy", "<i8", list(rows + 1), matrix.offsets().as_bytes().into()),
        array("format.npy", "|S3", "()".to_owned(), b"csr"[..].into()),
        array("shape.npy", "<i8", list(2), shape.into()),
        array("data.npy", &descr::<T>().unwrap_or_default(), list(entries), data),
    ];
    whole.write(|file| archive(&mut BufWriter::with_capacity(1 << 18, file), &arrays))
}

/// NumPy's name of a type; `None` for one that it doesn't have.
pub(super) fn descr<T: Value>() -> Option<String> {
    let letter = match (T::NUMBER, T::COMPLEX) {
        (Some(Kind::Bool), _) => 'b',
        (Some(Kind::I8 | Kind::I16 | Kind::I32 | Kind::I64), _) => 'i',
        (Some(Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64), _) => 'u',
        (Some(Kind::F16 | Kind::F32 | Kind::F64), _) => 'f',
        (_, Some(Kind::F32 | Kind::F64)) => 'c',
        _ if T::FIELDS.is_empty() => return Some("|b1".to_owned()),
        _ => return None,
    };
    let order = if size_of::<T>() == 1 { '|' } else { '<' };
    Some(format!("{order}{letter}{}", size_of::<T>()))
}

/// The header of an array, padded so that numbers begin at a multiple of 64 bytes of the member.
fn header(array: &Array<'_>) -> Vec<u8> {
    const FIXED: usize = 10;
    let Array { descr, shape, .. } = array;
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let padding = (FIXED + text.len() + 1).next_multiple_of(64) - (FIXED + text.len() + 1);
    text.extend(core::iter::repeat_n(' ', padding));
    text.push('\n');
    [b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..], text.as_bytes()].concat()
}

/// Writes the archive: for each member its header, name and bytes; then the directory.
fn archive(out: &mut impl Write, arrays: &[Array<'_>]) -> io::Result<()> {
    let (mut at, mut directory) = (0u64, Vec::new());
    for array in arrays {
        let header = header(array);
        let mut sum = Hasher::new();
        [&header, &*array.numbers].into_iter().for_each(|bytes| sum.update(bytes));
        let (sum, size) = (sum.finalize(), (header.len() + array.numbers.len()) as u64);
        let wide = |numbers: &[u64]| {
            let length = (8 * numbers.len()) as u16;
            let fields = numbers.iter().flat_map(|number| number.to_le_bytes());
            [1u16, length].into_iter().flat_map(u16::to_le_bytes).chain(fields).collect::<Vec<u8>>()
        };
        // what the header and the directory say alike: no flags, stored, date, checksum, sizes, and lengths of name and extra fields
        let common = |extra: usize| {
            let mut fields = [VERSION, 0, 0, 0, DATE].map(u16::to_le_bytes).concat();
            fields.extend([sum, WIDE, WIDE].map(u32::to_le_bytes).concat());
            fields.extend([array.name.len() as u16, extra as u16].map(u16::to_le_bytes).concat());
            fields
        };
        let extra = wide(&[size, size]);
        let local = [&b"PK\x03\x04"[..], &common(extra.len()), array.name.as_bytes(), &extra].concat();
        out.write_all(&local)?;
        out.write_all(&header)?;
        out.write_all(&array.numbers)?;
        let extra = wide(&[size, size, at]);
        directory.extend([&b"PK\x01\x02"[..], &VERSION.to_le_bytes(), &common(extra.len())].concat());
        // no comment, first disk, no attributes; the place is among the extra fields
        directory.extend([&[0; 10][..], &WIDE.to_le_bytes(), array.name.as_bytes(), &extra].concat());
        at += local.len() as u64 + size;
    }
    out.write_all(&directory)?;
    out.write_all(&end(arrays.len() as u64, at, directory.len() as u64))?;
    out.flush()
}

/// The end of the directory, which begins at byte `at`: the 64-bit one, its place, and the narrow one.
fn end(members: u64, at: u64, size: u64) -> Vec<u8> {
    let mut end = b"PK\x06\x06".to_vec();
    end.extend(44u64.to_le_bytes());
    end.extend([VERSION, VERSION, 0, 0, 0, 0].map(u16::to_le_bytes).concat());
    end.extend([members, members, size, at].map(u64::to_le_bytes).concat());
    end.extend(b"PK\x06\x07");
    end.extend([&0u32.to_le_bytes()[..], &(at + size).to_le_bytes(), &1u32.to_le_bytes()].concat());
    end.extend(b"PK\x05\x06");
    end.extend([0, 0, members as u16, members as u16].map(u16::to_le_bytes).concat());
    end.extend([&WIDE.to_le_bytes()[..], &WIDE.to_le_bytes(), &[0; 2]].concat());
    end
}
