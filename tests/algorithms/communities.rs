//! Communities of great modularity, against their certificate, a sequential search, and partitions that are known.

use super::graphs::{every_way, hash, undirected};
use vxm::algorithms::communities;
use vxm::certify::{self, Violation};
use vxm::prelude::*;

/// Modularity by its definition, over all pairs of vertices.
fn by_pairs(a: &Matrix, labels: &[u32]) -> f64 {
    let (n, total) = (a.nrows(), a.nnz() as f64);
    let pair = |i: usize, j: usize| {
        let expected = a.csr().degree(i) as f64 * a.csr().degree(j) as f64 / total;
        f64::from(a.get(i as u32, j as u32).is_some()) - expected
    };
    let same = |&(i, j): &(usize, usize)| labels[i] == labels[j];
    let sum: f64 = (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(same).map(|(i, j)| pair(i, j)).sum();
    if total > 0.0 { sum / total } else { 0.0 }
}

/// The modularity that moving one vertex at a time reaches, until no move gains: Louvain's first level, by a sequential program.
fn one_at_a_time(a: &Matrix) -> f64 {
    let (csr, n) = (a.csr(), a.nrows());
    let (offsets, columns) = (csr.offsets(), csr.columns());
    let mut labels: Vec<u32> = (0..n as u32).collect();
    let mut best = certify::modularity(offsets, columns, &labels);
    for _ in 0..4 {
        for v in 0..n {
            for &u in csr.row(v).0 {
                let (old, other) = (labels[v], labels[u as usize]);
                labels[v] = other;
                let found = certify::modularity(offsets, columns, &labels);
                if found > best + 1e-12 { best = found } else { labels[v] = old }
            }
        }
    }
    best
}

#[test]
fn communities_have_their_modularity() {
    for (name, a) in undirected() {
        let (offsets, columns) = (a.csr().offsets(), a.csr().columns());
        let found = every_way(|| communities(&a, 1e-6));
        assert!(found.iter().all(|one| *one == found[0]), "{name}");
        let (labels, told) = (found[0].labels.to_dense(u32::MAX), found[0].modularity);
        assert_eq!(certify::communities(offsets, columns, &labels, told, 1e-10), Ok(found[0].count as usize), "{name}");
        assert!(told >= 0.0, "{name}: {told}");
        if a.nrows() <= 100 {
            assert!((by_pairs(&a, &labels) - told).abs() < 1e-10, "{name}");
            assert!(told >= 0.9 * one_at_a_time(&a), "{name}: {told}");
        }
    }
}

#[test]
fn rings_of_cliques_are_found() {
    // 8 cliques of 6 vertices, each joined to the next by an edge
    let cliques = 0..8u32;
    let inner = cliques.clone().flat_map(|k| (0..6).flat_map(move |i| (0..i).map(move |j| (6 * k + i, 6 * k + j))));
    let edges: Vec<(u32, u32)> = inner.chain(cliques.map(|k| (6 * k, (6 * k + 7) % 48))).collect();
    let ring = Matrix::undirected(48, &edges).unwrap();
    let found = communities(&ring, 0.0).unwrap();
    assert_eq!(found.labels, Vector::from_dense((0..48).map(|v| v / 6 * 6).collect()));
    assert_eq!(found.count, 8);
    let whole = communities(&Matrix::undirected(5, &[]).unwrap(), 0.0).unwrap();
    assert_eq!((whole.count, whole.modularity), (5, 0.0));
    for tolerance in [-1.0, f64::NAN] {
        let why = communities(&ring, tolerance).unwrap_err().to_string();
        assert_eq!(why, format!("communities: tolerance {tolerance}: expected a number from 0 on"));
    }
}

/// Rounds grow with the logarithm of a path's length, however its vertices are numbered.
#[test]
fn chains_take_few_rounds() {
    let n = 20_000u32;
    let mut shuffled: Vec<u32> = (0..n).collect();
    shuffled.sort_by_key(|&v| hash(v, 0, 7));
    for order in [(0..n).collect(), (0..n).rev().collect(), shuffled] {
        let edges: Vec<_> = order.windows(2).map(|ends| (ends[0], ends[1])).collect();
        let found = communities(&Matrix::undirected(n as usize, &edges).unwrap(), 1e-6).unwrap();
        // the best are about sqrt(n) parts of equal length, of modularity 1 - 2 / sqrt(n)
        assert!(found.modularity > 0.98 && found.rounds < 300, "{} in {} rounds", found.modularity, found.rounds);
    }
}

#[test]
fn the_certificate_finds_what_is_wrong() {
    let path = Matrix::undirected(4, &[(0, 1), (1, 2), (2, 3)]).unwrap();
    let check =
        |labels: &[u32], told| certify::communities(path.csr().offsets(), path.csr().columns(), labels, told, 1e-9);
    assert_eq!(check(&[0, 0, 2, 2], 1.0 / 6.0), Ok(2));
    let wrong = check(&[0, 0, 2, 2], 0.25).unwrap_err().to_string();
    assert!(wrong.starts_with("the communities have the modularity 0.1666") && wrong.ends_with("says 0.25"), "{wrong}");
    let wrong = check(&[0, 0, 3, 3], 0.25).unwrap_err().renumbered(|v| v as u64 + 10).to_string();
    assert_eq!(wrong, "12 is labelled 13, the least vertex of its community is 12");
    assert!(check(&[0, 0, 2, 2], f64::NAN).is_err());
    assert_eq!(check(&[0], 0.0), Err(Violation::Length { answer: 1, vertices: 4 }));
}
