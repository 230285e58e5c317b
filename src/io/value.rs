//! The value types that files can be read as.

use crate::formats::buffer::Buffer;
use crate::formats::bytes;
use core::any::{Any, TypeId};
use core::cmp::Ordering;
use core::ops::Range;
use core::str::FromStr;
use half::{bf16, f16};
use memmap2::Mmap;
use rayon::prelude::*;
use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;
use vxm_semiring::dynamic::Kind;
use vxm_semiring::{Element, Fields};
use zerocopy::IntoBytes;

/// The field of a Matrix Market file: the kind of value that follows the row and column of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Field {
    Pattern,
    Integer,
    Real,
    /// Two real numbers.
    Complex,
}

/// A number of a binary file.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Number {
    Integer(i128),
    Real(f64),
}

/// A type of values that files are read as and written of: a number, `bool` (0 or 1), a struct made by [`scalar`](crate::semiring::scalar), or
/// `()`, which checks the syntax of values and drops them.
///
/// A struct with one field is held as a number. [Native files](crate::io::NativeFile) hold all others by the names and types of their fields.
/// Two floats of one type, whatever their names, are also a complex number: the real part, and the imaginary part.
///
/// ```
/// use vxm::io::{FileFormat, Numbering, WholeFile, read_matrix, write_as};
/// use vxm::prelude::*;
///
/// #[scalar]
/// struct Complex {
///     re: f64,
///     im: f64,
/// }
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("net.mtx");
/// std::fs::write(&path, "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 4 0\n2 1 1.5 -2\n")?;
/// let net = read_matrix::<Complex>(&path, &())?;
/// assert_eq!(net.get(0, 1), Some(Complex { re: 1.5, im: 2.0 }));
///
/// let copy = folder.path().join("net.vxm");
/// write_as(WholeFile::prepare(&copy)?, FileFormat::Native, &net, &Numbering::From(1))?;
/// assert_eq!(read_matrix::<Complex>(&copy, &())?, net);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Value: Fields + sealed::Sealed {}

impl<T: Fields> Value for T {}

/// `$body` for the type `$t` of the kind `$kind`, or `$other` for the entry of a pattern.
macro_rules! by_kind {
    ($kind:expr, $t:ident => $body:expr, $other:expr) => {
        match $kind {
            Kind::Bool => {
                type $t = bool;
                $body
            }
            Kind::I8 => {
                type $t = i8;
                $body
            }
            Kind::I16 => {
                type $t = i16;
                $body
            }
            Kind::I32 => {
                type $t = i32;
                $body
            }
            Kind::I64 => {
                type $t = i64;
                $body
            }
            Kind::U8 => {
                type $t = u8;
                $body
            }
            Kind::U16 => {
                type $t = u16;
                $body
            }
            Kind::U32 => {
                type $t = u32;
                $body
            }
            Kind::U64 => {
                type $t = u64;
                $body
            }
            Kind::F16 => {
                type $t = f16;
                $body
            }
            Kind::Bf16 => {
                type $t = bf16;
                $body
            }
            Kind::F32 => {
                type $t = f32;
                $body
            }
            Kind::F64 => {
                type $t = f64;
                $body
            }
            _ => $other,
        }
    };
}

pub(super) mod sealed {
    use super::*;

    /// How values stand in files.
    pub trait Sealed: Fields {
        /// The number `word`, or the implicit 1 of a pattern; `None` if the type can't hold it, or holds more than one number.
        fn parse(field: Field, word: &[u8]) -> Option<Self>;
        /// The complex number of two words; `None` if the type holds no complex numbers.
        fn parse_complex(words: [&[u8]; 2]) -> Option<Self>;
        /// The value of these numbers, as many as the type has, or any for `()`; `None` if it can't hold one of them.
        fn from_numbers(number: impl Fn(usize) -> Number) -> Option<Self>;
        /// The value of this number, for a type of one number.
        #[inline]
        fn from_number(number: Number) -> Option<Self> {
            Self::from_numbers(|_| number)
        }
        /// The value with all numbers negated.
        fn negate(self) -> Option<Self>;
        /// The complex number with its imaginary part negated.
        fn conjugate(self) -> Option<Self>;
        /// The lesser of two values, by their first numbers that differ; this one where that is NaN.
        fn least(self, other: Self) -> Self;
        /// Appends the numbers, with blanks between them, as text that reads back as the same value.
        fn show(self, text: &mut Vec<u8>);

        /// The kind of number; `None` for a pattern, or for a struct of more numbers than one.
        const NUMBER: Option<Kind> = match Self::FIELDS {
            [one] => Some(one.kind),
            _ => None,
        };
        /// The kind of both parts of a complex number; `None` for all other types.
        const COMPLEX: Option<Kind> = match Self::FIELDS {
            [re, im] => match (re.kind, im.kind) {
                (Kind::F16, Kind::F16) => Some(Kind::F16),
                (Kind::Bf16, Kind::Bf16) => Some(Kind::Bf16),
                (Kind::F32, Kind::F32) => Some(Kind::F32),
                (Kind::F64, Kind::F64) => Some(Kind::F64),
                _ => None,
            },
            _ => None,
        };

        /// The values in the bytes `range` of a mapped file, `entries` in number; `None` if the bytes are no values. Structs are copied.
        fn mapped(map: &Arc<Mmap>, range: Range<usize>, entries: usize) -> Option<Buffer<Self>>;
        /// The type, as messages show it: `u32`, or `Hop {cost: u32, parent: u32}`.
        fn described() -> String {
            match Self::FIELDS {
                [] | [_] => Self::NAME.to_owned(),
                fields => {
                    let fields: Vec<_> = fields.iter().map(|field| (field.name, field.kind)).collect();
                    format!("{} {}", Self::NAME, listed(&fields))
                }
            }
        }
    }

    impl<T: Fields> Sealed for T {
        #[inline]
        fn parse(field: Field, word: &[u8]) -> Option<Self> {
            match T::FIELDS {
                [] => {
                    let spelled = match field {
                        Field::Pattern => true,
                        Field::Integer => is_integer(word),
                        _ => is_integer(word) || is_real(word),
                    };
                    spelled.then_some(T::ZERO)
                }
                [one] => {
                    let word = if field == Field::Pattern { ONE } else { word };
                    by_kind!(one.kind, N => N::of_text(word).map(|x| T::from_wide_bits(x.wide_bits())), None)
                }
                _ => None,
            }
        }

        #[inline]
        fn parse_complex(words: [&[u8]; 2]) -> Option<Self> {
            if T::FIELDS.is_empty() {
                return words.into_iter().all(is_real).then_some(T::ZERO);
            }
            let kind = T::COMPLEX?;
            let bits = |at: usize| -> Option<u128> {
                let bits = by_kind!(kind, N => N::of_text(words[at])?.wide_bits(), return None);
                Some(bits << (8 * T::FIELDS[at].at))
            };
            Some(T::from_wide_bits(bits(0)? | bits(1)?))
        }

        #[inline]
        fn from_numbers(number: impl Fn(usize) -> Number) -> Option<Self> {
            let mut bits = 0;
            for (at, field) in T::FIELDS.iter().enumerate() {
                let one = by_kind!(field.kind, N => N::of_number(number(at))?.wide_bits(), return None);
                bits |= one << (8 * field.at);
            }
            Some(T::from_wide_bits(bits))
        }

        #[inline]
        fn negate(self) -> Option<Self> {
            let mut bits = 0;
            for field in T::FIELDS {
                let own = self.wide_bits() >> (8 * field.at);
                let one = by_kind!(field.kind, N => N::from_wide_bits(own).negated()?.wide_bits(), return None);
                bits |= one << (8 * field.at);
            }
            Some(T::from_wide_bits(bits))
        }

        #[inline]
        fn conjugate(self) -> Option<Self> {
            if T::FIELDS.is_empty() {
                return Some(self);
            }
            let (kind, shift) = (T::COMPLEX?, 8 * T::FIELDS[1].at);
            let own = self.wide_bits();
            let im = by_kind!(kind, N => N::from_wide_bits(own >> shift).negated()?.wide_bits(), return None);
            Some(T::from_wide_bits(own & ((1 << shift) - 1) | im << shift))
        }

        #[inline]
        fn least(self, other: Self) -> Self {
            for field in T::FIELDS {
                let (own, others) = (self.wide_bits() >> (8 * field.at), other.wide_bits() >> (8 * field.at));
                let order =
                    by_kind!(field.kind, N => N::from_wide_bits(own).partial_cmp(&N::from_wide_bits(others)), None);
                match order {
                    Some(Ordering::Less) => return self,
                    Some(Ordering::Greater) => return other,
                    Some(Ordering::Equal) => {}
                    // NaN is no less than any number, nor is any number less
                    None => return self,
                }
            }
            self
        }

        #[inline]
        fn show(self, text: &mut Vec<u8>) {
            for (at, field) in T::FIELDS.iter().enumerate() {
                if at > 0 {
                    text.push(b' ');
                }
                let own = self.wide_bits() >> (8 * field.at);
                by_kind!(field.kind, N => N::from_wide_bits(own).append(text), ());
            }
        }

        fn mapped(map: &Arc<Mmap>, range: Range<usize>, entries: usize) -> Option<Buffer<Self>> {
            mapped(map, range, entries)
        }
    }
}

/// The type, as messages show it, by the names and kinds of its fields: `{cost: u32, parent: u32}`.
pub(super) fn listed<N: AsRef<str>>(fields: &[(N, Kind)]) -> String {
    let fields: Vec<_> = fields.iter().map(|(name, kind)| format!("{}: {kind}", name.as_ref())).collect();
    format!("{{{}}}", fields.join(", "))
}

/// The same value as one of the type that it has.
fn same<A: 'static, B: 'static>(value: A) -> Option<B> {
    (&mut Some(value) as &mut dyn Any).downcast_mut::<Option<B>>()?.take()
}

/// Calls the macro `$then` with the types of numbers that are used as they lie in memory or in a file.
macro_rules! plain_numbers {
    ($then:ident!) => {
        $then! { bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 }
    };
}

/// Whether values of `T` are used as they lie in a file.
pub(super) fn is_plain<T: 'static>() -> bool {
    macro_rules! any_of {
        ($($t:ty)*) => { [$(TypeId::of::<$t>()),*].contains(&TypeId::of::<T>()) };
    }
    size_of::<T>() == 0 || plain_numbers!(any_of!)
}

/// The values in the bytes `range` of a mapped file; see [`Value`].
fn mapped<T: Fields>(map: &Arc<Mmap>, range: Range<usize>, entries: usize) -> Option<Buffer<T>> {
    macro_rules! plain {
        ($($t:ty)*) => {$(
            if TypeId::of::<T>() == TypeId::of::<$t>() {
                return Buffer::<$t>::mapped(map, range).and_then(same);
            }
        )*};
    }
    plain_numbers!(plain!);
    if T::FIELDS.is_empty() {
        return Some(vec![T::ZERO; entries].into());
    }
    let bytes = map.get(range)?;
    let truths = || T::FIELDS.iter().filter(|field| field.kind == Kind::Bool);
    let value = |value: &[u8]| truths().all(|field| value[field.at] <= 1).then(|| bytes::element(value));
    let values: Option<Vec<T>> = bytes.par_chunks_exact(size_of::<T>()).map(value).collect();
    values.map(Buffer::from)
}

/// The bytes of values, as files hold them.
pub(super) fn bytes_of<T: Fields>(values: &Buffer<T>) -> Cow<'_, [u8]> {
    macro_rules! plain {
        ($($t:ty)*) => {$(
            if let Some(plain) = (values as &dyn Any).downcast_ref::<Buffer<$t>>() {
                return plain.as_bytes().into();
            }
        )*};
    }
    plain_numbers!(plain!);
    let mut all = Vec::with_capacity(size_of_val::<[T]>(values));
    values.iter().for_each(|&value| bytes::append(&mut all, value));
    all.into()
}

/// The value of an entry in a pattern file.
const ONE: &[u8] = b"1";

/// A number as files hold it.
trait Numeral: Element + PartialOrd {
    fn of_text(word: &[u8]) -> Option<Self>;
    fn of_number(number: Number) -> Option<Self>;
    fn negated(self) -> Option<Self>;
    /// Appends text that reads back as the same number.
    fn append(self, text: &mut Vec<u8>);
}

/// A narrower number; `None` if it would become infinite.
fn narrowed<T: Numeral>(wide: f64, narrow: impl Fn(f64) -> T) -> Option<T> {
    Some(narrow(wide)).filter(|narrow| wide.is_infinite() || !narrow.as_f64().is_infinite())
}

/// A float as text; `None` if it is written with digits and becomes infinite.
fn finite_or_said<T: Numeral + FromStr>(word: &[u8]) -> Option<T> {
    parsed(word).filter(|x: &T| x.as_f64().is_finite() || !word.iter().any(u8::is_ascii_digit))
}

/// Parses `word`; `None` if `T` can't hold it.
fn parsed<T: FromStr>(word: &[u8]) -> Option<T> {
    core::str::from_utf8(word).ok()?.parse().ok()
}

macro_rules! numerals {
    ($($t:ty, $text:ident => $parsed:expr, $value:ident => $negated:expr, $shown:expr, $integer:ident => $held:expr, $real:ident => $rounded:expr;)*) => {$(
        impl Numeral for $t {
            fn of_text($text: &[u8]) -> Option<Self> {
                $parsed
            }
            fn of_number(number: Number) -> Option<Self> {
                match number {
                    Number::Integer($integer) => $held,
                    Number::Real($real) => $rounded,
                }
            }
            fn negated(self) -> Option<Self> {
                let $value = self;
                $negated
            }
            fn append(self, text: &mut Vec<u8>) {
                let $value = self;
                // writing to a vector doesn't fail
                let _ = write!(text, "{:?}", $shown);
            }
        }
    )*};
}
/// Implements [`Numeral`] for integers. A float is held if it is a whole number within the type's range.
macro_rules! integers {
    ($($t:ty)*) => { numerals! {$(
        $t, word => parsed(word), x => x.checked_neg(), x, i => Self::try_from(i).ok(),
            r => (r.fract() == 0.0).then_some(r as i128).and_then(|i| Self::try_from(i).ok());
    )*} };
}
integers! { i8 i16 i32 i64 u8 u16 u32 u64 }
numerals! {
    bool, word => match parsed::<u8>(word)? { 0 => Some(false), 1 => Some(true), _ => None },
        x => (!x).then_some(x), u8::from(x),
        i => match i { 0 => Some(false), 1 => Some(true), _ => None },
        r => if r == 0.0 { Some(false) } else { (r == 1.0).then_some(true) };
    f16, word => finite_or_said(word).and_then(|x| narrowed(x, Self::from_f64)), x => Some(-x), x.to_f32(),
        i => narrowed(i as f64, Self::from_f64), r => narrowed(r, Self::from_f64);
    bf16, word => finite_or_said(word).and_then(|x| narrowed(x, Self::from_f64)), x => Some(-x), x.to_f32(),
        i => narrowed(i as f64, Self::from_f64), r => narrowed(r, Self::from_f64);
    f32, word => finite_or_said(word), x => Some(-x), x, i => Some(i as Self), r => narrowed(r, |x| x as Self);
    f64, word => finite_or_said(word), x => Some(-x), x, i => Some(i as Self), r => Some(r);
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
