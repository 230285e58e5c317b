//! Builds a graph or a matrix of the entries of a file.

use crate::error::{Error, Result};
use crate::formats::{Cleaned, Coo, Csr, Duplicates, First};
use crate::io::entries::{Entries, Lists};
use crate::io::loaded::{Loaded, Numbering, Report};
use crate::io::names::Names;
use crate::io::target::{Outline, Target};
use crate::io::value::Value;
use crate::io::{FileFormat, Label, build, short_name};
use crate::memory;
use rayon::prelude::*;
use std::collections::HashMap;

/// What a file holds.
pub(super) struct Listed<'p, V: Value> {
    /// The name of the file.
    pub file: String,
    pub format: FileFormat,
    /// What the entries are read for.
    pub outline: Outline,
    pub entries: Entries<'p, V>,
    /// What the file calls rows and columns.
    pub numbering: Numbering,
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
    /// Builds the undirected or directed graph that the entries were read for.
    pub fn simple(self) -> Result<Loaded> {
        match self.outline.target {
            Target::Graph(_) => self.graph(),
            Target::Digraph(_) | Target::Matrix(_) => self.digraph(First),
        }
    }

    /// Builds the undirected graph that the entries were read for.
    pub fn graph(self) -> Result<Loaded> {
        let cleaned = self.entries.graph(&self.file, self.outline)?;
        let report = Report { weights: self.weights, vertex_weights: self.vertex_weights, ..Report::from(&cleaned) };
        Ok(Loaded {
            report,
            graph: cleaned.graph,
            name: short_name(&self.file),
            format: Some(self.format),
            numbering: self.numbering,
        })
    }
}

/// Renumbers vertices in ascending order of their numbers in the file. Returns the entries, how many vertices there are, and their numbers.
pub(super) fn renumbered<I: Copy + Into<u64> + Send + Sync, V: Value>(
    file: &str,
    edges: Vec<Vec<(I, I, V)>>,
) -> Result<(Lists<V>, u64, Numbering)> {
    let names = Names::of(&edges, file)?;
    let vertices = names.few_enough(file)?;
    let numbered = |(from, to, value): (I, I, V)| (names.vertex(from.into()), names.vertex(to.into()), value);
    let entries = edges.into_par_iter().map(|list| list.into_iter().map(numbered).collect()).collect();
    Ok((entries, vertices, names.into_numbering()))
}

impl<V: Value> Listed<'_, V> {
    /// Builds the directed graph that the entries were read for. Values that `V` holds are not ignored. Of entries with the same row and column
    /// any may come first, so `duplicates` must be commutative.
    pub fn digraph(self, duplicates: impl Duplicates<V>) -> Result<Loaded<V>> {
        let (graph, report) = match self.entries {
            Entries::Listed(lists) => {
                directed((&self.file, self.format), (self.outline, &self.numbering), &lists, duplicates)?
            }
            Entries::OnDisk(on_disk) => on_disk.finish(duplicates, &self.numbering)?,
        };
        let weights = if size_of::<V>() > 0 { 0 } else { self.weights };
        Ok(Loaded {
            graph,
            report: Report { weights, vertex_weights: self.vertex_weights, ..report },
            name: short_name(&self.file),
            format: Some(self.format),
            numbering: self.numbering,
        })
    }

    /// Builds the matrix that the entries were read for. Two entries with the same row and column are an error, or merged if `duplicates` does
    /// so.
    pub fn matrix(self, duplicates: impl Duplicates<V>) -> Result<Csr<V>> {
        let Self { file, format, numbering, outline, .. } = self;
        match self.entries {
            Entries::OnDisk(on_disk) => on_disk.finish(duplicates, &numbering).map(|(matrix, _)| matrix),
            Entries::Listed(lists) => {
                memory::require(outline.needed::<V>(), || file.clone())?;
                let mut triples = Coo::new(outline.rows as usize, outline.columns as usize)?;
                for &entry in lists.iter().flatten() {
                    triples.push(entry.0, entry.1, entry.2)?;
                    if let Some((row, column, value)) = outline.target.mirrored(&file, entry)? {
                        triples.push(row, column, value)?;
                    }
                }
                triples
                    .to_csr(duplicates)
                    .map_err(|error| repeated((&file, format), (outline.target, &numbering), &lists, error))
            }
        }
    }
}

/// Builds the directed graph of the entries off the diagonal of `file`, after checking that the memory suffices. `numbering` says what the file
/// calls vertices.
fn directed<T: Value>(
    (file, format): (&str, FileFormat),
    (outline, numbering): (Outline, &Numbering),
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
    let graph = triples
        .to_csr(duplicates)
        .map_err(|error| repeated((file, format), (outline.target, numbering), lists, error))?;
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

/// Returns the error for the first two entries, in file order, with the same row and column, or with those that one of them implies. `error`
/// found such a pair in row order. `numbering` says what the file calls rows and columns.
fn repeated<T: Value>(
    (file, format): (&str, FileFormat),
    (target, numbering): (Target, &Numbering),
    lists: &Lists<T>,
    error: Error,
) -> Error {
    let mut seen = HashMap::new();
    for (entry, &(row, column, _)) in (1u64..).zip(lists.iter().flatten()) {
        if row == column && matches!(target, Target::Digraph(_)) {
            // it was dropped
            continue;
        }
        if let Some(&earlier) = seen.get(&(column, row)).filter(|_| row != column && target.mirrors()) {
            return implied(file, (entry, earlier), (numbering.label(row), numbering.label(column)));
        }
        if let Some(earlier) = seen.insert((row, column), entry) {
            return repeats((file, format), (entry, earlier), (numbering.label(row), numbering.label(column)));
        }
    }
    Error::invalid(format!("{file}: {error}"))
}

/// The error for an entry at a row and column that has the number `entry` in the file, and that the one of the number `earlier` implies.
pub(crate) fn implied(file: &str, (entry, earlier): (u64, u64), (row, column): (Label<'_>, Label<'_>)) -> Error {
    let text = "already implies it: expected one of the two in a matrix with symmetry";
    Error::invalid(format!("{file}: entry {entry}: row {row}, column {column}: entry {earlier} {text}"))
}

/// The error for an entry with the row and column of an earlier one.
pub(crate) fn repeats(
    (file, format): (&str, FileFormat),
    (entry, earlier): (u64, u64),
    (row, column): (Label<'_>, Label<'_>),
) -> Error {
    Error::invalid(match format {
        // rows and columns are those of the table
        FileFormat::Parquet | FileFormat::Arrow => {
            format!("{file}: row {entry} repeats the edge {row} -> {column} of row {earlier}")
        }
        _ => format!("{file}: entry {entry} repeats row {row}, column {column} of entry {earlier}"),
    })
}
