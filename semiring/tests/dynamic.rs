//! Operators made at run time: what a builder accepts, how programs are shared, and what messages say.

use vxm_semiring::dynamic::{Builder, DynBinary, DynMonoid, DynTernary, DynUnary, Kind, MOST_VALUES, Operand, Program};
use vxm_semiring::laws::{self, Law};
use vxm_semiring::{BinaryOp, Element, KernelText, Monoid, Source, TernaryOp, UnaryOp, lowered, op};

/// The program of one operation on two parameters of a kind.
fn two(name: &str, kind: Kind, operation: &str) -> vxm_semiring::dynamic::Program {
    let mut code = Builder::new(name, &[kind, kind]).unwrap();
    let result = code.call(operation, &[code.parameter(0).unwrap(), code.parameter(1).unwrap()]).unwrap();
    code.finish(result).unwrap()
}

/// The text of the error.
fn refused<T: std::fmt::Debug>(made: Result<T, impl std::fmt::Display>) -> String {
    made.map_err(|e| e.to_string()).unwrap_err()
}

#[test]
fn equal_programs_are_one() {
    assert_eq!(two("least", Kind::U32, "min"), two("least", Kind::U32, "min"));
    assert_ne!(two("least", Kind::U32, "min"), two("least", Kind::I32, "min"));
    assert_ne!(two("least", Kind::U32, "min"), two("other", Kind::U32, "min"));
}

#[test]
fn values_that_nothing_needs_are_left_out() {
    let mut code = Builder::new("plain", &[Kind::U32, Kind::U32]).unwrap();
    let (a, b) = (code.parameter(0).unwrap(), code.parameter(1).unwrap());
    let unused = code.call("mul", &[a, b]).unwrap();
    code.call("add", &[unused, a]).unwrap();
    let least = code.call("min", &[a, b]).unwrap();
    assert_eq!(code.finish(least).unwrap(), two("plain", Kind::U32, "min"));
}

/// Found by `tests/fuzz`: a `bool` of other bits than 1 was returned with these.
#[test]
fn constants_have_the_bits_of_their_value() {
    let constant = |kind, bits| {
        let mut code = Builder::new("constant", &[Kind::U32]).unwrap();
        let result = code.constant(kind, bits, false).unwrap();
        code.finish(result).unwrap().call_bits([0; 3])
    };
    assert_eq!((constant(Kind::Bool, 32), constant(Kind::Bool, 33)), (0, 1));
    assert_eq!((constant(Kind::U8, 0x1ff), constant(Kind::I16, u64::MAX)), (0xff, 0xffff));
    assert_eq!(constant(Kind::F32, 0xffc0_1234), f32::NAN.bits());
}

#[test]
fn what_is_read() {
    let first = |kinds: [Kind; 2]| {
        let code = Builder::new("first", &kinds).unwrap();
        let a = code.parameter(0).unwrap();
        code.finish(a).unwrap()
    };
    let program = first([Kind::F32, Kind::F32]);
    assert!(program.reads(0) && !program.reads(1));
    // what isn't read may be the entry of a pattern
    let op = DynBinary::<u32, (), u32>::new(first([Kind::F32, Kind::Unit])).unwrap();
    assert_eq!(op.call(7, ()), 7);
    let code = Builder::new("second", &[Kind::F32, Kind::Unit]).unwrap();
    assert!(refused(code.parameter(1)).contains("pattern's entry without a value"));
    // a program's result would have no value
    assert!(refused(code.operand(1)).contains("pattern's entry without a value"));
}

#[test]
fn types_must_hold_the_kinds() {
    let least = two("least", Kind::F32, "min");
    assert!(DynBinary::<f32, f32, f32>::new(least).is_ok());
    assert!(DynBinary::<u32, u32, u32>::new(least).is_ok());
    assert_eq!(
        refused(DynBinary::<u64, u32, u32>::new(least)),
        "expected an operator (u64, u32) -> u32, found least(f32, f32) -> f32"
    );
    assert!(refused(DynUnary::<f32, f32>::new(least)).contains("found least(f32, f32) -> f32"));
    assert!(DynBinary::<u32, u32, bool>::new(two("less", Kind::F32, "lt")).is_ok());
    assert!(DynBinary::<u32, u32, u32>::new(two("less", Kind::F32, "lt")).is_ok());
}

#[test]
fn builders_refuse_what_is_wrong() {
    assert!(refused(Builder::new("a b", &[Kind::U32])).contains("expected a name of ASCII letters"));
    assert!(refused(Builder::new("", &[Kind::U32])).contains("expected a name"));
    assert!(refused(Builder::new("f", &[])).contains("0 parameters: expected one to three"));
    assert!(refused(Builder::new("f", &[Kind::U32; 4])).contains("4 parameters"));
    let mut code = Builder::new("f", &[Kind::U32, Kind::F32]).unwrap();
    let (a, b) = (code.parameter(0).unwrap(), code.parameter(1).unwrap());
    assert!(refused(code.parameter(2)).contains("has no parameter 2"));
    assert!(refused(code.operand(2)).contains("has no value 2"));
    assert!(refused(code.call("plus", &[a, b])).contains("calls `plus`, which is none of min, max"));
    assert_eq!(refused(code.call("add", &[a, b])), "`f` calls add(u32, f32): expected (u32, u32)");
    assert_eq!(refused(code.call("add", &[a])), "`f` calls add(u32), which takes two operands");
    assert_eq!(refused(code.call("sqrt", &[a])), "`f` calls sqrt(u32), which takes floats");
    assert_eq!(refused(code.call("pow", &[b, a])), "`f` calls pow(f32, u32), which takes integers");
    assert!(refused(code.cast(a, Kind::Bool)).contains("casts u32 to bool: compare it with 0"));
    assert!(refused(code.cast(a, Kind::Unit)).contains("casts u32 to ()"));
    assert!(refused(code.select(a, b, b)).contains("condition of type u32: expected bool"));
    let test = code.call("is_nan", &[b]).unwrap();
    assert!(refused(code.select(test, a, b)).contains("chooses between u32 and f32"));
    assert!(refused(code.constant(Kind::Unit, 0, false)).contains("constant `()`"));
    let other = Builder::new("g", &[Kind::U32]).unwrap();
    assert!(refused(other.finish(test)).contains("has no value"));
    let mut sum = a;
    let error = loop {
        let one = code.constant(Kind::U32, sum.number() as u64, false);
        match one.and_then(|one| code.call("add", &[sum, one])) {
            Ok(next) => sum = next,
            Err(e) => break e.to_string(),
        }
    };
    assert!(error.contains(&format!("more than {MOST_VALUES} values")));
}

/// Long programs run in the interpreter's larger register files.
#[test]
fn long_programs() {
    for length in [1, 5, 6, 7, 13, 14, 61, 62, 120] {
        let mut code = Builder::new("sum", &[Kind::U64]).unwrap();
        let mut sum = code.parameter(0).unwrap();
        for k in 0..length {
            let constant = code.constant(Kind::U64, k * k + 1, false).unwrap();
            sum = code.call("add", &[sum, constant]).unwrap();
        }
        let op = DynUnary::<u64, u64>::new(code.finish(sum).unwrap()).unwrap();
        assert_eq!(op.call(5), 5 + (0..length).map(|k| k * k + 1).sum::<u64>());
    }
}

#[test]
fn three_operands() {
    let mut code = Builder::new("clamp", &[Kind::I32; 3]).unwrap();
    let [x, low, high] = [0, 1, 2].map(|at| code.parameter(at).unwrap());
    let raised = code.call("max", &[x, low]).unwrap();
    let clamped = code.call("min", &[raised, high]).unwrap();
    let op = DynTernary::<i32, i32, i32, i32>::new(code.finish(clamped).unwrap()).unwrap();
    assert_eq!([op.call(-9, -2, 2), op.call(1, -2, 2), op.call(9, -2, 2)], [-2, 1, 2]);
}

/// A captured constant is a kernel's argument, so that the text doesn't depend on it. A literal is part of the text.
#[test]
fn captured_constants_are_arguments() {
    let scaled = |by: f32, captured: bool| {
        let mut code = Builder::new("scaled", &[Kind::F32]).unwrap();
        let constant = code.constant(Kind::F32, by.bits(), captured).unwrap();
        let result = code.call("mul", &[code.parameter(0).unwrap(), constant]).unwrap();
        let mut text = KernelText::with_arguments();
        let name = DynUnary::<f32, f32>::new(code.finish(result).unwrap()).unwrap().source(&mut text);
        (name, text.arguments().to_vec(), text.text())
    };
    let (one, two) = (scaled(0.5, true), scaled(0.25, true));
    assert_eq!((&one.0, &one.2), (&two.0, &two.2));
    assert_eq!((one.1, two.1), (vec![0.5f32.bits()], vec![0.25f32.bits()]));
    assert_ne!(scaled(0.5, false).2, scaled(0.25, false).2);
}

/// A program that is one operation of its two parameters is the prelude's function. None else is: neither one with a constant, nor one that
/// takes its parameters in the other order.
#[test]
fn only_an_operation_of_both_parameters_is_plain() {
    let named = |code: Builder, result: Operand, unary: bool| {
        let (program, mut text) = (code.finish(result).unwrap(), KernelText::default());
        match unary {
            true => DynUnary::<u32, u32>::new(program).unwrap().source(&mut text),
            false => DynBinary::<u32, u32, u32>::new(program).unwrap().source(&mut text),
        }
    };
    for (first, second, plain) in [(0, 1, true), (1, 0, false), (0, 0, false), (1, 1, false)] {
        let mut code = Builder::new("difference", &[Kind::U32; 2]).unwrap();
        let operands = [code.parameter(first).unwrap(), code.parameter(second).unwrap()];
        let result = code.call("sub", &operands).unwrap();
        assert_eq!(named(code, result, false) == "vxm::sub", plain, "{first} - {second}");
    }
    for constant_first in [false, true] {
        let mut code = Builder::new("more", &[Kind::U32]).unwrap();
        let constant = code.constant(Kind::U32, 1, false).unwrap();
        let parameter = code.parameter(0).unwrap();
        let operands = if constant_first { [constant, parameter] } else { [parameter, constant] };
        let result = code.call("add", &operands).unwrap();
        assert_ne!(named(code, result, true), "vxm::add");
    }
}

#[test]
fn monoids_have_their_own_properties() {
    let op = DynBinary::<u32, u32, u32>::new(two("least", Kind::F32, "min")).unwrap();
    let least =
        DynMonoid::<u32, true>::new(op, f32::INFINITY.to_bits()).commutative().terminal(f32::NEG_INFINITY.to_bits());
    assert_eq!(least.identity(), f32::INFINITY.to_bits());
    assert!(least.is_commutative() && least.is_terminal(f32::NEG_INFINITY.to_bits()) && !least.is_terminal(0));
    assert_eq!(least.repeat(3.5f32.to_bits(), 9), 3.5f32.to_bits());
}

/// Laws are checked on operators made at run time, and the message names the operator's operands.
#[test]
fn laws_are_checked() {
    let typed = DynBinary::<i32, i32, i32>::new(two("difference", Kind::I32, "sub")).unwrap();
    let claimed = DynMonoid::<i32, true>::new(typed, 0);
    let broken = refused(laws::check_monoid::<i32, _>(claimed));
    assert!(broken.contains("(a + b) + c == a + (b + c)") || broken.to_lowercase().contains("associativ"), "{broken}");
    let greatest = DynBinary::<f32, f32, f32>::new(two("greatest", Kind::F32, "max")).unwrap();
    let greatest = DynMonoid::<f32, true>::new(greatest, f32::NEG_INFINITY).commutative();
    // NaN: an infinity changes it
    assert!(laws::check_monoid::<f32, _>(greatest).is_err());
    laws::check_monoid::<f32, _>(greatest.except(&[Law::Identity])).unwrap();
}

/// A function of `#[op]`, and the program of its text.
macro_rules! both {
    ($(fn $name:ident($a:ident: $x:ident, $b:ident: $y:ident) -> $t:ident $body:block)*) => {$(
        #[op]
        fn $name($a: $x, $b: $y) -> $t $body

        impl Twice for $name {
            const TEXT: &'static str = stringify!(fn $name($a: $x, $b: $y) -> $t $body);
        }
    )*};
}

trait Twice {
    const TEXT: &'static str;
}

both! {
    fn small(a: u8, b: i16) -> i16 {
        let mut s: u8 = a * a + 1;
        if b < -300 && !(s > 200) || s == 7 {
            s -= 9;
            if s.count_ones() > 4 {
                s <<= 9;
            } else if a == 3 {
                s ^= 0x55;
            }
        } else {
            let t: u8 = s / a;
            s = t % 7;
        }
        let s: i16 = {
            let wide: i64 = s as i64 * b as i64;
            wide as i16
        };
        if s < 0 { -s * -300 } else { s - i16::MIN }
    }
    fn weigh(a: f32, b: f32) -> f64 {
        let a: f32 = if a < b {
            let half: f32 = b * 0.5;
            half - a
        } else {
            a.max(b).sqrt()
        };
        (a * 3.0).floor() as f64 / (a as f64 + 1e-3) - 0.1
    }
    fn levels(a: u32, b: u32) -> u32 {
        a + b * 3 << 2 & 0xff | a ^ b >> 1 - 1 % 2
    }
    fn rotated(a: u64, b: u32) -> u64 {
        a.rotate_left(b).wrapping_add(a.pow(b % 5)) ^ (b as u64).saturating_sub(a)
    }
    fn tests(a: f64, b: f64) -> bool {
        a.is_nan() || (a >= b) != (b.is_finite() && !(a == 0.0)) || b > f64::MAX
    }
}

/// The text of a function, read at run time, computes what `#[op]` does.
#[test]
fn texts_compute_what_op_does() {
    fn check<A: laws::Sample, B: laws::Sample, F: Twice + BinaryOp<A, B>>(op: F) {
        let program = Program::parse(F::TEXT).unwrap_or_else(|error| panic!("{}: {error}", F::TEXT));
        let made = DynBinary::<A, B, F::Out>::new(program).unwrap();
        let (firsts, seconds) = (A::extremes(), B::extremes());
        let more = (0..400u64).map(|k| k.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let random = more.map(|k| (A::from_wide_bits((k >> 7).into()), B::from_wide_bits(k.rotate_left(23).into())));
        for (a, b) in firsts.iter().flat_map(|&a| seconds.iter().map(move |&b| (a, b))).chain(random) {
            assert_eq!(made.call(a, b).bits(), op.call(a, b).bits(), "{program:?} of {a:?} and {b:?}");
        }
    }
    check::<u8, i16, _>(small);
    check::<f32, f32, _>(weigh);
    check::<u32, u32, _>(levels);
    check::<u64, u32, _>(rotated);
    check::<f64, f64, _>(tests);
}

#[test]
fn texts_may_leave_types_out() {
    let text = "
        // the number of steps, rounded up
        fn steps(a: u64, b: u64) -> u64 {
            let more = a % b > 0;
            let mut n = a / b;
            if more { n += 1; }
            n
        }";
    let steps = DynBinary::<u64, u64, u64>::new(Program::parse(text).unwrap()).unwrap();
    assert_eq!([steps.call(9, 3), steps.call(10, 3), steps.call(0, 3)], [3, 4, 0]);
    let pattern = Program::parse("fn hop(level: u32, _edge: ()) -> u32 { level.saturating_add(1) }").unwrap();
    assert_eq!(DynBinary::<u32, (), u32>::new(pattern).unwrap().call(u32::MAX, ()), u32::MAX);
}

#[test]
fn wrong_texts_are_told_by_place() {
    for (text, told) in [
        ("", "line 1, column 1: expected `fn`, found the end"),
        ("fn f(a: u32) -> u32 { a", "line 1, column 24: expected `;` or `}`, found the end"),
        ("fn f(a: u33) -> u32 { a }", "line 1, column 9: expected a type, as `u32` or `f32`, found `u33`"),
        ("fn f(a u32) -> u32 { a }", "line 1, column 8: expected `:`, found `u32`"),
        ("fn f() -> u32 { 1 }", "`f` has 0 parameters: expected one to three"),
        ("fn f(a: u32) -> u32 { b }", "line 1, column 23: `b` is no variable"),
        (
            "fn f(a: u32) -> u32 { a + 1.5 }",
            "line 1, column 27: expected a number of type u32, found one with a fraction",
        ),
        (
            "fn f(a: f32) -> f32 { a + 1 }",
            "line 1, column 27: expected a value of type f32, found a whole number: write 1.0",
        ),
        ("fn f(a: u8) -> u8 { a + 256 }", "line 1, column 25: 256 is out of the range of u8"),
        ("fn f(a: u8) -> u8 { a + -1 }", "line 1, column 25: -1 is out of the range of u8"),
        ("fn f(a: u32, b: f32) -> u32 { a + b }", "line 1, column 31: `f` calls add(u32, f32): expected (u32, u32)"),
        ("fn f(a: u32) -> f32 { a }", "line 1, column 21: expected a result of type f32, found u32"),
        (
            "fn f(a: u32) -> u32 { if a > 1 { a } }",
            "line 1, column 23: expected an `else`: the value of this `if` is used",
        ),
        (
            "fn f(a: u32) -> u32 { if a { 1 } else { 2 } }",
            "line 1, column 23: `f` has a condition of type u32: expected bool",
        ),
        (
            "fn f(a: u32) -> u32 {\n    return a;\n}",
            "line 2, column 5: expected an expression, which has no such control flow, found `return`",
        ),
        (
            "fn f(a: f32) -> f32 { a.tan() }",
            "line 1, column 23: `tan` is no method of numbers that has the same bits on every device",
        ),
        ("fn f(a: u32) -> u32 { a.min() }", "line 1, column 23: `min` takes one argument, found 0"),
        (
            "fn f(a: f32) -> f32 { a.count_ones() }",
            "line 1, column 23: `f` calls count_ones(f32), which takes integers",
        ),
        ("fn f(a: u32) -> u32 { a < 1 < 2 }", "line 1, column 29: expected `&&` between two comparisons, found `<`"),
        ("fn f(a: u32) -> u32 { 1; a }", "line 1, column 23: expected a statement that does something"),
        (
            "fn f(a: u32) -> u32 { if a > 1 { 5u32 } a }",
            "line 1, column 34: this value isn't used: end it with `;`, or begin a statement by `let`",
        ),
        ("fn f(a: u32) -> u32 { a } x", "line 1, column 27: expected the end, found `x`"),
        ("fn f(a: u32, e: ()) -> u32 { a + e }", "line 1, column 34: `e` is a pattern's entry, which has no value"),
        ("fn f(a: u32) -> u32 { c = 1; a }", "line 1, column 23: `c` is no variable"),
        ("fn f(a: u32) -> u32 { a + 7u3 }", "line 1, column 27: `u3` is no type of a number"),
        (
            "fn f(a: u32) -> u32 { u32::EPSILON }",
            "line 1, column 23: `u32::EPSILON` is not known: expected MIN, MAX, or of floats INFINITY, NEG_INFINITY or NAN",
        ),
        ("fn f(a: u32) -> u32 { \u{e9} }", "line 1, column 23: expected an expression, found `\u{e9}`"),
        ("fn f(a: u32) -> u32 { 7 as f32 as u32 }", "line 1, column 23: state this number's type, as in `5u32`"),
    ] {
        assert_eq!(refused(Program::parse(text)), told, "{text}");
    }
    let deep = format!("fn f(a: u32) -> u32 {{ {}a{} }}", "(".repeat(5000), ")".repeat(5000));
    assert!(refused(Program::parse(&deep)).contains("nested more than 64 deep"));
    for chain in [" + a".repeat(5000), ".abs()".repeat(5000)] {
        assert!(
            refused(Program::parse(&format!("fn f(a: u32) -> u32 {{ a{chain} }}"))).contains("at most 512 expressions")
        );
    }
    let chain = " else if a > 1 { a }".repeat(5000);
    assert!(
        refused(Program::parse(&format!("fn f(a: u32) -> u32 {{ if a > 1 {{ a }}{chain} else {{ a }} }}")))
            .contains("at most 512")
    );
    let deep = format!("fn f(a: bool) -> bool {{ {}a }}", "!".repeat(5000));
    assert!(refused(Program::parse(&deep)).contains("nested more than 64 deep"));
    let deep = format!("fn f(a: u32) -> u32 {{ {} a {} }}", "if a > 1 { ".repeat(500), "} else { a }".repeat(500));
    assert!(refused(Program::parse(&deep)).contains("nested more than 64 deep"));
}

/// The operations with three operands, with another result's type, and the elementary functions: the same as through `lowered`.
#[test]
fn all_methods_of_texts() {
    let call = |text: &str, a: f32, b: f32| {
        let program = Program::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        DynBinary::<f32, f32, f32>::new(program).unwrap().call(a, b)
    };
    let (a, b) = (0.75f32, 2.5f32);
    let text = |body: &str| call(&format!("fn f(a: f32, b: f32) -> f32 {{ {body} }}"), a, b);
    assert_eq!(text("a.clamp(1.0, b)"), 1.0);
    assert_eq!(text("a.mul_add(b, -b)"), a.mul_add(b, -b));
    assert_eq!(text("f32::from_bits(a.to_bits() ^ b.to_bits())"), f32::from_bits(a.to_bits() ^ b.to_bits()));
    assert_eq!(text("(a.to_bits() as i32).abs_diff(b.to_bits() as i32) as f32"), (b.to_bits() - a.to_bits()) as f32);
    assert_eq!(text("a.exp().ln_1p() + b.powf(a).sin()"), {
        lowered::ln_1p(lowered::exp(a)) + lowered::sin(lowered::powf(b, a))
    });
    assert_eq!(text("b.copysign(-a).round().signum()"), -1.0);

    let mut code = Builder::new("f", &[Kind::U32, Kind::F32]).unwrap();
    let (bits, float) = (code.parameter(0).unwrap(), code.parameter(1).unwrap());
    let message =
        |made| refused::<vxm_semiring::dynamic::Operand>(made as Result<_, vxm_semiring::dynamic::ProgramError>);
    assert_eq!(message(code.of_bits(bits, Kind::F64)), "`f` makes f64 of the bits of u32: expected u64");
    assert_eq!(message(code.of_bits(bits, Kind::I32)), "`f` makes i32 of bits: expected a float");
    assert_eq!(message(code.call("clamp", &[float, float])), "`f` calls clamp(f32, f32), which takes three operands");
    assert_eq!(
        message(code.call("mul_add", &[float, float, bits])),
        "`f` calls mul_add(f32, f32, u32): expected (f32, f32, f32)"
    );
}
