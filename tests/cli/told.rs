//! Reports: as JSON, as text, and on standard error.

use crate::harness::{HEADER, answer, file, json, run, text};
use serde_json::{Value, json as value};
use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

#[test]
fn json_tells_all() {
    let folder = tempfile::tempdir().unwrap();
    let mis = answer(folder.path(), &["mis", "grid:30x40", "--priority", "sorted", "--seed", "7"]);
    for (name, expected) in [
        ("graph", value!("grid:30x40")),
        ("vertices", value!(1200)),
        ("edges", value!(29 * 40 + 30 * 39)),
        ("algorithm", value!("mis")),
        ("device", value!("cpu")),
        ("priority", value!("sorted")),
        ("formulation", value!("decide")),
        ("seed", value!(7)),
        ("valid", value!(true)),
    ] {
        assert_eq!(mis[name], expected, "{name}");
    }
    let digest = mis["digest"].as_str().unwrap();
    assert!(digest.len() == 16 && digest.bytes().all(|b| b.is_ascii_hexdigit()), "{digest}");
    assert!(mis["seconds"].as_f64().unwrap() > 0.0);
    assert!((1..=30).contains(&mis["rounds"].as_u64().unwrap()));
    assert!((300..=600).contains(&mis["size"].as_u64().unwrap()));
    let color = answer(folder.path(), &["color", "grid:30x40", "--order", "smallest-degree-last"]);
    assert_eq!((&color["method"], &color["order"]), (&value!("jp"), &value!("smallest-degree-last")));
    assert!((2..=5).contains(&color["colors"].as_u64().unwrap()));
    let info = json(folder.path(), &["info", "grid:30x40"]);
    assert_eq!((&info["vertices"], &info["isolated"]), (&value!(1200), &value!(0)));
    assert_eq!((&info["degree"]["min"], &info["degree"]["max"]), (&value!(2), &value!(4)));
    assert_eq!(info["degrees"], value!([0, 0, 4 + 2 * (28 + 38), 28 * 38]));
    for (place, format) in [("host", "csr"), ("host", "tiles"), ("device", "csr"), ("device", "tiles")] {
        let peaks = &info["peak_bytes"][place][format];
        let (mis, color) = (peaks["mis"]["resolve"].as_u64(), peaks["color"]["jp"].as_u64());
        assert!(info["bytes"].as_u64() < mis && mis <= color, "{place}, {format}: {info}");
    }
    assert!(info["tile_fill"].as_f64().unwrap() > 1.0 && info["bytes"].as_u64() > Some(4 * 2 * 2330));
}

#[test]
fn people_are_told_in_words() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, told) in [
        (&["mis", "grid:4x4", "--device", "cpu"][..], "independent set of "),
        (&["color", "grid:4x4", "--method", "mis", "--device", "cpu"], " colours, valid"),
        (
            &["bfs", "grid:4x4", "--source", "5", "--device", "cpu"],
            "16 vertices (100.00 %) within 4 hops, valid\nsource 5: ",
        ),
        (&["components", "grid:4x4", "--device", "cpu"], "1 component, valid\n0."),
        (&["info", "grid:0x0"], "grid:0x0: 0 vertices, 0 edges"),
        (&["info", "grid:1x2"], "grid:1x2: 2 vertices, 1 edge\n"),
        (&["info", "grid:1x2"], " device tiles\n          mis resolve  "),
        (&["color", "grid:1x1", "--device", "cpu"], "grid:1x1: 1 vertex, 0 edges\n1 colour, valid\n"),
        (&["mis", "grid:0x0", "--device", "cpu"], "independent set of 0 vertices (0.00 %), valid"),
    ] {
        let out = run(folder.path(), arguments);
        assert!(out.status.success() && text(&out.stdout).contains(told), "{}", text(&out.stdout));
        assert!(out.stderr.is_empty());
    }
    let mut command = Command::new(file());
    let out = command.args(["mis", "grid:4x4", "--device", "cpu"]).env("VXM_LOG", "debug").output().unwrap();
    assert!(text(&out.stderr).contains("why="), "plans are shown: {}", text(&out.stderr));
}

#[test]
fn cleaning_is_said_on_standard_error() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let general = HEADER.replace("symmetric", "general");
    fs::write(folder.join("d.mtx"), format!("{general}4 4 6\n1 1\n2 1\n2 1\n1 2\n2 3\n3 4\n")).unwrap();
    let out = run(folder, &["mis", "d.mtx", "--json", "--device", "cpu"]);
    assert_eq!(
        text(&out.stderr),
        "vxm: d: dropped 1 self-loop; dropped 1 duplicate; made symmetric: 2 edges were listed in one direction only\n"
    );
    let told: Value = serde_json::from_str(text(&out.stdout)).unwrap();
    assert_eq!((&told["vertices"], &told["edges"]), (&value!(4), &value!(3)));
    // a graph with self-loops only
    fs::write(folder.join("l.mtx"), format!("{HEADER}3 3 2\n1 1\n3 3\n")).unwrap();
    assert_eq!(answer(folder, &["mis", "l.mtx"])["size"], 3);
    assert_eq!(answer(folder, &["color", "l.mtx"])["colors"], 1);
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(file());
    let command = command.current_dir(folder.path()).args(["info", "rmat:12:8"]).stderr(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut told = String::new();
    child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert!(child.wait().unwrap().success(), "{told}");
    assert!(!told.contains("panic"), "{told}");
}
