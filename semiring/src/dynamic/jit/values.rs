//! Operations as instructions of Cranelift's, with the bits of [`lowered`](crate::lowered).
//!
//! What has no short sequence of instructions, and all of 16-bit floats, calls the interpreter's function.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, MemFlags, SigRef, Type, Value as Held, types};
use cranelift_frontend::FunctionBuilder;

use super::code::{address, compile, signature};
use crate::dynamic::kind::Kind;
use crate::dynamic::operation::{Function, Operation, cast, of_bits};
use crate::dynamic::program::{Text, Value};

/// Runs a function of the interpreter's. Compiled code calls it, since Rust's own calling convention is no contract.
///
/// # Safety
/// `function` is a [`Function`].
unsafe extern "C" fn apply(function: *const (), a: u64, b: u64, c: u64) -> u64 {
    // SAFETY: the caller's
    let function: Function = unsafe { std::mem::transmute(function) };
    function(a, b, c)
}

/// The code of a program.
pub(super) fn compiled(text: &Text) -> Option<super::Call> {
    let address = address()?;
    let code = compile(&[types::I64, types::I64, types::I64, address], |to| {
        let entry = to.create_block();
        to.append_block_params_for_function_params(entry);
        to.switch_to_block(entry);
        let words = [0, 1, 2].map(|at| to.block_params(entry)[at]);
        let constants = to.block_params(entry)[3];
        let w = &mut Writer::new(to, address);
        let mut arguments = [None; 3];
        for ((argument, kind), word) in arguments.iter_mut().zip(&text.parameters).zip(words) {
            *argument = (kind.size() > 0).then(|| w.unpack(*kind, word));
        }
        let result = w.program(text, constants, arguments);
        let bits = w.pack(text.values[usize::from(text.result)].1, result);
        w.to.ins().return_(&[bits]);
    })?;
    // SAFETY: it was compiled with the parameters and the result of this type
    Some(unsafe { std::mem::transmute::<*const u8, super::Call>(code) })
}

/// The type of a value of the kind. `bool` is a byte, 0 or 1; a 16-bit float is its bits.
pub(super) fn type_of(kind: Kind) -> Type {
    match kind {
        Kind::Unit | Kind::Bool | Kind::I8 | Kind::U8 => types::I8,
        Kind::I16 | Kind::U16 | Kind::F16 | Kind::Bf16 => types::I16,
        Kind::I32 | Kind::U32 => types::I32,
        Kind::I64 | Kind::U64 => types::I64,
        Kind::F32 => types::F32,
        Kind::F64 => types::F64,
    }
}

pub(super) fn is_signed(kind: Kind) -> bool {
    matches!(kind, Kind::I8 | Kind::I16 | Kind::I32 | Kind::I64)
}

/// Whether the processor computes with it as a float.
fn is_wide_float(kind: Kind) -> bool {
    matches!(kind, Kind::F32 | Kind::F64)
}

/// Writes instructions of one function.
pub(super) struct Writer<'f, 'b> {
    pub(super) to: &'f mut FunctionBuilder<'b>,
    address: Type,
    /// The signature of [`apply`], once something calls it.
    apply: Option<SigRef>,
}

impl<'f, 'b> Writer<'f, 'b> {
    pub(super) fn new(to: &'f mut FunctionBuilder<'b>, address: Type) -> Self {
        Self { to, address, apply: None }
    }

    /// A value of the kind from a word that holds its bits, and may be wider.
    pub(super) fn unpack(&mut self, kind: Kind, word: Held) -> Held {
        let of = type_of(kind);
        if of.is_float() {
            let bits = self.narrowed(of.as_int(), word);
            return self.to.ins().bitcast(of, MemFlags::new(), bits);
        }
        let held = self.narrowed(of, word);
        if kind == Kind::Bool { self.to.ins().band_imm(held, 1) } else { held }
    }

    /// The bits of a value of the kind, in a word of 64 bits. All NaNs have the same, as [`Element::bits`](crate::Element::bits) says.
    pub(super) fn pack(&mut self, kind: Kind, value: Held) -> Held {
        let bits = match kind {
            Kind::F32 => {
                let bits = self.to.ins().bitcast(types::I32, MemFlags::new(), value);
                self.without_payload(value, bits, types::I32, 0x7fc0_0000)
            }
            Kind::F64 => {
                let bits = self.to.ins().bitcast(types::I64, MemFlags::new(), value);
                self.without_payload(value, bits, types::I64, 0x7ff8_0000_0000_0000)
            }
            Kind::F16 => self.without_payload_16(value, 0x7c00, 0x7e00),
            Kind::Bf16 => self.without_payload_16(value, 0x7f80, 0x7fc0),
            _ => value,
        };
        if self.to.func.dfg.value_type(bits) == types::I64 { bits } else { self.to.ins().uextend(types::I64, bits) }
    }

    /// The bits of an `f32` or `f64`, where a NaN's are `nan`.
    fn without_payload(&mut self, value: Held, bits: Held, of: Type, nan: i64) -> Held {
        let (is_nan, nan) = (self.to.ins().fcmp(FloatCC::Unordered, value, value), self.to.ins().iconst(of, nan));
        self.to.ins().select(is_nan, nan, bits)
    }

    /// The bits of a 16-bit float, where a NaN's are `nan`.
    fn without_payload_16(&mut self, bits: Held, infinity: i64, nan: i64) -> Held {
        let size = self.to.ins().band_imm(bits, 0x7fff);
        let is_nan = self.to.ins().icmp_imm(IntCC::UnsignedGreaterThan, size, infinity);
        let nan = self.to.ins().iconst(types::I16, nan);
        self.to.ins().select(is_nan, nan, bits)
    }

    /// The result of a program for arguments of its parameters' kinds; `None` for the entry of a pattern, which it doesn't read.
    /// Captured constants are read from memory at `constants`.
    pub(super) fn program(&mut self, text: &Text, constants: Held, arguments: [Option<Held>; 3]) -> Held {
        let mut values: Vec<Option<Held>> = Vec::with_capacity(text.values.len());
        let mut captured = 0;
        for (value, kind) in &text.values {
            let of = |id: u16| (values[usize::from(id)].expect("operands have values"), text.values[usize::from(id)].1);
            let made = match *value {
                Value::Parameter(at) => arguments[usize::from(at)],
                Value::Constant { bits, captured: false } => Some(self.constant(*kind, bits)),
                Value::Constant { .. } => {
                    // nothing writes them, so a loop reads them once
                    let flags = MemFlags::trusted().with_readonly();
                    let word = self.to.ins().load(types::I64, flags, constants, captured * 8);
                    captured += 1;
                    Some(self.unpack(*kind, word))
                }
                Value::Call(operation, operands) => {
                    let kinds = operands.map(|id| of(id).1);
                    Some(self.call(operation, kinds, operands.map(|id| of(id).0)))
                }
                Value::Cast(operand) => {
                    let (operand, from) = of(operand);
                    Some(self.cast(from, *kind, operand))
                }
                Value::OfBits(operand) => {
                    let (operand, from) = of(operand);
                    Some(match is_wide_float(*kind) {
                        true => self.to.ins().bitcast(type_of(*kind), MemFlags::new(), operand),
                        false => self.interpreted(of_bits(*kind).expect("a float"), &[(from, operand)], *kind),
                    })
                }
                Value::Select([test, yes, no]) => Some(self.to.ins().select(of(test).0, of(yes).0, of(no).0)),
            };
            values.push(made);
        }
        values[usize::from(text.result)].expect("a program's result has a value")
    }

    pub(super) fn constant(&mut self, kind: Kind, bits: u64) -> Held {
        match kind {
            Kind::F32 => self.to.ins().f32const(f32::from_bits(bits as u32)),
            Kind::F64 => self.to.ins().f64const(f64::from_bits(bits)),
            Kind::Bool => self.to.ins().iconst(types::I8, (bits & 1) as i64),
            _ => {
                let of = type_of(kind);
                // an immediate has no bits above the type's
                let shift = 64 - of.bits();
                self.to.ins().iconst(of, (bits << shift >> shift) as i64)
            }
        }
    }

    /// The operation by the interpreter's function.
    fn interpreted(&mut self, function: Function, operands: &[(Kind, Held)], result: Kind) -> Held {
        let (address, convention) = (self.address, self.to.func.signature.call_conv);
        let apply = *self.apply.get_or_insert_with(|| {
            self.to.import_signature(signature(&[address, types::I64, types::I64, types::I64], convention))
        });
        let code = self.to.ins().iconst(address, self::apply as *const () as i64);
        let mut arguments = vec![self.to.ins().iconst(address, function as *const () as i64)];
        for &(kind, operand) in operands {
            let word = self.pack(kind, operand);
            arguments.push(word);
        }
        arguments.resize_with(4, || self.to.ins().iconst(types::I64, 0));
        let call = self.to.ins().call_indirect(apply, code, &arguments);
        let word = self.to.inst_results(call)[0];
        self.unpack(result, word)
    }

    fn call(&mut self, operation: Operation, kinds: [Kind; 3], operands: [Held; 3]) -> Held {
        let kind = kinds[0];
        let made = match kind {
            Kind::F16 | Kind::Bf16 => None,
            Kind::F32 | Kind::F64 => self.of_floats(operation, kind, operands),
            _ => self.of_integers(operation, kind, operands),
        };
        made.unwrap_or_else(|| {
            let operands: Vec<_> = kinds.into_iter().zip(operands).take(operation.arity()).collect();
            self.interpreted(operation.function(kind), &operands, operation.result(kind))
        })
    }

    /// `if test { yes } else { no }`.
    pub(super) fn choose(&mut self, test: Held, yes: Held, no: Held) -> Held {
        self.to.ins().select(test, yes, no)
    }

    /// The value in 32 bits, if it has fewer.
    pub(super) fn widened(&mut self, kind: Kind, value: Held) -> Held {
        match (type_of(kind).bits() < 32, is_signed(kind)) {
            (false, _) => value,
            (true, true) => self.to.ins().sextend(types::I32, value),
            (true, false) => self.to.ins().uextend(types::I32, value),
        }
    }

    /// The low bits of an integer, of this type.
    pub(super) fn narrowed(&mut self, of: Type, value: Held) -> Held {
        if self.to.func.dfg.value_type(value) == of { value } else { self.to.ins().ireduce(of, value) }
    }

    fn cast(&mut self, from: Kind, to: Kind, value: Held) -> Held {
        let (is_narrow_float, of) = (|kind| matches!(kind, Kind::F16 | Kind::Bf16), type_of(to));
        if is_narrow_float(from) || is_narrow_float(to) {
            return self.interpreted(cast(from, to).expect("the builder checked the cast"), &[(from, value)], to);
        }
        match (is_wide_float(from), is_wide_float(to)) {
            (false, false) => {
                let (held, wanted) = (type_of(from).bits(), of.bits());
                match wanted.cmp(&held) {
                    std::cmp::Ordering::Less => self.to.ins().ireduce(of, value),
                    std::cmp::Ordering::Equal => value,
                    std::cmp::Ordering::Greater if is_signed(from) => self.to.ins().sextend(of, value),
                    std::cmp::Ordering::Greater => self.to.ins().uextend(of, value),
                }
            }
            (false, true) => {
                let wide = self.widened(from, value);
                match is_signed(from) {
                    true => self.to.ins().fcvt_from_sint(of, wide),
                    false => self.to.ins().fcvt_from_uint(of, wide),
                }
            }
            (true, true) if from == Kind::F32 => self.to.ins().fpromote(of, value),
            (true, true) => self.to.ins().fdemote(of, value),
            (true, false) => {
                let wide = if of.bits() < 32 { types::I32 } else { of };
                let number = match is_signed(to) {
                    true => self.to.ins().fcvt_to_sint_sat(wide, value),
                    false => self.to.ins().fcvt_to_uint_sat(wide, value),
                };
                if wide == of {
                    return number;
                }
                // saturate to the narrow type's own range
                let (least, most) = match is_signed(to) {
                    true => (-(1i64 << (of.bits() - 1)), (1i64 << (of.bits() - 1)) - 1),
                    false => (0, (1i64 << of.bits()) - 1),
                };
                let wide_kind = if is_signed(to) { Kind::I32 } else { Kind::U32 };
                let [least, most] = [least, most].map(|limit| self.to.ins().iconst(wide, limit & 0xffff_ffff));
                let clamped = self
                    .of_integers(Operation::Clamp, wide_kind, [number, least, most])
                    .expect("there are instructions for it");
                self.narrowed(of, clamped)
            }
        }
    }
}
