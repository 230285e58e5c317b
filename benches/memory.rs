//! Algorithms on a GPU under memory budgets. `cargo bench --bench memory`, or its binary on a machine without Rust. Arguments with a colon are
//! graphs, or native files by their names; `x3` takes the median of so many runs, `/4` measures a quarter alone, `=color` what begins so, and `sweep`
//! tries many budgets instead.
//!
//! Each algorithm runs with all memory, and with a half, a quarter and a sixteenth of what it took then; less than the least budget that
//! does is raised to it. A line tells the time, the most bytes on the device, the bytes of matrices on the host, and whether the answer is the same. The first
//! lines of a graph tell the speed of the bus by a copy, and by a product that reads all entries over it.

use std::time::Instant;
use vxm::algorithms::priority::{largest_degree_first, smallest_degree_last};
use vxm::algorithms::{
    ColoringOptions, Method, MisOptions, Order, PageRankOptions, Priority, aggregates, betweenness, bfs, bfs_parents,
    color, color_at_distance_2, communities, components, core_numbers, dominant_matching, ktruss, maximal_clique,
    maximal_matching, mis, mis_at_distance_2, mis_many, pagerank, priorities, propagate_labels, spanning_forest, sssp,
    sssp_parents, star_coloring, strong_components, triangles, vertex_cover, weights,
};
use vxm::backend::cuda::Gpu;
use vxm::io::{generate, read};
use vxm::prelude::*;
use vxm::semiring::Element;

/// Bytes that are taken whatever the graph is.
const ALWAYS: u64 = 4 << 20;

/// What an algorithm finds, to be compared.
type Digest = Box<dyn FnOnce() -> String>;

/// An algorithm, of a graph or of one with weights.
enum Run {
    Plain(fn(&Matrix) -> Result<Digest>),
    Weighted(fn(&Matrix<u32>) -> Result<Digest>),
}
use Run::{Plain, Weighted};

/// Algorithms: their names, the bytes a vertex that must be on the device, and functions that run them.
const RUNS: [(&str, u64, Run); 32] = [
    ("mis resolve", 38, Plain(|a| set(a, Priority::Resolve))),
    ("mis sorted", 34, Plain(|a| set(a, Priority::Sorted))),
    ("mis best-of 16", 231, Plain(best_of)),
    (
        "mis distance-2",
        58,
        Plain(|a| mis_at_distance_2(a, &priorities(a, Priority::Sorted, 1)?).map(|found| digest(found.set))),
    ),
    (
        "aggregates",
        58,
        Plain(|a| aggregates(a, &priorities(a, Priority::Sorted, 1)?).map(|found| digest(found.aggregate))),
    ),
    ("cover", 92, Plain(|a| vertex_cover(a, &MisOptions::default()).map(|found| digest(found.set)))),
    ("clique", 70, Plain(|a| maximal_clique(a, &smallest_degree_last(a, 1)?).map(|found| digest(found.members)))),
    ("color jp", 70, Plain(|a| colored(a, Method::Jp, Order::LargestDegreeFirst))),
    ("color jp, smallest last", 70, Plain(|a| colored(a, Method::Jp, Order::SmallestDegreeLast))),
    ("color hash", 54, Plain(|a| colored(a, Method::Hash, Order::LargestDegreeFirst))),
    ("color mis", 54, Plain(|a| colored(a, Method::Mis, Order::LargestDegreeFirst))),
    ("color is", 54, Plain(|a| colored(a, Method::Is, Order::LargestDegreeFirst))),
    ("color min-max", 54, Plain(|a| colored(a, Method::MinMax, Order::LargestDegreeFirst))),
    ("color neighbor-reduce", 54, Plain(|a| colored(a, Method::NeighborReduce, Order::LargestDegreeFirst))),
    ("color speculative", 54, Plain(|a| colored(a, Method::Speculative, Order::LargestDegreeFirst))),
    (
        "color distance-2",
        232,
        Plain(|a| color_at_distance_2(a, &largest_degree_first(a, 1)?).map(|found| digest(found.colors))),
    ),
    ("color star", 232, Plain(|a| star_coloring(a, &largest_degree_first(a, 1)?).map(|found| digest(found.colors)))),
    ("bfs", 40, Plain(|a| bfs(a, 0).map(digest))),
    ("bfs parents", 50, Plain(|a| bfs_parents(a, 0).map(digest))),
    ("sssp", 44, Weighted(|a| sssp(a, 0).map(digest))),
    ("sssp tree", 136, Weighted(|a| sssp_parents(a, 0).map(digest))),
    ("components", 30, Plain(|a| components(a).map(digest))),
    ("pagerank f32", 52, Plain(|a| pagerank::<f32>(a, &PageRankOptions::default()).map(|found| digest(found.ranks)))),
    ("pagerank f64", 76, Plain(|a| pagerank::<f64>(a, &PageRankOptions::default()).map(|found| digest(found.ranks)))),
    ("kcore", 54, Plain(|a| core_numbers(a).map(digest))),
    ("betweenness", 88, Plain(|a| betweenness(a, &[0, 1]).map(digest))),
    ("labels", 40, Plain(|a| propagate_labels(a, 20).map(|found| digest(found.labels)))),
    ("communities", 280, Plain(|a| communities(a, 1e-6).map(|found| digest(found.labels)))),
    ("triangles", 240, Plain(|a| triangles(a).map(digest))),
    (
        "ktruss",
        128,
        Plain(|a| ktruss(a, 4).map(|found| -> Digest { Box::new(move || found.support.nnz().to_string()) })),
    ),
    (
        "msf",
        144,
        Weighted(|a| spanning_forest(a).map(|found| -> Digest { Box::new(move || found.forest.nnz().to_string()) })),
    ),
    ("scc", 124, Plain(|a| strong_components(a).map(|found| digest(found.labels)))),
];

/// Algorithms that take the edges' weights, or draw some.
const MATCHINGS: [(&str, u64, Run); 2] = [
    ("matching", 92, Plain(|a| maximal_matching(a, 1).map(|found| digest(found.mate)))),
    ("matching weighted", 92, Weighted(|a| dominant_matching(a, 1).map(|found| digest(found.mate)))),
];

fn set(a: &Matrix, priority: Priority) -> Result<Digest> {
    mis(a, &MisOptions::default().priority(priority)).map(|found| digest(found.set))
}

fn best_of(a: &Matrix) -> Result<Digest> {
    let found = mis_many(a, &MisOptions::default(), &(0..16).collect::<Vec<u64>>())?;
    Ok(Box::new(move || found.iter().map(|found| found.set.digest().to_string()).collect::<Vec<_>>().join(" ")))
}

fn colored(a: &Matrix, method: Method, order: Order) -> Result<Digest> {
    color(a, &ColoringOptions::default().method(method).order(order)).map(|found| digest(found.colors))
}

fn digest<T: Element>(found: Vector<T>) -> Digest {
    Box::new(move || found.digest().to_string())
}

/// The median seconds of `times` calls after one to warm up, and the answer.
fn timed<R>(times: usize, device: Device, mut f: impl FnMut() -> Result<R>) -> Result<(f64, R)> {
    let mut answer = f()?;
    let mut seconds = Vec::new();
    for _ in 0..times {
        device.synchronize()?;
        let start = Instant::now();
        answer = f()?;
        device.synchronize()?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    Ok((seconds[times / 2], answer))
}

/// What is measured: how often, on which parts of the memory, and by which algorithms.
struct Asked {
    times: usize,
    parts: Vec<u64>,
    names: Vec<String>,
    /// Whether budgets from the least one on are tried, and no times are taken.
    sweeps: bool,
}

fn measure(name: &str, asked: &Asked, device: Device, gpu: &Gpu) -> Result<()> {
    let start = Instant::now();
    let loaded = if name.contains(':') { generate(name, &()) } else { read(name, &()) }?;
    let a = Matrix::from_simple(loaded.graph);
    let (n, entries) = (a.nrows() as u64, a.nnz());
    println!("{name} | {n} vertices, {entries} entries | made in {:.2} s", start.elapsed().as_secs_f64());
    let size = ((4 * entries) as usize).min(1 << 30);
    let (from, mut to) = (gpu.alloc_on_host(size)?, gpu.alloc(size)?);
    let (copy, ()) = timed(asked.times.max(3), device, || Ok(to.copy_from(&from, size)?))?;
    drop((from, to));
    println!("{name} | copy over the bus | {:.2} GB/s", size as f64 / copy / 1e9);
    {
        let _limit = device.limit_memory(40 * n + (4 << 20))?;
        let (there, all) = (a.to(device)?, Vector::from_dense((0..n as u32).collect::<Vec<_>>()).to(device)?);
        let (product, _) = timed(asked.times.max(3), device, || all.vxm(&there, MAX_FIRST).eval())?;
        println!("{name} | max.first of all over the bus | {:.3} ms", product * 1e3);
    }
    let weighted = weights(&a, 1, 1000, 1)?;
    for (what, least, run) in RUNS.iter().chain(&MATCHINGS) {
        if !asked.names.is_empty() && !asked.names.iter().any(|name| what.starts_with(name.as_str())) {
            continue;
        }
        let case = Case { name, what, least: least * n + ALWAYS, seconds_a_byte: copy / size as f64 };
        let measured = match run {
            Plain(run) => case.measure(&a, *run, asked, device, gpu),
            Weighted(run) => case.measure(&weighted, *run, asked, device, gpu),
        };
        if let Err(error) = measured {
            println!("{name} | {what} | {error}");
        }
    }
    Ok(())
}

/// An algorithm on a graph.
struct Case<'a> {
    name: &'a str,
    what: &'a str,
    /// The least bytes of device memory that do.
    least: u64,
    seconds_a_byte: f64,
}

impl Case<'_> {
    fn measure<T: Element>(
        &self,
        a: &Matrix<T>,
        run: fn(&Matrix<T>) -> Result<Digest>,
        asked: &Asked,
        device: Device,
        gpu: &Gpu,
    ) -> Result<()> {
        if asked.sweeps {
            return self.sweep(a, run, device, gpu);
        }
        let Self { name, what, least, seconds_a_byte } = self;
        gpu.trim()?;
        gpu.take_peak();
        let there = a.to(device)?;
        let (all, found) = timed(asked.times, device, || run(&there))?;
        let most = gpu.take_peak();
        let digest = found();
        drop(there);
        println!("{name} | {what} | all memory | {:.3} ms | {most} bytes", all * 1e3);
        for part in &asked.parts {
            let budget = (most / part).max(*least);
            let _limit = device.limit_memory(budget)?;
            gpu.trim()?;
            gpu.take_peak();
            device.leave_for_vectors((least - ALWAYS) / a.nrows() as u64)?;
            let start = Instant::now();
            let there = a.to(device)?;
            let placed = start.elapsed().as_secs_f64();
            let (seconds, found) = timed(asked.times, device, || run(&there))?;
            let (peak, host) = (gpu.take_peak(), gpu.used_on_host());
            let same = found() == digest;
            println!(
                "{name} | {what} | 1/{part}: {budget} bytes | {:.3} ms, {:.2} passes at the bus' speed | {peak} bytes, {host} on the \
                 host, placed in {placed:.2} s | {}",
                seconds * 1e3,
                seconds / seconds_a_byte / (4 * a.nnz()) as f64,
                if same { "same answer" } else { "ANOTHER ANSWER" }
            );
        }
        Ok(())
    }

    /// Tries budgets from the least one on to all that is taken, and tells those that don't do.
    fn sweep<T: Element>(
        &self,
        a: &Matrix<T>,
        run: fn(&Matrix<T>) -> Result<Digest>,
        device: Device,
        gpu: &Gpu,
    ) -> Result<()> {
        const STEPS: i32 = 12;
        let n = a.nrows() as u64;
        gpu.trim()?;
        gpu.take_peak();
        let digest = run(&a.to(device)?)?();
        let most = gpu.take_peak();
        let least = self.least - ALWAYS;
        let mut failed = 0;
        for step in 0..=STEPS {
            let budget =
                (least as f64 * (most as f64 / least as f64).max(1.0).powf(f64::from(step) / f64::from(STEPS))) as u64;
            let _limit = device.limit_memory(budget)?;
            device.leave_for_vectors(least / n)?;
            gpu.trim()?;
            let found = a.to(device).and_then(|there| run(&there)).map(|found| found());
            if !found.as_ref().is_ok_and(|found| *found == digest) {
                failed += 1;
                println!("{} | {} | {:.1} bytes a vertex | {found:?}", self.name, self.what, budget as f64 / n as f64);
            }
        }
        println!("{} | {} | {failed} of {} budgets failed", self.name, self.what, STEPS + 1);
        Ok(())
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let device: Device = "cuda".parse()?;
    let gpu = Gpu::open(0)?;
    let number = |mark: char| arguments.iter().find_map(|argument| argument.strip_prefix(mark)?.parse().ok());
    let names = arguments.iter().filter_map(|argument| argument.strip_prefix('=')).map(str::to_owned).collect();
    let parts = number('/').map_or(vec![2, 4, 16], |part| vec![part]);
    let sweeps = arguments.iter().any(|argument| argument == "sweep");
    let asked = Asked { times: number('x').unwrap_or(3) as usize, parts, names, sweeps };
    println!("{}", gpu.name());
    let graphs: Vec<&String> = arguments.iter().filter(|name| name.contains([':', '.'])).collect();
    if graphs.is_empty() {
        return ["kron:20:48", "rmat:22:8"].iter().try_for_each(|name| measure(name, &asked, device, &gpu));
    }
    graphs.into_iter().try_for_each(|name| measure(name, &asked, device, &gpu))
}
