//! Text in zstd streams.

use crate::writers::{petersen, put};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use vxm::io::{FileFormat, read, read_as};

fn compress(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

#[test]
fn text_is_the_same_in_a_zstd_stream() {
    let folder = tempfile::tempdir().unwrap();
    let sample = petersen();
    for (name, text) in [
        ("p.mtx", sample.matrix_market()),
        ("p.col", sample.coloring()),
        ("p.gr", sample.shortest_paths()),
        ("p.graph", sample.metis("11", 2)),
        ("p.txt", sample.edge_list(true)),
    ] {
        let plain = read(put(folder.path(), name, &text), &()).unwrap();
        let packed = put(folder.path(), &format!("{name}.zst"), compress(text.as_bytes()));
        assert!(read(packed, &()).unwrap() == plain, "{name}");
        // several frames, one of them to be skipped, and a name that tells nothing of it
        let (one, other) = text.as_bytes().split_at(text.len() / 2);
        let skipped = [b"\x50\x2a\x4d\x18\x03\0\0\0".as_slice(), b"abc"].concat();
        let frames = [compress(one), skipped, compress(other)].concat();
        assert!(read(put(folder.path(), name, frames), &()).unwrap() == plain, "{name}");
    }
    // more than a batch of a stream
    let long: String = (0..1_000_000).map(|v| format!("{v} {}\n", v + 1)).collect();
    let loaded = read(put(folder.path(), "long.txt.zst", compress(long.as_bytes())), &()).unwrap();
    assert_eq!((loaded.graph.nrows(), loaded.graph.nnz()), (1_000_001, 2_000_000));
}

#[test]
fn damaged_zstd_streams_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let told = |bytes: &[u8]| {
        let path = put(folder.path(), "d.graph.zst", bytes);
        read_as(&path, FileFormat::Metis, &()).map_err(|error| {
            let line = error.to_string();
            assert!(!line.contains('\n') && line.contains("d.graph.zst:"), "{line}");
            line.replace(&format!("{}/", folder.path().display()), "")
        })
    };
    let text = petersen().metis("0", 1);
    let whole = compress(text.as_bytes());
    assert_eq!(told(&whole).unwrap().graph.nnz(), 32);
    for end in 4..whole.len() {
        let line = told(&whole[..end]).unwrap_err();
        assert!(line.ends_with("expected the rest of the zstd stream, found its end"), "{end}: {line}");
    }
    let line = told(&[&whole[..], b"<html>"].concat()).unwrap_err();
    assert!(line.ends_with("expected nothing after the zstd stream, found `<html>`"), "{line}");
    for at in 0..whole.len() {
        for wrong in [whole[at] ^ 0xff, whole[at] ^ 1, whole[at] ^ 0x80] {
            let mut flipped = whole.clone();
            flipped[at] = wrong;
            // the checksum finds what the format does not; the rest of the header may tell the same text
            if let Ok(loaded) = told(&flipped) {
                assert_eq!(loaded.graph.nnz(), 32, "{at}");
            }
        }
    }
    // a window of a gigabyte, in a file of a few bytes
    let vast = [&b"\x28\xb5\x2f\xfd\x00\xa0"[..], b"\x21\0\0", b"1 2\n"].concat();
    let line = told(&vast).unwrap_err();
    assert!(line.contains("d.graph.zst:1:1: expected a sound zstd stream, found "), "{line}");
}
