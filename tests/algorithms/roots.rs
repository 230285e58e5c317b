//! Roots of forests against a sequential program, by every schedule; and what is no forest.

use super::graphs::{every_way, hash};
use vxm::algorithms::{Roots, on_cycle, parents_of, roots};
use vxm::certify;
use vxm::prelude::*;

/// A forest of `n` vertices in no order: `parent(v)` is less than `v`, or `v` itself.
fn forest(n: u32, parent: impl Fn(u32) -> u32) -> Matrix {
    let mut name: Vec<u32> = (0..n).collect();
    name.sort_by_key(|&v| hash(v, 0, 9));
    let edges = (0..n).map(|v| (name[v as usize], name[parent(v) as usize], ()));
    Matrix::from_triples(n as usize, n as usize, edges).unwrap()
}

/// How many pointers lead from a vertex to its root.
fn depth(parent: &Vector<u32>, vertex: u32) -> u32 {
    core::iter::successors(Some(vertex), |&v| parent.get(v).filter(|&up| up != v)).count() as u32 - 1
}

/// Forests: paths, stars, random trees flat and deep, without edges, of one vertex and none.
fn forests() -> Vec<(&'static str, Matrix)> {
    vec![
        ("nothing", forest(0, |v| v)),
        ("one", forest(1, |v| v)),
        ("two", forest(2, |_| 0)),
        ("loops", forest(50, |v| v)),
        ("no edges", Matrix::from_triples(9, 9, []).unwrap()),
        ("path of 64", forest(64, |v| v.saturating_sub(1))),
        ("path of 65", forest(65, |v| v.saturating_sub(1))),
        ("path of 66", forest(66, |v| v.saturating_sub(1))),
        ("long path", forest(5000, |v| v.saturating_sub(1))),
        ("star", forest(3000, |_| 0)),
        ("random", forest(4000, |v| hash(v, 1, 2) % v.max(1))),
        ("near", forest(4000, |v| v.saturating_sub(hash(v, 1, 3) % 4))),
        ("binary", forest(2047, |v| v.saturating_sub(1) / 2)),
    ]
}

#[test]
fn roots_are_those_of_a_sequential_program() {
    for (name, a) in forests() {
        let (parent, mut rounds) = (parents_of(&a).unwrap(), Vec::new());
        assert_eq!(on_cycle(&parent).unwrap(), None, "{name}");
        for found in every_way(|| roots(&parent)) {
            let checked = certify::roots(a.csr().offsets(), a.csr().columns(), &found.roots.to_dense(u32::MAX));
            assert!(checked.is_ok(), "{name}: {}", checked.unwrap_err());
            rounds.push(found.rounds);
        }
        // paths halve in each round, and one more changes nothing
        let longest = (0..a.nrows() as u32).map(|v| depth(&parent, v)).max().unwrap_or(0);
        let expected = longest.max(1).next_power_of_two().ilog2() + 1;
        assert!(a.nrows() == 0 || rounds.iter().all(|&r| r == expected), "{name}: {rounds:?}, expected {expected}");
    }
}

#[test]
fn cycles_are_named_by_their_least_vertex() {
    let told = |found: Result<Roots>| found.unwrap_err().to_string();
    // cycles of 1 to 40 vertices, with a tail into each that begins at a lesser vertex, beside a tree; a cycle of one is a root
    for length in 2..40u32 {
        let n = 10 + length + 3;
        // 0 -> 1 -> .. -> 9 -> the cycle, in a scrambled order of its vertices
        let stride = if length % 11 == 0 { 13 } else { 11 };
        let on: Vec<u32> = (0..length).map(|k| 10 + k * stride % length).collect();
        let tail = (0..9).map(|v| (v, v + 1)).chain([(9, on[length as usize / 2])]);
        let around = (0..length as usize).map(|k| (on[k], on[(k + 1) % length as usize]));
        let tree = [(n - 1, n - 2), (n - 2, n - 3)];
        let parent = Vector::from_pairs(n as usize, tail.chain(around).chain(tree)).unwrap();
        assert_eq!(on_cycle(&parent).unwrap(), Some(10), "{length}");
        assert_eq!(told(roots(&parent)), "roots: vertex 10 lies on a cycle: expected parents without one", "{length}");
        let edges = parent.iter().map(|(v, parent)| (v, parent, ()));
        let a = Matrix::from_triples(n as usize, n as usize, edges).unwrap();
        let followed = certify::followed(a.csr().offsets(), a.csr().columns());
        assert!((0..n).all(|v| followed[v as usize].is_some() == (v >= n - 3)), "{length}");
    }
    let whole = Vector::from_dense(vec![1, 2, 3, 0]);
    assert_eq!(on_cycle(&whole).unwrap(), Some(0));
}

#[test]
fn what_is_no_forest_is_refused() {
    let told = |found: Result<Vector<u32>>| found.unwrap_err().to_string();
    let parent = Vector::from_pairs(4, [(1, 0), (2, 4), (3, 7)]).unwrap();
    let outside = "roots: 4, the parent of vertex 2, lies outside a forest of 4 vertices";
    assert_eq!(told(roots(&parent).map(|found| found.roots)), outside);
    assert_eq!(on_cycle(&parent).unwrap_err().to_string(), outside);
    let split = Matrix::from_triples(4, 4, [(0, 1, ()), (2, 0, ()), (2, 1, ()), (2, 3, ()), (3, 0, ()), (3, 1, ())]);
    let expected = "roots: vertex 2 has 3 out-edges: expected at most one from each vertex, to its parent";
    assert_eq!(told(parents_of(&split.unwrap())), expected);
    // a self-loop makes a root
    let looped = Matrix::from_triples(3, 3, [(0, 2, ()), (1, 2, ()), (2, 2, ())]).unwrap();
    assert_eq!(parents_of(&looped).unwrap(), Vector::from_dense(vec![2, 2, 2]));
    let wide = Matrix::from_triples(2, 3, [(0, 1, ())]).unwrap();
    assert_eq!(told(parents_of(&wide)), "expected a graph (a square matrix), found a 2 x 3 matrix");
}
