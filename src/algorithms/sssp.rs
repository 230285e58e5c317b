//! Single-source shortest paths: the Bellman-Ford method, over min.plus; and a tree of parents. See `docs/algorithms/paths.md`.

use crate::algorithms::bfs::{at_source, bfs_parents};
use crate::prelude::*;

/// The type of weights and distances: `u32`, `u64`, `f32` or `f64`.
pub trait Distance: lowered::Ordered {
    /// The distance of a vertex that isn't reached: the type's greatest value, or infinity.
    const FAR: Self;
    /// The type of [`LONGER`](Self::LONGER).
    type Longer: BinaryOp<Self, Self, Out = Self>;
    /// The operator distance + weight, the multiplication of the semiring. Integer sums saturate at [`FAR`](Self::FAR).
    const LONGER: Self::Longer;
}

macro_rules! distances {
    ($($t:ident, $far:expr, $longer:ident: |$distance:ident, $weight:ident| $sum:expr;)*) => {$(
        /// The sum of a distance and a weight; integer sums saturate.
        #[op]
        pub fn $longer($distance: $t, $weight: $t) -> $t {
            $sum
        }
        impl Distance for $t {
            const FAR: Self = $far;
            type Longer = $longer;
            const LONGER: $longer = $longer;
        }
    )*};
}
distances! {
    u32, u32::MAX, longer_u32: |distance, weight| distance.saturating_add(weight);
    u64, u64::MAX, longer_u64: |distance, weight| distance.saturating_add(weight);
    f32, f32::INFINITY, longer_f32: |distance, weight| distance + weight;
    f64, f64::INFINITY, longer_f64: |distance, weight| distance + weight;
}

/// The length of a shortest path from `source` to each vertex, along entries `a[from, to]`; absent where no path leads.
///
/// A path counts as no path if its length doesn't fit the integer type or is infinite. An entry of weight NaN counts as no entry.
/// Weights may be negative as long as no reachable cycle has a negative length. A float sum is rounded at each edge, from the source on;
/// the result is the least such sum over all paths. A cycle counts as negative if distances still fall after vertices + 64 rounds.
///
/// O(entries of the rows visited) time. For non-negative weights that is mostly a few times the entries. The worst case is vertices *
/// entries, which finding a cycle of negative length always takes.
///
/// ```
/// use vxm::algorithms::sssp;
/// use vxm::prelude::*;
///
/// // two paths from 0 to 2; 3 is not reachable
/// let a = Matrix::from_triples(4, 4, [(0, 2, 9u32), (0, 1, 4), (1, 2, 3)])?;
/// assert_eq!(sssp(&a, 0)?, Vector::from_pairs(4, [(0, 0), (1, 4), (2, 7)])?);
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square; the source lies outside of it; it reaches a cycle of negative weight.
pub fn sssp<T: Distance>(a: &Matrix<T>, source: u32) -> Result<Vector<T>> {
    let a = &*a.to_digraph()?;
    // distance[source] = 0, distance = FAR elsewhere
    let distance = at_source(a, source, T::ZERO, T::FAR)?;
    // distance = distance min (distance min.plus A), until no element changes
    let found = fixpoint(distance)
        .while_changed()
        .monotone()
        // a shortest path has fewer edges than there are vertices; rounded sums may take a few more rounds
        .at_most((a.nrows() as u32).saturating_add(64))
        .step(|distance| distance.ewise_add(distance.vxm(a, semiring(MIN, T::LONGER)), MIN))
        // reached = distance where distance != FAR
        .eval_then(|distance| distance.select(NE.bind(T::FAR)).eval());
    match found {
        Ok((reached, _)) => Ok(reached),
        Err(Error::DidNotConverge { .. }) => {
            Err(Error::invalid(format!("sssp: {source} reaches a cycle of negative weight")))
        }
        Err(error) => Err(error),
    }
}

/// The parent of each vertex that `source` reaches, on a shortest path with the fewest edges; of several the least. The source is its own
/// parent; a vertex that isn't reached has none. So it is a tree, also with weights of 0, and the same wherever it is computed.
///
/// It is [`sssp`], and [`bfs_parents`] over the edges that end a shortest path. Beside these it takes O(n + nnz) time.
///
/// ```
/// use vxm::algorithms::sssp_parents;
/// use vxm::prelude::*;
///
/// // 0 -> 1 -> 2 is as short as 0 -> 2, and has more edges; 3 is reached by way of 1 alone
/// let a = Matrix::from_triples(4, 4, [(0, 2, 7u32), (0, 1, 4), (1, 2, 3), (1, 3, 2), (2, 3, 0)])?;
/// assert_eq!(sssp_parents(&a, 0)?, Vector::from_pairs(4, [(0, 0), (1, 0), (2, 0), (3, 1)])?);
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// As [`sssp`]. With negative floats: no path has the length that was found, because rounded sums along cycles lower it.
pub fn sssp_parents<T: Distance>(a: &Matrix<T>, source: u32) -> Result<Vector<u32>> {
    let a = &*a.to_digraph()?;
    let distance = sssp(a, source)?;
    // along[i, j] = distance[i] + a[i, j]
    let along = a.map_ends(FIRST, &distance)?.ewise_mult(a, T::LONGER)?;
    // last[i, j] where along[i, j] = distance[j]: the edges that end a shortest path
    let last = along.ewise_mult(&a.map_ends(SECOND, &distance)?, EQ)?.select_values(IDENTITY)?.pattern();
    let parent = bfs_parents(&last, source)?;
    if parent.nvals() < distance.nvals() {
        let what = "sssp_parents: rounded sums along cycles are shorter than every path: expected weights of which none is negative";
        return Err(Error::invalid(what));
    }
    Ok(parent)
}
