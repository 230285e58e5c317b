//! Files that are no graphs, named by what they begin with.

/// What files of Parquet and of Arrow begin with.
pub(super) const PARQUET: &[u8] = b"PAR1";
pub(super) const ARROW: &[u8] = b"ARROW1\0\0";

/// The first bytes of binary formats, and what such a file is called.
const MARKS: [(&[u8], &str); 36] = [
    (b"\x7fELF", "an ELF program"),
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"RIFF", "a RIFF file"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"\x1f\x8b", "a gzip stream"),
    (b"\x28\xb5\x2f\xfd", "a zstd stream"),
    (b"\xfd7zXZ\0", "an xz stream"),
    (b"BZh", "a bzip2 stream"),
    (b"\x04\x22\x4d\x18", "an lz4 stream"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x1f\x9d", "a compress (.Z) stream"),
    (PARQUET, "a Parquet file"),
    (ARROW, "an Arrow file"),
    (b"PARE", "an encrypted Parquet file"),
    (b"FEA1", "a Feather file of version 1"),
    (b"\xff\xff\xff\xff", "a stream of Arrow, not a file"),
    (b"Obj\x01", "an Avro file"),
    (b"ORC", "an ORC file"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"CDF\x01", "a NetCDF file"),
    (b"\x93NUMPY", "a NumPy .npy array"),
    (b"MATLAB 5.0 MAT-file", "a MATLAB file"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\x80\x02", "a Python pickle"),
    (b"\x80\x03", "a Python pickle"),
    (b"\x80\x04", "a Python pickle"),
    (b"\x80\x05", "a Python pickle"),
    (b"\xca\xfe\xba\xbe", "a Java class or a Mach-O program"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O program"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
];

/// The first words of text formats that are not read, and what such a file is called.
const WORDS: [(&str, &str); 14] = [
    ("AdjacencyGraph", "a Ligra adjacency graph"),
    ("WeightedAdjacencyGraph", "a Ligra adjacency graph"),
    ("EdgeArray", "a PBBS edge array"),
    ("*Vertices", "a Pajek network"),
    ("*vertices", "a Pajek network"),
    ("*Network", "a Pajek network"),
    ("graph", "a DOT or GML graph"),
    ("digraph", "a DOT graph"),
    ("strict", "a DOT graph"),
    ("Creator", "a GML graph"),
    ("dl", "a UCINET DL file"),
    ("DL", "a UCINET DL file"),
    (">>graph6<<", "a graph6 file"),
    (">>sparse6<<", "a sparse6 file"),
];

/// How far into a file bytes are looked for that no text has.
const LOOKED_AT: usize = 1 << 12;

/// What a binary file is called; `None` if `head` may be text.
pub(super) fn binary(head: &[u8]) -> Option<&'static str> {
    let known = MARKS.iter().find(|(mark, _)| head.starts_with(mark));
    if let Some((_, name)) = known {
        return Some(name);
    }
    if head.get(257..262) == Some(b"ustar") {
        return Some("a tar archive");
    }
    let never_text = |&b: &u8| b < b' ' && !b"\t\n\r\x0b\x0c".contains(&b);
    head[..head.len().min(LOOKED_AT)].iter().any(never_text).then_some("binary data")
}

/// Whether `bytes` are a zip archive with a NumPy array as its first member.
pub(super) fn is_npz(bytes: &[u8]) -> bool {
    let word = |at: usize| Some(usize::from(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?)));
    let name = || bytes.get(30..30 + word(26)?);
    bytes.starts_with(b"PK\x03\x04") && name().is_some_and(|name| name.ends_with(b".npy"))
}

/// Whether `head` begins as GraphML does: as XML, with an element `graphml` soon.
pub(super) fn is_graphml(head: &[u8]) -> bool {
    let head = head[..head.len().min(LOOKED_AT)].trim_ascii_start();
    head.starts_with(b"<") && head.windows(8).any(|word| word == b"<graphml" || word == b":graphml")
}

/// What a text file of another kind is called, by its first word.
pub(super) fn foreign_text(first: &[u8]) -> Option<&'static str> {
    match first {
        [b'<', ..] => Some("XML or HTML"),
        [b'{', ..] | [b'[', ..] => Some("JSON"),
        _ => WORDS.iter().find(|(word, _)| word.as_bytes() == first).map(|&(_, name)| name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_told_from_text() {
        for (mark, name) in MARKS {
            assert_eq!(binary(mark), Some(name));
        }
        for text in [&b"1 2\r\n3\t4\n"[..], b"% Andr\xe9\n1 2\n", b"%%MatrixMarket", b"c a\np edge 1 0\n", b""] {
            assert_eq!(binary(text), None);
        }
        assert_eq!(binary(b"1 2\n\0"), Some("binary data"));
        assert_eq!(foreign_text(b"<?xml"), Some("XML or HTML"));
        assert!(
            is_graphml(b"\n<?xml version='1.0'?>\n<graphml>") && !is_graphml(b"<html>") && !is_graphml(b"1 2 <graphml")
        );
        assert_eq!(foreign_text(b"12"), None);
    }
}
