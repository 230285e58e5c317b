//! Lowers blocks, and where their values go, to both languages.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::{BinOp, Block, Error, Expr, ExprIf, Ident, Result, Stmt};

use crate::cuda::Cuda;
use crate::literals::{bare, literal_like};
use crate::scopes::Lowering;
use crate::types::Ty;

/// Returns an error at `token`: `#[op]` does not support `what`, and what to write instead.
pub fn refuse<T>(token: impl ToTokens, what: &str, instead: &str) -> Result<T> {
    Err(Error::new_spanned(token, format!("`#[op]` does not support {what}: {instead}")))
}

/// A lowered expression in both languages.
pub struct Lowered {
    pub rust: TokenStream,
    pub cuda: Cuda,
}

/// Lowered statements in both languages. In Rust the last one may be an expression that is the value.
pub type Lines = (TokenStream, Cuda);

/// Where the value of an expression goes in the CUDA text.
#[derive(Clone)]
pub enum Target {
    /// It is returned.
    Return,
    /// It is assigned to the variable of that name.
    Store(String),
    /// There is no value.
    Nothing,
}

impl Lowering {
    /// Lowers the function's body: the Rust with braces, the C++ without.
    pub fn function(&mut self, block: &Block) -> Result<Lines> {
        let result = self.result.clone();
        let (rust, cuda) = self.block_into(block, Some(&result), &Target::Return, "    ")?;
        Ok((quote!({ #rust }), cuda))
    }

    /// Splits a block that has a value into its statements and its last expression. There is none if the block ends with a `return`.
    fn split(block: &Block) -> Result<(&[Stmt], Option<&Expr>)> {
        match block.stmts.split_last() {
            Some((Stmt::Expr(Expr::Return(_), Some(_)), _)) => Ok((&block.stmts, None)),
            Some((Stmt::Expr(tail, None), statements)) => Ok((statements, Some(tail))),
            Some((Stmt::Expr(last @ (Expr::If(_) | Expr::Match(_) | Expr::Block(_)), Some(_)), _))
                if has_return(last) =>
            {
                Ok((&block.stmts, None))
            }
            _ => {
                let message = "this block needs a value: end it with an expression, without `;`";
                Err(Error::new(block.brace_token.span.close(), message))
            }
        }
    }

    /// Lowers a block. Its value goes to `target`.
    fn block_into(&mut self, block: &Block, ty: Option<&Ty>, target: &Target, indent: &str) -> Result<Lines> {
        self.scoped(|this| {
            if let Target::Nothing = target {
                return this.statements(&block.stmts, indent);
            }
            let (statements, tail) = Self::split(block)?;
            let (mut rust, mut cuda) = this.statements(statements, indent)?;
            if let Some(tail) = tail {
                let (value, lines) = this.place(tail, ty, target, indent)?;
                rust.extend(value);
                cuda = cuda.then(lines);
            }
            Ok((rust, cuda))
        })
    }

    /// Lowers an expression. Its value goes to `target`. An `if`, `match` or block that has statements becomes C++ statements.
    pub fn place(&mut self, expr: &Expr, ty: Option<&Ty>, target: &Target, indent: &str) -> Result<Lines> {
        let nothing = matches!(target, Target::Nothing);
        match expr {
            Expr::Paren(inner) => return self.place(&inner.expr, ty, target, indent),
            Expr::Group(inner) => return self.place(&inner.expr, ty, target, indent),
            Expr::Return(leave) => {
                let Some(value) = &leave.expr else {
                    return Err(Error::new_spanned(leave, "state the operator's result: `return value`"));
                };
                if !self.lambdas.is_empty() {
                    let instead = "begin a statement with it, or with the `let` that would take its value";
                    return refuse(leave, "`return` within an operand", instead);
                }
                let result = self.result.clone();
                let (rust, cuda) = self.place(value, Some(&result), &Target::Return, indent)?;
                return Ok((quote!(return #rust), cuda));
            }
            Expr::If(branch) if nothing || has_effects(expr) || is_long(branch) => {
                return self.branch(branch, ty, target, indent);
            }
            Expr::Match(choice) if nothing || has_effects(expr) || matches!(target, Target::Return) => {
                return self.matching(choice, ty, target, indent);
            }
            Expr::Block(block) if block.label.is_none() && (nothing || has_effects(expr)) => {
                let (rust, cuda) = self.block_into(&block.block, ty, target, &format!("{indent}    "))?;
                return Ok((
                    quote!({ #rust }),
                    Cuda::text(format!("{indent}{{\n")).then(cuda).then(format!("{indent}}}\n")),
                ));
            }
            Expr::Tuple(unit) if nothing && unit.elems.is_empty() => return Ok((quote!(()), Cuda::default())),
            Expr::Assign(assign) if nothing => return self.assign(&assign.left, &assign.right, indent),
            Expr::Binary(binary) if nothing && compound(&binary.op).is_some() => {
                let mut plain = binary.clone();
                plain.op = compound(&binary.op).unwrap_or(binary.op);
                return self.assign(&binary.left, &Expr::Binary(plain), indent);
            }
            _ => {}
        }
        let value = match (target, bare(expr)) {
            // a literal of the type of what it is assigned to
            (Target::Store(name), Some((literal, minus))) if ty.is_none() => {
                literal_like(literal, minus, name.as_str())
            }
            _ => self.expression(expr, ty)?,
        };
        let cuda = match target {
            Target::Return => Cuda::text(format!("{indent}return ")),
            Target::Store(name) => Cuda::text(format!("{indent}{name} = ")),
            // if the expression itself is refused, that error says more than this one
            Target::Nothing => return Err(Error::new_spanned(expr, "this statement has no effect")),
        };
        Ok((value.rust, cuda.then(value.cuda).then(";\n")))
    }

    /// Lowers an `if` to a C++ `if` statement.
    fn branch(&mut self, branch: &ExprIf, ty: Option<&Ty>, target: &Target, indent: &str) -> Result<Lines> {
        let has_value = !matches!(target, Target::Nothing);
        let condition = self.condition(branch)?;
        let deeper = format!("{indent}    ");
        let ty = ty.cloned().or_else(|| self.type_of_if(branch));
        let (then_rust, then_cuda) = self.block_into(&branch.then_branch, ty.as_ref(), target, &deeper)?;
        let test = condition.rust;
        let mut rust = quote!(if #test { #then_rust });
        let cuda = Cuda::text(format!("{indent}if (")).then(condition.cuda).then(") {\n").then(then_cuda);
        let Some((_, otherwise)) = &branch.else_branch else {
            return if has_value { Err(no_else(branch)) } else { Ok((rust, cuda.then(format!("{indent}}}\n")))) };
        };
        let (else_rust, else_cuda) = match &**otherwise {
            Expr::Block(block) => self.block_into(&block.block, ty.as_ref(), target, &deeper)?,
            other => self.place(other, ty.as_ref(), target, &deeper)?,
        };
        rust.extend(quote!(else { #else_rust }));
        let cuda = cuda.then(format!("{indent}}} else {{\n")).then(else_cuda).then(format!("{indent}}}\n"));
        Ok((rust, cuda))
    }

    /// Runs `body` within a C++ lambda that is called at once, and returns the text of both.
    pub fn lambda(&mut self, body: impl FnOnce(&mut Self) -> Result<Lines>) -> Result<Lowered> {
        self.lambdas.push(self.depth());
        let made = body(self);
        self.lambdas.pop();
        let (rust, cuda) = made?;
        Ok(Lowered { rust, cuda: Cuda::text("[&] {\n").then(cuda).then("    }()") })
    }

    /// Lowers a block as an expression. In C++ a block with statements becomes a lambda that is called at once.
    pub fn block(&mut self, block: &Block, ty: Option<&Ty>) -> Result<Lowered> {
        if let [Stmt::Expr(tail, None)] = block.stmts.as_slice() {
            let value = self.scoped(|this| this.expression(tail, ty))?;
            let rust = value.rust;
            return Ok(Lowered { rust: quote!({ #rust }), cuda: value.cuda });
        }
        let value = self.lambda(|this| this.block_into(block, ty, &Target::Return, "        "))?;
        let rust = value.rust;
        Ok(Lowered { rust: quote!({ #rust }), cuda: value.cuda })
    }

    fn condition(&mut self, branch: &ExprIf) -> Result<Lowered> {
        self.expression(&branch.cond, Some(&Ty::named("bool")))
    }

    /// Lowers an `if` as an expression to `?:` in C++. Both arms have the same type, so nothing is promoted.
    pub fn choice(&mut self, branch: &ExprIf, ty: Option<&Ty>) -> Result<Lowered> {
        let Some((_, otherwise)) = &branch.else_branch else { return Err(no_else(branch)) };
        let condition = self.condition(branch)?;
        let then = self.block(&branch.then_branch, ty)?;
        let other = self.expression(otherwise, ty)?;
        let (test, yes, no) = (condition.rust, then.rust, other.rust);
        let no = if matches!(**otherwise, Expr::If(_)) { quote!({ #no }) } else { no };
        let cuda = Cuda::text("(").then(condition.cuda).then(" ? ").then(then.cuda);
        let cuda = cuda.then(" : ").then(other.cuda).then(")");
        Ok(Lowered { rust: quote!(if #test #yes else #no), cuda })
    }
}

/// A name without `r#`. In C++ a field has a `_` behind its name, so that it is no keyword.
pub fn plain_name(name: &Ident) -> String {
    format!("{}_", name.to_string().trim_start_matches("r#"))
}

fn no_else(branch: &ExprIf) -> Error {
    Error::new(branch.span(), "an `if` that is a value needs an `else`")
}

/// Whether an `if` has blocks with statements, so that C++ statements read better than `?:`.
fn is_long(branch: &ExprIf) -> bool {
    match branch.else_branch.as_ref().map(|(_, otherwise)| &**otherwise) {
        Some(Expr::Block(otherwise)) => branch.then_branch.stmts.len() + otherwise.block.stmts.len() > 2,
        _ => false,
    }
}

/// Whether an expression leaves the operator, or assigns to a variable. Then it becomes C++ statements: operands have no order there.
pub fn has_effects(expr: &Expr) -> bool {
    fn block(block: &Block) -> bool {
        block.stmts.iter().any(|statement| match statement {
            Stmt::Local(local) => local.init.as_ref().is_some_and(|init| assigns(&init.expr)),
            Stmt::Expr(expr, _) => assigns(expr),
            _ => false,
        })
    }
    fn assigns(expr: &Expr) -> bool {
        match expr {
            Expr::Assign(_) => true,
            Expr::Binary(binary) => compound(&binary.op).is_some() || assigns(&binary.left) || assigns(&binary.right),
            Expr::Paren(inner) => assigns(&inner.expr),
            Expr::Group(inner) => assigns(&inner.expr),
            Expr::Block(inner) => block(&inner.block),
            Expr::If(branch) => {
                let otherwise = branch.else_branch.as_ref().map(|(_, otherwise)| &**otherwise);
                block(&branch.then_branch) || otherwise.is_some_and(assigns)
            }
            Expr::Match(choice) => choice.arms.iter().any(|arm| assigns(&arm.body)),
            _ => false,
        }
    }
    has_return(expr) || assigns(expr)
}

/// Whether there is a `return` in an expression.
fn has_return(expr: &Expr) -> bool {
    fn within(tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(name) => name == "return",
            TokenTree::Group(group) => within(group.stream()),
            _ => false,
        })
    }
    within(expr.to_token_stream())
}

/// The operator of a compound assignment: `+` for `+=`.
fn compound(op: &BinOp) -> Option<BinOp> {
    let text = op.to_token_stream().to_string();
    let plain = text.strip_suffix('=').filter(|plain| !matches!(*plain, "=" | "!" | "<" | ">"))?;
    let tokens: TokenStream = plain.parse().ok()?;
    let spanned = tokens.into_iter().map(|mut t| {
        t.set_span(Span::call_site().located_at(op.span()));
        t
    });
    syn::parse2(spanned.collect()).ok()
}
