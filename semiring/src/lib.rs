#![doc = include_str!("../README.md")]
//!
//! # How it is built
//!
//! An operator is a unit struct that is callable in Rust and provides its CUDA C++ text ([`Source`]). The attribute macro `#[op]`
//! makes one from a plain function. A [`Monoid`] adds an identity and, where one exists, a terminal value. A [`Semiring`] pairs a
//! monoid with a multiplication. This crate has no vectors, matrices or devices.

// code that `#[op]` generates refers to this crate by name, also when the macro is used inside this crate
extern crate self as vxm_semiring;

mod bound;
pub mod dynamic;
mod edge;
mod element;
pub mod elementary;
mod fields;
pub mod laws;
pub mod lowered;
mod monoids;
pub mod operators;
pub mod semirings;
mod source;
mod traits;

pub use bound::{Bind, Bound, BoundFirst};
pub use edge::{Edge, EdgeStatus};
pub use element::{Element, Scalar, Word};
pub use fields::{Field, Fields};
pub use operators::*;
pub use semirings::*;
pub use source::{KernelText, Made, Source};
pub use traits::{BinaryOp, IndexOp, Monoid, Ring, Semiring, TernaryOp, UnaryOp, semiring};
pub use vxm_semiring_derive::{op, scalar};
