//! What a vector or a matrix may hold.

use core::fmt::Debug;
use half::{bf16, f16};

use crate::KernelText;

/// Anything a vector or matrix can hold: a [`Scalar`], or `()` for containers that hold a pattern only.
pub trait Element: Copy + Send + Sync + PartialEq + Debug + 'static {
    /// The type's name in CUDA C++.
    const CUDA: &'static str;
    /// The type's name in messages: `u32`, `f16`, `()`.
    const NAME: &'static str;
    /// A value that fills absent places; never read as an element.
    const ZERO: Self;

    /// The value's bits, zero-extended: what digests are taken of and tests compare.
    ///
    /// All NaNs have the same bits here. Processors differ in the sign and payload of the NaN they return, no operation of
    /// [`lowered`](crate::lowered) can see it, so a NaN is one value and costs no canonicalising in inner loops.
    ///
    /// ```
    /// use vxm_semiring::Element;
    /// assert_eq!(f32::NAN.bits(), (-f32::NAN).bits());
    /// assert_ne!(0.0f32.bits(), (-0.0f32).bits());
    /// ```
    fn bits(self) -> u64;

    /// The value of its [`bits`](Self::bits); higher bits than the type has are ignored.
    ///
    /// ```
    /// use vxm_semiring::Element;
    /// assert_eq!(i16::from_bits((-3i16).bits()), -3);
    /// ```
    fn from_bits(bits: u64) -> Self;

    /// The value as an expression of type [`CUDA`](Self::CUDA): how constants are spliced into kernels.
    ///
    /// ```
    /// use vxm_semiring::Element;
    /// assert_eq!(7u32.literal(), "7u");
    /// assert_eq!(f32::INFINITY.literal(), "vxm::bits<float>(0x7f800000)");
    /// ```
    fn literal(self) -> String {
        format!("vxm::bits<{}>({:#x})", Self::CUDA, self.bits())
    }

    /// Adds to `text` what a kernel needs before it names the type: the [prelude](crate::lowered::PRELUDE), a header.
    fn declare(text: &mut KernelText) {
        text.prelude();
    }
}

/// An ordered value: `bool`, `i8`..`i64`, `u8`..`u64`, `f16`, `bf16`, `f32`, `f64`.
pub trait Scalar: Element + PartialOrd {
    /// One, or `true`.
    const ONE: Self;
    /// The identity of `max`: the least value, `-inf` for floats, `false`.
    const LEAST: Self;
    /// The identity of `min`: the greatest value, `inf` for floats, `true`.
    const GREATEST: Self;
}

impl Element for () {
    const CUDA: &'static str = "vxm_unit";
    const NAME: &'static str = "()";
    const ZERO: Self = ();
    fn bits(self) -> u64 {
        0
    }
    fn from_bits(_: u64) {}
    fn literal(self) -> String {
        "vxm_unit{}".to_owned()
    }
}

impl Element for bool {
    const CUDA: &'static str = "bool";
    const NAME: &'static str = "bool";
    const ZERO: Self = false;
    fn bits(self) -> u64 {
        u64::from(self)
    }
    fn from_bits(bits: u64) -> Self {
        bits & 1 == 1
    }
    fn literal(self) -> String {
        self.to_string()
    }
}

impl Scalar for bool {
    const ONE: Self = true;
    const LEAST: Self = false;
    const GREATEST: Self = true;
}

macro_rules! integers {
    ($($t:ty, $unsigned:ty, $cuda:literal, $suffix:literal;)*) => {$(
        impl Element for $t {
            const CUDA: &'static str = $cuda;
            const NAME: &'static str = stringify!($t);
            const ZERO: Self = 0;
            fn bits(self) -> u64 {
                u64::from(self as $unsigned)
            }
            fn from_bits(bits: u64) -> Self {
                bits as Self
            }
            fn literal(self) -> String {
                // C++ has no negative literals, so the least value of a type would first be one too large for it
                let number = if self == <$t>::MIN && self != 0 {
                    format!("({}{} - 1)", self + 1, $suffix)
                } else {
                    format!("{self}{}", $suffix)
                };
                if <$t>::BITS < 32 { format!("({}){number}", $cuda) } else { number }
            }
        }
        impl Scalar for $t {
            const ONE: Self = 1;
            const LEAST: Self = <$t>::MIN;
            const GREATEST: Self = <$t>::MAX;
        }
    )*};
}
integers! {
    i8, u8, "signed char", ""; i16, u16, "short", ""; i32, u32, "int", ""; i64, u64, "long long", "LL";
    u8, u8, "unsigned char", ""; u16, u16, "unsigned short", ""; u32, u32, "unsigned int", "u";
    u64, u64, "unsigned long long", "ULL";
}

macro_rules! floats {
    ($($t:ty, $cuda:literal, $zero:expr, $one:expr, $least:expr, $greatest:expr, $nan:expr, $header:expr;)*) => {$(
        impl Element for $t {
            const CUDA: &'static str = $cuda;
            const NAME: &'static str = stringify!($t);
            const ZERO: Self = $zero;
            fn bits(self) -> u64 {
                u64::from(if self.is_nan() { $nan } else { self.to_bits() })
            }
            fn from_bits(bits: u64) -> Self {
                Self::from_bits(bits as _)
            }
            fn declare(text: &mut KernelText) {
                if let Some(header) = $header {
                    text.include(header);
                }
                text.prelude();
            }
        }
        impl Scalar for $t {
            const ONE: Self = $one;
            const LEAST: Self = $least;
            const GREATEST: Self = $greatest;
        }
    )*};
}
floats! {
    f16, "__half", f16::ZERO, f16::ONE, f16::NEG_INFINITY, f16::INFINITY, 0x7e00, Some("cuda_fp16.h");
    bf16, "__nv_bfloat16", bf16::ZERO, bf16::ONE, bf16::NEG_INFINITY, bf16::INFINITY, 0x7fc0, Some("cuda_bf16.h");
    f32, "float", 0.0, 1.0, f32::NEG_INFINITY, f32::INFINITY, 0x7fc0_0000, None;
    f64, "double", 0.0, 1.0, f64::NEG_INFINITY, f64::INFINITY, 0x7ff8_0000_0000_0000, None;
}
