//! Every format holds the same graph, with the same values.

use crate::writers::{Npz, Sample, array, petersen, put, zip};
use proptest::prelude::*;
use std::path::Path;
use vxm::io::{FileFormat, Loaded, Numbering, read, read_as, read_matrix, read_matrix_as};

const NPZ: Npz = Npz { format: "csr", index: "<i4", value: "<i4", deflated: true };

/// The sample in every format that keeps isolated vertices: the file, its format, and whether a graph ignores weights.
fn files(sample: &Sample) -> Vec<(&'static str, Vec<u8>, FileFormat, bool)> {
    let npz = |format, index, value, deflated| sample.npz(Npz { format, index, value, deflated });
    vec![
        ("a.col", sample.coloring().into(), FileFormat::Dimacs, false),
        ("a.gr", sample.shortest_paths().into(), FileFormat::ShortestPath, true),
        ("b.graph", sample.metis("0", 1).into(), FileFormat::Metis, false),
        ("c.metis", sample.metis("001", 1).into(), FileFormat::Metis, true),
        ("a.egr", sample.ecl(4, true), FileFormat::Ecl, true),
        ("b.egr", sample.ecl(4, false), FileFormat::Ecl, false),
        ("c.egr", sample.ecl(8, true), FileFormat::Ecl, true),
        ("a.sg", sample.gap(false, false), FileFormat::Gap, false),
        ("a.wsg", sample.gap(false, true), FileFormat::Gap, true),
        ("b.sg", sample.gap(true, false), FileFormat::Gap, false),
        ("b.wsg", sample.gap(true, true), FileFormat::Gap, true),
        ("a.npz", npz("csr", "<i4", "<i4", true), FileFormat::Npz, true),
        ("b.npz", npz("csc", "<i8", "<f8", false), FileFormat::Npz, true),
        ("c.npz", npz("coo", "<u4", "<f4", true), FileFormat::Npz, true),
        ("d.npz", npz("csr", "<i8", "<i8", false), FileFormat::Npz, true),
        ("e.npz", npz("csr", "<i4", "|b1", true), FileFormat::Npz, true),
    ]
}

fn load(folder: &Path, name: &str, bytes: &[u8]) -> Loaded {
    read(put(folder, name, bytes), &()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn check_all(folder: &Path, sample: &Sample) {
    let market = load(folder, "a.mtx", sample.matrix_market().as_bytes());
    assert_eq!((market.graph.nrows(), market.format), (sample.vertices as usize, Some(FileFormat::MatrixMarket)));
    for (name, bytes, format, weighted) in files(sample) {
        let loaded = load(folder, name, &bytes);
        assert!(loaded.graph == market.graph, "{name}");
        let first = u64::from(matches!(format, FileFormat::Dimacs | FileFormat::ShortestPath | FileFormat::Metis));
        assert_eq!((loaded.format, &loaded.numbering), (Some(format), &Numbering::From(first)), "{name}");
        assert_eq!(loaded.name, name.split('.').next().unwrap());
        let stored = if name == "b.wsg" { sample.edges.len() } else { 2 * sample.edges.len() };
        assert_eq!(loaded.report.weights, if weighted { stored as u64 } else { 0 }, "{name}");
        assert_eq!((loaded.report.loops, loaded.report.duplicates), (0, 0), "{name}");
        // a name that tells nothing, with the format told
        let plain = put(folder, "plain", &bytes);
        assert!(read_as(&plain, format, &()).unwrap().graph == market.graph, "{name} as {format}");
    }
}

#[test]
fn one_graph_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let sample = petersen();
    check_all(folder.path(), &sample);
    check_all(folder.path(), &Sample { vertices: 3, edges: Vec::new(), one_way: false });
    // the facts of Petersen's graph with a pendant vertex and an isolated one
    let graph = load(folder.path(), "p.graph", sample.metis("0", 1).as_bytes()).graph;
    assert_eq!((graph.nrows(), graph.nnz()), (12, 2 * 16));
    let degrees: Vec<usize> = (0..12).map(|vertex| graph.degree(vertex)).collect();
    assert_eq!(degrees, [3, 3, 3, 3, 3, 3, 3, 3, 3, 4, 1, 0]);
    // an edge list has no isolated vertices
    let whole = Sample { vertices: 11, ..sample };
    let market = load(folder.path(), "w.mtx", whole.matrix_market().as_bytes()).graph;
    for (weighted, ignored) in [(false, 0), (true, 32)] {
        let loaded = load(folder.path(), "w.txt", whole.edge_list(weighted).as_bytes());
        assert!(loaded.graph == market);
        assert_eq!((loaded.report.weights, loaded.format), (ignored, Some(FileFormat::Edges)));
    }
}

#[test]
fn values_go_to_the_matrix() {
    let folder = tempfile::tempdir().unwrap();
    let sample = petersen();
    let market = read_matrix::<i32>(put(folder.path(), "a.mtx", sample.matrix_market()), &()).unwrap();
    for (name, bytes, format, weighted) in files(&sample) {
        let path = put(folder.path(), name, bytes);
        if format == FileFormat::Dimacs {
            let told = read_matrix::<i32>(&path, &()).unwrap_err().to_string();
            assert!(
                told.ends_with("expected a matrix: matrix-market, gr, metis, npz, egr, sg or vxm, found dimacs"),
                "{told}"
            );
            continue;
        }
        let found = read_matrix::<i32>(&path, &()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let directed = name == "b.wsg" || name == "b.sg";
        let expected = |row, column| match market.get(row, column) {
            Some(_) if directed && !sample.edges.iter().any(|e| (e.0 as usize, e.1 as usize) == (row, column)) => None,
            Some(value) => Some(if weighted && name != "e.npz" { value } else { 1 }),
            None => None,
        };
        for row in 0..12 {
            for column in 0..12 {
                assert_eq!(found.get(row, column), expected(row, column), "{name}: {row}, {column}");
            }
        }
        let floats = read_matrix_as::<f64>(&path, format, &()).unwrap();
        let same = floats.values().iter().zip(found.values()).all(|(float, &whole)| *float == f64::from(whole));
        assert!(same && floats.columns() == found.columns(), "{name}");
    }
}

#[test]
fn vertices_weights_and_sizes_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let sample = petersen();
    let plain = load(folder.path(), "p.graph", sample.metis("0", 1).as_bytes());
    for (fmt, ncon, edges, vertices, told) in [
        ("1", 1, 32, 0, "weights: 32 values ignored"),
        ("10", 1, 0, 12, "vertex weights: 12 values ignored"),
        ("011", 1, 32, 12, "weights: 32 values ignored; vertex weights: 12 values ignored"),
        ("10", 3, 0, 36, "vertex weights: 36 values ignored"),
        ("100", 1, 0, 12, "vertex weights: 12 values ignored"),
        ("111", 2, 32, 36, "weights: 32 values ignored; vertex weights: 36 values ignored"),
    ] {
        let loaded = load(folder.path(), "w.graph", sample.metis(fmt, ncon).as_bytes());
        assert!(loaded.graph == plain.graph, "{fmt} {ncon}");
        assert_eq!((loaded.report.weights, loaded.report.vertex_weights), (edges, vertices), "{fmt} {ncon}");
        assert_eq!(loaded.report.to_string(), told);
        assert!(!loaded.report.is_clean());
    }
    let col = load(folder.path(), "n.col", b"p col 3 1\nn 1 5\nn 2 -1.5\ne 1 2\n");
    assert_eq!(col.report.to_string(), "vertex weights: 2 values ignored");
    let list = load(folder.path(), "t.txt", b"0 1 .5 99\n1 0 .5 98\n");
    assert_eq!(list.report.to_string(), "weights: 4 values ignored");
}

#[test]
fn parallel_arcs_keep_the_least() {
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "r.gr", "p sp 2 3\na 1 2 7\na 1 2 4\na 2 2 1\n");
    assert_eq!(read_matrix::<u8>(&path, &()).unwrap().get(0, 1), Some(4));
    let loaded = read(&path, &()).unwrap();
    assert_eq!((loaded.report.loops, loaded.report.duplicates, loaded.report.one_way), (1, 1, Some(1)));
}

#[test]
fn rectangles_are_matrices_and_no_graphs() {
    let folder = tempfile::tempdir().unwrap();
    let member = |descr: &str, shape: &str, bytes: &[u8]| array(descr, shape, bytes);
    let long = |numbers: &[i64]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    // NumPy's strings of four-byte characters, as older SciPys wrote them, and half a value
    let members = [
        ("format.npy", member("<U3", "()", b"c\0\0\0s\0\0\0r\0\0\0")),
        ("shape.npy", member("<i8", "(2,)", &long(&[2, 3]))),
        ("indptr.npy", member("<i8", "(3,)", &long(&[0, 2, 3]))),
        ("indices.npy", member("<i8", "(3,)", &long(&[2, 0, 1]))),
        ("data.npy", member("<f8", "(3,)", &[1.5f64, 2.0, -3.0].map(f64::to_le_bytes).concat())),
    ];
    let path = put(folder.path(), "r.npz", zip(&members, false));
    let matrix = read_matrix::<f32>(&path, &()).unwrap();
    assert_eq!((matrix.columns(), matrix.values()), (&[0, 2, 1][..], &[2.0, 1.5, -3.0][..]));
    let told = |error: vxm::Error| error.to_string().replace(&format!("{}/", folder.path().display()), "");
    assert_eq!(told(read(&path, &()).unwrap_err()), "r.npz: expected as many rows as columns (3) of a graph, found 2");
    let whole = told(read_matrix::<i8>(&path, &()).unwrap_err());
    assert_eq!(whole, "r.npz: data.npy: byte 128: expected a value of type i8, found 1.5");
}

/// Any small weighted graph, without self-loops.
fn samples() -> impl Strategy<Value = Sample> {
    (1u32..20, prop::collection::btree_map((0u32..20, 0u32..20), 1i32..1000, 0..40)).prop_map(|(vertices, raw)| {
        let mut edges: Vec<_> = raw
            .into_iter()
            .map(|((i, j), weight)| ((i % vertices).min(j % vertices), (i % vertices).max(j % vertices), weight))
            .filter(|(i, j, _)| i != j)
            .collect();
        edges.dedup_by_key(|edge| (edge.0, edge.1));
        edges.sort_unstable();
        edges.dedup_by_key(|edge| (edge.0, edge.1));
        Sample { vertices, edges, one_way: false }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_graph_is_the_same_in_every_format(sample in samples()) {
        let folder = tempfile::tempdir().unwrap();
        check_all(folder.path(), &sample);
        let market = read_matrix::<i32>(put(folder.path(), "a.mtx", sample.matrix_market()), &()).unwrap();
        for (name, bytes) in [
            ("w.graph", sample.metis("011", 2).into_bytes()),
            ("w.npz", sample.npz(NPZ)),
            ("w.egr", sample.ecl(4, true)),
            ("w.wsg", sample.gap(false, true)),
            ("w.gr", sample.shortest_paths().into_bytes()),
        ] {
            // ECL's and GAP's files tell weights by their size, which they don't have without edges
            prop_assert_eq!(&read_matrix::<i32>(put(folder.path(), name, bytes), &()).unwrap(), &market, "{}", name);
        }
    }
}
