//! Artificial road networks: crossings on a grid, with some streets missing and others subdivided.

use crate::io::generate::random::Random;
use core::ops::Range;
use rayon::prelude::*;

/// A road network from a `side` x `side` grid: its number of vertices, and the streets that begin at some crossings. A quarter of the streets
/// is missing. The rest have 0, 1 or 2 points between their ends (1/2, 1/4, 1/4 of them). That makes 2.12 `side`^2 vertices with 2.47
/// neighbours on average. The number of a crossing is followed by those of the points on its streets to the east and to the south.
pub(super) fn road(side: u32, seed: u64) -> (u64, impl Fn(Range<u64>) -> Vec<(u32, u32)> + Send + Sync) {
    let (random, side) = (Random::new(seed), side as usize);
    let street = move |crossing: usize, south: bool| -> Option<(usize, u32)> {
        let (row, column) = (crossing / side, crossing % side);
        let inside = if south { row } else { column } + 1 < side;
        let bits = random.at(2 * crossing as u64 + u64::from(south));
        let points = [0, 0, 1, 2][(bits >> 2 & 3) as usize];
        let other = crossing + if south { side } else { 1 };
        (inside && bits & 3 != 0).then_some((other, points))
    };
    let points = |crossing| -> u32 {
        let streets = [false, true].into_iter().filter_map(|south| street(crossing, south));
        streets.map(|street| street.1).sum()
    };
    let mut numbers: Vec<u32> = (0..side * side).into_par_iter().map(|c| 1 + points(c)).collect();
    let mut vertices = 0;
    for number in &mut numbers {
        vertices += core::mem::replace(number, vertices);
    }
    let streets = move |crossings: Range<u64>| {
        let mut edges = Vec::new();
        for crossing in crossings.start as usize..crossings.end as usize {
            let mut next = numbers[crossing] + 1;
            for (other, points) in [false, true].into_iter().filter_map(|s| street(crossing, s)) {
                let mut from = numbers[crossing];
                for _ in 0..points {
                    edges.push((from, next));
                    from = next;
                    next += 1;
                }
                edges.push((from, numbers[other]));
            }
        }
        edges
    };
    (u64::from(vertices), streets)
}
