//! Independent sets and colourings at distance 2: vertices with a common neighbour exclude each other, as neighbours do. See
//! `docs/algorithms/distance2.md`.

use crate::algorithms::coloring::Coloring;
use crate::algorithms::derivatives::{check_keys, closed, of_columns};
use crate::algorithms::mis::Mis;
use crate::prelude::*;

/// The sequential greedy set at distance 2 of an order of the vertices: no two members are neighbours or have a common neighbour, and no vertex could
/// join.
///
/// `key` gives the order: the vertex with the highest key comes first, of equal ones that of the higher number. Vertices without a key can't
/// join, and exclude nothing.
///
/// The rounds are Luby's, over the square of the graph, which isn't formed: each product with the square is two products. The method is that
/// of Bell, Dalton and Olson ("Exposing fine-grained parallelism in algebraic multigrid methods"). A round takes time linear in the entries of
/// the rows that its products read. There are O(log n) rounds with high probability if the order is random.
///
/// ```
/// use vxm::algorithms::mis_at_distance_2;
/// use vxm::prelude::*;
///
/// let path = Matrix::undirected(6, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)])?;
/// let found = mis_at_distance_2(&path, &Vector::from_dense(vec![9, 1, 2, 3, 4, 5]))?;
/// assert_eq!(found.set, Set::from_indices(6, [0, 5])?);
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square or symmetric. The vector's length isn't its side.
pub fn mis_at_distance_2(a: &Matrix, key: &Vector<u32>) -> Result<Mis> {
    greedy_set(&*a.to_graph()?, &key.rank()?)
}

/// A partition of a graph into parts around roots.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Aggregates {
    /// The number of each vertex' aggregate, from 0.
    pub aggregate: Vector<u32>,
    /// The roots, ascending: that of aggregate 0, of aggregate 1, and so on.
    pub roots: Set,
    /// How many rounds it took to find the roots.
    pub rounds: u32,
}

/// Divides a graph into aggregates, as algebraic multigrid does with the unknowns of an equation.
///
/// The roots are the set of [`mis_at_distance_2`] for `key`, so no two aggregates want the same neighbour of a root. A vertex that is next to no
/// root joins the least aggregate next to it: a member is at most two edges from its root (Bell, Dalton and Olson, section 5). For a matrix
/// of weights, pass the pattern of its strong connections.
///
/// ```
/// use vxm::algorithms::aggregates;
/// use vxm::prelude::*;
///
/// let path = Matrix::undirected(6, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)])?;
/// let found = aggregates(&path, &Vector::from_dense(vec![1, 9, 2, 3, 8, 4]))?;
/// assert_eq!(found.roots, Set::from_indices(6, [1, 4])?);
/// assert_eq!(found.aggregate, Vector::from_dense(vec![0, 0, 0, 1, 1, 1]));
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// As [`mis_at_distance_2`].
pub fn aggregates(a: &Matrix, key: &Vector<u32>) -> Result<Aggregates> {
    let a = &*a.to_graph()?;
    let Mis { set: roots, rounds } = greedy_set(a, &key.rank()?)?;
    // g[roots] = 0, 1, 2, ..
    let own = roots.map_index(FIRST).eval()?.rank()?;
    // twice: a vertex without an aggregate takes the least of its neighbours
    let near = own.ewise_add(own.vxm(a, MIN_FIRST), FIRST).eval()?;
    let aggregate = near.ewise_add(near.vxm(a, MIN_FIRST), FIRST).eval()?;
    Ok(Aggregates { aggregate, roots, rounds })
}

/// The greedy set of an order with distinct keys.
fn greedy_set(a: &Matrix, key: &Vector<u32>) -> Result<Mis> {
    let (mut left, mut set, mut rounds) = (key.clone(), Set::new(a.nrows()), 0);
    while left.nvals() > 0 {
        rounds += 1;
        let joined = leading(a, &left)?;
        // set += joined; left<near> = {}, where near is what is at most two edges from a joined vertex
        joined.accum(ANY).assign_to(&mut set)?;
        let near = joined.ewise_add(joined.vxm(a, ANY_PAIR), ANY).eval()?;
        let near = near.ewise_add(near.vxm(a, ANY_PAIR), ANY).eval()?;
        left = left.mask(!&near).eval()?;
    }
    Ok(Mis { set, rounds })
}

/// The sequential greedy colouring at distance 2 of an order of the vertices: neighbours have different colours, and so have vertices with a
/// common neighbour. Each vertex takes, in its turn, the least colour that no vertex before it has within two edges.
///
/// `key` gives the order, as for [`mis_at_distance_2`]. It is [`color_columns`](super::color_columns) of the matrix with a full diagonal. A
/// vertex of `d` neighbours needs `d + 1` colours around it, so there are at least as many colours as that.
///
/// ```
/// use vxm::algorithms::color_at_distance_2;
/// use vxm::prelude::*;
///
/// let path = Matrix::undirected(5, &[(0, 1), (1, 2), (2, 3), (3, 4)])?;
/// let found = color_at_distance_2(&path, &Vector::from_dense(vec![5, 4, 3, 2, 1]))?;
/// assert_eq!(found.colors, Vector::from_dense(vec![1, 2, 3, 1, 2]));
/// assert_eq!(found.count, 3);
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// As [`mis_at_distance_2`].
#[track_caller]
pub fn color_at_distance_2(a: &Matrix, key: &Vector<u32>) -> Result<Coloring> {
    let a = &*a.to_graph()?;
    check_keys("color_at_distance_2", format!("graph of {} vertices", a.nrows()), key, a.nrows())?;
    // columns of A + I with a common row are at most two edges apart
    of_columns(&closed(a)?, key)
}

/// The vertices with the greatest key among the vertices left that are at most two edges away, themselves included.
fn leading(a: &Matrix, left: &Vector<u32>) -> Result<Set> {
    // near = left max (left max.first A)
    let near = left.ewise_add(left.vxm(a, MAX_FIRST), MAX).eval()?;
    // best<left> = near max.first A; a vertex without neighbours has none
    let best = near.vxm(a, MAX_FIRST).mask(left).eval()?;
    left.ewise_add(&best, MAX).ewise_mult(left, EQ).select(IDENTITY).pattern().eval()
}
