//! Maximal cliques and vertex covers, against sequential searches and known bounds.

use super::common::facts;
use super::graphs::{every_way, hash, undirected};
use vxm::algorithms::priority::{order_keys, smallest_degree_last};
use vxm::algorithms::{MisOptions, Order, Priority, maximal_clique, mis, vertex_cover};
use vxm::certify::{self, Violation};
use vxm::io::{generate, read};
use vxm::prelude::*;

/// The clique that a sequential greedy search around a vertex finds.
fn search(a: &Matrix, key: &[u32], vertex: u32) -> Vec<u32> {
    let (csr, mut members) = (a.csr(), vec![vertex]);
    let mut candidates = csr.row(vertex as usize).0.to_vec();
    while let Some(&next) = candidates.iter().max_by_key(|&&v| key[v as usize]) {
        members.push(next);
        candidates.retain(|v| csr.row(next as usize).0.binary_search(v).is_ok());
    }
    members.sort_unstable();
    members
}

fn members(set: &Set, n: usize) -> Vec<bool> {
    let mut member = vec![false; n];
    set.indices().for_each(|v| member[v as usize] = true);
    member
}

#[test]
fn cliques_are_those_of_a_sequential_search() {
    for (name, a) in undirected() {
        for order in [Order::SmallestDegreeLast, Order::Random, Order::Natural] {
            let key = order_keys(&a, order, 5).unwrap();
            let (n, keys) = (a.nrows(), key.to_dense(0));
            let searched: Vec<Vec<u32>> = (0..n as u32).map(|v| search(&a, &keys, v)).collect();
            let most = searched.iter().map(Vec::len).max().unwrap_or(0);
            let largest = searched.iter().find(|members| members.len() == most).cloned().unwrap_or_default();
            for found in every_way(|| maximal_clique(&a, &key)) {
                let sizes: Vec<u32> = searched.iter().map(|members| members.len() as u32).collect();
                assert_eq!(found.sizes.to_dense(0), sizes, "{name}, {order:?}");
                assert_eq!(found.members.indices().collect::<Vec<_>>(), largest, "{name}, {order:?}");
                let member = members(&found.members, n);
                assert_eq!(certify::maximal_clique(a.csr().offsets(), a.csr().columns(), &member), Ok(most), "{name}");
            }
        }
    }
}

#[test]
fn a_hidden_clique_is_found() {
    // 25 of 2000 vertices are all joined; the others have 8 neighbours each on average
    let a = generate("er:11:4", &()).unwrap().graph;
    let hidden: Vec<u32> = (0..25).map(|k| k * 79 + 3).collect();
    let joined = hidden.iter().flat_map(|&i| hidden.iter().map(move |&j| (i, j))).filter(|(i, j)| i < j);
    let drawn =
        (0..a.nrows() as u32).flat_map(|i| a.row(i as usize).0.iter().map(move |&j| (i, j))).filter(|(i, j)| i < j);
    let edges: Vec<(u32, u32)> = drawn.chain(joined).collect();
    let a = Matrix::undirected(2048, &edges).unwrap();
    let found = maximal_clique(&a, &smallest_degree_last(&a, 0).unwrap()).unwrap();
    assert_eq!(found.members, Set::from_indices(2048, hidden).unwrap());
}

#[test]
fn wrong_cliques_and_covers_are_told() {
    // a triangle, with vertex 3 at vertex 2; vertex 4 alone
    let a = Matrix::undirected(5, &[(0, 1), (1, 2), (2, 0), (2, 3)]).unwrap();
    let (offsets, columns) = (a.csr().offsets(), a.csr().columns());
    let clique = |set: &[u32]| {
        certify::maximal_clique(offsets, columns, &members(&Set::from_indices(5, set.iter().copied()).unwrap(), 5))
    };
    assert_eq!(clique(&[0, 1, 2]), Ok(3));
    assert_eq!(clique(&[4]), Ok(1));
    assert_eq!(clique(&[2, 3]), Ok(2));
    assert_eq!(clique(&[0, 2]), Err(Violation::CouldJoin { vertex: 1 }));
    assert_eq!(clique(&[0, 2, 3]), Err(Violation::NotJoined { vertex: 0, other: 3 }));
    assert_eq!(clique(&[]), Err(Violation::CouldJoin { vertex: 0 }));
    let mate = [Some(1), Some(0), Some(3), Some(2), None];
    let cover = |set: &[u32], mate: &[Option<u32>]| {
        certify::vertex_cover(offsets, columns, &members(&Set::from_indices(5, set.iter().copied()).unwrap(), 5), mate)
    };
    assert_eq!(cover(&[0, 2], &mate), Ok(2));
    assert_eq!(cover(&[0, 3], &mate), Err(Violation::NotCovered { vertex: 1, neighbor: 2 }));
    assert_eq!(cover(&[0, 2], &[None; 5]), Err(Violation::Unmatched { vertex: 0, other: 1 }));
    assert_eq!(cover(&[0, 2], &mate[..4]), Err(Violation::Length { answer: 4, vertices: 5 }));
    // loops are no edges
    let looped = Matrix::from_triples(2, 2, [(0, 1, ()), (1, 0, ()), (0, 0, ())]).unwrap();
    let (offsets, columns) = (looped.csr().offsets(), looped.csr().columns());
    assert_eq!(certify::maximal_clique(offsets, columns, &[true, true]), Ok(2));
    assert_eq!(certify::vertex_cover(offsets, columns, &[false, true], &[Some(1), Some(0)]), Ok(1));
    let found = maximal_clique(&looped, &Vector::from_dense(vec![1, 2])).unwrap();
    assert_eq!(found.sizes, Vector::full(2, 2));
}

#[test]
fn bad_keys_and_graphs_are_refused() {
    let a = Matrix::undirected(3, &[(0, 1), (1, 2)]).unwrap();
    let told = |key: Vec<u32>| maximal_clique(&a, &Vector::from_dense(key)).unwrap_err().to_string();
    assert!(told(vec![1, 2]).ends_with("maximal_clique: graph of 3 vertices does not fit 2 keys at 2 places"));
    assert_eq!(told(vec![1, 0, 2]), "maximal_clique: a key of 0: expected keys above 0");
    let one_way = Matrix::from_triples(3, 3, [(0, 1, ())]).unwrap();
    let error = maximal_clique(&one_way, &Vector::from_dense(vec![1, 2, 3])).unwrap_err().to_string();
    assert!(error.contains("a 3 x 3 matrix that isn't"), "{error}");
    let error = vertex_cover(&one_way, &MisOptions::default()).unwrap_err().to_string();
    assert!(error.contains("a 3 x 3 matrix that isn't"), "{error}");
}

#[test]
fn covers_cover_and_bounds_hold() {
    for (name, a) in undirected() {
        for &priority in Priority::ALL {
            let options = MisOptions::default().priority(priority).seed(u64::from(hash(1, 2, 3)));
            let left = a.nrows() - mis(&a, &options).unwrap().set.nvals();
            for found in every_way(|| vertex_cover(&a, &options)) {
                let (member, n) = (members(&found.set, a.nrows()), found.set.nvals());
                let mate: Vec<Option<u32>> = (0..a.nrows() as u32).map(|v| found.mate.get(v)).collect();
                let least = certify::vertex_cover(a.csr().offsets(), a.csr().columns(), &member, &mate);
                assert_eq!(least, Ok(found.least()), "{name}");
                assert!(n <= left && n <= 2 * found.least() && n >= found.least(), "{name}: {n}");
            }
        }
    }
}

#[test]
fn graphs_with_known_numbers() {
    for (file, row) in facts("real").into_iter().chain(facts("dimacs-col")) {
        let Ok(loaded) = read(&file, &()) else { continue };
        let a = Matrix::from_simple(loaded.graph);
        let key = smallest_degree_last(&a, 0).unwrap();
        let found = maximal_clique(&a, &key).unwrap();
        let member = members(&found.members, a.nrows());
        let size = certify::maximal_clique(a.csr().offsets(), a.csr().columns(), &member).unwrap() as u64;
        // a clique needs as many colours as it has members
        let known = row["clique_number"].as_u64().or(row["smallest_last_colours"].as_u64()).unwrap();
        assert!(size >= 2 && size <= known, "{file}: {size}, known {known}");
    }
    // the complement of a largest independent set is a smallest cover
    for (file, row) in facts("independent-set") {
        let Ok(loaded) = read(&file, &()) else { continue };
        let a = Matrix::from_simple(loaded.graph);
        let found = vertex_cover(&a, &MisOptions::default()).unwrap();
        let known = row["known"].as_str().and_then(|known| known.parse::<usize>().ok());
        if let Some(known) = known.or(row["known"].as_u64().map(|known| known as usize)) {
            let smallest = a.nrows() - known;
            assert!(found.least() <= smallest && smallest <= found.set.nvals(), "{file}: {}", found.set.nvals());
        }
    }
}
