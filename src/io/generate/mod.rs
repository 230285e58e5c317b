//! Generated graphs. They can be used wherever a file can, and do not depend on the number of threads.

mod delaunay;
mod draws;
mod geometric;
mod grid;
mod random;
mod road;
mod spec;

use crate::error::{Error, Result};
use crate::formats::{Cleaned, Csr, Directions, undirected};
use crate::io::loaded::{Loaded, Numbering, Report};
use crate::io::on_disk::OnDisk;
use crate::io::portions::{About, Portions, Repeated};
use crate::io::target::{Mirror, Outline, Target};
use crate::io::{Progress, Unit};
use crate::memory;
use core::ops::Range;
use draws::Quadrants;
use rayon::prelude::*;
use spec::Spec;

/// The syntax of specifications of generated graphs. Each may end with `:SEED`, which defaults to 1.
///
/// - `grid` joins each vertex to its four neighbours.
/// - `er`, `rmat` and `kron` draw EDGEFACTOR edges for each of 2^SCALE vertices: uniformly, from R-MAT quadrants of .45
///   .22 .22 .11, and from Graph500's .57 .19 .19 .05 with permuted vertices.
/// - `rgg` joins pairs of 2^SCALE random points in the unit square that are closer than .55 sqrt(ln n / n).
/// - `delaunay` triangulates 2^SCALE such points.
/// - `road` is a SIDE x SIDE grid with a quarter of its edges deleted and others subdivided, 2.47 neighbours per
///   vertex.
pub const SPECIFICATIONS: [&str; 7] = [
    "grid:ROWSxCOLUMNS",
    "er:SCALE:EDGEFACTOR",
    "rmat:SCALE:EDGEFACTOR",
    "kron:SCALE:EDGEFACTOR",
    "rgg:SCALE",
    "road:SIDE",
    "delaunay:SCALE",
];

/// Generates the graph that `text` specifies in the syntax of [`SPECIFICATIONS`].
///
/// # Errors
/// [`Error::Spec`] naming the part that is wrong; [`Error::TooManyVertices`]; [`Error::Memory`].
pub fn generate(text: &str, progress: &dyn Progress) -> Result<Loaded, Error> {
    or_else(text, "", progress)
}

/// Whether `text` looks like a specification: the name of a family, or a word followed by a colon, which is rare in
/// names of files.
pub(super) fn looks_like_one(text: &str) -> bool {
    let (family, more) = text.split_once(':').map_or((text, false), |(family, _)| (family, true));
    let known = SPECIFICATIONS.iter().any(|spec| spec.split(':').next() == Some(family));
    known || (more && !family.is_empty() && family.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// Like [`generate`]. An error about an unknown family names `besides` as the alternative to a specification.
pub(super) fn or_else(text: &str, besides: &str, progress: &dyn Progress) -> Result<Loaded, Error> {
    let mut spec = Spec::new(text);
    let cleaned = match spec.family() {
        // rows in order take less than drawn edges
        "grid" => {
            let (rows, columns) = sides(&mut spec)?;
            spec.require(24 * u128::from(rows) * u128::from(columns))?;
            whole(grid::grid(rows, columns))
        }
        "rgg" => {
            let scale = spec.scale()?;
            let seed = spec.seed()?;
            // 13 neighbours per vertex at 2^20, more at larger scales; each is held twice while rows are assembled
            spec.require((64 + 8 * u128::from(scale)) << scale)?;
            progress.begin("generate", Unit::Items, 1 << scale);
            whole(geometric::near(1 << scale, seed, progress))
        }
        "delaunay" => {
            let scale = spec.scale()?;
            let seed = spec.seed()?;
            spec.require(300u128 << scale)?;
            delaunay::delaunay(1 << scale, seed)?
        }
        _ => built(text, &Drawn::of(&mut spec, besides)?, progress)?,
    };
    Ok(Loaded {
        report: Report::from(&cleaned),
        graph: cleaned.graph,
        name: text.to_owned(),
        format: None,
        numbering: Numbering::From(0),
    })
}

/// The sides of a grid.
fn sides(spec: &mut Spec<'_>) -> Result<(u32, u32)> {
    let (rows, columns) = spec.sides()?;
    spec.seed()?;
    Ok((rows as u32, columns as u32))
}

/// A graph of edges that can be drawn in any order.
struct Drawn {
    vertices: u64,
    /// Edges are drawn by numbers below this.
    numbers: u64,
    /// About how many edges there are.
    count: u64,
    edges: DrawnEdges,
}

/// Draws the edges of a range of numbers.
type DrawnEdges = Box<dyn Fn(Range<u64>) -> Vec<(u32, u32)> + Send + Sync>;

impl Drawn {
    /// The graph of a specification, unless its family draws points.
    fn of(spec: &mut Spec<'_>, besides: &str) -> Result<Self> {
        match spec.family() {
            family @ ("er" | "rmat" | "kron") => {
                let scale = spec.scale()?;
                let factor = spec.count("an edge factor", 1 << 32)?;
                let seed = spec.seed()?;
                let count = factor << scale;
                let edges: DrawnEdges = match family {
                    "er" => each(draws::even(scale, seed)),
                    "rmat" => each(draws::quadrants(scale, seed, Quadrants::RMAT)),
                    _ => each(draws::quadrants(scale, seed, Quadrants::GRAPH500)),
                };
                Ok(Self { vertices: 1 << scale, numbers: count, count, edges })
            }
            "road" => {
                let side = spec.count("a side", u64::from(u32::MAX))?;
                let seed = spec.seed()?;
                let vertices = (u128::from(side) * u128::from(side) * 17) >> 3;
                spec.vertices(vertices)?;
                // the number of each crossing, twice while they are added up
                spec.require(8 * u128::from(side) * u128::from(side))?;
                let (vertices, edges) = road::road(side as u32, seed);
                let count = vertices * 5 / 4;
                Ok(Self { vertices, numbers: side * side, count, edges: Box::new(edges) })
            }
            "grid" => {
                let (rows, columns) = sides(spec)?;
                let vertices = u64::from(rows) * u64::from(columns);
                let edges = Box::new(move |some| grid::edges(rows, columns, some));
                Ok(Self { vertices, numbers: vertices, count: 2 * vertices, edges })
            }
            _ => Err(spec.unknown(besides)),
        }
    }
}

/// Draws an edge for each number of a range.
fn each(edge: impl Fn(u64) -> (u32, u32) + Send + Sync + 'static) -> DrawnEdges {
    Box::new(move |numbers| numbers.map(&edge).collect())
}

/// The graph of drawn edges. It is built on disk if memory is limited and too small.
fn built(text: &str, drawn: &Drawn, progress: &dyn Progress) -> Result<Cleaned> {
    let Drawn { vertices, numbers, count, ref edges } = *drawn;
    let needed = memory::for_reading(vertices, count, Directions::Ignored);
    let outline = Outline::graph(vertices, count, Target::Graph(Directions::Ignored));
    let on_disk = OnDisk::if_needed(text, outline, progress)?;
    if on_disk.is_none() {
        memory::require(needed, || text.to_owned())?;
    }
    progress.begin("generate", Unit::Items, numbers);
    match on_disk {
        Some(graph) => {
            draws::draw(0..numbers, progress, edges, |edges| graph.take_edges(edges))?;
            graph.finish_graph()
        }
        None => {
            let edges = draws::draw(0..numbers, progress, edges, Ok)?;
            undirected(vertices as usize, edges, Directions::Ignored)
        }
    }
}

/// The edges of which part number `part.0` of `part.1` is drawn; `None` of a family that draws points.
pub(super) fn portions<'p>(
    text: &str,
    besides: &str,
    part: (usize, usize),
    progress: &'p dyn Progress,
) -> Result<Option<Portions<'p>>> {
    let mut spec = Spec::new(text);
    if ["rgg", "delaunay"].contains(&spec.family()) {
        return Ok(None);
    }
    let Drawn { vertices, numbers, edges, .. } = Drawn::of(&mut spec, besides)?;
    // a part is a run of portions
    let all = numbers.div_ceil(PORTION);
    let cut = |k: usize| (u128::from(all) * k as u128 / part.1 as u128) as u64;
    let (first, end) = (cut(part.0), cut(part.0 + 1));
    let of = move |portion: u64| (first + portion) * PORTION..((first + portion + 1) * PORTION).min(numbers);
    progress.begin("generate", Unit::Items, (end * PORTION).min(numbers).saturating_sub(first * PORTION));
    let about = About {
        file: text.to_owned(),
        name: text.to_owned(),
        format: None,
        numbering: Numbering::From(0),
        weights: 0,
        vertex_weights: 0,
    };
    Ok(Some(Portions {
        vertices: vertices as usize,
        mirror: Mirror::Same,
        repeated: Repeated::Any,
        both_ways: false,
        count: end - first,
        edges: Box::new(move |portion| draws::draw(of(portion), progress, &edges, |edges| Ok(without_values(edges)))),
        stated: Box::new(|_, _| Ok(())),
        about,
    }))
}

/// Edges as entries without values. Reuses the allocation.
fn without_values(edges: Vec<(u32, u32)>) -> Vec<(u32, u32, ())> {
    edges.into_iter().map(|(from, to)| (from, to, ())).collect()
}

/// The numbers by which a rank draws edges before it sends them: enough to keep all threads busy.
const PORTION: u64 = 1 << 20;

/// Wraps a graph that needed no cleaning.
fn whole(graph: Csr) -> Cleaned {
    Cleaned { entries: graph.nnz() as u64 / 2, graph, loops: 0, duplicates: 0, one_way: None }
}

/// Builds a symmetric pattern. `row(vertex, columns)` appends the neighbours of `vertex` in ascending order.
fn from_rows(vertices: usize, row: impl Fn(u32, &mut Vec<u32>) + Sync) -> Csr {
    const ROWS: usize = 1 << 12;
    let blocks: Vec<(Vec<u64>, Vec<u32>)> = (0..vertices.div_ceil(ROWS))
        .into_par_iter()
        .map(|block| {
            let rows = block * ROWS..((block + 1) * ROWS).min(vertices);
            let (mut ends, mut columns) = (Vec::with_capacity(rows.len()), Vec::new());
            for vertex in rows {
                row(vertex as u32, &mut columns);
                ends.push(columns.len() as u64);
            }
            (ends, columns)
        })
        .collect();
    let mut offsets = Vec::with_capacity(vertices + 1);
    offsets.push(0);
    let mut columns = Vec::with_capacity(blocks.iter().map(|block| block.1.len()).sum());
    for (ends, block) in blocks {
        let base = columns.len() as u64;
        offsets.extend(ends.iter().map(|end| base + end));
        columns.extend(block);
    }
    let values = vec![(); columns.len()];
    Csr::from_parts(vertices, vertices, offsets, columns, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_pieces_are_named() {
        for (text, message) in [
            (
                "mesh:3",
                "mesh:3: expected one of grid:ROWSxCOLUMNS, er:SCALE:EDGEFACTOR, rmat:SCALE:EDGEFACTOR, \
              kron:SCALE:EDGEFACTOR, rgg:SCALE, road:SIDE, delaunay:SCALE, found `mesh`",
            ),
            ("rmat", "rmat: expected a scale from 0 to 31, found nothing"),
            ("rmat:", "rmat:: expected a scale from 0 to 31, found ``"),
            ("rmat:x:8", "rmat:x:8: expected a scale from 0 to 31, found `x`"),
            ("rmat:5", "rmat:5: expected an edge factor from 0 to 4294967296, found nothing"),
            ("rmat:5:-1", "rmat:5:-1: expected an edge factor from 0 to 4294967296, found `-1`"),
            ("rmat:5:1:z", "rmat:5:1:z: expected a seed from 0 to 18446744073709551615, found `z`"),
            ("rmat:5:1:2:3", "rmat:5:1:2:3: expected nothing after the seed, found `3`"),
            ("grid:5", "grid:5: expected ROWSxCOLUMNS, found `5`"),
            ("grid:5xy", "grid:5xy: expected a number of columns from 0 to 4294967295, found `y`"),
            ("er:32:1", "er:32:1: expected at most 4294967295 vertices, found 4294967296"),
            ("er:200:1", "er:200:1: expected a scale from 0 to 31, found `200`"),
            ("grid:65536x65536", "grid:65536x65536: expected at most 4294967295 vertices, found 4294967296"),
            ("road:99999", "road:99999: expected at most 4294967295 vertices, found 21249575002"),
        ] {
            assert_eq!(generate(text, &()).unwrap_err().to_string(), message);
        }
        let vast = generate("kron:31:4294967296", &()).unwrap_err().to_string();
        assert!(vast.starts_with("kron:31:4294967296: needs 100663296.1 TiB of memory, "), "{vast}");
    }
}
