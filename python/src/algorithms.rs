//! The algorithms.

use crate::errors::{Class, raise};
use crate::graph::{Copies, Graph, Weighted};
use crate::runtime::{device, run, usable};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use rayon::prelude::*;
use std::sync::Arc;
use vxm::algorithms::sssp::Distance;
use vxm::algorithms::{self, Coloring, ColoringOptions, Formulation, MisOptions, Priority};
use vxm::backend::Device;
use vxm::backend::plan::Format;
use vxm::containers::{Matrix, Vector};
use vxm::{Error, Result};

/// Where and how an algorithm runs: device, storage format, number of threads.
#[derive(Clone, Copy)]
pub struct How {
    pub device: Device,
    pub format: Option<Format>,
    pub threads: Option<usize>,
}

impl How {
    /// From the arguments `(device, format, threads)`.
    pub fn of(py: Python<'_>, (on, format, threads): Place) -> PyResult<Self> {
        let format = match format.as_str() {
            "auto" => None,
            name => Some(name.parse::<Format>().map_err(|error| raise(py, &error))?),
        };
        Ok(Self { device: device(py, &on)?, format, threads })
    }

    /// Runs `work` on the graph's pattern.
    pub fn run<R: Send + 'static>(
        self,
        py: Python<'_>,
        graph: &Graph,
        work: impl FnOnce(&Matrix) -> Result<R> + Send + 'static,
    ) -> PyResult<R> {
        usable(py, graph.pattern.host.device())?;
        let copies = graph.pattern.clone();
        run(py, self.threads, self.device, move || work(&*copies.on(self.device, self.format)?))
    }
}

/// `(device, format, threads)`.
pub type Place = (String, String, Option<usize>);
/// An array of integers, and a number of rounds.
type Rounds<'py, T> = (Bound<'py, PyArray1<T>>, u32);

/// A maximal independent set: its members, ascending, and the number of rounds.
#[pyfunction]
pub fn mis<'py>(
    py: Python<'py>,
    graph: &Graph,
    priority: &str,
    formulation: Option<&str>,
    seed: u64,
    place: Place,
) -> PyResult<Rounds<'py, u32>> {
    let priority: Priority = priority.parse().map_err(|error| raise(py, &error))?;
    let formulation: Option<Formulation> =
        formulation.map(str::parse).transpose().map_err(|error| raise(py, &error))?;
    if (priority, formulation) == (Priority::Resolve, Some(Formulation::Decide)) {
        let what = "priority `resolve` requires formulation `count`, found `decide`";
        return Err(Class::Input.error(py, what));
    }
    let options = MisOptions::default().priority(priority).seed(seed).formulation(formulation.unwrap_or_default());
    let (members, rounds) = How::of(py, place)?.run(py, graph, move |a| {
        let found = algorithms::mis(a, &options)?;
        Ok((found.set.indices().collect::<Vec<u32>>(), found.rounds))
    })?;
    Ok((members.into_pyarray(py), rounds))
}

/// Maximal independent sets by several seeds: the members of each, ascending, and its number of rounds.
#[pyfunction]
pub fn mis_many<'py>(
    py: Python<'py>,
    graph: &Graph,
    priority: &str,
    seeds: Vec<u64>,
    place: Place,
) -> PyResult<Vec<Rounds<'py, u32>>> {
    let priority: Priority = priority.parse().map_err(|error| raise(py, &error))?;
    let options = MisOptions::default().priority(priority);
    let found = How::of(py, place)?.run(py, graph, move |a| {
        let found = algorithms::mis_many(a, &options, &seeds)?;
        Ok(found.iter().map(|found| (found.set.indices().collect::<Vec<u32>>(), found.rounds)).collect::<Vec<_>>())
    })?;
    Ok(found.into_iter().map(|(members, rounds)| (members.into_pyarray(py), rounds)).collect())
}

/// The sequential greedy set of an order: the vertex with the highest key comes first.
#[pyfunction]
pub fn mis_in_order<'py>(
    py: Python<'py>,
    graph: &Graph,
    key: PyReadonlyArray1<'py, u32>,
    place: Place,
) -> PyResult<Rounds<'py, u32>> {
    let key = key.as_slice()?.to_vec();
    let (members, rounds) = How::of(py, place)?.run(py, graph, move |a| {
        let found = algorithms::mis_in_order(&*a.to_graph()?, Vector::from_dense(key))?;
        Ok((found.set.indices().collect::<Vec<u32>>(), found.rounds))
    })?;
    Ok((members.into_pyarray(py), rounds))
}

/// The colour of each vertex, and two numbers.
pub type Colors<'py> = (Bound<'py, PyArray1<u32>>, u32, u32);

/// The colours of what `work` finds, their number, and the number of rounds.
pub fn colored<'py>(
    py: Python<'py>,
    graph: &Graph,
    place: Place,
    work: impl FnOnce(&Matrix) -> Result<Coloring> + Send + 'static,
) -> PyResult<Colors<'py>> {
    let (colors, count, rounds) = How::of(py, place)?.run(py, graph, move |a| {
        let found = work(a)?;
        Ok((found.colors.into_dense(0), found.count, found.rounds))
    })?;
    Ok((colors.into_pyarray(py), count, rounds))
}

/// A colouring: the colour of each vertex, from 1; the number of colours; the number of rounds.
#[pyfunction]
pub fn color<'py>(
    py: Python<'py>,
    graph: &Graph,
    method: &str,
    order: &str,
    seed: u64,
    place: Place,
) -> PyResult<Colors<'py>> {
    let method = method.parse().map_err(|error| raise(py, &error))?;
    let order = order.parse().map_err(|error| raise(py, &error))?;
    let options = ColoringOptions::default().method(method).order(order).seed(seed);
    colored(py, graph, place, move |a| algorithms::color(a, &options))
}

/// The sequential greedy colouring of an order: the vertex with the highest key comes first.
#[pyfunction]
pub fn color_in_order<'py>(
    py: Python<'py>,
    graph: &Graph,
    key: PyReadonlyArray1<'py, u32>,
    place: Place,
) -> PyResult<Colors<'py>> {
    let key = key.as_slice()?.to_vec();
    colored(py, graph, place, move |a| algorithms::color_in_order(a, &Vector::from_dense(key)))
}

/// The least vertex of each vertex' component.
#[pyfunction]
pub fn components<'py>(py: Python<'py>, graph: &Graph, place: Place) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let labels = How::of(py, place)?.run(py, graph, |a| Ok(algorithms::components(a)?.into_dense(0)))?;
    Ok(labels.into_pyarray(py))
}

/// The number of hops from the source to each vertex; -1 where no path leads.
#[pyfunction]
pub fn bfs<'py>(py: Python<'py>, graph: &Graph, source: u32, place: Place) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let hops = How::of(py, place)?.run(py, graph, move |a| {
        let levels = algorithms::bfs(a, source)?.into_dense(u32::MAX);
        let hops = |level| if level == u32::MAX { -1 } else { i64::from(level) };
        Ok(levels.into_par_iter().map(hops).collect::<Vec<i64>>())
    })?;
    Ok(hops.into_pyarray(py))
}

/// The length of a shortest path from the source to each vertex: -1 or infinity where no path leads, and the edge's type of number as
/// `int64`, `float32` or `float64`. A graph without weights is an error.
#[pyfunction]
pub fn sssp<'py>(py: Python<'py>, graph: &Graph, source: u32, place: Place) -> PyResult<Bound<'py, PyAny>> {
    let how = How::of(py, place)?;
    let whole = move |far: u64, length: u64| {
        if length == far {
            return Ok(-1);
        }
        let what = || Error::invalid(format!("sssp: a distance of {length}: expected at most {}", i64::MAX));
        i64::try_from(length).map_err(|_| what())
    };
    let whole = move |far, lengths: Vec<u64>| {
        lengths.into_par_iter().map(|length| whole(far, length)).collect::<Result<Vec<i64>>>()
    };
    Ok(match &graph.weights {
        None => return Err(Class::Input.error(py, "sssp: expected a graph with weights, found one without")),
        Some(Weighted::U32(a)) => {
            let widened = |lengths: Vec<u32>| lengths.into_par_iter().map(u64::from).collect();
            let then = move |lengths| whole(u32::MAX.into(), widened(lengths));
            lengths(py, a, source, how, then)?.into_pyarray(py).into_any()
        }
        Some(Weighted::U64(a)) => {
            lengths(py, a, source, how, move |lengths| whole(u64::MAX, lengths))?.into_pyarray(py).into_any()
        }
        Some(Weighted::F32(a)) => lengths(py, a, source, how, Ok)?.into_pyarray(py).into_any(),
        Some(Weighted::F64(a)) => lengths(py, a, source, how, Ok)?.into_pyarray(py).into_any(),
    })
}

/// The lengths of shortest paths, with the type's greatest value where none leads, and then `then` of them.
fn lengths<T: Distance, R: Send + 'static>(
    py: Python<'_>,
    copies: &Arc<Copies<T>>,
    source: u32,
    how: How,
    then: impl FnOnce(Vec<T>) -> Result<R> + Send + 'static,
) -> PyResult<R> {
    let copies = copies.clone();
    run(py, how.threads, how.device, move || {
        let a = copies.on(how.device, None)?;
        then(algorithms::sssp(&a, source)?.into_dense(T::FAR))
    })
}
