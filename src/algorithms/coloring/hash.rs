//! Colouring with a hash table of taken colours: Algorithm 6 of "Graph Coloring on the GPU".
//!
//! In each round every uncoloured vertex proposes two vertices to be coloured: the highest and the lowest ranked among itself and its
//! uncoloured neighbours. The hash table of a proposed vertex is one word, in which colour c is bit (c - 1) mod 64. A clear bit proves that
//! no neighbour coloured so far has the colour. Two neighbours coloured in the same round may still clash; the lower ranked of them is
//! reset.

use crate::algorithms::coloring::NONE;
use crate::prelude::*;

/// The bit of a colour in the table; no bit for a vertex without a colour.
#[op]
fn slot(color: u32) -> u64 {
    if color == NONE { 0u64 } else { 1u64 << ((color - 1u32) % 64u32) }
}

/// The least colour up to `used` with a clear bit, or `fresh` if there is none.
#[op]
fn reuse(table: u64, used: u32, fresh: u32) -> u32 {
    let free: u32 = table.trailing_ones();
    if free < used && free < 64u32 { free + 1u32 } else { fresh }
}

/// Whether the table has the bit of `color`: a neighbour in it may have the same colour.
#[op]
fn clashes(color: u32, table: u64) -> bool {
    (slot(color) & table) != 0u64
}

/// Colours, not all of which need be used, and the number of rounds.
pub(super) fn color(a: &Matrix, rank: &Vector<u32>) -> Result<(Vector<u32>, u32)> {
    let n = a.nrows();
    let (mut colors, mut uncolored) = (Vector::full(n, NONE), Set::all(n));
    // up[i, j] = A[i, j] where rank[i] < rank[j]; vertex[rank[i]] = i
    let up = a.oriented(LT, rank).into_matrix()?;
    let numbers = Vector::from_dense((0..n as u32).collect());
    let vertex = numbers.scatter(&rank.to_dense(0), n).eval()?;
    let (mut used, mut rounds) = (0, 0);
    while uncolored.nvals() > 0 {
        // max<uncolored> = rank max (rank<uncolored> max.first A), and min likewise: the ranks that each vertex proposes
        let above = rank.mask(&uncolored).vxm(a, MAX_FIRST).or_identity();
        let max = rank.ewise_mult(above, MAX).mask(&uncolored).eval()?;
        let below = rank.mask(&uncolored).vxm(a, MIN_FIRST).or_identity();
        let min = rank.ewise_mult(below, MIN).mask(&uncolored).eval()?;
        let highest = proposed(&vertex, &max)?;
        let lowest = proposed(&vertex, &min)?.mask(!&highest).eval()?;
        // C<set> = reuse(table, used, fresh), for the highest and then for the lowest
        for (set, fresh) in [(&highest, 2 * rounds + 1), (&lowest, 2 * rounds + 2)] {
            // table<set> = slot(C) bor.first A
            let table = colors.map(slot).vxm(a, BOR_FIRST).or_identity().mask(set).eval()?;
            reuse.map3(&table, fill(used, n), fill(fresh, n)).mask(set).assign_to(&mut colors)?;
        }
        let fresh = highest.ewise_add(&lowest, ANY).eval()?;
        // table<fresh> = up bor.second slot(C<fresh>): the colours that higher neighbours got in this round
        let table = up.mxv(colors.map(slot).mask(&fresh), BOR_SECOND).mask(&fresh).eval()?;
        // clash = {v in fresh : the table of v has the bit of C[v]}; C<clash> = NONE
        let clash = clashes.map2(&colors, &table).mask(&fresh).select(IDENTITY).pattern().eval()?;
        fill(NONE, n).mask(&clash).assign_to(&mut colors)?;
        // uncolored<!fresh> = uncolored; uncolored |= clash
        uncolored = uncolored.mask(!&fresh).eval()?.ewise_add(&clash, ANY).eval()?;
        used = colors.reduce(MAX)?;
        rounds += 1;
    }
    Ok((colors, rounds))
}

/// The set of the vertices with the ranks that are the elements of `ranks`.
fn proposed(vertex: &Vector<u32>, ranks: &Vector<u32>) -> Result<Set> {
    let ranks: Vec<u32> = ranks.iter().map(|(_, rank)| rank).collect();
    // vertices = vertex[ranks]
    let vertices = vertex.extract(&ranks).eval()?;
    Set::from_indices(vertex.len(), vertices.iter().map(|(_, v)| v))
}
