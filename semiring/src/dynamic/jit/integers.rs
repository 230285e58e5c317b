//! Operations on integers and `bool` as instructions.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Type, Value as Held, types};

use super::values::{Writer, is_signed, type_of};
use crate::dynamic::kind::Kind;
use crate::dynamic::operation::Operation;

impl Writer<'_, '_> {
    /// An operation on integers or `bool`, if there are instructions for it.
    pub(super) fn of_integers(&mut self, operation: Operation, kind: Kind, [a, b, c]: [Held; 3]) -> Option<Held> {
        let (of, signed) = (type_of(kind), is_signed(kind));
        let by_sign = |signed_one, other| if signed { signed_one } else { other };
        let below = by_sign(IntCC::SignedLessThan, IntCC::UnsignedLessThan);
        let above = by_sign(IntCC::SignedGreaterThan, IntCC::UnsignedGreaterThan);
        let compare = |condition| Some(condition);
        let condition = match operation {
            Operation::Eq => compare(IntCC::Equal),
            Operation::Ne => compare(IntCC::NotEqual),
            Operation::Lt => compare(below),
            Operation::Le => compare(by_sign(IntCC::SignedLessThanOrEqual, IntCC::UnsignedLessThanOrEqual)),
            Operation::Gt => compare(above),
            Operation::Ge => compare(by_sign(IntCC::SignedGreaterThanOrEqual, IntCC::UnsignedGreaterThanOrEqual)),
            _ => None,
        };
        if let Some(condition) = condition {
            return Some(self.to.ins().icmp(condition, a, b));
        }
        Some(match operation {
            Operation::Min => {
                let less = self.to.ins().icmp(below, b, a);
                self.choose(less, b, a)
            }
            Operation::Max => {
                let greater = self.to.ins().icmp(above, b, a);
                self.choose(greater, b, a)
            }
            Operation::Clamp => {
                let raised = self.of_integers(Operation::Max, kind, [a, b, b])?;
                self.of_integers(Operation::Min, kind, [raised, c, c])?
            }
            Operation::Add => self.to.ins().iadd(a, b),
            Operation::Sub => self.to.ins().isub(a, b),
            Operation::Mul => {
                let (a, b) = (self.widened(kind, a), self.widened(kind, b));
                let product = self.to.ins().imul(a, b);
                self.narrowed(of, product)
            }
            Operation::Div | Operation::Rem => self.quotient(operation == Operation::Div, kind, a, b),
            Operation::Neg => self.to.ins().ineg(a),
            Operation::Abs if signed => {
                let (negative, other) = (self.to.ins().icmp_imm(IntCC::SignedLessThan, a, 0), self.to.ins().ineg(a));
                self.choose(negative, other, a)
            }
            Operation::Abs => a,
            Operation::Signum => {
                let positive = self.to.ins().icmp_imm(above, a, 0);
                let sign = self.to.ins().uextend(types::I64, positive);
                let sign = match signed {
                    false => sign,
                    true => {
                        let negative = self.to.ins().icmp_imm(IntCC::SignedLessThan, a, 0);
                        let negative = self.to.ins().uextend(types::I64, negative);
                        self.to.ins().isub(sign, negative)
                    }
                };
                self.narrowed(of, sign)
            }
            Operation::BitAnd => self.to.ins().band(a, b),
            Operation::BitOr => self.to.ins().bor(a, b),
            Operation::BitXor => self.to.ins().bxor(a, b),
            Operation::Not if kind == Kind::Bool => self.to.ins().bxor_imm(a, 1),
            Operation::Not => self.to.ins().bnot(a),
            Operation::SaturatingAdd if !signed => {
                let sum = self.to.ins().iadd(a, b);
                let (wrapped, most) = (self.to.ins().icmp(below, sum, a), self.constant(kind, u64::MAX));
                self.choose(wrapped, most, sum)
            }
            Operation::SaturatingSub if !signed => {
                let difference = self.to.ins().isub(a, b);
                let (wrapped, least) = (self.to.ins().icmp(below, a, b), self.constant(kind, 0));
                self.choose(wrapped, least, difference)
            }
            Operation::SaturatingAdd | Operation::SaturatingSub => {
                let adds = operation == Operation::SaturatingAdd;
                let result = if adds { self.to.ins().iadd(a, b) } else { self.to.ins().isub(a, b) };
                // it wrapped if its sign is none that the operands allow
                let (x, y) = (self.to.ins().bxor(a, result), if adds { b } else { a });
                let y = if adds { self.to.ins().bxor(y, result) } else { self.to.ins().bxor(y, b) };
                let both = self.to.ins().band(x, y);
                let wrapped = self.to.ins().icmp_imm(IntCC::SignedLessThan, both, 0);
                let (sign, most) = (
                    self.to.ins().sshr_imm(a, i64::from(of.bits()) - 1),
                    self.constant(kind, u64::MAX >> (65 - of.bits())),
                );
                let limit = self.to.ins().bxor(sign, most);
                self.choose(wrapped, limit, result)
            }
            Operation::AbsDiff => {
                let (less, one) = (self.to.ins().icmp(below, a, b), self.to.ins().isub(b, a));
                let other = self.to.ins().isub(a, b);
                self.choose(less, one, other)
            }
            Operation::Shl | Operation::Shr | Operation::RotateLeft | Operation::RotateRight => {
                let by = self.to.ins().band_imm(b, i64::from(of.bits()) - 1);
                let by = if of == types::I64 { self.to.ins().uextend(of, by) } else { self.narrowed(of, by) };
                match operation {
                    Operation::Shl => self.to.ins().ishl(a, by),
                    Operation::Shr if signed => self.to.ins().sshr(a, by),
                    Operation::Shr => self.to.ins().ushr(a, by),
                    Operation::RotateLeft => self.to.ins().rotl(a, by),
                    _ => self.to.ins().rotr(a, by),
                }
            }
            Operation::CountOnes | Operation::LeadingZeros | Operation::TrailingZeros => self.counted(operation, of, a),
            Operation::CountZeros | Operation::LeadingOnes | Operation::TrailingOnes => {
                let other = self.to.ins().bnot(a);
                let same = match operation {
                    Operation::CountZeros => Operation::CountOnes,
                    Operation::LeadingOnes => Operation::LeadingZeros,
                    _ => Operation::TrailingZeros,
                };
                self.counted(same, of, other)
            }
            _ => return None,
        })
    }

    /// The quotient, 0 if `b` is 0; or the remainder, `a` if `b` is 0. The instruction traps on 0, and on the least number by -1.
    fn quotient(&mut self, is_quotient: bool, kind: Kind, a: Held, b: Held) -> Held {
        let (of, signed) = (type_of(kind), is_signed(kind));
        let (a, b) = (self.widened(kind, a), self.widened(kind, b));
        let wide = self.to.func.dfg.value_type(a);
        let is_zero = self.to.ins().icmp_imm(IntCC::Equal, b, 0);
        let (one, zero) = (self.to.ins().iconst(wide, 1), self.to.ins().iconst(wide, 0));
        let mut by = self.choose(is_zero, one, b);
        let negates = signed.then(|| self.to.ins().icmp_imm(IntCC::Equal, b, -1));
        if let Some(negates) = negates {
            by = self.choose(negates, one, by);
        }
        let result = match (is_quotient, signed) {
            (true, true) => self.to.ins().sdiv(a, by),
            (true, false) => self.to.ins().udiv(a, by),
            (false, true) => self.to.ins().srem(a, by),
            (false, false) => self.to.ins().urem(a, by),
        };
        let result = match negates {
            Some(negates) if is_quotient => {
                let negated = self.to.ins().ineg(a);
                self.choose(negates, negated, result)
            }
            _ => result,
        };
        let result = self.choose(is_zero, if is_quotient { zero } else { a }, result);
        self.narrowed(of, result)
    }

    /// A count of bits, in 32 bits.
    fn counted(&mut self, operation: Operation, of: Type, a: Held) -> Held {
        let narrow = of.bits() < 32;
        let wide = if narrow { self.to.ins().uextend(types::I32, a) } else { a };
        let count = match operation {
            Operation::CountOnes => self.to.ins().popcnt(wide),
            Operation::LeadingZeros => {
                let zeros = self.to.ins().clz(wide);
                if narrow { self.to.ins().iadd_imm(zeros, i64::from(of.bits()) - 32) } else { zeros }
            }
            _ => {
                let ended = if narrow { self.to.ins().bor_imm(wide, 1 << of.bits()) } else { wide };
                self.to.ins().ctz(ended)
            }
        };
        self.narrowed(types::I32, count)
    }
}
