//! The types that an operator may use.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Error, Path, Result, Type};

use crate::cuda::Cuda;

/// A type that the macro knows: a scalar, the status of an edge, or `()`, which is the entry of a pattern.
#[derive(Clone)]
pub struct Ty {
    name: String,
    tokens: TokenStream,
}

/// The status of an edge.
const EDGE: &str = "Edge";

const SCALARS: [&str; 13] = ["bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"];

impl Ty {
    /// The primitive type of that name.
    pub fn named(name: &str) -> Self {
        let ident = proc_macro2::Ident::new(name, proc_macro2::Span::call_site());
        Ty { name: name.to_owned(), tokens: ident.to_token_stream() }
    }

    /// The scalar type `ty`, or `Edge`; an error for other types.
    pub fn scalar(ty: &Type) -> Result<Self> {
        let found = match ty {
            Type::Path(path) if path.qself.is_none() => scalar_path(&path.path),
            Type::Paren(inner) => return Self::scalar(&inner.elem),
            _ => None,
        };
        found.ok_or_else(|| {
            let scalars = SCALARS.join(", ");
            Error::new_spanned(ty, format!("`#[op]` knows scalars only: {scalars}; and `Edge`"))
        })
    }

    /// The parameter type `ty`, which is a scalar or `()`; an error for other types.
    pub fn parameter(ty: &Type) -> Result<Self> {
        match ty {
            Type::Tuple(tuple) if tuple.elems.is_empty() => {
                Ok(Ty { name: "()".to_owned(), tokens: ty.to_token_stream() })
            }
            _ => Self::scalar(ty),
        }
    }

    /// The scalar that has the associated item `path`: `u32` for `u32::MAX`.
    pub fn owner(path: &Path) -> Option<Self> {
        let mut owner = path.clone();
        owner.segments.pop()?;
        owner.segments.pop_punct();
        scalar_path(&owner)
    }

    /// The last segment of the type's path: `f16` for `half::f16`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the type is `()`, the entry of a pattern.
    pub fn is_unit(&self) -> bool {
        self.name == "()"
    }

    /// Whether the type is a float. Literals of floats have a decimal point.
    pub fn is_float(&self) -> bool {
        matches!(self.name.as_str(), "f16" | "bf16" | "f32" | "f64")
    }

    /// The type in Rust, as the user wrote it.
    pub fn rust(&self) -> &TokenStream {
        &self.tokens
    }

    /// The type in CUDA C++.
    pub fn cuda(&self) -> Cuda {
        Cuda::text(match self.name.as_str() {
            "()" => "vxm_unit",
            "i8" => "signed char",
            "i16" => "short",
            "i32" => "int",
            "i64" => "long long",
            "u8" => "unsigned char",
            "u16" => "unsigned short",
            "u32" => "unsigned int",
            "u64" => "unsigned long long",
            "f16" => "__half",
            "bf16" => "__nv_bfloat16",
            "f32" => "float",
            "f64" => "double",
            EDGE => "vxm::Edge",
            _ => "bool",
        })
    }
}

/// The scalar type that a path names, such as `u32`, `f16`, `half::f16` or `core::primitive::u32`; or `Edge`, by any path.
fn scalar_path(path: &Path) -> Option<Ty> {
    let last = path.segments.last()?;
    let name = last.ident.to_string();
    let plain = path.segments.iter().all(|s| s.arguments.is_none());
    let home = path.segments.iter().rev().nth(1);
    let at_home = home.is_none_or(|home| home.ident == "half" || home.ident == "primitive");
    let known = name == EDGE || at_home && SCALARS.contains(&name.as_str());
    (plain && known).then(|| Ty { name, tokens: path.to_token_stream() })
}
