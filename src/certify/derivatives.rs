//! Colourings of columns and star colourings, checked through the rows, or the vertices, in the middle; and the sequential greedy ones.

use crate::certify::seen::{Seen, least_free};
use crate::certify::{Violation, neighbors, same_length};

/// Checks that `colors` gives every column of a matrix a colour (0 is none), and that no two columns with an entry in the same row have the same.
/// Returns the number of colours. The arrays are the matrix' rows; it may be rectangular. O(rows + columns + entries) time.
///
/// ```
/// use vxm::certify::{Violation, column_coloring};
/// // 2 x 3: row 0 has columns 0 and 1, row 1 has columns 1 and 2
/// let (offsets, columns) = ([0, 2, 4], [0, 1, 1, 2]);
/// assert_eq!(column_coloring(&offsets, &columns, &[1, 2, 1]), Ok(2));
/// let wrong = column_coloring(&offsets, &columns, &[1, 2, 2]);
/// assert_eq!(wrong, Err(Violation::SameColorInRow { row: 1, column: 1, other: 2, color: 2 }));
/// ```
///
/// # Errors
/// The [`Violation`] of the first row in which there is one, or of the first column without a colour.
///
/// # Panics
/// If a row has a column beyond the answer's length.
pub fn column_coloring(offsets: &[u64], columns: &[u32], colors: &[u32]) -> Result<u32, Violation> {
    if let Some(vertex) = colors.iter().position(|&color| color == 0) {
        return Err(Violation::Uncolored { vertex });
    }
    let mut seen = Seen::new(colors);
    for row in 0..offsets.len().saturating_sub(1) {
        for &column in neighbors(offsets, columns, row) {
            let (other, color) = (column as usize, colors[column as usize]);
            if let Some(column) = seen.before(row, other, color) {
                return Err(Violation::SameColorInRow { row, column, other, color });
            }
        }
    }
    Ok(seen.colors())
}

/// The greedy colouring of a matrix' columns in an order, from colour 1: a column gets, in its turn, the least colour that no column has which
/// shares a row with it. Columns that aren't in `order` get 0. The arrays are the rows of the matrix.
///
/// ```
/// // row 0 has columns 0 and 1, row 1 has columns 1 and 2
/// let (offsets, columns) = ([0, 2, 4], [0, 1, 1, 2]);
/// assert_eq!(vxm::certify::greedy_column_coloring(&offsets, &columns, 3, [1, 0, 2]), [2, 1, 2]);
/// ```
///
/// # Panics
/// If `order` or a row holds a number that is no column.
pub fn greedy_column_coloring(
    offsets: &[u64],
    columns: &[u32],
    ncols: usize,
    order: impl IntoIterator<Item = u32>,
) -> Vec<u32> {
    // the rows of each column
    let mut starts = vec![0usize; ncols + 1];
    columns.iter().for_each(|&column| starts[column as usize + 1] += 1);
    (0..ncols).for_each(|column| starts[column + 1] += starts[column]);
    let (mut at, mut rows) = (starts.clone(), vec![0u32; columns.len()]);
    for row in 0..offsets.len().saturating_sub(1) {
        for &column in neighbors(offsets, columns, row) {
            rows[at[column as usize]] = row as u32;
            at[column as usize] += 1;
        }
    }
    let mut colors = vec![0u32; ncols];
    // for each colour, 1 + the last column that shared a row with one of that colour; 0 if there was none
    let mut seen: Vec<u32> = vec![0];
    for column in order {
        for &row in &rows[starts[column as usize]..starts[column as usize + 1]] {
            let others = neighbors(offsets, columns, row as usize);
            others.iter().for_each(|&other| seen[colors[other as usize] as usize] = column + 1);
        }
        colors[column as usize] = least_free(&mut seen, column + 1);
    }
    colors
}

/// Checks that `colors` is a restricted star colouring: every vertex has a colour (0 is none), neighbours differ, and two neighbours of a vertex
/// have the same colour only if it is greater than the vertex' own. Returns the number of colours. The graph is undirected and has no
/// self-loops. O(n + nnz) time.
///
/// ```
/// use vxm::certify::{Violation, star_coloring};
/// // the path 0 - 1 - 2
/// let (offsets, columns) = ([0, 1, 3, 4], [1, 0, 2, 1]);
/// assert_eq!(star_coloring(&offsets, &columns, &[2, 1, 2]), Ok(2));
/// let wrong = star_coloring(&offsets, &columns, &[1, 2, 1]);
/// assert_eq!(wrong, Err(Violation::SameColorAround { vertex: 0, other: 2, middle: 1, color: 1 }));
/// ```
///
/// # Errors
/// The [`Violation`] of the first vertex that has one, as a neighbour or in the middle.
pub fn star_coloring(offsets: &[u64], columns: &[u32], colors: &[u32]) -> Result<u32, Violation> {
    same_length(offsets, colors.len())?;
    if let Some(vertex) = colors.iter().position(|&color| color == 0) {
        return Err(Violation::Uncolored { vertex });
    }
    let mut seen = Seen::new(colors);
    for middle in 0..colors.len() {
        for &neighbor in neighbors(offsets, columns, middle) {
            let (neighbor, color) = (neighbor as usize, colors[neighbor as usize]);
            if color == colors[middle] {
                return Err(Violation::SameColor { vertex: middle, neighbor, color });
            }
            let before = seen.before(middle, neighbor, color);
            if let Some(vertex) = before.filter(|_| color < colors[middle]) {
                return Err(Violation::SameColorAround { vertex, other: neighbor, middle, color });
            }
        }
    }
    Ok(seen.colors())
}

/// The greedy restricted star colouring of an order, from colour 1: a vertex gets, in its turn, the least colour that no neighbour has, and
/// that isn't taken around a neighbour with a greater colour, or with none yet. Vertices that aren't in `order` get 0.
///
/// ```
/// // the path 0 - 1 - 2 - 3
/// let (offsets, columns) = ([0, 1, 3, 5, 6], [1, 0, 2, 1, 3, 2]);
/// assert_eq!(vxm::certify::greedy_star_coloring(&offsets, &columns, [1, 0, 2, 3]), [2, 1, 2, 3]);
/// ```
///
/// # Panics
/// If `order` holds a number that is no vertex of the graph.
pub fn greedy_star_coloring(offsets: &[u64], columns: &[u32], order: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let mut colors = vec![0u32; offsets.len() - 1];
    let mut seen: Vec<u32> = vec![0];
    for vertex in order {
        for &middle in neighbors(offsets, columns, vertex as usize) {
            let own = colors[middle as usize];
            seen[own as usize] = vertex + 1;
            for &other in neighbors(offsets, columns, middle as usize) {
                let color = colors[other as usize];
                if own == 0 || color < own {
                    seen[color as usize] = vertex + 1;
                }
            }
        }
        colors[vertex as usize] = least_free(&mut seen, vertex + 1);
    }
    colors
}
