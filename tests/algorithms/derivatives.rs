//! Colourings of columns and rows, star colourings, and the matrices that come back from them, against certificates and sequential loops.

use super::check::descending;
use super::graphs::{every_way, hash, undirected};
use std::collections::BTreeSet;
use vxm::algorithms::priority::{hashes, largest_degree_first, smallest_degree_last};
use vxm::algorithms::{
    color_classes, color_columns, color_rows, decompress, decompress_rows, decompress_symmetric, star_coloring,
};
use vxm::certify::{self, Violation};
use vxm::prelude::*;

/// Rectangular matrices with integers: random ones, with empty rows and columns, a full row, a full column, more rows than columns and fewer.
fn rectangular() -> Vec<(String, Matrix<i64>)> {
    let random = |m: u32, n: u32, share: u32, seed: u32| {
        let entries = (0..m).flat_map(move |i| (0..n).map(move |j| (i, j)));
        let kept = entries.filter(move |&(i, j)| hash(i, j, seed).is_multiple_of(share));
        let triples = kept.map(move |(i, j)| (i, j, i64::from(hash(i, j, seed + 1) % 2001) - 1000));
        Matrix::from_triples(m as usize, n as usize, triples).unwrap()
    };
    let mut found: Vec<(String, Matrix<i64>)> =
        [(60, 200, 17), (200, 60, 17), (90, 90, 9), (31, 7, 3), (300, 300, 100)]
            .into_iter()
            .zip(7..)
            .map(|((m, n, share), seed)| (format!("{m} x {n}, one in {share}"), random(m, n, share, seed)))
            .collect();
    let band = (0..150u32).flat_map(|i| (i..(i + 4).min(153)).map(move |j| (i, j, i64::from(i + j))));
    found.push(("band".into(), Matrix::from_triples(150, 153, band).unwrap()));
    // more columns in a row than a window has colours
    let wide = (0..3u32).flat_map(|i| (0..100u32).map(move |k| (i, (i * 37 + k) % 130, 1)));
    found.push(("wide".into(), Matrix::from_triples(3, 130, wide).unwrap()));
    found.push(("full column".into(), Matrix::from_triples(80, 5, (0..80).map(|i| (i, 2, 4))).unwrap()));
    for (m, n) in [(0, 0), (0, 4), (4, 0), (1, 1)] {
        found.push((format!("{m} x {n}, empty"), Matrix::from_triples(m, n, []).unwrap()));
    }
    found
}

/// A symmetric matrix of integers over a graph, with a full diagonal.
fn symmetric(a: &Matrix, seed: u32) -> Matrix<i64> {
    let value = |i: u32, j: u32| i64::from(hash(i.min(j), i.max(j), seed) % 999) - 500;
    let diagonal = (0..a.nrows() as u32).map(|i| (i, i, ()));
    let entries = a.iter().chain(diagonal).map(|(i, j, ())| (i, j, value(i, j)));
    Matrix::from_triples(a.nrows(), a.ncols(), entries).unwrap()
}

#[test]
fn columns_and_rows_are_coloured_as_by_the_loop_and_come_back() {
    for (name, a) in rectangular() {
        for (what, of, other) in [("columns", a.clone(), a.transpose()), ("rows", a.transpose(), a.clone())] {
            let name = format!("{name}, {what}");
            let n = of.ncols();
            let rows = of.csr();
            for key in [hashes(n, 5).unwrap(), Vector::from_dense((0..n as u32).rev().collect())] {
                let greedy = certify::greedy_column_coloring(rows.offsets(), rows.columns(), n, descending(&key));
                for found in every_way(|| color_columns(&of, &key)) {
                    assert_eq!(found.colors.to_dense(0), greedy, "{name}");
                    let checked = certify::column_coloring(rows.offsets(), rows.columns(), &greedy);
                    assert_eq!(checked, Ok(found.count), "{name}");
                }
                let found = color_rows(&other, &key).unwrap();
                assert_eq!(found.colors.to_dense(0), greedy, "{name}");

                let classes = color_classes(&found.colors).unwrap();
                assert_eq!((classes.nrows(), classes.ncols(), classes.nnz()), (found.count as usize, n, n as u64));
                let compressed = of.mxm(&classes.transpose(), PLUS_FIRST).eval().unwrap();
                assert_eq!(decompress(&of.pattern(), &found.colors, &compressed).unwrap(), of, "{name}");
                let compressed = classes.mxm(&other, PLUS_SECOND).eval().unwrap();
                assert_eq!(decompress_rows(&other.pattern(), &found.colors, &compressed).unwrap(), other, "{name}");
            }
        }
    }
}

/// Whether each path of four vertices has at least three colours, and neighbours differ, by trying all.
fn is_star_coloring(a: &Matrix, colors: &[u32]) -> bool {
    let around = |v: u32| a.csr().row(v as usize).0.iter().copied();
    let color = |v: u32| colors[v as usize];
    (0..a.nrows() as u32).all(|b| {
        around(b).all(|c| {
            color(b) != color(c)
                && around(b)
                    .filter(|&x| x != c && color(x) == color(c))
                    .all(|x| around(c).filter(|&y| y != b && y != x).all(|y| color(y) != color(b)))
        })
    })
}

#[test]
fn star_colourings_are_those_of_the_loop_and_matrices_come_back() {
    for (name, a) in undirected() {
        let (offsets, columns) = (a.csr().offsets(), a.csr().columns());
        for key in [hashes(a.nrows(), 3), largest_degree_first(&a, 3), smallest_degree_last(&a, 3)] {
            let key = key.unwrap();
            let greedy = certify::greedy_star_coloring(offsets, columns, descending(&key));
            for found in every_way(|| star_coloring(&a, &key)) {
                assert_eq!(found.colors.to_dense(0), greedy, "{name}");
                assert_eq!(certify::star_coloring(offsets, columns, &greedy), Ok(found.count), "{name}");
            }
            assert!(is_star_coloring(&a, &greedy), "{name}");
            let (h, found) = (symmetric(&a, 9), star_coloring(&a, &key).unwrap());
            let classes = color_classes(&found.colors).unwrap();
            let compressed = h.mxm(&classes.transpose(), PLUS_FIRST).eval().unwrap();
            assert_eq!(decompress_symmetric(&h.pattern(), &found.colors, &compressed).unwrap(), h, "{name}");
        }
    }
}

#[test]
fn columns_without_a_key_are_left_out() {
    // row 0: columns 0, 1, 2; row 1: columns 2, 3
    let a = Matrix::from_triples(2, 4, [(0, 0, ()), (0, 1, ()), (0, 2, ()), (1, 2, ()), (1, 3, ())]).unwrap();
    let key = Vector::from_pairs(4, [(0, 1), (2, 7), (3, 7)]).unwrap();
    // of equal keys the higher number comes first
    assert_eq!(color_columns(&a, &key).unwrap().colors, Vector::from_dense(vec![1, 0, 2, 1]));
    let none = color_columns(&a, &Vector::new(4)).unwrap();
    assert_eq!((none.colors, none.count), (Vector::full(4, 0), 0));
    assert_eq!(color_classes(&Vector::full(4, 0)).unwrap().nrows(), 0);
}

#[test]
fn wrong_shapes_are_refused() {
    let a = Matrix::from_triples(2, 3, [(0, 0, 1.0f64), (1, 2, 2.0)]).unwrap();
    let told = |error: vxm::Error| error.to_string();
    let wrong = told(color_columns(&a, &Vector::full(2, 1)).unwrap_err());
    assert!(wrong.contains("matrix of 2 x 3") && wrong.contains("keys of 2"), "{wrong}");
    let wrong = told(color_rows(&a, &Vector::full(3, 1)).unwrap_err());
    assert!(wrong.contains("color_rows") && wrong.contains("keys of 3"), "{wrong}");
    let wrong = told(star_coloring(&a.pattern(), &Vector::full(3, 1)).unwrap_err());
    assert!(wrong.contains("a 2 x 3 matrix that isn't"), "{wrong}");
    let square = Matrix::undirected(3, &[(0, 1)]).unwrap();
    assert!(told(star_coloring(&square, &Vector::full(4, 1)).unwrap_err()).contains("keys of 4"));
    let colors = Vector::from_dense(vec![1, 2, 1]);
    // a compressed matrix with too few columns, and one with another number of rows
    let narrow = Matrix::from_triples(2, 1, [(0, 0, 5.0)]).unwrap();
    assert!(decompress(&a.pattern(), &colors, &narrow).is_err());
    let long = Matrix::from_triples(3, 2, [(0, 0, 5.0)]).unwrap();
    assert!(decompress(&a.pattern(), &colors, &long).is_err());
    assert!(decompress(&a.pattern(), &Vector::full(5, 1), &narrow).is_err());
    let one_way = Matrix::from_triples(3, 3, [(0, 1, ())]).unwrap();
    assert!(decompress_symmetric(&one_way, &colors, &long).is_err());
}

#[test]
fn certificates_find_what_is_wrong() {
    let (offsets, columns) = ([0, 2, 2, 5], [0, 3, 1, 2, 3]);
    assert_eq!(certify::column_coloring(&offsets, &columns, &[2, 1, 2, 3]), Ok(3));
    assert_eq!(certify::column_coloring(&offsets, &columns, &[2, 1, 0, 3]), Err(Violation::Uncolored { vertex: 2 }));
    let wrong = certify::column_coloring(&offsets, &columns, &[1, 2, 3, 2]).unwrap_err();
    let wrong = wrong.renumbered(|v| v as u64 + 1).to_string();
    assert_eq!(wrong, "columns 2 and 4 both have colour 2, and an entry in row 3");
    // the path 0 - 1 - 2 - 3
    let (offsets, columns) = ([0, 1, 3, 5, 6], [1, 0, 2, 1, 3, 2]);
    assert_eq!(certify::star_coloring(&offsets, &columns, &[2, 1, 2, 3]), Ok(3));
    let same = Violation::SameColor { vertex: 2, neighbor: 3, color: 2 };
    assert_eq!(certify::star_coloring(&offsets, &columns, &[2, 1, 2, 2]), Err(same));
    // 2 1 2 1: the third has a lesser colour on both sides
    let wrong = certify::star_coloring(&offsets, &columns, &[2, 1, 2, 1]).unwrap_err();
    assert_eq!(wrong, Violation::SameColorAround { vertex: 1, other: 3, middle: 2, color: 1 });
    let short = Violation::Length { answer: 3, vertices: 4 };
    assert_eq!(certify::star_coloring(&offsets, &columns, &[1, 2, 3]), Err(short));
}

#[test]
fn a_colour_of_a_row_is_in_one_class() {
    for (_, a) in rectangular() {
        let found = color_columns(&a, &hashes(a.ncols(), 1).unwrap()).unwrap();
        let classes = color_classes(&found.colors).unwrap();
        for class in 0..classes.nrows() {
            let rows: Vec<u32> = classes.csr().row(class).0.to_vec();
            let met: Vec<u32> = rows.iter().flat_map(|&j| a.transpose().csr().row(j as usize).0.to_vec()).collect();
            assert_eq!(met.iter().collect::<BTreeSet<_>>().len(), met.len());
        }
    }
}
