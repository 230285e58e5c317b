//! Lowers blocks and statements to both languages.

use std::collections::{BTreeMap, HashMap};

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::spanned::Spanned;
use syn::{BinOp, Block, Error, Expr, ExprIf, Ident, Local, Pat, Result, Stmt};

use crate::cuda::Cuda;
use crate::types::Ty;

/// Returns an error at `token` that says that `#[op]` does not support `what`, and lists what it supports.
pub fn refuse<T>(token: impl ToTokens, what: &str) -> Result<T> {
    let message = format!(
        "`#[op]` does not support {what}. Supported: `let` with a stated type, `if`/`else`, arithmetic, \
         comparisons, bit operations, `as`, constants, calls of other `#[op]`s and the methods of numbers"
    );
    Err(Error::new_spanned(token, message))
}

/// A variable in scope.
#[derive(Clone)]
pub struct Variable {
    /// The variable's name in the generated Rust and CUDA text.
    pub local: Ident,
    pub ty: Ty,
    pub mutable: bool,
}

/// A lowered expression in both languages.
pub struct Lowered {
    pub rust: TokenStream,
    pub cuda: Cuda,
}

/// The state of lowering one operator.
pub struct Lowering {
    /// The path of the crate `vxm-semiring` in generated code.
    pub root: TokenStream,
    /// The operator's name.
    pub name: Ident,
    /// The variables of each enclosing block, outermost first.
    scopes: Vec<HashMap<String, Variable>>,
    /// How many variables of each name have been declared.
    declared: HashMap<String, usize>,
    /// The types that the text names.
    used: BTreeMap<String, TokenStream>,
}

impl Lowering {
    pub fn new(root: TokenStream, name: Ident) -> Self {
        let (declared, used) = (HashMap::new(), BTreeMap::new());
        Lowering { root, name, scopes: vec![HashMap::new()], declared, used }
    }

    /// Records that the text names `ty`, so that the generated `source` declares it.
    pub fn uses(&mut self, ty: &Ty) {
        self.used.insert(ty.name().to_owned(), ty.rust().clone());
    }

    /// All types the text names.
    pub fn used_types(&self) -> impl Iterator<Item = &TokenStream> {
        self.used.values()
    }

    /// Brings a variable into scope and returns its lowered name: the name with `_` appended, or `_1`, `_2`... if it was declared before.
    /// Such a name is no keyword of C++ and clashes with no item in Rust.
    pub fn declare(&mut self, ident: &Ident, ty: Ty, mutable: bool) -> Ident {
        let name = ident.to_string().trim_start_matches("r#").to_owned();
        let times = self.declared.entry(name.clone()).or_default();
        let local = match *times {
            0 => format_ident!("{name}_", span = ident.span()),
            n => format_ident!("{name}_{n}", span = ident.span()),
        };
        *times += 1;
        let variable = Variable { local: local.clone(), ty, mutable };
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(ident.to_string(), variable);
        }
        local
    }

    /// The innermost variable of that name.
    pub fn variable(&self, name: &Ident) -> Option<&Variable> {
        let name = name.to_string();
        self.scopes.iter().rev().find_map(|scope| scope.get(&name))
    }

    /// Lowers the function's body: the Rust with braces, the C++ without.
    pub fn function(&mut self, block: &Block, result: &Ty) -> Result<(TokenStream, Cuda)> {
        let (rust, cuda) = self.returning(block, Some(result), "    ")?;
        Ok((quote!({ #rust }), cuda))
    }

    /// Runs `body` in a new scope.
    fn scoped<T>(&mut self, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.scopes.push(HashMap::new());
        let result = body(self);
        self.scopes.pop();
        result
    }

    /// Splits a block that has a value into its statements and its last expression.
    fn split(block: &Block) -> Result<(&[Stmt], &Expr)> {
        match block.stmts.split_last() {
            Some((Stmt::Expr(Expr::Return(e), _), _)) => refuse(e, "`return`, as the last expression is the result"),
            Some((Stmt::Expr(tail, None), statements)) => Ok((statements, tail)),
            _ => {
                let message = "this block needs a value: end it with an expression, without `;`";
                Err(Error::new(block.brace_token.span.close(), message))
            }
        }
    }

    /// Lowers a block; the C++ returns its value with `return`. An `if` with longer blocks at its end becomes a C++ `if` statement.
    fn returning(&mut self, block: &Block, ty: Option<&Ty>, indent: &str) -> Result<(TokenStream, Cuda)> {
        self.scoped(|this| {
            let (statements, tail) = Self::split(block)?;
            let (mut rust, mut cuda) = this.statements(statements, indent)?;
            if let Expr::If(branch) = tail
                && let Some((_, otherwise)) = &branch.else_branch
                && let Expr::Block(otherwise) = &**otherwise
                && branch.then_branch.stmts.len() + otherwise.block.stmts.len() > 2
            {
                let condition = this.condition(branch)?;
                let deeper = format!("{indent}    ");
                let ty = ty.cloned().or_else(|| this.type_of(tail));
                let (then_rust, then_cuda) = this.returning(&branch.then_branch, ty.as_ref(), &deeper)?;
                let (else_rust, else_cuda) = this.returning(&otherwise.block, ty.as_ref(), &deeper)?;
                let test = condition.rust;
                rust.extend(quote!(if #test { #then_rust } else { #else_rust }));
                cuda = cuda.then(format!("{indent}if (")).then(condition.cuda).then(") {\n").then(then_cuda);
                cuda = cuda.then(format!("{indent}}} else {{\n")).then(else_cuda).then(format!("{indent}}}\n"));
            } else {
                let value = this.expression(tail, ty)?;
                rust.extend(value.rust);
                cuda = cuda.then(format!("{indent}return ")).then(value.cuda).then(";\n");
            }
            Ok((rust, cuda))
        })
    }

    /// Lowers a block as an expression. In C++ a block with statements becomes a lambda that is called at once.
    pub fn block(&mut self, block: &Block, ty: Option<&Ty>) -> Result<Lowered> {
        if let [Stmt::Expr(tail, None)] = block.stmts.as_slice() {
            let value = self.scoped(|this| this.expression(tail, ty))?;
            let rust = value.rust;
            return Ok(Lowered { rust: quote!({ #rust }), cuda: value.cuda });
        }
        let (rust, cuda) = self.returning(block, ty, "        ")?;
        let cuda = Cuda::text("[&] {\n").then(cuda).then("    }()");
        Ok(Lowered { rust: quote!({ #rust }), cuda })
    }

    fn condition(&mut self, branch: &ExprIf) -> Result<Lowered> {
        self.expression(&branch.cond, Some(&Ty::named("bool")))
    }

    /// Lowers an `if` as an expression to `?:` in C++. Both arms have the same type, so nothing is promoted.
    pub fn choice(&mut self, branch: &ExprIf, ty: Option<&Ty>) -> Result<Lowered> {
        let Some((_, otherwise)) = &branch.else_branch else {
            return Err(Error::new(branch.span(), "an `if` that is a value needs an `else`"));
        };
        let condition = self.condition(branch)?;
        let then = self.block(&branch.then_branch, ty)?;
        let other = self.expression(otherwise, ty)?;
        let (test, yes, no) = (condition.rust, then.rust, other.rust);
        let no = if matches!(**otherwise, Expr::If(_)) { quote!({ #no }) } else { no };
        let cuda = Cuda::text("(").then(condition.cuda).then(" ? ").then(then.cuda);
        let cuda = cuda.then(" : ").then(other.cuda).then(")");
        Ok(Lowered { rust: quote!(if #test #yes else #no), cuda })
    }

    fn statements(&mut self, statements: &[Stmt], indent: &str) -> Result<(TokenStream, Cuda)> {
        let (mut rust, mut cuda) = (TokenStream::new(), Cuda::default());
        for statement in statements {
            let (r, c) = self.statement(statement, indent)?;
            rust.extend(r);
            cuda = cuda.then(c);
        }
        Ok((rust, cuda))
    }

    fn statement(&mut self, statement: &Stmt, indent: &str) -> Result<(TokenStream, Cuda)> {
        match statement {
            Stmt::Local(local) => self.local(local, indent),
            Stmt::Item(item) => refuse(item, "items within"),
            Stmt::Macro(call) => refuse(call, "macros"),
            Stmt::Expr(Expr::If(branch), _) => self.branch(branch, indent),
            Stmt::Expr(Expr::Block(block), _) if block.label.is_none() => {
                let (rust, cuda) = self.inner(&block.block, indent)?;
                Ok((quote!({ #rust }), Cuda::text(format!("{indent}{{\n")).then(cuda).then(format!("{indent}}}\n"))))
            }
            Stmt::Expr(Expr::Assign(assign), _) => {
                let variable = self.assignable(&assign.left)?;
                let value = self.expression(&assign.right, Some(&variable.ty))?;
                Ok(store(&variable, value, indent))
            }
            Stmt::Expr(Expr::Binary(binary), _) if compound(&binary.op).is_some() => {
                let variable = self.assignable(&binary.left)?;
                let mut plain = binary.clone();
                plain.op = compound(&binary.op).unwrap_or(binary.op);
                let value = self.expression(&Expr::Binary(plain), Some(&variable.ty))?;
                Ok(store(&variable, value, indent))
            }
            Stmt::Expr(Expr::Return(e), _) => refuse(e, "`return`, as the last expression is the result"),
            Stmt::Expr(other, _) => {
                // if the expression itself is refused, that error says more than "has no effect"
                self.expression(other, None)?;
                Err(Error::new_spanned(other, "this statement has no effect"))
            }
        }
    }

    /// Lowers a block of statements without a value, in a new scope.
    fn inner(&mut self, block: &Block, indent: &str) -> Result<(TokenStream, Cuda)> {
        let deeper = format!("{indent}    ");
        self.scoped(|this| this.statements(&block.stmts, &deeper))
    }

    fn branch(&mut self, branch: &ExprIf, indent: &str) -> Result<(TokenStream, Cuda)> {
        let condition = self.condition(branch)?;
        let (then_rust, then_cuda) = self.inner(&branch.then_branch, indent)?;
        let test = condition.rust;
        let mut rust = quote!(if #test { #then_rust });
        let cuda = Cuda::text(format!("{indent}if (")).then(condition.cuda).then(") {\n").then(then_cuda);
        let mut cuda = cuda.then(format!("{indent}}}\n"));
        if let Some((_, otherwise)) = &branch.else_branch {
            let deeper = format!("{indent}    ");
            let (else_rust, else_cuda) = match &**otherwise {
                Expr::If(next) => self.branch(next, &deeper)?,
                Expr::Block(block) => self.inner(&block.block, indent)?,
                other => return refuse(other, "such expressions"),
            };
            rust.extend(quote!(else { #else_rust }));
            cuda = cuda.then(format!("{indent}else {{\n")).then(else_cuda).then(format!("{indent}}}\n"));
        }
        Ok((rust, cuda))
    }

    fn local(&mut self, local: &Local, indent: &str) -> Result<(TokenStream, Cuda)> {
        let Pat::Type(typed) = &local.pat else {
            let message = "state the type, as in `let x: u32 = ...`: the CUDA text needs it";
            return Err(Error::new_spanned(&local.pat, message));
        };
        let Pat::Ident(pat) = &*typed.pat else {
            return refuse(&typed.pat, "patterns");
        };
        if pat.by_ref.is_some() || pat.subpat.is_some() {
            return refuse(pat, "patterns");
        }
        let Some(init) = &local.init else {
            return Err(Error::new_spanned(local, "give the variable its value here"));
        };
        if let Some((_, diverge)) = &init.diverge {
            return refuse(diverge, "`let ... else`");
        }
        let ty = Ty::scalar(&typed.ty)?;
        self.uses(&ty);
        // lowered before the name is declared: the initializer sees an earlier variable of that name
        let value = self.expression(&init.expr, Some(&ty))?;
        let name = self.declare(&pat.ident, ty.clone(), pat.mutability.is_some());
        let (mutable, rust_ty, rust) = (&pat.mutability, ty.rust(), value.rust);
        let cuda = Cuda::text(indent).then(ty.cuda()).then(format!(" {name} = ")).then(value.cuda).then(";\n");
        Ok((quote!(let #mutable #name: #rust_ty = #rust;), cuda))
    }

    fn assignable(&self, target: &Expr) -> Result<Variable> {
        let found = match target {
            Expr::Path(path) => path.path.get_ident().and_then(|name| self.variable(name)),
            _ => None,
        };
        match found {
            Some(variable) if variable.mutable => Ok(variable.clone()),
            Some(_) => Err(Error::new_spanned(target, "declare it `mut` to assign to it")),
            None => Err(Error::new_spanned(target, "only a local variable can be assigned to")),
        }
    }
}

fn store(variable: &Variable, value: Lowered, indent: &str) -> (TokenStream, Cuda) {
    let (local, rust) = (&variable.local, value.rust);
    let cuda = Cuda::text(format!("{indent}{local} = ")).then(value.cuda).then(";\n");
    (quote!(#local = #rust;), cuda)
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
