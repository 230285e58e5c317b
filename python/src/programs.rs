//! Operators and monoids that Python code makes: programs, built one value at a time.

use crate::errors::Class;
use crate::kinds::Kind;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};
use vxm::semiring::dynamic::{self, DynBinary, DynMonoid, Operand, ProgramError};
use vxm::semiring::laws::{self, Law};
use vxm::semiring::{BinaryOp, Element};

/// The exception for an operator that can't be.
pub fn refused(error: ProgramError) -> PyErr {
    PyTypeError::new_err(error.to_string())
}

/// The bits of a Python number as a value of the kind. An integer becomes a float; a float never becomes an integer. A struct is given as the
/// integer that its word is.
pub fn bits(kind: Kind, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    let refuse = || PyTypeError::new_err(format!("expected a value of type {kind}, found {value:?}"));
    let range = || Class::Input.error(value.py(), format!("expected a value of type {kind}, found {value}"));
    let number = |value: &Bound<'_, PyAny>| value.extract::<f64>().map_err(|_| refuse());
    use dynamic::Kind as K;
    Ok(match kind.word {
        K::Unit => return Err(refuse()),
        K::Bool => value.extract::<bool>().map_err(|_| refuse())?.bits(),
        K::F16 => half::f16::from_f64(number(value)?).bits(),
        K::Bf16 => half::bf16::from_f64(number(value)?).bits(),
        K::F32 => {
            let wide = number(value)?;
            if wide.is_finite() && (wide as f32).is_infinite() {
                return Err(range());
            }
            (wide as f32).bits()
        }
        K::F64 => number(value)?.bits(),
        _ => {
            let integer = value.extract::<i128>().map_err(|error| {
                // an integer by `__index__`, as NumPy's are; a float is none
                if error.is_instance_of::<PyOverflowError>(value.py()) { range() } else { refuse() }
            })?;
            let width = 8 * kind.size() as u32;
            let signed = kind.word.name().starts_with('i');
            let (least, most) = match signed {
                true => (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1),
                false => (0, (1i128 << width) - 1),
            };
            if !(least..=most).contains(&integer) {
                return Err(range());
            }
            integer as u64 & (u64::MAX >> (64 - width))
        }
    })
}

/// The value of the kind that has these bits, as a Python object: of a struct, its word.
pub fn value(py: Python<'_>, kind: Kind, bits: u64) -> PyResult<Py<PyAny>> {
    use dynamic::Kind as K;
    Ok(match kind.word {
        K::Unit => py.None(),
        K::Bool => PyBool::new(py, bits & 1 == 1).to_owned().into_any().unbind(),
        K::F16 => half::f16::from_bits(bits as u16).to_f64().into_pyobject(py)?.into_any().unbind(),
        K::Bf16 => half::bf16::from_bits(bits as u16).to_f64().into_pyobject(py)?.into_any().unbind(),
        K::F32 => f64::from(f32::from_bits(bits as u32)).into_pyobject(py)?.into_any().unbind(),
        K::F64 => f64::from_bits(bits).into_pyobject(py)?.into_any().unbind(),
        K::I8 => (bits as i8).into_pyobject(py)?.into_any().unbind(),
        K::I16 => (bits as i16).into_pyobject(py)?.into_any().unbind(),
        K::I32 => (bits as i32).into_pyobject(py)?.into_any().unbind(),
        K::I64 => (bits as i64).into_pyobject(py)?.into_any().unbind(),
        _ => bits.into_pyobject(py)?.into_any().unbind(),
    })
}

/// Makes a program. `_operators.py` translates functions to it.
#[pyclass(module = "vxm._vxm")]
pub struct Builder {
    /// `None` once it is finished.
    code: Option<dynamic::Builder>,
    parameters: Parameters,
}

/// The kinds of up to three parameters. Those that a program doesn't have are `()`.
type Parameters = [Kind; 3];

impl Builder {
    fn code(&mut self) -> PyResult<&mut dynamic::Builder> {
        self.code.as_mut().ok_or_else(|| PyTypeError::new_err("this program is finished"))
    }

    fn operand(&mut self, number: usize) -> PyResult<Operand> {
        self.code()?.operand(number).map_err(refused)
    }
}

#[pymethods]
impl Builder {
    #[new]
    fn new(name: &str, parameters: Vec<String>) -> PyResult<Self> {
        let kinds = parameters.iter().map(|name| Kind::named(name)).collect::<PyResult<Vec<_>>>()?;
        let words: Vec<_> = kinds.iter().map(|kind| kind.word).collect();
        // names of Python may have other letters
        let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let code = dynamic::Builder::new(&name, &words).map_err(refused)?;
        let at = |index: usize| kinds.get(index).copied().unwrap_or(Kind::UNIT);
        Ok(Self { code: Some(code), parameters: [at(0), at(1), at(2)] })
    }

    fn parameter(&mut self, index: usize) -> PyResult<usize> {
        Ok(self.code()?.parameter(index).map_err(refused)?.number())
    }

    fn constant(&mut self, kind: &str, value: &Bound<'_, PyAny>, captured: bool) -> PyResult<usize> {
        let kind = Kind::named(kind)?;
        let bits = bits(kind, value)?;
        Ok(self.code()?.constant(kind.word, bits, captured).map_err(refused)?.number())
    }

    fn call(&mut self, operation: &str, operands: Vec<usize>) -> PyResult<usize> {
        let operands = operands.into_iter().map(|number| self.operand(number)).collect::<PyResult<Vec<_>>>()?;
        Ok(self.code()?.call(operation, &operands).map_err(refused)?.number())
    }

    fn cast(&mut self, operand: usize, kind: &str) -> PyResult<usize> {
        let (operand, kind) = (self.operand(operand)?, Kind::named(kind)?);
        Ok(self.code()?.cast(operand, kind.word).map_err(refused)?.number())
    }

    /// The float that has an integer's bits.
    fn of_bits(&mut self, operand: usize, kind: &str) -> PyResult<usize> {
        let (operand, kind) = (self.operand(operand)?, Kind::named(kind)?);
        Ok(self.code()?.of_bits(operand, kind.word).map_err(refused)?.number())
    }

    fn select(&mut self, condition: usize, yes: usize, no: usize) -> PyResult<usize> {
        let (condition, yes, no) = (self.operand(condition)?, self.operand(yes)?, self.operand(no)?);
        Ok(self.code()?.select(condition, yes, no).map_err(refused)?.number())
    }

    fn kind(&mut self, value: usize) -> PyResult<&'static str> {
        let operand = self.operand(value)?;
        Ok(self.code()?.kind(operand).map_err(refused)?.name())
    }

    /// The program with this result. Its kind is that of the value; or a struct, if the value is its word.
    fn finish(&mut self, value: usize, kind: &str) -> PyResult<Program> {
        let (operand, result) = (self.operand(value)?, Kind::named(kind)?);
        let found = self.code()?.kind(operand).map_err(refused)?;
        if found != result.word {
            return Err(PyTypeError::new_err(format!("expected a result of kind {result}, found {found}")));
        }
        let code = self.code.take().ok_or_else(|| PyTypeError::new_err("this program is finished"))?;
        Ok(Program { code: code.finish(operand).map_err(refused)?, parameters: self.parameters, result })
    }
}

/// An operator's program for operands of certain kinds.
#[pyclass(frozen, eq, hash, module = "vxm._vxm")]
#[derive(Clone, Copy, PartialEq)]
pub struct Program {
    /// What it computes, over words in the place of structs.
    pub code: dynamic::Program,
    parameters: Parameters,
    pub result: Kind,
}

impl std::hash::Hash for Program {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.code.hash(state);
    }
}
impl Eq for Program {}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parameters: Vec<_> = self.parameters().iter().map(|kind| kind.name()).collect();
        write!(f, "{}({}) -> {}", self.code.name(), parameters.join(", "), self.result)
    }
}

impl Program {
    fn parameters(&self) -> &[Kind] {
        &self.parameters[..self.code.parameters().len()]
    }
}

#[pymethods]
impl Program {
    #[getter]
    fn name(&self) -> &'static str {
        self.code.name()
    }

    #[getter(parameters)]
    fn names(&self) -> Vec<&'static str> {
        self.parameters().iter().map(|kind| kind.name()).collect()
    }

    #[getter]
    fn result(&self) -> &'static str {
        self.result.name()
    }

    /// The program that takes its two parameters in the other order.
    fn flipped(&self) -> Self {
        let [a, b, c] = self.parameters;
        Self { code: self.code.flipped(), parameters: [b, a, c], ..*self }
    }

    /// Whether the result may depend on a parameter.
    fn reads(&self, index: usize) -> bool {
        self.code.reads(index)
    }

    #[pyo3(signature = (*values))]
    fn call(&self, py: Python<'_>, values: &Bound<'_, PyTuple>) -> PyResult<Py<PyAny>> {
        let kinds = self.parameters();
        if values.len() != kinds.len() {
            let (name, takes, found) = (self.code.name(), kinds.len(), values.len());
            return Err(PyTypeError::new_err(format!("`{name}` takes {takes} values, found {found}")));
        }
        let mut arguments = [0; 3];
        for ((argument, kind), value) in arguments.iter_mut().zip(kinds).zip(values) {
            *argument = if *kind == Kind::UNIT { 0 } else { bits(*kind, &value)? };
        }
        value(py, self.result, self.code.call_bits(arguments))
    }

    /// The CUDA C++ text.
    fn cuda(&self) -> String {
        self.code.cuda()
    }

    fn __repr__(&self) -> String {
        format!("{self:?}")
    }
}

/// An associative operator and its identity, for elements of one kind.
#[pyclass(frozen, module = "vxm._vxm")]
#[derive(Clone, Copy)]
pub struct Monoid {
    pub op: Program,
    pub identity: u64,
    pub terminal: Option<u64>,
    pub commutative: bool,
    pub exact: bool,
    /// Whether the identity isn't one for each value, as the infinities for `min` and `max` of NaN.
    pub but_identity: bool,
}

impl Monoid {
    /// The kind of the elements.
    pub fn kind(&self) -> Kind {
        self.op.result
    }

    /// The monoid over words or values.
    pub fn of<T: Element, const EXACT: bool>(&self) -> Result<DynMonoid<T, EXACT>, ProgramError> {
        let made = DynMonoid::new(DynBinary::new(self.op.code)?, T::from_wide_bits(self.identity.into()));
        let made = self.terminal.map_or(made, |terminal| made.terminal(T::from_wide_bits(terminal.into())));
        let made = if self.commutative { made.commutative() } else { made };
        Ok(if self.but_identity { made.except(&[Law::Identity]) } else { made })
    }

    /// This monoid, if it keeps the laws. Its identity may change what is no number; where the operator isn't exact, also the sign of a zero.
    fn checked<T: laws::Sample>(&self) -> PyResult<Self> {
        let op = DynBinary::<T, T, T>::new(self.op.code).map_err(refused)?;
        let identity = T::from_wide_bits(self.identity.into());
        let same = |a: T, b: T| a.bits() == b.bits() || (!self.exact && a == b);
        let keeps = |x: &T| same(op.call(identity, *x), *x) && same(op.call(*x, identity), *x);
        let extremes = T::extremes();
        let changed = extremes.iter().find(|x| x.as_f64().is_finite() && !keeps(x));
        if let Some(x) = changed {
            let what = format!("{identity:?} is no identity: with {x:?} it gives {:?}", op.call(identity, *x));
            return Err(self.broken(what));
        }
        let strict = extremes
            .iter()
            .all(|x| op.call(identity, *x).bits() == x.bits() && op.call(*x, identity).bits() == x.bits());
        let checked = Self { but_identity: self.but_identity || !strict, ..*self };
        let found = match self.exact {
            true => laws::check_monoid::<T, _>(checked.of::<T, true>().map_err(refused)?),
            false => laws::check_monoid::<T, _>(checked.of::<T, false>().map_err(refused)?),
        };
        match found {
            Ok(_) => Ok(checked),
            // that it is associative on all samples after all is no error
            Err(broken) if !self.exact && broken.law() == Law::Associativity => Ok(checked),
            Err(broken) => Err(self.without(broken.law(), broken.what())),
        }
    }

    /// The exception for a law that doesn't hold, and what to say then.
    fn without(&self, law: Law, what: &str) -> PyErr {
        let hint = match law {
            Law::Associativity => ": if it isn't associative bit for bit, say exact=False",
            Law::Commutativity => ": if it isn't commutative, say commutative=False",
            _ => "",
        };
        self.broken(format!("{law:?}: {what}{hint}"))
    }

    fn broken(&self, what: String) -> PyErr {
        Python::attach(|py| Class::Input.error(py, format!("{} over {}: {what}", self.op.code.name(), self.kind())))
    }
}

#[pymethods]
impl Monoid {
    #[new]
    fn new(
        op: &Program,
        identity: &Bound<'_, PyAny>,
        terminal: Option<&Bound<'_, PyAny>>,
        commutative: bool,
        exact: bool,
        but_identity: bool,
    ) -> PyResult<Self> {
        let (op, kind) = (*op, op.result);
        if op.parameters() != [kind, kind] {
            let what = "expected an operator of two values and a result of one type";
            return Err(PyTypeError::new_err(format!("{what}, found {op:?}")));
        }
        let terminal = terminal.map(|value| bits(kind, value)).transpose()?;
        Ok(Self { op, identity: bits(kind, identity)?, terminal, commutative, exact, but_identity })
    }

    /// This monoid, if it keeps the laws on extreme and random values; over structs on extreme ones.
    fn check(&self, py: Python<'_>) -> PyResult<Self> {
        if let Some(of) = self.kind().layout() {
            return match self.broken_over(py, of)? {
                None => Ok(*self),
                Some(broken) => Err(self.without(broken.law, &broken.what)),
            };
        }
        use dynamic::Kind as K;
        match self.kind().word {
            K::Bool => self.checked::<bool>(),
            K::I8 => self.checked::<i8>(),
            K::I16 => self.checked::<i16>(),
            K::I32 => self.checked::<i32>(),
            K::I64 => self.checked::<i64>(),
            K::U8 => self.checked::<u8>(),
            K::U16 => self.checked::<u16>(),
            K::U32 => self.checked::<u32>(),
            K::U64 => self.checked::<u64>(),
            K::F16 => self.checked::<half::f16>(),
            K::F32 => self.checked::<f32>(),
            K::F64 => self.checked::<f64>(),
            other => Err(PyTypeError::new_err(format!("no laws are checked on {other}"))),
        }
    }

    /// Whether operands may be joined in any order.
    #[getter]
    fn reorders(&self) -> bool {
        self.exact && self.commutative
    }

    fn __repr__(&self) -> String {
        format!("Monoid({:?})", self.op)
    }
}
