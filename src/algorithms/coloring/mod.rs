//! Graph colouring by matrix products: the methods of "Graph Coloring on the GPU" (Osama, Truong, Yang, Buluç and Owens), and
//! Jones-Plassmann with shortcuts. See `docs/algorithms/coloring.md`.

mod extension;
mod hash;
mod independent_set;
mod jones_plassmann;
mod max_times;
mod maximal;
mod min_max;
mod neighbor_reduce;
mod speculative;

pub use extension::{Extension, extend_coloring};

use crate::algorithms::options::{ColoringOptions, Method};
use crate::algorithms::priority::order_keys;
use crate::prelude::*;

/// A proper colouring.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Coloring {
    /// The colour of each vertex, from 1.
    pub colors: Vector<u32>,
    /// The number of colours: 1 to `count`, each used.
    pub count: u32,
    /// How many rounds it took. Not part of the answer: it may depend on the schedule.
    pub rounds: u32,
}

/// The bit of a vertex without a colour, in methods that keep a colour or more in 32 bits.
const OPEN: u32 = 1 << 31;

/// The most rounds of a method that visits all vertices without a colour in each round. A long chain of vertices that wait for each other would take
/// time quadratic in its length. A graph of `m` entries has a colouring of at most `sqrt(m) + 1` colours, and a round brings a colour or two.
fn patience(a: &Matrix) -> u32 {
    64 + a.nnz().isqrt() as u32
}

/// Whether a vertex isn't coloured, and has had fewer than `most` rounds, which its state counts.
#[op]
fn goes_on(vertex: u32, most: u32) -> bool {
    vertex >= OPEN && vertex < OPEN + most
}

/// The colour of a vertex that has none yet.
pub(crate) const NONE: u32 = 0;

/// Colours an undirected graph so that neighbours have different colours.
///
/// ```
/// use vxm::algorithms::{ColoringOptions, color};
/// use vxm::prelude::*;
///
/// let triangle = Matrix::undirected(3, &[(0, 1), (1, 2), (2, 0)])?;
/// assert_eq!(color(&triangle, &ColoringOptions::default())?.count, 3);
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square or symmetric.
pub fn color(a: &Matrix, options: &ColoringOptions) -> Result<Coloring> {
    let a = &*a.to_graph()?;
    // key = the order of the vertices, the first vertex highest; keys are distinct
    let key = order_keys(a, options.order, options.seed)?;
    let (mut colors, mut rounds) = match options.method {
        Method::Jp => return color_in_order(a, &key),
        Method::Is => independent_set::color(a, &key),
        Method::MaxTimes => max_times::color(a, &key),
        Method::Mis => maximal::color(a, &key),
        Method::MinMax => min_max::color(a, &key),
        Method::Hash => hash::color(a, &key),
        Method::NeighborReduce => neighbor_reduce::color(a, &key),
        Method::Speculative => speculative::color(a, &key),
    }?;
    let mut most = colors.reduce(MAX)?;
    // a method may have run out of patience
    if most >= OPEN {
        let (all, more) = match options.method {
            // the same colours, without rounds
            Method::MaxTimes | Method::NeighborReduce => independent_set::color(a, &key)?,
            _ => {
                let some = colors.select(LT.bind(OPEN)).eval()?;
                let found = extend_coloring(a, &key, &some, u32::MAX)?;
                (found.colors, found.rounds)
            }
        };
        (most, colors, rounds) = (all.reduce(MAX)?, all, rounds + more);
    }
    let (colors, count) = match options.method {
        // new colours may be left unused, if all their vertices clash
        Method::Hash => compact(&colors, most)?,
        // All colours up to the greatest are used. is, max-times, neighbor-reduce: a vertex of colour c > 1 has a neighbour of colour c - 1.
        // mis, speculative: a vertex goes past a colour only if a neighbour has it. min-max: a round that leaves a vertex open colours both a
        // local maximum and a local minimum, and the last round colours a local maximum. A colour that completes a colouring is the least one free.
        _ => (colors, most),
    };
    Ok(Coloring { colors, count, rounds })
}

/// The sequential greedy colouring of an order of the vertices, by Jones and Plassmann's method: each vertex takes the least colour that no
/// neighbour before it has.
///
/// `key` gives the order: the vertex with the highest key comes first. Keys are distinct, as those of [`Vector::rank`] are.
///
/// ```
/// use vxm::algorithms::color_in_order;
/// use vxm::prelude::*;
///
/// let path = Matrix::undirected(4, &[(0, 1), (1, 2), (2, 3)])?;
/// let found = color_in_order(&path, &Vector::from_dense(vec![4, 1, 2, 3]))?;
/// assert_eq!(found.colors, Vector::from_dense(vec![1, 3, 2, 1]));
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square or symmetric; `key` doesn't hold one key for each vertex; two neighbours have equal keys, and the colours of
/// their other neighbours don't decide between them.
#[track_caller]
pub fn color_in_order(a: &Matrix, key: &Vector<u32>) -> Result<Coloring> {
    let a = &*a.to_graph()?;
    check_keys("color_in_order", a.nrows(), key)?;
    let (colors, count, rounds) = jones_plassmann::color(a, key).map_err(|error| match error {
        Error::Stalled { left, .. } => {
            Error::invalid(format!("color_in_order: {left}: neighbours have equal keys: expected distinct ones"))
        }
        other => other,
    })?;
    Ok(Coloring { colors, count, rounds })
}

/// Checks that there is a key for each of `n` vertices.
#[track_caller]
fn check_keys(what: &'static str, n: usize, key: &Vector<u32>) -> Result<()> {
    if (key.len(), key.nvals()) == (n, n) {
        return Ok(());
    }
    Err(Error::shape(what, format!("graph of {n} vertices"), format!("{} keys at {} places", key.nvals(), key.len())))
}

/// The bit of a colour in a word of 64 colours, of which the first is number 1 of word 0; no bit if it is in another word.
#[op]
fn bit_in_word(color: u32, word: u32) -> u64 {
    if (color - 1u32) / 64u32 == word { 1u64 << ((color - 1u32) % 64u32) } else { 0u64 }
}

/// A colour of a word, renumbered: how many are used up to it, `before` of them in the words before. `word` has the word's number in its high
/// half, and `before` in its low half.
#[op]
fn renumber(color: u32, used: u64, word: u64) -> u32 {
    let up_to: u64 = u64::MAX >> (63u32 - (color - 1u32) % 64u32);
    let number: u32 = (word as u32) + (used & up_to).count_ones();
    if (color - 1u32) / 64u32 == (word >> 32u32) as u32 { number } else { color }
}

/// The colours, of which the greatest is `most`, renumbered as 1 to `count`, in the same order, and `count`.
fn compact(colors: &Vector<u32>, most: u32) -> Result<(Vector<u32>, u32)> {
    let (n, mut colors, mut count) = (colors.len(), colors.clone(), 0);
    for word in 0..most.div_ceil(64) {
        // used = the colours of the word that are used, as bits
        let used = colors.map(bit_in_word.bind(word)).reduce(BOR)?;
        if count < 64 * word || used & used.wrapping_add(1) != 0 {
            // C = renumber(C, used, word, count): a number is never greater, so it isn't in a later word
            let place = u64::from(word) << 32 | u64::from(count);
            colors = renumber.map3(&colors, fill(used, n), fill(place, n)).eval()?;
        }
        count += used.count_ones();
    }
    Ok((colors, count))
}
