//! Scalars, operators, monoids and semirings: the algebra of `vxm`, written once for the CPU and the GPU.
//!
//! An operator is a unit struct that is callable in Rust and knows its CUDA C++ text ([`Source`]); `#[op]` makes one from a
//! plain function. A [`Monoid`] adds an identity and, where it has one, a terminal value; a [`Semiring`] pairs a monoid with a
//! multiplication. Nothing here knows of vectors, matrices or devices.

mod element;
mod source;
mod traits;

pub use element::{Element, Scalar};
pub use source::{KernelText, Source};
pub use traits::{BinaryOp, IndexOp, Monoid, Ring, Semiring, TernaryOp, UnaryOp, semiring};
