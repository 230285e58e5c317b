//! Levels, distances and components, compared with sequential programs: a queue, Dijkstra, Bellman-Ford and union-find.

use super::graphs::{every_way, options};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use vxm::algorithms::{Distance, bfs, components, sssp};
use vxm::certify;
use vxm::io::generate;
use vxm::prelude::*;

fn check_levels(name: &str, a: &Matrix, source: u32) {
    for found in every_way(|| bfs(a, source)) {
        let (offsets, columns) = (a.csr().offsets(), a.csr().columns());
        let reached = certify::levels(offsets, columns, source as usize, &options(&found));
        assert_eq!(reached, Ok(found.nvals()), "{name} from {source}");
    }
}

/// The components by union-find, an edge at a time; the root of each tree is its least vertex.
fn forest(a: &Matrix) -> Vec<u32> {
    let mut parent: Vec<u32> = (0..a.nrows() as u32).collect();
    let root = |parent: &[u32], mut v: u32| {
        while parent[v as usize] != v {
            v = parent[v as usize];
        }
        v
    };
    for (i, j, ()) in a.iter() {
        let (x, y) = (root(&parent, i), root(&parent, j));
        parent[x.max(y) as usize] = x.min(y);
    }
    (0..a.nrows() as u32).map(|v| root(&parent, v)).collect()
}

fn check_components(name: &str, a: &Matrix) {
    let expected = forest(a);
    let roots = expected.iter().zip(0..).filter(|&(&label, v)| label == v).count();
    for found in every_way(|| components(a)) {
        assert_eq!(found, Vector::from_dense(expected.clone()), "{name}");
        let counted = certify::components(a.csr().offsets(), a.csr().columns(), &found.to_dense(0));
        assert_eq!(counted, Ok(roots), "{name}");
    }
}

#[test]
fn every_generator() {
    let specs =
        ["grid:1x1", "grid:1x77", "grid:23x31", "er:9:1", "er:7:0", "rmat:10:4", "kron:9:16", "rgg:9", "road:16"];
    for spec in specs.into_iter().chain(["delaunay:9", "er:0:3"]) {
        let a = Matrix::from_simple(generate(spec, &()).unwrap().graph);
        let n = a.nrows() as u32;
        [0, n / 2, n - 1].into_iter().for_each(|source| check_levels(spec, &a, source));
        check_components(spec, &a);
    }
}

#[test]
fn a_long_path_in_no_order() {
    // label propagation without pointer jumping would take about as many rounds as there are vertices
    let n = 20_000u64;
    let mut order: Vec<u64> = (0..n).collect();
    order.sort_by_key(|&k| k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7);
    let edges: Vec<(u32, u32)> = order.windows(2).map(|ends| (ends[0] as u32, ends[1] as u32)).collect();
    let a = Matrix::undirected(n as usize, &edges).unwrap();
    assert_eq!(components(&a).unwrap(), Vector::full(n as usize, 0));
    let two = Matrix::undirected(n as usize, &[&edges[..9_000], &edges[9_001..]].concat()).unwrap();
    assert_eq!(components(&two).unwrap(), Vector::from_dense(forest(&two)));
}

#[test]
fn a_giant_without_the_first_vertex() {
    // 5 is the centre of a star of all later vertices; 3 is a neighbour of the last one; 1 and 2 are a component; 0 and 4 are isolated
    for n in [40u32, 3000] {
        let mut edges: Vec<(u32, u32)> = (6..n).map(|v| (5, v)).collect();
        edges.extend([(3, n - 1), (1, 2)]);
        let a = Matrix::undirected(n as usize, &edges).unwrap();
        check_components("a star", &a);
        assert_eq!(components(&a).unwrap().get(5), Some(3));
    }
}

#[test]
fn a_hub_apart_from_most() {
    // 0 is isolated; 7 has the longest row, but its star is small; 58 and later vertices are a path, except the last, which is isolated
    let n = 2000u32;
    let star = (8..58).map(|v| (7, v));
    let edges: Vec<(u32, u32)> = star.chain([(1, 8)]).chain((58..n - 2).map(|v| (v, v + 1))).collect();
    let a = Matrix::undirected(n as usize, &edges).unwrap();
    assert_eq!(pivot(&a).unwrap(), 7);
    check_components("a star and a path", &a);
    assert_eq!((components(&a).unwrap().get(7), components(&a).unwrap().get(n - 2)), (Some(1), Some(58)));
}

#[test]
fn guesses_at_the_giant() {
    let giant = |n, edges: &[(u32, u32)]| pivot(&Matrix::undirected(n, edges).unwrap()).unwrap();
    assert_eq!((giant(0, &[]), giant(9, &[])), (0, 0));
    // the first of the longest rows
    assert_eq!(giant(6, &[(1, 3), (2, 4), (2, 5), (3, 5)]), 2);
    // vertex 0, if it has two neighbours or more and no row is much longer
    assert_eq!(giant(6, &[(0, 1), (0, 2), (3, 4), (3, 5), (3, 2)]), 0);
}

/// Dijkstra's distances, for weights that aren't negative. `order` maps a distance to an integer in the same order, `back` is its inverse.
fn dijkstra<T: Distance>(a: &Matrix<T>, source: u32, order: fn(T) -> u64, back: fn(u64) -> T) -> Vec<Option<T>> {
    let mut found = vec![None; a.nrows()];
    let mut queue = BinaryHeap::from([(Reverse(order(T::ZERO)), source)]);
    while let Some((Reverse(distance), v)) = queue.pop() {
        if found[v as usize].is_some() {
            continue;
        }
        found[v as usize] = Some(back(distance));
        let (columns, weights) = a.csr().row(v as usize);
        for (&u, &weight) in columns.iter().zip(weights) {
            let longer = T::LONGER.call(back(distance), weight);
            if longer.bits() != T::FAR.bits() {
                queue.push((Reverse(order(longer)), u));
            }
        }
    }
    found
}

fn check_distances<T: Distance>(what: &str, a: &Matrix<T>, source: u32, order: fn(T) -> u64, back: fn(u64) -> T) {
    let expected = dijkstra(a, source, order, back);
    let bits = |x: &[Option<T>]| x.iter().map(|x| x.map(T::bits)).collect::<Vec<_>>();
    for found in every_way(|| sssp(a, source)) {
        assert_eq!(bits(&options(&found)), bits(&expected), "{what} from {source}");
    }
}

/// A strategy for directed graphs: the number of vertices, and edges with a number each.
fn directed() -> impl Strategy<Value = (usize, Vec<(u32, u32, u32)>)> {
    let sizes = prop_oneof![4 => 1u32..12, 3 => 12u32..60, 1 => 200u32..700];
    sizes.prop_flat_map(|n| {
        let edges = prop::collection::vec((0..n, 0..n, any::<u32>()), 0..(4 * n as usize));
        (Just(n as usize), edges).prop_map(|(n, mut edges)| {
            edges.sort_unstable();
            edges.dedup_by_key(|edge| (edge.0, edge.1));
            (n, edges)
        })
    })
}

fn cases<S: Strategy>(strategy: S, test: impl Fn(S::Value)) {
    let mut runner = TestRunner::new(Config { cases: 64, failure_persistence: None, ..Config::default() });
    let run = runner.run(&strategy, |case| {
        test(case);
        Ok(())
    });
    run.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn random_graphs() {
    cases((directed(), any::<u32>()), |((n, edges), draw)| {
        let (name, source) = (format!("{n} vertices, edges {edges:?}"), draw % n as u32);
        let weighted =
            |range: u32| Matrix::from_triples(n, n, edges.iter().map(|&(i, j, w)| (i, j, w % range))).unwrap();
        check_levels(&name, &weighted(1).pattern(), source);
        check_distances(&name, &weighted(100), source, u64::from, |x| x as u32);
        // sums that overflow
        check_distances(&name, &weighted(u32::MAX), source, u64::from, |x| x as u32);
        let wide = |w: u32| u64::from(w) << 31;
        let a = Matrix::from_triples(n, n, edges.iter().map(|&(i, j, w)| (i, j, wide(w)))).unwrap();
        check_distances(&name, &a, source, |x| x, |x| x);
        let a = Matrix::from_triples(n, n, edges.iter().map(|&(i, j, w)| (i, j, w as f32 * 0.1))).unwrap();
        check_distances(&name, &a, source, |x| x.to_bits().into(), |x| f32::from_bits(x as u32));
        let a = Matrix::from_triples(n, n, edges.iter().map(|&(i, j, w)| (i, j, f64::from(w) * 0.1))).unwrap();
        check_distances(&name, &a, source, f64::to_bits, f64::from_bits);
        let ends: Vec<(u32, u32)> = edges.iter().map(|&(i, j, _)| (i, j)).collect();
        check_components(&name, &Matrix::undirected(n, &ends[..ends.len() / 4]).unwrap());
    });
}

/// Bellman-Ford distances; `None` if the source reaches a cycle of negative length.
fn bellman_ford(n: usize, edges: &[(u32, u32, f64)], source: u32) -> Option<Vec<f64>> {
    let mut distance = vec![f64::INFINITY; n];
    distance[source as usize] = 0.0;
    for _ in 0..=n {
        let before = distance.clone();
        for &(i, j, w) in edges {
            distance[j as usize] = distance[j as usize].min(distance[i as usize] + w);
        }
        if before == distance {
            return Some(distance);
        }
    }
    None
}

#[test]
fn negative_weights() {
    cases((directed(), any::<u32>(), 0..200u32), |((n, edges), draw, negative)| {
        let source = draw % n as u32;
        let weight = |w: u32| f64::from(w % 1000) - f64::from(negative);
        let edges: Vec<_> = edges.iter().map(|&(i, j, w)| (i, j, weight(w))).collect();
        let a = Matrix::from_triples(n, n, edges.iter().copied()).unwrap();
        match bellman_ford(n, &edges, source) {
            Some(expected) => {
                let reached = expected.iter().map(|&d| (d < f64::INFINITY).then_some(d)).collect::<Vec<_>>();
                every_way(|| sssp(&a, source)).iter().for_each(|found| assert_eq!(options(found), reached));
            }
            None => {
                let told = format!("sssp: {source} reaches a cycle of negative weight");
                assert_eq!(sssp(&a, source).unwrap_err().to_string(), told);
            }
        }
    });
}

#[test]
fn weights_at_the_edge() {
    // sums saturate at the greatest number, which counts as unreachable
    let a = Matrix::from_triples(3, 3, [(0, 1, u32::MAX - 1), (1, 2, 5)]).unwrap();
    assert_eq!(sssp(&a, 0).unwrap(), Vector::from_pairs(3, [(0, 0), (1, u32::MAX - 1)]).unwrap());
    let far = Matrix::from_triples(2, 2, [(0, 1, f32::INFINITY)]).unwrap();
    assert_eq!(sssp(&far, 0).unwrap(), Vector::from_pairs(2, [(0, 0.0)]).unwrap());
    // a NaN entry counts as no entry, and doesn't hide another path
    let a = Matrix::from_triples(4, 4, [(0, 1, f64::NAN), (0, 2, 1.0), (2, 1, 1.5), (1, 3, f64::NAN)]).unwrap();
    assert_eq!(sssp(&a, 0).unwrap(), Vector::from_pairs(4, [(0, 0.0), (1, 2.5), (2, 1.0)]).unwrap());
    // a self-loop of negative weight, which vertex 1 doesn't reach
    let a = Matrix::from_triples(2, 2, [(0, 0, -1.0f32), (0, 1, 1.0)]).unwrap();
    assert_eq!(sssp(&a, 0).unwrap_err().to_string(), "sssp: 0 reaches a cycle of negative weight");
    assert_eq!(sssp(&a, 1).unwrap(), Vector::from_pairs(2, [(1, 0.0)]).unwrap());
}

#[test]
fn what_is_no_graph_is_refused() {
    let (wide, empty) = (Matrix::from_triples(2, 3, [(0, 1, ())]).unwrap(), Matrix::undirected(0, &[]).unwrap());
    assert_eq!(bfs(&wide, 0).unwrap_err().to_string(), "expected a graph (a square matrix), found a 2 x 3 matrix");
    assert_eq!(bfs(&empty, 0).unwrap_err().to_string(), "the source 0 lies outside a graph of 0 vertices");
    let one = Matrix::from_triples(1, 1, [(0, 0, 5u64)]).unwrap();
    assert_eq!(sssp(&one, 1).unwrap_err().to_string(), "the source 1 lies outside a graph of 1 vertex");
    let told = "expected an undirected graph (a symmetric matrix), found a 2 x 3 matrix that isn't";
    assert_eq!(components(&wide).unwrap_err().to_string(), told);
    let one_way = Matrix::from_triples(3, 3, [(0, 1, ())]).unwrap();
    assert!(components(&one_way).unwrap_err().to_string().contains("a 3 x 3 matrix that isn't"));
    assert_eq!(components(&empty).unwrap().len(), 0);
}
