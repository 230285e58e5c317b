//! Graphs that are read, generated and written.

use proptest::prelude::*;
use std::path::Path;
use vxm::formats::{Csr, Directions, undirected};
use vxm::io::{Loaded, Numbering, generate, read, read_matrix, write_matrix_market};

fn load(folder: &Path, name: &str, text: &str) -> Loaded {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    read(&path, &()).unwrap()
}

fn edges(graph: &Csr) -> Vec<(usize, u32)> {
    let row = |i: usize| graph.row(i).0.iter().filter(move |&&j| i < j as usize).map(move |&j| (i, j));
    (0..graph.nrows()).flat_map(row).collect()
}

fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(work)
}

#[test]
fn one_graph_in_three_formats() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let path = [(0, 1), (1, 2)];
    for (name, text, numbering, notes) in [
        (
            "a.mtx",
            "%%matrixmarket MATRIX Coordinate pattern symmetric\n% c\n\n3 3 2\n2 1\n\n% c\n3 2",
            Numbering::From(1),
            "",
        ),
        (
            "b.mtx",
            "%%MatrixMarket matrix coordinate real general\r\n3 3 4\r\n1 2 0.0  \r\n2 1 -1e3\r\n3 2 inf\r\n3 3 .5\r\n",
            Numbering::From(1),
            "dropped 1 self-loop; made symmetric: 1 edge was listed in one direction only; weights: 4 values ignored",
        ),
        (
            "c.mtx",
            "%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 3\n2 1 +7\n3 2 -7\n2 3 7\n",
            Numbering::From(1),
            "dropped 1 duplicate; weights: 3 values ignored",
        ),
        ("d.col", "c a\np edge 3 2\ne 1 2\ne 2 3\n", Numbering::From(1), ""),
        ("e.col", "p col 3 4\ne 1 2\ne 2 1\ne 2 3\ne 3 2", Numbering::From(1), "dropped 2 duplicates"),
        (
            "f.txt",
            "# c\n5 6 1 2\n6\t5 3 4\n6 7 0.25 1e9\n7 6 -1 inf\n",
            Numbering::From(5),
            "weights: 8 values ignored",
        ),
        (
            "g",
            "% c\n  3 9000000000000\n9000000000000 11000000000000\n11000000000000 11000000000000\n",
            Numbering::Listed(vec![3, 9_000_000_000_000, 11_000_000_000_000]),
            "dropped 1 self-loop; made symmetric: 2 edges were listed in one direction only",
        ),
        (
            "h",
            "0 2\n2 9\n",
            Numbering::Listed(vec![0, 2, 9]),
            "made symmetric: 2 edges were listed in one direction only",
        ),
        // the banner decides the format, whatever the extension
        ("i.txt", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n", Numbering::From(1), ""),
        ("j.graph", "p edge 3 2\ne 1 2\ne 2 3\n", Numbering::From(1), ""),
    ] {
        let loaded = load(folder, name, text);
        assert_eq!(edges(&loaded.graph), path, "{name}");
        assert_eq!(loaded.graph.nrows(), 3, "{name}");
        assert_eq!(loaded.numbering, numbering, "{name}");
        assert_eq!(loaded.report.to_string(), notes, "{name}");
        assert_eq!(loaded.report.is_clean(), notes.is_empty(), "{name}");
        assert_eq!(loaded.name, name.split('.').next().unwrap());
    }
}

#[test]
fn graphs_without_edges() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let banner = "%%MatrixMarket matrix coordinate pattern symmetric\n";
    for (name, text, vertices) in [
        ("none.mtx", format!("{banner}0 0 0\n"), 0),
        ("one.mtx", format!("{banner}1 1 0"), 1),
        ("loops.mtx", format!("{banner}3 3 3\n1 1\n2 2\n3 3\n"), 3),
        ("none.col", "p edge 4 0\n".into(), 4),
        ("none.txt", "# no edges\n".into(), 0),
        ("loop.txt", "9 9\n".into(), 1),
    ] {
        let loaded = load(folder, name, &text);
        assert_eq!((loaded.graph.nrows(), loaded.graph.nnz()), (vertices, 0), "{name}");
    }
}

#[test]
fn matrices_keep_what_graphs_drop() {
    let folder = tempfile::tempdir().unwrap();
    let matrix = |text: &str| {
        let path = folder.path().join("m.mtx");
        std::fs::write(&path, format!("%%MatrixMarket matrix coordinate {text}")).unwrap();
        path.display().to_string()
    };
    let general = read_matrix::<f64>(&matrix("real general\n2 3 3\n2 1 -1.5\n1 3 inf\n1 1 2\n"), &()).unwrap();
    assert_eq!((general.nrows(), general.ncols()), (2, 3));
    assert_eq!(general.values(), [2.0, f64::INFINITY, -1.5]);
    let symmetric = read_matrix::<i64>(&matrix("integer symmetric\n2 2 2\n1 1 4\n2 1 -5\n"), &()).unwrap();
    assert_eq!(symmetric.values(), [4, -5, -5]);
    let skew = read_matrix::<f32>(&matrix("real skew-symmetric\n2 2 1\n2 1 .5\n"), &()).unwrap();
    assert_eq!(skew.values(), [-0.5, 0.5]);
    let pattern = read_matrix::<u8>(&matrix("pattern general\n2 2 1\n2 1\n"), &()).unwrap();
    assert_eq!((pattern.values(), pattern.get(1, 0)), (&[1][..], Some(1)));
    let logical = read_matrix::<bool>(&matrix("integer general\n1 2 2\n1 1 0\n1 2 1\n"), &()).unwrap();
    assert_eq!(logical.values(), [false, true]);
}

#[test]
fn a_file_wins_over_a_generator() {
    let folder = tempfile::tempdir().unwrap();
    // a name that looks like a specification is read as a file if there is one; such a name needs the working directory
    let before = std::env::current_dir().unwrap();
    std::env::set_current_dir(folder.path()).unwrap();
    std::fs::write("grid:2x2", "0 1\n1 0\n").unwrap();
    let file = read("grid:2x2", &());
    let generated = read("grid:2x3", &());
    std::env::set_current_dir(before).unwrap();
    assert_eq!(file.unwrap().graph.nrows(), 2);
    assert_eq!(generated.unwrap().graph.nrows(), 6);
}

/// Specifications, with the approximate numbers of vertices and of stored entries.
const SPECS: [(&str, f64, f64); 12] = [
    ("grid:30x40", 1200.0, 4660.0),
    ("grid:1x1:9", 1.0, 0.0),
    ("er:12:8", 4096.0, 65400.0),
    ("er:0:3", 1.0, 0.0),
    ("rmat:14:8", 16384.0, 252_000.0),
    ("kron:12:16", 4096.0, 96_000.0),
    ("rgg:14", 16384.0, 146_000.0),
    ("rgg:0", 1.0, 0.0),
    ("road:100:7", 21_200.0, 52_300.0),
    ("road:1", 1.0, 0.0),
    ("delaunay:12:3", 4096.0, 24_550.0),
    ("delaunay:1", 2.0, 2.0),
];

#[test]
fn generated_graphs_have_their_sizes_on_any_threads() {
    for (spec, vertices, stored) in SPECS {
        let one = on_threads(1, || generate(spec, &()).unwrap());
        for threads in [2, 8] {
            assert!(on_threads(threads, || generate(spec, &()).unwrap()) == one, "{spec}");
        }
        let graph = &one.graph;
        let (n, nnz) = (graph.nrows() as f64, graph.nnz() as f64);
        assert!((n - vertices).abs() <= 0.03 * vertices, "{spec}: {n} vertices");
        assert!((nnz - stored).abs() <= 0.05 * stored, "{spec}: {nnz} stored");
        assert!(graph.is_symmetric(), "{spec}");
        assert!((0..graph.nrows()).all(|v| graph.get(v, v).is_none()), "{spec}");
        let parts = graph.clone().into_parts();
        Csr::try_new(parts.0, parts.1, parts.2, parts.3, parts.4).unwrap();
    }
    let seeds = [generate("er:8:4", &()), generate("er:8:4:1", &()), generate("er:8:4:2", &())];
    let [default, first, second] = seeds.map(|loaded| loaded.unwrap().graph);
    assert!(default == first && first != second);
}

#[test]
fn near_points_are_joined() {
    // the mean degree agrees with the expected number of points within the radius
    let loaded = generate("rgg:9", &()).unwrap();
    let mean = loaded.graph.nnz() as f64 / loaded.graph.nrows() as f64;
    let expected = 0.55f64.powi(2) * core::f64::consts::PI * 512f64.ln();
    assert!((mean / expected - 1.0).abs() < 0.2, "{mean} {expected}");
}

#[test]
fn files_come_back_as_they_were_written() {
    let folder = tempfile::tempdir().unwrap();
    for spec in ["road:60", "rmat:12:4", "grid:0x0", "grid:1x1", "rgg:10"] {
        let graph = generate(spec, &()).unwrap().graph;
        for name in ["g.mtx", "g.mtx.gz"] {
            let path = folder.path().join(name);
            write_matrix_market(&path, &graph).unwrap();
            let back = read(&path, &()).unwrap();
            assert!(back.graph == graph, "{spec} {name}");
            assert!(back.report.is_clean());
        }
    }
    // no temporary file is left behind
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    let lost = folder.path().join("none/g.mtx");
    let error = write_matrix_market(&lost, &Csr::empty(1, 1).unwrap()).unwrap_err();
    assert_eq!(error.to_string(), format!("{}: No such file or directory (os error 2)", lost.display()));
    let wide = write_matrix_market("never.mtx", &Csr::empty(1, 2).unwrap()).unwrap_err();
    assert!(wide.to_string().contains("write_matrix_market: 1 rows does not fit 2 columns"), "{wide}");
}

#[test]
fn long_files_are_the_same_on_any_threads() {
    // long enough for several pieces of text per thread, and for several batches of a stream
    let folder = tempfile::tempdir().unwrap();
    let graph = generate("er:14:32", &()).unwrap().graph;
    for name in ["g.mtx", "g.mtx.gz"] {
        let path = folder.path().join(name);
        write_matrix_market(&path, &graph).unwrap();
        let path = path.display().to_string();
        for threads in [1, 2, 8] {
            let back = on_threads(threads, || read(&path, &()).unwrap().graph);
            assert!(back == graph, "{name} on {threads} threads");
        }
    }
    // an error far into the file is reported with its line
    let text = std::fs::read_to_string(folder.path().join("g.mtx")).unwrap();
    let lines = text.lines().count();
    let broken = text + "x 1\n";
    let path = folder.path().join("broken.mtx");
    std::fs::write(&path, broken).unwrap();
    let told = read(&path, &()).unwrap_err().to_string();
    assert!(
        told.ends_with(&format!("broken.mtx:{}:1: expected a row from 1 to 16384, found `x`", lines + 1)),
        "{told}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_graph_survives_a_file(
        vertices in 1u32..40,
        raw in prop::collection::vec((0u32..40, 0u32..40), 0..100),
    ) {
        let list = raw.iter().map(|&(i, j)| (i % vertices, j % vertices)).collect();
        let graph = undirected(vertices as usize, vec![list], Directions::Ignored).unwrap().graph;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g.mtx");
        write_matrix_market(&path, &graph).unwrap();
        prop_assert_eq!(read(&path, &()).unwrap().graph, graph);
    }
}
