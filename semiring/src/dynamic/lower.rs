//! From a function's text to its program.

use super::kind::Kind;
use super::operation::{Operation, Shape};
use super::program::{Builder, Operand, Program, ProgramError};
use super::text::{Block, Expr, Node, Reader, Statement, wrong};
use crate::{Element, Scalar};
use half::{bf16, f16};

type Result<T> = core::result::Result<T, ProgramError>;

impl Program {
    /// The program of a function's text, in a part of Rust: `let`, assignments, `if` and `else`, arithmetic, comparisons, `as`, associated
    /// constants such as `u32::MAX`, and the methods of [`lowered`](crate::lowered). There is no `match`, `return`, tuple or struct.
    ///
    /// A number without a suffix has the type of what it meets, or of what is expected. `let` needs no type.
    ///
    /// ```
    /// use vxm_semiring::dynamic::{DynBinary, Program};
    /// use vxm_semiring::BinaryOp;
    ///
    /// let step = Program::parse("fn step(length: u32, weight: f32) -> u32 { length.saturating_add(weight as u32) }")?;
    /// let step = DynBinary::<u32, f32, u32>::new(step)?;
    /// assert_eq!(step.call(7, 2.5), 9);
    ///
    /// let wrong = Program::parse("fn wrong(a: u32) -> f32 {\n    a + 1.5\n}").unwrap_err();
    /// assert_eq!(wrong.to_string(), "line 2, column 9: expected a number of type u32, found one with a fraction");
    /// # Ok::<(), vxm_semiring::dynamic::ProgramError>(())
    /// ```
    ///
    /// # Errors
    /// The text isn't such a function; the error names line and column.
    pub fn parse(text: &str) -> Result<Self> {
        let function = Reader::new(text).function()?;
        let kinds: Vec<_> = function.parameters.iter().map(|(_, kind)| *kind).collect();
        let code = Builder::new(&function.name, &kinds)?;
        let mut variables = Vec::new();
        for (at, (name, kind)) in function.parameters.iter().enumerate() {
            let value = if *kind == Kind::Unit { None } else { Some(code.parameter(at)?) };
            variables.push((name.clone(), value));
        }
        let mut lowering = Lowering { text, code, variables };
        let result = lowering.block(&function.body, Some(function.result), function.at)?;
        let found = lowering.code.kind(result)?;
        if found != function.result {
            return Err(wrong(
                text,
                function.at,
                format!("expected a result of type {}, found {found}", function.result),
            ));
        }
        lowering.code.finish(result)
    }
}

/// The values so far.
struct Lowering<'t> {
    text: &'t str,
    code: Builder,
    /// Variables, inner ones last. A pattern's entry has no value.
    variables: Vec<(String, Option<Operand>)>,
}

impl Lowering<'_> {
    fn wrong<T>(&self, at: usize, what: impl core::fmt::Display) -> Result<T> {
        Err(wrong(self.text, at, what))
    }

    /// The error of the builder, with a place.
    fn placed<T>(&self, at: usize, made: Result<T>) -> Result<T> {
        made.map_err(|error| wrong(self.text, at, error))
    }

    /// The kind of an expression, if its text states one.
    fn stated(&self, expr: &Expr) -> Option<Kind> {
        match &expr.node {
            Node::Bool(_) => Some(Kind::Bool),
            Node::Integer(_, kind) | Node::Float(_, kind) => *kind,
            Node::Name(name) => {
                let (_, value) = self.variables.iter().rev().find(|(known, _)| known == name)?;
                self.code.kind((*value)?).ok()
            }
            Node::Constant(kind, _) | Node::Cast(_, kind) => Some(*kind),
            Node::Unary(_, inner) => self.stated(inner),
            Node::Binary("and" | "or" | "eq" | "ne" | "lt" | "le" | "gt" | "ge", _) => Some(Kind::Bool),
            Node::Binary("shl" | "shr", operands) => self.stated(&operands[0]),
            Node::Binary(_, operands) => self.stated(&operands[0]).or_else(|| self.stated(&operands[1])),
            // variables of a block aren't known yet
            Node::If(_, yes, no) => [Some(yes), no.as_ref()].into_iter().flatten().find_map(|block| self.tail(block)),
            Node::Block(block) => self.tail(block),
            Node::FromBits(kind, _) => Some(*kind),
            Node::Method(name, operands) => match method(name) {
                Method::Cast(kind) => Some(kind),
                Method::Call(operation) if is_uniform(operation) => {
                    operands.iter().find_map(|x| self.stated(x)).map(|kind| operation.result(kind))
                }
                Method::Call(operation) => self.stated(operands.first()?).map(|kind| operation.result(kind)),
                Method::Unknown => None,
            },
        }
    }

    fn tail(&self, block: &Block) -> Option<Kind> {
        if block.statements.is_empty() { self.stated(block.value.as_ref()?) } else { None }
    }

    fn block(&mut self, block: &Block, expected: Option<Kind>, at: usize) -> Result<Operand> {
        let outer = self.variables.len();
        self.statements(block)?;
        let Some(value) = &block.value else { return self.wrong(at, "expected a block with a value") };
        let value = self.value(value, expected);
        self.variables.truncate(outer);
        value
    }

    fn statements(&mut self, block: &Block) -> Result<()> {
        for statement in &block.statements {
            match statement {
                Statement::Let(name, kind, value) => {
                    let at = value.at;
                    let value = self.value(value, *kind)?;
                    let found = self.code.kind(value)?;
                    if let Some(kind) = kind.filter(|kind| *kind != found) {
                        return self.wrong(at, format!("expected a value of type {kind}, found {found}"));
                    }
                    self.variables.push((name.clone(), Some(value)));
                }
                Statement::Assign(name, operation, value, at) => self.assign(name, *operation, value, *at)?,
                Statement::Do(Expr { node: Node::If(condition, yes, no), .. }) => {
                    self.branch(condition, yes, no.as_ref())?
                }
                Statement::Do(other) => return self.wrong(other.at, "expected a statement that does something"),
            }
        }
        Ok(())
    }

    fn assign(&mut self, name: &str, operation: Option<&'static str>, value: &Expr, at: usize) -> Result<()> {
        let Some(place) = self.variables.iter().rposition(|(known, _)| known == name) else {
            return self.wrong(at, format!("`{name}` is no variable"));
        };
        let Some(held) = self.variables[place].1 else { return self.wrong(at, format!("`{name}` has no value")) };
        let kind = self.code.kind(held)?;
        let made = match operation {
            None => self.value(value, Some(kind))?,
            Some(operation @ ("shl" | "shr")) => {
                let by = self.counter(value)?;
                let made = self.code.call(operation, &[held, by]);
                self.placed(at, made)?
            }
            Some(operation) => {
                let other = self.value(value, Some(kind))?;
                let made = self.code.call(operation, &[held, other]);
                self.placed(at, made)?
            }
        };
        let found = self.code.kind(made)?;
        if found != kind {
            return self.wrong(value.at, format!("expected a value of type {kind}, found {found}"));
        }
        self.variables[place].1 = Some(made);
        Ok(())
    }

    /// An `if` without a value: both branches are computed, and each variable is chosen.
    fn branch(&mut self, condition: &Expr, yes: &Block, no: Option<&Block>) -> Result<()> {
        let test = self.value(condition, Some(Kind::Bool))?;
        let before = self.variables.clone();
        self.effects(yes)?;
        let after = std::mem::replace(&mut self.variables, before);
        if let Some(no) = no {
            self.effects(no)?;
        }
        self.merge(test, &after, condition.at)
    }

    /// The statements of a block, without the variables that it declares. A value must be another such `if`.
    fn effects(&mut self, block: &Block) -> Result<()> {
        let outer = self.variables.len();
        self.statements(block)?;
        match block.value.as_deref() {
            None => {}
            Some(Expr { node: Node::If(condition, yes, no), .. }) => self.branch(condition, yes, no.as_ref())?,
            Some(value) => {
                return self.wrong(value.at, "this value isn't used: end it with `;`, or begin a statement by `let`");
            }
        }
        self.variables.truncate(outer);
        Ok(())
    }

    /// Chooses each variable: `after` holds those of the branch that is taken if `test` is true.
    fn merge(&mut self, test: Operand, after: &[(String, Option<Operand>)], at: usize) -> Result<()> {
        for (place, (_, yes)) in after.iter().enumerate() {
            if let (Some(yes), Some(no)) = (*yes, self.variables[place].1)
                && yes != no
            {
                let chosen = self.code.select(test, yes, no);
                self.variables[place].1 = Some(self.placed(at, chosen)?);
            }
        }
        Ok(())
    }

    /// A count of bits: a value of any integer type, as `u32`.
    fn counter(&mut self, expr: &Expr) -> Result<Operand> {
        let kind = self.stated(expr).unwrap_or(Kind::U32);
        let value = self.value(expr, Some(kind))?;
        let cast = self.code.cast(value, Kind::U32);
        self.placed(expr.at, cast)
    }

    fn value(&mut self, expr: &Expr, expected: Option<Kind>) -> Result<Operand> {
        let at = expr.at;
        let made = match &expr.node {
            Node::Bool(value) => self.code.constant(Kind::Bool, value.bits(), false),
            Node::Integer(number, kind) => return self.integer(*number, false, kind.or(expected), at),
            Node::Float(number, kind) => return self.float(number, kind.or(expected), at),
            Node::Name(name) => match self.variables.iter().rev().find(|(known, _)| known == name) {
                Some((_, Some(value))) => Ok(*value),
                Some((_, None)) => return self.wrong(at, format!("`{name}` is a pattern's entry, which has no value")),
                None => return self.wrong(at, format!("`{name}` is no variable")),
            },
            Node::Constant(kind, name) => match associated(*kind, name) {
                Some(bits) => self.code.constant(*kind, bits, false),
                None => return self.wrong(
                    at,
                    format!(
                        "`{kind}::{name}` is not known: expected MIN, MAX, or of floats INFINITY, NEG_INFINITY or NAN"
                    ),
                ),
            },
            Node::Unary("neg", inner) => match inner.node {
                Node::Integer(number, kind) => return self.integer(number, true, kind.or(expected), at),
                _ => {
                    let value = self.value(inner, expected)?;
                    self.code.call("neg", &[value])
                }
            },
            Node::Unary(function, inner) => {
                let value = self.value(inner, expected)?;
                self.code.call(function, &[value])
            }
            Node::Binary(function, operands) => return self.binary(function, operands, expected, at),
            Node::Cast(inner, kind) => {
                let value = self.value(inner, None)?;
                self.code.cast(value, *kind)
            }
            Node::If(condition, yes, no) => {
                let Some(no) = no else { return self.wrong(at, "expected an `else`: the value of this `if` is used") };
                return self.choice((condition, yes, no), expected.or_else(|| self.stated(expr)), at);
            }
            Node::Block(block) => return self.block(block, expected, at),
            Node::Method(name, operands) => return self.method(name, operands, expected, at),
            Node::FromBits(kind, word) => {
                let value = self.value(word, Some(kind.unsigned()))?;
                self.code.of_bits(value, *kind)
            }
        };
        self.placed(at, made)
    }

    fn choice(
        &mut self,
        (condition, yes, no): (&Expr, &Block, &Block),
        expected: Option<Kind>,
        at: usize,
    ) -> Result<Operand> {
        let test = self.value(condition, Some(Kind::Bool))?;
        let before = self.variables.clone();
        let first = self.block(yes, expected, at)?;
        let after = std::mem::replace(&mut self.variables, before);
        let second = self.block(no, expected.or(Some(self.code.kind(first)?)), at)?;
        self.merge(test, &after, at)?;
        let chosen = self.code.select(test, first, second);
        self.placed(at, chosen)
    }

    fn binary(&mut self, function: &str, operands: &[Expr; 2], expected: Option<Kind>, at: usize) -> Result<Operand> {
        let [left, right] = operands;
        let compares = matches!(function, "eq" | "ne" | "lt" | "le" | "gt" | "ge");
        let kind = match function {
            "and" | "or" => Some(Kind::Bool),
            "shl" | "shr" => self.stated(left).or(expected),
            _ => self.stated(left).or_else(|| self.stated(right)).or(expected.filter(|_| !compares)),
        };
        let first = self.value(left, kind)?;
        let second = if matches!(function, "shl" | "shr") { self.counter(right)? } else { self.value(right, kind)? };
        let function = match function {
            "and" => "bitand",
            "or" => "bitor",
            other => other,
        };
        if kind == Some(Kind::Bool) && self.code.kind(first)? != Kind::Bool {
            return self.wrong(at, format!("expected a condition, found a value of type {}", self.code.kind(first)?));
        }
        let made = self.code.call(function, &[first, second]);
        self.placed(at, made)
    }

    fn method(&mut self, name: &str, operands: &[Expr], expected: Option<Kind>, at: usize) -> Result<Operand> {
        let operation = match method(name) {
            Method::Call(operation) => operation,
            Method::Cast(kind) if operands.len() == 1 => {
                let value = self.value(&operands[0], None)?;
                let cast = self.code.cast(value, kind);
                return self.placed(at, cast);
            }
            _ => {
                return self
                    .wrong(at, format!("`{name}` is no method of numbers that has the same bits on every device"));
            }
        };
        if operands.len() != operation.arity() {
            let takes = ["no argument", "one argument", "two arguments"][operation.arity() - 1];
            return self.wrong(at, format!("`{name}` takes {takes}, found {}", operands.len() - 1));
        }
        let stated = operands.iter().find_map(|operand| self.stated(operand)).filter(|_| is_uniform(operation));
        let around = expected.filter(|_| operation.result(Kind::I8) == Kind::I8);
        let kind = stated.or_else(|| self.stated(&operands[0])).or(around);
        let mut values = vec![self.value(&operands[0], kind)?];
        for other in &operands[1..] {
            let counted = operation.shape() == Shape::Counted;
            values.push(if counted { self.counter(other)? } else { self.value(other, kind)? });
        }
        let made = self.code.call(operation.name(), &values);
        self.placed(at, made)
    }

    fn integer(&mut self, number: u128, negative: bool, kind: Option<Kind>, at: usize) -> Result<Operand> {
        let Some(kind) = kind else { return self.wrong(at, "state this number's type, as in `5u32`") };
        if !kind.is_integer() {
            let instead = if kind.is_float() { format!(": write {number}.0") } else { String::new() };
            return self.wrong(at, format!("expected a value of type {kind}, found a whole number{instead}"));
        }
        let (width, signed) = (8 * kind.size() as u32, kind.name().starts_with('i'));
        let most = if signed { (1u128 << (width - 1)) - u128::from(!negative) } else { (1 << width) - 1 };
        if number > most || (negative && !signed && number > 0) {
            let sign = if negative { "-" } else { "" };
            return self.wrong(at, format!("{sign}{number} is out of the range of {kind}"));
        }
        let bits = if negative { (number as u64).wrapping_neg() } else { number as u64 };
        let made = self.code.constant(kind, bits, false);
        self.placed(at, made)
    }

    fn float(&mut self, number: &str, kind: Option<Kind>, at: usize) -> Result<Operand> {
        let narrow = || number.parse::<f32>().ok();
        let bits = match kind {
            None => return self.wrong(at, "state this number's type, as in `0.5f32`"),
            Some(Kind::F16) => narrow().map(|number| f16::from_f32(number).bits()),
            Some(Kind::Bf16) => narrow().map(|number| bf16::from_f32(number).bits()),
            Some(Kind::F32) => narrow().map(|number| number.bits()),
            Some(Kind::F64) => number.parse::<f64>().ok().map(|number| number.bits()),
            Some(kind) => {
                return self.wrong(at, format!("expected a number of type {kind}, found one with a fraction"));
            }
        };
        let Some(bits) = bits else { return self.wrong(at, format!("`{number}` is no number")) };
        let made = self.code.constant(kind.unwrap_or(Kind::F64), bits, false);
        self.placed(at, made)
    }
}

/// Whether all operands have one kind, which any of them may state.
fn is_uniform(operation: Operation) -> bool {
    matches!(operation.shape(), Shape::Binary | Shape::Ternary | Shape::Distance)
}

/// What a method's name stands for.
enum Method {
    Call(Operation),
    Cast(Kind),
    Unknown,
}

fn method(name: &str) -> Method {
    // operators, which aren't methods of Rust's numbers
    let operators = [
        "add", "sub", "mul", "div", "rem", "neg", "not", "eq", "ne", "lt", "le", "gt", "ge", "shl", "shr", "bitand",
        "bitor", "bitxor",
    ];
    match name {
        "to_f32" => Method::Cast(Kind::F32),
        "to_f64" => Method::Cast(Kind::F64),
        _ => {
            let plain = name.strip_prefix("wrapping_");
            let known = plain.filter(|plain| ["add", "sub", "mul", "neg", "shl", "shr", "abs", "pow"].contains(plain));
            let found = known.or(Some(name).filter(|name| !operators.contains(name)));
            found.and_then(Operation::named).map_or(Method::Unknown, Method::Call)
        }
    }
}

/// The bits of an associated constant.
fn associated(kind: Kind, name: &str) -> Option<u64> {
    fn of<T: Scalar>(name: &str) -> Option<u64> {
        Some(match name {
            "MIN" => T::LEAST.bits(),
            "MAX" => T::GREATEST.bits(),
            _ => return None,
        })
    }
    Some(match (kind, name) {
        (Kind::F32, "INFINITY") => f32::INFINITY.bits(),
        (Kind::F32, "NEG_INFINITY") => f32::NEG_INFINITY.bits(),
        (Kind::F32, "NAN") => f32::NAN.bits(),
        (Kind::F32, "MAX") => f32::MAX.bits(),
        (Kind::F32, "MIN") => f32::MIN.bits(),
        (Kind::F64, "INFINITY") => f64::INFINITY.bits(),
        (Kind::F64, "NEG_INFINITY") => f64::NEG_INFINITY.bits(),
        (Kind::F64, "NAN") => f64::NAN.bits(),
        (Kind::F64, "MAX") => f64::MAX.bits(),
        (Kind::F64, "MIN") => f64::MIN.bits(),
        (Kind::I8, name) => of::<i8>(name)?,
        (Kind::I16, name) => of::<i16>(name)?,
        (Kind::I32, name) => of::<i32>(name)?,
        (Kind::I64, name) => of::<i64>(name)?,
        (Kind::U8, name) => of::<u8>(name)?,
        (Kind::U16, name) => of::<u16>(name)?,
        (Kind::U32, name) => of::<u32>(name)?,
        (Kind::U64, name) => of::<u64>(name)?,
        _ => return None,
    })
}
