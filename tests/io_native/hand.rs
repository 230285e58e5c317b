//! The layout by hand, as docs/formats.md describes it: a second writer, which shares no code with the first.

use crate::{read_back, sample, write};
use std::path::Path;
use std::time::{Duration, Instant};
use vxm::formats::Csr;
use vxm::io::{NativeFile, Numbering, Verify, read, read_digraph};

pub const PAGE: usize = 4096;
const PART: usize = 16 << 20;

/// The fields of a header.
#[derive(Debug, Clone)]
pub struct Header {
    pub order: u32,
    pub version: u32,
    pub element: u32,
    pub flags: u32,
    pub rows: u64,
    pub columns: u64,
    pub entries: u64,
    pub first: u64,
    pub value_bytes: usize,
}

/// The size of a section with its padding.
fn padded(bytes: usize) -> usize {
    bytes.next_multiple_of(PAGE)
}

impl Header {
    pub fn new(element: u32, flags: u32, rows: u64, columns: u64, entries: u64, value_bytes: usize) -> Self {
        Self { order: 0x0102_0304, version: 1, element, flags, rows, columns, entries, first: 0, value_bytes }
    }

    /// The places of the sections checksums, offsets, columns, values and labels, and the size of the file.
    pub fn places(&self) -> [usize; 6] {
        let labels = if self.flags & 8 == 0 { 0 } else { self.rows as usize };
        let entries = self.entries as usize;
        let sizes = [8 * (self.rows as usize + 1), 4 * entries, self.value_bytes * entries, 8 * labels].map(padded);
        let parts = sizes.iter().sum::<usize>().div_ceil(PART);
        let mut places = [PAGE; 6];
        places[1] = PAGE + padded(4 * parts);
        (0..4).for_each(|section| places[section + 2] = places[section + 1] + sizes[section]);
        places
    }

    /// The header and the section of checksums, for the bytes that follow them.
    pub fn head(&self, data: &[u8]) -> Vec<u8> {
        let places = self.places();
        let mut table: Vec<u8> = data.chunks(PART).flat_map(|part| crc32fast::hash(part).to_le_bytes()).collect();
        table.resize(places[1] - PAGE, 0);
        let mut head = b"\x89VXM\r\n\x1a\n".to_vec();
        [self.order, self.version, self.element, self.flags].iter().for_each(|word| head.extend(word.to_le_bytes()));
        let sizes = [self.rows, self.columns, self.entries, self.first, PART as u64];
        let longs = sizes.into_iter().chain(places.map(|place| place as u64));
        longs.for_each(|long| head.extend(long.to_le_bytes()));
        head.resize(4088, 0);
        head.extend(crc32fast::hash(&table).to_le_bytes());
        head.extend(crc32fast::hash(&head).to_le_bytes());
        head.extend(table);
        head
    }

    /// A file: offsets, columns, the bytes of values, labels.
    pub fn file(&self, offsets: &[u64], columns: &[u32], values: &[u8], labels: &[u64]) -> Vec<u8> {
        let sections: [Vec<u8>; 4] = [
            offsets.iter().flat_map(|x| x.to_le_bytes()).collect(),
            columns.iter().flat_map(|x| x.to_le_bytes()).collect(),
            values.to_vec(),
            labels.iter().flat_map(|x| x.to_le_bytes()).collect(),
        ];
        let mut data = Vec::new();
        for section in sections {
            data.extend(section);
            data.resize(padded(data.len()), 0);
        }
        let mut file = self.head(&data);
        file.extend(data);
        file
    }
}

/// Gives a file the checksums of its bytes, whatever they say.
pub fn seal(file: &mut [u8]) {
    let place = |file: &[u8], at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize;
    let data = place(file, 72);
    if data >= PAGE && data <= file.len() {
        let sums: Vec<u8> = file[data..].chunks(PART).flat_map(|part| crc32fast::hash(part).to_le_bytes()).collect();
        let end = PAGE + sums.len().min(data - PAGE);
        file[PAGE..end].copy_from_slice(&sums[..end - PAGE]);
        let sum = crc32fast::hash(&file[PAGE..data]);
        file[4088..4092].copy_from_slice(&sum.to_le_bytes());
    }
    let sum = crc32fast::hash(&file[..4092]);
    file[4092..4096].copy_from_slice(&sum.to_le_bytes());
}

fn put(folder: &Path, bytes: &[u8]) -> std::path::PathBuf {
    let path = folder.join("hand.vxm");
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn a_file_is_what_the_documentation_says() {
    let folder = tempfile::tempdir().unwrap();
    let sample = sample();
    let values: Vec<u8> = sample.values().iter().flat_map(|x| x.to_le_bytes()).collect();
    let mut header = Header { first: 3, ..Header::new(8, 4, 5, 7, 11, 4) };
    let by_hand = header.file(sample.offsets(), sample.columns(), &values, &[]);
    assert_eq!(write(folder.path(), "sample.vxm", &sample, &Numbering::From(3)), by_hand);
    assert_eq!(read_back::<u32>(&put(folder.path(), &by_hand)).unwrap(), sample);
    // with labels, and a pattern
    header = Header::new(0, 4 | 8, 5, 7, 11, 0);
    let labels = [2, 3, 5, 7, u64::MAX];
    let by_hand = header.file(sample.offsets(), sample.columns(), &[], &labels);
    let pattern = Csr::try_new(5, 7, sample.offsets().to_vec(), sample.columns().to_vec(), vec![(); 11]).unwrap();
    assert_eq!(write(folder.path(), "pattern.vxm", &pattern, &Numbering::Listed(labels.to_vec())), by_hand);
    let path = put(folder.path(), &by_hand);
    assert_eq!(NativeFile::open(&path).unwrap().numbering().unwrap(), Numbering::Listed(labels.to_vec()));
}

#[test]
fn several_parts_have_a_checksum_each() {
    let folder = tempfile::tempdir().unwrap();
    let graph = vxm::io::generate("grid:1000x2100", &()).unwrap().graph;
    let header = Header::new(0, 1 | 2 | 4, 2_100_000, 2_100_000, graph.nnz() as u64, 0);
    let by_hand = header.file(graph.offsets(), graph.columns(), &[], &[]);
    assert!(by_hand.len() > 3 * PART);
    assert!(write(folder.path(), "grid.vxm", &graph, &Numbering::From(0)) == by_hand, "other bytes");
    assert!(read(put(folder.path(), &by_hand), &()).unwrap().graph == graph);
    // a byte of each part
    for part in 0..(by_hand.len() - 2 * PAGE).div_ceil(PART) {
        let mut damaged = by_hand.clone();
        let at = 2 * PAGE + part * PART + 12_345;
        damaged[at] ^= 1;
        let told = read_digraph(put(folder.path(), &damaged), &()).unwrap_err().to_string();
        assert!(told.contains("hand.vxm: bytes ") && told.ends_with(": the file is damaged"), "{told}");
    }
}

#[test]
fn a_large_file_opens_at_once() {
    // 100 million edges, in both directions: nothing but the header and its checksums is there, the rest is a hole
    let header = Header::new(0, 1 | 2 | 4, 10_000_000, 10_000_000, 200_000_000, 0);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.vxm");
    let [_, data, .., end] = header.places();
    let mut head = header.head(&[]);
    head.resize(data, 0);
    seal(&mut head);
    std::fs::write(&path, &head).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(end as u64).unwrap();
    let start = Instant::now();
    let file = NativeFile::open(&path).unwrap();
    let took = start.elapsed();
    assert_eq!((file.nnz(), file.len_bytes()), (200_000_000, end));
    assert!(took < Duration::from_millis(50), "{took:?}");
    // a hole is no graph, and is read to find that out
    assert!(file.matrix::<()>(Verify::Invariants, &()).unwrap_err().to_string().contains("expected"));
}
