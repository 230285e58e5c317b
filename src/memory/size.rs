//! Numbers of bytes as people write them.

use crate::error::{Error, Result};
use core::fmt;
use core::str::FromStr;

/// A number of bytes, read from text such as `8GiB`, `512MiB`, `1.5G`, `2GB` or `1048576`.
///
/// `K`, `M`, `G` and `T` count in powers of 1024, as `KiB` to `TiB` do; `KB` to `TB` count in powers of 1000.
///
/// ```
/// use vxm::memory::Size;
/// let bytes = |text: &str| text.parse().map(|Size(bytes)| bytes).ok();
/// assert_eq!((bytes("8GiB"), bytes("1.5k"), bytes("2 MB"), bytes("77")), (Some(8 << 30), Some(1536), Some(2_000_000), Some(77)));
/// assert_eq!((bytes("much"), bytes("-1G"), bytes("1e99T")), (None, None, None));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let wrong = || Error::invalid(format!("expected a number of bytes such as 8GiB or 512MiB, found {text:?}"));
        let trimmed = text.trim();
        let digits = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(digits);
        let unit = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kib" => 1 << 10,
            "m" | "mib" => 1 << 20,
            "g" | "gib" => 1 << 30,
            "t" | "tib" => 1u64 << 40,
            "kb" => 1000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            "tb" => 1_000_000_000_000,
            _ => return Err(wrong()),
        };
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(unit).map(Self).ok_or_else(wrong);
        }
        let bytes = number.parse::<f64>().map_err(|_| wrong())? * unit as f64;
        if bytes < u64::MAX as f64 { Ok(Self(bytes as u64)) } else { Err(wrong()) }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::error::size(self.0))
    }
}
