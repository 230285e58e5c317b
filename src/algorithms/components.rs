//! Connected components, by least labels and pointer jumping.

use crate::prelude::*;

/// The component of each vertex of an undirected graph: the least of its vertices.
///
/// Labels fall to the least of the neighbours' and, two jumps at a time, to that of the vertex they name. Isolated vertices are components
/// of their own.
///
/// O(rounds * entries) time; a row ends at a neighbour of label 0. Rounds are few where a vertex is close to the least of its
/// component, or where numbers follow the graph, as in grids and road networks.
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
    let settled = fixpoint(label)
        .while_changed()
        .monotone()
        .step(|f| f.ewise_add(f.vxm(a, MIN_FIRST), MIN).ewise_mult(f.gather(f.gather(f)), MIN))
        .eval()?;
    Ok(settled.state)
}
