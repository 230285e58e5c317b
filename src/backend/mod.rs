//! Where operators run.
//!
//! - [`Device`]: where data lies and operations run.
//! - [`plan`]: chooses direction, format and strategy, by the thresholds of `tuning`.
//! - [`profile`]: counts what loops did.
//! - [`explain`]: tells how expressions and loops were planned.
//! - [`mod@reference`]: defines what every operation means.
//!
//! The rest is private: `view`, the contract between expressions and the CPU backend, and the backends `cpu` and `cuda`. The feature
//! `testing` makes it public, for the tests of this repository. It may change at any time.

use vxm_semiring::Element;

mod device;
pub mod explain;
pub mod plan;
pub mod profile;
pub mod reference;
pub(crate) mod spans;
#[doc(hidden)]
pub mod tuning;

/// Declares modules that only the feature `testing` makes public.
macro_rules! internal {
    ($($name:ident)*) => {$(
        #[cfg(feature = "testing")]
        pub mod $name;
        #[cfg(not(feature = "testing"))]
        pub(crate) mod $name;
    )*};
}
internal! { cpu cuda view }

/// An element that `join` changes if it is joined with itself. Monoids don't state idempotence, so a few elements are tried, which differ in
/// all their numbers; that finds most monoids that aren't.
pub(crate) fn not_idempotent<T: Element>(join: impl Fn(T, T) -> T) -> Option<T> {
    const EACH: u128 = 1 << 96 | 1 << 64 | 1 << 32 | 1;
    (1..=64).map(|k| T::from_wide_bits(k * EACH)).find(|&x| join(x, x).bits() != x.bits())
}

#[doc(hidden)]
pub use device::Place;
pub use device::{Device, MemoryLimit};
pub(crate) use device::{Entered, current, current_place};
