//! Bounds that the project promises: on rounds, sizes of sets and numbers of colours.

use vxm::algorithms::{ColoringOptions, MisOptions, Priority, color, mis};
use vxm::certify;
use vxm::io::generate;
use vxm::prelude::*;

fn graph(spec: &str) -> Matrix {
    Matrix::from_simple(generate(spec, &()).unwrap().graph)
}

#[test]
fn grids_and_roads_take_tens_of_rounds() {
    for spec in ["grid:1024x1024", "road:700"] {
        let a = graph(spec);
        for &priority in Priority::ALL {
            if priority != Priority::SortedId {
                let rounds = mis(&a, &MisOptions::default().priority(priority)).unwrap().rounds;
                assert!(rounds <= 30, "{spec}: {rounds} rounds by {priority:?}");
            }
        }
    }
}

#[test]
fn rmat_sets_are_large_and_colours_few() {
    let a = graph("rmat:20:8");
    for (priority, least) in
        [(Priority::Resolve, 61.5), (Priority::Sorted, 61.5), (Priority::Degree, 59.5), (Priority::Random, 57.0)]
    {
        let found = mis(&a, &MisOptions::default().priority(priority)).unwrap();
        let share = 100.0 * found.set.nvals() as f64 / a.nrows() as f64;
        assert!(share >= least, "{share} % by {priority:?}");
    }
    let found = color(&a, &ColoringOptions::default()).unwrap();
    assert!(found.count <= 24, "{} colours", found.count);
    let colors = found.colors.to_dense(0);
    assert_eq!(certify::coloring(a.csr().offsets(), a.csr().columns(), &colors), Ok(found.count));
}
