//! Loops over what has changed: until a round changes nothing.

use super::expr::{Env, Expr, Key};
use super::fixpoint::{Condition, Differ, Fixed, Stepped, rounds_for};
use super::hooking::Hooks;
use super::reads::{DeviceRows, Reads, Through};
use super::terminal::emitted;
use super::verbs::Verbs;
use crate::backend::cpu::changed::{Changes, Dependents, Outcome as Visited, Unhooked};
use crate::backend::cuda::changed::{Outcome, Readers, changing};
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
use vxm_semiring::{Element, IDENTITY, LOR, SECOND};

/// Visits the elements of which something that they read has changed.
#[derive(Debug, Clone, Copy)]
pub struct Changed<H = Unhooked> {
    /// How many rounds there may be.
    most: u32,
    /// Into whom elements are joined.
    hook: H,
}

impl Changed {
    /// The same, where elements are joined into others.
    pub(super) fn hooked<H>(self, hook: H) -> Changed<H> {
        Changed { most: self.most, hook }
    }
}

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
        let most = rounds_for(state.len());
        Self { state, monotone: false, most }
    }

    /// States that every fair schedule reaches the same state, though elements be visited in any order and read others' elements
    /// as they were a while ago (chaotic iteration). See [`WhileActive::monotone`](super::active::WhileActive::monotone).
    pub fn monotone(self) -> Self {
        Self { monotone: true, ..self }
    }

    /// Makes it an error if so many rounds don't do: the last of them must change nothing. By default there may be as many as there are
    /// elements, and 65536 at least. One is run in any case.
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
            condition: Changed { most, hook: Unhooked },
            monotone,
            key,
            body: body(key),
            first: None,
            at: Location::caller(),
        }
    }
}

impl<T: Element, H: Hooks<T>> Condition<T> for Changed<H> {
    fn refusal(&self, monotone: bool) -> Option<Error> {
        self.hook.refusal(monotone)
    }

    fn on_threads<E: Expr<T = T>, B: Expr<T = T>>(
        whole: Stepped<T, Self, E, B>,
        schedule: Schedule,
    ) -> Result<Fixed<T>> {
        match schedule {
            Schedule::Stale(seed) => whole.stale(seed),
            _ => whole.visited(schedule != Schedule::Rounds),
        }
    }

    fn on_device<E: Expr<T = T>, B: Expr<T = T>, R>(
        whole: Stepped<T, Self, E, B>,
        gpu: &Gpu,
        then: impl FnOnce(&Vector<T>) -> Result<R>,
    ) -> Result<(Vector<T>, R, u32)> {
        whole.resident(gpu, then)
    }
}

/// That elements changed in the last round that there may be.
fn no_end(changed: usize, rounds: u32, at: &'static Location<'static>) -> Error {
    let elements = if changed == 1 { "element" } else { "elements" };
    Error::NoEnd { changed: format!("{changed} {elements}"), rounds, at }
}

impl<T: Element, H: Hooks<T>, E: Expr<T = T>, B: Expr<T = T>> Stepped<T, Changed<H>, E, B> {
    /// In rounds, or in place.
    fn visited(self, in_place: bool) -> Result<Fixed<T>> {
        let Self { state, condition, key, body, at, .. } = self;
        let (state, snapshot) = (Shared::new(state.into_full()), Cell::new(false));
        let Visited { rounds, changed } = {
            let env = Env::with_shared(key, &state, &snapshot);
            let mut reads = Reads::default();
            body.reads(&env, &mut reads);
            let dependents = if reads.is_everything() || H::HOOKS {
                Dependents { own: false, all: true, rows: Vec::new() }
            } else {
                let rows = reads.matrices().iter().map(Through::rows).collect();
                Dependents { own: reads.is_own(), all: false, rows }
            };
            let changes = Changes { state: &state, hook: condition.hook, dependents, most: condition.most };
            changes.run(in_place, || Ok((body.view(&env)?, !snapshot.get())))?
        };
        if changed > 0 {
            return Err(no_end(changed, rounds, at));
        }
        Ok(Fixed { state: Vector::from_dense(state.into_values()), rounds })
    }

    /// To test a claim: a random half of those to be visited is visited a round, reading others' states as they were up to three rounds
    /// ago. Who saw an old state is visited again; so there may be more rounds than the loop has.
    fn stale(self, seed: u64) -> Result<Fixed<T>> {
        let Self { state, condition, key, body, at, .. } = self;
        let mut state = state.into_full();
        let n = state.len();
        let mut draw = seed;
        let mut random = move || {
            draw = draw.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            draw >> 33
        };
        let most = condition.most.saturating_mul(16).saturating_add(64);
        let (mut rounds, mut due, mut past) = (0, vec![true; n], vec![state.clone()]);
        while due.contains(&true) {
            rounds += 1;
            let now: Vec<usize> = (0..n).filter(|&i| due[i] && random() % 2 == 0).collect();
            let age = random() as usize % past.len();
            // an element knows its own state: only others' are old
            let mut seen = past[age].clone();
            now.iter().for_each(|&i| seen[i] = state[i]);
            let seen = Vector::from_dense(seen);
            let env = Env::with_state(key, &seen);
            let mut reads = Reads::default();
            body.reads(&env, &mut reads);
            let view = body.view(&env)?;
            if age == 0 {
                now.iter().for_each(|&i| due[i] = false);
            }
            let mut changed = 0;
            for i in now {
                let (own, hook) = (state[i], condition.hook);
                let mut new = (if view.selects(i) { view.at(i) } else { None }).unwrap_or(own);
                if H::HOOKS {
                    new = hook.join(own, new);
                    state[i] = new;
                    let before = hook.onto(own) as usize;
                    let mut join = |i: usize| {
                        let held = state.get_mut(i)?;
                        let was = std::mem::replace(held, hook.join(*held, new));
                        (held.bits() != was.bits()).then_some(was)
                    };
                    if let Some(was) = join(before) {
                        changed += 1;
                        join(hook.onto(was) as usize);
                    }
                    if changed > 0 {
                        due.fill(true);
                    }
                }
                if new.bits() == own.bits() {
                    continue;
                }
                (state[i], changed) = (new, changed + 1);
                if reads.is_everything() {
                    due.fill(true);
                }
                due[i] |= reads.is_own();
                for (offsets, columns) in reads.matrices().iter().map(Through::rows) {
                    columns[offsets[i] as usize..offsets[i + 1] as usize].iter().for_each(|&j| due[j as usize] = true);
                }
            }
            if changed > 0 && rounds >= most {
                return Err(no_end(changed, rounds, at));
            }
            past.insert(0, state.clone());
            past.truncate(3);
        }
        Ok(Fixed { state: Vector::from_dense(state), rounds })
    }

    /// On a device: one kernel if the whole body can be, or else an operation at a time.
    fn resident<R>(mut self, gpu: &Gpu, then: impl FnOnce(&Vector<T>) -> Result<R>) -> Result<(Vector<T>, R, u32)> {
        // the kernel's parameters hold the state's address: it must be this vector's own
        self.state.on_mut(gpu)?.own_values()?;
        let mut kernel = Composer::resident(gpu);
        let (node, readers) = {
            let env = Env::with_state(self.key, &self.state);
            let mut reads = Reads::default();
            self.body.reads(&env, &mut reads);
            let everything = reads.is_everything() || H::HOOKS;
            let mut readers = Readers { own: reads.is_own(), everything, rows: Vec::new() };
            if !readers.everything {
                for through in reads.matrices() {
                    let DeviceRows { offsets, columns, held } = through.rows_on(gpu)?;
                    readers.rows.push((offsets, columns));
                    kernel.keep(held);
                }
            }
            (self.body.emit(&env, &mut kernel)?, readers)
        };
        let hook = H::HOOKS.then(|| self.condition.hook.emit(&mut kernel));
        if let Some(why) = refusal::<T>(&kernel) {
            tracing::debug!(operation = "fixpoint", fused = "no", why, at = %self.at, "plan");
            let Fixed { state, rounds } = self.by_operations(gpu)?;
            let made = then(&state)?;
            return Ok((state, made, rounds));
        }
        let state = self.state.on_mut(gpu)?;
        let launched = changing(kernel, &node, &readers, hook, self.monotone, self.condition.most, state)?;
        let made = then(&self.state);
        let Outcome { rounds, changed } = launched.outcome()?;
        match changed {
            0 => Ok((self.state, made?, rounds)),
            changed => Err(no_end(changed as usize, rounds, self.at)),
        }
    }

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
            self.state = self.condition.hook.joined(&before, self.state)?;
            // differ = before != state
            let differ = before.ewise_mult(&self.state, Differ);
            if !differ.reduce(LOR)? {
                return Ok(Fixed { state: self.state, rounds });
            }
            if rounds >= self.condition.most {
                let changed = differ.select(IDENTITY).pattern().eval()?.nvals();
                return Err(no_end(changed, rounds, self.at));
            }
        }
    }
}
