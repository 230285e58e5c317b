//! The loop: an expression of a state, evaluated again wherever the state may still change, until it may nowhere.

use super::expr::{Env, Expr, Key, fits};
use super::terminal::{device, emitted};
use super::verbs::Verbs;
use crate::backend::cpu::gather::is_small;
use crate::backend::cpu::share;
use crate::backend::cuda::compose::Composer;
use crate::backend::cuda::fixpoint::{Outcome, refusal};
use crate::backend::cuda::run::Merging;
use crate::backend::cuda::{self, Gpu};
use crate::backend::plan::{self, Schedule};
use crate::backend::view::{At, Depends};
use crate::containers::{Vector, VectorFormat};
use crate::error::{Error, Result};
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

/// Nobody is waited for.
const NOBODY: u32 = u32::MAX;

/// Elements that are not visited until another changes, in a list for each that is waited for.
struct Sleepers {
    n: usize,
    /// The last that began to wait for an element, and for each sleeper the one that began before; made when first needed.
    last: Vec<u32>,
    before: Vec<u32>,
    count: usize,
}

impl Sleepers {
    fn new(n: usize) -> Self {
        Self { n, last: Vec::new(), before: Vec::new(), count: 0 }
    }

    fn wait(&mut self, i: u32, k: u32) {
        if self.last.is_empty() {
            (self.last, self.before) = (vec![NOBODY; self.n], vec![NOBODY; self.n]);
        }
        self.before[i as usize] = std::mem::replace(&mut self.last[k as usize], i);
        self.count += 1;
    }

    /// Those that wait for `k` wait no longer.
    fn wake(&mut self, k: u32, list: &mut Vec<u32>) {
        let Some(last) = self.last.get_mut(k as usize) else { return };
        let mut i = std::mem::replace(last, NOBODY);
        while i != NOBODY {
            list.push(i);
            i = self.before[i as usize];
            self.count -= 1;
        }
    }
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
    /// On a device it is one kernel, unless the body holds what must be evaluated first; on the CPU a list of the active elements
    /// goes from round to round.
    ///
    /// # Errors
    /// Shapes don't fit; the state isn't full; elements are active, and a round changes none.
    pub fn eval(self) -> Result<Fixed<T>> {
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
            return self.on_device(&gpu);
        }
        let (schedule, why) = plan::schedule(self.monotone, plan::forced());
        tracing::debug!(operation = "fixpoint", ?schedule, why, fused = "body and work list: one loop", at = %self.at, "plan");
        match schedule {
            Schedule::Stale(seed) => self.stale(seed),
            Schedule::Rounds | Schedule::Asynchronous => self.rounds(),
        }
    }

    fn no_progress(&self, left: usize, rounds: u32) -> Error {
        Error::NoProgress { left: format!("{left} active elements"), rounds, at: self.at }
    }

    /// The active elements, ascending.
    fn active(&self) -> Vec<u32> {
        let (view, n) = (self.state.view(), self.state.len());
        let piece = share::piece(n);
        let lists = share::collect(n.div_ceil(piece), &|p| {
            let run = (p * piece..((p + 1) * piece).min(n)).filter(|&i| self.active.call(view.value(i)));
            run.map(|i| i as u32).collect::<Vec<_>>()
        });
        lists.concat()
    }

    /// What becomes of the elements of `list`, over `state`; and of those that stay as they are, for whom they wait, [`NOBODY`] if that
    /// isn't known or `sleeps` says that nobody shall. Those from number `woken` on have waited before.
    fn visit<X: Expr<T = T>>(
        &self,
        body: &X,
        state: &Vector<T>,
        (list, woken): (&[u32], usize),
        sleeps: bool,
        next: &mut Vec<(T, u32)>,
    ) -> Result<()> {
        let env = Env::with_state(self.key, state).wanting(list.len());
        let (view, held) = (body.view(&env)?, state.view());
        next.clear();
        next.resize(list.len(), (T::ZERO, NOBODY));
        let run = |(first, list, next): (usize, &[u32], &mut [(T, u32)])| {
            // asked of a few, and of more where that finds something
            let (mut asked, mut found) = (0, 0);
            for (k, (place, &i)) in next.iter_mut().zip(list).enumerate() {
                let (i, own) = (i as usize, held.value(i as usize));
                if first + k >= woken
                    && let Depends::On(j) = view.depends(i)
                {
                    // what ended its fold before has changed, and something like it ends it again: so it stays as it is
                    *place = (own, j);
                    continue;
                }
                let new = (if view.selects(i) { view.at(i) } else { None }).unwrap_or(own);
                *place = (new, NOBODY);
                if sleeps && new.bits() == own.bits() && (asked < 64 || found * 8 > asked) {
                    asked += 1;
                    if let Depends::On(j) = view.depends(i) {
                        found += 1;
                        place.1 = j;
                    }
                }
            }
        };
        if is_small(&view, list) {
            run((0, list, next));
        } else {
            let piece = share::piece(list.len());
            let pieces = list.chunks(piece).zip(next.chunks_mut(piece)).enumerate();
            share::each(pieces.map(|(p, (list, next))| (p * piece, list, next)).collect(), &run);
        }
        Ok(())
    }

    /// Writes what became of the elements of `list`, which becomes those to visit next. Whether any changed, and the number from which
    /// on they have waited.
    fn commit(&mut self, list: &mut Vec<u32>, next: &[(T, u32)], sleepers: &mut Sleepers) -> (bool, usize) {
        let active = self.active;
        let Some(state) = self.state.dense_mut() else { return (false, list.len()) };
        // first those that wait, so that what changes now wakes them
        for (&i, &(_, k)) in list.iter().zip(next).filter(|(_, (_, k))| *k != NOBODY) {
            sleepers.wait(i, k);
        }
        let (mut changed, mut left, mut woken) = (false, Vec::new(), Vec::new());
        for (&i, &(new, k)) in list.iter().zip(next) {
            let place = &mut state[i as usize];
            if place.bits() != new.bits() {
                changed = true;
                *place = new;
                sleepers.wake(i, &mut woken);
            }
            if k == NOBODY && active.call(new) {
                left.push(i);
            }
        }
        let first = left.len();
        left.extend(woken);
        *list = left;
        (changed, first)
    }

    /// On the CPU: all that are active are visited over the state of the round before, but for those that are known to wait.
    fn rounds(mut self) -> Result<Fixed<T>> {
        // a full vector may have been asked to be kept as a list
        self.state = self.state.with_format(VectorFormat::Dense);
        let (mut list, mut next, mut rounds) = (self.active(), Vec::new(), 0);
        let (mut sleepers, mut woken) = (Sleepers::new(self.state.len()), list.len());
        while !list.is_empty() {
            rounds += 1;
            let first = self.first.as_ref().filter(|_| rounds == 1);
            match first {
                // what an element waits for in one body it need not wait for in the other
                Some(first) => self.visit(first, &self.state, (&list, woken), false, &mut next)?,
                None => self.visit(&self.body, &self.state, (&list, woken), true, &mut next)?,
            }
            let begins = first.is_some();
            let changed;
            (changed, woken) = self.commit(&mut list, &next, &mut sleepers);
            if !changed && !begins {
                break;
            }
        }
        match list.len() + sleepers.count {
            0 => Ok(Fixed { state: self.state, rounds }),
            left => Err(self.no_progress(left, rounds)),
        }
    }

    /// On the CPU, to test a claim: a random half of the active elements is visited a round, reading others' states as they were up to
    /// three rounds ago.
    fn stale(mut self, seed: u64) -> Result<Fixed<T>> {
        self.state = self.state.with_format(VectorFormat::Dense);
        let mut draw = seed;
        let mut random = move || {
            draw = draw.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            draw >> 33
        };
        let (mut list, mut next, mut rounds, mut still) = (self.active(), Vec::new(), 0, 0);
        let mut past = vec![self.state.clone()];
        while !list.is_empty() {
            rounds += 1;
            let (mut now, rest): (Vec<u32>, Vec<u32>) = list.iter().partition(|_| random() % 2 == 0);
            // an element knows its own state: only others' are old
            let mut seen = past[random() as usize % past.len()].clone();
            let own: Vec<Option<T>> = now.iter().map(|&i| self.state.get(i)).collect();
            seen.patch(&now, &own);
            self.visit(&self.body, &seen, (&now, now.len()), false, &mut next)?;
            let (changed, _) = self.commit(&mut now, &next, &mut Sleepers::new(0));
            still = if changed { 0 } else { still + 1 };
            if still == 64 {
                return Err(self.no_progress(list.len(), rounds));
            }
            list = [now, rest].concat();
            list.sort_unstable();
            past.insert(0, self.state.clone());
            past.truncate(3);
        }
        Ok(Fixed { state: self.state, rounds })
    }

    /// On a device: one kernel if the whole body can be, or else an operation at a time.
    fn on_device(mut self, gpu: &Gpu) -> Result<Fixed<T>> {
        // the kernel's parameters hold the state's address: it must be this vector's own
        self.state.on_mut(gpu)?.own_values()?;
        let (kernel, node) = {
            let env = Env::with_state(self.key, &self.state);
            let mut kernel = Composer::resident(gpu);
            let node = self.body.emit(&env, &mut kernel)?;
            (kernel, node)
        };
        if let Some(why) = refusal::<T>(&kernel) {
            tracing::debug!(operation = "fixpoint", fused = "no", why, at = %self.at, "plan");
            return self.by_operations(gpu);
        }
        let state = self.state.on_mut(gpu)?;
        let Outcome { rounds, stuck } = cuda::fixpoint::fixpoint(kernel, &node, self.active, self.monotone, state)?;
        if stuck {
            let left = self.state.select(self.active).pattern().eval()?.nvals();
            return Err(self.no_progress(left, rounds));
        }
        Ok(Fixed { state: self.state, rounds })
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
                return Err(self.no_progress(active.nvals(), rounds));
            }
            active = self.state.mask(&active).select(self.active).pattern().eval()?;
        }
        Ok(Fixed { state: self.state, rounds })
    }
}
