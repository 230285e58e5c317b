//! The mode of rows: which label occurs most often among the entries of a row.

use crate::backend::tuning::tuning;
use crate::formats::{Csr, StoreView, row_blocks};
use crate::backend::cpu::parallel;
use vxm_semiring::Element;

/// The mode of each row of `csr` for which `wanted` is true: the label that occurs most often among `labels[j]` over the row's columns `j`,
/// the least among equals. Columns without a label don't count. O(entries of those rows) time, expected.
pub fn modes<A: Element>(
    csr: &Csr<A>,
    labels: StoreView<'_, u32>,
    wanted: impl Fn(usize) -> bool + Sync,
) -> Vec<Option<u32>> {
    of_rows(csr, labels, wanted, |tally| tally.mode())
}

/// The labels of each such row, ascending, with how often each occurs.
pub fn counts<A: Element>(
    csr: &Csr<A>,
    labels: StoreView<'_, u32>,
    wanted: impl Fn(usize) -> bool + Sync,
) -> Vec<Vec<(u32, u32)>> {
    of_rows(csr, labels, wanted, |tally| {
        tally.labels.sort_unstable();
        tally.labels.chunk_by(|one, other| one == other).map(|run| (run[0], run.len() as u32)).collect()
    })
}

/// The label of the highest count, the least among equals; `None` if there are none.
pub fn most(counted: impl Iterator<Item = (u32, u64)>) -> Option<u32> {
    counted.map(|(label, count)| ranked(label, count)).max().map(label_of)
}

/// What `found` makes of the labels of each row of `csr` for which `wanted` is true.
fn of_rows<A: Element, R: Clone + Default + Send>(
    csr: &Csr<A>,
    labels: StoreView<'_, u32>,
    wanted: impl Fn(usize) -> bool + Sync,
    found: impl Fn(&mut Tally) -> R + Sync,
) -> Vec<R> {
    let mut made = vec![R::default(); csr.nrows()];
    let blocks = row_blocks(csr.offsets(), tuning().chunks_a_thread * parallel::threads());
    let mut rest = &mut made[..];
    let mut parts = Vec::with_capacity(blocks.len());
    for rows in blocks {
        let (part, behind) = rest.split_at_mut(rows.len());
        parts.push((rows, part));
        rest = behind;
    }
    parallel::each(parts, &|(rows, part)| {
        let mut tally = Tally::default();
        for (i, made) in rows.zip(part).filter(|(i, _)| wanted(*i)) {
            let columns = csr.row(i).0;
            tally.labels.clear();
            match labels {
                StoreView::Dense(labels) => tally.labels.extend(columns.iter().map(|&j| labels[j as usize])),
                _ => tally.labels.extend(columns.iter().filter_map(|&j| labels.get(j as usize))),
            }
            *made = found(&mut tally);
        }
    });
    made
}

/// Counts labels. It is kept from row to row for its memory.
#[derive(Default)]
struct Tally {
    /// The labels of a row.
    labels: Vec<u32>,
    /// A hash table with open addressing. A slot is 0 if it is free, or holds a label in its high half and its count in the low one. The
    /// number of slots is a power of two.
    slots: Vec<u64>,
}

impl Tally {
    /// The mode of the labels; `None` if there are none.
    fn mode(&mut self) -> Option<u32> {
        let (&first, rest) = self.labels.split_first()?;
        if rest.len() <= 1 || rest.iter().all(|&label| label == first) {
            return self.labels.iter().copied().min();
        }
        if self.labels.len() <= tuning().listed_labels {
            self.labels.sort_unstable();
            let runs = self.labels.chunk_by(|one, other| one == other);
            return most(runs.map(|run| (run[0], run.len() as u64)));
        }
        Some(self.by_table())
    }

    /// The mode by a hash table, which grows with the number of distinct labels.
    fn by_table(&mut self) -> u32 {
        let Self { labels, slots } = self;
        slots.clear();
        slots.resize((2 * labels.len()).next_power_of_two().min(tuning().label_slots.next_power_of_two()), 0);
        let (mut distinct, mut best) = (0, 0);
        for &label in labels.iter() {
            let count = count_in(slots, label);
            best = best.max(ranked(label, count));
            distinct += usize::from(count == 1);
            if 2 * distinct > slots.len() {
                let old = core::mem::take(slots);
                slots.resize(2 * old.len(), 0);
                for slot in old.into_iter().filter(|&slot| slot != 0) {
                    let at = find(slots, (slot >> 32) as u32);
                    slots[at] = slot;
                }
            }
        }
        label_of(best)
    }
}

/// A label and its count as one number: greater for higher counts, and among equal counts for lesser labels.
fn ranked(label: u32, count: u64) -> u64 {
    count << 32 | u64::from(!label)
}

/// The label of a [`ranked`] number.
fn label_of(ranked: u64) -> u32 {
    !(ranked as u32)
}

/// The slot that holds `label`, or else the free slot that it belongs into.
#[inline]
fn find(slots: &[u64], label: u32) -> usize {
    let last = slots.len() - 1;
    // Fibonacci hashing: the high bits of a product with 2^64 over the golden ratio
    let mut at = (u64::from(label).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & last;
    while slots[at] != 0 && (slots[at] >> 32) as u32 != label {
        at = (at + 1) & last;
    }
    at
}

/// Counts `label` once more, and returns its count.
#[inline]
fn count_in(slots: &mut [u64], label: u32) -> u64 {
    let slot = &mut slots[find(slots, label)];
    *slot = (u64::from(label) << 32 | (*slot & u64::from(u32::MAX))) + 1;
    *slot & u64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn tables_grow_and_count_as_a_map_does() {
        let mut tally = Tally::default();
        let mut state = 1u64;
        for (length, distinct) in [(1, 1), (2, 9), (5, 3), (40, 2), (40, 1000), (5000, 7), (5000, 4000), (20_000, 20_000)] {
            let mut next = || {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                // both ends of the range of labels occur
                ((state >> 33) % distinct) as u32
            };
            let labels: Vec<u32> = (0..length).map(|_| if next() % 2 == 0 { next() } else { !next() }).collect();
            let mut counts = BTreeMap::new();
            labels.iter().for_each(|&label| *counts.entry(label).or_insert(0usize) += 1);
            // of equal counts the first, so the least label
            let mode = counts.into_iter().rev().max_by_key(|&(_, count)| count).map(|(label, _)| label);
            tally.labels = labels;
            assert_eq!(tally.mode(), mode, "{length} of {distinct}");
        }
        tally.labels.clear();
        assert_eq!(tally.mode(), None);
    }
}
