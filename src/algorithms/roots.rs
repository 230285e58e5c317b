//! The roots of a forest of pointers to parents, by pointer jumping in rounds. See `docs/algorithms/roots.md`.

use crate::prelude::*;

/// The roots of a forest.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Roots {
    /// The root of each vertex. A root is its own.
    pub roots: Vector<u32>,
    /// How many rounds it took: the logarithm of the longest path, and one that finds nothing to change.
    pub rounds: u32,
}

/// The root of each vertex of a forest, given the parent of each. A vertex without a parent is a root, and so is one that is its own.
///
/// In a round each pointer takes the place of the pointer that it leads to, so paths halve: "pointer jumping" (Wyllie, "The complexity of
/// parallel computations", 1979). O(n log h) time for paths of up to h pointers, in as many rounds as h has binary digits, and one or two.
///
/// ```
/// use vxm::algorithms::roots;
/// use vxm::prelude::*;
///
/// // 3 -> 1 -> 0, 4 -> 2, and the roots 0 and 2
/// let parent = Vector::from_pairs(5, [(1, 0), (3, 1), (4, 2)])?;
/// assert_eq!(roots(&parent)?.roots, Vector::from_dense(vec![0, 0, 2, 0, 2]));
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// A parent lies outside of the vector. Pointers form a cycle: the error names the least vertex on one.
pub fn roots(parent: &Vector<u32>) -> Result<Roots> {
    let parent = or_itself(parent)?;
    // after r rounds a pointer has jumped 2^r parents, or to the root
    let enough = parent.len().max(1).ilog2() + 2;
    // root = root[root], until no element changes
    let found = fixpoint(parent.clone()).while_changed().at_most(enough).step(|root| root.gather(root)).eval();
    match found {
        // on a cycle of 2^k vertices each comes back to itself, and is no root
        Ok(Fixed { state, rounds }) if astray(&parent, &state)?.nvals() == 0 => Ok(Roots { roots: state, rounds }),
        Ok(_) | Err(Error::DidNotConverge { .. }) => {
            let vertex = on_cycle(&parent)?.unwrap_or(0);
            Err(Error::invalid(format!("roots: vertex {vertex} lies on a cycle: expected parents without one")))
        }
        Err(error) => Err(error),
    }
}

/// The least vertex on a cycle of pointers to parents; `None` if there is no cycle. O(n log n) time.
///
/// ```
/// use vxm::algorithms::on_cycle;
/// use vxm::prelude::*;
///
/// // 0 -> 3 -> 1 -> 3
/// let parent = Vector::from_pairs(4, [(0, 3), (1, 3), (3, 1)])?;
/// assert_eq!(on_cycle(&parent)?, Some(1));
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// A parent lies outside of the vector.
pub fn on_cycle(parent: &Vector<u32>) -> Result<Option<u32>> {
    let parent = or_itself(parent)?;
    let mut far = parent.clone();
    // far = far[far], until it has jumped n parents or more: then it is a root, or lies on a cycle
    for _ in 0..=parent.len().max(1).ilog2() {
        far.update(|far| far.gather(far))?;
    }
    // the least of far<astray>: pointers from a cycle lead to all of it
    let least = far.mask(&astray(&parent, &far)?).reduce(MIN)?;
    Ok((least != u32::MAX).then_some(least))
}

/// The vertices with a pointer that leads to no root.
fn astray(parent: &Vector<u32>, to: &Vector<u32>) -> Result<Set> {
    // {v : parent[to[v]] != to[v]}
    parent.gather(to).ewise_mult(to, NE).select(IDENTITY).pattern().eval()
}

/// The parents in a forest that is given as a directed graph, with an edge from each vertex to its parent. A self-loop makes a root.
///
/// ```
/// use vxm::algorithms::parents_of;
/// use vxm::prelude::*;
///
/// let a = Matrix::from_triples(3, 3, [(0, 2, ()), (1, 2, ()), (2, 2, ())])?;
/// assert_eq!(parents_of(&a)?, Vector::from_dense(vec![2, 2, 2]));
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square. A vertex has more than one edge: the error names the least such vertex.
pub fn parents_of(a: &Matrix) -> Result<Vector<u32>> {
    let a = &*a.to_digraph()?;
    let split = a.degrees()?.select(GT.bind(1)).eval()?;
    if let Some((vertex, edges)) = least(&split)? {
        let what = "expected at most one from each vertex, to its parent";
        return Err(Error::invalid(format!("roots: vertex {vertex} has {edges} out-edges: {what}")));
    }
    // parent = A min.second number: the column of row v's entry
    let number = fill((), a.nrows()).map_index(FIRST).eval()?;
    a.mxv(&number, MIN_SECOND).eval()
}

/// The least vertex with an element, and the element; `None` if there is none.
fn least(v: &Vector<u32>) -> Result<Option<(u32, u32)>> {
    if v.nvals() == 0 {
        return Ok(None);
    }
    let vertex = v.map_index(FIRST).reduce(MIN)?;
    Ok(Some((vertex, v.extract(&[vertex]).reduce(MIN)?)))
}

/// The parents, and the vertex itself where it has none; an error if one lies outside.
fn or_itself(parent: &Vector<u32>) -> Result<Vector<u32>> {
    let n = parent.len();
    let outside = parent.select(GE.bind(n as u32)).eval()?;
    if let Some((vertex, parent)) = least(&outside)? {
        let vertices = if n == 1 { "vertex" } else { "vertices" };
        let what = format!("roots: {parent}, the parent of vertex {vertex}, lies outside a forest of {n} {vertices}");
        return Err(Error::invalid(what));
    }
    // parent[v], or v
    parent.ewise_add(fill((), n).map_index(FIRST), FIRST).eval()
}
