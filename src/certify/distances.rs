//! Distances by Dijkstra's method, with a binary heap.

use crate::certify::{Violation, Weight, same_length};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Dijkstra's distances from `source`; `None` where no path leads. Weights must not be negative; an edge of weight NaN counts as none, and
/// so does a path with a length that doesn't fit the type. Float sums are rounded at each edge, from the source on. O(nnz log nnz) time.
///
/// ```
/// // 0 -> 1 of weight 5, 0 -> 2 of weight 1, 2 -> 1 of weight 2
/// let (offsets, columns) = ([0, 2, 2, 3], [1, 2, 1]);
/// assert_eq!(vxm::certify::dijkstra(&offsets, &columns, &[5u32, 1, 2], 0), [Some(0), Some(3), Some(1)]);
/// ```
pub fn dijkstra<W: Weight>(offsets: &[u64], columns: &[u32], weights: &[W], source: usize) -> Vec<Option<W>> {
    let mut found: Vec<Option<W>> = vec![None; offsets.len().saturating_sub(1)];
    let Some(first) = found.get_mut(source) else { return found };
    *first = Some(W::ZERO);
    let mut queue = BinaryHeap::from([(Reverse(W::ZERO.key()), source as u32)]);
    while let Some((Reverse(key), vertex)) = queue.pop() {
        let vertex = vertex as usize;
        let Some(distance) = found[vertex].filter(|distance| distance.key() == key) else { continue };
        for edge in offsets[vertex] as usize..offsets[vertex + 1] as usize {
            let (other, Some(longer)) = (columns[edge], distance.plus(weights[edge])) else { continue };
            let held = &mut found[other as usize];
            if held.is_none_or(|held| longer < held) {
                *held = Some(longer);
                queue.push((Reverse(longer.key()), other));
            }
        }
    }
    found
}

/// Checks that `answer` holds the distance of each vertex from `source`, bit for bit, and `None` where no path leads. Returns how many
/// vertices are reached. Otherwise as [`dijkstra`].
///
/// ```
/// use vxm::certify::distances;
/// let (offsets, columns) = ([0, 2, 2, 3], [1, 2, 1]);
/// assert_eq!(distances(&offsets, &columns, &[5u32, 1, 2], 0, &[Some(0), Some(3), Some(1)]), Ok(3));
/// let wrong = distances(&offsets, &columns, &[5u32, 1, 2], 0, &[Some(0), Some(5), Some(1)]).unwrap_err();
/// assert_eq!(wrong.to_string(), "1 is at distance 3, the answer says 5");
/// ```
///
/// # Errors
/// The [`Violation`] at the least vertex that has one.
pub fn distances<W: Weight>(
    offsets: &[u64],
    columns: &[u32],
    weights: &[W],
    source: usize,
    answer: &[Option<W>],
) -> Result<usize, Violation> {
    same_length(offsets, answer.len())?;
    let found = dijkstra(offsets, columns, weights, source);
    let key = |distance: Option<W>| distance.map(W::key);
    let number = |distance: Option<W>| distance.map_or(f64::INFINITY, W::number);
    match (0..answer.len()).find(|&vertex| key(answer[vertex]) != key(found[vertex])) {
        Some(vertex) => {
            let (answer, distance) = (number(answer[vertex]), number(found[vertex]));
            Err(Violation::Distance { vertex, answer, distance })
        }
        None => Ok(found.iter().flatten().count()),
    }
}
