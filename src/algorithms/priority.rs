//! Who comes first: distinct priorities for the vertices of a graph.
//!
//! H1 to H3 are those of TC-MIS (section 3.3), `Sorted` is that of cuMIS (section 3.1). The papers say loosely what separates H2
//! from H3; here each ends on every graph, because no two neighbours ever tie:
//!
//! - H1, `Random`: a hash of (seed, vertex), a bijection of the vertices for every seed.
//! - H2, `Degree`: ECL-MIS' equation 1, 252 d̄ / (d̄ + d), in 252 classes, perturbed by less than one degree; the hash within a class.
//! - H3, `Resolve`: the exact degree alone, so candidates may conflict; conflicts are resolved among the pending candidates by the
//!   hash, and vertices leave only once that is done (see [`mis`](mod@super::mis)).
//! - `Sorted`: by degree, the hash within a degree: a road network, where most degrees are equal, takes tens of rounds.
//! - `SortedId`: by degree, then by vertex number, as cuMIS writes it: thousands of rounds where degrees are equal.

use super::options::Priority;
use crate::prelude::*;

/// A bijection of `u32` for every seed: two rounds of multiply and xor-shift (the finaliser of MurmurHash3), keyed before each.
#[op]
pub fn mix(v: u32, seed: u64) -> u32 {
    let a: u32 = v ^ (seed as u32);
    let b: u32 = (a ^ (a >> 16u32)) * 0x85eb_ca6bu32;
    let c: u32 = (b ^ (b >> 13u32)) * 0xc2b2_ae35u32;
    let d: u32 = (c ^ (c >> 16u32)) + ((seed >> 32u32) as u32);
    let e: u32 = (d ^ (d >> 16u32)) * 0x85eb_ca6bu32;
    let f: u32 = (e ^ (e >> 13u32)) * 0xc2b2_ae35u32;
    f ^ (f >> 16u32)
}

/// Low degrees high, the hash below: distinct, since the hash is.
#[op]
fn low_degree_first(degree: u32, hash: u32) -> u64 {
    // + 1 and - 1: strictly between 0 and u64::MAX
    ((((u32::MAX - 1u32) - degree) as u64) << 32u32) + (hash as u64) + 1u64
}

/// High degrees high, the hash below.
#[op]
fn high_degree_first(degree: u32, hash: u32) -> u64 {
    ((degree as u64) << 32u32) | (hash as u64)
}

/// ECL-MIS' class of a degree, given the mean degree in sixteenths; the hash's low bits perturb and break ties.
#[op]
fn degree_class(degree: u32, hash: u32, mean: u64) -> u64 {
    let sixteenths: u64 = ((degree as u64) << 4u32) + ((hash & 15u32) as u64);
    let class: u64 = 252u64 * mean / (mean + sixteenths);
    (class << 32u32) + (hash as u64) + 1u64
}

/// Among equal degrees, a higher number first.
#[op]
fn low_degree_then_number(v: u32, degree: u32) -> u64 {
    ((((u32::MAX - 1u32) - degree) as u64) << 32u32) + (v as u64) + 1u64
}

/// The hash alone.
#[op]
fn by_hash(hash: u32) -> u64 {
    (hash as u64) + 1u64
}

/// A hash for each of `n` vertices, distinct.
pub fn hashes(n: usize, seed: u64) -> Result<Vector<u32>> {
    // hash = mix(0..n, seed)
    fill(seed, n).map_index(mix).eval()
}

/// A distinct number for each vertex, the first to be served highest, above 0 and below `u64::MAX`: a total order of the vertices.
///
/// `Resolve` orders like `Sorted`; its candidates are chosen before ties are broken.
///
/// # Errors
/// None today; a device may fail.
pub fn priorities(a: &Matrix, priority: Priority, seed: u64) -> Result<Vector<u64>> {
    let (n, degree, hash) = (a.nrows(), a.degrees()?, fill(seed, a.nrows()).map_index(mix));
    // 1 at least: an edgeless graph has mean degree 0
    let mean = (16 * a.nnz() / n.max(1) as u64).max(1);
    // p = (degree, hash), as the priority combines them
    match priority {
        Priority::Random => hash.map(by_hash).eval(),
        Priority::Degree => degree_class.map3(&degree, hash, fill(mean, n)).eval(),
        Priority::Resolve | Priority::Sorted => low_degree_first.map2(&degree, hash).eval(),
        Priority::SortedId => degree.map_index(low_degree_then_number).eval(),
    }
}

/// Keys by descending degree, the hash within a degree: the order of largest-degree-first colouring.
///
/// # Errors
/// None today; a device may fail.
pub fn largest_degree_first(a: &Matrix, seed: u64) -> Result<Vector<u64>> {
    // key = (degree, hash)
    high_degree_first.map2(&a.degrees()?, fill(seed, a.nrows()).map_index(mix)).eval()
}

/// Keys by the order in which a smallest-degree-last peeling removes vertices: the last removed is highest.
///
/// Rounds remove all vertices of degree k or less at once, k the least that removes any (Matula and Beck's order, in rounds); the
/// hash ranks those of one round. A greedy colouring in this order takes at most one colour more than the graph's degeneracy,
/// counted within rounds.
///
/// # Errors
/// None today; a device may fail.
pub fn smallest_degree_last(a: &Matrix, seed: u64) -> Result<Vector<u64>> {
    let n = a.nrows();
    let (mut degree, mut left, mut round) = (a.degrees()?, Set::all(n), Vector::full(n, 0u32));
    let (nothing, mut k, mut rounds) = (Set::new(n), 0, 0);
    while left.nvals() > 0 {
        // k = least degree of those left
        k = degree.mask(&left).reduce(MIN)?.max(k);
        // leaves = those left of degree k or less
        let mut leaves = degree.mask(&left).select(LE.bind(k)).pattern().eval()?;
        while leaves.nvals() > 0 {
            rounds += 1;
            // round<leaves> = rounds
            fill(rounds, n).mask(&leaves).assign_to(&mut round)?;
            // left<leaves> = nothing
            nothing.mask(&leaves).assign_to(&mut left)?;
            // lost<left> = leaves plus.pair A
            let lost = leaves.vxm(a, PLUS_PAIR).mask(&left).eval()?;
            // degree -= lost
            lost.accum(MINUS).assign_to(&mut degree)?;
            // leaves = those that lost an edge and have k or fewer now
            leaves = degree.mask(&lost).select(LE.bind(k)).pattern().eval()?;
        }
    }
    // key = (round, hash), of every vertex: each was removed in some round
    high_degree_first.map2((&round).or(0), fill(seed, n).map_index(mix)).eval()
}
