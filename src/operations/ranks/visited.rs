//! The state of a loop over active elements on a rank.

use crate::backend::cpu::dyn_view::DynView;
use crate::backend::cuda::{DeviceVector, Gpu};
use crate::containers::Vector;
use crate::error::Result;
use crate::operations::expr::{Env, Expr, StateRef};
use crate::operations::ranks::{self, Kept, OnRanks, on_gpu};
use crate::operations::verbs::Verbs;
use crate::ranks::Grid;
use vxm_semiring::{Element, UnaryOp};

/// A rank's elements of a loop's state, and which of them are active.
pub(crate) struct Visited<'g, T: Element, F> {
    grid: &'g Grid,
    /// The length of the state on all ranks.
    n: usize,
    state_ref: StateRef<T>,
    active: F,
    held: Held<T>,
    /// How many of this rank's elements are active.
    pub left: u64,
    /// How often one of them changed in this round.
    pub changed: u64,
    /// What the products of each step keep from round to round, and the number of the next step.
    kept: Vec<Kept>,
    next: usize,
}

/// The elements, and the active ones of them.
enum Held<T: Element> {
    Host(Vec<T>, Vec<u64>),
    Gpu(DeviceVector<T>, DeviceVector<()>),
}

impl<'g, T: Element, F: UnaryOp<T, Out = bool>> Visited<'g, T, F> {
    /// A loop's state before the first round.
    pub fn new(state: Vector<T>, grid: &'g Grid, state_ref: StateRef<T>, active: F) -> Result<Self> {
        let (n, state) = (state.len(), state.spread_on(grid)?);
        let (held, left) = match grid.gpu() {
            Some(gpu) => {
                let state = state.held_on(gpu)?;
                let due = selected(&state, grid, n, active, gpu)?;
                let (_, left) = on_gpu::tally(&state, &state, active)?;
                (Held::Gpu(state, due), left)
            }
            None => {
                let values = state.into_full();
                let due = ranks::bits(&values, |x| active.call(x));
                let left = ranks::count(&due);
                (Held::Host(values, due), left)
            }
        };
        Ok(Self { grid, n, state_ref, active, held, left, changed: 0, kept: Vec::new(), next: 0 })
    }

    /// Begins a round. `anew` says that its steps are others than those of the round before.
    pub fn begin_round(&mut self, anew: bool) {
        (self.next, self.changed) = (0, 0);
        self.grid.begin_round();
        self.kept.iter().for_each(|kept| kept.restart(anew));
    }

    /// Writes `body`, the round's next step, to the active elements. All ranks call this.
    pub fn visit<E: Expr<T = T>>(&mut self, body: &E) -> Result<()> {
        let (grid, n, active) = (self.grid, self.n, self.active);
        if self.kept.len() == self.next {
            self.kept.push(Kept::default());
        }
        let on = OnRanks { kept: Some(&self.kept[self.next]), ..OnRanks::of(grid) };
        self.next += 1;
        match &mut self.held {
            Held::Host(values, due) => {
                let before = ranks::full(values, grid, n);
                let env = Env::with_state(self.state_ref, &before).on_ranks(OnRanks { rows: Some(due), ..on });
                grid.work(0, values.len());
                self.changed += ranks::visit(&DynView::of(&body.view(&env)?), due, values);
                *due = ranks::bits(values, |x| active.call(x));
                self.left = ranks::count(due);
            }
            Held::Gpu(state, due) => {
                let gpu = state.gpu().clone();
                let before = Vector::of_device_piece(state.clone(), grid, n);
                let env = Env::with_state(self.state_ref, &before).on_ranks(OnRanks { due: Some(due), ..on });
                on_gpu::visit(body, &env, Some(due), state)?;
                let (changed, left) = on_gpu::tally(&before.held_on(&gpu)?, state, active)?;
                self.changed += changed;
                self.left = left;
                *due = selected(state, grid, n, active, &gpu)?;
            }
        }
        Ok(())
    }

    /// The state.
    pub fn into_state(self) -> Vector<T> {
        match self.held {
            Held::Host(values, _) => ranks::full(&values, self.grid, self.n),
            Held::Gpu(state, _) => Vector::of_device_piece(state, self.grid, self.n),
        }
    }
}

/// The elements for which `active` holds.
fn selected<T: Element, F: UnaryOp<T, Out = bool>>(
    state: &DeviceVector<T>,
    grid: &Grid,
    n: usize,
    active: F,
    gpu: &Gpu,
) -> Result<DeviceVector<()>> {
    let state = Vector::of_device_piece(state.clone(), grid, n);
    let env = Env::default().on_ranks(OnRanks::of(grid));
    on_gpu::piece(&state.select(active).pattern(), &env, grid, gpu)
}
