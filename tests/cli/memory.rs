//! Runs under a limit on memory: graphs that are built on disk, and files larger than the limit.

use crate::harness::{answer, json, refused, run, run_with, text};
use std::fs;
use std::path::Path;

/// Runs the command under a limit. It must succeed. Returns what it logs.
fn limited(folder: &Path, limit: &str, arguments: &str) -> String {
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let environment = [("VXM_LOG", Path::new("vxm::io=debug")), ("VXM_MEMORY", Path::new(limit))];
    let out = run_with(folder, &environment, &arguments);
    assert_eq!(out.status.code(), Some(0), "{arguments:?}: {}", text(&out.stderr));
    text(&out.stderr).to_owned()
}

#[test]
fn what_is_built_on_disk_is_what_is_built_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let made = |arguments: &str| {
        let out = run(folder, &arguments.split(' ').collect::<Vec<_>>());
        assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    };
    let same = |one: &str, two: &str| fs::read(folder.join(one)).unwrap() == fs::read(folder.join(two)).unwrap();
    // by a generator
    made("generate kron:18:16 -o all.vxm");
    let told = limited(folder, "48MiB", "generate kron:18:16 -o some.vxm");
    assert!(told.contains("built on disk") && same("all.vxm", "some.vxm"), "{told}");
    // from Matrix Market and from edges, each as text and compressed
    made("generate kron:18:16 -o graph.mtx");
    made("generate kron:18:16 -o graph.mtx.gz");
    made("generate kron:18:32 -o more.vxm");
    made("convert more.vxm graph.el");
    made("convert graph.el edges.vxm --undirected");
    for (file, expected) in [("graph.mtx", "all.vxm"), ("graph.mtx.gz", "all.vxm"), ("graph.el", "edges.vxm")] {
        let _ = fs::remove_file(folder.join("some.vxm"));
        // an edge list's vertex numbers take memory too
        let limit = if file == "graph.el" { "72MiB" } else { "48MiB" };
        let told = limited(folder, limit, &format!("convert {file} some.vxm --undirected"));
        assert!(told.contains("built on disk"), "{file}: {told}");
        // a matrix from Matrix Market is numbered from 1, which the file says
        let digest = |file: &str| answer(folder, &["mis", file])["digest"].clone();
        assert_eq!(digest("some.vxm"), digest(expected), "{file}");
    }
}

#[test]
fn a_run_within_a_limit_has_the_same_answer() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    assert_eq!(run(folder, &["generate", "kron:18:16", "-o", "g.vxm"]).status.code(), Some(0));
    for command in ["mis", "components", "bfs --source 0"] {
        let words: Vec<&str> = command.split(' ').chain(["g.vxm"]).collect();
        let digest = answer(folder, &words)["digest"].clone();
        let limited = answer(folder, &[&words[..], &["--memory", "128MiB"]].concat());
        assert_eq!(limited["digest"], digest, "{command}");
    }
}

#[test]
fn the_least_limits_that_are_told_do() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    assert_eq!(run(folder, &["generate", "kron:16:16", "-o", "g.vxm"]).status.code(), Some(0));
    let limits = json(folder, &["info", "g.vxm", "--bus", "25GB/s"])["limits"].clone();
    assert_eq!(limits["bus_bytes_per_second"], 25_000_000_000u64);
    for (command, algorithm, which) in [
        ("mis g.vxm", "mis", "decide"),
        ("color g.vxm", "color", "jp"),
        ("components g.vxm", "components", "labels"),
        ("kcore g.vxm", "kcore", "cores"),
        ("bfs --source 0 g.vxm", "bfs", "hops"),
    ] {
        let told = &limits[algorithm][which];
        let least = told["host"].as_u64().unwrap();
        let words: Vec<&str> = command.split(' ').collect();
        let digest = answer(folder, &words)["digest"].clone();
        let memory = least.to_string();
        assert_eq!(answer(folder, &[&words[..], &["--memory", &memory]].concat())["digest"], digest, "{command}");
        let less = (least - 1).to_string();
        let line = refused(folder, &[&words[..], &["--memory", &less]].concat());
        assert!(line.contains("needs a memory budget of at least "), "{line}");
        // what is read over the bus takes as long as its rate says
        let (bytes, seconds) = (told["bus_bytes"].as_u64().unwrap(), told["bus_seconds"].as_f64().unwrap());
        assert!((bytes as f64 / 25e9 - seconds).abs() < 1e-9 && bytes > 0, "{told}");
    }
    let out = run(folder, &["info", "g.vxm", "--limits"]);
    let table = text(&out.stdout);
    assert!(table.contains("the least --memory that does") && !table.contains("at the peak"), "{table}");
    for (rate, told) in
        [("50", "bytes a second such as 50GB/s"), ("0GB/s", "such as 50GB/s"), ("fast/s", "such as 50GB/s")]
    {
        let line = refused(folder, &["info", "g.vxm", "--bus", rate]);
        assert!(line.contains(told), "{line}");
    }
}

#[test]
fn limits_that_are_wrong_or_too_small_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let line = refused(folder, &["mis", "grid:3x3", "--memory", "lots"]);
    assert!(line.contains("--memory") && line.contains("such as 8GiB or 512MiB"), "{line}");
    let out = run_with(folder, &[("VXM_MEMORY", Path::new("-3"))], &["mis", "grid:3x3"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(
        text(&out.stderr).starts_with("vxm: VXM_MEMORY: expected a number of bytes such as "),
        "{}",
        text(&out.stderr)
    );
    let line = refused(folder, &["color", "grid:300x300", "--memory", "1MiB", "--device", "cpu"]);
    assert!(line.contains("grid:300x300"), "{line}");
    let line = refused(folder, &["generate", "kron:22:16", "-o", "g.vxm", "--memory", "40MiB"]);
    assert!(line.starts_with("kron:22:16: building on disk: needs a memory budget of at least "), "{line}");
    assert!(fs::read_dir(folder).unwrap().next().is_none(), "nothing is left behind");
}
