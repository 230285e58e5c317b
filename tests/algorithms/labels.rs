//! Label propagation, against its certificate and against the definition.

use super::graphs::{every_way, undirected};
use std::collections::BTreeMap;
use vxm::algorithms::{Labels, propagate_labels};
use vxm::certify::{self, Violation};
use vxm::prelude::*;

/// A round by its definition, with a map for each vertex.
fn round(a: &Matrix, labels: &[u32]) -> Vec<u32> {
    let mode = |v: usize| {
        let mut counts = BTreeMap::new();
        a.csr().row(v).0.iter().for_each(|&u| *counts.entry(labels[u as usize]).or_insert(0) += 1);
        let most = counts.values().copied().max()?;
        counts.into_iter().find(|&(_, count)| count == most).map(|(label, _)| label)
    };
    (0..labels.len()).map(|v| mode(v).unwrap_or(labels[v])).collect()
}

#[test]
fn labels_are_those_of_the_definition() {
    for (name, a) in undirected() {
        let (offsets, columns) = (a.csr().offsets(), a.csr().columns());
        let mut expected: Vec<u32> = (0..a.nrows() as u32).collect();
        for rounds in 0..6 {
            for Labels { labels, rounds: took, .. } in every_way(|| propagate_labels(&a, rounds)) {
                assert_eq!(labels.to_dense(u32::MAX), expected, "{name}, {rounds} rounds");
                assert!(took <= rounds, "{name}");
            }
            expected = round(&a, &expected);
        }
        let found = propagate_labels(&a, 20).unwrap();
        let checked = certify::labels(offsets, columns, 20, &found.labels.to_dense(u32::MAX));
        let distinct: std::collections::BTreeSet<u32> = found.labels.iter().map(|(_, label)| label).collect();
        assert_eq!(checked, Ok(distinct.len()), "{name}");
    }
}

#[test]
fn special_graphs() {
    // a clique settles at once on 0, but for vertex 0, which takes 1 first
    let clique = Matrix::undirected(9, &(0..9).flat_map(|i| (0..i).map(move |j| (i, j))).collect::<Vec<_>>()).unwrap();
    let found = propagate_labels(&clique, 20).unwrap();
    assert_eq!((found.labels, found.rounds), (Vector::full(9, 0), 3));
    // the ends of an edge swap for ever
    let pair = Matrix::undirected(3, &[(0, 1)]).unwrap();
    assert_eq!(propagate_labels(&pair, 21).unwrap().labels, Vector::from_dense(vec![1, 0, 2]));
    let back = propagate_labels(&pair, 20).unwrap();
    assert_eq!((back.labels, back.rounds), (Vector::from_dense(vec![0, 1, 2]), 20));
    let one_way = Matrix::from_triples(3, 3, [(0, 1, ())]).unwrap();
    assert!(propagate_labels(&one_way, 20).unwrap_err().to_string().contains("a 3 x 3 matrix that isn't"));
}

#[test]
fn the_certificate_finds_what_is_wrong() {
    let path = Matrix::undirected(4, &[(0, 1), (1, 2), (2, 3)]).unwrap();
    let (offsets, columns) = (path.csr().offsets(), path.csr().columns());
    assert_eq!(certify::labels(offsets, columns, 1, &[1, 0, 1, 2]), Ok(3));
    let wrong = certify::labels(offsets, columns, 1, &[1, 0, 3, 2]).unwrap_err();
    assert_eq!(wrong.to_string(), "2 takes the label 1, the answer says 3");
    assert_eq!(wrong.renumbered(|v| v as u64 + 10).to_string(), "12 takes the label 11, the answer says 13");
    assert_eq!(certify::labels(offsets, columns, 1, &[]), Err(Violation::Length { answer: 0, vertices: 4 }));
}
