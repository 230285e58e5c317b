//! Algorithms on ranks, on CPUs or on GPUs: times, and bytes sent.
//!
//! ```text
//! mpirun -n 2 cargo bench --bench ranks -- --device cuda --link nccl --grid 2x1 kron:20:16 grid:2048x2048
//! ```
//!
//! Each rank reads each graph, and runs each algorithm 3 times and then `--runs` times. Rank 0 prints a row of a Markdown table for each
//! algorithm: the median time of the slowest rank, the bytes that ranks told each other through the host, the rounds, and the digest. Without
//! a launcher there is one rank, which runs as a process does without ranks.

use std::time::Instant;
use vxm::algorithms::{
    ColoringOptions, Method, MisOptions, PageRankOptions, Priority, bfs, color, components, mis, pagerank,
};
use vxm::prelude::*;
use vxm::ranks::{Grid, Link, Shape};

/// An answer: the number of rounds, and what computes its digest.
type Answer = (u32, Box<dyn FnOnce() -> Result<u64>>);
/// The algorithms by name.
type Algorithm = (&'static str, fn(&Matrix) -> Result<Answer>);
const ALGORITHMS: [Algorithm; 6] = [
    ("mis degree", |a| {
        let found = mis(a, &MisOptions::default().priority(Priority::Degree))?;
        Ok((found.rounds, digest(found.set)))
    }),
    ("mis sorted", |a| {
        let found = mis(a, &MisOptions::default().priority(Priority::Sorted))?;
        Ok((found.rounds, digest(found.set)))
    }),
    ("color jp", |a| {
        let found = color(a, &ColoringOptions::default().method(Method::Jp))?;
        Ok((found.rounds, digest(found.colors)))
    }),
    ("components", |a| Ok((0, digest(components(a)?)))),
    ("bfs", |a| Ok((0, digest(bfs(a, 0)?)))),
    ("pagerank", |a| {
        let found = pagerank::<f32>(a, &PageRankOptions::default())?;
        Ok((found.rounds, digest(found.ranks)))
    }),
];

/// The digest of the whole vector; 0 on ranks that don't have it.
fn digest<T: Element>(found: Vector<T>) -> Box<dyn FnOnce() -> Result<u64>> {
    Box::new(move || Ok(found.to_root()?.map_or(0, |whole| whole.digest())))
}

/// What the command line asks for.
struct Asked {
    grid: Shape,
    device: String,
    link: Link,
    runs: usize,
    only: Option<String>,
    graphs: Vec<String>,
}

fn asked() -> Result<Asked> {
    let mut asked = Asked {
        grid: Shape::Auto,
        device: "cpu".to_owned(),
        link: Link::Auto,
        runs: 10,
        only: None,
        graphs: Vec::new(),
    };
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| Error::invalid(format!("{argument}: expected a value")));
        match &argument[..] {
            "--grid" => asked.grid = value()?.parse()?,
            "--device" => asked.device = value()?,
            "--link" => asked.link = value()?.parse()?,
            "--runs" => {
                let runs = value()?.parse().ok().filter(|&runs| runs > 0);
                asked.runs = runs.ok_or_else(|| Error::invalid("--runs: expected a number above 0"))?;
            }
            "--only" => asked.only = Some(value()?),
            _ => asked.graphs.push(argument),
        }
    }
    if asked.graphs.is_empty() {
        asked.graphs.push("kron:12:16".to_owned());
    }
    Ok(asked)
}

fn main() -> Result<()> {
    let asked = asked()?;
    let joined = Grid::join(asked.grid)?;
    let grid = match &asked.device[..] {
        "cpu" => joined,
        "cuda" => joined.on_gpus(asked.link)?,
        device => joined.on_device(device.parse()?, asked.link)?,
    };
    let (rows, columns) = grid.shape();
    let link = grid.link().map_or(String::new(), |link| format!(" {link}"));
    let place = format!("{rows}x{columns} {}{link}", grid.device());
    for graph in &asked.graphs {
        let a = grid.read(graph, &())?;
        for (name, run) in ALGORITHMS {
            let refused = name == "pagerank" && columns > 1;
            if refused || asked.only.as_ref().is_some_and(|only| !name.contains(&only[..])) {
                continue;
            }
            let (mut times, mut answer) = (Vec::new(), None);
            let before = grid.sent();
            for turn in 0..3 + asked.runs {
                grid.sum(&[0])?;
                let start = Instant::now();
                answer = Some(run(&a)?);
                grid.device().synchronize()?;
                // the slowest rank's time
                let took = start.elapsed().as_nanos() as u64;
                let all = grid.world().exchange(vec![took.to_le_bytes().to_vec(); grid.size()])?;
                let slowest =
                    all.iter().filter_map(|word| word.first_chunk()).map(|word| u64::from_le_bytes(*word)).max();
                if turn >= 3 {
                    times.push(slowest.unwrap_or(took));
                }
            }
            times.sort_unstable();
            let bytes: u64 = grid.sent().iter().zip(before).map(|(now, before)| now.bytes - before.bytes).sum();
            let bytes = grid.sum(&[bytes])?[0] as f64 / (3 + asked.runs) as f64 / a.nrows().max(1) as f64;
            let Some((rounds, digest)) = answer else { continue };
            let digest = digest()?;
            if grid.rank() == 0 {
                let median = times[times.len() / 2] as f64 / 1e6;
                println!(
                    "| {graph} | {name} | {place} | {median:.3} ms | {bytes:.2} B/vertex | {rounds} rounds | {digest:016x} |"
                );
            }
        }
    }
    Ok(())
}
