//! Star colourings of an undirected graph, by which a symmetric matrix is found from few products.

use crate::algorithms::coloring::Coloring;
use crate::algorithms::derivatives::columns::{check_keys, closed};
use crate::algorithms::derivatives::greedy::{self, COLORED, COLORS, MIDDLE, State, choose};
use crate::prelude::*;

/// What is seen along an edge: a key and colours, and whether the edge leads from a middle to the same vertex, which has a colour.
#[op]
fn seen(is_own: bool, other: State) -> State {
    let colors: u32 = other.colors & COLORS;
    State { key: other.key, colors: if is_own && colors != 0 { colors | COLORED } else { colors } }
}

/// The next state of a vertex, or of a middle. A middle forbids all colours of its neighbours until it has one itself; then it
/// forbids its own, and those of its neighbours that are less.
#[op]
fn next(own: State, seen: State) -> State {
    if own.colors & MIDDLE == 0 {
        return choose(own, seen);
    }
    let before: u32 = own.colors & COLORS;
    let colors: u32 = seen.colors & COLORS;
    if own.colors & COLORED != 0 {
        // the greatest colour is the middle's own
        State { key: seen.key, colors: own.colors | (colors & ((u32::MAX >> before.leading_zeros()) >> 1)) }
    } else if seen.colors & COLORED != 0 {
        // no neighbour had the colour, so it is the only new one
        let fresh: u32 = colors & !before;
        State { key: seen.key, colors: MIDDLE | COLORED | fresh | (before & (fresh - 1)) }
    } else {
        State { key: seen.key, colors: own.colors | colors }
    }
}

/// What a middle reads of the vertex that it is as well.
#[op]
fn of_own(is_own: bool, x: u32) -> u32 {
    if is_own { x } else { 0u32 }
}

/// Whether an entry lies on the diagonal.
#[op]
fn is_diagonal(i: u32, j: u32, _edge: ()) -> bool {
    i == j
}

/// A restricted star colouring of an undirected graph: neighbours differ, and two vertices with a common neighbour may have the same colour
/// only if that of the neighbour is less. So each path of four vertices has at least three colours.
///
/// It is the sequential greedy colouring of an order: each vertex takes, in its turn, the least colour that keeps the property, where a
/// common neighbour without a colour forbids equal ones. `key` gives the order, the highest first. It takes no more colours than
/// a colouring at distance 2 in the same order mostly, and often far fewer. One product of a symmetric matrix along each colour
/// yields all its entries; see [`decompress_symmetric`](super::decompress_symmetric).
///
/// The property and the loop over neighbours are those of Gebremedhin, Manne and Pothen ("What color is your Jacobian?", section 4.3), after
/// Powell and Toint.
///
/// ```
/// use vxm::algorithms::star_coloring;
/// use vxm::prelude::*;
///
/// // a star: the centre has colour 1, so its neighbours may share colour 2
/// let star = Matrix::undirected(5, &[(0, 1), (0, 2), (0, 3), (0, 4)])?;
/// let found = star_coloring(&star, &Vector::from_dense(vec![9, 1, 2, 3, 4]))?;
/// assert_eq!(found.colors, Vector::from_dense(vec![1, 2, 2, 2, 2]));
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square or symmetric; `key` isn't of its side. The device has too little memory, or is lost.
#[track_caller]
pub fn star_coloring(a: &Matrix, key: &Vector<u32>) -> Result<Coloring> {
    let a = &*a.to_graph()?;
    check_keys("star_coloring", format!("graph of {} vertices", a.nrows()), key, a.nrows())?;
    // B = {0, M; M, 0} with M = A + I; an entry tells whether it is of the diagonal
    let b = closed(a)?.map_index(is_diagonal)?.set_symmetric(true).bipartite()?;
    // own = B max.of_own x
    let own = |b: &Matrix<bool>, x: &Vector<u32>| b.mxv(x, semiring(MAX, of_own)).or_identity().eval();
    let (colors, count, rounds) = greedy::color(b, a.nrows(), &key.rank()?, (seen, next), own)?;
    Ok(Coloring { colors, count, rounds })
}
