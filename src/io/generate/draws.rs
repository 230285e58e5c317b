//! Graphs with independently drawn edges: Erdos-Renyi, R-MAT and Graph500's Kronecker graphs.

use crate::error::{Error, Result};
use crate::io::Progress;
use crate::io::generate::random::{Random, Shuffle};
use crate::stop;
use core::ops::Range;
use rayon::prelude::*;

/// The numbers by which a task draws edges.
const LIST: u64 = 1 << 16;

/// Calls `draw` for the given numbers, in parallel, and passes lists of edges to `take`, in any order. Returns what that returns, in order.
pub(super) fn draw<R: Send>(
    numbers: Range<u64>,
    progress: &dyn Progress,
    draw: &(dyn Fn(Range<u64>) -> Vec<(u32, u32)> + Send + Sync),
    take: impl Fn(Vec<(u32, u32)>) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let stop = stop::current();
    (0..(numbers.end - numbers.start).div_ceil(LIST))
        .into_par_iter()
        .map(|list| {
            let start = numbers.start + list * LIST;
            let some = start..(start + LIST).min(numbers.end);
            progress.advance(some.end - some.start);
            if stop::is_asked(&stop) {
                return Err(Error::Stopped);
            }
            take(draw(some))
        })
        .collect()
}

/// The edge of each number: endpoints uniform over 2^`scale` vertices.
pub(super) fn even(scale: u32, seed: u64) -> impl Fn(u64) -> (u32, u32) + Sync {
    let random = Random::new(seed);
    move |edge| {
        let end = |place| random.below(place, 1 << scale) as u32;
        (end(2 * edge), end(2 * edge + 1))
    }
}

/// The probabilities that an edge falls into each quadrant of the adjacency matrix, applied again within that quadrant
/// down to a single entry.
#[derive(Clone, Copy)]
pub(super) struct Quadrants {
    /// Cumulative probabilities in units of 2^-32: the upper left quadrant; the upper half; all but the lower right
    /// quadrant.
    bounds: [u32; 3],
    /// Whether the vertices are permuted at random.
    shuffled: bool,
}

impl Quadrants {
    /// R-MAT: .45, .22, .22, .11.
    pub const RMAT: Self = Self::new([0.45, 0.22, 0.22], false);
    /// Graph500: .57, .19, .19, .05. Vertices are permuted, because otherwise those with low numbers have most of the
    /// edges.
    pub const GRAPH500: Self = Self::new([0.57, 0.19, 0.19], true);

    const fn new([a, b, c]: [f64; 3], shuffled: bool) -> Self {
        const ALL: f64 = 4_294_967_296.0;
        Self { bounds: [(a * ALL) as u32, ((a + b) * ALL) as u32, ((a + b + c) * ALL) as u32], shuffled }
    }
}

/// The edge of each number: between 2^`scale` vertices, by descending through the quadrants.
pub(super) fn quadrants(scale: u32, seed: u64, quadrants: Quadrants) -> impl Fn(u64) -> (u32, u32) + Sync {
    let random = Random::new(seed);
    let shuffle = Shuffle::new(Random::new(!seed), scale);
    let [left, upper, most] = quadrants.bounds;
    let words = u64::from(scale.div_ceil(2));
    move |edge| {
        let (mut row, mut column) = (0, 0);
        let mut descend = |bits: u32| {
            let lower = u32::from(bits >= upper);
            row = 2 * row + lower;
            // to the right lie the second and the last quadrant: an odd number of bounds is passed
            column = 2 * column + (u32::from(bits >= left) ^ lower ^ u32::from(bits >= most));
        };
        // a 64-bit random number serves two levels
        for word in 0..scale / 2 {
            let bits = random.at(edge * words + u64::from(word));
            descend(bits as u32);
            descend((bits >> 32) as u32);
        }
        if scale % 2 == 1 {
            descend(random.at(edge * words + u64::from(scale / 2)) as u32);
        }
        if quadrants.shuffled { (shuffle.of(row), shuffle.of(column)) } else { (row, column) }
    }
}
