//! PageRank in double precision, an edge at a time.

use crate::certify::{Violation, neighbors, same_length};

/// What a random walk does.
#[derive(Debug, Clone, Copy)]
pub struct Walk<'a> {
    /// The probability of following an edge.
    pub damping: f64,
    /// The rounds to take.
    pub rounds: u32,
    /// The vertices where a walk starts; empty if it may start at all.
    pub sources: &'a [u32],
}

/// The ranks after a number of rounds, which start from the ranks of the sources. A walk without an edge to follow starts anew.
/// O(rounds * (n + nnz)) time.
///
/// ```
/// use vxm::certify::{Walk, page_ranks};
/// // 0 -> 1, where walks start anew
/// let walk = Walk { damping: 0.5, rounds: 1, sources: &[] };
/// assert_eq!(page_ranks(&[0, 1, 1], &[1], walk), [0.375, 0.625]);
/// ```
pub fn page_ranks(offsets: &[u64], columns: &[u32], walk: Walk<'_>) -> Vec<f64> {
    let n = offsets.len().saturating_sub(1);
    let mut start = vec![if walk.sources.is_empty() { 1.0 / n as f64 } else { 0.0 }; n];
    walk.sources.iter().for_each(|&v| start[v as usize] = 1.0 / walk.sources.len() as f64);
    let mut ranks = start.clone();
    for _ in 0..walk.rounds {
        // the sum of very many ranks is compensated: `left` is what rounding has cut off
        let (mut next, mut lost, mut left) = (vec![0.0; n], 0.0f64, 0.0f64);
        for (vertex, &rank) in ranks.iter().enumerate() {
            let heads = neighbors(offsets, columns, vertex);
            if heads.is_empty() {
                let more = rank - left;
                let sum = lost + more;
                (left, lost) = (sum - lost - more, sum);
            }
            heads.iter().for_each(|&head| next[head as usize] += rank / heads.len() as f64);
        }
        let anew = 1.0 - walk.damping + walk.damping * lost;
        for (next, start) in next.iter_mut().zip(&start) {
            *next = walk.damping * *next + anew * start;
        }
        ranks = next;
    }
    ranks
}

/// Checks that `answer` differs by at most `allowed` from [`page_ranks`], summed over all vertices. Returns that sum.
///
/// ```
/// use vxm::certify::{Walk, ranks};
/// let walk = Walk { damping: 0.5, rounds: 1, sources: &[] };
/// assert!(ranks(&[0, 1, 1], &[1], walk, &[0.375, 0.625], 1e-12).is_ok());
/// let wrong = ranks(&[0, 1, 1], &[1], walk, &[0.5, 0.5], 1e-12).unwrap_err().to_string();
/// assert_eq!(wrong, "the ranks differ by 2.5e-1 in all, most at 0: expected at most 1e-12");
/// ```
///
/// # Errors
/// A [`Violation`]: the lengths differ, or the ranks do.
pub fn ranks(offsets: &[u64], columns: &[u32], walk: Walk<'_>, answer: &[f64], allowed: f64) -> Result<f64, Violation> {
    same_length(offsets, answer.len())?;
    let found = page_ranks(offsets, columns, walk);
    let differences: Vec<f64> = found.iter().zip(answer).map(|(x, y)| (x - y).abs()).collect();
    let difference: f64 = differences.iter().sum();
    if difference <= allowed {
        return Ok(difference);
    }
    // of equal differences the first; NaN counts as the greatest
    let most = (0..differences.len()).rev().max_by(|&i, &j| differences[i].total_cmp(&differences[j]));
    Err(Violation::Ranks { vertex: most.unwrap_or(0), difference, allowed })
}
