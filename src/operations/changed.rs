//! Loops over what has changed: until a round changes nothing.

use super::expr::{Env, Expr, Key};
use super::fixpoint::{Condition, Differ, Fixed, Stepped};
use super::terminal::emitted;
use super::verbs::Verbs;
use crate::backend::cuda::run::Merging;
use crate::backend::cuda::{self, Gpu};
use crate::backend::plan::Schedule;
use crate::backend::view::At;
use crate::containers::Vector;
use crate::error::{Error, Result};
use std::panic::Location;
use vxm_semiring::{Element, IDENTITY, LOR, SECOND};

/// Visits the elements of which something that they read has changed.
#[derive(Debug, Clone, Copy)]
pub struct Changed {
    /// How many rounds there may be.
    pub(super) most: u32,
}

/// So many rounds a loop may take, though its state be shorter.
const ROUNDS: u32 = 1 << 16;

/// A loop with its condition and without its body; see [`while_changed`](super::fixpoint::Fixpoint::while_changed).
#[derive(Debug)]
#[must_use = "a loop does nothing until it is evaluated"]
pub struct WhileChanged<T: Element> {
    state: Vector<T>,
    monotone: bool,
    most: u32,
}

impl<T: Element> WhileChanged<T> {
    pub(super) fn new(state: Vector<T>) -> Self {
        let most = u32::try_from(state.len()).unwrap_or(u32::MAX).max(ROUNDS);
        Self { state, monotone: false, most }
    }

    /// States that every fair schedule reaches the same state, though elements be visited in any order and read others' elements
    /// as they were a while ago (chaotic iteration). See [`WhileActive::monotone`](super::active::WhileActive::monotone).
    pub fn monotone(self) -> Self {
        Self { monotone: true, ..self }
    }

    /// Makes it an error if so many rounds don't do: the last of them must change nothing. By default there may be as many as there are
    /// elements, and 65536 at least.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let count = fixpoint(Vector::from_dense(vec![0u32, 5])).while_changed().at_most(10).step(|x| x.map(PLUS.bind(1)));
    /// let error = count.eval().unwrap_err().to_string();
    /// assert!(error.ends_with("fixpoint: round 10 still changed 2 elements: expected the state to settle by then"), "{error}");
    /// # Ok::<(), vxm::Error>(())
    /// ```
    pub fn at_most(self, rounds: u32) -> Self {
        Self { most: rounds, ..self }
    }

    /// The body: what becomes of an element, given a placeholder for the state. Where it holds no element, or its mask leaves a place
    /// out, the state stays as it is.
    #[track_caller]
    pub fn step<E: Expr<T = T>>(self, body: impl FnOnce(Key<T>) -> E) -> Stepped<T, Changed, E> {
        let Self { state, monotone, most } = self;
        let key = Key::new();
        Stepped {
            state,
            condition: Changed { most },
            monotone,
            key,
            body: body(key),
            first: None,
            at: Location::caller(),
        }
    }
}

impl<T: Element> Condition<T> for Changed {
    fn on_threads<E: Expr<T = T>, B: Expr<T = T>>(whole: Stepped<T, Self, E, B>, _: Schedule) -> Result<Fixed<T>> {
        let Stepped { state, condition, key, body, at, .. } = whole;
        let (mut state, mut rounds) = (state.into_full(), 0);
        loop {
            rounds += 1;
            let before = Vector::from_dense(state.clone());
            let env = Env::with_state(key, &before);
            let view = body.view(&env)?;
            let mut changed = 0;
            for (i, own) in state.iter_mut().enumerate() {
                let new = (if view.selects(i) { view.at(i) } else { None }).unwrap_or(*own);
                changed += usize::from(new.bits() != own.bits());
                *own = new;
            }
            if changed == 0 {
                return Ok(Fixed { state: Vector::from_dense(state), rounds });
            }
            condition.check(rounds, at, || Ok(changed))?;
        }
    }

    fn on_device<E: Expr<T = T>, B: Expr<T = T>, R>(
        whole: Stepped<T, Self, E, B>,
        gpu: &Gpu,
        then: impl FnOnce(&Vector<T>) -> Result<R>,
    ) -> Result<(Vector<T>, R, u32)> {
        let Fixed { state, rounds } = whole.by_operations(gpu)?;
        let made = then(&state)?;
        Ok((state, made, rounds))
    }
}

impl Changed {
    /// That there may be another round.
    fn check(self, rounds: u32, at: &'static Location<'static>, changed: impl FnOnce() -> Result<usize>) -> Result<()> {
        if rounds < self.most {
            return Ok(());
        }
        let changed = match changed()? {
            1 => "1 element".to_owned(),
            changed => format!("{changed} elements"),
        };
        Err(Error::NoEnd { changed, rounds, at })
    }
}

impl<T: Element, E: Expr<T = T>, B: Expr<T = T>> Stepped<T, Changed, E, B> {
    /// On a device: an operation at a time, over all elements.
    fn by_operations(mut self, gpu: &Gpu) -> Result<Fixed<T>> {
        let mut rounds = 0;
        loop {
            rounds += 1;
            let before = self.state.clone();
            {
                // state = body(state), where it holds an element
                let env = Env::with_state(self.key, &before);
                let (mut kernel, node) = emitted(&self.body, &env, gpu)?;
                let merging = Merging::Accumulate(kernel.functor(SECOND));
                cuda::run::write(kernel, &node, &merging, self.state.on_mut(gpu)?)?;
            }
            // differ = before != state
            let differ = before.ewise_mult(&self.state, Differ);
            if !differ.reduce(LOR)? {
                return Ok(Fixed { state: self.state, rounds });
            }
            self.condition.check(rounds, self.at, || Ok(differ.select(IDENTITY).pattern().eval()?.nvals()))?;
        }
    }
}
