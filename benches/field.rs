//! The algorithms of the field on one device, to be compared with other programs on the same files.
//!
//! `cargo bench --bench field -- [--device cuda] [ALGORITHM...] FILE...` prints a row of CSV for each algorithm and file: microseconds, the
//! median, the least and the greatest of 11 runs after 3 to warm up, and a number that other programs have too: the weight of the forest, the
//! number of strong components, the sum of the distances from vertex 0, the number of triangles, the modularity. The graph lies on the device before.
//!
//! A FILE is of any format that has weights, such as `.egr`. `scc` takes the edges with their directions; the others need an undirected graph,
//! with its weights (`msf`, `sssp`) or without them (`pagerank` of 20 rounds, divided by them; `triangles`; `communities`; `kcore`).

use std::hint::black_box;
use std::time::Instant;
use vxm::algorithms::{
    Communities, PageRankOptions, communities, core_numbers, count_triangles, pagerank, spanning_forest, sssp,
    strong_components,
};
use vxm::containers::Vector;
use vxm::io::{Weighted, read_weighted};
use vxm::prelude::*;

const WARM: usize = 3;
const RUNS: usize = 11;
const ROUNDS: u32 = 20;
const TOLERANCE: f64 = 1e-6;
const ALGORITHMS: [&str; 7] = ["pagerank", "triangles", "communities", "kcore", "msf", "scc", "sssp"];

/// The microseconds of runs in order, and the last answer. A run ends when the device has nothing left to do.
fn timed<R>(device: Device, run: &dyn Fn() -> Result<R>) -> Result<(Vec<f64>, R)> {
    let (mut times, mut last) = (Vec::new(), run()?);
    for k in 0..WARM + RUNS {
        device.synchronize()?;
        let start = Instant::now();
        last = black_box(run()?);
        device.synchronize()?;
        if k >= WARM {
            times.push(start.elapsed().as_secs_f64() * 1e6);
        }
    }
    times.sort_unstable_by(f64::total_cmp);
    Ok((times, last))
}

/// Times an algorithm and prints its row. `told` is the number that other programs have.
fn row<R>(
    (name, graph, device): (&str, &str, Device),
    per: f64,
    run: &dyn Fn() -> Result<R>,
    told: impl FnOnce(R) -> String,
) -> Result<()> {
    let (times, answer) = timed(device, run)?;
    let [median, least, most] = [RUNS / 2, 0, RUNS - 1].map(|k| times[k] / per);
    println!("vxm,{name},{graph},{median:.1},{least:.1},{most:.1},{}", told(answer));
    Ok(())
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).filter(|word| word != "--bench");
    let (mut device, mut names, mut files) = (Device::Cpu, Vec::new(), Vec::new());
    while let Some(word) = arguments.next() {
        match word.as_str() {
            "--device" => {
                device = arguments.next().ok_or_else(|| Error::invalid("--device: expected a device"))?.parse()?
            }
            name if ALGORITHMS.contains(&name) => names.push(word),
            _ => files.push(word),
        }
    }
    println!("program,algorithm,graph,median us,least us,greatest us,result");
    for file in &files {
        let (weighted, pattern) = match read_weighted(file, &())? {
            Weighted::None(loaded) => (None, Matrix::from_csr(loaded.graph)),
            Weighted::Integer(loaded) => {
                let a = Matrix::from_csr(loaded.graph);
                let pattern = a.pattern();
                (Some(a), pattern)
            }
            Weighted::Real(loaded) => return Err(Error::invalid(format!("{}: expected integers", loaded.name))),
        };
        let undirected = pattern.csr().is_symmetric();
        let weighted = match weighted {
            Some(a) if undirected => Some(Matrix::from_symmetric(a.csr().clone())?.to(device)?),
            _ => None,
        };
        let directed = pattern.to(device)?;
        let graph = if undirected { Some(Matrix::from_simple(pattern.csr().clone()).to(device)?) } else { None };
        let runs = |name: &str| names.is_empty() || names.iter().any(|asked| asked == name);
        let (about, none) = (|name| (name, file.as_str(), device), |_| String::new());
        if let Some(a) = &graph {
            if runs("pagerank") {
                let options = PageRankOptions::default().rounds(ROUNDS);
                row(about("pagerank"), ROUNDS.into(), &|| pagerank::<f32>(a, &options), none)?;
            }
            if runs("triangles") {
                row(about("triangles"), 1.0, &|| count_triangles(a), |count| count.to_string())?;
            }
            if runs("communities") {
                let told = |found: Communities| format!("{:.6}", found.modularity);
                row(about("communities"), 1.0, &|| communities(a, TOLERANCE), told)?;
            }
            if runs("kcore") {
                let most = |cores: Vector<u32>| cores.to_dense(0).iter().max().copied().unwrap_or(0).to_string();
                row(about("kcore"), 1.0, &|| core_numbers(a), most)?;
            }
        } else if runs("scc") {
            let count = |labels: Vector<u32>| {
                let labels = labels.to_dense(0);
                (0..).zip(&labels).filter(|&(v, &label): &(u32, _)| v == label).count().to_string()
            };
            row(about("scc"), 1.0, &|| Ok(strong_components(&directed)?.labels), count)?;
        }
        if let Some(a) = &weighted {
            if runs("msf") {
                let weight = |forest: Matrix| {
                    let edges = forest.iter().filter(|&(i, j, ())| i < j);
                    edges.map(|(i, j, ())| u64::from(a.get(i, j).unwrap_or(0))).sum::<u64>().to_string()
                };
                row(about("msf"), 1.0, &|| Ok(spanning_forest(a)?.forest), weight)?;
            }
            if runs("sssp") {
                let sum = |far: Vector<u32>| far.iter().map(|(_, far)| u64::from(far)).sum::<u64>().to_string();
                row(about("sssp"), 1.0, &|| sssp(a, 0), sum)?;
            }
        }
    }
    Ok(())
}
