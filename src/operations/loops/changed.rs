//! Loops over changed elements, until a round changes nothing.

use crate::backend::cpu::changed::{Changes, Dependents, Outcome as Visited};
use crate::backend::cpu::dyn_view::DynView;
use crate::backend::cpu::relax::Relaxation;
use crate::backend::cpu::scatter_reduce::NoScatter;
use crate::backend::cuda::codegen::builder::KernelBuilder;
use crate::backend::cuda::codegen::monoid::can_swap;
use crate::backend::cuda::loops::active::why_unfusable;
use crate::backend::cuda::loops::changed::{Outcome, Readers, changing};
use crate::backend::cuda::loops::counters::{Counters, counted};
use crate::backend::cuda::loops::relaxed::{Outcome as Relaxed, relax};
use crate::backend::cuda::ranks::scatter_among_peers;
use crate::backend::cuda::terminals::Merging;
use crate::backend::cuda::{self, DeviceVector, Gpu};
use crate::backend::plan::{self, Schedule};
use crate::backend::profile::{LoopKind, Probe};
use crate::backend::view::VectorView;
use crate::containers::Vector;
use crate::error::{Error, Result};
use crate::formats::{Bitmap, Shared, Store};
use crate::operations::differ::Differ;
use crate::operations::expr::{Env, Expr, StateRef};
use crate::operations::loops::core::Scattering;
use crate::operations::loops::core::{Condition, Fixed, Stepped, rounds_for};
use crate::operations::loops::dependencies::{DeviceRows, Reads, RowsRead};
use crate::operations::ranks::{self, Kept, OnRanks};
use crate::operations::terminal::emitted;
use crate::operations::verbs::Verbs;
use crate::ranks::{Grid, deliver};
use std::cell::Cell;
use std::panic::Location;
use std::sync::atomic::AtomicBool;
use vxm_semiring::{Element, IDENTITY, LOR, SECOND};

/// The condition of [`while_changed`](crate::operations::loops::Fixpoint::while_changed): an element is visited if
/// something that it reads has changed.
#[derive(Debug, Clone, Copy)]
pub struct Changed<H = NoScatter> {
    /// The most rounds.
    max_rounds: u32,
    /// How elements are joined into others, if they are.
    scatter: H,
}

impl Changed {
    /// This condition, with elements joined into others.
    pub(crate) fn scattered_by<H>(self, scatter: H) -> Changed<H> {
        Changed { max_rounds: self.max_rounds, scatter }
    }
}

/// A loop with its condition, but without its body; see
/// [`while_changed`](crate::operations::loops::Fixpoint::while_changed).
#[derive(Debug)]
#[must_use = "a loop does nothing until it is evaluated"]
pub struct WhileChanged<T: Element> {
    state: Vector<T>,
    monotone: bool,
    max_rounds: u32,
}

impl<T: Element> WhileChanged<T> {
    pub(crate) fn new(state: Vector<T>) -> Self {
        let max_rounds = rounds_for(state.len());
        Self { state, monotone: false, max_rounds }
    }

    /// Claims that every fair schedule reaches the same state: in whatever order elements are visited, and though an
    /// element is read as it was a while ago (chaotic iteration). **Changes only the cost, if the claim is true**; see
    /// [`WhileActive::monotone`](crate::operations::loops::active::WhileActive::monotone).
    pub fn monotone(self) -> Self {
        Self { monotone: true, ..self }
    }

    /// Limits the rounds: it is an error if round number `rounds` still changes an element. The default is the number
    /// of elements, but at least 65536. At least one round runs in any case.
    ///
    /// **Changes no answer**: it only decides when a loop gives up.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let count = fixpoint(Vector::from_dense(vec![0u32, 5])).while_changed().at_most(10).step(|x| x.map(PLUS.bind(1)));
    /// let error = count.eval().unwrap_err().to_string();
    /// assert!(error.ends_with("fixpoint: did not converge: round 10 still changed 2 elements"), "{error}");
    /// # Ok::<(), vxm::Error>(())
    /// ```
    pub fn at_most(self, rounds: u32) -> Self {
        Self { max_rounds: rounds, ..self }
    }

    /// Sets the body: an expression of the elements' new states, given a placeholder for the state. Where the body
    /// holds no element, or its mask is false, an element keeps its state.
    #[track_caller]
    pub fn step<E: Expr<T = T>>(self, body: impl FnOnce(StateRef<T>) -> E) -> Stepped<T, Changed, E> {
        let Self { state, monotone, max_rounds } = self;
        let state_ref = StateRef::new();
        Stepped {
            state,
            condition: Changed { max_rounds, scatter: NoScatter },
            monotone,
            state_ref,
            body: body(state_ref),
            first: None,
            at: Location::caller(),
        }
    }
}

impl<T: Element, H: Scattering<T>> Condition<T> for Changed<H> {
    fn refusal(&self, monotone: bool) -> Option<Error> {
        self.scatter.refusal(monotone)
    }

    fn on_ranks<E: Expr<T = T>, B: Expr<T = T>>(stepped: Stepped<T, Self, E, B>, grid: &Grid) -> Result<Fixed<T>> {
        stepped.run_on_ranks(grid)
    }

    fn on_threads<E: Expr<T = T>, B: Expr<T = T>>(
        stepped: Stepped<T, Self, E, B>,
        schedule: Schedule,
    ) -> Result<Fixed<T>> {
        match schedule {
            Schedule::Stale(seed) => stepped.run_stale(seed),
            _ => stepped.run_on_cpu(schedule != Schedule::Rounds),
        }
    }

    fn on_device<E: Expr<T = T>, B: Expr<T = T>, R>(
        stepped: Stepped<T, Self, E, B>,
        gpu: &Gpu,
        then: impl FnOnce(&Vector<T>) -> Result<R>,
    ) -> Result<(Vector<T>, R, u32)> {
        stepped.run_on_device(gpu, then)
    }
}

/// The error if elements changed in the last round that is allowed.
fn did_not_converge(changed: usize, rounds: u32, at: &'static Location<'static>) -> Error {
    let elements = if changed == 1 { "element" } else { "elements" };
    Error::DidNotConverge { changed: format!("{changed} {elements}"), rounds, at }
}

/// Scatters elements into others, on the ranks that own those.
struct OnOwners<'g, T, H> {
    scatter: H,
    grid: &'g Grid,
    n: usize,
    /// The elements last sent to others: joining one of them again changes nothing.
    told: Vec<Option<(u32, T)>>,
}

impl<'g, T: Element, H: Scattering<T>> OnOwners<'g, T, H> {
    fn new(scatter: H, grid: &'g Grid, n: usize) -> Self {
        Self { scatter, grid, n, told: vec![None; if H::SCATTERS { grid.count(n) } else { 0 }] }
    }

    /// Joins what a round has made of this rank's elements into them, and into those that they name. All ranks call this.
    fn round(&mut self, before: &[T], values: &mut [T]) -> Result<()> {
        let (scatter, mut sent) = (self.scatter, Vec::new());
        for ((x, new), told) in before.iter().zip(&mut *values).zip(&mut self.told) {
            *new = scatter.join(*x, *new);
            let element = (scatter.target(*x), *new);
            if told.is_none_or(|(to, y)| (to, y.bits()) != (element.0, element.1.bits())) {
                *told = Some(element);
                sent.push(element);
            }
        }
        for (place, x) in deliver(self.grid, self.n, sent.into_iter())? {
            let held = &mut values[place as usize];
            *held = scatter.join(*held, x);
        }
        Ok(())
    }
}

impl<T: Element, H: Scattering<T>, E: Expr<T = T>, B: Expr<T = T>> Stepped<T, Changed<H>, E, B> {
    /// Runs the loop on the CPU, in rounds or in place.
    fn run_on_cpu(self, in_place: bool) -> Result<Fixed<T>> {
        let Self { state, condition, state_ref, body, at, .. } = self;
        let (state, snapshot, spills) = (Shared::new(state.into_full()), Cell::new(false), AtomicBool::new(false));
        let probe = Probe::start::<T>(LoopKind::WhileChanged, state.len(), at);
        let Visited { rounds, changed } = {
            let env = Env::with_shared(state_ref, &state, &snapshot).with_spills(&spills);
            let mut reads = Reads::default();
            body.reads(&env, &mut reads);
            let dependents = if reads.is_everything() || H::SCATTERS {
                Dependents { own: false, all: true, rows: Vec::new() }
            } else {
                let rows = reads.matrices().iter().map(RowsRead::rows).collect();
                Dependents { own: reads.is_own(), all: false, rows }
            };
            let relaxation = if in_place && !H::SCATTERS { body.relaxation(&env) } else { None };
            let (max_rounds, probe) = (condition.max_rounds, probe.as_ref());
            let edges = relaxation.as_ref().map(|edges| edges.on_host());
            let relaxation = edges.as_deref().map(|edges| Relaxation { state: &state, edges, max_rounds, probe, at });
            let mut changes = Changes {
                state: &state,
                scatter: condition.scatter,
                dependents,
                max_rounds,
                patience: relaxation.as_ref().and_then(Relaxation::patience),
                spills: &spills,
                probe,
            };
            let view = || Ok((body.view(&env)?, !snapshot.get()));
            match relaxation.as_ref().and_then(Relaxation::run) {
                Some(rounds) => Visited { rounds, changed: 0 },
                None => match (changes.run(in_place, view)?, relaxation) {
                    (Visited { rounds, changed }, Some(relaxation)) if changed > 0 && rounds < max_rounds => {
                        match relaxation.spread(rounds) {
                            Some(rounds) => Visited { rounds, changed: 0 },
                            None => {
                                (changes.patience, changes.max_rounds) = (None, max_rounds - rounds);
                                let Visited { rounds: more, changed } = changes.run(in_place, view)?;
                                Visited { rounds: rounds + more, changed }
                            }
                        }
                    }
                    (visited, _) => visited,
                },
            }
        };
        if let Some(probe) = probe {
            probe.finish();
        }
        if changed > 0 {
            return Err(did_not_converge(changed, rounds, at));
        }
        Ok(Fixed { state: Vector::from_dense(state.into_values()), rounds })
    }

    /// Runs the loop in rounds on all ranks of a grid. Products fold only rows that read something that changed.
    fn run_on_ranks(self, grid: &Grid) -> Result<Fixed<T>> {
        let Self { state, condition, state_ref, body, at, .. } = self;
        let (n, mut state) = (state.len(), state.spread_on(grid)?);
        let (kept, mut rounds, mut scatter) = (Kept::default(), 0, OnOwners::new(condition.scatter, grid, n));
        loop {
            rounds += 1;
            kept.restart(false);
            grid.begin_round();
            let before = state.clone();
            let env = Env::with_state(state_ref, &before).on_ranks(OnRanks { kept: Some(&kept), ..OnRanks::of(grid) });
            let changed = match grid.gpu() {
                Some(gpu) => {
                    let mut piece = state.held_on(gpu)?;
                    ranks::on_gpu::visit(&body, &env, None, &mut piece)?;
                    if H::SCATTERS && grid.shows() && can_swap::<T>(gpu) {
                        let old = before.held_on(gpu)?;
                        scatter_among_peers(grid, n, &old, &mut piece, |kernel| condition.scatter.emit(kernel))?;
                    } else if H::SCATTERS {
                        let mut values = piece.download()?.into_bitmap().into_values();
                        scatter.round(before.piece_bitmap().values(), &mut values)?;
                        piece = DeviceVector::upload(gpu, &Store::Bitmap(Bitmap::dense(values)))?;
                    }
                    let (changed, _) = ranks::on_gpu::tally(&before.held_on(gpu)?, &piece, ranks::on_gpu::Never)?;
                    state = Vector::of_device_piece(piece, grid, n);
                    changed
                }
                None => {
                    let old = before.piece_bitmap().into_values();
                    let mut values = old.clone();
                    let all = ranks::bits(&values, |_| true);
                    grid.work(0, values.len());
                    let mut changed = ranks::visit(&DynView::of(&body.view(&env)?), &all, &mut values);
                    if H::SCATTERS {
                        scatter.round(&old, &mut values)?;
                        changed = old.iter().zip(&values).filter(|(x, y)| x.bits() != y.bits()).count() as u64;
                    }
                    state = ranks::full(&values, grid, n);
                    changed
                }
            };
            match grid.sum(&[changed])?[0] {
                0 => return Ok(Fixed { state, rounds }),
                changed if rounds >= condition.max_rounds => {
                    return Err(did_not_converge(changed as usize, rounds, at));
                }
                _ => {}
            }
        }
    }

    /// Tests the claim of `monotone` on the CPU: each round visits a random half of the due elements. They read others'
    /// states as they were up to three rounds ago. After a round over an old state, the visited elements remain due, so
    /// there may be more rounds than the loop's limit.
    fn run_stale(self, seed: u64) -> Result<Fixed<T>> {
        let Self { state, condition, state_ref, body, at, .. } = self;
        let mut state = state.into_full();
        let n = state.len();
        let mut draw = seed;
        let mut random = move || {
            draw = draw.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            draw >> 33
        };
        let max_rounds = condition.max_rounds.saturating_mul(16).saturating_add(64);
        let (mut rounds, mut due, mut past) = (0, vec![true; n], vec![state.clone()]);
        while due.contains(&true) {
            rounds += 1;
            let now: Vec<usize> = (0..n).filter(|&i| due[i] && random() % 2 == 0).collect();
            let age = random() as usize % past.len();
            // an element knows its own state: only the states of others are old
            let mut seen = past[age].clone();
            now.iter().for_each(|&i| seen[i] = state[i]);
            let seen = Vector::from_dense(seen);
            let env = Env::with_state(state_ref, &seen);
            let mut reads = Reads::default();
            body.reads(&env, &mut reads);
            let view = body.view(&env)?;
            if age == 0 {
                now.iter().for_each(|&i| due[i] = false);
            }
            let mut changed = 0;
            let mut all = false;
            for i in now {
                let (own, scatter) = (state[i], condition.scatter);
                let mut new = (if view.selects(i) { view.at(i) } else { None }).unwrap_or(own);
                if H::SCATTERS {
                    new = scatter.join(own, new);
                    state[i] = new;
                    changed += usize::from(Self::join_target(&mut state, scatter, own, new));
                    all |= changed > 0;
                }
                if new.bits() == own.bits() {
                    continue;
                }
                (state[i], changed) = (new, changed + 1);
                all |= reads.is_everything();
                due[i] |= reads.is_own();
                for (offsets, columns) in reads.matrices().iter().map(RowsRead::rows) {
                    columns[offsets[i] as usize..offsets[i + 1] as usize].iter().for_each(|&j| due[j as usize] = true);
                }
            }
            if all {
                due.fill(true);
            }
            if changed > 0 && rounds >= max_rounds {
                return Err(did_not_converge(changed, rounds, at));
            }
            past.insert(0, state.clone());
            past.truncate(3);
        }
        Ok(Fixed { state: Vector::from_dense(state), rounds })
    }

    /// Joins `new` into the element that `own` names, and, if that changes it, into the one that it named until then.
    /// Returns whether it changed.
    fn join_target(state: &mut [T], scatter: H, own: T, new: T) -> bool {
        let mut join = |i: usize| {
            let held = state.get_mut(i)?;
            let was = std::mem::replace(held, scatter.join(*held, new));
            (held.bits() != was.bits()).then_some(was)
        };
        let Some(was) = join(scatter.target(own) as usize) else { return false };
        join(scatter.target(was) as usize);
        true
    }

    /// Runs the loop on a GPU: as one kernel if the whole body can be fused, and otherwise operation by operation.
    fn run_on_device<R>(
        mut self,
        gpu: &Gpu,
        then: impl FnOnce(&Vector<T>) -> Result<R>,
    ) -> Result<(Vector<T>, R, u32)> {
        // the kernel's parameters hold the state's address, so this vector must own its storage
        self.state.on_mut(gpu)?.own_values()?;
        if let Some(rounds) = self.relaxed_on_device(gpu)? {
            let made = then(&self.state)?;
            return Ok((self.state, made, rounds));
        }
        let mut kernel = KernelBuilder::resident(gpu);
        let mut counters = Counters::start::<T>(gpu, self.state.len())?;
        let (node, readers) = {
            let env = Env::with_state(self.state_ref, &self.state);
            let mut reads = Reads::default();
            self.body.reads(&env, &mut reads);
            let everything = reads.is_everything() || H::SCATTERS;
            let mut readers = Readers { own: reads.is_own(), everything, rows: Vec::new() };
            if !readers.everything {
                for through in reads.matrices() {
                    let DeviceRows { offsets, columns, held } = through.rows_on(gpu)?;
                    readers.rows.push((offsets, columns));
                    kernel.keep_alive(held);
                }
            }
            let node = self.body.emit(&env, &mut kernel)?;
            (counted(&mut counters, &mut kernel, node, |_| None)?, readers)
        };
        let scatter = H::SCATTERS.then(|| self.condition.scatter.emit(&mut kernel));
        if let Some(why) = why_unfusable::<T>(&kernel) {
            tracing::debug!(operation = "fixpoint", fused = "no", why, at = %self.at, "plan");
            let Fixed { state, rounds } = self.by_operations(gpu)?;
            let made = then(&state)?;
            return Ok((state, made, rounds));
        }
        let state = self.state.on_mut(gpu)?;
        let launched = changing(kernel, &node, &readers, scatter, self.monotone, self.condition.max_rounds, state)?;
        let (made, threads) = (then(&self.state), launched.threads);
        let Outcome { rounds, changed } = launched.outcome()?;
        if let Some(counters) = counters {
            counters.finish(LoopKind::WhileChanged, self.at, (threads, rounds, false))?;
        }
        match changed {
            0 => Ok((self.state, made?, rounds)),
            changed => Err(did_not_converge(changed as usize, rounds, self.at)),
        }
    }

    /// Runs the loop on a GPU by relaxing edges, if its body allows that. Returns the number of rounds; `None` if that isn't right or doesn't
    /// pay. The state may then be on its way, and a loop that visits all elements reaches the same answer.
    #[inline(never)]
    fn relaxed_on_device(&mut self, gpu: &Gpu) -> Result<Option<u32>> {
        let in_place = plan::schedule(self.monotone, plan::forced()).0 != Schedule::Rounds;
        if !in_place || H::SCATTERS || size_of::<T>() == 0 {
            return Ok(None);
        }
        let mut kernel = KernelBuilder::resident(gpu);
        let edges = {
            let env = Env::with_state(self.state_ref, &self.state);
            match self.body.relaxation(&env) {
                Some(edges) => edges.emit(&mut kernel)?,
                None => None,
            }
        };
        let Some(edges) = edges else { return Ok(None) };
        let mut counters = Counters::start::<T>(gpu, self.state.len())?;
        let state = self.state.on_mut(gpu)?;
        let Relaxed { rounds, settled, threads } =
            relax(kernel, &edges, self.condition.max_rounds, state, counters.as_mut())?;
        if let Some(counters) = counters.filter(|_| settled) {
            counters.finish(LoopKind::WhileChanged, self.at, (threads, rounds, false))?;
        }
        Ok(settled.then_some(rounds))
    }

    /// Runs the loop on a GPU, operation by operation, over all elements.
    fn by_operations(mut self, gpu: &Gpu) -> Result<Fixed<T>> {
        let mut rounds = 0;
        loop {
            rounds += 1;
            let before = self.state.clone();
            {
                // state = body(state), where it holds an element
                let env = Env::with_state(self.state_ref, &before);
                let (mut kernel, node) = emitted(&self.body, &env, gpu)?;
                let merging = Merging::Accumulate(kernel.functor(SECOND));
                cuda::terminals::write(kernel, &node, &merging, self.state.on_mut(gpu)?)?;
            }
            self.state = self.condition.scatter.scatter_round(&before, self.state)?;
            // differ = before != state
            let differ = before.ewise_mult(&self.state, Differ);
            if !differ.reduce(LOR)? {
                return Ok(Fixed { state: self.state, rounds });
            }
            if rounds >= self.condition.max_rounds {
                let changed = differ.select(IDENTITY).pattern().eval()?.nvals();
                return Err(did_not_converge(changed, rounds, self.at));
            }
        }
    }
}
