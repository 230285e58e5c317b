//! Reads serialized graphs of the GAP benchmark suite (`.sg`, and `.wsg` with weights): a byte that tells whether the
//! graph is directed, the numbers of stored edges and of nodes, `nodes + 1` offsets, and the neighbours. A directed graph
//! then has the offsets and neighbours of the reversed edges. Counts and offsets are 64-bit integers, neighbours and
//! weights 32-bit integers; a weight follows its neighbour. The size of the file tells whether there are weights.

use crate::error::{Error, Result};
use crate::formats::{Csr, First, MAX_VERTICES, Refuse};
use crate::io::FileFormat;
use crate::io::binary::{Array, Rows, broken};
use crate::io::listed::Listed;
use crate::io::loaded::{Loaded, Numbering};
use crate::io::portions::{About, Portions, WeightedWay};
use crate::io::source::Source;
use crate::io::target::{Outline, Target};
use crate::io::value::Value;
use crate::io::weighted::Weighted;
use crate::memory;
use vxm_semiring::dynamic::Kind;

/// The size of the header in bytes, and of an offset.
const HEADER: usize = 17;
const OFFSET: usize = 8;

/// The counts of a file.
struct Layout {
    directed: bool,
    edges: u64,
    nodes: u64,
    weighted: bool,
}

impl Layout {
    /// The number of weights.
    fn weights(&self) -> u64 {
        if self.weighted { self.edges } else { 0 }
    }
}

/// Finds the layout.
fn layout(file: &str, bytes: &[u8]) -> Result<Layout> {
    let unknown = |found: &str| {
        broken(file, 0, "a GAP serialized graph: a byte 0 or 1, then counts that fit the size of the file", found)
    };
    let Some((&directed @ (0 | 1), counts)) = bytes.get(..HEADER).and_then(<[u8]>::split_first) else {
        return Err(unknown(&format!("{} bytes that begin otherwise", bytes.len())));
    };
    let counts = Array { place: file, at: 1, bytes: counts, kind: Kind::I64, stride: 8 };
    let count = |i| counts.index(i).ok_or_else(|| counts.wrong(i, "a count"));
    let (edges, nodes) = (count(0)?, count(1)?);
    if nodes > MAX_VERTICES as u64 {
        let (place, count) = (format!("{file}: byte 9"), nodes.into());
        return Err(Error::TooManyVertices { place, count, limit: MAX_VERTICES as u64 });
    }
    let size = |each: u128| {
        let half = (u128::from(nodes) + 1) * OFFSET as u128 + each * u128::from(edges);
        HEADER as u128 + half * if directed == 1 { 2 } else { 1 }
    };
    let weighted = edges > 0 && bytes.len() as u128 == size(8);
    if !weighted && bytes.len() as u128 != size(4) {
        return Err(unknown(&format!("{edges} edges and {nodes} nodes in {} bytes", bytes.len())));
    }
    Ok(Layout { directed: directed == 1, edges, nodes, weighted })
}

/// The rows that start at byte `at`, and the byte after them.
fn rows<'b>(file: &'b str, bytes: &'b [u8], layout: &Layout, at: usize) -> (Rows<'b>, usize) {
    let neighbours = at + (layout.nodes as usize + 1) * OFFSET;
    let stride = if layout.weighted { 8 } else { 4 };
    let end = neighbours + stride * layout.edges as usize;
    let offsets = Array::within(file, bytes, at..neighbours, Kind::I64);
    let columns = Array { stride, ..Array::within(file, bytes, neighbours..end, Kind::I32) };
    let weights = || Array { stride, ..Array::within(file, bytes, neighbours + 4..end, Kind::I32) };
    let values = layout.weighted.then(weights).into_iter().collect();
    (Rows { offsets, columns, values, width: layout.nodes }, end)
}

/// Checks that the reversed edges are as many for each node as there are edges to it.
fn check_reversed(edges: &Rows<'_>, reversed: &Rows<'_>) -> Result<()> {
    reversed.check()?;
    reversed.columns.check_below(reversed.width, "node")?;
    edges.columns.check_below(edges.width, "node")?;
    memory::require(8 * u128::from(edges.width), || edges.columns.place.to_owned())?;
    let mut degrees = vec![0u64; edges.width as usize];
    (0..edges.columns.len()).filter_map(|i| edges.columns.index(i)).for_each(|node| degrees[node as usize] += 1);
    let offset = |i| reversed.offsets.index(i).unwrap_or(0);
    let wrong = (0..degrees.len()).find(|&node| offset(node + 1) - offset(node) != degrees[node]);
    wrong.map_or(Ok(()), |node| {
        let expected = format!("{}, because {} edges lead to node {node}", offset(node) + degrees[node], degrees[node]);
        Err(reversed.offsets.wrong(node + 1, &expected))
    })
}

/// Reads the entries for `target`.
fn read<'p, V: Value>(source: &Source<'p>, target: Target) -> Result<Listed<'p, V>> {
    let (file, bytes) = (source.name(), source.bytes()?);
    let layout = layout(file, bytes)?;
    let (edges, end) = rows(file, bytes, &layout, HEADER);
    let outline = Outline::graph(layout.nodes, layout.edges, target);
    let entries = edges.entries(outline, source.progress)?;
    if layout.directed {
        check_reversed(&edges, &rows(file, bytes, &layout, end).0)?;
    }
    Ok(Listed {
        entries,
        file: file.to_owned(),
        format: FileFormat::Gap,
        outline,
        numbering: Numbering::From(0),
        weights: layout.weights(),
        vertex_weights: 0,
    })
}

/// The edges of a graph in a mapped file, of which part number `part.0` of `part.1` is read. The first part's reader checks the reversed edges.
pub(super) fn portions<V: Value>(source: Source<'_>, part: (usize, usize)) -> Result<Portions<'_, V>> {
    let (file, map) = source.into_map()?;
    let layout = layout(&file, &map)?;
    let (edges, end) = rows(&file, &map, &layout, HEADER);
    edges.check()?;
    if layout.directed && part.0 == 0 {
        check_reversed(&edges, &rows(&file, &map, &layout, end).0)?;
    }
    let about = About::of_file(&file, FileFormat::Gap, Numbering::From(0), layout.weights());
    let size = (layout.nodes, layout.edges);
    Ok(Portions::of_rows(size, part, about, move |range| rows(&file, &map, &layout, HEADER).0.range(range)))
}

/// The edges with the weights that they have.
pub(super) fn weighted_portions(source: Source<'_>, part: (usize, usize)) -> Result<WeightedWay<'_>> {
    let weighted = layout(source.name(), source.bytes()?)?.weighted;
    WeightedWay::integers(weighted, source, |source| portions(source, part))
}

/// Reads the graph.
pub(super) fn read_graph(source: &Source<'_>) -> Result<Loaded> {
    read(source, Target::GRAPH)?.graph()
}

/// Reads the graph with the directions of its edges.
pub(super) fn read_digraph(source: &Source<'_>) -> Result<Loaded> {
    read::<()>(source, Target::DIGRAPH)?.digraph(First)
}

/// Reads the graph with the directions of its edges, and with their weights if the file has any.
pub(super) fn read_weighted(source: &Source<'_>) -> Result<Weighted> {
    if layout(source.name(), source.bytes()?)?.weighted {
        return read(source, Target::DIGRAPH)?.digraph(Refuse).map(Weighted::Integer);
    }
    read_digraph(source).map(Weighted::None)
}

/// Reads the matrix of the weights, which are 1 if the file has none.
pub(super) fn read_matrix<V: Value>(source: &Source<'_>) -> Result<Csr<V>> {
    read(source, Target::MATRIX)?.matrix(Refuse)
}
