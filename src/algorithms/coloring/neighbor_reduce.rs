//! One independent set a colour, by a reduction over each frontier vertex' neighbours: Algorithm 7 of "Graph Coloring on the GPU".
//!
//! The colours are those of Algorithm 2 with the same weights. The work differs: coloured vertices leave the frontier and the reduction,
//! and a vertex that isn't coloured comes back into the frontier only after a round that has coloured at least one of its neighbours. That
//! is enough: a vertex outside the frontier has an uncoloured neighbour of greater weight, and can't become the greatest before that one
//! goes.

use crate::algorithms::coloring::NONE;
use crate::prelude::*;

/// Colours, and the number of rounds, one for each colour.
pub(super) fn color(a: &Matrix, rank: &Vector<u32>) -> Result<(Vector<u32>, u32)> {
    let n = a.nrows();
    let (mut colors, mut frontier) = (Vector::full(n, NONE), Set::all(n));
    // weight = rank + 1, of uncoloured vertices only
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
        // weight<!removed> = weight
        weight = weight.mask(!&removed).eval()?;
        // frontier<weight> = removed any.pair A: the uncoloured vertices with a neighbour in removed
        frontier = removed.vxm(a, ANY_PAIR).mask(&weight).eval()?;
    }
    Ok((colors, rounds))
}
