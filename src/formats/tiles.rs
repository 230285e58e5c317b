//! A block-sparse matrix of 16 x 16 bitmaps, the format that tensor cores count with.

use crate::formats::csr::Csr;
use crate::parallel;
use core::ops::Range;
use vxm_semiring::Element;

/// The number of rows and of columns of a tile.
pub const SIDE: usize = 16;

/// A block-sparse matrix of 16 x 16 tiles. Each tile takes 32 bytes of bits and a 4-byte column number.
///
/// Invariants:
/// - `offsets` has one element per tile-row and one more, ascending from 0.
/// - Tile columns ascend strictly within a tile-row, and no stored tile is empty.
/// - Bit `c` of `bits[t][r]` is the entry at row `16 * tile_row + r`, column `16 * columns[t] + c`.
/// - Bits beyond the matrix's shape are 0.
/// - `values` holds 256 values per tile, row-major, `ZERO` if there is no entry. With `T = ()` it takes no memory.
///
/// Weighted tiles hold `f16`, as tensor cores require.
#[derive(Debug, Clone)]
pub struct Tiles<T = ()> {
    nrows: usize,
    ncols: usize,
    nnz: usize,
    offsets: Vec<u64>,
    columns: Vec<u32>,
    bits: Vec<[u16; SIDE]>,
    values: Vec<T>,
}

/// Consecutive tile-rows, and what is left of their rows.
struct TileRows<T> {
    /// Where each tile-row ends.
    ends: Vec<u64>,
    columns: Vec<u32>,
    bits: Vec<[u16; SIDE]>,
    values: Vec<T>,
    rest: Rest<T>,
}

/// Entries that are in no tile: where each row ends, columns and values. No row ends if each entry is in a tile.
struct Rest<T> {
    ends: Vec<u64>,
    columns: Vec<u32>,
    values: Vec<T>,
}

/// Tile-rows that a task visits at least.
const LEAST_TILE_ROWS: usize = 64;

/// The tile columns of the entries of rows `rows`, ascending: one for each entry.
fn tile_columns<T: Element>(csr: &Csr<T>, rows: Range<usize>) -> Vec<u32> {
    let mut columns: Vec<u32> = rows.flat_map(|i| csr.row(i).0).map(|&c| c / SIDE as u32).collect();
    columns.sort_unstable();
    columns
}

impl<T: Element> TileRows<T> {
    /// Adds the tile-row of some rows: its tiles with at least `least` entries, and the other entries.
    fn add(&mut self, csr: &Csr<T>, rows: Range<usize>, least: usize) {
        let weighted = size_of::<T>() > 0;
        let all = tile_columns(csr, rows.clone());
        // the place of each tile; none if it has too few entries
        let (mut at, mut places) = (Vec::new(), Vec::new());
        for tile in all.chunk_by(|a, b| a == b) {
            at.push(tile[0]);
            places.push((tile.len() >= least).then_some(self.columns.len()));
            if tile.len() >= least {
                self.columns.push(tile[0]);
            }
        }
        self.bits.resize(self.columns.len(), [0u16; SIDE]);
        self.values.resize(if weighted { self.columns.len() * SIDE * SIDE } else { 0 }, T::ZERO);
        for i in rows {
            let (entries, weights) = csr.row(i);
            let mut t = 0;
            for (&column, &weight) in entries.iter().zip(weights) {
                // columns ascend within a row, and so do the tiles that they fall into
                while at[t] < column / SIDE as u32 {
                    t += 1;
                }
                let (r, c) = (i % SIDE, column as usize % SIDE);
                match places[t] {
                    Some(place) => {
                        self.bits[place][r] |= 1 << c;
                        if weighted {
                            self.values[(place * SIDE + r) * SIDE + c] = weight;
                        }
                    }
                    None => {
                        self.rest.columns.push(column);
                        self.rest.values.push(weight);
                    }
                }
            }
            if least > 1 {
                self.rest.ends.push(self.rest.columns.len() as u64);
            }
        }
        self.ends.push(self.columns.len() as u64);
    }
}

impl<T: Element> Tiles<T> {
    /// The size of a stored tile in bytes: its bits, its column and its values.
    pub const TILE_BYTES: usize = size_of::<[u16; SIDE]>() + size_of::<u32>() + SIDE * SIDE * size_of::<T>();

    /// The number of tiles that `csr` would take. Builds none.
    pub fn count(csr: &Csr<T>) -> usize {
        Self::count_full(csr, 1).0
    }

    /// The number of tiles with at least `least` entries that `csr` has, and the number of their entries. Builds none.
    ///
    /// ```
    /// use vxm::formats::{Csr, Tiles};
    ///
    /// // one row of 20 entries: 16 lie in one tile, 4 in the next
    /// let csr = Csr::try_new(1, 32, vec![0, 20], (0..20).collect(), vec![(); 20])?;
    /// assert_eq!((Tiles::count_full(&csr, 1), Tiles::count_full(&csr, 5)), ((2, 20), (1, 16)));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    pub fn count_full(csr: &Csr<T>, least: usize) -> (usize, usize) {
        let rows = |tile_row| tile_row * SIDE..csr.nrows().min((tile_row + 1) * SIDE);
        let full = |tile_row| {
            let columns = tile_columns(csr, rows(tile_row));
            let fills = columns.chunk_by(|a, b| a == b).map(<[u32]>::len).filter(|&fill| fill >= least);
            fills.fold((0, 0), |(tiles, entries), fill| (tiles + 1, entries + fill))
        };
        let add = |x: (usize, usize), y: (usize, usize)| (x.0 + y.0, x.1 + y.1);
        let counted = |tile_rows: Range<usize>| tile_rows.map(full).fold((0, 0), add);
        parallel::ranges(csr.nrows().div_ceil(SIDE), LEAST_TILE_ROWS, &counted).into_iter().fold((0, 0), add)
    }

    /// Converts from CSR, tile-rows in parallel. Each tile-row sorts the tile columns of its entries.
    pub fn from_csr(csr: &Csr<T>) -> Self {
        Self::build(csr, 1).0
    }

    /// Splits a matrix: tiles with at least `least` entries, and the other entries as CSR. The matrix is the union of both.
    ///
    /// ```
    /// use vxm::formats::{Csr, Tiles};
    ///
    /// // one row of 20 entries: 16 lie in one tile, 4 in the next
    /// let csr = Csr::try_new(1, 32, vec![0, 20], (0..20).collect(), vec![(); 20])?;
    /// let (tiles, rest) = Tiles::split(&csr, 5);
    /// assert_eq!((tiles.tiles(), tiles.nnz(), rest.columns()), (1, 16, &[16, 17, 18, 19][..]));
    /// # Ok::<(), vxm::Error>(())
    /// ```
    pub fn split(csr: &Csr<T>, least: usize) -> (Self, Csr<T>) {
        let (tiles, Rest { ends, columns, values }) = Self::build(csr, least);
        let mut offsets = vec![0];
        offsets.extend(ends);
        offsets.resize(csr.nrows() + 1, 0);
        (tiles, Csr::from_parts(csr.nrows(), csr.ncols(), offsets, columns, values))
    }

    /// Tiles with at least `least` entries, and the other entries. With `least` at most 1 there are none.
    #[inline(never)]
    fn build(csr: &Csr<T>, least: usize) -> (Self, Rest<T>) {
        let (nrows, ncols) = (csr.nrows(), csr.ncols());
        let built = parallel::ranges(nrows.div_ceil(SIDE), LEAST_TILE_ROWS, &|tile_rows| {
            let mut built = TileRows {
                ends: Vec::with_capacity(tile_rows.len()),
                columns: Vec::new(),
                bits: Vec::new(),
                values: Vec::new(),
                rest: Rest { ends: Vec::new(), columns: Vec::new(), values: Vec::new() },
            };
            for tile_row in tile_rows {
                built.add(csr, tile_row * SIDE..nrows.min((tile_row + 1) * SIDE), least);
            }
            built
        });
        let tiles: usize = built.iter().map(|rows| rows.columns.len()).sum();
        let left: usize = built.iter().map(|rows| rows.rest.columns.len()).sum();
        let mut offsets = Vec::with_capacity(nrows.div_ceil(SIDE) + 1);
        let mut columns = Vec::with_capacity(tiles);
        let mut bits = Vec::with_capacity(tiles);
        let mut values = Vec::with_capacity(if size_of::<T>() > 0 { tiles * SIDE * SIDE } else { 0 });
        let mut rest = Rest {
            ends: Vec::with_capacity(if least > 1 { nrows } else { 0 }),
            columns: Vec::with_capacity(left),
            values: Vec::with_capacity(left),
        };
        offsets.push(0);
        for rows in built {
            let (first, first_left) = (columns.len() as u64, rest.columns.len() as u64);
            offsets.extend(rows.ends.into_iter().map(|end| first + end));
            columns.extend(rows.columns);
            bits.extend(rows.bits);
            values.extend(rows.values);
            rest.ends.extend(rows.rest.ends.into_iter().map(|end| first_left + end));
            rest.columns.extend(rows.rest.columns);
            rest.values.extend(rows.rest.values);
        }
        let made = Self { nrows, ncols, nnz: csr.nnz() - left, offsets, columns, bits, values };
        (made, rest)
    }

    /// Builds tiles from arrays that hold the invariants. `shape` is (rows, columns, entries).
    pub(crate) fn from_parts(
        (nrows, ncols, nnz): (usize, usize, usize),
        offsets: Vec<u64>,
        columns: Vec<u32>,
        bits: Vec<[u16; SIDE]>,
        values: Vec<T>,
    ) -> Self {
        Self { nrows, ncols, nnz, offsets, columns, bits, values }
    }

    /// Converts to CSR. O(nnz + 16 * tiles) time.
    pub fn to_csr(&self) -> Csr<T> {
        let mut offsets = Vec::with_capacity(self.nrows + 1);
        let mut columns = Vec::with_capacity(self.nnz);
        let mut values = Vec::with_capacity(self.nnz);
        offsets.push(0);
        for i in 0..self.nrows {
            self.for_each(i, |_, column, value| {
                columns.push(column);
                values.push(value);
                true
            });
            offsets.push(columns.len() as u64);
        }
        Csr::from_parts(self.nrows, self.ncols, offsets, columns, values)
    }

    /// The number of rows.
    pub fn nrows(&self) -> usize {
        self.nrows
    }

    /// The number of columns.
    pub fn ncols(&self) -> usize {
        self.ncols
    }

    /// The number of entries.
    pub fn nnz(&self) -> usize {
        self.nnz
    }

    /// The number of stored tiles.
    pub fn tiles(&self) -> usize {
        self.columns.len()
    }

    /// The offset of each tile-row's first tile, and the number of tiles last.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// The column of each tile, in units of tiles.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// The bits of each tile: 16 rows of 16 bits.
    pub fn bits(&self) -> &[[u16; SIDE]] {
        &self.bits
    }

    /// 256 values per tile, row-major. Empty storage for a pattern.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The average number of entries per stored tile, which the plan reads; 0 if there are no tiles.
    pub fn fill(&self) -> f64 {
        if self.columns.is_empty() { 0.0 } else { self.nnz as f64 / self.columns.len() as f64 }
    }

    /// The size of the arrays on the heap, in bytes.
    pub fn heap_bytes(&self) -> usize {
        size_of_val(&self.offsets[..])
            + size_of_val(&self.columns[..])
            + size_of_val(&self.bits[..])
            + size_of_val(&self.values[..])
    }

    /// For each tile of the tile-row that contains row `i`: its tile column and its 16 bits of row `i`.
    #[inline(always)]
    pub fn row(&self, i: usize) -> impl Iterator<Item = (usize, u16)> + '_ {
        let (tile_row, r) = (i / SIDE, i % SIDE);
        let range = self.offsets[tile_row] as usize..self.offsets[tile_row + 1] as usize;
        self.columns[range.clone()].iter().zip(&self.bits[range]).map(move |(&c, bits)| (c as usize, bits[r]))
    }

    /// The number of entries in row `i`.
    pub fn row_len(&self, i: usize) -> usize {
        self.row(i).map(|(_, bits)| bits.count_ones() as usize).sum()
    }

    /// Calls `f(position in the row, column, value)` for row `i`'s entries in ascending order, until it returns false.
    #[inline(always)]
    pub fn for_each(&self, i: usize, mut f: impl FnMut(usize, u32, T) -> bool) {
        let first = self.offsets[i / SIDE] as usize;
        let mut position = 0;
        for (t, (tile_column, mut bits)) in self.row(i).enumerate() {
            while bits != 0 {
                let c = bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let value =
                    if size_of::<T>() == 0 { T::ZERO } else { self.values[((first + t) * SIDE + i % SIDE) * SIDE + c] };
                if !f(position, (tile_column * SIDE + c) as u32, value) {
                    return;
                }
                position += 1;
            }
        }
    }
}
