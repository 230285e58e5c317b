//! Breadth-first search: levels, as hops from a source.
//!
//! GraphBLAS implementations mostly run over any.pair or any.secondi: a product finds the next frontier, and the number of the round is its
//! level. That ties the answer to synchronous rounds. Here the semiring is (min, hop), that is min.plus with weights of one, so the state
//! itself holds the levels. Every fair schedule then reaches the same levels, with or without rounds. See `docs/algorithms/paths.md`.

use crate::prelude::*;

/// The level of a vertex that isn't reached (yet); above every level, since a path has fewer hops than there are vertices.
const FAR: u32 = u32::MAX;

/// The level at the other end of an edge; `FAR` stays `FAR`.
#[op]
fn hop(level: u32, _edge: ()) -> u32 {
    level.saturating_add(1u32)
}

/// The number of hops from `source` to each vertex, along entries `a[from, to]`; absent where no path leads.
///
/// Levels only fall, as in the Bellman-Ford method; a vertex is visited again when the level of an in-neighbour has fallen. O(entries of
/// the rows visited) time. In synchronous rounds round r sets level r, and one more round finds that nothing changes.
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
    // level[source] = 0, level = FAR elsewhere
    let level = at_source(a, source, 0, FAR)?;
    // level = level min (level min.hop A), until no element changes
    let (reached, _) = fixpoint(level)
        .while_changed()
        .monotone()
        .step(|level| level.ewise_add(level.vxm(a, semiring(MIN, hop)), MIN))
        // reached = level where level != FAR
        .eval_then(|level| level.select(NE.bind(FAR)).eval())?;
    Ok(reached)
}

/// A vector that holds `value` at the source and `elsewhere` at all other vertices of `a`; an error if the source is no vertex.
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
