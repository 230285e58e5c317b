//! Unions of two expressions. The right side is skipped where it can't change the left one.

use crate::backend::Place;
use crate::backend::cuda::codegen::builder::{KernelBuilder, Node};
use crate::backend::profile::Counts;
use crate::backend::view::{Dependency, Support, VectorView};
use crate::error::Result;
use crate::operations::expr::{Env, Expr, fits};
use crate::operations::loops::dependencies::Reads;
use crate::operations::loops::relaxed::RelaxedEdges;
use std::panic::Location;
use vxm_semiring::{BinaryOp, Bind, EQ, Element};

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
    /// Whether the right side is skipped where the left one is absorbing.
    skips: bool,
}

impl<X: Expr, Y: Expr<T = X::T>, F: BinaryOp<X::T, X::T, Out = X::T>> EwiseAdd<X, Y, F> {
    /// The element of the left side that the right one doesn't change, if skipping the right side pays there: if it holds a product, its
    /// rows are then not read.
    fn skipped_at(&self) -> Option<X::T> {
        F::ABSORBING.filter(|_| self.right.is_heavy())
    }
}

impl<T: Element, X: Expr<T = T>, Y: Expr<T = T>, F: BinaryOp<T, T, Out = T>> Expr for EwiseAdd<X, Y, F> {
    type T = T;
    type View<'s>
        = Either<X::View<'s>, Y::View<'s>, F>
    where
        Self: 's;
    fn is_heavy(&self) -> bool {
        self.left.is_heavy() || self.right.is_heavy()
    }
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
        Ok(Either { left, right, op: self.op, union, skips: self.skipped_at().is_some() })
    }
    fn place(&self, env: &Env<'_>) -> Option<Place> {
        self.left.place(env).or_else(|| self.right.place(env))
    }
    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>) {
        self.left.reads(env, reads);
        self.right.reads(env, reads);
    }
    fn relaxation<'s>(&'s self, env: &Env<'_>) -> Option<Box<dyn RelaxedEdges<T> + 's>> {
        let join = self.op.known_as()?;
        let right = self.left.is_state(env).then(|| self.right.relaxed_edges(env, join));
        let left = || self.right.is_state(env).then(|| self.left.relaxed_edges(env, join));
        right.or_else(left)?
    }
    fn emit(&self, env: &Env<'_>, kernel: &mut KernelBuilder) -> Result<Node> {
        fits("ewise_add", self.left.len(env)?, self.right.len(env)?, self.at)?;
        let (left, right) = (self.left.emit(env, kernel)?, self.right.emit(env, kernel)?);
        let op = kernel.functor(self.op);
        let full = left.full || right.full;
        let Some(absorbing) = self.skipped_at() else {
            return Ok(Node::new(kernel.ty("vxm::EWiseAdd", [left.ty, right.ty, op]), full));
        };
        kernel.note_skippable();
        let is_absorbing = kernel.functor(EQ.bind(absorbing));
        Ok(Node::new(kernel.ty("vxm::ShortCircuitEWiseAdd", [left.ty, right.ty, op, is_absorbing]), full))
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
        let (left, right) = (self.left.fixed()?, self.right.fixed()?);
        Some(Either { left, right, op: self.op, union: self.union.clone(), skips: self.skips })
    }
    fn dependency(&self, i: usize) -> Dependency {
        self.left.dependency(i).and(self.right.dependency(i))
    }
    #[inline(always)]
    fn at(&self, i: usize) -> Option<V::T> {
        let left = self.left.at(i);
        if F::ABSORBING.is_some() && self.skips && left == F::ABSORBING {
            return left;
        }
        match (left, self.right.at(i)) {
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
    fn counted(&self, i: usize, counts: &mut Counts) -> Option<V::T> {
        let left = self.left.counted(i, counts);
        if F::ABSORBING.is_some() && self.skips && left == F::ABSORBING {
            counts.skipped_rows += 1;
            return left;
        }
        match (left, self.right.counted(i, counts)) {
            (Some(x), Some(y)) => Some(self.op.call(x, y)),
            (x, y) => x.or(y),
        }
    }
    #[inline(always)]
    fn prefetch(&self, i: usize) {
        self.left.prefetch(i);
        self.right.prefetch(i);
    }
}
