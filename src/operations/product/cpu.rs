//! A planned product on the CPU: rows that are folded as the terminal reads them, or a result that was computed before.

use crate::backend::cpu::compiled;
use crate::backend::cpu::fold::{Counted, Rows, count_row, fold_filtered, fold_row};
use crate::backend::cpu::gather;
use crate::backend::cpu::prefetch::prefetch;
use crate::backend::profile::Counts;
use crate::backend::view::{Dependency, Support, VectorView, fixed_is_self};
use crate::formats::bitmap::full_words;
use crate::formats::{Csr, Store, Tiles};
use crate::operations::elementwise::{Each, Pattern};
use crate::operations::product::edge_policy::{EdgePolicy, FilteredOperand, Prefiltered};
use std::sync::Arc;
use vxm_semiring::{BinaryOp, Element, Monoid, Semiring};

/// Columns in a cache line.
const LINE: usize = 16;

/// The view of a planned [`Product`](crate::operations::product::Product).
#[derive(Clone)]
pub enum ProductView<'s, V: VectorView, A: Element, S, T: Element, H> {
    /// Pull: rows are folded as the terminal reads them, over the operand's own view.
    Lazy(V, Rows<'s, A>, &'s [u64], S, H),
    /// Pull over an operand that was evaluated first.
    Evaluated(Store<V::T>, Rows<'s, A>, &'s [u64], S, H),
    /// Pull over a matrix of the entries that take part, made before the loop.
    Prefiltered(V, Arc<Csr<A>>, S, Prefiltered<H>),
    /// Pull that only counts: the operand's presence bits, over tiles and rows.
    Count(Vec<u64>, Counted<'s, A>, S, T),
    /// Already evaluated: pushed, or made by ranks.
    Pushed(Store<T>),
}

/// The presence bits of a view of length `n`.
#[inline(never)]
pub(crate) fn presence<V: VectorView>(n: usize, view: &V) -> Vec<u64> {
    let evaluated = gather::gather(n, &Each { inner: ByRef(view), step: Pattern }).into_bitmap();
    evaluated.bits().map_or_else(|| full_words(n), <[u64]>::to_vec)
}

/// A view by reference.
#[derive(Clone)]
struct ByRef<'v, V>(&'v V);

impl<V: VectorView> VectorView for ByRef<'_, V> {
    type T = V::T;
    fixed_is_self!();
    fn at(&self, i: usize) -> Option<V::T> {
        self.0.at(i)
    }
    fn at_listed(&self, k: usize, i: usize) -> Option<V::T> {
        self.0.at_listed(k, i)
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

/// Folds the entries of row `i` that take part, until the fold may stop.
#[inline(always)]
fn pull<U, A, S, H>(u: &U, rows: Rows<'_, A>, i: usize, ring: S, policy: H) -> Option<S::Out>
where
    U: VectorView,
    A: Element,
    S: Semiring<U::T, A>,
    H: EdgePolicy<U::T, S::Out>,
{
    if S::Mul::IS_PROGRAM
        && !(H::EXITS_EARLY || H::FILTERS)
        && let Some(folded) = compiled::fold_row(u, rows, i, ring)
    {
        return folded;
    }
    // a row without an own element never stops early
    let own = if H::EXITS_EARLY || H::FILTERS_BY_STATE { u.at(i) } else { None };
    let may_stop = |partial| H::EXITS_EARLY && own.is_some_and(|own| policy.may_stop(own, partial));
    if H::FILTERS {
        let own = match own {
            None if H::FILTERS_BY_STATE => return None,
            own => own.unwrap_or(U::T::ZERO),
        };
        let key = policy.key(i);
        if let (Rows::Csr(csr), true) = (rows, S::Add::EXACT && u.is_full()) {
            return fold_filtered(
                u,
                csr,
                i,
                ring,
                |k, x| policy.passes_key(key, k) & policy.passes_state(own, x),
                may_stop,
            );
        }
        let keeps = |k, x| policy.passes_key(key, k) && policy.passes_state(own, x);
        return fold_row(&FilteredOperand { inner: u, keeps }, rows, i, ring, may_stop);
    }
    fold_row(u, rows, i, ring, may_stop)
}

/// As [`pull`]. Counts what that reads of row `i`.
fn counted_pull<U, A, S, H>(
    u: &U,
    rows: Rows<'_, A>,
    i: usize,
    ring: S,
    policy: H,
    counts: &mut Counts,
) -> Option<S::Out>
where
    U: VectorView,
    A: Element,
    S: Semiring<U::T, A>,
    H: EdgePolicy<U::T, S::Out>,
{
    let own = if H::EXITS_EARLY || H::FILTERS_BY_STATE { u.at(i) } else { None };
    if H::FILTERS_BY_STATE && own.is_none() {
        return None;
    }
    let (key, may_stop, own) = (policy.key(i), H::EXITS_EARLY && own.is_some(), own.unwrap_or(U::T::ZERO));
    let mut sum: Option<S::Out> = None;
    // returns whether the fold goes on
    count_entries(rows, i, counts, &mut |k, weight| {
        if let Some(x) = u.at(k as usize)
            && (!H::FILTERS || policy.passes_key(key, k as usize))
            && (!H::FILTERS_BY_STATE || policy.passes_state(own, x))
        {
            let product = ring.mul().call(x, weight);
            sum = Some(match sum {
                Some(sum) => ring.add().call(sum, product),
                None => product,
            });
        }
        match sum {
            Some(sum) if S::Add::EXACT => !(ring.add().is_terminal(sum) || (may_stop && policy.may_stop(own, sum))),
            _ => true,
        }
    });
    // sums aren't folded in order, and all entries of tiles are counted, behind the last one that was needed too
    if S::Add::EXACT && !matches!(rows, Rows::Tiles(_)) { sum } else { pull(u, rows, i, ring, policy) }
}

/// Counts the entries of row `i` that are read, up to the first that `visit` returns false for. Compiled once for a type of entries.
#[inline(never)]
fn count_entries<A: Element>(rows: Rows<'_, A>, i: usize, counts: &mut Counts, visit: &mut dyn FnMut(u32, A) -> bool) {
    let (mut read, length) = (0, rows.len(i));
    let mut goes_on = |k: u32, weight: A| {
        counts.edges += 1;
        let goes_on = visit(k, weight);
        read += usize::from(goes_on);
        goes_on
    };
    match rows {
        Rows::Csr(csr) => {
            let (columns, weights) = csr.row(i);
            let _ = (0..length).all(|at| goes_on(columns[at], weights[at]));
        }
        Rows::Reversed(csr) => {
            let (columns, weights) = csr.row(i);
            let _ = (0..length).rev().all(|at| goes_on(columns[at], weights[at]));
        }
        Rows::Tiles(tiles) => {
            tiles.for_each(i, |_, k, weight| goes_on(k, weight));
            count_tiles(tiles, i, counts);
        }
    }
    // the entry that ends the fold is read, but doesn't go on
    counts.early_exits += u64::from(read + 1 < length);
}

/// Counts the tiles of row `i`, and those with an entry in it.
fn count_tiles<A: Element>(tiles: &Tiles<A>, i: usize, counts: &mut Counts) {
    tiles.row(i).for_each(|(_, bits)| {
        counts.tiles += 1;
        counts.useful_tiles += u64::from(bits != 0);
    });
}

/// Finds the one entry that determines a row's fold. Without blocking edges it is an entry with a product equal to the
/// monoid's terminal value: while that product stays the same, so does the fold. With blocking edges it is one that
/// blocks the row.
fn determining_entry<U, A, S, H>(u: &U, csr: &Csr<A>, row: usize, ring: S, policy: H) -> Dependency
where
    U: VectorView,
    A: Element,
    S: Semiring<U::T, A>,
    H: EdgePolicy<U::T, S::Out>,
{
    let own = if H::FILTERS_BY_STATE || H::BLOCKS { u.at(row) } else { None };
    let terminal = ring.add().terminal().filter(|_| S::Add::EXACT && !H::BLOCKS);
    if terminal.is_none() && !H::BLOCKS {
        return Dependency::Unknown;
    }
    let ((columns, weights), key) = (csr.row(row), policy.key(row));
    // Search from the end. Where low numbers are hubs, hubs often settle first, so the last blocking entry is likely to
    // settle last.
    for at in (0..columns.len()).rev() {
        let k = columns[at] as usize;
        let Some(x) = u.at(k) else { continue };
        if !policy.passes_key(key, k) {
            continue;
        }
        let own = match own {
            None if H::FILTERS_BY_STATE || H::BLOCKS => continue,
            own => own.unwrap_or(U::T::ZERO),
        };
        if H::FILTERS_BY_STATE && !policy.passes_state(own, x) {
            continue;
        }
        let determines = match terminal {
            Some(terminal) => ring.mul().call(x, weights[at]).bits() == terminal.bits(),
            None => policy.blocks(own, x),
        };
        if determines {
            return match u.dependency(k) {
                Dependency::OwnElement => Dependency::BlockedBy(columns[at]),
                _ => Dependency::Unknown,
            };
        }
    }
    Dependency::Unknown
}

/// Finds one entry that alone is enough for the row's fold to stop early, by its product.
fn stopping_entry<U, A, S, H>(u: &U, csr: &Csr<A>, row: usize, ring: S, policy: H) -> Dependency
where
    U: VectorView,
    A: Element,
    S: Semiring<U::T, A>,
    H: EdgePolicy<U::T, S::Out>,
{
    let Some(own) = u.at(row) else { return Dependency::Unknown };
    let ((columns, weights), key) = (csr.row(row), policy.key(row));
    for (&column, &weight) in columns.iter().zip(weights) {
        let k = column as usize;
        let Some(x) = u.at(k) else { continue };
        let stops = policy.passes_key(key, k)
            && policy.passes_state(own, x)
            && policy.may_stop(own, ring.mul().call(x, weight));
        if stops {
            return match u.dependency(k) {
                Dependency::OwnElement => Dependency::StoppedBy(column),
                _ => Dependency::Unknown,
            };
        }
    }
    Dependency::Unknown
}

/// What the fold of a CSR row depends on, as far as it is known.
fn row_dependency<U, A, S, H>(u: &U, csr: &Csr<A>, reversed: bool, row: usize, ring: S, policy: H) -> Dependency
where
    U: VectorView,
    A: Element,
    S: Semiring<U::T, A>,
    H: EdgePolicy<U::T, S::Out>,
{
    // a fold from the other end may have stopped before it reached that entry
    match (H::EXITS_EARLY, reversed) {
        (false, _) => determining_entry(u, csr, row, ring, policy),
        (true, false) => stopping_entry(u, csr, row, ring, policy),
        (true, true) => Dependency::Unknown,
    }
}

/// A pull over CSR rows: the common case in loop bodies.
#[derive(Clone)]
pub struct Pulled<'v, V, A: Element, S, H> {
    operand: V,
    csr: &'v Csr<A>,
    /// Whether rows are read from the last entry to the first.
    reversed: bool,
    work: &'v [u64],
    ring: S,
    policy: H,
}

impl<V, A, S, H> VectorView for Pulled<'_, V, A, S, H>
where
    V: VectorView,
    A: Element,
    S: Semiring<V::T, A>,
    H: EdgePolicy<V::T, S::Out>,
{
    type T = S::Out;
    fixed_is_self!();
    fn dependency(&self, i: usize) -> Dependency {
        row_dependency(&self.operand, self.csr, self.reversed, i, self.ring, self.policy)
    }
    fn rank(&self, i: usize) -> Option<u64> {
        self.policy.rank(i)
    }
    #[inline(always)]
    fn prefetch(&self, i: usize) {
        prefetch_row(self.csr, self.reversed, i);
    }
    #[inline(always)]
    fn at(&self, i: usize) -> Option<S::Out> {
        match self.reversed {
            false => pull(&self.operand, Rows::Csr(self.csr), i, self.ring, self.policy),
            true => pull(&self.operand, Rows::Reversed(self.csr), i, self.ring, self.policy),
        }
    }
    fn work(&self) -> Option<&[u64]> {
        Some(self.work)
    }
}

/// Prefetches three cache lines of a row's columns. The processor's own prefetcher fetches what follows.
#[inline(always)]
fn prefetch_row<A: Element>(csr: &Csr<A>, reversed: bool, row: usize) {
    let (columns, _) = csr.row(row);
    let last = columns.len().wrapping_sub(1);
    for k in if reversed { [last, last.wrapping_sub(LINE), last.wrapping_sub(2 * LINE)] } else { [0, LINE, last] } {
        prefetch(columns, k);
    }
}

impl<V, A, S, H> VectorView for ProductView<'_, V, A, S, S::Out, H>
where
    V: VectorView,
    A: Element,
    S: Semiring<V::T, A>,
    H: EdgePolicy<V::T, S::Out>,
{
    type T = S::Out;
    type Fixed<'v>
        = Pulled<'v, V::Fixed<'v>, A, S, H>
    where
        Self: 'v;
    fn fixed(&self) -> Option<Self::Fixed<'_>> {
        let (operand, csr, reversed, work, ring, policy) = match self {
            Self::Lazy(operand, Rows::Csr(csr), work, ring, policy) => (operand, *csr, false, *work, ring, policy),
            Self::Lazy(operand, Rows::Reversed(csr), work, ring, policy) => (operand, *csr, true, *work, ring, policy),
            _ => return None,
        };
        let operand = operand.fixed()?;
        Some(Pulled { operand, csr, reversed, work, ring: *ring, policy: *policy })
    }
    fn dependency(&self, i: usize) -> Dependency {
        match self {
            Self::Lazy(operand, Rows::Csr(csr), _, ring, policy) => {
                row_dependency(operand, csr, false, i, *ring, *policy)
            }
            Self::Lazy(operand, Rows::Reversed(csr), _, ring, policy) => {
                row_dependency(operand, csr, true, i, *ring, *policy)
            }
            Self::Prefiltered(operand, csr, ring, policy) if !H::EXITS_EARLY => {
                determining_entry(operand, csr, i, *ring, *policy)
            }
            _ => Dependency::Unknown,
        }
    }
    fn rank(&self, i: usize) -> Option<u64> {
        match self {
            Self::Lazy(.., policy) | Self::Evaluated(.., policy) => policy.rank(i),
            Self::Prefiltered(.., policy) => policy.rank(i),
            Self::Count(..) | Self::Pushed(_) => None,
        }
    }
    #[inline(always)]
    fn prefetch(&self, i: usize) {
        match self {
            Self::Lazy(_, Rows::Csr(csr), ..) => prefetch_row(csr, false, i),
            Self::Lazy(_, Rows::Reversed(csr), ..) => prefetch_row(csr, true, i),
            Self::Prefiltered(_, csr, ..) => prefetch_row(csr, false, i),
            _ => {}
        }
    }
    #[inline(always)]
    fn at(&self, i: usize) -> Option<S::Out> {
        match self {
            Self::Lazy(operand, rows, _, ring, policy) => pull(operand, *rows, i, *ring, *policy),
            Self::Evaluated(store, rows, _, ring, policy) => pull(&store.view(), *rows, i, *ring, *policy),
            Self::Prefiltered(operand, csr, ring, policy) => pull(operand, Rows::Csr(csr), i, *ring, *policy),
            Self::Count(present, counted, ring, constant) => count_row(present, counted, i, ring.add(), *constant),
            Self::Pushed(store) => store.get(i),
        }
    }
    #[inline(always)]
    fn at_listed(&self, k: usize, i: usize) -> Option<S::Out> {
        match self {
            Self::Pushed(store) => store.view().at_listed(k, i),
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
    fn counted(&self, i: usize, counts: &mut Counts) -> Option<S::Out> {
        match self {
            Self::Lazy(operand, rows, _, ring, policy) => {
                return counted_pull(operand, *rows, i, *ring, *policy, counts);
            }
            Self::Evaluated(store, rows, _, ring, policy) => {
                return counted_pull(&store.view(), *rows, i, *ring, *policy, counts);
            }
            Self::Prefiltered(operand, csr, ring, policy) => {
                return counted_pull(operand, Rows::Csr(csr), i, *ring, *policy, counts);
            }
            Self::Count(_, counted, ..) => {
                if let Some(tiles) = counted.tiles {
                    count_tiles(tiles, i, counts);
                }
                counts.edges += counted.rows.map_or(0, |rows| rows.degree(i) as u64);
            }
            Self::Pushed(_) => {}
        }
        self.at(i)
    }
    fn take(&mut self) -> Option<Store<S::Out>> {
        match self {
            Self::Pushed(store) => Some(std::mem::take(store)),
            _ => None,
        }
    }
    fn work(&self) -> Option<&[u64]> {
        match self {
            Self::Lazy(_, _, work, ..) | Self::Evaluated(_, _, work, ..) => Some(work),
            Self::Prefiltered(_, csr, ..) => Some(csr.offsets()),
            Self::Count(_, Counted { tiles: None, rows: Some(rows) }, ..) => Some(rows.offsets()),
            _ => None,
        }
    }
}

impl<V: VectorView, A: Element, S, T: Element, H> core::fmt::Debug for ProductView<'_, V, A, S, T, H> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let name = match self {
            Self::Lazy(..) => "pull",
            Self::Evaluated(..) => "pull over an evaluated operand",
            Self::Prefiltered(..) => "pull over chosen entries",
            Self::Count(..) => "count",
            Self::Pushed(_) => "pushed",
        };
        f.write_str(name)
    }
}
