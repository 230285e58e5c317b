//! The built-in operators: a struct and a constant for each, generic over all types that suit it.
//!
//! The entry of a pattern is `()`. `TIMES`, `PLUS` and `LAND` treat it as one or `true`; `FIRST` and `SECOND` pass it on as it is.

use core::marker::PhantomData;

use crate::lowered::{self, Bits, Float, Integer, Number, Ordered};
use crate::{BinaryOp, Element, KernelText, Scalar, Source, TernaryOp, UnaryOp};

/// Declares operators: for each its struct, its constant, and the function of the prelude that implements it.
macro_rules! operators {
    ($($(#[$doc:meta])* $name:ident $constant:ident $cuda:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct $name;
        #[doc = concat!("[`", stringify!($name), "`] as a value.")]
        pub const $constant: $name = $name;
        impl Source for $name {
            fn source(self, text: &mut KernelText) -> String {
                text.prelude();
                concat!("vxm::", $cuda).to_owned()
            }
            fn constants(self, _: &mut Vec<u64>) -> bool {
                true
            }
        }
    )*};
}
operators! {
    /// `a + b`.
    Plus PLUS "add";
    /// `a - b`.
    Minus MINUS "sub";
    /// `b - a`.
    Rminus RMINUS "rsub";
    /// `a * b`.
    Times TIMES "mul";
    /// `a / b`; for integers, 0 if `b` is 0.
    Div DIV "div";
    /// `b / a`; for integers, 0 if `a` is 0.
    Rdiv RDIV "rdiv";
    /// The lesser of two; a number rather than NaN.
    Min MIN "min";
    /// The greater of two; a number rather than NaN.
    Max MAX "max";
    /// `a`. In a product, the vector's element.
    First FIRST "first";
    /// `b`. In a product, the matrix's entry.
    Second SECOND "second";
    /// Any of the two operands. Here always `a`: a fold in ascending order keeps the operand of the least index, so results are the same
    /// on every device.
    Any ANY "first";
    /// `a || b`.
    Lor LOR "lor";
    /// `a && b`.
    Land LAND "land";
    /// `a != b` of truth values.
    Lxor LXOR "bitxor_";
    /// `a == b` of truth values.
    Lxnor LXNOR "eq";
    /// `a | b`.
    Bor BOR "bitor_";
    /// `a & b`.
    Band BAND "bitand_";
    /// `a ^ b`.
    Bxor BXOR "bitxor_";
    /// `!(a ^ b)`.
    Bxnor BXNOR "bitxnor";
    /// `a == b`.
    Equal EQ "eq";
    /// `a != b`.
    NotEqual NE "ne";
    /// `a < b`.
    Less LT "lt";
    /// `a > b`.
    Greater GT "gt";
    /// `a <= b`.
    AtMost LE "le";
    /// `a >= b`.
    AtLeast GE "ge";
    /// `a`.
    Identity IDENTITY "identity";
    /// The additive inverse, `-a`.
    Ainv AINV "neg";
    /// The multiplicative inverse, `1 / a`.
    Minv MINV "inv";
    /// `!a` of a truth value.
    Lnot LNOT "not_";
    /// The absolute value.
    Abs ABS "abs";
    /// One, for any `a`.
    One ONE "one";
    /// `!a` of an integer.
    Bnot BNOT "not_";
    /// The square root.
    Sqrt SQRT "sqrt";
    /// The row's index.
    RowIndex ROWINDEX "row";
    /// The column's index.
    ColIndex COLINDEX "column";
}

macro_rules! binary {
    ($($op:ident<$t:ident: $bound:ident> -> $out:ty = |$a:ident, $b:ident| $body:expr $(, absorbing $z:expr)?;)*) => {$(
        impl<$t: $bound> BinaryOp<$t, $t> for $op {
            type Out = $out;
            $(const ABSORBING: Option<$out> = Some($z);)?
            #[inline(always)]
            fn call(self, $a: $t, $b: $t) -> $out {
                $body
            }
        }
    )*};
    ($($op:ident($x:ty, $y:ty) -> $out:ty = |$a:pat_param, $b:pat_param| $body:expr $(, absorbing $z:expr)?;)*) => {$(
        impl BinaryOp<$x, $y> for $op {
            type Out = $out;
            $(const ABSORBING: Option<$out> = Some($z);)?
            #[inline(always)]
            fn call(self, $a: $x, $b: $y) -> $out {
                $body
            }
        }
    )*};
}
binary! {
    Plus<T: Number> -> T = |a, b| lowered::add(a, b);
    Minus<T: Number> -> T = |a, b| lowered::sub(a, b);
    Rminus<T: Number> -> T = |a, b| lowered::sub(b, a);
    Times<T: Number> -> T = |a, b| lowered::mul(a, b);
    Div<T: Number> -> T = |a, b| lowered::div(a, b);
    Rdiv<T: Number> -> T = |a, b| lowered::div(b, a);
    Min<T: Ordered> -> T = |a, b| lowered::min(a, b), absorbing T::LEAST;
    Max<T: Ordered> -> T = |a, b| lowered::max(a, b), absorbing T::GREATEST;
    Any<T: Element> -> T = |a, _b| a;
    Bor<T: Integer> -> T = |a, b| <T as Bits>::bitor(a, b), absorbing T::ALL;
    Band<T: Integer> -> T = |a, b| <T as Bits>::bitand(a, b), absorbing T::ZERO;
    Bxor<T: Integer> -> T = |a, b| <T as Bits>::bitxor(a, b);
    Bxnor<T: Integer> -> T = |a, b| <T as Bits>::not(<T as Bits>::bitxor(a, b));
    Equal<T: Scalar> -> bool = |a, b| a == b;
    NotEqual<T: Scalar> -> bool = |a, b| a != b;
    Less<T: Scalar> -> bool = |a, b| a < b;
    Greater<T: Scalar> -> bool = |a, b| a > b;
    AtMost<T: Scalar> -> bool = |a, b| a <= b;
    AtLeast<T: Scalar> -> bool = |a, b| a >= b;
}
binary! {
    Lor(bool, bool) -> bool = |a, b| a || b, absorbing true;
    Land(bool, bool) -> bool = |a, b| a && b, absorbing false;
    Land(bool, ()) -> bool = |a, ()| a;
    Land((), bool) -> bool = |(), b| b;
    Lxor(bool, bool) -> bool = |a, b| a != b;
    Lxnor(bool, bool) -> bool = |a, b| a == b;
}

impl BinaryOp<(), ()> for Land {
    type Out = bool;
    const CONSTANT: Option<bool> = Some(true);
    #[inline(always)]
    fn call(self, (): (), (): ()) -> bool {
        true
    }
}

impl<T: Number> BinaryOp<T, ()> for Plus {
    type Out = T;
    #[inline(always)]
    fn call(self, a: T, (): ()) -> T {
        lowered::add(a, T::ONE)
    }
}

impl<T: Number> BinaryOp<T, ()> for Times {
    type Out = T;
    #[inline(always)]
    fn call(self, a: T, (): ()) -> T {
        a
    }
}

impl<A: Element, B: Element> BinaryOp<A, B> for First {
    type Out = A;
    #[inline(always)]
    fn call(self, a: A, _: B) -> A {
        a
    }
}

impl<A: Element, B: Element> BinaryOp<A, B> for Second {
    type Out = B;
    #[inline(always)]
    fn call(self, _: A, b: B) -> B {
        b
    }
}

/// The types that [`Pair`] can return: numbers, `bool` and `()`.
pub trait Unit: Element {
    /// The value that [`Pair`] returns: 1, `true` or `()`.
    const UNIT: Self;
}
impl Unit for () {
    const UNIT: Self = ();
}
impl<T: Scalar> Unit for T {
    const UNIT: Self = T::ONE;
}

/// One, for any operands: the multiplication of semirings that only ask whether both operands are present, or count such pairs.
///
/// ```
/// use vxm_semiring::{BinaryOp, PAIR, Pair};
/// assert_eq!(PAIR.call(2.5f32, ()), 1u32);
/// assert_eq!(Pair::<bool>::new().call((), 7u8), true);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pair<T>(PhantomData<T>);

/// [`Pair`] that returns the `u32` 1.
pub const PAIR: Pair<u32> = Pair::new();

impl<T> Pair<T> {
    /// Returns the operator.
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T: Unit> Source for Pair<T> {
    fn source(self, text: &mut KernelText) -> String {
        T::declare(text);
        let (t, one) = (T::CUDA, T::UNIT.literal());
        text.define_hashed("pair", |name| {
            format!("template <class A, class B> VXM_FN {t} {name}(A, B) {{ return {one}; }}")
        })
    }
    fn constants(self, _: &mut Vec<u64>) -> bool {
        true
    }
}

impl<T: Unit, A: Element, B: Element> BinaryOp<A, B> for Pair<T> {
    type Out = T;
    const CONSTANT: Option<T> = Some(T::UNIT);
    #[inline(always)]
    fn call(self, _: A, _: B) -> T {
        T::UNIT
    }
}

macro_rules! unary {
    ($($op:ident<$t:ident: $bound:ident> = |$a:ident| $body:expr;)*) => {$(
        impl<$t: $bound> UnaryOp<$t> for $op {
            type Out = $t;
            #[inline(always)]
            fn call(self, $a: $t) -> $t {
                $body
            }
        }
    )*};
}
unary! {
    Identity<T: Element> = |a| a;
    Ainv<T: Number> = |a| lowered::neg(a);
    Minv<T: Number> = |a| lowered::div(T::ONE, a);
    Abs<T: Number> = |a| lowered::abs(a);
    One<T: Scalar> = |_a| T::ONE;
    Bnot<T: Integer> = |a| <T as Bits>::not(a);
    Sqrt<T: Float> = |a| lowered::sqrt(a);
}

impl UnaryOp<bool> for Lnot {
    type Out = bool;
    #[inline(always)]
    fn call(self, a: bool) -> bool {
        !a
    }
}

impl<A: Element> TernaryOp<u32, u32, A> for RowIndex {
    type Out = u32;
    #[inline(always)]
    fn call(self, row: u32, _: u32, _: A) -> u32 {
        row
    }
}

impl<A: Element> TernaryOp<u32, u32, A> for ColIndex {
    type Out = u32;
    #[inline(always)]
    fn call(self, _: u32, column: u32, _: A) -> u32 {
        column
    }
}

/// Declares the operators that compare an entry's diagonal, `column - row`, with an offset.
macro_rules! diagonals {
    ($($(#[$doc:meta])* $name:ident $constant:ident $op:tt;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct $name {
            diagonal: i64,
        }
        #[doc = concat!("[`", stringify!($name), "`] at the main diagonal.")]
        pub const $constant: $name = $name { diagonal: 0 };
        impl $name {
            /// The same comparison with another diagonal: above the main one if positive, below it if negative.
            pub const fn offset(self, diagonal: i64) -> Self {
                Self { diagonal }
            }
        }
        impl Source for $name {
            fn source(self, text: &mut KernelText) -> String {
                text.prelude();
                let (op, diagonal) = (stringify!($op), self.diagonal.literal());
                text.define_hashed("diagonal", |name| {
                    format!(
                        "template <class A> VXM_FN bool {name}(unsigned int i, unsigned int j, A) \
                         {{ return vxm::diagonal(i, j) {op} {diagonal}; }}"
                    )
                })
            }
        }
        impl<A: Element> TernaryOp<u32, u32, A> for $name {
            type Out = bool;
            #[inline(always)]
            fn call(self, row: u32, column: u32, _: A) -> bool {
                i64::from(column) - i64::from(row) $op self.diagonal
            }
        }
    )*};
}
diagonals! {
    /// The lower triangle with its diagonal. `TRIL.offset(-1)` leaves the diagonal out.
    Tril TRIL <=;
    /// The upper triangle with its diagonal. `TRIU.offset(1)` leaves the diagonal out.
    Triu TRIU >=;
    /// The diagonal.
    Diag DIAG ==;
    /// All but the diagonal.
    Offdiag OFFDIAG !=;
}
