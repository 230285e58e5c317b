//! The modularity of communities, an edge at a time.

use crate::certify::{Violation, neighbors, same_length};

/// The modularity of communities of an undirected graph (Newman and Girvan 2004): the share of edges inside communities, less the sum over
/// communities of the squares of their shares of the degrees. Two vertices are in one community if they have the same label. 0 without edges.
///
/// ```
/// // the path 0 - 1 - 2 - 3, cut in the middle
/// let (offsets, columns) = ([0, 1, 3, 5, 6], [1, 0, 2, 1, 3, 2]);
/// assert_eq!(vxm::certify::modularity(&offsets, &columns, &[0, 0, 2, 2]), 2.0 / 3.0 - 0.5);
/// ```
///
/// # Panics
/// If a label is no vertex of the graph.
pub fn modularity(offsets: &[u64], columns: &[u32], labels: &[u32]) -> f64 {
    let (mut inside, mut degrees) = (0u64, vec![0u64; labels.len()]);
    for (vertex, &label) in labels.iter().enumerate() {
        let row = neighbors(offsets, columns, vertex);
        degrees[label as usize] += row.len() as u64;
        inside += row.iter().filter(|&&other| labels[other as usize] == label).count() as u64;
    }
    if columns.is_empty() {
        return 0.0;
    }
    let total = columns.len() as f64;
    inside as f64 / total - degrees.into_iter().map(|degree| (degree as f64 / total).powi(2)).sum::<f64>()
}

/// Checks that each label of `answer` is the least vertex of its community, and that the communities have the modularity `told`, but for
/// `allowed`. Returns the number of communities.
///
/// ```
/// use vxm::certify::{Violation, communities};
/// let (offsets, columns) = ([0, 1, 3, 5, 6], [1, 0, 2, 1, 3, 2]);
/// assert_eq!(communities(&offsets, &columns, &[0, 0, 2, 2], 1.0 / 6.0, 1e-12), Ok(2));
/// let wrong = communities(&offsets, &columns, &[0, 0, 3, 3], 1.0 / 6.0, 1e-12);
/// assert_eq!(wrong, Err(Violation::Community { vertex: 2, label: 3, least: 2 }));
/// ```
///
/// # Errors
/// The [`Violation`] at the least vertex that has one, or else that of the modularity.
pub fn communities(
    offsets: &[u64],
    columns: &[u32],
    answer: &[u32],
    told: f64,
    allowed: f64,
) -> Result<usize, Violation> {
    same_length(offsets, answer.len())?;
    let mut least = std::collections::HashMap::new();
    for (vertex, &label) in answer.iter().enumerate() {
        let least = *least.entry(label).or_insert(vertex);
        if least != label as usize {
            return Err(Violation::Community { vertex, label: label as usize, least });
        }
    }
    let modularity = modularity(offsets, columns, answer);
    // false for NaN
    if (told - modularity).abs() <= allowed {
        return Ok(least.len());
    }
    Err(Violation::Modularity { answer: told, modularity })
}
