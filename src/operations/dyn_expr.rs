//! Expressions of one type for all expressions of an element type.

use crate::backend::Place;
use crate::backend::cpu::dyn_view::BoxedView;
use crate::backend::cuda::codegen::builder::{KernelBuilder, Node};
use crate::backend::view::VectorView;
use crate::error::Result;
use crate::operations::expr::{Env, Expr};
use crate::operations::loops::dependencies::Reads;
use crate::operations::loops::relaxed::RelaxedEdges;
use std::any::TypeId;
use vxm_semiring::Element;

/// [`Expr`] as a trait that can be a `dyn` type.
trait Erased<T: Element>: Sync {
    fn is_heavy(&self) -> bool;
    fn len(&self, env: &Env<'_>) -> Result<usize>;
    fn view<'s>(&'s self, env: &Env<'s>) -> Result<BoxedView<'s, T>>;
    fn place(&self, env: &Env<'_>) -> Option<Place>;
    fn known_count(&self, env: &Env<'_>) -> Option<usize>;
    fn constant(&self) -> Result<Option<T>>;
    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>);
    fn is_state(&self, env: &Env<'_>) -> bool;
    fn relaxed_edges<'s>(&'s self, env: &Env<'_>, join: (TypeId, usize)) -> Option<Box<dyn RelaxedEdges<T> + 's>>;
    fn relaxation<'s>(&'s self, env: &Env<'_>) -> Option<Box<dyn RelaxedEdges<T> + 's>>;
    fn emit(&self, env: &Env<'_>, kernel: &mut KernelBuilder) -> Result<Node>;
}

impl<E: Expr> Erased<E::T> for E {
    fn is_heavy(&self) -> bool {
        Expr::is_heavy(self)
    }
    fn len(&self, env: &Env<'_>) -> Result<usize> {
        Expr::len(self, env)
    }
    fn view<'s>(&'s self, env: &Env<'s>) -> Result<BoxedView<'s, E::T>> {
        Ok(Expr::view(self, env)?.boxed())
    }
    fn place(&self, env: &Env<'_>) -> Option<Place> {
        Expr::place(self, env)
    }
    fn known_count(&self, env: &Env<'_>) -> Option<usize> {
        Expr::known_count(self, env)
    }
    fn constant(&self) -> Result<Option<E::T>> {
        Expr::constant(self)
    }
    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>) {
        Expr::reads(self, env, reads);
    }
    fn is_state(&self, env: &Env<'_>) -> bool {
        Expr::is_state(self, env)
    }
    fn relaxed_edges<'s>(&'s self, env: &Env<'_>, join: (TypeId, usize)) -> Option<Box<dyn RelaxedEdges<E::T> + 's>> {
        Expr::relaxed_edges(self, env, join)
    }
    fn relaxation<'s>(&'s self, env: &Env<'_>) -> Option<Box<dyn RelaxedEdges<E::T> + 's>> {
        Expr::relaxation(self, env)
    }
    fn emit(&self, env: &Env<'_>, kernel: &mut KernelBuilder) -> Result<Node> {
        Expr::emit(self, env, kernel)
    }
}

/// An expression with elements of type `T`, whatever its own type is. So expressions can be chosen, or built, at run time.
///
/// It borrows the expression, and has the same result and the same GPU kernel. On a CPU each element takes a virtual call, and is not
/// fused with the rest of an expression. An arena of the expressions' nodes lets a tree of them grow.
///
/// ```
/// use vxm::operations::dyn_expr::DynExpr;
/// use vxm::prelude::*;
///
/// let u = Vector::from_dense(vec![1u32, 5, 2]);
/// let v = Vector::from_dense(vec![4u32, 3, 2]);
/// let (least, sum) = ((&u).ewise_mult(&v, MIN), (&u).ewise_mult(&v, PLUS));
/// for (wants_least, found) in [(true, [1u32, 3, 2]), (false, [5, 8, 4])] {
///     let chosen = if wants_least { DynExpr::of(&least) } else { DynExpr::of(&sum) };
///     assert_eq!(chosen.eval()?, Vector::from_dense(found.to_vec()));
/// }
/// # Ok::<(), vxm::Error>(())
/// ```
pub struct DynExpr<'a, T: Element>(&'a dyn Erased<T>);

impl<T: Element> Clone for DynExpr<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: Element> Copy for DynExpr<'_, T> {}

impl<T: Element> std::fmt::Debug for DynExpr<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DynExpr<{}>", T::NAME)
    }
}

impl<'a, T: Element> DynExpr<'a, T> {
    /// The expression as one type for all of its element type.
    pub fn of<E: Expr<T = T>>(expression: &'a E) -> Self {
        Self(expression)
    }
}

impl<'a, T: Element> Expr for DynExpr<'a, T> {
    type T = T;
    type View<'s>
        = BoxedView<'s, T>
    where
        'a: 's;
    fn is_heavy(&self) -> bool {
        self.0.is_heavy()
    }
    fn len(&self, env: &Env<'_>) -> Result<usize> {
        self.0.len(env)
    }
    fn view<'s>(&'s self, env: &Env<'s>) -> Result<BoxedView<'s, T>> {
        self.0.view(env)
    }
    fn place(&self, env: &Env<'_>) -> Option<Place> {
        self.0.place(env)
    }
    fn known_count(&self, env: &Env<'_>) -> Option<usize> {
        self.0.known_count(env)
    }
    fn constant(&self) -> Result<Option<T>> {
        self.0.constant()
    }
    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>) {
        self.0.reads(env, reads);
    }
    fn is_state(&self, env: &Env<'_>) -> bool {
        self.0.is_state(env)
    }
    fn relaxed_edges<'s>(&'s self, env: &Env<'_>, join: (TypeId, usize)) -> Option<Box<dyn RelaxedEdges<T> + 's>> {
        self.0.relaxed_edges(env, join)
    }
    fn relaxation<'s>(&'s self, env: &Env<'_>) -> Option<Box<dyn RelaxedEdges<T> + 's>> {
        self.0.relaxation(env)
    }
    fn emit(&self, env: &Env<'_>, kernel: &mut KernelBuilder) -> Result<Node> {
        self.0.emit(env, kernel)
    }
}
