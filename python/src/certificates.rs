//! Certificates: checks of answers by code that shares nothing with the engine.

use crate::errors::Class;
use crate::graph::{Copies, Graph};
use crate::runtime::run;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use std::sync::Arc;
use vxm::backend::Device;
use vxm::certify::{self, Violation};

/// The exception for an answer that is wrong.
pub fn raised<R>(py: Python<'_>, answer: Result<R, Violation>) -> PyResult<R> {
    answer.map_err(|violation| Class::WrongAnswer.error(py, format!("wrong answer: {violation}")))
}

/// Runs a check over the offsets and columns of a graph.
pub fn check<R: Send + 'static>(
    py: Python<'_>,
    graph: &Graph,
    work: impl FnOnce(&[u64], &[u32]) -> Result<R, Violation> + Send + 'static,
) -> PyResult<R> {
    let pattern: Arc<Copies<()>> = graph.pattern.clone();
    let answer = run(py, None, Device::Cpu, move || {
        let csr = pattern.host.csr();
        Ok(work(csr.offsets(), csr.columns()))
    })?;
    raised(py, answer)
}

/// Runs a check over the offsets and columns of an undirected graph, without self-loops. A directed graph must be symmetric.
pub fn check_undirected<R: Send + 'static>(
    py: Python<'_>,
    graph: &Graph,
    work: impl FnOnce(&[u64], &[u32]) -> Result<R, Violation> + Send + 'static,
) -> PyResult<R> {
    let pattern: Arc<Copies<()>> = graph.pattern.clone();
    let answer = run(py, None, Device::Cpu, move || {
        let simple = pattern.host.to_graph()?;
        Ok(work(simple.csr().offsets(), simple.csr().columns()))
    })?;
    raised(py, answer)
}

/// Checks that the members are a maximal independent set.
#[pyfunction]
pub fn check_mis(py: Python<'_>, graph: &Graph, member: PyReadonlyArray1<'_, bool>) -> PyResult<()> {
    let member = member.as_slice()?.to_vec();
    check_undirected(py, graph, move |offsets, columns| certify::independent_set(offsets, columns, &member))
}

/// Checks that neighbours have different colours. Returns the number of colours.
#[pyfunction]
pub fn check_coloring(py: Python<'_>, graph: &Graph, colors: PyReadonlyArray1<'_, u32>) -> PyResult<u32> {
    let colors = colors.as_slice()?.to_vec();
    check_undirected(py, graph, move |offsets, columns| certify::coloring(offsets, columns, &colors))
}

/// Checks that each label is the least vertex of the component. Returns the number of components.
#[pyfunction]
pub fn check_components(py: Python<'_>, graph: &Graph, labels: PyReadonlyArray1<'_, u32>) -> PyResult<usize> {
    let labels = labels.as_slice()?.to_vec();
    check_undirected(py, graph, move |offsets, columns| certify::components(offsets, columns, &labels))
}

/// Checks the hops from a source; a negative number means that no path leads there. Returns how many vertices are reached.
#[pyfunction]
pub fn check_bfs(py: Python<'_>, graph: &Graph, source: u32, hops: PyReadonlyArray1<'_, i64>) -> PyResult<usize> {
    // a number that no level can have stays wrong as one that is too great
    let level = |&hops: &i64| (hops >= 0).then(|| u32::try_from(hops).unwrap_or(u32::MAX - 1));
    let levels: Vec<Option<u32>> = hops.as_slice()?.iter().map(level).collect();
    check(py, graph, move |offsets, columns| certify::levels(offsets, columns, source as usize, &levels))
}
