//! Elementwise nodes: map, the two ways to combine, select, and filling what is absent. All are fused into the terminal's loop.

use super::expr::{Env, Expr, emit_light, fits, narrower};
use super::reads::Reads;
use crate::backend::cuda::compose::{Composer, Node};
use crate::backend::cuda::{self, Gpu};
use crate::backend::view::{At, Depends, Support};
use crate::error::Result;
use std::borrow::Cow;
use std::panic::Location;
use vxm_semiring::{BinaryOp, Element, Monoid, TernaryOp, UnaryOp};

/// What happens to each element on its own, present or absent.
pub trait Step<T: Element>: Copy + Sync {
    /// The result's type.
    type Out: Element;
    /// Whether an absent element may become present: then the result is full.
    const FILLS: bool = false;
    /// Whether a present element may become absent.
    const DROPS: bool = false;
    /// The element at `i`, given what the inner expression holds there.
    fn step(self, i: usize, x: Option<T>) -> Option<Self::Out>;
    /// The C++ type of the step over a view of type `inner`; its words are pushed.
    fn emit(self, inner: &str, kernel: &mut Composer) -> String;
}

/// A step at each element: map, select, fill, pattern.
#[derive(Debug, Clone, Copy)]
pub struct Each<E, K> {
    pub(crate) inner: E,
    pub(crate) step: K,
}

impl<E: Expr, K: Step<E::T>> Expr for Each<E, K> {
    type T = K::Out;
    type View<'s>
        = Each<E::View<'s>, K>
    where
        Self: 's;
    const HEAVY: bool = E::HEAVY;
    fn len(&self, env: &Env<'_>) -> Result<usize> {
        self.inner.len(env)
    }
    fn view<'s>(&'s self, env: &Env<'s>) -> Result<Self::View<'s>> {
        Ok(Each { inner: self.inner.view(env)?, step: self.step })
    }
    fn place(&self, env: &Env<'_>) -> Option<Gpu> {
        self.inner.place(env)
    }
    fn known_count(&self, env: &Env<'_>) -> Option<usize> {
        if K::FILLS { None } else { self.inner.known_count(env) }
    }
    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>) {
        self.inner.reads(env, reads);
    }
    fn emit(&self, env: &Env<'_>, kernel: &mut Composer) -> Result<Node> {
        let inner = self.inner.emit(env, kernel)?;
        let full = K::FILLS || (!K::DROPS && inner.full);
        Ok(Node::new(self.step.emit(&inner.ty, kernel), full))
    }
}

impl<V: At, K: Step<V::T>> At for Each<V, K> {
    type T = K::Out;
    fn depends(&self, i: usize) -> Depends {
        self.inner.depends(i)
    }
    #[inline(always)]
    fn at(&self, i: usize) -> Option<K::Out> {
        self.step.step(i, self.inner.at(i))
    }
    #[inline(always)]
    fn value(&self, i: usize) -> K::Out {
        let x = if K::FILLS { self.inner.at(i) } else { Some(self.inner.value(i)) };
        self.step.step(i, x).unwrap_or(K::Out::ZERO)
    }
    #[inline(always)]
    fn drawn(&self, k: usize, i: usize) -> Option<K::Out> {
        // what fills has no list of its own to draw from
        if K::FILLS { self.at(i) } else { self.step.step(i, self.inner.drawn(k, i)) }
    }
    fn is_full(&self) -> bool {
        K::FILLS || (!K::DROPS && self.inner.is_full())
    }
    fn support(&self) -> Support<'_> {
        if K::FILLS { Support::All } else { self.inner.support() }
    }
    fn work(&self) -> Option<&[u64]> {
        self.inner.work()
    }
}

/// `f` of every element.
#[derive(Debug, Clone, Copy)]
pub struct Map<F>(pub(crate) F);

impl<T: Element, F: UnaryOp<T>> Step<T> for Map<F> {
    type Out = F::Out;
    #[inline(always)]
    fn step(self, _: usize, x: Option<T>) -> Option<F::Out> {
        x.map(|x| self.0.call(x))
    }
    fn emit(self, inner: &str, kernel: &mut Composer) -> String {
        format!("vxm::Map<{inner}, {}, {}>", kernel.functor(self.0), kernel.element::<F::Out>())
    }
}

/// `f(index, element)` of every element.
#[derive(Debug, Clone, Copy)]
pub struct MapIndex<F>(pub(crate) F);

impl<T: Element, F: BinaryOp<u32, T>> Step<T> for MapIndex<F> {
    type Out = F::Out;
    #[inline(always)]
    fn step(self, i: usize, x: Option<T>) -> Option<F::Out> {
        x.map(|x| self.0.call(i as u32, x))
    }
    fn emit(self, inner: &str, kernel: &mut Composer) -> String {
        format!("vxm::MapIndex<{inner}, {}, {}>", kernel.functor(self.0), kernel.element::<F::Out>())
    }
}

/// The elements of which `f` is true.
#[derive(Debug, Clone, Copy)]
pub struct Select<F>(pub(crate) F);

impl<T: Element, F: UnaryOp<T, Out = bool>> Step<T> for Select<F> {
    type Out = T;
    const DROPS: bool = true;
    #[inline(always)]
    fn step(self, _: usize, x: Option<T>) -> Option<T> {
        x.filter(|&x| self.0.call(x))
    }
    fn emit(self, inner: &str, kernel: &mut Composer) -> String {
        format!("vxm::Select<{inner}, {}>", kernel.functor(self.0))
    }
}

/// The elements of which `f(index, element)` is true.
#[derive(Debug, Clone, Copy)]
pub struct SelectIndex<F>(pub(crate) F);

impl<T: Element, F: BinaryOp<u32, T, Out = bool>> Step<T> for SelectIndex<F> {
    type Out = T;
    const DROPS: bool = true;
    #[inline(always)]
    fn step(self, i: usize, x: Option<T>) -> Option<T> {
        x.filter(|&x| self.0.call(i as u32, x))
    }
    fn emit(self, inner: &str, kernel: &mut Composer) -> String {
        format!("vxm::SelectIndex<{inner}, {}>", kernel.functor(self.0))
    }
}

/// The elements, and a value wherever there is none.
#[derive(Debug, Clone, Copy)]
pub struct Or<T>(pub(crate) T);

impl<T: Element> Step<T> for Or<T> {
    type Out = T;
    const FILLS: bool = true;
    #[inline(always)]
    fn step(self, _: usize, x: Option<T>) -> Option<T> {
        Some(x.unwrap_or(self.0))
    }
    fn emit(self, inner: &str, kernel: &mut Composer) -> String {
        kernel.push(self.0.bits());
        format!("vxm::Or<{inner}>")
    }
}

/// Where an expression holds an element.
#[derive(Debug, Clone, Copy)]
pub struct Pattern;

impl<T: Element> Step<T> for Pattern {
    type Out = ();
    #[inline(always)]
    fn step(self, _: usize, x: Option<T>) -> Option<()> {
        x.map(|_| ())
    }
    fn emit(self, inner: &str, kernel: &mut Composer) -> String {
        kernel.element::<()>();
        format!("vxm::Pattern<{inner}>")
    }
}

/// `f(x, y)` where both hold an element: the intersection.
#[derive(Debug, Clone, Copy)]
pub struct EwiseMult<X, Y, F> {
    pub(crate) left: X,
    pub(crate) right: Y,
    pub(crate) op: F,
    pub(crate) at: &'static Location<'static>,
}

/// See [`EwiseMult`].
#[derive(Debug, Clone, Copy)]
pub struct Both<V, W, F> {
    left: V,
    right: W,
    op: F,
}

impl<X: Expr, Y: Expr, F: BinaryOp<X::T, Y::T>> Expr for EwiseMult<X, Y, F> {
    type T = F::Out;
    type View<'s>
        = Both<X::View<'s>, Y::View<'s>, F>
    where
        Self: 's;
    const HEAVY: bool = X::HEAVY || Y::HEAVY;
    fn len(&self, env: &Env<'_>) -> Result<usize> {
        self.left.len(env)
    }
    fn view<'s>(&'s self, env: &Env<'s>) -> Result<Self::View<'s>> {
        fits("ewise_mult", self.left.len(env)?, self.right.len(env)?, self.at)?;
        Ok(Both { left: self.left.view(env)?, right: self.right.view(env)?, op: self.op })
    }
    fn place(&self, env: &Env<'_>) -> Option<Gpu> {
        self.left.place(env).or_else(|| self.right.place(env))
    }
    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>) {
        self.left.reads(env, reads);
        self.right.reads(env, reads);
    }
    fn emit(&self, env: &Env<'_>, kernel: &mut Composer) -> Result<Node> {
        fits("ewise_mult", self.left.len(env)?, self.right.len(env)?, self.at)?;
        let (left, right) = (self.left.emit(env, kernel)?, self.right.emit(env, kernel)?);
        let (op, out) = (kernel.functor(self.op), kernel.element::<F::Out>());
        Ok(Node::new(format!("vxm::Both<{}, {}, {op}, {out}>", left.ty, right.ty), left.full && right.full))
    }
}

impl<V: At, W: At, F: BinaryOp<V::T, W::T>> At for Both<V, W, F> {
    type T = F::Out;
    fn depends(&self, i: usize) -> Depends {
        self.left.depends(i).and(self.right.depends(i))
    }
    #[inline(always)]
    fn at(&self, i: usize) -> Option<F::Out> {
        let x = self.left.at(i)?;
        Some(self.op.call(x, self.right.at(i)?))
    }
    #[inline(always)]
    fn value(&self, i: usize) -> F::Out {
        self.op.call(self.left.value(i), self.right.value(i))
    }
    #[inline(always)]
    fn drawn(&self, k: usize, i: usize) -> Option<F::Out> {
        if narrower(self.left.support(), self.right.support()).1 {
            let x = self.left.drawn(k, i)?;
            Some(self.op.call(x, self.right.at(i)?))
        } else {
            let y = self.right.drawn(k, i)?;
            Some(self.op.call(self.left.at(i)?, y))
        }
    }
    fn is_full(&self) -> bool {
        self.left.is_full() && self.right.is_full()
    }
    fn support(&self) -> Support<'_> {
        narrower(self.left.support(), self.right.support()).0
    }
    fn work(&self) -> Option<&[u64]> {
        self.left.work().or(self.right.work())
    }
}

/// `f(x, y, z)` where all three hold an element.
#[derive(Debug, Clone, Copy)]
pub struct Map3<X, Y, Z, F> {
    pub(crate) first: X,
    pub(crate) second: Y,
    pub(crate) third: Z,
    pub(crate) op: F,
    pub(crate) at: &'static Location<'static>,
}

/// See [`Map3`].
#[derive(Debug, Clone, Copy)]
pub struct Three<U, V, W, F> {
    first: U,
    second: V,
    third: W,
    op: F,
}

impl<X: Expr, Y: Expr, Z: Expr, F: TernaryOp<X::T, Y::T, Z::T>> Expr for Map3<X, Y, Z, F> {
    type T = F::Out;
    type View<'s>
        = Three<X::View<'s>, Y::View<'s>, Z::View<'s>, F>
    where
        Self: 's;
    const HEAVY: bool = X::HEAVY || Y::HEAVY || Z::HEAVY;
    fn len(&self, env: &Env<'_>) -> Result<usize> {
        self.first.len(env)
    }
    fn view<'s>(&'s self, env: &Env<'s>) -> Result<Self::View<'s>> {
        let n = self.first.len(env)?;
        fits("map3", n, self.second.len(env)?, self.at)?;
        fits("map3", n, self.third.len(env)?, self.at)?;
        let (first, second, third) = (self.first.view(env)?, self.second.view(env)?, self.third.view(env)?);
        Ok(Three { first, second, third, op: self.op })
    }
    fn place(&self, env: &Env<'_>) -> Option<Gpu> {
        self.first.place(env).or_else(|| self.second.place(env)).or_else(|| self.third.place(env))
    }
    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>) {
        self.first.reads(env, reads);
        self.second.reads(env, reads);
        self.third.reads(env, reads);
    }
    fn emit(&self, env: &Env<'_>, kernel: &mut Composer) -> Result<Node> {
        let n = self.first.len(env)?;
        fits("map3", n, self.second.len(env)?, self.at)?;
        fits("map3", n, self.third.len(env)?, self.at)?;
        let (x, y, z) = (self.first.emit(env, kernel)?, self.second.emit(env, kernel)?, self.third.emit(env, kernel)?);
        let (op, out) = (kernel.functor(self.op), kernel.element::<F::Out>());
        let ty = format!("vxm::Three<{}, {}, {}, {op}, {out}>", x.ty, y.ty, z.ty);
        Ok(Node::new(ty, x.full && y.full && z.full))
    }
}

impl<U: At, V: At, W: At, F: TernaryOp<U::T, V::T, W::T>> At for Three<U, V, W, F> {
    type T = F::Out;
    fn depends(&self, i: usize) -> Depends {
        self.first.depends(i).and(self.second.depends(i)).and(self.third.depends(i))
    }
    #[inline(always)]
    fn at(&self, i: usize) -> Option<F::Out> {
        let x = self.first.at(i)?;
        let y = self.second.at(i)?;
        Some(self.op.call(x, y, self.third.at(i)?))
    }
    #[inline(always)]
    fn value(&self, i: usize) -> F::Out {
        self.op.call(self.first.value(i), self.second.value(i), self.third.value(i))
    }
    fn is_full(&self) -> bool {
        self.first.is_full() && self.second.is_full() && self.third.is_full()
    }
    fn support(&self) -> Support<'_> {
        let two = narrower(self.first.support(), self.second.support()).0;
        narrower(two, self.third.support()).0
    }
    fn work(&self) -> Option<&[u64]> {
        self.first.work().or(self.second.work()).or(self.third.work())
    }
}

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
        Ok(Node::new(format!("vxm::Either<{}, {}, {op}>", left.ty, right.ty), left.full || right.full))
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
        let (left, right) = (left.emit(env, kernel)?, right.emit(env, kernel)?);
        let monoid = kernel.monoid::<T, M>(*op);
        Ok(Node::new(format!("vxm::Undecided<{}, {}, {monoid}>", left.ty, right.ty), left.full || right.full))
    }
}

impl<V: At, W: At<T = V::T>, M: Monoid<V::T>> At for Undecided<V, W, M> {
    type T = V::T;
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
}

/// `w[k] = u[indices[k]]`.
#[derive(Debug, Clone, Copy)]
pub struct Extract<'a, E> {
    pub(crate) inner: E,
    pub(crate) indices: &'a [u32],
    pub(crate) at: &'static Location<'static>,
}

impl<'a, E: Expr> Expr for Extract<'a, E> {
    type T = E::T;
    type View<'s>
        = Extract<'a, E::View<'s>>
    where
        Self: 's;
    const HEAVY: bool = E::HEAVY;
    fn len(&self, _: &Env<'_>) -> Result<usize> {
        Ok(self.indices.len())
    }
    fn view<'s>(&'s self, env: &Env<'s>) -> Result<Self::View<'s>> {
        let n = self.inner.len(env)?;
        within("extract", self.indices, n, self.at)?;
        Ok(Extract { inner: self.inner.view(&env.for_operand())?, indices: self.indices, at: self.at })
    }
    fn place(&self, env: &Env<'_>) -> Option<Gpu> {
        self.inner.place(env)
    }
    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>) {
        let mut inner = Reads::default();
        self.inner.reads(env, &mut inner);
        reads.anywhere(&inner);
    }
    fn emit(&self, env: &Env<'_>, kernel: &mut Composer) -> Result<Node> {
        within("extract", self.indices, self.inner.len(env)?, self.at)?;
        let inner = emit_light(&self.inner, &env.for_operand(), kernel)?;
        let indices = kernel.gpu().upload_slice(self.indices)?;
        kernel.push(indices.address());
        kernel.keep(indices);
        Ok(Node::new(format!("vxm::Extract<{}>", inner.ty), inner.full))
    }
}

impl<V: At> At for Extract<'_, V> {
    type T = V::T;
    #[inline(always)]
    fn at(&self, k: usize) -> Option<V::T> {
        self.inner.at(self.indices[k] as usize)
    }
    #[inline(always)]
    fn value(&self, k: usize) -> V::T {
        self.inner.value(self.indices[k] as usize)
    }
    fn is_full(&self) -> bool {
        self.inner.is_full()
    }
}

/// Fails if an index lies outside a vector of `n` places.
fn within(operation: &'static str, indices: &[u32], n: usize, at: &'static Location<'static>) -> Result<()> {
    match indices.iter().position(|&i| i as usize >= n) {
        None => Ok(()),
        Some(k) => Err(crate::error::Error::Shape {
            operation,
            left: format!("{n} places"),
            right: format!("index {} at position {k}", indices[k]),
            at,
        }),
    }
}

/// `w[indices[k]] = u[k]`: the region of an assignment; a terminal leaves places outside it as they are.
#[derive(Debug, Clone, Copy)]
pub struct Scatter<'a, E> {
    pub(crate) inner: E,
    pub(crate) indices: &'a [u32],
    pub(crate) len: usize,
    pub(crate) at: &'static Location<'static>,
}

/// See [`Scatter`].
#[derive(Debug, Clone)]
pub struct Region<'s, V> {
    inner: V,
    /// The region's places, ascending.
    places: Cow<'s, [u32]>,
    /// For each place, the position in `u` that goes there; `None` where that is the identity.
    positions: Option<Vec<u32>>,
}

impl<E: Expr> Expr for Scatter<'_, E> {
    type T = E::T;
    type View<'s>
        = Region<'s, E::View<'s>>
    where
        Self: 's;
    const HEAVY: bool = E::HEAVY;
    fn len(&self, _: &Env<'_>) -> Result<usize> {
        Ok(self.len)
    }
    fn view<'s>(&'s self, env: &Env<'s>) -> Result<Self::View<'s>> {
        self.check(env)?;
        let inner = self.inner.view(&env.for_operand())?;
        if self.indices.windows(2).all(|w| w[0] < w[1]) {
            return Ok(Region { inner, places: self.indices.into(), positions: None });
        }
        let mut positions: Vec<u32> = (0..self.indices.len() as u32).collect();
        positions.sort_unstable_by_key(|&k| self.indices[k as usize]);
        let places: Vec<u32> = positions.iter().map(|&k| self.indices[k as usize]).collect();
        self.distinct(&places)?;
        Ok(Region { inner, places: places.into(), positions: Some(positions) })
    }
    fn place(&self, env: &Env<'_>) -> Option<Gpu> {
        self.inner.place(env)
    }
    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>) {
        let mut inner = Reads::default();
        self.inner.reads(env, &mut inner);
        reads.anywhere(&inner);
    }
    fn emit(&self, env: &Env<'_>, kernel: &mut Composer) -> Result<Node> {
        self.check(env)?;
        if !self.indices.windows(2).all(|w| w[0] < w[1]) {
            let mut places = self.indices.to_vec();
            places.sort_unstable();
            self.distinct(&places)?;
        }
        let mut scattering = Composer::new(kernel.gpu());
        let inner = self.inner.emit(&env.for_operand(), &mut scattering)?;
        let scattered = cuda::run::scatter::<E::T>(scattering, &inner, self.indices, self.len)?;
        Ok(cuda::run::region(kernel, scattered))
    }
}

impl<E: Expr> Scatter<'_, E> {
    fn check(&self, env: &Env<'_>) -> Result<()> {
        fits("scatter", self.inner.len(env)?, self.indices.len(), self.at)?;
        crate::formats::check_vertices("scatter", self.len)?;
        within("scatter", self.indices, self.len, self.at)
    }

    /// Fails if one of the ascending `places` stands twice.
    fn distinct(&self, places: &[u32]) -> Result<()> {
        match places.windows(2).find(|w| w[0] == w[1]) {
            None => Ok(()),
            Some(twice) => {
                let what = format!("scatter at {}: index {} stands twice", self.at, twice[0]);
                Err(crate::error::Error::Invalid { what })
            }
        }
    }
}

impl<V: At> At for Region<'_, V> {
    type T = V::T;
    #[inline(always)]
    fn at(&self, i: usize) -> Option<V::T> {
        let k = self.places.binary_search(&(i as u32)).ok()?;
        self.drawn(k, i)
    }
    #[inline(always)]
    fn drawn(&self, k: usize, _: usize) -> Option<V::T> {
        self.inner.at(self.positions.as_ref().map_or(k, |positions| positions[k] as usize))
    }
    fn support(&self) -> Support<'_> {
        Support::List(&self.places)
    }
    #[inline(always)]
    fn selects(&self, i: usize) -> bool {
        self.places.binary_search(&(i as u32)).is_ok()
    }
    fn selected(&self) -> Support<'_> {
        Support::List(&self.places)
    }
    #[inline(always)]
    fn drawn_selected(&self, k: usize, i: usize) -> Option<Option<V::T>> {
        Some(self.drawn(k, i))
    }
}
