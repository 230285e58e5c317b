//! What a planned product gives a terminal: rows folded as that asks, or what was made before.

use super::elementwise::{Each, Pattern};
use super::limit::{Chosen, Limit, Taken};
use crate::backend::cpu::ahead::ask;
use crate::backend::cpu::fold::{Rows, count_row, fold_row, fold_taken};
use crate::backend::cpu::gather;
use crate::backend::view::{At, Depends, Support, fixed_as_it_is};
use crate::formats::bitmap::full_words;
use crate::formats::{Csr, Store, Tiles};
use std::sync::Arc;
use vxm_semiring::{BinaryOp, Element, Monoid, Semiring};

/// Columns in a line of a cache.
const LINE: usize = 16;

/// A product, planned; see [`Product`](super::product::Product).
#[derive(Clone)]
pub enum ProductView<'s, V: At, A: Element, S, T: Element, H> {
    /// Pull: rows are folded as the terminal asks, over the operand's own view.
    Lazy(V, Rows<'s, A>, &'s [u64], S, H),
    /// Pull over an operand that was evaluated first.
    Held(Store<V::T>, Rows<'s, A>, &'s [u64], S, H),
    /// Pull over the entries that take part, chosen before.
    Chosen(V, Arc<Csr<A>>, S, Chosen<H>),
    /// Pull that only counts: the operand's presence bits.
    Count(Vec<u64>, &'s Tiles<A>, S, T),
    /// Push: done.
    Pushed(Store<T>),
}

/// The presence bits of a view of length `n`.
pub(super) fn presence<V: At>(n: usize, view: &V) -> Vec<u64> {
    let held = gather::gather(n, &Each { inner: ByRef(view), step: Pattern }).into_bitmap();
    held.bits().map_or_else(|| full_words(n), <[u64]>::to_vec)
}

/// A view by reference.
#[derive(Clone)]
struct ByRef<'v, V>(&'v V);

impl<V: At> At for ByRef<'_, V> {
    type T = V::T;
    fixed_as_it_is!();
    fn at(&self, i: usize) -> Option<V::T> {
        self.0.at(i)
    }
    fn drawn(&self, k: usize, i: usize) -> Option<V::T> {
        self.0.drawn(k, i)
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

/// One row's entries that take part, folded until the fold may stop.
#[inline(always)]
fn pull<U, A, S, H>(u: &U, rows: Rows<'_, A>, i: usize, ring: S, limit: H) -> Option<S::Out>
where
    U: At,
    A: Element,
    S: Semiring<U::T, A>,
    H: Limit<U::T, S::Out>,
{
    // a row without an own element has nothing to stop for
    let own = if H::STOPS || H::ASKS { u.at(i) } else { None };
    let stops = |partial| H::STOPS && own.is_some_and(|own| limit.stops(own, partial));
    if H::SELECTS {
        let own = match own {
            None if H::ASKS => return None,
            own => own.unwrap_or(U::T::ZERO),
        };
        let end = limit.end(i);
        if let (Rows::Csr(csr), true) = (rows, S::Add::EXACT && u.is_full()) {
            return fold_taken(u, csr, i, ring, |k, x| limit.joins(end, k) & limit.takes(own, x), stops);
        }
        let takes = |k, x| limit.joins(end, k) && limit.takes(own, x);
        return fold_row(&Taken { inner: u, takes }, rows, i, ring, stops);
    }
    fold_row(u, rows, i, ring, stops)
}

/// An entry of a row whose product is the monoid's terminal value: as long as it is, so is the fold, whatever the others are. Or one for
/// which the row waits.
fn kept_by<U, A, S, H>(u: &U, csr: &Csr<A>, row: usize, ring: S, limit: H) -> Depends
where
    U: At,
    A: Element,
    S: Semiring<U::T, A>,
    H: Limit<U::T, S::Out>,
{
    let own = if H::ASKS || H::AWAITS { u.at(row) } else { None };
    let terminal = S::Add::TERMINAL.filter(|_| S::Add::EXACT && !H::AWAITS);
    if terminal.is_none() && !H::AWAITS {
        return Depends::Any;
    }
    let ((columns, weights), end) = (csr.row(row), limit.end(row));
    let keeps = |(&k, &weight): (&u32, &A)| {
        let Some(x) = u.at(k as usize).filter(|_| limit.joins(end, k as usize)) else { return false };
        if H::ASKS && !own.is_some_and(|own| limit.takes(own, x)) {
            return false;
        }
        match terminal {
            Some(terminal) => ring.mul().call(x, weight).bits() == terminal.bits(),
            None => own.is_some_and(|own| limit.awaits(own, x)),
        }
    };
    // from the end: where low numbers are hubs, which are often settled first, the last is the one to wait for
    match columns.iter().zip(weights).rev().find(|&entry| keeps(entry)) {
        Some((&k, _)) if u.depends(k as usize) == Depends::Own => Depends::On(k),
        _ => Depends::Any,
    }
}

/// An entry of a row that alone is enough for the fold to stop short.
fn ended_by<U, A, S, H>(u: &U, csr: &Csr<A>, row: usize, ring: S, limit: H) -> Depends
where
    U: At,
    A: Element,
    S: Semiring<U::T, A>,
    H: Limit<U::T, S::Out>,
{
    let Some(own) = u.at(row) else { return Depends::Any };
    let ((columns, weights), end) = (csr.row(row), limit.end(row));
    let ends = |(&k, &weight): (&u32, &A)| {
        let stops = |x| limit.takes(own, x) && limit.stops(own, ring.mul().call(x, weight));
        limit.joins(end, k as usize) && u.at(k as usize).is_some_and(stops)
    };
    match columns.iter().zip(weights).find(|&entry| ends(entry)) {
        Some((&k, _)) if u.depends(k as usize) == Depends::Own => Depends::After(k),
        _ => Depends::Any,
    }
}

/// What a compressed row's fold depends on, as far as is known.
fn row_depends<U, A, S, H>(u: &U, csr: &Csr<A>, reversed: bool, row: usize, ring: S, limit: H) -> Depends
where
    U: At,
    A: Element,
    S: Semiring<U::T, A>,
    H: Limit<U::T, S::Out>,
{
    // one that may stop short need not have come as far as the entry that would end it
    match (H::STOPS, reversed) {
        (false, _) => kept_by(u, csr, row, ring, limit),
        (true, false) => ended_by(u, csr, row, ring, limit),
        (true, true) => Depends::Any,
    }
}

/// A pull over compressed rows, as a loop's bodies mostly are.
#[derive(Clone)]
pub struct Pulled<'v, V, A: Element, S, H> {
    operand: V,
    csr: &'v Csr<A>,
    /// Whether rows are read from their ends.
    reversed: bool,
    work: &'v [u64],
    ring: S,
    limit: H,
}

impl<V, A, S, H> At for Pulled<'_, V, A, S, H>
where
    V: At,
    A: Element,
    S: Semiring<V::T, A>,
    H: Limit<V::T, S::Out>,
{
    type T = S::Out;
    fixed_as_it_is!();
    fn depends(&self, i: usize) -> Depends {
        row_depends(&self.operand, self.csr, self.reversed, i, self.ring, self.limit)
    }
    fn rank(&self, i: usize) -> Option<u64> {
        self.limit.rank(i)
    }
    #[inline(always)]
    fn ask(&self, i: usize) {
        ask_row(self.csr, self.reversed, i);
    }
    #[inline(always)]
    fn at(&self, i: usize) -> Option<S::Out> {
        match self.reversed {
            false => pull(&self.operand, Rows::Csr(self.csr), i, self.ring, self.limit),
            true => pull(&self.operand, Rows::Reversed(self.csr), i, self.ring, self.limit),
        }
    }
    fn work(&self) -> Option<&[u64]> {
        Some(self.work)
    }
}

/// Asks for three lines of a row's columns: what comes after them is asked for by the processor.
#[inline(always)]
fn ask_row<A: Element>(csr: &Csr<A>, reversed: bool, row: usize) {
    let (columns, _) = csr.row(row);
    let last = columns.len().wrapping_sub(1);
    for k in if reversed { [last, last.wrapping_sub(LINE), last.wrapping_sub(2 * LINE)] } else { [0, LINE, last] } {
        ask(columns, k);
    }
}

impl<V, A, S, H> At for ProductView<'_, V, A, S, S::Out, H>
where
    V: At,
    A: Element,
    S: Semiring<V::T, A>,
    H: Limit<V::T, S::Out>,
{
    type T = S::Out;
    type Fixed<'v>
        = Pulled<'v, V::Fixed<'v>, A, S, H>
    where
        Self: 'v;
    fn fixed(&self) -> Option<Self::Fixed<'_>> {
        let (operand, csr, reversed, work, ring, limit) = match self {
            Self::Lazy(operand, Rows::Csr(csr), work, ring, limit) => (operand, *csr, false, *work, ring, limit),
            Self::Lazy(operand, Rows::Reversed(csr), work, ring, limit) => (operand, *csr, true, *work, ring, limit),
            _ => return None,
        };
        let operand = operand.fixed()?;
        Some(Pulled { operand, csr, reversed, work, ring: *ring, limit: *limit })
    }
    fn depends(&self, i: usize) -> Depends {
        match self {
            Self::Lazy(operand, Rows::Csr(csr), _, ring, limit) => row_depends(operand, csr, false, i, *ring, *limit),
            Self::Lazy(operand, Rows::Reversed(csr), _, ring, limit) => {
                row_depends(operand, csr, true, i, *ring, *limit)
            }
            Self::Chosen(operand, csr, ring, limit) if !H::STOPS => kept_by(operand, csr, i, *ring, *limit),
            _ => Depends::Any,
        }
    }
    fn rank(&self, i: usize) -> Option<u64> {
        match self {
            Self::Lazy(.., limit) | Self::Held(.., limit) => limit.rank(i),
            Self::Chosen(.., limit) => limit.rank(i),
            Self::Count(..) | Self::Pushed(_) => None,
        }
    }
    #[inline(always)]
    fn ask(&self, i: usize) {
        match self {
            Self::Lazy(_, Rows::Csr(csr), ..) => ask_row(csr, false, i),
            Self::Lazy(_, Rows::Reversed(csr), ..) => ask_row(csr, true, i),
            Self::Chosen(_, csr, ..) => ask_row(csr, false, i),
            _ => {}
        }
    }
    #[inline(always)]
    fn at(&self, i: usize) -> Option<S::Out> {
        match self {
            Self::Lazy(operand, rows, _, ring, limit) => pull(operand, *rows, i, *ring, *limit),
            Self::Held(store, rows, _, ring, limit) => pull(&store.view(), *rows, i, *ring, *limit),
            Self::Chosen(operand, csr, ring, limit) => pull(operand, Rows::Csr(csr), i, *ring, *limit),
            Self::Count(present, tiles, ring, constant) => count_row(present, tiles, i, ring.add(), *constant),
            Self::Pushed(store) => store.get(i),
        }
    }
    #[inline(always)]
    fn drawn(&self, k: usize, i: usize) -> Option<S::Out> {
        match self {
            Self::Pushed(store) => store.view().drawn(k, i),
            _ => self.at(i),
        }
    }
    fn support(&self) -> Support<'_> {
        match self {
            Self::Pushed(Store::Sparse(s)) => Support::List(s.indices()),
            Self::Pushed(Store::Bitmap(b)) => b.bits().map_or(Support::All, Support::Bits),
            _ => Support::All,
        }
    }
    fn take(&mut self) -> Option<Store<S::Out>> {
        match self {
            Self::Pushed(store) => Some(std::mem::take(store)),
            _ => None,
        }
    }
    fn work(&self) -> Option<&[u64]> {
        match self {
            Self::Lazy(_, _, work, ..) | Self::Held(_, _, work, ..) => Some(work),
            Self::Chosen(_, csr, ..) => Some(csr.offsets()),
            _ => None,
        }
    }
}

impl<V: At, A: Element, S, T: Element, H> core::fmt::Debug for ProductView<'_, V, A, S, T, H> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let name = match self {
            Self::Lazy(..) => "pull",
            Self::Held(..) => "pull over an evaluated operand",
            Self::Chosen(..) => "pull over chosen entries",
            Self::Count(..) => "count tiles",
            Self::Pushed(_) => "pushed",
        };
        f.write_str(name)
    }
}
