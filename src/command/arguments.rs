//! The command line.

use clap::{Args, Parser, Subcommand};
use core::fmt;
use core::str::FromStr;
use std::ffi::OsString;
use std::path::PathBuf;
use vxm::algorithms::{Formulation, Method, Order, Priority};
use vxm::backend::Device;
use vxm::backend::plan::Format;
use vxm::io::FileFormat;
use vxm::memory::Size;
use vxm::ranks::Shape;
use vxm::{Error, Result};

/// Sparse linear algebra on graphs: masked vector-matrix products over semirings.
///
/// GRAPH is a file or a generated graph. A file is Matrix Market, DIMACS .col or .gr, METIS or an edge list, perhaps in
/// gzip or zstd; or SciPy's .npz, ECL's .egr, GAP's .sg or .wsg, or .vxm. A generated graph is grid:ROWSxCOLUMNS,
/// er:SCALE:EDGEFACTOR, rmat:SCALE:EDGEFACTOR, kron:SCALE:EDGEFACTOR, rgg:SCALE, road:SIDE or delaunay:SCALE, each with
/// an optional :SEED at the end.
///
/// Exit status: 0 for success; 1 if an answer fails its check, or if doctor finds no usable GPU; 2 for any error in the
/// input. VXM_LOG=debug shows how each product is planned.
#[derive(Debug, Parser)]
#[command(name = "vxm", version, max_term_width = 100)]
pub struct Arguments {
    /// The subcommand.
    #[command(subcommand)]
    pub task: Task,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Task {
    /// Finds a maximal independent set.
    Mis {
        /// Order in which vertices are preferred: random, degree, resolve, sorted or sorted-id.
        #[arg(long, value_name = "P", default_value = Priority::default().name())]
        priority: Priority,
        /// Products per round: decide (one) or count (two). resolve always takes count; the other priorities default to
        /// decide.
        #[arg(long, value_name = "F")]
        formulation: Option<Formulation>,
        #[command(flatten)]
        seed: Seed,
        #[command(flatten)]
        run: Run,
    },
    /// Colours the vertices so that neighbours have different colours.
    Color {
        /// Colouring algorithm: is, mis, jp, min-max, hash or neighbor-reduce.
        #[arg(long, value_name = "M", default_value = Method::default().name())]
        method: Method,
        /// Order of the vertices: random, largest-degree-first or smallest-degree-last.
        #[arg(long, value_name = "O", default_value = Order::default().name())]
        order: Order,
        #[command(flatten)]
        seed: Seed,
        #[command(flatten)]
        run: Run,
    },
    /// Finds the distance of each vertex from a source, in hops.
    Bfs {
        /// Source vertex, numbered as in the file; generated graphs are numbered from 0.
        #[arg(long, visible_alias = "from", value_name = "V", value_parser = number, allow_negative_numbers = true)]
        source: u64,
        /// Find a tree instead: for each vertex, its least neighbour that is one hop nearer to the source.
        #[arg(long)]
        parents: bool,
        #[command(flatten)]
        run: Run,
    },
    /// Finds the length of a shortest path from a source to each vertex.
    Sssp {
        /// Source vertex, numbered as in the file; generated graphs are numbered from 0.
        #[arg(long, visible_alias = "from", value_name = "V", value_parser = number, allow_negative_numbers = true)]
        source: u64,
        #[command(flatten)]
        weights: Weights,
        #[command(flatten)]
        run: Run,
    },
    /// Finds PageRank: where a random walk is, that follows edges and now and then starts anew.
    Pagerank {
        /// Share of a rank that follows edges; at least 0, below 1.
        #[arg(long, value_name = "D", default_value_t = 0.85, allow_negative_numbers = true)]
        damping: f64,
        /// Number of rounds, or the most if a tolerance is given; default: 20, or 1000 with a tolerance.
        #[arg(long, value_name = "N")]
        rounds: Option<u32>,
        /// End once a round changes the ranks by less than this in all.
        #[arg(long, value_name = "T", default_value_t = 0.0, allow_negative_numbers = true)]
        tolerance: f64,
        /// Vertices where walks start, separated by commas, numbered as in the file; default: all.
        #[arg(long, value_name = "V,V", value_delimiter = ',', value_parser = number)]
        sources: Vec<u64>,
        /// Type of the ranks: f32 or f64.
        #[arg(long, value_name = "P", default_value = "f64")]
        precision: Precision,
        #[command(flatten)]
        run: Run,
    },
    /// Finds the core number of each vertex: the greatest k such that it is in a subgraph of degrees of at least k.
    Kcore {
        #[command(flatten)]
        run: Run,
    },
    /// Counts the triangles at each vertex.
    Triangles {
        #[command(flatten)]
        run: Run,
    },
    /// Finds the k-truss: the greatest subgraph in which each edge is part of at least k - 2 triangles.
    Ktruss {
        /// Which truss: 3 or more.
        #[arg(long, value_name = "K", value_parser = truss, allow_negative_numbers = true)]
        k: u32,
        #[command(flatten)]
        run: Run,
    },
    /// Finds the local clustering coefficient of each vertex: the share of its pairs of neighbours that are neighbours.
    Clustering {
        #[command(flatten)]
        run: Run,
    },
    /// Finds a minimum spanning forest.
    Msf {
        #[command(flatten)]
        weights: Weights,
        #[command(flatten)]
        run: Run,
    },
    /// Finds the strongly connected components of a directed graph; each is named by its lowest vertex.
    Scc {
        #[command(flatten)]
        run: Run,
    },
    /// Finds a maximal matching; with weights, one of at least half the greatest weight.
    Matching {
        /// Take the weights of the file into account.
        #[arg(long, conflicts_with = "weights")]
        weighted: bool,
        #[command(flatten)]
        weights: Weights,
        #[command(flatten)]
        run: Run,
    },
    /// Finds the connected components; each is named by its lowest vertex.
    Components {
        #[command(flatten)]
        run: Run,
    },
    /// Writes a graph in another format: vxm, matrix-market, edges, metis or npz.
    Convert(Convert),
    /// Shows the size of a graph, its degrees, and the memory that algorithms need.
    Info {
        /// Graph file, or the specification of a generated graph.
        graph: OsString,
        #[command(flatten)]
        input: Input,
        /// Only check a .vxm file: each byte of it, and what it says of the matrix.
        #[arg(long, conflicts_with = "json")]
        verify: bool,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        memory: Memory,
        #[command(flatten)]
        threads: Threads,
    },
    /// Shows which NVIDIA libraries and GPUs were found, and what to install.
    Doctor,
    /// Writes a generated graph as a file: Matrix Market, or the format that the file's name tells.
    Generate {
        /// Specification of the graph, such as rmat:20:8.
        spec: String,
        /// File to write; text is gzipped if its name ends in .gz.
        #[arg(short, long, value_name = "FILE")]
        out: PathBuf,
        /// Format of the file: vxm, matrix-market, edges, metis or npz; default: by its name.
        #[arg(long, value_name = "F")]
        output: Option<FileFormat>,
        #[command(flatten)]
        memory: Memory,
        #[command(flatten)]
        threads: Threads,
    },
}

/// The arguments of `vxm convert`.
#[derive(Debug, Args)]
pub struct Convert {
    /// Graph file, or the specification of a generated graph.
    pub graph: OsString,
    /// File to write; text is gzipped if its name ends in .gz.
    pub out: PathBuf,
    #[command(flatten)]
    pub input: Input,
    /// Format of the file to write: vxm, matrix-market, edges, metis or npz; default: by its name.
    #[arg(long, value_name = "F")]
    pub output: Option<FileFormat>,
    /// Make the graph undirected: symmetric, without weights, as mis and other algorithms read it.
    #[arg(long, conflicts_with_all = ["pattern", "matrix"])]
    pub undirected: bool,
    /// Drop the weights, and keep the directions.
    #[arg(long, conflicts_with = "matrix")]
    pub pattern: bool,
    /// Keep the matrix unchanged, be it rectangular or have a diagonal, with entries of type T: pattern, bool, i8 to i64, u8 to u64, f32 or
    /// f64.
    #[arg(long, value_name = "T")]
    pub matrix: Option<Entries>,
    #[command(flatten)]
    pub memory: Memory,
    #[command(flatten)]
    pub threads: Threads,
}

/// A limit on memory.
#[derive(Debug, Args)]
pub struct Memory {
    /// Memory to take at most, such as 8GiB; default: VXM_MEMORY, or what is there. On a GPU it is that of the device: what
    /// doesn't fit stays on the host. On the CPU, graphs that don't fit are built on disk, and a .vxm file may be larger. Does
    /// not change the answer.
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Size>,
}

impl Memory {
    /// The limit in bytes, if there is one.
    pub fn limit(&self) -> Result<Option<u64>> {
        let Some(text) = std::env::var_os("VXM_MEMORY").filter(|text| self.memory.is_none() && !text.is_empty()) else {
            return Ok(self.memory.map(|Size(bytes)| bytes));
        };
        let size = text.to_string_lossy().parse::<Size>();
        size.map(|Size(bytes)| Some(bytes)).map_err(|error| Error::invalid(format!("VXM_MEMORY: {error}")))
    }
}

/// The type of a matrix' entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entries(pub &'static str);

impl FromStr for Entries {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        let known = vxm::io::NativeFile::ELEMENTS;
        known.into_iter().find(|&known| known == name).map(Self).ok_or_else(|| Error::unknown("type", name, &known))
    }
}

/// The arguments of every algorithm.
#[derive(Debug, Args)]
pub struct Run {
    /// Graph file, or the specification of a generated graph.
    pub graph: OsString,
    #[command(flatten)]
    pub input: Input,
    /// Device to run on: auto, cpu, cuda or cuda:N.
    #[arg(long, value_name = "D", default_value = "auto")]
    pub device: Asked,
    /// Storage format of the graph: auto, csr or tiles. Does not change the answer.
    #[arg(long, value_name = "F", default_value = "auto")]
    pub format: Layout,
    /// File for the answer: one line per vertex, with vertices numbered as in the graph file. mis lists the members, msf
    /// and ktruss the edges; the others add what was found of the vertex.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    /// Rows and columns of ranks, if a launcher such as mpirun starts the command: auto, column or ROWSxCOLUMNS. Does not
    /// change the answer.
    #[arg(long, value_name = "G", default_value = "auto")]
    pub grid: Shape,
    /// Give up after so many seconds without news from another rank; default: never.
    #[arg(long, value_name = "S", value_parser = seconds, allow_negative_numbers = true)]
    pub timeout: Option<u64>,
    #[command(flatten)]
    pub memory: Memory,
    #[command(flatten)]
    pub threads: Threads,
}

impl Run {
    /// The device to run on.
    pub fn device(&self) -> Device {
        self.device.0.unwrap_or_else(Device::auto)
    }
}

/// The device that is asked for; `None` takes a GPU if there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked(pub Option<Device>);

impl FromStr for Asked {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        if name == "auto" { Ok(Self(None)) } else { name.parse().map(|device| Self(Some(device))) }
    }
}

impl Task {
    /// The arguments of an algorithm; `None` for a task that runs none.
    pub fn run(&self) -> Option<&Run> {
        match self {
            Self::Mis { run, .. }
            | Self::Color { run, .. }
            | Self::Bfs { run, .. }
            | Self::Sssp { run, .. }
            | Self::Components { run }
            | Self::Pagerank { run, .. }
            | Self::Kcore { run }
            | Self::Triangles { run }
            | Self::Ktruss { run, .. }
            | Self::Clustering { run }
            | Self::Msf { run, .. }
            | Self::Scc { run }
            | Self::Matching { run, .. } => Some(run),
            Self::Doctor | Self::Convert(_) | Self::Info { .. } | Self::Generate { .. } => None,
        }
    }

    /// The name of a task that runs in one process alone.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Doctor => "doctor",
            Self::Convert(_) => "convert",
            Self::Triangles { .. } => "triangles",
            Self::Ktruss { .. } => "ktruss",
            Self::Clustering { .. } => "clustering",
            Self::Info { .. } => "info",
            Self::Generate { .. } => "generate",
            _ => "an algorithm",
        }
    }
}

/// The format of the graph file.
#[derive(Debug, Clone, Copy, Args)]
pub struct Input {
    /// Format of the graph file, if its content and name do not tell it: edges, matrix-market, dimacs, gr, metis, npz, egr,
    /// sg or vxm.
    #[arg(long, value_name = "F")]
    pub input: Option<FileFormat>,
}

/// The seed of hashes.
#[derive(Debug, Clone, Copy, Args)]
pub struct Seed {
    /// Seed of the hash that breaks ties.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = number, allow_negative_numbers = true)]
    pub seed: u64,
}

/// The weights of edges.
#[derive(Debug, Clone, Copy, Args)]
pub struct Weights {
    /// Draw integer weights from this range, both ends included, in place of the file's.
    #[arg(long, value_name = "LEAST..GREATEST")]
    pub weights: Option<WeightRange>,
    /// Seed of the hashes that weights are drawn by and that break ties.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = number, allow_negative_numbers = true)]
    pub seed: u64,
}

/// A range of integer weights; both ends are in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeightRange {
    pub least: u32,
    pub greatest: u32,
}

impl FromStr for WeightRange {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let ends =
            text.split_once("..").and_then(|(least, greatest)| Some((least.parse().ok()?, greatest.parse().ok()?)));
        match ends {
            Some((least, greatest)) if least <= greatest => Ok(Self { least, greatest }),
            _ => Err(format!("expected LEAST..GREATEST, two numbers from 0 to {}, the lesser first", u32::MAX)),
        }
    }
}

impl fmt::Display for WeightRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.least, self.greatest)
    }
}

/// The type of ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    F32,
    F64,
}

impl Precision {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

impl FromStr for Precision {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        match name {
            "f32" => Ok(Self::F32),
            "f64" => Ok(Self::F64),
            _ => Err(Error::unknown("precision", name, &["f32", "f64"])),
        }
    }
}

/// The number of threads.
#[derive(Debug, Clone, Copy, Args)]
pub struct Threads {
    /// Number of threads, at most 1024; default: all cores. Does not change the answer.
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true)]
    pub threads: Option<u16>,
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a number from 0 to {}", u64::MAX))
}

fn truss(text: &str) -> Result<u32, String> {
    let k = text.parse().ok().filter(|&k| k >= 3);
    k.ok_or_else(|| format!("expected a number from 3 to {}", u32::MAX))
}

fn seconds(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| (1..=1_000_000).contains(number));
    number.ok_or_else(|| "expected seconds, from 1 to 1000000".to_owned())
}

fn threads(text: &str) -> Result<u16, String> {
    let number = text.parse().ok().filter(|number| (1..=1024).contains(number));
    number.ok_or_else(|| "expected a number from 1 to 1024".to_owned())
}

/// The storage format that the plan must use; `None` lets the plan choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout(pub Option<Format>);

impl FromStr for Layout {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        match name {
            "auto" => Ok(Self(None)),
            "csr" => Ok(Self(Some(Format::Csr))),
            "tiles" => Ok(Self(Some(Format::Tiles))),
            _ => Err(Error::unknown("format", name, &["auto", "csr", "tiles"])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn clap_agrees() {
        Arguments::command().debug_assert();
    }
}
