//! Maximal independent sets by matrix products, after Luby.
//!
//! A round takes one product in the formulation of cuMIS (Algorithm 2), and two in that of TC-MIS (Algorithm 2). See
//! `docs/algorithms/mis.md`.

use crate::algorithms::options::{Formulation, MisOptions, Priority};
use crate::algorithms::priority::{hashes_of, priorities};
use crate::prelude::*;

/// A maximal independent set.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Mis {
    /// Its members.
    pub set: Set,
    /// How many rounds it took. Not part of the answer: it may depend on the schedule.
    pub rounds: u32,
}

/// The state of a vertex that has joined the set; above every key.
const IN: u32 = u32::MAX;
/// The state of a vertex that has a neighbour in the set; below every key.
const OUT: u32 = 0;

/// A vertex' next state, given its own and the greatest among its neighbours' states.
#[op]
fn decide(own: u32, best: u32) -> u32 {
    if best == IN {
        OUT
    } else if own > best {
        IN
    } else {
        own
    }
}

/// Whether a vertex has neither joined the set nor left: its state is still its key.
#[op]
fn is_undecided(key: u32) -> bool {
    key != IN && key != OUT
}

/// A maximal independent set of an undirected graph: no two members are neighbours, and every other vertex has a neighbour in the set.
///
/// Every priority but `Resolve` is a total order of the vertices, and the result is the sequential greedy set of that order.
///
/// A round takes time linear in the entries of the undecided vertices' rows. For [`Priority::Random`] there are O(log n) rounds with high
/// probability. Where degrees decide, the number of rounds depends on the graph.
///
/// ```
/// use vxm::algorithms::{MisOptions, mis};
/// use vxm::prelude::*;
///
/// // a star: its leaves
/// let star = Matrix::undirected(4, &[(0, 1), (0, 2), (0, 3)])?;
/// let found = mis(&star, &MisOptions::default())?;
/// assert_eq!(found.set, Set::from_indices(4, [1, 2, 3])?);
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square or symmetric.
pub fn mis(a: &Matrix, options: &MisOptions) -> Result<Mis> {
    let a = &*a.to_graph()?;
    match (options.priority, options.formulation) {
        (Priority::Resolve, _) => resolve(a, options.seed),
        (priority, Formulation::Decide) => mis_in_order(a, priorities(a, priority, options.seed)?),
        (priority, Formulation::Count) => by_counting(a, priorities(a, priority, options.seed)?),
    }
}

/// The sequential greedy set of an order of the vertices, by cuMIS' Algorithm 2.
///
/// `key` gives the order: the vertex with the highest key comes first. Keys are distinct, above 0 and below `u32::MAX`. A vertex joins
/// the set if its key is above all its neighbours' states; a vertex with a neighbour in the set leaves.
///
/// ```
/// use vxm::algorithms::mis_in_order;
/// use vxm::prelude::*;
///
/// let path = Matrix::undirected(3, &[(0, 1), (1, 2)])?;
/// let found = mis_in_order(&path, Vector::from_dense(vec![1, 3, 2]))?;
/// assert_eq!(found.set, Set::from_indices(3, [1])?);
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square, or its side isn't the number of keys; neighbours have equal keys.
pub fn mis_in_order(a: &Matrix, key: Vector<u32>) -> Result<Mis> {
    // key<undecided> = decide(key, key max.first A), until no vertex is undecided
    let (set, rounds) = fixpoint(key)
        .while_active(is_undecided)
        .monotone()
        .step(|key| decide.map2(key, key.vxm(a, MAX_FIRST).or_identity()))
        // round 1: no vertex is in the set yet, so a row may stop at the first higher neighbour (cuMIS, section 3.3)
        .first_round(|key| decide.map2(key, key.vxm(a, MAX_FIRST).until(LT).or_identity()))
        // set = {v : key[v] = IN}
        .eval_then(|key| key.select(EQ.bind(IN)).pattern().eval())?;
    Ok(Mis { set, rounds })
}

/// Phase 1: an alive vertex above all its neighbours' states is a candidate. Candidates are independent, so they join the set.
#[op]
fn elect(key: u32, best: u32) -> u32 {
    if key > best { IN } else { key }
}

/// Phases 2 and 3: an alive vertex that counts a candidate as a neighbour leaves.
#[op]
fn leave(key: u32, counted: bool) -> u32 {
    if counted { OUT } else { key }
}

/// TC-MIS, Algorithm 2, with a total order. No alive vertex has a neighbour that joined in an earlier round, so all members may be counted.
fn by_counting(a: &Matrix, key: Vector<u32>) -> Result<Mis> {
    let (set, rounds) = fixpoint(key)
        .while_active(is_undecided)
        .monotone()
        // phase 1: key<alive> = elect(key, key max.times A)
        .step(|key| elect.map2(key, key.vxm(a, MAX_TIMES).until(LT).or_identity()))
        // phases 2 and 3: key<alive> = leave(key, (key = IN) lor.pair A)
        .then(|key| leave.map2(key, key.select(EQ.bind(IN)).vxm(a, LOR_PAIR)))
        // set = {v : key[v] = IN}
        .eval_then(|key| key.select(EQ.bind(IN)).pattern().eval())?;
    Ok(Mis { set, rounds })
}

// With conflict resolution, an alive vertex' state has a bit that says whether it is pending, then 31 bits that are greater for lower
// degrees, then 32 bits of hash.
/// The bit of a pending vertex.
const PENDING: u64 = 1 << 63;
/// The state of a vertex in the set.
const MEMBER: u64 = u64::MAX;
/// The state of a vertex that has a neighbour in the set.
const COVERED: u64 = 0;

/// The state of an alive vertex.
#[op]
fn alive(degree: u32, hash: u32) -> u64 {
    let low: u32 = 0x7fff_ffffu32 - degree.min(0x7fff_fffeu32);
    ((low as u64) << 32u32) | (hash as u64)
}

/// Whether a vertex has neither joined the set nor left.
#[op]
fn is_alive(state: u64) -> bool {
    state != MEMBER && state != COVERED
}

/// Whether an alive vertex is pending.
#[op]
fn is_pending(state: u64) -> bool {
    state >= PENDING
}

/// The part of a state that is greater for lower degrees.
#[op]
fn low(state: u64) -> u32 {
    ((state >> 32u32) as u32) & 0x7fff_ffffu32
}

/// An alive vertex is pending if no alive neighbour has a lower degree.
#[op]
fn wait(state: u64, lowest: u32) -> u64 {
    if low(state) >= lowest { state | PENDING } else { state & !PENDING }
}

/// Of pending neighbours, which have equal degrees, the one with the highest hash is a candidate.
#[op]
fn choose(state: u64, best: u64) -> u64 {
    if state > best { MEMBER } else { state }
}

/// An alive vertex that counts a candidate as a neighbour leaves.
#[op]
fn cover(state: u64, counted: bool) -> u64 {
    if counted { COVERED } else { state }
}

/// TC-MIS with H3 (section 3.3): a vertex is pending if no alive neighbour has a lower degree in the whole graph, and a candidate if no
/// pending neighbour has a higher hash.
fn resolve(a: &Matrix, seed: u64) -> Result<Mis> {
    let start = alive.map2(&a.degrees()?, &hashes_of(a, seed)?).eval()?;
    let (set, rounds) = fixpoint(start)
        .while_active(is_alive)
        .monotone()
        // s<alive> = wait(s, low(s) max.times A)
        .step(|s| wait.map2(s, s.map(low).vxm(a, MAX_TIMES).until(LT).or_identity()))
        // s<pending> = choose(s, s max.times A)
        .then(|s| choose.map2(s, s.vxm(a, MAX_TIMES).until(LT).or_identity()).mask(s.select(is_pending)))
        // s<alive> = cover(s, (s = member) lor.pair A)
        .then(|s| cover.map2(s, s.select(EQ.bind(MEMBER)).vxm(a, LOR_PAIR)))
        // set = {v : s[v] = member}
        .eval_then(|s| s.select(EQ.bind(MEMBER)).pattern().eval())?;
    Ok(Mis { set, rounds })
}
