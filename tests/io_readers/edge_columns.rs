//! Weights of edge lists: the column is chosen, or the third of a file called `.wel`.

use crate::writers::put;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use vxm::Result;
use vxm::io::{Columns, FileFormat, ReadAs, Weighted, read, read_as, read_digraph_as, read_weighted, read_weighted_as};

/// An edge by what the file calls its ends, and its weight.
type Edge = (String, String, f64);

/// The weighted edges of a file, by what it calls their ends, or the error behind its name.
fn edges(path: &Path, columns: Option<&str>, format: FileFormat) -> Result<(&'static str, Vec<Edge>), String> {
    let columns = columns.map(|columns| columns.parse::<Columns>().unwrap());
    let input = columns.as_ref().map_or(ReadAs::from(format), |columns| ReadAs::from(format).columns(columns));
    let found = read_weighted_as(path, input, &()).map_err(|error| {
        let line = error.to_string();
        line.split_once(path.file_name().unwrap().to_str().unwrap()).unwrap().1.to_owned()
    })?;
    let told = |numbering: &vxm::io::Numbering, entries: Vec<(usize, usize, f64)>| {
        let label = |vertex: usize| numbering.label(vertex as u32).to_string();
        let mut edges: Vec<_> = entries.into_iter().map(|(i, j, w)| (label(i), label(j), w)).collect();
        edges.sort_by(|one, other| one.partial_cmp(other).unwrap());
        edges
    };
    fn entries<T: vxm::semiring::Element + Into<f64>>(csr: &vxm::formats::Csr<T>) -> Vec<(usize, usize, f64)> {
        let row = |i: usize| {
            let (columns, values) = csr.row(i);
            columns.iter().zip(values).map(move |(&j, &w)| (i, j as usize, w.into())).collect::<Vec<_>>()
        };
        (0..csr.nrows()).flat_map(row).collect()
    }
    Ok(match found {
        Weighted::None(loaded) => {
            let rows = (0..loaded.graph.nrows())
                .flat_map(|i| loaded.graph.row(i).0.iter().map(move |&j| (i, j as usize, 1.0)));
            ("none", told(&loaded.numbering, rows.collect()))
        }
        Weighted::Integer(loaded) => ("integers", told(&loaded.numbering, entries(&loaded.graph))),
        Weighted::Real(loaded) => ("reals", told(&loaded.numbering, entries(&loaded.graph))),
    })
}

fn edge(from: &str, to: &str, weight: f64) -> Edge {
    (from.to_owned(), to.to_owned(), weight)
}

#[test]
fn columns_are_chosen_by_number() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // the first line would fit as a header of sizes, and the second column isn't a number
    let path = put(folder, "list", "# id who from to length\n4 x 7 9 2\n5 y 9 5000000000 30\n6 - 7 7 1\n");
    let expected = vec![edge("7", "9", 2.0), edge("9", "5000000000", 30.0)];
    assert_eq!(edges(&path, Some("3,4,5"), FileFormat::Edges), Ok(("integers", expected.clone())));
    let turned = expected.iter().map(|(from, to, _)| edge(to, from, 1.0)).rev().collect::<Vec<_>>();
    let (kind, mut found) = edges(&path, Some("4,3"), FileFormat::Edges).unwrap();
    found.sort_by(|one, other| turned.iter().position(|t| t == one).cmp(&turned.iter().position(|t| t == other)));
    assert_eq!((kind, found), ("none", turned));
    let columns = Columns::new("3", "4").weighted("5");
    let input = ReadAs::default().columns(&columns);
    assert_eq!(read_as(&path, input, &()).unwrap().graph.nnz(), 4);
    let loaded = read_digraph_as(&path, input, &()).unwrap();
    assert_eq!((loaded.graph.nnz(), loaded.report.loops, loaded.report.weights), (2, 1, 0));
    // a real number makes all of them real
    let path = put(folder, "list", "1 2 3\n2 3 0.5\n3 1 4\n");
    let expected = vec![edge("1", "2", 3.0), edge("2", "3", 0.5), edge("3", "1", 4.0)];
    assert_eq!(edges(&path, Some("1,2,3"), FileFormat::Edges), Ok(("reals", expected)));
    for (weight, kind) in
        [("4294967295", "integers"), ("4294967296", "reals"), ("-1", "reals"), ("1.0", "reals"), ("1e3", "reals")]
    {
        let path = put(folder, "list", format!("1 2 {weight}\n"));
        let expected = vec![edge("1", "2", weight.parse().unwrap())];
        assert_eq!(edges(&path, Some("1,2,3"), FileFormat::Edges), Ok((kind, expected)), "{weight}");
    }
}

#[test]
fn a_file_called_wel_has_weights() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let path = put(folder, "a.wel", "1 2 3\n2 3 5\n");
    let expected = vec![edge("1", "2", 3.0), edge("2", "3", 5.0)];
    assert_eq!(edges(&path, None, FileFormat::Edges), Ok(("integers", expected)));
    assert!(matches!(read_weighted(&path, &()).unwrap(), Weighted::Integer(_)));
    assert_eq!(read(&path, &()).unwrap().report.weights, 2);
    let list = put(folder, "a.el", "1 2 3\n2 3 5\n");
    assert!(matches!(read_weighted(&list, &()).unwrap(), Weighted::None(_)));
    for text in ["1 2\n2 3\n", "1 2 3 4\n"] {
        let path = put(folder, "b.wel", text);
        assert!(matches!(read_weighted(&path, &()).unwrap(), Weighted::None(_)), "{text:?}");
    }
    let path = put(folder, "b.wel", "1 2 3\n2 3\n");
    let expected = ":2:4: expected 3 columns, as on line 1 (--input metis reads METIS), found the end of the line";
    assert_eq!(read_weighted(&path, &()).unwrap_err().to_string().split_once("b.wel").unwrap().1, expected);
    // weights are kept by what is written, in both directions
    let source = put(folder, "m.mtx", "%%MatrixMarket matrix coordinate integer symmetric\n3 3 2\n2 1 7\n3 2 4\n");
    let Weighted::Integer(loaded) = read_weighted(&source, &()).unwrap() else { panic!("no integers") };
    let target = folder.join("m.wel");
    let whole = vxm::io::WholeFile::prepare(&target).unwrap();
    vxm::io::write_as(whole, FileFormat::Edges, &loaded.graph, &loaded.numbering).unwrap();
    let Weighted::Integer(again) = read_weighted(&target, &()).unwrap() else { panic!("no integers") };
    assert_eq!((again.graph, again.numbering), (loaded.graph, loaded.numbering));
}

#[test]
fn names_have_weights() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let path = put(
        folder,
        "flows",
        "when,who,whom,sum\u{20ac}\n".replace("when", "#when") + "1,Ann Lee,Bob,2\n2,Bob, Cem ,3.5\n",
    );
    let expected = vec![edge("Ann Lee", "Bob", 2.0), edge("Bob", "Cem", 3.5)];
    assert_eq!(edges(&path, Some("2,3,4"), FileFormat::Names), Ok(("reals", expected)));
    let path = put(folder, "flows", "a b\t1\tx\nb\tc d\n".replace('\n', "\t9\n"));
    // a tab separates, so a blank belongs to a name
    assert_eq!(
        edges(&path, Some("1,2,3"), FileFormat::Names),
        Err(":1:7: expected a weight, a number, found `x`".into())
    );
    let path = put(folder, "flows", "a b 4\nb c 5\n");
    let expected = vec![edge("a", "b", 4.0), edge("b", "c", 5.0)];
    assert_eq!(edges(&path, Some("1,2,3"), FileFormat::Names), Ok(("integers", expected)));
    assert_eq!(
        edges(&path, Some("1,4,3"), FileFormat::Names),
        Err(":1:6: expected column 4, a name, found the end of the line".into())
    );
    assert_eq!(edges(&path, None, FileFormat::Names).unwrap().0, "none");
}

#[test]
fn empty_columns_and_returns_count() {
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "list", "note\tA\tB\t5\n\tB\t7\t3\t1\n \tC\tD\t2\n");
    let expected = vec![edge("A", "B", 5.0), edge("B", "7", 3.0), edge("C", "D", 2.0)];
    assert_eq!(edges(&path, Some("2,3,4"), FileFormat::Names), Ok(("integers", expected)));
    let path = put(folder.path(), "list", ",B,C,4\n");
    assert_eq!(edges(&path, Some("2,3,4"), FileFormat::Names), Ok(("integers", vec![edge("B", "C", 4.0)])));
    let told =
        |text: &str, columns, format| edges(&put(folder.path(), "list", text), Some(columns), format).unwrap_err();
    let returned = "expected a line feed after the carriage return, found ";
    assert!(told("A,B,x\rC,D,y\r", "1,2", FileFormat::Names).contains(returned));
    assert!(told("A B 5 x\rB C 7 y\r", "1,2,3", FileFormat::Names).contains(returned));
    assert!(told("1 2 5 x\r2 3 7 y\r", "1,2,3", FileFormat::Edges).contains(returned));
    assert_eq!(
        told("1,\"x, y\",A,B\n", "3,4", FileFormat::Names),
        ":1:3: expected a column without quotes, found `\"x,`"
    );
}

#[test]
fn bad_columns_and_weights_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "list", "1 2 3\n2 3 x\n");
    let told = |columns| edges(&path, Some(columns), FileFormat::Edges).unwrap_err();
    assert_eq!(told("1,2,3"), ":2:5: expected a weight, a number, found `x`");
    assert_eq!(told("1,3"), ":2:5: expected a vertex number from 0 to 2^64 - 1 (--input names reads names), found `x`");
    assert_eq!(told("1,2,4"), ":1:6: expected a weight in column 4, found the end of the line");
    assert_eq!(told("4,1"), ":1:6: expected column 4, a vertex number, found the end of the line");
    for columns in ["0,1", "1,1", "1,2,2", "a,b", "1,2,-3", "1,99999999999999999999"] {
        let expected = "expected different numbers of columns from 1 on, such as 1,2,3, of an edge list";
        assert_eq!(told(columns), format!(": {expected}, found `{columns}`"));
    }
    let path = put(folder.path(), "list", "1 2 3\n2 3 4\n1 2 5\n");
    let found = edges(&path, Some("1,2,3"), FileFormat::Edges).unwrap_err();
    assert_eq!(found, ": entry 3 repeats row 1, column 2 of entry 1");
}

proptest! {
    #![proptest_config(ProptestConfig { source_file: None, ..ProptestConfig::with_cases(64) })]

    /// Lines of shuffled columns, with comments and blanks between them.
    #[test]
    fn any_order_of_columns_is_read(
        list in prop::collection::btree_map((0u64..50, 0u64..50), (0u32..1000, any::<bool>()), 0..60),
        order in Just(["from", "to", "weight", "other"]).prop_shuffle(),
        (halves, gzipped) in (any::<bool>(), any::<bool>()),
    ) {
        let list: BTreeMap<_, _> = list.into_iter().filter(|((from, to), _)| from != to).collect();
        let weight = |of: u32| if halves { f64::from(of) + 0.5 } else { f64::from(of) };
        let mut text = "% a comment\n".to_owned();
        for (&(from, to), &(of, odd)) in &list {
            for (place, column) in order.into_iter().enumerate() {
                let blank = if place == 0 { "" } else if odd { "\t " } else { " " };
                match column {
                    "from" => write!(text, "{blank}{from}"),
                    "to" => write!(text, "{blank}{to}"),
                    "weight" => write!(text, "{blank}{}", weight(of)),
                    _ => write!(text, "{blank}?{of}"),
                }.unwrap();
            }
            text += if odd { " \r\n\n" } else { "\n" };
        }
        let mut bytes = text.into_bytes();
        if gzipped {
            let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            std::io::Write::write_all(&mut zipped, &bytes).unwrap();
            bytes = zipped.finish().unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let path = put(folder.path(), "list", bytes);
        let place = |name| 1 + order.iter().position(|&column| column == name).unwrap();
        let columns = format!("{},{},{}", place("from"), place("to"), place("weight"));
        if !list.is_empty() {
            let (kind, found) = edges(&path, Some(&columns), FileFormat::Edges).unwrap();
            let mut expected: Vec<_> = list.iter().map(|(&(from, to), &(of, _))| edge(&from.to_string(), &to.to_string(), weight(of))).collect();
            expected.sort_by(|one, other| one.partial_cmp(other).unwrap());
            prop_assert_eq!((kind, found), (if halves { "reals" } else { "integers" }, expected));
        }
    }
}
