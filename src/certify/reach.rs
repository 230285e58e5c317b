//! Levels, parents and components by sequential traversals, with a queue and a stack.

use crate::certify::{Violation, neighbors, same_length};

/// The mark of a vertex that isn't reached; greater than any number of hops and any vertex.
const NEVER: u32 = u32::MAX;

/// Checks that `levels` holds, for each vertex, the fewest hops from `source`, and `None` where no path leads. Returns how many vertices
/// `source` reaches, itself included. A row's columns are the heads of its vertex' edges, so the graph may be directed. O(n + nnz) time.
///
/// ```
/// use vxm::certify::{Violation, levels};
/// // the path 0 - 1 - 2
/// let (offsets, columns) = ([0, 1, 3, 4], [1, 0, 2, 1]);
/// assert_eq!(levels(&offsets, &columns, 1, &[Some(1), Some(0), Some(1)]), Ok(3));
/// let wrong = levels(&offsets, &columns, 1, &[Some(1), Some(0), None]);
/// assert_eq!(wrong, Err(Violation::Level { vertex: 2, answer: None, hops: Some(1) }));
/// ```
///
/// # Errors
/// The [`Violation`] at the least vertex that has one.
pub fn levels(offsets: &[u64], columns: &[u32], source: usize, levels: &[Option<u32>]) -> Result<usize, Violation> {
    same_length(offsets, levels.len())?;
    let (hops, reached) = queue(offsets, columns, source);
    let known = |vertex: usize| Some(hops[vertex]).filter(|&hops| hops != NEVER);
    match (0..levels.len()).find(|&vertex| levels[vertex] != known(vertex)) {
        Some(vertex) => Err(Violation::Level { vertex, answer: levels[vertex], hops: known(vertex) }),
        None => Ok(reached),
    }
}

/// The fewest hops from `source` to each vertex, `NEVER` where no path leads, and how many vertices are reached.
fn queue(offsets: &[u64], columns: &[u32], source: usize) -> (Vec<u32>, usize) {
    let n = offsets.len().saturating_sub(1);
    let mut hops = vec![NEVER; n];
    let mut order = Vec::with_capacity(n);
    if let Some(first) = hops.get_mut(source) {
        *first = 0;
        order.push(source as u32);
    }
    let mut next = 0;
    while let Some(&vertex) = order.get(next) {
        next += 1;
        for &other in neighbors(offsets, columns, vertex as usize) {
            if hops[other as usize] == NEVER {
                hops[other as usize] = hops[vertex as usize] + 1;
                order.push(other);
            }
        }
    }
    (hops, order.len())
}

/// Checks that `answer` holds, for each vertex that `source` reaches, the least of its in-neighbours that are one hop nearer to the source;
/// for the source itself the source, and `None` where no path leads. Returns the most hops. O(n + nnz) time.
///
/// ```
/// use vxm::certify::{Violation, parents};
/// // the path 0 - 1 - 2
/// let (offsets, columns) = ([0, 1, 3, 4], [1, 0, 2, 1]);
/// assert_eq!(parents(&offsets, &columns, 0, &[Some(0), Some(0), Some(1)]), Ok(2));
/// let wrong = parents(&offsets, &columns, 0, &[Some(0), Some(0), None]);
/// assert_eq!(wrong, Err(Violation::Parent { vertex: 2, answer: None, parent: Some(1) }));
/// ```
///
/// # Errors
/// The [`Violation`] at the least vertex that has one.
pub fn parents(offsets: &[u64], columns: &[u32], source: usize, answer: &[Option<u32>]) -> Result<u32, Violation> {
    same_length(offsets, answer.len())?;
    let (hops, _) = queue(offsets, columns, source);
    let mut parent = vec![None; answer.len()];
    if let Some(first) = parent.get_mut(source) {
        *first = Some(source);
    }
    // ascending, so the first that fits is the least
    for vertex in (0..answer.len()).filter(|&vertex| hops[vertex] != NEVER) {
        for &other in neighbors(offsets, columns, vertex) {
            if hops[other as usize] == hops[vertex] + 1 {
                parent[other as usize].get_or_insert(vertex);
            }
        }
    }
    let told = |vertex: usize| answer[vertex].map(|parent| parent as usize);
    match (0..answer.len()).find(|&vertex| told(vertex) != parent[vertex]) {
        Some(vertex) => Err(Violation::Parent { vertex, answer: told(vertex), parent: parent[vertex] }),
        None => Ok(hops.into_iter().filter(|&hops| hops != NEVER).max().unwrap_or(0)),
    }
}

/// Checks that `labels` holds, for each vertex of an undirected graph, the least vertex of its component. Returns the number of components.
/// O(n + nnz) time.
///
/// ```
/// use vxm::certify::{Violation, components};
/// // 0 - 2, and 1
/// let (offsets, columns) = ([0, 1, 1, 2], [2, 0]);
/// assert_eq!(components(&offsets, &columns, &[0, 1, 0]), Ok(2));
/// let wrong = components(&offsets, &columns, &[0, 1, 2]);
/// assert_eq!(wrong, Err(Violation::Label { vertex: 2, label: 2, least: 0 }));
/// ```
///
/// # Errors
/// The [`Violation`] at the least vertex that has one.
pub fn components(offsets: &[u64], columns: &[u32], labels: &[u32]) -> Result<usize, Violation> {
    same_length(offsets, labels.len())?;
    let mut least = vec![NEVER; labels.len()];
    let (mut count, mut stack) = (0, Vec::new());
    for first in 0..labels.len() as u32 {
        if least[first as usize] != NEVER {
            continue;
        }
        count += 1;
        least[first as usize] = first;
        stack.push(first);
        while let Some(vertex) = stack.pop() {
            for &other in neighbors(offsets, columns, vertex as usize) {
                if least[other as usize] == NEVER {
                    least[other as usize] = first;
                    stack.push(other);
                }
            }
        }
    }
    match (0..labels.len()).find(|&vertex| labels[vertex] != least[vertex]) {
        Some(vertex) => Err(Violation::Label { vertex, label: labels[vertex] as usize, least: least[vertex] as usize }),
        None => Ok(count),
    }
}
