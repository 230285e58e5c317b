//! Elements joined into others that they name, as a loop visits them: `x[root(x)] ⊕= x'`.

use super::changed::Changed;
use super::expr::Expr;
use super::fixpoint::Stepped;
use super::verbs::Verbs;
use crate::backend::cpu::changed::{Hook, Unhooked};
use crate::backend::cuda::compose::{Composer, Piece};
use crate::containers::{Matrix, Vector};
use crate::error::{Error, Result};
use std::any::TypeId;
use std::panic::Location;
use vxm_semiring::{Element, FIRST, Max, Min, Monoid, UnaryOp, semiring};

/// Elements are joined by a monoid into those that `root` names.
#[derive(Debug, Clone, Copy)]
pub struct Hooking<F, M> {
    root: F,
    add: M,
    at: &'static Location<'static>,
}

/// How a loop's elements are hooked onto others, if they are, on every path.
pub trait Hooks<T: Element>: Hook<T> {
    /// Why a loop can't have it, if it can't.
    fn refusal(self, monotone: bool) -> Option<Error>;

    /// The same on a device, as a C++ type.
    fn emit(self, kernel: &mut Composer) -> Piece;

    /// An operation at a time: what a round makes of the state `before`, whose body has made `state` of it.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    fn joined(self, before: &Vector<T>, state: Vector<T>) -> Result<Vector<T>>;
}

impl<T: Element> Hooks<T> for Unhooked {
    fn refusal(self, _: bool) -> Option<Error> {
        None
    }
    fn emit(self, _: &mut Composer) -> Piece {
        "vxm::Unhooked".into()
    }
    fn joined(self, _: &Vector<T>, state: Vector<T>) -> Result<Vector<T>> {
        Ok(state)
    }
}

impl<T: Element, F: UnaryOp<T, Out = u32>, M: Monoid<T>> Hook<T> for Hooking<F, M> {
    const HOOKS: bool = true;
    #[inline(always)]
    fn onto(self, own: T) -> u32 {
        self.root.call(own)
    }
    #[inline(always)]
    fn join(self, held: T, other: T) -> T {
        self.add.call(held, other)
    }
}

impl<T: Element, F: UnaryOp<T, Out = u32>, M: Monoid<T>> Hooks<T> for Hooking<F, M> {
    fn refusal(self, monotone: bool) -> Option<Error> {
        // a few elements tell whether it is idempotent, as far as any do: monoids don't say it of themselves
        let twice = || (1..=64).map(T::from_bits).find(|&x| self.add.call(x, x).bits() != x.bits());
        let why = match (monotone, M::EXACT, M::COMMUTATIVE) {
            (false, ..) => "a loop that isn't said to be monotone: elements are joined in any order".to_owned(),
            (_, false, _) => "a monoid that isn't exact: elements are joined in any order".to_owned(),
            (.., false) => {
                "a monoid that isn't said to be commutative (`COMMUTATIVE`): elements are joined in any order"
                    .to_owned()
            }
            _ => {
                let x = twice()?;
                let made = self.add.call(x, x);
                format!(
                    "a monoid that isn't idempotent, and makes {made:?} of {x:?} twice: elements are joined again and again"
                )
            }
        };
        Some(Error::invalid(format!("{}: hooking: {why}", self.at)))
    }
    fn emit(self, kernel: &mut Composer) -> Piece {
        // what hardware joins in one step, of some types
        let order = match TypeId::of::<M>() {
            id if id == TypeId::of::<Min>() => "-1",
            id if id == TypeId::of::<Max>() => "1",
            _ => "0",
        };
        let (root, add) = (kernel.functor(self.root), kernel.monoid::<T, M>(self.add));
        kernel.ty("vxm::Hooked", [root, add, order.into()])
    }
    fn joined(self, before: &Vector<T>, state: Vector<T>) -> Result<Vector<T>> {
        // new = before + state; new[root(before)] += new
        let (n, new) = (before.len(), before.ewise_add(&state, self.add).eval()?);
        let onto = before.map(self.root).eval()?.to_dense(u32::MAX);
        let links = (0..).zip(onto).filter(|&(_, j)| (j as usize) < n).map(|(i, j)| (i, j, ()));
        let links = Matrix::from_triples(n, n, links)?;
        new.ewise_add(new.vxm(&links, semiring(self.add, FIRST)), self.add).eval()
    }
}

impl<T: Element, E: Expr<T = T>> Stepped<T, Changed, E> {
    /// Joins each element, besides, into the one that it names: `x[root(x)] ⊕= x'`, where `x'` is what a visit makes of an element
    /// (itself ⊕ what the body says), and `root(x)` an index, of the element as it was before. An index outside does nothing. Who is changed
    /// so may pass it on to whom it named until then; and where `monoid` is [`MIN`](vxm_semiring::MIN), and the body is where the state leads,
    /// joined lazily with something else at most, an element may be joined with what [`follow`](Verbs::follow) passes, not only with where it
    /// ends. The loop must reach the same state either way.
    ///
    /// It is GraphBLAS' assign with an accumulator to places that the state itself says, over and over: FastSV hooks a tree's root in
    /// this way as soon as any of its vertices finds a lower one. Elements are joined in any order, and as often as they are visited:
    /// `monoid` must be exact, commutative and idempotent (a few elements are tried, the rest is yours to know), and the loop
    /// [`monotone`](super::changed::WhileChanged::monotone). Each round visits all elements; the last makes no difference to any.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// // a path 3 - 0 - 4 - 1 - 2, and the least number that is connected to each vertex: labels fall to the least next to them, and
    /// // whoever has labelled a vertex hears of it
    /// let a = Matrix::undirected(5, &[(0, 3), (0, 4), (1, 4), (1, 2)])?;
    /// // f = f min (f min.first A), f[f] min= f, until none changes
    /// let settled = fixpoint(Vector::from_dense(vec![0u32, 1, 2, 3, 4]))
    ///     .while_changed()
    ///     .monotone()
    ///     .step(|f| f.vxm(&a, MIN_FIRST))
    ///     .hooking(IDENTITY, MIN)
    ///     .eval()?;
    /// assert_eq!(settled.state, Vector::full(5, 0));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    #[track_caller]
    pub fn hooking<F, M>(self, root: F, monoid: M) -> Stepped<T, Changed<Hooking<F, M>>, E>
    where
        F: UnaryOp<T, Out = u32>,
        M: Monoid<T>,
    {
        let Self { state, condition, monotone, key, body, first, at } = self;
        let condition = condition.hooked(Hooking { root, add: monoid, at: Location::caller() });
        Stepped { state, condition, monotone, key, body, first, at }
    }
}
