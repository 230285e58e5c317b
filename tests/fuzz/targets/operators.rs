//! Operators made at run time: texts are read or refused, and programs have the same bits interpreted and compiled.
//!
//! The first byte says whether the rest is a text, or steps of a builder.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;
use vxm::semiring::dynamic::{Builder, Kind, Operand, Program};
use vxm::semiring::{Element, KernelText, Source, dynamic};
use vxm_fuzz::Bytes;

/// The names of all operations: a builder lists them where it knows none.
fn operations() -> &'static [String] {
    static NAMES: OnceLock<Vec<String>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let mut code = Builder::new("f", &[Kind::U32]).expect("a plain name");
        let a = code.parameter(0).expect("there is one");
        let refused = code.call("none", &[a]).expect_err("there is no such operation").to_string();
        let (_, names) = refused.split_once("which is none of ").expect("it lists the others");
        names.split(", ").map(str::to_owned).collect()
    })
}

/// The bits of a value of the kind: of all NaNs one has bits.
fn plain(kind: Kind, bits: u64) -> u64 {
    match kind {
        Kind::Unit => 0,
        Kind::Bool => bits & 1,
        Kind::F32 => f32::from_bits(bits as u32).bits(),
        Kind::F64 => f64::from_bits(bits).bits(),
        Kind::F16 if bits & 0x7fff > 0x7c00 => 0x7e00,
        Kind::Bf16 if bits & 0x7fff > 0x7f80 => 0x7fc0,
        _ => bits & (u64::MAX >> (64 - 8 * kind.size())),
    }
}

/// A program of the builder's.
fn built(bytes: &mut Bytes<'_>) -> Option<Program> {
    let count = 1 + bytes.below(3);
    let kinds: Vec<Kind> = (0..count).map(|_| Kind::ALL[bytes.below(Kind::ALL.len())]).collect();
    let mut code = Builder::new("f", &kinds).expect("one to three parameters");
    let mut values: Vec<Operand> = (0..count).filter_map(|at| code.parameter(at).ok()).collect();
    for _ in 0..bytes.below(40) {
        let kind = Kind::ALL[bytes.below(Kind::ALL.len())];
        if values.is_empty() {
            values.extend(code.constant(kind, bytes.word(), false).ok());
            continue;
        }
        // recent values, so that programs grow deep
        let operand = |bytes: &mut Bytes<'_>| values[values.len() - 1 - bytes.below(values.len().min(8))];
        let [a, b, c] = [operand(bytes), operand(bytes), operand(bytes)];
        let made = match bytes.next() % 8 {
            0 => code.cast(a, kind),
            1 => {
                let bits = plain(kind, bytes.word());
                code.constant(kind, bits, bytes.next() % 2 == 0)
            }
            2 => code.select(a, b, c),
            3 => code.of_bits(a, kind),
            _ => {
                let name = &operations()[bytes.below(operations().len())];
                code.call(name, &[a]).or_else(|_| code.call(name, &[a, b])).or_else(|_| code.call(name, &[a, b, c]))
            }
        };
        values.extend(made.ok());
    }
    code.finish(*values.last()?).ok()
}

fn text(bytes: &mut Bytes<'_>) -> Option<Program> {
    let text = str::from_utf8(std::mem::take(&mut bytes.0)).ok()?;
    Program::parse(text).inspect_err(|error| assert!(!error.to_string().is_empty())).ok()
}

/// All values of a program in CUDA C++, over words.
fn written(program: Program) {
    let mut text = KernelText::with_arguments();
    let narrow = |kind: &Kind| kind.fits::<u32>();
    if program.parameters().len() == 2 && program.parameters().iter().all(narrow) && narrow(&program.result()) {
        let op = dynamic::DynBinary::<u32, u32, u32>::new(program).expect("words of 32 bits");
        assert!(!op.source(&mut text).is_empty());
    }
    assert!(program.cuda().contains("VXM_FN"));
}

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let made = if bytes.next() % 2 == 0 { built(&mut bytes) } else { text(&mut bytes) };
    let Some(program) = made else { return };
    written(program);
    let seed = data.iter().fold(7u64, |seed, &byte| seed.wrapping_mul(0x100_0000_01b3) ^ u64::from(byte));
    let arguments: Vec<[u64; 3]> = (0..16u64)
        .map(|k| {
            let mut draw = seed.wrapping_add(k).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            [0, 1, 2].map(|at| {
                draw = (draw ^ draw >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                // few bits set, or many
                let bits = if k % 3 == 0 { draw >> 58 } else { draw };
                program.parameters().get(at).map_or(0, |&kind| plain(kind, bits))
            })
        })
        .collect();
    if program.is_compiled() {
        return;
    }
    let expected: Vec<u64> = arguments.iter().map(|&arguments| program.call_bits(arguments)).collect();
    program.compile();
    for (arguments, expected) in arguments.iter().zip(expected) {
        let found = program.call_bits(*arguments);
        assert_eq!(found, expected, "{program:?} of {arguments:x?}\n{}", program.cuda());
    }
});
