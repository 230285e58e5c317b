//! The arrays of the layouts that a device matrix may have beside its rows. Each layout's own file makes and reads them.

use std::sync::atomic::AtomicBool;
use crate::kernels::Buffer;

/// A matrix' columns renumbered by frequency, the most frequent first.
#[derive(Debug)]
pub struct HotColumns {
    /// The old number of each column, in the new order.
    pub(crate) order: Buffer,
    /// The new number of each entry's column.
    pub(crate) columns: Buffer,
}

/// A matrix' entries in bins.
///
/// The bins are laid out twice. In the column layout, which the multiplying kernel reads, the bins of a column chunk are adjacent. In the
/// row layout, which the folding kernel reads, the bins of a row chunk are.
#[derive(Debug)]
pub struct Bins {
    /// In the column layout, each entry's column within its chunk, as its place in shared memory.
    pub(crate) local_columns: Buffer,
    /// In the column layout, each entry's value.
    pub(crate) weights: Buffer,
    /// In the column layout, for each unit the number of the unit in the row layout that takes its products.
    pub(crate) slots: Buffer,
    /// In the row layout, each entry's position within its row chunk.
    pub(crate) places: Buffer,
    /// In the row layout, the unit where each row chunk begins.
    pub(crate) row_chunk_begins: Buffer,
    /// The first row of each row chunk, and the number of rows.
    pub(crate) first_rows: Buffer,
    /// In the column layout, the unit where each column chunk begins.
    pub(crate) chunk_begins: Buffer,
    /// The column chunk in which each multiplying block begins.
    pub(crate) first_chunks: Buffer,
    /// In the column layout, the unit where each multiplying block begins.
    pub(crate) block_begins: Buffer,
    /// The number of multiplying blocks.
    pub(crate) multiplying_blocks: u32,
    /// The number of row chunks.
    pub(crate) row_chunks: usize,
    /// The number of columns of the matrix.
    pub(crate) columns: usize,
    /// The capacity of all bins in entries, padding included.
    pub(crate) capacity: usize,
    /// Whether there was no memory for the products. It is remembered, because asking a full device again is slow.
    pub(crate) refused: AtomicBool,
}
