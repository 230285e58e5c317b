//! Graphs of all kinds for the tests of weighted, directed and ranked answers, and the ways to run an algorithm on the CPU.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::LazyLock;
use vxm::backend::plan::{Forced, Schedule, force};
use vxm::io::generate;
use vxm::prelude::*;

static POOLS: LazyLock<Vec<ThreadPool>> =
    LazyLock::new(|| [1, 2, 4].map(|n| ThreadPoolBuilder::new().num_threads(n).build().unwrap()).into());

/// The answers of `f` under every schedule on the CPU, on 1, 2 and 4 threads.
pub fn every_way<R: Send>(f: impl Fn() -> Result<R> + Sync) -> Vec<R> {
    let schedules = [
        None,
        Some(Schedule::Rounds),
        Some(Schedule::Asynchronous),
        Some(Schedule::Stale(11)),
        Some(Schedule::Sweeps(1 << 11)),
    ];
    let ways = schedules.iter().flat_map(|&schedule| POOLS.iter().map(move |pool| (schedule, pool)));
    let run = |(schedule, pool): (_, &ThreadPool)| {
        pool.install(|| force(Forced { schedule, ..Forced::default() }, &f)).unwrap()
    };
    ways.map(run).collect()
}

/// A hash of two numbers and a seed, for the tests' own draws.
pub fn hash(i: u32, j: u32, seed: u32) -> u32 {
    let mut x = (u64::from(i) << 32 | u64::from(j)).wrapping_add(u64::from(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    for multiplier in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        x = (x ^ x >> 29).wrapping_mul(multiplier);
    }
    (x >> 32) as u32
}

/// Undirected graphs: each generator, paths, stars, cliques, graphs of parts, without edges, and of one vertex or none.
pub fn undirected() -> Vec<(String, Matrix)> {
    let specs = ["grid:1x77", "grid:23x31", "er:9:1", "er:7:0", "er:0:3", "rmat:10:8", "kron:9:16", "rgg:9", "road:16"];
    let generated = specs.into_iter().chain(["delaunay:9", "grid:1x1", "grid:0x0"]);
    let mut graphs: Vec<_> =
        generated.map(|spec| (spec.to_owned(), Matrix::from_simple(generate(spec, &()).unwrap().graph))).collect();
    let mut add = |name: &str, n: usize, edges: Vec<(u32, u32)>| {
        graphs.push((name.to_owned(), Matrix::undirected(n, &edges).unwrap()));
    };
    add("star", 70, (0..69).map(|v| (v, 69)).collect());
    add("clique", 40, (0..40).flat_map(|i| (0..i).map(move |j| (i, j))).collect());
    let clique = (60..90).flat_map(|i| (60..i).map(move |j| (i, j)));
    let parts = [(2, 4), (4, 6), (6, 2)].into_iter().chain((10..30).map(|i| (i, i + 1))).chain(clique);
    add("parts", 100, parts.collect());
    // a long path in no order
    let mut order: Vec<u32> = (0..3000).collect();
    order.sort_by_key(|&v| hash(v, 0, 5));
    add("shuffled path", 3000, order.windows(2).map(|ends| (ends[0], ends[1])).collect());
    graphs
}

/// Directed graphs: of each undirected one about three in four edges in one direction and the others in both, some self-loops, and cycles
/// and paths in directions that are hard on propagation.
pub fn directed() -> Vec<(String, Matrix)> {
    let mut graphs: Vec<_> = undirected().into_iter().map(|(name, a)| (name, oriented(&a, 3))).collect();
    let mut add = |name: &str, n: u32, edges: Vec<(u32, u32)>| {
        let triples = edges.into_iter().map(|(i, j)| (i, j, ()));
        graphs.push((name.to_owned(), Matrix::from_triples(n as usize, n as usize, triples).unwrap()));
    };
    add("cycle", 500, (0..500).map(|v| (v, (v + 1) % 500)).collect());
    add("cycle back", 500, (0..500).map(|v| ((v + 1) % 500, v)).collect());
    add("way down", 300, (0..299).map(|v| (v + 1, v)).collect());
    let rings = (0..40u32).flat_map(|c| (0..5).map(move |k| (5 * c + k, 5 * c + (k + 1) % 5)));
    add("rings in a row", 200, rings.chain((0..39).map(|c| (5 * c + 7, 5 * c + 2))).collect());
    add("self-loops", 5, vec![(0, 0), (2, 2), (2, 3)]);
    graphs
}

/// A directed graph of the edges of an undirected one.
pub fn oriented(a: &Matrix, seed: u32) -> Matrix {
    let kept = a.iter().filter(|&(i, j, ())| {
        let draw = hash(i.min(j), i.max(j), seed) % 8;
        draw < 2 || draw.is_multiple_of(2) == (i < j)
    });
    let loops = (0..a.nrows() as u32).filter(|&v| hash(v, v, seed).is_multiple_of(50)).map(|v| (v, v, ()));
    Matrix::from_triples(a.nrows(), a.ncols(), kept.chain(loops)).unwrap()
}

/// Weights of an undirected graph's edges, from 0 to `most`.
pub fn weighted(a: &Matrix, most: u32, seed: u32) -> Matrix<u32> {
    let triples =
        a.iter().map(|(i, j, ())| (i, j, (u64::from(hash(i.min(j), i.max(j), seed)) % (u64::from(most) + 1)) as u32));
    let a = Matrix::from_triples(a.nrows(), a.ncols(), triples).unwrap();
    Matrix::from_symmetric(a.csr().clone()).unwrap()
}

/// The elements of a vector, `None` where it holds none.
pub fn options<T: Element>(v: &Vector<T>) -> Vec<Option<T>> {
    (0..v.len() as u32).map(|i| v.get(i)).collect()
}
