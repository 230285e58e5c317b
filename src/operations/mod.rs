//! The verbs and the expression tree that they build. See [`Verbs`](verbs::Verbs).

mod assembly;
mod differ;
pub mod dyn_expr;
#[doc(hidden)]
pub mod elementwise;
mod ends;
pub(crate) mod entry_filter;
pub mod ewise_add;
pub mod expr;
#[doc(hidden)]
pub mod gather;
pub mod index_list;
pub mod loops;
pub mod mask;
pub mod matrix_mask;
mod matrix_of_vectors;
mod matrix_verbs;
pub mod matrix_write;
pub mod mode;
pub mod mxm;
pub mod oriented;
pub mod pivot;
pub mod product;
pub(crate) mod ranks;
#[doc(hidden)]
pub mod region;
pub mod renumbering;
pub mod selection;
pub mod sort;
pub mod terminal;
pub mod verbs;
