//! Operators and monoids that run programs.

use core::any::TypeId;
use core::fmt;
use core::marker::PhantomData;

use super::cuda::{Held, define};
use super::kind::Kind;
use super::program::{Program, ProgramError};
use crate::laws::Law;
use crate::{BinaryOp, Element, KernelText, Monoid, Source, TernaryOp, UnaryOp};

/// Whether elements hold values of a kind.
type Fits = fn(Kind) -> bool;

/// Fails unless the program takes and returns what these types hold.
fn check(program: Program, types: &[(&str, Fits)], (result, fits): (&str, Fits)) -> Result<(), ProgramError> {
    let kinds = program.parameters();
    let taken = kinds.len() == types.len() && kinds.iter().zip(types).all(|(kind, (_, fits))| fits(*kind));
    if taken && fits(program.result()) {
        return Ok(());
    }
    let types: Vec<_> = types.iter().map(|(name, _)| *name).collect();
    Err(ProgramError::new(format!("expected an operator ({}) -> {result}, found {program:?}", types.join(", "))))
}

macro_rules! operators {
    ($($(#[$doc:meta])* $name:ident($($t:ident $arg:ident),*) $trait:ident { $($more:tt)* })*) => {$(
        $(#[$doc])*
        pub struct $name<$($t,)* O> {
            program: Program,
            of: PhantomData<fn($($t),*) -> O>,
        }

        impl<$($t,)* O> Clone for $name<$($t,)* O> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<$($t,)* O> Copy for $name<$($t,)* O> {}

        impl<$($t,)* O> PartialEq for $name<$($t,)* O> {
            fn eq(&self, other: &Self) -> bool {
                self.program == other.program
            }
        }

        impl<$($t,)* O> fmt::Debug for $name<$($t,)* O> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.program.fmt(f)
            }
        }

        impl<$($t: Element,)* O: Element> $name<$($t,)* O> {
            /// The operator that runs a program. Its types are the program's, or words that hold their bits: see [`Kind::fits`].
            ///
            /// # Errors
            /// The program takes or returns other types.
            pub fn new(program: Program) -> Result<Self, ProgramError> {
                check(program, &[$(($t::NAME, Kind::fits::<$t>)),*], (O::NAME, Kind::fits::<O>))?;
                Ok(Self { program, of: PhantomData })
            }

            /// The program.
            pub fn program(self) -> Program {
                self.program
            }
        }

        impl<$($t: Element,)* O: Element> Source for $name<$($t,)* O> {
            fn source(self, text: &mut KernelText) -> String {
                let mut kinds = self.program.parameters().iter();
                let parameters = [$(Held::of::<$t>(*kinds.next().expect("checked by new"))),*];
                define(self.program, &parameters, Held::of::<O>(self.program.result()), text)
            }
            fn known_as(self) -> Option<(TypeId, usize)> {
                Some((TypeId::of::<Program>(), self.program.address()))
            }
        }

        impl<$($t: Element,)* O: Element> $trait<$($t),*> for $name<$($t,)* O> {
            type Out = O;
            $($more)*
            #[inline]
            fn call(self, $($arg: $t),*) -> O {
                // missing arguments are 0
                let [a, b, c, ..] = [$($arg.wide_bits() as u64,)* 0, 0];
                O::from_wide_bits(self.program.call_bits([a, b, c]).into())
            }
        }
    )*};
}
operators! {
    /// A [`UnaryOp`] that runs a [`Program`].
    DynUnary(A a) UnaryOp {}
    /// A [`BinaryOp`] that runs a [`Program`].
    DynBinary(A a, B b) BinaryOp {
        const IS_PROGRAM: bool = true;
        #[inline(always)]
        fn as_program(self) -> Option<Program> {
            Some(self.program)
        }
    }
    /// A [`TernaryOp`] that runs a [`Program`].
    DynTernary(A a, B b, C c) TernaryOp {}
}

/// A [`Monoid`] that runs a [`Program`]. `EXACT` is [`Monoid::EXACT`]: whether it is associative, bit for bit.
///
/// ```
/// use vxm_semiring::dynamic::{Builder, DynBinary, DynMonoid, Kind};
/// use vxm_semiring::laws;
///
/// let mut code = Builder::new("longest", &[Kind::U32, Kind::U32])?;
/// let result = code.call("max", &[code.parameter(0)?, code.parameter(1)?])?;
/// let longest = DynMonoid::<u32, true>::new(DynBinary::new(code.finish(result)?)?, 0).commutative().terminal(u32::MAX);
/// laws::check_monoid::<u32, _>(longest).unwrap();
/// let wrong = DynMonoid::<u32, true>::new(longest.op(), 1);
/// assert!(laws::check_monoid::<u32, _>(wrong).unwrap_err().to_string().contains("0 + a == a"));
/// # Ok::<(), vxm_semiring::dynamic::ProgramError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DynMonoid<T, const EXACT: bool> {
    op: DynBinary<T, T, T>,
    identity: T,
    terminal: Option<T>,
    commutative: bool,
    exceptions: &'static [Law],
}

impl<T: Element, const EXACT: bool> DynMonoid<T, EXACT> {
    /// The monoid of an associative operator and its identity.
    pub fn new(op: DynBinary<T, T, T>, identity: T) -> Self {
        Self { op, identity, terminal: None, commutative: false, exceptions: &[] }
    }

    /// The same monoid, with the [terminal value](Monoid::TERMINAL) that no further operand changes.
    pub fn terminal(self, value: T) -> Self {
        Self { terminal: Some(value), ..self }
    }

    /// The same monoid, which is [commutative](Monoid::COMMUTATIVE).
    pub fn commutative(self) -> Self {
        Self { commutative: true, ..self }
    }

    /// The same monoid, which doesn't keep [these laws](Monoid::EXCEPTIONS).
    pub fn except(self, exceptions: &'static [Law]) -> Self {
        Self { exceptions, ..self }
    }

    /// The operator.
    pub fn op(self) -> DynBinary<T, T, T> {
        self.op
    }
}

impl<T: Element, const EXACT: bool> Source for DynMonoid<T, EXACT> {
    fn source(self, text: &mut KernelText) -> String {
        self.op.source(text)
    }
    fn known_as(self) -> Option<(TypeId, usize)> {
        self.op.known_as()
    }
}

impl<T: Element, const EXACT: bool> BinaryOp<T, T> for DynMonoid<T, EXACT> {
    type Out = T;
    const IS_PROGRAM: bool = true;
    #[inline(always)]
    fn as_program(self) -> Option<Program> {
        Some(self.op.program)
    }
    #[inline]
    fn call(self, a: T, b: T) -> T {
        self.op.call(a, b)
    }
}

impl<T: Element, const EXACT: bool> Monoid<T> for DynMonoid<T, EXACT> {
    const EXACT: bool = EXACT;
    /// Nominal: [`identity`](Monoid::identity) gives the monoid's own.
    const IDENTITY: T = T::ZERO;
    fn identity(self) -> T {
        self.identity
    }
    fn terminal(self) -> Option<T> {
        self.terminal
    }
    fn is_commutative(self) -> bool {
        self.commutative
    }
    fn exceptions(self) -> &'static [Law] {
        self.exceptions
    }
}
