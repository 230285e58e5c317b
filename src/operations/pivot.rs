//! A vertex to start from, where any would do.

use crate::backend::tuning::{self, RowStats};
use crate::containers::Matrix;
use crate::error::Result;
use crate::operations::ranks;
use vxm_semiring::Element;

/// A vertex to start from, where the answer is the same for any. The plan chooses one that is likely in the giant component, which contains most
/// vertices, if there is one: vertex 0, or the first vertex with the longest row, as the lengths of rows suggest.
///
/// [`components`](crate::algorithms::components()) gives it the least name, so that a vertex that is connected with it needs no further visit. The result
/// is 0 for a matrix without rows. O(rows) time on the host; no readback on a device.
///
/// ```
/// use vxm::prelude::*;
///
/// let star = Matrix::undirected(60, &(0..60).map(|v| (7, v)).collect::<Vec<_>>())?;
/// assert_eq!(pivot(&star)?, 7);
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix is on a device that is lost.
pub fn pivot<A: Element>(a: &Matrix<A>) -> Result<u32> {
    let (longest_at, longest, first) = match (a.gpu(), a.grid()) {
        (_, Some(grid)) => ranks::matrices::row_ends(a, grid)?,
        (Some(gpu), _) => {
            let rows = a.on(gpu)?;
            let (longest_at, first) = rows.ends();
            (longest_at, rows.longest(), first)
        }
        (None, None) => {
            let rows = a.csr();
            let (longest, length) = (rows.longest(), |i| if i < a.nrows() { rows.degree(i) } else { 0 });
            (longest as u32, length(longest), length(0))
        }
    };
    let rows = RowStats { rows: a.nrows(), entries: a.nnz() as usize, longest, ..RowStats::UNKNOWN };
    let (by_length, why) = tuning::giant_is_longest(&rows, first);
    let chosen = if by_length { longest_at } else { 0 };
    tracing::debug!(operation = "pivot", chosen, why, first, longest, "plan");
    Ok(chosen)
}
