//! The `#[op]` macro of `vxm-semiring`. It makes an operator of a Rust function and derives CUDA C++ text from the same tokens.

mod body;
mod cuda;
mod emit;
mod expr;
mod signature;
mod types;

use proc_macro::TokenStream;
use syn::{ItemFn, parse_macro_input};

/// Makes a function an operator: a unit struct of the same name that is callable on the CPU and provides its CUDA C++ text.
///
/// The struct implements `Source`, and `UnaryOp`, `BinaryOp` or `TernaryOp` according to the number of parameters. It derefs to a
/// function pointer, so that `name(a, b)` still calls it. Visibility, docs and lints are kept.
///
/// The body may use what both languages share: `let` with a type, assignment to a `mut` variable, `if`/`else`, arithmetic, comparisons,
/// bit operations, shifts, `as`, `&&` and `||`, named constants, calls of other `#[op]`s, and the methods of numbers that give the same
/// bits everywhere (`min`, `abs`, `sqrt`, `wrapping_mul`, `count_ones`, ...). Anything else is a compile error at the token. A literal
/// needs a suffix, as in `5u32`, if its type does not follow from the other operand or from the result.
///
/// Both the Rust code and the CUDA text call the operations of `vxm_semiring::lowered`: integers wrap instead of panicking, `x / 0` of
/// integers is 0, and shifts use the count modulo the width.
#[proc_macro_attribute]
pub fn op(arguments: TokenStream, item: TokenStream) -> TokenStream {
    if let Some(argument) = arguments.into_iter().next() {
        let refused = syn::Error::new(argument.span().into(), "`#[op]` takes no arguments");
        return refused.into_compile_error().into();
    }
    let function = parse_macro_input!(item as ItemFn);
    emit::operator(&function).unwrap_or_else(syn::Error::into_compile_error).into()
}
