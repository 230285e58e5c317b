//! Betweenness, against its certificate and against the definition.

use super::graphs::{every_way, undirected};
use vxm::algorithms::betweenness;
use vxm::certify::{self, Violation};
use vxm::prelude::*;

/// The hops between all vertices, and the numbers of shortest paths, by Floyd and Warshall's method.
fn all_paths(a: &Matrix) -> (Vec<Vec<u32>>, Vec<Vec<f64>>) {
    let n = a.nrows();
    let far = u32::MAX / 2;
    let mut hops = vec![vec![far; n]; n];
    a.iter().for_each(|(i, j, ())| hops[i as usize][j as usize] = 1);
    (0..n).for_each(|i| hops[i][i] = 0);
    for k in 0..n {
        for i in 0..n {
            for j in 0..n {
                hops[i][j] = hops[i][j].min(hops[i][k] + hops[k][j]);
            }
        }
    }
    let mut paths = vec![vec![0.0; n]; n];
    for i in 0..n {
        let mut order: Vec<usize> = (0..n).filter(|&j| hops[i][j] < far).collect();
        order.sort_by_key(|&j| hops[i][j]);
        paths[i][i] = 1.0;
        for &j in &order[1..] {
            let before = a.csr().row(j).0.iter().filter(|&&k| hops[i][k as usize] + 1 == hops[i][j]);
            paths[i][j] = before.map(|&k| paths[i][k as usize]).sum();
        }
    }
    (hops, paths)
}

/// Betweenness by its definition: over all pairs, the share of shortest paths through a vertex.
fn by_pairs(a: &Matrix) -> Vec<f64> {
    let (n, (hops, paths)) = (a.nrows(), all_paths(a));
    let through = |v: usize, s: usize, t: usize| {
        let between = v != s && v != t && hops[s][t] < u32::MAX / 2 && hops[s][v] + hops[v][t] == hops[s][t];
        if between { paths[s][v] * paths[v][t] / paths[s][t] } else { 0.0 }
    };
    (0..n).map(|v| (0..n).flat_map(|s| (0..s).map(move |t| (s, t))).map(|(s, t)| through(v, s, t)).sum()).collect()
}

#[test]
fn betweenness_is_that_of_the_definition() {
    for (name, a) in undirected() {
        let (offsets, columns, n) = (a.csr().offsets(), a.csr().columns(), a.nrows() as u32);
        // from all vertices of small graphs, and from some of the others
        let sources: Vec<u32> = if n <= 100 { (0..n).collect() } else { (0..n).step_by(n as usize / 7).collect() };
        let found = every_way(|| betweenness(&a, &sources));
        assert!(found.iter().all(|one| *one == found[0]), "{name}");
        let answer = found[0].to_dense(f64::NAN);
        assert!(certify::betweenness(offsets, columns, &sources, &answer, 1e-11).is_ok(), "{name}");
        if n <= 100 {
            let close = |(x, y): (&f64, f64)| (x - y).abs() <= 1e-11 * (1.0 + y);
            assert!(answer.iter().zip(by_pairs(&a)).all(close), "{name}: {answer:?}");
        }
    }
}

#[test]
fn special_graphs() {
    // all paths between leaves lead through the centre
    let star = Matrix::undirected(9, &(1..9).map(|v| (0, v)).collect::<Vec<_>>()).unwrap();
    let all: Vec<u32> = (0..9).collect();
    let found = betweenness(&star, &all).unwrap();
    assert_eq!(found.to_dense(f64::NAN), [28.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    // no sources, and no paths
    assert_eq!(betweenness(&star, &[]).unwrap(), Vector::full(9, 0.0));
    // a chain of 1100 squares has 2^1100 shortest paths from end to end
    let squares: Vec<(u32, u32)> = (0..1100)
        .flat_map(|k| [(3 * k, 3 * k + 1), (3 * k, 3 * k + 2), (3 * k + 1, 3 * k + 3), (3 * k + 2, 3 * k + 3)])
        .collect();
    let chain = Matrix::undirected(3301, &squares).unwrap();
    let why = betweenness(&chain, &[0]).unwrap_err().to_string();
    assert!(why.contains("more shortest paths than f64 can count"), "{why}");
    assert!(betweenness(&star, &[9]).is_err());
    let one_way = Matrix::from_triples(3, 3, [(0, 1, ())]).unwrap();
    assert!(betweenness(&one_way, &[0]).unwrap_err().to_string().contains("a 3 x 3 matrix that isn't"));
}

#[test]
fn the_certificate_finds_what_is_wrong() {
    let path = Matrix::undirected(4, &[(0, 1), (1, 2), (2, 3)]).unwrap();
    let (offsets, columns) = (path.csr().offsets(), path.csr().columns());
    let check = |answer: &[f64]| certify::betweenness(offsets, columns, &[0, 1, 2, 3], answer, 1e-9);
    assert_eq!(check(&[0.0, 2.0, 2.0 + 1e-12, 0.0]), Ok(2.0));
    let wrong = check(&[0.0, 2.0, 1.5, 0.0]).unwrap_err().renumbered(|v| v as u64 + 10).to_string();
    assert_eq!(wrong, "12 has the betweenness 2, the answer says 1.5");
    assert!(check(&[0.0, 2.0, f64::NAN, 0.0]).is_err());
    assert_eq!(check(&[0.0]), Err(Violation::Length { answer: 1, vertices: 4 }));
}
