//! Communities of great modularity, by Louvain's method in synchronous rounds. See `docs/algorithms/communities.md`.

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

/// An edge's weight.
#[op]
fn one(_edge: ()) -> f64 {
    1.0
}

/// Whether a vertex moves: it gains, to a community on the side of this round.
#[op]
fn moves(gains: bool, home: u32, target: u32) -> bool {
    gains && target < home
}

/// Communities of great modularity in an undirected graph.
///
/// The modularity is the share of edges inside communities, less the share that is expected if ends of edges were drawn at random by degree.
/// It is Louvain's method (Blondel, Guillaume, Lambiotte and Lefebvre, "Fast unfolding of communities in large networks"). Vertices move to the
/// community of the greatest gain, until moves gain less than `tolerance`. Then communities become vertices, and so on.
///
/// Rounds are synchronous: all vertices see the communities before the round. In turn they move only to communities with lesser and with greater
/// numbers, as two vertices might swap otherwise. A round that doesn't raise the modularity is undone. So the modularity never falls.
///
/// A round takes the time of two products of the graph with the matrix of its communities, O(nnz log(row)).
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
    let (n, mut graph, mut rounds) = (a.nrows(), a.map(one)?, 0);
    let own = fill(0u32, n).map_index(FIRST).eval()?;
    let (mut home, mut modularity) = (own.clone(), 0.0);
    loop {
        // settled = the communities of the graph's vertices; home = settled[home]
        let settled = settle(&graph, &own, tolerance)?;
        rounds += settled.rounds;
        modularity = if a.nnz() > 0 { settled.modularity } else { modularity };
        home = settled.home.gather(&home).eval()?;
        if settled.home == own {
            break;
        }
        // G = S' G S, where S[v, settled[v]] = 1: communities become vertices
        let s = Matrix::membership(&settled.home, n)?;
        graph = s.transpose().mxm(&graph.mxm(&s, PLUS_FIRST).eval()?, PLUS_SECOND).eval()?;
    }
    // least[c] = the least vertex of c; labels = least[home]
    let least = own.scatter_by(&home, n, MIN)?;
    Ok(Communities { labels: least.gather(&home).eval()?, count: least.nvals() as u32, modularity, rounds })
}

/// Communities of the vertices of a graph with weights, each named by a vertex.
struct Settled {
    home: Vector<u32>,
    modularity: f64,
    rounds: u32,
}

/// Moves vertices until a round in each direction gains at most `tolerance`. At first each vertex is in its own community.
fn settle(graph: &Matrix<f64>, own: &Vector<u32>, tolerance: f64) -> Result<Settled> {
    let links = graph.select(OFFDIAG)?;
    let degree = graph.reduce_rows(PLUS)?.or(0.0).eval()?;
    let total = degree.reduce(PLUS)?;
    let (mut home, mut rounds, mut idle, mut up) = (own.clone(), 0, 0, false);
    let mut best = modularity(graph, &degree, &home, total)?;
    while idle < 2 && total > 0.0 {
        rounds += 1;
        let next = moved(&links, &degree, &home, total, up)?;
        let found = modularity(graph, &degree, &next, total)?;
        (idle, up) = (if found > best + tolerance { 0 } else { idle + 1 }, !up);
        if found > best {
            (home, best) = (next, found);
        }
    }
    Ok(Settled { home, modularity: best, rounds })
}

/// The communities after a round: each vertex moves to the community of the greatest gain, the least among equals, if it is on the side `up`.
fn moved(links: &Matrix<f64>, degree: &Vector<f64>, home: &Vector<u32>, total: f64, up: bool) -> Result<Vector<u32>> {
    let s = Matrix::membership(home, home.len())?;
    // W = links plus.first S: the weight of the links between each vertex and each community
    let to = links.mxm(&s, PLUS_FIRST).eval()?;
    // volume[c] = the sum of the degrees in c
    let volume = degree.scatter_by(home, degree.len(), PLUS)?.or(0.0).eval()?;
    // G<!S> = W[v, c] - degree[v] * volume[c] / total
    let expected = to.map_ends(FIRST, degree)?.ewise_mult(&to.map_ends(SECOND, &volume)?, TIMES)?;
    let gains = to.ewise_mult(&expected.map(DIV.bind(total))?, MINUS)?.masked(!&s)?;
    // stay[v] = W[v, home[v]] - degree[v] * (volume[home[v]] - degree[v]) / total
    let inside = to.masked(&s)?.reduce_rows(PLUS)?.or(0.0).eval()?;
    let rest = volume.gather(home).ewise_mult(degree, MINUS).ewise_mult(degree, TIMES).map(DIV.bind(total)).eval()?;
    let stay = inside.ewise_mult(&rest, MINUS).eval()?;
    // home<G max. > stay> = argmax G
    let (target, most) = (gains.argmax_rows()?, gains.reduce_rows(MAX)?);
    let leaves = most.ewise_mult(&stay, GT).eval()?;
    let (lesser, greater) = (moves.map3(&leaves, home, &target), moves.map3(&leaves, &target, home));
    let movers = if up { greater.eval()? } else { lesser.eval()? };
    let mut next = home.clone();
    target.mask(movers.values()).assign_to(&mut next)?;
    Ok(next)
}

/// The modularity of communities: the sum over all of `inside / total - (volume / total)^2`. 0 without edges.
fn modularity(graph: &Matrix<f64>, degree: &Vector<f64>, home: &Vector<u32>, total: f64) -> Result<f64> {
    let s = Matrix::membership(home, home.len())?;
    // W<S> = G plus.first S
    let inside = graph.mxm(&s, PLUS_FIRST).mask(&s).eval()?.reduce(PLUS)?;
    let volume = degree.scatter_by(home, degree.len(), PLUS)?.map(DIV.bind(total)).eval()?;
    Ok(if total > 0.0 { inside / total - volume.ewise_mult(&volume, TIMES).reduce(PLUS)? } else { 0.0 })
}
