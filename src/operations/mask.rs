//! Masks: structural, by value, and the complement of either. A mask says where a result may be written.

use crate::backend::Place;
use crate::backend::cuda::codegen::builder::{KernelBuilder, Node};
use crate::backend::profile::Counts;
use crate::backend::view::{Dependency, Support, VectorView};
use crate::containers::Vector;
use crate::error::Result;
use crate::operations::dyn_expr::DynExpr;
use crate::operations::expr::{Env, Expr, fits, smaller_support};
use crate::operations::loops::dependencies::Reads;
use std::ops::Not;
use std::panic::Location;
use vxm_semiring::Element;

/// A mask. Any expression is a structural mask: true where it holds an element. [`Values`] is true where that element
/// isn't zero, and [`Complement`] negates a mask.
pub trait Mask: Copy + Sync {
    /// The mask in the form that can be tested, place by place.
    type Test<'s>: Test
    where
        Self: 's;
    /// Whether a test costs more than a few operations; see [`Expr::is_heavy`].
    fn is_heavy(&self) -> bool {
        false
    }
    /// The mask's length.
    ///
    /// # Errors
    /// As [`Expr::len`].
    fn len(&self, env: &Env<'_>) -> Result<usize>;
    /// Evaluates the mask's operands, and returns its testable form.
    ///
    /// # Errors
    /// As [`Expr::view`].
    fn test<'s>(&'s self, env: &Env<'s>) -> Result<Self::Test<'s>>;
    /// Where an operand lies; see [`Expr::place`].
    fn place(&self, env: &Env<'_>) -> Option<Place>;
    /// An upper bound on the number of places where the mask is true, if it is known without computing or reading back.
    fn known_count(&self, _: &Env<'_>) -> Option<usize> {
        None
    }
    /// Adds what the mask reads of a loop's state; see [`Expr::reads`].
    fn reads<'s>(&'s self, _: &Env<'_>, reads: &mut Reads<'s>) {
        reads.everything();
    }
    /// Emits the mask as a C++ type; see [`Expr::emit`].
    ///
    /// # Errors
    /// As [`Expr::emit`].
    fn emit(&self, env: &Env<'_>, kernel: &mut KernelBuilder) -> Result<Node>;
}

/// The testable form of a mask.
pub trait Test: Sync + Clone {
    /// Whether `i` may be written.
    fn test(&self, i: usize) -> bool;
    /// Whether `i`, the `k`-th index of the list that [`support`](Self::support) returns, may be written.
    fn test_listed(&self, k: usize, i: usize) -> bool;
    /// The places at which the mask may be true: it is false elsewhere.
    fn support(&self) -> Support<'_>;
    /// What the answer at `i` depends on; as of `VectorView::dependency`.
    fn dependency(&self, i: usize) -> Dependency;
    /// As [`test`](Self::test). Adds what it reads; as of `VectorView::counted`.
    fn counted(&self, i: usize, counts: &mut Counts) -> bool;
}

/// A structural test: whether a view holds an element.
#[derive(Debug, Clone, Copy)]
pub struct Present<V>(V);

impl<V: VectorView> Test for Present<V> {
    #[inline(always)]
    fn test(&self, i: usize) -> bool {
        self.0.at(i).is_some()
    }
    #[inline(always)]
    fn test_listed(&self, k: usize, i: usize) -> bool {
        self.0.at_listed(k, i).is_some()
    }
    fn support(&self) -> Support<'_> {
        self.0.support()
    }
    fn dependency(&self, i: usize) -> Dependency {
        self.0.dependency(i)
    }
    fn counted(&self, i: usize, counts: &mut Counts) -> bool {
        self.0.counted(i, counts).is_some()
    }
}

impl<E: Expr> Mask for E {
    type Test<'s>
        = Present<E::View<'s>>
    where
        E: 's;
    fn is_heavy(&self) -> bool {
        Expr::is_heavy(self)
    }
    fn len(&self, env: &Env<'_>) -> Result<usize> {
        Expr::len(self, env)
    }
    fn test<'s>(&'s self, env: &Env<'s>) -> Result<Self::Test<'s>> {
        Ok(Present(self.view(&env.for_operand())?))
    }
    fn place(&self, env: &Env<'_>) -> Option<Place> {
        Expr::place(self, env)
    }
    fn known_count(&self, env: &Env<'_>) -> Option<usize> {
        Expr::known_count(self, env)
    }
    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>) {
        Expr::reads(self, env, reads);
    }
    fn emit(&self, env: &Env<'_>, kernel: &mut KernelBuilder) -> Result<Node> {
        let inner = Expr::emit(self, &env.for_operand(), kernel)?;
        Ok(Node::new(kernel.ty("vxm::StructureMask", [inner.ty]), inner.full))
    }
}

/// A mask by value: true where the expression holds an element that isn't zero.
#[derive(Debug, Clone, Copy)]
pub struct Values<E>(pub(crate) E);

/// The testable form of [`Values`].
#[derive(Debug, Clone, Copy)]
pub struct NonZero<V>(V);

fn is_nonzero<T: Element>(value: Option<T>) -> bool {
    value.is_some_and(|value| size_of::<T>() == 0 || value != T::ZERO)
}

impl<V: VectorView> Test for NonZero<V> {
    #[inline(always)]
    fn test(&self, i: usize) -> bool {
        is_nonzero(self.0.at(i))
    }
    #[inline(always)]
    fn test_listed(&self, k: usize, i: usize) -> bool {
        is_nonzero(self.0.at_listed(k, i))
    }
    fn support(&self) -> Support<'_> {
        self.0.support()
    }
    fn dependency(&self, i: usize) -> Dependency {
        self.0.dependency(i)
    }
    fn counted(&self, i: usize, counts: &mut Counts) -> bool {
        is_nonzero(self.0.counted(i, counts))
    }
}

impl<E: Expr> Mask for Values<E> {
    type Test<'s>
        = NonZero<E::View<'s>>
    where
        E: 's;
    fn is_heavy(&self) -> bool {
        Expr::is_heavy(&self.0)
    }
    fn len(&self, env: &Env<'_>) -> Result<usize> {
        self.0.len(env)
    }
    fn test<'s>(&'s self, env: &Env<'s>) -> Result<Self::Test<'s>> {
        Ok(NonZero(self.0.view(&env.for_operand())?))
    }
    fn place(&self, env: &Env<'_>) -> Option<Place> {
        self.0.place(env)
    }
    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>) {
        self.0.reads(env, reads);
    }
    fn emit(&self, env: &Env<'_>, kernel: &mut KernelBuilder) -> Result<Node> {
        let inner = self.0.emit(&env.for_operand(), kernel)?;
        Ok(Node::new(kernel.ty("vxm::ValueMask", [inner.ty]), false))
    }
}

/// The complement of a mask, written `!mask`.
#[derive(Debug, Clone, Copy)]
pub struct Complement<M>(pub(crate) M);

/// The testable form of [`Complement`].
#[derive(Debug, Clone, Copy)]
pub struct Unset<V>(V);

impl<V: Test> Test for Unset<V> {
    #[inline(always)]
    fn test(&self, i: usize) -> bool {
        !self.0.test(i)
    }
    #[inline(always)]
    fn test_listed(&self, _: usize, i: usize) -> bool {
        !self.0.test(i)
    }
    fn support(&self) -> Support<'_> {
        Support::All
    }
    fn dependency(&self, i: usize) -> Dependency {
        self.0.dependency(i)
    }
    fn counted(&self, i: usize, counts: &mut Counts) -> bool {
        !self.0.counted(i, counts)
    }
}

impl<M: Mask> Mask for Complement<M> {
    type Test<'s>
        = Unset<M::Test<'s>>
    where
        M: 's;
    fn is_heavy(&self) -> bool {
        self.0.is_heavy()
    }
    fn len(&self, env: &Env<'_>) -> Result<usize> {
        self.0.len(env)
    }
    fn test<'s>(&'s self, env: &Env<'s>) -> Result<Self::Test<'s>> {
        Ok(Unset(self.0.test(env)?))
    }
    fn place(&self, env: &Env<'_>) -> Option<Place> {
        self.0.place(env)
    }
    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>) {
        self.0.reads(env, reads);
    }
    fn emit(&self, env: &Env<'_>, kernel: &mut KernelBuilder) -> Result<Node> {
        let inner = self.0.emit(env, kernel)?;
        Ok(Node::new(kernel.ty("vxm::MaskComplement", [inner.ty]), false))
    }
}

impl<'a, T: Element> Not for &'a Vector<T> {
    type Output = Complement<&'a Vector<T>>;
    fn not(self) -> Self::Output {
        Complement(self)
    }
}

impl<T: Element> Not for crate::operations::expr::StateRef<T> {
    type Output = Complement<Self>;
    fn not(self) -> Self::Output {
        Complement(self)
    }
}

impl<'a, T: Element> Not for DynExpr<'a, T> {
    type Output = Complement<Self>;
    fn not(self) -> Self::Output {
        Complement(self)
    }
}

impl<E> Not for Values<E> {
    type Output = Complement<Self>;
    fn not(self) -> Self::Output {
        Complement(self)
    }
}

/// An expression restricted to a mask; see [`Verbs::mask`](crate::operations::verbs::Verbs::mask).
#[derive(Debug, Clone, Copy)]
pub struct Masked<E, M> {
    pub(crate) inner: E,
    pub(crate) mask: M,
    pub(crate) at: &'static Location<'static>,
}

/// The view of [`Masked`].
#[derive(Debug, Clone, Copy)]
pub struct MaskedView<V, M> {
    inner: V,
    mask: M,
}

impl<E: Expr, M: Mask> Expr for Masked<E, M> {
    type T = E::T;
    type View<'s>
        = MaskedView<E::View<'s>, M::Test<'s>>
    where
        Self: 's;
    fn is_heavy(&self) -> bool {
        Expr::is_heavy(&self.inner) || self.mask.is_heavy()
    }
    fn len(&self, env: &Env<'_>) -> Result<usize> {
        self.inner.len(env)
    }
    fn view<'s>(&'s self, env: &Env<'s>) -> Result<Self::View<'s>> {
        let n = self.inner.len(env)?;
        fits("mask", n, self.mask.len(env)?, self.at)?;
        let mask = self.mask.test(env)?;
        let wanted = mask.support().count(n);
        Ok(MaskedView { inner: self.inner.view(&env.wanting(wanted))?, mask })
    }
    fn place(&self, env: &Env<'_>) -> Option<Place> {
        self.inner.place(env).or_else(|| self.mask.place(env))
    }
    fn known_count(&self, env: &Env<'_>) -> Option<usize> {
        let (inner, mask) = (self.inner.known_count(env), self.mask.known_count(env));
        inner.into_iter().chain(mask).min()
    }
    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>) {
        self.inner.reads(env, reads);
        self.mask.reads(env, reads);
    }
    fn emit(&self, env: &Env<'_>, kernel: &mut KernelBuilder) -> Result<Node> {
        fits("mask", self.inner.len(env)?, self.mask.len(env)?, self.at)?;
        // before the inner expression is emitted: a product in it asks whether all of its rows are wanted
        kernel.note_masked();
        kernel.note_skippable();
        let inner = match self.mask.known_count(env) {
            Some(wanted) => self.inner.emit(&env.wanting(wanted), kernel)?,
            None => self.inner.emit(env, kernel)?,
        };
        let mask = kernel.emit_mask(|kernel| self.mask.emit(env, kernel))?;
        Ok(Node::new(kernel.ty("vxm::Masked", [inner.ty, mask.ty]), inner.full && mask.full))
    }
}

impl<V: VectorView, M: Test> MaskedView<V, M> {
    /// Whether the mask's support is the smaller of the two.
    #[inline(always)]
    fn mask_is_smaller(&self) -> bool {
        smaller_support(self.mask.support(), self.inner.support()).1
    }
}

impl<V: VectorView, M: Test> VectorView for MaskedView<V, M> {
    type T = V::T;
    type Fixed<'v>
        = MaskedView<V::Fixed<'v>, M>
    where
        Self: 'v;
    fn fixed(&self) -> Option<Self::Fixed<'_>> {
        Some(MaskedView { inner: self.inner.fixed()?, mask: self.mask.clone() })
    }
    fn dependency(&self, i: usize) -> Dependency {
        self.inner.dependency(i).and(self.mask.dependency(i))
    }
    #[inline(always)]
    fn at(&self, i: usize) -> Option<V::T> {
        if self.mask.test(i) { self.inner.at(i) } else { None }
    }
    #[inline(always)]
    fn value(&self, i: usize) -> V::T {
        self.inner.value(i)
    }
    #[inline(always)]
    fn at_listed(&self, k: usize, i: usize) -> Option<V::T> {
        if self.mask_is_smaller() {
            if self.mask.test_listed(k, i) { self.inner.at(i) } else { None }
        } else if self.mask.test(i) {
            self.inner.at_listed(k, i)
        } else {
            None
        }
    }
    fn support(&self) -> Support<'_> {
        smaller_support(self.mask.support(), self.inner.support()).0
    }
    #[inline(always)]
    fn selects(&self, i: usize) -> bool {
        self.mask.test(i) && self.inner.selects(i)
    }
    fn selected(&self) -> Support<'_> {
        smaller_support(self.mask.support(), self.inner.selected()).0
    }
    #[inline(always)]
    fn at_selected(&self, k: usize, i: usize) -> Option<Option<V::T>> {
        if smaller_support(self.mask.support(), self.inner.selected()).1 {
            (self.mask.test_listed(k, i) && self.inner.selects(i)).then(|| self.inner.at(i))
        } else if self.mask.test(i) {
            self.inner.at_selected(k, i)
        } else {
            None
        }
    }
    #[inline(always)]
    fn work(&self) -> Option<&[u64]> {
        self.inner.work()
    }
    fn rank(&self, i: usize) -> Option<u64> {
        self.inner.rank(i)
    }
    #[inline(always)]
    fn prefetch(&self, i: usize) {
        self.inner.prefetch(i);
    }
    fn counted(&self, i: usize, counts: &mut Counts) -> Option<V::T> {
        if self.mask.counted(i, counts) { self.inner.counted(i, counts) } else { None }
    }
}
