//! Strongly connected components by Tarjan's method, with a stack of its own in place of recursion.

use crate::certify::{Violation, same_length};

/// The mark of a vertex that hasn't been visited, and of one with a component that isn't known.
const NEVER: u32 = u32::MAX;

/// The strongly connected component of each vertex, as the least vertex in it. O(n + nnz) time.
///
/// ```
/// // 0 -> 2 -> 0, and 2 -> 1
/// let (offsets, columns) = ([0, 1, 1, 3], [2, 0, 1]);
/// assert_eq!(vxm::certify::tarjan(&offsets, &columns), [0, 1, 0]);
/// ```
pub fn tarjan(offsets: &[u64], columns: &[u32]) -> Vec<u32> {
    let n = offsets.len().saturating_sub(1);
    // the order of the visits, the earliest visit reached, and the next edge to look at
    let (mut visit, mut reached) = (vec![NEVER; n], vec![NEVER; n]);
    let (mut label, mut next) = (vec![NEVER; n], offsets[..n].to_vec());
    let (mut visits, mut path, mut open) = (0, Vec::new(), Vec::new());
    for first in 0..n as u32 {
        if visit[first as usize] != NEVER {
            continue;
        }
        path.push(first);
        while let Some(&vertex) = path.last() {
            let v = vertex as usize;
            if visit[v] == NEVER {
                (visit[v], reached[v]) = (visits, visits);
                visits += 1;
                open.push(vertex);
            }
            let mut deeper = false;
            while next[v] < offsets[v + 1] {
                let other = columns[next[v] as usize] as usize;
                if visit[other] == NEVER {
                    // this edge is looked at again on the way back
                    path.push(other as u32);
                    deeper = true;
                    break;
                }
                next[v] += 1;
                if label[other] == NEVER {
                    reached[v] = reached[v].min(reached[other]);
                }
            }
            if deeper {
                continue;
            }
            path.pop();
            if reached[v] == visit[v] {
                let start = open.iter().rposition(|&other| other == vertex).unwrap_or(0);
                let least = open[start..].iter().copied().min().unwrap_or(vertex);
                open.drain(start..).for_each(|member| label[member as usize] = least);
            }
        }
    }
    label
}

/// Checks that `labels` holds, for each vertex of a directed graph, the least vertex of its strongly connected component. Returns the
/// number of components. O(n + nnz) time.
///
/// ```
/// use vxm::certify::{Violation, strong_components};
/// let (offsets, columns) = ([0, 1, 1, 3], [2, 0, 1]);
/// assert_eq!(strong_components(&offsets, &columns, &[0, 1, 0]), Ok(2));
/// let wrong = strong_components(&offsets, &columns, &[0, 0, 0]);
/// assert_eq!(wrong, Err(Violation::StrongLabel { vertex: 1, label: 0, least: 1 }));
/// ```
///
/// # Errors
/// The [`Violation`] at the least vertex that has one.
pub fn strong_components(offsets: &[u64], columns: &[u32], labels: &[u32]) -> Result<usize, Violation> {
    same_length(offsets, labels.len())?;
    let found = tarjan(offsets, columns);
    match (0..labels.len()).find(|&vertex| labels[vertex] != found[vertex]) {
        Some(vertex) => {
            let (label, least) = (labels[vertex] as usize, found[vertex] as usize);
            Err(Violation::StrongLabel { vertex, label, least })
        }
        None => Ok(found.iter().zip(0..).filter(|&(&label, vertex)| label == vertex).count()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_a_cycle_and_a_loop() {
        // 0 -> 1 -> 2 -> 3 -> 1, 3 -> 4 -> 4, and 5
        let (offsets, columns) = ([0, 1, 2, 3, 5, 6, 6], [1, 2, 3, 1, 4, 4]);
        assert_eq!(tarjan(&offsets, &columns), [0, 1, 1, 1, 4, 5]);
        assert_eq!(strong_components(&[0], &[], &[]), Ok(0));
    }
}
