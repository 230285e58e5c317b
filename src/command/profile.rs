//! `vxm profile`: runs an algorithm with counters, and prints the tables and series of "Code-Specific Profiling of GPU Graph Analytics"
//! for it.

use crate::command::answer::Outcome;
use crate::command::arguments::{Arguments, Run, Task};
use crate::command::print;
use clap::Parser;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::ffi::OsString;
use vxm::backend::explain::{Choices, choices};
use vxm::backend::profile::{
    Counts, ElementVisits, GroupLoad, LoopKind, LoopProfile, OperationProfile, Profile, Round, Spread, collect,
};
use vxm::{Error, Result};

/// The most loops that are told one by one.
const MOST_LOOPS: usize = 6;
/// The most rounds of a loop that are told one by one.
const MOST_ROUNDS: usize = 16;

thread_local! {
    /// The profiles of the runs so far.
    static RUNS: RefCell<Vec<Profile>> = const { RefCell::new(Vec::new()) };
    /// The choices of the last run that was to be explained.
    static CHOICES: RefCell<Choices> = RefCell::default();
}

/// The task of an algorithm that is to be profiled, given its arguments: `mis GRAPH --seed 3`.
pub fn task(runs: u32, arguments: &[OsString]) -> Result<Task> {
    let mut task = algorithm("profile", &["--runs"], arguments)?;
    if let Some(run) = task.run_mut() {
        run.profiled_runs = runs;
    }
    Ok(task)
}

/// The task of an algorithm, given its arguments. `command` asks for it, and has the options `own` beside those that all commands have.
pub fn algorithm(command: &str, own: &[&str], arguments: &[OsString]) -> Result<Task> {
    let before = [&["--trace", "--time", "--quiet", "-q"], own].concat();
    for argument in arguments.iter().map(|argument| argument.to_string_lossy()) {
        let name = argument.split('=').next().unwrap_or_default();
        if before.contains(&name) {
            return Err(Error::invalid(format!("{command}: {name}: expected before the algorithm")));
        }
    }
    let words = [OsString::from("vxm")].into_iter().chain(arguments.iter().cloned());
    let parsed = match Arguments::try_parse_from(words) {
        // help and the version go to standard output
        Err(asked) if !asked.use_stderr() => asked.exit(),
        parsed => parsed.map_err(|error| Error::invalid(super::usage(&error)))?,
    };
    if parsed.task.run().is_none() {
        let name = arguments.first().map_or(String::new(), |name| name.to_string_lossy().into_owned());
        return Err(Error::invalid(format!("{command} {name}: expected an algorithm, such as mis or components")));
    }
    Ok(parsed.task)
}

/// Runs an algorithm: once, or as often as it is to be profiled. Returns the outcome of the last run.
pub fn observed(run: &Run, find: impl Fn() -> Outcome) -> Outcome {
    for _ in 1..run.profiled_runs {
        counted(&find)?;
    }
    match (run.explain, run.profiled_runs) {
        (false, 0) => find(),
        (false, _) => counted(&find),
        (true, _) => {
            let (outcome, made) = choices(|| counted(&find));
            CHOICES.set(made);
            outcome
        }
    }
}

/// Runs an algorithm with counters, and keeps them.
fn counted(find: impl Fn() -> Outcome) -> Outcome {
    let (outcome, profile) = collect(find);
    RUNS.with_borrow_mut(|runs| runs.push(profile));
    outcome
}

/// Prints what the runs of a task counted, and how its last run was planned.
pub fn tell(task: &Task) -> Result<()> {
    let runs = RUNS.take();
    let (Some(run), Some(last)) = (task.run(), runs.last()) else { return Ok(()) };
    if run.json {
        return print(&format!("{}\n", to_programs(&runs)));
    }
    let plan = if run.explain { format!("\n{}", CHOICES.take().tree(last)) } else { String::new() };
    let tables = if run.profiled_runs > 0 { to_people(task, &runs) } else { String::new() };
    print(&(plan + &tables))
}

/// The profiles as a JSON object.
fn to_programs(runs: &[Profile]) -> Value {
    let counts = |counts: Counts| counts.named().into_iter().map(|(name, n)| (name, json!(n))).collect::<Object>();
    let round = |round: &Round| {
        let mut object = counts(round.counts);
        object.0["active"] = round.active.into();
        object.0["threads"] = round.threads.into();
        object.0["waiters"] = round.waiters.into();
        object.0["changes_by_block"] = json!(round.changes_by_block);
        object.0["nanoseconds"] = round.nanoseconds.into();
        object.0
    };
    let of_loop = |counted: &LoopProfile| {
        json!({
            "kind": counted.kind.name(), "at": counted.at, "device": counted.device, "in_place": counted.in_place,
            "elements": counted.elements, "entries": counted.entries, "nanoseconds": counted.nanoseconds,
            "bytes_moved": counted.bytes_moved(), "bytes_of_a_pass": counted.bytes_of_a_pass(),
            "rounds": counted.rounds.iter().map(round).collect::<Vec<_>>(),
            "threads": counted.threads.iter().map(|&thread| counts(thread).0).collect::<Vec<_>>(),
            "total": counts(counted.total()).0,
            "visits": counted.visits.as_ref().map(of_elements),
            "long_rows": counted.long_rows.as_ref().map(of_elements),
            "device_rounds": counted.device_rounds,
            "groups": counted.groups.iter().map(of_groups).collect::<Vec<_>>(),
        })
    };
    let of_operation = |operation: &OperationProfile| {
        json!({
            "name": operation.name, "elements": operation.elements, "nanoseconds": operation.nanoseconds,
            "counts": counts(operation.counts).0,
        })
    };
    let of_run = |profile: &Profile| {
        json!({
            "loops": profile.loops.iter().map(of_loop).collect::<Vec<_>>(),
            "operations": profile.operations.iter().map(of_operation).collect::<Vec<_>>(),
        })
    };
    json!({"profile": runs.iter().map(of_run).collect::<Vec<_>>()})
}

/// A JSON object under construction.
struct Object(Value);

impl FromIterator<(&'static str, Value)> for Object {
    fn from_iter<I: IntoIterator<Item = (&'static str, Value)>>(members: I) -> Self {
        let mut object = json!({});
        members.into_iter().for_each(|(name, value)| object[name] = value);
        Self(object)
    }
}

fn spread(spread: Spread) -> Value {
    json!({"min": spread.min, "median": spread.median, "max": spread.max, "mean": spread.mean})
}

fn of_groups(load: &GroupLoad) -> Value {
    json!({
        "group": load.group, "groups": load.groups, "visits": spread(load.visits), "finalised": spread(load.finalised),
        "edges": spread(load.edges), "imbalance": load.edges.imbalance(),
    })
}

fn of_elements(visits: &ElementVisits) -> Value {
    json!({
        "elements": visits.elements, "visits": spread(visits.visits), "unchanged": spread(visits.unchanged),
        "narrowed": spread(visits.narrowed),
    })
}

/// The profiles as text.
fn to_people(task: &Task, runs: &[Profile]) -> String {
    let Some(first) = runs.first() else { return String::new() };
    let mut text = String::new();
    text += &threads(&first.loops);
    text += &groups(&first.loops);
    if runs.len() > 1 {
        text += &several(runs);
    }
    match task {
        Task::Components { .. } => text += &components(first),
        Task::Color { .. } => text += &colors(&first.loops),
        Task::Scc { .. } => text += &series(&first.loops),
        _ => {}
    }
    for (k, counted) in first.loops.iter().enumerate().take(MOST_LOOPS) {
        text += &rounds(k + 1, counted);
    }
    if first.loops.len() > MOST_LOOPS {
        text += &format!("\n{} more loops: --json tells all\n", first.loops.len() - MOST_LOOPS);
    }
    text + &operations(first)
}

/// A table with right-aligned columns, but the first; nothing if it has no rows.
fn table(title: &str, head: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row.get(column).map_or(0, |cell| cell.chars().count()));
        cells.chain([head[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: Vec<&str>| {
        let cells = cells.iter().zip(&widths).enumerate();
        let padded =
            cells.map(|(k, (cell, &width))| if k == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") });
        format!("  {}\n", padded.collect::<Vec<_>>().join("  ").trim_end())
    };
    let body: String = rows.iter().map(|row| line(row.iter().map(String::as_str).collect())).collect();
    format!("\n{title}\n{}{body}", line(head.to_vec()))
}

/// A share in percent; a dash if there is nothing to share.
fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "-".to_owned() } else { format!("{:.1}", 100.0 * part as f64 / whole as f64) }
}

/// The name of a loop in tables: the file and line of the program, without folders.
fn name(counted: &LoopProfile) -> String {
    let place = counted.at.rsplit('/').next().unwrap_or(&counted.at);
    let line = place.rsplit_once(':').map_or(place, |(line, _)| line);
    format!("{} {line}", counted.kind.name())
}

/// The sums of all loops from one line of the program.
struct Line<'p> {
    name: String,
    loops: Vec<&'p LoopProfile>,
}

fn lines(loops: &[LoopProfile]) -> Vec<Line<'_>> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    for counted in loops {
        match lines.iter_mut().find(|line| line.loops[0].at == counted.at) {
            Some(line) => line.loops.push(counted),
            None => lines.push(Line { name: name(counted), loops: vec![counted] }),
        }
    }
    lines
}

/// As of the paper's table 2: how often elements were visited, and what each thread did.
fn threads(loops: &[LoopProfile]) -> String {
    let row = |line: Line<'_>| {
        let threads: Vec<Counts> = line.loops.iter().flat_map(|counted| counted.threads.iter().copied()).collect();
        let spread = |of: fn(&Counts) -> u64| Spread::of(threads.iter().map(of).collect());
        let (visits, finalised, edges) =
            (spread(|counts| counts.visits), spread(|counts| counts.finalised), spread(|counts| counts.edges));
        let elements: usize = line.loops.iter().map(|counted| counted.elements).sum();
        let of_elements: Vec<ElementVisits> = line.loops.iter().filter_map(|counted| counted.visits).collect();
        let visited: usize = of_elements.iter().map(|visits| visits.elements).sum();
        let sum: f64 = of_elements.iter().map(|visits| visits.visits.mean * visits.elements as f64).sum();
        let most = of_elements.iter().map(|visits| visits.visits.max).max().unwrap_or(0);
        vec![
            line.name,
            line.loops.len().to_string(),
            format!("{:.2}", sum / visited.max(1) as f64),
            most.to_string(),
            format!("{:.0}", elements as f64 / threads.len().max(1) as f64),
            format!("{:.0}", visits.mean),
            visits.max.to_string(),
            format!("{:.0}", finalised.mean),
            finalised.max.to_string(),
            format!("{:.2}", edges.imbalance()),
        ]
    };
    let on_cpu = |line: &Line<'_>| line.loops.iter().any(|counted| !counted.threads.is_empty());
    let rows: Vec<_> = lines(loops).into_iter().filter(on_cpu).map(row).collect();
    table(
        "Per element and per thread (table 2): visits, elements assigned and finalised, imbalance of edges (max/mean)",
        &["loop", "runs", "visits", "max", "assigned", "visits/thread", "max", "finalised", "max", "imbalance"],
        &rows,
    )
}

/// The same of a GPU: the load of its threads, warps and blocks.
fn groups(loops: &[LoopProfile]) -> String {
    let row = |counted: &LoopProfile, load: &GroupLoad| {
        let mut cells = vec![format!("{} by {}", name(counted), load.group), load.groups.to_string()];
        for Spread { min, median, max, mean, .. } in [load.visits, load.finalised, load.edges] {
            cells.extend([min.to_string(), median.to_string(), max.to_string(), format!("{mean:.2}")]);
        }
        cells.push(format!("{:.2}", load.edges.imbalance()));
        cells
    };
    let of_loop = |counted: &LoopProfile| counted.groups.iter().map(|load| row(counted, load)).collect::<Vec<_>>();
    let rows: Vec<_> = loops.iter().flat_map(of_loop).collect();
    let head = [
        "loop",
        "groups",
        "visits",
        "median",
        "max",
        "mean",
        "finalised",
        "median",
        "max",
        "mean",
        "entries",
        "median",
        "max",
        "mean",
        "imbalance",
    ];
    table(
        "Per thread, warp or block of a GPU (table 2): visits, elements finalised, entries of the rows visited",
        &head,
        &rows,
    )
}

/// As of the paper's table 3: the same of several runs.
fn several(runs: &[Profile]) -> String {
    let row = |line: &Line<'_>| {
        let mut cells = vec![line.name.clone()];
        for profile in runs {
            let loops: Vec<&LoopProfile> =
                profile.loops.iter().filter(|counted| counted.at == line.loops[0].at).collect();
            let visits: Vec<ElementVisits> = loops.iter().filter_map(|counted| counted.visits).collect();
            let visited: usize = visits.iter().map(|visits| visits.elements).sum();
            let sum: f64 = visits.iter().map(|visits| visits.visits.mean * visits.elements as f64).sum();
            cells.push(format!("{:.3}", sum / visited.max(1) as f64));
            cells.push(visits.iter().map(|visits| visits.visits.max).max().unwrap_or(0).to_string());
        }
        cells
    };
    let rows: Vec<_> = lines(&runs[0].loops).iter().map(row).collect();
    let mut head = vec!["loop".to_owned()];
    (1..=runs.len()).for_each(|run| head.extend([format!("run {run}"), "max".to_owned()]));
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    table("Visits per element in several runs (table 3)", &head, &rows)
}

/// As of the paper's table 4: entries read at the start, and what hooking and jumping did.
fn components(profile: &Profile) -> String {
    let start = profile.operations.iter().find(|operation| operation.counts.edges > 0);
    let total: Counts = profile.loops.iter().map(LoopProfile::total).sum();
    let mut rows = Vec::new();
    if let Some(start) = start {
        rows.push(vec!["vertices initialised".to_owned(), start.elements.to_string()]);
        rows.push(vec!["neighbours traversed for that".to_owned(), start.counts.edges.to_string()]);
        rows.push(vec!["rows not read to their end".to_owned(), start.counts.early_exits.to_string()]);
    }
    let rest = [
        ("neighbours traversed by the loop", total.edges),
        ("rows skipped by the loop", total.skipped_rows),
        ("joins", total.atomics),
        ("joins that hooked", total.effective_atomics),
        ("steps along pointers", total.jumps),
    ];
    rows.extend(rest.into_iter().map(|(what, count)| vec![what.to_owned(), count.to_string()]));
    table("Components (table 4)", &["event", "count"], &rows)
}

/// As of the paper's table 5: how often a vertex' best colour changed, and how often it couldn't be coloured yet.
fn colors(loops: &[LoopProfile]) -> String {
    let row = |which: &str, counted: &LoopProfile, visits: Option<ElementVisits>| {
        let visits = visits?;
        Some(vec![
            format!("{} {which}", name(counted)),
            visits.elements.to_string(),
            format!("{:.2}", visits.narrowed.mean),
            visits.narrowed.max.to_string(),
            format!("{:.2}", visits.unchanged.mean),
            visits.unchanged.max.to_string(),
        ])
    };
    let of_loop = |counted: &LoopProfile| {
        [row("all rows", counted, counted.visits), row("long rows", counted, counted.long_rows)]
    };
    let rows: Vec<_> = loops.iter().flat_map(of_loop).flatten().collect();
    table(
        "Colouring (table 5): best colour changed, and assignment not yet possible; long rows have more than 31 entries",
        &["loop", "vertices", "changed", "max", "not yet", "max"],
        &rows,
    )
}

/// As of the paper's figure 1: changes in each part of the state, in the first two runs of a loop.
fn series(loops: &[LoopProfile]) -> String {
    let mut text = "\nChanges by block, 64 equal parts of the vertices (figure 1)\n".to_owned();
    for (m, counted) in loops.iter().step_by(2).enumerate().take(2) {
        let last = counted.rounds.len();
        let mut shown = vec![0, last / 2, last.saturating_sub(2)];
        shown.dedup();
        for n in shown.into_iter().filter(|&n| n < last) {
            let changes = &counted.rounds[n].changes_by_block;
            let idle = changes.iter().filter(|&&changes| changes == 0).count();
            text += &format!(
                "  m={} n={} of {last}: {} changes, {idle} blocks without\n",
                m + 1,
                n + 1,
                counted.rounds[n].counts.changed
            );
            for line in changes.chunks(16) {
                text += &line.iter().map(|changes| format!("{changes:>7}")).collect::<String>();
                text.push('\n');
            }
        }
    }
    text
}

/// As of the paper's figure 2: what each round of a loop did, and which shares of it were useful.
fn rounds(number: usize, counted: &LoopProfile) -> String {
    let row = |n: usize, round: &Round| {
        let Counts { visits, changed, finalised, edges, early_exits, atomics, effective_atomics, failed_swaps, .. } =
            round.counts;
        vec![
            n.to_string(),
            round.active.to_string(),
            percent(round.active, counted.elements as u64),
            visits.to_string(),
            // where visits aren't counted by element, they push, and may change many elements
            if counted.visits.is_some() { percent(changed, visits) } else { "-".to_owned() },
            finalised.to_string(),
            edges.to_string(),
            early_exits.to_string(),
            atomics.to_string(),
            percent(atomics - effective_atomics + failed_swaps, atomics + failed_swaps),
            percent(failed_swaps, effective_atomics + failed_swaps),
            round.threads.to_string(),
            round.waiters.to_string(),
            format!("{:.3}", round.nanoseconds as f64 / 1e6),
        ]
    };
    let all = counted.rounds.iter().enumerate();
    let hidden = counted.rounds.len().saturating_sub(MOST_ROUNDS);
    let shown = |n: usize| hidden == 0 || n < MOST_ROUNDS / 2 || n >= counted.rounds.len() - MOST_ROUNDS / 2;
    let rows: Vec<_> = all.filter(|&(n, _)| shown(n)).map(|(n, round)| row(n + 1, round)).collect();
    let rounds = counted.device_rounds.filter(|_| counted.kind != LoopKind::Steps);
    let count = rounds.map_or(counted.rounds.len(), |rounds| rounds as usize);
    let kind = match (counted.in_place, count) {
        (_, count) if counted.kind == LoopKind::Steps => {
            if count == 1 {
                "step"
            } else {
                "steps"
            }
        }
        (true, 1) => "pass in place",
        (true, _) => "passes in place",
        (false, 1) => "round",
        (false, _) => "rounds",
    };
    let title = format!(
        "Loop {number}, {} on {}: {} elements, {} entries, {count} {kind}, {:.3} ms, {:.1} MB moved, one pass is {:.1} MB (figure 2){}",
        name(counted),
        counted.device,
        counted.elements,
        counted.entries,
        counted.nanoseconds as f64 / 1e6,
        counted.bytes_moved() as f64 / 1e6,
        counted.bytes_of_a_pass() as f64 / 1e6,
        if hidden > 0 { format!("; {hidden} in the middle are left out") } else { String::new() },
    );
    let head = [
        "round",
        "active",
        "%",
        "visits",
        "useful %",
        "finalised",
        "edges",
        "early exits",
        "joins",
        "useless %",
        "conflicts %",
        "threads",
        "waiters",
        "ms",
    ];
    table(&title, &head, &rows)
}

/// What evaluations outside of loops did.
fn operations(profile: &Profile) -> String {
    let row = |(k, operation): (usize, &OperationProfile)| {
        vec![
            format!("{} {}", k + 1, operation.name),
            operation.elements.to_string(),
            operation.counts.edges.to_string(),
            operation.counts.early_exits.to_string(),
            operation.counts.jumps.to_string(),
            format!("{:.3}", operation.nanoseconds as f64 / 1e6),
        ]
    };
    let rows: Vec<_> = profile.operations.iter().enumerate().take(MOST_ROUNDS).map(row).collect();
    let left = profile.operations.len() - rows.len();
    let more = if left > 0 { format!("; {left} more: --json tells all") } else { String::new() };
    table(
        &format!("Evaluations outside of loops{more}"),
        &["operation", "elements", "edges", "early exits", "jumps", "ms"],
        &rows,
    )
}
