//! The options that several subcommands have, and those of `color` and `convert`.

use crate::command::report::Target;
use crate::command::values::{Asked, Entries, Layout, Memory, Renumber, WeightRange};
use crate::command::values::{distance, number, seconds, threads};
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use vxm::algorithms::{Method, Order};
use vxm::backend::Device;
use vxm::io::{Columns, FileFormat, ReadAs};
use vxm::ranks::{Link, Model, Shape};

/// The arguments of `vxm color`.
#[derive(Debug, Args)]
pub struct Color {
    /// Colouring algorithm: is, max-times, mis, jp, min-max, hash, neighbor-reduce or speculative; default: jp. Not with another
    /// rule than that neighbours differ.
    #[arg(long, value_name = "M", conflicts_with_all = ["columns", "rows", "star", "given", "most"])]
    pub method: Option<Method>,
    /// Order of the vertices, columns or rows: natural, random, largest-degree-first or smallest-degree-last.
    #[arg(long, value_name = "O", default_value = Order::default().name())]
    pub order: Order,
    #[command(flatten)]
    pub distance: Distance,
    /// Colour the columns of a matrix, which may be rectangular, so that those with an entry in the same row differ.
    #[arg(long, conflicts_with_all = ["rows", "star", "distance", "given", "most"])]
    pub columns: bool,
    /// Colour the rows of a matrix, which may be rectangular, so that those with an entry in the same column differ.
    #[arg(long, conflicts_with_all = ["star", "distance", "given", "most"])]
    pub rows: bool,
    /// Colour so that a vertex with two neighbours of the same colour has a lesser one: for symmetric matrices.
    #[arg(long, conflicts_with_all = ["distance", "given", "most"])]
    pub star: bool,
    /// Keep the colours of this file, with a vertex and its colour on each line (0 for none), and colour the other vertices.
    #[arg(long, value_name = "FILE", conflicts_with = "distance")]
    pub given: Option<PathBuf>,
    /// Use at most so many colours; vertices that find none free are left without.
    #[arg(long, value_name = "K", conflicts_with = "distance")]
    pub most: Option<u32>,
    #[command(flatten)]
    pub seed: Seed,
    /// The arguments of every algorithm.
    #[command(flatten)]
    pub run: Run,
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
    /// Format of the file to write: vxm, matrix-market, edges, metis, parquet, arrow or npz; default: by its name.
    #[arg(long, value_name = "F")]
    pub output: Option<FileFormat>,
    /// Make the graph undirected: symmetric, without weights, as mis and other algorithms read it.
    #[arg(long, conflicts_with_all = ["pattern", "matrix"])]
    pub undirected: bool,
    /// Drop the weights, and keep the directions.
    #[arg(long, conflicts_with = "matrix")]
    pub pattern: bool,
    /// Keep the matrix unchanged, be it rectangular or have a diagonal, with entries of type T: pattern, bool, i8 to i64, u8 to u64, f16,
    /// bf16, f32, f64 or complex.
    #[arg(long, value_name = "T")]
    pub matrix: Option<Entries>,
    #[command(flatten)]
    pub memory: Memory,
    #[command(flatten)]
    pub threads: Threads,
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
    /// Storage format of the graph: auto, csr, tiles or hybrid (full tiles, and rows of what is in no full tile). Does not change the
    /// answer.
    #[arg(long, value_name = "F", default_value = "auto")]
    pub format: Layout,
    /// Order in which vertices are numbered anew for the run: none, rcm (reverse Cuthill-McKee) or degree. Does not change the
    /// answer.
    #[arg(long, value_name = "O", default_value = "none")]
    pub reorder: Renumber,
    /// File for the answer: one line per vertex, with vertices numbered as in the graph file. mis, clique and cover list the members, msf
    /// and ktruss the edges; the others add what was found of the vertex.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub ranks: Ranks,
    #[command(flatten)]
    pub memory: Memory,
    #[command(flatten)]
    pub threads: Threads,
    /// Also show the plan as a tree: each choice, its reason, and what was measured. Not with --json.
    #[arg(long, conflicts_with = "json")]
    pub explain: bool,
    /// How many times `vxm profile` runs the algorithm; 0 without it.
    #[arg(skip)]
    pub profiled_runs: u32,
    /// The page that `vxm report` asks for.
    #[arg(skip)]
    pub report: Option<Target>,
}

/// Where ranks stand, and what carries bytes between them.
#[derive(Debug, Clone, Copy, Args)]
pub struct Ranks {
    /// Rows and columns of ranks, if a launcher such as mpirun starts the command: auto, column or ROWSxCOLUMNS. Does not
    /// change the answer.
    #[arg(long, value_name = "G", default_value = "auto")]
    pub grid: Shape,
    /// What carries bytes between ranks on GPUs: auto, peers, nccl or host.
    #[arg(long, value_name = "L", default_value = "auto")]
    pub link: Link,
    /// Give up after so many seconds without news from another rank; default: never.
    #[arg(long, value_name = "S", value_parser = seconds, allow_negative_numbers = true)]
    pub timeout: Option<u64>,
}

/// The arguments of `vxm simulate`.
#[derive(Debug, Args)]
pub struct Simulate {
    /// Rates of the machine: cpu or h100, or rates that replace its own, such as h100,alpha=3us,beta=25GB/s. The rates are step and
    /// alpha (times), entries and elements (such as 2G/s), and beta; near-alpha and near-beta within a host.
    #[arg(long, value_name = "M", default_value = "cpu")]
    pub model: Model,
    /// How many ranks share a host.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub host: u32,
    /// Tell the time of a graph with so many times the vertices and edges, in as many rounds and messages.
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    pub times: u64,
    /// The algorithm and its arguments, with the rows and columns of ranks: mis GRAPH --grid 8x8.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "ALGORITHM")]
    pub arguments: Vec<OsString>,
}

/// The arguments of `vxm doctor`.
#[derive(Debug, Args)]
pub struct Doctor {
    /// Measure the ranks that a launcher such as mpirun has started, and fit a model of their time.
    #[arg(long)]
    pub ranks: bool,
    /// Device of the ranks: auto, cpu, cuda or cuda:N.
    #[arg(long, value_name = "D", default_value = "auto", requires = "ranks")]
    pub device: Asked,
    #[command(flatten)]
    pub placed: Ranks,
    #[command(flatten)]
    pub threads: Threads,
}

impl Run {
    /// The device to run on.
    pub fn device(&self) -> Device {
        self.device.device()
    }
}

/// What the graph file is read as.
#[derive(Debug, Clone, Args)]
pub struct Input {
    /// Format of the graph file, if its content and name do not tell it: edges, names, matrix-market, dimacs, gr, metis, graphml, parquet,
    /// arrow, npz, egr, sg or vxm.
    #[arg(long, value_name = "F")]
    pub input: Option<FileFormat>,
    /// Columns of a Parquet or Arrow file, by name, or of an edge list, by number from 1: those of the ends of edges, and perhaps that of weights.
    /// Without it their names tell them in a table, and an edge list begins with both ends.
    #[arg(long, value_name = "FROM,TO[,WEIGHT]")]
    pub edge_columns: Option<Columns>,
}

impl Input {
    /// The same for the library.
    pub fn read_as(&self) -> ReadAs<'_> {
        let read_as = ReadAs::from(self.input);
        self.edge_columns.as_ref().map_or(read_as, |columns| read_as.columns(columns))
    }
}

/// The seed of hashes.
#[derive(Debug, Clone, Copy, Args)]
pub struct Seed {
    /// Seed of the hash that breaks ties.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = number, allow_negative_numbers = true)]
    pub seed: u64,
}

/// The distance within which vertices exclude each other.
#[derive(Debug, Clone, Copy, Args)]
pub struct Distance {
    /// Distance within which vertices exclude each other: 1 for neighbours, 2 also for vertices with a common neighbour.
    #[arg(long, value_name = "D", default_value_t = 1, value_parser = distance, allow_negative_numbers = true)]
    pub distance: u32,
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

/// The number of threads.
#[derive(Debug, Clone, Copy, Args)]
pub struct Threads {
    /// Number of threads, at most 1024; default: all cores. Does not change the answer.
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true)]
    pub threads: Option<u16>,
}
