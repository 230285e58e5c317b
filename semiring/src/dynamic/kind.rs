//! The types that operators made at run time compute with.

use core::any::TypeId;
use core::fmt;
use half::{bf16, f16};

use crate::Element;

/// The type of a value in a [`Program`](super::Program): a scalar, or the entry of a pattern, which has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// `()`, the entry of a pattern. No operation reads it.
    Unit,
    /// `bool`
    Bool,
    /// `i8`
    I8,
    /// `i16`
    I16,
    /// `i32`
    I32,
    /// `i64`
    I64,
    /// `u8`
    U8,
    /// `u16`
    U16,
    /// `u32`
    U32,
    /// `u64`
    U64,
    /// `f16`
    F16,
    /// `bf16`
    Bf16,
    /// `f32`
    F32,
    /// `f64`
    F64,
}

/// Calls the macro `$then` with each scalar kind and its type, and whatever else is given.
macro_rules! each_scalar {
    ($then:ident! { $($more:tt)* }) => {
        $then! { $($more)* [
            Bool bool, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F16 f16, Bf16 bf16, F32 f32, F64 f64
        ] }
    };
}
pub(super) use each_scalar;

macro_rules! facts {
    ([$($kind:ident $t:ty),*]) => {
        impl Kind {
            /// All kinds.
            pub const ALL: &'static [Kind] = &[Kind::Unit, $(Kind::$kind),*];

            /// The name of the type, as in Rust: `u32`, `()`.
            pub fn name(self) -> &'static str {
                match self {
                    Self::Unit => <()>::NAME,
                    $(Self::$kind => <$t>::NAME,)*
                }
            }

            /// The name of the type in CUDA C++.
            pub fn cuda(self) -> &'static str {
                match self {
                    Self::Unit => <()>::CUDA,
                    $(Self::$kind => <$t>::CUDA,)*
                }
            }

            /// The type of a value.
            pub(super) fn type_id(self) -> TypeId {
                match self {
                    Self::Unit => TypeId::of::<()>(),
                    $(Self::$kind => TypeId::of::<$t>(),)*
                }
            }

            /// The size of a value in bytes.
            pub fn size(self) -> usize {
                match self {
                    Self::Unit => 0,
                    $(Self::$kind => size_of::<$t>(),)*
                }
            }

            /// The bits of the value that these bits stand for: without those above its width, and of all NaNs the same.
            pub(super) fn plain(self, bits: u64) -> u64 {
                match self {
                    Self::Unit => 0,
                    $(Self::$kind => <$t as Element>::from_bits(bits).bits(),)*
                }
            }

            /// The literal of a value in CUDA C++, from its [bits](Element::bits).
            pub(super) fn literal(self, bits: u64) -> String {
                match self {
                    Self::Unit => ().literal(),
                    $(Self::$kind => <$t as Element>::from_bits(bits).literal(),)*
                }
            }
        }
    };
}
each_scalar! { facts! {} }

impl Kind {
    /// The kind of this name.
    ///
    /// ```
    /// use vxm_semiring::dynamic::Kind;
    /// assert_eq!(Kind::named("f32"), Some(Kind::F32));
    /// assert_eq!(Kind::named("f80"), None);
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Whether it is an integer type.
    pub fn is_integer(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64 | Self::U8 | Self::U16 | Self::U32 | Self::U64)
    }

    /// Whether it is a float type.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }

    /// The unsigned integer type of the same width.
    pub(super) fn unsigned(self) -> Self {
        match self.size() {
            1 => Self::U8,
            2 => Self::U16,
            4 => Self::U32,
            _ => Self::U64,
        }
    }

    /// Whether values of the kind are held as elements of type `T`: of the type itself, or as their bits in a word. The bits of a kind of up
    /// to 32 bits lie in a `u32`, those of a wider one in a `u64`.
    pub fn fits<T: Element>(self) -> bool {
        self.fits_type(TypeId::of::<T>())
    }

    /// As [`fits`](Self::fits). Types are compared, not names: machine code relies on how an element lies in memory.
    pub(super) fn fits_type(self, of: TypeId) -> bool {
        of == self.type_id()
            || match self.size() {
                0 => false,
                1..=4 => of == TypeId::of::<u32>(),
                _ => of == TypeId::of::<u64>(),
            }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
