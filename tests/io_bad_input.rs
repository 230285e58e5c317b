//! Errors in files are reported in one line: where, what was expected, what was found.

use half::{bf16, f16};
use std::io::Write;
use std::path::{Path, PathBuf};
use vxm::io::{Weighted, read, read_matrix, read_weighted};

const PATTERN: &str = "%%MatrixMarket matrix coordinate pattern symmetric\n";
const REAL: &str = "%%MatrixMarket matrix coordinate real general\n";
const INTEGER: &str = "%%MatrixMarket matrix coordinate integer general\n";

fn put(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    zipped.write_all(bytes).unwrap();
    zipped.finish().unwrap()
}

/// The error of reading `path` as a graph, without the folder.
fn told(path: &Path) -> String {
    let error = read(path, &()).unwrap_err().to_string();
    assert!(!error.contains('\n'), "{error}");
    error.replace(&format!("{}/", path.parent().unwrap().display()), "")
}

#[test]
fn faults_are_told_where_they_stand() {
    let folder = tempfile::tempdir().unwrap();
    let kinds =
        "a graph: Matrix Market, DIMACS, METIS, GraphML, an edge list, Parquet, Arrow, SciPy's .npz, .egr, .sg or .vxm";
    for (name, text, message) in [
        // empty files
        ("e.mtx", String::new(), format!("e.mtx:1:1: expected {kinds}, found the end of the file")),
        ("e.txt", " \n\n".into(), format!("e.txt:3:1: expected {kinds}, found the end of the file")),
        // errors in the header
        ("a.mtx", "3 3 1\n1 2\n".into(), "a.mtx:1:1: expected `%%MatrixMarket`, found `3`".into()),
        (
            "b.mtx",
            "%%MatrixMarkt matrix\n".into(),
            "b.mtx:1:1: expected `%%MatrixMarket`, found `%%MatrixMarkt`".into(),
        ),
        (
            "c.mtx",
            "%%MatrixMarket matrix\n".into(),
            "c.mtx:1:22: expected `coordinate`, found the end of the line".into(),
        ),
        (
            "d.mtx",
            PATTERN.replace("pattern", "quaternion"),
            "d.mtx:1:34: expected `pattern` or `integer` or `real` or `double` or `complex`, found `quaternion`".into(),
        ),
        ("f.mtx", PATTERN.into(), "f.mtx:2:1: expected the number of rows, found the end of the file".into()),
        ("g.mtx", format!("{PATTERN}% c\n3 x 1\n"), "g.mtx:3:3: expected the number of columns, found `x`".into()),
        (
            "h.mtx",
            format!("{PATTERN}3 3\n"),
            "h.mtx:2:4: expected the number of entries, found the end of the line".into(),
        ),
        (
            "i.mtx",
            format!("{PATTERN}3 4 1\n"),
            "i.mtx:2:1: expected as many rows as columns (4) of a symmetric matrix, found `3`".into(),
        ),
        (
            "j.mtx",
            format!("{REAL}3 4 1\n"),
            "j.mtx:2:1: expected as many rows as columns (4) of a graph, found `3`".into(),
        ),
        ("k.mtx", format!("{PATTERN}3 3 1 1\n"), "k.mtx:2:7: expected the end of the line, found `1`".into()),
        // counts that differ from the entries
        ("l.mtx", format!("{PATTERN}3 3 2\n2 1\n"), "l.mtx:2:5: expected 2 entries (as stated here), found 1".into()),
        (
            "m.mtx",
            format!("{PATTERN}3 3 1\n2 1\n3 1\n"),
            "m.mtx:2:5: expected 1 entry (as stated here), found 2".into(),
        ),
        (
            "n.mtx",
            format!("{PATTERN}3 3 18446744073709551615\n2 1\n"),
            "n.mtx:2:5: expected 18446744073709551615 entries (as stated here), found 1".into(),
        ),
        // impossible sizes
        (
            "o.mtx",
            format!("{PATTERN}4294967296 4294967296 1\n2 1\n"),
            "o.mtx:2:1: expected at most 4294967295 vertices, found 4294967296".into(),
        ),
        (
            "p.mtx",
            format!("{PATTERN}99999999999999999999 1 1\n2 1\n"),
            "p.mtx:2:1: expected the number of rows, found `99999999999999999999`".into(),
        ),
        // errors in entries
        ("q.mtx", format!("{PATTERN}3 3 2\n2 1\n0 1\n"), "q.mtx:4:1: expected a row from 1 to 3, found `0`".into()),
        ("r.mtx", format!("{PATTERN}3 3 1\r\n2 4\r\n"), "r.mtx:3:3: expected a column from 1 to 3, found `4`".into()),
        (
            "s.mtx",
            format!("{PATTERN}3 3 1\n2\n"),
            "s.mtx:3:2: expected a column from 1 to 3, found the end of the line".into(),
        ),
        ("t.mtx", format!("{PATTERN}3 3 1\n-2 1\n"), "t.mtx:3:1: expected a row from 1 to 3, found `-2`".into()),
        ("u.mtx", format!("{PATTERN}3 3 1\n2 1 9\n"), "u.mtx:3:5: expected the end of the line, found `9`".into()),
        ("v.mtx", format!("{PATTERN}3 3 1\n2 one"), "v.mtx:3:3: expected a column from 1 to 3, found `one`".into()),
        ("w.mtx", format!("{REAL}3 3 1\n2 1 pi\n"), "w.mtx:3:5: expected a number, found `pi`".into()),
        ("x.mtx", format!("{INTEGER}3 3 1\n2 1 1.5\n"), "x.mtx:3:5: expected an integer, found `1.5`".into()),
        ("y.mtx", format!("{PATTERN}0 0 1\n1 1\n"), "y.mtx:3:1: expected a row from 1 to 0, found `1`".into()),
        // DIMACS
        (
            "a.col",
            "c nothing\n".into(),
            "a.col:2:1: expected `p edge VERTICES EDGES`, found the end of the file".into(),
        ),
        ("b.col", "e 1 2\np edge 2 1\n".into(), "b.col:1:1: expected `p edge VERTICES EDGES`, found `e`".into()),
        (
            "c.col",
            "p cnf 2 1\n".into(),
            "c.col:1:3: expected `edge` or `col`, or `sp` of a shortest path instance, found `cnf`".into(),
        ),
        ("d.col", "p edge 2 1\ne 1 3\n".into(), "d.col:2:5: expected a vertex from 1 to 2, found `3`".into()),
        ("e.col", "p edge 9 9\ne 1 2\ne 2 3\n".into(), "e.col:1:10: expected 9 edges (as stated here), found 2".into()),
        (
            "f.col",
            "p edge 2 1\np edge 2 1\n".into(),
            "f.col:2:1: expected an edge `e I J` or a comment `c ...`, found `p`".into(),
        ),
        (
            "g.col",
            "p edge 4294967296 0\n".into(),
            "g.col:1:8: expected at most 4294967295 vertices, found 4294967296".into(),
        ),
        ("h.col", "p edge 2 1\nn 3 1\n".into(), "h.col:2:3: expected a vertex from 1 to 2, found `3`".into()),
        ("i.col", "p edge 2 1\nn 2 x\n".into(), "i.col:2:5: expected a vertex' weight, found `x`".into()),
        ("j.col", "p edge 2 1\nn 2 1 1\n".into(), "j.col:2:7: expected the end of the line, found `1`".into()),
        // SNAP edge lists
        (
            "a.txt",
            "# c\n1 2\n3\n".into(),
            "a.txt:3:2: expected a vertex number from 0 to 2^64 - 1, found the end of the line".into(),
        ),
        ("b.txt", "1,2\n".into(), "b.txt:1:1: expected a vertex number from 0 to 2^64 - 1, found `1,2`".into()),
        ("c.txt", "1 2 x\n".into(), "c.txt:1:5: expected a number or the end of the line, found `x`".into()),
        (
            "d.txt",
            "1 18446744073709551616\n".into(),
            "d.txt:1:3: expected a vertex number from 0 to 2^64 - 1, found `18446744073709551616`".into(),
        ),
        (
            "e.txt",
            "5000000000 1\nx\n".into(),
            "e.txt:2:1: expected a vertex number from 0 to 2^64 - 1 (--input names reads names), found `x`".into(),
        ),
        // invisible characters are escaped
        (
            "f.txt",
            "1 2\n\u{feff}3 4\n".into(),
            "f.txt:2:1: expected a vertex number from 0 to 2^64 - 1, found `\\u{feff}3`".into(),
        ),
        ("g.txt", "\u{feff}".into(), format!("g.txt:1:1: expected {kinds}, found the end of the file")),
    ] {
        assert_eq!(told(&put(folder.path(), name, text.as_bytes())), message);
        // the same text in a gzip stream gives the same error
        let zipped = put(folder.path(), &format!("{name}.gz"), &gzip(text.as_bytes()));
        assert_eq!(told(&zipped), message.replace(name, &format!("{name}.gz")));
    }
}

#[test]
fn bytes_that_are_no_text() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let binary = [b"\x7fELF\x02\x01\x00\xff".as_slice(), &[0xfe; 5000]].concat();
    let shown = told(&put(folder, "binary", &binary));
    assert!(
        shown.starts_with("binary:1:1: expected a graph: ") && shown.ends_with(", found an ELF program"),
        "{shown}"
    );
    // bytes that text may have, but not here
    let shown = told(&put(folder, "bytes", &[0xfe; 5000]));
    assert!(shown.starts_with(r"bytes:1:1: expected a vertex number from 0 to 2^64 - 1, found `\xfe"), "{shown}");
    assert!(shown.len() < 300, "{shown}");
    let latin = [PATTERN.as_bytes(), b"3 3 1\n2 \xe9\n"].concat();
    let message = r"latin.mtx:3:3: expected a column from 1 to 3, found `\xe9`";
    assert_eq!(told(&put(folder, "latin.mtx", &latin)), message);
    // comments may contain any byte: older files name their authors in Latin-1
    let author = [PATTERN.as_bytes(), b"% Andr\xe9\n2 2 1\n2 1\n"].concat();
    let file = put(folder, "author.mtx", &author).display().to_string();
    assert_eq!(read(&file, &()).unwrap().graph.nnz(), 2);
}

#[test]
fn what_is_no_fault() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, vertices) in [
        // a byte order mark, as some editors write it
        ("b.mtx", format!("\u{feff}{PATTERN}3 3 1\n2 1\n"), 3),
        ("b.col", "\u{feff}c a mark\np edge 2 1\ne 1 2\n".into(), 2),
        ("b.txt", "\u{feff}1 2\n".into(), 2),
        // vertex weights
        ("n.col", "p col 3 1\nn 1 5\nn 2 -1.5\ne 1 2\nn 3 0\n".into(), 3),
        // an edge list without edges
        ("c.txt", "# Nodes: 0 Edges: 0\n# FromNodeId ToNodeId\n".into(), 0),
    ] {
        let plain = put(folder.path(), name, text.as_bytes());
        let zipped = put(folder.path(), &format!("{name}.gz"), &gzip(text.as_bytes()));
        for path in [plain, zipped] {
            let loaded = read(&path, &()).unwrap();
            assert_eq!((loaded.graph.nrows(), loaded.graph.nnz()), (vertices, vertices.min(2)), "{}", path.display());
        }
    }
}

#[test]
fn places_that_are_no_files() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(told(&folder.path().join("none.mtx")), "none.mtx: No such file or directory (os error 2)");
    std::fs::create_dir(folder.path().join("inner")).unwrap();
    assert_eq!(told(&folder.path().join("inner")), "inner: is a directory");
}

#[test]
fn broken_gzip_streams() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let entries: String = (1..100_000).map(|v| format!("{} {v}\n", v + 1)).collect();
    let whole = gzip(format!("{PATTERN}100000 100000 99999\n{entries}").as_bytes());
    let half = told(&put(folder, "half.mtx.gz", &whole[..whole.len() / 2]));
    assert!(half.starts_with("half.mtx.gz:"), "{half}");
    assert!(half.ends_with(": expected the rest of the gzip stream, found its end"), "{half}");
    // without its checksum, a stream is incomplete, even if the text is complete
    let bare = told(&put(folder, "bare.mtx.gz", &whole[..whole.len() - 8]));
    assert_eq!(bare, "bare.mtx.gz:100002:1: expected the rest of the gzip stream, found its end");
    let head = told(&put(folder, "head.mtx.gz", &whole[..12]));
    assert_eq!(head, "head.mtx.gz:1:2: expected the rest of the gzip stream, found its end");
    // members may follow each other, and zeros may follow the last one; nothing else may
    let ends = gzip(format!("{PATTERN}3 3 2\n2 1\n").as_bytes());
    let members = [&ends[..], &gzip(b"3 1\n"), &[0; 700]].concat();
    assert_eq!(read(put(folder, "members.mtx.gz", &members), &()).unwrap().graph.nnz(), 4);
    for (more, found) in [(&b"<html>\n"[..], "<html>\\n"), (b"\0\0\xff", "\\xff")] {
        let trailing = told(&put(folder, "more.mtx.gz", &[&members[..], more].concat()));
        assert_eq!(trailing, format!("more.mtx.gz:5:1: expected nothing after the gzip stream, found `{found}`"));
    }
    let mut wrong = whole.clone();
    let middle = wrong.len() / 2;
    wrong[middle..middle + 64].fill(0xff);
    let wrong = told(&put(folder, "wrong.mtx.gz", &wrong));
    assert!(wrong.starts_with("wrong.mtx.gz:") && wrong.contains("expected "), "{wrong}");
}

#[test]
fn memory_is_not_claimed_for_claims() {
    let folder = tempfile::tempdir().unwrap();
    // a file may state 2^32 - 1 vertices; it is refused if the memory for them is not available
    let available = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = available.lines().find(|line| line.starts_with("MemAvailable"));
    let available = available.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    if available.is_some_and(|kibibytes| kibibytes < 96 << 20) {
        let text = format!("{PATTERN}4294967295 4294967295 1\n2 1\n");
        let shown = told(&put(folder.path(), "vast.mtx", text.as_bytes()));
        assert!(shown.starts_with("vast.mtx:2:1: needs 96.0 GiB of memory, "), "{shown}");
    } else {
        println!("skipped: 96 GiB are there");
    }
    // a few large vertex numbers do not make a large graph
    let far = put(folder.path(), "far.txt", b"0 4294967295\n7 18446744073709551615\n");
    let far = read(far, &()).unwrap();
    assert_eq!(far.graph.nrows(), 4);
    assert_eq!(far.numbering.number(3), u64::MAX);
}

#[test]
fn values_that_do_not_fit() {
    let folder = tempfile::tempdir().unwrap();
    let tell = |text: &str| {
        let path = put(folder.path(), "m.mtx", text.as_bytes()).display().to_string();
        let error = read_matrix::<i8>(&path, &()).unwrap_err().to_string();
        error.replace(&path, "m.mtx")
    };
    assert_eq!(tell(&format!("{INTEGER}1 1 1\n1 1 128\n")), "m.mtx:3:5: expected a value of type i8, found `128`");
    assert_eq!(tell(&format!("{INTEGER}2 2 2\n1 2 1\n1 2 1\n")), "m.mtx: entry 2 repeats row 1, column 2 of entry 1");
    let skew = INTEGER.replace("general", "skew-symmetric");
    assert_eq!(
        tell(&format!("{skew}2 2 1\n2 1 -128\n")),
        "m.mtx: i8 cannot hold the negative of -128 (skew-symmetric)"
    );
    assert_eq!(
        tell(&format!("{skew}2 2 2\n2 1 5\n2 2 -1\n")),
        "m.mtx:4:5: expected 0 on the diagonal of a skew-symmetric matrix, found `-1`"
    );
    let path = put(folder.path(), "skew.mtx", format!("{skew}2 2 2\n2 1 5\n2 2 0\n").as_bytes());
    assert_eq!(read_matrix::<i8>(&path, &()).unwrap().get(0, 1), Some(-5));
    let symmetric = INTEGER.replace("general", "symmetric");
    assert_eq!(
        tell(&format!("{symmetric}3 3 3\n2 1 5\n3 3 1\n1 2 5\n")),
        "m.mtx: entry 3: row 1, column 2: entry 1 already implies it: expected one of the two in a matrix with symmetry"
    );
}

#[test]
fn finite_text_does_not_become_infinite() {
    let folder = tempfile::tempdir().unwrap();
    let real = INTEGER.replace("integer", "real");
    let path = |word: &str| put(folder.path(), "m.mtx", format!("{real}1 1 1\n1 1 {word}\n").as_bytes());
    let narrow = |word: &str| read_matrix::<f32>(&path(word), &()).map(|a| a.values()[0]);
    let wide = |word: &str| read_matrix::<f64>(&path(word), &()).map(|a| a.values()[0]);
    assert_eq!((narrow("1e38").unwrap(), wide("1e308").unwrap()), (1e38, 1e308));
    assert_eq!((narrow("-inf").unwrap(), wide("Infinity").unwrap()), (f32::NEG_INFINITY, f64::INFINITY));
    let (error, wider) = (narrow("1e39").unwrap_err().to_string(), wide("-1e309").unwrap_err().to_string());
    assert!(error.ends_with("m.mtx:3:5: expected a value of type f32, found `1e39`"), "{error}");
    assert!(wider.ends_with("m.mtx:3:5: expected a value of type f64, found `-1e309`"), "{wider}");
    let (half, brain) = (read_matrix::<f16>(&path("1e400"), &()), read_matrix::<bf16>(&path("-1e400"), &()));
    assert!(half.is_err() && brain.is_err());
    let list = put(folder.path(), "g.wel", b"1 2 0.5\n2 3 1e400\n");
    let error = read_weighted(&list, &()).unwrap_err().to_string();
    assert!(error.ends_with("g.wel:2:5: expected a weight that 64 bits can hold, found `1e400`"), "{error}");
    let upper = put(folder.path(), "G.WEL", b"1 2 0.5\n");
    assert!(matches!(read_weighted(&upper, &()), Ok(Weighted::Real(_))));
}

#[test]
fn a_streams_header_may_stand_behind_comments() {
    let folder = tempfile::tempdir().unwrap();
    for (name, comment, header, rest) in [
        ("c.col", "c of a graph\n", "", "p edge 3 1\ne 1 2\n"),
        ("c.mtx", "% of a graph\n", PATTERN, "3 3 1\n2 1\n"),
        ("c.txt", "# of a graph\n", "", "1 2\n"),
    ] {
        // comments longer than one batch of a stream
        let text = format!("{header}{}{rest}", comment.repeat((9 << 20) / comment.len()));
        let plain = read(put(folder.path(), name, text.as_bytes()), &()).unwrap();
        let zipped = read(put(folder.path(), &format!("{name}.gz"), &gzip(text.as_bytes())), &()).unwrap();
        assert!(plain.graph == zipped.graph && plain.graph.nnz() == 2, "{name}");
    }
    // but the search for the header is bounded
    let text = "c of a graph\n".repeat((70 << 20) / 13);
    let line = told(&put(folder.path(), "long.col.gz", &gzip(text.as_bytes())));
    assert!(line.contains("expected `p edge VERTICES EDGES` within 64 MiB, found more comments"), "{line}");
    assert!(line.starts_with("long.col.gz:"), "{line}");
}

#[test]
fn a_carriage_return_alone_ends_no_line() {
    let folder = tempfile::tempdir().unwrap();
    let line = told(&put(folder.path(), "old.txt", b"1 2\r2 3\r3 4\r"));
    assert_eq!(line, "old.txt:1:5: expected a line feed after the carriage return, found `2`");
    assert_eq!(read(put(folder.path(), "dos.txt", b"1 2\r\n2 3\r\n"), &()).unwrap().graph.nnz(), 4);
    // nor a comment, which would swallow the edges behind it
    for (text, place) in [(&b"# old\r1 2\r2 3\r"[..], "1:7"), (b"1 2\n# old\r\r 1 2\n", "2:9")] {
        let line = told(&put(folder.path(), "old.txt", text));
        assert_eq!(line, format!("old.txt:{place}: expected a line feed after the carriage return, found `1`"));
    }
    let metis = told(&put(folder.path(), "old.graph", b"2 1\n% old\r2\n2\n1\n"));
    assert!(metis.starts_with("old.graph:2:7: expected a line feed after the carriage return, found `2`"), "{metis}");
    let market = told(&put(folder.path(), "old.mtx", format!("{PATTERN}% old\r3 3 1\n3 3 1\n1 2\n").as_bytes()));
    assert_eq!(market, "old.mtx:2:7: expected a line feed after the carriage return, found `3`");
    // one between the numbers of a line is no blank
    for (name, text) in [
        ("in.txt", "2 3\n3\r1\n"),
        ("in.mtx", &format!("{PATTERN}3 3 1\n3\r1\n")[..]),
        ("head.mtx", &format!("{PATTERN}3 3\r1\n3 1\n")[..]),
        ("value.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2\r3.5\n"),
        ("in.gr", "p sp 2 1\na 1 2\r7\n"),
        ("head.gr", "p sp 2\r1\na 1 2 7\n"),
        ("weight.graph", "2 1 1\n2\r5\n1 5\n"),
        ("in.graph", "3 2\n2 3\r 3\n1\n1\n"),
    ] {
        let line = told(&put(folder.path(), name, text.as_bytes()));
        assert!(line.contains("expected a line feed after the carriage return, found "), "{line}");
    }
    let comments = put(folder.path(), "dos.txt", b"# a\r\r\n1 2\r\n# b\r\n2 3\r\n");
    assert_eq!(read(comments, &()).unwrap().graph.nnz(), 4);
}
