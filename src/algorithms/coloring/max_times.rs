//! One independent set a colour, round by round: Algorithm 2 of "Graph Coloring on the GPU" as the paper writes it.
//!
//! The fixpoint of `independent_set.rs` has the same colours, and needs no rounds. It takes over from a loop that takes too many.

use crate::algorithms::coloring::{OPEN, goes_on, patience};
use crate::prelude::*;

/// Ends a round: a vertex of greater weight than its open neighbours gets the round's colour.
#[op]
fn elect(vertex: u32, weight: u32, max: u32) -> u32 {
    if weight > max { vertex - OPEN + 1u32 } else { vertex + 1u32 }
}

/// Colours, and the number of rounds, one for each colour.
pub(super) fn color(a: &Matrix, weight: &Vector<u32>) -> Result<(Vector<u32>, u32)> {
    // max<open> = weight<open> max.times A; frontier<open> = weight > max; C<frontier> = round
    let settled = fixpoint(fill(OPEN, a.nrows()).eval()?)
        .while_active(goes_on.bind(patience(a)))
        .step(|c| {
            let max = weight.mask(c.select(GE.bind(OPEN)).pattern()).vxm(a, MAX_TIMES).until(LT).or_identity();
            elect.map3(c, weight, max)
        })
        .eval()?;
    Ok((settled.state, settled.rounds))
}
