//! `ln`, `ln_1p`, `log2`, `log10` and `powf`.

use super::exponentials::exp_sum;
use super::{FRACTION, LN2_FIRST, LN2_REST};
use crate::op;

/// `1 / ln 2`: its first 26 bits, and the rest.
const LOG2_E_FIRST: f64 = 1.4426950216293335;
const LOG2_E_REST: f64 = 1.9259629911266175e-08;
/// `1 / ln 10`: its first 26 bits, and the rest.
const LOG10_E_FIRST: f64 = 0.4342944771051407;
const LOG10_E_REST: f64 = 4.798111141615973e-09;
/// `log10 2`: its first 32 bits, and the rest.
const LOG10_2_FIRST: f64 = 0.3010299955494702;
const LOG10_2_REST: f64 = 1.1451100898021838e-10;
/// `2/3`: rounded, and the rest.
const TWO_THIRDS: f64 = 2.0 / 3.0;
const TWO_THIRDS_LOW: f64 = 3.700743415417188e-17;
/// The sign, the exponent and the first 26 bits of a number. The product of two such numbers is exact.
const FIRST_BITS: u64 = !0x7ff_ffff;
/// The bits of `1.0`, and of the square root of 1/2.
const ONE_BITS: u64 = 0x3ff0_0000_0000_0000;
const ROOT_HALF_BITS: u64 = 0x3fe6_a09e_667f_3bcd;

/// The logarithm of a number that has no finite one, or of infinity.
#[op]
pub(super) fn no_logarithm(x: f64) -> f64 {
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
pub(super) fn exponent(x: f64) -> f64 {
    let small = x < f64::MIN_POSITIVE;
    let bits = (if small { x * 18_014_398_509_481_984.0 } else { x }).to_bits();
    let exponent = ((bits + (ONE_BITS - ROOT_HALF_BITS)) >> 52) as i32 - 1023;
    (if small { exponent - 54 } else { exponent }) as f64
}
#[op]
pub(super) fn fraction(x: f64) -> f64 {
    let bits = (if x < f64::MIN_POSITIVE { x * 18_014_398_509_481_984.0 } else { x }).to_bits();
    let moved = (bits + (ONE_BITS - ROOT_HALF_BITS)) & FRACTION;
    f64::from_bits(moved + ROOT_HALF_BITS) - 1.0
}

/// The logarithm of `1 + f`, or what its rounding lost. With `s = f / (2 + f)` it is `2 (s + s^3/3 + s^5/5 + ...)`.
#[op]
pub(super) fn ln_part(f: f64, low: bool) -> f64 {
    let d = 2.0 + f;
    let s = f / d;
    let s_low = ((-s).mul_add(d, f) - s * (f - (d - 2.0))) / d;
    let z = s * s;
    let z_low = s.mul_add(s, -z) + 2.0 * s * s_low;
    let u = s * z;
    let u_low = s.mul_add(z, -u) + s * z_low + s_low * z;
    let v = u * TWO_THIRDS;
    let v_low = u.mul_add(TWO_THIRDS, -v) + u * TWO_THIRDS_LOW + u_low * TWO_THIRDS;
    let w = z * z;
    let even = 2.0 / 5.0 + w * (2.0 / 9.0 + w * (2.0 / 13.0 + w * (2.0 / 17.0 + w * (2.0 / 21.0 + w * (2.0 / 25.0)))));
    let odd = 2.0 / 7.0 + w * (2.0 / 11.0 + w * (2.0 / 15.0 + w * (2.0 / 19.0 + w * (2.0 / 23.0))));
    let series = u * z * (even + z * odd);
    let high = 2.0 * s + v;
    let rest = (2.0 * s - high) + v + (2.0 * s_low + v_low + series);
    let sum = high + rest;
    if low { (high - sum) + rest } else { sum }
}

/// `ln(1 + f) - f + f^2 / 2`, for `1 + f` between the square roots of 1/2 and 2. With `s = f / (2 + f)` and `r = 2/3 s^2 + 2/5 s^4 + ...`
/// the logarithm is `2s + s r`. As `2s = f - s f`, and `s f = f^2 / 2 - s f^2 / 2`, what is asked for is `s (f^2 / 2 + r)`. Even and odd
/// powers are summed apart, so that processors compute both sums at once.
#[op]
pub(super) fn ln_curve(f: f64) -> f64 {
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let odd = z * (2.0 / 3.0 + w * (2.0 / 7.0 + w * (2.0 / 11.0 + w * (2.0 / 15.0 + w * (2.0 / 19.0)))));
    let even = w * (2.0 / 5.0 + w * (2.0 / 9.0 + w * (2.0 / 13.0 + w * (2.0 / 17.0 + w * (2.0 / 21.0)))));
    s * (0.5 * f * f + (odd + even))
}

/// `ln(1 + f) + k ln 2 + low`. The greatest terms, which are exact, are added last.
#[op]
pub(super) fn ln_sum(f: f64, k: f64, low: f64) -> f64 {
    k * LN2_FIRST - ((0.5 * f * f - (ln_curve(f) + (k * LN2_REST + low))) - f)
}

/// The first 26 bits of about `ln(1 + f)`, and the rest.
#[op]
pub(super) fn ln_first(f: f64) -> f64 {
    f64::from_bits((f - 0.5 * f * f).to_bits() & FIRST_BITS)
}
#[op]
pub(super) fn ln_rest(f: f64) -> f64 {
    (f - ln_first(f)) - 0.5 * f * f + ln_curve(f)
}

#[op]
pub(super) fn ln(x: f64) -> f64 {
    if !(x > 0.0 && x < f64::INFINITY) {
        return no_logarithm(x);
    }
    ln_sum(fraction(x), exponent(x), 0.0f64)
}

#[op]
pub(super) fn ln_1p(x: f64) -> f64 {
    if !(x > -1.0 && x < f64::INFINITY) {
        return if x == -1.0 { f64::NEG_INFINITY } else { no_logarithm(x) };
    }
    if x.abs() < 1e-17 {
        return x;
    }
    if x > -0.29 && x < 0.41 {
        return ln_sum(x, 0.0f64, 0.0f64);
    }
    let u = 1.0 + x;
    let lost = if x > 1.0 { 1.0 - (u - x) } else { x - (u - 1.0) };
    ln_sum(fraction(u), exponent(u), lost / u)
}

#[op]
pub(super) fn log2(x: f64) -> f64 {
    if !(x > 0.0 && x < f64::INFINITY) {
        return no_logarithm(x);
    }
    let (k, f) = (exponent(x), fraction(x));
    let (first, rest) = (ln_first(f), ln_rest(f));
    let product = first * LOG2_E_FIRST;
    let low = (first + rest) * LOG2_E_REST + rest * LOG2_E_FIRST;
    let high = k + product;
    high + ((k - high) + product + low)
}

#[op]
pub(super) fn log10(x: f64) -> f64 {
    if !(x > 0.0 && x < f64::INFINITY) {
        return no_logarithm(x);
    }
    let (k, f) = (exponent(x), fraction(x));
    let (first, rest) = (ln_first(f), ln_rest(f));
    let product = first * LOG10_E_FIRST;
    let low = (first + rest) * LOG10_E_REST + rest * LOG10_E_FIRST;
    let twos = k * LOG10_2_FIRST;
    let high = twos + product;
    high + ((twos - high) + product + (low + k * LOG10_2_REST))
}

#[op]
pub(super) fn powf(x: f64, y: f64) -> f64 {
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
