//! Tables of edges: files of Parquet and Arrow.

use crate::writers::{Sample, petersen, put};
use arrow_array::types::{Int32Type, UInt8Type};
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array,
    LargeStringArray, RecordBatch, StringArray, StringViewArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vxm::io::{
    FileFormat, Loaded, ReadAs, Weighted, WholeFile, read, read_as, read_digraph, read_digraph_as, read_matrix,
    read_weighted, read_weighted_as, write_as,
};

/// A table: its columns, with their names.
type Columns = Vec<(&'static str, ArrayRef)>;

fn table(columns: &Columns) -> RecordBatch {
    RecordBatch::try_from_iter(columns.clone()).unwrap()
}

/// A file of Parquet, with `rows` rows in a row group.
pub fn parquet(columns: &Columns, rows: usize, compression: Compression) -> Vec<u8> {
    let batch = table(columns);
    let properties =
        WriterProperties::builder().set_max_row_group_row_count(Some(rows)).set_compression(compression).build();
    let mut out = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    out.write(&batch).unwrap();
    out.into_inner().unwrap()
}

/// A file of Arrow, with `rows` rows in a batch.
pub fn arrow(columns: &Columns, rows: usize, compression: Option<arrow_ipc::CompressionType>) -> Vec<u8> {
    let batch = table(columns);
    let options = arrow_ipc::writer::IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let mut out = arrow_ipc::writer::FileWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
    for start in (0..batch.num_rows()).step_by(rows) {
        out.write(&batch.slice(start, rows.min(batch.num_rows() - start))).unwrap();
    }
    out.into_inner().unwrap()
}

impl Sample {
    /// The arcs as columns, with vertices numbered as in the sample and weights.
    pub fn columns(&self) -> Columns {
        let arcs = self.arcs();
        let from = UInt32Array::from_iter_values(arcs.iter().map(|arc| arc.0));
        let to = Int64Array::from_iter_values(arcs.iter().map(|arc| arc.1.into()));
        let weights = Int32Array::from_iter_values(arcs.iter().map(|arc| arc.2));
        vec![("source", Arc::new(from)), ("target", Arc::new(to)), ("weight", Arc::new(weights))]
    }
}

/// Both files of a table: in several parts, not compressed.
fn both(folder: &Path, name: &str, columns: &Columns) -> [PathBuf; 2] {
    let uncompressed = Compression::UNCOMPRESSED;
    [
        put(folder, &format!("{name}.parquet"), parquet(columns, 3, uncompressed)),
        put(folder, &format!("{name}.arrow"), arrow(columns, 3, None)),
    ]
}

fn labels(loaded: &Loaded) -> Vec<String> {
    (0..loaded.graph.nrows() as u32).map(|v| loaded.numbering.label(v).to_string()).collect()
}

/// Columns that may hold `numbers`.
fn integers(numbers: &[u8]) -> Vec<ArrayRef> {
    let signed = || numbers.iter().map(|&number| number as i8);
    vec![
        Arc::new(Int8Array::from_iter_values(signed())),
        Arc::new(Int16Array::from_iter_values(signed().map(Into::into))),
        Arc::new(Int32Array::from_iter_values(signed().map(Into::into))),
        Arc::new(Int64Array::from_iter_values(signed().map(Into::into))),
        Arc::new(UInt8Array::from_iter_values(numbers.iter().copied())),
        Arc::new(UInt16Array::from_iter_values(numbers.iter().map(|&number| number.into()))),
        Arc::new(UInt32Array::from_iter_values(numbers.iter().map(|&number| number.into()))),
        Arc::new(UInt64Array::from_iter_values(numbers.iter().map(|&number| number.into()))),
        Arc::new(
            DictionaryArray::<UInt8Type>::try_new(
                UInt8Array::from_iter_values(0..numbers.len() as u8),
                Arc::new(Int64Array::from_iter_values(numbers.iter().map(|&number| number.into()).chain([-1]))),
            )
            .unwrap(),
        ),
    ]
}

#[test]
fn integers_of_every_type_are_the_numbers_of_vertices() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (from, to) = ([3, 9, 3, 100, 9, 9, 0], [9, 3, 100, 3, 9, 100, 100]);
    let list: String = from.iter().zip(to).map(|(from, to)| format!("{from} {to}\n")).collect();
    let expected = read_as(put(folder, "list", list), FileFormat::Edges, &()).unwrap();
    let arrows = read_digraph_as(folder.join("list"), FileFormat::Edges, &()).unwrap();
    for (from, to) in integers(&from).into_iter().zip(integers(&to)) {
        let columns: Columns = vec![("weights", from.clone()), ("Source", from), ("TARGET", to)];
        for path in both(folder, "g", &columns) {
            let loaded = read(&path, &()).unwrap();
            assert_eq!((&loaded.graph, &loaded.numbering), (&expected.graph, &expected.numbering));
            assert_eq!((loaded.report, loaded.name.as_str()), (expected.report, "g"));
            assert_eq!(read_digraph(&path, &()).unwrap().graph, arrows.graph);
            assert!(matches!(read_weighted(&path, &()).unwrap(), Weighted::None(found) if found.graph == arrows.graph));
        }
    }
    let format = |name: &str| FileFormat::of_file(folder.join(name)).unwrap();
    assert_eq!((format("g.parquet"), format("g.arrow")), (FileFormat::Parquet, FileFormat::Arrow));
}

#[test]
fn numbers_of_64_bits_stay_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let ends = |numbers: [u64; 3]| Arc::new(UInt64Array::from_iter_values(numbers)) as ArrayRef;
    let columns: Columns = vec![("u", ends([u64::MAX, 5, 1 << 40])), ("v", ends([5, 1 << 40, 7]))];
    for path in both(folder.path(), "g", &columns) {
        let loaded = read(&path, &()).unwrap();
        assert_eq!(labels(&loaded), ["5", "7", "1099511627776", "18446744073709551615"]);
        assert_eq!(loaded.graph.columns(), [2, 3, 2, 0, 1, 0]);
    }
}

#[test]
fn text_of_every_type_is_the_names_of_vertices() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (from, to) = (["Bob", "Ann Lee", "Zoé", "a name of many bytes"], ["Ann Lee", "Bob", "Zoé", "Bob"]);
    let list: String = from.iter().zip(to).map(|(from, to)| format!("{from}\t{to}\n")).collect();
    let expected = read_as(put(folder, "list", list), FileFormat::Names, &()).unwrap();
    let of = |names: [&'static str; 4]| -> [ArrayRef; 4] {
        // the last name of a dictionary is in no row
        let dictionary = StringArray::from_iter_values(names.into_iter().chain(["nobody"]));
        [
            Arc::new(StringArray::from_iter_values(names)),
            Arc::new(LargeStringArray::from_iter_values(names)),
            Arc::new(StringViewArray::from_iter_values(names)),
            Arc::new(
                DictionaryArray::<Int32Type>::try_new(Int32Array::from_iter_values(0..4), Arc::new(dictionary))
                    .unwrap(),
            ),
        ]
    };
    for (from, to) in of(from).into_iter().zip(of(to)) {
        for path in both(folder, "g", &vec![("dst", to), ("src", from)]) {
            let loaded = read(&path, &()).unwrap();
            assert_eq!((&loaded.graph, &loaded.numbering), (&expected.graph, &expected.numbering));
            assert_eq!(loaded.report, expected.report);
        }
    }
}

#[test]
fn columns_of_weights_are_read_if_they_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let sample = Sample { one_way: true, ..petersen() };
    let Weighted::Integer(expected) = read_weighted(put(folder, "g.mtx", sample.matrix_market()), &()).unwrap() else {
        panic!("no integers")
    };
    let values = expected.graph.values();
    for path in both(folder, "g", &sample.columns()) {
        // the vertex without edges is in no row
        let Weighted::Integer(found) = read_weighted(&path, &()).unwrap() else { panic!("no integers") };
        assert_eq!((found.graph.values(), found.graph.columns()), (values, expected.graph.columns()));
        assert_eq!((read(&path, &()).unwrap().report.weights, found.report.weights), (16, 0));
        let error = read_matrix::<f32>(&path, &()).unwrap_err().to_string();
        assert!(error.contains("expected a matrix: "), "{error}");
    }
    let halves = || sample.arcs().into_iter().map(|arc| f64::from(arc.2) / 2.0);
    let weights: [ArrayRef; 2] = [
        Arc::new(Float64Array::from_iter_values(halves())),
        Arc::new(Float32Array::from_iter_values(halves().map(|weight| weight as f32))),
    ];
    for weights in weights {
        let mut columns = sample.columns();
        columns[2] = ("Weight", weights);
        for path in both(folder, "real", &columns) {
            let Weighted::Real(found) = read_weighted(&path, &()).unwrap() else { panic!("no real numbers") };
            let expected: Vec<f64> = values.iter().map(|&weight| f64::from(weight) / 2.0).collect();
            assert_eq!(found.graph.values(), expected);
        }
    }
}

#[test]
fn columns_may_be_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let ends = |numbers: [i64; 2]| Arc::new(Int64Array::from_iter_values(numbers)) as ArrayRef;
    let text = Arc::new(StringArray::from_iter_values(["x", "y"])) as ArrayRef;
    let columns: Columns = vec![
        ("id", text.clone()),
        ("source", text.clone()),
        ("target", text),
        ("a", ends([1, 2])),
        ("b,c", ends([3, 1])),
    ];
    let columns = [columns, vec![("km", ends([7, 9])), ("weight", ends([5, 5]))]].concat();
    for path in both(folder, "g", &columns) {
        let asked = vxm::io::Columns::new("b,c", "a");
        let loaded = read_digraph_as(&path, ReadAs::default().columns(&asked), &()).unwrap();
        assert_eq!((labels(&loaded), loaded.graph.columns()), (vec!["1".into(), "2".into(), "3".into()], &[1, 0][..]));
        assert_eq!(loaded.report.weights, 0);
        let weighted = asked.clone().weighted("km");
        let found = read_weighted_as(&path, ReadAs::default().columns(&weighted), &()).unwrap();
        let Weighted::Integer(found) = found else { panic!("no integers") };
        assert_eq!(found.graph.values(), [9, 7]);
        let told = |columns: &vxm::io::Columns| {
            let error = read_as(&path, ReadAs::default().columns(columns), &()).unwrap_err().to_string();
            error.strip_prefix(&format!("{}: ", path.display())).unwrap().to_owned()
        };
        let missing = vxm::io::Columns::new("a", "A");
        assert!(told(&missing).starts_with("expected one column called A; found columns: id (text), source"));
        assert!(told(&vxm::io::Columns::new("a", "a")).starts_with("expected different columns, not one twice"));
        let bad = asked.weighted("id");
        assert!(told(&bad).starts_with("expected integers or real numbers in the column id; found columns: "));
    }
    let columns = vxm::io::Columns::new("a", "b");
    let list = put(folder, "list", "1 2\n");
    let error = read_as(&list, ReadAs::from(FileFormat::Edges).columns(&columns), &()).unwrap_err().to_string();
    let expected = "list: expected different numbers of columns from 1 on, such as 1,2,3, of an edge list, found `a,b`";
    assert!(error.ends_with(expected), "{error}");
    let market = put(folder, "m.mtx", "%%MatrixMarket matrix coordinate pattern general\n1 1 0\n");
    let error = read_as(&market, ReadAs::default().columns(&columns), &()).unwrap_err().to_string();
    let expected = "expected an edge list or a table (edges, names, parquet, arrow), of which columns are asked for, found matrix-market";
    assert!(error.ends_with(expected), "{error}");
}

#[test]
fn compressed_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let columns = petersen().columns();
    let expected = read(put(folder, "g", parquet(&columns, 100, Compression::UNCOMPRESSED)), &()).unwrap().graph;
    let zstd = Compression::ZSTD(ZstdLevel::default());
    for compression in [Compression::SNAPPY, zstd, Compression::LZ4_RAW, Compression::GZIP(Default::default())] {
        let path = put(folder, "g", parquet(&columns, 5, compression));
        assert_eq!(read(path, &()).unwrap().graph, expected, "{compression}");
    }
    for compression in [arrow_ipc::CompressionType::LZ4_FRAME, arrow_ipc::CompressionType::ZSTD] {
        let path = put(folder, "g", arrow(&columns, 5, Some(compression)));
        assert_eq!(read(path, &()).unwrap().graph, expected, "{compression:?}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_row() {
    let folder = tempfile::tempdir().unwrap();
    let numbers = |numbers: [Option<i64>; 4]| Arc::new(Int64Array::from_iter(numbers)) as ArrayRef;
    let sound = || numbers([Some(1), Some(2), Some(3), Some(4)]);
    let text = |last: &'static str| Arc::new(StringArray::from_iter_values(["a", "b", "c", last])) as ArrayRef;
    let real = Arc::new(Float64Array::from_iter_values([1.0, 2.0, 3.0, 4.0])) as ArrayRef;
    let truth = Arc::new(BooleanArray::from(vec![true; 4])) as ArrayRef;
    let cases: Vec<(Columns, &str)> = vec![
        (
            vec![("a", sound()), ("b", sound()), ("c", text("d"))],
            "expected two columns of vertices, called source and target, src and dst, from and to, or u and v, or --edge-columns FROM,TO; \
             found columns: a (Int64), b (Int64), c (text)",
        ),
        (
            vec![("source", sound()), ("target", sound()), ("u", sound()), ("v", sound())],
            "expected two columns of vert",
        ),
        (vec![("source", sound()), ("Source", sound()), ("target", sound())], "expected two columns of vertices"),
        (vec![("source", sound())], "expected two columns of vertices"),
        (
            vec![("from", sound()), ("to", text("d"))],
            "expected integers or text, the same in both of from and to; found columns: from (Int64), to (text)",
        ),
        (vec![("from", real.clone()), ("to", real.clone())], "expected integers or text, the same in both of from"),
        (
            vec![("u", sound()), ("v", numbers([Some(1), Some(2), Some(3), None]))],
            "row 4, column v: expected a vertex number from 0 to 2^64 - 1, found null",
        ),
        (
            vec![("u", numbers([Some(1), Some(2), Some(3), Some(-4)])), ("v", sound())],
            "row 4, column u: expected a vertex number from 0 to 2^64 - 1, found a negative one",
        ),
        (
            vec![("u", text("a\tb")), ("v", text("d"))],
            "row 4, column u: expected a name that isn't empty and has no control characters, found `a\\tb`",
        ),
        (vec![("u", text("")), ("v", text("d"))], "row 4, column u: expected a name that isn't empty"),
    ];
    let told = |path: &Path, read: &dyn Fn(&Path) -> String| {
        let error = read(path);
        error.strip_prefix(&format!("{}: ", path.display())).unwrap_or_else(|| panic!("{error}")).to_owned()
    };
    for (columns, expected) in cases {
        for path in both(folder.path(), "f", &columns) {
            let found = told(&path, &|path| read(path, &()).unwrap_err().to_string());
            assert!(found.starts_with(expected), "{found}, expected {expected}");
        }
    }
    // a column of another kind holds no weights
    for path in both(folder.path(), "f", &vec![("u", sound()), ("weight", truth), ("v", sound())]) {
        assert!(matches!(read_weighted(&path, &()).unwrap(), Weighted::None(_)));
    }
    let weighted = |weights: ArrayRef| -> Columns { vec![("u", sound()), ("v", sound()), ("weight", weights)] };
    let large = numbers([Some(1), Some(2), Some(3), Some(1 << 32)]);
    for (weights, expected) in [
        (large, "row 4, column weight: expected a weight from 0 to 4294967295, found 4294967296"),
        (
            numbers([Some(1), Some(2), Some(-3), Some(1)]),
            "row 3, column weight: expected a weight from 0 to 4294967295, found a negative one",
        ),
        (numbers([Some(1), None, Some(3), Some(1)]), "row 2, column weight: expected a weight, found null"),
    ] {
        for path in both(folder.path(), "f", &weighted(weights.clone())) {
            assert_eq!(told(&path, &|path| read_weighted(path, &()).unwrap_err().to_string()), expected);
        }
    }
    let twice: Columns = vec![
        ("u", numbers([Some(1), Some(7), Some(1), Some(4)])),
        ("v", numbers([Some(7), Some(1), Some(7), Some(5)])),
        ("weight", sound()),
    ];
    for path in both(folder.path(), "f", &twice) {
        let found = told(&path, &|path| read_weighted(path, &()).unwrap_err().to_string());
        assert_eq!(found, "row 3 repeats the edge 1 -> 7 of row 1");
    }
    // compressed as a whole
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, &arrow(&twice, 9, None)).unwrap();
    let error = read(put(folder.path(), "f.gz", encoder.finish().unwrap()), &()).unwrap_err().to_string();
    assert!(error.ends_with("expected an uncompressed file, because the format is binary, found a stream"), "{error}");
}

#[test]
fn a_damaged_file_is_refused_or_read() {
    let folder = tempfile::tempdir().unwrap();
    let names = |names: [&'static str; 3]| Arc::new(StringArray::from_iter_values(names)) as ArrayRef;
    let columns: Columns = vec![("u", names(["a", "b", "c"])), ("v", names(["b", "c", "d"]))];
    let check = |bytes: &[u8], format: FileFormat| {
        let path = put(folder.path(), "f", bytes);
        match read_as(&path, format, &()) {
            Ok(loaded) => assert!(loaded.graph.is_symmetric()),
            Err(error) => {
                let error = error.to_string();
                assert!(error.starts_with(&format!("{}: ", path.display())) && !error.contains('\n'), "{error}");
            }
        }
    };
    for (format, bytes) in [
        (FileFormat::Parquet, parquet(&columns, 2, Compression::SNAPPY)),
        (FileFormat::Arrow, arrow(&columns, 2, Some(arrow_ipc::CompressionType::LZ4_FRAME))),
    ] {
        for end in 0..bytes.len() {
            let path = put(folder.path(), "f", &bytes[..end]);
            assert!(read_as(&path, format, &()).is_err(), "{format}: {end} bytes of {}", bytes.len());
        }
        for place in 0..bytes.len() {
            for flip in [1, 0x80, 0xff] {
                let mut bytes = bytes.clone();
                bytes[place] ^= flip;
                check(&bytes, format);
            }
        }
    }
}

#[test]
fn what_is_written_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let sample = Sample { one_way: true, ..petersen() };
    let path = put(folder, "g.parquet", parquet(&sample.columns(), 7, Compression::SNAPPY));
    let Weighted::Integer(loaded) = read_weighted(&path, &()).unwrap() else { panic!("no integers") };
    let names = put(folder, "names", "Ann Lee\tBob\nBob\tZoé\n");
    let named = read_as(names, FileFormat::Names, &()).unwrap();
    for (format, name) in [(FileFormat::Parquet, "w.parquet"), (FileFormat::Arrow, "w.feather")] {
        let path = folder.join(name);
        assert_eq!(FileFormat::of_name(&path), Some(format));
        let whole = || WholeFile::prepare(&path).unwrap();
        let written = write_as(whole(), format, &loaded.graph, &loaded.numbering).unwrap();
        assert_eq!((written.symmetric, written.isolated, written.renumbered), (false, 0, None));
        let Weighted::Integer(again) = read_weighted(&path, &()).unwrap() else { panic!("no integers") };
        assert_eq!((&again.graph, &again.numbering), (&loaded.graph, &loaded.numbering));
        // vertices without edges are lost
        let graph = vxm::formats::Coo::from_triples(5, 5, [(1, 4, ()), (4, 1, ()), (4, 4, ())]).unwrap();
        let graph = graph.to_csr(vxm::formats::Refuse).unwrap();
        let written = write_as(whole(), format, &graph, &vxm::io::Numbering::From(7)).unwrap();
        assert_eq!((written.symmetric, written.isolated), (true, 3));
        let again = read_digraph(&path, &()).unwrap();
        assert_eq!((again.report.entries, again.report.loops, labels(&again)), (3, 1, vec!["8".into(), "11".into()]));
        write_as(whole(), format, &named.graph, &named.numbering).unwrap();
        let again = read(&path, &()).unwrap();
        assert_eq!((&again.graph, &again.numbering), (&named.graph, &named.numbering));
        let halves =
            vxm::formats::Coo::from_triples(2, 2, [(0, 1, 0.5f32)]).unwrap().to_csr(vxm::formats::Refuse).unwrap();
        write_as(whole(), format, &halves, &vxm::io::Numbering::From(0)).unwrap();
        let Weighted::Real(again) = read_weighted(&path, &()).unwrap() else { panic!("no real numbers") };
        assert_eq!(again.graph.values(), [0.5]);
        // of no entries
        let none = vxm::formats::Coo::<()>::new(3, 3).unwrap().to_csr(vxm::formats::Refuse).unwrap();
        write_as(whole(), format, &none, &vxm::io::Numbering::From(0)).unwrap();
        assert_eq!(read(&path, &()).unwrap().graph.nrows(), 0);
        let wide = vxm::formats::Coo::<()>::new(3, 4).unwrap().to_csr(vxm::formats::Refuse).unwrap();
        let error = write_as(whole(), format, &wide, &vxm::io::Numbering::From(0)).unwrap_err().to_string();
        assert!(error.ends_with("expected a square matrix for a table of edges, found 3 x 4"), "{error}");
    }
}
