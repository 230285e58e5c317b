//! The algorithms on graphs of all kinds: right by the certificates, equal for threads, formats and formulations, and equal to
//! the sequential greedy answers where those are defined by the same order.

#[path = "../common/mod.rs"]
mod common;

mod bars;
mod check;
mod devices;
mod facts;
mod generated;
mod paths;
mod shapes;
