//! The values of options: types with their names, and numbers within their bounds.

use clap::Args;
use core::fmt;
use core::str::FromStr;
use vxm::backend::Device;
use vxm::backend::plan::Format;
use vxm::memory::Size;
use vxm::operations::renumbering::Reorder;
use vxm::{Error, Result};

/// A limit on memory.
#[derive(Debug, Args)]
pub struct Memory {
    /// Memory to take at most, such as 8GiB; default: VXM_MEMORY, or what is there. On a GPU it is that of the device: what
    /// doesn't fit stays on the host. On the CPU, graphs that don't fit are built on disk, and a .vxm file may be larger. Does
    /// not change the answer.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<Size>,
}

impl Memory {
    /// The limit in bytes, if there is one.
    pub fn limit(&self) -> Result<Option<u64>> {
        let Some(text) = std::env::var_os("VXM_MEMORY").filter(|text| self.memory.is_none() && !text.is_empty()) else {
            return Ok(self.memory.map(|Size(bytes)| bytes));
        };
        let size = text.to_string_lossy().parse::<Size>();
        size.map(|Size(bytes)| Some(bytes)).map_err(|error| Error::invalid(format!("VXM_MEMORY: {error}")))
    }
}

/// Parses a size. The error is text, so that the message also names the option.
fn size(text: &str) -> Result<Size, String> {
    text.parse().map_err(|error: Error| error.to_string())
}

/// The type of a matrix' entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entries(pub &'static str);

/// The type of complex numbers, of two `f64`.
pub const COMPLEX: &str = "complex";

impl FromStr for Entries {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        let known = [&vxm::io::NativeFile::ELEMENTS[..], &[COMPLEX]].concat();
        known.iter().copied().find(|&known| known == name).map(Self).ok_or_else(|| Error::unknown("type", name, &known))
    }
}

/// The device that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// A GPU if there is one.
    Auto,
    /// A GPU: of one process the first, of ranks the host's in turn.
    Gpu,
    /// This one.
    Named(Device),
}

impl Asked {
    /// The device of one process.
    pub fn device(self) -> Device {
        match self {
            Self::Auto => Device::auto(),
            Self::Gpu => Device::Cuda(0),
            Self::Named(device) => device,
        }
    }
}

impl FromStr for Asked {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        match name {
            "auto" => Ok(Self::Auto),
            "cuda" => Ok(Self::Gpu),
            _ => name.parse().map(Self::Named),
        }
    }
}

/// A range of integer weights; both ends are in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeightRange {
    pub least: u32,
    pub greatest: u32,
}

impl FromStr for WeightRange {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let ends =
            text.split_once("..").and_then(|(least, greatest)| Some((least.parse().ok()?, greatest.parse().ok()?)));
        match ends {
            Some((least, greatest)) if least <= greatest => Ok(Self { least, greatest }),
            _ => Err(format!("expected LEAST..GREATEST, two numbers from 0 to {}, the lesser first", u32::MAX)),
        }
    }
}

impl fmt::Display for WeightRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.least, self.greatest)
    }
}

/// The type of ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    F32,
    F64,
}

impl Precision {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

impl FromStr for Precision {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        match name {
            "f32" => Ok(Self::F32),
            "f64" => Ok(Self::F64),
            _ => Err(Error::unknown("precision", name, &["f32", "f64"])),
        }
    }
}

/// The storage format that the plan must use; `None` lets the plan choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout(pub Option<Format>);

impl FromStr for Layout {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        if name == "auto" { Ok(Self(None)) } else { name.parse().map(|format| Self(Some(format))) }
    }
}

/// The order in which vertices are numbered anew; `None` for that of the file.
#[derive(Debug, Clone, Copy)]
pub struct Renumber(pub Option<Reorder>);

impl FromStr for Renumber {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        if name == "none" { Ok(Self(None)) } else { name.parse().map(|order| Self(Some(order))) }
    }
}

/// A number of 64 bits.
pub fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a number from 0 to {}", u64::MAX))
}

/// A number of rounds.
pub fn rounds(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("expected a number from 0 to {}", u32::MAX))
}

/// A real number.
pub fn real(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "expected a number, such as 0.85".to_owned())
}

/// How far apart members of a set, or vertices of a colour, are at least.
pub fn distance(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|distance| (1..=2).contains(distance)).ok_or_else(|| "expected 1 or 2".to_owned())
}

/// The most runs at once.
const RUNS: u32 = 1024;

/// A number of runs.
pub fn runs(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (1..=RUNS).contains(number));
    number.ok_or_else(|| format!("expected a number from 1 to {RUNS}"))
}

/// A number of sources.
pub fn sources(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|&number| number >= 1);
    number.ok_or_else(|| format!("expected a number from 1 to {}", u32::MAX))
}

/// Which truss.
pub fn truss(text: &str) -> Result<u32, String> {
    let k = text.parse().ok().filter(|&k| k >= 3);
    k.ok_or_else(|| format!("expected a number from 3 to {}", u32::MAX))
}

/// A time in seconds.
pub fn seconds(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| (1..=1_000_000).contains(number));
    number.ok_or_else(|| "expected seconds, from 1 to 1000000".to_owned())
}

/// The most threads of a process.
pub const MOST_THREADS: u16 = 1024;

/// A number of threads.
pub fn threads(text: &str) -> Result<u16, String> {
    let number = text.parse().ok().filter(|number| (1..=MOST_THREADS).contains(number));
    number.ok_or_else(|| format!("expected a number from 1 to {MOST_THREADS}"))
}
