//! Triangles, trusses and clustering coefficients, against their certificates and against definitions that try each triple.

use super::graphs::{every_way, undirected};
use vxm::algorithms::{clustering, count_triangles, ktruss, triangles};
use vxm::certify::{self, Violation};
use vxm::prelude::*;

/// The edges of a symmetric matrix, the lesser end first.
fn edges<T: Element>(a: &Matrix<T>) -> Vec<(u32, u32)> {
    a.iter().filter(|&(i, j, _)| i < j).map(|(i, j, _)| (i, j)).collect()
}

/// The number of triangles at each vertex, by trying all triples.
fn by_triples(a: &Matrix) -> Vec<u64> {
    let n = a.nrows() as u32;
    let joined = |i: u32, j: u32| a.get(i, j).is_some();
    let mut counts = vec![0; n as usize];
    for i in 0..n {
        for j in (i + 1..n).filter(|&j| joined(i, j)) {
            for k in (j + 1..n).filter(|&k| joined(i, k) && joined(j, k)) {
                [i, j, k].into_iter().for_each(|v| counts[v as usize] += 1);
            }
        }
    }
    counts
}

#[test]
fn counts() {
    for (name, a) in undirected() {
        let (offsets, columns) = (a.csr().offsets(), a.csr().columns());
        for found in every_way(|| triangles(&a)) {
            let counts = found.to_dense(u64::MAX);
            let checked = certify::triangles(offsets, columns, &counts);
            assert_eq!(checked, Ok(count_triangles(&a).unwrap()), "{name}");
            if a.nrows() <= 200 {
                assert_eq!(counts, by_triples(&a), "{name}");
            }
        }
        for found in every_way(|| clustering(&a)) {
            let checked = certify::clustering(offsets, columns, &found.to_dense(f64::NAN));
            assert!(checked.is_ok_and(|mean| (0.0..=1.0).contains(&mean)), "{name}");
        }
    }
    let clique = Matrix::undirected(40, &(0..40).flat_map(|i| (0..i).map(move |j| (i, j))).collect::<Vec<_>>());
    let clique = clique.unwrap();
    assert_eq!(count_triangles(&clique).unwrap(), 40 * 39 * 38 / 6);
    assert_eq!(clustering(&clique).unwrap(), Vector::full(40, 1.0));
}

#[test]
fn trusses() {
    for (name, a) in undirected() {
        let (offsets, columns) = (a.csr().offsets(), a.csr().columns());
        for k in [3, 4, 5, 9] {
            let found = every_way(|| ktruss(&a, k));
            assert!(found.iter().all(|truss| *truss == found[0]), "{name}, k = {k}");
            let truss = &found[0].support;
            let kept = edges(truss);
            assert_eq!(certify::truss(offsets, columns, k, &kept), Ok(kept.len()), "{name}, k = {k}");
            // by definition: every edge is part of at least k - 2 triangles of the truss
            let common =
                |i: u32, j: u32| truss.csr().row(i as usize).0.iter().filter(move |&&w| truss.get(j, w).is_some());
            assert!(truss.iter().all(|(i, j, count)| count >= k - 2 && count as usize == common(i, j).count()));
        }
    }
}

#[test]
fn what_is_refused() {
    let path = Matrix::undirected(3, &[(0, 1), (1, 2)]).unwrap();
    for k in 0..3 {
        assert_eq!(ktruss(&path, k).unwrap_err().to_string(), format!("ktruss: k = {k}: expected at least 3"));
    }
    let one_way = Matrix::from_triples(3, 3, [(0, 1, ())]).unwrap();
    for refused in [triangles(&one_way).err(), clustering(&one_way).err(), ktruss(&one_way, 3).err()] {
        assert!(refused.unwrap().to_string().contains("a 3 x 3 matrix that isn't"));
    }
    // self-loops don't count
    let looped = Matrix::from_triples(2, 2, [(0, 1, ()), (1, 0, ()), (0, 0, ()), (1, 1, ())]).unwrap();
    assert_eq!(triangles(&looped).unwrap(), Vector::full(2, 0));
}

#[test]
fn certificates_find_what_is_wrong() {
    // a clique of four with a tail
    let a = Matrix::undirected(5, &[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (3, 4)]).unwrap();
    let (offsets, columns) = (a.csr().offsets(), a.csr().columns());
    assert_eq!(certify::triangles(offsets, columns, &[3, 3, 3, 3, 0]), Ok(4));
    let told = certify::triangles(offsets, columns, &[3, 3, 3, 4, 0]).unwrap_err().to_string();
    assert_eq!(told, "3 is a corner of 3 triangles, the answer says 4");
    assert_eq!(certify::triangles(offsets, columns, &[3]), Err(Violation::Length { answer: 1, vertices: 5 }));
    let clique = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
    assert_eq!(certify::truss(offsets, columns, 4, &clique), Ok(6));
    assert_eq!(certify::truss(offsets, columns, 5, &[]), Ok(0));
    let told = certify::truss(offsets, columns, 4, &clique[..5]).unwrap_err().to_string();
    assert_eq!(told, "the edge between 2 and 3 belongs to the 4-truss, the answer says otherwise");
    let told = certify::truss(offsets, columns, 5, &clique).unwrap_err().renumbered(|v| v as u64 + 10).to_string();
    assert_eq!(told, "the edge between 10 and 11 doesn't belong to the 5-truss, the answer says otherwise");
    let told = certify::clustering(offsets, columns, &[1.0, 1.0, 1.0, 0.5, 0.25]).unwrap_err().to_string();
    assert_eq!(told, "4 has the clustering coefficient 0, the answer says 0.25");
}
