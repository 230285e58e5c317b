//! Algorithms on the CPU beside the textbook's loops for the same task: a queue, buckets, union-find.
//!
//! `cargo bench --bench textbook -- [ALGORITHM...] [GRAPH...]` prints milliseconds, the best of seven runs in turn, for one thread and for all. A graph is
//! a specification such as `rmat:20:8` or a file. The loops share no code with the engine; their answers are compared with its.

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Instant;
use vxm::algorithms::{bfs, components, sssp, weights};
use vxm::io;
use vxm::prelude::*;

const GRAPHS: [&str; 5] = ["rmat:20:8", "kron:16:32", "grid:1024x1024", "road:700", "er:18:8"];
const ALGORITHMS: [&str; 3] = ["bfs", "sssp", "components"];
const RUNS: usize = 7;
const FAR: u32 = u32::MAX;

/// Levels by a queue.
fn queue(offsets: &[u64], columns: &[u32], source: u32) -> Vec<u32> {
    let mut level = vec![FAR; offsets.len() - 1];
    level[source as usize] = 0;
    let mut queue = VecDeque::from([source]);
    while let Some(u) = queue.pop_front() {
        for &v in &columns[offsets[u as usize] as usize..offsets[u as usize + 1] as usize] {
            if level[v as usize] == FAR {
                level[v as usize] = level[u as usize] + 1;
                queue.push_back(v);
            }
        }
    }
    level
}

/// Distances by Dial's buckets, one for each distance, in a ring as long as the greatest weight.
fn dial(offsets: &[u64], columns: &[u32], weights: &[u32], source: u32) -> Vec<u32> {
    let mut distance = vec![FAR; offsets.len() - 1];
    distance[source as usize] = 0;
    let most = weights.iter().copied().max().unwrap_or(0) as usize + 1;
    let mut buckets = vec![Vec::new(); most];
    buckets[0].push(source);
    let (mut at, mut waiting) = (0u32, 1);
    while waiting > 0 {
        for u in std::mem::take(&mut buckets[at as usize % most]) {
            waiting -= 1;
            if distance[u as usize] != at {
                continue;
            }
            let row = offsets[u as usize] as usize..offsets[u as usize + 1] as usize;
            for (&v, &weight) in columns[row.clone()].iter().zip(&weights[row]) {
                if at + weight < distance[v as usize] {
                    distance[v as usize] = at + weight;
                    buckets[(at + weight) as usize % most].push(v);
                    waiting += 1;
                }
            }
        }
        at += u32::from(buckets[at as usize % most].is_empty());
    }
    distance
}

/// Least vertices of components by union-find: the lesser root wins, and paths are halved.
fn union_find(offsets: &[u64], columns: &[u32]) -> Vec<u32> {
    let mut parent: Vec<u32> = (0..offsets.len() as u32 - 1).collect();
    fn root(parent: &mut [u32], mut v: u32) -> u32 {
        while parent[v as usize] != v {
            parent[v as usize] = parent[parent[v as usize] as usize];
            v = parent[v as usize];
        }
        v
    }
    for u in 0..parent.len() as u32 {
        for &v in &columns[offsets[u as usize] as usize..offsets[u as usize + 1] as usize] {
            if v < u {
                let (one, other) = (root(&mut parent, u), root(&mut parent, v));
                parent[one.max(other) as usize] = one.min(other);
            }
        }
    }
    (0..parent.len() as u32).map(|v| root(&mut parent, v)).collect()
}

/// The answer, and the milliseconds that it took.
fn timed<R>(run: impl FnOnce() -> R) -> (R, f64) {
    let start = Instant::now();
    let answer = black_box(run());
    (answer, start.elapsed().as_secs_f64() * 1e3)
}

/// Prints the best times of the engine, on one thread and on all, and of a loop; and checks that answers agree.
fn compare(name: &str, graph: &str, engine: &(dyn Fn() -> Vector<u32> + Sync), textbook: &dyn Fn() -> Vec<u32>) {
    let Ok(alone) = rayon::ThreadPoolBuilder::new().num_threads(1).build() else { return };
    let mut best = [f64::INFINITY; 3];
    for _ in 0..RUNS {
        let (expected, loops) = timed(textbook);
        let (one, single) = timed(|| alone.install(engine));
        let (all, many) = timed(engine);
        assert!(one.to_dense(FAR) == expected && all.to_dense(FAR) == expected, "{name} {graph}: answers differ");
        for (best, time) in best.iter_mut().zip([single, many, loops]) {
            *best = best.min(time);
        }
    }
    let [single, many, loops] = best;
    println!(
        "{name:<10} {graph:<16} {single:>9.2} {many:>9.2} {loops:>9.2} {:>7.2} {:>7.2}",
        single / loops,
        many / loops
    );
}

fn main() -> Result<()> {
    let words = std::env::args().skip(1).filter(|word| !word.starts_with("--"));
    let (names, asked): (Vec<String>, Vec<String>) = words.partition(|word| ALGORITHMS.contains(&word.as_str()));
    let asked = if asked.is_empty() { GRAPHS.map(str::to_owned).to_vec() } else { asked };
    let runs = |name: &str| names.is_empty() || names.iter().any(|asked| asked == name);
    println!("{:<10} {:<16} {:>9} {:>9} {:>9} {:>7} {:>7}", "ms", "", "1 thread", "all", "textbook", "ratio", "ratio");
    for graph in &asked {
        let a = Matrix::from_simple(io::read(graph, &())?.graph);
        let longest = a.csr().longest() as u32;
        let (offsets, columns) = (a.csr().offsets(), a.csr().columns());
        if runs("bfs") {
            compare("bfs", graph, &|| bfs(&a, longest).unwrap(), &|| queue(offsets, columns, longest));
        }
        if runs("sssp") {
            let w = weights(&a, 1, 255, 0)?;
            let values = w.csr().values();
            compare("sssp", graph, &|| sssp(&w, longest).unwrap(), &|| dial(offsets, columns, values, longest));
        }
        if runs("components") {
            compare("components", graph, &|| components(&a).unwrap(), &|| union_find(offsets, columns));
        }
    }
    Ok(())
}
