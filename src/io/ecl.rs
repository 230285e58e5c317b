//! Reads ECL graphs (`.egr`), the format of the ECL and Indigo benchmark suites of Texas State University: the numbers of nodes
//! and of edges, `nodes + 1` offsets, one neighbour for each edge, and perhaps one weight for each edge. All are 32-bit
//! integers. In a newer variant both counts and the offsets have 64 bits. The size of the file tells the variant and
//! whether there are weights.

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
use vxm_semiring::dynamic::Kind;

/// Where the arrays stand in a file.
struct Layout {
    nodes: u64,
    edges: u64,
    /// The size of a count and of an offset in bytes.
    wide: usize,
    weighted: bool,
}

impl Layout {
    /// The layout that counts of `wide` bytes tell; `None` if the file has another size.
    fn of(bytes: &[u8], wide: usize) -> Option<Self> {
        let counts = Array::within("", bytes, 0..2 * wide.min(bytes.len() / 2), count(wide));
        if counts.len() < 2 || bytes.len() < 2 * wide {
            return None;
        }
        let (nodes, edges) = (counts.index(0)?, counts.index(1)?);
        let bare = (u128::from(nodes) + 3) * wide as u128 + 4 * u128::from(edges);
        let weights = 4 * u128::from(edges);
        let size = bytes.len() as u128;
        let weighted = edges > 0 && size == bare + weights;
        (size == bare || weighted).then_some(Self { nodes, edges, wide, weighted })
    }

    /// The number of weights.
    fn weights(&self) -> u64 {
        if self.weighted { self.edges } else { 0 }
    }
}

/// The type of counts of so many bytes.
fn count(wide: usize) -> Kind {
    if wide == 4 { Kind::I32 } else { Kind::I64 }
}

/// Finds the layout.
fn layout(file: &str, bytes: &[u8]) -> Result<Layout> {
    let layout = Layout::of(bytes, 4).or_else(|| Layout::of(bytes, 8)).ok_or_else(|| {
        let counts = match bytes.first_chunk::<8>() {
            Some(&[a, b, c, d, e, f, g, h]) => {
                let (nodes, edges) = (i32::from_le_bytes([a, b, c, d]), i32::from_le_bytes([e, f, g, h]));
                format!("{nodes} and {edges} in {} bytes", bytes.len())
            }
            None => format!("{} bytes", bytes.len()),
        };
        broken(file, 0, "an ECL graph: counts of nodes and edges that fit the size of the file", &counts)
    })?;
    if layout.nodes > MAX_VERTICES as u64 {
        let (place, count) = (format!("{file}: byte 0"), layout.nodes.into());
        return Err(Error::TooManyVertices { place, count, limit: MAX_VERTICES as u64 });
    }
    Ok(layout)
}

/// The rows of a file of this layout.
fn rows<'b>(file: &'b str, bytes: &'b [u8], layout: &Layout) -> Rows<'b> {
    let Layout { nodes, edges, wide, weighted } = *layout;
    let start = 2 * wide;
    let neighbours = start + (nodes as usize + 1) * wide;
    let weights = neighbours + 4 * edges as usize;
    Rows {
        offsets: Array::within(file, bytes, start..neighbours, count(wide)),
        columns: Array::within(file, bytes, neighbours..weights, Kind::I32),
        values: weighted.then(|| Array::within(file, bytes, weights..bytes.len(), Kind::I32)).into_iter().collect(),
        width: nodes,
    }
}

/// Reads the entries for `target`.
fn read<'p, V: Value>(source: &Source<'p>, target: Target) -> Result<Listed<'p, V>> {
    let (file, bytes) = (source.name(), source.bytes()?);
    let layout = layout(file, bytes)?;
    let outline = Outline::graph(layout.nodes, layout.edges, target);
    Ok(Listed {
        entries: rows(file, bytes, &layout).entries(outline, source.progress)?,
        file: file.to_owned(),
        format: FileFormat::Ecl,
        outline,
        numbering: Numbering::From(0),
        weights: layout.weights(),
        vertex_weights: 0,
    })
}

/// The edges of a graph in a mapped file, of which part number `part.0` of `part.1` is read.
pub(super) fn portions<V: Value>(source: Source<'_>, part: (usize, usize)) -> Result<Portions<'_, V>> {
    let (file, map) = source.into_map()?;
    let layout = layout(&file, &map)?;
    rows(&file, &map, &layout).check()?;
    let about = About::of_file(&file, FileFormat::Ecl, Numbering::From(0), layout.weights());
    let size = (layout.nodes, layout.edges);
    Ok(Portions::of_rows(size, part, about, move |range| rows(&file, &map, &layout).range(range)))
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
