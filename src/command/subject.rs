//! The graphs that algorithms run on: simple ones, directed ones, and ones with weights.

use crate::command::arguments::{Run, WeightRange};
use crate::command::bars::Bars;
use crate::command::footprint::Graph;
use crate::command::phases::phase;
use crate::command::renumbered::Renumbered;
use crate::command::{job, load, load_quietly, note};
use std::path::Path;
use vxm::algorithms;
use vxm::containers::{Matrix, Read, SpreadGraph};
use vxm::error::printable;
use vxm::formats::Csr;
use vxm::io::{FileFormat, Loaded, Numbering, Progress, ReadAs, Report, Weighted, read_digraph_as, read_weighted_as};
use vxm::memory;
use vxm::ranks::Grid;
use vxm::semiring::Element;
use vxm::{Error, Result};

/// Reads the graph of a run.
pub type Again<T> = fn(&Run) -> Result<Matrix<T>>;

/// A graph, with what its file calls it and its vertices.
pub struct Subject<T: Element = ()> {
    /// What the run takes.
    pub matrix: Matrix<T>,
    /// The graph as its file numbers it, if the run has other numbers.
    pub renumbered: Option<Renumbered<T>>,
    /// Reads the whole graph again, if ranks have read their shares of it: what checks an answer needs all.
    pub again: Option<Again<T>>,
    pub name: String,
    pub numbering: Numbering,
    /// The format of the file, if it is a file, and what reading it changed and ignored.
    pub input: Option<FileFormat>,
    pub report: Report,
}

impl<T: Element> Subject<T> {
    /// Marks a symmetric matrix as such, so that it needs no transpose.
    fn of(loaded: Loaded<T>) -> Result<Self> {
        let _phase = phase("prepare");
        let Loaded { graph, name, numbering, format: input, report, .. } = loaded;
        let matrix = match report.symmetric || graph.is_symmetric() {
            true => Matrix::known_symmetric(graph),
            false => Matrix::from_csr(graph),
        };
        Ok(Self { matrix, again: None, renumbered: None, name, numbering, input, report })
    }

    /// The subject with another matrix.
    pub fn with<U: Element>(self, matrix: Matrix<U>) -> Subject<U> {
        let Self { name, numbering, input, report, .. } = self;
        Subject { matrix, again: None, renumbered: None, name, numbering, input, report }
    }

    /// The vertex that the file calls so; `option` names what asks for it.
    pub fn vertex(&self, option: &str, label: &str) -> Result<u32> {
        job::agree(self.numbering.find(label, self.matrix.nrows()).ok_or_else(|| {
            let (name, vertices, shown) = (&self.name, self.matrix.nrows(), printable(label.as_bytes()));
            let what = if matches!(self.numbering, Numbering::Named(_)) { "name" } else { "number" };
            Error::invalid(format!("{name}: {option} {shown}: expected the {what} of one of its {vertices} vertices"))
        }))
    }
}

/// A graph with integers or with real numbers at its edges.
pub enum Weights {
    Integer(Subject<u32>),
    Real(Subject<f64>),
}

/// The graph of a run, made symmetric. Ranks read it together, where the input has parts, and the matrix is spread over them.
pub fn simple(run: &Run) -> Result<Subject> {
    let again = |run: &Run| load_quietly(&run.graph, &run.input).map(|loaded| Matrix::from_simple(loaded.graph));
    together(run, Grid::try_read_graph, again, |loaded| Ok(undirected(loaded))).unwrap_or_else(|| whole(run))
}

/// The same, where each rank holds the whole graph.
pub fn whole(run: &Run) -> Result<Subject> {
    Ok(undirected(job::agree(load(&run.graph, &run.input))?))
}

fn undirected(loaded: Loaded) -> Subject {
    let _phase = phase("prepare");
    let Loaded { graph, name, numbering, format: input, report, .. } = loaded;
    Subject { matrix: Matrix::from_simple(graph), again: None, renumbered: None, name, numbering, input, report }
}

/// The graph of a run, with the directions of its file. Ranks read it together, as by [`simple`].
pub fn directed(run: &Run) -> Result<Subject> {
    let again = |run: &Run| load_directed(run).and_then(Subject::of).map(|subject| subject.matrix);
    together(run, Grid::try_read_digraph, again, Subject::of).unwrap_or_else(|| whole_directed(run))
}

/// The same, where each rank holds the whole graph.
pub fn whole_directed(run: &Run) -> Result<Subject> {
    let loaded = job::agree(load_directed(run))?;
    note(&loaded.name, &loaded.report);
    Subject::of(loaded)
}

fn load_directed(run: &Run) -> Result<Loaded> {
    let (bars, _phase) = (Bars::new(), phase("read"));
    read_digraph_as(&run.graph, run.input.read_as(), &bars)
}

/// Reads a graph on ranks.
type ReadTogether = fn(&Grid, &Path, ReadAs<'_>, &dyn Progress) -> Result<Read>;

/// The graph that several ranks read together by `read`; `None` if there is one process. `again` reads it as a whole, and `of` takes it as
/// such, if each rank has done that.
fn together(
    run: &Run,
    read: ReadTogether,
    again: Again<()>,
    of: impl FnOnce(Loaded) -> Result<Subject>,
) -> Option<Result<Subject>> {
    let grid = job::grid().filter(|grid| grid.size() > 1)?;
    let found = {
        let (bars, _phase) = (Bars::new(), phase("read"));
        read(&grid, run.graph.as_ref(), run.input.read_as(), &bars)
    };
    Some(found.and_then(|found| match found {
        Ok(SpreadGraph { matrix, name, format: input, numbering, report, .. }) => {
            note(&name, &report);
            Ok(Subject { matrix, again: Some(again), renumbered: None, name, numbering, input, report })
        }
        Err(loaded) => {
            note(&loaded.name, &loaded.report);
            of(loaded)
        }
    }))
}

/// The graph of a run with weights: drawn from a range by a seed, or else those of the file. `undirected` says that drawn weights are those
/// of the graph made symmetric.
pub fn weighted(run: &Run, range: Option<WeightRange>, seed: u64, undirected: bool) -> Result<Weights> {
    if let Some(WeightRange { least, greatest }) = range {
        let subject = if undirected { whole(run) } else { whole_directed(run) }?;
        let needed = Graph::of(subject.matrix.csr(), None).drawing();
        job::agree(memory::require(needed, || format!("{}: --weights {least}..{greatest}", subject.name)))?;
        let _phase = phase("prepare");
        let matrix = algorithms::weights(&subject.matrix, least, greatest, seed)?;
        return Ok(Weights::Integer(subject.with(matrix)));
    }
    let read = job::agree({
        let (bars, _phase) = (Bars::new(), phase("read"));
        read_weighted_as(&run.graph, run.input.read_as(), &bars)
    })?;
    match read {
        Weighted::None(loaded) => Err(Error::invalid(format!(
            "{}: no weights: expected a matrix-market, gr, metis, graphml, parquet, arrow, npz, egr, sg or vxm file with weights, an edge list \
             with --edge-columns FROM,TO,WEIGHT, or --weights LEAST..GREATEST",
            loaded.name
        ))),
        Weighted::Integer(loaded) => {
            note(&loaded.name, &loaded.report);
            Subject::of(loaded).map(Weights::Integer)
        }
        Weighted::Real(loaded) => {
            note(&loaded.name, &loaded.report);
            refuse(&loaded.graph, &loaded.name, &loaded.numbering, f64::is_nan, "a number")?;
            Subject::of(loaded).map(Weights::Real)
        }
    }
}

/// Checks that no weight is negative or infinite.
pub fn check_lengths(subject: &Subject<f64>) -> Result<()> {
    let is_bad = |weight: f64| !(0.0..f64::INFINITY).contains(&weight);
    refuse(subject.matrix.csr(), &subject.name, &subject.numbering, is_bad, "a finite number from 0 on")
}

/// The error for the first edge with a bad weight, if there is one.
fn refuse(
    graph: &Csr<f64>,
    name: &str,
    numbering: &Numbering,
    bad: impl Fn(f64) -> bool,
    expected: &str,
) -> Result<()> {
    for row in 0..graph.nrows() {
        let (columns, weights) = graph.row(row);
        if let Some(place) = weights.iter().position(|&weight| bad(weight)) {
            let (from, to) = (numbering.label(row as u32), numbering.label(columns[place]));
            let weight = weights[place];
            return Err(Error::invalid(format!(
                "{name}: the edge {from} -> {to} has weight {weight}: expected {expected}"
            )));
        }
    }
    Ok(())
}

/// The places of real weights among all distinct ones, ascending: integers in the same order. -0 counts as 0.
pub fn places(graph: &Csr<f64>) -> Result<Csr<u32>> {
    let key = |weight: &f64| weight + 0.0;
    let mut distinct: Vec<f64> = graph.values().iter().map(key).collect();
    distinct.sort_unstable_by(f64::total_cmp);
    distinct.dedup();
    let place = |weight: &f64| distinct.partition_point(|other| other < &key(weight)) as u32;
    let values = graph.values().iter().map(place).collect();
    Csr::try_new(graph.nrows(), graph.ncols(), graph.offsets().to_vec(), graph.columns().to_vec(), values)
}
