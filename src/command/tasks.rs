//! The algorithms of the command: their options, the graph that each takes, and the certificate of its answer.

use crate::command::answer::{Outputs, Verdict, begin};
use crate::command::arguments::{Precision, Run, WeightRange};
use crate::command::finish::{finish, finish_together};
use crate::command::footprint::Algorithm;
use crate::command::found::{Found, Numbers, options};
use crate::command::subject::{Again, Subject, Weights, changed, check_lengths, directed, simple, weighted};
use crate::command::together::distances;
use crate::command::{job, note};
use serde_json::Value;
use std::cell::OnceCell;
use std::cmp::Reverse;
use std::process::ExitCode;
use std::rc::Rc;
use vxm::algorithms::priority::hashes;
use vxm::algorithms::{self, Distance, Formulation, Mis, MisOptions, PageRank, PageRankOptions, Priority, Rank};
use vxm::certify::{self, Walk, Weight};
use vxm::containers::{Matrix, Set, Vector};
use vxm::formats::Csr;
use vxm::io::{Numbering, Report};
use vxm::operations::verbs::Verbs;
use vxm::ranks::Grid;
use vxm::semiring::{Element, MAX};
use vxm::{Error, Result, memory};

/// Checks an answer that doesn't depend on weights.
pub fn checked<T: Element>(found: &mut Found, graph: &Csr<T>) -> Result<Verdict> {
    Ok(found.check(graph))
}

/// `vxm mis`.
pub fn mis(priority: Priority, formulation: Option<Formulation>, seed: u64, run: &Run) -> Result<ExitCode> {
    let formulation = match (priority, formulation) {
        (Priority::Resolve, Some(Formulation::Decide)) => {
            let what = "priority `resolve` requires formulation `count`, found `decide`";
            return Err(Error::invalid(what));
        }
        (Priority::Resolve, None) => Formulation::Count,
        (_, formulation) => formulation.unwrap_or_default(),
    };
    let options = MisOptions::default().priority(priority).seed(seed).formulation(formulation);
    let choices =
        [("priority", priority.name().into()), ("formulation", formulation.name().into()), ("seed", seed.into())];
    let (out, graph) = (begin(run)?, simple(run)?.renumbered(run)?);
    let find = |a: &Matrix| algorithms::mis(a, &options).map(|mis| (Found::Set(mis.set), Some(mis.rounds)));
    finish(run, out, Algorithm::Mis(priority, formulation), &choices, graph, find, checked)
}

/// `vxm mis --best-of`.
pub fn best_of(
    priority: Priority,
    formulation: Option<Formulation>,
    runs: u32,
    seed: u64,
    run: &Run,
) -> Result<ExitCode> {
    if let Some(formulation) = formulation {
        let what = format!("formulation `{}` is for one set: expected none with --best-of", formulation.name());
        return Err(Error::invalid(what));
    }
    let options = MisOptions::default().priority(priority);
    let choices = [("priority", priority.name().into()), ("best_of", runs.into()), ("seed", seed.into())];
    let seeds: Vec<u64> = (0..u64::from(runs)).map(|k| seed.wrapping_add(k)).collect();
    let (out, graph) = (begin(run)?, simple(run)?.renumbered(run)?);
    let find = |a: &Matrix| {
        let found = algorithms::mis_many(a, &options, &seeds)?;
        let sizes: Vec<usize> = found.iter().map(|found| found.set.nvals()).collect();
        // of equal sizes, the first
        let largest = (0..sizes.len()).min_by_key(|&k| Reverse(sizes[k])).unwrap_or(0);
        let (smallest, Mis { set, rounds, .. }) = (sizes.iter().copied().min().unwrap_or(0), &found[largest]);
        Ok((Found::BestSet { set: set.clone(), seed: seeds[largest], smallest }, Some(*rounds)))
    };
    finish(run, out, Algorithm::BestOf(priority, runs), &choices, graph, find, checked)
}

/// `vxm bfs`.
pub fn bfs(source: &str, parents: bool, run: &Run) -> Result<ExitCode> {
    let (out, graph) = (begin(run)?, simple(run)?.renumbered(run)?);
    let (choices, vertex) = ([("source", called(&graph.numbering, source))], graph.vertex("--source", source)?);
    let place = graph.place(vertex);
    if parents {
        let find = |a: &Matrix| algorithms::bfs_parents(a, vertex).map(|tree| (Found::Parents(vertex, tree), None));
        return finish(run, out, Algorithm::Parents, &choices, graph, find, checked);
    }
    let find = |a: &Matrix| algorithms::bfs(a, place).map(|levels| (Found::Levels(vertex, levels), None));
    finish(run, out, Algorithm::Bfs, &choices, graph, find, checked)
}

/// `vxm components`.
pub fn components(run: &Run) -> Result<ExitCode> {
    let (out, graph) = (begin(run)?, simple(run)?.renumbered(run)?);
    let find = |a: &Matrix| algorithms::components(a).map(|labels| (Found::Components(labels), None));
    finish(run, out, Algorithm::Components, &[], graph, find, checked)
}

/// The options that say how weights are drawn, if they are.
fn drawn(range: Option<WeightRange>, seed: u64) -> Vec<(&'static str, Value)> {
    range.map_or(Vec::new(), |range| vec![("weights", range.to_string().into()), ("seed", seed.into())])
}

/// What a user calls a vertex, as JSON: a number, unless vertices have names.
fn called(numbering: &Numbering, vertex: &str) -> Value {
    match (numbering, vertex.parse::<u64>()) {
        (Numbering::Named(_), _) | (_, Err(_)) => vertex.into(),
        (_, Ok(number)) => number.into(),
    }
}

/// `vxm sssp`.
pub fn sssp(source: &str, range: Option<WeightRange>, seed: u64, run: &Run) -> Result<ExitCode> {
    let out = begin(run)?;
    let choices = |numbering: &Numbering| {
        let source = [("source", called(numbering, source))];
        source.into_iter().chain(drawn(range, seed)).collect::<Vec<_>>()
    };
    match weighted(run, range, seed, false)? {
        Weights::Integer(graph) => {
            let graph = graph.renumbered(run)?;
            let vertex = graph.vertex("--source", source)?;
            let place = graph.place(vertex);
            let (name, numbering) = (graph.name.clone(), graph.numbering.clone());
            let find = |a: &Matrix<u32>| {
                let found = algorithms::sssp(a, place)?;
                Ok((Found::Distances(Numbers::Whole(found)), None))
            };
            let choices = choices(&graph.numbering);
            let too_far = |v| {
                let v = numbering.label(v);
                Error::invalid(format!("{name}: the distance of vertex {v} doesn't fit 32 bits"))
            };
            let whole = |found: &mut Found, graph: &Csr<u32>| {
                let Found::Distances(Numbers::Whole(found)) = found else { return Ok(Ok(())) };
                beyond(graph, found).map_or_else(|| Ok(distances_hold(graph, vertex, found)), |v| Err(too_far(v)))
            };
            let together = |found: &Found, _: Option<&Found>, graph: &Matrix<u32>, grid: &Grid| {
                let Found::Distances(Numbers::Whole(found)) = found else { return Ok(None) };
                distances(graph, vertex, found, Some(&too_far), grid)
            };
            finish_together(run, out, Algorithm::Sssp, &choices, graph, find, whole, &together)
        }
        Weights::Real(graph) => {
            check_lengths(&graph)?;
            let graph = graph.renumbered(run)?;
            let vertex = graph.vertex("--source", source)?;
            let place = graph.place(vertex);
            let find = |a: &Matrix<f64>| {
                let found = algorithms::sssp(a, place)?;
                Ok((Found::Distances(Numbers::Double(found)), None))
            };
            let choices = choices(&graph.numbering);
            let whole = |found: &mut Found, graph: &Csr<f64>| match found {
                Found::Distances(Numbers::Double(found)) => Ok(distances_hold(graph, vertex, found)),
                _ => Ok(Ok(())),
            };
            let together = |found: &Found, _: Option<&Found>, graph: &Matrix<f64>, grid: &Grid| match found {
                // an infinite length counts as no path
                Found::Distances(Numbers::Double(found)) => distances(graph, vertex, found, None, grid),
                _ => Ok(None),
            };
            finish_together(run, out, Algorithm::Sssp, &choices, graph, find, whole, &together)
        }
    }
}

/// `vxm sssp --parents`.
pub fn shortest_tree(source: &str, range: Option<WeightRange>, seed: u64, run: &Run) -> Result<ExitCode> {
    let out = begin(run)?;
    let choices = |numbering: &Numbering| {
        let source = [("source", called(numbering, source))];
        source.into_iter().chain(drawn(range, seed)).collect::<Vec<_>>()
    };
    match weighted(run, range, seed, false)? {
        Weights::Integer(graph) => tree_of(run, out, &choices(&graph.numbering), graph, source, beyond),
        Weights::Real(graph) => {
            check_lengths(&graph)?;
            tree_of(run, out, &choices(&graph.numbering), graph, source, |_, _| None)
        }
    }
}

/// Finds a tree of shortest paths. `beyond` tells a vertex with a distance that doesn't fit the type.
fn tree_of<W: Distance + Weight>(
    run: &Run,
    out: Outputs,
    choices: &[(&'static str, Value)],
    graph: Subject<W>,
    source: &str,
    beyond: fn(&Csr<W>, &Vector<u32>) -> Option<u32>,
) -> Result<ExitCode> {
    let vertex = graph.vertex("--source", source)?;
    let (name, numbering) = (graph.name.clone(), graph.numbering.clone());
    let find = |a: &Matrix<W>| algorithms::sssp_parents(a, vertex).map(|tree| (Found::Tree(tree), None));
    finish(run, out, Algorithm::Tree, choices, graph, find, |found, graph| {
        let Found::Tree(found) = found else { return Ok(Ok(())) };
        if let Some(v) = beyond(graph, found) {
            let v = numbering.label(v);
            return Err(Error::invalid(format!("{name}: the distance of vertex {v} doesn't fit 32 bits")));
        }
        let (offsets, columns, weights) = (graph.offsets(), graph.columns(), graph.values());
        Ok(certify::shortest_parents(offsets, columns, weights, vertex as usize, &options(found)).map(drop))
    })
}

fn distances_hold<W: Element + Weight>(graph: &Csr<W>, source: u32, found: &Vector<W>) -> Verdict {
    let (offsets, columns, weights) = (graph.offsets(), graph.columns(), graph.values());
    certify::distances(offsets, columns, weights, source as usize, &options(found)).map(drop)
}

/// How many times a type's rounding error ranks may differ in all from those of the certificate.
const ROUNDING: f64 = 4096.0;

/// `vxm pagerank`.
pub fn pagerank(options: PageRankOptions, sources: &[String], precision: Precision, run: &Run) -> Result<ExitCode> {
    let (out, graph) = (begin(run)?, directed(run)?);
    let mut choices = vec![("precision", Value::from(precision.name())), ("damping", options.damping.into())];
    choices.push(("tolerance", options.tolerance.into()));
    let chosen: Vec<u32> = sources.iter().map(|v| graph.vertex("--sources", v)).collect::<Result<_>>()?;
    let mut options = options;
    if !chosen.is_empty() {
        options.sources = Some(Set::from_indices(graph.matrix.nrows(), chosen)?);
        choices.push(("sources", sources.iter().map(|v| called(&graph.numbering, v)).collect()));
    }
    match precision {
        Precision::F32 => {
            ranked::<f32>(run, out, graph, &options, &choices, Numbers::Single, ROUNDING * f64::from(f32::EPSILON))
        }
        Precision::F64 => ranked::<f64>(run, out, graph, &options, &choices, Numbers::Double, ROUNDING * f64::EPSILON),
    }
}

/// Runs PageRank with ranks of type `T`. Its certificate allows a difference of `allowed` in all.
fn ranked<T: Rank + Weight>(
    run: &Run,
    out: Outputs,
    graph: Subject,
    options: &PageRankOptions,
    choices: &[(&'static str, Value)],
    numbers: fn(Vector<T>) -> Numbers,
    allowed: f64,
) -> Result<ExitCode> {
    let sources: Vec<u32> = options.sources.as_ref().map_or(Vec::new(), |sources| sources.indices().collect());
    // the certificate computes as many rounds; of a tolerance, they are known only after the run
    let rounds = core::cell::Cell::new(0);
    let find = |a: &Matrix| {
        let PageRank { ranks, rounds: took, .. } = algorithms::pagerank::<T>(a, options)?;
        rounds.set(took);
        Ok((Found::Ranks(numbers(ranks)), Some(took)))
    };
    finish(run, out, Algorithm::PageRank(size_of::<T>()), choices, graph, find, |found, graph| {
        let Found::Ranks(ranks) = found else { return Ok(Ok(())) };
        let walk = Walk { damping: options.damping, rounds: rounds.get(), sources: &sources };
        let ranks: Vec<f64> = ranks.floats().into_iter().map(|(_, rank)| rank).collect();
        Ok(certify::ranks(graph.offsets(), graph.columns(), walk, &ranks, allowed).map(drop))
    })
}

/// The difference of a betweenness from the certificate's that rounding may explain, in terms of one more than its value.
const ROUNDED: f64 = 1e-9;

/// `vxm betweenness`.
pub fn betweenness(count: Option<u32>, seed: u64, run: &Run) -> Result<ExitCode> {
    let (out, graph) = (begin(run)?, simple(run)?);
    let n = graph.matrix.nrows() as u32;
    let chosen = count.filter(|&count| count < n);
    let sources = match chosen {
        None => (0..n).collect(),
        Some(count) => {
            let hash = hashes(n as usize, seed)?.to_dense(0);
            let mut all: Vec<u32> = (0..n).collect();
            all.sort_unstable_by_key(|&v| (hash[v as usize], v));
            all.truncate(count as usize);
            all.sort_unstable();
            all
        }
    };
    let choices = chosen.map_or(Vec::new(), |count| vec![("sources", count.into()), ("seed", seed.into())]);
    let find = |a: &Matrix| algorithms::betweenness(a, &sources).map(|found| (Found::Betweenness(found), None));
    finish(run, out, Algorithm::Betweenness, &choices, graph, find, |found, graph| {
        let Found::Betweenness(found) = found else { return Ok(Ok(())) };
        let (offsets, columns, answer) = (graph.offsets(), graph.columns(), found.to_dense(f64::NAN));
        Ok(certify::betweenness(offsets, columns, &sources, &answer, ROUNDED).map(drop))
    })
}

/// `vxm communities`.
pub fn communities(tolerance: f64, run: &Run) -> Result<ExitCode> {
    let (out, graph) = (begin(run)?, simple(run)?);
    let find = |a: &Matrix| {
        let found = algorithms::communities(a, tolerance)?;
        Ok((Found::Communities(found.labels, found.modularity), Some(found.rounds)))
    };
    finish(run, out, Algorithm::Communities, &[("tolerance", tolerance.into())], graph, find, checked)
}

/// `vxm labels`.
pub fn labels(rounds: u32, run: &Run) -> Result<ExitCode> {
    let (out, graph) = (begin(run)?, simple(run)?);
    let find = |a: &Matrix| {
        let found = algorithms::propagate_labels(a, rounds)?;
        Ok((Found::Labels(rounds, found.labels), Some(found.rounds)))
    };
    finish(run, out, Algorithm::Labels, &[], graph, find, checked)
}

/// `vxm scc`.
pub fn scc(run: &Run) -> Result<ExitCode> {
    let (out, graph) = (begin(run)?, directed(run)?);
    let find = |a: &Matrix| {
        let found = algorithms::strong_components(a)?;
        Ok((Found::Strong(found.labels), Some(found.rounds)))
    };
    finish(run, out, Algorithm::Scc, &[], graph, find, checked)
}

/// `vxm roots`.
pub fn roots(run: &Run) -> Result<ExitCode> {
    let (out, graph) = (begin(run)?, directed(run)?);
    let (name, numbering) = (graph.name.clone(), graph.numbering.clone());
    let refused = |vertex: u32, what: &str| {
        let expected = "expected a forest, at most one edge from each vertex, to its parent";
        Error::invalid(format!("{name}: vertex {} {what}: {expected}", numbering.label(vertex)))
    };
    let degrees = graph.matrix.degrees()?;
    if degrees.reduce(MAX)? > 1
        && let Some((v, degree)) = degrees.to_all()?.iter().find(|&(_, degree)| degree > 1)
    {
        return Err(refused(v, &format!("has {degree} out-edges")));
    }
    let find = |a: &Matrix| {
        let parent = algorithms::parents_of(a)?;
        match algorithms::roots(&parent) {
            Ok(found) => Ok((Found::Roots(found.roots), Some(found.rounds))),
            Err(error) => Err(algorithms::on_cycle(&parent)?.map_or(error, |v| refused(v, "lies on a cycle"))),
        }
    };
    finish(run, out, Algorithm::Roots, &[], graph, find, checked)
}

/// A spanning forest as an answer.
fn forest(a: &Matrix<u32>) -> Result<(Found, Option<u32>)> {
    let found = algorithms::spanning_forest(a)?;
    let edges = found.forest.iter().filter(|&(i, j, ())| i < j);
    let edges = edges.map(|(i, j, ())| u64::from(i) << 32 | u64::from(j)).collect();
    Ok((Found::Forest(Vector::from_dense(edges), None), Some(found.rounds)))
}

/// `vxm msf`.
pub fn msf(range: Option<WeightRange>, seed: u64, run: &Run) -> Result<ExitCode> {
    let (out, choices) = (begin(run)?, drawn(range, seed));
    match weighted(run, range, seed, true)? {
        Weights::Integer(graph) => {
            let graph = both_ways(graph)?;
            finish(run, out, Algorithm::Msf, &choices, graph, forest, |found, graph| Ok(found.check_weighted(graph)))
        }
        Weights::Real(graph) => {
            let (real, ordered) = ordered(both_ways(graph)?)?;
            finish(run, out, Algorithm::Msf, &choices, ordered, forest, |found, _| check_real(found, &real))
        }
    }
}

/// `vxm matching`.
pub fn matching(from_file: bool, range: Option<WeightRange>, seed: u64, run: &Run) -> Result<ExitCode> {
    let out = begin(run)?;
    let mut choices = range.map_or(Vec::new(), |range| vec![("weights", Value::from(range.to_string()))]);
    choices.push(("seed", seed.into()));
    if !from_file && range.is_none() {
        let find = |a: &Matrix| {
            let found = algorithms::maximal_matching(a, seed)?;
            Ok((Found::Mates(found.mate, None), Some(found.rounds)))
        };
        return finish(run, out, Algorithm::Matching, &choices, simple(run)?, find, checked);
    }
    let find = |a: &Matrix<u32>| {
        let found = algorithms::dominant_matching(a, seed)?;
        Ok((Found::Mates(found.mate, None), Some(found.rounds)))
    };
    match weighted(run, range, seed, true)? {
        Weights::Integer(graph) => {
            let graph = both_ways(graph)?;
            finish(run, out, Algorithm::Dominant, &choices, graph, find, |found, graph| Ok(found.check_weighted(graph)))
        }
        Weights::Real(graph) => {
            check_lengths(&graph)?;
            let (real, ordered) = ordered(both_ways(graph)?)?;
            finish(run, out, Algorithm::Dominant, &choices, ordered, find, |found, _| check_real(found, &real))
        }
    }
}

/// A graph with each edge in both directions. An edge in one direction counts for both, unless the other has another weight.
fn both_ways<T: Element>(mut graph: Subject<T>) -> Result<Subject<T>> {
    let (matrix, name) = (&graph.matrix, graph.name.clone());
    // of ranks it is known
    if matrix.to_weighted_graph().is_ok() {
        return Ok(graph);
    }
    // the transpose, and two matrices with all edges in both directions
    let needed = 5 * (4 + size_of::<T>() as u128) * u128::from(matrix.nnz());
    let fits =
        move |ranks: usize| memory::require(needed / ranks as u128, || format!("{name}: each edge in both directions"));
    job::agree(fits(matrix.grid().map_or(1, Grid::size)))?;
    let both = match matrix.try_to_undirected() {
        Ok(Ok(both)) => both,
        Ok(Err((i, j))) => {
            let (i, j) = (graph.numbering.label(i), graph.numbering.label(j));
            let expected = "expected the same weight, or one direction alone";
            return Err(Error::invalid(format!(
                "{}: the edges {i} -> {j} and {j} -> {i} differ: {expected}",
                graph.name
            )));
        }
        Err(error @ Error::Invalid { .. }) => return Err(Error::invalid(format!("{}: {error}", graph.name))),
        Err(error) => return Err(error),
    };
    let mut found = Report::default();
    found.one_way = Some(both.nnz() - matrix.nnz());
    note(&graph.name, &found);
    (graph.report.one_way, graph.report.symmetric) = (found.one_way, true);
    let again = graph.again.take();
    let name = graph.name.clone();
    let again = again.map(|again| -> Again<T> {
        Box::new(move |run| {
            let whole = again(run)?;
            fits(1)?;
            whole.try_to_undirected()?.map_err(|_| changed(&name))
        })
    });
    Ok(Subject { again, ..graph.with(both) })
}

/// The whole graph with its real weights: at once, or after ranks that have read parts of it have read it again.
type Real = Rc<OnceCell<Matrix<f64>>>;

/// The graph itself, and the same with the places of its weights in ascending order. What depends on the order of weights alone is the same
/// of both.
fn ordered(mut graph: Subject<f64>) -> Result<(Real, Subject<u32>)> {
    let (matrix, real) = (graph.matrix.value_places()?, Real::default());
    let again = match graph.again.take() {
        None => {
            real.get_or_init(|| graph.matrix.clone());
            None
        }
        Some(again) => {
            let kept = real.clone();
            let again: Again<u32> = Box::new(move |run| {
                let whole = again(run)?;
                kept.get_or_init(|| whole).value_places()
            });
            Some(again)
        }
    };
    Ok((real, Subject { again, ..graph.with(matrix) }))
}

/// Checks an answer with the real weights.
fn check_real(found: &mut Found, real: &Real) -> Result<Verdict> {
    let real = real.get().ok_or_else(|| Error::invalid("an answer without the graph that it is checked with"))?;
    Ok(found.check_weighted(real.csr()))
}

/// The least vertex without a distance that has an in-neighbour with one: its distance doesn't fit the type. `None` if there is none.
fn beyond(graph: &Csr<u32>, distances: &Vector<u32>) -> Option<u32> {
    let reached = options(distances);
    let without = |v: &u32| reached[*v as usize].is_none();
    distances.indices().filter_map(|v| graph.row(v as usize).0.iter().copied().filter(without).min()).min()
}
