//! Matchings by locally dominant edges. See `docs/algorithms/matching.md`.

use crate::algorithms::pairs::{low, pair};
use crate::algorithms::priority::{hashes, unmix};
use crate::algorithms::weights::weights;
use crate::prelude::*;

/// A matching: edges without common ends.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Matching {
    /// The other end of each matched vertex' edge; absent if the vertex isn't matched.
    pub mate: Vector<u32>,
    /// How many rounds it took.
    pub rounds: u32,
}

/// A maximal matching of an undirected graph: no edge has two unmatched ends. It has at least half the edges of a greatest matching.
///
/// It is the [`dominant_matching`] of weights drawn for the edges by the seed. O(log n) rounds with high probability.
///
/// ```
/// use vxm::algorithms::maximal_matching;
/// use vxm::prelude::*;
///
/// let star = Matrix::undirected(4, &[(0, 1), (0, 2), (0, 3)])?;
/// let mate = maximal_matching(&star, 1)?.mate;
/// assert_eq!((mate.nvals(), mate.gather(&mate).eval()?.get(0)), (2, Some(0)));
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square or symmetric.
pub fn maximal_matching(a: &Matrix, seed: u64) -> Result<Matching> {
    dominant_matching(&weights(&*a.to_graph()?, 0, u32::MAX, seed)?, seed)
}

/// The locally dominant matching of an undirected graph with weights: it is maximal, and its weight is at least half the greatest possible.
///
/// In a round each unmatched vertex points along its heaviest edge to an unmatched vertex, and two vertices that point to each other are
/// matched. Edges of equal weight are ordered by hashes of their ends, so no two are equal. The matching is the one that a sequential
/// program finds which takes the heaviest edge left again and again. O((n + nnz) * rounds) time; mostly there are O(log n) rounds, at most
/// as many as the longest path of falling weights.
///
/// ```
/// use vxm::algorithms::dominant_matching;
/// use vxm::prelude::*;
///
/// // a path with weights 3, 4, 3: the middle edge is taken, which is more than half of 6
/// let sides = [(0, 1, 3u32), (1, 2, 4), (2, 3, 3)];
/// let a = Matrix::from_triples(4, 4, sides.into_iter().flat_map(|(i, j, w)| [(i, j, w), (j, i, w)]))?;
/// assert_eq!(dominant_matching(&a, 0)?.mate, Vector::from_pairs(4, [(1, 2), (2, 1)])?);
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square or symmetric.
pub fn dominant_matching(a: &Matrix<u32>, seed: u64) -> Result<Matching> {
    let a = &*a.to_weighted_graph()?;
    let n = a.nrows();
    // E = A without self-loops; hash[v] = mix(v, seed), all distinct
    let (edges, hash) = (a.select(OFFDIAG)?, hashes(n, seed)?);
    let (mut free, mut mate, mut rounds) = (Set::all(n), Vector::new(n), 0);
    loop {
        // best<free> = E max.pair hash<free>: the heaviest edge to an unmatched vertex
        let open = hash.mask(&free).eval()?;
        let best = edges.mxv(&open, semiring(MAX, pair)).mask(&free).eval()?;
        if best.nvals() == 0 {
            return Ok(Matching { mate, rounds });
        }
        rounds += 1;
        // to<best> = the vertex with the hash low(best)
        let to = best.map(low).map(unmix.bind(seed)).eval()?;
        // matched = {v : to[to[v]] = v}; mate<matched> = to
        let matched = to.gather(&to).map_index(EQ).select(IDENTITY).pattern().eval()?;
        to.mask(&matched).assign_to(&mut mate)?;
        // free<best, !matched> = best
        free = best.pattern().mask(!&matched).eval()?;
    }
}
