//! Lowers statements to both languages: `let`, assignments.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::{Error, Expr, Ident, Local, Pat, Result, Stmt};

use crate::body::{Lines, Target, has_effects, plain_name, refuse};
use crate::cuda::Cuda;
use crate::scopes::Lowering;
use crate::types::Ty;

impl Lowering {
    /// Lowers statements one after the other.
    pub fn statements(&mut self, statements: &[Stmt], indent: &str) -> Result<Lines> {
        let (mut rust, mut cuda) = (TokenStream::new(), Cuda::default());
        for statement in statements {
            let (r, c) = match statement {
                Stmt::Local(local) => self.local(local, indent)?,
                Stmt::Item(item) => return refuse(item, "items within", "write them outside of the function"),
                Stmt::Macro(call) => return refuse(call, "macros", "write the expression out"),
                Stmt::Expr(expr, _) => {
                    let (rust, cuda) = self.place(expr, None, &Target::Nothing, indent)?;
                    let is_block = matches!(expr, Expr::If(_) | Expr::Match(_) | Expr::Block(_));
                    let end = if is_block { TokenStream::new() } else { quote!(;) };
                    (quote!(#rust #end), cuda)
                }
            };
            rust.extend(r);
            cuda = cuda.then(c);
        }
        Ok((rust, cuda))
    }

    fn local(&mut self, local: &Local, indent: &str) -> Result<Lines> {
        let (pat, stated) = match &local.pat {
            Pat::Type(typed) => (&*typed.pat, Ty::variable(&typed.ty, &self.parameters)?.known()),
            pat => (pat, None),
        };
        let Some(init) = &local.init else {
            return Err(Error::new_spanned(local, "give the variable its value here"));
        };
        if let Some((_, diverge)) = &init.diverge {
            return refuse(diverge, "`let ... else`", "write an `if` or a `match`");
        }
        let ty = stated.or_else(|| self.type_of(&init.expr)).unwrap_or(Ty::Unknown);
        self.uses(&ty);
        // lowered before the name is declared: the initializer sees an earlier variable of that name
        let name = match pat {
            Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => self.reserve(&name.ident).to_string(),
            _ => self.temporary(),
        };
        let (value, cuda) = self.initial(&init.expr, &ty, &name, indent)?;
        let annotated = if ty.is_known() && !matches!(ty, Ty::Unknown) { ty.rust() } else { quote!(_) };
        if let Pat::Ident(found) = pat
            && found.by_ref.is_none()
            && found.subpat.is_none()
        {
            let local = format_ident!("{name}", span = found.ident.span());
            let rust = self.bind(&found.ident, &local, name, ty, found.mutability.is_some());
            let mutable = &found.mutability;
            return Ok((quote!(let #mutable #rust: #annotated = #value;), cuda));
        }
        let (rust, parts) = self.unpack(pat, &ty, &name, indent)?;
        Ok((quote!(let #rust: #annotated = #value;), cuda.then(parts)))
    }

    /// A C++ variable `name` with the value of `expr`: the value in Rust, and the C++ statements.
    fn initial(&mut self, expr: &Expr, ty: &Ty, name: &str, indent: &str) -> Result<Lines> {
        let known = ty.clone().known();
        let is_structured =
            matches!(expr, Expr::If(_) | Expr::Match(_) | Expr::Block(_) | Expr::Paren(_) | Expr::Group(_));
        if !is_structured || !has_effects(expr) {
            let value = self.expression(expr, known.as_ref())?;
            let cuda_ty = if ty.is_known() { self.cuda(ty) } else { Cuda::text("auto") };
            return Ok((
                value.rust,
                Cuda::text(indent).then(cuda_ty).then(format!(" {name} = ")).then(value.cuda).then(";\n"),
            ));
        }
        if !ty.is_known() {
            let message =
                "state the variable's type, as in `let x: u32 = ...`: its value has a `return` or an assignment";
            return Err(Error::new_spanned(expr, message));
        }
        let (rust, lines) = self.place(expr, Some(ty), &Target::Store(name.to_owned()), indent)?;
        Ok((rust, Cuda::text(indent).then(self.cuda(ty)).then(format!(" {name};\n")).then(lines)))
    }

    /// Declares the variables of a pattern that always matches: the pattern in Rust, and the C++ statements. `from` is the value in C++.
    fn unpack(&mut self, pat: &Pat, ty: &Ty, from: &str, indent: &str) -> Result<Lines> {
        match pat {
            Pat::Wild(_) => Ok((quote!(_), Cuda::default())),
            Pat::Paren(inner) => self.unpack(&inner.pat, ty, from, indent),
            Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => {
                let (rust, cuda) = self.declare(&name.ident, ty.clone(), name.mutability.is_some());
                let mutable = &name.mutability;
                Ok((quote!(#mutable #rust), Cuda::text(format!("{indent}auto {cuda} = {from};\n"))))
            }
            Pat::Tuple(tuple) => {
                let (mut parts, mut lines) = (Vec::new(), Cuda::default());
                for (at, pat) in tuple.elems.iter().enumerate() {
                    let part = ty.component(at).unwrap_or(Ty::Unknown);
                    let (rust, cuda) = self.unpack(pat, &part, &format!("{from}._{at}"), indent)?;
                    parts.push(rust);
                    lines = lines.then(cuda);
                }
                Ok((quote!((#(#parts,)*)), lines))
            }
            Pat::Struct(found) => {
                let (mut parts, mut lines) = (Vec::new(), Cuda::default());
                for field in &found.fields {
                    let syn::Member::Named(name) = &field.member else {
                        return refuse(&field.member, "structs without names of fields", "name the fields");
                    };
                    let (rust, cuda) =
                        self.unpack(&field.pat, &Ty::Unknown, &format!("{from}.{}", plain_name(name)), indent)?;
                    parts.push(quote!(#name: #rust));
                    lines = lines.then(cuda);
                }
                let (path, rest) = (&found.path, found.rest.as_ref().map(|rest| rest.dot2_token));
                Ok((quote!(#path { #(#parts,)* #rest }), lines))
            }
            other => refuse(other, "such patterns in a `let`", "write a name, a tuple or a struct of names"),
        }
    }

    /// Lowers an assignment to a variable, or to a field of one.
    pub fn assign(&mut self, target: &Expr, value: &Expr, indent: &str) -> Result<Lines> {
        if let Expr::Tuple(tuple) = target {
            return refuse(tuple, "assignments to several variables", "assign one after the other");
        }
        let (root, path) = place_path(target);
        let found = root.and_then(|name| self.variable(name).cloned());
        let variable = match found {
            Some(variable) if variable.mutable => variable,
            Some(_) => return Err(Error::new_spanned(target, "declare it `mut` to assign to it")),
            None => return Err(Error::new_spanned(target, "only a local variable can be assigned to")),
        };
        // C++ leaves the order open in which operands are computed
        let declared = root.and_then(|name| self.scope_of(name));
        if self.lambdas.last().is_some_and(|lambda| declared.is_some_and(|scope| scope < *lambda)) {
            let instead = "begin a statement with it, or with the `let` that takes its value";
            return refuse(target, "assignments within an operand", instead);
        }
        let ty = if path.is_empty() { variable.ty.clone().known() } else { self.type_of(target) };
        let (name, mut rust) = (&variable.rust, variable.rust.to_token_stream());
        let mut cuda = variable.cuda.clone();
        for member in &path {
            rust = quote!(#rust.#member);
            cuda = format!("{cuda}.{}", crate::expr::member(member));
        }
        if !path.is_empty() {
            // a part of it changes, so the rest is kept
            self.read(root.unwrap_or(name));
        }
        let (value, lines) = self.place(value, ty.as_ref(), &Target::Store(cuda), indent)?;
        Ok((quote!(#rust = #value), lines))
    }
}

/// A variable, and the fields that lead from it to the place that is assigned to.
fn place_path(target: &Expr) -> (Option<&Ident>, Vec<syn::Member>) {
    match target {
        Expr::Path(path) => (path.path.get_ident(), Vec::new()),
        Expr::Paren(inner) => place_path(&inner.expr),
        Expr::Field(field) => {
            let (root, mut path) = place_path(&field.base);
            path.push(field.member.clone());
            (root, path)
        }
        _ => (None, Vec::new()),
    }
}
