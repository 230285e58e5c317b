//! The operations that the Rust code and the CUDA C++ text of an operator are both lowered to. They give the same bits on every device.
//!
//! Every operation is total and none panics:
//! - integers wrap; `x / 0` is `0` and `x % 0` is `x`, so that `x == (x / y) * y + x % y` always; `MIN / -1` wraps;
//! - shifts use the count modulo the width;
//! - floats are IEEE 754, rounded once to nearest even, never contracted to a fused multiply-add (NVRTC: `--fmad=false`);
//!   16-bit floats compute in `f32` and round back;
//! - `min` and `max` prefer a number to a NaN, and order `-0.0` below `+0.0`: they commute bit for bit;
//! - casts do what `as` does: integers wrap, floats saturate, NaN becomes 0; casts to 16-bit floats go through `f32`;
//! - exponentials, logarithms, powers and angles are computed in `f64` by the same steps everywhere: see [`elementary`](crate::elementary);
//! - the sign and payload of a NaN are unspecified: no operation reads them, and [`Element::bits`] hides them.
//!
//! `#[op]` generates calls of these functions. [`PRELUDE`] defines the same operations in CUDA C++.

mod numbers;

use half::{bf16, f16};

use crate::{Element, Scalar};

/// The operations in CUDA C++, in `namespace vxm`. [`KernelText::prelude`](crate::KernelText::prelude) adds this text.
pub const PRELUDE: &str = include_str!("../prelude.cuh");

/// Declares a trait of associated functions over `Self`, and a free function for each of them.
macro_rules! operations {
    ($($(#[$about:meta])* $trait:ident: $super:path { $(
        $(#[$doc:meta])* $name:ident($($arg:ident),* $(; $more:ident: $ty:ty)?) -> $out:ident;
    )* })*) => {$(
        $(#[$about])*
        pub trait $trait: $super {
            $($(#[$doc])* fn $name($($arg: Self,)* $($more: $ty)?) -> $out;)*
        }
        $(operations!(@free $trait $(#[$doc])* $name($($arg),* $(; $more: $ty)?) -> $out);)*
    )*};
    (@free $trait:ident $(#[$doc:meta])* $name:ident($($arg:ident),* $(; $more:ident: $ty:ty)?) -> Self) => {
        $(#[$doc])*
        #[inline(always)]
        pub fn $name<T: $trait>($($arg: T,)* $($more: $ty)?) -> T {
            <T as $trait>::$name($($arg,)* $($more)?)
        }
    };
    (@free $trait:ident $(#[$doc:meta])* $name:ident($($arg:ident),*) -> $out:ident) => {
        $(#[$doc])*
        #[inline(always)]
        pub fn $name<T: $trait>($($arg: T),*) -> $out {
            <T as $trait>::$name($($arg),*)
        }
    };
}

operations! {
    /// The lesser and the greater of two, for every scalar.
    #[diagnostic::on_unimplemented(message = "`{Self}` is no scalar")]
    Ordered: MaybeNan {
        /// The lesser of two; a number rather than NaN, `-0.0` rather than `+0.0`.
        min(a, b) -> Self;
        /// The greater of two; a number rather than NaN, `+0.0` rather than `-0.0`.
        max(a, b) -> Self;
    }
    /// Arithmetic, for every scalar but `bool`.
    #[diagnostic::on_unimplemented(message = "`{Self}` is no number")]
    Number: Numeric {
        /// `a + b`.
        add(a, b) -> Self;
        /// `a - b`.
        sub(a, b) -> Self;
        /// `a * b`.
        mul(a, b) -> Self;
        /// `a / b`; for integers, 0 if `b` is 0.
        div(a, b) -> Self;
        /// `a % b`, with the sign of `a`; for integers, `a` if `b` is 0.
        rem(a, b) -> Self;
        /// `-a`; integers wrap.
        neg(a) -> Self;
        /// The absolute value; of the least signed integer, that integer itself.
        abs(a) -> Self;
        /// 1 or -1 with the sign of `a`; of integers, 0 if `a` is 0; NaN if `a` is NaN.
        signum(a) -> Self;
    }
    /// Bit operations, for integers and `bool`.
    #[diagnostic::on_unimplemented(message = "`{Self}` is no integer or `bool`")]
    Bits: Scalar {
        /// `a & b`.
        bitand(a, b) -> Self;
        /// `a | b`.
        bitor(a, b) -> Self;
        /// `a ^ b`.
        bitxor(a, b) -> Self;
        /// `!a`.
        not(a) -> Self;
    }
    /// Operations of integers only.
    #[diagnostic::on_unimplemented(message = "`{Self}` is no integer")]
    Integer: IntegerNumber {
        /// `a + b`, clamped to the type's range.
        saturating_add(a, b) -> Self;
        /// `a - b`, clamped to the type's range.
        saturating_sub(a, b) -> Self;
        /// `a * b`, clamped to the type's range.
        saturating_mul(a, b) -> Self;
        /// `a` to the power of `n`, wrapping.
        pow(a; n: u32) -> Self;
        /// `a` with its bits rotated towards the high end, the count modulo the width.
        rotate_left(a; by: u32) -> Self;
        /// `a` with its bits rotated towards the low end, the count modulo the width.
        rotate_right(a; by: u32) -> Self;
        /// `a` with its bits in the opposite order.
        reverse_bits(a) -> Self;
        /// The number of bits that are 1.
        count_ones(a) -> u32;
        /// The number of bits that are 0.
        count_zeros(a) -> u32;
        /// The number of 0 bits above the highest 1.
        leading_zeros(a) -> u32;
        /// The number of 1 bits above the highest 0.
        leading_ones(a) -> u32;
        /// The number of 0 bits below the lowest 1.
        trailing_zeros(a) -> u32;
        /// The number of 1 bits below the lowest 0.
        trailing_ones(a) -> u32;
    }
    /// Operations of floats only.
    #[diagnostic::on_unimplemented(message = "`{Self}` is no float")]
    Float: FloatNumber {
        /// The square root, correctly rounded.
        sqrt(a) -> Self;
        /// The greatest whole number that is not above `a`.
        floor(a) -> Self;
        /// The least whole number that is not below `a`.
        ceil(a) -> Self;
        /// `a` without its fraction, rounded towards 0.
        trunc(a) -> Self;
        /// The whole number nearest to `a`, away from 0 where two are.
        round(a) -> Self;
        /// `a` with the sign of `b`; without a sign where `b` is NaN.
        copysign(a, b) -> Self;
        /// `a * b + c`, rounded once; 16-bit floats are rounded to `f32` before.
        mul_add(a, b, c) -> Self;
        /// `e` to the power of `a`.
        exp(a) -> Self;
        /// 2 to the power of `a`.
        exp2(a) -> Self;
        /// `exp(a) - 1`, precise near 0.
        exp_m1(a) -> Self;
        /// The natural logarithm.
        ln(a) -> Self;
        /// `ln(1 + a)`, precise near 0.
        ln_1p(a) -> Self;
        /// The logarithm to base 2.
        log2(a) -> Self;
        /// The logarithm to base 10.
        log10(a) -> Self;
        /// `a` to the power of `b`.
        powf(a, b) -> Self;
        /// The hyperbolic tangent.
        tanh(a) -> Self;
        /// The sine of an angle in radians.
        sin(a) -> Self;
        /// The cosine of an angle in radians.
        cos(a) -> Self;
        /// Whether `a` is NaN.
        is_nan(a) -> bool;
        /// Whether `a` is neither infinite nor NaN.
        is_finite(a) -> bool;
        /// Whether `a` is infinite.
        is_infinite(a) -> bool;
    }
}

/// Whether a scalar type has a NaN.
pub trait MaybeNan: Scalar {
    /// Whether the type has a NaN, so that its order is not total.
    const HAS_NAN: bool;
}

/// Properties and constants of a number type.
pub trait Numeric: Ordered + num_traits::Zero + num_traits::One + ToNumbers {
    /// Whether sums and products are associative, bit for bit: `true` for integers, `false` for floats.
    const EXACT: bool;
    /// The identity of addition: `0` for integers, `-0.0` for floats, because `0.0 + -0.0` is `0.0`.
    const NOTHING: Self;
    /// The value that no factor changes: `0` for integers, `None` for floats.
    const ANNIHILATOR: Option<Self>;

    /// The sum of `times` copies of `value`, or `None` if it cannot be computed in one step.
    fn multiple(value: Self, times: u64) -> Option<Self>;
}

/// A constant and the shifts of an integer type.
pub trait IntegerNumber: Number + Bits {
    /// The value with all bits set.
    const ALL: Self;
    /// `a << by`, the count modulo the width.
    fn shl(a: Self, by: u32) -> Self;
    /// `a >> by`, the count modulo the width; arithmetic for signed integers.
    fn shr(a: Self, by: u32) -> Self;
}

/// The distance of two integers, which may be out of their own type's range.
pub trait Distance: Integer {
    /// The unsigned type of the same width.
    type Unsigned: Element<Bits = u64>;
    /// `|a - b|`.
    fn abs_diff(a: Self, b: Self) -> Self::Unsigned;
}

/// The bits of a float type.
pub trait FloatNumber: Number {
    /// The unsigned type of the same width.
    type Word: Element<Bits = u64>;
    /// The bits of `a`. All NaNs have the same, as [`Element::bits`] says.
    fn word(a: Self) -> Self::Word;
    /// The float that has these bits.
    fn of_word(word: Self::Word) -> Self;
}

/// `|a - b|`, in the unsigned type of the same width.
///
/// ```
/// use vxm_semiring::lowered::abs_diff;
/// assert_eq!(abs_diff(-100i8, 100), 200u8);
/// ```
#[inline(always)]
pub fn abs_diff<T: Distance>(a: T, b: T) -> T::Unsigned {
    T::abs_diff(a, b)
}

/// The bits of a float, in the unsigned type of the same width. All NaNs have the same.
#[inline(always)]
pub fn to_bits<T: FloatNumber>(a: T) -> T::Word {
    T::word(a)
}

/// The float that has these bits.
#[inline(always)]
pub fn from_bits<T: FloatNumber>(word: T::Word) -> T {
    T::of_word(word)
}

/// The lesser of `most` and the greater of `a` and `least`.
///
/// ```
/// use vxm_semiring::lowered::clamp;
/// assert_eq!((clamp(7, 0, 5), clamp(-1, 0, 5), clamp(f32::NAN, 0.0, 1.0)), (5, 0, 0.0));
/// ```
#[inline(always)]
pub fn clamp<T: Ordered>(a: T, least: T, most: T) -> T {
    min(max(a, least), most)
}

/// A type that is cast to every number type.
pub trait ToNumbers:
    CastTo<i8>
    + CastTo<i16>
    + CastTo<i32>
    + CastTo<i64>
    + CastTo<u8>
    + CastTo<u16>
    + CastTo<u32>
    + CastTo<u64>
    + CastTo<f16>
    + CastTo<bf16>
    + CastTo<f32>
    + CastTo<f64>
{
}

macro_rules! to_numbers {
    ($($t:ty)*) => { $(impl ToNumbers for $t {})* };
}
to_numbers!(bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64);

/// The cast `a as To`. See [`cast`].
pub trait CastTo<To>: Scalar {
    /// Returns `self as To`.
    fn cast(self) -> To;
}

/// `a as To`: integers wrap, floats saturate, NaN becomes 0, casts to a 16-bit float go through `f32`.
///
/// ```
/// use vxm_semiring::lowered::cast;
/// assert_eq!((cast::<u8, _>(300.0f32), cast::<u8, _>(300u32), cast::<i32, _>(f32::NAN)), (255, 44, 0));
/// ```
#[inline(always)]
pub fn cast<To, From: CastTo<To>>(a: From) -> To {
    a.cast()
}

/// `a << by`, the count modulo the width.
#[inline(always)]
pub fn shl<T: Integer, By: Integer + CastTo<u32>>(a: T, by: By) -> T {
    T::shl(a, by.cast())
}

/// `a >> by`, the count modulo the width.
#[inline(always)]
pub fn shr<T: Integer, By: Integer + CastTo<u32>>(a: T, by: By) -> T {
    T::shr(a, by.cast())
}

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident $bound:ident $op:tt;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name<T: $bound>(a: T, b: T) -> bool {
            a $op b
        }
    )*};
}
comparisons! {
    /// `a == b`.
    eq Element ==;
    /// `a != b`.
    ne Element !=;
    /// `a < b`.
    lt Scalar <;
    /// `a <= b`.
    le Scalar <=;
    /// `a > b`.
    gt Scalar >;
    /// `a >= b`.
    ge Scalar >=;
}
