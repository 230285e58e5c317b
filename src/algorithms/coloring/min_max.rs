//! Two independent sets a round, local maxima and local minima: Algorithm 5 of "Graph Coloring on the GPU".

use super::NONE;
use crate::prelude::*;

/// Colours, and the rounds it took: half a colour each.
pub(super) fn color(a: &Matrix, rank: &Vector<u32>) -> Result<(Vector<u32>, u32)> {
    let n = a.nrows();
    let (mut colors, mut uncolored) = (Vector::full(n, NONE), Set::all(n));
    // weight = rank + 1: between the identities of max and min
    let weight = rank.map(PLUS.bind(1)).eval()?;
    let mut rounds = 0;
    while uncolored.nvals() > 0 {
        // highest<uncolored> = weight > (weight<uncolored> max.times A)
        let max = weight.mask(&uncolored).vxm(a, MAX_TIMES).until(LT).or_identity();
        let highest = weight.ewise_mult(max, GT).mask(&uncolored).select(IDENTITY).pattern().eval()?;
        // lowest<uncolored> = weight < (weight<uncolored> min.times A)
        let min = weight.mask(&uncolored).vxm(a, MIN_TIMES).until(GT).or_identity();
        let lowest = weight.ewise_mult(min, LT).mask(&uncolored).select(IDENTITY).pattern().eval()?;
        // C<lowest> = 2 rounds + 2; C<highest> = 2 rounds + 1, where a vertex is both
        fill(2 * rounds + 2, n).mask(&lowest).assign_to(&mut colors)?;
        fill(2 * rounds + 1, n).mask(&highest).assign_to(&mut colors)?;
        // uncolored = uncolored \ highest \ lowest
        uncolored = uncolored.mask(!&highest).mask(!&lowest).eval()?;
        rounds += 1;
    }
    Ok((colors, rounds))
}
