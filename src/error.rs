//! Everything that can go wrong, each a line that says where and what was expected.

use core::panic::Location;

/// What every fallible function of the crate returns.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// What went wrong. Each displays as one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text of a file is not what its format asks for. Lines and columns (of bytes) count from 1.
    #[error("{file}:{line}:{column}: expected {expected}, found {found}")]
    Parse {
        /// The file, as it was named.
        file: String,
        /// The line, from 1.
        line: u64,
        /// The byte in the line, from 1.
        column: u64,
        /// What should stand there.
        expected: String,
        /// What stands there.
        found: String,
    },

    /// A file could not be opened, read or written.
    #[error("{file}: {source}")]
    Io {
        /// The file, as it was named.
        file: String,
        /// What the system said.
        source: std::io::Error,
    },

    /// The specification of a generated graph makes no sense.
    #[error("{spec}: expected {expected}, found {found}")]
    Spec {
        /// The whole specification.
        spec: String,
        /// What the piece should have been.
        expected: String,
        /// The piece.
        found: String,
    },

    /// Operands whose shapes do not fit each other.
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

    /// More vertices (rows, columns) than a `u32` can number.
    #[error("{place}: expected at most {limit} vertices, found {count}")]
    TooManyVertices {
        /// Where: `FILE:LINE:COLUMN`, a specification, or the type that was built.
        place: String,
        /// How many there would be.
        count: u128,
        /// How many there may be.
        limit: u64,
    },

    /// Something does not fit into memory; found before it is tried.
    #[error("{place}: needs {} of memory, {} are available", size(*.needed), size(*.available))]
    Memory {
        /// What needs it: `FILE:LINE:COLUMN`, a specification, or a structure's name.
        place: String,
        /// Bytes needed.
        needed: u128,
        /// Bytes available.
        available: u64,
    },

    /// Data given by the user break a structure's invariant.
    #[error("{what}")]
    Invalid {
        /// The structure and what is broken.
        what: String,
    },

    /// A loop that can't end: elements are left that may change, and none does.
    #[error(
        "{at}: fixpoint: {left} after {rounds} {}, and none changes: expected each round to change one at least",
        if *.rounds == 1 { "round" } else { "rounds" }
    )]
    NoProgress {
        /// How many are left.
        left: String,
        /// Rounds so far.
        rounds: u32,
        /// The caller's line.
        at: &'static Location<'static>,
    },

    /// A loop that was not at its end after as many rounds as it may take.
    #[error("{at}: fixpoint: round {rounds} still changed {changed}: expected the state to settle by then")]
    NoEnd {
        /// How many elements the last round changed.
        changed: String,
        /// The rounds.
        rounds: u32,
        /// The caller's line.
        at: &'static Location<'static>,
    },

    /// A device: missing, out of memory, or lost.
    #[error(transparent)]
    Device(#[from] vxm_kernels::Error),

    /// A name that stands for nothing: a method, a priority, an order.
    #[error("unknown {what} `{name}`: expected {choices}")]
    Unknown {
        /// What kind of name.
        what: &'static str,
        /// The name given.
        name: String,
        /// The names there are.
        choices: String,
    },
}

impl Error {
    /// An [`Error::Io`] about `file`, for `map_err`.
    pub fn io(file: impl ToString) -> impl FnOnce(std::io::Error) -> Self {
        let file = file.to_string();
        move |source| Self::Io { file, source }
    }

    /// An [`Error::Invalid`].
    pub fn invalid(what: impl Into<String>) -> Self {
        Self::Invalid { what: what.into() }
    }

    /// An [`Error::Unknown`] listing `choices`.
    pub fn unknown(what: &'static str, name: &str, choices: &[&str]) -> Self {
        Self::Unknown { what, name: name.to_owned(), choices: choices.join(", ") }
    }

    /// An [`Error::Shape`] at the caller's line.
    #[track_caller]
    pub fn shape(operation: &'static str, left: impl ToString, right: impl ToString) -> Self {
        Self::Shape { operation, left: left.to_string(), right: right.to_string(), at: Location::caller() }
    }
}

/// Text for a message's line: what does not print is escaped, and so are bytes that are no UTF-8.
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
                // they print; escape_debug would make them fit for a literal
                '\'' | '"' | '\\' => shown.push(c),
                _ if c.is_ascii_control() => shown.extend((c as u8).escape_ascii().map(char::from)),
                // behind a letter an accent prints
                _ => shown.extend(format!("a{c}").escape_debug().skip(1)),
            }
        }
        shown.extend(chunk.invalid().escape_ascii().map(char::from));
    }
    shown
}

/// Bytes as people read them.
fn size(bytes: impl Into<u128>) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let bytes = bytes.into();
    let unit = (bytes.max(1).ilog2() / 10).min(4);
    if unit == 0 {
        return format!("{bytes} bytes");
    }
    format!("{:.1} {}", bytes as f64 / 1024f64.powi(unit as i32), UNITS[unit as usize])
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
        assert_eq!(Error::unknown("method", "jpp", &["is", "jp"]).to_string(), "unknown method `jpp`: expected is, jp");
    }
}
