//! The verbs: methods of every expression, and of operators.

use super::elementwise::{Each, EwiseMult, Map, Map3, MapIndex, Or, Pattern, Select, SelectIndex};
use super::expr::{Env, Expr};
use super::gather::{Follow, Gather};
use super::mask::{Mask, Masked, Values};
use super::product::{OrIdentity, Product};
use super::region::{Extract, Scatter};
use super::terminal::{self, Accum, Replace};
use super::union::EwiseAdd;
use crate::containers::{Matrix, Vector};
use crate::error::Result;
use std::panic::Location;
use vxm_semiring::{BinaryOp, Element, Monoid, Scalar, Semiring, TernaryOp, UnaryOp};

/// The verbs of a vector expression. Each builds a node; `eval`, `assign_to` and `reduce` run the tree.
///
/// Absent elements stay absent: an operator never sees one, unless [`or`](Self::or) or [`or_identity`](Self::or_identity) fills it.
pub trait Verbs: Expr {
    /// The product `w[j] = ⊕ over i of self[i] ⊗ a[i, j]`; `a.nrows()` must be the vector's length.
    ///
    /// Pull folds each wanted column, push scatters each element's row; the plan chooses.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::from_triples(2, 3, [(0, 0, 10u32), (0, 2, 20), (1, 2, 1)])?;
    /// let u = Vector::from_dense(vec![1u32, 7]);
    /// let w = u.vxm(&a, PLUS_TIMES).eval()?;
    /// assert_eq!(w, Vector::from_pairs(3, [(0, 10), (2, 27)])?);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[track_caller]
    #[must_use = "an expression does nothing until a terminal runs it"]
    fn vxm<A: Element, S: Semiring<Self::T, A>>(self, a: &Matrix<A>, ring: S) -> Product<'_, Self, A, S> {
        Product::vxm(self, a, ring, Location::caller())
    }

    /// `op(x)` of every element.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let v = Vector::from_pairs(3, [(1, 4u32)])?;
    /// assert_eq!(v.map(PLUS.bind(1)).eval()?, Vector::from_pairs(3, [(1, 5)])?);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[must_use = "an expression does nothing until a terminal runs it"]
    fn map<F: UnaryOp<Self::T>>(self, op: F) -> Each<Self, Map<F>> {
        Each { inner: self, step: Map(op) }
    }

    /// `op(index, x)` of every element.
    #[must_use = "an expression does nothing until a terminal runs it"]
    fn map_index<F: BinaryOp<u32, Self::T>>(self, op: F) -> Each<Self, MapIndex<F>> {
        Each { inner: self, step: MapIndex(op) }
    }

    /// `op(x, y)` where both hold an element (the intersection).
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let x = Vector::from_pairs(3, [(0, 4u32), (1, 5)])?;
    /// let y = Vector::from_pairs(3, [(1, 10u32), (2, 20)])?;
    /// assert_eq!(x.ewise_mult(&y, PLUS).eval()?, Vector::from_pairs(3, [(1, 15)])?);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[track_caller]
    #[must_use = "an expression does nothing until a terminal runs it"]
    fn ewise_mult<Y: Expr, F: BinaryOp<Self::T, Y::T>>(self, other: Y, op: F) -> EwiseMult<Self, Y, F> {
        EwiseMult { left: self, right: other, op, at: Location::caller() }
    }

    /// `op(x, y)` where both hold an element, the one that is there where only one is (the union).
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let x = Vector::from_pairs(3, [(0, 4u32), (1, 5)])?;
    /// let y = Vector::from_pairs(3, [(1, 10u32), (2, 20)])?;
    /// assert_eq!(x.ewise_add(&y, PLUS).eval()?, Vector::from_dense(vec![4, 15, 20]));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[track_caller]
    #[must_use = "an expression does nothing until a terminal runs it"]
    fn ewise_add<Y, F>(self, other: Y, op: F) -> EwiseAdd<Self, Y, F>
    where
        Y: Expr<T = Self::T>,
        F: BinaryOp<Self::T, Self::T, Out = Self::T>,
    {
        EwiseAdd { left: self, right: other, op, at: Location::caller() }
    }

    /// The elements of which `op` is true.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let v = Vector::from_dense(vec![3u32, 8, 5]);
    /// assert_eq!(v.select(GT.bind(4)).eval()?, Vector::from_pairs(3, [(1, 8), (2, 5)])?);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[must_use = "an expression does nothing until a terminal runs it"]
    fn select<F: UnaryOp<Self::T, Out = bool>>(self, op: F) -> Each<Self, Select<F>> {
        Each { inner: self, step: Select(op) }
    }

    /// The elements of which `op(index, x)` is true.
    #[must_use = "an expression does nothing until a terminal runs it"]
    fn select_index<F: BinaryOp<u32, Self::T, Out = bool>>(self, op: F) -> Each<Self, SelectIndex<F>> {
        Each { inner: self, step: SelectIndex(op) }
    }

    /// The elements, and `value` wherever there is none.
    #[must_use = "an expression does nothing until a terminal runs it"]
    fn or(self, value: Self::T) -> Each<Self, Or<Self::T>> {
        Each { inner: self, step: Or(value) }
    }

    /// A product's elements, and its monoid's identity wherever there is none: an isolated vertex has no neighbours' maximum, and
    /// this gives it the least one.
    #[must_use = "an expression does nothing until a terminal runs it"]
    fn or_identity(self) -> Each<Self, Or<Self::T>>
    where
        Self: OrIdentity,
    {
        let value = self.identity();
        self.or(value)
    }

    /// Where there are elements, as a set.
    #[must_use = "an expression does nothing until a terminal runs it"]
    fn pattern(self) -> Each<Self, Pattern> {
        Each { inner: self, step: Pattern }
    }

    /// This expression as a mask by value: true where it holds an element that isn't zero.
    #[must_use = "a mask does nothing until an expression takes it"]
    fn values(self) -> Values<Self> {
        Values(self)
    }

    /// `w[k] = self[indices[k]]`.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let v = Vector::from_dense(vec![3u32, 8, 5]);
    /// assert_eq!(v.extract(&[2, 2, 0]).eval()?, Vector::from_dense(vec![5, 5, 3]));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[track_caller]
    #[must_use = "an expression does nothing until a terminal runs it"]
    fn extract(self, indices: &[u32]) -> Extract<'_, Self> {
        Extract { inner: self, indices, at: Location::caller() }
    }

    /// `w[k] = self[index[k]]`, where `index` is an expression of `u32` elements; absent where it holds none, where `self` holds none
    /// there, and where it points outside of `self`. O(elements of `index`) time; a product is evaluated before it is read.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// // pointers to parents become pointers to grandparents
    /// let parent = Vector::from_dense(vec![0u32, 0, 1, 2]);
    /// assert_eq!(parent.gather(&parent).eval()?, Vector::from_dense(vec![0, 0, 0, 1]));
    /// // nobody is at place 7
    /// let index = Vector::from_pairs(3, [(0, 3u32), (2, 7)])?;
    /// assert_eq!(parent.gather(&index).eval()?, Vector::from_pairs(3, [(0, 2)])?);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[must_use = "an expression does nothing until a terminal runs it"]
    fn gather<I: Expr<T = u32>>(self, index: I) -> Gather<Self, I> {
        Gather { inner: self, index }
    }

    /// Where elements lead that name others: from `y = self[i]` on, as long as `self[op(y)]` is there and lower, that is `y`; `w[i]` is
    /// the last. Each step is lower than the one before, so it ends, in a loop too, whose state others lower meanwhile. O(steps) time an
    /// element.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// // trees of pointers to parents: everybody's root
    /// let parent = Vector::from_dense(vec![0u32, 0, 1, 2, 4, 4]);
    /// assert_eq!(parent.follow(IDENTITY).eval()?, Vector::from_dense(vec![0, 0, 0, 0, 4, 4]));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[must_use = "an expression does nothing until a terminal runs it"]
    fn follow<F: UnaryOp<Self::T, Out = u32>>(self, op: F) -> Follow<Self, F>
    where
        Self::T: Scalar,
    {
        Follow { inner: self, op }
    }

    /// `w[indices[k]] = self[k]`, in a vector of `len` places: what is assigned to a region (GraphBLAS' assign). Indices in any
    /// order, each once; `assign_to` leaves places outside the region as they are.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let mut w = Vector::from_dense(vec![1u32, 2, 3]);
    /// let u = Vector::from_dense(vec![70u32, 80]);
    /// // w[2, 0] = u
    /// u.scatter(&[2, 0], 3).assign_to(&mut w)?;
    /// assert_eq!(w, Vector::from_dense(vec![80, 2, 70]));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[track_caller]
    #[must_use = "an expression does nothing until a terminal runs it"]
    fn scatter(self, indices: &[u32], len: usize) -> Scatter<'_, Self> {
        Scatter { inner: self, indices, len, at: Location::caller() }
    }

    /// Restricts the result to a mask: `&v` (where it holds an element), `!&v`, `v.values()`, `!v.values()`, or an expression.
    ///
    /// Under a terminal it also says where to write; under another verb it only leaves elements out.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let v = Vector::from_dense(vec![3u32, 8, 5]);
    /// let seen = Set::from_indices(3, [1])?;
    /// assert_eq!(v.mask(!&seen).eval()?, Vector::from_pairs(3, [(0, 3), (2, 5)])?);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[track_caller]
    #[must_use = "an expression does nothing until a terminal runs it"]
    fn mask<M: Mask>(self, mask: M) -> Masked<Self, M> {
        Masked { inner: self, mask, at: Location::caller() }
    }

    /// Accumulates into what is there: `expression.accum(PLUS).assign_to(&mut w)`.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let mut w = Vector::from_dense(vec![1u32, 2, 3]);
    /// let u = Vector::from_pairs(3, [(1, 40u32)])?;
    /// // w += u
    /// u.accum(PLUS).assign_to(&mut w)?;
    /// assert_eq!(w, Vector::from_dense(vec![1, 42, 3]));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    fn accum<F: BinaryOp<Self::T, Self::T, Out = Self::T>>(self, op: F) -> Accum<Self, F> {
        Accum { inner: self, op }
    }

    /// Runs the expression into a fresh vector; nothing is held where the mask says no.
    ///
    /// # Errors
    /// Shapes don't fit; the error names both and the verb's line.
    fn eval(self) -> Result<Vector<Self::T>> {
        terminal::eval(self)
    }

    /// Runs the expression and writes it through its mask: where the mask says yes, `w` becomes the expression, absent elements
    /// included; elsewhere it is kept.
    ///
    /// # Errors
    /// Shapes don't fit; the error names both and the verb's line.
    #[track_caller]
    fn assign_to(self, w: &mut Vector<Self::T>) -> Result<()> {
        terminal::write(&self, &Env::default(), w, Replace, Location::caller())
    }

    /// Folds all elements to one: the monoid's identity where there are none. Inexact monoids fold over the fixed tree.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let v = Vector::from_dense(vec![3u32, 8, 5]);
    /// assert_eq!((v.reduce(PLUS)?, v.reduce(MAX)?), (16, 8));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// Shapes don't fit; the error names both and the verb's line.
    fn reduce<M: Monoid<Self::T>>(self, monoid: M) -> Result<Self::T> {
        terminal::fold(self, monoid)
    }

    /// Runs the expression into a fresh vector, and folds its elements to one: [`eval`](Self::eval) and [`reduce`](Self::reduce) of what
    /// comes of it. On a device one kernel does both, unless there is a product in it, places are empty, or the monoid takes the first.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let v = Vector::from_dense(vec![3u32, 8, 5]);
    /// let (next, most) = v.map(PLUS.bind(1)).eval_and_reduce(MAX)?;
    /// assert_eq!((next, most), (Vector::from_dense(vec![4, 9, 6]), 9));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// Shapes don't fit; the error names both and the verb's line.
    fn eval_and_reduce<M: Monoid<Self::T>>(self, monoid: M) -> Result<(Vector<Self::T>, Self::T)> {
        terminal::eval_and_fold(self, monoid)
    }
}

impl<E: Expr> Verbs for E {}

impl<A: Element> Matrix<A> {
    /// The product `w[i] = ⊕ over j of self[i, j] ⊗ u[j]`; the vector's length must be `ncols()`.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::from_triples(2, 3, [(0, 0, 10u32), (0, 2, 20), (1, 2, 1)])?;
    /// let u = Vector::from_dense(vec![1u32, 1, 7]);
    /// assert_eq!(a.mxv(&u, PLUS_TIMES).eval()?, Vector::from_dense(vec![150, 7]));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[track_caller]
    #[must_use = "an expression does nothing until a terminal runs it"]
    pub fn mxv<E: Expr, S: Semiring<A, E::T>>(&self, u: E, ring: S) -> Product<'_, E, A, super::product::Flip<S>> {
        Product::mxv(self, u, ring, Location::caller())
    }
}

/// Operators applied to expressions: `decide.map2(own, best)` reads like the function it is.
pub trait Apply: Sized + Copy {
    /// `op(x, y)` where both hold an element.
    #[track_caller]
    #[must_use = "an expression does nothing until a terminal runs it"]
    fn map2<X: Expr, Y: Expr>(self, x: X, y: Y) -> EwiseMult<X, Y, Self>
    where
        Self: BinaryOp<X::T, Y::T>,
    {
        EwiseMult { left: x, right: y, op: self, at: Location::caller() }
    }

    /// `op(x, y, z)` where all three hold an element.
    #[track_caller]
    #[must_use = "an expression does nothing until a terminal runs it"]
    fn map3<X: Expr, Y: Expr, Z: Expr>(self, x: X, y: Y, z: Z) -> Map3<X, Y, Z, Self>
    where
        Self: TernaryOp<X::T, Y::T, Z::T>,
    {
        Map3 { first: x, second: y, third: z, op: self, at: Location::caller() }
    }
}

impl<F: vxm_semiring::Source> Apply for F {}
