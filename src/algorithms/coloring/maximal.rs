//! One maximal independent set a colour: Algorithm 3 of "Graph Coloring on the GPU".

use crate::algorithms::coloring::NONE;
use crate::prelude::*;

/// Colours, and the number of rounds over all colours.
pub(super) fn color(a: &Matrix, rank: &Vector<u32>) -> Result<(Vector<u32>, u32)> {
    let n = a.nrows();
    let (mut colors, mut uncolored) = (Vector::full(n, NONE), Set::all(n));
    // weight = rank + 1
    let weight = rank.map(PLUS.bind(1)).eval()?;
    let (mut color, mut rounds) = (0, 0);
    while uncolored.nvals() > 0 {
        color += 1;
        let mut candidates = uncolored.clone();
        while candidates.nvals() > 0 {
            rounds += 1;
            // max<candidates> = weight<candidates> max.times A
            let max = weight.mask(&candidates).vxm(a, MAX_TIMES).until(LT).or_identity();
            // frontier<candidates> = weight > max
            let frontier = weight.ewise_mult(max, GT).mask(&candidates).select(IDENTITY).pattern().eval()?;
            // C<frontier> = color
            fill(color, n).mask(&frontier).assign_to(&mut colors)?;
            // near<candidates> = frontier any.pair A
            let near = frontier.vxm(a, ANY_PAIR).mask(&candidates).eval()?;
            // candidates<!frontier, !near> = candidates; uncolored<!frontier> = uncolored
            candidates = candidates.mask(!&frontier).mask(!&near).eval()?;
            uncolored = uncolored.mask(!&frontier).eval()?;
        }
    }
    Ok((colors, rounds))
}
