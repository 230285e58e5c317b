//! Small graphs, where what a call costs before its first entry counts.
//!
//! `cargo bench --bench small -- [GRAPH...] [--only WHAT]` prints microseconds a call: the best mean of a hundred calls, on one thread and on
//! the threads of the machine. Beside colours and sets stands the sequential greedy loop in the same order. Both must give the same answers.

use std::hint::black_box;
use std::time::Instant;
use vxm::algorithms::*;
use vxm::certify::{greedy_coloring, greedy_set};
use vxm::io;
use vxm::prelude::*;

const GRAPHS: [&str; 4] = ["grid:32x32", "rmat:10:8", "rgg:10", "road:32"];
const CALLS: u32 = 100;
const BATCHES: usize = 20;

/// Microseconds a call: the best mean of several batches.
fn microseconds<R>(mut f: impl FnMut() -> Result<R>) -> Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..BATCHES {
        let start = Instant::now();
        for _ in 0..CALLS {
            black_box(f()?);
        }
        least = least.min(start.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS));
    }
    Ok(least)
}

/// What the lines of one graph are about.
struct Graph<'a> {
    spec: &'a str,
    /// The one line that is asked for, or all.
    only: Option<&'a str>,
}

impl Graph<'_> {
    /// Times a call on one thread, and on those of the machine. `alone` is the time of a loop beside it.
    fn tell<R: Send>(&self, what: &str, alone: Option<f64>, ours: impl Fn() -> Result<R> + Sync) -> Result<()> {
        if self.only.is_some_and(|only| only != what) {
            return Ok(());
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let one = pool.map_err(|error| Error::invalid(error.to_string()))?.install(|| microseconds(&ours))?;
        let all = microseconds(&ours)?;
        let alone = alone.map_or(String::new(), |alone| format!("{alone:.1}"));
        println!("{:12} {what:24} {alone:>10} {one:>10.1} {all:>10.1}", self.spec);
        Ok(())
    }
}

fn main() -> Result<()> {
    let mut arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let only = match arguments.iter().position(|argument| argument == "--only") {
        Some(at) => arguments.drain(at..(at + 2).min(arguments.len())).next_back(),
        None => None,
    };
    let graphs = if arguments.is_empty() { GRAPHS.map(String::from).to_vec() } else { arguments };
    println!("{:12} {:24} {:>10} {:>10} {:>10}", "graph", "what", "loop", "1 thread", "threads");
    for graph in &graphs {
        let lines = Graph { spec: graph, only: only.as_deref() };
        let a = Matrix::from_simple(io::generate(graph, &())?.graph);
        let csr = a.csr();
        // hashes in another form: keys of sets are above 0
        let key = priority::hashes(a.nrows(), 0)?.rank()?.map(PLUS.bind(1)).eval()?;
        let mut order: Vec<(u32, u32)> = key.iter().map(|(v, key)| (key, v)).collect();
        order.sort_unstable_by_key(|&(key, _)| std::cmp::Reverse(key));
        let order = || order.iter().map(|&(_, v)| v);
        let loops = || greedy_coloring(csr.offsets(), csr.columns(), order());
        assert_eq!(color_in_order(&a, &key)?.colors, Vector::from_dense(loops()), "colours of {graph}");
        lines.tell("color_in_order", Some(microseconds(|| Ok(loops()))?), || color_in_order(&a, &key))?;
        let loops = || greedy_set(csr.offsets(), csr.columns(), order());
        let members = (0..).zip(loops()).filter(|&(_, is_member)| is_member).map(|(v, _)| v);
        assert_eq!(mis_in_order(&a, key.clone())?.set, Set::from_indices(a.nrows(), members)?, "set of {graph}");
        lines.tell("mis_in_order", Some(microseconds(|| Ok(loops()))?), || mis_in_order(&a, key.clone()))?;
        lines.tell("color", None, || color(&a, &ColoringOptions::default()))?;
        lines.tell("mis", None, || mis(&a, &MisOptions::default()))?;
        lines.tell("components", None, || components(&a))?;
        lines.tell("bfs", None, || bfs(&a, 0))?;
        lines.tell("core_numbers", None, || core_numbers(&a))?;
        lines.tell("count_triangles", None, || count_triangles(&a))?;
        lines.tell("reduce(MAX)", None, || key.reduce(MAX))?;
        lines.tell("vxm max.first", None, || key.vxm(&a, MAX_FIRST).eval())?;
    }
    Ok(())
}
