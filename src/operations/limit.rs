//! What of a row is folded: all of it, until something holds, or those entries alone whose ends compare.

use crate::backend::cuda::Gpu;
use crate::backend::cuda::compose::{Composer, Piece};
use crate::backend::view::{At, Depends, fixed_as_it_is};
use crate::containers::Vector;
use crate::error::Result;
use crate::formats::StoreView;
use vxm_semiring::{BinaryOp, Element};

/// Which entries of a row take part in a product, when its fold may stop short, and for which of them a loop may wait: see
/// [`Product::until`](super::product::Product::until), [`ends`](super::product::Product::ends),
/// [`among`](super::product::Product::among) and [`awaiting`](super::product::Product::awaiting).
pub trait Limit<X: Element, T: Element>: Copy + Send + Sync {
    /// Whether a fold ever stops short.
    const STOPS: bool = false;
    /// Whether entries are ever left out.
    const SELECTS: bool = false;
    /// Whether a row's own element is asked which entries take part.
    const ASKS: bool = false;
    /// Whether entries are ever waited for.
    const AWAITS: bool = false;
    /// Whether entries are left out by what stands at their ends elsewhere, whatever the operand holds.
    const CHOOSES: bool = false;
    /// Whether the fold may stop, given the row's own element of the operand and the partial result.
    fn stops(self, own: X, partial: T) -> bool;
    /// Whether an entry takes part, given the row's own element and the one at its column.
    fn takes(self, own: X, other: X) -> bool;
    /// Whether the row waits for an entry, given the same.
    fn awaits(self, own: X, other: X) -> bool {
        let _ = (own, other);
        false
    }
    /// Whether any are left out by their ends now.
    fn chooses(self) -> bool {
        false
    }
    /// What stands at a row's own end.
    type End: Copy + Send + Sync;
    /// That of a row.
    fn end(self, row: usize) -> Self::End;
    /// Whether the entry at `column` of a row with such an end is one of those that may take part.
    fn joins(self, end: Self::End, column: usize) -> bool;
    /// By what a row's end is compared.
    fn rank(self, row: usize) -> Option<u64> {
        let _ = row;
        None
    }
    /// The same, ready to be asked by the host.
    fn on_host(self) -> Self {
        self
    }
    /// How long the vector is that ends are compared by, and how many elements it has, if it isn't a full one of `n`.
    fn misfit(self, n: usize) -> Option<(usize, usize)> {
        let _ = n;
        None
    }
    /// The GPU on which that vector lies, if it does.
    fn place(&self) -> Option<Gpu> {
        None
    }
    /// Its C++ type, and the operand's, with what it reads beside that.
    ///
    /// # Errors
    /// The device has too little memory, or is lost.
    fn emit(self, kernel: &mut Composer, operand: Piece) -> Result<(Piece, Piece)>;
}

/// What a limit leaves to the one that it is made of, by what that is about; or, of `none`, that ends say nothing.
macro_rules! leaves {
    ($inner:tt: $($what:ident),*) => {
        $(leaves!(@ $inner $what);)*
    };
    (@ $inner:tt stops) => {
        const STOPS: bool = H::STOPS;
        #[inline(always)]
        fn stops(self, own: X, partial: T) -> bool {
            self.$inner.stops(own, partial)
        }
    };
    (@ $inner:tt selects) => {
        const SELECTS: bool = H::SELECTS;
    };
    (@ $inner:tt takes) => {
        const ASKS: bool = H::ASKS;
        #[inline(always)]
        fn takes(self, own: X, other: X) -> bool {
            self.$inner.takes(own, other)
        }
    };
    (@ $inner:tt awaits) => {
        const AWAITS: bool = H::AWAITS;
        #[inline(always)]
        fn awaits(self, own: X, other: X) -> bool {
            self.$inner.awaits(own, other)
        }
    };
    (@ $inner:tt rank) => {
        #[inline(always)]
        fn rank(self, row: usize) -> Option<u64> {
            self.$inner.rank(row)
        }
    };
    (@ $inner:tt ends) => {
        leaves!(@ $inner rank);
        const CHOOSES: bool = H::CHOOSES;
        fn chooses(self) -> bool {
            self.$inner.chooses()
        }
        type End = H::End;
        #[inline(always)]
        fn end(self, row: usize) -> H::End {
            self.$inner.end(row)
        }
        #[inline(always)]
        fn joins(self, end: H::End, column: usize) -> bool {
            self.$inner.joins(end, column)
        }
        fn on_host(self) -> Self {
            Self { $inner: self.$inner.on_host(), ..self }
        }
        fn misfit(self, n: usize) -> Option<(usize, usize)> {
            self.$inner.misfit(n)
        }
        fn place(&self) -> Option<Gpu> {
            self.$inner.place()
        }
    };
    (none) => {
        type End = ();
        #[inline(always)]
        fn end(self, _: usize) {}
        #[inline(always)]
        fn joins(self, (): (), _: usize) -> bool {
            true
        }
    };
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
    leaves!(none);
    fn emit(self, _: &mut Composer, operand: Piece) -> Result<(Piece, Piece)> {
        Ok(("vxm::Whole".into(), operand))
    }
}

/// Until an operator of (own element, partial result) holds.
#[derive(Debug, Clone, Copy)]
pub struct Until<F, H>(pub(super) F, pub(super) H);

impl<X: Element, T: Element, F: BinaryOp<X, T, Out = bool>, H: Limit<X, T>> Limit<X, T> for Until<F, H> {
    leaves!(1: selects, takes, awaits, ends);
    const STOPS: bool = true;
    #[inline(always)]
    fn stops(self, own: X, partial: T) -> bool {
        self.0.call(own, partial) || self.1.stops(own, partial)
    }
    fn emit(self, kernel: &mut Composer, operand: Piece) -> Result<(Piece, Piece)> {
        let (inner, operand) = self.1.emit(kernel, operand)?;
        let arguments = [kernel.functor(self.0), kernel.element::<X>(), inner];
        Ok((kernel.ty("vxm::Until", arguments), operand))
    }
}

/// The entries for which an operator of (own element, the other's) holds.
#[derive(Debug, Clone, Copy)]
pub struct Among<F, H>(pub(super) F, pub(super) H);

impl<X: Element, T: Element, F: BinaryOp<X, X, Out = bool>, H: Limit<X, T>> Limit<X, T> for Among<F, H> {
    leaves!(1: stops, awaits, ends);
    const SELECTS: bool = true;
    const ASKS: bool = true;
    #[inline(always)]
    fn takes(self, own: X, other: X) -> bool {
        self.0.call(own, other) && self.1.takes(own, other)
    }
    fn emit(self, kernel: &mut Composer, operand: Piece) -> Result<(Piece, Piece)> {
        let (inner, operand) = self.1.emit(kernel, operand)?;
        let arguments = [kernel.functor(self.0), kernel.element::<X>(), inner];
        Ok((kernel.ty("vxm::Among", arguments), operand))
    }
}

/// Waits for entries for which an operator of (own element, the other's) holds.
#[derive(Debug, Clone, Copy)]
pub struct Awaiting<F, H>(pub(super) F, pub(super) H);

impl<X: Element, T: Element, F: BinaryOp<X, X, Out = bool>, H: Limit<X, T>> Limit<X, T> for Awaiting<F, H> {
    leaves!(1: stops, selects, takes, ends);
    const AWAITS: bool = true;
    #[inline(always)]
    fn awaits(self, own: X, other: X) -> bool {
        self.0.call(own, other) || self.1.awaits(own, other)
    }
    fn emit(self, kernel: &mut Composer, operand: Piece) -> Result<(Piece, Piece)> {
        let (inner, operand) = self.1.emit(kernel, operand)?;
        let arguments = [kernel.functor(self.0), inner];
        Ok((kernel.ty("vxm::Awaiting", arguments), operand))
    }
}

/// Folding entries once for which an operator of (own element, the other's) holds.
#[derive(Debug, Clone, Copy)]
pub struct Once<F, H>(pub(super) F, pub(super) H);

impl<X: Element, T: Element, F: BinaryOp<X, X, Out = bool>, H: Limit<X, T>> Limit<X, T> for Once<F, H> {
    leaves!(1: stops, selects, takes, awaits, ends);
    fn emit(self, kernel: &mut Composer, operand: Piece) -> Result<(Piece, Piece)> {
        let (inner, operand) = self.1.emit(kernel, operand)?;
        let arguments = [kernel.functor(self.0), inner];
        Ok((kernel.ty("vxm::Once", arguments), operand))
    }
}

/// The entries for which an operator of what a vector holds at their ends holds.
#[derive(Debug, Clone, Copy)]
pub struct Ends<'k, F, K: Element, H> {
    op: F,
    vector: &'k Vector<K>,
    /// Its elements, once they are asked for on the host.
    held: &'k [K],
    /// Whether it is known to hold of all of the matrix' entries.
    known: bool,
    inner: H,
}

impl<'k, F, K: Element, H> Ends<'k, F, K, H> {
    pub(super) fn new(op: F, vector: &'k Vector<K>, known: bool, inner: H) -> Self {
        Self { op, vector, held: &[], known, inner }
    }
}

impl<X, T, F, K, H> Limit<X, T> for Ends<'_, F, K, H>
where
    X: Element,
    T: Element,
    F: BinaryOp<K, K, Out = bool>,
    K: Element,
    H: Limit<X, T>,
{
    leaves!(inner: stops, takes, awaits);
    const SELECTS: bool = true;
    const CHOOSES: bool = true;
    fn chooses(self) -> bool {
        !self.known || self.inner.chooses()
    }
    type End = (K, H::End);
    #[inline(always)]
    fn end(self, row: usize) -> Self::End {
        (self.held[row], self.inner.end(row))
    }
    #[inline(always)]
    fn joins(self, (own, end): Self::End, column: usize) -> bool {
        (self.known || self.op.call(own, self.held[column])) & self.inner.joins(end, column)
    }
    #[inline(always)]
    fn rank(self, row: usize) -> Option<u64> {
        Some(self.held[row].bits())
    }
    fn on_host(self) -> Self {
        // a full vector's elements stand in order in every format
        let held = match self.vector.view() {
            StoreView::Dense(values) | StoreView::Bitmap(values, _) | StoreView::Sparse(_, values) => values,
        };
        Self { held, inner: self.inner.on_host(), ..self }
    }
    fn misfit(self, n: usize) -> Option<(usize, usize)> {
        let (length, held) = (self.vector.len(), self.vector.nvals());
        if (length, held) == (n, n) { self.inner.misfit(n) } else { Some((length, held)) }
    }
    fn place(&self) -> Option<Gpu> {
        self.vector.gpu().cloned().or_else(|| self.inner.place())
    }
    fn emit(self, kernel: &mut Composer, operand: Piece) -> Result<(Piece, Piece)> {
        let (inner, operand) = self.inner.emit(kernel, operand)?;
        if self.known {
            return Ok((inner, operand));
        }
        let ends = kernel.stored(&self.vector.on(&kernel.gpu().clone())?);
        let operand = kernel.ty("vxm::Ended", [operand, ends.ty]);
        let arguments = [kernel.functor(self.op), operand, inner];
        Ok((kernel.ty("vxm::Ends", arguments), operand))
    }
}

/// A limit on rows of which the entries that take part were chosen before: when it stops, and for whom it waits.
#[derive(Debug, Clone, Copy)]
pub struct Chosen<H>(pub(super) H);

impl<X: Element, T: Element, H: Limit<X, T>> Limit<X, T> for Chosen<H> {
    leaves!(0: stops, awaits, rank);
    #[inline(always)]
    fn takes(self, _: X, _: X) -> bool {
        true
    }
    leaves!(none);
    fn emit(self, kernel: &mut Composer, operand: Piece) -> Result<(Piece, Piece)> {
        self.0.emit(kernel, operand)
    }
}

/// The elements of a view that take part in one row.
#[derive(Clone)]
pub(super) struct Taken<'u, U: At, F> {
    pub inner: &'u U,
    /// Whether the element at an index does.
    pub takes: F,
}

impl<U: At, F: Fn(usize, U::T) -> bool + Sync + Clone> At for Taken<'_, U, F> {
    type T = U::T;
    fixed_as_it_is!();
    #[inline(always)]
    fn at(&self, i: usize) -> Option<U::T> {
        self.inner.at(i).filter(|&x| (self.takes)(i, x))
    }
    fn depends(&self, i: usize) -> Depends {
        self.inner.depends(i)
    }
}
