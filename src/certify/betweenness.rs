//! Betweenness by Brandes' sequential program: a queue for each source, and its vertices in reverse.

use crate::certify::{Violation, neighbors, same_length};

/// The betweenness of each vertex of an undirected graph, by the paths from `sources`: each pair of vertices counts once if all vertices are
/// sources, and the sum is scaled to that otherwise. O(sources * (n + nnz)) time.
///
/// ```
/// // the path 0 - 1 - 2 - 3
/// let (offsets, columns) = ([0, 1, 3, 5, 6], [1, 0, 2, 1, 3, 2]);
/// assert_eq!(vxm::certify::brandes(&offsets, &columns, &[0, 1, 2, 3]), [0.0, 2.0, 2.0, 0.0]);
/// ```
///
/// # Panics
/// If a source is no vertex of the graph.
pub fn brandes(offsets: &[u64], columns: &[u32], sources: &[u32]) -> Vec<f64> {
    let n = offsets.len().saturating_sub(1);
    let mut sum = vec![0.0; n];
    for &source in sources {
        let (mut hops, mut paths, mut order) = (vec![usize::MAX; n], vec![0.0f64; n], vec![source as usize]);
        (hops[source as usize], paths[source as usize]) = (0, 1.0);
        let mut next = 0;
        while next < order.len() {
            let vertex = order[next];
            next += 1;
            for &other in neighbors(offsets, columns, vertex) {
                let other = other as usize;
                if hops[other] == usize::MAX {
                    hops[other] = hops[vertex] + 1;
                    order.push(other);
                }
                if hops[other] == hops[vertex] + 1 {
                    paths[other] += paths[vertex];
                }
            }
        }
        let mut dependency = vec![0.0; n];
        for &vertex in order[1..].iter().rev() {
            sum[vertex] += dependency[vertex];
            for &other in neighbors(offsets, columns, vertex).iter().filter(|&&v| hops[v as usize] < hops[vertex]) {
                let other = other as usize;
                dependency[other] += paths[other] / paths[vertex] * (1.0 + dependency[vertex]);
            }
        }
    }
    let scale = n as f64 / (2 * sources.len().max(1)) as f64;
    sum.into_iter().map(|x| x * scale).collect()
}

/// Checks that `answer` is [`brandes`]', but for `allowed` times one more than the betweenness at each vertex. Returns the greatest.
///
/// ```
/// use vxm::certify::{Violation, betweenness};
/// let (offsets, columns) = ([0, 1, 3, 5, 6], [1, 0, 2, 1, 3, 2]);
/// let sources = [0, 1, 2, 3];
/// assert_eq!(betweenness(&offsets, &columns, &sources, &[0.0, 2.0, 2.0, 0.0], 1e-12), Ok(2.0));
/// let wrong = betweenness(&offsets, &columns, &sources, &[0.0, 2.0, 2.5, 0.0], 1e-12);
/// assert_eq!(wrong, Err(Violation::Betweenness { vertex: 2, answer: 2.5, betweenness: 2.0 }));
/// ```
///
/// # Errors
/// The [`Violation`] at the least vertex that has one.
///
/// # Panics
/// If a source is no vertex of the graph.
pub fn betweenness(
    offsets: &[u64],
    columns: &[u32],
    sources: &[u32],
    answer: &[f64],
    allowed: f64,
) -> Result<f64, Violation> {
    same_length(offsets, answer.len())?;
    let found = brandes(offsets, columns, sources);
    // false for NaN
    let agrees = |v: usize| (answer[v] - found[v]).abs() <= allowed * (1.0 + found[v]);
    match (0..answer.len()).find(|&v| !agrees(v)) {
        Some(vertex) => Err(Violation::Betweenness { vertex, answer: answer[vertex], betweenness: found[vertex] }),
        None => Ok(found.into_iter().fold(0.0, f64::max)),
    }
}
