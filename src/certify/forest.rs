//! Minimum spanning forests by Kruskal's method.

use crate::certify::{DisjointSets, Violation, Weight, neighbors};
use core::cmp::Ordering;

/// The edges of the minimum spanning forest of an undirected graph, the lesser end first, in the order (weight, lesser end, greater end).
/// Edges are taken in this order, so the forest is unique. Self-loops count as no edges. Weights must not be NaN. O(nnz log nnz) time.
///
/// ```
/// // a triangle with weights 5 (0-1), 9 (0-2), 7 (1-2)
/// let (offsets, columns, weights) = ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [5u32, 9, 5, 7, 9, 7]);
/// assert_eq!(vxm::certify::kruskal(&offsets, &columns, &weights), [(5, 0, 1), (7, 1, 2)]);
/// ```
pub fn kruskal<W: Weight>(offsets: &[u64], columns: &[u32], weights: &[W]) -> Vec<(W, u32, u32)> {
    let n = offsets.len().saturating_sub(1);
    let mut edges = Vec::with_capacity(columns.len() / 2);
    for vertex in 0..n {
        for edge in offsets[vertex] as usize..offsets[vertex + 1] as usize {
            if (vertex as u32) < columns[edge] {
                edges.push((weights[edge], vertex as u32, columns[edge]));
            }
        }
    }
    edges.sort_unstable_by(|x, y| x.0.partial_cmp(&y.0).unwrap_or(Ordering::Equal).then((x.1, x.2).cmp(&(y.1, y.2))));
    let mut trees = DisjointSets::new(n);
    edges.retain(|&(_, one, other)| trees.join(one, other));
    edges
}

/// Checks that `edges` are a minimum spanning forest of an undirected graph: edges of it, without a cycle, that connect all that the graph
/// does, of the same total weight as [`kruskal`]'s. Returns the total weight, rounded.
///
/// ```
/// use vxm::certify::{Violation, spanning_forest};
/// let (offsets, columns, weights) = ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [5u32, 9, 5, 7, 9, 7]);
/// assert_eq!(spanning_forest(&offsets, &columns, &weights, &[(0, 1), (1, 2)]), Ok(12.0));
/// let wrong = spanning_forest(&offsets, &columns, &weights, &[(0, 1), (0, 2)]);
/// assert_eq!(wrong, Err(Violation::NotMinimum { answer: 14.0, least: 12.0 }));
/// ```
///
/// # Errors
/// The first [`Violation`].
pub fn spanning_forest<W: Weight>(
    offsets: &[u64],
    columns: &[u32],
    weights: &[W],
    edges: &[(u32, u32)],
) -> Result<f64, Violation> {
    let n = offsets.len().saturating_sub(1);
    let (mut trees, mut taken) = (DisjointSets::new(n), Vec::with_capacity(edges.len()));
    for &(one, other) in edges {
        let (vertex, there) = (one as usize, other as usize);
        let row = if vertex < n { neighbors(offsets, columns, vertex) } else { &[] };
        let Ok(place) = row.binary_search(&other) else { return Err(Violation::NoEdge { vertex, other: there }) };
        if !trees.join(one, other) {
            return Err(Violation::Cycle { vertex, other: there });
        }
        taken.push(weights[offsets[vertex] as usize + place]);
    }
    for vertex in 0..n {
        let root = trees.least(vertex as u32);
        if let Some(&other) = neighbors(offsets, columns, vertex).iter().find(|&&other| trees.least(other) != root) {
            return Err(Violation::NotSpanning { vertex, other: other as usize });
        }
    }
    // all minimum spanning forests have the same weights, so sums in ascending order have the same bits
    taken.sort_unstable_by(|x, y| x.partial_cmp(y).unwrap_or(Ordering::Equal));
    let answer: f64 = taken.into_iter().map(W::number).sum();
    let least: f64 = kruskal(offsets, columns, weights).into_iter().map(|(weight, ..)| weight.number()).sum();
    if answer == least { Ok(answer) } else { Err(Violation::NotMinimum { answer, least }) }
}
