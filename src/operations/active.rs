//! Loops over what is active: an element is visited for as long as something holds of it.

use super::expr::{Env, Expr, Key};
use super::fixpoint::{Condition, Differ, Fixed, Stepped, rounds_for};
use super::terminal::emitted;
use super::verbs::Verbs;
use crate::backend::cpu::fixpoint::{Loop, Outcome, Reading};
use crate::backend::cuda::compose::Composer;
use crate::backend::cuda::fixpoint::refusal;
use crate::backend::cuda::run::Merging;
use crate::backend::cuda::{self, Gpu};
use crate::backend::plan::Schedule;
use crate::backend::view::At;
use crate::containers::Vector;
use crate::error::{Error, Result};
use crate::formats::Shared;
use std::cell::Cell;
use std::panic::Location;
use vxm_semiring::{Element, LOR, SECOND, UnaryOp};

/// Visits elements for as long as an operator holds of them.
#[derive(Debug, Clone, Copy)]
pub struct Active<F> {
    active: F,
    /// How many rounds may change something.
    most: u32,
}

/// A loop with its condition and without its body; see [`while_active`](super::fixpoint::Fixpoint::while_active).
#[derive(Debug)]
#[must_use = "a loop does nothing until it is evaluated"]
pub struct WhileActive<T: Element, F> {
    state: Vector<T>,
    active: F,
    monotone: bool,
    most: u32,
}

impl<T: Element, F: UnaryOp<T, Out = bool>> WhileActive<T, F> {
    pub(super) fn new(state: Vector<T>, active: F) -> Self {
        let most = rounds_for(state.len());
        Self { state, active, monotone: false, most }
    }

    /// Makes it an error if elements change still after so many rounds. By default there may be as many as there are elements, and
    /// 65536 at least. Where nobody waits for others the rounds of each thread count that change something.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let flip = fixpoint(Vector::from_dense(vec![0u32, 5])).while_active(LT.bind(9)).at_most(10).step(|x| x.map(MINUS.bind_first(5)));
    /// let error = flip.eval().unwrap_err().to_string();
    /// assert!(error.ends_with("fixpoint: round 10 still changed some of 2 elements: expected the state to settle by then"), "{error}");
    /// # Ok::<(), vxm::Error>(())
    /// ```
    pub fn at_most(self, rounds: u32) -> Self {
        Self { most: rounds, ..self }
    }

    /// States that every fair schedule reaches the same state, though elements be visited in any order and read others' elements
    /// as they were a while ago (chaotic iteration): knowing more never unmakes a decision.
    ///
    /// It lets the engine visit elements without waiting for each other. Whether it is true is yours to know; a schedule of
    /// [`Stale`](crate::backend::plan::Schedule::Stale) rounds tests it. The number of rounds may differ from schedule to schedule.
    pub fn monotone(self) -> Self {
        Self { monotone: true, ..self }
    }

    /// The body: what becomes of the active elements, given a placeholder for the state. Where it holds no element, or its mask
    /// leaves a place out, the state stays as it is.
    ///
    /// In a `monotone` loop the entries that take part in a product [`among`](super::product::Product::among) some may be chosen once,
    /// over the state at the beginning, or anew at every visit, and one that takes part no longer may be left out for good: the loop must
    /// reach the same state either way. So may one be left out of which all is [told](super::product::Product::once).
    #[track_caller]
    pub fn step<E: Expr<T = T>>(self, body: impl FnOnce(Key<T>) -> E) -> Stepped<T, Active<F>, E> {
        let key = Key::new();
        Stepped {
            state: self.state,
            condition: Active { active: self.active, most: self.most },
            monotone: self.monotone,
            key,
            body: body(key),
            first: None,
            at: Location::caller(),
        }
    }
}

impl<T: Element, F: UnaryOp<T, Out = bool>, E: Expr<T = T>> Stepped<T, Active<F>, E> {
    /// A cheaper body that will do for the first round, where all elements are visited: cuMIS' early exit (section 3.3) holds as long as
    /// no vertex is in the set. The engine may use it or not: the loop must reach the same state either way.
    pub fn first<B: Expr<T = T>>(self, body: impl FnOnce(Key<T>) -> B) -> Stepped<T, Active<F>, E, B> {
        let Self { state, condition, monotone, key, body: step, at, .. } = self;
        Stepped { state, condition, monotone, key, body: step, first: Some(body(key)), at }
    }
}

impl<T: Element, F: UnaryOp<T, Out = bool>> Condition<T> for Active<F> {
    fn on_threads<E: Expr<T = T>, B: Expr<T = T>>(
        whole: Stepped<T, Self, E, B>,
        schedule: Schedule,
    ) -> Result<Fixed<T>> {
        match schedule {
            Schedule::Stale(seed) => whole.stale(seed),
            _ => whole.visited(schedule),
        }
    }

    /// On a device: one kernel if the whole body can be, or else an operation at a time.
    fn on_device<E: Expr<T = T>, B: Expr<T = T>, R>(
        mut whole: Stepped<T, Self, E, B>,
        gpu: &Gpu,
        then: impl FnOnce(&Vector<T>) -> Result<R>,
    ) -> Result<(Vector<T>, R, u32)> {
        // the kernel's parameters hold the state's address: it must be this vector's own
        let before = whole.state.on_mut(gpu)?.renew()?;
        let (kernel, node, start) = {
            let env = Env::with_state(whole.key, &whole.state);
            let env = if whole.monotone { env.choosing(&|_| true) } else { env };
            let mut kernel = Composer::resident(gpu);
            let node = whole.body.emit(&env, &mut kernel)?;
            let start = match whole.first.as_ref().filter(|_| whole.monotone && kernel.starts()) {
                Some(first) => Some(kernel.beside(|kernel| first.emit(&env, kernel))?),
                None => None,
            };
            (kernel, node, start)
        };
        if let Some(why) = refusal::<T>(&kernel) {
            tracing::debug!(operation = "fixpoint", fused = "no", why, at = %whole.at, "plan");
            if let Some(before) = before {
                whole.state.on_mut(gpu)?.restore(before);
            }
            let Fixed { state, rounds } = whole.by_operations(gpu)?;
            let made = then(&state)?;
            return Ok((state, made, rounds));
        }
        let state = whole.state.on_mut(gpu)?;
        let launched = cuda::fixpoint::fixpoint(
            kernel,
            (&node, start.as_ref()),
            whole.condition.active,
            whole.monotone,
            whole.condition.most,
            state,
            before,
        )?;
        let made = then(&whole.state);
        let cuda::fixpoint::Outcome { rounds, stuck, endless } = launched.outcome()?;
        if stuck {
            let left = whole.state.select(whole.condition.active).pattern().eval()?.nvals();
            return Err(Stepped::<T, Self, E, B>::unsettled(left, rounds, endless, whole.at));
        }
        Ok((whole.state, made?, rounds))
    }
}

impl<T: Element, F: UnaryOp<T, Out = bool>, E: Expr<T = T>, B: Expr<T = T>> Stepped<T, Active<F>, E, B> {
    /// That elements are left, none of which changes, or which change without end.
    fn unsettled(left: usize, rounds: u32, endless: bool, at: &'static Location<'static>) -> Error {
        let elements = if left == 1 { "element" } else { "elements" };
        match endless {
            true => Error::NoEnd { changed: format!("some of {left} {elements}"), rounds, at },
            false => Error::NoProgress { left: format!("{left} active {elements}"), rounds, at },
        }
    }

    /// In rounds, or in place.
    fn visited(self, schedule: Schedule) -> Result<Fixed<T>> {
        let Self { state, condition: Active { active, most }, monotone, key, body, first, at } = self;
        let (state, snapshot) = (Shared::new(state.into_full()), Cell::new(false));
        let Outcome { rounds, left, endless } = {
            let is_active = |i| active.call(state.get(i));
            let env = Env::with_shared(key, &state, &snapshot);
            let choosing = env.choosing(&is_active);
            let first = first.as_ref().map(|first| first.view(&env)).transpose()?;
            snapshot.set(false);
            let reversed = env.reversed();
            let body = |reading| {
                let env = match reading {
                    Reading::Whole => &env,
                    Reading::Chosen => &choosing,
                    Reading::Reversed => &reversed,
                };
                Ok((body.view(env)?, !snapshot.get()))
            };
            let visited = Loop { state: &state, active, most };
            match schedule {
                Schedule::Rounds => {
                    visited.rounds(first, || body(if monotone { Reading::Chosen } else { Reading::Whole }))
                }
                _ => visited.in_place(first, body),
            }?
        };
        match left {
            0 => Ok(Fixed { state: Vector::from_dense(state.into_values()), rounds }),
            left => Err(Self::unsettled(left, rounds, endless, at)),
        }
    }

    /// On the CPU, to test a claim: a random half of the active elements is visited a round, reading others' states as they were up to
    /// three rounds ago.
    fn stale(self, seed: u64) -> Result<Fixed<T>> {
        let Self { state, condition: Active { active, most }, key, body, at, .. } = self;
        let mut state = state.into_full();
        let mut draw = seed;
        let mut random = move || {
            draw = draw.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            draw >> 33
        };
        // half are visited a round, and over old states
        let most = most.saturating_mul(16).saturating_add(64);
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
            if list.is_empty() {
                break;
            }
            if still == 64 || rounds >= most {
                return Err(Self::unsettled(list.len(), rounds, still < 64, at));
            }
            past.insert(0, state.clone());
            past.truncate(3);
        }
        Ok(Fixed { state: Vector::from_dense(state), rounds })
    }

    /// On a device: an operation at a time.
    fn by_operations(mut self, gpu: &Gpu) -> Result<Fixed<T>> {
        // active = those that are
        let (mut active, mut rounds) = (self.state.select(self.condition.active).pattern().eval()?, 0);
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
                return Err(Self::unsettled(active.nvals(), rounds, false, self.at));
            }
            active = self.state.mask(&active).select(self.condition.active).pattern().eval()?;
            if active.nvals() > 0 && rounds >= self.condition.most {
                return Err(Self::unsettled(active.nvals(), rounds, true, self.at));
            }
        }
        Ok(Fixed { state: self.state, rounds })
    }
}
