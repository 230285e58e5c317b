//! One independent set a colour, by a reduction over each frontier vertex' neighbours: Algorithm 7 of "Graph Coloring on the GPU".
//!
//! The colours are those of Algorithm 2 with the same weights. What differs is the work: vertices that have a colour are removed
//! from the frontier and from what is reduced, and a vertex that loses once is looked at again only when its winner is removed.

use super::NONE;
use crate::prelude::*;

/// Colours, and the rounds it took: one a colour.
pub(super) fn color(a: &Matrix, rank: &Vector<u32>) -> Result<(Vector<u32>, u32)> {
    let n = a.nrows();
    let (mut colors, mut frontier) = (Vector::full(n, NONE), Set::all(n));
    // weight = rank + 1, removed once coloured
    let mut weight = rank.map(PLUS.bind(1)).eval()?;
    let mut rounds = 0;
    while frontier.nvals() > 0 {
        rounds += 1;
        // reduced<frontier> = weight max.first A
        let reduced = weight.vxm(a, MAX_FIRST).until(LT).or_identity();
        // removed<frontier> = weight > reduced
        let removed = weight.ewise_mult(reduced, GT).mask(&frontier).select(IDENTITY).pattern().eval()?;
        // C<removed> = rounds
        fill(rounds, n).mask(&removed).assign_to(&mut colors)?;
        // weight = weight \ removed
        weight = weight.mask(!&removed).eval()?;
        // frontier<weight> = removed any.pair A: only who has lost a neighbour can have become the greatest
        frontier = removed.vxm(a, ANY_PAIR).mask(&weight).eval()?;
    }
    Ok((colors, rounds))
}
