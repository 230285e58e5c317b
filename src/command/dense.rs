//! `vxm kcore`, `triangles`, `ktruss`, `clustering`, `clique` and `cover`: dense parts of a graph, and what covers its edges.

use crate::command::answer::begin;
use crate::command::arguments::Run;
use crate::command::finish::finish;
use crate::command::footprint::Algorithm;
use crate::command::found::Found;
use crate::command::subject::simple;
use crate::command::tasks::checked;
use std::process::ExitCode;
use vxm::Result;
use vxm::algorithms::priority::order_keys;
use vxm::algorithms::{self, MisOptions, Order, Priority};
use vxm::containers::{Matrix, Vector};

/// `vxm kcore`.
pub fn kcore(run: &Run) -> Result<ExitCode> {
    let (out, graph) = (begin(run)?, simple(run)?.renumbered(run)?);
    let find = |a: &Matrix| algorithms::core_numbers(a).map(|cores| (Found::Cores(cores), None));
    finish(run, out, Algorithm::Kcore, &[], graph, find, checked)
}

/// `vxm triangles`.
pub fn triangles(run: &Run) -> Result<ExitCode> {
    let (out, graph) = (begin(run)?, simple(run)?.renumbered(run)?);
    let find = |a: &Matrix| algorithms::triangles(a).map(|counts| (Found::Triangles(counts), None));
    finish(run, out, Algorithm::Triangles, &[], graph, find, checked)
}

/// `vxm ktruss`.
pub fn ktruss(k: u32, run: &Run) -> Result<ExitCode> {
    let (out, graph) = (begin(run)?, simple(run)?);
    let find = |a: &Matrix| {
        let truss = algorithms::ktruss(a, k)?;
        // of ranks, the first one tells the edges
        let support = truss.support.to_root()?;
        let edges = support.iter().flat_map(Matrix::iter).filter(|&(i, j, _)| i < j);
        let edges = edges.map(|(i, j, _)| u64::from(i) << 32 | u64::from(j)).collect();
        Ok((Found::Truss(k, Vector::from_dense(edges)), Some(truss.rounds)))
    };
    finish(run, out, Algorithm::Ktruss, &[("k", k.into())], graph, find, checked)
}

/// `vxm clustering`.
pub fn clustering(run: &Run) -> Result<ExitCode> {
    let (out, graph) = (begin(run)?, simple(run)?.renumbered(run)?);
    let find = |a: &Matrix| algorithms::clustering(a).map(|found| (Found::Clustering(found), None));
    finish(run, out, Algorithm::Clustering, &[], graph, find, checked)
}

/// `vxm clique`.
pub fn clique(order: Order, seed: u64, run: &Run) -> Result<ExitCode> {
    let choices = [("order", order.name().into()), ("seed", seed.into())];
    let (out, graph) = (begin(run)?, simple(run)?);
    let find = |a: &Matrix| {
        let found = algorithms::maximal_clique(a, &order_keys(a, order, seed)?)?;
        Ok((Found::Clique(found.members), None))
    };
    finish(run, out, Algorithm::Clique, &choices, graph, find, checked)
}

/// `vxm cover`.
pub fn cover(priority: Priority, seed: u64, run: &Run) -> Result<ExitCode> {
    let options = MisOptions::default().priority(priority).seed(seed);
    let choices = [("priority", priority.name().into()), ("seed", seed.into())];
    let (out, graph) = (begin(run)?, simple(run)?);
    let find = |a: &Matrix| {
        let found = algorithms::vertex_cover(a, &options)?;
        Ok((Found::Cover(found.set, found.mate), None))
    };
    finish(run, out, Algorithm::Cover(priority), &choices, graph, find, checked)
}
