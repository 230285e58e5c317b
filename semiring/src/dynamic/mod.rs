//! Operators that are made at run time, for programs that learn theirs from a user: a language binding, a query, a file.
//!
//! A [`Program`] is straight-line code over the operations of [`lowered`](crate::lowered). So it has the same bits on every device, and it
//! has a text in CUDA C++, like an operator of `#[op]`. On a CPU it is interpreted: a call through a pointer for each operation. With the
//! feature `jit` it becomes machine code where that pays: see [`jit`].
//! [`DynUnary`], [`DynBinary`], [`DynTernary`] and [`DynMonoid`] make operators and monoids of programs.

mod cuda;
mod interpret;
#[cfg(feature = "jit")]
pub mod jit;
#[cfg(not(feature = "jit"))]
#[path = "no_jit.rs"]
pub mod jit;
mod kind;
mod lower;
mod operation;
mod operators;
mod program;
mod text;

pub use kind::Kind;
pub use operators::{DynBinary, DynMonoid, DynTernary, DynUnary};
pub use program::{Builder, MOST_VALUES, Operand, Program, ProgramError};
