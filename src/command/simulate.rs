//! `vxm simulate`: an algorithm on many ranks of this process, and the time that a machine would take.

use crate::command::arguments::{Asked, Simulate, Task};
use crate::command::report::short;
use crate::command::{answer, counted, dispatch, job, print, profile};
use core::iter::once;
use serde_json::{Value, json};
use std::process::ExitCode;
use vxm::backend::Device;
use vxm::ranks::{Amount, Model, Shape, Simulation, Sums, Time, simulate as run};
use vxm::{Error, Result};

/// The most rounds that are told one by one.
const MOST_ROUNDS: usize = 16;
/// The most ranks. Each is a thread, and an exchange of all takes the square of their number.
const MOST_RANKS: usize = 1024;

/// Runs an algorithm on the ranks of a grid, and prints its answer and what the ranks did and sent.
pub fn simulate(options: &Simulate) -> Result<ExitCode> {
    let task = profile::algorithm("simulate", &["--model", "--host", "--times"], &options.arguments)?;
    let shape = checked(&task)?;
    let _limit = answer::limit(&task)?;
    let (statuses, simulated) =
        run(shape, options.host as usize, |grid| job::run_simulated(&task, grid, || dispatch(&task)))?;
    if task.run().is_some_and(|run| run.json) {
        print(&format!("{}\n", to_programs(&simulated, options)))?;
    } else {
        print(&to_people(&simulated, options))?;
    }
    Ok(statuses.into_iter().next().unwrap_or(ExitCode::SUCCESS))
}

/// The grid that a task asks for. Refuses what a simulation doesn't run.
fn checked(task: &Task) -> Result<(usize, usize)> {
    let Some(run) = task.run() else { return Err(Error::invalid("simulate: expected an algorithm")) };
    if run.device != Asked::Auto && run.device() != Device::Cpu {
        return Err(Error::invalid("simulate: ranks are threads of a CPU: expected --device auto or cpu"));
    }
    if run.explain {
        return Err(Error::invalid("simulate: plans of ranks aren't explained: expected no --explain"));
    }
    match run.ranks.grid {
        Shape::Grid(rows, columns) => match rows.checked_mul(columns) {
            Some(2..=MOST_RANKS) => Ok((rows, columns)),
            _ => Err(Error::invalid(format!(
                "simulate: --grid {}: expected from 2 to {MOST_RANKS} ranks",
                run.ranks.grid
            ))),
        },
        shape => Err(Error::invalid(format!("simulate: --grid {shape}: expected ROWSxCOLUMNS, such as --grid 8x8"))),
    }
}

/// The counts and times as a JSON object.
fn to_programs(simulated: &Simulation, options: &Simulate) -> Value {
    let amount = |amount: Amount| json!({"most": amount.most, "all": amount.all});
    let seconds = |time: Time| -> Value {
        let terms = time.named().into_iter().chain(once(("all", time.seconds())));
        terms.map(|(name, seconds)| (name.to_owned(), Value::from(seconds))).collect::<serde_json::Map<_, _>>().into()
    };
    let sums = |sums: &Sums| {
        let [rows, columns, all] = sums.bytes_by_axis;
        json!({
            "steps": sums.steps, "entries": amount(sums.entries), "elements": amount(sums.elements),
            "messages": sums.messages.map(amount), "bytes": sums.bytes.map(amount),
            "sent": {"rows": rows, "columns": columns, "all": all, "messages": sums.messages_sent()},
            "seconds": seconds(sums.time(&options.model, options.times)),
        })
    };
    let (rows, columns) = simulated.shape;
    json!({"simulation": {
        "grid": format!("{rows}x{columns}"), "host": simulated.host, "model": options.model.to_string(),
        "times": options.times, "vertices": simulated.vertices, "memory": amount(simulated.memory),
        "rounds": simulated.rounds().iter().map(|(_, of_round)| sums(of_round)).collect::<Vec<_>>(),
        "total": sums(&simulated.total()),
    }})
}

/// The same as text.
fn to_people(simulated: &Simulation, options: &Simulate) -> String {
    let Simulate { model, times, host, .. } = options;
    let ((rows, columns), ranks, total) = (simulated.shape, simulated.ranks(), simulated.total());
    let memory = simulated.memory.times(*times);
    let larger = if *times == 1 { String::new() } else { format!(", as if of {times} times the graph") };
    let mut told = format!(
        "\nsimulated: {ranks} ranks in {rows}x{columns}, {host} a host{larger}; {model}\n\
         a rank holds {}B of the graph, the fullest {:.2} times the mean\n\n",
        short(memory.most as f64),
        memory.load(ranks),
    );
    told += &line(
        "round",
        ["entries", "load", "elements", "rows B", "columns B", "all B", "messages"].map(String::from),
        "ms",
    );
    let rounds = simulated.rounds();
    // a single round more takes no more space than the line of later ones
    let apart = if rounds.len() > MOST_ROUNDS + 1 { MOST_ROUNDS } else { rounds.len() };
    for (round, sums) in &rounds[..apart] {
        let name = if *round == 0 { "before".to_owned() } else { round.to_string() };
        told += &sums_line(&name, sums, ranks, model, *times);
    }
    if let Some((first, _)) = rounds.get(apart) {
        let later: Sums = simulated.steps.iter().filter(|step| step.round >= *first).collect();
        told += &sums_line("later", &later, ranks, model, *times);
    }
    told += &sums_line("sum", &total, ranks, model, *times);
    let per_vertex = |bytes: u64| bytes as f64 / simulated.vertices.max(1) as f64;
    let [along_rows, along_columns, all] = total.bytes_by_axis.map(per_vertex);
    let time = total.time(model, *times);
    let terms = time.named().map(|(name, seconds)| format!("{name} {:.3}", seconds * 1e3)).join(", ");
    told + &format!(
        "\nsent a vertex: {:.2} bytes; along rows {along_rows:.2}, along columns {along_columns:.2}, to all {all:.2}\n\
         modelled: {:.3} ms in {}; {terms}\n",
        per_vertex(total.sent()),
        time.seconds() * 1e3,
        counted(total.steps as usize, "step"),
    )
}

/// The line of some steps. Counts of work and messages are those of the fullest rank; bytes are those of all.
fn sums_line(name: &str, sums: &Sums, ranks: usize, model: &Model, times: u64) -> String {
    let number = |count: u64| short(count as f64);
    let [rows, columns, all] = sums.bytes_by_axis.map(|bytes| number(bytes * times));
    let messages: u64 = sums.messages.iter().map(|messages| messages.most).sum();
    let columns = [
        number(sums.entries.times(times).most),
        format!("{:.2}", sums.entries.load(ranks)),
        number(sums.elements.times(times).most),
        rows,
        columns,
        all,
        number(messages),
    ];
    line(name, columns, &format!("{:.3}", sums.time(model, times).seconds() * 1e3))
}

fn line(name: &str, columns: [String; 7], last: &str) -> String {
    let columns: String = columns.iter().map(|column| format!(" {column:>9}")).collect();
    format!("{name:<7}{columns} {last:>10}\n")
}
