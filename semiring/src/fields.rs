//! The numbers that elements are made of, as files hold them.

use half::{bf16, f16};

use crate::Element;
use crate::dynamic::Kind;

/// A number of an element: its name, its type and its place.
///
/// ```
/// use vxm_semiring::dynamic::Kind;
/// use vxm_semiring::{Field, Fields, scalar};
///
/// #[scalar]
/// struct Hop {
///     cost: u32,
///     parent: u16,
///     kind: u16,
/// }
/// assert_eq!(Hop::FIELDS[1], Field { name: "parent", kind: Kind::U16, at: 4 });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// The name of the struct's field; empty for a number that is no struct.
    pub name: &'static str,
    /// The type.
    pub kind: Kind,
    /// The first byte among those of the element's [bits](Element::bits), the lowest first.
    pub at: usize,
}

/// An element that files can hold: a [`Scalar`](crate::Scalar), `()`, or a struct made by [`scalar`](crate::scalar).
pub trait Fields: Element {
    /// The numbers that a value is made of, in the order of their places: none for `()`, one for a number.
    ///
    /// ```
    /// use vxm_semiring::Fields;
    /// assert!(<()>::FIELDS.is_empty());
    /// assert_eq!(f32::FIELDS[0].kind.name(), "f32");
    /// ```
    const FIELDS: &'static [Field];
}

impl Fields for () {
    const FIELDS: &'static [Field] = &[];
}

macro_rules! numbers {
    ($($t:ty, $kind:ident;)*) => {$(
        impl Fields for $t {
            const FIELDS: &'static [Field] = &[Field { name: "", kind: Kind::$kind, at: 0 }];
        }
    )*};
}
numbers! {
    bool, Bool; i8, I8; i16, I16; i32, I32; i64, I64; u8, U8; u16, U16; u32, U32; u64, U64;
    f16, F16; bf16, Bf16; f32, F32; f64, F64;
}
