//! What an algorithm takes in memory, predicted: a claim that is not met ends the process without a word.

use vxm::algorithms::{Formulation, Method, Order, Priority};
use vxm::formats::Tiles;

/// An algorithm, told apart as far as its memory goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    Mis(Priority, Formulation),
    Color(Method, Order),
}

impl Algorithm {
    /// The command that runs it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mis(..) => "mis",
            Self::Color(..) => "color",
        }
    }
}

/// A graph, as far as memory goes.
#[derive(Debug, Clone, Copy)]
pub struct Graph {
    pub vertices: u64,
    /// Stored entries: two an edge.
    pub entries: u64,
    /// 16 x 16 tiles, where they are made.
    pub tiles: Option<u64>,
}

impl Graph {
    /// The bytes that the graph takes as CSR.
    fn held(self) -> u128 {
        8 * (u128::from(self.vertices) + 1) + 4 * u128::from(self.entries)
    }

    /// The bytes that are taken at the peak beside the graph.
    ///
    /// Each number is the most that VmHWM rose by, from loading to the certificate's end, on rmat:18:8, rmat:20:2, er:18:8 and
    /// grid:1024x1024 with two threads, rounded up by a tenth or less.
    pub fn share(self, algorithm: Algorithm) -> u128 {
        // bytes a vertex, and an entry
        let (vertex, entry) = match algorithm {
            Algorithm::Mis(Priority::Resolve, _) => (20, 0),
            Algorithm::Mis(_, Formulation::Decide) => (24, 0),
            Algorithm::Mis(_, Formulation::Count) => (36, 0),
            // a matrix of half the entries is made
            Algorithm::Color(Method::Jp, _) => (74, 9),
            Algorithm::Color(Method::Hash, _) => (102, 8),
            Algorithm::Color(_, Order::SmallestDegreeLast) => (62, 0),
            Algorithm::Color(..) => (50, 0),
        };
        // tiles are put together from tile-rows, which take as much again and 16 bytes a vertex
        let tiles = self.tiles.map_or(0, |tiles| {
            (2 * Tiles::<()>::TILE_BYTES as u128 + 4) * u128::from(tiles) + 16 * u128::from(self.vertices)
        });
        vertex * u128::from(self.vertices) + entry * u128::from(self.entries) + tiles
    }

    /// The bytes that the process takes at its peak, if reading the graph takes so many; a mapped file's pages, which the system
    /// takes back when it needs them, don't count.
    pub fn peak(self, algorithm: Algorithm, reading: u128) -> u128 {
        PROCESS + reading.max(self.held() + self.share(algorithm))
    }
}

/// The bytes that a run takes whatever the graph.
const PROCESS: u128 = 4 << 20;

/// The algorithms that take different amounts, by the option that tells them apart.
pub const TOLD: [(&str, Algorithm); 9] = [
    ("resolve", Algorithm::Mis(Priority::Resolve, Formulation::Count)),
    ("decide", Algorithm::Mis(Priority::Sorted, Formulation::Decide)),
    ("count", Algorithm::Mis(Priority::Sorted, Formulation::Count)),
    ("jp", Algorithm::Color(Method::Jp, Order::LargestDegreeFirst)),
    ("hash", Algorithm::Color(Method::Hash, Order::LargestDegreeFirst)),
    ("mis", Algorithm::Color(Method::Mis, Order::LargestDegreeFirst)),
    ("is", Algorithm::Color(Method::Is, Order::LargestDegreeFirst)),
    ("min-max", Algorithm::Color(Method::MinMax, Order::LargestDegreeFirst)),
    ("neighbor-reduce", Algorithm::Color(Method::NeighborReduce, Order::LargestDegreeFirst)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_cover_what_was_measured() {
        // the graph, what jp and what mis by counting took beside it, in bytes
        for (vertices, entries, jp, count) in [
            (262_144, 4_187_660, 51_097_600, 6_983_680),
            (262_144, 4_194_178, 54_099_968, 8_003_584),
            (1_048_576, 4_190_208, 97_603_584, 26_341_376),
            (1_048_576, 4_193_608, 109_953_024, 25_894_912),
        ] {
            let graph = Graph { vertices, entries, tiles: None };
            let share = |algorithm| graph.share(algorithm) as f64;
            let jp = share(Algorithm::Color(Method::Jp, Order::Random)) / f64::from(jp);
            let count = share(Algorithm::Mis(Priority::Sorted, Formulation::Count)) / f64::from(count);
            assert!((1.0..1.25).contains(&jp) && (1.0..1.5).contains(&count), "{jp} {count}");
        }
    }
}
