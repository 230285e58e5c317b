//! The tables and figures of the papers that vxm follows, as far as one GPU or a CPU can show them: ours beside the papers'.
//!
//! `cargo bench --bench papers -- [PAPER...] [--device cuda] [--smaller N] [--graphs FILE,FILE...] [--out FOLDER]`
//!
//! PAPER is `cumis`, `tc-mis`, `coloring`, `hpcgraph` or `ecl-profiling`; all five without one. Each writes `FOLDER/PAPER.md`, and a CSV
//! file for each table. FOLDER is `target/papers`. Graphs are the papers' own where a generator makes them, 2^N times smaller (`--smaller`,
//! 7 if it isn't told; 0 is the papers' size), and otherwise generated ones of the same kind. `--graphs` adds graphs of files.
//!
//! A column says whether its figures were measured here or are quoted from the paper. A time is the median of five calls after one to warm
//! up, between two synchronisations, with the graph on the device.

mod coloring;
mod cumis;
mod ecl_profiling;
mod graphs;
mod hpcgraph;
mod table;
mod tc_mis;

use graphs::Setting;
use std::path::PathBuf;
use table::Report;
use vxm::prelude::*;

/// A paper: its name here, its title, and what makes its tables.
type Paper = (&'static str, &'static str, fn(&Setting, &mut Report) -> Result<()>);

const PAPERS: [Paper; 5] = [
    ("cumis", "cuMIS: maximal independent sets on one GPU", cumis::tables),
    ("tc-mis", "TC-MIS: maximal independent sets on tensor cores", tc_mis::tables),
    ("coloring", "Graph Coloring on the GPU (Osama, Truong, Yang, Buluç and Owens)", coloring::tables),
    ("hpcgraph", "HPCGraph on GPUs: the algorithms of its section 4, on one device", hpcgraph::tables),
    ("ecl-profiling", "Code-Specific Profiling of GPU Graph Analytics", ecl_profiling::tables),
];

fn names() -> String {
    PAPERS.map(|(name, ..)| name).join(", ")
}

/// What the arguments ask for: the papers, the setting, and the folder of the results.
fn asked() -> Result<(Vec<Paper>, Setting, PathBuf)> {
    let (mut papers, mut setting, mut out) = (Vec::new(), Setting::default(), PathBuf::from("target/papers"));
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| Error::invalid(format!("{argument}: expected a value")));
        match argument.as_str() {
            "--device" => setting.device = value()?.parse()?,
            "--smaller" => {
                let text = value()?;
                let number = text.parse().ok().filter(|&smaller| smaller <= 14);
                setting.smaller =
                    number.ok_or_else(|| Error::invalid(format!("--smaller {text}: expected 0 to 14")))?;
            }
            "--graphs" => setting.files = value()?.split(',').map(String::from).collect(),
            "--out" => out = value()?.into(),
            name => papers.push(*PAPERS.iter().find(|(known, ..)| *known == name).ok_or_else(|| {
                Error::invalid(format!("{name}: expected --device, --smaller, --graphs, --out, or one of {}", names()))
            })?),
        }
    }
    if papers.is_empty() {
        papers = PAPERS.to_vec();
    }
    Ok((papers, setting, out))
}

fn main() -> Result<()> {
    let (papers, setting, out) = asked()?;
    setting.device.check()?;
    std::fs::create_dir_all(&out).map_err(Error::io(out.display()))?;
    for (name, title, tables) in papers {
        let mut report = Report::new(name, title, &setting);
        tables(&setting, &mut report)?;
        report.write(&out)?;
    }
    Ok(())
}
