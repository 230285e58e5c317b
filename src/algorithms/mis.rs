//! Maximal independent set, as products: Luby's algorithm in TC-MIS' two (Algorithm 2) and in cuMIS' one (Algorithm 2).

use super::options::{Formulation, MisOptions, Priority};
use super::priority::{hashes, priorities};
use crate::prelude::*;

/// A maximal independent set.
#[derive(Debug, Clone, PartialEq)]
pub struct Mis {
    /// Its members.
    pub set: Set,
    /// Rounds it took; not part of the answer.
    pub rounds: u32,
}

/// A vertex that has joined the set; above every priority.
const IN: u32 = u32::MAX;
/// A vertex that has a member next to it; below every priority.
const OUT: u32 = 0;

/// What a vertex becomes, given its neighbours' greatest key.
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

/// Whether a key is a priority still.
#[op]
fn is_undecided(key: u32) -> bool {
    key != IN && key != OUT
}

/// A maximal independent set of an undirected graph: no two members are neighbours, and every other vertex has a member next to it.
///
/// For a total order of the vertices (every priority but `Resolve`) this is the sequential greedy set of that order. O(rounds * active
/// edges) time; rounds are O(log n) with high probability for [`Priority::Random`], and depend on the graph where degrees count: few in
/// practice.
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

/// The sequential greedy set of an order: cuMIS, Algorithm 2, where a vertex above all its neighbours joins, and a neighbour of a member
/// leaves. A vertex' key says when it comes, the highest first; keys are distinct, above 0 and below `u32::MAX`.
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
/// The matrix isn't square, or not of as many vertices as there are keys; neighbours have equal keys.
pub fn mis_in_order(a: &Matrix, key: Vector<u32>) -> Result<Mis> {
    // key<undecided> = decide(key, key max.first A), until all are decided
    let (set, rounds) = fixpoint(key)
        .while_active(is_undecided)
        .monotone()
        .step(|key| decide.map2(key, key.vxm(a, MAX_FIRST).or_identity()))
        // at first nobody is in, so one higher neighbour is enough (section 3.3)
        .first(|key| decide.map2(key, key.vxm(a, MAX_FIRST).until(LT).or_identity()))
        // set = those that are in
        .eval_then(|key| key.select(EQ.bind(IN)).pattern().eval())?;
    Ok(Mis { set, rounds })
}

/// TC-MIS, Algorithm 2, phase 1: those alive that are above all their neighbours alive.
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

/// TC-MIS with H3: candidates by degree alone, which may be neighbours; among those pending the hash decides.
fn resolve(a: &Matrix, seed: u64) -> Result<Mis> {
    // low = the greatest number - degree: the lower the degree, the higher
    let (low, hash) = (a.degrees()?.map(RMINUS.bind(u32::MAX)).eval()?, hashes(a.nrows(), seed)?);
    luby(a, |alive| {
        // pending<alive> = low >= (low<alive> max.times A)
        let best = low.mask(alive).vxm(a, MAX_TIMES).until(LT).or_identity();
        let pending = low.ewise_mult(best, GE).mask(alive).select(IDENTITY).pattern().eval()?;
        // beaten<pending> = hash < (hash<pending> max.times A)
        let best = hash.mask(&pending).vxm(a, MAX_TIMES).until(LT).mask(&pending);
        let beaten = hash.ewise_mult(best, LT).select(IDENTITY).pattern().eval()?;
        // c = pending \ beaten
        pending.mask(!&beaten).eval()
    })
}

/// TC-MIS, Algorithm 2, phases 2 and 3: candidates join, and whoever counts one next to it leaves.
fn luby(a: &Matrix, candidates: impl Fn(&Set) -> Result<Set>) -> Result<Mis> {
    let (mut alive, mut set) = (Set::all(a.nrows()), Set::new(a.nrows()));
    let mut rounds = 0;
    while alive.nvals() > 0 {
        rounds += 1;
        let c = candidates(&alive)?;
        // count<alive> = c plus.pair A
        let count = c.vxm(a, PLUS_PAIR).mask(&alive).eval()?;
        // set = set | c
        c.accum(ANY).assign_to(&mut set)?;
        // alive = alive \ c \ {count > 0}
        alive = alive.mask(!&c).mask(!&count).eval()?;
    }
    Ok(Mis { set, rounds })
}
