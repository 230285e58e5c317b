//! The expression tree: what verbs build and terminals run.

use crate::backend::Place;
use crate::backend::cpu::active::Sweeping;
use crate::backend::cuda::codegen::builder::{KernelBuilder, Node};
use crate::backend::cuda::{self, DeviceVector};
use crate::backend::view::{Dependency, StateView, Support, VectorView, fixed_is_self};
use crate::containers::Vector;
use crate::error::{Error, Result};
use crate::formats::{Shared, StoreView, check_vertices};
use crate::operations::loops::dependencies::Reads;
use crate::operations::loops::relaxed::RelaxedEdges;
use crate::operations::ranks::OnRanks;
use crate::operations::ranks::on_gpu::Slots;
use crate::ranks::Grid;
use std::any::{Any, TypeId};
use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use vxm_semiring::Element;

/// Emits an operand into another expression's kernel. A heavy operand, such as a product, is evaluated first.
///
/// There are two reasons to evaluate it first. An operand may be read many times per place, and a product must not be
/// folded anew each time. And a product's rows are shared out to threads by row number, which an operand's reader
/// doesn't follow.
#[inline(never)]
pub(crate) fn emit_operand<E: Expr>(expression: &E, env: &Env<'_>, kernel: &mut KernelBuilder) -> Result<Node> {
    // on ranks a product is evaluated when it is emitted
    if !expression.is_heavy() || env.grid().is_some() {
        return expression.emit(env, kernel);
    }
    if kernel.is_resident() {
        kernel.note_unfusable("a product's operand is itself a product: it is evaluated first in every round");
    }
    let mut first = KernelBuilder::for_row_classes(kernel.gpu());
    let node = expression.emit(env, &mut first)?;
    let held = cuda::terminals::eval::<E::T>(first, &node, expression.len(env)?)?;
    Ok(kernel.stored(&held))
}

/// The environment of an evaluation: the state that a placeholder stands for, and what is known about how the result is
/// read.
#[derive(Clone, Copy, Default)]
pub struct Env<'s> {
    /// The placeholder's number, and its state: a `Vector`, or a loop's [`Shared`].
    state: Option<(u64, &'s dyn Any)>,
    snapshot: Option<&'s Cell<bool>>,
    filterable_rows: Option<&'s (dyn Fn(usize) -> bool + Sync)>,
    spills: Option<&'s AtomicBool>,
    sweep: Option<&'s dyn Sweeping>,
    wanted: Option<usize>,
    reversed: bool,
    ranks: Option<OnRanks<'s>>,
}

impl<'s> Env<'s> {
    /// An environment in which `key` stands for `state`.
    pub(crate) fn with_state<T: Element>(key: StateRef<T>, state: &'s Vector<T>) -> Self {
        Self { state: Some((key.id, state)), ..Self::default() }
    }

    /// An environment in which `key` stands for a loop's state, which threads write while others read it.
    ///
    /// A view sets `snapshot` if it keeps elements of the state that it read when it was made. Such a view must be made
    /// anew in each round.
    pub(crate) fn with_shared<T: Element>(key: StateRef<T>, state: &'s Shared<T>, snapshot: &'s Cell<bool>) -> Self {
        Self { state: Some((key.id, state)), snapshot: Some(snapshot), ..Self::default() }
    }

    /// This environment, for views of this rank's pieces.
    pub(crate) fn on_ranks(self, ranks: OnRanks<'s>) -> Self {
        Self { ranks: Some(ranks), ..self }
    }

    /// What is known about an evaluation on all ranks of a grid; `None` if it runs on this process alone.
    pub(crate) fn ranks(&self) -> Option<OnRanks<'s>> {
        self.ranks
    }

    /// The grid of an evaluation on all of its ranks.
    pub(crate) fn grid(&self) -> Option<&'s Grid> {
        self.ranks.map(|ranks| ranks.grid)
    }

    /// This environment, for a loop that allows edges to be filtered once, before it starts. `active` says which rows
    /// the loop visits.
    pub(crate) fn with_filterable_rows(self, active: &'s (dyn Fn(usize) -> bool + Sync)) -> Self {
        Self { filterable_rows: Some(active), ..self }
    }

    /// Which rows the loop visits, if edges may be filtered before it starts.
    pub(crate) fn filterable_rows(&self) -> Option<&'s (dyn Fn(usize) -> bool + Sync)> {
        self.filterable_rows
    }

    /// This environment, for a loop that can sweep. A view sets `spills` if it reads rows that lie in a file larger than memory.
    pub(crate) fn with_spills(self, spills: &'s AtomicBool) -> Self {
        Self { spills: Some(spills), ..self }
    }

    /// Records that a view reads rows that lie in a file larger than memory.
    pub(crate) fn spills(&self) {
        if let Some(spills) = self.spills {
            spills.store(true, Ordering::Relaxed);
        }
    }

    /// This environment, for a view that is made in a sweep over such rows.
    pub(crate) fn with_sweep(self, sweep: &'s dyn Sweeping) -> Self {
        Self { sweep: Some(sweep), ..self }
    }

    /// The sweep in which a view is made.
    pub(crate) fn sweep(&self) -> Option<&'s dyn Sweeping> {
        self.sweep
    }

    /// This environment, with a preference to read rows backwards, from the last entry to the first. It pays for loops
    /// that visit elements in order: if vertices with low numbers are hubs, the neighbours that settle early come last
    /// in a row.
    pub(crate) fn reversed(self) -> Self {
        Self { reversed: true, ..self }
    }

    /// Whether rows are preferably read backwards.
    pub(crate) fn is_reversed(&self) -> bool {
        self.reversed
    }

    /// Whether the expression is the body of a loop.
    pub(crate) fn is_in_loop(&self) -> bool {
        self.state.is_some()
    }

    /// Records that a view evaluated an operand once, so that later changes of the state don't reach it.
    pub(crate) fn snapshot(&self) {
        if let Some(snapshot) = self.snapshot {
            snapshot.set(true);
        }
    }

    /// This environment, where at most `wanted` elements of the result are read.
    pub(crate) fn wanting(self, wanted: usize) -> Self {
        Self { wanted: Some(self.wanted.map_or(wanted, |w| w.min(wanted))), ..self }
    }

    /// This environment for an operand. All of the operand's elements may be read, also those of rows that the loop doesn't visit.
    pub(crate) fn for_operand(self) -> Self {
        let ranks = self.ranks.map(|ranks| OnRanks { rows: None, due: None, ..ranks });
        Self { wanted: None, filterable_rows: None, sweep: None, ranks, ..self }
    }

    /// This environment, for an operand that is read at the slots of a rank's share.
    pub(crate) fn at_slots(self, slots: Slots<'s>) -> Self {
        Self { ranks: self.ranks.map(|ranks| OnRanks { slots: Some(slots), ..ranks }), ..self }
    }

    /// Notes that a part of an expression is evaluated at this rank's places, so that it can't be an operand that is read at slots.
    pub(crate) fn note_at_places(&self, kernel: &mut KernelBuilder) {
        if self.ranks.is_some_and(|on| on.slots.is_some()) {
            kernel.note_unfusable(
                "an operand has a part that is evaluated at this rank's places: it is evaluated first in every round",
            );
        }
    }

    /// How many of the result's `n` elements are read, at most.
    pub(crate) fn wanted(&self, n: usize) -> usize {
        self.wanted.map_or(n, |w| w.min(n))
    }

    /// The state that `key` stands for, if it has the type `S`.
    fn find<T, S: 'static>(&self, key: StateRef<T>) -> Option<&'s S> {
        self.state.filter(|&(id, _)| id == key.id).and_then(|(_, state)| state.downcast_ref())
    }

    fn state<T: Element>(&self, key: StateRef<T>) -> Result<&'s Vector<T>> {
        self.find(key)
            .ok_or_else(|| Error::Invalid { what: "a state reference used outside its loop or update body".to_owned() })
    }
}

/// A node of the expression tree: a vector, or a verb over expressions. It is cheap to copy, since it borrows its
/// vectors and matrices.
pub trait Expr: Copy + Sync {
    /// The type of the elements.
    type T: Element;
    /// The readable form of the expression on the CPU, with formats and directions chosen.
    type View<'s>: VectorView<T = Self::T>
    where
        Self: 's;
    /// Whether reading an element costs more than a few operations. A product is heavy: each read folds a row.
    fn is_heavy(&self) -> bool {
        false
    }

    /// The length of the vector that the expression stands for.
    ///
    /// # Errors
    /// A placeholder is used outside the call that made it.
    fn len(&self, env: &Env<'_>) -> Result<usize>;

    /// Makes the CPU's view: checks shapes, plans, and runs what can't be fused into the terminal's loop.
    ///
    /// # Errors
    /// Operands' shapes don't fit; the error names both shapes and the verb's line.
    fn view<'s>(&'s self, env: &Env<'s>) -> Result<Self::View<'s>>;

    /// The GPU or the ranks of the first operand that lies there. The expression runs there.
    fn place(&self, env: &Env<'_>) -> Option<Place>;

    /// An upper bound on the number of elements, if it is known without computing or reading back; otherwise `None`.
    fn known_count(&self, _: &Env<'_>) -> Option<usize> {
        None
    }

    /// The value of every place, if the expression is one constant.
    ///
    /// # Errors
    /// There are too many places.
    fn constant(&self) -> Result<Option<Self::T>> {
        Ok(None)
    }

    /// Adds to `reads` which elements of a loop's state one element of the expression reads.
    ///
    /// A loop doesn't revisit an element when something changes that is not reported here. So an expression that
    /// doesn't know reports everything, which is the default.
    fn reads<'s>(&'s self, _: &Env<'_>, reads: &mut Reads<'s>) {
        reads.everything();
    }

    /// Whether the expression is the loop's state itself.
    fn is_state(&self, _: &Env<'_>) -> bool {
        false
    }

    /// The edges of a product of the loop's state, if its monoid is [known as](vxm_semiring::Source::known_as) `join` and edges may be relaxed
    /// one at a time.
    fn relaxed_edges<'s>(&'s self, _: &Env<'_>, _join: (TypeId, usize)) -> Option<Box<dyn RelaxedEdges<Self::T> + 's>> {
        None
    }

    /// The edges along which a loop with this body may relax: if it is `x ⊕ (x ⊕.⊗ A)` of the loop's state.
    fn relaxation<'s>(&'s self, _: &Env<'_>) -> Option<Box<dyn RelaxedEdges<Self::T> + 's>> {
        None
    }

    /// This rank's piece on its GPU, if the expression is a vector that lies there.
    fn piece_on_gpu(&self, _: &Env<'_>) -> Option<DeviceVector<Self::T>> {
        None
    }

    /// Emits the expression as a C++ type: checks shapes, and runs what can't be fused into the terminal's kernel.
    ///
    /// # Errors
    /// As for [`view`](Self::view). The device has too little memory, or is lost.
    fn emit(&self, env: &Env<'_>, kernel: &mut KernelBuilder) -> Result<Node>;
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
    fn view<'s>(&'s self, env: &Env<'s>) -> Result<StoreView<'s, T>> {
        match env.grid() {
            None => Ok(Vector::view(self)),
            Some(grid) => Ok(Vector::view(self.piece_on(grid)?)),
        }
    }
    fn place(&self, _: &Env<'_>) -> Option<Place> {
        Vector::place(self)
    }
    fn known_count(&self, _: &Env<'_>) -> Option<usize> {
        Vector::known_count(self)
    }
    fn reads<'s>(&'s self, _: &Env<'_>, _: &mut Reads<'s>) {}
    fn piece_on_gpu(&self, env: &Env<'_>) -> Option<DeviceVector<T>> {
        let grid = env.grid()?;
        self.piece_on(grid).ok()?.held_on(grid.gpu()?).ok()
    }
    fn emit(&self, env: &Env<'_>, kernel: &mut KernelBuilder) -> Result<Node> {
        let gpu = kernel.gpu().clone();
        let vector = match env.ranks() {
            None => self.on(&gpu)?,
            Some(OnRanks { slots: Some(slots), .. }) => slots.ends(self)?,
            Some(on) => self.piece_on(on.grid)?.held_on(&gpu)?,
        };
        Ok(kernel.stored(&vector))
    }
}

/// A placeholder for the vector that [`update`](Vector::update) or a loop writes. A body reads it like any vector. It
/// is `Copy` and has no lifetime.
///
/// It stands for nothing outside the call that made it, which includes the body of a nested call. There the terminal
/// returns an error.
#[derive(Debug, Clone, Copy)]
pub struct StateRef<T> {
    /// A number that is unique to the call, so that no call reads another's placeholder as its own.
    id: u64,
    of: PhantomData<fn() -> T>,
}

impl<T: Element> StateRef<T> {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { id: NEXT.fetch_add(1, Ordering::Relaxed), of: PhantomData }
    }
}

impl<T: Element> Expr for StateRef<T> {
    type T = T;
    type View<'s> = StateView<'s, T>;
    fn len(&self, env: &Env<'_>) -> Result<usize> {
        match env.find::<T, Shared<T>>(*self) {
            Some(shared) => Ok(shared.len()),
            None => {
                let held = env.state(*self)?.len();
                Ok(env.ranks().and_then(|on| on.peers).map_or(held, |loops| loops.n))
            }
        }
    }
    fn view<'s>(&'s self, env: &Env<'s>) -> Result<StateView<'s, T>> {
        match env.find(*self) {
            Some(shared) => Ok(StateView::Shared(Shared::view(shared))),
            None => Ok(StateView::ReadOnly(env.state(*self)?.view())),
        }
    }
    fn place(&self, env: &Env<'_>) -> Option<Place> {
        env.state(*self).ok()?.place()
    }
    fn known_count(&self, env: &Env<'_>) -> Option<usize> {
        Vector::known_count(env.state(*self).ok()?)
    }
    fn reads<'s>(&'s self, env: &Env<'_>, reads: &mut Reads<'s>) {
        if env.state.is_some_and(|(id, _)| id == self.id) {
            reads.own();
        }
    }
    fn is_state(&self, env: &Env<'_>) -> bool {
        env.state.is_some_and(|(id, _)| id == self.id)
    }
    fn piece_on_gpu(&self, env: &Env<'_>) -> Option<DeviceVector<T>> {
        Expr::piece_on_gpu(&env.state(*self).ok()?, env)
    }
    fn emit(&self, env: &Env<'_>, kernel: &mut KernelBuilder) -> Result<Node> {
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

/// An expression that holds `value` at each of `len` places. Use it to assign a scalar.
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
    fn place(&self, _: &Env<'_>) -> Option<Place> {
        None
    }
    fn constant(&self) -> Result<Option<T>> {
        check_vertices("fill", self.len)?;
        Ok(Some(self.value))
    }
    fn reads<'s>(&'s self, _: &Env<'_>, _: &mut Reads<'s>) {}
    fn emit(&self, _: &Env<'_>, kernel: &mut KernelBuilder) -> Result<Node> {
        check_vertices("fill", self.len)?;
        kernel.push_element(self.value);
        let t = kernel.element::<T>();
        Ok(Node::new(kernel.ty("vxm::Fill", [t]), true))
    }
}

impl<T: Element> VectorView for Fill<T> {
    type T = T;
    fixed_is_self!();
    fn dependency(&self, _: usize) -> Dependency {
        Dependency::OwnElement
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

/// Fails unless `left == right`. The error names both lengths and the caller's line.
pub(crate) fn fits(operation: &'static str, left: usize, right: usize, at: &'static Location<'static>) -> Result<()> {
    fits_as(operation, (left, right), |left, right| (format!("vector of {left}"), format!("vector of {right}")), at)
}

/// Fails unless `left == right`, like [`fits`], for operands that are not two vectors. `named` describes both.
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

/// The smaller of two supports, for an expression that needs both to hold; and whether it is the first.
pub(crate) fn smaller_support<'a>(a: Support<'a>, b: Support<'a>) -> (Support<'a>, bool) {
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
