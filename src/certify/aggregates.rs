//! Aggregates around roots.

use crate::certify::{Violation, neighbors, same_length};

/// Checks aggregates of an undirected graph: each vertex lies in one, numbered below the number of roots; each aggregate has one root, and all
/// neighbours of that; every other member is next to a neighbour of its root. `roots` are ascending, and root `k` is that of aggregate
/// `k`. O(n + nnz) time.
///
/// ```
/// use vxm::certify::{Violation, aggregates};
/// // the path 0 - 1 - 2 - 3
/// let (offsets, columns) = ([0, 1, 3, 5, 6], [1, 0, 2, 1, 3, 2]);
/// assert_eq!(aggregates(&offsets, &columns, &[0, 3], &[0, 0, 1, 1]), Ok(()));
/// let wrong = aggregates(&offsets, &columns, &[0, 3], &[0, 1, 1, 1]);
/// assert_eq!(wrong, Err(Violation::Aggregate { vertex: 1, answer: 1 }));
/// ```
///
/// # Errors
/// The [`Violation`] of the first root with a wrong neighbour, or else of the first other vertex that is wrong.
pub fn aggregates(offsets: &[u64], columns: &[u32], roots: &[u32], aggregate: &[u32]) -> Result<(), Violation> {
    same_length(offsets, aggregate.len())?;
    let wrong = |vertex: usize| Err(Violation::Aggregate { vertex, answer: aggregate[vertex] });
    // whether a vertex is a root or next to one
    let mut inner = vec![false; aggregate.len()];
    for (number, &root) in (0u32..).zip(roots) {
        let around = neighbors(offsets, columns, root as usize).iter();
        for vertex in core::iter::once(&root).chain(around).map(|&v| v as usize) {
            if aggregate[vertex] != number || inner[vertex] {
                return wrong(vertex);
            }
            inner[vertex] = true;
        }
    }
    for vertex in (0..aggregate.len()).filter(|&v| !inner[v]) {
        let mut around = neighbors(offsets, columns, vertex).iter().map(|&v| v as usize);
        if !around.any(|v| inner[v] && aggregate[v] == aggregate[vertex]) {
            return wrong(vertex);
        }
    }
    Ok(())
}
