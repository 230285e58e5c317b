//! Breadth-first search: levels, as hops from a source, and a tree of parents.
//!
//! GraphBLAS implementations mostly run over any.pair or any.secondi: a product finds the next frontier, and the number of the round is its
//! level. That ties the answer to synchronous rounds. Here the semiring is (min, hop), that is min.plus with weights of one, so the state
//! itself holds the levels. Every fair schedule then reaches the same levels, with or without rounds. See `docs/algorithms/paths.md`.

use crate::algorithms::pairs::{low, pair};
use crate::prelude::*;

/// The level of a vertex that isn't reached (yet); above every level, since a path has fewer hops than there are vertices.
const FAR: u32 = u32::MAX;

/// The level at the other end of an edge; `FAR` stays `FAR`.
#[op]
fn hop(level: u32, _edge: ()) -> u32 {
    level.saturating_add(1u32)
}

/// A vertex' level and the vertex, as one number: the lower level first, then the lesser vertex.
#[op]
fn ranked(vertex: u32, level: u32) -> u64 {
    pair(level, vertex)
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

/// The parent of each vertex that `source` reaches: of its in-neighbours that are one hop nearer to the source, the least. The source is
/// its own parent; a vertex that isn't reached has none. So the tree is the same wherever it is computed.
///
/// It is [`bfs`], and one product over the levels. O(entries of the rows visited + nnz) time.
///
/// ```
/// use vxm::algorithms::bfs_parents;
/// use vxm::prelude::*;
///
/// // two ways from 0 to 3, and 4 apart
/// let a = Matrix::undirected(5, &[(0, 1), (0, 2), (2, 3), (1, 3)])?;
/// assert_eq!(bfs_parents(&a, 0)?, Vector::from_pairs(5, [(0, 0), (1, 0), (2, 0), (3, 1)])?);
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square; the source lies outside of it.
pub fn bfs_parents(a: &Matrix, source: u32) -> Result<Vector<u32>> {
    let a = &*a.to_digraph()?;
    let level = bfs(a, source)?;
    // x[u] = (level[u], u)
    let reached = level.map_index(ranked);
    // parent<level> = low(x min.first A): an in-neighbour of the least level, and of those the least
    let mut parent = reached.vxm(a, MIN_FIRST).mask(&level).map(low).eval()?;
    // parent[source] = source
    fill(source, 1).scatter(&[source], a.nrows()).accum(SECOND).assign_to(&mut parent)?;
    Ok(parent)
}

/// An error if the source is no vertex of a graph of `n` vertices.
pub(super) fn check_source(n: usize, source: u32) -> Result<()> {
    if (source as usize) < n {
        return Ok(());
    }
    let vertices = if n == 1 { "vertex" } else { "vertices" };
    Err(Error::invalid(format!("the source {source} lies outside a graph of {n} {vertices}")))
}

/// A vector that holds `value` at the source and `elsewhere` at all other vertices of `a`; an error if the source is no vertex.
pub(super) fn at_source<A: Element, T: Element>(
    a: &Matrix<A>,
    source: u32,
    value: T,
    elsewhere: T,
) -> Result<Vector<T>> {
    let n = a.nrows();
    check_source(n, source)?;
    // v = elsewhere; v[source] = value
    let mut v = fill(elsewhere, n).eval()?;
    fill(value, 1).scatter(&[source], n).accum(SECOND).assign_to(&mut v)?;
    Ok(v)
}
