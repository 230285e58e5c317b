//! Code generation: the [`builder`] that an expression emits itself into, and the `program_key` by which compiled programs are found.

pub mod builder;
pub(crate) mod monoid;
mod operands;
mod products;
mod program;
pub(crate) mod program_key;
