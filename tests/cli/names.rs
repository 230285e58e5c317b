//! Graphs with names instead of numbers.

use crate::harness::{answer, refused, run, text};
use std::fs;

/// A path of five vertices, and a sixth with edges to two of them. Tabs separate the columns.
const PEOPLE: &str = "# who knows whom\nAnn Lee\tBob\nBob\tCem\nCem\tDora\nDora\tÉva\nFred\tAnn Lee\nFred\tBob\n";

#[test]
fn names_are_read_asked_for_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("people.txt"), PEOPLE).unwrap();
    let named = |words: &[&str]| answer(folder, &[words, &["people.txt", "--input", "names"]].concat());
    let lines = |file: &str| fs::read_to_string(folder.join(file)).unwrap();

    assert_eq!(named(&["bfs", "--source", "Ann Lee", "--out", "hops"])["source"], "Ann Lee");
    assert_eq!(lines("hops"), "Ann Lee\t0\nBob\t1\nCem\t2\nDora\t3\nFred\t1\nÉva\t4\n");
    named(&["components", "--out", "labels"]);
    assert!(lines("labels").lines().all(|line| line.ends_with("\tAnn Lee")));
    assert_eq!(named(&["mis", "--out", "set"])["size"], 3);
    assert!(lines("set").lines().all(|name| PEOPLE.contains(name)));
    assert_eq!(named(&["triangles"])["top"], "Ann Lee");
    assert_eq!(named(&["pagerank", "--sources", "Bob,Cem"])["sources"][1], "Cem");
    named(&["msf", "--weights", "1..9", "--out", "forest"]);
    assert!(lines("forest").lines().count() == 5 && lines("forest").lines().all(|line| line.split('\t').count() == 2));
    // colours that are given, by names
    fs::write(folder.join("given"), "Ann Lee\t2\nÉva\t1\n").unwrap();
    named(&["color", "--given", "given", "--out", "colors"]);
    assert!(lines("colors").contains("Ann Lee\t2\n") && lines("colors").contains("Éva\t1\n"));

    // kept by a native file, and back to a list of names
    for arguments in ["convert people.txt people.vxm --input names --undirected", "convert people.vxm people.el"] {
        let out = run(folder, &arguments.split(' ').collect::<Vec<_>>());
        assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    }
    let digest = named(&["mis"])["digest"].clone();
    assert_eq!(answer(folder, &["mis", "people.vxm"])["digest"], digest);
    assert_eq!(answer(folder, &["mis", "people.el", "--input", "names"])["digest"], digest);
    assert_eq!(answer(folder, &["bfs", "people.vxm", "--source", "Éva"])["reached"], 6);
    let out = run(folder, &["info", "people.vxm", "--verify"]);
    assert!(text(&out.stdout).contains("sound"), "{}", text(&out.stdout));

    for (arguments, told) in [
        (
            &["bfs", "people.vxm", "--source", "Gil"][..],
            "people: --source Gil: expected the name of one of its 6 vertices",
        ),
        (&["bfs", "people.vxm", "--source", "0"], "people: --source 0: expected the name of one of its 6 vertices"),
        (
            &["mis", "people.txt"],
            "people.txt:2:1: expected a vertex number from 0 to 2^64 - 1 (--input names reads names)",
        ),
    ] {
        let line = refused(folder, arguments);
        assert!(line.starts_with(told), "{line}");
    }
}
