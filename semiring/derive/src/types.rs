//! The types that an operator may use.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Error, Ident, Path, Result, Type};

use crate::cuda::Cuda;

/// The type of a value, as far as the macro knows it.
#[derive(Clone)]
pub enum Ty {
    /// A scalar, or the status of an edge: its last name (`f16` for `half::f16`), and the type as the user wrote it.
    Scalar(String, TokenStream),
    /// `()`, the entry of a pattern.
    Unit(TokenStream),
    /// A type parameter of the operator.
    Parameter(Ident),
    /// Any other type by its name: a struct that `#[scalar]` makes an element.
    Struct(Path),
    /// A tuple. It exists within an operator only.
    Tuple(Vec<Ty>),
    /// A component of a tuple. Its type isn't known.
    Unknown,
}

/// The status of an edge.
const EDGE: &str = "Edge";

pub const SCALARS: [&str; 13] =
    ["bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"];

impl Ty {
    /// The primitive type of that name.
    pub fn named(name: &str) -> Self {
        let ident = proc_macro2::Ident::new(name, proc_macro2::Span::call_site());
        Ty::Scalar(name.to_owned(), ident.to_token_stream())
    }

    /// The type of a value: a scalar, `Edge`, a type parameter among `parameters`, or a struct; an error for other types.
    pub fn value(ty: &Type, parameters: &[Ident]) -> Result<Self> {
        let path = match ty {
            Type::Path(path) if path.qself.is_none() => &path.path,
            Type::Paren(inner) => return Self::value(&inner.elem, parameters),
            Type::Group(inner) => return Self::value(&inner.elem, parameters),
            Type::Tuple(tuple) if !tuple.elems.is_empty() => {
                let message = "an operand or a result is no tuple: name it, as a struct with `#[scalar]`";
                return Err(Error::new_spanned(ty, message));
            }
            _ => return Err(unknown(ty)),
        };
        if let Some(scalar) = scalar_path(path) {
            return Ok(scalar);
        }
        if let Some(parameter) = path.get_ident().filter(|name| parameters.contains(name)) {
            return Ok(Ty::Parameter(parameter.clone()));
        }
        let last = path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        let primitive = ["usize", "isize", "u128", "i128", "char", "str", "String"].contains(&last.as_str());
        let plain = path.segments.iter().all(|segment| segment.arguments.is_none());
        if primitive || !plain { Err(unknown(ty)) } else { Ok(Ty::Struct(path.clone())) }
    }

    /// The type of a variable: of a value, or a tuple of such.
    pub fn variable(ty: &Type, parameters: &[Ident]) -> Result<Self> {
        match ty {
            Type::Tuple(tuple) if !tuple.elems.is_empty() => {
                Ok(Ty::Tuple(tuple.elems.iter().map(|ty| Self::variable(ty, parameters)).collect::<Result<_>>()?))
            }
            Type::Infer(_) => Ok(Ty::Unknown),
            _ => Self::value(ty, parameters),
        }
    }

    /// The type of a parameter: of a value, or `()`.
    pub fn operand(ty: &Type, parameters: &[Ident]) -> Result<Self> {
        match ty {
            Type::Tuple(tuple) if tuple.elems.is_empty() => Ok(Ty::Unit(ty.to_token_stream())),
            _ => Self::value(ty, parameters),
        }
    }

    /// The scalar that has the associated item `path`: `u32` for `u32::MAX`.
    pub fn owner(path: &Path) -> Option<Self> {
        scalar_path(&owner_path(path)?)
    }

    /// The scalar's name, or nothing.
    pub fn name(&self) -> &str {
        match self {
            Ty::Scalar(name, _) => name,
            _ => "",
        }
    }

    /// The type in words, for messages.
    pub fn described(&self) -> String {
        match self {
            Ty::Scalar(name, _) => name.clone(),
            Ty::Unit(_) => "()".to_owned(),
            Ty::Parameter(name) => name.to_string(),
            Ty::Struct(path) => path.to_token_stream().to_string().replace(' ', ""),
            Ty::Tuple(_) => "a tuple".to_owned(),
            Ty::Unknown => "an unknown type".to_owned(),
        }
    }

    /// Whether the type is `()`, the entry of a pattern.
    pub fn is_unit(&self) -> bool {
        matches!(self, Ty::Unit(_))
    }

    /// Whether the type is a float. Literals of floats have a decimal point.
    pub fn is_float(&self) -> bool {
        matches!(self.name(), "f16" | "bf16" | "f32" | "f64")
    }

    /// Whether all of the type is known.
    pub fn is_known(&self) -> bool {
        match self {
            Ty::Tuple(parts) => parts.iter().all(Ty::is_known),
            Ty::Unknown => false,
            _ => true,
        }
    }

    /// The type of a component of a tuple, if it is known.
    pub fn component(&self, at: usize) -> Option<Ty> {
        match self {
            Ty::Tuple(parts) => parts.get(at).cloned().and_then(Ty::known),
            _ => None,
        }
    }

    /// The type, unless nothing is known of it.
    pub fn known(self) -> Option<Ty> {
        if matches!(self, Ty::Unknown) { None } else { Some(self) }
    }

    /// The types that a text that names this one needs.
    pub fn parts(&self) -> Vec<Ty> {
        match self {
            Ty::Tuple(parts) => parts.iter().flat_map(Ty::parts).collect(),
            Ty::Parameter(_) | Ty::Unknown => Vec::new(),
            _ => vec![self.clone()],
        }
    }

    /// The type in Rust, as the user wrote it.
    pub fn rust(&self) -> TokenStream {
        match self {
            Ty::Scalar(_, tokens) | Ty::Unit(tokens) => tokens.clone(),
            Ty::Parameter(name) => name.to_token_stream(),
            Ty::Struct(path) => path.to_token_stream(),
            Ty::Tuple(parts) => {
                let parts = parts.iter().map(Ty::rust);
                quote!((#(#parts,)*))
            }
            Ty::Unknown => quote!(_),
        }
    }

    /// The type in CUDA C++. `root` is the path of `vxm-semiring`.
    pub fn cuda(&self, root: &TokenStream) -> Cuda {
        match self {
            Ty::Scalar(name, _) => Cuda::text(scalar(name)),
            Ty::Unit(_) => Cuda::text("vxm_unit"),
            Ty::Parameter(name) => Cuda::text(parameter(name)),
            Ty::Struct(path) => Cuda::splice(quote!(<#path as #root::Element>::CUDA.to_owned())),
            Ty::Tuple(parts) => {
                let parts = parts.iter().map(|part| part.cuda(root)).collect();
                Cuda::list(format!("vxm::Tuple{}<", arity(self)), parts, ">")
            }
            Ty::Unknown => Cuda::text("auto"),
        }
    }
}

/// A type parameter in C++, where its own name may be a keyword or a macro.
pub fn parameter(name: &Ident) -> String {
    format!("Vxm{name}")
}

/// The number of a tuple's components.
pub fn arity(ty: &Ty) -> usize {
    match ty {
        Ty::Tuple(parts) => parts.len(),
        _ => 0,
    }
}

fn unknown(ty: &Type) -> Error {
    let scalars = SCALARS.join(", ");
    Error::new_spanned(ty, format!("expected a scalar ({scalars}), `Edge`, or a struct with `#[scalar]`"))
}

/// `u32` of `u32::MAX`.
pub fn owner_path(path: &Path) -> Option<Path> {
    let mut owner = path.clone();
    owner.segments.pop()?;
    owner.segments.pop_punct();
    if owner.segments.is_empty() { None } else { Some(owner) }
}

fn scalar(name: &str) -> &'static str {
    match name {
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
    (plain && known).then(|| Ty::Scalar(name, path.to_token_stream()))
}
