//! Tests that the CUDA text computes the same as the Rust code. The text is compiled as host C++ and run on the same operands, and the
//! bits are compared.
//!
//! The text is the one that NVRTC gets, except that `__device__` is empty and `__forceinline__` is `inline`. Operators on 16-bit floats
//! are left out, since only CUDA has their headers.

use std::fmt::Write as _;
use std::process::Command;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use vxm_semiring::laws::Sample;
use vxm_semiring::*;

/// A C++ program that calls operators and compares the results with the bits that Rust computed.
#[derive(Default)]
struct Program {
    text: KernelText,
    functions: String,
    cases: usize,
}

/// All pairs of extreme values, then generated pairs.
fn pairs<A: Sample, B: Sample>() -> Vec<(A, B)> {
    let (firsts, seconds) = (A::extremes(), B::extremes());
    let all = firsts.iter().flat_map(|a| seconds.iter().map(move |b| (*a, *b)));
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(ProptestConfig::default(), rng);
    let strategy = (A::strategy(), B::strategy());
    let generated = (0..64).filter_map(|_| strategy.new_tree(&mut runner).ok().map(|tree| tree.current()));
    all.chain(generated).collect()
}

impl Program {
    /// Adds a test case: a function that evaluates `call`, a C++ expression in `a` and `b`, on all pairs and compares with `rust`.
    fn check<A: Sample, B: Sample, T: Element>(&mut self, what: &str, call: &str, rust: impl Fn(A, B) -> T) {
        let what = format!("{what} over {} and {}", A::NAME, B::NAME);
        let rows: Vec<_> = pairs::<A, B>()
            .iter()
            .map(|(x, y)| [x.wide_bits(), y.wide_bits(), rust(*x, *y).wide_bits()].map(|bits| bits as u64))
            .collect();
        self.check_rows(&what, call, [A::CUDA, B::CUDA, T::CUDA], &rows);
    }

    /// Adds a test case: `call` of the first two bits of each row has the third ones.
    fn check_rows(&mut self, what: &str, call: &str, [a, b, t]: [&str; 3], rows: &[[u64; 3]]) {
        self.text.prelude();
        let case = self.cases;
        let _ =
            write!(self.functions, "static int case_{case}() {{\n  static const unsigned long long data[][3] = {{\n");
        for [x, y, out] in rows {
            let _ = writeln!(self.functions, "{{{x}u,{y}u,{out}u}},");
        }
        let _ = write!(
            self.functions,
            "  }};\n  int bad = 0;\n  for (int i = 0; i < {}; i++) {{\n    {a} a = of<{a}>(data[i][0]); {b} b = of<{b}>(data[i][1]);\n    \
             (void)b; {t} out = {call};\n    if (to(out) != data[i][2] && !bad++)\n      \
             printf(\"{what}: %llx, %llx: %llx is not %llx\\n\", data[i][0], data[i][1], to(out), data[i][2]);\n  }}\n  \
             return bad != 0;\n}}\n",
            rows.len(),
        );
        self.cases += 1;
    }

    fn unary<A: Sample, F: UnaryOp<A>>(&mut self, op: F) {
        let call = format!("{}(a)", op.source(&mut self.text));
        self.check::<A, (), _>(core::any::type_name::<F>(), &call, |a, ()| op.call(a));
    }

    fn binary<A: Sample, B: Sample, F: BinaryOp<A, B>>(&mut self, op: F) {
        let call = format!("{}(a, b)", op.source(&mut self.text));
        self.check::<A, B, _>(core::any::type_name::<F>(), &call, |a, b| op.call(a, b));
    }

    /// The whole program, in standard C++17.
    fn source(&self) -> String {
        let calls: String = (0..self.cases).map(|case| format!("bad += case_{case}(); ")).collect();
        format!(
            "#include <cmath>\n#include <cstdio>\n#include <cstring>\n#define __device__\n#define __forceinline__ inline\n{}\n\
             template <class T> T of(unsigned long long bits) {{ T value; memcpy(&value, &bits, sizeof value); return value; }}\n\
             static unsigned long long to(vxm_unit) {{ return 0; }}\n\
             static unsigned long long to(float a) {{ unsigned b; memcpy(&b, &a, 4); return a != a ? 0x7fc00000 : b; }}\n\
             static unsigned long long to(double a) {{ unsigned long long b; memcpy(&b, &a, 8); return a != a ? 0x7ff8000000000000 : b; }}\n\
             template <class T> unsigned long long to(T a) {{ unsigned long long b = 0; memcpy(&b, &a, sizeof a); return b; }}\n\
             {}\nint main() {{ int bad = 0; {calls}return bad; }}\n",
            self.text.text(),
            self.functions
        )
    }

    /// Compiles the program with a sanitizer for undefined behaviour, and runs it. Skips the test if there is no g++.
    fn run(self) {
        if Command::new("g++").arg("--version").output().is_err() {
            println!("skipped: no g++ to compile the CUDA text with");
            return;
        }
        let folder = std::env::temp_dir().join(format!("vxm-semiring-host-{}-{}", std::process::id(), self.cases));
        std::fs::create_dir_all(&folder).unwrap();
        let (source, binary) = (folder.join("host.cpp"), folder.join("host"));
        std::fs::write(&source, self.source()).unwrap();
        let flags =
            ["-std=c++17", "-O1", "-ffp-contract=off", "-Wno-bool-operation", "-w", "-fsanitize=undefined", "-o"];
        let built = Command::new("g++").args(flags).arg(&binary).arg(&source).output().unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let ran = Command::new(&binary).output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(ran.status.success() && err.is_empty(), "{out}{err}");
    }
}

/// Checks the listed functions of `lowered`, each with its C++ name and its operands.
macro_rules! lowered {
    ($program:ident $t:ty: $($name:ident / $cuda:literal ($($arg:ident),*);)*) => {$(
        let call = concat!("vxm::", $cuda, "(", lowered!(@list $($arg),*), ")");
        $program.check::<$t, $t, _>(stringify!($name), call, |_a, _b| lowered::$name($(lowered!(@arg $arg _a _b)),*));
    )*};
    (@list a) => { "a" };
    (@list a, b) => { "a, b" };
    (@arg a $a:ident $b:ident) => { $a };
    (@arg b $a:ident $b:ident) => { $b };
}

macro_rules! for_each {
    ($program:expr; $($t:ty)* => |$p:ident, $T:ident| $body:block) => {$({
        type $T = $t;
        let $p: &mut Program = $program;
        $body
    })*};
}

#[test]
fn integers() {
    let mut program = Program::default();
    for_each!(&mut program; i8 i16 i32 i64 u8 u16 u32 u64 => |p, T| {
        lowered! { p T:
            add/"add"(a, b); sub/"sub"(a, b); mul/"mul"(a, b); div/"div"(a, b); rem/"rem"(a, b); neg/"neg"(a); abs/"abs"(a);
            min/"min"(a, b); max/"max"(a, b); saturating_add/"saturating_add"(a, b); saturating_sub/"saturating_sub"(a, b);
            bitand/"bitand_"(a, b); bitor/"bitor_"(a, b); bitxor/"bitxor_"(a, b); not/"not_"(a);
            shl/"shl"(a, b); shr/"shr"(a, b); count_ones/"count_ones"(a); count_zeros/"count_zeros"(a);
            leading_zeros/"leading_zeros"(a); leading_ones/"leading_ones"(a);
            trailing_zeros/"trailing_zeros"(a); trailing_ones/"trailing_ones"(a);
            lt/"lt"(a, b); le/"le"(a, b); gt/"gt"(a, b); ge/"ge"(a, b); eq/"eq"(a, b); ne/"ne"(a, b);
            signum/"signum"(a); saturating_mul/"saturating_mul"(a, b); reverse_bits/"reverse_bits"(a); abs_diff/"abs_diff"(a, b);
        }
        p.check::<T, T, T>("clamp", "vxm::clamp(a, (decltype(a))3, b)", |a, b| lowered::clamp(a, 3, b));
        p.check::<T, u32, _>("pow", "vxm::pow(a, b)", lowered::pow);
        p.check::<T, u32, _>("rotate_left", "vxm::rotate_left(a, b)", lowered::rotate_left);
        p.check::<T, u32, _>("rotate_right", "vxm::rotate_right(a, b)", lowered::rotate_right);
    });
    program.run();
}

#[test]
fn floats() {
    let mut program = Program::default();
    for_each!(&mut program; f32 f64 => |p, T| {
        lowered! { p T:
            add/"add"(a, b); sub/"sub"(a, b); mul/"mul"(a, b); div/"div"(a, b); rem/"rem"(a, b); neg/"neg"(a); abs/"abs"(a);
            min/"min"(a, b); max/"max"(a, b); sqrt/"sqrt"(a); floor/"floor"(a); ceil/"ceil"(a); trunc/"trunc"(a);
            is_nan/"is_nan"(a); is_finite/"is_finite"(a); is_infinite/"is_infinite"(a);
            round/"round"(a); copysign/"copysign"(a, b); signum/"signum"(a); to_bits/"to_bits"(a);
            lt/"lt"(a, b); le/"le"(a, b); gt/"gt"(a, b); ge/"ge"(a, b); eq/"eq"(a, b); ne/"ne"(a, b);
        }
    });
    program.check::<f32, f32, _>("mul_add", "vxm::mul_add(a, b, a)", |a: f32, b| lowered::mul_add(a, b, a));
    program.check::<f64, f64, _>("mul_add", "vxm::mul_add(a, b, a)", |a: f64, b| lowered::mul_add(a, b, a));
    program.check::<u32, (), _>("from_bits", "vxm::from_bits<float>(a)", |a, ()| lowered::from_bits::<f32>(a));
    program.check::<u64, (), _>("from_bits", "vxm::from_bits<double>(a)", |a, ()| lowered::from_bits::<f64>(a));
    program.run();
}

/// Elementary functions on their whole range: extreme operands, whole and half numbers, and many between.
#[test]
fn elementary_functions() {
    let mut program = Program::default();
    let near = (-400..400).map(|k| f64::from(k) * 0.25);
    let spread = (0..2000u64).map(|k| f64::from_bits(k.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    let operands: Vec<f64> = near.chain(spread).chain(f64::extremes()).collect();
    macro_rules! check {
        ($t:ty: $($name:ident($($arg:ident),*);)*) => {$({
            let call = format!("{}({})", elementary::define(stringify!($name), &mut program.text), stringify!($($arg),*));
            let values: Vec<$t> = operands.iter().map(|x| *x as $t).collect();
            let pairs = values.iter().zip(values.iter().skip(7).chain(&values));
            let row = |(_a, _b): (&$t, &$t)| [_a.bits(), _b.bits(), lowered::$name($(check!(@arg $arg _a _b)),*).bits()];
            let rows: Vec<_> = pairs.map(row).collect();
            program.check_rows(concat!(stringify!($name), " of ", stringify!($t)), &call, [<$t>::CUDA; 3], &rows);
        })*};
        (@arg a $a:ident $b:ident) => { *$a };
        (@arg b $a:ident $b:ident) => { *$b };
    }
    check! { f64: exp(a); exp2(a); exp_m1(a); ln(a); ln_1p(a); log2(a); log10(a); powf(a, b); tanh(a); sin(a); cos(a); }
    check! { f32: exp(a); exp2(a); exp_m1(a); ln(a); ln_1p(a); log2(a); log10(a); powf(a, b); tanh(a); sin(a); cos(a); }
    program.run();
}

/// Checks the casts from one type to each of the others.
fn casts<A>(program: &mut Program)
where
    A: Sample + lowered::CastTo<i8> + lowered::CastTo<i16> + lowered::CastTo<i32> + lowered::CastTo<i64>,
    A: lowered::CastTo<u8> + lowered::CastTo<u16> + lowered::CastTo<u32> + lowered::CastTo<u64>,
    A: lowered::CastTo<f32> + lowered::CastTo<f64>,
{
    for_each!(program; i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 => |p, T| {
        let call = format!("vxm::cast<{}>(a)", T::CUDA);
        p.check::<A, (), T>("cast", &call, |a, ()| lowered::cast(a));
    });
}

#[test]
fn all_casts() {
    let mut program = Program::default();
    for_each!(&mut program; bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 => |p, T| { casts::<T>(p); });
    program.run();
}

#[test]
fn built_in_operators() {
    let mut program = Program::default();
    for_each!(&mut program; i16 i64 u8 u32 f32 f64 => |p, T| {
        p.binary::<T, T, _>(PLUS);
        p.binary::<T, (), _>(PLUS);
        p.binary::<T, (), _>(TIMES);
        p.binary::<T, T, _>(RMINUS);
        p.binary::<T, T, _>(RDIV);
        p.binary::<T, u8, _>(FIRST);
        p.binary::<(), T, _>(SECOND);
        p.binary::<T, T, _>(ANY);
        p.binary::<T, (), _>(Pair::<T>::new());
        p.binary::<T, T, _>(Pair::<()>::new());
        p.unary::<T, _>(IDENTITY);
        p.unary::<T, _>(AINV);
        p.unary::<T, _>(MINV);
        p.unary::<T, _>(ABS);
        p.unary::<T, _>(ONE);
        for value in T::extremes() {
            p.unary::<T, _>(MINUS.bind(value));
            p.unary::<T, _>(MIN.bind_first(value));
        }
    });
    program.binary::<bool, bool, _>(LOR);
    program.binary::<bool, bool, _>(LAND);
    program.binary::<bool, (), _>(LAND);
    program.binary::<(), (), _>(LAND);
    program.binary::<bool, bool, _>(LXOR);
    program.binary::<bool, bool, _>(LXNOR);
    program.binary::<bool, bool, _>(MIN);
    program.binary::<i16, i16, _>(BXNOR);
    program.unary::<bool, _>(LNOT);
    program.unary::<i8, _>(BNOT);
    program.unary::<f64, _>(SQRT);
    for (op, name) in [(TRIL.offset(-1), "tril"), (TRIL.offset(i64::MIN), "least")] {
        let call = format!("{}(a, b, 1.0f)", op.source(&mut program.text));
        program.check::<u32, u32, _>(name, &call, |i, j| op.call(i, j, 1.0f32));
    }
    program.run();
}

const STEP: i16 = -300;

/// Statements of every kind, over types that C++ would promote to `int`.
#[op]
fn small(a: u8, b: i16) -> i16 {
    let mut s: u8 = a * a + 1;
    if b < STEP && !(s > 200) || s == 7 {
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
    if s < 0 { -s * STEP } else { s - i16::MIN }
}

/// Floats, shadowing, a lambda within `?:`, an operator that calls another.
#[op]
fn weigh(a: f32, b: f32) -> f64 {
    let a: f32 = if a < b {
        let half: f32 = b * 0.5;
        half - a
    } else {
        MAX(a, b).sqrt()
    };
    small((a * 3.0) as u8, b as i16) as f64 / a as f64
}

#[test]
fn operators_of_statements() {
    let mut program = Program::default();
    program.binary::<u8, i16, _>(small);
    program.binary::<f32, f32, _>(weigh);
    program.run();
}

// behind the macros that they use
mod dynamic;
mod grown;
