//! Programs: straight-line code over typed values.

use core::fmt;
use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::interpret::Ready;
use super::kind::Kind;
use super::operation::{Operation, cast};

/// The most values that a program may hold: parameters, constants, and results of operations.
pub const MOST_VALUES: usize = 256;

/// A value of a [`Program`]: a parameter, a constant, or the result of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Value {
    Parameter(u8),
    /// A constant's bits. If it is captured, kernels take it as an argument; otherwise it is a literal in their text.
    Constant {
        bits: u64,
        captured: bool,
    },
    /// An operation with fewer operands names the last one again.
    Call(Operation, [Id; 3]),
    Cast(Id),
    /// The float that has the bits of an integer.
    OfBits(Id),
    Select([Id; 3]),
}

impl Value {
    /// The values that it is computed from.
    fn operands(&self) -> &[Id] {
        match self {
            Self::Parameter(_) | Self::Constant { .. } => &[],
            Self::Call(_, operands) => operands,
            Self::Cast(operand) | Self::OfBits(operand) => std::slice::from_ref(operand),
            Self::Select(operands) => operands,
        }
    }

    /// The same value, where operands have other numbers.
    fn renumbered(self, number: impl Fn(Id) -> Id) -> Self {
        match self {
            Self::Parameter(_) | Self::Constant { .. } => self,
            Self::Call(operation, operands) => Self::Call(operation, operands.map(number)),
            Self::Cast(operand) => Self::Cast(number(operand)),
            Self::OfBits(operand) => Self::OfBits(number(operand)),
            Self::Select(operands) => Self::Select(operands.map(number)),
        }
    }
}

/// A value's number in its program. Operands have lower numbers than results.
pub(super) type Id = u16;

/// What a program is: its interned identity.
#[derive(Debug, PartialEq, Eq, Hash, Clone)]
pub(super) struct Text {
    pub(super) name: String,
    /// The kinds of the parameters, which are the first values.
    pub(super) parameters: Vec<Kind>,
    pub(super) values: Vec<(Value, Kind)>,
    pub(super) result: Id,
}

/// A function of one to three typed parameters that was made at run time. A [`Builder`] makes one; [`DynUnary`](super::DynUnary),
/// [`DynBinary`](super::DynBinary) and [`DynTernary`](super::DynTernary) are operators that run it.
///
/// It is a handle. Equal programs are one, which lives until the process ends, because operators are `Copy`.
#[derive(Clone, Copy)]
pub struct Program(pub(super) &'static Ready);

impl PartialEq for Program {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}
impl Eq for Program {}

impl core::hash::Hash for Program {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.address().hash(state);
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds: Vec<_> = self.parameters().iter().map(|kind| kind.name()).collect();
        write!(f, "{}({}) -> {}", self.name(), kinds.join(", "), self.result())
    }
}

impl Program {
    /// The name that was given to it. It stands in messages and in kernels' text.
    pub fn name(self) -> &'static str {
        &self.0.text.name
    }

    /// The kinds of the parameters.
    pub fn parameters(self) -> &'static [Kind] {
        &self.0.text.parameters
    }

    /// The kind of the result.
    pub fn result(self) -> Kind {
        self.0.text.values[self.0.text.result as usize].1
    }

    /// The program of two parameters that takes them in the other order; another program is returned as it is.
    ///
    /// ```
    /// use vxm_semiring::dynamic::{Builder, Kind};
    /// let mut code = Builder::new("difference", &[Kind::I32, Kind::I32])?;
    /// let result = code.call("sub", &[code.parameter(0)?, code.parameter(1)?])?;
    /// let difference = code.finish(result)?;
    /// assert_eq!(difference.call_bits([9, 4, 0]), 5);
    /// assert_eq!(difference.flipped().call_bits([4, 9, 0]), 5);
    /// # Ok::<(), vxm_semiring::dynamic::ProgramError>(())
    /// ```
    pub fn flipped(self) -> Self {
        *self.0.flipped.get_or_init(|| self.with_parameters_flipped())
    }

    fn with_parameters_flipped(self) -> Self {
        let mut text = self.0.text.clone();
        let [first, second] = *text.parameters else { return self };
        text.parameters = vec![second, first];
        let moved = |id: Id| if id < 2 { 1 - id } else { id };
        for (value, _) in &mut text.values {
            *value = value.renumbered(moved);
        }
        (text.values[0].1, text.values[1].1) = (second, first);
        text.result = moved(text.result);
        intern(text)
    }

    /// A number that is unique to the program.
    pub(super) fn address(self) -> usize {
        std::ptr::from_ref(self.0) as usize
    }

    /// Whether the result may depend on the parameter `index`.
    pub fn reads(self, index: usize) -> bool {
        let text = &self.0.text;
        let read = |id: &Id| *id as usize == index;
        read(&text.result) || text.values.iter().any(|(value, _)| value.operands().iter().any(read))
    }

    /// The bits of the result for these [bits](crate::Element::bits) of the arguments. Missing arguments are 0.
    ///
    /// It takes a call through a pointer for each operation, or one in all once the program is [compiled](super::jit).
    #[inline]
    pub fn call_bits(self, arguments: [u64; 3]) -> u64 {
        self.0.call(arguments)
    }
}

/// What a program can't be: the message says why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramError(String);

impl ProgramError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ProgramError {}

/// A value under construction: what the methods of a [`Builder`] return. It belongs to that builder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Operand(Id);

impl Operand {
    /// The value's number.
    pub fn number(self) -> usize {
        self.0.into()
    }
}

/// Makes a [`Program`], operation by operation. Each operation is one of [`lowered`](crate::lowered), so it has the same bits on every device.
///
/// ```
/// use vxm_semiring::dynamic::{Builder, DynBinary, Kind};
/// use vxm_semiring::{BinaryOp, Element};
///
/// // |a, b| if a < b { b - a } else { 7 }
/// let mut code = Builder::new("gap", &[Kind::U32, Kind::U32])?;
/// let (a, b) = (code.parameter(0)?, code.parameter(1)?);
/// let (less, gap) = (code.call("lt", &[a, b])?, code.call("sub", &[b, a])?);
/// let seven = code.constant(Kind::U32, 7u32.bits(), false)?;
/// let result = code.select(less, gap, seven)?;
/// let gap = DynBinary::<u32, u32, u32>::new(code.finish(result)?)?;
/// assert_eq!((gap.call(3, 5), gap.call(5, 3)), (2, 7));
/// # Ok::<(), vxm_semiring::dynamic::ProgramError>(())
/// ```
#[derive(Debug)]
pub struct Builder {
    name: String,
    parameters: Vec<Kind>,
    values: Vec<(Value, Kind)>,
    /// The number of each value: an operation on the same operands is not computed twice.
    known: HashMap<(Value, Kind), Id>,
}

impl Builder {
    /// Begins a program of one to three parameters. `name` is an identifier of ASCII letters, digits and `_`.
    ///
    /// # Errors
    /// The name is none, or there are too few or too many parameters.
    pub fn new(name: &str, parameters: &[Kind]) -> Result<Self, ProgramError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(plain) || name.starts_with(|c: char| c.is_ascii_digit()) {
            let expected = "expected a name of ASCII letters, digits and `_`";
            return Err(ProgramError::new(format!("{expected}, found `{name}`")));
        }
        if !(1..=3).contains(&parameters.len()) {
            let found = parameters.len();
            return Err(ProgramError::new(format!("`{name}` has {found} parameters: expected one to three")));
        }
        let values: Vec<_> = (0..).zip(parameters).map(|(at, kind)| (Value::Parameter(at), *kind)).collect();
        Ok(Self { name: name.to_owned(), parameters: parameters.to_vec(), values, known: HashMap::new() })
    }

    /// The parameter `index`, counted from 0.
    ///
    /// # Errors
    /// There is no such parameter, or it is the entry of a pattern.
    pub fn parameter(&self, index: usize) -> Result<Operand, ProgramError> {
        match self.parameters.get(index) {
            None => Err(self.refuse(format!("has no parameter {index}"))),
            Some(Kind::Unit) => Err(self.refuse(format!("reads parameter {index}, a pattern's entry without a value"))),
            Some(_) => Ok(Operand(index as Id)),
        }
    }

    /// A constant of the kind, from its [bits](crate::Element::bits). A `captured` one is an argument of kernels: programs that
    /// differ only in such constants share a compiled kernel.
    ///
    /// # Errors
    /// The kind is `()`, or there are too many values.
    pub fn constant(&mut self, kind: Kind, bits: u64, captured: bool) -> Result<Operand, ProgramError> {
        if kind == Kind::Unit {
            return Err(self.refuse("has a constant `()`: there is none"));
        }
        self.add(Value::Constant { bits: kind.plain(bits), captured }, kind)
    }

    /// The operation of this name: see [`lowered`](crate::lowered). A shift's or a power's count is a `u32`. Operands have one kind otherwise.
    ///
    /// # Errors
    /// There is no such operation, or it doesn't take these operands.
    pub fn call(&mut self, operation: &str, operands: &[Operand]) -> Result<Operand, ProgramError> {
        let Some(found) = Operation::named(operation) else {
            let known: Vec<_> = Operation::ALL.iter().map(|operation| operation.name()).collect();
            return Err(self.refuse(format!("calls `{operation}`, which is none of {}", known.join(", "))));
        };
        let kinds = operands.iter().map(|&operand| self.kind(operand)).collect::<Result<Vec<_>, _>>()?;
        let (takes, shape) = (found.arity(), found.shape());
        let names = || kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
        if kinds.len() != takes {
            let what = ["one operand", "two operands", "three operands"][takes - 1];
            return Err(self.refuse(format!("calls {operation}({}), which takes {what}", names())));
        }
        if !found.class().has(kinds[0]) {
            return Err(self.refuse(format!("calls {operation}({}), which takes {}", names(), found.class().name())));
        }
        let others = if shape == super::operation::Shape::Counted { Kind::U32 } else { kinds[0] };
        if kinds[1..].iter().any(|kind| *kind != others) {
            let expected: Vec<_> = [kinds[0], others, others].iter().take(takes).map(|kind| kind.name()).collect();
            return Err(self.refuse(format!("calls {operation}({}): expected ({})", names(), expected.join(", "))));
        }
        let all = [0, 1, 2].map(|at: usize| operands[at.min(takes - 1)].0);
        self.add(Value::Call(found, all), found.result(kinds[0]))
    }

    /// The float of kind `kind` that has the bits of `operand`, an unsigned integer of the same width.
    ///
    /// # Errors
    /// The kind is no float, or the operand no such integer.
    pub fn of_bits(&mut self, operand: Operand, kind: Kind) -> Result<Operand, ProgramError> {
        let from = self.kind(operand)?;
        if !kind.is_float() {
            return Err(self.refuse(format!("makes {kind} of bits: expected a float")));
        }
        if from != kind.unsigned() {
            return Err(self.refuse(format!("makes {kind} of the bits of {from}: expected {}", kind.unsigned())));
        }
        self.add(Value::OfBits(operand.0), kind)
    }

    /// The cast `operand as kind`, as in Rust: integers wrap, floats saturate, NaN becomes 0.
    ///
    /// # Errors
    /// The kind is `()`, or it is `bool` and the operand is none.
    pub fn cast(&mut self, operand: Operand, kind: Kind) -> Result<Operand, ProgramError> {
        let from = self.kind(operand)?;
        if from == kind {
            return Ok(operand);
        }
        if cast(from, kind).is_none() {
            let instead = if kind == Kind::Bool { ": compare it with 0" } else { "" };
            return Err(self.refuse(format!("casts {from} to {kind}{instead}")));
        }
        self.add(Value::Cast(operand.0), kind)
    }

    /// `if condition { yes } else { no }`. Both are computed.
    ///
    /// # Errors
    /// The condition isn't `bool`, or the two others differ in kind.
    pub fn select(&mut self, condition: Operand, yes: Operand, no: Operand) -> Result<Operand, ProgramError> {
        let (test, a, b) = (self.kind(condition)?, self.kind(yes)?, self.kind(no)?);
        if test != Kind::Bool {
            return Err(self.refuse(format!("has a condition of type {test}: expected bool")));
        }
        if a != b {
            return Err(self.refuse(format!("chooses between {a} and {b}: expected one type")));
        }
        if yes == no {
            return Ok(yes);
        }
        self.add(Value::Select([condition.0, yes.0, no.0]), a)
    }

    /// The kind of a value.
    ///
    /// # Errors
    /// The value is of another builder, which has more values.
    pub fn kind(&self, operand: Operand) -> Result<Kind, ProgramError> {
        let found = self.values.get(operand.number()).map(|(_, kind)| *kind);
        found.ok_or_else(|| self.refuse(format!("has no value {}", operand.number())))
    }

    /// The value of this [number](Operand::number).
    ///
    /// # Errors
    /// There is no such value yet, or it is a pattern's entry, which has no value.
    pub fn operand(&self, number: usize) -> Result<Operand, ProgramError> {
        match number {
            _ if number < self.parameters.len() => self.parameter(number),
            _ if number < self.values.len() => Ok(Operand(number as Id)),
            _ => Err(self.refuse(format!("has no value {number}"))),
        }
    }

    /// The program that returns `result`.
    ///
    /// # Errors
    /// `result` is of another builder.
    pub fn finish(self, result: Operand) -> Result<Program, ProgramError> {
        self.kind(result)?;
        let text = Text { name: self.name, parameters: self.parameters, values: self.values, result: result.0 };
        Ok(intern(text.trimmed()))
    }

    fn add(&mut self, value: Value, kind: Kind) -> Result<Operand, ProgramError> {
        if let Some(&id) = self.known.get(&(value, kind)) {
            return Ok(Operand(id));
        }
        if self.values.len() == MOST_VALUES {
            return Err(self.refuse(format!("has more than {MOST_VALUES} values")));
        }
        let id = self.values.len() as Id;
        self.values.push((value, kind));
        self.known.insert((value, kind), id);
        Ok(Operand(id))
    }

    fn refuse(&self, what: impl fmt::Display) -> ProgramError {
        ProgramError::new(format!("`{}` {what}", self.name))
    }
}

impl Text {
    /// The same program without values that the result doesn't need. Parameters stay.
    fn trimmed(mut self) -> Self {
        let parameters = self.parameters.len();
        let mut needed: Vec<bool> = (0..self.values.len()).map(|id| id < parameters).collect();
        needed[self.result as usize] = true;
        for id in (0..self.values.len()).rev().filter(|&id| id >= parameters) {
            if !needed[id] {
                continue;
            }
            self.values[id].0.operands().iter().for_each(|&id| needed[id as usize] = true);
        }
        let mut to = vec![0; self.values.len()];
        let mut kept = Vec::new();
        for (id, (value, kind)) in self.values.iter().enumerate().filter(|&(id, _)| needed[id]) {
            let value = value.renumbered(|id| to[id as usize]);
            kept.push((value, *kind));
            to[id] = (kept.len() - 1) as Id;
        }
        self.result = to[self.result as usize];
        self.values = kept;
        self
    }
}

/// The one program of this text.
fn intern(text: Text) -> Program {
    static PROGRAMS: OnceLock<Mutex<HashMap<Text, Program>>> = OnceLock::new();
    let mut programs = PROGRAMS.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(program) = programs.get(&text) {
        return *program;
    }
    let program = Program(Box::leak(Box::new(Ready::new(text.clone()))));
    programs.insert(text, program);
    program
}
