//! Sets and colourings at distance 2, against their certificates and against sequential greedy answers over the square of the graph.

use super::check::descending;
use super::graphs::{every_way, undirected};
use std::collections::BTreeSet;
use vxm::algorithms::priority::{largest_degree_first, priorities, smallest_degree_last};
use vxm::algorithms::{Priority, color_at_distance_2, mis_at_distance_2};
use vxm::certify::{self, Violation};
use vxm::prelude::*;

/// The graph with an edge between vertices at most two edges apart, by its definition.
fn square(a: &Matrix) -> Matrix {
    let n = a.nrows();
    let row = |v: u32| a.csr().row(v as usize).0.iter().copied();
    let near = |v: u32| row(v).chain(row(v).flat_map(row)).filter(move |&u| u != v).collect::<BTreeSet<u32>>();
    let edges: Vec<(u32, u32)> = (0..n as u32).flat_map(|v| near(v).into_iter().map(move |u| (v, u))).collect();
    Matrix::undirected(n, &edges).unwrap()
}

#[test]
fn sets_and_colourings_are_those_of_the_square() {
    for (name, a) in undirected() {
        let (offsets, columns) = (a.csr().offsets(), a.csr().columns());
        let squared = square(&a);
        let (far, near) = (squared.csr().offsets(), squared.csr().columns());
        for key in [priorities(&a, Priority::Random, 3), largest_degree_first(&a, 3), smallest_degree_last(&a, 3)] {
            let key = key.unwrap();
            let order = descending(&key);
            let greedy = certify::greedy_set(far, near, order.iter().copied());
            for found in every_way(|| mis_at_distance_2(&a, &key)) {
                let member: Vec<bool> = (0..a.nrows() as u32).map(|v| found.set.contains(v)).collect();
                assert_eq!(certify::independent_set_at_distance_2(offsets, columns, &member), Ok(()), "{name}");
                assert_eq!(member, greedy, "{name}");
            }
            let greedy = certify::greedy_coloring(far, near, order.iter().copied());
            assert_eq!(certify::greedy_coloring_at_distance_2(offsets, columns, order), greedy, "{name}");
            let found = color_at_distance_2(&a, &key).unwrap();
            let colors = found.colors.to_dense(0);
            assert_eq!(certify::coloring_at_distance_2(offsets, columns, &colors), Ok(found.count), "{name}");
            assert_eq!(colors, greedy, "{name}");
            let longest = (0..a.nrows()).map(|v| a.csr().degree(v) + 1).max().unwrap_or(0);
            assert!(found.count as usize >= longest, "{name}");
        }
    }
}

#[test]
fn equal_keys_and_absent_ones() {
    let path = Matrix::undirected(7, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)]).unwrap();
    // of equal keys the higher number comes first
    let found = mis_at_distance_2(&path, &Vector::full(7, 5)).unwrap();
    assert_eq!(found.set, Set::from_indices(7, [0, 3, 6]).unwrap());
    // a vertex without a key excludes nothing, and joins two that have it between them
    let key = Vector::from_pairs(7, [(0, 5), (2, 6), (5, 1)]).unwrap();
    assert_eq!(mis_at_distance_2(&path, &key).unwrap().set, Set::from_indices(7, [2, 5]).unwrap());
    let one_way = Matrix::from_triples(3, 3, [(0, 1, ())]).unwrap();
    for refused in [
        mis_at_distance_2(&one_way, &Vector::full(3, 1)).err(),
        color_at_distance_2(&one_way, &Vector::full(3, 1)).err(),
    ] {
        assert!(refused.unwrap().to_string().contains("a 3 x 3 matrix that isn't"));
    }
    assert!(mis_at_distance_2(&path, &Vector::full(3, 1)).is_err());
}

#[test]
fn certificates_find_what_is_wrong() {
    // a star around 0, and the path 3 - 4 - 5
    let a = Matrix::undirected(6, &[(0, 1), (0, 2), (0, 3), (3, 4), (4, 5)]).unwrap();
    let (offsets, columns) = (a.csr().offsets(), a.csr().columns());
    let set = |members: &[usize]| {
        let member: Vec<bool> = (0..6).map(|v| members.contains(&v)).collect();
        certify::independent_set_at_distance_2(offsets, columns, &member)
    };
    assert_eq!(set(&[1, 4]), Ok(()));
    assert_eq!(set(&[1]), Err(Violation::NotMaximal { vertex: 4 }));
    assert_eq!(set(&[0, 3]), Err(Violation::TooNear { vertex: 0, other: 3 }));
    let wrong = set(&[1, 2, 5]).unwrap_err().renumbered(|v| v as u64 + 10).to_string();
    assert_eq!(wrong, "11 and 12 are both in the set, and at most two edges apart");
    let coloring = |colors: [u32; 6]| certify::coloring_at_distance_2(offsets, columns, &colors);
    assert_eq!(coloring([1, 2, 3, 4, 2, 1]), Ok(4));
    assert_eq!(coloring([1, 2, 3, 4, 0, 1]), Err(Violation::Uncolored { vertex: 4 }));
    let wrong = coloring([1, 2, 3, 2, 3, 1]).unwrap_err().renumbered(|v| v as u64 + 10).to_string();
    assert_eq!(wrong, "11 and 13 both have colour 2, and are at most two edges apart");
}
