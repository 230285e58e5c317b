//! `sin` and `cos`.

use super::FRACTION;
use super::exponentials::power;
use crate::op;

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

/// 64 bits of `2/π`, after a word of zeros.
#[op]
pub(super) fn two_over_pi(word: u32) -> u64 {
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
pub(super) fn two_over_pi_from(bit: u32) -> u64 {
    let (word, shift) = (bit >> 6, bit & 63);
    two_over_pi(word) << shift | (two_over_pi(word + 1) >> 1) >> (63 - shift)
}

/// The upper half of a product.
#[op]
pub(super) fn upper_product(a: u64, b: u64) -> u64 {
    let (a1, a0, b1, b0) = (a >> 32, a & 0xffff_ffff, b >> 32, b & 0xffff_ffff);
    let middle = a1 * b0 + (a0 * b0 >> 32);
    let other = a0 * b1 + (middle & 0xffff_ffff);
    a1 * b1 + (middle >> 32) + (other >> 32)
}

/// The sine of `x` and `quarter` quarters of a turn.
#[op]
pub(super) fn sine(x: f64, quarter: u32) -> f64 {
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
pub(super) fn sin(x: f64) -> f64 {
    sine(x, 0u32)
}

#[op]
pub(super) fn cos(x: f64) -> f64 {
    sine(x, 1u32)
}
