//! Shortest paths from a source: Bellman and Ford's method, over min.plus.

use super::bfs::at_source;
use crate::prelude::*;

/// What distances are measured in: `u32`, `u64`, `f32` or `f64`.
pub trait Distance: lowered::Ordered {
    /// Farther than any vertex that is reached.
    const FAR: Self;
    /// An operator's type.
    type Longer: BinaryOp<Self, Self, Out = Self>;
    /// A distance lengthened by a weight. Of integers it ends at [`FAR`](Self::FAR).
    const LONGER: Self::Longer;
}

macro_rules! distances {
    ($($t:ident, $far:expr, $longer:ident: |$distance:ident, $weight:ident| $sum:expr;)*) => {$(
        /// A distance lengthened by a weight.
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

/// The length of a shortest path from `source` to each vertex, over entries `a[from, to]`; absent where no path leads.
///
/// Sums of integers that don't fit, and infinite ones, are as if no path led there; an entry whose weight is NaN is as if it weren't.
/// Weights may be negative where no cycle is. Sums of floats are rounded along the path, from the source on: the least of those; a cycle
/// counts as negative if going around it makes a rounded sum less, for more than vertices + 64 rounds.
///
/// O(entries of the rows visited) time: of non-negative weights mostly a few times the entries, at worst vertices * entries, which is also
/// what finding a cycle of negative weight takes.
///
/// ```
/// use vxm::algorithms::sssp;
/// use vxm::prelude::*;
///
/// // two ways from 0 to 2, and nobody goes to 3
/// let a = Matrix::from_triples(4, 4, [(0, 2, 9u32), (0, 1, 4), (1, 2, 3)])?;
/// assert_eq!(sssp(&a, 0)?, Vector::from_pairs(4, [(0, 0), (1, 4), (2, 7)])?);
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square; the source lies outside of it; it reaches a cycle of negative weight.
pub fn sssp<T: Distance>(a: &Matrix<T>, source: u32) -> Result<Vector<T>> {
    let a = &*a.to_digraph()?;
    // distance = 0 at the source, far elsewhere
    let distance = at_source(a, source, T::ZERO, T::FAR)?;
    // distance = distance min (distance min.longer A), until none changes
    let found = fixpoint(distance)
        .while_changed()
        .monotone()
        // a shortest path has fewer edges than there are vertices; rounded sums may need some more
        .at_most((a.nrows() as u32).saturating_add(64))
        .step(|distance| distance.ewise_add(distance.vxm(a, semiring(MIN, T::LONGER)), MIN))
        // reached = those that aren't far
        .eval_then(|distance| distance.select(NE.bind(T::FAR)).eval());
    match found {
        Ok((reached, _)) => Ok(reached),
        Err(Error::NoEnd { .. }) => Err(Error::invalid(format!("sssp: {source} reaches a cycle of negative weight"))),
        Err(error) => Err(error),
    }
}
