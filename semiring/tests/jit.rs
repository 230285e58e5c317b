//! Machine code of programs, against the interpreter: each operation on each kind, casts, and rows.
#![cfg(feature = "jit")]

use vxm_semiring::dynamic::jit::{self, LANES, RowFold, RowPush, SEGMENT};
use vxm_semiring::dynamic::{Builder, DynBinary, DynMonoid, Kind, Operand, Program, ProgramError};
use vxm_semiring::{BinaryOp, Element, KernelText, Monoid, Semiring, Source, semiring};

/// Random numbers that are the same in each run: splitmix64.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

/// The bits of a value of the kind: no operation has others, or NaNs of other bits.
fn plain(kind: Kind, bits: u64) -> u64 {
    match kind {
        Kind::Bool => bits & 1,
        Kind::F16 => half::f16::from_bits(bits as u16).bits(),
        Kind::Bf16 => half::bf16::from_bits(bits as u16).bits(),
        Kind::F32 => f32::from_bits(bits as u32).bits(),
        Kind::F64 => f64::from_bits(bits).bits(),
        _ => bits,
    }
}

/// Bits of values of a kind: extreme ones, small ones, limits of other kinds, and random ones.
fn samples(kind: Kind, numbers: &mut Numbers) -> Vec<u64> {
    let mask = u64::MAX >> (64 - 8 * kind.size().max(1));
    let whole =
        [0i64, 1, 2, 3, -1, -2, 7, 8, 31, 32, 33, 63, 64, 65, 127, 128, -128, -129, 255, 256, 32767, 32768, -32768];
    let wide =
        [65535, 65536, i64::from(i32::MAX), i64::from(i32::MIN), 1 << 31, u32::MAX.into(), 1 << 32, i64::MAX, i64::MIN];
    let whole: Vec<i64> = whole.into_iter().chain(wide).collect();
    let reals = [
        0.5, -0.5, 1.5, 2.5, -2.5, 126.9, 1e-3, 1e10, -1e10, 3.7e18, 1.9e19, -9.3e18, 1e-40, 6e4, 7e4, 3e38, 1e39,
        1e300,
    ];
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, f64::MIN_POSITIVE, f64::EPSILON];
    let real: Vec<f64> = whole.iter().map(|&x| x as f64).chain(reals).chain(special).collect();
    let mut found: Vec<u64> = match kind {
        Kind::Bool => vec![0, 1],
        Kind::F16 => real.iter().map(|&x| half::f16::from_f64(x).bits()).collect(),
        Kind::Bf16 => real.iter().map(|&x| half::bf16::from_f64(x).bits()).collect(),
        Kind::F32 => real.iter().map(|&x| (x as f32).bits()).collect(),
        Kind::F64 => real.iter().map(|x| x.bits()).collect(),
        _ => whole.iter().map(|&x| x as u64 & mask).collect(),
    };
    if kind != Kind::Bool {
        found.extend((0..12).map(|_| numbers.next() & mask));
    }
    found.into_iter().map(|bits| plain(kind, bits)).collect()
}

/// A program of these parameters with a step more, so that it isn't a single operation, which is never compiled.
fn with_a_step(
    parameters: &[Kind],
    body: impl FnOnce(&mut Builder, &[Operand]) -> Result<Operand, ProgramError>,
) -> Option<Program> {
    let mut code = Builder::new("f", parameters).ok()?;
    let operands: Vec<_> = (0..parameters.len()).map(|at| code.parameter(at)).collect::<Result<_, _>>().ok()?;
    let result = body(&mut code, &operands).ok()?;
    let kind = code.kind(result).ok()?;
    let (yes, other) = (code.constant(Kind::Bool, 1, false).ok()?, code.constant(kind, 0, false).ok()?);
    let result = code.select(yes, result, other).ok()?;
    code.finish(result).ok()
}

/// The names of all operations: a builder lists them where it knows none.
fn operations() -> Vec<String> {
    let mut code = Builder::new("f", &[Kind::U32]).unwrap();
    let a = code.parameter(0).unwrap();
    let refused = code.call("none", &[a]).unwrap_err().to_string();
    let (_, names) = refused.split_once("which is none of ").unwrap();
    names.split(", ").map(str::to_owned).collect()
}

/// Compares a program before and after it is compiled, on all of these arguments. Returns how many there are.
fn compare(program: Program, arguments: &[[u64; 3]]) -> usize {
    assert!(!program.is_compiled());
    let expected: Vec<_> = arguments.iter().map(|&arguments| program.call_bits(arguments)).collect();
    program.compile();
    assert!(program.is_compiled());
    for (arguments, expected) in arguments.iter().zip(expected) {
        let found = program.call_bits(*arguments);
        assert_eq!(
            found,
            expected,
            "{program:?} of {arguments:x?}: {found:x}, expected {expected:x}\n{}",
            program.cuda()
        );
    }
    arguments.len()
}

#[test]
fn each_operation_on_each_kind() {
    let (mut numbers, mut programs, mut calls) = (Numbers(1), 0, 0);
    let scalars = || Kind::ALL.iter().copied().filter(|kind| *kind != Kind::Unit);
    for operation in operations() {
        for kind in scalars() {
            let values = samples(kind, &mut numbers);
            for count in 1..=3 {
                // the count of a shift is a `u32`
                for others in [kind, Kind::U32] {
                    let parameters: Vec<_> = [kind, others, others].into_iter().take(count).collect();
                    let made = with_a_step(&parameters, |code, operands| code.call(&operation, operands));
                    let Some(program) = made.filter(|program| !program.is_compiled()) else { continue };
                    let other = samples(others, &mut numbers);
                    let mut arguments = Vec::new();
                    for &a in &values {
                        match count {
                            1 => arguments.push([a, 0, 0]),
                            2 => arguments.extend(other.iter().map(|&b| [a, b, 0])),
                            _ => arguments.extend((0..40).map(|_| {
                                let mut any = || other[numbers.next() as usize % other.len()];
                                [a, any(), any()]
                            })),
                        }
                    }
                    calls += compare(program, &arguments);
                    programs += 1;
                }
            }
        }
    }
    assert!(programs > 400 && calls > 200_000, "{programs} programs, {calls} calls");
}

#[test]
fn each_cast() {
    let mut numbers = Numbers(2);
    let mut programs = 0;
    for &from in Kind::ALL {
        for &to in Kind::ALL {
            let cast = with_a_step(&[from], |code, operands| code.cast(operands[0], to));
            let bits = with_a_step(&[from], |code, operands| code.of_bits(operands[0], to));
            for program in [cast, bits].into_iter().flatten().filter(|program| !program.is_compiled()) {
                let arguments: Vec<_> = samples(from, &mut numbers).into_iter().map(|a| [a, 0, 0]).collect();
                compare(program, &arguments);
                programs += 1;
            }
        }
    }
    assert!(programs > 150, "{programs}");
}

/// Random programs of many operations.
#[test]
fn long_programs() {
    let names = operations();
    for seed in 0..200 {
        let mut numbers = Numbers(seed * 1000 + 3);
        let scalars: Vec<_> = Kind::ALL.iter().copied().filter(|kind| *kind != Kind::Unit).collect();
        let parameters: Vec<_> = (0..3).map(|_| scalars[numbers.next() as usize % scalars.len()]).collect();
        let program = with_a_step(&parameters, |code, operands| {
            let mut values = operands.to_vec();
            while values.len() < 24 {
                let mut any = || values[values.len() - 1 - numbers.next() as usize % values.len().min(6)];
                let (a, b, c) = (any(), any(), any());
                let (name, kind) =
                    (&names[numbers.next() as usize % names.len()], scalars[numbers.next() as usize % scalars.len()]);
                let made = match numbers.next() % 8 {
                    0 => code.cast(a, kind),
                    1 => code.constant(kind, plain(kind, numbers.next()), numbers.next().is_multiple_of(2)),
                    2 => {
                        let test = code.call("lt", &[a, a]);
                        test.and_then(|test| code.select(test, a, b))
                    }
                    3 => code.call(name, &[a, b, c]),
                    4 | 5 => {
                        let kind = code.kind(a)?;
                        code.cast(b, kind).and_then(|b| code.call(name, &[a, b]))
                    }
                    _ => code.call(name, &[a]),
                };
                values.extend(made.ok());
            }
            Ok(values[values.len() - 1])
        });
        let Some(program) = program.filter(|program| !program.is_compiled()) else { continue };
        let kinds = program.parameters();
        let values: Vec<Vec<u64>> = kinds.iter().map(|&kind| samples(kind, &mut numbers)).collect();
        let arguments: Vec<_> = (0..300)
            .map(|_| [0, 1, 2].map(|at: usize| values[at][numbers.next() as usize % values[at].len()]))
            .collect();
        compare(program, &arguments);
    }
}

#[test]
fn a_program_is_compiled_once_it_was_called_often() {
    let program = Program::parse("fn spread(a: u32, b: u32) -> u32 { a * 31 + b ^ 0x55 }").unwrap();
    let expected = |a: u32, b: u32| u64::from((a.wrapping_mul(31).wrapping_add(b)) ^ 0x55);
    for a in 0..100_000u32 {
        assert_eq!(program.call_bits([a.into(), 7, 0]), expected(a, 7));
    }
    assert!(program.is_compiled());
}

/// The fold of the tree that the engine documents, by the interpreter.
fn by_lanes<T: Element>(add: impl Monoid<T>, products: &[T]) -> T {
    let mut lanes: Vec<Option<T>> = vec![None; LANES];
    let join = |a: Option<T>, b: Option<T>| match (a, b) {
        (Some(a), Some(b)) => Some(add.call(a, b)),
        (a, b) => a.or(b),
    };
    for (p, &value) in products.iter().enumerate() {
        lanes[p % LANES] = join(lanes[p % LANES], Some(value));
    }
    let mut step = LANES / 2;
    while step > 0 {
        for lane in 0..step {
            lanes[lane] = join(lanes[lane], lanes[lane + step]);
        }
        step /= 2;
    }
    lanes[0].unwrap()
}

/// Rows of all lengths that have a code of their own, forwards and backwards.
fn rows<X: Element, A: Element, T: Element, const EXACT: bool>(
    add: DynMonoid<T, EXACT>,
    mul: DynBinary<X, A, T>,
    mut element: impl FnMut(u64) -> X,
    mut weight: impl FnMut(u64) -> A,
) {
    let (ring, mut numbers) = (semiring(add, mul), Numbers(9));
    let vector: Vec<X> = (0..500).map(|_| element(numbers.next())).collect();
    let lengths = (1..70).chain([100, 127, 128, 500, SEGMENT - 1, SEGMENT]).chain(EXACT.then_some(5000));
    for reversed in [false, true] {
        jit::prepare(ring, reversed);
        let code = RowFold::<X, A, T>::of(ring, reversed).expect("there is code for this processor");
        // SAFETY: no column is read
        assert_eq!(unsafe { code.fold(&[], &[], vector.as_ptr()) }, None);
        for length in lengths.clone() {
            let columns: Vec<u32> = (0..length).map(|_| (numbers.next() % 500) as u32).collect();
            let weights: Vec<A> = (0..length).map(|_| weight(numbers.next())).collect();
            let mut products: Vec<T> =
                columns.iter().zip(&weights).map(|(&k, &a)| mul.call(vector[k as usize], a)).collect();
            if reversed && EXACT {
                products.reverse();
            }
            let expected = match EXACT {
                true => {
                    let mut sum = products[0];
                    for &product in &products[1..] {
                        if add.is_terminal(sum) {
                            break;
                        }
                        sum = add.call(sum, product);
                    }
                    sum
                }
                false => by_lanes(add, &products),
            };
            // SAFETY: columns are below 500
            let found = unsafe { code.fold(&columns, &weights, vector.as_ptr()) }.unwrap();
            assert_eq!(found.bits(), expected.bits(), "{ring:?}, {length} entries, reversed {reversed}");
        }
    }
}

fn made<X: Element, A: Element, T: Element>(text: &str) -> DynBinary<X, A, T> {
    DynBinary::new(Program::parse(text).unwrap()).unwrap()
}

#[test]
fn rows_are_folded() {
    let least = DynMonoid::<u32, true>::new(made("fn min(a: u32, b: u32) -> u32 { a.min(b) }"), u32::MAX);
    let longer = "fn longer(a: u32, b: u32) -> u32 { let sum = a + b; if sum < a { u32::MAX } else { sum } }";
    rows::<u32, u32, u32, true>(least, made(longer), |x| x as u32, |x| x as u32 % 9);
    rows::<u32, u32, u32, true>(
        least.terminal(3),
        made("fn last(a: u32, b: u32) -> u32 { b }"),
        |x| x as u32,
        |x| x as u32 % 50,
    );
    // patterns, narrow and wide elements, words and types of their own
    rows::<u32, (), u32, true>(least, made("fn first(a: u32, e: ()) -> u32 { a }"), |x| x as u32, drop);
    let widest = DynMonoid::<u64, true>::new(made("fn max(a: i64, b: i64) -> i64 { a.max(b) }"), i64::MIN as u64);
    rows::<u32, u64, u64, true>(
        widest,
        made("fn wide(a: i8, b: i64) -> i64 { a as i64 - b }"),
        |x| x as u8 as u32,
        |x| x,
    );
    let any = DynMonoid::<bool, true>::new(made("fn or(a: bool, b: bool) -> bool { a | b }"), false).terminal(true);
    rows::<u8, u16, bool, true>(
        any,
        made("fn near(a: u8, b: u16) -> bool { (a as u16) > b }"),
        |x| x as u8,
        |x| x as u16,
    );
    let bits = DynMonoid::<u32, true>::new(made("fn or(a: u16, b: u16) -> u16 { a | b }"), 0).terminal(0xffff);
    rows::<u32, u32, u32, true>(
        bits,
        made("fn mark(a: u8, b: bool) -> u16 { 1u16 << (a as u32 * b as u32) }"),
        |x| x as u8 as u32,
        |x| x as u32 & 1,
    );
}

#[test]
fn rows_are_folded_over_the_tree() {
    let real = |x: u64| (x % 20_001) as f32 / 97.0 - 100.0;
    let plus = DynMonoid::<f32, false>::new(made("fn add(a: f32, b: f32) -> f32 { a + b }"), -0.0);
    rows::<f32, f32, f32, false>(plus, made("fn mul(a: f32, b: f32) -> f32 { a * b }"), real, real);
    let words = DynMonoid::<u32, false>::new(made("fn add(a: f32, b: f32) -> f32 { a + b }"), 0);
    let word = |x: u64| real(x).to_bits();
    rows::<u32, u32, u32, false>(words, made("fn mul(a: f32, b: f32) -> f32 { a * b }"), word, word);
    let nan = |x: u64| if x.is_multiple_of(50) { f32::NAN.to_bits() } else { word(x) };
    rows::<u32, u32, u32, false>(words, made("fn mul(a: f32, b: f32) -> f32 { a * b }"), nan, word);
    let double = DynMonoid::<u64, false>::new(made("fn add(a: f64, b: f64) -> f64 { a + b }"), 0);
    rows::<u32, (), u64, false>(double, made("fn wide(a: f32, e: ()) -> f64 { a as f64 * 1.5 }"), word, drop);
    let half = DynMonoid::<u32, false>::new(made("fn add(a: f16, b: f16) -> f16 { a + b }"), 0);
    let small = |x: u64| half::f16::from_f32(real(x)).to_bits().into();
    rows::<u32, u32, u32, false>(half, made("fn mul(a: f16, b: f16) -> f16 { a * b }"), small, small);
    // log-sum-exp, by the interpreter's functions
    let sum = "fn log_sum(a: f64, b: f64) -> f64 { let most = a.max(b); let least = a.min(b); most + (least - most).exp().ln_1p() }";
    let logs = DynMonoid::<f64, false>::new(made(sum), f64::NEG_INFINITY);
    rows::<f64, f64, f64, false>(
        logs,
        made("fn add(a: f64, b: f64) -> f64 { a + b }"),
        |x| real(x).into(),
        |x| real(x).into(),
    );
}

#[test]
fn pushes_join_what_changes() {
    fn check<A: Element, T: Element>(
        ring: impl Semiring<T, A, Out = T>,
        weight: impl Fn(u64) -> A,
        element: impl Fn(u64) -> T,
    ) {
        jit::prepare_push(ring);
        let mut numbers = Numbers(4);
        for length in [0, 1, 2, 3, 50, 256] {
            let columns: Vec<u32> = (0..length).map(|_| (numbers.next() % 300) as u32).collect();
            let weights: Vec<A> = (0..length).map(|_| weight(numbers.next())).collect();
            let (x, start): (T, Vec<T>) =
                (element(numbers.next()), (0..300).map(|_| element(numbers.next())).collect());
            let (mut state, mut expected) = (start.clone(), Vec::new());
            for (k, (&j, &a)) in columns.iter().zip(&weights).enumerate() {
                let held = state[j as usize];
                let joined = ring.add().call(held, ring.mul().call(x, a));
                if joined.bits() != held.bits() {
                    state[j as usize] = joined;
                    expected.push((k as u32, held.bits()));
                }
            }
            for alone in [false, true] {
                let code = RowPush::<T, A, T>::of(ring, alone).expect("there is code for this processor");
                let (mut own, mut found, mut before) = (start.clone(), [7; 256], [T::ZERO; 256]);
                // SAFETY: columns are below 300, and no other thread knows of the state
                let number = unsafe { code.push(&columns, &weights, x, own.as_mut_ptr(), (&mut found, &mut before)) };
                let changed: Vec<_> = found.into_iter().zip(before.map(T::bits)).take(number).collect();
                assert_eq!(changed, expected, "{length} entries, alone {alone}");
                assert_eq!(
                    own.iter().map(|x| x.bits()).collect::<Vec<_>>(),
                    state.iter().map(|x| x.bits()).collect::<Vec<_>>()
                );
            }
        }
    }
    let least = DynMonoid::<u32, true>::new(made("fn min(a: u32, b: u32) -> u32 { a.min(b) }"), u32::MAX);
    let longer = "fn longer(a: u32, b: u32) -> u32 { let sum = a + b; if sum < a { u32::MAX } else { sum } }";
    check(semiring(least, made::<u32, u32, u32>(longer)), |x| x as u32 % 100, |x| x as u32 % 1000);
    let hops = made::<u32, (), u32>("fn hop(a: u32, e: ()) -> u32 { a.saturating_add(1) }");
    check(semiring(least, hops), drop, |x| x as u32 % 1000);
    let shortest =
        DynMonoid::<u64, true>::new(made("fn min(a: f64, b: f64) -> f64 { a.min(b) }"), f64::INFINITY.to_bits());
    let real = |x: u64| if x.is_multiple_of(20) { f64::NAN } else { (x % 1000) as f64 / 7.0 };
    let word = |x: u64| real(x).bits();
    check(semiring(shortest, made::<u64, u64, u64>("fn add(a: f64, b: f64) -> f64 { a + b }")), word, word);
    // elements of their own types, narrow ones and floats
    let typed = DynMonoid::<f64, true>::new(made("fn min(a: f64, b: f64) -> f64 { a.min(b) }"), f64::INFINITY);
    check(semiring(typed, made::<f64, f64, f64>("fn add(a: f64, b: f64) -> f64 { a + b }")), real, real);
    let most = DynMonoid::<u8, true>::new(made("fn max(a: u8, b: u8) -> u8 { a.max(b) }"), 0);
    check(
        semiring(most, made::<u8, u16, u8>("fn low(a: u8, b: u16) -> u8 { a.saturating_sub(b as u8) }")),
        |x| x as u16,
        |x| x as u8,
    );
    let any = DynMonoid::<bool, true>::new(made("fn or(a: bool, b: bool) -> bool { a | b }"), false);
    check(semiring(any, made::<bool, (), bool>("fn same(a: bool, e: ()) -> bool { a }")), drop, |x| {
        x.is_multiple_of(3)
    });
}

/// Threads that push into one state lose nothing.
#[test]
fn threads_push_at_once() {
    use std::sync::atomic::{AtomicU32, Ordering};
    let plus = DynMonoid::<u32, true>::new(made("fn add(a: u32, b: u32) -> u32 { a + b }"), 0);
    let ring = semiring(plus, made::<u32, u32, u32>("fn second(a: u32, b: u32) -> u32 { b }"));
    jit::prepare_push(ring);
    let code = RowPush::<u32, u32, u32>::of(ring, false).expect("there is code for this processor");
    let state: Vec<AtomicU32> = (0..4).map(AtomicU32::new).collect();
    let (columns, weights) = ([0, 1, 2, 3, 2, 1], [1, 2, 3, 4, 5, 6]);
    let changes: usize = std::thread::scope(|scope| {
        let push = || {
            let (mut found, mut before) = ([0; 6], [0; 6]);
            let elements = state.as_ptr().cast_mut().cast();
            // SAFETY: columns are below 4, and elements are atomic words
            unsafe { code.push(&columns, &weights, 0, elements, (&mut found, &mut before)) }
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(move || (0..5000).map(|_| push()).sum::<usize>())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(changes, 4 * 5000 * 6);
    let found: Vec<u32> = state.iter().map(|x| x.load(Ordering::Relaxed)).collect();
    assert_eq!(found, [20_000, 1 + 160_000, 2 + 160_000, 3 + 80_000]);
}

/// Programs that differ in captured constants share their code.
#[test]
fn captured_constants_share_code() {
    let scaled = |by: f32| {
        let mut code = Builder::new("scaled", &[Kind::F32, Kind::F32]).unwrap();
        let constant = code.constant(Kind::F32, by.bits(), true).unwrap();
        let product = code.call("mul", &[code.parameter(0).unwrap(), code.parameter(1).unwrap()]).unwrap();
        let result = code.call("mul", &[product, constant]).unwrap();
        code.finish(result).unwrap()
    };
    let plus = |but: f32| {
        let mut code = Builder::new("plus_but", &[Kind::F32, Kind::F32]).unwrap();
        let constant = code.constant(Kind::F32, but.bits(), true).unwrap();
        let sum = code.call("add", &[code.parameter(0).unwrap(), code.parameter(1).unwrap()]).unwrap();
        let result = code.call("min", &[sum, constant]).unwrap();
        DynMonoid::<f32, false>::new(DynBinary::new(code.finish(result).unwrap()).unwrap(), 0.0)
    };
    assert!(!scaled(2.0).is_compiled());
    scaled(3.0).compile();
    assert!(scaled(2.0).is_compiled(), "it differs in a captured constant only");
    for by in [2.0f32, 3.0, -0.5] {
        let product = scaled(by).call_bits([1.5f32.bits(), 4.0f32.bits(), 0]);
        assert_eq!(product, (1.5 * 4.0 * by).bits());
    }
    let ring = |by: f32, most: f32| semiring(plus(most), DynBinary::<f32, f32, f32>::new(scaled(by)).unwrap());
    jit::prepare(ring(2.0, 100.0), false);
    let vector = [1.0f32, 2.0, 3.0];
    for (by, most, expected) in [(2.0, 100.0, 28.0f32), (10.0, 1000.0, 140.0), (10.0, 90.0, 90.0)] {
        let code = RowFold::<f32, f32, f32>::of(ring(by, most), false).expect("it was made for other constants");
        // SAFETY: columns are below 3
        assert_eq!(unsafe { code.fold(&[0, 1, 2], &[1.0, 2.0, 3.0], vector.as_ptr()) }, Some(expected));
    }
}

/// The multiplication of a program that takes other kinds than the operator's elements are.
#[derive(Debug, Clone, Copy)]
struct Foreign(Program);

impl Source for Foreign {
    fn source(self, _: &mut KernelText) -> String {
        "foreign".to_owned()
    }
}

impl<X: Element> BinaryOp<X, ()> for Foreign {
    type Out = u32;
    const IS_PROGRAM: bool = true;
    fn call(self, _: X, (): ()) -> u32 {
        0
    }
    fn as_program(self) -> Option<Program> {
        Some(self.0)
    }
}

/// Machine code would read 8 bytes of an element of 1, or take bits of a float for an integer's.
#[test]
fn programs_of_other_kinds_have_no_code() {
    let least = DynMonoid::<u32, true>::new(made("fn min(a: u32, b: u32) -> u32 { a.min(b) }"), u32::MAX);
    let wide = semiring(least, Foreign(Program::parse("fn wide(a: u64, e: ()) -> u32 { a as u32 }").unwrap()));
    jit::prepare::<u8, (), _>(wide, false);
    assert!(RowFold::<u8, (), u32>::of(wide, false).is_none());
    let bits = semiring(least, Foreign(Program::parse("fn bits(a: u32, e: ()) -> u32 { a }").unwrap()));
    jit::prepare::<f32, (), _>(bits, false);
    assert!(RowFold::<f32, (), u32>::of(bits, false).is_none());
    let float = made::<u32, (), u32>("fn half(a: f32, e: ()) -> f32 { a * 0.5 }");
    jit::prepare(semiring(least, float), false);
    assert!(RowFold::<u32, (), u32>::of(semiring(least, float), false).is_none());
}
