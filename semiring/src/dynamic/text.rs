//! The text of programs: functions in a part of Rust, read at run time.

use super::kind::Kind;
use super::program::ProgramError;

/// An expression, and where it begins in the text.
#[derive(Debug)]
pub(super) struct Expr {
    pub(super) node: Node,
    pub(super) at: usize,
}

#[derive(Debug)]
pub(super) enum Node {
    Bool(bool),
    /// A whole number, and its suffix.
    Integer(u128, Option<Kind>),
    /// A number with a fraction, as it is written, and its suffix.
    Float(String, Option<Kind>),
    Name(String),
    /// An associated constant, as `u32::MAX`.
    Constant(Kind, String),
    /// `-a` or `!a`.
    Unary(&'static str, Box<Expr>),
    Binary(&'static str, Box<[Expr; 2]>),
    Cast(Box<Expr>, Kind),
    If(Box<Expr>, Block, Option<Block>),
    Block(Block),
    /// `f32::from_bits(a)`.
    FromBits(Kind, Box<Expr>),
    /// `a.name(b)`: the receiver comes first.
    Method(String, Vec<Expr>),
}

/// `{ statements; value }`.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) statements: Vec<Statement>,
    pub(super) value: Option<Box<Expr>>,
}

#[derive(Debug)]
pub(super) enum Statement {
    Let(String, Option<Kind>, Expr),
    /// `name = value`; of `name += value` the operation, too.
    Assign(String, Option<&'static str>, Expr, usize),
    /// An `if` without a value.
    Do(Expr),
}

/// `fn name(parameters) -> result { body }`.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) parameters: Vec<(String, Kind)>,
    pub(super) result: Kind,
    pub(super) body: Block,
    /// Where the body begins.
    pub(super) at: usize,
}

/// The error at a place of a text, told by line and column.
pub(super) fn wrong(text: &str, at: usize, what: impl core::fmt::Display) -> ProgramError {
    let before = &text[..at.min(text.len())];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    ProgramError::new(format!("line {line}, column {column}: {what}"))
}

/// Symbols, longer ones first.
const SYMBOLS: [&str; 39] = [
    "<<=", ">>=", "->", "::", "&&", "||", "==", "!=", "<=", ">=", "<<", ">>", "+=", "-=", "*=", "/=", "%=", "&=", "|=",
    "^=", "(", ")", "{", "}", ",", ";", ":", ".", "+", "-", "*", "/", "%", "&", "|", "^", "<", ">", "=",
];

/// Binary operators with the function of each, from the loosest to the tightest.
const LEVELS: [&[(&str, &str)]; 9] = [
    &[("||", "or")],
    &[("&&", "and")],
    &[("==", "eq"), ("!=", "ne"), ("<=", "le"), (">=", "ge"), ("<", "lt"), (">", "gt")],
    &[("|", "bitor")],
    &[("^", "bitxor")],
    &[("&", "bitand")],
    &[("<<", "shl"), (">>", "shr")],
    &[("+", "add"), ("-", "sub")],
    &[("*", "mul"), ("/", "div"), ("%", "rem")],
];

/// Reads a text from left to right.
pub(super) struct Reader<'t> {
    text: &'t str,
    at: usize,
    /// How deep expressions are nested.
    depth: usize,
    /// How many expressions there are so far.
    expressions: usize,
}

/// The deepest nesting of expressions, and the most of them, so that no text overflows the stack: a chain such as `a + a + a` nests, too.
const DEEPEST: usize = 64;
const MOST_EXPRESSIONS: usize = 512;

type Result<T> = core::result::Result<T, ProgramError>;

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0, depth: 0, expressions: 0 }
    }

    /// What follows, after white space and comments.
    fn rest(&mut self) -> &'t str {
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.trim_start();
            self.at += rest.len() - plain.len();
            if !plain.starts_with("//") {
                return plain;
            }
            self.at += plain.find('\n').unwrap_or(plain.len());
        }
    }

    /// The next word, number or symbol.
    fn peek(&mut self) -> &'t str {
        let rest = self.rest();
        let word = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        if word > 0 {
            return &rest[..word];
        }
        let symbol = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol));
        &rest[..symbol.map_or_else(|| rest.chars().next().map_or(0, char::len_utf8), str::len)]
    }

    fn next(&mut self) -> &'t str {
        let token = self.peek();
        self.at += token.len();
        token
    }

    fn takes(&mut self, token: &str) -> bool {
        let found = self.peek() == token;
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<()> {
        if self.takes(token) { Ok(()) } else { self.expected(&format!("`{token}`")) }
    }

    fn expected<T>(&mut self, what: &str) -> Result<T> {
        let found = match self.peek() {
            "" => "the end".to_owned(),
            token => format!("`{token}`"),
        };
        Err(wrong(self.text, self.at, format!("expected {what}, found {found}")))
    }

    fn name(&mut self) -> Result<String> {
        let token = self.peek();
        let known =
            ["if", "else", "let", "mut", "as", "true", "false", "fn", "return", "match", "for", "while", "loop"];
        if known.contains(&token) || !token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return self.expected("a name");
        }
        Ok(self.next().to_owned())
    }

    fn kind(&mut self) -> Result<Kind> {
        if self.takes("(") {
            self.expect(")")?;
            return Ok(Kind::Unit);
        }
        match Kind::named(self.peek()) {
            Some(kind) => {
                self.next();
                Ok(kind)
            }
            None => self.expected("a type, as `u32` or `f32`"),
        }
    }

    pub(super) fn function(&mut self) -> Result<Function> {
        self.expect("fn")?;
        let name = self.name()?;
        self.expect("(")?;
        let mut parameters = Vec::new();
        while !self.takes(")") {
            let parameter = self.name()?;
            self.expect(":")?;
            parameters.push((parameter, self.kind()?));
            if self.peek() != ")" {
                self.expect(",")?;
            }
        }
        self.expect("->")?;
        let result = self.kind()?;
        self.rest();
        let at = self.at;
        let body = self.block()?;
        if self.peek().is_empty() {
            Ok(Function { name, parameters, result, body, at })
        } else {
            self.expected("the end")
        }
    }

    fn block(&mut self) -> Result<Block> {
        self.expect("{")?;
        let mut statements = Vec::new();
        loop {
            if self.takes("}") {
                return Ok(Block { statements, value: None });
            }
            if self.takes("let") {
                self.takes("mut");
                let name = self.name()?;
                let kind = if self.takes(":") { Some(self.kind()?) } else { None };
                self.expect("=")?;
                statements.push(Statement::Let(name, kind, self.expression()?));
                self.expect(";")?;
                continue;
            }
            let value = self.expression()?;
            if let Some(operation) = self.assignment() {
                let Node::Name(name) = value.node else {
                    return Err(wrong(self.text, value.at, "expected a variable"));
                };
                statements.push(Statement::Assign(name, operation, self.expression()?, value.at));
                self.expect(";")?;
            } else if self.takes("}") {
                return Ok(Block { statements, value: Some(Box::new(value)) });
            } else if self.takes(";") || matches!(value.node, Node::If(..)) {
                statements.push(Statement::Do(value));
            } else {
                return self.expected("`;` or `}`");
            }
        }
    }

    /// The operation of an assignment that follows: none for `=`.
    fn assignment(&mut self) -> Option<Option<&'static str>> {
        let token = self.peek();
        let operation = match token.strip_suffix('=') {
            Some("") => None,
            Some(symbol) if !matches!(token, "==" | "!=" | "<=" | ">=") => {
                let known = LEVELS.iter().flat_map(|level| level.iter());
                Some(known.clone().find(|(known, _)| *known == symbol)?.1)
            }
            _ => return None,
        };
        self.at += token.len();
        Some(operation)
    }

    fn expression(&mut self) -> Result<Expr> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(wrong(self.text, self.at, format!("expressions are nested more than {DEEPEST} deep")));
        }
        let found = self.binary(0);
        self.depth -= 1;
        found
    }

    fn binary(&mut self, level: usize) -> Result<Expr> {
        let Some(operators) = LEVELS.get(level) else { return self.cast() };
        let mut left = self.binary(level + 1)?;
        loop {
            let token = self.peek();
            let Some((_, function)) = operators.iter().find(|(symbol, _)| *symbol == token) else { return Ok(left) };
            self.next();
            let right = self.binary(level + 1)?;
            let at = left.at;
            left = Expr { node: Node::Binary(function, Box::new([left, right])), at };
            if level == 2 && operators.iter().any(|(symbol, _)| *symbol == self.peek()) {
                return self.expected("`&&` between two comparisons");
            }
        }
    }

    fn cast(&mut self) -> Result<Expr> {
        let mut value = self.unary()?;
        while self.takes("as") {
            let (kind, at) = (self.kind()?, value.at);
            value = Expr { node: Node::Cast(Box::new(value), kind), at };
        }
        Ok(value)
    }

    fn unary(&mut self) -> Result<Expr> {
        self.rest();
        let at = self.at;
        let function = match self.peek() {
            "-" => "neg",
            "!" => "not",
            _ => return self.methods(),
        };
        self.next();
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(wrong(self.text, at, format!("expressions are nested more than {DEEPEST} deep")));
        }
        let inner = self.unary()?;
        self.depth -= 1;
        Ok(Expr { node: Node::Unary(function, Box::new(inner)), at })
    }

    fn methods(&mut self) -> Result<Expr> {
        let mut value = self.primary()?;
        while self.takes(".") {
            self.count()?;
            let (name, at) = (self.name()?, value.at);
            self.expect("(")?;
            let mut operands = vec![value];
            while !self.takes(")") {
                operands.push(self.expression()?);
                if self.peek() != ")" {
                    self.expect(",")?;
                }
            }
            value = Expr { node: Node::Method(name, operands), at };
        }
        Ok(value)
    }

    /// Counts an expression.
    fn count(&mut self) -> Result<()> {
        self.expressions += 1;
        if self.expressions > MOST_EXPRESSIONS {
            return Err(wrong(self.text, self.at, format!("a function has at most {MOST_EXPRESSIONS} expressions")));
        }
        Ok(())
    }

    fn primary(&mut self) -> Result<Expr> {
        self.count()?;
        let token = self.peek();
        let at = self.at;
        let node = match token {
            "(" => {
                self.next();
                let inner = self.expression()?;
                self.expect(")")?;
                return Ok(inner);
            }
            "{" => Node::Block(self.block()?),
            "if" => self.choice()?,
            "true" | "false" => Node::Bool(self.next() == "true"),
            _ if token.starts_with(|c: char| c.is_ascii_digit()) => self.number()?,
            _ if Kind::named(token).is_some() => {
                let kind = self.kind()?;
                self.expect("::")?;
                let name = self.name()?;
                if name == "from_bits" {
                    self.expect("(")?;
                    let word = self.expression()?;
                    self.expect(")")?;
                    Node::FromBits(kind, Box::new(word))
                } else {
                    Node::Constant(kind, name)
                }
            }
            "return" | "match" | "for" | "while" | "loop" => {
                return self.expected("an expression, which has no such control flow");
            }
            _ => Node::Name(self.name().or_else(|_| self.expected("an expression"))?),
        };
        Ok(Expr { node, at })
    }

    fn choice(&mut self) -> Result<Node> {
        self.count()?;
        self.expect("if")?;
        let condition = self.expression()?;
        let yes = self.block()?;
        let no = if !self.takes("else") {
            None
        } else if self.peek() == "if" {
            let at = self.at;
            let value = Expr { node: self.choice()?, at };
            Some(Block { statements: Vec::new(), value: Some(Box::new(value)) })
        } else {
            Some(self.block()?)
        };
        Ok(Node::If(Box::new(condition), yes, no))
    }

    /// A number with its suffix, if it has one: `7`, `0xffu32`, `1_000`, `2.5e-3f32`.
    fn number(&mut self) -> Result<Node> {
        let (rest, at) = (self.rest(), self.at);
        let (radix, prefix) = match rest.get(..2) {
            Some("0x") => (16, 2),
            Some("0b") => (2, 2),
            Some("0o") => (8, 2),
            _ => (10, 0),
        };
        let body = &rest[prefix..];
        let digits = |text: &str| text.find(|c: char| !(c.is_digit(radix) || c == '_')).unwrap_or(text.len());
        let mut end = digits(body);
        let mut is_float = false;
        if radix == 10 {
            let fraction =
                body[end..].strip_prefix('.').filter(|after| after.starts_with(|c: char| c.is_ascii_digit()));
            if let Some(after) = fraction {
                (is_float, end) = (true, end + 1 + digits(after));
            }
            if let Some(after) = body[end..].strip_prefix(['e', 'E']) {
                let sign = usize::from(after.starts_with(['+', '-']));
                let power = digits(&after[sign..]);
                if power > 0 {
                    (is_float, end) = (true, end + 1 + sign + power);
                }
            }
        }
        let tail = &body[end..];
        let suffix = &tail[..tail.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(tail.len())];
        let plain = body[..end].replace('_', "");
        self.at += prefix + end + suffix.len();
        let kind = match Kind::named(suffix) {
            None if suffix.is_empty() => None,
            Some(kind) if kind.is_integer() || kind.is_float() => Some(kind),
            _ => return Err(wrong(self.text, at, format!("`{suffix}` is no type of a number"))),
        };
        let range = |_| wrong(self.text, at, "the number is too large");
        if is_float || kind.is_some_and(Kind::is_float) {
            return Ok(Node::Float(plain, kind));
        }
        Ok(Node::Integer(u128::from_str_radix(&plain, radix).map_err(range)?, kind))
    }
}
