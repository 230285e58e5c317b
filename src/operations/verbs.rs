//! The verbs: methods of every vector expression, and operators as methods.

use crate::backend::explain::{Explanation, explain};
use crate::containers::{Matrix, Vector};
use crate::error::Result;
use crate::operations::elementwise::{
    Each, EwiseMult, Map, Map3, MapIndex, Numbering, Or, Pattern, Select, SelectIndex,
};
use crate::operations::ewise_add::EwiseAdd;
use crate::operations::expr::{Env, Expr};
use crate::operations::gather::{Gather, PointerJump};
use crate::operations::index_list::Indices;
use crate::operations::mask::{Mask, Masked, Values};
use crate::operations::oriented::Multiplicand;
use crate::operations::product::{OrIdentity, Product};
use crate::operations::region::{Extract, Scatter};
use crate::operations::terminal::{self, Accum, Replace};
use std::panic::Location;
use vxm_semiring::{ANY, Any, BinaryOp, Element, Monoid, Scalar, Semiring, TernaryOp, UnaryOp};

/// What [`Verbs::ewise_union`] returns: both operands filled, restricted to the places where either holds an element.
pub type EwiseUnion<X, Y, F> = Masked<
    EwiseMult<Each<X, Or<<X as Expr>::T>>, Each<Y, Or<<Y as Expr>::T>>, F>,
    EwiseAdd<Each<X, Pattern>, Each<Y, Pattern>, Any>,
>;

/// The verbs of a vector expression.
///
/// A verb builds a node of the expression tree and computes nothing. A terminal runs the whole tree:
/// [`eval`](Self::eval), [`assign_to`](Self::assign_to), [`reduce`](Self::reduce),
/// [`eval_and_reduce`](Self::eval_and_reduce) or [`Vector::update`]. Elementwise work, mask and accumulator are fused
/// into the terminal's one pass.
///
/// A vector has an element or nothing at each place. Absent elements stay absent, and an operator never sees one. Only
/// [`or`](Self::or) and [`or_identity`](Self::or_identity) fill them.
pub trait Verbs: Expr {
    /// The vector-matrix product `w[j] = ⊕ over i of self[i] ⊗ a[i, j]` (GraphBLAS: `GrB_vxm`).
    ///
    /// `a` is a matrix, a graph or an [`Oriented`](crate::operations::oriented::Oriented) view of one. The vector's length must be
    /// `a.nrows()`; the result's length is `a.ncols()`. `w[j]` is absent where column `j`
    /// meets no element of the vector. In `ring`, `FIRST` is the vector's element and `SECOND` is the matrix's entry.
    ///
    /// The plan chooses the direction. Pull folds each wanted column, in O(entries of those columns) time. Push
    /// scatters the row of each element, in O(entries of those rows) time. Both give the same bits.
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
    fn vxm<'a, M, S>(self, a: M, ring: S) -> Product<'a, Self, M::Entry, S, M::Policy>
    where
        M: Multiplicand<'a>,
        S: Semiring<Self::T, M::Entry>,
    {
        Product::vxm(self, a.parts(), ring, Location::caller())
    }

    /// `op(x)` of every element (GraphBLAS: `GrB_apply`).
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

    /// `op(index, x)` of every element (GraphBLAS: `GrB_apply` with an index operator).
    #[must_use = "an expression does nothing until a terminal runs it"]
    fn map_index<F: BinaryOp<u32, Self::T>>(self, op: F) -> Each<Self, MapIndex<F>> {
        Each { inner: self, step: MapIndex(op, Numbering::default()) }
    }

    /// `op(x, y)` at each place where both operands hold an element: the intersection (GraphBLAS: `GrB_eWiseMult`).
    /// Both operands must have the same length.
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

    /// The union of both operands (GraphBLAS: `GrB_eWiseAdd`): `op(x, y)` where both hold an element, and the only
    /// element where one does. Both operands must have the same length.
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

    /// `op(x, y)` at each place where an operand holds an element, with `alpha` or `beta` for the one that is missing (GraphBLAS:
    /// `GxB_eWiseUnion`). Unlike [`ewise_add`](Self::ewise_add), the types may differ, and the operator is always applied. Both operands
    /// must have the same length.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let x = Vector::from_pairs(3, [(0, 5u32), (1, 6)])?;
    /// let y = Vector::from_pairs(3, [(1, 1u32), (2, 2)])?;
    /// assert_eq!(x.ewise_union(10, &y, 0, MINUS).eval()?, Vector::from_dense(vec![5, 5, 8]));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[track_caller]
    #[must_use = "an expression does nothing until a terminal runs it"]
    fn ewise_union<Y, F>(self, alpha: Self::T, other: Y, beta: Y::T, op: F) -> EwiseUnion<Self, Y, F>
    where
        Y: Expr,
        F: BinaryOp<Self::T, Y::T>,
    {
        let either = self.pattern().ewise_add(other.pattern(), ANY);
        self.or(alpha).ewise_mult(other.or(beta), op).mask(either)
    }

    /// The elements for which `op(x)` is true (GraphBLAS: `GrB_select`).
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

    /// The elements for which `op(index, x)` is true (GraphBLAS: `GrB_select` with an index operator).
    #[must_use = "an expression does nothing until a terminal runs it"]
    fn select_index<F: BinaryOp<u32, Self::T, Out = bool>>(self, op: F) -> Each<Self, SelectIndex<F>> {
        Each { inner: self, step: SelectIndex(op, Numbering::default()) }
    }

    /// The elements, with `value` at every place that holds none. The result is full.
    #[must_use = "an expression does nothing until a terminal runs it"]
    fn or(self, value: Self::T) -> Each<Self, Or<Self::T>> {
        Each { inner: self, step: Or(value) }
    }

    /// A product's elements, with the identity of its monoid at every place that holds none. The result is full.
    ///
    /// For example, the maximum over an isolated vertex's neighbours is absent. `or_identity` makes it the least value.
    #[must_use = "an expression does nothing until a terminal runs it"]
    fn or_identity(self) -> Each<Self, Or<Self::T>>
    where
        Self: OrIdentity,
    {
        let value = self.identity();
        self.or(value)
    }

    /// The set of places that hold an element.
    #[must_use = "an expression does nothing until a terminal runs it"]
    fn pattern(self) -> Each<Self, Pattern> {
        Each { inner: self, step: Pattern }
    }

    /// A mask by value of this expression: true where it holds an element that isn't zero. Without `values`, a mask is
    /// structural: true where there is an element.
    #[must_use = "a mask does nothing until an expression takes it"]
    fn values(self) -> Values<Self> {
        Values(self)
    }

    /// `w[k] = self[indices[k]]` (GraphBLAS: `GrB_extract`). The result is as long as the list. Indices may repeat and come in any order; one
    /// outside the vector is a shape error. A set lists its members, and must be as long as the vector.
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
    fn extract<I: Indices + ?Sized>(self, indices: &I) -> Extract<'_, Self> {
        Extract { inner: self, indices: indices.listed(), at: Location::caller() }
    }

    /// `w[k] = self[index[k]]`, where `index` is an expression of `u32` elements. The result's length is `index`'s.
    ///
    /// `w[k]` is absent in three cases: `index` holds no element at `k`; `self` holds none at `index[k]`; `index[k]`
    /// lies outside `self`. O(elements of `index`) time. An operand that holds a product is evaluated before it is
    /// read.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// // pointers to parents become pointers to grandparents
    /// let parent = Vector::from_dense(vec![0u32, 0, 1, 2]);
    /// assert_eq!(parent.gather(&parent).eval()?, Vector::from_dense(vec![0, 0, 0, 1]));
    /// // there is no place 7
    /// let index = Vector::from_pairs(3, [(0, 3u32), (2, 7)])?;
    /// assert_eq!(parent.gather(&index).eval()?, Vector::from_pairs(3, [(0, 2)])?);
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[must_use = "an expression does nothing until a terminal runs it"]
    fn gather<I: Expr<T = u32>>(self, index: I) -> Gather<Self, I> {
        Gather { inner: self, index }
    }

    /// Follows pointers to their end (pointer jumping), and returns the last value of each chain.
    ///
    /// `w[i]` starts at `y = self[i]`. While `self[op(y)]` is present and less than `y`, it becomes the new `y`. `w[i]`
    /// is the last `y`. An index `op(y)` outside the vector ends the chain. `w[i]` is absent where `self[i]` is.
    ///
    /// Values along a chain strictly decrease, so it ends. That holds in a loop too, where other threads lower the
    /// state meanwhile. Each element takes O(length of its chain) time.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// // trees of pointers to parents: the root of each vertex
    /// let parent = Vector::from_dense(vec![0u32, 0, 1, 2, 4, 4]);
    /// assert_eq!(parent.pointer_jump(IDENTITY).eval()?, Vector::from_dense(vec![0, 0, 0, 0, 4, 4]));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[must_use = "an expression does nothing until a terminal runs it"]
    fn pointer_jump<F: UnaryOp<Self::T, Out = u32>>(self, op: F) -> PointerJump<Self, F>
    where
        Self::T: Scalar,
    {
        PointerJump { inner: self, op }
    }

    /// `w[indices[k]] = self[k]`, in a vector of `len` places (GraphBLAS: `GrB_assign` to a list of indices).
    ///
    /// There must be as many indices as the expression has places. They may come in any order, but each only once. A set lists its members, and
    /// must have `len` places.
    /// `assign_to` leaves places outside the region as they are.
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
    fn scatter<I: Indices + ?Sized>(self, indices: &I, len: usize) -> Scatter<'_, Self> {
        Scatter { inner: self, indices: indices.listed(), len, at: Location::caller() }
    }

    /// Restricts the result to a mask: `&v` (where it holds an element), `!&v`, `v.values()`, `!v.values()`, or an
    /// expression. The mask must have the expression's length.
    ///
    /// At the root of the tree, under a terminal, the mask also says where the terminal writes. Inside the tree it only
    /// drops elements.
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

    /// Sets an accumulator: `expression.accum(PLUS).assign_to(&mut w)` is `w ⊙= expression`. An absent element of the
    /// expression leaves `w` as it is.
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

    /// Runs the expression as [`eval`](Self::eval) does, and tells how: each choice of the plan with its reason, the sizes that it was based on,
    /// and what was measured. The result is dropped; [`explain`](crate::backend::explain::explain()) keeps it.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let a = Matrix::undirected(3, &[(0, 1), (1, 2)])?;
    /// let key = Vector::from_dense(vec![7u32, 3, 5]);
    /// let plan = key.vxm(&a, MAX_FIRST).explain()?.to_string();
    /// // the direction, the format and the strategy of the product, and why
    /// assert!(plan.contains("direction Pull, format Csr"), "{plan}");
    /// assert!(plan.contains("because: "), "{plan}");
    /// assert!(plan.contains("measured: eval of 3 elements, 4 entries read"), "{plan}");
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`eval`](Self::eval).
    fn explain(self) -> Result<Explanation> {
        let (made, explanation) = explain(|| self.eval());
        made.map(|_| explanation)
    }

    /// Runs the expression into a fresh vector, which holds nothing where the mask is false.
    ///
    /// # Errors
    /// Shapes don't fit; the error names both shapes and the verb's line. The device has too little memory, or is lost.
    fn eval(self) -> Result<Vector<Self::T>> {
        terminal::eval(self)
    }

    /// Runs the expression and writes it to `w` through its mask. Where the mask is true, `w` takes the expression's
    /// element, or becomes absent where the expression is. Elsewhere `w` is kept.
    ///
    /// # Errors
    /// Shapes don't fit; the error names both shapes and the verb's line. The device has too little memory, or is lost.
    #[track_caller]
    fn assign_to(self, w: &mut Vector<Self::T>) -> Result<()> {
        terminal::write(&self, &Env::default(), w, Replace, Location::caller())
    }

    /// Folds all elements to one; returns the monoid's identity if there are none. An inexact monoid is folded over the
    /// fixed tree, so the result has the same bits on every device and thread count.
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
    /// Shapes don't fit; the error names both shapes and the verb's line. The device has too little memory, or is lost.
    fn reduce<M: Monoid<Self::T>>(self, monoid: M) -> Result<Self::T> {
        terminal::fold(self, monoid)
    }

    /// Runs the expression into a fresh vector, and folds that vector's elements to one: [`eval`](Self::eval) and
    /// [`reduce`](Self::reduce) together.
    ///
    /// On a GPU one kernel does both if three conditions hold. The expression has no product; its result is full; the
    /// monoid is commutative or inexact. (`ANY`, which takes the first element, is neither.)
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
    /// Shapes don't fit; the error names both shapes and the verb's line. The device has too little memory, or is lost.
    fn eval_and_reduce<M: Monoid<Self::T>>(self, monoid: M) -> Result<(Vector<Self::T>, Self::T)> {
        terminal::eval_and_fold(self, monoid)
    }
}

impl<E: Expr> Verbs for E {}

impl<A: Element> Matrix<A> {
    /// The matrix-vector product `w[i] = ⊕ over j of self[i, j] ⊗ u[j]` (GraphBLAS: `GrB_mxv`).
    ///
    /// The vector's length must be `ncols()`; the result's length is `nrows()`. In `ring`, `FIRST` is the matrix's
    /// entry and `SECOND` is the vector's element. Directions and costs are those of [`vxm`](Verbs::vxm).
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
    pub fn mxv<E: Expr, S: Semiring<A, E::T>>(
        &self,
        u: E,
        ring: S,
    ) -> Product<'_, E, A, crate::operations::product::Flip<S>> {
        Product::mxv(self, u, ring, Location::caller())
    }
}

/// Operators as methods over expressions: `decide.map2(own, best)` reads like the call of a function.
pub trait Apply: Sized + Copy {
    /// `op(x, y)` at each place where both hold an element. The same as [`ewise_mult`](Verbs::ewise_mult).
    #[track_caller]
    #[must_use = "an expression does nothing until a terminal runs it"]
    fn map2<X: Expr, Y: Expr>(self, x: X, y: Y) -> EwiseMult<X, Y, Self>
    where
        Self: BinaryOp<X::T, Y::T>,
    {
        EwiseMult { left: x, right: y, op: self, at: Location::caller() }
    }

    /// `op(x, y, z)` at each place where all three hold an element. All must have the same length.
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
