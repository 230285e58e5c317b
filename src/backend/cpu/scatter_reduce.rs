//! The scatter-reduce of a `while_changed` loop: new elements are also joined into elements that they name.

use crate::backend::profile::Probe;
use crate::formats::Shared;
use std::cell::Cell;
use vxm_semiring::Element;

/// A loop's scatter-reduce: whether and how a new element is also joined into the element that it names as its target.
pub trait Scatter<T: Element>: Copy + Sync {
    /// Whether the loop has one.
    const SCATTERS: bool;
    /// The index of the target of an element that had the value `own` before the visit. An index outside the state means none.
    fn target(self, own: T) -> u32;
    /// The reduction: the new value of an element `held` that `other` is joined into.
    fn join(self, held: T, other: T) -> T;
    /// The same; it counts its joins.
    type Counted<'p>: Scatter<T>;
    /// The same; it counts its joins.
    fn counted(self, probe: &Probe) -> Self::Counted<'_>;
    /// Joins `new` into element `i` of a state. Returns whether the element changed.
    #[inline(always)]
    fn join_into(self, state: &Shared<T>, i: usize, new: T, alone: bool) -> bool {
        state.join(i, new, alone, |held, new| self.join(held, new))
    }
    /// Notes that the visit of element `i` is over, and whether it changed an element.
    #[inline(always)]
    fn visited(self, i: usize, changed: bool) {
        let _ = (i, changed);
    }
}

/// A scatter-reduce that counts its joins.
#[derive(Debug, Clone, Copy)]
pub struct CountedScatter<'p, S> {
    scatter: S,
    probe: &'p Probe,
}

impl<'p, S> CountedScatter<'p, S> {
    /// Counts the joins of `scatter`.
    pub fn of(scatter: S, probe: &'p Probe) -> Self {
        Self { scatter, probe }
    }
}

impl<T: Element, S: Scatter<T>> Scatter<T> for CountedScatter<'_, S> {
    const SCATTERS: bool = S::SCATTERS;
    fn target(self, own: T) -> u32 {
        self.scatter.target(own)
    }
    fn join(self, held: T, other: T) -> T {
        self.scatter.join(held, other)
    }
    type Counted<'q> = CountedScatter<'q, S>;
    fn counted(self, probe: &Probe) -> CountedScatter<'_, S> {
        CountedScatter::of(self.scatter, probe)
    }
    fn join_into(self, state: &Shared<T>, i: usize, new: T, alone: bool) -> bool {
        // each swap follows a join that would change the element; all but the last fail
        let swaps = Cell::new(0);
        let changed = state.join(i, new, alone, |held, new| {
            let joined = self.scatter.join(held, new);
            swaps.set(swaps.get() + u64::from(joined.bits() != held.bits()));
            joined
        });
        self.probe.add_join(changed, swaps.get() - u64::from(changed));
        changed
    }
    fn visited(self, i: usize, changed: bool) {
        self.probe.add_outcome(i, changed, false);
    }
}

/// No scatter-reduce.
#[derive(Debug, Clone, Copy)]
pub struct NoScatter;

impl<T: Element> Scatter<T> for NoScatter {
    const SCATTERS: bool = false;
    fn target(self, _: T) -> u32 {
        u32::MAX
    }
    fn join(self, _: T, other: T) -> T {
        other
    }
    type Counted<'p> = Self;
    fn counted(self, _: &Probe) -> Self {
        self
    }
}
