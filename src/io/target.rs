//! What the entries of a file are read for.

use crate::error::{Error, Result};
use crate::formats::Directions;
use crate::io::value::Value;
use crate::memory;

/// What is made of the entries of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// An undirected graph without self-loops.
    Graph(Directions),
    /// A directed graph without self-loops.
    Digraph(Mirror),
    /// A matrix with all entries.
    Matrix(Mirror),
}

/// The entry that one off the diagonal implies: none, or one with the same value, the negative one, or the complex conjugate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mirror {
    None,
    Same,
    Negated,
    Conjugate,
}

impl Mirror {
    /// The value of the entry that one with this value implies; `None` if it implies none.
    ///
    /// # Errors
    /// [`Error::Invalid`]: `V` can't hold the negative value. A complex number's conjugate always fits.
    pub fn of<V: Value>(self, file: &str, value: V) -> Result<Option<V>> {
        let other = match self {
            Self::None => return Ok(None),
            Self::Same => Some(value),
            Self::Negated => value.negate(),
            Self::Conjugate => value.conjugate(),
        };
        let refused =
            || Error::invalid(format!("{file}: {} cannot hold the negative of {value:?} (skew-symmetric)", V::NAME));
        other.map(Some).ok_or_else(refused)
    }
}

/// What is to be built.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outline {
    pub rows: u64,
    pub columns: u64,
    /// The number of entries that the file lists; about that if it doesn't tell.
    pub entries: u64,
    pub target: Target,
}

impl Outline {
    /// The limit on the process' memory, if building in memory takes more than is left of it, or reading, which lists each
    /// entry in `listed` bytes.
    pub fn exceeded<V>(self, listed: usize) -> Option<u64> {
        let limit = memory::limit()?;
        let (numbered, listed) = (size_of::<(u32, u32, V)>() as u128, listed as u128);
        let count = u128::from(self.entries);
        let needed = (self.needed::<V>() + numbered * count).max(listed * count) + memory::READING;
        (needed > memory::available().into()).then_some(limit)
    }

    /// A graph.
    pub fn graph(vertices: u64, entries: u64, target: Target) -> Self {
        Self { rows: vertices, columns: vertices, entries, target }
    }

    /// The peak bytes of building it in memory from lists of entries, without the lists themselves.
    pub fn needed<V>(self) -> u128 {
        let (size, count) = (size_of::<V>() as u128, u128::from(self.entries));
        match self.target {
            Target::Graph(directions) => memory::for_building(self.rows, self.entries, directions),
            // in both directions: triples, the same by rows, and these merged, in parts and as a whole
            Target::Digraph(_) => {
                memory::for_building(self.rows, 0, Directions::Matter) + 2 * (8 + size + 3 * (4 + size)) * count
            }
            // the triples, the entries sorted to their rows, and the finished arrays; two arrays of offsets
            Target::Matrix(_) => 3 * (8 + size) * count + 16 * (u128::from(self.rows) + 1),
        }
    }
}

impl Target {
    /// A directed graph of the entries as they are.
    pub const DIGRAPH: Self = Self::Digraph(Mirror::None);

    /// A matrix of the entries as they are.
    pub const MATRIX: Self = Self::Matrix(Mirror::None);

    /// An undirected graph of edges that have directions in the file.
    pub const GRAPH: Self = Self::Graph(Directions::Matter);

    /// How an edge of an undirected graph counts that is listed in both directions.
    pub fn directions(self) -> Directions {
        match self {
            Self::Graph(directions) => directions,
            Self::Digraph(_) | Self::Matrix(_) => Directions::Matter,
        }
    }

    /// The entry that `entry` implies besides; `None` if it implies none.
    ///
    /// # Errors
    /// Those of [`Mirror::of`].
    pub fn mirrored<V: Value>(self, file: &str, entry: (u32, u32, V)) -> Result<Option<(u32, u32, V)>> {
        let (row, column, value) = entry;
        let (Self::Digraph(mirror) | Self::Matrix(mirror)) = self else { return Ok(None) };
        if row == column {
            return Ok(None);
        }
        Ok(mirror.of(file, value)?.map(|other| (column, row, other)))
    }

    /// Whether entries of a matrix imply others.
    pub fn mirrors(self) -> bool {
        matches!(self, Self::Digraph(mirror) | Self::Matrix(mirror) if mirror != Mirror::None)
    }

    /// The most records that an entry is sorted as.
    pub fn records(self) -> u64 {
        match self {
            Self::Digraph(Mirror::None) | Self::Matrix(Mirror::None) => 1,
            _ => 2,
        }
    }
}
