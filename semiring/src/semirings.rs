//! The built-in semirings. The first word of a name is the monoid, the second the multiplication.
//!
//! In `vxm`, `FIRST` is the vector's element and `SECOND` the matrix's entry; in `mxv` the matrix's entry is first. Each semiring is
//! generic: `PLUS_TIMES` works for every number type. Over a pattern, it counts each entry as one.

use crate::Ring;
use crate::operators::{Any, Band, Bor, Bxor, First, Land, Lor, Lxor, Max, Min, Pair, Plus, Second, Times};

macro_rules! semirings {
    ($($name:ident: $add:ident, $mul:ident;)*) => {$(
        #[doc = concat!("Folds with [`", stringify!($add), "`], multiplies with [`", stringify!($mul), "`].")]
        pub const $name: Ring<$add, $mul> = Ring { add: $add, mul: $mul };
    )*};
}
semirings! {
    PLUS_TIMES: Plus, Times;
    PLUS_FIRST: Plus, First;
    PLUS_SECOND: Plus, Second;
    PLUS_MIN: Plus, Min;
    PLUS_MAX: Plus, Max;
    TIMES_PLUS: Times, Plus;
    TIMES_FIRST: Times, First;
    TIMES_SECOND: Times, Second;
    MIN_PLUS: Min, Plus;
    MIN_TIMES: Min, Times;
    MIN_FIRST: Min, First;
    MIN_SECOND: Min, Second;
    MIN_MAX: Min, Max;
    MAX_PLUS: Max, Plus;
    MAX_TIMES: Max, Times;
    MAX_FIRST: Max, First;
    MAX_SECOND: Max, Second;
    MAX_MIN: Max, Min;
    LOR_LAND: Lor, Land;
    LAND_LOR: Land, Lor;
    LXOR_LAND: Lxor, Land;
    LOR_FIRST: Lor, First;
    LOR_SECOND: Lor, Second;
    ANY_FIRST: Any, First;
    ANY_SECOND: Any, Second;
    BOR_FIRST: Bor, First;
    BOR_SECOND: Bor, Second;
    BOR_BAND: Bor, Band;
    BAND_BOR: Band, Bor;
    BXOR_BAND: Bxor, Band;
}

/// Counts the products in `u32`. For another type, use `semiring(PLUS, Pair::<u64>::new())`.
pub const PLUS_PAIR: Ring<Plus, Pair<u32>> = Ring { add: Plus, mul: Pair::new() };

/// Gives `true` where there is any product.
pub const LOR_PAIR: Ring<Lor, Pair<bool>> = Ring { add: Lor, mul: Pair::new() };

/// Gives `()` where there is any product: the result is a pattern, that is, a set.
pub const ANY_PAIR: Ring<Any, Pair<()>> = Ring { add: Any, mul: Pair::new() };
