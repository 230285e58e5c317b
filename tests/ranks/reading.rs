//! Ranks that read a graph together have the graph of one process, and its errors.

use crate::{on_grid, on_ranks, without_rank};
use proptest::prelude::*;
use std::fmt::Write;
use std::path::Path;
use vxm::Result;
use vxm::containers::{Matrix, SpreadGraph, Vector};
use vxm::io::{
    FileFormat, Loaded, ReadAs, WholeFile, generate, read, read_as, read_digraph, read_digraph_as, write_native,
    write_native_graph,
};
use vxm::prelude::*;
use vxm::ranks::Deal;

/// A product that tells which entries a matrix has: of each row, the sum of hashes of its columns.
fn print_of(a: &Matrix) -> Result<Vector<u64>> {
    let hash = |v: u64| (v + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31).wrapping_mul(0x85eb_ca6b);
    let x = Vector::from_dense((0..a.ncols() as u64).map(hash).collect());
    let x = match a.grid() {
        Some(grid) => x.to_grid(grid)?,
        None => x,
    };
    x.vxm(a, PLUS_FIRST).eval()
}

/// Whether each rank reads a part, or all.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Parts,
    All,
}

/// Grids, and how blocks are dealt out.
const GRIDS: [((usize, usize), Option<Deal>); 4] =
    [((1, 1), None), ((3, 1), None), ((1, 2), Some(Deal::Hashed)), ((2, 3), None)];

/// Checks that ranks on each grid read what one process reads, as an undirected graph and with directions.
fn reads_the_same(path: &Path, asked: Option<FileFormat>, way: Way) {
    for directed in [false, true] {
        let loaded = match (asked, directed) {
            (Some(format), false) => read_as(path, format, &()),
            (Some(format), true) => read_digraph_as(path, format, &()),
            (None, false) => read(path, &()),
            (None, true) => read_digraph(path, &()),
        };
        let Loaded { graph, name, format, numbering, report, .. } = loaded.unwrap();
        let symmetric = graph.is_symmetric();
        let whole = Matrix::from_csr(graph);
        let expected = (name, format, numbering, report, whole.nrows(), whole.nnz(), symmetric);
        let print = print_of(&whole).unwrap();
        for (shape, deal) in GRIDS {
            let told = on_ranks(shape, deal, |grid| {
                let read = match directed {
                    false => grid.try_read_graph(path, asked.into(), &())?,
                    true => grid.try_read_digraph(path, asked.into(), &())?,
                };
                assert_eq!(read.is_err(), way == Way::All || grid.size() == 1, "{}", path.display());
                let SpreadGraph { matrix, name, format, numbering, report, .. } = match directed {
                    false => grid.read_graph(path, asked, &())?,
                    true => grid.read_digraph(path, asked, &())?,
                };
                let print = print_of(&matrix)?.to_root()?;
                let symmetric = matrix.is_symmetric() || (grid.size() == 1 && matrix.csr().is_symmetric());
                Ok(((name, format, numbering, report, matrix.nrows(), matrix.nnz(), symmetric), print))
            });
            let (told, found) = told.unwrap();
            assert_eq!(told, expected, "{} on {shape:?}, {deal:?}, {directed}", path.display());
            assert_eq!(found.as_ref(), Some(&print), "{} on {shape:?}, {deal:?}, {directed}", path.display());
        }
    }
}

#[test]
fn generated_graphs_are_drawn_by_parts() {
    for spec in ["rmat:11:8", "kron:10:16:7", "er:9:3", "grid:37x23", "grid:1x1", "road:23"] {
        reads_the_same(spec.as_ref(), None, Way::Parts);
    }
    ["rgg:8", "delaunay:8"].iter().for_each(|spec| reads_the_same(spec.as_ref(), None, Way::All));
}

#[test]
fn files_are_read_by_parts() {
    let folder = tempfile::tempdir().unwrap();
    let graph = generate("rmat:9:6", &()).unwrap().graph;
    let native = folder.path().join("graph.vxm");
    let numbering = vxm::io::Numbering::From(5);
    write_native_graph(WholeFile::prepare(&native).unwrap(), &graph, &numbering).unwrap();
    reads_the_same(&native, None, Way::Parts);
    // a directed one is read by rows if its directions are kept
    let arrows = folder.path().join("arrows.vxm");
    let triples = (0..4000u32).map(|k| (k * 7 % 300, k * k % 299, ())).filter(|(i, j, ())| i != j);
    let arrow = vxm::formats::Coo::from_triples(300, 300, triples).unwrap().to_csr(vxm::formats::First).unwrap();
    write_native(WholeFile::prepare(&arrows).unwrap(), &arrow, &numbering).unwrap();
    let read = |grid: &vxm::ranks::Grid| {
        let found = grid.try_read_digraph(&arrows, ReadAs::default(), &())?.unwrap().matrix;
        Ok((found.nnz(), found.is_symmetric(), print_of(&found)?.to_root()?))
    };
    let print = print_of(&Matrix::from_csr(arrow.clone())).unwrap();
    assert_eq!(on_ranks((2, 2), None, read).unwrap(), (arrow.nnz() as u64, false, Some(print)));
    for (name, format) in [("g.mtx", FileFormat::MatrixMarket), ("g.txt", FileFormat::Edges)] {
        let path = folder.path().join(name);
        let mut text = String::new();
        if format == FileFormat::MatrixMarket {
            let n = graph.nrows();
            writeln!(text, "%%MatrixMarket matrix coordinate pattern general\n{n} {n} {}", graph.nnz()).unwrap();
        }
        for (row, &column) in
            (0..graph.nrows()).flat_map(|row| graph.row(row).0.iter().map(move |column| (row, column)))
        {
            // one direction of some edges, and some lines twice instead
            let (row, column) = (row as u32, column);
            let one = if (row + column) % 5 == 0 { (row.min(column), row.max(column)) } else { (row, column) };
            writeln!(text, "{} {}", one.0 + 1, one.1 + 1).unwrap();
        }
        std::fs::write(&path, text).unwrap();
        reads_the_same(&path, Some(format), Way::Parts);
        // a stream has one order
        let packed = folder.path().join(format!("packed-{name}.gz"));
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut out, &std::fs::read(&path).unwrap()).unwrap();
        std::fs::write(&packed, out.finish().unwrap()).unwrap();
        reads_the_same(&packed, Some(format), Way::All);
    }
}

/// Ranks have several portions each, not all of one has as many as another, and the first ones are counted before all are sent.
#[test]
fn large_graphs_are_read_in_portions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.txt");
    let lines = (0..1_200_000u64).map(|k| {
        let (from, to) = (k * k % 60_013, k * 7 % 60_013);
        format!("{from} {to} {:.*}\n", (k % 70) as usize, k as f64 / 7.0)
    });
    std::fs::write(&path, lines.collect::<String>()).unwrap();
    for name in [Path::new("rmat:15:200"), &path] {
        let Loaded { graph, report, .. } = read(name, &()).unwrap();
        let print = print_of(&Matrix::from_simple(graph)).unwrap();
        let told = on_ranks((2, 1), None, |grid| {
            let read = grid.read_graph(name, None, &())?;
            Ok((read.report, print_of(&read.matrix)?.to_root()?))
        });
        assert_eq!(told.unwrap(), (report, Some(print)));
    }
}

/// The text of an edge list: of numbers from a list, with comments and blank lines.
fn edge_list(numbers: Vec<u64>) -> impl Strategy<Value = String> {
    let number = prop::sample::select(numbers);
    let line = prop_oneof![
        8 => (number.clone(), number).prop_map(|(from, to)| format!("{from} {to}")),
        1 => Just("# a comment".to_owned()),
        1 => Just(String::new()),
        1 => Just("  \t ".to_owned()),
    ];
    (prop::collection::vec(line, 1..40), any::<bool>())
        .prop_map(|(lines, end)| lines.join("\n") + if end { "\n" } else { "" })
}

/// What ranks say of a file, and what one process says, without the rank's number.
fn said(path: &Path, shape: (usize, usize)) -> [core::result::Result<(usize, u64), String>; 2] {
    let alone = read(path, &()).map(|loaded| (loaded.graph.nrows(), loaded.graph.nnz() as u64));
    let ranks = on_ranks(shape, None, |grid| {
        let matrix = grid.read(path, &())?;
        Ok((matrix.nrows(), matrix.nnz()))
    });
    [alone.map_err(|error| error.to_string()), ranks.map_err(|error| without_rank(error.to_string()))]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if crate::few() { 3 } else { 24 }))]
    /// Near numbers and numbers far apart, headers, comments, and parts without a line.
    #[test]
    fn edge_lists_are_read_as_by_one_process(
        text in prop_oneof![
            edge_list((0..9).collect()),
            edge_list(vec![0, 1, 63, 64, 65, 4000, 70_000]),
            edge_list(vec![3, 1 << 33, u64::MAX, u64::MAX - 1, 12]),
        ],
        ranks in 2usize..6,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g.txt");
        std::fs::write(&path, &text).unwrap();
        let [alone, together] = said(&path, (ranks, 1));
        prop_assert_eq!(alone, together, "{}", text);
    }

    /// A wrong line is told with its number in the file, whoever reads it.
    #[test]
    fn wrong_lines_are_told_as_by_one_process(
        lines in 1usize..60,
        wrong in any::<prop::sample::Index>(),
        what in prop::sample::select(vec!["x 1", "1", "1 2 3 4 z", "-1 2", "1 99999999999999999999999"]),
        market: bool,
        ranks in 2usize..6,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g.mtx");
        let mut text = String::new();
        if market {
            writeln!(text, "%%MatrixMarket matrix coordinate pattern general\n% one\n100 100 {lines}").unwrap();
        }
        let wrong = wrong.index(lines);
        (0..lines).for_each(|k| match k {
            k if k == wrong => writeln!(text, "{what}").unwrap(),
            k => writeln!(text, "{} {}", k + 1, k * 7 % 50 + 1).unwrap(),
        });
        let path = if market { path } else { path.with_extension("txt") };
        std::fs::write(&path, &text).unwrap();
        let [alone, together] = said(&path, (ranks, 1));
        prop_assert!(alone.is_err(), "{}", text);
        prop_assert_eq!(alone, together, "{}", text);
    }
}

#[test]
fn damaged_and_different_files_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.vxm");
    let graph = generate("er:14:60", &()).unwrap().graph;
    write_native_graph(WholeFile::prepare(&path).unwrap(), &graph, &vxm::io::Numbering::From(0)).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    // in the last part of the columns, which one rank checks
    let at = bytes.len() - 5000;
    bytes[at] ^= 64;
    std::fs::write(&path, &bytes).unwrap();
    let [alone, together] = said(&path, (3, 1));
    assert!(alone.is_err());
    assert_eq!(alone, together);
    // an entry too few
    let path = folder.path().join("few.mtx");
    std::fs::write(&path, "%%MatrixMarket matrix coordinate pattern symmetric\n9 9 4\n2 1\n3 1\n5 4\n").unwrap();
    let [alone, together] = said(&path, (4, 1));
    assert!(alone.is_err());
    assert_eq!(alone, together);
    // ranks with files of their own
    let name = |rank: usize| folder.path().join(format!("{rank}.txt"));
    (0..2).for_each(|rank| std::fs::write(name(rank), "1 2\n2 3\n".repeat(rank + 1)).unwrap());
    let error = on_grid((2, 1), Deal::Cyclic, |grid| grid.read(name(grid.rank()), &())).unwrap_err().to_string();
    assert!(error.contains("another input than that of rank 0"), "{error}");
}
