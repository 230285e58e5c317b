//! The CUDA backend: device storage, and the terminals as generated kernels.
//!
//! An expression [emits](crate::operations::expr::Expr::emit) itself as a C++ type ([`compose`]), whose text stands in
//! `vxm_kernels::sources`; a terminal is one kernel over that type ([`run`]). So elementwise work before and after a product, its mask
//! and its accumulator are one kernel, as they are one loop on the CPU.

pub mod bins;
pub mod build;
pub mod changed;
mod compact;
pub mod compose;
mod crowded;
mod csr;
pub mod dense;
pub mod entries;
pub mod fixpoint;
pub mod push;
mod recipe;
pub mod run;
pub mod sort;
pub mod tiles;
mod vector;

pub use csr::DeviceCsr;
pub use tiles::DeviceTiles;
pub use vector::DeviceVector;
pub use vxm_kernels::Gpu;
