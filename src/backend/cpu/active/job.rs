//! A loop as its passes know it: state, condition, and how it ended.

use crate::backend::profile::Probe;
use crate::backend::view::VectorView;
use crate::formats::Shared;

/// How a loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// The number of rounds, or of passes if the loop ran in place.
    pub rounds: u32,
    /// The number of elements that were still active when the loop gave up; 0 if it finished.
    pub left: usize,
    /// Whether elements still changed when the loop gave up. If `false` with elements left, the loop has stalled.
    pub endless: bool,
}

/// A `while_active` loop: its state, its condition and its limit.
#[derive(Debug)]
pub struct Loop<'a, T, F> {
    /// The state.
    pub state: &'a Shared<T>,
    /// Holds for elements that may still change. Once it doesn't hold, the element is settled and is never visited again.
    pub active: F,
    /// The most rounds that may change something.
    pub max_rounds: u32,
    /// Whether rows lie in a file larger than memory. Elements are then visited in the order of their rows.
    pub spills: bool,
    /// The loop's counters, if visits are to be counted.
    pub probe: Option<&'a Probe>,
}

/// How a body's view reads the rows of its products.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowReading {
    /// All entries, in stored order.
    AsStored,
    /// The entries that pass the edge filter when the view is made. The view may keep a filtered copy of the matrix.
    Prefiltered,
    /// All entries from last to first, where the fold has the same result.
    Reversed,
}

/// A body's view, and whether it is live: a live view reads the current state. Another holds a snapshot and is rebuilt in every round.
pub type Body<V> = (V, bool);

/// The new element at `i`, given the current one, `own`. It is `own` if the body's mask excludes `i` or the body has no element there.
#[inline(always)]
pub(crate) fn next<V: VectorView>(body: &V, i: usize, own: V::T) -> V::T {
    (if body.selects(i) { body.at(i) } else { None }).unwrap_or(own)
}
