//! The operations of programs: exactly those of [`lowered`](crate::lowered), by name.

use super::kind::{Kind, each_scalar};
use crate::lowered::{self, Bits, Distance, Float, IntegerNumber, Number, Ordered, ToNumbers};
use crate::{Element, Scalar};
use half::{bf16, f16};

/// An operation on the bits of up to three operands. It ignores those that it doesn't take.
pub(super) type Function = fn(u64, u64, u64) -> u64;

/// Which kinds an operation takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Scalars,
    Numbers,
    BitSets,
    Integers,
    Floats,
}

impl Class {
    pub(super) fn has(self, kind: Kind) -> bool {
        match self {
            Self::Scalars => kind != Kind::Unit,
            Self::Numbers => kind.is_integer() || kind.is_float(),
            Self::BitSets => kind.is_integer() || kind == Kind::Bool,
            Self::Integers => kind.is_integer(),
            Self::Floats => kind.is_float(),
        }
    }

    /// The class in words.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Scalars => "scalars",
            Self::Numbers => "numbers",
            Self::BitSets => "integers or bool",
            Self::Integers => "integers",
            Self::Floats => "floats",
        }
    }
}

/// The operands that an operation takes, and its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// One operand; the result has its kind.
    Unary,
    /// Two operands of one kind, which is the result's.
    Binary,
    /// Two operands of one kind; the result is `bool`.
    Compare,
    /// One operand; the result is `bool`.
    Test,
    /// One operand; the result is `u32`.
    Count,
    /// An operand, and a `u32`; the result has the first one's kind.
    Counted,
    /// Three operands of one kind, which is the result's.
    Ternary,
    /// Two operands of one kind; the result is unsigned, of the same width.
    Distance,
    /// One operand; the result is unsigned, of the same width.
    Word,
}

impl Shape {
    /// The number of operands.
    pub(super) fn arity(self) -> usize {
        match self {
            Self::Unary | Self::Test | Self::Count | Self::Word => 1,
            Self::Binary | Self::Compare | Self::Counted | Self::Distance => 2,
            Self::Ternary => 3,
        }
    }
}

macro_rules! operations {
    ($($variant:ident $name:literal $class:ident $shape:ident;)*) => {
        /// An operation with a name of [`lowered`](crate::lowered).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(super) enum Operation {
            $($variant,)*
        }

        impl Operation {
            /// All operations.
            pub(super) const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub(super) fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            pub(super) fn class(self) -> Class {
                match self {
                    $(Self::$variant => Class::$class,)*
                }
            }

            pub(super) fn shape(self) -> Shape {
                match self {
                    $(Self::$variant => Shape::$shape,)*
                }
            }
        }
    };
}
operations! {
    Min "min" Scalars Binary;
    Max "max" Scalars Binary;
    Eq "eq" Scalars Compare;
    Ne "ne" Scalars Compare;
    Lt "lt" Scalars Compare;
    Le "le" Scalars Compare;
    Gt "gt" Scalars Compare;
    Ge "ge" Scalars Compare;
    Add "add" Numbers Binary;
    Sub "sub" Numbers Binary;
    Mul "mul" Numbers Binary;
    Div "div" Numbers Binary;
    Rem "rem" Numbers Binary;
    Neg "neg" Numbers Unary;
    Abs "abs" Numbers Unary;
    Signum "signum" Numbers Unary;
    Clamp "clamp" Scalars Ternary;
    BitAnd "bitand" BitSets Binary;
    BitOr "bitor" BitSets Binary;
    BitXor "bitxor" BitSets Binary;
    Not "not" BitSets Unary;
    SaturatingAdd "saturating_add" Integers Binary;
    SaturatingSub "saturating_sub" Integers Binary;
    SaturatingMul "saturating_mul" Integers Binary;
    AbsDiff "abs_diff" Integers Distance;
    ReverseBits "reverse_bits" Integers Unary;
    Pow "pow" Integers Counted;
    Shl "shl" Integers Counted;
    Shr "shr" Integers Counted;
    RotateLeft "rotate_left" Integers Counted;
    RotateRight "rotate_right" Integers Counted;
    CountOnes "count_ones" Integers Count;
    CountZeros "count_zeros" Integers Count;
    LeadingZeros "leading_zeros" Integers Count;
    LeadingOnes "leading_ones" Integers Count;
    TrailingZeros "trailing_zeros" Integers Count;
    TrailingOnes "trailing_ones" Integers Count;
    Sqrt "sqrt" Floats Unary;
    Floor "floor" Floats Unary;
    Ceil "ceil" Floats Unary;
    Trunc "trunc" Floats Unary;
    Round "round" Floats Unary;
    Copysign "copysign" Floats Binary;
    MulAdd "mul_add" Floats Ternary;
    ToBits "to_bits" Floats Word;
    Exp "exp" Floats Unary;
    Exp2 "exp2" Floats Unary;
    ExpM1 "exp_m1" Floats Unary;
    Ln "ln" Floats Unary;
    Ln1p "ln_1p" Floats Unary;
    Log2 "log2" Floats Unary;
    Log10 "log10" Floats Unary;
    Powf "powf" Floats Binary;
    Tanh "tanh" Floats Unary;
    Sin "sin" Floats Unary;
    Cos "cos" Floats Unary;
    IsNan "is_nan" Floats Test;
    IsFinite "is_finite" Floats Test;
    IsInfinite "is_infinite" Floats Test;
}

impl Operation {
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|operation| operation.name() == name)
    }

    /// The number of operands.
    pub(super) fn arity(self) -> usize {
        self.shape().arity()
    }

    /// Whether kernels have the operation's text only where it is called.
    pub(super) fn is_elementary(self) -> bool {
        crate::elementary::NAMES.contains(&self.name())
    }

    /// The kind of the result for a first operand of kind `kind`.
    pub(super) fn result(self, kind: Kind) -> Kind {
        match self.shape() {
            Shape::Unary | Shape::Binary | Shape::Counted | Shape::Ternary => kind,
            Shape::Distance | Shape::Word => kind.unsigned(),
            Shape::Compare | Shape::Test => Kind::Bool,
            Shape::Count => Kind::U32,
        }
    }

    /// The operation's function on operands of kind `kind`, which must be of its [class](Self::class).
    pub(super) fn function(self, kind: Kind) -> Function {
        match kind {
            Kind::Unit => None,
            Kind::Bool => scalar::<bool>(self).or_else(|| bit_set::<bool>(self)),
            Kind::I8 => integer::<i8>(self),
            Kind::I16 => integer::<i16>(self),
            Kind::I32 => integer::<i32>(self),
            Kind::I64 => integer::<i64>(self),
            Kind::U8 => integer::<u8>(self),
            Kind::U16 => integer::<u16>(self),
            Kind::U32 => integer::<u32>(self),
            Kind::U64 => integer::<u64>(self),
            Kind::F16 => float::<f16>(self),
            Kind::Bf16 => float::<bf16>(self),
            Kind::F32 => float::<f32>(self),
            Kind::F64 => float::<f64>(self),
        }
        .expect("an operation has a function for each kind of its class")
    }
}

/// The value that has these bits.
#[inline(always)]
fn of<T: Element<Bits = u64>>(bits: u64) -> T {
    T::from_bits(bits)
}

fn scalar<T: Ordered>(operation: Operation) -> Option<Function> {
    Some(match operation {
        Operation::Min => |a, b, _| lowered::min::<T>(of(a), of(b)).bits(),
        Operation::Max => |a, b, _| lowered::max::<T>(of(a), of(b)).bits(),
        Operation::Clamp => |a, b, c| lowered::clamp::<T>(of(a), of(b), of(c)).bits(),
        Operation::Eq => |a, b, _| lowered::eq::<T>(of(a), of(b)).bits(),
        Operation::Ne => |a, b, _| lowered::ne::<T>(of(a), of(b)).bits(),
        Operation::Lt => |a, b, _| lowered::lt::<T>(of(a), of(b)).bits(),
        Operation::Le => |a, b, _| lowered::le::<T>(of(a), of(b)).bits(),
        Operation::Gt => |a, b, _| lowered::gt::<T>(of(a), of(b)).bits(),
        Operation::Ge => |a, b, _| lowered::ge::<T>(of(a), of(b)).bits(),
        _ => return None,
    })
}

fn bit_set<T: Bits>(operation: Operation) -> Option<Function> {
    Some(match operation {
        Operation::BitAnd => |a, b, _| lowered::bitand::<T>(of(a), of(b)).bits(),
        Operation::BitOr => |a, b, _| lowered::bitor::<T>(of(a), of(b)).bits(),
        Operation::BitXor => |a, b, _| lowered::bitxor::<T>(of(a), of(b)).bits(),
        Operation::Not => |a, _, _| lowered::not::<T>(of(a)).bits(),
        _ => return None,
    })
}

fn number<T: Number>(operation: Operation) -> Option<Function> {
    Some(match operation {
        Operation::Add => |a, b, _| lowered::add::<T>(of(a), of(b)).bits(),
        Operation::Sub => |a, b, _| lowered::sub::<T>(of(a), of(b)).bits(),
        Operation::Mul => |a, b, _| lowered::mul::<T>(of(a), of(b)).bits(),
        Operation::Div => |a, b, _| lowered::div::<T>(of(a), of(b)).bits(),
        Operation::Rem => |a, b, _| lowered::rem::<T>(of(a), of(b)).bits(),
        Operation::Neg => |a, _, _| lowered::neg::<T>(of(a)).bits(),
        Operation::Abs => |a, _, _| lowered::abs::<T>(of(a)).bits(),
        Operation::Signum => |a, _, _| lowered::signum::<T>(of(a)).bits(),
        _ => return scalar::<T>(operation),
    })
}

fn integer<T: Distance>(operation: Operation) -> Option<Function> {
    Some(match operation {
        Operation::SaturatingAdd => |a, b, _| lowered::saturating_add::<T>(of(a), of(b)).bits(),
        Operation::SaturatingSub => |a, b, _| lowered::saturating_sub::<T>(of(a), of(b)).bits(),
        Operation::SaturatingMul => |a, b, _| lowered::saturating_mul::<T>(of(a), of(b)).bits(),
        Operation::AbsDiff => |a, b, _| lowered::abs_diff::<T>(of(a), of(b)).bits(),
        Operation::ReverseBits => |a, _, _| lowered::reverse_bits::<T>(of(a)).bits(),
        Operation::Pow => |a, n, _| lowered::pow::<T>(of(a), of(n)).bits(),
        Operation::Shl => |a, by, _| <T as IntegerNumber>::shl(of(a), of(by)).bits(),
        Operation::Shr => |a, by, _| <T as IntegerNumber>::shr(of(a), of(by)).bits(),
        Operation::RotateLeft => |a, by, _| lowered::rotate_left::<T>(of(a), of(by)).bits(),
        Operation::RotateRight => |a, by, _| lowered::rotate_right::<T>(of(a), of(by)).bits(),
        Operation::CountOnes => |a, _, _| lowered::count_ones::<T>(of(a)).bits(),
        Operation::CountZeros => |a, _, _| lowered::count_zeros::<T>(of(a)).bits(),
        Operation::LeadingZeros => |a, _, _| lowered::leading_zeros::<T>(of(a)).bits(),
        Operation::LeadingOnes => |a, _, _| lowered::leading_ones::<T>(of(a)).bits(),
        Operation::TrailingZeros => |a, _, _| lowered::trailing_zeros::<T>(of(a)).bits(),
        Operation::TrailingOnes => |a, _, _| lowered::trailing_ones::<T>(of(a)).bits(),
        _ => return number::<T>(operation).or_else(|| bit_set::<T>(operation)),
    })
}

fn float<T: Float>(operation: Operation) -> Option<Function> {
    Some(match operation {
        Operation::Sqrt => |a, _, _| lowered::sqrt::<T>(of(a)).bits(),
        Operation::Floor => |a, _, _| lowered::floor::<T>(of(a)).bits(),
        Operation::Ceil => |a, _, _| lowered::ceil::<T>(of(a)).bits(),
        Operation::Trunc => |a, _, _| lowered::trunc::<T>(of(a)).bits(),
        Operation::Round => |a, _, _| lowered::round::<T>(of(a)).bits(),
        Operation::ToBits => |a, _, _| lowered::to_bits::<T>(of(a)).bits(),
        Operation::Exp => |a, _, _| lowered::exp::<T>(of(a)).bits(),
        Operation::Exp2 => |a, _, _| lowered::exp2::<T>(of(a)).bits(),
        Operation::ExpM1 => |a, _, _| lowered::exp_m1::<T>(of(a)).bits(),
        Operation::Ln => |a, _, _| lowered::ln::<T>(of(a)).bits(),
        Operation::Ln1p => |a, _, _| lowered::ln_1p::<T>(of(a)).bits(),
        Operation::Log2 => |a, _, _| lowered::log2::<T>(of(a)).bits(),
        Operation::Log10 => |a, _, _| lowered::log10::<T>(of(a)).bits(),
        Operation::Tanh => |a, _, _| lowered::tanh::<T>(of(a)).bits(),
        Operation::Sin => |a, _, _| lowered::sin::<T>(of(a)).bits(),
        Operation::Cos => |a, _, _| lowered::cos::<T>(of(a)).bits(),
        Operation::Copysign => |a, b, _| lowered::copysign::<T>(of(a), of(b)).bits(),
        Operation::Powf => |a, b, _| lowered::powf::<T>(of(a), of(b)).bits(),
        Operation::MulAdd => |a, b, c| lowered::mul_add::<T>(of(a), of(b), of(c)).bits(),
        Operation::IsNan => |a, _, _| lowered::is_nan::<T>(of(a)).bits(),
        Operation::IsFinite => |a, _, _| lowered::is_finite::<T>(of(a)).bits(),
        Operation::IsInfinite => |a, _, _| lowered::is_infinite::<T>(of(a)).bits(),
        _ => return number::<T>(operation),
    })
}

/// The float of kind `to` that has the bits of an unsigned integer of the same width: all NaNs are one.
pub(super) fn of_bits(to: Kind) -> Option<Function> {
    Some(match to {
        Kind::F16 => |a, _, _| of::<f16>(a).bits(),
        Kind::Bf16 => |a, _, _| of::<bf16>(a).bits(),
        Kind::F32 => |a, _, _| of::<f32>(a).bits(),
        Kind::F64 => |a, _, _| of::<f64>(a).bits(),
        _ => return None,
    })
}

/// `if condition { a } else { b }`.
pub(super) fn select(condition: u64, a: u64, b: u64) -> u64 {
    if condition & 1 == 1 { a } else { b }
}

macro_rules! casts {
    ([$($kind:ident $t:ty),*]) => {
        /// The cast `a as to` of a value of kind `from`; none to `bool` from a number, and none of `()`.
        pub(super) fn cast(from: Kind, to: Kind) -> Option<Function> {
            match from {
                Kind::Unit => None,
                Kind::Bool if to == Kind::Bool => Some(|a, _, _| a),
                $(Kind::$kind => cast_of::<$t>(to),)*
            }
        }
    };
}
each_scalar! { casts! {} }

fn cast_of<T: Scalar + ToNumbers>(to: Kind) -> Option<Function> {
    Some(match to {
        Kind::Unit | Kind::Bool => return None,
        Kind::I8 => |a, _, _| lowered::cast::<i8, T>(of(a)).bits(),
        Kind::I16 => |a, _, _| lowered::cast::<i16, T>(of(a)).bits(),
        Kind::I32 => |a, _, _| lowered::cast::<i32, T>(of(a)).bits(),
        Kind::I64 => |a, _, _| lowered::cast::<i64, T>(of(a)).bits(),
        Kind::U8 => |a, _, _| lowered::cast::<u8, T>(of(a)).bits(),
        Kind::U16 => |a, _, _| lowered::cast::<u16, T>(of(a)).bits(),
        Kind::U32 => |a, _, _| lowered::cast::<u32, T>(of(a)).bits(),
        Kind::U64 => |a, _, _| lowered::cast::<u64, T>(of(a)).bits(),
        Kind::F16 => |a, _, _| lowered::cast::<f16, T>(of(a)).bits(),
        Kind::Bf16 => |a, _, _| lowered::cast::<bf16, T>(of(a)).bits(),
        Kind::F32 => |a, _, _| lowered::cast::<f32, T>(of(a)).bits(),
        Kind::F64 => |a, _, _| lowered::cast::<f64, T>(of(a)).bits(),
    })
}
