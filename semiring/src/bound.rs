//! Binary operators with one operand fixed.

use crate::{BinaryOp, Element, KernelText, Source, UnaryOp};

/// A binary operator with a fixed second operand: what [`Bind::bind`] returns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound<F, B> {
    op: F,
    value: B,
}

/// A binary operator with a fixed first operand: what [`Bind::bind_first`] returns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundFirst<F, A> {
    op: F,
    value: A,
}

/// Makes a [`UnaryOp`] of a binary operator by fixing one operand. Kernels get the value as a [constant](KernelText::constant).
///
/// ```
/// use vxm_semiring::{Bind, GT, MINUS, UnaryOp};
/// assert!(GT.bind(3u32).call(4));
/// assert_eq!(MINUS.bind_first(10).call(4), 6);
/// ```
pub trait Bind: Source {
    /// Returns the operator `|a| op(a, value)`.
    fn bind<B: Element>(self, value: B) -> Bound<Self, B> {
        Bound { op: self, value }
    }

    /// Returns the operator `|b| op(value, b)`.
    fn bind_first<A: Element>(self, value: A) -> BoundFirst<Self, A> {
        BoundFirst { op: self, value }
    }
}
impl<F: Source> Bind for F {}

/// Defines a device function of one operand `x` that returns the expression `call`. Returns the function's name.
fn define(text: &mut KernelText, call: String) -> String {
    text.define_hashed("bound", |name| format!("template <class X> VXM_FN auto {name}(X x) {{ return {call}; }}"))
}

/// [`Source::constants`] of a bound operator: appends the constants of `op`, then the bits of the fixed value.
fn bind(op: impl Source, value: impl Element, bits: &mut Vec<u64>) -> bool {
    let told = op.constants(bits);
    bits.extend(value.words());
    told
}

impl<F: Source, B: Element> Source for Bound<F, B> {
    fn source(self, text: &mut KernelText) -> String {
        let call = format!("{}(x, {})", self.op.source(text), text.constant(self.value));
        define(text, call)
    }
    fn constants(self, bits: &mut Vec<u64>) -> bool {
        bind(self.op, self.value, bits)
    }
}

impl<F: Source, A: Element> Source for BoundFirst<F, A> {
    fn source(self, text: &mut KernelText) -> String {
        let call = format!("{}({}, x)", self.op.source(text), text.constant(self.value));
        define(text, call)
    }
    fn constants(self, bits: &mut Vec<u64>) -> bool {
        bind(self.op, self.value, bits)
    }
}

impl<F: BinaryOp<A, B>, A: Element, B: Element> UnaryOp<A> for Bound<F, B> {
    type Out = F::Out;
    #[inline(always)]
    fn call(self, a: A) -> F::Out {
        self.op.call(a, self.value)
    }
}

impl<F: BinaryOp<A, B>, A: Element, B: Element> UnaryOp<B> for BoundFirst<F, A> {
    type Out = F::Out;
    #[inline(always)]
    fn call(self, b: B) -> F::Out {
        self.op.call(self.value, b)
    }
}
