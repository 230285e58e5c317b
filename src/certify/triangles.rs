//! Triangles by Latapy's "compact-forward" method, and trusses by peeling edges one at a time.

use crate::certify::{Violation, neighbors, same_length};

/// The number of triangles at each vertex of an undirected graph without self-loops: "compact-forward" (Latapy 2008). Vertices are numbered
/// by falling degree; each edge is taken from its end of the greater number, and the lesser numbers of both rows are merged. O(nnz^1.5) time.
///
/// ```
/// // a triangle with a tail
/// let (offsets, columns) = ([0, 2, 4, 7, 8], [1, 2, 0, 2, 0, 1, 3, 2]);
/// assert_eq!(vxm::certify::triangle_counts(&offsets, &columns), [1, 1, 1, 0]);
/// ```
pub fn triangle_counts(offsets: &[u64], columns: &[u32]) -> Vec<u64> {
    let n = offsets.len().saturating_sub(1);
    let degree = |v: usize| offsets[v + 1] - offsets[v];
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_unstable_by_key(|&v| (core::cmp::Reverse(degree(v)), v));
    let mut number = vec![0u32; n];
    (0u32..).zip(&order).for_each(|(place, &v)| number[v] = place);
    // of each vertex, by its number: the lesser numbers of its neighbours, ascending
    let lesser: Vec<Vec<u32>> = (0u32..)
        .zip(&order)
        .map(|(own, &v)| {
            let mut row: Vec<u32> =
                neighbors(offsets, columns, v).iter().map(|&u| number[u as usize]).filter(|&u| u < own).collect();
            row.sort_unstable();
            row
        })
        .collect();
    let mut counts = vec![0u64; n];
    for (own, row) in lesser.iter().enumerate() {
        for &other in row {
            let (mut at, mut to) = (0, 0);
            let theirs = &lesser[other as usize];
            while at < row.len() && to < theirs.len() {
                let (x, y) = (row[at], theirs[to]);
                if x == y {
                    [own, other as usize, x as usize].into_iter().for_each(|corner| counts[order[corner]] += 1);
                }
                at += usize::from(x <= y);
                to += usize::from(y <= x);
            }
        }
    }
    counts
}

/// Checks that `answer` holds the number of triangles at each vertex of an undirected graph without self-loops. Returns the number of
/// triangles of the graph.
///
/// ```
/// use vxm::certify::{Violation, triangles};
/// let (offsets, columns) = ([0, 2, 4, 7, 8], [1, 2, 0, 2, 0, 1, 3, 2]);
/// assert_eq!(triangles(&offsets, &columns, &[1, 1, 1, 0]), Ok(1));
/// let wrong = triangles(&offsets, &columns, &[1, 1, 1, 1]);
/// assert_eq!(wrong, Err(Violation::Triangles { vertex: 3, answer: 1, triangles: 0 }));
/// ```
///
/// # Errors
/// The [`Violation`] at the least vertex that has one.
pub fn triangles(offsets: &[u64], columns: &[u32], answer: &[u64]) -> Result<u64, Violation> {
    same_length(offsets, answer.len())?;
    let found = triangle_counts(offsets, columns);
    match (0..answer.len()).find(|&vertex| answer[vertex] != found[vertex]) {
        Some(vertex) => Err(Violation::Triangles { vertex, answer: answer[vertex], triangles: found[vertex] }),
        None => Ok(found.into_iter().sum::<u64>() / 3),
    }
}

/// Checks that `answer` holds the local clustering coefficient of each vertex: twice its triangles, over its degree times one less than it,
/// rounded once; 0 below degree 2. Returns the mean, 0 without vertices.
///
/// ```
/// use vxm::certify::{Violation, clustering};
/// let (offsets, columns) = ([0, 2, 4, 7, 8], [1, 2, 0, 2, 0, 1, 3, 2]);
/// assert_eq!(clustering(&offsets, &columns, &[1.0, 1.0, 1.0 / 3.0, 0.0]), Ok(7.0 / 12.0));
/// let wrong = clustering(&offsets, &columns, &[1.0, 0.5, 1.0 / 3.0, 0.0]);
/// assert_eq!(wrong, Err(Violation::Clustering { vertex: 1, answer: 0.5, coefficient: 1.0 }));
/// ```
///
/// # Errors
/// The [`Violation`] at the least vertex that has one.
pub fn clustering(offsets: &[u64], columns: &[u32], answer: &[f64]) -> Result<f64, Violation> {
    same_length(offsets, answer.len())?;
    let counts = triangle_counts(offsets, columns);
    let coefficient = |v: usize| {
        let degree = offsets[v + 1] - offsets[v];
        if degree < 2 { 0.0 } else { (2 * counts[v]) as f64 / (degree * (degree - 1)) as f64 }
    };
    match (0..answer.len()).find(|&v| answer[v].to_bits() != coefficient(v).to_bits()) {
        Some(vertex) => Err(Violation::Clustering { vertex, answer: answer[vertex], coefficient: coefficient(vertex) }),
        None => Ok(answer.iter().sum::<f64>() / answer.len().max(1) as f64),
    }
}

/// The graph of a truss while it is peeled.
struct Peeling<'a> {
    offsets: &'a [u64],
    columns: &'a [u32],
    /// Of each entry, whether it is left.
    left: Vec<bool>,
    /// Of each entry, the triangles that are left of it.
    support: Vec<u32>,
}

impl Peeling<'_> {
    /// The entry of row `v` in column `u`, if there is one.
    fn entry(&self, v: u32, u: u32) -> Option<usize> {
        let start = self.offsets[v as usize] as usize;
        let found = neighbors(self.offsets, self.columns, v as usize).binary_search(&u);
        found.ok().map(|place| start + place)
    }

    /// Calls `f` with the entries `(v, w)` and `(u, w)` of each common neighbour `w` that is left.
    fn each_triangle(&self, (v, u): (u32, u32), mut f: impl FnMut(usize, usize, u32)) {
        let row = |v: u32| (self.offsets[v as usize] as usize, neighbors(self.offsets, self.columns, v as usize));
        // the shorter row is read, the longer one searched
        let swapped = row(v).1.len() > row(u).1.len();
        let (short, long) = if swapped { (u, v) } else { (v, u) };
        let (start, ws) = row(short);
        for (place, &w) in ws.iter().enumerate().filter(|(place, _)| self.left[start + place]) {
            if let Some(other) = self.entry(long, w).filter(|&other| self.left[other]) {
                let (from_v, from_u) = if swapped { (other, start + place) } else { (start + place, other) };
                f(from_v, from_u, w);
            }
        }
    }

    /// Sets the support of an entry and of its opposite.
    fn set(&mut self, (v, u): (u32, u32), change: impl Fn(u32) -> u32) -> u32 {
        let entries = [self.entry(v, u), self.entry(u, v)];
        entries.into_iter().flatten().for_each(|entry| self.support[entry] = change(self.support[entry]));
        entries[0].map_or(0, |entry| self.support[entry])
    }
}

/// The edges of the k-truss of an undirected graph without self-loops, the lesser end first, ascending: edges are taken away one at a time
/// while one is part of fewer than `k - 2` triangles (Cohen 2008). The pattern is symmetric, with ascending rows. O(nnz^1.5 log) time.
///
/// ```
/// // a triangle with a tail
/// let (offsets, columns) = ([0, 2, 4, 7, 8], [1, 2, 0, 2, 0, 1, 3, 2]);
/// assert_eq!(vxm::certify::truss_edges(&offsets, &columns, 3), [(0, 1), (0, 2), (1, 2)]);
/// ```
pub fn truss_edges(offsets: &[u64], columns: &[u32], k: u32) -> Vec<(u32, u32)> {
    let n = offsets.len().saturating_sub(1) as u32;
    let least = k.saturating_sub(2);
    let mut graph = Peeling { offsets, columns, left: vec![true; columns.len()], support: vec![0; columns.len()] };
    let edges = |v: u32| neighbors(offsets, columns, v as usize).iter().copied().filter(move |&u| v < u);
    let mut due = Vec::new();
    for v in 0..n {
        for u in edges(v) {
            let mut count = 0;
            graph.each_triangle((v, u), |_, _, _| count += 1);
            graph.set((v, u), |_| count);
            if count < least {
                due.push((v, u));
            }
        }
    }
    while let Some((v, u)) = due.pop() {
        let mut sides = Vec::new();
        graph.each_triangle((v, u), |_, _, w| sides.extend([(v.min(w), v.max(w)), (u.min(w), u.max(w))]));
        for entry in [graph.entry(v, u), graph.entry(u, v)].into_iter().flatten() {
            graph.left[entry] = false;
        }
        // an edge is due at the moment when it becomes part of too few
        due.extend(sides.into_iter().filter(|&side| graph.set(side, |support| support - 1) + 1 == least));
    }
    let left = |v: u32, u: u32| graph.entry(v, u).is_some_and(|entry| graph.left[entry]);
    (0..n).flat_map(|v| edges(v).map(move |u| (v, u))).filter(|&(v, u)| left(v, u)).collect()
}

/// Checks that `answer` are the edges of the k-truss, the lesser end first, ascending. Returns how many there are.
///
/// ```
/// use vxm::certify::{Violation, truss};
/// let (offsets, columns) = ([0, 2, 4, 7, 8], [1, 2, 0, 2, 0, 1, 3, 2]);
/// assert_eq!(truss(&offsets, &columns, 3, &[(0, 1), (0, 2), (1, 2)]), Ok(3));
/// let wrong = truss(&offsets, &columns, 3, &[(0, 1), (0, 2), (1, 2), (2, 3)]);
/// assert_eq!(wrong, Err(Violation::Truss { vertex: 2, other: 3, k: 3, belongs: false }));
/// ```
///
/// # Errors
/// The first edge that is missing, or doesn't belong.
pub fn truss(offsets: &[u64], columns: &[u32], k: u32, answer: &[(u32, u32)]) -> Result<usize, Violation> {
    let found = truss_edges(offsets, columns, k);
    let differ = (0..found.len().max(answer.len())).find(|&at| found.get(at) != answer.get(at));
    let Some(at) = differ else { return Ok(found.len()) };
    let ((v, u), belongs) = match (found.get(at), answer.get(at)) {
        (Some(&edge), Some(&other)) if edge > other => (other, false),
        (Some(&edge), _) => (edge, true),
        (None, other) => (other.copied().unwrap_or_default(), false),
    };
    Err(Violation::Truss { vertex: v as usize, other: u as usize, k, belongs })
}
