//! Core numbers by Batagelj and Zaveršnik's method: vertices sorted by their remaining degree, in buckets that are kept up to date.

use crate::certify::{Violation, neighbors, same_length};

/// The core number of each vertex of an undirected graph. O(n + nnz) time.
///
/// ```
/// // a triangle with a tail
/// let (offsets, columns) = ([0, 2, 4, 7, 8], [1, 2, 0, 2, 0, 1, 3, 2]);
/// assert_eq!(vxm::certify::core_numbers(&offsets, &columns), [2, 2, 2, 1]);
/// ```
pub fn core_numbers(offsets: &[u64], columns: &[u32]) -> Vec<u32> {
    let n = offsets.len().saturating_sub(1);
    let mut degree: Vec<u32> = offsets.windows(2).map(|ends| (ends[1] - ends[0]) as u32).collect();
    // where each degree's vertices start in `order`
    let mut starts = vec![0usize; degree.iter().max().map_or(0, |&most| most as usize) + 2];
    degree.iter().for_each(|&d| starts[d as usize + 1] += 1);
    (1..starts.len()).for_each(|d| starts[d] += starts[d - 1]);
    let (mut order, mut place, mut next) = (vec![0usize; n], vec![0usize; n], starts.clone());
    for (vertex, &d) in degree.iter().enumerate() {
        place[vertex] = next[d as usize];
        order[place[vertex]] = vertex;
        next[d as usize] += 1;
    }
    for k in 0..n {
        let vertex = order[k];
        for &other in neighbors(offsets, columns, vertex) {
            let other = other as usize;
            if degree[other] <= degree[vertex] {
                continue;
            }
            // swap with the first vertex of its degree, and move the start of that degree behind it
            let start = &mut starts[degree[other] as usize];
            let (first, own) = (*start, place[other]);
            order.swap(first, own);
            place[order[own]] = own;
            place[other] = first;
            *start = first + 1;
            degree[other] -= 1;
        }
    }
    degree
}

/// Checks that `answer` holds the core number of each vertex of an undirected graph without self-loops. Returns the greatest, the
/// degeneracy.
///
/// ```
/// use vxm::certify::{Violation, cores};
/// let (offsets, columns) = ([0, 2, 4, 7, 8], [1, 2, 0, 2, 0, 1, 3, 2]);
/// assert_eq!(cores(&offsets, &columns, &[2, 2, 2, 1]), Ok(2));
/// let wrong = cores(&offsets, &columns, &[2, 2, 3, 1]);
/// assert_eq!(wrong, Err(Violation::Core { vertex: 2, answer: 3, core: 2 }));
/// ```
///
/// # Errors
/// The [`Violation`] at the least vertex that has one.
pub fn cores(offsets: &[u64], columns: &[u32], answer: &[u32]) -> Result<u32, Violation> {
    same_length(offsets, answer.len())?;
    let found = core_numbers(offsets, columns);
    match (0..answer.len()).find(|&vertex| answer[vertex] != found[vertex]) {
        Some(vertex) => Err(Violation::Core { vertex, answer: answer[vertex], core: found[vertex] }),
        None => Ok(found.into_iter().max().unwrap_or(0)),
    }
}
