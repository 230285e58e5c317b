//! Breadth-first search, as hops from a source.
//!
//! GraphBLAS' searches mostly run over any.pair or any.secondi: who is next to the frontier, while the number of the round tells when. That
//! binds the answer to rounds. Over min.plus with weights of one hop the elements themselves tell both, so any schedule comes to the same
//! levels, also one without rounds.

use crate::prelude::*;

/// Farther than any vertex that can be reached: paths have fewer hops.
const FAR: u32 = u32::MAX;

/// One more hop.
#[op]
fn hop(level: u32, _edge: ()) -> u32 {
    level.saturating_add(1u32)
}

/// How many hops each vertex is away from `source`, along entries `a[from, to]`; absent where no path leads.
///
/// Levels only fall, from far to where they stay, as in Bellman's and Ford's method; an element is visited once more when a neighbour's
/// has fallen. O(entries of the rows visited) time; in rounds, there are as many as levels, and one.
///
/// ```
/// use vxm::algorithms::bfs;
/// use vxm::prelude::*;
///
/// // 0 -> 1 -> 2, and 3 -> 0
/// let a = Matrix::from_triples(4, 4, [(0, 1, ()), (1, 2, ()), (3, 0, ())])?;
/// assert_eq!(bfs(&a, 0)?, Vector::from_pairs(4, [(0, 0), (1, 1), (2, 2)])?);
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square; the source lies outside of it.
pub fn bfs(a: &Matrix, source: u32) -> Result<Vector<u32>> {
    let a = &*a.to_digraph()?;
    // level = 0 at the source, far elsewhere
    let level = at_source(a, source, 0, FAR)?;
    // level = level min (level min.hop A), until none changes
    let (reached, _) = fixpoint(level)
        .while_changed()
        .monotone()
        .step(|level| level.ewise_add(level.vxm(a, semiring(MIN, hop)), MIN))
        // reached = those that aren't far
        .eval_then(|level| level.select(NE.bind(FAR)).eval())?;
    Ok(reached)
}

/// `value` at the source, a vertex of a graph, and `elsewhere` at others.
pub(super) fn at_source<A: Element, T: Element>(
    a: &Matrix<A>,
    source: u32,
    value: T,
    elsewhere: T,
) -> Result<Vector<T>> {
    let n = a.nrows();
    if source as usize >= n {
        let vertices = if n == 1 { "vertex" } else { "vertices" };
        return Err(Error::invalid(format!("the source {source} lies outside a graph of {n} {vertices}")));
    }
    // v = elsewhere; v[source] = value
    let mut v = fill(elsewhere, n).eval()?;
    fill(value, 1).scatter(&[source], n).accum(SECOND).assign_to(&mut v)?;
    Ok(v)
}
