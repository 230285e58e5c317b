//! Formats of input: detected or told, said, and the same graph whatever the format.

use crate::harness::{answer, json, refused, run, text};
use crate::writers::{Npz, Sample, petersen, put};
use serde_json::json as value;

/// A cycle of four vertices in METIS' format. Its lines look like edges.
const CYCLE: &str = "4 4\n2 4\n1 3\n2 4\n1 3\n";

#[test]
fn a_metis_file_is_not_taken_for_an_edge_list() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    put(folder, "cycle.txt", CYCLE);
    put(folder, "cycle.graph", CYCLE);
    for arguments in
        [&["mis", "cycle.txt"][..], &["color", "cycle.txt"], &["components", "cycle.txt"], &["info", "cycle.txt"]]
    {
        let line = refused(folder, arguments);
        assert!(line.starts_with("cycle.txt:1:1: expected --input edges if "), "{line}");
    }
    let line = refused(folder, &["bfs", "cycle.txt", "--source", "1"]);
    assert!(line.starts_with("cycle.txt:1:1: expected --input edges if "), "{line}");
    for arguments in [&["components", "cycle.graph"][..], &["components", "cycle.txt", "--input", "metis"]] {
        let told = answer(folder, arguments);
        assert_eq!((&told["edges"], &told["components"], &told["input"]), (&value!(4), &value!(1), &value!("metis")));
    }
    let told = answer(folder, &["components", "cycle.txt", "--input", "edges"]);
    assert_eq!((&told["edges"], &told["components"], &told["input"]), (&value!(2), &value!(2), &value!("edges")));
}

#[test]
fn one_answer_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let sample = petersen();
    let npz = |format| sample.npz(Npz { format, index: "<i4", value: "<f8", deflated: true });
    put(folder, "p.mtx", sample.matrix_market());
    let expected = answer(folder, &["mis", "p.mtx"]);
    assert_eq!(
        (&expected["vertices"], &expected["edges"], &expected["input"]),
        (&value!(12), &value!(16), &value!("matrix-market"))
    );
    assert_eq!(expected["ignored"], value!({"weights": 16, "vertex_weights": 0}));
    for (name, bytes, format, weights, vertex_weights) in [
        ("p.col", sample.coloring().into_bytes(), "dimacs", 0, 0),
        ("p.gr", sample.shortest_paths().into(), "gr", 32, 0),
        ("p.graph", sample.metis("0", 1).into(), "metis", 0, 0),
        ("p.metis", sample.metis("111", 2).into(), "metis", 32, 36),
        ("p.egr", sample.ecl(4, true), "egr", 32, 0),
        ("p.sg", sample.gap(false, false), "sg", 0, 0),
        ("p.wsg", sample.gap(false, true), "sg", 32, 0),
        ("csr.npz", npz("csr"), "npz", 32, 0),
        ("csc.npz", npz("csc"), "npz", 32, 0),
        ("coo.npz", npz("coo"), "npz", 32, 0),
    ] {
        put(folder, name, bytes);
        let told = answer(folder, &["mis", name]);
        assert_eq!((&told["digest"], &told["size"]), (&expected["digest"], &expected["size"]), "{name}");
        assert_eq!((&told["input"], &told["valid"]), (&value!(format), &value!(true)), "{name}");
        let ignored = value!({"weights": weights, "vertex_weights": vertex_weights});
        assert_eq!(told["ignored"], ignored, "{name}");
        let info = json(folder, &["info", name]);
        assert_eq!(
            (&info["input"], &info["ignored"], &info["edges"]),
            (&value!(format), &ignored, &value!(16)),
            "{name}"
        );
        let out = run(folder, &["info", name]);
        assert!(text(&out.stdout).contains(&format!(": 12 vertices, 16 edges\nread as {format}\n")), "{name}");
        // what is ignored is one line on standard error, if there is anything
        let notes: Vec<String> = [("weights", weights), ("vertex weights", vertex_weights)]
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(what, count)| format!("{what}: {count} values ignored"))
            .collect();
        let short = name.split('.').next().unwrap();
        let line = if notes.is_empty() { String::new() } else { format!("vxm: {short}: {}\n", notes.join("; ")) };
        assert_eq!(text(&out.stderr), line, "{name}");
    }
    // an edge list has no isolated vertices
    let whole = Sample { vertices: 11, ..sample };
    put(folder, "w.mtx", whole.matrix_market());
    put(folder, "w.txt", whole.edge_list(true));
    let [market, list] = ["w.mtx", "w.txt"].map(|name| answer(folder, &["color", name]));
    assert_eq!(market["digest"], list["digest"]);
    assert_eq!((&list["input"], &list["ignored"]["weights"]), (&value!("edges"), &value!(32)));
    let generated = answer(folder, &["mis", "grid:3x3"]);
    assert_eq!((&generated["input"], &generated["ignored"]["weights"]), (&value!(null), &value!(0)));
    assert!(!text(&run(folder, &["info", "grid:3x3"]).stdout).contains("read as"));
}

#[test]
fn directions_and_weights_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let sample = Sample { one_way: true, ..petersen() };
    let npz = |value| sample.npz(Npz { format: "csr", index: "<i4", value, deflated: true });
    put(folder, "p.mtx", sample.matrix_market());
    let paths = |name: &str, more: &[&str]| {
        let source = if name.ends_with(".mtx") || name.ends_with(".gr") || more.contains(&"gr") { "1" } else { "0" };
        answer(folder, &[&["sssp", name, "--source", source], more].concat())
    };
    let expected = (paths("p.mtx", &[]), answer(folder, &["scc", "p.mtx"]), answer(folder, &["pagerank", "p.mtx"]));
    assert_eq!((&expected.0["directed"], &expected.0["edges"]), (&value!(true), &value!(16)));
    let none = value!({"weights": 0, "vertex_weights": 0});
    assert_eq!((&expected.0["ignored"], &expected.1["ignored"]["weights"]), (&none, &value!(16)));
    for (name, bytes, format) in [
        ("p.gr", sample.shortest_paths().into_bytes(), "gr"),
        ("p.egr", sample.ecl(4, true), "egr"),
        ("p.wsg", sample.gap(true, true), "sg"),
        ("p.npz", npz("<i4"), "npz"),
        ("real.npz", npz("<f8"), "npz"),
    ] {
        put(folder, name, &bytes);
        put(folder, "plain", &bytes);
        for told in [paths(name, &[]), paths("plain", &["--input", format])] {
            assert_eq!((&told["valid"], &told["input"], &told["ignored"]), (&value!(true), &value!(format), &none));
            assert_eq!(told["reached"], expected.0["reached"], "{name}");
            assert_eq!(told["farthest"].as_f64(), expected.0["farthest"].as_f64(), "{name}");
            // digests are those of a type
            assert!(told["digest"] == expected.0["digest"] || name == "real.npz", "{name}");
        }
        for told in [answer(folder, &["scc", name]), answer(folder, &["scc", "plain", "--input", format])] {
            assert_eq!((&told["digest"], &told["ignored"]), (&expected.1["digest"], &expected.1["ignored"]), "{name}");
        }
        assert_eq!(answer(folder, &["pagerank", name])["digest"], expected.2["digest"], "{name}");
    }
}

#[test]
fn weights_of_undirected_formats() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let sample = petersen();
    put(folder, "p.mtx", sample.matrix_market());
    put(folder, "p.graph", sample.metis("111", 2));
    put(folder, "p.wsg", sample.gap(false, true));
    put(folder, "plain", sample.metis("111", 2));
    for algorithm in [&["msf"][..], &["matching", "--weighted"]] {
        let expected = answer(folder, &[algorithm, &["p.mtx"]].concat());
        assert_eq!(expected["valid"], true);
        for (more, vertex_weights) in [(&["p.graph"][..], 36), (&["plain", "--input", "metis"], 36), (&["p.wsg"], 0)] {
            let told = answer(folder, &[algorithm, more].concat());
            assert_eq!((&told["digest"], &told["weight"]), (&expected["digest"], &expected["weight"]), "{more:?}");
            assert_eq!(told["ignored"], value!({"weights": 0, "vertex_weights": vertex_weights}), "{more:?}");
        }
    }
    // weights that are drawn, or not asked for, leave those of the file ignored
    for arguments in [&["msf", "p.graph", "--weights", "1..9"][..], &["matching", "p.graph"], &["kcore", "p.graph"]] {
        assert_eq!(answer(folder, arguments)["ignored"]["weights"], 32, "{arguments:?}");
    }
    put(folder, "cycle.txt", CYCLE);
    for arguments in [
        &["scc", "cycle.txt"][..],
        &["pagerank", "cycle.txt"],
        &["kcore", "cycle.txt"],
        &["matching", "cycle.txt"],
        &["sssp", "cycle.txt", "--source", "1"],
        &["msf", "cycle.txt", "--weights", "1..2"],
    ] {
        let line = refused(folder, arguments);
        assert!(line.starts_with("cycle.txt:1:1: expected --input edges if "), "{arguments:?}: {line}");
    }
    let told = answer(folder, &["scc", "cycle.txt", "--input", "metis"]);
    assert_eq!((&told["components"], &told["edges"], &told["directed"]), (&value!(1), &value!(4), &value!(null)));
}

#[test]
fn raw_bytes_never_reach_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let escape = b"\x1b[31mred\x1b[0m\x07\x9b\xff 1 2\n";
    for (name, bytes) in [
        ("escape.txt", escape.to_vec()),
        ("late.txt", [&b"1 2\n".repeat(2000)[..], escape].concat()),
        ("late.mtx", [&b"%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n"[..], escape].concat()),
        ("late.graph", [&b"2 1\n2\n"[..], escape].concat()),
        ("late.gr", [&b"p sp 2 1\n"[..], escape].concat()),
        ("noise.npz", [&b"PK\x03\x04"[..], escape].concat()),
        ("noise.egr", escape.to_vec()),
        ("noise.sg", escape.to_vec()),
    ] {
        put(folder, name, bytes);
        let line = refused(folder, &["mis", name]);
        assert!(line.starts_with(name) && line.is_ascii() && line.chars().all(|c| !c.is_control()), "{line:?}");
    }
}
