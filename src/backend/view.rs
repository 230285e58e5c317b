//! The contract between expressions and backends: what a terminal asks of an expression's view.

use crate::formats::bitmap::{bit, ones};
use crate::formats::{SharedView, Store, StoreView};
use vxm_semiring::Element;

/// The indices at which something may be present (or selected): none lies outside.
#[derive(Debug, Clone, Copy)]
pub enum Support<'a> {
    /// Any index.
    All,
    /// The indices whose bit is set.
    Bits(&'a [u64]),
    /// These, ascending.
    List(&'a [u32]),
}

impl Support<'_> {
    /// How many indices these are, of `n`.
    pub fn count(&self, n: usize) -> usize {
        match self {
            Self::All => n,
            Self::Bits(words) => words.iter().map(|w| w.count_ones() as usize).sum(),
            Self::List(indices) => indices.len(),
        }
    }

    /// The indices, ascending, as a list; the one it holds if it is one.
    pub fn list(&self, n: usize) -> std::borrow::Cow<'_, [u32]> {
        match self {
            Self::All => (0..n as u32).collect::<Vec<_>>().into(),
            Self::Bits(words) => ones(words, 0).map(|i| i as u32).collect::<Vec<_>>().into(),
            Self::List(indices) => (*indices).into(),
        }
    }
}

/// Which elements of a loop's state an element of a view depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depends {
    /// At most on the state's element of the same index.
    Own,
    /// It stays as it is until the state's element of this index changes, or its own.
    On(u32),
    /// The state's element of this index alone is enough for a fold of it to end early.
    After(u32),
    /// On whatever.
    Any,
}

impl Depends {
    /// What depends on two of them.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Own, depends) | (depends, Self::Own) => depends,
            (one, another) if one == another => one,
            _ => Self::Any,
        }
    }
}

/// That a view is its own [`fixed`](At::fixed) one: of nothing that it is over is more known.
macro_rules! fixed_as_it_is {
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
pub(crate) use fixed_as_it_is;

/// A readable vector: an expression with its device, formats and directions chosen.
///
/// A terminal calls [`at`](Self::at) once for each index of [`support`](Self::support), from many threads; whatever an expression
/// is made of is inlined there, so elementwise work costs no intermediate vector. Loops read a copy, which lies in registers.
pub trait At: Sync + Clone {
    /// The elements' type.
    type T: Element;

    /// What [`fixed`](Self::fixed) is.
    type Fixed<'v>: At<T = Self::T>
    where
        Self: 'v;

    /// The element at `i`.
    fn at(&self, i: usize) -> Option<Self::T>;

    /// The same view, for a loop: over a loop's state and compressed rows, of which it is known when it is compiled that they are those.
    /// What it else asks itself at each element takes as long as a short row. `None` where it is over others.
    fn fixed(&self) -> Option<Self::Fixed<'_>>;

    /// The element at `i` where it is known to be present.
    #[inline(always)]
    fn value(&self, i: usize) -> Self::T {
        self.at(i).unwrap_or(Self::T::ZERO)
    }

    /// The element at `i`, the `k`-th index of the list that [`support`](Self::support) returns (`k` means nothing for the
    /// other kinds of support).
    #[inline(always)]
    fn drawn(&self, k: usize, i: usize) -> Option<Self::T> {
        let _ = k;
        self.at(i)
    }

    /// Whether every index holds an element.
    #[inline(always)]
    fn is_full(&self) -> bool {
        false
    }

    /// Where elements may be.
    #[inline(always)]
    fn support(&self) -> Support<'_> {
        Support::All
    }

    /// Whether a terminal may write at `i`: the mask's answer where this is a masked expression.
    #[inline(always)]
    fn selects(&self, i: usize) -> bool {
        let _ = i;
        true
    }

    /// Where a terminal may write.
    #[inline(always)]
    fn selected(&self) -> Support<'_> {
        Support::All
    }

    /// What a terminal writes at `i`, the `k`-th index of the list that [`selected`](Self::selected) returns: `None` where it may
    /// not write.
    #[inline(always)]
    fn drawn_selected(&self, k: usize, i: usize) -> Option<Option<Self::T>> {
        let _ = k;
        self.selects(i).then(|| self.at(i))
    }

    /// What the element at `i` depends on, as far as is known.
    fn depends(&self, i: usize) -> Depends {
        let _ = i;
        Depends::Any
    }

    /// What tells whose turn may be before others', where a limit compares ends of entries: the bits of the outermost one's. `None` where the
    /// state itself does. No answer depends on it.
    fn rank(&self, i: usize) -> Option<u64> {
        let _ = i;
        None
    }

    /// Asks for where what [`at`](Self::at) reads begins, so that it is near by then.
    #[inline(always)]
    fn ask(&self, i: usize) {
        let _ = i;
    }

    /// The whole vector, where it was evaluated already: taken out of the view, which must not be read again.
    fn take(&mut self) -> Option<Store<Self::T>> {
        None
    }

    /// Running costs: `at(i)` costs about `work[i + 1] - work[i]`; `None` where all indices cost the same.
    #[inline(always)]
    fn work(&self) -> Option<&[u64]> {
        None
    }
}

impl<T: Element> At for StoreView<'_, T> {
    type T = T;
    fixed_as_it_is!();
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
    fn drawn(&self, k: usize, i: usize) -> Option<T> {
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
    fn depends(&self, _: usize) -> Depends {
        Depends::Own
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

/// A vector as it is read where a placeholder stands for it: still, or while others write it.
#[derive(Debug, Clone, Copy)]
pub enum StateView<'a, T> {
    /// Nobody writes it.
    Still(StoreView<'a, T>),
    /// A loop does; every place holds an element.
    Shared(SharedView<'a, T>),
}

impl<'a, T: Element> At for StateView<'a, T> {
    type T = T;
    type Fixed<'v>
        = SharedView<'a, T>
    where
        Self: 'v;
    fn fixed(&self) -> Option<SharedView<'a, T>> {
        match self {
            Self::Still(_) => None,
            Self::Shared(shared) => Some(*shared),
        }
    }
    #[inline(always)]
    fn at(&self, i: usize) -> Option<T> {
        match self {
            Self::Still(view) => view.at(i),
            Self::Shared(shared) => Some(shared.get(i)),
        }
    }
    #[inline(always)]
    fn value(&self, i: usize) -> T {
        match self {
            Self::Still(view) => view.value(i),
            Self::Shared(shared) => shared.get(i),
        }
    }
    #[inline(always)]
    fn drawn(&self, k: usize, i: usize) -> Option<T> {
        match self {
            Self::Still(view) => view.drawn(k, i),
            Self::Shared(shared) => Some(shared.get(i)),
        }
    }
    #[inline(always)]
    fn is_full(&self) -> bool {
        match self {
            Self::Still(view) => view.is_full(),
            Self::Shared(_) => true,
        }
    }
    fn depends(&self, _: usize) -> Depends {
        Depends::Own
    }
    #[inline(always)]
    fn support(&self) -> Support<'_> {
        match self {
            Self::Still(view) => view.support(),
            Self::Shared(_) => Support::All,
        }
    }
}

impl<T: Element> At for SharedView<'_, T> {
    type T = T;
    fixed_as_it_is!();
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
    fn depends(&self, _: usize) -> Depends {
        Depends::Own
    }
}
