//! The command line.

use clap::{Args, Parser, Subcommand};
use core::str::FromStr;
use std::ffi::OsString;
use std::path::PathBuf;
use vxm::algorithms::{Formulation, Method, Order, Priority};
use vxm::backend::Device;
use vxm::backend::plan::Format;
use vxm::io::FileFormat;
use vxm::{Error, Result};

/// Sparse linear algebra on graphs: masked vector-matrix products over semirings.
///
/// GRAPH is a file or a generated graph. A file is Matrix Market, DIMACS .col or .gr, METIS or an edge list, perhaps in
/// gzip or zstd; or SciPy's .npz, ECL's .egr, GAP's .sg or .wsg. A generated graph is grid:ROWSxCOLUMNS,
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
        #[arg(long, value_name = "V", value_parser = number, allow_negative_numbers = true)]
        source: u64,
        #[command(flatten)]
        run: Run,
    },
    /// Finds the connected components; each is named by its lowest vertex.
    Components {
        #[command(flatten)]
        run: Run,
    },
    /// Shows the size of a graph, its degrees, and the memory that algorithms need.
    Info {
        /// Graph file, or the specification of a generated graph.
        graph: OsString,
        #[command(flatten)]
        input: Input,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        threads: Threads,
    },
    /// Shows which NVIDIA libraries and GPUs were found, and what to install.
    Doctor,
    /// Writes a generated graph as a Matrix Market file.
    Generate {
        /// Specification of the graph, such as rmat:20:8.
        spec: String,
        /// File to write; gzipped if its name ends in .gz.
        #[arg(short, long, value_name = "FILE.mtx")]
        out: PathBuf,
        #[command(flatten)]
        threads: Threads,
    },
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
    pub device: Device,
    /// Storage format of the graph: auto, csr or tiles. Does not change the answer.
    #[arg(long, value_name = "F", default_value = "auto")]
    pub format: Layout,
    /// File for the answer: one line per vertex, with vertices numbered as in the graph file. mis lists the members;
    /// the others add the colour, the distance or the component.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub threads: Threads,
}

/// The format of the graph file.
#[derive(Debug, Clone, Copy, Args)]
pub struct Input {
    /// Format of the graph file, if its content and name do not tell it: edges, matrix-market, dimacs, gr, metis, npz, egr
    /// or sg.
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
