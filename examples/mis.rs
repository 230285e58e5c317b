//! Finds a maximal independent set of a graph by each priority, and checks it: `cargo run --release --example mis -- [GRAPH]`.
//!
//! GRAPH is a file (Matrix Market, DIMACS .col, SNAP edge list; .gz too) or a generator such as `rmat:20:8`.

use std::time::Instant;
use vxm::algorithms::{MisOptions, Priority, mis};
use vxm::certify;
use vxm::io::read;
use vxm::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "road:200".to_owned());
    let loaded = read(&name, &())?;
    let graph = Matrix::from_simple(loaded.graph);
    println!("{name}: {} vertices, {} edges", graph.nrows(), graph.nnz() / 2);

    for &priority in Priority::ALL {
        // ties broken by vertex number, as in the paper, take thousands of rounds where most degrees are equal
        if priority == Priority::SortedId {
            continue;
        }
        let start = Instant::now();
        let found = mis(&graph, &MisOptions::default().priority(priority))?;
        let took = start.elapsed();

        // the certificate shares no code with the engine
        let mut member = vec![false; graph.nrows()];
        found.set.indices().for_each(|vertex| member[vertex as usize] = true);
        certify::independent_set(graph.csr().offsets(), graph.csr().columns(), &member)?;

        let (priority, size, rounds) = (priority.name(), found.set.nvals(), found.rounds);
        println!("{priority:>8}: {size} vertices in {rounds} rounds, {took:.1?}; valid");
    }
    Ok(())
}
