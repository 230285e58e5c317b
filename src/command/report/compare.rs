//! `vxm report --compare`: two runs side by side.

use crate::command::report::page::{bar, document, grouped, phase_name, seconds, word};
use maud::{Markup, html};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use vxm::error::printable;
use vxm::{Error, Result};

/// The fields that come first, in this order; others follow by name.
const FIRST: [&str; 12] = [
    "graph",
    "vertices",
    "edges",
    "directed",
    "algorithm",
    "device",
    "threads",
    "valid",
    "seconds",
    "rounds",
    "size",
    "digest",
];

/// The page of two runs.
pub fn text(files: &[PathBuf; 2]) -> Result<String> {
    let [a, b] = [read(&files[0])?, read(&files[1])?];
    let title = match (word(&a["graph"]), word(&b["graph"])) {
        (one, other) if one == other => one,
        (one, other) => format!("{one} and {other}"),
    };
    let names = files.each_ref().map(|file| printable(file.as_os_str().as_encoded_bytes()).to_string());
    let body = html! {
        h1 { (title) ": two runs" }
        p { span.key {} "A is " code { (names[0]) } ", " span.key.two {} "B is " code { (names[1]) } "." }
        p #verdict { (verdict(&a, &b)) }
        h2 { "Time" }
        (times(&a, &b))
        h2 { "All that was told" }
        (table(&a, &b))
    };
    Ok(document(&title, &body, &json!({"a": a, "b": b})))
}

/// The object of a run: a file of `--json`, or the one inside a page.
fn read(file: &PathBuf) -> Result<Value> {
    let name = printable(file.as_os_str().as_encoded_bytes()).to_string();
    let text = std::fs::read_to_string(file).map_err(Error::io(&name))?;
    let inside = text.split_once("<script id=\"run\" type=\"application/json\">");
    let text = inside.and_then(|(_, rest)| rest.split_once("</script>")).map_or(text.as_str(), |(object, _)| object);
    let expected = "expected the JSON object that --json prints, or a page of vxm report";
    let object: Value = serde_json::from_str(text)
        .map_err(|error| Error::invalid(format!("{name}:{}:{}: {expected}", error.line(), error.column())))?;
    if object["graph"].is_string() && object["algorithm"].is_string() {
        Ok(object)
    } else {
        Err(Error::invalid(format!("{name}: {expected}, found no `graph` and `algorithm`")))
    }
}

/// In words: whether the answers are the same, and which run was faster.
fn verdict(a: &Value, b: &Value) -> Markup {
    let same = |name: &str| a[name] == b[name];
    let ratio = match (a["seconds"].as_f64(), b["seconds"].as_f64()) {
        (Some(one), Some(other)) if one > 0.0 && other > 0.0 => Some(one / other),
        _ => None,
    };
    html! {
        @if !same("graph") || !same("vertices") || !same("edges") { "The graphs differ. " }
        @else if !same("algorithm") { "The algorithms differ. " }
        @else if same("digest") { span.good { "The answers are equal" } ", bit for bit. " }
        @else { b { "The answers differ." } " A seed or another option may change an answer; devices, threads and formats must not. " }
        @if let Some(ratio) = ratio {
            @if ratio >= 1.0 { "B ran " (format!("{ratio:.2}")) " times as fast as A." }
            @else { "A ran " (format!("{:.2}", 1.0 / ratio)) " times as fast as B." }
        }
    }
}

/// The times of both runs, as bars.
fn times(a: &Value, b: &Value) -> Markup {
    let of = |object: &Value| -> Vec<(String, f64)> {
        let phases = object["phases"].as_object().cloned().unwrap_or_default();
        let phases = phases.into_iter().filter_map(|(name, took)| Some((name, took.as_f64()?)));
        phases.chain([("algorithm".to_owned(), object["seconds"].as_f64().unwrap_or(0.0))]).collect()
    };
    let (a, b) = (of(a), of(b));
    let order = ["start", "read", "prepare", "compile", "run", "check", "write"];
    let place = |name: &str| order.iter().position(|known| *known == name).unwrap_or(order.len());
    let mut names: Vec<&String> = a.iter().chain(&b).map(|(name, _)| name).collect();
    names.sort_by_key(|name| (place(name), name.as_str()));
    names.dedup();
    let most = a.iter().chain(&b).map(|(_, took)| *took).fold(0.0, f64::max);
    let find = |all: &[(String, f64)], name: &str| all.iter().find(|(known, _)| known == name).map(|(_, took)| *took);
    html! {
        div.wide { table #times {
            thead { tr { th {} th.number { "A" } th.number { "B" } th {} } }
            @for name in names {
                @let (one, other) = (find(&a, name), find(&b, name));
                tr { th { (phase_name(name)) }
                    td.number { (one.map_or(String::new(), seconds)) } td.number { (other.map_or(String::new(), seconds)) }
                    (bar(&[one.unwrap_or(0.0), other.unwrap_or(0.0)], most)) }
            }
        } }
    }
}

/// All fields of both objects; nested ones by their path.
fn table(a: &Value, b: &Value) -> Markup {
    let (a, b) = (flat(a), flat(b));
    let place = |name: &str| FIRST.iter().position(|known| *known == name).unwrap_or(FIRST.len());
    let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
    names.sort_by_key(|name| (place(name), name.as_str()));
    names.dedup();
    html! {
        div.wide { table #fields {
            thead { tr { th {} th.number { "A" } th.number { "B" } th.number { "B / A" } } }
            tbody { @for name in names {
                @let (one, other) = (a.get(name), b.get(name));
                tr { th { (name) } (cell(one)) (cell(other)) td.number { (ratio(one, other)) } }
            } }
        } }
    }
}

fn cell(value: Option<&Value>) -> Markup {
    let text = match value {
        None => String::new(),
        Some(number) if number.is_u64() => grouped(number.as_u64().unwrap_or(0)),
        Some(number) if number.is_f64() => format!("{:.6}", number.as_f64().unwrap_or(0.0)),
        Some(other) => word(other),
    };
    html! { td.number { (text) } }
}

/// The ratio of two numbers that differ.
fn ratio(a: Option<&Value>, b: Option<&Value>) -> String {
    match (a.and_then(Value::as_f64), b.and_then(Value::as_f64)) {
        (Some(a), Some(b)) if a != 0.0 && a != b => format!("{:.3}", b / a),
        _ => String::new(),
    }
}

/// An object without objects in it: their fields have names such as `phases.run`.
fn flat(object: &Value) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut todo = vec![(String::new(), object.clone())];
    while let Some((path, value)) = todo.pop() {
        match value {
            Value::Object(inner) => todo.extend(inner.into_iter().map(|(name, value)| {
                let path = if path.is_empty() { name } else { format!("{path}.{name}") };
                (path, value)
            })),
            value => {
                fields.insert(path, value);
            }
        }
    }
    fields
}
