//! Triangles, clustering coefficients and trusses, by masked products of matrices. See `docs/algorithms/triangles.md`.

use crate::prelude::*;

/// Counts in 64 bits.
const COUNT: Ring<Plus, Pair<u64>> = semiring(PLUS, Pair::new());

/// The number of triangles of an undirected graph: `sum(U * U' .* U)`.
///
/// Each edge is directed to its end of the greater degree, which gives an acyclic matrix U with short rows. The entry `(i, j)` of the product
/// counts the common out-neighbours of `i` and `j`; so each triangle is counted once, at the edge between its two lesser vertices.
/// O(nnz^1.5) time.
///
/// ```
/// use vxm::algorithms::count_triangles;
/// use vxm::prelude::*;
///
/// // a square with one diagonal
/// let a = Matrix::undirected(4, &[(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])?;
/// assert_eq!(count_triangles(&a)?, 2);
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square or symmetric. The product doesn't fit into memory.
pub fn count_triangles(a: &Matrix) -> Result<u64> {
    let a = &*a.to_graph()?;
    let up = upward(a)?;
    // C<U> = U plus.pair U'
    let common = up.mxm(&up.transpose(), COUNT).mask(&up).eval()?;
    common.reduce(PLUS)
}

/// The number of triangles at each vertex of an undirected graph. Their sum is three times the number of triangles.
///
/// Two products count each triangle at the edges from its least vertex, in the order of degrees: at the one to the middle vertex, and at the
/// one to the greatest. O(nnz^1.5) time.
///
/// ```
/// use vxm::algorithms::triangles;
/// use vxm::prelude::*;
///
/// // a square with one diagonal
/// let a = Matrix::undirected(4, &[(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])?;
/// assert_eq!(triangles(&a)?, Vector::from_dense(vec![2, 1, 2, 1]));
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// As [`count_triangles`].
pub fn triangles(a: &Matrix) -> Result<Vector<u64>> {
    let a = &*a.to_graph()?;
    let up = upward(a)?;
    // middle<U> = U plus.pair U'; greatest<U> = U plus.pair U
    let middle = up.mxm(&up.transpose(), COUNT).mask(&up).eval()?;
    let greatest = up.mxm(&up, COUNT).mask(&up).eval()?;
    // t = the row sums of middle, and the column sums of both
    let one = fill(1u64, a.nrows());
    let least = middle.reduce_rows(PLUS)?;
    let (middle, greatest) = (one.vxm(&middle, PLUS_SECOND), one.vxm(&greatest, PLUS_SECOND));
    middle.ewise_add(greatest, PLUS).ewise_add(&least, PLUS).or(0).eval()
}

/// Each edge from its end of the lesser degree to that of the greater; between equals, by number.
fn upward(a: &Matrix) -> Result<Matrix> {
    let rank = a.degrees()?.rank()?;
    a.oriented(LT, &rank).into_matrix()
}

/// The share of a vertex' pairs of neighbours that are neighbours themselves; 0 if there is no pair.
#[op]
fn share(triangles: u64, degree: u32) -> f64 {
    let pairs: u64 = (degree as u64) * ((degree as u64) - 1u64);
    if degree < 2 { 0.0 } else { ((2u64 * triangles) as f64) / (pairs as f64) }
}

/// The local clustering coefficient of each vertex of an undirected graph: the share of its pairs of neighbours that are joined by an edge.
/// It is 0 at a vertex with fewer than two neighbours.
///
/// The coefficient is one rounded division of two integers. O(nnz^1.5) time.
///
/// ```
/// use vxm::algorithms::clustering;
/// use vxm::prelude::*;
///
/// // a triangle with a tail
/// let a = Matrix::undirected(4, &[(0, 1), (1, 2), (2, 0), (2, 3)])?;
/// assert_eq!(clustering(&a)?, Vector::from_dense(vec![1.0, 1.0, 1.0 / 3.0, 0.0]));
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// As [`count_triangles`].
pub fn clustering(a: &Matrix) -> Result<Vector<f64>> {
    let a = &*a.to_graph()?;
    // c = 2 t / (d (d - 1))
    share.map2(&triangles(a)?, &a.degrees()?).eval()
}

/// A truss of a graph.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Truss {
    /// Its edges, as the adjacency matrix of an undirected graph, each with the number of triangles of the truss that it is part of.
    pub support: Matrix<u32>,
    /// How many rounds it took.
    pub rounds: u32,
}

/// The k-truss of an undirected graph: the greatest subgraph in which each edge is part of at least `k - 2` triangles.
///
/// A round counts the triangles of each edge that is left and drops the edges of too few. O(nnz^1.5) time a round.
///
/// ```
/// use vxm::algorithms::ktruss;
/// use vxm::prelude::*;
///
/// // a clique of four with a triangle at a side of it
/// let edges = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (3, 4), (2, 4)];
/// let truss = ktruss(&Matrix::undirected(5, &edges)?, 4)?;
/// assert_eq!(truss.support.pattern(), Matrix::undirected(5, &edges[..6])?);
/// assert_eq!(truss.support.get(0, 1), Some(2));
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square or symmetric. `k` is less than 3. The product doesn't fit into memory.
pub fn ktruss(a: &Matrix, k: u32) -> Result<Truss> {
    if k < 3 {
        return Err(Error::invalid(format!("ktruss: k = {k}: expected at least 3")));
    }
    let a = &*a.to_graph()?;
    let (mut left, mut rounds) = (a.clone(), 0);
    loop {
        rounds += 1;
        let kept = supported(&left, k - 2)?;
        if kept.nnz() == left.nnz() {
            return Ok(Truss { support: kept, rounds });
        }
        left = kept.pattern();
    }
}

/// The edges in at least `least` triangles, each with their number.
fn supported(a: &Matrix, least: u32) -> Result<Matrix<u32>> {
    // C<U> = A plus.pair A, where U is the upper triangle of A: each edge is counted once
    let up = a.select(TRIU)?;
    let once = a.mxm(a, PLUS_PAIR).mask(&up).eval()?.select_values(GE.bind(least))?;
    // C + C'
    once.ewise_add(&once.transpose(), PLUS)
}
