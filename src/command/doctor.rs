//! `vxm doctor`: what a GPU needs; and, of ranks, how fast they and their links are.

use crate::command::arguments::Doctor;
use crate::command::{WRONG, job, print};
use std::process::ExitCode;
use std::time::Instant;
use vxm::algorithms::{MisOptions, Priority, bfs, components, mis};
use vxm::prelude::*;
use vxm::ranks::{Communicator, Grid, Launcher, Link, LinkModel, Model, Sums, simulate};

/// The graphs that ranks are measured on: much to fold and few rounds, and little to fold and many. On GPUs more is folded, or else the time
/// would be that of launches alone.
const GRAPHS: [&str; 3] = ["kron:16:16", "er:16:16", "grid:192x192"];
const GRAPHS_ON_GPUS: [&str; 3] = ["kron:20:16", "er:20:16", "grid:192x192"];
/// How often each run is timed.
const RUNS: usize = 5;
/// How often an exchange is timed.
const EXCHANGES: usize = 21;
/// The bytes of a parcel that tells the rate of a link, and of one that tells the time of a message.
const LARGE: usize = 4 << 20;
const SMALL: usize = 8;

/// The algorithms that ranks are measured with.
type Program = fn(&Matrix) -> Result<()>;
const PROGRAMS: [(&str, Program); 3] = [
    ("mis", |a| mis(a, &MisOptions::default().priority(Priority::Sorted)).map(drop)),
    ("bfs", |a| bfs(a, 0).map(drop)),
    ("components", |a| components(a).map(drop)),
];

/// Prints which libraries and devices were found, or how fast ranks are. The status is 0 if kernels can be compiled and run.
pub fn doctor(options: &Doctor) -> Result<ExitCode> {
    if options.ranks {
        return ranks();
    }
    let report = vxm::kernels::doctor();
    print(&format!("{report}\n"))?;
    Ok(if report.is_ready() { ExitCode::SUCCESS } else { ExitCode::from(WRONG) })
}

/// Measures the ranks of this job, and prints a model of their time.
fn ranks() -> Result<ExitCode> {
    let Some(grid) = job::grid().filter(|grid| grid.size() > 1) else {
        return Err(Error::invalid("doctor --ranks: expected several ranks, such as by mpirun -n 4"));
    };
    // loops among peers have no rounds, which the model counts
    let grid = match grid.link() {
        Some(Link::Peers) => grid.on_device(grid.device(), Link::Nccl)?,
        _ => grid,
    };
    let (host, near, far) = links(&grid)?;
    let (rows, columns) = grid.shape();
    print(&format!("{} in {rows}x{columns}, {host} a host, on {}\n", grid.world().name(), grid.device()))?;
    let mut runs = Vec::new();
    let on_gpus = grid.device() != Device::Cpu;
    // components are found by the hosts of GPUs, which the model knows nothing of
    let programs = if on_gpus { &PROGRAMS[..2] } else { &PROGRAMS };
    for graph in if on_gpus { GRAPHS_ON_GPUS } else { GRAPHS } {
        let a = grid.read(graph, &())?;
        for &(name, program) in programs {
            let seconds = measured(&grid, || program(&a))?;
            let sums =
                if grid.rank() == 0 { simulated(grid.shape(), host, graph, program) } else { Ok(Sums::default()) };
            runs.push((format!("{name} {graph}"), grid.agree(sums)?, seconds));
        }
    }
    let links = Model { near, far, ..Model::cpu() };
    let counted: Vec<_> = runs.iter().map(|(_, sums, seconds)| (*sums, *seconds)).collect();
    // what carries elements between GPUs isn't what was timed
    let model = links.fitted(&counted, on_gpus);
    // rank 0 alone has counted
    let model = if grid.rank() == 0 { model? } else { links };
    print(&format!("{:<24}{:>12}{:>12}{:>8}\n", "", "measured ms", "modelled ms", "ratio"))?;
    for (name, sums, seconds) in &runs {
        let modelled = sums.time(&model, 1).seconds();
        let (ms, modelled_ms, ratio) = (seconds * 1e3, modelled * 1e3, modelled / seconds);
        print(&format!("{name:<24}{ms:>12.3}{modelled_ms:>12.3}{ratio:>8.2}\n"))?;
    }
    print(&format!("--host {host} --model {model}\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// The counts of a run on so many ranks on CPUs, in threads of this process.
fn simulated(shape: (usize, usize), host: usize, graph: &str, program: Program) -> Result<Sums> {
    let (_, simulated) = simulate(shape, host, |grid| {
        let a = grid.read(graph, &())?;
        grid.begin_recording();
        program(&a)?;
        grid.end_recording();
        Ok(())
    })?;
    Ok(simulated.total())
}

/// The median seconds of some runs, after one that isn't counted. Of each run the slowest rank counts.
fn measured(grid: &Grid, run: impl Fn() -> Result<()>) -> Result<f64> {
    let mut times = Vec::new();
    for _ in 0..=RUNS {
        grid.sum(&[0])?;
        let start = Instant::now();
        run()?;
        grid.device().synchronize()?;
        // all have ended
        grid.sum(&[0])?;
        times.push(start.elapsed().as_secs_f64());
    }
    Ok(median(&mut times[1..]))
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}

/// How many ranks share a host, and what links within a host and between hosts take. If all ranks share one, or none do, there is one kind of
/// link.
fn links(grid: &Grid) -> Result<(usize, LinkModel, LinkModel)> {
    let local = Launcher::seen().and_then(|launcher| launcher.local_size).unwrap_or(1).max(1);
    // hosts with other numbers of ranks aren't told apart
    let host = if grid.sum(&[local as u64])?[0] == (local * grid.size()) as u64 { local } else { 1 };
    let world = grid.world();
    let near = world.split((grid.rank() / host) as u32, grid.rank() as u32)?;
    let far = world.split((grid.rank() % host) as u32, grid.rank() as u32)?;
    let (near, far) = (link(grid, &*near)?, link(grid, &*far)?);
    let known = near.or(far).unwrap_or(Model::cpu().near);
    Ok((host, near.unwrap_or(known), far.unwrap_or(known)))
}

/// What the links between the members of a group take; `None` of a group of one. All ranks of the grid call this.
fn link(grid: &Grid, group: &dyn Communicator) -> Result<Option<LinkModel>> {
    if group.size() < 2 {
        return Ok(None);
    }
    let others = (group.size() - 1) as f64;
    let exchange = |bytes: usize| -> Result<f64> {
        let mut times = Vec::new();
        for _ in 0..EXCHANGES {
            let out = vec![vec![1u8; bytes]; group.size()];
            grid.sum(&[0])?;
            let start = Instant::now();
            group.exchange(out)?;
            times.push(start.elapsed().as_secs_f64());
        }
        Ok(median(&mut times))
    };
    let alpha = exchange(SMALL)? / others;
    // a long parcel takes a message more, for its length
    let carried = exchange(LARGE)? - 2.0 * others * alpha;
    let beta = LARGE as f64 * others / carried.max(1e-9);
    Ok(Some(LinkModel { alpha, beta }))
}
