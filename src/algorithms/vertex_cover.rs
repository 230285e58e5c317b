//! Small vertex covers, by a maximal independent set and a maximal matching. See `docs/algorithms/vertex-cover.md`.

use crate::algorithms::{MisOptions, maximal_matching, mis};
use crate::prelude::*;

/// A vertex cover: each edge has an end in it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct VertexCover {
    /// Its members.
    pub set: Set,
    /// The mates of a maximal matching, absent where a vertex has none. Each of its edges has an end of its own in every cover.
    pub mate: Vector<u32>,
}

impl VertexCover {
    /// A lower bound: no cover has fewer members. `set` has at most twice as many.
    pub fn least(&self) -> usize {
        self.mate.nvals() / 2
    }
}

/// A small vertex cover of an undirected graph.
///
/// It is the smaller of two: what a maximal independent set leaves, and the ends of the edges of a maximal matching. Each edge of a matching
/// has an end of its own in every cover, so no cover is smaller than half of the second. To find the smallest cover is NP-hard.
///
/// Time as for [`mis`](fn@super::mis) and [`maximal_matching`].
///
/// ```
/// use vxm::algorithms::{MisOptions, vertex_cover};
/// use vxm::prelude::*;
///
/// // a star: its centre covers all edges
/// let star = Matrix::undirected(4, &[(0, 1), (0, 2), (0, 3)])?;
/// let found = vertex_cover(&star, &MisOptions::default())?;
/// assert_eq!((found.least(), found.set), (1, Set::from_indices(4, [0])?));
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square or symmetric.
pub fn vertex_cover(a: &Matrix, options: &MisOptions) -> Result<VertexCover> {
    let a = &*a.to_graph()?;
    // cover = V \ mis(A); ends = the ends of a maximal matching
    let cover = Set::all(a.nrows()).mask(!&mis(a, options)?.set).eval()?;
    let mate = maximal_matching(a, options.seed)?.mate;
    let ends = mate.pattern().eval()?;
    Ok(VertexCover { set: if ends.nvals() < cover.nvals() { ends } else { cover }, mate })
}
