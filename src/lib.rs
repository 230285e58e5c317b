//! Graph algorithms as masked vector-matrix products over semirings, at hand-written speed, with the same bits everywhere.

pub mod algorithms;
pub mod backend;
pub mod containers;
pub mod error;
pub mod formats;
pub mod operations;
pub mod prelude;

pub use error::{Error, Result};
pub use vxm_semiring as semiring;
