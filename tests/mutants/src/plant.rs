//! Finds where a small fault can stand in a source file, and writes the file with all of them, each behind a switch.
use std::ops::Range;

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, BinOp, Block, Expr, ReturnType, Signature, Stmt, Type, UnOp};

/// One fault.
pub struct Mutant {
    pub id: u32,
    pub line: usize,
    pub function: String,
    pub was: String,
    pub now: String,
}

/// How the text of a place is written with its faults.
enum Form {
    /// A value: another one instead.
    Value,
    /// A statement: left out.
    Statement,
    /// The start of a function's body: it returns at once.
    Body,
}

struct Place {
    range: Range<usize>,
    form: Form,
    /// What stands there instead, under each mutant.
    arms: Vec<(u32, String)>,
}

/// A source file, and the faults that can stand in it.
pub struct Source {
    pub path: String,
    text: String,
    places: Vec<Place>,
    functions: Vec<Range<usize>>,
    pub mutants: Vec<Mutant>,
}

/// Where texts of the planted file stand: what mutants each region belongs to, and the functions.
pub struct Planted {
    pub text: String,
    regions: Vec<(Range<usize>, Vec<u32>)>,
    functions: Vec<(Range<usize>, Vec<u32>)>,
}

impl Planted {
    /// The mutants of the smallest planted region around a position, or of the function around it.
    pub fn around(&self, position: usize) -> Vec<u32> {
        let smallest = |regions: &[(Range<usize>, Vec<u32>)]| {
            let around = regions.iter().filter(|(range, ids)| range.contains(&position) && !ids.is_empty());
            around.min_by_key(|(range, _)| range.len()).map(|(_, ids)| ids.clone())
        };
        smallest(&self.regions).or_else(|| smallest(&self.functions)).unwrap_or_default()
    }
}

impl Source {
    /// Parses a file; mutants are numbered from `next` on.
    pub fn parse(path: &str, text: String, next: &mut u32) -> Result<Source, String> {
        let file = syn::parse_file(&text).map_err(|error| format!("{path}: {error}"))?;
        let mut finder = Finder {
            text: &text,
            next,
            names: Vec::new(),
            places: Vec::new(),
            functions: Vec::new(),
            mutants: Vec::new(),
        };
        finder.visit_file(&file);
        let Finder { mut places, functions, mutants, .. } = finder;
        // the outer before the inner
        places.sort_by_key(|place| (place.range.start, usize::MAX - place.range.end));
        Ok(Source { path: path.to_string(), text, places, functions, mutants })
    }

    /// The file with its faults, without the rejected ones.
    pub fn planted(&self, rejected: &dyn Fn(u32) -> bool) -> Planted {
        let mut planted = Planted { text: String::new(), regions: Vec::new(), functions: Vec::new() };
        let mut at = Vec::new();
        self.write(0..self.text.len(), &mut 0, rejected, &mut planted, &mut at);
        for function in &self.functions {
            let inside = |place: &&Place| function.start <= place.range.start && place.range.end <= function.end;
            let ids = self.places.iter().filter(inside).flat_map(|place| place.arms.iter().map(|arm| arm.0));
            let moved = moved(&at, function.start)..moved(&at, function.end);
            planted.functions.push((moved, ids.filter(|&id| !rejected(id)).collect()));
        }
        planted
    }

    /// Writes a range of the text with the places in it, from place `next` on. `at` keeps where texts have moved to.
    fn write(
        &self,
        range: Range<usize>,
        next: &mut usize,
        rejected: &dyn Fn(u32) -> bool,
        planted: &mut Planted,
        at: &mut Vec<(usize, usize)>,
    ) {
        let mut done = range.start;
        at.push((done, planted.text.len()));
        while let Some(place) =
            self.places.get(*next).filter(|place| place.range.end <= range.end && place.range.start >= done)
        {
            *next += 1;
            let arms: Vec<&(u32, String)> = place.arms.iter().filter(|arm| !rejected(arm.0)).collect();
            planted.text.push_str(&self.text[done..place.range.start]);
            done = place.range.end;
            let start = planted.text.len();
            at.push((place.range.start, start));
            let on = |id: u32| format!("::vxm_semiring::mutants::on({id})");
            match place.form {
                _ if arms.is_empty() => self.write(place.range.clone(), next, rejected, planted, at),
                Form::Value => {
                    planted.text.push('(');
                    for (id, arm) in &arms {
                        let from = planted.text.len();
                        planted.text.push_str(&format!("if {} {{ ({arm}) }} else ", on(*id)));
                        planted.regions.push((from..planted.text.len(), vec![*id]));
                    }
                    planted.text.push_str("{ (");
                    self.write(place.range.clone(), next, rejected, planted, at);
                    planted.text.push_str(") })");
                }
                Form::Statement => {
                    planted.text.push_str(&format!("if !{} {{ ", on(arms[0].0)));
                    self.write(place.range.clone(), next, rejected, planted, at);
                    planted.text.push_str(" }");
                }
                Form::Body => {
                    for (id, arm) in &arms {
                        let from = planted.text.len();
                        planted.text.push_str(&format!(" if {} {{ return {arm}; }}", on(*id)));
                        planted.regions.push((from..planted.text.len(), vec![*id]));
                    }
                }
            }
            planted.regions.push((start..planted.text.len(), arms.iter().map(|arm| arm.0).collect()));
            at.push((done, planted.text.len()));
        }
        planted.text.push_str(&self.text[done..range.end]);
        at.push((range.end, planted.text.len()));
    }
}

/// Where a position has moved to.
fn moved(at: &[(usize, usize)], position: usize) -> usize {
    let before = at.iter().filter(|(from, _)| *from <= position).max_by_key(|(from, to)| (*from, *to));
    before.map_or(position, |(from, to)| to + (position - from))
}

struct Finder<'a> {
    text: &'a str,
    next: &'a mut u32,
    names: Vec<String>,
    places: Vec<Place>,
    functions: Vec<Range<usize>>,
    mutants: Vec<Mutant>,
}

impl Finder<'_> {
    fn of(&self, span: Span) -> &str {
        &self.text[span.byte_range()]
    }

    fn plant(&mut self, span: Span, range: Range<usize>, form: Form, arms: Vec<(String, String, String)>) {
        let mut planted = Vec::new();
        for (was, now, arm) in arms {
            let id = *self.next;
            *self.next += 1;
            self.mutants.push(Mutant { id, line: span.start().line, function: self.names.join("::"), was, now });
            planted.push((id, arm));
        }
        self.places.push(Place { range, form, arms: planted });
    }

    /// A function's body, which may return at once.
    fn function(&mut self, attributes: &[Attribute], signature: &Signature, body: &Block) {
        let left_out = ["op", "scalar", "test"];
        if signature.constness.is_some()
            || is_for_tests(attributes)
            || attributes.iter().any(|a| left_out.iter().any(|name| a.path().is_ident(name)))
        {
            return;
        }
        self.names.push(signature.ident.to_string());
        self.functions.push(body.span().byte_range());
        let values = values(&signature.output);
        if !values.is_empty() && !body.stmts.is_empty() {
            let start = body.span().byte_range().start + 1;
            let arms =
                values.iter().map(|value| ("body".to_string(), format!("return {value}"), value.to_string())).collect();
            self.plant(signature.ident.span(), start..start, Form::Body, arms);
        }
        self.visit_block(body);
        self.names.pop();
    }

    fn condition(&mut self, condition: &Expr) {
        let plain =
            matches!(condition, Expr::MethodCall(_) | Expr::Call(_) | Expr::Path(_) | Expr::Field(_) | Expr::Macro(_));
        if plain {
            let text = self.of(condition.span()).to_string();
            let arm = ("condition".to_string(), format!("!({text})"), format!("!({text})"));
            self.plant(condition.span(), condition.span().byte_range(), Form::Value, vec![arm]);
        }
    }
}

/// What a function of that type might return at once.
fn values(output: &ReturnType) -> Vec<&'static str> {
    let ReturnType::Type(_, output) = output else { return vec![""] };
    let Type::Path(path) = &**output else { return Vec::new() };
    let Some(last) = path.path.segments.last() else { return Vec::new() };
    match last.ident.to_string().as_str() {
        "bool" => vec!["true", "false"],
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i32" | "i64" | "i128" | "isize" => vec!["0", "1"],
        "f32" | "f64" => vec!["0.0", "1.0"],
        "String" => vec!["String::new()"],
        "Option" => vec!["None"],
        "Result" => vec!["Ok(Default::default())"],
        "Ordering" => vec!["std::cmp::Ordering::Equal"],
        _ => vec!["Default::default()"],
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    let mentions_test = |attribute: &Attribute| {
        let syn::Meta::List(list) = &attribute.meta else { return false };
        list.path.is_ident("cfg") && list.tokens.to_string().starts_with("test")
    };
    attributes.iter().any(mentions_test)
}

/// Names of modules in files of their own that only tests have.
pub fn modules_for_tests(text: &str) -> Vec<String> {
    let Ok(file) = syn::parse_file(text) else { return Vec::new() };
    let modules = file.items.iter().filter_map(|item| match item {
        syn::Item::Mod(module) if module.content.is_none() && is_for_tests(&module.attrs) => {
            Some(module.ident.to_string())
        }
        _ => None,
    });
    modules.collect()
}

fn other(operator: &BinOp) -> Option<&'static str> {
    use BinOp::*;
    Some(match operator {
        Add(_) => "-",
        Sub(_) => "+",
        Mul(_) => "+",
        Div(_) => "%",
        Rem(_) => "/",
        And(_) => "||",
        Or(_) => "&&",
        BitXor(_) => "|",
        BitAnd(_) => "|",
        BitOr(_) => "&",
        Shl(_) => ">>",
        Shr(_) => "<<",
        Eq(_) => "!=",
        Ne(_) => "==",
        Lt(_) => "<=",
        Le(_) => "<",
        Ge(_) => ">",
        Gt(_) => ">=",
        AddAssign(_) => "-=",
        SubAssign(_) => "+=",
        MulAssign(_) => "+=",
        DivAssign(_) => "*=",
        RemAssign(_) => "/=",
        BitXorAssign(_) => "|=",
        BitAndAssign(_) => "|=",
        BitOrAssign(_) => "&=",
        ShlAssign(_) => ">>=",
        ShrAssign(_) => "<<=",
        _ => return None,
    })
}

/// Whether a `let` stands in a chain of conditions.
fn has_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

/// Calls that change no answer: room that is made beforehand, and what is only told.
const TELLING: [&str; 8] = ["reserve", "shrink_to_fit", "event", "record", "tick", "prefetch", "hint", "yield_now"];

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_attribute(&mut self, _: &'ast Attribute) {}
    fn visit_type(&mut self, _: &'ast Type) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_generics(&mut self, _: &'ast syn::Generics) {}
    fn visit_angle_bracketed_generic_arguments(&mut self, _: &'ast syn::AngleBracketedGenericArguments) {}
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_item_enum(&mut self, _: &'ast syn::ItemEnum) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}

    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_for_tests(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let of_debug = item
            .trait_
            .as_ref()
            .is_some_and(|(_, path, _)| path.segments.last().is_some_and(|last| last.ident == "Debug"));
        if is_for_tests(&item.attrs) || of_debug {
            return;
        }
        let name: String = self
            .of(item.self_ty.span())
            .chars()
            .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
            .collect();
        self.names.push(name);
        visit::visit_item_impl(self, item);
        self.names.pop();
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.names.push(item.ident.to_string());
        visit::visit_item_trait(self, item);
        self.names.pop();
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.function(&item.attrs, &item.sig, body);
        }
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        if let Stmt::Expr(expression, Some(_)) = statement {
            let call = match expression {
                Expr::Try(tried) => &tried.expr,
                other => other,
            };
            let name = match call {
                Expr::MethodCall(call) => Some(call.method.to_string()),
                Expr::Call(call) => Some(self.of(call.func.span()).rsplit("::").next().unwrap_or_default().to_string()),
                _ => None,
            };
            if let Some(name) = name
                && !TELLING.iter().any(|telling| name.starts_with(telling))
            {
                let text: String = self.of(statement.span()).split_whitespace().collect::<Vec<_>>().join(" ");
                let arm = (text, "left out".to_string(), String::new());
                self.plant(statement.span(), statement.span().byte_range(), Form::Statement, vec![arm]);
            }
        }
        visit::visit_stmt(self, statement);
    }

    fn visit_expr_if(&mut self, item: &'ast syn::ExprIf) {
        self.condition(&item.cond);
        visit::visit_expr_if(self, item);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if let Some((_, guard)) = &arm.guard {
            self.condition(guard);
        }
        visit::visit_arm(self, arm);
    }

    fn visit_expr(&mut self, expression: &'ast Expr) {
        let range = expression.span().byte_range();
        match expression {
            Expr::Binary(binary) if !has_let(expression) => {
                if let Some(now) = other(&binary.op) {
                    let was = self.of(binary.op.span()).to_string();
                    let arm = format!("({}) {now} ({})", self.of(binary.left.span()), self.of(binary.right.span()));
                    self.plant(binary.op.span(), range, Form::Value, vec![(was, now.to_string(), arm)]);
                }
            }
            Expr::Unary(unary)
                if matches!(unary.op, UnOp::Not(_) | UnOp::Neg(_)) && !matches!(*unary.expr, Expr::Lit(_)) =>
            {
                let was = self.of(unary.op.span()).to_string();
                let arm = self.of(unary.expr.span()).to_string();
                self.plant(expression.span(), range, Form::Value, vec![(was, String::new(), arm)]);
            }
            _ => {}
        }
        visit::visit_expr(self, expression);
    }
}
