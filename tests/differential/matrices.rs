//! Verbs of matrices, and conversions between formats.

use crate::algebra::{Compose, Sample, Tangle, blend, mix, stamp2};
use crate::harness::{Outcome, agree, ok, on_threads, same, suite};
use crate::shapes::{Filled, Graph, filled, graph, matrix};
use half::f16;
use proptest::prelude::*;
use proptest::sample::select;
use vxm::backend::reference::Grid;
use vxm::formats::Tiles;
use vxm::prelude::*;
use vxm::semiring::{KernelText, Source};

/// Compares a matrix by bits: all entries, and the transpose.
pub fn agree_matrix<T: Element>(what: &str, expected: &Grid<T>, found: &Matrix<T>) -> Outcome {
    same(what, (expected.rows.len(), expected.ncols), (found.nrows(), found.ncols()))?;
    let entries = |(i, row): (usize, &Vec<Option<T>>)| {
        let held = row.iter().enumerate().filter_map(move |(j, a)| a.map(|a| (i as u32, j as u32, a.bits())));
        held.collect::<Vec<_>>()
    };
    let expected: Vec<_> = expected.rows.iter().enumerate().flat_map(entries).collect();
    let found_entries: Vec<_> = found.iter().map(|(i, j, a)| (i, j, a.bits())).collect();
    same(what, &expected, &found_entries)?;
    same(what, expected.len() as u64, found.nnz())?;
    let by_place = expected.iter().all(|&(i, j, bits)| found.get(i, j).map(Element::bits) == Some(bits));
    same(&format!("{what}: get"), true, by_place)?;
    // a matrix that is marked symmetric must be symmetric
    same(&format!("{what}: symmetry"), true, !found.is_symmetric() || found.csr().is_symmetric())?;
    let turned = found.transpose();
    let there = |&(i, j, bits): &(u32, u32, T::Bits)| turned.get(j, i).map(Element::bits) == Some(bits);
    same(&format!("{what}: transposed"), (found.nnz(), true), (turned.nnz(), expected.iter().all(there)))?;
    same(&format!("{what}: transposed twice"), true, *found == turned.transpose())
}

fn case() -> impl Strategy<Value = (Graph, Filled, u64, usize)> {
    (graph(), filled(), 0..1u64 << 16, select(vec![1, 2, 8]))
}

#[test]
fn verbs() {
    suite("verbs of matrices", 1500, case(), |(graph, filled, seed, threads)| {
        let (grid, other) = (graph.grid::<u32>(), Graph { seed: graph.seed + 1, ..graph.clone() }.grid::<u32>());
        let (a, b) = (matrix(&grid, graph.symmetric), matrix(&other, graph.symmetric));
        on_threads(threads, || {
            agree_matrix("itself", &grid, &a)?;
            agree_matrix("transpose", &grid.transpose(), &a.transpose())?;
            agree_matrix("map", &grid.map(PLUS.bind(3)), &ok(a.map(PLUS.bind(3)))?)?;
            agree_matrix("map_index", &grid.map_index(stamp2), &ok(a.map_index(stamp2))?)?;
            let tril = TRIL.offset((seed % 9) as i64 - 4);
            agree_matrix("select", &grid.select(tril), &ok(a.select(tril))?)?;
            agree_matrix("ewise_add", &grid.ewise_add(&other, blend), &ok(a.ewise_add(&b, blend))?)?;
            agree_matrix("ewise_mult", &grid.ewise_mult(&other, blend), &ok(a.ewise_mult(&b, blend))?)?;
            agree("degrees", &grid.degrees(), &ok(a.degrees())?)?;
            let pattern = grid.map(Discard);
            agree_matrix("pattern", &pattern, &a.pattern())?;
            if graph.nrows == graph.ncols {
                let dense = filled.dense::<u32>(graph.nrows);
                let u = filled.vector(&dense);
                let kept = ok(a.oriented(LT, &u).into_matrix())?;
                agree_matrix("oriented", &grid.select_ends(LT, &dense), &kept)?;
                let members = ok(u.pattern().eval())?;
                let found = ok(ok(a.oriented(LE, &u).induced_by(&members))?.into_matrix())?;
                agree_matrix("induced_by", &grid.induced(LE, &dense), &found)?;
                // of a view that was made before
                let made = ok(ok(a.oriented(LE, &u).materialize())?.induced_by(&members))?;
                agree_matrix("made and induced_by", &grid.induced(LE, &dense), &ok(made.into_matrix())?)?;
                agree_matrix("map_ends", &grid.map_ends(LT, &dense), &ok(a.map_ends(LT, &u))?)?;
                // an operator that is not commutative
                agree_matrix("map_ends by blend", &grid.map_ends(blend, &dense), &ok(a.map_ends(blend, &u))?)?;
            }
            let some = |count: u64, n: usize, seed: u64| -> Vec<u32> {
                let count = if n == 0 { 0 } else { count % 40 };
                (0..count).map(|k| (mix(seed ^ k << 9) % n as u64) as u32).collect()
            };
            let (rows, columns) = (some(seed, graph.nrows, seed), some(seed / 64, graph.ncols, !seed));
            agree_matrix("extract", &grid.extract(&rows, &columns), &ok(a.extract(&rows, &columns))?)?;
            // ascending lists of all rows and columns with entries, and lists without the first of these columns
            let held = |grid: &Grid<u32>| -> Vec<u32> {
                let rows = (0..).zip(&grid.rows);
                rows.filter(|(_, row)| row.iter().any(Option::is_some)).map(|(i, _)| i).collect()
            };
            let (rows, columns) = (held(&grid), held(&grid.transpose()));
            let fewer = &columns[usize::from(!columns.is_empty())..];
            agree_matrix("extract of all", &grid.extract(&rows, &columns), &ok(a.extract(&rows, &columns))?)?;
            agree_matrix("extract of most", &grid.extract(&rows, fewer), &ok(a.extract(&rows, fewer))?)
        })
    });
}

/// An operator that drops an entry's value.
#[derive(Debug, Clone, Copy)]
struct Discard;

impl Source for Discard {
    fn source(self, _: &mut KernelText) -> String {
        unreachable!("for the CPU only")
    }
}

impl<T: Element> UnaryOp<T> for Discard {
    type Out = ();
    fn call(self, _: T) {}
}

fn check_reduce<T: Sample, M: Monoid<T>>(name: &str, add: M) {
    suite(&format!("reduce matrices by {name}"), 500, case(), |(graph, _, _, threads)| {
        let grid = graph.grid::<T>();
        let a = matrix(&grid, graph.symmetric);
        on_threads(threads, || {
            agree("rows", &grid.reduce_rows(add), &ok(a.reduce_rows(add))?)?;
            same("all", grid.reduce(add).bits(), ok(a.reduce(add))?.bits())
        })
    });
}

#[test]
fn reductions() {
    check_reduce::<u32, _>("PLUS of u32", PLUS);
    check_reduce::<f32, _>("PLUS of f32", PLUS);
    check_reduce::<u64, _>("ANY of u64", ANY);
    check_reduce::<u16, _>("a monoid that doesn't commute", Compose);
    check_reduce::<u32, _>("a fold that shows its tree", Tangle);
}

fn check_tiles<T: Sample>(name: &str, cases: u32) {
    suite(&format!("tiles of {name}"), cases, case(), |(graph, _, _, threads)| {
        let grid = graph.grid::<T>();
        let a = matrix(&grid, graph.symmetric);
        on_threads(threads, || {
            let tiles = Tiles::from_csr(a.csr());
            same("shape", (a.nrows(), a.ncols(), a.csr().nnz()), (tiles.nrows(), tiles.ncols(), tiles.nnz()))?;
            agree_matrix("there and back", &grid, &Matrix::from_csr(tiles.to_csr()))?;
            let mut held = 0;
            for (i, row) in grid.rows.iter().enumerate() {
                same("row_len", row.iter().flatten().count(), tiles.row_len(i))?;
                let columns: Vec<usize> = tiles.row(i).map(|(column, _)| column).collect();
                same("tile columns ascend", true, columns.is_sorted_by(|a, b| a < b))?;
                held += tiles.row(i).map(|(_, bits)| bits.count_ones() as usize).sum::<usize>();
            }
            same("bits", tiles.nnz(), held)?;
            let by_tile = |i: usize, j: usize| (i / 16, j / 16);
            let mut occupied: Vec<_> = a.iter().map(|(i, j, _)| by_tile(i as usize, j as usize)).collect();
            occupied.sort_unstable();
            occupied.dedup();
            same("no empty tile", occupied.len(), tiles.tiles())
        })
    });
}

#[test]
fn tiles() {
    check_tiles::<()>("a pattern", 500);
    check_tiles::<f16>("f16", 500);
}
