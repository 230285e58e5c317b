//! Search trees, ranks and strongly connected components of directed graphs, and core numbers of undirected ones, against sequential
//! programs.

use super::common::facts;
use super::graphs::{directed, every_way, options, undirected};
use vxm::algorithms::{
    PageRankOptions, Rank, Searches, bfs_many, bfs_parents, core_numbers, pagerank, strong_components,
};
use vxm::certify::{self, Walk};
use vxm::io::{read, read_matrix};
use vxm::prelude::*;

#[test]
fn parents() {
    for (name, a) in directed().into_iter().chain(undirected()).filter(|(_, a)| a.nrows() > 0) {
        let n = a.nrows() as u32;
        for source in [0, n / 2, n - 1] {
            for found in every_way(|| bfs_parents(&a, source)) {
                let (offsets, columns) = (a.csr().offsets(), a.csr().columns());
                let checked = certify::parents(offsets, columns, source as usize, &options(&found));
                assert!(checked.is_ok(), "{name} from {source}: {}", checked.unwrap_err());
            }
        }
    }
    let none = Matrix::undirected(0, &[]).unwrap();
    assert_eq!(bfs_parents(&none, 0).unwrap_err().to_string(), "the source 0 lies outside a graph of 0 vertices");
}

#[test]
fn many_searches_at_once() {
    for (name, a) in directed().into_iter().chain(undirected()).filter(|(_, a)| a.nrows() > 0) {
        let n = a.nrows() as u32;
        // none, one, some with repeats, and as many as fit
        for count in [0, 1, 5, 64] {
            let sources: Vec<u32> = (0..count).map(|k| k * k * 7 % n).collect();
            let found = bfs_many(&a, &sources).unwrap();
            assert_eq!((found.len(), found.is_empty()), (sources.len(), count == 0));
            for (k, &source) in sources.iter().enumerate() {
                let levels = found.levels(k).unwrap();
                let checked = certify::levels(a.csr().offsets(), a.csr().columns(), source as usize, &options(&levels));
                assert_eq!(checked, Ok(levels.nvals()), "{name}: search {k} of {count}, from {source}");
                let reached = (0..n).filter(|&v| found.reached().get(v).unwrap_or(0) >> k & 1 == 1).count();
                assert_eq!(reached, levels.nvals(), "{name}: search {k} of {count}");
            }
        }
    }
    let path = Matrix::undirected(3, &[(0, 1)]).unwrap();
    let told = |found: Result<Searches>| found.unwrap_err().to_string();
    assert_eq!(told(bfs_many(&path, &[0, 3])), "the source 3 lies outside a graph of 3 vertices");
    assert_eq!(told(bfs_many(&path, &[0; 65])), "65 sources: expected at most 64, call again for the rest");
    let wide = Matrix::from_triples(2, 3, [(0, 1, ())]).unwrap();
    assert_eq!(told(bfs_many(&wide, &[])), "expected a graph (a square matrix), found a 2 x 3 matrix");
    let error = bfs_many(&path, &[1, 2]).unwrap().levels(2).unwrap_err().to_string();
    assert_eq!(error, "search 2: there are 2 searches, numbered from 0");
}

#[test]
fn strong_labels() {
    for (name, a) in directed().into_iter().chain(undirected()) {
        let mut rounds = Vec::new();
        for found in every_way(|| strong_components(&a)) {
            let labels = found.labels.to_dense(0);
            let checked = certify::strong_components(a.csr().offsets(), a.csr().columns(), &labels);
            assert!(checked.is_ok(), "{name}: {}", checked.unwrap_err());
            rounds.push(found.rounds);
        }
        assert!(rounds.iter().all(|&r| r == rounds[0]), "{name}: {rounds:?}");
    }
    let wide = Matrix::from_triples(2, 3, [(0, 1, ())]).unwrap();
    let told = strong_components(&wide).unwrap_err().to_string();
    assert_eq!(told, "expected a graph (a square matrix), found a 2 x 3 matrix");
}

/// Mutual reachability by trying each pair, for graphs too small to have both answers wrong in the same way.
#[test]
fn strong_labels_by_reachability() {
    for (name, a) in directed().into_iter().filter(|(_, a)| a.nrows() <= 100) {
        let n = a.nrows();
        let mut reach = vec![vec![false; n]; n];
        (0..n).for_each(|v| reach[v][v] = true);
        a.iter().for_each(|(i, j, ())| reach[i as usize][j as usize] = true);
        for k in 0..n {
            for i in 0..n {
                if reach[i][k] {
                    let through = reach[k].clone();
                    reach[i].iter_mut().zip(through).for_each(|(to, more)| *to |= more);
                }
            }
        }
        let expected: Vec<u32> = (0..n).map(|v| (0..n).find(|&u| reach[v][u] && reach[u][v]).unwrap() as u32).collect();
        assert_eq!(strong_components(&a).unwrap().labels.to_dense(0), expected, "{name}");
    }
}

fn check_ranks<T: Rank>(name: &str, a: &Matrix, options: &PageRankOptions, allowed: f64, number: fn(T) -> f64) {
    let sources: Vec<u32> = options.sources.as_ref().map_or(Vec::new(), |sources| sources.indices().collect());
    let mut first = None;
    for found in every_way(|| pagerank::<T>(a, options)) {
        let walk = Walk { damping: options.damping, rounds: found.rounds, sources: &sources };
        let answer: Vec<f64> = found.ranks.iter().map(|(_, rank)| number(rank)).collect();
        let checked = certify::ranks(a.csr().offsets(), a.csr().columns(), walk, &answer, allowed);
        assert!(checked.is_ok(), "{name}: {}", checked.unwrap_err());
        let sum: f64 = answer.iter().sum();
        assert!(answer.is_empty() || (sum - 1.0).abs() <= allowed, "{name}: ranks sum up to {sum}");
        // the same bits on any number of threads
        let bits = (found.ranks.digest(), found.rounds, found.change.bits());
        assert_eq!(*first.get_or_insert(bits), bits, "{name}");
        if options.tolerance > 0.0 {
            let ended = number(found.change) < options.tolerance || found.rounds == options.rounds;
            assert!(ended, "{name}: {:?} after {} rounds", found.change, found.rounds);
        }
    }
}

#[test]
fn ranks() {
    for (name, a) in directed().into_iter().chain(undirected()) {
        let n = a.nrows() as u32;
        let some = (n > 0).then(|| Set::from_indices(n as usize, [0, n / 3, n - 1]).unwrap());
        for sources in [None, some] {
            for (damping, rounds, tolerance) in [(0.85, 20, 0.0), (0.5, 100, 1e-4), (0.0, 3, 0.0), (0.85, 0, 0.0)] {
                let options = PageRankOptions::default()
                    .damping(damping)
                    .rounds(rounds)
                    .tolerance(tolerance)
                    .sources(sources.clone());
                check_ranks::<f32>(&name, &a, &options, 1e-5, f64::from);
                check_ranks::<f64>(&name, &a, &options, 1e-13, |rank| rank);
            }
        }
    }
}

#[test]
fn ranks_settle() {
    // 0 and 1 point to each other, 2 to both, and nothing to 2: by hand
    let a = Matrix::from_triples(3, 3, [(0, 1, ()), (1, 0, ()), (2, 0, ()), (2, 1, ())]).unwrap();
    let options = PageRankOptions::default().rounds(1000).tolerance(1e-15);
    let found = pagerank::<f64>(&a, &options).unwrap();
    assert!(found.rounds < 1000 && found.change < 1e-15);
    let ranks = found.ranks.to_dense(0.0);
    assert!((ranks[2] - 0.05).abs() < 1e-14 && (ranks[0] - 0.475).abs() < 1e-14 && ranks[0] == ranks[1], "{ranks:?}");
}

#[test]
fn options_of_ranks_are_checked() {
    let a = Matrix::undirected(3, &[(0, 1)]).unwrap();
    let told = |options: PageRankOptions| pagerank::<f32>(&a, &options).unwrap_err().to_string();
    let base = PageRankOptions::default();
    for damping in [1.0, -0.1, f64::NAN] {
        let told = told(base.clone().damping(damping));
        assert_eq!(told, format!("pagerank: damping {damping}: expected a number from 0 to 1, 1 excluded"));
    }
    let told_tolerance = told(base.clone().tolerance(f64::NAN));
    assert_eq!(told_tolerance, "pagerank: tolerance NaN: expected a number from 0 on");
    let nobody = base.clone().sources(Some(Set::new(3)));
    assert_eq!(told(nobody), "pagerank: no sources: expected at least one vertex");
    let longer = base.sources(Some(Set::all(4)));
    assert!(told(longer).ends_with("pagerank: graph of 3 vertices does not fit 4 places"));
}

#[test]
fn cores() {
    for (name, a) in undirected() {
        for found in every_way(|| core_numbers(&a)) {
            let checked = certify::cores(a.csr().offsets(), a.csr().columns(), &found.to_dense(0));
            assert!(checked.is_ok(), "{name}: {}", checked.unwrap_err());
        }
        // by definition: the vertices of core number k and more are what is left when vertices of degree below k are taken away
        let numbers = core_numbers(&a).unwrap().to_dense(0);
        for k in 0..=numbers.iter().copied().max().unwrap_or(0) + 1 {
            let mut left = vec![true; a.nrows()];
            let degree = |left: &[bool], v: usize| a.csr().row(v).0.iter().filter(|&&u| left[u as usize]).count();
            while let Some(v) = (0..a.nrows()).find(|&v| left[v] && degree(&left, v) < k as usize) {
                left[v] = false;
            }
            assert!((0..a.nrows()).all(|v| left[v] == (numbers[v] >= k)), "{name}, k = {k}");
            if a.nrows() > 200 {
                break;
            }
        }
    }
    let looped = Matrix::from_triples(2, 2, [(0, 1, ()), (1, 0, ()), (0, 0, ())]).unwrap();
    assert_eq!(core_numbers(&looped).unwrap(), Vector::full(2, 1));
    let one_way = Matrix::from_triples(3, 3, [(0, 1, ())]).unwrap();
    assert!(core_numbers(&one_way).unwrap_err().to_string().contains("a 3 x 3 matrix that isn't"));
}

#[test]
fn graphs_of_the_data_folder() {
    for (file, row) in facts("real").into_iter().chain(facts("lagraph")) {
        let Ok(loaded) = read(&file, &()) else { continue };
        let a = Matrix::from_simple(loaded.graph);
        let cores = core_numbers(&a).unwrap();
        assert!(certify::cores(a.csr().offsets(), a.csr().columns(), &cores.to_dense(0)).is_ok(), "{file}");
        let known = row["degeneracy"].as_u64().or(row["kcore"].as_u64());
        if let Some(known) = known {
            assert_eq!(u64::from(cores.reduce(MAX).unwrap()), known, "{file}");
        }
    }
    for (file, row) in facts("lagraph") {
        let Ok(csr) = read_matrix::<()>(&file, &()) else { continue };
        if csr.nrows() != csr.ncols() {
            continue;
        }
        let a = Matrix::from_csr(csr);
        let labels = strong_components(&a).unwrap().labels;
        let count = certify::strong_components(a.csr().offsets(), a.csr().columns(), &labels.to_dense(0)).unwrap();
        if let Some(known) = row["scc"].as_u64() {
            assert_eq!(count as u64, known, "{file}");
        }
        check_ranks::<f64>(&file, &a, &PageRankOptions::default(), 1e-12, |rank| rank);
    }
}
