//! Communities by label propagation: rounds of modes. See `docs/algorithms/communities.md`.

use crate::prelude::*;

/// The labels of vertices.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Labels {
    /// The label of each vertex: the number of a vertex of its component.
    pub labels: Vector<u32>,
    /// How many rounds were taken. Part of the answer: rounds are synchronous.
    pub rounds: u32,
}

/// Label propagation on an undirected graph: each vertex starts with its own number as its label. In a round each takes the label that most of
/// its neighbours had before the round, the least among equals. A vertex without neighbours keeps its own. It ends after `rounds` rounds, or
/// once a round changes nothing.
///
/// The method is that of Raghavan, Albert and Kumara ("Near linear time algorithm to detect community structures in large-scale networks").
/// The rounds are synchronous as in HPCGraph, which takes 20 ("HPCGraph-GPU", section 4): so labels may swap for ever, as at the two ends of
/// an edge.
///
/// A round visits only vertices with a neighbour that changed, in time linear in the entries of their rows, expected.
///
/// ```
/// use vxm::algorithms::propagate_labels;
/// use vxm::prelude::*;
///
/// // two triangles, joined by an edge
/// let a = Matrix::undirected(6, &[(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)])?;
/// let found = propagate_labels(&a, 20)?;
/// assert_eq!(found.labels, Vector::from_dense(vec![0, 0, 0, 2, 2, 2]));
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square or symmetric.
pub fn propagate_labels(a: &Matrix, rounds: u32) -> Result<Labels> {
    let a = &*a.to_graph()?;
    let n = a.nrows();
    let (mut labels, mut due, mut took) = (fill(0u32, n).map_index(FIRST).eval()?, Set::all(n), 0);
    while took < rounds && due.nvals() > 0 {
        took += 1;
        // next<due> = A mode labels
        let next = a.mode(&labels).mask(&due).eval()?;
        // changed = {v : next[v] != labels[v]}
        let changed = next.ewise_mult(&labels, NE).select(IDENTITY).pattern().eval()?;
        // labels<changed> = next
        next.mask(&changed).assign_to(&mut labels)?;
        // due = changed lor.pair A
        due = changed.vxm(a, LOR_PAIR).pattern().eval()?;
    }
    Ok(Labels { labels, rounds: took })
}
