//! Lowers blocks and statements to both languages.

use std::collections::{BTreeMap, HashMap, HashSet};

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::spanned::Spanned;
use syn::{BinOp, Block, Error, Expr, ExprIf, Ident, Local, Pat, Result, Stmt};

use crate::cuda::Cuda;
use crate::expr::{bare, literal_like};
use crate::types::Ty;

/// Returns an error at `token`: `#[op]` does not support `what`, and what to write instead.
pub fn refuse<T>(token: impl ToTokens, what: &str, instead: &str) -> Result<T> {
    Err(Error::new_spanned(token, format!("`#[op]` does not support {what}: {instead}")))
}

/// A variable in scope.
#[derive(Clone)]
pub struct Variable {
    /// The variable's name in the generated Rust.
    pub rust: Ident,
    /// The variable in the CUDA text: a name, or a part of a value.
    pub cuda: String,
    pub ty: Ty,
    pub mutable: bool,
    /// Its number among all that were declared.
    number: usize,
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

/// The state of lowering one operator.
pub struct Lowering {
    /// The path of the crate `vxm-semiring` in generated code.
    pub root: TokenStream,
    /// The names of the function and of the operator, which it must not call.
    pub names: Vec<Ident>,
    /// The operator's type parameters.
    pub parameters: Vec<Ident>,
    /// The operator's result.
    pub result: Ty,
    /// The casts between types of which one is a parameter.
    pub casts: BTreeMap<String, TokenStream>,
    /// The variables of each enclosing block, outermost first.
    scopes: Vec<HashMap<String, Variable>>,
    /// How many variables of each name have been declared.
    declared: HashMap<String, usize>,
    /// All variables in order of declaration, and whether each was read.
    all: Vec<(Ident, bool)>,
    /// The numbers of variables that nothing reads, as an earlier lowering of the same operator found.
    unread: HashSet<usize>,
    /// The types that the text names.
    used: BTreeMap<String, TokenStream>,
    /// Where the scopes of C++ lambdas begin that the text is in. A `return` there would leave the lambda only.
    lambdas: Vec<usize>,
    /// How many temporary values there are.
    temporaries: usize,
}

impl Lowering {
    /// `unread` holds the numbers of variables that nothing reads.
    pub fn new(
        root: TokenStream,
        names: Vec<Ident>,
        parameters: Vec<Ident>,
        result: Ty,
        unread: HashSet<usize>,
    ) -> Self {
        Lowering {
            root,
            names,
            parameters,
            result,
            casts: BTreeMap::new(),
            scopes: vec![HashMap::new()],
            declared: HashMap::new(),
            all: Vec::new(),
            unread,
            used: BTreeMap::new(),
            lambdas: Vec::new(),
            temporaries: 0,
        }
    }

    /// The numbers and names of variables that nothing reads.
    pub fn unread(&self) -> impl Iterator<Item = (usize, &Ident)> {
        let unread = self.all.iter().enumerate().filter(|(_, (_, read))| !read);
        unread.map(|(number, (name, _))| (number, name))
    }

    /// Records that the text names `ty`, so that the generated `source` declares it.
    pub fn uses(&mut self, ty: &Ty) {
        for part in ty.parts() {
            let rust = part.rust();
            self.used.insert(rust.to_string(), rust);
        }
    }

    /// All types the text names.
    pub fn used_types(&self) -> impl Iterator<Item = &TokenStream> {
        self.used.values()
    }

    /// The type in CUDA C++.
    pub fn cuda(&self, ty: &Ty) -> Cuda {
        ty.cuda(&self.root)
    }

    /// A name in the CUDA text that no variable has.
    pub fn temporary(&mut self) -> String {
        self.temporaries += 1;
        format!("vxm_t{}", self.temporaries)
    }

    /// A variable's lowered name: the name with `_` appended, or `_1`, `_2`... if it was declared before. Such a name is no keyword of C++
    /// and clashes with no item in Rust.
    pub fn reserve(&mut self, ident: &Ident) -> Ident {
        let name = ident.to_string().trim_start_matches("r#").to_owned();
        let times = self.declared.entry(name.clone()).or_default();
        *times += 1;
        match *times - 1 {
            0 => format_ident!("{name}_", span = ident.span()),
            n => format_ident!("{name}_{n}", span = ident.span()),
        }
    }

    /// Brings a variable into scope, which is `cuda` in the CUDA text, and returns its name in Rust.
    pub fn bind(&mut self, ident: &Ident, local: &Ident, cuda: String, ty: Ty, mutable: bool) -> Ident {
        let number = self.all.len();
        // rustc's warning of it names it as the user did: see `emit`
        let rust = match self.unread.contains(&number) {
            true => format_ident!("__vxm_unread_{number}", span = local.span()),
            false => local.clone(),
        };
        self.all.push((ident.clone(), false));
        let variable = Variable { rust: rust.clone(), cuda, ty, mutable, number };
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(ident.to_string(), variable);
        }
        rust
    }

    /// Brings a variable of the same name in both languages into scope; returns its name in Rust, and in the CUDA text.
    pub fn declare(&mut self, ident: &Ident, ty: Ty, mutable: bool) -> (Ident, String) {
        let local = self.reserve(ident);
        let cuda = local.to_string();
        (self.bind(ident, &local, cuda.clone(), ty, mutable), cuda)
    }

    /// The innermost variable of that name.
    pub fn variable(&self, name: &Ident) -> Option<&Variable> {
        let name = name.to_string();
        self.scopes.iter().rev().find_map(|scope| scope.get(&name))
    }

    /// The variable of that name in the innermost scope.
    pub fn innermost(&self, name: &Ident) -> Option<&Variable> {
        self.scopes.last()?.get(&name.to_string())
    }

    /// The innermost variable of that name, which is read.
    pub fn read(&mut self, name: &Ident) -> Option<Variable> {
        let variable = self.variable(name)?.clone();
        self.all[variable.number].1 = true;
        Some(variable)
    }

    /// Returns an error if the innermost scope has a variable of that name already.
    pub fn check_new(&self, ident: &Ident) -> Result<()> {
        match self.innermost(ident) {
            Some(_) => Err(Error::new_spanned(ident, format!("`{ident}` is bound more than once here"))),
            None => Ok(()),
        }
    }

    /// Runs `body` in a new scope.
    pub fn scoped<T>(&mut self, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.scopes.push(HashMap::new());
        let result = body(self);
        self.scopes.pop();
        result
    }

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

    /// Lowers a block, whose value goes to `target`.
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

    /// Lowers an expression, whose value goes to `target`. An `if`, `match` or block that has statements becomes C++ statements.
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
                    let instead = "begin a statement with it, or with the `let` whose value it leaves";
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
        let ty = ty.cloned().or_else(|| self.type_of(&Expr::If(branch.clone())));
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
        self.lambdas.push(self.scopes.len());
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

    fn statements(&mut self, statements: &[Stmt], indent: &str) -> Result<Lines> {
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
    fn assign(&mut self, target: &Expr, value: &Expr, indent: &str) -> Result<Lines> {
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
        let declared =
            root.and_then(|name| self.scopes.iter().rposition(|scope| scope.contains_key(&name.to_string())));
        if self.lambdas.last().is_some_and(|lambda| declared.is_some_and(|scope| scope < *lambda)) {
            let instead = "begin a statement with it, or with the `let` whose value it belongs to";
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
