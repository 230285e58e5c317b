//! What reading or generating a graph gives: the graph, its numbering, and what cleaning it took.

use crate::formats::{Cleaned, Csr};
use core::fmt;

/// A graph that was read or generated.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The graph: symmetric, without self-loops.
    pub graph: Csr,
    /// A short name: the file's without folder and extension, or the generator's specification.
    pub name: String,
    /// What the file calls each vertex.
    pub numbering: Numbering,
    /// What cleaning it took.
    pub report: Report,
}

/// What a file calls the vertices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Numbering {
    /// Vertex `v` is called this plus `v`.
    From(u64),
    /// Vertex `v` is called the `v`-th of these, which ascend.
    Listed(Vec<u64>),
}

impl Numbering {
    /// What the file calls `vertex`.
    ///
    /// # Panics
    /// Where the graph has no such vertex.
    ///
    /// ```
    /// use vxm::io::Numbering;
    /// assert_eq!(Numbering::From(1).number(4), 5);
    /// assert_eq!(Numbering::Listed(vec![7, 9000]).number(1), 9000);
    /// ```
    pub fn number(&self, vertex: u32) -> u64 {
        match self {
            Self::From(first) => first + u64::from(vertex),
            Self::Listed(numbers) => numbers[vertex as usize],
        }
    }

    /// The vertex that the file calls so, of a graph of `n` vertices; `None` if it calls none so.
    ///
    /// ```
    /// use vxm::io::Numbering;
    /// assert_eq!(Numbering::From(1).vertex(5, 6), Some(4));
    /// assert_eq!(Numbering::Listed(vec![7, 9000]).vertex(8, 2), None);
    /// ```
    pub fn vertex(&self, number: u64, n: usize) -> Option<u32> {
        let vertex = match self {
            Self::From(first) => usize::try_from(number.checked_sub(*first)?).ok()?,
            Self::Listed(numbers) => numbers.binary_search(&number).ok()?,
        };
        (vertex < n).then_some(vertex as u32)
    }
}

/// What cleaning a graph took; displays as a line for people, empty where there was nothing to clean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Report {
    /// The entries read: lines of a file, draws of a generator.
    pub entries: u64,
    /// Self-loops among them; dropped.
    pub loops: u64,
    /// Duplicates among them; dropped.
    pub duplicates: u64,
    /// Edges that stood in one direction only and got the other; `None` where the format knows no directions.
    pub one_way: Option<u64>,
}

impl Report {
    /// Whether there was nothing to clean.
    pub fn is_clean(&self) -> bool {
        self.loops == 0 && self.duplicates == 0 && self.one_way.unwrap_or(0) == 0
    }
}

impl From<&Cleaned> for Report {
    fn from(cleaned: &Cleaned) -> Self {
        Self {
            entries: cleaned.entries,
            loops: cleaned.loops,
            duplicates: cleaned.duplicates,
            one_way: cleaned.one_way,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: u64, one: &str| {
            let s = if count == 1 { "" } else { "s" };
            format!("{count} {one}{s}")
        };
        let mut notes = Vec::new();
        if self.loops > 0 {
            notes.push(format!("dropped {}", plural(self.loops, "self-loop")));
        }
        if self.duplicates > 0 {
            notes.push(format!("dropped {}", plural(self.duplicates, "duplicate")));
        }
        if let Some(edges @ 1..) = self.one_way {
            let edges = plural(edges, "edge");
            notes.push(format!("made symmetric: {edges} stood in one direction only"));
        }
        f.write_str(&notes.join("; "))
    }
}
