//! Weights drawn for the edges of a graph without weights.

use crate::algorithms::priority::{hashes, mix};
use crate::prelude::*;

/// A hash of two vertices' hashes, the same for `(a, b)` and `(b, a)`.
#[op]
fn of_both(a: u32, b: u32) -> u32 {
    mix(a + b, ((a ^ b) as u64) << 32u32 | ((a * b) as u64))
}

/// A range of numbers: its least one, and how far the greatest lies above.
#[scalar]
struct Range {
    least: u32,
    width: u32,
}

/// A hash as a number of a range.
#[op]
fn within(hash: u32, range: Range) -> u32 {
    let numbers = range.width as u64 + 1;
    range.least + (hash as u64 * numbers >> 32) as u32
}

/// A weight from `least` to `greatest`, both included, for each entry: a hash of the seed and of both vertices. Entries `(i, j)` and
/// `(j, i)` have the same weight. O(n + nnz) time.
///
/// ```
/// use vxm::algorithms::weights;
/// use vxm::prelude::*;
///
/// let path = Matrix::undirected(3, &[(0, 1), (1, 2)])?;
/// let a = weights(&path, 1, 100, 7)?;
/// assert!(a.iter().all(|(i, j, w)| (1..=100).contains(&w) && a.get(j, i) == Some(w)));
/// assert_eq!(weights(&path, 5, 5, 7)?.get(0, 1), Some(5));
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square; `least` is above `greatest`; the device has too little memory.
pub fn weights(a: &Matrix, least: u32, greatest: u32, seed: u64) -> Result<Matrix<u32>> {
    let a = &*a.to_digraph()?;
    let Some(width) = greatest.checked_sub(least) else {
        return Err(Error::invalid(format!("weights from {least} to {greatest}: expected the lesser first")));
    };
    // hash[i] = mix(i, seed); W[i, j] = within(of_both(hash[i], hash[j]), least..=greatest)
    let drawn = a.map_ends(of_both, &hashes(a.nrows(), seed)?)?;
    let drawn = drawn.map(within.bind(Range { least, width }))?;
    Ok(drawn.set_symmetric(a.is_symmetric()))
}
