//! The operations of each type.

use half::{bf16, f16};

use super::{Bits, CastTo, Distance, Float, FloatNumber, Integer, IntegerNumber, MaybeNan, Number, Numeric, Ordered};
use crate::Element;
use crate::elementary::of as elementary;

/// Writes associated functions with operands of type `$t`.
macro_rules! define {
    ($t:ty: $($name:ident($($arg:ident),* $(; $more:ident)?) -> $out:ty = $body:expr;)*) => {$(
        #[inline(always)]
        fn $name($($arg: $t,)* $($more: u32)?) -> $out {
            $body
        }
    )*};
}

macro_rules! ordered {
    ($($t:ty)*) => {$(
        impl Ordered for $t {
            define! { $t:
                min(a, b) -> $t = if b < a { b } else { a };
                max(a, b) -> $t = if b > a { b } else { a };
            }
        }
        impl MaybeNan for $t {
            const HAS_NAN: bool = false;
        }
        impl Bits for $t {
            define! { $t:
                bitand(a, b) -> $t = a & b;
                bitor(a, b) -> $t = a | b;
                bitxor(a, b) -> $t = a ^ b;
                not(a) -> $t = !a;
            }
        }
    )*};
}
ordered!(bool i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! integers {
    ($($abs:ident: $($t:ident $unsigned:ident),*;)*) => {$($(
        impl Numeric for $t {
            const EXACT: bool = true;
            const NOTHING: Self = 0;
            const ANNIHILATOR: Option<Self> = Some(0);
            #[inline(always)]
            fn multiple(value: Self, times: u64) -> Option<Self> {
                Some(value.wrapping_mul(times as $t))
            }
        }
        impl Number for $t {
            define! { $t:
                add(a, b) -> $t = a.wrapping_add(b);
                sub(a, b) -> $t = a.wrapping_sub(b);
                mul(a, b) -> $t = a.wrapping_mul(b);
                div(a, b) -> $t = if b == 0 { 0 } else { a.wrapping_div(b) };
                rem(a, b) -> $t = if b == 0 { a } else { a.wrapping_rem(b) };
                neg(a) -> $t = a.wrapping_neg();
                abs(a) -> $t = integers!(@$abs a);
                signum(a) -> $t = integers!(@$abs a, signum);
            }
        }
        impl IntegerNumber for $t {
            const ALL: Self = !0;
            define! { $t:
                shl(a; by) -> $t = a.wrapping_shl(by);
                shr(a; by) -> $t = a.wrapping_shr(by);
            }
        }
        impl Integer for $t {
            define! { $t:
                saturating_add(a, b) -> $t = a.saturating_add(b);
                saturating_sub(a, b) -> $t = a.saturating_sub(b);
                saturating_mul(a, b) -> $t = a.saturating_mul(b);
                pow(a; n) -> $t = a.wrapping_pow(n);
                rotate_left(a; by) -> $t = a.rotate_left(by);
                rotate_right(a; by) -> $t = a.rotate_right(by);
                reverse_bits(a) -> $t = a.reverse_bits();
                count_ones(a) -> u32 = a.count_ones();
                count_zeros(a) -> u32 = a.count_zeros();
                leading_zeros(a) -> u32 = a.leading_zeros();
                leading_ones(a) -> u32 = a.leading_ones();
                trailing_zeros(a) -> u32 = a.trailing_zeros();
                trailing_ones(a) -> u32 = a.trailing_ones();
            }
        }
        impl Distance for $t {
            type Unsigned = $unsigned;
            #[inline(always)]
            fn abs_diff(a: $t, b: $t) -> $unsigned {
                a.abs_diff(b)
            }
        }
    )*)*};
    (@signed $a:ident) => { $a.wrapping_abs() };
    (@unsigned $a:ident) => { $a };
    (@signed $a:ident, signum) => { $a.signum() };
    (@unsigned $a:ident, signum) => { $a.min(1) };
}
integers! {
    signed: i8 u8, i16 u16, i32 u32, i64 u64;
    unsigned: u8 u8, u16 u16, u32 u32, u64 u64;
}

macro_rules! floats {
    ($($t:ty, $word:ty, $minus_zero:expr, $up:ident, $down:expr;)*) => {$(
        impl Ordered for $t {
            define! { $t:
                min(a, b) -> $t =
                    if a < b || b.is_nan() || (a == b && (a != Self::ZERO || a.is_sign_negative())) { a } else { b };
                max(a, b) -> $t =
                    if a > b || b.is_nan() || (a == b && (a != Self::ZERO || a.is_sign_positive())) { a } else { b };
            }
        }
        impl MaybeNan for $t {
            const HAS_NAN: bool = true;
        }
        impl Numeric for $t {
            const EXACT: bool = false;
            const NOTHING: Self = $minus_zero;
            const ANNIHILATOR: Option<Self> = None;
            #[inline(always)]
            fn multiple(_: Self, _: u64) -> Option<Self> {
                None
            }
        }
        impl Number for $t {
            define! { $t:
                add(a, b) -> $t = a + b;
                sub(a, b) -> $t = a - b;
                mul(a, b) -> $t = a * b;
                div(a, b) -> $t = a / b;
                rem(a, b) -> $t = a % b;
                neg(a) -> $t = -a;
                abs(a) -> $t = $down($up::from(a).abs());
                signum(a) -> $t = $down($up::from(a).signum());
            }
        }
        impl FloatNumber for $t {
            type Word = $word;
            #[inline(always)]
            fn word(a: $t) -> $word {
                a.bits() as $word
            }
            #[inline(always)]
            fn of_word(word: $word) -> $t {
                <$t>::from_bits(word)
            }
        }
        impl Float for $t {
            define! { $t:
                sqrt(a) -> $t = $down($up::from(a).sqrt());
                floor(a) -> $t = $down($up::from(a).floor());
                ceil(a) -> $t = $down($up::from(a).ceil());
                trunc(a) -> $t = $down($up::from(a).trunc());
                round(a) -> $t = $down($up::from(a).round());
                copysign(a, b) -> $t =
                    if b.is_nan() { Self::abs(a) } else { $down($up::from(a).copysign($up::from(b))) };
                mul_add(a, b, c) -> $t = $down($up::from(a).mul_add($up::from(b), $up::from(c)));
                exp(a) -> $t = $down(elementary::exp(f64::from(a)) as $up);
                exp2(a) -> $t = $down(elementary::exp2(f64::from(a)) as $up);
                exp_m1(a) -> $t = $down(elementary::exp_m1(f64::from(a)) as $up);
                ln(a) -> $t = $down(elementary::ln(f64::from(a)) as $up);
                ln_1p(a) -> $t = $down(elementary::ln_1p(f64::from(a)) as $up);
                log2(a) -> $t = $down(elementary::log2(f64::from(a)) as $up);
                log10(a) -> $t = $down(elementary::log10(f64::from(a)) as $up);
                tanh(a) -> $t = $down(elementary::tanh(f64::from(a)) as $up);
                sin(a) -> $t = $down(elementary::sin(f64::from(a)) as $up);
                cos(a) -> $t = $down(elementary::cos(f64::from(a)) as $up);
                powf(a, b) -> $t = $down(elementary::powf(f64::from(a), f64::from(b)) as $up);
                is_nan(a) -> bool = a.is_nan();
                is_finite(a) -> bool = a.is_finite();
                is_infinite(a) -> bool = a.is_infinite();
            }
        }
    )*};
}
floats! {
    f16, u16, f16::NEG_ZERO, f32, f16::from_f32;
    bf16, u16, bf16::NEG_ZERO, f32, bf16::from_f32;
    f32, u32, -0.0, f32, core::convert::identity;
    f64, u64, -0.0, f64, core::convert::identity;
}

macro_rules! casts {
    ($($from:ty: |$a:ident| $plain:expr;)*) => {$(
        casts!(@to $from, |$a| $plain, i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);
        impl CastTo<f16> for $from {
            #[inline(always)]
            fn cast(self) -> f16 {
                let $a = self;
                f16::from_f32($plain as f32)
            }
        }
        impl CastTo<bf16> for $from {
            #[inline(always)]
            fn cast(self) -> bf16 {
                let $a = self;
                bf16::from_f32($plain as f32)
            }
        }
    )*};
    (@to $from:ty, |$a:ident| $plain:expr, $($to:ty)*) => {$(
        impl CastTo<$to> for $from {
            #[inline(always)]
            fn cast(self) -> $to {
                let $a = self;
                $plain as $to
            }
        }
    )*};
}
casts! {
    i8: |a| a; i16: |a| a; i32: |a| a; i64: |a| a; u8: |a| a; u16: |a| a; u32: |a| a; u64: |a| a;
    f32: |a| a; f64: |a| a; bool: |a| u8::from(a); f16: |a| a.to_f32(); bf16: |a| a.to_f32();
}

impl CastTo<bool> for bool {
    #[inline(always)]
    fn cast(self) -> bool {
        self
    }
}
