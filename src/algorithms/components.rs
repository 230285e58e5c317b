//! Connected components: trees of labels, hooked onto one another.

use crate::prelude::*;

/// The name of a vertex, given one that is likely in the giant component: its is 0; where it is vertex 0, numbers are names.
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

/// The vertex that a name says.
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

/// A name as a label, given the least vertex of the giant component.
#[op]
fn relabel(name: u32, least: u32) -> u32 {
    if name == 0u32 { least } else { name - 1u32 }
}

/// The component of each vertex of an undirected graph: the least of its vertices.
///
/// Each vertex has the name of a neighbour with a lower one at first, and then of where such names lead. The least name is that of a vertex
/// which is likely in the giant component, if there is one: whom a name leads there needn't look at its neighbours, only the others, as in
/// Afforest ("Optimizing Parallel Graph Connectivity Computation via Subgraph Sampling", Sutton, Ben-Nun and Barak), which takes a sample to
/// know that component. Who finds a lower name next to it hooks the vertex that it named until then, once trees are flat their root, onto
/// that, as in FastSV ("FastSV: a distributed-memory connected component algorithm with fast convergence", Zhang, Azad and Hu). Isolated
/// vertices are components of their own.
///
/// O(entries + rounds * (n + entries of those outside the giant)) time; two to five rounds on most graphs, 13 to 19 on a path of 2^18
/// vertices whose numbers are shuffled (counted).
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
    let giant = a.giant()?;
    let at = vertex.bind(giant);
    // f = name min (name min.first A): one lower neighbour is enough
    let own = fill(giant, a.nrows()).map_index(name);
    let lower = own.ewise_add(own.vxm(a, MIN_FIRST).until(GT), MIN).eval()?;
    // f = f[f[f[f[f]]]], where at says
    let two = lower.gather(lower.map(at)).map(at);
    let names = lower.gather(lower.gather(lower.gather(two).map(at)).map(at)).or(0).eval()?;
    // g = g' min (g min.first A), g[at(g)] min= g, until none changes; g' = where g leads; any lower neighbour will do
    let settled = fixpoint(names)
        .while_changed()
        .monotone()
        .step(|g| g.follow(at).ewise_add(g.vxm(a, MIN_FIRST).until(GT), MIN).lazily())
        .hooking(at, MIN);
    if giant == 0 {
        return Ok(settled.eval()?.state);
    }
    // f = g as vertices, of the giant component the least
    let (label, _) = settled.eval_then(|g| {
        let least = g.select(EQ.bind(0)).map_index(FIRST).reduce(MIN)?;
        g.map(relabel.bind(least)).eval()
    })?;
    Ok(label)
}
