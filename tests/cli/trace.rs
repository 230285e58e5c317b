//! `--trace`: its format, and how much of the time its spans tell of. And what else belongs to any command: `--quiet`, completions, pages
//! of the manual.

use crate::harness::{refused, run, text};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::Instant;

/// Runs the command with a trace, and returns its events.
fn traced(folder: &Path, arguments: &[&str]) -> Vec<Value> {
    let out = run(folder, &[arguments, &["--trace", "t.json"]].concat());
    assert!(out.status.success(), "{arguments:?}: {}", text(&out.stderr));
    let trace: Value = serde_json::from_str(&fs::read_to_string(folder.join("t.json")).unwrap()).unwrap();
    assert_eq!(trace["displayTimeUnit"], "ms");
    trace["traceEvents"].as_array().unwrap().clone()
}

/// The complete events of a category: their names, begins and durations in microseconds.
fn spans(events: &[Value], category: &str) -> Vec<(String, f64, f64)> {
    let of = events.iter().filter(|event| event["ph"] == "X" && event["cat"] == category);
    let span = |event: &Value| {
        let name = event["name"].as_str().unwrap().to_owned();
        (name, event["ts"].as_f64().unwrap(), event["dur"].as_f64().unwrap())
    };
    of.map(span).collect()
}

#[test]
fn traces_have_the_format_that_perfetto_reads() {
    let folder = tempfile::tempdir().unwrap();
    let events = traced(folder.path(), &["mis", "grid:60x60", "--device", "cpu", "--out", "set"]);
    for event in &events {
        assert!(event["name"].is_string() && event["pid"].is_u64() && event["tid"].is_u64(), "{event}");
        match event["ph"].as_str().unwrap() {
            "M" => assert!(event["args"]["name"].is_string(), "{event}"),
            "X" => assert!(event["ts"].as_f64().unwrap() >= 0.0 && event["dur"].as_f64().unwrap() >= 0.0, "{event}"),
            "i" => assert!(event["ts"].as_f64().unwrap() >= 0.0 && event["s"] == "t", "{event}"),
            other => panic!("{other}: {event}"),
        }
    }
    let mut phases: Vec<String> = spans(&events, "phase").into_iter().map(|(name, ..)| name).collect();
    // preparing goes on in several places
    phases.dedup();
    assert_eq!(phases, ["start", "read", "prepare", "run", "check", "write"]);
    let operations = spans(&events, "operation");
    assert!(operations.iter().any(|(name, ..)| name == "fixpoint"), "{operations:?}");
    // operations of the run lie within it
    let (_, begin, lasted) = spans(&events, "phase").into_iter().find(|(name, ..)| name == "run").unwrap();
    let within = |(_, at, took): &(String, f64, f64)| *at >= begin && at + took <= begin + lasted + 1.0;
    assert!(operations.iter().any(within), "{operations:?}");
    assert!(events.iter().any(|event| event["name"] == "plan" && event["args"]["why"].is_string()), "plans are events");
}

#[test]
fn phases_add_up_to_the_time_of_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // other processes may delay the start of this one, so one of some runs must do; starting and ending it take some 15 ms
    let mut shares = (0..4).map(|_| {
        let start = Instant::now();
        let events = traced(folder, &["color", "rmat:18:16", "--device", "cpu"]);
        let wall = start.elapsed().as_secs_f64() * 1e6;
        let all = spans(&events, "command");
        assert_eq!(all.len(), 1, "one span of the whole: {all:?}");
        let whole = all[0].2;
        let phases: f64 = spans(&events, "phase").into_iter().map(|(.., took)| took).sum();
        assert!(phases <= whole && whole <= wall, "{phases} {whole} {wall}");
        phases / wall
    });
    assert!(shares.any(|share| share > 0.95), "the phases tell of less than 95 % of the time");
}

#[test]
fn every_command_can_be_traced() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (arguments, phase) in [
        (&["info", "grid:3x4"][..], "read"),
        (&["generate", "grid:3x4", "-o", "g.mtx"], "write"),
        (&["convert", "g.mtx", "g.vxm"], "write"),
        (&["info", "g.vxm", "--verify"], "check"),
        (&["report", "grid:3x4", "-o", "r.html", "--device", "cpu"], "report"),
        (&["sssp", "grid:3x4", "--source", "0", "--weights", "1..9", "--device", "cpu"], "prepare"),
    ] {
        let events = traced(folder, arguments);
        assert!(spans(&events, "phase").iter().any(|(name, ..)| name == phase), "{arguments:?}: {events:?}");
    }
    assert!(refused(folder, &["info", "grid:3x4", "--trace", "no/t.json"]).starts_with("--trace no/t.json: "));
}

#[test]
fn quiet_commands_tell_errors_only() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("e"), "1 1\n1 2\n").unwrap();
    let told = |arguments: &[&str]| text(&run(folder, arguments).stderr).to_owned();
    assert!(told(&["mis", "e", "--device", "cpu"]).contains("dropped 1 self-loop"));
    assert_eq!(told(&["mis", "e", "--device", "cpu", "--quiet"]), "");
    assert_eq!(told(&["-q", "generate", "grid:3x4", "-o", "g.mtx"]), "");
    assert!(told(&["-q", "mis", "nothere"]).starts_with("vxm: nothere: "));
}

#[test]
fn the_time_of_each_phase_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let told = |arguments: &[&str]| {
        let out = run(folder, arguments);
        assert!(out.status.success(), "{}", text(&out.stderr));
        let line = text(&out.stderr).lines().last().unwrap_or_default().to_owned();
        let parts = line.strip_prefix("vxm: time: ").and_then(|line| line.strip_suffix(" s in all"));
        let (parts, all) = parts.and_then(|line| line.split_once("; ")).unwrap_or_else(|| panic!("{line}"));
        let parts = parts.split(", ").map(|part| part.strip_suffix(" s").unwrap().split_once(' ').unwrap());
        let parts: Vec<(String, f64)> = parts.map(|(name, took)| (name.to_owned(), took.parse().unwrap())).collect();
        let sum: f64 = parts.iter().map(|(_, took)| took).sum();
        assert!((sum - all.parse::<f64>().unwrap()).abs() < 0.001 * parts.len() as f64, "{line}");
        parts.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(" ")
    };
    let phases = "start read prepare run check write rest";
    assert_eq!(told(&["mis", "grid:30x40", "--device", "cpu", "--out", "set", "--time"]), phases);
    assert_eq!(told(&["--time", "--quiet", "mis", "grid:30x40", "--device", "cpu", "--json", "--out", "set"]), phases);
    assert_eq!(told(&["generate", "grid:30x40", "-o", "g.vxm", "--time"]), "start read write rest");
    assert!(!text(&run(folder, &["mis", "grid:30x40", "--device", "cpu"]).stderr).contains("time"));
    assert!(refused(folder, &["mis", "nothere", "--time"]).starts_with("nothere: "));
    assert_eq!(
        refused(folder, &["profile", "mis", "grid:2x2", "--time"]),
        "profile: --time: expected before the algorithm"
    );
}

#[test]
fn shells_and_man_get_what_they_need() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (shell, sign) in [
        ("bash", "complete -F _vxm"),
        ("zsh", "#compdef vxm"),
        ("fish", "complete -c vxm"),
        ("elvish", "edit:completion"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let out = run(folder, &["completions", shell]);
        let script = text(&out.stdout);
        assert!(out.status.success() && script.contains(sign) && script.contains("pagerank"), "{shell}: {script}");
    }
    assert!(refused(folder, &["completions", "dos"]).contains("bash"));
    for (arguments, signs) in [
        (&["man"][..], ["NAME", "vxm\\-mis", "Exit status", "\\-\\-trace"]),
        (&["man", "mis"], ["NAME", "\\-\\-priority", "\\-\\-out", "GRAPH"]),
    ] {
        let out = run(folder, arguments);
        let page = text(&out.stdout);
        assert!(out.status.success() && page.contains(".TH "), "{page}");
        assert!(signs.iter().all(|sign| page.contains(sign)), "{arguments:?}: {page}");
    }
    assert!(refused(folder, &["man", "x"]).starts_with("unknown command `x`: expected mis, color"));
}

#[test]
fn options_say_what_they_expect() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (&["pagerank", "grid:3x4", "--damping", "much"][..], "expected a number, such as 0.85"),
        (&["pagerank", "grid:3x4", "--rounds", "-1"], "expected a number from 0 to 4294967295"),
        (&["mis", "grid:3x4", "--seed", "x"], "expected a number from 0 to"),
        (&["mis", "grid:3x4", "--priorty", "x"], "expected --priority?"),
        (&["mix", "grid:3x4"], "expected mis?"),
    ] {
        let told = refused(folder.path(), arguments);
        assert!(told.contains(expected), "{arguments:?}: {told}");
    }
}
