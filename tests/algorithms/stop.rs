//! Work that another thread stops ends within a round, a block of rows, or a piece of a file.

use std::io::Write;
use std::time::Duration;
use vxm::algorithms::{bfs, components, triangles};
use vxm::io::{Progress, generate, read};
use vxm::prelude::*;
use vxm::{Error, Stop};

/// Runs work that takes far longer than a moment, and stops it after one.
fn stops<R>(what: &str, work: impl FnOnce() -> Result<R>) {
    let stop = Stop::new();
    let ended = std::thread::scope(|threads| {
        threads.spawn(|| {
            std::thread::sleep(Duration::from_millis(5));
            stop.stop();
        });
        stop.scope(work)
    });
    assert!(matches!(ended, Err(Error::Stopped)), "{what}: {:?}", ended.err());
}

#[op]
fn always(_x: u32) -> bool {
    true
}

#[test]
fn loops_without_end() {
    let state = || fixpoint(Vector::from_dense((0..100_000u32).collect()));
    let next = PLUS.bind(1);
    stops("rounds of changes", || state().while_changed().step(|x| x.map(next)).eval());
    stops("changes in place", || state().while_changed().monotone().step(|x| x.map(next)).eval());
    stops("rounds of active elements", || state().while_active(always).step(|x| x.map(next)).eval());
    stops("passes in place", || state().while_active(always).monotone().step(|x| x.map(next)).eval());
    stops("several steps", || state().while_active(always).step(|x| x.map(next)).then(|x| x.map(next)).eval());
}

#[test]
fn loops_along_edges() {
    let a = Matrix::from_simple(generate("grid:1000x1000", &()).unwrap().graph);
    stops("relaxed by buckets", || (0..1000).try_for_each(|source| bfs(&a, source).map(drop)));
    // labels spread along edges, from the best
    let labels = || Vector::from_dense((0..1_000_000u32).rev().collect());
    let spread = |labels| {
        let labels = fixpoint(labels).while_changed().monotone();
        labels.step(|x| x.ewise_add(x.vxm(&a, MIN_FIRST), MIN)).eval()
    };
    stops("labels", || (0..100).try_for_each(|_| spread(labels()).map(drop)));
    stops("operations", || (0..100_000).try_for_each(|_| components(&a).map(drop)));
}

#[test]
fn products_of_matrices() {
    let a = Matrix::from_simple(generate("rmat:15:16", &()).unwrap().graph);
    stops("a product by rows", || (0..1000).try_for_each(|_| a.mxm(&a, PLUS_PAIR).eval().map(drop)));
    stops("a product under a mask", || (0..1000).try_for_each(|_| triangles(&a).map(drop)));
    stops("a product but for a mask", || (0..1000).try_for_each(|_| a.mxm(&a, PLUS_PAIR).mask(!&a).eval().map(drop)));
}

/// Stops the work at the first report.
struct AtOnce(Stop);

impl Progress for AtOnce {
    fn advance(&self, _: u64) {
        self.0.stop();
    }
}

#[test]
fn files_and_generators() {
    let stops = |name: &str| {
        let progress = AtOnce(Stop::new());
        let read = progress.0.clone().scope(|| read(name, &progress));
        assert!(matches!(read, Err(Error::Stopped)), "{name}: {:?}", read.err());
    };
    stops("rmat:12:8");
    stops("er:12:8");
    let folder = tempfile::tempdir().unwrap();
    let lines: Vec<u8> = (0..300_000u32).flat_map(|k| format!("{} {}\n", k, k / 2).into_bytes()).collect();
    let plain = folder.path().join("edges.el");
    std::fs::write(&plain, &lines).unwrap();
    stops(plain.to_str().unwrap());
    let packed = folder.path().join("edges.el.gz");
    let mut encoder =
        flate2::write::GzEncoder::new(std::fs::File::create(&packed).unwrap(), flate2::Compression::fast());
    encoder.write_all(&lines).unwrap();
    encoder.finish().unwrap();
    stops(packed.to_str().unwrap());
    // the lines of a METIS file are counted first
    let path: Vec<u8> = (0..200_000u32)
        .flat_map(|k| {
            let neighbours = [k.checked_sub(1), Some(k + 1).filter(|&k| k < 200_000)].into_iter().flatten();
            let line: Vec<String> = neighbours.map(|k| (k + 1).to_string()).collect();
            (line.join(" ") + "\n").into_bytes()
        })
        .collect();
    let metis = folder.path().join("path.graph");
    std::fs::write(&metis, [b"200000 199999\n".to_vec(), path].concat()).unwrap();
    stops(metis.to_str().unwrap());
    // without a stop all of it is there
    assert_eq!(read(&plain, &()).unwrap().graph.nnz(), 2 * 299_999);
}

#[test]
fn only_the_scope_is_stopped() {
    let a = Matrix::undirected(3, &[(0, 1)]).unwrap();
    let (outer, inner) = (Stop::new(), Stop::new());
    inner.stop();
    let found = outer.scope(|| {
        assert!(matches!(inner.scope(|| components(&a)), Err(Error::Stopped)));
        components(&a)
    });
    assert_eq!(found.unwrap().to_dense(9), [0, 0, 2]);
    outer.stop();
    assert!(components(&a).is_ok() && outer.is_stopped() && outer.clone().scope(|| Ok(())).is_err());
    assert_eq!(Error::Stopped.to_string(), "stopped");
}
