//! Reading a file takes at most three times the memory of the finished matrix. Measured by sampling the process. And answers are the same where
//! rows lie in a file larger than memory.
//!
//! For reading, the tightest case is a file that lists both directions of each edge, whatever its size. It takes twice 12 bytes per
//! edge (the entry, and its column after sorting it to its row) and 16 per vertex. The matrix takes 8 bytes per edge
//! and 8 per vertex. Freeing entries on the way does not lower the peak, because the columns that replace them are
//! touched at once, in any order.

use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use vxm::algorithms::{ColoringOptions, MisOptions, Priority, bfs, color, components, mis};
use vxm::backend::explain::explain;
use vxm::io::{Numbering, WholeFile, generate, read, write_matrix_market, write_native};
use vxm::memory::Resident;
use vxm::prelude::*;

/// The memory of the process without mapped files, in bytes; `None` if the system does not report it.
fn anonymous() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("RssAnon:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<usize>().ok()? * 1024)
}

/// Runs `work`. Returns its result, and the most memory held meanwhile beyond `before`.
fn watched<T>(before: usize, work: impl FnOnce() -> T) -> (T, usize) {
    let (most, done) = (AtomicUsize::new(before), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) {
                most.fetch_max(anonymous().unwrap_or(0), Relaxed);
                std::thread::sleep(std::time::Duration::from_micros(200));
            }
        });
        let result = work();
        done.store(true, Relaxed);
        (result, most.load(Relaxed) - before)
    })
}

#[test]
fn peak_memory_is_within_three_times_the_matrix() {
    let folder = tempfile::tempdir().unwrap();
    let once = folder.path().join("once.mtx");
    let twice = folder.path().join("twice.mtx");
    {
        let graph = generate("er:17:14", &()).unwrap().graph;
        write_matrix_market(&once, &graph).unwrap();
        // every edge in both directions: twice the entries for the same matrix
        let n = graph.nrows();
        let mut text = format!("%%MatrixMarket matrix coordinate pattern general\n{n} {n} {}\n", graph.nnz());
        for row in 0..n {
            for column in graph.row(row).0 {
                writeln!(text, "{} {}", row + 1, column + 1).unwrap();
            }
        }
        std::fs::write(&twice, text).unwrap();
    }
    // each in a fresh process, because memory that this process has freed but kept would hide what reading takes
    [once, twice].iter().for_each(|path| in_a_process("one_file", path));
}

/// Runs one of the tests below on a file, in a process of its own.
fn in_a_process(test: &str, file: &Path) {
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(FILE, file)
        .status();
    assert!(status.unwrap().success());
}

/// The environment variable that names the file to the process that reads it.
const FILE: &str = "VXM_TEST_FILE";

#[test]
fn one_file() {
    let (Ok(file), Some(before)) = (std::env::var(FILE), anonymous()) else {
        println!("skipped: run by the other test, where there is a /proc/self/status");
        return;
    };
    let (loaded, peak) = watched(before, || read(&file, &()).unwrap());
    let ratio = peak as f64 / loaded.graph.heap_bytes() as f64;
    println!("{file}: peak {ratio:.2} times the matrix");
    assert!(ratio <= 3.0, "{file}: {ratio}");
}

#[test]
fn answers_are_the_same_beyond_memory() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kron.vxm");
    let graph = generate("kron:13:48", &()).unwrap().graph;
    write_native(WholeFile::prepare(&file).unwrap(), &graph, &Numbering::From(0)).unwrap();
    in_a_process("one_graph", &file);
}

/// What algorithms make of a graph, and how a set was found.
fn answers(a: &Matrix) -> (Vec<Vec<Option<u32>>>, String) {
    let told = |v: &Vector<u32>| (0..a.nrows() as u32).map(|i| v.get(i)).collect::<Vec<_>>();
    let set = |priority| {
        let options = MisOptions::default().priority(priority);
        let set = mis(a, &options).unwrap().set;
        (0..a.nrows() as u32).map(|i| set.contains(i).then_some(1)).collect::<Vec<_>>()
    };
    let mut all: Vec<_> = [Priority::Sorted, Priority::Random, Priority::SortedId, Priority::Resolve].map(set).into();
    all.push(told(&color(a, &ColoringOptions::default()).unwrap().colors));
    all.push(told(&bfs(a, 1).unwrap()));
    all.push(told(&components(a).unwrap()));
    (all, explain(|| set(Priority::Random)).1.to_string())
}

#[test]
fn one_graph() {
    let (Ok(file), Some(_)) = (std::env::var(FILE), anonymous()) else {
        println!("skipped: run by the other test, where there is a /proc/self/status");
        return;
    };
    let graph = Matrix::from_simple(read(&file, &()).unwrap().graph);
    assert!(graph.csr().is_mapped());
    let (expected, plan) = answers(&graph);
    assert!(!plan.contains("sweep"), "{plan}");
    // with and without room for what is left of the rows after a sweep; the graph takes 2 MB
    for left in [0, 1 << 20, 3 << 19] {
        let _limit = Resident::limit(anonymous().unwrap() as u64 + left).unwrap();
        let (found, plan) = answers(&graph);
        assert!(found == expected, "{left} bytes");
        assert!(plan.contains("sweep"), "{plan}");
    }
}
