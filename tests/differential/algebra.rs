//! Elements made from random bits, and operators that the library does not have.

use half::f16;
use vxm::prelude::*;
use vxm::semiring::{KernelText, Source};

/// The mixing function of SplitMix64, a permutation of the 64-bit words.
pub fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// An element type with values that can be made from random bits.
pub trait Sample: Element {
    /// A value made from `bits`, mostly small. Only if the lowest bit is set, it may be an extreme value or NaN.
    fn sample(bits: u64) -> Self;
    /// The operation of [`Join::Plus`].
    fn plus(self, other: Self) -> Self;
    /// The operation of [`Join::Max`].
    fn greater(self, other: Self) -> Self;
}

fn one_of<T: Copy>(bits: u64, extremes: &[T]) -> Option<T> {
    let wild = bits & 0b111 == 1;
    wild.then(|| extremes[(bits >> 8) as usize % extremes.len()])
}

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl Sample for $t {
            fn sample(bits: u64) -> Self {
                one_of(bits, &[<$t>::MIN, <$t>::MAX, 0, 1]).unwrap_or((bits >> 8) as $t % 7)
            }
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn greater(self, other: Self) -> Self {
                MAX.call(self, other)
            }
        }
    )*};
}
integers!(u8, u16, u32, u64, i32, i64);

macro_rules! floats {
    ($($t:ty: $from:expr;)*) => {$(
        impl Sample for $t {
            fn sample(bits: u64) -> Self {
                let from: fn(f32) -> $t = $from;
                let extremes = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-7, 65504.0].map(from);
                // numbers of mixed magnitudes, so that sums depend on their order
                let number = ((bits >> 8) as i16 >> 4) as f32 / [1.0, 64.0, 3.0, 4096.0][(bits >> 40) as usize % 4];
                one_of(bits, &extremes).unwrap_or(from(number))
            }
            fn plus(self, other: Self) -> Self {
                PLUS.call(self, other)
            }
            fn greater(self, other: Self) -> Self {
                MAX.call(self, other)
            }
        }
    )*};
}
floats! { f32: |x| x; f64: f64::from; f16: f16::from_f32; }

impl Sample for bool {
    fn sample(bits: u64) -> Self {
        bits >> 8 & 1 == 1
    }
    fn plus(self, other: Self) -> Self {
        self ^ other
    }
    fn greater(self, other: Self) -> Self {
        self | other
    }
}

impl Sample for () {
    fn sample(_: u64) {}
    fn plus(self, (): ()) {}
    fn greater(self, (): ()) {}
}

/// An accumulator that is chosen at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    Plus,
    Max,
    First,
    Second,
}

impl Source for Join {
    fn source(self, text: &mut KernelText) -> String {
        text.prelude();
        // the operations of `Sample`, also for `bool` and `()`, which the built-in operators don't take
        let joins = "template <class T> VXM_FN T join_plus(T a, T b) { return vxm::add(a, b); }\n\
                     VXM_FN bool join_plus(bool a, bool b) { return a != b; }\n\
                     VXM_FN vxm_unit join_plus(vxm_unit a, vxm_unit) { return a; }\n\
                     template <class T> VXM_FN T join_max(T a, T b) { return vxm::max(a, b); }\n\
                     VXM_FN bool join_max(bool a, bool b) { return a || b; }\n\
                     VXM_FN vxm_unit join_max(vxm_unit a, vxm_unit) { return a; }";
        text.define("join", joins);
        match self {
            Self::Plus => "join_plus".to_owned(),
            Self::Max => "join_max".to_owned(),
            Self::First => FIRST.source(text),
            Self::Second => SECOND.source(text),
        }
    }
}

impl<T: Sample> BinaryOp<T, T> for Join {
    type Out = T;
    fn call(self, a: T, b: T) -> T {
        match self {
            Self::Plus => a.plus(b),
            Self::Max => a.greater(b),
            Self::First => a,
            Self::Second => b,
        }
    }
}

/// Composition of affine functions `x -> (a * x + b) mod 256`, packed as `a << 8 | b`. It is associative, exact and not commutative, so
/// any change of order changes the result.
#[derive(Debug, Clone, Copy)]
pub struct Compose;

impl Source for Compose {
    fn source(self, text: &mut KernelText) -> String {
        composed.source(text)
    }
}

#[op]
fn composed(f: u16, g: u16) -> u16 {
    let a: u16 = f >> 8;
    (a * (g >> 8)) << 8 | (a * (g & 255u16) + f) & 255u16
}

impl BinaryOp<u16, u16> for Compose {
    type Out = u16;
    fn call(self, f: u16, g: u16) -> u16 {
        let ([a, b], [c, d]) = (f.to_be_bytes(), g.to_be_bytes());
        u16::from_be_bytes([a.wrapping_mul(c), a.wrapping_mul(d).wrapping_add(b)])
    }
}

impl Monoid<u16> for Compose {
    const IDENTITY: u16 = 0x0100;
}

/// A monoid that is neither associative nor commutative and declared inexact: any tree but the fixed one gives other bits.
#[derive(Debug, Clone, Copy)]
pub struct Tangle;

impl Source for Tangle {
    fn source(self, text: &mut KernelText) -> String {
        tangled.source(text)
    }
}

#[op]
fn tangled(a: u32, b: u32) -> u32 {
    ((a << 7 | a >> 25) ^ b) * 0x9e37_79b1
}

impl BinaryOp<u32, u32> for Tangle {
    type Out = u32;
    fn call(self, a: u32, b: u32) -> u32 {
        (a.rotate_left(7) ^ b).wrapping_mul(0x9e37_79b1)
    }
}

impl Monoid<u32> for Tangle {
    const IDENTITY: u32 = 0;
    const EXACT: bool = false;
}

/// A multiplication for [`Compose`]: makes an affine function of a vector's element and a matrix's entry.
#[op]
pub fn affine(x: u16, entry: u16) -> u16 {
    ((x * 31 + 3) << 8) | (entry & 255)
}

/// A user-defined multiplication that is not commutative and depends on all bits of both operands.
#[op]
pub fn blend(x: u32, entry: u32) -> u32 {
    let y: u32 = x * 0x9e37_79b9 + entry;
    y ^ (y >> 15)
}

/// Combines a vertex's element and the best of its neighbours.
#[op]
pub fn decide(own: u32, best: u32) -> u32 {
    if best > own { best - 1 } else { own * 3 }
}

/// A ternary operator.
#[op]
pub fn blend3(x: u32, y: u32, z: u32) -> u32 {
    (x << 2) ^ (y * 5) ^ z
}

/// Combines an element with its index.
#[op]
pub fn stamp(i: u32, x: u32) -> u32 {
    i * 16 + x
}

/// Whether an element differs in parity from its index.
#[op]
pub fn odd_place(i: u32, x: u32) -> bool {
    (i ^ x) & 1 == 1
}

/// Combines an entry with its row and column.
#[op]
pub fn stamp2(i: u32, j: u32, x: u32) -> u32 {
    (i << 16) ^ (j << 4) ^ x
}
