//! Strongly connected components by signatures, as ECL-SCC finds them. See `docs/algorithms/scc.md`.

use crate::algorithms::pairs::{high, low, pair};
use crate::prelude::*;

/// The strongly connected components of a directed graph.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StrongComponents {
    /// The component of each vertex, as the least vertex in it.
    pub labels: Vector<u32>,
    /// How many times edges were removed.
    pub rounds: u32,
}

/// Whether two ends of an edge have the same signature, of two different parts: the edge may lie inside of a component that isn't found
/// yet.
#[op]
fn may_be_inside(one: u64, other: u64) -> bool {
    one == other && high(one) != low(one)
}

/// The strongly connected components of a directed graph: two vertices are in the same if each reaches the other.
///
/// In a round the least vertex that reaches each vertex and the least one that it reaches spread to a fixed point. Where both are the same
/// vertex, it names the component. Edges between vertices that differ in the pair can't lie in a component and are removed, and so are
/// those of components that are found. So are vertices without an in-edge or without an out-edge. A round takes as long as two
/// connected-components loops by label propagation over the edges left. Mostly there are few rounds; the worst case is one for each
/// component.
///
/// ```
/// use vxm::algorithms::strong_components;
/// use vxm::prelude::*;
///
/// // a cycle 0 -> 2 -> 3 -> 0, and 3 -> 1
/// let a = Matrix::from_triples(4, 4, [(0, 2, ()), (2, 3, ()), (3, 0, ()), (3, 1, ())])?;
/// assert_eq!(strong_components(&a)?.labels, Vector::from_dense(vec![0, 1, 0, 0]));
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square.
pub fn strong_components(a: &Matrix) -> Result<StrongComponents> {
    let a = &*a.to_digraph()?;
    let n = a.nrows();
    let mut vertex = fill((), n).map_index(FIRST).eval()?;
    let (mut labels, mut edges, mut rounds) = (vertex.clone(), a.clone(), 0);
    loop {
        // kept = {v : E has an entry in row v and in column v}; another vertex is a component of its own
        let heads = Set::all(edges.nrows()).vxm(&edges, ANY_PAIR).eval()?;
        let kept = edges.degrees()?.select(NE.bind(0)).mask(&heads).pattern().eval()?;
        // E = E[kept, kept]; vertex = vertex[kept]
        (edges, vertex) = (edges.induced_by(&kept)?, vertex.extract(&kept).eval()?);
        if edges.nnz() == 0 {
            return Ok(StrongComponents { labels, rounds });
        }
        rounds += 1;
        let number = fill((), vertex.len()).map_index(FIRST).eval()?;
        // from = from min (from min.first E), until no element changes
        let from = fixpoint(number.clone()).while_changed().monotone();
        let from = from.step(|from| from.ewise_add(from.vxm(&edges, MIN_FIRST), MIN)).eval()?.state;
        // to = to min (E min.second to), until no element changes
        let to = fixpoint(number).while_changed().monotone();
        let to = to.step(|to| to.ewise_add(edges.mxv(to, MIN_SECOND), MIN)).eval()?.state;
        // found = {v : from[v] = to[v]}; labels[vertex[found]] = vertex[from]
        let found = from.ewise_mult(&to, EQ).select(IDENTITY).pattern().eval()?;
        let names = vertex.gather(from.mask(&found));
        names.scatter(&vertex, n).accum(SECOND).assign_to(&mut labels)?;
        // E[i, j] = E[i, j] where (from, to)[i] = (from, to)[j] and from[i] != to[i]
        edges = edges.oriented(may_be_inside, &pair.map2(&from, &to).eval()?).into_matrix()?;
    }
}
