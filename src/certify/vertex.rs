//! Checks of one vertex, from its own answer and those of its neighbours: for graphs that no process holds whole.
//!
//! An answer is right if the check of each vertex finds nothing. [`independent_set`](super::independent_set) and its like check all vertices
//! of a graph. Neighbours come with their answers, in any order; the vertex itself is passed over.

use crate::certify::{Violation, Weight};

/// The violation at a vertex, if `member` says which vertices are in a maximal independent set.
///
/// ```
/// use vxm::certify::{Violation, vertex};
/// assert_eq!(vertex::set(7, false, [(2, false), (5, true)]), None);
/// assert_eq!(vertex::set(7, true, [(2, false), (5, true)]), Some(Violation::NotIndependent { vertex: 7, neighbor: 5 }));
/// assert_eq!(vertex::set(7, false, [(2, false)]), Some(Violation::NotMaximal { vertex: 7 }));
/// ```
pub fn set(vertex: u32, member: bool, neighbors: impl IntoIterator<Item = (u32, bool)>) -> Option<Violation> {
    let taken = neighbors.into_iter().find(|&(other, member)| other != vertex && member);
    let vertex = vertex as usize;
    match (member, taken) {
        (true, Some((neighbor, _))) => Some(Violation::NotIndependent { vertex, neighbor: neighbor as usize }),
        (false, None) => Some(Violation::NotMaximal { vertex }),
        _ => None,
    }
}

/// The violation at a vertex, if neighbours have different colours. Colour 0 is none.
///
/// ```
/// use vxm::certify::{Violation, vertex};
/// assert_eq!(vertex::color(7, 1, [(2, 3), (5, 2)]), None);
/// assert_eq!(vertex::color(7, 0, []), Some(Violation::Uncolored { vertex: 7 }));
/// let same = Violation::SameColor { vertex: 7, neighbor: 5, color: 2 };
/// assert_eq!(vertex::color(7, 2, [(2, 3), (5, 2)]), Some(same));
/// ```
pub fn color(vertex: u32, color: u32, neighbors: impl IntoIterator<Item = (u32, u32)>) -> Option<Violation> {
    if color == 0 {
        return Some(Violation::Uncolored { vertex: vertex as usize });
    }
    let same = neighbors.into_iter().find(|&(other, its)| other != vertex && its == color);
    same.map(|(other, _)| Violation::SameColor { vertex: vertex as usize, neighbor: other as usize, color })
}

/// The violation at a vertex, if each edge has an end in a cover.
///
/// ```
/// use vxm::certify::{Violation, vertex};
/// assert_eq!(vertex::cover(7, true, [(2, false)]), None);
/// assert_eq!(vertex::cover(7, false, [(2, false)]), Some(Violation::NotCovered { vertex: 7, neighbor: 2 }));
/// ```
pub fn cover(vertex: u32, member: bool, neighbors: impl IntoIterator<Item = (u32, bool)>) -> Option<Violation> {
    if member {
        return None;
    }
    let free = neighbors.into_iter().find(|&(other, its)| other != vertex && !its);
    free.map(|(other, _)| Violation::NotCovered { vertex: vertex as usize, neighbor: other as usize })
}

/// The violation at a vertex, if mates are those of a maximal matching.
///
/// ```
/// use vxm::certify::{Violation, vertex};
/// assert_eq!(vertex::mate(7, Some(5), [(2, None), (5, Some(7))]), None);
/// assert_eq!(vertex::mate(7, None, [(2, None)]), Some(Violation::Unmatched { vertex: 7, other: 2 }));
/// assert_eq!(vertex::mate(7, Some(3), [(2, None)]), Some(Violation::NoEdge { vertex: 7, other: 3 }));
/// let one_sided = Violation::NotMutual { vertex: 7, mate: 2, back: None };
/// assert_eq!(vertex::mate(7, Some(2), [(2, None)]), Some(one_sided));
/// ```
pub fn mate(
    vertex: u32,
    mate: Option<u32>,
    neighbors: impl IntoIterator<Item = (u32, Option<u32>)>,
) -> Option<Violation> {
    let mut others = neighbors.into_iter().filter(|&(other, _)| other != vertex);
    let place = vertex as usize;
    let Some(mate) = mate else {
        let free = others.find(|(_, its)| its.is_none());
        return free.map(|(other, _)| Violation::Unmatched { vertex: place, other: other as usize });
    };
    match others.find(|&(other, _)| other == mate) {
        None => Some(Violation::NoEdge { vertex: place, other: mate as usize }),
        Some((_, back)) if back == Some(vertex) => None,
        Some((_, back)) => {
            Some(Violation::NotMutual { vertex: place, mate: mate as usize, back: back.map(|back| back as usize) })
        }
    }
}

/// The violation at a vertex of an undirected graph, if `hops` are the fewest from `source`, and `None` where no path leads. The source has 0. Any
/// other vertex has one hop more than its nearest neighbour, so a path of that many leads from the source, and no shorter one does.
///
/// ```
/// use vxm::certify::{Violation, vertex};
/// assert_eq!(vertex::hops(7, 0, Some(3), [(2, Some(2)), (5, Some(4))]), None);
/// let wrong = vertex::hops(7, 0, Some(3), [(2, Some(4)), (5, None)]).map(|found| found.to_string());
/// assert_eq!(wrong.as_deref(), Some("the answer says that 7 is 3 hops away, and its nearest neighbour 4 hops away"));
/// ```
pub fn hops(
    vertex: u32,
    source: u32,
    hops: Option<u32>,
    neighbors: impl IntoIterator<Item = (u32, Option<u32>)>,
) -> Option<Violation> {
    let nearest = neighbors.into_iter().filter(|&(other, _)| other != vertex).filter_map(|(_, its)| its).min();
    // one hop more than there are numbers for is none that an answer can hold
    let right =
        if vertex == source { hops == Some(0) } else { hops.map(u64::from) == nearest.map(|its| u64::from(its) + 1) };
    (!right).then_some(Violation::Hops { vertex: vertex as usize, answer: hops, nearest })
}

/// What is found at a vertex that has no fault of its own, if all distances from a source are to be checked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Nearest {
    /// The answer at the vertex contradicts those of its in-neighbours.
    Wrong(Violation),
    /// All edges that end a shortest path here add nothing: they are of weight 0, or too light to change a float. Such vertices could confirm each other.
    Equal,
}

/// What is found at a vertex, if `distance` is the least length of a path from `source`, and `None` where no path leads. The source has 0. Any other
/// vertex has the least sum of an in-neighbour's distance and of the edge from there. In-neighbours come with the weights of these edges.
///
/// If nothing is found at any vertex, all distances are right: each comes from a lesser one, and so in the end from the source. Weights must not be
/// negative, sums are those of [`dijkstra`](super::dijkstra).
///
/// ```
/// use vxm::certify::vertex::{Nearest, distance};
/// assert_eq!(distance(7, 0, Some(3u32), [(2, 1, Some(2)), (5, 1, None)]), None);
/// assert_eq!(distance(7, 0, Some(3u32), [(2, 0, Some(3))]), Some(Nearest::Equal));
/// let Some(Nearest::Wrong(wrong)) = distance(7, 0, Some(3u32), [(2, 2, Some(2))]) else { panic!("nothing is found") };
/// assert_eq!(wrong.to_string(), "the answer says that 7 is at distance 3, and by its in-neighbours it is at distance 4");
/// ```
pub fn distance<W: Weight>(
    vertex: u32,
    source: u32,
    distance: Option<W>,
    in_neighbors: impl IntoIterator<Item = (u32, W, Option<W>)>,
) -> Option<Nearest> {
    let mut nearest = (vertex == source).then_some(W::ZERO);
    let mut rises = nearest.is_some();
    for (_, weight, its) in in_neighbors.into_iter().filter(|&(other, ..)| other != vertex) {
        let Some(its) = its else { continue };
        let Some(sum) = its.plus(weight) else { continue };
        if nearest.is_none_or(|nearest| sum.key() < nearest.key()) {
            (nearest, rises) = (Some(sum), false);
        }
        rises |= nearest.map(W::key) == Some(sum.key()) && its.key() < sum.key();
    }
    if nearest.map(W::key) != distance.map(W::key) {
        let number = |distance: Option<W>| distance.map_or(f64::INFINITY, W::number);
        let (answer, nearest) = (number(distance), number(nearest));
        return Some(Nearest::Wrong(Violation::Nearest { vertex: vertex as usize, answer, nearest }));
    }
    (nearest.is_some() && !rises).then_some(Nearest::Equal)
}
