//! Colourings of a matrix' columns, or rows: the structurally orthogonal groups of a Jacobian.

use crate::algorithms::coloring::Coloring;
use crate::algorithms::derivatives::greedy::{self, COLORS, MIDDLE, State, choose};
use crate::algorithms::options::Order;
use crate::algorithms::priority::column_keys;
use crate::prelude::*;

/// What is seen along an edge: a key and colours, without marks.
#[op]
fn seen(_edge: (), other: State) -> State {
    State { key: other.key, colors: other.colors & COLORS }
}

/// The next state of a column, or of a row in the middle: its highest open column, and all colours of its columns.
#[op]
fn next(own: State, seen: State) -> State {
    if own.colors & MIDDLE == 0 { choose(own, seen) } else { State { key: seen.key, colors: own.colors | seen.colors } }
}

/// Colours the columns of a matrix so that those with an entry in a common row differ: they are structurally orthogonal if they have the
/// same colour. It is the sequential greedy colouring of an order: each column takes, in its turn, the least colour that no column
/// before it has which shares a row with it.
///
/// One product, or one difference, along the sum of a colour's unit vectors yields all entries of its columns; see
/// [`decompress`](super::decompress). The matrix may be rectangular, and its values don't matter. `key` gives the order: the column with the
/// highest key comes first, of equal ones that of the higher number. A column without a key gets no colour (0) and forbids none.
///
/// It is the partial distance-2 colouring of Gebremedhin, Manne and Pothen ("What color is your Jacobian?", section 3.4). The product of the
/// transpose and the matrix isn't formed. There are at least as many colours as the longest row has entries.
///
/// ```
/// use vxm::algorithms::color_columns;
/// use vxm::prelude::*;
///
/// // an arrow of 2 x 4: row 0 is full, so all columns share it
/// let arrow = Matrix::from_triples(2, 4, [(0, 0, 2.0), (0, 1, 1.0), (0, 2, 1.0), (0, 3, 1.0), (1, 3, 5.0)])?;
/// assert_eq!(color_columns(&arrow, &Vector::from_dense(vec![4, 3, 2, 1]))?.count, 4);
/// // without it, two columns have no entry at all
/// let rest = arrow.select(OFFDIAG)?.select_values(GT.bind(1.5))?;
/// assert_eq!(color_columns(&rest, &Vector::from_dense(vec![4, 3, 2, 1]))?.count, 1);
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// `key` isn't a vector of `ncols()`. The rows and columns together are more than 2^32 - 1. The device has too little memory, or is lost.
#[track_caller]
pub fn color_columns<A: Element>(a: &Matrix<A>, key: &Vector<u32>) -> Result<Coloring> {
    check_keys("color_columns", table(a), key, a.ncols())?;
    of_columns(&a.pattern(), key)
}

/// Colours the rows of a matrix so that those with an entry in a common column differ: [`color_columns`] of the transpose.
///
/// ```
/// use vxm::algorithms::color_rows;
/// use vxm::prelude::*;
///
/// let a = Matrix::from_triples(3, 2, [(0, 0, ()), (1, 0, ()), (2, 1, ())])?;
/// let found = color_rows(&a, &Vector::from_dense(vec![3, 2, 1]))?;
/// assert_eq!(found.colors, Vector::from_dense(vec![1, 2, 1]));
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// As [`color_columns`], with `key` a vector of `nrows()`.
#[track_caller]
pub fn color_rows<A: Element>(a: &Matrix<A>, key: &Vector<u32>) -> Result<Coloring> {
    check_keys("color_rows", table(a), key, a.nrows())?;
    of_columns(&a.pattern().transpose(), key)
}

/// The colouring of the columns of a pattern.
pub(in crate::algorithms) fn of_columns(a: &Matrix, key: &Vector<u32>) -> Result<Coloring> {
    let a = &*a.to_bipartite();
    // B = {0, A; A', 0}: the rows come first
    let none = |b: &Matrix, _: &Vector<u32>| fill(0, b.nrows()).eval();
    let (colors, count, rounds) = greedy::color(a.bipartite()?, a.nrows(), &key.rank()?, (seen, next), none)?;
    Ok(Coloring { colors, count, rounds })
}

/// The keys of an order of a graph's vertices for colourings in which vertices two edges apart matter: those of the columns of `A + I`. They are
/// distinct.
///
/// # Errors
/// The matrix isn't square or symmetric.
pub fn keys_at_distance_2(a: &Matrix, order: Order, seed: u64) -> Result<Vector<u32>> {
    column_keys(&closed(&*a.to_graph()?)?, order, seed)
}

/// `A + I`: row `v` holds the vertex `v` and its neighbours.
pub(in crate::algorithms) fn closed(a: &Matrix) -> Result<Matrix> {
    a.ewise_add(&Matrix::from_diagonal(&fill((), a.nrows()).eval()?)?, ANY)
}

/// A matrix for messages.
fn table<A: Element>(a: &Matrix<A>) -> String {
    format!("matrix of {} x {}", a.nrows(), a.ncols())
}

/// Checks that `key` has `n` places. `of` is what the keys are for.
#[track_caller]
pub(in crate::algorithms) fn check_keys(what: &'static str, of: String, key: &Vector<u32>, n: usize) -> Result<()> {
    if key.len() == n { Ok(()) } else { Err(Error::shape(what, of, format!("keys of {}", key.len()))) }
}
