//! Tables of edges: Parquet and Arrow.

use crate::harness::{answer, refused, run, text};
use std::fs;

#[test]
fn tables_are_written_read_and_their_columns_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("g.gr"), "p sp 4 4\na 1 2 5\na 2 3 2\na 1 3 9\na 3 4 1\n").unwrap();
    fs::write(folder.join("people.txt"), "Ann Lee\tBob\nBob\tCem\n").unwrap();
    for arguments in [
        "convert g.gr g.parquet",
        "convert g.gr g.feather",
        "convert people.txt people.arrow --input names",
        "convert g.parquet g.vxm",
    ] {
        let out = run(folder, &arguments.split(' ').collect::<Vec<_>>());
        assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    }
    let distances = |words: &[&str]| answer(folder, &[&["sssp", "--source", "1"], words].concat())["digest"].clone();
    let expected = distances(&["g.gr"]);
    assert_eq!(distances(&["g.vxm"]), expected);
    for file in ["g.parquet", "g.feather"] {
        assert_eq!(distances(&[file]), expected);
        assert_eq!(distances(&[file, "--edge-columns", "source,target,weight"]), expected);
        let backwards = answer(folder, &["sssp", "--source", "4", file, "--edge-columns", "target,source,weight"]);
        assert_eq!(backwards["reached"], 4);
        let line = refused(folder, &["sssp", "--source", "1", file, "--edge-columns", "source,target"]);
        assert!(line.contains("no weights: expected a matrix-market, gr, metis, graphml, parquet, arrow"), "{line}");
        let line = refused(folder, &["mis", file, "--edge-columns", "source,to"]);
        assert!(line.starts_with(&format!("{file}: expected one column called to; found columns: source")), "{line}");
    }
    assert_eq!(answer(folder, &["bfs", "people.arrow", "--source", "Ann Lee"])["reached"], 3);
    for (arguments, told) in [
        (
            ["mis", "g.gr", "--edge-columns", "a,b"],
            "g.gr: expected an edge list or a table (edges, names, parquet, arrow), of which columns are asked",
        ),
        (
            ["mis", "grid:2x2", "--edge-columns", "a,b"],
            "grid:2x2: expected a file, an edge list or a table, of which columns are asked for",
        ),
        (["mis", "g.parquet", "--edge-columns", "a"], "expected the columns FROM,TO or FROM,TO,WEIGHT"),
    ] {
        let line = refused(folder, &arguments);
        assert!(line.starts_with(told), "{line}");
    }
}

#[test]
fn a_file_that_a_library_panics_at_is_refused_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // found by fuzzing; the first two bytes say how it is read
    let found = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fuzz/seeds/files/parquet-panics");
    fs::write(folder.join("f.parquet"), &fs::read(found).unwrap()[2..]).unwrap();
    let line = refused(folder, &["mis", "f.parquet"]);
    assert_eq!(line, "f.parquet: expected a parquet file that can be read: it can't be decoded");
}
