//! `vxm info`: a graph's size, its degrees, and what it takes in memory.

use super::{load, print};
use serde_json::json;
use vxm::Result;
use vxm::formats::Tiles;

/// Tells of a graph.
pub fn info(graph: &str, as_json: bool) -> Result<()> {
    let loaded = load(graph)?;
    let graph = &loaded.graph;
    let (vertices, edges) = (graph.nrows(), graph.nnz() / 2);
    let mut degrees = Degrees::default();
    (0..vertices).for_each(|v| degrees.add(graph.degree(v)));
    let mean = graph.nnz() as f64 / vertices.max(1) as f64;
    let tiles = Tiles::count(graph);
    let tile_bytes = tiles * Tiles::<()>::TILE_BYTES;
    let fill = graph.nnz() as f64 / tiles.max(1) as f64;
    if as_json {
        let object = json!({
            "graph": loaded.name, "vertices": vertices, "edges": edges,
            "degree": {"min": degrees.least.unwrap_or(0), "mean": mean, "max": degrees.most},
            "isolated": degrees.histogram.first().copied().unwrap_or(0),
            "bytes": graph.heap_bytes(), "tiles": tiles, "tile_bytes": tile_bytes, "tile_fill": fill,
            // the number of vertices of degree 0, 1, 2 to 3, 4 to 7, ...
            "degrees": degrees.histogram,
        });
        return print(&format!("{object}\n"));
    }
    print(&format!(
        "{}: {vertices} vertices, {edges} edges\n\
         degrees: {} at least, {mean:.2} on average, {} at most; {} isolated\n\
         as CSR: {} bytes; as 16 x 16 tiles: {tile_bytes} bytes, {tiles} tiles of {fill:.2} entries on average\n{}",
        loaded.name,
        degrees.least.unwrap_or(0),
        degrees.most,
        degrees.histogram.first().copied().unwrap_or(0),
        graph.heap_bytes(),
        degrees.table(),
    ))
}

/// The degrees of a graph.
#[derive(Default)]
struct Degrees {
    least: Option<usize>,
    most: usize,
    /// How many are 0, 1, 2 to 3, 4 to 7, ...
    histogram: Vec<usize>,
}

impl Degrees {
    fn add(&mut self, degree: usize) {
        self.least = Some(self.least.map_or(degree, |least| least.min(degree)));
        self.most = self.most.max(degree);
        let class = degree.checked_ilog2().map_or(0, |log| log as usize + 1);
        if self.histogram.len() <= class {
            self.histogram.resize(class + 1, 0);
        }
        self.histogram[class] += 1;
    }

    fn table(&self) -> String {
        let range = |class: usize| match class {
            0 | 1 => class.to_string(),
            _ => format!("{}-{}", 1u64 << (class - 1), (1u64 << class) - 1),
        };
        let rows = self.histogram.iter().enumerate().filter(|(_, count)| **count > 0);
        rows.map(|(class, count)| format!("{:>21} {count:>10}\n", range(class))).collect()
    }
}
