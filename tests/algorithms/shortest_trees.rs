//! Trees of shortest paths: by every schedule against the certificate, and against the definition, weights of 0 and below included.

use super::graphs::{directed, every_way, hash, options, undirected};
use vxm::algorithms::{Distance, bfs_parents, sssp, sssp_parents};
use vxm::certify::{self, Weight};
use vxm::prelude::*;

/// The same graph with a weight for each edge.
fn with_weights<T: Element>(a: &Matrix, weight: impl Fn(u32, u32) -> T) -> Matrix<T> {
    let edges = a.iter().filter(|(i, j, ())| i != j).map(|(i, j, ())| (i, j, weight(i, j)));
    Matrix::from_triples(a.nrows(), a.ncols(), edges).unwrap()
}

fn check<T: Distance + Weight>(name: &str, a: &Matrix<T>, source: u32) {
    for found in every_way(|| sssp_parents(a, source)) {
        let (offsets, columns, weights) = (a.csr().offsets(), a.csr().columns(), a.csr().values());
        let checked = certify::shortest_parents(offsets, columns, weights, source as usize, &options(&found));
        assert!(checked.is_ok(), "{name} from {source}: {}", checked.unwrap_err());
        assert_eq!(found.nvals(), sssp(a, source).unwrap().nvals(), "{name} from {source}");
    }
}

#[test]
fn trees_pass_the_certificate() {
    for (name, a) in directed().into_iter().chain(undirected()).filter(|(_, a)| a.nrows() > 0) {
        let n = a.nrows() as u32;
        // few different weights, so that many paths are equally short; a third of them 0
        let (whole, long) =
            (with_weights(&a, |i, j| hash(i, j, 1) % 3), with_weights(&a, |i, j| 1u64 << ((i + j) % 40)));
        let real = with_weights(&a, |i, j| f64::from(hash(i, j, 2) % 4) * 0.1);
        let single = with_weights(&a, |i, j| hash(i, j, 3) as f32 / 7.0);
        for source in [0, n / 2] {
            check(&name, &whole, source);
            check(&name, &long, source);
            check(&name, &real, source);
            check(&name, &single, source);
        }
        // with weights of 1 it is the tree of a search in hops
        let ones = with_weights(&a, |_, _| 1u32);
        assert_eq!(sssp_parents(&ones, n - 1).unwrap(), bfs_parents(&a, n - 1).unwrap(), "{name}");
    }
}

/// By the definition: the least sum and then the fewest edges, by relaxing all edges n times; of the parents that have both, the least.
fn by_definition(a: &Matrix<i64>, source: u32) -> Vec<Option<u32>> {
    let n = a.nrows();
    let mut best = vec![(i64::MAX, u32::MAX); n];
    best[source as usize] = (0, 0);
    let next = |best: &[(i64, u32)], i: u32, w: i64| {
        let (sum, hops) = best[i as usize];
        (sum != i64::MAX).then(|| (sum + w, hops + 1))
    };
    for _ in 0..n {
        for (i, j, w) in a.iter() {
            best[j as usize] = next(&best, i, w).map_or(best[j as usize], |one| one.min(best[j as usize]));
        }
    }
    let before = |j: u32| a.iter().find(|&(i, to, w)| to == j && next(&best, i, w) == Some(best[j as usize]));
    (0..n as u32).map(|j| if j == source { Some(source) } else { before(j).map(|(i, ..)| i) }).collect()
}

#[test]
fn trees_are_those_of_the_definition() {
    for seed in 0..60 {
        let n = 2 + seed % 25;
        let edges = (0..n)
            .flat_map(|i| (0..n).map(move |j| (i, j)))
            .filter(|&(i, j)| i != j && hash(i, j, seed).is_multiple_of(5));
        // a potential makes some weights negative, and no cycle
        let height = |v: u32| i64::from(hash(v, 7, seed) % 4) * i64::from(seed % 2);
        let weight = |i, j| i64::from(hash(i, j, seed + 100) % 3) + height(j) - height(i);
        let edges: Vec<(u32, u32, i64)> = edges.map(|(i, j)| (i, j, weight(i, j))).collect();
        let a = Matrix::from_triples(n as usize, n as usize, edges.iter().copied()).unwrap();
        let real =
            Matrix::from_triples(n as usize, n as usize, edges.iter().map(|&(i, j, w)| (i, j, w as f64))).unwrap();
        for source in 0..n.min(3) {
            let expected = by_definition(&a, source);
            assert_eq!(options(&sssp_parents(&real, source).unwrap()), expected, "seed {seed}, from {source}");
        }
    }
}

#[test]
fn what_has_no_tree_is_refused() {
    let told = |found: Result<Vector<u32>>| found.unwrap_err().to_string();
    let a = Matrix::from_triples(3, 3, [(0, 1, 2.0), (1, 2, -3.0), (2, 1, 1.0)]).unwrap();
    assert_eq!(told(sssp_parents(&a, 0)), "sssp: 0 reaches a cycle of negative weight");
    assert_eq!(told(sssp_parents(&a, 3)), "the source 3 lies outside a graph of 3 vertices");
    // 1e20 takes what is added to it: the way from 1 to 2 and back seems shorter than 1, and none leads there
    let a = Matrix::from_triples(3, 3, [(0, 1, 1.0), (1, 2, 1e20), (2, 1, -1e20)]).unwrap();
    let expected = "sssp_parents: rounded sums along cycles are shorter than every path: expected weights of which none is negative";
    assert_eq!(told(sssp_parents(&a, 0)), expected);
}
