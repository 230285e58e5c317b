//! Many sets at once, against the sets of single runs.

use super::graphs::{every_way, undirected};
use vxm::algorithms::{MisOptions, Priority, mis, mis_many};
use vxm::prelude::*;

const PRIORITIES: [Priority; 5] =
    [Priority::Random, Priority::Degree, Priority::Resolve, Priority::Sorted, Priority::SortedId];

#[test]
fn sets_are_those_of_single_runs() {
    for (name, a) in undirected() {
        for priority in PRIORITIES {
            let options = MisOptions::default().priority(priority);
            // fewer than a loop takes, as many, and more; seeds that repeat, and the greatest
            let last = [u64::MAX, 3, 3];
            let seeds: Vec<u64> = (0..33).map(|k| k * k).chain(last).collect();
            let single = |seed: &u64| mis(&a, &options.seed(*seed)).unwrap().set;
            let expected: Vec<Set> = seeds.iter().map(single).collect();
            for count in [0, 1, 15, 16, 17, 32, 33, 36] {
                let found = mis_many(&a, &options, &seeds[..count]).unwrap();
                let found: Vec<Set> = found.into_iter().map(|found| found.set).collect();
                assert_eq!(found, expected[..count], "{name}, {priority:?}, {count} at once");
            }
        }
    }
}

#[test]
fn every_schedule_finds_the_same() {
    for (name, a) in undirected() {
        for priority in [Priority::Resolve, Priority::Sorted] {
            let options = MisOptions::default().priority(priority).seed(9);
            let seeds = [5, 6, 7, 8];
            let expected = seeds.map(|seed| mis(&a, &options.seed(seed)).unwrap().set);
            for found in every_way(|| mis_many(&a, &options, &seeds)) {
                assert!(found.iter().map(|found| &found.set).eq(&expected), "{name}, {priority:?}");
            }
        }
    }
}

#[test]
fn other_matrices_are_refused() {
    let told = |a: &Matrix| mis_many(a, &MisOptions::default(), &[1]).unwrap_err().to_string();
    let what = "expected an undirected graph (a symmetric matrix), found";
    let one_way = Matrix::from_triples(3, 3, [(0, 1, ())]).unwrap();
    assert_eq!(told(&one_way), format!("{what} a 3 x 3 matrix that isn't"));
    let wide = Matrix::from_triples(2, 3, [(0, 1, ())]).unwrap();
    assert_eq!(told(&wide), format!("{what} a 2 x 3 matrix that isn't"));
}
