//! Damaged, cut, foreign and forged files: each is read as it was, or refused in a line; none makes the process fall.

use crate::hand::{Header, PAGE, seal};
use crate::{read_back, sample, write};
use proptest::prelude::*;
use std::path::Path;
use vxm::Error;
use vxm::formats::Csr;
use vxm::io::{Numbering, read, read_digraph, read_matrix, read_weighted};

fn put(folder: &Path, bytes: &[u8]) -> std::path::PathBuf {
    let path = folder.join("damaged.vxm");
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Reads `bytes` by every reader. Returns the matrix, or the line that refuses it.
fn outcome(folder: &Path, bytes: &[u8]) -> Result<Csr<u32>, String> {
    let path = put(folder, bytes);
    let line = |error: Error| {
        let line = error.to_string();
        assert!(!line.contains('\n') && line.contains("damaged.vxm"), "{line}");
        assert!(line.contains("expected ") || line.contains("needs "), "{line}");
        line
    };
    // none of them panics
    let _ = (read(&path, &()).map_err(line), read_digraph(&path, &()).map_err(line));
    let _ = (read_weighted(&path, &()).map_err(line), read_matrix::<()>(&path, &()).map_err(line));
    read_back::<u32>(&path).map_err(line)
}

/// A file with every section, and its matrix.
fn sound(folder: &Path) -> (Csr<u32>, Vec<u8>) {
    let matrix = sample();
    let bytes = write(folder, "sound.vxm", &matrix, &Numbering::Listed(vec![1, 2, 30, 400, 5000]));
    (matrix, bytes)
}

#[test]
fn every_byte_counts() {
    let folder = tempfile::tempdir().unwrap();
    let (_, bytes) = sound(folder.path());
    // all bytes of the header and of the checksums; of sections those that hold something, and samples of their padding
    let places = (0..2 * PAGE).chain((2 * PAGE..bytes.len()).filter(|at| at % PAGE < 96 || at % 97 == 0));
    for at in places.filter(|at| at % PAGE < 128 || at % PAGE > 4080 || at % 31 == 0) {
        for flip in [1u8, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            let outcome = outcome(folder.path(), &damaged);
            assert!(outcome.is_err(), "byte {at} ^ {flip:#x} was not found");
        }
    }
}

#[test]
fn a_file_that_was_cut_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (_, bytes) = sound(folder.path());
    assert_eq!(bytes.len() % PAGE, 0);
    for section in 0..=bytes.len() / PAGE {
        for cut in [section * PAGE, (section * PAGE + 1).min(bytes.len()), (section * PAGE).saturating_sub(1)] {
            let told = outcome(folder.path(), &bytes[..cut]);
            assert_eq!(told.is_err(), cut < bytes.len(), "cut at {cut}");
        }
    }
    let told = outcome(folder.path(), &bytes[..4 * PAGE + 8]).unwrap_err();
    let expected =
        format!("byte {}: expected a file of {} bytes, found its end (section: values)", 4 * PAGE + 8, bytes.len());
    assert!(told.ends_with(&expected), "{told}");
    let told = outcome(folder.path(), &[&bytes[..], &[0; 9]].concat()).unwrap_err();
    assert!(told.ends_with(&format!("byte {0}: expected a file of {0} bytes, found 9 more", bytes.len())), "{told}");
    assert!(outcome(folder.path(), &[]).unwrap_err().ends_with("found an empty file"));
}

#[test]
fn newer_versions_and_foreign_orders_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let (_, bytes) = sound(folder.path());
    let with = |at: usize, new: &[u8]| {
        let mut changed = bytes.clone();
        changed[at..at + new.len()].copy_from_slice(new);
        seal(&mut changed);
        let told = outcome(folder.path(), &changed).unwrap_err();
        told.split_once("damaged.vxm: ").unwrap().1.to_owned()
    };
    let newer = "byte 12: expected a version up to 3, found version 4 (a newer release of vxm wrote it)";
    assert_eq!(with(12, &[4]), newer);
    assert_eq!(with(12, &[0]), "byte 12: expected a version up to 3, found version 0");
    assert_eq!(
        with(8, &[1, 2, 3, 4]),
        "byte 8: expected numbers with their low byte first, found their high byte first"
    );
    assert_eq!(with(16, &[12]), "byte 16: expected an element type from 0 to 11, found 12");
    assert_eq!(with(20, &[0x14]), "byte 20: expected flags of 0xf, with 0x4 set, found 0x14");
    assert_eq!(with(20, &[0x0d]), "byte 32: expected 5 columns of a symmetric matrix, found 7");
    assert_eq!(with(60, &[1]), "byte 56: expected parts of 16777216 bytes, found 4311744512");
    assert_eq!(with(200, &[1]), "byte 200: expected 0, found 1");
    assert!(
        with(24, &[0xff; 8]).starts_with("byte 24: expected at most 4294967295 vertices, found 18446744073709551615")
    );
    assert!(with(40, &[0xff; 8]).contains("expected sizes that this machine can address, found 5 rows and "));
    assert!(with(48, &[0xff; 8]).starts_with("byte 48: expected a first number that leaves room for all vertices"));
}

#[test]
fn forged_sections_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (_, bytes) = sound(folder.path());
    let [_, offsets, columns, _, labels, _] = Header::new(8, 12, 5, 7, 11, 4).places();
    let with = |at: usize, new: &[u8]| {
        let mut forged = bytes.clone();
        forged[at..at + new.len()].copy_from_slice(new);
        seal(&mut forged);
        let told = outcome(folder.path(), &forged).unwrap_err();
        told.split_once("damaged.vxm: ").unwrap().1.to_owned()
    };
    let (at, row) = (offsets + 16, columns + 8);
    assert_eq!(with(offsets, &[1]), format!("byte {offsets}: expected 0, the start of the first row, found 1"));
    assert_eq!(with(at, &[200]), format!("byte {at}: expected an offset from 2 to 11, found 200"));
    assert_eq!(with(at + 24, &[12]), format!("byte {}: expected 11, the number of entries, found 12", at + 24));
    assert_eq!(with(row, &[7]), format!("byte {row}: expected a column of row 2 from 0 to 6, found 7"));
    assert_eq!(with(row + 4, &[0]), format!("byte {}: expected a column of row 2 from 1 to 6, found 0", row + 4));
    assert_eq!(with(row + 24, &[7]), format!("byte {}: expected a column of row 2 from 6 to 6, found 7", row + 24));
    assert_eq!(with(labels + 8, &[1]), format!("byte {}: expected a vertex number above 1, found 1", labels + 8));
    // a diagonal where the flags say that there is none
    assert_eq!(
        with(20, &[0x0e]),
        format!("byte {columns}: expected a column of row 0 from 0 to 6 other than 0, found 0")
    );
    // truth values
    let mut forged = Header::new(1, 4, 1, 3, 2, 1).file(&[0, 2], &[0, 2], &[1, 2], &[]);
    seal(&mut forged);
    let told = read_back::<bool>(&put(folder.path(), &forged)).unwrap_err().to_string();
    assert!(told.ends_with(&format!("byte {}: expected a truth value, 0 or 1, found 2", 4 * PAGE + 1)), "{told}");
}

/// Runs algorithms on a file whose flags claim symmetry and whose checksums are right. They may answer wrongly or fail, but return. Debug
/// builds assert what the flags claim, so only release builds run this.
#[cfg(not(debug_assertions))]
fn algorithms_return(path: &Path) {
    let Ok(loaded) = read(path, &()) else { return };
    let a = vxm::containers::Matrix::from_simple(loaded.graph);
    let _ = vxm::algorithms::mis(&a, &vxm::algorithms::MisOptions::default()).map(|found| found.rounds);
    let _ = vxm::algorithms::color(&a, &vxm::algorithms::ColoringOptions::default()).map(|found| found.rounds);
    let _ = vxm::algorithms::components(&a).map(|found| found.nvals());
    if a.nrows() > 0 {
        let _ = vxm::algorithms::bfs(&a, 0).map(|found| found.nvals());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { source_file: None, ..ProptestConfig::with_cases(200) })]

    /// Any bytes behind any part of a sound file, sealed or not.
    #[test]
    fn no_bytes_make_the_process_fall(
        places in prop::collection::vec((0usize..7 * PAGE, any::<u8>()), 1..6),
        fields in prop::collection::vec((1usize..14, prop_oneof![0u64..20, any::<u64>(), Just(u64::MAX)]), 0..3),
        cut in prop::option::of(PAGE..7 * PAGE),
        sealed in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (matrix, bytes) = sound(folder.path());
        let mut changed = bytes;
        for (at, byte) in places {
            let near = (at / PAGE * PAGE + at % PAGE % 128).min(changed.len() - 1);
            changed[near] = byte;
        }
        for (field, number) in fields {
            changed[8 * field..8 * field + 8].copy_from_slice(&number.to_le_bytes());
        }
        changed.truncate(cut.unwrap_or(usize::MAX));
        if sealed {
            seal(&mut changed);
        }
        if let Ok(read) = outcome(folder.path(), &changed) {
            let (rows, columns, offsets, entries, values) = read.into_parts();
            let checked = Csr::try_new(rows, columns, offsets, entries, values);
            prop_assert!(checked.is_ok_and(|checked| sealed || checked == matrix));
        }
    }

    /// A graph whose flags lie: entries without mirror images, in a file that says that it is symmetric.
    #[test]
    fn lying_flags_do_not_make_algorithms_fall(raw in prop::collection::vec((0u32..30, 0u32..30), 0..120)) {
        let mut entries: Vec<_> = raw.into_iter().filter(|(i, j)| i != j).collect();
        entries.sort_unstable();
        entries.dedup();
        let offsets: Vec<u64> = (0..=30).map(|row| entries.partition_point(|entry| entry.0 < row) as u64).collect();
        let columns: Vec<u32> = entries.iter().map(|entry| entry.1).collect();
        let header = Header::new(0, 1 | 2 | 4, 30, 30, columns.len() as u64, 0);
        let folder = tempfile::tempdir().unwrap();
        let path = put(folder.path(), &header.file(&offsets, &columns, &[], &[]));
        #[cfg(not(debug_assertions))]
        algorithms_return(&path);
        let found = vxm::io::NativeFile::open(&path).unwrap().check_symmetry(&());
        let symmetric = Csr::try_new(30, 30, offsets, columns, vec![(); entries.len()]).unwrap().is_symmetric();
        prop_assert_eq!(found.is_ok(), symmetric);
    }
}
