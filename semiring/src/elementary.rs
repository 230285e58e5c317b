//! Exponentials, logarithms, powers and angles with the same bits on every device.
//!
//! Processors and their libraries differ in the last bits of these functions. So each is written once here, as an `#[op]` over `f64` of which
//! kernels get the CUDA C++ text. It uses only operations that IEEE 754 rounds exactly.
//!
//! A result in `f64` is within two units in the last place, mostly within one. A result in `f32` is that of `f64`, rounded: of all 2^32 operands
//! at most nine of a function round to the other neighbour. The 16-bit floats compute in `f32` and round back. Figures: `docs/lab/055-elementary-functions.md`.
//!
//! Methods: arguments are reduced by whole multiples of `ln 2` (Cody and Waite) or of `π/2` (Payne and Hanek where that is more than 2^19);
//! on the rest, a Taylor polynomial. See Muller, *Elementary Functions*, 3rd edition, chapters 3 and 11. Logarithms are sums of two numbers
//! of which the second holds what the first can't, so that `powf` and `log10` keep their last bits.

use crate::{KernelText, Source, op};

/// `ln 2`: its first 32 bits, and the rest.
const LN2_FIRST: f64 = 0.6931471803691238;
const LN2_REST: f64 = 1.9082149292705877e-10;
/// `ln 2`: rounded, and the rest.
const LN2: f64 = core::f64::consts::LN_2;
const LN2_LOW: f64 = 2.3190468138462996e-17;
/// `1 / ln 2`: rounded, and the rest.
const LOG2_E: f64 = core::f64::consts::LOG2_E;
const LOG2_E_LOW: f64 = 2.0355273740931033e-17;
/// `1 / ln 10`: rounded, and the rest.
const LOG10_E: f64 = core::f64::consts::LOG10_E;
const LOG10_E_LOW: f64 = 1.098319650216765e-17;
/// `log10 2`: its first 32 bits, and the rest.
const LOG10_2_FIRST: f64 = 0.3010299955494702;
const LOG10_2_REST: f64 = 1.1451100898021838e-10;
/// `2/3`: rounded, and the rest.
const TWO_THIRDS: f64 = 2.0 / 3.0;
const TWO_THIRDS_LOW: f64 = 3.700743415417188e-17;
/// `π/2`: its first 33 bits, the next 33, and the rest.
const QUARTER_FIRST: f64 = 1.5707963267341256;
const QUARTER_SECOND: f64 = 6.077100506303966e-11;
const QUARTER_REST: f64 = 2.0222662487959506e-21;
/// `π/2`: rounded, and the rest.
const QUARTER: f64 = core::f64::consts::FRAC_PI_2;
const QUARTER_LOW: f64 = 6.123233995736766e-17;
/// `2/π`.
const QUARTERS: f64 = core::f64::consts::FRAC_2_PI;
/// Up to here angles are reduced by `π/2` in three parts: the number of quarters has at most 20 bits.
const WIDE_ANGLE: f64 = 823_549.0;
/// `exp` is infinite above, and 0 below.
const EXP_MOST: f64 = 709.782712893384;
const EXP_LEAST: f64 = -745.1332191019412;
/// The bits of `1.0`, and of the square root of 1/2.
const ONE_BITS: u64 = 0x3ff0_0000_0000_0000;
const ROOT_HALF_BITS: u64 = 0x3fe6_a09e_667f_3bcd;
/// The bits of a fraction.
const FRACTION: u64 = (1 << 52) - 1;

/// `2^k`, for an exponent of a normal number.
#[op]
fn power(k: i32) -> f64 {
    f64::from_bits(((k + 1023) as u64) << 52)
}

/// `y 2^k`, rounded once.
#[op]
fn scaled(y: f64, k: i32) -> f64 {
    let half = k >> 1;
    y * power(half) * power(k - half)
}

/// `exp(r + low) - 1` for `|r|` of at most `ln 2 / 2`.
#[op]
fn growth(r: f64, low: f64) -> f64 {
    let tail = 1.0 / 120.0
        + r * (1.0 / 720.0
            + r * (1.0 / 5040.0
                + r * (1.0 / 40320.0
                    + r * (1.0 / 362_880.0
                        + r * (1.0 / 3_628_800.0
                            + r * (1.0 / 39_916_800.0 + r * (1.0 / 479_001_600.0 + r * (1.0 / 6_227_020_800.0))))))));
    let series = 0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * tail));
    r + (low + r * r * series)
}

/// The multiple of `ln 2` that is nearest to `x`.
#[op]
fn doublings(x: f64) -> f64 {
    (x * LOG2_E + 0.5).floor()
}

/// What is left of `x + low` without `k` times `ln 2`: the number, or its low part.
#[op]
fn remainder(x: f64, low: f64, k: f64) -> f64 {
    (x - k * LN2_FIRST) - (k * LN2_REST - low)
}
#[op]
fn remainder_low(x: f64, low: f64, k: f64) -> f64 {
    let first = x - k * LN2_FIRST;
    let rest = k * LN2_REST - low;
    (first - (first - rest)) - rest
}

/// `exp(x + low)`.
#[op]
fn exp_sum(x: f64, low: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x > EXP_MOST {
        return f64::INFINITY;
    }
    if x < EXP_LEAST {
        return 0.0;
    }
    let k = doublings(x);
    scaled(1.0 + growth(remainder(x, low, k), remainder_low(x, low, k)), k as i32)
}

#[op]
fn exp(x: f64) -> f64 {
    exp_sum(x, 0.0f64)
}

#[op]
fn exp2(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x >= 1024.0 {
        return f64::INFINITY;
    }
    if x < -1075.0 {
        return 0.0;
    }
    let k = (x + 0.5).floor();
    let f = x - k;
    let r = f * LN2;
    scaled(1.0 + growth(r, f.mul_add(LN2, -r) + f * LN2_LOW), k as i32)
}

#[op]
fn exp_m1(x: f64) -> f64 {
    if x.is_nan() || x.abs() < 1e-17 {
        return x;
    }
    if x > EXP_MOST {
        return f64::INFINITY;
    }
    if x < -40.0 {
        return -1.0;
    }
    let k = doublings(x);
    let grown = growth(remainder(x, 0.0f64, k), remainder_low(x, 0.0f64, k));
    if k == 0.0 {
        grown
    } else if k > 56.0 {
        scaled(1.0 + grown, k as i32) - 1.0
    } else {
        let scale = power(k as i32);
        scale * grown + (scale - 1.0)
    }
}

/// The logarithm of a number that has no finite one, or of infinity.
#[op]
fn no_logarithm(x: f64) -> f64 {
    if x == 0.0 {
        f64::NEG_INFINITY
    } else if x < 0.0 {
        f64::NAN
    } else {
        x
    }
}

/// A positive number is `(1 + fraction) 2^exponent`, where `1 + fraction` lies between the square roots of 1/2 and 2.
#[op]
fn exponent(x: f64) -> f64 {
    let small = x < f64::MIN_POSITIVE;
    let bits = (if small { x * 18_014_398_509_481_984.0 } else { x }).to_bits();
    let exponent = ((bits + (ONE_BITS - ROOT_HALF_BITS)) >> 52) as i32 - 1023;
    (if small { exponent - 54 } else { exponent }) as f64
}
#[op]
fn fraction(x: f64) -> f64 {
    let bits = (if x < f64::MIN_POSITIVE { x * 18_014_398_509_481_984.0 } else { x }).to_bits();
    let moved = (bits + (ONE_BITS - ROOT_HALF_BITS)) & FRACTION;
    f64::from_bits(moved + ROOT_HALF_BITS) - 1.0
}

/// The logarithm of `1 + f`, or what its rounding lost. With `s = f / (2 + f)` it is `2 (s + s^3/3 + s^5/5 + ...)`.
#[op]
fn ln_part(f: f64, low: bool) -> f64 {
    let d = 2.0 + f;
    let s = f / d;
    let s_low = ((-s).mul_add(d, f) - s * (f - (d - 2.0))) / d;
    let z = s * s;
    let z_low = s.mul_add(s, -z) + 2.0 * s * s_low;
    let u = s * z;
    let u_low = s.mul_add(z, -u) + s * z_low + s_low * z;
    let v = u * TWO_THIRDS;
    let v_low = u.mul_add(TWO_THIRDS, -v) + u * TWO_THIRDS_LOW + u_low * TWO_THIRDS;
    let tail = 2.0 / 13.0
        + z * (2.0 / 15.0
            + z * (2.0 / 17.0 + z * (2.0 / 19.0 + z * (2.0 / 21.0 + z * (2.0 / 23.0 + z * (2.0 / 25.0))))));
    let series = u * z * (2.0 / 5.0 + z * (2.0 / 7.0 + z * (2.0 / 9.0 + z * (2.0 / 11.0 + z * tail))));
    let high = 2.0 * s + v;
    let rest = (2.0 * s - high) + v + (2.0 * s_low + v_low + series);
    let sum = high + rest;
    if low { (high - sum) + rest } else { sum }
}

#[op]
fn ln(x: f64) -> f64 {
    if !(x > 0.0 && x < f64::INFINITY) {
        return no_logarithm(x);
    }
    let (k, f) = (exponent(x), fraction(x));
    let first = k * LN2_FIRST;
    let part = ln_part(f, false);
    let high = first + part;
    high + ((first - high) + part + (ln_part(f, true) + k * LN2_REST))
}

#[op]
fn ln_1p(x: f64) -> f64 {
    if !(x > -1.0 && x < f64::INFINITY) {
        return if x == -1.0 { f64::NEG_INFINITY } else { no_logarithm(x) };
    }
    if x.abs() < 1e-17 {
        return x;
    }
    if x > -0.29 && x < 0.41 {
        return ln_part(x, false);
    }
    let u = 1.0 + x;
    let lost = if x > 1.0 { 1.0 - (u - x) } else { x - (u - 1.0) };
    let (k, f) = (exponent(u), fraction(u));
    let first = k * LN2_FIRST;
    let part = ln_part(f, false);
    let high = first + part;
    high + ((first - high) + part + (ln_part(f, true) + k * LN2_REST + lost / u))
}

#[op]
fn log2(x: f64) -> f64 {
    if !(x > 0.0 && x < f64::INFINITY) {
        return no_logarithm(x);
    }
    let (k, f) = (exponent(x), fraction(x));
    let (part, low) = (ln_part(f, false), ln_part(f, true));
    let product = part * LOG2_E;
    let product_low = part.mul_add(LOG2_E, -product) + part * LOG2_E_LOW + low * LOG2_E;
    let high = k + product;
    high + ((k - high) + product + product_low)
}

#[op]
fn log10(x: f64) -> f64 {
    if !(x > 0.0 && x < f64::INFINITY) {
        return no_logarithm(x);
    }
    let (k, f) = (exponent(x), fraction(x));
    let (part, low) = (ln_part(f, false), ln_part(f, true));
    let product = part * LOG10_E;
    let product_low = part.mul_add(LOG10_E, -product) + part * LOG10_E_LOW + low * LOG10_E;
    let first = k * LOG10_2_FIRST;
    let high = first + product;
    high + ((first - high) + product + (product_low + k * LOG10_2_REST))
}

#[op]
fn powf(x: f64, y: f64) -> f64 {
    if y == 0.0 || x == 1.0 {
        return 1.0;
    }
    if x.is_nan() || y.is_nan() {
        return f64::NAN;
    }
    let base = x.abs();
    if y.is_infinite() {
        return if base == 1.0 {
            1.0
        } else if (base > 1.0) == (y > 0.0) {
            f64::INFINITY
        } else {
            0.0
        };
    }
    let whole = y == y.trunc();
    let odd = whole && y.abs() < 9_007_199_254_740_992.0 && (y.abs() as u64) & 1 == 1;
    let sign = if odd { 1.0f64.copysign(x) } else { 1.0 };
    if base == 0.0 || base.is_infinite() {
        return if (base == 0.0) == (y > 0.0) { 0.0 * sign } else { f64::INFINITY * sign };
    }
    if x < 0.0 && !whole {
        return f64::NAN;
    }
    // y ln x, in two parts
    let (k, f) = (exponent(base), fraction(base));
    let first = k * LN2_FIRST;
    let part = ln_part(f, false);
    let sum = first + part;
    let rest = (first - sum) + part + (ln_part(f, true) + k * LN2_REST);
    let high = sum + rest;
    let low = (sum - high) + rest;
    let product = y * high;
    if product > 710.0 {
        return f64::INFINITY * sign;
    }
    if product < -746.0 {
        return 0.0 * sign;
    }
    sign * exp_sum(product, y.mul_add(high, -product) + y * low)
}

/// `tanh x` is `t / (t + 2)`, where `t` is `exp(2x) - 1`.
#[op]
fn tanh(x: f64) -> f64 {
    let a = x.abs();
    if x.is_nan() || a < 1e-9 {
        return x;
    }
    let value: f64 = if a > 22.0 {
        1.0
    } else if a > 0.55 {
        1.0 - 2.0 / (exp_m1(2.0 * a) + 2.0)
    } else {
        let t = exp_m1(2.0 * a);
        t / (t + 2.0)
    };
    value.copysign(x)
}

/// 64 bits of `2/π`, after a word of zeros.
#[op]
fn two_over_pi(word: u32) -> u64 {
    match word {
        0 => 0,
        1 => 0xa2f9_836e_4e44_1529,
        2 => 0xfc27_57d1_f534_ddc0,
        3 => 0xdb62_9599_3c43_9041,
        4 => 0xfe51_63ab_debb_c561,
        5 => 0xb724_6e3a_424d_d2e0,
        6 => 0x0649_2eea_09d1_921c,
        7 => 0xfe1d_eb1c_b129_a73e,
        8 => 0xe882_35f5_2ebb_4484,
        9 => 0xe99c_7026_b45f_7e41,
        10 => 0x3991_d639_8353_39f4,
        11 => 0x9c84_5f8b_bdf9_283b,
        12 => 0x1ff8_97ff_de05_980f,
        13 => 0xef2f_118b_5a0a_6d1f,
        14 => 0x6d36_7ecf_27cb_09b7,
        15 => 0x4f46_3f66_9e5f_ea2d,
        16 => 0x7527_bac7_ebe5_f17b,
        17 => 0x3d07_39f7_8a52_92ea,
        18 => 0x6bfb_5fb1_1f8d_5d08,
        19 => 0x5603_3046_fc7b_6bab,
        _ => 0xf0cf_bc20_9af4_361d,
    }
}

/// 64 bits of `2/π`, from a bit on.
#[op]
fn two_over_pi_from(bit: u32) -> u64 {
    let (word, shift) = (bit >> 6, bit & 63);
    two_over_pi(word) << shift | (two_over_pi(word + 1) >> 1) >> (63 - shift)
}

/// The upper half of a product.
#[op]
fn upper_product(a: u64, b: u64) -> u64 {
    let (a1, a0, b1, b0) = (a >> 32, a & 0xffff_ffff, b >> 32, b & 0xffff_ffff);
    let middle = a1 * b0 + (a0 * b0 >> 32);
    let other = a0 * b1 + (middle & 0xffff_ffff);
    a1 * b1 + (middle >> 32) + (other >> 32)
}

/// The sine of `x` and `quarter` quarters of a turn.
#[op]
fn sine(x: f64, quarter: u32) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    // x is n quarters and the angle r + low, of at most an eighth
    let (n, r, low): (u32, f64, f64) = if x.abs() < 0.785 {
        (0, x, 0.0)
    } else if x.abs() < WIDE_ANGLE {
        let k = (x * QUARTERS).round();
        let first = x - k * QUARTER_FIRST;
        let second = k * QUARTER_SECOND;
        let sum = first - second;
        let back = first - sum;
        let lost = (first - (sum + back)) + (back - second) - k * QUARTER_REST;
        let r = sum + lost;
        (k as i32 as u32, r, (sum - r) + lost)
    } else {
        // m 2^e times 2/π, modulo 4: bits of 2/π that make multiples of 4 don't matter
        let bits = x.abs().to_bits();
        let m = bits & FRACTION | (FRACTION + 1);
        let start = (bits >> 52) as u32 - 1075 + 62;
        let (w2, w1, w0) = (two_over_pi_from(start), two_over_pi_from(start + 64), two_over_pi_from(start + 128));
        let lower = m * w0;
        let carried = upper_product(m, w0);
        let middle = m * w1 + carried;
        let upper = m * w2 + upper_product(m, w1) + (if middle < carried { 1u64 } else { 0u64 });
        let n = ((upper + (1 << 61)) >> 62) as u32;
        // the distance to the nearest quarter, in units of 2^-128
        let (top, next) = (upper << 2 | middle >> 62, middle << 2 | lower >> 62);
        let beyond = top >> 63 == 1;
        let (top, next) = if beyond { (!top, !next) } else { (top, next) };
        let zeros = top.leading_zeros();
        let (a, b) = (top << zeros | (next >> 1) >> (63 - zeros), next << zeros);
        let v = (a >> 11) as f64 * power(-53i32);
        let v_low = ((a & 0x7ff) << 53 | b >> 11) as f64 * power(-117i32);
        let r = v * QUARTER;
        let low = v.mul_add(QUARTER, -r) + v * QUARTER_LOW + v_low * QUARTER;
        let scale = (if beyond != (x < 0.0) { -1.0f64 } else { 1.0f64 }) * power(-(zeros as i32));
        (if x < 0.0 { -n } else { n }, r * scale, low * scale)
    };
    let z = r * r;
    let q = n + quarter;
    let value = if q & 1 == 0 {
        let v = z * r;
        let series = 1.0 / 120.0
            - z * (1.0 / 5040.0
                - z * (1.0 / 362_880.0
                    - z * (1.0 / 39_916_800.0
                        - z * (1.0 / 6_227_020_800.0
                            - z * (1.0 / 1_307_674_368_000.0 - z * (1.0 / 355_687_428_096_000.0))))));
        r - ((z * (0.5 * low - v * series) - low) + v * (1.0 / 6.0))
    } else {
        let half = 0.5 * z;
        let first = 1.0 - half;
        let series = 1.0 / 24.0
            - z * (1.0 / 720.0
                - z * (1.0 / 40320.0
                    - z * (1.0 / 3_628_800.0
                        - z * (1.0 / 479_001_600.0
                            - z * (1.0 / 87_178_291_200.0
                                - z * (1.0 / 20_922_789_888_000.0 - z * (1.0 / 6_402_373_705_728_000.0)))))));
        first + (((1.0 - first) - half) + (z * z * series - r * low))
    };
    if q & 2 == 2 { -value } else { value }
}

#[op]
fn sin(x: f64) -> f64 {
    sine(x, 0u32)
}

#[op]
fn cos(x: f64) -> f64 {
    sine(x, 1u32)
}

/// The functions, and their text over all floats.
macro_rules! functions {
    ($($name:ident($($arg:ident),*);)*) => {
        /// The functions over `f64`.
        pub(crate) mod of {
            use crate::*;
            $(
                pub(crate) fn $name($($arg: f64),*) -> f64 {
                    functions!(@call super::$name, $($arg),*)
                }
            )*
        }

        /// The name of a function in CUDA C++, whose overloads for all floats are added to `text`.
        #[doc(hidden)]
        pub fn define(name: &str, text: &mut KernelText) -> String {
            text.prelude();
            let (function, arguments): (String, &[&str]) = match name {
                $(stringify!($name) => (Source::source($name, text), &[$(stringify!($arg)),*]),)*
                _ => unreachable!("the macro knows the names"),
            };
            text.define(&format!("vxm_{name}"), overloads(name, &function, arguments));
            format!("vxm::{name}")
        }
    };
    (@call $op:path, $a:ident) => { UnaryOp::call($op, $a) };
    (@call $op:path, $a:ident, $b:ident) => { BinaryOp::call($op, $a, $b) };
}
functions! {
    exp(x);
    exp2(x);
    exp_m1(x);
    ln(x);
    ln_1p(x);
    log2(x);
    log10(x);
    powf(x, y);
    tanh(x);
    sin(x);
    cos(x);
}

/// Overloads of a function for all floats.
fn overloads(name: &str, function: &str, arguments: &[&str]) -> String {
    let overload = |ty: &str, open: &str, inner: &str, widen: &str| {
        let parameters: Vec<_> = arguments.iter().map(|argument| format!("{ty} {argument}")).collect();
        let values: Vec<_> = arguments.iter().map(|argument| format!("{widen}({argument})")).collect();
        format!("VXM_FN {ty} {name}({}) {{ return {open}({inner}({})); }}\n", parameters.join(", "), values.join(", "))
    };
    [
        "namespace vxm {\n",
        &overload("double", "", function, ""),
        &overload("float", "(float)", function, "(double)"),
        "#ifdef __CUDA_FP16_TYPES_EXIST__\n",
        &overload("__half", "__float2half_rn", name, "__half2float"),
        "#endif\n#ifdef __CUDA_BF16_TYPES_EXIST__\n",
        &overload("__nv_bfloat16", "__float2bfloat16_rn", name, "__bfloat162float"),
        "#endif\n} // namespace vxm",
    ]
    .concat()
}
