//! The result of reading or generating a graph: the graph, its numbering, and a report of the cleaning.

use crate::formats::{Cleaned, Csr};
use crate::io::{FileFormat, Label, VertexNames};
use core::fmt;
use vxm_semiring::Element;

/// A graph that was read or generated, with edges of type `T`: `()` if they have no weights.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Loaded<T: Element = ()> {
    /// The graph: without self-loops; symmetric, unless its directions were asked for.
    pub graph: Csr<T>,
    /// A short name: the file name without folder and extension, or the specification of the generator.
    pub name: String,
    /// The format of the file; `None` for a generated graph.
    pub format: Option<FileFormat>,
    /// The numbers of the vertices in the file.
    pub numbering: Numbering,
    /// Counts of what was changed.
    pub report: Report,
}

/// The numbers that a file uses for the vertices.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Numbering {
    /// Vertex `v` has this number plus `v`.
    From(u64),
    /// Vertex `v` has the `v`-th of these ascending numbers.
    Listed(Vec<u64>),
    /// Vertex `v` has the `v`-th of these names.
    Named(VertexNames),
}

impl Numbering {
    /// What the file calls `vertex`: its number, or its name.
    ///
    /// # Panics
    /// May panic if the graph has no such vertex.
    ///
    /// ```
    /// use vxm::io::{Numbering, VertexNames};
    /// let names = Numbering::Named(VertexNames::of(["Ann", "Bob"]).unwrap());
    /// assert_eq!((names.label(1).to_string(), Numbering::From(1).label(1).to_string()), ("Bob".into(), "2".into()));
    /// ```
    pub fn label(&self, vertex: u32) -> Label<'_> {
        match self {
            Self::Named(names) => Label::Name(names.name(vertex)),
            _ => Label::Number(self.number(vertex)),
        }
    }

    /// The vertex that the file calls so, of a graph of `n` vertices; `None` if there is none.
    ///
    /// ```
    /// use vxm::io::{Numbering, VertexNames};
    /// let names = Numbering::Named(VertexNames::of(["Ann", "Bob"]).unwrap());
    /// assert_eq!((names.find("Bob", 2), Numbering::From(1).find("2", 2), Numbering::From(1).find("x", 2)), (Some(1), Some(1), None));
    /// ```
    pub fn find(&self, label: &str, n: usize) -> Option<u32> {
        match self {
            Self::Named(names) => names.vertex(label).filter(|&vertex| (vertex as usize) < n),
            _ => self.vertex(label.parse().ok()?, n),
        }
    }

    /// The number of `vertex` in the file. Named vertices are numbered from 0.
    ///
    /// # Panics
    /// May panic if the graph has no such vertex.
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
            Self::Named(_) => vertex.into(),
        }
    }

    /// The vertex with this number in the file, of a graph of `n` vertices; `None` if there is none.
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
            Self::Named(_) => usize::try_from(number).ok()?,
        };
        (vertex < n).then_some(vertex as u32)
    }
}

/// Counts of what was changed to clean a graph, and of what was ignored. Displays as a line of text, which is empty if there is nothing to
/// report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Report {
    /// The number of input entries: lines of a file, or draws of a generator.
    pub entries: u64,
    /// The number of self-loops dropped.
    pub loops: u64,
    /// The number of duplicates dropped.
    pub duplicates: u64,
    /// The number of edges listed in one direction only, which were made symmetric; `None` if the format has no
    /// directions.
    pub one_way: Option<u64>,
    /// Whether the graph is known to be symmetric: it was made so, or its format or its file says so.
    pub symmetric: bool,
    /// The number of values ignored that belong to edges: weights, time stamps, explicit values of a matrix.
    pub weights: u64,
    /// The number of values ignored that belong to vertices: weights and sizes.
    pub vertex_weights: u64,
}

impl Report {
    /// Whether nothing was changed or ignored.
    ///
    /// ```
    /// use vxm::io::Report;
    /// let mut report = Report::default();
    /// report.weights = 12;
    /// assert!(!report.is_clean() && Report::default().is_clean());
    /// assert_eq!(report.to_string(), "weights: 12 values ignored");
    /// ```
    pub fn is_clean(&self) -> bool {
        let changed = self.loops + self.duplicates + self.one_way.unwrap_or(0);
        changed == 0 && self.weights == 0 && self.vertex_weights == 0
    }
}

impl From<&Cleaned> for Report {
    fn from(cleaned: &Cleaned) -> Self {
        Self {
            entries: cleaned.entries,
            loops: cleaned.loops,
            duplicates: cleaned.duplicates,
            one_way: cleaned.one_way,
            symmetric: true,
            weights: 0,
            vertex_weights: 0,
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
            let (edges, were) = (plural(edges, "edge"), if edges == 1 { "was" } else { "were" });
            notes.push(format!("made symmetric: {edges} {were} listed in one direction only"));
        }
        for (what, count) in [("weights", self.weights), ("vertex weights", self.vertex_weights)] {
            if count > 0 {
                notes.push(format!("{what}: {} ignored", plural(count, "value")));
            }
        }
        f.write_str(&notes.join("; "))
    }
}
