//! Who is reached, how soon, and from where: a queue and nothing else.

use super::{Violation, neighbors, same_length};
use std::collections::VecDeque;

/// Whether `levels` gives each vertex that `source` reaches the fewest hops that lead there, and no other vertex any; how many it
/// reaches. Columns are where edges lead, so the graph may be directed. O(n + nnz) time.
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
    let mut hops = vec![None; levels.len()];
    let mut queue = VecDeque::new();
    if let Some(first) = hops.get_mut(source) {
        *first = Some(0);
        queue.push_back((source, 0));
    }
    let mut reached = 0;
    while let Some((vertex, so_far)) = queue.pop_front() {
        reached += 1;
        for &other in neighbors(offsets, columns, vertex) {
            let place = &mut hops[other as usize];
            if place.is_none() {
                *place = Some(so_far + 1);
                queue.push_back((other as usize, so_far + 1));
            }
        }
    }
    match (0..levels.len()).find(|&vertex| levels[vertex] != hops[vertex]) {
        Some(vertex) => Err(Violation::Level { vertex, answer: levels[vertex], hops: hops[vertex] }),
        None => Ok(reached),
    }
}

/// Whether `labels` gives each vertex of an undirected graph the least vertex of its component; how many components there are. O(n +
/// nnz) time.
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
    let mut least: Vec<Option<usize>> = vec![None; labels.len()];
    let (mut count, mut stack) = (0, Vec::new());
    for first in 0..labels.len() {
        if least[first].is_some() {
            continue;
        }
        count += 1;
        least[first] = Some(first);
        stack.push(first);
        while let Some(vertex) = stack.pop() {
            for &other in neighbors(offsets, columns, vertex) {
                let place = &mut least[other as usize];
                if place.is_none() {
                    *place = Some(first);
                    stack.push(other as usize);
                }
            }
        }
    }
    let wrong = least.iter().zip(labels).zip(0..).find(|&((&least, &label), _)| least != Some(label as usize));
    match wrong {
        Some(((&least, &label), vertex)) => {
            Err(Violation::Label { vertex, label: label as usize, least: least.unwrap_or(vertex) })
        }
        None => Ok(count),
    }
}
