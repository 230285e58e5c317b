//! Edge policies: which entries of a row take part in its fold, when the fold may stop, and which entries block the
//! row.

use crate::backend::Place;
use crate::backend::cuda::codegen::builder::{CppType, KernelBuilder};
use crate::backend::cuda::{self, DeviceCsr};
use crate::backend::view::{Dependency, VectorView, fixed_is_self};
use crate::containers::Vector;
use crate::error::Result;
use crate::formats::StoreView;
use crate::operations::ranks::matrices::ends;
use crate::operations::ranks::on_gpu::{HeldShare, Slots};
use crate::ranks::{Grid, Share};
use vxm_semiring::{BinaryOp, EdgeStatus, Element};

/// The C++ types of an emitted policy, and of its operand.
type EmittedPolicy = (CppType, CppType);

/// An edge policy: which entries of a row take part in a product, when the row's fold may stop, and which entries block
/// the row in a loop. See [`Product::until`](crate::operations::product::Product::until),
/// [`edge_status`](crate::operations::product::Product::edge_status) and
/// [`Oriented`](crate::operations::oriented::Oriented).
///
/// `own` is the operand's element at the row's own index, and `other` the operand's element that an entry multiplies. A
/// row's *key* is what a fixed vector holds at the row's index; edges may be filtered by the keys at both ends.
/// Policies nest: each adds one rule to an inner policy, and [`Whole`] is the innermost.
pub trait EdgePolicy<X: Element, T: Element>: Copy + Send + Sync {
    /// Whether a fold may stop early.
    const EXITS_EARLY: bool = false;
    /// Whether any entry may be left out, by state or by key.
    const FILTERS: bool = false;
    /// Whether entries are filtered by the state: `passes_state` needs the row's own element.
    const FILTERS_BY_STATE: bool = false;
    /// Whether entries may block a row.
    const BLOCKS: bool = false;
    /// Whether entries are filtered by keys, which don't depend on the operand.
    const FILTERS_BY_KEY: bool = false;
    /// Whether the fold may stop, given the row's own element and the partial result.
    fn may_stop(self, own: X, partial: T) -> bool;
    /// Whether an entry passes the filter by state, given the row's own element and the other's.
    fn passes_state(self, own: X, other: X) -> bool;
    /// Whether an entry blocks the row, given the row's own element and the other's.
    fn blocks(self, own: X, other: X) -> bool {
        let _ = (own, other);
        false
    }
    /// Whether this policy's keys leave entries out: not if the matrix was filtered by them already.
    fn filters_by_key(self) -> bool {
        false
    }
    /// The key of a row.
    type Key: Copy + Send + Sync;
    /// The key of `row`.
    fn key(self, row: usize) -> Self::Key;
    /// Whether the entry at `column` of a row with this key passes the filter by key.
    fn passes_key(self, key: Self::Key, column: usize) -> bool;
    /// The bits of the row's outermost key, if there is one: a static sort key for the order in which a loop visits
    /// rows. No result depends on it.
    fn rank(self, row: usize) -> Option<u64> {
        let _ = row;
        None
    }
    /// This policy with its key vector resolved for reads on the host. `key` and `passes_key` need it.
    fn on_host(self) -> Self {
        self
    }
    /// This policy over entries that its keys were applied to before.
    fn after_keys(self) -> Self {
        self
    }
    /// The key vector's length and number of elements, if they differ from `n` each.
    fn keys_misfit(self, n: usize) -> Option<(usize, usize)> {
        let _ = n;
        None
    }
    /// Where the key vector lies, if not on this process' host alone.
    fn place(&self) -> Option<Place> {
        None
    }
    /// Sets `keeps[k]` to false for each entry `k` of a rank's share that keys leave out. All ranks call this.
    ///
    /// # Errors
    /// Another rank has failed.
    fn filter_share<A: Element>(self, grid: &Grid, share: &Share<A>, keeps: &mut [bool]) -> Result<()> {
        let _ = (grid, share, keeps);
        Ok(())
    }
    /// The entries of a rank's share on its GPU that keys leave in; `None` if they leave all. All ranks call this.
    ///
    /// # Errors
    /// Another rank has failed. The device has too little memory, or is lost.
    fn filtered_on_gpu<A: Element>(self, share: &HeldShare<'_, A>) -> Result<Option<DeviceCsr<A>>> {
        let _ = share;
        Ok(None)
    }
    /// Returns the policy's C++ type, and the operand's: wrapped with the key vector if there is one. Keys are read at `slots`, if rows and
    /// columns are those of a rank's share.
    ///
    /// # Errors
    /// The device has too little memory, or is lost. Another rank has failed.
    fn emit(self, kernel: &mut KernelBuilder, operand: CppType, slots: Option<Slots<'_>>) -> Result<EmittedPolicy>;
}

/// Forwards the named groups of methods to the inner policy; `none` says that there are no keys.
macro_rules! forward {
    ($inner:tt: $($what:ident),*) => {
        $(forward!(@ $inner $what);)*
    };
    (@ $inner:tt may_stop) => {
        const EXITS_EARLY: bool = H::EXITS_EARLY;
        #[inline(always)]
        fn may_stop(self, own: X, partial: T) -> bool {
            self.$inner.may_stop(own, partial)
        }
    };
    (@ $inner:tt filters) => {
        const FILTERS: bool = H::FILTERS;
    };
    (@ $inner:tt passes_state) => {
        const FILTERS_BY_STATE: bool = H::FILTERS_BY_STATE;
        #[inline(always)]
        fn passes_state(self, own: X, other: X) -> bool {
            self.$inner.passes_state(own, other)
        }
    };
    (@ $inner:tt blocks) => {
        const BLOCKS: bool = H::BLOCKS;
        #[inline(always)]
        fn blocks(self, own: X, other: X) -> bool {
            self.$inner.blocks(own, other)
        }
    };
    (@ $inner:tt rank) => {
        #[inline(always)]
        fn rank(self, row: usize) -> Option<u64> {
            self.$inner.rank(row)
        }
    };
    (@ $inner:tt keys) => {
        forward!(@ $inner rank);
        const FILTERS_BY_KEY: bool = H::FILTERS_BY_KEY;
        fn filters_by_key(self) -> bool {
            self.$inner.filters_by_key()
        }
        type Key = H::Key;
        #[inline(always)]
        fn key(self, row: usize) -> H::Key {
            self.$inner.key(row)
        }
        #[inline(always)]
        fn passes_key(self, key: H::Key, column: usize) -> bool {
            self.$inner.passes_key(key, column)
        }
        fn on_host(self) -> Self {
            Self { $inner: self.$inner.on_host(), ..self }
        }
        fn after_keys(self) -> Self {
            Self { $inner: self.$inner.after_keys(), ..self }
        }
        fn filter_share<A: Element>(self, grid: &Grid, share: &Share<A>, keeps: &mut [bool]) -> Result<()> {
            self.$inner.filter_share(grid, share, keeps)
        }
        fn filtered_on_gpu<A: Element>(self, share: &HeldShare<'_, A>) -> Result<Option<DeviceCsr<A>>> {
            self.$inner.filtered_on_gpu(share)
        }
        fn keys_misfit(self, n: usize) -> Option<(usize, usize)> {
            self.$inner.keys_misfit(n)
        }
        fn place(&self) -> Option<Place> {
            self.$inner.place()
        }
    };
    (none) => {
        type Key = ();
        #[inline(always)]
        fn key(self, _: usize) {}
        #[inline(always)]
        fn passes_key(self, (): (), _: usize) -> bool {
            true
        }
    };
}

/// The innermost policy: all entries take part, rows are folded whole, and no entry blocks.
#[derive(Debug, Clone, Copy)]
pub struct Whole;

impl<X: Element, T: Element> EdgePolicy<X, T> for Whole {
    #[inline(always)]
    fn may_stop(self, _: X, _: T) -> bool {
        false
    }
    #[inline(always)]
    fn passes_state(self, _: X, _: X) -> bool {
        true
    }
    forward!(none);
    fn emit(self, _: &mut KernelBuilder, operand: CppType, _: Option<Slots<'_>>) -> Result<EmittedPolicy> {
        Ok(("vxm::AllEdges".into(), operand))
    }
}

/// Lets a fold stop once an operator of (own element, partial result) holds.
#[derive(Debug, Clone, Copy)]
pub struct Until<F, H>(pub(crate) F, pub(crate) H);

impl<X: Element, T: Element, F: BinaryOp<X, T, Out = bool>, H: EdgePolicy<X, T>> EdgePolicy<X, T> for Until<F, H> {
    forward!(1: filters, passes_state, blocks, keys);
    const EXITS_EARLY: bool = true;
    #[inline(always)]
    fn may_stop(self, own: X, partial: T) -> bool {
        self.0.call(own, partial) || self.1.may_stop(own, partial)
    }
    fn emit(self, kernel: &mut KernelBuilder, operand: CppType, slots: Option<Slots<'_>>) -> Result<EmittedPolicy> {
        let (inner, operand) = self.1.emit(kernel, operand, slots)?;
        let arguments = [kernel.functor(self.0), kernel.element::<X>(), inner];
        Ok((kernel.ty("vxm::Until", arguments), operand))
    }
}

/// Judges edges by an operator of (own element, other element), which returns an [`Edge`](vxm_semiring::Edge) or a `bool`. The CPU
/// folds final edges like all others.
#[derive(Debug, Clone, Copy)]
pub struct Judged<F, H>(pub(crate) F, pub(crate) H);

impl<X, T, F, H> EdgePolicy<X, T> for Judged<F, H>
where
    X: Element,
    T: Element,
    F: BinaryOp<X, X, Out: EdgeStatus>,
    H: EdgePolicy<X, T>,
{
    forward!(1: may_stop, keys);
    const FILTERS: bool = true;
    const FILTERS_BY_STATE: bool = true;
    const BLOCKS: bool = F::Out::TELLS_MORE || H::BLOCKS;
    #[inline(always)]
    fn passes_state(self, own: X, other: X) -> bool {
        self.0.call(own, other).takes_part() && self.1.passes_state(own, other)
    }
    #[inline(always)]
    fn blocks(self, own: X, other: X) -> bool {
        self.0.call(own, other).is_blocking() || self.1.blocks(own, other)
    }
    fn emit(self, kernel: &mut KernelBuilder, operand: CppType, slots: Option<Slots<'_>>) -> Result<EmittedPolicy> {
        let (inner, operand) = self.1.emit(kernel, operand, slots)?;
        let name = if F::Out::TELLS_MORE { "vxm::JudgedEdges" } else { "vxm::FilterByState" };
        let arguments = [kernel.functor(self.0), kernel.element::<X>(), inner];
        Ok((kernel.ty(name, arguments), operand))
    }
}

/// Filters edges by key: an entry takes part if an operator of the keys at both ends holds.
#[derive(Debug, Clone, Copy)]
pub struct ByKey<'k, F, K: Element, H = Whole> {
    op: F,
    vector: &'k Vector<K>,
    /// The keys as a slice, set by `on_host`.
    keys: &'k [K],
    /// Whether all of the matrix's entries are known to pass the filter.
    known: bool,
    inner: H,
}

impl<'k, F, K: Element, H> ByKey<'k, F, K, H> {
    pub(crate) fn new(op: F, vector: &'k Vector<K>, known: bool, inner: H) -> Self {
        Self { op, vector, keys: &[], known, inner }
    }
}

impl<X, T, F, K, H> EdgePolicy<X, T> for ByKey<'_, F, K, H>
where
    X: Element,
    T: Element,
    F: BinaryOp<K, K, Out = bool>,
    K: Element,
    H: EdgePolicy<X, T>,
{
    forward!(inner: may_stop, passes_state, blocks);
    const FILTERS: bool = true;
    const FILTERS_BY_KEY: bool = true;
    fn filters_by_key(self) -> bool {
        !self.known || self.inner.filters_by_key()
    }
    type Key = (K, H::Key);
    #[inline(always)]
    fn key(self, row: usize) -> Self::Key {
        (self.keys[row], self.inner.key(row))
    }
    #[inline(always)]
    fn passes_key(self, (own, key): Self::Key, column: usize) -> bool {
        (self.known || self.op.call(own, self.keys[column])) & self.inner.passes_key(key, column)
    }
    #[inline(always)]
    fn rank(self, row: usize) -> Option<u64> {
        Some(self.keys[row].wide_bits() as u64)
    }
    fn filter_share<A: Element>(self, grid: &Grid, share: &Share<A>, keeps: &mut [bool]) -> Result<()> {
        if !self.known {
            let ends = ends(grid, share, self.vector)?;
            for row in 0..share.csr.nrows() {
                let (first, own) = (share.csr.offsets()[row] as usize, ends.values()[row]);
                for (keep, &slot) in keeps[first..].iter_mut().zip(share.csr.row(row).0) {
                    *keep &= self.op.call(own, ends.values()[slot as usize]);
                }
            }
        }
        self.inner.filter_share(grid, share, keeps)
    }
    fn filtered_on_gpu<A: Element>(self, share: &HeldShare<'_, A>) -> Result<Option<DeviceCsr<A>>> {
        let inner = self.inner.filtered_on_gpu(share)?;
        if self.known {
            return Ok(inner);
        }
        let ends = share.slots().ends(self.vector)?;
        cuda::entries::select_ends(inner.as_ref().unwrap_or(share.entries()), self.op, &ends).map(Some)
    }
    fn after_keys(self) -> Self {
        Self { known: true, inner: self.inner.after_keys(), ..self }
    }
    fn on_host(self) -> Self {
        // a full vector's elements stand in order in every format
        let keys = match self.vector.view() {
            StoreView::Dense(values) | StoreView::Bitmap(values, _) | StoreView::Sparse(_, values) => values,
        };
        Self { keys, inner: self.inner.on_host(), ..self }
    }
    fn keys_misfit(self, n: usize) -> Option<(usize, usize)> {
        let (length, elements) = (self.vector.len(), self.vector.nvals());
        if (length, elements) == (n, n) { self.inner.keys_misfit(n) } else { Some((length, elements)) }
    }
    fn place(&self) -> Option<Place> {
        self.vector.place().or_else(|| self.inner.place())
    }
    fn emit(self, kernel: &mut KernelBuilder, operand: CppType, slots: Option<Slots<'_>>) -> Result<EmittedPolicy> {
        let (inner, operand) = self.inner.emit(kernel, operand, slots)?;
        if self.known {
            return Ok((inner, operand));
        }
        let keys = match slots {
            Some(slots) => slots.ends(self.vector)?,
            None => self.vector.on(&kernel.gpu().clone())?,
        };
        let keys = kernel.stored(&keys);
        let operand = kernel.ty("vxm::KeyedOperand", [operand, keys.ty]);
        let arguments = [kernel.functor(self.op), operand, inner];
        Ok((kernel.ty("vxm::FilterByKey", arguments), operand))
    }
}

/// A policy over rows with entries that were filtered before the loop. It keeps the inner policy's early exit, blocking
/// edges and sort key.
#[derive(Debug, Clone, Copy)]
pub struct Prefiltered<H>(pub(crate) H);

impl<X: Element, T: Element, H: EdgePolicy<X, T>> EdgePolicy<X, T> for Prefiltered<H> {
    forward!(0: may_stop, blocks, rank);
    #[inline(always)]
    fn passes_state(self, _: X, _: X) -> bool {
        true
    }
    forward!(none);
    fn emit(self, kernel: &mut KernelBuilder, operand: CppType, slots: Option<Slots<'_>>) -> Result<EmittedPolicy> {
        self.0.emit(kernel, operand, slots)
    }
}

/// A policy over entries that keys were applied to before. It keeps all else.
#[derive(Debug, Clone, Copy)]
pub struct Unkeyed<H>(pub(crate) H);

impl<X: Element, T: Element, H: EdgePolicy<X, T>> EdgePolicy<X, T> for Unkeyed<H> {
    forward!(0: may_stop, passes_state, blocks);
    const FILTERS: bool = H::FILTERS_BY_STATE;
    forward!(none);
    fn emit(self, kernel: &mut KernelBuilder, operand: CppType, slots: Option<Slots<'_>>) -> Result<EmittedPolicy> {
        self.0.emit(kernel, operand, slots)
    }
}

/// A view of an operand that holds only the elements that take part in one row.
#[derive(Clone)]
pub(crate) struct FilteredOperand<'u, U: VectorView, F> {
    pub inner: &'u U,
    /// Whether the element at an index takes part.
    pub keeps: F,
}

impl<U: VectorView, F: Fn(usize, U::T) -> bool + Sync + Clone> VectorView for FilteredOperand<'_, U, F> {
    type T = U::T;
    fixed_is_self!();
    #[inline(always)]
    fn at(&self, i: usize) -> Option<U::T> {
        self.inner.at(i).filter(|&x| (self.keeps)(i, x))
    }
    fn dependency(&self, i: usize) -> Dependency {
        self.inner.dependency(i)
    }
}
