//! `vxm mis --distance 2` and `vxm color --distance 2`.

use crate::command::answer::{begin, finish};
use crate::command::arguments::Run;
use crate::command::footprint::Algorithm;
use crate::command::found::Found;
use crate::command::subject::simple;
use crate::command::tasks::checked;
use std::process::ExitCode;
use vxm::algorithms::priority::{order_keys, priorities};
use vxm::algorithms::{Formulation, Method, Order, Priority, color_at_distance_2, mis_at_distance_2};
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

/// `vxm color --distance 2`.
pub fn color(method: Option<Method>, order: Order, seed: u64, run: &Run) -> Result<ExitCode> {
    if let Some(method) = method.filter(|&method| method != Method::Mis) {
        let what = format!("method `{}` is for distance 1: expected mis at distance 2", method.name());
        return Err(Error::invalid(what));
    }
    let choices = [("order", order.name().into()), ("distance", 2.into()), ("seed", seed.into())];
    let (out, graph) = (begin(run)?, simple(run)?);
    let find = |a: &Matrix| {
        let found = color_at_distance_2(a, &order_keys(a, order, seed)?)?;
        Ok((Found::DistantColors(found.colors, found.count), Some(found.rounds)))
    };
    finish(run, out, Algorithm::DistantColors, &choices, graph, find, checked)
}
