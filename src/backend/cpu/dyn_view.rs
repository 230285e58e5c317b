//! Views behind a virtual call.

use crate::backend::profile::Counts;
use crate::backend::view::{Dependency, Support, VectorView, fixed_is_self};
use vxm_semiring::Element;

/// The part of [`VectorView`] that loops and terminals call, as a trait that can be a `dyn` type.
trait LoopView<T>: Sync {
    fn at(&self, i: usize) -> Option<T>;
    fn at_listed(&self, k: usize, i: usize) -> Option<T>;
    fn is_full(&self) -> bool;
    fn support(&self) -> Support<'_>;
    fn selects(&self, i: usize) -> bool;
    fn selected(&self) -> Support<'_>;
    fn at_selected(&self, k: usize, i: usize) -> Option<Option<T>>;
    fn dependency(&self, i: usize) -> Dependency;
    fn rank(&self, i: usize) -> Option<u64>;
    fn prefetch(&self, i: usize);
    fn count(&self, i: usize, counts: &mut Counts);
    fn work(&self) -> Option<&[u64]>;
}

impl<V: VectorView> LoopView<V::T> for V {
    fn at(&self, i: usize) -> Option<V::T> {
        VectorView::at(self, i)
    }
    fn at_listed(&self, k: usize, i: usize) -> Option<V::T> {
        VectorView::at_listed(self, k, i)
    }
    fn is_full(&self) -> bool {
        VectorView::is_full(self)
    }
    fn support(&self) -> Support<'_> {
        VectorView::support(self)
    }
    fn selects(&self, i: usize) -> bool {
        VectorView::selects(self, i)
    }
    fn selected(&self) -> Support<'_> {
        VectorView::selected(self)
    }
    fn at_selected(&self, k: usize, i: usize) -> Option<Option<V::T>> {
        VectorView::at_selected(self, k, i)
    }
    fn dependency(&self, i: usize) -> Dependency {
        VectorView::dependency(self, i)
    }
    fn rank(&self, i: usize) -> Option<u64> {
        VectorView::rank(self, i)
    }
    fn prefetch(&self, i: usize) {
        VectorView::prefetch(self, i);
    }
    fn count(&self, i: usize, counts: &mut Counts) {
        VectorView::count(self, i, counts);
    }
    fn work(&self) -> Option<&[u64]> {
        VectorView::work(self)
    }
}

/// A view of any type, called virtually. Loops and terminals are compiled once for all views that have no
/// [`fixed`](VectorView::fixed) form.
#[derive(Clone)]
pub struct DynView<'v, T>(&'v dyn LoopView<T>);

impl<'v, T: Element> DynView<'v, T> {
    /// Wraps a view.
    pub fn of<V: VectorView<T = T>>(view: &'v V) -> Self {
        Self(view)
    }
}

impl<T: Element> VectorView for DynView<'_, T> {
    type T = T;
    fixed_is_self!();
    fn at(&self, i: usize) -> Option<T> {
        self.0.at(i)
    }
    fn at_listed(&self, k: usize, i: usize) -> Option<T> {
        self.0.at_listed(k, i)
    }
    fn is_full(&self) -> bool {
        self.0.is_full()
    }
    fn support(&self) -> Support<'_> {
        self.0.support()
    }
    fn selects(&self, i: usize) -> bool {
        self.0.selects(i)
    }
    fn selected(&self) -> Support<'_> {
        self.0.selected()
    }
    fn at_selected(&self, k: usize, i: usize) -> Option<Option<T>> {
        self.0.at_selected(k, i)
    }
    fn dependency(&self, i: usize) -> Dependency {
        self.0.dependency(i)
    }
    fn rank(&self, i: usize) -> Option<u64> {
        self.0.rank(i)
    }
    fn prefetch(&self, i: usize) {
        self.0.prefetch(i);
    }
    fn count(&self, i: usize, counts: &mut Counts) {
        self.0.count(i, counts);
    }
    fn work(&self) -> Option<&[u64]> {
        self.0.work()
    }
}
