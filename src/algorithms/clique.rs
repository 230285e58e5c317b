//! Maximal cliques around all vertices at once. See `docs/algorithms/clique.md`.

use crate::prelude::*;

/// A maximal clique: all members are neighbours of each other, and no other vertex is a neighbour of all.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Clique {
    /// The members of the largest clique that was found.
    pub members: Set,
    /// The number of members of the clique that was found around each vertex.
    pub sizes: Vector<u32>,
}

/// Two numbers of a vertex: the highest key among its candidates, or 0, and its own key.
#[op]
fn highest_and_key(highest: u32, key: u32) -> u64 {
    ((highest as u64) << 32u32) | (key as u64)
}

/// Whether `other` is the candidate of the highest key of `own`.
#[op]
fn picks(own: u64, other: u64) -> bool {
    (own >> 32u32) as u32 == other as u32
}

/// A large maximal clique of an undirected graph, by a greedy search around every vertex at once.
///
/// A search begins with one vertex, and its neighbours as candidates. It adds the candidate with the highest key, and keeps the candidates
/// that are neighbours of that one, until none is left. The largest clique is the answer, of equals that of the least vertex. To find the
/// greatest clique of a graph is NP-hard.
///
/// `key` gives the order, for example that of [`priority::smallest_degree_last`](crate::algorithms::priority::smallest_degree_last), which
/// prefers dense parts. Keys are distinct and above 0. There is a round fewer than the largest clique found has members. A round takes a
/// product of each vertex' pick with its candidates: at most O(nnz log n) time, and mostly far less than the round before.
///
/// ```
/// use vxm::algorithms::{maximal_clique, priority::smallest_degree_last};
/// use vxm::prelude::*;
///
/// // a triangle with a tail
/// let a = Matrix::undirected(5, &[(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)])?;
/// let found = maximal_clique(&a, &smallest_degree_last(&a, 0)?)?;
/// assert_eq!(found.members, Set::from_indices(5, [0, 1, 2])?);
/// assert_eq!(found.sizes.get(4), Some(2));
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square or symmetric; `key` doesn't hold one key for each vertex, or a key of 0.
#[track_caller]
pub fn maximal_clique(a: &Matrix, key: &Vector<u32>) -> Result<Clique> {
    let a = &*a.to_graph()?;
    let n = a.nrows();
    check_keys(n, key)?;
    // C[v, u]: u is a candidate of v
    let (mut candidates, mut sizes) = (a.clone(), fill(1, n).eval()?);
    while candidates.nnz() > 0 {
        // highest = C max.second key; P[v, u] = C[v, u] where highest[v] = key[u]
        let highest = candidates.mxv(key, MAX_SECOND).or_identity().eval()?;
        let pick = candidates.oriented(picks, &highest_and_key.map2(&highest, key).eval()?).into_matrix()?;
        // sizes += 1 where there was a candidate
        sizes = sizes.ewise_add(highest.select(GT.bind(0)).map(SECOND.bind(1)), PLUS).eval()?;
        // C<C> = P any.pair A
        candidates = pick.mxm(a, ANY_PAIR).mask(&candidates).eval()?;
    }
    // around = the least vertex of the largest clique, or u32::MAX if there is no vertex
    let most = sizes.reduce(MAX)?;
    let around = fill((), n).map_index(FIRST).mask(sizes.select(EQ.bind(most)).pattern()).reduce(MIN)?;
    Ok(Clique { members: clique_around(a, key, around)?, sizes })
}

/// The clique that the search around a vertex finds.
fn clique_around(a: &Matrix, key: &Vector<u32>, vertex: u32) -> Result<Set> {
    let n = a.nrows();
    let mut added = Set::from_indices(n, Some(vertex).filter(|&vertex| (vertex as usize) < n))?;
    let (mut members, mut candidates) = (added.clone(), Set::all(n));
    while added.nvals() > 0 {
        // candidates<added any.pair A> = candidates
        candidates = added.vxm(a, ANY_PAIR).mask(&candidates).eval()?;
        // added = the candidate with the highest key
        let highest = key.mask(&candidates).reduce(MAX)?;
        added = key.mask(&candidates).select(EQ.bind(highest)).pattern().eval()?;
        members = members.ewise_add(&added, ANY).eval()?;
    }
    Ok(members)
}

/// Checks that there is a key above 0 for each of `n` vertices.
#[track_caller]
fn check_keys(n: usize, key: &Vector<u32>) -> Result<()> {
    if (key.len(), key.nvals()) != (n, n) {
        let found = format!("{} keys at {} places", key.nvals(), key.len());
        return Err(Error::shape("maximal_clique", format!("graph of {n} vertices"), found));
    }
    if n > 0 && key.reduce(MIN)? == 0 {
        return Err(Error::invalid("maximal_clique: a key of 0: expected keys above 0"));
    }
    Ok(())
}
