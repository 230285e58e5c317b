//! The types of expressions, as far as their text states them.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{BinOp, Expr, ExprIf, ExprMatch, Lit, Member, Pat, Stmt, UnOp};

use crate::expr::binary;
use crate::methods::{CASTS, Shape, method};
use crate::pattern::is_constant;
use crate::scopes::Lowering;
use crate::types::{Ty, owner_path};

impl Lowering {
    /// The type of an expression, if it follows from types that its text states.
    pub fn type_of(&self, expr: &Expr) -> Option<Ty> {
        let boolean = Some(Ty::named("bool"));
        match expr {
            Expr::Paren(inner) => self.type_of(&inner.expr),
            Expr::Group(inner) => self.type_of(&inner.expr),
            Expr::Path(path) => match path.path.get_ident().and_then(|name| self.variable(name)) {
                Some(variable) => variable.ty.clone().known(),
                None => self.type_of_constant(&path.path),
            },
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(int) if !int.suffix().is_empty() => Some(Ty::named(int.suffix())),
                Lit::Float(float) if !float.suffix().is_empty() => Some(Ty::named(float.suffix())),
                Lit::Bool(_) => boolean,
                _ => None,
            },
            Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_) | UnOp::Neg(_)) => self.type_of(&unary.expr),
            Expr::Cast(cast) => Ty::value(&cast.ty, &self.parameters).ok(),
            Expr::Binary(e) => match e.op {
                BinOp::And(_) | BinOp::Or(_) => boolean,
                BinOp::Shl(_) | BinOp::Shr(_) => self.type_of(&e.left),
                op if binary(&op).is_some_and(|(_, compares)| compares) => boolean,
                _ => self.type_of(&e.left).or_else(|| self.type_of(&e.right)),
            },
            Expr::If(branch) => self.type_of_if(branch),
            Expr::Block(block) => self.type_of_block(&block.block.stmts),
            Expr::Match(choice) => self.type_of_match(choice),
            Expr::Tuple(tuple) if tuple.elems.len() > 1 => {
                Some(Ty::Tuple(tuple.elems.iter().map(|part| self.type_of(part).unwrap_or(Ty::Unknown)).collect()))
            }
            Expr::Struct(made) => Some(Ty::Struct(made.path.clone())),
            Expr::Field(field) => match (&field.member, self.type_of(&field.base)?) {
                (Member::Unnamed(index), tuple) => tuple.component(index.index as usize),
                _ => None,
            },
            Expr::Call(call) => {
                let Expr::Path(callee) = &*call.func else { return None };
                let owner = Ty::owner(&callee.path)?;
                let name = callee.path.segments.last()?.ident.to_string();
                match name.as_str() {
                    "from_f32" | "from_f64" | "from_bits" => Some(owner),
                    _ => self.type_of_method(&name, &call.args.iter().collect::<Vec<_>>(), Some(owner)),
                }
            }
            Expr::MethodCall(call) => {
                let operands: Vec<_> = [&*call.receiver].into_iter().chain(&call.args).collect();
                self.type_of_method(&call.method.to_string(), &operands, None)
            }
            _ => None,
        }
    }

    /// The type of an `if`.
    pub fn type_of_if(&self, branch: &ExprIf) -> Option<Ty> {
        let otherwise = branch.else_branch.as_ref().map(|(_, otherwise)| &**otherwise);
        self.type_of_block(&branch.then_branch.stmts).or_else(|| self.type_of(otherwise?))
    }

    /// The type of a `match`, by arms that bind no names: those aren't known yet.
    pub fn type_of_match(&self, choice: &ExprMatch) -> Option<Ty> {
        choice.arms.iter().filter(|arm| !binds(&arm.pat)).find_map(|arm| self.type_of(&arm.body))
    }

    /// The type of a block that is a single expression: variables of other blocks aren't known yet.
    fn type_of_block(&self, statements: &[Stmt]) -> Option<Ty> {
        match statements {
            [Stmt::Expr(tail, None)] => self.type_of(tail),
            _ => None,
        }
    }

    /// The type of an associated constant of a scalar: that scalar, except for a few counts.
    fn type_of_constant(&self, path: &syn::Path) -> Option<Ty> {
        let last = path.segments.last()?.ident.to_string();
        let count = ["BITS", "DIGITS", "MANTISSA_DIGITS", "RADIX"].contains(&last.as_str()) || last.ends_with("_EXP");
        if count {
            return None;
        }
        let owner = owner_path(path)?;
        let parameter = owner.get_ident().filter(|name| self.parameters.contains(name));
        parameter.map(|name| Ty::Parameter(name.clone())).or_else(|| Ty::owner(path))
    }

    /// The type of a method's result; `owner` is the receiver's type, if the call names it.
    pub fn type_of_method(&self, name: &str, operands: &[&Expr], owner: Option<Ty>) -> Option<Ty> {
        if let Some((_, to)) = CASTS.iter().find(|(known, _)| *known == name) {
            return Some(Ty::named(to));
        }
        let shape = method(name)?.1;
        let uniform = if shape.is_uniform() { operands } else { operands.get(..1)? };
        let operand = || owner.or_else(|| uniform.iter().find_map(|operand| self.type_of(operand)));
        match shape {
            Shape::Count => Some(Ty::named("u32")),
            Shape::Test => Some(Ty::named("bool")),
            Shape::Distance | Shape::Bits => unsigned(&operand()?),
            _ => operand(),
        }
    }
}

/// Whether a pattern may bind a name.
fn binds(pat: &Pat) -> bool {
    fn within(tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(name) => {
                !["true", "false", "_"].contains(&name.to_string().as_str()) && !is_constant(&name.to_string())
            }
            TokenTree::Group(group) => within(group.stream()),
            _ => false,
        })
    }
    within(pat.to_token_stream())
}

/// The unsigned type of the same width as a number's.
pub fn unsigned(ty: &Ty) -> Option<Ty> {
    Some(Ty::named(match ty.name() {
        "i8" | "u8" => "u8",
        "i16" | "u16" | "f16" | "bf16" => "u16",
        "i32" | "u32" | "f32" => "u32",
        "i64" | "u64" | "f64" => "u64",
        _ => return None,
    }))
}
