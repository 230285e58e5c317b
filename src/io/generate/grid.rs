//! Rectangular grids: each vertex has up to four neighbours.

use crate::formats::Csr;
use crate::io::generate::from_rows;
use core::ops::Range;

/// The edges to the right of some vertices of the same grid, and below them.
pub(super) fn edges(rows: u32, columns: u32, vertices: Range<u64>) -> Vec<(u32, u32)> {
    let mut edges = Vec::with_capacity(2 * (vertices.end - vertices.start) as usize);
    for vertex in vertices.start as u32..vertices.end as u32 {
        let (row, column) = (vertex / columns, vertex % columns);
        edges.extend((column + 1 < columns).then(|| (vertex, vertex + 1)));
        edges.extend((row + 1 < rows).then(|| (vertex, vertex + columns)));
    }
    edges
}

/// The `rows` x `columns` grid, with vertices numbered row by row.
pub(super) fn grid(rows: u32, columns: u32) -> Csr {
    let vertices = rows as usize * columns as usize;
    from_rows(vertices, |vertex, neighbours| {
        let (row, column) = (vertex / columns, vertex % columns);
        let sides = [
            (row > 0).then(|| vertex - columns),
            (column > 0).then(|| vertex - 1),
            (column + 1 < columns).then(|| vertex + 1),
            (row + 1 < rows).then(|| vertex + columns),
        ];
        neighbours.extend(sides.into_iter().flatten());
    })
}
