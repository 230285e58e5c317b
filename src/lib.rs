//! vxm
pub use vxm_semiring as semiring;

pub mod certify;
pub mod error;
pub mod formats;
pub mod io;
