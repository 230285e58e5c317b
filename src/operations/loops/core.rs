//! The parts that both kinds of loop share: the loop with its body, how it is run, and its result.

use crate::backend::Place;
use crate::backend::cpu::scatter_reduce::Scatter;
use crate::backend::cuda::Gpu;
use crate::backend::cuda::codegen::builder::{CppType, KernelBuilder};
use crate::backend::explain::{Explanation, explain};
use crate::backend::plan::{self, Schedule};
use crate::backend::spans::span;
use crate::containers::Vector;
use crate::error::{Error, Result};
use crate::operations::expr::{Env, Expr, StateRef, fits_as};
use crate::operations::terminal::device;
use crate::ranks::Grid;
use crate::stop;
use std::panic::Location;
use vxm_semiring::Element;

/// The default limit of rounds for a loop over `len` elements: `len`, but at least 65536.
pub(crate) fn rounds_for(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX).max(1 << 16)
}

/// Checks that a loop's state is full, and that its bodies have these `lengths`.
///
/// # Errors
/// A length isn't the state's, or the state lacks elements.
#[inline(never)]
pub(crate) fn ready<T: Element>(state: &Vector<T>, lengths: &[usize], at: &'static Location<'static>) -> Result<()> {
    let (held, n) = (state.nvals(), state.len());
    let named = |state, body| (format!("state of {state}"), format!("body of {body}"));
    lengths.iter().try_for_each(|&length| fits_as("fixpoint", (n, length), named, at))?;
    if held == n {
        return Ok(());
    }
    Err(Error::Invalid { what: format!("{at}: fixpoint: the state has {held} of {n} elements: expected all") })
}

/// Logs that a loop has ended: the choices that were logged since it began are its own.
pub(crate) fn log_end(at: &'static Location<'static>) {
    tracing::trace!(operation = "fixpoint", at = %at, "end");
}

/// A complete loop, with its condition and body; see [`fixpoint`](crate::operations::loops::fixpoint).
#[derive(Debug)]
#[must_use = "a loop does nothing until it is evaluated"]
pub struct Stepped<T: Element, C, E, B = E> {
    pub(crate) state: Vector<T>,
    pub(crate) condition: C,
    pub(crate) monotone: bool,
    pub(crate) state_ref: StateRef<T>,
    pub(crate) body: E,
    pub(crate) first: Option<B>,
    pub(crate) at: &'static Location<'static>,
}

/// A loop's condition: which elements are visited, when the loop ends, and how it is run on each device.
pub trait Condition<T: Element>: Sized {
    /// The error if the loop's settings don't fit together.
    fn refusal(&self, _monotone: bool) -> Option<Error> {
        None
    }

    /// Runs the loop on the CPU.
    ///
    /// # Errors
    /// As [`Stepped::eval`].
    fn on_threads<E: Expr<T = T>, B: Expr<T = T>>(
        stepped: Stepped<T, Self, E, B>,
        schedule: Schedule,
    ) -> Result<Fixed<T>>;

    /// Runs the loop in rounds on all ranks of a grid.
    ///
    /// # Errors
    /// As [`Stepped::eval`].
    fn on_ranks<E: Expr<T = T>, B: Expr<T = T>>(stepped: Stepped<T, Self, E, B>, grid: &Grid) -> Result<Fixed<T>>;

    /// Runs the loop on a GPU. Returns the settled state, what `then` makes of it, and the number of rounds.
    ///
    /// # Errors
    /// As [`Stepped::eval_then`].
    fn on_device<E: Expr<T = T>, B: Expr<T = T>, R>(
        stepped: Stepped<T, Self, E, B>,
        gpu: &Gpu,
        then: impl FnOnce(&Vector<T>) -> Result<R>,
    ) -> Result<(Vector<T>, R, u32)>;
}

/// The result of a loop.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Fixed<T: Element> {
    /// The settled state: no element is active, or a round changes none.
    pub state: Vector<T>,
    /// The number of rounds. It depends on the schedule, so it is not part of the answer.
    pub rounds: u32,
}

impl<T: Element, C: Condition<T>, E: Expr<T = T>, B: Expr<T = T>> Stepped<T, C, E, B> {
    /// Runs the loop. Beside one pass over the state, it takes O(rounds + the visited elements' work) time.
    ///
    /// On a GPU the loop is one kernel, unless the body holds a part that must be evaluated first. Then it runs
    /// operation by operation. On the CPU, threads share a list of the elements to visit.
    ///
    /// # Errors
    /// Shapes don't fit. The state isn't full. A round changes none of the active elements. Elements still change in
    /// the last round that is allowed. The device has too little memory, or is lost.
    #[inline(never)]
    pub fn eval(self) -> Result<Fixed<T>> {
        let (state, (), rounds) = self.run(|_| Ok(()))?;
        Ok(Fixed { state, rounds })
    }

    /// Runs the loop, and applies `then` to the settled state. On a GPU, `then`'s work is queued behind the loop, so
    /// the host waits once for both. Returns the result of `then`, and the number of rounds as in [`Fixed`].
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// // halve numbers until they are odd
    /// #[op]
    /// fn half(x: u32) -> u32 {
    ///     x / 2u32
    /// }
    /// #[op]
    /// fn even(x: u32) -> bool {
    ///     x % 2u32 == 0u32
    /// }
    /// let numbers = Vector::from_dense(vec![12u32, 7, 8]);
    /// let (most, _) = fixpoint(numbers).while_active(even).monotone().step(|x| x.map(half)).eval_then(|x| x.reduce(MAX))?;
    /// assert_eq!(most, 7);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`eval`](Self::eval), and what `then` returns. If the loop doesn't settle, the result of `then` is dropped.
    pub fn eval_then<R>(self, then: impl FnOnce(&Vector<T>) -> Result<R>) -> Result<(R, u32)> {
        let (_, made, rounds) = self.run(then)?;
        Ok((made, rounds))
    }

    /// Runs the loop, and tells how: its schedule, the choices within its body with their reasons, and what was measured. The result is
    /// dropped; [`explain`](crate::backend::explain::explain()) keeps it.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::undirected(4, &[(0, 1), (1, 2), (2, 3)])?;
    /// let labels = fixpoint(Vector::from_dense(vec![0u32, 1, 2, 3]))
    ///     .while_changed()
    ///     .monotone()
    ///     .step(|label| label.ewise_add(label.vxm(&a, MIN_FIRST), MIN));
    /// let plan = labels.explain()?.to_string();
    /// assert!(plan.contains("schedule "), "{plan}");
    /// assert!(plan.contains("measured on cpu"), "{plan}");
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`eval`](Self::eval).
    pub fn explain(self) -> Result<Explanation> {
        let (made, explanation) = explain(|| self.eval());
        made.map(|_| explanation)
    }

    /// Runs the loop. Returns the settled state, what `then` makes of it, and the number of rounds.
    fn run<R>(self, then: impl FnOnce(&Vector<T>) -> Result<R>) -> Result<(Vector<T>, R, u32)> {
        let _span = span!("fixpoint", at = %self.at);
        stop::check()?;
        let env = Env::with_state(self.state_ref, &self.state);
        let first = self.first.as_ref().map(|first| first.len(&env)).transpose()?;
        ready(&self.state, &[self.body.len(&env)?, first.unwrap_or(self.state.len())], self.at)?;
        if let Some(error) = self.condition.refusal(self.monotone) {
            return Err(error);
        }
        match self.state.place().or_else(|| device(&self.body, &env)) {
            Some(Place::Gpu(gpu)) => {
                let at = self.at;
                let done = C::on_device(self, &gpu, then);
                log_end(at);
                return done;
            }
            Some(Place::Ranks(grid)) => {
                tracing::debug!(operation = "fixpoint", ranks = grid.size(), at = %self.at, "plan");
                let Fixed { state, rounds } = C::on_ranks(self, &grid)?;
                let made = then(&state)?;
                return Ok((state, made, rounds));
            }
            None => {}
        }
        let (schedule, why) = plan::schedule(self.monotone, plan::forced());
        tracing::debug!(operation = "fixpoint", ?schedule, why, fused = "body and work list in one loop", at = %self.at, "plan");
        let at = self.at;
        let Fixed { state, rounds } = C::on_threads(self, schedule)?;
        log_end(at);
        let made = then(&state)?;
        Ok((state, made, rounds))
    }
}

/// How elements are scattered into others, if they are, on every path that runs a loop.
pub trait Scattering<T: Element>: Scatter<T> {
    /// The error if a loop can't have this scatter.
    fn refusal(self, monotone: bool) -> Option<Error>;

    /// Emits the scatter as a C++ type.
    fn emit(self, kernel: &mut KernelBuilder) -> CppType;

    /// The state after a round, for a loop that runs operation by operation. The round began with `before`, and the
    /// body has made `state` of it.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    fn scatter_round(self, before: &Vector<T>, state: Vector<T>) -> Result<Vector<T>>;
}
