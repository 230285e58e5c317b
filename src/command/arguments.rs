//! What the command takes.

use clap::{Args, Parser, Subcommand};
use core::str::FromStr;
use std::ffi::OsString;
use std::path::PathBuf;
use vxm::algorithms::{Formulation, Method, Order, Priority};
use vxm::backend::Device;
use vxm::backend::plan::Format;
use vxm::{Error, Result};

/// Sparse linear algebra on graphs: masked vector-matrix products over semirings.
///
/// GRAPH is a file (Matrix Market, DIMACS .col, SNAP edge list; .gz too) or a generator: grid:ROWSxCOLUMNS, er:SCALE:EDGEFACTOR,
/// rmat:SCALE:EDGEFACTOR, kron:SCALE:EDGEFACTOR, rgg:SCALE, road:SIDE, delaunay:SCALE, each with :SEED last if you like.
///
/// Exit status: 0, 1 if a certificate fails or doctor finds no GPU to use, 2 for whatever is wrong with the input. VXM_LOG=debug shows
/// each product's plan.
#[derive(Debug, Parser)]
#[command(name = "vxm", version, max_term_width = 100)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub task: Task,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Task {
    /// Finds a maximal independent set.
    Mis {
        /// Which vertices come first: random, degree, resolve, sorted or sorted-id.
        #[arg(long, value_name = "P", default_value = Priority::default().name())]
        priority: Priority,
        /// How a round is written: decide (one product) or count (two); resolve knows only count.
        #[arg(long, value_name = "F")]
        formulation: Option<Formulation>,
        #[command(flatten)]
        seed: Seed,
        #[command(flatten)]
        run: Run,
    },
    /// Colours the vertices so that neighbours differ.
    Color {
        /// How to colour: is, mis, jp, min-max, hash or neighbor-reduce.
        #[arg(long, value_name = "M", default_value = Method::default().name())]
        method: Method,
        /// In which order: random, largest-degree-first or smallest-degree-last.
        #[arg(long, value_name = "O", default_value = Order::default().name())]
        order: Order,
        #[command(flatten)]
        seed: Seed,
        #[command(flatten)]
        run: Run,
    },
    /// Finds how many hops each vertex is away from a source.
    Bfs {
        /// The source, as the file numbers it; generated graphs are numbered from 0.
        #[arg(long, value_name = "V", value_parser = number, allow_negative_numbers = true)]
        source: u64,
        #[command(flatten)]
        run: Run,
    },
    /// Finds the connected components, each named by its least vertex.
    Components {
        #[command(flatten)]
        run: Run,
    },
    /// Tells a graph's size, its degrees, and what it takes in memory.
    Info {
        /// A file, or a generator's specification.
        graph: OsString,
        /// Prints one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        threads: Threads,
    },
    /// Tells what of NVIDIA's libraries was found, which GPUs there are, and what to install.
    Doctor,
    /// Writes a generated graph as a Matrix Market file.
    Generate {
        /// A generator's specification, such as rmat:20:8.
        spec: String,
        /// The file to write; gzipped if it ends in .gz.
        #[arg(short, long, value_name = "FILE.mtx")]
        out: PathBuf,
        #[command(flatten)]
        threads: Threads,
    },
}

/// What every algorithm takes.
#[derive(Debug, Args)]
pub struct Run {
    /// A file, or a generator's specification.
    pub graph: OsString,
    /// Where to run: auto, cpu, cuda or cuda:N.
    #[arg(long, value_name = "D", default_value = "auto")]
    pub device: Device,
    /// How the graph is stored: auto, csr or tiles; the answer is the same.
    #[arg(long, value_name = "F", default_value = "auto")]
    pub format: Layout,
    /// Writes the answer, in the file's own numbering: a vertex a line, or `vertex colour`, `vertex hops`, `vertex component`.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Prints one JSON object.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub threads: Threads,
}

/// What hashes are seeded with.
#[derive(Debug, Clone, Copy, Args)]
pub struct Seed {
    /// What the hash that breaks ties is seeded with.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = number, allow_negative_numbers = true)]
    pub seed: u64,
}

/// How many threads.
#[derive(Debug, Clone, Copy, Args)]
pub struct Threads {
    /// How many threads, at most 1024; all cores if not given. The answer is the same.
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

/// The format that is imposed on the plan, if any.
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
