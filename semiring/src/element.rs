//! The types of vector elements and matrix entries.

use core::fmt::Debug;
use half::{bf16, f16};

use crate::KernelText;

/// A word that holds the bits of an element: `u64`, or `u128` for an element of 16 bytes.
pub trait Word: Copy + Eq + Send + Sync + Debug + 'static {
    /// The lowest bits of `bits`, as many as the word has.
    fn of(bits: u128) -> Self;

    /// The bits, zero-extended.
    fn wide(self) -> u128;
}

macro_rules! words {
    ($($t:ty),*) => {$(
        impl Word for $t {
            #[inline(always)]
            fn of(bits: u128) -> Self {
                bits as Self
            }
            #[inline(always)]
            fn wide(self) -> u128 {
                self.into()
            }
        }
    )*};
}
words!(u64, u128);

/// A type that a vector or matrix can hold: a [`Scalar`], a struct made by [`scalar`](crate::scalar), or `()` for a pattern, which stores no
/// values. It has at most 16 bytes.
pub trait Element: Copy + Send + Sync + PartialEq + Debug + 'static {
    /// What holds the value's bits: `u64` if it has at most 8 bytes, else `u128`.
    type Bits: Word;
    /// The type's name in CUDA C++.
    const CUDA: &'static str;
    /// The type's name in Rust and in messages: `u32`, `f16`, `()`.
    const NAME: &'static str;
    /// A filler for places without an element. It is never read as an element.
    const ZERO: Self;

    /// The value's bits, zero-extended. Digests are computed from them, and tests compare them.
    ///
    /// All NaNs have the same bits here. Processors differ in the sign and payload of the NaNs that they return, but no operation of
    /// [`lowered`](crate::lowered) depends on these. So NaN counts as one value, and inner loops need not canonicalise it.
    ///
    /// ```
    /// use vxm_semiring::Element;
    /// assert_eq!(f32::NAN.bits(), (-f32::NAN).bits());
    /// assert_ne!(0.0f32.bits(), (-0.0f32).bits());
    /// ```
    fn bits(self) -> Self::Bits;

    /// The value that has these [`bits`](Self::bits). Bits above the type's width are ignored.
    ///
    /// ```
    /// use vxm_semiring::Element;
    /// assert_eq!(i16::from_bits((-3i16).bits()), -3);
    /// ```
    fn from_bits(bits: Self::Bits) -> Self;

    /// The [`bits`](Self::bits) in words of 64, the lowest first: two for an element of 16 bytes, else one. Kernels get constants so.
    ///
    /// ```
    /// use vxm_semiring::Element;
    /// assert_eq!((-1i16).words().collect::<Vec<_>>(), [0xffff]);
    /// ```
    #[inline(always)]
    fn words(self) -> impl Iterator<Item = u64> {
        let bits = self.wide_bits();
        let high = (size_of::<Self>() > 8).then_some((bits >> 64) as u64);
        core::iter::once(bits as u64).chain(high)
    }

    /// The [`bits`](Self::bits), zero-extended, whatever holds them.
    #[inline(always)]
    fn wide_bits(self) -> u128 {
        self.bits().wide()
    }

    /// The value that has these [`wide_bits`](Self::wide_bits).
    #[inline(always)]
    fn from_wide_bits(bits: u128) -> Self {
        Self::from_bits(Self::Bits::of(bits))
    }

    /// The value as a number, which may be rounded; NaN if it is none. Loops sort work by it, so no answer depends on it.
    ///
    /// ```
    /// use vxm_semiring::Element;
    /// assert_eq!((-3i16).as_f64(), -3.0);
    /// assert!(().as_f64().is_nan());
    /// ```
    #[inline(always)]
    fn as_f64(self) -> f64 {
        f64::NAN
    }

    /// The value as a CUDA C++ expression of type [`CUDA`](Self::CUDA), for constants in a kernel's text.
    ///
    /// ```
    /// use vxm_semiring::Element;
    /// assert_eq!(7u32.literal(), "7u");
    /// assert_eq!(f32::INFINITY.literal(), "vxm::bits<float>(0x7f800000)");
    /// ```
    fn literal(self) -> String {
        let words: Vec<_> = self.words().map(|word| format!("{word:#x}")).collect();
        format!("vxm::bits<{}>({})", Self::CUDA, words.join(", "))
    }

    /// Adds to `text` what a kernel needs to name the type: the [prelude](crate::lowered::PRELUDE) and, for 16-bit floats, a header.
    fn declare(text: &mut KernelText) {
        text.prelude();
    }
}

/// An ordered value: `bool`, `i8`..`i64`, `u8`..`u64`, `f16`, `bf16`, `f32`, `f64`.
pub trait Scalar: Element<Bits = u64> + PartialOrd {
    /// The number 1, or `true`.
    const ONE: Self;
    /// The least value, which is the identity of `max`: `-inf` for floats, `false` for `bool`.
    const LEAST: Self;
    /// The greatest value, which is the identity of `min`: `inf` for floats, `true` for `bool`.
    const GREATEST: Self;
}

impl Element for () {
    type Bits = u64;
    const CUDA: &'static str = "vxm_unit";
    const NAME: &'static str = "()";
    const ZERO: Self = ();
    #[inline(always)]
    fn bits(self) -> u64 {
        0
    }
    #[inline(always)]
    fn from_bits(_: u64) {}
    fn literal(self) -> String {
        "vxm_unit{}".to_owned()
    }
}

impl Element for bool {
    type Bits = u64;
    const CUDA: &'static str = "bool";
    const NAME: &'static str = "bool";
    const ZERO: Self = false;
    #[inline(always)]
    fn bits(self) -> u64 {
        u64::from(self)
    }
    #[inline(always)]
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
            type Bits = u64;
            const CUDA: &'static str = $cuda;
            const NAME: &'static str = stringify!($t);
            const ZERO: Self = 0;
            #[inline(always)]
            fn bits(self) -> u64 {
                u64::from(self as $unsigned)
            }
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                bits as Self
            }
            #[inline(always)]
            fn as_f64(self) -> f64 {
                self as f64
            }
            fn literal(self) -> String {
                // C++ has no negative literals: the least value would be parsed as the negation of a number that is out of range
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
            type Bits = u64;
            const CUDA: &'static str = $cuda;
            const NAME: &'static str = stringify!($t);
            const ZERO: Self = $zero;
            #[inline(always)]
            fn bits(self) -> u64 {
                u64::from(if self.is_nan() { $nan } else { self.to_bits() })
            }
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                Self::from_bits(bits as _)
            }
            #[inline(always)]
            fn as_f64(self) -> f64 {
                self.into()
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
