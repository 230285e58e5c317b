//! Loops with several steps a round, such as the three phases of TC-MIS.

use crate::backend::Place;
use crate::backend::cpu::active::Loop;
use crate::backend::cpu::dyn_view::DynView;
use crate::backend::cuda::codegen::builder::{KernelBuilder, Node};
use crate::backend::cuda::loops::active::{Outcome, why_unfusable};
use crate::backend::cuda::loops::counters::{Counters, counted};
use crate::backend::cuda::loops::steps::rounds;
use crate::backend::cuda::terminals::Merging;
use crate::backend::cuda::{self, Gpu};
use crate::backend::plan::{self, Schedule};
use crate::backend::profile::{LoopKind, Probe};
use crate::backend::spans::{span, told_round};
use crate::backend::view::VectorView;
use crate::containers::{Set, Vector};
use crate::error::Result;
use crate::formats::Shared;
use crate::operations::differ::Differ;
use crate::operations::expr::{Env, Expr, StateRef};
use crate::operations::loops::active::{Active, WhileActive, unsettled};
use crate::operations::loops::core::{Fixed, Stepped, log_end, ready};
use crate::operations::ranks::Visited;
use crate::operations::terminal::{device, emitted};
use crate::operations::verbs::Verbs;
use crate::ranks::Grid;
use crate::stop;
use std::cell::Cell;
use std::panic::Location;
use vxm_semiring::{Element, LOR, SECOND, UnaryOp};

/// The steps of a round, in order: a list of bodies of different types.
pub trait Steps<T: Element>: Sync {
    /// Gives each body to `visitor`, until it returns an error.
    ///
    /// # Errors
    /// The visitor's.
    fn each(&self, visitor: &mut impl StepVisitor<T>) -> Result<()>;
}

/// Work on each step of a round.
pub trait StepVisitor<T: Element> {
    /// Works on the next step's body.
    ///
    /// # Errors
    /// Depend on the work.
    fn step<E: Expr<T = T>>(&mut self, body: &E) -> Result<()>;
}

/// The first step of a round.
#[derive(Debug, Clone, Copy)]
pub struct First<E>(E);

/// Steps, and one more behind them.
#[derive(Debug, Clone, Copy)]
pub struct Then<P, E>(P, E);

/// The steps of a round, in order, as a list of bodies of one type.
#[derive(Debug, Clone)]
pub struct Listed<E>(Vec<E>);

impl<T: Element, E: Expr<T = T>> Steps<T> for Listed<E> {
    fn each(&self, visitor: &mut impl StepVisitor<T>) -> Result<()> {
        self.0.iter().try_for_each(|body| visitor.step(body))
    }
}

impl<T: Element, E: Expr<T = T>> Steps<T> for First<E> {
    fn each(&self, visitor: &mut impl StepVisitor<T>) -> Result<()> {
        visitor.step(&self.0)
    }
}

impl<T: Element, P: Steps<T>, E: Expr<T = T>> Steps<T> for Then<P, E> {
    fn each(&self, visitor: &mut impl StepVisitor<T>) -> Result<()> {
        self.0.each(visitor)?;
        visitor.step(&self.1)
    }
}

/// A loop over active elements with several steps a round; see [`Stepped::then`].
#[derive(Debug)]
#[must_use = "a loop does nothing until it is evaluated"]
pub struct Rounds<T: Element, F, P> {
    state: Vector<T>,
    condition: Active<F>,
    monotone: bool,
    state_ref: StateRef<T>,
    steps: P,
    at: &'static Location<'static>,
}

impl<T: Element, F: UnaryOp<T, Out = bool>, E: Expr<T = T>> Stepped<T, Active<F>, E> {
    /// Adds a second step to each round. A step visits the elements that are active when it starts, and reads the state that the step
    /// before has left. A round ends with its last step.
    ///
    /// In a loop of several steps, [`monotone`](crate::operations::loops::active::WhileActive::monotone) claims less: that a step has the
    /// same result whether or not its visits see what other visits of this step have written. So a step may write the state in place.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// // Luby's algorithm: 0 and 3 are final, 1 is undecided, 2 is a candidate of this round
    /// #[op]
    /// fn undecided(s: u32) -> bool {
    ///     s == 1 || s == 2
    /// }
    /// #[op]
    /// fn elect(s: u32, key: u32, best: u32) -> u32 {
    ///     if s == 2 { 3 } else if key > best { 2 } else { 1 }
    /// }
    /// #[op]
    /// fn leave(s: u32, _count: u32) -> u32 {
    ///     if s == 1 { 0 } else { s }
    /// }
    /// let a = Matrix::undirected(4, &[(0, 1), (1, 2), (2, 3)])?;
    /// let key = Vector::from_dense(vec![5u32, 9, 7, 2]);
    /// let settled = fixpoint(Vector::from_dense(vec![1u32; 4]))
    ///     .while_active(undecided)
    ///     .monotone()
    ///     // s<undecided> = elect(s, key, key<undecided> max.first A)
    ///     .step(|s| elect.map3(s, &key, key.mask(s.select(undecided).pattern()).vxm(&a, MAX_FIRST).or_identity()))
    ///     // s<undecided> = leave(s, (s = candidate) plus.pair A)
    ///     .then(|s| leave.map2(s, s.select(EQ.bind(2)).vxm(&a, PLUS_PAIR)))
    ///     .eval()?;
    /// assert_eq!(settled.state, Vector::from_dense(vec![0u32, 3, 0, 3]));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    pub fn then<G: Expr<T = T>>(self, body: impl FnOnce(StateRef<T>) -> G) -> Rounds<T, F, Then<First<E>, G>> {
        let Self { state, condition, monotone, state_ref, body: first, at, .. } = self;
        Rounds { state, condition, monotone, state_ref, steps: Then(First(first), body(state_ref)), at }
    }
}

impl<T: Element, F: UnaryOp<T, Out = bool>> WhileActive<T, F> {
    /// Sets the bodies of several steps a round, of one type: see [`Stepped::then`]. It is meant for [`DynExpr`](crate::operations::dyn_expr),
    /// where the number of steps is known at run time only.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let settled = fixpoint(Vector::from_dense(vec![9u32, 3]))
    ///     .while_active(GT.bind(1))
    ///     .steps(|x| vec![x.map(MINUS.bind(1)), x.map(MINUS.bind(2))])
    ///     .eval()?;
    /// assert_eq!((settled.state, settled.rounds), (Vector::from_dense(vec![0, 0]), 3));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[track_caller]
    pub fn steps<E: Expr<T = T>>(self, bodies: impl FnOnce(StateRef<T>) -> Vec<E>) -> Rounds<T, F, Listed<E>> {
        let Self { state, active, max_rounds, monotone } = self;
        let (state_ref, at) = (StateRef::new(), Location::caller());
        let condition = Active { active, max_rounds };
        Rounds { state, condition, monotone, state_ref, steps: Listed(bodies(state_ref)), at }
    }
}

impl<T: Element, F: UnaryOp<T, Out = bool>, P: Steps<T>> Rounds<T, F, P> {
    /// Adds another step to each round; see [`Stepped::then`].
    pub fn then<G: Expr<T = T>>(self, body: impl FnOnce(StateRef<T>) -> G) -> Rounds<T, F, Then<P, G>> {
        let Self { state, condition, monotone, state_ref, steps, at } = self;
        Rounds { state, condition, monotone, state_ref, steps: Then(steps, body(state_ref)), at }
    }

    /// Runs the loop; see [`Stepped::eval`]. On a GPU all rounds and steps are one kernel. Blocks meet after each step, and once more if
    /// the loop isn't `monotone`.
    ///
    /// # Errors
    /// Those of [`Stepped::eval`].
    #[inline(never)]
    pub fn eval(self) -> Result<Fixed<T>> {
        let (state, (), rounds) = self.run(|_| Ok(()))?;
        Ok(Fixed { state, rounds })
    }

    /// Runs the loop, and applies `then` to the settled state; see [`Stepped::eval_then`].
    ///
    /// # Errors
    /// Those of [`Stepped::eval_then`].
    pub fn eval_then<R>(self, then: impl FnOnce(&Vector<T>) -> Result<R>) -> Result<(R, u32)> {
        let (_, made, rounds) = self.run(then)?;
        Ok((made, rounds))
    }

    /// Runs the loop. Returns the settled state, what `then` makes of it, and the number of rounds.
    fn run<R>(self, then: impl FnOnce(&Vector<T>) -> Result<R>) -> Result<(Vector<T>, R, u32)> {
        let _span = span!("fixpoint", at = %self.at);
        stop::check()?;
        let mut look = Look { env: Env::with_state(self.state_ref, &self.state), lengths: Vec::new(), place: None };
        self.steps.each(&mut look)?;
        let Look { lengths, place, .. } = look;
        ready(&self.state, &lengths, self.at)?;
        match self.state.place().or(place) {
            Some(Place::Gpu(gpu)) => {
                let at = self.at;
                let done = self.on_device(&gpu, then);
                log_end(at);
                return done;
            }
            Some(Place::Ranks(grid)) => {
                tracing::debug!(operation = "fixpoint", ranks = grid.size(), fused = "no", at = %self.at, "plan");
                let Fixed { state, rounds } = self.on_ranks(&grid)?;
                let made = then(&state)?;
                return Ok((state, made, rounds));
            }
            None => {}
        }
        let (schedule, why) = plan::schedule(self.monotone, plan::forced());
        tracing::debug!(operation = "fixpoint", steps = lengths.len(), ?schedule, why, at = %self.at, "plan");
        let at = self.at;
        let Fixed { state, rounds } = self.on_threads(schedule)?;
        log_end(at);
        let made = then(&state)?;
        Ok((state, made, rounds))
    }

    /// Runs the loop on the CPU, a step at a time. Under `Schedule::Stale` a random half of a step's elements is visited after the other
    /// half has been written, which tests the claim of `monotone`.
    fn on_threads(self, schedule: Schedule) -> Result<Fixed<T>> {
        let Self { state, condition: Active { active, max_rounds }, state_ref, steps, at, .. } = self;
        let state = Shared::new(state.into_full());
        let probe = Probe::start::<T>(LoopKind::Steps, state.len(), at);
        let visited = Loop { state: &state, active, max_rounds, spills: false, probe: probe.as_ref() };
        let seed = if let Schedule::Stale(seed) = schedule { Some(seed) } else { None };
        let list = visited.active_elements();
        let mut round = OnThreads { visited, state_ref, list, scratch: Vec::new(), changed: false, seed };
        let mut rounds = 0;
        while !round.list.is_empty() {
            rounds += 1;
            told_round!(rounds, round.list.len());
            stop::check()?;
            round.changed = false;
            steps.each(&mut round)?;
            let left = round.list.len();
            if !round.changed || (left > 0 && rounds >= max_rounds) {
                return Err(unsettled(left, rounds, round.changed, at));
            }
        }
        if let Some(probe) = probe {
            probe.finish();
        }
        Ok(Fixed { state: Vector::from_dense(state.into_values()), rounds })
    }

    /// Runs the loop on all ranks of a grid, a step at a time: each rank visits its own elements.
    fn on_ranks(self, grid: &Grid) -> Result<Fixed<T>> {
        let Self { state, condition: Active { active, max_rounds }, state_ref, steps, at, .. } = self;
        let mut visited = Visited::new(state, grid, state_ref, active)?;
        let (mut left, mut rounds) = (grid.sum(&[visited.left])?[0], 0);
        while left > 0 {
            rounds += 1;
            visited.begin_round(false);
            steps.each(&mut visited)?;
            let sums = grid.sum(&[visited.changed, visited.left])?;
            if sums[0] == 0 || (sums[1] > 0 && rounds >= max_rounds) {
                return Err(unsettled(if sums[0] == 0 { left } else { sums[1] } as usize, rounds, sums[0] > 0, at));
            }
            left = sums[1];
        }
        Ok(Fixed { state: visited.into_state(), rounds })
    }

    /// Runs the loop on a GPU: as one kernel if all steps can be fused, and otherwise operation by operation.
    fn on_device<R>(mut self, gpu: &Gpu, then: impl FnOnce(&Vector<T>) -> Result<R>) -> Result<(Vector<T>, R, u32)> {
        // the kernel's parameters hold the state's address, so this vector must own its storage
        let before = self.state.on_mut(gpu)?.renew()?;
        let mut counters = Counters::start::<T>(gpu, self.state.len())?;
        let (kernel, nodes) = {
            let env = Env::with_state(self.state_ref, &self.state);
            let active = self.condition.active;
            let mut emit =
                Emit { env, kernel: KernelBuilder::for_steps(gpu), nodes: Vec::new(), active, counters: &mut counters };
            self.steps.each(&mut emit)?;
            (emit.kernel, emit.nodes)
        };
        if let Some(why) = why_unfusable::<T>(&kernel) {
            tracing::debug!(operation = "fixpoint", fused = "no", why, at = %self.at, "plan");
            if let Some(before) = before {
                self.state.on_mut(gpu)?.restore(before);
            }
            let Fixed { state, rounds } = self.by_operations(gpu)?;
            let made = then(&state)?;
            return Ok((state, made, rounds));
        }
        let Active { active, max_rounds } = self.condition;
        let launched = rounds(kernel, &nodes, active, (self.monotone, max_rounds), self.state.on_mut(gpu)?, before)?;
        let (made, threads) = (then(&self.state), launched.threads);
        let Outcome { rounds, stuck, endless } = launched.outcome()?;
        if let Some(counters) = counters {
            counters.finish(LoopKind::Steps, self.at, (threads, rounds, false))?;
        }
        if stuck {
            let left = self.state.select(active).pattern().eval()?.nvals();
            return Err(unsettled(left, rounds, endless, self.at));
        }
        Ok((self.state, made?, rounds))
    }

    /// Runs the loop on a GPU, operation by operation.
    fn by_operations(mut self, gpu: &Gpu) -> Result<Fixed<T>> {
        let Active { active, max_rounds } = self.condition;
        let mut rounds = 0;
        // visited = the elements for which the operator holds
        let mut visited = self.state.select(active).pattern().eval()?;
        while visited.nvals() > 0 {
            rounds += 1;
            let (state_ref, state) = (self.state_ref, self.state);
            let mut round = ByOperations { state_ref, state, active, visited, changed: false, gpu };
            self.steps.each(&mut round)?;
            let changed = round.changed;
            (self.state, visited) = (round.state, round.visited);
            let left = visited.nvals();
            if !changed || (left > 0 && rounds >= max_rounds) {
                return Err(unsettled(left, rounds, changed, self.at));
            }
        }
        Ok(Fixed { state: self.state, rounds })
    }
}

/// Looks at the steps: their lengths, and the first place where one of them runs.
struct Look<'s> {
    env: Env<'s>,
    lengths: Vec<usize>,
    place: Option<Place>,
}

impl<T: Element> StepVisitor<T> for Look<'_> {
    fn step<E: Expr<T = T>>(&mut self, body: &E) -> Result<()> {
        self.lengths.push(body.len(&self.env)?);
        if self.place.is_none() {
            self.place = device(body, &self.env);
        }
        Ok(())
    }
}

/// Runs the steps of a round on the CPU.
struct OnThreads<'a, T, F> {
    visited: Loop<'a, T, F>,
    state_ref: StateRef<T>,
    /// The active elements, ascending.
    list: Vec<u32>,
    scratch: Vec<T>,
    /// Whether a step of this round has changed an element.
    changed: bool,
    /// The state of a generator of random numbers, if the claim of `monotone` is tested.
    seed: Option<u64>,
}

impl<T: Element, F: UnaryOp<T, Out = bool>> OnThreads<'_, T, F> {
    /// Takes a step over the elements of a list. Returns those that are still active.
    fn take_step<E: Expr<T = T>>(&mut self, body: &E, mut list: Vec<u32>) -> Result<Vec<u32>> {
        let (state, snapshot) = (self.visited.state, Cell::new(false));
        let env = Env::with_shared(self.state_ref, state, &snapshot).wanting(list.len());
        let view = body.view(&env)?;
        let changed = match (self.visited.probe, view.fixed()) {
            (Some(probe), _) => self.visited.count_round(&view, probe, &mut list, &mut self.scratch, None),
            (None, Some(fixed)) => self.visited.round(&fixed, &mut list, &mut self.scratch, None),
            (None, None) => self.visited.round(&DynView::of(&view), &mut list, &mut self.scratch, None),
        };
        self.changed |= changed > 0;
        Ok(list)
    }
}

impl<T: Element, F: UnaryOp<T, Out = bool>> StepVisitor<T> for OnThreads<'_, T, F> {
    fn step<E: Expr<T = T>>(&mut self, body: &E) -> Result<()> {
        let list = std::mem::take(&mut self.list);
        let Some(seed) = self.seed else {
            self.list = self.take_step(body, list)?;
            return Ok(());
        };
        let mut draw = seed;
        let (early, late) = list.into_iter().partition(|_| {
            draw = draw.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            draw >> 63 == 0
        });
        self.seed = Some(draw);
        let mut left = self.take_step(body, early)?;
        left.extend(self.take_step(body, late)?);
        left.sort_unstable();
        self.list = left;
        Ok(())
    }
}

impl<T: Element, F: UnaryOp<T, Out = bool>> StepVisitor<T> for Visited<'_, T, F> {
    fn step<E: Expr<T = T>>(&mut self, body: &E) -> Result<()> {
        self.visit(body)
    }
}

/// Emits the steps into one kernel.
struct Emit<'s, 'c, F> {
    env: Env<'s>,
    kernel: KernelBuilder,
    nodes: Vec<Node>,
    active: F,
    /// The loop's counters, if its visits are counted.
    counters: &'c mut Option<Counters>,
}

impl<T: Element, F: UnaryOp<T, Out = bool>> StepVisitor<T> for Emit<'_, '_, F> {
    fn step<E: Expr<T = T>>(&mut self, body: &E) -> Result<()> {
        let node = body.emit(&self.env, &mut self.kernel)?;
        let active = self.active;
        let node = counted(self.counters, &mut self.kernel, node, |kernel| Some(kernel.functor(active)))?;
        self.nodes.push(Node { ty: self.kernel.step_type(node.ty), ..node });
        Ok(())
    }
}

/// Runs the steps of a round on a GPU, operation by operation.
struct ByOperations<'a, T: Element, F> {
    state_ref: StateRef<T>,
    state: Vector<T>,
    active: F,
    /// The active elements.
    visited: Set,
    /// Whether a step of this round has changed an element.
    changed: bool,
    gpu: &'a Gpu,
}

impl<T: Element, F: UnaryOp<T, Out = bool>> StepVisitor<T> for ByOperations<'_, T, F> {
    fn step<E: Expr<T = T>>(&mut self, body: &E) -> Result<()> {
        let before = self.state.clone();
        // state<visited> = body(state), where it holds an element
        let env = Env::with_state(self.state_ref, &before);
        let masked = body.mask(&self.visited);
        let (mut kernel, node) = emitted(&masked, &env, self.gpu)?;
        let merging = Merging::Accumulate(kernel.functor(SECOND));
        cuda::terminals::write(kernel, &node, &merging, self.state.on_mut(self.gpu)?)?;
        self.changed |= before.ewise_mult(&self.state, Differ).reduce(LOR)?;
        self.visited = self.state.mask(&self.visited).select(self.active).pattern().eval()?;
        Ok(())
    }
}
