//! `vxm info`: the size of a graph, its degrees, and the memory that algorithms need.

use crate::command::arguments::Input;
use crate::command::footprint::{Algorithm, Graph, TOLD, over_bus, reading};
use crate::command::{counted, ignored, load, print};
use core::str::FromStr;
use serde_json::json;
use std::ffi::OsStr;
use vxm::formats::Tiles;
use vxm::io::FileFormat;
use vxm::memory::Size;
use vxm::{Error, Result};

/// Prints facts about a graph, as text or as a JSON object. `limits` asks for the least limits of memory instead of what runs take.
pub fn info(graph: &OsStr, input: &Input, as_json: bool, (limits, bus): (bool, Rate)) -> Result<()> {
    let loaded = load(graph, input)?;
    let graph = &loaded.graph;
    let (vertices, edges) = (graph.nrows(), graph.nnz() / 2);
    let mut degrees = Degrees::default();
    (0..vertices).for_each(|v| degrees.add(graph.degree(v)));
    let mean = graph.nnz() as f64 / vertices.max(1) as f64;
    let tiles = Tiles::count(graph);
    let tile_bytes = tiles * Tiles::<()>::TILE_BYTES;
    let fill = graph.nnz() as f64 / tiles.max(1) as f64;
    let size = Graph::of(graph, None);
    let reading = reading(vertices, &loaded.report);
    // host and device, each with both formats, and the sizes that determine the footprint there
    let tiled = Graph { tiles: Some(tiles as u64), ..size };
    let places = [("host", "csr", size), ("host", "tiles", tiled), ("device", "csr", size), ("device", "tiles", tiled)];
    let peak = |place: &str, size: Graph, algorithm: Algorithm| match place {
        "host" => size.peak(algorithm, reading),
        _ => size.peak_on_device(algorithm),
    };
    if as_json {
        let mut peaks = json!({});
        for (place, format, size) in places {
            for (which, algorithm) in TOLD {
                peaks[place][format][algorithm.name()][which] = json!(peak(place, size, algorithm) as u64);
            }
        }
        let mut least = json!({ "bus_bytes_per_second": bus.0 });
        for (which, algorithm) in TOLD {
            let read = over_bus::bytes(&size, algorithm);
            least[algorithm.name()][which] = json!({
                "host": size.least_mapped(algorithm) as u64, "device": size.least_on_device(algorithm) as u64,
                "bus_bytes": read, "bus_seconds": read.map(|bytes| bus.seconds(bytes)),
            });
        }
        let object = json!({
            "graph": loaded.name, "vertices": vertices, "edges": edges,
            "input": loaded.format.map(FileFormat::name), "ignored": ignored(&loaded.report),
            "degree": {"min": degrees.least.unwrap_or(0), "mean": mean, "max": degrees.most},
            "isolated": degrees.histogram.first().copied().unwrap_or(0),
            "bytes": graph.heap_bytes(), "tiles": tiles, "tile_bytes": tile_bytes, "tile_fill": fill,
            // the predicted peak bytes of a run: in host memory, and in device memory if it runs there
            "peak_bytes": peaks,
            // the least limit of memory that does, and what a GPU reads over the bus if the entries stay on the host
            "limits": least,
            // the number of vertices of degree 0, 1, 2 to 3, 4 to 7, ...
            "degrees": degrees.histogram,
        });
        return print(&format!("{object}\n"));
    }
    let (heading, table) = if limits {
        (
            "the least --memory that does, and what a GPU then reads over the bus, in bytes and seconds",
            limited(size, bus),
        )
    } else {
        ("predicted bytes at the peak", table(&places, peak))
    };
    let input = loaded.format.map_or(String::new(), |format| format!("read as {format}\n"));
    print(&format!(
        "{}: {}, {}\n{input}\
         degrees: {} at least, {mean:.2} on average, {} at most; {} isolated\n\
         as CSR: {} bytes; as 16 x 16 tiles: {tile_bytes} bytes, {tiles} tiles of {fill:.2} entries on average\n\
         {heading}:\n{table}\n\
         vertices by their degree:\n{}",
        loaded.name,
        counted(vertices, "vertex"),
        counted(edges, "edge"),
        degrees.least.unwrap_or(0),
        degrees.most,
        degrees.histogram.first().copied().unwrap_or(0),
        graph.heap_bytes(),
        degrees.table(),
    ))
}

/// The table of predicted peaks: a line for each algorithm, a column for each of the `places` and its format.
fn table(places: &[(&str, &str, Graph)], peak: impl Fn(&str, Graph, Algorithm) -> u128) -> String {
    let mut table = format!("{:>21}", "");
    places.iter().for_each(|(place, format, _)| table += &format!(" {:>15}", format!("{place} {format}")));
    for (which, algorithm) in TOLD {
        table += &format!("\n{:>21}", format!("{} {which}", algorithm.name()));
        places.iter().for_each(|(place, _, size)| table += &format!(" {:>15}", peak(place, *size, algorithm)));
    }
    table
}

/// The table of least limits: a line for each algorithm.
fn limited(size: Graph, bus: Rate) -> String {
    let mut table =
        format!("{:>21} {:>15} {:>15} {:>18} {:>10}", "", "host, of .vxm", "device", "over the bus", "seconds");
    for (which, algorithm) in TOLD {
        let (host, device) = (size.least_mapped(algorithm), size.least_on_device(algorithm));
        table += &format!("\n{:>21} {host:>15} {device:>15}", format!("{} {which}", algorithm.name()));
        table += &match over_bus::bytes(&size, algorithm) {
            Some(bytes) => format!(" {bytes:>18} {:>10.4}", bus.seconds(bytes)),
            None => format!(" {:>18} {:>10}", "-", "-"),
        };
    }
    table
}

/// Bytes a second, read from text such as `50GB/s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate(u64);

impl Rate {
    fn seconds(self, bytes: u64) -> f64 {
        bytes as f64 / self.0 as f64
    }
}

impl FromStr for Rate {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let size = text.strip_suffix("/s").and_then(|size| size.parse::<Size>().ok()).filter(|size| size.0 > 0);
        let wrong = || Error::invalid(format!("expected bytes a second such as 50GB/s, found {text:?}"));
        size.map(|Size(bytes)| Self(bytes)).ok_or_else(wrong)
    }
}

/// Statistics of degrees.
#[derive(Default)]
struct Degrees {
    least: Option<usize>,
    most: usize,
    /// The number of degrees that are 0, 1, 2 to 3, 4 to 7, ...
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
