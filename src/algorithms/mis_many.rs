//! Maximal independent sets of many seeds at once.
//!
//! A bit for each seed: one product takes a step of all runs and reads the matrix once. Which of two neighbours comes first, for each seed, is
//! a bit of a value at their edge. See `docs/algorithms/mis.md`.

use crate::algorithms::mis::Mis;
use crate::algorithms::options::{MisOptions, Priority};
use crate::algorithms::priority::{hashes_of, of_degrees};
use crate::prelude::*;

/// The most runs of one loop: a state has a bit for members and a bit for those that left.
const RUNS: usize = 32;
/// The most runs of one loop with conflict resolution, which has a third bit for those that are pending.
const RESOLVED: usize = 16;

/// The runs in which a vertex is a member, of its state.
#[op]
fn members(state: u64) -> u32 {
    (state >> 32u32) as u32
}

/// Whether a vertex is a member in run number `run`.
#[op]
fn is_member(state: u64, run: u32) -> bool {
    state >> (run + 32u32) & 1u64 == 1u64
}

/// Whether a vertex has neither joined nor left in some run.
#[op]
fn is_undecided(state: u64) -> bool {
    members(state) | (state as u32) != u32::MAX
}

/// What a vertex reads of a neighbour: the runs in which that comes first and hasn't left, and those in which it is a member.
#[op]
fn seen(first: u32, state: u64) -> u64 {
    state & 0xffff_ffff_0000_0000u64 | ((first & !(state as u32)) as u64)
}

/// Whether a vertex that reads this has left or waits in all runs.
#[op]
fn waits(own: u64, seen: u64) -> bool {
    (own | seen) as u32 == u32::MAX
}

/// A vertex leaves where a neighbour is a member, and joins where all neighbours that come first have left.
#[op]
fn settle(own: u64, seen: u64) -> u64 {
    let left: u32 = (own as u32) | members(seen);
    let joined: u32 = members(own) | !(left | (seen as u32));
    (joined as u64) << 32u32 | (left as u64)
}

// With conflict resolution there is a third half-word, between the others: the runs in which the vertex is pending. Of an edge, bit 0 says
// whether the neighbour has a lower degree, and bit k + 1 whether it has a higher hash in run k.
/// The runs in which a vertex has neither joined nor left.
#[op]
fn alive(state: u64) -> u32 {
    !(members(state) | (state as u32)) & 0xffffu32
}

/// The runs in which a vertex is pending.
#[op]
fn pending(state: u64) -> u32 {
    ((state as u32) >> 16u32) & 0xffffu32
}

/// Whether a vertex is alive in some run.
#[op]
fn is_alive(state: u64) -> bool {
    alive(state) != 0u32
}

/// Whether a vertex is pending in some run.
#[op]
fn is_pending(state: u64) -> bool {
    pending(state) != 0u32
}

/// The runs in which a neighbour of lower degree is alive.
#[op]
fn lower(edge: u32, state: u64) -> u32 {
    if edge & 1u32 == 1u32 { alive(state) } else { 0u32 }
}

/// An alive vertex is pending in the runs in which no alive neighbour has a lower degree.
#[op]
fn wait(own: u64, lower: u32) -> u64 {
    own & 0xffff_ffff_0000_ffffu64 | ((alive(own) & !lower) as u64) << 16u32
}

/// The runs in which a neighbour of higher hash is pending.
#[op]
fn higher(edge: u32, state: u64) -> u32 {
    (edge >> 1u32) & pending(state)
}

/// A vertex joins in the runs in which it is pending and no neighbour of higher hash is.
#[op]
fn choose(own: u64, higher: u32) -> u64 {
    own | ((pending(own) & !higher) as u64) << 32u32
}

/// A vertex leaves in the runs in which a neighbour is a member. In none is it pending any longer: what has left isn't visited again.
#[op]
fn cover(own: u64, members: u32) -> u64 {
    own & 0xffff_ffff_0000_ffffu64 | (members as u64)
}

/// Maximal independent sets by many seeds at once. Set `k` is that of [`mis`](super::mis()) with the seed `seeds[k]` and the other options; seeds
/// may repeat. What is found can be compared, for one that is large.
///
/// A round takes one product, or three with conflict resolution, for up to 32 or 16 seeds. Beside the graph, it takes 4 bytes an entry, and
/// for each seed 8 bytes a vertex.
///
/// ```
/// use vxm::algorithms::{MisOptions, mis, mis_many};
/// use vxm::prelude::*;
///
/// let path = Matrix::undirected(7, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)])?;
/// let options = MisOptions::default();
/// let found = mis_many(&path, &options, &[1, 2, 3])?;
/// assert_eq!(found[2].set, mis(&path, &options.seed(3))?.set);
/// // 0, 2, 4 and 6
/// assert_eq!(found.iter().map(|found| found.set.nvals()).max(), Some(4));
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square or symmetric.
pub fn mis_many(a: &Matrix, options: &MisOptions, seeds: &[u64]) -> Result<Vec<Mis>> {
    let a = &*a.to_graph()?;
    let mut found = Vec::with_capacity(seeds.len());
    for seeds in seeds.chunks(at_once(options.priority)) {
        let Fixed { state, rounds } = match options.priority {
            Priority::Resolve => resolved(a, seeds)?,
            priority => ordered(a, priority, seeds)?,
        };
        for run in 0..seeds.len() as u32 {
            // set = {v : v is a member in this run}
            let set = state.select(is_member.bind(run)).pattern().eval()?;
            found.push(Mis { set, rounds });
        }
    }
    Ok(found)
}

/// The most sets that one loop finds.
pub fn at_once(priority: Priority) -> usize {
    if priority == Priority::Resolve { RESOLVED } else { RUNS }
}

/// The state of a vertex at first: it has left the runs that there aren't.
fn start(runs: usize) -> u64 {
    u64::from(u32::MAX.checked_shl(runs as u32).unwrap_or(0))
}

/// The sequential greedy sets of orders, as [`mis_in_order`](super::mis_in_order) finds each.
fn ordered(a: &Matrix, priority: Priority, seeds: &[u64]) -> Result<Fixed<u64>> {
    let degree = a.degrees()?;
    let keys = seeds.iter().map(|&seed| of_degrees(&degree, a, priority, seed)).collect::<Result<Vec<_>>>()?;
    // first[i, j] = the runs k with key[k][i] < key[k][j]
    let first = a.map_ends_many(LT, &keys)?;
    drop(keys);
    // s<undecided> = settle(s, first bor.seen s), until no vertex is undecided
    fixpoint(fill(start(seeds.len()), a.nrows()).eval()?)
        .while_active(is_undecided)
        .monotone()
        .step(|s| settle.map2(s, first.mxv(s, semiring(BOR, seen)).or_identity()))
        // round 1: no vertex is in a set yet, so a row may stop once it waits in all runs
        .first_round(|s| settle.map2(s, first.mxv(s, semiring(BOR, seen)).until(waits).or_identity()))
        .eval()
}

/// TC-MIS with H3, for many seeds.
fn resolved(a: &Matrix, seeds: &[u64]) -> Result<Fixed<u64>> {
    let low = a.degrees()?.map(RMINUS.bind(u32::MAX)).eval()?;
    let hashes = seeds.iter().map(|&seed| hashes_of(a, seed));
    let keys = std::iter::once(Ok(low)).chain(hashes).collect::<Result<Vec<_>>>()?;
    let edge = a.map_ends_many(LT, &keys)?;
    drop(keys);
    fixpoint(fill(start(seeds.len()) & 0xffff, a.nrows()).eval()?)
        .while_active(is_alive)
        .monotone()
        // s<alive> = wait(s, edge bor.lower s)
        .step(|s| wait.map2(s, edge.mxv(s, semiring(BOR, lower)).or_identity()))
        // s<pending> = choose(s, edge bor.higher s)
        .then(|s| choose.map2(s, edge.mxv(s, semiring(BOR, higher)).or_identity()).mask(s.select(is_pending)))
        // s<alive> = cover(s, members(s) bor.first A)
        .then(|s| cover.map2(s, s.map(members).vxm(a, semiring(BOR, FIRST)).or_identity()))
        .eval()
}
