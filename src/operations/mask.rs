//! Masks: where a result may be written. Structural, by value, and the complement of either.

use super::expr::{Env, Expr, fits, narrower};
use super::reads::Reads;
use crate::backend::cuda::Gpu;
use crate::backend::cuda::compose::{Composer, Node};
use crate::backend::view::{At, Depends, Support};
use crate::containers::Vector;
use crate::error::Result;
use std::ops::Not;
use std::panic::Location;
use vxm_semiring::Element;

/// Something that says where to write: any expression (where it holds an element), [`Values`] (where it holds one that isn't
/// zero), or a [`Complement`].
pub trait Mask: Copy + Sync {
    /// The mask, ready to be asked.
    type Test<'s>: Test
    where
        Self: 's;
    /// Whether asking costs more than a few operations; see [`Expr::HEAVY`].
    const HEAVY: bool = false;
    /// The mask's length.
    ///
    /// # Errors
    /// As [`Expr::len`].
    fn len(&self, env: &Env<'_>) -> Result<usize>;
    /// Evaluates what the mask is made of.
    ///
    /// # Errors
    /// As [`Expr::view`].
    fn test<'s>(&'s self, env: &Env<'s>) -> Result<Self::Test<'s>>;
    /// As [`Expr::place`].
    fn place(&self, env: &Env<'_>) -> Option<Gpu>;
    /// At most how many places it selects, where telling it costs nothing.
    fn known_count(&self, _: &Env<'_>) -> Option<usize> {
        None
    }
    /// As [`Expr::reads`].
    fn reads<'s>(&'s self, _: &Env<'_>, reads: &mut Reads<'s>) {
        reads.everything();
    }
    /// The mask as a C++ type; see [`Expr::emit`].
    ///
    /// # Errors
    /// As [`Expr::emit`].
    fn emit(&self, env: &Env<'_>, kernel: &mut Composer) -> Result<Node>;
}

/// A mask that can be asked.
pub trait Test: Sync + Clone {
    /// Whether `i` may be written.
    fn test(&self, i: usize) -> bool;
    /// Whether `i`, the `k`-th index of the list that [`support`](Self::support) returns, may be written.
    fn test_drawn(&self, k: usize, i: usize) -> bool;
    /// Where it may say yes.
    fn support(&self) -> Support<'_>;
    /// What the answer at `i` depends on; see [`At::depends`].
    fn depends(&self, i: usize) -> Depends;
}

/// A structural test: whether a view holds an element.
#[derive(Debug, Clone, Copy)]
pub struct Present<V>(V);

impl<V: At> Test for Present<V> {
    #[inline(always)]
    fn test(&self, i: usize) -> bool {
        self.0.at(i).is_some()
    }
    #[inline(always)]
    fn test_drawn(&self, k: usize, i: usize) -> bool {
        self.0.drawn(k, i).is_some()
    }
    fn support(&self) -> Support<'_> {
        self.0.support()
    }
    fn depends(&self, i: usize) -> Depends {
        self.0.depends(i)
    }
}

impl<E: Expr> Mask for E {
    type Test<'s>
        = Present<E::View<'s>>
    where
        E: 's;
    const HEAVY: bool = E::HEAVY;
    fn len(&self, env: &Env<'_>) -> Result<usize> {
        Expr::len(self, env)
    }
    fn test<'s>(&'s self, env: &Env<'s>) -> Result<Self::Test<'s>> {
        Ok(Present(self.view(&env.for_operand())?))
    }
    fn place(&self, env: &Env<'_>) -> Option<Gpu> {
        Expr::place(self, env)
    }
    fn known_count(&self, env: &Env<'_>) -> Option<usize> {
        Expr::known_count(self, env)
    }
    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>) {
        Expr::reads(self, env, reads);
    }
    fn emit(&self, env: &Env<'_>, kernel: &mut Composer) -> Result<Node> {
        let inner = Expr::emit(self, &env.for_operand(), kernel)?;
        Ok(Node::new(kernel.ty("vxm::Present", [inner.ty]), inner.full))
    }
}

/// A mask by value: true where the expression holds an element that isn't zero.
#[derive(Debug, Clone, Copy)]
pub struct Values<E>(pub(crate) E);

/// See [`Values`].
#[derive(Debug, Clone, Copy)]
pub struct NonZero<V>(V);

fn counts<T: Element>(value: Option<T>) -> bool {
    value.is_some_and(|value| size_of::<T>() == 0 || value != T::ZERO)
}

impl<V: At> Test for NonZero<V> {
    #[inline(always)]
    fn test(&self, i: usize) -> bool {
        counts(self.0.at(i))
    }
    #[inline(always)]
    fn test_drawn(&self, k: usize, i: usize) -> bool {
        counts(self.0.drawn(k, i))
    }
    fn support(&self) -> Support<'_> {
        self.0.support()
    }
    fn depends(&self, i: usize) -> Depends {
        self.0.depends(i)
    }
}

impl<E: Expr> Mask for Values<E> {
    type Test<'s>
        = NonZero<E::View<'s>>
    where
        E: 's;
    const HEAVY: bool = E::HEAVY;
    fn len(&self, env: &Env<'_>) -> Result<usize> {
        self.0.len(env)
    }
    fn test<'s>(&'s self, env: &Env<'s>) -> Result<Self::Test<'s>> {
        Ok(NonZero(self.0.view(&env.for_operand())?))
    }
    fn place(&self, env: &Env<'_>) -> Option<Gpu> {
        self.0.place(env)
    }
    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>) {
        self.0.reads(env, reads);
    }
    fn emit(&self, env: &Env<'_>, kernel: &mut Composer) -> Result<Node> {
        let inner = self.0.emit(&env.for_operand(), kernel)?;
        Ok(Node::new(kernel.ty("vxm::NonZero", [inner.ty]), false))
    }
}

/// A mask's complement, written `!mask`.
#[derive(Debug, Clone, Copy)]
pub struct Complement<M>(pub(crate) M);

/// See [`Complement`].
#[derive(Debug, Clone, Copy)]
pub struct Unset<V>(V);

impl<V: Test> Test for Unset<V> {
    #[inline(always)]
    fn test(&self, i: usize) -> bool {
        !self.0.test(i)
    }
    #[inline(always)]
    fn test_drawn(&self, _: usize, i: usize) -> bool {
        !self.0.test(i)
    }
    fn support(&self) -> Support<'_> {
        Support::All
    }
    fn depends(&self, i: usize) -> Depends {
        self.0.depends(i)
    }
}

impl<M: Mask> Mask for Complement<M> {
    type Test<'s>
        = Unset<M::Test<'s>>
    where
        M: 's;
    const HEAVY: bool = M::HEAVY;
    fn len(&self, env: &Env<'_>) -> Result<usize> {
        self.0.len(env)
    }
    fn test<'s>(&'s self, env: &Env<'s>) -> Result<Self::Test<'s>> {
        Ok(Unset(self.0.test(env)?))
    }
    fn place(&self, env: &Env<'_>) -> Option<Gpu> {
        self.0.place(env)
    }
    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>) {
        self.0.reads(env, reads);
    }
    fn emit(&self, env: &Env<'_>, kernel: &mut Composer) -> Result<Node> {
        let inner = self.0.emit(env, kernel)?;
        Ok(Node::new(kernel.ty("vxm::Unset", [inner.ty]), false))
    }
}

impl<'a, T: Element> Not for &'a Vector<T> {
    type Output = Complement<&'a Vector<T>>;
    fn not(self) -> Self::Output {
        Complement(self)
    }
}

impl<T: Element> Not for super::expr::Key<T> {
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

/// An expression that is written where a mask allows.
#[derive(Debug, Clone, Copy)]
pub struct Masked<E, M> {
    pub(crate) inner: E,
    pub(crate) mask: M,
    pub(crate) at: &'static Location<'static>,
}

/// See [`Masked`].
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
    const HEAVY: bool = E::HEAVY || M::HEAVY;
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
    fn place(&self, env: &Env<'_>) -> Option<Gpu> {
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
    fn emit(&self, env: &Env<'_>, kernel: &mut Composer) -> Result<Node> {
        fits("mask", self.inner.len(env)?, self.mask.len(env)?, self.at)?;
        // first: a product inside asks whether all its rows are wanted
        kernel.mask();
        kernel.condition();
        let inner = match self.mask.known_count(env) {
            Some(wanted) => self.inner.emit(&env.wanting(wanted), kernel)?,
            None => self.inner.emit(env, kernel)?,
        };
        let mask = kernel.masking(|kernel| self.mask.emit(env, kernel))?;
        Ok(Node::new(kernel.ty("vxm::Masked", [inner.ty, mask.ty]), inner.full && mask.full))
    }
}

impl<V: At, M: Test> MaskedView<V, M> {
    /// Whether the mask's support is the narrower one.
    #[inline(always)]
    fn mask_leads(&self) -> bool {
        narrower(self.mask.support(), self.inner.support()).1
    }
}

impl<V: At, M: Test> At for MaskedView<V, M> {
    type T = V::T;
    type Fixed<'v>
        = MaskedView<V::Fixed<'v>, M>
    where
        Self: 'v;
    fn fixed(&self) -> Option<Self::Fixed<'_>> {
        Some(MaskedView { inner: self.inner.fixed()?, mask: self.mask.clone() })
    }
    fn depends(&self, i: usize) -> Depends {
        self.inner.depends(i).and(self.mask.depends(i))
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
    fn drawn(&self, k: usize, i: usize) -> Option<V::T> {
        if self.mask_leads() {
            if self.mask.test_drawn(k, i) { self.inner.at(i) } else { None }
        } else if self.mask.test(i) {
            self.inner.drawn(k, i)
        } else {
            None
        }
    }
    fn support(&self) -> Support<'_> {
        narrower(self.mask.support(), self.inner.support()).0
    }
    #[inline(always)]
    fn selects(&self, i: usize) -> bool {
        self.mask.test(i) && self.inner.selects(i)
    }
    fn selected(&self) -> Support<'_> {
        narrower(self.mask.support(), self.inner.selected()).0
    }
    #[inline(always)]
    fn drawn_selected(&self, k: usize, i: usize) -> Option<Option<V::T>> {
        if narrower(self.mask.support(), self.inner.selected()).1 {
            (self.mask.test_drawn(k, i) && self.inner.selects(i)).then(|| self.inner.at(i))
        } else if self.mask.test(i) {
            self.inner.drawn_selected(k, i)
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
    fn ask(&self, i: usize) {
        self.inner.ask(i);
    }
}
