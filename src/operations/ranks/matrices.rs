//! Verbs of matrices that are spread over ranks.

use crate::backend::cuda;
use crate::containers::{Matrix, Vector};
use crate::error::{Error, Result};
use crate::formats::{Bitmap, Csr, Store, places_of};
use crate::ranks::{Grid, Partials, Replicas, Share, assemble};
use vxm_semiring::{BinaryOp, Element, PLUS};

/// The elements of a vector at the rows and slots of a share. All ranks call this.
pub(crate) fn ends<A: Element, K: Element>(grid: &Grid, share: &Share<A>, u: &Vector<K>) -> Result<Bitmap<K>> {
    let piece = u.piece_on(grid)?.piece_bitmap();
    let mut replicas = Replicas::new(share, piece.len(), true);
    replicas.refresh(share, &piece, true)?;
    Ok(replicas.slots().clone())
}

/// The entries of a share that `keep` maps to a value, by row and slot.
fn kept<A: Element, U: Element>(share: &Share<A>, keep: impl Fn(usize, usize, A) -> Option<U>) -> Share<U> {
    let csr = &share.csr;
    let (mut offsets, mut columns, mut values) = (vec![0u64], Vec::new(), Vec::new());
    for row in 0..csr.nrows() {
        let (slots, entries) = csr.row(row);
        for (&slot, &a) in slots.iter().zip(entries) {
            if let Some(value) = keep(row, slot as usize, a) {
                columns.push(slot);
                values.push(value);
            }
        }
        offsets.push(columns.len() as u64);
    }
    share.with_entries(Csr::of_slots(csr.nrows(), csr.ncols(), offsets, columns, values))
}

/// The entries that `f` maps to a value, given row and column. All ranks call this.
pub(crate) fn mapped<A: Element, U: Element>(
    a: &Matrix<A>,
    grid: &Grid,
    f: impl Fn(u32, u32, A) -> Option<U>,
) -> Result<Matrix<U>> {
    let share = a.share(grid, false, "map")?;
    let index = &share.index;
    Matrix::of_share(grid, a.nrows(), kept(&share, |row, slot, a| f(index[row], index[slot], a)), false)
}

/// The entries that `f` maps to a value, given the elements of `u` at both ends. Entries without one at an end are dropped. All ranks call
/// this.
pub(crate) fn by_ends<A: Element, K: Element, U: Element>(
    a: &Matrix<A>,
    grid: &Grid,
    u: &Vector<K>,
    f: impl Fn(K, K, A) -> Option<U>,
) -> Result<Matrix<U>> {
    let share = a.share(grid, false, "oriented")?;
    let ends = ends(grid, &share, u)?;
    let made = kept(&share, |row, slot, a| f(ends.get(row)?, ends.get(slot)?, a));
    Matrix::of_share(grid, a.nrows(), made, false)
}

/// The number of entries of each row. All ranks call this.
#[inline(never)]
pub(crate) fn degrees<A: Element>(a: &Matrix<A>, grid: &Grid) -> Result<Vector<u32>> {
    if grid.gpu().is_some() {
        let (_, share) = a.share_on_gpu(grid, false, "degrees")?;
        let (counts, count) = (cuda::terminals::degrees(&*share.csr)?, grid.count(a.nrows()));
        let counts = match &share.row {
            None => counts,
            Some(row) => {
                let mut heard = row.nothing_heard(counts.gpu())?;
                cuda::terminals::filled(&row.joined(None, &counts, &mut heard, count, PLUS)?)?
            }
        };
        return Ok(Vector::of_device_piece(counts, grid, a.nrows()));
    }
    let share = a.share(grid, false, "degrees")?;
    let counts = (0..share.csr.nrows()).map(|row| share.csr.degree(row) as u32).collect();
    let (mut counts, count) = (Bitmap::dense(counts), grid.count(a.nrows()));
    if let Some(line) = &share.row {
        let joined = Partials::new(counts.len(), line).join(line, &counts, count, &|x, y| x + y)?;
        counts = Bitmap::dense((0..count).map(|place| joined.get(place).unwrap_or(0)).collect());
    }
    Ok(Vector::of_piece(Store::Bitmap(counts), grid, a.nrows()))
}

/// The first of the longest rows, its number of entries, and that of row 0. All ranks call this.
pub(crate) fn row_ends<A: Element>(a: &Matrix<A>, grid: &Grid) -> Result<(u32, usize, usize)> {
    let (degrees, owners) = (degrees(a, grid)?.piece_bitmap(), grid.owners(a.nrows()));
    let mut mine = [0u64; 3];
    for (place, &degree) in degrees.values().iter().enumerate() {
        let row = owners.vertex(grid.rank(), place as u32);
        // the longest first, then the first
        let better = u64::from(degree) > mine[0] || (u64::from(degree) == mine[0] && u64::from(row) < mine[1]);
        if better || place == 0 {
            (mine[0], mine[1]) = (u64::from(degree), u64::from(row));
        }
        if row == 0 {
            mine[2] = u64::from(degree);
        }
    }
    if degrees.is_empty() {
        mine[1] = u64::MAX;
    }
    let parcel: Vec<u8> = mine.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut found = (u32::MAX, 0, 0);
    for parcel in grid.exchange(vec![parcel; grid.size()])? {
        let word = |k: usize| parcel[8 * k..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word)) as usize;
        let (degree, row) = (word(0), word(1).min(u32::MAX as usize) as u32);
        if row != u32::MAX && (degree > found.1 || (degree == found.1 && row < found.0)) {
            (found.0, found.1) = (row, degree);
        }
        found.2 += word(2);
    }
    if found.0 == u32::MAX {
        found.0 = 0;
    }
    Ok(found)
}

/// The entries that pass among the vertices that hold a key. These are numbered anew. All ranks call this.
pub(crate) fn induced<A, K, F>(a: &Matrix<A>, grid: &Grid, op: F, held: &Vector<K>) -> Result<Matrix<A>>
where
    A: Element,
    K: Element,
    F: BinaryOp<K, K, Out = bool>,
{
    let share = a.share(grid, false, "induced_by")?;
    let ends = ends(grid, &share, held)?;
    let members: Vec<u32> = held.to_all()?.indices().collect();
    let number = |index: u32| members.binary_search(&index).unwrap_or(0) as u32;
    let passing = kept(&share, |row, slot, a| op.call(ends.get(row)?, ends.get(slot)?).then_some(a));
    let entries = passing.entries().map(|(i, j, a)| (number(i), number(j), a));
    Matrix::of_share(grid, members.len(), assemble(grid, members.len(), entries)?, false)
}

/// The submatrix `b[k, l] = a[rows[k], columns[l]]`. All ranks give the same lists, and call this.
pub(crate) fn extract<A: Element>(a: &Matrix<A>, grid: &Grid, rows: &[u32], columns: &[u32]) -> Result<Matrix<A>> {
    let (n, m) = (rows.len(), columns.len());
    if n != m {
        return Err(Error::invalid(format!("extract: a {n} x {m} matrix on ranks: expected a square one")));
    }
    let share = a.share(grid, false, "extract")?;
    let (of_row, of_column) = (places_of(rows, a.nrows()), places_of(columns, a.ncols()));
    let places = |(starts, places): &(Vec<u64>, Vec<u32>), i: u32| {
        places[starts[i as usize] as usize..starts[i as usize + 1] as usize].to_vec()
    };
    let entries = share.entries().flat_map(|(i, j, a)| {
        let (ks, ls) = (places(&of_row, i), places(&of_column, j));
        ks.into_iter().flat_map(move |k| ls.clone().into_iter().map(move |l| (k, l, a)))
    });
    Matrix::of_share(grid, n, assemble(grid, n, entries)?, false)
}

/// The square matrix with a vector as its diagonal. All ranks call this.
pub(crate) fn from_diagonal<A: Element>(v: &Vector<A>, grid: &Grid) -> Result<Matrix<A>> {
    let (piece, owners) = (v.piece_bitmap(), grid.owners(v.len()));
    let entries = (0..piece.len()).filter_map(|place| {
        let i = owners.vertex(grid.rank(), place as u32);
        piece.get(place).map(|value| (i, i, value))
    });
    Ok(Matrix::of_share(grid, v.len(), assemble(grid, v.len(), entries)?, false)?.set_symmetric(true))
}

/// The bipartite graph of the rows and columns of a square matrix. All ranks call this.
pub(crate) fn bipartite<A: Element>(a: &Matrix<A>, grid: &Grid) -> Result<Matrix<A>> {
    let (share, n) = (a.share(grid, false, "bipartite")?, a.nrows());
    let both = share.entries().flat_map(|(i, j, a)| [(i, n as u32 + j, a), (n as u32 + j, i, a)]);
    Matrix::of_share(grid, 2 * n, assemble(grid, 2 * n, both)?, true)
}

/// `op(a, b)` where both matrices hold an entry, and the only entry where one does. All ranks call this.
pub(crate) fn ewise_add<A: Element, F>(a: &Matrix<A>, b: &Matrix<A>, grid: &Grid, op: F) -> Result<Matrix<A>>
where
    F: BinaryOp<A, A, Out = A>,
{
    let (left, right) = (a.share(grid, false, "ewise_add")?, b.share(grid, false, "ewise_add")?);
    // entries of one place lie on the same rank; the sort is stable, so those of `a` come first
    let mut all: Vec<(u32, u32, A)> = left.entries().chain(right.entries()).collect();
    all.sort_by_key(|&(i, j, _)| (i, j));
    let mut joined: Vec<(u32, u32, A)> = Vec::with_capacity(all.len());
    for (i, j, value) in all {
        match joined.last_mut() {
            Some(last) if (last.0, last.1) == (i, j) => last.2 = op.call(last.2, value),
            _ => joined.push((i, j, value)),
        }
    }
    Matrix::of_share(grid, a.nrows(), Share::new(grid, a.nrows(), joined)?, false)
}
