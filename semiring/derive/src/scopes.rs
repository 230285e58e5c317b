//! What is known while an operator is lowered: variables in scope, the types that its text names.

use std::collections::{BTreeMap, HashMap, HashSet};

use proc_macro2::TokenStream;
use quote::format_ident;
use syn::{Error, Ident, Result};

use crate::cuda::Cuda;
use crate::types::Ty;

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
    pub lambdas: Vec<usize>,
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

    /// The scope that a variable of that name was declared in, counted from the outermost.
    pub fn scope_of(&self, name: &Ident) -> Option<usize> {
        self.scopes.iter().rposition(|scope| scope.contains_key(&name.to_string()))
    }

    /// The number of scopes.
    pub fn depth(&self) -> usize {
        self.scopes.len()
    }
}
