//! NumPy arrays as `.npy` files hold them: a mark, a version, a header that is a Python dictionary, and the numbers
//! (NumPy Enhancement Proposal 1).

use crate::error::{Error, Result, printable};
use crate::io::binary::{Array, broken};
use vxm_semiring::dynamic::Kind;

const MARK: &[u8] = b"\x93NUMPY";

/// An array.
pub(super) struct Npy<'b> {
    place: &'b str,
    /// NumPy's name of the type, such as `<i4`.
    descr: &'b str,
    /// The lengths of the dimensions.
    pub shape: Vec<u64>,
    /// The byte at which the elements start.
    pub at: usize,
    elements: &'b [u8],
}

impl<'b> Npy<'b> {
    /// Parses the header of `bytes`, which are the file `place`.
    pub fn parse(place: &'b str, bytes: &'b [u8]) -> Result<Self> {
        let wrong = |at, expected| broken(place, at, expected, "other bytes");
        let (sized, start) = match bytes.get(..10) {
            Some(&[.., 1, _, low, high]) if bytes.starts_with(MARK) => (u32::from(low) | u32::from(high) << 8, 10),
            Some(&[.., 2 | 3, _, low, high]) if bytes.starts_with(MARK) && bytes.len() >= 12 => {
                (u32::from_le_bytes([low, high, bytes[10], bytes[11]]), 12)
            }
            _ => return Err(wrong(0, "a NumPy array of version 1, 2 or 3")),
        };
        let at = start + sized as usize;
        let header = bytes.get(start..at).ok_or_else(|| wrong(start, "a whole header of a NumPy array"))?;
        let header = core::str::from_utf8(header).map_err(|_| wrong(start, "a header in UTF-8"))?;
        let field = |name: &str, ends: [char; 2]| {
            let rest = header.split_once(&format!("'{name}':")).and_then(|(_, rest)| rest.split_once(ends[0]));
            // the value must follow at once, and not stand in a later field
            let rest = rest.filter(|(before, _)| before.trim().is_empty());
            let value = rest.and_then(|(_, rest)| rest.split_once(ends[1])).map(|(value, _)| value);
            value.ok_or_else(|| broken(place, start, &format!("a header with `{name}`"), "none that is read"))
        };
        let descr = field("descr", ['\'', '\''])?;
        let lengths = field("shape", ['(', ')'])?.split(',').map(str::trim).filter(|length| !length.is_empty());
        let shape: Option<Vec<u64>> = lengths.map(|length| length.parse().ok()).collect();
        let shape = shape.ok_or_else(|| wrong(start, "a `shape` of numbers"))?;
        Ok(Self { place, descr, shape, at, elements: &bytes[at..] })
    }

    /// The number of elements.
    fn count(&self) -> u128 {
        self.shape.iter().fold(1, |count: u128, &length| count.saturating_mul(length.into()))
    }

    /// Checks the number of elements of `size` bytes against the bytes that there are.
    fn check(&self, size: usize) -> Result<()> {
        let expected = self.count().saturating_mul(size as u128);
        if expected == self.elements.len() as u128 {
            return Ok(());
        }
        let expected = format!("{expected} bytes of `{}` (by its shape)", self.descr);
        Err(broken(self.place, self.at, &expected, &self.elements.len().to_string()))
    }

    /// The numbers.
    pub fn numbers(&self) -> Result<Array<'b>> {
        let kind = match self.descr {
            "|b1" | "<b1" | "?" => Some(Kind::Bool),
            "|i1" | "<i1" => Some(Kind::I8),
            "|u1" | "<u1" => Some(Kind::U8),
            "<i2" => Some(Kind::I16),
            "<i4" => Some(Kind::I32),
            "<i8" => Some(Kind::I64),
            "<u2" => Some(Kind::U16),
            "<u4" => Some(Kind::U32),
            "<u8" => Some(Kind::U64),
            "<f2" => Some(Kind::F16),
            "<f4" => Some(Kind::F32),
            "<f8" => Some(Kind::F64),
            _ => None,
        };
        let kind = kind.ok_or_else(|| self.unknown("little-endian integers, floats or bool"))?;
        self.check(kind.size())?;
        Ok(Array { place: self.place, at: self.at, bytes: self.elements, kind, stride: kind.size() })
    }

    /// The numbers of values: one array, or two for the parts of complex numbers.
    pub fn values(&self) -> Result<Vec<Array<'b>>> {
        let kind = match self.descr {
            "<c8" => Kind::F32,
            "<c16" => Kind::F64,
            _ => return self.numbers().map(|numbers| vec![numbers]),
        };
        let stride = 2 * kind.size();
        self.check(stride)?;
        let part = |from: usize| {
            let from = from.min(self.elements.len());
            Array { place: self.place, at: self.at + from, bytes: &self.elements[from..], kind, stride }
        };
        Ok(vec![part(0), part(kind.size())])
    }

    /// The error that elements are of a type that isn't read.
    pub fn unknown(&self, expected: &str) -> Error {
        broken(self.place, 0, expected, &format!("`{}`", printable(self.descr.as_bytes())))
    }

    /// The single string, of bytes (`S`) or of 4-byte characters (`U`).
    pub fn string(&self) -> Result<String> {
        let (kind, length) = self.descr.split_at_checked(2).unwrap_or((self.descr, ""));
        let size = match kind {
            "|S" => Some(1),
            "<U" => Some(4),
            _ => None,
        };
        let length: Option<usize> = length.parse().ok().filter(|&length| length < 64);
        let Some((size, length)) = size.zip(length).filter(|_| self.count() == 1) else {
            return Err(broken(self.place, 0, "a string", &format!("`{}`", self.descr)));
        };
        self.check(size * length)?;
        let bytes = self.elements.iter().step_by(size).copied().filter(|&byte| byte != 0);
        Ok(bytes.map(char::from).collect())
    }
}
