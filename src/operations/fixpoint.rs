//! The loop: an expression of a state, evaluated again wherever the state may still change, until it may nowhere.

use super::expr::{Env, Expr, Key, fits};
use super::terminal::{device, emitted};
use super::verbs::Verbs;
use crate::backend::cpu::fixpoint::{Loop, Outcome};
use crate::backend::cuda::compose::Composer;
use crate::backend::cuda::fixpoint::refusal;
use crate::backend::cuda::run::Merging;
use crate::backend::cuda::{self, Gpu};
use crate::backend::plan::{self, Schedule};
use crate::backend::view::At;
use crate::containers::Vector;
use crate::error::{Error, Result};
use crate::formats::Shared;
use std::cell::Cell;
use std::panic::Location;
use vxm_semiring::{BinaryOp, Element, KernelText, LOR, SECOND, Source, UnaryOp};

/// Whether two elements' bits differ.
#[derive(Debug, Clone, Copy)]
struct Differ;

impl Source for Differ {
    fn source(self, text: &mut KernelText) -> String {
        text.define_hashed("differ", |name| {
            format!(
                "template <class T> VXM_FN bool {name}(T a, T b) {{\n    unsigned long long x = 0, y = 0;\n    \
                 memcpy(&x, &a, sizeof(T));\n    memcpy(&y, &b, sizeof(T));\n    return x != y;\n}}"
            )
        })
    }
}

impl<T: Element> BinaryOp<T, T> for Differ {
    type Out = bool;
    fn call(self, a: T, b: T) -> bool {
        a.bits() != b.bits()
    }
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
        WhileActive { state: self.state, active, monotone: false }
    }
}

/// A loop with its condition and without its body; see [`fixpoint`].
#[derive(Debug)]
#[must_use = "a loop does nothing until it is evaluated"]
pub struct WhileActive<T: Element, F> {
    state: Vector<T>,
    active: F,
    monotone: bool,
}

impl<T: Element, F: UnaryOp<T, Out = bool>> WhileActive<T, F> {
    /// States that every fair schedule reaches the same state, though elements be visited in any order and read others' elements
    /// as they were a while ago (chaotic iteration): knowing more never unmakes a decision.
    ///
    /// It lets the engine visit elements without waiting for each other. Whether it is true is yours to know; a schedule of
    /// [`Stale`](plan::Schedule::Stale) rounds tests it. The number of rounds may differ from schedule to schedule.
    pub fn monotone(self) -> Self {
        Self { monotone: true, ..self }
    }

    /// The body: what becomes of the active elements, given a placeholder for the state. Where it holds no element, or its mask
    /// leaves a place out, the state stays as it is.
    ///
    /// In a `monotone` loop the entries that take part in a product [`among`](super::product::Product::among) some may be chosen once,
    /// over the state at the beginning, or anew at every visit: the loop must reach the same state either way.
    #[track_caller]
    pub fn step<E: Expr<T = T>>(self, body: impl FnOnce(Key<T>) -> E) -> Stepped<T, F, E> {
        let key = Key::new();
        Stepped {
            state: self.state,
            active: self.active,
            monotone: self.monotone,
            key,
            body: body(key),
            first: None,
            at: Location::caller(),
        }
    }
}

impl<T: Element, F: UnaryOp<T, Out = bool>, E: Expr<T = T>> Stepped<T, F, E> {
    /// A cheaper body that will do for the first round, where all elements are visited: cuMIS' early exit (section 3.3) holds as long as
    /// no vertex is in the set. The engine may use it or not: the loop must reach the same state either way.
    pub fn first<B: Expr<T = T>>(self, body: impl FnOnce(Key<T>) -> B) -> Stepped<T, F, E, B> {
        let Self { state, active, monotone, key, body: step, at, .. } = self;
        Stepped { state, active, monotone, key, body: step, first: Some(body(key)), at }
    }
}

/// A whole loop; see [`fixpoint`].
#[derive(Debug)]
#[must_use = "a loop does nothing until it is evaluated"]
pub struct Stepped<T: Element, F, E, B = E> {
    state: Vector<T>,
    active: F,
    monotone: bool,
    key: Key<T>,
    body: E,
    first: Option<B>,
    at: &'static Location<'static>,
}

/// What a loop came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Fixed<T: Element> {
    /// The state in which no element is active.
    pub state: Vector<T>,
    /// The rounds it took; not part of the answer, since it depends on the schedule.
    pub rounds: u32,
}

impl<T: Element, F: UnaryOp<T, Out = bool>, E: Expr<T = T>, B: Expr<T = T>> Stepped<T, F, E, B> {
    /// Runs the loop. O(rounds + the active elements' work) time beside one pass over the state.
    ///
    /// On a device it is one kernel, unless the body holds what must be evaluated first; on the CPU threads share a list of the active
    /// elements.
    ///
    /// # Errors
    /// Shapes don't fit; the state isn't full; elements are active, and a round changes none.
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
        fits("fixpoint", self.state.len(), self.body.len(&env)?, self.at)?;
        if let Some(first) = &self.first {
            fits("first", self.state.len(), first.len(&env)?, self.at)?;
        }
        if self.state.nvals() != self.state.len() {
            let (held, n, at) = (self.state.nvals(), self.state.len(), self.at);
            return Err(Error::Invalid {
                what: format!("{at}: fixpoint: a state of {n} places with {held} elements: expected one at each"),
            });
        }
        if let Some(gpu) = self.state.gpu().cloned().or_else(|| device(&self.body, &env)) {
            return self.on_device(&gpu, then);
        }
        let (schedule, why) = plan::schedule(self.monotone, plan::forced());
        tracing::debug!(operation = "fixpoint", ?schedule, why, fused = "body and work list: one loop", at = %self.at, "plan");
        let Fixed { state, rounds } = match schedule {
            Schedule::Stale(seed) => self.stale(seed),
            _ => self.on_threads(schedule),
        }?;
        let made = then(&state)?;
        Ok((state, made, rounds))
    }

    fn no_progress(left: usize, rounds: u32, at: &'static Location<'static>) -> Error {
        Error::NoProgress { left: format!("{left} active elements"), rounds, at }
    }

    /// On the CPU.
    fn on_threads(self, schedule: Schedule) -> Result<Fixed<T>> {
        let Self { state, active, monotone, key, body, first, at } = self;
        let (state, snapshot) = (Shared::new(state.into_full()), Cell::new(false));
        let Outcome { rounds, left } = {
            let is_active = |i| active.call(state.get(i));
            let env = Env::with_shared(key, &state, &snapshot);
            let env = if monotone { env.choosing(&is_active) } else { env };
            let first = first.as_ref().map(|first| first.view(&env)).transpose()?;
            snapshot.set(false);
            let body = || Ok((body.view(&env)?, !snapshot.get()));
            let visited = Loop { state: &state, active };
            match schedule {
                Schedule::Rounds => visited.rounds(first, body),
                _ => visited.in_place(first, body),
            }?
        };
        match left {
            0 => Ok(Fixed { state: Vector::from_dense(state.into_values()), rounds }),
            left => Err(Self::no_progress(left, rounds, at)),
        }
    }

    /// On the CPU, to test a claim: a random half of the active elements is visited a round, reading others' states as they were up to
    /// three rounds ago.
    fn stale(self, seed: u64) -> Result<Fixed<T>> {
        let Self { state, active, key, body, at, .. } = self;
        let mut state = state.into_full();
        let mut draw = seed;
        let mut random = move || {
            draw = draw.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            draw >> 33
        };
        let (mut rounds, mut still) = (0, 0);
        let mut list: Vec<usize> = (0..state.len()).filter(|&i| active.call(state[i])).collect();
        let mut past = vec![state.clone()];
        while !list.is_empty() {
            rounds += 1;
            let now: Vec<usize> = list.iter().copied().filter(|_| random() % 2 == 0).collect();
            // an element knows its own state: only others' are old
            let mut seen = past[random() as usize % past.len()].clone();
            now.iter().for_each(|&i| seen[i] = state[i]);
            let seen = Vector::from_dense(seen);
            let env = Env::with_state(key, &seen);
            let view = body.view(&env)?;
            still += 1;
            for i in now {
                let new = (if view.selects(i) { view.at(i) } else { None }).unwrap_or(state[i]);
                if new.bits() != state[i].bits() {
                    (state[i], still) = (new, 0);
                }
            }
            list.retain(|&i| active.call(state[i]));
            if still == 64 {
                return Err(Self::no_progress(list.len(), rounds, at));
            }
            past.insert(0, state.clone());
            past.truncate(3);
        }
        Ok(Fixed { state: Vector::from_dense(state), rounds })
    }

    /// On a device: one kernel if the whole body can be, or else an operation at a time.
    fn on_device<R>(mut self, gpu: &Gpu, then: impl FnOnce(&Vector<T>) -> Result<R>) -> Result<(Vector<T>, R, u32)> {
        // the kernel's parameters hold the state's address: it must be this vector's own
        self.state.on_mut(gpu)?.own_values()?;
        let (kernel, node) = {
            let env = Env::with_state(self.key, &self.state);
            let env = if self.monotone { env.choosing(&|_| true) } else { env };
            let mut kernel = Composer::resident(gpu);
            let node = self.body.emit(&env, &mut kernel)?;
            (kernel, node)
        };
        if let Some(why) = refusal::<T>(&kernel) {
            tracing::debug!(operation = "fixpoint", fused = "no", why, at = %self.at, "plan");
            let Fixed { state, rounds } = self.by_operations(gpu)?;
            let made = then(&state)?;
            return Ok((state, made, rounds));
        }
        let state = self.state.on_mut(gpu)?;
        let launched = cuda::fixpoint::fixpoint(kernel, &node, self.active, self.monotone, state)?;
        let made = then(&self.state);
        let cuda::fixpoint::Outcome { rounds, stuck } = launched.outcome()?;
        if stuck {
            let left = self.state.select(self.active).pattern().eval()?.nvals();
            return Err(Self::no_progress(left, rounds, self.at));
        }
        Ok((self.state, made?, rounds))
    }

    fn by_operations(mut self, gpu: &Gpu) -> Result<Fixed<T>> {
        // active = those that are
        let (mut active, mut rounds) = (self.state.select(self.active).pattern().eval()?, 0);
        while active.nvals() > 0 {
            rounds += 1;
            let before = self.state.clone();
            {
                // state<active> = body(state), where it holds an element
                let env = Env::with_state(self.key, &before);
                let masked = self.body.mask(&active);
                let (mut kernel, node) = emitted(&masked, &env, gpu)?;
                let merging = Merging::Accumulate(kernel.functor(SECOND));
                cuda::run::write(kernel, &node, &merging, self.state.on_mut(gpu)?)?;
            }
            if !before.ewise_mult(&self.state, Differ).reduce(LOR)? {
                return Err(Self::no_progress(active.nvals(), rounds, self.at));
            }
            active = self.state.mask(&active).select(self.active).pattern().eval()?;
        }
        Ok(Fixed { state: self.state, rounds })
    }
}
