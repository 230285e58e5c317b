//! Connected components, by least labels and pointer jumping.

use crate::prelude::*;

/// Rounds in which labels that go from neighbour to neighbour settle on most graphs: twice what any of those measured took. On a long path
/// whose numbers are shuffled they would take as many as there are vertices.
const FEW: u32 = 32;

/// Vertices whose labels tell which component is a giant, if any is.
const SAMPLE: usize = 32;

/// A component's name, by which it is found: 0 is the giant's; where that is vertex 0's, labels are names.
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
fn root(name: u32, giant: u32) -> u32 {
    if giant == 0u32 {
        name
    } else if name == 0u32 {
        giant
    } else {
        name - 1u32
    }
}

/// The component of each vertex of an undirected graph: the least of its vertices.
///
/// Each vertex has the label of a lower neighbour at first, and then of where such labels lead. If many of a sample have one, it is the
/// giant component's, as in Afforest ("Optimizing Parallel Graph Connectivity Computation via Subgraph Sampling", Sutton, Ben-Nun and
/// Barak): its vertices needn't look at their neighbours, only the others, and the giant's name is the least. Labels fall to the least of the
/// neighbours' and, two jumps at a time, to that of the vertex they name. Isolated vertices are components of their own.
///
/// O(n + rounds * entries of those outside the giant) time. Rounds are few where a vertex is close to the least of its component, or where
/// numbers follow the graph, as in grids and road networks; elsewhere whole trees of labels are hooked onto one another, in O(log n) rounds.
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
    let n = a.nrows();
    // f = i min (i min.first A): one lower neighbour is enough
    let index = fill((), n).map_index(FIRST);
    let lower = &index.ewise_add(index.vxm(a, MIN_FIRST).until(GT), MIN).eval()?;
    // f = f[f[f]], twice: each label is a vertex
    let label = &lower.gather(lower.gather(lower)).or(0).eval()?;
    let label = label.gather(label.gather(label)).or(0).eval()?;
    // g = f, the giant's 0
    let giant = giant(&label)?;
    let of = fill(giant, n);
    let names = if giant == 0 { label } else { name.map2(&label, of).eval()? };
    // g<g> = g min (g min.first A) min g[g[g]], until none changes
    let settled = fixpoint(names)
        .while_changed()
        .monotone()
        .at_most(FEW)
        .step(|g| {
            let jumped = g.gather(root.map2(g.gather(root.map2(g, of)), of));
            g.ewise_add(g.vxm(a, MIN_FIRST), MIN).ewise_mult(jumped, MIN).mask(g.select(GT.bind(0)))
        })
        .eval();
    let names = match settled {
        Err(Error::NoEnd { .. }) => return by_trees(a, index.eval()?),
        settled => settled?.state,
    };
    if giant == 0 {
        return Ok(names);
    }
    // f = g, the giant's least vertex instead of 0
    let least = names.select(EQ.bind(0)).map_index(FIRST).reduce(MIN)?;
    relabel.map2(&names, fill(least, n)).eval()
}

/// A name as a label, given the giant's.
#[op]
fn relabel(name: u32, least: u32) -> u32 {
    if name == 0u32 { least } else { name - 1u32 }
}

/// The most frequent of a sample of labels, if some have it; vertex 0 otherwise.
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

/// Trees of labels, each hooked onto the least tree next to it: at least half of them are, a round.
fn by_trees(a: &Matrix, mut label: Vector<u32>) -> Result<Vector<u32>> {
    let n = a.nrows();
    loop {
        // trees[i, f[i]]: whose root is whose
        let roots = label.to_dense(0);
        let trees = Matrix::from_triples(n, n, (0..n as u32).map(|i| (i, roots[i as usize], ())))?;
        // hooked = f min ((f min.first A) min.first trees)
        let hooked = label.ewise_add(label.vxm(a, MIN_FIRST).eval()?.vxm(&trees, MIN_FIRST), MIN).eval()?;
        if hooked == label {
            return Ok(label);
        }
        // f = f[f], until none changes
        label = fixpoint(hooked).while_changed().monotone().step(|f| f.gather(f)).eval()?.state;
    }
}
