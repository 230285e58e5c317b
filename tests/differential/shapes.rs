//! Generated graphs and vectors. Each is described by few numbers, from which everything else is hashed, so that shrinking stays simple.

use crate::algebra::{Join, Sample, mix};
use crate::harness::{Mode, Terminal};
use proptest::prelude::*;
use proptest::sample::select;
use vxm::backend::plan::Format;
use vxm::backend::reference::{self, Dense, Grid};
use vxm::containers::VectorFormat;
use vxm::formats::{Coo, Refuse};
use vxm::prelude::*;

/// The places of a graph's entries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Random places, this many of a thousand.
    Scattered(u64),
    /// All places of one row and one column.
    Star,
    /// All places up to this distance from the diagonal, which gives few tiles that are full.
    Band(usize),
    /// All places of every fifth row.
    Rows,
}

/// The description of a graph.
#[derive(Debug, Clone)]
pub struct Graph {
    pub nrows: usize,
    pub ncols: usize,
    pub kind: Kind,
    pub symmetric: bool,
    pub seed: u64,
}

impl Graph {
    /// Random bits for the entry at row `i`, column `j`, if there is one.
    fn entry(&self, i: usize, j: usize) -> Option<u64> {
        let (i, j) = if self.symmetric { (i.min(j), i.max(j)) } else { (i, j) };
        let bits = mix(mix(self.seed ^ (i as u64) << 32) ^ j as u64);
        let there = match self.kind {
            Kind::Scattered(per_mille) => bits >> 24 & 0xffff_ffff < per_mille * 0x1_0000_0000 / 1000,
            Kind::Star => i == self.nrows / 3 || j == self.nrows / 3,
            Kind::Band(width) => i.abs_diff(j) <= width,
            Kind::Rows => i % 5 == 1,
        };
        // the lowest bit allows extreme values. It is the same for a whole case, since one NaN would make all sums NaN
        there.then(|| mix(bits) & !1 | self.seed & 1)
    }

    /// The matrix for the reference.
    pub fn grid<T: Sample>(&self) -> Grid<T> {
        reference::grid(self.nrows, self.ncols, |i, j| self.entry(i, j).map(T::sample))
    }
}

/// The engine's matrix for a reference matrix.
pub fn matrix<T: Element>(grid: &Grid<T>, symmetric: bool) -> Matrix<T> {
    let mut coo = Coo::new(grid.rows.len(), grid.ncols).expect("few vertices");
    for (i, row) in grid.rows.iter().enumerate() {
        for (j, entry) in row.iter().enumerate() {
            if let Some(entry) = *entry {
                coo.push(i as u32, j as u32, entry).expect("within");
            }
        }
    }
    let csr = coo.to_csr(Refuse).expect("no duplicates");
    if symmetric { Matrix::from_symmetric(csr).expect("symmetric") } else { Matrix::from_csr(csr) }
}

/// The description of a vector, for any length.
#[derive(Debug, Clone)]
pub struct Filled {
    pub per_mille: u64,
    pub seed: u64,
    pub format: VectorFormat,
}

impl Filled {
    /// The vector of length `len` for the reference.
    pub fn dense<T: Sample>(&self, len: usize) -> Dense<T> {
        let element = |i: u64| {
            let bits = mix(self.seed ^ i << 20);
            (bits >> 24 & 0xffff_ffff < self.per_mille * 0x1_0000_0000 / 1000)
                .then(|| T::sample(mix(bits) & !1 | self.seed & 1))
        };
        (0..len as u64).map(element).collect()
    }

    /// The engine's vector for a reference vector.
    pub fn vector<T: Element>(&self, dense: &[Option<T>]) -> Vector<T> {
        Vector::from_options(dense).with_format(self.format)
    }
}

fn format() -> impl Strategy<Value = VectorFormat> {
    select(vec![VectorFormat::Dense, VectorFormat::Bitmap, VectorFormat::Sparse])
}

/// Generates vectors: empty, full and in between.
pub fn filled() -> impl Strategy<Value = Filled> {
    let fill = prop_oneof![Just(0), Just(20), 0..1000u64, Just(1000)];
    (fill, 0..1u64 << 16, format()).prop_map(|(per_mille, seed, format)| Filled { per_mille, seed, format })
}

/// Generates graphs of shapes that reach every path of the formats: words of 64 bits, tiles of 16, segments of the fixed tree.
pub fn graph() -> impl Strategy<Value = Graph> {
    let kind = prop_oneof![
        4 => (0..300u64).prop_map(Kind::Scattered),
        1 => Just(Kind::Scattered(1000)),
        1 => Just(Kind::Star),
        1 => (0..6usize).prop_map(Kind::Band),
        1 => Just(Kind::Rows),
    ];
    let dimensions = prop_oneof![
        1 => Just((0, 0)),
        1 => prop_oneof![(0..9usize).prop_map(|n| (n, 0)), (0..9usize).prop_map(|n| (0, n))],
        12 => (1..20usize, 1..20usize),
        6 => (1..48usize).prop_map(|n| (n, n)),
        4 => (15..80usize, 15..80usize),
        2 => (60..150usize).prop_map(|n| (n, n)),
    ];
    let small = (dimensions, kind, any::<bool>(), 0..1u64 << 16).prop_map(|((nrows, ncols), kind, symmetric, seed)| {
        Graph { nrows, ncols, kind, symmetric: symmetric && nrows == ncols, seed }
    });
    let hyper = (100..260usize, 0..3u64, any::<bool>(), 0..1u64 << 16).prop_map(|(n, per_mille, symmetric, seed)| {
        Graph { nrows: n, ncols: n, kind: Kind::Scattered(per_mille), symmetric, seed }
    });
    let long = (1..4usize, prop_oneof![4080..4200usize, 30..9000usize], any::<bool>(), 1..40u64, 0..1u64 << 16);
    let long = long.prop_map(|(few, many, tall, tenths, seed)| {
        let (nrows, ncols) = if tall { (many, few) } else { (few, many) };
        Graph { nrows, ncols, kind: Kind::Scattered((25 * tenths).min(1000)), symmetric: false, seed }
    });
    prop_oneof![60 => small, 2 => hyper, 2 => long]
}

/// Generates terminals.
pub fn terminal() -> impl Strategy<Value = Terminal> {
    let joins = [Join::Plus, Join::Max, Join::First, Join::Second].map(Terminal::Accum);
    prop_oneof![Just(Terminal::Eval), Just(Terminal::Assign), select(joins.to_vec())]
}

/// The parts that all cases with a vector as result have: a mask, a terminal, a vector to write to, and the number of threads.
#[derive(Debug, Clone)]
pub struct Ending {
    pub mask: Filled,
    pub mode: Mode,
    pub w: Filled,
    pub terminal: Terminal,
    pub threads: usize,
}

/// Generates [`Ending`]s.
pub fn ending() -> impl Strategy<Value = Ending> {
    (filled(), select(Mode::ALL.to_vec()), filled(), terminal(), select(vec![1, 2, 8]))
        .prop_map(|(mask, mode, w, terminal, threads)| Ending { mask, mode, w, terminal, threads })
}

/// The formats that a matrix can be set to. `None` leaves the choice to the plan.
pub const FORMATS: [Option<Format>; 3] = [None, Some(Format::Csr), Some(Format::Tiles)];
