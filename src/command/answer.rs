//! Runs an algorithm, checks its answer, writes it and reports it.

use crate::command::arguments::{Run, Task};
use crate::command::footprint::{Algorithm, Graph, reading};
use crate::command::found::Found;
use crate::command::phases::{self, phase};
use crate::command::report;
use crate::command::subject::Subject;
use crate::command::{WRONG, counted, ignored, job, prepare, print, tell};
use serde_json::{Map, Value, json};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use vxm::backend::plan::{Format, least_entries};
use vxm::backend::profile::Profile;
use vxm::backend::tuning::tuning;
use vxm::backend::{Device, MemoryLimit};
use vxm::certify::Violation;
use vxm::containers::Matrix;
use vxm::formats::{Csr, Tiles};
use vxm::io::{FileFormat, Numbering, Report, WholeFile};
use vxm::memory;
use vxm::semiring::Element;
use vxm::{Error, Result};

/// The options of a run, as names and values.
pub type Choices = [(&'static str, Value)];

/// What an algorithm returns: its answer, and the number of rounds, if it tells.
pub type Outcome = Result<(Found, Option<u32>)>;

/// What a certificate says of an answer.
pub type Verdict = core::result::Result<(), Violation>;

/// An answer, with everything that is reported about it.
pub struct Answer {
    found: Found,
    /// The number of rounds, if the algorithm reports it.
    rounds: Option<u32>,
    took: Duration,
    certificate: Verdict,
    name: String,
    /// The format of the graph file, if it is a file, and what reading it changed and ignored.
    input: Option<FileFormat>,
    report: Report,
    numbering: Numbering,
    vertices: usize,
    edges: usize,
    /// Whether each entry of the graph is an edge; otherwise two are.
    directed: bool,
    /// Rows and columns, if the answer is of a matrix.
    shape: Option<(usize, usize)>,
    peaks: Peaks,
    /// The bytes that ranks sent along rows, along columns and to any, and the number of messages.
    pub sent: Option<[u64; 4]>,
}

/// Bytes of memory at the peak.
pub struct Peaks {
    /// What was predicted, of host memory; not of ranks, which share a host.
    predicted: Option<u128>,
    /// What the process took until its answer was checked, if the system tells.
    taken: Option<u64>,
    /// What was predicted of device memory, if the run used a device.
    device: Option<u128>,
}

impl Peaks {
    /// Those of a rank, of which none are predicted.
    pub fn of_rank() -> Self {
        Self { predicted: None, taken: report::peak_taken(), device: None }
    }

    /// The peaks of a run and of the check of its answer.
    pub fn of<T: Element>(run: &Run, algorithm: Algorithm, choices: &Choices, a: &Matrix<T>, report: &Report) -> Self {
        let size = Graph::of(a.csr(), tiles_for(run, a.csr()));
        let size = Graph { directed: !a.is_symmetric(), renumbered: run.reorder.0.is_some(), ..size };
        let drawn = choices.iter().any(|(what, _)| *what == "weights");
        let reading = reading(a.nrows(), report);
        let as_read = if drawn { Graph { weight: 0, ..size } } else { size };
        Self {
            predicted: Some(as_read.peak(algorithm, reading)),
            taken: report::peak_taken(),
            device: (run.device() != Device::Cpu).then(|| size.peak_on_device(algorithm)),
        }
    }
}

/// The files that a run writes.
pub struct Outputs {
    /// The answer.
    pub answer: Option<WholeFile>,
    /// The page about the run.
    pub page: Option<WholeFile>,
    /// The device, which is opened while the graph is read.
    pub opening: Opening,
}

/// A device that another thread opens. What fails is told by its first use. The process doesn't end before it is open, so the value waits for
/// that when it is dropped.
pub struct Opening(Option<JoinHandle<()>>);

impl Opening {
    fn of(device: Device) -> Self {
        let open = move || _ = device.synchronize();
        Self(if device == Device::Cpu { None } else { thread::Builder::new().spawn(open).ok() })
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        if let Some(opening) = self.0.take() {
            _ = opening.join();
        }
    }
}

/// Checks the options that don't depend on the graph: the files to write, which it prepares, and the device.
pub fn begin(run: &Run) -> Result<Outputs> {
    let outputs = [run.out.as_deref(), run.report.as_ref().map(|report| report.out.as_path())];
    if let Some(out) = outputs.into_iter().flatten().find(|out| is_same_file(out, run.graph.as_ref())) {
        return Err(Error::invalid(format!("--out {}: expected another file than the graph's", out.display())));
    }
    let prepare = |out: Option<&Path>| out.filter(|_| job::speaks()).map(|out| prepare("--out", out)).transpose();
    let [answer, page] = outputs.map(prepare);
    let (answer, page) = (job::agree(answer)?, job::agree(page)?);
    let mut opening = Opening(None);
    if job::grid().is_none() {
        run.device().check()?;
        opening = Opening::of(run.device());
    }
    Ok(Outputs { answer, page, opening })
}

/// Checks that the memory suffices for the graph as it is stored, and returns the graph in the asked format on the asked device.
pub fn place<T: Element>(
    run: &Run,
    algorithm: Algorithm,
    choices: &Choices,
    subject: &Subject<T>,
) -> Result<Matrix<T>> {
    let _phase = phase("prepare");
    let (matrix, name) = (&subject.matrix, &subject.name);
    if matrix.grid().is_some() {
        // reading has checked the memory for this rank's share
        return Ok(matrix.clone());
    }
    let forced = run.format.0.filter(|&format| format != Format::Csr);
    if let (Some(format), true) = (forced, size_of::<T>() > 0) {
        return Err(Error::invalid(format!("--format {}: expected a graph without weights", format.name())));
    }
    let size = Graph::of(matrix.csr(), tiles_for(run, matrix.csr()));
    let size = Graph { directed: !matrix.is_symmetric(), renumbered: run.reorder.0.is_some(), ..size };
    let what = match (algorithm, choices.first()) {
        (Algorithm::Mis(..) | Algorithm::Color(..), Some((_, Value::String(which)))) => {
            format!("{} by {which}", algorithm.name())
        }
        _ => algorithm.name().to_owned(),
    };
    // a limit is told first, by the least one that does
    if job::grid().is_none() {
        let place = || format!("{name}: {what} on {}", run.device());
        match run.device() {
            Device::Cpu => fits_host(run, algorithm, size, subject.is_mapped(), place)?,
            device => fits_device(run, algorithm, size, device, place)?,
        }
    }
    memory::require(size.share(algorithm), || format!("{name}: {what}"))?;
    let a = matrix.clone().with_format(run.format.0);
    if job::grid().is_some() {
        return Ok(a);
    }
    run.device().leave_for_vectors(size.vectors_a_row(algorithm))?;
    let a = a.to(run.device())?;
    if let Some(format) = forced {
        // convert before the clock starts
        a.make_tiles(format)?;
    }
    Ok(a)
}

/// The number of tiles that the run asks for, with the bytes of the rest counted as tiles; `None` for none.
fn tiles_for<T: Element>(run: &Run, graph: &Csr<T>) -> Option<u64> {
    match run.format.0? {
        Format::Tiles => Some(Tiles::count(graph) as u64),
        Format::Hybrid => {
            // what a device calls a full tile has fewer entries than what the host does
            let (full, inside) = Tiles::count_full(graph, least_entries(tuning().device_tile_fill));
            let rest = 4 * (graph.nnz() - inside) + 20 * graph.nrows();
            Some((full + rest.div_ceil(Tiles::<()>::TILE_BYTES)) as u64)
        }
        _ => None,
    }
}

/// Limits the memory of the task's device until the guard is dropped, if the task asks for it.
pub fn limit(task: &Task) -> Result<Option<MemoryLimit>> {
    let (memory, device) = match (task, task.run()) {
        (_, Some(run)) if job::grid().is_none() => (&run.memory, run.device()),
        (_, Some(run)) => (&run.memory, Device::Cpu),
        (Task::Convert(options), _) => (&options.memory, Device::Cpu),
        (Task::Info { memory, .. } | Task::Generate { memory, .. }, _) => (memory, Device::Cpu),
        _ => return Ok(None),
    };
    memory.limit()?.map(|bytes| device.limit_memory(bytes)).transpose()
}

/// Checks that the device has the memory: what must lie there must fit, and the host must have room for the rest.
fn fits_device(run: &Run, algorithm: Algorithm, size: Graph, device: Device, place: impl Fn() -> String) -> Result<()> {
    let (all, least, available) =
        (size.peak_on_device(algorithm), size.least_on_device(algorithm), device.available()?);
    if least > u128::from(available) {
        return Err(match run.memory.limit()? {
            Some(budget) if least > u128::from(budget) => Error::Budget { place: place(), needed: least, budget },
            _ => Error::Memory { place: place(), needed: least, available },
        });
    }
    if all <= u128::from(available) {
        return Ok(());
    }
    memory::require(all - least, || format!("{}, with entries on the host", place()))
}

/// Checks that the host has the memory for an algorithm on a matrix as it was read, before another form of the matrix is made.
pub fn fits(run: &Run, algorithm: Algorithm, subject: &Subject) -> Result<()> {
    let (csr, size) = (subject.matrix.csr(), Graph::of(subject.matrix.csr(), None));
    let place = || format!("{}: {} on {}", subject.name, algorithm.name(), run.device());
    fits_host(run, algorithm, size, csr.is_mapped(), place)?;
    memory::require(size.share(algorithm), place)
}

/// Checks that the process stays within its budget, if it has one.
fn fits_host(run: &Run, algorithm: Algorithm, size: Graph, mapped: bool, place: impl Fn() -> String) -> Result<()> {
    let Some(budget) = run.memory.limit()? else { return Ok(()) };
    let needed = if mapped { size.least_mapped(algorithm) } else { size.peak(algorithm, 0) };
    if needed <= u128::from(budget) {
        return Ok(());
    }
    let hint = if mapped || size.least_mapped(algorithm) > u128::from(budget) { "" } else { " (less for a .vxm file)" };
    Err(Error::Budget { place: format!("{}{hint}", place()), needed, budget })
}

impl Answer {
    pub fn of<T: Element>(
        a: &Matrix<T>,
        subject: Subject<T>,
        (found, rounds): (Found, Option<u32>),
        took: Duration,
        certificate: Verdict,
        peaks: Peaks,
    ) -> Self {
        let Subject { name, numbering, input, report, .. } = subject;
        let shape = found.shape(a.nrows(), a.ncols());
        let (vertices, directed) = (a.nrows(), shape.is_some() || !a.is_symmetric());
        let edges = a.nnz() as usize / if directed { 1 } else { 2 };
        Self {
            found,
            rounds,
            took,
            certificate,
            name,
            input,
            report,
            numbering,
            vertices,
            edges,
            directed,
            shape,
            peaks,
            sent: None,
        }
    }

    /// Writes the page about the run.
    pub fn report<T: Element>(
        &self,
        run: &Run,
        page: WholeFile,
        choices: &Choices,
        graph: &Csr<T>,
        (plan, counted): (Vec<report::Decision>, Profile),
    ) -> Result<()> {
        let words = |(what, chosen): &(&str, Value)| {
            (what.to_string(), chosen.as_str().map_or_else(|| chosen.to_string(), str::to_owned))
        };
        let told = report::Told {
            object: &object(self, choices, run),
            found: &self.found.told(self.vertices, &self.numbering),
            certificate: self.found.certified(),
            choices: choices.iter().map(words).collect(),
            plan,
            loops: counted.loops,
        };
        report::write(run, page, &told, graph)
    }
}

/// Writes an answer and reports it.
pub fn tell_answer(run: &Run, out: Option<WholeFile>, choices: &Choices, answer: &Answer) -> Result<ExitCode> {
    if let (Some(out), Ok(())) = (out, answer.certificate) {
        let _phase = phase("write");
        out.write(|file| {
            let mut text = BufWriter::with_capacity(1 << 18, file);
            answer.found.write(&mut text, &answer.numbering)?;
            text.flush()
        })?;
    }
    let told = if run.json { told_to_programs } else { told_to_people };
    print(&told(answer, choices, run))?;
    let Answer { name, numbering, .. } = answer;
    if let Err(violation) = answer.certificate {
        tell(format!("{name}: wrong answer: {}", violation.renumbered(|vertex| numbering.number(vertex as u32))));
        return Ok(ExitCode::from(WRONG));
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether two paths lead to the same regular file, through any names and links.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
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

/// The device of a run; of ranks, that of the first.
fn device(run: &Run) -> Device {
    job::grid().map_or_else(|| run.device(), |grid| grid.device())
}

/// The report as a line of JSON.
fn told_to_programs(answer: &Answer, choices: &Choices, run: &Run) -> String {
    format!("{}\n", object(answer, choices, run))
}

/// The report as a JSON object.
fn object(answer: &Answer, choices: &Choices, run: &Run) -> Value {
    let (what, measure) = answer.found.measure();
    let times = phases::done().into_iter().map(|(name, took)| (name.to_owned(), took.as_secs_f64().into()));
    let times: Map<String, Value> = times.collect();
    let mut object = json!({
        "graph": answer.name,
        "vertices": answer.vertices,
        "edges": answer.edges,
        "input": answer.input.map(FileFormat::name),
        "ignored": ignored(&answer.report),
        "algorithm": answer.found.algorithm(),
        "device": self::device(run).to_string(),
        "threads": rayon::current_num_threads(),
        what: measure,
        "valid": answer.certificate.is_ok(),
        "seconds": answer.took.as_secs_f64(),
        "digest": format!("{:016x}", answer.found.digest()),
        "phases": times,
    });
    let Peaks { predicted, taken, device } = answer.peaks;
    let peaks = [("predicted", predicted), ("taken", taken.map(u128::from)), ("device", device)];
    for (name, bytes) in peaks.into_iter().filter_map(|(name, bytes)| Some((name, bytes?))) {
        object["peak_bytes"][name] = (bytes as u64).into();
    }
    if answer.directed {
        object["directed"] = true.into();
    }
    if let Some((rows, columns)) = answer.shape {
        (object["rows"], object["columns"]) = (rows.into(), columns.into());
    }
    if let Some(rounds) = answer.rounds {
        object["rounds"] = rounds.into();
    }
    for (what, value) in answer.found.more(&answer.numbering) {
        object[what] = value;
    }
    for (what, chosen) in choices {
        object[*what] = chosen.clone();
    }
    if let Some((rows, columns)) = job::grid().map(|grid| grid.shape()) {
        object["ranks"] = (rows * columns).into();
        object["grid"] = format!("{rows}x{columns}").into();
        if let Some([rows, columns, all, messages]) = answer.sent {
            object["sent"] = json!({"rows": rows, "columns": columns, "all": all, "messages": messages});
        }
        if let Some(link) = job::grid().and_then(|grid| grid.link()) {
            object["link"] = link.to_string().into();
        }
    }
    object
}

/// The report as text.
fn told_to_people(answer: &Answer, choices: &Choices, run: &Run) -> String {
    let (name, found) = (&answer.name, answer.found.told(answer.vertices, &answer.numbering));
    let checked = if answer.certificate.is_ok() { "valid" } else { "WRONG" };
    let told = |(what, chosen): &(&str, Value)| match chosen {
        Value::String(name) => format!("{what} {name}"),
        number => format!("{what} {number}"),
    };
    let chosen: Vec<String> = choices.iter().map(told).collect();
    let chosen = if chosen.is_empty() { String::new() } else { chosen.join(", ") + ": " };
    let rounds = answer.rounds.map_or(String::new(), |rounds| counted(rounds as usize, "round") + ", ");
    let n = counted(answer.vertices, "vertex");
    let edges = counted(answer.edges, if answer.directed { "directed edge" } else { "edge" });
    let size = match answer.shape {
        Some((rows, columns)) => format!("{rows} x {columns}, {} entries", answer.edges),
        None => format!("{n}, {edges}"),
    };
    let seconds = answer.took.as_secs_f64();
    let (device, threads) = (device(run), rayon::current_num_threads());
    let ranks = job::grid().map_or(String::new(), |grid| {
        let (rows, columns) = grid.shape();
        let link = grid.link().map_or(String::new(), |link| format!(" by {link}"));
        format!(", ranks {rows}x{columns}{link}")
    });
    format!(
        "{name}: {size}\n{found}, {checked}\n{chosen}{rounds}{seconds:.3} s on \
         {device}, threads {threads}{ranks}\ndigest {:016x}\n",
        answer.found.digest(),
    )
}
