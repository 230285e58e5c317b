//! What a vector or a matrix may hold.

use core::fmt::Debug;
use half::{bf16, f16};

/// Anything a vector or matrix can hold: a [`Scalar`], or `()` for containers that hold a pattern only.
pub trait Element: Copy + Send + Sync + PartialEq + Debug + 'static {
    /// The type's name in CUDA C++.
    const CUDA: &'static str;
    /// The type's name in messages: `u32`, `f16`, `()`.
    const NAME: &'static str;
    /// A value that fills absent places; never read as an element.
    const ZERO: Self;

    /// The value's bits, zero-extended: what digests are taken of and tests compare, so that NaN equals itself.
    fn bits(self) -> u64;
}

/// A number: `bool`, `i8`..`i64`, `u8`..`u64`, `f16`, `bf16`, `f32`, `f64`.
pub trait Scalar: Element + PartialOrd + num_traits::Zero + num_traits::One {}

impl Element for () {
    const CUDA: &'static str = "vxm_unit";
    const NAME: &'static str = "()";
    const ZERO: Self = ();
    fn bits(self) -> u64 {
        0
    }
}

impl Element for bool {
    const CUDA: &'static str = "bool";
    const NAME: &'static str = "bool";
    const ZERO: Self = false;
    fn bits(self) -> u64 {
        u64::from(self)
    }
}

macro_rules! integers {
    ($($t:ty, $unsigned:ty, $cuda:literal;)*) => {$(
        impl Element for $t {
            const CUDA: &'static str = $cuda;
            const NAME: &'static str = stringify!($t);
            const ZERO: Self = 0;
            fn bits(self) -> u64 {
                u64::from(self as $unsigned)
            }
        }
        impl Scalar for $t {}
    )*};
}
integers! {
    i8, u8, "signed char"; i16, u16, "short"; i32, u32, "int"; i64, u64, "long long";
    u8, u8, "unsigned char"; u16, u16, "unsigned short"; u32, u32, "unsigned int"; u64, u64, "unsigned long long";
}

macro_rules! floats {
    ($($t:ty, $cuda:literal, $zero:expr;)*) => {$(
        impl Element for $t {
            const CUDA: &'static str = $cuda;
            const NAME: &'static str = stringify!($t);
            const ZERO: Self = $zero;
            fn bits(self) -> u64 {
                u64::from(self.to_bits())
            }
        }
        impl Scalar for $t {}
    )*};
}
floats! {
    f16, "__half", f16::ZERO; bf16, "__nv_bfloat16", bf16::ZERO; f32, "float", 0.0; f64, "double", 0.0;
}
