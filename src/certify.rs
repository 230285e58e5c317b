//! Certificates: checks of answers, by code that shares nothing with the engine.
//!
//! A graph is given as the bare arrays of a pattern in CSR: [`Csr::offsets`](crate::formats::Csr::offsets) and `columns`, and `values` if
//! edges have weights. The pattern is symmetric. [`levels`], [`parents`], [`distances`], [`ranks`], [`roots`] and [`strong_components`] take
//! directed graphs too; there a row's columns are the heads of its vertex' edges.

mod aggregates;
mod betweenness;
mod clique;
mod cores;
mod derivatives;
mod distance2;
mod distances;
mod extension;
mod forest;
mod greedy;
mod labels;
mod matching;
mod modularity;
mod ranks;
mod reach;
mod roots;
mod seen;
mod sets;
mod strong;
mod triangles;
pub mod vertex;
mod violation;
mod weight;

pub use aggregates::aggregates;
pub use betweenness::{betweenness, brandes};
pub use clique::{maximal_clique, vertex_cover};
pub use cores::{core_numbers, cores};
pub use derivatives::{column_coloring, greedy_column_coloring, greedy_star_coloring, star_coloring};
pub use distance2::{coloring_at_distance_2, greedy_coloring_at_distance_2, independent_set_at_distance_2};
pub use distances::{dijkstra, distances, shortest_parents};
pub use extension::extension;
pub use forest::{kruskal, spanning_forest};
pub use greedy::{greedy_coloring, greedy_set, largest_degree_first, smallest_degree_last};
pub use labels::{labels, propagated_labels};
pub use matching::{dominant_matching, greedy_matching, maximal_matching};
pub use modularity::{communities, modularity};
pub use ranks::{Walk, page_ranks, ranks};
pub use reach::{components, levels, parents};
pub use roots::{followed, roots};
pub use sets::DisjointSets;
pub use strong::{strong_components, tarjan};
pub use triangles::{clustering, triangle_counts, triangles, truss, truss_edges};
pub use violation::Violation;
pub use weight::Weight;

use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Vertices that a thread checks before it takes the next: their rows take longer to read than the taking.
const RUN: usize = 1024;

fn neighbors<'a>(offsets: &[u64], columns: &'a [u32], vertex: usize) -> &'a [u32] {
    &columns[offsets[vertex] as usize..offsets[vertex + 1] as usize]
}

fn same_length(offsets: &[u64], answer: usize) -> Result<(), Violation> {
    let vertices = offsets.len().saturating_sub(1);
    if answer == vertices {
        return Ok(());
    }
    Err(Violation::Length { answer, vertices })
}

/// Checks that `member` is an independent set of the graph, and that no vertex could be added to it.
///
/// ```
/// use vxm::certify::{Violation, independent_set};
/// // the path 0 - 1 - 2
/// let (offsets, columns) = ([0, 1, 3, 4], [1, 0, 2, 1]);
/// assert_eq!(independent_set(&offsets, &columns, &[true, false, true]), Ok(()));
/// let wrong = independent_set(&offsets, &columns, &[true, false, false]);
/// assert_eq!(wrong, Err(Violation::NotMaximal { vertex: 2 }));
/// ```
///
/// # Errors
/// The [`Violation`] at the least vertex that has one.
pub fn independent_set(offsets: &[u64], columns: &[u32], member: &[bool]) -> Result<(), Violation> {
    same_length(offsets, member.len())?;
    let violation = first_violation(member.len(), |v| {
        let neighbors = neighbors(offsets, columns, v).iter().map(|&other| (other, member[other as usize]));
        vertex::set(v as u32, member[v], neighbors)
    });
    violation.map_or(Ok(()), Err)
}

/// Checks that `colors` gives every vertex a colour (0 is none) that no neighbour has. Returns the number of colours.
///
/// ```
/// use vxm::certify::{Violation, coloring};
/// // the path 0 - 1 - 2
/// let (offsets, columns) = ([0, 1, 3, 4], [1, 0, 2, 1]);
/// assert_eq!(coloring(&offsets, &columns, &[1, 7, 1]), Ok(2));
/// let wrong = coloring(&offsets, &columns, &[1, 2, 2]);
/// assert_eq!(wrong, Err(Violation::SameColor { vertex: 1, neighbor: 2, color: 2 }));
/// ```
///
/// # Errors
/// The [`Violation`] at the least vertex that has one.
pub fn coloring(offsets: &[u64], columns: &[u32], colors: &[u32]) -> Result<u32, Violation> {
    same_length(offsets, colors.len())?;
    let violation = first_violation(colors.len(), |v| {
        let neighbors = neighbors(offsets, columns, v).iter().map(|&other| (other, colors[other as usize]));
        vertex::color(v as u32, colors[v], neighbors)
    });
    if let Some(violation) = violation {
        return Err(violation);
    }
    let mut used = colors.to_vec();
    used.par_sort_unstable();
    used.dedup();
    Ok(used.len() as u32)
}

/// The violation at the least vertex that has one, by a check of each vertex. Threads take runs of vertices from the front, so that together
/// they read the rows of a mapped file in their order.
fn first_violation(vertices: usize, at: impl Fn(usize) -> Option<Violation> + Sync) -> Option<Violation> {
    // the next run, and the least run known to have a violation
    let (next, least) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
    let check = |_| loop {
        let run = next.fetch_add(1, Relaxed);
        if run >= vertices.div_ceil(RUN) || run > least.load(Relaxed) {
            return None;
        }
        if let Some(violation) = (run * RUN..vertices.min((run + 1) * RUN)).find_map(&at) {
            least.fetch_min(run, Relaxed);
            return Some((run, violation));
        }
    };
    let found = (0..rayon::current_num_threads()).into_par_iter().filter_map(check);
    found.min_by_key(|&(run, _)| run).map(|(_, violation)| violation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_violation_at_the_least_vertex_is_found() {
        let vertices = 8 * RUN + 3;
        for wrong in [vec![], vec![0], vec![vertices - 1, 5 * RUN, 5 * RUN + 1], vec![3 * RUN - 1, 7]] {
            let at = |v: usize| wrong.contains(&v).then_some(Violation::NotMaximal { vertex: v });
            let least = wrong.iter().min().map(|&vertex| Violation::NotMaximal { vertex });
            assert_eq!(first_violation(vertices, at), least);
        }
        assert_eq!(first_violation(0, |vertex| Some(Violation::NotMaximal { vertex })), None);
    }

    /// A cycle of five vertices, and an isolated vertex.
    const OFFSETS: [u64; 7] = [0, 2, 4, 6, 8, 10, 10];
    const COLUMNS: [u32; 10] = [1, 4, 0, 2, 1, 3, 2, 4, 0, 3];

    #[test]
    fn sets_are_independent_and_maximal() {
        let check = |members: &[usize]| {
            let member: Vec<bool> = (0..6).map(|v| members.contains(&v)).collect();
            independent_set(&OFFSETS, &COLUMNS, &member)
        };
        assert_eq!(check(&[0, 2, 5]), Ok(()));
        assert_eq!(check(&[0, 2]), Err(Violation::NotMaximal { vertex: 5 }));
        assert_eq!(check(&[0, 3, 4, 5]).unwrap_err().to_string(), "the neighbours 0 and 4 are both in the set");
        let named = check(&[0, 3, 4, 5]).map_err(|violation| violation.renumbered(|v| v as u64 + 100));
        assert_eq!(named, Err(Violation::NotIndependent { vertex: 100, neighbor: 104 }));
        let short = independent_set(&OFFSETS, &COLUMNS, &[]);
        assert_eq!(short, Err(Violation::Length { answer: 0, vertices: 6 }));
        assert_eq!(independent_set(&[0], &[], &[]), Ok(()));
    }

    #[test]
    fn colorings_are_proper_and_whole() {
        let check = |colors: [u32; 6]| coloring(&OFFSETS, &COLUMNS, &colors);
        assert_eq!(check([1, 2, 1, 2, 9, 1]), Ok(3));
        assert_eq!(check([1, 2, 1, 2, 3, 0]), Err(Violation::Uncolored { vertex: 5 }));
        assert_eq!(check([1, 2, 1, 2, 1, 1]).unwrap_err().to_string(), "the neighbours 0 and 4 both have colour 1");
    }

    #[test]
    fn levels_and_components_are_least() {
        let hops = [Some(0), Some(1), Some(2), Some(2), Some(1), None];
        assert_eq!(levels(&OFFSETS, &COLUMNS, 0, &hops), Ok(5));
        let mut wrong = hops;
        wrong[2] = Some(1);
        let found = levels(&OFFSETS, &COLUMNS, 0, &wrong).unwrap_err().to_string();
        assert_eq!(found, "2 is 2 hops away, the answer says 1 hop away");
        wrong = hops;
        wrong[5] = Some(3);
        let found = levels(&OFFSETS, &COLUMNS, 0, &wrong).map_err(|violation| violation.renumbered(|v| v as u64 + 100));
        assert_eq!(found.unwrap_err().to_string(), "105 is out of reach, the answer says 3 hops away");
        assert_eq!(levels(&OFFSETS, &COLUMNS, 5, &[None, None, None, None, None, Some(0)]), Ok(1));
        assert_eq!(levels(&[0], &[], 0, &[]), Ok(0));
        assert_eq!(components(&OFFSETS, &COLUMNS, &[0, 0, 0, 0, 0, 5]), Ok(2));
        let found = components(&OFFSETS, &COLUMNS, &[0, 0, 0, 9, 0, 5]).unwrap_err().to_string();
        assert_eq!(found, "3 is labelled 9, the least vertex of its component is 0");
        let short = components(&OFFSETS, &COLUMNS, &[0]);
        assert_eq!(short, Err(Violation::Length { answer: 1, vertices: 6 }));
    }

    #[test]
    fn greedy_answers_hold() {
        let (order, degeneracy) = smallest_degree_last(&OFFSETS, &COLUMNS);
        assert_eq!(degeneracy, 2);
        assert_eq!(order.len(), 6);
        for order in [order, largest_degree_first(&OFFSETS)] {
            let colors = greedy_coloring(&OFFSETS, &COLUMNS, order.iter().copied());
            assert_eq!(coloring(&OFFSETS, &COLUMNS, &colors), Ok(3));
            let member = greedy_set(&OFFSETS, &COLUMNS, order);
            assert_eq!(independent_set(&OFFSETS, &COLUMNS, &member), Ok(()));
        }
    }
}
