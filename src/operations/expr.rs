//! The expression tree: what verbs build and terminals run.

use super::reads::Reads;
use crate::backend::cuda::compose::{Composer, Node};
use crate::backend::cuda::{self, Gpu};
use crate::backend::view::{At, Depends, StateView, Support, fixed_as_it_is};
use crate::containers::Vector;
use crate::error::{Error, Result};
use crate::formats::{Shared, StoreView, check_vertices};
use std::any::Any;
use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use vxm_semiring::Element;

/// An expression within another's kernel, evaluated first if it is heavy: where it is read many times a place it must not run each
/// time, and a product's rows are shared out by their own numbers.
pub(crate) fn emit_light<E: Expr>(expression: &E, env: &Env<'_>, kernel: &mut Composer) -> Result<Node> {
    if !E::HEAVY {
        return expression.emit(env, kernel);
    }
    if kernel.is_resident() {
        kernel.refuse("a product's operand is a product: it is evaluated first in every round");
    }
    let mut first = Composer::sharing(kernel.gpu());
    let node = expression.emit(env, &mut first)?;
    let held = cuda::run::eval::<E::T>(first, &node, expression.len(env)?)?;
    Ok(kernel.stored(&held))
}

/// What an expression is evaluated in: the state that a placeholder stands for, and how much of the result is wanted.
#[derive(Clone, Copy, Default)]
pub struct Env<'s> {
    /// A number for the placeholder; a `Vector`, or what a loop [`Shared`].
    state: Option<(u64, &'s dyn Any)>,
    snapshot: Option<&'s Cell<bool>>,
    chooses: Option<&'s (dyn Fn(usize) -> bool + Sync)>,
    wanted: Option<usize>,
    reversed: bool,
}

impl<'s> Env<'s> {
    /// An environment in which `key` stands for `state`.
    pub(crate) fn with_state<T: Element>(key: Key<T>, state: &'s Vector<T>) -> Self {
        Self { state: Some((key.id, state)), ..Self::default() }
    }

    /// An environment in which `key` stands for a state that is written while it is read; `snapshot` learns whether a view holds what
    /// was read of it when that view was made.
    pub(crate) fn with_shared<T: Element>(key: Key<T>, state: &'s Shared<T>, snapshot: &'s Cell<bool>) -> Self {
        Self { state: Some((key.id, state)), snapshot: Some(snapshot), ..Self::default() }
    }

    /// The same, where the entries that take part in a row may be chosen once, before the loop; `active` says in which rows.
    pub(crate) fn choosing(self, active: &'s (dyn Fn(usize) -> bool + Sync)) -> Self {
        Self { chooses: Some(active), ..self }
    }

    /// In which rows they may be chosen, if they may.
    pub(crate) fn chooses(&self) -> Option<&'s (dyn Fn(usize) -> bool + Sync)> {
        self.chooses
    }

    /// The same, where rows had better be read from their ends: for visits in order, since where low numbers are hubs those whose turn
    /// is early are the last of a row.
    pub(crate) fn reversed(self) -> Self {
        Self { reversed: true, ..self }
    }

    /// Whether they had.
    pub(crate) fn is_reversed(&self) -> bool {
        self.reversed
    }

    /// Says that a view evaluates an operand once, whatever becomes of the state.
    pub(crate) fn snapshot(&self) {
        if let Some(snapshot) = self.snapshot {
            snapshot.set(true);
        }
    }

    /// The same, with at most `wanted` elements of the result asked for.
    pub(crate) fn wanting(self, wanted: usize) -> Self {
        Self { wanted: Some(self.wanted.map_or(wanted, |w| w.min(wanted))), ..self }
    }

    /// The same, for an operand whose elements may all be read.
    pub(crate) fn for_operand(self) -> Self {
        Self { wanted: None, ..self }
    }

    /// How many elements of the result are asked for, of `n`.
    pub(crate) fn wanted(&self, n: usize) -> usize {
        self.wanted.map_or(n, |w| w.min(n))
    }

    /// What `key` stands for, a `S`.
    fn find<T, S: 'static>(&self, key: Key<T>) -> Option<&'s S> {
        self.state.filter(|&(id, _)| id == key.id).and_then(|(_, state)| state.downcast_ref())
    }

    fn state<T: Element>(&self, key: Key<T>) -> Result<&'s Vector<T>> {
        self.find(key).ok_or_else(|| Error::Invalid { what: "a placeholder outside the call that made it".to_owned() })
    }
}

/// A node of the tree: a vector, or a verb over expressions. A cheap copy: it borrows its vectors and matrices.
pub trait Expr: Copy + Sync {
    /// The elements' type.
    type T: Element;
    /// The expression with device, formats and directions chosen.
    type View<'s>: At<T = Self::T>
    where
        Self: 's;
    /// Whether reading an element costs more than a few operations: a product is folded anew at each read.
    const HEAVY: bool = false;

    /// The length of the vector it stands for.
    ///
    /// # Errors
    /// A placeholder is used outside the call that made it.
    fn len(&self, env: &Env<'_>) -> Result<usize>;

    /// Checks shapes, plans, and runs what can't be fused into the terminal's loop.
    ///
    /// # Errors
    /// Operands' shapes don't fit; the error names both shapes and the verb's line.
    fn view<'s>(&'s self, env: &Env<'s>) -> Result<Self::View<'s>>;

    /// The GPU that an operand lies on, if any does: where the expression runs.
    fn place(&self, env: &Env<'_>) -> Option<Gpu>;

    /// How many elements there are at most, where telling it costs nothing; `None` otherwise.
    fn known_count(&self, _: &Env<'_>) -> Option<usize> {
        None
    }

    /// What each place holds, where that is one value at all.
    ///
    /// # Errors
    /// There are too many places.
    fn constant(&self) -> Result<Option<Self::T>> {
        Ok(None)
    }

    /// Tells what an element reads of a loop's state. What isn't told isn't visited again when it changes, so who doesn't know says
    /// everything.
    fn reads<'s>(&'s self, _: &Env<'_>, reads: &mut Reads<'s>) {
        reads.everything();
    }

    /// Checks shapes, runs what can't be fused into the terminal's kernel, and emits the rest as a C++ type.
    ///
    /// # Errors
    /// As for [`view`](Self::view); the device has too little memory, or is lost.
    fn emit(&self, env: &Env<'_>, kernel: &mut Composer) -> Result<Node>;
}

impl<'a, T: Element> Expr for &'a Vector<T> {
    type T = T;
    type View<'s>
        = StoreView<'s, T>
    where
        'a: 's;
    fn len(&self, _: &Env<'_>) -> Result<usize> {
        Ok(Vector::len(self))
    }
    fn view<'s>(&'s self, _: &Env<'s>) -> Result<StoreView<'s, T>> {
        Ok(Vector::view(self))
    }
    fn place(&self, _: &Env<'_>) -> Option<Gpu> {
        self.gpu().cloned()
    }
    fn known_count(&self, _: &Env<'_>) -> Option<usize> {
        Vector::known_count(self)
    }
    fn reads<'s>(&'s self, _: &Env<'_>, _: &mut Reads<'s>) {}
    fn emit(&self, _: &Env<'_>, kernel: &mut Composer) -> Result<Node> {
        let vector = self.on(&kernel.gpu().clone())?;
        Ok(kernel.stored(&vector))
    }
}

/// A placeholder for the vector that [`update`](Vector::update) writes: readable like any vector, a copy, with no lifetime.
///
/// Outside the call that made it, a nested call's body included, it stands for nothing, and the terminal says so.
#[derive(Debug, Clone, Copy)]
pub struct Key<T> {
    /// One number a call, so that the placeholder of one is never read as another's.
    id: u64,
    of: PhantomData<fn() -> T>,
}

impl<T: Element> Key<T> {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { id: NEXT.fetch_add(1, Ordering::Relaxed), of: PhantomData }
    }
}

impl<T: Element> Expr for Key<T> {
    type T = T;
    type View<'s> = StateView<'s, T>;
    fn len(&self, env: &Env<'_>) -> Result<usize> {
        match env.find::<T, Shared<T>>(*self) {
            Some(shared) => Ok(shared.len()),
            None => Ok(env.state(*self)?.len()),
        }
    }
    fn view<'s>(&'s self, env: &Env<'s>) -> Result<StateView<'s, T>> {
        match env.find(*self) {
            Some(shared) => Ok(StateView::Shared(Shared::view(shared))),
            None => Ok(StateView::Still(env.state(*self)?.view())),
        }
    }
    fn place(&self, env: &Env<'_>) -> Option<Gpu> {
        env.state(*self).ok()?.gpu().cloned()
    }
    fn known_count(&self, env: &Env<'_>) -> Option<usize> {
        Vector::known_count(env.state(*self).ok()?)
    }
    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>) {
        if env.state.is_some_and(|(id, _)| id == self.id) {
            reads.own();
        }
    }
    fn emit(&self, env: &Env<'_>, kernel: &mut Composer) -> Result<Node> {
        let state = env.state(*self)?;
        if kernel.is_resident() {
            return Ok(kernel.state(&state.on(&kernel.gpu().clone())?));
        }
        Expr::emit(&state, env, kernel)
    }
}

/// A vector that holds `value` at each of `len` places, without storing it.
#[derive(Debug, Clone, Copy)]
pub struct Fill<T> {
    value: T,
    len: usize,
}

/// `value` at each of `len` places: what a scalar is assigned with.
///
/// ```
/// use vxm::prelude::*;
///
/// let mut w = Vector::from_dense(vec![1u32, 2, 3]);
/// let mask = Set::from_indices(3, [0, 2])?;
/// // w<mask> = 9
/// fill(9, 3).mask(&mask).assign_to(&mut w)?;
/// assert_eq!(w, Vector::from_dense(vec![9, 2, 9]));
/// # Ok::<(), vxm::Error>(())
/// ```
pub fn fill<T: Element>(value: T, len: usize) -> Fill<T> {
    Fill { value, len }
}

impl<T: Element> Expr for Fill<T> {
    type T = T;
    type View<'s> = Self;
    fn len(&self, _: &Env<'_>) -> Result<usize> {
        Ok(self.len)
    }
    fn view<'s>(&'s self, _: &Env<'s>) -> Result<Self> {
        check_vertices("fill", self.len)?;
        Ok(*self)
    }
    fn place(&self, _: &Env<'_>) -> Option<Gpu> {
        None
    }
    fn constant(&self) -> Result<Option<T>> {
        check_vertices("fill", self.len)?;
        Ok(Some(self.value))
    }
    fn reads<'s>(&'s self, _: &Env<'_>, _: &mut Reads<'s>) {}
    fn emit(&self, _: &Env<'_>, kernel: &mut Composer) -> Result<Node> {
        check_vertices("fill", self.len)?;
        kernel.push(self.value.bits());
        let t = kernel.element::<T>();
        Ok(Node::new(kernel.ty("vxm::Fill", [t]), true))
    }
}

impl<T: Element> At for Fill<T> {
    type T = T;
    fixed_as_it_is!();
    fn depends(&self, _: usize) -> Depends {
        Depends::Own
    }
    #[inline(always)]
    fn at(&self, _: usize) -> Option<T> {
        Some(self.value)
    }
    #[inline(always)]
    fn is_full(&self) -> bool {
        true
    }
}

/// Fails unless `left == right`, with both shapes and the caller's line.
pub(crate) fn fits(operation: &'static str, left: usize, right: usize, at: &'static Location<'static>) -> Result<()> {
    fits_as(operation, (left, right), |left, right| (format!("vector of {left}"), format!("vector of {right}")), at)
}

/// The same of what isn't two vectors: `named` says what each is.
pub(crate) fn fits_as(
    operation: &'static str,
    (left, right): (usize, usize),
    named: impl FnOnce(usize, usize) -> (String, String),
    at: &'static Location<'static>,
) -> Result<()> {
    if left == right {
        return Ok(());
    }
    let (left, right) = named(left, right);
    Err(Error::Shape { operation, left, right, at })
}

/// The smaller of two supports of which both must hold, and whether it is the first.
pub(crate) fn narrower<'a>(a: Support<'a>, b: Support<'a>) -> (Support<'a>, bool) {
    match (a, b) {
        (Support::List(x), Support::List(y)) => {
            if x.len() <= y.len() {
                (a, true)
            } else {
                (b, false)
            }
        }
        (Support::List(_), _) | (_, Support::All) => (a, true),
        (_, Support::List(_)) | (Support::All, _) => (b, false),
        (Support::Bits(_), Support::Bits(_)) => (a, true),
    }
}
