//! Loops over active elements: an element is visited for as long as an operator holds of it.

use crate::backend::cpu::active::{Body, Loop, Outcome, RowReading, Sweep, Sweeping};
use crate::backend::cpu::changed::Dependents;
use crate::backend::cpu::counted::Counted;
use crate::backend::cpu::dyn_view::DynView;
use crate::backend::cuda::codegen::builder::KernelBuilder;
use crate::backend::cuda::loops::active::{Limits, why_unfusable};
use crate::backend::cuda::loops::counters::{Counters, counted};
use crate::backend::cuda::terminals::Merging;
use crate::backend::cuda::{self, Gpu};
use crate::backend::plan::Schedule;
use crate::backend::profile::{LoopKind, Probe};
use crate::backend::spans::told_round;
use crate::backend::view::VectorView;
use crate::containers::Vector;
use crate::error::{Error, Result};
use crate::formats::Shared;
use crate::operations::differ::Differ;
use crate::operations::expr::{Env, Expr, StateRef};
use crate::operations::loops::core::{Condition, Fixed, Stepped, rounds_for};
use crate::operations::loops::dependencies::{Reads, RowsRead};
use crate::operations::ranks::Visited;
use crate::operations::terminal::emitted;
use crate::operations::verbs::Verbs;
use crate::ranks::Grid;
use crate::stop;
use std::cell::Cell;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use vxm_semiring::{Element, LOR, SECOND, UnaryOp};

/// The condition of [`while_active`](crate::operations::loops::Fixpoint::while_active): an element is visited for as
/// long as an operator holds of it.
#[derive(Debug, Clone, Copy)]
pub struct Active<F> {
    pub(super) active: F,
    /// The most rounds that may change something.
    pub(super) max_rounds: u32,
}

/// A loop with its condition, but without its body; see
/// [`while_active`](crate::operations::loops::Fixpoint::while_active).
#[derive(Debug)]
#[must_use = "a loop does nothing until it is evaluated"]
pub struct WhileActive<T: Element, F> {
    pub(super) state: Vector<T>,
    pub(super) active: F,
    pub(super) monotone: bool,
    pub(super) max_rounds: u32,
}

impl<T: Element, F: UnaryOp<T, Out = bool>> WhileActive<T, F> {
    pub(crate) fn new(state: Vector<T>, active: F) -> Self {
        let max_rounds = rounds_for(state.len());
        Self { state, active, monotone: false, max_rounds }
    }

    /// Limits the rounds: it is an error if elements are active still after `rounds` rounds that changed something. The
    /// default is the number of elements, but at least 65536. In an asynchronous schedule, each thread counts its own
    /// rounds that change something.
    ///
    /// **Changes no answer**: it only decides when a loop gives up.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let flip = fixpoint(Vector::from_dense(vec![0u32, 5])).while_active(LT.bind(9)).at_most(10).step(|x| x.map(MINUS.bind_first(5)));
    /// let error = flip.eval().unwrap_err().to_string();
    /// assert!(error.ends_with("fixpoint: did not converge: round 10 still changed some of 2 elements"), "{error}");
    /// # Ok::<(), vxm::Error>(())
    /// ```
    pub fn at_most(self, rounds: u32) -> Self {
        Self { max_rounds: rounds, ..self }
    }

    /// Claims that every fair schedule reaches the same state: in whatever order elements are visited, and though an
    /// element is read as it was a while ago (chaotic iteration). Knowing more must never unmake a decision.
    ///
    /// **Changes only the cost, if the claim is true.** The engine may then visit elements without waiting for each
    /// other. Without it, every visit of a round sees the states of the round before. The number of rounds may differ
    /// from schedule to schedule.
    ///
    /// The engine doesn't check the claim. A schedule of [`Stale`](crate::backend::plan::Schedule::Stale) rounds tests
    /// it.
    pub fn monotone(self) -> Self {
        Self { monotone: true, ..self }
    }

    /// Sets the body: an expression of the active elements' new states, given a placeholder for the state. Where the
    /// body holds no element, or its mask is false, an element keeps its state.
    ///
    /// A `monotone` loop may judge the edges of [`edge_status`](crate::operations::product::Product::edge_status) once, by
    /// the state at the beginning, or anew at each visit. It may leave out for good an edge that became irrelevant, and a
    /// final edge once it was folded. The loop must reach the same state either way.
    #[track_caller]
    pub fn step<E: Expr<T = T>>(self, body: impl FnOnce(StateRef<T>) -> E) -> Stepped<T, Active<F>, E> {
        let state_ref = StateRef::new();
        Stepped {
            state: self.state,
            condition: Active { active: self.active, max_rounds: self.max_rounds },
            monotone: self.monotone,
            state_ref,
            body: body(state_ref),
            first: None,
            at: Location::caller(),
        }
    }
}

impl<T: Element, F: UnaryOp<T, Out = bool>, E: Expr<T = T>> Stepped<T, Active<F>, E> {
    /// Offers a cheaper body for the first round, in which all active elements are visited. cuMIS's early exit (section
    /// 3.3) is one: it is valid as long as no vertex is in the set.
    ///
    /// **Changes only the cost.** The engine may use `body` in the first round or not, and the loop must reach the same
    /// state either way.
    pub fn first_round<B: Expr<T = T>>(self, body: impl FnOnce(StateRef<T>) -> B) -> Stepped<T, Active<F>, E, B> {
        let Self { state, condition, monotone, state_ref, body: step, at, .. } = self;
        Stepped { state, condition, monotone, state_ref, body: step, first: Some(body(state_ref)), at }
    }
}

/// Runs a loop on the CPU with rows in a file larger than memory. It sweeps over the file until there is room for what the active
/// elements still need of their rows, and goes on with that. `stored` is the body that reads rows as stored. `None` if there is no such file,
/// or the body can't sweep.
fn sweeps<T, F, E, B>(
    job: &Loop<'_, T, F>,
    stored: &Body<E::View<'_>>,
    body: &E,
    env: Env<'_>,
) -> Result<Option<Outcome>>
where
    T: Element,
    F: UnaryOp<T, Out = bool>,
    E: Expr<T = T>,
    B: Expr<T = T>,
{
    let (view, live) = stored;
    if !(job.spills && *live) {
        return Ok(None);
    }
    let judge = |own: T, new: T| job.judge(own, new);
    let counted = job.probe.map(|probe| Counted::of(view, probe, job.state.view(), Some(&judge)));
    let visits = || counted.as_ref().map_or_else(|| DynView::of(view), DynView::of);
    let (mut rounds, mut left) = (0, job.active_elements().len());
    loop {
        rounds += 1;
        told_round!(rounds, left);
        stop::check()?;
        let sweep = Sweep::new(job, visits());
        if let Some(probe) = job.probe {
            probe.begin_round(left, true);
        }
        let kept = body.view(&env.with_sweep(&sweep))?;
        if let Some(probe) = job.probe {
            probe.end_round(0);
        }
        if !sweep.began() {
            return Ok(None);
        }
        left = job.active_elements().len();
        let changed = sweep.changed();
        let has_room = sweep.has_room();
        let why = if has_room {
            "what active elements need of the rows is in memory now"
        } else {
            "there is no room for what they need"
        };
        tracing::debug!(operation = "fixpoint", order = "sweep", active = left, why, "plan");
        if left == 0 || !changed || rounds >= job.max_rounds {
            return Ok(Some(Outcome { rounds, left, endless: left > 0 && changed }));
        }
        if has_room {
            let in_memory = Loop { spills: false, max_rounds: job.max_rounds - rounds, ..*job };
            let rest = in_memory.in_place(None::<B::View<'_>>, (kept.clone(), true), |_| Ok((kept.clone(), true)))?;
            return Ok(Some(Outcome { rounds: rounds + rest.rounds, ..rest }));
        }
    }
}

/// Which elements of a body read which, if the rows that tell it are at hand.
fn readers<'s, E: Expr>(body: &'s E, env: &Env<'_>) -> Option<Dependents<'s>> {
    let mut reads = Reads::default();
    body.reads(env, &mut reads);
    let rows = reads.matrices().iter().map(RowsRead::known_rows).collect::<Option<_>>()?;
    (!reads.is_everything()).then_some(Dependents { own: true, all: false, rows })
}

/// The error if active elements are left: they changed without end, or a round changed none.
pub(super) fn unsettled(left: usize, rounds: u32, endless: bool, at: &'static Location<'static>) -> Error {
    let elements = if left == 1 { "element" } else { "elements" };
    match endless {
        true => Error::DidNotConverge { changed: format!("some of {left} {elements}"), rounds, at },
        false => Error::Stalled { left: format!("{left} active {elements}"), rounds, at },
    }
}

impl<T: Element, F: UnaryOp<T, Out = bool>> Condition<T> for Active<F> {
    fn on_ranks<E: Expr<T = T>, B: Expr<T = T>>(stepped: Stepped<T, Self, E, B>, grid: &Grid) -> Result<Fixed<T>> {
        match stepped.run_among_peers(grid)? {
            Some(fixed) => Ok(fixed),
            None => stepped.run_on_ranks(grid),
        }
    }

    fn on_threads<E: Expr<T = T>, B: Expr<T = T>>(
        stepped: Stepped<T, Self, E, B>,
        schedule: Schedule,
    ) -> Result<Fixed<T>> {
        match schedule {
            Schedule::Stale(seed) => stepped.run_stale(seed),
            _ => stepped.run_on_cpu(schedule),
        }
    }

    /// Runs the loop as one kernel if the whole body can be fused, and otherwise operation by operation.
    fn on_device<E: Expr<T = T>, B: Expr<T = T>, R>(
        mut stepped: Stepped<T, Self, E, B>,
        gpu: &Gpu,
        then: impl FnOnce(&Vector<T>) -> Result<R>,
    ) -> Result<(Vector<T>, R, u32)> {
        // the kernel's parameters hold the state's address, so this vector must own its storage
        let before = stepped.state.on_mut(gpu)?.renew()?;
        let mut counters = Counters::start::<T>(gpu, stepped.state.len())?;
        let (kernel, node, start) = {
            let env = Env::with_state(stepped.state_ref, &stepped.state);
            let env = if stepped.monotone { env.with_filterable_rows(&|_| true) } else { env };
            let mut kernel = KernelBuilder::resident(gpu);
            let active = |kernel: &mut KernelBuilder| Some(kernel.functor(stepped.condition.active));
            let node = stepped.body.emit(&env, &mut kernel)?;
            let node = counted(&mut counters, &mut kernel, node, active)?;
            let start = match stepped.first.as_ref().filter(|_| stepped.monotone && kernel.loop_config().first_round) {
                Some(first) => {
                    let start = kernel.emit_auxiliary(|kernel| first.emit(&env, kernel))?;
                    Some(counted(&mut counters, &mut kernel, start, active)?)
                }
                None => None,
            };
            (kernel, node, start)
        };
        if let Some(why) = why_unfusable::<T>(&kernel) {
            tracing::debug!(operation = "fixpoint", fused = "no", why, at = %stepped.at, "plan");
            if let Some(before) = before {
                stepped.state.on_mut(gpu)?.restore(before);
            }
            let Fixed { state, rounds } = stepped.by_operations(gpu)?;
            let made = then(&state)?;
            return Ok((state, made, rounds));
        }
        let state = stepped.state.on_mut(gpu)?;
        let launched = cuda::loops::active::fixpoint(
            kernel,
            (&node, start.as_ref()),
            stepped.condition.active,
            Limits { monotone: stepped.monotone, most: stepped.condition.max_rounds, peers: None },
            state,
            before,
        )?;
        let (made, threads, asynchronous) = (then(&stepped.state), launched.threads, launched.asynchronous);
        let cuda::loops::active::Outcome { rounds, stuck, endless } = launched.outcome()?;
        if let Some(counters) = counters {
            counters.finish(LoopKind::WhileActive, stepped.at, (threads, rounds, asynchronous))?;
        }
        if stuck {
            let left = stepped.state.select(stepped.condition.active).pattern().eval()?.nvals();
            return Err(unsettled(left, rounds, endless, stepped.at));
        }
        Ok((stepped.state, made?, rounds))
    }
}

impl<T: Element, F: UnaryOp<T, Out = bool>, E: Expr<T = T>, B: Expr<T = T>> Stepped<T, Active<F>, E, B> {
    /// Runs the loop on the CPU, in rounds or in place.
    fn run_on_cpu(self, schedule: Schedule) -> Result<Fixed<T>> {
        let Self { state, condition: Active { active, max_rounds }, monotone, state_ref, body, first, at } = self;
        let step = &body;
        let (state, snapshot, spills) = (Shared::new(state.into_full()), Cell::new(false), AtomicBool::new(false));
        let probe = Probe::start::<T>(LoopKind::WhileActive, state.len(), at);
        let Outcome { rounds, left, endless } = {
            let is_active = |i| active.call(state.get(i));
            let env = Env::with_shared(state_ref, &state, &snapshot);
            let prefiltering = env.with_filterable_rows(&is_active);
            let first = first.as_ref().map(|first| first.view(&env)).transpose()?;
            snapshot.set(false);
            let reversed = env.reversed();
            let body = |reading| {
                let env = match reading {
                    RowReading::AsStored => &env,
                    RowReading::Prefiltered => &prefiltering,
                    RowReading::Reversed => &reversed,
                };
                Ok((step.view(env)?, !snapshot.get()))
            };
            let mut job = Loop { state: &state, active, max_rounds, spills: false, probe: probe.as_ref() };
            if schedule == Schedule::Rounds {
                let reading = if monotone { RowReading::Prefiltered } else { RowReading::AsStored };
                job.rounds(first, || body(reading), || readers(step, &env))?
            } else {
                let noting = env.with_spills(&spills);
                let stored = (step.view(&noting)?, !snapshot.get());
                job.spills = spills.load(Relaxed);
                match sweeps::<_, _, _, B>(&job, &stored, step, env)? {
                    Some(outcome) => outcome,
                    None => job.in_place(first, stored, body)?,
                }
            }
        };
        if let Some(probe) = probe {
            probe.finish();
        }
        match left {
            0 => Ok(Fixed { state: Vector::from_dense(state.into_values()), rounds }),
            left => Err(unsettled(left, rounds, endless, at)),
        }
    }

    /// Runs the loop in rounds on all ranks of a grid. Each rank visits its active elements.
    fn run_on_ranks(self, grid: &Grid) -> Result<Fixed<T>> {
        let Self { state, condition: Active { active, max_rounds }, monotone, state_ref, body, first, at } = self;
        let mut visited = Visited::new(state, grid, state_ref, active)?;
        let mut rounds = 0;
        // a cheaper first round reads rows' own elements, which several columns of ranks would have to send
        let mut first = first.filter(|_| monotone && grid.shape().1 == 1);
        let began_cheaper = first.is_some();
        let mut left = grid.sum(&[visited.left])?[0];
        while left > 0 {
            rounds += 1;
            visited.begin_round(rounds == 2 && began_cheaper);
            match first.take() {
                Some(first) => visited.visit(&first)?,
                None => visited.visit(&body)?,
            }
            let sums = grid.sum(&[visited.changed, visited.left])?;
            if sums[0] == 0 {
                return Err(unsettled(left as usize, rounds, false, at));
            }
            left = sums[1];
            if left > 0 && rounds >= max_rounds {
                return Err(unsettled(left as usize, rounds, true, at));
            }
        }
        Ok(Fixed { state: visited.into_state(), rounds })
    }

    /// Tests the claim of `monotone` on the CPU: each round visits a random half of the active elements. They read
    /// others' states as they were up to three rounds ago.
    fn run_stale(self, seed: u64) -> Result<Fixed<T>> {
        let Self { state, condition: Active { active, max_rounds }, state_ref, body, at, .. } = self;
        let mut state = state.into_full();
        let mut draw = seed;
        let mut random = move || {
            draw = draw.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            draw >> 33
        };
        // a round visits half of the elements, over old states, so more rounds are allowed
        let max_rounds = max_rounds.saturating_mul(16).saturating_add(64);
        let (mut rounds, mut idle_rounds) = (0, 0);
        let mut list: Vec<usize> = (0..state.len()).filter(|&i| active.call(state[i])).collect();
        let mut past = vec![state.clone()];
        while !list.is_empty() {
            rounds += 1;
            let now: Vec<usize> = list.iter().copied().filter(|_| random() % 2 == 0).collect();
            // an element knows its own state: only the states of others are old
            let mut seen = past[random() as usize % past.len()].clone();
            now.iter().for_each(|&i| seen[i] = state[i]);
            let seen = Vector::from_dense(seen);
            let env = Env::with_state(state_ref, &seen);
            let view = body.view(&env)?;
            idle_rounds += 1;
            for i in now {
                let new = (if view.selects(i) { view.at(i) } else { None }).unwrap_or(state[i]);
                if new.bits() != state[i].bits() {
                    (state[i], idle_rounds) = (new, 0);
                }
            }
            list.retain(|&i| active.call(state[i]));
            if list.is_empty() {
                break;
            }
            if idle_rounds == 64 || rounds >= max_rounds {
                return Err(unsettled(list.len(), rounds, idle_rounds < 64, at));
            }
            past.insert(0, state.clone());
            past.truncate(3);
        }
        Ok(Fixed { state: Vector::from_dense(state), rounds })
    }

    /// Runs the loop on a GPU, operation by operation.
    fn by_operations(mut self, gpu: &Gpu) -> Result<Fixed<T>> {
        // active = the elements for which the operator holds
        let (mut active, mut rounds) = (self.state.select(self.condition.active).pattern().eval()?, 0);
        while active.nvals() > 0 {
            rounds += 1;
            let before = self.state.clone();
            {
                // state<active> = body(state), where it holds an element
                let env = Env::with_state(self.state_ref, &before);
                let masked = self.body.mask(&active);
                let (mut kernel, node) = emitted(&masked, &env, gpu)?;
                let merging = Merging::Accumulate(kernel.functor(SECOND));
                cuda::terminals::write(kernel, &node, &merging, self.state.on_mut(gpu)?)?;
            }
            if !before.ewise_mult(&self.state, Differ).reduce(LOR)? {
                return Err(unsettled(active.nvals(), rounds, false, self.at));
            }
            active = self.state.mask(&active).select(self.condition.active).pattern().eval()?;
            if active.nvals() > 0 && rounds >= self.condition.max_rounds {
                return Err(unsettled(active.nvals(), rounds, true, self.at));
            }
        }
        Ok(Fixed { state: self.state, rounds })
    }
}
