//! Builds an undirected graph from edges in any order: symmetric, without self-loops or duplicates.
//!
//! Memory limits the size of the graphs that a machine can read, so each edge is stored once until the last step. Each
//! edge goes to the row of its smaller endpoint (the upper triangle). Rows are sorted and deduplicated in place, and
//! then mirrored. The edge lists are freed as they are consumed. Beside them, this takes 4 bytes per entry and at most
//! 16 per vertex. The last step holds the upper triangle and the finished matrix. E076

use crate::error::{Error, Result};
use crate::formats::csr::MAX_COLUMN_TASKS;
use crate::formats::{Csr, check_vertices, row_blocks, split_rows};
use core::ops::Range;
use rayon::prelude::*;

/// How an edge that is listed in both directions counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Directions {
    /// `(i, j)` and `(j, i)` are one edge; the second is a duplicate.
    Ignored,
    /// `(i, j)` and `(j, i)` are two halves of one edge; edges with one half are counted in [`Cleaned::one_way`].
    Matter,
}

/// A cleaned graph, with counts of what was removed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Cleaned {
    /// The graph: symmetric, without self-loops.
    pub graph: Csr,
    /// The number of input edges.
    pub entries: u64,
    /// The number of input edges that were self-loops; they are dropped.
    pub loops: u64,
    /// The number of input edges that repeated an earlier one; they are dropped.
    pub duplicates: u64,
    /// The number of edges listed in one direction only; `None` for [`Directions::Ignored`].
    pub one_way: Option<u64>,
}

/// Builds the undirected graph of `edges` over vertices `0..vertices`. The edges may be split into lists of any
/// lengths. The result does not depend on the number of threads or on the order of the edges.
///
/// ```
/// use vxm::formats::{Directions, undirected};
/// let cleaned = undirected(3, vec![vec![(1, 0), (0, 1), (2, 2)], vec![(1, 2), (1, 2)]], Directions::Matter)?;
/// assert_eq!(cleaned.graph.columns(), [1, 0, 2, 1]);
/// assert_eq!((cleaned.loops, cleaned.duplicates, cleaned.one_way), (1, 1, Some(1)));
/// # Ok::<(), vxm::error::Error>(())
/// ```
///
/// # Errors
/// [`Error::TooManyVertices`], or [`Error::Invalid`] naming the first edge with an endpoint that is not below
/// `vertices`.
pub fn undirected(vertices: usize, edges: Vec<Vec<(u32, u32)>>, directions: Directions) -> Result<Cleaned> {
    check_vertices("undirected", vertices)?;
    let slots = Slots { directed: directions == Directions::Matter };
    let entries = edges.iter().map(|list| list.len() as u64).sum();
    let (starts, columns) = slots.scatter(vertices, edges)?;
    let kept = columns.len() as u64;
    let (half, distinct) = slots.clean(starts, columns);
    let pairs = half.nnz() as u64;
    Ok(Cleaned {
        graph: mirror(&half),
        entries,
        loops: entries - kept,
        duplicates: kept - distinct,
        // `distinct` counts a pair once for each direction it is listed in
        one_way: slots.directed.then_some(2 * pairs - distinct),
    })
}

/// Assigns edges to slots: the slot of an edge is the row of its smaller endpoint. If directions matter (`directed`),
/// each row has two slots: a forward one and a backward one.
#[derive(Clone, Copy)]
struct Slots {
    directed: bool,
}

impl Slots {
    fn width(self) -> usize {
        1 + usize::from(self.directed)
    }

    /// Returns the slot and the larger endpoint of an edge; `None` for a self-loop.
    #[inline]
    fn of(self, (from, to): (u32, u32)) -> Option<(usize, u32)> {
        let (low, high) = (from.min(to), from.max(to));
        let backward = usize::from(self.directed && from > to);
        (low != high).then_some((low as usize * self.width() + backward, high))
    }

    /// Returns where each slot starts, and the larger endpoints, in any order within a slot. Frees lists as they are placed.
    ///
    /// Edges are sorted into buckets of consecutive rows first (propagation blocking). Then one thread counts or writes what lies in a bucket, and
    /// that stays in its cache.
    fn scatter(self, vertices: usize, lists: Vec<Vec<(u32, u32)>>) -> Result<(Vec<u64>, Vec<u32>)> {
        let bits = bucket_bits(vertices, &lists);
        let (slots, buckets) = (self.width() << bits, vertices.div_ceil(1 << bits));
        let parted: Vec<_> = lists.into_par_iter().map(|list| Parted::of(list, vertices, bits, buckets)).collect();
        let mut lists = parted.into_iter().collect::<Result<Vec<_>>>()?;
        // behind place 0, for each slot where its next edge goes: when all are placed, that is the slot's end
        let mut starts = vec![0u64; vertices * self.width() + 1];
        starts[1..].par_chunks_mut(slots).enumerate().for_each(|(bucket, counts)| {
            let edges = lists.iter().flat_map(|list| list.of_bucket(bucket));
            edges.filter_map(|&edge| self.of(edge)).for_each(|(slot, _)| counts[slot % slots] += 1);
        });
        let mut sum = 0;
        starts.iter_mut().for_each(|start| sum += core::mem::replace(start, sum));
        // the system zeroes pages at first touch
        let mut columns = vec![0u32; sum as usize];
        let bounds: Vec<u64> = starts[1..].iter().step_by(slots).copied().chain([sum]).collect();
        let parts =
            split_rows(&mut columns, &bounds, &(0..buckets).map(|bucket| bucket..bucket + 1).collect::<Vec<_>>());
        let mut parts: Vec<(u64, &mut [u32])> = bounds.into_iter().zip(parts).collect();
        let mut group = lists.len().div_ceil(GROUPS);
        while !lists.is_empty() {
            let some = lists.split_off(lists.len().saturating_sub(group));
            group *= 2;
            starts[1..].par_chunks_mut(slots).zip(&mut parts).enumerate().for_each(
                |(bucket, (next, (first, part)))| {
                    let edges = some.iter().flat_map(|list| list.of_bucket(bucket));
                    edges.filter_map(|&edge| self.of(edge)).for_each(|(slot, high)| {
                        let next = &mut next[slot % slots];
                        part[(*next - *first) as usize] = high;
                        *next += 1;
                    });
                },
            );
        }
        Ok((starts, columns))
    }

    /// Sorts and deduplicates the rows. Returns the upper triangle, and the number of distinct entries, with the two
    /// directions of an edge counted apart.
    fn clean(self, starts: Vec<u64>, mut columns: Vec<u32>) -> (Csr, u64) {
        let width = self.width();
        let vertices = (starts.len() - 1) / width;
        let rows: Vec<u64> = starts.iter().step_by(width).copied().collect();
        let blocks = row_blocks(&rows, 8 * rayon::current_num_threads());
        let parts = split_rows(&mut columns, &rows, &blocks);
        let cleaned: Vec<(Vec<u32>, u64)> = blocks
            .par_iter()
            .zip(parts)
            .map(|(block, part)| {
                let slots = block.start * width..=block.end * width;
                clean_rows(&starts[slots], width, part)
            })
            .collect();

        let mut offsets = Vec::with_capacity(rows.len());
        offsets.push(0);
        let (mut end, mut distinct) = (0u64, 0);
        for (block, (lengths, found)) in blocks.iter().zip(cleaned) {
            let (from, to) = (rows[block.start] as usize, end as usize);
            for length in lengths {
                end += u64::from(length);
                offsets.push(end);
            }
            columns.copy_within(from..from + (end as usize - to), to);
            distinct += found;
        }
        columns.truncate(end as usize);
        let values = vec![(); columns.len()];
        let half = Csr::from_parts(vertices, vertices, offsets, columns, values);
        (half, distinct)
    }
}

/// Sorts and deduplicates each row, and moves it to directly behind the previous one. Returns the new lengths of the
/// rows, and the number of distinct entries.
fn clean_rows(starts: &[u64], width: usize, part: &mut [u32]) -> (Vec<u32>, u64) {
    let base = starts[0];
    let place = |slot: usize| (starts[slot] - base) as usize;
    let (mut end, mut distinct) = (0, 0);
    let mut lengths = Vec::with_capacity(starts.len() / width);
    for slot in (0..starts.len() - 1).step_by(width) {
        let start = place(slot);
        let mut length = unique(&mut part[start..place(slot + 1)]);
        distinct += length as u64;
        if width == 2 {
            let backward = place(slot + 1);
            let more = unique(&mut part[backward..place(slot + 2)]);
            distinct += more as u64;
            part.copy_within(backward..backward + more, start + length);
            if length > 0 && more > 0 {
                length = unique(&mut part[start..start + length + more]);
            } else {
                length += more;
            }
        }
        part.copy_within(start..start + length, end);
        end += length;
        lengths.push(length as u32);
    }
    (lengths, distinct)
}

/// Sorts `row` and moves its distinct elements to the front. Returns how many there are.
fn unique(row: &mut [u32]) -> usize {
    row.sort_unstable();
    let mut length = row.len().min(1);
    for place in 1..row.len() {
        if row[place] != row[length - 1] {
            row[length] = row[place];
            length += 1;
        }
    }
    length
}

/// The binary logarithm of the columns of a bucket. Their next places, and a cache line of each of their rows, stay in a core's cache.
const BUCKET_BITS: u32 = 12;

/// Edges that are sorted into buckets together. They stay in a core's cache, a thread's copy of them is little beside a small file, and their places
/// fit 16 bits.
const PART: usize = 1 << 14;

/// The most buckets of edges, and the mean edges of one in a part: with fewer, the places where buckets end would take as much memory.
const MOST_BUCKETS: usize = 512;
const LEAST_OF_BUCKET: usize = 64;

/// One in so many lists is placed and freed first. It touches nearly all pages of the columns, beside all lists. Then each group is twice as large
/// as the one before.
const GROUPS: usize = 256;

/// The binary logarithm of the rows of a bucket of edges. What is counted for so many rows stays in a core's cache; of a small graph each thread
/// still has some buckets.
fn bucket_bits(vertices: usize, lists: &[Vec<(u32, u32)>]) -> u32 {
    let (edges, parts) =
        lists.iter().fold((0, 0), |(edges, parts), list| (edges + list.len(), parts + list.len().div_ceil(PART)));
    let few = (8 * rayon::current_num_threads()).min(MOST_BUCKETS);
    let most = (edges / parts.max(1) / LEAST_OF_BUCKET).min(MOST_BUCKETS).max(few);
    let bits = (vertices / few).max(1).ilog2().min(BUCKET_BITS);
    bits.max(vertices.div_ceil(most).max(1).next_power_of_two().ilog2())
}

/// A list of edges in parts. Each part is sorted by the buckets of the edges' lower ends; self-loops come last.
struct Parted {
    edges: Vec<(u32, u32)>,
    /// Of each part, where each bucket ends.
    ends: Vec<Vec<u16>>,
}

impl Parted {
    /// Sorts a list by `buckets` buckets of 2^`bits` vertices.
    fn of(mut edges: Vec<(u32, u32)>, vertices: usize, bits: u32, buckets: usize) -> Result<Self> {
        if let Some((from, to)) = edges.iter().find(|(from, to)| *from.max(to) as usize >= vertices) {
            return Err(Error::invalid(format!(
                "undirected: the edge ({from}, {to}) lies outside a graph of {vertices} vertices"
            )));
        }
        let bucket = |&(from, to): &(u32, u32)| if from == to { buckets } else { (from.min(to) >> bits) as usize };
        let sort = |part: &mut [(u32, u32)]| {
            let mut ends = vec![0u16; buckets + 1];
            part.iter().for_each(|edge| ends[bucket(edge)] += 1);
            let mut sum = 0;
            // each end begins as the bucket's start
            ends.iter_mut().for_each(|end| sum += core::mem::replace(end, sum));
            let unsorted: Vec<_> = part.to_vec();
            for edge in &unsorted {
                let end = &mut ends[bucket(edge)];
                part[*end as usize] = *edge;
                *end += 1;
            }
            ends
        };
        let ends = edges.par_chunks_mut(PART).map(sort).collect();
        Ok(Self { edges, ends })
    }

    /// The edges of a bucket.
    fn of_bucket(&self, bucket: usize) -> impl Iterator<Item = &(u32, u32)> {
        self.edges.chunks(PART).zip(&self.ends).flat_map(move |(part, ends)| {
            let start = bucket.checked_sub(1).map_or(0, |before| ends[before]);
            &part[start as usize..ends[bucket] as usize]
        })
    }
}

/// The most entries of the triangle that are sorted into buckets at a time, 8 bytes each. Of a large triangle it is at most a part in
/// `CHUNKS`, so that they take a byte for each of its entries; a small one takes no memory to speak of.
const CHUNK: usize = 1 << 22;
const CHUNKS: usize = 8;
const SMALL: usize = 1 << 16;

/// Returns the symmetric matrix of a strict upper triangle. Row `v` is column `v` of the triangle followed by its row
/// `v`.
///
/// Entries of some consecutive rows at a time are sorted into buckets of columns (propagation blocking), so that what is written next to one
/// another is in the cache.
fn mirror(half: &Csr) -> Csr {
    let vertices = half.nrows();
    let mut offsets = half.column_offsets(rayon::current_num_threads().min(MAX_COLUMN_TASKS));
    for (offset, above) in offsets.iter_mut().zip(half.offsets()) {
        *offset += above;
    }
    let blocks: Vec<Range<usize>> =
        (0..vertices).step_by(1 << BUCKET_BITS).map(|start| start..vertices.min(start + (1 << BUCKET_BITS))).collect();
    let mut columns = vec![0u32; 2 * half.nnz()];
    let parts = split_rows(&mut columns, &offsets, &blocks);
    let starts = |block: &Range<usize>| -> Vec<usize> {
        block.clone().map(|row| (offsets[row] - offsets[block.start]) as usize).collect()
    };
    let mut buckets: Vec<Bucket> =
        blocks.iter().zip(parts).map(|(block, part)| Bucket { next: starts(block), part }).collect();
    let chunk = CHUNK.min(SMALL.max(half.nnz() / CHUNKS));
    for rows in row_blocks(half.offsets(), half.nnz() / chunk + 1) {
        let inside: Vec<u64> = half.offsets()[rows.start..=rows.end].to_vec();
        let slices =
            row_blocks(&inside.iter().map(|end| end - inside[0]).collect::<Vec<_>>(), 2 * rayon::current_num_threads());
        let sorted: Vec<Sorted> = slices
            .par_iter()
            .map(|slice| Sorted::of(half, slice.start + rows.start..slice.end + rows.start, blocks.len()))
            .collect();
        // slices ascend, and rows within one, so the entries below the diagonal come out ascending
        buckets
            .par_iter_mut()
            .enumerate()
            .for_each(|(place, bucket)| sorted.iter().for_each(|sorted| bucket.take(sorted.of_bucket(place))));
    }
    buckets.par_iter_mut().zip(&blocks).for_each(|(bucket, block)| {
        for (row, &place) in block.clone().zip(&bucket.next) {
            let above = half.row(row).0;
            bucket.part[place..place + above.len()].copy_from_slice(above);
        }
    });
    drop(buckets);
    let values = vec![(); columns.len()];
    Csr::from_parts(vertices, vertices, offsets, columns, values)
}

/// Consecutive rows of a matrix that is being filled: the next place of each within their part of the columns.
struct Bucket<'c> {
    next: Vec<usize>,
    part: &'c mut [u32],
}

impl Bucket<'_> {
    /// Adds each row of `entries` to the row that is its column.
    fn take(&mut self, entries: &[(u32, u32)]) {
        for &(row, column) in entries {
            let next = &mut self.next[column as usize & ((1 << BUCKET_BITS) - 1)];
            self.part[*next] = row;
            *next += 1;
        }
    }
}

/// Entries `(row, column)` sorted by the buckets of their columns, and by row within a bucket.
struct Sorted {
    /// Where each bucket ends.
    ends: Vec<usize>,
    entries: Vec<(u32, u32)>,
}

impl Sorted {
    /// The entries of the rows `rows`.
    fn of(half: &Csr, rows: Range<usize>, buckets: usize) -> Self {
        let (first, last) = (half.offsets()[rows.start] as usize, half.offsets()[rows.end] as usize);
        let columns = &half.columns()[first..last];
        let mut ends = vec![0; buckets];
        columns.iter().for_each(|&column| ends[(column >> BUCKET_BITS) as usize] += 1);
        let mut sum = 0;
        // each end begins as the bucket's start
        ends.iter_mut().for_each(|end| sum += core::mem::replace(end, sum));
        let mut entries = vec![(0, 0); columns.len()];
        for row in rows {
            for &column in half.row(row).0 {
                let end = &mut ends[(column >> BUCKET_BITS) as usize];
                entries[*end] = (row as u32, column);
                *end += 1;
            }
        }
        Self { ends, entries }
    }

    fn of_bucket(&self, bucket: usize) -> &[(u32, u32)] {
        let start = bucket.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.entries[start..self.ends[bucket]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn agrees_with_sets(
            vertices in 1u32..30,
            raw in prop::collection::vec((0u32..30, 0u32..30), 0..200),
            lists in 1usize..5,
        ) {
            let edges: Vec<_> = raw.iter().map(|&(i, j)| (i % vertices, j % vertices)).collect();
            let directed: BTreeSet<_> = edges.iter().filter(|(i, j)| i != j).collect();
            let pairs: BTreeSet<_> = directed.iter().flat_map(|&&(i, j)| [(i, j), (j, i)]).collect();
            let split: Vec<_> = edges.chunks(edges.len() / lists + 1).map(<[_]>::to_vec).collect();
            let loops = edges.iter().filter(|(i, j)| i == j).count();
            for directions in [Directions::Matter, Directions::Ignored] {
                let built = undirected(vertices as usize, split.clone(), directions).unwrap();
                let graph = &built.graph;
                let found: Vec<_> = (0..vertices)
                    .flat_map(|i| graph.row(i as usize).0.iter().map(move |&j| (i, j)))
                    .collect();
                prop_assert_eq!(found, pairs.iter().copied().collect::<Vec<_>>());
                prop_assert_eq!(built.loops, loops as u64);
                let distinct = match directions {
                    Directions::Matter => directed.len(),
                    Directions::Ignored => pairs.len() / 2,
                };
                prop_assert_eq!(built.duplicates as usize, edges.len() - loops - distinct);
                let one_way = (directions == Directions::Matter)
                    .then(|| (pairs.len() - directed.len()) as u64);
                prop_assert_eq!(built.one_way, one_way);
            }
        }
    }

    #[test]
    fn an_edge_outside_is_named() {
        let error = undirected(2, vec![vec![(0, 1)], vec![(2, 2)]], Directions::Ignored);
        assert_eq!(error.unwrap_err().to_string(), "undirected: the edge (2, 2) lies outside a graph of 2 vertices");
        let empty = undirected(0, Vec::new(), Directions::Matter).unwrap();
        assert_eq!(empty.graph.nrows(), 0);
    }
}
