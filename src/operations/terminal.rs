//! Terminals run an expression: to a fresh vector, a write through a mask, an update in place, or a reduction.

use crate::backend::cpu::dyn_view::DynView;
use crate::backend::cpu::gather::{gather, is_small, reduce};
use crate::backend::cpu::parallel;
use crate::backend::cuda::codegen::builder::{KernelBuilder, Node};
use crate::backend::cuda::loops::counters::Series;
use crate::backend::cuda::terminals::Merging;
use crate::backend::cuda::{self, Gpu};
use crate::backend::plan;
use crate::backend::profile::{self, Counts, OperationProfile};
use crate::backend::spans::span;
use crate::backend::view::{Support, VectorView, fixed_is_self};
use crate::backend::{Place, current_place};
use crate::containers::Vector;
use crate::error::Result;
use crate::formats::{Store, StoreView};
use crate::operations::expr::{Env, Expr, StateRef, emit_operand, fits};
use crate::operations::ranks::{self, OnRanks};
use crate::parallel as shares;
use crate::stop;
use std::panic::Location;
use std::time::Instant;
use vxm_semiring::{BinaryOp, Element, Monoid};

/// How a terminal combines a new element with the old one.
pub trait Merge<W: Element, T: Element>: Copy + Sync {
    /// Whether an absent new element removes the old one.
    const REPLACES: bool;
    /// The element to store.
    fn merge(self, old: Option<W>, new: Option<T>) -> Option<W>;
    /// The same rule, for a GPU kernel.
    fn emit(self, kernel: &mut KernelBuilder) -> Merging;
}

/// The new element replaces the old one, also where it is absent.
#[derive(Debug, Clone, Copy)]
pub struct Replace;

impl<T: Element> Merge<T, T> for Replace {
    const REPLACES: bool = true;
    #[inline(always)]
    fn merge(self, _: Option<T>, new: Option<T>) -> Option<T> {
        new
    }
    fn emit(self, _: &mut KernelBuilder) -> Merging {
        Merging::Replace
    }
}

/// The accumulator combines the old and the new element. If one is absent, the other is stored.
#[derive(Debug, Clone, Copy)]
pub struct Accumulate<F>(F);

impl<T: Element, F: BinaryOp<T, T, Out = T>> Merge<T, T> for Accumulate<F> {
    const REPLACES: bool = false;
    #[inline(always)]
    fn merge(self, old: Option<T>, new: Option<T>) -> Option<T> {
        match (old, new) {
            (Some(old), Some(new)) => Some(self.0.call(old, new)),
            (old, new) => old.or(new),
        }
    }
    fn emit(self, kernel: &mut KernelBuilder) -> Merging {
        Merging::Accumulate(kernel.functor(self.0))
    }
}

/// An expression with an accumulator, ready to be assigned.
#[derive(Debug, Clone, Copy)]
#[must_use = "an expression does nothing until a terminal runs it: .assign_to(&mut w)"]
pub struct Accum<E, F> {
    pub(crate) inner: E,
    pub(crate) op: F,
}

impl<T: Element, E: Expr<T = T>, F: BinaryOp<T, T, Out = T>> Accum<E, F> {
    /// `w<mask> ⊙= expression`: combines each element with what `w` holds. Absent elements leave `w` as it is.
    ///
    /// # Errors
    /// Shapes don't fit. The device has too little memory, or is lost.
    #[track_caller]
    pub fn assign_to(self, w: &mut Vector<T>) -> Result<()> {
        write(&self.inner, &Env::default(), w, Accumulate(self.op), Location::caller())
    }
}

/// Evaluates `expression` into a fresh vector.
#[inline(never)]
pub(crate) fn eval<E: Expr>(expression: E) -> Result<Vector<E::T>> {
    let _span = span!("eval");
    stop::check()?;
    let env = Env::default();
    let n = expression.len(&env)?;
    match device(&expression, &env) {
        Some(Place::Gpu(gpu)) => {
            if let Some(value) = expression.constant()?
                && let Some(full) = cuda::DeviceVector::filled(&gpu, n, value)?
            {
                return Ok(Vector::on_device(full));
            }
            let start = Instant::now();
            let (mut kernel, node) = emitted(&expression, &env, &gpu)?;
            let series = Series::start(&gpu)?;
            if let Some(series) = &series {
                series.count(&mut kernel);
            }
            let made = Vector::on_device(cuda::terminals::eval(kernel, &node, n)?);
            if let Some(series) = series {
                let counts = Counts { visits: n as u64, ..series.total()? };
                let nanoseconds = start.elapsed().as_nanos() as u64;
                profile::add_operation(OperationProfile { name: "eval", elements: n, counts, nanoseconds });
            }
            return Ok(made);
        }
        Some(Place::Ranks(grid)) => {
            return ranks::evaluated(&expression, &env, &grid);
        }
        None => {}
    }
    let start = profile::is_collecting().then(Instant::now);
    let mut view = expression.view(&env)?;
    let evaluated = view.take();
    if let Some(start) = start {
        return Ok(Vector::of(counted(n, &view, evaluated, start)));
    }
    Ok(Vector::of(evaluated.unwrap_or_else(|| gather(n, &view))))
}

/// Evaluates a view of length `n`, unless it was `evaluated` already, and counts what that reads. The evaluation began at `start`.
fn counted<V: VectorView>(n: usize, view: &V, evaluated: Option<Store<V::T>>, start: Instant) -> Store<V::T> {
    let was_evaluated = evaluated.is_some();
    let store = evaluated.unwrap_or_else(|| gather(n, view));
    let nanoseconds = start.elapsed().as_nanos() as u64;
    let mut counts = Counts { visits: n as u64, ..Counts::default() };
    if !was_evaluated {
        counts += counts_of(n, &DynView::of(view));
    }
    profile::add_operation(OperationProfile { name: "eval", elements: n, counts, nanoseconds });
    store
}

/// What the evaluation of a view of length `n` reads.
fn counts_of<T: Element>(n: usize, view: &DynView<'_, T>) -> Counts {
    let parts = shares::ranges(n, shares::FEW, &|range| {
        let mut counts = Counts::default();
        for i in range.filter(|&i| view.selects(i)) {
            let _ = view.counted(i, &mut counts);
        }
        counts
    });
    parts.into_iter().sum()
}

/// Folds `expression` to one element.
#[inline(never)]
pub(crate) fn fold<E: Expr, M: Monoid<E::T>>(expression: E, add: M) -> Result<E::T> {
    let _span = span!("reduce");
    stop::check()?;
    let env = Env::default();
    let n = expression.len(&env)?;
    match device(&expression, &env) {
        Some(Place::Gpu(gpu)) => {
            // products are evaluated first, with rows shared out by degree: here a warp folds a segment of the tree,
            // whatever its rows hold
            let mut kernel = KernelBuilder::new(&gpu);
            let node = emit_operand(&expression, &env, &mut kernel)?;
            return cuda::terminals::fold(kernel, &node, n, add);
        }
        Some(Place::Ranks(grid)) => {
            return ranks::fold(&expression, &env, &grid, add);
        }
        None => {}
    }
    let view = expression.view(&env)?;
    Ok(reduce(n, &view, add))
}

/// Evaluates `expression` into a fresh vector, and folds its elements to one.
pub(crate) fn eval_and_fold<E: Expr, M: Monoid<E::T>>(expression: E, add: M) -> Result<(Vector<E::T>, E::T)> {
    let _span = span!("eval_and_reduce");
    stop::check()?;
    let env = Env::default();
    let n = expression.len(&env)?;
    // one kernel does both, unless rows of products must be shared out, or the fold can stop before it reads all
    // elements
    let at_once = !expression.is_heavy() && (!M::EXACT || add.is_commutative());
    if let Some(Place::Gpu(gpu)) = device(&expression, &env).filter(|_| at_once) {
        let mut kernel = KernelBuilder::new(&gpu);
        let node = expression.emit(&env, &mut kernel)?;
        if node.full {
            let (evaluated, folded) = cuda::terminals::eval_and_fold(kernel, &node, n, add)?;
            return Ok((Vector::on_device(evaluated), folded));
        }
    }
    let evaluated = eval(expression)?;
    let folded = fold(&evaluated, add)?;
    Ok((evaluated, folded))
}

/// Where to run: where an operand lies, or else the scope's place.
pub(super) fn device<E: Expr>(expression: &E, env: &Env<'_>) -> Option<Place> {
    expression.place(env).or_else(current_place)
}

/// The expression as a kernel's view, for a fresh vector or a write.
#[inline(never)]
pub(super) fn emitted<E: Expr>(expression: &E, env: &Env<'_>, gpu: &Gpu) -> Result<(KernelBuilder, Node)> {
    let mut kernel = KernelBuilder::for_row_classes(gpu);
    let node = expression.emit(env, &mut kernel)?;
    Ok((kernel, node))
}

/// The outcome of a write: the whole vector, or new elements for a list of places.
enum Change<T: Element> {
    Whole(Vector<T>),
    Patch(Vec<u32>, Vec<Option<T>>),
}

/// Writes `expression` to `w` where its mask is true.
#[inline(never)]
pub(crate) fn write<T: Element, E: Expr<T = T>, G: Merge<T, T>>(
    expression: &E,
    env: &Env<'_>,
    w: &mut Vector<T>,
    merge: G,
    at: &'static Location<'static>,
) -> Result<()> {
    let _span = span!("assign_to", at = %at);
    stop::check()?;
    fits("assign_to", w.len(), expression.len(env)?, at)?;
    match w.place().or_else(|| device(expression, env)) {
        Some(Place::Gpu(gpu)) => {
            let (mut kernel, node) = emitted(expression, env, &gpu)?;
            let merging = merge.emit(&mut kernel);
            return cuda::terminals::write(kernel, &node, &merging, w.on_mut(&gpu)?);
        }
        Some(Place::Ranks(grid)) => {
            *w = std::mem::take(w).spread_on(&grid)?;
            let env = env.on_ranks(OnRanks::of(&grid));
            if let Some(gpu) = grid.gpu() {
                let (mut kernel, node) = emitted(expression, &env, gpu)?;
                let merging = merge.emit(&mut kernel);
                return cuda::terminals::write(kernel, &node, &merging, w.on_mut(gpu)?);
            }
            write_view(&DynView::of(&expression.view(&env)?), w, merge);
            return Ok(());
        }
        None => {}
    }
    let view = expression.view(env)?;
    match view.fixed() {
        Some(fixed) => write_view(&fixed, w, merge),
        None => write_view(&DynView::of(&view), w, merge),
    }
    Ok(())
}

/// Writes a view to `w` where its mask is true.
fn write_view<T: Element, V: VectorView<T = T>, G: Merge<T, T>>(view: &V, w: &mut Vector<T>, merge: G) {
    if let (false, Support::List(list), Some(values)) = (G::REPLACES, view.support(), w.dense_mut()) {
        return accumulate_in_place(values, list, view, merge);
    }
    let change = change(view, w, merge);
    apply(w, change);
}

/// Accumulates the elements of `view` at the indices in `list`, its support, into a dense vector, in place.
fn accumulate_in_place<T: Element, V: VectorView<T = T>, G: Merge<T, T>>(
    values: &mut [T],
    list: &[u32],
    view: &V,
    merge: G,
) {
    // `values` starts at place `base` of the vector, `list` at index `first` of the support
    let run = |first: usize, list: &[u32], base: usize, values: &mut [T]| {
        for (k, &i) in (first..).zip(list) {
            let place = &mut values[i as usize - base];
            *place = merge.merge(Some(*place), view.at_listed(k, i as usize)).unwrap_or(*place);
        }
    };
    if is_small(view, list) {
        return run(0, list, 0, values);
    }
    let piece = parallel::chunk_size(list.len());
    let (mut base, mut rest) = (0, values);
    let mut pieces = Vec::with_capacity(list.len().div_ceil(piece));
    for (p, part) in list.chunks(piece).enumerate() {
        // up to the next chunk's first index
        let end = list.get((p + 1) * piece).map_or(base + rest.len(), |&i| i as usize);
        let (head, tail) = std::mem::take(&mut rest).split_at_mut(end - base);
        pieces.push((p * piece, part, base, head));
        (base, rest) = (end, tail);
    }
    parallel::each(pieces, &|(first, part, base, values): (usize, &[u32], usize, &mut [T])| {
        run(first, part, base, values)
    });
}

fn apply<T: Element>(w: &mut Vector<T>, change: Change<T>) {
    match change {
        Change::Whole(new) => w.replace(new),
        Change::Patch(indices, values) => w.patch(&indices, &values),
    }
}

#[inline(never)]
fn change<T: Element, V: VectorView<T = T>, G: Merge<T, T>>(view: &V, w: &Vector<T>, merge: G) -> Change<T> {
    let n = w.places();
    // an accumulator changes only places with a new element; a plain write also removes elements
    let domain = if G::REPLACES { view.selected() } else { view.support() };
    let old = w.view();
    let through = WrittenView { old, new: view, merge };
    match domain {
        Support::List(list) => patch(&through, list, true),
        Support::Bits(_) if plan::is_patch(domain.count(n), n) => patch(&through, &domain.list(n), false),
        _ => Change::Whole(Vector::of(gather(n, &through))),
    }
}

/// The new elements at `list`. `own` says that the list is the view's own: its selection, or its support if the merge
/// accumulates.
fn patch<T: Element, V: VectorView<T = T>, G: Merge<T, T>>(
    through: &WrittenView<'_, T, V, G>,
    list: &[u32],
    own: bool,
) -> Change<T> {
    let view = through.new;
    let at = |k: usize, i: usize| {
        let held = through.old.get(i);
        let new = match own {
            true if G::REPLACES => view.at_selected(k, i),
            // the view holds an element here, so the mask is true
            true => Some(view.at_listed(k, i)),
            false => view.selects(i).then(|| view.at(i)),
        };
        new.map_or(held, |new| through.merge.merge(held, new))
    };
    let mut values = vec![None; list.len()];
    let run = |first: usize, values: &mut [Option<T>]| {
        for (k, value) in (first..).zip(values) {
            *value = at(k, list[k] as usize);
        }
    };
    if is_small(view, list) {
        run(0, &mut values);
    } else {
        let piece = parallel::chunk_size(list.len());
        let pieces = values.chunks_mut(piece).enumerate().collect();
        parallel::each(pieces, &|(p, values): (usize, &mut [Option<T>])| run(p * piece, values));
    }
    Change::Patch(list.to_vec(), values)
}

/// A view of what a vector will hold after a view is written to it through a mask.
#[derive(Clone)]
struct WrittenView<'v, T, V, G> {
    old: StoreView<'v, T>,
    new: &'v V,
    merge: G,
}

impl<T: Element, V: VectorView<T = T>, G: Merge<T, T>> VectorView for WrittenView<'_, T, V, G> {
    type T = T;
    fixed_is_self!();
    #[inline(always)]
    fn at(&self, i: usize) -> Option<T> {
        let held = self.old.get(i);
        if self.new.selects(i) { self.merge.merge(held, self.new.at(i)) } else { held }
    }
    fn work(&self) -> Option<&[u64]> {
        self.new.work()
    }
}

impl<T: Element> Vector<T> {
    /// `w<mask> = f(w)`: writes an expression that may read the vector itself. Places where the mask is false are kept.
    ///
    /// The body is built once, over a placeholder. It sees `w` as it was: the expression is evaluated before anything
    /// is written.
    ///
    /// ```
    /// use vxm::prelude::*;
    ///
    /// let mut w = Vector::from_dense(vec![1u32, 2, 3]);
    /// let odd = Set::from_indices(3, [0, 2])?;
    /// // w<odd> = w + 10
    /// w.update(|w| w.map(PLUS.bind(10)).mask(&odd))?;
    /// assert_eq!(w, Vector::from_dense(vec![11, 2, 13]));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    ///
    /// # Errors
    /// Shapes don't fit. The device has too little memory, or is lost.
    #[track_caller]
    pub fn update<E: Expr<T = T>>(&mut self, body: impl FnOnce(StateRef<T>) -> E) -> Result<()> {
        let at = Location::caller();
        let _span = span!("update", at = %at);
        stop::check()?;
        let key = StateRef::new();
        let expression = body(key);
        let place = {
            let env = Env::with_state(key, self);
            fits("update", Vector::len(self), expression.len(&env)?, at)?;
            Vector::place(self).or_else(|| device(&expression, &env))
        };
        if let Some(Place::Ranks(grid)) = &place {
            *self = std::mem::take(self).spread_on(grid)?;
        }
        let change = {
            let env = Env::with_state(key, self);
            let (env, gpu) = match &place {
                Some(Place::Ranks(grid)) => (env.on_ranks(OnRanks::of(grid)), grid.gpu()),
                Some(Place::Gpu(gpu)) => (env, Some(gpu)),
                None => (env, None),
            };
            if let Some(gpu) = gpu {
                // the kernel keeps the state that it reads, so the write gets storage of its own
                let (kernel, node) = emitted(&expression, &env, gpu)?;
                return cuda::terminals::write(kernel, &node, &Merging::Replace, self.on_mut(gpu)?);
            }
            // the state is read only, so no part of the view is known better
            change(&DynView::of(&expression.view(&env)?), self, Replace)
        };
        apply(self, change);
        Ok(())
    }
}
