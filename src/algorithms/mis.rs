//! Maximal independent sets by matrix products, after Luby.
//!
//! A round takes one product in the formulation of cuMIS (Algorithm 2), and two in that of TC-MIS (Algorithm 2). See
//! `docs/algorithms/mis.md`.

use crate::algorithms::options::{Formulation, MisOptions, Priority};
use crate::algorithms::priority::{hashes, priorities};
use crate::prelude::*;

/// A maximal independent set.
#[derive(Debug, Clone, PartialEq)]
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
        (priority, Formulation::Count) => by_counting(a, &priorities(a, priority, options.seed)?),
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

/// TC-MIS, Algorithm 2, with a total order: the candidates are the alive vertices above all their alive neighbours.
fn by_counting(a: &Matrix, p: &Vector<u32>) -> Result<Mis> {
    luby(a, |alive| {
        // c<alive> = p > (p<alive> max.times A)
        p.ewise_mult(p.mask(alive).vxm(a, MAX_TIMES).until(LT).or_identity(), GT)
            .mask(alive)
            .select(IDENTITY)
            .pattern()
            .eval()
    })
}

/// TC-MIS with H3 (section 3.3). A vertex is pending if no alive neighbour has a lower degree; a pending vertex is a candidate if no
/// pending neighbour has a higher hash. Degrees are those of the whole graph.
fn resolve(a: &Matrix, seed: u64) -> Result<Mis> {
    // low = u32::MAX - degree, so that the lowest degree is the greatest element
    let (low, hash) = (a.degrees()?.map(RMINUS.bind(u32::MAX)).eval()?, hashes(a.nrows(), seed)?);
    luby(a, |alive| {
        // pending<alive> = low >= (low<alive> max.times A)
        let best = low.mask(alive).vxm(a, MAX_TIMES).until(LT).or_identity();
        let pending = low.ewise_mult(best, GE).mask(alive).select(IDENTITY).pattern().eval()?;
        // beaten<pending> = hash < (hash<pending> max.times A)
        let best = hash.mask(&pending).vxm(a, MAX_TIMES).until(LT).mask(&pending);
        let beaten = hash.ewise_mult(best, LT).select(IDENTITY).pattern().eval()?;
        // c<!beaten> = pending
        pending.mask(!&beaten).eval()
    })
}

/// TC-MIS, Algorithm 2: a loop on the host, a round at a time. `candidates` is phase 1: it returns an independent set of alive vertices,
/// which isn't empty as long as any is alive. Candidates join the set (phase 3); vertices that count a candidate as a neighbour (phase 2)
/// leave.
fn luby(a: &Matrix, candidates: impl Fn(&Set) -> Result<Set>) -> Result<Mis> {
    let (mut alive, mut set) = (Set::all(a.nrows()), Set::new(a.nrows()));
    let mut rounds = 0;
    while alive.nvals() > 0 {
        rounds += 1;
        let c = candidates(&alive)?;
        // count<alive> = c plus.pair A
        let count = c.vxm(a, PLUS_PAIR).mask(&alive).eval()?;
        // set |= c
        c.accum(ANY).assign_to(&mut set)?;
        // alive<!c, !count> = alive, where `count` is present if it is above 0
        alive = alive.mask(!&c).mask(!&count).eval()?;
    }
    Ok(Mis { set, rounds })
}
