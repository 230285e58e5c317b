#![doc = include_str!("../README.md")]
//!
//! # How it is built
//!
//! An operator is a unit struct that is callable in Rust and knows its CUDA C++ text ([`Source`]); `#[op]` makes one from a
//! plain function. A [`Monoid`] adds an identity and, where it has one, a terminal value; a [`Semiring`] pairs a monoid with a
//! multiplication. Nothing here knows of vectors, matrices or devices.

// `#[op]` names this crate by its name, from inside too
extern crate self as vxm_semiring;

mod bound;
mod element;
pub mod laws;
pub mod lowered;
mod monoids;
pub mod operators;
pub mod semirings;
mod source;
mod traits;

pub use bound::{Bind, Bound, BoundFirst};
pub use element::{Element, Scalar};
pub use operators::*;
pub use semirings::*;
pub use source::{KernelText, Made, Source};
pub use traits::{BinaryOp, IndexOp, Monoid, Ring, Semiring, TernaryOp, UnaryOp, semiring};
pub use vxm_semiring_derive::op;
