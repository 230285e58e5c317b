//! Matrices made from triples, and their transposes. Sizes span many tiles of the device's sort and scan. Some rows and columns hold most
//! entries.

use crate::algebra::{Compose, Sample, Tangle, mix};
use crate::harness::{Outcome, agree, ok, on_threads, same, suite};
use half::f16;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeMap;
use vxm::formats::{Combine, Coo, Duplicates, First, Last};
use vxm::prelude::*;

/// A description of generated triples, which come in any order.
#[derive(Debug, Clone)]
pub struct Triples {
    pub nrows: usize,
    pub ncols: usize,
    pub count: usize,
    /// How many of 8 triples lie in one particular row, and in one particular column.
    pub hubs: (u64, u64),
    pub seed: u64,
}

/// Triples of shapes and counts that reach every path: none, one, about one tile, many tiles; hubs, long rows, many empty rows.
pub fn triples() -> impl Strategy<Value = Triples> {
    let shape = prop_oneof![
        1 => Just((0, 0)),
        1 => (1..3usize, 1..3usize),
        4 => (1..40usize, 1..40usize),
        2 => (1..4usize, 200..70_000usize),
        2 => (200..70_000usize, 1..4usize),
        4 => (200..2000usize, 200..2000usize),
    ];
    let count = prop_oneof![2 => 0..4usize, 3 => 0..300usize, 2 => 2030..2070usize, 3 => 0..9000usize];
    let hubs = select(vec![(0, 0), (4, 0), (0, 4), (3, 3), (8, 8)]);
    (shape, count, hubs, 0..1u64 << 16).prop_map(|((nrows, ncols), count, hubs, seed)| Triples {
        nrows,
        ncols,
        count: if nrows == 0 { 0 } else { count },
        hubs,
        seed,
    })
}

impl Triples {
    /// Generates the triples.
    pub fn list<T: Sample>(&self) -> Vec<(u32, u32, T)> {
        let index = |bits: u64, n: usize, of_eight: u64| {
            if bits >> 50 & 7 < of_eight { n as u64 / 3 } else { (bits & 0xffff_ffff) % n as u64 }
        };
        let triple = |k: u64| {
            let (i, j, x) = (mix(self.seed ^ k << 20), mix(self.seed << 40 ^ k), mix(mix(k) ^ self.seed));
            let place = (index(i, self.nrows, self.hubs.0), index(j, self.ncols, self.hubs.1));
            (place.0 as u32, place.1 as u32, T::sample(x & !1 | self.seed & 1))
        };
        (0..self.count as u64).map(triple).collect()
    }
}

/// Compares a matrix with the expected entries, bit for bit.
pub fn agree_entries<T: Element>(what: &str, expected: &BTreeMap<(u32, u32), T>, found: &Matrix<T>) -> Outcome {
    same(&format!("{what}: nnz"), expected.len() as u64, found.nnz())?;
    let expected: Vec<_> = expected.iter().map(|(&(i, j), x)| (i, j, x.bits())).collect();
    same(what, expected, found.iter().map(|(i, j, x)| (i, j, x.bits())).collect())
}

fn check<T: Sample, D: Duplicates<T> + Copy>(name: &str, duplicates: D, merge: impl Fn(T, T) -> T) {
    suite(&format!("triples, {name}"), 100, (triples(), select(vec![1, 2, 8])), |(triples, threads)| {
        let list = triples.list::<T>();
        let mut expected = BTreeMap::new();
        for &(i, j, x) in &list {
            expected.entry((i, j)).and_modify(|held| *held = merge(*held, x)).or_insert(x);
        }
        let coo = Coo::from_triples(triples.nrows, triples.ncols, list.iter().copied()).unwrap();
        on_threads(threads, || {
            let a = ok(Matrix::from_coo(&coo, duplicates))?;
            same("shape", (triples.nrows, triples.ncols), (a.nrows(), a.ncols()))?;
            agree_entries("rows", &expected, &a)?;
            let turned: BTreeMap<_, _> = expected.iter().map(|(&(i, j), &x)| ((j, i), x)).collect();
            agree_entries("transpose", &turned, &a.transpose())?;
            agree_entries("transposed twice", &expected, &a.transpose().transpose())?;
            // a column of the matrix is a row of its transpose, so both products count the same
            let u = Vector::full(triples.nrows, ());
            let (found, again) = (ok(u.vxm(&a, PLUS_PAIR).eval())?, ok(a.transpose().mxv(&u, PLUS_PAIR).eval())?);
            let mut counts = vec![None; triples.ncols];
            for &(_, j) in expected.keys() {
                *counts[j as usize].get_or_insert(0) += 1;
            }
            agree("counts", &counts, &found)?;
            agree("counts of the transpose", &counts, &again)
        })
    });
}

#[test]
fn triples_are_joined_in_order() {
    check::<(), _>("a pattern", First, |x, _| x);
    check::<u8, _>("the first of u8", First, |x, _| x);
    check::<u64, _>("the last of u64", Last, |_, y| y);
    check::<f16, _>("the sum of f16", Combine(PLUS), |x, y| x + y);
    check::<f64, _>("the sum of f64", Combine(PLUS), |x, y| x + y);
    check::<u16, _>("an operator that doesn't commute", Combine(Compose), |x, y| Compose.call(x, y));
    check::<u32, _>("an operator that shows its order", Combine(Tangle), |x, y| Tangle.call(x, y));
}

/// A rule for duplicates without CUDA text, so that duplicates are merged on the host on every device.
#[derive(Debug, Clone, Copy)]
struct Longer;

impl Duplicates<u32> for Longer {
    fn merge(&self, earlier: u32, later: u32) -> Option<u32> {
        Some(if later.count_ones() > earlier.count_ones() { later } else { earlier })
    }
}

#[test]
fn a_rule_of_the_hosts_own() {
    check::<u32, _>("a rule of the host's own", Longer, |x, y| Longer.merge(x, y).unwrap());
}

#[test]
fn two_at_one_place_are_refused() {
    suite("triples, each place once", 150, triples(), |triples| {
        let mut list = triples.list::<i32>();
        let mut seen = std::collections::BTreeSet::new();
        let twice = list.iter().filter(|&&(i, j, _)| !seen.insert((i, j))).map(|&(i, j, _)| (i, j)).min();
        let found = Matrix::from_triples(triples.nrows, triples.ncols, list.iter().copied());
        if let Some((row, column)) = twice {
            let expected = format!("Coo: two entries at row {row}, column {column}");
            same("the first place", Some(expected), found.err().map(|error| error.to_string()))?;
        } else {
            ok(found)?;
        }
        let mut seen = std::collections::BTreeSet::new();
        list.retain(|&(i, j, _)| seen.insert((i, j)));
        let expected: BTreeMap<_, _> = list.iter().map(|&(i, j, x)| ((i, j), x)).collect();
        let a = ok(Matrix::from_triples(triples.nrows, triples.ncols, list))?;
        agree_entries("rows", &expected, &a)?;
        agree_entries("pattern", &expected.keys().map(|&place| (place, ())).collect(), &a.pattern())
    });
}

#[test]
fn undirected_graphs() {
    suite("undirected graphs of pairs", 100, triples(), |triples| {
        let n = triples.nrows.max(triples.ncols);
        let edges: Vec<_> = triples.list::<()>().into_iter().map(|(i, j, ())| (i, j)).collect();
        let both = edges.iter().filter(|(i, j)| i != j).flat_map(|&(i, j)| [((i, j), ()), ((j, i), ())]);
        let a = ok(Matrix::undirected(n, &edges))?;
        same("symmetric", true, a.is_symmetric())?;
        agree_entries("edges", &both.collect(), &a)
    });
}
