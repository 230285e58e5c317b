//! Rectangular grids: each vertex has up to four neighbours.

use crate::formats::Csr;
use crate::io::generate::from_rows;

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
