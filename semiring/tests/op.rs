//! Tests of operators that `#[op]` makes: what they compute, and their CUDA C++ text.

use half::f16;
use proptest::prelude::*;
use vxm_semiring::lowered::PRELUDE;
use vxm_semiring::{BinaryOp, Bind, KernelText, MIN, Monoid, PAIR, PLUS, Source, TRIL, TernaryOp, UnaryOp, op};

const IN: u32 = u32::MAX;
const OUT: u32 = 0;

mod limits {
    pub const HALF: f32 = 0.5;
}

/// The decision of a vertex in a maximal independent set.
#[op]
pub fn decide(own: u32, best: u32) -> u32 {
    if best == IN {
        OUT
    } else if own > best {
        IN
    } else {
        own
    }
}

/// Every kind of statement, names that are keywords in C++, and shadowing.
#[op]
fn mix(new: u32, class: u32) -> u32 {
    let mut x: u32 = new ^ (class >> 16);
    x = x * 0x7feb_352d;
    x ^= x >> 15;
    let y: u64 = {
        let low: u64 = x as u64 + 1;
        low * low
    };
    let x: u32 = (y >> 7) as u32 | x;
    if x & 1 == 0 {
        let up: u32 = x.rotate_left(5);
        up + 3
    } else {
        x - decide(class, new)
    }
}

/// Conditional assignments, and small integers, which C++ would promote.
#[op]
fn small(a: u8, b: i16) -> i16 {
    let mut s: u8 = a + a;
    if b < 0 && !(s > 200) || s == 7 {
        s -= 9;
        if s.count_ones() > 4 {
            s <<= 1;
        }
    } else {
        s = -(a as i8) as u8;
    }
    (s as i16 * b).min(1000).wrapping_sub(i16::MIN)
}

/// Floats, a constant in a module, a built-in operator.
#[op]
fn relax(own: f32, step: f32, weight: f32) -> f32 {
    let sum: f32 = step + weight.abs() * limits::HALF - -1.5;
    let bound: f32 = if sum.is_nan() { f32::INFINITY } else { sum.sqrt() };
    MIN(own, bound).max(f32::from_f32(0.25) / own)
}

/// An operand that is the entry of a pattern.
#[op]
fn hop(level: i64, _: ()) -> i64 {
    level.saturating_add(1)
}

/// Half precision.
#[op]
fn halves(a: f16, b: half::bf16) -> f16 {
    let c: f16 = b as f16;
    if a < c { a * c } else { (a.to_f32() + 0.1f32) as f16 }
}

/// The greater length: an operator that is a monoid.
#[op]
fn longest(a: u32, b: u32) -> u32 {
    a.max(b)
}
impl Monoid<u32> for longest {
    const IDENTITY: u32 = 0;
}

fn text(op: impl Source) -> String {
    let mut text = KernelText::new();
    let name = op.source(&mut text);
    format!("{}-> {name}", text.text().replace(PRELUDE, ""))
}

#[test]
fn cuda_text_of_a_decision() {
    insta::assert_snapshot!(text(decide));
}

#[test]
fn cuda_text_of_statements() {
    insta::assert_snapshot!(text(mix));
}

#[test]
fn cuda_text_of_assignments() {
    insta::assert_snapshot!(text(small));
}

#[test]
fn cuda_text_of_floats() {
    insta::assert_snapshot!(text(relax));
}

#[test]
fn cuda_text_of_halves() {
    insta::assert_snapshot!(text(halves));
}

#[test]
fn cuda_text_of_a_pattern() {
    insta::assert_snapshot!(text(hop));
}

#[test]
fn cuda_text_of_built_in_operators() {
    insta::assert_snapshot!(
        [
            text(r#final),
            text(PLUS),
            text(PAIR),
            text(TRIL.offset(-1)),
            text(PLUS.bind(-7i32)),
            text(decide.bind_first(3u32))
        ]
        .join("\n")
    );
}

#[test]
fn one_name_with_two_constants_is_two_functions() {
    mod other {
        const IN: u32 = 7;
        #[vxm_semiring::op]
        pub fn is_in(own: u32) -> bool {
            own == IN
        }
    }
    #[op]
    fn is_in(own: u32) -> bool {
        own == IN
    }
    let mut text = KernelText::new();
    assert_ne!(is_in.source(&mut text), other::is_in.source(&mut text));
    assert_eq!(text.text().matches("VXM_FN bool is_in_").count(), 2);
}

/// Attributes that are kept, `r#` names, an associated function, `mut` parameters, `else if`.
#[deny(unused_variables)]
#[op]
fn r#final(mut r#type: i8, flag: bool, _unused: u64) -> i8 {
    r#type |= 1 << 3;
    if flag ^ true {
        i8::max(r#type, -128)
    } else if r#type == i8::MAX {
        0
    } else {
        !r#type >> 1
    }
}

#[test]
fn a_monoid_in_one_line() {
    assert_eq!(longest.repeat(4, 9), 4);
    assert_eq!(longest(longest::IDENTITY, 3), 3);
}

/// The same functions in plain Rust with explicit wrapping.
mod plain {
    use super::{IN, OUT};

    pub fn decide(own: u32, best: u32) -> u32 {
        if best == IN {
            OUT
        } else if own > best {
            IN
        } else {
            own
        }
    }

    pub fn mix(new: u32, class: u32) -> u32 {
        let mut x = (new ^ (class >> 16)).wrapping_mul(0x7feb_352d);
        x ^= x >> 15;
        let low = u64::from(x).wrapping_add(1);
        let x = (low.wrapping_mul(low) >> 7) as u32 | x;
        match x & 1 {
            0 => x.rotate_left(5).wrapping_add(3),
            _ => x.wrapping_sub(decide(class, new)),
        }
    }

    pub fn small(a: u8, b: i16) -> i16 {
        let mut s = a.wrapping_add(a);
        if b < 0 && s <= 200 || s == 7 {
            s = s.wrapping_sub(9);
            if s.count_ones() > 4 {
                s = s.wrapping_shl(1);
            }
        } else {
            s = (a as i8).wrapping_neg() as u8;
        }
        i16::from(s).wrapping_mul(b).min(1000).wrapping_sub(i16::MIN)
    }
}

proptest! {
    #[test]
    fn lowered_rust_equals_plain_rust(a: u32, b: u32, c: u8, d: i16, near in 0u32..3) {
        for (a, b) in [(a, b), (a, a.wrapping_add(near)), (a, IN - near), (near, a)] {
            prop_assert_eq!(decide(a, b), plain::decide(a, b));
            prop_assert_eq!(mix(a, b), plain::mix(a, b));
        }
        prop_assert_eq!(small(c, d), plain::small(c, d));
        prop_assert_eq!(hop.call(i64::from(a), ()), i64::from(a) + 1);
    }
}

#[test]
fn floats_follow_the_lowered_rules() {
    assert_eq!(relax(4.0, 0.0, 2.75), 2.875f32.sqrt());
    assert_eq!(relax.call(f32::NAN, f32::NAN, 0.0), f32::INFINITY);
    assert_eq!(halves(f16::ONE, half::bf16::from_f32(3.0)), f16::from_f32(3.0));
    assert!(vxm_semiring::GT.bind(3u32).call(4));
    assert_eq!((r#final(0, false, 0), r#final.call(0, true, 0)), (8, -5));
}

/// Operators with names that the macro's generated code might use itself.
mod names {
    use super::*;

    #[op]
    fn a(x: u32, y: u32) -> u32 {
        x + y
    }
    #[op]
    fn text(x: u32, y: u32) -> u32 {
        a(x, y) * 2u32
    }
    #[op]
    fn name(x: u32, y: u32) -> u32 {
        text(x, y) + 1u32
    }
    #[op]
    fn function(x: u32) -> u32 {
        name(x, x)
    }

    #[test]
    fn are_free() {
        assert_eq!(function(3), 13);
        let mut kernel = KernelText::new();
        assert!(function.source(&mut kernel).starts_with("function"));
    }
}

#[op]
fn callee(a: u32) -> u32 {
    a + 1u32
}
#[op]
fn caller(a: u32, b: u32) -> u32 {
    callee(a) * callee(b)
}

/// Literals beside calls, which take their type from them.
#[op]
fn chained(a: u32) -> u32 {
    1 + callee(
        2 * callee(3 + callee(4 + callee(5 * callee(6 + callee(7 + callee(8 * callee(9 + callee(10 + callee(a))))))))),
    )
}

/// Each operand stands in the text once, however deep literals lie.
#[test]
fn a_chain_of_literals_is_as_long_as_its_source() {
    assert_eq!(
        chained(0),
        (0..10).fold(0u32, |x, k| if [8, 5, 2].contains(&(10 - k)) { (10 - k) * (x + 1) } else { 10 - k + x + 1 })
    );
    let length = text(chained).len();
    assert!(length < 2500, "{length} bytes: {}", text(chained));
}

#[op]
fn ping(a: u32) -> u32 {
    if a == 0 { 0 } else { pong(a - 1) }
}
#[op]
fn pong(a: u32) -> u32 {
    ping(a)
}

/// Operators that call each other in a circle have a text that no compiler takes, and says why. On a CPU they run.
#[test]
fn a_circle_of_operators_is_told() {
    assert_eq!(ping(9), 0);
    for _ in 0..2 {
        assert!(text(pong).contains("#error an #[op] calls itself by way of others"));
        assert!(text(ping).contains("#error"));
    }
}

/// An operator's text is made once and cached. Every kernel still gets all of it, callees first, each function once.
#[test]
fn what_is_made_once_is_there_every_time() {
    let texts: Vec<String> = (0..3)
        .map(|_| {
            let mut text = KernelText::new();
            let names = [caller.source(&mut text), callee.source(&mut text), caller.source(&mut text)];
            assert_eq!(names[0], names[2]);
            let text = text.text();
            assert!(names.iter().all(|name| text.matches(&format!("{name}(unsigned")).count() == 1), "{text}");
            assert!(text.find(&names[1]) < text.find(&names[0]), "{text}");
            text
        })
        .collect();
    assert!(texts[0] == texts[1] && texts[1] == texts[2]);
    let together: Vec<String> = std::thread::scope(|scope| {
        let made: Vec<_> = (0..4).map(|_| scope.spawn(|| caller.source(&mut KernelText::new()))).collect();
        made.into_iter().map(|name| name.join().unwrap()).collect()
    });
    assert!(together.windows(2).all(|two| two[0] == two[1]));
}

/// The key of a text contains the names of functions named after a hash of their text, and the text of all others.
#[test]
fn texts_are_told_apart() {
    let signed = |fill: &dyn Fn(&mut KernelText)| {
        let (mut text, mut key) = (KernelText::new(), String::new());
        fill(&mut text);
        text.sign(&mut key);
        key
    };
    let named = |body: &'static str| signed(&|text| text.define("join", body));
    assert_ne!(named("one"), named("other"));
    assert_eq!(named("one"), named("one"));
    let hashed = |body: &'static str| {
        signed(&|text| {
            text.define_hashed("join", |name| format!("{name} {body}"));
        })
    };
    assert_ne!(hashed("one"), hashed("other"));
    assert_ne!(signed(&|text| text.include("one.h")), signed(&|text| text.include("other.h")));
}

/// `constants` appends the bits that `source` makes arguments of, behind those already there.
#[test]
fn constants_are_arguments() {
    fn told<O: Source>(op: O) -> bool {
        let (mut text, mut bits) = (KernelText::after(vec![7]), vec![7]);
        op.source(&mut text);
        let told = op.constants(&mut bits);
        assert!(!told || text.arguments() == bits);
        told
    }
    assert!(told(PLUS) && told(PAIR) && told(caller));
    assert!(told(PLUS.bind(2.5f32)) && told(MIN.bind_first(3u8).bind(-1i64)));
    // the diagonal is part of the text, not a constant
    assert!(!told(TRIL) && !told(TRIL.bind(1u32)));
}
