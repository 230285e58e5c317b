//! Algorithms on the CPU beside the textbook's loops for the same task: queues, buckets, union-find.
//!
//! `cargo bench --bench textbook -- [ALGORITHM...] [GRAPH...]` prints milliseconds, the best of seven runs in turn, for one thread and for all. A graph is
//! a specification such as `rmat:20:8` or a file. The loops share no code with the engine; their answers are compared with its.

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Instant;
use vxm::algorithms::{bfs, components, core_numbers, spanning_forest, sssp, strong_components, weights};
use vxm::io;
use vxm::prelude::*;

const GRAPHS: [&str; 5] = ["rmat:20:8", "kron:16:32", "grid:1024x1024", "road:700", "er:18:8"];
const ALGORITHMS: [&str; 6] = ["bfs", "sssp", "components", "kcore", "msf", "scc"];
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

/// The root of a vertex; paths are halved.
fn root(parent: &mut [u32], mut v: u32) -> u32 {
    while parent[v as usize] != v {
        parent[v as usize] = parent[parent[v as usize] as usize];
        v = parent[v as usize];
    }
    v
}

/// Least vertices of components by union-find: the lesser root wins.
fn union_find(offsets: &[u64], columns: &[u32]) -> Vec<u32> {
    let mut parent: Vec<u32> = (0..offsets.len() as u32 - 1).collect();
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

/// Core numbers by Batagelj and Zaversnik's method: vertices in the order of their degrees in what is left, by a counting sort that is kept up.
fn peeled(offsets: &[u64], columns: &[u32]) -> Vec<u32> {
    let n = offsets.len() - 1;
    let mut degree: Vec<u32> = (0..n).map(|v| (offsets[v + 1] - offsets[v]) as u32).collect();
    let mut start = vec![0u32; degree.iter().copied().max().unwrap_or(0) as usize + 2];
    degree.iter().for_each(|&degree| start[degree as usize + 1] += 1);
    (1..start.len()).for_each(|k| start[k] += start[k - 1]);
    let (mut order, mut place, mut next) = (vec![0u32; n], vec![0u32; n], start.clone());
    for v in 0..n {
        let at = &mut next[degree[v] as usize];
        (order[*at as usize], place[v]) = (v as u32, *at);
        *at += 1;
    }
    for at in 0..n {
        let v = order[at] as usize;
        for &u in &columns[offsets[v] as usize..offsets[v + 1] as usize] {
            let u = u as usize;
            if degree[u] > degree[v] {
                // to the front of its bucket, which then ends behind it
                let (own, front) = (place[u], start[degree[u] as usize]);
                let other = order[front as usize] as usize;
                order.swap(own as usize, front as usize);
                (place[u], place[other]) = (front, own);
                start[degree[u] as usize] = front + 1;
                degree[u] -= 1;
            }
        }
    }
    degree
}

/// The total weight of a minimum spanning forest by Kruskal's method, as its lower and upper half.
fn kruskal(offsets: &[u64], columns: &[u32], weights: &[u32]) -> Vec<u32> {
    let n = offsets.len() - 1;
    let mut edges: Vec<(u32, u32, u32)> = Vec::with_capacity(columns.len() / 2);
    for u in 0..n as u32 {
        let row = offsets[u as usize] as usize..offsets[u as usize + 1] as usize;
        let later = columns[row.clone()].iter().zip(&weights[row]).filter(|&(&v, _)| u < v);
        edges.extend(later.map(|(&v, &weight)| (weight, u, v)));
    }
    edges.sort_unstable();
    let mut parent: Vec<u32> = (0..n as u32).collect();
    let (mut total, mut left) = (0u64, n);
    for (weight, u, v) in edges {
        let (one, other) = (root(&mut parent, u), root(&mut parent, v));
        if one != other {
            parent[one.max(other) as usize] = one.min(other);
            total += u64::from(weight);
            left -= 1;
            if left == 1 {
                break;
            }
        }
    }
    vec![total as u32, (total >> 32) as u32]
}

/// Strong components by Tarjan's method, with a stack of its own: of each vertex the least vertex of its component.
fn tarjan(offsets: &[u64], columns: &[u32]) -> Vec<u32> {
    let n = offsets.len() - 1;
    let (mut low, mut number, mut label) = (vec![FAR; n], vec![FAR; n], vec![FAR; n]);
    let (mut open, mut path, mut seen) = (Vec::new(), Vec::new(), 0);
    for from in 0..n {
        if number[from] != FAR {
            continue;
        }
        path.push((from, offsets[from] as usize));
        while let Some(&mut (v, ref mut at)) = path.last_mut() {
            if number[v] == FAR {
                (number[v], low[v]) = (seen, seen);
                seen += 1;
                open.push(v);
            }
            if *at < offsets[v + 1] as usize {
                let u = columns[*at] as usize;
                *at += 1;
                if number[u] == FAR {
                    path.push((u, offsets[u] as usize));
                } else if label[u] == FAR {
                    low[v] = low[v].min(number[u]);
                }
                continue;
            }
            path.pop();
            if let Some(&(parent, _)) = path.last() {
                low[parent] = low[parent].min(low[v]);
            }
            if low[v] == number[v] {
                let first = open.iter().rposition(|&u| u == v).unwrap_or(0);
                let least = open[first..].iter().copied().min().unwrap_or(v) as u32;
                open.drain(first..).for_each(|u| label[u] = least);
            }
        }
    }
    label
}

/// A graph in which each edge of an undirected one goes one way, most from the lesser vertex, or some both ways.
fn oriented(a: &Matrix) -> Result<Matrix> {
    let goes = |u: u32, v: u32| {
        let hash = (u64::from(u.min(v)) << 32 | u64::from(u.max(v))).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60;
        match hash {
            0..9 => u < v,
            9..15 => u > v,
            _ => true,
        }
    };
    Matrix::from_triples(a.nrows(), a.nrows(), a.iter().filter(|&(u, v, ())| goes(u, v)))
}

/// The answer, and the milliseconds that it took.
fn timed<R>(run: impl FnOnce() -> R) -> (R, f64) {
    let start = Instant::now();
    let answer = black_box(run());
    (answer, start.elapsed().as_secs_f64() * 1e3)
}

/// Prints the best times of the engine, on one thread and on all, and of a loop; and checks that answers agree.
fn compare(name: &str, graph: &str, engine: &(dyn Fn() -> Vector<u32> + Sync), textbook: &dyn Fn() -> Vec<u32>) {
    compare_by(name, graph, engine, &Clone::clone, textbook);
}

/// The same, where `told` makes of the engine's answer what is compared.
fn compare_by<R: Send>(
    name: &str,
    graph: &str,
    engine: &(dyn Fn() -> R + Sync),
    told: &dyn Fn(&R) -> Vector<u32>,
    textbook: &dyn Fn() -> Vec<u32>,
) {
    let Ok(alone) = rayon::ThreadPoolBuilder::new().num_threads(1).build() else { return };
    let mut best = [f64::INFINITY; 3];
    for _ in 0..RUNS {
        let (expected, loops) = timed(textbook);
        let (one, single) = timed(|| alone.install(engine));
        let (all, many) = timed(engine);
        let agrees = |answer: &R| told(answer).to_dense(FAR) == expected;
        assert!(agrees(&one) && agrees(&all), "{name} {graph}: answers differ");
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
        if runs("kcore") {
            compare("kcore", graph, &|| core_numbers(&a).unwrap(), &|| peeled(offsets, columns));
        }
        if runs("msf") {
            let w = weights(&a, 1, 1 << 20, 0)?;
            let values = w.csr().values();
            // the weight is added up outside of the time, once
            let total = |forest: &Matrix| {
                let edges = forest.iter().filter(|&(i, j, ())| i < j);
                let total: u64 = edges.map(|(i, j, ())| u64::from(w.get(i, j).unwrap_or(0))).sum();
                Vector::from_dense(vec![total as u32, (total >> 32) as u32])
            };
            let engine = || spanning_forest(&w).unwrap().forest;
            compare_by("msf", graph, &engine, &total, &|| kruskal(offsets, columns, values));
        }
        if runs("scc") {
            let d = oriented(&a)?;
            let (offsets, columns) = (d.csr().offsets(), d.csr().columns());
            compare("scc", graph, &|| strong_components(&d).unwrap().labels, &|| tarjan(offsets, columns));
        }
    }
    Ok(())
}
