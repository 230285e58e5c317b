//! An undirected graph from edges in any order: symmetric, without self-loops or duplicates.
//!
//! Memory is what limits the graphs a machine can read, so edges are kept once until the end: each goes to the row of its
//! smaller end (the upper triangle), rows are sorted and cleaned in place, and only then mirrored. Beside the edges, which
//! are freed on the way, that takes 4 bytes an entry and at most 16 a vertex; then the half and the finished matrix.

use super::csr::MAX_COLUMN_TASKS;
use super::{Csr, check_vertices, row_blocks, split_rows};
use crate::error::{Error, Result};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use rayon::prelude::*;

/// Whether an edge that is listed in both directions is listed twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Directions {
    /// `(i, j)` and `(j, i)` are one edge; the second is a duplicate.
    Ignored,
    /// `(i, j)` and `(j, i)` are two halves of one edge; edges with one half are counted in [`Cleaned::one_way`].
    Matter,
}

/// A graph and what cleaning it took.
#[derive(Debug, Clone, PartialEq)]
pub struct Cleaned {
    /// The graph: symmetric, without self-loops.
    pub graph: Csr,
    /// The edges given.
    pub entries: u64,
    /// How many of them joined a vertex to itself; dropped.
    pub loops: u64,
    /// How many of them repeated another; dropped.
    pub duplicates: u64,
    /// Edges listed in one direction only, where directions matter.
    pub one_way: Option<u64>,
}

/// The undirected graph of `edges`, given in lists of any lengths. The same for any number of threads and any order.
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
/// [`Error::TooManyVertices`], or [`Error::Invalid`] naming the first edge whose ends are not below `vertices`.
pub fn undirected(vertices: usize, edges: Vec<Vec<(u32, u32)>>, directions: Directions) -> Result<Cleaned> {
    check_vertices("undirected", vertices)?;
    let slots = Slots { directed: directions == Directions::Matter };
    let entries = edges.iter().map(|list| list.len() as u64).sum();
    let starts = slots.count(vertices, &edges)?;
    let (starts, columns) = slots.scatter(starts, edges);
    let kept = columns.len() as u64;
    let (half, distinct) = slots.clean(starts, columns);
    let pairs = half.nnz() as u64;
    Ok(Cleaned {
        graph: mirror(&half),
        entries,
        loops: entries - kept,
        duplicates: kept - distinct,
        // an edge is distinct once for each direction it is listed in
        one_way: slots.directed.then_some(2 * pairs - distinct),
    })
}

/// Where an edge goes: the row of its smaller end; where directions matter, each row is a forward slot and a backward one.
#[derive(Clone, Copy)]
struct Slots {
    directed: bool,
}

impl Slots {
    fn width(self) -> usize {
        1 + usize::from(self.directed)
    }

    /// The slot and the larger end; `None` for a self-loop.
    #[inline]
    fn of(self, (from, to): (u32, u32)) -> Option<(usize, u32)> {
        let (low, high) = (from.min(to), from.max(to));
        let backward = usize::from(self.directed && from > to);
        (low != high).then_some((low as usize * self.width() + backward, high))
    }

    /// Where each slot starts, one place late: as the slots fill, their starts become their ends, the next one's starts.
    fn count(self, vertices: usize, edges: &[Vec<(u32, u32)>]) -> Result<Vec<AtomicU64>> {
        let mut counts: Vec<AtomicU64> =
            (0..vertices * self.width() + 2).into_par_iter().map(|_| AtomicU64::new(0)).collect();
        let outside = |&&(from, to): &&(u32, u32)| from.max(to) as usize >= vertices;
        let count = |list: &Vec<(u32, u32)>| {
            if let Some(&edge) = list.iter().find(outside) {
                return Some(edge);
            }
            for (slot, _) in list.iter().filter_map(|&edge| self.of(edge)) {
                counts[slot + 2].fetch_add(1, Relaxed);
            }
            None
        };
        if let Some((from, to)) = edges.par_iter().find_map_first(count) {
            return Err(Error::invalid(format!(
                "undirected: the edge ({from}, {to}) lies outside a graph of {vertices} vertices"
            )));
        }
        let mut sum = 0;
        for count in &mut counts {
            sum += *count.get_mut();
            *count.get_mut() = sum;
        }
        Ok(counts)
    }

    /// Where each slot starts, and the larger ends, in any order within a slot. Frees each list once it is placed.
    fn scatter(self, starts: Vec<AtomicU64>, edges: Vec<Vec<(u32, u32)>>) -> (Vec<u64>, Vec<u32>) {
        let total = starts.last().map_or(0, |end| end.load(Relaxed)) as usize;
        // zeroed by the system as pages are first touched: by then lists are gone that took as much
        let columns = vec![0; total].into_iter().map(AtomicU32::new);
        let columns: Vec<AtomicU32> = columns.collect();
        edges.into_par_iter().for_each(|list| {
            for (slot, high) in list.into_iter().filter_map(|edge| self.of(edge)) {
                let place = starts[slot + 1].fetch_add(1, Relaxed);
                columns[place as usize].store(high, Relaxed);
            }
        });
        // both collect in place: an atomic is as wide as what it holds
        let mut starts: Vec<u64> = starts.into_iter().map(AtomicU64::into_inner).collect();
        starts.pop();
        let columns = columns.into_iter().map(AtomicU32::into_inner).collect();
        (starts, columns)
    }

    /// Sorts and cleans the rows: the upper triangle, and how many entries are distinct, directions told apart.
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

/// Cleans each row and moves it up to the one before: the rows' new lengths, and how many entries are distinct.
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

/// Sorts `row` and moves its distinct elements to the front: how many there are.
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

/// The symmetric matrix of a strict upper triangle: row `v` is column `v` of the triangle, then its row `v`.
fn mirror(half: &Csr) -> Csr {
    let vertices = half.nrows();
    let pieces = rayon::current_num_threads().min(MAX_COLUMN_TASKS);
    let mut offsets = half.column_offsets(pieces);
    for (offset, above) in offsets.iter_mut().zip(half.offsets()) {
        *offset += above;
    }
    let blocks = row_blocks(&offsets, pieces);
    let mut columns = vec![0u32; 2 * half.nnz()];
    let parts = split_rows(&mut columns, &offsets, &blocks);
    blocks.par_iter().zip(parts).for_each(|(block, part)| {
        let start = offsets[block.start];
        let mut next: Vec<u64> = offsets[block.clone()].iter().map(|o| o - start).collect();
        // rows come in order, so what lies below the diagonal ascends
        half.walk(block, |row, column, _| {
            let next = &mut next[column - block.start];
            part[*next as usize] = row;
            *next += 1;
        });
        for (row, &next) in block.clone().zip(&next) {
            let (above, place) = (half.row(row).0, next as usize);
            part[place..place + above.len()].copy_from_slice(above);
        }
    });
    let values = vec![(); columns.len()];
    Csr::from_parts(vertices, vertices, offsets, columns, values)
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
