//! Loops that stay on the device, each as one cooperative kernel: over active elements ([`active`]) and changed elements ([`changed`]).

pub mod active;
pub mod changed;
