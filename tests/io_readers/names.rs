//! Edge lists with names instead of numbers.

use crate::writers::put;
use std::path::Path;
use vxm::io::{
    FileFormat, Loaded, NativeFile, Numbering, Verify, VertexNames, WholeFile, read, read_as, read_digraph,
    read_digraph_as, read_matrix_as, write_as, write_native,
};

fn names(loaded: &Loaded) -> Vec<String> {
    (0..loaded.graph.nrows() as u32).map(|v| loaded.numbering.label(v).to_string()).collect()
}

/// The edges with their ends' names, in both directions.
fn edges(loaded: &Loaded) -> Vec<(String, String)> {
    let label = |v: u32| loaded.numbering.label(v).to_string();
    (0..loaded.graph.nrows())
        .flat_map(|row| loaded.graph.row(row).0.iter().map(move |&column| (label(row as u32), label(column))))
        .collect()
}

fn parsed(folder: &Path, text: &str) -> Loaded {
    read_as(put(folder, "f", text), FileFormat::Names, &()).unwrap()
}

#[test]
fn columns_are_separated_by_tabs_commas_or_blanks() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let loaded = parsed(folder, "# who knows whom\nAnn Lee\tBob\r\n Bob \t Zoé\t3.5\nZoé\tZoé\n\nBob\tAnn Lee");
    assert_eq!(names(&loaded), ["Ann Lee", "Bob", "Zoé"]);
    assert_eq!((loaded.graph.nnz() / 2, loaded.report.loops, loaded.report.weights), (2, 1, 1));
    assert_eq!(loaded.report.one_way, Some(1));
    assert_eq!((loaded.numbering.find("Bob", 3), loaded.numbering.find("bob", 3)), (Some(1), None));
    assert_eq!(loaded.format, Some(FileFormat::Names));
    // names with blanks and tabs, and ones that are numbers: "10" is before "9"
    assert_eq!(names(&parsed(folder, "New York, Rome\nRome , 9,10\n10,9,10\n")), ["10", "9", "New York", "Rome"]);
    assert_eq!(names(&parsed(folder, "a b\nb,c a 1 2\n")), ["a", "b", "b,c"]);
    assert_eq!(names(&parsed(folder, "%\n")), [""; 0]);
    let arrows = read_digraph_as(put(folder, "g", "b a\nb c\nb a\n"), FileFormat::Names, &()).unwrap();
    let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    assert_eq!((edges(&arrows), arrows.report.duplicates), (vec![pair("b", "a"), pair("b", "c")], 1));
}

#[test]
fn what_is_no_name_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (text, told) in [
        (&b"a b\nc\n"[..], "f:2:2: expected a name, found the end of the line"),
        (b"a\tb\n\tc\n", "f:2:3: expected a name, found the end of the line"),
        (b"a,b\nc,,1\n", "f:2:3: expected a name, found `,1`"),
        (b"a b c\n", "f:1:5: expected a number or the end of the line, found `c`"),
        (b"a,b,weight\na,b,1\n", "f:1:5: expected a number or the end of the line, found `weight`"),
        (b"\"a\",b\n", "f:1:1: expected a name without quotes, found `"),
        (b"a b\nc \xff\n", "f:2:3: expected a name in UTF-8, found `"),
    ] {
        let error = read_as(put(folder, "f", text), FileFormat::Names, &()).unwrap_err().to_string();
        let told = format!("{}/{told}", folder.display());
        assert!(error.starts_with(&told), "{error}, expected {told}");
    }
    let error = read_matrix_as::<f32>(put(folder, "f", "a b\n"), FileFormat::Names, &()).unwrap_err().to_string();
    assert!(error.contains("expected a matrix: "), "{error}");
    // a list of names that isn't asked for
    let error = read(put(folder, "f", "x y\n"), &()).unwrap_err().to_string();
    assert!(error.contains("expected a vertex number from 0 to 2^64 - 1 (--input names reads names)"), "{error}");
}

#[test]
fn names_are_kept_in_native_files_and_edge_lists() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let loaded = parsed(folder, "x y\ty\ny\tÅsa\nÅsa\t7\n");
    let native = folder.join("g.vxm");
    write_native(WholeFile::prepare(&native).unwrap(), &loaded.graph, &loaded.numbering).unwrap();
    let again = read(&native, &()).unwrap();
    assert_eq!((&again.graph, &again.numbering), (&loaded.graph, &loaded.numbering));
    assert_eq!(read_digraph(&native, &()).unwrap().numbering, loaded.numbering);
    let list = folder.join("g.el");
    write_as(WholeFile::prepare(&list).unwrap(), FileFormat::Edges, &loaded.graph, &loaded.numbering).unwrap();
    let again = read_as(&list, FileFormat::Names, &()).unwrap();
    assert_eq!((&again.graph, &again.numbering), (&loaded.graph, &loaded.numbering));
    // each damaged byte of the names is found, also without checksums where they aren't names any more
    let bytes = std::fs::read(&native).unwrap();
    let place = bytes.windows(3).rposition(|some| some == b"x y").unwrap();
    for (at, byte) in [(place, b'z'), (place + 1, 0xff), (place - 16, 9), (place - 40, 1)] {
        let mut damaged = bytes.clone();
        damaged[at] = byte;
        let file = NativeFile::open(put(folder, "d.vxm", &damaged)).unwrap();
        for verify in [Verify::All, Verify::Invariants] {
            let error = file.matrix::<()>(verify, &()).unwrap_err().to_string();
            assert!(error.contains("labels") || error.contains(": expected "), "{error}");
        }
    }
    // what an edge list can't keep, and what is no name
    for name in ["# a", "%", "\"q", " a", "a\u{a0}"] {
        let names = Numbering::Named(VertexNames::of([name, "zz", "zzz", "zzzz"]).unwrap());
        let written = write_as(WholeFile::prepare(&list).unwrap(), FileFormat::Edges, &loaded.graph, &names);
        match name {
            "a\u{a0}" => assert!(written.is_ok()),
            _ => assert!(written.unwrap_err().to_string().contains(&format!("for an edge list, found `{name}`"))),
        }
    }
    assert!(["", "a\tb", "a\nb", "\0"].iter().all(|name| VertexNames::of([*name]).is_none()));
    let error = read_as(put(folder, "f", "a\u{1}b c\n"), FileFormat::Names, &()).unwrap_err().to_string();
    assert!(error.contains("f:1:1: expected a name without control characters"), "{error}");
    // as many names as rows
    let few = Numbering::Named(VertexNames::of(["a"]).unwrap());
    let whole = WholeFile::prepare(folder.join("few.vxm")).unwrap();
    let error = write_native(whole, &loaded.graph, &few).unwrap_err().to_string();
    assert!(error.ends_with("expected 4 names, found 1"), "{error}");
}
