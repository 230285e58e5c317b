//! The page of a run.

use crate::command::report::charts::{self, short};
use crate::command::report::facts::Facts;
use crate::command::report::spy::Picture;
use crate::command::report::{Told, machine, rounds};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;
use std::time::Duration;
use vxm::Result;

/// The most decisions of the plan that are listed.
const DECISIONS: usize = 60;

/// What a page tells of a run.
pub struct Page<'a> {
    pub told: &'a Told<'a>,
    pub times: Vec<(&'static str, Duration)>,
    pub facts: Facts,
    pub whole: Picture,
    pub sample: Picture,
    pub again: &'a str,
}

impl Page<'_> {
    /// The page as HTML text.
    pub fn text(&self) -> Result<String> {
        let (graph, algorithm) = (self.word("graph"), self.word("algorithm"));
        let body = html! {
            (self.head(&graph, &algorithm))
            (self.graph()?)
            (self.run()?)
            (self.certificate())
            (self.plan())
            (self.rerun())
        };
        Ok(document(&format!("{graph}: {algorithm}"), &body, self.told.object))
    }

    /// A string or a number of the run.
    fn word(&self, name: &str) -> String {
        word(&self.told.object[name])
    }

    fn head(&self, graph: &str, algorithm: &str) -> Markup {
        let valid = self.told.object["valid"] == true;
        html! {
            h1 { (graph) ": " (algorithm) }
            p { (self.told.found) ", "
                @if valid { span.good { "valid" } } @else { span.bad { "WRONG" } }
            }
            dl.cards {
                div { dt { "vertices" } dd { (count("vertices", self.facts.vertices as u64)) } }
                div { dt { @if self.directed() { "directed edges" } @else { "edges" } }
                    dd { (count("edges", self.told.object["edges"].as_u64().unwrap_or(0))) } }
                div { dt { "seconds" } dd { (time("seconds", self.told.object["seconds"].as_f64().unwrap_or(0.0))) } }
                @if let Some(rounds) = self.told.object["rounds"].as_u64() {
                    div { dt { "rounds" } dd { (count("rounds", rounds)) } }
                }
                div { dt { "device" } dd { (self.word("device")) } }
                div { dt { "threads" } dd { (self.word("threads")) } }
            }
        }
    }

    fn directed(&self) -> bool {
        self.told.object["directed"] == true
    }

    /// What the graph is.
    fn graph(&self) -> Result<Markup> {
        let facts = &self.facts;
        let [least, median, most] = facts.spread();
        let degree = if self.directed() { "out-degree" } else { "degree" };
        let share = 100.0 * facts.largest() as f64 / facts.vertices.max(1) as f64;
        let classes = ["1", "2", "4", "8", "16", "32", "64", "128", "256"];
        let tiles: Vec<(String, u64)> = classes.map(str::to_owned).into_iter().zip(facts.tiles).collect();
        Ok(html! {
            h2 { "The graph" }
            div.wide { table {
                tr { th { (degree) } td { "least " (count("least", least)) ", median " (count("median", median)) ", mean "
                    data #mean value=(facts.mean()) { (format!("{:.2}", facts.mean())) } ", greatest " (count("greatest", most)) } }
                tr { th { "isolated" } td { (count("isolated", facts.isolated())) } }
                tr { th { "components" } td { (count("components", facts.parts())) @if facts.parts() > 0 {
                    "; the largest has " (count("largest", facts.largest())) " vertices (" (format!("{share:.2}")) " %)" } } }
                tr { th { "as CSR" } td { (bytes(facts.bytes as u64)) } }
                tr { th { "16 x 16 tiles" } td { (count("tiles", facts.tile_count())) ", "
                    data #fill value=(facts.fill()) { (format!("{:.2}", facts.fill())) } " of 256 entries filled on average" } }
            } }
            div.figures {
                figure #degrees { (PreEscaped(charts::scatter(&facts.degrees, degree, "vertices")?))
                    figcaption { "Vertices of each " (degree) ", on logarithmic axes." } }
                figure #spy { img src=(self.whole.address) alt="spy plot of the whole matrix";
                    figcaption { "The whole matrix. The stronger a pixel, the more entries lie there." } }
                figure #sample { img src=(self.sample.address) alt="spy plot of a sample with its tiles";
                    figcaption { "The " (self.sample.count) " vertices from row " (self.sample.first) " on, where entries are dense beside the \
                        diagonal. Blue pixels are entries. The stronger the orange, the fuller the 16 x 16 tile." } }
                figure #fills { (PreEscaped(charts::bars(&tiles, "entries of a tile, at most", "tiles")?))
                    figcaption { "Tiles by the number of entries in them: 1, 2, 3 to 4, 5 to 8 and so on." } }
                @if facts.parts() > 1 {
                    figure #sizes { (PreEscaped(charts::scatter(&facts.components, "vertices of a component", "components")?))
                        figcaption { "Components of each size, on logarithmic axes." } }
                }
            }
        })
    }

    /// What ran: options, times, memory.
    fn run(&self) -> Result<Markup> {
        let longest = self.times.iter().map(|(_, took)| took.as_secs_f64()).fold(0.0, f64::max);
        let total: f64 = self.times.iter().map(|(_, took)| took.as_secs_f64()).sum();
        let peaks = &self.told.object["peak_bytes"];
        let memory: Vec<(&str, u64)> = ["predicted", "taken", "device"]
            .into_iter()
            .filter_map(|name| Some((name, peaks[name].as_u64()?)))
            .collect();
        let most = memory.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0).max(1) as f64;
        Ok(html! {
            h2 { "The run" }
            @if !self.told.choices.is_empty() {
                div.wide { table #options {
                    @for (name, value) in &self.told.choices { tr { th { (name) } td { (value) } } }
                } }
            }
            h3 { "Time" }
            div.wide { table #times {
                @for (name, took) in &self.times {
                    tr { th { (phase_name(name)) }
                        td.number { data value=(took.as_secs_f64()) { (seconds(took.as_secs_f64())) } }
                        (bar(&[took.as_secs_f64()], longest)) }
                }
                tr { th { "in all" } td.number { (time("total", total)) } td.bar {} }
                tr { th { "one pass over the edges" } td.number { (time("pass", self.facts.pass.as_secs_f64())) }
                    (bar(&[self.facts.pass.as_secs_f64()], longest)) }
            } }
            p.soft { "One pass reads all column numbers once, as fast as this machine's memory gives them. An algorithm that reads each edge k \
                times takes k passes at least." }
            h3 { "Memory" }
            div.wide { table #memory {
                @for (name, bytes_of) in &memory {
                    tr { th { (memory_name(name)) } td.number { data id=(name) value=(bytes_of) { (bytes(*bytes_of)) } }
                        (bar(&[*bytes_of as f64], most)) }
                }
            } }
            (rounds::section(&self.told.loops)?)
        })
    }

    fn certificate(&self) -> Markup {
        let valid = self.told.object["valid"] == true;
        html! {
            h2 { "The certificate" }
            p { @if valid { span.good #valid { "valid" } } @else { span.bad #valid { "WRONG" } } ": " (self.told.certificate) }
            p.soft { "The check shares no code with the engine." }
        }
    }

    /// The plan, with its reasons.
    fn plan(&self) -> Markup {
        let more = self.told.plan.len().saturating_sub(DECISIONS);
        html! {
            h2 { "The plan" }
            @if self.told.plan.is_empty() { p { "Nothing had to be decided." } } @else {
                table.plan #plan {
                    thead { tr { th { "operation" } th { "chosen" } th { "why" } th.number { "times" } } }
                    tbody { @for decision in self.told.plan.iter().take(DECISIONS) { tr {
                        td { (decision.operation) @if !decision.at.is_empty() { br; code.soft { (decision.at) } } }
                        td { @for (name, value) in &decision.chosen { span.soft { (name) } " " (value) br; } }
                        td { (decision.why) }
                        td.number { (decision.times) " x" }
                    } } }
                }
                @if more > 0 { p.soft { (more) " more are left out: VXM_LOG=debug shows them." } }
            }
        }
    }

    /// The machine, and how to make the run again.
    fn rerun(&self) -> Markup {
        html! {
            h2 { "The machine" }
            div.wide { table #machine {
                @for (name, value) in machine::facts(&self.word("device")) { tr { th { (name) } td { (value) } } }
            } }
            h2 { "To run it again" }
            pre #again { (self.again) }
            p { "It prints this digest, on every device and with any number of threads:" }
            pre #digest { (self.word("digest")) }
        }
    }
}

/// A whole page, with the JSON object that it was made from.
pub fn document(title: &str, body: &Markup, object: &Value) -> String {
    // no text of the object may end the element
    let object = object.to_string().replace('<', "\\u003c");
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content=(concat!("vxm ", env!("CARGO_PKG_VERSION")));
                title { (title) }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                (body)
                script type="application/json" #run { (PreEscaped(object)) }
            }
        }
    };
    page.into_string()
}

/// A cell with bars; their lengths are shares of `most`.
pub fn bar(values: &[f64], most: f64) -> Markup {
    let share = |value: f64| if most > 0.0 { 100.0 * value / most } else { 0.0 };
    html! { td.bar { @for value in values { i style=(format!("width:{:.2}%", share(*value))) {} } } }
}

/// A string as it is, and other values as JSON.
pub fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A count, with its digits in groups of three.
fn count(id: &str, number: u64) -> Markup {
    html! { data id=(id) value=(number) { (grouped(number)) } }
}

/// A time with a name.
fn time(id: &str, took: f64) -> Markup {
    html! { data id=(id) value=(took) { (seconds(took)) } }
}

/// The digits of a number in groups of three.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| core::str::from_utf8(group).unwrap_or("")).collect();
    // narrow spaces that don't break
    groups.join("\u{202f}")
}

/// A time, with three digits at least.
pub fn seconds(seconds: f64) -> String {
    match seconds {
        s if s >= 10.0 => format!("{s:.1} s"),
        s if s >= 0.1 => format!("{s:.3} s"),
        s if s >= 1e-3 => format!("{:.2} ms", 1e3 * s),
        s => format!("{:.1} \u{b5}s", 1e6 * s),
    }
}

/// A size in memory.
pub fn bytes(bytes: u64) -> String {
    format!("{}B", short(bytes as f64))
        .replace("kB", " kB")
        .replace("MB", " MB")
        .replace("GB", " GB")
        .replace("TB", " TB")
}

/// A phase in words.
pub fn phase_name(name: &str) -> &str {
    match name {
        "start" => "starting",
        "read" => "reading or generating",
        "prepare" => "preparing",
        "compile" => "first run, which compiles kernels",
        "run" => "running",
        "check" => "checking",
        "write" => "writing",
        other => other,
    }
}

fn memory_name(name: &str) -> &str {
    match name {
        "predicted" => "predicted, on the host",
        "taken" => "taken, on the host",
        _ => "predicted, on the device",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!([0, 999, 1000, 1_048_576].map(grouped), ["0", "999", "1\u{202f}000", "1\u{202f}048\u{202f}576"]);
        assert_eq!([12.34, 0.5, 0.00123, 0.000_000_5].map(seconds), ["12.3 s", "0.500 s", "1.23 ms", "0.5 \u{b5}s"]);
        assert_eq!([12, 1500, 75_000_000].map(bytes), ["12B", "1.5 kB", "75 MB"]);
    }

    #[test]
    fn text_of_a_graph_cannot_leave_its_place() {
        let name = "<script>x</script>";
        let page = document(name, &html! { h1 { (name) } }, &serde_json::json!({"graph": name}));
        assert!(!page.contains("<script>") && page.matches("</script>").count() == 1, "{page}");
    }
}
