//! The entries of a file as it lists them, from which a graph or a matrix is built.

use crate::error::{Error, Result};
use crate::formats::{Coo, Csr, Directions, Duplicates, Refuse};
use crate::io::loaded::{Loaded, Numbering, Report};
use crate::io::value::Value;
use crate::io::weighted::directed;
use crate::io::{FileFormat, build, short_name};
use crate::memory;
use std::collections::HashMap;

/// Entries `(row, column, value)`, in the order of the file and in several lists.
pub(super) type Lists<V> = Vec<Vec<(u32, u32, V)>>;

/// What a file holds.
pub(super) struct Listed<V> {
    /// The name of the file.
    pub file: String,
    pub format: FileFormat,
    pub rows: u64,
    pub columns: u64,
    pub entries: Lists<V>,
    /// The number of the first row and column in the file.
    pub first: u64,
    /// The numbers of values of edges and of vertices that a graph ignores.
    pub weights: u64,
    pub vertex_weights: u64,
}

impl Listed<()> {
    /// Builds the graph. An edge is listed in both directions, or was listed in one only.
    pub fn graph(self) -> Result<Loaded> {
        // reuses the allocation: an entry without a value has the size of its row and column
        let edges = self.entries.into_iter().map(|list| list.into_iter().map(|(i, j, ())| (i, j)).collect());
        let cleaned = build(&self.file, self.rows, edges.collect(), Directions::Matter)?;
        let report = Report { weights: self.weights, vertex_weights: self.vertex_weights, ..Report::from(&cleaned) };
        Ok(Loaded {
            report,
            graph: cleaned.graph,
            name: short_name(&self.file),
            format: Some(self.format),
            numbering: Numbering::From(self.first),
        })
    }
}

impl<V: Value> Listed<V> {
    /// Builds the directed graph of the entries off the diagonal. Values that `V` holds are not ignored.
    pub fn digraph(self, duplicates: impl Duplicates<V>) -> Result<Loaded<V>> {
        let vertices = (self.rows, self.first);
        let (graph, report) = directed(&self.file, vertices, &self.entries, |_| Ok(None), duplicates)?;
        let weights = if size_of::<V>() > 0 { 0 } else { self.weights };
        Ok(Loaded {
            graph,
            report: Report { weights, vertex_weights: self.vertex_weights, ..report },
            name: short_name(&self.file),
            format: Some(self.format),
            numbering: Numbering::From(self.first),
        })
    }

    /// Builds the matrix. Two entries with the same row and column are an error.
    pub fn matrix(self) -> Result<Csr<V>> {
        let refused = |error| repeated(&self.file, self.first, &self.entries, error);
        self.to_csr(Refuse)?.map_err(refused)
    }

    /// Builds the matrix. Of entries with the same row and column the least is kept, as shortest paths need it.
    pub fn least_matrix(self) -> Result<Csr<V>> {
        self.to_csr(Least)?
    }

    /// The outer result is about memory, the inner one about duplicates.
    fn to_csr(&self, duplicates: impl Duplicates<V>) -> Result<Result<Csr<V>>> {
        let count: u128 = self.entries.iter().map(|list| list.len() as u128).sum();
        // the triples, the entries sorted to their rows, and the finished arrays; two arrays of offsets
        let each = (3 * (8 + size_of::<V>())) as u128;
        memory::require(each * count + 16 * (u128::from(self.rows) + 1), || self.file.clone())?;
        let triples = self.entries.iter().flatten().copied();
        let triples = Coo::from_triples(self.rows as usize, self.columns as usize, triples)?;
        Ok(triples.to_csr(duplicates))
    }
}

/// Keeps the least of entries with the same row and column.
pub(super) struct Least;

impl<V: Value> Duplicates<V> for Least {
    fn merge(&self, earlier: V, later: V) -> Option<V> {
        Some(earlier.least(later))
    }
}

/// Returns the error for the first two entries, in file order, with the same row and column. `error` found such a pair
/// in row order. `first` is the number of the first row and column in the file.
pub(super) fn repeated<T: Value>(file: &str, first: u64, lists: &Lists<T>, error: Error) -> Error {
    let mut seen = HashMap::new();
    for (entry, &(row, column, _)) in (1u64..).zip(lists.iter().flatten()) {
        if let Some(earlier) = seen.insert((row, column), entry) {
            let (row, column) = (u64::from(row) + first, u64::from(column) + first);
            return Error::invalid(format!(
                "{file}: entry {entry} repeats row {row}, column {column} of entry {earlier}"
            ));
        }
    }
    Error::invalid(format!("{file}: {error}"))
}
