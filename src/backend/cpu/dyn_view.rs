//! Views behind a virtual call, borrowed or owned.

use crate::backend::profile::Counts;
use crate::backend::view::{Dependency, StateView, Support, VectorView, fixed_is_self};
use crate::formats::Store;
use vxm_semiring::Element;

/// The part of [`VectorView`] that loops and terminals call, as a trait that can be a `dyn` type. Its methods are described there.
#[allow(missing_docs)]
pub trait LoopView<T>: Sync {
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
    fn counted(&self, i: usize, counts: &mut Counts) -> Option<T>;
    fn work(&self) -> Option<&[u64]>;
    fn value(&self, i: usize) -> T;
    fn take(&mut self) -> Option<Store<T>>;
    fn clone_boxed<'v>(&self) -> Box<dyn LoopView<T> + 'v>
    where
        Self: 'v;
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
    fn counted(&self, i: usize, counts: &mut Counts) -> Option<V::T> {
        VectorView::counted(self, i, counts)
    }
    fn work(&self) -> Option<&[u64]> {
        VectorView::work(self)
    }
    fn value(&self, i: usize) -> V::T {
        VectorView::value(self, i)
    }
    fn take(&mut self) -> Option<Store<V::T>> {
        VectorView::take(self)
    }
    fn clone_boxed<'v>(&self) -> Box<dyn LoopView<V::T> + 'v>
    where
        Self: 'v,
    {
        Box::new(self.clone())
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
    fn counted(&self, i: usize, counts: &mut Counts) -> Option<T> {
        self.0.counted(i, counts)
    }
    fn work(&self) -> Option<&[u64]> {
        self.0.work()
    }
}

/// A view of any type, owned: what a view of type-erased expressions is made of. A vector, or a loop's state, is read without a virtual call.
pub enum BoxedView<'v, T> {
    /// A vector, or a loop's state.
    Leaf(StateView<'v, T>),
    /// Any other view.
    Other(Box<dyn LoopView<T> + 'v>),
}

/// A borrowed [`BoxedView`], which is cheap to copy.
#[derive(Clone, Copy)]
pub enum BorrowedView<'v, T> {
    /// A vector, or a loop's state.
    Leaf(StateView<'v, T>),
    /// Any other view.
    Other(&'v dyn LoopView<T>),
}

impl<T: Element> Clone for BoxedView<'_, T> {
    fn clone(&self) -> Self {
        match self {
            Self::Leaf(leaf) => Self::Leaf(*leaf),
            Self::Other(view) => Self::Other(LoopView::clone_boxed(&**view)),
        }
    }
}

/// The methods of [`VectorView`] that ask the view itself.
macro_rules! ask_view {
    () => {
        fn is_boxed(&self) -> bool {
            matches!(self, Self::Other(_))
        }
        #[inline]
        fn at(&self, i: usize) -> Option<T> {
            match self {
                Self::Leaf(leaf) => VectorView::at(leaf, i),
                Self::Other(view) => LoopView::at(&**view, i),
            }
        }
        #[inline]
        fn value(&self, i: usize) -> T {
            match self {
                Self::Leaf(leaf) => VectorView::value(leaf, i),
                Self::Other(view) => LoopView::value(&**view, i),
            }
        }
        #[inline]
        fn at_listed(&self, k: usize, i: usize) -> Option<T> {
            match self {
                Self::Leaf(leaf) => VectorView::at_listed(leaf, k, i),
                Self::Other(view) => LoopView::at_listed(&**view, k, i),
            }
        }
        fn is_full(&self) -> bool {
            match self {
                Self::Leaf(leaf) => VectorView::is_full(leaf),
                Self::Other(view) => LoopView::is_full(&**view),
            }
        }
        #[inline]
        fn elements(&self) -> Option<*const [T]> {
            match self {
                Self::Leaf(leaf) => VectorView::elements(leaf),
                Self::Other(_) => None,
            }
        }
        fn support(&self) -> Support<'_> {
            match self {
                Self::Leaf(leaf) => VectorView::support(leaf),
                Self::Other(view) => LoopView::support(&**view),
            }
        }
        fn selects(&self, i: usize) -> bool {
            match self {
                Self::Leaf(leaf) => VectorView::selects(leaf, i),
                Self::Other(view) => LoopView::selects(&**view, i),
            }
        }
        fn selected(&self) -> Support<'_> {
            match self {
                Self::Leaf(leaf) => VectorView::selected(leaf),
                Self::Other(view) => LoopView::selected(&**view),
            }
        }
        fn at_selected(&self, k: usize, i: usize) -> Option<Option<T>> {
            match self {
                Self::Leaf(leaf) => VectorView::at_selected(leaf, k, i),
                Self::Other(view) => LoopView::at_selected(&**view, k, i),
            }
        }
        fn dependency(&self, i: usize) -> Dependency {
            match self {
                Self::Leaf(leaf) => VectorView::dependency(leaf, i),
                Self::Other(view) => LoopView::dependency(&**view, i),
            }
        }
        fn rank(&self, i: usize) -> Option<u64> {
            match self {
                Self::Leaf(leaf) => VectorView::rank(leaf, i),
                Self::Other(view) => LoopView::rank(&**view, i),
            }
        }
        fn prefetch(&self, i: usize) {
            match self {
                Self::Leaf(leaf) => VectorView::prefetch(leaf, i),
                Self::Other(view) => LoopView::prefetch(&**view, i),
            }
        }
        fn counted(&self, i: usize, counts: &mut Counts) -> Option<T> {
            match self {
                Self::Leaf(leaf) => VectorView::counted(leaf, i, counts),
                Self::Other(view) => LoopView::counted(&**view, i, counts),
            }
        }
        fn work(&self) -> Option<&[u64]> {
            match self {
                Self::Leaf(leaf) => VectorView::work(leaf),
                Self::Other(view) => LoopView::work(&**view),
            }
        }
    };
}

impl<'b, T: Element> VectorView for BoxedView<'b, T> {
    type T = T;
    type Fixed<'v>
        = BorrowedView<'v, T>
    where
        Self: 'v;
    fn fixed(&self) -> Option<BorrowedView<'_, T>> {
        Some(match self {
            Self::Leaf(leaf) => BorrowedView::Leaf(*leaf),
            Self::Other(view) => BorrowedView::Other(&**view),
        })
    }
    fn boxed<'v>(self) -> BoxedView<'v, T>
    where
        Self: 'v,
    {
        self
    }
    fn take(&mut self) -> Option<Store<T>> {
        match self {
            Self::Leaf(leaf) => VectorView::take(leaf),
            Self::Other(view) => LoopView::take(&mut **view),
        }
    }
    ask_view!();
}

impl<T: Element> VectorView for BorrowedView<'_, T> {
    type T = T;
    fixed_is_self!();
    ask_view!();
}
