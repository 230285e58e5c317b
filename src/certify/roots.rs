//! Roots of a forest, by following edges one at a time.

use crate::certify::{Violation, neighbors, same_length};

/// The mark of a vertex that hasn't been visited, and of one on the path that is followed or on a cycle.
const NEVER: u32 = u32::MAX;

/// The root of each vertex of a forest: where its edges lead, one from each vertex to its parent at most. `None` where they lead to a
/// cycle. A self-loop ends a path. Of several edges the first counts. O(n) time.
///
/// ```
/// // 3 -> 1 -> 0, and 2
/// let (offsets, columns) = ([0, 0, 1, 1, 2], [0, 1]);
/// assert_eq!(vxm::certify::followed(&offsets, &columns), [Some(0), Some(0), Some(2), Some(0)]);
/// ```
pub fn followed(offsets: &[u64], columns: &[u32]) -> Vec<Option<u32>> {
    let n = offsets.len().saturating_sub(1);
    let (mut root, mut seen, mut path) = (vec![NEVER; n], vec![false; n], Vec::new());
    for first in 0..n as u32 {
        let mut vertex = first;
        // up to a root, a vertex with a root, or one that was seen without: then it is on a cycle, or leads to one
        let end = loop {
            if seen[vertex as usize] {
                break root[vertex as usize];
            }
            seen[vertex as usize] = true;
            path.push(vertex);
            match neighbors(offsets, columns, vertex as usize).first() {
                Some(&parent) if parent != vertex => vertex = parent,
                _ => break vertex,
            }
        };
        path.drain(..).for_each(|vertex| root[vertex as usize] = end);
    }
    root.into_iter().map(|root| Some(root).filter(|&root| root != NEVER)).collect()
}

/// Checks that `answer` holds the root of each vertex of a forest, as [`followed`] finds it. Returns the number of roots. O(n) time.
///
/// ```
/// use vxm::certify::{Violation, roots};
/// let (offsets, columns) = ([0, 0, 1, 1, 2], [0, 1]);
/// assert_eq!(roots(&offsets, &columns, &[0, 0, 2, 0]), Ok(2));
/// let wrong = roots(&offsets, &columns, &[0, 0, 2, 1]);
/// assert_eq!(wrong, Err(Violation::Root { vertex: 3, answer: 1, root: Some(0) }));
/// ```
///
/// # Errors
/// The [`Violation`] at the least vertex that has one.
pub fn roots(offsets: &[u64], columns: &[u32], answer: &[u32]) -> Result<usize, Violation> {
    same_length(offsets, answer.len())?;
    let found = followed(offsets, columns);
    match (0..answer.len()).find(|&vertex| Some(answer[vertex]) != found[vertex]) {
        Some(vertex) => {
            let root = found[vertex].map(|root| root as usize);
            Err(Violation::Root { vertex, answer: answer[vertex] as usize, root })
        }
        None => Ok(found.iter().zip(0..).filter(|&(&root, vertex)| root == Some(vertex)).count()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_a_cycle_and_a_loop() {
        // 1 -> 0 -> 2, 3 -> 4 -> 5 -> 4, 6 -> 6, and 7 -> 3
        let (offsets, columns) = ([0, 1, 2, 2, 3, 4, 5, 6, 7], [2, 0, 4, 5, 4, 6, 3]);
        let expected = [Some(2), Some(2), Some(2), None, None, None, Some(6), None];
        assert_eq!(followed(&offsets, &columns), expected);
        let told = roots(&offsets, &columns, &[2, 2, 2, 4, 4, 4, 6, 4]).unwrap_err().to_string();
        assert_eq!(told, "the root of 3 is none, the answer says 4");
        assert_eq!(roots(&[0], &[], &[]), Ok(0));
        assert_eq!(roots(&[0, 0], &[], &[]), Err(Violation::Length { answer: 0, vertices: 1 }));
    }
}
