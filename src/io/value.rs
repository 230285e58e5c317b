//! The value types that files can be read as.

use crate::formats::buffer::Buffer;
use core::ops::Range;
use memmap2::Mmap;
use std::io::Write;
use std::sync::Arc;
use vxm_semiring::Element;
use zerocopy::IntoBytes;

/// The field of a Matrix Market file: the kind of value that follows the row and column of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Field {
    Pattern,
    Integer,
    Real,
}

/// A number of a binary file.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Number {
    Integer(i128),
    Real(f64),
}

/// A value type for [`read_matrix`](super::read_matrix): the integers and floats, `bool` (0 or 1), or `()`, which
/// checks the syntax of values and drops them.
pub trait Value: Element<Bits = u64> + sealed::Sealed {
    #[doc(hidden)]
    fn parse(field: Field, word: &[u8]) -> Option<Self>;
    #[doc(hidden)]
    fn from_number(number: Number) -> Option<Self>;
    #[doc(hidden)]
    fn negate(self) -> Option<Self>;
    #[doc(hidden)]
    fn least(self, other: Self) -> Self;
}

pub(super) mod sealed {
    use crate::formats::buffer::Buffer;
    use crate::io::binary::Kind;
    use crate::io::native::ELEMENTS;
    use crate::io::on_disk::Record;
    use core::ops::Range;
    use memmap2::Mmap;
    use std::sync::Arc;

    /// How values stand in a native file.
    pub trait Sealed: Sized {
        /// The code of the type in the file's header.
        const CODE: usize;
        /// The values in the bytes `range` of a mapped file, `entries` in number; `None` if the bytes are no values.
        fn mapped(map: &Arc<Mmap>, range: Range<usize>, entries: usize) -> Option<Buffer<Self>>;
        /// The kind of number; `None` for a pattern.
        const KIND: Option<Kind> = ELEMENTS[Self::CODE].1;
        /// An entry with such a value, as it is sorted on disk.
        type Record: Record;
        /// The bytes of values.
        fn bytes(values: &[Self]) -> &[u8];
        /// Appends the value as text that reads back as the same value.
        fn show(self, text: &mut Vec<u8>);
    }
}

/// Implements [`sealed::Sealed`] for types with values that are their bytes.
macro_rules! stored {
    ($($t:ty: $code:literal, $value:ident => $shown:expr;)*) => {$(
        impl sealed::Sealed for $t {
            const CODE: usize = $code;
            type Record = [u64; 2];
            fn mapped(map: &Arc<Mmap>, range: Range<usize>, _: usize) -> Option<Buffer<Self>> {
                Buffer::mapped(map, range)
            }
            fn bytes(values: &[Self]) -> &[u8] {
                values.as_bytes()
            }
            fn show(self, text: &mut Vec<u8>) {
                let $value = self;
                // writing to a vector doesn't fail
                let _ = write!(text, "{:?}", $shown);
            }
        }
    )*};
}
stored! {
    bool: 1, x => u8::from(x);
    i8: 2, x => x;
    i16: 3, x => x;
    i32: 4, x => x;
    i64: 5, x => x;
    u8: 6, x => x;
    u16: 7, x => x;
    u32: 8, x => x;
    u64: 9, x => x;
    f32: 10, x => x;
    f64: 11, x => x;
}

impl sealed::Sealed for () {
    const CODE: usize = 0;
    type Record = u64;
    fn mapped(_: &Arc<Mmap>, _: Range<usize>, entries: usize) -> Option<Buffer<Self>> {
        Some(vec![(); entries].into())
    }
    fn bytes(_: &[Self]) -> &[u8] {
        &[]
    }
    fn show(self, _: &mut Vec<u8>) {}
}

/// The value of an entry in a pattern file.
const ONE: &[u8] = b"1";

/// Parses `word`, or the implicit 1 of a pattern; `None` if `T` cannot hold it.
fn number<T: core::str::FromStr>(field: Field, word: &[u8]) -> Option<T> {
    let word = if field == Field::Pattern { ONE } else { word };
    core::str::from_utf8(word).ok()?.parse().ok()
}

macro_rules! values {
    ($($t:ty, $value:ident => $negated:expr, $integer:ident => $held:expr, $real:ident => $rounded:expr;)*) => {$(
        impl Value for $t {
            fn parse(field: Field, word: &[u8]) -> Option<Self> {
                number(field, word)
            }
            fn from_number(number: Number) -> Option<Self> {
                match number {
                    Number::Integer($integer) => $held,
                    Number::Real($real) => $rounded,
                }
            }
            fn least(self, other: Self) -> Self {
                if other < self { other } else { self }
            }
            fn negate(self) -> Option<Self> {
                let $value = self;
                $negated
            }
        }
    )*};
}
/// Implements [`Value`] for integers. A float is held if it is a whole number within the type's range.
macro_rules! integers {
    ($($t:ty)*) => { values! {$(
        $t, x => x.checked_neg(), i => Self::try_from(i).ok(),
            r => (r.fract() == 0.0).then_some(r as i128).and_then(|i| Self::try_from(i).ok());
    )*} };
}
integers! { i8 i16 i32 i64 u8 u16 u32 u64 }
values! {
    f32, x => Some(-x), i => Some(i as Self), r => Some(r as Self);
    f64, x => Some(-x), i => Some(i as Self), r => Some(r);
}

impl Value for bool {
    fn parse(field: Field, word: &[u8]) -> Option<Self> {
        match number(field, word)? {
            0u8 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
    fn from_number(number: Number) -> Option<Self> {
        match number {
            Number::Integer(0) | Number::Real(0.0) => Some(false),
            Number::Integer(1) | Number::Real(1.0) => Some(true),
            _ => None,
        }
    }
    fn negate(self) -> Option<Self> {
        (!self).then_some(self)
    }
    fn least(self, other: Self) -> Self {
        self && other
    }
}

impl Value for () {
    #[inline]
    fn parse(field: Field, word: &[u8]) -> Option<Self> {
        let spelled = match field {
            Field::Pattern => true,
            Field::Integer => is_integer(word),
            Field::Real => is_integer(word) || is_real(word),
        };
        spelled.then_some(())
    }
    fn from_number(_: Number) -> Option<Self> {
        Some(())
    }
    fn negate(self) -> Option<Self> {
        Some(())
    }
    fn least(self, (): Self) -> Self {}
}

/// Whether `word` is an integer: digits after an optional sign.
pub(super) fn is_integer(word: &[u8]) -> bool {
    let digits = match word {
        [b'+' | b'-', rest @ ..] => rest,
        all => all,
    };
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// Whether `word` is a number as Rust, C or Fortran print it, infinities and NaN included.
pub(super) fn is_real(word: &[u8]) -> bool {
    core::str::from_utf8(word).is_ok_and(|text| text.parse::<f64>().is_ok())
}
