//! Connected components: trees of labels, hooked onto one another.

use crate::prelude::*;

/// Vertices whose labels tell which component is a giant, if any is.
const SAMPLE: usize = 32;

/// A component's name: 0 is the giant's; where that is vertex 0's, labels are names.
#[op]
fn name(label: u32, giant: u32) -> u32 {
    if giant == 0u32 {
        label
    } else if label == giant {
        0u32
    } else {
        label + 1u32
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

/// A name as a label, given the giant's.
#[op]
fn relabel(name: u32, least: u32) -> u32 {
    if name == 0u32 { least } else { name - 1u32 }
}

/// The component of each vertex of an undirected graph: the least of its vertices.
///
/// Each vertex has the label of a lower neighbour at first, and then of where such labels lead. If two or more of a sample of 32 have one,
/// the one that most have is the giant component's, as in Afforest ("Optimizing Parallel Graph Connectivity Computation via Subgraph
/// Sampling", Sutton, Ben-Nun and Barak), and its name is the least: its vertices needn't look at their neighbours, only the others. Who
/// finds a lower name next to it hooks the vertex that it named until then, once trees are flat their root, onto that, as in FastSV
/// ("FastSV: a distributed-memory connected component algorithm with fast convergence", Zhang, Azad and Hu). Isolated vertices are
/// components of their own.
///
/// O(entries + rounds * (n + entries of those outside the giant)) time; two to six rounds on most graphs, 16 on a path of 2^18 vertices
/// whose numbers are shuffled (counted).
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
    // f = i min (i min.first A): one lower neighbour is enough
    let index = fill((), a.nrows()).map_index(FIRST);
    let lower = index.ewise_add(index.vxm(a, MIN_FIRST).until(GT), MIN).eval()?;
    // f = f[f[f]], twice: each label is a vertex
    let jumped = |f: Vector<u32>| f.gather(f.gather(&f)).or(0).eval();
    let label = jumped(jumped(lower)?)?;
    // g = f, the giant's 0
    let giant = giant(&label)?;
    let names = if giant == 0 { label } else { label.map(name.bind(giant)).eval()? };
    // g = g' min (g min.first A), g[at(g)] min= g, until none changes; g' = where g leads
    let at = vertex.bind(giant);
    let settled = fixpoint(names)
        .while_changed()
        .monotone()
        .step(|g| g.follow(at).ewise_add(g.vxm(a, MIN_FIRST), MIN).lazily())
        .hooking(at, MIN);
    if giant == 0 {
        return Ok(settled.eval()?.state);
    }
    // f = g, the giant's least vertex instead of 0
    let (label, _) = settled.eval_then(|g| {
        let least = g.select(EQ.bind(0)).map_index(FIRST).reduce(MIN)?;
        g.map(relabel.bind(least)).eval()
    })?;
    Ok(label)
}

/// The most frequent of a sample of labels, if at least two have it; vertex 0 otherwise.
fn giant(label: &Vector<u32>) -> Result<u32> {
    let n = label.len();
    // s = f[i * step]
    let step = n.div_ceil(SAMPLE).max(1) as u32;
    let places = fill(step, n.div_ceil(step as usize)).map_index(TIMES);
    let mut sample = label.gather(places).eval()?.to_dense(0);
    sample.sort_unstable();
    let most = sample.chunk_by(|x, y| x == y).max_by_key(|run| run.len());
    Ok(most.filter(|run| run.len() > 1).map_or(0, |run| run[0]))
}
