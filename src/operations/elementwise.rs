//! Elementwise nodes: map, select, fill, pattern, and the intersection of two or three operands. All are fused into the
//! terminal's loop.

use crate::backend::Place;
use crate::backend::cuda::codegen::builder::{CppType, KernelBuilder, Node};
use crate::backend::profile::Counts;
use crate::backend::view::{Dependency, Support, VectorView};
use crate::error::Result;
use crate::operations::expr::{Env, Expr, fits, smaller_support};
use crate::operations::loops::dependencies::Reads;
use crate::ranks::{Grid, Owners};
use std::panic::Location;
use vxm_semiring::{BinaryOp, Element, TernaryOp, UnaryOp};

/// The indices of the places that a view reads: the same numbers, or on a rank the indices that it owns.
#[derive(Debug, Clone, Copy, Default)]
pub struct Numbering(Option<(Owners, usize)>);

impl Numbering {
    /// The indices of this rank's places in a vector of `len` places.
    fn of(grid: &Grid, len: usize) -> Self {
        Self(Some((grid.owners(len), grid.rank())))
    }

    #[inline(always)]
    fn index(self, place: usize) -> u32 {
        match self.0 {
            None => place as u32,
            Some((owners, rank)) => owners.vertex(rank, place as u32),
        }
    }

    /// Pushes the words that a kernel needs to number a rank's places. Returns `own` for those, and `same` for the same numbers.
    fn emit(self, kernel: &mut KernelBuilder, same: &'static str, own: &'static str) -> &'static str {
        match self.0 {
            None => same,
            Some((owners, rank)) => {
                owners.words(rank).into_iter().for_each(|word| kernel.push(word));
                own
            }
        }
    }
}

/// A function of one place: of its index and its element, which may be absent.
pub trait Step<T: Element>: Copy + Sync {
    /// The type of the result.
    type Out: Element;
    /// Whether an absent element always becomes present, so that the result is full.
    const FILLS: bool = false;
    /// Whether a present element may become absent.
    const DROPS: bool = false;
    /// Whether the result depends on the index.
    const NUMBERS: bool = false;
    /// The step for the places of a rank, which aren't numbered as the vector's indices are.
    fn numbered(self, _: Numbering) -> Self {
        self
    }
    /// The result at `i`, where the inner expression holds `x`.
    fn step(self, i: usize, x: Option<T>) -> Option<Self::Out>;
    /// Pushes the step's words, and returns its C++ type over a view of type `inner`.
    fn emit(self, inner: CppType, kernel: &mut KernelBuilder) -> CppType;
}

/// A step applied at each place: map, select, fill or pattern.
#[derive(Debug, Clone, Copy)]
pub struct Each<E, K> {
    pub(crate) inner: E,
    pub(crate) step: K,
}

impl<E: Expr, K: Step<E::T>> Each<E, K> {
    /// The step for the places that are visited here.
    fn step_for(&self, env: &Env<'_>) -> Result<K> {
        match env.grid() {
            None => Ok(self.step),
            Some(grid) => Ok(self.step.numbered(Numbering::of(grid, self.inner.len(env)?))),
        }
    }
}

impl<E: Expr, K: Step<E::T>> Expr for Each<E, K> {
    type T = K::Out;
    type View<'s>
        = Each<E::View<'s>, K>
    where
        Self: 's;
    fn is_heavy(&self) -> bool {
        self.inner.is_heavy()
    }
    fn len(&self, env: &Env<'_>) -> Result<usize> {
        self.inner.len(env)
    }
    fn view<'s>(&'s self, env: &Env<'s>) -> Result<Self::View<'s>> {
        Ok(Each { inner: self.inner.view(env)?, step: self.step_for(env)? })
    }
    fn place(&self, env: &Env<'_>) -> Option<Place> {
        self.inner.place(env)
    }
    fn known_count(&self, env: &Env<'_>) -> Option<usize> {
        if K::FILLS { None } else { self.inner.known_count(env) }
    }
    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>) {
        self.inner.reads(env, reads);
    }
    fn emit(&self, env: &Env<'_>, kernel: &mut KernelBuilder) -> Result<Node> {
        let step = self.step_for(env)?;
        if K::NUMBERS {
            env.note_at_places(kernel);
        }
        let inner = self.inner.emit(env, kernel)?;
        let full = K::FILLS || (!K::DROPS && inner.full);
        Ok(Node::new(step.emit(inner.ty, kernel), full))
    }
}

impl<V: VectorView, K: Step<V::T>> VectorView for Each<V, K> {
    type T = K::Out;
    type Fixed<'v>
        = Each<V::Fixed<'v>, K>
    where
        Self: 'v;
    fn fixed(&self) -> Option<Self::Fixed<'_>> {
        Some(Each { inner: self.inner.fixed()?, step: self.step })
    }
    fn dependency(&self, i: usize) -> Dependency {
        self.inner.dependency(i)
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
    fn at_listed(&self, k: usize, i: usize) -> Option<K::Out> {
        // a step that fills has elements outside the inner list
        if K::FILLS { self.at(i) } else { self.step.step(i, self.inner.at_listed(k, i)) }
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
    fn rank(&self, i: usize) -> Option<u64> {
        self.inner.rank(i)
    }
    #[inline(always)]
    fn prefetch(&self, i: usize) {
        self.inner.prefetch(i);
    }
    fn counted(&self, i: usize, counts: &mut Counts) -> Option<K::Out> {
        self.step.step(i, self.inner.counted(i, counts))
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
    fn emit(self, inner: CppType, kernel: &mut KernelBuilder) -> CppType {
        let arguments = [inner, kernel.functor(self.0), kernel.element::<F::Out>()];
        kernel.ty("vxm::Map", arguments)
    }
}

/// `f(index, element)` of every element.
#[derive(Debug, Clone, Copy)]
pub struct MapIndex<F>(pub(crate) F, pub(crate) Numbering);

impl<T: Element, F: BinaryOp<u32, T>> Step<T> for MapIndex<F> {
    type Out = F::Out;
    const NUMBERS: bool = true;
    fn numbered(self, numbering: Numbering) -> Self {
        Self(self.0, numbering)
    }
    #[inline(always)]
    fn step(self, i: usize, x: Option<T>) -> Option<F::Out> {
        x.map(|x| self.0.call(self.1.index(i), x))
    }
    fn emit(self, inner: CppType, kernel: &mut KernelBuilder) -> CppType {
        let template = self.1.emit(kernel, "vxm::MapIndex", "vxm::MapOwnIndex");
        let arguments = [inner, kernel.functor(self.0), kernel.element::<F::Out>()];
        kernel.ty(template, arguments)
    }
}

/// The elements for which `f` is true.
#[derive(Debug, Clone, Copy)]
pub struct Select<F>(pub(crate) F);

impl<T: Element, F: UnaryOp<T, Out = bool>> Step<T> for Select<F> {
    type Out = T;
    const DROPS: bool = true;
    #[inline(always)]
    fn step(self, _: usize, x: Option<T>) -> Option<T> {
        x.filter(|&x| self.0.call(x))
    }
    fn emit(self, inner: CppType, kernel: &mut KernelBuilder) -> CppType {
        let op = kernel.functor(self.0);
        kernel.ty("vxm::Select", [inner, op])
    }
}

/// The elements for which `f(index, element)` is true.
#[derive(Debug, Clone, Copy)]
pub struct SelectIndex<F>(pub(crate) F, pub(crate) Numbering);

impl<T: Element, F: BinaryOp<u32, T, Out = bool>> Step<T> for SelectIndex<F> {
    type Out = T;
    const DROPS: bool = true;
    const NUMBERS: bool = true;
    fn numbered(self, numbering: Numbering) -> Self {
        Self(self.0, numbering)
    }
    #[inline(always)]
    fn step(self, i: usize, x: Option<T>) -> Option<T> {
        x.filter(|&x| self.0.call(self.1.index(i), x))
    }
    fn emit(self, inner: CppType, kernel: &mut KernelBuilder) -> CppType {
        let template = self.1.emit(kernel, "vxm::SelectIndex", "vxm::SelectOwnIndex");
        let op = kernel.functor(self.0);
        kernel.ty(template, [inner, op])
    }
}

/// The elements, with a value at every place that holds none.
#[derive(Debug, Clone, Copy)]
pub struct Or<T>(pub(crate) T);

impl<T: Element> Step<T> for Or<T> {
    type Out = T;
    const FILLS: bool = true;
    #[inline(always)]
    fn step(self, _: usize, x: Option<T>) -> Option<T> {
        Some(x.unwrap_or(self.0))
    }
    fn emit(self, inner: CppType, kernel: &mut KernelBuilder) -> CppType {
        kernel.push_element(self.0);
        kernel.ty("vxm::Or", [inner])
    }
}

/// The set of places that hold an element.
#[derive(Debug, Clone, Copy)]
pub struct Pattern;

impl<T: Element> Step<T> for Pattern {
    type Out = ();
    #[inline(always)]
    fn step(self, _: usize, x: Option<T>) -> Option<()> {
        x.map(|_| ())
    }
    fn emit(self, inner: CppType, kernel: &mut KernelBuilder) -> CppType {
        kernel.element::<()>();
        kernel.ty("vxm::Pattern", [inner])
    }
}

/// `f(x, y)` at each place where both hold an element: the intersection.
#[derive(Debug, Clone, Copy)]
pub struct EwiseMult<X, Y, F> {
    pub(crate) left: X,
    pub(crate) right: Y,
    pub(crate) op: F,
    pub(crate) at: &'static Location<'static>,
}

/// The view of [`EwiseMult`].
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
    fn is_heavy(&self) -> bool {
        self.left.is_heavy() || self.right.is_heavy()
    }
    fn len(&self, env: &Env<'_>) -> Result<usize> {
        self.left.len(env)
    }
    fn view<'s>(&'s self, env: &Env<'s>) -> Result<Self::View<'s>> {
        fits("ewise_mult", self.left.len(env)?, self.right.len(env)?, self.at)?;
        Ok(Both { left: self.left.view(env)?, right: self.right.view(env)?, op: self.op })
    }
    fn place(&self, env: &Env<'_>) -> Option<Place> {
        self.left.place(env).or_else(|| self.right.place(env))
    }
    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>) {
        self.left.reads(env, reads);
        self.right.reads(env, reads);
    }
    fn emit(&self, env: &Env<'_>, kernel: &mut KernelBuilder) -> Result<Node> {
        fits("ewise_mult", self.left.len(env)?, self.right.len(env)?, self.at)?;
        let (left, right) = (self.left.emit(env, kernel)?, self.right.emit(env, kernel)?);
        let (op, out) = (kernel.functor(self.op), kernel.element::<F::Out>());
        Ok(Node::new(kernel.ty("vxm::EWiseMult", [left.ty, right.ty, op, out]), left.full && right.full))
    }
}

impl<V: VectorView, W: VectorView, F: BinaryOp<V::T, W::T>> VectorView for Both<V, W, F> {
    type T = F::Out;
    type Fixed<'v>
        = Both<V::Fixed<'v>, W::Fixed<'v>, F>
    where
        Self: 'v;
    fn fixed(&self) -> Option<Self::Fixed<'_>> {
        Some(Both { left: self.left.fixed()?, right: self.right.fixed()?, op: self.op })
    }
    fn dependency(&self, i: usize) -> Dependency {
        self.left.dependency(i).and(self.right.dependency(i))
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
    fn at_listed(&self, k: usize, i: usize) -> Option<F::Out> {
        if smaller_support(self.left.support(), self.right.support()).1 {
            let x = self.left.at_listed(k, i)?;
            Some(self.op.call(x, self.right.at(i)?))
        } else {
            let y = self.right.at_listed(k, i)?;
            Some(self.op.call(self.left.at(i)?, y))
        }
    }
    fn is_full(&self) -> bool {
        self.left.is_full() && self.right.is_full()
    }
    fn support(&self) -> Support<'_> {
        smaller_support(self.left.support(), self.right.support()).0
    }
    fn work(&self) -> Option<&[u64]> {
        self.left.work().or(self.right.work())
    }
    fn rank(&self, i: usize) -> Option<u64> {
        self.left.rank(i).or_else(|| self.right.rank(i))
    }
    fn counted(&self, i: usize, counts: &mut Counts) -> Option<F::Out> {
        let x = self.left.counted(i, counts)?;
        Some(self.op.call(x, self.right.counted(i, counts)?))
    }
    #[inline(always)]
    fn prefetch(&self, i: usize) {
        self.left.prefetch(i);
        self.right.prefetch(i);
    }
}

/// `f(x, y, z)` at each place where all three hold an element.
#[derive(Debug, Clone, Copy)]
pub struct Map3<X, Y, Z, F> {
    pub(crate) first: X,
    pub(crate) second: Y,
    pub(crate) third: Z,
    pub(crate) op: F,
    pub(crate) at: &'static Location<'static>,
}

/// The view of [`Map3`].
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
    fn is_heavy(&self) -> bool {
        self.first.is_heavy() || self.second.is_heavy() || self.third.is_heavy()
    }
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
    fn place(&self, env: &Env<'_>) -> Option<Place> {
        self.first.place(env).or_else(|| self.second.place(env)).or_else(|| self.third.place(env))
    }
    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>) {
        self.first.reads(env, reads);
        self.second.reads(env, reads);
        self.third.reads(env, reads);
    }
    fn emit(&self, env: &Env<'_>, kernel: &mut KernelBuilder) -> Result<Node> {
        let n = self.first.len(env)?;
        fits("map3", n, self.second.len(env)?, self.at)?;
        fits("map3", n, self.third.len(env)?, self.at)?;
        let (x, y, z) = (self.first.emit(env, kernel)?, self.second.emit(env, kernel)?, self.third.emit(env, kernel)?);
        let (op, out) = (kernel.functor(self.op), kernel.element::<F::Out>());
        let ty = kernel.ty("vxm::EWiseMult3", [x.ty, y.ty, z.ty, op, out]);
        Ok(Node::new(ty, x.full && y.full && z.full))
    }
}

impl<U: VectorView, V: VectorView, W: VectorView, F: TernaryOp<U::T, V::T, W::T>> VectorView for Three<U, V, W, F> {
    type T = F::Out;
    type Fixed<'v>
        = Three<U::Fixed<'v>, V::Fixed<'v>, W::Fixed<'v>, F>
    where
        Self: 'v;
    fn fixed(&self) -> Option<Self::Fixed<'_>> {
        let (first, second, third) = (self.first.fixed()?, self.second.fixed()?, self.third.fixed()?);
        Some(Three { first, second, third, op: self.op })
    }
    fn dependency(&self, i: usize) -> Dependency {
        self.first.dependency(i).and(self.second.dependency(i)).and(self.third.dependency(i))
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
        let two = smaller_support(self.first.support(), self.second.support()).0;
        smaller_support(two, self.third.support()).0
    }
    fn work(&self) -> Option<&[u64]> {
        self.first.work().or(self.second.work()).or(self.third.work())
    }
    fn rank(&self, i: usize) -> Option<u64> {
        self.first.rank(i).or_else(|| self.second.rank(i).or_else(|| self.third.rank(i)))
    }
    fn counted(&self, i: usize, counts: &mut Counts) -> Option<F::Out> {
        let x = self.first.counted(i, counts)?;
        let y = self.second.counted(i, counts)?;
        Some(self.op.call(x, y, self.third.counted(i, counts)?))
    }
    #[inline(always)]
    fn prefetch(&self, i: usize) {
        self.first.prefetch(i);
        self.second.prefetch(i);
        self.third.prefetch(i);
    }
}
