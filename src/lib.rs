//! vxm
pub use vxm_semiring as semiring;

pub mod error;
pub mod formats;
