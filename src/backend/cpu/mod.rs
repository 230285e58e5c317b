//! The CPU backend, on rayon's threads: pull ([`fold`]), push ([`scatter`]), evaluation and reduction ([`gather`]), dense
//! products ([`dense`]), products of sparse matrices ([`mxm`]), loops ([`active`], [`changed`],
//! [`relax`], `spreading`).
//!
//! No thread waits for a lock that another holds. Outside of loops each thread writes its own slice. In loops the state is a vector of atomic words; a thread writes
//! its own elements, and joins values into others by compare-and-swap. Answers have the same bits for any number of threads.

pub mod active;
pub(crate) mod buckets;
pub mod changed;
pub(crate) mod compiled;
pub(crate) mod counted;
pub mod dense;
pub(crate) mod due;
pub mod dyn_view;
pub mod fold;
pub mod gather;
pub mod mode;
pub mod mxm;
pub mod parallel;
pub mod prefetch;
pub mod relax;
pub mod scatter;
pub mod scatter_reduce;
pub mod sort;
pub(crate) mod spreading;
