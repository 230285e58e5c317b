//! Trees, ranks, dense parts, components, forests, matchings, communities and covers.

use crate::algorithms::{How, Place};
use crate::colorings::{Asked, Keys};
use crate::errors::{Class, raise};
use crate::graph::{Copies, Graph, Weighted};
use crate::runtime::run;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;
use rayon::prelude::*;
use std::str::FromStr;
use std::sync::Arc;
use vxm::algorithms::priority::{hashes, order_keys, priorities};
use vxm::algorithms::sssp::Distance;
use vxm::algorithms::{self, MisOptions, Order, PageRank, PageRankOptions, Priority, Rank};
use vxm::containers::{Matrix, Set, Vector};
use vxm::semiring::Element;
use vxm::{Error, Result};

/// An array of one axis.
type Array<'py, T> = Bound<'py, PyArray1<T>>;
/// The two ends of edges, and a number for each.
type Edges<'py> = (Array<'py, u32>, Array<'py, u32>, Array<'py, u32>);

/// The elements, -1 where a vector holds none.
fn signed(found: &Vector<u32>) -> Vec<i64> {
    let dense = found.to_dense(u32::MAX);
    dense.into_par_iter().map(|x| if x == u32::MAX { -1 } else { i64::from(x) }).collect()
}

/// Parses the name of a choice.
fn choice<T: FromStr<Err = Error>>(py: Python<'_>, name: &str) -> PyResult<T> {
    name.parse().map_err(|error| raise(py, &error))
}

/// For each vertex its parent in a search tree from the source; -1 where no path leads. The source is its own parent.
#[pyfunction]
pub fn bfs_parents<'py>(py: Python<'py>, graph: &Graph, source: u32, place: Place) -> PyResult<Array<'py, i64>> {
    let found = How::of(py, place)?.run(py, graph, move |a| Ok(signed(&algorithms::bfs_parents(a, source)?)))?;
    Ok(found.into_pyarray(py))
}

/// The number of hops from each of several sources to each vertex, a row for each source; -1 where no path leads.
#[pyfunction]
pub fn bfs_many<'py>(
    py: Python<'py>,
    graph: &Graph,
    sources: Vec<u32>,
    place: Place,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let rows = How::of(py, place)?.run(py, graph, move |a| {
        let mut rows = Vec::with_capacity(sources.len());
        // as many searches at once as an element has bits
        for some in sources.chunks(64) {
            let found = algorithms::bfs_many(a, some)?;
            for k in 0..found.len() {
                rows.push(signed(&found.levels(k)?));
            }
        }
        Ok(rows)
    })?;
    let n = graph.pattern.host.nrows();
    match rows.is_empty() {
        true => Ok(PyArray2::zeros(py, [0, n], false)),
        false => Ok(PyArray2::from_vec2(py, &rows)?),
    }
}

/// For each vertex the one before it on a shortest path from the source; -1 where no path leads. The source is its own parent.
#[pyfunction]
pub fn sssp_parents<'py>(py: Python<'py>, graph: &Graph, source: u32, place: Place) -> PyResult<Array<'py, i64>> {
    fn found<T: Distance>(py: Python<'_>, copies: &Arc<Copies<T>>, source: u32, how: How) -> PyResult<Vec<i64>> {
        let copies = copies.clone();
        run(py, how.threads, how.device, move || {
            let a = copies.on(how.device, None)?;
            Ok(signed(&algorithms::sssp_parents(&a, source)?))
        })
    }
    let how = How::of(py, place)?;
    let parents = match &graph.weights {
        None => return Err(Class::Input.error(py, "sssp_parents: expected a graph with weights, found one without")),
        Some(Weighted::U32(a)) => found(py, a, source, how)?,
        Some(Weighted::U64(a)) => found(py, a, source, how)?,
        Some(Weighted::F32(a)) => found(py, a, source, how)?,
        Some(Weighted::F64(a)) => found(py, a, source, how)?,
    };
    Ok(parents.into_pyarray(py))
}

/// The options of PageRank: damping, the most rounds, and the tolerance.
type Walk = (f64, u32, f64);

/// What PageRank returns: the ranks, the number of rounds, and the sum of the changes in the last one.
type Ranked<'py> = (Bound<'py, PyAny>, u32, f64);

/// PageRank in `f32` or `f64`. Walks start at `sources`, or at all vertices.
#[pyfunction]
pub fn pagerank<'py>(
    py: Python<'py>,
    graph: &Graph,
    walk: Walk,
    sources: Option<Vec<u32>>,
    precision: &str,
    place: Place,
) -> PyResult<Ranked<'py>> {
    let (damping, rounds, tolerance) = walk;
    fn ranks<T: Rank + Into<f64>>(a: &Matrix, options: &PageRankOptions) -> Result<(Vec<T>, u32, f64)> {
        let PageRank { ranks, rounds, change, .. } = algorithms::pagerank::<T>(a, options)?;
        Ok((ranks.into_dense(T::ZERO), rounds, change.into()))
    }
    let (how, n) = (How::of(py, place)?, graph.pattern.host.nrows());
    let sources =
        sources.map(|sources| Set::from_indices(n, sources)).transpose().map_err(|error| raise(py, &error))?;
    let options = PageRankOptions::default().damping(damping).rounds(rounds).tolerance(tolerance).sources(sources);
    match precision {
        "float32" => {
            let (found, rounds, change) = how.run(py, graph, move |a| ranks::<f32>(a, &options))?;
            Ok((found.into_pyarray(py).into_any(), rounds, change))
        }
        "float64" => {
            let (found, rounds, change) = how.run(py, graph, move |a| ranks::<f64>(a, &options))?;
            Ok((found.into_pyarray(py).into_any(), rounds, change))
        }
        _ => Err(raise(py, &Error::unknown("dtype", precision, &["float32", "float64"]))),
    }
}

/// The core number of each vertex.
#[pyfunction]
pub fn core_numbers<'py>(py: Python<'py>, graph: &Graph, place: Place) -> PyResult<Array<'py, u32>> {
    let found = How::of(py, place)?.run(py, graph, |a| Ok(algorithms::core_numbers(a)?.into_dense(0)))?;
    Ok(found.into_pyarray(py))
}

/// The number of triangles at each vertex.
#[pyfunction]
pub fn triangles<'py>(py: Python<'py>, graph: &Graph, place: Place) -> PyResult<Array<'py, u64>> {
    let found = How::of(py, place)?.run(py, graph, |a| Ok(algorithms::triangles(a)?.into_dense(0)))?;
    Ok(found.into_pyarray(py))
}

/// The local clustering coefficient of each vertex.
#[pyfunction]
pub fn clustering<'py>(py: Python<'py>, graph: &Graph, place: Place) -> PyResult<Array<'py, f64>> {
    let found = How::of(py, place)?.run(py, graph, |a| Ok(algorithms::clustering(a)?.into_dense(0.0)))?;
    Ok(found.into_pyarray(py))
}

/// The edges of a matrix from the lesser end to the greater, each with its value.
fn edges<T: Element>(a: &Matrix<T>, value: impl Fn(T) -> u32) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let (mut tails, mut heads, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for (i, j, x) in a.iter().filter(|&(i, j, _)| i < j) {
        tails.push(i);
        heads.push(j);
        values.push(value(x));
    }
    (tails, heads, values)
}

/// The k-truss: the ends of its edges, and of how many of its triangles each is part; and rounds.
#[pyfunction]
pub fn ktruss<'py>(py: Python<'py>, graph: &Graph, k: u32, place: Place) -> PyResult<(Edges<'py>, u32)> {
    let ((tails, heads, support), rounds) = How::of(py, place)?.run(py, graph, move |a| {
        let found = algorithms::ktruss(a, k)?;
        Ok((edges(&found.support, |support| support), found.rounds))
    })?;
    Ok(((tails.into_pyarray(py), heads.into_pyarray(py), support.into_pyarray(py)), rounds))
}

/// The least vertex of each vertex' strongly connected component, and rounds.
#[pyfunction]
pub fn strong_components<'py>(py: Python<'py>, graph: &Graph, place: Place) -> PyResult<(Array<'py, u32>, u32)> {
    let (labels, rounds) = How::of(py, place)?.run(py, graph, |a| {
        let found = algorithms::strong_components(a)?;
        Ok((found.labels.into_dense(0), found.rounds))
    })?;
    Ok((labels.into_pyarray(py), rounds))
}

/// The weights of a graph that has weights of `u32`.
fn ranked(py: Python<'_>, graph: &Graph) -> PyResult<Arc<Copies<u32>>> {
    match &graph.weights {
        Some(Weighted::U32(weights)) => Ok(weights.clone()),
        _ => Err(Class::Input.error(py, "expected a graph with weights of uint32")),
    }
}

/// A minimum spanning forest of a graph with weights of `u32`: the ends of its edges, their weights, and rounds.
#[pyfunction]
pub fn spanning_forest<'py>(py: Python<'py>, graph: &Graph, place: Place) -> PyResult<(Edges<'py>, u32)> {
    let (how, weights) = (How::of(py, place)?, ranked(py, graph)?);
    let ((tails, heads, values), rounds) = run(py, how.threads, how.device, move || {
        let found = algorithms::spanning_forest(&*weights.on(how.device, None)?)?;
        let (tails, heads, _) = edges(&found.forest, |()| 0);
        let weight = |(&i, &j)| weights.host.get(i, j).unwrap_or(0);
        let values = tails.iter().zip(&heads).map(weight).collect::<Vec<u32>>();
        Ok(((tails, heads, values), found.rounds))
    })?;
    Ok(((tails.into_pyarray(py), heads.into_pyarray(py), values.into_pyarray(py)), rounds))
}

/// A matching, of the graph's weights of `u32` or without weights: the mate of each vertex, -1 if it has none; and rounds.
#[pyfunction]
pub fn matching<'py>(
    py: Python<'py>,
    graph: &Graph,
    weighted: bool,
    seed: u64,
    place: Place,
) -> PyResult<(Array<'py, i64>, u32)> {
    let how = How::of(py, place)?;
    let (mate, rounds) = if weighted {
        let weights = ranked(py, graph)?;
        run(py, how.threads, how.device, move || {
            let found = algorithms::dominant_matching(&*weights.on(how.device, None)?, seed)?;
            Ok((signed(&found.mate), found.rounds))
        })?
    } else {
        how.run(py, graph, move |a| {
            let found = algorithms::maximal_matching(a, seed)?;
            Ok((signed(&found.mate), found.rounds))
        })?
    };
    Ok((mate.into_pyarray(py), rounds))
}

/// The betweenness of each vertex by the shortest paths from `sources`, or from all vertices.
#[pyfunction]
pub fn betweenness<'py>(
    py: Python<'py>,
    graph: &Graph,
    sources: Option<Vec<u32>>,
    place: Place,
) -> PyResult<Array<'py, f64>> {
    let found = How::of(py, place)?.run(py, graph, move |a| {
        let sources = sources.unwrap_or_else(|| (0..a.nrows() as u32).collect());
        Ok(algorithms::betweenness(a, &sources)?.into_dense(0.0))
    })?;
    Ok(found.into_pyarray(py))
}

/// So many vertices with the least hashes, ascending.
#[pyfunction]
pub fn drawn<'py>(py: Python<'py>, graph: &Graph, count: usize, seed: u64) -> PyResult<Array<'py, u32>> {
    let n = graph.pattern.host.nrows();
    let hash = hashes(n, seed).map_err(|error| raise(py, &error))?.into_dense(0);
    let mut all: Vec<u32> = (0..n as u32).collect();
    all.sort_unstable_by_key(|&v| (hash[v as usize], v));
    all.truncate(count);
    all.sort_unstable();
    Ok(all.into_pyarray(py))
}

/// Communities by Louvain's method: the least vertex of each vertex' community, their number, the modularity, and rounds.
#[pyfunction]
pub fn communities<'py>(
    py: Python<'py>,
    graph: &Graph,
    tolerance: f64,
    place: Place,
) -> PyResult<(Array<'py, u32>, u32, f64, u32)> {
    let (labels, count, modularity, rounds) = How::of(py, place)?.run(py, graph, move |a| {
        let found = algorithms::communities(a, tolerance)?;
        Ok((found.labels.into_dense(0), found.count, found.modularity, found.rounds))
    })?;
    Ok((labels.into_pyarray(py), count, modularity, rounds))
}

/// Communities by label propagation: the label of each vertex, and rounds.
#[pyfunction]
pub fn labels<'py>(py: Python<'py>, graph: &Graph, rounds: u32, place: Place) -> PyResult<(Array<'py, u32>, u32)> {
    let (labels, rounds) = How::of(py, place)?.run(py, graph, move |a| {
        let found = algorithms::propagate_labels(a, rounds)?;
        Ok((found.labels.into_dense(0), found.rounds))
    })?;
    Ok((labels.into_pyarray(py), rounds))
}

/// The root of each vertex of a forest, in which an edge leads from each vertex to its parent.
#[pyfunction]
pub fn roots<'py>(py: Python<'py>, graph: &Graph, place: Place) -> PyResult<(Array<'py, u32>, u32)> {
    let (roots, rounds) = How::of(py, place)?.run(py, graph, |a| {
        let found = algorithms::roots(&algorithms::parents_of(a)?)?;
        Ok((found.roots.into_dense(0), found.rounds))
    })?;
    Ok((roots.into_pyarray(py), rounds))
}

/// A set at distance 2: its members, ascending, and rounds.
#[pyfunction]
pub fn mis_at_distance_2<'py>(
    py: Python<'py>,
    graph: &Graph,
    order: Asked<'py>,
    place: Place,
) -> PyResult<(Array<'py, u32>, u32)> {
    let keys: Keys<Priority> = Keys::of(py, order)?;
    let (members, rounds) = How::of(py, place)?.run(py, graph, move |a| {
        let found = algorithms::mis_at_distance_2(a, &keys.on(a, priorities)?)?;
        Ok((found.set.indices().collect::<Vec<u32>>(), found.rounds))
    })?;
    Ok((members.into_pyarray(py), rounds))
}

/// A maximal clique: its members, ascending, and the size of the clique found around each vertex.
#[pyfunction]
pub fn clique<'py>(
    py: Python<'py>,
    graph: &Graph,
    order: Asked<'py>,
    place: Place,
) -> PyResult<(Array<'py, u32>, Array<'py, u32>)> {
    let keys: Keys<Order> = Keys::of(py, order)?;
    let (members, sizes) = How::of(py, place)?.run(py, graph, move |a| {
        // degrees count no self-loops
        let a = &*a.to_graph()?;
        let found = algorithms::maximal_clique(a, &keys.on(a, order_keys)?)?;
        Ok((found.members.indices().collect::<Vec<u32>>(), found.sizes.into_dense(0)))
    })?;
    Ok((members.into_pyarray(py), sizes.into_pyarray(py)))
}

/// A vertex cover: its members, ascending, and the mates of a maximal matching, -1 where there is none.
#[pyfunction]
pub fn vertex_cover<'py>(
    py: Python<'py>,
    graph: &Graph,
    priority: &str,
    seed: u64,
    place: Place,
) -> PyResult<(Array<'py, u32>, Array<'py, i64>)> {
    let options = MisOptions::default().priority(choice(py, priority)?).seed(seed);
    let (members, mate) = How::of(py, place)?.run(py, graph, move |a| {
        let found = algorithms::vertex_cover(a, &options)?;
        Ok((found.set.indices().collect::<Vec<u32>>(), signed(&found.mate)))
    })?;
    Ok((members.into_pyarray(py), mate.into_pyarray(py)))
}

/// Numbers of vertices, `None` for those below 0.
fn optional(numbers: &PyReadonlyArray1<'_, i64>) -> PyResult<Vec<Option<u32>>> {
    // what no vertex has stays wrong as a number that is too great
    let vertex = |&x: &i64| (x >= 0).then(|| u32::try_from(x).unwrap_or(u32::MAX));
    Ok(numbers.as_slice()?.iter().map(vertex).collect())
}

pub mod checks {
    //! Certificates of these answers.

    use super::optional;
    use crate::certificates::{check, check_undirected};
    use crate::graph::Graph;
    use numpy::PyReadonlyArray1;
    use pyo3::prelude::*;
    use vxm::certify;

    /// Checks core numbers. Returns the greatest.
    #[pyfunction]
    pub fn check_cores(py: Python<'_>, graph: &Graph, cores: PyReadonlyArray1<'_, u32>) -> PyResult<u32> {
        let cores = cores.as_slice()?.to_vec();
        check_undirected(py, graph, move |offsets, columns| certify::cores(offsets, columns, &cores))
    }

    /// Checks counts of triangles. Returns the number of triangles.
    #[pyfunction]
    pub fn check_triangles(py: Python<'_>, graph: &Graph, counts: PyReadonlyArray1<'_, u64>) -> PyResult<u64> {
        let counts = counts.as_slice()?.to_vec();
        check_undirected(py, graph, move |offsets, columns| certify::triangles(offsets, columns, &counts))
    }

    /// Checks labels of strongly connected components. Returns the number of components.
    #[pyfunction]
    pub fn check_strong_components(
        py: Python<'_>,
        graph: &Graph,
        labels: PyReadonlyArray1<'_, u32>,
    ) -> PyResult<usize> {
        let labels = labels.as_slice()?.to_vec();
        check(py, graph, move |offsets, columns| certify::strong_components(offsets, columns, &labels))
    }

    /// Checks that no edge can be added to a matching. Returns the number of its edges.
    #[pyfunction]
    pub fn check_matching(py: Python<'_>, graph: &Graph, mate: PyReadonlyArray1<'_, i64>) -> PyResult<usize> {
        let mate = optional(&mate)?;
        check_undirected(py, graph, move |offsets, columns| certify::maximal_matching(offsets, columns, &mate))
    }

    /// Checks a tree of parents from a source. Returns the most hops.
    #[pyfunction]
    pub fn check_parents(
        py: Python<'_>,
        graph: &Graph,
        source: u32,
        parents: PyReadonlyArray1<'_, i64>,
    ) -> PyResult<u32> {
        let parents = optional(&parents)?;
        check(py, graph, move |offsets, columns| certify::parents(offsets, columns, source as usize, &parents))
    }

    /// Checks that the members are a clique, to which no vertex can be added. Returns their number.
    #[pyfunction]
    pub fn check_clique(py: Python<'_>, graph: &Graph, member: PyReadonlyArray1<'_, bool>) -> PyResult<usize> {
        let member = member.as_slice()?.to_vec();
        check_undirected(py, graph, move |offsets, columns| certify::maximal_clique(offsets, columns, &member))
    }

    /// Checks that the members cover all edges, and a matching. Returns the number of its edges, a lower bound.
    #[pyfunction]
    pub fn check_cover(
        py: Python<'_>,
        graph: &Graph,
        member: PyReadonlyArray1<'_, bool>,
        mate: PyReadonlyArray1<'_, i64>,
    ) -> PyResult<usize> {
        let (member, mate) = (member.as_slice()?.to_vec(), optional(&mate)?);
        check_undirected(py, graph, move |offsets, columns| certify::vertex_cover(offsets, columns, &member, &mate))
    }
}
