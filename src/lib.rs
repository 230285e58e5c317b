//! A GraphBLAS-style engine for graph algorithms: masked vector-matrix products over semirings, on CPU threads and on
//! NVIDIA GPUs. The aims are the speed of hand-written code, and answers that are bit-identical on every device.
//!
//! Import the [`prelude`] and write the mathematics with [`Vector`](containers::Vector), [`Matrix`](containers::Matrix)
//! and the [verbs](operations::verbs::Verbs). [`algorithms`] holds the algorithms written this way. [`io`] reads and
//! generates graphs. [`certify`] checks answers with code that it does not share with the engine.
//!
//! ```
//! use vxm::prelude::*;
//!
//! // a path 0 - 1 - 2, and a key for each vertex
//! let a = Matrix::undirected(3, &[(0, 1), (1, 2)])?;
//! let key = Vector::from_dense(vec![7u32, 3, 5]);
//! // best = key max.first A: the greatest key next to each vertex
//! let best = key.vxm(&a, MAX_FIRST).eval()?;
//! assert_eq!(best, Vector::from_dense(vec![3, 7, 3]));
//! # Ok::<(), vxm::Error>(())
//! ```
//!
//! # Features
//!
//! All but `jit`, `trace` and `testing` are on by default. A program that runs on CPUs and reads its own files needs none of them.
//!
//! - `cuda`: NVIDIA GPUs, on Unix systems. Their libraries are opened at run time, so a build needs none. Without it, a device `cuda` is
//!   an error.
//! - `generators`: [generated graphs](io::generate()).
//! - `jit`: machine code of [operators made at run time](semiring::dynamic), on CPUs. Otherwise they are interpreted.
//! - `laws`: checks of an operator's laws, [`semiring::laws`].
//! - `sprs`: conversions to and from matrices of the crate `sprs`.
//! - `cli`: the command `vxm`. It turns on `generators` and `trace`.
//! - `trace`: spans of operations and loops, through the crate `tracing`.
//! - `testing`: the backends' modules become public, for the tests of this repository.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod algorithms;
pub mod backend;
pub mod certify;
pub mod containers;
pub mod error;
pub mod formats;
pub mod guide;
pub mod io;
#[cfg(not(all(feature = "cuda", unix)))]
#[doc(hidden)]
#[path = "no_cuda.rs"]
pub mod kernels;
pub mod memory;
pub mod operations;
pub(crate) mod parallel;
pub mod prelude;
pub mod ranks;
mod stop;

pub use error::{Error, Result};
pub use stop::Stop;
#[cfg(all(feature = "cuda", unix))]
#[doc(hidden)]
pub use vxm_kernels as kernels;
pub use vxm_semiring as semiring;

/// Runs the code of the README as doc tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
