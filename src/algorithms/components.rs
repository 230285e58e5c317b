//! Connected components, by least labels and pointer jumping.

use crate::prelude::*;

/// Rounds in which labels that go from neighbour to neighbour settle on most graphs: twice what any of those measured took. On a long path
/// whose numbers are shuffled they would take as many as there are vertices.
const FEW: u32 = 32;

/// The component of each vertex of an undirected graph: the least of its vertices.
///
/// Labels fall to the least of the neighbours' and, two jumps at a time, to that of the vertex they name. Isolated vertices are components
/// of their own.
///
/// O(rounds * entries) time; a row ends at a neighbour of label 0. Rounds are few where a vertex is close to the least of its
/// component, or where numbers follow the graph, as in grids and road networks; elsewhere whole trees of labels are hooked onto one
/// another, in O(log n) rounds.
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
    // f = 0..n
    let label = fill((), a.nrows()).map_index(FIRST).eval()?;
    // f = f min (f min.first A) min f[f[f]], until none changes
    let settled = fixpoint(label.clone())
        .while_changed()
        .monotone()
        .at_most(FEW)
        .step(|f| f.ewise_add(f.vxm(a, MIN_FIRST), MIN).ewise_mult(f.gather(f.gather(f)), MIN))
        .eval();
    match settled {
        Err(Error::NoEnd { .. }) => by_trees(a, label),
        settled => Ok(settled?.state),
    }
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
