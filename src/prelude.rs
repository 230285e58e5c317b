//! What an algorithm imports: containers, verbs, operators, and nothing of devices or formats.

pub use crate::backend::Device;
pub use crate::containers::{Dense, Matrix, Set, Vector};
pub use crate::error::{Error, Result};
pub use crate::operations::expr::{Expr, Key, fill};
pub use crate::operations::fixpoint::{Fixed, fixpoint};
pub use crate::operations::verbs::{Apply, Verbs};
pub use vxm_semiring::*;
