//! Colours a graph by every method in every order, and checks each colouring: `cargo run --release --example coloring -- [GRAPH]`.
//!
//! GRAPH is a file (Matrix Market, DIMACS .col, SNAP edge list; .gz too) or a generator such as `rmat:20:8`.

use std::time::Instant;
use vxm::algorithms::{ColoringOptions, Method, Order, color};
use vxm::certify;
use vxm::io::read;
use vxm::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "delaunay:12".to_owned());
    let loaded = read(&name, &())?;
    let graph = Matrix::from_simple(loaded.graph);
    println!("{name}: {} vertices, {} edges", graph.nrows(), graph.nnz() / 2);

    for &method in Method::ALL {
        for &order in Order::ALL {
            let start = Instant::now();
            let found = color(&graph, &ColoringOptions::default().method(method).order(order))?;
            let took = start.elapsed();

            // the certificate shares no code with the engine
            let colors = found.colors.to_dense(0);
            certify::coloring(graph.csr().offsets(), graph.csr().columns(), &colors)?;

            let (method, order, count) = (method.name(), order.name(), found.count);
            println!("{method:>15} {order:<20}: {count} colours in {} rounds, {took:.1?}; valid", found.rounds);
        }
    }
    Ok(())
}
