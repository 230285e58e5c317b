//! Single-source shortest paths: the Bellman-Ford method, over min.plus. See `docs/algorithms/paths.md`.

use crate::algorithms::bfs::at_source;
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
