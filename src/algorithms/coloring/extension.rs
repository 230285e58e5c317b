//! Colourings of which a part is given, with a most number of colours: register allocation.

use crate::algorithms::coloring::NONE;
use crate::algorithms::coloring::jones_plassmann::{WINDOW, color_in, number, reopen, window};
use crate::prelude::*;

/// A colouring that some vertices had before, and that others may have no place in.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Extension {
    /// The colour of each vertex, from 1; 0 if it has none.
    pub colors: Vector<u32>,
    /// The vertices without a colour.
    pub left: Set,
    /// How many rounds it took. Not part of the answer: it may depend on the schedule.
    pub rounds: u32,
}

/// The bit of a given colour in the window that follows `before` colours; no bit if it is of an earlier window, the bit of all later colours if of
/// a later one.
#[op]
fn bit_of(given: u32, before: u32) -> u32 {
    if given <= before { 0u32 } else { 1u32 << (given - before - 1).min(WINDOW) }
}

/// A colour, or none if it is above `most`.
#[op]
fn at_most(color: u32, most: u32) -> u32 {
    if color > most { NONE } else { color }
}

/// The greatest key, whatever the element is.
#[op]
fn first_of_all(_given: u32) -> u32 {
    u32::MAX
}

/// Extends a partial colouring to as many vertices as the greedy rule allows, with the colours 1 to `most`: each vertex takes, in its turn, the
/// least colour that no neighbour before it has; if there is none, it is left without, and forbids nothing to others.
///
/// `given` holds the colours that vertices have already. `key` gives the order of the others, the highest first; keys are distinct, as
/// those of [`Vector::rank`] are. With keys that rise with what it costs to leave a vertex out, the cheap ones are left out. That is
/// register allocation: colours are registers, `given` says which values must be in which, and what is left is kept in memory (Chaitin,
/// "Register allocation and spilling via graph coloring").
///
/// ```
/// use vxm::algorithms::extend_coloring;
/// use vxm::prelude::*;
///
/// // a triangle and a tail, with two colours; vertex 1 must have colour 1
/// let a = Matrix::undirected(4, &[(0, 1), (1, 2), (2, 0), (2, 3)])?;
/// let (cost, given) = (Vector::from_dense(vec![50, 1, 20, 30]), Vector::from_pairs(4, [(1, 1)])?);
/// let found = extend_coloring(&a, &cost, &given, 2)?;
/// assert_eq!(found.colors, Vector::from_dense(vec![2, 1, 0, 1]));
/// assert_eq!(found.left, Set::from_indices(4, [2])?);
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square or symmetric. `key` doesn't hold a key for each vertex, or neighbours have equal ones. `given` isn't of as many
/// vertices, holds 0 or a colour above `most`, or the same for two neighbours.
#[track_caller]
pub fn extend_coloring(a: &Matrix, key: &Vector<u32>, given: &Vector<u32>, most: u32) -> Result<Extension> {
    let a = &*a.to_graph()?;
    let n = a.nrows();
    super::check_keys("extend_coloring", n, key)?;
    check_given(a, given, most)?;
    // V = all colours; key = the rank, or the greatest of all where a colour is given; edges lead to vertices with keys that aren't lower
    let (mut before, mut rounds, mut colors, mut open) = (0, 0, fill(NONE, n).eval()?, fill(u32::MAX, n).eval()?);
    let order = given.map(first_of_all).ewise_add(&key.rank()?, FIRST).eval()?;
    let edges = a.oriented(LE, &order);
    loop {
        // V = bit_of(given), or V
        let vertices = given.map(bit_of.bind(before)).ewise_add(&open, FIRST).eval()?;
        let ((all, next, later), of_window) = window(&edges, vertices, |v| {
            // C = color_in(C, number(V)); V = {all colours} for vertices with colours of later windows, {} for all others
            let next = v.map(number).map(reopen).eval()?;
            let all = color_in.map3(&colors, v.map(number), fill(before, n)).eval()?;
            let later = next.mask(!given).reduce(MAX)?;
            Ok((all, next, later))
        })?;
        (colors, open, rounds) = (all, next, rounds + of_window);
        before += WINDOW;
        if later == 0 || before >= most {
            break;
        }
    }
    // C = given, or at_most(C, most)
    let colors = given.ewise_add(colors.map(at_most.bind(most)), FIRST).eval()?;
    let left = colors.map(EQ.bind(NONE)).select(IDENTITY).pattern().eval()?;
    Ok(Extension { colors, left, rounds })
}

/// Checks the colours that are given.
#[track_caller]
fn check_given(a: &Matrix, given: &Vector<u32>, most: u32) -> Result<()> {
    if given.len() != a.nrows() {
        let colors = format!("given colours of {}", given.len());
        return Err(Error::shape("extend_coloring", format!("graph of {} vertices", a.nrows()), colors));
    }
    let (least, greatest) = (given.reduce(MIN)?, given.reduce(MAX)?);
    if given.nvals() > 0 && (least == NONE || greatest > most) {
        let found = if least == NONE { NONE } else { greatest };
        return Err(Error::invalid(format!("extend_coloring: colour {found} is given: expected 1 to {most}")));
    }
    // the neighbours with the same given colour
    let equal = a.oriented(EQ, given).into_matrix()?;
    if equal.nnz() > 0 {
        let vertex = equal.degrees()?.select(GT.bind(0)).map_index(FIRST).reduce(MIN)?;
        let what = format!("vertex {vertex} and a neighbour of it are given the same colour");
        return Err(Error::invalid(format!("extend_coloring: {what}: expected different ones")));
    }
    Ok(())
}
