//! The loop: an expression of a state, evaluated again wherever the state may still change, until it may nowhere.

use super::active::WhileActive;
use super::changed::WhileChanged;
use super::expr::{Env, Expr, Key, fits_as};
use super::terminal::device;
use crate::backend::cuda::Gpu;
use crate::backend::plan::{self, Schedule};
use crate::containers::Vector;
use crate::error::{Error, Result};
use std::panic::Location;
use vxm_semiring::{BinaryOp, Element, KernelText, Source, UnaryOp};

/// Whether two elements' bits differ.
#[derive(Debug, Clone, Copy)]
pub(super) struct Differ;

impl Source for Differ {
    fn source(self, text: &mut KernelText) -> String {
        text.define_hashed("differ", |name| {
            format!(
                "template <class T> VXM_FN bool {name}(T a, T b) {{\n    unsigned long long x = 0, y = 0;\n    \
                 memcpy(&x, &a, sizeof(T));\n    memcpy(&y, &b, sizeof(T));\n    return x != y;\n}}"
            )
        })
    }
    fn constants(self, _: &mut Vec<u64>) -> bool {
        true
    }
}

impl<T: Element> BinaryOp<T, T> for Differ {
    type Out = bool;
    fn call(self, a: T, b: T) -> bool {
        a.bits() != b.bits()
    }
}

/// How many rounds a loop over `len` elements may take where nothing else is said: as many as there are elements, and enough for fewer.
pub(super) fn rounds_for(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX).max(1 << 16)
}

/// A loop over `state`, a full vector: see [`Fixpoint::while_active`].
///
/// ```
/// use vxm::prelude::*;
///
/// const IN: u32 = u32::MAX;
/// const OUT: u32 = 0;
///
/// #[op]
/// fn decide(own: u32, best: u32) -> u32 {
///     if best == IN { OUT } else if own > best { IN } else { own }
/// }
/// #[op]
/// fn undecided(key: u32) -> bool {
///     key != IN && key != OUT
/// }
///
/// // a path, and a priority for each vertex: who is above all neighbours joins, who is next to one that joined leaves
/// let a = Matrix::undirected(4, &[(0, 1), (1, 2), (2, 3)])?;
/// let key = Vector::from_dense(vec![5u32, 9, 7, 2]);
/// // key<undecided> = decide(key, key max.first A), until all are decided
/// let settled = fixpoint(key)
///     .while_active(undecided)
///     .monotone()
///     .step(|key| decide.map2(key, key.vxm(&a, MAX_FIRST).or_identity()))
///     .eval()?;
/// assert_eq!(settled.state, Vector::from_dense(vec![OUT, IN, OUT, IN]));
/// # Ok::<(), vxm::Error>(())
/// ```
pub fn fixpoint<T: Element>(state: Vector<T>) -> Fixpoint<T> {
    Fixpoint { state }
}

/// A loop without its condition; see [`fixpoint`].
#[derive(Debug)]
#[must_use = "a loop does nothing until it is evaluated"]
pub struct Fixpoint<T: Element> {
    state: Vector<T>,
}

impl<T: Element> Fixpoint<T> {
    /// Visits an element for as long as `active` holds of it; the loop ends once it holds of none.
    pub fn while_active<F: UnaryOp<T, Out = bool>>(self, active: F) -> WhileActive<T, F> {
        WhileActive::new(self.state, active)
    }

    /// Makes all elements what the body says again and again, until a round changes none.
    ///
    /// The first round visits all elements, each later one those alone of which something that they read has changed: a product's
    /// elements are found by the matrix' entries, and where an operand is a product itself, or is read at places that it computes, all are
    /// visited. Elements differ where their bits do.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// // a path, and the least number that is connected to each vertex
    /// let a = Matrix::undirected(4, &[(0, 1), (1, 2)])?;
    /// // label = label min (label min.first A), until none changes
    /// let labels = fixpoint(Vector::from_dense(vec![0u32, 1, 2, 3]))
    ///     .while_changed()
    ///     .monotone()
    ///     .step(|label| label.ewise_add(label.vxm(&a, MIN_FIRST), MIN))
    ///     .eval()?;
    /// assert_eq!(labels.state, Vector::from_dense(vec![0, 0, 0, 3]));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    pub fn while_changed(self) -> WhileChanged<T> {
        WhileChanged::new(self.state)
    }
}

/// A whole loop; see [`fixpoint`].
#[derive(Debug)]
#[must_use = "a loop does nothing until it is evaluated"]
pub struct Stepped<T: Element, C, E, B = E> {
    pub(super) state: Vector<T>,
    pub(super) condition: C,
    pub(super) monotone: bool,
    pub(super) key: Key<T>,
    pub(super) body: E,
    pub(super) first: Option<B>,
    pub(super) at: &'static Location<'static>,
}

/// Which elements a loop visits, and when it ends: how such loops are run.
pub trait Condition<T: Element>: Sized {
    /// Why it can't run, if it can't.
    fn refusal(&self, _monotone: bool) -> Option<Error> {
        None
    }

    /// On the CPU.
    ///
    /// # Errors
    /// As [`Stepped::eval`].
    fn on_threads<E: Expr<T = T>, B: Expr<T = T>>(
        whole: Stepped<T, Self, E, B>,
        schedule: Schedule,
    ) -> Result<Fixed<T>>;

    /// On a device: the settled state, what `then` makes of it, and the rounds.
    ///
    /// # Errors
    /// As [`Stepped::eval_then`].
    fn on_device<E: Expr<T = T>, B: Expr<T = T>, R>(
        whole: Stepped<T, Self, E, B>,
        gpu: &Gpu,
        then: impl FnOnce(&Vector<T>) -> Result<R>,
    ) -> Result<(Vector<T>, R, u32)>;
}

/// What a loop came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Fixed<T: Element> {
    /// The state in which no element is active, or which a round doesn't change.
    pub state: Vector<T>,
    /// The rounds it took; not part of the answer, since it depends on the schedule.
    pub rounds: u32,
}

impl<T: Element, C: Condition<T>, E: Expr<T = T>, B: Expr<T = T>> Stepped<T, C, E, B> {
    /// Runs the loop. O(rounds + the visited elements' work) time beside one pass over the state.
    ///
    /// On a device it is one kernel, unless the body holds what must be evaluated first; on the CPU threads share a list of the elements
    /// to visit.
    ///
    /// # Errors
    /// Shapes don't fit; the state isn't full; elements are active, and a round changes none; elements change still after as many rounds
    /// as there may be.
    pub fn eval(self) -> Result<Fixed<T>> {
        let (state, (), rounds) = self.run(|_| Ok(()))?;
        Ok(Fixed { state, rounds })
    }

    /// Runs the loop, and makes something of the settled state: on a device that is queued behind the loop, so that nobody waits in
    /// between. With what was made, the number of rounds, as of [`Fixed`].
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// // halves numbers until they are odd
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
    /// As [`eval`](Self::eval), and what `then` returns. Where the loop doesn't end, what was made is dropped.
    pub fn eval_then<R>(self, then: impl FnOnce(&Vector<T>) -> Result<R>) -> Result<(R, u32)> {
        let (_, made, rounds) = self.run(then)?;
        Ok((made, rounds))
    }

    /// The settled state, what `then` makes of it, and the rounds.
    fn run<R>(self, then: impl FnOnce(&Vector<T>) -> Result<R>) -> Result<(Vector<T>, R, u32)> {
        let env = Env::with_state(self.key, &self.state);
        let named = |state, body| (format!("state of {state}"), format!("body of {body}"));
        fits_as("fixpoint", (self.state.len(), self.body.len(&env)?), named, self.at)?;
        if let Some(first) = &self.first {
            fits_as("first", (self.state.len(), first.len(&env)?), named, self.at)?;
        }
        if let Some(error) = self.condition.refusal(self.monotone) {
            return Err(error);
        }
        if self.state.nvals() != self.state.len() {
            let (held, n, at) = (self.state.nvals(), self.state.len(), self.at);
            return Err(Error::Invalid {
                what: format!("{at}: fixpoint: a state of {n} places with {held} elements: expected one at each"),
            });
        }
        if let Some(gpu) = self.state.gpu().cloned().or_else(|| device(&self.body, &env)) {
            return C::on_device(self, &gpu, then);
        }
        let (schedule, why) = plan::schedule(self.monotone, plan::forced());
        tracing::debug!(operation = "fixpoint", ?schedule, why, fused = "body and work list: one loop", at = %self.at, "plan");
        let Fixed { state, rounds } = C::on_threads(self, schedule)?;
        let made = then(&state)?;
        Ok((state, made, rounds))
    }
}
