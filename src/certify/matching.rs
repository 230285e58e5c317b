//! Matchings: maximal ones, and locally dominant ones.

use crate::certify::{Violation, Weight, neighbors, same_length, vertex};

/// The matching that takes edges in the given order, each if both ends are free: the mate of each of `n` vertices.
///
/// ```
/// let mates = vxm::certify::greedy_matching(4, [(1, 2), (0, 1), (2, 3)]);
/// assert_eq!(mates, [None, Some(2), Some(1), None]);
/// ```
///
/// # Panics
/// An end is `n` or more.
pub fn greedy_matching(n: usize, edges: impl IntoIterator<Item = (u32, u32)>) -> Vec<Option<u32>> {
    let mut mate = vec![None; n];
    for (one, other) in edges {
        if one != other && mate[one as usize].is_none() && mate[other as usize].is_none() {
            (mate[one as usize], mate[other as usize]) = (Some(other), Some(one));
        }
    }
    mate
}

/// Checks that `mate` is a matching of an undirected graph, to which no edge can be added: mates are neighbours and each other's mates, and
/// no two neighbours are both unmatched. Self-loops count as no edges. Returns the number of edges.
///
/// ```
/// use vxm::certify::{Violation, maximal_matching};
/// // the path 0 - 1 - 2
/// let (offsets, columns) = ([0, 1, 3, 4], [1, 0, 2, 1]);
/// assert_eq!(maximal_matching(&offsets, &columns, &[Some(1), Some(0), None]), Ok(1));
/// let wrong = maximal_matching(&offsets, &columns, &[None, None, None]);
/// assert_eq!(wrong, Err(Violation::Unmatched { vertex: 0, other: 1 }));
/// ```
///
/// # Errors
/// The [`Violation`] at the least vertex that has one.
pub fn maximal_matching(offsets: &[u64], columns: &[u32], mate: &[Option<u32>]) -> Result<usize, Violation> {
    same_length(offsets, mate.len())?;
    for (v, &held) in mate.iter().enumerate() {
        let neighbors = neighbors(offsets, columns, v).iter().map(|&other| (other, mate[other as usize]));
        if let Some(violation) = vertex::mate(v as u32, held, neighbors) {
            return Err(violation);
        }
    }
    Ok(mate.iter().flatten().count() / 2)
}

/// Checks that `mate` is a [`maximal_matching`] in which each edge of the graph is dominated: it weighs no more than the edge by which one
/// of its ends is matched. So the matching weighs at least half as much as any. Returns its weight, rounded.
///
/// ```
/// use vxm::certify::{Violation, dominant_matching};
/// // the path 0 - 1 - 2 with weights 3 and 4
/// let (offsets, columns, weights) = ([0, 1, 3, 4], [1, 0, 2, 1], [3u32, 3, 4, 4]);
/// assert_eq!(dominant_matching(&offsets, &columns, &weights, &[None, Some(2), Some(1)]), Ok(4.0));
/// let wrong = dominant_matching(&offsets, &columns, &weights, &[Some(1), Some(0), None]);
/// assert_eq!(wrong, Err(Violation::NotDominated { vertex: 1, other: 2 }));
/// ```
///
/// # Errors
/// The first [`Violation`] that was found.
pub fn dominant_matching<W: Weight>(
    offsets: &[u64],
    columns: &[u32],
    weights: &[W],
    mate: &[Option<u32>],
) -> Result<f64, Violation> {
    maximal_matching(offsets, columns, mate)?;
    let row = |vertex: usize| offsets[vertex] as usize..offsets[vertex + 1] as usize;
    let held = |vertex: usize| {
        let place = neighbors(offsets, columns, vertex).binary_search(&mate[vertex]?).ok()?;
        Some(weights[offsets[vertex] as usize + place])
    };
    let matched: Vec<Option<W>> = (0..mate.len()).map(held).collect();
    let mut total = 0.0;
    for (vertex, &own) in matched.iter().enumerate() {
        for edge in row(vertex) {
            let (other, weight) = (columns[edge] as usize, weights[edge]);
            let dominates = |held: Option<W>| held.is_some_and(|held| weight <= held);
            if vertex < other && !dominates(own) && !dominates(matched[other]) {
                return Err(Violation::NotDominated { vertex, other });
            }
        }
        if mate[vertex].is_some_and(|other| vertex < other as usize) {
            total += own.map_or(0.0, W::number);
        }
    }
    Ok(total)
}
