//! Arrays of numbers inside binary files, and the compressed rows that they make. All numbers are little-endian.

use crate::error::{Error, Result};
use crate::io::Progress;
use crate::io::entries::Entries;
use crate::io::target::Outline;
use crate::io::value::{Number, Value};
use core::ops::Range;
use half::{bf16, f16};
use rayon::prelude::*;
use vxm_semiring::dynamic::Kind;

/// An array of numbers in a file.
#[derive(Clone, Copy)]
pub(super) struct Array<'b> {
    /// The file, and the member of an archive, as messages show it.
    pub place: &'b str,
    /// The byte of `place` at which the array starts.
    pub at: usize,
    pub bytes: &'b [u8],
    pub kind: Kind,
    /// The distance between numbers in bytes.
    pub stride: usize,
}

impl<'b> Array<'b> {
    /// The array in the bytes `range` of `file`, which the file must have.
    pub fn within(place: &'b str, file: &'b [u8], range: Range<usize>, kind: Kind) -> Self {
        Self { place, at: range.start, bytes: &file[range], kind, stride: kind.size() }
    }

    /// The number of numbers.
    pub fn len(&self) -> usize {
        self.bytes.len().div_ceil(self.stride)
    }

    /// The bytes of number `i`, as a word with high bits of zero.
    #[inline]
    fn word(&self, i: usize) -> u64 {
        let bytes = &self.bytes[i * self.stride..];
        match self.kind.size() {
            1 => u64::from(bytes[0]),
            2 => u64::from(u16::from_le_bytes([bytes[0], bytes[1]])),
            4 => u64::from(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
            _ => {
                let mut word = [0; 8];
                word.copy_from_slice(&bytes[..8]);
                u64::from_le_bytes(word)
            }
        }
    }

    /// Number `i`.
    #[inline]
    pub fn number(&self, i: usize) -> Number {
        let word = self.word(i);
        match self.kind {
            Kind::Bool => Number::Integer(i128::from(word != 0)),
            Kind::I8 => Number::Integer((word as i8).into()),
            Kind::I16 => Number::Integer((word as i16).into()),
            Kind::I32 => Number::Integer((word as i32).into()),
            Kind::I64 => Number::Integer((word as i64).into()),
            Kind::F16 => Number::Real(f16::from_bits(word as u16).into()),
            Kind::Bf16 => Number::Real(bf16::from_bits(word as u16).into()),
            Kind::F32 => Number::Real(f32::from_bits(word as u32).into()),
            Kind::F64 => Number::Real(f64::from_bits(word)),
            _ => Number::Integer(word.into()),
        }
    }

    /// Number `i` as an index; `None` if it is negative or no integer.
    #[inline]
    pub fn index(&self, i: usize) -> Option<u64> {
        match self.number(i) {
            Number::Integer(index) => u64::try_from(index).ok(),
            Number::Real(_) => None,
        }
    }

    /// The error that number `i` is not what is `expected`.
    pub fn wrong(&self, i: usize, expected: &str) -> Error {
        let found = match self.number(i) {
            Number::Integer(found) => found.to_string(),
            Number::Real(found) => found.to_string(),
        };
        broken(self.place, self.at + i * self.stride, expected, &found)
    }

    /// Checks that all numbers are indices below `limit`.
    pub fn check_below(&self, limit: u64, what: &str) -> Result<()> {
        let outside = (0..self.len()).into_par_iter().find_first(|&i| self.index(i).is_none_or(|index| index >= limit));
        outside.map_or(Ok(()), |i| Err(self.wrong(i, &below(limit, what))))
    }
}

/// What an index below `limit` is called.
fn below(limit: u64, what: &str) -> String {
    match limit {
        0 => format!("no {what}"),
        _ => format!("a {what} from 0 to {}", limit - 1),
    }
}

/// The error for what stands at byte `at` of `place`.
pub(super) fn broken(place: &str, at: usize, expected: &str, found: &str) -> Error {
    Error::invalid(format!("{place}: byte {at}: expected {expected}, found {found}"))
}

/// Compressed rows: the entries of row `i` stand from `offsets[i]` to `offsets[i + 1]`.
pub(super) struct Rows<'b> {
    pub offsets: Array<'b>,
    pub columns: Array<'b>,
    /// The numbers of the values: one array for each number of a value; none if all values are 1.
    pub values: Vec<Array<'b>>,
    /// The number of columns of the matrix.
    pub width: u64,
}

impl Rows<'_> {
    /// Checks that the offsets ascend from 0 to the number of entries.
    pub fn check(&self) -> Result<()> {
        let (offsets, entries) = (&self.offsets, self.columns.len() as u64);
        let last = offsets.len() - 1;
        let expected = |i: usize, most: u64| match i {
            0 => "0, the start of the first row".to_owned(),
            _ if i == last => format!("{entries}, the number of entries"),
            _ => format!("an offset from {} to {most}", offsets.index(i - 1).unwrap_or(0)),
        };
        let right = |i: usize| {
            let least = if i == 0 { Some(0) } else { offsets.index(i - 1) };
            let Some((least, offset)) = least.zip(offsets.index(i)) else { return false };
            least <= offset && offset <= entries && (i > 0 || offset == 0) && (i < last || offset == entries)
        };
        let wrong = (0..=last).into_par_iter().find_first(|&i| !right(i));
        wrong.map_or(Ok(()), |i| Err(offsets.wrong(i, &expected(i, entries))))
    }

    /// Converts the entries for what `outline` says, after checking everything. They are listed by rows.
    pub fn entries<'p, V: Value>(&self, outline: Outline, progress: &'p dyn Progress) -> Result<Entries<'p, V>> {
        self.check()?;
        Entries::convert(self.columns.place, outline, progress, |range| self.range(range))
    }

    /// Converts a range of the entries.
    pub fn range<V: Value>(&self, range: Range<usize>) -> Result<Vec<(u32, u32, V)>> {
        let end_of = |row: usize| self.offsets.index(row + 1).unwrap_or(0);
        // the row of the first entry is the first that ends behind it
        let (mut low, mut high) = (0, self.offsets.len() - 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if end_of(middle) <= range.start as u64 { low = middle + 1 } else { high = middle }
        }
        let mut row = low;
        let mut entries = Vec::with_capacity(range.len());
        for i in range {
            while end_of(row) <= i as u64 {
                row += 1;
            }
            entries.push((row as u32, self.column(i)?, value(&self.values, i)?));
        }
        Ok(entries)
    }

    fn column(&self, i: usize) -> Result<u32> {
        let column = self.columns.index(i).filter(|&column| column < self.width);
        column.map(|column| column as u32).ok_or_else(|| self.columns.wrong(i, &below(self.width, "column")))
    }
}

/// Value `i` of the arrays of its numbers, or 1.
#[inline]
pub(super) fn value<V: Value>(values: &[Array<'_>], i: usize) -> Result<V> {
    let number = |at: usize| values.get(at).map_or(Number::Integer(1), |numbers| numbers.number(i));
    let wrong = || match values {
        [] => Error::invalid(format!("{} cannot hold 1", V::described())),
        [values, ..] => values.wrong(i, &format!("a value of type {}", V::described())),
    };
    V::from_numbers(number).ok_or_else(wrong)
}
