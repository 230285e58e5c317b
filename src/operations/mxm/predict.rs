//! What a product of two sparse matrices takes, before it runs.

use crate::backend::cpu::mxm::accumulator::most_bytes;
use crate::backend::cpu::mxm::{Places, masked, running_sums};
use crate::formats::Csr;
use crate::parallel::{self, FEW};
use vxm_semiring::Element;

/// What a product of two sparse matrices takes. Returned by [`MatrixProduct::predict`](super::MatrixProduct::predict).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Prediction {
    /// The number of products `A[i, k] ⊗ B[k, j]` without a mask. Under a mask, the number of those that the plan would at most look at.
    pub products: u64,
    /// An upper bound on the entries of the result.
    pub most_entries: u64,
    /// A lower bound on the entries of the result; 0 under a mask.
    pub least_entries: u64,
    /// An upper bound on the bytes that are claimed beside the operands, at `most_entries` entries. Without a mask the entries are counted
    /// before they are computed, and only as many bytes as they take are claimed.
    pub bytes: u128,
}

/// The running sums of the products of each row.
pub(super) fn products<A: Element, B: Element>(a: &Csr<A>, b: &Csr<B>) -> Vec<u64> {
    running_sums(a.nrows(), |i| a.row(i).0.iter().map(|&k| b.degree(k as usize) as u64).sum())
}

/// The entries that a product looks at: all products, or under a mask those of the cheaper way for each row.
pub(super) fn work<A: Element, B: Element>(a: &Csr<A>, b: &Csr<B>, mask: Option<Places<'_>>) -> u64 {
    let Some(mask) = mask else { return products(a, b).last().copied().unwrap_or(0) };
    let lengths = masked::column_lengths(b);
    masked::total(a.nrows(), &|i| {
        let (ks, places) = (a.row(i).0, mask.row(i));
        let dots = masked::cost_by_dots(ks.len(), places, |j| lengths[j as usize] as usize);
        dots.min(masked::cost_by_rows(ks, places.len(), |k| b.degree(k as usize)))
    })
}

/// The bytes of arrays with an element a row: offsets, and the work with its running sums.
fn row_bytes(nrows: usize) -> u128 {
    (3 * 8 + 9) * (nrows as u128 + 1)
}

/// The bytes of `entries` entries.
fn entry_bytes(entries: u64, size: usize) -> u128 {
    u128::from(entries) * (4 + size as u128)
}

/// The bytes of a matrix with `entries` entries, without what its making takes.
pub(super) fn csr_bytes(nrows: usize, entries: u64, size: usize) -> u128 {
    8 * (nrows as u128 + 1) + entry_bytes(entries, size)
}

impl Prediction {
    /// Of a product by rows. `size` is the size of the result's elements.
    pub(super) fn by_rows<A: Element, B: Element>(a: &Csr<A>, b: &Csr<B>, ends: &[u64], size: usize) -> Self {
        let ncols = b.ncols() as u64;
        let bounds = |i: usize| {
            let products = ends[i + 1] - ends[i];
            // a row of the product holds the columns of each row of B that it meets
            let least = a.row(i).0.iter().map(|&k| b.degree(k as usize) as u64).max().unwrap_or(0);
            (products.min(ncols), least, products)
        };
        let joined =
            |x: (u64, u64, u64), y: (u64, u64, u64)| (x.0.saturating_add(y.0), x.1.saturating_add(y.1), x.2.max(y.2));
        let sums = parallel::ranges(a.nrows(), FEW, &|rows| rows.map(bounds).fold((0, 0, 0), joined));
        let (most_entries, least_entries, longest) = sums.into_iter().fold((0, 0, 0), joined);
        let threads = parallel::threads() as u128 * u128::from(most_bytes(longest, b.ncols(), size));
        let bytes = entry_bytes(most_entries, size) + row_bytes(a.nrows()) + threads;
        Self { products: ends.last().copied().unwrap_or(0), most_entries, least_entries, bytes }
    }

    /// Of a product under a mask with `places(i)` places in row `i`. `row_length(k)` is the length of row `k` of `b`, if it is known.
    pub(super) fn under<A: Element>(
        a: &Csr<A>,
        (inner, entry, ncols): (usize, usize, usize),
        places: impl Fn(usize) -> usize + Sync,
        row_length: impl Fn(u32) -> Option<usize> + Sync,
        size: usize,
    ) -> Self {
        let bounds = |i: usize| {
            let places = places(i);
            let products = match places {
                0 => 0,
                _ => a.row(i).0.iter().map(|&k| row_length(k).unwrap_or(places) as u64).sum::<u64>(),
            };
            (products, places as u64, places)
        };
        let joined = |x: (u64, u64, usize), y: (u64, u64, usize)| (x.0 + y.0, x.1 + y.1, x.2.max(y.2));
        let sums = parallel::ranges(a.nrows(), FEW, &|rows| rows.map(bounds).fold((0, 0, 0), joined));
        let (products, most_entries, longest) = sums.into_iter().fold((0, 0, 0), joined);
        let scratch = u128::from(masked::scratch_bytes(inner, entry, ncols, longest, size));
        let threads = parallel::threads() as u128;
        let bytes = entry_bytes(most_entries, size) + row_bytes(a.nrows()) + threads * scratch;
        Self { products, most_entries, least_entries: 0, bytes }
    }

    /// The bytes that a product by rows claims if it has `entries` entries.
    pub(super) fn bytes_of(&self, entries: u64, size: usize) -> u128 {
        self.bytes - entry_bytes(self.most_entries, size) + entry_bytes(entries, size)
    }
}
