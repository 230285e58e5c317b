//! PageRank: the power method over plus.first, pulled. See `docs/algorithms/pagerank.md`.

use crate::algorithms::options::options;
use crate::prelude::*;

/// The type of ranks: `f32` or `f64`.
pub trait Rank: lowered::Float {
    /// The type of [`COUNT`](Self::COUNT).
    type Count: UnaryOp<u32, Out = Self>;
    /// The operator that makes a rank of a count.
    const COUNT: Self::Count;
    /// The nearest rank to a number.
    fn nearest(number: f64) -> Self;
}

macro_rules! ranks {
    ($($t:ident, $count:ident;)*) => {$(
        /// A count as a float.
        #[op]
        pub fn $count(count: u32) -> $t {
            count as $t
        }
        impl Rank for $t {
            type Count = $count;
            const COUNT: $count = $count;
            fn nearest(number: f64) -> Self {
                number as $t
            }
        }
    )*};
}
ranks! {
    f32, count_f32;
    f64, count_f64;
}

options! {
    /// The options of [`pagerank`].
    ///
    /// ```
    /// use vxm::algorithms::PageRankOptions;
    ///
    /// let options = PageRankOptions::default().rounds(100).tolerance(1e-6);
    /// assert_eq!((options.damping, options.rounds, options.tolerance), (0.85, 100, 1e-6));
    /// ```
    #[derive(Debug, Clone, PartialEq)]
    PageRankOptions {
        /// The share of a rank that follows edges; the rest goes to the `sources`. At least 0, below 1.
        damping: f64,
        /// The most rounds.
        rounds: u32,
        /// The method ends once the absolute changes of a round sum up to less than this; 0 always takes `rounds`.
        tolerance: f64,
        /// The vertices that ranks are personalised for: a walk starts at one of them, and starts anew there. `None` takes all vertices.
        sources: Option<Set>,
    }
}

impl Default for PageRankOptions {
    /// A damping of 0.85 and 20 rounds.
    fn default() -> Self {
        Self { damping: 0.85, rounds: 20, tolerance: 0.0, sources: None }
    }
}

/// The ranks of vertices.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PageRank<T: Element> {
    /// The rank of each vertex. Ranks sum up to 1, but for rounding.
    pub ranks: Vector<T>,
    /// How many rounds were taken. Part of the answer: rounds are synchronous, and sums have the same bits everywhere.
    pub rounds: u32,
    /// The sum of the absolute changes in the last round; infinite if it wasn't asked for by a tolerance.
    pub change: T,
}

/// The probability that a random walk is at each vertex: it follows an entry `a[from, to]` with probability `damping`, and else starts
/// anew. A walk at a vertex without out-edges always starts anew.
///
/// Each round takes O(n + nnz) time. Sums run over the engine's fixed tree, so the ranks have the same bits on every device and number of
/// threads.
///
/// ```
/// use vxm::algorithms::{PageRankOptions, pagerank};
/// use vxm::prelude::*;
///
/// // a cycle: all are equal
/// let a = Matrix::from_triples(4, 4, [(0, 1, ()), (1, 2, ()), (2, 3, ()), (3, 0, ())])?;
/// assert_eq!(pagerank::<f32>(&a, &PageRankOptions::default())?.ranks, Vector::full(4, 0.25));
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square; the damping isn't in 0 to 1 (1 excluded); the tolerance is negative or NaN; there are no sources, or their
/// number of places isn't that of the vertices.
pub fn pagerank<T: Rank>(a: &Matrix, options: &PageRankOptions) -> Result<PageRank<T>> {
    let a = &*a.to_digraph()?;
    let n = a.nrows();
    let start = start::<T>(n, options)?;
    let (damping, rest) = (T::nearest(options.damping), T::nearest(1.0 - options.damping));
    let (degree, tolerance) = (a.degrees()?, T::nearest(options.tolerance));
    // share[i] = damping / degree[i], 0 where degree[i] = 0
    let share = degree.map(T::COUNT).map(DIV.bind_first(damping)).mask(degree.values()).or(T::ZERO).eval()?;
    let dangling = degree.select(EQ.bind(0)).pattern().eval()?;
    let (mut ranks, mut rounds, mut change) = (start.clone(), 0, T::nearest(f64::INFINITY));
    while rounds < options.rounds && (rounds == 0 || change >= tolerance) {
        rounds += 1;
        // lost = the sum of r over vertices without out-edges
        let lost = if dangling.nvals() > 0 { ranks.mask(&dangling).reduce(PLUS)? } else { T::ZERO };
        // r' = ((r * share) plus.first A) + (1 - damping + damping * lost) * start
        let spread = ranks.ewise_mult(&share, TIMES).eval()?;
        let anew = PLUS.call(rest, TIMES.call(damping, lost));
        let next = spread.vxm(a, PLUS_FIRST).or(T::ZERO).ewise_mult(start.map(TIMES.bind(anew)), PLUS).eval()?;
        if options.tolerance > 0.0 {
            // change = the sum of |r' - r|
            change = next.ewise_mult(&ranks, MINUS).map(ABS).reduce(PLUS)?;
        }
        ranks = next;
    }
    Ok(PageRank { ranks, rounds, change })
}

/// Where a walk starts: the same probability at each source, 0 elsewhere. Checks the options.
fn start<T: Rank>(n: usize, options: &PageRankOptions) -> Result<Vector<T>> {
    let PageRankOptions { damping, tolerance, sources, .. } = options;
    if !(0.0..1.0).contains(damping) {
        return Err(Error::invalid(format!("pagerank: damping {damping}: expected a number from 0 to 1, 1 excluded")));
    }
    if !(0.0..).contains(tolerance) {
        return Err(Error::invalid(format!("pagerank: tolerance {tolerance}: expected a number from 0 on")));
    }
    let Some(sources) = sources else {
        // start = 1 / n
        return fill(T::nearest(1.0 / n.max(1) as f64), n).eval();
    };
    if Vector::len(sources) != n {
        return Err(Error::shape(
            "pagerank",
            format!("graph of {n} vertices"),
            format!("{} places", Vector::len(sources)),
        ));
    }
    if sources.nvals() == 0 {
        return Err(Error::invalid("pagerank: no sources: expected at least one vertex"));
    }
    // start<sources> = 1 / |sources|, 0 elsewhere
    fill(T::nearest(1.0 / sources.nvals() as f64), n).mask(sources).or(T::ZERO).eval()
}
