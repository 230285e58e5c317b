//! The verbs, and the expression tree they build. See [`Verbs`](verbs::Verbs).

pub mod active;
pub mod changed;
pub mod elementwise;
pub mod expr;
pub mod fixpoint;
pub mod folded;
pub mod gather;
pub mod hooking;
pub mod limit;
pub mod mask;
pub mod matrix;
pub mod product;
pub mod reads;
pub mod region;
pub mod sort;
pub mod terminal;
pub mod union;
pub mod verbs;
