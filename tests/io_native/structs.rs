//! Values that are structs: native files hold their fields, and other formats complex numbers.

use crate::hand::{Header, PAGE, seal};
use crate::round_trips::{build, raw, survives};
use crate::{read_back, write};
use half::{bf16, f16};
use proptest::prelude::*;
use std::path::Path;
use vxm::formats::Csr;
use vxm::io::{
    FileFormat, NativeFile, Numbering, Value, WholeFile, read, read_digraph, read_matrix, read_matrix_as,
    read_weighted, write_as,
};
use vxm::semiring::laws::Sample;
use vxm::semiring::scalar;

#[scalar]
struct Hop {
    cost: u32,
    parent: u32,
}

/// The same fields, wider.
#[scalar]
struct LongHop {
    cost: u64,
    parent: i64,
}

#[scalar]
struct Mixed {
    seen: bool,
    r#type: u8,
    share: f16,
}

#[scalar]
struct Way {
    length: f64,
    edges: u32,
    level: i16,
    open: bool,
    lanes: i8,
}

#[scalar]
struct Meters {
    length: f32,
}

#[scalar]
struct Complex {
    re: f64,
    im: f64,
}

#[scalar]
struct Half {
    re: f32,
    im: f32,
}

#[scalar]
struct Tiny {
    re: bf16,
    im: bf16,
}

/// An edge from 0 to 1, and back if `back` is a value.
fn edge<T: Value>(value: T, back: Option<T>) -> Csr<T> {
    let values: Vec<T> = [Some(value), back].into_iter().flatten().collect();
    let columns = [1, 0][..values.len()].to_vec();
    Csr::try_new(2, 2, vec![0, 1, values.len() as u64], columns, values).unwrap()
}

fn put(folder: &Path, name: &str, text: impl AsRef<[u8]>) -> std::path::PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn told<T>(result: vxm::Result<T>) -> String {
    let line = result.err().expect("an error").to_string();
    // without the folder
    line.split_once('/')
        .map_or(line.clone(), |(_, rest)| rest.rsplit_once('/').map_or(rest, |(_, rest)| rest).to_owned())
}

#[test]
fn structs_of_every_kind_survive() {
    survives(Hop::strategy(), "{cost: u32, parent: u32}");
    survives(LongHop::strategy(), "{cost: u64, parent: i64}");
    survives(Mixed::strategy(), "{seen: bool, type: u8, share: f16}");
    survives(Way::strategy(), "{length: f64, edges: u32, level: i16, open: bool, lanes: i8}");
    survives(Tiny::strategy(), "{re: bf16, im: bf16}");
    // a struct of one field is a number
    survives(Meters::strategy(), "f32");
    survives(f16::strategy(), "f16");
    survives(bf16::strategy(), "bf16");
}

#[test]
fn fields_are_converted_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.vxm");
    write(folder.path(), "m.vxm", &edge(Hop { cost: 7, parent: 9 }, None), &Numbering::From(0));
    assert_eq!(read_matrix::<LongHop>(&path, &()).unwrap(), edge(LongHop { cost: 7, parent: 9 }, None));
    write(folder.path(), "m.vxm", &edge(LongHop { cost: 7, parent: -1 }, None), &Numbering::From(0));
    assert_eq!(
        told(read_matrix::<Hop>(&path, &())),
        format!("m.vxm: byte {}: expected a value of type Hop {{cost: u32, parent: u32}}, found 7", 4 * PAGE)
    );
    let other = "m.vxm: expected values of type Complex {re: f64, im: f64}, found {cost: u64, parent: i64}";
    assert_eq!(told(read_matrix::<Complex>(&path, &())), other);
    assert_eq!(
        told(read_matrix::<u64>(&path, &())),
        "m.vxm: expected values of type u64, found {cost: u64, parent: i64}"
    );
    assert_eq!(told(read_weighted(&path, &())), "m.vxm: expected numbers as weights, found {cost: u64, parent: i64}");
    // their pattern is a graph
    assert_eq!(read_matrix::<()>(&path, &()).unwrap(), edge((), None));
    assert_eq!(read(&path, &()).unwrap().graph, edge((), Some(())));
    assert_eq!(read_digraph(&path, &()).unwrap().report.weights, 1);
    for (matrix, found) in [(edge(3u16, None), "u16"), (edge(3, None), "u16")] {
        write(folder.path(), "m.vxm", &matrix, &Numbering::From(0));
        let expected = format!("m.vxm: expected values of type Hop {{cost: u32, parent: u32}}, found {found}");
        assert_eq!(told(read_matrix::<Hop>(&path, &())), expected);
        assert_eq!(read_matrix::<Meters>(&path, &()).unwrap(), edge(Meters { length: 3.0 }, None));
    }
}

#[test]
fn the_header_lists_fields() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = write(
        folder.path(),
        "m.vxm",
        &edge(Mixed { seen: true, r#type: 5, share: f16::ONE }, None),
        &Numbering::From(0),
    );
    let mut by_hand =
        Header { version: 3, ..Header::new(14, 4 | 2, 2, 2, 1, 4) }.file(&[0, 1, 1], &[1], &[1, 5, 0, 0x3c], &[]);
    let fields = b"\x03\0\0\0\x01\x04seen\x06\x04type\x0c\x05share";
    by_hand[112..112 + fields.len()].copy_from_slice(fields);
    seal(&mut by_hand);
    assert_eq!(bytes, by_hand);
    // forged fields
    let with = |at: usize, new: &[u8]| {
        let mut forged = by_hand.clone();
        forged[at..at + new.len()].copy_from_slice(new);
        seal(&mut forged);
        let path = put(folder.path(), "forged.vxm", &forged);
        assert_eq!(told(read_back::<Mixed>(&path)), told(read(&path, &())));
        told(read_back::<Mixed>(&path)).replace("forged.vxm: ", "")
    };
    assert_eq!(with(112, &[1]), "byte 112: expected 2 to 16 fields of a struct, found 1");
    assert_eq!(with(112, &[17]), "byte 112: expected 2 to 16 fields of a struct, found 17");
    assert_eq!(with(116, &[0]), "byte 116: expected the type of a field, from 1 to 13, found 0");
    assert_eq!(with(116, &[14]), "byte 116: expected the type of a field, from 1 to 13, found 14");
    assert_eq!(with(116, &[8]), "byte 128: expected fields without padding between them, found f16");
    assert_eq!(with(128, &[6]), "byte 116: expected fields of 2, 4, 8 or 16 bytes, found 3");
    assert_eq!(with(117, &[0]), "byte 118: expected the name of another field, found ``");
    assert_eq!(with(118, b"type"), "byte 124: expected the name of another field, found `type`");
    assert_eq!(with(118, b"a\nbc"), "byte 118: expected the name of another field, found `a\\nbc`");
    assert_eq!(with(122, &[7]), "byte 122: expected fields without padding between them, found u16");
    assert_eq!(with(112 + fields.len(), &[1]), format!("byte {}: expected 0, found 1", 112 + fields.len()));
    assert_eq!(with(12, &[2]), "byte 16: expected an element type from 0 to 11, found 14");
    assert_eq!(with(16, &[15]), "byte 16: expected an element type from 0 to 14, found 15");
    let mut forged = by_hand.clone();
    forged[4 * PAGE] = 2;
    seal(&mut forged);
    let path = put(folder.path(), "forged.vxm", &forged);
    let expected = format!("forged.vxm: byte {}: expected a truth value, 0 or 1, found 2", 4 * PAGE);
    assert_eq!(told(read_back::<Mixed>(&path)), expected);
}

proptest! {
    #![proptest_config(ProptestConfig { source_file: None, ..ProptestConfig::with_cases(100) })]

    /// Any bytes behind the list of fields, sealed.
    #[test]
    fn forged_fields_do_not_make_the_process_fall(places in prop::collection::vec((0usize..64, 0u8..20), 1..5)) {
        let folder = tempfile::tempdir().unwrap();
        let way = Way { length: 0.5, edges: 3, level: -1, open: true, lanes: 2 };
        let mut bytes = write(folder.path(), "m.vxm", &edge(way, Some(way)), &Numbering::From(0));
        places.into_iter().for_each(|(at, byte)| bytes[112 + at] = byte);
        seal(&mut bytes);
        let path = put(folder.path(), "m.vxm", &bytes);
        if let Ok(file) = NativeFile::open(&path) {
            let _ = (file.check_symmetry(&()), read_back::<Way>(&path), read_back::<u8>(&path));
            let _ = (read(&path, &()), read_weighted(&path, &()));
        }
    }

    #[test]
    fn complex_numbers_survive(wide in raw(Complex::strategy()), narrow in raw(Half::strategy()), tiny in raw(Tiny::strategy())) {
        for (format, name) in [(FileFormat::MatrixMarket, "m.mtx"), (FileFormat::Npz, "m.npz")] {
            let matrix = build(wide.clone());
            prop_assert_eq!(bits(&through(format, name, &matrix)), bits(&matrix));
            let matrix = build(narrow.clone());
            prop_assert_eq!(bits(&through(format, name, &matrix)), bits(&matrix));
        }
        let matrix = build(tiny);
        prop_assert_eq!(bits(&through(FileFormat::MatrixMarket, "m.mtx", &matrix)), bits(&matrix));
    }
}

fn bits<T: Value>(matrix: &Csr<T>) -> Vec<(usize, u128)> {
    (0..matrix.nrows()).flat_map(|row| matrix.row(row).1.iter().map(move |value| (row, value.wide_bits()))).collect()
}

fn through<T: Value>(format: FileFormat, name: &str, matrix: &Csr<T>) -> Csr<T> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    write_as(WholeFile::prepare(&path).unwrap(), format, matrix, &Numbering::From(0)).unwrap();
    read_matrix_as(&path, format, &()).unwrap()
}

#[test]
fn complex_files_are_read_by_their_symmetry() {
    let folder = tempfile::tempdir().unwrap();
    let market = |symmetry: &str, lines: &str| {
        let text = format!("%%MatrixMarket matrix coordinate complex {symmetry}\n2 2 1\n{lines}\n");
        put(folder.path(), "m.mtx", text)
    };
    let value = Complex { re: 1.5, im: -2.0 };
    for (symmetry, mirrored) in [
        ("general", None),
        ("symmetric", Some(value)),
        ("skew-symmetric", Some(Complex { re: -1.5, im: 2.0 })),
        ("hermitian", Some(Complex { re: 1.5, im: 2.0 })),
    ] {
        let path = market(symmetry, "2 1 1.5 -2");
        let expected: Vec<_> =
            [(0, 1, mirrored), (1, 0, Some(value))].into_iter().filter_map(|(i, j, x)| Some((i, j, x?))).collect();
        let found = read_matrix::<Complex>(&path, &()).unwrap();
        let entries: Vec<_> =
            [(0, 1), (1, 0)].into_iter().filter_map(|(i, j)| Some((i, j, found.get(i, j)?))).collect();
        assert_eq!(entries, expected, "{symmetry}");
        assert_eq!(read(&path, &()).unwrap().graph, edge((), Some(())), "{symmetry}");
        assert_eq!(read_digraph(&path, &()).unwrap().graph.nnz(), expected.len());
    }
    let path = market("hermitian", "2 2 1 0.5");
    let real = "m.mtx:3:5: expected a real number on the diagonal of a hermitian matrix, found `1`";
    assert_eq!(told(read_matrix::<Complex>(&path, &())), real);
    assert_eq!(read_matrix::<Complex>(market("hermitian", "2 2 1 -0"), &()).unwrap().nnz(), 1);
    let path = market("general", "2 1 1.5");
    let expected = "m.mtx:3:5: expected two numbers of a value of type Complex {re: f64, im: f64}, found `1.5`";
    assert_eq!(told(read_matrix::<Complex>(&path, &())), expected);
    assert_eq!(told(read(&path, &())), "m.mtx:3:5: expected two numbers, the parts of a complex one, found `1.5`");
    let path = market("general", "2 1 1.5 2 3");
    assert_eq!(told(read_matrix::<Complex>(&path, &())), "m.mtx:3:11: expected the end of the line, found `3`");
    let numbers = "m.mtx:1:34: expected `pattern`, `integer` or `real`";
    assert_eq!(told(read_matrix::<f64>(&path, &())), format!("{numbers} for values of type f64, found `complex`"));
    assert_eq!(told(read_weighted(&path, &())), format!("{numbers} of a graph with weights, found `complex`"));
    let path = put(folder.path(), "r.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n");
    let expected = "r.mtx:1:34: expected `complex` for values of type Half {re: f32, im: f32}, found `real`";
    assert_eq!(told(read_matrix::<Half>(&path, &())), expected);
    assert_eq!(
        told(read_matrix::<Hop>(&path, &())),
        "r.mtx: expected vxm for values of type Hop {cost: u32, parent: u32}, found matrix-market"
    );
    let path = put(folder.path(), "a.gr", "p sp 2 1\na 1 2 3\n");
    assert_eq!(
        told(read_matrix::<Half>(&path, &())),
        "a.gr: expected matrix-market, npz or vxm for values of type Half {re: f32, im: f32}, found gr"
    );
}

#[test]
fn arrays_of_complex_numbers_are_told_from_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.npz");
    let whole = || WholeFile::prepare(&path).unwrap();
    let value = Half { re: 0.5, im: -1.0 };
    write_as(whole(), FileFormat::Npz, &edge(value, None), &Numbering::From(0)).unwrap();
    assert_eq!(read_matrix::<Complex>(&path, &()).unwrap(), edge(Complex { re: 0.5, im: -1.0 }, None));
    assert_eq!(read(&path, &()).unwrap().graph, edge((), Some(())));
    let line = "m.npz: data.npy: byte 0: expected integers, floats or bool";
    assert_eq!(told(read_matrix::<f64>(&path, &())), format!("{line} for values of type f64, found `<c8`"));
    assert_eq!(told(read_weighted(&path, &())), format!("{line} of a graph with weights, found `<c8`"));
    write_as(whole(), FileFormat::Npz, &edge(f16::ONE, None), &Numbering::From(0)).unwrap();
    assert_eq!(read_matrix::<f32>(&path, &()).unwrap(), edge(1.0, None));
    assert_eq!(
        told(read_matrix::<Half>(&path, &())),
        "m.npz: data.npy: byte 0: expected complex64 or complex128 for values of type Half {re: f32, im: f32}, found `<f2`"
    );
}

#[test]
fn fields_are_columns_of_an_edge_list() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.el");
    let hop = Hop { cost: 7, parent: 9 };
    write_as(WholeFile::prepare(&path).unwrap(), FileFormat::Edges, &edge(hop, None), &Numbering::From(3)).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "# directed edges with cost parent\n3 4 7 9\n");
    assert_eq!(read_digraph(&path, &()).unwrap().report.weights, 2);
}

#[test]
fn fields_are_columns_of_a_table() {
    use vxm::io::{Columns, ReadAs, Weighted, read_weighted_as};
    let folder = tempfile::tempdir().unwrap();
    let way = Way { length: 0.5, edges: 3, level: -1, open: true, lanes: 2 };
    for format in [FileFormat::Parquet, FileFormat::Arrow] {
        let path = folder.path().join("m");
        write_as(WholeFile::prepare(&path).unwrap(), format, &edge(way, None), &Numbering::From(0)).unwrap();
        let column = |name: &str| {
            let columns = Columns::new("source", "target").weighted(name);
            match read_weighted_as(&path, ReadAs::from(format).columns(&columns), &()).unwrap() {
                Weighted::Integer(loaded) => f64::from(loaded.graph.values()[0]),
                Weighted::Real(loaded) => loaded.graph.values()[0],
                Weighted::None(_) => panic!("no weights"),
            }
        };
        assert_eq!(["length", "edges", "open", "lanes"].map(column), [0.5, 3.0, 1.0, 2.0]);
        let tiny = Tiny { re: bf16::from_f32(-1.5), im: bf16::ONE };
        write_as(WholeFile::prepare(&path).unwrap(), format, &edge(tiny, None), &Numbering::From(0)).unwrap();
        assert_eq!(["re", "im"].map(column), [-1.5, 1.0]);
    }
}

#[test]
fn what_a_format_can_not_hold_is_refused() {
    #[scalar]
    struct Ends {
        source: u32,
        target: u32,
    }
    let folder = tempfile::tempdir().unwrap();
    let refused = |format| {
        let whole = WholeFile::prepare(folder.path().join("out")).unwrap();
        let ends = Ends { source: 1, target: 2 };
        told(write_as(whole, format, &edge(ends, Some(ends)), &Numbering::From(0)))
    };
    let found = "format, found Ends {source: u32, target: u32}";
    assert_eq!(
        refused(FileFormat::MatrixMarket),
        format!("out: expected numbers, or structs of two floats (complex numbers), for Matrix Market's {found}")
    );
    assert_eq!(
        refused(FileFormat::Npz),
        format!(
            "out: expected a type that NumPy has, or a struct of two `f32` or `f64` (complex numbers), for SciPy's {found}"
        )
    );
    assert_eq!(refused(FileFormat::Metis), format!("out: expected integer weights for METIS' {found}"));
    for table in [FileFormat::Parquet, FileFormat::Arrow] {
        let expected = "out: expected fields with other names than `source` and `target` for a table's";
        assert_eq!(refused(table), format!("{expected} {found}"));
    }
    assert!(!folder.path().join("out").exists());
}
