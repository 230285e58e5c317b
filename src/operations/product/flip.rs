//! Operators and semirings with swapped operands.

use vxm_semiring::dynamic::Program;
use vxm_semiring::{BinaryOp, Element, KernelText, Semiring, Source};

/// An operator that takes its operands in the other order, or a semiring with such a multiplication. `mxv` is `vxm` over the
/// transpose with a flipped semiring.
#[derive(Debug, Clone, Copy)]
pub struct Flip<S>(pub(crate) S);

impl<O: Source> Source for Flip<O> {
    fn source(self, text: &mut KernelText) -> String {
        let inner = self.0.source(text);
        text.define_hashed("flip", |name| {
            format!("template <class X, class A> VXM_FN auto {name}(X x, A a) {{ return {inner}(a, x); }}")
        })
    }
    fn constants(self, bits: &mut Vec<u64>) -> bool {
        self.0.constants(bits)
    }
}

impl<X: Element, A: Element, O: BinaryOp<A, X>> BinaryOp<X, A> for Flip<O> {
    type Out = O::Out;
    const CONSTANT: Option<O::Out> = O::CONSTANT;
    const IS_PROGRAM: bool = O::IS_PROGRAM;
    fn as_program(self) -> Option<Program> {
        self.0.as_program().map(Program::flipped)
    }
    #[inline(always)]
    fn call(self, x: X, a: A) -> O::Out {
        self.0.call(a, x)
    }
}

impl<X: Element, A: Element, S: Semiring<A, X>> Semiring<X, A> for Flip<S> {
    type Out = S::Out;
    type Add = S::Add;
    type Mul = Flip<S::Mul>;
    fn add(self) -> S::Add {
        self.0.add()
    }
    fn mul(self) -> Flip<S::Mul> {
        Flip(self.0.mul())
    }
}
