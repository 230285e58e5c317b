//! Loops that stay on the device, each as one cooperative kernel: over active elements ([`active`], with several steps a round [`steps`])
//! and changed elements ([`changed`]).

pub mod active;
pub mod changed;
pub mod counters;
pub mod steps;
