//! Communities of great modularity, by Louvain's method in synchronous rounds. See `docs/algorithms/communities.md`.

use crate::algorithms::priority::mix;
use crate::prelude::*;

/// Communities of a graph.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Communities {
    /// The community of each vertex: the least vertex in it.
    pub labels: Vector<u32>,
    /// The number of communities.
    pub count: u32,
    /// The modularity; 0 if there are no edges.
    pub modularity: f64,
    /// How many rounds were tried, on all levels. Part of the answer: rounds are synchronous.
    pub rounds: u32,
}

/// After so many rounds in a row that gain nothing to speak of, no vertex of a level moves any more: two try both directions of moves, and a
/// third comes by another order, with fewer vertices.
const PATIENCE: u32 = 3;

/// An edge's weight.
#[op]
fn one(_edge: ()) -> f64 {
    1.0
}

/// What a vertex gains in its own community, where `volume` is the share of the others in it.
#[op]
fn stay(inside: f64, degree: f64, volume: f64) -> f64 {
    inside - degree * volume
}

/// A share of all degrees, without that of one vertex.
#[op]
fn without(volume: f64, degree: f64, total: f64) -> f64 {
    volume - degree / total
}

/// The degree of a vertex, and the share of all degrees that the community of the same number has.
#[scalar]
struct Shares {
    degree: f64,
    volume: f64,
}

/// Both of them.
#[op]
fn shares(degree: f64, volume: f64) -> Shares {
    Shares { degree, volume }
}

/// The weight that links of a vertex with a community are expected to have.
#[op]
fn expected(vertex: Shares, community: Shares) -> f64 {
    vertex.degree * community.volume
}

/// Whether `one` comes before `other` in a random order.
#[op]
fn is_before(one: u32, other: u32, seed: u64) -> bool {
    mix(one, seed) < mix(other, seed)
}

/// Communities of great modularity in an undirected graph.
///
/// The modularity is the share of edges inside communities, less the share that is expected if ends of edges were drawn at random by degree.
/// It is Louvain's method (Blondel, Guillaume, Lambiotte and Lefebvre, "Fast unfolding of communities in large networks"). Vertices move to the
/// community of the greatest gain, until moves gain less than `tolerance`. Then communities become vertices, and so on.
///
/// Rounds are synchronous: all vertices see the communities before the round. Two vertices might swap, and chains of them follow each other. So a hash
/// orders the communities anew for each two rounds. In the first of them vertices move only to communities that come later, in the second to earlier ones.
/// A round that doesn't raise the modularity is undone, and half as many vertices may move in the next. So the modularity never falls.
///
/// A round takes the time of a product of the graph with the matrix of its communities, O(nnz) expected. On a path there are O(log n) rounds.
///
/// ```
/// use vxm::algorithms::communities;
/// use vxm::prelude::*;
///
/// // two triangles, joined by an edge
/// let a = Matrix::undirected(6, &[(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)])?;
/// let found = communities(&a, 1e-6)?;
/// assert_eq!(found.labels, Vector::from_dense(vec![0, 0, 0, 3, 3, 3]));
/// assert!((found.modularity - 5.0 / 14.0).abs() < 1e-12);
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square or symmetric. The tolerance is negative or NaN. A product doesn't fit into memory.
pub fn communities(a: &Matrix, tolerance: f64) -> Result<Communities> {
    if !(0.0..).contains(&tolerance) {
        return Err(Error::invalid(format!("communities: tolerance {tolerance}: expected a number from 0 on")));
    }
    let a = &*a.to_graph()?;
    let (own, mut graph, mut rounds) = (numbers(a.nrows()).eval()?, a.map(one)?, 0);
    let (mut home, mut modularity) = (own.clone(), 0.0);
    loop {
        let settled = settle(&graph, tolerance)?;
        rounds += settled.rounds;
        modularity = if a.nnz() > 0 { settled.modularity } else { modularity };
        // number = 0, 1, .. for the communities that have vertices
        let (k, home_of) = (graph.nrows(), settled.home);
        let number = numbers(k).eval()?.scatter_by(&home_of, k, MIN)?.pattern().map_index(FIRST).eval()?.rank()?;
        let (count, numbered) = (number.nvals(), number.gather(&home_of).eval()?);
        if count == k {
            break;
        }
        // home = numbered[home]; G = S' G S, where S[v, numbered[v]] = 1: communities become vertices
        home = numbered.gather(&home).eval()?;
        let s = Matrix::membership(&numbered, k)?;
        graph = s.transpose().mxm(&graph.mxm(&s, PLUS_FIRST).eval()?, PLUS_SECOND).eval()?;
        graph = graph.extract_range(0..count, 0..count)?;
    }
    // least[c] = the least vertex of c; labels = least[home]
    let least = own.scatter_by(&home, a.nrows(), MIN)?;
    Ok(Communities { labels: least.gather(&home).eval()?, count: least.nvals() as u32, modularity, rounds })
}

/// The numbers of `n` vertices: 0, 1, 2 and so on.
fn numbers(n: usize) -> impl Expr<T = u32> {
    fill((), n).map_index(FIRST)
}

/// A graph with weights, without what links a vertex to itself.
struct Level {
    links: Matrix<f64>,
    degree: Vector<f64>,
    /// The weight of all links from both ends, and the weight that links vertices to themselves.
    total: f64,
    loops: f64,
}

/// What is known of communities of a level's vertices.
struct Parts {
    /// The weight of the links between each vertex and each community.
    links: Matrix<f64>,
    /// The weight of the links of each vertex within its community.
    inside: Vector<f64>,
    /// The share of all degrees that a community has.
    volume: Vector<f64>,
    modularity: f64,
}

/// Where each vertex would move if it were alone.
struct Wishes {
    /// The community of its greatest gain.
    target: Vector<u32>,
    /// Whether it gains more there than in its own.
    leaves: Vector<bool>,
}

/// What a level comes to: communities, each named by a vertex.
struct Settled {
    home: Vector<u32>,
    modularity: f64,
    rounds: u32,
}

/// Moves vertices until [`PATIENCE`] rounds have gained at most `tolerance` each. At first each vertex is in its own community.
fn settle(graph: &Matrix<f64>, tolerance: f64) -> Result<Settled> {
    let (links, degree) = (graph.select(OFFDIAG)?, graph.reduce_rows(PLUS)?.or(0.0).eval()?);
    let (total, linked) = (degree.reduce(PLUS)?, links.reduce(PLUS)?);
    let level = Level { links, degree, total, loops: total - linked };
    let mut home = numbers(graph.nrows()).eval()?;
    let first = parts(&level, &home)?;
    let (mut modularity, mut rounds, mut idle, mut halvings) = (first.modularity, 0, 0, 0);
    if total == 0.0 {
        return Ok(Settled { home, modularity, rounds });
    }
    let mut wishes = wished(&level, &home, first)?;
    loop {
        let next = moved(&home, &wishes, (rounds, halvings))?;
        let found = parts(&level, &next)?;
        rounds += 1;
        idle = if found.modularity > modularity + tolerance { 0 } else { idle + 1 };
        let is_kept = found.modularity > modularity;
        (home, modularity, halvings) = match is_kept {
            true => (next, found.modularity, halvings.saturating_sub(1)),
            false => (home, modularity, halvings + 1),
        };
        if idle == PATIENCE {
            return Ok(Settled { home, modularity, rounds });
        }
        if is_kept {
            wishes = wished(&level, &home, found)?;
        }
    }
}

/// Where each vertex gains most: the least community among equals.
fn wished(level: &Level, home: &Vector<u32>, now: Parts) -> Result<Wishes> {
    let Level { degree, total, .. } = level;
    let Parts { links, inside, volume, .. } = now;
    // G = W[v, c] - degree[v] * volume[c]; less than what a vertex really gains in its own community
    let chance = links.map_ends(expected, &shares.map2(degree, &volume).eval()?)?;
    let gains = links.ewise_mult(&chance, MINUS)?;
    let (target, most) = (gains.argmax_rows()?, gains.reduce_rows(MAX)?);
    // stay[v] = inside[v] - degree[v] * (volume[home[v]] - degree[v] / total)
    let others = without.map3(volume.gather(home), degree, fill(*total, degree.len()));
    let leaves = most.ewise_mult(stay.map3(&inside, degree, others), GT).eval()?;
    Ok(Wishes { target, leaves })
}

/// The communities after a round: a vertex moves to its best one, if it gains more there than in its own, if it may go in that direction, and if its lot is
/// in the part that `halvings` leave.
fn moved(home: &Vector<u32>, wishes: &Wishes, (round, halvings): (u32, u32)) -> Result<Vector<u32>> {
    let (n, Wishes { target, leaves }) = (home.len(), wishes);
    // in order: from an earlier to a later community in each even round, from a later to an earlier one in each odd round
    let (seeds, up) = (fill(u64::from(round / 2), n), round.is_multiple_of(2));
    let in_order = if up { is_before.map3(home, target, seeds) } else { is_before.map3(target, home, seeds) };
    let drawn = fill(u64::from(round), n).map_index(mix).map(LE.bind(u32::MAX >> halvings.min(31)));
    // home<leaves and in order and drawn> = target
    let movers = leaves.ewise_mult(in_order, LAND).ewise_mult(drawn, LAND).eval()?;
    let mut next = home.clone();
    target.mask(movers.values()).assign_to(&mut next)?;
    Ok(next)
}

/// What is known of communities. Their modularity is the sum over all of `inside / total - volume^2`; 0 without edges.
fn parts(level: &Level, home: &Vector<u32>) -> Result<Parts> {
    let Level { links, degree, total, loops } = level;
    // volume[c] = the sum of the degrees in c, as a share of all
    let volume = degree.scatter_by(home, home.len(), PLUS)?.or(0.0).map(DIV.bind(*total)).eval()?;
    // W = links plus.first S; inside[v] = W[v, home[v]]
    let s = Matrix::membership(home, home.len())?;
    let links = links.mxm(&s, PLUS_FIRST).eval()?;
    let inside = links.masked(&s)?.reduce_rows(PLUS)?.or(0.0).eval()?;
    let within = (inside.reduce(PLUS)? + loops) / total;
    let modularity = if *total > 0.0 { within - volume.ewise_mult(&volume, TIMES).reduce(PLUS)? } else { 0.0 };
    Ok(Parts { links, inside, volume, modularity })
}
