//! The `#[op]` macro of `vxm-semiring`: one Rust function, callable on the CPU, with its CUDA C++ text derived from the same tokens.
