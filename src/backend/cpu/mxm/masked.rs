//! Products under a structural mask. Only the mask's places are computed, so the mask bounds the memory.
//!
//! A row takes the cheaper of two ways. By dot products, row `i` of `A` meets column `j` of `B` for each place `(i, j)` of the mask. By
//! Gustavson's algorithm the rows of `B` that row `i` of `A` names are summed over the mask's places, and other products are skipped.
//! Wherever one list is much shorter than the other, the longer one is searched instead of read.

use super::accumulator::first_slot;
use super::{Places, Pool, blocks, cost_of_either, prefetch_rows, search_pays, seek};
use crate::backend::cpu::parallel;
use crate::backend::plan::RowPath;
use crate::backend::tuning::tuning;
use crate::error::Result;
use crate::formats::{Csr, split_rows};
use crate::stop;
use std::ops::Range;
use vxm_semiring::{BinaryOp, Element, Monoid, Semiring};

/// What a masked product is made of. At least one of `rows` and `columns` is there.
#[derive(Debug, Clone, Copy)]
pub struct Operands<'a, A, B, S> {
    /// The left matrix.
    pub a: &'a Csr<A>,
    /// The rows of the right matrix.
    pub rows: Option<&'a Csr<B>>,
    /// The columns of the right matrix.
    pub columns: Option<&'a Csr<B>>,
    /// The mask.
    pub mask: Places<'a>,
    /// The semiring.
    pub ring: S,
    /// The path forced on every row, where its operands are there.
    pub forced: Option<RowPath>,
}

/// The cost of row `i` by dot products, where `length(j)` is that of column `j` of `B`.
#[inline]
pub fn cost_by_dots(own: usize, mask: &[u32], length: impl Fn(u32) -> usize) -> u64 {
    let cost = |&j: &u32| match length(j) {
        long if long > own => cost_of_either(own, long),
        short => short,
    };
    // the row of A is marked, and the marks are taken away
    mask.iter().map(cost).sum::<usize>() as u64 + if mask.is_empty() { 0 } else { 2 * own as u64 }
}

/// The cost of row `i` by Gustavson's algorithm, where `length(k)` is that of row `k` of `B`.
#[inline]
pub fn cost_by_rows(ks: &[u32], places: usize, length: impl Fn(u32) -> usize) -> u64 {
    if places == 0 {
        return 0;
    }
    ks.iter().map(|&k| cost_of_either(places, length(k))).sum::<usize>() as u64 + 2 * places as u64
}

/// The sum of the cost of all rows.
pub fn total(nrows: usize, cost: &(dyn Fn(usize) -> u64 + Sync)) -> u64 {
    let costs = parallel::ranges(nrows, tuning().sequential, &|rows| rows.map(cost).fold(0, u64::saturating_add));
    costs.into_iter().fold(0, u64::saturating_add)
}

/// The number of entries in each column.
pub fn column_lengths<T: Element>(csr: &Csr<T>) -> Vec<u32> {
    let mut lengths = vec![0; csr.ncols()];
    csr.columns().iter().for_each(|&j| lengths[j as usize] += 1);
    lengths
}

impl<A: Element, B: Element, S: Semiring<A, B>> Operands<'_, A, B, S> {
    /// The cheaper way for row `i`, and its cost.
    fn cheaper(&self, i: usize) -> (bool, u64) {
        let (ks, mask) = (self.a.row(i).0, self.mask.row(i));
        let dots = self.columns.map(|b| cost_by_dots(ks.len(), mask, |j| b.degree(j as usize)));
        let rows = self.rows.map(|b| cost_by_rows(ks, mask.len(), |k| b.degree(k as usize)));
        let forced = self.forced.map(|path| path == RowPath::Dots);
        match (dots, rows) {
            (Some(dots), Some(rows)) if forced.is_some() => {
                (forced == Some(true), if forced == Some(true) { dots } else { rows })
            }
            // an entry of a dot product is a test of a bit; one of Gustavson's algorithm looks up a place
            (Some(dots), Some(rows)) if dots <= 2 * rows => (true, dots),
            (_, Some(rows)) => (false, rows),
            (dots, None) => (true, dots.unwrap_or(0)),
        }
    }

    /// The running sums of the cost of the rows, and whether each row is computed by dot products.
    fn plan(&self) -> (Vec<u64>, Vec<bool>) {
        let chosen = parallel::table(self.a.nrows(), (false, 0u64), |i| self.cheaper(i));
        (super::running_sums(chosen.len(), |i| chosen[i].1), chosen.iter().map(|&(dots, _)| dots).collect())
    }

    /// The product.
    ///
    /// # Errors
    /// It is stopped.
    pub fn multiply(&self, ncols: usize) -> Result<Csr<S::Out>> {
        let (nrows, most) = (self.a.nrows(), self.mask.columns.len());
        let (mut columns, mut values) = (vec![0u32; most], vec![S::Out::ZERO; most]);
        let (ends, dots) = self.plan();
        let blocks = blocks(&ends);
        let column_parts = split_rows(&mut columns, self.mask.offsets, &blocks);
        let value_parts = split_rows(&mut values, self.mask.offsets, &blocks);
        let (pool, stop) = (Pool::new(), stop::current());
        let parts = blocks.iter().zip(column_parts.into_iter().zip(value_parts)).collect();
        let ends = parallel::map(parts, &|(rows, (columns, values))| {
            if stop::is_asked(&stop) {
                return Vec::new();
            }
            pool.with(Scratch::new, |scratch| self.block((rows.clone(), &dots), scratch, columns, values))
        });
        stop::check()?;
        let offsets = compacted(nrows, self.mask.offsets, &blocks, &ends, &mut columns, &mut values);
        Ok(Csr::from_parts(nrows, ncols, offsets, columns, values))
    }

    /// Computes a block of rows into the front of `columns` and `values`. Returns the end of each row there.
    fn block(
        &self,
        (rows, dots): (Range<usize>, &[bool]),
        scratch: &mut Scratch<A, S::Out>,
        columns: &mut [u32],
        values: &mut [S::Out],
    ) -> Vec<u64> {
        let mut filled = 0;
        let mut put = |j: u32, value: S::Out| {
            columns[filled] = j;
            values[filled] = value;
            filled += 1;
            filled as u64
        };
        let mut ends = Vec::with_capacity(rows.len());
        let mut end = 0;
        for i in rows {
            let mut found = |j, value| end = put(j, value);
            if !self.mask.row(i).is_empty() && self.a.degree(i) > 0 {
                match (dots[i], self.rows, self.columns) {
                    (true, _, Some(b)) => self.row_by_dots(b, i, scratch, &mut found),
                    (_, Some(b), _) => self.row_by_rows(b, i, scratch, &mut found),
                    _ => {}
                }
            }
            ends.push(end);
        }
        ends
    }

    /// Row `i` by dot products. The row of `A` is marked in a bitmap, and each column reads the marks.
    fn row_by_dots(
        &self,
        b: &Csr<B>,
        i: usize,
        scratch: &mut Scratch<A, S::Out>,
        found: &mut impl FnMut(u32, S::Out),
    ) {
        let (ks, entries) = self.a.row(i);
        let mask = self.mask.row(i);
        let marked = scratch.marks.set(self.a.ncols(), ks, entries);
        let (first, ahead) = (self.mask.offsets[i] as usize, tuning().rows_ahead);
        for (at, &j) in (first..).zip(mask) {
            prefetch_rows(b, self.mask.columns, at, ahead);
            let (js, values) = b.row(j as usize);
            let dot = if search_pays(ks.len(), js.len()) {
                self.dot_by_search((ks, entries), (js, values))
            } else {
                self.dot(marked, (js, values))
            };
            if let Some(dot) = dot {
                found(j, dot);
            }
        }
        scratch.marks.unset(ks);
    }

    /// The dot product of the marked row and a column.
    #[inline(always)]
    fn dot(&self, marked: Marked<'_, A>, (ks, values): (&[u32], &[B])) -> Option<S::Out> {
        let (add, mul) = (self.ring.add(), self.ring.mul());
        if let Some(product) = S::Mul::CONSTANT.filter(|_| S::Add::EXACT) {
            // all products are equal, so counting them is enough
            if add.is_terminal(product) {
                return ks.iter().any(|&k| marked.holds(k)).then_some(product);
            }
            let count: u64 = ks.iter().map(|&k| marked.bit(k)).sum();
            return (count > 0).then(|| add.repeat(product, count));
        }
        let mut sum = None;
        for (&k, &value) in ks.iter().zip(values) {
            if marked.holds(k) {
                let product = mul.call(marked.entry(k), value);
                let joined = sum.map_or(product, |sum| add.call(sum, product));
                sum = Some(joined);
                if S::Add::EXACT && add.is_terminal(joined) {
                    break;
                }
            }
        }
        sum
    }

    /// The dot product of a short row and a long column, which is searched.
    fn dot_by_search(&self, (ks, entries): (&[u32], &[A]), (js, values): (&[u32], &[B])) -> Option<S::Out> {
        let (add, mul) = (self.ring.add(), self.ring.mul());
        let (mut sum, mut at) = (None, 0);
        for (&k, &entry) in ks.iter().zip(entries) {
            at = seek(js, at, k);
            match js.get(at) {
                None => break,
                Some(&found) if found != k => continue,
                Some(_) => {}
            }
            let product = mul.call(entry, values[at]);
            let joined = sum.map_or(product, |sum| add.call(sum, product));
            sum = Some(joined);
            if S::Add::EXACT && add.is_terminal(joined) {
                break;
            }
        }
        sum
    }

    /// Row `i` by Gustavson's algorithm. The mask's places are the only keys of a table.
    fn row_by_rows(
        &self,
        b: &Csr<B>,
        i: usize,
        scratch: &mut Scratch<A, S::Out>,
        found: &mut impl FnMut(u32, S::Out),
    ) {
        let ((ks, entries), mask) = (self.a.row(i), self.mask.row(i));
        let Scratch { keys, sums, held, .. } = scratch;
        sums.clear();
        sums.resize(mask.len(), S::Out::ZERO);
        held.clear();
        held.resize(mask.len(), false);
        let (add, mul) = (self.ring.add(), self.ring.mul());
        let mut put = |place: usize, product: S::Out| {
            sums[place] = if held[place] { add.call(sums[place], product) } else { product };
            held[place] = true;
        };
        let kind = keys.set(b.ncols(), mask, self.forced);
        let (first, ahead) = (self.a.offsets()[i] as usize, tuning().rows_ahead);
        for (at, (&k, &entry)) in (first..).zip(ks.iter().zip(entries)) {
            prefetch_rows(b, self.a.columns(), at, ahead);
            let (js, values) = b.row(k as usize);
            if search_pays(mask.len(), js.len()) {
                let mut at = 0;
                for (place, &j) in mask.iter().enumerate() {
                    at = seek(js, at, j);
                    if js.get(at) == Some(&j) {
                        put(place, mul.call(entry, values[at]));
                    }
                }
                continue;
            }
            let row = js.iter().zip(values);
            match kind {
                Keyed::Array => row.for_each(|(&j, &value)| {
                    if let Some(place) = keys.in_array(j) {
                        put(place, mul.call(entry, value));
                    }
                }),
                Keyed::Table(bits) => row.for_each(|(&j, &value)| {
                    if let Some(place) = keys.in_table(bits, j) {
                        put(place, mul.call(entry, value));
                    }
                }),
            }
        }
        keys.unset(kind, mask);
        for ((&j, &sum), _) in mask.iter().zip(&*sums).zip(&*held).filter(|(_, held)| **held) {
            found(j, sum);
        }
    }
}

/// Moves the rows together that blocks have computed each at the front of its part. Returns the offsets of the rows.
fn compacted<T: Element>(
    nrows: usize,
    starts: &[u64],
    blocks: &[Range<usize>],
    ends: &[Vec<u64>],
    columns: &mut Vec<u32>,
    values: &mut Vec<T>,
) -> Vec<u64> {
    let mut offsets = Vec::with_capacity(nrows + 1);
    offsets.push(0);
    let mut filled = 0;
    for (rows, ends) in blocks.iter().zip(ends) {
        let (start, length) = (starts[rows.start] as usize, ends.last().copied().unwrap_or(0) as usize);
        columns.copy_within(start..start + length, filled);
        values.copy_within(start..start + length, filled);
        offsets.extend(ends.iter().map(|end| filled as u64 + end));
        filled += length;
    }
    columns.truncate(filled);
    values.truncate(filled);
    columns.shrink_to_fit();
    values.shrink_to_fit();
    offsets
}

/// What a thread needs for one row at a time.
struct Scratch<A, T> {
    marks: Marks<A>,
    keys: Keys,
    sums: Vec<T>,
    held: Vec<bool>,
}

impl<A: Element, T: Element> Scratch<A, T> {
    fn new() -> Self {
        let marks = Marks { bits: Vec::new(), entries: Vec::new() };
        Self { marks, keys: Keys { array: Vec::new(), table: Vec::new() }, sums: Vec::new(), held: Vec::new() }
    }
}

/// The most bytes of scratch that a thread takes, for an inner dimension of `inner` with entries of `entry` bytes, `ncols` columns, and
/// mask rows of at most `longest` places with sums of `sum` bytes.
pub fn scratch_bytes(inner: usize, entry: usize, ncols: usize, longest: usize, sum: usize) -> u64 {
    let keys = if longest > tuning().hashed_places { 4 * ncols } else { (4 * ncols).min(16 * longest.max(4)) };
    (inner * entry + inner.div_ceil(64) * 8 + keys + longest * (sum + 1)) as u64
}

/// The marked places of a row, and its entries there.
struct Marks<A> {
    bits: Vec<u64>,
    entries: Vec<A>,
}

/// A view of [`Marks`].
#[derive(Clone, Copy)]
struct Marked<'a, A> {
    bits: &'a [u64],
    entries: &'a [A],
}

impl<A: Element> Marks<A> {
    fn set(&mut self, n: usize, ks: &[u32], entries: &[A]) -> Marked<'_, A> {
        if self.entries.len() < n {
            self.bits = vec![0; n.div_ceil(64)];
            self.entries = vec![A::ZERO; n];
        }
        for (&k, &entry) in ks.iter().zip(entries) {
            self.bits[k as usize / 64] |= 1 << (k % 64);
            self.entries[k as usize] = entry;
        }
        Marked { bits: &self.bits, entries: &self.entries }
    }

    fn unset(&mut self, ks: &[u32]) {
        ks.iter().for_each(|&k| self.bits[k as usize / 64] = 0);
    }
}

impl<A: Element> Marked<'_, A> {
    #[inline(always)]
    fn bit(self, k: u32) -> u64 {
        self.bits[k as usize / 64] >> (k % 64) & 1
    }

    #[inline(always)]
    fn holds(self, k: u32) -> bool {
        self.bit(k) != 0
    }

    #[inline(always)]
    fn entry(self, k: u32) -> A {
        self.entries[k as usize]
    }
}

/// The columns of a mask's row and their places in it: in an array over all columns, or in a hash table.
struct Keys {
    /// One more than the place of each column, or 0.
    array: Vec<u32>,
    /// A column, above, and one more than its place, below; or 0.
    table: Vec<u64>,
}

/// Where the keys of a row are.
#[derive(Clone, Copy)]
enum Keyed {
    /// In the array.
    Array,
    /// In a table of `1 << bits` slots.
    Table(u32),
}

impl Keys {
    fn set(&mut self, ncols: usize, mask: &[u32], forced: Option<RowPath>) -> Keyed {
        let array = 4 * ncols <= tuning().dense_row_bytes || mask.len() > tuning().hashed_places;
        if forced.map_or(array, |path| path == RowPath::Dense) {
            if self.array.len() < ncols {
                self.array = vec![0; ncols];
            }
            (1..).zip(mask).for_each(|(place, &j)| self.array[j as usize] = place);
            return Keyed::Array;
        }
        let bits = (2 * mask.len().max(4)).next_power_of_two().trailing_zeros();
        if self.table.len() < 1 << bits {
            self.table.resize(1 << bits, 0);
        }
        for (place, &j) in (1u64..).zip(mask) {
            let mut slot = first_slot(j, bits);
            while self.table[slot] != 0 {
                slot = (slot + 1) & ((1 << bits) - 1);
            }
            self.table[slot] = u64::from(j) << 32 | place;
        }
        Keyed::Table(bits)
    }

    fn unset(&mut self, kind: Keyed, mask: &[u32]) {
        match kind {
            Keyed::Array => mask.iter().for_each(|&j| self.array[j as usize] = 0),
            Keyed::Table(bits) => self.table[..1 << bits].fill(0),
        }
    }

    #[inline(always)]
    fn in_array(&self, j: u32) -> Option<usize> {
        (self.array[j as usize] as usize).checked_sub(1)
    }

    #[inline(always)]
    fn in_table(&self, bits: u32, j: u32) -> Option<usize> {
        let mut slot = first_slot(j, bits);
        loop {
            let held = self.table[slot];
            if held == 0 {
                return None;
            }
            if (held >> 32) as u32 == j {
                return Some(held as u32 as usize - 1);
            }
            slot = (slot + 1) & ((1 << bits) - 1);
        }
    }
}
