//! What an algorithm takes in memory, predicted: on the host a claim that is not met ends the process without a word, on a device it
//! ends a run that has begun.

use vxm::algorithms::{Formulation, Method, Order, Priority};
use vxm::backend::plan::NARROW;
use vxm::formats::{Csr, Tiles};

/// An algorithm, told apart as far as its memory goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    Mis(Priority, Formulation),
    Color(Method, Order),
    Bfs,
    Components,
}

impl Algorithm {
    /// The command that runs it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mis(..) => "mis",
            Self::Color(..) => "color",
            Self::Bfs => "bfs",
            Self::Components => "components",
        }
    }
}

/// A graph, as far as memory goes.
#[derive(Debug, Clone, Copy)]
pub struct Graph {
    pub vertices: u64,
    /// Stored entries: two an edge.
    pub entries: u64,
    /// Entries of the longest row.
    pub longest: u64,
    /// Entries of rows of more than 30: a vertex of no more has one of the first 31 colours.
    pub late: u64,
    /// 16 x 16 tiles, where they are made.
    pub tiles: Option<u64>,
}

impl Graph {
    /// The size of `graph`, of which so many tiles are made.
    pub fn of(graph: &Csr, tiles: Option<u64>) -> Self {
        let degrees = || (0..graph.nrows()).map(|v| graph.degree(v) as u64);
        let (longest, late) = (degrees().max().unwrap_or(0), degrees().filter(|&degree| degree > 30).sum());
        Self { vertices: graph.nrows() as u64, entries: graph.nnz() as u64, longest, late, tiles }
    }

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
            // each entry has a value
            Algorithm::Color(Method::MinMax, Order::SmallestDegreeLast) => (80, 5),
            Algorithm::Color(Method::MinMax, _) => (40, 5),
            Algorithm::Color(_, Order::SmallestDegreeLast) => (62, 0),
            Algorithm::Color(..) => (50, 0),
            Algorithm::Bfs => (24, 0),
            Algorithm::Components => (20, 0),
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

    /// The bytes that are taken of a device's memory at the peak, the graph included; the driver's own and the kernels' code don't
    /// count, and neither does what the pool rounds up to.
    ///
    /// The vertices' shares are the most that buffers took beside the graph, on a device and in a rehearsal, rounded up by a tenth or less.
    pub fn peak_on_device(self, algorithm: Algorithm) -> u128 {
        let (n, entries) = (u128::from(self.vertices), u128::from(self.entries));
        // what is held and made at once of vectors: values, and bits for presence
        let vectors = match algorithm {
            // ranks are sorted
            Algorithm::Mis(Priority::SortedId, _) => 38 * n,
            Algorithm::Mis(_, Formulation::Decide) => 18 * n,
            Algorithm::Mis(..) => 14 * n,
            Algorithm::Color(Method::Hash, _) => 45 * n,
            Algorithm::Color(..) => 38 * n,
            Algorithm::Bfs => 20 * n,
            Algorithm::Components => 14 * n,
        };
        let (late, copied) = (u128::from(self.late), if self.longest > NARROW as u64 { 4 * (n + entries) } else { 0 });
        // the edges from low to high are a matrix, or each entry says where it leads
        let directed = match algorithm {
            // or, where a row is long, the columns are copied, and later, where there may be colours of a later window, entries are marked
            // and counted, and half of those with such ends are a matrix
            Algorithm::Color(Method::Jp, _) => {
                copied.max(if self.late > 0 { 16 * n + entries / 2 + 4 * late } else { 0 })
            }
            Algorithm::Color(Method::Is, _) => copied,
            Algorithm::Color(Method::Hash, _) => rows_on_device(n, entries / 2),
            Algorithm::Color(Method::MinMax, _) => entries,
            _ => 0,
        };
        let tiles = self.tiles.map_or(0, |tiles| match algorithm {
            Algorithm::Color(Method::Hash, _) => 2 * self.tiles_on_device(tiles.into()),
            // its entries have values; keys of a degree need no product
            Algorithm::Color(Method::MinMax, Order::Random | Order::LargestDegreeFirst) => 0,
            _ => self.tiles_on_device(tiles.into()),
        });
        rows_on_device(n, entries) + vectors + directed + tiles
    }

    /// The bytes that tiles take on a device while they are made.
    fn tiles_on_device(self, tiles: u128) -> u128 {
        let n = u128::from(self.vertices);
        // long rows are counted in parts: a running sum for each part of each tile-row
        let parts = u128::from((self.longest / 2048).next_power_of_two().min(64));
        let sums = 8 * (parts + 1) * n.div_ceil(16);
        // each tile's bits and column; the rows listed by their number of tiles
        Tiles::<()>::TILE_BYTES as u128 * tiles + sums + 4 * n
    }
}

/// The bytes that `n` rows take on a device.
fn rows_on_device(n: u128, entries: u128) -> u128 {
    // offsets in 64 bits, and in 32 where they fit
    let offset = if entries <= u128::from(u32::MAX) { 12 } else { 8 };
    // columns; the rows listed by their number of entries
    offset * (n + 1) + 4 * entries + 4 * n
}

/// The bytes that a run takes whatever the graph.
const PROCESS: u128 = 4 << 20;

/// The algorithms that take different amounts, by the option that tells them apart.
pub const TOLD: [(&str, Algorithm); 11] = [
    ("resolve", Algorithm::Mis(Priority::Resolve, Formulation::Count)),
    ("decide", Algorithm::Mis(Priority::Sorted, Formulation::Decide)),
    ("count", Algorithm::Mis(Priority::Sorted, Formulation::Count)),
    ("jp", Algorithm::Color(Method::Jp, Order::LargestDegreeFirst)),
    ("hash", Algorithm::Color(Method::Hash, Order::LargestDegreeFirst)),
    ("mis", Algorithm::Color(Method::Mis, Order::LargestDegreeFirst)),
    ("is", Algorithm::Color(Method::Is, Order::LargestDegreeFirst)),
    ("min-max", Algorithm::Color(Method::MinMax, Order::LargestDegreeFirst)),
    ("neighbor-reduce", Algorithm::Color(Method::NeighborReduce, Order::LargestDegreeFirst)),
    ("hops", Algorithm::Bfs),
    ("labels", Algorithm::Components),
];

#[cfg(test)]
mod tests {
    use super::*;
    use vxm::Result;
    use vxm::algorithms::{ColoringOptions, MisOptions, bfs, color, components, mis};
    use vxm::backend::Device;
    use vxm::backend::plan::Format;
    use vxm::containers::Matrix;
    use vxm_kernels::Gpu;

    #[test]
    fn predictions_cover_what_was_measured() {
        // the graph, what jp, mis by counting and min-max took beside it, in bytes
        for (vertices, entries, jp, count, min_max) in [
            (262_144, 4_187_660, 51_097_600, 6_983_680, 30_228_480),
            (262_144, 4_194_178, 54_099_968, 8_003_584, 30_928_896),
            (1_048_576, 4_190_208, 97_603_584, 26_341_376, 55_463_936),
            (1_048_576, 4_193_608, 109_953_024, 25_894_912, 53_604_352),
        ] {
            let graph = Graph { vertices, entries, longest: 0, late: 0, tiles: None };
            let share = |algorithm| graph.share(algorithm) as f64;
            let jp = share(Algorithm::Color(Method::Jp, Order::Random)) / f64::from(jp);
            let count = share(Algorithm::Mis(Priority::Sorted, Formulation::Count)) / f64::from(count);
            assert!((1.0..1.25).contains(&jp) && (1.0..1.5).contains(&count), "{jp} {count}");
            let min_max = share(Algorithm::Color(Method::MinMax, Order::Random)) / f64::from(min_max);
            assert!((1.0..1.25).contains(&min_max), "{min_max}");
        }
    }

    fn run(algorithm: Algorithm, a: &Matrix) -> Result<()> {
        match algorithm {
            Algorithm::Mis(priority, formulation) => mis(a, &MisOptions { priority, formulation, seed: 1 }).map(drop),
            Algorithm::Color(method, order) => color(a, &ColoringOptions { method, order, seed: 1 }).map(drop),
            Algorithm::Bfs => bfs(a, 0).map(drop),
            Algorithm::Components => components(a).map(drop),
        }
    }

    /// What buffers took at the peak of `algorithm` on `gpu`, a device or a rehearsal.
    fn took(gpu: &Gpu, algorithm: Algorithm, a: &Matrix) -> Result<u64> {
        gpu.synchronize()?;
        let before = gpu.used();
        gpu.take_peak();
        if gpu.is_rehearsal() {
            // a few rounds
            gpu.rehearse_ones(30);
            Device::rehearse(gpu, || run(algorithm, a))?;
        } else {
            run(algorithm, &a.to(Device::Cuda(gpu.ordinal()))?)?;
        }
        Ok(gpu.take_peak() - before)
    }

    /// On a device what buffers take is predicted, and at most twice that; in a rehearsal, where no entry is ever selected, no more.
    #[test]
    fn predictions_cover_what_a_device_takes() {
        let gpu = match std::env::var("VXM_TEST_DEVICE").as_deref() {
            Ok("rehearsal") => Gpu::rehearsal(&["sm_90"]).unwrap(),
            Ok(device) if device.starts_with("cuda") => Gpu::open(0).unwrap(),
            _ => return println!("skipped: VXM_TEST_DEVICE=cuda asks for a GPU, =rehearsal for none"),
        };
        let specs = match gpu.is_rehearsal() {
            true => &["grid:200x300", "rmat:14:8"][..],
            false => &["grid:1024x1024", "rmat:18:8", "er:18:8", "rmat:20:2"],
        };
        let last = [Method::Jp, Method::Is].map(|m| ("last", Algorithm::Color(m, Order::SmallestDegreeLast)));
        let others = [Priority::Random, Priority::Degree, Priority::SortedId]
            .map(|p| (p.name(), Algorithm::Mis(p, Formulation::Decide)));
        let mut wrong: Vec<String> = Vec::new();
        for spec in specs {
            let graph = vxm::io::generate(spec, &()).unwrap().graph;
            let (size, count) = (Graph::of(&graph, None), Tiles::count(&graph) as u64);
            let a = Matrix::from_simple(graph);
            for (name, algorithm) in TOLD.into_iter().chain(others).chain(last) {
                if gpu.is_rehearsal() && matches!(algorithm, Algorithm::Color(Method::Hash, _)) {
                    // it scatters by ranks, which are distinct, and zeros are not
                    continue;
                }
                for (format, tiles) in [(Format::Csr, None), (Format::Tiles, Some(count))] {
                    let predicted = Graph { tiles, ..size }.peak_on_device(algorithm) as u64;
                    // made again, or tiles would be there from before
                    let fresh = Matrix::from_simple(a.csr().clone()).with_format(Some(format));
                    let took = took(&gpu, algorithm, &fresh).unwrap();
                    let ratio = predicted as f64 / took as f64;
                    let line = format!(
                        "{spec} {name} {algorithm:?} {format:?}: took {took}, predicted {predicted}, {ratio:.2}"
                    );
                    println!("{line}");
                    if took > predicted || (!gpu.is_rehearsal() && predicted > 2 * took) {
                        wrong.push(line);
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
