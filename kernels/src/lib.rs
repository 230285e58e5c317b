//! The kernels' contract; see README.md beside this crate. The CUDA sources and their launcher arrive with the CUDA backend.
