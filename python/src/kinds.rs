//! The kinds of elements: numbers, and structs of numbers that lie in a word.

use crate::programs;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::fmt;
use std::sync::Mutex;
use vxm::semiring::dynamic;
use vxm::semiring::laws::{Sample, with_field};

/// The most bytes of a struct: those of a word.
const MOST_BYTES: usize = 8;

/// A field of a struct.
#[derive(Debug, PartialEq, Eq)]
pub struct Field {
    name: String,
    kind: dynamic::Kind,
    /// How many bits of the word lie below it.
    shift: usize,
}

/// The fields of a struct, the first in a word's lowest bits, and nothing between them.
#[derive(Debug, PartialEq, Eq)]
pub struct Struct {
    /// As `{cost: u32, parent: u32}`.
    name: String,
    fields: Vec<Field>,
}

/// The kind of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// What programs compute with: the kind itself, or for a struct the word that its fields lie in.
    pub word: dynamic::Kind,
    layout: Option<&'static Struct>,
}

impl From<dynamic::Kind> for Kind {
    fn from(word: dynamic::Kind) -> Self {
        Self { word, layout: None }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The structs so far. A program that has made a thousand of them keeps a thousand.
static KNOWN: Mutex<Vec<&'static Struct>> = Mutex::new(Vec::new());

impl Kind {
    /// The kind of a pattern's entry.
    pub const UNIT: Self = Self { word: dynamic::Kind::Unit, layout: None };

    /// The kind of this name.
    pub fn named(name: &str) -> PyResult<Self> {
        if let Some(word) = dynamic::Kind::named(name) {
            return Ok(word.into());
        }
        let known = || dynamic::Kind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
        let unknown = || PyTypeError::new_err(format!("unknown kind `{name}`: expected one of {}", known()));
        let inner = name.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).ok_or_else(unknown)?;
        let mut known = KNOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let layout = match known.iter().find(|of| of.name == name) {
            Some(of) => *of,
            None => {
                let of = Struct::of(name, inner).ok_or_else(unknown)?;
                let of: &'static Struct = Box::leak(Box::new(of));
                known.push(of);
                of
            }
        };
        let word = if layout.bytes() <= 4 { dynamic::Kind::U32 } else { dynamic::Kind::U64 };
        Ok(Self { word, layout: Some(layout) })
    }

    pub fn name(self) -> &'static str {
        self.layout.map_or_else(|| self.word.name(), |of| &of.name)
    }

    /// The bytes of the number, or of the word that a struct lies in.
    pub fn size(self) -> usize {
        self.word.size()
    }

    /// The struct, if it is one.
    pub fn layout(self) -> Option<&'static Struct> {
        self.layout
    }
}

impl Struct {
    /// The struct with these fields, as `cost: u32, parent: u32`.
    fn of(name: &str, inner: &str) -> Option<Self> {
        let (mut fields, mut shift) = (Vec::new(), 0);
        for field in inner.split(", ") {
            let (name, kind) = field.split_once(": ")?;
            use dynamic::Kind as K;
            let kind = K::named(kind).filter(|kind| !matches!(kind, K::Unit | K::F16 | K::Bf16))?;
            fields.push(Field { name: name.to_owned(), kind, shift });
            shift += 8 * kind.size();
        }
        let made = Self { name: name.to_owned(), fields };
        (made.bytes() <= MOST_BYTES).then_some(made)
    }

    fn bytes(&self) -> usize {
        self.fields.iter().map(|field| field.kind.size()).sum()
    }

    /// The fields' values in a word, for messages.
    pub fn shown(&self, py: Python<'_>, word: u64) -> PyResult<String> {
        let shown = self.fields.iter().map(|field| {
            let value = programs::value(py, field.kind.into(), field.kind_bits(word))?;
            Ok(format!("{}: {}", field.name, value.bind(py).repr()?))
        });
        Ok(format!("{{{}}}", shown.collect::<PyResult<Vec<_>>>()?.join(", ")))
    }

    /// Whether all fields are equal numbers.
    pub fn alike(&self, x: u64, y: u64) -> bool {
        self.fields.iter().all(|field| {
            let (x, y) = (field.kind_bits(x), field.kind_bits(y));
            x == y || field.as_float(x).is_some_and(|x| Some(x) == field.as_float(y))
        })
    }

    /// Words to try laws on: their fields have extreme values. None is NaN.
    pub fn samples(&self) -> Vec<u64> {
        use dynamic::Kind as K;
        let mut all = vec![0];
        for field in &self.fields {
            let count = self.fields.len();
            all = match field.kind {
                K::Bool => field.extremes::<bool>(&all, count),
                K::I8 => field.extremes::<i8>(&all, count),
                K::I16 => field.extremes::<i16>(&all, count),
                K::I32 => field.extremes::<i32>(&all, count),
                K::I64 => field.extremes::<i64>(&all, count),
                K::U8 => field.extremes::<u8>(&all, count),
                K::U16 => field.extremes::<u16>(&all, count),
                K::U32 => field.extremes::<u32>(&all, count),
                K::U64 => field.extremes::<u64>(&all, count),
                K::F32 => field.extremes::<f32>(&all, count),
                _ => field.extremes::<f64>(&all, count),
            };
        }
        all.retain(|&word| {
            self.fields.iter().all(|field| field.as_float(field.kind_bits(word)).is_none_or(|x| !x.is_nan()))
        });
        all
    }
}

impl Field {
    /// The number that has these bits, if it is a float.
    fn as_float(&self, bits: u64) -> Option<f64> {
        match self.kind {
            dynamic::Kind::F32 => Some(f32::from_bits(bits as u32).into()),
            dynamic::Kind::F64 => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    /// The field's bits in a word.
    fn mask(&self) -> u64 {
        (u64::MAX >> (64 - 8 * self.kind.size())) << self.shift
    }

    fn kind_bits(&self, word: u64) -> u64 {
        (word & self.mask()) >> self.shift
    }

    /// The words with extreme values in this field of `count`.
    fn extremes<T: Sample>(&self, all: &[u64], count: usize) -> Vec<u64> {
        with_field(all, count, |word: &mut u64, value: T| {
            *word = *word & !self.mask() | (value.wide_bits() as u64) << self.shift;
        })
    }
}
