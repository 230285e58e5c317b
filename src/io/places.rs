//! The columns of an edge list that hold the ends of an edge, and its weight.

use crate::error::{Error, Result};
use crate::io::source::Source;
use crate::io::text::{Cursor, Fault};
use crate::io::value::sealed::Sealed;
use crate::io::value::{Field, Value, is_real};

/// The error text for a weight that is a number, but no integer of 32 bits. The reader recognizes it and reads the file again with real weights.
pub(super) const NO_INTEGER: &str = "a weight from 0 to 4294967295";

/// The error for a weight at byte `at` that isn't of the type that is read.
pub(super) fn no_weight(at: usize, word: &[u8]) -> Fault {
    let expected = match is_real(word) {
        false => "a weight, a number",
        true if f64::parse(Field::Real, word).is_none() => "a weight that 64 bits can hold",
        true => NO_INTEGER,
    };
    Fault { at, expected: expected.into() }
}

/// Whether a weight isn't written as an integer from 0 to 2^32 - 1.
pub(super) fn is_fraction(word: &[u8]) -> bool {
    u32::parse(Field::Real, word).is_none()
}

/// Columns of a line, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Places {
    pub from: usize,
    pub to: usize,
    /// The column of weights, if they are read.
    pub weight: Option<usize>,
    /// Whether the caller chose them.
    pub chosen: bool,
}

impl Places {
    /// The columns that the caller chose, by their numbers from 1. Else the ends come first; weights follow in a file called `.wel`, as the
    /// GAP benchmark calls lists with weights.
    ///
    /// # Errors
    /// [`Error::Invalid`]: what was chosen are no numbers, or one is chosen twice.
    pub fn of(source: &Source<'_>) -> Result<Self> {
        let Some(columns) = &source.columns else {
            let name = source.name().to_ascii_lowercase();
            let name = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
            return Ok(Self { from: 0, to: 1, weight: name.ends_with(".wel").then_some(2), chosen: false });
        };
        let number = |name: &str| name.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let numbers: Option<Vec<usize>> = columns.names().map(number).collect();
        match numbers.as_deref() {
            Some(&[from, to]) if from != to => Ok(Self { from, to, weight: None, chosen: true }),
            Some(&[from, to, weight]) if from != to && from != weight && to != weight => {
                Ok(Self { from, to, weight: Some(weight), chosen: true })
            }
            _ => {
                let (file, found) = (source.name(), columns.names().collect::<Vec<_>>().join(","));
                let expected = "different numbers of columns from 1 on, such as 1,2,3, of an edge list";
                Err(Error::invalid(format!("{file}: expected {expected}, found `{found}`")))
            }
        }
    }

    /// The same without weights. Of an edge list without a choice, the column is checked as any other.
    pub fn bare(self) -> Self {
        Self { weight: None, ..self }
    }

    /// The value that was found on a line. The cursor is at the line's end.
    pub fn found<V: Value>(&self, value: Option<V>, line: &Cursor<'_>) -> Result<V, Fault> {
        match self.weight {
            None => Ok(V::ZERO),
            Some(column) => {
                value.ok_or_else(|| Fault { at: line.at(), expected: format!("a weight in column {}", column + 1) })
            }
        }
    }
}
