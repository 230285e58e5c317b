//! Exponentials, logarithms, powers and angles with the same bits on every device.
//!
//! Processors and their libraries differ in the last bits of these functions. So each is written once here, as an `#[op]` over `f64` of which
//! kernels get the CUDA C++ text. It uses only operations that IEEE 754 rounds exactly.
//!
//! A result in `f64` is within 2.1 units in the last place, mostly within one. A result in `f32` is that of `f64`, rounded. For all 2^32 operands
//! of a function it equals that of glibc's `f64` function, rounded. The 16-bit floats compute in `f32` and round back. Figures: `docs/lab/055-elementary-functions.md`.
//!
//! Methods: arguments are reduced by whole multiples of `ln 2` (Cody and Waite) or of `π/2` (Payne and Hanek where that is more than 2^19);
//! on the rest, a Taylor polynomial. See Muller, *Elementary Functions*, 3rd edition, chapters 3 and 11. Logarithms are sums of two numbers
//! of which the second holds what the first can't, so that `powf` and `log10` keep their last bits.

mod angles;
mod exponentials;
mod logarithms;

use crate::{KernelText, Source};
use angles::{cos, sin};
use exponentials::{exp, exp_m1, exp2, tanh};
use logarithms::{ln, ln_1p, log2, log10, powf};

/// `ln 2`: its first 32 bits, and the rest.
const LN2_FIRST: f64 = 0.6931471803691238;
const LN2_REST: f64 = 1.9082149292705877e-10;
/// The bits of a fraction.
const FRACTION: u64 = (1 << 52) - 1;

/// The functions, and their text over all floats.
macro_rules! functions {
    ($($name:ident($($arg:ident),*);)*) => {
        /// The functions over `f64`.
        pub(crate) mod of {
            use crate::*;
            $(
                pub(crate) fn $name($($arg: f64),*) -> f64 {
                    functions!(@call super::$name, $($arg),*)
                }
            )*
        }

        /// The names of the functions.
        pub(crate) const NAMES: &[&str] = &[$(stringify!($name)),*];

        /// The name of a function in CUDA C++. Its overloads for all floats are added to `text`.
        #[doc(hidden)]
        pub fn define(name: &str, text: &mut KernelText) -> String {
            text.prelude();
            let (function, arguments): (String, &[&str]) = match name {
                $(stringify!($name) => (Source::source($name, text), &[$(stringify!($arg)),*]),)*
                _ => unreachable!("the macro knows the names"),
            };
            text.define(&format!("vxm_{name}"), overloads(name, &function, arguments));
            format!("vxm::{name}")
        }
    };
    (@call $op:path, $a:ident) => { UnaryOp::call($op, $a) };
    (@call $op:path, $a:ident, $b:ident) => { BinaryOp::call($op, $a, $b) };
}
functions! {
    exp(x);
    exp2(x);
    exp_m1(x);
    ln(x);
    ln_1p(x);
    log2(x);
    log10(x);
    powf(x, y);
    tanh(x);
    sin(x);
    cos(x);
}

/// Overloads of a function for all floats.
fn overloads(name: &str, function: &str, arguments: &[&str]) -> String {
    let overload = |ty: &str, open: &str, inner: &str, widen: &str| {
        let parameters: Vec<_> = arguments.iter().map(|argument| format!("{ty} {argument}")).collect();
        let values: Vec<_> = arguments.iter().map(|argument| format!("{widen}({argument})")).collect();
        format!("VXM_FN {ty} {name}({}) {{ return {open}({inner}({})); }}\n", parameters.join(", "), values.join(", "))
    };
    [
        "namespace vxm {\n",
        &overload("double", "", function, ""),
        &overload("float", "(float)", function, "(double)"),
        "#ifdef __CUDA_FP16_TYPES_EXIST__\n",
        &overload("__half", "__float2half_rn", name, "__half2float"),
        "#endif\n#ifdef __CUDA_BF16_TYPES_EXIST__\n",
        &overload("__nv_bfloat16", "__float2bfloat16_rn", name, "__bfloat162float"),
        "#endif\n} // namespace vxm",
    ]
    .concat()
}
