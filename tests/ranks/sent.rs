//! What ranks send is counted, and stays within the bars of docs/lab/047.

use std::sync::Arc;
use vxm::algorithms::{MisOptions, Priority, mis};
use vxm::containers::Matrix;
use vxm::ranks::{Communicator, Grid, Threads, Traffic};

/// The bytes that all ranks of a grid send while they find a set, and their number of messages.
fn sent(a: &Matrix, rows: usize, columns: usize) -> Traffic {
    let options = MisOptions::default().priority(Priority::Sorted);
    let all = Threads::run(rows * columns, |world: Arc<dyn Communicator>| {
        let grid = Grid::of(world, rows, columns)?;
        let a = a.to_grid(&grid)?;
        let before = grid.sent();
        mis(&a, &options)?;
        let count = |k: usize| {
            let (now, then) = (grid.sent()[k], before[k]);
            Traffic { bytes: now.bytes - then.bytes, messages: now.messages - then.messages }
        };
        Ok::<_, vxm::Error>([count(0), count(1), count(2)])
    });
    let mut sum = Traffic::default();
    for part in all.into_iter().flat_map(|rank| rank.unwrap()) {
        sum.bytes += part.bytes;
        sum.messages += part.messages;
    }
    sum
}

#[test]
fn a_set_sends_few_bytes_a_vertex() {
    let a = Matrix::from_simple(vxm::io::read("kron:12:16", &()).unwrap().graph);
    assert_eq!(sent(&a, 1, 1), Traffic::default());
    let bytes = |rows, columns| sent(&a, rows, columns).bytes as f64 / a.nrows() as f64;
    // the keys of round 1 included: 4 bytes to each other rank of a column that reads them
    assert!(bytes(2, 2) < 16.0, "{}", bytes(2, 2));
    assert!(bytes(2, 1) < 8.0, "{}", bytes(2, 1));
}
