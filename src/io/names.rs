//! The vertex numbers of an edge list, which may be any, and the vertices that they become.

use crate::error::{Error, Result};
use crate::formats::MAX_VERTICES;
use crate::io::loaded::Numbering;
use crate::memory;
use crate::ranks::{Grid, Joined, numbers};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};
use zerocopy::IntoBytes;

/// The vertex numbers that occur in a file, in ascending order.
pub(super) enum Names {
    /// For dense numbers: a bit for every number up to the largest, and for each word the number of bits set before it.
    Close { used: Vec<u64>, before: Vec<u64> },
    /// For scattered numbers: the sorted list of them.
    Far(Vec<u64>),
}

impl Names {
    /// Collects the vertex numbers of edges, with their values.
    pub fn of<I: Copy + Into<u64> + Sync, V: Sync>(edges: &[Vec<(I, I, V)>], file: &str) -> Result<Self> {
        let entries: usize = edges.iter().map(Vec::len).sum();
        let ends = || edges.par_iter().flat_map_iter(|list| list.iter().flat_map(|e| [e.0.into(), e.1.into()]));
        let most = ends().max();
        // the bitmap is chosen only if it takes no more memory than the edges, give or take a constant
        if most.is_none_or(|most| most / 64 < entries as u64 / 2 + 64) {
            let words = most.map_or(0, |most| most as usize / 64 + 1);
            memory::require(16 * words as u128, || file.to_owned())?;
            let used: Vec<AtomicU64> = (0..words).map(|_| AtomicU64::new(0)).collect();
            ends().for_each(|end| {
                let (word, bit) = (&used[end as usize / 64], 1 << (end % 64));
                // most numbers have been seen before, and a load is cheaper than an atomic write
                if word.load(Relaxed) & bit == 0 {
                    word.fetch_or(bit, Relaxed);
                }
            });
            Ok(Self::close(used.into_iter().map(AtomicU64::into_inner).collect()))
        } else {
            memory::require(16 * entries as u128, || file.to_owned())?;
            let mut numbers: Vec<u64> = ends().collect();
            numbers.par_sort_unstable();
            numbers.dedup();
            numbers.shrink_to_fit();
            Ok(Self::Far(numbers))
        }
    }

    /// The numbers of the set bits.
    fn close(used: Vec<u64>) -> Self {
        let mut sum = 0;
        let before = used.iter().map(|word| {
            let before = sum;
            sum += u64::from(word.count_ones());
            before
        });
        Self::Close { before: before.collect(), used }
    }

    /// The number of vertices, if they can be numbered.
    pub fn few_enough(&self, file: &str) -> Result<u64> {
        let (vertices, limit) = (self.count(), MAX_VERTICES as u64);
        if vertices > limit {
            return Err(Error::TooManyVertices { place: file.to_owned(), count: vertices.into(), limit });
        }
        Ok(vertices)
    }

    fn count(&self) -> u64 {
        match self {
            Self::Close { used, before } => {
                let last = used.last().map_or(0, |word| u64::from(word.count_ones()));
                before.last().copied().unwrap_or(0) + last
            }
            Self::Far(numbers) => numbers.len() as u64,
        }
    }

    /// The index of the vertex that the file calls `name`, which must occur.
    #[inline]
    pub fn vertex(&self, name: u64) -> u32 {
        match self {
            Self::Close { used, before } => {
                let word = name as usize / 64;
                let below = used[word] & ((1 << (name % 64)) - 1);
                (before[word] + u64::from(below.count_ones())) as u32
            }
            Self::Far(numbers) => numbers.partition_point(|&n| n < name) as u32,
        }
    }

    /// What the file calls each vertex.
    pub fn numbering(&self) -> Numbering {
        match self {
            Self::Close { used, .. } => listed(bits_of(used).collect()),
            Self::Far(numbers) => listed(numbers.clone()),
        }
    }

    pub fn into_numbering(self) -> Numbering {
        match self {
            Self::Close { used, .. } => listed(bits_of(&used).collect()),
            Self::Far(numbers) => listed(numbers),
        }
    }
}

/// Ascending numbers of vertices as a numbering.
fn listed(numbers: Vec<u64>) -> Numbering {
    match (numbers.first(), numbers.last()) {
        (None, _) => Numbering::From(0),
        (Some(&first), Some(&last)) if last - first == numbers.len() as u64 - 1 => Numbering::From(first),
        _ => Numbering::Listed(numbers),
    }
}

/// Listed numbers that aren't worth looking for equal ones.
const FEW: usize = 1 << 16;

/// The vertex numbers of some edges of a file, which are passed list by list, in any order.
pub(super) struct Survey<'f> {
    file: &'f str,
    /// The pair of numbers on the first line, which may be a header.
    header: Option<(u64, u64)>,
    /// Numbers below have a bit each; those from here on are listed.
    limit: u64,
    seen: Mutex<Seen>,
}

/// What was seen.
#[derive(Default)]
struct Seen {
    used: Vec<u64>,
    far: Vec<u64>,
    /// How many listed numbers are known to differ.
    distinct: usize,
    /// How many edges are the pair of the first line, and how far the numbers of all others reach.
    headers: u64,
    reach: Reach,
}

/// The greatest numbers of edges: of those that they go from, and of those that they go to.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Reach {
    pub from: u64,
    pub to: u64,
}

impl Reach {
    /// The reach of both.
    pub fn and(self, from: u64, to: u64) -> Self {
        Self { from: self.from.max(from), to: self.to.max(to) }
    }
}

impl<'f> Survey<'f> {
    /// A survey of `file`, with a bit for each number below `limit`. `header` is the pair of numbers on the first line.
    pub fn new(file: &'f str, header: Option<(u64, u64)>, limit: u64) -> Self {
        Self { file, header, limit, seen: Mutex::default() }
    }

    /// Takes some edges.
    pub fn take<V>(&self, edges: &[(u64, u64, V)]) -> Result<()> {
        let near = |number: &u64| *number < self.limit;
        let ends = || edges.iter().flat_map(|&(from, to, _)| [from, to]);
        let most = ends().filter(near).max();
        let (mut reach, mut headers) = (Reach::default(), 0);
        for &(from, to, _) in edges {
            match self.header {
                Some(header) if header == (from, to) => headers += 1,
                _ => reach = reach.and(from, to),
            }
        }
        let words = most.map_or(0, |most| (most / 64 + 1) as usize);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let Seen { used, far, distinct, .. } = &mut *seen;
        if used.len() < words {
            // the bits, and as much again for the numbers of bits before each word
            memory::require(16 * words as u128, || {
                format!("{}: vertex numbers up to {}", self.file, most.unwrap_or(0))
            })?;
            used.resize(words, 0);
        }
        for number in ends() {
            match near(&number) {
                true => used[number as usize / 64] |= 1 << (number % 64),
                false => far.push(number),
            }
        }
        if far.len() > 2 * *distinct + FEW {
            memory::require(16 * far.len() as u128, || format!("{}: {} vertex numbers", self.file, far.len()))?;
            far.sort_unstable();
            far.dedup();
            *distinct = far.len();
        }
        seen.headers += headers;
        seen.reach = seen.reach.and(reach.from, reach.to);
        Ok(())
    }

    /// The names that were seen, and how far the numbers of all lines but the first reach.
    pub fn finish(self) -> (Names, Reach) {
        let header = self.header;
        let Seen { used, mut far, headers, reach, .. } = self.seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        let reach = reach_of(reach, header, headers);
        if far.is_empty() {
            return (Names::close(used), reach);
        }
        far.extend(bits_of(&used));
        far.sort_unstable();
        far.dedup();
        (Names::Far(far), reach)
    }

    /// The names that all ranks of a grid saw in their parts of the file, and how far the numbers of all lines but the first reach. All ranks
    /// call this.
    ///
    /// # Errors
    /// [`Error::Ranks`]: another rank has failed.
    pub fn finish_together(self, grid: &Grid) -> Result<(Names, Reach)> {
        let header = self.header;
        let Seen { used, mut far, headers, reach, .. } = self.seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        let told = grid.told(&[used.len() as u64, far.len() as u64, headers, reach.from, reach.to])?;
        let reach = told.iter().fold(Reach::default(), |reach, told| reach.and(told[3], told[4]));
        let reach = reach_of(reach, header, told.iter().map(|told| told[2]).sum());
        if told.iter().all(|told| told[1] == 0) {
            let words = told.iter().map(|told| told[0] as usize).max().unwrap_or(0);
            return Ok((Names::close(union(grid, used, words)?), reach));
        }
        far.extend(bits_of(&used));
        far.sort_unstable();
        far.dedup();
        let joined = Joined::of(grid, &far)?;
        drop(far);
        Ok((Names::Far(joined.to_all(grid)?), reach))
    }
}

/// How far the numbers of all lines but the first reach, if so many lines have its numbers.
fn reach_of(others: Reach, header: Option<(u64, u64)>, headers: u64) -> Reach {
    match header {
        Some((from, to)) if headers > 1 => others.and(from, to),
        _ => others,
    }
}

/// The numbers of the set bits, ascending.
fn bits_of(used: &[u64]) -> impl Iterator<Item = u64> + '_ {
    (0..used.len() as u64 * 64).filter(|&number| used[number as usize / 64] >> (number % 64) & 1 == 1)
}

/// The union of all ranks' sets of bits, of `words` words: each rank joins a part of it, and tells the others.
fn union(grid: &Grid, mut used: Vec<u64>, words: usize) -> Result<Vec<u64>> {
    used.resize(words, 0);
    let size = grid.size();
    let cut = |rank: usize| (words as u128 * rank as u128 / size as u128) as usize;
    let parts = (0..size).map(|rank| used[cut(rank)..cut(rank + 1)].as_bytes().to_vec());
    let mut joined = vec![0u64; cut(grid.rank() + 1) - cut(grid.rank())];
    for parcel in grid.exchange(parts.collect())? {
        joined.iter_mut().zip(numbers(&parcel)).for_each(|(word, other)| *word |= other);
    }
    let found = grid.exchange(vec![joined.as_bytes().to_vec(); size])?;
    Ok(found.iter().flat_map(|parcel| numbers(parcel)).collect())
}
