//! The algorithms on graphs of all kinds. Answers must pass the certificates, and be equal on any number of threads, in every format and in
//! every formulation. Where an order defines a sequential greedy answer, they must be equal to it.

#[path = "../common/mod.rs"]
mod common;

mod bars;
mod budget;
mod check;
mod devices;
mod directed;
mod facts;
mod generated;
mod graphs;
mod other_devices;
mod paths;
mod shapes;
mod triangles;
mod weighted;
