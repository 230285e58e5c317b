//! Terminals: what runs an expression. A fresh value, a write through a mask, an update in place, a reduction.

use super::expr::{Env, Expr, Key, emit_light, fits};
use crate::backend::cpu::gather::{gather, is_small, reduce};
use crate::backend::cpu::share;
use crate::backend::cuda::compose::{Composer, Node};
use crate::backend::cuda::run::Merging;
use crate::backend::cuda::{self, Gpu};
use crate::backend::current;
use crate::backend::plan;
use crate::backend::view::{At, Support, fixed_as_it_is};
use crate::containers::Vector;
use crate::error::Result;
use crate::formats::StoreView;
use std::panic::Location;
use vxm_semiring::{BinaryOp, Element, Monoid};

/// How a new element meets the old one.
pub trait Merge<W: Element, T: Element>: Copy + Sync {
    /// Whether an absent new element removes the old one.
    const REPLACES: bool;
    /// The element to hold.
    fn merge(self, old: Option<W>, new: Option<T>) -> Option<W>;
    /// The same on a device.
    fn emit(self, kernel: &mut Composer) -> Merging;
}

/// The new element, or its absence, takes the place.
#[derive(Debug, Clone, Copy)]
pub struct Replace;

impl<T: Element> Merge<T, T> for Replace {
    const REPLACES: bool = true;
    #[inline(always)]
    fn merge(self, _: Option<T>, new: Option<T>) -> Option<T> {
        new
    }
    fn emit(self, _: &mut Composer) -> Merging {
        Merging::Replace
    }
}

/// The accumulator joins old and new; where one is absent the other stands.
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
    fn emit(self, kernel: &mut Composer) -> Merging {
        Merging::Accumulate(kernel.functor(self.0))
    }
}

/// An expression with an accumulator: to be assigned to something.
#[derive(Debug, Clone, Copy)]
#[must_use = "an expression does nothing until a terminal runs it: .assign_to(&mut w)"]
pub struct Accum<E, F> {
    pub(crate) inner: E,
    pub(crate) op: F,
}

impl<T: Element, E: Expr<T = T>, F: BinaryOp<T, T, Out = T>> Accum<E, F> {
    /// `w<mask> ⊙= expression`: joins each element with what `w` holds; absent ones leave `w` as it is.
    ///
    /// # Errors
    /// Shapes don't fit.
    #[track_caller]
    pub fn assign_to(self, w: &mut Vector<T>) -> Result<()> {
        write(&self.inner, &Env::default(), w, Accumulate(self.op), Location::caller())
    }
}

/// `expression` as a fresh vector.
pub(crate) fn eval<E: Expr>(expression: E) -> Result<Vector<E::T>> {
    let env = Env::default();
    let n = expression.len(&env)?;
    if let Some(gpu) = device(&expression, &env) {
        if let Some(value) = expression.constant()?
            && let Some(full) = cuda::DeviceVector::filled(&gpu, n, value)?
        {
            return Ok(Vector::on_device(full));
        }
        let (kernel, node) = emitted(&expression, &env, &gpu)?;
        return Ok(Vector::on_device(cuda::run::eval(kernel, &node, n)?));
    }
    let mut view = expression.view(&env)?;
    let evaluated = view.take();
    Ok(Vector::of(evaluated.unwrap_or_else(|| gather(n, &view))))
}

/// `expression` folded to one element.
pub(crate) fn fold<E: Expr, M: Monoid<E::T>>(expression: E, add: M) -> Result<E::T> {
    let env = Env::default();
    let n = expression.len(&env)?;
    if let Some(gpu) = device(&expression, &env) {
        // rows by degree first: a segment of the tree is one warp's, whatever its rows hold
        let mut kernel = Composer::new(&gpu);
        let node = emit_light(&expression, &env, &mut kernel)?;
        return cuda::run::fold(kernel, &node, n, add);
    }
    let view = expression.view(&env)?;
    Ok(reduce(n, &view, add))
}

/// `expression` as a fresh vector, and its elements folded to one.
pub(crate) fn eval_and_fold<E: Expr, M: Monoid<E::T>>(expression: E, add: M) -> Result<(Vector<E::T>, E::T)> {
    let env = Env::default();
    let n = expression.len(&env)?;
    // in one kernel, unless products' rows are to be shared out, or not all elements need be read
    let at_once = !E::HEAVY && (!M::EXACT || M::COMMUTATIVE);
    if let Some(gpu) = device(&expression, &env).filter(|_| at_once) {
        let mut kernel = Composer::new(&gpu);
        let node = expression.emit(&env, &mut kernel)?;
        if node.full {
            let (evaluated, folded) = cuda::run::eval_and_fold(kernel, &node, n, add)?;
            return Ok((Vector::on_device(evaluated), folded));
        }
    }
    let evaluated = eval(expression)?;
    let folded = fold(&evaluated, add)?;
    Ok((evaluated, folded))
}

/// The GPU to run on: an operand's, or the scope's.
pub(super) fn device<E: Expr>(expression: &E, env: &Env<'_>) -> Option<Gpu> {
    expression.place(env).or_else(current)
}

/// An expression as a kernel's view, for a fresh vector or a write.
pub(super) fn emitted<E: Expr>(expression: &E, env: &Env<'_>, gpu: &Gpu) -> Result<(Composer, Node)> {
    let mut kernel = Composer::sharing(gpu);
    let node = expression.emit(env, &mut kernel)?;
    Ok((kernel, node))
}

/// What a write changes: everything, or the places of a list.
enum Change<T: Element> {
    Whole(Vector<T>),
    Patch(Vec<u32>, Vec<Option<T>>),
}

/// Writes `expression` to `w` where its mask selects.
pub(crate) fn write<T: Element, E: Expr<T = T>, G: Merge<T, T>>(
    expression: &E,
    env: &Env<'_>,
    w: &mut Vector<T>,
    merge: G,
    at: &'static Location<'static>,
) -> Result<()> {
    fits("assign_to", w.len(), expression.len(env)?, at)?;
    if let Some(gpu) = w.gpu().cloned().or_else(|| device(expression, env)) {
        let (mut kernel, node) = emitted(expression, env, &gpu)?;
        let merging = merge.emit(&mut kernel);
        return cuda::run::write(kernel, &node, &merging, w.on_mut(&gpu)?);
    }
    let view = expression.view(env)?;
    if let (false, Support::List(list), Some(values)) = (G::REPLACES, view.support(), w.dense_mut()) {
        join(values, list, &view, merge);
        return Ok(());
    }
    let change = change(&view, w, merge);
    apply(w, change);
    Ok(())
}

/// Joins the elements of `view`, whose support is `list`, with those that a dense vector holds, in place.
fn join<T: Element, V: At<T = T>, G: Merge<T, T>>(values: &mut [T], list: &[u32], view: &V, merge: G) {
    // `values` starts at place `base` of the vector, `list` at index `first` of the support
    let run = |first: usize, list: &[u32], base: usize, values: &mut [T]| {
        for (k, &i) in (first..).zip(list) {
            let place = &mut values[i as usize - base];
            *place = merge.merge(Some(*place), view.drawn(k, i as usize)).unwrap_or(*place);
        }
    };
    if is_small(view, list) {
        return run(0, list, 0, values);
    }
    let piece = share::piece(list.len());
    let (mut base, mut rest) = (0, values);
    let mut pieces = Vec::with_capacity(list.len().div_ceil(piece));
    for (p, part) in list.chunks(piece).enumerate() {
        // up to the next piece's first index
        let end = list.get((p + 1) * piece).map_or(base + rest.len(), |&i| i as usize);
        let (head, tail) = std::mem::take(&mut rest).split_at_mut(end - base);
        pieces.push((p * piece, part, base, head));
        (base, rest) = (end, tail);
    }
    share::each(pieces, &|(first, part, base, values): (usize, &[u32], usize, &mut [T])| {
        run(first, part, base, values)
    });
}

fn apply<T: Element>(w: &mut Vector<T>, change: Change<T>) {
    match change {
        Change::Whole(new) => *w = new,
        Change::Patch(indices, values) => w.patch(&indices, &values),
    }
}

fn change<T: Element, V: At<T = T>, G: Merge<T, T>>(view: &V, w: &Vector<T>, merge: G) -> Change<T> {
    let n = w.len();
    // an accumulator changes only where there is something new; a plain write also removes
    let domain = if G::REPLACES { view.selected() } else { view.support() };
    let old = w.view();
    let through = Through { old, new: view, merge };
    match domain {
        Support::List(list) => patch(&through, list, true),
        Support::Bits(_) if plan::is_patch(domain.count(n), n) => patch(&through, &domain.list(n), false),
        _ => Change::Whole(Vector::of(gather(n, &through))),
    }
}

/// The elements at `list`; `own` says that the list is the view's own (its selection or, accumulating, its support).
fn patch<T: Element, V: At<T = T>, G: Merge<T, T>>(
    through: &Through<'_, T, V, G>,
    list: &[u32],
    own: bool,
) -> Change<T> {
    let view = through.new;
    let at = |k: usize, i: usize| {
        let held = through.old.get(i);
        let new = match own {
            true if G::REPLACES => view.drawn_selected(k, i),
            // where there is something new, the mask has said yes
            true => Some(view.drawn(k, i)),
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
        let piece = share::piece(list.len());
        let pieces = values.chunks_mut(piece).enumerate().collect();
        share::each(pieces, &|(p, values): (usize, &mut [Option<T>])| run(p * piece, values));
    }
    Change::Patch(list.to_vec(), values)
}

/// What a vector will hold once a view is written through to it.
#[derive(Clone)]
struct Through<'v, T, V, G> {
    old: StoreView<'v, T>,
    new: &'v V,
    merge: G,
}

impl<T: Element, V: At<T = T>, G: Merge<T, T>> At for Through<'_, T, V, G> {
    type T = T;
    fixed_as_it_is!();
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
    /// `w<mask> = f(w)`: writes an expression that also reads the vector, through its mask; places the mask leaves out are kept.
    ///
    /// The body sees `w` as it was: it is built once over a placeholder, evaluated, and only then written.
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
    /// Shapes don't fit.
    #[track_caller]
    pub fn update<E: Expr<T = T>>(&mut self, body: impl FnOnce(Key<T>) -> E) -> Result<()> {
        let at = Location::caller();
        let key = Key::new();
        let expression = body(key);
        let change = {
            let env = Env::with_state(key, self);
            fits("update", Vector::len(self), expression.len(&env)?, at)?;
            if let Some(gpu) = self.gpu().cloned().or_else(|| device(&expression, &env)) {
                // the kernel keeps the state it reads, so the write gets storage of its own
                let (kernel, node) = emitted(&expression, &env, &gpu)?;
                return cuda::run::write(kernel, &node, &Merging::Replace, self.on_mut(&gpu)?);
            }
            change(&expression.view(&env)?, self, Replace)
        };
        apply(self, change);
        Ok(())
    }
}
