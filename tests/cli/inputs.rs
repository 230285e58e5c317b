//! Formats of input: detected or told, said, and the same graph whatever the format.

use crate::harness::{answer, json, refused, run, text};
use crate::writers::{Npz, Sample, petersen, put};
use serde_json::json as value;

/// A cycle of four vertices in METIS' format, whose lines look like edges.
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
