//! Functions that a mathematician would write, as operators: on a device the same bits as the call on the host.

use crate::algebra::{Sample, mix};
use crate::harness::{agree, on_device};
use half::f16;
use vxm::prelude::*;

/// A complex number.
#[scalar]
pub struct Complex {
    re: f32,
    im: f32,
}
impl Sample for Complex {
    fn sample(bits: u64) -> Self {
        Complex { re: f32::sample(bits), im: f32::sample(mix(bits)) }
    }
    fn plus(self, other: Self) -> Self {
        Complex { re: self.re + other.re, im: self.im + other.im }
    }
    fn greater(self, _: Self) -> Self {
        self
    }
}

/// A value and the place that it was found at.
#[scalar]
pub struct Found {
    value: f32,
    place: u32,
}
impl Sample for Found {
    fn sample(bits: u64) -> Self {
        Found { value: f32::sample(bits), place: u32::sample(mix(bits)) }
    }
    fn plus(self, other: Self) -> Self {
        argmax(self, other)
    }
    fn greater(self, other: Self) -> Self {
        argmax(self, other)
    }
}

#[op]
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}
#[op]
fn sigmoid<T: Float>(x: T) -> T {
    T::ONE / (T::ONE + (-x).exp())
}
#[op]
fn log_sum_exp<T: Float>(a: T, b: T) -> T {
    let (high, low) = if a > b { (a, b) } else { (b, a) };
    if low == T::LEAST {
        return high;
    }
    high + (low - high).exp().ln_1p()
}
#[op]
fn argmax(a: Found, b: Found) -> Found {
    if b.value > a.value || b.value == a.value && b.place < a.place { b } else { a }
}
/// Seconds on a road of a kind, or none.
#[op]
fn seconds(kind: u8, metres: u32) -> u32 {
    let speed = match kind {
        0 => return u32::MAX,
        1..=3 => 30,
        4 | 5 => 14,
        n if n > 200 => 1,
        _ => 8u32,
    };
    metres / speed + (metres % speed).min(1)
}
#[op]
fn smoothstep(x: f32, edge: f32) -> f32 {
    let t = (x / edge).clamp(0.0, 1.0);
    t * t * (-2.0f32).mul_add(t, 3.0)
}
#[op]
fn interleave(x: u16, y: u16) -> u32 {
    spread(x) | spread(y) << 1
}
#[op]
fn spread(x: u16) -> u32 {
    let mut bits = x as u32;
    bits = (bits | bits << 8) & 0x00ff_00ff;
    bits = (bits | bits << 4) & 0x0f0f_0f0f;
    bits = (bits | bits << 2) & 0x3333_3333;
    (bits | bits << 1) & 0x5555_5555
}
#[op]
fn product(a: Complex, b: Complex) -> Complex {
    Complex { re: a.re * b.re - a.im * b.im, im: a.re.mul_add(b.im, a.im * b.re) }
}
#[op]
fn modulus(a: Complex) -> f32 {
    let (high, low) = (a.re.abs().max(a.im.abs()), a.re.abs().min(a.im.abs()));
    if high == 0.0 {
        return 0.0;
    }
    high * (low / high).mul_add(low / high, 1.0).sqrt()
}
#[op]
fn polar(radius: f32, angle: f32) -> Complex {
    Complex { im: radius * angle.sin(), re: radius * angle.cos() }
}
#[op]
fn entropy(p: f64) -> f64 {
    match p > 0.0 {
        true => -p * p.log2(),
        false => 0.0,
    }
}
#[op]
fn gaussian(distance: f32, width: f32) -> f32 {
    let z = distance / width;
    (-0.5 * z * z).exp() / (width * 2.506_628_3)
}
/// A step of the greatest common divisor: the greater number less the lesser, in signs of their own.
#[op]
fn euclid(a: i32, b: i32) -> u32 {
    match (a.abs_diff(0), b.abs_diff(0)) {
        (0, n) => n,
        (n, 0) => n,
        (x, y) if x >= y => x % y,
        (x, y) => y % x,
    }
}
/// The distance of two floats in units in the last place.
#[op]
fn steps_apart(a: f32, b: f32) -> u32 {
    ordered(a).abs_diff(ordered(b))
}
#[op]
fn ordered(a: f32) -> i32 {
    let bits = a.to_bits() as i32;
    if bits < 0 { i32::MIN - bits } else { bits }
}
#[op]
fn annealed(gain: f16, heat: f16) -> bool {
    gain.to_f32() > 0.0 || (gain / heat).exp().to_f32() > 0.5
}

const COUNT: u64 = 3000;

/// Compares an operator over vectors with the call.
fn check<A: Sample, B: Sample, F: BinaryOp<A, B>>(op: F) {
    let first: Vec<A> = (0..COUNT).map(|k| A::sample(mix(k))).collect();
    let second: Vec<B> = (0..COUNT).map(|k| B::sample(mix(k ^ 0x5555))).collect();
    let expected: Vec<_> = first.iter().zip(&second).map(|(a, b)| Some(op.call(*a, *b))).collect();
    let found = on_device(|| Vector::from_dense(first).ewise_mult(&Vector::from_dense(second), op).eval()).unwrap();
    agree(std::any::type_name::<F>(), &expected, &found).unwrap_or_else(|error| panic!("{error}"));
}

/// The same of one operand.
fn check_one<A: Sample, F: UnaryOp<A>>(op: F) {
    let values: Vec<A> = (0..COUNT).map(|k| A::sample(mix(k))).collect();
    let expected: Vec<_> = values.iter().map(|a| Some(op.call(*a))).collect();
    let found = on_device(|| Vector::from_dense(values).map(op).eval()).unwrap();
    agree(std::any::type_name::<F>(), &expected, &found).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn a_mathematicians_functions() {
    check_one::<f64, _>(softplus);
    check_one::<f32, _>(sigmoid);
    check_one::<f16, _>(sigmoid);
    check_one::<f64, _>(entropy);
    check_one::<Complex, _>(modulus);
    check::<f32, f32, _>(log_sum_exp);
    check::<f64, f64, _>(log_sum_exp);
    check::<Found, Found, _>(argmax);
    check::<u8, u32, _>(seconds);
    check::<f32, f32, _>(smoothstep);
    check::<u16, u16, _>(interleave);
    check::<Complex, Complex, _>(product);
    check::<f32, f32, _>(polar);
    check::<f32, f32, _>(gaussian);
    check::<i32, i32, _>(euclid);
    check::<f32, f32, _>(steps_apart);
    check::<f16, f16, _>(annealed);
}
