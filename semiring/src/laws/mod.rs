//! Checks that a monoid or semiring keeps its laws, bit for bit. A law that fails is reported with a small counterexample.
//!
//! ```
//! use vxm_semiring::{MAX_PLUS, MAX_TIMES, laws};
//! laws::check::<bool, bool, _>(vxm_semiring::LOR_LAND).unwrap();
//!
//! // integers wrap, so the greater factor need not give the greater product
//! let violation = laws::check::<u32, u32, _>(MAX_TIMES).unwrap_err();
//! assert_eq!(violation.law(), laws::Law::DistributesOverVector);
//! laws::check_except::<u32, u32, _>(MAX_TIMES, laws::DISTRIBUTIVITY).unwrap();
//! ```
//!
//! The laws that the engine relies on are required: the identity, the terminal value, the constant product and, if the monoid is
//! [`EXACT`](crate::Monoid::EXACT), associativity and `repeat`. Distributivity is also required of exact semirings, since a semiring has it by
//! definition. Commutativity is required only of monoids that claim it ([`COMMUTATIVE`](crate::Monoid::COMMUTATIVE)): others are folded in
//! ascending order. Annihilation by the identity is only reported, since absent elements are not multiplied.
//!
//! A law that is declared not to hold ([`Monoid::EXCEPTIONS`](crate::Monoid::EXCEPTIONS), `check_except`) must fail. A declaration that is not needed is an error.
//!
//! The checks need the feature `laws`, which is on by default. Without it only [`Law`] is here, and no test runner is compiled.
//!
//! All combinations of extreme values are tried first, then generated values. `PROPTEST_CASES` sets how many are generated (256 by
//! default), `VXM_LAWS_SEED` the seed (0 by default).

#[cfg(feature = "laws")]
mod check;
#[cfg(feature = "laws")]
mod report;
#[cfg(feature = "laws")]
mod sample;
#[cfg(feature = "laws")]
mod search;

#[cfg(feature = "laws")]
pub use check::{check, check_except, check_monoid};
#[cfg(feature = "laws")]
#[doc(hidden)]
pub use proptest::strategy::{BoxedStrategy, Just, Strategy};
#[cfg(feature = "laws")]
pub use report::{Report, Violation};
#[cfg(feature = "laws")]
pub use sample::Sample;
#[cfg(feature = "laws")]
#[doc(hidden)]
pub use sample::with_field;

/// Without the feature `laws` there is nothing to check.
#[cfg(not(feature = "laws"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __sample {
    ($($tokens:tt)*) => {};
}

/// A law that a monoid or semiring may keep. `+` is the monoid, `*` the multiplication, `0` the monoid's identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Law {
    /// `(a + b) + c == a + (b + c)`.
    Associativity,
    /// `0 + a == a` and `a + 0 == a`.
    Identity,
    /// `a + b == a` if `a` is terminal; and [`TERMINAL`](crate::Monoid::TERMINAL) is terminal.
    Terminal,
    /// `repeat(a, n)` is `a + a + ...`, `n` times.
    Repeat,
    /// `a + b == b + a`.
    Commutativity,
    /// `a * b` is the multiplication's [`CONSTANT`](crate::BinaryOp::CONSTANT).
    Constant,
    /// `(a + b) * c == a * c + b * c`.
    DistributesOverVector,
    /// `a * (b + c) == a * b + a * c`.
    DistributesOverMatrix,
    /// `0 * a == 0` and `a * 0 == 0`.
    Annihilation,
}

/// Both distributive laws, for semirings that keep neither: `laws::check_except::<_, _, _>(S, DISTRIBUTIVITY)`.
pub const DISTRIBUTIVITY: &[Law] = &[Law::DistributesOverVector, Law::DistributesOverMatrix];

#[cfg(feature = "laws")]
impl Law {
    /// Whether a check fails if this law does not hold and is not declared to fail. `exact` says whether the monoid is exact.
    fn required(self, exact: bool) -> bool {
        match self {
            Law::Identity | Law::Terminal | Law::Constant => true,
            Law::Commutativity | Law::Annihilation => false,
            Law::Associativity | Law::Repeat => exact,
            Law::DistributesOverVector | Law::DistributesOverMatrix => exact,
        }
    }
}
