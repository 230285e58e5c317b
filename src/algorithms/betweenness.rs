//! Betweenness by Brandes' method: shortest paths are counted level by level, and dependencies are summed up in reverse. See
//! `docs/algorithms/betweenness.md`.

use crate::prelude::*;

/// What a vertex passes on to each of its predecessors, for each path that leads there.
#[op]
fn share(dependency: f64, paths: f64) -> f64 {
    (1.0 + dependency) / paths
}

/// The betweenness of each vertex of an undirected graph: over all pairs of other vertices, the sum of the shares of their shortest paths that
/// lead through it. With fewer sources than vertices it is an estimate, by the paths from the sources alone.
///
/// It is Brandes' method ("A faster algorithm for betweenness centrality"), with the estimate of Brandes and Pich ("Centrality estimation in
/// large networks"): the sum over the sources times `n / (2 * sources)`, since each pair is met from both ends.
///
/// O(n + nnz) time for each source, and a few verbs for each level of its search. Sums run over the engine's fixed tree, and over the sources in
/// their order, so the result has the same bits on every device and number of threads.
///
/// ```
/// use vxm::algorithms::betweenness;
/// use vxm::prelude::*;
///
/// // a path of four, and all vertices as sources
/// let path = Matrix::undirected(4, &[(0, 1), (1, 2), (2, 3)])?;
/// assert_eq!(betweenness(&path, &[0, 1, 2, 3])?, Vector::from_dense(vec![0.0, 2.0, 2.0, 0.0]));
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square or symmetric. A source is no vertex. Two vertices have more shortest paths than `f64` can count, 1.8e308.
pub fn betweenness(a: &Matrix, sources: &[u32]) -> Result<Vector<f64>> {
    let a = &*a.to_graph()?;
    let mut sum = Vector::full(a.nrows(), 0.0f64);
    for &source in sources {
        dependencies(a, source)?.accum(PLUS).assign_to(&mut sum)?;
    }
    if !sum.reduce(PLUS)?.is_finite() {
        return Err(Error::invalid("betweenness: two vertices have more shortest paths than f64 can count, 1.8e308"));
    }
    let scale = a.nrows() as f64 / (2 * sources.len().max(1)) as f64;
    sum.map(TIMES.bind(scale)).eval()
}

/// The dependency of a source on each vertex: over all other vertices, the sum of the shares of their shortest paths from the source that lead
/// through it.
fn dependencies(a: &Matrix, source: u32) -> Result<Vector<f64>> {
    let n = a.nrows();
    let mut level = Set::from_indices(n, [source])?;
    let mut paths = Vector::from_pairs(n, [(source, 1.0f64)])?;
    let mut levels = Vec::new();
    loop {
        // level<!paths> = level any.pair A
        level = level.vxm(a, ANY_PAIR).mask(!&paths).eval()?;
        if level.nvals() == 0 {
            break;
        }
        // paths<level> = paths plus.first A: of a vertex' neighbours, just those of the level before have paths yet
        let more = paths.vxm(a, PLUS_FIRST).mask(&level).eval()?;
        more.mask(&level).assign_to(&mut paths)?;
        levels.push(level.clone());
    }
    let (mut shares, mut sum) = (Vector::new(n), Vector::new(n));
    for level in levels.iter().rev() {
        // d<level> = (shares plus.first A) * paths: of a vertex' neighbours, just those of the level behind have shares yet
        let d = shares.vxm(a, PLUS_FIRST).ewise_mult(&paths, TIMES).mask(level).eval()?;
        // shares<level> = (1 + d) / paths
        share.map2(d.or(0.0), &paths).mask(level).assign_to(&mut shares)?;
        // sum<level> = d
        d.mask(level).assign_to(&mut sum)?;
    }
    Ok(sum)
}
