//! `#[scalar]`: makes a struct of scalars an element.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::punctuated::Punctuated;
use syn::{Error, Fields, Ident, ItemStruct, Path, Result, Token};

use crate::body::plain_name;
use crate::cuda::Cuda;
use crate::emit::root;
use crate::types::{SCALARS, Ty};

/// A field of the struct.
struct Field<'a> {
    name: &'a Ident,
    ty: Ty,
    /// Its first bit among the struct's.
    shift: usize,
    size: usize,
}

/// The size of a scalar in bytes.
fn size(name: &str) -> usize {
    match name {
        "bool" | "i8" | "u8" => 1,
        "i16" | "u16" | "f16" | "bf16" => 2,
        "i32" | "u32" | "f32" => 4,
        _ => 8,
    }
}

/// The variant of `Kind` for a scalar: `Bf16` for `bf16`.
fn kind(name: &str) -> Ident {
    let (first, rest) = name.split_at(1);
    format_ident!("{}{rest}", first.to_uppercase())
}

/// The most bytes of an element.
const MOST: usize = 16;

/// Reads the fields, and checks that they fill 1, 2, 4, 8 or 16 bytes without padding.
fn fields(item: &ItemStruct) -> Result<(Vec<Field<'_>>, usize)> {
    let Fields::Named(named) = &item.fields else {
        return Err(Error::new_spanned(
            &item.ident,
            "a `#[scalar]` has named fields: `struct Hop { cost: u32, parent: u32 }`",
        ));
    };
    let (mut fields, mut at, mut widest) = (Vec::new(), 0, 1);
    for field in &named.named {
        let ty = Ty::value(&field.ty, &[])?;
        if !matches!(ty, Ty::Scalar(..)) || ty.name() == "Edge" {
            return Err(Error::new_spanned(&field.ty, "a field of a `#[scalar]` is a number or `bool`"));
        }
        let (Some(name), size) = (&field.ident, size(ty.name())) else { continue };
        if at % size != 0 {
            let message = format!(
                "`{name}` would follow {} bytes of padding, which have no value: order the fields by size, the widest first",
                size - at % size
            );
            return Err(Error::new_spanned(&field.ty, message));
        }
        fields.push(Field { name, ty, shift: 8 * at, size });
        at += size;
        widest = widest.max(size);
    }
    if fields.is_empty() {
        return Err(Error::new_spanned(&item.ident, "a `#[scalar]` has a field; an entry without a value is `()`"));
    }
    if at > MOST {
        let message = format!("the fields take {at} bytes: an element has at most {MOST}. Use narrower numbers");
        return Err(Error::new_spanned(&item.ident, message));
    }
    if !at.is_power_of_two() {
        let more = at.next_power_of_two() - at;
        let message = format!("the fields take {at} bytes: expected 1, 2, 4, 8 or 16. Widen one, or add {more} bytes");
        return Err(Error::new_spanned(&item.ident, message));
    }
    if at % widest != 0 {
        return Err(Error::new_spanned(&item.ident, "the struct would end in padding: use fields of one size"));
    }
    Ok((fields, at))
}

/// The struct, and its implementation of `Element`.
pub fn scalar(item: &ItemStruct) -> Result<TokenStream> {
    if !item.generics.params.is_empty() {
        return Err(Error::new_spanned(&item.generics, "a `#[scalar]` is not generic: its layout is fixed"));
    }
    if let Some(repr) = item.attrs.iter().find(|attribute| attribute.path().is_ident("repr")) {
        return Err(Error::new_spanned(repr, "`#[scalar]` fixes the layout"));
    }
    if SCALARS.iter().chain(&["Edge"]).any(|known| item.ident == known) {
        let message = format!("choose another name: in an `#[op]`, `{}` is a type of vxm's own", item.ident);
        return Err(Error::new_spanned(&item.ident, message));
    }
    let (fields, bytes) = fields(item)?;
    let (root, name) = (root(), &item.ident);
    // a derive that is repeated would clash
    let mut derived = Vec::new();
    for attribute in item.attrs.iter().filter(|attribute| attribute.path().is_ident("derive")) {
        let paths = attribute.parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated)?;
        derived.extend(paths.iter().filter_map(|path| Some(path.segments.last()?.ident.to_string())));
    }
    let derives =
        ["Debug", "Clone", "Copy", "PartialEq"].into_iter().filter(|name| !derived.iter().any(|known| known == name));
    let derives: Vec<_> = derives.map(|name| format_ident!("{name}")).collect();
    let (key, text) = declaration(name, &fields, bytes, &root);
    let names: Vec<_> = fields.iter().map(|field| field.name).collect();
    let first = names[0];
    let types: Vec<_> = fields.iter().map(|field| field.ty.rust()).collect();
    let shifts: Vec<_> = fields.iter().map(|field| field.shift as u32).collect();
    let masks: Vec<_> = fields.iter().map(|field| u64::MAX >> (64 - 8 * field.size)).collect();
    let word = if bytes > 8 { quote!(u128) } else { quote!(u64) };
    let kinds: Vec<_> = fields.iter().map(|field| kind(field.ty.name())).collect();
    let places: Vec<_> = fields.iter().map(|field| field.shift / 8).collect();
    let called = names.iter().map(|name| name.to_string().trim_start_matches("r#").to_owned());
    // names of variables that no operator has
    let locals: Vec<_> = (0..names.len()).map(|at| format_ident!("__vxm_{at}")).collect();
    let stem = name.to_string();
    let cuda = format!("vxm_{stem}_{:016x}", fnv1a(key.as_bytes()));
    let (splices, formatted) = text.into_rust();
    Ok(quote! {
        #[repr(C)]
        #[derive(#(#derives),*)]
        #item

        const _: () = {
            // the layout that kernels rely on
            const _: () = assert!(::core::mem::size_of::<#name>() == #bytes);

            impl #root::Element for #name {
                type Bits = #word;
                const CUDA: &'static str = #cuda;
                const NAME: &'static str = #stem;
                const ZERO: Self = #name { #(#names: <#types as #root::Element>::ZERO),* };
                #[inline(always)]
                fn bits(self) -> #word {
                    0 #(| #word::from(<#types as #root::Element>::bits(self.#names)) << #shifts)*
                }
                #[inline(always)]
                fn from_bits(bits: #word) -> Self {
                    #name { #(#names: <#types as #root::Element>::from_bits((bits >> #shifts) as u64 & #masks)),* }
                }
                #[inline(always)]
                fn as_f64(self) -> f64 {
                    #root::Element::as_f64(self.#first)
                }
                fn declare(__vxm_text: &mut #root::KernelText) {
                    #(<#types as #root::Element>::declare(__vxm_text);)*
                    #splices
                    let __vxm_struct: ::std::string::String = #formatted;
                    __vxm_text.define(#cuda, __vxm_struct.replace('\u{1}', #cuda));
                }
            }

            impl #root::Fields for #name {
                const FIELDS: &'static [#root::Field] = &[
                    #(#root::Field { name: #called, kind: #root::dynamic::Kind::#kinds, at: #places }),*
                ];
            }

            #root::__sample! { #name { #(#names #locals #types),* } }
        };
    })
}

/// What identifies the struct among those of its name, and its text in C++ with a placeholder for its name.
fn declaration(name: &Ident, fields: &[Field<'_>], bytes: usize, root: &TokenStream) -> (String, Cuda) {
    let mut key = name.to_string();
    let (mut members, mut equal, mut made) = (Cuda::default(), String::new(), Cuda::default());
    for (at, field) in fields.iter().enumerate() {
        let (cuda, local) = (field.ty.cuda(root), plain_name(field.name));
        key += &format!(" {local}: {}", field.ty.name());
        let word = format!("{} >> {}", if field.shift < 64 { "b" } else { "c" }, field.shift % 64);
        made = made.then(format!("    r.{local} = ")).then(match field.ty.name() {
            "bool" => Cuda::text(format!("({word} & 1) != 0")),
            _ if field.ty.is_float() => Cuda::text("vxm::bits<").then(cuda.clone()).then(format!(">({word})")),
            _ => Cuda::text("(").then(cuda.clone()).then(format!(")({word})")),
        });
        made = made.then(";\n");
        members = members.then("    ").then(cuda.clone()).then(format!(" {local};\n    VXM_FN \u{1} {local}set("));
        members = members.then(cuda).then(format!(" x) const {{ \u{1} r = *this; r.{local} = x; return r; }}\n"));
        equal += &format!("{}vxm::eq({local}, b.{local})", if at > 0 { " && " } else { "" });
    }
    // kernels read 16 bytes as two words
    let (align, high) = if bytes > 8 { ("alignas(8) ", ", unsigned long long c") } else { ("", "") };
    let text = Cuda::text(format!("struct {align}\u{1} {{\n")).then(members).then(format!(
        "    VXM_FN bool operator==(const \u{1}& b) const {{ return {equal}; }}\n    \
         VXM_FN bool operator!=(const \u{1}& b) const {{ return !(*this == b); }}\n}};\n\
         static_assert(sizeof(\u{1}) == {bytes}, \"the layout of the host\");\n\
         namespace vxm {{\ntemplate <> VXM_FN \u{1} bits<\u{1}>(unsigned long long b{high}) {{\n    \u{1} r;\n"
    ));
    let text = text.then(made).then("    return r;\n}\n} // namespace vxm");
    (key, text)
}

/// The FNV-1a hash, which is stable across platforms and releases.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
