//! Facts about a graph for its report: degrees, components, tiles.

use rayon::prelude::*;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use vxm::formats::Csr;
use vxm::semiring::Element;

/// Rows and columns of a tile.
const SIDE: usize = 16;

/// What a report tells of a graph.
pub struct Facts {
    pub vertices: usize,
    /// Stored entries: two per edge of an undirected graph.
    pub entries: usize,
    pub bytes: usize,
    /// The number of vertices of each degree, ascending.
    pub degrees: Vec<(u64, u64)>,
    /// The number of connected components of each size, ascending. Directions are ignored.
    pub components: Vec<(u64, u64)>,
    /// The number of 16 x 16 tiles with 1, 2, 3 to 4, 5 to 8, ... 129 to 256 entries.
    pub tiles: [u64; 9],
    /// How long one pass over the column numbers took: no algorithm that reads each edge is faster.
    pub pass: Duration,
}

impl Facts {
    pub fn of<T: Element>(graph: &Csr<T>) -> Self {
        let (vertices, entries) = (graph.nrows(), graph.nnz());
        Self {
            vertices,
            entries,
            bytes: graph.heap_bytes(),
            degrees: counted((0..vertices).map(|v| graph.degree(v) as u64)),
            components: components(graph),
            tiles: tiles(graph),
            pass: pass(graph.columns()),
        }
    }

    /// The mean degree.
    pub fn mean(&self) -> f64 {
        self.entries as f64 / self.vertices.max(1) as f64
    }

    /// The least, the median and the greatest degree; zeros of a graph without vertices.
    pub fn spread(&self) -> [u64; 3] {
        let (mut seen, half) = (0, self.vertices as u64 / 2);
        let median = self.degrees.iter().find(|(_, count)| {
            seen += count;
            seen > half
        });
        [self.degrees.first(), median, self.degrees.last()].map(|found| found.map_or(0, |&(degree, _)| degree))
    }

    /// The number of vertices without neighbours.
    pub fn isolated(&self) -> u64 {
        self.degrees.first().map_or(0, |&(degree, count)| if degree == 0 { count } else { 0 })
    }

    /// The number of components.
    pub fn parts(&self) -> u64 {
        self.components.iter().map(|(_, count)| count).sum()
    }

    /// The number of vertices of the largest component.
    pub fn largest(&self) -> u64 {
        self.components.last().map_or(0, |&(size, _)| size)
    }

    /// The number of tiles.
    pub fn tile_count(&self) -> u64 {
        self.tiles.iter().sum()
    }

    /// The mean number of entries of a tile.
    pub fn fill(&self) -> f64 {
        self.entries as f64 / self.tile_count().max(1) as f64
    }
}

/// How often each value occurs, ascending.
fn counted(values: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut count = BTreeMap::new();
    // most values are small
    let mut small = [0; 256];
    for value in values {
        match small.get_mut(value as usize) {
            Some(count) => *count += 1,
            None => *count.entry(value).or_insert(0) += 1,
        }
    }
    let small = small.into_iter().enumerate().filter(|(_, count)| *count > 0);
    small.map(|(value, count)| (value as u64, count)).chain(count).collect()
}

/// The number of components of each size, by union and find with path halving.
fn components<T: Element>(graph: &Csr<T>) -> Vec<(u64, u64)> {
    let mut parent: Vec<u32> = (0..graph.nrows() as u32).collect();
    fn root(parent: &mut [u32], mut v: u32) -> u32 {
        while parent[v as usize] != v {
            parent[v as usize] = parent[parent[v as usize] as usize];
            v = parent[v as usize];
        }
        v
    }
    for v in 0..graph.nrows() {
        let mut own = root(&mut parent, v as u32);
        for &other in graph.row(v).0 {
            let other = root(&mut parent, other);
            // the lesser root leads, so the first vertices of a component end its paths
            let (low, high) = (own.min(other), own.max(other));
            parent[high as usize] = low;
            own = low;
        }
    }
    let mut sizes = vec![0u64; parent.len()];
    for v in 0..parent.len() as u32 {
        sizes[root(&mut parent, v) as usize] += 1;
    }
    counted(sizes.into_iter().filter(|&size| size > 0))
}

/// The number of tiles by their number of entries.
fn tiles<T: Element>(graph: &Csr<T>) -> [u64; 9] {
    let add = |mut one: [u64; 9], other: [u64; 9]| {
        one.iter_mut().zip(other).for_each(|(one, other)| *one += other);
        one
    };
    let rows = (0..graph.nrows().div_ceil(SIDE)).into_par_iter().with_min_len(64);
    let counts = rows.map_init(Vec::new, |columns: &mut Vec<u32>, first| {
        columns.clear();
        for row in first * SIDE..((first + 1) * SIDE).min(graph.nrows()) {
            columns.extend(graph.row(row).0.iter().map(|column| column / SIDE as u32));
        }
        columns.sort_unstable();
        let mut classes = [0; 9];
        for tile in columns.chunk_by(|one, other| one == other) {
            classes[class(tile.len()).min(8)] += 1;
        }
        classes
    });
    counts.reduce(|| [0; 9], add)
}

/// The class of a number of entries: 0 for 1, 1 for 2, 2 for 3 and 4, 3 for 5 to 8, ...
pub fn class(entries: usize) -> usize {
    entries.max(1).next_power_of_two().ilog2() as usize
}

/// How long it takes to read all of `columns` once.
fn pass(columns: &[u32]) -> Duration {
    let start = Instant::now();
    let sum = columns.par_chunks(1 << 16).map(|chunk| chunk.iter().fold(0u32, |sum, x| sum.wrapping_add(*x)));
    core::hint::black_box(sum.reduce(|| 0, u32::wrapping_add));
    start.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vxm::io::generate;

    #[test]
    fn facts_of_known_graphs() {
        let grid = Facts::of(&generate("grid:30x40", &()).unwrap().graph);
        assert_eq!((grid.vertices, grid.entries), (1200, 2 * (29 * 40 + 30 * 39)));
        assert_eq!(grid.degrees, [(2, 4), (3, 2 * (28 + 38)), (4, 28 * 38)]);
        assert_eq!((grid.spread(), grid.isolated()), ([2, 4, 4], 0));
        assert_eq!((grid.components.as_slice(), grid.parts(), grid.largest()), (&[(1200, 1)][..], 1, 1200));
        let none = Facts::of(&generate("grid:0x0", &()).unwrap().graph);
        assert_eq!((none.spread(), none.parts(), none.largest(), none.fill()), ([0; 3], 0, 0, 0.0));
    }

    #[test]
    fn components_and_tiles_agree_with_the_library() {
        for spec in ["road:40", "rmat:12:4", "er:10:1"] {
            let graph = generate(spec, &()).unwrap().graph;
            let (facts, n) = (Facts::of(&graph), graph.nrows());
            let strong = vxm::certify::tarjan(graph.offsets(), graph.columns());
            let parts = (0..n as u32).filter(|&v| strong[v as usize] == v).count() as u64;
            assert_eq!(facts.parts(), parts, "{spec}");
            assert_eq!(facts.components.iter().map(|(size, count)| size * count).sum::<u64>(), n as u64);
            assert_eq!(facts.tile_count(), vxm::formats::Tiles::count(&graph) as u64, "{spec}");
        }
    }

    #[test]
    fn classes_double() {
        assert_eq!([1, 2, 3, 4, 5, 8, 9, 256].map(class), [0, 1, 2, 2, 3, 3, 4, 8]);
    }
}
