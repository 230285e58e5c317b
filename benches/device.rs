//! Operations and algorithms on a GPU. `cargo bench --bench device`, or its binary on a machine without Rust.
//!
//! A time is the median of ten batches, each between two synchronisations, with kernels compiled and the graph resident. A batch is fifty
//! calls, or one call of a colouring, components or a path algorithm. Bytes are the least that an operation must move: the matrix once, the
//! vectors once.
//!
//! Arguments with a colon are graphs; the others are parts: `products`, `counts`, `components`, `sets`, `phases`, `searches`,
//! `colorings`, `paths` and `peers`. Without parts all run but `counts`, which is a part of `products`, and `peers`, which times only what
//! hand-written programs are compared with. `VXM_BENCH_DUMP=DIR` writes the arrays of each graph, for such a program to read.

use std::time::Instant;
use vxm::algorithms::priority::largest_degree_first;
use vxm::algorithms::{
    Coloring, ColoringOptions, Formulation, Method, MisOptions, Order, Priority, bfs, bfs_many, color, color_in_order,
    components, mis, mis_in_order, priorities, sssp,
};
use vxm::backend::plan::{Forced, Format, Schedule, Strategy, force};
use vxm::io::generate;
use vxm::prelude::*;

const GRAPHS: [&str; 6] = ["grid:4096x4096", "rmat:22:8", "kron:20:48", "er:21:8", "rgg:20", "delaunay:19"];

/// A weight for each edge, the same in both directions.
#[op]
fn weight(i: u32, j: u32, _entry: ()) -> f32 {
    ((i ^ j) & 255u32) as f32 + 0.5f32
}

/// Calls between two synchronisations: enough to make the cost of synchronising small.
const BATCH: u32 = 50;

/// The seconds that one call of `f` takes: the median of ten batches of fifty calls, after three calls to warm up.
fn seconds(device: Device, f: impl FnMut() -> Result<()>) -> Result<f64> {
    seconds_of(device, BATCH, f)
}

/// The same, with `batch` calls a batch.
fn seconds_of(device: Device, batch: u32, mut f: impl FnMut() -> Result<()>) -> Result<f64> {
    for _ in 0..3 {
        f()?;
    }
    let mut times = Vec::new();
    for _ in 0..10 {
        device.synchronize()?;
        let start = Instant::now();
        for _ in 0..batch {
            f()?;
        }
        device.synchronize()?;
        times.push(start.elapsed().as_secs_f64() / f64::from(batch));
    }
    times.sort_by(f64::total_cmp);
    Ok(times[5])
}

fn tell(graph: &str, what: &str, seconds: f64, bytes: usize) {
    println!("{graph} | {what} | {:.1} us | {:.0} GB/s", seconds * 1e6, bytes as f64 / seconds / 1e9);
}

fn dump(graph: &str, a: &Matrix<f32>) -> Result<()> {
    let Ok(folder) = std::env::var("VXM_BENCH_DUMP") else { return Ok(()) };
    let csr = a.csr();
    let write = |name: &str, bytes: Vec<u8>| {
        let file = format!("{folder}/{}.{name}", graph.replace(':', "_"));
        std::fs::write(&file, bytes).map_err(Error::io(file))
    };
    write("offsets", csr.offsets().iter().flat_map(|&x| (x as u32).to_le_bytes()).collect())?;
    write("columns", csr.columns().iter().flat_map(|x| x.to_le_bytes()).collect())?;
    write("values", csr.values().iter().flat_map(|x| x.to_le_bytes()).collect())
}

/// Products of semirings with a constant multiplication (pair), by each strategy.
fn counting(graph: &str, device: Device, pattern: &Matrix, a: &Matrix, half: &Set) -> Result<()> {
    let start = Instant::now();
    half.vxm(&a.clone().with_format(Some(Format::Tiles)), PLUS_PAIR).eval()?;
    device.synchronize()?;
    let first = start.elapsed().as_secs_f64();
    let tiles = pattern.tiles();
    let (fill, tiles) = (tiles.fill(), tiles.tiles());
    println!("{graph} | tiles {tiles} | fill {fill:.1} | made and used the first time in {:.1} ms", first * 1e3);
    let by = |strategy| Forced { strategy: Some(strategy), ..Forced::default() };
    let csr = Forced { format: Some(Format::Csr), ..Forced::default() };
    let ways = [
        ("csr", csr),
        ("tiles by bits", by(Strategy::CountTiles)),
        ("tiles by f16 tensor cores", by(Strategy::CountTilesTensor)),
        ("tiles by 1-bit tensor cores", by(Strategy::CountTilesBits)),
    ];
    let n = a.nrows();
    let all = Set::from_indices(n, 0..n as u32)?.to(device)?;
    let few = Set::from_indices(n, (0..n as u32).filter(|i| i % 64 == 0))?.to(device)?;
    for (share, set) in [("all", &all), ("half", half), ("1/64", &few)] {
        for (name, way) in ways {
            let bytes = if way == csr { (n + 1) * 4 + a.nnz() as usize * 4 } else { tiles * 36 } + n / 4;
            let t = force(way, || seconds(device, || set.vxm(a, ANY_PAIR).eval().map(drop)))?;
            tell(graph, &format!("any.pair of {share} by {name}"), t, bytes);
            let t = force(way, || seconds(device, || set.vxm(a, PLUS_PAIR).eval().map(drop)))?;
            tell(graph, &format!("plus.pair of {share} by {name}"), t, bytes + n * 4);
        }
    }
    let sets: Vec<Set> =
        (0..16u32).map(|s| Set::from_indices(n, (0..n as u32).filter(|i| i % 16 == s))).collect::<Result<_>>()?;
    let sets: Vec<Set> = sets.iter().map(|set| set.to(device)).collect::<Result<_>>()?;
    let sets: Vec<&Set> = sets.iter().collect();
    for count in [8, 16] {
        let t = seconds(device, || a.count_many(&sets[..count]).map(drop))?;
        tell(graph, &format!("count_many of {count} sets"), t, tiles * 36 + count * (n / 8 + n * 4));
    }
    Ok(())
}

/// Sets in the formulation of TC-MIS, by each format and strategy, beside `sorted` in that of cuMIS. The making of keys is included.
fn phases(graph: &str, a: &Matrix, device: Device) -> Result<()> {
    let by = |strategy| Forced { strategy: Some(strategy), ..Forced::default() };
    let csr = Forced { format: Some(Format::Csr), ..Forced::default() };
    let ways = [
        ("csr", csr),
        ("tiles by bits", by(Strategy::CountTiles)),
        ("tiles by 1-bit tensor cores", by(Strategy::CountTilesBits)),
    ];
    let measured = [
        (Priority::Sorted, Formulation::Decide),
        (Priority::Random, Formulation::Count),
        (Priority::Degree, Formulation::Count),
        (Priority::Sorted, Formulation::Count),
        (Priority::Resolve, Formulation::Count),
    ];
    for (priority, formulation) in measured {
        let options = MisOptions::default().priority(priority).formulation(formulation);
        for (name, way) in ways.into_iter().filter(|&(_, way)| formulation == Formulation::Count || way == csr) {
            let found = force(way, || mis(a, &options))?;
            let t = force(way, || seconds(device, || mis(a, &options).map(drop)))?;
            let (size, rounds) = (found.set.nvals(), found.rounds);
            let what = format!("mis {} {}, {name}", priority.name(), formulation.name());
            println!("{graph} | {what} | {:.1} us | size {size}, rounds {rounds}", t * 1e6);
        }
    }
    Ok(())
}

/// Runs the parts of which `wants` holds.
fn measure(graph: &str, device: Device, wants: impl Fn(&str) -> bool) -> Result<()> {
    let pattern = Matrix::from_simple(generate(graph, &())?.graph);
    if wants("products") {
        products(graph, device, &pattern)?;
    }
    let a = pattern.to(device)?;
    if wants("peers") {
        if !wants("products") {
            dump(graph, &pattern.map_index(weight)?)?;
        }
        peers(graph, &a, device)?;
    }
    if wants("counts") {
        let n = a.nrows();
        let half = Set::from_indices(n, (0..n as u32).filter(|i| i % 2 == 0))?.to(device)?;
        counting(graph, device, &pattern, &a, &half)?;
    }
    if wants("components") {
        named(graph, &a, device)?;
    }
    if wants("sets") {
        sets(graph, &a, device)?;
    }
    if wants("phases") {
        phases(graph, &a, device)?;
    }
    if wants("searches") {
        searches(graph, &a, device)?;
    }
    if wants("colorings") {
        colorings(graph, &a, device)?;
    }
    if wants("paths") {
        paths(graph, &a, device)?;
    }
    Ok(())
}

/// A set, colourings and components under the plan's own choices, for comparison with hand-written programs.
fn peers(graph: &str, a: &Matrix, device: Device) -> Result<()> {
    let key = priorities(a, Priority::Degree, 0)?;
    let found = mis_in_order(a, key.clone())?;
    let t = seconds(device, || mis_in_order(a, key.clone()).map(drop))?;
    println!("{graph} | set | {:.1} us | size {}", t * 1e6, found.set.nvals());
    let key = largest_degree_first(a, 0)?;
    let Coloring { count, rounds, .. } = color_in_order(a, &key)?;
    let t = seconds_of(device, 1, || color_in_order(a, &key).map(drop))?;
    println!("{graph} | colouring | {:.1} us | colours {count}, rounds {rounds}", t * 1e6);
    named(graph, a, device)?;
    // in the random order of the peer program, the time for making keys included, as there
    for method in [Method::Is, Method::MinMax] {
        let options = ColoringOptions::default().method(method).order(Order::Random);
        let Coloring { count, rounds, .. } = color(a, &options)?;
        let t = seconds_of(device, 1, || color(a, &options).map(drop))?;
        println!("{graph} | {} in random order | {:.1} us | colours {count}, rounds {rounds}", method.name(), t * 1e6);
    }
    Ok(())
}

/// Times components.
fn named(graph: &str, a: &Matrix, device: Device) -> Result<()> {
    let t = seconds_of(device, 1, || components(a).map(drop))?;
    println!("{graph} | components | {:.1} us", t * 1e6);
    Ok(())
}

/// Times the loops that run while elements change: searches, shortest paths and components.
fn paths(graph: &str, a: &Matrix, device: Device) -> Result<()> {
    let weighted = a.map_index(weight)?;
    let reached = bfs(a, 0)?.nvals();
    let t = seconds_of(device, 1, || bfs(a, 0).map(drop))?;
    println!("{graph} | bfs from 0 | {:.1} us | reached {reached}", t * 1e6);
    let t = seconds_of(device, 1, || sssp(&weighted, 0).map(drop))?;
    println!("{graph} | sssp from 0 | {:.1} us | reached {reached}", t * 1e6);
    let found = components(a)?.map_index(EQ).select(IDENTITY).pattern().eval()?.nvals();
    let t = seconds_of(device, 1, || components(a).map(drop))?;
    println!("{graph} | components | {:.1} us | components {found}", t * 1e6);
    Ok(())
}

/// Times 64 searches at once, the reading of every level included, beside the same searches one after another.
fn searches(graph: &str, a: &Matrix, device: Device) -> Result<()> {
    let n = a.nrows() as u64;
    let sources: Vec<u32> = (0..64u64).map(|k| (k * 0x9e37_79b9 % n) as u32).collect();
    let found = bfs_many(a, &sources)?;
    for (k, &source) in sources.iter().enumerate().step_by(9) {
        assert_eq!(found.levels(k)?.digest(), bfs(a, source)?.digest(), "{graph}: source {source}");
    }
    let t = seconds_of(device, 1, || bfs_many(a, &sources).map(drop))?;
    println!("{graph} | 64 searches at once | {:.1} us", t * 1e6);
    let t = seconds_of(device, 1, || (0..64).try_for_each(|k| found.levels(k).map(drop)))?;
    println!("{graph} | the levels of all | {:.1} us", t * 1e6);
    let t = seconds_of(device, 1, || sources.iter().try_for_each(|&source| bfs(a, source).map(drop)))?;
    println!("{graph} | 64 searches in turn | {:.1} us", t * 1e6);
    Ok(())
}

fn products(graph: &str, device: Device, pattern: &Matrix) -> Result<()> {
    let (n, nnz) = (pattern.nrows(), pattern.nnz() as usize);
    let weighted = pattern.map_index(weight)?.to(device)?;
    dump(graph, &weighted)?;
    let a = pattern.to(device)?;
    let u = Vector::from_dense((0..n).map(|i| (i % 97) as f32).collect()).to(device)?;
    let key = Vector::from_dense((0..n as u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect()).to(device)?;
    println!("{graph} | vertices {n} | stored entries {nnz}");
    let half = Set::from_indices(n, (0..n as u32).filter(|i| i % 2 == 0))?.to(device)?;
    let offsets = (n + 1) * 4;
    let t = seconds(device, || weighted.mxv(&u, PLUS_TIMES).eval().map(drop))?;
    tell(graph, "plus.times f32", t, offsets + nnz * 8 + n * 8);
    let t = seconds(device, || key.vxm(&a, MAX_FIRST).or_identity().eval().map(drop))?;
    tell(graph, "max.first u32 over a pattern", t, offsets + nnz * 4 + n * 8);
    counting(graph, device, pattern, &a, &half)?;
    let t = seconds(device, || u.map(PLUS.bind(1.0)).eval().map(drop))?;
    tell(graph, "map f32", t, n * 8);
    let t = seconds(device, || u.ewise_mult(&u, TIMES).eval().map(drop))?;
    tell(graph, "ewise_mult f32", t, n * 12);
    let t = seconds(device, || u.reduce(PLUS).map(drop))?;
    tell(graph, "reduce plus f32, read back", t, n * 4);
    Ok(())
}

/// The plan's own schedule, and each forced one.
const SCHEDULES: [(&str, Option<Schedule>); 3] =
    [("planned", None), ("rounds", Some(Schedule::Rounds)), ("asynchronous", Some(Schedule::Asynchronous))];

fn sets(graph: &str, a: &Matrix, device: Device) -> Result<()> {
    for priority in [Priority::Degree, Priority::Sorted] {
        let key = priorities(a, priority, 0)?;
        for (name, schedule) in SCHEDULES {
            let forced = Forced { schedule, ..Forced::default() };
            let found = force(forced, || mis_in_order(a, key.clone()))?;
            let t = force(forced, || seconds(device, || mis_in_order(a, key.clone()).map(drop)))?;
            let (priority, size, rounds) = (priority.name(), found.set.nvals(), found.rounds);
            println!("{graph} | mis from {priority}, {name} | {:.1} us | size {size}, rounds {rounds}", t * 1e6);
        }
    }
    for &priority in &[Priority::Sorted, Priority::Degree, Priority::Random, Priority::Resolve] {
        let options = MisOptions::default().priority(priority);
        for (name, schedule) in SCHEDULES {
            let forced = Forced { schedule, ..Forced::default() };
            let found = force(forced, || mis(a, &options))?;
            let t = force(forced, || seconds(device, || mis(a, &options).map(drop)))?;
            let (priority, size, rounds) = (priority.name(), found.set.nvals(), found.rounds);
            println!("{graph} | mis {priority}, {name} | {:.1} us | size {size}, rounds {rounds}", t * 1e6);
        }
    }
    Ok(())
}

fn colorings(graph: &str, a: &Matrix, device: Device) -> Result<()> {
    let key = largest_degree_first(a, 0)?;
    for (name, schedule) in SCHEDULES {
        let forced = Forced { schedule, ..Forced::default() };
        let Coloring { count, rounds, .. } = force(forced, || color_in_order(a, &key))?;
        let t = force(forced, || seconds_of(device, 1, || color_in_order(a, &key).map(drop)))?;
        println!("{graph} | jp from keys, {name} | {:.1} us | colours {count}, rounds {rounds}", t * 1e6);
    }
    for method in [Method::Jp, Method::Is, Method::MinMax] {
        let options = ColoringOptions::default().method(method);
        for (name, schedule) in SCHEDULES {
            let forced = Forced { schedule, ..Forced::default() };
            let Coloring { count, rounds, .. } = force(forced, || color(a, &options))?;
            let t = force(forced, || seconds_of(device, 1, || color(a, &options).map(drop)))?;
            let method = method.name();
            println!("{graph} | color {method}, {name} | {:.1} us | colours {count}, rounds {rounds}", t * 1e6);
        }
    }
    Ok(())
}

fn main() {
    let device = Device::auto();
    if device == Device::Cpu {
        println!("no GPU: nothing to measure");
        return;
    }
    let (graphs, parts): (Vec<String>, Vec<String>) = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .partition(|argument| argument.contains(':'));
    let graphs = if graphs.is_empty() { GRAPHS.map(str::to_owned).to_vec() } else { graphs };
    for graph in graphs {
        let wants = |part: &str| {
            (parts.is_empty() && !["peers", "counts"].contains(&part)) || parts.iter().any(|wanted| wanted == part)
        };
        if let Err(error) = measure(&graph, device, wants) {
            println!("{graph} | {error}");
        }
    }
}
