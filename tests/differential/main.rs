//! The engine against its definition, `vxm::backend::reference`, bit for bit, on generated input.
//!
//! Masks, formats, directions, terminals and accumulators are run-time values, so that a semiring is instantiated a few times and
//! not a few hundred. Every suite prints its seed and how many cases it ran; `VXM_TEST_SEED=NUMBER` repeats a run,
//! `VXM_TEST_SEED=fresh` picks a seed, `PROPTEST_CASES` sets every suite's number of cases.

mod algebra;
mod elementwise;
mod errors;
mod formats;
mod harness;
mod large;
mod matrices;
mod nested;
mod oracle;
mod products;
mod shapes;
mod tiles;
