//! What evaluations on ranks know, beside the expression.

use crate::backend::cuda::DeviceVector;
use crate::operations::ranks::on_gpu::Slots;
use crate::ranks::Grid;
use std::any::Any;
use std::cell::{Cell, RefCell};

/// What an evaluation on ranks knows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OnRanks<'s> {
    pub grid: &'s Grid,
    /// What a loop's products keep from round to round.
    pub kept: Option<&'s Kept>,
    /// A bit for each place of this rank at which the result is read; `None` if it is read everywhere.
    pub rows: Option<&'s [u64]>,
    /// The same on this rank's GPU.
    pub due: Option<&'s DeviceVector<()>>,
    /// The loop among peers that this is the body of.
    pub peers: Option<AmongPeers>,
    /// Where an operand is read, if not at this rank's places.
    pub slots: Option<Slots<'s>>,
}

/// A loop whose kernel reads the state at the slots of a share, where other ranks' GPUs write theirs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AmongPeers {
    /// The length of the state on all ranks.
    pub n: usize,
    /// The number of the share.
    pub share: u64,
}

impl<'s> OnRanks<'s> {
    /// An evaluation outside of loops.
    pub fn of(grid: &'s Grid) -> Self {
        Self { grid, kept: None, rows: None, due: None, peers: None, slots: None }
    }
}

/// What the products of a loop's body keep from round to round, in the order in which their views are made.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    states: RefCell<Vec<Option<Box<dyn Any>>>>,
    next: Cell<usize>,
    /// Whether this round's body is another one than that of the round before.
    anew: Cell<bool>,
}

impl Kept {
    /// Begins a round. `anew` says that its body is another one than that of the round before: copies of elements still hold, results
    /// don't.
    pub fn restart(&self, anew: bool) {
        self.next.set(0);
        self.anew.set(anew);
    }

    /// Whether products begin anew in this round.
    pub fn is_anew(&self) -> bool {
        self.anew.get()
    }

    /// Takes the next product's state, if there is one of this type.
    pub fn take<S: 'static>(&self) -> (usize, Option<S>) {
        let (number, held) = self.take_any();
        match held.map(|state| state.downcast()) {
            Some(Ok(state)) => (number, Some(*state)),
            _ => (number, None),
        }
    }

    fn take_any(&self) -> (usize, Option<Box<dyn Any>>) {
        let number = self.next.replace(self.next.get() + 1);
        (number, self.states.borrow_mut().get_mut(number).and_then(Option::take))
    }

    pub fn put<S: 'static>(&self, number: usize, state: S) {
        self.put_any(number, Box::new(state));
    }

    fn put_any(&self, number: usize, state: Box<dyn Any>) {
        let mut states = self.states.borrow_mut();
        if states.len() <= number {
            states.resize_with(number + 1, || None);
        }
        states[number] = Some(state);
    }
}
