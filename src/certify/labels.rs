//! Label propagation by a sequential program, a vertex at a time.

use crate::certify::{Violation, neighbors, same_length};

/// The labels after a number of rounds of label propagation on an undirected graph, from each vertex' own number. In a round each vertex takes
/// the label that most of its neighbours had before the round, the least among equals. O(rounds * (n + nnz)) time.
///
/// ```
/// // a star
/// let (offsets, columns) = ([0, 3, 4, 5, 6], [1, 2, 3, 0, 0, 0]);
/// assert_eq!(vxm::certify::propagated_labels(&offsets, &columns, 1), [1, 0, 0, 0]);
/// assert_eq!(vxm::certify::propagated_labels(&offsets, &columns, 2), [0, 1, 1, 1]);
/// ```
pub fn propagated_labels(offsets: &[u64], columns: &[u32], rounds: u32) -> Vec<u32> {
    let n = offsets.len().saturating_sub(1);
    let mut labels: Vec<u32> = (0..n as u32).collect();
    // how often each label occurs among the neighbours of the vertex in turn
    let mut counts = vec![0u32; n];
    for _ in 0..rounds {
        let mut next = labels.clone();
        for (vertex, label) in next.iter_mut().enumerate() {
            let (mut most, heads) = (0, neighbors(offsets, columns, vertex));
            for &head in heads {
                let theirs = labels[head as usize];
                counts[theirs as usize] += 1;
                let count = counts[theirs as usize];
                if count > most || (count == most && theirs < *label) {
                    (most, *label) = (count, theirs);
                }
            }
            heads.iter().for_each(|&head| counts[labels[head as usize] as usize] = 0);
        }
        if next == labels {
            break;
        }
        labels = next;
    }
    labels
}

/// Checks that `answer` holds the labels of [`propagated_labels`]. Returns how many different labels there are.
///
/// ```
/// use vxm::certify::{Violation, labels};
/// let (offsets, columns) = ([0, 3, 4, 5, 6], [1, 2, 3, 0, 0, 0]);
/// assert_eq!(labels(&offsets, &columns, 1, &[1, 0, 0, 0]), Ok(2));
/// let wrong = labels(&offsets, &columns, 1, &[1, 0, 0, 1]);
/// assert_eq!(wrong, Err(Violation::Propagated { vertex: 3, answer: 1, label: 0 }));
/// ```
///
/// # Errors
/// The [`Violation`] at the least vertex that has one.
pub fn labels(offsets: &[u64], columns: &[u32], rounds: u32, answer: &[u32]) -> Result<usize, Violation> {
    same_length(offsets, answer.len())?;
    let mut found = propagated_labels(offsets, columns, rounds);
    if let Some(vertex) = (0..answer.len()).find(|&vertex| answer[vertex] != found[vertex]) {
        return Err(Violation::Propagated { vertex, answer: answer[vertex] as usize, label: found[vertex] as usize });
    }
    found.sort_unstable();
    found.dedup();
    Ok(found.len())
}
