//! Algorithms on a GPU under memory budgets. `cargo bench --bench memory`, or its binary on a machine without Rust. Arguments with a colon are
//! graphs, or native files by their names; `x3` takes the median of so many runs.
//!
//! Each algorithm runs with all memory, and with a half, a quarter and a sixteenth of what it took then; less than the least budget that
//! does is raised to it. A line tells the time, the most bytes on the device, the bytes of matrices on the host, and whether the answer is the same. The first
//! lines of a graph tell the speed of the bus by a copy, and by a product that reads all entries over it.

use std::time::Instant;
use vxm::algorithms::{
    ColoringOptions, MisOptions, PageRankOptions, Priority, bfs, color, components, core_numbers, mis, pagerank,
};
use vxm::backend::cuda::Gpu;
use vxm::io::{generate, read};
use vxm::prelude::*;

/// What an algorithm finds, to be compared.
type Digest = Box<dyn FnOnce() -> String>;

/// An algorithm: its name, and a function that runs it.
type Run = (&'static str, fn(&Matrix) -> Result<Digest>);

const RUNS: [Run; 7] = [
    ("mis resolve", |a| set(a, Priority::Resolve)),
    ("mis sorted", |a| set(a, Priority::Sorted)),
    ("color jp", |a| color(a, &ColoringOptions::default()).map(|found| digest(found.colors))),
    ("components", |a| components(a).map(digest)),
    ("bfs", |a| bfs(a, 0).map(digest)),
    ("kcore", |a| core_numbers(a).map(digest)),
    ("pagerank f32", |a| pagerank::<f32>(a, &PageRankOptions::default()).map(|found| digest(found.ranks))),
];

fn set(a: &Matrix, priority: Priority) -> Result<Digest> {
    mis(a, &MisOptions::default().priority(priority)).map(|found| digest(found.set))
}

fn digest<T: vxm::semiring::Element>(found: Vector<T>) -> Digest {
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

fn measure(name: &str, times: usize, device: Device, gpu: &Gpu) -> Result<()> {
    let start = Instant::now();
    let loaded = if name.contains(':') { generate(name, &()) } else { read(name, &()) }?;
    let a = Matrix::from_simple(loaded.graph);
    let (n, entries) = (a.nrows() as u64, a.nnz());
    println!("{name} | {n} vertices, {entries} entries | made in {:.2} s", start.elapsed().as_secs_f64());
    let bytes = (4 * entries) as usize;
    let size = bytes.min(1 << 30);
    let (from, mut to) = (gpu.alloc_on_host(size)?, gpu.alloc(size)?);
    let (copy, ()) = timed(times.max(3), device, || Ok(to.copy_from(&from, size)?))?;
    drop((from, to));
    println!("{name} | copy over the bus | {:.2} GB/s", size as f64 / copy / 1e9);
    let least = 88 * n + (4 << 20);
    for (what, run) in RUNS {
        gpu.trim()?;
        gpu.take_peak();
        let there = a.to(device)?;
        let (all, found) = timed(times, device, || run(&there))?;
        let most = gpu.take_peak();
        let digest = found();
        drop(there);
        println!("{name} | {what} | all memory | {:.3} ms | {most} bytes", all * 1e3);
        for part in [2, 4, 16] {
            let budget = (most / part).max(least);
            let _limit = device.limit_memory(budget)?;
            gpu.trim()?;
            gpu.take_peak();
            let start = Instant::now();
            let there = a.to(device)?;
            let placed = start.elapsed().as_secs_f64();
            let (seconds, found) = timed(times, device, || run(&there))?;
            let (peak, host) = (gpu.take_peak(), gpu.used_on_host());
            let same = found() == digest;
            println!(
                "{name} | {what} | 1/{part}: {budget} bytes | {:.3} ms, {:.2} passes at the bus' speed | {peak} bytes, {host} on the \
                 host, placed in {placed:.2} s | {}",
                seconds * 1e3,
                seconds * size as f64 / copy / bytes as f64,
                if same { "same answer" } else { "ANOTHER ANSWER" }
            );
            if part == 4 && what == "components" {
                let all = Vector::from_dense((0..n as u32).collect::<Vec<_>>()).to(device)?;
                let (product, _) = timed(times.max(3), device, || all.vxm(&there, MAX_FIRST).eval())?;
                println!(
                    "{name} | max.first of all over the bus | {:.3} ms, {:.2} GB/s",
                    product * 1e3,
                    bytes as f64 / product / 1e9
                );
            }
        }
    }
    Ok(())
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let device: Device = "cuda".parse()?;
    let gpu = Gpu::open(0)?;
    let times = arguments.iter().find_map(|argument| argument.strip_prefix('x')?.parse().ok()).unwrap_or(3);
    println!("{}", gpu.name());
    let graphs: Vec<&String> = arguments.iter().filter(|name| name.contains([':', '.'])).collect();
    if graphs.is_empty() {
        return ["kron:20:48", "rmat:22:8"].iter().try_for_each(|name| measure(name, times, device, &gpu));
    }
    graphs.into_iter().try_for_each(|name| measure(name, times, device, &gpu))
}
