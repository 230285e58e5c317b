//! Sets and colourings at distance 2, checked through the vertices in the middle: two vertices are at most two edges apart if some vertex has both
//! in its closed neighbourhood, which is itself and its neighbours.

use crate::certify::seen::{Seen, least_free};
use crate::certify::{Violation, neighbors, same_length};

/// A vertex and its neighbours.
fn closed<'a>(offsets: &[u64], columns: &'a [u32], vertex: usize) -> impl Iterator<Item = usize> + 'a {
    core::iter::once(vertex).chain(neighbors(offsets, columns, vertex).iter().map(|&other| other as usize))
}

/// Checks that no two vertices of `member` are neighbours or have a common neighbour, and that no vertex could be added. The graph is
/// undirected and has no self-loops. O(n + nnz) time.
///
/// ```
/// use vxm::certify::{Violation, independent_set_at_distance_2};
/// // the path 0 - 1 - 2 - 3
/// let (offsets, columns) = ([0, 1, 3, 5, 6], [1, 0, 2, 1, 3, 2]);
/// assert_eq!(independent_set_at_distance_2(&offsets, &columns, &[true, false, false, true]), Ok(()));
/// let wrong = independent_set_at_distance_2(&offsets, &columns, &[true, false, true, false]);
/// assert_eq!(wrong, Err(Violation::TooNear { vertex: 0, other: 2 }));
/// let wrong = independent_set_at_distance_2(&offsets, &columns, &[true, false, false, false]);
/// assert_eq!(wrong, Err(Violation::NotMaximal { vertex: 3 }));
/// ```
///
/// # Errors
/// The [`Violation`] of the first vertex with one in its closed neighbourhood, or else of the least vertex that could join.
pub fn independent_set_at_distance_2(offsets: &[u64], columns: &[u32], member: &[bool]) -> Result<(), Violation> {
    same_length(offsets, member.len())?;
    // whether a vertex or a neighbour of it is a member
    let mut covered = vec![false; member.len()];
    for (middle, covered) in covered.iter_mut().enumerate() {
        let mut members: Vec<usize> = closed(offsets, columns, middle).filter(|&v| member[v]).collect();
        members.sort_unstable();
        if let [vertex, other, ..] = members[..] {
            return Err(Violation::TooNear { vertex, other });
        }
        *covered = !members.is_empty();
    }
    let open = |&v: &usize| !closed(offsets, columns, v).any(|middle| covered[middle]);
    (0..member.len()).find(open).map_or(Ok(()), |vertex| Err(Violation::NotMaximal { vertex }))
}

/// Checks that `colors` gives every vertex a colour (0 is none), that neighbours have different ones, and that vertices with a common neighbour
/// have. Returns the number of colours. The graph is undirected and has no self-loops. O(n + nnz + greatest colour) time.
///
/// ```
/// use vxm::certify::{Violation, coloring_at_distance_2};
/// // the path 0 - 1 - 2 - 3
/// let (offsets, columns) = ([0, 1, 3, 5, 6], [1, 0, 2, 1, 3, 2]);
/// assert_eq!(coloring_at_distance_2(&offsets, &columns, &[1, 2, 3, 1]), Ok(3));
/// let wrong = coloring_at_distance_2(&offsets, &columns, &[1, 2, 1, 3]);
/// assert_eq!(wrong, Err(Violation::SameColorNear { vertex: 0, other: 2, color: 1 }));
/// ```
///
/// # Errors
/// The [`Violation`] of the first vertex with one in its closed neighbourhood.
pub fn coloring_at_distance_2(offsets: &[u64], columns: &[u32], colors: &[u32]) -> Result<u32, Violation> {
    same_length(offsets, colors.len())?;
    if let Some(vertex) = colors.iter().position(|&color| color == 0) {
        return Err(Violation::Uncolored { vertex });
    }
    let mut seen = Seen::new(colors);
    for middle in 0..colors.len() {
        for vertex in closed(offsets, columns, middle) {
            let color = colors[vertex];
            if let Some(other) = seen.before(middle, vertex, color) {
                return Err(Violation::SameColorNear { vertex: vertex.min(other), other: vertex.max(other), color });
            }
        }
    }
    Ok(seen.colors())
}

/// The greedy colouring at distance 2 of an order, from colour 1: a vertex gets, in its turn, the least colour that no vertex at most two edges
/// away has. The vertices of colour 1 are the greedy set at distance 2. Vertices that aren't in `order` get 0.
///
/// ```
/// // the path 0 - 1 - 2 - 3
/// let (offsets, columns) = ([0, 1, 3, 5, 6], [1, 0, 2, 1, 3, 2]);
/// assert_eq!(vxm::certify::greedy_coloring_at_distance_2(&offsets, &columns, [1, 3, 0, 2]), [2, 1, 3, 2]);
/// ```
///
/// # Panics
/// If `order` holds a number that is no vertex of the graph.
pub fn greedy_coloring_at_distance_2(
    offsets: &[u64],
    columns: &[u32],
    order: impl IntoIterator<Item = u32>,
) -> Vec<u32> {
    let mut colors = vec![0u32; offsets.len() - 1];
    // for each colour, 1 + the last vertex that had it within two edges; 0 if there was none
    let mut seen: Vec<u32> = vec![0];
    for vertex in order {
        for middle in closed(offsets, columns, vertex as usize) {
            closed(offsets, columns, middle).for_each(|other| seen[colors[other] as usize] = vertex + 1);
        }
        colors[vertex as usize] = least_free(&mut seen, vertex + 1);
    }
    colors
}
