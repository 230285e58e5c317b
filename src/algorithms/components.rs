//! Connected components: trees of parent pointers, joined by scatter-reduce and flattened by pointer jumping.
//!
//! Each vertex holds the name of a vertex of its component, its parent. Names are vertex numbers, or vertex numbers renumbered so that one
//! chosen vertex of the giant component has the least name. See `docs/algorithms/components.md`.

use crate::prelude::*;

/// The name of a vertex: 0 for `giant`, one more than its number for any other. If `giant` is vertex 0, names are vertex numbers.
#[op]
fn name(vertex: u32, giant: u32) -> u32 {
    if giant == 0u32 {
        vertex
    } else if vertex == giant {
        0u32
    } else {
        vertex + 1u32
    }
}

/// The vertex with a given name: the inverse of `name`.
#[op]
fn vertex(name: u32, giant: u32) -> u32 {
    if giant == 0u32 {
        name
    } else if name == 0u32 {
        giant
    } else {
        name - 1u32
    }
}

/// The label of a component, given the least name in it. Name 0 stands for the component of the chosen vertex; its label is `least`.
#[op]
fn relabel(name: u32, least: u32) -> u32 {
    if name == 0u32 { least } else { name - 1u32 }
}

/// The component of each vertex of an undirected graph, as the least vertex in it. An isolated vertex is a component of its own.
///
/// Each vertex points to a parent with a lower name, or to itself as the root of a tree. In a round a vertex follows the pointers from its
/// parent (pointer jumping), and looks for a neighbour with a lower parent. The lower of the two becomes its parent, and a parent of its
/// previous parent too. Once trees are flat the previous parent is a root, so whole trees are joined at once, as in FastSV ("FastSV: a
/// distributed-memory connected component algorithm with fast convergence", Zhang, Azad and Hu).
///
/// A vertex that is probably in the giant component, if there is one, has the least name. A vertex with pointers that lead
/// there need not read its neighbours, as in Afforest ("Optimizing Parallel Graph Connectivity Computation via Subgraph Sampling", Sutton, Ben-Nun and
/// Barak). Afforest samples labels to find the giant component; here the lengths of rows decide ([`pivot`]).
///
/// O(entries + rounds * (n + entries of the vertices outside the giant component)) time, beside the steps along pointers. Few rounds on
/// most graphs; more on long paths with vertices numbered in random order.
///
/// ```
/// use vxm::algorithms::components;
/// use vxm::prelude::*;
///
/// let a = Matrix::undirected(5, &[(0, 2), (2, 4), (1, 3)])?;
/// assert_eq!(components(&a)?, Vector::from_dense(vec![0, 1, 0, 1, 0]));
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square or symmetric.
pub fn components(a: &Matrix) -> Result<Vector<u32>> {
    let a = &*a.to_graph()?;
    let giant = pivot(a)?;
    let at = vertex.bind(giant);
    // f = name min (name min.first A), where a row may stop at the first lower neighbour
    let own = fill(giant, a.nrows()).map_index(name);
    let lower = own.ewise_add(own.vxm(a, MIN_FIRST).until(GT), MIN).eval()?;
    // f = f[f[f[f[f]]]], where f[x] is short for f[at(x)]
    let two = lower.gather(lower.map(at)).map(at);
    let names = lower.gather(lower.gather(lower.gather(two).map(at)).map(at)).or(0).eval()?;
    // g' = jump(g) min (g min.first A) and g[at(g)] min= g', until no element changes; jump(g) is where g's pointers end. A row may stop
    // at the first lower neighbour, and isn't read where jump(g) is 0.
    let settled = fixpoint(names)
        .while_changed()
        .monotone()
        .step(|g| g.pointer_jump(at).ewise_add(g.vxm(a, MIN_FIRST).until(GT), MIN))
        .scatter_reduce(at, MIN);
    if giant == 0 {
        return Ok(settled.eval()?.state);
    }
    // least = the least vertex of the giant component; f = relabel(g, least)
    let (label, _) = settled.eval_then(|g| {
        let least = g.select(EQ.bind(0)).map_index(FIRST).reduce(MIN)?;
        g.map(relabel.bind(least)).eval()
    })?;
    Ok(label)
}
