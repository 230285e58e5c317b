//! The `#[op]` macro of `vxm-semiring`: one Rust function, callable on the CPU, with its CUDA C++ text derived from the same tokens.

mod body;
mod cuda;
mod emit;
mod expr;
mod signature;
mod types;

use proc_macro::TokenStream;
use syn::{ItemFn, parse_macro_input};

/// Makes a function an operator: a unit struct of the same name that is callable on the CPU and knows its CUDA C++ text.
///
/// The struct implements `UnaryOp`, `BinaryOp` or `TernaryOp` by its number of parameters, `Source`, and `Deref` to a function
/// pointer, so that `name(a, b)` still calls it. Visibility, docs and lints are kept.
///
/// The body is the subset that both languages share: `let` with a stated type, assignment to a `mut` one, `if`/`else`,
/// arithmetic, comparisons, bit operations, shifts, `as`, `&&` and `||`, named constants, calls of other `#[op]`s, and the
/// methods of numbers that give the same bits everywhere (`min`, `abs`, `sqrt`, `wrapping_mul`, `count_ones`, ...). Anything
/// else is refused at the token. A literal whose type does not follow from its neighbours or the result states it: `5u32`.
///
/// Both sides run `vxm_semiring::lowered`: integers wrap instead of panicking, `x / 0` is 0, shifts are masked.
#[proc_macro_attribute]
pub fn op(arguments: TokenStream, item: TokenStream) -> TokenStream {
    if let Some(argument) = arguments.into_iter().next() {
        let refused = syn::Error::new(argument.span().into(), "`#[op]` takes no arguments");
        return refused.into_compile_error().into();
    }
    let function = parse_macro_input!(item as ItemFn);
    emit::operator(&function).unwrap_or_else(syn::Error::into_compile_error).into()
}
