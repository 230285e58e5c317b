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

/// A bijection of the numbers of so many bits for every seed, both of which `keyed` holds: as [`mix`], with what falls out cut off.
#[op]
fn scramble(v: u32, keyed: u64) -> u32 {
    let bits: u32 = (keyed as u32) & 63u32;
    let mask: u32 = u32::MAX >> (32u32 - bits);
    let half: u32 = (bits + 1u32) >> 1u32;
    let a: u32 = ((v ^ ((keyed >> 8u32) as u32)) * 0x85eb_ca6bu32) & mask;
    let b: u32 = ((a ^ (a >> half)) * 0xc2b2_ae35u32) & mask;
    let c: u32 = ((b ^ (b >> half)) + ((keyed >> 32u32) as u32)) & mask;
    let d: u32 = (c * 0x9e37_79b1u32) & mask;
    let e: u32 = ((d ^ (d >> half)) * 0x85eb_ca77u32) & mask;
    e ^ (e >> half)
}

/// The class of a degree: exact below twice so many steps, a power of two, and from there as many classes for each power of two.
#[op]
fn class(degree: u32, steps: u32) -> u32 {
    // how often the degree may be halved, and be the number of steps still
    let halvings: u32 = steps.leading_zeros() - (degree | steps).leading_zeros();
    halvings * steps + (degree >> halvings)
}

/// ECL-MIS' class of a degree, given the mean degree in sixteenths and, above, the number of classes; the hash's low bits perturb it.
#[op]
fn degree_class(degree: u32, hash: u32, scale: u64) -> u32 {
    let mean: u64 = scale & 0xffff_ffff_ffffu64;
    let sixteenths: u64 = ((degree as u64) << 4u32) + ((hash & 15u32) as u64);
    ((scale >> 48u32) * mean / (mean + sixteenths)) as u32
}

/// A key of two parts, above 0, of which the lower has so many bits.
#[op]
fn pack(high: u32, low: u32, bits: u32) -> u32 {
    (high << bits) + low + 1u32
}

/// A key of two parts, whatever they are.
#[op]
fn pair(high: u32, low: u32) -> u64 {
    ((high as u64) << 32u32) | (low as u64)
}

/// How keys of 32 bits are laid out: a class above, and a hash of as many bits as tell vertices apart.
#[derive(Debug, Clone, Copy)]
struct Layout {
    /// The hash's bits.
    bits: u32,
    /// Steps of a degree's class: see [`class`].
    steps: u32,
    /// The greatest class.
    top: u32,
}

impl Layout {
    /// That for `n` vertices, unless they leave too few bits for classes.
    fn new(n: usize) -> Option<Self> {
        let bits = (usize::BITS - n.saturating_sub(1).leading_zeros()).max(1);
        // degrees have as many bits; no key is u32's greatest
        let top = (1u32.checked_shl(32u32.checked_sub(bits)?)?).checked_sub(2)?;
        let classes = |log: u32| (bits + 1).saturating_sub(log) << log;
        let log = (0..bits).rev().find(|&log| classes(log) <= top)?;
        Some(Self { bits, steps: 1 << log, top })
    }

    /// That of exact classes, which take more than 32 bits with a hash.
    const EXACT: Self = Self { bits: 32, steps: 1 << 31, top: u32::MAX - 1 };
}

/// Keys of two parts each, distinct if the lower ones are; by rank where they don't fit the layout.
fn keys(layout: Layout, high: impl Expr<T = u32>, low: impl Expr<T = u32>, n: usize) -> Result<Vector<u32>> {
    match layout.bits {
        32 => pair.map2(high, low).eval()?.rank()?.map(PLUS.bind(1)).eval(),
        bits => pack.map3(high, low, fill(bits, n)).eval(),
    }
}

/// A hash for each of `n` vertices, distinct.
pub fn hashes(n: usize, seed: u64) -> Result<Vector<u32>> {
    // hash = mix(0..n, seed)
    fill(seed, n).map_index(mix).eval()
}

/// A distinct number for each vertex, the first to be served highest, above 0 and below `u32::MAX`: a total order of the vertices.
///
/// Degrees are exact, or told apart as far as 32 bits allow: those of a million vertices are exact below 512, and have 256 steps for each
/// power of two above. `SortedId` takes all degrees as they are. `Resolve` orders like `Sorted`; its candidates are chosen before ties
/// are broken.
///
/// # Errors
/// None today; a device may fail.
pub fn priorities(a: &Matrix, priority: Priority, seed: u64) -> Result<Vector<u32>> {
    let (n, degree) = (a.nrows(), a.degrees()?);
    let (layout, hash) = hashed(n, seed);
    // 1 at least: an edgeless graph has mean degree 0
    let mean = (16 * a.nnz() / n.max(1) as u64).max(1);
    let scale = u64::from(layout.top.min(252)) << 48 | mean;
    let low_first = class.map2(&degree, fill(layout.steps, n)).map(RMINUS.bind(layout.top));
    // p = (degree, hash), as the priority combines them
    match priority {
        Priority::Random => keys(layout, fill(0u32, n), hash, n),
        Priority::Degree => keys(layout, degree_class.map3(&degree, hash, fill(scale, n)), hash, n),
        Priority::Resolve | Priority::Sorted => keys(layout, low_first, hash, n),
        // among equal degrees, a higher number first
        Priority::SortedId => keys(Layout::EXACT, degree.map(RMINUS.bind(u32::MAX)), fill((), n).map_index(FIRST), n),
    }
}

/// Keys by descending degree, the hash within a degree: the order of largest-degree-first colouring. Degrees as of [`priorities`].
///
/// # Errors
/// None today; a device may fail.
pub fn largest_degree_first(a: &Matrix, seed: u64) -> Result<Vector<u32>> {
    let n = a.nrows();
    let (layout, hash) = hashed(n, seed);
    // key = (degree, hash)
    keys(layout, class.map2(&a.degrees()?, fill(layout.steps, n)), hash, n)
}

/// How the keys of `n` vertices are laid out, and a hash for each of as many bits as that says.
fn hashed(n: usize, seed: u64) -> (Layout, impl Expr<T = u32>) {
    let layout = Layout::new(n).unwrap_or(Layout::EXACT);
    (layout, fill(keyed(seed, layout), n).map_index(scramble))
}

/// A seed, and the bits that it is to scramble.
fn keyed(seed: u64, layout: Layout) -> u64 {
    (mix(seed as u32, seed) as u64) << 32 | (mix((seed >> 32) as u32, !seed) as u64) & !63 | u64::from(layout.bits)
}

/// Keys by the order in which a smallest-degree-last peeling removes vertices: the last removed is highest.
///
/// Rounds remove all vertices of degree k or less at once, k the least that removes any (Matula and Beck's order, in rounds); the
/// hash ranks those of one round. A greedy colouring in this order takes at most one colour more than the graph's degeneracy,
/// counted within rounds.
///
/// # Errors
/// None today; a device may fail.
pub fn smallest_degree_last(a: &Matrix, seed: u64) -> Result<Vector<u32>> {
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
    keys(Layout::EXACT, (&round).or(0), fill(seed, n).map_index(mix), n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_32_bits_keep_their_order() {
        for n in (1..=32).flat_map(|bits| [(1usize << bits) - 1, 1 << bits]).chain([0, 1, 3]) {
            let Some(Layout { bits, steps, top }) = Layout::new(n) else {
                assert!(n > 1 << 27, "{n} vertices");
                continue;
            };
            assert!(n <= 1 << 27 && n <= 1usize << bits);
            // degrees that there may be, close together where they are low
            let degrees: Vec<u32> =
                (0..n.min(5000)).chain((0..bits).flat_map(|b| [1 << b, (2 << b) - 1])).map(|d| d as u32).collect();
            let mut classes: Vec<(u32, u32)> =
                degrees.iter().filter(|&&d| (d as usize) < n.max(1)).map(|&d| (d, class(d, steps))).collect();
            classes.sort_unstable();
            assert!(
                classes.is_sorted_by_key(|&(_, c)| c)
                    && classes.iter().all(|&(d, c)| c <= top && (d >= 2 * steps || c == d))
            );
            let last = pack(top, u32::MAX >> (32 - bits), bits);
            assert!(last < u32::MAX && pack(0, 0, bits) > 0, "{n} vertices");
        }
    }

    #[test]
    fn scrambled_numbers_are_as_many() {
        for (n, seed) in [(1usize, 0u64), (2, 1), (3, 5), (1000, 7), (4096, u64::MAX), (70_000, 1 << 40)] {
            let bits = Layout::new(n).unwrap().bits;
            let mut found: Vec<u32> =
                (0..1u32 << bits).map(|v| scramble(v, keyed(seed, Layout::new(n).unwrap()))).collect();
            found.sort_unstable();
            assert!(found.iter().enumerate().all(|(k, &x)| k == x as usize), "{n}, seed {seed}");
        }
        // another seed, another order
        let order = |seed| (0..64).map(|v| scramble(v, keyed(seed, Layout::new(64).unwrap()))).collect::<Vec<_>>();
        assert!(order(1) != order(2) && order(1 << 33) != order(1 << 34));
    }
}
