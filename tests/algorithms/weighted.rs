//! Shortest paths over drawn weights, minimum spanning forests and matchings, against Dijkstra, Kruskal and the greedy matching.

use super::common::facts;
use super::graphs::{every_way, hash, options, undirected, weighted};
use vxm::algorithms::priority::hashes;
use vxm::algorithms::{components, dominant_matching, maximal_matching, spanning_forest, sssp, weights};
use vxm::certify;
use vxm::io::{generate, read};
use vxm::prelude::*;

/// The edges of a forest, the lesser end first, ascending.
fn edges(forest: &Matrix) -> Vec<(u32, u32)> {
    forest.iter().filter(|&(i, j, ())| i < j).map(|(i, j, ())| (i, j)).collect()
}

fn check_forest(name: &str, a: &Matrix<u32>) {
    let csr = a.csr();
    let mut expected: Vec<(u32, u32)> =
        certify::kruskal(csr.offsets(), csr.columns(), csr.values()).into_iter().map(|(_, i, j)| (i, j)).collect();
    expected.sort_unstable();
    let mut rounds = Vec::new();
    for found in every_way(|| spanning_forest(a)) {
        let found_edges = edges(&found.forest);
        let weight = certify::spanning_forest(csr.offsets(), csr.columns(), csr.values(), &found_edges);
        assert!(weight.is_ok(), "{name}: {}", weight.unwrap_err());
        assert_eq!(found_edges, expected, "{name}: the forest of Kruskal's order");
        rounds.push(found.rounds);
    }
    assert!(rounds.iter().all(|&r| r == rounds[0] && r <= 1 + a.nrows().max(1).ilog2()), "{name}: {rounds:?} rounds");
}

#[test]
fn spanning_forests() {
    for (name, a) in undirected() {
        // distinct weights mostly, many equal ones, and all equal
        for most in [u32::MAX, 6, 0] {
            check_forest(&format!("{name}, weights up to {most}"), &weighted(&a, most, 9));
        }
    }
    // weights at the top of the type, and self-loops, which are in no forest
    let sides = [(0, 1, u32::MAX), (1, 2, u32::MAX), (2, 0, u32::MAX - 1)];
    let loops = [(0, 0, 0), (3, 3, 7)];
    let both = sides.into_iter().flat_map(|(i, j, w)| [(i, j, w), (j, i, w)]);
    check_forest("a triangle", &Matrix::from_triples(4, 4, both.chain(loops)).unwrap());
}

/// The matching that takes the edges in the order (weight, places of the ends), the greatest first.
fn greedy(a: &Matrix<u32>, place: &[u32]) -> Vec<Option<u32>> {
    let mut edges: Vec<(u32, u32, u32, (u32, u32))> = a
        .iter()
        .filter(|&(i, j, _)| i < j)
        .map(|(i, j, w)| {
            let (p, q) = (place[i as usize], place[j as usize]);
            (w, p.min(q), p.max(q), (i, j))
        })
        .collect();
    edges.sort_unstable_by(|x, y| y.cmp(x));
    certify::greedy_matching(a.nrows(), edges.into_iter().map(|(.., ends)| ends))
}

fn check_matching(name: &str, a: &Matrix<u32>, seed: u64) {
    let csr = a.csr();
    let place = hashes(a.nrows(), seed).unwrap().rank().unwrap().to_dense(0);
    let expected = greedy(a, &place);
    for found in every_way(|| dominant_matching(a, seed)) {
        let mate = options(&found.mate);
        let weight = certify::dominant_matching(csr.offsets(), csr.columns(), csr.values(), &mate);
        assert!(weight.is_ok(), "{name}: {}", weight.unwrap_err());
        assert_eq!(mate, expected, "{name}: the greedy matching");
    }
}

#[test]
fn matchings() {
    for (name, a) in undirected() {
        for most in [u32::MAX, 4, 0] {
            check_matching(&format!("{name}, weights up to {most}"), &weighted(&a, most, 5), 7);
        }
        for seed in [0, 1] {
            let drawn = weights(&a, 0, u32::MAX, seed).unwrap();
            let place = hashes(a.nrows(), seed).unwrap().rank().unwrap().to_dense(0);
            let expected = greedy(&drawn, &place);
            for found in every_way(|| maximal_matching(&a, seed)) {
                let mate = options(&found.mate);
                let size = certify::maximal_matching(a.csr().offsets(), a.csr().columns(), &mate);
                assert_eq!(size, Ok(found.mate.nvals() / 2), "{name}");
                assert_eq!(mate, expected, "{name}");
            }
        }
    }
}

#[test]
fn matchings_weigh_half_of_the_best() {
    // all matchings of small graphs, by trying every edge
    fn best(edges: &[(u32, u32, u32)], used: u32) -> u64 {
        let Some((&(i, j, w), rest)) = edges.split_first() else { return 0 };
        let without = best(rest, used);
        let both = 1 << i | 1 << j;
        if used & both == 0 { without.max(u64::from(w) + best(rest, used | both)) } else { without }
    }
    for seed in 0..40 {
        let n = 4 + seed % 5;
        let pairs = (0..n).flat_map(|i| (0..i).map(move |j| (i, j)));
        let edges: Vec<(u32, u32, u32)> = pairs
            .filter(|&(i, j)| !hash(i, j, seed).is_multiple_of(3))
            .map(|(i, j)| (i, j, hash(i, j, seed + 100) % 20))
            .take(14)
            .collect();
        let both = edges.iter().flat_map(|&(i, j, w)| [(i, j, w), (j, i, w)]);
        let a = Matrix::from_triples(n as usize, n as usize, both).unwrap();
        let mate = options(&dominant_matching(&a, 1).unwrap().mate);
        let csr = a.csr();
        let weight = certify::dominant_matching(csr.offsets(), csr.columns(), csr.values(), &mate).unwrap();
        assert!(2.0 * weight >= best(&edges, 0) as f64, "seed {seed}: {weight}");
    }
}

#[test]
fn drawn_weights() {
    let a = Matrix::from_simple(generate("rmat:12:8", &()).unwrap().graph);
    let (low, high) = (3, 11);
    for drawn in every_way(|| weights(&a, low, high, 42)) {
        assert_eq!(drawn, weights(&a, low, high, 42).unwrap());
        assert!(drawn.is_symmetric() && drawn.csr().is_symmetric());
        let mut counts = [0u32; 9];
        drawn.iter().for_each(|(_, _, w)| counts[(w - low) as usize] += 1);
        let mean = drawn.nnz() as f64 / counts.len() as f64;
        assert!(counts.iter().all(|&count| (f64::from(count) - mean).abs() < 0.1 * mean), "{counts:?}");
    }
    assert!(weights(&a, low, high, 43).unwrap() != weights(&a, low, high, 42).unwrap(), "the seed matters");
    // whole range, and a single weight
    let all = weights(&a, 0, u32::MAX, 0).unwrap();
    assert!(all.iter().any(|(_, _, w)| w > u32::MAX / 8 * 7) && all.iter().any(|(_, _, w)| w < u32::MAX / 8));
    assert!(weights(&a, 5, 5, 0).unwrap().iter().all(|(_, _, w)| w == 5));
    let told = weights(&a, 6, 5, 0).unwrap_err().to_string();
    assert_eq!(told, "weights from 6 to 5: expected the lesser first");
}

#[test]
fn distances_over_drawn_weights() {
    for (name, a) in undirected().into_iter().filter(|(_, a)| a.nrows() > 0) {
        let drawn = weights(&a, 1, 100, 3).unwrap();
        let source = a.nrows() as u32 / 2;
        for found in every_way(|| sssp(&drawn, source)) {
            let csr = drawn.csr();
            let (offsets, columns, answer) = (csr.offsets(), csr.columns(), options(&found));
            let reached = certify::distances(offsets, columns, csr.values(), source as usize, &answer);
            assert_eq!(reached, Ok(found.nvals()), "{name}");
        }
    }
}

#[test]
fn what_has_directions_is_refused() {
    let one_way = Matrix::from_triples(3, 3, [(0, 1, 5u32)]).unwrap();
    let uneven = Matrix::from_triples(2, 2, [(0, 1, 5u32), (1, 0, 6)]).unwrap();
    let wide = Matrix::from_triples(2, 3, [(0, 1, 5u32)]).unwrap();
    for (a, shape) in [(one_way, "3 x 3"), (uneven, "2 x 2"), (wide, "2 x 3")] {
        let told = format!("expected an undirected graph (a symmetric matrix), found a {shape} matrix that isn't");
        assert_eq!(spanning_forest(&a).unwrap_err().to_string(), told);
        assert_eq!(dominant_matching(&a, 0).unwrap_err().to_string(), told);
    }
    let one_way = Matrix::from_triples(3, 3, [(0, 1, ())]).unwrap();
    assert!(maximal_matching(&one_way, 0).unwrap_err().to_string().contains("a 3 x 3 matrix that isn't"));
}

#[test]
fn graphs_of_the_data_folder() {
    for (file, row) in facts("lagraph").into_iter().chain(facts("real")) {
        let Ok(loaded) = read(&file, &()) else { continue };
        let a = Matrix::from_simple(loaded.graph);
        let drawn = weights(&a, 1, 1000, 5).unwrap();
        let csr = drawn.csr();
        let found = edges(&spanning_forest(&drawn).unwrap().forest);
        let weight = certify::spanning_forest(csr.offsets(), csr.columns(), csr.values(), &found);
        assert!(weight.is_ok(), "{file}: {}", weight.unwrap_err());
        let trees = components(&a).unwrap().iter().filter(|&(v, label)| v == label).count();
        assert_eq!(found.len(), a.nrows() - trees, "{file}: n less the number of components");
        let mate = options(&maximal_matching(&a, 5).unwrap().mate);
        let size = certify::maximal_matching(a.csr().offsets(), a.csr().columns(), &mate).unwrap() as u64;
        // the greatest matching is known of some; a maximal one has at least half as many edges
        if let Some(most) = row["max_card_matching"].as_u64().filter(|_| row["patsym"] == true) {
            assert!(size <= most && 2 * size >= most, "{file}: {size} edges of {most}");
        }
    }
}
