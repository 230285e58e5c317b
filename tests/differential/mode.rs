//! The mode of rows, compared with the reference: rows of all lengths, labels that are absent, masks, and numbers of threads. The variables of
//! the differential tests apply; see `main.rs`.

#[allow(dead_code)]
mod algebra;
#[allow(dead_code)]
mod harness;
#[allow(dead_code)]
mod shapes;

use algebra::mix;
use harness::{Outcome, agree, dry_run, ok, on_device, on_threads, suite};
use proptest::sample::select;
use shapes::{filled, graph, matrix};
use vxm::backend::reference::{self, Dense, Grid};
use vxm::prelude::*;

/// Compares the modes of all rows, and of those that `rows` holds.
fn check<T: Element>(grid: &Grid<T>, a: &Matrix<T>, labels: &[Option<u32>], u: &Vector<u32>, rows: &Set) -> Outcome {
    let expected = grid.mode(labels);
    agree("mode", &expected, &ok(a.mode(u).eval())?)?;
    let wanted: Vec<bool> = (0..a.nrows() as u32).map(|i| rows.contains(i)).collect();
    agree("masked mode", &reference::masked(&expected, &wanted), &ok(a.mode(u).mask(rows).eval())?)
}

#[test]
fn modes_of_any_matrix() {
    let values = select(vec![1u32, 2, 5, 1000]);
    let case = (graph(), filled(), filled(), values, select(vec![1, 2, 8]));
    suite("modes", 300, case, |(graph, labels, rows, values, threads)| {
        let grid: Grid<u32> = graph.grid();
        let a = matrix(&grid, graph.symmetric);
        // labels at both ends of the range
        let label = |x: u32| if x.is_multiple_of(2) { x / 2 % values } else { !(x / 2 % values) };
        let held: Dense<u32> = labels.dense::<u32>(graph.ncols).into_iter().map(|x| x.map(label)).collect();
        let (u, rows) = (labels.vector(&held), rows.vector(&reference::pattern(&rows.dense::<u32>(graph.nrows))));
        on_threads(threads, || check(&grid, &a, &held, &u, &rows))
    });
}

/// A matrix with rows of the lengths at which another group of threads, or a larger table, takes over.
fn of_lengths(seed: u64) -> Grid<()> {
    let lengths = [0, 1, 2, 7, 8, 9, 20, 21, 31, 32, 33, 255, 256, 257, 2047, 2048, 2049, 4100, 1, 3, 40];
    let columns = 4100;
    // a row's entries lie somewhere
    let row = |(i, &length): (usize, &usize)| {
        let start = mix(seed ^ i as u64) as usize % columns;
        (0..columns).map(|j| ((j + columns - start) % columns < length).then_some(())).collect()
    };
    Grid { rows: lengths.iter().enumerate().map(row).collect(), ncols: columns }
}

#[test]
fn rows_of_all_lengths() {
    suite("modes of long rows", 6, (0..1u64 << 16, select(vec![2u64, 60, 3000, 1 << 20])), |(seed, distinct)| {
        let grid = of_lengths(seed);
        let a = matrix(&grid, false);
        let label = |j: u64| {
            Some((mix(seed ^ j << 20) % distinct) as u32).filter(|_| !mix(j).is_multiple_of(17) || seed % 2 > 0)
        };
        let labels: Dense<u32> = (0..grid.ncols as u64).map(label).collect();
        let some = Set::from_indices(
            a.nrows(),
            (0..a.nrows() as u32).filter(|&i| !mix(seed + u64::from(i)).is_multiple_of(3)),
        );
        let (u, some) = (Vector::from_options(&labels), ok(some)?);
        on_threads(2, || check(&grid, &a, &labels, &u, &some))
    });
}

#[test]
fn shapes_must_fit() {
    if dry_run().is_some() {
        return;
    }
    on_device(|| {
        let a = Matrix::from_triples(2, 3, [(0, 1, 5u32)]).unwrap();
        let (short, fitting) = (Vector::full(2, 1u32), Vector::full(3, 1u32));
        let why = a.mode(&short).eval().unwrap_err().to_string();
        assert!(why.contains("mode") && why.contains("matrix of 2 x 3") && why.contains("vector of 2"), "{why}");
        let why = a.mode(&fitting).mask(&Set::all(3)).eval().unwrap_err().to_string();
        assert!(why.contains("matrix of 2 x 3") && why.contains("mask of 3"), "{why}");
    });
}
