//! A header that claims much allocates nothing: memory follows what a file holds.

#[path = "common/counting.rs"]
mod counting;

use counting::most;
use vxm::io::{FileFormat, read_as, read_matrix_as};

/// The bytes that reading any file may take: threads, maps of the limits of memory, messages.
const FIXED: usize = 1 << 20;

fn words(words: &[i64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

// one test, because tests run at the same time and the count is one
#[test]
fn memory_follows_what_a_file_holds() {
    claims_allocate_nothing();
    whole_files_take_at_most_sixteen_times_their_size();
}

fn claims_allocate_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("claims");
    rayon::broadcast(|_| ());
    let narrow = |all: &[i32]| all.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let gap = |words: Vec<u8>| [vec![0], words].concat();
    for (format, bytes) in [
        (FileFormat::Metis, b"4000000000 4000000000\n1\n".to_vec()),
        (FileFormat::Metis, b"4000000000 0 011 4000000000\n1\n".to_vec()),
        (FileFormat::Ecl, narrow(&[i32::MAX, i32::MAX, 0])),
        (FileFormat::Ecl, words(&[4_000_000_000, 1 << 40, 0])),
        (FileFormat::Ecl, words(&[i64::MAX, i64::MAX, 0])),
        (FileFormat::Gap, gap(words(&[1 << 40, 4_000_000_000, 0]))),
        (FileFormat::Gap, gap(words(&[i64::MAX, i64::MAX, 0]))),
        (FileFormat::Npz, [b"PK\x05\x06", &[0xff; 16][..], &[0, 0]].concat()),
    ] {
        std::fs::write(&path, &bytes).unwrap();
        let taken = most(|| {
            read_as(&path, format, &()).unwrap_err();
            read_matrix_as::<f64>(&path, format, &()).unwrap_err();
        });
        assert!(taken < FIXED, "{format}: {taken} bytes");
    }
}

fn whole_files_take_at_most_sixteen_times_their_size() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ring");
    // a ring: it has more vertices than other graphs of its size
    let n = 100_000i64;
    let next = |v: i64| [(v + 1) % n, (v + n - 1) % n];
    let offsets: Vec<i64> = (0..=n).map(|v| 2 * v).collect();
    let columns: Vec<u8> = (0..n).flat_map(next).flat_map(|v| (v as i32).to_le_bytes()).collect();
    let ecl_offsets: Vec<u8> = offsets.iter().flat_map(|&offset| (offset as i32).to_le_bytes()).collect();
    let counts: Vec<u8> = [n as i32, 2 * n as i32].into_iter().flat_map(i32::to_le_bytes).collect();
    let gap = [vec![0], words(&[2 * n, n]), words(&offsets), columns.clone()].concat();
    let lines: String = (0..n).map(|v| format!("{} {}\n", next(v)[0] + 1, next(v)[1] + 1)).collect();
    for (format, bytes) in [
        (FileFormat::Ecl, [counts, ecl_offsets, columns].concat()),
        (FileFormat::Gap, gap),
        (FileFormat::Metis, format!("{n} {n}\n{lines}").into_bytes()),
    ] {
        std::fs::write(&path, &bytes).unwrap();
        let taken = most(|| assert_eq!(read_as(&path, format, &()).unwrap().graph.nnz(), 2 * n as usize));
        println!("{format}: {:.1} times the file", taken as f64 / bytes.len() as f64);
        assert!(taken < 16 * bytes.len() + FIXED, "{format}: {taken} bytes for {}", bytes.len());
    }
}
