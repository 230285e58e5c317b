//! Reads an operator's signature and attributes.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Attribute, Error, FnArg, Ident, ItemFn, Pat, Result, ReturnType};

use crate::types::Ty;

/// A parameter of an operator.
pub struct Parameter {
    /// `None` for `_`.
    pub name: Option<Ident>,
    pub mutable: bool,
    pub ty: Ty,
}

/// Returns the parameters and the result type of an operator.
pub fn read(function: &ItemFn) -> Result<(Vec<Parameter>, Ty)> {
    let signature = &function.sig;
    let refuse = |token: Option<TokenStream>, what: &str| match token {
        Some(token) => Err(Error::new_spanned(token, format!("an `#[op]` {what}"))),
        None => Ok(()),
    };
    let tokens = |t: &dyn ToTokens| Some(t.to_token_stream());
    refuse(signature.constness.as_ref().and_then(|t| tokens(t)), "is a plain `fn`, not `const`")?;
    refuse(signature.asyncness.as_ref().and_then(|t| tokens(t)), "is a plain `fn`, not `async`")?;
    refuse(signature.unsafety.as_ref().and_then(|t| tokens(t)), "is a plain `fn`, not `unsafe`")?;
    refuse(signature.abi.as_ref().and_then(|t| tokens(t)), "is a plain `fn`, not `extern`")?;
    refuse(signature.variadic.as_ref().and_then(|t| tokens(t)), "takes one to three parameters")?;
    if !signature.generics.params.is_empty() {
        let what = "cannot be generic: its CUDA text needs concrete types; write one for each type";
        refuse(tokens(&signature.generics), what)?;
    }
    refuse(signature.generics.where_clause.as_ref().and_then(|t| tokens(t)), "cannot be generic")?;
    if signature.inputs.is_empty() || signature.inputs.len() > 3 {
        refuse(tokens(&signature.ident), "takes one to three parameters")?;
    }
    let result = match &signature.output {
        ReturnType::Type(_, ty) => Ty::scalar(ty)?,
        ReturnType::Default => {
            let message = "an `#[op]` returns a scalar: state its type, `-> u32`";
            return Err(Error::new_spanned(&signature.ident, message));
        }
    };
    Ok((signature.inputs.iter().map(parameter).collect::<Result<_>>()?, result))
}

fn parameter(input: &FnArg) -> Result<Parameter> {
    let FnArg::Typed(typed) = input else {
        return Err(Error::new_spanned(input, "an `#[op]` is a free function: it has no `self`"));
    };
    let (name, mutable) = match &*typed.pat {
        Pat::Wild(_) => (None, false),
        Pat::Ident(pat) if pat.by_ref.is_none() && pat.subpat.is_none() => {
            (Some(pat.ident.clone()), pat.mutability.is_some())
        }
        pat => return Err(Error::new_spanned(pat, "a parameter of an `#[op]` is a name or `_`")),
    };
    let ty = Ty::parameter(&typed.ty)?;
    Ok(Parameter { name, mutable, ty })
}

/// Sorts the function's attributes: those for the struct (docs, lints), for every item (`cfg`) and for the body (lints).
pub fn attributes(function: &ItemFn) -> Result<[Vec<&Attribute>; 3]> {
    let [mut item, mut every, mut body] = [Vec::new(), Vec::new(), Vec::new()];
    for attribute in &function.attrs {
        let path = attribute.path();
        let is = |names: &[&str]| names.iter().any(|name| path.is_ident(name));
        if is(&["cfg"]) {
            every.push(attribute);
        } else if is(&["allow", "warn", "deny", "forbid"]) {
            item.push(attribute);
            body.push(attribute);
        } else if is(&["expect"]) {
            body.push(attribute);
        } else if is(&["doc", "deprecated"]) {
            item.push(attribute);
        } else if !is(&["inline"]) {
            let message = "an `#[op]` keeps docs, lints, `cfg` and `deprecated` only";
            return Err(Error::new_spanned(attribute, message));
        }
    }
    Ok([item, every, body])
}
