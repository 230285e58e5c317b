//! Verbs of matrices that are spread over ranks.

use crate::backend::cuda;
use crate::containers::{Matrix, Vector};
use crate::error::{Error, Result};
use crate::formats::bitmap::full_words;
use crate::formats::{Bitmap, Csr, Store, places_of};
use crate::operations::matrix_of_vectors::outside;
use crate::operations::matrix_verbs::fold;
use crate::operations::ranks::assembly::side;
use crate::operations::ranks::on_gpu::HeldShare;
use crate::parallel;
use crate::ranks::{BLOCK, Grid, Partials, Replicas, Share, assemble, assemble_lists, nothing};
use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;
use vxm_semiring::{BinaryOp, Element, Monoid, PLUS, Scalar};

/// The elements of a vector at the rows and slots of a share. All ranks call this.
pub(crate) fn ends<A: Element, K: Element>(grid: &Grid, share: &Share<A>, u: &Vector<K>) -> Result<Bitmap<K>> {
    copies(grid, share, u, true)
}

/// The same at those of a matrix' share by rows, which GPUs bring to their hosts if ranks run on GPUs. All ranks call this.
fn ends_of<A: Element, K: Element>(
    a: &Matrix<A>,
    grid: &Grid,
    u: &Vector<K>,
    verb: &'static str,
) -> Result<(Arc<Share<A>>, Bitmap<K>)> {
    let Some(gpu) = grid.gpu() else {
        let share = a.share(grid, false, verb)?;
        let ends = ends(grid, &share, u)?;
        return Ok((share, ends));
    };
    let (share, on_gpu) = a.share_on_gpu(grid, false, verb)?;
    let held = HeldShare { grid, gpu, share: &share, on_gpu: &on_gpu };
    let ends = held.slots().ends(u)?.download()?.into_bitmap();
    Ok((share, ends))
}

/// Which indices of a vector hold an element, on all ranks, and how many do before each block of indices.
struct Members {
    words: Vec<u64>,
    before: Vec<u32>,
}

impl Members {
    /// Those of a vector that is spread over a grid. All ranks call this.
    fn of<K: Element>(u: &Vector<K>, grid: &Grid) -> Result<Self> {
        let (piece, owners) = (u.piece_on(grid)?.piece_bitmap(), grid.owners(u.len()));
        // places of a block are those of one word
        let bits = piece.bits().map_or_else(|| full_words(piece.len()), <[u64]>::to_vec);
        let parcel: Vec<u8> = bits.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut words = vec![0u64; u.len().div_ceil(BLOCK)];
        for (rank, parcel) in grid.exchange(vec![parcel; grid.size()])?.iter().enumerate() {
            for (block, bytes) in
                parcel.chunks_exact(8).enumerate().filter(|(block, _)| block * BLOCK < owners.count(rank))
            {
                let index = owners.vertex(rank, (block * BLOCK) as u32) as usize;
                words[index / BLOCK] = bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            }
        }
        let before = words.iter().scan(0, |sum, word| Some(std::mem::replace(sum, *sum + word.count_ones())));
        Ok(Self { before: before.collect(), words })
    }

    /// How many there are.
    fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The number of a member, in ascending order.
    fn number(&self, index: u32) -> u32 {
        let (block, bit) = (index as usize / BLOCK, index % BLOCK as u32);
        self.before[block] + (self.words[block] & ((1 << bit) - 1)).count_ones()
    }
}

/// The elements of a vector at the columns of a share, by slot. All ranks call this.
pub(crate) fn at_columns<A: Element, K: Element>(grid: &Grid, share: &Share<A>, u: &Vector<K>) -> Result<Bitmap<K>> {
    copies(grid, share, u, false)
}

fn copies<A: Element, K: Element>(grid: &Grid, share: &Share<A>, u: &Vector<K>, own: bool) -> Result<Bitmap<K>> {
    let piece = u.piece_on(grid)?.piece_bitmap();
    let mut replicas = Replicas::new(share, piece.len(), own);
    replicas.refresh(share, &piece, own)?;
    Ok(replicas.slots().clone())
}

/// The elements of a vector at the rows of a share. All ranks call this.
pub(crate) fn at_rows<A: Element, K: Element>(grid: &Grid, share: &Share<A>, u: &Vector<K>) -> Result<Bitmap<K>> {
    let piece = u.piece_on(grid)?.piece_bitmap();
    let Some(line) = &share.row else { return Ok(piece) };
    let mut rows = nothing(share.csr.nrows());
    Replicas::tell(line, &mut nothing(piece.len()), &mut rows, &piece, &mut Vec::new())?;
    Ok(rows)
}

/// The entries of a share that `keep` maps to a value, by row and slot.
fn kept<A: Element, U: Element>(share: &Share<A>, keep: impl Fn(usize, usize, A) -> Option<U> + Sync) -> Share<U> {
    let csr = &share.csr;
    let parts = parallel::ranges(csr.nrows(), parallel::FEW, &|rows: Range<usize>| {
        let (mut lengths, mut columns, mut values) = (Vec::with_capacity(rows.len()), Vec::new(), Vec::new());
        for row in rows {
            let (before, (slots, entries)) = (columns.len(), csr.row(row));
            for (&slot, &a) in slots.iter().zip(entries) {
                if let Some(value) = keep(row, slot as usize, a) {
                    columns.push(slot);
                    values.push(value);
                }
            }
            lengths.push((columns.len() - before) as u64);
        }
        (lengths, columns, values)
    });
    let (mut offsets, mut columns, mut values) = (vec![0u64], Vec::new(), Vec::new());
    for (lengths, mut of_part, mut values_of_part) in parts {
        for length in lengths {
            offsets.push(offsets[offsets.len() - 1] + length);
        }
        columns.append(&mut of_part);
        values.append(&mut values_of_part);
    }
    share.with_entries(Csr::of_slots(csr.nrows(), csr.ncols(), offsets, columns, values))
}

/// The entries that `f` maps to a value, given row and column. All ranks call this.
pub(crate) fn mapped<A: Element, U: Element>(
    a: &Matrix<A>,
    grid: &Grid,
    f: impl Fn(u32, u32, A) -> Option<U> + Sync,
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
    f: impl Fn(K, K, A) -> Option<U> + Sync,
) -> Result<Matrix<U>> {
    let (share, ends) = ends_of(a, grid, u, "oriented")?;
    let made = kept(&share, |row, slot, a| f(ends.get(row)?, ends.get(slot)?, a));
    Matrix::of_share(grid, a.nrows(), made, false)
}

/// The answers of `op` to the elements of up to 32 vectors at both ends, as bits of one value. All ranks call this.
pub(crate) fn by_many_ends<A, K, F>(a: &Matrix<A>, grid: &Grid, us: &[Vector<K>], op: F) -> Result<Matrix<u32>>
where
    A: Element,
    K: Element,
    F: BinaryOp<K, K, Out = bool>,
{
    let share = a.share(grid, false, "map_ends_many")?;
    let mut answers = vec![0u32; share.csr.nnz()];
    for (k, u) in us.iter().enumerate() {
        let ends = ends(grid, &share, u)?;
        for row in (0..share.csr.nrows()).filter(|&row| ends.get(row).is_some()) {
            let first = share.csr.offsets()[row] as usize;
            for (answer, &slot) in answers[first..].iter_mut().zip(share.csr.row(row).0) {
                let holds = ends.get(row).zip(ends.get(slot as usize)).is_some_and(|(x, y)| op.call(x, y));
                *answer |= u32::from(holds) << k;
            }
        }
        grid.work(share.csr.nnz(), share.slots());
    }
    Matrix::of_share(grid, a.nrows(), share.with_entries(share.csr.with_values(answers)), false)
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
    let share = a.share(grid, false, "pivot")?;
    if let Some(&known) = share.ends.get() {
        return Ok(known);
    }
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
    Ok(*share.ends.get_or_init(|| found))
}

/// The entries that pass among the vertices that hold a key. These are numbered anew. All ranks call this.
pub(crate) fn induced<A, K, F>(a: &Matrix<A>, grid: &Grid, op: F, held: &Vector<K>) -> Result<Matrix<A>>
where
    A: Element,
    K: Element,
    F: BinaryOp<K, K, Out = bool>,
{
    let (share, ends) = ends_of(a, grid, held, "induced_by")?;
    let members = Members::of(held, grid)?;
    // the number of the vertex of each slot; of no meaning where it holds no key
    let numbers = parallel::table(share.slots(), 0, |slot| members.number(share.index[slot]));
    let csr = &share.csr;
    let of_row = |row: usize| {
        let (slots, entries) = csr.row(row);
        let (ends, numbers) = (&ends, &numbers);
        let passing = ends.get(row).into_iter().flat_map(move |own| {
            let keyed = move |(&slot, &a): (&u32, &A)| Some((slot, ends.get(slot as usize)?, a));
            slots.iter().zip(entries).filter_map(keyed).filter(move |&(_, key, _)| op.call(own, key))
        });
        passing.map(move |(slot, _, a)| (numbers[row], numbers[slot as usize], a))
    };
    let part = csr.nrows().div_ceil(parallel::PIECES * parallel::threads()).max(1);
    let list = |k: usize| (k * part..((k + 1) * part).min(csr.nrows())).flat_map(&of_row);
    let made = assemble_lists(grid, members.count(), csr.nrows().div_ceil(part), &list)?;
    Matrix::of_share(grid, members.count(), made, false)
}

/// The submatrix `b[k, l] = a[rows[k], columns[l]]`. All ranks give the same lists, and call this.
pub(crate) fn extract<A: Element>(a: &Matrix<A>, grid: &Grid, rows: &[u32], columns: &[u32]) -> Result<Matrix<A>> {
    let n = side("extract", (rows.len(), columns.len()))?;
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

/// The square matrix with an entry at each place and its index. All ranks call this.
pub(crate) fn membership(
    index: &Vector<u32>,
    grid: &Grid,
    n: usize,
    (operation, at): (&'static str, &'static Location<'static>),
) -> Result<Matrix> {
    if index.len() != n {
        let (places, verb) = (index.len(), operation);
        return Err(Error::invalid(format!("{verb}: {places} indices into {n} places on ranks: expected as many")));
    }
    let (piece, owners) = (index.piece_bitmap(), grid.owners(n));
    let place = |place: usize| Some((owners.vertex(grid.rank(), place as u32), piece.get(place)?));
    let entries: Vec<(u32, u32)> = (0..piece.len()).filter_map(place).collect();
    let bad = entries.iter().filter(|entry| entry.1 as usize >= n).min();
    grid.agree(bad.map_or(Ok(()), |&(k, i)| Err(outside(k, i, n, (operation, at)))))?;
    Matrix::of_share(grid, n, assemble(grid, n, entries.into_iter().map(|(k, i)| (k, i, ())))?, false)
}

/// The bipartite graph of the rows and columns of a square matrix. All ranks call this.
pub(crate) fn bipartite<A: Element>(a: &Matrix<A>, grid: &Grid) -> Result<Matrix<A>> {
    let (share, n) = (a.share(grid, false, "bipartite")?, a.nrows());
    let both = share.entries().flat_map(|(i, j, a)| [(i, n as u32 + j, a), (n as u32 + j, i, a)]);
    Matrix::of_share(grid, 2 * n, assemble(grid, 2 * n, both)?, true)
}

/// Folds each row's entries to one element. All ranks call this.
pub(crate) fn reduced<A: Element, M: Monoid<A>>(a: &Matrix<A>, grid: &Grid, monoid: M) -> Result<Vector<A>> {
    if let Some(why) = grid.why_rows_are_whole(M::EXACT, monoid.is_commutative()) {
        return Err(Error::invalid(format!("reduce_rows: {why}")));
    }
    let (share, count) = (a.share(grid, false, "reduce_rows")?, grid.count(a.nrows()));
    let folded = parallel::table(share.csr.nrows(), None, |row| fold(monoid, share.csr.row(row).1));
    grid.work(share.csr.nnz(), share.csr.nrows());
    let folded = owned(&share, folded, count, &|x, y| monoid.call(x, y))?;
    Ok(Vector::of_piece(Store::Bitmap(folded), grid, a.nrows()))
}

/// The elements of this rank's `count` places, of those made for the rows of its share: joined over the ranks that hold parts of a row. All
/// ranks call this.
fn owned<A: Element, T: Element>(
    share: &Share<A>,
    made: Vec<Option<T>>,
    count: usize,
    add: &dyn Fn(T, T) -> T,
) -> Result<Bitmap<T>> {
    let mut rows = nothing(made.len());
    made.into_iter().enumerate().for_each(|(row, x)| rows.put(row, x));
    match &share.row {
        Some(line) => Partials::new(rows.len(), line).join(line, &rows, count, add),
        None => Ok(rows),
    }
}

/// The column of each row's best entry, the least among equals. `better` says whether an entry is better than another one. All ranks call this.
pub(crate) fn best_columns<A: Scalar>(
    a: &Matrix<A>,
    grid: &Grid,
    better: &(dyn Fn(A, A) -> bool + Sync),
) -> Result<Vector<u32>> {
    let (share, count) = (a.share(grid, false, "argmin_rows")?, grid.count(a.nrows()));
    let best = |row: usize| {
        let values = share.csr.row(row).1.iter().copied();
        values.reduce(|best, next| if better(next, best) { next } else { best })
    };
    let mut bests = parallel::table(share.csr.nrows(), None, best);
    if share.row.is_some() {
        // what is best of the other parts of a row, too
        let joined = owned(&share, bests.clone(), count, &|x, y| if better(y, x) { y } else { x })?;
        let all = at_rows(grid, &share, &Vector::of_piece(Store::Bitmap(joined), grid, a.nrows()))?;
        bests = (0..share.csr.nrows()).map(|row| all.get(row)).collect();
    }
    let first = |row: usize| {
        let ((slots, values), best) = (share.csr.row(row), bests[row]?);
        let is_best = |&(_, &value): &(&u32, &A)| !better(best, value);
        slots.iter().zip(values).find(is_best).map(|(&slot, _)| share.index[slot as usize])
    };
    let columns = owned(&share, parallel::table(share.csr.nrows(), None, first), count, &|x, y| x.min(y))?;
    grid.work(2 * share.csr.nnz(), 2 * share.csr.nrows());
    Ok(Vector::of_piece(Store::Bitmap(columns), grid, a.nrows()))
}

/// The elements of the diagonal. All ranks call this.
pub(crate) fn diagonal<A: Element>(a: &Matrix<A>, grid: &Grid) -> Result<Vector<A>> {
    let (share, count) = (a.share(grid, false, "diagonal")?, grid.count(a.nrows()));
    let own = |row: usize| {
        let (slots, values) = share.csr.row(row);
        let index = share.index[row];
        slots.iter().zip(values).find(|&(&slot, _)| share.index[slot as usize] == index).map(|(_, &value)| value)
    };
    let held = owned(&share, parallel::table(share.csr.nrows(), None, own), count, &|x, _| x)?;
    Ok(Vector::of_piece(Store::Bitmap(held), grid, a.nrows()))
}
