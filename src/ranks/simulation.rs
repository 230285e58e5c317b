//! Runs of many ranks in one process, to count what each does and sends.

use crate::error::{Error, Result};
use crate::ranks::grid::{Axis, Grid};
use crate::ranks::ledger::{Entry, Ledger};
use std::sync::Arc;
use vxm_communicator::Threads;

/// A count of each rank: the most, and the sum over all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    /// The count of the rank that has most.
    pub most: u64,
    /// The sum over all ranks.
    pub all: u64,
}

impl Amount {
    fn add(&mut self, count: u64) {
        self.most = self.most.max(count);
        self.all += count;
    }

    /// Both counts, times `times`.
    #[must_use]
    pub fn times(self, times: u64) -> Self {
        Self { most: self.most.saturating_mul(times), all: self.all.saturating_mul(times) }
    }

    /// The most over the mean of `ranks` ranks; 1 if there is nothing.
    ///
    /// ```
    /// use vxm::ranks::Amount;
    ///
    /// assert_eq!(Amount { most: 30, all: 40 }.load(4), 3.0);
    /// ```
    pub fn load(self, ranks: usize) -> f64 {
        if self.all == 0 { 1.0 } else { self.most as f64 * ranks as f64 / self.all as f64 }
    }
}

/// What all ranks do from one exchange to the next, and what that one sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// The ranks that exchange.
    pub axis: Axis,
    /// The round of a loop, counted over all loops of the program; 0 before the first.
    pub round: u32,
    /// Matrix entries that folding read.
    pub entries: Amount,
    /// Elements of vectors that were read, written, packed or unpacked.
    pub elements: Amount,
    /// The messages to ranks of the same host, and to others.
    pub messages: [Amount; 2],
    /// The bytes that were sent to ranks of the same host, and to others. The most is that of the rank that sends or receives most.
    pub bytes: [Amount; 2],
}

/// What a program does and sends on a grid of ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Simulation {
    /// The number of rows and of columns of ranks.
    pub shape: (usize, usize),
    /// How many ranks share a host.
    pub host: usize,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The bytes of a rank's shares of matrices.
    pub memory: Amount,
    /// The rows of the largest matrix: the vertices of a graph.
    pub vertices: u64,
}

/// Runs `program` as each rank of a grid, in threads of this process, and counts what the ranks do and send. Ranks that follow each other
/// share a host, `host` of them. Returns the ranks' results in order, and the counts.
///
/// The bytes and messages are those that as many processes would send, each on a CPU. They are counted between
/// [`begin_recording`](Grid::begin_recording) and [`end_recording`](Grid::end_recording), which the program calls. A [`Model`](super::Model)
/// turns counts into time.
///
/// ```
/// use vxm::algorithms::{MisOptions, mis};
/// use vxm::prelude::*;
/// use vxm::ranks::{Model, simulate};
///
/// let path = Matrix::undirected(5000, &(0..4999).map(|v| (v, v + 1)).collect::<Vec<_>>())?;
/// // 16 ranks, four on each host
/// let (found, simulated) = simulate((4, 4), 4, |grid| {
///     let a = path.to_grid(grid)?;
///     grid.begin_recording();
///     let found = mis(&a, &MisOptions::default())?;
///     grid.end_recording();
///     Ok(found.set.nvals())
/// })?;
/// assert_eq!(found[0], found[15]);
/// // each of 10,000 entries is folded at least once
/// assert!(simulated.total().entries.all >= 9998);
/// assert!(simulated.time(&Model::h100(), 1).seconds() > 0.0);
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// Those of `program`: that of the rank that fails first. [`Error::Invalid`]: no ranks; ranks made different exchanges.
pub fn simulate<R: Send>(
    (rows, columns): (usize, usize),
    host: usize,
    program: impl Fn(&Grid) -> Result<R> + Sync,
) -> Result<(Vec<R>, Simulation)> {
    let Some(ranks) = rows.checked_mul(columns).filter(|&ranks| ranks > 0) else {
        return Err(Error::invalid(format!("a grid of {rows}x{columns}: expected at least one rank")));
    };
    let made = Threads::try_run(ranks, |world| {
        let ledger = Arc::new(Ledger::new(host));
        let grid = Grid::of(world, rows, columns)?.recorded(&ledger);
        let made = program(&grid)?;
        Ok::<_, Error>((made, ledger.take()))
    })?;
    let (mut results, mut entries, mut memory, mut vertices) = (Vec::new(), Vec::new(), Amount::default(), 0);
    for (result, (of_rank, held, rows)) in made {
        results.push(result);
        entries.push(of_rank);
        memory.add(held);
        vertices = vertices.max(rows);
    }
    let steps = joined(&entries)?;
    Ok((results, Simulation { shape: (rows, columns), host: host.max(1), steps, memory, vertices }))
}

/// The steps of all ranks, from the entries of each.
fn joined(ranks: &[Vec<Entry>]) -> Result<Vec<Step>> {
    let steps = ranks.first().map_or(0, Vec::len);
    if let Some(rank) = ranks.iter().position(|entries| entries.len() != steps) {
        let other = ranks[rank].len();
        return Err(Error::invalid(format!(
            "rank {rank}: {other} exchanges, and {steps} of rank 0: expected the same calls on all ranks"
        )));
    }
    (0..steps).map(|step| joined_step(ranks.iter().map(|entries| &entries[step]))).collect()
}

fn joined_step<'e>(entries: impl Iterator<Item = &'e Entry>) -> Result<Step> {
    let mut step: Option<Step> = None;
    for (rank, entry) in entries.enumerate() {
        let Entry { axis, round, .. } = *entry;
        let none = Amount::default();
        let step = step.get_or_insert(Step {
            axis,
            round,
            entries: none,
            elements: none,
            messages: [none; 2],
            bytes: [none; 2],
        });
        if step.axis != axis {
            return Err(Error::invalid(format!("rank {rank}: another exchange than rank 0: expected the same calls")));
        }
        step.entries.add(entry.entries);
        step.elements.add(entry.elements);
        for k in 0..2 {
            step.messages[k].add(entry.sent[k].messages);
            step.bytes[k].add(entry.sent[k].bytes);
            step.bytes[k].most = step.bytes[k].most.max(entry.received[k]);
        }
    }
    step.ok_or_else(|| Error::invalid("no ranks"))
}

/// The sums of some steps. The most of a sum is the sum of the most: ranks wait for the slowest in each step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sums {
    /// The number of steps.
    pub steps: u64,
    /// Matrix entries that were folded.
    pub entries: Amount,
    /// Elements of vectors that were read, written, packed or unpacked.
    pub elements: Amount,
    /// The messages to ranks of the same host, and to others.
    pub messages: [Amount; 2],
    /// The bytes to ranks of the same host, and to others.
    pub bytes: [Amount; 2],
    /// The bytes that went along rows of ranks, along columns, and to any.
    pub bytes_by_axis: [u64; 3],
}

impl Sums {
    /// The bytes that all ranks sent.
    pub fn sent(&self) -> u64 {
        self.bytes_by_axis.iter().sum()
    }

    /// The messages that all ranks sent.
    pub fn messages_sent(&self) -> u64 {
        self.messages.iter().map(|messages| messages.all).sum()
    }
}

impl<'s> FromIterator<&'s Step> for Sums {
    fn from_iter<I: IntoIterator<Item = &'s Step>>(steps: I) -> Self {
        let mut sums = Self::default();
        let add = |sum: &mut Amount, more: Amount| {
            sum.most += more.most;
            sum.all += more.all;
        };
        for step in steps {
            sums.steps += 1;
            add(&mut sums.entries, step.entries);
            add(&mut sums.elements, step.elements);
            for k in 0..2 {
                add(&mut sums.messages[k], step.messages[k]);
                add(&mut sums.bytes[k], step.bytes[k]);
                sums.bytes_by_axis[step.axis as usize] += step.bytes[k].all;
            }
        }
        sums
    }
}

impl Simulation {
    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.shape.0 * self.shape.1
    }

    /// The sums of all steps.
    pub fn total(&self) -> Sums {
        self.steps.iter().collect()
    }

    /// The number and the sums of each round, in order. Round 0 is what precedes the first.
    pub fn rounds(&self) -> Vec<(u32, Sums)> {
        let rounds = self.steps.chunk_by(|x, y| x.round == y.round);
        rounds.map(|steps| (steps[0].round, steps.iter().collect())).collect()
    }
}
