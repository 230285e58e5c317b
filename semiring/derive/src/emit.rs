//! Generates the items that an operator consists of.

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::{Ident, ItemFn, Result};

use crate::body::Lowering;
use crate::cuda::Cuda;
use crate::signature;

/// The path of `vxm-semiring` in the crate that uses the macro: the crate itself, or its re-export by `vxm`.
fn root() -> TokenStream {
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

/// Returns the struct that `function` becomes, and its trait implementations.
pub fn operator(function: &ItemFn) -> Result<TokenStream> {
    let (parameters, result) = signature::read(function)?;
    let [item_attributes, every, body_attributes] = signature::attributes(function)?;
    let (root, name, vis) = (root(), &function.sig.ident, &function.vis);
    let mut lowering = Lowering::new(root.clone(), name.clone());

    let (mut rust_parameters, mut cuda_parameters) = (Vec::new(), Vec::new());
    for parameter in &parameters {
        let (ty, mutable) = (parameter.ty.rust(), parameter.mutable.then(|| quote!(mut)));
        lowering.uses(&parameter.ty);
        match &parameter.name {
            Some(ident) => {
                let local = lowering.declare(ident, parameter.ty.clone(), parameter.mutable);
                rust_parameters.push(quote!(#mutable #local: #ty));
                cuda_parameters.push(parameter.ty.cuda().then(format!(" {local}")));
            }
            None => {
                rust_parameters.push(quote!(_: #ty));
                cuda_parameters.push(parameter.ty.cuda());
            }
        }
    }
    lowering.uses(&result);
    let (rust_body, cuda_body) = lowering.function(&function.block, &result)?;

    let (out, stem) = (result.rust(), name.to_string().trim_start_matches("r#").to_owned());
    // \u{1} is a placeholder for the function's name, which contains a hash of the rest of the text
    let text = Cuda::text("VXM_FN ")
        .then(result.cuda())
        .then(Cuda::call(" \u{1}", cuda_parameters))
        .then(" {\n")
        .then(cuda_body)
        .then("}");
    let (splices, formatted) = text.into_rust();
    let declared = lowering.used_types();

    let (operands, traits) = match parameters.len() {
        1 => (vec!["a"], "UnaryOp"),
        2 => (vec!["a", "b"], "BinaryOp"),
        _ => (vec!["a", "b", "c"], "TernaryOp"),
    };
    // unusual names, since a user's operator may be called `a`: a binding of the name of a unit struct would be a pattern
    let operands: Vec<_> = operands.iter().map(|o| format_ident!("__vxm_{o}")).collect();
    let (types, operator) = (parameters.iter().map(|p| p.ty.rust()), format_ident!("{traits}"));
    let types: Vec<_> = types.collect();
    Ok(quote! {
        #(#every)*
        #(#item_attributes)*
        #[allow(non_camel_case_types)]
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #vis struct #name;

        #(#every)*
        const _: () = {
            #(#body_attributes)*
            #[inline(always)]
            fn __vxm_body(#(#rust_parameters),*) -> #out #rust_body

            impl #root::#operator<#(#types),*> for #name {
                type Out = #out;
                #[inline(always)]
                fn call(self, #(#operands: #types),*) -> #out {
                    __vxm_body(#(#operands),*)
                }
            }

            impl ::core::ops::Deref for #name {
                type Target = fn(#(#types),*) -> #out;
                #[inline(always)]
                fn deref(&self) -> &Self::Target {
                    const BODY: fn(#(#types),*) -> #out = __vxm_body;
                    &BODY
                }
            }

            impl #root::Source for #name {
                fn source(self, __vxm_text: &mut #root::KernelText) -> ::std::string::String {
                    static MADE: #root::Made = #root::Made::new();
                    __vxm_text.once(&MADE, |__vxm_text| {
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
