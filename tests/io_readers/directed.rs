//! Directions and weights of files in every format that has them.

use crate::writers::{Npz, Sample, array, petersen, put, zip};
use std::path::Path;
use vxm::formats::{Coo, Csr, Refuse};
use vxm::io::{
    FileFormat, Loaded, Weighted, read, read_digraph, read_digraph_as, read_matrix, read_weighted, read_weighted_as,
};

/// Petersen's graph with edges that lead one way; the ring of its outer vertices is a cycle.
fn one_way() -> Sample {
    Sample { one_way: true, ..petersen() }
}

/// The sample in every format that has directions: the file, its format, the number of values, and the type of weights.
fn files(sample: &Sample) -> Vec<(&'static str, Vec<u8>, FileFormat, u64, &'static str)> {
    let npz = |format, value| sample.npz(Npz { format, index: "<i4", value, deflated: true });
    vec![
        ("a.mtx", sample.matrix_market().into(), FileFormat::MatrixMarket, 16, "integer"),
        ("a.gr", sample.shortest_paths().into(), FileFormat::ShortestPath, 16, "integer"),
        ("a.egr", sample.ecl(4, true), FileFormat::Ecl, 16, "integer"),
        ("b.egr", sample.ecl(8, true), FileFormat::Ecl, 16, "integer"),
        ("c.egr", sample.ecl(4, false), FileFormat::Ecl, 0, "none"),
        ("a.wsg", sample.gap(true, true), FileFormat::Gap, 16, "integer"),
        ("a.sg", sample.gap(true, false), FileFormat::Gap, 0, "none"),
        ("a.npz", npz("csr", "<i8"), FileFormat::Npz, 16, "integer"),
        ("b.npz", npz("coo", "<u2"), FileFormat::Npz, 16, "integer"),
        ("c.npz", npz("csr", "<f8"), FileFormat::Npz, 16, "real"),
        ("d.npz", npz("coo", "<f4"), FileFormat::Npz, 16, "real"),
        ("e.npz", npz("csr", "|b1"), FileFormat::Npz, 16, "none"),
    ]
}

/// The graph of the sample's arcs.
fn graph(sample: &Sample) -> Csr<u32> {
    let n = sample.vertices as usize;
    let triples = sample.arcs().into_iter().map(|(i, j, weight)| (i, j, weight as u32));
    Coo::from_triples(n, n, triples).unwrap().to_csr(Refuse).unwrap()
}

fn pattern<T: vxm::semiring::Element>(graph: &Csr<T>) -> (&[u32], Vec<usize>) {
    (graph.columns(), (0..graph.nrows()).map(|row| graph.degree(row)).collect())
}

/// Checks what was read with its weights, of which all or none are ignored.
fn check_weights(name: &str, read: Weighted, expected: &Csr<u32>, values: u64, kind: &str) {
    let ignored = match (read, kind) {
        (Weighted::Integer(loaded), "integer") => {
            assert_eq!(&loaded.graph, expected, "{name}");
            (loaded.report.weights, 0)
        }
        (Weighted::Real(loaded), "real") => {
            assert_eq!(pattern(&loaded.graph), pattern(expected), "{name}");
            let same =
                loaded.graph.values().iter().zip(expected.values()).all(|(real, &whole)| *real == f64::from(whole));
            assert!(same, "{name}");
            (loaded.report.weights, 0)
        }
        (Weighted::None(loaded), "none") => {
            assert_eq!(pattern(&loaded.graph), pattern(expected), "{name}");
            (loaded.report.weights, values)
        }
        (read, kind) => panic!("{name}: expected {kind}, found {read:?}"),
    };
    assert_eq!(ignored.0, ignored.1, "{name}");
}

#[test]
fn directions_and_weights_of_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let sample = one_way();
    let expected = graph(&sample);
    assert!(expected.nnz() == 16 && !expected.is_symmetric());
    for (name, bytes, format, values, kind) in files(&sample) {
        let path = put(folder.path(), name, &bytes);
        // a name that tells nothing, with the format told
        let plain = put(folder.path(), "plain", &bytes);
        for loaded in [read_digraph(&path, &()), read_digraph_as(&plain, format, &())] {
            let Loaded { graph, format: told, report, .. } = loaded.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(pattern(&graph), pattern(&expected), "{name}");
            assert_eq!((told, report.one_way, report.weights), (Some(format), None, values), "{name}");
            assert_eq!((report.entries, report.loops, report.duplicates), (16, 0, 0), "{name}");
        }
        for read in [read_weighted(&path, &()), read_weighted_as(&plain, format, &())] {
            check_weights(name, read.unwrap_or_else(|error| panic!("{name}: {error}")), &expected, values, kind);
        }
    }
    // the arrays of CSR read as CSC are those of the transpose
    let csc = sample.npz(Npz { format: "csc", index: "<i8", value: "<i4", deflated: false });
    let read = read_weighted(put(folder.path(), "t.npz", csc), &()).unwrap();
    check_weights("t.npz", read, &expected.transpose(), 16, "integer");
    // an edge list has no isolated vertices, and its further columns are no weights
    let whole = Sample { vertices: 11, ..sample };
    let list = put(folder.path(), "w.txt", whole.edge_list(true));
    let loaded = read_digraph(&list, &()).unwrap();
    assert_eq!(pattern(&loaded.graph), pattern(&graph(&whole)));
    assert_eq!((loaded.report.weights, loaded.report.one_way), (16, None));
    check_weights("w.txt", read_weighted(&list, &()).unwrap(), &graph(&whole), 16, "none");
    check_weights("w.txt", read_weighted_as(&list, FileFormat::Edges, &()).unwrap(), &graph(&whole), 16, "none");
}

#[test]
fn undirected_formats_go_both_ways() {
    let folder = tempfile::tempdir().unwrap();
    let sample = petersen();
    let expected = graph(&sample);
    for (name, bytes, format, kind, values, vertex_weights) in [
        ("a.mtx", sample.matrix_market(), FileFormat::MatrixMarket, "integer", 16, 0),
        ("a.col", sample.coloring(), FileFormat::Dimacs, "none", 0, 0),
        ("a.graph", sample.metis("0", 1), FileFormat::Metis, "none", 0, 0),
        ("b.graph", sample.metis("111", 2), FileFormat::Metis, "integer", 32, 36),
        ("c.graph", sample.metis("10", 1), FileFormat::Metis, "none", 0, 12),
    ] {
        let path = put(folder.path(), name, bytes);
        let loaded = read_digraph(&path, &()).unwrap();
        assert_eq!(pattern(&loaded.graph), pattern(&expected), "{name}");
        assert_eq!((loaded.report.weights, loaded.report.vertex_weights), (values, vertex_weights), "{name}");
        let weighted = read_weighted_as(&path, format, &()).unwrap();
        if let Weighted::Integer(loaded) = &weighted {
            assert_eq!(loaded.report.vertex_weights, vertex_weights, "{name}");
        }
        check_weights(name, weighted, &expected, values, kind);
    }
    for (name, bytes, kind) in [
        ("a.wsg", sample.gap(false, true), "integer"),
        ("a.egr", sample.ecl(4, true), "integer"),
        ("a.sg", sample.gap(false, false), "none"),
    ] {
        check_weights(name, read_weighted(put(folder.path(), name, bytes), &()).unwrap(), &expected, 0, kind);
    }
}

#[test]
fn loops_and_parallel_arcs_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "r.gr", "p sp 2 5\na 1 2 7\na 1 2 4\na 2 2 1\na 2 1 9\na 1 2 5\n");
    let Weighted::Integer(loaded) = read_weighted(&path, &()).unwrap() else { panic!("no integers") };
    assert_eq!((loaded.graph.get(0, 1), loaded.graph.get(1, 0), loaded.graph.nnz()), (Some(4), Some(9), 2));
    let report = loaded.report;
    assert_eq!((report.entries, report.loops, report.duplicates, report.weights), (5, 1, 2, 0));
    let report = read_digraph(&path, &()).unwrap().report;
    assert_eq!((report.entries, report.loops, report.duplicates, report.weights), (5, 1, 2, 5));
    // numbers of 2^32 and more
    let path = put(folder.path(), "wide.txt", "4294967296 7\n7 7\n4294967296 7\n");
    let loaded = read_digraph(&path, &()).unwrap();
    assert_eq!((loaded.graph.get(1, 0), loaded.graph.nnz()), (Some(()), 1));
    assert_eq!((loaded.report.loops, loaded.report.duplicates), (1, 1));
}

/// The error of reading the weights of a file, without the folder.
fn told(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> String {
    match read_weighted(put(folder, name, bytes), &()) {
        Ok(read) => panic!("{name}: {read:?}"),
        Err(error) => error.to_string().replace(&format!("{}/", folder.display()), ""),
    }
}

#[test]
fn weights_that_do_not_fit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let minus = Sample { vertices: 2, edges: vec![(0, 1, -3)], one_way: true };
    let npz = |value| minus.npz(Npz { format: "csr", index: "<i4", value, deflated: false });
    for (name, bytes, expected) in [
        (
            "m.gr",
            minus.shortest_paths().into_bytes(),
            "m.gr:3:7: expected an arc's weight, a number of type u32, found `-3`",
        ),
        (
            "f.gr",
            b"p sp 2 1\na 1 2 0.5\n".to_vec(),
            "f.gr:2:7: expected an arc's weight, a number of type u32, found `0.5`",
        ),
        (
            "m.graph",
            b"2 1 1\n2 -3\n1 -3\n".to_vec(),
            "m.graph:2:3: expected the weight of an edge, an integer of type u32, found `-3`",
        ),
        (
            "u.graph",
            b"2 1 1\n2 3\n1 4\n".to_vec(),
            "u.graph: the line of vertex 1 lists 2: expected 1 in the line of vertex 2, too and with the same weight",
        ),
        (
            "o.graph",
            b"3 2 1\n2 3\n1 3 3 5\n1 4\n".to_vec(),
            "o.graph: the line of vertex 2 lists 3: expected 2 in the line of vertex 3, too and with the same weight",
        ),
        ("m.egr", minus.ecl(4, true), "m.egr: byte 24: expected a value of type u32, found -3"),
        ("m.wsg", minus.gap(true, true), "m.wsg: byte 45: expected a value of type u32, found -3"),
        ("m.npz", npz("<i4"), "m.npz: data.npy: byte 128: expected a value of type u32, found -3"),
    ] {
        let line = told(folder, name, bytes);
        assert!(line.starts_with(expected), "{name}: {line}");
    }
    // real weights may be negative; the algorithms say whether they take them
    let Weighted::Real(loaded) = read_weighted(put(folder, "r.npz", npz("<f8")), &()).unwrap() else {
        panic!("no reals")
    };
    assert_eq!(loaded.graph.get(0, 1), Some(-3.0));
}

#[test]
fn two_weights_of_one_edge_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let twice = Sample { vertices: 3, edges: vec![(0, 1, 5), (0, 1, 6), (1, 2, 7)], one_way: true };
    let npz = twice.npz(Npz { format: "coo", index: "<i4", value: "<f8", deflated: false });
    for (name, bytes, first) in
        [("t.egr", twice.ecl(4, true), 0), ("t.wsg", twice.gap(true, true), 0), ("t.npz", npz, 0)]
    {
        let expected = format!("{name}: entry 2 repeats row {first}, column {} of entry 1", first + 1);
        assert_eq!(told(folder, name, &bytes), expected);
        // without weights, edges may be repeated
        let loaded = read_digraph(folder.join(name), &()).unwrap();
        assert_eq!((loaded.graph.nnz(), loaded.report.duplicates), (2, 1), "{name}");
    }
    let rectangle = [
        ("format.npy", array("|S3", "()", b"coo")),
        ("shape.npy", array("<i8", "(2,)", &[2i64, 3].map(i64::to_le_bytes).concat())),
        ("row.npy", array("<i4", "(0,)", &[])),
        ("col.npy", array("<i4", "(0,)", &[])),
        ("data.npy", array("<f8", "(0,)", &[])),
    ];
    let path = put(folder, "r.npz", zip(&rectangle, false));
    let expected = "expected as many rows as columns (3) of a graph, found 2";
    assert!(read_matrix::<f64>(&path, &()).is_ok());
    for error in [read_weighted(&path, &()).unwrap_err(), read_digraph(&path, &()).unwrap_err()] {
        assert!(error.to_string().ends_with(expected), "{error}");
    }
}

#[test]
fn unclear_edge_lists_are_refused_with_directions_too() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for text in ["4 4\n2 4\n1 3\n2 4\n1 3\n", "3 2\n1 2\n2 3\n", "1 2 5\n2 3\n"] {
        let path = put(folder, "unclear.txt", text);
        let expected = read(&path, &()).unwrap_err().to_string();
        assert!(expected.contains("--input "), "{expected}");
        assert_eq!(read_digraph(&path, &()).unwrap_err().to_string(), expected);
        assert_eq!(read_weighted(&path, &()).unwrap_err().to_string(), expected);
        assert!(read_digraph_as(&path, FileFormat::Edges, &()).is_ok(), "{text}");
    }
    // a METIS file by its name alone
    let path = put(folder, "list.graph", "1 2\n2 3\n3 1\n");
    for error in [read_weighted(&path, &()).unwrap_err(), read_digraph(&path, &()).unwrap_err()] {
        assert!(
            error.to_string().ends_with("(read as METIS by its name; --input edges reads an edge list)"),
            "{error}"
        );
    }
    let ring = read_digraph_as(&path, FileFormat::Edges, &()).unwrap().graph;
    assert_eq!((ring.nnz(), ring.get(0, 1), ring.get(1, 0)), (3, Some(()), None));
}
