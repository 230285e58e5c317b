//! Reads an operator's signature and attributes.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{
    Attribute, Error, FnArg, GenericParam, Generics, Ident, ItemFn, Pat, Path, Result, ReturnType, TypeParam,
    TypeParamBound,
};

use crate::types::Ty;

/// A parameter of an operator.
pub struct Parameter {
    /// `None` for `_`.
    pub name: Option<Ident>,
    pub mutable: bool,
    pub ty: Ty,
}

/// A type parameter of an operator, and the trait of `lowered` that bounds it.
pub struct Generic {
    pub name: Ident,
    pub bound: TokenStream,
}

/// What an operator's signature says.
pub struct Signature {
    pub generics: Vec<Generic>,
    pub parameters: Vec<Parameter>,
    pub result: Ty,
}

/// Reads an operator's signature. `root` is the path of `vxm-semiring`.
pub fn read(function: &ItemFn, root: &TokenStream) -> Result<Signature> {
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
    let generics = generics(&signature.generics, root)?;
    if signature.inputs.is_empty() || signature.inputs.len() > 3 {
        refuse(tokens(&signature.ident), "takes one to three parameters; more go into a struct with `#[scalar]`")?;
    }
    let names: Vec<Ident> = generics.iter().map(|generic| generic.name.clone()).collect();
    let result = match &signature.output {
        ReturnType::Type(_, ty) => Ty::value(ty, &names)?,
        ReturnType::Default => {
            let message = "an `#[op]` returns a value: state its type, `-> u32`";
            return Err(Error::new_spanned(&signature.ident, message));
        }
    };
    let parameters = signature.inputs.iter().map(|input| parameter(input, &names)).collect::<Result<Vec<_>>>()?;
    for name in &names {
        let is_it = |ty: &Ty| matches!(ty, Ty::Parameter(known) if known == name);
        if !parameters.iter().any(|parameter| is_it(&parameter.ty)) {
            let message = format!("no parameter has the type `{name}`: the operands must determine it");
            return Err(Error::new_spanned(name, message));
        }
    }
    Ok(Signature { generics, parameters, result })
}

/// The traits of `lowered` that may bound a type parameter.
const BOUNDS: [&str; 5] = ["Number", "Integer", "Float", "Bits", "Ordered"];

fn generics(generics: &Generics, root: &TokenStream) -> Result<Vec<Generic>> {
    if let Some(clause) = &generics.where_clause {
        return Err(Error::new_spanned(clause, "bound the parameter where it is declared, as in `<T: Number>`"));
    }
    let one = |parameter: &GenericParam| match parameter {
        GenericParam::Type(ty) => Ok(Generic { name: ty.ident.clone(), bound: bound(ty, root)? }),
        other => Err(Error::new_spanned(other, "an `#[op]` is generic over types of numbers only")),
    };
    generics.params.iter().map(one).collect()
}

fn bound(ty: &TypeParam, root: &TokenStream) -> Result<TokenStream> {
    let expected = || format!("expected one bound: {}, as in `{}: Number`", BOUNDS.join(", "), ty.ident);
    let bounds: Vec<_> = ty.bounds.iter().collect();
    let path: &Path = match bounds.as_slice() {
        [TypeParamBound::Trait(bound)] => &bound.path,
        _ => return Err(Error::new_spanned(ty, expected())),
    };
    let name = path.segments.last().filter(|last| last.arguments.is_none()).map(|last| &last.ident);
    match name {
        Some(name) if BOUNDS.iter().any(|known| name == known) => Ok(quote!(#root::lowered::#name)),
        _ => Err(Error::new_spanned(path, expected())),
    }
}

fn parameter(input: &FnArg, generics: &[Ident]) -> Result<Parameter> {
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
    let ty = Ty::operand(&typed.ty, generics)?;
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
