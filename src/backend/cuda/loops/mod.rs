//! Loops that stay on the device, each as one cooperative kernel: over active elements ([`active`], with several steps a round [`steps`])
//! and changed elements ([`changed`]), and along edges ([`relaxed`]).

pub mod active;
pub mod changed;
pub mod counters;
pub mod relaxed;
pub mod steps;
