//! Colourings for derivatives beside the sequential greedy loops in the same order.
//!
//! `cargo bench --bench derivatives -- [GRAPH...]` prints, for each graph and order, the number of colours and milliseconds, the best of several
//! runs in turn: the columns of the adjacency matrix with a full diagonal, and star colourings. Answers must be equal. The bipartite graph is
//! made inside ours, the transpose inside the loop over columns. `--device cuda` times ours on a GPU, and checks it against the loop.

use std::cmp::Reverse;
use std::hint::black_box;
use std::time::Instant;
use vxm::algorithms::priority::{hashes, largest_degree_first, smallest_degree_last};
use vxm::algorithms::{color_columns, star_coloring};
use vxm::certify;
use vxm::io;
use vxm::prelude::*;

const GRAPHS: [&str; 5] = ["grid:1000x1000", "rgg:17", "delaunay:18", "road:400", "rmat:16:8"];
const RUNS: usize = 5;

/// The best of several runs, in milliseconds, and the answer.
fn best<R>(runs: usize, mut f: impl FnMut() -> Result<R>) -> Result<(f64, R)> {
    let (mut least, mut found) = (f64::INFINITY, None);
    for _ in 0..runs {
        let start = Instant::now();
        let answer = black_box(f()?);
        least = least.min(start.elapsed().as_secs_f64() * 1e3);
        found = Some(answer);
    }
    found.map(|found| (least, found)).ok_or_else(|| Error::invalid("no runs"))
}

fn on_threads<R: Send>(threads: usize, f: impl FnOnce() -> R + Send) -> Result<R> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    Ok(pool.map_err(|error| Error::invalid(error.to_string()))?.install(f))
}

fn main() -> Result<()> {
    let mut arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let device = match arguments.iter().position(|argument| argument == "--device") {
        Some(at) => arguments.drain(at..(at + 2).min(arguments.len())).next_back().unwrap_or_default().parse()?,
        None => Device::Cpu,
    };
    let graphs: Vec<&str> =
        if arguments.is_empty() { GRAPHS.to_vec() } else { arguments.iter().map(String::as_str).collect() };
    println!(
        "{:16} {:9} {:8} {:>7} {:>10} {:>10} {:>10}",
        "graph", "order", "problem", "colours", "loop", "ours", "2 threads"
    );
    for spec in graphs {
        let a = Matrix::from_simple(io::generate(spec, &())?.graph);
        let n = a.nrows();
        let closed = a.ewise_add(&Matrix::from_diagonal(&Vector::full(n, ()))?, ANY)?;
        let natural = Vector::from_dense((0..n as u32).rev().collect());
        let orders = [
            ("natural", natural),
            ("random", hashes(n, 1)?),
            ("largest", largest_degree_first(&a, 1)?),
            ("smallest", smallest_degree_last(&a, 1)?),
        ];
        let (closed_there, a_there) = (closed.to(device)?, a.to(device)?);
        for (order, key) in orders {
            let mut vertices: Vec<u32> = (0..n as u32).collect();
            let keys = key.to_dense(0);
            vertices.sort_by_key(|&v| Reverse(keys[v as usize]));
            let key_there = key.to(device)?;
            for problem in ["columns", "star"] {
                let ours = || match problem {
                    "columns" => color_columns(&closed_there, &key_there),
                    _ => star_coloring(&a_there, &key_there),
                };
                let by_loop = || {
                    let csr = if problem == "columns" { closed.csr() } else { a.csr() };
                    let (offsets, columns, order) = (csr.offsets(), csr.columns(), vertices.iter().copied());
                    Ok(match problem {
                        "columns" => certify::greedy_column_coloring(offsets, columns, n, order),
                        _ => certify::greedy_star_coloring(offsets, columns, order),
                    })
                };
                let (loop_ms, expected) = best(RUNS, by_loop)?;
                let (one_ms, found) = on_threads(1, || best(RUNS, ours))??;
                let (two_ms, _) = on_threads(2, || best(RUNS, ours))??;
                if found.colors.to_dense(0) != expected {
                    return Err(Error::invalid(format!("{spec}, {order}, {problem}: another answer than the loop's")));
                }
                println!(
                    "{spec:16} {order:9} {problem:8} {:7} {loop_ms:10.2} {one_ms:10.2} {two_ms:10.2}",
                    found.count
                );
            }
        }
    }
    Ok(())
}
