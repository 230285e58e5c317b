//! Verbs that put matrices over ranks together and take them apart. Each sends entries to the ranks that hold their new places. As all
//! matrices over ranks, a result is square.

use crate::containers::Matrix;
use crate::error::{Error, Result};
use crate::memory;
use crate::operations::ranks::{local, matrices};
use crate::ranks::{Grid, Share, assemble, entries_to_all};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use vxm_semiring::{BinaryOp, Element, FIRST};

/// The side of a result, if it is square.
pub(super) fn side(verb: &str, (m, n): (usize, usize)) -> Result<usize> {
    if m == n {
        return Ok(n);
    }
    Err(Error::invalid(format!("{verb}: a {m} x {n} matrix on ranks: expected a square one")))
}

/// This rank's share of a matrix, which may be spread over the same ranks in another way, or lie whole on all of them. All ranks call this.
fn share_of<T: Element>(a: &Matrix<T>, grid: &Grid, verb: &'static str) -> Result<Arc<Share<T>>> {
    let held = local::spread(a, grid)?;
    let own = held.grid().filter(|own| own.has_same_ranks(grid)).unwrap_or(grid);
    held.share(own, false, verb)
}

/// The matrix of `n` rows of all ranks' entries, each of which is sent to its place. All ranks call this.
fn sent<T: Element>(grid: &Grid, n: usize, entries: impl Iterator<Item = (u32, u32, T)>) -> Result<Matrix<T>> {
    Matrix::of_share(grid, n, assemble(grid, n, entries)?, false)
}

/// The submatrix of ranges of rows and columns. All ranks call this.
pub(crate) fn extract_range<A: Element>(
    a: &Matrix<A>,
    grid: &Grid,
    rows: Range<usize>,
    columns: Range<usize>,
) -> Result<Matrix<A>> {
    let n = side("extract_range", (rows.len(), columns.len()))?;
    let share = a.share(grid, false, "extract_range")?;
    let within = |&(i, j, _): &(u32, u32, A)| rows.contains(&(i as usize)) && columns.contains(&(j as usize));
    let (first_row, first_column) = (rows.start as u32, columns.start as u32);
    sent(grid, n, share.entries().filter(within).map(|(i, j, a)| (i - first_row, j - first_column, a)))
}

/// The entries within another shape. All ranks call this.
pub(crate) fn resized<A: Element>(a: &Matrix<A>, grid: &Grid, shape: (usize, usize)) -> Result<Matrix<A>> {
    let n = side("resized", shape)?;
    let share = a.share(grid, false, "resized")?;
    sent(grid, n, share.entries().filter(|&(i, j, _)| (i as usize) < n && (j as usize) < n))
}

/// One matrix of tiles, of which those of a row begin at the same one of `rows`, and those of a column at the same one of `columns`. All
/// ranks call this.
pub(crate) fn concat<A: Element>(
    tiles: &[&[&Matrix<A>]],
    grid: &Grid,
    shape: (usize, usize),
    (rows, columns): (&[usize], &[usize]),
) -> Result<Matrix<A>> {
    let n = side("concat", shape)?;
    let mut entries = Vec::new();
    for (row, &above) in tiles.iter().zip(rows) {
        for (tile, &before) in row.iter().zip(columns) {
            let share = share_of(tile, grid, "concat")?;
            entries.extend(share.entries().map(|(i, j, a)| (above as u32 + i, before as u32 + j, a)));
        }
    }
    sent(grid, n, entries.into_iter())
}

/// The Kronecker product. Each rank is sent all of `b`, and multiplies its entries of `a`. All ranks call this.
pub(crate) fn kronecker<A, B, F>(
    a: &Matrix<A>,
    b: &Matrix<B>,
    grid: &Grid,
    shape: (usize, usize),
    op: F,
) -> Result<Matrix<F::Out>>
where
    A: Element,
    B: Element,
    F: BinaryOp<A, B>,
{
    let n = side("kronecker", shape)?;
    let (share, below) = (share_of(a, grid, "kronecker")?, b.nrows() as u32);
    let factor = if b.grid().is_some() { Cow::Owned(whole(b, grid)?) } else { Cow::Borrowed(b) };
    let entries = share.csr.nnz() as u128 * u128::from(factor.nnz());
    let bytes = 3 * entries * (8 + size_of::<F::Out>() as u128);
    grid.agree(memory::require(bytes, || format!("kronecker: {entries} entries of a rank")))?;
    let factor = &*factor;
    let products = share.entries().flat_map(|(i, j, left)| {
        factor.iter().map(move |(k, l, right)| (i * below + k, j * below + l, op.call(left, right)))
    });
    sent(grid, n, products)
}

/// All entries of a matrix over ranks, on each rank.
fn whole<T: Element>(a: &Matrix<T>, grid: &Grid) -> Result<Matrix<T>> {
    let share = share_of(a, grid, "kronecker")?;
    let bytes = 2 * u128::from(a.nnz()) * (8 + size_of::<T>() as u128);
    grid.agree(memory::require(bytes, || format!("kronecker: {} entries of the second factor", a.nnz())))?;
    Matrix::from_triples(a.nrows(), a.ncols(), entries_to_all(grid, &share)?)
}

/// `a[rows[k], columns[l]] = b[k, l]`, or joined by `accum` with what is there. `row_places` and `column_places` tell of each row and column
/// of `a` its position in the region. All ranks call this.
pub(crate) fn assigned<A, F>(
    a: &Matrix<A>,
    b: &Matrix<A>,
    grid: &Grid,
    (rows, columns): (&[u32], &[u32]),
    (row_places, column_places): (&[Option<u32>], &[Option<u32>]),
    accum: Option<F>,
) -> Result<Matrix<A>>
where
    A: Element,
    F: BinaryOp<A, A, Out = A>,
{
    side("assign", (rows.len(), columns.len()))?;
    let share = share_of(b, grid, "assign")?;
    let put = sent(grid, a.nrows(), share.entries().map(|(k, l, b)| (rows[k as usize], columns[l as usize], b)))?;
    if let Some(op) = accum {
        return a.ewise_add(&put, op);
    }
    let stays = |i: u32, j: u32, a: A| {
        let replaced = row_places[i as usize].is_some() && column_places[j as usize].is_some();
        (!replaced).then_some(a)
    };
    // no place holds both
    matrices::mapped(&*local::spread(a, grid)?, grid, stays)?.ewise_add(&put, FIRST)
}
