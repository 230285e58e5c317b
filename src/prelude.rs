//! What an algorithm imports: containers and what they are made of, verbs, operators.

pub use crate::backend::Device;
pub use crate::containers::{Dense, Matrix, Set, Vector};
pub use crate::error::{Error, Result};
pub use crate::formats::{Combine, Coo};
pub use crate::operations::expr::{Expr, Key, fill};
pub use crate::operations::fixpoint::{Fixed, fixpoint};
pub use crate::operations::verbs::{Apply, Verbs};
pub use vxm_semiring::*;
