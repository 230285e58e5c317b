//! Expressions of vectors, as Python code builds them. Their elements are words that hold the bits of a kind's values: `u32` for kinds of
//! up to 32 bits, `u64` for wider ones. The kind `()` makes sets.
//!
//! The Python file `_vectors.py` checks shapes and kinds before it calls these functions.

use crate::errors::{Class, raise};
use crate::graph::Graph;
use crate::kinds::Kind;
use crate::matrices::{Held, PyMatrix};
use crate::programs::{self, Monoid, Program};
use crate::runtime::usable;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::sync::Arc;
use vxm::containers::Vector;
use vxm::memory;
use vxm::semiring::Element;
use vxm::semiring::dynamic;

/// A stored vector.
#[derive(Clone)]
pub enum Stored {
    Set(Arc<Vector<()>>),
    Narrow(Arc<Vector<u32>>),
    Wide(Arc<Vector<u64>>),
}

/// Calls `$use` with a vector of any type.
macro_rules! with_stored {
    ($stored:expr, $vector:ident => $use:expr) => {
        match $stored {
            $crate::expressions::Stored::Set($vector) => $use,
            $crate::expressions::Stored::Narrow($vector) => $use,
            $crate::expressions::Stored::Wide($vector) => $use,
        }
    };
}

pub(crate) use with_stored;

/// A node of an expression.
pub enum Node {
    Vector(Stored),
    /// The state of the loop with this number.
    State(u64),
    Fill(u64),
    Map(Arc<Typed>, dynamic::Program),
    MapIndex(Arc<Typed>, dynamic::Program),
    Select(Arc<Typed>, dynamic::Program),
    SelectIndex(Arc<Typed>, dynamic::Program),
    Or(Arc<Typed>, u64),
    Pattern(Arc<Typed>),
    EwiseMult([Arc<Typed>; 2], dynamic::Program),
    EwiseAdd([Arc<Typed>; 2], dynamic::Program),
    Map3([Arc<Typed>; 3], dynamic::Program),
    Product(Product),
    /// The elements that a mask, which is a set, selects; or those that it doesn't.
    Masked(Arc<Typed>, Arc<Typed>, bool),
    Gather(Arc<Typed>, Arc<Typed>),
    /// The ends of chains of pointers, which are `u32`.
    PointerJump(Arc<Typed>, dynamic::Program),
}

/// The matrix of a product.
pub enum Factor {
    /// That of a graph: its weights, or its pattern.
    Graph(Py<Graph>, bool),
    Matrix(Held),
}

/// A product of a vector with a matrix, or with its transpose.
pub struct Product {
    pub operand: Arc<Typed>,
    pub factor: Factor,
    pub transposed: bool,
    pub add: Monoid,
    pub mul: dynamic::Program,
}

/// A node, the kind of its elements, and its length.
pub struct Typed {
    pub node: Node,
    pub kind: Kind,
    pub len: usize,
    /// The number of nodes, where one that is read twice counts twice.
    size: usize,
    /// How many products are nested in it.
    products: usize,
}

/// The most nodes of an expression. They are evaluated together, and each time that they are read. Each takes some of the stack: 8 KiB
/// where the compiler optimises little, and a thread has 8 MiB.
const MOST_NODES: usize = 500;
/// The most nested products. Each is evaluated within the one that reads it, which takes some of the stack.
const MOST_PRODUCTS: usize = 100;

impl Node {
    /// The operands.
    pub fn operands(&self) -> Vec<&Arc<Typed>> {
        match self {
            Self::Vector(_) | Self::State(_) | Self::Fill(_) => Vec::new(),
            Self::Map(x, _) | Self::MapIndex(x, _) | Self::Select(x, _) | Self::SelectIndex(x, _) => vec![x],
            Self::Or(x, _) | Self::Pattern(x) | Self::PointerJump(x, _) => vec![x],
            Self::EwiseMult(operands, _) | Self::EwiseAdd(operands, _) => operands.iter().collect(),
            Self::Map3(operands, _) => operands.iter().collect(),
            Self::Product(product) => vec![&product.operand],
            Self::Masked(x, y, _) | Self::Gather(x, y) => vec![x, y],
        }
    }
}

/// An expression. `vxm.Expression` wraps it.
#[pyclass(frozen, module = "vxm._vxm")]
pub struct Expr(pub Arc<Typed>);

impl Expr {
    fn of(node: Node, kind: Kind, len: usize) -> PyResult<Self> {
        let size = node.operands().iter().fold(1usize, |sum, operand| sum.saturating_add(operand.size));
        if size > MOST_NODES {
            let what = format!("an expression of more than {MOST_NODES} nodes: evaluate a part of it by eval()");
            return Err(Python::attach(|py| Class::Input.error(py, what)));
        }
        let inner = node.operands().iter().map(|operand| operand.products).max().unwrap_or(0);
        let products = inner + usize::from(matches!(node, Node::Product(_)));
        if products > MOST_PRODUCTS {
            let what = format!("more than {MOST_PRODUCTS} products of products: evaluate a part of them by eval()");
            return Err(Python::attach(|py| Class::Input.error(py, what)));
        }
        Ok(Self(Arc::new(Typed { node, kind, len, size, products })))
    }

    /// The expression of a vector.
    pub fn stored(stored: Stored, kind: Kind) -> Self {
        let len = with_stored!(&stored, vector => vector.len());
        Self(Arc::new(Typed { node: Node::Vector(stored), kind, len, size: 1, products: 0 }))
    }

    /// The product with a matrix, which has `len` places.
    fn times(&self, factor: Factor, len: usize, transposed: bool, add: &Monoid, mul: &Program) -> PyResult<Self> {
        let (operand, add, kind, mul) = (self.0.clone(), *add, mul.result, mul.code);
        Self::of(Node::Product(Product { operand, factor, transposed, add, mul }), kind, len)
    }

    /// The vector, if the expression is one, and lies where this process can read it.
    pub fn readable(&self, py: Python<'_>) -> PyResult<&Stored> {
        let stored = self.vector()?;
        usable(py, with_stored!(stored, vector => vector.device()))?;
        Ok(stored)
    }

    /// The vector, if the expression is one.
    pub fn vector(&self) -> PyResult<&Stored> {
        match &self.0.node {
            Node::Vector(stored) => Ok(stored),
            _ => Err(PyTypeError::new_err("expected a vector, found an expression: evaluate it by eval()")),
        }
    }
}

/// A vector of `len` places: `words[k]` at `indices[k]`, or at each place in order.
fn vector<T: Element + numpy::Element>(
    py: Python<'_>,
    len: usize,
    indices: Option<PyReadonlyArray1<'_, u32>>,
    words: &PyReadonlyArray1<'_, T>,
) -> PyResult<Arc<Vector<T>>> {
    let words = words.as_slice()?;
    let indices = indices.as_ref().map(|indices| indices.as_slice()).transpose()?;
    let made =
        memory::require(size_of_val(words) as u128, || format!("a vector of {len} places")).and_then(
            |()| match indices {
                None => Ok(Vector::from_dense(words.to_vec())),
                Some(indices) => Vector::from_pairs(len, indices.iter().copied().zip(words.iter().copied())),
            },
        );
    made.map(Arc::new).map_err(|error| raise(py, &error))
}

#[pymethods]
impl Expr {
    /// A vector of words of `u32`: `words[k]` at `indices[k]`, or at each place in order.
    #[staticmethod]
    fn narrow(
        py: Python<'_>,
        kind: &str,
        len: usize,
        indices: Option<PyReadonlyArray1<'_, u32>>,
        words: PyReadonlyArray1<'_, u32>,
    ) -> PyResult<Self> {
        Ok(Self::stored(Stored::Narrow(vector(py, len, indices, &words)?), Kind::named(kind)?))
    }

    /// A vector of words of `u64`.
    #[staticmethod]
    fn wide(
        py: Python<'_>,
        kind: &str,
        len: usize,
        indices: Option<PyReadonlyArray1<'_, u32>>,
        words: PyReadonlyArray1<'_, u64>,
    ) -> PyResult<Self> {
        Ok(Self::stored(Stored::Wide(vector(py, len, indices, &words)?), Kind::named(kind)?))
    }

    /// A set.
    #[staticmethod]
    fn set(py: Python<'_>, len: usize, members: PyReadonlyArray1<'_, u32>) -> PyResult<Self> {
        let set = Vector::from_indices(len, members.as_slice()?.iter().copied()).map_err(|error| raise(py, &error))?;
        Ok(Self::stored(Stored::Set(Arc::new(set)), Kind::UNIT))
    }

    /// One value at each of `len` places.
    #[staticmethod]
    fn fill(kind: &str, len: usize, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        let kind = Kind::named(kind)?;
        Self::of(Node::Fill(programs::bits(kind, value)?), kind, len)
    }

    /// The state of the loop with this number.
    #[staticmethod]
    fn state(number: u64, kind: &str, len: usize) -> PyResult<Self> {
        Self::of(Node::State(number), Kind::named(kind)?, len)
    }

    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind.name()
    }

    fn __len__(&self) -> usize {
        self.0.len
    }

    #[getter]
    fn is_vector(&self) -> bool {
        matches!(self.0.node, Node::Vector(_))
    }

    fn map(&self, op: &Program) -> PyResult<Self> {
        Self::of(Node::Map(self.0.clone(), op.code), op.result, self.0.len)
    }

    fn map_index(&self, op: &Program) -> PyResult<Self> {
        Self::of(Node::MapIndex(self.0.clone(), op.code), op.result, self.0.len)
    }

    fn select(&self, op: &Program) -> PyResult<Self> {
        Self::of(Node::Select(self.0.clone(), op.code), self.0.kind, self.0.len)
    }

    fn select_index(&self, op: &Program) -> PyResult<Self> {
        Self::of(Node::SelectIndex(self.0.clone(), op.code), self.0.kind, self.0.len)
    }

    fn or_(&self, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        let bits = programs::bits(self.0.kind, value)?;
        Self::of(Node::Or(self.0.clone(), bits), self.0.kind, self.0.len)
    }

    /// The identity of the product's monoid where there is no element.
    fn or_identity(&self) -> PyResult<Self> {
        let Node::Product(product) = &self.0.node else {
            return Err(PyTypeError::new_err("or_identity: expected a product: say the value by or_(value)"));
        };
        Self::of(Node::Or(self.0.clone(), product.add.identity), self.0.kind, self.0.len)
    }

    fn pattern(&self) -> PyResult<Self> {
        Self::of(Node::Pattern(self.0.clone()), Kind::UNIT, self.0.len)
    }

    fn ewise_mult(&self, other: &Expr, op: &Program) -> PyResult<Self> {
        Self::of(Node::EwiseMult([self.0.clone(), other.0.clone()], op.code), op.result, self.0.len)
    }

    fn ewise_add(&self, other: &Expr, op: &Program) -> PyResult<Self> {
        Self::of(Node::EwiseAdd([self.0.clone(), other.0.clone()], op.code), self.0.kind, self.0.len)
    }

    fn map3(&self, second: &Expr, third: &Expr, op: &Program) -> PyResult<Self> {
        let operands = [self.0.clone(), second.0.clone(), third.0.clone()];
        Self::of(Node::Map3(operands, op.code), op.result, self.0.len)
    }

    fn mask(&self, mask: &Expr, complement: bool) -> PyResult<Self> {
        Self::of(Node::Masked(self.0.clone(), mask.0.clone(), complement), self.0.kind, self.0.len)
    }

    fn gather(&self, index: &Expr) -> PyResult<Self> {
        Self::of(Node::Gather(self.0.clone(), index.0.clone()), self.0.kind, index.0.len)
    }

    fn pointer_jump(&self, op: &Program) -> PyResult<Self> {
        Self::of(Node::PointerJump(self.0.clone(), op.code), self.0.kind, self.0.len)
    }

    /// `self (add.mul) A` for the matrix `A` of a graph, or for its transpose.
    fn product(
        &self,
        graph: Py<Graph>,
        weighted: bool,
        transposed: bool,
        add: &Monoid,
        mul: &Program,
    ) -> PyResult<Self> {
        self.times(Factor::Graph(graph, weighted), self.0.len, transposed, add, mul)
    }

    /// `self (add.mul) A` for a matrix `A`, or for its transpose.
    fn matrix_product(&self, matrix: &PyMatrix, transposed: bool, add: &Monoid, mul: &Program) -> PyResult<Self> {
        let (m, n) = matrix.held.shape();
        self.times(Factor::Matrix(matrix.held.clone()), if transposed { m } else { n }, transposed, add, mul)
    }

    /// The number of elements of a vector.
    #[getter]
    fn nvals(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(with_stored!(self.readable(py)?, vector => vector.nvals()))
    }

    /// The device that a vector lies on.
    #[getter]
    fn device(&self) -> PyResult<String> {
        Ok(with_stored!(self.vector()?, vector => vector.device().to_string()))
    }

    /// The digest of a vector. All NaNs count as one value.
    #[getter]
    fn digest(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(with_stored!(self.readable(py)?, vector => vector.digest()))
    }

    /// The indices of a vector's elements, ascending.
    fn indices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        Ok(with_stored!(self.readable(py)?, vector => vector.indices().collect::<Vec<u32>>()).into_pyarray(py))
    }

    /// The words of a vector's elements, in the order of their indices; zeros for a set.
    fn words<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self.readable(py)? {
            Stored::Set(set) => vec![0u32; set.nvals()].into_pyarray(py).into_any(),
            Stored::Narrow(vector) if vector.nvals() == vector.len() => vector.to_dense(0).into_pyarray(py).into_any(),
            Stored::Wide(vector) if vector.nvals() == vector.len() => vector.to_dense(0).into_pyarray(py).into_any(),
            Stored::Narrow(vector) => vector.iter().map(|(_, x)| x).collect::<Vec<_>>().into_pyarray(py).into_any(),
            Stored::Wide(vector) => vector.iter().map(|(_, x)| x).collect::<Vec<_>>().into_pyarray(py).into_any(),
        })
    }

    /// The element at an index, as a Python object; `None` if there is none.
    fn get(&self, py: Python<'_>, index: u32) -> PyResult<Py<PyAny>> {
        if index as usize >= self.0.len {
            let what = format!("index {index} lies outside a vector of {}", self.0.len);
            return Err(Class::Input.error(py, what));
        }
        let found = match self.readable(py)? {
            Stored::Set(set) => return Ok(set.contains(index).into_pyobject(py)?.to_owned().into_any().unbind()),
            Stored::Narrow(vector) => vector.get(index).map(u64::from),
            Stored::Wide(vector) => vector.get(index),
        };
        found.map_or(Ok(py.None()), |bits| programs::value(py, self.0.kind, bits))
    }
}
