//! The algorithms on graphs of all kinds. Answers must pass the certificates, and be equal on any number of threads, in every format and in
//! every formulation. Where an order defines a sequential greedy answer, they must be equal to it.

#[path = "../common/mod.rs"]
mod common;

mod bars;
mod betweenness;
#[cfg(unix)]
mod budget;
mod check;
mod cliques;
mod communities;
mod derivatives;
#[cfg(unix)]
mod devices;
mod directed;
mod distance2;
mod extension;
mod facts;
mod generated;
mod graphs;
mod labels;
#[cfg(unix)]
mod launches;
mod many_sets;
#[cfg(unix)]
mod other_devices;
mod paths;
mod renumbered;
mod roots;
mod shapes;
mod shortest_trees;
mod stop;
mod triangles;
mod weighted;
