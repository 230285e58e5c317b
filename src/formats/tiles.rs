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

/// Consecutive tile-rows: where each ends, and the columns, bits and values of their tiles.
type TileRows<T> = (Vec<u64>, Vec<u32>, Vec<[u16; SIDE]>, Vec<T>);

/// Tile-rows that a task visits at least.
const LEAST_TILE_ROWS: usize = 64;

/// The tile columns in which rows `rows` have entries, ascending.
fn tile_columns<T: Element>(csr: &Csr<T>, rows: Range<usize>) -> Vec<u32> {
    let mut columns: Vec<u32> = rows.flat_map(|i| csr.row(i).0).map(|&c| c / SIDE as u32).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

impl<T: Element> Tiles<T> {
    /// The size of a stored tile in bytes: its bits, its column and its values.
    pub const TILE_BYTES: usize = size_of::<[u16; SIDE]>() + size_of::<u32>() + SIDE * SIDE * size_of::<T>();

    /// The number of tiles that `csr` would take. Builds none.
    pub fn count(csr: &Csr<T>) -> usize {
        let rows = |tile_row| tile_row * SIDE..csr.nrows().min((tile_row + 1) * SIDE);
        let tiles = |tile_rows: Range<usize>| tile_rows.map(|t| tile_columns(csr, rows(t)).len()).sum::<usize>();
        parallel::ranges(csr.nrows().div_ceil(SIDE), LEAST_TILE_ROWS, &tiles).into_iter().sum()
    }

    /// Converts from CSR, tile-rows in parallel. Each tile-row sorts the tile columns of its entries.
    #[inline(never)]
    pub fn from_csr(csr: &Csr<T>) -> Self {
        let (nrows, ncols) = (csr.nrows(), csr.ncols());
        let tile_rows = nrows.div_ceil(SIDE);
        let weighted = size_of::<T>() > 0;
        let built: Vec<TileRows<T>> = parallel::ranges(tile_rows, LEAST_TILE_ROWS, &|tile_rows| {
            let (mut ends, mut columns) = (Vec::with_capacity(tile_rows.len()), Vec::new());
            let (mut bits, mut values) = (Vec::new(), Vec::new());
            for tile_row in tile_rows {
                let rows = tile_row * SIDE..nrows.min((tile_row + 1) * SIDE);
                let first = columns.len();
                columns.extend(tile_columns(csr, rows.clone()));
                bits.resize(columns.len(), [0u16; SIDE]);
                values.resize(if weighted { columns.len() * SIDE * SIDE } else { 0 }, T::ZERO);
                for i in rows {
                    let (entries, weights) = csr.row(i);
                    let mut t = first;
                    for (&c, &weight) in entries.iter().zip(weights) {
                        // columns ascend within a row, and so do the tiles that they fall into
                        while columns[t] < c / SIDE as u32 {
                            t += 1;
                        }
                        let (r, c) = (i % SIDE, c as usize % SIDE);
                        bits[t][r] |= 1 << c;
                        if weighted {
                            values[(t * SIDE + r) * SIDE + c] = weight;
                        }
                    }
                }
                ends.push(columns.len() as u64);
            }
            (ends, columns, bits, values)
        });
        let tiles: usize = built.iter().map(|(_, columns, ..)| columns.len()).sum();
        let mut offsets = Vec::with_capacity(tile_rows + 1);
        let mut columns = Vec::with_capacity(tiles);
        let mut bits = Vec::with_capacity(tiles);
        let mut values = Vec::with_capacity(if weighted { tiles * SIDE * SIDE } else { 0 });
        offsets.push(0);
        for (ends, c, b, v) in built {
            let first = columns.len() as u64;
            offsets.extend(ends.into_iter().map(|end| first + end));
            columns.extend(c);
            bits.extend(b);
            values.extend(v);
        }
        Self { nrows, ncols, nnz: csr.nnz(), offsets, columns, bits, values }
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
