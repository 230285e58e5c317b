//! Every format under a limit on memory: what is built on disk is what is built in memory.
//!
//! A limit holds for a process, so each list of files is read in a process of its own.

use crate::tables::{arrow, parquet};
use crate::writers::{Npz, Sample, put};
use std::fmt::Debug;
use std::fs::{read_dir, read_to_string};
use std::path::Path;
use std::process::Command;
use vxm::formats::Coo;
use vxm::io::{Numbering, Weighted, WholeFile, read, read_digraph, read_matrix, read_weighted, write_native};
use vxm::memory::Resident;

/// The environment variable that names the folder of files to the process that reads them.
const FOLDER: &str = "VXM_TEST_FOLDER";

/// What that process prints at its end.
const DONE: &str = "all files were read under a limit";

/// What is left of a limit: enough to build on disk, and too little to build in memory.
const LEFT: u64 = 46 << 20;

/// A graph that joins vertex `i` to `i + s` for so many distances `s`, each less than half of the vertices.
fn circulant(vertices: u32, distances: u32, one_way: bool) -> Sample {
    let edge = |i: u32, d: u32| {
        let distance = d * 37 % (vertices / 2 - 1) + 1;
        (i, (i + distance) % vertices, (i * 31 + d * 7) as i32 % 1000 + 1)
    };
    let edges = (0..vertices).flat_map(|i| (0..distances).map(move |d| edge(i, d))).collect();
    Sample { vertices, edges, one_way }
}

/// Runs the test `name` of this file in another process, on the files in `folder`.
fn in_a_process(name: &str, folder: &Path) {
    let out = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("on_disk::{name}"), "--nocapture"])
        .env(FOLDER, folder)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success() && told.contains(DONE), "{told}{}", String::from_utf8_lossy(&out.stderr));
}

/// Calls `each` with the files in the folder that this process was told to read, if it was.
fn files(each: impl Fn(&str)) {
    let Ok(folder) = std::env::var(FOLDER) else {
        println!("skipped: run by another test");
        return;
    };
    let mut files: Vec<_> =
        read_dir(folder).unwrap().map(|entry| entry.unwrap().path().display().to_string()).collect();
    files.sort();
    assert!(!files.is_empty());
    files.iter().for_each(|file| each(file));
    println!("{DONE}");
}

/// Limits the memory to what this process has now and [`LEFT`].
fn limit() -> Resident {
    let status = read_to_string("/proc/self/status").unwrap();
    let anonymous = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    let taken = anonymous.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024;
    Resident::limit(taken + LEFT).unwrap()
}

/// Checks that reading under a limit gives the same as without, and that only then it lies on disk.
fn same<T: PartialEq + Debug>(file: &str, read: impl Fn() -> T, is_mapped: impl Fn(&T) -> bool) {
    let expected = read();
    let _limit = limit();
    let found = read();
    assert!(is_mapped(&found) && !is_mapped(&expected), "{file}");
    assert!(found == expected, "{file}");
}

/// Whether the graph lies in a mapped file.
fn is_mapped(graph: &Weighted) -> bool {
    match graph {
        Weighted::None(loaded) => loaded.graph.is_mapped(),
        Weighted::Integer(loaded) => loaded.graph.is_mapped(),
        Weighted::Real(loaded) => loaded.graph.is_mapped(),
    }
}

/// Writes a native file of the arcs and of self-loops.
fn with_loops(folder: &Path, sample: &Sample, graph: bool) {
    let loops = (0..sample.vertices).step_by(3).map(|i| (i, i, 5));
    let n = sample.vertices as usize;
    let numbering = Numbering::From(0);
    let whole = WholeFile::prepare(folder.join("loops.vxm")).unwrap();
    let triples = sample.arcs().into_iter().chain(loops);
    if graph {
        let triples = triples.map(|(i, j, _)| (i, j, ()));
        let csr = Coo::from_triples(n, n, triples).unwrap().to_csr(vxm::formats::Refuse).unwrap();
        write_native(whole, &csr, &numbering).unwrap();
    } else {
        let csr = Coo::from_triples(n, n, triples.map(|(i, j, w)| (i, j, w as u16))).unwrap();
        write_native(whole, &csr.to_csr(vxm::formats::Refuse).unwrap(), &numbering).unwrap();
    }
}

#[test]
fn undirected_graphs_are_the_same_under_a_limit() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let sample = circulant(1 << 14, 130, false);
    let twice = Sample { edges: sample.arcs(), one_way: true, ..sample.clone() };
    put(folder, "a.col", twice.coloring());
    put(folder, "a.gr", sample.shortest_paths());
    put(folder, "a.graph", sample.metis("0", 1));
    put(folder, "a.el", sample.edge_list(true));
    put(folder, "a.sg", sample.gap(false, false));
    put(folder, "a.parquet", parquet(&sample.columns(), 50_000, parquet::basic::Compression::SNAPPY));
    put(folder, "a.arrow", arrow(&sample.columns(), 50_000, None));
    put(folder, "a.npz", sample.npz(Npz { format: "csr", index: "<i4", value: "<f4", deflated: true }));
    with_loops(folder, &sample, true);
    in_a_process("undirected_graphs", folder);
}

#[test]
fn undirected_graphs() {
    files(|file| same(file, || read(file, &()).unwrap(), |loaded| loaded.graph.is_mapped()));
}

#[test]
fn directed_and_weighted_graphs_and_matrices_are_the_same_under_a_limit() {
    let (folder, tables) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = folder.path();
    let sample = circulant(1 << 14, 80, true);
    put(folder, "general.mtx", sample.matrix_market());
    put(folder, "a.gr", sample.shortest_paths());
    put(folder, "a.egr", sample.ecl(8, true));
    put(folder, "a.wsg", sample.gap(true, true));
    put(folder, "integers.wel", sample.edge_list(true));
    put(folder, "reals.wel", sample.edge_list(true).replacen("\t7\n", "\t7.5\n", 1));
    put(folder, "a.parquet", parquet(&sample.columns(), 50_000, parquet::basic::Compression::UNCOMPRESSED));
    put(folder, "a.arrow", arrow(&sample.columns(), 50_000, Some(arrow_ipc::CompressionType::ZSTD)));
    for (format, value, deflated) in [("csr", "<i2", false), ("csc", "<f8", true), ("coo", "<u8", true)] {
        put(folder, &format!("{format}.npz"), sample.npz(Npz { format, index: "<i4", value, deflated }));
    }
    with_loops(folder, &sample, false);
    put(folder, "a.el", sample.edge_list(false));
    in_a_process("digraphs", folder);
    std::fs::remove_file(folder.join("a.el")).unwrap();
    for list in ["integers.wel", "reals.wel"] {
        std::fs::rename(folder.join(list), tables.path().join(list)).unwrap();
    }
    for table in ["a.parquet", "a.arrow"] {
        std::fs::rename(folder.join(table), tables.path().join(table)).unwrap();
    }
    // without weights these are undirected
    let both = Sample { one_way: false, ..sample };
    put(folder, "a.graph", both.metis("1", 1));
    put(folder, "symmetric.mtx", both.matrix_market());
    put(folder, "skew.mtx", both.matrix_market().replacen("integer symmetric", "real skew-symmetric", 1));
    in_a_process("matrices", folder);
    in_a_process("weighted_graphs", folder);
    in_a_process("weighted_graphs", tables.path());
}

#[test]
fn digraphs() {
    files(|file| same(file, || read_digraph(file, &()).unwrap(), |loaded| loaded.graph.is_mapped()));
}

#[test]
fn weighted_graphs() {
    files(|file| same(file, || read_weighted(file, &()).unwrap(), is_mapped));
}

#[test]
fn matrices() {
    files(|file| same(file, || read_matrix::<f32>(file, &()).unwrap(), |matrix| matrix.is_mapped()));
}
