//! Builds a graph or a matrix of the entries of a file.

use crate::error::{Error, Result};
use crate::formats::{Cleaned, Coo, Csr, Duplicates};
use crate::io::entries::{Entries, Lists};
use crate::io::loaded::{Loaded, Numbering, Report};
use crate::io::target::Outline;
use crate::io::value::Value;
use crate::io::{FileFormat, build, short_name};
use crate::memory;
use std::collections::HashMap;

/// What a file holds.
pub(super) struct Listed<'p, V: Value> {
    /// The name of the file.
    pub file: String,
    pub format: FileFormat,
    /// What the entries are read for.
    pub outline: Outline,
    pub entries: Entries<'p, V>,
    /// The number of the first row and column in the file.
    pub first: u64,
    /// The numbers of values of edges and of vertices that a graph ignores.
    pub weights: u64,
    pub vertex_weights: u64,
}

impl Entries<'_, ()> {
    /// Builds an undirected graph.
    pub fn graph(self, file: &str, outline: Outline) -> Result<Cleaned> {
        match self {
            Self::OnDisk(on_disk) => on_disk.finish_graph(),
            Self::Listed(lists) => {
                // reuses the allocation: an entry without a value has the size of its row and column
                let edges = lists.into_iter().map(|list| list.into_iter().map(|(i, j, ())| (i, j)).collect());
                build(file, outline.rows, edges.collect(), outline.target.directions())
            }
        }
    }
}

impl Listed<'_, ()> {
    /// Builds the undirected graph that the entries were read for.
    pub fn graph(self) -> Result<Loaded> {
        let cleaned = self.entries.graph(&self.file, self.outline)?;
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

impl<V: Value> Listed<'_, V> {
    /// Builds the directed graph that the entries were read for. Values that `V` holds are not ignored. Of entries with the same row and column
    /// any may come first, so `duplicates` must be commutative.
    pub fn digraph(self, duplicates: impl Duplicates<V>) -> Result<Loaded<V>> {
        let (graph, report) = match self.entries {
            Entries::Listed(lists) => directed(&self.file, (self.outline, self.first), &lists, duplicates)?,
            Entries::OnDisk(on_disk) => on_disk.finish(duplicates, self.first)?,
        };
        let weights = if size_of::<V>() > 0 { 0 } else { self.weights };
        Ok(Loaded {
            graph,
            report: Report { weights, vertex_weights: self.vertex_weights, ..report },
            name: short_name(&self.file),
            format: Some(self.format),
            numbering: Numbering::From(self.first),
        })
    }

    /// Builds the matrix that the entries were read for. Two entries with the same row and column are an error, or merged if `duplicates` does
    /// so.
    pub fn matrix(self, duplicates: impl Duplicates<V>) -> Result<Csr<V>> {
        let Self { file, first, outline, .. } = self;
        match self.entries {
            Entries::OnDisk(on_disk) => on_disk.finish(duplicates, first).map(|(matrix, _)| matrix),
            Entries::Listed(lists) => {
                memory::require(outline.needed::<V>(), || file.clone())?;
                let mut triples = Coo::new(outline.rows as usize, outline.columns as usize)?;
                for &entry in lists.iter().flatten() {
                    triples.push(entry.0, entry.1, entry.2)?;
                    if let Some((row, column, value)) = outline.target.mirrored(&file, entry)? {
                        triples.push(row, column, value)?;
                    }
                }
                triples.to_csr(duplicates).map_err(|error| repeated(&file, first, &lists, error))
            }
        }
    }
}

/// Builds the directed graph of the entries off the diagonal of `file`, after checking that the memory suffices. `first` is the number of
/// the first vertex in the file.
pub(super) fn directed<T: Value>(
    file: &str,
    (outline, first): (Outline, u64),
    lists: &Lists<T>,
    duplicates: impl Duplicates<T>,
) -> Result<(Csr<T>, Report)> {
    let entries = lists.iter().map(|list| list.len() as u64).sum();
    memory::require(Outline { entries, ..outline }.needed::<T>(), || file.to_owned())?;
    let (mut loops, mut triples) = (0, Coo::new(outline.rows as usize, outline.columns as usize)?);
    for &entry in lists.iter().flatten() {
        if entry.0 == entry.1 {
            loops += 1;
            continue;
        }
        triples.push(entry.0, entry.1, entry.2)?;
        if let Some((row, column, value)) = outline.target.mirrored(file, entry)? {
            triples.push(row, column, value)?;
        }
    }
    let graph = triples.to_csr(duplicates).map_err(|error| repeated(file, first, lists, error))?;
    let duplicates = triples.len() as u64 - graph.nnz() as u64;
    Ok((graph, Report { entries, loops, duplicates, ..Report::default() }))
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
fn repeated<T: Value>(file: &str, first: u64, lists: &Lists<T>, error: Error) -> Error {
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
