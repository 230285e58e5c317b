//! Distances by Dijkstra's method, with a binary heap.

use crate::certify::{Violation, Weight, parents, same_length};
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

/// Checks that `answer` holds, for each vertex that `source` reaches, its parent on a shortest path with the fewest edges, the least of
/// several; for the source itself the source, and `None` where no path leads. Returns the most edges of these paths. Otherwise as
/// [`dijkstra`].
///
/// ```
/// use vxm::certify::shortest_parents;
/// // 0 -> 1 of weight 3, 0 -> 2 of weight 1, 2 -> 1 of weight 2
/// let (offsets, columns) = ([0, 2, 2, 3], [1, 2, 1]);
/// assert_eq!(shortest_parents(&offsets, &columns, &[3u32, 1, 2], 0, &[Some(0), Some(0), Some(0)]), Ok(1));
/// let wrong = shortest_parents(&offsets, &columns, &[4u32, 1, 2], 0, &[Some(0), Some(0), Some(0)]).unwrap_err();
/// assert_eq!(wrong.to_string(), "the parent of 1 is 2, the answer says 0");
/// ```
///
/// # Errors
/// The [`Violation`] at the least vertex that has one.
pub fn shortest_parents<W: Weight>(
    offsets: &[u64],
    columns: &[u32],
    weights: &[W],
    source: usize,
    answer: &[Option<u32>],
) -> Result<u32, Violation> {
    same_length(offsets, answer.len())?;
    let found = dijkstra(offsets, columns, weights, source);
    // the edges that end a shortest path: along these, the fewest hops
    let (mut starts, mut ends) = (vec![0], Vec::new());
    for (vertex, distance) in found.iter().enumerate() {
        for edge in offsets[vertex] as usize..offsets[vertex + 1] as usize {
            let longer = distance.and_then(|distance| distance.plus(weights[edge])).map(W::key);
            if longer.is_some() && longer == found[columns[edge] as usize].map(W::key) {
                ends.push(columns[edge]);
            }
        }
        starts.push(ends.len() as u64);
    }
    parents(&starts, &ends, source, answer)
}
