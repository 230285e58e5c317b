//! Tests that every built-in semiring keeps its laws over every type it is meant for. Laws that fail are declared here, and do fail.

use half::{bf16, f16};
use vxm_semiring::laws::{self, DISTRIBUTIVITY, Law, Sample};
use vxm_semiring::*;

const NONE: &[Law] = &[];
const VECTOR: &[Law] = &[Law::DistributesOverVector];
const MATRIX: &[Law] = &[Law::DistributesOverMatrix];

/// Checks semirings over each type of a named set, as both `X` and `A`. `pattern` takes each number type as `X` and `()` as `A`.
macro_rules! laws {
    ($($set:ident { $($semiring:ident $(($exceptions:expr))?;)* })*) => {$($(
        laws!(@$set $semiring, { let _none = NONE; $(let _none = $exceptions;)? _none });
    )*)*};
    (@numbers $s:ident, $e:expr) => { laws!(@integers $s, $e); laws!(@floats $s, $e); };
    (@integers $s:ident, $e:expr) => { laws!(@each $s, $e, i8 i16 i32 i64 u8 u16 u32 u64); };
    (@floats $s:ident, $e:expr) => { laws!(@each $s, $e, f16 bf16 f32 f64); };
    (@bool $s:ident, $e:expr) => { laws!(@each $s, $e, bool); };
    (@scalars $s:ident, $e:expr) => { laws!(@numbers $s, $e); laws!(@bool $s, $e); };
    (@pattern $s:ident, $e:expr) => {
        laws!(@unit $s, $e, i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64);
    };
    (@unit $s:ident, $e:expr, $($t:ty)*) => {$( keeps::<$t, (), _>($s, $e); )*};
    (@each $s:ident, $e:expr, $($t:ty)*) => {$( keeps::<$t, $t, _>($s, $e); )*};
}

fn keeps<X: Sample, A: Sample, S: Semiring<X, A, Out: Sample>>(semiring: S, exceptions: &[Law]) {
    laws::check_except::<X, A, S>(semiring, exceptions).unwrap();
}

#[test]
fn arithmetic_semirings() {
    laws! {
        numbers { PLUS_TIMES; }
        // `first` ignores the entry, so `a * (b + c)` is `a`, but `a * b + a * c` is `a + a`
        integers {
            PLUS_FIRST (MATRIX); PLUS_SECOND (VECTOR); TIMES_FIRST (MATRIX); TIMES_SECOND (VECTOR);
            PLUS_MIN (DISTRIBUTIVITY); PLUS_MAX (DISTRIBUTIVITY); TIMES_PLUS (DISTRIBUTIVITY);
        }
        // float sums and products are not associative, so distributivity is not required
        floats {
            PLUS_FIRST; PLUS_SECOND; TIMES_FIRST; TIMES_SECOND; PLUS_MIN; PLUS_MAX; TIMES_PLUS;
        }
        pattern { PLUS_TIMES;  }
    }
}

#[test]
fn order_semirings() {
    laws! {
        scalars { MIN_FIRST; MIN_SECOND; MAX_FIRST; MAX_SECOND; }
        // floats: `min` and `max` drop NaN, but at different places on the two sides
        integers { MIN_MAX; MAX_MIN; }
        bool { MIN_MAX; MAX_MIN; }
        floats { MIN_MAX (DISTRIBUTIVITY); MAX_MIN (DISTRIBUTIVITY); }
        // integers: wrapping does not keep the order; floats: `inf - inf`, and negative factors
        numbers {
            MIN_PLUS (DISTRIBUTIVITY); MAX_PLUS (DISTRIBUTIVITY);
            MIN_TIMES (DISTRIBUTIVITY); MAX_TIMES (DISTRIBUTIVITY);
        }
        pattern { MIN_FIRST; MAX_FIRST; MAX_TIMES; MIN_TIMES; }
    }
}

#[test]
fn boolean_and_bit_semirings() {
    laws! {
        bool { LOR_LAND; LAND_LOR; LXOR_LAND; LOR_FIRST; LOR_SECOND; }
        integers { BOR_FIRST; BOR_SECOND; BOR_BAND; BAND_BOR; BXOR_BAND; }
        scalars { LOR_PAIR; ANY_PAIR; ANY_FIRST; ANY_SECOND; }
        pattern { LOR_PAIR; ANY_PAIR; ANY_FIRST; ANY_SECOND; }
    }
    keeps::<i64, f64, _>(PLUS_PAIR, NONE);
    keeps::<u32, u32, _>(PLUS_PAIR, DISTRIBUTIVITY);
    keeps::<bool, (), _>(LOR_LAND, NONE);
    keeps::<(), (), _>(LOR_LAND, NONE);
    keeps::<(), f32, _>(ANY_SECOND, NONE);
    keeps::<(), (), _>(ANY_FIRST, NONE);
    keeps::<(), (), _>(semiring(PLUS, Pair::<f16>::new()), NONE);
}

/// `PLUS` with a pattern's entry is `level + 1`, which distributes over `min` except where it wraps.
#[test]
fn a_step_over_a_pattern_distributes_but_where_it_wraps() {
    keeps::<u32, (), _>(MIN_PLUS, VECTOR);
    keeps::<f32, (), _>(MIN_PLUS, NONE);
}

#[test]
fn monoids_without_a_semiring() {
    laws::check_monoid::<bool, _>(LXNOR).unwrap();
    laws::check_monoid::<u16, _>(BXNOR).unwrap();
    laws::check_monoid::<(), _>(ANY).unwrap();
}

#[test]
fn reports_tell_what_is_not_required() {
    let report = laws::check::<u32, u32, _>(PLUS_TIMES).unwrap();
    assert!(report.holds(Law::Annihilation) && report.holds(Law::Commutativity));
    let report = laws::check::<f64, f64, _>(PLUS_TIMES).unwrap();
    assert!(!report.holds(Law::Associativity) && !report.holds(Law::Annihilation));
    let report = laws::check_monoid::<u8, _>(ANY).unwrap();
    assert!(!report.holds(Law::Commutativity));
}

/// The mean of two numbers: commutative, but not associative.
#[op]
fn mean(a: u32, b: u32) -> u32 {
    (a & b) + ((a ^ b) >> 1)
}
impl Monoid<u32> for mean {
    const IDENTITY: u32 = 0;
}

/// Breaks associativity only far from all extreme values, so only generated values show it.
#[op]
fn nearly(a: u32, b: u32) -> u32 {
    if a > 1_000_000 && a < 2_000_000_000 && b == 0 { a - 1 } else { a.max(b) }
}
impl Monoid<u32> for nearly {
    const IDENTITY: u32 = 0;
}

/// Declares a terminal value that is not terminal.
#[op]
fn capped(a: u8, b: u8) -> u8 {
    a.max(b)
}
impl Monoid<u8> for capped {
    const IDENTITY: u8 = 0;
    const TERMINAL: Option<u8> = Some(200);
}

#[test]
fn counterexamples_are_small_and_named() {
    let violation = laws::check_monoid::<u32, _>(mean).unwrap_err();
    insta::assert_snapshot!(violation, @"mean over u32: Associativity: (a + b) + c == a + (b + c) fails with a = 0, b = 0, c = 2: 1 is not 0 (VXM_LAWS_SEED=0)");
    let violation = laws::check_monoid::<u8, _>(capped).unwrap_err();
    insta::assert_snapshot!(violation, @"capped over u8: Terminal: t + a == t fails with a = 255: 255 is not 200 (VXM_LAWS_SEED=0)");
    let violation = laws::check_monoid::<u32, _>(nearly).unwrap_err();
    assert_eq!(violation.law(), Law::Associativity);
    assert!(violation.to_string().contains("a = 1000001"), "{violation}");
}

#[test]
fn a_needless_exception_is_an_error() {
    let violation = laws::check_except::<u32, u32, _>(PLUS_TIMES, &[Law::Repeat]).unwrap_err();
    assert_eq!(violation.law(), Law::Repeat);
}

/// The lesser of two numbers, with an identity that it doesn't have.
#[op]
fn lesser(a: u8, b: u8) -> u8 {
    a.min(b)
}
impl Monoid<u8> for lesser {
    const IDENTITY: u8 = 9;
}

/// The greater of two numbers, which isn't the same again if it is repeated.
#[op]
fn greater(a: u8, b: u8) -> u8 {
    a.max(b)
}
impl Monoid<u8> for greater {
    const IDENTITY: u8 = 0;
    fn repeat(self, value: u8, times: u64) -> u8 {
        value.saturating_add(u8::from(times == 2))
    }
}

/// The first number that isn't 0, which is said to be the same in any order.
#[op]
fn former(a: u8, b: u8) -> u8 {
    if a == 0 { b } else { a }
}
impl Monoid<u8> for former {
    const IDENTITY: u8 = 0;
    const COMMUTATIVE: bool = true;
}

/// Returns its first operand, and says that it always returns 7.
#[derive(Debug, Clone, Copy)]
struct Seven;

impl Source for Seven {
    fn source(self, _: &mut KernelText) -> String {
        "seven".to_owned()
    }
}
impl BinaryOp<u8, u8> for Seven {
    type Out = u8;
    const CONSTANT: Option<u8> = Some(7);
    fn call(self, a: u8, _: u8) -> u8 {
        a
    }
}

#[test]
fn each_law_is_seen_to_break() {
    assert_eq!(laws::check_monoid::<u8, _>(lesser).unwrap_err().law(), Law::Identity);
    assert_eq!(laws::check_monoid::<u8, _>(greater).unwrap_err().law(), Law::Repeat);
    assert_eq!(laws::check_monoid::<u8, _>(former).unwrap_err().law(), Law::Commutativity);
    assert_eq!(laws::check::<u8, u8, _>(semiring(MAX, Seven)).unwrap_err().law(), Law::Constant);
    // `a + b` for `(a + b) * c`, and for `a * (b + c)`
    assert_eq!(laws::check::<u32, u32, _>(PLUS_SECOND).unwrap_err().law(), Law::DistributesOverVector);
    assert_eq!(laws::check::<u32, u32, _>(PLUS_FIRST).unwrap_err().law(), Law::DistributesOverMatrix);
}
