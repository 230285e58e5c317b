//! `vxm mis --distance 2` and `vxm aggregates`.

use crate::command::answer::begin;
use crate::command::arguments::Run;
use crate::command::finish::finish;
use crate::command::footprint::Algorithm;
use crate::command::found::Found;
use crate::command::subject::simple;
use crate::command::tasks::checked;
use std::process::ExitCode;
use vxm::algorithms::priority::priorities;
use vxm::algorithms::{self, Formulation, Priority, mis_at_distance_2};
use vxm::containers::Matrix;
use vxm::{Error, Result};

/// `vxm mis --distance 2`.
pub fn mis(
    priority: Option<Priority>,
    formulation: Option<Formulation>,
    best_of: Option<u32>,
    seed: u64,
    run: &Run,
) -> Result<ExitCode> {
    if best_of.is_some() {
        return Err(Error::invalid("--best-of: for distance 1: expected none at distance 2"));
    }
    let priority = priority.unwrap_or(Priority::Sorted);
    if priority == Priority::Resolve {
        let what = "priority `resolve` is for distance 1: expected random, degree, sorted or sorted-id";
        return Err(Error::invalid(what));
    }
    if let Some(formulation) = formulation {
        let what = format!("formulation `{}` is for distance 1: expected none at distance 2", formulation.name());
        return Err(Error::invalid(what));
    }
    let choices = [("priority", priority.name().into()), ("distance", 2.into()), ("seed", seed.into())];
    let (out, graph) = (begin(run)?, simple(run)?);
    let find = |a: &Matrix| {
        let found = mis_at_distance_2(a, &priorities(a, priority, seed)?)?;
        Ok((Found::DistantSet(found.set), Some(found.rounds)))
    };
    finish(run, out, Algorithm::DistantSet, &choices, graph, find, checked)
}

/// `vxm aggregates`.
pub fn aggregates(priority: Priority, seed: u64, run: &Run) -> Result<ExitCode> {
    if priority == Priority::Resolve {
        return Err(Error::invalid("priority `resolve` gives no order: expected random, degree, sorted or sorted-id"));
    }
    let choices = [("priority", priority.name().into()), ("seed", seed.into())];
    let (out, graph) = (begin(run)?, simple(run)?);
    let find = |a: &Matrix| {
        let found = algorithms::aggregates(a, &priorities(a, priority, seed)?)?;
        Ok((Found::Aggregates(found.aggregate, found.roots), Some(found.rounds)))
    };
    finish(run, out, Algorithm::Aggregates, &choices, graph, find, checked)
}
