//! `exp`, `exp2`, `exp_m1` and `tanh`.

use super::{LN2_FIRST, LN2_REST};
use crate::op;

/// `ln 2`: rounded, and the rest.
const LN2: f64 = core::f64::consts::LN_2;
const LN2_LOW: f64 = 2.3190468138462996e-17;
/// `1 / ln 2`.
const LOG2_E: f64 = core::f64::consts::LOG2_E;
/// `exp` is infinite above, and 0 below.
const EXP_MOST: f64 = 709.782712893384;
const EXP_LEAST: f64 = -745.1332191019412;

/// `2^k`, for an exponent of a normal number.
#[op]
pub(super) fn power(k: i32) -> f64 {
    f64::from_bits(((k + 1023) as u64) << 52)
}

/// `y 2^k`, rounded once.
#[op]
pub(super) fn scaled(y: f64, k: i32) -> f64 {
    let half = k >> 1;
    y * power(half) * power(k - half)
}

/// `exp(r + low) - 1` for `|r|` of at most `ln 2 / 2`. Even and odd powers are summed apart, so that processors compute both sums at once.
#[op]
pub(super) fn growth(r: f64, low: f64) -> f64 {
    let q = r * r;
    let even = 0.5
        + q * (1.0 / 24.0
            + q * (1.0 / 720.0 + q * (1.0 / 40320.0 + q * (1.0 / 3_628_800.0 + q * (1.0 / 479_001_600.0)))));
    let odd = 1.0 / 6.0
        + q * (1.0 / 120.0
            + q * (1.0 / 5040.0 + q * (1.0 / 362_880.0 + q * (1.0 / 39_916_800.0 + q * (1.0 / 6_227_020_800.0)))));
    r + (low + q * (even + r * odd))
}

/// Added to a number below 2^51, it leaves no room for a fraction: the sum is rounded to a whole number.
const WHOLE: f64 = 6_755_399_441_055_744.0;

/// The multiple of `ln 2` that is nearest to `x`.
#[op]
pub(super) fn doublings(x: f64) -> f64 {
    (x * LOG2_E + WHOLE) - WHOLE
}

/// What is left of `x + low` without `k` times `ln 2`: the number, or its low part.
#[op]
pub(super) fn remainder(x: f64, low: f64, k: f64) -> f64 {
    (x - k * LN2_FIRST) - (k * LN2_REST - low)
}
#[op]
pub(super) fn remainder_low(x: f64, low: f64, k: f64) -> f64 {
    let first = x - k * LN2_FIRST;
    let rest = k * LN2_REST - low;
    (first - (first - rest)) - rest
}

/// `exp(x + low)`.
#[op]
pub(super) fn exp_sum(x: f64, low: f64) -> f64 {
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
pub(super) fn exp(x: f64) -> f64 {
    exp_sum(x, 0.0f64)
}

#[op]
pub(super) fn exp2(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x >= 1024.0 {
        return f64::INFINITY;
    }
    if x < -1075.0 {
        return 0.0;
    }
    let k = (x + WHOLE) - WHOLE;
    let f = x - k;
    let r = f * LN2;
    scaled(1.0 + growth(r, f.mul_add(LN2, -r) + f * LN2_LOW), k as i32)
}

#[op]
pub(super) fn exp_m1(x: f64) -> f64 {
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

/// `tanh x` is `t / (t + 2)`, where `t` is `exp(2x) - 1`.
#[op]
pub(super) fn tanh(x: f64) -> f64 {
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
