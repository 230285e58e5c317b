//! Arrangements of a device matrix that make products faster: rows classified by length (`row_classes`), columns renumbered by frequency
//! (`hot_columns`), and entries in bins ([`propagation_blocking`]).

pub(crate) mod arrays;
mod classify;
mod hot_columns;
pub mod propagation_blocking;
pub(crate) mod row_classes;
