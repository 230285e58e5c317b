//! The contract between expressions and the CPU backend: how a terminal or a loop reads an expression.

use crate::backend::cpu::dyn_view::BoxedView;
use crate::backend::profile::Counts;
use crate::formats::bitmap::{bit, places};
use crate::formats::{SharedView, Store, StoreView};
use vxm_semiring::Element;

/// A set of indices that contains all indices where an element is present, or all that a mask selects. It may contain more.
#[derive(Debug, Clone, Copy)]
pub enum Support<'a> {
    /// All indices.
    All,
    /// The indices of the bits that are set in these words.
    Bits(&'a [u64]),
    /// The indices in this list, which is ascending.
    List(&'a [u32]),
}

impl Support<'_> {
    /// The number of indices, for a vector of length `n`.
    pub fn count(&self, n: usize) -> usize {
        match self {
            Self::All => n,
            Self::Bits(words) => words.iter().map(|w| w.count_ones() as usize).sum(),
            Self::List(indices) => indices.len(),
        }
    }

    /// The indices as an ascending list, for a vector of length `n`. A list is borrowed.
    pub fn list(&self, n: usize) -> std::borrow::Cow<'_, [u32]> {
        match self {
            Self::All => (0..n as u32).collect::<Vec<_>>().into(),
            Self::Bits(words) => places(words).into(),
            Self::List(indices) => (*indices).into(),
        }
    }
}

/// What is known about an element of a view: the elements of the loop's state that it depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dependency {
    /// It depends on the state's element of the same index, or on none.
    OwnElement,
    /// It stays as it is until the state's element at this index changes, or the state's element of its own index.
    BlockedBy(u32),
    /// The state's element at this index alone stops its fold early. Other elements may still change it.
    StoppedBy(u32),
    /// Nothing is known: it may depend on any element.
    Unknown,
}

impl Dependency {
    /// The dependency of a value that is computed from two values with these dependencies.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::OwnElement, other) | (other, Self::OwnElement) => other,
            (one, another) if one == another => one,
            _ => Self::Unknown,
        }
    }
}

/// Implements [`VectorView::fixed`] for a view that is its own fixed form.
macro_rules! fixed_is_self {
    () => {
        type Fixed<'v>
            = Self
        where
            Self: 'v;
        fn fixed(&self) -> Option<Self> {
            Some(Clone::clone(self))
        }
    };
}
pub(crate) use fixed_is_self;

/// A readable vector: an expression with its device, formats and directions chosen.
///
/// A terminal calls [`at`](Self::at) once for each index of [`support`](Self::support), from many threads. All parts of an expression
/// are inlined there, so elementwise work needs no intermediate vector. Hot loops clone the view, so that the copy can lie in registers.
pub trait VectorView: Sync + Clone {
    /// The elements' type.
    type T: Element;

    /// The view that [`fixed`](Self::fixed) returns.
    type Fixed<'v>: VectorView<T = Self::T>
    where
        Self: 'v;

    /// The element at `i`, or `None` if it is absent.
    fn at(&self, i: usize) -> Option<Self::T>;

    /// The same view for a loop, with operands of kinds known at compile time: the loop's shared state and compressed rows.
    /// Otherwise each visit would branch on the kinds, which takes as long as folding a short row. `None` if an operand is of another kind.
    fn fixed(&self) -> Option<Self::Fixed<'_>>;

    /// The element at `i`, which must be present. It saves the presence test.
    #[inline(always)]
    fn value(&self, i: usize) -> Self::T {
        self.at(i).unwrap_or(Self::T::ZERO)
    }

    /// The element at `i`, which is the `k`-th index of the list that [`support`](Self::support) returns. It saves a search for `i` in the
    /// list. If the support isn't a list, `k` is ignored.
    #[inline(always)]
    fn at_listed(&self, k: usize, i: usize) -> Option<Self::T> {
        let _ = k;
        self.at(i)
    }

    /// Whether an element is known to be present at every index.
    #[inline(always)]
    fn is_full(&self) -> bool {
        false
    }

    /// The indices where elements may be present.
    #[inline(always)]
    fn support(&self) -> Support<'_> {
        Support::All
    }

    /// Whether a terminal may write at `i`. If the expression has a mask, the mask decides.
    #[inline(always)]
    fn selects(&self, i: usize) -> bool {
        let _ = i;
        true
    }

    /// The indices where a terminal may write.
    #[inline(always)]
    fn selected(&self) -> Support<'_> {
        Support::All
    }

    /// What a terminal writes at `i`, which is the `k`-th index of the list that [`selected`](Self::selected) returns. `None` if it may not
    /// write there; `Some(None)` if it writes that the element is absent.
    #[inline(always)]
    fn at_selected(&self, k: usize, i: usize) -> Option<Option<Self::T>> {
        let _ = k;
        self.selects(i).then(|| self.at(i))
    }

    /// What is known about the state's elements that the element at `i` depends on.
    fn dependency(&self, i: usize) -> Dependency {
        let _ = i;
        Dependency::Unknown
    }

    /// A static sort key for element `i`. It chooses a loop's visiting order only; results don't depend on it.
    ///
    /// It is the bits of the key vector, if an edge filter compares keys at edges' ends (the outermost filter, if several do). `None` if
    /// none does; the state's own bits then serve as sort key.
    fn rank(&self, i: usize) -> Option<u64> {
        let _ = i;
        None
    }

    /// Prefetches the beginning of what [`at`](Self::at) reads for `i`.
    #[inline(always)]
    fn prefetch(&self, i: usize) {
        let _ = i;
    }

    /// As [`at`](Self::at). Adds what it reads, beside elements of vectors: entries, tiles, and steps along pointers.
    fn counted(&self, i: usize, counts: &mut Counts) -> Option<Self::T> {
        let _ = counts;
        self.at(i)
    }

    /// Takes the whole vector out of the view, if it was evaluated already. The view must not be read afterwards.
    fn take(&mut self) -> Option<Store<Self::T>> {
        None
    }

    /// The elements in memory, if one is present at every index and they lie one after the other. Other threads may write them, atomically.
    #[inline(always)]
    fn elements(&self) -> Option<*const [Self::T]> {
        None
    }

    /// Whether reading an element takes a virtual call, so that what reads elements many times had better evaluate the view first.
    fn is_boxed(&self) -> bool {
        false
    }

    /// The view as one type for all views of `T`, so that what reads it is compiled once.
    fn boxed<'v>(self) -> BoxedView<'v, Self::T>
    where
        Self: 'v,
    {
        BoxedView::Other(Box::new(self))
    }

    /// Prefix sums of costs in matrix entries: `at(i)` costs about `work[i + 1] - work[i]`. `None` if all indices cost the same.
    #[inline(always)]
    fn work(&self) -> Option<&[u64]> {
        None
    }
}

impl<'a, T: Element> VectorView for StoreView<'a, T> {
    type T = T;
    fn boxed<'v>(self) -> BoxedView<'v, T>
    where
        Self: 'v,
    {
        BoxedView::Leaf(StateView::ReadOnly(self))
    }
    type Fixed<'v>
        = PlacedView<'a, T>
    where
        Self: 'v;
    fn fixed(&self) -> Option<PlacedView<'a, T>> {
        match *self {
            Self::Dense(values) => Some(PlacedView { values, bits: None }),
            Self::Bitmap(values, bits) => Some(PlacedView { values, bits: Some(bits) }),
            Self::Sparse(..) => None,
        }
    }
    #[inline(always)]
    fn at(&self, i: usize) -> Option<T> {
        self.get(i)
    }
    #[inline(always)]
    fn value(&self, i: usize) -> T {
        match self {
            Self::Dense(values) | Self::Bitmap(values, _) => values[i],
            Self::Sparse(..) => self.get(i).unwrap_or(T::ZERO),
        }
    }
    #[inline(always)]
    fn at_listed(&self, k: usize, i: usize) -> Option<T> {
        match self {
            Self::Dense(values) => Some(values[i]),
            Self::Bitmap(values, bits) => bit(bits, i).then(|| values[i]),
            Self::Sparse(_, values) => Some(values[k]),
        }
    }
    #[inline(always)]
    fn is_full(&self) -> bool {
        matches!(self, Self::Dense(_))
    }
    #[inline(always)]
    fn elements(&self) -> Option<*const [T]> {
        match *self {
            Self::Dense(values) => Some(values),
            _ => None,
        }
    }
    fn dependency(&self, _: usize) -> Dependency {
        Dependency::OwnElement
    }
    #[inline(always)]
    fn support(&self) -> Support<'_> {
        match self {
            Self::Dense(_) => Support::All,
            Self::Bitmap(_, bits) => Support::Bits(bits),
            Self::Sparse(indices, _) => Support::List(indices),
        }
    }
}

/// A stored vector with a place for each index, and a bit for each present element unless all are present.
#[derive(Debug, Clone, Copy)]
pub struct PlacedView<'a, T> {
    values: &'a [T],
    bits: Option<&'a [u64]>,
}

impl<T: Element> VectorView for PlacedView<'_, T> {
    type T = T;
    fixed_is_self!();
    #[inline(always)]
    fn at(&self, i: usize) -> Option<T> {
        self.bits.is_none_or(|bits| bit(bits, i)).then(|| self.values[i])
    }
    #[inline(always)]
    fn value(&self, i: usize) -> T {
        self.values[i]
    }
    #[inline(always)]
    fn is_full(&self) -> bool {
        self.bits.is_none()
    }
    #[inline(always)]
    fn elements(&self) -> Option<*const [T]> {
        self.is_full().then_some(self.values as *const [T])
    }
    fn dependency(&self, _: usize) -> Dependency {
        Dependency::OwnElement
    }
    #[inline(always)]
    fn support(&self) -> Support<'_> {
        self.bits.map_or(Support::All, Support::Bits)
    }
}

/// A loop's state as its body reads it.
#[derive(Debug, Clone, Copy)]
pub enum StateView<'a, T> {
    /// A vector that isn't written meanwhile.
    ReadOnly(StoreView<'a, T>),
    /// A vector that the loop's threads write concurrently. An element is present at every index.
    Shared(SharedView<'a, T>),
}

impl<'a, T: Element> VectorView for StateView<'a, T> {
    type T = T;
    fn boxed<'v>(self) -> BoxedView<'v, T>
    where
        Self: 'v,
    {
        BoxedView::Leaf(self)
    }
    type Fixed<'v>
        = SharedView<'a, T>
    where
        Self: 'v;
    fn fixed(&self) -> Option<SharedView<'a, T>> {
        match self {
            Self::ReadOnly(_) => None,
            Self::Shared(shared) => Some(*shared),
        }
    }
    #[inline(always)]
    fn at(&self, i: usize) -> Option<T> {
        match self {
            Self::ReadOnly(view) => view.at(i),
            Self::Shared(shared) => Some(shared.get(i)),
        }
    }
    #[inline(always)]
    fn value(&self, i: usize) -> T {
        match self {
            Self::ReadOnly(view) => view.value(i),
            Self::Shared(shared) => shared.get(i),
        }
    }
    #[inline(always)]
    fn at_listed(&self, k: usize, i: usize) -> Option<T> {
        match self {
            Self::ReadOnly(view) => view.at_listed(k, i),
            Self::Shared(shared) => Some(shared.get(i)),
        }
    }
    #[inline(always)]
    fn is_full(&self) -> bool {
        match self {
            Self::ReadOnly(view) => view.is_full(),
            Self::Shared(_) => true,
        }
    }
    #[inline(always)]
    fn elements(&self) -> Option<*const [T]> {
        match self {
            Self::ReadOnly(view) => view.elements(),
            Self::Shared(shared) => VectorView::elements(shared),
        }
    }
    fn dependency(&self, _: usize) -> Dependency {
        Dependency::OwnElement
    }
    #[inline(always)]
    fn support(&self) -> Support<'_> {
        match self {
            Self::ReadOnly(view) => view.support(),
            Self::Shared(_) => Support::All,
        }
    }
}

impl<T: Element> VectorView for SharedView<'_, T> {
    type T = T;
    fixed_is_self!();
    #[inline(always)]
    fn at(&self, i: usize) -> Option<T> {
        Some(self.get(i))
    }
    #[inline(always)]
    fn value(&self, i: usize) -> T {
        self.get(i)
    }
    #[inline(always)]
    fn is_full(&self) -> bool {
        true
    }
    #[inline(always)]
    fn elements(&self) -> Option<*const [T]> {
        SharedView::elements(*self)
    }
    fn dependency(&self, _: usize) -> Dependency {
        Dependency::OwnElement
    }
}

/// A view, or a vector that was evaluated before: on ranks, where elements of others had to be asked for.
#[derive(Debug, Clone)]
pub enum Made<V: VectorView> {
    /// The view.
    View(V),
    /// The evaluated vector.
    Stored(Store<V::T>),
}

impl<V: VectorView> VectorView for Made<V> {
    type T = V::T;
    type Fixed<'v>
        = V::Fixed<'v>
    where
        Self: 'v;
    fn fixed(&self) -> Option<Self::Fixed<'_>> {
        match self {
            Self::View(view) => view.fixed(),
            Self::Stored(_) => None,
        }
    }
    #[inline(always)]
    fn at(&self, i: usize) -> Option<V::T> {
        match self {
            Self::View(view) => view.at(i),
            Self::Stored(store) => store.get(i),
        }
    }
    #[inline(always)]
    fn value(&self, i: usize) -> V::T {
        match self {
            Self::View(view) => view.value(i),
            Self::Stored(store) => store.view().value(i),
        }
    }
    #[inline(always)]
    fn at_listed(&self, k: usize, i: usize) -> Option<V::T> {
        match self {
            Self::View(view) => view.at_listed(k, i),
            Self::Stored(store) => store.view().at_listed(k, i),
        }
    }
    fn is_full(&self) -> bool {
        match self {
            Self::View(view) => view.is_full(),
            Self::Stored(store) => store.view().is_full(),
        }
    }
    fn support(&self) -> Support<'_> {
        match self {
            Self::View(view) => view.support(),
            Self::Stored(Store::Sparse(sparse)) => Support::List(sparse.indices()),
            Self::Stored(Store::Bitmap(bitmap)) => bitmap.bits().map_or(Support::All, Support::Bits),
        }
    }
    fn dependency(&self, i: usize) -> Dependency {
        match self {
            Self::View(view) => view.dependency(i),
            Self::Stored(_) => Dependency::OwnElement,
        }
    }
    fn counted(&self, i: usize, counts: &mut Counts) -> Option<V::T> {
        match self {
            Self::View(view) => view.counted(i, counts),
            Self::Stored(store) => store.get(i),
        }
    }
    fn take(&mut self) -> Option<Store<V::T>> {
        match self {
            Self::View(view) => view.take(),
            Self::Stored(store) => Some(std::mem::take(store)),
        }
    }
    #[inline(always)]
    fn work(&self) -> Option<&[u64]> {
        match self {
            Self::View(view) => view.work(),
            Self::Stored(_) => None,
        }
    }
}
