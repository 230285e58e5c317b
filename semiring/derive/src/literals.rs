//! Lowers numbers to both languages.

use proc_macro2::Span;
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprLit, ExprUnary, Lit, Result, UnOp};

use crate::body::{Lowered, refuse};
use crate::cuda::Cuda;
use crate::scopes::Lowering;
use crate::types::Ty;

impl Lowering {
    /// Lowers a literal; `minus` is the sign before it.
    pub fn literal(&mut self, literal: &ExprLit, minus: Option<Span>, expected: Option<&Ty>) -> Result<Lowered> {
        let (digits, suffix, is_float) = match &literal.lit {
            Lit::Bool(value) => {
                let (rust, cuda) = (value.to_token_stream(), Cuda::text(value.value.to_string()));
                return Ok(Lowered { rust, cuda });
            }
            Lit::Int(int) => (int.base10_digits().to_owned(), int.suffix(), matches!(int.suffix(), "f32" | "f64")),
            Lit::Float(float) => (float.base10_digits().to_owned(), float.suffix(), true),
            Lit::Byte(byte) => (byte.value().to_string(), "u8", false),
            other => return refuse(other, "literals other than numbers and `bool`", "write a number"),
        };
        // a pattern's literal has its sign in the token
        let (mut digits, minus) = match digits.strip_prefix('-') {
            Some(digits) => (digits.to_owned(), minus.or(Some(literal.span()))),
            None => (digits, minus),
        };
        if digits.ends_with('.') {
            digits.push('0');
        }
        let name = match (suffix, expected) {
            ("", Some(ty @ Ty::Scalar(..))) => ty.name(),
            // another name of a scalar, or an error that rustc finds
            ("", Some(ty @ Ty::Struct(_))) => return Ok(literal_of(&literal.lit, minus.is_some(), self.cuda(ty))),
            ("", Some(Ty::Parameter(name))) => {
                let example = if is_float { "0.5f32" } else { "5u32" };
                let message = format!(
                    "a literal has no type `{name}`: write `{name}::ONE` or `{name}::ZERO`, or cast: `{example} as {name}`"
                );
                return Err(Error::new_spanned(literal, message));
            }
            ("", _) => {
                let example = if is_float { "0.5f32" } else { "5u32" };
                let message = format!("state this literal's type, as in `{example}`: the CUDA text needs it");
                return Err(Error::new_spanned(literal, message));
            }
            (suffix, _) => suffix,
        };
        if matches!(name, "f16" | "bf16") {
            let message = format!("`{name}` has no literals: cast one, as in `0.5f32 as {name}`");
            return Err(Error::new_spanned(literal, message));
        }
        let ty = Ty::named(name);
        if ty.is_float() != is_float {
            let message = match ty.is_float() {
                true => format!("a literal of `{name}` has a decimal point: `{digits}.0`"),
                false => format!("this is a float, where `{name}` is expected"),
            };
            return Err(Error::new_spanned(literal, message));
        }
        // parsed again with its suffix, so that Rust cannot infer another type than the CUDA text has
        let mut token: proc_macro2::Literal = format!("{digits}{name}")
            .parse()
            .map_err(|_| Error::new_spanned(literal, format!("a literal cannot have type `{name}` in an `#[op]`")))?;
        // the span of generated code, so that lints on how a literal is written skip it
        token.set_span(Span::mixed_site().located_at(literal.span()));
        let rust = match minus {
            Some(span) => quote_spanned!(span=> -#token),
            None => token.into_token_stream(),
        };
        Ok(self.constant(rust))
    }
}

/// Whether an expression is made of numbers without a suffix alone.
pub fn is_number(expr: &Expr) -> bool {
    match expr {
        Expr::Paren(inner) => is_number(&inner.expr),
        Expr::Binary(both) => is_number(&both.left) && is_number(&both.right),
        other => bare(other).is_some(),
    }
}

/// A number without a suffix, and whether a minus precedes it.
pub fn bare(expr: &Expr) -> Option<(&Lit, bool)> {
    match expr {
        Expr::Paren(inner) => bare(&inner.expr),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => bare(expr).map(|(literal, minus)| (literal, !minus)),
        Expr::Lit(literal) => match &literal.lit {
            found @ Lit::Int(int) if int.suffix().is_empty() => Some((found, false)),
            found @ Lit::Float(float) if float.suffix().is_empty() => Some((found, false)),
            _ => None,
        },
        _ => None,
    }
}

/// A literal of the type of `like`, which is a variable in C++, or a part of one.
pub fn literal_like(literal: &Lit, minus: bool, like: impl Into<Cuda>) -> Lowered {
    literal_of(literal, minus, Cuda::text("decltype(").then(like).then(")"))
}

/// A literal of a type in C++ that the macro doesn't know.
fn literal_of(literal: &Lit, minus: bool, ty: Cuda) -> Lowered {
    let number = match literal {
        Lit::Int(int) => {
            // a pattern's literal has its sign in the token
            let digits = int.base10_digits();
            let (digits, minus) = digits.strip_prefix('-').map_or((digits, minus), |digits| (digits, true));
            match minus {
                // C++ has no negative literals
                true if digits == "9223372036854775808" => "-9223372036854775807LL - 1".to_owned(),
                true => format!("-{digits}LL"),
                false => format!("{digits}ULL"),
            }
        }
        Lit::Float(float) => {
            let (digits, sign) = (float.base10_digits(), if minus { "-" } else { "" });
            let point = if digits.contains(['.', 'e', 'E']) { "" } else { ".0" };
            format!("{sign}{digits}{point}f, {sign}{digits}{point}")
        }
        _ => String::new(),
    };
    let cuda = Cuda::text("vxm::like<").then(ty).then(format!(">({number})"));
    Lowered { rust: if minus { quote!(-#literal) } else { quote!(#literal) }, cuda }
}
