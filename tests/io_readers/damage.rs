//! Damaged files: each is read or refused in a line, and never ends the process.

use crate::writers::{Npz, Sample, array, petersen, put, zip};
use proptest::prelude::*;
use std::path::Path;
use vxm::io::{FileFormat, read_as, read_matrix_as};

/// A file in each format, and whether every byte of it counts.
fn files(sample: &Sample) -> Vec<(FileFormat, Vec<u8>, bool)> {
    let npz = |format, deflated| sample.npz(Npz { format, index: "<i4", value: "<f4", deflated });
    vec![
        (FileFormat::Edges, sample.edge_list(true).into(), false),
        (FileFormat::MatrixMarket, sample.matrix_market().into(), false),
        (FileFormat::Dimacs, sample.coloring().into(), false),
        (FileFormat::ShortestPath, sample.shortest_paths().into(), false),
        (FileFormat::Metis, sample.metis("0", 1).into(), false),
        (FileFormat::Metis, sample.metis("111", 2).into(), false),
        (FileFormat::Npz, npz("csr", true), true),
        (FileFormat::Npz, npz("coo", false), true),
        (FileFormat::Ecl, sample.ecl(4, true), true),
        (FileFormat::Ecl, sample.ecl(8, false), true),
        (FileFormat::Gap, sample.gap(false, true), true),
        (FileFormat::Gap, sample.gap(true, false), true),
    ]
}

/// Reads `bytes` as a graph and as a matrix. Returns whether both were refused.
fn is_refused(folder: &Path, format: FileFormat, bytes: &[u8]) -> bool {
    let path = put(folder, "damaged", bytes);
    let told = |error: vxm::Error| {
        let line = error.to_string();
        assert!(!line.contains('\n') && line.contains("damaged"), "{line}");
        assert!(
            line.contains(": expected ")
                || line.contains(": needs ")
                || line.contains(" repeats ")
                || line.contains("two entries"),
            "{line}"
        );
    };
    let graph = read_as(&path, format, &()).map_err(told);
    if let Ok(loaded) = &graph {
        assert!(loaded.graph.is_symmetric());
    }
    let matrix = read_matrix_as::<i64>(&path, format, &()).map_err(told);
    graph.is_err() && matrix.is_err()
}

#[test]
fn every_cut_is_refused_or_read() {
    let folder = tempfile::tempdir().unwrap();
    for (format, bytes, counts) in files(&petersen()) {
        for end in 0..bytes.len() {
            let refused = is_refused(folder.path(), format, &bytes[..end]);
            // an ECL graph without its weights is whole
            let whole = format == FileFormat::Ecl && end == petersen().ecl(4, false).len() && bytes.len() > 300;
            assert!(refused || whole || !counts, "{format} cut at {end} of {}", bytes.len());
        }
        // METIS states its lines and neighbours, and lists edges twice: only the last line end may miss
        if format == FileFormat::Metis {
            let plain = petersen().metis("0", 1);
            let refused =
                (0..plain.len() - 1).filter(|&end| is_refused(folder.path(), format, &plain.as_bytes()[..end]));
            assert_eq!(refused.count(), plain.len() - 1);
        }
        let mut long = bytes.clone();
        long.push(0);
        assert!(is_refused(folder.path(), format, &long), "{format} with a byte more");
    }
}

#[test]
fn every_flip_is_refused_or_read() {
    let folder = tempfile::tempdir().unwrap();
    let small = Sample { vertices: 4, edges: vec![(0, 1, 7), (0, 2, 1), (1, 2, 12)], one_way: false };
    for (format, bytes, _) in files(&small) {
        for at in 0..bytes.len() {
            // of a zip archive there are many bytes, most of which are checked by its sums
            let wrong = [bytes[at] ^ 0xff, bytes[at] ^ 1, b'9'];
            for wrong in &wrong[..if format == FileFormat::Npz { 1 } else { 3 }] {
                let mut flipped = bytes.clone();
                flipped[at] = *wrong;
                is_refused(folder.path(), format, &flipped);
            }
        }
    }
}

#[test]
fn contradictions_are_told_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let told = |format, bytes: &[u8]| {
        let path = put(folder, "f", bytes);
        let line = read_as(&path, format, &()).unwrap_err().to_string();
        line.replace(&format!("{}/", folder.display()), "")
    };
    for (text, expected) in [
        ("4 4\n2 4\n1 3\n2 4\n", "f:1:1: expected the lines of 4 vertices (as stated here), found 3"),
        (
            "4 4\n2 4\n1 3\n2 4\n1 3\n1\n",
            "f:6:1: expected the end of the file after the lines of 4 vertices, found `1`",
        ),
        ("4 5\n2 4\n1 3\n2 4\n1 3\n", "f:1:3: expected 10 neighbours, two for each edge (as stated here), found 8"),
        ("4 4\n2 4\n1 5\n2 4\n1 3\n", "f:3:3: expected a neighbour from 1 to 4, found `5`"),
        ("4 4\n2 4\n1 0\n2 4\n1 3\n", "f:3:3: expected a neighbour from 1 to 4, found `0`"),
        ("4 4\n2 4\n1 3\n2 4\n1 2\n", "f: the line of vertex 3 lists 4: expected 3 in the line of vertex 4, too"),
        ("4 4 2\n", "f:1:5: expected METIS' FMT: up to three digits of 0 and 1, found `2`"),
        ("4 4 10 x\n", "f:1:8: expected METIS' number of weights, found `x`"),
        ("2 1 1\n2 5\n1\n", "f:3:2: expected the weight of an edge, an integer, found the end of the line"),
        ("2 1 10\nx 2\n1 1\n", "f:2:1: expected the size or weight of a vertex, found `x`"),
        ("4\n", "f:1:2: expected METIS' number of edges, found the end of the line"),
        ("4294967296 0\n", "f:1:1: expected at most 4294967295 vertices, found 4294967296"),
        ("4294967295 0\n", "f:1:1: expected the lines of 4294967295 vertices (as stated here), found 0"),
        ("", "f:1:1: expected METIS' number of vertices, found the end of the file"),
    ] {
        assert_eq!(told(FileFormat::Metis, text.as_bytes()), expected);
    }
    let path = put(folder, "w.graph", "2 1 1\n2 5\n1 6\n");
    let line = read_matrix_as::<u8>(&path, FileFormat::Metis, &()).unwrap_err().to_string();
    assert!(
        line.ends_with(
            "the line of vertex 1 lists 2: expected 1 in the line of vertex 2, too and with the same weight"
        )
    );
    for (text, expected) in [
        ("p sp 2 2\na 1 2 3\n", "f:1:8: expected 2 arcs (as stated here), found 1"),
        ("p sp 2 1\na 1 3 3\n", "f:2:5: expected a vertex from 1 to 2, found `3`"),
        ("p sp 2 1\na 1 2\n", "f:2:6: expected an arc's weight, a number, found the end of the line"),
        ("p sp 2 1\ne 1 2\n", "f:2:1: expected an arc `a FROM TO WEIGHT` or a comment `c ...`, found `e`"),
        ("p max 2 1\n", "f:1:3: expected `sp`, found `max`"),
    ] {
        assert_eq!(told(FileFormat::ShortestPath, text.as_bytes()), expected);
    }
    let words = |words: &[i32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    for (bytes, expected) in [
        (words(&[2, 2, 0, 1, 3, 1, 0]), "f: byte 16: expected 2, the number of entries, found 3"),
        (words(&[2, 2, 1, 1, 2, 1, 0]), "f: byte 8: expected 0, the start of the first row, found 1"),
        (words(&[2, 2, 0, -1, 2, 1, 0]), "f: byte 12: expected an offset from 0 to 2, found -1"),
        (words(&[2, 2, 0, 1, 2, 1, 2]), "f: byte 24: expected a column from 0 to 1, found 2"),
        (words(&[2, 2, 0, 1, 2, -1, 0]), "f: byte 20: expected a column from 0 to 1, found -1"),
    ] {
        assert_eq!(told(FileFormat::Ecl, &bytes), expected);
    }
    // a directed GAP graph with reversed edges that differ: one edge leads to node 0
    let mut gap = petersen().gap(true, false);
    let at = 17 + 13 * 8 + 16 * 4 + 8;
    gap[at] += 1;
    let line = told(FileFormat::Gap, &gap);
    assert_eq!(line, format!("f: byte {at}: expected 1, because 1 edges lead to node 0, found 2"));
    // a zip member with a wrong sum or type
    let mut stored = petersen().npz(Npz { format: "csr", index: "<i4", value: "<f8", deflated: false });
    let data = stored.windows(4).position(|four| four == [0, 0, 8, 64]).unwrap();
    stored[data] ^= 1;
    let line = told(FileFormat::Npz, &stored);
    assert!(line.starts_with("f: data.npy: expected the checksum "), "{line}");
    let only = |name, bytes| told(FileFormat::Npz, &zip(&[(name, bytes)], false));
    assert_eq!(only("a.npy", Vec::new()), "f: expected a SciPy matrix with format.npy, found none");
    assert_eq!(
        only("format.npy", array("<i8", "()", &[0; 8])),
        "f: format.npy: byte 0: expected a string, found `<i8`"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn any_damage_is_refused_or_read(
        which in 0usize..12,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
        repeat in 1usize..4,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (format, bytes, _) = files(&petersen()).swap_remove(which);
        let mut damaged = bytes.repeat(repeat);
        damaged.truncate(1 + cut.index(damaged.len()));
        for (at, byte) in changes {
            let at = at.index(damaged.len());
            damaged[at] = byte;
        }
        is_refused(folder.path(), format, &damaged);
    }

    #[test]
    fn any_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..200), which in 0usize..8) {
        let folder = tempfile::tempdir().unwrap();
        is_refused(folder.path(), FileFormat::ALL[which], &bytes);
        let path = put(folder.path(), "bytes", &bytes);
        if let Err(error) = vxm::io::read(&path, &()) {
            prop_assert!(error.to_string().chars().all(|c| !c.is_control()));
        }
    }
}
