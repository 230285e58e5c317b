//! From an expression of Python to one of the engine.

use crate::expressions::{Factor, Node, Product, Stored, Typed};
use crate::graph::Copies;
use crate::matrices::{Entries, Held, with_entries};
use bumpalo::Bump;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use vxm::backend::Device;
use vxm::containers::{Matrix, Vector};
use vxm::operations::dyn_expr::DynExpr;
use vxm::prelude::{Apply, Expr, StateRef, Verbs, fill};
use vxm::semiring::dynamic::{DynBinary, DynTernary, DynUnary, Program, ProgramError};
use vxm::semiring::{Element, semiring};
use vxm::{Error, Result, memory};

/// The vectors and matrices of an expression, on the device where it is evaluated, by the address of their node.
#[derive(Default)]
pub struct Leaves {
    vectors: HashMap<usize, Stored>,
    matrices: HashMap<usize, Entries>,
}

/// The address of a node: its identity while its expression is alive.
fn address(typed: &Typed) -> usize {
    std::ptr::from_ref(typed) as usize
}

impl Stored {
    /// The vector on a device.
    pub fn on(&self, device: Device) -> Result<Self> {
        fn moved<T: Element>(held: &Arc<Vector<T>>, device: Device) -> Result<Arc<Vector<T>>> {
            if held.device() == device { Ok(held.clone()) } else { Ok(Arc::new(held.to(device)?)) }
        }
        Ok(match self {
            Self::Set(set) => Self::Set(moved(set, device)?),
            Self::Narrow(vector) => Self::Narrow(moved(vector, device)?),
            Self::Wide(vector) => Self::Wide(moved(vector, device)?),
        })
    }
}

/// The most bytes that one of the vectors takes which the expression fills: those with an element at each place, or with room for it.
fn filled(typed: &Typed) -> u128 {
    let bytes = |of: &Typed| of.len as u128 * if of.kind.size() == 8 { 8 } else { 4 };
    let own = match &typed.node {
        Node::Fill(_) | Node::Or(..) => bytes(typed),
        Node::Gather(source, _) | Node::PointerJump(source, _) => bytes(source),
        // its result, and row offsets of the matrix that it may have to turn
        Node::Product(Product { factor: Factor::Matrix(held), .. }) => {
            let (m, n) = held.shape();
            16 * m.max(n) as u128
        }
        _ => 0,
    };
    typed.node.operands().into_iter().map(|operand| filled(operand)).fold(own, u128::max)
}

impl Leaves {
    /// Brings what the expression reads to the device, if there is room for the vectors that it fills.
    pub fn bring(&mut self, typed: &Typed, device: Device) -> Result<()> {
        let words = filled(typed);
        if words > 0 && device == Device::Cpu {
            memory::require(words, || format!("an expression of {} places", typed.len))?;
        }
        self.visit(typed, device)
    }

    fn visit(&mut self, typed: &Typed, device: Device) -> Result<()> {
        let key = address(typed);
        match &typed.node {
            Node::Vector(stored) if !self.vectors.contains_key(&key) => {
                self.vectors.insert(key, stored.on(device)?);
            }
            Node::Product(product) if !self.matrices.contains_key(&key) => {
                self.matrices.insert(key, product.factor.on(device)?);
            }
            _ => {}
        }
        typed.node.operands().into_iter().try_for_each(|operand| self.visit(operand, device))
    }
}

impl Factor {
    /// The matrix on a device.
    fn on(&self, device: Device) -> Result<Entries> {
        match self {
            Self::Graph(graph, weighted) => Held::of_graph(graph.get(), *weighted)?.on(device),
            Self::Matrix(held) => held.on(device),
        }
    }
}

/// An operator that doesn't suit its operands. The Python files check that before.
pub fn invalid(error: ProgramError) -> Error {
    Error::invalid(error.to_string())
}

/// An expression of the engine.
#[derive(Clone, Copy)]
pub enum Any<'a> {
    Set(DynExpr<'a, ()>),
    Narrow(DynExpr<'a, u32>),
    Wide(DynExpr<'a, u64>),
}

/// Calls `$use` with an expression of any type.
macro_rules! with_any {
    ($any:expr, $x:ident => $use:expr) => {
        match $any {
            Any::Set($x) => $use,
            Any::Narrow($x) => $use,
            Any::Wide($x) => $use,
        }
    };
}

pub(crate) use with_any;

/// A type of elements.
pub trait Word: Element {
    fn any(expression: DynExpr<'_, Self>) -> Any<'_>;
    fn of(any: Any<'_>) -> Option<DynExpr<'_, Self>>;
    fn stored(vector: Arc<Vector<Self>>) -> Stored;
    fn held(copies: Arc<Copies<Self>>) -> Held;
    fn entries(entries: &Entries) -> Option<&Matrix<Self>>;
}

macro_rules! words {
    ($($t:ty: $vector:ident $matrix:ident),*) => {$(
        impl Word for $t {
            fn any(expression: DynExpr<'_, Self>) -> Any<'_> {
                Any::$vector(expression)
            }
            fn of(any: Any<'_>) -> Option<DynExpr<'_, Self>> {
                match any {
                    Any::$vector(expression) => Some(expression),
                    _ => None,
                }
            }
            fn stored(vector: Arc<Vector<Self>>) -> Stored {
                Stored::$vector(vector)
            }
            fn held(copies: Arc<Copies<Self>>) -> Held {
                Held::$matrix(copies)
            }
            fn entries(entries: &Entries) -> Option<&Matrix<Self>> {
                match entries {
                    Entries::$matrix(matrix) => Some(matrix),
                    _ => None,
                }
            }
        }
    )*};
}
words!((): Set Pattern, u32: Narrow Narrow, u64: Wide Wide);

/// The expression as one of the words `T`.
pub fn expect<T: Word>(any: Any<'_>) -> Result<DynExpr<'_, T>> {
    T::of(any).ok_or_else(|| Error::invalid(format!("expected an expression of elements {}", T::NAME)))
}

/// What the expression reads as the state of a loop: its number, and what stands for it.
pub type State<'a> = Option<(u64, Any<'a>)>;

/// Makes expressions of the engine. Their nodes lie in an arena.
pub struct Trees<'a> {
    arena: &'a Bump,
    leaves: &'a Leaves,
    state: State<'a>,
    /// The expressions so far, by the address of their node.
    made: RefCell<HashMap<usize, Any<'a>>>,
}

impl<'a> Trees<'a> {
    pub fn new(arena: &'a Bump, leaves: &'a Leaves, state: State<'a>) -> Self {
        Self { arena, leaves, state, made: RefCell::default() }
    }

    /// Keeps a node.
    fn keep<E: Expr<T: Word> + 'a>(&self, node: E) -> Any<'a> {
        Word::any(DynExpr::of(&*self.arena.alloc(node)))
    }

    /// The expression of the engine.
    pub fn tree(&self, typed: &'a Typed) -> Result<Any<'a>> {
        if let Some(known) = self.made.borrow().get(&address(typed)) {
            return Ok(*known);
        }
        let made = self.node(typed)?;
        self.made.borrow_mut().insert(address(typed), made);
        Ok(made)
    }

    fn node(&self, typed: &'a Typed) -> Result<Any<'a>> {
        let wide = typed.kind.size() == 8;
        Ok(match &typed.node {
            Node::Vector(_) => match &self.leaves.vectors[&address(typed)] {
                Stored::Set(set) => self.keep(&**set),
                Stored::Narrow(vector) => self.keep(&**vector),
                Stored::Wide(vector) => self.keep(&**vector),
            },
            Node::State(number) => match self.state {
                Some((own, state)) if own == *number => state,
                _ => {
                    return Err(Error::invalid(
                        "a loop's state is evaluated, or used outside of the loop: a body only builds expressions of it",
                    ));
                }
            },
            Node::Fill(bits) if wide => self.keep(fill(*bits, typed.len)),
            Node::Fill(bits) => self.keep(fill(*bits as u32, typed.len)),
            Node::Map(x, op) => with_any!(self.tree(x)?, x => self.map(x, *op, wide)?),
            Node::MapIndex(x, op) => with_any!(self.tree(x)?, x => self.map_index(x, *op, wide)?),
            Node::Select(x, op) => match self.tree(x)? {
                Any::Set(_) => return Err(Error::invalid("select: the elements of a set have no value")),
                Any::Narrow(x) => self.keep(x.select(DynUnary::<u32, bool>::new(*op).map_err(invalid)?)),
                Any::Wide(x) => self.keep(x.select(DynUnary::<u64, bool>::new(*op).map_err(invalid)?)),
            },
            Node::SelectIndex(x, op) => with_any!(self.tree(x)?, x => self.select_index(x, *op)?),
            Node::Or(x, bits) => match self.tree(x)? {
                Any::Set(x) => self.keep(x.or(())),
                Any::Narrow(x) => self.keep(x.or(*bits as u32)),
                Any::Wide(x) => self.keep(x.or(*bits)),
            },
            Node::Pattern(x) => with_any!(self.tree(x)?, x => self.keep(x.pattern())),
            Node::EwiseMult([x, y], op) => self.ewise_mult(self.tree(x)?, self.tree(y)?, *op, wide)?,
            Node::EwiseAdd([x, y], op) => match (self.tree(x)?, self.tree(y)?) {
                (Any::Set(x), Any::Set(y)) => self.keep(x.ewise_add(y, vxm::semiring::ANY)),
                (Any::Narrow(x), Any::Narrow(y)) => {
                    self.keep(x.ewise_add(y, DynBinary::<u32, u32, u32>::new(*op).map_err(invalid)?))
                }
                (Any::Wide(x), Any::Wide(y)) => {
                    self.keep(x.ewise_add(y, DynBinary::<u64, u64, u64>::new(*op).map_err(invalid)?))
                }
                _ => return Err(Error::invalid("ewise_add: expected operands of one type")),
            },
            Node::Map3([x, y, z], op) => self.map3([self.tree(x)?, self.tree(y)?, self.tree(z)?], *op, wide)?,
            Node::Product(product) => {
                let entries = &self.leaves.matrices[&address(typed)];
                match self.tree(&product.operand)? {
                    Any::Set(_) => {
                        return Err(Error::invalid("a product's operand is a set: its elements have no value"));
                    }
                    Any::Narrow(x) => self.product(x, product, entries)?,
                    Any::Wide(x) => self.product(x, product, entries)?,
                }
            }
            Node::Masked(x, mask, complement) => {
                let mask = expect::<()>(self.tree(mask)?)?;
                with_any!(self.tree(x)?, x => self.masked(x, mask, *complement))
            }
            Node::Gather(x, index) => {
                let index = expect::<u32>(self.tree(index)?)?;
                with_any!(self.tree(x)?, x => self.keep(x.gather(index)))
            }
            Node::PointerJump(x, op) => {
                let (x, op) = (expect::<u32>(self.tree(x)?)?, DynUnary::<u32, u32>::new(*op).map_err(invalid)?);
                self.keep(x.pointer_jump(op))
            }
        })
    }

    fn map<X: Element>(&self, x: DynExpr<'a, X>, op: Program, wide: bool) -> Result<Any<'a>> {
        Ok(match wide {
            true => self.keep(x.map(DynUnary::<X, u64>::new(op).map_err(invalid)?)),
            false => self.keep(x.map(DynUnary::<X, u32>::new(op).map_err(invalid)?)),
        })
    }

    fn map_index<X: Element>(&self, x: DynExpr<'a, X>, op: Program, wide: bool) -> Result<Any<'a>> {
        Ok(match wide {
            true => self.keep(x.map_index(DynBinary::<u32, X, u64>::new(op).map_err(invalid)?)),
            false => self.keep(x.map_index(DynBinary::<u32, X, u32>::new(op).map_err(invalid)?)),
        })
    }

    fn select_index<X: Word>(&self, x: DynExpr<'a, X>, op: Program) -> Result<Any<'a>> {
        Ok(self.keep(x.select_index(DynBinary::<u32, X, bool>::new(op).map_err(invalid)?)))
    }

    fn masked<X: Word>(&self, x: DynExpr<'a, X>, mask: DynExpr<'a, ()>, complement: bool) -> Any<'a> {
        if complement { self.keep(x.mask(!mask)) } else { self.keep(x.mask(mask)) }
    }

    fn ewise_mult(&self, x: Any<'a>, y: Any<'a>, op: Program, wide: bool) -> Result<Any<'a>> {
        with_any!(x, x => with_any!(y, y => self.intersection(x, y, op, wide)))
    }

    fn intersection<X: Element, Y: Element>(
        &self,
        x: DynExpr<'a, X>,
        y: DynExpr<'a, Y>,
        op: Program,
        wide: bool,
    ) -> Result<Any<'a>> {
        Ok(match wide {
            true => self.keep(x.ewise_mult(y, DynBinary::<X, Y, u64>::new(op).map_err(invalid)?)),
            false => self.keep(x.ewise_mult(y, DynBinary::<X, Y, u32>::new(op).map_err(invalid)?)),
        })
    }

    fn map3(&self, operands: [Any<'a>; 3], op: Program, wide: bool) -> Result<Any<'a>> {
        macro_rules! of_words {
            ($x:ident, $y:ident, $z:ident) => {{
                fn typed<'a, X: Element, Y: Element, Z: Element>(
                    trees: &Trees<'a>,
                    (x, y, z): (DynExpr<'a, X>, DynExpr<'a, Y>, DynExpr<'a, Z>),
                    op: Program,
                    wide: bool,
                ) -> Result<Any<'a>> {
                    Ok(match wide {
                        true => trees.keep(DynTernary::<X, Y, Z, u64>::new(op).map_err(invalid)?.map3(x, y, z)),
                        false => trees.keep(DynTernary::<X, Y, Z, u32>::new(op).map_err(invalid)?.map3(x, y, z)),
                    })
                }
                typed(self, ($x, $y, $z), op, wide)
            }};
        }
        match operands {
            [Any::Narrow(x), Any::Narrow(y), Any::Narrow(z)] => of_words!(x, y, z),
            [Any::Narrow(x), Any::Narrow(y), Any::Wide(z)] => of_words!(x, y, z),
            [Any::Narrow(x), Any::Wide(y), Any::Narrow(z)] => of_words!(x, y, z),
            [Any::Narrow(x), Any::Wide(y), Any::Wide(z)] => of_words!(x, y, z),
            [Any::Wide(x), Any::Narrow(y), Any::Narrow(z)] => of_words!(x, y, z),
            [Any::Wide(x), Any::Narrow(y), Any::Wide(z)] => of_words!(x, y, z),
            [Any::Wide(x), Any::Wide(y), Any::Narrow(z)] => of_words!(x, y, z),
            [Any::Wide(x), Any::Wide(y), Any::Wide(z)] => of_words!(x, y, z),
            _ => Err(Error::invalid("map3: the elements of a set have no value")),
        }
    }

    fn product<X: Word>(&self, x: DynExpr<'a, X>, product: &'a Product, entries: &'a Entries) -> Result<Any<'a>> {
        with_entries!(entries, a => self.product_over(x, product, a))
    }

    fn product_over<X: Word, A: Element>(
        &self,
        x: DynExpr<'a, X>,
        product: &'a Product,
        a: &'a Matrix<A>,
    ) -> Result<Any<'a>> {
        match (product.add.kind().size() == 8, product.add.exact) {
            (false, false) => self.product_of::<X, A, u32, false>(x, product, a),
            (false, true) => self.product_of::<X, A, u32, true>(x, product, a),
            (true, false) => self.product_of::<X, A, u64, false>(x, product, a),
            (true, true) => self.product_of::<X, A, u64, true>(x, product, a),
        }
    }

    fn product_of<X: Word, A: Element, O: Word, const EXACT: bool>(
        &self,
        x: DynExpr<'a, X>,
        product: &'a Product,
        a: &'a Matrix<A>,
    ) -> Result<Any<'a>> {
        let add = product.add.of::<O, EXACT>().map_err(invalid)?;
        let mul = DynBinary::<X, A, O>::new(product.mul).map_err(invalid)?;
        let made = x.vxm(a, semiring(add, mul));
        Ok(self.keep(if product.transposed { made.transposed() } else { made }))
    }

    /// What stands for the state of a loop.
    pub fn state_of<T: Word>(arena: &'a Bump, state: StateRef<T>) -> Any<'a> {
        Word::any(DynExpr::of(&*arena.alloc(state)))
    }
}
