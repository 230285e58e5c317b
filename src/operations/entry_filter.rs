//! Matrices built row by row on the host: from any rows, or from the entries of a matrix for which a predicate holds.

use crate::backend::tuning::tuning;
use crate::formats::Csr;
use crate::parallel;
use vxm_semiring::Element;

/// Appends the entries of a row, ascending by column, to columns and values.
pub(crate) type AppendRow<'r, T> = dyn Fn(usize, &mut Vec<u32>, &mut Vec<T>) + Sync + 'r;

/// Builds a matrix of `nrows` by `ncols`, rows in parallel. `row(i, &mut columns, &mut values)` appends the entries of
/// row `i`, ascending by column.
pub(crate) fn build<T: Element>(
    nrows: usize,
    ncols: usize,
    row: impl Fn(usize, &mut Vec<u32>, &mut Vec<T>) + Sync,
) -> Csr<T> {
    let rows = tuning().build_rows;
    let blocks = parallel::collect(nrows.div_ceil(rows), &|block| {
        let (mut ends, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for i in block * rows..((block + 1) * rows).min(nrows) {
            row(i, &mut columns, &mut values);
            ends.push(columns.len() as u64);
        }
        // many parts are alive at once
        columns.shrink_to_fit();
        values.shrink_to_fit();
        (ends, columns, values)
    });
    Csr::from_blocks(nrows, ncols, blocks)
}

/// The entries for which `keep(own, column, value)` is true, where `own(row)` is the row's operand. A row for which
/// `own` returns `None` becomes empty.
pub(crate) fn filtered<A: Element, X: Copy>(
    csr: &Csr<A>,
    own: impl Fn(usize) -> Option<X> + Sync,
    keep: impl Fn(X, u32, A) -> bool + Sync,
) -> Csr<A> {
    build(csr.nrows(), csr.ncols(), |i, columns, values| {
        let Some(own) = own(i) else { return };
        let (js, entries) = csr.row(i);
        for (&j, &a) in js.iter().zip(entries) {
            if keep(own, j, a) {
                columns.push(j);
                values.push(a);
            }
        }
    })
}
