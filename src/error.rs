//! The errors of this crate. Each displays as one line that says where and what was expected.

use core::panic::Location;

/// The result type of this crate.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// An error. It displays as one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text of a file violates its format. Lines, and columns in bytes, count from 1.
    #[error("{file}:{line}:{column}: expected {expected}, found {found}")]
    Parse {
        /// The file, as the user named it.
        file: String,
        /// The line, counted from 1.
        line: u64,
        /// The column: the byte in the line, counted from 1.
        column: u64,
        /// What the format requires there.
        expected: String,
        /// What was found there.
        found: String,
    },

    /// A file could not be opened, read or written.
    #[error("{file}: {source}")]
    Io {
        /// The file, as the user named it.
        file: String,
        /// The error of the operating system.
        source: std::io::Error,
    },

    /// The specification of a generated graph is invalid.
    #[error("{spec}: expected {expected}, found {found}")]
    Spec {
        /// The whole specification.
        spec: String,
        /// What was expected of the part.
        expected: String,
        /// The part that is wrong.
        found: String,
    },

    /// The shapes of operands do not match.
    #[error("{at}: {operation}: {left} does not fit {right}")]
    Shape {
        /// The operation.
        operation: &'static str,
        /// The left operand's shape.
        left: String,
        /// The right operand's shape.
        right: String,
        /// The caller's line.
        at: &'static Location<'static>,
    },

    /// There are more vertices (rows, columns) than a `u32` can number.
    #[error("{place}: expected at most {limit} vertices, found {count}")]
    TooManyVertices {
        /// Where: `FILE:LINE:COLUMN`, a specification, or the type being built.
        place: String,
        /// The number requested.
        count: u128,
        /// The largest number allowed.
        limit: u64,
    },

    /// Something does not fit into memory; found before it is allocated.
    #[error("{place}: needs {} of memory, {} are available", at_least(*.needed), at_most(*.available))]
    Memory {
        /// What needs it: `FILE:LINE:COLUMN`, a specification, or a structure's name.
        place: String,
        /// Bytes needed.
        needed: u128,
        /// Bytes available.
        available: u64,
    },

    /// A memory budget is too small; found before anything runs.
    #[error("{place}: needs a memory budget of at least {}, found {}", at_least(*.needed), at_most(*.budget))]
    Budget {
        /// What needs it.
        place: String,
        /// The least bytes that would do.
        needed: u128,
        /// The budget in bytes.
        budget: u64,
    },

    /// Data given by the user violate an invariant.
    #[error("{what}")]
    Invalid {
        /// The structure, and how it is violated.
        what: String,
    },

    /// A loop has stalled: elements are still active, and a round changed none of them.
    #[error(
        "{at}: fixpoint: stalled after {rounds} {}: {left}, no change: expected each round to change at least one",
        if *.rounds == 1 { "round" } else { "rounds" }
    )]
    Stalled {
        /// The number of elements that are still active, in words.
        left: String,
        /// The number of rounds so far.
        rounds: u32,
        /// The caller's line.
        at: &'static Location<'static>,
    },

    /// A loop did not converge within the number of rounds that it may take.
    #[error("{at}: fixpoint: did not converge: round {rounds} still changed {changed}")]
    DidNotConverge {
        /// The number of elements that the last round changed, in words.
        changed: String,
        /// The number of rounds.
        rounds: u32,
        /// The caller's line.
        at: &'static Location<'static>,
    },

    /// A device is missing, out of memory, or lost.
    #[error(transparent)]
    Device(#[from] crate::kernels::Error),

    /// Ranks can't go on together.
    #[error(transparent)]
    Ranks(#[from] vxm_communicator::Error),

    /// The work was stopped from another thread, by [`Stop`](crate::Stop).
    #[error("stopped")]
    Stopped,

    /// A name is unknown: that of a method, a priority, an order, a device or a format.
    #[error("unknown {what} `{name}`: expected {choices}")]
    Unknown {
        /// The kind of name.
        what: &'static str,
        /// The name given.
        name: String,
        /// The valid names, separated by commas.
        choices: String,
    },
}

impl Error {
    /// Returns a function for `map_err` that makes an [`Error::Io`] about `file`.
    pub fn io(file: impl ToString) -> impl FnOnce(std::io::Error) -> Self {
        let file = file.to_string();
        move |source| Self::Io { file, source }
    }

    /// Returns an [`Error::Invalid`].
    pub fn invalid(what: impl Into<String>) -> Self {
        Self::Invalid { what: what.into() }
    }

    /// Returns an [`Error::Unknown`] that lists `choices`.
    pub fn unknown(what: &'static str, name: &str, choices: &[&str]) -> Self {
        Self::Unknown { what, name: name.to_owned(), choices: choices.join(", ") }
    }

    /// Returns an [`Error::Shape`] at the caller's line.
    #[track_caller]
    pub fn shape(operation: &'static str, left: impl ToString, right: impl ToString) -> Self {
        Self::Shape { operation, left: left.to_string(), right: right.to_string(), at: Location::caller() }
    }
}

/// Text for a one-line message: unprintable characters are escaped, and so are bytes that are not UTF-8.
///
/// ```
/// use vxm::error::printable;
/// assert_eq!(printable("\u{feff}a 'b' \\ \u{e9}\n".as_bytes()), "\\u{feff}a 'b' \\ \u{e9}\\n");
/// assert_eq!(printable(b"\x7fELF\xff"), "\\x7fELF\\xff");
/// ```
pub fn printable(text: &[u8]) -> String {
    let mut shown = String::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                // these print; escape_debug would escape them as in a string literal
                '\'' | '"' | '\\' => shown.push(c),
                _ if c.is_ascii_control() => shown.extend((c as u8).escape_ascii().map(char::from)),
                // after a letter, a combining accent prints and is not escaped
                _ => shown.extend(format!("a{c}").escape_debug().skip(1)),
            }
        }
        shown.extend(chunk.invalid().escape_ascii().map(char::from));
    }
    shown
}

/// A number of bytes with a binary unit.
pub(crate) fn size(bytes: impl Into<u128>) -> String {
    rounded(bytes.into(), f64::round)
}

/// The same, rounded up: so many bytes are enough.
fn at_least(bytes: u128) -> String {
    rounded(bytes, f64::ceil)
}

/// The same, rounded down: there are so many bytes.
fn at_most(bytes: u64) -> String {
    rounded(bytes.into(), f64::floor)
}

/// A number of bytes with a binary unit, and tenths that are rounded so.
fn rounded(bytes: u128, round: fn(f64) -> f64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let unit = (bytes.max(1).ilog2() / 10).min(4);
    if unit == 0 {
        return format!("{bytes} bytes");
    }
    let tenths = round(bytes as f64 / 1024f64.powi(unit as i32) * 10.0);
    format!("{:.1} {}", tenths / 10.0, UNITS[unit as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_one_line() {
        let shape = Error::shape("vxm", "a vector of 3", "a 4 x 4 matrix").to_string();
        assert!(shape.starts_with("src/error.rs:"), "{shape}");
        assert!(shape.ends_with(": vxm: a vector of 3 does not fit a 4 x 4 matrix"));
        let memory = Error::Memory { place: "x.mtx:2:1".into(), needed: 3 << 39, available: 1000 };
        assert_eq!(memory.to_string(), "x.mtx:2:1: needs 1.5 TiB of memory, 1000 bytes are available");
        let budget = Error::Budget { place: "mis".into(), needed: 74 << 20, budget: (74 << 20) - 1 };
        assert_eq!(budget.to_string(), "mis: needs a memory budget of at least 74.0 MiB, found 73.9 MiB");
        assert_eq!(Error::unknown("method", "jpp", &["is", "jp"]).to_string(), "unknown method `jpp`: expected is, jp");
    }
}
