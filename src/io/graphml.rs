//! Reads GraphML: a graph in XML, as yEd, Gephi, igraph and networkx write it. Nodes have names, their `id`.
//!
//! A key for edges with the name `weight` tells weights: integers if its type is `int` or `long`, real numbers if it is `float` or `double`.
//! All other data is passed over. Nodes inside of nodes count as nodes; hyperedges are refused.

use crate::error::{Error, Result};
use crate::formats::{Directions, First, MAX_VERTICES, Refuse};
use crate::io::FileFormat;
use crate::io::entries::Entries;
use crate::io::listed::Listed;
use crate::io::loaded::{Loaded, Numbering};
use crate::io::source::Source;
use crate::io::target::{Mirror, Outline, Target};
use crate::io::text::Fault;
use crate::io::value::{Number, Value};
use crate::io::vertex_names::{VertexNames, is_name, shortened};
use crate::io::weighted::Weighted;
use crate::memory;
use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;
use std::collections::HashMap;

/// A node that was met: its number, and where it was met first unless it was declared.
struct Node {
    number: u32,
    undeclared: Option<usize>,
}

struct Edge {
    from: u32,
    to: u32,
    directed: bool,
    weight: Option<f64>,
}

/// A key of weights.
struct Key {
    id: String,
    real: bool,
    default: Option<f64>,
}

/// What a file holds.
#[derive(Default)]
struct Found {
    nodes: HashMap<Box<str>, Node>,
    edges: Vec<Edge>,
    weights: Vec<Key>,
}

/// What the text that comes is.
#[derive(Clone, Copy, PartialEq)]
enum Expected {
    Nothing,
    /// The weight of the last edge, by a key of this number.
    Weight(usize),
    /// The weight of edges that tell none.
    Default,
}

/// A fault at byte `at`.
fn fault<T>(at: usize, expected: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { at, expected: expected.into() })
}

/// The value of an attribute.
fn attribute(tag: &BytesStart<'_>, name: &str, at: usize) -> Result<Option<String>, Fault> {
    for found in tag.attributes() {
        let Ok(found) = found else { return fault(at, "attributes in the form of NAME=\"VALUE\"") };
        if found.key.local_name().as_ref() == name {
            let Ok(value) = found.normalized_value(XmlVersion::Implicit1_0) else {
                return fault(at, format!("a sound value of the attribute `{name}`"));
            };
            return Ok(Some(value.into_owned()));
        }
    }
    Ok(None)
}

impl Found {
    /// Reads a file's text.
    fn of(text: &str) -> Result<Self, Fault> {
        let mut found = Self::default();
        let mut reader = Reader::from_str(text);
        let (mut expected, mut words, mut is_graph, mut in_edge) = (Expected::Nothing, String::new(), false, false);
        // whether edges of the graphs that are open have directions
        let (mut key, mut open_tags, mut graphs, mut root) = (None, 0usize, Vec::new(), None);
        loop {
            let at = reader.buffer_position() as usize;
            let event = match reader.read_event() {
                Ok(event) => event,
                Err(error) => return fault(reader.error_position() as usize, format!("sound XML ({error})")),
            };
            match event {
                Event::Eof => break,
                Event::Start(ref tag) | Event::Empty(ref tag) => {
                    let open = matches!(event, Event::Start(_));
                    open_tags += usize::from(open);
                    let prefix = tag.name().prefix().map(|prefix| prefix.into_inner().to_owned());
                    if tag.local_name().as_ref() == "graphml" && root.is_none() {
                        root = Some(prefix.clone());
                    }
                    // elements of other namespaces, as yEd has them
                    if root.as_ref() != Some(&prefix) {
                        continue;
                    }
                    match tag.local_name().as_ref() {
                        "key" if open => key = Self::key(tag, at)?,
                        "key" => found.weights.extend(Self::key(tag, at)?),
                        "default" if key.is_some() && open => expected = Expected::Default,
                        "graph" if is_graph && graphs.is_empty() => return fault(at, "one graph"),
                        "graph" => {
                            let directed = match attribute(tag, "edgedefault", at)?.as_deref() {
                                Some("directed") => true,
                                Some("undirected") => false,
                                _ => return fault(at, "a graph with edgedefault=\"directed\" or \"undirected\""),
                            };
                            graphs.extend(open.then_some(directed));
                            is_graph = true;
                        }
                        "node" => {
                            let Some(id) = attribute(tag, "id", at)? else { return fault(at, "a node with an id") };
                            found.node(&id, at)?;
                            found.declare(&id, at)?;
                        }
                        "edge" => {
                            let end = |name: &str| {
                                let found = attribute(tag, name, at)?;
                                found.map_or_else(|| fault(at, format!("an edge with a {name}")), Ok)
                            };
                            let (from, to) = (found.node(&end("source")?, at)?, found.node(&end("target")?, at)?);
                            let directed = match attribute(tag, "directed", at)?.as_deref() {
                                None => graphs.last().copied().unwrap_or(true),
                                Some("true") => true,
                                Some("false") => false,
                                Some(_) => return fault(at, "an edge with directed=\"true\" or \"false\""),
                            };
                            found.edges.push(Edge { from, to, directed, weight: None });
                            in_edge = open;
                        }
                        "hyperedge" => return fault(at, "edges between two nodes"),
                        "data" if in_edge && open => {
                            let asked = attribute(tag, "key", at)?;
                            let weighs = found.weights.iter().position(|key| Some(&key.id) == asked.as_ref());
                            expected = weighs.map_or(Expected::Nothing, Expected::Weight);
                        }
                        _ => {}
                    }
                    words.clear();
                }
                Event::Text(some) if expected != Expected::Nothing => words.push_str(&some.xml10_content()),
                Event::CData(some) if expected != Expected::Nothing => words.push_str(&some.xml10_content()),
                Event::GeneralRef(_) if expected != Expected::Nothing => return fault(at, "a number"),
                Event::End(tag) => {
                    open_tags = open_tags.saturating_sub(1);
                    if expected != Expected::Nothing {
                        let real = match expected {
                            Expected::Weight(place) => found.weights[place].real,
                            _ => key.as_ref().is_some_and(|key| key.real),
                        };
                        let number = Self::number(words.trim(), real, at)?;
                        match (expected, &mut key, found.edges.last_mut()) {
                            (Expected::Default, Some(key), _) => key.default = Some(number),
                            (_, _, Some(edge)) => edge.weight = Some(number),
                            _ => {}
                        }
                        expected = Expected::Nothing;
                    }
                    match tag.local_name().as_ref() {
                        "edge" => in_edge = false,
                        "graph" => drop(graphs.pop()),
                        "key" => found.weights.extend(key.take()),
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        let undeclared = found.nodes.iter().filter_map(|(id, node)| Some((node.undeclared?, id))).min();
        match undeclared {
            _ if open_tags > 0 => fault(text.len(), "the ends of all elements"),
            _ if !is_graph => fault(text.len(), "a <graph>"),
            Some((at, id)) => {
                fault(at, format!("edges between nodes of the graph, which has no node `{}`", shortened(id)))
            }
            None => Ok(found),
        }
    }

    /// The key that a tag declares, if it is that of weights.
    fn key(tag: &BytesStart<'_>, at: usize) -> Result<Option<Key>, Fault> {
        let get = |name| attribute(tag, name, at);
        let of_edges = matches!(get("for")?.as_deref(), Some("edge" | "all") | None);
        if !of_edges || get("attr.name")?.as_deref() != Some("weight") {
            return Ok(None);
        }
        let real = match get("attr.type")?.as_deref() {
            Some("int" | "long") => false,
            Some("float" | "double") => true,
            _ => return fault(at, "weights of the type int, long, float or double"),
        };
        let Some(id) = get("id")? else { return fault(at, "a key with an id") };
        Ok(Some(Key { id, real, default: None }))
    }

    /// A weight. Integers of 32 bits are real numbers of 64.
    fn number(text: &str, real: bool, at: usize) -> Result<f64, Fault> {
        let found = if real { text.parse().ok() } else { text.parse::<u32>().ok().map(f64::from) };
        let what = if real { "a weight, a number" } else { "a weight, an integer from 0 to 4294967295" };
        found.map_or_else(|| fault(at, format!("{what}, before this, not `{}`", shortened(text))), Ok)
    }

    /// The number of a node, which is met at byte `at`.
    fn node(&mut self, id: &str, at: usize) -> Result<u32, Fault> {
        if let Some(node) = self.nodes.get(id) {
            return Ok(node.number);
        }
        if !is_name(id) {
            return fault(at, "an id of a node that isn't empty and has no control characters");
        }
        let number = self.nodes.len();
        if number >= MAX_VERTICES {
            return fault(at, format!("at most {MAX_VERTICES} nodes"));
        }
        self.nodes.insert(id.into(), Node { number: number as u32, undeclared: Some(at) });
        Ok(number as u32)
    }

    fn declare(&mut self, id: &str, at: usize) -> Result<(), Fault> {
        match self.nodes.get_mut(id).and_then(|node| node.undeclared.take()) {
            Some(_) => Ok(()),
            None => fault(at, format!("nodes with different ids, not another `{}`", shortened(id))),
        }
    }

    /// Whether all edges go both ways.
    fn directions(&self) -> Directions {
        if self.edges.iter().any(|edge| edge.directed) { Directions::Matter } else { Directions::Ignored }
    }
}

/// Parses a file.
fn parsed(source: &Source<'_>) -> Result<Found> {
    if !source.is_all_seen() {
        return Err(source.refused(0, "an uncompressed file of GraphML".to_owned(), "a stream"));
    }
    let text = source.head();
    // nodes, edges and names take no more than their text
    memory::require(text.len() as u128, || source.name().to_owned())?;
    let text = core::str::from_utf8(text)
        .map_err(|error| source.error(&Fault { at: error.valid_up_to(), expected: "UTF-8".to_owned() }))?;
    Found::of(text).map_err(|fault| source.error(&fault))
}

/// The entries for `target`: an edge of both directions is two of them.
fn listed<'p, V: Value>(source: &Source<'p>, found: Found, target: Target) -> Result<(Listed<'p, V>, Numbering, u64)> {
    let mut ids: Vec<(Box<str>, u32)> = found.nodes.into_iter().map(|(id, node)| (id, node.number)).collect();
    ids.sort_unstable();
    let mut vertices = vec![0; ids.len()];
    ids.iter().zip(0..).for_each(|((_, number), vertex)| vertices[*number as usize] = vertex);
    let file = source.name().to_owned();
    let names = VertexNames::of(ids.iter().map(|(id, _)| &**id));
    let names = names.ok_or_else(|| Error::invalid(format!("{file}: expected nodes with different ids")))?;
    let (edges, default) = (found.edges.len() as u64, found.weights.iter().find_map(|key| key.default));
    let weights = found.edges.iter().filter(|edge| edge.weight.or(default).is_some()).count() as u64;
    let mut entries = Vec::with_capacity(found.edges.len());
    let mirrors = !matches!(target, Target::Graph(Directions::Ignored));
    for (edge, number) in found.edges.into_iter().zip(1u64..) {
        let (from, to) = (vertices[edge.from as usize], vertices[edge.to as usize]);
        let value = match edge.weight.or(default) {
            Some(weight) => V::from_number(Number::Real(weight)),
            None if size_of::<V>() == 0 => V::from_number(Number::Integer(1)),
            None => None,
        };
        let wrong = || {
            Error::invalid(format!("{file}: edge {number}: expected a weight by a key before the graph, found none"))
        };
        let value = value.ok_or_else(wrong)?;
        entries.push((from, to, value));
        if mirrors && !edge.directed && from != to {
            entries.push((to, from, value));
        }
    }
    let outline = Outline::graph(vertices.len() as u64, entries.len() as u64, target);
    let (format, entries) = (FileFormat::GraphMl, Entries::Listed(vec![entries]));
    let listed = Listed { file, format, outline, entries, first: 0, weights, vertex_weights: 0 };
    Ok((listed, Numbering::Named(names), edges))
}

/// Names the vertices of a graph, and counts its edges as the file lists them.
fn named<V: Value>(loaded: Loaded<V>, numbering: Numbering, edges: u64) -> Loaded<V> {
    let mut report = loaded.report;
    report.entries = edges;
    Loaded { numbering, report, ..loaded }
}

/// Builds the graph of edges with weights. Two weights between the same nodes are refused.
fn weighed<V: Value>(listed: Listed<'_, V>, numbering: Numbering, edges: u64) -> Result<Loaded<V>> {
    let mut places: Vec<(u32, u32)> = match &listed.entries {
        Entries::Listed(lists) => lists.iter().flatten().map(|entry| (entry.0, entry.1)).collect(),
        Entries::OnDisk(_) => Vec::new(),
    };
    places.sort_unstable();
    // a self-loop is dropped
    let repeated = places.windows(2).find(|pair| pair[0] == pair[1] && pair[0].0 != pair[0].1);
    if let Some(&[(from, to), _]) = repeated {
        let label = |vertex| shortened(&numbering.label(vertex).to_string());
        let (file, from, to) = (listed.file, label(from), label(to));
        return Err(Error::invalid(format!(
            "{file}: expected one edge from `{from}` to `{to}`, found weights of several"
        )));
    }
    Ok(named(listed.digraph(Refuse)?, numbering, edges))
}

/// Reads the graph, made symmetric.
pub(super) fn read_graph(source: &Source<'_>) -> Result<Loaded> {
    let found = parsed(source)?;
    let target = Target::Graph(found.directions());
    let (listed, numbering, edges) = listed::<()>(source, found, target)?;
    Ok(named(listed.graph()?, numbering, edges))
}

/// Edges in the directions that the file gives them.
const DIGRAPH: Target = Target::Digraph(Mirror::None);

/// Reads the graph with the directions of its edges.
pub(super) fn read_digraph(source: &Source<'_>) -> Result<Loaded> {
    let found = parsed(source)?;
    match found.directions() {
        Directions::Ignored => read_graph(source),
        Directions::Matter => {
            let (listed, numbering, edges) = listed::<()>(source, found, DIGRAPH)?;
            Ok(named(listed.digraph(First)?, numbering, edges))
        }
    }
}

/// Reads the graph with the directions of its edges, and with their weights if the file has any.
pub(super) fn read_weighted(source: &Source<'_>) -> Result<Weighted> {
    let found = parsed(source)?;
    match &found.weights[..] {
        [] => read_digraph(source).map(Weighted::None),
        keys if keys.iter().any(|key| key.real) => {
            let (listed, numbering, edges) = listed::<f64>(source, found, DIGRAPH)?;
            Ok(Weighted::Real(weighed(listed, numbering, edges)?))
        }
        _ => {
            let (listed, numbering, edges) = listed::<u32>(source, found, DIGRAPH)?;
            Ok(Weighted::Integer(weighed(listed, numbering, edges)?))
        }
    }
}
