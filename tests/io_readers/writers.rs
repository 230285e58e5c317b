//! Writes a graph in every format that is read.

use flate2::{Compression, Crc, write::DeflateEncoder};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A graph with weighted edges, each listed once.
#[derive(Debug, Clone)]
pub struct Sample {
    pub vertices: u32,
    pub edges: Vec<(u32, u32, i32)>,
    /// Whether edges lead one way only.
    pub one_way: bool,
}

/// How the arrays of a SciPy matrix are made.
#[derive(Debug, Clone, Copy)]
pub struct Npz {
    pub format: &'static str,
    /// NumPy's names of the types of indices and of values.
    pub index: &'static str,
    pub value: &'static str,
    pub deflated: bool,
}

/// Petersen's graph: 10 vertices of degree 3, 15 edges, diameter 2. A pendant vertex hangs on it; a last one is isolated.
pub fn petersen() -> Sample {
    let outer = (0..5).map(|i| (i, (i + 1) % 5));
    let inner = (0..5).map(|i| (5 + i, 5 + (i + 2) % 5));
    let spokes = (0..5).map(|i| (i, i + 5));
    let edges = outer.chain(inner).chain(spokes).chain([(9, 10)]);
    let edges = edges.zip(1..).map(|((i, j), weight)| (i, j, weight * 3)).collect();
    Sample { vertices: 12, edges, one_way: false }
}

/// Writes `bytes` as the file `name`.
pub fn put(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

impl Sample {
    /// All edges, by rows; both directions of them unless they lead one way only.
    pub fn arcs(&self) -> Vec<(u32, u32, i32)> {
        let mut arcs = self.edges.clone();
        if !self.one_way {
            arcs.extend(self.edges.iter().map(|&(i, j, weight)| (j, i, weight)));
        }
        arcs.sort_unstable();
        arcs
    }

    fn offsets(&self, arcs: &[(u32, u32, i32)]) -> Vec<i64> {
        (0..=self.vertices).map(|row| arcs.partition_point(|arc| arc.0 < row) as i64).collect()
    }

    pub fn matrix_market(&self) -> String {
        let (n, m) = (self.vertices, self.edges.len());
        let symmetry = if self.one_way { "general" } else { "symmetric" };
        let mut text = format!("%%MatrixMarket matrix coordinate integer {symmetry}\n{n} {n} {m}\n");
        for &(i, j, weight) in &self.edges {
            let (row, column) = if self.one_way { (i, j) } else { (i.max(j), i.min(j)) };
            writeln!(text, "{} {} {weight}", row + 1, column + 1).unwrap();
        }
        text
    }

    pub fn edge_list(&self, weighted: bool) -> String {
        let mut text = "# a comment\n".to_owned();
        for (i, j, weight) in self.arcs() {
            writeln!(text, "{i}\t{j}{}", if weighted { format!("\t{weight}") } else { String::new() }).unwrap();
        }
        text
    }

    pub fn coloring(&self) -> String {
        let mut text = format!("c a comment\np edge {} {}\n", self.vertices, self.edges.len());
        self.edges.iter().for_each(|(i, j, _)| writeln!(text, "e {} {}", i + 1, j + 1).unwrap());
        text
    }

    pub fn shortest_paths(&self) -> String {
        let mut text = format!("c a comment\np sp {} {}\n", self.vertices, self.arcs().len());
        self.arcs().iter().for_each(|(i, j, weight)| writeln!(text, "a {} {} {weight}", i + 1, j + 1).unwrap());
        text
    }

    /// METIS with this FMT, and NCON weights for each vertex if FMT asks for them.
    pub fn metis(&self, fmt: &str, ncon: usize) -> String {
        let digit = |place: usize| fmt.len() > place && fmt.as_bytes()[fmt.len() - 1 - place] == b'1';
        let (arcs, stated) = (self.arcs(), if ncon == 1 { String::new() } else { format!(" {ncon}") });
        let mut text = format!("% a comment\n{} {} {fmt}{stated}\n", self.vertices, self.edges.len());
        let offsets = self.offsets(&arcs);
        for row in 0..self.vertices as usize {
            let mut words: Vec<String> = Vec::new();
            words.extend(digit(2).then(|| "7".to_owned()));
            words.extend((0..if digit(1) { ncon } else { 0 }).map(|weight| (weight + 2).to_string()));
            for (_, column, weight) in &arcs[offsets[row] as usize..offsets[row + 1] as usize] {
                words.push((column + 1).to_string());
                words.extend(digit(0).then(|| weight.to_string()));
            }
            writeln!(text, "{}", words.join(" ")).unwrap();
        }
        text
    }

    /// ECL's format, with counts and offsets of 4 or 8 bytes.
    pub fn ecl(&self, wide: usize, weighted: bool) -> Vec<u8> {
        let arcs = self.arcs();
        let counts = [i64::from(self.vertices), arcs.len() as i64];
        let words = counts.into_iter().chain(self.offsets(&arcs)).flat_map(|word| word.to_le_bytes()[..wide].to_vec());
        let mut bytes: Vec<u8> = words.collect();
        bytes.extend(arcs.iter().flat_map(|arc| arc.1.to_le_bytes()));
        bytes.extend(arcs.iter().filter(|_| weighted).flat_map(|arc| arc.2.to_le_bytes()));
        bytes
    }

    /// GAP's format. A directed file has one direction of each edge, and the reversed edges after them.
    pub fn gap(&self, directed: bool, weighted: bool) -> Vec<u8> {
        let mut arcs = if directed { self.edges.clone() } else { self.arcs() };
        arcs.sort_unstable();
        let mut bytes = vec![u8::from(directed)];
        [arcs.len() as i64, self.vertices.into()].iter().for_each(|count| bytes.extend(count.to_le_bytes()));
        let mut half = |arcs: &[(u32, u32, i32)]| {
            bytes.extend(self.offsets(arcs).iter().flat_map(|offset| offset.to_le_bytes()));
            for arc in arcs {
                bytes.extend(arc.1.to_le_bytes());
                bytes.extend(arc.2.to_le_bytes().iter().filter(|_| weighted));
            }
        };
        half(&arcs);
        if directed {
            let mut reversed: Vec<_> = arcs.iter().map(|&(i, j, weight)| (j, i, weight)).collect();
            reversed.sort_unstable();
            half(&reversed);
        }
        bytes
    }

    /// SciPy's format. Weights are made to fit the type of values.
    pub fn npz(&self, npz: Npz) -> Vec<u8> {
        let arcs = self.arcs();
        let list =
            |descr: &str, numbers: Vec<i64>| array(descr, &format!("({},)", numbers.len()), &raw(descr, &numbers));
        let columns: Vec<i64> = arcs.iter().map(|arc| arc.1.into()).collect();
        let rows: Vec<i64> = arcs.iter().map(|arc| arc.0.into()).collect();
        let mut members = vec![
            ("format.npy", array("|S3", "()", npz.format.as_bytes())),
            ("shape.npy", list("<i8", vec![self.vertices.into(); 2])),
            ("data.npy", list(npz.value, arcs.iter().map(|arc| arc.2.into()).collect())),
        ];
        if npz.format == "coo" {
            members.extend([("row.npy", list(npz.index, rows)), ("col.npy", list(npz.index, columns))]);
        } else {
            let offsets = self.offsets(&arcs);
            members.extend([("indices.npy", list(npz.index, columns)), ("indptr.npy", list(npz.index, offsets))]);
        }
        zip(&members, npz.deflated)
    }
}

/// The bytes of `numbers` in the type that NumPy calls `descr`.
fn raw(descr: &str, numbers: &[i64]) -> Vec<u8> {
    let bytes = |&number: &i64| match descr {
        "|b1" => vec![1],
        "<f4" => (number as f32).to_le_bytes().to_vec(),
        "<f8" => (number as f64).to_le_bytes().to_vec(),
        _ => number.to_le_bytes()[..usize::from(descr.as_bytes()[2] - b'0')].to_vec(),
    };
    numbers.iter().flat_map(bytes).collect()
}

/// A `.npy` file.
pub fn array(descr: &str, shape: &str, elements: &[u8]) -> Vec<u8> {
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    header += &" ".repeat(63 - (10 + header.len()) % 64);
    header.push('\n');
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), elements].concat()
}

/// A zip archive.
pub fn zip(members: &[(&str, Vec<u8>)], deflated: bool) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in members {
        let mut sum = Crc::new();
        sum.update(content);
        let packed = if deflated {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap()
        } else {
            content.clone()
        };
        let method = if deflated { 8u16 } else { 0 };
        let mut common = [20u16, 0, method, 0, 0].map(u16::to_le_bytes).concat();
        common.extend([sum.sum(), packed.len() as u32, content.len() as u32].map(u32::to_le_bytes).concat());
        common.extend([name.len() as u16, 0].map(u16::to_le_bytes).concat());
        directory.extend([b"PK\x01\x02\x14\x00", &common[..]].concat());
        directory.extend([[0u8; 10].as_slice(), &(bytes.len() as u32).to_le_bytes(), name.as_bytes()].concat());
        bytes.extend([b"PK\x03\x04", &common[..], name.as_bytes(), &packed].concat());
    }
    let count = (members.len() as u16).to_le_bytes();
    let [size, at] = [directory.len(), bytes.len()].map(|number| (number as u32).to_le_bytes());
    bytes.extend([&directory[..], b"PK\x05\x06\0\0\0\0", &count, &count, &size, &at, &[0, 0]].concat());
    bytes
}
