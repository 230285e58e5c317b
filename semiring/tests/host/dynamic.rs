//! Operators made at run time: the interpreter has the bits of the C++ text.

use super::{Program, pairs};
use vxm_semiring::dynamic::{Builder, DynBinary, Kind};
use vxm_semiring::laws::Sample;
use vxm_semiring::*;

/// The kinds that the tests of programs use: those of standard C++.
const KINDS: [Kind; 11] = [
    Kind::Bool,
    Kind::I8,
    Kind::I16,
    Kind::I32,
    Kind::I64,
    Kind::U8,
    Kind::U16,
    Kind::U32,
    Kind::U64,
    Kind::F32,
    Kind::F64,
];

/// The bits of extreme and generated values of a kind.
fn samples(kind: Kind) -> Vec<u64> {
    fn of<T: Sample>() -> Vec<u64> {
        pairs::<T, ()>().iter().map(|(x, ())| x.wide_bits() as u64).collect()
    }
    match kind {
        Kind::Bool => of::<bool>(),
        Kind::I8 => of::<i8>(),
        Kind::I16 => of::<i16>(),
        Kind::I32 => of::<i32>(),
        Kind::I64 => of::<i64>(),
        Kind::U8 => of::<u8>(),
        Kind::U16 => of::<u16>(),
        Kind::U32 => of::<u32>(),
        Kind::U64 => of::<u64>(),
        Kind::F32 => of::<f32>(),
        _ => of::<f64>(),
    }
}

/// A random program of two parameters: operations that the builder accepts, on any values so far.
fn random_program(draw: &mut impl FnMut(usize) -> usize, number: usize) -> vxm_semiring::dynamic::Program {
    const OPERATIONS: [&str; 59] = [
        "min",
        "max",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "add",
        "sub",
        "mul",
        "div",
        "rem",
        "neg",
        "abs",
        "bitand",
        "bitor",
        "bitxor",
        "not",
        "saturating_add",
        "saturating_sub",
        "pow",
        "shl",
        "shr",
        "rotate_left",
        "rotate_right",
        "count_ones",
        "count_zeros",
        "leading_zeros",
        "leading_ones",
        "trailing_zeros",
        "trailing_ones",
        "sqrt",
        "floor",
        "ceil",
        "trunc",
        "is_nan",
        "is_finite",
        "is_infinite",
        "signum",
        "clamp",
        "saturating_mul",
        "abs_diff",
        "reverse_bits",
        "round",
        "copysign",
        "mul_add",
        "to_bits",
        "exp",
        "exp2",
        "exp_m1",
        "ln",
        "ln_1p",
        "log2",
        "log10",
        "powf",
        "tanh",
        "sin",
        "cos",
    ];
    let kinds = [KINDS[draw(KINDS.len())], KINDS[draw(KINDS.len())]];
    let mut code = Builder::new(&format!("random_{number}"), &kinds).unwrap();
    let mut values = vec![code.parameter(0).unwrap(), code.parameter(1).unwrap()];
    let length = 3 + draw(20);
    let mut tries = 0;
    while values.len() < length && tries < 4000 {
        tries += 1;
        let any = [(); 3].map(|()| values[draw(values.len())]);
        let made = match draw(8) {
            0 => {
                let kind = KINDS[draw(KINDS.len())];
                let known = samples(kind);
                code.constant(kind, known[draw(known.len())], false)
            }
            1 if draw(2) == 0 => code.of_bits(any[0], KINDS[draw(KINDS.len())]),
            1 => code.cast(any[0], KINDS[draw(KINDS.len())]),
            2 => code.select(any[0], any[1], any[2]),
            _ => {
                let operation = OPERATIONS[draw(OPERATIONS.len())];
                let made = code.call(operation, &any[..1]).or_else(|_| code.call(operation, &any[..2]));
                made.or_else(|_| code.call(operation, &any))
            }
        };
        values.extend(made);
    }
    let last = *values.last().unwrap();
    code.finish(last).unwrap()
}

/// Adds a program as an operator of these types, on samples of its kinds.
fn check_program<A: Element, B: Element, T: Element>(program: &mut Program, code: vxm_semiring::dynamic::Program) {
    let op = DynBinary::<A, B, T>::new(code).unwrap();
    let call = format!("{}(a, b)", op.source(&mut program.text));
    let [first, second] = [0, 1].map(|at| samples(code.parameters()[at]));
    let pairs = first.iter().enumerate().map(|(k, &x)| (x, second[k * 7 % second.len()]));
    let rows: Vec<_> = pairs
        .map(|(x, y)| [x, y, op.call(A::from_wide_bits(x.into()), B::from_wide_bits(y.into())).wide_bits() as u64])
        .collect();
    program.check_rows(&format!("{code:?}"), &call, [A::CUDA, B::CUDA, T::CUDA], &rows);
}

/// Programs made at run time: the interpreter has the bits of the C++ text, where elements are words.
#[test]
fn programs_over_words() {
    let mut program = Program::default();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 33) as usize % below
    };
    for number in 0..120 {
        let code = random_program(&mut draw, number);
        let wide = |kind: Kind| kind.size() == 8;
        match (wide(code.parameters()[0]), wide(code.parameters()[1]), wide(code.result())) {
            (false, false, false) => check_program::<u32, u32, u32>(&mut program, code),
            (false, false, true) => check_program::<u32, u32, u64>(&mut program, code),
            (false, true, false) => check_program::<u32, u64, u32>(&mut program, code),
            (false, true, true) => check_program::<u32, u64, u64>(&mut program, code),
            (true, false, false) => check_program::<u64, u32, u32>(&mut program, code),
            (true, false, true) => check_program::<u64, u32, u64>(&mut program, code),
            (true, true, false) => check_program::<u64, u64, u32>(&mut program, code),
            (true, true, true) => check_program::<u64, u64, u64>(&mut program, code),
        }
    }
    program.run();
}

/// Each operation on operands of its own types: the same as the built-in operators.
#[test]
fn programs_over_their_own_types() {
    let mut program = Program::default();
    macro_rules! same {
        ($($kind:ident $t:ty, $operation:literal, $op:expr;)*) => {$({
            let mut code = Builder::new("own", &[Kind::$kind; 2]).unwrap();
            let operands = [0, 1].map(|at| code.parameter(at).unwrap());
            let result = code.call($operation, &operands).unwrap();
            let op = DynBinary::<$t, $t, $t>::new(code.finish(result).unwrap()).unwrap();
            for (x, y) in pairs::<$t, $t>() {
                assert_eq!(op.call(x, y).bits(), $op.call(x, y).bits(), "{op:?} of {x:?} and {y:?}");
            }
            program.binary::<$t, $t, _>(op);
        })*};
    }
    same! {
        I8 i8, "add", PLUS;
        U16 u16, "mul", TIMES;
        I32 i32, "div", DIV;
        U32 u32, "min", MIN;
        I64 i64, "max", MAX;
        U64 u64, "bitxor", BXOR;
        F32 f32, "min", MIN;
        F64 f64, "sub", MINUS;
        Bool bool, "bitand", LAND;
    }
    program.run();
}
