//! The algebraic traits: operators, monoids and semirings.

use crate::dynamic::Program;
use crate::laws::Law;
use crate::{Element, Source};

/// `f(a)`: what `map` applies to every element.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a unary operator on `{A}`",
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
    message = "`{Self}` is not a binary operator on `{A}` and `{B}`",
    note = "`#[op]` makes an operator of a function; a built-in one takes operands of one type"
)]
pub trait BinaryOp<A: Element, B: Element>: Source {
    /// The result's type.
    type Out: Element;
    /// The result, if it is the same for all operands, as for `pair`. A product with such an operator only needs to count.
    const CONSTANT: Option<Self::Out> = None;
    /// The first operand that no second one changes: `f(z, b)` is `z` for every `b`. `None` if there is none, or if it isn't known.
    /// Where a union's left side holds it, the engine need not compute the right side.
    const ABSORBING: Option<Self::Out> = None;
    /// Whether [`as_program`](Self::as_program) returns a program.
    const IS_PROGRAM: bool = false;
    /// Applies the operator.
    fn call(self, a: A, b: B) -> Self::Out;
    /// The program that the operator runs, if it was made at run time: [`jit`](crate::dynamic::jit) compiles it.
    #[inline(always)]
    fn as_program(self) -> Option<Program> {
        None
    }
}

/// `f(a, b, c)`: elementwise over three operands.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a ternary operator on `{A}`, `{B}` and `{C}`",
    note = "`#[op]` makes an operator of a function; a built-in one takes operands of one type"
)]
pub trait TernaryOp<A: Element, B: Element, C: Element>: Source {
    /// The result's type.
    type Out: Element;
    /// Applies the operator.
    fn call(self, a: A, b: B, c: C) -> Self::Out;
}

/// `f(row, column, a)`: what `map_index` and `select_index` apply to an entry of a matrix. For a vector they take a
/// `BinaryOp<u32, A>`, which is called with the index and the element.
pub trait IndexOp<A: Element>: TernaryOp<u32, u32, A> {}
impl<A: Element, F: TernaryOp<u32, u32, A>> IndexOp<A> for F {}

/// An associative operator with an identity, which folds the products of a row into one element. For an `#[op]` named `longest`:
/// `impl Monoid<u32> for longest { const IDENTITY: u32 = 0; }`.
///
/// The engine folds the products that are present in ascending order of index. If the monoid is [`EXACT`](Self::EXACT), the engine may
/// regroup them and stop at a terminal value. If not, as for sums of floats, it folds over a fixed tree, the same on every path.
pub trait Monoid<T: Element>: BinaryOp<T, T, Out = T> {
    /// The identity: `f(IDENTITY, x) == x == f(x, IDENTITY)`.
    const IDENTITY: T;
    /// The terminal value, which no further operand changes; `None` if there is none.
    const TERMINAL: Option<T> = None;
    /// Whether the operator is associative in machine arithmetic, bit for bit.
    const EXACT: bool = true;
    /// Whether `f(a, b)` is `f(b, a)`, bit for bit. [`laws`](crate::laws) checks the claim. It lets a device fold an exact monoid in any
    /// order, which is faster, and push its products. A loop's `scatter_reduce` requires it.
    const COMMUTATIVE: bool = false;
    /// The laws that do not hold for this type, except associativity, which [`EXACT`](Self::EXACT) covers. [`laws`](crate::laws)
    /// checks that each of them fails.
    const EXCEPTIONS: &'static [Law] = &[];

    /// The identity of this value of the type. By default [`IDENTITY`](Self::IDENTITY); an operator made at run time has its own.
    #[inline(always)]
    fn identity(self) -> T {
        Self::IDENTITY
    }

    /// The terminal value. By default [`TERMINAL`](Self::TERMINAL).
    #[inline(always)]
    fn terminal(self) -> Option<T> {
        Self::TERMINAL
    }

    /// Whether it is commutative. By default [`COMMUTATIVE`](Self::COMMUTATIVE).
    #[inline(always)]
    fn is_commutative(self) -> bool {
        Self::COMMUTATIVE
    }

    /// The laws that do not hold. By default [`EXCEPTIONS`](Self::EXCEPTIONS).
    fn exceptions(self) -> &'static [Law] {
        Self::EXCEPTIONS
    }

    /// Whether `value` is terminal. By default, whether it equals [`terminal`](Self::terminal).
    #[inline(always)]
    fn is_terminal(self, value: T) -> bool {
        self.terminal() == Some(value)
    }

    /// `times` copies of `value` folded into one, for `times >= 1`. Counting products need it. The default takes a logarithmic number of
    /// calls, by doubling.
    fn repeat(self, value: T, times: u64) -> T {
        doubled(value, times, |a, b| self.call(a, b))
    }
}

/// `times` copies of `value` folded into one by doubling, which takes a number of calls that is logarithmic in `times`.
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

/// A monoid that adds and an operator that multiplies. `X` is the type of the vector's elements, `A` that of the matrix's entries.
pub trait Semiring<X: Element, A: Element>: Copy + Send + Sync + 'static {
    /// The type of the result's elements.
    type Out: Element;
    /// The monoid that folds the products of a row.
    type Add: Monoid<Self::Out>;
    /// The operator that multiplies a vector's element and a matrix's entry.
    type Mul: BinaryOp<X, A, Out = Self::Out>;
    /// The monoid, as a value.
    fn add(self) -> Self::Add;
    /// The multiplication, as a value.
    fn mul(self) -> Self::Mul;
}

/// A semiring as a pair of values. [`semiring`] returns one, and the built-in semirings are of this type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ring<M, O> {
    /// The monoid.
    pub add: M,
    /// The multiplication.
    pub mul: O,
}

/// Makes a semiring of a monoid and a multiplication.
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
