//! The CPU backend, on rayon's threads: pull ([`fold`]), push ([`scatter`]), evaluation and reduction ([`gather`]), dense
//! products ([`dense`]).
//!
//! No locks on hot paths: every thread writes its own slice. Answers have the same bits for any number of threads.

pub mod dense;
pub mod fold;
pub mod gather;
pub mod scatter;
pub mod share;
