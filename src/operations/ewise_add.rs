//! Unions of two expressions, and unions that skip the right side where the left one is terminal.

use crate::backend::cuda::Gpu;
use crate::backend::cuda::codegen::builder::{KernelBuilder, Node};
use crate::backend::view::{Dependency, Support, VectorView};
use crate::error::Result;
use crate::operations::expr::{Env, Expr, fits};
use crate::operations::loops::dependencies::Reads;
use std::panic::Location;
use vxm_semiring::{BinaryOp, Element, Monoid};

/// The union: `f(x, y)` where both hold an element, and the only element where one does.
#[derive(Debug, Clone, Copy)]
pub struct EwiseAdd<X, Y, F> {
    pub(crate) left: X,
    pub(crate) right: Y,
    pub(crate) op: F,
    pub(crate) at: &'static Location<'static>,
}

/// The view of [`EwiseAdd`].
#[derive(Debug, Clone)]
pub struct Either<V, W, F> {
    left: V,
    right: W,
    op: F,
    /// The union of both supports, if both are lists.
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
    fn emit(&self, env: &Env<'_>, kernel: &mut KernelBuilder) -> Result<Node> {
        fits("ewise_add", self.left.len(env)?, self.right.len(env)?, self.at)?;
        let (left, right) = (self.left.emit(env, kernel)?, self.right.emit(env, kernel)?);
        let op = kernel.functor(self.op);
        Ok(Node::new(kernel.ty("vxm::EWiseAdd", [left.ty, right.ty, op]), left.full || right.full))
    }
}

/// Returns the union of two ascending lists.
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

impl<V: VectorView, W: VectorView<T = V::T>, F: BinaryOp<V::T, V::T, Out = V::T>> VectorView for Either<V, W, F> {
    type T = V::T;
    type Fixed<'v>
        = Either<V::Fixed<'v>, W::Fixed<'v>, F>
    where
        Self: 'v;
    fn fixed(&self) -> Option<Self::Fixed<'_>> {
        Some(Either { left: self.left.fixed()?, right: self.right.fixed()?, op: self.op, union: self.union.clone() })
    }
    fn dependency(&self, i: usize) -> Dependency {
        self.left.dependency(i).and(self.right.dependency(i))
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
    fn prefetch(&self, i: usize) {
        self.left.prefetch(i);
        self.right.prefetch(i);
    }
}

/// A union that computes its right side only where the left one isn't the monoid's terminal value.
#[derive(Debug, Clone, Copy)]
pub struct ShortCircuit<X, Y, M>(EwiseAdd<X, Y, M>);

/// The view of [`ShortCircuit`].
#[derive(Debug, Clone)]
pub struct ShortCircuitView<V, W, M>(Either<V, W, M>);

impl<X: Expr, Y: Expr<T = X::T>, M: Monoid<X::T>> EwiseAdd<X, Y, M> {
    /// Skips the right side wherever the left one holds the monoid's terminal value, which no other operand changes (0
    /// under `MIN` of unsigned integers, for example).
    ///
    /// **Changes only the cost.** The result has the same bits. It pays if the left side is often terminal and the
    /// right side is a product: its rows are then not read. Without it, both sides are computed everywhere.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::undirected(3, &[(0, 1), (1, 2)])?;
    /// let x = Vector::from_dense(vec![0u32, 7, 4]);
    /// // x min (x min.first A): nothing is less than 0, so the first row isn't read
    /// let least = x.ewise_add(x.vxm(&a, MIN_FIRST), MIN).short_circuit().eval()?;
    /// assert_eq!(least, Vector::from_dense(vec![0, 0, 4]));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[must_use = "an expression does nothing until a terminal runs it"]
    pub fn short_circuit(self) -> ShortCircuit<X, Y, M> {
        ShortCircuit(self)
    }
}

impl<T: Element, X: Expr<T = T>, Y: Expr<T = T>, M: Monoid<T>> Expr for ShortCircuit<X, Y, M> {
    type T = T;
    type View<'s>
        = ShortCircuitView<X::View<'s>, Y::View<'s>, M>
    where
        Self: 's;
    const HEAVY: bool = X::HEAVY || Y::HEAVY;
    fn len(&self, env: &Env<'_>) -> Result<usize> {
        self.0.len(env)
    }
    fn view<'s>(&'s self, env: &Env<'s>) -> Result<Self::View<'s>> {
        Ok(ShortCircuitView(self.0.view(env)?))
    }
    fn place(&self, env: &Env<'_>) -> Option<Gpu> {
        self.0.place(env)
    }
    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>) {
        self.0.reads(env, reads);
    }
    fn emit(&self, env: &Env<'_>, kernel: &mut KernelBuilder) -> Result<Node> {
        let EwiseAdd { left, right, op, at } = &self.0;
        fits("ewise_add", left.len(env)?, right.len(env)?, at)?;
        kernel.note_skippable();
        let (left, right) = (left.emit(env, kernel)?, right.emit(env, kernel)?);
        let monoid = kernel.monoid::<T, M>(*op);
        Ok(Node::new(kernel.ty("vxm::ShortCircuitView", [left.ty, right.ty, monoid]), left.full || right.full))
    }
}

impl<V: VectorView, W: VectorView<T = V::T>, M: Monoid<V::T>> VectorView for ShortCircuitView<V, W, M> {
    type T = V::T;
    type Fixed<'v>
        = ShortCircuitView<V::Fixed<'v>, W::Fixed<'v>, M>
    where
        Self: 'v;
    fn fixed(&self) -> Option<Self::Fixed<'_>> {
        Some(ShortCircuitView(self.0.fixed()?))
    }
    fn dependency(&self, i: usize) -> Dependency {
        self.0.dependency(i)
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
    fn prefetch(&self, i: usize) {
        self.0.prefetch(i);
    }
}
