//! Unions of two expressions, and those whose right side is computed only where the left one decides nothing.

use super::expr::{Env, Expr, fits};
use super::reads::Reads;
use crate::backend::cuda::Gpu;
use crate::backend::cuda::compose::{Composer, Node};
use crate::backend::view::{At, Depends, Support};
use crate::error::Result;
use std::panic::Location;
use vxm_semiring::{BinaryOp, Element, Monoid};

/// `f(x, y)` where both hold an element, the one where only one does: the union.
#[derive(Debug, Clone, Copy)]
pub struct EwiseAdd<X, Y, F> {
    pub(crate) left: X,
    pub(crate) right: Y,
    pub(crate) op: F,
    pub(crate) at: &'static Location<'static>,
}

/// See [`EwiseAdd`].
#[derive(Debug, Clone)]
pub struct Either<V, W, F> {
    left: V,
    right: W,
    op: F,
    /// The union of both supports, where both are lists.
    union: Option<Vec<u32>>,
}

impl<T: Element, X: Expr<T = T>, Y: Expr<T = T>, F: BinaryOp<T, T, Out = T>> Expr for EwiseAdd<X, Y, F> {
    type T = T;
    type View<'s>
        = Either<X::View<'s>, Y::View<'s>, F>
    where
        Self: 's;
    const HEAVY: bool = X::HEAVY || Y::HEAVY;
    fn len(&self, env: &Env<'_>) -> Result<usize> {
        self.left.len(env)
    }
    fn view<'s>(&'s self, env: &Env<'s>) -> Result<Self::View<'s>> {
        fits("ewise_add", self.left.len(env)?, self.right.len(env)?, self.at)?;
        let (left, right) = (self.left.view(env)?, self.right.view(env)?);
        let union = match (left.support(), right.support()) {
            (Support::List(x), Support::List(y)) => Some(merge(x, y)),
            _ => None,
        };
        Ok(Either { left, right, op: self.op, union })
    }
    fn place(&self, env: &Env<'_>) -> Option<Gpu> {
        self.left.place(env).or_else(|| self.right.place(env))
    }
    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>) {
        self.left.reads(env, reads);
        self.right.reads(env, reads);
    }
    fn emit(&self, env: &Env<'_>, kernel: &mut Composer) -> Result<Node> {
        fits("ewise_add", self.left.len(env)?, self.right.len(env)?, self.at)?;
        let (left, right) = (self.left.emit(env, kernel)?, self.right.emit(env, kernel)?);
        let op = kernel.functor(self.op);
        Ok(Node::new(kernel.ty("vxm::Either", [left.ty, right.ty, op]), left.full || right.full))
    }
}

/// The union of two ascending lists.
fn merge(mut x: &[u32], mut y: &[u32]) -> Vec<u32> {
    let mut union = Vec::with_capacity(x.len() + y.len());
    while let (Some(&i), Some(&j)) = (x.first(), y.first()) {
        union.push(i.min(j));
        x = &x[usize::from(i <= j)..];
        y = &y[usize::from(j <= i)..];
    }
    union.extend_from_slice(x);
    union.extend_from_slice(y);
    union
}

impl<V: At, W: At<T = V::T>, F: BinaryOp<V::T, V::T, Out = V::T>> At for Either<V, W, F> {
    type T = V::T;
    type Fixed<'v>
        = Either<V::Fixed<'v>, W::Fixed<'v>, F>
    where
        Self: 'v;
    fn fixed(&self) -> Option<Self::Fixed<'_>> {
        Some(Either { left: self.left.fixed()?, right: self.right.fixed()?, op: self.op, union: self.union.clone() })
    }
    fn depends(&self, i: usize) -> Depends {
        self.left.depends(i).and(self.right.depends(i))
    }
    #[inline(always)]
    fn at(&self, i: usize) -> Option<V::T> {
        match (self.left.at(i), self.right.at(i)) {
            (Some(x), Some(y)) => Some(self.op.call(x, y)),
            (x, y) => x.or(y),
        }
    }
    fn is_full(&self) -> bool {
        self.left.is_full() || self.right.is_full()
    }
    fn value(&self, i: usize) -> V::T {
        self.at(i).unwrap_or(V::T::ZERO)
    }
    fn support(&self) -> Support<'_> {
        self.union.as_deref().map_or(Support::All, Support::List)
    }
    fn work(&self) -> Option<&[u64]> {
        self.left.work().or(self.right.work())
    }
    fn rank(&self, i: usize) -> Option<u64> {
        self.left.rank(i).or_else(|| self.right.rank(i))
    }
    #[inline(always)]
    fn ask(&self, i: usize) {
        self.left.ask(i);
        self.right.ask(i);
    }
}

/// A union whose right side is computed only where the left one leaves something to it.
#[derive(Debug, Clone, Copy)]
pub struct Lazily<X, Y, M>(EwiseAdd<X, Y, M>);

/// See [`Lazily`].
#[derive(Debug, Clone)]
pub struct Undecided<V, W, M>(Either<V, W, M>);

impl<X: Expr, Y: Expr<T = X::T>, M: Monoid<X::T>> EwiseAdd<X, Y, M> {
    /// Leaves the right side uncomputed where the left one decides: where that is the monoid's terminal value, which nothing changes. The
    /// result is the same; it takes less time where that is often so, and the right side a product.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::undirected(3, &[(0, 1), (1, 2)])?;
    /// let x = Vector::from_dense(vec![0u32, 7, 4]);
    /// // x min (x min.first A): nothing is less than 0, so that the first row isn't read
    /// let least = x.ewise_add(x.vxm(&a, MIN_FIRST), MIN).lazily().eval()?;
    /// assert_eq!(least, Vector::from_dense(vec![0, 0, 4]));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[must_use = "an expression does nothing until a terminal runs it"]
    pub fn lazily(self) -> Lazily<X, Y, M> {
        Lazily(self)
    }
}

impl<T: Element, X: Expr<T = T>, Y: Expr<T = T>, M: Monoid<T>> Expr for Lazily<X, Y, M> {
    type T = T;
    type View<'s>
        = Undecided<X::View<'s>, Y::View<'s>, M>
    where
        Self: 's;
    const HEAVY: bool = X::HEAVY || Y::HEAVY;
    fn len(&self, env: &Env<'_>) -> Result<usize> {
        self.0.len(env)
    }
    fn view<'s>(&'s self, env: &Env<'s>) -> Result<Self::View<'s>> {
        Ok(Undecided(self.0.view(env)?))
    }
    fn place(&self, env: &Env<'_>) -> Option<Gpu> {
        self.0.place(env)
    }
    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>) {
        self.0.reads(env, reads);
    }
    fn emit(&self, env: &Env<'_>, kernel: &mut Composer) -> Result<Node> {
        let EwiseAdd { left, right, op, at } = &self.0;
        fits("ewise_add", left.len(env)?, right.len(env)?, at)?;
        kernel.condition();
        let (left, right) = (left.emit(env, kernel)?, right.emit(env, kernel)?);
        let monoid = kernel.monoid::<T, M>(*op);
        Ok(Node::new(kernel.ty("vxm::Undecided", [left.ty, right.ty, monoid]), left.full || right.full))
    }
}

impl<V: At, W: At<T = V::T>, M: Monoid<V::T>> At for Undecided<V, W, M> {
    type T = V::T;
    type Fixed<'v>
        = Undecided<V::Fixed<'v>, W::Fixed<'v>, M>
    where
        Self: 'v;
    fn fixed(&self) -> Option<Self::Fixed<'_>> {
        Some(Undecided(self.0.fixed()?))
    }
    fn depends(&self, i: usize) -> Depends {
        self.0.depends(i)
    }
    #[inline(always)]
    fn at(&self, i: usize) -> Option<V::T> {
        match self.0.left.at(i) {
            Some(x) if M::is_terminal(x) => Some(x),
            Some(x) => Some(self.0.right.at(i).map_or(x, |y| self.0.op.call(x, y))),
            None => self.0.right.at(i),
        }
    }
    fn is_full(&self) -> bool {
        self.0.is_full()
    }
    fn support(&self) -> Support<'_> {
        self.0.support()
    }
    fn work(&self) -> Option<&[u64]> {
        self.0.work()
    }
    fn rank(&self, i: usize) -> Option<u64> {
        self.0.rank(i)
    }
    #[inline(always)]
    fn ask(&self, i: usize) {
        self.0.ask(i);
    }
}
