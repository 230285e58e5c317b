//! Products of two sparse matrices on ranks.
//!
//! A rank computes the entries of the result that it will hold. It needs the rows of the left matrix that its row of ranks owns, and of the
//! right one the entries in those of its column of ranks. So each entry is folded by one rank in ascending `k`, as in one process, and has the
//! same bits. Entries of the right matrix are brought for one range of columns after another, so that they fit.

use crate::backend::cpu::mxm::Places;
use crate::backend::tuning;
use crate::containers::Matrix;
use crate::error::{Error, Result};
use crate::formats::Csr;
use crate::formats::bitmap::places;
use crate::operations::entry_filter::build;
use crate::operations::mxm::{MatrixProduct, predict};
use crate::operations::ranks::local;
use crate::parallel;
use crate::ranks::{Grid, Reads, whole_rows, within};
use std::ops::Range;
use vxm_semiring::{Element, Semiring};

impl<A: Element, B: Element, S: Semiring<A, B>> MatrixProduct<'_, A, B, S> {
    /// The product over the ranks of a grid. All ranks call this.
    pub(super) fn on_ranks(&self, grid: &Grid) -> Result<Matrix<S::Out>> {
        // ranks bring about as much as they hold
        let most = tuning::RANKS_READ_ENTRIES * grid.size() as u64;
        self.in_parts(grid, most.max(self.a.nnz() + self.b.nnz()))
    }

    /// The same, where at most about `most` entries of the right matrix come to all ranks at a time.
    fn in_parts(&self, grid: &Grid, most: u64) -> Result<Matrix<S::Out>> {
        let (n, gpu) = (self.a.nrows(), grid.gpu().cloned());
        let left = whole_rows(grid, local::share(self.a, grid, "mxm")?.to_rows(grid, n))?;
        let right = local::share(self.b, grid, "mxm")?.to_rows(grid, n);
        let mask = self.mask.map(|mask| mask.on_ranks(grid)).transpose()?;

        let (left, read) = over_read_columns(left);
        let reads = Reads::new(grid, n, &read)?;
        let parts = parts(grid, n, &reads, &right, most)?;
        tracing::debug!(operation = "mxm", parts = parts.len(), read = read.len(), "on ranks");
        let left = grid.agree(Matrix::from_csr(left).placed(gpu.clone()))?;
        let mut made = Vec::with_capacity(parts.len());
        for part in &parts {
            let right = reads.fetch(grid, &right, part)?;
            let product = (|| {
                let places = mask.as_ref().map(|mask| (columns_of(mask.places.csr(), part), mask.complement));
                if grid.ledger().is_some() {
                    let within = places.as_ref().filter(|(_, complement)| !complement);
                    grid.work(
                        predict::work(left.csr(), &right, within.map(|(places, _)| Places::of(places))) as usize,
                        0,
                    );
                }
                let right = Matrix::from_csr(right).placed(gpu.clone())?;
                let product = left.mxm(&right, self.ring);
                let Some((places, complement)) = places else { return product.eval() };
                let places = Matrix::from_csr(places).placed(gpu.clone())?;
                if complement { product.mask(!&places).eval() } else { product.mask(&places).eval() }
            })();
            made.push(local::agreed(grid, product)?);
        }
        let made = Ok(Matrix::from_csr(beside(n, &parts, &made)));
        match &mask {
            Some(mask) if !mask.complement => local::joined_within(grid, n, &mask.pattern, made),
            _ => local::joined(grid, n, made),
        }
    }
}

/// A matrix with a column for each of its columns that holds an entry, and these columns, ascending.
fn over_read_columns<A: Element>(a: Csr<A>) -> (Csr<A>, Vec<u32>) {
    let mut bits = vec![0u64; a.ncols().div_ceil(64)];
    a.columns().iter().for_each(|&column| bits[column as usize / 64] |= 1 << (column % 64));
    // the number of bits before each word
    let before: Vec<u32> =
        bits.iter().scan(0, |sum, word| Some(std::mem::replace(sum, *sum + word.count_ones()))).collect();
    let place = |column: u32| {
        let (word, bit) = (column as usize / 64, column % 64);
        before[word] + (bits[word] & ((1 << bit) - 1)).count_ones()
    };
    let read = places(&bits);
    let (nrows, _, offsets, columns, values) = a.into_parts();
    let columns = parallel::table(columns.len(), 0, |k| place(columns[k]));
    (Csr::from_parts(nrows, read.len(), offsets, columns, values), read)
}

/// The ranges of columns in which the right matrix is brought, so that `most` entries come to all ranks in one of them, or few more. All ranks
/// call this.
fn parts<B: Element>(grid: &Grid, n: usize, reads: &Reads, right: &Csr<B>, most: u64) -> Result<Vec<Range<u32>>> {
    let n = u32::try_from(n).map_err(|_| Error::invalid("mxm: more columns than a vertex has numbers"))?;
    if grid.sum(&[reads.count(right)])?.iter().all(|&count| count <= most) {
        return Ok(std::iter::once(0..n).collect());
    }
    let buckets = tuning::RANKS_RANGES.min(n.max(1));
    let bound = |k: u32| (u64::from(n) * u64::from(k) / u64::from(buckets)) as u32;
    let ranges: Vec<Range<u32>> = (0..buckets).map(|k| bound(k)..bound(k + 1)).collect();
    let counts = grid.sum(&reads.count_in(right, &ranges))?;
    let (mut parts, mut filled) = (Vec::<Range<u32>>::new(), 0);
    for (range, count) in ranges.into_iter().zip(counts) {
        match parts.last_mut() {
            Some(part) if filled == 0 || filled + count <= most => part.end = range.end,
            _ => {
                parts.push(range);
                filled = 0;
            }
        }
        filled += count;
    }
    Ok(parts)
}

/// The entries in a range of columns, numbered from its first one.
fn columns_of(places: &Csr<()>, part: &Range<u32>) -> Csr<()> {
    build(places.nrows(), part.len(), |i, columns, units| {
        let row = Places::of(places).row(i);
        columns.extend(row[within(row, part)].iter().map(|&column| column - part.start));
        units.resize(columns.len(), ());
    })
}

/// The matrix of `n` columns with the given ranges of columns.
fn beside<T: Element>(n: usize, parts: &[Range<u32>], made: &[Matrix<T>]) -> Csr<T> {
    let made: Vec<&Csr<T>> = made.iter().map(Matrix::csr).collect();
    build(made.first().map_or(0, |first| first.nrows()), n, |i, columns, values| {
        for (part, made) in parts.iter().zip(&made) {
            let (js, entries) = made.row(i);
            columns.extend(js.iter().map(|&j| part.start + j));
            values.extend_from_slice(entries);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::matrix_mask::MatrixMask;
    use crate::ranks::{Deal, Threads};
    use vxm_semiring::{PLUS, TIMES, semiring};

    /// However few entries are brought at a time, the product is that of one process.
    #[test]
    fn parts_give_the_bits_of_the_whole() {
        let n = 300u32;
        let places: std::collections::BTreeSet<_> =
            (0..n * 7).map(|k| (k * 37 % n, k * k % 211 * (k % 3) % n)).collect();
        let entries = places.into_iter().zip(1u32..).map(|((i, j), k)| (i, j, 1.0 / k as f32));
        let a = Matrix::from_triples(n as usize, n as usize, entries).unwrap();
        let ring = semiring(PLUS, TIMES);
        for mask in [None, Some(MatrixMask::from(&a)), Some(!&a)] {
            let whole = MatrixProduct { mask, ..a.mxm(&a, ring) }.eval().unwrap();
            for (height, width) in [(3, 1), (2, 2)] {
                for most in [1, 100, 1000, u64::MAX] {
                    let same = Threads::run(height * width, |world| {
                        let grid = Grid::of(world, height, width)?.with_deal(Deal::Hashed);
                        let spread = a.to_grid(&grid)?;
                        let product = MatrixProduct { mask, ..spread.mxm(&spread, ring) };
                        let found = product.in_parts(&grid, most)?;
                        let (mine, all) =
                            (local::share(&found, &grid, "test")?.to_rows(&grid, 300), whole.to_grid(&grid)?);
                        Ok::<_, Error>(mine == local::share(&all, &grid, "test")?.to_rows(&grid, 300))
                    });
                    assert!(same.into_iter().all(|same| same.unwrap()), "{height}x{width}, {most} at a time, {mask:?}");
                }
            }
        }
    }
}
