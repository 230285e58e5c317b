//! Core numbers, by peeling: rounds of products of sets. See `docs/algorithms/kcore.md`.

use crate::prelude::*;

/// The core number of each vertex of an undirected graph: the greatest k such that the vertex belongs to a subgraph in which every vertex
/// has at least k neighbours. The greatest core number is the graph's degeneracy.
///
/// A round removes at once all vertices that have at most k neighbours left; k rises only when there is none. O(nnz) time for the products
/// over all rounds, beside O(n) for each k that occurs.
///
/// ```
/// use vxm::algorithms::core_numbers;
/// use vxm::prelude::*;
///
/// // a triangle with a tail
/// let a = Matrix::undirected(5, &[(0, 1), (1, 2), (2, 0), (2, 3)])?;
/// assert_eq!(core_numbers(&a)?, Vector::from_dense(vec![2, 2, 2, 1, 0]));
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square or symmetric.
pub fn core_numbers(a: &Matrix) -> Result<Vector<u32>> {
    let a = &*a.to_graph()?;
    let n = a.nrows();
    let (mut degree, mut left, mut core) = (a.degrees()?, Set::all(n), Vector::full(n, 0u32));
    let (nothing, mut k) = (Set::new(n), 0);
    while left.nvals() > 0 {
        // k = the least degree of the vertices left, or k if that is greater
        k = degree.mask(&left).reduce(MIN)?.max(k);
        // leaves<left> = {v : degree[v] <= k}
        let mut leaves = degree.mask(&left).select(LE.bind(k)).pattern().eval()?;
        while leaves.nvals() > 0 {
            // core<leaves> = k
            fill(k, n).mask(&leaves).assign_to(&mut core)?;
            // left<leaves> = {}
            nothing.mask(&leaves).assign_to(&mut left)?;
            // lost<left> = leaves plus.pair A
            let lost = leaves.vxm(a, PLUS_PAIR).mask(&left).eval()?;
            // degree<lost> -= lost
            lost.accum(MINUS).assign_to(&mut degree)?;
            // leaves<lost> = {v : degree[v] <= k}
            leaves = degree.mask(&lost).select(LE.bind(k)).pattern().eval()?;
        }
    }
    Ok(core)
}
