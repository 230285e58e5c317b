//! `vxm convert`, `vxm generate -o F.vxm` and `vxm info --verify`, as processes.

use crate::common::{data, facts};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use vxm::io::{FileFormat, NativeFile, Verify, read, read_digraph};

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let file = std::env::var("NEXTEST_BIN_EXE_vxm").unwrap_or_else(|_| env!("CARGO_BIN_EXE_vxm").to_owned());
    let mut command = Command::new(file);
    command.current_dir(folder).args(arguments).env_remove("VXM_LOG");
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().unwrap()
}

/// Runs a command that must succeed. Returns what it prints on standard error.
fn told(folder: &Path, arguments: &[&str]) -> String {
    let out = run(folder, arguments);
    let told = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(0), "{arguments:?}: {told}");
    told
}

/// Runs a command that must be refused in one line, which is returned without `vxm: `.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    let out = run(folder, arguments);
    let told = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(2), "{arguments:?}: {told}");
    assert!(told.starts_with("vxm: ") && told.lines().count() == 1, "{told}");
    told["vxm: ".len()..].trim_end().to_owned()
}

fn answer(folder: &Path, arguments: &[&str]) -> Value {
    let out = run(folder, &[arguments, &["--json", "--device", "cpu"]].concat());
    assert_eq!(out.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).unwrap()
}

/// No file but those named is in the folder.
fn only(folder: &Path, names: &[&str]) {
    let mut found: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    found.sort();
    assert_eq!(found, names);
}

#[test]
fn answers_are_those_of_the_source() {
    let mut sources: Vec<String> = ["rmat:12:8", "grid:40x50", "road:30"].map(str::to_owned).into();
    sources.extend(facts("real").into_iter().map(|(path, _)| path).filter(|path| !path.contains("lp1")).take(3));
    let folder = tempfile::tempdir().unwrap();
    for source in &sources {
        for options in [&["--undirected"][..], &[]] {
            told(folder.path(), &[&["convert", source, "g.vxm"], options].concat());
            for algorithm in
                [&["mis"][..], &["color"], &["components"], &["kcore"], &["scc"], &["matching"], &["clique"]]
            {
                let of = |file: &str| answer(folder.path(), &[algorithm, &[file]].concat());
                let (one, other) = (of(source), of("g.vxm"));
                assert_eq!(one["digest"], other["digest"], "{source} {algorithm:?}");
                assert_eq!((one["vertices"].clone(), &other["input"]), (other["vertices"].clone(), &"vxm".into()));
            }
        }
    }
}

#[test]
fn weights_and_directions_are_kept() {
    let Some(data) = data() else { return };
    let folder = tempfile::tempdir().unwrap();
    for name in ["west0067.mtx", "ldbc-directed-example.mtx", "msf1.mtx", "random_weighted_general1.mtx", "cover.mtx"] {
        let source = data.join("lagraph").join(name).display().to_string();
        told(folder.path(), &["convert", &source, "g.vxm"]);
        for algorithm in [&["sssp", "--source", "1"][..], &["scc"], &["pagerank"], &["mis"]] {
            let of = |file: &str| {
                let out = run(folder.path(), &[algorithm, &[file, "--json", "--device", "cpu"]].concat());
                let object: Option<Value> = serde_json::from_slice(&out.stdout).ok();
                (out.status.code(), object.map(|object| object["digest"].clone()))
            };
            assert_eq!(of(&source), of("g.vxm"), "{name} {algorithm:?}");
        }
    }
    // unchanged as a matrix, even if it is rectangular
    for (name, element) in [("lp_afiro.mtx", "f64"), ("skew_int16.mtx", "i16"), ("skew_int8.mtx", "i8")] {
        let source = data.join("lagraph").join(name);
        let text = source.display().to_string();
        let line = told(folder.path(), &["convert", &text, "m.vxm", "--matrix", element]);
        assert!(line.contains(&format!("values of type {element}")), "{line}");
        let file = NativeFile::open(folder.path().join("m.vxm")).unwrap();
        assert_eq!(file.element(), element);
        let of_source = vxm::io::read_matrix::<f64>(&source, &()).unwrap();
        assert_eq!(file.matrix::<f64>(Verify::All, &()).unwrap(), of_source, "{name}");
    }
}

#[test]
fn what_is_written_and_dropped_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let told = |arguments: &[&str]| told(folder.path(), arguments);
    fs::write(
        folder.path().join("net.mtx"),
        "%%MatrixMarket matrix coordinate integer general\n4 4 4\n1 2 7\n2 1 7\n3 3 1\n2 3 2\n",
    )
    .unwrap();
    assert_eq!(
        told(&["convert", "net.mtx", "net.vxm"]),
        "vxm: net: dropped 1 self-loop\nvxm: net.vxm: 4 vertices, 3 directed edges, values of type u32\n"
    );
    assert_eq!(
        told(&["convert", "net.mtx", "p.vxm", "--pattern"]).lines().last(),
        Some("vxm: p.vxm: 4 vertices, 3 directed edges")
    );
    assert_eq!(
        told(&["convert", "net.vxm", "u.vxm", "--undirected"]),
        "vxm: net: made symmetric: 1 edge was listed in one direction only; weights: 3 values ignored\n\
         vxm: u.vxm: 4 vertices, 2 edges\n"
    );
    assert_eq!(told(&["convert", "u.vxm", "u.graph"]), "vxm: u.graph: 4 vertices, 2 edges\n");
    assert_eq!(
        told(&["convert", "u.graph", "u.el"]),
        "vxm: u.el: 4 vertices, 2 edges; dropped 1 vertex without edges\n"
    );
    assert_eq!(
        told(&["convert", "net.vxm", "net.npz"]),
        "vxm: net.npz: 4 vertices, 3 directed edges, values of type u32; renumbered: vertices are numbered from 0\n"
    );
    assert_eq!(
        told(&["convert", "net.npz", "m", "--output", "matrix-market", "--matrix", "i8"]),
        "vxm: m: 4 x 4, 3 entries, values of type i8; renumbered: vertices are numbered from 1\n"
    );
    let complex = "%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n2 1 1.5 -2\n";
    fs::write(folder.path().join("c.mtx"), complex).unwrap();
    assert_eq!(
        told(&["convert", "c.mtx", "c.npz", "--matrix", "complex"]),
        "vxm: c.npz: 2 x 2, 2 entries, values of type Complex; renumbered: vertices are numbered from 0\n"
    );
    told(&["convert", "c.npz", "c.vxm", "--matrix", "complex"]);
    assert_eq!(NativeFile::open(folder.path().join("c.vxm")).unwrap().element(), "{re: f64, im: f64}");
    assert_eq!(
        told(&["convert", "c.vxm", "p.mtx", "--undirected"]).lines().last(),
        Some("vxm: p.mtx: 2 vertices, 1 edge; renumbered: vertices are numbered from 1")
    );
    assert_eq!(told(&["generate", "grid:3x4", "-o", "g.vxm"]), "vxm: g.vxm: 12 vertices, 17 edges\n");
    let grid = vxm::io::generate("grid:3x4", &()).unwrap().graph;
    assert_eq!(read(folder.path().join("g.vxm"), &()).unwrap().graph, grid);
    assert_eq!(told(&["convert", "g.vxm", "again.vxm"]), "vxm: again.vxm: 12 vertices, 17 edges\n");
    assert_eq!(fs::read(folder.path().join("g.vxm")).unwrap(), fs::read(folder.path().join("again.vxm")).unwrap());
    assert_eq!(FileFormat::of_file(folder.path().join("m")).unwrap(), FileFormat::MatrixMarket);
    assert_eq!(read_digraph(folder.path().join("m"), &()).unwrap().graph.nnz(), 3);
}

#[test]
fn a_file_is_verified() {
    let folder = tempfile::tempdir().unwrap();
    told(folder.path(), &["generate", "grid:3x4", "-o", "g.vxm"]);
    let out = run(folder.path(), &["info", "g.vxm", "--verify"]);
    let sound = "g.vxm: sound: 16384 bytes, 12 x 12, 34 entries of type pattern, symmetric, without self-loops\n";
    assert_eq!(String::from_utf8(out.stdout).unwrap(), sound);
    let mut bytes = fs::read(folder.path().join("g.vxm")).unwrap();
    bytes[12_292] ^= 1;
    fs::write(folder.path().join("g.vxm"), bytes).unwrap();
    let damage = "g.vxm: bytes 8192 to 16383 (offsets, columns): expected checksum ";
    for arguments in
        [&["info", "g.vxm", "--verify"][..], &["info", "g.vxm"], &["mis", "g.vxm"], &["convert", "g.vxm", "x.mtx"]]
    {
        let told = refused(folder.path(), arguments);
        assert!(told.starts_with(damage) && told.ends_with(": the file is damaged"), "{told}");
    }
    assert!(refused(folder.path(), &["info", "grid:2x2", "--verify"]).contains("No such file"));
}

#[test]
fn outputs_that_can_not_be_written_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |arguments: &[&str]| refused(folder.path(), arguments);
    told(folder.path(), &["generate", "grid:30x40", "-o", "g.vxm"]);
    assert_eq!(refused(&["convert", "g.vxm", "g.vxm"]), "g.vxm: expected another file than the graph's");
    assert!(
        refused(&["convert", "g.vxm", "x.png"])
            .starts_with("x.png: the name tells no format: expected --output and one of vxm, ")
    );
    assert!(refused(&["convert", "g.vxm", "x.vxm.gz"]).contains("the name tells no format"));
    assert!(
        refused(&["convert", "g.vxm", "x", "--output", "sg"]).starts_with("unknown output format `sg`: expected vxm, ")
    );
    assert!(
        refused(&["convert", "g.vxm", "x.vxm", "--matrix", "f80"])
            .starts_with("unknown type `f80`: expected pattern, bool, ")
    );
    assert!(refused(&["convert", "g.vxm", "no/x.vxm"]).contains("No such file or directory"));
    if cfg!(target_os = "linux") {
        // a folder in which nobody may create files, and a device that is full
        assert!(refused(&["convert", "g.vxm", "/proc/x.vxm"]).starts_with("--out /proc/x.vxm: "));
        let full = refused(&["convert", "g.vxm", "/dev/full", "--output", "vxm"]);
        assert!(full.starts_with("/dev/full: No space left"), "{full}");
        // a limit on the size of files, as a full disk
        let file = std::env::var("NEXTEST_BIN_EXE_vxm").unwrap_or_else(|_| env!("CARGO_BIN_EXE_vxm").to_owned());
        let script = format!("ulimit -f 8; exec {file} convert grid:300x400 x.vxm");
        let out = Command::new("sh").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
        assert_eq!(out.status.code(), Some(2), "{}", String::from_utf8_lossy(&out.stderr));
        assert!(String::from_utf8(out.stderr).unwrap().starts_with("vxm: x.vxm: "));
    }
    only(folder.path(), &["g.vxm"]);
}

#[cfg(unix)]
#[test]
fn a_pipe_is_written_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let out = run(folder.path(), &["convert", "grid:30x40", "/dev/stdout", "--output", "vxm"]);
    told(folder.path(), &["convert", "grid:30x40", "g.vxm"]);
    assert!(out.stdout == fs::read(folder.path().join("g.vxm")).unwrap());
}

#[cfg(unix)]
#[test]
fn a_killed_conversion_leaves_the_older_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    told(folder.path(), &["generate", "grid:1200x1300", "-o", "in.vxm"]);
    told(folder.path(), &["generate", "grid:2x2", "-o", "out.vxm"]);
    let (old, new) = (fs::read(at("out.vxm")).unwrap(), fs::read(at("in.vxm")).unwrap());
    let mut killed = 0;
    for wait in (0..40).map(|step| Duration::from_millis(step * step / 4)) {
        fs::write(at("out.vxm"), &old).unwrap();
        let mut child =
            command(folder.path(), &["convert", "in.vxm", "out.vxm"]).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(wait);
        // SIGKILL, which no process can handle
        child.kill().unwrap();
        killed += u32::from(!child.wait().unwrap().success());
        let found = fs::read(at("out.vxm")).unwrap();
        assert!(found == old || found == new, "killed after {wait:?}: {} bytes", found.len());
    }
    assert!(killed > 0);
    // what a killed process has left has another name, and doesn't disturb the next one
    told(folder.path(), &["convert", "in.vxm", "out.vxm"]);
    assert!(fs::read(at("out.vxm")).unwrap() == new);
}
