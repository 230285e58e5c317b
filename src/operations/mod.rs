//! The verbs and the expression tree that they build. See [`Verbs`](verbs::Verbs).

pub mod assembly;
pub mod dyn_expr;
pub mod elementwise;
pub mod ends;
pub(crate) mod entry_filter;
pub mod ewise_add;
pub mod expr;
pub mod gather;
pub mod index_list;
pub mod loops;
pub mod mask;
pub mod matrix_mask;
mod matrix_of_vectors;
pub mod matrix_verbs;
pub mod matrix_write;
pub mod mode;
pub mod mxm;
pub mod oriented;
pub mod pivot;
pub mod product;
pub(crate) mod ranks;
pub mod region;
pub mod selection;
pub mod sort;
pub mod terminal;
pub mod verbs;
