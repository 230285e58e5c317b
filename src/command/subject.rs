//! The graphs that algorithms run on: simple ones, directed ones, and ones with weights.

use crate::command::arguments::{Run, WeightRange};
use crate::command::bars::Bars;
use crate::command::footprint::Graph;
use crate::command::phases::phase;
use crate::command::renumbered::Renumbered;
use crate::command::{job, load, load_quietly, note};
use std::path::Path;
use vxm::algorithms;
use vxm::containers::{Matrix, SpreadGraph, SpreadWeighted};
use vxm::error::printable;
use vxm::io::{FileFormat, Loaded, Numbering, Progress, ReadAs, Report, Weighted, read_digraph_as, read_weighted_as};
use vxm::memory;
use vxm::ranks::Grid;
use vxm::semiring::Element;
use vxm::{Error, Result};

/// Reads the graph of a run.
pub type Again<T> = Box<dyn FnOnce(&Run) -> Result<Matrix<T>>>;

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

    /// A graph that ranks have read together. `again` reads it as a whole.
    fn spread(spread: SpreadGraph<T>, again: impl FnOnce(&Run) -> Result<Matrix<T>> + 'static) -> Self {
        let SpreadGraph { matrix, name, format: input, numbering, report, .. } = spread;
        Self { matrix, again: Some(Box::new(again)), renumbered: None, name, numbering, input, report }
    }

    /// The subject, after what reading changed and ignored is told.
    fn noted(self) -> Self {
        note(&self.name, &self.report);
        self
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
    let Some(read) = together(run, Grid::try_read_graph)? else { return whole(run) };
    let again = |run: &Run| load_quietly(&run.graph, &run.input).map(|loaded| Matrix::from_simple(loaded.graph));
    Ok(read.map_or_else(undirected, |spread| Subject::spread(spread, again)).noted())
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
    let subject = match together(run, Grid::try_read_digraph)? {
        Some(Ok(spread)) => Subject::spread(spread, again),
        Some(Err(loaded)) => Subject::of(loaded)?,
        None => Subject::of(job::agree(load_directed(run))?)?,
    };
    Ok(subject.noted())
}

fn load_directed(run: &Run) -> Result<Loaded> {
    let (bars, _phase) = (Bars::new(), phase("read"));
    read_digraph_as(&run.graph, run.input.read_as(), &bars)
}

/// What several ranks read together by `read`; `None` if there is one process.
fn together<R>(
    run: &Run,
    read: impl FnOnce(&Grid, &Path, ReadAs<'_>, &dyn Progress) -> Result<R>,
) -> Result<Option<R>> {
    let Some(grid) = job::grid().filter(|grid| grid.size() > 1) else { return Ok(None) };
    let (bars, _phase) = (Bars::new(), phase("read"));
    read(&grid, run.graph.as_ref(), run.input.read_as(), &bars).map(Some)
}

/// The graph of a run with weights: drawn from a range by a seed, or else those of the file. `undirected` says that drawn weights are those
/// of the graph made symmetric.
pub fn weighted(run: &Run, range: Option<WeightRange>, seed: u64, undirected: bool) -> Result<Weights> {
    if let Some(range) = range {
        let subject = if undirected { simple(run) } else { directed(run) }?;
        return drawn(subject, range, seed).map(Weights::Integer);
    }
    let read = match together(run, Grid::try_read_weighted)? {
        Some(read) => read,
        None => Err(job::agree(load_weighted(run))?),
    };
    let real = |subject: Subject<f64>| {
        refuse(&subject, f64::is_nan, "a number")?;
        Ok(Weights::Real(subject))
    };
    match read {
        Ok(SpreadWeighted::None(name)) => Err(without_weights(&name)),
        Ok(SpreadWeighted::Integer(spread)) => Ok(Weights::Integer(Subject::spread(spread, integers).noted())),
        Ok(SpreadWeighted::Real(spread)) => real(Subject::spread(spread, reals).noted()),
        Err(Weighted::None(loaded)) => Err(without_weights(&loaded.name)),
        Err(Weighted::Integer(loaded)) => Ok(Weights::Integer(Subject::of(loaded)?.noted())),
        Err(Weighted::Real(loaded)) => real(Subject::of(loaded)?.noted()),
    }
}

/// The graph with weights drawn from a range by a seed.
fn drawn(mut subject: Subject, range: WeightRange, seed: u64) -> Result<Subject<u32>> {
    let WeightRange { least, greatest } = range;
    let needed = match subject.matrix.grid() {
        // two matrices with values, and hashes
        Some(grid) => u128::from(16 * subject.matrix.nnz() / grid.size() as u64 + 8 * subject.matrix.nrows() as u64),
        None => Graph::of(subject.matrix.csr(), None).drawing(),
    };
    job::agree(memory::require(needed, || format!("{}: --weights {least}..{greatest}", subject.name)))?;
    let _phase = phase("prepare");
    let draw = move |matrix: &Matrix| algorithms::weights(matrix, least, greatest, seed);
    let (matrix, again) = (draw(&subject.matrix)?, subject.again.take());
    let again = again.map(|again| -> Again<u32> { Box::new(move |run| draw(&again(run)?)) });
    Ok(Subject { again, ..subject.with(matrix) })
}

fn load_weighted(run: &Run) -> Result<Weighted> {
    let (bars, _phase) = (Bars::new(), phase("read"));
    read_weighted_as(&run.graph, run.input.read_as(), &bars)
}

/// The whole graph of a run, with integers as weights.
fn integers(run: &Run) -> Result<Matrix<u32>> {
    match load_weighted(run)? {
        Weighted::Integer(loaded) => Subject::of(loaded).map(|subject| subject.matrix),
        Weighted::None(Loaded { name, .. }) | Weighted::Real(Loaded { name, .. }) => Err(changed(&name)),
    }
}

/// The same with real weights.
fn reals(run: &Run) -> Result<Matrix<f64>> {
    match load_weighted(run)? {
        Weighted::Real(loaded) => Subject::of(loaded).map(|subject| subject.matrix),
        Weighted::None(Loaded { name, .. }) | Weighted::Integer(Loaded { name, .. }) => Err(changed(&name)),
    }
}

/// The error for a file that isn't what ranks have read.
pub fn changed(name: &str) -> Error {
    Error::invalid(format!("{name}: changed, or ranks see different files"))
}

fn without_weights(name: &str) -> Error {
    Error::invalid(format!(
        "{name}: no weights: expected a matrix-market, gr, metis, graphml, parquet, arrow, npz, egr, sg or vxm file with weights, an edge list \
         with --edge-columns FROM,TO,WEIGHT, or --weights LEAST..GREATEST"
    ))
}

/// Checks that no weight is negative or infinite.
pub fn check_lengths(subject: &Subject<f64>) -> Result<()> {
    let is_bad = |weight: f64| !(0.0..f64::INFINITY).contains(&weight);
    refuse(subject, is_bad, "a finite number from 0 on")
}

/// The error for the first edge with a bad weight, if there is one.
fn refuse(subject: &Subject<f64>, is_bad: impl Fn(f64) -> bool, expected: &str) -> Result<()> {
    let Subject { matrix, name, numbering, .. } = subject;
    let mut first: Option<(u32, u32, f64)> = None;
    matrix.for_each_here(|from, to, weight| {
        if is_bad(weight) && first.is_none_or(|first| (from, to) < (first.0, first.1)) {
            first = Some((from, to, weight));
        }
    })?;
    let mut words = first.map(|(from, to, weight)| [u64::from(from) << 32 | u64::from(to), weight.to_bits()]);
    if let Some(grid) = matrix.grid() {
        words = grid.least(words)?;
    }
    let Some([ends, weight]) = words else { return Ok(()) };
    let (from, to) = (numbering.label((ends >> 32) as u32), numbering.label(ends as u32));
    let weight = f64::from_bits(weight);
    Err(Error::invalid(format!("{name}: the edge {from} -> {to} has weight {weight}: expected {expected}")))
}
