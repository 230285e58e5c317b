//! How a CPU runs programs: a call through a pointer for each operation, on registers.

use super::jit::Machine;
use super::operation::{Function, cast, of_bits, select};
use super::program::{Id, Program, Text, Value};
use std::sync::OnceLock;

/// The registers of a program with few values, and with more.
const FEW: usize = 8;
const SOME: usize = 32;
const MOST: usize = 512;

/// An operation on registers.
#[derive(Debug, Clone, Copy)]
struct Step {
    function: Function,
    operands: [u16; 3],
    to: u16,
}

/// What computes the result. Arrays are the registers before the first step: three for the arguments, then constants, and zeros elsewhere.
#[derive(Debug)]
enum Code {
    First,
    Second,
    /// A single operation on the parameters in order.
    Single(Function),
    Few([u64; FEW]),
    Some([u64; SOME]),
    Most(Box<[u64; MOST]>),
}

/// A program, ready to run.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) text: Text,
    code: Code,
    steps: Box<[Step]>,
    /// The result's register.
    result: u16,
    /// The program with its two parameters in the other order, once something asked for it.
    pub(super) flipped: OnceLock<Program>,
    /// What was compiled of the program.
    pub(super) machine: Machine,
}

impl Ready {
    pub(super) fn new(text: Text) -> Self {
        let parameters = text.parameters.len();
        let register = |id: Id| if usize::from(id) < parameters { id } else { id - parameters as Id + 3 };
        let steps: Box<[Step]> =
            (0..).zip(&text.values).filter_map(|(id, (value, _))| text.step(value, id, register)).collect();
        let constants = || {
            let bits = (0..).zip(&text.values).filter_map(|(id, (value, _))| match value {
                Value::Constant { bits, .. } => Some((register(id), *bits)),
                _ => None,
            });
            bits.map(|(at, bits)| (usize::from(at), bits))
        };
        let code = match (&*steps, text.result, text.values.len() - parameters) {
            ([], 0, 0) => Code::First,
            ([], 1, 0) => Code::Second,
            ([step], _, 1) if text.takes_parameters_in_order() => Code::Single(step.function),
            (_, _, others) if others + 3 <= FEW => Code::Few(filled(constants())),
            (_, _, others) if others + 3 <= SOME => Code::Some(filled(constants())),
            _ => Code::Most(Box::new(filled(constants()))),
        };
        Self { code, steps, result: register(text.result), flipped: OnceLock::new(), machine: Machine::of(&text), text }
    }

    /// The bits of the result for the bits of the arguments.
    #[inline]
    pub(super) fn call(&self, [a, b, c]: [u64; 3]) -> u64 {
        match self.code {
            Code::First | Code::Second | Code::Single(_) => self.interpret([a, b, c]),
            _ => self.machine.call(self, [a, b, c]).unwrap_or_else(|| self.interpret([a, b, c])),
        }
    }

    /// As [`call`](Self::call), without machine code.
    #[inline]
    fn interpret(&self, [a, b, c]: [u64; 3]) -> u64 {
        match &self.code {
            Code::First => a,
            Code::Second => b,
            Code::Single(function) => function(a, b, c),
            Code::Few(registers) => self.run(*registers, [a, b, c]),
            Code::Some(registers) => self.run(*registers, [a, b, c]),
            Code::Most(registers) => self.run(**registers, [a, b, c]),
        }
    }

    /// Runs the steps. A register's number is below `N`, a power of two, so the remainder only spares the bounds' checks.
    fn run<const N: usize>(&self, mut registers: [u64; N], arguments: [u64; 3]) -> u64 {
        [registers[0], registers[1], registers[2]] = arguments;
        for &Step { function, operands: [a, b, c], to } in &self.steps {
            let (a, b, c) =
                (registers[usize::from(a) % N], registers[usize::from(b) % N], registers[usize::from(c) % N]);
            registers[usize::from(to) % N] = function(a, b, c);
        }
        registers[usize::from(self.result) % N]
    }
}

/// Registers with these values, and zeros elsewhere.
fn filled<const N: usize>(values: impl Iterator<Item = (usize, u64)>) -> [u64; N] {
    let mut registers = [0; N];
    values.for_each(|(at, bits)| registers[at] = bits);
    registers
}

impl Text {
    /// How the value is computed, if it is the result of an operation.
    fn step(&self, value: &Value, id: Id, register: impl Fn(Id) -> u16) -> Option<Step> {
        let kind = |id: Id| self.values[id as usize].1;
        let (function, operands) = match *value {
            Value::Parameter(_) | Value::Constant { .. } => return None,
            Value::Call(operation, operands) => (operation.function(kind(operands[0])), operands),
            Value::OfBits(a) => (of_bits(kind(id)).expect("the builder checked the kind"), [a; 3]),
            Value::Cast(a) => (cast(kind(a), kind(id)).expect("the builder checked the cast"), [a; 3]),
            Value::Select(operands) => (select as Function, operands),
        };
        Some(Step { function, operands: operands.map(&register), to: register(id) })
    }

    /// Whether the last value is an operation on the first parameters in order.
    fn takes_parameters_in_order(&self) -> bool {
        match self.values.last() {
            Some((Value::Call(operation, operands), _)) => {
                operands[..operation.arity()] == [0, 1, 2][..operation.arity()]
            }
            Some((Value::Cast(operand) | Value::OfBits(operand), _)) => *operand == 0,
            Some((Value::Select(operands), _)) => *operands == [0, 1, 2],
            _ => false,
        }
    }
}
