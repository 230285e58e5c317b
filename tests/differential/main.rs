//! Differential tests. They compare the engine with its definition, `vxm::backend::reference`, bit for bit, on generated input.
//!
//! Masks, formats, directions, terminals and accumulators are chosen at run time. So each semiring is instantiated a few times, not a
//! few hundred. Every suite prints its seed and its number of cases. `VXM_TEST_SEED=NUMBER` repeats a run, `VXM_TEST_SEED=fresh` picks
//! a new seed, and `PROPTEST_CASES` sets the number of cases of every suite.
//!
//! `VXM_TEST_DEVICE=cuda` runs all cases on a GPU. `VXM_TEST_DEVICE=dry-run` is a dry run, which needs NVRTC but no GPU. It compiles
//! every kernel that the cases use, but runs none and compares nothing. It compiles for sm_80, sm_90 and sm_100, or for the
//! architectures that `VXM_TEST_ARCHS` lists with commas.

mod algebra;
mod building;
mod changed;
mod dense;
mod dynamic;
mod elementary;
#[path = "../common/wide.rs"]
mod elements;
mod elementwise;
mod entries;
mod errors;
mod fixpoint;
mod foreign;
mod formats;
mod harness;
mod large;
mod matrices;
mod nested;
mod operators;
mod oracle;
mod products;
mod relaxed;
mod scatter_reduce;
mod shapes;
mod sorts;
mod structs;
mod tiles;
mod wide;
