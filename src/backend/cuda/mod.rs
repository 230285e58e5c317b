//! The CUDA backend: device storage, and terminals as generated kernels.
//!
//! An expression [emits](crate::operations::expr::Expr::emit) itself as a C++ type ([`codegen`]). The templates of these types are in
//! `vxm_kernels::sources`. A terminal is one kernel over such a type ([`terminals`]). So elementwise work before and after a product, the
//! mask and the accumulator are fused into one kernel, as they are into one loop on the CPU.

mod budget;
pub mod build;
pub mod codegen;
pub(crate) mod compact;
mod csr;
pub mod dense;
pub mod entries;
pub mod foreign;
pub mod layout;
pub mod loops;
pub mod mode;
pub mod mxm;
pub mod push;
pub mod ranks;
mod readout;
pub mod sort;
pub mod terminals;
pub mod tiles;
pub mod tiling;
mod vector;

pub use csr::DeviceCsr;
pub use tiles::DeviceTiles;
pub use vector::DeviceVector;
pub use crate::kernels::Gpu;
