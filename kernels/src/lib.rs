//! The runtime under `vxm`'s CUDA backend: finds NVIDIA's libraries, compiles CUDA C++ with NVRTC, caches the machine code on disk,
//! and launches it. The kernels' contract is in README.md beside this crate.
//!
//! NVIDIA's libraries are opened at run time, so the same binary runs where there are none: every call that needs one returns
//! [`Error::Missing`], which says what to install. Nothing here panics because of what is installed or plugged in.
//!
//! ```no_run
//! use vxm_kernels::{Gpu, Launch};
//! let gpu = Gpu::open(0)?;
//! let source = r#"
//!     struct Params { unsigned int* data; unsigned int count; };
//!     extern "C" __global__ void twice(const __grid_constant__ Params p) {
//!         unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
//!         if (i < p.count) p.data[i] *= 2;
//!     }"#;
//! let kernel = gpu.program(source, &[])?.kernel("twice")?;
//! let data = gpu.upload_slice(&[1u32, 2, 3])?;
//! let mut params = data.address().to_ne_bytes().to_vec();
//! params.extend(3u64.to_ne_bytes());
//! // SAFETY: the bytes are those of `Params`, padding included, and `data` holds 3 elements
//! unsafe { kernel.launch(Launch::linear(1, 32), &params)? };
//! assert_eq!(data.download::<u32>(3)?, [2, 4, 6]);
//! # Ok::<(), vxm_kernels::Error>(())
//! ```

mod blas;
pub mod cache;
mod compile;
mod doctor;
mod error;
mod gpu;
mod launch;
mod libraries;
mod memory;
mod plain;
mod reading;
mod rehearsal;
pub mod sources;
mod spare;

pub use blas::Real;
pub use cache::Cache;
pub use compile::{Cubin, compile, compile_cached, nvrtc_version, supported_archs};
pub use doctor::{CacheReport, DeviceReport, LibraryReport, Report, doctor};
pub use error::{CompileError, Error, Result};
pub use gpu::Gpu;
pub use launch::{Kernel, Launch, Program};
pub use libraries::{Library, headers};
pub use memory::Buffer;
pub use plain::Plain;
pub use reading::{Mailbox, Reading};
