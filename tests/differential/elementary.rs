//! Elementary functions have the same bits on every device: over all 16-bit floats, and over random numbers of 32 and 64 bits.
//!
//! `VXM_TEST_ALL=1` takes ten million numbers of each type.

use crate::algebra::mix;
use crate::harness::{agree, on_device};
use half::{bf16, f16};
use vxm::prelude::*;
use vxm::semiring::lowered::Float;

macro_rules! operators {
    ($($name:ident)*) => {$(
        #[op]
        fn $name<T: Float>(a: T) -> T {
            a.$name()
        }
    )*};
}
operators!(exp exp2 exp_m1 ln ln_1p log2 log10 tanh sin cos);

#[op]
fn powf<T: Float>(a: T, b: T) -> T {
    a.powf(b)
}
#[op]
fn fused<T: Float>(a: T, b: T) -> T {
    a.mul_add(b, a).round().copysign(b)
}
#[op]
fn bits_of(a: f32) -> u32 {
    f32::from_bits(a.to_bits() ^ 1).to_bits()
}

/// Compares every function over these numbers with what the host computes.
fn same_bits<T: Float>(values: Vec<T>) {
    let held = Vector::from_dense(values.clone());
    let other = Vector::from_dense(values.iter().rev().copied().collect());
    macro_rules! check {
        ($($name:ident)*) => {$(
            let expected: Vec<_> = values.iter().map(|x| Some($name.call(*x))).collect();
            let found = on_device(|| held.map($name).eval()).unwrap();
            agree((stringify!($name), T::NAME), &expected, &found).unwrap_or_else(|error| panic!("{error}"));
        )*};
    }
    check!(exp exp2 exp_m1 ln ln_1p log2 log10 tanh sin cos);
    let pairs = || values.iter().zip(values.iter().rev());
    let expected: Vec<_> = pairs().map(|(x, y)| Some(powf.call(*x, *y))).collect();
    let found = on_device(|| held.ewise_mult(&other, powf).eval()).unwrap();
    agree(("powf", T::NAME), &expected, &found).unwrap_or_else(|error| panic!("{error}"));
    let expected: Vec<_> = pairs().map(|(x, y)| Some(fused.call(*x, *y))).collect();
    let found = on_device(|| held.ewise_mult(&other, fused).eval()).unwrap();
    agree(("mul_add", T::NAME), &expected, &found).unwrap_or_else(|error| panic!("{error}"));
}

/// How many numbers of a type: the tests' own build isn't optimised.
fn count() -> u64 {
    if std::env::var("VXM_TEST_ALL").is_ok_and(|all| all == "1") { 10_000_000 } else { 20_000 }
}

#[test]
fn small_floats() {
    same_bits((0..=u16::MAX).map(f16::from_bits).collect());
    same_bits((0..=u16::MAX).map(bf16::from_bits).collect());
}

#[test]
fn singles() {
    let any = |k: u64| f32::from_bits(mix(k) as u32);
    let near = |k: u64| (mix(k) >> 40) as f32 / 65536.0 - 128.0;
    let values: Vec<f32> = (0..count()).map(|k| if k % 2 == 0 { any(k) } else { near(k) }).collect();
    let expected: Vec<_> = values.iter().map(|x| Some(bits_of.call(*x))).collect();
    let found = on_device(|| Vector::from_dense(values.clone()).map(bits_of).eval()).unwrap();
    agree("bits", &expected, &found).unwrap_or_else(|error| panic!("{error}"));
    same_bits(values);
}

#[test]
fn doubles() {
    let any = |k: u64| f64::from_bits(mix(k));
    let near = |k: u64| (mix(k) >> 11) as f64 / (1u64 << 43) as f64 - 512.0;
    same_bits((0..count()).map(|k| if k % 2 == 0 { any(k) } else { near(k) }).collect());
}
