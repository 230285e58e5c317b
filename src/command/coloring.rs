//! `vxm color`: colourings of graphs, and of the columns or rows of a matrix.

use crate::command::answer::{begin, fits, is_same_file};
use crate::command::bars::Bars;
use crate::command::convert::numbering;
use crate::command::finish::finish;
use crate::command::footprint::Algorithm;
use crate::command::found::{Found, Rule};
use crate::command::options::{Color, Run};
use crate::command::phases::phase;
use crate::command::subject::{self, Subject, simple};
use crate::command::tasks::checked;
use crate::command::{alike, counted, job};
use std::path::Path;
use std::process::ExitCode;
use vxm::algorithms::priority::{column_keys, order_keys};
use vxm::algorithms::{self, Coloring, ColoringOptions, Order};
use vxm::containers::{Matrix, Vector};
use vxm::error::printable;
use vxm::io::{FileFormat, Report, read_matrix_as, short_name};
use vxm::{Error, Result};

/// `vxm color`.
pub fn color(options: &Color) -> Result<ExitCode> {
    let Color { order, run, seed, .. } = options;
    let seed = seed.seed;
    match (options.columns, options.rows) {
        (true, _) => return matrix(Rule::Columns, *order, seed, run),
        (_, true) => return matrix(Rule::Rows, *order, seed, run),
        _ => {}
    }
    if options.given.is_some() || options.most.is_some() {
        return extended(options.given.as_deref(), options.most.unwrap_or(u32::MAX), *order, seed, run);
    }
    if options.star {
        return by_rule(Rule::Star, ("rule", "star".into()), *order, seed, run);
    }
    if options.distance.distance == 2 {
        if let Some(method) = options.method {
            let what = format!("method `{}` is for distance 1: expected none at distance 2", method.name());
            return Err(Error::invalid(what));
        }
        return by_rule(Rule::Distance2, ("distance", 2.into()), *order, seed, run);
    }
    let method = options.method.unwrap_or_default();
    let choices = [("method", method.name().into()), ("order", order.name().into()), ("seed", seed.into())];
    let options = ColoringOptions::default().method(method).order(*order).seed(seed);
    let (out, graph) = (begin(run)?, simple(run)?.renumbered(run)?);
    let find = |a: &Matrix| algorithms::color(a, &options).map(|c| (Found::Colors(c.colors, c.count), Some(c.rounds)));
    finish(run, out, Algorithm::Color(method, *order), &choices, graph, find, checked)
}

/// A colouring at distance 2, or a star colouring. `choice` tells which.
fn by_rule(
    rule: Rule,
    choice: (&'static str, serde_json::Value),
    order: Order,
    seed: u64,
    run: &Run,
) -> Result<ExitCode> {
    let choices = [("order", order.name().into()), choice, ("seed", seed.into())];
    let (out, graph) = (begin(run)?, simple(run)?);
    let find = |a: &Matrix| {
        let key = algorithms::keys_at_distance_2(a, order, seed)?;
        let Coloring { colors, count, rounds, .. } = match rule {
            Rule::Star => algorithms::star_coloring(a, &key)?,
            _ => algorithms::color_at_distance_2(a, &key)?,
        };
        Ok((Found::ColorsBy(rule, colors, count), Some(rounds)))
    };
    finish(run, out, Algorithm::ColorsBy(rule), &choices, graph, find, checked)
}

/// `vxm color --columns` and `--rows`.
fn matrix(rule: Rule, order: Order, seed: u64, run: &Run) -> Result<ExitCode> {
    let what = if rule == Rule::Columns { "columns" } else { "rows" };
    let choices = [("order", order.name().into()), ("of", what.into()), ("seed", seed.into())];
    let (out, matrix) = (begin(run)?, job::agree(whole(run))?);
    let (rows, columns) = (matrix.matrix.nrows(), matrix.matrix.ncols());
    if job::grid().is_some() && rows != columns {
        let name = &matrix.name;
        return Err(Error::invalid(format!("{name}: a {rows} x {columns} matrix: expected a square one on ranks")));
    }
    job::agree(fits(run, Algorithm::ColorsBy(rule), &matrix))?;
    // what is coloured are the subject's rows
    let turned = if rule == Rule::Columns { matrix.matrix.transpose() } else { matrix.matrix.clone() };
    let find = |a: &Matrix| {
        let key = column_keys(&a.transpose(), order, seed)?;
        let found = algorithms::color_rows(a, &key)?;
        Ok((Found::ColorsBy(rule, found.colors, found.count), Some(found.rounds)))
    };
    finish(run, out, Algorithm::ColorsBy(rule), &choices, matrix.with(turned), find, checked)
}

/// The pattern of the matrix of a run, unchanged; of a generated graph, its adjacency matrix.
fn whole(run: &Run) -> Result<Subject> {
    if !Path::new(&run.graph).exists() {
        return subject::whole(run);
    }
    let (bars, _phase) = (Bars::new(), phase("read"));
    let csr = read_matrix_as(&run.graph, run.input.read_as(), &bars)?;
    let format = run.input.input.map_or_else(|| FileFormat::of_file(&run.graph), Ok)?;
    let numbering = numbering(&run.graph, Some(format))?;
    let mut report = Report::default();
    report.entries = csr.nnz() as u64;
    let name = short_name(&run.graph.to_string_lossy());
    Ok(Subject {
        matrix: Matrix::from_csr(csr),
        again: None,
        renumbered: None,
        name,
        numbering,
        input: Some(format),
        report,
    })
}

/// `vxm color --given` and `--most`.
fn extended(given: Option<&Path>, most: u32, order: Order, seed: u64, run: &Run) -> Result<ExitCode> {
    let mut choices = vec![("order", order.name().into()), ("seed", seed.into())];
    if most != u32::MAX {
        choices.push(("most", most.into()));
    }
    if let (Some(out), Some(given)) = (&run.out, given)
        && is_same_file(out, given)
    {
        return Err(Error::invalid(format!("--out {}: expected another file than that of --given", out.display())));
    }
    let (out, graph) = (begin(run)?, subject::whole(run)?);
    let held = job::agree(match given {
        None => Ok(vec![0; graph.matrix.nrows()]),
        Some(file) => given_colors(file, &graph, most),
    })?;
    if let Some(file) = given {
        alike::check_words(|| format!("--given {}", file.display()), &held)?;
    }
    choices.push(("given", held.iter().filter(|&&color| color > 0).count().into()));
    let some = Vector::from_pairs(held.len(), (0..).zip(held.iter().copied()).filter(|&(_, color)| color > 0))?;
    let find = |a: &Matrix| {
        let some = match a.grid() {
            Some(grid) => some.to_grid(grid)?,
            None => some.to(a.device())?,
        };
        let found = algorithms::extend_coloring(a, &order_keys(a, order, seed)?, &some, most)?;
        Ok((Found::Extended(found.colors, held.clone(), most), Some(found.rounds)))
    };
    finish(run, out, Algorithm::Extended(order), &choices, graph, find, checked)
}

/// Reads colours, a vertex and its colour a line, and checks that no two neighbours have the same.
fn given_colors(file: &Path, graph: &Subject, most: u32) -> Result<Vec<u32>> {
    let name = printable(file.as_os_str().as_encoded_bytes());
    let text = std::fs::read_to_string(file).map_err(|source| Error::Io { file: format!("--given {name}"), source })?;
    let n = graph.matrix.nrows();
    let (mut colors, mut lines) = (vec![0u32; n], vec![0usize; n]);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
    {
        let wrong = |what: String| Error::invalid(format!("--given {name}:{number}: {what}"));
        // names may hold blanks
        let words: Vec<&str> = match line.contains('\t') {
            true => line.split('\t').map(str::trim).filter(|word| !word.is_empty()).collect(),
            false => line.split_whitespace().collect(),
        };
        let [vertex, color] = words[..] else {
            return Err(wrong(format!("{}: expected a vertex and its colour", counted(words.len(), "word"))));
        };
        let found = graph.numbering.find(vertex, n);
        let what = if matches!(graph.numbering, vxm::io::Numbering::Named(_)) { "name" } else { "number" };
        let found = found.ok_or_else(|| wrong(format!("`{vertex}`: expected the {what} of one of {n} vertices")))?;
        let color = color.parse().ok().filter(|&color| color <= most);
        let color = color.ok_or_else(|| wrong(format!("`{}`: expected a colour from 1 to {most}, or 0", words[1])))?;
        let (held, line) = (&mut colors[found as usize], &mut lines[found as usize]);
        if *line != 0 {
            return Err(wrong(format!("vertex {vertex} is given a colour in line {line} as well: expected each once")));
        }
        (*held, *line) = (color, number);
    }
    for (i, j, ()) in graph.matrix.iter().filter(|&(i, j, ())| i < j && colors[i as usize] != 0) {
        if colors[i as usize] == colors[j as usize] {
            let (one, other) = (graph.numbering.label(i), graph.numbering.label(j));
            let (number, first) = (lines[i as usize].max(lines[j as usize]), lines[i as usize].min(lines[j as usize]));
            return Err(Error::invalid(format!(
                "--given {name}:{number}: the neighbours {one} and {other} are both given colour {} (line {first}): expected \
                 different ones",
                colors[i as usize]
            )));
        }
    }
    Ok(colors)
}
