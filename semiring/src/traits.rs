//! The ladder of algebra, each step because the engine needs it.

use crate::laws::Law;
use crate::{Element, Source};

/// `f(a)`: what `map` applies to every element.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no unary operator on `{A}`",
    note = "`#[op]` makes an operator of a function; a built-in one takes operands of one type"
)]
pub trait UnaryOp<A: Element>: Source {
    /// The result's type.
    type Out: Element;
    /// Applies the operator.
    fn call(self, a: A) -> Self::Out;
}

/// `f(a, b)`: elementwise combination, and the multiplication of a semiring.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no binary operator on `{A}` and `{B}`",
    note = "`#[op]` makes an operator of a function; a built-in one takes operands of one type"
)]
pub trait BinaryOp<A: Element, B: Element>: Source {
    /// The result's type.
    type Out: Element;
    /// The result where it is the same for all operands (`pair`): such products need only count.
    const CONSTANT: Option<Self::Out> = None;
    /// Applies the operator.
    fn call(self, a: A, b: B) -> Self::Out;
}

/// `f(a, b, c)`: elementwise over three operands.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no ternary operator on `{A}`, `{B}` and `{C}`",
    note = "`#[op]` makes an operator of a function; a built-in one takes operands of one type"
)]
pub trait TernaryOp<A: Element, B: Element, C: Element>: Source {
    /// The result's type.
    type Out: Element;
    /// Applies the operator.
    fn call(self, a: A, b: B, c: C) -> Self::Out;
}

/// `f(row, column, a)`: what `map_index` and `select_index` apply to a matrix's entry (for a vector it is a
/// `BinaryOp<u32, A>`, called with the index and the element).
pub trait IndexOp<A: Element>: TernaryOp<u32, u32, A> {}
impl<A: Element, F: TernaryOp<u32, u32, A>> IndexOp<A> for F {}

/// An associative operator with an identity: of an `#[op]`, `impl Monoid<u32> for longest { const IDENTITY: u32 = 0; }`. It folds a row of
/// products into one element.
///
/// The engine folds the present products in ascending order of index. Where [`EXACT`](Self::EXACT) holds it may regroup them and
/// stop at a terminal value; where it does not (float sums), it folds over a fixed tree, the same on every path.
pub trait Monoid<T: Element>: BinaryOp<T, T, Out = T> {
    /// `f(IDENTITY, x) == x == f(x, IDENTITY)`.
    const IDENTITY: T;
    /// A value that no further operand changes; `None` where there is none.
    const TERMINAL: Option<T> = None;
    /// Whether the operator is associative in machine arithmetic, bit for bit.
    const EXACT: bool = true;
    /// Whether `f(a, b)` is `f(b, a)`, bit for bit: then a device may also fold an exact monoid out of order, which is faster, and push it;
    /// a loop's `hooking` asks for it.
    /// [`laws`](crate::laws) holds it to that.
    const COMMUTATIVE: bool = false;
    /// The laws that do not hold for this type beside associativity, which [`EXACT`](Self::EXACT) speaks of: written down here,
    /// and verified to fail by [`laws`](crate::laws).
    const EXCEPTIONS: &'static [Law] = &[];

    /// Whether `value` is terminal: by default, whether it equals [`TERMINAL`](Self::TERMINAL).
    #[inline(always)]
    fn is_terminal(value: T) -> bool {
        match Self::TERMINAL {
            Some(terminal) => terminal == value,
            None => false,
        }
    }

    /// `value` folded `times` times, `times >= 1`: what counting products need. Defaults to repeated calls by doubling.
    fn repeat(self, value: T, times: u64) -> T {
        doubled(value, times, |a, b| self.call(a, b))
    }
}

/// `value` folded `times` times: powers by doubling, so that a hub's count costs its logarithm.
pub(crate) fn doubled<T: Copy>(value: T, times: u64, call: impl Fn(T, T) -> T) -> T {
    debug_assert!(times >= 1);
    let (mut power, mut left, mut total) = (value, times, None);
    while left > 0 {
        if left & 1 == 1 {
            total = Some(total.map_or(power, |t| call(t, power)));
        }
        left >>= 1;
        if left > 0 {
            power = call(power, power);
        }
    }
    total.unwrap_or(value)
}

/// A monoid that folds and an operator that multiplies: `X` is the vector's element, `A` the matrix's entry.
pub trait Semiring<X: Element, A: Element>: Copy + Send + Sync + 'static {
    /// The product's element.
    type Out: Element;
    /// What folds the products of a row.
    type Add: Monoid<Self::Out>;
    /// What multiplies vector element and matrix entry.
    type Mul: BinaryOp<X, A, Out = Self::Out>;
    /// The folding monoid's value.
    fn add(self) -> Self::Add;
    /// The multiplication's value.
    fn mul(self) -> Self::Mul;
}

/// A monoid and a multiplication as one value: what [`semiring`] returns, and what the built-in semirings are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ring<M, O> {
    /// What folds.
    pub add: M,
    /// What multiplies.
    pub mul: O,
}

/// Pairs a monoid with a multiplication.
pub const fn semiring<M: Copy, O: Copy>(add: M, mul: O) -> Ring<M, O> {
    Ring { add, mul }
}

impl<X: Element, A: Element, M, O> Semiring<X, A> for Ring<M, O>
where
    O: BinaryOp<X, A>,
    M: Monoid<O::Out>,
{
    type Out = O::Out;
    type Add = M;
    type Mul = O;
    #[inline(always)]
    fn add(self) -> M {
        self.add
    }
    #[inline(always)]
    fn mul(self) -> O {
        self.mul
    }
}
