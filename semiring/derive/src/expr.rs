//! Lowers expressions to both languages.

use proc_macro2::Span;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{BinOp, Error, Expr, ExprBinary, ExprCall, ExprLit, ExprPath, ExprUnary, Lit, Path, Result, Token, UnOp};

use crate::body::{Lowered, Lowering, refuse};
use crate::cuda::Cuda;
use crate::types::Ty;

/// The types of a method's operands and result.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    /// `(T) -> T`
    Unary,
    /// `(T, T) -> T`
    Binary,
    /// `(T, u32) -> T`
    Counted,
    /// `(T) -> u32`
    Count,
    /// `(T) -> bool`
    Test,
}

/// The methods that an operator may call: name, function of `lowered`, shape.
const METHODS: &[(&str, &str, Shape)] = &[
    ("abs", "abs", Shape::Unary),
    ("ceil", "ceil", Shape::Unary),
    ("count_ones", "count_ones", Shape::Count),
    ("count_zeros", "count_zeros", Shape::Count),
    ("floor", "floor", Shape::Unary),
    ("is_finite", "is_finite", Shape::Test),
    ("is_infinite", "is_infinite", Shape::Test),
    ("is_nan", "is_nan", Shape::Test),
    ("leading_ones", "leading_ones", Shape::Count),
    ("leading_zeros", "leading_zeros", Shape::Count),
    ("max", "max", Shape::Binary),
    ("min", "min", Shape::Binary),
    ("pow", "pow", Shape::Counted),
    ("rotate_left", "rotate_left", Shape::Counted),
    ("rotate_right", "rotate_right", Shape::Counted),
    ("saturating_add", "saturating_add", Shape::Binary),
    ("saturating_sub", "saturating_sub", Shape::Binary),
    ("sqrt", "sqrt", Shape::Unary),
    ("trailing_ones", "trailing_ones", Shape::Count),
    ("trailing_zeros", "trailing_zeros", Shape::Count),
    ("trunc", "trunc", Shape::Unary),
    ("wrapping_abs", "abs", Shape::Unary),
    ("wrapping_add", "add", Shape::Binary),
    ("wrapping_mul", "mul", Shape::Binary),
    ("wrapping_neg", "neg", Shape::Unary),
    ("wrapping_pow", "pow", Shape::Counted),
    ("wrapping_shl", "shl", Shape::Counted),
    ("wrapping_shr", "shr", Shape::Counted),
    ("wrapping_sub", "sub", Shape::Binary),
];

/// Methods that are casts, with the type they cast to: `x.to_f32()`.
const CASTS: &[(&str, &str)] = &[("to_f32", "f32"), ("to_f64", "f64")];

fn method(name: &str) -> Option<(&'static str, Shape)> {
    let found = METHODS.iter().find(|(known, ..)| *known == name)?;
    Some((found.1, found.2))
}

/// The function of `lowered` for a binary operator, and whether it is a comparison.
fn binary(op: &BinOp) -> Option<(&'static str, bool)> {
    Some(match op {
        BinOp::Add(_) => ("add", false),
        BinOp::Sub(_) => ("sub", false),
        BinOp::Mul(_) => ("mul", false),
        BinOp::Div(_) => ("div", false),
        BinOp::Rem(_) => ("rem", false),
        BinOp::BitAnd(_) => ("bitand", false),
        BinOp::BitOr(_) => ("bitor", false),
        BinOp::BitXor(_) => ("bitxor", false),
        BinOp::Eq(_) => ("eq", true),
        BinOp::Ne(_) => ("ne", true),
        BinOp::Lt(_) => ("lt", true),
        BinOp::Le(_) => ("le", true),
        BinOp::Gt(_) => ("gt", true),
        BinOp::Ge(_) => ("ge", true),
        _ => return None,
    })
}

impl Lowering {
    /// The type of an expression, if it follows from types that its text states.
    pub fn type_of(&self, expr: &Expr) -> Option<Ty> {
        let boolean = Some(Ty::named("bool"));
        match expr {
            Expr::Paren(inner) => self.type_of(&inner.expr),
            Expr::Group(inner) => self.type_of(&inner.expr),
            Expr::Path(path) => match path.path.get_ident().and_then(|name| self.variable(name)) {
                Some(variable) => Some(variable.ty.clone()),
                None => {
                    let last = path.path.segments.last()?.ident.to_string();
                    // an associated constant of a scalar has that scalar's type, except for a few counts
                    let count = ["BITS", "DIGITS", "MANTISSA_DIGITS", "RADIX"].contains(&last.as_str())
                        || last.ends_with("_EXP");
                    Ty::owner(&path.path).filter(|_| !count)
                }
            },
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(int) if !int.suffix().is_empty() => Some(Ty::named(int.suffix())),
                Lit::Float(float) if !float.suffix().is_empty() => Some(Ty::named(float.suffix())),
                Lit::Bool(_) => boolean,
                _ => None,
            },
            Expr::Unary(unary) => self.type_of(&unary.expr),
            Expr::Cast(cast) => Ty::scalar(&cast.ty).ok(),
            Expr::Binary(e) => match e.op {
                BinOp::And(_) | BinOp::Or(_) => boolean,
                BinOp::Shl(_) | BinOp::Shr(_) => self.type_of(&e.left),
                op if binary(&op).is_some_and(|(_, compares)| compares) => boolean,
                _ => self.type_of(&e.left).or_else(|| self.type_of(&e.right)),
            },
            Expr::If(branch) => match branch.then_branch.stmts.as_slice() {
                [syn::Stmt::Expr(tail, None)] => {
                    self.type_of(tail).or_else(|| self.type_of(&branch.else_branch.as_ref()?.1))
                }
                _ => self.type_of(&branch.else_branch.as_ref()?.1),
            },
            Expr::Block(block) => match block.block.stmts.as_slice() {
                [syn::Stmt::Expr(tail, None)] => self.type_of(tail),
                _ => None,
            },
            Expr::MethodCall(call) => {
                let name = call.method.to_string();
                if let Some((_, to)) = CASTS.iter().find(|(known, _)| *known == name) {
                    return Some(Ty::named(to));
                }
                match method(&name)?.1 {
                    Shape::Count => Some(Ty::named("u32")),
                    Shape::Test => boolean,
                    Shape::Binary => self.type_of(&call.receiver).or_else(|| self.type_of(call.args.first()?)),
                    _ => self.type_of(&call.receiver),
                }
            }
            _ => None,
        }
    }

    /// Lowers an expression. `expected` is its type, if the context determines one.
    pub fn expression(&mut self, expr: &Expr, expected: Option<&Ty>) -> Result<Lowered> {
        match expr {
            Expr::Paren(inner) => self.expression(&inner.expr, expected),
            Expr::Group(inner) => self.expression(&inner.expr, expected),
            Expr::Lit(literal) => self.literal(literal, None, expected),
            Expr::Path(path) => self.path(path),
            Expr::Unary(unary) => self.unary(unary, expected),
            Expr::Binary(e) => self.binary(e, expected),
            Expr::Cast(cast) => {
                let to = Ty::scalar(&cast.ty)?;
                let value = self.expression(&cast.expr, None)?;
                Ok(self.cast(value, &to, cast.as_token.span))
            }
            Expr::If(branch) => {
                let ty = expected.cloned().or_else(|| self.type_of(expr));
                self.choice(branch, ty.as_ref())
            }
            Expr::Block(block) if block.label.is_none() => self.block(&block.block, expected),
            Expr::MethodCall(call) => {
                if let Some(turbofish) = &call.turbofish {
                    return refuse(turbofish, "generic methods");
                }
                let operands = [&*call.receiver].into_iter().chain(&call.args).collect();
                self.method(&call.method, operands, expected)
            }
            Expr::Call(call) => self.call(call, expected),
            Expr::Macro(e) => refuse(&e.mac.path, "macros"),
            Expr::Match(e) => refuse(e.match_token, "`match`"),
            Expr::ForLoop(e) => refuse(e.for_token, "loops"),
            Expr::While(e) => refuse(e.while_token, "loops"),
            Expr::Loop(e) => refuse(e.loop_token, "loops"),
            Expr::Reference(e) => refuse(e.and_token, "references"),
            Expr::Closure(e) => refuse(e, "closures"),
            Expr::Return(e) => refuse(e.return_token, "`return`, as the last expression is the result"),
            Expr::Let(e) => refuse(e, "`if let`"),
            Expr::Assign(e) => refuse(e, "assignments as values"),
            other => refuse(other, "such expressions"),
        }
    }

    fn literal(&mut self, literal: &ExprLit, minus: Option<Span>, expected: Option<&Ty>) -> Result<Lowered> {
        let (digits, suffix, is_float) = match &literal.lit {
            Lit::Bool(value) => {
                let (rust, cuda) = (value.to_token_stream(), Cuda::text(value.value.to_string()));
                return Ok(Lowered { rust, cuda });
            }
            Lit::Int(int) => (int.base10_digits(), int.suffix(), matches!(int.suffix(), "f32" | "f64")),
            Lit::Float(float) => (float.base10_digits(), float.suffix(), true),
            other => return refuse(other, "literals other than numbers and `bool`"),
        };
        let name = match (suffix, expected) {
            ("", None) => {
                let example = if is_float { "0.5f32" } else { "5u32" };
                let message = format!("state this literal's type, as in `{example}`: the CUDA text needs it");
                return Err(Error::new_spanned(literal, message));
            }
            ("", Some(ty)) => ty.name(),
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

    /// Lowers a constant expression. Its value's literal is spliced into the CUDA text at run time.
    fn constant(&self, rust: proc_macro2::TokenStream) -> Lowered {
        let root = &self.root;
        let cuda = Cuda::splice(quote_spanned!(rust.span()=> #root::Element::literal(#rust)));
        Lowered { rust, cuda }
    }

    fn path(&mut self, path: &ExprPath) -> Result<Lowered> {
        plain(&path.path, path.qself.is_some())?;
        let Some(variable) = path.path.get_ident().and_then(|name| self.variable(name)) else {
            return Ok(self.constant(path.path.to_token_stream()));
        };
        if variable.ty.is_unit() {
            let message = "a pattern's entry `()` has no value to use: name it `_`";
            return Err(Error::new_spanned(path, message));
        }
        let local = format_ident!("{}", variable.local, span = path.span());
        let (rust, cuda) = (local.to_token_stream(), Cuda::text(local.to_string()));
        Ok(Lowered { rust, cuda })
    }

    fn unary(&mut self, unary: &ExprUnary, expected: Option<&Ty>) -> Result<Lowered> {
        let name = match (&unary.op, &*unary.expr) {
            // `-2147483648i32` is lowered with its sign: the number alone would be out of range
            (UnOp::Neg(minus), Expr::Lit(literal)) => return self.literal(literal, Some(minus.span), expected),
            (UnOp::Neg(_), _) => "neg",
            (UnOp::Not(_), _) => "not",
            (UnOp::Deref(star), _) => return refuse(star, "dereferences"),
            (other, _) => return refuse(other, "such expressions"),
        };
        let ty = self.type_of(&unary.expr).or(expected.cloned());
        let value = self.expression(&unary.expr, ty.as_ref())?;
        Ok(self.lowered(name, vec![value], unary.op.span()))
    }

    fn binary(&mut self, e: &ExprBinary, expected: Option<&Ty>) -> Result<Lowered> {
        if let BinOp::And(_) | BinOp::Or(_) = e.op {
            let boolean = Ty::named("bool");
            let (a, b) = (self.expression(&e.left, Some(&boolean))?, self.expression(&e.right, Some(&boolean))?);
            let (op, left, right) = (&e.op, a.rust, b.rust);
            let symbol = if matches!(op, BinOp::And(_)) { " && " } else { " || " };
            let cuda = Cuda::text("(").then(a.cuda).then(symbol).then(b.cuda).then(")");
            return Ok(Lowered { rust: quote!(((#left) #op (#right))), cuda });
        }
        if let BinOp::Shl(_) | BinOp::Shr(_) = e.op {
            let name = if matches!(e.op, BinOp::Shl(_)) { "shl" } else { "shr" };
            let ty = self.type_of(&e.left).or(expected.cloned());
            let by = self.type_of(&e.right).unwrap_or_else(|| Ty::named("u32"));
            let operands = vec![self.expression(&e.left, ty.as_ref())?, self.expression(&e.right, Some(&by))?];
            return Ok(self.lowered(name, operands, e.op.span()));
        }
        let Some((name, compares)) = binary(&e.op) else {
            return refuse(e.op, "assignments as values");
        };
        let around = expected.cloned().filter(|_| !compares);
        let ty = self.type_of(&e.left).or_else(|| self.type_of(&e.right)).or(around);
        let operands = vec![self.expression(&e.left, ty.as_ref())?, self.expression(&e.right, ty.as_ref())?];
        Ok(self.lowered(name, operands, e.op.span()))
    }

    /// A call of the function `name` of `lowered` and of its C++ counterpart.
    fn lowered(&self, name: &str, operands: Vec<Lowered>, span: Span) -> Lowered {
        let (root, function) = (&self.root, format_ident!("{name}", span = span));
        let (rust, cuda): (Vec<_>, Vec<_>) = operands.into_iter().map(|o| (o.rust, o.cuda)).unzip();
        // these names are operators in C++, so the prelude's functions have a `_` appended
        let escape = if matches!(name, "bitand" | "bitor" | "bitxor" | "not") { "_" } else { "" };
        Lowered {
            rust: quote_spanned!(span=> #root::lowered::#function(#(#rust),*)),
            cuda: Cuda::call(format!("vxm::{name}{escape}"), cuda),
        }
    }

    fn cast(&mut self, value: Lowered, to: &Ty, span: Span) -> Lowered {
        self.uses(to);
        let (root, target, rust) = (&self.root, to.rust(), value.rust);
        let name = Cuda::text("vxm::cast<").then(to.cuda()).then(">");
        Lowered {
            rust: quote_spanned!(span=> #root::lowered::cast::<#target, _>(#rust)),
            cuda: Cuda::call(name, vec![value.cuda]),
        }
    }

    fn method(&mut self, name: &syn::Ident, operands: Vec<&Expr>, expected: Option<&Ty>) -> Result<Lowered> {
        let called = name.to_string();
        if let (Some((_, to)), [value]) = (CASTS.iter().find(|(known, _)| *known == called), operands.as_slice()) {
            let value = self.expression(value, None)?;
            return Ok(self.cast(value, &Ty::named(to), name.span()));
        }
        let Some((lowered, shape)) = method(&called) else {
            let known: Vec<_> = METHODS.iter().map(|(name, ..)| *name).collect();
            let message =
                format!("`{called}` has not the same bits on every device; `#[op]` knows {}", known.join(", "));
            return Err(Error::new_spanned(name, message));
        };
        let takes = 1 + usize::from(matches!(shape, Shape::Binary | Shape::Counted));
        if operands.len() != takes {
            return Err(Error::new_spanned(name, format!("`{called}` takes {} arguments", takes - 1)));
        }
        let around = expected.cloned().filter(|_| !matches!(shape, Shape::Count | Shape::Test));
        let other = operands.get(1).filter(|_| shape == Shape::Binary).and_then(|e| self.type_of(e));
        let ty = self.type_of(operands[0]).or(other).or(around);
        let mut values = vec![self.expression(operands[0], ty.as_ref())?];
        if let Some(second) = operands.get(1) {
            let ty = if shape == Shape::Counted { Some(Ty::named("u32")) } else { ty };
            values.push(self.expression(second, ty.as_ref())?);
        }
        Ok(self.lowered(lowered, values, name.span()))
    }

    /// Lowers a call: `other(a, b)` of an `#[op]` or a built-in operator, `f32::min(a, b)` or `f16::from_f32(a)`.
    fn call(&mut self, call: &ExprCall, expected: Option<&Ty>) -> Result<Lowered> {
        let Expr::Path(callee) = &*call.func else {
            return refuse(&call.func, "calls of anything but a name");
        };
        plain(&callee.path, callee.qself.is_some())?;
        if let (Some(owner), Some(last)) = (Ty::owner(&callee.path), callee.path.segments.last()) {
            if let ("from_f32" | "from_f64", 1) = (last.ident.to_string().as_str(), call.args.len()) {
                let from = Ty::named(&last.ident.to_string()["from_".len()..]);
                let value = self.expression(&call.args[0], Some(&from))?;
                return Ok(self.cast(value, &owner, last.ident.span()));
            }
            return self.method(&last.ident, call.args.iter().collect(), expected.or(Some(&owner)));
        }
        if callee.path.is_ident(&self.name) {
            return refuse(callee, "recursion");
        }
        self.operator(&callee.path, &call.args)
    }

    fn operator(&mut self, path: &Path, arguments: &Punctuated<Expr, Token![,]>) -> Result<Lowered> {
        let kind = match arguments.len() {
            1 => "UnaryOp",
            2 => "BinaryOp",
            3 => "TernaryOp",
            _ => return Err(Error::new_spanned(path, "an `#[op]` takes one to three arguments")),
        };
        let (mut rust, mut cuda) = (Vec::new(), Vec::new());
        for argument in arguments {
            let ty = self.type_of(argument);
            let value = self.expression(argument, ty.as_ref())?;
            rust.push(value.rust);
            cuda.push(value.cuda);
        }
        let (root, kind) = (&self.root, format_ident!("{kind}"));
        let span = path.span();
        let name = Cuda::splice(quote_spanned!(span=> #root::Source::source(#path, __vxm_text)));
        Ok(Lowered { rust: quote_spanned!(span=> #root::#kind::call(#path, #(#rust),*)), cuda: Cuda::call(name, cuda) })
    }
}

/// Returns an error if a path has generic arguments or is qualified, as `<T as Trait>::f`.
fn plain(path: &Path, qualified: bool) -> Result<()> {
    match path.segments.iter().find(|s| !s.arguments.is_none()) {
        Some(segment) => refuse(&segment.arguments, "generic paths"),
        None if qualified => refuse(path, "qualified paths"),
        None => Ok(()),
    }
}
