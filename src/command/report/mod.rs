//! `vxm report`: a page of what a graph is and what a run did.

mod charts;
mod compare;
mod facts;
mod machine;
mod page;
mod plan;
mod rounds;
mod spy;

pub use charts::short;
pub use machine::peak_taken;
pub use plan::{Decision, decisions};

use crate::command::arguments::{Arguments, Input, Layout, Run, Task, Threads};
use crate::command::phases::{self, phase};
use crate::command::{refused_arguments, remark};
use clap::{Args, Parser};
use facts::Facts;
use serde_json::Value;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use vxm::backend::profile::LoopProfile;
use vxm::error::printable;
use vxm::formats::Csr;
use vxm::io::WholeFile;
use vxm::semiring::Element;
use vxm::{Error, Result};

/// The arguments of `vxm report`.
#[derive(Debug, Args)]
pub struct Report {
    /// Graph file, or the specification of a generated graph.
    #[arg(required_unless_present = "compare")]
    pub graph: Option<OsString>,
    /// Algorithm to run: the name of a command, such as mis, color or components.
    #[arg(long, value_name = "A", default_value = "components", conflicts_with = "compare")]
    pub algorithm: String,
    /// Page to write.
    #[arg(short, long, value_name = "FILE")]
    pub out: PathBuf,
    /// Set two runs side by side: files of --json objects, or pages of this command.
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with = "graph")]
    pub compare: Option<Vec<PathBuf>>,
    #[command(flatten)]
    pub input: Input,
    /// Device to run on: auto, cpu, cuda or cuda:N.
    #[arg(long, value_name = "D", default_value = "auto")]
    pub device: OsString,
    /// Storage format of the graph: auto, csr, tiles or hybrid.
    #[arg(long, value_name = "F", default_value = "auto")]
    pub format: Layout,
    #[command(flatten)]
    pub threads: Threads,
    /// Options of the algorithm, after --.
    #[arg(last = true, value_name = "OPTION")]
    pub options: Vec<OsString>,
}

/// The page that a run writes.
#[derive(Debug, Clone)]
pub struct Target {
    pub out: PathBuf,
    /// The command line that makes the run again.
    pub again: String,
}

/// What `vxm report` asks for: a run that writes a page, or a comparison.
pub enum Asked {
    Run(Box<Task>),
    Compare(PathBuf, [PathBuf; 2]),
}

impl Report {
    /// Parses the algorithm and its options as a command of their own.
    pub fn asked(self) -> Result<Asked> {
        let (out, graph) = match (self.compare, self.graph) {
            (Some(files), _) => {
                let two =
                    <[PathBuf; 2]>::try_from(files).map_err(|_| Error::invalid("--compare: expected two files"))?;
                return Ok(Asked::Compare(self.out, two));
            }
            (None, Some(graph)) => (self.out, graph),
            (None, None) => return Err(Error::invalid("expected GRAPH, or --compare and two files")),
        };
        let mut line: Vec<OsString> = ["vxm".into(), self.algorithm.clone().into(), graph].into();
        if let Some(input) = self.input.input {
            line.extend(["--input".into(), input.name().into()]);
        }
        if let Some(columns) = &self.input.edge_columns {
            line.extend(["--edge-columns".into(), columns.names().collect::<Vec<_>>().join(",").into()]);
        }
        if self.device != "auto" {
            line.extend(["--device".into(), self.device]);
        }
        if let Some(format) = self.format.0 {
            line.extend(["--format".into(), format!("{format:?}").to_lowercase().into()]);
        }
        if let Some(threads) = self.threads.threads {
            line.extend(["--threads".into(), threads.to_string().into()]);
        }
        line.extend(self.options);
        let mut task = Arguments::try_parse_from(&line).map_err(|error| refused_arguments(&error))?.task;
        let Some(run) = task.run_mut() else {
            return Err(Error::unknown("algorithm", &self.algorithm, &Task::ALGORITHMS));
        };
        run.report = Some(Target { out, again: shown(&line) });
        Ok(Asked::Run(Box::new(task)))
    }
}

/// A command line as a shell reads it.
fn shown(line: &[OsString]) -> String {
    let mut text = String::new();
    for word in line {
        let word = printable(word.as_encoded_bytes()).to_string();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
        let space = if text.is_empty() { "" } else { " " };
        // writing to a string succeeds
        let _ = match word.chars().all(plain) && !word.is_empty() {
            true => write!(text, "{space}{word}"),
            false => write!(text, "{space}'{}'", word.replace('\'', "'\\''")),
        };
    }
    text
}

/// A run, as it is told to its page.
pub struct Told<'a> {
    /// What `--json` prints.
    pub object: &'a Value,
    /// What was found, in words, and what the certificate is about.
    pub found: &'a str,
    pub certificate: &'static str,
    /// The options of the algorithm.
    pub choices: Vec<(String, String)>,
    /// The plan of the run.
    pub plan: Vec<Decision>,
    /// The loops of another run, in which they were counted.
    pub loops: Vec<LoopProfile>,
}

/// Writes the page of a run.
pub fn write<T: Element>(run: &Run, file: WholeFile, told: &Told<'_>, graph: &Csr<T>) -> Result<()> {
    let times = phases::done();
    let _phase = phase("report");
    let (whole, sample) = (spy::whole(graph)?, spy::sample(graph)?);
    let again = run.report.as_ref().map_or("", |target| &target.again);
    let page = page::Page { told, times, facts: Facts::of(graph), whole, sample, again };
    put(file, &page.text()?)
}

/// Writes the page of two runs side by side.
pub fn compare(out: PathBuf, files: [PathBuf; 2]) -> Result<()> {
    let file = crate::command::prepare("--out", &out)?;
    put(file, &compare::text(&files)?)
}

fn put(file: WholeFile, text: &str) -> Result<()> {
    let name = printable(file.path().as_os_str().as_encoded_bytes()).to_string();
    file.write(|mut file| file.write_all(text.as_bytes()))?;
    remark(format!("{name}: {} bytes", text.len()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_quoted_where_a_shell_needs_it() {
        let line = ["vxm", "mis", "a b's.mtx", "--seed", "7", ""].map(OsString::from);
        assert_eq!(shown(&line), "vxm mis 'a b'\\''s.mtx' --seed 7 ''");
    }
}
