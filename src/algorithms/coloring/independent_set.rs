//! One independent set a colour: Algorithm 2 of "Graph Coloring on the GPU".

use super::NONE;
use crate::prelude::*;

/// Colours, and the rounds it took: one a colour.
pub(super) fn color(a: &Matrix, rank: &Vector<u32>) -> Result<(Vector<u32>, u32)> {
    let n = a.nrows();
    // C = 0; weight = rank + 1
    let (mut colors, mut uncolored) = (Vector::full(n, NONE), Set::all(n));
    let weight = rank.map(PLUS.bind(1)).eval()?;
    let mut color = 0;
    while uncolored.nvals() > 0 {
        color += 1;
        // max<uncolored> = weight<uncolored> max.times A
        let max = weight.mask(&uncolored).vxm(a, MAX_TIMES).until(LT).or_identity();
        // frontier<uncolored> = weight > max
        let frontier = weight.ewise_mult(max, GT).mask(&uncolored).select(IDENTITY).pattern().eval()?;
        // C<frontier> = color
        fill(color, n).mask(&frontier).assign_to(&mut colors)?;
        // uncolored = uncolored \ frontier
        uncolored = uncolored.mask(!&frontier).eval()?;
    }
    Ok((colors, color))
}
