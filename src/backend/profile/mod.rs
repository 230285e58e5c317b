//! Counters: what loops did, round by round and thread by thread. Nothing is counted unless it is asked for.
//!
//! [`collect`] switches counting on for the loops that a function runs. Without it a loop branches once a pass and counts nothing. The
//! counters are those of "Code-Specific Profiling of GPU Graph Analytics" (sections 3.1 and 3.2): iterations, idle and active threads,
//! elements finalised, and the outcome of atomic updates. Counting changes no answer, but it takes time, and so may change the rounds of
//! a loop that runs in place.

mod probe;
mod spread;

pub use probe::Probe;
pub use spread::Spread;

use crate::parallel;
use spread::Tally;
use std::cell::RefCell;
use std::iter::Sum;
use std::ops::{AddAssign, Range};
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the loops within a scope did, in the order in which they ended.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Profile {
    /// The loops.
    pub loops: Vec<LoopProfile>,
    /// The vectors that `eval` made outside of loops.
    pub operations: Vec<OperationProfile>,
}

/// What an evaluation outside of loops did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OperationProfile {
    /// The terminal: `eval`.
    pub name: &'static str,
    /// The length of the vector.
    pub elements: usize,
    /// What was read of rows that were pulled. Of a pushed product nothing is counted.
    pub counts: Counts,
    /// The time in nanoseconds, without the time that counting took.
    pub nanoseconds: u64,
}

/// The condition of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoopKind {
    /// [`while_active`](crate::operations::loops::Fixpoint::while_active), with one step.
    WhileActive,
    /// [`while_active`](crate::operations::loops::Fixpoint::while_active), with several steps a round. Each step counts as a round here.
    Steps,
    /// [`while_changed`](crate::operations::loops::Fixpoint::while_changed).
    WhileChanged,
}

impl LoopKind {
    /// The name: `while_active`, `steps` or `while_changed`.
    pub fn name(self) -> &'static str {
        match self {
            Self::WhileActive => "while_active",
            Self::Steps => "steps",
            Self::WhileChanged => "while_changed",
        }
    }
}

/// What a loop did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LoopProfile {
    /// The loop's condition.
    pub kind: LoopKind,
    /// The line of the program that made the loop, as `file:line:column`.
    pub at: String,
    /// Where it ran: `cpu`, or `cuda:N`.
    pub device: String,
    /// Whether elements were written in place, so that visits of a pass saw each other's writes. A loop in place has no rounds: the
    /// [`rounds`](Self::rounds) are then its passes over the elements that were due, and a pass may visit an element several times.
    pub in_place: bool,
    /// The length of the state.
    pub elements: usize,
    /// The size in bytes of an element of the state.
    pub element_bytes: usize,
    /// The number of entries in the rows of the body's first product; 0 without one.
    pub entries: u64,
    /// The rounds, or the passes of a loop in place. Of an asynchronous loop on a GPU round k holds the k-th passes of all warps. A GPU
    /// tells 4096 rounds one by one; the last entry holds all later ones, too.
    pub rounds: Vec<Round>,
    /// How many rounds a loop on a GPU took; of an asynchronous loop, the most passes that a warp made.
    pub device_rounds: Option<u32>,
    /// The load of a GPU's groups of threads, by kind of group. A kind without a visit is left out.
    pub groups: Vec<GroupLoad>,
    /// The sums of each thread of a CPU over all rounds. A thread that did nothing is left out.
    pub threads: Vec<Counts>,
    /// How often elements were visited; `None` if that wasn't counted.
    pub visits: Option<ElementVisits>,
    /// The same of elements with more than 31 entries in their row; `None` if there are none.
    pub long_rows: Option<ElementVisits>,
    /// The time from start to end, in nanoseconds.
    pub nanoseconds: u64,
}

/// The load of a GPU's threads, warps or blocks, as groups that visit a row together.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct GroupLoad {
    /// The kind of group: `thread`, `warp` or `block`.
    pub group: &'static str,
    /// The number of groups that were launched.
    pub groups: usize,
    /// Visits of each group.
    pub visits: Spread,
    /// Visits of each group after which the element was active no more.
    pub finalised: Spread,
    /// Entries of the rows that each group visited. Some may not have been read: folds stop early, and edges are filtered.
    pub edges: Spread,
}

impl LoopProfile {
    /// A loop of which nothing was counted yet.
    pub(crate) fn new(
        kind: LoopKind,
        at: &'static Location<'static>,
        (elements, element_bytes): (usize, usize),
    ) -> Self {
        Self {
            kind,
            at: at.to_string(),
            device: "cpu".to_owned(),
            in_place: false,
            elements,
            element_bytes,
            entries: 0,
            rounds: Vec::new(),
            device_rounds: None,
            groups: Vec::new(),
            threads: Vec::new(),
            visits: None,
            long_rows: None,
            nanoseconds: 0,
        }
    }

    /// The bytes that the loop moved, by its counters. An entry read is a column number and a state. A visit, a change and a step along a
    /// pointer are a state each, a value joined is two, and a tile is 32 bytes. Values of entries aren't counted.
    pub fn bytes_moved(&self) -> u64 {
        let (total, state) = (self.total(), self.element_bytes as u64);
        let states = total.edges + total.visits + total.changed + total.jumps + 2 * total.atomics;
        states * state + total.edges * COLUMN_BYTES + total.tiles * TILE_BYTES
    }

    /// The bytes of one pass: each column number once, and each state read and written once. A loop that moves many times as much may gain by
    /// fewer visits. It may move less, if rows aren't read to their end.
    pub fn bytes_of_a_pass(&self) -> u64 {
        self.entries * COLUMN_BYTES + 2 * (self.elements * self.element_bytes) as u64
    }

    /// The sums over all rounds.
    pub fn total(&self) -> Counts {
        self.rounds.iter().map(|round| round.counts).sum()
    }
}

/// A round of a loop, or a pass of a loop in place.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Round {
    /// The elements that were due: active ones, or those with a changed operand. On a GPU an element that stays active to the end isn't
    /// counted.
    pub active: u64,
    /// The sums over all threads.
    pub counts: Counts,
    /// The threads that visited or joined an element; the others were idle.
    pub threads: u32,
    /// How many times an element joined the waiters of its blocker.
    pub waiters: u64,
    /// How many changes there were in each of [`BLOCKS`] equal parts of the state.
    pub changes_by_block: Vec<u32>,
    /// The time in nanoseconds.
    pub nanoseconds: u64,
}

/// The bytes of a column number, and of a tile's bits.
const COLUMN_BYTES: u64 = 4;
const TILE_BYTES: u64 = 32;

/// The number of parts of a state that changes are counted in.
pub const BLOCKS: usize = 64;

/// Defines [`Counts`] and its sum.
macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Sums over some visits.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct Counts {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Counts {
            /// How many counters there are.
            pub(crate) const LEN: usize = [$(stringify!($name)),*].len();

            /// The names and values of all counters.
            pub fn named(&self) -> [(&'static str, u64); Self::LEN] {
                [$((stringify!($name), self.$name)),*]
            }

            /// The counters with these values, in their order.
            pub(crate) fn of(values: &[u64]) -> Self {
                let mut values = values.iter().copied();
                Self { $($name: values.next().unwrap_or(0)),* }
            }

            /// What was added since `before`.
            pub(crate) fn since(&self, before: &Self) -> Self {
                Self { $($name: self.$name - before.$name),* }
            }
        }

        /// Counters that one thread writes and others read.
        #[derive(Debug, Default)]
        pub(crate) struct SharedCounts {
            $(pub $name: AtomicU64,)*
        }

        impl SharedCounts {
            /// The counters so far.
            pub fn load(&self) -> Counts {
                Counts { $($name: self.$name.load(Ordering::Relaxed)),* }
            }

            /// Adds to the counters. Only the thread that writes them calls this.
            pub fn add(&self, counts: &Counts) {
                $(bump(&self.$name, counts.$name);)*
            }
        }

        impl AddAssign for Counts {
            fn add_assign(&mut self, other: Self) {
                $(self.$name += other.$name;)*
            }
        }
    };
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, counts| {
            sum += counts;
            sum
        })
    }
}

/// Adds to a counter that no other thread writes, so that nothing is lost between load and store.
#[inline(always)]
pub(crate) fn bump(counter: &AtomicU64, more: u64) {
    if more > 0 {
        counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Relaxed);
    }
}

counts! {
    /// Visits: evaluations of the body at an element. The paper calls them iterations.
    visits,
    /// Visits that a mask ended before the body was evaluated.
    masked,
    /// Visits that changed their element, or the element that a scatter-reduce joined it into.
    changed,
    /// Visits after which their element was active no more. 0 in loops while something changes.
    finalised,
    /// Matrix entries that were read.
    edges,
    /// Rows that weren't read to their end: the fold had a terminal value, or `until` held.
    early_exits,
    /// Rows that weren't read at all: a union had an absorbing value already.
    skipped_rows,
    /// Tiles that were looked at.
    tiles,
    /// Tiles with an entry in the row that was read.
    useful_tiles,
    /// Steps along pointers.
    jumps,
    /// Values that were joined into an element which other threads may write: atomic updates that were tried.
    atomics,
    /// Of these, those that changed the element.
    effective_atomics,
    /// Compare-and-swaps that failed, as another thread had written the element meanwhile. Each was retried.
    failed_swaps,
}

/// How often the elements of a loop were visited, over the elements that were visited at all.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ElementVisits {
    /// The number of elements that were visited.
    pub elements: usize,
    /// Visits.
    pub visits: Spread,
    /// Visits that changed nothing. Of a colouring: its assignment was not yet possible.
    pub unchanged: Spread,
    /// Visits that changed the element and left it active. Of a colouring: its best colour changed.
    pub narrowed: Spread,
}

/// The entries of a row that counts as long: more than a warp has threads.
pub(crate) const LONG_ROW: u32 = 31;

/// What was counted of an element: visits; those that changed nothing; those that changed it and left it active; and the entries of the
/// longest row that a visit read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlaceCounts {
    pub visits: u32,
    pub unchanged: u32,
    pub narrowed: u32,
    pub row: u32,
}

impl ElementVisits {
    /// The visits of all elements, and of those with a long row; `None` where none was visited. `place` tells of an element below `count`.
    pub(crate) fn of(count: usize, place: impl Fn(usize) -> PlaceCounts + Sync) -> [Option<Self>; 2] {
        // of visits, of those without effect, and of those that narrowed
        type Tallies = [Tally; 3];
        let join = |mut x: [Tallies; 2], y: [Tallies; 2]| {
            x.iter_mut().flatten().zip(y.into_iter().flatten()).for_each(|(x, y)| x.join(y));
            x
        };
        let part = |range: Range<usize>| {
            let mut all = <[Tallies; 2]>::default();
            for place in range.map(&place).filter(|place| place.visits > 0) {
                let kinds = if place.row > LONG_ROW { 2 } else { 1 };
                for tallies in &mut all[..kinds] {
                    let counts = [place.visits, place.unchanged, place.narrowed];
                    tallies.iter_mut().zip(counts).for_each(|(tally, count)| tally.add(count.into()));
                }
            }
            all
        };
        let all = parallel::ranges(count, parallel::FEW, &part).into_iter().fold(Default::default(), join);
        all.map(|[visits, unchanged, narrowed]| {
            let elements = visits.count();
            (elements > 0).then(|| {
                let [visits, unchanged, narrowed] = [visits, unchanged, narrowed].map(Tally::spread);
                Self { elements, visits, unchanged, narrowed }
            })
        })
    }
}

thread_local! {
    /// What the innermost scope of this thread has collected; `None` outside of scopes.
    static CURRENT: RefCell<Option<Profile>> = const { RefCell::new(None) };
}

/// Runs `f`, and counts what the loops do that this thread starts meanwhile. Returns the result of `f`, and the counts.
///
/// A scope belongs to its thread: loops that other threads start aren't counted, nor are loops of a scope within this one. Loops on
/// ranks and loops that test the claim of `monotone` aren't counted either.
///
/// A loop takes up to three times as long.
///
/// ```
/// use vxm::backend::profile::collect;
/// use vxm::prelude::*;
///
/// let a = Matrix::undirected(4, &[(0, 1), (1, 2), (2, 3)])?;
/// let (labels, profile) = collect(|| {
///     fixpoint(Vector::from_dense(vec![0u32, 1, 2, 3]))
///         .while_changed()
///         .step(|label| label.ewise_add(label.vxm(&a, MIN_FIRST), MIN))
///         .eval()
/// });
/// assert_eq!(labels?.rounds as usize, profile.loops[0].rounds.len());
/// // of 6 entries 4 are read: row 0 holds the least label already, and row 1 finds it at once
/// assert_eq!(profile.loops[0].rounds[0].counts.edges, 4);
/// # Ok::<(), vxm::Error>(())
/// ```
pub fn collect<R>(f: impl FnOnce() -> R) -> (R, Profile) {
    let scope = Scope(CURRENT.replace(Some(Profile::default())));
    let result = f();
    let profile = CURRENT.take().unwrap_or_default();
    drop(scope);
    (result, profile)
}

/// A guard that restores the scope around.
struct Scope(Option<Profile>);

impl Drop for Scope {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Whether this thread is in a scope.
pub(crate) fn is_collecting() -> bool {
    CURRENT.with_borrow(Option::is_some)
}

/// Adds an operation to the innermost scope, if there is one.
pub(crate) fn add_operation(counted: OperationProfile) {
    CURRENT.with_borrow_mut(|current| {
        if let Some(profile) = current {
            profile.operations.push(counted);
        }
    });
}

/// Adds a loop to the innermost scope, if there is one.
pub(crate) fn add(counted: LoopProfile) {
    CURRENT.with_borrow_mut(|current| {
        if let Some(profile) = current {
            profile.loops.push(counted);
        }
    });
}
