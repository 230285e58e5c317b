//! Tables, written as Markdown and as CSV.

use crate::graphs::Setting;
use std::fmt::Write;
use std::path::Path;
use vxm::prelude::*;

/// Where the figures of a column come from.
#[derive(Clone, Copy)]
pub enum Source {
    /// It names rows.
    Name,
    /// Measured by this run.
    Measured,
    /// Quoted from the paper.
    Quoted,
}
use Source::{Measured, Name, Quoted};

/// A column without its cells.
pub type Column = (&'static str, Source);

/// A column that names rows.
pub const fn name(of: &'static str) -> Column {
    (of, Name)
}

/// A column of figures that this run measured.
pub const fn measured(what: &'static str) -> Column {
    (what, Measured)
}

/// A column of figures of the paper.
pub const fn quoted(what: &'static str) -> Column {
    (what, Quoted)
}

/// What was made of one paper.
pub struct Report {
    name: &'static str,
    text: String,
    files: Vec<(String, String)>,
}

impl Report {
    pub fn new(name: &'static str, title: &str, setting: &Setting) -> Self {
        let text = format!(
            "# {title}\n\nMade by `cargo bench --bench papers -- {name}` on {}, {} threads; graphs 2^{} times smaller than the \
             paper's.\nTimes are in milliseconds.\n",
            setting.device,
            rayon::current_num_threads(),
            setting.smaller
        );
        Self { name, text, files: Vec::new() }
    }

    /// Adds a table. `what` is the paper's name for it, `note` says what it shows.
    pub fn table(&mut self, what: &str, note: &str, columns: &[Column], rows: &[Vec<String>]) {
        let heads: Vec<String> = columns
            .iter()
            .map(|(head, source)| match source {
                Name => (*head).to_owned(),
                Measured => format!("{head} (measured)"),
                Quoted => format!("{head} (quoted)"),
            })
            .collect();
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rule: Vec<String> = columns.iter().map(|_| "---".to_owned()).collect();
        let body: String = rows.iter().map(|row| line(row)).collect();
        // writing to a string can't fail
        let _ = write!(self.text, "\n## {what}\n\n{note}\n\n{}{}{body}", line(&heads), line(&rule));
        let quote = |cell: &String| match cell.contains([',', '"', '\n']) {
            true => format!("\"{}\"", cell.replace('"', "\"\"")),
            false => cell.clone(),
        };
        let csv = |cells: &[String]| cells.iter().map(quote).collect::<Vec<_>>().join(",") + "\n";
        let file = what.split(':').next().unwrap_or(what).to_lowercase().replace(' ', "-");
        let cells = csv(&heads) + &rows.iter().map(|row| csv(row)).collect::<String>();
        self.files.push((format!("{}-{file}.csv", self.name), cells));
    }

    /// Prints the text, and writes it and the tables into a folder.
    pub fn write(&self, folder: &Path) -> Result<()> {
        println!("{}", self.text);
        let text = [(format!("{}.md", self.name), self.text.clone())];
        for (file, contents) in text.iter().chain(&self.files) {
            let path = folder.join(file);
            std::fs::write(&path, contents).map_err(Error::io(path.display()))?;
        }
        Ok(())
    }
}

/// A row of a table from cells of any kind.
#[macro_export]
macro_rules! row {
    ($($cell:expr),* $(,)?) => { vec![$($cell.to_string()),*] };
}

/// A number with two digits behind the point.
pub fn number(x: f64) -> String {
    // adding 0 makes no -0.00
    format!("{:.2}", (x * 100.0).round() / 100.0 + 0.0)
}

/// A time with three significant digits at least.
pub fn time(ms: f64) -> String {
    if ms < 10.0 { format!("{ms:.3}") } else { format!("{ms:.1}") }
}
