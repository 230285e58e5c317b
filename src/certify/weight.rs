//! The weights that certificates read.

/// A type of weights: `u32`, `u64`, `f32` or `f64`.
pub trait Weight: Copy + PartialOrd + Send + Sync {
    /// The weight 0.
    const ZERO: Self;
    /// The sum; `None` if it doesn't fit the type, is infinite or NaN.
    fn plus(self, other: Self) -> Option<Self>;
    /// A number that orders as weights do that aren't negative or NaN.
    fn key(self) -> u64;
    /// The weight as a float, rounded if it must be.
    fn number(self) -> f64;
}

macro_rules! weights {
    (integers: $($u:ty),*; floats: $($f:ty),*;) => {
        $(impl Weight for $u {
            const ZERO: Self = 0;
            fn plus(self, other: Self) -> Option<Self> {
                self.checked_add(other)
            }
            fn key(self) -> u64 {
                self.into()
            }
            fn number(self) -> f64 {
                self as f64
            }
        })*
        $(impl Weight for $f {
            const ZERO: Self = 0.0;
            fn plus(self, other: Self) -> Option<Self> {
                Some(self + other).filter(|sum| sum.is_finite())
            }
            fn key(self) -> u64 {
                // -0 counts as 0
                (self + 0.0).to_bits().into()
            }
            fn number(self) -> f64 {
                self.into()
            }
        })*
    };
}
weights! {
    integers: u32, u64;
    floats: f32, f64;
}
