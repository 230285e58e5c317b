//! Generates the items that an operator consists of.

use std::collections::HashSet;

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::{Ident, ItemFn, Result};

use crate::body::refuse;
use crate::cuda::Cuda;
use crate::scopes::Lowering;
use crate::signature::{self, Signature};
use crate::types;

/// The path of `vxm-semiring` in the crate that uses the macro: the crate itself, or its re-export by `vxm`.
pub fn root() -> TokenStream {
    let found = |name: &str| match crate_name(name) {
        Ok(FoundCrate::Name(name)) => Some(Ident::new(&name, Span::call_site())),
        _ => None,
    };
    match (found("vxm-semiring"), found("vxm")) {
        (Some(semiring), _) => quote!(::#semiring),
        (None, Some(engine)) => quote!(::#engine::semiring),
        (None, None) => quote!(::vxm_semiring),
    }
}

/// Returns an error at an attribute within a function's body.
fn refuse_attributes(body: TokenStream) -> Result<()> {
    for token in body {
        match token {
            TokenTree::Punct(hash) if hash.as_char() == '#' => {
                return refuse(hash, "attributes within its body", "write them on the function");
            }
            TokenTree::Group(group) => refuse_attributes(group.stream())?,
            _ => {}
        }
    }
    Ok(())
}

/// A function in both languages.
struct Function {
    /// Parameters and body in Rust.
    rust: (Vec<TokenStream>, TokenStream),
    /// The whole definition in C++, with a placeholder for the name.
    cuda: Cuda,
    lowering: Lowering,
}

impl Function {
    /// Lowers a function. `unread` holds the numbers of variables that nothing reads.
    fn lower(
        (function, names): (&ItemFn, &[Ident]),
        signature: &Signature,
        root: &TokenStream,
        unread: HashSet<usize>,
    ) -> Result<Self> {
        let generics: Vec<Ident> = signature.generics.iter().map(|generic| generic.name.clone()).collect();
        let result = signature.result.clone();
        let mut lowering = Lowering::new(root.clone(), names.to_vec(), generics.clone(), result.clone(), unread);
        let (mut rust, mut cuda) = (Vec::new(), Vec::new());
        for parameter in &signature.parameters {
            let (ty, mutable) = (parameter.ty.rust(), parameter.mutable.then(|| quote!(mut)));
            lowering.uses(&parameter.ty);
            let cuda_ty = lowering.cuda(&parameter.ty);
            match &parameter.name {
                Some(ident) => {
                    lowering.check_new(ident)?;
                    let (local, text) = lowering.declare(ident, parameter.ty.clone(), parameter.mutable);
                    rust.push(quote!(#mutable #local: #ty));
                    cuda.push(cuda_ty.then(format!(" {text}")));
                }
                None => {
                    rust.push(quote!(_: #ty));
                    cuda.push(cuda_ty);
                }
            }
        }
        lowering.uses(&result);
        let (body, text) = lowering.function(&function.block)?;
        let template: Vec<_> = generics.iter().map(|name| format!("class {}", types::parameter(name))).collect();
        let template = if template.is_empty() { String::new() } else { format!("template <{}> ", template.join(", ")) };
        // \u{1} is a placeholder for the function's name, which contains a hash of the rest of the text
        let cuda = Cuda::text(format!("{template}VXM_FN "))
            .then(lowering.cuda(&result))
            .then(Cuda::call(" \u{1}", cuda))
            .then(" {\n")
            .then(text)
            .then("}");
        Ok(Function { rust: (rust, body), cuda, lowering })
    }
}

/// Returns the struct that `function` becomes, and its trait implementations. With an `alias` the struct has that name, and the function stays.
pub fn operator(function: &ItemFn, alias: Option<Ident>) -> Result<TokenStream> {
    let root = root();
    let signature = signature::read(function, &root)?;
    let [item_attributes, every, body_attributes] = signature::attributes(function)?;
    refuse_attributes(function.block.to_token_stream())?;
    let (vis, stem) = (&function.vis, function.sig.ident.to_string().trim_start_matches("r#").to_owned());
    let name = alias.as_ref().unwrap_or(&function.sig.ident);
    // the first lowering finds out which variables nothing reads
    let names: Vec<Ident> = alias.iter().chain([&function.sig.ident]).cloned().collect();
    let lower = |unread| Function::lower((function, &names), &signature, &root, unread);
    let first = lower(HashSet::new())?;
    let unread: HashSet<usize> = first.lowering.unread().map(|(number, _)| number).collect();
    let warned = first.lowering.unread().map(|(_, name)| name).filter(|name| !name.to_string().starts_with('_'));
    let warned: Vec<Ident> = warned.cloned().collect();
    let lowered = if unread.is_empty() { first } else { lower(unread)? };
    let Function { rust: (parameters, body), cuda, lowering } = lowered;
    let warnings = (!warned.is_empty()).then(|| {
        quote! {
            // rustc's own warning of variables that nothing reads, under their own names
            #(#body_attributes)*
            #[allow(dead_code)]
            fn __vxm_unread() { #(let #warned = 0u8;)* }
        }
    });
    let (splices, formatted) = cuda.into_rust();
    let declared = lowering.used_types();

    let (generics, casts) = (&signature.generics, lowering.casts.values());
    let (params, bounds): (Vec<_>, Vec<_>) = generics.iter().map(|generic| (&generic.name, &generic.bound)).unzip();
    let generic = (!params.is_empty()).then(|| quote!(<#(#params: #bounds),*>));
    let casts: Vec<_> = casts.collect();
    let clause = (!casts.is_empty()).then(|| quote!(where #(#casts),*));
    let out = signature.result.rust();
    let (operands, operator) = match signature.parameters.len() {
        1 => (vec!["a"], "UnaryOp"),
        2 => (vec!["a", "b"], "BinaryOp"),
        _ => (vec!["a", "b", "c"], "TernaryOp"),
    };
    // unusual names, since a user's operator may be called `a`: a binding of the name of a unit struct would be a pattern
    let operands: Vec<_> = operands.iter().map(|o| format_ident!("__vxm_{o}")).collect();
    let types: Vec<_> = signature.parameters.iter().map(|p| p.ty.rust()).collect();
    let operator = format_ident!("{operator}");
    // a function pointer has no type parameters
    let pointer = params.is_empty().then(|| {
        quote! {
            impl ::core::ops::Deref for #name {
                type Target = fn(#(#types),*) -> #out;
                #[inline(always)]
                fn deref(&self) -> &Self::Target {
                    const BODY: fn(#(#types),*) -> #out = __vxm_body;
                    &BODY
                }
            }
        }
    });
    let kept = alias.is_some().then(|| {
        let function = &function.sig.ident;
        quote! {
            #(#every)*
            #(#item_attributes)*
            #[allow(dead_code, clippy::multiple_bound_locations)]
            #[inline]
            #vis fn #function #generic(#(#operands: #types),*) -> #out #clause {
                #root::#operator::call(#name, #(#operands),*)
            }
        }
    });
    Ok(quote! {
        #(#every)*
        #(#item_attributes)*
        #[allow(non_camel_case_types)]
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #vis struct #name;

        #kept

        #(#every)*
        #[allow(non_camel_case_types, clippy::multiple_bound_locations)]
        const _: () = {
            #(#body_attributes)*
            #[allow(non_snake_case)]
            #[inline(always)]
            fn __vxm_body #generic(#(#parameters),*) -> #out #clause #body

            #warnings

            impl #generic #root::#operator<#(#types),*> for #name #clause {
                type Out = #out;
                #[inline(always)]
                fn call(self, #(#operands: #types),*) -> #out {
                    __vxm_body(#(#operands),*)
                }
            }

            #pointer

            impl #root::Source for #name {
                fn source(self, __vxm_text: &mut #root::KernelText) -> ::std::string::String {
                    static MADE: #root::Made = #root::Made::new();
                    __vxm_text.once(&MADE, |__vxm_text| {
                        #root::KernelText::prelude(__vxm_text);
                        #(<#declared as #root::Element>::declare(__vxm_text);)*
                        #splices
                        let __vxm_function: ::std::string::String = #formatted;
                        __vxm_text.define_hashed(#stem, |__vxm_name| __vxm_function.replace('\u{1}', __vxm_name))
                    })
                }
                fn constants(self, _: &mut ::std::vec::Vec<u64>) -> bool {
                    true
                }
            }
        };
    })
}
