//! The loops of a run: rounds against active elements and edges.

use crate::command::report::charts::{self, short};
use crate::command::report::page::{grouped, seconds};
use maud::{Markup, PreEscaped, html};
use std::cmp::Reverse;
use vxm::Result;
use vxm::backend::profile::{LoopKind, LoopProfile};

/// The most loops that are drawn: those that took longest.
const DRAWN: usize = 4;

/// The most rounds that are listed in a table.
const LISTED: usize = 64;

/// The loops of a run, in their order.
pub fn section(loops: &[LoopProfile]) -> Result<Markup> {
    let mut longest: Vec<usize> = (0..loops.len()).collect();
    longest.sort_by_key(|&k| Reverse(loops[k].nanoseconds));
    longest.truncate(DRAWN);
    longest.sort_unstable();
    let drawn = longest.into_iter().map(|k| figure(k, &loops[k])).collect::<Result<Vec<_>>>()?;
    let more = loops.len() - drawn.len();
    Ok(html! {
        h3 { "Loops" }
        @if loops.is_empty() {
            p #loops data-loops="0" { "No loop was counted: the run had none, or a GPU ran it operation by operation." }
        } @else {
            p.soft #loops data-loops=(loops.len()) { "Counted in a second run, as counting takes time." @if more > 0 {
                " The " (DRAWN) " loops that took longest; " (more) " are left out." } }
            div.figures { @for figure in &drawn { (figure) } }
        }
    })
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e6)
}

/// A loop: its chart, and what it did in all.
fn figure(number: usize, counted: &LoopProfile) -> Result<Markup> {
    let total = counted.total();
    let points = |of: fn(&vxm::backend::profile::Round) -> u64| -> Vec<(f64, f64)> {
        (1u32..).zip(&counted.rounds).map(|(k, round)| (f64::from(k), of(round) as f64)).collect()
    };
    let (active, edges) = (points(|round| round.active), points(|round| round.counts.edges));
    let (round, rounds) = match counted.kind {
        LoopKind::Steps => ("step", "steps"),
        _ if counted.in_place => ("pass", "passes"),
        _ => ("round", "rounds"),
    };
    let passes = format!("{} {rounds}", counted.rounds.len());
    let chart = charts::lines(&[("active", &active), ("edges", &edges)], round, "number")?;
    let left_out = counted.rounds.len().saturating_sub(LISTED);
    Ok(html! {
        figure.loop {
            (PreEscaped(chart))
            figcaption {
                b { (counted.kind.name()) } " at " code { (counted.at) } ": " (passes) @if counted.in_place { " in place" } ", "
                (grouped(total.visits)) " visits of " (grouped(counted.elements as u64)) " elements, "
                (grouped(total.edges)) " entries read; there are " (grouped(counted.entries)) ". "
                (megabytes(counted.bytes_moved())) " MB moved, where one pass takes " (megabytes(counted.bytes_of_a_pass())) "; "
                (seconds(counted.nanoseconds as f64 / 1e9)) "."
                details {
                    summary { "Each " (round) }
                    div.wide { table.rounds id=(format!("loop-{number}")) {
                        thead { tr { th { (round) } th.number { "active" } th.number { "visits" } th.number { "changed" }
                            th.number { "edges" } th.number { "time" } } }
                        @for (k, round) in counted.rounds.iter().take(LISTED).enumerate() { tr {
                            td { (k + 1) }
                            td.number { data value=(round.active) { (short(round.active as f64)) } }
                            td.number { data value=(round.counts.visits) { (short(round.counts.visits as f64)) } }
                            td.number { data value=(round.counts.changed) { (short(round.counts.changed as f64)) } }
                            td.number { data value=(round.counts.edges) { (short(round.counts.edges as f64)) } }
                            td.number { (seconds(round.nanoseconds as f64 / 1e9)) }
                        } }
                    } }
                    @if left_out > 0 { p.soft { (left_out) " more are left out." } }
                }
            }
        }
    })
}
