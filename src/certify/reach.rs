//! Levels, parents and components: edges and vertices that show by themselves that an answer is right, a traversal with a queue, and
//! union-find.

use crate::certify::{DisjointSets, Violation, neighbors, same_length};

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
    if let Some(reached) = proven_levels(offsets, columns, source, levels) {
        return Ok(reached);
    }
    let (hops, reached) = queue(offsets, columns, source);
    let known = |vertex: usize| Some(hops[vertex]).filter(|&hops| hops != NEVER);
    match (0..levels.len()).find(|&vertex| levels[vertex] != known(vertex)) {
        Some(vertex) => Err(Violation::Level { vertex, answer: levels[vertex], hops: known(vertex) }),
        None => Ok(reached),
    }
}

/// How many vertices are reached, if each edge and vertex by itself shows that `levels` is right: no edge leads more than a hop further, and
/// every vertex but the source has an in-neighbour that is a hop nearer. Reads the edges once, in their order.
fn proven_levels(offsets: &[u64], columns: &[u32], source: usize, levels: &[Option<u32>]) -> Option<usize> {
    let mut has_nearer = vec![false; levels.len()];
    *has_nearer.get_mut(source).filter(|_| levels[source] == Some(0))? = true;
    for (vertex, level) in levels.iter().enumerate() {
        let Some(level) = level else { continue };
        let next = level.checked_add(1)?;
        for &other in neighbors(offsets, columns, vertex) {
            let other = other as usize;
            match levels[other] {
                Some(level) if level < next => {}
                Some(level) if level == next => has_nearer[other] = true,
                _ => return None,
            }
        }
    }
    let is_proven = |vertex: usize| match levels[vertex] {
        Some(0) => vertex == source,
        Some(_) => has_nearer[vertex],
        None => true,
    };
    (0..levels.len()).all(is_proven).then(|| levels.iter().flatten().count())
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
/// O(n + nnz log n) time, by union-find.
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
    // edges are read once, in their order
    let mut sets = DisjointSets::new(labels.len());
    for vertex in 0..labels.len() {
        for &other in neighbors(offsets, columns, vertex).iter().filter(|&&other| (other as usize) < vertex) {
            sets.join(vertex as u32, other);
        }
    }
    let mut count = 0;
    for (vertex, &label) in labels.iter().enumerate() {
        let least = sets.least(vertex as u32);
        if label != least {
            return Err(Violation::Label { vertex, label: label as usize, least: least as usize });
        }
        count += usize::from(label as usize == vertex);
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls `f` with the offsets and columns of every directed graph of three vertices.
    fn each_graph(mut f: impl FnMut(&[u64], &[u32])) {
        for edges in 0..1 << 9 {
            let row = |vertex: u32| (0..3).filter(move |other| edges >> (vertex * 3 + other) & 1 == 1);
            let columns: Vec<u32> = (0..3).flat_map(row).collect();
            let offsets = [0, 1, 2, 3].map(|rows| (0..rows).map(|vertex| row(vertex).count() as u64).sum());
            f(&offsets, &columns);
        }
    }

    #[test]
    fn levels_are_proven_if_and_only_if_they_are_those_of_a_traversal() {
        each_graph(|offsets, columns| {
            for source in 0..3 {
                let (hops, reached) = queue(offsets, columns, source);
                let hops: Vec<_> = hops.iter().map(|&hops| Some(hops).filter(|&hops| hops != NEVER)).collect();
                for code in 0..5 * 5 * 5 {
                    let told = [code % 5, code / 5 % 5, code / 25].map(|level| Some(level).filter(|&level| level < 4));
                    let proven = (told == *hops).then_some(reached);
                    assert_eq!(
                        proven_levels(offsets, columns, source, &told),
                        proven,
                        "{offsets:?} {columns:?} {told:?}"
                    );
                    assert_eq!(levels(offsets, columns, source, &told).ok(), proven);
                }
            }
            assert_eq!(levels(offsets, columns, 3, &[None; 3]), Ok(0));
        });
    }
}
