//! Loops over active elements as one kernel on each rank's GPU. It visits the rank's elements until none is active, and writes them into the
//! other GPUs' memory.
//!
//! No kernel waits for another. One that finds nothing to change for a while ends, though elements are left: others may still change what these
//! wait for. Then ranks meet, and begin again with what is left. The loop is stalled once all ranks began together, and none changed
//! anything.

use crate::backend::cuda::codegen::builder::{KernelBuilder, Node};
use crate::backend::cuda::loops::active::{Limits, Outcome, fixpoint, why_unfusable};
use crate::backend::cuda::ranks::PeerSlots;
use crate::backend::plan::{self, Schedule};
use crate::containers::Vector;
use crate::error::Result;
use crate::operations::expr::{Env, Expr};
use crate::operations::loops::active::{Active, unsettled};
use crate::operations::loops::core::{Fixed, Stepped};
use crate::operations::loops::dependencies::Reads;
use crate::operations::ranks::{AmongPeers, OnRanks, on_gpu};
use crate::ranks::{Grid, Link};
use std::sync::Arc;
use vxm_semiring::{Element, UnaryOp};

/// What ranks tell each other between two launches.
#[derive(Debug, Clone, Copy, Default)]
struct Told {
    /// How many of a rank's elements are active.
    left: u64,
    /// Whether the launch may have changed one.
    changed: bool,
    /// Whether elements changed in the last round that is allowed.
    endless: bool,
    rounds: u32,
    failed: bool,
}

impl Told {
    /// What all ranks tell, joined. All ranks call this.
    fn by_all(self, grid: &Grid) -> Result<Self> {
        let flags = u64::from(self.changed) | u64::from(self.endless) << 1 | u64::from(self.failed) << 2;
        let all = grid.told(&[self.left, flags, u64::from(self.rounds)])?;
        let mut joined = Self::default();
        for words in all.iter().filter_map(|words| words.first_chunk::<3>()) {
            let [left, flags, rounds] = *words;
            joined.left += left;
            joined.changed |= flags & 1 != 0;
            joined.endless |= flags & 2 != 0;
            joined.failed |= flags & 4 != 0;
            joined.rounds = joined.rounds.max(rounds as u32);
        }
        Ok(joined)
    }
}

impl<T: Element, F: UnaryOp<T, Out = bool>, E: Expr<T = T>, B: Expr<T = T>> Stepped<T, Active<F>, E, B> {
    /// Why this loop can't run among peers, if it can't.
    fn why_not_among_peers(&self, grid: &Grid) -> Option<&'static str> {
        match plan::schedule(self.monotone, plan::forced()) {
            _ if grid.link() != Some(Link::Peers) => Some("GPUs don't write into each other's memory"),
            _ if grid.shape().1 > 1 => Some("rows are spread over several ranks"),
            (Schedule::Asynchronous, _) if size_of::<T>() > 0 => None,
            (Schedule::Asynchronous, _) => Some("a state without values never changes"),
            (_, why) => Some(why),
        }
    }

    /// The number of the share of the matrix through which the loop reads other elements, and its slots; `None` if it isn't one matrix.
    fn peers(&self, env: &Env<'_>, grid: &Grid) -> Result<Option<(u64, Arc<PeerSlots>)>> {
        let mut reads = Reads::default();
        self.body.reads(env, &mut reads);
        if let Some(first) = &self.first {
            first.reads(env, &mut reads);
        }
        match reads.matrices() {
            [matrix] if !reads.is_everything() => matrix.peers(grid),
            _ => Ok(None),
        }
    }

    /// Runs the loop if each rank's kernel can write into the other GPUs' memory, and can hold the whole body. All ranks call this.
    #[inline(never)]
    pub(super) fn run_among_peers(&self, grid: &Grid) -> Result<Option<Fixed<T>>> {
        let why = self.why_not_among_peers(grid);
        let found = match why {
            Some(_) => None,
            None => self.peers(&Env::with_state(self.state_ref, &self.state), grid)?,
        };
        let (Some(gpu), Some((share, peers))) = (grid.gpu(), found) else {
            let why = why.unwrap_or("the state isn't read through one matrix, or there is no memory for it");
            tracing::debug!(operation = "fixpoint", peers = "no", why, at = %self.at, "plan");
            return Ok(None);
        };
        let n = self.state.len();
        let on = OnRanks { peers: Some(AmongPeers { n, share }), ..OnRanks::of(grid) };
        let mut elements = peers.elements::<T>();
        let state = Vector::on_device(elements.clone());
        let env = Env::with_state(self.state_ref, &state).on_ranks(on).with_filterable_rows(&|_| true);
        peers.share(&self.state.piece_on(grid)?.held_on(gpu)?)?;
        // a kernel is used up by its launch
        let emitted = || -> Result<(KernelBuilder, Node)> {
            let mut kernel = KernelBuilder::resident(gpu);
            let node = self.body.emit(&env, &mut kernel)?;
            Ok((kernel, node))
        };
        let (mut kernel, node) = emitted()?;
        let why = why_unfusable::<T>(&kernel);
        let begins_cheaper = self.first.is_some() && kernel.loop_config().first_round;
        gpu.synchronize()?;
        // ranks do alike, though their rows differ; and all windows hold the state before any kernel reads it
        let sums = grid.sum(&[u64::from(why.is_some()), u64::from(begins_cheaper)])?;
        if sums[0] > 0 {
            let why = why.unwrap_or("another rank can't hold the body in one kernel");
            tracing::debug!(operation = "fixpoint", peers = "no", why, at = %self.at, "plan");
            return Ok(None);
        }
        let start = match self.first.as_ref().filter(|_| sums[1] > 0) {
            Some(first) => Some(kernel.emit_auxiliary(|kernel| first.emit(&env, kernel))?),
            None => None,
        };
        let mut next = Some((kernel, node, start));
        tracing::debug!(operation = "fixpoint", peers = "kernels write into each other's memory", at = %self.at, "plan");

        let Active { active, max_rounds } = self.condition;
        let mut left = n as u64;
        let (mut rounds, mut launches) = (0, 0);
        while left > 0 {
            let before = if launches == 0 { None } else { Some(peers.own::<T>()?) };
            let (kernel, node, start) = match next.take() {
                Some(emitted) => emitted,
                None => emitted().map(|(kernel, node)| (kernel, node, None))?,
            };
            let launch = || -> Result<Told> {
                let limits = Limits { monotone: true, most: max_rounds, peers: Some(&peers) };
                let launched = fixpoint(kernel, (&node, start.as_ref()), active, limits, &mut elements, None)?;
                let Outcome { rounds, stuck, endless } = launched.outcome()?;
                // what was written to other GPUs is there
                gpu.synchronize()?;
                let mut told = Told { changed: true, endless, rounds, ..Told::default() };
                if stuck || before.is_some() {
                    let now = peers.own::<T>()?;
                    let (changed, left) = on_gpu::tally(before.as_ref().unwrap_or(&now), &now, active)?;
                    (told.left, told.changed) = (left, before.is_none() || changed > 0);
                }
                Ok(told)
            };
            let launched = launch();
            let mine = launched.as_ref().map_or(Told { failed: true, ..Told::default() }, |told| *told);
            let all = mine.by_all(grid)?;
            if all.failed {
                grid.agree(launched.map(drop))?;
            }
            (left, rounds, launches) = (all.left, rounds + all.rounds, launches + 1);
            if left > 0 && (all.endless || !all.changed) {
                return Err(unsettled(left as usize, rounds, all.endless, self.at));
            }
        }
        tracing::debug!(operation = "fixpoint", launches, rounds, at = %self.at, "ran");
        Ok(Some(Fixed { state: Vector::of_device_piece(peers.own::<T>()?, grid, n), rounds }))
    }
}
