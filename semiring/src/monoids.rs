//! The built-in monoids: identities, terminal values and exceptions.

use crate::laws::Law;
use crate::lowered::{Integer, Number, Ordered};
use crate::operators::{Any, Band, Bor, Bxnor, Bxor, Land, Lor, Lxnor, Lxor, Max, Min, Plus, Times};
use crate::traits::doubled;
use crate::{BinaryOp, Element, Monoid};

/// Exact for integers; sums of floats depend on the order. The identity of floats is `-0.0`: `0.0` would turn `-0.0` into `0.0`.
impl<T: Number> Monoid<T> for Plus {
    const COMMUTATIVE: bool = true;
    const IDENTITY: T = T::NOTHING;
    const EXACT: bool = T::EXACT;
    fn repeat(self, value: T, times: u64) -> T {
        T::multiple(value, times).unwrap_or_else(|| doubled(value, times, |a, b| self.call(a, b)))
    }
}

impl<T: Number> Monoid<T> for Times {
    const COMMUTATIVE: bool = true;
    const IDENTITY: T = T::ONE;
    const TERMINAL: Option<T> = T::ANNIHILATOR;
    const EXACT: bool = T::EXACT;
}

/// The law that `min` and `max` of `T` break. They prefer any number to NaN, so an infinity changes NaN and is no identity there.
const fn nan<T: Ordered>() -> &'static [Law] {
    if T::HAS_NAN { &[Law::Identity] } else { &[] }
}

/// Declares monoids in which folding a value with itself changes nothing.
macro_rules! idempotent {
    ($($op:ident<$t:ident: $bound:ident> $identity:expr, $exceptions:expr;)*) => {$(
        impl<$t: $bound> Monoid<$t> for $op {
            const COMMUTATIVE: bool = true;
            const EXCEPTIONS: &'static [Law] = $exceptions;
            const IDENTITY: $t = $identity;
            const TERMINAL: Option<$t> = <Self as BinaryOp<$t, $t>>::ABSORBING;
            #[inline(always)]
            fn repeat(self, value: $t, _: u64) -> $t {
                value
            }
        }
    )*};
    ($($op:ident, $identity:expr;)*) => {$(
        impl Monoid<bool> for $op {
            const COMMUTATIVE: bool = true;
            const IDENTITY: bool = $identity;
            const TERMINAL: Option<bool> = <Self as BinaryOp<bool, bool>>::ABSORBING;
            #[inline(always)]
            fn repeat(self, value: bool, _: u64) -> bool {
                value
            }
        }
    )*};
}
idempotent! {
    Min<T: Ordered> T::GREATEST, nan::<T>();
    Max<T: Ordered> T::LEAST, nan::<T>();
    Bor<T: Integer> T::ZERO, &[];
    Band<T: Integer> T::ALL, &[];
}
idempotent! {
    Lor, false;
    Land, true;
}

/// Declares monoids in which folding a value with itself gives the identity.
macro_rules! involutory {
    ($($op:ident<$($t:ident: $bound:ident)?> $ty:ty, $identity:expr;)*) => {$(
        impl$(<$t: $bound>)? Monoid<$ty> for $op {
            const COMMUTATIVE: bool = true;
            const IDENTITY: $ty = $identity;
            #[inline(always)]
            fn repeat(self, value: $ty, times: u64) -> $ty {
                if times % 2 == 1 { value } else { Self::IDENTITY }
            }
        }
    )*};
}
involutory! {
    Bxor<T: Integer> T, T::ZERO;
    Bxnor<T: Integer> T, T::ALL;
    Lxor<> bool, false;
    Lxnor<> bool, true;
}

/// Every value is terminal, so the first product is the result. The identity is nominal and fails its law, because `any` has none.
/// No fold uses it: folds start from their first product.
impl<T: Element> Monoid<T> for Any {
    const IDENTITY: T = T::ZERO;
    const EXCEPTIONS: &'static [Law] = if size_of::<T>() > 0 { &[Law::Identity] } else { &[] };
    #[inline(always)]
    fn is_terminal(self, _: T) -> bool {
        true
    }
    #[inline(always)]
    fn repeat(self, value: T, _: u64) -> T {
        value
    }
}
