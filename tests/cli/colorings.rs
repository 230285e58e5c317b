//! Colourings of columns, rows and stars, colours that are given, and aggregates.

use crate::harness::{answer, numbers, refused, run, text};
use serde_json::json as value;
use std::fs;

#[test]
fn columns_and_rows_of_a_rectangular_matrix() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let entries = "1 1 2.5\n1 2 1\n2 2 -3\n2 3 1\n3 3 1\n3 4 7\n";
    fs::write(folder.join("band.mtx"), format!("%%MatrixMarket matrix coordinate real general\n3 4 6\n{entries}"))
        .unwrap();
    let told = answer(folder, &["color", "band.mtx", "--columns", "--order", "natural", "--out", "colors"]);
    let shape = (&told["rows"], &told["columns"], &told["edges"], &told["colors"], &told["of"]);
    assert_eq!(shape, (&value!(3), &value!(4), &value!(6), &value!(2), &value!("columns")));
    assert_eq!(numbers(&folder.join("colors")), [[1, 1], [2, 2], [3, 1], [4, 2]]);
    let told = answer(folder, &["color", "band.mtx", "--rows", "--order", "natural", "--out", "colors"]);
    assert_eq!((&told["rows"], &told["columns"], &told["vertices"]), (&value!(3), &value!(4), &value!(3)));
    assert_eq!(numbers(&folder.join("colors")), [[1, 1], [2, 2], [3, 1]]);
    let out = run(folder, &["color", "band.mtx", "--columns", "--device", "cpu"]);
    let lines = text(&out.stdout);
    assert!(lines.starts_with("band: 3 x 4, 6 entries\n2 colours for the columns, valid\n"), "{lines}");
    // without the option it is no graph, and an edge list is no matrix
    let line = refused(folder, &["color", "band.mtx", "--star"]);
    assert_eq!(line, "band.mtx:2:1: expected as many rows as columns (4) of a graph, found `3`");
    fs::write(folder.join("list.txt"), "1 2\n2 3\n").unwrap();
    let line = refused(folder, &["color", "list.txt", "--columns"]);
    assert!(line.starts_with("list.txt: expected a matrix: "), "{line}");
    // a diagonal counts: a vertex shares its own row with its neighbours
    let full = "1 1\n2 2\n3 3\n1 2\n2 1\n2 3\n3 2\n";
    fs::write(folder.join("full.mtx"), format!("%%MatrixMarket matrix coordinate pattern general\n3 3 7\n{full}"))
        .unwrap();
    assert_eq!(answer(folder, &["color", "full.mtx", "--columns"])["colors"], 3);
    assert_eq!(answer(folder, &["color", "full.mtx", "--distance", "2"])["colors"], 3);
    assert_eq!(answer(folder, &["color", "grid:1x3", "--columns"])["colors"], 2);
    assert_eq!(answer(folder, &["color", "grid:0x0", "--columns"])["colors"], 0);
    // refused before a transpose of 400 million rows is made
    fs::write(folder.join("wide.mtx"), "%%MatrixMarket matrix coordinate pattern general\n1 400000000 1\n1 1\n")
        .unwrap();
    let line = refused(folder, &["color", "wide.mtx", "--columns", "--memory", "1GiB", "--device", "cpu"]);
    assert!(line.starts_with("wide: color") && line.contains("GiB"), "{line}");
}

#[test]
fn given_colours_are_kept_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // a triangle and a tail, numbered from 1
    fs::write(folder.join("a.mtx"), "%%MatrixMarket matrix coordinate pattern symmetric\n4 4 4\n2 1\n3 1\n3 2\n4 3\n")
        .unwrap();
    fs::write(folder.join("given"), "# of the call\n2 1\n\n").unwrap();
    let told =
        answer(folder, &["color", "a.mtx", "--given", "given", "--most", "2", "--order", "natural", "--out", "colors"]);
    let counts = (&told["colored"], &told["without"], &told["given"], &told["most"], &told["valid"]);
    assert_eq!(counts, (&value!(3), &value!(1), &value!(1), &value!(2), &value!(true)));
    assert_eq!(numbers(&folder.join("colors")), [[1, 2], [2, 1], [3, 0], [4, 1]]);
    // the answer can be given again; 0 is no colour
    let again = answer(folder, &["color", "a.mtx", "--given", "colors"]);
    assert_eq!((&again["colored"], &again["most"], &again["colors"]), (&value!(4), &value!(null), &value!(3)));
    let line = refused(folder, &["color", "a.mtx", "--given", "colors", "--out", "colors"]);
    assert_eq!(line, "--out colors: expected another file than that of --given");
    for (lines, expected) in [
        (
            "1 3\n2 3\n",
            "--given bad:2: the neighbours 1 and 2 are both given colour 3 (line 1): expected different ones",
        ),
        ("1 3\n9 3\n", "--given bad:2: `9`: expected the number of one of 4 vertices"),
        ("1 3\n0 3\n", "--given bad:2: `0`: expected the number of one of 4 vertices"),
        ("1 3 3\n", "--given bad:1: 3 words: expected a vertex and its colour"),
        ("1 9\n", "--given bad:1: `9`: expected a colour from 1 to 5, or 0"),
        ("1\n", "--given bad:1: 1 word: expected a vertex and its colour"),
        ("1 1\n1 2\n", "--given bad:2: vertex 1 is given a colour in line 1 as well: expected each once"),
    ] {
        fs::write(folder.join("bad"), lines).unwrap();
        assert_eq!(refused(folder, &["color", "a.mtx", "--given", "bad", "--most", "5"]), expected);
    }
    assert!(refused(folder, &["color", "a.mtx", "--given", "none"]).starts_with("--given none: No such file"));
    fs::write(folder.join("binary"), [0xff, 0xfe, 0, 1]).unwrap();
    assert!(refused(folder, &["color", "a.mtx", "--given", "binary"]).starts_with("--given binary: "));
}

#[test]
fn stars_and_aggregates() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let out = run(folder, &["color", "grid:1x4", "--star", "--order", "natural", "--device", "cpu"]);
    let lines = text(&out.stdout);
    assert!(lines.contains("\nstar colouring of 3 colours, valid\norder natural, rule star, seed 0: "), "{lines}");
    let told = answer(folder, &["aggregates", "grid:1x7", "--out", "parts"]);
    assert_eq!(
        (&told["aggregates"], &told["algorithm"], &told["priority"]),
        (&value!(2), &value!("aggregates"), &value!("random"))
    );
    assert_eq!(numbers(&folder.join("parts")), [[0, 0], [1, 0], [2, 0], [3, 0], [4, 1], [5, 1], [6, 1]]);
    assert_eq!(answer(folder, &["aggregates", "grid:0x0"])["aggregates"], 0);
}
