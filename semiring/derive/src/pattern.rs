//! Lowers `match` and its patterns to both languages.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Error, Expr, ExprLit, ExprMatch, Lit, Pat, RangeLimits, Result};

use crate::body::{Lines, Lowered, Target, has_effects, plain_name, refuse};
use crate::cuda::Cuda;
use crate::literals::literal_like;
use crate::scopes::Lowering;
use crate::types::Ty;

/// A pattern in Rust, and the C++ test of whether a value matches it; none if every value does.
struct Matched {
    rust: TokenStream,
    test: Option<Cuda>,
}

impl Matched {
    /// A pattern that every value matches.
    fn always(rust: TokenStream) -> Self {
        Matched { rust, test: None }
    }
}

/// Two tests joined by `&&`.
fn both(a: Option<Cuda>, b: Option<Cuda>) -> Option<Cuda> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.then(" && ").then(b)),
        (a, b) => a.or(b),
    }
}

impl Lowering {
    /// Lowers a `match` to a chain of C++ `if` statements. Rust checks that the arms are exhaustive, so the last one needs no test.
    pub fn matching(&mut self, choice: &ExprMatch, ty: Option<&Ty>, target: &Target, indent: &str) -> Result<Lines> {
        let scrutinee = self.scrutinee(choice)?;
        let value = self.temporary();
        let of = self.type_of(&choice.expr).unwrap_or(Ty::Unknown);
        let ty = ty.cloned().or_else(|| self.type_of_match(choice));
        let (mut arms, mut is_open, deeper) = (Vec::new(), true, format!("{indent}        "));
        let mut cuda =
            Cuda::text(format!("{indent}{{\n{indent}    const auto {value} = ")).then(scrutinee.cuda).then(";\n");
        cuda = cuda.then(format!("{indent}    "));
        for (at, arm) in choice.arms.iter().enumerate() {
            let is_last = at + 1 == choice.arms.len();
            let (rust, test, lines) = self.scoped(|this| {
                let (rust, test) = this.arm(arm, &of, &value)?;
                let (body, lines) = this.place(&arm.body, ty.as_ref(), target, &deeper)?;
                Ok((quote!(#rust => { #body }), test, lines))
            })?;
            arms.push(rust);
            // arms behind one that always matches are never reached
            if !std::mem::replace(&mut is_open, !is_last && test.is_some()) {
                is_open = false;
                continue;
            }
            let head = match test {
                Some(test) if !is_last => Cuda::text("if (").then(test).then(") {\n"),
                _ => Cuda::text("{\n"),
            };
            cuda = cuda.then(head).then(lines).then(format!("{indent}    }}"));
            cuda = cuda.then(if is_open { " else " } else { "\n" });
        }
        let (token, test) = (choice.match_token, scrutinee.rust);
        Ok((quote!(#token #test { #(#arms)* }), cuda.then(format!("{indent}}}\n"))))
    }

    /// Lowers a `match` as an expression.
    pub fn chosen(&mut self, choice: &ExprMatch, ty: Option<&Ty>) -> Result<Lowered> {
        let named = match &*choice.expr {
            Expr::Path(path) => path.path.get_ident().and_then(|name| self.variable(name)),
            _ => None,
        };
        match named.map(|variable| variable.cuda.clone()) {
            Some(name) if choice.arms.iter().all(|arm| is_plain(&arm.body)) => self.chain(choice, &name, ty),
            _ => self.lambda(|this| this.matching(choice, ty, &Target::Return, "        ")),
        }
    }

    /// Lowers a `match` on a variable, which is `name` in the CUDA text, to a chain of `?:` in C++.
    fn chain(&mut self, choice: &ExprMatch, name: &str, ty: Option<&Ty>) -> Result<Lowered> {
        let scrutinee = self.scrutinee(choice)?;
        let of = self.type_of(&choice.expr).unwrap_or(Ty::Unknown);
        let ty = ty.cloned().or_else(|| self.type_of_match(choice));
        let (mut arms, mut cuda) = (Vec::new(), Cuda::text("("));
        for (at, arm) in choice.arms.iter().enumerate() {
            let is_last = at + 1 == choice.arms.len();
            let (rust, test, value) = self.scoped(|this| {
                let (rust, test) = this.arm(arm, &of, name)?;
                let value = this.expression(&arm.body, ty.as_ref())?;
                let body = value.rust;
                Ok((quote!(#rust => { #body }), test, value.cuda))
            })?;
            arms.push(rust);
            let reached = if is_last { None } else { Some(test.unwrap_or_else(|| Cuda::text("true"))) };
            cuda = match reached {
                Some(test) => cuda.then("(").then(test).then(") ? ").then(value).then(" : "),
                None => cuda.then(value),
            };
        }
        let (token, test) = (choice.match_token, scrutinee.rust);
        Ok(Lowered { rust: quote!((#token #test { #(#arms)* })), cuda: cuda.then(")") })
    }

    fn scrutinee(&mut self, choice: &ExprMatch) -> Result<Lowered> {
        if choice.arms.is_empty() {
            return Err(Error::new_spanned(choice, "a `match` needs an arm"));
        }
        let ty = self.type_of(&choice.expr);
        if let Some(ty) = ty.as_ref().filter(|ty| ty.is_float()) {
            let message = format!("a `match` on {} has no exact patterns: compare in an `if`", ty.described());
            return Err(Error::new_spanned(&choice.expr, message));
        }
        self.expression(&choice.expr, ty.as_ref())
    }

    /// An arm's pattern and guard: in Rust, and the C++ test.
    fn arm(&mut self, arm: &syn::Arm, ty: &Ty, value: &str) -> Result<(TokenStream, Option<Cuda>)> {
        let matched = self.pattern(&arm.pat, ty, value, false)?;
        let rust = matched.rust;
        let Some((_, guard)) = &arm.guard else { return Ok((rust, matched.test)) };
        let guard = self.expression(guard, Some(&Ty::named("bool")))?;
        let test = guard.rust;
        Ok((quote!(#rust if #test), both(matched.test, Some(guard.cuda))))
    }

    /// Lowers a pattern for the C++ value `value`. All alternatives bind the same names.
    fn pattern(&mut self, pat: &Pat, ty: &Ty, value: &str, alternative: bool) -> Result<Matched> {
        match pat {
            Pat::Wild(_) => Ok(Matched::always(quote!(_))),
            Pat::Paren(inner) => self.pattern(&inner.pat, ty, value, alternative),
            Pat::Lit(literal) => self.equal(&Expr::Lit(literal.clone()), ty, value),
            Pat::Path(path) => self.equal(&Expr::Path(path.clone()), ty, value),
            Pat::Range(range) => self.range(range, ty, value),
            Pat::Or(or) => {
                let (mut rust, mut test, mut every) = (Vec::new(), Cuda::text("("), false);
                for (at, case) in or.cases.iter().enumerate() {
                    let matched = self.pattern(case, ty, value, true)?;
                    rust.push(matched.rust);
                    every |= matched.test.is_none();
                    test = test
                        .then(if at > 0 { " || " } else { "" })
                        .then(matched.test.unwrap_or_else(|| Cuda::text("true")));
                }
                let test = if every { None } else { Some(test.then(")")) };
                Ok(Matched { rust: quote!(#(#rust)|*), test })
            }
            Pat::Ident(name) if name.by_ref.is_some() || name.mutability.is_some() => {
                refuse(name, "`ref` and `mut` in a pattern", "write the name alone")
            }
            Pat::Ident(name) if name.subpat.is_none() && is_constant(&name.ident.to_string()) => {
                let path = syn::ExprPath { attrs: Vec::new(), qself: None, path: name.ident.clone().into() };
                self.equal(&Expr::Path(path), ty, value)
            }
            Pat::Ident(name) => {
                let earlier = if alternative { self.innermost(&name.ident) } else { None };
                let rust = match earlier {
                    Some(variable) if variable.cuda == value => variable.rust.clone(),
                    Some(_) => {
                        let instead = "write an arm for each";
                        return refuse(
                            name,
                            "a name that means another part of the value in each alternative",
                            instead,
                        );
                    }
                    None => {
                        self.check_new(&name.ident)?;
                        let local = self.reserve(&name.ident);
                        self.bind(&name.ident, &local, value.to_owned(), ty.clone(), false)
                    }
                };
                let Some((_, inner)) = &name.subpat else { return Ok(Matched::always(rust.to_token_stream())) };
                let matched = self.pattern(inner, ty, value, alternative)?;
                let within = matched.rust;
                Ok(Matched { rust: quote!(#rust @ (#within)), test: matched.test })
            }
            Pat::Tuple(tuple) => {
                let (mut rust, mut test) = (Vec::new(), None);
                for (at, pat) in tuple.elems.iter().enumerate() {
                    let part = ty.component(at).unwrap_or(Ty::Unknown);
                    let matched = self.pattern(pat, &part, &format!("{value}._{at}"), alternative)?;
                    rust.push(matched.rust);
                    test = both(test, matched.test);
                }
                Ok(Matched { rust: quote!((#(#rust,)*)), test })
            }
            Pat::Struct(found) => {
                let (mut rust, mut test) = (Vec::new(), None);
                for field in &found.fields {
                    let syn::Member::Named(name) = &field.member else {
                        return refuse(&field.member, "structs without names of fields", "name the fields");
                    };
                    let within = format!("{value}.{}", plain_name(name));
                    let matched = self.pattern(&field.pat, &Ty::Unknown, &within, alternative)?;
                    let pattern = matched.rust;
                    rust.push(quote!(#name: #pattern));
                    test = both(test, matched.test);
                }
                let (path, rest) = (&found.path, found.rest.as_ref().map(|rest| rest.dot2_token));
                Ok(Matched { rust: quote!(#path { #(#rust,)* #rest }), test })
            }
            Pat::Rest(rest) => refuse(rest, "`..` in a tuple", "write `_` for each part"),
            other => refuse(other, "such patterns", "write numbers, ranges, constants, names, tuples or structs"),
        }
    }

    /// A literal or a constant as a pattern: `value` is equal to it.
    fn equal(&mut self, expr: &Expr, ty: &Ty, value: &str) -> Result<Matched> {
        let found = self.end(expr, ty, value)?;
        let test = Cuda::call("vxm::eq", vec![Cuda::text(value), found.cuda]);
        Ok(Matched { rust: found.rust, test: Some(test) })
    }

    /// A literal or a constant of a pattern for `value`.
    fn end(&mut self, expr: &Expr, ty: &Ty, value: &str) -> Result<Lowered> {
        match expr {
            Expr::Lit(ExprLit { lit: Lit::Float(_), .. }) => {
                return Err(Error::new_spanned(expr, "a `match` on floats has no exact patterns: compare in an `if`"));
            }
            Expr::Lit(ExprLit { lit: literal @ Lit::Int(int), .. })
                if int.suffix().is_empty() && matches!(ty, Ty::Unknown) =>
            {
                return Ok(literal_like(literal, false, value));
            }
            _ => {}
        }
        self.expression(expr, ty.clone().known().as_ref())
    }

    fn range(&mut self, range: &syn::PatRange, ty: &Ty, value: &str) -> Result<Matched> {
        let (mut test, limits) = (None, &range.limits);
        let mut ends = [None, None];
        let upper = if matches!(limits, RangeLimits::Closed(_)) { "vxm::le" } else { "vxm::lt" };
        for (at, (end, function)) in [(&range.start, "vxm::ge"), (&range.end, upper)].into_iter().enumerate() {
            let Some(end) = end else { continue };
            let found = self.end(end, ty, value)?;
            test = both(test, Some(Cuda::call(function, vec![Cuda::text(value), found.cuda])));
            ends[at] = Some(found.rust);
        }
        let [start, end] = ends;
        Ok(Matched { rust: quote!(#start #limits #end), test })
    }
}

/// Whether a name in a pattern is a constant's, by the first letter's case: a macro can't look it up.
pub fn is_constant(name: &str) -> bool {
    name.starts_with(|c: char| c.is_uppercase())
}

/// Whether an arm is a single expression without statements.
fn is_plain(body: &Expr) -> bool {
    match body {
        _ if has_effects(body) => false,
        Expr::Block(block) => matches!(block.block.stmts.as_slice(), [syn::Stmt::Expr(tail, None)] if is_plain(tail)),
        Expr::Match(_) => false,
        _ => true,
    }
}
