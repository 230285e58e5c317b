//! Colourings of which a part was given, with a most number of colours.

use crate::certify::{Violation, neighbors, same_length};

/// Checks an extension of a partial colouring: what `given` colours (0 is none) has the same colour, no colour is above `most`, neighbours with
/// colours differ, and the neighbours of a vertex without a colour have all colours from 1 to `most`. Returns how many vertices have none.
/// O(n + nnz) time.
///
/// ```
/// use vxm::certify::{Violation, extension};
/// // a triangle, of which vertex 1 was given colour 2
/// let (offsets, columns) = ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1]);
/// assert_eq!(extension(&offsets, &columns, &[0, 2, 0], 2, &[1, 2, 0]), Ok(1));
/// let wrong = extension(&offsets, &columns, &[0, 2, 0], 3, &[1, 2, 0]);
/// assert_eq!(wrong, Err(Violation::CouldTake { vertex: 2, color: 3 }));
/// ```
///
/// # Errors
/// The [`Violation`] at the least vertex that has one.
pub fn extension(
    offsets: &[u64],
    columns: &[u32],
    given: &[u32],
    most: u32,
    colors: &[u32],
) -> Result<usize, Violation> {
    same_length(offsets, colors.len())?;
    same_length(offsets, given.len())?;
    let mut without = 0;
    for (vertex, &color) in colors.iter().enumerate() {
        if color > most || (given[vertex] != 0 && given[vertex] != color) {
            return Err(Violation::Given { vertex, color, given: given[vertex], most });
        }
        let around = neighbors(offsets, columns, vertex);
        let others = || around.iter().map(|&other| other as usize).filter(|&other| other != vertex);
        if color != 0 {
            if let Some(neighbor) = others().find(|&other| colors[other] == color) {
                return Err(Violation::SameColor { vertex, neighbor, color });
            }
            continue;
        }
        without += 1;
        let mut taken: Vec<u32> = others().map(|other| colors[other]).filter(|&color| color > 0).collect();
        taken.sort_unstable();
        taken.dedup();
        let free = (1u32..).zip(&taken).find(|&(color, &taken)| color != taken).map(|(color, _)| color);
        let color = free.unwrap_or(taken.len() as u32 + 1);
        if color <= most {
            return Err(Violation::CouldTake { vertex, color });
        }
    }
    Ok(without)
}
