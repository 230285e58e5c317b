//! Maximal cliques, and vertex covers.

use crate::certify::{Violation, maximal_matching, neighbors, same_length, vertex};

/// Checks that `member` is a clique of an undirected graph, to which no vertex can be added. Self-loops count as no edges. Returns the number
/// of members, which is 0 only in a graph without vertices.
///
/// ```
/// use vxm::certify::{Violation, maximal_clique};
/// // the path 0 - 1 - 2
/// let (offsets, columns) = ([0, 1, 3, 4], [1, 0, 2, 1]);
/// assert_eq!(maximal_clique(&offsets, &columns, &[true, true, false]), Ok(2));
/// let wrong = maximal_clique(&offsets, &columns, &[true, false, true]);
/// assert_eq!(wrong, Err(Violation::NotJoined { vertex: 0, other: 2 }));
/// ```
///
/// # Errors
/// The [`Violation`] at the least vertex that has one.
pub fn maximal_clique(offsets: &[u64], columns: &[u32], member: &[bool]) -> Result<usize, Violation> {
    same_length(offsets, member.len())?;
    let members: Vec<usize> = (0..member.len()).filter(|&v| member[v]).collect();
    // how many members each vertex is next to
    let mut next_to = vec![0usize; member.len()];
    for &vertex in &members {
        let mut previous = None;
        for &other in neighbors(offsets, columns, vertex) {
            if other as usize != vertex && previous != Some(other) {
                next_to[other as usize] += 1;
            }
            previous = Some(other);
        }
    }
    for (vertex, &count) in next_to.iter().enumerate() {
        let others = members.len() - usize::from(member[vertex]);
        if member[vertex] && count < others {
            let row = neighbors(offsets, columns, vertex);
            let joined = |other: usize| other == vertex || row.binary_search(&(other as u32)).is_ok();
            let other = members.iter().copied().find(|&other| !joined(other)).unwrap_or(vertex);
            return Err(Violation::NotJoined { vertex, other });
        }
        if !member[vertex] && count == others {
            return Err(Violation::CouldJoin { vertex });
        }
    }
    Ok(members.len())
}

/// Checks that `member` covers an undirected graph: each edge has an end in it. Self-loops count as no edges. Checks too that `mate` is a
/// [`maximal_matching`]; no cover has fewer members than it has edges. Returns this lower bound.
///
/// ```
/// use vxm::certify::{Violation, vertex_cover};
/// // the path 0 - 1 - 2
/// let (offsets, columns) = ([0, 1, 3, 4], [1, 0, 2, 1]);
/// let mate = [Some(1), Some(0), None];
/// assert_eq!(vertex_cover(&offsets, &columns, &[false, true, false], &mate), Ok(1));
/// let wrong = vertex_cover(&offsets, &columns, &[true, false, false], &mate);
/// assert_eq!(wrong, Err(Violation::NotCovered { vertex: 1, neighbor: 2 }));
/// ```
///
/// # Errors
/// The [`Violation`] at the least vertex that has one.
pub fn vertex_cover(
    offsets: &[u64],
    columns: &[u32],
    member: &[bool],
    mate: &[Option<u32>],
) -> Result<usize, Violation> {
    same_length(offsets, member.len())?;
    for (v, &held) in member.iter().enumerate() {
        let neighbors = neighbors(offsets, columns, v).iter().map(|&other| (other, member[other as usize]));
        if let Some(violation) = vertex::cover(v as u32, held, neighbors) {
            return Err(violation);
        }
    }
    maximal_matching(offsets, columns, mate)
}
