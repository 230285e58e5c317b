//! Colourings of which a part is given, and aggregates around roots.

use super::check::descending;
use super::graphs::{every_way, hash, undirected};
use vxm::algorithms::priority::{hashes, largest_degree_first};
use vxm::algorithms::{Priority, aggregates, color_in_order, extend_coloring, mis_at_distance_2, priorities};
use vxm::certify::{self, Violation};
use vxm::prelude::*;

/// The greedy extension, by a loop over the vertices.
fn by_loop(a: &Matrix, order: &[u32], given: &Vector<u32>, most: u32) -> Vec<u32> {
    let mut colors = given.to_dense(0);
    for &v in order.iter().filter(|&&v| !given.contains(v)) {
        let taken: Vec<u32> = a.csr().row(v as usize).0.iter().map(|&u| colors[u as usize]).collect();
        colors[v as usize] = (1..=most).find(|color| !taken.contains(color)).unwrap_or(0);
    }
    colors
}

/// Colours for one vertex in five, so that no two neighbours have the same; some are far above those that a greedy colouring takes.
fn some_given(a: &Matrix, most: u32, seed: u32) -> Vector<u32> {
    let mut colors = vec![0; a.nrows()];
    for v in (0..a.nrows() as u32).filter(|&v| hash(v, 1, seed).is_multiple_of(5)) {
        let taken: Vec<u32> = a.csr().row(v as usize).0.iter().map(|&u| colors[u as usize]).collect();
        let wanted = 1 + hash(v, 2, seed) % most.min(200);
        colors[v as usize] = if taken.contains(&wanted) { 0 } else { wanted };
    }
    Vector::from_pairs(a.nrows(), (0..).zip(colors).filter(|&(_, color)| color > 0)).unwrap()
}

#[test]
fn an_extension_is_that_of_the_loop() {
    for (name, a) in undirected() {
        let (offsets, columns) = (a.csr().offsets(), a.csr().columns());
        for (most, seed) in [(1, 1), (2, 2), (3, 3), (31, 4), (32, 5), (70, 6), (u32::MAX, 7)] {
            let (key, given) = (hashes(a.nrows(), u64::from(seed)).unwrap(), some_given(&a, most, seed));
            let expected = by_loop(&a, &descending(&key), &given, most);
            for found in every_way(|| extend_coloring(&a, &key, &given, most)) {
                assert_eq!(found.colors.to_dense(9999), expected, "{name}, at most {most}");
                let checked = certify::extension(offsets, columns, &given.to_dense(0), most, &expected);
                assert_eq!(checked, Ok(found.left.nvals()), "{name}, at most {most}");
                assert!(found.left.indices().all(|v| expected[v as usize] == 0));
            }
        }
        // nothing is given, and all colours may be taken
        let key = largest_degree_first(&a, 3).unwrap();
        let found = extend_coloring(&a, &key, &Vector::new(a.nrows()), u32::MAX).unwrap();
        assert_eq!(found.colors, color_in_order(&a, &key).unwrap().colors, "{name}");
        assert_eq!(found.left.nvals(), 0, "{name}");
        // all is given
        let whole = color_in_order(&a, &key).unwrap().colors;
        assert_eq!(extend_coloring(&a, &key, &whole, u32::MAX).unwrap().colors, whole, "{name}");
    }
}

#[test]
fn wrong_given_colours_are_refused() {
    let path = Matrix::undirected(4, &[(0, 1), (1, 2), (2, 3)]).unwrap();
    let key = Vector::from_dense(vec![4, 3, 2, 1]);
    let told = |given: &[(u32, u32)], most| {
        let given = Vector::from_pairs(4, given.iter().copied()).unwrap();
        extend_coloring(&path, &key, &given, most).unwrap_err().to_string()
    };
    assert_eq!(told(&[(1, 5)], 4), "extend_coloring: colour 5 is given: expected 1 to 4");
    assert_eq!(told(&[(1, 0)], 4), "extend_coloring: colour 0 is given: expected 1 to 4");
    let wrong = "extend_coloring: vertex 1 and a neighbour of it are given the same colour: expected different ones";
    assert_eq!(told(&[(0, 1), (1, 2), (2, 2)], 4), wrong);
    let short = extend_coloring(&path, &key, &Vector::new(3), 4).unwrap_err().to_string();
    assert!(short.contains("given colours of 3"), "{short}");
    let short = extend_coloring(&path, &Vector::new(4), &Vector::new(4), 4).unwrap_err().to_string();
    assert!(short.contains("0 keys at 4 places"), "{short}");
    // with no colour at all, every vertex is left
    assert_eq!(extend_coloring(&path, &key, &Vector::new(4), 0).unwrap().left.nvals(), 4);
}

#[test]
fn aggregates_are_around_their_roots() {
    for (name, a) in undirected() {
        let (offsets, columns) = (a.csr().offsets(), a.csr().columns());
        let key = priorities(&a, Priority::Random, 4).unwrap();
        let roots = mis_at_distance_2(&a, &key).unwrap().set;
        for found in every_way(|| aggregates(&a, &key)) {
            assert_eq!(found.roots, roots, "{name}");
            let (roots, parts) = (found.roots.indices().collect::<Vec<_>>(), found.aggregate.to_dense(u32::MAX));
            assert_eq!(certify::aggregates(offsets, columns, &roots, &parts), Ok(()), "{name}");
            // of several aggregates next to a vertex, the least
            for v in (0..a.nrows()).filter(|&v| !found.roots.contains(v as u32)) {
                let around = a.csr().row(v).0.iter().copied();
                let next_to_root = around.clone().any(|u| found.roots.contains(u));
                let near = around
                    .filter(|&u| !next_to_root && a.csr().row(u as usize).0.iter().any(|&w| found.roots.contains(w)));
                let least = near.map(|u| parts[u as usize]).min();
                assert!(least.is_none_or(|least| least == parts[v]), "{name}: {v}");
            }
        }
    }
}

#[test]
fn certificates_find_what_is_wrong() {
    // a star around 0, and the path 3 - 4 - 5
    let a = Matrix::undirected(6, &[(0, 1), (0, 2), (0, 3), (3, 4), (4, 5)]).unwrap();
    let (offsets, columns) = (a.csr().offsets(), a.csr().columns());
    let parts = |roots: &[u32], parts: [u32; 6]| certify::aggregates(offsets, columns, roots, &parts);
    assert_eq!(parts(&[0, 5], [0, 0, 0, 0, 1, 1]), Ok(()));
    assert_eq!(parts(&[0, 4], [0, 0, 0, 0, 1, 1]), Err(Violation::Aggregate { vertex: 3, answer: 0 }));
    assert_eq!(parts(&[0], [0, 0, 0, 0, 0, 0]), Err(Violation::Aggregate { vertex: 5, answer: 0 }));
    assert_eq!(parts(&[0, 5], [0, 0, 0, 0, 1, 7]), Err(Violation::Aggregate { vertex: 5, answer: 7 }));
    let extended = |given: [u32; 6], colors: [u32; 6]| certify::extension(offsets, columns, &given, 2, &colors);
    assert_eq!(extended([0; 6], [1, 2, 2, 2, 1, 2]), Ok(0));
    assert_eq!(extended([0, 1, 2, 0, 0, 0], [0, 1, 2, 2, 1, 2]), Ok(1));
    let wrong = extended([0, 1, 0, 0, 0, 0], [1, 2, 2, 2, 1, 2]).unwrap_err();
    assert_eq!(
        wrong.renumbered(|v| v as u64 + 10).to_string(),
        "11 has colour 2: expected at most 2, and 1, which was given"
    );
    assert_eq!(extended([0; 6], [1, 2, 2, 3, 1, 2]).unwrap_err().to_string(), "3 has colour 3: expected at most 2");
    assert_eq!(extended([0; 6], [1, 2, 2, 0, 1, 2]), Err(Violation::CouldTake { vertex: 3, color: 2 }));
    let same = Violation::SameColor { vertex: 0, neighbor: 1, color: 2 };
    assert_eq!(extended([0; 6], [2, 2, 1, 1, 2, 1]), Err(same));
}
