//! Operations on `f32` and `f64` as instructions.

use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{InstBuilder, MemFlags, Value as Held, types};

use super::values::{Writer, type_of};
use crate::dynamic::kind::Kind;
use crate::dynamic::operation::Operation;

impl Writer<'_, '_> {
    /// An operation on `f32` or `f64`, if there are instructions for it.
    pub(super) fn of_floats(&mut self, operation: Operation, kind: Kind, [a, b, c]: [Held; 3]) -> Option<Held> {
        let condition = match operation {
            Operation::Eq => Some(FloatCC::Equal),
            Operation::Ne => Some(FloatCC::NotEqual),
            Operation::Lt => Some(FloatCC::LessThan),
            Operation::Le => Some(FloatCC::LessThanOrEqual),
            Operation::Gt => Some(FloatCC::GreaterThan),
            Operation::Ge => Some(FloatCC::GreaterThanOrEqual),
            _ => None,
        };
        if let Some(condition) = condition {
            return Some(self.to.ins().fcmp(condition, a, b));
        }
        let is_nan = |this: &mut Self, x| this.to.ins().fcmp(FloatCC::Unordered, x, x);
        Some(match operation {
            Operation::Min | Operation::Max => {
                let below = if operation == Operation::Min { FloatCC::LessThan } else { FloatCC::GreaterThan };
                let (better, equal) = (self.to.ins().fcmp(below, a, b), self.to.ins().fcmp(FloatCC::Equal, a, b));
                let (no_number, first) = (is_nan(self, b), self.choose(better, a, b));
                // equal values differ at most in the sign of a zero
                let bits = if kind == Kind::F32 { types::I32 } else { types::I64 };
                let [x, y] = [a, b].map(|value| self.to.ins().bitcast(bits, MemFlags::new(), value));
                let joined = match operation {
                    Operation::Min => self.to.ins().bor(x, y),
                    _ => self.to.ins().band(x, y),
                };
                let joined = self.to.ins().bitcast(type_of(kind), MemFlags::new(), joined);
                let found = self.choose(equal, joined, first);
                self.choose(no_number, a, found)
            }
            Operation::Clamp => {
                let raised = self.of_floats(Operation::Max, kind, [a, b, b])?;
                self.of_floats(Operation::Min, kind, [raised, c, c])?
            }
            Operation::Add => self.to.ins().fadd(a, b),
            Operation::Sub => self.to.ins().fsub(a, b),
            Operation::Mul => self.to.ins().fmul(a, b),
            Operation::Div => self.to.ins().fdiv(a, b),
            Operation::Neg => self.to.ins().fneg(a),
            Operation::Abs => self.to.ins().fabs(a),
            Operation::Sqrt => self.to.ins().sqrt(a),
            Operation::Signum => {
                let one = self.constant(kind, if kind == Kind::F32 { 1f32.to_bits().into() } else { 1f64.to_bits() });
                let (no_number, sign) = (is_nan(self, a), self.to.ins().fcopysign(one, a));
                self.choose(no_number, a, sign)
            }
            Operation::Copysign => {
                let (no_number, plain) = (is_nan(self, b), self.to.ins().fabs(a));
                let signed = self.to.ins().fcopysign(a, b);
                self.choose(no_number, plain, signed)
            }
            Operation::ToBits => {
                let word = self.pack(kind, a);
                self.narrowed(if kind == Kind::F32 { types::I32 } else { types::I64 }, word)
            }
            Operation::IsNan => is_nan(self, a),
            Operation::IsFinite | Operation::IsInfinite => {
                let infinity = match kind {
                    Kind::F32 => f32::INFINITY.to_bits().into(),
                    _ => f64::INFINITY.to_bits(),
                };
                let (size, infinity) = (self.to.ins().fabs(a), self.constant(kind, infinity));
                let finite = operation == Operation::IsFinite;
                self.to.ins().fcmp(if finite { FloatCC::LessThan } else { FloatCC::Equal }, size, infinity)
            }
            _ => return None,
        })
    }
}
