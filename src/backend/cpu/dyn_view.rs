//! Views behind a virtual call.

use crate::backend::view::{Dependency, VectorView, fixed_is_self};
use vxm_semiring::Element;

/// The part of [`VectorView`] that loops call, as a trait that can be a `dyn` type.
trait LoopView<T>: Sync {
    fn at(&self, i: usize) -> Option<T>;
    fn selects(&self, i: usize) -> bool;
    fn dependency(&self, i: usize) -> Dependency;
    fn rank(&self, i: usize) -> Option<u64>;
    fn prefetch(&self, i: usize);
    fn work(&self) -> Option<&[u64]>;
}

impl<V: VectorView> LoopView<V::T> for V {
    fn at(&self, i: usize) -> Option<V::T> {
        VectorView::at(self, i)
    }
    fn selects(&self, i: usize) -> bool {
        VectorView::selects(self, i)
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
    fn work(&self) -> Option<&[u64]> {
        VectorView::work(self)
    }
}

/// A view of any type, called virtually. A loop is compiled once for all views that have no [`fixed`](VectorView::fixed) form.
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
    fn selects(&self, i: usize) -> bool {
        self.0.selects(i)
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
    fn work(&self) -> Option<&[u64]> {
        self.0.work()
    }
}
