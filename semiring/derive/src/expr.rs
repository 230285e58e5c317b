//! Lowers expressions to both languages.

use proc_macro2::Span;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    BinOp, Error, Expr, ExprBinary, ExprCall, ExprPath, ExprStruct, ExprTuple, ExprUnary, Ident, Member, Path, Result,
    Token, UnOp,
};

use crate::body::{Lowered, plain_name, refuse};
use crate::cuda::Cuda;
use crate::infer::unsigned;
use crate::literals::{bare, is_number, literal_like};
use crate::methods::{CASTS, is_elementary, method, unknown};
use crate::scopes::Lowering;
use crate::types::{Ty, owner_path};

/// The function of `lowered` for a binary operator, and whether it is a comparison.
pub fn binary(op: &BinOp) -> Option<(&'static str, bool)> {
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
                let to = Ty::value(&cast.ty, &self.parameters)?;
                self.cast_of(&cast.expr, &to, cast.as_token.span)
            }
            Expr::If(branch) => {
                let ty = expected.cloned().or_else(|| self.type_of(expr));
                self.choice(branch, ty.as_ref())
            }
            Expr::Block(block) if block.label.is_none() => self.block(&block.block, expected),
            Expr::Match(choice) => self.chosen(choice, expected),
            Expr::Tuple(tuple) if (2..=4).contains(&tuple.elems.len()) => self.tuple(tuple, expected),
            Expr::Tuple(tuple) => {
                refuse(tuple, "tuples of other lengths than two to four", "split it, or name a struct")
            }
            Expr::Struct(made) => self.structure(made),
            Expr::Field(field) => {
                let value = self.expression(&field.base, None)?;
                let (base, name) = (value.rust, &field.member);
                Ok(Lowered { rust: quote!(#base.#name), cuda: value.cuda.then(format!(".{}", member(name))) })
            }
            Expr::MethodCall(call) => {
                if let Some(turbofish) = &call.turbofish {
                    return refuse(turbofish, "generic methods", "use `as` to state a type");
                }
                if let (true, Expr::Path(callee)) = (call.method == "call", &*call.receiver) {
                    return self.operator(&callee.path, &call.args);
                }
                let operands = [&*call.receiver].into_iter().chain(&call.args).collect();
                self.method(&call.method, operands, expected)
            }
            Expr::Call(call) => self.call(call, expected),
            Expr::Macro(e) => refuse(&e.mac.path, "macros", "write the expression out"),
            Expr::ForLoop(e) => refuse(e.for_token, "loops", NO_LOOPS),
            Expr::While(e) => refuse(e.while_token, "loops", NO_LOOPS),
            Expr::Loop(e) => refuse(e.loop_token, "loops", NO_LOOPS),
            Expr::Reference(e) => refuse(e.and_token, "references", "write the value: all values are copied"),
            Expr::Closure(e) => refuse(e, "closures", "write another `#[op]` and call it"),
            Expr::Return(e) => {
                let instead = "begin a statement with it, or with the `let` that would take its value";
                refuse(e.return_token, "`return` within an operand", instead)
            }
            Expr::Let(e) => refuse(e, "`if let`", "write a `match`"),
            Expr::Assign(e) => refuse(e, "assignments as values", "write it as a statement"),
            Expr::Range(e) => refuse(e, "ranges as values", "compare with both ends, or write a `match`"),
            Expr::Array(e) => refuse(e, "arrays", "write a `match` on the index"),
            Expr::Index(e) => refuse(e, "arrays", "write a `match` on the index"),
            Expr::Try(e) => refuse(e.question_token, "`?`", "a result that means none, as `u32::MAX`"),
            other => refuse(other, "such expressions", "write arithmetic, `if`, `match`, and calls of other `#[op]`s"),
        }
    }

    fn tuple(&mut self, tuple: &ExprTuple, expected: Option<&Ty>) -> Result<Lowered> {
        let (mut rust, mut cuda) = (Vec::new(), Vec::new());
        for (at, part) in tuple.elems.iter().enumerate() {
            let ty = expected.and_then(|ty| ty.component(at)).or_else(|| self.type_of(part));
            let value = self.expression(part, ty.as_ref())?;
            rust.push(value.rust);
            cuda.push(value.cuda);
        }
        Ok(Lowered { rust: quote!((#(#rust),*)), cuda: Cuda::call(format!("vxm::tuple{}", cuda.len()), cuda) })
    }

    /// `Hop { cost: a, parent }`, or with `..other`. In C++ each field is set: their order is known only where the struct is declared.
    fn structure(&mut self, made: &ExprStruct) -> Result<Lowered> {
        let ty = Ty::Struct(made.path.clone());
        self.uses(&ty);
        let (mut rust, mut sets) = (Vec::new(), Cuda::default());
        for field in &made.fields {
            let Member::Named(name) = &field.member else {
                return refuse(&field.member, "structs without names of fields", "name the fields");
            };
            let within = plain_name(name);
            let value = match bare(&field.expr) {
                Some((literal, minus)) => literal_like(literal, minus, self.cuda(&ty).then(format!("::{within}"))),
                None => {
                    let ty = self.type_of(&field.expr);
                    self.expression(&field.expr, ty.as_ref())?
                }
            };
            let inner = value.rust;
            rust.push(quote!(#name: #inner));
            sets = sets.then(Cuda::call(format!(".{within}set"), vec![value.cuda]));
        }
        let (path, mut rest) = (&made.path, None);
        let base = match &made.rest {
            Some(other) => {
                let value = self.expression(other, Some(&ty))?;
                rest = Some(value.rust);
                value.cuda
            }
            None => self.cuda(&ty).then("{}"),
        };
        let rest = rest.map(|rest| quote!(..#rest));
        // in parentheses, as a condition and a `match` need it
        Ok(Lowered { rust: quote!((#path { #(#rust,)* #rest })), cuda: base.then(sets) })
    }

    /// Lowers a constant expression. Its value's literal is spliced into the CUDA text at run time.
    pub fn constant(&self, rust: proc_macro2::TokenStream) -> Lowered {
        let root = &self.root;
        let cuda = Cuda::splice(quote_spanned!(rust.span()=> #root::Element::literal(#rust)));
        Lowered { rust, cuda }
    }

    fn path(&mut self, path: &ExprPath) -> Result<Lowered> {
        plain(&path.path, path.qself.is_some())?;
        let Some(variable) = path.path.get_ident().and_then(|name| self.read(name)) else {
            let owner = owner_path(&path.path);
            let parameter = owner.as_ref().and_then(Path::get_ident).filter(|name| self.parameters.contains(name));
            return match (parameter, path.path.segments.last()) {
                (Some(parameter), Some(last)) => self.constant_of(parameter, &last.ident),
                _ => Ok(self.constant(path.path.to_token_stream())),
            };
        };
        if variable.ty.is_unit() {
            let message = "a pattern's entry `()` has no value to use: name it `_`";
            return Err(Error::new_spanned(path, message));
        }
        let local = format_ident!("{}", variable.rust, span = path.span());
        Ok(Lowered { rust: local.to_token_stream(), cuda: Cuda::text(variable.cuda) })
    }

    /// `T::ONE` of a type parameter.
    fn constant_of(&self, parameter: &Ident, name: &Ident) -> Result<Lowered> {
        let function = match name.to_string().as_str() {
            "ONE" => "one",
            "ZERO" => "zero",
            "LEAST" => "least",
            "GREATEST" => "greatest",
            _ => {
                let message = format!("`{parameter}` has the constants `ZERO`, `ONE`, `LEAST` and `GREATEST`");
                return Err(Error::new_spanned(name, message));
            }
        };
        let (root, home) = (&self.root, if function == "zero" { quote!(Element) } else { quote!(Scalar) });
        let rust = quote_spanned!(name.span()=> <#parameter as #root::#home>::#name);
        Ok(Lowered { rust, cuda: Cuda::text(format!("vxm::{function}<{}>()", crate::types::parameter(parameter))) })
    }

    fn unary(&mut self, unary: &ExprUnary, expected: Option<&Ty>) -> Result<Lowered> {
        let name = match (&unary.op, &*unary.expr) {
            // `-2147483648i32` is lowered with its sign: the number alone would be out of range
            (UnOp::Neg(minus), Expr::Lit(literal)) => return self.literal(literal, Some(minus.span), expected),
            (UnOp::Neg(_), _) => "neg",
            (UnOp::Not(_), _) => "not",
            (UnOp::Deref(star), _) => {
                return refuse(star, "dereferences", "write the value: operands are no references");
            }
            (other, _) => return refuse(other, "such expressions", "write `-` or `!`"),
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
            let by = self.type_of(&e.right).or_else(|| is_number(&e.right).then(|| Ty::named("u32")));
            let operands = vec![self.expression(&e.left, ty.as_ref())?, self.expression(&e.right, by.as_ref())?];
            return Ok(self.lowered(name, operands, e.op.span()));
        }
        let Some((name, compares)) = binary(&e.op) else {
            return refuse(e.op, "assignments as values", "write it as a statement");
        };
        if let Some(Ty::Tuple(_)) = self.type_of(&e.left).or_else(|| self.type_of(&e.right)) {
            return refuse(e.op, "operators on tuples", "compute with their parts");
        }
        let around = expected.cloned().filter(|_| !compares);
        let ty = self.type_of(&e.left).or_else(|| self.type_of(&e.right)).or(around);
        self.uniform(name, &[&e.left, &e.right], ty.as_ref(), Vec::new(), e.op.span())
    }

    /// Lowers a call of `name` on operands of one type, and `others`. If the macro doesn't know the type, literals take it from another operand:
    /// by inference in Rust; in C++ that operand is the parameter of a lambda, and they have its type.
    fn uniform(
        &mut self,
        name: &str,
        operands: &[&Expr],
        ty: Option<&Ty>,
        others: Vec<Lowered>,
        span: Span,
    ) -> Result<Lowered> {
        let reference = operands.iter().position(|operand| bare(operand).is_none());
        let is_typed = ty.is_some() || operands.iter().all(|operand| bare(operand).is_none());
        let (false, Some(reference)) = (is_typed, reference) else {
            let lowered = operands.iter().map(|operand| self.expression(operand, ty)).collect::<Result<Vec<_>>>()?;
            return Ok(self.lowered(name, lowered.into_iter().chain(others).collect(), span));
        };
        let like = self.expression(operands[reference], None)?;
        let parameter = self.temporary();
        let mut lowered = Vec::new();
        for (at, operand) in operands.iter().enumerate() {
            lowered.push(match bare(operand) {
                _ if at == reference => Lowered { rust: like.rust.clone(), cuda: Cuda::text(parameter.as_str()) },
                Some((literal, minus)) => literal_like(literal, minus, parameter.as_str()),
                None => self.expression(operand, None)?,
            });
        }
        let call = self.lowered(name, lowered.into_iter().chain(others).collect(), span);
        let cuda = Cuda::text(format!("[&](auto {parameter}) {{ return "))
            .then(call.cuda)
            .then("; }(")
            .then(like.cuda)
            .then(")");
        Ok(Lowered { rust: call.rust, cuda })
    }

    /// A call of the function `name` of `lowered` and of its C++ counterpart.
    fn lowered(&self, name: &str, operands: Vec<Lowered>, span: Span) -> Lowered {
        let (root, function) = (&self.root, format_ident!("{name}", span = span));
        let (rust, cuda): (Vec<_>, Vec<_>) = operands.into_iter().map(|o| (o.rust, o.cuda)).unzip();
        // these names are operators in C++, so the prelude's functions have a `_` appended
        let escape = if matches!(name, "bitand" | "bitor" | "bitxor" | "not") { "_" } else { "" };
        let callee = match is_elementary(name) {
            true => Cuda::splice(quote!(#root::elementary::define(#name, __vxm_text))),
            false => Cuda::text(format!("vxm::{name}{escape}")),
        };
        Lowered { rust: quote_spanned!(span=> #root::lowered::#function(#(#rust),*)), cuda: Cuda::call(callee, cuda) }
    }

    /// `value as to`.
    fn cast_of(&mut self, value: &Expr, to: &Ty, span: Span) -> Result<Lowered> {
        let from = self.type_of(value);
        let lowered = self.expression(value, from.as_ref())?;
        let is_parameter = |ty: &Ty| matches!(ty, Ty::Parameter(_));
        if is_parameter(to) || from.as_ref().is_some_and(is_parameter) {
            let Some(from) = from else {
                return Err(Error::new_spanned(value, "state the type of what is cast, in a `let` before"));
            };
            let (root, from, to) = (&self.root, from.rust(), to.rust());
            self.casts.insert(quote!(#from #to).to_string(), quote!(#from: #root::lowered::CastTo<#to>));
        }
        Ok(self.cast(lowered, to, span))
    }

    fn cast(&mut self, value: Lowered, to: &Ty, span: Span) -> Lowered {
        self.uses(to);
        let (root, target, rust) = (&self.root, to.rust(), value.rust);
        let name = Cuda::text("vxm::cast<").then(self.cuda(to)).then(">");
        Lowered {
            rust: quote_spanned!(span=> #root::lowered::cast::<#target, _>(#rust)),
            cuda: Cuda::call(name, vec![value.cuda]),
        }
    }

    fn method(&mut self, name: &Ident, operands: Vec<&Expr>, expected: Option<&Ty>) -> Result<Lowered> {
        let called = name.to_string();
        if let (Some((_, to)), [value]) = (CASTS.iter().find(|(known, _)| *known == called), operands.as_slice()) {
            return self.cast_of(value, &Ty::named(to), name.span());
        }
        let Some((lowered, shape)) = method(&called) else {
            return Err(Error::new_spanned(name, unknown(&called)));
        };
        if operands.len() != shape.operands() {
            let takes = shape.operands() - 1;
            let noun = if takes == 1 { "argument" } else { "arguments" };
            return Err(Error::new_spanned(name, format!("`{called}` takes {takes} {noun}")));
        }
        let uniform = if shape.is_uniform() { operands.len() } else { 1 };
        let around = expected.cloned().filter(|_| shape.returns_operand());
        let ty = operands[..uniform].iter().find_map(|operand| self.type_of(operand)).or(around);
        let count = Some(Ty::named("u32"));
        let others = operands[uniform..]
            .iter()
            .map(|operand| self.expression(operand, count.as_ref()))
            .collect::<Result<_>>()?;
        self.uniform(lowered, &operands[..uniform], ty.as_ref(), others, name.span())
    }

    /// Lowers a call: `other(a, b)` of an `#[op]` or a built-in operator, `f32::min(a, b)` or `f16::from_f32(a)`.
    fn call(&mut self, call: &ExprCall, expected: Option<&Ty>) -> Result<Lowered> {
        let Expr::Path(callee) = &*call.func else {
            return refuse(&call.func, "calls of anything but a name", "write another `#[op]` and call it");
        };
        plain(&callee.path, callee.qself.is_some())?;
        let parameter = owner_path(&callee.path).and_then(|owner| owner.get_ident().cloned());
        let parameter = parameter.filter(|name| self.parameters.contains(name)).map(Ty::Parameter);
        if let (Some(owner), Some(last)) = (Ty::owner(&callee.path).or(parameter), callee.path.segments.last()) {
            match (last.ident.to_string().as_str(), call.args.len()) {
                (name @ ("from_f32" | "from_f64"), 1) => {
                    let from = Ty::named(&name["from_".len()..]);
                    let value = self.expression(&call.args[0], Some(&from))?;
                    return Ok(self.cast(value, &owner, last.ident.span()));
                }
                ("from_bits", 1) => return self.float_of(&call.args[0], &owner, last.ident.span()),
                _ => {}
            }
            return self.method(&last.ident, call.args.iter().collect(), expected.or(Some(&owner)));
        }
        self.operator(&callee.path, &call.args)
    }

    /// `f32::from_bits(value)`.
    fn float_of(&mut self, value: &Expr, owner: &Ty, span: Span) -> Result<Lowered> {
        let ty = unsigned(owner);
        let value = self.expression(value, ty.as_ref())?;
        self.uses(owner);
        let (root, target, rust) = (&self.root, owner.rust(), value.rust);
        let name = Cuda::text("vxm::from_bits<").then(self.cuda(owner)).then(">");
        Ok(Lowered {
            rust: quote_spanned!(span=> #root::lowered::from_bits::<#target>(#rust)),
            cuda: Cuda::call(name, vec![value.cuda]),
        })
    }

    fn operator(&mut self, path: &Path, arguments: &Punctuated<Expr, Token![,]>) -> Result<Lowered> {
        let segments: Vec<_> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let plain: Vec<_> = segments.iter().map(String::as_str).filter(|segment| *segment != "self").collect();
        if plain.len() == 1 && self.names.iter().any(|name| name == plain[0]) {
            return refuse(path, "recursion", "a loop of the engine (`fixpoint`) repeats a step");
        }
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

/// A field in C++: `cost_` of `cost`, `_0` of `0`.
pub fn member(member: &Member) -> String {
    match member {
        Member::Named(name) => plain_name(name),
        Member::Unnamed(index) => format!("_{}", index.index),
    }
}

const NO_LOOPS: &str = "write the steps out, or let a loop of the engine (`fixpoint`) repeat them";

/// Returns an error if a path has generic arguments or is qualified, as `<T as Trait>::f`.
fn plain(path: &Path, qualified: bool) -> Result<()> {
    match path.segments.iter().find(|s| !s.arguments.is_none()) {
        Some(segment) => refuse(&segment.arguments, "generic paths", "state a type by `as`"),
        None if qualified => refuse(path, "qualified paths", "call a method, or another `#[op]`"),
        None => Ok(()),
    }
}
