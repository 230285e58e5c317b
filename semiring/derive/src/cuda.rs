//! CUDA C++ text with parts that are filled in at run time.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

/// CUDA C++ text in pieces: text that the macro writes, and Rust expressions. The strings of these are spliced in when `source` is called.
#[derive(Clone, Default)]
pub struct Cuda(Vec<Piece>);

#[derive(Clone)]
enum Piece {
    Text(String),
    Splice(TokenStream),
}

impl Cuda {
    /// A piece of fixed text.
    pub fn text(text: impl Into<String>) -> Self {
        Cuda(vec![Piece::Text(text.into())])
    }

    /// A piece that is the string of a Rust expression. The expression may use `__vxm_text`, the `KernelText`.
    pub fn splice(expression: TokenStream) -> Self {
        Cuda(vec![Piece::Splice(expression)])
    }

    /// This text followed by `next`.
    pub fn then(mut self, next: impl Into<Cuda>) -> Self {
        self.0.extend(next.into().0);
        self
    }

    /// The call `name(arguments)`.
    pub fn call(name: impl Into<Cuda>, arguments: Vec<Cuda>) -> Self {
        Self::list(name.into().then("("), arguments, ")")
    }

    /// `parts` with commas between them, after `open` and before `close`.
    pub fn list(open: impl Into<Cuda>, parts: Vec<Cuda>, close: &str) -> Self {
        let mut list = open.into();
        for (i, part) in parts.into_iter().enumerate() {
            list = list.then(if i > 0 { ", " } else { "" }).then(part);
        }
        list.then(close)
    }

    /// Rust code for the text: the statements that compute the splices, and an expression of type `String` that uses them.
    pub fn into_rust(self) -> (TokenStream, TokenStream) {
        let (mut format, mut splices, mut names) = (String::new(), Vec::new(), Vec::new());
        for piece in self.0 {
            match piece {
                Piece::Text(text) => format += &text.replace('{', "{{").replace('}', "}}"),
                Piece::Splice(expression) => {
                    let name = format_ident!("__vxm_splice_{}", names.len());
                    splices.push(quote!(let #name: ::std::string::String = #expression;));
                    format += "{}";
                    names.push(name);
                }
            }
        }
        (quote!(#(#splices)*), quote!(::std::format!(#format #(, #names)*)))
    }
}

impl From<&str> for Cuda {
    fn from(text: &str) -> Self {
        Cuda::text(text)
    }
}

impl From<String> for Cuda {
    fn from(text: String) -> Self {
        Cuda::text(text)
    }
}
