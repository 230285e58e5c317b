//! The command: from its arguments to its exit status.

mod alike;
mod answer;
mod arguments;
mod bars;
mod checked;
mod coloring;
mod convert;
mod dense;
mod distant;
mod doctor;
mod finish;
mod footprint;
mod found;
#[cfg(target_os = "linux")]
mod heap;
mod info;
mod job;
mod options;
mod phases;
mod profile;
mod recorder;
mod renumbered;
mod report;
mod shells;
#[cfg(unix)]
mod signals;
mod simulate;
mod subject;
mod tasks;
mod together;
mod trace;
mod values;

use arguments::{Arguments, Input, Task, Threads};
use bars::Bars;
use clap::Parser;
use clap::error::{ContextKind, ErrorKind};
use core::fmt::Display;
use core::hint::black_box;
use phases::phase;
use std::error::Error as _;
use std::ffi::OsStr;
use std::io::{ErrorKind as Io, Write, stderr, stdout};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use tracing_subscriber::filter::{FilterExt, LevelFilter, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};
use vxm::algorithms::PageRankOptions;
use vxm::error::printable;
use vxm::io::{Loaded, Report, WholeFile, read_as};
use vxm::{Error, Result};

/// Exit status: an answer failed its check, or `doctor` found no usable GPU.
const WRONG: u8 = 1;
/// Exit status: the input was refused.
const REFUSED: u8 = 2;

/// Whether only errors are told on standard error.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Runs the command with the arguments of the process.
pub fn main() -> ExitCode {
    let begin = Instant::now();
    #[cfg(target_os = "linux")]
    heap::share();
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        // a file that can't be decoded is told as an error
        if !vxm::io::decodes() {
            told(info);
        }
    }));
    let status = match Arguments::try_parse() {
        Ok(arguments) => traced(arguments, begin),
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            print(&error.render().to_string()).map(|()| ExitCode::SUCCESS)
        }
        Err(error) => Err(refused_arguments(&error)),
    };
    status.unwrap_or_else(|error| {
        tell(error);
        ExitCode::from(REFUSED)
    })
}

/// Runs the command, and writes its trace if one is asked for.
fn traced(arguments: Arguments, begin: Instant) -> Result<ExitCode> {
    let Arguments { task, trace, time, quiet } = arguments;
    QUIET.store(quiet, Ordering::Relaxed);
    heed_signals(&task)?;
    let file = trace.as_deref().map(|file| prepare("--trace", file)).transpose()?;
    if file.is_some() || matches!(task, Task::Report(_)) {
        recorder::start(begin);
    }
    if file.is_some() {
        vxm::kernels::trace::start();
    }
    let done = log().and_then(|()| vxm::backend::tuning::check()).and_then(|()| whole(task));
    if time && done.is_ok() {
        tell(phases::told(begin));
    }
    // ranks share the file, so one of them writes it
    match (file, recorder::recorder()) {
        (Some(file), Some(recorder)) if job::speaks() => {
            // what a lost device did isn't known
            recorder.add_devices(vxm::kernels::trace::finish().unwrap_or_default());
            trace::write(file, recorder).and(done)
        }
        _ => done,
    }
}

/// Runs a task, as one span. A report is a run of the algorithm that it names.
fn whole(task: Task) -> Result<ExitCode> {
    let _span = tracing::info_span!("vxm").entered();
    match task {
        Task::Report(report) => match report.asked()? {
            report::Asked::Run(task) => run(*task),
            report::Asked::Compare(out, files) => report::compare(out, files).map(|()| ExitCode::SUCCESS),
        },
        task => run(task),
    }
}

fn run(task: Task) -> Result<ExitCode> {
    if let Task::Profile { runs, arguments } = &task {
        return run(profile::task(*runs, arguments)?);
    }
    let starting = phase("start");
    let Threads { threads } = match (&task, task.run()) {
        (_, Some(run)) => run.threads,
        (Task::Convert(options), _) => options.threads,
        (Task::Doctor(options), _) => options.threads,
        (Task::Info { threads, .. } | Task::Generate { threads, .. }, _) => *threads,
        _ => Threads { threads: None },
    };
    let count = threads.map_or_else(job::default_threads, |threads| Ok(threads.into()))?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build();
    let pool = pool.map_err(|error| Error::invalid(format!("cannot start {}: {error}", counted(count, "thread"))))?;
    // each thread allocates once, so that its allocator's address space is already counted when a limit on it is
    // checked
    pool.broadcast(|_| drop(black_box(vec![0u8; 64])));
    drop(starting);
    pool.install(|| {
        let limited = || {
            job::agree(renumbered::check(&task))?;
            let _limit = job::agree(answer::limit(&task))?;
            dispatch(&task)
        };
        let status = job::run(&task, limited)?;
        profile::tell(&task)?;
        Ok(status)
    })
}

/// Runs the task.
fn dispatch(task: &Task) -> Result<ExitCode> {
    match task {
        Task::Mis { priority, formulation, best_of, distance, seed, run } if distance.distance == 2 => {
            distant::mis(*priority, *formulation, *best_of, seed.seed, run)
        }
        Task::Mis { priority, formulation, best_of: Some(runs), seed, run, .. } => {
            tasks::best_of(priority.unwrap_or_default(), *formulation, *runs, seed.seed, run)
        }
        Task::Mis { priority, formulation, seed, run, .. } => {
            tasks::mis(priority.unwrap_or_default(), *formulation, seed.seed, run)
        }
        Task::Color(options) => coloring::color(options),
        Task::Aggregates { priority, seed, run } => distant::aggregates(*priority, seed.seed, run),
        Task::Cover { priority, seed, run } => dense::cover(*priority, seed.seed, run),
        Task::Clique { order, seed, run } => dense::clique(*order, seed.seed, run),
        Task::Bfs { source, parents, run } => tasks::bfs(source, *parents, run),
        Task::Sssp { source, parents: true, weights, run } => {
            tasks::shortest_tree(source, weights.weights, weights.seed, run)
        }
        Task::Sssp { source, weights, run, .. } => tasks::sssp(source, weights.weights, weights.seed, run),
        Task::Components { run } => tasks::components(run),
        Task::Pagerank { damping, rounds, tolerance, sources, precision, run } => {
            let rounds = rounds.unwrap_or(if *tolerance > 0.0 { 1000 } else { 20 });
            let options = PageRankOptions::default().damping(*damping).rounds(rounds).tolerance(*tolerance);
            tasks::pagerank(options, sources, *precision, run)
        }
        Task::Kcore { run } => dense::kcore(run),
        Task::Betweenness { sources, seed, run } => tasks::betweenness(*sources, seed.seed, run),
        Task::Communities { tolerance, run } => tasks::communities(*tolerance, run),
        Task::Labels { rounds, run } => tasks::labels(*rounds, run),
        Task::Triangles { run } => dense::triangles(run),
        Task::Ktruss { k, run } => dense::ktruss(*k, run),
        Task::Clustering { run } => dense::clustering(run),
        Task::Msf { weights, run } => tasks::msf(weights.weights, weights.seed, run),
        Task::Scc { run } => tasks::scc(run),
        Task::Roots { run } => tasks::roots(run),
        Task::Matching { weighted, weights, run } => tasks::matching(*weighted, weights.weights, weights.seed, run),
        Task::Convert(options) => convert::convert(options).map(|()| ExitCode::SUCCESS),
        Task::Info { graph, verify: true, .. } => convert::verify(graph).map(|()| ExitCode::SUCCESS),
        Task::Info { graph, input, json, limits, bus, .. } => {
            info::info(graph, input, *json, (*limits, *bus)).map(|()| ExitCode::SUCCESS)
        }
        Task::Generate { spec, out, output, .. } => convert::generate(spec, out, *output).map(|()| ExitCode::SUCCESS),
        Task::Simulate(options) => simulate::simulate(options),
        Task::Doctor(options) => doctor::doctor(options),
        // its algorithm was dispatched in its place
        Task::Profile { .. } => Ok(ExitCode::SUCCESS),
        Task::Completions { shell } => shells::completions(*shell).map(|()| ExitCode::SUCCESS),
        Task::Man { command } => shells::man(command.as_deref()).map(|()| ExitCode::SUCCESS),
        // it has become a run
        Task::Report(_) => Err(Error::invalid("report: expected no report within a report")),
    }
}

/// Prepares an output file: checked before the run, and complete or absent after it.
fn prepare(option: &str, out: &Path) -> Result<WholeFile> {
    WholeFile::prepare(out).map_err(|error| match error {
        Error::Io { file, source } => Error::Io { file: format!("{option} {file}"), source },
        other => other,
    })
}

/// From now on, a signal that ends the process first cleans up.
fn heed_signals(task: &Task) -> Result<()> {
    #[cfg(unix)]
    {
        let input = match task {
            Task::Convert(options) => Some(&options.graph),
            Task::Info { graph, .. } => Some(graph),
            task => task.run().map(|run| &run.graph),
        };
        signals::clean_up_at_the_end(
            input.map_or_else(|| task.name().to_owned(), |input| input.to_string_lossy().into()),
        )?;
    }
    #[cfg(not(unix))]
    let _ = task;
    Ok(())
}

/// A count with its noun, in the plural unless the count is 1.
fn counted(count: usize, what: &str) -> String {
    match (count, what) {
        (1, _) => format!("1 {what}"),
        (_, "vertex") => format!("{count} vertices"),
        (_, "community") => format!("{count} communities"),
        _ => format!("{count} {what}s"),
    }
}

/// Reads or generates a graph, and reports what cleaning changed and ignored.
fn load(graph: &OsStr, input: &Input) -> Result<Loaded> {
    let loaded = load_quietly(graph, input)?;
    note(&loaded.name, &loaded.report);
    Ok(loaded)
}

/// The same, without a report.
fn load_quietly(graph: &OsStr, input: &Input) -> Result<Loaded> {
    let (bars, _phase) = (Bars::new(), phase("read"));
    read_as(graph, input.read_as(), &bars)
}

/// The report of what was ignored, for JSON objects.
fn ignored(report: &Report) -> serde_json::Value {
    serde_json::json!({"weights": report.weights, "vertex_weights": report.vertex_weights})
}

/// Reports what cleaning changed and ignored, on standard error.
fn note(name: &str, report: &Report) {
    if !report.is_clean() {
        remark(format!("{name}: {report}"));
    }
}

/// Prints what is no error as one line on standard error, unless `--quiet` is given.
fn remark(message: impl Display) {
    if !is_quiet() {
        tell(message);
    }
}

/// Whether only errors are told on standard error.
fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints a message as one line on standard error. Line breaks and unprintable characters are escaped.
fn tell(message: impl Display) {
    if job::speaks() {
        say(message);
    }
}

/// As [`tell`], on every rank.
fn say(message: impl Display) {
    // at once, so that no other rank's message comes between; if standard error is closed, the message is lost
    let line = format!("vxm: {}\n", printable(message.to_string().as_bytes()));
    let _ = stderr().write_all(line.as_bytes());
}

/// Prints to standard output. A closed pipe is not an error.
fn print(text: &str) -> Result<()> {
    if !job::speaks() {
        return Ok(());
    }
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != Io::BrokenPipe => Err(Error::io("standard output")(error)),
        _ => Ok(()),
    }
}

/// If `VXM_LOG` is set, logs to standard error what it selects. The recorder, if it was started, gets all.
fn log() -> Result<()> {
    let filter = std::env::var_os("VXM_LOG").map(|filter| log_filter(&filter.to_string_lossy())).transpose()?;
    // spans would stand before each line
    let lines = filter.map(|filter| {
        let events = filter.and(filter_fn(|metadata| metadata.is_event()));
        tracing_subscriber::fmt::layer().with_writer(stderr).without_time().with_filter(events)
    });
    let recording = recorder::recorder().map(recorder::layer);
    let rounds = bars::are_shown().then(bars::layer);
    if lines.is_some() || recording.is_some() || rounds.is_some() {
        tracing_subscriber::registry().with(lines).with(recording).with(rounds).init();
    }
    Ok(())
}

/// The filter that `VXM_LOG` gives.
fn log_filter(filter: &str) -> Result<EnvFilter> {
    let parsed = EnvFilter::try_new(filter).map_err(|error| Error::invalid(format!("VXM_LOG={filter}: {error}")))?;
    // a single word must be a level or a module of the program; a mistyped level would be taken for a module and show
    // nothing
    let is_word = filter.chars().all(char::is_alphanumeric);
    if is_word && !filter.is_empty() && filter.parse::<LevelFilter>().is_err() && !filter.starts_with("vxm") {
        let expected = "error, warn, info, debug, trace or off";
        return Err(Error::invalid(format!("VXM_LOG={filter}: expected {expected}")));
    }
    Ok(parsed)
}

/// The error for arguments that the parser refuses.
fn refused_arguments(error: &clap::Error) -> Error {
    Error::invalid(usage(error))
}

/// The error message for wrong arguments, in one line.
fn usage(error: &clap::Error) -> String {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return "expected a command: mis, color, cover, clique, bfs, sssp, components, pagerank, kcore, labels, communities, betweenness, \
                triangles, ktruss, clustering, msf, scc, roots, matching, convert, info, generate, profile, report, \
                simulate, completions, man or doctor (vxm --help tells more)"
            .to_owned();
    }
    // a name that this crate rejected: its error lists the valid names
    if let Some(refused) = error.source().and_then(|source| source.downcast_ref::<Error>()) {
        return refused.to_string();
    }
    let told = error.render().to_string();
    let first: Vec<&str> = told.lines().take_while(|line| !line.trim().is_empty()).map(str::trim).collect();
    let line = first.join(" ");
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    match error.get(ContextKind::SuggestedArg).or(error.get(ContextKind::SuggestedSubcommand)) {
        Some(similar) => format!("{line}: expected {similar}?"),
        None => line.to_owned(),
    }
}
