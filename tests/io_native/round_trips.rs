//! What is written is read back: matrices of every type, and graphs by every reader.

use crate::hand::PAGE;
use crate::{read_back, sample, write};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use vxm::formats::{Coo, Csr, First};
use vxm::io::{
    FileFormat, NativeFile, Numbering, Value, Verify, Weighted, WholeFile, read, read_as, read_digraph, read_matrix,
    read_matrix_as, read_weighted, write_as,
};

/// Entries of a matrix of up to 40 x 40, and whether their mirror images are entries too.
type Raw<T> = (u32, u32, Vec<(u32, u32, T)>, bool);

pub fn raw<T: Value>(value: impl Strategy<Value = T> + Clone) -> impl Strategy<Value = Raw<T>> {
    let entries = prop::collection::vec((0u32..40, 0u32..40, value), 0..200);
    (1u32..40, 1u32..40, entries, any::<bool>())
}

pub fn build<T: Value>((rows, columns, entries, mirrored): Raw<T>) -> Csr<T> {
    let columns = if mirrored { rows } else { columns };
    let entries = entries.into_iter().map(|(i, j, value)| (i % rows, j % columns, value));
    let both = entries.flat_map(|(i, j, value)| {
        let low_first = (i.min(j), i.max(j), value);
        if mirrored { vec![low_first, (low_first.1, low_first.0, value)] } else { vec![(i, j, value)] }
    });
    Coo::from_triples(rows as usize, columns as usize, both).unwrap().to_csr(First).unwrap()
}

fn bits<T: Value>(matrix: &Csr<T>) -> Vec<u128> {
    matrix.values().iter().map(|value| value.wide_bits()).collect()
}

/// Writes and reads matrices with entries of type `T`.
pub fn survives<T: Value>(value: impl Strategy<Value = T> + Clone, name: &str) {
    let mut runner = TestRunner::new(Config { source_file: None, ..Config::with_cases(24) });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.vxm");
    let test = |raw: Raw<T>| {
        let matrix = build(raw);
        let rows = matrix.nrows();
        let bytes = write(folder.path(), "m.vxm", &matrix, &Numbering::From(7));
        prop_assert_eq!(bytes.len() % PAGE, 0);
        let file = NativeFile::open(&path).unwrap();
        prop_assert_eq!((file.nrows(), file.ncols(), file.nnz()), (rows, matrix.ncols(), matrix.nnz()));
        prop_assert_eq!(file.element(), name);
        prop_assert_eq!(file.is_symmetric(), matrix.is_symmetric());
        prop_assert_eq!(file.is_loopless(), (0..rows).all(|row| matrix.get(row, row).is_none()));
        file.check_symmetry(&()).unwrap();
        for verify in [Verify::Invariants, Verify::All] {
            let back = file.matrix::<T>(verify, &()).unwrap();
            prop_assert_eq!(bits(&back), bits(&matrix));
            prop_assert_eq!((back.offsets(), back.columns()), (matrix.offsets(), matrix.columns()));
        }
        // the file stays mapped after it is closed and replaced
        let kept = file.matrix::<()>(Verify::All, &()).unwrap();
        drop(file);
        write(folder.path(), "m.vxm", &Csr::<T>::empty(1, 1).unwrap(), &Numbering::From(0));
        prop_assert_eq!(kept.columns(), matrix.columns());
        Ok(())
    };
    runner.run(&raw(value), test).unwrap();
}

#[test]
fn matrices_of_every_type() {
    survives(Just(()), "pattern");
    survives(any::<bool>(), "bool");
    survives(any::<i8>(), "i8");
    survives(any::<i16>(), "i16");
    survives(any::<i32>(), "i32");
    survives(any::<i64>(), "i64");
    survives(any::<u8>(), "u8");
    survives(any::<u16>(), "u16");
    survives(any::<u32>(), "u32");
    survives(any::<u64>(), "u64");
    let floats = prop_oneof![any::<f32>(), Just(f32::NAN), Just(-0.0), Just(f32::NEG_INFINITY)];
    survives(floats, "f32");
    survives(any::<f64>(), "f64");
}

#[test]
fn values_are_converted_where_they_fit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.vxm");
    write(folder.path(), "m.vxm", &sample(), &Numbering::From(0));
    let wide = read_matrix::<f64>(&path, &()).unwrap();
    assert_eq!((wide.get(0, 6), wide.get(4, 0)), (Some(101.0), Some(110.0)));
    assert_eq!(read_back::<u8>(&path).unwrap().get(2, 3), Some(105));
    let small = Csr::try_new(1, 2, vec![0, 2], vec![0, 1], vec![3.0f64, -0.5]).unwrap();
    write(folder.path(), "m.vxm", &small, &Numbering::From(0));
    let told = read_back::<u32>(&path).unwrap_err().to_string();
    // the values stand behind the header, the checksums, the offsets and the columns
    assert!(
        told.ends_with(&format!("m.vxm: byte {}: expected a value of type u32, found -0.5", 4 * PAGE + 8)),
        "{told}"
    );
}

#[test]
fn the_bytes_do_not_depend_on_threads() {
    let folder = tempfile::tempdir().unwrap();
    let graph = vxm::io::generate("er:17:40", &()).unwrap().graph;
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| write(folder.path(), "m.vxm", &graph, &Numbering::From(0)))
    };
    let one = with(1);
    assert!(one.len() > 2 << 24 && one == with(2) && one == with(5));
}

#[test]
fn every_reader_reads_what_it_reads_of_the_source() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let put = |name: &str, text: &str| std::fs::write(at(name), text).unwrap();
    let market = "%%MatrixMarket matrix coordinate";
    put("sym.mtx", &format!("{market} pattern symmetric\n4 4 4\n2 1\n3 1\n4 4\n4 2\n"));
    put("one_way.mtx", &format!("{market} integer general\n4 4 5\n1 2 7\n2 1 8\n3 3 1\n3 4 9\n4 1 0\n"));
    put("real.mtx", &format!("{market} real symmetric\n3 3 2\n2 1 0.25\n3 1 -1e300\n"));
    put("links.txt", "# from to\n7 9000\n9000 12\n12 12\n");
    put("arcs.gr", "p sp 3 3\na 1 2 7\na 2 3 4\na 2 3 2\n");
    for source in ["sym.mtx", "one_way.mtx", "real.mtx", "links.txt", "arcs.gr"] {
        let native = at("native.vxm");
        let whole = || WholeFile::prepare(&native).unwrap();
        let weighted = read_weighted(at(source), &()).unwrap();
        match &weighted {
            Weighted::None(held) => write_as(whole(), FileFormat::Native, &held.graph, &held.numbering),
            Weighted::Integer(held) => write_as(whole(), FileFormat::Native, &held.graph, &held.numbering),
            Weighted::Real(held) => write_as(whole(), FileFormat::Native, &held.graph, &held.numbering),
        }
        .unwrap();
        let (one, other) = (read(at(source), &()).unwrap(), read(&native, &()).unwrap());
        assert_eq!((&one.graph, &one.numbering), (&other.graph, &other.numbering), "{source}");
        assert_eq!((other.format, other.name.as_str()), (Some(FileFormat::Native), "native"));
        let (one, other) = (read_digraph(at(source), &()).unwrap(), read_digraph(&native, &()).unwrap());
        assert_eq!((one.graph, one.numbering), (other.graph, other.numbering), "{source}");
        match (weighted, read_weighted(&native, &()).unwrap()) {
            (Weighted::None(one), Weighted::None(other)) => assert_eq!(one.graph, other.graph),
            (Weighted::Integer(one), Weighted::Integer(other)) => assert_eq!(one.graph, other.graph),
            (Weighted::Real(one), Weighted::Real(other)) => assert_eq!(one.graph, other.graph),
            (one, other) => panic!("{source}: {one:?} became {other:?}"),
        }
    }
    // weights that are left out are told
    let told = read(at("native.vxm"), &()).unwrap().report.to_string();
    assert!(told.ends_with("weights: 2 values ignored"), "{told}");
    // a matrix with a diagonal loses it as a graph
    write(folder.path(), "loops.vxm", &read_matrix::<i8>(at("one_way.mtx"), &()).unwrap(), &Numbering::From(1));
    let (one, other) = (read_digraph(at("one_way.mtx"), &()).unwrap(), read_digraph(at("loops.vxm"), &()).unwrap());
    assert_eq!((one.graph, one.report.loops), (other.graph, other.report.loops));
    // a rectangular one is no graph
    write(folder.path(), "wide.vxm", &sample(), &Numbering::From(0));
    let told = read(at("wide.vxm"), &()).unwrap_err().to_string();
    assert!(told.ends_with("wide.vxm: expected as many rows as columns (7) of a graph, found 5"), "{told}");
}

#[test]
fn the_mark_goes_before_the_name() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = write(folder.path(), "m.vxm", &sample(), &Numbering::From(0));
    let odd = folder.path().join("m.txt");
    std::fs::write(&odd, &bytes).unwrap();
    assert_eq!(FileFormat::of_file(&odd).unwrap(), FileFormat::Native);
    assert_eq!(read_matrix::<u32>(&odd, &()).unwrap(), sample());
    assert_eq!(read_matrix_as::<u32>(&odd, FileFormat::Native, &()).unwrap(), sample());
    std::fs::write(&odd, "1 2\n").unwrap();
    let told = read_as(&odd, FileFormat::Native, &()).unwrap_err().to_string();
    assert!(told.contains("m.txt: byte 0: expected the mark of a vxm file, [89, 56, "), "{told}");
}

/// Writes `graph` in a format and reads it back.
fn through<T: Value>(format: FileFormat, name: &str, matrix: &Csr<T>, numbering: &Numbering) -> (Csr<T>, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let dropped = write_as(WholeFile::prepare(&path).unwrap(), format, matrix, numbering).unwrap();
    (read_matrix_as(&path, format, &()).unwrap(), dropped.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig { source_file: None, ..ProptestConfig::with_cases(32) })]

    #[test]
    fn other_formats_hold_the_same(floats in raw(any::<f64>()), whole in raw(any::<i32>()), raw in raw(0u32..9)) {
        for (format, name) in [(FileFormat::MatrixMarket, "m.mtx"), (FileFormat::Npz, "m.npz")] {
            let matrix = build(floats.clone());
            prop_assert_eq!(bits(&through(format, name, &matrix, &Numbering::From(0)).0), bits(&matrix));
            let matrix = build(whole.clone());
            prop_assert_eq!(&through(format, name, &matrix, &Numbering::From(0)).0, &matrix);
        }
        let zipped = build(whole);
        prop_assert_eq!(&through(FileFormat::MatrixMarket, "m.mtx.gz", &zipped, &Numbering::From(0)).0, &zipped);
        // undirected, with weights and without self-loops
        let (rows, _, entries, _) = raw;
        let entries: Vec<_> = entries.into_iter().filter(|(i, j, _)| i % rows != j % rows).collect();
        let graph = build((rows, rows, entries, true));
        let (back, told) = through(FileFormat::Metis, "m.graph", &graph, &Numbering::From(0));
        prop_assert_eq!(&back, &graph);
        prop_assert_eq!(told, "renumbered: vertices are numbered from 1");
        let pattern = Csr::try_new(
            rows as usize, rows as usize, graph.offsets().to_vec(), graph.columns().to_vec(), vec![(); graph.nnz()],
        ).unwrap();
        prop_assert_eq!(&through(FileFormat::Metis, "m.graph", &pattern, &Numbering::From(1)).0, &pattern);
    }

    #[test]
    fn edge_lists_hold_the_edges(raw in raw(0u32..9), first in 0u64..1 << 60) {
        let (rows, columns, entries, mirrored) = raw;
        let graph = build((rows, rows.max(columns), entries, mirrored));
        prop_assume!(graph.nrows() == graph.ncols() && graph.nnz() > 0);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.el");
        let labels = Numbering::Listed((0..graph.nrows() as u64).map(|v| first + v * v).collect());
        let dropped = write_as(WholeFile::prepare(&path).unwrap(), FileFormat::Edges, &graph, &labels).unwrap();
        let back = read_as(&path, FileFormat::Edges, &()).unwrap();
        prop_assert_eq!(back.graph.nrows() as u64 + dropped.isolated, graph.nrows() as u64);
        for row in 0..graph.nrows() {
            for &column in graph.row(row).0 {
                let vertex = |v: usize| back.numbering.vertex(labels.number(v as u32), back.graph.nrows()).unwrap();
                let (one, other) = (vertex(row), vertex(column as usize));
                prop_assert!(one == other || back.graph.get(one as usize, other as usize).is_some());
            }
        }
    }
}

#[test]
fn what_a_format_can_not_hold_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let told = |format, matrix: &Csr<f64>| {
        let whole = WholeFile::prepare(folder.path().join("out")).unwrap();
        let error = write_as(whole, format, matrix, &Numbering::From(0)).unwrap_err().to_string();
        assert!(!folder.path().join("out").exists());
        error.split_once("out: ").unwrap().1.to_owned()
    };
    let directed = Csr::try_new(2, 2, vec![0, 1, 1], vec![1], vec![0.5]).unwrap();
    let undirected = Csr::try_new(2, 2, vec![0, 1, 2], vec![1, 0], vec![0.5; 2]).unwrap();
    let wide = Csr::try_new(1, 2, vec![0, 1], vec![1], vec![0.5]).unwrap();
    let metis = "expected an undirected graph without self-loops for METIS' format, found a directed one";
    assert_eq!(told(FileFormat::Metis, &directed), metis);
    assert_eq!(told(FileFormat::Metis, &undirected), "expected integer weights for METIS' format, found f64");
    assert_eq!(told(FileFormat::Edges, &wide), "expected a square matrix for an edge list, found 1 x 2");
    assert_eq!(
        told(FileFormat::Gap, &directed),
        "expected a format that is written: vxm, matrix-market, edges, metis, parquet, arrow, npz, found sg"
    );
}
