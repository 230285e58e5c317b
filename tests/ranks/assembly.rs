//! Matrices that are put together and taken apart, against the same verbs on whole matrices.

use crate::{on_ranks, random_graph, shapes};
use vxm::prelude::*;
use vxm::ranks::{Deal, Grid};

/// A value that tells its place.
#[op(PLACE_OF)]
fn place_of(i: u32, j: u32, _edge: ()) -> u64 {
    (i as u64) * 1000 + (j as u64)
}

/// What the verbs make of a matrix of 150 rows, and of one of 9.
fn made(a: &Matrix<u64>, b: &Matrix<u64>) -> Result<Vec<Matrix<u64>>> {
    let n = a.nrows();
    let rows: Vec<u32> = (0..9).map(|k| (k * 71 + 30) % n as u32).collect();
    let columns: Vec<u32> = (0..9).map(|k| (k * 37 + 5) % n as u32).collect();
    let (mut replaced, mut joined, mut few) = (a.clone(), a.clone(), a.clone());
    replaced.assign(&rows, &columns, b)?;
    joined.assign_accum(&rows, &columns, b, MINUS)?;
    few.set(3, 4, 5)?;
    few.set(149, 0, 7)?;
    let (i, j) = (2, 11);
    few.remove(i, j)?;
    let tiles = a.split(&[n / 2, n / 2], &[n / 2, n / 2])?;
    let together = Matrix::concat(&[&[&tiles[1][1], &tiles[0][1]], &[&tiles[1][0], &tiles[0][0]]])?;
    let mut found = vec![
        a.extract_range(3..n - 2, 5..n)?,
        a.extract_range(7..7, 0..0)?,
        a.resized(n - 40, n - 40)?,
        a.resized(0, 0)?,
        a.resized(2 * n, 2 * n)?,
        b.kronecker(a, MINUS)?,
        a.kronecker(&b.resized(4, 4)?, FIRST)?,
        Matrix::concat(&[&[a, a, a], &[a, a, a], &[a, a, a]])?,
        together,
    ];
    found.extend([replaced, joined, few]);
    found.extend(tiles.into_iter().flatten());
    Ok(found)
}

#[test]
fn tiles_regions_and_kronecker_products() {
    let graph = random_graph(150, 500, 3).to_digraph().unwrap().map_index(PLACE_OF).unwrap();
    let small = random_graph(9, 20, 4).to_digraph().unwrap().map_index(PLACE_OF).unwrap();
    let expected = made(&graph, &small).unwrap();
    assert!(expected.iter().filter(|m| m.nnz() > 0).count() >= expected.len() - 2);
    for shape in shapes() {
        for deal in [None, Some(Deal::Cyclic), Some(Deal::Hashed)] {
            let told = |found: &[Matrix<u64>]| found.iter().map(Matrix::to_root).collect::<Result<Vec<_>>>();
            // the second one spread likewise, in another way, and whole on each rank
            let other = if deal == Some(Deal::Cyclic) { Deal::Hashed } else { Deal::Cyclic };
            let of_small = |way: usize, grid: &Grid| match way {
                0 => small.to_grid(grid),
                1 => small.to_grid(&grid.with_deal(other)),
                _ => Ok(small.clone()),
            };
            for way in 0..3 {
                let found = on_ranks(shape, deal, |grid| told(&made(&graph.to_grid(grid)?, &of_small(way, grid)?)?));
                for (at, (found, expected)) in found.unwrap().into_iter().zip(&expected).enumerate() {
                    assert_eq!(found.as_ref(), Some(expected), "result {at}, way {way} on {shape:?}, {deal:?}");
                }
            }
        }
    }
}

#[test]
fn what_is_not_square_is_refused() {
    let a = random_graph(100, 300, 1);
    let wide = Matrix::from_triples(2, 3, [(0, 0, ())]).unwrap();
    let refused = |program: &(dyn Fn(&Matrix) -> Result<()> + Sync)| {
        on_ranks((2, 1), None, |grid| program(&a.to_grid(grid)?)).unwrap_err().to_string()
    };
    assert_eq!(
        refused(&|a| a.extract_range(0..3, 2..7).map(drop)),
        "extract_range: a 3 x 5 matrix on ranks: expected a square one"
    );
    assert!(refused(&|a| a.extract_range(0..3, 98..101).map(drop)).ends_with("does not fit columns 98..101"));
    assert_eq!(refused(&|a| a.resized(3, 5).map(drop)), "resized: a 3 x 5 matrix on ranks: expected a square one");
    assert_eq!(
        refused(&|a| Matrix::concat(&[&[a, a]]).map(drop)),
        "concat: a 100 x 200 matrix on ranks: expected a square one"
    );
    assert_eq!(
        refused(&|a| a.kronecker(&wide, FIRST).map(drop)),
        "kronecker: a 200 x 300 matrix on ranks: expected a square one"
    );
    let told = refused(&|a| a.clone().assign(&[0, 1], &[0, 1, 2], &wide));
    assert_eq!(told, "assign: a 2 x 3 matrix on ranks: expected a square one");
    assert!(
        refused(&|a| a.clone().assign(&[0, 0], &[0, 1], &random_graph(2, 1, 1)))
            .contains("row 0, at positions 0 and 1")
    );
    assert!(refused(&|a| a.resized(1 << 33, 1 << 33).map(drop)).contains("resized"));
}
