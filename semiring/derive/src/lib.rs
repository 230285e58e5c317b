//! The macros of `vxm-semiring`: `#[op]` makes an operator of a Rust function, `#[scalar]` an element of a struct. Both derive CUDA C++ text from
//! the same tokens.

mod body;
mod cuda;
mod emit;
mod expr;
mod infer;
mod literals;
mod methods;
mod pattern;
mod scopes;
mod signature;
mod statements;
mod structs;
mod types;

use proc_macro::TokenStream;
use syn::{Ident, ItemFn, ItemStruct, parse_macro_input};

/// Makes a function an operator: a unit struct of the same name that is callable on the CPU and provides its CUDA C++ text.
///
/// The struct implements `Source`, and `UnaryOp`, `BinaryOp` or `TernaryOp` according to the number of parameters. It derefs to a
/// function pointer, so that `name(a, b)` still calls it. Visibility, docs and lints are kept.
///
/// The body may use what both languages share:
/// - `let` of names, tuples and fields; assignment to a `mut` variable or its field; `if`, `match`, blocks and `return`;
/// - arithmetic, comparisons, bit operations, shifts, `as`, `&&` and `||`, constants;
/// - tuples of two to four values, structs with `#[scalar]`, and their fields;
/// - calls of other `#[op]`s, and the methods of numbers that give the same bits everywhere (`min`, `abs`, `sqrt`, `exp`, `wrapping_mul`,
///   `count_ones`, ...).
///
/// Anything else is a compile error at the token. A literal needs a suffix, as in `5u32`, if its type does not follow from the other
/// operand or from the result. In a pattern a name with a capital letter is a constant.
///
/// A type parameter has one of the bounds `Number`, `Integer`, `Float`, `Bits` and `Ordered` of `vxm_semiring::lowered`, as in
/// `fn twice<T: Number>(a: T) -> T`. Such an operator is called by `twice.call(a)`.
///
/// `#[op(TWICE)]` names the struct `TWICE`, and leaves the function as it is. So a variable may have the function's name.
///
/// Both the Rust code and the CUDA text call the operations of `vxm_semiring::lowered`: integers wrap instead of panicking, `x / 0` of
/// integers is 0, and shifts use the count modulo the width.
#[proc_macro_attribute]
pub fn op(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let alias = match arguments.clone().into_iter().next() {
        None => None,
        Some(first) => match syn::parse::<Ident>(arguments) {
            Ok(name) => Some(name),
            Err(_) => {
                let message = "`#[op]` takes no argument, or the name of the operator, as in `#[op(HOP)]`";
                return syn::Error::new(first.span().into(), message).into_compile_error().into();
            }
        },
    };
    let function = parse_macro_input!(item as ItemFn);
    emit::operator(&function, alias).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a struct of scalars an element of vectors and matrices: `Element`, `Debug`, `Clone`, `Copy` and `PartialEq`.
///
/// Fields are numbers or `bool`, and fill 1, 2, 4, 8 or 16 bytes without padding. An `#[op]` reads fields, makes such structs, and matches on
/// them. Laws can be checked over it. Loops over such elements may sort their work by the first field.
#[proc_macro_attribute]
pub fn scalar(arguments: TokenStream, item: TokenStream) -> TokenStream {
    if let Some(argument) = arguments.into_iter().next() {
        let refused = syn::Error::new(argument.span().into(), "`#[scalar]` takes no arguments");
        return refused.into_compile_error().into();
    }
    let item = parse_macro_input!(item as ItemStruct);
    structs::scalar(&item).unwrap_or_else(syn::Error::into_compile_error).into()
}
