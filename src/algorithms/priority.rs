//! Priorities: distinct keys that order the vertices of a graph, the first vertex highest.
//!
//! H1 to H3 are those of TC-MIS (section 3.3), `Sorted` and `SortedId` that of cuMIS (section 3.1). TC-MIS says loosely what separates H2
//! from H3. Here each ends on every graph, because two neighbours never tie:
//!
//! - H1, `Random`: a hash of (seed, vertex), which is a bijection for every seed.
//! - H2, `Degree`: ECL-MIS' equation 1, the integer part of 252 d̄ / (d̄ + d), with d perturbed by less than one; the hash within a class.
//! - H3, `Resolve`: the exact degree alone, so two pending vertices may be neighbours. The hash decides between them, and only then do
//!   vertices leave (see [`mis`](mod@super::mis)).
//! - `Sorted`: by degree, the hash within a degree. The hash breaks long chains where most degrees are equal, as in a road network.
//! - `SortedId`: by degree, then the higher vertex number first, as cuMIS writes it. Takes many rounds where most degrees are equal; a loop
//!   that need not wait for rounds takes fewer.
//!
//! `docs/algorithms/mis.md` has the bit layout of the keys.

use crate::algorithms::options::{Order, Priority};
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

/// The inverse of [`mix`]: the number that has this `hash` with this seed.
#[op]
pub fn unmix(hash: u32, seed: u64) -> u32 {
    let f: u32 = (hash ^ (hash >> 16u32)) * 0x7ed1_b41du32;
    let e: u32 = (f ^ (f >> 13u32) ^ (f >> 26u32)) * 0xa5cb_9243u32;
    let d: u32 = (e ^ (e >> 16u32)) - ((seed >> 32u32) as u32);
    let c: u32 = (d ^ (d >> 16u32)) * 0x7ed1_b41du32;
    let b: u32 = (c ^ (c >> 13u32) ^ (c >> 26u32)) * 0xa5cb_9243u32;
    (b ^ (b >> 16u32)) ^ (seed as u32)
}

/// A bijection of the numbers of `bits` bits, for every seed: the like of [`mix`] modulo 2^bits. The low six bits of `keyed` are `bits`,
/// the others come from the seed.
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

/// The class of a degree, which rises with the degree. `steps` is a power of two: a degree below `2 * steps` is its own class, and above
/// that each power of two has `steps` classes.
#[op]
fn class(degree: u32, steps: u32) -> u32 {
    // how often the degree is halved to lie below 2 * steps
    let halvings: u32 = steps.leading_zeros() - (degree | steps).leading_zeros();
    halvings * steps + (degree >> halvings)
}

/// ECL-MIS' class of a degree, `top * mean / (mean + degree + e)`, where `e` is between 0 and 15 sixteenths and comes from the hash. The
/// low 48 bits of `scale` are the mean degree in sixteenths, the high 16 bits the greatest class, `top`.
#[op]
fn degree_class(degree: u32, hash: u32, scale: u64) -> u32 {
    let mean: u64 = scale & 0xffff_ffff_ffffu64;
    let sixteenths: u64 = ((degree as u64) << 4u32) + ((hash & 15u32) as u64);
    ((scale >> 48u32) * mean / (mean + sixteenths)) as u32
}

/// A 32-bit key above 0 of two parts, of which the lower has `bits` bits.
#[op]
fn pack(high: u32, low: u32, bits: u32) -> u32 {
    (high << bits) + low + 1u32
}

/// A 64-bit key of two parts of 32 bits.
#[op]
fn pair(high: u32, low: u32) -> u64 {
    ((high as u64) << 32u32) | (low as u64)
}

/// The layout of a 32-bit key: `class << bits | hash`, plus 1. The hash has as many bits as tell the vertices apart.
#[derive(Debug, Clone, Copy)]
struct Layout {
    /// The bits of the hash.
    bits: u32,
    /// The classes for each power of two of a degree: see [`class`].
    steps: u32,
    /// The greatest class.
    top: u32,
}

impl Layout {
    /// The layout for `n` vertices; `None` if the hash leaves too few bits for the classes.
    fn new(n: usize) -> Option<Self> {
        let bits = (usize::BITS - n.saturating_sub(1).leading_zeros()).max(1);
        // a degree is below n, so it has at most `bits` bits; no key is u32::MAX
        let top = (1u32.checked_shl(32u32.checked_sub(bits)?)?).checked_sub(2)?;
        let classes = |log: u32| (bits + 1).saturating_sub(log) << log;
        let log = (0..bits).rev().find(|&log| classes(log) <= top)?;
        Some(Self { bits, steps: 1 << log, top })
    }

    /// The layout of exact degrees, which with a hash take more than 32 bits: keys are ranks of 64-bit keys.
    const EXACT: Self = Self { bits: 32, steps: 1 << 31, top: u32::MAX - 1 };
}

/// Keys of two parts each, distinct if the lower parts are. With 32 bits of hash a key is the rank of the 64-bit key, plus 1.
fn keys(layout: Layout, high: impl Expr<T = u32>, low: impl Expr<T = u32>, n: usize) -> Result<Vector<u32>> {
    match layout.bits {
        32 => pair.map2(high, low).eval()?.rank()?.map(PLUS.bind(1)).eval(),
        bits => pack.map3(high, low, fill(bits, n)).eval(),
    }
}

/// A hash for each of `n` vertices; all are distinct.
pub fn hashes(n: usize, seed: u64) -> Result<Vector<u32>> {
    // hash = mix(0..n, seed)
    fill(seed, n).map_index(mix).eval()
}

/// A hash for each vertex of a graph, made of its number, or of the one that it had before the graph was renumbered.
pub(super) fn hashes_of(a: &Matrix, seed: u64) -> Result<Vector<u32>> {
    match a.names() {
        // hash = mix(names, seed)
        Some(names) => names.map(mix.bind(seed)).eval(),
        None => hashes(a.nrows(), seed),
    }
}

/// The numbers of `n` vertices: 0, 1, 2 and so on.
fn numbers(n: usize) -> impl Expr<T = u32> {
    fill((), n).map_index(FIRST)
}

/// A distinct key for each vertex, above 0 and below `u32::MAX`: a total order of the vertices, the first vertex highest.
///
/// Degrees are exact as far as 32 bits allow. With 2^20 vertices, degrees below 512 are exact, and each power of two above has 256 classes.
/// `SortedId` takes all degrees exactly. `Resolve` gives the keys of `Sorted`; [`mis`](mod@super::mis) doesn't use keys for it.
///
/// # Errors
/// None today; a device may fail.
pub fn priorities(a: &Matrix, priority: Priority, seed: u64) -> Result<Vector<u32>> {
    of_degrees(&a.degrees()?, a, priority, seed)
}

/// The [`priorities`] of a graph with these degrees.
pub(super) fn of_degrees(degree: &Vector<u32>, a: &Matrix, priority: Priority, seed: u64) -> Result<Vector<u32>> {
    match a.names() {
        Some(names) => of_named(degree, a.nnz(), names, priority, seed),
        None => of_named(degree, a.nnz(), numbers(degree.len()), priority, seed),
    }
}

/// The [`priorities`] of a graph with these degrees, so many entries, and vertices of these numbers.
fn of_named(
    degree: &Vector<u32>,
    entries: u64,
    number: impl Expr<T = u32>,
    priority: Priority,
    seed: u64,
) -> Result<Vector<u32>> {
    let n = degree.len();
    let (layout, hash) = hashed(number, n, seed);
    // mean = the mean degree in sixteenths; at least 1, since it would be 0 in a graph without edges
    let mean = (16 * entries / n.max(1) as u64).max(1);
    let scale = u64::from(layout.top.min(252)) << 48 | mean;
    let low_first = class.map2(degree, fill(layout.steps, n)).map(RMINUS.bind(layout.top));
    // p = (degree, hash), as the priority combines them
    match priority {
        Priority::Random => keys(layout, fill(0u32, n), hash, n),
        Priority::Degree => keys(layout, degree_class.map3(degree, hash, fill(scale, n)), hash, n),
        Priority::Resolve | Priority::Sorted => keys(layout, low_first, hash, n),
        // within a degree, the higher vertex number first
        Priority::SortedId => keys(Layout::EXACT, degree.map(RMINUS.bind(u32::MAX)), number, n),
    }
}

/// The keys of an order of colouring, the first vertex highest. They are distinct.
///
/// # Errors
/// The matrix isn't square.
pub fn order_keys(a: &Matrix, order: Order, seed: u64) -> Result<Vector<u32>> {
    match order {
        Order::Random => priorities(a, Priority::Random, seed),
        Order::LargestDegreeFirst => largest_degree_first(a, seed),
        Order::SmallestDegreeLast => smallest_degree_last(a, seed),
        Order::Natural => match a.names() {
            Some(names) => natural(names, a.nrows()),
            None => natural(numbers(a.nrows()), a.nrows()),
        },
    }
}

/// Keys by number, of `n` vertices: vertex 0 has the highest.
fn natural(number: impl Expr<T = u32>, n: usize) -> Result<Vector<u32>> {
    // key[v] = n - v
    number.map(RMINUS.bind(n as u32)).eval()
}

/// The keys of an order of a matrix' columns, for [`color_columns`](super::color_columns), the first column highest. They are distinct.
///
/// The degree of a column is the sum of the lengths of its rows: how many columns share a row with it, those with several common rows counted
/// as often. Of equal degrees the lower number comes first, which takes fewer colours on meshes than a hash does; in smallest-degree-last
/// order the hash decides.
///
/// ```
/// use vxm::algorithms::Order;
/// use vxm::algorithms::priority::column_keys;
/// use vxm::prelude::*;
///
/// // row 0 has columns 0 and 1, row 1 has columns 1 and 2
/// let a = Matrix::from_triples(2, 3, [(0, 0, ()), (0, 1, ()), (1, 1, ()), (1, 2, ())])?;
/// let key = column_keys(&a, Order::LargestDegreeFirst, 0)?;
/// assert!(key.get(1) > key.get(0) && key.get(1) > key.get(2));
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// None today; a device may fail.
pub fn column_keys(a: &Matrix, order: Order, seed: u64) -> Result<Vector<u32>> {
    let a = &*a.to_bipartite();
    let n = a.ncols();
    // degree = (A plus.pair 1) plus.first A
    let sharing = |left: &Set| left_in_rows(a, left)?.vxm(a, PLUS_FIRST).or_identity().eval();
    match order {
        Order::Natural => natural(numbers(n), n),
        Order::Random => hashes(n, seed)?.rank()?.map(PLUS.bind(1)).eval(),
        Order::LargestDegreeFirst => {
            let degree = sharing(&Set::all(n))?;
            keys(Layout::EXACT, &degree, &natural(numbers(n), n)?, n)
        }
        Order::SmallestDegreeLast => peeled(sharing(&Set::all(n))?, numbers(n), seed, |leaves| {
            left_in_rows(a, leaves)?.vxm(a, PLUS_FIRST).eval()
        }),
    }
}

/// How many of the columns of a set each row has; absent where there are none.
fn left_in_rows(a: &Matrix, columns: &Set) -> Result<Vector<u32>> {
    a.mxv(columns, PLUS_PAIR).eval()
}

/// Keys by descending degree, the hash within a degree: the order of largest-degree-first colouring. Degrees are exact as far as in
/// [`priorities`].
///
/// # Errors
/// None today; a device may fail.
pub fn largest_degree_first(a: &Matrix, seed: u64) -> Result<Vector<u32>> {
    fn keyed_by(degree: Vector<u32>, number: impl Expr<T = u32>, seed: u64) -> Result<Vector<u32>> {
        let n = degree.len();
        let (layout, hash) = hashed(number, n, seed);
        // key = (class(degree), hash)
        keys(layout, class.map2(&degree, fill(layout.steps, n)), hash, n)
    }
    match a.names() {
        Some(names) => keyed_by(a.degrees()?, names, seed),
        None => keyed_by(a.degrees()?, numbers(a.nrows()), seed),
    }
}

/// The layout of keys for `n` vertices of these numbers, and a hash for each vertex, of as many bits as the layout says.
fn hashed(number: impl Expr<T = u32>, n: usize, seed: u64) -> (Layout, impl Expr<T = u32>) {
    let layout = Layout::new(n).unwrap_or(Layout::EXACT);
    (layout, number.map(scramble.bind(keyed(seed, layout))))
}

/// The second argument of [`scramble`]: the bits of the layout, and the seed, mixed.
fn keyed(seed: u64, layout: Layout) -> u64 {
    (mix(seed as u32, seed) as u64) << 32 | (mix((seed >> 32) as u32, !seed) as u64) & !63 | u64::from(layout.bits)
}

/// Keys by smallest-degree-last peeling: the vertex that is removed last has the highest key.
///
/// A round removes at once all vertices that have at most k neighbours among the vertices left. k rises only when there is none. This is
/// Matula and Beck's order, in rounds. The hash orders the vertices of one round. When a vertex is removed it has at most k neighbours
/// left, those of its own round included, and k never exceeds the degeneracy. So a greedy colouring in this order takes at most
/// degeneracy + 1 colours.
///
/// # Errors
/// None today; a device may fail.
pub fn smallest_degree_last(a: &Matrix, seed: u64) -> Result<Vector<u32>> {
    // lost = leaves plus.pair A
    let lost = |leaves: &Set| leaves.vxm(a, PLUS_PAIR).eval();
    match a.names() {
        Some(names) => peeled(a.degrees()?, names, seed, lost),
        None => peeled(a.degrees()?, numbers(a.nrows()), seed, lost),
    }
}

/// Keys by the round in which vertices are removed, the last highest, and by the hash within a round. `lost` counts for each vertex how much
/// of its degree is lost with a set of vertices.
fn peeled(
    mut degree: Vector<u32>,
    number: impl Expr<T = u32>,
    seed: u64,
    lost: impl Fn(&Set) -> Result<Vector<u32>>,
) -> Result<Vector<u32>> {
    let n = degree.len();
    let (mut left, mut round) = (Set::all(n), Vector::full(n, 0u32));
    let (nothing, mut k, mut rounds) = (Set::new(n), 0, 0);
    while left.nvals() > 0 {
        // k = the least degree of the vertices left, or k if that is greater
        k = degree.mask(&left).reduce(MIN)?.max(k);
        // leaves<left> = {v : degree[v] <= k}
        let mut leaves = degree.mask(&left).select(LE.bind(k)).pattern().eval()?;
        while leaves.nvals() > 0 {
            rounds += 1;
            // round<leaves> = rounds
            fill(rounds, n).mask(&leaves).assign_to(&mut round)?;
            // left<leaves> = {}
            nothing.mask(&leaves).assign_to(&mut left)?;
            // lost<left> = what the vertices left lose with the leaves
            let lost = lost(&leaves)?.mask(&left).eval()?;
            // degree<lost> -= lost
            lost.accum(MINUS).assign_to(&mut degree)?;
            // leaves<lost> = {v : degree[v] <= k}
            leaves = degree.mask(&lost).select(LE.bind(k)).pattern().eval()?;
        }
    }
    // key = (round, hash); each vertex was removed in some round
    keys(Layout::EXACT, (&round).or(0), number.map(mix.bind(seed)), n)
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
            // possible degrees, all of the low ones
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
    fn hashes_can_be_undone() {
        for seed in [0, 1, 7 << 40, u64::MAX] {
            for v in (0..1000).chain([1 << 31, u32::MAX - 1, u32::MAX]) {
                assert_eq!(unmix(mix(v, seed), seed), v, "seed {seed}");
            }
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
        // another seed gives another order
        let order = |seed| (0..64).map(|v| scramble(v, keyed(seed, Layout::new(64).unwrap()))).collect::<Vec<_>>();
        assert!(order(1) != order(2) && order(1 << 33) != order(1 << 34));
    }
}
