//! Predicts how long a GPU reads entries over the bus if they stay on the host.
//!
//! A pass reads all columns once at the speed of a copy. The passes of an algorithm depend on how entries are spread over rows: rows of some
//! 10 to 30 entries, which one thread reads each, reach a third of that speed, and a skewed graph's long rows are read to their first entries
//! only. So they were measured on three kinds of graphs (E072), and are told to two digits.

use crate::command::footprint::{Algorithm, Graph};
use crate::command::found::Rule;
use vxm::algorithms::{Formulation, Method, Order, Priority};

/// How entries are spread over rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Some rows have far more entries than others, as in social networks.
    Skewed,
    /// All rows have many.
    Even,
    /// All rows have few, as in meshes and road networks. Their diameter is large.
    Sparse,
}

impl Kind {
    fn of(graph: &Graph) -> Self {
        let mean = graph.entries / graph.vertices.max(1);
        match graph.longest {
            longest if longest >= 16 * mean.max(1) => Self::Skewed,
            _ if mean >= 16 => Self::Even,
            _ => Self::Sparse,
        }
    }
}

/// What wasn't measured.
const UNKNOWN: f64 = f64::NAN;

/// How often `algorithm` reads all entries of a graph over the bus, if they stay on the host; `None` if that isn't known.
pub fn passes(graph: &Graph, algorithm: Algorithm) -> Option<f64> {
    let [skewed, even, sparse] = match algorithm {
        Algorithm::Mis(Priority::Resolve, _) => [2.4, 5.2, 6.6],
        Algorithm::Mis(_, Formulation::Decide) => [1.5, 5.9, 4.6],
        Algorithm::BestOf(..) => [41.0, UNKNOWN, 13.0],
        Algorithm::DistantSet => [42.0, 69.0, 80.0],
        Algorithm::Aggregates => [60.0, 72.0, 84.0],
        Algorithm::Cover(_) => [140.0, 170.0, 140.0],
        Algorithm::Clique => [1100.0, 230.0, 650.0],
        Algorithm::Color(Method::Jp, Order::SmallestDegreeLast) => [800.0, 150.0, 390.0],
        Algorithm::Color(Method::Jp, _) => [17.0, 11.0, 5.0],
        Algorithm::Color(Method::Hash, _) => [210.0, 89.0, 37.0],
        Algorithm::Color(Method::Mis, _) => [140.0, 180.0, 20.0],
        Algorithm::Color(Method::Is, _) => [40.0, 11.0, 5.5],
        Algorithm::Color(Method::MinMax, _) => [100.0, 66.0, 19.0],
        Algorithm::Color(Method::NeighborReduce, _) => [960.0, 210.0, 29.0],
        Algorithm::Color(Method::Speculative, _) => [150.0, 170.0, 28.0],
        Algorithm::ColorsBy(Rule::Distance2) => [UNKNOWN, UNKNOWN, 170.0],
        Algorithm::ColorsBy(Rule::Star) => [10_000.0, UNKNOWN, 200.0],
        Algorithm::Bfs => [3.3, 1.6, 70.0],
        Algorithm::Parents => [5.0, 3.9, 50.0],
        Algorithm::Sssp => [25.0, 24.0, 160.0],
        Algorithm::Tree => [340.0, 320.0, 510.0],
        Algorithm::Components => [0.8, 1.5, 2.3],
        Algorithm::PageRank(4) => [31.0, 32.0, 27.0],
        Algorithm::PageRank(_) => [36.0, 32.0, 24.0],
        Algorithm::Kcore => [68.0, 110.0, 170.0],
        Algorithm::Labels => [55.0, 24.0, 39.0],
        Algorithm::Triangles => [UNKNOWN, 260.0, 110.0],
        Algorithm::Msf => [890.0, 780.0, 440.0],
        Algorithm::Scc => [56.0, 38.0, 510.0],
        Algorithm::Matching => [180.0, 120.0, 120.0],
        Algorithm::Dominant => [100.0, 69.0, 84.0],
        _ => return None,
    };
    let passes = match Kind::of(graph) {
        Kind::Skewed => skewed,
        Kind::Even => even,
        Kind::Sparse => sparse,
    };
    Some(passes).filter(|passes| !passes.is_nan())
}

/// The bytes that `algorithm` reads over the bus; `None` if that isn't known.
pub fn bytes(graph: &Graph, algorithm: Algorithm) -> Option<u64> {
    passes(graph, algorithm).map(|passes| (passes * (4 * graph.entries) as f64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::footprint::TOLD;

    /// Rows of `benches/record/memory-gpu.csv`: graph, algorithm, and passes with the entries on the host.
    const RECORD: &str = include_str!("../../../benches/record/memory-gpu.csv");

    /// The names of the record for what the command predicts.
    fn recorded(name: &str) -> Option<Algorithm> {
        let (algorithm, which) = match name {
            "mis sorted" => ("mis", "decide"),
            "bfs" => ("bfs", "hops"),
            "sssp" => ("sssp", "distances"),
            "components" => ("components", "labels"),
            "kcore" => ("kcore", "cores"),
            "labels" => ("labels", "propagated"),
            "triangles" => ("triangles", "counts"),
            "msf" => ("msf", "forest"),
            "scc" => ("scc", "labels"),
            "matching" => ("matching", "maximal"),
            "aggregates" => ("aggregates", "roots"),
            "cover" => ("cover", "cover"),
            "clique" => ("clique", "clique"),
            "color jp, smallest last" => return Some(Algorithm::Color(Method::Jp, Order::SmallestDegreeLast)),
            _ => name.split_once(' ')?,
        };
        TOLD.iter().find(|(told, found)| found.name() == algorithm && *told == which).map(|(_, found)| *found)
    }

    #[test]
    fn passes_are_near_those_that_were_measured() {
        let (mut near, mut all) = (0, 0);
        for line in RECORD.lines().skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            let (Ok(passes), Some(algorithm)) = (fields[fields.len() - 2].parse::<f64>(), recorded(fields[4])) else {
                continue;
            };
            let graph = vxm::io::generate(&small(fields[3]), &()).unwrap().graph;
            let Some(predicted) = super::passes(&Graph::of(&graph, None), algorithm) else { continue };
            let ratio = (passes / predicted).max(predicted / passes);
            assert!(ratio < 8.0, "{line}: predicted {predicted}");
            near += usize::from(ratio < 2.5);
            all += 1;
        }
        assert!(all > 150 && near * 10 > all * 9, "{near} of {all}");
    }

    /// A small graph of the same kind.
    fn small(spec: &str) -> String {
        match spec.split(':').collect::<Vec<_>>()[..] {
            ["grid", _] => "grid:64x64".to_owned(),
            ["road", _] => "road:32".to_owned(),
            [family @ ("kron" | "rmat" | "er"), _, factor] => format!("{family}:12:{factor}"),
            [family, _] => format!("{family}:12"),
            _ => panic!("{spec}"),
        }
    }
}
