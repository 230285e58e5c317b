//! Minimum spanning forests by Borůvka's method: each component takes its lightest edge. See `docs/algorithms/msf.md`.

use crate::algorithms::pairs::{high, low, pair};
use crate::prelude::*;

/// A minimum spanning forest.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SpanningForest {
    /// Its edges, as the adjacency matrix of an undirected graph.
    pub forest: Matrix,
    /// How many rounds it took. Each at least halves the number of trees that can still grow.
    pub rounds: u32,
}

/// The root at the other end of an edge, of the roots at both ends.
#[op]
fn across(own: u32, first: u32, second: u32) -> u32 {
    if first == own { second } else { first }
}

/// An edge that leaves a tree.
#[scalar]
struct Leaving {
    /// The weight, and the lesser end.
    first: u64,
    /// The greater end, and the root of the tree.
    second: u64,
}

/// The lightest edge of a vertex, of the number and the root of the vertex, and of the edge's weight and other end.
#[op]
fn leaving(vertex: u32, root: u32, best: u64) -> Leaving {
    let other = low(best);
    // without an edge: heavier than any
    let lesser = if other == u32::MAX { other } else { vertex.min(other) };
    Leaving { first: pair(high(best), lesser), second: pair(vertex.max(other), root) }
}

/// The lighter edge; of equally light ones that of the lesser ends.
#[op]
fn lighter(a: Leaving, b: Leaving) -> Leaving {
    if a.first < b.first || a.first == b.first && a.second <= b.second { a } else { b }
}
impl Monoid<Leaving> for lighter {
    const IDENTITY: Leaving = Leaving { first: u64::MAX, second: u64::MAX };
    const COMMUTATIVE: bool = true;
}

#[op]
fn root_of(edge: Leaving) -> u32 {
    low(edge.second)
}
#[op]
fn lesser_end(edge: Leaving) -> u32 {
    low(edge.first)
}
#[op]
fn greater_end(edge: Leaving) -> u32 {
    high(edge.second)
}

/// The next parent of a root: itself if `grandparent`, the parent of its parent, is the root, and the root is less than its parent.
#[op]
fn break_tie(own: u32, parent: u32, grandparent: u32) -> u32 {
    if grandparent == own && own < parent { own } else { parent }
}

/// A minimum spanning forest of an undirected graph with weights: a tree in each component, of the least total weight.
///
/// Edges are ordered by (weight, lesser end, greater end). In this order no two are equal, so the forest is unique: it is that of Kruskal's
/// method. O((n + nnz) log n) time; edges inside of a tree are dropped in each round, and vertices without an edge left. So mostly a round
/// takes at most half the time of the one before.
///
/// ```
/// use vxm::algorithms::spanning_forest;
/// use vxm::prelude::*;
///
/// // a triangle, and a vertex apart
/// let sides = [(0, 1, 5u32), (1, 2, 7), (2, 0, 9)];
/// let a = Matrix::from_triples(4, 4, sides.into_iter().flat_map(|(i, j, w)| [(i, j, w), (j, i, w)]))?;
/// assert_eq!(spanning_forest(&a)?.forest, Matrix::undirected(4, &[(0, 1), (1, 2)])?);
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square or symmetric.
pub fn spanning_forest(a: &Matrix<u32>) -> Result<SpanningForest> {
    let a = &*a.to_weighted_graph()?;
    let n = a.nrows();
    // vertex[v] = v; root[v] = v
    let mut vertex = fill((), n).map_index(FIRST).eval()?;
    let (mut root, mut left) = (vertex.clone(), a.oriented(NE, &vertex).into_matrix()?);
    let (mut edges, mut rounds) = (Vec::new(), 0);
    while left.nnz() > 0 {
        rounds += 1;
        (left, root, vertex) = without_isolated(&left, &root, &vertex)?;
        let number = fill((), left.nrows()).map_index(FIRST).eval()?;
        // (from, to) = the ends of the lightest edge of each vertex' tree
        let (from, to) = lightest(&left, &root, &number)?;
        // parent = the root at the other end
        let other = across.map3(&root, root.gather(&from), root.gather(&to)).or(u32::MAX);
        let parent = next_parent.map3(&number, &root, other).eval()?;
        // of two roots that are each other's parent, the lesser becomes its own parent
        let parent = break_tie.map3(&number, &parent, parent.gather(&parent)).eval()?;
        // hooked = {v : root[v] = v, parent[v] != v}; edges += (vertex[from], vertex[to])[hooked]
        let was_root = root.map_index(EQ).select(IDENTITY);
        let hooked = parent.map_index(NE).select(IDENTITY).mask(was_root).pattern().eval()?;
        let end = |of: &Vector<u32>| vertex.gather(of.extract(&hooked)).eval();
        edges.push((end(&from)?, end(&to)?));
        // root = root[root], until no element changes
        root = fixpoint(parent).while_changed().monotone().step(|root| root.gather(root)).eval()?.state;
        // left[i, j] = left[i, j] where root[i] != root[j]
        left = left.oriented(NE, &root).into_matrix()?;
    }
    Ok(SpanningForest { forest: Matrix::undirected_from(n, &edges)?, rounds })
}

/// The edges left, the roots and the vertices' numbers, restricted to vertices with an edge left and renumbered in the same order. The root
/// of a tree is the least vertex of it that is kept.
fn without_isolated(
    left: &Matrix<u32>,
    root: &Vector<u32>,
    vertex: &Vector<u32>,
) -> Result<(Matrix<u32>, Vector<u32>, Vector<u32>)> {
    // kept = {v : left has an entry in row v}; place[kept[k]] = k
    let kept = left.degrees()?.select(NE.bind(0)).pattern().eval()?;
    let place = fill((), kept.nvals()).map_index(FIRST).scatter(&kept, left.nrows()).eval()?;
    // root = the least place of a tree
    let root = least(&place, root)?;
    Ok((left.induced_by(&kept)?, root.extract(&kept).eval()?, vertex.extract(&kept).eval()?))
}

/// The next parent of a vertex: of a root the root at the other end of its lightest edge, if there is one; of another vertex its root.
#[op]
fn next_parent(own: u32, root: u32, other: u32) -> u32 {
    if own == root && other != u32::MAX { other } else { root }
}

/// At each vertex, the lesser and the greater end of the lightest edge that leaves its tree; absent if none does.
fn lightest(left: &Matrix<u32>, root: &Vector<u32>, number: &Vector<u32>) -> Result<(Vector<u32>, Vector<u32>)> {
    // best = left min.pair number: the weight and the other end of each vertex' lightest edge
    let best = left.mxv(number, semiring(MIN, pair)).or_identity();
    let edge = leaving.map3(number, root, best).eval()?;
    // edge[root(edge)] lighter= edge, until no element changes
    let joined = fixpoint(edge).while_changed().monotone().step(|edge| edge).scatter_reduce(root_of, lighter);
    let (edge, _) = joined.eval_then(|edge| edge.gather(root).eval())?;
    // without the trees that no edge leaves
    let open = edge.map(greater_end).select(NE.bind(u32::MAX)).pattern().eval()?;
    Ok((edge.map(lesser_end).mask(&open).eval()?, edge.map(greater_end).mask(&open).eval()?))
}

/// At each vertex, the least element of `x` in its tree; `u32::MAX` if there is none.
fn least(x: impl Expr<T = u32>, root: &Vector<u32>) -> Result<Vector<u32>> {
    // s = (x, root), s[root(s)] min= s, until no element changes
    let s = pair.map2(x.or(u32::MAX), root).eval()?;
    let joined = fixpoint(s).while_changed().monotone().step(|s| s).scatter_reduce(low, MIN);
    Ok(joined.eval_then(|s| s.map(high).gather(root).eval())?.0)
}
