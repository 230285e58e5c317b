//! vxm
pub use vxm_semiring as semiring;
