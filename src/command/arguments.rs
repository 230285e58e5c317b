//! The command line.

use crate::command::info::Rate;
pub use crate::command::options::{
    Color, Convert, Distance, Doctor, Input, Ranks, Run, Seed, Simulate, Threads, Weights,
};
use crate::command::report::Report;
pub use crate::command::values::{Asked, Entries, Layout, Memory, Precision, WeightRange};
use crate::command::values::{real, rounds, runs, sources, truss};
use clap::{Parser, Subcommand};
use clap_complete::Shell;
use std::ffi::OsString;
use std::path::PathBuf;
use vxm::algorithms::{Formulation, Order, Priority};
use vxm::io::FileFormat;

/// Sparse linear algebra on graphs: masked vector-matrix products over semirings.
///
/// GRAPH is a file or a generated graph. A file is Matrix Market, DIMACS .col or .gr, METIS, GraphML or an edge list, perhaps in
/// gzip or zstd; or Parquet, Arrow, SciPy's .npz, ECL's .egr, GAP's .sg or .wsg, or .vxm. A generated graph is grid:ROWSxCOLUMNS,
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
    /// File for a trace of the command, in Chrome's format, which Perfetto opens.
    #[arg(long, global = true, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Tell on standard error how long each phase took: reading, running, checking and so on.
    #[arg(long, global = true)]
    pub time: bool,
    /// Tell only errors on standard error: no progress, and not what reading changed.
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Task {
    /// Finds a maximal independent set.
    Mis {
        /// Order in which vertices are preferred: random, degree, resolve, sorted or sorted-id; default: sorted.
        #[arg(long, value_name = "P")]
        priority: Option<Priority>,
        /// Products per round: decide (one) or count (two). resolve always takes count; the other priorities default to
        /// decide.
        #[arg(long, value_name = "F")]
        formulation: Option<Formulation>,
        /// Find sets by this many seeds at once, from --seed on, and keep the largest.
        #[arg(long, value_name = "N", value_parser = runs, allow_negative_numbers = true)]
        best_of: Option<u32>,
        #[command(flatten)]
        distance: Distance,
        #[command(flatten)]
        seed: Seed,
        #[command(flatten)]
        run: Run,
    },
    /// Colours the vertices so that neighbours have different colours; or the columns or rows of a matrix.
    Color(Color),
    /// Divides the vertices into aggregates around the members of a set at distance 2, as algebraic multigrid does.
    Aggregates {
        /// Order in which vertices become roots: random, degree, sorted or sorted-id.
        #[arg(long, value_name = "P", default_value = Priority::Random.name())]
        priority: Priority,
        #[command(flatten)]
        seed: Seed,
        #[command(flatten)]
        run: Run,
    },
    /// Finds a small vertex cover: a set with an end of each edge.
    Cover {
        /// Order of the independent set that a cover leaves out: random, degree, resolve, sorted or sorted-id.
        #[arg(long, value_name = "P", default_value = Priority::default().name())]
        priority: Priority,
        #[command(flatten)]
        seed: Seed,
        #[command(flatten)]
        run: Run,
    },
    /// Finds a large maximal clique: vertices that are all neighbours of each other.
    Clique {
        /// Order in which vertices are added: natural, random, largest-degree-first or smallest-degree-last.
        #[arg(long, value_name = "O", default_value = Order::SmallestDegreeLast.name())]
        order: Order,
        #[command(flatten)]
        seed: Seed,
        #[command(flatten)]
        run: Run,
    },
    /// Finds the distance of each vertex from a source, in hops.
    Bfs {
        /// Source vertex, by its number or name in the file; generated graphs are numbered from 0.
        #[arg(long, visible_alias = "from", value_name = "V", allow_hyphen_values = true)]
        source: String,
        /// Find a tree instead: for each vertex, its least neighbour that is one hop nearer to the source.
        #[arg(long)]
        parents: bool,
        #[command(flatten)]
        run: Run,
    },
    /// Finds the length of a shortest path from a source to each vertex.
    Sssp {
        /// Source vertex, by its number or name in the file; generated graphs are numbered from 0.
        #[arg(long, visible_alias = "from", value_name = "V", allow_hyphen_values = true)]
        source: String,
        /// Find a tree instead: for each vertex, the one before it on a shortest path with the fewest edges.
        #[arg(long)]
        parents: bool,
        #[command(flatten)]
        weights: Weights,
        #[command(flatten)]
        run: Run,
    },
    /// Finds PageRank: where a random walk is, that follows edges and now and then starts anew.
    Pagerank {
        /// Share of a rank that follows edges; at least 0, below 1.
        #[arg(long, value_name = "D", default_value_t = 0.85, value_parser = real, allow_negative_numbers = true)]
        damping: f64,
        /// Number of rounds, or the most if a tolerance is given; default: 20, or 1000 with a tolerance.
        #[arg(long, value_name = "N", value_parser = rounds, allow_negative_numbers = true)]
        rounds: Option<u32>,
        /// End once a round changes the ranks by less than this in all.
        #[arg(long, value_name = "T", default_value_t = 0.0, value_parser = real, allow_negative_numbers = true)]
        tolerance: f64,
        /// Vertices where walks start, separated by commas, by their numbers or names in the file; default: all.
        #[arg(long, value_name = "V,V", value_delimiter = ',')]
        sources: Vec<String>,
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
    /// Finds the betweenness of each vertex: the share of shortest paths that lead through it, over all pairs of others.
    Betweenness {
        /// Estimate it by the shortest paths from so many vertices, which a hash chooses; default: from all.
        #[arg(long, value_name = "K", value_parser = sources, allow_negative_numbers = true)]
        sources: Option<u32>,
        #[command(flatten)]
        seed: Seed,
        #[command(flatten)]
        run: Run,
    },
    /// Finds communities of great modularity, by Louvain's method in synchronous rounds.
    Communities {
        /// Go on while moves raise the modularity by more than this.
        #[arg(long, value_name = "T", default_value_t = 1e-6, allow_negative_numbers = true)]
        tolerance: f64,
        #[command(flatten)]
        run: Run,
    },
    /// Finds communities by label propagation: each vertex takes the label of most of its neighbours.
    Labels {
        /// The most rounds.
        #[arg(long, value_name = "N", default_value_t = 20)]
        rounds: u32,
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
    /// Finds the root of each vertex of a forest, in which an edge leads from each vertex to its parent.
    Roots {
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
    /// Writes a graph in another format: vxm, matrix-market, edges, metis, parquet, arrow or npz.
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
        /// Instead of what runs take, tell the least --memory that does for each algorithm, and what a GPU then reads over the bus.
        #[arg(long, conflicts_with = "verify")]
        limits: bool,
        /// The speed of the bus to a GPU in bytes a second, for --limits and --json.
        #[arg(
            long,
            value_name = "RATE",
            default_value = "50GB/s",
            conflicts_with = "verify",
            allow_hyphen_values = true
        )]
        bus: Rate,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        memory: Memory,
        #[command(flatten)]
        threads: Threads,
    },
    /// Runs an algorithm with counters, and shows what its loops did: by round, thread and element.
    Profile {
        /// How many times the algorithm runs.
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
        runs: u32,
        /// The algorithm and its arguments, as without `profile`: mis GRAPH --seed 3.
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "ALGORITHM")]
        arguments: Vec<OsString>,
    },
    /// Writes a page of what a graph is and what a run did, or of two runs side by side.
    Report(Report),
    /// Prints the completions of a shell: bash, elvish, fish, powershell or zsh.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Prints the manual page of the command, or of one of its commands.
    Man {
        /// The command, such as mis; default: all of vxm.
        command: Option<String>,
    },
    /// Runs an algorithm as many ranks in this process, counts what they do and send, and tells how long a machine would take.
    Simulate(Simulate),
    /// Shows which NVIDIA libraries and GPUs were found, and what to install; or how fast ranks are.
    Doctor(Doctor),
    /// Writes a generated graph as a file: Matrix Market, or the format that the file's name tells.
    Generate {
        /// Specification of the graph, such as rmat:20:8.
        spec: String,
        /// File to write; text is gzipped if its name ends in .gz.
        #[arg(short, long, value_name = "FILE")]
        out: PathBuf,
        /// Format of the file: vxm, matrix-market, edges, metis, parquet, arrow or npz; default: by its name.
        #[arg(long, value_name = "F")]
        output: Option<FileFormat>,
        #[command(flatten)]
        memory: Memory,
        #[command(flatten)]
        threads: Threads,
    },
}

/// The arguments of an algorithm, if a task runs one.
macro_rules! run_of {
    ($task:expr) => {
        match $task {
            Task::Mis { run, .. }
            | Task::Color(Color { run, .. })
            | Task::Aggregates { run, .. }
            | Task::Cover { run, .. }
            | Task::Clique { run, .. }
            | Task::Bfs { run, .. }
            | Task::Sssp { run, .. }
            | Task::Components { run }
            | Task::Pagerank { run, .. }
            | Task::Kcore { run }
            | Task::Labels { run, .. }
            | Task::Communities { run, .. }
            | Task::Betweenness { run, .. }
            | Task::Triangles { run }
            | Task::Ktruss { run, .. }
            | Task::Clustering { run }
            | Task::Msf { run, .. }
            | Task::Scc { run }
            | Task::Roots { run }
            | Task::Matching { run, .. } => Some(run),
            Task::Doctor(_)
            | Task::Simulate(_)
            | Task::Profile { .. }
            | Task::Convert(_)
            | Task::Info { .. }
            | Task::Generate { .. }
            | Task::Report(_)
            | Task::Completions { .. }
            | Task::Man { .. } => None,
        }
    };
}

impl Task {
    /// The names of the tasks that run an algorithm.
    pub const ALGORITHMS: [&str; 20] = [
        "mis",
        "color",
        "aggregates",
        "cover",
        "clique",
        "bfs",
        "sssp",
        "components",
        "pagerank",
        "kcore",
        "labels",
        "communities",
        "betweenness",
        "triangles",
        "ktruss",
        "clustering",
        "msf",
        "scc",
        "roots",
        "matching",
    ];

    /// The arguments of an algorithm; `None` for a task that runs none.
    pub fn run(&self) -> Option<&Run> {
        run_of!(self)
    }

    /// The same, to be changed.
    pub fn run_mut(&mut self) -> Option<&mut Run> {
        run_of!(self)
    }

    /// Where ranks stand, if the task can run on ranks.
    pub fn ranks(&self) -> Option<&Ranks> {
        match self {
            Self::Doctor(doctor) => Some(&doctor.placed),
            task => task.run().map(|run| &run.ranks),
        }
    }

    /// The device that is asked for, if the task can run on ranks.
    pub fn device(&self) -> Option<Asked> {
        match self {
            Self::Doctor(doctor) => Some(doctor.device),
            task => task.run().map(|run| run.device),
        }
    }

    /// The name of a task that runs in one process or in one column of ranks alone.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Doctor(_) => "doctor",
            Self::Simulate(_) => "simulate",
            Self::Profile { .. } => "profile",
            Self::Convert(_) => "convert",
            Self::Report(_) => "report",
            Self::Completions { .. } => "completions",
            Self::Man { .. } => "man",
            Self::Pagerank { .. } => "pagerank",
            Self::Communities { .. } => "communities",
            Self::Betweenness { .. } => "betweenness",
            Self::Info { .. } => "info",
            Self::Generate { .. } => "generate",
            _ => "an algorithm",
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

    #[test]
    fn every_algorithm_is_named() {
        // an option that each run has, and nothing else
        let command = Arguments::command();
        let runs =
            command.get_subcommands().filter(|task| task.get_arguments().any(|option| option.get_id() == "explain"));
        let mut names: Vec<&str> = runs.map(clap::Command::get_name).collect();
        let mut known = Task::ALGORITHMS.to_vec();
        names.sort_unstable();
        known.sort_unstable();
        assert_eq!(names, known);
    }
}
