//! Predicts the memory of algorithms. On the host, a failed allocation would abort the process without a message; on a
//! device, it would end a run that has already begun.

pub mod over_bus;

use crate::command::found::Rule;
use vxm::algorithms::mis_many::at_once;
use vxm::algorithms::{Formulation, Method, Order, Priority};
use vxm::backend::tuning::tuning;
use vxm::formats::{Csr, Directions, Tiles};
use vxm::io::Report;
use vxm::memory;
use vxm::semiring::Element;

/// The peak bytes of reading a graph of so many vertices, of which reading has told `report`.
pub fn reading(vertices: usize, report: &Report) -> u128 {
    let directions = if report.one_way.is_some() { Directions::Matter } else { Directions::Ignored };
    memory::for_reading(vertices as u64, report.entries, directions)
}

/// The same with weights of up to 8 bytes.
pub fn reading_weights(vertices: usize, report: &Report) -> u128 {
    // as they are listed, by rows, and merged in parts and as a whole
    16 * vertices as u128 + (2 * (16 + 3 * 12) + 16) * u128::from(report.entries)
}

/// The colours of a window of a colouring. A vertex with as many neighbours may have a colour of a later one.
const WINDOW: u64 = 31;

/// An algorithm with the options that affect its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    Mis(Priority, Formulation),
    /// So many sets at once.
    BestOf(Priority, u32),
    Color(Method, Order),
    DistantSet,
    Aggregates,
    Cover(Priority),
    Clique,
    ColorsBy(Rule),
    Extended(Order),
    Bfs,
    Parents,
    Sssp,
    /// Parents on shortest paths.
    Tree,
    Components,
    /// With ranks of so many bytes.
    PageRank(usize),
    Kcore,
    Betweenness,
    Communities,
    Labels,
    Triangles,
    Ktruss,
    Clustering,
    Msf,
    Scc,
    Roots,
    Matching,
    Dominant,
}

impl Algorithm {
    /// The subcommand that runs it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mis(..) | Self::BestOf(..) | Self::DistantSet => "mis",
            Self::Aggregates => "aggregates",
            Self::Cover(_) => "cover",
            Self::Clique => "clique",
            Self::Color(..) | Self::ColorsBy(_) | Self::Extended(_) => "color",
            Self::Bfs | Self::Parents => "bfs",
            Self::Sssp | Self::Tree => "sssp",
            Self::Components => "components",
            Self::PageRank(_) => "pagerank",
            Self::Kcore => "kcore",
            Self::Betweenness => "betweenness",
            Self::Communities => "communities",
            Self::Labels => "labels",
            Self::Triangles => "triangles",
            Self::Ktruss => "ktruss",
            Self::Clustering => "clustering",
            Self::Msf => "msf",
            Self::Scc => "scc",
            Self::Roots => "roots",
            Self::Matching | Self::Dominant => "matching",
        }
    }
}

/// The sizes of a graph that affect memory.
#[derive(Debug, Clone, Copy)]
pub struct Graph {
    pub vertices: u64,
    /// Stored entries: two per edge.
    pub entries: u64,
    /// The number of entries of the longest row.
    pub longest: u64,
    /// The total number of entries in rows with more than 30 entries. Vertices of shorter rows always get one of the
    /// first 31 colours.
    pub late: u64,
    /// The number of 16 x 16 tiles, if tiles are built.
    pub tiles: Option<u64>,
    /// The bytes of a weight; 0 if edges have none.
    pub weight: u64,
    /// Whether the matrix differs from its transpose, which products then need besides.
    pub directed: bool,
    /// Whether it is a copy of the file's graph, with other numbers.
    pub renumbered: bool,
}

impl Graph {
    /// The sizes of `graph`. `tiles` is the number of tiles, if they are built.
    pub fn of<T: Element>(graph: &Csr<T>, tiles: Option<u64>) -> Self {
        let degrees = || (0..graph.nrows()).map(|v| graph.degree(v) as u64);
        let (longest, late) = (degrees().max().unwrap_or(0), degrees().filter(|&degree| degree >= WINDOW).sum());
        let (vertices, entries, weight) =
            (graph.nrows().max(graph.ncols()) as u64, graph.nnz() as u64, size_of::<T>() as u64);
        Self { vertices, entries, longest, late, tiles, weight, directed: false, renumbered: false }
    }

    /// The bytes of the graph as CSR.
    fn held(self) -> u128 {
        8 * (u128::from(self.vertices) + 1) + u128::from(4 + self.weight) * u128::from(self.entries)
    }

    /// The peak bytes of renumbering, the graph as it is read not included: its copy, numbers in both directions, and what finding an order
    /// takes. What is alive later are the copy and the numbers.
    pub fn renumbering(self) -> u128 {
        // a directed graph is turned, and joined with what it was
        let both_ways = if self.directed { 4 * Self { weight: 0, ..self }.held() } else { 0 };
        self.held().max(both_ways) + 40 * u128::from(self.vertices)
    }

    /// The bytes of the graph's copy, if it is one.
    fn copy(self) -> u128 {
        if self.renumbered { self.renumbering() } else { 0 }
    }

    /// The peak bytes of drawing weights, the graph without them included: two matrices with values, and hashes.
    pub fn drawing(self) -> u128 {
        self.held() + 2 * Self { weight: 4, ..self }.held() + 8 * u128::from(self.vertices)
    }

    /// The graph as `algorithm` takes it: with drawn weights, if it needs weights and the graph has none.
    fn taken_by(self, algorithm: Algorithm) -> Self {
        let drawn = matches!(algorithm, Algorithm::Sssp | Algorithm::Tree | Algorithm::Msf | Algorithm::Dominant)
            && self.weight == 0;
        Self { weight: if drawn { 4 } else { self.weight }, ..self }
    }

    /// The peak bytes that the algorithm takes beside the graph on the host.
    ///
    /// The coefficients were measured: the largest rise of VmHWM between loading and the end of the certificate over
    /// several generated graphs (R-MAT, Erdos-Renyi, grid), rounded up by a tenth or less.
    pub fn share(self, algorithm: Algorithm) -> u128 {
        let (vertex, entry) = self.rates(algorithm);
        let transposed =
            if self.directed && !matches!(algorithm, Algorithm::Scc | Algorithm::Roots) { self.held() } else { 0 };
        // tiles are assembled from tile-rows, which take the same size again, and 16 bytes per vertex
        let tiles = self.tiles.map_or(0, |tiles| {
            (2 * Tiles::<()>::TILE_BYTES as u128 + 4) * u128::from(tiles) + 16 * u128::from(self.vertices)
        });
        vertex * u128::from(self.vertices) + entry * u128::from(self.entries) + tiles + transposed
    }

    /// The bytes that an algorithm takes beside the graph on the host: for each vertex, and for each entry.
    fn rates(self, algorithm: Algorithm) -> (u128, u128) {
        match algorithm {
            Algorithm::Mis(Priority::Resolve, _) => (20, 0),
            Algorithm::Mis(_, Formulation::Decide) => (24, 0),
            Algorithm::Mis(..) => (36, 0),
            // keys twice, states and sets; and a value for each entry
            Algorithm::BestOf(priority, runs) => {
                let keys = keys_at_once(priority, runs);
                (30 + 4 * keys + 32 * keys.div_ceil(8) + u128::from(runs / 8), 8)
            }
            // builds a matrix of half the entries
            Algorithm::Color(Method::Jp, _) => (74, 9),
            // its matrix has a value per entry
            Algorithm::Color(Method::MinMax | Method::Speculative, Order::SmallestDegreeLast) => (80, 5),
            Algorithm::Color(Method::MinMax | Method::Speculative, _) => (40, 5),
            Algorithm::Color(_, Order::SmallestDegreeLast) => (62, 0),
            Algorithm::Color(..) => (50, 0),
            Algorithm::DistantSet | Algorithm::Aggregates => (64, 0),
            // a matching, drawn weights and a copy of the edges
            Algorithm::Cover(_) => (84, 31),
            // candidates before and after a round, picks, and what finding them takes
            Algorithm::Clique => (66, 7),
            // the graph with a diagonal, the bipartite graph of twice its entries, and what is left of that for a later window
            Algorithm::ColorsBy(_) => (64, 38),
            Algorithm::Extended(_) => (60, 1),
            Algorithm::Bfs => (24, 0),
            Algorithm::Parents => (40, 0),
            // the queue of the certificate
            Algorithm::Sssp => (14 + 4 * u128::from(self.weight), 2),
            // sums along edges, distances at their ends, whether they agree, and the edges that do
            Algorithm::Tree => (80, 24 + 2 * u128::from(self.weight)),
            Algorithm::Components => (20, 0),
            Algorithm::PageRank(bytes) => (34 + 2 * bytes as u128, 0),
            Algorithm::Kcore => (44, 0),
            // paths, shares and sums of a source; and the certificate's
            Algorithm::Betweenness => (88, 0),
            // weights, and links to communities: what is expected of them, and what is gained
            Algorithm::Communities => (220, 108),
            // labels, modes twice, and the certificate's labels
            Algorithm::Labels => (44, 0),
            // directed edges, their counts twice, and a transpose of them
            Algorithm::Triangles | Algorithm::Clustering => (68, 14),
            // counts in one direction and in both, a transpose, the edges that are left, and the certificate's counts
            Algorithm::Ktruss => (44, 31),
            // edges that are left, before and after a round; and sorted edges of the certificate
            Algorithm::Msf => (72, 25),
            // edges that are left, their transpose, and those of the next round
            Algorithm::Scc => (56, 16),
            // parents, jumps before and after a round, and the certificate's roots
            Algorithm::Roots => (40, 0),
            // drawn weights, and a copy of the edges
            Algorithm::Matching => (76, 31),
            Algorithm::Dominant => (72, 17),
        }
    }

    /// The peak bytes of the whole process, if reading the graph takes `reading` bytes. Pages of mapped files do not
    /// count, because the system reclaims them when memory runs short.
    pub fn peak(self, algorithm: Algorithm, reading: u128) -> u128 {
        let taken = self.taken_by(algorithm);
        let drawing = if taken.weight > self.weight { self.drawing() } else { 0 };
        // a reader that keeps directions collects triples, and sorts them
        let directed = matches!(
            algorithm,
            Algorithm::Sssp | Algorithm::Tree | Algorithm::PageRank(_) | Algorithm::Scc | Algorithm::Roots
        );
        let reading = if directed { reading + 20 * u128::from(self.entries) } else { reading };
        PROCESS + reading.max(drawing).max(taken.held() + taken.copy() + taken.share(algorithm))
    }

    /// The peak bytes of device memory, the graph included. Without the driver's own memory, the code of kernels, and
    /// the rounding of the memory pool.
    ///
    /// The coefficients per vertex were measured: the most that buffers took beside the graph, on a device and in a dry
    /// run, rounded up by a tenth or less.
    pub fn peak_on_device(self, algorithm: Algorithm) -> u128 {
        let weight = u128::from(self.taken_by(algorithm).weight);
        let (n, entries) = (u128::from(self.vertices), u128::from(self.entries));
        let transposed = if self.directed && algorithm != Algorithm::Roots {
            rows_on_device(n, entries) + weight * entries
        } else {
            0
        };
        // only products that count are taken over tiles
        let tiles = self.tiles.map_or(0, |tiles| match algorithm {
            Algorithm::Mis(Priority::Resolve, _)
            | Algorithm::Mis(_, Formulation::Count)
            | Algorithm::Cover(Priority::Resolve)
            | Algorithm::Clique
            | Algorithm::Color(Method::NeighborReduce, _)
            | Algorithm::Color(_, Order::SmallestDegreeLast)
            | Algorithm::DistantSet
            | Algorithm::Aggregates
            | Algorithm::ColorsBy(Rule::Columns | Rule::Rows)
            | Algorithm::Kcore
            | Algorithm::Betweenness
            | Algorithm::Labels
            | Algorithm::Scc => self.tiles_on_device(tiles.into()),
            _ => 0,
        });
        // names, which keys are made of
        let names = if self.renumbered { 4 * n } else { 0 };
        rows_on_device(n, entries)
            + weight * entries
            + names
            + self.vectors_on_device(algorithm)
            + self.matrices_on_device(algorithm)
            + transposed
            + tiles
    }

    /// The bytes of the matrices, and of the values of entries, that an algorithm makes on a device beside the graph.
    fn matrices_on_device(self, algorithm: Algorithm) -> u128 {
        let weight = u128::from(self.taken_by(algorithm).weight);
        let (n, entries) = (u128::from(self.vertices), u128::from(self.entries));
        let (late, copied) =
            (u128::from(self.late), if self.longest > tuning().compact_row as u64 { 4 * (n + entries) } else { 0 });
        match algorithm {
            // if a row is long, the columns are copied; if colours of a later window are possible, the entries are
            // marked and counted later, and half of those between such vertices become a matrix
            Algorithm::Color(Method::Jp, order) => {
                // finding the order copies the columns too
                let order = if order == Order::SmallestDegreeLast { copied } else { 0 };
                order + copied.max(if self.late > 0 { 16 * n + entries / 2 + 4 * late } else { 0 })
            }
            Algorithm::Color(Method::Is, Order::SmallestDegreeLast) => 2 * copied,
            Algorithm::Color(Method::Is, _) | Algorithm::Color(Method::Mis, Order::SmallestDegreeLast) => copied,
            Algorithm::DistantSet | Algorithm::Aggregates | Algorithm::Extended(_) => copied,
            // two products over the same rows
            Algorithm::Labels => 2 * copied,
            // the graph with a diagonal, and the bipartite graph with its copy of columns; where enough vertices are within two edges, the
            // bipartite graph's edges between vertices of a later window, with copies of their own
            Algorithm::ColorsBy(rule) => {
                let values = if rule == Rule::Star { 2 * entries } else { 0 };
                let later =
                    if self.longest.saturating_pow(2) >= WINDOW { 32 * n + 9 * (entries + n) + 3 * copied } else { 0 };
                rows_on_device(n, entries + n) + rows_on_device(2 * n, 2 * (entries + n)) + 2 * copied + values + later
            }
            Algorithm::Color(Method::Hash, _) => copied,
            Algorithm::Color(Method::MinMax | Method::Speculative, _) => entries,
            Algorithm::BestOf(..) => 4 * entries,
            // sums along edges, distances at their ends, whether they agree, and the edges that do
            Algorithm::Tree => 4 * rows_on_device(n, entries) + (2 * weight + 10) * entries,
            // edges that are left, before and after a round
            Algorithm::Msf => 2 * (rows_on_device(n, entries) + weight * entries),
            // a product that is used often has its entries in bins, with a product each
            Algorithm::PageRank(bytes) => (4 + bytes as u128) * entries,
            // edges that are left, their transpose, those of the next round, and what building a transpose takes
            Algorithm::Scc => 3 * rows_on_device(n, entries) + 9 * entries,
            // directed edges, their transpose, and counts twice
            Algorithm::Triangles | Algorithm::Clustering => 4 * rows_on_device(n, entries / 2) + 8 * entries,
            // weights and links three times, and what building a transpose takes
            Algorithm::Communities => 4 * rows_on_device(n, entries) + 56 * entries,
            // counts in one direction, their transpose and their union, and the edges that are left
            Algorithm::Ktruss => 3 * rows_on_device(n, entries) + 8 * entries,
            // the candidates that a round leaves, and what finding them takes; dense graphs may have more of both
            Algorithm::Clique => rows_on_device(n, entries) + 5 * entries,
            // drawn weights, and a copy of the edges
            Algorithm::Matching | Algorithm::Cover(_) => rows_on_device(n, entries) + 12 * entries,
            Algorithm::Dominant => rows_on_device(n, entries) + weight * entries,
            _ => 0,
        }
    }

    /// The bytes of the vectors that are alive at the same time on a device: values, and presence bits.
    fn vectors_on_device(self, algorithm: Algorithm) -> u128 {
        let (n, weight) = (u128::from(self.vertices), u128::from(self.taken_by(algorithm).weight));
        let parts = u128::from(self.entries) / 8;
        match algorithm {
            // sorts ranks
            Algorithm::Mis(Priority::SortedId, _) => 38 * n,
            Algorithm::Mis(Priority::Resolve, _) | Algorithm::Mis(_, Formulation::Decide) => 18 * n,
            Algorithm::Mis(..) => 14 * n,
            Algorithm::BestOf(priority, runs) => (60 + 9 * keys_at_once(priority, runs) + u128::from(runs / 8)) * n,
            Algorithm::Color(..) => 38 * n,
            Algorithm::DistantSet | Algorithm::Aggregates => 42 * n,
            Algorithm::Cover(_) => 60 * n,
            Algorithm::Clique => 38 * n,
            Algorithm::ColorsBy(_) => 120 * n,
            Algorithm::Extended(_) => 60 * n,
            // lists of the parts of long rows
            Algorithm::Bfs => 20 * n + parts,
            Algorithm::Parents => 30 * n + parts,
            Algorithm::Sssp => (12 + 3 * weight) * n + parts,
            Algorithm::Tree => (40 + 3 * weight) * n + parts,
            Algorithm::Components => 14 * n,
            Algorithm::PageRank(bytes) => (12 + 6 * bytes as u128) * n,
            Algorithm::Kcore => 38 * n,
            Algorithm::Betweenness => 72 * n,
            Algorithm::Communities => 200 * n,
            Algorithm::Labels => 24 * n,
            Algorithm::Triangles | Algorithm::Clustering => 100 * n,
            Algorithm::Ktruss => 4 * n,
            Algorithm::Msf => 96 * n,
            Algorithm::Scc => 60 * n,
            Algorithm::Roots => 20 * n,
            Algorithm::Matching | Algorithm::Dominant => 60 * n,
        }
    }

    /// The least bytes of device memory that do: those of [`peak_on_device`](Self::peak_on_device) that don't grow with the entries. All arrays
    /// of entries can stay on the host.
    pub fn least_on_device(self, algorithm: Algorithm) -> u128 {
        let n = u128::from(self.vertices);
        // lists of the parts of long rows grow with the entries, and yet must be there; the rest was measured (E072)
        let besides = match algorithm {
            Algorithm::Bfs | Algorithm::Parents | Algorithm::Sssp | Algorithm::Tree => u128::from(self.entries) / 8,
            Algorithm::Triangles | Algorithm::Clustering | Algorithm::Ktruss => 60 * n,
            Algorithm::ColorsBy(_) => 48 * n,
            Algorithm::Mis(Priority::Resolve, _) => 4 * n,
            _ => 0,
        };
        let bare = Self { entries: 0, late: 0, longest: 0, tiles: self.tiles.map(|_| 0), ..self };
        PROCESS + bare.peak_on_device(algorithm) + besides
    }

    /// The bytes a vertex of what must lie on a device.
    pub fn vectors_a_row(self, algorithm: Algorithm) -> u64 {
        ((self.least_on_device(algorithm) - PROCESS) / u128::from(self.vertices.max(1))) as u64
    }

    /// The least bytes of resident memory that do on the CPU, if the graph's arrays lie in a mapped file.
    pub fn least_mapped(self, algorithm: Algorithm) -> u128 {
        // pages of the file are given back before they exceed what is left
        const PAGES: u128 = 64 << 20;
        PROCESS + PAGES + self.copy() + self.share(algorithm)
    }

    /// The peak bytes of building tiles on a device.
    fn tiles_on_device(self, tiles: u128) -> u128 {
        let n = u128::from(self.vertices);
        // long rows are counted in parts: one running sum for each part of each tile-row
        let parts = u128::from((self.longest / 2048).next_power_of_two().min(64));
        let sums = 8 * (parts + 1) * n.div_ceil(16);
        // bits and column of each tile; and the list of rows by their number of tiles
        Tiles::<()>::TILE_BYTES as u128 * tiles + sums + 4 * n
    }
}

/// The bytes of `n` rows with `entries` entries on a device.
fn rows_on_device(n: u128, entries: u128) -> u128 {
    // 64-bit offsets, and 32-bit offsets too if they fit
    let offset = if entries <= u128::from(u32::MAX) { 12 } else { 8 };
    // columns, and the list of rows by their number of entries
    offset * (n + 1) + 4 * entries + 4 * n
}

/// The vectors of keys that are held for so many sets at once.
fn keys_at_once(priority: Priority, runs: u32) -> u128 {
    // with conflict resolution, degrees stand beside the hashes
    u128::from(runs).min(at_once(priority) as u128) + u128::from(priority == Priority::Resolve)
}

/// The bytes that a run takes independently of the graph.
const PROCESS: u128 = 4 << 20;

/// The variants of algorithms with different footprints. Each has a name: that of the option that selects it, or of the
/// result.
pub const TOLD: [(&str, Algorithm); 38] = [
    ("resolve", Algorithm::Mis(Priority::Resolve, Formulation::Count)),
    ("decide", Algorithm::Mis(Priority::Sorted, Formulation::Decide)),
    ("count", Algorithm::Mis(Priority::Sorted, Formulation::Count)),
    ("best-of 16", Algorithm::BestOf(Priority::Resolve, 16)),
    ("jp", Algorithm::Color(Method::Jp, Order::LargestDegreeFirst)),
    ("hash", Algorithm::Color(Method::Hash, Order::LargestDegreeFirst)),
    ("mis", Algorithm::Color(Method::Mis, Order::LargestDegreeFirst)),
    ("is", Algorithm::Color(Method::Is, Order::LargestDegreeFirst)),
    ("min-max", Algorithm::Color(Method::MinMax, Order::LargestDegreeFirst)),
    ("neighbor-reduce", Algorithm::Color(Method::NeighborReduce, Order::LargestDegreeFirst)),
    ("speculative", Algorithm::Color(Method::Speculative, Order::LargestDegreeFirst)),
    ("distance-2", Algorithm::DistantSet),
    ("distance-2", Algorithm::ColorsBy(Rule::Distance2)),
    ("star", Algorithm::ColorsBy(Rule::Star)),
    ("columns", Algorithm::ColorsBy(Rule::Columns)),
    ("roots", Algorithm::Aggregates),
    ("cover", Algorithm::Cover(Priority::Resolve)),
    ("clique", Algorithm::Clique),
    ("most", Algorithm::Extended(Order::LargestDegreeFirst)),
    ("hops", Algorithm::Bfs),
    ("parents", Algorithm::Parents),
    ("distances", Algorithm::Sssp),
    ("tree", Algorithm::Tree),
    ("labels", Algorithm::Components),
    ("f32", Algorithm::PageRank(4)),
    ("f64", Algorithm::PageRank(8)),
    ("cores", Algorithm::Kcore),
    ("shares", Algorithm::Betweenness),
    ("modularity", Algorithm::Communities),
    ("propagated", Algorithm::Labels),
    ("counts", Algorithm::Triangles),
    ("edges", Algorithm::Ktruss),
    ("shares", Algorithm::Clustering),
    ("forest", Algorithm::Msf),
    ("labels", Algorithm::Scc),
    ("roots", Algorithm::Roots),
    ("maximal", Algorithm::Matching),
    ("weighted", Algorithm::Dominant),
];

#[cfg(all(test, feature = "cuda", unix))]
mod tests;
