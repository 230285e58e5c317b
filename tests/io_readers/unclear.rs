//! Formats are told apart by content and name; what stays unclear is refused.

use crate::writers::{petersen, put, zip};
use std::path::Path;
use vxm::io::{FileFormat, read, read_as};

/// A cycle of four vertices in METIS' format: all lines look like edges.
const CYCLE: &str = "4 4\n2 4\n1 3\n2 4\n1 3\n";

/// The error of reading a file, without the folder.
fn told(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> String {
    let path = put(folder, name, bytes);
    let error = match read(&path, &()) {
        Ok(loaded) => panic!("{name}: read as {:?}", loaded.format),
        Err(error) => error.to_string(),
    };
    assert!(!error.contains('\n') && error.chars().all(|c| !c.is_control()), "{error:?}");
    error.replace(&format!("{}/", folder.display()), "")
}

#[test]
fn a_metis_file_is_never_an_edge_list() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let line = told(folder, "cycle.txt", CYCLE);
    assert_eq!(
        line,
        "cycle.txt:1:1: expected --input edges if this is an edge, --input metis if it is METIS' header, found `4 4`, \
         which fits the other lines as a header"
    );
    for name in ["cycle.graph", "cycle.metis"] {
        let graph = read(put(folder, name, CYCLE), &()).unwrap().graph;
        assert_eq!((graph.nrows(), graph.nnz()), (4, 8));
    }
    let path = put(folder, "cycle", CYCLE);
    assert_eq!(read_as(&path, FileFormat::Metis, &()).unwrap().graph.nnz(), 8);
    assert_eq!(read_as(&path, FileFormat::Edges, &()).unwrap().graph.nnz(), 4);
    // METIS files without the name: regular ones, which look most like edge lists, with each FMT
    for text in [
        "% c\n4 4\n2 4\n1 3\n2 4\n1 3\n",
        " 4 4\n 2 4\n 1 3\n 2 4\n 1 3\n\n",
        // an isolated vertex, a blank line, at the end, first, and alone
        "5 4\n2 4\n1 3\n2 4\n1 3\n\n",
        "5 4\n\n3 5\n2 4\n3 5\n2 4\n",
        "3 0\n\n\n\n",
        // 3-regular with FMT, and weights of vertices
        "4 6 0\n2 3 4\n1 3 4\n1 2 4\n1 2 3\n",
        "4 4 10\n9 2 4\n9 1 3\n9 2 4\n9 1 3\n",
        "4 4 100\n9 2 4\n9 1 3\n9 2 4\n9 1 3\n",
        "2 1 11\n5 2 7\n5 1 7\n",
        "4 4 1 1\n2 5 4 5\n1 5 3 5\n2 5 4 5\n1 5 3 5\n",
        "4 4 010 2\n8 9 2 4\n8 9 1 3\n8 9 2 4\n8 9 1 3\n",
    ] {
        for name in ["m.txt", "m", "m.gz"] {
            let bytes = if name.ends_with(".gz") { gzip(text.as_bytes()) } else { text.as_bytes().to_vec() };
            let line = told(folder, name, bytes);
            assert!(line.contains(" expected --input edges if this is an edge, --input metis if "), "{text}: {line}");
        }
        read(put(folder, "m.graph", text), &()).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    // those with lines that differ
    for fmt in ["", "1", "10", "11", "100", "111"] {
        let line = told(folder, "p.txt", petersen().metis(fmt, 1));
        let uneven = line.contains(" columns, as on line 2 (--input metis reads METIS), found ");
        assert!(uneven || line.contains("expected a vertex number"), "{line}");
    }
    // a damaged cycle
    let line = told(folder, "cut.txt", "4 4\n2 4\n1 3\n2 4\n");
    assert!(line.contains("`4 4`, which fits"), "{line}");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    zipped.write_all(bytes).unwrap();
    zipped.finish().unwrap()
}

#[test]
fn headers_of_other_kinds_are_no_edges() {
    let folder = tempfile::tempdir().unwrap();
    for (text, expected) in [
        // `n m` over m edges, from 1 and from 0
        ("4 3\n1 2\n2 3\n3 4\n", "`4 3`, which fits the other lines as a header"),
        ("4 3\n0 1\n1 2\n2 3\n", "`4 3`, which fits the other lines as a header"),
        // Matrix Market without its banner
        ("4 4 3\n2 1 5\n3 2 5\n4 3 5\n", "`4 4 3`, which fits the other lines as a header"),
        ("4 2 3\n4 1 5\n1 2 5\n3 1 5\n", "`4 2 3`, which fits the other lines as a header"),
        // of which a line was lost
        ("9 9 3\n2 1 5\n3 2 5\n", "`9 9 3`, which fits the other lines as a header"),
        // a header of another width
        ("4 3\n1 2 5\n2 3 5\n3 4 5\n", "2 columns, as on line 1 (--input metis reads METIS), found `5`"),
        ("3 3 2\n1 2\n2 3\n", "3 columns, as on line 1 (--input metis reads METIS), found the end of the line"),
        ("4\n1 2\n", "expected a vertex number from 0 to 2^64 - 1, found the end of the line"),
        ("from to\n1 2\n", "expected a vertex number from 0 to 2^64 - 1 (--input names reads names), found `from`"),
    ] {
        let line = told(folder.path(), "h.txt", text);
        assert!(line.ends_with(expected), "{text}: {line}");
    }
    // the caller may know better: uneven lines are then read, and what they have more is counted
    let path = put(folder.path(), "u.txt", "4 3\n1 2 5\n2 3\n3 4 5 6\n");
    let loaded = read_as(path, FileFormat::Edges, &()).unwrap();
    assert_eq!((loaded.graph.nrows(), loaded.report.weights), (4, 3));
    let path = put(folder.path(), "v.txt", "4 3 1 1\n1 2 5\n2 3\n3 4 5 6\n");
    assert_eq!(read_as(path, FileFormat::Edges, &()).unwrap().report.weights, 5);
}

#[test]
fn edge_lists_need_no_option() {
    let folder = tempfile::tempdir().unwrap();
    for text in [
        "# Directed graph\n# Nodes: 4 Edges: 4\n# FromNodeId\tToNodeId\n0\t1\n0\t2\n1\t2\n3\t0\n",
        "1 2\n",
        "9 9\n",
        "0 0\n1 2\n",
        "0 1\n1 0\n",
        "1 2\n2 3\n",
        "2 1\n3 4\n\n",
        "1 2\n2 3\n3 1\n\n\n",
        "4 1\n4 2\n4 3\n",
        "0 1 1.5\n1 2 2.5\n",
        "1 2 1\n1 3 1\n2 3 1\n",
        "2 3 0.5\n1 2 0.5\n3 1 0.5\n",
        "% asym weighted\n% 3 2 2\n1 2 1 1082008561\n2 1 1 1082008562\n",
        "5000000000 7\n1 2\n",
        "# nothing\n",
    ] {
        for name in ["e.txt", "e", "e.el", "e.edges", "e.tsv"] {
            let loaded = read(put(folder.path(), name, text), &()).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(loaded.format, Some(FileFormat::Edges));
        }
    }
    // a comment that METIS has not tells an edge list, whatever the name
    let loaded = read(put(folder.path(), "l.graph", "# links\n0 1\n1 2\n"), &()).unwrap();
    assert_eq!((loaded.format, loaded.graph.nnz()), (Some(FileFormat::Edges), 4));
}

#[test]
fn content_goes_before_names() {
    let folder = tempfile::tempdir().unwrap();
    let sample = petersen();
    for (name, bytes, format) in [
        ("a.gr", sample.coloring().into_bytes(), FileFormat::Dimacs),
        ("a.col", sample.shortest_paths().into(), FileFormat::ShortestPath),
        ("b.graph", sample.shortest_paths().into(), FileFormat::ShortestPath),
        ("c.graph", sample.matrix_market().into(), FileFormat::MatrixMarket),
        ("d.txt", sample.matrix_market().into(), FileFormat::MatrixMarket),
        ("e.graph", format!("%% two signs\n{CYCLE}").into(), FileFormat::Metis),
        ("f.graph.gz", gzip(CYCLE.as_bytes()), FileFormat::Metis),
        ("g.gr.gz", gzip(sample.shortest_paths().as_bytes()), FileFormat::ShortestPath),
        ("h.zip", zipped(), FileFormat::Npz),
    ] {
        let loaded = read(put(folder.path(), name, bytes), &()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(loaded.format, Some(format), "{name}");
    }
    // a name that tells METIS is named in the error
    let line = told(folder.path(), "l.graph", "0 1\n1 2\n");
    assert_eq!(
        line,
        "l.graph:2:1: expected the end of the file after the lines of 0 vertices, found `1` \
         (read as METIS by its name; --input edges reads an edge list)"
    );
    for (format, expected) in [
        (FileFormat::MatrixMarket, "c:1:1: expected `%%MatrixMarket`, found `4`"),
        (FileFormat::Dimacs, "c:1:1: expected `p edge VERTICES EDGES`, found `4`"),
        (FileFormat::ShortestPath, "c:1:1: expected `p sp VERTICES ARCS`, found `4`"),
        (FileFormat::Npz, "c: byte 20: expected the end of a zip archive's directory, found none"),
        (
            FileFormat::Ecl,
            "c: byte 0: expected an ECL graph: counts of nodes and edges that fit the size of the file, \
             found 171188276 and 171188274 in 20 bytes",
        ),
        (
            FileFormat::Gap,
            "c: byte 0: expected a GAP serialized graph: a byte 0 or 1, then counts that fit the size of the file, \
             found 20 bytes that begin otherwise",
        ),
    ] {
        let path = put(folder.path(), "c", CYCLE);
        let line = read_as(&path, format, &()).unwrap_err().to_string();
        assert_eq!(line.replace(&format!("{}/", folder.path().display()), ""), expected);
    }
    // an ECL graph that begins like a gzip stream
    let many = crate::writers::Sample { vertices: 0x8b1f, edges: vec![(0, 1, 1)], one_way: false };
    let bytes = many.ecl(4, false);
    assert!(bytes.starts_with(&[0x1f, 0x8b]));
    assert_eq!(read(put(folder.path(), "g.egr", bytes), &()).unwrap().graph.nnz(), 2);
}

fn zipped() -> Vec<u8> {
    petersen().npz(crate::writers::Npz { format: "csr", index: "<i4", value: "<f8", deflated: true })
}

#[test]
fn files_of_other_kinds_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let kinds = "expected a graph: Matrix Market, DIMACS, METIS, GraphML, an edge list, Parquet, Arrow, SciPy's .npz, .egr, .sg or .vxm, found ";
    for (bytes, expected) in [
        (&b"\x7fELF\x02\x01\x01\0"[..], "an ELF program"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG image"),
        (&zip(&[("readme.txt", b"1 2\n".to_vec())], true), "a zip archive"),
        (b"\xfd7zXZ\0\0\x04", "an xz stream"),
        (b"BZh91AY&SY", "a bzip2 stream"),
        (b"\x93NUMPY\x01\0", "a NumPy .npy array"),
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
        (b"%PDF-1.7\n", "a PDF document"),
        (b"\x80\x04\x95\0", "a Python pickle"),
        (b"\xff\xfe1\x00 \x002\x00", "UTF-16 text"),
        (b"1 2\n3 \x004\n", "binary data"),
        (b"\x01\x1b[31m\x07", "binary data"),
        (b"<?xml version=\"1.0\"?>\n<html/>", "XML or HTML"),
        (b"{\"nodes\": []}", "JSON"),
        (b"AdjacencyGraph\n3\n2\n", "a Ligra adjacency graph"),
        (b"graph G { a -- b }", "a DOT or GML graph"),
        (b"*Vertices 3\n", "a Pajek network"),
    ] {
        for name in ["x.txt", "x", "x.mtx.gz"] {
            let content = if name.ends_with(".gz") { gzip(bytes) } else { bytes.to_vec() };
            assert!(told(folder, name, content).ends_with(&format!(":1:1: {kinds}{expected}")), "{name}: {expected}");
        }
    }
    // binary formats are mapped as they are
    let line = told(folder, "p.gz", gzip(&zipped()));
    assert!(line.ends_with("found a zip archive"), "{line}");
    let line = read_as(put(folder, "q.gz", gzip(&zipped())), FileFormat::Npz, &()).unwrap_err().to_string();
    assert!(line.contains("expected the end of a zip archive's directory"), "{line}");
    let line = told(folder, "n.npz", "1 2\n");
    assert!(line.ends_with("n.npz: byte 4: expected the end of a zip archive's directory, found none"), "{line}");
}
