//! Orders of the vertices of a graph in which the entries of its matrix stand near each other.

use crate::formats::Csr;
use core::cmp::Reverse;
use vxm_semiring::Element;

/// How often a search for a far vertex starts anew. Each search but the last one finds a farther vertex; nearly all graphs end after three
/// (George and Liu, "An implementation of a pseudoperipheral node finder", 1979).
const SEARCHES: usize = 8;

/// The vertices in reverse Cuthill-McKee order: neighbours come near each other, so entries stand near the diagonal.
///
/// It is a breadth-first order from a vertex that is far from others, reversed. What a vertex discovers comes by ascending degree (George and
/// Liu, "Computer Solution of Large Sparse Positive Definite Systems", chapter 4). Ties go to the
/// lesser number, so the order is the same everywhere. Components come one after the other, the one of the least vertex last.
///
/// `graph` is symmetric. O(n + nnz log(degree)) time on one thread, and 12 bytes per vertex.
pub(crate) fn reverse_cuthill_mckee<T: Element>(graph: &Csr<T>) -> Vec<u32> {
    let n = graph.nrows();
    let mut order: Vec<u32> = Vec::with_capacity(n);
    let mut search = Search { graph, seen: vec![0; n], searches: 0, reached: Vec::new() };
    let mut taken = vec![false; n];
    for v in 0..n as u32 {
        if taken[v as usize] {
            continue;
        }
        let (start, mut next) = (search.far_from(v), order.len());
        taken[start as usize] = true;
        order.push(start);
        while let Some(&from) = order.get(next) {
            next += 1;
            let first = order.len();
            for &to in graph.row(from as usize).0 {
                if !core::mem::replace(&mut taken[to as usize], true) {
                    order.push(to);
                }
            }
            order[first..].sort_unstable_by_key(|&to| (graph.degree(to as usize), to));
        }
    }
    order.reverse();
    order
}

/// The vertices by descending degree, the lesser number first among equals. O(n log n) time.
pub(crate) fn by_degree<T: Element>(graph: &Csr<T>) -> Vec<u32> {
    let mut order: Vec<u32> = (0..graph.nrows() as u32).collect();
    order.sort_unstable_by_key(|&v| (Reverse(graph.degree(v as usize)), v));
    order
}

/// Breadth-first searches for vertices that are far from others.
struct Search<'a, T: Element> {
    graph: &'a Csr<T>,
    /// The last search that has reached each vertex.
    seen: Vec<u32>,
    searches: u32,
    /// The vertices that the last search has reached, in its order.
    reached: Vec<u32>,
}

impl<T: Element> Search<'_, T> {
    /// A pseudo-peripheral vertex of the component of `v`: the vertices of least degree that are farthest from it see none farther.
    fn far_from(&mut self, v: u32) -> u32 {
        let (mut start, (mut last, mut levels)) = (v, self.levels_from(v));
        for _ in 1..SEARCHES {
            let (further, more) = self.levels_from(last);
            if more <= levels {
                break;
            }
            (start, last, levels) = (last, further, more);
        }
        start
    }

    /// The vertex of least degree in the last level of a search, and the number of levels.
    fn levels_from(&mut self, start: u32) -> (u32, usize) {
        self.searches += 1;
        self.reached.clear();
        self.reached.push(start);
        self.seen[start as usize] = self.searches;
        let (mut level, mut levels) = (0..1, 0);
        loop {
            levels += 1;
            for place in level.clone() {
                for &to in self.graph.row(self.reached[place] as usize).0 {
                    if core::mem::replace(&mut self.seen[to as usize], self.searches) != self.searches {
                        self.reached.push(to);
                    }
                }
            }
            if self.reached.len() == level.end {
                break;
            }
            level = level.end..self.reached.len();
        }
        let last = self.reached[level].iter().min_by_key(|&&v| (self.graph.degree(v as usize), v));
        (last.copied().unwrap_or(start), levels)
    }
}
