//! Reads GraphML: a graph in XML, as yEd, Gephi, igraph and networkx write it. Nodes have names, their `id`.
//!
//! A key for edges with the name `weight` tells weights: integers if its type is `int` or `long`, real numbers if it is `float` or `double`.
//! All other data is passed over. Nodes inside of nodes count as nodes; hyperedges are refused.

use crate::error::{Error, Result};
use crate::formats::{Directions, MAX_VERTICES, Refuse};
use crate::io::FileFormat;
use crate::io::entries::Entries;
use crate::io::listed::Listed;
use crate::io::loaded::{Loaded, Numbering, Report};
use crate::io::source::Source;
use crate::io::target::{Outline, Target};
use crate::io::text::Fault;
use crate::io::value::{Number, Value};
use crate::io::vertex_names::{VertexNames, is_name, shortened, told};
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
#[derive(Clone, Copy, PartialEq, Default)]
enum Expected {
    #[default]
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

/// A file that is being read: what was found, and which elements are open.
#[derive(Default)]
struct Parser {
    found: Found,
    expected: Expected,
    /// The text since an element began that text is expected in.
    words: String,
    /// The prefix of the namespace that the root has; `None` before it.
    root: Option<Option<String>>,
    open_tags: usize,
    /// Whether edges of the graphs that are open have directions.
    graphs: Vec<bool>,
    is_graph: bool,
    in_edge: bool,
    key: Option<Key>,
}

impl Parser {
    /// Takes the beginning of an element at byte `at`, with its attributes. `open` tells whether an end follows.
    fn start(&mut self, tag: &BytesStart<'_>, open: bool, at: usize) -> Result<(), Fault> {
        self.open_tags += usize::from(open);
        let prefix = tag.name().prefix().map(|prefix| prefix.into_inner().to_owned());
        if tag.local_name().as_ref() == "graphml" && self.root.is_none() {
            self.root = Some(prefix.clone());
        }
        // elements of other namespaces, as yEd has them
        if self.root.as_ref() != Some(&prefix) {
            return Ok(());
        }
        match tag.local_name().as_ref() {
            "key" if open => self.key = Found::key(tag, at)?,
            "key" => self.found.weights.extend(Found::key(tag, at)?),
            "default" if self.key.is_some() && open => self.expected = Expected::Default,
            "graph" => self.graph(tag, open, at)?,
            "node" => {
                let Some(id) = attribute(tag, "id", at)? else { return fault(at, "a node with an id") };
                self.found.node(&id, at)?;
                self.found.declare(&id, at)?;
            }
            "edge" => self.edge(tag, open, at)?,
            "hyperedge" => return fault(at, "edges between two nodes"),
            "data" if self.in_edge && open => {
                let asked = attribute(tag, "key", at)?;
                let weighs = self.found.weights.iter().position(|key| Some(&key.id) == asked.as_ref());
                self.expected = weighs.map_or(Expected::Nothing, Expected::Weight);
            }
            _ => {}
        }
        self.words.clear();
        Ok(())
    }

    fn graph(&mut self, tag: &BytesStart<'_>, open: bool, at: usize) -> Result<(), Fault> {
        if self.is_graph && self.graphs.is_empty() {
            return fault(at, "one graph");
        }
        let directed = match attribute(tag, "edgedefault", at)?.as_deref() {
            Some("directed") => true,
            Some("undirected") => false,
            _ => return fault(at, "a graph with edgedefault=\"directed\" or \"undirected\""),
        };
        self.graphs.extend(open.then_some(directed));
        self.is_graph = true;
        Ok(())
    }

    fn edge(&mut self, tag: &BytesStart<'_>, open: bool, at: usize) -> Result<(), Fault> {
        let end = |name: &str| {
            let found = attribute(tag, name, at)?;
            found.map_or_else(|| fault(at, format!("an edge with a {name}")), Ok)
        };
        let (from, to) = (self.found.node(&end("source")?, at)?, self.found.node(&end("target")?, at)?);
        let directed = match attribute(tag, "directed", at)?.as_deref() {
            None => self.graphs.last().copied().unwrap_or(true),
            Some("true") => true,
            Some("false") => false,
            Some(_) => return fault(at, "an edge with directed=\"true\" or \"false\""),
        };
        self.found.edges.push(Edge { from, to, directed, weight: None });
        self.in_edge = open;
        Ok(())
    }

    /// Takes the end of the element `name`.
    fn end(&mut self, name: &str, at: usize) -> Result<(), Fault> {
        self.open_tags = self.open_tags.saturating_sub(1);
        if self.expected != Expected::Nothing {
            let real = match self.expected {
                Expected::Weight(place) => self.found.weights[place].real,
                _ => self.key.as_ref().is_some_and(|key| key.real),
            };
            let number = Found::number(self.words.trim(), real, at)?;
            match (self.expected, &mut self.key, self.found.edges.last_mut()) {
                (Expected::Default, Some(key), _) => key.default = Some(number),
                (_, _, Some(edge)) => edge.weight = Some(number),
                _ => {}
            }
            self.expected = Expected::Nothing;
        }
        match name {
            "edge" => self.in_edge = false,
            "graph" => drop(self.graphs.pop()),
            "key" => self.found.weights.extend(self.key.take()),
            _ => {}
        }
        Ok(())
    }

    /// What was found in a text of `length` bytes that has ended.
    fn finish(self, length: usize) -> Result<Found, Fault> {
        let nodes = self.found.nodes.iter();
        let undeclared = nodes.filter_map(|(id, node)| Some((node.undeclared?, id))).min();
        match undeclared {
            _ if self.open_tags > 0 => fault(length, "the ends of all elements"),
            _ if !self.is_graph => fault(length, "a <graph>"),
            Some((at, id)) => {
                fault(at, format!("edges between nodes of the graph, which has no node `{}`", shortened(id)))
            }
            None => Ok(self.found),
        }
    }
}

impl Found {
    /// Reads a file's text.
    fn of(text: &str) -> Result<Self, Fault> {
        let (mut parser, mut reader) = (Parser::default(), Reader::from_str(text));
        loop {
            let at = reader.buffer_position() as usize;
            let event = match reader.read_event() {
                Ok(event) => event,
                Err(error) => {
                    return fault(
                        reader.error_position() as usize,
                        format!("sound XML ({})", told(&error.to_string())),
                    );
                }
            };
            let reads = parser.expected != Expected::Nothing;
            match event {
                Event::Eof => return parser.finish(text.len()),
                Event::Start(tag) => parser.start(&tag, true, at)?,
                Event::Empty(tag) => parser.start(&tag, false, at)?,
                Event::Text(some) if reads => parser.words.push_str(&some.xml10_content()),
                Event::CData(some) if reads => parser.words.push_str(&some.xml10_content()),
                Event::GeneralRef(_) if reads => return fault(at, "a number"),
                Event::End(tag) => parser.end(tag.local_name().as_ref(), at)?,
                _ => {}
            }
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
fn listed<'p, V: Value>(source: &Source<'p>, found: Found, target: Target) -> Result<(Listed<'p, V>, u64)> {
    let file = source.name().to_owned();
    let (names, vertices) = VertexNames::numbered(found.nodes.into_iter().map(|(id, node)| (id, node.number)));
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
    let numbering = Numbering::Named(names);
    Ok((Listed { file, format, outline, entries, numbering, weights, vertex_weights: 0 }, edges))
}

/// Counts the edges of a graph as the file lists them.
fn counted<V: Value>(loaded: Loaded<V>, edges: u64) -> Loaded<V> {
    Loaded { report: Report { entries: edges, ..loaded.report }, ..loaded }
}

/// Builds the graph of edges with weights. Two weights between the same nodes are refused.
fn weighed<V: Value>((listed, edges): (Listed<'_, V>, u64)) -> Result<Loaded<V>> {
    let mut places: Vec<(u32, u32)> = match &listed.entries {
        Entries::Listed(lists) => lists.iter().flatten().map(|entry| (entry.0, entry.1)).collect(),
        Entries::OnDisk(_) => Vec::new(),
    };
    places.sort_unstable();
    // a self-loop is dropped
    let repeated = places.windows(2).find(|pair| pair[0] == pair[1] && pair[0].0 != pair[0].1);
    if let Some(&[(from, to), _]) = repeated {
        let label = |vertex| shortened(&listed.numbering.label(vertex).to_string());
        let (file, from, to) = (&listed.file, label(from), label(to));
        return Err(Error::invalid(format!(
            "{file}: expected one edge from `{from}` to `{to}`, found weights of several"
        )));
    }
    Ok(counted(listed.digraph(Refuse)?, edges))
}

/// Reads the graph, made symmetric.
pub(super) fn read_graph(source: &Source<'_>) -> Result<Loaded> {
    undirected(source, parsed(source)?)
}

fn undirected(source: &Source<'_>, found: Found) -> Result<Loaded> {
    let target = Target::Graph(found.directions());
    let (listed, edges) = listed(source, found, target)?;
    Ok(counted(listed.simple()?, edges))
}

/// Reads the graph with the directions of its edges.
pub(super) fn read_digraph(source: &Source<'_>) -> Result<Loaded> {
    directed(source, parsed(source)?)
}

fn directed(source: &Source<'_>, found: Found) -> Result<Loaded> {
    match found.directions() {
        Directions::Ignored => undirected(source, found),
        Directions::Matter => {
            let (listed, edges) = listed(source, found, Target::DIGRAPH)?;
            Ok(counted(listed.simple()?, edges))
        }
    }
}

/// Reads the graph with the directions of its edges, and with their weights if the file has any.
pub(super) fn read_weighted(source: &Source<'_>) -> Result<Weighted> {
    let found = parsed(source)?;
    match &found.weights[..] {
        [] => directed(source, found).map(Weighted::None),
        keys if keys.iter().any(|key| key.real) => weighed(listed(source, found, Target::DIGRAPH)?).map(Weighted::Real),
        _ => weighed(listed(source, found, Target::DIGRAPH)?).map(Weighted::Integer),
    }
}
