//! `vxm mis` and `vxm color`: run, check, tell.

use super::arguments::Run;
use super::footprint::{Algorithm, Graph};
use super::{WRONG, counted, load, prepare, print, tell};
use serde_json::json;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use vxm::algorithms::{self, ColoringOptions, Formulation, Method, MisOptions, Order, Priority};
use vxm::backend::Device;
use vxm::backend::plan::Format;
use vxm::certify::{self, Violation};
use vxm::containers::{Matrix, Set, Vector};
use vxm::formats::{Csr, Tiles};
use vxm::io::{Loaded, Numbering, memory};
use vxm::{Error, Result};

/// What was chosen: name and value.
type Choices = [(&'static str, &'static str)];

/// What an algorithm found.
enum Found {
    Set(Set),
    Colors(Vector<u32>, u32),
}

impl Found {
    fn algorithm(&self) -> &'static str {
        match self {
            Self::Set(_) => "mis",
            Self::Colors(..) => "color",
        }
    }

    /// What it is measured by, and how much that is.
    fn measure(&self) -> (&'static str, usize) {
        match self {
            Self::Set(set) => ("size", set.nvals()),
            Self::Colors(_, count) => ("colors", *count as usize),
        }
    }

    fn digest(&self) -> u64 {
        match self {
            Self::Set(set) => set.digest(),
            Self::Colors(colors, _) => colors.digest(),
        }
    }

    fn check(&self, graph: &Csr) -> core::result::Result<(), Violation> {
        let (offsets, columns) = (graph.offsets(), graph.columns());
        match self {
            Self::Set(set) => {
                let mut member = vec![false; graph.nrows()];
                set.indices().for_each(|v| member[v as usize] = true);
                certify::independent_set(offsets, columns, &member)
            }
            Self::Colors(colors, _) => certify::coloring(offsets, columns, &colors.to_dense(0)).map(|_| ()),
        }
    }

    /// A vertex a line, and its colour if it has one.
    fn write(&self, text: &mut impl Write, numbering: &Numbering) -> std::io::Result<()> {
        match self {
            Self::Set(set) => set.indices().try_for_each(|v| writeln!(text, "{}", numbering.number(v))),
            Self::Colors(colors, _) => {
                colors.iter().try_for_each(|(v, color)| writeln!(text, "{} {color}", numbering.number(v)))
            }
        }
    }
}

/// An answer, and all that is told of it.
struct Answer {
    found: Found,
    rounds: u32,
    took: Duration,
    certificate: core::result::Result<(), Violation>,
}

/// `vxm mis`.
pub fn mis(priority: Priority, formulation: Option<Formulation>, run: &Run) -> Result<ExitCode> {
    let formulation = match (priority, formulation) {
        (Priority::Resolve, Some(Formulation::Decide)) => {
            let what = "priority `resolve` breaks ties among candidates: expected formulation `count`, found `decide`";
            return Err(Error::invalid(what));
        }
        (Priority::Resolve, None) => Formulation::Count,
        (_, formulation) => formulation.unwrap_or_default(),
    };
    let options = MisOptions { priority, seed: run.seed, formulation };
    let choices = [("priority", priority.name()), ("formulation", formulation.name())];
    let algorithm = Algorithm::Mis(priority, formulation);
    solve(run, algorithm, &choices, |a| algorithms::mis(a, &options).map(|mis| (Found::Set(mis.set), mis.rounds)))
}

/// `vxm color`.
pub fn color(method: Method, order: Order, run: &Run) -> Result<ExitCode> {
    let options = ColoringOptions { method, order, seed: run.seed };
    let choices = [("method", method.name()), ("order", order.name())];
    let algorithm = Algorithm::Color(method, order);
    solve(run, algorithm, &choices, |a| {
        algorithms::color(a, &options).map(|c| (Found::Colors(c.colors, c.count), c.rounds))
    })
}

fn solve(
    run: &Run,
    algorithm: Algorithm,
    choices: &Choices,
    find: impl Fn(&Matrix) -> Result<(Found, u32)>,
) -> Result<ExitCode> {
    if let Some(out) = run.out.as_deref().filter(|out| is_same_file(out, run.graph.as_ref())) {
        return Err(Error::invalid(format!("--out {}: expected another file than the graph's", out.display())));
    }
    let out = run.out.as_deref().map(prepare).transpose()?;
    run.device.check()?;
    let Loaded { graph, name, numbering, .. } = load(&run.graph)?;
    let tiles = (run.format.0 == Some(Format::Tiles)).then(|| Tiles::count(&graph) as u64);
    let size = Graph::of(&graph, tiles);
    let (what, (_, which)) = (algorithm.name(), choices[0]);
    memory::require(size.share(algorithm), || format!("{name}: {what} by {which}"))?;
    if run.device != Device::Cpu {
        let (needed, available) = (size.peak_on_device(algorithm), run.device.available()?);
        if needed > u128::from(available) {
            return Err(Error::Memory {
                place: format!("{name}: {what} by {which} on {}", run.device),
                needed,
                available,
            });
        }
    }
    let a = Matrix::from_simple(graph).with_format(run.format.0);
    if run.format.0 == Some(Format::Tiles) {
        // converting is no part of the algorithm, nor of its time
        a.tiles();
    }
    let a = a.to(run.device)?;
    if run.device != Device::Cpu {
        // compiling the kernels is no part of the algorithm, nor of its time
        find(&a)?;
    }
    let start = Instant::now();
    let (found, rounds) = find(&a)?;
    let took = start.elapsed();
    let answer = Answer { certificate: found.check(a.csr()), found, rounds, took };
    if let (Some(out), Ok(())) = (out, answer.certificate) {
        out.write(|file| {
            let mut text = BufWriter::with_capacity(1 << 18, file);
            answer.found.write(&mut text, &numbering)?;
            text.flush()
        })?;
    }
    let told = if run.json { told_to_programs } else { told_to_people };
    print(&told(&answer, &name, a.csr(), choices, run))?;
    if let Err(violation) = answer.certificate {
        tell(format!("{name}: wrong answer: {}", violation.renumbered(|vertex| numbering.number(vertex as u32))));
        return Ok(ExitCode::from(WRONG));
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether two paths lead to one regular file.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let found = |path: &Path| path.canonicalize().ok().filter(|path| path.is_file());
    found(one).is_some_and(|one| found(other) == Some(one))
}

fn told_to_programs(answer: &Answer, name: &str, graph: &Csr, choices: &Choices, run: &Run) -> String {
    let (what, measure) = answer.found.measure();
    let mut object = json!({
        "graph": name,
        "vertices": graph.nrows(),
        "edges": graph.nnz() / 2,
        "algorithm": answer.found.algorithm(),
        "device": run.device.to_string(),
        "threads": rayon::current_num_threads(),
        "seed": run.seed,
        "rounds": answer.rounds,
        what: measure,
        "valid": answer.certificate.is_ok(),
        "seconds": answer.took.as_secs_f64(),
        "digest": format!("{:016x}", answer.found.digest()),
    });
    for &(what, chosen) in choices {
        object[what] = chosen.into();
    }
    format!("{object}\n")
}

fn told_to_people(answer: &Answer, name: &str, graph: &Csr, choices: &Choices, run: &Run) -> String {
    let (n, edges, (_, measure)) = (graph.nrows(), graph.nnz() / 2, answer.found.measure());
    let found = match answer.found {
        Found::Set(_) => {
            let share = 100.0 * measure as f64 / n.max(1) as f64;
            format!("independent set of {} ({share:.2} %)", counted(measure, "vertex"))
        }
        Found::Colors(..) => counted(measure, "colour"),
    };
    let checked = if answer.certificate.is_ok() { "valid" } else { "WRONG" };
    let chosen: String = choices.iter().map(|(what, choice)| format!("{what} {choice}, ")).collect();
    let (n, edges) = (counted(n, "vertex"), counted(edges, "edge"));
    let (seed, rounds, seconds) = (run.seed, counted(answer.rounds as usize, "round"), answer.took.as_secs_f64());
    let (device, threads) = (run.device, rayon::current_num_threads());
    format!(
        "{name}: {n}, {edges}\n{found}, {checked}\n{chosen}seed {seed}: {rounds}, {seconds:.3} s on \
         {device}, threads {threads}\ndigest {:016x}\n",
        answer.found.digest(),
    )
}
