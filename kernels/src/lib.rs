//! The runtime under `vxm`'s CUDA backend: finds NVIDIA's libraries, compiles CUDA C++ with NVRTC, caches the machine code on disk,
//! and launches it. The kernels' contract is in this crate's README.md.
//!
//! NVIDIA's libraries are opened at run time, so one binary runs with and without them. A call that needs a library which is missing
//! returns [`Error::Missing`], which says what to install. No call panics because of what is installed or plugged in.
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
//! // SAFETY: the bytes have the layout of `Params`, padding included, and `data` holds 3 elements
//! unsafe { kernel.launch(Launch::linear(1, 32), &params)? };
//! assert_eq!(data.download::<u32>(3)?, [2, 4, 6]);
//! # Ok::<(), vxm_kernels::Error>(())
//! ```

mod blas;
mod block_cache;
pub mod cache;
mod compile;
mod context;
mod doctor;
mod dry_run;
mod error;
mod gpu;
mod launch;
mod lent;
mod libraries;
mod memory;
mod nccl;
mod page_locked;
mod peers;
mod pod;
mod readback;
pub mod sources;
pub mod trace;
mod transfer;

pub use blas::Real;
pub use cache::Cache;
pub use compile::{Cubin, compile, compile_cached, nvrtc_version, supported_archs};
pub use context::Gpu;
pub use doctor::{CacheReport, DeviceReport, LibraryReport, Report, doctor};
pub use error::{CompileError, Error, Result};
pub use launch::{Kernel, Launch, Program};
pub use libraries::{Library, headers};
pub use memory::Buffer;
pub use nccl::{ID_BYTES, Nccl};
pub use peers::{NAME_BYTES, OpenedWindow, Window};
pub use pod::{Pod, bytes_of};
pub use readback::{Mailbox, Readback};
