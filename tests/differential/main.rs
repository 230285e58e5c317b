//! The engine against its definition, `vxm::backend::reference`, bit for bit, on generated input.
//!
//! Masks, formats, directions, terminals and accumulators are run-time values, so that a semiring is instantiated a few times and
//! not a few hundred. Every suite prints its seed and how many cases it ran; `VXM_TEST_SEED=NUMBER` repeats a run,
//! `VXM_TEST_SEED=fresh` picks a seed, `PROPTEST_CASES` sets every suite's number of cases.
//!
//! `VXM_TEST_DEVICE=cuda` runs all on a GPU. `VXM_TEST_DEVICE=rehearsal` needs NVRTC and no GPU: every kernel that the cases compose
//! is compiled for sm_80, sm_90 and sm_100 (or those that `VXM_TEST_ARCHS` names, with commas between), none runs, and nothing is
//! compared.

mod algebra;
mod building;
mod changed;
mod dense;
mod elementwise;
mod entries;
mod errors;
mod fixpoint;
mod formats;
mod harness;
mod hooking;
mod large;
mod matrices;
mod nested;
mod oracle;
mod products;
mod shapes;
mod sorts;
mod tiles;
