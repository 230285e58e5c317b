//! Breadth-first searches from many sources at once.
//!
//! A bit for each source: one product over (or, first) takes a step of all searches and reads the matrix once (Then, Kaufmann, Chirigati,
//! Hoang-Vu, Pham, Kemper, Neumann, Vo, "The More the Merrier: Efficient Multi-Source Graph Traversal", PVLDB 8(4), section 3). See
//! `docs/algorithms/paths.md`.

use crate::algorithms::bfs::check_source;
use crate::prelude::*;
use std::collections::BTreeMap;

/// The most sources of one call: the bits of an element.
const MOST: usize = 64;

/// The levels of several searches.
#[derive(Debug, Clone)]
pub struct Searches {
    sources: usize,
    /// Bit k: whether search k reaches the vertex.
    seen: Vector<u64>,
    /// Bit k of plane b is bit b of the vertex' level in search k.
    planes: Vec<Vector<u64>>,
}

/// What is new of what was reached.
#[op]
fn fresh(reached: u64, seen: u64) -> u64 {
    reached & !seen
}

/// A level with the bit of one more plane: bit `source` of `plane` has the place `place` in the level.
#[op]
fn with_bit(level: u32, plane: u64, at: u64) -> u32 {
    level | ((plane >> ((at & 63u64) as u32) & 1u64) as u32) << ((at >> 6u32) as u32)
}

/// The level of a vertex before any of its bits is known.
#[op]
fn zero(_seen: u64) -> u32 {
    0u32
}

/// Whether search number `source` reaches a vertex.
#[op]
fn reaches(seen: u64, source: u32) -> bool {
    seen >> source & 1u64 == 1u64
}

impl Searches {
    /// The number of searches.
    pub fn len(&self) -> usize {
        self.sources
    }

    /// Whether there is no search.
    pub fn is_empty(&self) -> bool {
        self.sources == 0
    }

    /// For each vertex, the searches that reach it: bit k stands for source k.
    pub fn reached(&self) -> &Vector<u64> {
        &self.seen
    }

    /// The levels of search number `k`, equal to those of [`bfs`](super::bfs()) from that source. O(n log d) time, for levels up to d.
    ///
    /// # Errors
    /// There is no such search; the device has too little memory, or is lost.
    pub fn levels(&self, k: usize) -> Result<Vector<u32>> {
        if k >= self.sources {
            return Err(Error::invalid(format!("search {k}: there are {} searches, numbered from 0", self.sources)));
        }
        let n = self.seen.len();
        let mut level = self.seen.map(zero).eval()?;
        for (b, plane) in self.planes.iter().enumerate() {
            // level[v] |= bit k of plane[v], at place b
            level = with_bit.map3(&level, plane, fill((b << 6 | k) as u64, n)).eval()?;
        }
        // level<seen>
        level.mask(self.seen.select(reaches.bind(k as u32))).eval()
    }
}

/// Searches from up to 64 sources at once. Search k is that of [`bfs`](super::bfs()) from `sources[k]`; sources may repeat.
///
/// A round takes one product, whatever the number of sources, and a pass over the new vertices for each bit of its number. Memory: eight
/// bytes a vertex for what is seen, for the frontier, and for each bit of the greatest level.
///
/// ```
/// use vxm::algorithms::bfs_many;
/// use vxm::prelude::*;
///
/// // 0 - 1 - 2 - 3
/// let path = Matrix::undirected(4, &[(0, 1), (1, 2), (2, 3)])?;
/// let found = bfs_many(&path, &[0, 2])?;
/// assert_eq!(found.levels(0)?, Vector::from_dense(vec![0, 1, 2, 3]));
/// assert_eq!(found.levels(1)?, Vector::from_dense(vec![2, 1, 0, 1]));
/// # Ok::<(), vxm::Error>(())
/// ```
///
/// # Errors
/// The matrix isn't square; a source lies outside of it; there are more than 64 sources.
pub fn bfs_many(a: &Matrix, sources: &[u32]) -> Result<Searches> {
    if sources.len() > MOST {
        let what = format!("{} sources: expected at most {MOST}, call again for the rest", sources.len());
        return Err(Error::invalid(what));
    }
    let a = &*a.to_digraph()?;
    let n = a.nrows();
    // frontier[sources[k]] |= 2^k
    let mut bits = BTreeMap::new();
    for (k, &source) in sources.iter().enumerate() {
        check_source(n, source)?;
        *bits.entry(source).or_insert(0u64) |= 1 << k;
    }
    let mut frontier = Vector::from_pairs(n, bits)?;
    // seen = frontier, or 0
    let mut seen = fill(0, n).eval()?;
    frontier.accum(BOR).assign_to(&mut seen)?;
    let every = if sources.len() == MOST { u64::MAX } else { (1 << sources.len()) - 1 };
    let mut planes: Vec<Vector<u64>> = Vec::new();
    for level in 1u32.. {
        // next<seen != every> = (frontier bor.first A) & ~seen, where that isn't 0
        let reached = frontier.vxm(a, semiring(BOR, FIRST)).mask(seen.select(NE.bind(every)));
        frontier = fresh.map2(reached, &seen).select(NE.bind(0)).eval()?;
        if frontier.nvals() == 0 {
            break;
        }
        for b in (0..32).filter(|b| level >> b & 1 == 1) {
            while planes.len() <= b {
                planes.push(fill(0, n).eval()?);
            }
            // plane[b] |= next
            frontier.accum(BOR).assign_to(&mut planes[b])?;
        }
        // seen |= next
        frontier.accum(BOR).assign_to(&mut seen)?;
    }
    Ok(Searches { sources: sources.len(), seen, planes })
}
