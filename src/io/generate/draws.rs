//! Graphs of independently drawn edges: Erdos-Renyi, R-MAT and Graph500's Kronecker graphs.

use super::random::{Random, Shuffle};
use crate::io::Progress;
use rayon::prelude::*;

/// Edges that a task draws.
const LIST: u64 = 1 << 16;

/// The edges that `draw` gives for 0..`count`.
fn draw(count: u64, progress: &dyn Progress, draw: impl Fn(u64) -> (u32, u32) + Sync) -> Vec<Vec<(u32, u32)>> {
    (0..count.div_ceil(LIST))
        .into_par_iter()
        .map(|list| {
            let edges = list * LIST..((list + 1) * LIST).min(count);
            progress.advance(edges.end - edges.start);
            edges.map(&draw).collect()
        })
        .collect()
}

/// `count` edges whose ends are drawn evenly from 2^`scale` vertices.
pub(super) fn even(scale: u32, count: u64, seed: u64, progress: &dyn Progress) -> Vec<Vec<(u32, u32)>> {
    let random = Random::new(seed);
    draw(count, progress, |edge| {
        let end = |place| random.below(place, 1 << scale) as u32;
        (end(2 * edge), end(2 * edge + 1))
    })
}

/// How likely an edge falls into each quadrant of the adjacency matrix, in each of the quadrants of the one it fell into, and so on.
#[derive(Clone, Copy)]
pub(super) struct Quadrants {
    /// Of 2^32: upper left; upper half; all but lower right.
    bounds: [u32; 3],
    shuffled: bool,
}

impl Quadrants {
    /// .45, .22, .22, .11.
    pub const RMAT: Self = Self::new([0.45, 0.22, 0.22], false);
    /// Graph500: .57, .19, .19, .05, with shuffled vertices, for otherwise the low ones have most of the edges.
    pub const GRAPH500: Self = Self::new([0.57, 0.19, 0.19], true);

    const fn new([a, b, c]: [f64; 3], shuffled: bool) -> Self {
        const ALL: f64 = 4_294_967_296.0;
        Self { bounds: [(a * ALL) as u32, ((a + b) * ALL) as u32, ((a + b + c) * ALL) as u32], shuffled }
    }
}

/// `count` edges between 2^`scale` vertices, each drawn by descending through quadrants.
pub(super) fn quadrants(
    scale: u32,
    count: u64,
    seed: u64,
    quadrants: Quadrants,
    progress: &dyn Progress,
) -> Vec<Vec<(u32, u32)>> {
    let random = Random::new(seed);
    let shuffle = Shuffle::new(Random::new(!seed), scale);
    let [left, upper, most] = quadrants.bounds;
    let words = u64::from(scale.div_ceil(2));
    draw(count, progress, |edge| {
        let (mut row, mut column) = (0, 0);
        for level in 0..scale {
            // a random number serves two levels
            let bits = random.at(edge * words + u64::from(level / 2)) >> (32 * (level % 2));
            let bits = bits as u32;
            let lower = bits >= upper;
            let right = (bits >= left && !lower) || bits >= most;
            row = 2 * row + u32::from(lower);
            column = 2 * column + u32::from(right);
        }
        if quadrants.shuffled { (shuffle.of(row), shuffle.of(column)) } else { (row, column) }
    })
}
