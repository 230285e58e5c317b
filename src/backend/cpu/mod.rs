//! The CPU backend, on rayon's threads: pull ([`fold`]), push ([`scatter`]), evaluation and reduction ([`gather`]), dense
//! products ([`dense`]), loops ([`fixpoint`], [`changed`]).
//!
//! No locks: every thread writes its own slice, or, in loops, its own elements of a vector of atomic words. Answers have the same bits for
//! any number of threads.

pub mod ahead;
pub mod changed;
pub mod dense;
pub mod fixpoint;
pub mod fold;
pub mod gather;
pub mod scatter;
pub mod share;
pub mod sort;
