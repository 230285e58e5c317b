//! A loop's body that counts its visits.

use crate::backend::cpu::dyn_view::DynView;
use crate::backend::profile::{Counts, Probe};
use crate::backend::view::{Dependency, Support, VectorView, fixed_is_self};
use crate::formats::SharedView;
use vxm_semiring::Element;

/// What a visit came to, given the element before and after: whether it changed, and whether it is settled since. `None` if the loop
/// itself says what changed.
pub type Judge<'v, T> = Option<&'v (dyn Fn(T, T) -> (bool, bool) + Sync)>;

/// A body's view that counts what visits of it do. A loop uses it in place of the view itself, so the loops' own code counts nothing.
#[derive(Clone)]
pub struct Counted<'v, T> {
    inner: DynView<'v, T>,
    probe: &'v Probe,
    state: SharedView<'v, T>,
    judge: Judge<'v, T>,
}

impl<'v, T: Element> Counted<'v, T> {
    /// Counts the visits of `view` in a loop over `state`.
    pub fn of<V: VectorView<T = T>>(
        view: &'v V,
        probe: &'v Probe,
        state: SharedView<'v, T>,
        judge: Judge<'v, T>,
    ) -> Self {
        if let Some(work) = view.work() {
            probe.set_entries(work.last().copied().unwrap_or(0));
        }
        Self { inner: DynView::of(view), probe, state, judge }
    }
}

impl<T: Element> VectorView for Counted<'_, T> {
    type T = T;
    fixed_is_self!();
    fn at(&self, i: usize) -> Option<T> {
        let mut counts = Counts { visits: 1, ..Counts::default() };
        let (own, new) = (self.state.get(i), self.inner.counted(i, &mut counts));
        let outcome = self.judge.map(|judge| judge(own, new.unwrap_or(own)));
        self.probe.add_visit(i, self.inner.work().map_or(0, |work| work[i + 1] - work[i]), &counts, outcome);
        new
    }
    fn selects(&self, i: usize) -> bool {
        let selects = self.inner.selects(i);
        if !selects {
            self.probe.add_visit(i, 0, &Counts { visits: 1, masked: 1, ..Counts::default() }, None);
        }
        selects
    }
    fn is_full(&self) -> bool {
        self.inner.is_full()
    }
    fn support(&self) -> Support<'_> {
        self.inner.support()
    }
    fn selected(&self) -> Support<'_> {
        self.inner.selected()
    }
    fn dependency(&self, i: usize) -> Dependency {
        self.inner.dependency(i)
    }
    fn rank(&self, i: usize) -> Option<u64> {
        self.inner.rank(i)
    }
    fn prefetch(&self, i: usize) {
        self.inner.prefetch(i);
    }
    fn work(&self) -> Option<&[u64]> {
        self.inner.work()
    }
}
