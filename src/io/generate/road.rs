//! Artificial road networks: crossings on a grid, with some streets missing and others subdivided.

use crate::error::Result;
use crate::formats::{Cleaned, Directions, undirected};
use crate::io::generate::random::Random;
use rayon::prelude::*;

/// Builds a road network from a `side` x `side` grid. A quarter of the streets is missing. The rest have 0, 1 or 2
/// points between their ends (1/2, 1/4, 1/4 of them). That makes 2.12 `side`^2 vertices with 2.47 neighbours on
/// average. The number of a crossing is followed by those of the points on its streets to the east and to the south.
pub(super) fn road(side: u32, seed: u64) -> Result<Cleaned> {
    let random = Random::new(seed);
    let crossings = side as usize * side as usize;
    let street = |crossing: usize, south: bool| -> Option<(usize, u32)> {
        let (row, column) = (crossing / side as usize, crossing % side as usize);
        let inside = if south { row } else { column } + 1 < side as usize;
        let bits = random.at(2 * crossing as u64 + u64::from(south));
        let points = [0, 0, 1, 2][(bits >> 2 & 3) as usize];
        let other = crossing + if south { side as usize } else { 1 };
        (inside && bits & 3 != 0).then_some((other, points))
    };
    let points = |crossing| -> u32 {
        let streets = [false, true].into_iter().filter_map(|south| street(crossing, south));
        streets.map(|street| street.1).sum()
    };
    let mut numbers: Vec<u32> = (0..crossings).into_par_iter().map(|c| 1 + points(c)).collect();
    let mut vertices = 0;
    for number in &mut numbers {
        vertices += core::mem::replace(number, vertices);
    }
    let edges = (0..side as usize).into_par_iter().map(|row| {
        let mut edges = Vec::new();
        for crossing in row * side as usize..(row + 1) * side as usize {
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
    });
    undirected(vertices as usize, edges.collect(), Directions::Ignored)
}
