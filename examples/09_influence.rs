//! Influence: the vertices of the greatest PageRank in a real graph, and what a personalised walk adds.
//!
//! The graph is GRAPH, or the mail network email-Enron if the folder of test data is there, or else a generated one:
//! `cargo run --release --example 09_influence -- [GRAPH]`.

use std::path::Path;
use vxm::algorithms::{PageRankOptions, pagerank};
use vxm::prelude::*;

const DAMPING: f64 = 0.85;

fn graph() -> Result<(String, Matrix)> {
    let folder = std::env::var("VXM_DATA").unwrap_or_else(|_| "../shared/data".to_owned());
    let real = format!("{folder}/real/email-Enron.mtx.gz");
    let otherwise = if Path::new(&real).exists() { real } else { "rmat:11:8".to_owned() };
    let name = std::env::args().nth(1).unwrap_or(otherwise);
    let graph = Matrix::from_simple(vxm::io::read(&name, &())?.graph);
    Ok((name, graph))
}

/// The same ranks by a plain loop: each vertex hands its rank on in equal parts. A walk starts, and starts anew, at `sources`.
fn by_loops(a: &Matrix, sources: &[u32], rounds: u32) -> Vec<f64> {
    let csr = a.csr();
    let mut start = vec![0.0; a.nrows()];
    sources.iter().for_each(|&v| start[v as usize] = 1.0 / sources.len() as f64);
    let mut ranks = start.clone();
    for _ in 0..rounds {
        let mut next = vec![0.0; ranks.len()];
        let mut lost = 0.0;
        for (v, rank) in ranks.iter().enumerate() {
            let (near, _) = csr.row(v);
            near.iter().for_each(|&w| next[w as usize] += DAMPING * rank / near.len() as f64);
            lost += if near.is_empty() { DAMPING * rank } else { 0.0 };
        }
        next.iter_mut().zip(&start).for_each(|(next, start)| *next += (1.0 - DAMPING + lost) * start);
        ranks = next;
    }
    ranks
}

/// The vertices of the `count` greatest ranks, greatest first.
fn top(ranks: &Vector<f64>, count: usize) -> Vec<(u32, f64)> {
    let mut all: Vec<(u32, f64)> = ranks.iter().collect();
    all.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    all.truncate(count);
    all
}

fn run() -> Result<()> {
    let (name, a) = graph()?;
    println!("{name}: {} vertices, {} edges", a.nrows(), a.nnz() / 2);
    let degree = a.degrees()?.to_dense(0);
    let everywhere: Vec<u32> = (0..a.nrows() as u32).collect();

    let options = PageRankOptions::default().damping(DAMPING).rounds(100).tolerance(1e-10);
    let found = pagerank::<f64>(&a, &options)?;
    let leaders = top(&found.ranks, 5);
    for (v, rank) in &leaders {
        println!("  {v}: {:.3} % of all, {} neighbours", 100.0 * rank, degree[*v as usize]);
    }
    // ranks are probabilities, and those of a plain loop of as many rounds
    assert!((found.ranks.reduce(PLUS)? - 1.0).abs() < 1e-9);
    let expected = by_loops(&a, &everywhere, found.rounds);
    assert!(found.ranks.iter().all(|(v, rank)| (rank - expected[v as usize]).abs() < 1e-12));

    // personalised: seen from the leader, what is near it counts more
    let (leader, rank) = leaders[0];
    let source = Set::from_indices(a.nrows(), [leader])?;
    let near = pagerank::<f64>(&a, &options.sources(Some(source)))?;
    let expected = by_loops(&a, &[leader], near.rounds);
    assert!(near.ranks.iter().all(|(v, rank)| (rank - expected[v as usize]).abs() < 1e-12));
    let own = near.ranks.get(leader).unwrap_or(0.0);
    println!("seen from {leader} itself: {:.1} %", 100.0 * own);
    // a walk that starts anew there is there with probability 1 - damping at least
    assert!(own >= 1.0 - DAMPING && own > rank);
    Ok(())
}

fn main() -> Result<()> {
    // on a GPU if there is one; the answer has the same bits
    Device::auto().scope(run)
}
