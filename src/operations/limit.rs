//! What of a row is folded: all of it, until something holds, or those entries alone whose ends compare.

use crate::backend::cuda::compose::{Composer, Piece};
use crate::backend::view::{At, Depends, fixed_as_it_is};
use vxm_semiring::{BinaryOp, Element};

/// Which entries of a row take part in a product, when its fold may stop short, and for which of them a loop may wait: see
/// [`Product::until`](super::product::Product::until), [`among`](super::product::Product::among) and
/// [`awaiting`](super::product::Product::awaiting).
pub trait Limit<X: Element, T: Element>: Copy + Send + Sync + 'static {
    /// Whether a fold ever stops short.
    const STOPS: bool = false;
    /// Whether entries are ever left out.
    const SELECTS: bool = false;
    /// Whether entries are ever waited for.
    const AWAITS: bool = false;
    /// Whether the fold may stop, given the row's own element of the operand and the partial result.
    fn stops(self, own: X, partial: T) -> bool;
    /// Whether an entry takes part, given the row's own element and the one at its column.
    fn takes(self, own: X, other: X) -> bool;
    /// Whether the row waits for an entry, given the same.
    fn awaits(self, own: X, other: X) -> bool {
        let _ = (own, other);
        false
    }
    /// Its C++ type.
    fn emit(self, kernel: &mut Composer) -> Piece;
}

/// Rows are folded whole.
#[derive(Debug, Clone, Copy)]
pub struct Whole;

impl<X: Element, T: Element> Limit<X, T> for Whole {
    #[inline(always)]
    fn stops(self, _: X, _: T) -> bool {
        false
    }
    #[inline(always)]
    fn takes(self, _: X, _: X) -> bool {
        true
    }
    fn emit(self, _: &mut Composer) -> Piece {
        "vxm::Whole".into()
    }
}

/// Until an operator of (own element, partial result) holds.
#[derive(Debug, Clone, Copy)]
pub struct Until<F, H>(pub(super) F, pub(super) H);

impl<X: Element, T: Element, F: BinaryOp<X, T, Out = bool>, H: Limit<X, T>> Limit<X, T> for Until<F, H> {
    const STOPS: bool = true;
    const SELECTS: bool = H::SELECTS;
    const AWAITS: bool = H::AWAITS;
    #[inline(always)]
    fn stops(self, own: X, partial: T) -> bool {
        self.0.call(own, partial) || self.1.stops(own, partial)
    }
    #[inline(always)]
    fn takes(self, own: X, other: X) -> bool {
        self.1.takes(own, other)
    }
    #[inline(always)]
    fn awaits(self, own: X, other: X) -> bool {
        self.1.awaits(own, other)
    }
    fn emit(self, kernel: &mut Composer) -> Piece {
        let arguments = [kernel.functor(self.0), kernel.element::<X>(), self.1.emit(kernel)];
        kernel.ty("vxm::Until", arguments)
    }
}

/// The entries for which an operator of (own element, the other's) holds.
#[derive(Debug, Clone, Copy)]
pub struct Among<F, H>(pub(super) F, pub(super) H);

impl<X: Element, T: Element, F: BinaryOp<X, X, Out = bool>, H: Limit<X, T>> Limit<X, T> for Among<F, H> {
    const STOPS: bool = H::STOPS;
    const SELECTS: bool = true;
    const AWAITS: bool = H::AWAITS;
    #[inline(always)]
    fn stops(self, own: X, partial: T) -> bool {
        self.1.stops(own, partial)
    }
    #[inline(always)]
    fn takes(self, own: X, other: X) -> bool {
        self.0.call(own, other) && self.1.takes(own, other)
    }
    #[inline(always)]
    fn awaits(self, own: X, other: X) -> bool {
        self.1.awaits(own, other)
    }
    fn emit(self, kernel: &mut Composer) -> Piece {
        let arguments = [kernel.functor(self.0), kernel.element::<X>(), self.1.emit(kernel)];
        kernel.ty("vxm::Among", arguments)
    }
}

/// Waits for entries for which an operator of (own element, the other's) holds.
#[derive(Debug, Clone, Copy)]
pub struct Awaiting<F, H>(pub(super) F, pub(super) H);

impl<X: Element, T: Element, F: BinaryOp<X, X, Out = bool>, H: Limit<X, T>> Limit<X, T> for Awaiting<F, H> {
    const STOPS: bool = H::STOPS;
    const SELECTS: bool = H::SELECTS;
    const AWAITS: bool = true;
    #[inline(always)]
    fn stops(self, own: X, partial: T) -> bool {
        self.1.stops(own, partial)
    }
    #[inline(always)]
    fn takes(self, own: X, other: X) -> bool {
        self.1.takes(own, other)
    }
    #[inline(always)]
    fn awaits(self, own: X, other: X) -> bool {
        self.0.call(own, other) || self.1.awaits(own, other)
    }
    fn emit(self, kernel: &mut Composer) -> Piece {
        let arguments = [kernel.functor(self.0), self.1.emit(kernel)];
        kernel.ty("vxm::Awaiting", arguments)
    }
}

/// A limit on rows of which the entries that take part were chosen before: when it stops, and for whom it waits.
#[derive(Debug, Clone, Copy)]
pub struct Chosen<H>(pub(super) H);

impl<X: Element, T: Element, H: Limit<X, T>> Limit<X, T> for Chosen<H> {
    const STOPS: bool = H::STOPS;
    const AWAITS: bool = H::AWAITS;
    #[inline(always)]
    fn stops(self, own: X, partial: T) -> bool {
        self.0.stops(own, partial)
    }
    #[inline(always)]
    fn takes(self, _: X, _: X) -> bool {
        true
    }
    #[inline(always)]
    fn awaits(self, own: X, other: X) -> bool {
        self.0.awaits(own, other)
    }
    fn emit(self, kernel: &mut Composer) -> Piece {
        self.0.emit(kernel)
    }
}

/// The elements of a view that take part in one row.
#[derive(Clone)]
pub(super) struct Taken<'u, U: At, F> {
    pub inner: &'u U,
    /// Whether an element does.
    pub takes: F,
}

impl<U: At, F: Fn(U::T) -> bool + Sync + Clone> At for Taken<'_, U, F> {
    type T = U::T;
    fixed_as_it_is!();
    #[inline(always)]
    fn at(&self, i: usize) -> Option<U::T> {
        self.inner.at(i).filter(|&x| (self.takes)(x))
    }
    fn depends(&self, i: usize) -> Depends {
        self.inner.depends(i)
    }
}
