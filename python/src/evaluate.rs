//! Terminals and loops over expressions.

use crate::algorithms::{How, Place};
use crate::errors::Class;
use crate::expressions::{Expr, Stored, Typed};
use crate::programs::{self, Monoid, Program};
use crate::runtime::run;
use crate::trees::{Any, Leaves, Trees, Word, expect, invalid, with_any};
use bumpalo::Bump;
use pyo3::prelude::*;
use std::sync::Arc;
use vxm::containers::Vector;
use vxm::operations::dyn_expr::DynExpr;
use vxm::prelude::{Verbs, fill, fixpoint};
use vxm::semiring::dynamic::DynUnary;
use vxm::{Error, Result};

impl How {
    /// Runs `work` on the expression's tree, with what it reads on the device.
    fn with_tree<R>(self, typed: &Typed, work: impl FnOnce(Any<'_>) -> Result<R>) -> Result<R> {
        let mut leaves = Leaves::default();
        leaves.bring(typed, self.device)?;
        let arena = Bump::new();
        self.device.scope(|| work(Trees::new(&arena, &leaves, None).tree(typed)?))
    }
}

/// The vector that an expression stands for.
#[pyfunction]
pub fn eval(py: Python<'_>, expression: &Expr, place: Place) -> PyResult<Expr> {
    let (how, typed) = (How::of(py, place)?, expression.0.clone());
    let kind = typed.kind;
    let found = run(py, how.threads, how.device, move || {
        how.with_tree(&typed, |tree| Ok(with_any!(tree, tree => Word::stored(Arc::new(tree.eval()?)))))
    })?;
    Ok(Expr::stored(found, kind))
}

/// All elements folded into one; the monoid's identity if there are none.
#[pyfunction]
pub fn reduce(py: Python<'_>, expression: &Expr, monoid: &Monoid, place: Place) -> PyResult<Py<PyAny>> {
    fn fold<T: Word>(tree: Any<'_>, monoid: &Monoid) -> Result<u64> {
        let tree = expect::<T>(tree)?;
        let folded = match monoid.exact {
            true => tree.reduce(monoid.of::<T, true>().map_err(invalid)?)?,
            false => tree.reduce(monoid.of::<T, false>().map_err(invalid)?)?,
        };
        Ok(folded.wide_bits() as u64)
    }
    let (how, typed, monoid) = (How::of(py, place)?, expression.0.clone(), *monoid);
    let bits = run(py, how.threads, how.device, move || {
        how.with_tree(&typed, |tree| match monoid.kind().size() {
            8 => fold::<u64>(tree, &monoid),
            _ => fold::<u32>(tree, &monoid),
        })
    })?;
    programs::value(py, monoid.kind(), bits)
}

/// How a loop goes on, and what it claims.
#[derive(Clone, Copy)]
struct Loop {
    how: How,
    /// The number of the loop's state.
    number: u64,
    /// The operator of a `while_active` loop.
    active: Option<vxm::semiring::dynamic::Program>,
    monotone: bool,
    at_most: Option<u32>,
    /// The operator that names the place into which an element is joined, and how.
    scattered: Option<Scattered>,
}

type Scattered = (vxm::semiring::dynamic::Program, Monoid);

/// An error of `scatter_reduce`, without a place in this file.
fn told(error: Error) -> Error {
    let text = error.to_string();
    text.find("scatter_reduce: ").map_or(error, |at| Error::invalid(&text[at..]))
}

impl Loop {
    /// Runs the loop from a state that is full.
    fn run<T: Word>(self, start: &Vector<T>, bodies: &[Arc<Typed>]) -> Result<(Vector<T>, u32)> {
        let mut leaves = Leaves::default();
        bodies.iter().try_for_each(|body| leaves.bring(body, self.how.device))?;
        let (arena, start) = (Bump::new(), start.to(self.how.device)?);
        // a trial, so that making the loop's bodies can't fail
        let any = fill(T::ZERO, start.len());
        let trial = Trees::new(&arena, &leaves, Some((self.number, Word::any(DynExpr::of(&any)))));
        bodies.iter().try_for_each(|body| trial.tree(body).and_then(expect::<T>).map(drop))?;
        let trees = |state| {
            let trees = Trees::new(&arena, &leaves, Some((self.number, Trees::state_of::<T>(&arena, state))));
            let found: Result<Vec<_>> = bodies.iter().map(|body| trees.tree(body).and_then(expect::<T>)).collect();
            found.expect("the trial succeeded")
        };
        let body = |state| trees(state)[0];
        let found = self.how.device.scope(|| match self.active {
            None => {
                let looped = fixpoint(start).while_changed();
                let looped = if self.monotone { looped.monotone() } else { looped };
                let looped = if let Some(rounds) = self.at_most { looped.at_most(rounds) } else { looped };
                let looped = looped.step(body);
                match self.scattered {
                    None => looped.eval(),
                    Some((root, monoid)) => {
                        let root = DynUnary::<T, u32>::new(root).map_err(invalid)?;
                        looped.scatter_reduce(root, monoid.of::<T, true>().map_err(invalid)?).eval().map_err(told)
                    }
                }
            }
            Some(active) => {
                let active = DynUnary::<T, bool>::new(active).map_err(invalid)?;
                let looped = fixpoint(start).while_active(active);
                let looped = if self.monotone { looped.monotone() } else { looped };
                let looped = if let Some(rounds) = self.at_most { looped.at_most(rounds) } else { looped };
                if bodies.len() > 1 { looped.steps(trees).eval() } else { looped.step(body).eval() }
            }
        })?;
        Ok((found.state, found.rounds))
    }
}

/// The state that a loop ends with, and the number of rounds.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the Python class `Loop` collects them")]
pub fn run_loop(
    py: Python<'_>,
    start: &Expr,
    number: u64,
    bodies: Vec<PyRef<'_, Expr>>,
    active: Option<&Program>,
    monotone: bool,
    at_most: Option<u32>,
    scattered: Option<(PyRef<'_, Program>, PyRef<'_, Monoid>)>,
    place: Place,
) -> PyResult<(Expr, u32)> {
    let how = How::of(py, place)?;
    let scattered = scattered.map(|(root, monoid)| (root.code, *monoid));
    let looped = Loop { how, number, active: active.map(|op| op.code), monotone, at_most, scattered };
    let start = start.vector()?.clone();
    let bodies: Vec<Arc<Typed>> = bodies.iter().map(|body| body.0.clone()).collect();
    let Some(kind) = bodies.first().map(|body| body.kind) else {
        return Err(Class::Input.error(py, "a loop without a body"));
    };
    let (found, rounds) = run(py, how.threads, how.device, move || {
        Ok(match &start {
            Stored::Set(_) => return Err(Error::invalid("a loop's state is a set: its elements have no value")),
            Stored::Narrow(start) => {
                let (state, rounds) = looped.run(start, &bodies)?;
                (Stored::Narrow(Arc::new(state)), rounds)
            }
            Stored::Wide(start) => {
                let (state, rounds) = looped.run(start, &bodies)?;
                (Stored::Wide(Arc::new(state)), rounds)
            }
        })
    })?;
    Ok((Expr::stored(found, kind), rounds))
}

/// The vector on a device.
#[pyfunction]
pub fn to_device(py: Python<'_>, vector: &Expr, place: Place) -> PyResult<Expr> {
    let (how, stored) = (How::of(py, place)?, vector.vector()?.clone());
    let kind = vector.0.kind;
    let moved = run(py, how.threads, how.device, move || stored.on(how.device))?;
    Ok(Expr::stored(moved, kind))
}
