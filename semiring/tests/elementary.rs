//! Tests of the elementary functions against those of the standard library, which are within one unit in the last place of `f64`.
//!
//! `VXM_TEST_ALL=1` takes all 2^32 operands of type `f32`: ten minutes in a release build.

use vxm_semiring::lowered;

/// A function of one operand: its name, ours over both floats, and the standard library's.
type Function = (&'static str, fn(f32) -> f32, fn(f64) -> f64, fn(f64) -> f64);

macro_rules! functions {
    ($($name:ident)*) => { [$((stringify!($name), lowered::$name::<f32>, lowered::$name::<f64>, f64::$name)),*] };
}
const FUNCTIONS: [Function; 10] = functions!(exp exp2 exp_m1 ln ln_1p log2 log10 tanh sin cos);

/// The number of floats between two of one sign.
fn apart(a: f64, b: f64) -> u64 {
    if a == b || a.is_nan() && b.is_nan() { 0 } else { a.to_bits().abs_diff(b.to_bits()) }
}

/// Operands of type `f64` over the whole range, and around 0 and 1, where functions are hard.
fn operands(count: u64) -> impl Iterator<Item = f64> {
    let mix = |k: u64| k.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..count).flat_map(move |k| {
        let unit = (mix(k) >> 11) as f64 / (1u64 << 53) as f64;
        [f64::from_bits(mix(k)), unit * 2.0 - 1.0, (unit - 0.5) * 1490.0, 1.0 + (unit - 0.5) * 1e-3, unit * 1e7]
    })
}

#[test]
fn doubles_are_near_the_standard_library() {
    for (name, _, ours, standard) in FUNCTIONS {
        let worst = operands(20_000).map(|x| (apart(ours(x), standard(x)), x)).max_by_key(|(far, _)| *far).unwrap();
        assert!(worst.0 <= 3, "{name} of {:e}: {:e} instead of {:e}", worst.1, ours(worst.1), standard(worst.1));
    }
    for (x, y) in operands(4000).zip(operands(4001).skip(3)) {
        let (base, power) = (x.abs(), y % 300.0);
        let (ours, standard) = (lowered::powf(base, power), base.powf(power));
        assert!(apart(ours, standard) <= 1, "{base:e} to the power of {power:e}: {ours:e} instead of {standard:e}");
    }
}

/// A result of type `f32` is rounded rightly, unless the exact value is so near the middle of two floats that `f64` can't tell.
#[test]
fn singles_are_rounded_once() {
    let all = std::env::var("VXM_TEST_ALL").is_ok_and(|all| all == "1");
    let step = if all { 1 } else { 9973 };
    for (name, ours, _, standard) in FUNCTIONS {
        for bits in (0..=u32::MAX).step_by(step) {
            let x = f32::from_bits(bits);
            let (found, wide) = (ours(x), standard(f64::from(x)));
            let ends = [1.0 - 4.5e-16, 1.0 + 4.5e-16].map(|near| (wide * near) as f32);
            let right = wide.is_nan() && found.is_nan() || wide.is_infinite() && f64::from(found) == wide;
            assert!(right || found == ends[0] || found == ends[1], "{name} of {x:e}: {found:e}, not {:e}", ends[0]);
        }
    }
}

/// Where the exact value is a float, it is the result.
#[test]
fn exact_values() {
    for k in -1074..1024 {
        let x = 2f64.powi(k / 2) * 2f64.powi(k - k / 2);
        assert_eq!((lowered::exp2(f64::from(k)), lowered::log2(x)), (x, f64::from(k)));
    }
    let mut ten = 1.0;
    for k in 0..23 {
        assert_eq!((lowered::log10(ten), lowered::powf(10.0, f64::from(k))), (f64::from(k), ten));
        ten *= 10.0;
    }
    for x in 1..2000u32 {
        let (x, square) = (f64::from(x), f64::from(x * x));
        assert_eq!(
            (lowered::powf(x, 2.0), lowered::powf(-x, 3.0), lowered::powf(square, 0.5)),
            (square, -square * x, x)
        );
    }
    assert_eq!((lowered::exp(0.0f32), lowered::ln(1.0f32), lowered::cos(0.0f32)), (1.0, 0.0, 1.0));
    assert_eq!(lowered::sin(-0.0f64).to_bits(), (-0.0f64).to_bits());
    // an angle that Cody and Waite's reduction can't hold
    assert_eq!(lowered::sin(1e22f64), -0.8522008497671888);
}

#[test]
fn infinities_zeros_and_nan() {
    let specials = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.0,
        -2.0,
        3.0,
        -3.0,
        1e300,
        -1e300,
        5e-324,
        -5e-324,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];
    let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan() || apart(a, b) <= 2 && a != 0.0;
    for (name, _, ours, standard) in FUNCTIONS {
        for x in specials.into_iter().chain([f64::NAN]) {
            assert!(same(ours(x), standard(x)), "{name} of {x:e}: {:e} instead of {:e}", ours(x), standard(x));
        }
    }
    for x in specials {
        for y in specials {
            let (ours, standard) = (lowered::powf(x, y), x.powf(y));
            assert!(same(ours, standard), "{x:e} to the power of {y:e}: {ours:e} instead of {standard:e}");
        }
        assert!(lowered::powf(f64::NAN, x).is_nan() == (x != 0.0) && lowered::powf(x, f64::NAN).is_nan() == (x != 1.0));
    }
}
