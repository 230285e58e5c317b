//! Whether elements differ, as loops on GPUs and on ranks ask after a round.

use vxm_semiring::{BinaryOp, Element, KernelText, Source};

/// Whether the bits of two elements differ.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Differ;

impl Source for Differ {
    fn source(self, text: &mut KernelText) -> String {
        text.define_hashed("differ", |name| {
            format!(
                "template <class T> VXM_FN bool {name}(T a, T b) {{\n    unsigned long long x[2] = {{}}, y[2] = {{}};\n    \
                 memcpy(x, &a, sizeof(T));\n    memcpy(y, &b, sizeof(T));\n    return x[0] != y[0] || x[1] != y[1];\n}}"
            )
        })
    }
    fn constants(self, _: &mut Vec<u64>) -> bool {
        true
    }
}

impl<T: Element> BinaryOp<T, T> for Differ {
    type Out = bool;
    fn call(self, a: T, b: T) -> bool {
        a.bits() != b.bits()
    }
}
