//! Accumulators of one row of a product: a list of products, a hash table, or a dense array. Each takes products as they come, folds those
//! of a column in that order, and then hands out the row's entries in ascending order of column.

use crate::backend::plan::RowPath;
use crate::backend::tuning::tuning;
use vxm_semiring::{Element, Monoid};

/// The path of a row of at most `products` products among `ncols` columns, with elements of `size` bytes.
#[inline]
pub fn path(products: u64, ncols: usize, size: usize) -> RowPath {
    let tuning = tuning();
    if products <= tuning.listed_products as u64 {
        return RowPath::List;
    }
    let cached = dense_bytes(ncols, size) <= tuning.dense_row_bytes as u64;
    if cached || products > tuning.hashed_products as u64 { RowPath::Dense } else { RowPath::Hash }
}

/// The bytes of a [`Dense`] accumulator.
fn dense_bytes(ncols: usize, size: usize) -> u64 {
    (ncols * size + ncols.div_ceil(64) * 8 + ncols.div_ceil(64 * 64) * 8) as u64
}

/// The most bytes that the accumulators of one thread take, for rows of at most `products` products among `ncols` columns.
pub fn most_bytes(products: u64, ncols: usize, size: usize) -> u64 {
    let tuning = tuning();
    let listed = products.min(tuning.listed_products as u64) * (8 + size as u64);
    let slots = products.min(tuning.hashed_products as u64).min(ncols as u64) * 4;
    // a table has up to 4 slots for a column, each with a key and a value; columns are listed with their slots
    let hashed = slots * (4 + size as u64) + 2 * slots;
    listed
        + match path(products, ncols, size) {
            RowPath::List | RowPath::Dots => 0,
            RowPath::Hash => hashed,
            RowPath::Dense => dense_bytes(ncols, size) + hashed,
        }
}

/// A list of all products of a row.
pub struct List<T> {
    /// Of each product its column, above, and its place in `products`, below.
    keys: Vec<u64>,
    products: Vec<T>,
}

impl<T: Element> Default for List<T> {
    fn default() -> Self {
        Self { keys: Vec::new(), products: Vec::new() }
    }
}

impl<T: Element> List<T> {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a product.
    #[inline(always)]
    pub fn put(&mut self, column: u32, product: T) {
        self.keys.push(u64::from(column) << 32 | self.products.len() as u64);
        self.products.push(product);
    }

    /// Hands out the row's entries, and empties the list.
    #[inline(always)]
    pub fn drain<M: Monoid<T>>(&mut self, add: M, mut put: impl FnMut(u32, T)) {
        // places ascend among the keys of a column, so products are folded as they came
        self.keys.sort_unstable();
        let mut keys = self.keys.iter().map(|&key| ((key >> 32) as u32, self.products[key as u32 as usize]));
        if let Some((mut column, mut sum)) = keys.next() {
            for (next, product) in keys {
                if next == column {
                    sum = add.call(sum, product);
                } else {
                    put(column, sum);
                    (column, sum) = (next, product);
                }
            }
            put(column, sum);
        }
        self.keys.clear();
        self.products.clear();
    }
}

/// A hash table with linear probing. At most half of its slots are taken.
pub struct Hash<T> {
    /// The column in each slot, or `NONE`. The length is a power of two.
    columns: Vec<u32>,
    sums: Vec<T>,
    /// Of each slot that is taken its column, above, and its place, below.
    taken: Vec<u64>,
}

/// A column that no matrix has.
const NONE: u32 = u32::MAX;

/// The first slot to look at for `column` in a table of `1 << bits` slots: Fibonacci hashing.
#[inline(always)]
pub fn first_slot(column: u32, bits: u32) -> usize {
    (column.wrapping_mul(0x9e37_79b1) >> (32 - bits)) as usize
}

impl<T: Element> Default for Hash<T> {
    fn default() -> Self {
        Self { columns: Vec::new(), sums: Vec::new(), taken: Vec::new() }
    }
}

impl<T: Element> Hash<T> {
    /// A table without slots.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes room for `most` different columns, and returns the table's size as a power of two.
    pub fn reserve(&mut self, most: usize) -> u32 {
        let bits = (2 * most.max(4)).next_power_of_two().trailing_zeros();
        if self.columns.len() < 1 << bits {
            self.columns.resize(1 << bits, NONE);
            self.sums.resize(1 << bits, T::ZERO);
        }
        bits
    }

    /// Adds a product. `bits` is what [`reserve`](Self::reserve) returned for the row.
    #[inline(always)]
    pub fn put<M: Monoid<T>>(&mut self, add: M, bits: u32, column: u32, product: T) {
        let mask = (1usize << bits) - 1;
        let mut slot = first_slot(column, bits);
        loop {
            let held = self.columns[slot];
            if held == column {
                self.sums[slot] = add.call(self.sums[slot], product);
                return;
            }
            if held == NONE {
                self.columns[slot] = column;
                self.sums[slot] = product;
                self.taken.push(u64::from(column) << 32 | slot as u64);
                return;
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Hands out the row's entries, and empties the table.
    #[inline(always)]
    pub fn drain(&mut self, mut put: impl FnMut(u32, T)) {
        self.taken.sort_unstable();
        for &taken in &self.taken {
            let slot = taken as u32 as usize;
            put((taken >> 32) as u32, self.sums[slot]);
            self.columns[slot] = NONE;
        }
        self.taken.clear();
    }
}

/// An array over all columns. A bitmap says which hold a sum, and a bitmap of its words says which of them hold a bit. So the columns come
/// out in order without sorting, in time proportional to their number.
pub struct Dense<T> {
    sums: Vec<T>,
    held: Vec<u64>,
    words: Vec<u64>,
    /// The least and the greatest index in `words` of the row's bits.
    groups: (usize, usize),
}

impl<T: Element> Default for Dense<T> {
    fn default() -> Self {
        Self { sums: Vec::new(), held: Vec::new(), words: Vec::new(), groups: (usize::MAX, 0) }
    }
}

impl<T: Element> Dense<T> {
    /// An accumulator without memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes room for `ncols` columns at the first call. The system claims the memory as it is written.
    pub fn reserve(&mut self, ncols: usize) {
        if self.sums.len() < ncols {
            self.sums = vec![T::ZERO; ncols];
            self.held = vec![0; ncols.div_ceil(64)];
            self.words = vec![0; ncols.div_ceil(64 * 64)];
        }
    }

    /// Adds a product.
    #[inline(always)]
    pub fn put<M: Monoid<T>>(&mut self, add: M, column: u32, product: T) {
        let (place, word, bit) = (column as usize, column as usize / 64, 1u64 << (column % 64));
        let held = self.held[word];
        if held & bit != 0 {
            self.sums[place] = add.call(self.sums[place], product);
            return;
        }
        if held == 0 {
            let group = word / 64;
            self.words[group] |= 1 << (word % 64);
            self.groups = (self.groups.0.min(group), self.groups.1.max(group));
        }
        self.held[word] = held | bit;
        self.sums[place] = product;
    }

    /// Hands out the row's entries, and empties the accumulator.
    #[inline(always)]
    pub fn drain(&mut self, mut put: impl FnMut(u32, T)) {
        let (first, last) = std::mem::replace(&mut self.groups, (usize::MAX, 0));
        for group in first..=last {
            let words = &mut self.words[group];
            for word in set_bits(std::mem::take(words)).map(|bit| group * 64 + bit) {
                for place in set_bits(std::mem::take(&mut self.held[word])).map(|bit| word * 64 + bit) {
                    put(place as u32, self.sums[place]);
                }
            }
        }
    }
}

/// The places of the bits of `word` that are set, ascending.
#[inline(always)]
fn set_bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then_some(word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        bit
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use vxm_semiring::PLUS;

    /// All three fold in order of arrival, and are empty afterwards.
    #[test]
    fn all_accumulators_agree() {
        let ncols = 10_000;
        let (mut list, mut hash, mut dense) = (List::<f32>::new(), Hash::<f32>::new(), Dense::<f32>::new());
        for round in 1..4u32 {
            let products: Vec<(u32, f32)> =
                (0..600u32).map(|p| (p * p * round % 997 * 10, 1.0 / (1.0 + p as f32))).collect();
            let mut rows = [(); 3].map(|()| Vec::new());
            let bits = hash.reserve(products.len());
            dense.reserve(ncols);
            for &(column, product) in &products {
                list.put(column, product);
                hash.put(PLUS, bits, column, product);
                dense.put(PLUS, column, product);
            }
            list.drain(PLUS, |column, sum| rows[0].push((column, sum)));
            hash.drain(|column, sum| rows[1].push((column, sum)));
            dense.drain(|column, sum| rows[2].push((column, sum)));
            assert!(rows[0].is_sorted_by(|a, b| a.0 < b.0) && rows[0].len() > 100);
            assert_eq!(rows[0], rows[1]);
            assert_eq!(rows[0], rows[2]);
            let sum = |column| products.iter().filter(|p| p.0 == column).map(|p| p.1).reduce(|a, b| a + b);
            assert!(rows[0].iter().all(|&(column, value)| sum(column) == Some(value)));
        }
    }

    #[test]
    fn the_path_follows_the_row() {
        let tuning = tuning();
        let (listed, hashed) = (tuning.listed_products as u64, tuning.hashed_products as u64);
        assert_eq!(path(listed, 1 << 30, 8), RowPath::List);
        assert_eq!(path(listed + 1, 1 << 30, 8), RowPath::Hash);
        assert_eq!(path(hashed + 1, 1 << 30, 8), RowPath::Dense);
        assert_eq!(path(listed + 1, 1000, 8), RowPath::Dense);
        assert!(most_bytes(hashed + 1, 1 << 30, 8) > 8 << 30);
        assert!(most_bytes(listed, 1 << 30, 8) <= listed * 16);
    }
}
