//! `vxm mis`, `color`, `bfs` and `components`: run the algorithm, check the answer, print it.

use crate::command::arguments::Run;
use crate::command::footprint::{Algorithm, Graph};
use crate::command::{WRONG, counted, ignored, load, prepare, print, tell};
use serde_json::{Value, json};
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
use vxm::io::{FileFormat, Loaded, Numbering, Report};
use vxm::memory;
use vxm::{Error, Result};

/// The options of a run, as names and values.
type Choices = [(&'static str, Value)];

/// The result of an algorithm.
enum Found {
    Set(Set),
    Colors(Vector<u32>, u32),
    /// The source vertex, and the distance of each vertex from it in hops.
    Levels(u32, Vector<u32>),
    Components(Vector<u32>),
}

impl Found {
    fn algorithm(&self) -> &'static str {
        match self {
            Self::Set(_) => "mis",
            Self::Colors(..) => "color",
            Self::Levels(..) => "bfs",
            Self::Components(_) => "components",
        }
    }

    /// The name of the size of this result, and the size.
    fn measure(&self) -> (&'static str, usize) {
        match self {
            Self::Set(set) => ("size", set.nvals()),
            Self::Colors(_, count) => ("colors", *count as usize),
            Self::Levels(_, levels) => ("reached", levels.nvals()),
            Self::Components(labels) => ("components", labels.iter().filter(|(v, label)| v == label).count()),
        }
    }

    fn digest(&self) -> u64 {
        match self {
            Self::Set(set) => set.digest(),
            Self::Colors(found, _) | Self::Levels(_, found) | Self::Components(found) => found.digest(),
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
            Self::Levels(source, levels) => {
                let levels: Vec<Option<u32>> = (0..graph.nrows() as u32).map(|v| levels.get(v)).collect();
                certify::levels(offsets, columns, *source as usize, &levels).map(|_| ())
            }
            Self::Components(labels) => certify::components(offsets, columns, &labels.to_dense(0)).map(|_| ()),
        }
    }

    /// Writes one line per vertex: its number, and its value if there is one.
    fn write(&self, text: &mut impl Write, numbering: &Numbering) -> std::io::Result<()> {
        match self {
            Self::Set(set) => set.indices().try_for_each(|v| writeln!(text, "{}", numbering.number(v))),
            Self::Colors(numbers, _) | Self::Levels(_, numbers) => {
                numbers.iter().try_for_each(|(v, number)| writeln!(text, "{} {number}", numbering.number(v)))
            }
            Self::Components(labels) => labels
                .iter()
                .try_for_each(|(v, label)| writeln!(text, "{} {}", numbering.number(v), numbering.number(label))),
        }
    }
}

/// An answer, with everything that is reported about it.
struct Answer {
    found: Found,
    /// The number of rounds, if the algorithm reports it.
    rounds: Option<u32>,
    took: Duration,
    certificate: core::result::Result<(), Violation>,
    /// The format of the graph file, if it is a file, and what reading it changed and ignored.
    input: Option<FileFormat>,
    report: Report,
}

/// `vxm mis`.
pub fn mis(priority: Priority, formulation: Option<Formulation>, seed: u64, run: &Run) -> Result<ExitCode> {
    let formulation = match (priority, formulation) {
        (Priority::Resolve, Some(Formulation::Decide)) => {
            let what = "priority `resolve` requires formulation `count`, found `decide`";
            return Err(Error::invalid(what));
        }
        (Priority::Resolve, None) => Formulation::Count,
        (_, formulation) => formulation.unwrap_or_default(),
    };
    let options = MisOptions { priority, seed, formulation };
    let choices =
        [("priority", priority.name().into()), ("formulation", formulation.name().into()), ("seed", seed.into())];
    solve(run, Algorithm::Mis(priority, formulation), &choices, |_| {
        Ok(move |a: &Matrix| algorithms::mis(a, &options).map(|mis| (Found::Set(mis.set), Some(mis.rounds))))
    })
}

/// `vxm color`.
pub fn color(method: Method, order: Order, seed: u64, run: &Run) -> Result<ExitCode> {
    let options = ColoringOptions { method, order, seed };
    let choices = [("method", method.name().into()), ("order", order.name().into()), ("seed", seed.into())];
    solve(run, Algorithm::Color(method, order), &choices, |_| {
        Ok(move |a: &Matrix| algorithms::color(a, &options).map(|c| (Found::Colors(c.colors, c.count), Some(c.rounds))))
    })
}

/// `vxm bfs`.
pub fn bfs(source: u64, run: &Run) -> Result<ExitCode> {
    solve(run, Algorithm::Bfs, &[("source", source.into())], |loaded| {
        let Some(vertex) = loaded.numbering.vertex(source, loaded.graph.nrows()) else {
            let (name, vertices) = (&loaded.name, loaded.graph.nrows());
            let what = format!("{name}: --source {source}: expected the number of one of its {vertices} vertices");
            return Err(Error::invalid(what));
        };
        Ok(move |a: &Matrix| algorithms::bfs(a, vertex).map(|levels| (Found::Levels(vertex, levels), None)))
    })
}

/// `vxm components`.
pub fn components(run: &Run) -> Result<ExitCode> {
    solve(run, Algorithm::Components, &[], |_| {
        Ok(|a: &Matrix| algorithms::components(a).map(|labels| (Found::Components(labels), None)))
    })
}

/// Loads the graph, checks that the memory suffices, runs the algorithm that `ready` returns for the graph, checks the
/// answer, writes it and reports it.
fn solve<F: Fn(&Matrix) -> Result<(Found, Option<u32>)>>(
    run: &Run,
    algorithm: Algorithm,
    choices: &Choices,
    ready: impl FnOnce(&Loaded) -> Result<F>,
) -> Result<ExitCode> {
    if let Some(out) = run.out.as_deref().filter(|out| is_same_file(out, run.graph.as_ref())) {
        return Err(Error::invalid(format!("--out {}: expected another file than the graph's", out.display())));
    }
    let out = run.out.as_deref().map(prepare).transpose()?;
    run.device.check()?;
    let loaded = load(&run.graph, run.input)?;
    let find = ready(&loaded)?;
    let Loaded { graph, name, numbering, format: input, report } = loaded;
    let tiles = (run.format.0 == Some(Format::Tiles)).then(|| Tiles::count(&graph) as u64);
    let size = Graph::of(&graph, tiles);
    let what = match choices.first() {
        Some((_, Value::String(which))) => format!("{} by {which}", algorithm.name()),
        _ => algorithm.name().to_owned(),
    };
    memory::require(size.share(algorithm), || format!("{name}: {what}"))?;
    if run.device != Device::Cpu {
        let (needed, available) = (size.peak_on_device(algorithm), run.device.available()?);
        if needed > u128::from(available) {
            return Err(Error::Memory { place: format!("{name}: {what} on {}", run.device), needed, available });
        }
    }
    let a = Matrix::from_simple(graph).with_format(run.format.0);
    if run.format.0 == Some(Format::Tiles) {
        // convert before the clock starts
        a.tiles();
    }
    let a = a.to(run.device)?;
    if run.device != Device::Cpu {
        // a first run compiles the kernels before the clock starts
        find(&a)?;
    }
    let start = Instant::now();
    let (found, rounds) = find(&a)?;
    let took = start.elapsed();
    let answer = Answer { certificate: found.check(a.csr()), found, rounds, took, input, report };
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

/// Whether two paths lead to the same regular file, through any names and links.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let regular = |path: &Path| path.metadata().ok().filter(std::fs::Metadata::is_file);
    #[cfg(unix)]
    let found = |path: &Path| {
        use std::os::unix::fs::MetadataExt;
        regular(path).map(|file| (file.dev(), file.ino()))
    };
    #[cfg(not(unix))]
    let found = |path: &Path| regular(path).and_then(|_| path.canonicalize().ok());
    found(one).is_some_and(|one| found(other) == Some(one))
}

/// The report as a JSON object.
fn told_to_programs(answer: &Answer, name: &str, graph: &Csr, choices: &Choices, run: &Run) -> String {
    let (what, measure) = answer.found.measure();
    let mut object = json!({
        "graph": name,
        "vertices": graph.nrows(),
        "edges": graph.nnz() / 2,
        "input": answer.input.map(FileFormat::name),
        "ignored": ignored(&answer.report),
        "algorithm": answer.found.algorithm(),
        "device": run.device.to_string(),
        "threads": rayon::current_num_threads(),
        what: measure,
        "valid": answer.certificate.is_ok(),
        "seconds": answer.took.as_secs_f64(),
        "digest": format!("{:016x}", answer.found.digest()),
    });
    if let Some(rounds) = answer.rounds {
        object["rounds"] = rounds.into();
    }
    for (what, chosen) in choices {
        object[*what] = chosen.clone();
    }
    format!("{object}\n")
}

/// The report as text.
fn told_to_people(answer: &Answer, name: &str, graph: &Csr, choices: &Choices, run: &Run) -> String {
    let (n, edges, (_, measure)) = (graph.nrows(), graph.nnz() / 2, answer.found.measure());
    let share = 100.0 * measure as f64 / n.max(1) as f64;
    let found = match answer.found {
        Found::Set(_) => format!("independent set of {} ({share:.2} %)", counted(measure, "vertex")),
        Found::Colors(..) => counted(measure, "colour"),
        Found::Levels(_, ref levels) => {
            let hops = levels.iter().map(|(_, level)| level).max().unwrap_or(0);
            format!("{} ({share:.2} %) within {}", counted(measure, "vertex"), counted(hops as usize, "hop"))
        }
        Found::Components(_) => counted(measure, "component"),
    };
    let checked = if answer.certificate.is_ok() { "valid" } else { "WRONG" };
    let told = |(what, chosen): &(&str, Value)| match chosen {
        Value::String(name) => format!("{what} {name}"),
        number => format!("{what} {number}"),
    };
    let chosen: Vec<String> = choices.iter().map(told).collect();
    let chosen = if chosen.is_empty() { String::new() } else { chosen.join(", ") + ": " };
    let rounds = answer.rounds.map_or(String::new(), |rounds| counted(rounds as usize, "round") + ", ");
    let (n, edges) = (counted(n, "vertex"), counted(edges, "edge"));
    let seconds = answer.took.as_secs_f64();
    let (device, threads) = (run.device, rayon::current_num_threads());
    format!(
        "{name}: {n}, {edges}\n{found}, {checked}\n{chosen}{rounds}{seconds:.3} s on \
         {device}, threads {threads}\ndigest {:016x}\n",
        answer.found.digest(),
    )
}
