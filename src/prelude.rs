//! Everything that an algorithm imports: containers, builders of matrices, verbs, loops, operators and semirings.
//!
//! Types of operators are in [`semiring::operators`](vxm_semiring::operators).

pub use crate::backend::Device;
pub use crate::containers::{Dense, Matrix, Set, Vector};
pub use crate::error::{Error, Result};
pub use crate::formats::{Combine, Coo};
pub use crate::operations::expr::{Expr, StateRef, fill};
pub use crate::operations::index_list::Indices;
pub use crate::operations::loops::{Fixed, fixpoint};
pub use crate::operations::matrix_mask::MatrixMask;
pub use crate::operations::oriented::Oriented;
pub use crate::operations::pivot::pivot;
pub use crate::operations::renumbering::{Renumbering, Reorder};
pub use crate::operations::selection::{ARGMAX, ARGMIN, INDEX_OF, VALUE_OF, WITH_INDEX};
pub use crate::operations::verbs::{Apply, Verbs};
pub use vxm_semiring::operators::{
    ABS, AINV, ANY, AtMost, BAND, BNOT, BOR, BXNOR, BXOR, COLINDEX, DIAG, DIV, EQ, FIRST, GE, GT, IDENTITY, LAND, LE,
    LNOT, LOR, LT, LXNOR, LXOR, MAX, MIN, MINUS, MINV, NE, OFFDIAG, ONE, PAIR, PLUS, Pair, Plus, RDIV, RMINUS,
    ROWINDEX, SECOND, SQRT, TIMES, TRIL, TRIU,
};
pub use vxm_semiring::semirings::*;
pub use vxm_semiring::{
    BinaryOp, Bind, Edge, EdgeStatus, Element, IndexOp, Monoid, Ring, Scalar, Semiring, TernaryOp, UnaryOp, laws,
    lowered, op, scalar, semiring,
};
